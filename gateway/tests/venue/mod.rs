//! Traders of the perpetual venue behind a socket: each signs its requests with a key of its own.

#![allow(dead_code, reason = "each test file uses its own part")]

use crate::exchange::{ADMIN_KEY, Answer, Exchange, wallet};
use hmac::{Hmac, KeyInit, Mac};
use ringside_gateway::auth::key::NewKey;
use ringside_gateway::config::Config;
use serde_json::Value;
use sha2::Sha256;
use std::collections::BTreeMap;

/// Key and secret.
#[derive(Clone)]
pub(crate) struct Trader {
    /// What it sends.
    pub(crate) key: String,
    secret: String,
}

/// See the module.
pub(crate) struct Venue {
    /// The exchange behind it.
    pub(crate) exchange: Exchange,
    traders: BTreeMap<u8, Trader>,
}

impl Venue {
    /// The markets that ship, open; accounts with so many USDT of margin.
    pub(crate) fn new(accounts: &[(u8, i64)]) -> Venue {
        Venue::with(accounts, 0, |_| {})
    }

    /// The same with other settings; the matcher ticks by the clock, or not at all.
    pub(crate) fn with(accounts: &[(u8, i64)], tick_ns: i64, configure: impl FnOnce(&mut Config)) -> Venue {
        let exchange = Exchange::start_perpetual_with(accounts, tick_ns, configure);
        let mut venue = Venue { exchange, traders: BTreeMap::new() };
        for (number, _) in accounts {
            let trader = venue.trader(*number, (true, true));
            venue.traders.insert(*number, trader);
        }
        venue
    }

    /// One more API key of an account, with permissions to read and to trade.
    pub(crate) fn trader(&self, number: u8, permissions: (bool, bool)) -> Trader {
        let new = NewKey { label: "t".to_owned(), permissions, ip_whitelist: vec![], expires_at_s: None };
        let keys = &self.exchange.shared.edge.auth.keys;
        let now_s = self.exchange.clock.now_s();
        let (_, made) = keys.create(number.into(), wallet(number), new, now_s).expect("a key");
        Trader { key: made.key.to_string(), secret: made.secret.to_string() }
    }

    /// A signed request by the header of existing clients, its parameters in the query.
    pub(crate) fn send(&mut self, trader: &Trader, method: &str, path: &str, params: &str) -> Answer {
        let (path, header) = self.sign(trader, path, params);
        self.exchange.request(method, &path, &header, "")
    }

    /// Path with query, and header, of a request by the account's own key.
    pub(crate) fn signed(&self, number: u8, path: &str, params: &str) -> (String, [String; 1]) {
        self.sign(&self.traders[&number], path, params)
    }

    fn sign(&self, trader: &Trader, path: &str, params: &str) -> (String, [String; 1]) {
        let joint = if params.is_empty() { "" } else { "&" };
        let payload = format!("{params}{joint}timestamp={}", self.exchange.clock.now_ms());
        let mut mac = Hmac::<Sha256>::new_from_slice(trader.secret.as_bytes()).expect("any key");
        mac.update(payload.as_bytes());
        let signature = const_hex::encode(mac.finalize().into_bytes());
        let header = [format!("X-MBX-APIKEY: {}", trader.key)];
        (format!("{path}?{payload}&signature={signature}"), header)
    }

    /// The same by the account's own key, whatever the answer.
    pub(crate) fn ask(&mut self, number: u8, method: &str, path: &str, params: &str) -> (u16, Value) {
        let trader = self.traders[&number].clone();
        let answer = self.send(&trader, method, path, params);
        (answer.status, serde_json::from_str(&answer.body).expect("JSON"))
    }

    /// The same, which must succeed.
    #[track_caller]
    pub(crate) fn call(&mut self, number: u8, method: &str, path: &str, params: &str) -> Value {
        let (status, body) = self.ask(number, method, path, params);
        assert_eq!(status, 200, "{method} {path} {params}: {body}");
        body
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
        serde_json::from_str(&answer.body).expect("JSON")
    }

    /// The header of an account's own key.
    pub(crate) fn header(&self, number: u8) -> String {
        format!("X-MBX-APIKEY: {}", self.traders[&number].key)
    }

    /// The active listen key of an account, made if it has none.
    pub(crate) fn listen_key(&mut self, number: u8) -> String {
        let body = self.call(number, "POST", "/fapi/v1/listenKey", "");
        body["listenKey"].as_str().expect("a key").to_owned()
    }
}
