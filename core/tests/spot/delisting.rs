//! A market that is delisted is halted until all its orders are canceled, as far as each command's units go (`risk.md` 19).

use crate::naive::Reference;
use crate::support::market::df_usdt;
use ringside_core::command::*;
use ringside_core::event::{self, Event};
use ringside_core::money::{AMOUNT_UNIT, UNIT};
use ringside_core::reject::Reject;
use ringside_core::{Engine, EngineConfig};

/// The real engine, which goes through a snapshot after every command, and the reference.
struct Pair {
    real: Engine,
    reference: Reference,
    events: Vec<Event>,
}

impl Pair {
    fn give<B: Body>(&mut self, body: B) -> Option<Reject> {
        let sequence = self.real.sequence() + 1;
        let command = Command { sequence, time_ns: 1, ..Command::new(body) };
        self.events.clear();
        self.real.apply(&command, &mut self.events);
        assert!(self.events == self.reference.apply(&command), "{command:?}");
        let mut saved = Vec::new();
        self.real.save(&mut saved);
        let again = Engine::load(&EngineConfig::SMALLEST, &saved).expect("its own snapshot");
        assert_eq!(again.state_hash(), self.real.state_hash());
        assert_eq!(again.has_backlog(), self.real.has_backlog());
        self.real = again;
        self.events.last().unwrap().get::<event::Done>().unwrap().rejected()
    }

    fn said<P: event::Payload>(&self) -> Vec<P> {
        self.events.iter().filter_map(|event| event.get::<P>().copied()).collect()
    }

    fn canceled(&self) -> usize {
        let is_canceled = |order: &&event::Order| order.status == OrderStatus::Canceled as u8;
        self.said::<event::Order>().iter().filter(is_canceled).count()
    }

    fn statuses(&self) -> Vec<u8> {
        self.said::<event::Market>().iter().map(|market| market.status).collect()
    }
}

#[test]
fn a_market_is_halted_while_its_orders_are_canceled_then_delisted() {
    let mut pair =
        Pair { real: Engine::new(&EngineConfig::SMALLEST), reference: Reference::new(), events: Vec::new() };
    let halted = MarketStatus::Halted as u8;
    assert_eq!(pair.give(ListMarket { max_open_orders: 1_000, ..df_usdt() }), None);
    let addresses = [[1; 20], [2; 20]];
    for address in addresses {
        for asset in [df_usdt().base, df_usdt().quote] {
            let amount = (1_000_000 * AMOUNT_UNIT).into();
            assert_eq!(pair.give(Credit { address, asset, reserved: 0, amount, reason: [0; 64] }), None);
        }
    }
    for number in 0..600i64 {
        let side = if number % 3 == 0 { Side::Sell } else { Side::Buy };
        let away = UNIT / 10_000 * (1 + number * 7 % 500);
        let price = if side == Side::Sell { UNIT + away } else { UNIT - away };
        let place = PlaceOrder::limit(1 + (number % 2) as u32, 0, side, price, 10 * UNIT);
        assert_eq!(pair.give(place), None);
    }
    let set = |status| SetMarketStatus { market: 0, status, reserved: [0; 3] };
    let delisted = MarketStatus::Delisted as u8;
    assert_eq!(pair.give(set(delisted)), None);
    // One unit was for the command itself.
    assert_eq!((pair.canceled(), pair.statuses()), (255, vec![halted]));
    assert!(pair.real.has_backlog());
    // It is on its way, and nothing turns it back; whoever wants to be out first may.
    for status in [MarketStatus::Listed as u8, halted, delisted] {
        assert_eq!(pair.give(set(status)), Some(Reject::MarketDelisted));
    }
    let place = PlaceOrder::limit(1, 0, Side::Buy, UNIT / 2, 10 * UNIT);
    assert_eq!(pair.give(place), Some(Reject::MarketHalted));
    let order = pair.reference.orders.values().last().unwrap().clone();
    assert_eq!(pair.give(CancelOrder { order: order.order, account: order.account, reserved: 0 }), None);
    assert_eq!(pair.give(AdvanceTime {}), None);
    assert_eq!((pair.canceled(), pair.statuses()), (256, vec![]));
    assert_eq!(pair.give(AdvanceTime {}), None);
    assert_eq!((pair.canceled(), pair.statuses()), (600 - 255 - 1 - 256, vec![delisted]));
    assert!(!pair.real.has_backlog());
    for account in [1, 2] {
        for asset in [0, 1] {
            assert_eq!(pair.real.balance(account, asset).unwrap().1, 0, "nothing stays frozen");
        }
    }
    assert_eq!(pair.give(AdvanceTime {}), None);
    assert_eq!(pair.events.len(), 1);
}
