//! Signed requests that somebody captured and sends again (`durability.md` row 15).

use crate::exchange::venue::Venue;
use serde_json::{Value, json};

const ORDER: &str = "/fapi/v1/order";
const BUY: &str =
    "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.01&price=59000&recvWindow=60000";

fn venue(refuses: bool) -> Venue {
    let mut venue = Venue::with(&[(1, 100_000), (2, 100_000)], 1_000_000_000, |config| {
        config.refuse_replays = refuses;
    });
    // What is signed within a second of the start may have been taken before it.
    pass(&mut venue, 1_000);
    venue
}

fn pass(venue: &mut Venue, ms: i64) {
    venue.exchange.clock.turn(ms);
    venue.exchange.turn();
}

fn send(venue: &mut Venue, method: &str, target: &str, header: &[String]) -> (u16, Value) {
    let answer = venue.exchange.request(method, target, header, "");
    (answer.status, serde_json::from_str(&answer.body).unwrap())
}

fn open_orders(venue: &mut Venue) -> usize {
    venue.call(1, "GET", "/fapi/v1/openOrders", "").as_array().unwrap().len()
}

#[track_caller]
fn is_refused((status, body): (u16, Value), code: i64, text: &str) {
    assert_eq!((status, &body["code"]), (400, &json!(code)), "{body}");
    assert!(body["msg"].as_str().unwrap().contains(text), "{body}");
}

#[test]
fn a_captured_order_has_no_second_effect() {
    let mut venue = venue(true);
    let (target, header) = venue.target(1, ORDER, BUY);
    assert_eq!(send(&mut venue, "POST", &target, &header).0, 200);
    let (path, query) = target.split_once('?').unwrap();
    let (payload, signature) = query.split_once("&signature=").unwrap();
    let spelled = [
        target.clone(),
        format!("{path}?signature={signature}&{payload}"),
        format!("{path}?{payload}&signature={}", signature.to_uppercase()),
        target.replace("BTCUSDT", "BTC%55SDT"),
    ];
    for target in &spelled {
        is_refused(send(&mut venue, "POST", target, &header), -1022, "used before");
    }
    let form = [&header[..], &["Content-Type: application/x-www-form-urlencoded".to_owned()]].concat();
    let answer = venue.exchange.request("POST", path, &form, query);
    assert_eq!(answer.status, 400, "as a form: {}", answer.body);
    // Nor as another request than the one that was signed: another route takes the same signature.
    is_refused(
        send(&mut venue, "POST", &target.replace("order", "order/test"), &header),
        -1022,
        "used before",
    );
    assert_eq!(open_orders(&mut venue), 1);
    // At any moment of its window, and behind it.
    for _ in 0..60 {
        pass(&mut venue, 1_000);
        let (status, body) = send(&mut venue, "POST", &target, &header);
        assert!(status == 400 && [json!(-1022), json!(-1021)].contains(&body["code"]), "{body}");
    }
    pass(&mut venue, 1);
    is_refused(send(&mut venue, "POST", &target, &header), -1021, "recvWindow");
    assert_eq!(open_orders(&mut venue), 1);
}

#[test]
fn every_kind_of_change_counts_and_no_read_does() {
    let mut venue = venue(true);
    let placed = venue.place(1, BUY);
    let order = placed["orderId"].to_string();
    for (method, path, params) in [
        ("PUT", ORDER, format!("symbol=BTCUSDT&side=BUY&quantity=0.02&price=58000&orderId={order}")),
        ("POST", "/fapi/v1/leverage", "symbol=BTCUSDT&leverage=7".to_owned()),
        ("POST", "/fapi/v1/countdownCancelAll", "symbol=BTCUSDT&countdownTime=600000".to_owned()),
        ("DELETE", ORDER, format!("symbol=BTCUSDT&orderId={order}")),
        ("DELETE", "/fapi/v1/allOpenOrders", "symbol=BTCUSDT".to_owned()),
    ] {
        let (target, header) = venue.target(1, path, &params);
        let (status, body) = send(&mut venue, method, &target, &header);
        assert_eq!(status, 200, "{method} {path}: {body}");
        is_refused(send(&mut venue, method, &target, &header), -1022, "used before");
    }
    for path in ["/fapi/v2/balance", "/fapi/v1/openOrders"] {
        let (target, header) = venue.target(1, path, "");
        for _ in 0..3 {
            assert_eq!(send(&mut venue, "GET", &target, &header).0, 200);
        }
    }
    // Two accounts, and two orders that differ in their names alone.
    for (number, name) in [(1, "a"), (1, "b"), (2, "a")] {
        venue.place(number, &format!("{BUY}&newClientOrderId={name}"));
    }
}

#[test]
fn a_captured_order_is_refused_after_a_start_as_well() {
    let mut venue = venue(true);
    let (target, header) = venue.target(1, ORDER, BUY);
    assert_eq!(send(&mut venue, "POST", &target, &header).0, 200);
    // Another process begins, and knows nothing of what the one before has seen.
    venue.exchange.shared.begin();
    is_refused(send(&mut venue, "POST", &target, &header), -1021, "recvWindow");
    pass(&mut venue, 999);
    is_refused(send(&mut venue, "POST", &target, &header), -1021, "recvWindow");
    pass(&mut venue, 1);
    is_refused(send(&mut venue, "POST", &target, &header), -1021, "recvWindow");
    venue.place(1, BUY);
    assert_eq!(open_orders(&mut venue), 2);
}

#[test]
fn as_shipped_two_equal_orders_are_two() {
    let mut venue = venue(false);
    let (target, header) = venue.target(1, ORDER, BUY);
    for _ in 0..2 {
        assert_eq!(send(&mut venue, "POST", &target, &header).0, 200);
    }
    assert_eq!(open_orders(&mut venue), 2);
}
