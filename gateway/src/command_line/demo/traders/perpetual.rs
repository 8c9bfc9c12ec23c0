//! The demo's traders on a perpetual market: the operator lets its index wander, one trader quotes around the mark, one
//! takes.

use super::number;
use crate::command_line::client::Client;
use crate::command_line::demo::{Random, STOCK, key_of};
use anyhow::{Context, Result};
use hyper::{Method, StatusCode};
use ringside_auth::signed::Signer;
use ringside_auth::typed_data::address_of_key;
use ringside_wire::address::address_text;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SYMBOL: &str = "BTCUSDT";
/// Ticks in a whole quote.
const TICKS: f64 = 10.0;
/// The price that the index leans towards.
const HOME: f64 = 60_000.0;
/// Levels on each side, ticks between them.
const LEVELS: i64 = 14;
const SPACING: i64 = 40;
/// How often the index moves and the maker looks after its quotes.
const PAUSE: Duration = Duration::from_secs(1);
/// What the API keys of the demo are called.
const LABEL: &str = "demo";

/// Moves the index: a price that wanders and, the further it is from home, the more it is drawn back.
pub(super) async fn index(url: &str, admin_key: &str) -> Result<()> {
    let admin = Client::new(url)?.with_header("x-api-key", admin_key.to_owned());
    let mut random = Random::new();
    let now = admin.call(Method::GET, &format!("/fapi/v1/premiumIndex?symbol={SYMBOL}"), None).await?;
    let mut price = Some(number(&now, "indexPrice")).filter(|price| *price > 0.0).unwrap_or(HOME);
    loop {
        price *= 1.0 + 0.000_15 * random.normal() + 0.000_5 * (HOME / price - 1.0);
        let body = json!({"symbol": SYMBOL, "price": format!("{price:.2}")});
        admin.call(Method::POST, "/admin/perpetual/index-price", Some(body)).await?;
        tokio::time::sleep(PAUSE).await;
    }
}

/// Sees to it that the wallet of a name has at least a tenth of what it began with.
async fn credit(admin: &Client, name: &str, has: f64) -> Result<()> {
    if has >= STOCK as f64 / 10.0 {
        return Ok(());
    }
    let address = address_text(&address_of_key(&key_of(name)).context("a hash is a key")?);
    let body = json!({"user_address": address, "amount": STOCK.to_string(), "reason": "demo"});
    admin.call(Method::POST, "/admin/perpetual/credit", Some(body)).await?;
    Ok(())
}

/// A wallet with an API key.
pub(super) struct Trader {
    client: Client,
    signer: Signer,
    random: Random,
}

impl Trader {
    /// Logs in, makes a key in place of the one of the last start, and sees to the wallet's balance.
    pub(super) async fn start(url: &str, name: &str, admin: &Client) -> Result<Trader> {
        let token = Client::new(url)?.login(&key_of(name)).await?;
        let client = Client::new(url)?.with_header("authorization", format!("Bearer {token}"));
        let path = "/api/v1/account/api-keys";
        let known = client.call(Method::GET, path, None).await?;
        for key in known.as_array().context("a list of keys")?.iter().filter(|key| key["label"] == LABEL) {
            let id = key["id"].as_str().map_or_else(|| key["id"].to_string(), str::to_owned);
            client.send(Method::DELETE, &format!("{path}/{id}"), None).await?;
        }
        let wanted = json!({"label": LABEL, "permissions": ["read", "trade"]});
        let made = client.call(Method::POST, path, Some(wanted)).await?;
        let text = |name: &str| made[name].as_str().context("a key");
        let client = Client::new(url)?.with_header("x-mbx-apikey", text("api_key")?.to_owned());
        let signer = Signer::new(text("api_secret")?.as_bytes());
        let mut trader = Trader { client, signer, random: Random::new() };
        let (_, account) = trader.send(Method::GET, "/fapi/v3/account", "").await?;
        credit(admin, name, number(&account, "totalMarginBalance")).await?;
        Ok(trader)
    }

    /// Sends a signed request; gives status and JSON of the answer.
    async fn send(&mut self, method: Method, path: &str, values: &str) -> Result<(StatusCode, Value)> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).context("a clock")?.as_millis();
        let query = format!("{values}&timestamp={now}").trim_start_matches('&').to_owned();
        let signature = const_hex::encode(self.signer.sign(query.as_bytes()));
        let (status, answer) =
            self.client.send(method, &format!("{path}?{query}&signature={signature}"), None).await?;
        if status.is_server_error() || status == StatusCode::UNAUTHORIZED {
            anyhow::bail!("{status} {answer}");
        }
        Ok((status, answer))
    }

    /// Places an order; a refusal is no fault, the market moves on meanwhile.
    async fn place(&mut self, side: &str, values: &str) -> Result<()> {
        self.send(Method::POST, "/fapi/v1/order", &format!("symbol={SYMBOL}&side={side}&{values}")).await?;
        Ok(())
    }
}

/// Keeps levels on both sides of the mark.
pub(super) async fn quote(mut maker: Trader) -> Result<()> {
    loop {
        let path = format!("/fapi/v1/premiumIndex?symbol={SYMBOL}");
        let now = maker.client.call(Method::GET, &path, None).await?;
        let middle = (number(&now, "markPrice") * TICKS).round() as i64;
        // Prices are on one grid for all time, so that quotes stay where they are while the middle moves.
        let grid = |from: i64, to: i64| (from..=to).filter(|price| price.rem_euclid(SPACING) == 0);
        let mut missing: BTreeSet<(&str, i64)> = BTreeSet::new();
        missing.extend(grid(middle - SPACING * LEVELS, middle - 1).map(|price| ("BUY", price)));
        missing.extend(grid(middle + 1, middle + SPACING * LEVELS).map(|price| ("SELL", price)));
        let (_, open) = maker.send(Method::GET, "/fapi/v1/openOrders", &format!("symbol={SYMBOL}")).await?;
        for order in open.as_array().context("a list of orders")? {
            let price = (number(order, "price") * TICKS).round() as i64;
            let side = if order["side"] == "BUY" { "BUY" } else { "SELL" };
            if !missing.remove(&(side, price)) {
                let values = format!("symbol={SYMBOL}&orderId={}", order["orderId"]);
                // It may have traded meanwhile.
                maker.send(Method::DELETE, "/fapi/v1/order", &values).await?;
            }
        }
        for (side, price) in missing {
            let away = (price - middle).abs() as f64 / SPACING as f64;
            let quantity = (0.02 + 0.03 * away) * (0.4 + 1.2 * maker.random.uniform());
            let price = price as f64 / TICKS;
            let values = format!("type=LIMIT&timeInForce=GTX&price={price:.1}&quantity={quantity:.3}");
            maker.place(side, &values).await?;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Takes now from one side, now from the other, and the more it holds the likelier from the one that brings it back.
pub(super) async fn take(mut taker: Trader) -> Result<()> {
    loop {
        let path = "/fapi/v3/positionRisk";
        let (_, positions) = taker.send(Method::GET, path, &format!("symbol={SYMBOL}")).await?;
        let holds = positions.get(0).map_or(0.0, |position| number(position, "positionAmt"));
        let random = &mut taker.random;
        let side = if random.uniform() < 0.5 - holds / 4.0 { "BUY" } else { "SELL" };
        let quantity = 0.001 + 0.12 * random.uniform().powi(3);
        let pause = 0.2 + 1.6 * random.uniform() * random.uniform();
        taker.place(side, &format!("type=MARKET&quantity={quantity:.3}")).await?;
        tokio::time::sleep(Duration::from_secs_f64(pause)).await;
    }
}
