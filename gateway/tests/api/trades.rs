//! Every change of a position is a trade that both sides can see (`design/engine.md` 3, `risk.md` 21.8a, C-04): for every account
//! and market, from REST alone, fills with their signs sum to the position, executed quantities of orders as well, profits of fills
//! to the REALIZED_PNL rows, each with its trade; and the user stream tells of every order what REST tells. Positions are closed
//! in every way that there is: by orders, by liquidations with a book and without, by the fund, by counterparties, by settlement.

use crate::exchange::socket::Socket;
use crate::exchange::venue::Venue;
use crate::exchange::{Exchange, START_S};
use crate::random::{Random, is_rerun, seed_or};
use crate::user_reader::{Reader, decimal};
use ringside_core::command::{Command, CreditPerpetual, Side};
use ringside_core::ids::FEE_ACCOUNT;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const MARKETS: [&str; 2] = ["BTCUSDT", "SOLUSDT"];

/// A venue, and what its accounts were told.
struct Story {
    venue: Venue,
    sockets: Vec<(u8, Socket)>,
    told: BTreeMap<u8, Told>,
    /// Names of orders that the engine made, and causes for which orders ended.
    met: BTreeMap<String, u64>,
}

/// The stream of one account.
struct Told {
    reader: Reader,
    /// The last event of each order.
    orders: BTreeMap<u64, Value>,
    /// The event of each fill, by order and trade.
    fills: BTreeMap<(u64, u64), Value>,
}

/// With its sign.
fn signed(side: &Value, quantity: &Value) -> Decimal {
    if *side == "BUY" { decimal(quantity) } else { -decimal(quantity) }
}

impl Story {
    /// Accounts with so many USDT, and the fund with so many.
    fn new(accounts: &[(u8, i64)], fund: i64) -> Story {
        let reason = [0; 64];
        let credit = CreditPerpetual { address: [0; 20], reserved: 0, amount: fund * 1_000_000, reason };
        let credit: &[Command] = if fund > 0 { &[Command::new(credit)] } else { &[] };
        let exchange = Exchange::start_perpetual_after(accounts, credit, 1_000_000_000, |config| {
            config.websocket_frames_per_second = u32::MAX;
        });
        let mut venue = Venue::of(exchange, accounts.iter().map(|(number, _)| *number));
        let mut sockets = Vec::new();
        let mut told = BTreeMap::new();
        for (number, amount) in accounts {
            let key = venue.listen_key(*number);
            sockets.push((*number, Socket::at(&venue.exchange, &format!("/ws/{key}"))));
            let reader = Reader::with(*amount);
            told.insert(*number, Told { reader, orders: BTreeMap::new(), fills: BTreeMap::new() });
        }
        Story { venue, sockets, told, met: BTreeMap::new() }
    }

    /// A request that may be refused.
    fn tries(&mut self, number: u8, method: &str, path: &str, params: &str) -> Value {
        let (_, body) = self.venue.ask(number, method, path, params);
        self.listen();
        body
    }

    fn limit(&mut self, number: u8, symbol: &str, side: &str, quantity: &str, price: &str) -> Value {
        let terms = format!("symbol={symbol}&side={side}&type=LIMIT&timeInForce=GTC");
        self.tries(number, "POST", "/fapi/v1/order", &format!("{terms}&quantity={quantity}&price={price}"))
    }

    fn leverage(&mut self, number: u8, symbol: &str, leverage: u32) {
        let params = format!("symbol={symbol}&leverage={leverage}");
        self.venue.call(number, "POST", "/fapi/v1/leverage", &params);
    }

    fn isolate(&mut self, number: u8) {
        let login = self.venue.exchange.account(number);
        let body = r#"{"mode":"ISOLATED"}"#;
        let answer = self.venue.exchange.request("POST", "/api/v1/account/margin-mode", &login, body);
        assert_eq!(answer.status, 200, "{}", answer.body);
        self.listen();
    }

    /// Pins the index, and lets the engine see it.
    fn index(&mut self, symbol: &str, price: &str) {
        let body = json!({ "symbol": symbol, "price": price }).to_string();
        self.venue.operate("POST", "/admin/perpetual/index-price", &body);
        self.pass(1_300);
        self.pass(1_000);
    }

    fn state(&mut self, symbol: &str, state: &str) {
        let body = json!({ "state": state, "confirm": state == "CLOSED" }).to_string();
        self.venue.operate("PATCH", &format!("/admin/perpetual/symbols/{symbol}"), &body);
        self.listen();
    }

    fn pass(&mut self, ms: i64) {
        self.venue.exchange.clock.turn(ms);
        self.venue.exchange.turn();
        self.listen();
    }

    /// Takes in what the streams told.
    fn listen(&mut self) {
        self.venue.exchange.turn();
        for (number, socket) in &mut self.sockets {
            let told = self.told.get_mut(number).unwrap();
            let texts = socket.drain().unwrap();
            for event in texts.iter().map(|text| serde_json::from_str::<Value>(text).unwrap()) {
                told.reader.read(&event);
                if event["e"] != "ORDER_TRADE_UPDATE" {
                    continue;
                }
                let o = &event["o"];
                let order = o["i"].as_u64().unwrap();
                if o["t"] != 0 {
                    let fill = (order, o["t"].as_u64().unwrap());
                    assert!(told.fills.insert(fill, o.clone()).is_none(), "told twice: {o}");
                }
                if o["o"] == "LIQUIDATION" {
                    let name: String =
                        o["c"].as_str().unwrap().chars().filter(|c| !c.is_ascii_digit()).collect();
                    *self.met.entry(format!("{name} {}", o["X"].as_str().unwrap())).or_default() += 1;
                }
                told.orders.insert(order, o.clone());
            }
            told.reader.rest(Decimal::ZERO);
        }
    }

    /// All rows of a list that goes on from an id, page by page.
    fn rows(
        &mut self,
        number: u8,
        path: &str,
        symbol: &str,
        (from, id): (&str, &str),
        limit: usize,
    ) -> Vec<Value> {
        let (mut rows, mut next) = (Vec::new(), 1);
        loop {
            let params = format!("symbol={symbol}&{from}={next}&limit={limit}");
            let page = self.venue.call(number, "GET", path, &params);
            let page = page.as_array().unwrap().clone();
            let is_last = page.len() < limit;
            next = page.last().map_or(next, |last| last[id].as_u64().unwrap() + 1);
            rows.extend(page);
            if is_last {
                return rows;
            }
        }
    }

    fn profits(&mut self, number: u8, symbol: &str) -> Vec<Value> {
        let (mut rows, mut page) = (Vec::new(), 1);
        loop {
            let params = format!(
                "symbol={symbol}&incomeType=REALIZED_PNL&limit=100&page={page}&startTime={}",
                START_S * 1_000
            );
            let more = self.venue.call(number, "GET", "/fapi/v1/income", &params);
            let more = more.as_array().unwrap().clone();
            let is_last = more.len() < 100;
            rows.extend(more);
            page += 1;
            if is_last {
                return rows;
            }
        }
    }

    /// What this is about, of one account in one market.
    fn judge(&mut self, number: u8, symbol: &str) {
        let what = format!("account {number}, {symbol}");
        let fills = self.rows(number, "/fapi/v1/userTrades", symbol, ("fromId", "id"), 1_000);
        // In short pages too. A trade with oneself is two rows of one id.
        let walked = self.rows(number, "/fapi/v1/userTrades", symbol, ("fromId", "id"), 7);
        let ids =
            |rows: &[Value]| rows.iter().map(|row| row["id"].as_u64().unwrap()).collect::<BTreeSet<_>>();
        assert_eq!(ids(&walked), ids(&fills), "{what}: a walk by ids");
        let orders = self.rows(number, "/fapi/v1/allOrders", symbol, ("orderId", "orderId"), 11);
        let risk = self.venue.call(number, "GET", "/fapi/v2/positionRisk", &format!("symbol={symbol}"));
        let held = decimal(&risk[0]["positionAmt"]);
        let profits = self.profits(number, symbol);

        // Fills, orders and position are one.
        let filled: Decimal = fills.iter().map(|fill| signed(&fill["side"], &fill["qty"])).sum();
        let executed: Decimal =
            orders.iter().map(|order| signed(&order["side"], &order["executedQty"])).sum();
        assert_eq!((filled, executed), (held, held), "{what}: fills, orders, and {held} held");
        let mut of_order: BTreeMap<u64, (Decimal, Decimal)> = BTreeMap::new();
        for fill in &fills {
            let sums = of_order.entry(fill["orderId"].as_u64().unwrap()).or_default();
            sums.0 += decimal(&fill["qty"]);
            sums.1 += decimal(&fill["quoteQty"]);
            assert_eq!(fill["buyer"], fill["side"] == "BUY", "{fill}");
        }
        let ids: BTreeSet<u64> = orders.iter().map(|order| order["orderId"].as_u64().unwrap()).collect();
        assert_eq!(ids.len(), orders.len(), "{what}: each order once");
        assert!(of_order.keys().all(|order| ids.contains(order)), "{what}: a fill of no order");

        // Profits are those of fills.
        let mut of_trade: BTreeMap<String, Decimal> = BTreeMap::new();
        for fill in fills.iter().filter(|fill| !decimal(&fill["realizedPnl"]).is_zero()) {
            *of_trade.entry(fill["id"].to_string()).or_default() += decimal(&fill["realizedPnl"]);
        }
        let mut told: BTreeMap<String, Decimal> = BTreeMap::new();
        for row in &profits {
            *told.entry(row["tradeId"].as_str().unwrap().to_owned()).or_default() += decimal(&row["income"]);
        }
        assert_eq!(of_trade, told, "{what}: profits by trade");

        // The stream tells what REST tells.
        let told = &self.told[&number];
        for order in &orders {
            let id = order["orderId"].as_u64().unwrap();
            let (quantity, value) = of_order.get(&id).copied().unwrap_or_default();
            assert_eq!(
                (quantity, value),
                (decimal(&order["executedQty"]), decimal(&order["cumQuote"])),
                "{order}"
            );
            let o = told.orders.get(&id).unwrap_or_else(|| panic!("{what}: the stream knows no {order}"));
            for (key, name) in [
                ("X", "status"),
                ("c", "clientOrderId"),
                ("S", "side"),
                ("z", "executedQty"),
                ("q", "origQty"),
                ("ap", "avgPrice"),
                ("p", "price"),
            ] {
                assert_eq!(o[key], order[name], "{what}: {name} of {order}, told {o}");
            }
        }
        let of_market = told.fills.values().filter(|o| o["s"] == symbol).count();
        assert_eq!(of_market, fills.len(), "{what}: each fill is told once");
        for fill in &fills {
            let o = &told.fills[&(fill["orderId"].as_u64().unwrap(), fill["id"].as_u64().unwrap())];
            for (key, name) in [("l", "qty"), ("L", "price"), ("S", "side"), ("m", "maker")] {
                assert_eq!(o[key], fill[name], "{what}: {name} of {fill}, told {o}");
            }
            assert_eq!(decimal(&o["rp"]), decimal(&fill["realizedPnl"]), "{fill} {o}");
            assert_eq!(decimal(&o["n"]), decimal(&fill["commission"]), "{fill} {o}");
        }
        let shown = told.reader.positions.get(symbol).map_or(Decimal::ZERO, |row| decimal(&row["pa"]));
        assert_eq!(shown, held, "{what}: the position as told");
    }

    /// The same of all accounts, the fund's from the views behind REST; and what is public is what was made in the book.
    fn judge_all(&mut self) {
        let numbers: Vec<u8> = self.told.keys().copied().collect();
        for symbol in MARKETS {
            for &number in &numbers {
                self.judge(number, symbol);
            }
            let (mut trades, mut next) = (Vec::new(), 1);
            loop {
                let path = format!("/fapi/v1/historicalTrades?symbol={symbol}&fromId={next}&limit=5");
                let page = self.venue.public(&path).as_array().unwrap().clone();
                let is_last = page.len() < 5;
                next = page.last().map_or(next, |last| last["id"].as_u64().unwrap() + 1);
                trades.extend(page);
                if is_last {
                    break;
                }
            }
            let public: BTreeSet<u64> = trades.iter().map(|trade| trade["id"].as_u64().unwrap()).collect();
            assert_eq!(public.len(), trades.len(), "a walk by ids sees each trade once");
            let whole = self.venue.public(&format!("/fapi/v1/historicalTrades?symbol={symbol}&limit=500"));
            assert!(trades.len() > 500 || whole.as_array().unwrap().len() == trades.len(), "and all of them");
            for told in self.told.values() {
                for ((_, trade), o) in told.fills.iter().filter(|(_, o)| o["s"] == symbol) {
                    let name = o["c"].as_str().unwrap();
                    let is_counterparty = ["adl_autoclose", "settlement_autoclose"].contains(&name);
                    assert!(!is_counterparty || !public.contains(trade), "made in no book: {o}");
                    assert!(name.contains("autoclose") || public.contains(trade), "made in the book: {o}");
                }
            }
        }
        let views = self.venue.exchange.shared.views.read();
        let views = views.perpetuals();
        for market in views.markets().all() {
            let of_fund = views
                .fills()
                .iter()
                .filter(|fill| (fill.account, fill.market) == (FEE_ACCOUNT, market.market));
            let sign = |side: u8, quantity: i64| if side == Side::Buy as u8 { quantity } else { -quantity };
            let filled: i64 = of_fund.map(|fill| sign(fill.side, fill.quantity)).sum();
            let orders = views.orders().ended().iter().map(|order| order.told);
            let own = orders.filter(|told| (told.account, told.market) == (FEE_ACCOUNT, market.market));
            let executed: i64 = own.map(|told| sign(told.side, told.filled)).sum();
            let held = views.accounts().get(FEE_ACCOUNT).holding(market.market).position.quantity;
            assert_eq!((filled, executed), (held, held), "the fund's position");
        }
    }

    /// The only order of an account whose name begins so.
    fn order(&mut self, number: u8, symbol: &str, name: &str) -> Value {
        let orders = self.rows(number, "/fapi/v1/allOrders", symbol, ("orderId", "orderId"), 100);
        let mut named =
            orders.into_iter().filter(|order| order["clientOrderId"].as_str().unwrap().starts_with(name));
        let found = named.next().unwrap_or_else(|| panic!("no {name}"));
        assert!(named.next().is_none(), "one {name} of account {number}");
        found
    }
}

#[test]
fn the_case_c_04() {
    let (long, short, bidder) = (1, 2, 3);
    let mut story = Story::new(&[(long, 100), (short, 2_000), (bidder, 100_000)], 0);
    story.leverage(long, "SOLUSDT", 25);
    story.leverage(short, "SOLUSDT", 25);
    story.limit(short, "SOLUSDT", "SELL", "12", "150");
    story.limit(long, "SOLUSDT", "BUY", "12", "150");
    story.limit(bidder, "SOLUSDT", "BUY", "2", "142.6");
    story.index("SOLUSDT", "143");
    story.judge_all();
    story.index("SOLUSDT", "136");
    story.judge_all();
    let closed = story.order(long, "SOLUSDT", "autoclose-");
    assert_eq!(
        [&closed["status"], &closed["executedQty"], &closed["origQty"]],
        ["FILLED", "12", "12"],
        "{closed}"
    );
    let given = story.order(short, "SOLUSDT", "adl_autoclose");
    assert_eq!([&given["status"], &given["executedQty"], &given["side"]], ["FILLED", "10", "BUY"], "{given}");
    let forced = |story: &mut Story, number, kind: &str| {
        let rows = story.venue.call(
            number,
            "GET",
            "/fapi/v1/forceOrders",
            &format!("symbol=SOLUSDT&autoCloseType={kind}"),
        );
        rows.as_array().unwrap().iter().map(|row| row["orderId"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(forced(&mut story, long, "LIQUIDATION"), [closed["orderId"].clone()]);
    assert_eq!(forced(&mut story, short, "ADL"), [given["orderId"].clone()]);
    // The market closes: what is left is an order, a fill and an event of each side.
    story.state("SOLUSDT", "CLOSED");
    story.judge_all();
    for (number, side, quantity) in [(short, "BUY", "2"), (bidder, "SELL", "2")] {
        let settled = story.order(number, "SOLUSDT", "settlement_autoclose");
        assert_eq!(
            [&settled["status"], &settled["side"], &settled["executedQty"]],
            ["FILLED", side, quantity]
        );
    }
    assert_eq!(forced(&mut story, short, "LIQUIDATION"), [Value::Null; 0]);
}

/// An isolated position that has lost more than it was given, settled: its order shows the whole loss, which the fund pays in part.
#[test]
fn an_isolated_position_is_settled_by_a_trade() {
    let (long, short) = (1, 2);
    let mut story = Story::new(&[(long, 3_006), (short, 100_000)], 50_000);
    story.isolate(long);
    story.leverage(long, "BTCUSDT", 10);
    story.limit(short, "BTCUSDT", "SELL", "0.1", "60000");
    story.limit(long, "BTCUSDT", "BUY", "0.1", "60000");
    story.judge_all();
    // No liquidation comes before it.
    story.state("BTCUSDT", "HALTED");
    story.index("BTCUSDT", "50000");
    // The mean of half an hour: the index of before is out of it.
    story.pass(1_000_000);
    story.pass(1_000_000);
    story.state("BTCUSDT", "CLOSED");
    story.judge_all();
    let settled = story.order(long, "BTCUSDT", "settlement_autoclose");
    assert_eq!(
        [&settled["status"], &settled["side"], &settled["avgPrice"]],
        ["FILLED", "SELL", "50000"],
        "{settled}"
    );
    let profits = story.profits(long, "BTCUSDT");
    assert_eq!(profits.len(), 1);
    assert_eq!(profits[0]["income"], "-1000.00000000");
    assert_eq!(profits[0]["info"], "settlement_autoclose");
}

/// A market in which nothing matches: the fund takes over past the book, unwinds into it later, and gives the rest up.
#[test]
fn the_book_is_passed_over_and_the_fund_comes_and_goes() {
    let (long, short, bidder) = (1, 2, 3);
    let mut story = Story::new(&[(long, 1_000), (short, 100_000), (bidder, 100_000)], 3_000);
    let mut fund = Socket::at(&story.venue.exchange, "/ws/btcusdt@insurance");
    story.leverage(long, "BTCUSDT", 100);
    story.limit(short, "BTCUSDT", "SELL", "0.5", "60000");
    story.limit(long, "BTCUSDT", "BUY", "0.5", "60000");
    story.limit(bidder, "BTCUSDT", "BUY", "3", "58190");
    story.state("BTCUSDT", "POST_ONLY");
    story.index("BTCUSDT", "58200");
    story.judge_all();
    let closed = story.order(long, "BTCUSDT", "autoclose-");
    assert_eq!(
        [&closed["status"], &closed["executedQty"], &closed["side"]],
        ["FILLED", "0.5", "SELL"],
        "{closed}"
    );
    // It sells a part each second.
    story.state("BTCUSDT", "TRADING");
    story.pass(1_000);
    story.pass(1_000);
    story.judge_all();
    // Below its margin it gives up, at the mark, to the short.
    story.tries(bidder, "DELETE", "/fapi/v1/allOpenOrders", "symbol=BTCUSDT");
    story.index("BTCUSDT", "50400");
    story.judge_all();
    let given = story.order(short, "BTCUSDT", "adl_autoclose");
    assert_eq!([&given["status"], &given["side"]], ["FILLED", "BUY"], "{given}");
    // What it gained and paid in the market is told, command by command.
    let told: Vec<Value> =
        fund.drain().unwrap().iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    let (last, gained) = told.split_last().unwrap();
    let mut held = Decimal::from(3_000);
    for event in gained {
        held += decimal(&event["d"]);
        assert_eq!(decimal(&event["b"]), held, "{told:?}");
    }
    // It lost more than it had with what it took over; what that lacks is no market's.
    assert!(held + decimal(&last["d"]) < Decimal::ZERO, "{told:?}");
    let of_views = story.venue.public("/fapi/v1/insuranceBalance?symbol=BTCUSDT");
    assert_eq!(of_views["assets"][0]["marginBalance"], last["b"]);
}

/// One session of random traders, whose market moves and closes.
fn session(seed: u64, met: &mut BTreeMap<String, u64>) {
    let mut random = Random::new(seed);
    let fund = *random.pick(&[0, 0, 200, 50_000]);
    let accounts: Vec<(u8, i64)> =
        (1..=6).map(|number| (number, *random.pick(&[60, 150, 400, 1_500, 20_000, 20_000]))).collect();
    let mut story = Story::new(&accounts, fund);
    for &(number, _) in &accounts {
        if random.below(3) == 0 {
            story.isolate(number);
        }
        for symbol in MARKETS {
            story.leverage(number, symbol, *random.pick(&[20, 50, 50]));
        }
    }
    let mut indexes = [60_000_000, 150_000];
    for step in 0..70 {
        let place = random.below(2) as usize;
        let symbol = MARKETS[place];
        let number = 1 + random.below(6) as u8;
        let side = *random.pick(&["BUY", "SELL"]);
        let worth = random.between(50, 6_000) * 1_000_000 / indexes[place];
        let quantity = if place == 0 {
            format!("0.{:03}", worth.clamp(1, 999))
        } else {
            format!("{}", (worth / 1_000).max(1))
        };
        match random.below(12) {
            0..=5 => {
                // Near the index, in whole ticks.
                let away = random.between(-6, 6);
                let price = indexes[place] * (1_000 + away) / 1_000;
                let price = if place == 0 {
                    format!("{}", price / 1_000)
                } else {
                    format!("{}.{:01}", price / 1_000, price / 100 % 10)
                };
                story.limit(number, symbol, side, &quantity, &price);
            }
            6 => {
                let terms = format!("symbol={symbol}&side={side}&type=MARKET&quantity={quantity}");
                story.tries(number, "POST", "/fapi/v1/order", &terms);
            }
            7 => {
                let close = if side == "BUY" { 990 } else { 1_010 };
                let stop = indexes[place] * close / 1_000;
                let stop = if place == 0 {
                    format!("{}", stop / 1_000)
                } else {
                    format!("{}.{:01}", stop / 1_000, stop / 100 % 10)
                };
                let terms = format!(
                    "symbol={symbol}&side={side}&type=TAKE_PROFIT_MARKET&stopPrice={stop}&closePosition=true&workingType=MARK_PRICE"
                );
                story.tries(number, "POST", "/fapi/v1/order", &terms);
            }
            8 => {
                story.tries(number, "DELETE", "/fapi/v1/allOpenOrders", &format!("symbol={symbol}"));
            }
            9 => {
                let state = *random.pick(&["POST_ONLY", "TRADING", "TRADING"]);
                story.state(symbol, state);
            }
            _ => {
                let by = *random.pick(&[-120, -60, -25, -8, 8, 25, 60, 120]);
                indexes[place] = indexes[place] * (1_000 + by) / 1_000;
                let price = indexes[place];
                story.index(symbol, &format!("{}.{:03}", price / 1_000, price % 1_000));
            }
        }
        if step % 20 == 19 {
            story.judge_all();
        }
    }
    story.pass(1_000);
    story.judge_all();
    for symbol in MARKETS {
        story.state(symbol, "CLOSED");
    }
    story.judge_all();
    story.met.into_iter().for_each(|(name, count)| *met.entry(name).or_default() += count);
}

#[test]
fn random_sessions_tell_one_story() {
    let seed = seed_or("random_sessions_tell_one_story", 41);
    let mut met = BTreeMap::new();
    for number in 0..8 {
        eprintln!("session {number}");
        session(seed + number, &mut met);
    }
    eprintln!("{met:#?}");
    if !is_rerun() {
        for name in [
            "autoclose- PARTIALLY_FILLED",
            "autoclose- FILLED",
            "adl_autoclose FILLED",
            "settlement_autoclose FILLED",
        ] {
            assert!(met.contains_key(name), "no {name}: {met:?}");
        }
    }
}
