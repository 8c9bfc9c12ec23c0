//! A venue is opened and run with through its routes (`account.md` 13), on a production deployment: markets are listed and changed while it
//! runs, and everything that shows them follows; fee schedules; limits of single accounts.

use super::{HOUR_MS, SECOND_MS, venue_with};
use crate::exchange::socket::Socket;
use crate::exchange::venue::Venue;
use crate::exchange::{ADMIN_KEY, Exchange, PATIENCE, wallet_text};
use ringside_core::command::{Command, Credit, ListMarket};
use ringside_core::ids::padded;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const SYMBOL: &str = "/admin/perpetual/symbols/DOGEUSDT";

fn listing() -> Value {
    json!({
        "symbol": "dogeusdt", "base": "doge", "tick_size": "0.00001", "lot_size": "1",
        "max_quantity": "10000000", "max_market_quantity": "1000000", "max_open_orders": 300,
        "brackets": [
            { "notional_cap": "50000", "max_leverage": 50, "maint_margin_ratio": "0.01" },
            { "notional_cap": "500000", "max_leverage": 25, "maint_margin_ratio": "0.02" },
        ],
        "sources": [{ "feed": 1, "weight": 2 }, { "feed": 2, "weight": 1, "stale_ms": 4_000 }],
        "reason": "a new market",
    })
}

fn production() -> Venue {
    venue_with(&[], |config| config.test_deployment = false)
}

/// A request of a named operator.
fn act(venue: &mut Venue, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let headers = [format!("X-API-Key: {ADMIN_KEY}"), "X-Operator: ann".to_owned()];
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let answer = venue.exchange.request(method, path, &headers, &body);
    (answer.status, serde_json::from_str(&answer.body).unwrap())
}

/// The same, which must be answered so.
#[track_caller]
fn acts(venue: &mut Venue, method: &str, path: &str, body: &Value, expected: &Value) {
    let (status, answer) = act(venue, method, path, body);
    assert_eq!((status, &answer), (200, expected), "{method} {path}");
}

/// Feeds on their own thread, as in the exchange; ends with it.
struct Feeds(CancellationToken, Option<std::thread::JoinHandle<()>>);

impl Feeds {
    fn start(exchange: &Exchange) -> Feeds {
        let shutdown = CancellationToken::new();
        let thread = ringside_feed::start(exchange.shared.for_feeds(), shutdown.clone()).unwrap();
        Feeds(shutdown, Some(thread))
    }
}

impl Drop for Feeds {
    fn drop(&mut self) {
        self.0.cancel();
        let _ = self.1.take().map(std::thread::JoinHandle::join);
    }
}

/// Time passes, a second at a time, until a market has a mark.
fn pass_to_mark(venue: &mut Venue, symbol: &str) {
    let begin = Instant::now();
    loop {
        venue.pass(SECOND_MS);
        let market = venue.sees(0, &format!("/api/v1/markets/{symbol}"));
        if market["mark_price"] != "0.00000000" {
            return;
        }
        assert!(begin.elapsed() < PATIENCE, "no mark: {market}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Frames of a socket until one is wanted.
fn wait_for(venue: &mut Venue, socket: &mut Socket, wanted: impl Fn(&Value) -> bool) -> Value {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        venue.pass(SECOND_MS);
        while let Ok(Some(text)) = socket.try_next(Duration::from_millis(20)) {
            let frame: Value = serde_json::from_str(&text).unwrap();
            if wanted(&frame) {
                return frame;
            }
        }
    }
    panic!("no such frame");
}

#[test]
fn a_market_is_listed_on_a_running_venue_and_everything_follows() {
    let mut venue = production();
    let feeds = Feeds::start(&venue.exchange);
    let mut all = Socket::at(&venue.exchange, "/stream?streams=!markPrice@arr@1s/!contractInfo");
    let mut user = {
        let key = venue.listen_key(1);
        Socket::at(&venue.exchange, &format!("/ws/{key}"))
    };
    for (feed, price) in [(1, "0.2"), (2, "0.20003")] {
        let body = json!({ "kind": "fixed", "price": price, "every": "50ms" });
        acts(&mut venue, "PUT", &format!("/admin/feeds/dogeusdt/{feed}"), &body, &json!({ "ok": true }));
    }
    let listed = json!({ "ok": true, "symbol": "DOGEUSDT", "state": "CANCEL_ONLY" });
    acts(&mut venue, "POST", "/admin/perpetual/symbols", &listing(), &listed);
    // The same again is a repetition; another of that name is not.
    acts(&mut venue, "POST", "/admin/perpetual/symbols", &listing(), &listed);
    let mut other = listing();
    other["tick_size"] = json!("0.0001");
    let (status, answer) = act(&mut venue, "POST", "/admin/perpetual/symbols", &other);
    assert_eq!((status, &answer["code"]), (409, &json!("SYMBOL_EXISTS")));

    let info = venue.public("/fapi/v1/exchangeInfo");
    let row = info["symbols"].as_array().unwrap().iter().find(|row| row["symbol"] == "DOGEUSDT").unwrap();
    assert_eq!([&row["status"], &row["liquidationFee"]], [&json!("PENDING_TRADING"), &json!("0.002500")]);
    assert_eq!(row["filters"][0]["tickSize"], "0.00001");
    assert_eq!(row["filters"][3]["limit"], 300);
    let order = "symbol=DOGEUSDT&type=LIMIT&timeInForce=GTC&quantity=1000&price=0.2";
    let (status, answer) = venue.ask(1, "POST", "/fapi/v1/order", &format!("{order}&side=BUY"));
    assert_eq!((status, &answer["code"], &row["tradingState"]), (400, &json!(-4140), &json!("CANCEL_ONLY")));
    pass_to_mark(&mut venue, "DOGEUSDT");
    acts(&mut venue, "PATCH", SYMBOL, &json!({ "state": "TRADING" }), &json!({ "ok": true }));

    // Whoever listens to all markets hears of it, and it can be listened to itself.
    wait_for(&mut venue, &mut all, |frame| {
        frame["stream"] == "!contractInfo"
            && frame["data"]["s"] == "DOGEUSDT"
            && frame["data"]["cs"] == "TRADING"
    });
    // Two thirds of one source, a third of the other.
    wait_for(&mut venue, &mut all, |frame| {
        let marks = frame["data"].as_array();
        marks.is_some_and(|marks| {
            marks.iter().any(|mark| mark["s"] == "DOGEUSDT" && mark["i"] == "0.20001000")
        })
    });
    let mut trades = Socket::at(&venue.exchange, "/ws/dogeusdt@aggTrade");
    assert_eq!(venue.place(1, &format!("{order}&side=BUY&newClientOrderId=a"))["status"], "NEW");
    assert_eq!(venue.place(2, &format!("{order}&side=SELL&newClientOrderId=b"))["status"], "FILLED");
    let trade = wait_for(&mut venue, &mut trades, |frame| frame["e"] == "aggTrade");
    assert_eq!([&trade["s"], &trade["p"], &trade["q"]], ["DOGEUSDT", "0.20000", "1000"]);
    let told = wait_for(&mut venue, &mut user, |frame| {
        frame["e"] == "ORDER_TRADE_UPDATE" && frame["o"]["X"] == "FILLED"
    });
    assert_eq!(told["o"]["s"], "DOGEUSDT");

    let bracket = venue.call(1, "GET", "/fapi/v1/leverageBracket", "symbol=DOGEUSDT");
    assert_eq!(bracket["brackets"][1]["cum"], 500, "{bracket}");
    assert_eq!(venue.sees(0, "/api/v1/markets/DOGEUSDT/brackets")["brackets"].as_array().unwrap().len(), 2);
    let held = venue.call(1, "GET", "/fapi/v3/positionRisk", "symbol=DOGEUSDT");
    assert_eq!(held[0]["positionAmt"], "1000");
    for path in [
        "/fapi/v1/depth?symbol=DOGEUSDT",
        "/fapi/v1/klines?symbol=DOGEUSDT&interval=1m",
        "/fapi/v1/premiumIndex?symbol=DOGEUSDT",
        "/fapi/v1/ticker/24hr?symbol=DOGEUSDT",
        "/fapi/v1/openInterest?symbol=DOGEUSDT",
    ] {
        let answer = venue.exchange.request("GET", path, &[], "");
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    }
    let headers = [format!("X-API-Key: {ADMIN_KEY}")];
    let figures = venue.exchange.request("GET", "/metrics", &headers, "").body;
    assert!(figures.contains(r#"ringside_market_state{market="DOGEUSDT",state="trading"} 1"#), "{figures}");

    // Who did what.
    let audit = venue.operate("GET", "/admin/audit?limit=2", "");
    let rows = audit["items"].as_array().unwrap();
    assert_eq!([&rows[0]["action"], &rows[1]["action"]], ["symbol_state", "configure_symbol"]);
    assert_eq!([&rows[1]["operator"], &rows[1]["subject"], &rows[1]["outcome"]], ["ann", "DOGEUSDT", "done"]);
    let detail = rows[1]["detail"].as_str().unwrap();
    assert!(detail.starts_with("listed base=DOGE ") && detail.contains(" tick_size=0.00001 "), "{detail}");
    assert_eq!(rows[1]["reason"], "a new market");
    let feeds_audit = venue.operate("GET", "/admin/audit?limit=5", "");
    let of_feed = feeds_audit["items"].as_array().unwrap().iter().filter(|row| row["action"] == "feed");
    let of_feed: Vec<_> = of_feed.map(|row| (row["detail"].clone(), row["outcome"].clone())).collect();
    assert_eq!(
        of_feed,
        [
            (json!("feed 2 from a fixed price"), json!("done")),
            (json!("feed 1 from a fixed price"), json!("done"))
        ]
    );

    // It is there after a restart, with all that happened in it.
    drop(feeds);
    venue.restart_with(|config| config.test_deployment = false);
    let fills = venue.call(1, "GET", "/fapi/v1/userTrades", "symbol=DOGEUSDT");
    assert_eq!(fills.as_array().unwrap().len(), 1);
    let shown = venue.operate("GET", SYMBOL, "");
    let expected = [
        ("state", json!("TRADING")),
        ("base", json!("DOGE")),
        ("mark_clamp", json!("0.00980392")),
        ("funding_cap", json!("0.003")),
        ("impact_notional", json!("10000")),
        ("min_price", json!("0.00001")),
        ("changed_by", json!("ann")),
        ("changed_with", json!("shared key")),
        ("spot_market", Value::Null),
    ];
    for (name, value) in expected {
        assert_eq!(shown[name], value, "{name}");
    }
    assert_eq!(shown["sources"][0]["stale_ms"], 10_000);
    assert_eq!(shown["sources"][1]["stale_ms"], 4_000);
    assert_eq!(venue.operate("GET", "/admin/perpetual/symbols", "").as_array().unwrap().len(), 4);
}

/// A venue that has nothing: C-01.
#[test]
fn an_empty_production_venue_is_opened() {
    let exchange = Exchange::start_with(|config| config.test_deployment = false);
    let mut venue = Venue::of(exchange, []);
    assert_eq!(venue.public("/fapi/v1/exchangeInfo")["symbols"], json!([]));
    let mut body = listing();
    body["sources"] = json!([]);
    let listed = json!({ "ok": true, "symbol": "DOGEUSDT", "state": "CANCEL_ONLY" });
    acts(&mut venue, "POST", "/admin/perpetual/symbols", &body, &listed);
    let info = venue.public("/fapi/v1/exchangeInfo");
    assert_eq!([&info["symbols"][0]["symbol"], &info["symbols"][0]["quoteAsset"]], ["DOGEUSDT", "USDT"]);
    // It is to trade, and has no price yet: it stays as it is, and the same request goes on where that one broke off.
    body["state"] = json!("TRADING");
    let (status, answer) = act(&mut venue, "POST", "/admin/perpetual/symbols", &body);
    assert_eq!((status, &answer["code"]), (409, &json!("NO_MARK_PRICE")), "{answer}");
    assert_eq!(venue.public("/fapi/v1/exchangeInfo")["symbols"][0]["status"], "PENDING_TRADING");
}

#[test]
fn parameters_change_at_once_and_only_what_is_named() {
    let mut venue = production();
    let path = "/admin/perpetual/symbols/BTCUSDT/parameters";
    let before = venue.operate("GET", "/admin/perpetual/symbols/BTCUSDT", "");
    assert_eq!([&before["mark_clamp"], &before["liquidation_fee"]], ["0.00398009", "0.0025"]);
    assert_eq!(before["changed_by"], Value::Null);
    let change = json!({ "min_notional": "20", "price_band": "0.1", "max_conditional": 5 });
    acts(&mut venue, "PATCH", path, &change, &json!({ "ok": true }));
    let after = venue.operate("GET", "/admin/perpetual/symbols/BTCUSDT", "");
    for (name, value) in before.as_object().unwrap() {
        let expected = match name.as_str() {
            "min_notional" => json!("20"),
            "multiplier_up" => json!("1.1"),
            "multiplier_down" => json!("0.9"),
            "max_conditional" => json!(5),
            "changed_by" => json!("ann"),
            "changed_with" => json!("shared key"),
            "changed_at" => json!(venue.exchange.clock.now_ms()),
            _ => value.clone(),
        };
        assert_eq!(after[name], expected, "{name}");
    }
    let order = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.001&price=";
    let (status, answer) = venue.ask(1, "POST", "/fapi/v1/order", &format!("{order}15000"));
    assert_eq!((status, &answer["code"]), (400, &json!(-1013)), "{answer}");
    assert_eq!(venue.place(1, &format!("{order}66000"))["status"], "NEW", "within the band now");
    // All of it or nothing.
    let wide = json!({ "max_notional": "9000000", "mark_clamp": "0.0040" });
    let (status, answer) = act(&mut venue, "PATCH", path, &wide);
    assert_eq!((status, &answer["message"]), (400, &json!("mark_clamp: may be 0 to 0.00398009")));
    assert_eq!(venue.operate("GET", "/admin/perpetual/symbols/BTCUSDT", "")["max_notional"], "5000000");
    // Sources are the whole list.
    let sources = "/admin/perpetual/symbols/BTCUSDT/sources";
    for list in [json!([{ "feed": 4, "weight": 3, "stale_ms": 900 }, { "feed": 2, "weight": 1 }]), json!([])]
    {
        acts(&mut venue, "PUT", sources, &list, &json!({ "ok": true }));
        let shown = venue.operate("GET", "/admin/perpetual/symbols/BTCUSDT", "");
        assert_eq!(shown["sources"].as_array().unwrap().len(), list.as_array().unwrap().len());
    }
}

#[test]
fn what_would_bring_somebody_into_liquidation_wants_a_confirmation() {
    let mut venue = production();
    // 120,000 at 20 times: 6,000 of margin. Account 3 has 1,000, and 15,000 at 20 times.
    venue.place(2, "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&quantity=0.25&price=60000");
    venue.place(3, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.25");
    let path = "/admin/perpetual/symbols/BTCUSDT/brackets";
    let rows =
        |rate: &str| json!([{ "notional_cap": "5000000", "max_leverage": 10, "maint_margin_ratio": rate }]);
    let body =
        |rate: &str, confirm: bool| json!({ "brackets": rows(rate), "confirm": confirm, "reason": "risk" });
    // At 6 % equity of some 992 is enough for 900; at 7 % it is not for 1,050.
    acts(&mut venue, "PUT", path, &rows("0.06"), &json!({ "ok": true }));
    let asked = json!({ "needs_confirmation": true, "scopes": 1, "notional": "15000" });
    acts(&mut venue, "PUT", path, &rows("0.07"), &asked);
    venue.pass(SECOND_MS);
    let held = venue.call(3, "GET", "/fapi/v3/positionRisk", "symbol=BTCUSDT");
    assert_eq!(held[0]["positionAmt"], "0.25", "nothing was done");
    // The shared key is none of two operators, whatever name it bears.
    assert_eq!(act(&mut venue, "PUT", path, &body("0.07", true)).0, 403);
    let [ann, bob] = ["ann", "bob"].map(|name| [venue.exchange.operator(name)]);
    let waits = venue.exchange.request("PUT", path, &ann, &body("0.07", true).to_string());
    assert_eq!(waits.status, 202, "{}", waits.body);
    let waits: Value = serde_json::from_str(&waits.body).unwrap();
    let approval = format!("/admin/approvals/{}", waits["approval_id"].as_str().unwrap());
    let held = venue.call(3, "GET", "/fapi/v3/positionRisk", "symbol=BTCUSDT");
    assert_eq!(held[0]["positionAmt"], "0.25", "one operator alone changes nothing");
    let answer = venue.exchange.request("POST", &approval, &bob, "");
    assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"ok":true}"#));
    venue.pass(SECOND_MS);
    let held = venue.call(3, "GET", "/fapi/v3/positionRisk", "symbol=BTCUSDT");
    assert_eq!(held, json!([]), "it is liquidated");
}

#[test]
fn a_close_is_told_what_it_leaves_short_first() {
    let mut venue = production();
    venue.place(2, "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&quantity=0.25&price=60000");
    venue.place(3, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.25");
    let close = |confirm: bool| json!({ "state": "CLOSED", "confirm": confirm });
    let asked = json!({ "needs_confirmation": true, "shortfall": "0", "fund": "0" });
    acts(&mut venue, "PATCH", "/admin/perpetual/symbols/BTCUSDT", &close(false), &asked);
    assert_eq!(venue.sees(0, "/api/v1/markets/BTCUSDT")["status"], "TRADING");
    acts(&mut venue, "PATCH", "/admin/perpetual/symbols/BTCUSDT", &close(true), &json!({ "ok": true }));
    assert_eq!(venue.sees(0, "/api/v1/markets/BTCUSDT")["status"], "CLOSE");
}

#[test]
fn a_fee_schedule_is_shown_before_it_holds() {
    let mut venue = production();
    let schedule = json!([
        { "min_volume_14d": "0", "maker_rate": "0.0001", "taker_rate": "0.0006" },
        { "min_volume_14d": "1000", "maker_rate": "-0.00005", "taker_rate": "0.0003" },
    ]);
    let day_ms = 24 * HOUR_MS;
    let midnight = (venue.exchange.clock.now_ms() / day_ms + 1) * day_ms;
    let set = json!({ "ok": true, "effective_at": midnight });
    acts(&mut venue, "PUT", "/admin/vip-tiers", &json!({ "schedule": schedule, "reason": "spring" }), &set);
    let info = venue.sees(0, "/account/fee-info");
    assert_eq!(
        (info["schedule"].as_array().unwrap().len(), &info["schedule"][0]["taker_rate"]),
        (6, &json!("0.0005"))
    );
    assert_eq!(info["next_schedule"]["effective_at"], midnight);
    assert_eq!(info["next_schedule"]["schedule"][1]["maker_rate"], "-0.00005");
    let shown = venue.operate("GET", "/admin/vip-tiers", "");
    assert_eq!([&shown["changed_by"], &shown["next"]], [&json!("ann"), &info["next_schedule"]]);
    venue.restart_with(|config| config.test_deployment = false);
    assert_eq!(venue.sees(0, "/account/fee-info"), info);
    venue.pass_to(midnight + SECOND_MS);
    let info = venue.sees(0, "/account/fee-info");
    assert_eq!(
        [&info["schedule"][0]["taker_rate"], &info["next_schedule"]],
        [&json!("0.0006"), &Value::Null]
    );
    let rate = venue.call(1, "GET", "/fapi/v1/commissionRate", "symbol=BTCUSDT");
    assert_eq!(rate["takerCommissionRate"], "0.0006");
}

#[test]
fn an_account_has_limits_of_its_own() {
    let spot = ListMarket {
        symbol: padded("DFUSDT").unwrap(),
        base: padded("DF").unwrap(),
        quote: padded("USDT").unwrap(),
        tick: 1_000_000,
        lot: 1_000_000,
        min_notional: 1.into(),
        maker_fee: 0,
        taker_fee: 0,
        max_open_orders: 3,
        kind: 0,
        reserved: [0; 3],
    };
    let credit = Credit {
        address: crate::exchange::wallet(1),
        asset: padded("USDT").unwrap(),
        reserved: 0,
        amount: 1_000_000_000_000_000_000_000_i128.into(),
        reason: [0; 64],
    };
    let commands = [Command::new(spot), Command::new(credit)];
    let mut venue = venue_with(&commands, |config| {
        (config.orders_per_ten_seconds, config.orders_per_minute) = (300, 1_200);
    });
    let path = format!("/admin/accounts/{}/limits", wallet_text(1));
    let set = |venue: &mut Venue, body: Value| acts(venue, "PATCH", &path, &body, &json!({ "ok": true }));
    let shipped = venue.sees(1, "/api/v1/account/limits");
    let btc = json!({
        "symbol": "BTCUSDT", "open_orders": 200, "conditional_orders": 100, "max_order_notional": "5000000",
        "max_position_notional": null,
    });
    assert_eq!((&shipped["perpetual"][0], &shipped["order_rate_10s"]), (&btc, &json!(300)));
    assert_eq!(shipped["spot"], json!([{ "symbol": "DFUSDT", "open_orders": 3 }]));

    set(&mut venue, json!({ "open_orders": 2, "max_order_notional": "600", "reason": "new here" }));
    set(&mut venue, json!({ "symbol": "btcusdt", "max_position_notional": "700" }));
    let own = venue.sees(1, "/api/v1/account/limits");
    let btc = json!({
        "symbol": "BTCUSDT", "open_orders": 2, "conditional_orders": 2, "max_order_notional": "600",
        "max_position_notional": "700",
    });
    assert_eq!((&own["perpetual"][0], &own["spot"][0]["open_orders"]), (&btc, &json!(2)));
    assert_eq!(venue.sees(2, "/api/v1/account/limits"), shipped, "nobody else's");

    let order = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&price=50000";
    let low = format!("{order}&quantity=0.0"); // 500 and 550
    venue.operate("PATCH", "/admin/perpetual/symbols/BTCUSDT/parameters", r#"{"price_band":"0.5"}"#);
    let (status, answer) = venue.ask(1, "POST", "/fapi/v1/order", &format!("{order}&quantity=0.013"));
    let expected = "Filter failure: MAX_NOTIONAL. Notional 650 is above the maximum 600.";
    assert_eq!((status, &answer), (400, &json!({ "code": -1013, "msg": expected })));
    venue.place(1, &format!("{low}1"));
    let over = "Exceeded the maximum allowable position at current leverage.";
    venue.refuses(1, "POST", "/fapi/v1/order", &format!("{low}11"), -2027, over);
    set(&mut venue, json!({ "symbol": "BTCUSDT", "max_position_notional": null }));
    venue.place(1, &format!("{low}11"));
    let full = "Reach max open order limit.";
    venue.refuses(1, "POST", "/fapi/v1/order", &format!("{low}1"), -2025, full);
    venue.restart_with(|config| {
        (config.orders_per_ten_seconds, config.orders_per_minute) = (300, 1_200);
    });
    venue.refuses(1, "POST", "/fapi/v1/order", &format!("{low}1"), -2025, full);
    set(&mut venue, json!({ "open_orders": 3 }));
    venue.place(1, &format!("{low}1"));

    // On spot too, where one of the market counts before that over all.
    let spot = r#"{"symbol":"DFUSDT","side":"buy","type":"limit","price":"1","quantity":"1"}"#;
    let place = |venue: &mut Venue| venue.asks(1, "POST", "/api/v1/spot/orders", spot).0;
    set(&mut venue, json!({ "symbol": "DFUSDT", "ledger": "spot", "open_orders": 4 }));
    assert_eq!([0; 5].map(|_| place(&mut venue)), [200, 200, 200, 200, 400]);

    // Order rates are the edge's.
    set(&mut venue, json!({ "order_rate_10s": 2 }));
    assert_eq!(venue.sees(1, "/api/v1/account/limits")["order_rate_10s"], 2);
    venue.pass(10 * SECOND_MS);
    let statuses = [0; 3].map(|_| venue.ask(1, "POST", "/fapi/v1/order", &format!("{low}1")).0);
    assert_eq!(statuses, [400, 400, 429], "the third is one too many");
    venue.pass(10 * SECOND_MS);
    set(&mut venue, json!({ "order_rate_10s": null }));
    let statuses = [0; 3].map(|_| venue.ask(1, "POST", "/fapi/v1/order", &format!("{low}1")).0);
    assert_eq!(statuses, [400; 3]);
    let audit = venue.operate("GET", "/admin/audit?limit=1", "");
    let row = &audit["items"][0];
    assert_eq!([&row["action"], &row["subject"]], [&json!("account_limits"), &json!(wallet_text(1))]);
    assert_eq!(row["detail"], "order_rate_10s=none");
}

#[test]
fn feeds_are_listed_without_what_may_be_secret() {
    let mut venue = production();
    let body = json!({
        "kind": "http", "url": "https://prices.example:8443/v1/ticker?key=of-the-provider", "price": "data.0.last",
        "every": "500ms", "reason": "a provider",
    });
    acts(&mut venue, "PUT", "/admin/feeds/btcusdt/7", &body, &json!({ "ok": true }));
    let shown = json!([{
        "symbol": "BTCUSDT", "feed": 7, "kind": "http", "from": "https://prices.example:8443", "every_ms": 500,
        "origin": "operator",
    }]);
    assert_eq!(venue.operate("GET", "/admin/feeds", ""), shown);
    let audit = venue.operate("GET", "/admin/audit", "").to_string();
    assert!(
        audit.contains("feed 7 from https://prices.example:8443") && !audit.contains("of-the-provider"),
        "{audit}"
    );
    assert_eq!(
        act(&mut venue, "DELETE", "/admin/feeds/BTCUSDT/7", &Value::Null),
        (200, json!({ "ok": true }))
    );
    assert_eq!(venue.operate("GET", "/admin/feeds", ""), json!([]));
}
