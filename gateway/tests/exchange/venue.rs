//! The perpetual venue as signed clients see it.

#![allow(clippy::unwrap_used, reason = "a panic is a test's report")]

use super::{ADMIN_KEY, Answer, Exchange, START_S, wallet};
use hmac::{Hmac, KeyInit, Mac};
use ringside_gateway::auth::key::NewKey;
use serde_json::{Value, json};
use sha2::Sha256;
use std::collections::BTreeMap;

/// Key and secret of an account.
pub(crate) struct Trader {
    pub(crate) key: String,
    pub(crate) secret: String,
    /// Comes by the header of existing clients.
    pub(crate) is_compatible: bool,
}

/// An exchange with accounts 1 to 3, which trade by the header of existing clients.
pub(crate) struct Venue {
    pub(crate) exchange: Exchange,
    pub(crate) traders: BTreeMap<u8, Trader>,
}

impl Venue {
    pub(crate) fn new() -> Venue {
        Venue::of(Exchange::start_perpetual(&[(1, 10_000), (2, 10_000), (3, 5)]), 3)
    }

    /// The same around an exchange with so many accounts.
    pub(crate) fn of(exchange: Exchange, accounts: u8) -> Venue {
        let mut venue = Venue { exchange, traders: BTreeMap::new() };
        for number in 1..=accounts {
            let trader = venue.trader(number, (true, true));
            venue.traders.insert(number, trader);
        }
        venue
    }

    pub(crate) fn trader(&self, number: u8, permissions: (bool, bool)) -> Trader {
        let new = NewKey { label: "t".to_owned(), permissions, ip_whitelist: vec![], expires_at_s: None };
        let keys = &self.exchange.shared.edge.auth.keys;
        let (_, made) = keys.create(number.into(), wallet(number), new, START_S).unwrap();
        Trader { key: made.key.to_string(), secret: made.secret.to_string(), is_compatible: true }
    }

    /// Parameters with time and signature of an account.
    pub(crate) fn signed(&self, number: u8, params: &str) -> String {
        self.sign(&self.traders[&number], params)
    }

    fn sign(&self, trader: &Trader, params: &str) -> String {
        let now_ms = self.exchange.clock.now_ms();
        let joint = if params.is_empty() { "" } else { "&" };
        let payload = format!("{params}{joint}timestamp={now_ms}");
        let mut mac = Hmac::<Sha256>::new_from_slice(trader.secret.as_bytes()).unwrap();
        mac.update(payload.as_bytes());
        let signature = const_hex::encode(mac.finalize().into_bytes());
        format!("{payload}&signature={signature}")
    }

    /// A signed request: as a form where there is a body, as many clients do, else in the query.
    pub(crate) fn send(&mut self, trader: &Trader, method: &str, path: &str, params: &str) -> Answer {
        let text = self.sign(trader, params);
        let name = if trader.is_compatible { "X-MBX-APIKEY" } else { "X-EX-APIKEY" };
        let header = [format!("{name}: {}", trader.key)];
        match method {
            "POST" | "PUT" => {
                let headers =
                    [&header[..], &["Content-Type: application/x-www-form-urlencoded".to_owned()]].concat();
                self.exchange.request(method, path, &headers, &text)
            }
            _ => self.exchange.request(method, &format!("{path}?{text}"), &header, ""),
        }
    }

    pub(crate) fn call(&mut self, number: u8, method: &str, path: &str, params: &str) -> Value {
        let trader = self.traders.remove(&number).unwrap();
        let answer = self.send(&trader, method, path, params);
        self.traders.insert(number, trader);
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        let is_refused = body.get("code").is_some_and(|code| code.as_i64().unwrap_or(0) < 0);
        assert_eq!(answer.status == 200, !is_refused, "{method} {path} {params}: {}", answer.body);
        body
    }

    pub(crate) fn place(&mut self, number: u8, params: &str) -> Value {
        self.call(number, "POST", "/fapi/v1/order", params)
    }

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
        let body = self.call(number, method, path, params);
        assert_eq!(body, json!({ "code": code, "msg": msg }), "{method} {path} {params}");
    }

    /// A request of the operator.
    #[track_caller]
    pub(crate) fn operate(&mut self, method: &str, path: &str, body: &str) -> Value {
        let headers = [format!("X-API-Key: {ADMIN_KEY}"), "Content-Type: application/json".to_owned()];
        let answer = self.exchange.request(method, path, &headers, body);
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }

    pub(crate) fn public(&mut self, path: &str) -> Value {
        serde_json::from_str(&self.exchange.request("GET", path, &[], "").body).unwrap()
    }

    /// Account 1 bids at 60000, account 2 sells into it.
    pub(crate) fn fill(&mut self) {
        self.place(1, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.010&price=60000");
        self.place(2, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.004");
    }
}
