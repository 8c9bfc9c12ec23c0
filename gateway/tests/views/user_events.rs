//! User events against the engine: long random flows of every command, each account followed by its events alone, which must
//! come to what the REST encoders show of it after every command. No sockets.

use crate::perpetual_flow::Flow;
use crate::user_reader::{Reader, decimal};
use ringside_core::command::{
    AdjustIsolatedMargin, AdvanceTime, Body, Command, CreditPerpetual, ListPerpetual, MarginMode,
    PerpetualOrderType, PerpetualParameter, PerpetualState, PlacePerpetual, SetLeverage, SetManualPrice,
    SetMarginMode, SetPerpetualParameter, SetPerpetualState, SetVipTier, Side, WorkingType, order_flag,
};
use ringside_core::event::{Done, Event, PerpetualTrade, Posting, PostingReason, TradeCause};
use ringside_core::ids::{FIRST_PERPETUAL, padded};
use ringside_core::{Engine, EngineConfig};
use ringside_dialect::fapi::user::{UserChannel, UserEvent, accounts_of, tell};
use ringside_dialect::fapi::{encode, margin, order};
use ringside_views::Views;
use ringside_views::perpetual::Perpetuals;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use zerocopy::FromZeros;

/// One command's events as a channel of an account has them.
fn told(channel: UserChannel, account: u32, events: &[Event], views: &Perpetuals, now_ms: i64) -> Vec<Value> {
    let own: Vec<&Event> =
        events.iter().filter(|event| accounts_of(event).contains(&Some(account))).collect();
    let mut told: Vec<UserEvent> = Vec::new();
    tell(account, &own, views, &mut told);
    let mut out = Vec::new();
    told.retain(|event| event.channels().contains(&channel));
    let json = told.iter().map(|event| {
        out.clear();
        event.write(&mut out, now_ms);
        serde_json::from_slice(&out)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&out)))
    });
    json.collect()
}

/// What liquidation cost an account and what the fund paid for it, as a command's events have it.
fn cleared(account: u32, events: &[Event]) -> i64 {
    let postings = events.iter().filter_map(|event| event.get::<Posting>());
    let paid = postings.filter(|posting| {
        posting.account == account && posting.reason == PostingReason::InsuranceClear as u8
    });
    let trades = events.iter().filter_map(|event| event.get::<PerpetualTrade>());
    let charged =
        trades.filter(|trade| trade.taker_account == account && trade.cause == TradeCause::Liquidation as u8);
    paid.map(|posting| posting.amount).sum::<i64>() - charged.map(|trade| trade.taker_fee).sum::<i64>()
}

/// The same as it was told.
fn told_cleared(told: &[Value]) -> Decimal {
    let updates = told.iter().filter(|event| event["a"]["m"] == "INSURANCE_CLEAR");
    updates.map(|update| decimal(&update["a"]["B"][0]["bc"])).sum()
}

/// Channels `balances` and `vip_tier`: rows whose changes add up, and steps from tier to tier.
#[derive(Default)]
struct Rows {
    balances: BTreeMap<u32, Decimal>,
    tiers: BTreeMap<u32, i64>,
    met: BTreeMap<String, u64>,
}

fn keys(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

impl Rows {
    fn read(&mut self, account: u32, events: &[Event], views: &Perpetuals) {
        let rows = told(UserChannel::Balances, account, events, views, 0);
        for row in &rows {
            let names = "asset wallet_balance cross_wallet_balance available_balance change reason ts";
            assert_eq!(keys(row), names.split(' ').collect(), "{row}");
            let known = self.balances.entry(account).or_default();
            *known += decimal(&row["change"]);
            assert_eq!(*known, decimal(&row["wallet_balance"]), "changes add up: {row}");
        }
        if let Some(last) = rows.last() {
            let shown = json!(encode::account(&margin::figures(views, account), views.orders()));
            assert_eq!(last["available_balance"], shown["availableBalance"]);
        }
        for row in told(UserChannel::VipTier, account, events, views, 0) {
            let names = "kind from_tier to_tier volume_14d effective_at ts";
            assert_eq!(keys(&row), names.split(' ').collect(), "{row}");
            let (kind, from, to) = (
                row["kind"].as_str().unwrap(),
                row["from_tier"].as_i64().unwrap(),
                row["to_tier"].as_i64().unwrap(),
            );
            assert_eq!(row["volume_14d"].as_str().unwrap().split_once('.').unwrap().1.len(), 8, "{row}");
            let tier = self.tiers.entry(account).or_default();
            assert_eq!((*tier, kind == "upgrade_immediate"), (from, to > from), "{row}");
            assert_eq!(
                kind == "downgrade_scheduled",
                row["effective_at"].as_i64() > row["ts"].as_i64(),
                "{row}"
            );
            if kind != "downgrade_scheduled" {
                *tier = to;
            }
            *self.met.entry(kind.to_owned()).or_default() += 1;
        }
    }
}

/// Compares what a reader knows with what REST shows.
fn check(reader: &Reader, account: u32, views: &Perpetuals) {
    let figures = margin::figures(views, account);
    let shown = json!(encode::account(&figures, views.orders()));
    let asset = &shown["assets"][0];
    let (wallet, cross) = reader.wallet.unwrap_or_default();
    assert_eq!(wallet, decimal(&asset["walletBalance"]), "wallet of {account}");
    assert_eq!(cross, decimal(&asset["crossWalletBalance"]), "cross wallet of {account}");
    for held in &figures.held {
        let row = json!(encode::position_risk(held));
        let symbol = row["symbol"].as_str().unwrap();
        let Some(known) = reader.positions.get(symbol) else {
            assert_eq!(row["positionAmt"], "0", "nobody told {account} of {row}");
            continue;
        };
        let pairs = [
            ("pa", "positionAmt"),
            ("ep", "entryPrice"),
            ("bep", "breakEvenPrice"),
            ("iw", "isolatedWallet"),
            ("mt", "marginType"),
        ];
        for (key, name) in pairs {
            assert_eq!(known[key], row[name], "{key} of {account}: {known} {row}");
        }
        assert_eq!(decimal(&known["cr"]), Decimal::new(held.holding.position.realised, 6));
        if let Some(leverage) = reader.leverage.get(symbol) {
            assert_eq!(leverage.to_string(), row["leverage"].as_str().unwrap());
        }
    }
    let (mut orders, mut algos) = (BTreeSet::new(), BTreeSet::new());
    for order in views.orders().open_of(account) {
        let symbol = views.markets().get(order.told.market).unwrap().symbol;
        let row = serde_json::to_value(order::shown(order, symbol, true)).unwrap();
        if order.is_of_service() {
            algos.insert(order.told.order);
            let known = reader.algos.get(&order.told.order).unwrap_or_else(|| panic!("nobody told of {row}"));
            for (key, name) in [
                ("caid", "clientOrderId"),
                ("q", "origQty"),
                ("tp", "stopPrice"),
                ("p", "price"),
                ("o", "type"),
            ] {
                assert_eq!(known[key], row[name], "{key} of {known} {row}");
            }
            continue;
        }
        orders.insert(order.told.order);
        let known = reader.orders.get(&order.told.order).unwrap_or_else(|| panic!("nobody told of {row}"));
        for (key, name) in [
            ("s", "symbol"),
            ("c", "clientOrderId"),
            ("S", "side"),
            ("o", "type"),
            ("ot", "origType"),
            ("f", "timeInForce"),
            ("q", "origQty"),
            ("p", "price"),
            ("ap", "avgPrice"),
            ("sp", "stopPrice"),
            ("X", "status"),
            ("z", "executedQty"),
            ("R", "reduceOnly"),
            ("cp", "closePosition"),
            ("pP", "priceProtect"),
            ("wt", "workingType"),
            ("V", "selfTradePreventionMode"),
            ("pm", "priceMatch"),
            ("gtd", "goodTillDate"),
            ("T", "updateTime"),
        ] {
            assert_eq!(known[key], row[name], "{key} of {known} {row}");
        }
    }
    assert_eq!(reader.orders.keys().copied().collect::<BTreeSet<_>>(), orders, "open orders of {account}");
    let waiting = reader.algos.iter().filter(|(_, algo)| algo["X"] == "NEW").map(|(id, _)| *id);
    assert_eq!(waiting.collect::<BTreeSet<_>>(), algos, "waiting orders of {account}");
}

/// The table by which the second tier is held from a volume on.
fn second_tier_from(volume: i64) -> impl Iterator<Item = Command> {
    let tier =
        |tier: u32, volume| SetVipTier { tier, count: 6, volume, maker_rate: 10_000, taker_rate: 40_000 };
    let higher = (2..6).rev().map(move |number| tier(number, 1_000_000_000_000_000 + i64::from(number)));
    higher.chain([tier(1, volume)]).map(Command::new)
}

/// What a flow never comes to, each command with the time after the one before: hours with most of their samples, so that funding
/// is paid, at a rate that empties isolated wallets in a day; tiers that are lost; withdrawals by the operator; the end of a market.
fn finale() -> Vec<Command> {
    let after = |seconds: i64, command: Command| Command { time_ns: seconds * 1_000_000_000, ..command };
    let tick = |seconds| after(seconds, Command::new(AdvanceTime {}));
    let mut commands = Vec::new();
    for (parameter, value) in [
        (PerpetualParameter::Damp, 3_000_000),
        (PerpetualParameter::FundingCap, 300_000),
        (PerpetualParameter::Interest, 3_000_000),
    ] {
        let (market, parameter) = (FIRST_PERPETUAL, parameter as u32);
        commands.push(Command::new(SetPerpetualParameter { market, parameter, value }));
    }
    commands.extend((0..20 * 450).map(|_| tick(8)));
    // The second tier is held by nobody any more; a day begins at midnight.
    commands.extend(second_tier_from(1_000_000_000_000_000));
    commands.extend((0..30).map(|_| tick(3_600)));
    for account in 1_u32..=42 {
        let mut address = [9; 20];
        address[..4].copy_from_slice(&account.to_le_bytes());
        let credit = CreditPerpetual { address, reserved: 0, amount: -1_000_000, reason: [0; 64] };
        commands.push(Command::new(credit));
    }
    let state = PerpetualState::Closed as u8;
    commands.push(Command::new(SetPerpetualState { market: FIRST_PERPETUAL, state, reserved: [0; 3] }));
    commands
}

#[test]
fn accounts_followed_by_their_events_are_what_rest_shows() {
    let seeds = crate::random::seeds(8);
    let steps: u64 = std::env::var("STEPS").map_or(6_000, |steps| steps.parse().unwrap());
    let is_one = crate::random::is_rerun();
    let mut met: BTreeMap<String, u64> = BTreeMap::new();
    for seed in seeds {
        eprintln!("RINGSIDE_SEED={seed} cargo test -p ringside-gateway --test views user_events::");
        let mut flow = Flow::new(seed);
        let mut engine = Engine::new(&EngineConfig::default());
        let mut views = Views::default();
        let mut readers: BTreeMap<u32, Reader> = BTreeMap::new();
        let mut rows = Rows::default();
        let mut commands = finale();
        let mut tiers = second_tier_from(1).peekable();
        for step in 0..steps + commands.len() as u64 {
            let command = if step < steps {
                let command = flow.command();
                // From the middle on whoever trades has the second tier.
                match tiers.next_if(|_| step >= steps / 2) {
                    Some(tier) => Command { sequence: command.sequence, time_ns: command.time_ns, ..tier },
                    None => command,
                }
            } else {
                let mut command = commands.remove(0);
                // How long after the command before it stands where the sequence will.
                let after_ns = command.time_ns;
                (command.sequence, command.time_ns) = (engine.sequence() + 1, engine.time_ns() + after_ns);
                command
            };
            let mut events: Vec<Event> = Vec::new();
            engine.apply(&command, &mut events);
            flow.observe(&events);
            events.iter().for_each(|event| views.fold(event));
            for posting in events.iter().filter_map(|event| event.get::<Posting>()) {
                let reason = PostingReason::from_code(posting.reason).unwrap();
                *rows.met.entry(format!("posting {reason:?}")).or_default() += 1;
            }
            let accounts: BTreeSet<u32> =
                events.iter().flat_map(accounts_of).flatten().filter(|account| *account != 0).collect();
            for account in accounts {
                let reader = readers.entry(account).or_default();
                let now_ms = command.time_ns / 1_000_000 + 7;
                let told_of = told(UserChannel::UserData, account, &events, views.perpetuals(), now_ms);
                told_of.iter().for_each(|event| reader.read(event));
                assert_eq!(
                    told_cleared(&told_of),
                    Decimal::new(cleared(account, &events), 6),
                    "{told_of:#?}"
                );
                rows.read(account, &events, views.perpetuals());
                // Profit that no fill tells.
                let is_profit = |posting: &&Posting| {
                    posting.account == account && posting.reason == PostingReason::RealisedProfit as u8
                };
                let postings = events.iter().filter_map(|event| event.get::<Posting>());
                let profit: i64 = postings.filter(is_profit).map(|posting| posting.amount).sum();
                reader.rest(Decimal::new(profit, 6));
                check(reader, account, views.perpetuals());
            }
        }
        for (account, reader) in &readers {
            check(reader, *account, views.perpetuals());
            reader.met.iter().for_each(|(name, count)| *met.entry(name.clone()).or_default() += count);
        }
        rows.met.iter().for_each(|(name, count)| *met.entry(name.clone()).or_default() += count);
    }
    eprintln!("{met:#?}");
    let wanted = "ORDER_TRADE_UPDATE TRADE_LITE ACCOUNT_UPDATE ACCOUNT_CONFIG_UPDATE MARGIN_CALL TRIGGER_DEFERRED \
        CONDITIONAL_ORDER_TRIGGER_REJECT ALGO_UPDATE upgrade_immediate downgrade_scheduled downgrade_applied";
    let words = [
        ("x", "NEW CANCELED CALCULATED EXPIRED TRADE AMENDMENT"),
        ("X", "NEW PARTIALLY_FILLED FILLED CANCELED EXPIRED EXPIRED_IN_MATCH"),
        ("er", "0 1 2 3 4 5 6 7 8 9 10 11 12"),
        (
            "m",
            "ORDER FUNDING_FEE DEPOSIT WITHDRAW MARGIN_TRANSFER MARGIN_TYPE_CHANGE INSURANCE_CLEAR ADMIN_DEPOSIT ADMIN_WITHDRAW",
        ),
        ("algo", "NEW CANCELED TRIGGERING TRIGGERED FINISHED REJECTED"),
        ("posting", "FundingFee RealisedProfit Settlement"),
    ];
    if !is_one {
        for name in wanted.split_whitespace() {
            assert!(met.contains_key(name), "no {name}");
        }
        for (kind, names) in words {
            for name in names.split(' ') {
                assert!(met.contains_key(&format!("{kind} {name}")), "no {kind} {name}");
            }
        }
    }
}

/// A venue without fees, of markets that trade, told by hand.
struct Venue {
    engine: Engine,
    views: Views,
    /// Of engine time.
    second: i64,
}

impl Venue {
    /// With markets at so many USDT.
    fn new(marks: &[(&str, i64)]) -> Venue {
        let (engine, views) = (Engine::new(&EngineConfig::default()), Views::default());
        let mut venue = Venue { engine, views, second: 1_700_000_000 };
        for (market, &(base, mark)) in (FIRST_PERPETUAL..).zip(marks) {
            venue.give(ListPerpetual {
                symbol: padded(&format!("{base}USDT")).unwrap(),
                base: padded(base).unwrap(),
                quote: padded("USDT").unwrap(),
                tick: 10_000_000,
                lot: 100_000,
            });
            venue.pin(market, mark);
        }
        venue.give(SetVipTier { tier: 0, count: 1, volume: 0, maker_rate: 0, taker_rate: 0 });
        venue.later(1);
        for market in (FIRST_PERPETUAL..).take(marks.len()) {
            let state = PerpetualState::Trading as u8;
            venue.give(SetPerpetualState { market, state, reserved: [0; 3] });
        }
        // The fund comes first.
        venue.credited(0, 0);
        venue
    }

    /// Its events.
    fn give<B: Body + std::fmt::Debug>(&mut self, body: B) -> Vec<Event> {
        let (sequence, time_ns) = (self.engine.sequence() + 1, self.second * 1_000_000_000);
        let mut events: Vec<Event> = Vec::new();
        self.engine.apply(&Command { sequence, time_ns, ..Command::new(body) }, &mut events);
        events.iter().for_each(|event| self.views.fold(event));
        let done = events.last().unwrap().get::<Done>().unwrap();
        assert_eq!(done.rejected(), None, "{body:?}");
        events
    }

    /// What a tick comes to so many seconds later.
    fn later(&mut self, seconds: i64) -> Vec<Event> {
        self.second += seconds;
        self.give(AdvanceTime {})
    }

    fn pin(&mut self, market: u32, price: i64) {
        self.give(SetManualPrice { market, moves_band: 0, price: price * UNIT });
    }

    /// An account with so many USDT.
    fn credited(&mut self, number: u8, whole: i64) -> u32 {
        let (address, amount) = ([number; 20], whole.max(1) * 1_000_000);
        let events = self.give(CreditPerpetual { address, reserved: 0, amount, reason: [0; 64] });
        events.last().unwrap().get::<Done>().unwrap().account
    }

    fn isolated(&mut self, account: u32) {
        let mode = MarginMode::Isolated as u32;
        self.give(SetMarginMode { account, market: FIRST_PERPETUAL, mode, reserved: 0 });
        self.give(SetLeverage { account, market: FIRST_PERPETUAL, leverage: 100, reserved: 0 });
    }

    /// One account sells to the other, thousandths.
    fn trade(&mut self, market: u32, [buyer, seller]: [u32; 2], quantity: i64, price: i64) {
        for (account, side) in [(seller, Side::Sell), (buyer, Side::Buy)] {
            self.give(order(market, account, side, quantity, price));
        }
    }
}

const UNIT: i64 = 100_000_000;

/// A limit order of thousandths.
fn order(market: u32, account: u32, side: Side, quantity: i64, price: i64) -> PlacePerpetual {
    static ORDERS: AtomicU64 = AtomicU64::new(0);
    PlacePerpetual {
        account,
        client_order: padded(&ORDERS.fetch_add(1, Ordering::Relaxed).to_string()).unwrap(),
        market,
        side: side as u8,
        price: price * UNIT,
        quantity: quantity * 100_000,
        ..PlacePerpetual::new_zeroed()
    }
}

/// Reason, wallet and change of each update of an account.
fn updates(account: u32, events: &[Event], venue: &Venue) -> Vec<(String, Decimal, Decimal)> {
    let told = told(UserChannel::UserData, account, events, venue.views.perpetuals(), 0);
    let updates = told.iter().filter(|event| event["e"] == "ACCOUNT_UPDATE").map(|update| {
        let balance = &update["a"]["B"][0];
        (update["a"]["m"].as_str().unwrap().to_owned(), decimal(&balance["wb"]), decimal(&balance["bc"]))
    });
    updates.collect()
}

#[test]
fn what_the_fund_pays_for_a_later_fill_of_an_order_is_told() {
    // perpetual-stream.md 4.3. Long 0.1 at 60 000 with a margin of 60. At 59 000 the stop sells twice 0.05 at 59 100: the first loss of 45
    // takes 30 and 15 of the 30 left, the second what is left, and the fund pays 30.
    let mut venue = Venue::new(&[("BTC", 60_000)]);
    let (long, short) = (venue.credited(1, 100_000), venue.credited(2, 100_000));
    venue.isolated(long);
    venue.trade(FIRST_PERPETUAL, [long, short], 100, 60_000);
    for _ in 0..2 {
        venue.give(order(FIRST_PERPETUAL, short, Side::Buy, 50, 59_100));
    }
    venue.give(PlacePerpetual {
        order_type: PerpetualOrderType::StopMarket as u8,
        stop_price: 59_500 * UNIT,
        working_type: WorkingType::MarkPrice as u8,
        flags: order_flag::REDUCE_ONLY,
        ..order(FIRST_PERPETUAL, long, Side::Sell, 100, 0)
    });
    venue.pin(FIRST_PERPETUAL, 59_000);
    let events = venue.later(1);
    let usd = |whole: i64| Decimal::new(whole, 0);
    assert_eq!(
        updates(long, &events, &venue),
        [("ORDER".to_owned(), usd(99_910), usd(0)), ("INSURANCE_CLEAR".to_owned(), usd(99_940), usd(30))]
    );
}

#[test]
fn a_counterparty_that_gives_back_of_its_profit_is_told_what_it_has() {
    // risk.md 12.5: of 2 sold at 70 000 0.5 is bought back at the mark, and of the 4 100 which that brought a part is given back for what
    // the bankrupt lacked.
    let second = FIRST_PERPETUAL + 1;
    let mut venue = Venue::new(&[("BTC", 70_000), ("ETH", 3_000)]);
    let [winner, rich, loser, other] = [(1, 10_000), (2, 1_000_000), (3, 1_000), (4, 1_000_000)]
        .map(|(number, whole)| venue.credited(number, whole));
    venue.isolated(winner);
    venue.trade(FIRST_PERPETUAL, [rich, winner], 2_000, 70_000);
    venue.pin(FIRST_PERPETUAL, 61_800);
    venue.later(1);
    venue.later(600);
    let amount = -164 * 1_000_000;
    venue.give(AdjustIsolatedMargin { account: winner, market: FIRST_PERPETUAL, amount });
    for market in [FIRST_PERPETUAL, second] {
        venue.give(SetLeverage { account: loser, market, leverage: 125, reserved: 0 });
    }
    venue.trade(FIRST_PERPETUAL, [loser, rich], 500, 61_800);
    venue.trade(second, [loser, other], 10_000, 3_000);
    venue.pin(second, 2_000);
    let events = venue.later(1);
    let order = "ORDER".to_owned();
    let (brought, back) = (Decimal::new(14_100, 0), Decimal::new(2_616_730_496, 6));
    assert_eq!(
        updates(winner, &events, &venue),
        [(order, brought, Decimal::ZERO), ("INSURANCE_CLEAR".to_owned(), brought - back, -back)]
    );
    let told = told(UserChannel::UserData, winner, &events, venue.views.perpetuals(), 0);
    // What is given back is told of the wallet alone.
    let has_position = |event: &&Value| event["e"] == "ACCOUNT_UPDATE" && event["a"]["P"][0].is_object();
    let last = told.iter().rfind(has_position).unwrap();
    let position = &last["a"]["P"][0];
    assert_eq!(
        (decimal(&position["pa"]), decimal(&position["ep"])),
        (Decimal::new(-15, 1), Decimal::new(70_000, 0))
    );
}
