//! Every refusal of the dialect of accounts, produced through a socket with its status, code and exact text.
//!
//! Three lists must agree, as in `api/refusals.rs`: what the specification names (`account.md` 1 and 13, below as [`SPECIFIED`]) is
//! produced; what a row documents as a client's fault is produced on that very route; what is produced is documented there.

use super::{SECOND_MS, venue_with};
use crate::exchange::chain::{self, Chain, Mood, SteeredSigner};
use crate::exchange::rows;
use crate::exchange::venue::Venue;
use crate::exchange::{ADMIN_KEY, Answer, Exchange, send, wallet, wallet_text};
use ringside_auth::jwt::TOKEN_LIFE_S;
use ringside_commands::ingress::EngineState;
use ringside_config::Value as Setting;
use ringside_core::command::{Command, ListPerpetual};
use ringside_core::ids::padded;
use ringside_edge::worker::cluster::{Control, Sight};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The table of `account.md` 1, and the code of 13.
#[rustfmt::skip]
const SPECIFIED: &[(u16, &[&str])] = &[
    (400, &[
        "INVALID_PARAMETER", "INVALID_CURSOR", "SLIPPAGE_EXCEEDED", "INSUFFICIENT_LIQUIDITY", "FILTER_FAILURE",
        "INVALID_ADDRESS", "INSUFFICIENT_BALANCE", "UNSUPPORTED_TOKEN", "AMOUNT_TOO_SMALL",
    ]),
    (401, &["UNAUTHORIZED", "TOKEN_EXPIRED"]),
    (403, &["FORBIDDEN"]),
    (404, &["SYMBOL_NOT_FOUND", "NOT_FOUND", "DISABLED"]),
    (409, &["OPEN_ORDERS_EXIST", "POSITION_EXISTS"]),
    (418, &["BANNED"]),
    (429, &["RATE_LIMITED"]),
    (500, &["CHAIN_ERROR", "INTERNAL"]),
    (503, &["WITHDRAWALS_PAUSED", "WITHDRAWALS_UNAVAILABLE", "EXTERNAL_UNAVAILABLE", "SERVICE_UNAVAILABLE"]),
];

const UNPROVEN: (u16, &str, &str) = (
    403,
    "FORBIDDEN",
    "two operators decide this, each by a key of their own: the administrator's key and X-Operator count as neither",
);
const NO_MARKET: (u16, &str, &str) = (404, "SYMBOL_NOT_FOUND", "there is no such market");
const NO_CLUSTER: (u16, &str, &str) = (404, "NOT_FOUND", "this host is of no cluster");
const PREVIEW: (&str, &str) = ("POST", "/orders/preview");
const WITHDRAW: (&str, &str) = ("POST", "/withdraw/request");
const MODE: (&str, &str) = ("POST", "/api/v1/account/margin-mode");
const LIMIT: &str = "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC";

/// What was produced: the route, status and code.
#[derive(Default)]
struct Produced(rows::Seen);

impl Produced {
    /// Requests as nobody (0), an account, or with headers; says whether it was refused so.
    #[track_caller]
    fn request(
        &mut self,
        exchange: &mut Exchange,
        request: (&str, &str),
        headers: &[String],
        body: &str,
        expected: (u16, &str, &str),
    ) {
        let answer = exchange.request(request.0, request.1, headers, body);
        self.see(request, &answer, expected);
    }

    #[track_caller]
    fn see(
        &mut self,
        (method, path): (&str, &str),
        answer: &Answer,
        (status, code, message): (u16, &str, &str),
    ) {
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        let expected = json!({ "code": code, "message": message });
        assert_eq!((answer.status, &body), (status, &expected), "{method} {path}");
        let has_delay = answer.header("retry-after").is_some_and(|seconds| seconds.parse::<u32>().is_ok());
        assert_eq!(has_delay, matches!(status, 418 | 429), "{method} {path}: Retry-After");
        let path = path.split('?').next().unwrap();
        let route = rows::of_request(method, path);
        self.0.insert((route.map(rows::name).unwrap_or_default(), status, code.to_owned()));
    }
}

fn admin() -> Vec<String> {
    vec![format!("X-API-Key: {ADMIN_KEY}")]
}

fn invalid(name: &str) -> (u16, &'static str, String) {
    (400, "INVALID_PARAMETER", format!("{name}: missing or malformed"))
}

/// The first five rows of `account.md` 1, and what every route has of the edge.
fn edge(produced: &mut Produced) {
    let mut venue = venue_with(&[], |_| {});
    let now_s = venue.exchange.clock.now_s();
    let tokens = &venue.exchange.shared.edge.auth.tokens;
    let old = tokens.mint(2, &wallet(2), "jti".to_owned(), now_s - TOKEN_LIFE_S).unwrap().0;
    let orders = ("GET", "/orders");
    let expired = (401, "TOKEN_EXPIRED", "the token's time is over");
    produced.request(&mut venue.exchange, orders, &[format!("Authorization: Bearer {old}")], "", expired);
    let needed = (401, "UNAUTHORIZED", "a good credential is needed");
    produced.request(&mut venue.exchange, orders, &[], "", needed);
    let key = |venue: &Venue, may| vec![format!("X-API-Key: {}", venue.trader(2, may).key)];
    let (reads, trades) = (key(&venue, (true, false)), key(&venue, (false, true)));
    produced.request(
        &mut venue.exchange,
        orders,
        &trades,
        "",
        (403, "FORBIDDEN", "the API key may not read"),
    );
    let login = (403, "FORBIDDEN", "this route takes a login token, not an API key");
    for request in [WITHDRAW, MODE] {
        produced.request(&mut venue.exchange, request, &reads, "{}", login);
    }
    let unknown = (404, "NOT_FOUND", "no such route");
    produced.request(&mut venue.exchange, ("GET", "/account/nothing"), &[], "", unknown);
    // Announced alone: nobody waits for the rest of what is refused.
    let account = venue.exchange.account(2);
    let mut client = venue.exchange.connect();
    let head = format!(
        "{} {} HTTP/1.1\r\nHost: ringside\r\nExpect: 100-continue\r\nContent-Length: 2000000\r\n{}\r\n\r\n",
        MODE.0, MODE.1, account[0]
    );
    client.write_all(head.as_bytes()).unwrap();
    let answer = venue.exchange.receive(&mut client, true);
    let too_long = (413, "INVALID_PARAMETER", "body too large");
    produced.see(MODE, &answer, too_long);

    let mut venue = venue_with(&[], |config| config.weight_per_minute = 5);
    let markets = ("GET", "/api/v1/markets");
    let busy = (429, "RATE_LIMITED", "too many requests");
    let mut refused = (0..1_000).map(|_| venue.exchange.request(markets.0, markets.1, &[], ""));
    let first = refused.by_ref().find(|answer| answer.status != 200).unwrap();
    let last = refused.by_ref().find(|answer| answer.status != 429).unwrap();
    drop(refused);
    produced.see(markets, &first, busy);
    produced.see(markets, &last, (418, "BANNED", "this address is banned"));
}

/// An engine that does not answer, or is not there.
fn engine(produced: &mut Produced) {
    let mut venue = venue_with(&[], |config| config.request_timeout = Duration::from_secs(1));
    let account = venue.exchange.account(2);
    let mut client = venue.exchange.connect();
    let change = r#"{"mode":"ISOLATED"}"#;
    send(&mut client, MODE.0, MODE.1, &account, change);
    venue.exchange.wait_for_queue(1);
    let late = venue.exchange.receive(&mut client, false);
    let text = "no answer in time; the outcome is unknown, query before you retry";
    produced.see(MODE, &late, (500, "INTERNAL", text));
    let mut client = venue.exchange.connect();
    send(&mut client, MODE.0, MODE.1, &account, change);
    venue.exchange.wait_for_queue(2);
    venue.exchange.shared.phase.set(EngineState::Halted);
    let unknown = venue.exchange.receive(&mut client, false);
    produced.see(MODE, &unknown, (500, "INTERNAL", "the outcome is unknown; query before you retry"));
    let mut venue = venue_with(&[], |_| {});
    venue.exchange.shared.phase.set(EngineState::Restarting);
    let account = venue.exchange.account(2);
    let stopped = (503, "SERVICE_UNAVAILABLE", "the exchange is not running");
    for (method, path, body) in
        [("GET", "/unified/account", ""), ("GET", MODE.1, ""), (MODE.0, MODE.1, change)]
    {
        produced.request(&mut venue.exchange, (method, path), &account, body, stopped);
    }
}

/// Pages, positions, previews, markets.
fn reads(produced: &mut Produced) {
    let mut venue = venue_with(&[], |_| {});
    let account = venue.exchange.account(2);
    for path in ["/account/trades", "/account/orders", "/orders", "/orders/open", "/positions/active"] {
        let path = format!("{path}?symbol=NONE");
        produced.request(&mut venue.exchange, ("GET", &path), &account, "", NO_MARKET);
    }
    for path in ["/api/v1/markets/NONE", "/api/v1/markets/NONE/brackets", "/external/markets/NONE/ticker"] {
        produced.request(&mut venue.exchange, ("GET", path), &[], "", NO_MARKET);
    }
    let quiet = (503, "EXTERNAL_UNAVAILABLE", "no source, or no quote within the last minute");
    produced.request(&mut venue.exchange, ("GET", "/external/markets/BTCUSDT/ticker"), &[], "", quiet);
    for path in ["/account/trades", "/account/orders"] {
        for (parameter, value) in [
            ("side", "LONG"),
            ("start_time", "soon"),
            ("end_time", "-1"),
            ("limit", "many"),
            ("order", "up"),
            ("offset", "x"),
        ] {
            let (status, code, text) = invalid(parameter);
            let path = format!("{path}?{parameter}={value}");
            produced.request(&mut venue.exchange, ("GET", &path), &account, "", (status, code, &text));
        }
        let foreign = (400, "INVALID_CURSOR", "cursor: not issued by this route for these filters");
        let path = format!("{path}?cursor=abc");
        produced.request(&mut venue.exchange, ("GET", &path), &account, "", foreign);
    }
    let (status, code, text) = invalid("status");
    produced.request(
        &mut venue.exchange,
        ("GET", "/account/orders?status=OPEN"),
        &account,
        "",
        (status, code, &text),
    );

    for price in ["60010", "60100"] {
        venue.place(1, &format!("{LIMIT}&quantity=0.1&price={price}"));
    }
    let market = |symbol: &str, quantity: &str| {
        json!({ "symbol": symbol, "side": "BUY", "type": "MARKET", "quantity": quantity, "max_slippage": 0 })
            .to_string()
    };
    for (body, expected) in [
        ("[]".to_owned(), (400, "INVALID_PARAMETER", "body: no JSON object")),
        ("{}".to_owned(), (400, "INVALID_PARAMETER", "symbol: missing or malformed")),
        (market("NONE", "1"), NO_MARKET),
        (
            market("BTCUSDT", "0.0001"),
            (400, "FILTER_FAILURE", "Filter failure: LOT_SIZE. Quantity 0 is outside 0.001 to 120."),
        ),
        (market("BTCUSDT", "0.3"), (400, "INSUFFICIENT_LIQUIDITY", "the book cannot fill this quantity now")),
        (
            market("BTCUSDT", "0.2"),
            (400, "SLIPPAGE_EXCEEDED", "the average price is further from the best than max_slippage"),
        ),
    ] {
        produced.request(&mut venue.exchange, PREVIEW, &account, &body, expected);
    }
}

fn margin_modes(produced: &mut Produced) {
    let mut venue = venue_with(&[], |_| {});
    let account = venue.exchange.account(2);
    let (status, code, text) = invalid("margin_mode");
    produced.request(&mut venue.exchange, MODE, &account, "{}", (status, code, &text));
    let body = r#"{"mode":"CROSS","symbol":"NONE"}"#;
    produced.request(&mut venue.exchange, MODE, &account, body, NO_MARKET);
    let body = r#"{"mode":"ISOLATED"}"#;
    venue.trade("BUY", "0.1", "60000");
    let held = (409, "POSITION_EXISTS", "there is a position where the margin mode would change");
    produced.request(&mut venue.exchange, MODE, &account, body, held);
    venue.place(2, &format!("{LIMIT}&quantity=0.1&price=61000"));
    let open = (409, "OPEN_ORDERS_EXIST", "there are open orders where the margin mode would change");
    produced.request(&mut venue.exchange, MODE, &account, body, open);
}

fn withdrawals(produced: &mut Produced) {
    let mut venue = venue_with(&[], |config| {
        chain::configure(config);
        config.withdrawals_per_day = 1;
    });
    let signer = SteeredSigner::default();
    let _chain = Chain::start(&venue.exchange, Some(signer.clone()));
    let account = venue.exchange.account(3);
    let body = |token: &str, amount: &str| format!(r#"{{"token":"{token}","amount":"{amount}"}}"#);
    let (status, code, text) = invalid("amount");
    for (body, expected) in [
        ("[]".to_owned(), (400, "INVALID_PARAMETER", "body: no JSON object")),
        (body("DF", "10"), (400, "UNSUPPORTED_TOKEN", "token: USDT alone can be withdrawn")),
        (body("USDT", "10.0000001"), (status, code, text.as_str())),
        (body("USDT", "9.999999"), (400, "AMOUNT_TOO_SMALL", "amount: at least 10")),
        (body("USDT", "0"), (400, "AMOUNT_TOO_SMALL", "amount: at least 10")),
        (
            body("USDT", "1000.000001"),
            (400, "INSUFFICIENT_BALANCE", "amount: more than can be withdrawn now"),
        ),
    ] {
        produced.request(&mut venue.exchange, WITHDRAW, &account, &body, expected);
    }
    signer.mood(Mood::IsAway);
    let away = (503, "SERVICE_UNAVAILABLE", "there is no signature; the amount is available again");
    produced.request(&mut venue.exchange, WITHDRAW, &account, &body("USDT", "10"), away);
    let often = (429, "RATE_LIMITED", "too many withdrawals were asked for in 24 hours");
    produced.request(&mut venue.exchange, WITHDRAW, &account, &body("USDT", "10"), often);
    venue.operate("POST", "/admin/withdrawals/pause", r#"{"paused":true}"#);
    let paused = (503, "WITHDRAWALS_PAUSED", "withdrawals are paused");
    produced.request(&mut venue.exchange, WITHDRAW, &account, "judged before the body", paused);
    let mut without = Exchange::start_perpetual(&[(1, 100)]);
    let no_vault = (503, "WITHDRAWALS_UNAVAILABLE", "this deployment has no vault");
    let any = without.account(1);
    produced.request(&mut without, WITHDRAW, &any, "judged before the body", no_vault);
    for (query, name) in [("status=open", "status"), ("limit=x", "limit")] {
        let (status, code, text) = invalid(name);
        let path = format!("/withdraw/requests?{query}");
        produced.request(&mut venue.exchange, ("GET", &path), &account, "", (status, code, &text));
    }
    let unknown = (404, "NOT_FOUND", "there is no such thing");
    produced.request(&mut venue.exchange, ("GET", "/withdraw/requests/7"), &account, "", unknown);
}

fn referrals(produced: &mut Produced) {
    let mut exchange = Exchange::start();
    let unread = (500, "CHAIN_ERROR", "the chain cannot be read now");
    produced.request(&mut exchange, ("GET", "/referral/on-chain/operator-status"), &[], "", unread);
    for route in ["user-rebate", "referral-info", "claimed"] {
        let of = |address: &str| format!("/referral/on-chain/{route}/{address}");
        let wrong = (400, "INVALID_ADDRESS", "an address is 0x and 40 hex digits");
        produced.request(&mut exchange, ("GET", &of("0x12")), &[], "", wrong);
        produced.request(&mut exchange, ("GET", &of(&wallet_text(1))), &[], "", unread);
    }
}

fn operators(produced: &mut Produced) {
    let mut venue = venue_with(&[], |config| config.test_deployment = false);
    let (credit, index) = (("POST", "/admin/perpetual/credit"), ("POST", "/admin/perpetual/index-price"));
    for request in [credit, index, ("POST", "/api/v1/faucet")] {
        let disabled = (404, "DISABLED", "only test deployments have this route");
        produced.request(&mut venue.exchange, request, &[], "", disabled);
    }
    // A market that no price was ever given for.
    let quiet = Command::new(ListPerpetual {
        symbol: padded("XYZUSDT").unwrap(),
        base: padded("XYZ").unwrap(),
        quote: padded("USDT").unwrap(),
        tick: 10_000_000,
        lot: 100_000,
    });
    let mut venue = venue_with(&[quiet], |_| {});
    let exchange = &mut venue.exchange;
    let (account, unknown) = (wallet_text(1), format!("/admin/accounts/{}", wallet_text(99)));
    let terms = format!("/admin/accounts/{account}");
    let malformed = |name: &str| (400, "INVALID_PARAMETER", format!("{name}: missing or malformed"));
    let credited = |amount: &str| format!(r#"{{"user_address":"{account}","amount":{amount}}}"#);
    let symbol = (400, "INVALID_PARAMETER", "symbol: 1 to 10 of A to Z and 0 to 9".to_owned());
    let long = json!({ "paused": true, "reason": "x".repeat(257) }).to_string();
    for (request, body, (status, code, text)) in [
        (credit, r#"{"user_address":"0x1","amount":"1"}"#.to_owned(), malformed("user_address")),
        (credit, r#"{"user_address":5,"amount":"1"}"#.to_owned(), malformed("user_address")),
        (credit, credited("0"), malformed("amount")),
        (credit, credited(r#""1","reason":5"#), malformed("reason")),
        (index, "{}".to_owned(), malformed("symbol")),
        (index, r#"{"symbol":5,"price":"1"}"#.to_owned(), malformed("symbol")),
        (index, r#"{"symbol":"BTCUSDT","price":"x"}"#.to_owned(), malformed("price")),
        (("PATCH", "/admin/perpetual/symbols/BTCUSDT"), r#"{"state":"OPEN"}"#.to_owned(), malformed("state")),
        (("PATCH", "/admin/accounts/0x12"), r#"{"trading_enabled":true}"#.to_owned(), malformed("address")),
        (("PATCH", "/admin/perpetual/symbols/BTCUSDT"), r#"{"state":5}"#.to_owned(), malformed("state")),
        (("PATCH", &terms), r#"{"promo_bps":5}"#.to_owned(), malformed("promo_expires_at")),
        (("PATCH", &terms), r#"{"promo_bps":10001,"promo_expires_at":5}"#.to_owned(), malformed("promo_bps")),
        (("PATCH", &terms), r#"{"trade_group_id":"4"}"#.to_owned(), malformed("trade_group_id")),
        (("PATCH", &terms), r#"{"trading_enabled":"no"}"#.to_owned(), malformed("trading_enabled")),
        (("PATCH", &terms), r#"{"trade_group_id":-2}"#.to_owned(), malformed("trade_group_id")),
        (
            ("PATCH", &terms),
            "{}".to_owned(),
            (400, "INVALID_PARAMETER", "body: nothing to change".to_owned()),
        ),
        (("POST", "/admin/withdrawals/pause"), "{}".to_owned(), malformed("paused")),
        (("POST", "/admin/withdrawals/pause"), r#"{"paused":1}"#.to_owned(), malformed("paused")),
        (
            ("POST", "/admin/withdrawals/pause"),
            long,
            (400, "INVALID_PARAMETER", "reason: at most 256 bytes".to_owned()),
        ),
        (("GET", "/admin/audit?limit=x"), String::new(), malformed("limit")),
        (("GET", "/admin/audit?before=0"), String::new(), malformed("before")),
        (("POST", "/admin/tokens"), "{}".to_owned(), symbol.clone()),
        (("POST", "/api/v1/admin/tokens"), "{}".to_owned(), symbol),
    ] {
        produced.request(exchange, request, &admin(), &body, (status, code, &text));
    }
    tokens(produced, exchange);
    cluster(produced, exchange);
    produced.request(exchange, index, &admin(), r#"{"symbol":"NONE"}"#, NO_MARKET);
    let state = |state: &str| format!(r#"{{"state":"{state}","confirm":true}}"#);
    produced.request(
        exchange,
        ("PATCH", "/admin/perpetual/symbols/NONE"),
        &admin(),
        &state("HALTED"),
        NO_MARKET,
    );
    let no_price = (409, "NO_MARK_PRICE", "the market never had a mark price");
    let market = ("PATCH", "/admin/perpetual/symbols/XYZUSDT");
    produced.request(exchange, market, &admin(), &state("TRADING"), no_price);
    let nobody = (404, "NOT_FOUND", "there is no such thing");
    let (named, ann) =
        ([admin(), vec!["X-Operator: ann".to_owned()]].concat(), vec![exchange.operator("ann")]);
    let dispute = ("POST", "/admin/withdrawals/disputed/7");
    let settle = r#"{"outcome":"paid","reason":"a test"}"#;
    for headers in [&named, &admin()] {
        produced.request(exchange, dispute, headers, settle, UNPROVEN);
    }
    produced.request(exchange, dispute, &ann, settle, nobody);
    for (body, name) in
        [("{}", "outcome"), (r#"{"outcome":1}"#, "outcome"), (r#"{"outcome":"paid"}"#, "reason")]
    {
        let (status, code, text) = malformed(name);
        produced.request(exchange, dispute, &ann, body, (status, code, &text));
    }
    produced.request(exchange, ("PATCH", &unknown), &admin(), r#"{"trading_enabled":true}"#, nobody);
    let market = ("PATCH", "/admin/perpetual/symbols/SOLUSDT");
    for word in ["REDUCE_ONLY", "CLOSED"] {
        assert_eq!(exchange.request(market.0, market.1, &admin(), &state(word)).status, 200);
    }
    let closed = (409, "MARKET_CLOSED", "the market is closed for good");
    produced.request(exchange, market, &admin(), &state("TRADING"), closed);
    // Where there is no perpetual market there is no margin to credit.
    produced.request(&mut Exchange::start(), credit, &admin(), &credited("1"), NO_MARKET);
}

fn cluster(produced: &mut Produced, exchange: &mut Exchange) {
    let key = "22".repeat(32);
    let whom = format!(r#"{{"member":4,"address":"10.0.0.4:7071","key":"{key}"}}"#);
    let changes = ["add", "remove", "transfer"].map(|what| format!("/admin/cluster/{what}"));
    let (status, code, text) = invalid("member");
    for path in &changes {
        produced.request(exchange, ("POST", path), &admin(), "{}", (status, code, &text));
        produced.request(exchange, ("POST", path), &admin(), &whom, NO_CLUSTER);
    }
    produced.request(exchange, ("GET", "/admin/cluster"), &admin(), "", NO_CLUSTER);
    for (name, wrong) in [("address", "10.0.0.4"), ("key", "22")] {
        let right = if name == "key" { key.as_str() } else { "10.0.0.4:7071" };
        let (status, code, text) = invalid(name);
        let body = whom.replace(&format!(r#""{right}""#), &format!(r#""{wrong}""#));
        produced.request(exchange, ("POST", &changes[0]), &admin(), &body, (status, code, &text));
    }
    let (port, reason) = (Control::default(), "another change is under way");
    port.show(Sight::default());
    port.taken_by(Some(Box::new(move |ask| drop(ask.answer.send(Err(reason.to_owned()))))));
    assert!(exchange.shared.cluster.set(Arc::new(port)).is_ok());
    for path in &changes {
        let unchanged = (409, "CLUSTER_UNCHANGED", reason);
        produced.request(exchange, ("POST", path), &admin(), &whom, unchanged);
    }
}

fn tokens(produced: &mut Produced, exchange: &mut Exchange) {
    let body = |decimals: u8| {
        format!(r#"{{"symbol":"GOLD","address":"0x{}","decimals":{decimals}}}"#, "44".repeat(20))
    };
    assert_eq!(exchange.request("POST", "/admin/tokens", &admin(), &body(6)).status, 200);
    let text = "the contract is known as another token, or the token by another contract; both are for good";
    for path in ["/admin/tokens", "/api/v1/admin/tokens"] {
        produced.request(exchange, ("POST", path), &admin(), &body(8), (409, "TOKEN_EXISTS", text));
    }
    let clock = ("POST", "/admin/clock/accept");
    let text = "distance_ms: it is 0 now";
    produced.request(exchange, clock, &admin(), r#"{"distance_ms":5000}"#, (409, "DISTANCE_CHANGED", text));
    let text = "distance_ms: missing or malformed";
    produced.request(exchange, clock, &admin(), "{}", (400, "INVALID_PARAMETER", text));
    let nobody = (404, "NOT_FOUND", "there is no such thing");
    produced.request(exchange, ("PATCH", "/admin/tokens/NONE"), &admin(), "{}", nobody);
    let changed = r#"{"deposits_paused":1}"#;
    let (status, code, text) = (400, "INVALID_PARAMETER", "deposits_paused: true or false");
    produced.request(exchange, ("PATCH", "/admin/tokens/GOLD"), &admin(), changed, (status, code, text));
    let named = [admin(), vec!["X-Operator: ann".to_owned()]].concat();
    let (bob, rewind) = (vec![exchange.operator("bob")], ("POST", "/admin/chain/rewind"));
    let vault = "11".repeat(20);
    let back = format!(r#"{{"vault_address":"0x{vault}","block":5,"reason":"a test"}}"#);
    produced.request(exchange, rewind, &named, &back, UNPROVEN);
    produced.request(exchange, rewind, &bob, &back, nobody);
    let no_block = format!(r#"{{"vault_address":"0x{vault}","reason":"a test"}}"#);
    let no_reason = format!(r#"{{"vault_address":"0x{vault}","block":5}}"#);
    for (body, name) in [("{}", "vault_address"), (no_block.as_str(), "block"), (&no_reason, "reason")] {
        let text = format!("{name}: missing or malformed");
        produced.request(exchange, rewind, &bob, body, (400, "INVALID_PARAMETER", &text));
    }
}

/// The treasury, and what waits for a second operator.
fn treasury(produced: &mut Produced) {
    const ROUTE: (&str, &str) = ("POST", "/admin/treasury/transfer");
    let mut venue = venue_with(&[], |config| {
        config.treasury_two_operators_above = Setting::parse("500").unwrap();
    });
    let exchange = &mut venue.exchange;
    exchange.open();
    let [ann, bob] = ["ann", "bob"].map(|name| vec![exchange.operator(name)]);
    let account = format!("account:{}", wallet_text(1));
    let nobody = format!("account:{}", wallet_text(99));
    let asked = |from: &str, to: &str, token: &str, amount: &str| json!({ "from": from, "to": to, "token": token, "amount": amount, "reason": "a test" });
    let without = |name: &str| {
        let mut body = asked(&account, "fund:MAIN", "USDT", "1");
        body.as_object_mut().unwrap().remove(name);
        body
    };
    let with = |name: &str, value: Value| {
        let mut body = asked(&account, "fund:MAIN", "USDT", "1");
        body[name] = value;
        body
    };
    let (parameter, token) = ("INVALID_PARAMETER", "UNSUPPORTED_TOKEN");
    let ends = |name: &str| format!("{name}: fund:MAIN, fees:spot, fees:perpetual or account:<address>");
    let micros = "amount: a decimal above 0, at most 6 decimals at fund:MAIN and fees:perpetual".to_owned();
    let steps = "amount: a decimal above 0, at most 18 decimals".to_owned();
    let alone = "token: USDT alone at fund:MAIN and fees:perpetual".to_owned();
    let of_account = "behind account: an address, 0x and 40 hex digits";
    let short = |held: &str, from: &str| format!("amount: at most the {held} that {from} has available");
    for (body, status, code, text) in [
        (without("from"), 400, parameter, ends("from")),
        (without("to"), 400, parameter, ends("to")),
        (with("from", json!("fees:all")), 400, parameter, ends("from")),
        (with("from", json!(5)), 400, parameter, "from: missing or malformed".to_owned()),
        (with("to", json!("fund:OTHER")), 400, parameter, "to: MAIN is the only insurance pool".to_owned()),
        (with("from", json!("account:0x12")), 400, parameter, format!("from: {of_account}")),
        (
            asked(&account, &account, "USDT", "1"),
            400,
            parameter,
            "to: fund:MAIN, fees:spot or fees:perpetual where from is an account".to_owned(),
        ),
        (
            asked("fees:spot", "fees:spot", "USDT", "1"),
            400,
            parameter,
            "to: another than from, fees:spot".to_owned(),
        ),
        (without("token"), 400, parameter, "token: missing or malformed".to_owned()),
        (with("token", json!("NONE")), 400, token, "token: there is no NONE here".to_owned()),
        (with("token", json!("MUCHTOOLONG")), 400, token, "token: there is no MUCHTOOLONG here".to_owned()),
        (with("token", json!("DF")), 400, token, alone),
        (without("amount"), 400, parameter, micros.clone()),
        (with("amount", json!("0")), 400, parameter, micros.clone()),
        (with("amount", json!("-1")), 400, parameter, micros.clone()),
        (with("amount", json!("0.0000001")), 400, parameter, micros),
        (asked(&account, "fees:spot", "DF", "0.0000000000000000001"), 400, parameter, steps.clone()),
        (asked(&account, "fees:spot", "DF", "1e3"), 400, parameter, steps),
        (without("reason"), 400, parameter, "reason: 1 to 256 bytes".to_owned()),
        (with("reason", json!(" ")), 400, parameter, "reason: 1 to 256 bytes".to_owned()),
        (with("reason", json!("x".repeat(257))), 400, parameter, "reason: at most 256 bytes".to_owned()),
        (
            asked(&nobody, "fund:MAIN", "USDT", "1"),
            404,
            "NOT_FOUND",
            "from: no wallet of this address has been here".to_owned(),
        ),
        (
            asked("fund:MAIN", &nobody, "USDT", "1"),
            404,
            "NOT_FOUND",
            "to: no wallet of this address has been here".to_owned(),
        ),
        (
            asked("fund:MAIN", &account, "USDT", "1"),
            400,
            "INSUFFICIENT_BALANCE",
            short("0 USDT", "fund:MAIN"),
        ),
        (
            asked("fees:perpetual", &account, "USDT", "1"),
            400,
            "INSUFFICIENT_BALANCE",
            short("0 USDT", "fees:perpetual"),
        ),
        (asked("fees:spot", &account, "DF", "1"), 400, "INSUFFICIENT_BALANCE", short("0 DF", "fees:spot")),
    ] {
        produced.request(exchange, ROUTE, &admin(), &body.to_string(), (status, code, &text));
    }
    let json = (400, "INVALID_PARAMETER", "body: no JSON object");
    produced.request(exchange, ROUTE, &admin(), "[]", json);
    let large = |amount: &str| asked(&account, "fund:MAIN", "USDT", amount).to_string();
    let beyond = "amount: at most 10^12 at once, and no more than an end can hold";
    let wait = |exchange: &mut Exchange, amount: &str| {
        let answer = exchange.request(ROUTE.0, ROUTE.1, &ann, &large(amount));
        assert_eq!(answer.status, 202, "{}", answer.body);
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        format!("/admin/approvals/{}", body["approval_id"].as_str().unwrap())
    };
    produced.request(exchange, ROUTE, &admin(), &large("500.000001"), UNPROVEN);
    let approval = wait(exchange, "1000.5");
    for method in ["POST", "DELETE"] {
        produced.request(exchange, (method, &approval), &admin(), "", UNPROVEN);
    }
    let own = (403, "FORBIDDEN", "another operator must agree than the one who asked for it");
    produced.request(exchange, ("POST", &approval), &ann, "", own);
    // What it asks for is judged when it is carried out.
    let text = short("1000 USDT", &account);
    produced.request(exchange, ("POST", &approval), &bob, "", (400, "INSUFFICIENT_BALANCE", &text));
    let gone = "no request of this id waits: it is 15 minutes old, a restart forgot it, or it is settled";
    for (method, path) in [("POST", approval.as_str()), ("DELETE", &approval), ("POST", "/admin/approvals/7")]
    {
        produced.request(exchange, (method, path), &bob, "", (404, "NOT_FOUND", gone));
    }
    let approval = wait(exchange, "1000000000001");
    produced.request(exchange, ("POST", &approval), &bob, "", (400, parameter, beyond));
    let approval = wait(exchange, "600");
    exchange.remove_operator("ann");
    let removed = "the operator who asked for it has that key no more, so it is forgotten; ask anew";
    produced.request(exchange, ("POST", &approval), &bob, "", (403, "FORBIDDEN", removed));
    produced.request(exchange, ("POST", &approval), &bob, "", (404, "NOT_FOUND", gone));
    let full = (503, "SERVICE_UNAVAILABLE", "256 requests wait for a second operator already");
    for _ in 0..256 {
        assert_eq!(exchange.request(ROUTE.0, ROUTE.1, &bob, &large("600")).status, 202);
    }
    produced.request(exchange, ROUTE, &bob, &large("600"), full);
}

/// Listings, parameters, tiers, limits and feeds: each with the field that is wrong, and what it may be.
fn listings(produced: &mut Produced) {
    let mut venue = venue_with(&[], |config| config.test_deployment = false);
    let exchange = &mut venue.exchange;
    let list = ("POST", "/admin/perpetual/symbols");
    let bracket = r#"[{"notional_cap":"50000","max_leverage":50,"maint_margin_ratio":"0.01"}]"#;
    let listing = |more: &str| {
        format!(
            r#"{{"symbol":"DOGEUSDT","base":"DOGE","tick_size":"0.00001","lot_size":"1","brackets":{bracket},"sources":[]{more}}}"#
        )
    };
    let without = |name: &str| {
        let mut body: Value = serde_json::from_str(&listing("")).unwrap();
        body.as_object_mut().unwrap().remove(name);
        body.to_string()
    };
    let with = |name: &str, value: Value| {
        let mut body: Value = serde_json::from_str(&listing("")).unwrap();
        body[name] = value;
        body.to_string()
    };
    let missing = |name: &str| (without(name), format!("{name}: missing or malformed"));
    let bound = |name: &str, value: Value, may: &str| (with(name, value), format!("{name}: may be {may}"));
    let row = |cap: &str, leverage: i64, rate: &str| json!([{ "notional_cap": cap, "max_leverage": leverage, "maint_margin_ratio": rate }]);
    let two = json!([
        { "notional_cap": "50000", "max_leverage": 50, "maint_margin_ratio": "0.01" },
        { "notional_cap": "50000", "max_leverage": 25, "maint_margin_ratio": "0.02" },
    ]);
    let bodies = [
        ("nothing".to_owned(), "body: missing or malformed".to_owned()),
        missing("symbol"),
        missing("base"),
        missing("tick_size"),
        missing("lot_size"),
        missing("brackets"),
        missing("sources"),
        (with("symbol", json!("DO-GE")), "symbol: missing or malformed".to_owned()),
        (with("base", json!("USDT")), "base: missing or malformed".to_owned()),
        (with("state", json!("CLOSED")), "state: missing or malformed".to_owned()),
        (with("tick", json!(1)), "tick: there is no such parameter".to_owned()),
        (
            with("lot_size", json!("0.001")),
            "lot_size: tick_size x lot_size must be a multiple of 0.000001".to_owned(),
        ),
        (with("lot_size", json!("0.000000001")), "lot_size: at most 8 decimals".to_owned()),
        bound("tick_size", json!("0"), "0.00000001 to 92233720368"),
        bound("liquidation_fee", json!("0.01"), "0 to 0.00999999"),
        bound("mark_clamp", json!("0.009901"), "0 to 0.00990099"),
        (with("mark_clamp", json!("0.0099009901")), "mark_clamp: at most 8 decimals".to_owned()),
        bound("funding_cap", json!("0.0076"), "0 to 0.0075"),
        bound("source_clamp", json!("1.1"), "0 to 1"),
        bound("source_stale_ms", json!(0), "1 to 600000"),
        bound("min_sources", json!(17), "1 to 16"),
        bound("impact_notional", json!("0"), "0.000001 to 1000000000"),
        bound("funding_interval_h", json!(3), "1, 2, 4 or 8"),
        bound("interest", json!("-1.5"), "-1 to 1"),
        bound("damp", json!("1.5"), "0 to 1"),
        bound("dynamic_band", json!("0"), "0.00000001 to 1"),
        bound("dynamic_reference_s", json!(601), "1 to 600"),
        bound("min_notional", json!("5000001"), "0 to 5000000"),
        bound("max_notional", json!("1000000001"), "0.000001 to 1000000000"),
        bound("price_band", json!("1.2"), "0 to 1"),
        bound("multiplier_up", json!("0.9"), "1 to 10"),
        bound("take_bound", json!("1"), "0.00000001 to 0.99999999"),
        bound("trigger_protect", json!("2"), "0 to 1"),
        bound("max_open_orders", json!(10_001), "1 to 10000"),
        bound("max_conditional", json!(0), "1 to 10000"),
        bound("pool", json!("OTHER"), "MAIN"),
        bound("spot_market", json!("NONE"), "a spot market of this exchange or null"),
        bound("brackets", json!([]), "1 to 16 rows"),
        (
            with("brackets", row("0", 50, "0.01")),
            "brackets[0].notional_cap: may be 0.000001 to 1000000000".to_owned(),
        ),
        (with("brackets", row("5", 126, "0.01")), "brackets[0].max_leverage: may be 1 to 125".to_owned()),
        (
            with("brackets", row("5", 50, "0.021")),
            "brackets[0].maint_margin_ratio: may be 0.00000001 to 0.02".to_owned(),
        ),
        (with("brackets", two), "brackets[1].notional_cap: may be 50000.000001 to 1000000000".to_owned()),
        (with("sources", json!([{ "feed": 1 }])), "sources[0].weight: missing or malformed".to_owned()),
        (
            with("sources", json!([{ "feed": 1, "weight": 0 }])),
            "sources[0].weight: may be 1 to 1000000".to_owned(),
        ),
        (with("reason", json!("x".repeat(257))), "reason: at most 256 bytes".to_owned()),
    ];
    for (body, message) in bodies {
        produced.request(exchange, list, &admin(), &body, (400, "INVALID_PARAMETER", &message));
    }
    let known = listing("").replace("DOGEUSDT", "BTCUSDT");
    let there = (409, "SYMBOL_EXISTS", "a market of that name is there, and is another");
    produced.request(exchange, list, &admin(), &known, there);
    let no_mark = "DOGEUSDT is listed, in CANCEL_ONLY: it has no mark price yet; send this again";
    let trading = listing(r#","state":"TRADING""#);
    produced.request(exchange, list, &admin(), &trading, (409, "NO_MARK_PRICE", no_mark));

    let of = |symbol: &str, what: &str| format!("/admin/perpetual/symbols/{symbol}/{what}");
    let nothing = (400, "INVALID_PARAMETER", "body: nothing to change");
    let closed = (409, "MARKET_CLOSED", "the market is closed for good");
    let close = r#"{"state":"CLOSED","confirm":true}"#;
    assert_eq!(exchange.request("PATCH", "/admin/perpetual/symbols/SOLUSDT", &admin(), close).status, 200);
    for (method, what, good, bad, message) in [
        (
            "PATCH",
            "parameters",
            r#"{"max_open_orders":7}"#.to_owned(),
            r#"{"mark_clamp":"0.00398010"}"#,
            "mark_clamp: may be 0 to 0.00398009",
        ),
        ("PUT", "brackets", format!(r#"{{"brackets":{bracket}}}"#), "[]", "brackets: may be 1 to 16 rows"),
        (
            "PUT",
            "sources",
            "[]".to_owned(),
            r#"{"sources":[{"feed":"x","weight":1}]}"#,
            "sources[0].feed: missing or malformed",
        ),
    ] {
        produced.request(exchange, (method, &of("NONE", what)), &admin(), &good, NO_MARKET);
        produced.request(exchange, (method, &of("SOLUSDT", what)), &admin(), &good, closed);
        let bound = (400, "INVALID_PARAMETER", message);
        produced.request(exchange, (method, &of("BTCUSDT", what)), &admin(), bad, bound);
    }
    produced.request(exchange, ("PATCH", &of("BTCUSDT", "parameters")), &admin(), "{}", nothing);
    for (what, message) in
        [("brackets", "brackets: missing or malformed"), ("sources", "sources: missing or malformed")]
    {
        let body = r#"{"confirm":true}"#;
        produced.request(
            exchange,
            ("PUT", &of("BTCUSDT", what)),
            &admin(),
            body,
            (400, "INVALID_PARAMETER", message),
        );
    }
    // The clamp in force is too wide for these.
    let narrow = r#"[{"notional_cap":"50000","max_leverage":125,"maint_margin_ratio":"0.0041"}]"#;
    let said = (400, "INVALID_PARAMETER", "mark_clamp: may be 0 to 0.00388407");
    produced.request(exchange, ("PUT", &of("BTCUSDT", "brackets")), &admin(), narrow, said);
    produced.request(exchange, ("GET", "/admin/perpetual/symbols/NONE"), &admin(), "", NO_MARKET);

    let tiers = ("PUT", "/admin/vip-tiers");
    for (body, message) in [
        ("{}", "schedule: missing or malformed"),
        ("nothing", "body: missing or malformed"),
        ("[]", "schedule: may be 1 to 16 tiers"),
        (
            r#"[{"min_volume_14d":"1","maker_rate":"0","taker_rate":"0"}]"#,
            "schedule[0].min_volume_14d: may be 0 to 0",
        ),
        (
            r#"[{"min_volume_14d":"0","maker_rate":"0.02","taker_rate":"0"}]"#,
            "schedule[0].maker_rate: may be -0.01 to 0.01",
        ),
        (
            r#"[{"min_volume_14d":"0","maker_rate":"-0.001","taker_rate":"0"}]"#,
            "schedule[0].taker_rate: may be 0.001 to 0.01",
        ),
    ] {
        produced.request(exchange, tiers, &admin(), body, (400, "INVALID_PARAMETER", message));
    }

    let limits = format!("/admin/accounts/{}/limits", wallet_text(1));
    let limits = ("PATCH", limits.as_str());
    for (body, message) in [
        ("{}", "body: nothing to change"),
        (r#"{"orders":1}"#, "orders: there is no such limit"),
        (r#"{"open_orders":0}"#, "open_orders: may be 1 to 20000 or null"),
        (r#"{"open_orders":20001}"#, "open_orders: may be 1 to 20000 or null"),
        (r#"{"order_rate_10s":1000001}"#, "order_rate_10s: may be 1 to 1000000 or null"),
        (r#"{"order_rate_1m":"5"}"#, "order_rate_1m: may be 1 to 1000000 or null"),
        (
            r#"{"max_order_notional":"0"}"#,
            "max_order_notional: may be 0.000001 to 1000000000, with 6 decimals, or null",
        ),
        (
            r#"{"max_position_notional":"-1"}"#,
            "max_position_notional: may be 0.000001 to 1000000000, with 6 decimals, or null",
        ),
        (
            r#"{"symbol":"BTCUSDT","order_rate_1m":5}"#,
            "order_rate_1m: is of all markets; send it without symbol",
        ),
        (r#"{"symbol":"BTCUSDT","ledger":"other","open_orders":5}"#, "ledger: may be perpetual or spot"),
    ] {
        produced.request(exchange, limits, &admin(), body, (400, "INVALID_PARAMETER", message));
    }
    let unknown = format!("/admin/accounts/{}/limits", wallet_text(99));
    let nobody = (404, "NOT_FOUND", "there is no such thing");
    produced.request(exchange, ("PATCH", &unknown), &admin(), r#"{"open_orders":5}"#, nobody);
    produced.request(exchange, limits, &admin(), r#"{"symbol":"NONE","open_orders":5}"#, NO_MARKET);
    produced.request(
        exchange,
        limits,
        &admin(),
        r#"{"symbol":"BTCUSDT","ledger":"spot","open_orders":5}"#,
        NO_MARKET,
    );

    let feed = ("PUT", "/admin/feeds/DOGEUSDT/1");
    for (body, message) in [
        ("{}", "missing field `kind`"),
        (r#"{"kind":"pigeon"}"#, "`kind` must be one of fixed, spot, http, websocket"),
        (
            r#"{"kind":"fixed","price":"0"}"#,
            "`price` must be a price above 0 with at most 8 decimals, as text",
        ),
        (r#"{"kind":"http","price":"p"}"#, "`url` is missing"),
        (
            r#"{"kind":"http","price":"p","url":"wss://x"}"#,
            "`url` must be http://host:port/path or https://host:port/path",
        ),
        (r#"{"kind":"fixed","price":"1","every":"1ms"}"#, "`every` must be from 50ms to 60s"),
        (r#"{"kind":"fixed","price":"1","market":"BTCUSDT"}"#, "market: stands in the path"),
    ] {
        produced.request(exchange, feed, &admin(), body, (400, "INVALID_PARAMETER", message));
    }
    let fixed = r#"{"kind":"fixed","price":"1"}"#;
    for method in ["PUT", "DELETE"] {
        let numbered = (400, "INVALID_PARAMETER", "feed: missing or malformed");
        produced.request(exchange, (method, "/admin/feeds/DOGEUSDT/x"), &admin(), fixed, numbered);
        let named = (400, "INVALID_PARAMETER", "symbol: missing or malformed");
        produced.request(exchange, (method, "/admin/feeds/D-E/1"), &admin(), fixed, named);
    }
    produced.request(exchange, ("DELETE", "/admin/feeds/DOGEUSDT/7"), &admin(), "", nobody);
    endangering(produced, &mut venue);
}

/// Changes of a market that bring somebody into liquidation, confirmed by a key that is nobody's own. Account 3 has 992.5 of equity at
/// the index of 60000 and holds 0.25, and 60 more at the mark.
fn endangering(produced: &mut Produced, venue: &mut Venue) {
    let limit = "symbol=BTCUSDT&type=LIMIT&timeInForce=GTC";
    venue.place(2, &format!("{limit}&side=SELL&quantity=0.25&price=60000"));
    venue.place(3, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.25");
    venue.place(1, &format!("{limit}&side=BUY&quantity=5&price=60300"));
    venue.place(2, &format!("{limit}&side=SELL&quantity=5&price=60310"));
    for _ in 0..400 {
        venue.pass(SECOND_MS);
    }
    let [brackets, parameters] =
        ["brackets", "parameters"].map(|what| format!("/admin/perpetual/symbols/BTCUSDT/{what}"));
    let rows = |rate: &str| {
        let row = json!({ "notional_cap": "5000000", "max_leverage": 10, "maint_margin_ratio": rate });
        json!({ "brackets": [row], "confirm": true }).to_string()
    };
    assert_eq!(venue.exchange.request("PUT", &brackets, &admin(), &rows("0.0665")).status, 200);
    produced.request(&mut venue.exchange, ("PUT", &brackets), &admin(), &rows("0.08"), UNPROVEN);
    let clamp = r#"{"mark_clamp":"0","confirm":true}"#;
    produced.request(&mut venue.exchange, ("PATCH", &parameters), &admin(), clamp, UNPROVEN);
}

/// What two operators may accept to be missing, where nothing is.
fn reserves(produced: &mut Produced) {
    const ROUTE: (&str, &str) = ("POST", "/admin/proof/accept");
    let mut venue = venue_with(&[], |config| config.proof_every = Duration::from_secs(1));
    venue.exchange.open();
    super::proof::prove(&mut venue);
    let exchange = &mut venue.exchange;
    let ann = vec![exchange.operator("ann")];
    let asked = json!({ "token": "USDT", "amount": "1", "reason": "a test" });
    produced.request(exchange, ROUTE, &admin(), &asked.to_string(), UNPROVEN);
    for (name, value, message) in [
        ("token", json!(""), "token: missing or malformed"),
        ("amount", json!("0"), "amount: missing or malformed"),
        ("reason", json!(" "), "reason: 1 to 256 bytes"),
        ("reason", json!("x".repeat(257)), "reason: at most 256 bytes"),
    ] {
        let mut body = asked.clone();
        body[name] = value;
        produced.request(exchange, ROUTE, &ann, &body.to_string(), (400, "INVALID_PARAMETER", message));
    }
    let nothing = (404, "NOT_FOUND", "nothing is missing of USDT");
    produced.request(exchange, ROUTE, &ann, &asked.to_string(), nothing);
}

#[test]
fn every_refusal_is_produced_and_documented() {
    let mut produced = Produced::default();
    for produce in
        [edge, engine, reads, margin_modes, withdrawals, referrals, operators, treasury, listings, reserves]
    {
        produce(&mut produced);
    }
    let missing = rows::disagreements(&produced.0, SPECIFIED, |route| {
        let named = route.named_refusals.iter().copied().flatten();
        named.map(|refusal| (refusal.status, refusal.code)).collect()
    });
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The table above is the specification's, where that can be read.
#[test]
fn the_list_is_that_of_the_specification() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/spec/account.md");
    let Ok(text) = std::fs::read_to_string(&path) else {
        return eprintln!("skipped: the specification is not beside this folder");
    };
    let listed: BTreeSet<(u16, &str)> =
        SPECIFIED.iter().flat_map(|(status, codes)| codes.iter().map(|code| (*status, *code))).collect();
    let table = text.split("| HTTP | code |").nth(1).unwrap().split("\n\n").next().unwrap();
    // The code of 13, and one that was decided after the table was written.
    let mut found = BTreeSet::from([(404, "DISABLED"), (503, "WITHDRAWALS_UNAVAILABLE")]);
    for row in table.lines().skip(2) {
        let columns: Vec<&str> = row.split('|').map(str::trim).collect();
        let statuses = columns[1].split('/').map(|status| status.trim().parse::<u16>().unwrap());
        let codes: Vec<&str> = columns[2].split([',', '/']).map(str::trim).collect();
        match columns[1].contains('/') {
            // Each status has the code at its place.
            true => found.extend(statuses.zip(codes)),
            false => found.extend(statuses.flat_map(|status| codes.iter().map(move |code| (status, *code)))),
        }
    }
    assert_eq!(found, listed);
    assert!(text.contains("404 DISABLED"), "the code of 13");
}
