//! The demo's traders. They see and do only what the public API lets them, but for the operator, who credits them and moves
//! the index of the perpetual market.

mod perpetual;
mod spot;

use super::{Random, STOCK, key_of};
use crate::command_line::client::Client;
use anyhow::{Context, Result};
use hyper::Method;
use ringside_auth::typed_data::address_of_key;
use ringside_wire::address::address_text;
use serde_json::{Value, json};
use std::time::Duration;

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
    let maker = Trader::start(url, "maker", &admin).await?;
    let takers =
        [Trader::start(url, "first taker", &admin).await?, Trader::start(url, "second taker", &admin).await?];
    let [first, second] = takers;
    let index = perpetual::index(url, admin_key);
    let [perpetual_maker, perpetual_taker] = [
        perpetual::Trader::start(url, "maker", &admin).await?,
        perpetual::Trader::start(url, "first taker", &admin).await?,
    ];
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
    async fn start(url: &str, name: &str, admin: &Client) -> Result<Trader> {
        let key = key_of(name);
        let token = Client::new(url)?.login(&key).await?;
        let client = Client::new(url)?.with_header("authorization", format!("Bearer {token}"));
        let address = address_text(&address_of_key(&key).context("a hash is a key")?);
        let balances = client.call(Method::GET, "/api/v1/spot/balances", None).await?;
        for balance in balances.as_array().context("a list of balances")? {
            if number(balance, "available") + number(balance, "frozen") < STOCK as f64 / 10.0 {
                let credit = json!({
                    "user_address": address, "token": balance["token"], "amount": STOCK.to_string(), "reason": "demo",
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
