//! Every error code of `perpetual.md` 4 through a socket: status, code and text. A code that no request here brings about fails
//! the test, unless [`UNREACHED`] says why none can.

use crate::exchange::venue::{Trader, Venue};
use crate::exchange::{Answer, Exchange, INPUT_SLOTS, send};
use ringside_commands::ingress::EngineState;
use ringside_config::Config;
use ringside_core::command::{
    Command, ModifyPerpetual, PerpetualParameter, PlacePerpetual, SetMarginMode, SetPerpetualAccount,
    SetPerpetualParameter, account_mask,
};
use ringside_core::ids::FIRST_PERPETUAL;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::time::Duration;

/// All codes of the section.
#[rustfmt::skip]
const CODES: &[i32] = &[
    -1000, -1001, -1002, -1003, -1007, -1008, -1013, -1014, -1015, -1016, -1020, -1021, -1022, -1023, -1100, -1101, -1102, -1106,
    -1111, -1115, -1116, -1117, -1120, -1121, -1125, -1128, -1130, -1136, -2007, -2010, -2011, -2013, -2014, -2015, -2018, -2019,
    -2021, -2022, -2023, -2025, -2027, -2028, -4001, -4002, -4003, -4006, -4007, -4013, -4014, -4015, -4016, -4021, -4024, -4028,
    -4031, -4032, -4045, -4046, -4049, -4050, -4051, -4054, -4055, -4059, -4060, -4061, -4082, -4084, -4088, -4116, -4130, -4131,
    -4135, -4137, -4140, -4141, -4161, -4165, -5000, -5021, -5024, -5025, -5026, -5027, -5037, -5038, -5039, -5040, -5041,
];

/// Texts that are not the specification's: as recorded answers have them, which clients know; and with what a market takes instead.
const OTHERS: &[(i32, &str)] =
    &[(-4021, "%s is not valid depth limit"), (-4140, "Invalid symbol status for opening position: ...")];

/// Codes that no request can bring about, with the reason.
const UNREACHED: &[(i32, &str)] = &[
    (
        -1007,
        "only a query that takes longer than `request_timeout` gets it; a body that does not come is -1102, since nothing was done",
    ),
    (-1002, "no check of `perpetual.md` 2 gives it: a key that may not is -2015"),
    (-2018, "transfers have routes of their own (`spot.md` 9); orders lack margin, which is -2019"),
    (-2023, "the engine carries a liquidation out within one command, so no request comes between"),
];

const BTC: u32 = FIRST_PERPETUAL;
const ETH: u32 = FIRST_PERPETUAL + 1;
const SOL: u32 = FIRST_PERPETUAL + 2;
const ORDER: &str = "/fapi/v1/order";
const ALGO_ORDER: &str = "/fapi/v1/algoOrder";
const LIMIT: &str = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC";
const SMALL: &str = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.001";
const UNIT: i64 = 100_000_000;

/// What was seen: code to statuses and texts.
#[derive(Default)]
struct Seen(BTreeMap<i32, BTreeSet<(u16, String)>>);

impl Seen {
    fn take(&mut self, answer: &Answer) -> i32 {
        let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let Some(code) = body["code"].as_i64().filter(|code| *code < 0) else { return 0 };
        let text = body["msg"].as_str().unwrap_or_default().to_owned();
        assert_eq!(body, json!({ "code": code, "msg": text }), "nothing else is in it");
        if matches!(answer.status, 418 | 429) {
            assert!(answer.header("retry-after").is_some(), "{}", answer.head);
        }
        self.0.entry(code as i32).or_default().insert((answer.status, text));
        code as i32
    }

    #[track_caller]
    fn expect(&mut self, answer: &Answer, code: i32) {
        let found = self.take(answer);
        assert_eq!(found, code, "{}", answer.body);
    }
}

/// Accounts: 1 and 2 trade, 3 has little, 4 has isolated margin in BTC and SOL, 5 may not trade.
/// Account 1 has an order in ETH, number 1, that was modified as often as may be.
fn venue(configure: impl FnOnce(&mut Config)) -> Venue {
    let set = |market, parameter: PerpetualParameter, value| {
        Command::new(SetPerpetualParameter { market, parameter: parameter as u32, value })
    };
    let isolated = |market| Command::new(SetMarginMode { account: 4, market, mode: 1, reserved: 0 });
    let mut more = vec![
        isolated(BTC),
        isolated(SOL),
        Command::new(SetPerpetualAccount {
            account: 5,
            mask: account_mask::TRADING,
            trading_enabled: 0,
            ..zerocopy::FromZeros::new_zeroed()
        }),
        set(SOL, PerpetualParameter::Tick, UNIT / 20),
        set(SOL, PerpetualParameter::MinPrice, 10 * UNIT),
    ];
    let name = ringside_core::ids::padded("often").unwrap();
    more.push(Command::new(PlacePerpetual {
        account: 1,
        market: ETH,
        price: 2_900 * UNIT,
        quantity: UNIT,
        client_order: name,
        ..zerocopy::FromZeros::new_zeroed()
    }));
    more.extend((1..=10_000).map(|number| {
        Command::new(ModifyPerpetual {
            account: 1,
            market: ETH,
            order: 1,
            price: (2_900 + number % 2) * UNIT,
            quantity: UNIT,
            side: 255,
            ..zerocopy::FromZeros::new_zeroed()
        })
    }));
    let accounts = [(1, 100_000), (2, 100_000), (3, 5), (4, 10_000), (5, 1_000)];
    Venue::of(
        Exchange::start_perpetual_after(&accounts, &more, 0, |config| {
            config.orders_per_minute = u32::MAX;
            configure(config);
        }),
        1..=5,
    )
}

fn ask(venue: &mut Venue, number: u8, method: &str, path: &str, params: &str) -> Answer {
    let trader = venue.traders[&number].clone();
    venue.send(&trader, method, path, params)
}

/// Requests whose parameters alone are at fault, or the state that everybody finds.
#[rustfmt::skip]
const SIMPLE: &[(i32, &str, &str, &str)] = &[
    (-1013, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.0001&price=60000"),
    (-1013, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.001&price=4000"),
    (-1013, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=100&price=60000"),
    (-1014, "POST", "/fapi/v1/countdownCancelAll", "symbol=BTCUSDT&countdownTime=9999999999999"),
    (-1023, "GET", "/fapi/v1/allOrders", "symbol=BTCUSDT&startTime=2&endTime=1"),
    (-1100, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1e3"),
    (-1101, "GET", ORDER, "symbol=BTCUSDT&symbol=BTCUSDT&orderId=1"),
    (-1102, "GET", ORDER, "orderId=1"),
    (-1102, "GET", ORDER, "symbol=BTCUSDT"),
    (-1106, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1&price=5"),
    (-1111, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.001&price=60000.01"),
    (-1115, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=DAY&quantity=1&price=1"),
    (-1116, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=NONE"),
    (-1117, "POST", ORDER, "symbol=BTCUSDT&side=UP&type=LIMIT"),
    (-1120, "GET", "/fapi/v1/klines", "symbol=BTCUSDT&interval=7m"),
    (-1121, "GET", "/fapi/v1/openOrders", "symbol=NONE"),
    (-1125, "PUT", "/fapi/v1/listenKey", ""),
    (-1128, "GET", "/fapi/v1/userTrades", "symbol=BTCUSDT&fromId=1&startTime=1"),
    (-1130, "GET", "/fapi/v1/allOrders", "symbol=BTCUSDT&limit=0"),
    (-1136, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1&newOrderRespType=FULL"),
    (-2007, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=TRAILING_STOP_MARKET&callbackRate=20&quantity=1"),
    (-2011, "DELETE", ORDER, "symbol=BTCUSDT&orderId=999999"),
    (-2013, "GET", ORDER, "symbol=BTCUSDT&orderId=999999"),
    (-2019, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=80&price=60000"),
    (-2021, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=STOP_MARKET&stopPrice=50000&quantity=1"),
    (-2022, "POST", ORDER, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.001&reduceOnly=true"),
    (-2027, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=60000&leverage=125"),
    (-4001, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=0"),
    (-4002, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=99999999999"),
    (-4003, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0&price=60000"),
    (-4006, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=STOP_MARKET&stopPrice=0&quantity=1"),
    (-4007, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=STOP_MARKET&stopPrice=20000000&quantity=1"),
    (-4013, "POST", ORDER, "symbol=SOLUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=9.95"),
    (-4014, "POST", ORDER, "symbol=SOLUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=140.01"),
    (-4015, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1&newClientOrderId=a%20b"),
    (-4015, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1&newClientOrderId=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    (-4016, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.01&price=63000.1"),
    (-4021, "GET", "/fapi/v1/depth", "symbol=BTCUSDT&limit=7"),
    (-4024, "POST", ORDER, "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&quantity=0.01&price=56999.9"),
    (-4028, "POST", "/fapi/v1/leverage", "symbol=BTCUSDT&leverage=126"),
    (-4031, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1&workingType=X"),
    (-4032, "DELETE", "/fapi/v1/batchOrders", "symbol=BTCUSDT&orderIdList=%5B1,2,3,4,5,6,7,8,9,10,11%5D"),
    (-4046, "POST", "/fapi/v1/marginType", "symbol=BTCUSDT&marginType=ISOLATED"),
    (-4049, "POST", "/fapi/v1/positionMargin", "symbol=BTCUSDT&amount=1&type=1"),
    (-4059, "POST", "/fapi/v1/positionSide/dual", "dualSidePosition=true"),
    (-4060, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1&positionSide=UP"),
    (-4061, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1&positionSide=LONG"),
    (-4082, "POST", "/fapi/v1/batchOrders", "batchOrders=%5B%5D"),
    (-4084, "POST", "/fapi/v1/multiAssetsMargin", "multiAssetsMargin=true"),
    (-4135, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=TRAILING_STOP_MARKET&callbackRate=1&quantity=1&activationPrice=0"),
    (-4137, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=STOP_MARKET&stopPrice=61000&closePosition=true&quantity=1"),
    (-4165, "GET", "/fapi/v1/allOrders", "symbol=BTCUSDT&startTime=0&endTime=604800001"),
    (-5000, "GET", "/fapi/v1/nothing", ""),
    (-5000, "PUT", "/fapi/v1/ping", ""),
    (-5021, "POST", ORDER, "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=FOK&quantity=0.1&price=59990"),
    (-5037, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&priceMatch=BEST"),
    (-5038, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1&priceMatch=QUEUE"),
    (-5039, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1&selfTradePreventionMode=X"),
    (-5040, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTD&quantity=0.01&price=60000&goodTillDate=1700000500000"),
    (-5041, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.01&priceMatch=OPPONENT"),
];

fn of_parameters(seen: &mut Seen) {
    let mut venue = venue(|_| {});
    for (code, method, path, params) in SIMPLE {
        let answer = ask(&mut venue, 1, method, path, params);
        assert_eq!(seen.take(&answer), *code, "{method} {path} {params}: {}", answer.body);
    }
}

/// What the state of an account, of the book or of a market refuses.
fn of_state(seen: &mut Seen) {
    let mut venue = venue(|_| {});
    // The only ask is too far from the mark for who takes whatever comes.
    venue.place(2, "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&quantity=0.001&price=70000");
    seen.expect(
        &ask(&mut venue, 1, "POST", ORDER, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.001"),
        -4131,
    );
    venue.call(2, "DELETE", "/fapi/v1/allOpenOrders", "symbol=BTCUSDT");

    let rests = venue.place(1, &format!("{SMALL}&price=60000&newClientOrderId=same"));
    let order = rests["orderId"].as_u64().unwrap();
    let crosses = "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTX&quantity=0.001&price=59990";
    seen.expect(&ask(&mut venue, 2, "POST", ORDER, crosses), -2010);
    let same = format!("{SMALL}&price=59000&newClientOrderId=same");
    seen.expect(&ask(&mut venue, 1, "POST", ORDER, &same), -4116);
    let modify = format!("symbol=BTCUSDT&orderId={order}");
    seen.expect(&ask(&mut venue, 1, "PUT", ORDER, &format!("{modify}&quantity=0.001&price=60000")), -5027);
    let stop = venue.place(1, "symbol=BTCUSDT&side=BUY&type=STOP&quantity=0.01&price=61000&stopPrice=61500");
    let of_stop = format!("symbol=BTCUSDT&orderId={}&quantity=0.02&price=61000", stop["orderId"]);
    seen.expect(&ask(&mut venue, 1, "PUT", ORDER, &of_stop), -5025);
    let often = "symbol=ETHUSDT&orderId=1&quantity=2&price=2900";
    seen.expect(&ask(&mut venue, 1, "PUT", ORDER, often), -5026);
    let close = "symbol=BTCUSDT&side=SELL&type=STOP_MARKET&stopPrice=50000&closePosition=true";
    venue.place(1, close);
    seen.expect(&ask(&mut venue, 1, "POST", ORDER, close), -4130);
    seen.expect(&ask(&mut venue, 5, "POST", ORDER, &format!("{SMALL}&price=59000")), -4088);

    // Positions: of the account with little, and of the isolated one.
    venue.place(1, &format!("{LIMIT}&quantity=0.101&price=60000"));
    venue.place(3, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.001&leverage=125");
    seen.expect(&ask(&mut venue, 3, "POST", "/fapi/v1/leverage", "symbol=BTCUSDT&leverage=1"), -2028);
    venue.place(4, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.1");
    seen.expect(&ask(&mut venue, 4, "POST", "/fapi/v1/leverage", "symbol=BTCUSDT&leverage=5"), -4161);
    let margin = "/fapi/v1/positionMargin";
    for (params, code) in [
        ("symbol=BTCUSDT&amount=999999&type=1", -4050),
        ("symbol=BTCUSDT&amount=99999999999999999999&type=1", -4050),
        ("symbol=BTCUSDT&amount=999&type=2", -4051),
        ("symbol=BTCUSDT&amount=99999999999999999999&type=2", -4051),
        ("symbol=BTCUSDT&amount=0&type=1", -4055),
        ("symbol=SOLUSDT&amount=1&type=1", -4054),
    ] {
        seen.expect(&ask(&mut venue, 4, "POST", margin, params), code);
    }

    // As many orders as one may have.
    for number in 0..100 {
        let stop = "symbol=BTCUSDT&side=BUY&type=STOP_MARKET&quantity=0.001";
        venue.place(2, &format!("{stop}&stopPrice={}", 70_000 + number));
    }
    let stop = "symbol=BTCUSDT&side=BUY&type=STOP_MARKET&quantity=0.001&stopPrice=71000";
    seen.expect(&ask(&mut venue, 2, "POST", ORDER, stop), -4045);
    for number in 0..100 {
        venue.place(2, &format!("{SMALL}&price={}", 57_500 + number));
    }
    seen.expect(&ask(&mut venue, 2, "POST", ORDER, &format!("{SMALL}&price=57400")), -2025);

    // A market that is halted, and one that is closed.
    let sol = "symbol=SOLUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1";
    let rests = venue.place(1, &format!("{sol}&price=145"));
    venue.operate("PATCH", "/admin/perpetual/symbols/SOLUSDT", r#"{"state":"HALTED"}"#);
    seen.expect(&ask(&mut venue, 1, "POST", ORDER, &format!("{sol}&price=145")), -4140);
    let modify = format!("symbol=SOLUSDT&orderId={}&quantity=2&price=145", rests["orderId"]);
    seen.expect(&ask(&mut venue, 1, "PUT", ORDER, &modify), -5024);
    venue.operate("PATCH", "/admin/perpetual/symbols/SOLUSDT", r#"{"state":"CLOSED","confirm":true}"#);
    seen.expect(&ask(&mut venue, 1, "POST", ORDER, &format!("{sol}&price=145")), -4141);
}

/// Key, signature, time, body.
fn of_credentials(seen: &mut Seen) {
    let mut venue = venue(|config| config.request_timeout = Duration::from_millis(300));
    let get = |venue: &mut Venue, headers: &[String], query: &str| {
        venue.exchange.request("GET", &format!("/fapi/v1/balance?{query}"), headers, "")
    };
    let header = |key: &str| vec![format!("X-MBX-APIKEY: {key}")];
    let key = venue.traders[&1].key.clone();
    seen.expect(&get(&mut venue, &[], ""), -2014);
    seen.expect(&get(&mut venue, &header("short"), ""), -2014);
    seen.expect(&get(&mut venue, &header(&"k".repeat(64)), ""), -2015);
    seen.expect(&get(&mut venue, &header(&key), ""), -1102);
    let now_ms = venue.exchange.clock.now_ms();
    let signature = "0".repeat(64);
    for (time, code) in [(now_ms, -1022), (now_ms + 1_000, -1021), (now_ms - 5_001, -1021)] {
        let query = format!("timestamp={time}&signature={signature}");
        seen.expect(&get(&mut venue, &header(&key), &query), code);
    }
    let window = format!("timestamp={now_ms}&recvWindow=60001&signature={signature}");
    seen.expect(&get(&mut venue, &header(&key), &window), -1130);
    let mut headers = header(&key);
    headers.push("Content-Type: application/json".to_owned());
    seen.expect(&venue.exchange.request("POST", ORDER, &headers, "{}"), -1020);
    // A body that does not come.
    let mut client = venue.exchange.connect();
    let head = format!("POST {ORDER} HTTP/1.1\r\nHost: ringside\r\nContent-Length: 10\r\n\r\nab");
    client.write_all(head.as_bytes()).unwrap();
    seen.expect(&venue.exchange.receive(&mut client, false), -1102);
}

/// Limits of weight and orders.
fn of_limits(seen: &mut Seen) {
    let mut tight = venue(|config| {
        config.orders_per_ten_seconds = 2;
        config.orders_per_minute = 3;
        config.weight_per_minute = 100;
        config.funding_requests = 2;
    });
    let start_ms = tight.exchange.clock.now_ms();
    // Windows are aligned to the clock.
    tight.exchange.clock.turn(60_000 - start_ms.rem_euclid(60_000));
    let place = |venue: &mut Venue| {
        let trader = venue.traders[&1].clone();
        venue.send(&trader, "POST", ORDER, &format!("{SMALL}&price=59000"))
    };
    for (count, minute) in [("1", "1"), ("2", "2")] {
        let answer = place(&mut tight);
        for (name, value) in [
            ("x-mbx-order-count-10s", count),
            ("x-mbx-order-count-1m", minute),
            ("x-ex-order-count-10s", count),
            ("x-ex-order-count-1m", minute),
            ("x-mbx-used-weight-1m", "0"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{name}");
        }
    }
    let refused = place(&mut tight);
    seen.expect(&refused, -1015);
    assert_eq!(refused.header("retry-after"), Some("10"));
    assert!(refused.body.contains("2 orders per 10 SECOND"), "{}", refused.body);
    tight.exchange.clock.turn(10_000);
    assert_eq!(place(&mut tight).header("x-mbx-order-count-1m"), Some("3"));
    tight.exchange.clock.turn(10_000);
    let refused = place(&mut tight);
    seen.expect(&refused, -1015);
    assert!(refused.body.contains("3 orders per 1 MINUTE"), "{}", refused.body);

    // Funding routes cost no weight and have a limiter of their own.
    let funding = |venue: &mut Venue, path: &str| venue.exchange.request("GET", path, &[], "");
    let first = funding(&mut tight, "/fapi/v1/fundingInfo");
    assert_eq!((first.status, first.header("x-mbx-used-weight-1m")), (200, Some("0")));
    assert_eq!(funding(&mut tight, "/fapi/v1/fundingRate").status, 200);
    let refused = funding(&mut tight, "/fapi/v1/fundingRate");
    seen.expect(&refused, -1003);
    assert_eq!(refused.status, 429);

    for used in 1..=100 {
        let answer = tight.exchange.request("GET", "/fapi/v1/ping", &[], "");
        assert_eq!(answer.header("x-mbx-used-weight-1m"), Some(used.to_string().as_str()));
        assert_eq!(answer.header("x-ex-used-weight-1m"), Some(used.to_string().as_str()));
    }
    let refused = tight.exchange.request("GET", "/fapi/v1/ping", &[], "");
    seen.expect(&refused, -1003);
    assert_eq!((refused.status, refused.header("x-mbx-used-weight-1m")), (429, Some("101")));
    let last = (0..20).map(|_| tight.exchange.request("GET", "/fapi/v1/ping", &[], "")).last().unwrap();
    seen.expect(&last, -1003);
    assert_eq!((last.status, last.header("retry-after")), (418, Some("120")));
}

fn send_alone(venue: &Venue, number: u8, method: &str, params: &str) -> std::net::TcpStream {
    send_alone_to(venue, number, method, ORDER, params)
}

fn send_alone_to(venue: &Venue, number: u8, method: &str, path: &str, params: &str) -> std::net::TcpStream {
    let mut client = venue.exchange.connect();
    let Trader { key, .. } = &venue.traders[&number];
    let text = venue.signed(number, params);
    send(&mut client, method, &format!("{path}?{text}"), &[format!("X-MBX-APIKEY: {key}")], "");
    client
}

/// The four answers 503, and the 500.
fn of_the_engine(seen: &mut Seen) {
    let mut venue = venue(|_| {});
    let small = format!("{SMALL}&price=59000");
    let rests = venue.place(1, &small);
    let cancel = format!("symbol=BTCUSDT&orderId={}", rests["orderId"]);
    let reduce = "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.001&reduceOnly=true";
    let stop =
        "algoType=CONDITIONAL&symbol=BTCUSDT&side=SELL&type=STOP_MARKET&quantity=0.001&triggerPrice=59000";
    let mut waiting = Vec::new();
    let open_to_orders = INPUT_SLOTS - INPUT_SLOTS / 5;
    for number in 1..=INPUT_SLOTS {
        let is_order = number <= open_to_orders;
        waiting.push(match is_order {
            true => send_alone(&venue, 1, "POST", &small),
            // The last by the service of conditional orders, where stops of positions are sent.
            false if number == INPUT_SLOTS => {
                let reduce = format!("{stop}&reduceOnly=true");
                send_alone_to(&venue, 1, "POST", ALGO_ORDER, &reduce)
            }
            false => send_alone(&venue, 1, "POST", reduce),
        });
        venue.exchange.wait_for_queue(number as u64);
        if number >= open_to_orders {
            // Above four fifths orders are refused, those that only reduce are not.
            let mut client = send_alone(&venue, 1, "POST", &small);
            let answer = venue.exchange.receive(&mut client, false);
            seen.expect(&answer, -1008);
            assert_eq!(answer.header("x-mbx-order-count-10s"), None);
            let mut client = send_alone_to(&venue, 1, "POST", ALGO_ORDER, stop);
            seen.expect(&venue.exchange.receive(&mut client, false), -1001);
        }
    }
    for (method, params) in [
        ("POST", reduce),
        ("DELETE", cancel.as_str()),
        ("PUT", &format!("{cancel}&quantity=0.002&price=59000")),
    ] {
        let mut client = send_alone(&venue, 1, method, params);
        seen.expect(&venue.exchange.receive(&mut client, false), -1001);
    }
    // The engine stops with all of them handed over.
    venue.exchange.shared.phase.set(EngineState::Halted);
    let answer = venue.exchange.receive(&mut waiting[0], false);
    seen.expect(&answer, -1000);
    assert_eq!(answer.status, 503);

    // It is not there yet.
    let mut venue = self::venue(|_| {});
    venue.exchange.shared.phase.set(EngineState::Restarting);
    seen.expect(&ask(&mut venue, 1, "POST", ORDER, &small), -1016);
    seen.expect(&ask(&mut venue, 1, "GET", "/fapi/v1/openOrders", ""), -1016);

    // History that is neither in memory nor in an archive.
    let mut venue = self::venue(|_| {});
    venue.place(1, &small);
    venue.call(1, "DELETE", "/fapi/v1/allOpenOrders", "symbol=BTCUSDT");
    venue.exchange.shared.views.set_archived(u64::MAX);
    venue.exchange.shared.views.write(|_| ());
    let answer = ask(&mut venue, 1, "GET", "/fapi/v1/allOrders", "symbol=BTCUSDT");
    seen.expect(&answer, -1000);
    assert_eq!(answer.status, 500);
}

/// Whether a text is one that a pattern of the specification stands for.
fn is_of(pattern: &str, text: &str) -> bool {
    let mut rest = text;
    let parts: Vec<&str> = pattern.split("%s").flat_map(|part| part.split("...")).collect();
    for (number, part) in parts.iter().enumerate() {
        let part = part.trim_end();
        match rest.find(part) {
            Some(0) => rest = &rest[part.len()..],
            Some(at) if number > 0 => rest = &rest[at + part.len()..],
            _ => return false,
        }
    }
    rest.is_empty() || pattern.ends_with("%s") || pattern.ends_with("...")
}

#[test]
fn every_code_is_produced_with_its_status_and_text() {
    let mut seen = Seen::default();
    of_parameters(&mut seen);
    of_state(&mut seen);
    of_credentials(&mut seen);
    of_limits(&mut seen);
    of_the_engine(&mut seen);
    let produced: BTreeSet<i32> = seen.0.keys().copied().collect();
    let unreached: BTreeSet<i32> = UNREACHED.iter().map(|(code, _)| *code).collect();
    let all: BTreeSet<i32> = CODES.iter().copied().collect();
    assert_eq!(produced, &all - &unreached);
    for (code, answers) in &seen.0 {
        for (status, text) in answers {
            let expected: &[u16] = match code {
                -2014 | -2015 => &[401],
                -5000 => &[404],
                -1007 => &[408],
                -1003 => &[418, 429],
                -1015 => &[429],
                -1000 if text == "Request occur unknown error." => &[500],
                -1000 | -1001 | -1008 | -1016 => &[503],
                _ => &[400],
            };
            assert!(expected.contains(status), "{code} {status} {text}");
        }
    }

    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/spec/perpetual.md");
    let Ok(text) = std::fs::read_to_string(path) else {
        return eprintln!("skipped: {path} is not there");
    };
    let (_, table) = text.split_once("Codes the service uses").unwrap();
    let (table, _) = table.split_once("\n## 5").unwrap();
    let mut specified = BTreeSet::new();
    for line in table.lines().filter(|line| line.starts_with("| -")) {
        let (code, texts) = line.trim_matches('|').split_once('|').unwrap();
        let code: i32 = code.trim().parse().unwrap();
        specified.insert(code);
        // Texts stand between backticks; where none do, another section says them.
        let others = OTHERS.iter().filter(|(known, _)| *known == code).map(|(_, text)| *text);
        let specified = texts.split('`').skip(1).step_by(2).filter(|text| text.contains(' '));
        let patterns: Vec<&str> =
            if others.clone().next().is_some() { others.collect() } else { specified.collect() };
        for (_, text) in seen.0.get(&code).into_iter().flatten().filter(|_| texts.trim().starts_with('`')) {
            assert!(
                patterns.iter().any(|pattern| is_of(pattern, text)),
                "{code}: {text:?}, not {patterns:?}"
            );
        }
    }
    assert_eq!(specified, all);
}
