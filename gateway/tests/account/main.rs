//! The routes of `account.md` through a socket, with a real engine behind them.

#![allow(clippy::unwrap_used, reason = "a panic is a test's report")]

#[path = "../exchange/mod.rs"]
mod exchange;
#[path = "../random/mod.rs"]
mod random;

mod faucet;
mod fees;
mod figures;
mod history;
mod listing;
mod margin_mode;
mod market;
mod operator;
mod order;
mod overview;
mod proof;
mod referral;
mod refusals;
mod states;
mod transfer;
mod treasury;
mod withdrawal;

use exchange::venue::Venue;
use exchange::{ADMIN_KEY, Exchange};
use ringside_core::command::Command;
use serde_json::{Value, json};

/// A second.
const SECOND_MS: i64 = 1_000;
/// An hour.
const HOUR_MS: i64 = 3_600_000;

/// An exchange on which each of two accounts has a million, after some more commands; it ticks every second.
fn venue_after(more: &[Command]) -> Venue {
    venue_with(more, |_| {})
}

/// The same with other settings.
fn venue_with(more: &[Command], configure: impl FnOnce(&mut ringside_config::Config)) -> Venue {
    let accounts = [(1, 1_000_000), (2, 1_000_000), (3, 1_000)];
    let exchange = Exchange::start_perpetual_after(&accounts, more, 1_000_000_000, |config| {
        config.websocket_frames_per_second = u32::MAX;
        configure(config);
    });
    let mut venue = Venue::of(exchange, 1..=3);
    venue.pass(SECOND_MS);
    venue
}

impl Venue {
    /// Lets time pass; everything due happens.
    fn pass(&mut self, ms: i64) {
        self.exchange.clock.turn(ms);
        self.exchange.turn();
    }

    /// Lets time pass up to a moment, UNIX milliseconds.
    fn pass_to(&mut self, moment_ms: i64) {
        let now_ms = self.exchange.clock.now_ms();
        assert!(moment_ms >= now_ms, "time goes on");
        self.pass(moment_ms - now_ms);
    }

    /// A request with an account's token; 0 is nobody.
    fn asks(&mut self, number: u8, method: &str, path: &str, body: &str) -> (u16, Value) {
        let headers = if number == 0 { Vec::new() } else { self.exchange.account(number).to_vec() };
        let answer = self.exchange.request(method, path, &headers, body);
        (answer.status, serde_json::from_str(&answer.body).unwrap())
    }

    /// What an account is shown.
    #[track_caller]
    fn sees(&mut self, number: u8, path: &str) -> Value {
        let (status, body) = self.asks(number, "GET", path, "");
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// A refusal: status, code, and what the message begins with.
    #[track_caller]
    fn fails(&mut self, number: u8, (method, path, body): (&str, &str, &str), expected: (u16, &str, &str)) {
        let (status, answer) = self.asks(number, method, path, body);
        assert_eq!((status, &answer["code"]), (expected.0, &json!(expected.1)), "{method} {path}: {answer}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.starts_with(expected.2), "{method} {path}: {message}");
    }

    /// A request of the operator, whatever is answered.
    fn commands(&mut self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let headers = [format!("X-API-Key: {ADMIN_KEY}")];
        let answer = self.exchange.request(method, path, &headers, body);
        (answer.status, serde_json::from_str(&answer.body).unwrap())
    }

    /// Account 1 rests an order of a side, account 2 takes all of it.
    fn trade(&mut self, resting: &str, quantity: &str, price: &str) {
        let taking = if resting == "BUY" { "SELL" } else { "BUY" };
        self.place(
            1,
            &format!(
                "symbol=BTCUSDT&side={resting}&type=LIMIT&timeInForce=GTC&quantity={quantity}&price={price}"
            ),
        );
        let taken = self.place(2, &format!("symbol=BTCUSDT&side={taking}&type=MARKET&quantity={quantity}"));
        assert_eq!(taken["status"], "FILLED", "{taken}");
    }

    /// The last fee that an account paid.
    fn last_fee(&mut self, number: u8) -> String {
        let fills = self.call(number, "GET", "/fapi/v1/userTrades", "symbol=BTCUSDT");
        fills.as_array().unwrap().last().unwrap()["commission"].as_str().unwrap().to_owned()
    }
}
