//! The perpetual venue as signed clients see it: each trader signs its requests with a key of its own.

#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(clippy::unwrap_used, reason = "a panic is a test's report")]

use super::{ADMIN_KEY, Answer, Exchange, wallet};
use hmac::{Hmac, KeyInit, Mac};
use ringside_auth::key::NewKey;
use ringside_config::Config;
use serde_json::{Value, json};
use sha2::Sha256;
use std::collections::BTreeMap;

/// Key and secret of an account.
#[derive(Clone)]
pub(crate) struct Trader {
    pub(crate) key: String,
    pub(crate) secret: String,
    /// Comes by the header of existing clients.
    pub(crate) is_compatible: bool,
}

/// An exchange and its traders, which come by the header of existing clients.
pub(crate) struct Venue {
    pub(crate) exchange: Exchange,
    pub(crate) traders: BTreeMap<u8, Trader>,
}

impl Venue {
    /// Accounts 1 and 2 with money, and 3 with hardly any.
    pub(crate) fn usual() -> Venue {
        Venue::new(&[(1, 10_000), (2, 10_000), (3, 5)])
    }

    /// The markets that ship, open; accounts with so many USDT of margin.
    pub(crate) fn new(accounts: &[(u8, i64)]) -> Venue {
        Venue::with(accounts, 0, |_| {})
    }

    /// The same with other settings; the matcher ticks by the clock, or not at all.
    pub(crate) fn with(accounts: &[(u8, i64)], tick_ns: i64, configure: impl FnOnce(&mut Config)) -> Venue {
        let exchange = Exchange::start_perpetual_with(accounts, tick_ns, configure);
        Venue::of(exchange, accounts.iter().map(|(number, _)| *number))
    }

    /// The same around an exchange that has these accounts.
    pub(crate) fn of(exchange: Exchange, accounts: impl IntoIterator<Item = u8>) -> Venue {
        let mut venue = Venue { exchange, traders: BTreeMap::new() };
        for number in accounts {
            let trader = venue.trader(number, (true, true));
            venue.traders.insert(number, trader);
        }
        venue
    }

    /// Restarts the exchange with other settings, and gives every account a key again: this exchange keeps none of them.
    pub(crate) fn restart_with(&mut self, configure: impl FnOnce(&mut Config)) {
        self.exchange.restart_with(configure);
        for number in self.traders.keys().copied().collect::<Vec<_>>() {
            let trader = self.trader(number, (true, true));
            self.traders.insert(number, trader);
        }
    }

    /// One more API key of an account, with permissions to read and to trade.
    pub(crate) fn trader(&self, number: u8, permissions: (bool, bool)) -> Trader {
        self.trader_until(number, permissions, None)
    }

    /// The same of a key that expires.
    pub(crate) fn trader_until(
        &self,
        number: u8,
        permissions: (bool, bool),
        expires_at_s: Option<i64>,
    ) -> Trader {
        let new = NewKey { label: "t".to_owned(), permissions, ip_whitelist: vec![], expires_at_s };
        let keys = &self.exchange.shared.edge.auth.keys;
        let now_s = self.exchange.clock.now_s();
        let (_, made) = keys.create(number.into(), wallet(number), new, now_s).unwrap();
        Trader { key: made.key.to_string(), secret: made.secret.to_string(), is_compatible: true }
    }

    /// Parameters with time and signature of an account.
    pub(crate) fn signed(&self, number: u8, params: &str) -> String {
        self.sign(&self.traders[&number], params)
    }

    /// Path with query, and header, of a request by the account's own key.
    pub(crate) fn target(&self, number: u8, path: &str, params: &str) -> (String, [String; 1]) {
        (format!("{path}?{}", self.signed(number, params)), [self.header(number)])
    }

    /// The header of an account's own key.
    pub(crate) fn header(&self, number: u8) -> String {
        self.traders[&number].header()
    }

    fn sign(&self, trader: &Trader, params: &str) -> String {
        let now_ms = self.exchange.clock.now_ms();
        let joint = if params.is_empty() { "" } else { "&" };
        let payload = format!("{params}{joint}timestamp={now_ms}");
        format!("{payload}&signature={}", trader.signature(&payload))
    }

    /// A signed request: as a form where there is a body, as many clients do, else in the query.
    pub(crate) fn send(&mut self, trader: &Trader, method: &str, path: &str, params: &str) -> Answer {
        let text = self.sign(trader, params);
        let header = [trader.header()];
        match method {
            "POST" | "PUT" => {
                let headers =
                    [&header[..], &["Content-Type: application/x-www-form-urlencoded".to_owned()]].concat();
                self.exchange.request(method, path, &headers, &text)
            }
            _ => self.exchange.request(method, &format!("{path}?{text}"), &header, ""),
        }
    }

    /// A request signed by the account's own key, whatever the answer.
    pub(crate) fn ask(&mut self, number: u8, method: &str, path: &str, params: &str) -> (u16, Value) {
        let trader = self.traders[&number].clone();
        let answer = self.send(&trader, method, path, params);
        (answer.status, serde_json::from_str(&answer.body).unwrap())
    }

    /// The same, which must succeed.
    #[track_caller]
    pub(crate) fn call(&mut self, number: u8, method: &str, path: &str, params: &str) -> Value {
        let (status, body) = self.ask(number, method, path, params);
        let is_refused = body.get("code").is_some_and(|code| code.as_i64().unwrap_or(0) < 0);
        assert!(status == 200 && !is_refused, "{method} {path} {params}: {status} {body}");
        body
    }

    /// The same, which must be refused so.
    #[track_caller]
    pub(crate) fn refuses(
        &mut self,
        number: u8,
        method: &str,
        path: &str,
        params: &str,
        code: i32,
        msg: &str,
    ) {
        let (status, body) = self.ask(number, method, path, params);
        assert_eq!(body, json!({ "code": code, "msg": msg }), "{method} {path} {params}");
        assert_ne!(status, 200, "{method} {path} {params}");
    }

    /// Places an order.
    #[track_caller]
    pub(crate) fn place(&mut self, number: u8, params: &str) -> Value {
        self.call(number, "POST", "/fapi/v1/order", params)
    }

    /// A request of the operator.
    #[track_caller]
    pub(crate) fn operate(&mut self, method: &str, path: &str, body: &str) -> Value {
        let headers = [format!("X-API-Key: {ADMIN_KEY}"), "Content-Type: application/json".to_owned()];
        let answer = self.exchange.request(method, path, &headers, body);
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }

    /// A read that needs no key.
    pub(crate) fn public(&mut self, path: &str) -> Value {
        serde_json::from_str(&self.exchange.request("GET", path, &[], "").body).unwrap()
    }

    /// The active listen key of an account, made if it has none.
    pub(crate) fn listen_key(&mut self, number: u8) -> String {
        let body = self.call(number, "POST", "/fapi/v1/listenKey", "");
        body["listenKey"].as_str().unwrap().to_owned()
    }

    /// Account 1 bids at 60000, account 2 sells into it.
    pub(crate) fn fill(&mut self) {
        self.place(1, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.010&price=60000");
        self.place(2, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.004");
    }
}

impl Trader {
    /// The signature of a text by its secret.
    pub(crate) fn signature(&self, payload: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.secret.as_bytes()).unwrap();
        mac.update(payload.as_bytes());
        const_hex::encode(mac.finalize().into_bytes())
    }

    /// The header that its key comes by.
    fn header(&self) -> String {
        let name = if self.is_compatible { "X-MBX-APIKEY" } else { "X-EX-APIKEY" };
        format!("{name}: {}", self.key)
    }
}
