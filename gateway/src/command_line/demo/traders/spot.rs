//! The demo's traders on the spot market: one that quotes both sides around a price of its own, two that take.

use super::{Trader, number};
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
impl Trader {
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
pub(super) async fn quote(mut maker: Trader) -> Result<()> {
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
pub(super) async fn take(mut taker: Trader) -> Result<()> {
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
