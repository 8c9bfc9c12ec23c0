//! Hand-written cases of two public engines, and the QuantCup scoring feed, run on the real engine and on the
//! reference engine.
//!
//! QuantCup: prices in cents and sizes are taken as the engine's smallest steps, all traders trade without a
//! self-trade rule; a cancel of a number that is not resting must be refused and touch nothing.
//!
//! exchange-core: `price@size` in lots. In ETH_XBT a lot is 100,000 base units and a price step 10 quote units, so a
//! lot is 100,000 quantity steps and a price step 10 price steps here; one base unit is then 10^10 amount steps, one
//! quote unit 10^7. That engine holds a buyer at a *reserve price* above the limit and gives the difference back at
//! the fill; this one holds exactly the limit and has no reserve price. So:
//! - `expect_balance` adds what the reserve would hold beyond the limit on the account's open buys (exact);
//! - a buy that must be refused for lack of funds is sent at its reserve price;
//! - a move beyond the reserve price, which only a reserve can refuse, is left out, and the expectations after it show
//!   that nothing moved;
//! - EUR_USD is a margined pair there: both are credited here, its books and trades are checked, not its balances.
//!
//! `reservePrice` columns of order tables are not compared.

use crate::naive::Reference;
use crate::support::driver::{Exchange, Session};
use crate::support::{data, stream};
use ringside_core::command::{
    CancelOrder, Command, PlaceOrder, ReplaceOrder, SelfTradePrevention, Side, TimeInForce,
};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::{self, Event, Trade};
use ringside_core::ids::{AccountId, MarketId, OrderId};
use ringside_core::reject::Reject;
use serde_json::Value;
use std::collections::BTreeMap;

impl Exchange for Reference {
    fn apply(&mut self, command: &Command, events: &mut Vec<Event>) {
        events.extend(Reference::apply(self, command));
    }
}

/// What the scenarios read back from an engine.
trait Readable: Exchange {
    fn make() -> Self;
    fn available(&self, account: AccountId, asset: u16) -> i128;
    /// Price and total of each level, best first.
    fn levels(&self, market: MarketId, side: Side) -> Vec<(i64, i128)>;
}

impl Readable for Engine {
    fn make() -> Engine {
        Engine::new(&EngineConfig::default())
    }
    fn available(&self, account: AccountId, asset: u16) -> i128 {
        self.balance(account, asset).map_or(0, |row| row.0)
    }
    fn levels(&self, market: MarketId, side: Side) -> Vec<(i64, i128)> {
        self.depth(market, side, usize::MAX)
    }
}

impl Readable for Reference {
    fn make() -> Reference {
        Reference::new()
    }
    fn available(&self, account: AccountId, asset: u16) -> i128 {
        self.balance(account, asset).0
    }
    fn levels(&self, market: MarketId, side: Side) -> Vec<(i64, i128)> {
        let mut levels: BTreeMap<i64, i128> = BTreeMap::new();
        for order in self.side(market, side) {
            *levels.entry(order.price).or_default() += i128::from(order.open);
        }
        let ascending: Vec<_> = levels.into_iter().collect();
        if side == Side::Buy { ascending.into_iter().rev().collect() } else { ascending }
    }
}

// ---- QuantCup ----

/// A market of the competition: order numbers are given from 1 as orders arrive.
struct QuantCup<E> {
    session: Session<E>,
    market: MarketId,
    account: AccountId,
    orders: Vec<OrderId>,
}

impl<E: Readable> QuantCup<E> {
    fn new() -> QuantCup<E> {
        let mut session = Session::new(E::make());
        let market = session.open_market("CUP", "SHARE", "CENT");
        let account = session.credit(stream::address(0), "SHARE", i128::MAX / 4);
        session.credit(stream::address(0), "CENT", i128::MAX / 4);
        QuantCup { session, market, account, orders: vec![0] }
    }

    /// Enters the next order; its fills as (maker number, taker number, price, size).
    fn enter(&mut self, side: Side, price: i64, size: i64) -> Vec<[i64; 4]> {
        let mut place = PlaceOrder::limit(self.account, self.market, side, price, size);
        place.self_trade = SelfTradePrevention::None as u8;
        let done = self.session.accept(place);
        // The market is alone and stores no rejected order, so the engine's ids are the competition's numbers.
        assert_eq!(done.order as usize, self.orders.len());
        self.orders.push(done.order);
        let fill =
            |trade: &Trade| [trade.maker_order as i64, trade.taker_order as i64, trade.price, trade.quantity];
        self.session.told::<Trade>().map(fill).collect()
    }

    /// Cancels a number; whether it rested.
    fn cancel(&mut self, number: usize) -> bool {
        // A number not yet given out is sent as it is: the order that gets it later must not be touched.
        let order = self.orders.get(number).copied().unwrap_or(number as OrderId);
        let done = self.session.submit(CancelOrder { account: self.account, reserved: 0, order });
        assert!(matches!(done.rejected(), None | Some(Reject::OrderNotFound)), "{done:?}");
        done.reject == 0
    }
}

#[test]
fn quantcup_cases() {
    let Some(folder) = data::folder("matching-scenarios") else { return };
    let cases = data::text(&folder.join("quantcup_tests.json"));
    let cases: Vec<Value> = serde_json::from_str(&cases).expect("a list");
    assert_eq!(cases.len(), 14);
    for case in &cases {
        quantcup_case::<Engine>(case);
        quantcup_case::<Reference>(case);
    }
}

fn quantcup_case<E: Readable>(case: &Value) {
    let list = |name: &str| case[name].as_array().expect("a list");
    let mut cup = QuantCup::<E>::new();
    let mut traders = vec![""];
    let mut reports: Vec<(String, String, i64, i64)> = Vec::new();
    let mut enter = |cup: &mut QuantCup<E>, order: &'_ Value, traders: &mut Vec<&str>| {
        let side = if order["side"] == "bid" { Side::Buy } else { Side::Sell };
        let (price, size) = (order["price"].as_i64().expect("price"), order["size"].as_i64().expect("size"));
        for [maker, taker, price, size] in cup.enter(side, price, size) {
            let (buy, sell) = if side == Side::Buy { (taker, maker) } else { (maker, taker) };
            reports.push(("bid".into(), traders[buy as usize].into(), price, size));
            reports.push(("ask".into(), traders[sell as usize].into(), price, size));
        }
    };
    for order in list("orders") {
        traders.push(order["trader"].as_str().expect("a trader"));
        enter(&mut cup, order, &mut traders);
    }
    for number in list("then_cancel_order_numbers") {
        cup.cancel(number.as_u64().expect("a number") as usize);
    }
    for order in list("then_orders") {
        traders.push(order["trader"].as_str().expect("a trader"));
        enter(&mut cup, order, &mut traders);
    }
    let expected: Vec<(String, String, i64, i64)> = list("expected_execution_reports")
        .iter()
        .map(|report| {
            let text = |name: &str| report[name].as_str().expect("text").to_string();
            let number = |name: &str| report[name].as_i64().expect("a number");
            (text("side"), text("trader"), number("price"), number("size"))
        })
        .collect();
    assert_eq!(reports.len(), expected.len(), "case {}", case["id"]);
    for (real, expected) in reports.chunks(2).zip(expected.chunks(2)) {
        // The two reports of a fill may come in either order.
        let (mut real, mut expected) = (real.to_vec(), expected.to_vec());
        real.sort();
        expected.sort();
        assert_eq!(real, expected, "case {}", case["id"]);
    }
}

#[test]
fn quantcup_feed() {
    quantcup_feed_on::<Engine>();
}

#[test]
fn quantcup_feed_on_the_reference() {
    quantcup_feed_on::<Reference>();
}

fn quantcup_feed_on<E: Readable>() {
    let Some(folder) = data::folder("matching-scenarios") else { return };
    let expected = data::text(&folder.join("quantcup_feed_expected_trades.csv.gz"));
    let mut expected: Vec<[i64; 5]> =
        data::rows(&expected).map(|row| std::array::from_fn(|index| data::number(row[index]))).collect();
    assert_eq!(expected.len(), 16_887);
    expected.reverse();
    let mut cup = QuantCup::<E>::new();
    let (mut entered, mut stale) = (0, 0);
    for (index, row) in data::rows(&data::text(&folder.join("quantcup_feed.csv.gz"))).enumerate() {
        let number = data::number(row[1]);
        if row[0] == "C" {
            stale += usize::from(!cup.cancel(number as usize));
            continue;
        }
        entered += 1;
        assert_eq!(number, entered, "numbers follow arrival");
        let side = if row[3] == "B" { Side::Buy } else { Side::Sell };
        for [maker, taker, price, size] in cup.enter(side, data::number(row[4]), data::number(row[5])) {
            assert_eq!(expected.pop(), Some([index as i64 + 1, maker, taker, price, size]));
        }
    }
    assert!(expected.is_empty(), "{} fills are missing", expected.len());
    assert_eq!((entered, stale), (17_894, 17_551));
    let mut left = 0;
    for number in 1..=entered {
        left += usize::from(cup.cancel(number as usize));
    }
    assert_eq!(left, 622, "orders that rest at the end");
}

// ---- exchange-core ----

/// Engine steps of a lot and of a price step.
const LOT: i64 = 100_000;
const PRICE_STEP: i64 = 10;
/// Amount steps of a base unit and of a quote unit in ETH_XBT.
const BASE_UNIT: i128 = 10_000_000_000;
const QUOTE_UNIT: i128 = 10_000_000;

/// An order of a scenario that rests.
struct Open {
    client: String,
    symbol: String,
    side: Side,
    price: i64,
    size: i64,
    filled: i64,
    reserve: i64,
    order: OrderId,
}

/// A scenario under way.
struct Scenario<E> {
    session: Session<E>,
    symbol: String,
    clients: BTreeMap<String, AccountId>,
    open: BTreeMap<String, Open>,
    /// Fills of the last command not yet asked for.
    fills: Vec<Trade>,
}

#[test]
fn book_and_balance() {
    let Some(folder) = data::folder("matching-scenarios") else { return };
    let scenarios = data::text(&folder.join("scenarios_book_and_balance.json"));
    let scenarios: Vec<Value> = serde_json::from_str(&scenarios).expect("a list");
    assert_eq!(scenarios.len(), 4);
    let mut run = 0;
    for scenario in &scenarios {
        let examples = scenario["examples"].as_array().expect("a list");
        let symbols: Vec<&str> = match examples.len() {
            0 => vec!["ETH_XBT"],
            _ => examples[1..].iter().map(|row| row[0].as_str().expect("a symbol")).collect(),
        };
        for symbol in symbols {
            play::<Engine>(scenario, symbol);
            play::<Reference>(scenario, symbol);
            run += 1;
        }
    }
    assert_eq!(run, 5);
}

fn play<E: Readable>(scenario: &Value, symbol: &str) {
    let mut session = Session::new(E::make());
    session.open_market("ETHXBT", "ETH", "XBT");
    session.open_market("EURUSD", "EUR", "USD");
    let mut playing = Scenario {
        session,
        symbol: symbol.into(),
        clients: BTreeMap::new(),
        open: BTreeMap::new(),
        fills: Vec::new(),
    };
    let name = scenario["name"].as_str().expect("a name");
    let steps = ["background", "steps"].map(|part| scenario[part].as_array().expect("a list"));
    for (index, step) in steps.into_iter().flatten().enumerate() {
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| playing.step(step)));
        assert!(told.is_ok(), "{name} ({symbol}), step {index}: {step}");
    }
    assert!(playing.fills.is_empty(), "{name}: fills that no step asked for");
}

impl<E: Readable> Scenario<E> {
    fn step(&mut self, step: &Value) {
        let args: Vec<String> = step["args"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|arg| arg.as_str().unwrap_or("").replace("<symbol>", &self.symbol))
            .collect();
        let arg = |index: usize| args.get(index).map_or("", String::as_str);
        let table: Vec<Vec<&str>> =
            step["table"].as_array().map_or(Vec::new(), |rows| rows.iter().map(cells).collect());
        match step["step"].as_str().expect("a step") {
            "balance_set" => self.set_balances(arg(0), &table),
            "deposit" => {
                let account = self.client(arg(2));
                let amount: i128 = arg(0).parse().expect("a number");
                let credited = self.session.credit(address(arg(2)), arg(1), amount * unit(arg(1)));
                assert_eq!(credited, account);
            }
            "place" => self.place(&args, None),
            "place_rejected" => {
                assert_eq!(arg(8), "RISK_NSF");
                self.place(&args, Some(Reject::InsufficientBalance));
            }
            "move" => self.shift(arg(0), arg(1), arg(2)),
            "move_rejected" => assert_eq!(arg(3), "MATCHING_MOVE_FAILED_PRICE_OVER_RISK_LIMIT"),
            "cancel" => self.cancel(arg(0), arg(1), arg(2)),
            "expect_book" => self.expect_book(arg(0), &table),
            "expect_no_trades" => assert!(self.fills.is_empty(), "{:?}", self.fills),
            "expect_match" => self.expect_match(&args),
            "expect_orders" => self.expect_orders(arg(0), &table),
            "expect_no_orders" => self.expect_orders(arg(0), &[]),
            "expect_balance" => self.expect_balance(arg(0), &table),
            other => panic!("unknown step {other}"),
        }
    }

    fn client(&mut self, name: &str) -> AccountId {
        if let Some(&account) = self.clients.get(name) {
            return account;
        }
        let account = self.session.accept(account_of(name)).account;
        self.clients.insert(name.into(), account);
        account
    }

    fn set_balances(&mut self, name: &str, table: &[Vec<&str>]) {
        self.client(name);
        for row in table {
            let amount: i128 = row[1].parse().expect("a number");
            self.session.credit(address(name), row[0], amount * unit(row[0]));
            if row[0] == "USD" {
                // The margined pair of the other engine needs no euros.
                self.session.credit(address(name), "EUR", amount * BASE_UNIT * 1000);
                self.session.credit(address(name), "USD", amount * BASE_UNIT * 1000);
            }
        }
    }

    /// [client, side, id, price, size, type, symbol, reserve price]; a refusal expected or not.
    fn place(&mut self, args: &[String], refused: Option<Reject>) {
        let [client, side, id, price, size, tif, symbol, reserve] = &args[..8] else { panic!("{args:?}") };
        let number = |text: &str| text.parse::<i64>().expect("a number");
        let side = if side == "BID" { Side::Buy } else { Side::Sell };
        let account = self.client(client);
        let reserve = if side == Side::Buy { number(reserve) } else { 0 };
        // Refused for what the reserve price would hold.
        let limit = if refused.is_some() && side == Side::Buy { reserve } else { number(price) };
        let (market, size) = (market_of(symbol), number(size));
        let mut place = PlaceOrder::limit(account, market, side, limit * PRICE_STEP, size * LOT);
        if tif == "IOC" {
            place.time_in_force = TimeInForce::ImmediateOrCancel as u8;
        }
        if let Some(reject) = refused {
            self.session.refuse(place, reject);
            return;
        }
        let done = self.session.accept(place);
        let open = Open {
            client: client.clone(),
            symbol: symbol.clone(),
            side,
            price: number(price),
            size,
            filled: 0,
            reserve,
            order: done.order,
        };
        self.open.insert(id.clone(), open);
        self.learn();
    }

    fn shift(&mut self, client: &str, price: &str, id: &str) {
        let account = self.client(client);
        let price: i64 = price.parse().expect("a number");
        let open = self.open.get_mut(id).expect("it rests");
        open.price = price;
        let (order, quantity) = (open.order, (open.size - open.filled) * LOT);
        let price = price * PRICE_STEP;
        self.session.accept(ReplaceOrder { account, reserved: 0, order, price, quantity });
        self.learn();
    }

    fn cancel(&mut self, client: &str, remainder: &str, id: &str) {
        let account = self.client(client);
        let open = self.open.remove(id).expect("it rests");
        self.session.accept(CancelOrder { account, reserved: 0, order: open.order });
        let order = self.session.told::<event::Order>().next().expect("one order");
        assert_eq!((order.quantity - order.filled) / LOT, remainder.parse::<i64>().expect("a number"));
    }

    /// Takes in the fills of the last command and drops the orders that ended.
    fn learn(&mut self) {
        self.fills = self.session.told::<Trade>().copied().collect();
        let ended: Vec<OrderId> = self
            .session
            .told::<event::Order>()
            .filter(|order| order.open == 0)
            .map(|order| order.order)
            .collect();
        for trade in &self.fills {
            for open in self.open.values_mut() {
                if open.order == trade.maker_order || open.order == trade.taker_order {
                    open.filled += trade.quantity / LOT;
                }
            }
        }
        self.open.retain(|_, open| open.filled < open.size && !ended.contains(&open.order));
    }

    /// [maker id, fully or partially, price, size, reserve price of the buyer]: the next fill.
    fn expect_match(&mut self, args: &[String]) {
        assert!(!self.fills.is_empty(), "no fill is left");
        let trade = self.fills.remove(0);
        let number = |index: usize| args[index].parse::<i64>().expect("a number");
        assert_eq!(trade.price, number(2) * PRICE_STEP);
        assert_eq!(trade.quantity, number(3) * LOT);
        assert_eq!(trade.maker_filled == 1, args[1] == "fully");
        if let Some(open) = self.open.get(&args[0]) {
            assert_eq!(trade.maker_order, open.order);
        } else {
            assert_eq!(trade.maker_filled, 1, "a maker that is gone was filled");
        }
    }

    fn expect_book(&mut self, symbol: &str, table: &[Vec<&str>]) {
        let market = market_of(symbol);
        let rows = table.iter().filter(|row| row[0] != "bid");
        let (mut bids, mut asks) = (Vec::new(), Vec::new());
        for row in rows {
            let price = row[1].parse::<i64>().expect("a price") * PRICE_STEP;
            let total = |text: &str| text.parse::<i128>().expect("a size") * i128::from(LOT);
            if row[0].is_empty() {
                asks.push((price, total(row[2])));
            } else {
                bids.push((price, total(row[0])));
            }
        }
        // Tables run from the highest price down.
        asks.reverse();
        assert_eq!(self.session.engine.levels(market, Side::Buy), bids, "bids");
        assert_eq!(self.session.engine.levels(market, Side::Sell), asks, "asks");
    }

    /// Columns id, price, size, filled, reservePrice, side; compared with what the events told.
    fn expect_orders(&mut self, client: &str, table: &[Vec<&str>]) {
        let expected: Vec<[String; 5]> = table
            .iter()
            .filter(|row| row[0] != "id")
            .map(|row| [0, 1, 2, 3, 5].map(|column| row[column].to_string()))
            .collect();
        let open = self.open.iter().filter(|(_, open)| open.client == client);
        let real: Vec<[String; 5]> = open
            .map(|(id, open)| {
                let side = if open.side == Side::Buy { "BID" } else { "ASK" };
                [
                    id.clone(),
                    open.price.to_string(),
                    open.size.to_string(),
                    open.filled.to_string(),
                    side.into(),
                ]
            })
            .collect();
        assert_eq!(real, expected);
    }

    /// Available balances, less what the reserve price would hold beyond the limit.
    fn expect_balance(&mut self, client: &str, table: &[Vec<&str>]) {
        let account = self.client(client);
        for row in table {
            let expected = row[1].parse::<i128>().expect("a number") * unit(row[0]);
            let beyond: i128 = self
                .open
                .values()
                .filter(|open| {
                    open.client == client && open.side == Side::Buy && row[0] == quote_of(&open.symbol)
                })
                .map(|open| {
                    let steps = (open.reserve - open.price) * (open.size - open.filled) * PRICE_STEP;
                    i128::from(steps) * QUOTE_UNIT
                })
                .sum();
            let real = self.session.engine.available(account, asset_of(row[0]));
            assert_eq!(real - beyond, expected, "{client}, {}", row[0]);
        }
    }
}

fn cells(row: &Value) -> Vec<&str> {
    row.as_array().into_iter().flatten().map(|cell| cell.as_str().unwrap_or("")).collect()
}

fn address(client: &str) -> [u8; 20] {
    let mut address = [0; 20];
    address[..client.len()].copy_from_slice(client.as_bytes());
    address
}

fn account_of(client: &str) -> ringside_core::command::CreateAccount {
    ringside_core::command::CreateAccount { address: address(client), reserved: 0 }
}

fn market_of(symbol: &str) -> MarketId {
    match symbol {
        "ETH_XBT" => 0,
        "EUR_USD" => 1,
        other => panic!("unknown symbol {other}"),
    }
}

fn quote_of(symbol: &str) -> &'static str {
    if symbol == "ETH_XBT" { "XBT" } else { "USD" }
}

/// Asset ids follow the two markets' listing.
fn asset_of(name: &str) -> u16 {
    let names = ["ETH", "XBT", "EUR", "USD"];
    names.iter().position(|&known| known == name).expect("a known asset") as u16
}

/// Amount steps of one unit of an asset.
fn unit(name: &str) -> i128 {
    if name == "ETH" || name == "EUR" { BASE_UNIT } else { QUOTE_UNIT }
}
