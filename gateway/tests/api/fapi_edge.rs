//! The edge of the `/fapi` dialect through a socket: key headers, signatures, windows, permissions, overload protection, order
//! rates, and which of two faults answers (`perpetual.md` 2 and 4).

use crate::server::{Answer, START_MS, TestServer, WALLET};
use hmac::{Hmac, KeyInit, Mac};
use ringside_auth::access::{Auth, Permission};
use ringside_auth::key::{KeyChange, NewKey};
use ringside_commands::ingress::DiskHeadroom;
use ringside_edge::http::order_rate::OrderCount;
use ringside_edge::route::{Call, Handler, Method, Response, Route};
use ringside_wire::refusal::Dialect;
use sha2::Sha256;

const FORM: &str = "Content-Type: application/x-www-form-urlencoded";

fn who(call: &Call) -> ringside_edge::route::Answer {
    let account = call.identity.map(|identity| identity.account);
    Ok(Response::of(&serde_json::json!({ "account": account, "compatible": call.is_compatible() })))
}

const fn row(method: Method, path: &'static str, auth: Auth) -> Route {
    Route { dialect: Dialect::Fapi, auth, ..Route::new(method, path, Handler::Now(who)) }
}

static ROWS: &[Route] = &[
    row(Method::Get, "/fapi/v1/open", Auth::None),
    row(Method::Get, "/fapi/v1/read", Auth::Signed(Permission::Read)),
    row(Method::Post, "/fapi/v1/read", Auth::Signed(Permission::Read)),
    row(Method::Delete, "/fapi/v1/trade", Auth::Signed(Permission::Trade)),
    row(Method::Post, "/fapi/v1/listenKey", Auth::Stream),
    Route {
        orders: OrderCount::ONE,
        protection: Some(|call| call.query().get("reduceOnly").as_deref() == Some("true")),
        ..row(Method::Post, "/fapi/v1/trade", Auth::Signed(Permission::Trade))
    },
];
static TABLES: &[&[Route]] = &[ROWS];

/// A key of account 7 with its secret.
struct Key {
    id: u64,
    key: String,
    secret: String,
}

impl Key {
    fn new(server: &TestServer, permissions: (bool, bool)) -> Key {
        let new = NewKey { label: "signs".to_owned(), permissions, ip_whitelist: vec![], expires_at_s: None };
        let made = server.shared.edge.auth.keys.create(7, WALLET, new, server.clock.now_s());
        let (key, credentials) = made.expect("a key");
        Key { id: key.id(), key: credentials.key.to_string(), secret: credentials.secret.to_string() }
    }

    fn header(&self) -> String {
        format!("X-EX-APIKEY: {}", self.key)
    }

    /// `payload` with its signature behind it.
    fn sign(&self, payload: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.secret.as_bytes()).expect("any length");
        mac.update(payload.as_bytes());
        format!("{payload}&signature={}", const_hex::encode(mac.finalize().into_bytes()))
    }
}

fn now() -> String {
    format!("timestamp={START_MS}")
}

#[track_caller]
fn is_refused(answer: &Answer, status: u16, code: i32, msg: &str) {
    assert_eq!(answer.body, format!(r#"{{"code":{code},"msg":"{msg}"}}"#));
    assert_eq!(answer.status, status);
    assert_eq!(answer.header("content-type"), Some("application/json;charset=utf-8"));
    assert!(
        answer.header("x-mbx-used-weight-1m").is_some() && answer.header("x-ex-used-weight-1m").is_some()
    );
}

#[track_caller]
fn is_account_7(answer: &Answer, is_compatible: bool) {
    assert_eq!(answer.body, format!(r#"{{"account":7,"compatible":{is_compatible}}}"#));
}

const NO_KEY: &str = "API-key format invalid.";
const BAD_KEY: &str = "Invalid API-key, IP, or permissions for action.";
const BAD_SIGNATURE: &str = "Signature for this request is not valid.";

fn missing(name: &str) -> String {
    format!("Mandatory parameter '{name}' was not sent, was empty/null, or malformed.")
}

#[test]
fn a_signature_counts_wherever_its_parameters_stand() {
    let server = TestServer::start(TABLES);
    let key = Key::new(&server, (true, true));
    let header = key.header();
    let query = key.sign(&format!("symbol=BTCUSDT&{}", now()));
    is_account_7(&server.get(&format!("/fapi/v1/read?{query}"), &[&header]), false);
    is_account_7(&server.request("POST", "/fapi/v1/read", &[&header, FORM], &query), false);
    let path = "/fapi/v1/read?symbol=BTCUSDT";
    let split = key.sign(&format!("symbol=BTCUSDT{}", now()));
    let body = split.strip_prefix("symbol=BTCUSDT").expect("it begins so");
    is_account_7(&server.request("POST", path, &[&header, FORM], body), false);
    is_account_7(
        &server.request(
            "POST",
            path,
            &[&header, "Content-Type: application/x-www-form-urlencoded; charset=utf-8"],
            body,
        ),
        false,
    );
    // Many clients name a type where there is no body at all.
    let path = format!("/fapi/v1/read?{query}");
    is_account_7(&server.request("POST", &path, &[&header, "Content-Type: application/json"], ""), false);
    is_refused(
        &server.request("POST", &path, &[&header, "Content-Type: application/json"], "{}"),
        400,
        -1020,
        "This operation is not supported.",
    );
    // A GET has no body, whatever is sent.
    is_account_7(&server.request("GET", &path, &[&header, "Content-Type: text/plain"], "a=1"), false);
}

#[test]
fn the_first_fault_in_the_order_of_checks_answers() {
    let server = TestServer::start(TABLES);
    let (key, reader) = (Key::new(&server, (true, true)), Key::new(&server, (true, false)));
    let header = key.header();
    let read = |query: &str, headers: &[&str]| server.get(&format!("/fapi/v1/read?{query}"), headers);
    is_refused(&server.get("/fapi/v1/none", &[]), 404, -5000, "Path /fapi/v1/none, Method GET is invalid");
    is_refused(
        &server.request("PUT", "/fapi/v1/read", &[], ""),
        404,
        -5000,
        "Path /fapi/v1/read, Method PUT is invalid",
    );
    is_refused(&read("", &[]), 401, -2014, NO_KEY);
    is_refused(&read("", &["X-EX-APIKEY: short"]), 401, -2014, NO_KEY);
    is_refused(&read("", &[&format!("X-EX-APIKEY: {}", "-".repeat(64))]), 401, -2014, NO_KEY);
    // The key header of the other dialect, and a login, are none here.
    is_refused(&read("", &[&format!("X-API-Key: {}", key.key), &server.bearer()]), 401, -2014, NO_KEY);
    is_refused(&read("", &[&format!("X-EX-APIKEY: {}", "A".repeat(64))]), 401, -2015, BAD_KEY);
    is_refused(&server.request("DELETE", "/fapi/v1/trade", &[&reader.header()], ""), 401, -2015, BAD_KEY);
    is_refused(&read("", &[&header]), 400, -1102, &missing("timestamp"));
    is_refused(&read("timestamp=1", &[&header]), 400, -1102, &missing("signature"));
    is_refused(
        &read("timestamp=1&timestamp=2", &[&header]),
        400,
        -1101,
        "Duplicate values for parameter 'timestamp' detected.",
    );
    let window = format!("timestamp=1&recvWindow=60001&signature={}", "0".repeat(64));
    is_refused(&read(&window, &[&header]), 400, -1130, "Data sent for parameter 'recvWindow' is not valid.");
    // Too old, and badly signed.
    let late = format!("timestamp={}&signature={}", START_MS - 5_001, "0".repeat(64));
    is_refused(
        &read(&late, &[&header]),
        400,
        -1021,
        "Timestamp for this request is outside of the recvWindow.",
    );
    is_account_7(
        &read(&key.sign(&format!("recvWindow=6000&timestamp={}", START_MS - 5_001)), &[&header]),
        false,
    );
    is_refused(
        &read(&key.sign(&format!("timestamp={}", START_MS + 1_000)), &[&header]),
        400,
        -1021,
        "Timestamp for this request was 1000ms ahead of the server's time.",
    );
    is_account_7(&read(&key.sign(&format!("timestamp={}", START_MS + 999)), &[&header]), false);
    is_refused(&read(&reader.sign(&now()), &[&header]), 400, -1022, BAD_SIGNATURE);
    is_refused(&read(&(key.sign(&now()) + "&symbol=A"), &[&header]), 400, -1022, BAD_SIGNATURE);
    // A key that is switched off is unknown from then on, also on a connection that knew it.
    let mut client = server.connect();
    let path = format!("/fapi/v1/read?{}", key.sign(&now()));
    is_account_7(&client.request("GET", &path, &[&header], ""), false);
    let off = KeyChange { enabled: Some(false), ..KeyChange::default() };
    server.shared.edge.auth.keys.change(7, key.id, off).expect("it is there");
    is_refused(&client.request("GET", &path, &[&header], ""), 401, -2015, BAD_KEY);
}

#[test]
fn public_routes_do_not_look_at_keys() {
    let server = TestServer::start(TABLES);
    let answer = server.get("/fapi/v1/open?recvWindow=10000", &["X-MBX-APIKEY: nonsense"]);
    assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"account":null,"compatible":true}"#));
}

#[test]
fn existing_clients_send_their_own_header() {
    let server = TestServer::start(TABLES);
    let key = Key::new(&server, (true, true));
    let (own, foreign) = (key.header(), format!("X-MBX-APIKEY: {}", key.key));
    let path = format!("/fapi/v1/read?{}", key.sign(&now()));
    is_account_7(&server.get(&path, &[&foreign]), true);
    // Both sent: the first counts.
    is_account_7(&server.get(&path, &[&own, "X-MBX-APIKEY: nonsense"]), false);
    is_refused(&server.get(&path, &[&foreign, "X-EX-APIKEY: nonsense"]), 401, -2014, NO_KEY);

    let off = TestServer::start_with(TABLES, |config| config.compat_header = false);
    let key = Key::new(&off, (true, true));
    let foreign = format!("X-MBX-APIKEY: {}", key.key);
    is_refused(&off.get(&format!("/fapi/v1/read?{}", key.sign(&now())), &[&foreign]), 401, -2014, NO_KEY);
}

#[test]
fn a_user_stream_takes_the_key_alone_from_existing_clients() {
    let server = TestServer::start(TABLES);
    let key = Key::new(&server, (true, false));
    let (own, foreign) = (key.header(), format!("X-MBX-APIKEY: {}", key.key));
    let post = |query: &str, headers: &[&str], body: &str| {
        server.request("POST", &format!("/fapi/v1/listenKey{query}"), headers, body)
    };
    is_account_7(&post("", &[&foreign], ""), true);
    is_account_7(&post("", &[&foreign, FORM], "listenKey="), true);
    is_refused(&post("", &[&own], ""), 400, -1102, &missing("timestamp"));
    is_account_7(&post(&format!("?{}", key.sign(&now())), &[&own], ""), false);
    // Who begins to sign must sign.
    for query in ["?recvWindow=5000", "?signature=", "?timestamp"] {
        is_refused(&post(query, &[&foreign], ""), 400, -1102, &missing("timestamp"));
    }
    is_refused(&post("", &["X-MBX-APIKEY: nonsense"], ""), 401, -2014, NO_KEY);
}

#[test]
fn overload_spares_what_is_exempt_and_costs_nothing() {
    let server = TestServer::start(TABLES);
    let key = Key::new(&server, (true, true));
    let header = key.header();
    let post =
        |text: &str| server.request("POST", &format!("/fapi/v1/trade?{}", key.sign(text)), &[&header], "");
    let free = post(&now());
    assert_eq!(
        (free.status, free.header("x-mbx-order-count-10s"), free.header("x-ex-order-count-1m")),
        (200, Some("1"), Some("1"))
    );
    let used = |answer: &Answer| {
        answer.header("x-ex-used-weight-1m").expect("a weight").parse::<u32>().expect("a number")
    };
    let before = used(&free);
    server.shared.phase.set_headroom(DiskHeadroom::Cancels);
    let throttled = post(&now());
    let text = "Request throttled by system-level protection. Reduce-only/close-position orders are exempt. Please try again.";
    is_refused(&throttled, 503, -1008, text);
    assert_eq!(used(&throttled), before);
    let exempt = post(&format!("reduceOnly=true&{}", now()));
    assert_eq!(
        (exempt.status, exempt.header("x-mbx-order-count-10s"), used(&exempt)),
        (200, Some("2"), before + 1)
    );
    // A bad signature is found first.
    is_refused(
        &server.request(
            "POST",
            &format!("/fapi/v1/trade?{}&signature={}", now(), "0".repeat(64)),
            &[&header],
            "",
        ),
        400,
        -1022,
        BAD_SIGNATURE,
    );
}

#[test]
fn order_rates_are_judged_after_the_signature() {
    let server = TestServer::start_with(TABLES, |config| {
        (config.orders_per_ten_seconds, config.orders_per_minute) = (2, 3)
    });
    let key = Key::new(&server, (true, true));
    let header = key.header();
    let post = || {
        server.request(
            "POST",
            &format!("/fapi/v1/trade?{}", key.sign(&format!("timestamp={}", server.clock.now_ms()))),
            &[&header],
            "",
        )
    };
    assert_eq!((post().status, post().status), (200, 200));
    let refused = post();
    is_refused(&refused, 429, -1015, "Too many new orders; current limit is 2 orders per 10 SECOND.");
    assert_eq!((refused.header("retry-after"), refused.header("x-mbx-order-count-10s")), (Some("10"), None));
    let unsigned = server.request(
        "POST",
        &format!("/fapi/v1/trade?{}&signature={}", now(), "0".repeat(64)),
        &[&header],
        "",
    );
    is_refused(&unsigned, 400, -1022, BAD_SIGNATURE);
    server.clock.turn(10_000);
    assert_eq!(post().status, 200);
    is_refused(&post(), 429, -1015, "Too many new orders; current limit is 3 orders per 1 MINUTE.");
}
