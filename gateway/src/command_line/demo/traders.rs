//! The demo's traders. They see and do only what the public API lets them, but for the operator, who credits them and moves
//! the index of the perpetual market.

mod perpetual;
mod spot;

use super::{VISITOR, key_of};
use crate::command_line::client::Client;
use anyhow::{Context, Result};
use hyper::Method;
use ringside_auth::typed_data::address_of_key;
use ringside_wire::address::address_text;
use serde_json::{Value, json};
use std::time::Duration;

/// What each trader is given when it has less than a tenth of it.
const STOCK: f64 = 5_000_000.0;
/// The same for the visitor.
const POCKET_MONEY: f64 = 10_000.0;

/// Trades at `url` for as long as the process lives.
pub(super) fn run(url: &str, admin_key: &str) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return tracing::error!(%error, "nobody will trade"),
    };
    runtime.block_on(async {
        loop {
            if let Err(error) = trade(url, admin_key).await {
                tracing::debug!(%error, "traders start anew");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    });
}

async fn trade(url: &str, admin_key: &str) -> Result<()> {
    let admin = Client::new(url)?.with_header("x-api-key", admin_key.to_owned());
    let visitor = Trader::start(url, VISITOR, &admin, POCKET_MONEY).await?;
    let maker = Trader::start(url, "maker", &admin, STOCK).await?;
    let takers = [
        Trader::start(url, "first taker", &admin, STOCK).await?,
        Trader::start(url, "second taker", &admin, STOCK).await?,
    ];
    drop(visitor);
    let [first, second] = takers;
    let index = perpetual::index(url, admin_key);
    let [perpetual_maker, perpetual_taker] = [
        perpetual::Trader::start(url, "maker", &admin, STOCK).await?,
        perpetual::Trader::start(url, "first taker", &admin, STOCK).await?,
    ];
    // Only to be credited.
    drop(perpetual::Trader::start(url, VISITOR, &admin, POCKET_MONEY).await?);
    tokio::try_join!(
        spot::quote(maker),
        spot::take(first),
        spot::take(second),
        index,
        perpetual::quote(perpetual_maker),
        perpetual::take(perpetual_taker),
    )?;
    Ok(())
}

/// A wallet that is logged in.
struct Trader {
    client: Client,
    random: Random,
}

impl Trader {
    /// Logs in, which makes the account where there is none, and sees to its balances.
    async fn start(url: &str, name: &str, admin: &Client, stock: f64) -> Result<Trader> {
        let key = key_of(name);
        let token = Client::new(url)?.login(&key).await?;
        let client = Client::new(url)?.with_header("authorization", format!("Bearer {token}"));
        let address = address_text(&address_of_key(&key).context("a hash is a key")?);
        let balances = client.call(Method::GET, "/api/v1/spot/balances", None).await?;
        for balance in balances.as_array().context("a list of balances")? {
            if number(balance, "available") + number(balance, "frozen") < stock / 10.0 {
                let credit = json!({
                    "user_address": address, "token": balance["token"], "amount": stock.to_string(), "reason": "demo",
                });
                admin.call(Method::POST, "/api/v1/admin/spot/balances/credit", Some(credit)).await?;
            }
        }
        Ok(Trader { client, random: Random::new() })
    }
}

/// A member that holds a decimal, 0 where it does not. What the demo wants is invented anyway: floats will do.
fn number(of: &Value, name: &str) -> f64 {
    of[name].as_str().and_then(|text| text.parse().ok()).unwrap_or(0.0)
}

/// Random numbers of no worth.
struct Random(u64);

impl Random {
    fn new() -> Random {
        Random(getrandom::u64().unwrap_or(1) | 1)
    }

    /// From 0 to 1.
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Around 0, mostly within 1: as bell-shaped as a sum of three is.
    fn normal(&mut self) -> f64 {
        2.0 * (0..3).map(|_| self.uniform() - 0.5).sum::<f64>()
    }
}
