//! The flow benchmark: three synthetic scenarios of a public engine challenge, 1,996,097 messages each. The engine's
//! events, spelled in the challenge's report lines, must have the SHA-256 that its authors publish; every 100,000
//! messages the hash so far, best prices, levels and book size are compared, which finds the first wrong stretch.
//!
//! Translation: one account trades with itself (no self-trade rule, no fee, more money than the flow can ask for);
//! price ticks and quantities are taken as the engine's smallest steps; modify is a replace; a stale id is sent as the
//! engine's id of the dead order, an id that was never used as one that no order has.

use crate::support::driver::Session;
use crate::support::{data, stream};
use ringside_core::command::{CancelOrder, PlaceOrder, ReplaceOrder, SelfTradePrevention, Side, TimeInForce};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::{self, Trade};
use ringside_core::ids::{AccountId, MarketId, OrderId};
use ringside_core::reject::Reject;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Order ids of the files are below this.
const IDS: usize = 1_000_001;

#[test]
fn normal() {
    run("normal_seed23");
}

#[test]
fn static_price() {
    run("static_seed23");
}

#[test]
fn flash_crash() {
    run("flash-crash_seed23");
}

fn run(name: &str) {
    let Some(folder) = data::folder("flow-benchmark") else { return };
    let expected = data::text(&folder.join(format!("{name}.expected.json")));
    let expected: serde_json::Value = serde_json::from_str(&expected).expect("JSON");
    let flow = data::text(&folder.join(format!("{name}.csv.zst")));
    let mut checkpoints = expected["checkpoints"].as_array().expect("a list").iter().peekable();
    let mut replay = Replay::new();
    for (seq, line) in flow.lines().skip(1).enumerate() {
        if seq % 100_000 == 0
            && let Some(checkpoint) = checkpoints.next_if(|checkpoint| checkpoint["messages"] == seq)
        {
            let hash = hex(&replay.hash.clone().finalize());
            assert_eq!(checkpoint["sha256_prefix"], hash.as_str(), "{name}: reports before message {seq}");
            replay.compare(&checkpoint["reports"], checkpoint, &format!("{name}, message {seq}"));
        }
        replay.message(seq, line);
    }
    assert!(checkpoints.peek().is_none(), "{name}: checkpoints that were never reached");
    replay.compare(&expected["reports"], &expected["final"], &format!("{name}, end"));
    assert_eq!(expected["messages"], replay.session.sequence - replay.opening);
    assert_eq!(expected["sha256_reports"], hex(&replay.hash.finalize()).as_str(), "{name}: all reports");
    replay.session.engine.check_invariants().expect("invariants hold");
}

/// The session, the map of ids and the reports so far.
struct Replay {
    session: Session<Engine>,
    account: AccountId,
    market: MarketId,
    /// Commands before the first message.
    opening: u64,
    /// The engine's id of each id of the file, 0 for none yet.
    engine_ids: Vec<OrderId>,
    /// The file's id of each order of the engine.
    file_ids: Vec<usize>,
    hash: Sha256,
    /// The reports of one message.
    lines: String,
    /// Reports of each leading number.
    reports: [u64; 6],
}

impl Replay {
    fn new() -> Replay {
        let mut session = Session::new(Engine::new(&EngineConfig::default()));
        let market = session.open_market("FLOW", "BASE", "QUOTE");
        let address = stream::address(0);
        let account = session.credit(address, "BASE", i128::MAX / 2);
        session.credit(address, "QUOTE", i128::MAX / 2);
        Replay {
            opening: session.sequence,
            session,
            account,
            market,
            engine_ids: vec![0; IDS],
            file_ids: vec![0],
            hash: Sha256::new(),
            lines: String::new(),
            reports: [0; 6],
        }
    }

    fn message(&mut self, seq: usize, line: &str) {
        self.lines.clear();
        let fields: Vec<&str> = line.split(',').collect();
        match fields[..] {
            ["N", id, side, price, quantity, ioc] => {
                self.new_order(seq, index(id), side, price, quantity, ioc == "1")
            }
            ["C", id] => self.cancel(seq, index(id)),
            ["M", id, _, price, quantity] => self.modify(seq, index(id), price, quantity),
            _ => panic!("message {seq}: {line}"),
        }
        let is_first = self.reports.iter().sum::<u64>() == 0;
        for report in self.lines.lines().skip(1) {
            self.reports[usize::from(report.as_bytes()[0] - b'0')] += 1;
        }
        // Lines are joined by a newline: none before the first and none after the last.
        let from = usize::from(is_first && !self.lines.is_empty());
        self.hash.update(&self.lines.as_bytes()[from..]);
    }

    /// Adds a report. Each begins with a newline; the first of all loses it.
    fn report(&mut self, report: std::fmt::Arguments<'_>) {
        self.lines.write_char('\n').and_then(|()| self.lines.write_fmt(report)).expect("a string takes it");
    }

    fn new_order(&mut self, seq: usize, id: usize, side: &str, price: &str, quantity: &str, ioc: bool) {
        let side_code = side_code(side);
        let side = Side::from_code(side_code).expect("0 or 1");
        let (price, quantity) = (data::number(price), data::number(quantity));
        let mut place = PlaceOrder::limit(self.account, self.market, side, price, quantity);
        place.self_trade = SelfTradePrevention::None as u8;
        if ioc {
            place.time_in_force = TimeInForce::ImmediateOrCancel as u8;
        }
        let done = self.session.accept(place);
        self.engine_ids[id] = done.order;
        assert_eq!(done.order as usize, self.file_ids.len(), "ids are dense");
        self.file_ids.push(id);
        self.report(format_args!("0,{seq},{side_code},{id},{price},{quantity}"));
        self.trades(seq);
        let order = *self.session.told::<event::Order>().next().expect("one order");
        let ended = order.quantity - order.filled - order.open;
        if ended > 0 {
            self.report(format_args!("2,{seq},{side_code},{id},{price}"));
        }
    }

    fn trades(&mut self, seq: usize) {
        let trades: Vec<Trade> = self.session.told::<Trade>().copied().collect();
        for trade in trades {
            let (maker, taker) =
                (self.file_ids[trade.maker_order as usize], self.file_ids[trade.taker_order as usize]);
            self.report(format_args!("1,{seq},{},{},{maker},{taker}", trade.price, trade.quantity));
        }
    }

    fn cancel(&mut self, seq: usize, id: usize) {
        let order = self.engine_ids[id];
        let done = self.session.submit(CancelOrder { account: self.account, reserved: 0, order });
        match done.rejected() {
            None => {
                let order = *self.session.told::<event::Order>().next().expect("one order");
                self.report(format_args!("2,{seq},{},{id},{}", order.side, order.price));
            }
            Some(Reject::OrderNotFound) => self.report(format_args!("4,{seq},{id}")),
            Some(reject) => panic!("message {seq}: {reject:?}"),
        }
    }

    fn modify(&mut self, seq: usize, id: usize, price: &str, quantity: &str) {
        let (price, quantity) = (data::number(price), data::number(quantity));
        let order = self.engine_ids[id];
        let replace = ReplaceOrder { account: self.account, reserved: 0, order, price, quantity };
        match self.session.submit(replace).rejected() {
            None => {
                let order = *self.session.told::<event::Order>().next().expect("one order");
                self.trades(seq);
                self.report(format_args!("3,{seq},{},{id},{price},{quantity}", order.side));
            }
            Some(Reject::OrderNotFound) => self.report(format_args!("5,{seq},{id}")),
            Some(reject) => panic!("message {seq}: {reject:?}"),
        }
    }

    /// Compares counts of reports and the book with what the file says.
    fn compare(&self, reports: &serde_json::Value, book: &serde_json::Value, at: &str) {
        let names = ["order_ack", "trade", "cancel_ack", "modify_ack", "cancel_reject", "modify_reject"];
        for (name, count) in names.iter().zip(self.reports) {
            assert_eq!(reports[name], count, "{at}: {name}");
        }
        let bids = self.session.engine.depth(self.market, Side::Buy, usize::MAX);
        let asks = self.session.engine.depth(self.market, Side::Sell, usize::MAX);
        assert_eq!(book["bid_levels"], bids.len(), "{at}");
        assert_eq!(book["ask_levels"], asks.len(), "{at}");
        assert_eq!(book["best_bid"].as_i64(), bids.first().map(|level| level.0), "{at}");
        assert_eq!(book["best_ask"].as_i64(), asks.first().map(|level| level.0), "{at}");
        let engine = &self.session.engine;
        let resting: usize = Side::ALL.iter().map(|&side| engine.resting(self.market, side).count()).sum();
        assert_eq!(book["resting_orders"], resting, "{at}");
        let totals = [("resting_qty_bid", &bids), ("resting_qty_ask", &asks)];
        for (name, levels) in totals {
            if let Some(total) = book[name].as_i64() {
                assert_eq!(
                    i128::from(total),
                    levels.iter().map(|level| level.1).sum::<i128>(),
                    "{at}: {name}"
                );
            }
        }
    }
}

fn index(id: &str) -> usize {
    id.parse().expect("an id")
}

fn side_code(side: &str) -> u8 {
    match side {
        "B" => Side::Buy as u8,
        "S" => Side::Sell as u8,
        _ => panic!("no side: {side}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
