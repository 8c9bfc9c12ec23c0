//! Accounts that trade, the operator who moves the marks, and the probe.

use super::{Lane, PERPETUAL, SPOT, Tour, call};
use anyhow::{Context, Result, ensure};
use ringside_bench::op::Random;
use ringside_load::api::{self, OrderAnswer};
use ringside_load::connection::Connection;
use ringside_load::signed::Signing;
use ringside_load::wallet::Wallet;
use serde::Deserialize;
use std::time::{Duration, Instant};

/// One spot order in so many carries an idempotency key: each is remembered for a day, so that they would hide all else.
const KEYED: u32 = 50;
/// Beyond this many orders that may rest, a trader only cancels.
const OPEN_MAX: usize = 40;
/// Prices lie in so many ticks.
const PRICES: u32 = 24;
/// What a gambler is given whenever nothing is left.
const STAKE: &str = "150";

/// One account of the spot venue.
pub struct SpotTrader {
    number: u32,
    key: String,
    random: Random,
    /// Ids of orders that no answer has ended.
    open: Vec<String>,
    next: u64,
    pause_max: Duration,
}

impl SpotTrader {
    /// A trader with the key `key` (a header line).
    pub fn new(number: u32, key: String, seed: u64, pause_max: Duration) -> SpotTrader {
        SpotTrader { number, key, random: random(seed, number), open: Vec::new(), next: 0, pause_max }
    }
}

impl Lane for SpotTrader {
    async fn step(&mut self, connection: &mut Connection, tour: &Tour) -> Result<()> {
        let cancels = self.open.len() > OPEN_MAX || self.random.below(100) < 40;
        if cancels && let Some(id) = take_any(&mut self.open, &mut self.random) {
            // 404: it was filled before.
            call(connection, &api::request("DELETE", &format!("/spot/orders/{id}"), &self.key, None)).await?;
            tour.count(|counts| counts.orders += 1);
            return Ok(());
        }
        let side = if self.random.below(2) == 0 { "buy" } else { "sell" };
        let tif = ["gtc", "gtc", "gtc", "gtc", "gtc", "ioc", "post_only"][self.random.below(7) as usize];
        let price = 10_000 + self.random.below(PRICES);
        let quantity = 1 + self.random.below(100);
        let body = format!(
            r#"{{"symbol":"{SPOT}","side":"{side}","type":"limit","tif":"{tif}","price":"1.{:04}","quantity":"{quantity}"}}"#,
            price - 10_000
        );
        let is_keyed = self.random.below(KEYED) == 0;
        let mut headers = self.key.clone();
        if is_keyed {
            self.next += 1;
            headers += &format!("idempotency-key: soak-{}-{}\r\n", self.number, self.next);
        }
        let (status, answer) =
            call(connection, &api::request("POST", "/spot/orders", &headers, Some(&body))).await?;
        if status == 200 {
            let order: OrderAnswer = serde_json::from_str(&answer)?;
            if matches!(order.status.as_str(), "open" | "partially_filled") {
                self.open.push(order.id);
            }
        }
        tour.count(|counts| {
            counts.orders += 1;
            counts.keyed += u64::from(is_keyed);
        });
        Ok(())
    }

    fn pause_max(&self) -> Duration {
        self.pause_max
    }

    fn fraction(&mut self) -> f64 {
        self.random.unit()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Placed {
    order_id: u64,
    status: String,
}

/// One account of the perpetual venue.
pub struct PerpetualTrader {
    signing: Signing,
    random: Random,
    /// Limit orders that no answer has ended: id, whether it buys, price in tenths.
    open: Vec<(u64, bool, i64)>,
    pause_max: Duration,
}

impl PerpetualTrader {
    /// A trader with a key and its secret.
    pub fn new(number: u32, signing: Signing, seed: u64, pause_max: Duration) -> PerpetualTrader {
        PerpetualTrader { signing, random: random(!seed, number), open: Vec::new(), pause_max }
    }

    /// The next request; `None` for an order, once it is chosen, of which nothing is to be remembered.
    fn choose(&mut self, tour: &Tour) -> (&'static str, String, Option<(bool, i64)>) {
        let pick = self.random.below(100);
        if self.open.len() > OPEN_MAX || pick < 35 {
            if let Some((id, ..)) = take_any(&mut self.open, &mut self.random) {
                return ("DELETE", format!("symbol={PERPETUAL}&orderId={id}"), None);
            }
        } else if pick < 50
            && let Some((id, is_buy, price)) = take_any(&mut self.open, &mut self.random)
        {
            let price = price + i64::from(self.random.below(3)) - 1;
            let quantity = 1 + self.random.below(40);
            return ("PUT", limit(&format!("orderId={id}"), is_buy, price, quantity), Some((is_buy, price)));
        }
        let is_buy = self.random.below(2) == 0;
        let side = if is_buy { "BUY" } else { "SELL" };
        let quantity = 1 + self.random.below(40);
        let tenths = tour.index.get() * 10;
        match self.random.below(16) {
            0 => {
                ("POST", format!("symbol={PERPETUAL}&side={side}&type=MARKET&quantity=0.{quantity:03}"), None)
            }
            1 => {
                let stop = tenths + if is_buy { 600 } else { -600 };
                let params = format!(
                    "type=STOP_MARKET&quantity=0.{quantity:03}&stopPrice={}.{}",
                    stop / 10,
                    stop % 10
                );
                ("POST", format!("symbol={PERPETUAL}&side={side}&{params}"), None)
            }
            pick => {
                let price = tenths + i64::from(self.random.below(PRICES)) - i64::from(PRICES / 2);
                let tif = ["timeInForce=GTC", "timeInForce=GTC", "timeInForce=IOC", "timeInForce=GTX"]
                    [pick as usize % 4];
                let wanted = (is_buy, price);
                ("POST", limit(&format!("type=LIMIT&{tif}"), is_buy, price, quantity), Some(wanted))
            }
        }
    }
}

impl Lane for PerpetualTrader {
    async fn step(&mut self, connection: &mut Connection, tour: &Tour) -> Result<()> {
        // Stops that never fire are ended with everything else now and then.
        let (method, path, params, wanted) = if self.random.below(400) == 0 {
            self.open.clear();
            ("DELETE", "/v1/allOpenOrders", format!("symbol={PERPETUAL}"), None)
        } else {
            let (method, params, wanted) = self.choose(tour);
            (method, "/v1/order", params, wanted)
        };
        let (status, answer) = call(connection, &self.signing.request(method, path, &params)?).await?;
        if let (200, Some((is_buy, price))) = (status, wanted) {
            let placed: Placed = serde_json::from_str(&answer).with_context(|| answer.clone())?;
            if matches!(placed.status.as_str(), "NEW" | "PARTIALLY_FILLED") {
                self.open.push((placed.order_id, is_buy, price));
            }
        }
        tour.count(|counts| counts.orders += 1);
        Ok(())
    }

    fn pause_max(&self) -> Duration {
        self.pause_max
    }

    fn fraction(&mut self) -> f64 {
        self.random.unit()
    }
}

fn limit(what: &str, is_buy: bool, tenths: i64, quantity: u32) -> String {
    let side = if is_buy { "BUY" } else { "SELL" };
    let price = format!("{}.{}", tenths / 10, tenths % 10);
    format!("symbol={PERPETUAL}&side={side}&{what}&price={price}&quantity=0.{quantity:03}")
}

/// The operator: moves the index, and stakes gamblers, who hold what little they have at the highest leverage.
pub struct Operator {
    random: Random,
    gamblers: Vec<(Wallet, Signing)>,
    /// How often a gambler had nothing left: liquidated, or nearly.
    pub ruined: u64,
}

impl Operator {
    /// Of these gamblers.
    pub fn new(seed: u64, gamblers: Vec<(Wallet, Signing)>) -> Operator {
        Operator { random: random(seed, u32::MAX), gamblers, ruined: 0 }
    }

    /// Orders of a gambler that the venue liquidated, at most 100.
    pub async fn liquidated(&self, connection: &mut Connection) -> Result<usize> {
        let mut count = 0;
        for (_, signing) in &self.gamblers {
            let request = signing.request("GET", "/v1/forceOrders", "autoCloseType=LIQUIDATION&limit=100")?;
            let (status, answer) = call(connection, &request).await?;
            ensure!(status == 200, "forceOrders: {answer}");
            count += serde_json::from_str::<Vec<serde_json::Value>>(&answer)?.len();
        }
        Ok(count)
    }
}

impl Lane for Operator {
    async fn step(&mut self, connection: &mut Connection, tour: &Tour) -> Result<()> {
        // A walk that is drawn back to where it began.
        let index = tour.index.get();
        let drawn = (super::INDEX - index) / 50;
        let index = index + drawn + i64::from(self.random.below(401)) - 200;
        tour.index.set(index);
        let body = serde_json::json!({ "symbol": PERPETUAL, "price": index.to_string(), "reason": "soak" });
        let header = api::key_header(&tour.admin_key);
        let request =
            api::request_at("POST", "/admin/perpetual/index-price", &header, Some(&body.to_string()));
        api::ask::<serde_json::Value>(connection, &request).await?;
        let (wallet, signing) = &self.gamblers[self.random.below(self.gamblers.len() as u32) as usize];
        let side = if self.random.below(2) == 0 { "BUY" } else { "SELL" };
        let params = format!("symbol={PERPETUAL}&side={side}&type=MARKET&quantity=0.100");
        let (status, answer) = call(connection, &signing.request("POST", "/v1/order", &params)?).await?;
        tour.count(|counts| counts.orders += 1);
        // Not enough margin for another: stake it again.
        if status == 400 && answer.contains("-2019") {
            self.ruined += 1;
            api::credit_perpetual(connection, &tour.admin_key, wallet, STAKE).await?;
        }
        Ok(())
    }

    fn pause_max(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn fraction(&mut self) -> f64 {
        self.random.unit()
    }
}

/// Places an order far from all others and cancels it, again and again, and notes how long the placing took.
pub struct Probe {
    key: String,
    random: Random,
}

impl Probe {
    /// With the key `key` (a header line).
    pub fn new(key: String, seed: u64) -> Probe {
        Probe { key, random: random(seed, u32::MAX - 1) }
    }
}

impl Lane for Probe {
    async fn step(&mut self, connection: &mut Connection, tour: &Tour) -> Result<()> {
        let body = format!(
            r#"{{"symbol":"{SPOT}","side":"buy","type":"limit","tif":"gtc","price":"0.5","quantity":"1"}}"#
        );
        let request = api::request("POST", "/spot/orders", &self.key, Some(&body));
        let sent = Instant::now();
        let order: OrderAnswer = api::ask(connection, &request).await?;
        tour.probed.borrow_mut().push(sent.elapsed().as_micros() as u64);
        let cancel = api::request("DELETE", &format!("/spot/orders/{}", order.id), &self.key, None);
        call(connection, &cancel).await?;
        tour.count(|counts| counts.orders += 2);
        Ok(())
    }

    fn pause_max(&self) -> Duration {
        Duration::from_millis(40)
    }

    fn fraction(&mut self) -> f64 {
        self.random.unit()
    }
}

/// Random numbers of one of many.
pub(super) fn random(seed: u64, number: u32) -> Random {
    Random::new(seed ^ (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn take_any<T>(list: &mut Vec<T>, random: &mut Random) -> Option<T> {
    (!list.is_empty()).then(|| list.swap_remove(random.below(list.len() as u32) as usize))
}
