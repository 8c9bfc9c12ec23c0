//! Properties that every stream must keep, recomputed from the events alone by [`crate::support::model::Model`]:
//!
//! - per asset, what all accounts own is what was credited; nothing is below zero;
//! - frozen is the sum of what the resting orders reserve, available + frozen what credits and trades give;
//! - the book is never crossed; a trade takes the best price and, there, the oldest arrival, at the maker's price;
//! - update ids, trade ids and order ids have no gap; every level touched is told with its right total;
//! - every order ends once, and filled + open + ended is what was ordered.
//!
//! `RINGSIDE_SEED` and `RINGSIDE_COMMANDS` rerun a failure.

use crate::support::driver::Session;
use crate::support::model::{Model, Seen};
use crate::support::stream::{Stream, address};
use ringside_core::command::{Command, PlaceOrder, Side};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::{self, Event, Trade};

const STREAM_LEN: u64 = 5_000;

#[test]
fn random_streams_keep_the_properties() {
    let total = crate::support::commands(1_000_000, 50_000);
    let first = crate::support::seeds::first(1_000_000);
    let mut seen = Seen::default();
    for number in 0..total.div_ceil(STREAM_LEN) {
        let seed = first + number;
        let mut engine = Engine::new(&EngineConfig::default());
        let mut stream = Stream::new(seed);
        let mut model = Model::new();
        let mut events: Vec<Event> = Vec::new();
        for at in 1..=STREAM_LEN.min(total - number * STREAM_LEN) {
            let command = stream.next();
            events.clear();
            engine.apply(&command, &mut events);
            stream.observe(&events);
            if let Err(text) = model.observe(&command, &events) {
                eprintln!("{command:?}\n{events:#?}");
                panic!(
                    "seed {seed}, command {at}: {text}\nrerun: RINGSIDE_SEED={seed} RINGSIDE_COMMANDS={at} cargo test \
                     --release -p ringside-core --test properties -- --nocapture"
                );
            }
        }
        seen.add(&model.seen);
    }
    eprintln!(
        "{} commands, {} events, {} trades: {:#?}",
        seen.commands, seen.events, seen.trades, seen.cases
    );
    if total >= 50_000 {
        for (case, count) in &seen.cases {
            assert!(*count > 0, "no stream met this case: {case}");
        }
    }
}

/// The model complains when it should: each kind of lie in the events of one trade is found.
#[test]
fn the_model_finds_lies() {
    let told = a_trade();
    assert_eq!(judge(&told), Ok(()));
    let lie = |change: &dyn Fn(&mut Trade)| {
        let mut told = a_trade();
        let (_, events) = told.last_mut().expect("not empty");
        let trade = events.iter_mut().find(|event| event.get::<Trade>().is_some()).expect("a trade");
        let mut changed = *trade.get::<Trade>().expect("a trade");
        change(&mut changed);
        *trade = Event::new(trade.sequence, trade.time_ns, trade.index, changed);
        judge(&told).expect_err("a lie that was not found")
    };
    lie(&|trade| trade.trade = 2);
    lie(&|trade| trade.price += 1);
    lie(&|trade| trade.quantity -= 1);
    lie(&|trade| trade.maker_order = 2);
    lie(&|trade| trade.maker_filled = 0);
    lie(&|trade| trade.taker_side = Side::Sell as u8);
    lie(&|trade| trade.maker_fee = 1.into());
    for kind in [event::Kind::Order, event::Kind::Depth, event::Kind::Balances, event::Kind::Done] {
        let mut told = a_trade();
        let (_, events) = told.last_mut().expect("not empty");
        let at = events.iter().position(|event| event.kind == kind as u16).expect("one of each kind");
        events.remove(at);
        for (index, event) in events.iter_mut().enumerate() {
            event.index = index as u32;
        }
        judge(&told).expect_err("an event left out that was not missed");
    }
}

/// Two asks at one price, and a buy that takes the older one: every command with its events.
fn a_trade() -> Vec<(Command, Vec<Event>)> {
    let mut session = Session::new(Engine::new(&EngineConfig::default()));
    session.keep = true;
    let market = session.open_market("XY", "X", "Y");
    let seller = session.credit(address(0), "X", 1_000_000_000_000_000);
    let buyer = session.credit(address(1), "Y", 1_000_000_000_000_000);
    session.accept(PlaceOrder::limit(seller, market, Side::Sell, 7, 10));
    session.accept(PlaceOrder::limit(seller, market, Side::Sell, 7, 10));
    session.accept(PlaceOrder::limit(buyer, market, Side::Buy, 8, 10));
    session.kept
}

fn judge(told: &[(Command, Vec<Event>)]) -> Result<(), String> {
    let mut model = Model::new();
    told.iter().try_for_each(|(command, events)| model.observe(command, events))
}

/// C-18: a buy of more than a quantity holds is cut at whole lots, and every limit order hears of its tick and lot before of a
/// value that no amount holds.
#[test]
fn what_is_too_large_is_cut_and_judged_in_order() {
    use ringside_core::command::{ListMarket, MarketKind};
    use ringside_core::ids::padded;
    use ringside_core::money::MAX_ENTRY;
    use ringside_core::reject::Reject;
    for lot in [1, 7, 100_000_007, MAX_ENTRY / 2 + 1] {
        let mut session = Session::new(Engine::new(&EngineConfig::default()));
        session.keep = true;
        let listed = session.accept(ListMarket {
            symbol: padded("XY").unwrap(),
            base: padded("X").unwrap(),
            quote: padded("Y").unwrap(),
            tick: 3,
            lot,
            min_notional: 1.into(),
            maker_fee: 0,
            taker_fee: 0,
            max_open_orders: 6,
            kind: MarketKind::Spot as u8,
            reserved: [0; 3],
        });
        let market = listed.market;
        let most = MAX_ENTRY / lot * lot;
        let seller = session.credit(address(0), "X", 10i128.pow(36));
        let buyer = session.credit(address(1), "Y", 10i128.pow(36));
        for _ in 0..2 {
            session.accept(PlaceOrder::limit(seller, market, Side::Sell, 3, most));
        }
        session.kept.clear();
        let buy = PlaceOrder::market_buy(buyer, market, 10i128.pow(36));
        session.accept(buy);
        let trades =
            session.kept.iter().flat_map(|(_, events)| events).filter_map(|event| event.get::<Trade>());
        assert_eq!(trades.map(|trade| trade.quantity).sum::<i64>(), most, "lot {lot}");

        let mut refused = |price, quantity, reject| {
            session.refuse(PlaceOrder::limit(buyer, market, Side::Buy, price, quantity), reject);
        };
        let (high, off_tick) = (MAX_ENTRY / 3 * 3, MAX_ENTRY / 3 * 3 - 1);
        refused(off_tick, most, Reject::InvalidTick);
        if lot > 1 {
            refused(high, most - 1, Reject::InvalidLot);
        }
        refused(high, most, Reject::InvalidQuantity);
    }
}
