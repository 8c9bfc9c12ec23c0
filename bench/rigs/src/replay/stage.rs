//! The exchange made ready for a session: its market listed, its accounts logged in and credited, all through the
//! public API; and the requests of the session as bytes.

use super::cast::Cast;
use super::{MAKER_FEE_BPS, TAKER_FEE_BPS};
use crate::data::script::{Action, Script, Step};
use anyhow::Result;
use ringside_load::api::{self, BASE_TOKEN, MarketText, QUOTE_TOKEN};
use ringside_load::connection::Connection;
use ringside_load::decimal::decimal;
use ringside_load::server::Server;
use ringside_load::wallet::Wallet;
use std::time::{Duration, Instant};

/// Every account starts with this much of both tokens, whole units.
pub const CREDIT: i128 = 10_000_000_000_000_000;

/// Accounts ready to trade.
pub struct Stage {
    /// The header line of each account's key.
    pub keys: Vec<String>,
    /// How long one login took, signature and key included, on average.
    pub login: Duration,
}

impl Stage {
    /// Lists the market and makes the accounts of `cast`.
    pub async fn set(server: &Server, script: &Script, cast: &Cast, seed: u64) -> Result<Stage> {
        let mut connection = Connection::open(server.address).await?;
        let market = MarketText {
            symbol: script.symbol.clone(),
            tick_size: decimal(script.tick, script.price_decimals),
            lot_size: script.quantity_text(1),
            // The least that a rule above zero can be for any price and quantity of the session.
            min_notional: decimal(1, script.price_decimals + script.quantity_decimals),
            maker_fee_bps: MAKER_FEE_BPS,
            taker_fee_bps: TAKER_FEE_BPS,
        };
        api::list_market(&mut connection, &server.admin_key, &market).await?;
        let mut keys = Vec::new();
        let mut spent = Duration::ZERO;
        for index in 0..cast.count {
            let wallet = Wallet::from_seed(seed, index);
            let start = Instant::now();
            let token = api::login(&mut connection, &wallet).await?;
            let key = api::create_api_key(&mut connection, &token).await?;
            spent += start.elapsed();
            keys.push(api::key_header(&key));
            for token in [BASE_TOKEN, QUOTE_TOKEN] {
                let amount = CREDIT.to_string();
                api::credit(&mut connection, &server.admin_key, &wallet, token, &amount).await?;
            }
        }
        Ok(Stage { keys, login: spent / cast.count })
    }

    /// The request of a placing step. With `once` it carries an idempotency key, so that it can be sent again.
    pub fn place(&self, script: &Script, cast: &Cast, index: usize, once: bool) -> Vec<u8> {
        let step = &script.steps[index];
        let plan = script.orders[step.order as usize];
        let body = format!(
            r#"{{"symbol":"{}","side":"{}","type":"limit","tif":"{}","price":"{}","quantity":"{}"}}"#,
            script.symbol,
            side_word(plan.is_buy),
            if step.action == Action::PlaceImmediate { "ioc" } else { "gtc" },
            script.price_text(plan.price),
            script.quantity_text(plan.quantity),
        );
        let key = &self.keys[cast.accounts[step.order as usize] as usize];
        let headers = if once { format!("{key}idempotency-key: step-{index}\r\n") } else { key.to_string() };
        api::request("POST", "/spot/orders", &headers, Some(&body))
    }

    /// The request of a canceling step, or for one order's state.
    pub fn about_order(&self, cast: &Cast, method: &str, step: &Step, id: &str) -> Vec<u8> {
        let key = &self.keys[cast.accounts[step.order as usize] as usize];
        api::request(method, &format!("/spot/orders/{id}"), key, None)
    }
}

/// A side as the API spells it.
pub fn side_word(is_buy: bool) -> &'static str {
    if is_buy { "buy" } else { "sell" }
}
