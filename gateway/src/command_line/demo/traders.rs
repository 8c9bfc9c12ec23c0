//! The demo's traders: one that quotes both sides around a price of its own, two that take. They see and do only what the
//! public API lets them.

use super::{VISITOR, key_of};
use crate::auth::address_text;
use crate::auth::typed_data::address_of_key;
use crate::command_line::client::Client;
use anyhow::{Context, Result};
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const SYMBOL: &str = "DFUSDT";
/// Steps of the shipped market: prices and quantities are counted in them.
const TICKS: f64 = 10_000.0;
const LOTS: f64 = 10.0;
/// The price that the maker's own leans towards.
const HOME: f64 = 0.25;
/// Levels on each side, ticks between them.
const LEVELS: i64 = 14;
const SPACING: i64 = 4;
/// How often the maker looks after its quotes.
const QUOTE: Duration = Duration::from_millis(500);
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
    let mut admin = Client::new(url)?.with_header("x-api-key", admin_key.to_owned());
    let visitor = Trader::start(url, VISITOR, &mut admin, POCKET_MONEY).await?;
    let maker = Trader::start(url, "maker", &mut admin, STOCK).await?;
    let takers = [
        Trader::start(url, "first taker", &mut admin, STOCK).await?,
        Trader::start(url, "second taker", &mut admin, STOCK).await?,
    ];
    drop(visitor);
    let [first, second] = takers;
    tokio::try_join!(quote(maker), take(first), take(second))?;
    Ok(())
}

/// A wallet that is logged in.
struct Trader {
    client: Client,
    random: Random,
}

impl Trader {
    /// Logs in, which makes the account where there is none, and sees to its balances.
    async fn start(url: &str, name: &str, admin: &mut Client, stock: f64) -> Result<Trader> {
        let key = key_of(name);
        let token = Client::new(url)?.login(&key).await?;
        let mut client = Client::new(url)?.with_header("authorization", format!("Bearer {token}"));
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

    /// Places an order; gives it, or nothing where it was refused: the market moves on meanwhile.
    async fn place(&mut self, order: Value) -> Result<Option<Value>> {
        let (status, answer) = self.client.send(Method::POST, "/api/v1/spot/orders", Some(order)).await?;
        if status.is_server_error() || status == StatusCode::UNAUTHORIZED {
            anyhow::bail!("{status} {answer}");
        }
        Ok((status == StatusCode::OK).then_some(answer))
    }

    async fn open_orders(&mut self) -> Result<Vec<Value>> {
        let mut orders = Vec::new();
        for status in ["open", "partially_filled"] {
            let path = format!("/api/v1/spot/orders?symbol={SYMBOL}&status={status}&limit=200");
            match self.client.call(Method::GET, &path, None).await? {
                Value::Array(found) => orders.extend(found),
                _ => anyhow::bail!("no list of orders"),
            }
        }
        Ok(orders)
    }
}

/// Keeps levels on both sides of a price that wanders and, the further it is from home, the more it is drawn back.
async fn quote(mut maker: Trader) -> Result<()> {
    let path = format!("/api/v1/spot/ticker/24hr?symbol={SYMBOL}");
    let (status, ticker) = maker.client.send(Method::GET, &path, None).await?;
    let mut fair = if status == StatusCode::OK { number(&ticker, "last_price") } else { HOME };
    let mut trend = 0.0;
    loop {
        trend = 0.97 * trend + 0.000_12 * maker.random.normal();
        fair *= 1.0 + trend + 0.000_5 * maker.random.normal() + 0.002 * (HOME / fair - 1.0);
        let middle = (fair * TICKS).round() as i64;
        // Prices are on one grid for all time, so that quotes stay where they are while the middle moves.
        let wanted = |side: &str, price: i64| {
            let away = if side == "buy" { middle - price } else { price - middle };
            price.rem_euclid(SPACING) == 0 && (1..=SPACING * LEVELS).contains(&away)
        };
        let mut missing: BTreeMap<(&str, i64), ()> = BTreeMap::new();
        for side in ["buy", "sell"] {
            let prices =
                (middle - SPACING * LEVELS..=middle + SPACING * LEVELS).filter(|price| wanted(side, *price));
            missing.extend(prices.map(|price| ((side, price), ())));
        }
        for order in maker.open_orders().await? {
            let price = (number(&order, "price") * TICKS).round() as i64;
            let side = if order["side"] == "buy" { "buy" } else { "sell" };
            if missing.remove(&(side, price)).is_none() {
                let id = order["id"].as_str().context("an id")?;
                // It may have traded meanwhile.
                maker.client.send(Method::DELETE, &format!("/api/v1/spot/orders/{id}"), None).await?;
            }
        }
        for (side, price) in missing.into_keys() {
            let away = (price - middle).abs() as f64;
            let quantity = (20.0 + 12.0 * away) * (0.4 + 1.2 * maker.random.uniform());
            let order = json!({
                "symbol": SYMBOL, "side": side, "type": "limit", "tif": "post_only",
                "price": format!("{:.4}", price as f64 / TICKS), "quantity": lots(quantity),
            });
            maker.place(order).await?;
        }
        tokio::time::sleep(QUOTE).await;
    }
}

/// Takes now from one side, now from the other: mostly a little, sometimes much.
async fn take(mut taker: Trader) -> Result<()> {
    loop {
        let random = &mut taker.random;
        let quantity =
            6.0 + 60.0 * random.uniform().powi(3) * if random.uniform() < 0.04 { 25.0 } else { 1.0 };
        let order = match random.uniform() {
            chance if chance < 0.5 => {
                json!({"symbol": SYMBOL, "side": "sell", "type": "market", "quantity": lots(quantity)})
            }
            _ => {
                let spend = format!("{:.4}", quantity * HOME);
                json!({"symbol": SYMBOL, "side": "buy", "type": "market", "quote_quantity": spend})
            }
        };
        let pause = 0.1 + 1.2 * random.uniform() * random.uniform();
        taker.place(order).await?;
        tokio::time::sleep(Duration::from_secs_f64(pause)).await;
    }
}

/// A quantity as text, in whole lots.
fn lots(quantity: f64) -> String {
    format!("{:.1}", (quantity * LOTS).round() / LOTS)
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
