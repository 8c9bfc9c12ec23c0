//! Who may do what: every row of the route table with every kind of credential, through real sockets.
//!
//! What a route asks for is written here from `spot.md` 2 and not read from its row, so a row that asks for less fails, and
//! so does a route that has no line here. After a refusal nothing may have changed: the views and both accounts' keys are
//! compared byte for byte.

use crate::exchange::socket::Socket;
use crate::exchange::{ADMIN_KEY, Answer, Exchange, wallet, wallet_text};
use ringside_auth::cidr::Cidr;
use ringside_auth::jwt::{TOKEN_LIFE_S, Tokens};
use ringside_auth::key::{KeyChange, NewKey};
use ringside_commands::ingress::EngineState;
use ringside_gateway::routes::routes;
use ringside_streams::topic::Kind;
use ringside_wire::refusal::Dialect;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::slice::from_ref;

/// Who owns what the others try to reach, and who tries.
const ALICE: u8 = 1;
const BOB: u8 = 2;
const CAROL: u8 = 3;

/// What a route asks for.
#[derive(Clone, Copy, PartialEq)]
enum Asks {
    /// Nothing; credentials are not looked at.
    Nothing,
    /// Nothing, but a credential that is sent must be good, and a key may read.
    Known,
    /// A token, or a key that may read.
    Reader,
    /// A token, or a key that may trade.
    Trader,
    /// A token; a key is refused with this.
    Login(&'static str),
    /// The administrator's key.
    Admin,
}

/// What another account gets of a request that is good for its owner.
#[derive(Clone, Copy)]
enum Other {
    /// Nobody owns what the route is about.
    Nobody,
    /// The same route, but only what is its own: with this body, where it is always the same.
    Own(Option<&'static str>),
    /// A refusal.
    Refused(u16, &'static str),
}

/// One route: a request that is good, and what becomes of it. `{order}` is a resting order of alice's, `{key}` a key.
struct Line {
    method: &'static str,
    /// As in the route table.
    path: &'static str,
    asks: Asks,
    /// Path and query to send.
    sent: &'static str,
    body: &'static str,
    /// Status for who may.
    good: u16,
    other: Other,
}

#[rustfmt::skip]
const fn line(
    asks: Asks, method: &'static str, path: &'static str, sent: &'static str, body: &'static str, good: u16, other: Other,
) -> Line {
    Line { method, path, asks, sent, body, good, other }
}

const ORDER: &str = r#"{"symbol":"DFUSDT","side":"buy","type":"limit","price":"0.1","quantity":"20"}"#;
const NO_ROWS: &str = r#"{"items":[],"limit":50,"next_cursor":null,"offset":0,"total":0}"#;
const PREVIEW: &str = r#"{"symbol":"BTCUSDT","side":"BUY","type":"MARKET","quantity":"1"}"#;
const TRANSFER: &str = r#"{"direction":"to_perp","token":"USDT","amount":"1"}"#;
const CREDIT: &str =
    r#"{"user_address":"0xa100000000000000000000000000000000000002","token":"DF","amount":"1"}"#;
const PERPETUAL_CREDIT: &str =
    r#"{"user_address":"0xa100000000000000000000000000000000000002","amount":"1"}"#;
const TREASURY: &str = r#"{"from":"fees:spot","to":"account:0xa100000000000000000000000000000000000002","token":"DF","amount":"0.001","reason":"x"}"#;
const REWIND: &str =
    r#"{"vault_address":"0x1111111111111111111111111111111111111111","block":5,"reason":"x"}"#;
const LIST: &str = r#"{"id":"DFUSDT","base_token":"DF","quote_token":"USDT","tick_size":"1","lot_size":"1","min_notional":"1","maker_fee_bps":0,"taker_fee_bps":0}"#;
const WITHDRAW: Asks = Asks::Login("API Key permission denied: withdraws not allowed");
const LOGIN_ONLY: Asks = Asks::Login("FORBIDDEN");
const NOT_ITS_KEY: Other = Other::Refused(404, "not found");

#[rustfmt::skip]
static LINES: &[Line] = &[
    line(Asks::Trader, "DELETE", "/api/v1/spot/orders/{id}", "/api/v1/spot/orders/{order}", "", 200, Other::Refused(403, "FORBIDDEN")),
    line(Asks::Trader, "DELETE", "/api/v1/spot/orders", "/api/v1/spot/orders", "", 200, Other::Own(Some(r#"{"canceled":[]}"#))),
    line(Asks::Reader, "GET", "/api/v1/spot/orders/{id}", "/api/v1/spot/orders/{order}", "", 200, Other::Refused(404, "ORDER_NOT_FOUND")),
    line(Asks::Reader, "GET", "/api/v1/spot/orders", "/api/v1/spot/orders", "", 200, Other::Own(Some("[]"))),
    line(Asks::Reader, "GET", "/api/v1/spot/trades/me", "/api/v1/spot/trades/me", "", 200, Other::Own(Some("[]"))),
    line(Asks::Reader, "GET", "/api/v1/spot/balances", "/api/v1/spot/balances", "", 200, Other::Own(Some(
        r#"[{"token":"DF","available":"1000","frozen":"0","ts":1700000000},{"token":"USDT","available":"1000","frozen":"0","ts":1700000000}]"#,
    ))),
    // This deployment has no vault; requests that are served are judged by `withdrawals.rs`.
    line(WITHDRAW, "POST", "/api/v1/spot/withdraw/request", "/api/v1/spot/withdraw/request", r#"{"token":"DF","amount":"5"}"#, 503, Other::Refused(503, "spot subsystem disabled")),
    line(WITHDRAW, "GET", "/api/v1/spot/withdrawals", "/api/v1/spot/withdrawals", "", 200, Other::Own(Some("[]"))),
    line(WITHDRAW, "GET", "/api/v1/spot/withdrawals/{id}", "/api/v1/spot/withdrawals/00000000-0000-8001-bb68-693ff2dce9d5", "", 404, Other::Refused(404, "not found")),
    line(Asks::Reader, "GET", "/api/v1/spot/deposits", "/api/v1/spot/deposits", "", 200, Other::Own(Some("[]"))),
    line(Asks::Reader, "GET", "/api/v1/spot/deposits/address", "/api/v1/spot/deposits/address", "", 503, Other::Refused(503, "spot subsystem disabled")),
    line(WITHDRAW, "GET", "/web/withdrawals.json", "/web/withdrawals.json", "", 200, Other::Own(Some(r#"{"paused":{"spot":false,"perpetual":false},"open":[]}"#))),
    line(LOGIN_ONLY, "POST", "/withdraw/request", "/withdraw/request", r#"{"token":"USDT","amount":"10"}"#, 503, Other::Refused(503, "WITHDRAWALS_UNAVAILABLE")),
    // The other account's own are shown and changed.
    line(LOGIN_ONLY, "GET", "/api/v1/account/margin-mode", "/api/v1/account/margin-mode", "", 200, Other::Own(None)),
    line(LOGIN_ONLY, "POST", "/api/v1/account/margin-mode", "/api/v1/account/margin-mode", r#"{"mode":"CROSSED"}"#, 200, Other::Own(None)),
    line(LOGIN_ONLY, "GET", "/withdraw/requests", "/withdraw/requests", "", 200, Other::Own(Some("[]"))),
    line(LOGIN_ONLY, "GET", "/withdraw/requests/{id}", "/withdraw/requests/00000000-0000-8001-bb68-693ff2dce9d5", "", 404, Other::Refused(404, "NOT_FOUND")),
    // After the lists, which are to be empty for bob.
    line(Asks::Trader, "POST", "/api/v1/spot/orders", "/api/v1/spot/orders", ORDER, 200, Other::Own(None)),
    line(LOGIN_ONLY, "POST", "/api/v1/faucet", "/api/v1/faucet", "", 200, Other::Own(None)),
    line(Asks::Nothing, "GET", "/api/v1/spot/markets", "/api/v1/spot/markets", "", 200, Other::Nobody),
    line(Asks::Nothing, "GET", "/api/v1/spot/depth", "/api/v1/spot/depth?symbol=DFUSDT", "", 200, Other::Nobody),
    line(Asks::Nothing, "GET", "/api/v1/spot/trades", "/api/v1/spot/trades?symbol=DFUSDT", "", 200, Other::Nobody),
    line(Asks::Nothing, "GET", "/api/v1/spot/klines", "/api/v1/spot/klines?symbol=DFUSDT&interval=1m", "", 200, Other::Nobody),
    line(Asks::Nothing, "GET", "/api/v1/spot/ticker/24hr", "/api/v1/spot/ticker/24hr", "", 200, Other::Nobody),
    line(Asks::Nothing, "GET", "/api/v1/spot/health", "/api/v1/spot/health", "", 200, Other::Nobody),
    line(Asks::Admin, "POST", "/api/v1/admin/spot/markets", "/api/v1/admin/spot/markets", LIST, 409, Other::Nobody),
    line(Asks::Admin, "PATCH", "/api/v1/admin/spot/markets/{id}", "/api/v1/admin/spot/markets/DFUSDT", r#"{"maker_fee_bps":7}"#, 200, Other::Nobody),
    line(Asks::Admin, "PATCH", "/api/v1/admin/spot/markets/{id}/status", "/api/v1/admin/spot/markets/DFUSDT/status", r#"{"status":"listed"}"#, 200, Other::Nobody),
    line(Asks::Admin, "POST", "/api/v1/admin/spot/balances/credit", "/api/v1/admin/spot/balances/credit", CREDIT, 200, Other::Nobody),
    line(Asks::Admin, "POST", "/admin/perpetual/credit", "/admin/perpetual/credit", PERPETUAL_CREDIT, 404, Other::Nobody),
    line(Asks::Admin, "POST", "/admin/perpetual/index-price", "/admin/perpetual/index-price", r#"{"symbol":"BTCUSDT"}"#, 404, Other::Nobody),
    line(Asks::Admin, "PATCH", "/admin/accounts/{address}", "/admin/accounts/0x00", r#"{"trading_enabled":true}"#, 400, Other::Nobody),
    line(Asks::Admin, "POST", "/admin/withdrawals/pause", "/admin/withdrawals/pause", r#"{"paused":false}"#, 200, Other::Nobody),
    line(Asks::Admin, "GET", "/admin/withdrawals/disputed", "/admin/withdrawals/disputed", "", 200, Other::Nobody),
    line(Asks::Admin, "POST", "/admin/withdrawals/disputed/{id}", "/admin/withdrawals/disputed/00000000-0000-8001-bb68-693ff2dce9d5", r#"{"outcome":"paid","reason":"x"}"#, 403, Other::Nobody),
    line(Asks::Admin, "POST", "/admin/treasury/transfer", "/admin/treasury/transfer", TREASURY, 200, Other::Nobody),
    line(Asks::Admin, "GET", "/admin/approvals", "/admin/approvals", "", 200, Other::Nobody),
    line(Asks::Admin, "POST", "/admin/approvals/{id}", "/admin/approvals/0123456789abcdef", "", 403, Other::Nobody),
    line(Asks::Admin, "DELETE", "/admin/approvals/{id}", "/admin/approvals/0123456789abcdef", "", 403, Other::Nobody),
    line(Asks::Admin, "GET", "/admin/chain", "/admin/chain", "", 200, Other::Nobody),
    line(Asks::Admin, "POST", "/admin/chain/rewind", "/admin/chain/rewind", REWIND, 403, Other::Nobody),
    line(Asks::Admin, "GET", "/admin/bans", "/admin/bans", "", 200, Other::Nobody),
    line(Asks::Admin, "GET", "/admin/clock", "/admin/clock", "", 200, Other::Nobody),
    line(Asks::Admin, "POST", "/admin/clock/accept", "/admin/clock/accept", r#"{"distance_ms":9000}"#, 409, Other::Nobody),
    // This stage is of no cluster.
    line(Asks::Admin, "GET", "/admin/cluster", "/admin/cluster", "", 404, Other::Nobody),
    line(Asks::Admin, "POST", "/admin/cluster/add", "/admin/cluster/add", "{}", 400, Other::Nobody),
    line(Asks::Admin, "POST", "/admin/cluster/remove", "/admin/cluster/remove", r#"{"member":1}"#, 404, Other::Nobody),
    line(Asks::Admin, "POST", "/admin/cluster/transfer", "/admin/cluster/transfer", r#"{"member":1}"#, 404, Other::Nobody),
    line(Asks::Admin, "GET", "/admin/tokens", "/admin/tokens", "", 200, Other::Nobody),
    line(Asks::Admin, "POST", "/admin/tokens", "/admin/tokens", "{}", 400, Other::Nobody),
    line(Asks::Admin, "POST", "/api/v1/admin/tokens", "/api/v1/admin/tokens", "{}", 400, Other::Nobody),
    line(Asks::Admin, "PATCH", "/admin/tokens/{symbol}", "/admin/tokens/NONE", "{}", 404, Other::Nobody),
    line(Asks::Admin, "GET", "/admin/ledger/proof", "/admin/ledger/proof", "", 200, Other::Nobody),
    // None is made on this stage.
    line(Asks::Nothing, "GET", "/api/v1/proof", "/api/v1/proof", "", 200, Other::Nobody),
    line(Asks::Reader, "GET", "/api/v1/proof/me", "/api/v1/proof/me", "", 200, Other::Own(None)),
    line(Asks::Admin, "POST", "/admin/proof/accept", "/admin/proof/accept", r#"{"token":"DF","amount":"1","reason":"x"}"#, 403, Other::Nobody),
    line(Asks::Admin, "PATCH", "/admin/perpetual/symbols/{symbol}", "/admin/perpetual/symbols/BTCUSDT", r#"{"state":"HALTED"}"#, 404, Other::Nobody),
    // Nothing of the kind is listed on this stage, and what would be is malformed.
    line(Asks::Admin, "POST", "/admin/perpetual/symbols", "/admin/perpetual/symbols", r#"{"symbol":"X"}"#, 400, Other::Nobody),
    line(Asks::Admin, "GET", "/admin/perpetual/symbols", "/admin/perpetual/symbols", "", 200, Other::Nobody),
    line(Asks::Admin, "GET", "/admin/perpetual/symbols/{symbol}", "/admin/perpetual/symbols/BTCUSDT", "", 404, Other::Nobody),
    line(Asks::Admin, "PATCH", "/admin/perpetual/symbols/{symbol}/parameters", "/admin/perpetual/symbols/BTCUSDT/parameters", r#"{"max_open_orders":7}"#, 404, Other::Nobody),
    line(Asks::Admin, "PUT", "/admin/perpetual/symbols/{symbol}/brackets", "/admin/perpetual/symbols/BTCUSDT/brackets", "[]", 404, Other::Nobody),
    line(Asks::Admin, "PUT", "/admin/perpetual/symbols/{symbol}/sources", "/admin/perpetual/symbols/BTCUSDT/sources", "[]", 404, Other::Nobody),
    line(Asks::Admin, "PUT", "/admin/vip-tiers", "/admin/vip-tiers", "[]", 400, Other::Nobody),
    line(Asks::Admin, "GET", "/admin/vip-tiers", "/admin/vip-tiers", "", 200, Other::Nobody),
    line(Asks::Admin, "GET", "/admin/feeds", "/admin/feeds", "", 200, Other::Nobody),
    line(Asks::Admin, "PUT", "/admin/feeds/{symbol}/{feed}", "/admin/feeds/BTCUSDT/1", r#"{"kind":"pigeon"}"#, 400, Other::Nobody),
    line(Asks::Admin, "DELETE", "/admin/feeds/{symbol}/{feed}", "/admin/feeds/BTCUSDT/1", "", 404, Other::Nobody),
    line(Asks::Admin, "PATCH", "/admin/accounts/{address}/limits", "/admin/accounts/0x00/limits", r#"{"open_orders":5}"#, 400, Other::Nobody),
    line(Asks::Reader, "GET", "/api/v1/account/limits", "/api/v1/account/limits", "", 200, Other::Own(None)),
    line(Asks::Admin, "GET", "/metrics", "/metrics", "", 200, Other::Nobody),
    line(Asks::Admin, "GET", "/latency.hgrm", "/latency.hgrm", "", 200, Other::Nobody),
    line(Asks::Admin, "GET", "/latency.json", "/latency.json", "", 200, Other::Nobody),
    line(Asks::Admin, "POST", "/latency/reset", "/latency/reset", "", 200, Other::Nobody),
    line(Asks::Nothing, "GET", "/livez", "/livez", "", 200, Other::Nobody),
    line(Asks::Nothing, "GET", "/livez/reads", "/livez/reads", "", 200, Other::Nobody),
    line(Asks::Nothing, "GET", "/readyz", "/readyz", "", 200, Other::Nobody),
    line(Asks::Nothing, "GET", "/leaderz", "/leaderz", "", 200, Other::Nobody),
    line(Asks::Reader, "GET", "/account/trades", "/account/trades", "", 200, Other::Own(Some(NO_ROWS))),
    line(Asks::Reader, "GET", "/account/orders", "/account/orders", "", 200, Other::Own(Some(NO_ROWS))),
    line(Asks::Reader, "GET", "/orders", "/orders", "", 200, Other::Own(Some("[]"))),
    line(Asks::Reader, "GET", "/orders/open", "/orders/open", "", 200, Other::Own(Some("[]"))),
    line(Asks::Reader, "POST", "/orders/preview", "/orders/preview", PREVIEW, 404, Other::Refused(404, "SYMBOL_NOT_FOUND")),
    line(Asks::Reader, "GET", "/positions/active", "/positions/active", "", 200, Other::Own(Some("[]"))),
    line(Asks::Reader, "GET", "/unified/account", "/unified/account", "", 200, Other::Own(None)),
    line(Asks::Nothing, "GET", "/api/v1/markets", "/api/v1/markets", "", 200, Other::Nobody),
    line(Asks::Nothing, "GET", "/api/v1/markets/{symbol}", "/api/v1/markets/BTCUSDT", "", 404, Other::Nobody),
    line(Asks::Nothing, "GET", "/api/v1/markets/{symbol}/brackets", "/api/v1/markets/BTCUSDT/brackets", "", 404, Other::Nobody),
    // No contract of referrals either.
    line(Asks::Nothing, "GET", "/referral/on-chain/user-rebate/{address}", "/referral/on-chain/user-rebate/0xabcdef0123456789abcdef0123456789abcdef01", "", 500, Other::Nobody),
    line(Asks::Nothing, "GET", "/referral/on-chain/referral-info/{address}", "/referral/on-chain/referral-info/0xabcdef0123456789abcdef0123456789abcdef01", "", 500, Other::Nobody),
    line(Asks::Nothing, "GET", "/referral/on-chain/claimed/{address}", "/referral/on-chain/claimed/0xabcdef0123456789abcdef0123456789abcdef01", "", 500, Other::Nobody),
    line(Asks::Nothing, "GET", "/referral/on-chain/operator-status", "/referral/on-chain/operator-status", "", 500, Other::Nobody),
    line(Asks::Nothing, "GET", "/external/markets/{symbol}/ticker", "/external/markets/BTCUSDT/ticker", "", 404, Other::Nobody),
    line(Asks::Admin, "GET", "/admin/audit", "/admin/audit", "", 200, Other::Nobody),
    line(Asks::Known, "GET", "/account/fee-info", "/account/fee-info", "", 200, Other::Own(None)),
    // On this stage there is no perpetual market, so that nothing can be moved.
    line(Asks::Trader, "POST", "/api/v1/spot/transfer", "/api/v1/spot/transfer", TRANSFER, 404, Other::Refused(404, "DISABLED")),
    line(Asks::Reader, "GET", "/api/v1/spot/transfers", "/api/v1/spot/transfers", "", 200, Other::Own(Some("[]"))),
    line(Asks::Nothing, "GET", "/api/v1/auth/nonce", "/api/v1/auth/nonce?address=0x1", "", 400, Other::Nobody),
    line(Asks::Nothing, "POST", "/api/v1/auth/login", "/api/v1/auth/login", "{}", 400, Other::Nobody),
    line(LOGIN_ONLY, "POST", "/api/v1/auth/logout", "/api/v1/auth/logout", "", 200, Other::Own(None)),
    line(LOGIN_ONLY, "POST", "/api/v1/account/api-keys", "/api/v1/account/api-keys", r#"{"label":"made here"}"#, 200, Other::Own(None)),
    line(LOGIN_ONLY, "GET", "/api/v1/account/api-keys", "/api/v1/account/api-keys", "", 200, Other::Own(None)),
    line(LOGIN_ONLY, "PATCH", "/api/v1/account/api-keys/{id}", "/api/v1/account/api-keys/{key}", r#"{"enabled":false}"#, 200, NOT_ITS_KEY),
    line(LOGIN_ONLY, "DELETE", "/api/v1/account/api-keys/{id}", "/api/v1/account/api-keys/{key}", "", 200, NOT_ITS_KEY),
    line(Asks::Nothing, "GET", "/openapi.json", "/openapi.json", "", 200, Other::Nobody),
    // Frames are judged one by one: `private_channels` below.
    line(Asks::Nothing, "GET", "/ws", "/ws", "", 426, Other::Nobody),
    // What may be asked over it is judged frame by frame: `ws_fapi.rs`.
    line(Asks::Nothing, "GET", "/ws-fapi/v1", "/ws-fapi/v1", "", 426, Other::Nobody),
    line(Asks::Nothing, "GET", "/ws/{*names}", "/ws/btcusdt@trade", "", 426, Other::Nobody),
    line(Asks::Nothing, "GET", "/stream", "/stream", "", 426, Other::Nobody),
    line(Asks::Nothing, "GET", "/public/ws", "/public/ws", "", 426, Other::Nobody),
    line(Asks::Nothing, "GET", "/public/ws/{*names}", "/public/ws/btcusdt@trade", "", 426, Other::Nobody),
    line(Asks::Nothing, "GET", "/public/stream", "/public/stream", "", 426, Other::Nobody),
    line(Asks::Nothing, "GET", "/market/ws", "/market/ws", "", 426, Other::Nobody),
    line(Asks::Nothing, "GET", "/market/ws/{*names}", "/market/ws/btcusdt@trade", "", 426, Other::Nobody),
    line(Asks::Nothing, "GET", "/market/stream", "/market/stream", "", 426, Other::Nobody),
    line(Asks::Nothing, "GET", "/private/ws", "/private/ws", "", 426, Other::Nobody),
    line(Asks::Nothing, "GET", "/private/ws/{*names}", "/private/ws/btcusdt@trade", "", 426, Other::Nobody),
    line(Asks::Nothing, "GET", "/private/stream", "/private/stream", "", 426, Other::Nobody),
    line(Asks::Nothing, "GET", "/", "/", "", 200, Other::Nobody),
    line(Asks::Nothing, "GET", "/docs", "/docs", "", 200, Other::Nobody),
    line(Asks::Nothing, "GET", "/web/{name}", "/web/app.css", "", 200, Other::Nobody),
];

/// A credential and what is wrong with it.
struct Credential {
    name: &'static str,
    headers: Vec<String>,
    /// What a route that asks for an account answers.
    refused: (u16, &'static str),
}

struct Stage {
    exchange: Exchange,
    /// Credentials of nobody's, or no longer of alice's.
    bad: Vec<Credential>,
}

impl Stage {
    fn new() -> Stage {
        Stage::with(true)
    }

    fn with(is_test_deployment: bool) -> Stage {
        let mut exchange = Exchange::start_with(|config| config.websocket_frames_per_second = u32::MAX);
        exchange.open();
        if !is_test_deployment {
            exchange.restart_with(|config| config.test_deployment = false);
        } else {
            // Alice has a trade, with carol, so that there is something that bob must not see.
            let (alice, carol) = (exchange.account(ALICE), exchange.account(CAROL));
            for (who, side) in [(&carol, "sell"), (&alice, "buy")] {
                let body = format!(
                    r#"{{"symbol":"DFUSDT","side":"{side}","type":"limit","price":"0.3","quantity":"10"}}"#
                );
                assert_eq!(exchange.request("POST", "/api/v1/spot/orders", who, &body).status, 200);
            }
        }
        let mut stage = Stage { exchange, bad: Vec::new() };
        stage.bad = stage.bad_credentials();
        stage
    }

    fn token(&self, account: u8) -> String {
        let [header] = self.exchange.account(account);
        header.strip_prefix("Authorization: Bearer ").unwrap().to_owned()
    }

    /// A new key: its number and its text.
    fn key(&self, account: u8, permissions: (bool, bool), change: impl FnOnce(&mut NewKey)) -> (u64, String) {
        let mut new =
            NewKey { label: "of the test".to_owned(), permissions, ip_whitelist: vec![], expires_at_s: None };
        change(&mut new);
        let keys = &self.exchange.shared.edge.auth.keys;
        let made =
            keys.create(u32::from(account), wallet(account), new, self.exchange.clock.now_s()).unwrap();
        (made.0.id(), made.1.key.as_str().to_owned())
    }

    fn bad_credentials(&self) -> Vec<Credential> {
        let keys = &self.exchange.shared.edge.auth.keys;
        let now_s = self.exchange.clock.now_s();
        let (account, address) = (u32::from(ALICE), wallet(ALICE));
        let token = self.token(ALICE);
        let mint = |tokens: &Tokens, at| tokens.mint(account, &address, "jti".to_owned(), at).unwrap().0;
        let expired_token = mint(&self.exchange.shared.edge.auth.tokens, now_s - TOKEN_LIFE_S);
        let forged = mint(&Tokens::new(b"a secret that is not this server's own"), now_s);
        let payload = token.split('.').nth(1).unwrap();
        // {"alg":"none"}
        let unsigned = format!("eyJhbGciOiJub25lIn0.{payload}.");
        let (_, expired) = self.key(ALICE, (true, true), |new| new.expires_at_s = Some(now_s));
        let (id, disabled) = self.key(ALICE, (true, true), |_| {});
        keys.change(account, id, KeyChange { enabled: Some(false), ..KeyChange::default() }).unwrap();
        let (id, revoked) = self.key(ALICE, (true, true), |_| {});
        keys.delete(account, id).unwrap();
        let elsewhere = |new: &mut NewKey| new.ip_whitelist = vec![Cidr::parse("10.0.0.1").unwrap()];
        let (_, off_list) = self.key(ALICE, (true, true), elsewhere);
        let (_, good) = self.key(ALICE, (true, true), |_| {});

        let bearer = |token: &str| format!("Authorization: Bearer {token}");
        let key = |key: &str| format!("X-API-Key: {key}");
        let unauthorized = (401, "UNAUTHORIZED");
        let bad = |name, headers: &[String], refused| Credential { name, headers: headers.to_vec(), refused };
        vec![
            bad("none", &[], unauthorized),
            bad("an empty token", &[bearer("")], unauthorized),
            bad("a forged token", &[bearer(&forged)], unauthorized),
            bad("an unsigned token", &[bearer(&unsigned)], unauthorized),
            bad("an expired token", &[bearer(&expired_token)], (401, "TOKEN_EXPIRED")),
            bad(
                "an expired token beside a good key",
                &[bearer(&expired_token), key(&good)],
                (401, "TOKEN_EXPIRED"),
            ),
            bad("a forged token beside a good key", &[bearer(&forged), key(&good)], unauthorized),
            bad("a token as a key", &[key(&token)], unauthorized),
            bad("a key as a token", &[bearer(&good)], unauthorized),
            bad("an unknown key", &[key(&"A".repeat(64))], unauthorized),
            bad("an expired key", &[key(&expired)], unauthorized),
            bad("a disabled key", &[key(&disabled)], unauthorized),
            bad("a revoked key", &[key(&revoked)], unauthorized),
            bad("a key from off its list", &[key(&off_list)], unauthorized),
            bad(
                "a key from off its list, lying about the address",
                &[key(&off_list), "X-Forwarded-For: 10.0.0.1".to_owned()],
                unauthorized,
            ),
        ]
    }

    /// Path to send, with what it names made where it is not there any more.
    fn path(&mut self, line: &Line) -> String {
        let mut path = line.sent.to_owned();
        let alice = self.exchange.account(ALICE);
        if path.contains("{order}") || line.path == "/api/v1/spot/orders" {
            let open = self.exchange.request("GET", "/api/v1/spot/orders?status=open", &alice, "");
            let open: Value = serde_json::from_str(&open.body).unwrap();
            let id = match open[0]["id"].as_str() {
                Some(id) => id.to_owned(),
                None => {
                    let placed = self.exchange.request("POST", "/api/v1/spot/orders", &alice, ORDER);
                    serde_json::from_str::<Value>(&placed.body).unwrap()["id"].as_str().unwrap().to_owned()
                }
            };
            path = path.replace("{order}", &id);
        }
        if path.contains("{key}") {
            let keys = &self.exchange.shared.edge.auth.keys;
            let made = keys.list(u32::from(ALICE)).into_iter().find(|key| key.label() == "to be changed");
            let id = made.map_or_else(
                || self.key(ALICE, (true, true), |new| new.label = "to be changed".to_owned()).0,
                |key| key.id(),
            );
            path = path.replace("{key}", &id.to_string());
        }
        path
    }

    fn send(&mut self, line: &Line, headers: &[String]) -> Answer {
        let path = self.path(line);
        self.exchange.request(line.method, &path, headers, line.body)
    }

    /// All that a request could change: what the views hold, and the keys of both accounts.
    fn state(&mut self) -> (Vec<u8>, [Value; 2]) {
        let mut views = Vec::new();
        self.exchange.turn();
        self.exchange.shared.views.read().save(&mut views);
        (views, [self.keys(ALICE), self.keys(BOB)])
    }

    /// Keys as their owner sees them, without when they were last used.
    fn keys(&mut self, account: u8) -> Value {
        let headers = self.exchange.account(account);
        let answer = self.exchange.request("GET", "/api/v1/account/api-keys", &headers, "");
        let mut keys: Value = serde_json::from_str(&answer.body).unwrap();
        keys.as_array_mut().unwrap().iter_mut().for_each(|key| key["last_used_at"] = Value::Null);
        keys
    }

    /// What an account sees of itself.
    fn seen_by(&mut self, account: u8) -> Vec<String> {
        let headers = self.exchange.account(account);
        let paths = ["orders", "trades/me", "balances"].map(|name| format!("/api/v1/spot/{name}"));
        let mut seen: Vec<String> =
            paths.iter().map(|path| self.exchange.request("GET", path, &headers, "").body).collect();
        seen.push(self.keys(account).to_string());
        seen
    }

    #[track_caller]
    fn refuses(&mut self, line: &Line, who: &str, headers: &[String], expected: (u16, &str)) {
        let _ = self.path(line);
        let before = self.state();
        let answer = self.send(line, headers);
        let what = format!("{} {} with {who}: {} {}", line.method, line.path, answer.status, answer.body);
        let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let is_named = routes().any(|route| {
            (route.method.name(), route.path, route.dialect) == (line.method, line.path, Dialect::Account)
        });
        // Routes of accounts say what a key lacks in words.
        let (member, text) = match expected.1 {
            text if is_named && text.starts_with("API Key permission denied") => ("code", "FORBIDDEN"),
            text if is_named => ("code", text),
            text => ("error", text),
        };
        assert_eq!((answer.status, body[member].as_str()), (expected.0, Some(text)), "{what}");
        assert!(self.state() == before, "{what}: something has changed");
    }

    #[track_caller]
    fn accepts(&mut self, line: &Line, who: &str, headers: &[String]) {
        let answer = self.send(line, headers);
        assert_eq!(answer.status, line.good, "{} {} with {who}: {}", line.method, line.path, answer.body);
    }

    /// Another account, by token or key.
    fn checks_other(&mut self, line: &Line, who: &str, headers: &[String]) {
        match line.other {
            Other::Nobody => panic!("{} {} says nothing of other accounts", line.method, line.path),
            Other::Refused(status, error) => self.refuses(line, who, headers, (status, error)),
            Other::Own(expected) => {
                let _ = self.path(line);
                let before = self.seen_by(ALICE);
                let answer = self.send(line, headers);
                let what = format!("{} {} with {who}: {}", line.method, line.path, answer.body);
                assert_eq!(answer.status, 200, "{what}");
                if let Some(expected) = expected {
                    assert_eq!(answer.body, expected, "{what}");
                }
                let seen = before.iter().flat_map(|text| serde_json::from_str::<Vec<Value>>(text).unwrap());
                for secret in
                    seen.flat_map(|row| [row["id"].clone(), row["order_id"].clone(), row["api_key"].clone()])
                {
                    let Some(secret) = secret.as_str() else { continue };
                    assert!(!answer.body.contains(secret), "{what} names what is alice's: {secret}");
                }
                assert_eq!(self.seen_by(ALICE), before, "{what} changed something of alice's");
            }
        }
    }

    /// Takes back what good requests of a line have left.
    fn clear(&mut self) {
        for account in [ALICE, BOB] {
            let headers = self.exchange.account(account);
            assert_eq!(self.exchange.request("DELETE", "/api/v1/spot/orders", &headers, "").status, 200);
            let keys = &self.exchange.shared.edge.auth.keys;
            for key in keys.list(u32::from(account)).iter().filter(|key| key.label() == "made here") {
                keys.delete(u32::from(account), key.id()).unwrap();
            }
        }
    }
}

#[test]
fn every_route_has_a_line() {
    // Signed routes have a file of their own: `fapi.rs`.
    let routes: BTreeSet<_> = routes()
        .filter(|route| route.dialect != Dialect::Fapi)
        .map(|route| (route.method.name(), route.path))
        .collect();
    let lines: BTreeSet<_> = LINES.iter().map(|line| (line.method, line.path)).collect();
    assert_eq!(lines, routes, "every route, and nothing else, has a line in this file");
    assert_eq!(lines.len(), LINES.len(), "no line stands twice");
}

#[test]
fn routes_of_accounts() {
    let mut stage = Stage::new();
    let permitted = |permissions| {
        move |stage: &Stage, account| format!("X-API-Key: {}", stage.key(account, permissions, |_| {}).1)
    };
    let (read, trade, both) = (permitted((true, false)), permitted((false, true)), permitted((true, true)));
    let [reads, trades, does_both] =
        [read(&stage, ALICE), trade(&stage, ALICE), both(&stage, ALICE)].map(|header| [header]);
    let here = |new: &mut NewKey| new.ip_whitelist = vec![Cidr::parse("127.0.0.1").unwrap()];
    let on_list = [format!("X-API-Key: {}", stage.key(ALICE, (true, true), here).1)];
    let bobs_key = [both(&stage, BOB)];
    let bad = std::mem::take(&mut stage.bad);
    let admin = [format!("X-API-Key: {ADMIN_KEY}")];
    for line in LINES.iter().filter(|line| !matches!(line.asks, Asks::Nothing | Asks::Admin)) {
        let is_for_anyone = line.asks == Asks::Known;
        if is_for_anyone {
            stage.accepts(line, "none", &[]);
        }
        for credential in bad.iter().filter(|credential| !is_for_anyone || !credential.headers.is_empty()) {
            stage.refuses(line, credential.name, &credential.headers, credential.refused);
        }
        stage.refuses(line, "the administrator's key", &admin, (401, "UNAUTHORIZED"));
        // Tokens are made when they are used: a line may end those that there are.
        let bob = stage.exchange.account(BOB);
        stage.checks_other(line, "bob's token", &bob);
        let keys: [(&str, &[String; 1], Asks); 4] = [
            ("a key that reads", &reads, if is_for_anyone { Asks::Known } else { Asks::Reader }),
            ("a key that trades", &trades, Asks::Trader),
            ("a key that does both", &does_both, line.asks),
            ("a key from its list", &on_list, line.asks),
        ];
        for (name, headers, may) in keys {
            match line.asks {
                Asks::Login(refused) => stage.refuses(line, name, headers, (403, refused)),
                asks if asks == may => stage.accepts(line, name, headers),
                Asks::Reader | Asks::Known => {
                    stage.refuses(line, name, headers, (403, "API Key permission denied: read not allowed"));
                }
                _ => {
                    stage.refuses(line, name, headers, (403, "API Key permission denied: trade not allowed"))
                }
            }
        }
        match line.asks {
            Asks::Login(refused) => stage.refuses(line, "bob's key", &bobs_key, (403, refused)),
            _ => stage.checks_other(line, "bob's key", &bobs_key),
        }
        let alice = stage.exchange.account(ALICE);
        stage.accepts(line, "alice's token", &alice);
        // A token counts where a key that may nothing here is sent beside it.
        let [alice] = stage.exchange.account(ALICE);
        stage.accepts(line, "alice's token beside a key", &[alice, trades[0].clone()]);
        stage.clear();
    }
}

#[test]
fn routes_of_the_administrator() {
    let mut stage = Stage::new();
    let mut bad = std::mem::take(&mut stage.bad);
    let good_key = format!("X-API-Key: {}", stage.key(ALICE, (true, true), |_| {}).1);
    for (name, header) in [
        ("alice's token", stage.exchange.account(ALICE)[0].clone()),
        ("alice's key", good_key),
        ("the administrator's key as a token", format!("Authorization: Bearer {ADMIN_KEY}")),
        ("a longer key", format!("X-API-Key: {ADMIN_KEY}x")),
        ("a shorter key", format!("X-API-Key: {}", &ADMIN_KEY[..ADMIN_KEY.len() - 1])),
        ("the key in capitals", format!("X-API-Key: {}", ADMIN_KEY.to_uppercase())),
        ("an empty key", "X-API-Key:".to_owned()),
    ] {
        bad.push(Credential { name, headers: vec![header], refused: (401, "UNAUTHORIZED") });
    }
    let admin = [format!("X-API-Key: {ADMIN_KEY}")];
    for line in LINES.iter().filter(|line| line.asks == Asks::Admin) {
        for credential in &bad {
            stage.refuses(line, credential.name, &credential.headers, (401, "UNAUTHORIZED"));
        }
        stage.accepts(line, "the administrator's key", &admin);
        // What the administrator's key is too little for is judged further by an operator's own; there is no such thing here.
        let own = [stage.exchange.operator("ann")];
        let good = if line.good == 403 { 404 } else { line.good };
        stage.accepts(&Line { good, ..*line }, "an operator's own key", &own);
        stage.exchange.remove_operator("ann");
        stage.refuses(line, "a key that was taken away", &own, (401, "UNAUTHORIZED"));
    }
}

#[test]
fn what_a_deployment_does_not_have_is_judged_before_any_credential() {
    let mut stage = Stage::with(false);
    let credit = LINES.iter().find(|line| line.path.ends_with("/credit")).unwrap();
    for credential in std::mem::take(&mut stage.bad) {
        stage.refuses(credit, credential.name, &credential.headers, (404, "DISABLED"));
    }
    stage.refuses(credit, "the administrator's key", &[format!("X-API-Key: {ADMIN_KEY}")], (404, "DISABLED"));
}

#[test]
fn routes_for_anyone() {
    let mut stage = Stage::new();
    let mut credentials: Vec<Vec<String>> =
        std::mem::take(&mut stage.bad).into_iter().map(|credential| credential.headers).collect();
    credentials.push(stage.exchange.account(ALICE).to_vec());
    credentials.push(vec![format!("X-API-Key: {ADMIN_KEY}")]);
    for line in LINES.iter().filter(|line| line.asks == Asks::Nothing) {
        let without = stage.send(line, &[]);
        assert_eq!(without.status, line.good, "{} {}: {}", line.method, line.path, without.body);
        for headers in &credentials {
            let answer = stage.send(line, headers);
            let what = format!("{} {} with {headers:?}", line.method, line.path);
            assert_eq!((answer.status, &answer.body), (without.status, &without.body), "{what}");
        }
    }
}

/// As after a journal was restored to an earlier moment: the number in a credential has become another wallet's, or nobody's.
#[test]
fn a_credential_is_good_for_the_account_of_its_wallet_alone() {
    let mut exchange = Exchange::start();
    exchange.open();
    let auth = exchange.shared.clone();
    let auth = &auth.edge.auth;
    let key_of = |account, address| {
        let new = NewKey {
            label: "old".to_owned(),
            permissions: (true, true),
            ip_whitelist: vec![],
            expires_at_s: None,
        };
        let (_, credentials) = auth.keys.create(account, address, new, 0).unwrap();
        format!("X-API-Key: {}", credentials.key.as_str())
    };
    let (bob, nobody) = (u32::from(BOB), 9);
    let stale = [
        exchange.bearer(bob, &wallet(9)),
        exchange.bearer(nobody, &wallet(9)),
        exchange.bearer(0, &[0; 20]),
        key_of(bob, wallet(9)),
        key_of(nobody, wallet(9)),
    ];
    let reads = ["/api/v1/spot/balances", "/api/v1/spot/orders"];
    for header in &stale {
        for path in reads {
            let answer = exchange.request("GET", path, from_ref(header), "");
            assert_eq!(answer.status, 401, "{header} {path}: {}", answer.body);
        }
        let answer = exchange.request("POST", "/api/v1/spot/orders", from_ref(header), ORDER);
        assert_eq!((answer.status, answer.body.contains("UNAUTHORIZED")), (401, true), "{header}");
    }
    let mut socket = Socket::open(&exchange);
    for header in &stale[..3] {
        let token = header.strip_prefix("Authorization: Bearer ").unwrap();
        socket.send(&json!({ "type": "auth_token", "token": token }).to_string());
        assert_eq!(socket.next()["message"], "invalid token");
        let frame = json!({ "type": "subscribe", "channel": "spot:user:orders", "token": token });
        socket.send(&frame.to_string());
        assert_eq!(socket.next()["code"], "AUTH_REQUIRED");
    }
    // During recovery nobody can be told from another; what was good then is not taken for good afterwards.
    let keys = "/api/v1/account/api-keys";
    let own = exchange.account(BOB);
    for (header, after) in [(&stale[0], 401), (&own[0], 200)] {
        exchange.shared.phase.set(EngineState::Restarting);
        assert_eq!(exchange.request("GET", keys, from_ref(header), "").status, 200);
        assert_eq!(exchange.request("GET", reads[0], from_ref(header), "").status, 503);
        exchange.shared.phase.set(EngineState::Running);
        for path in [keys, reads[0]] {
            assert_eq!(exchange.request("GET", path, from_ref(header), "").status, after, "{path}");
        }
    }
}

#[test]
fn private_channels() {
    let mut stage = Stage::new();
    let bad = std::mem::take(&mut stage.bad);
    let names: Vec<&str> =
        Kind::channels().filter(|kind| kind.is_private()).map(|kind| kind.row().channel).collect();
    assert!(!names.is_empty());

    // Every text that is no good token: in its own frame, and in a subscription.
    let texts = bad.iter().flat_map(|credential| &credential.headers).filter_map(|header| {
        header.strip_prefix("Authorization: Bearer ").or(header.strip_prefix("X-API-Key: "))
    });
    let good_key = stage.key(ALICE, (true, true), |_| {}).1;
    let token = stage.token(ALICE);
    let texts: BTreeSet<&str> =
        texts.chain([good_key.as_str(), ADMIN_KEY]).filter(|text| *text != token).collect();
    let expired = bad.iter().find(|credential| credential.name == "an expired token").unwrap();
    let expired = expired.headers[0].strip_prefix("Authorization: Bearer ").unwrap();
    let mut thief = Socket::open(&stage.exchange);
    for name in &names {
        assert_eq!(thief.subscribe(name)["code"], "AUTH_REQUIRED", "{}", name);
        for text in &texts {
            thief.send(&json!({ "type": "auth_token", "token": text }).to_string());
            let reason = if *text == expired { "token expired" } else { "invalid token" };
            assert_eq!(
                thief.next(),
                json!({ "type": "auth_result", "success": false, "message": reason }),
                "{text}"
            );
            thief.send(&json!({ "type": "auth", "listenKey": text }).to_string());
            assert_eq!(thief.next()["message"], "invalid listenKey");
            thief.send(&json!({ "type": "subscribe", "channel": name, "token": text }).to_string());
            let refused = thief.next();
            assert_eq!(
                (&refused["code"], &refused["channel"]),
                (&json!("AUTH_REQUIRED"), &json!(name)),
                "{text}"
            );
        }
        assert_eq!(thief.subscribe(name)["code"], "AUTH_REQUIRED", "{}", name);
    }

    // Bob's token opens bob's channels, whatever he adds; alice's opens hers.
    let mut sockets = [ALICE, BOB].map(|account| {
        let mut socket = Socket::open(&stage.exchange);
        socket.send(&json!({ "type": "auth_token", "token": stage.token(account) }).to_string());
        assert_eq!(socket.next()["success"], true);
        for name in &names {
            let channel = name;
            let frame = json!({ "type": "subscribe", "channel": channel, "account": ALICE, "address": wallet_text(ALICE) });
            socket.send(&frame.to_string());
            assert_eq!(socket.next(), json!({ "type": "subscribed", "channel": channel }));
        }
        socket
    });
    let alice = stage.exchange.account(ALICE);
    assert_eq!(stage.exchange.request("POST", "/api/v1/spot/orders", &alice, ORDER).status, 200);
    assert_eq!(stage.exchange.request("DELETE", "/api/v1/spot/orders", &alice, "").status, 200);
    stage.exchange.turn();
    let [to_alice, to_bob] = sockets.each_mut().map(|socket| socket.drain().unwrap());
    assert_eq!(to_alice.len(), 4, "an order and a balance, twice: {to_alice:?}");
    assert!(to_bob.is_empty(), "{to_bob:?}");
    assert!(thief.drain().unwrap().is_empty());
}
