//! User events against the engine: long random flows of every command, each account followed by its events alone, which must
//! come to what the REST encoders show of it after every command. No sockets.

use crate::perpetual_flow::Flow;
use crate::user_reader::{Reader, decimal};
use ringside_core::command::{
    AdvanceTime, Command, CreditPerpetual, ListPerpetual, MarginMode, PerpetualOrderType, PerpetualParameter,
    PerpetualState, PlacePerpetual, SetLeverage, SetManualPrice, SetMarginMode, SetPerpetualParameter,
    SetPerpetualState, SetVipTier, Side, WorkingType, order_flag,
};
use ringside_core::event::{Done, Event, PerpetualTrade, Posting, PostingReason};
use ringside_core::ids::{FIRST_PERPETUAL, padded};
use ringside_core::{Engine, EngineConfig};
use ringside_gateway::dialect::fapi::user::{UserChannel, UserEvent, accounts_of, tell};
use ringside_gateway::dialect::fapi::{encode, margin, order};
use ringside_gateway::view::Views;
use ringside_gateway::view::perpetual::Perpetuals;
use rust_decimal::Decimal;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use zerocopy::FromZeros;

/// One command's events as a channel of an account has them.
fn told(channel: UserChannel, account: u32, events: &[Event], views: &Perpetuals, now_ms: i64) -> Vec<Value> {
    let own: Vec<&Event> =
        events.iter().filter(|event| accounts_of(event).contains(&Some(account))).collect();
    let mut told: Vec<UserEvent> = Vec::new();
    tell(account, &own, views, &mut told);
    let mut out = Vec::new();
    told.retain(|event| event.goes_to(channel));
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
    let charged = trades.filter(|trade| trade.taker_account == account && trade.flags & 4 != 0);
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
            let shown = encode::account(&margin::figures(views, account), views.orders(), 2);
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
    let shown = encode::account(&figures, views.orders(), 2);
    let asset = &shown["assets"][0];
    let (wallet, cross) = reader.wallet.unwrap_or_default();
    assert_eq!(wallet, decimal(&asset["walletBalance"]), "wallet of {account}");
    assert_eq!(cross, decimal(&asset["crossWalletBalance"]), "cross wallet of {account}");
    for held in &figures.held {
        let row = encode::position_risk(held);
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
    let seeds: Vec<u64> = match std::env::var("SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => (1..=std::env::var("SEEDS").map_or(8, |seeds| seeds.parse().unwrap())).collect(),
    };
    let steps: u64 = std::env::var("STEPS").map_or(6_000, |steps| steps.parse().unwrap());
    let is_one = seeds.len() == 1;
    let mut met: BTreeMap<String, u64> = BTreeMap::new();
    for seed in seeds {
        eprintln!("SEED={seed} cargo test -p ringside-gateway --test views user_events::");
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
                    let reason = PostingReason::from_code(posting.reason);
                    posting.account == account
                        && matches!(reason, Some(PostingReason::Settlement | PostingReason::RealisedProfit))
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

#[test]
fn what_the_fund_pays_for_a_later_fill_of_an_order_is_told() {
    // perpetual-stream.md 4.3. Long 0.1 at 60 000 with a margin of 60. At 59 000 the stop sells twice 0.05 at 59 100: the first loss of 45
    // takes 30 and 15 of the 30 left, the second what is left, and the fund pays 30.
    let (mut engine, mut views) = (Engine::new(&EngineConfig::default()), Views::default());
    let mut give = |command: Command| {
        let (sequence, time_ns) = (engine.sequence() + 1, 1_700_000_000_000_000_000 + command.time_ns);
        let mut events: Vec<Event> = Vec::new();
        engine.apply(&Command { sequence, time_ns, ..command }, &mut events);
        events.iter().for_each(|event| views.fold(event));
        let done = *events.last().unwrap().get::<Done>().unwrap();
        assert_eq!(done.rejected(), None, "{command:?}");
        (events, done)
    };
    let later = |second: i64| Command { time_ns: second * 1_000_000_000, ..Command::new(AdvanceTime {}) };
    let units = |whole: i64| whole * 100_000_000;
    let mark = |price: i64| {
        Command::new(SetManualPrice { market: FIRST_PERPETUAL, reserved: 0, price: units(price) })
    };
    give(Command::new(ListPerpetual {
        symbol: padded("BTCUSDT").unwrap(),
        base: padded("BTC").unwrap(),
        quote: padded("USDT").unwrap(),
        tick: 10_000_000,
        lot: 100_000,
    }));
    give(Command::new(SetVipTier { tier: 0, count: 1, volume: 0, maker_rate: 0, taker_rate: 0 }));
    give(mark(60_000));
    give(later(1));
    let state = PerpetualState::Trading as u8;
    give(Command::new(SetPerpetualState { market: FIRST_PERPETUAL, state, reserved: [0; 3] }));
    let mut credited = |number: u8| {
        let (address, amount) = ([number; 20], 100_000 * 1_000_000);
        let credit = CreditPerpetual { address, reserved: 0, amount, reason: [0; 64] };
        give(Command { time_ns: 1_000_000_000, ..Command::new(credit) }).1.account
    };
    let (_fund, long, short) = (credited(0), credited(1), credited(2));
    let mut give =
        |command: Command| give(Command { time_ns: command.time_ns.max(1_000_000_000), ..command });
    let mode = MarginMode::Isolated as u32;
    give(Command::new(SetMarginMode { account: long, market: FIRST_PERPETUAL, mode, reserved: 0 }));
    give(Command::new(SetLeverage { account: long, market: FIRST_PERPETUAL, leverage: 100, reserved: 0 }));
    let order = |name: &str, account: u32, side: Side, quantity: i64, price: i64| PlacePerpetual {
        account,
        client_order: padded(name).unwrap(),
        market: FIRST_PERPETUAL,
        side: side as u8,
        price: units(price),
        quantity,
        ..PlacePerpetual::new_zeroed()
    };
    let (whole, half) = (10_000_000, 5_000_000);
    give(Command::new(order("a", short, Side::Sell, whole, 60_000)));
    give(Command::new(order("b", long, Side::Buy, whole, 60_000)));
    give(Command::new(order("c", short, Side::Buy, half, 59_100)));
    give(Command::new(order("d", short, Side::Buy, half, 59_100)));
    give(Command::new(PlacePerpetual {
        order_type: PerpetualOrderType::StopMarket as u8,
        stop_price: units(59_500),
        working_type: WorkingType::MarkPrice as u8,
        flags: order_flag::REDUCE_ONLY,
        ..order("e", long, Side::Sell, whole, 0)
    }));
    give(Command { time_ns: 1_000_000_000, ..mark(59_000) });
    let (events, _) = give(later(2));
    let updates = told(UserChannel::UserData, long, &events, views.perpetuals(), 0);
    let updates = updates.iter().filter(|event| event["e"] == "ACCOUNT_UPDATE").map(|update| {
        let balance = &update["a"]["B"][0];
        (update["a"]["m"].as_str().unwrap(), decimal(&balance["wb"]), decimal(&balance["bc"]))
    });
    let usd = |whole: i64| Decimal::new(whole, 0);
    assert_eq!(
        updates.collect::<Vec<_>>(),
        [("ORDER", usd(99_910), usd(0)), ("INSURANCE_CLEAR", usd(99_940), usd(30))]
    );
}
