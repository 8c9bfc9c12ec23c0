//! One account: places and cancels as fast as it is answered, and remembers what it was told.

use super::{DOUBTFUL, Outcome, PRICE_DECIMALS, QUANTITY_DECIMALS, SYMBOL, Shown, Status, named};
use anyhow::{Context, Result, bail, ensure};
use ringside_bench::op::Random;
use ringside_load::api::{self, FillAnswer, OrderAnswer};
use ringside_load::connection::Connection;
use ringside_load::decimal::{decimal, parse_decimal};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

/// Prices lie in this many steps from here.
const PRICE_FROM: u32 = 10_000;
const PRICES: u32 = 24;
/// Beyond this many orders that may still rest, the trader only cancels.
const RESTING_MAX: usize = 60;
/// Longest pause between an answer and the next request.
const PAUSE_MAX_US: u32 = 8_000;
/// Words of refusals that store an order.
const STORED_REFUSALS: [&str; 6] = [
    "INVALID_TICK",
    "INVALID_LOT",
    "BELOW_MIN_NOTIONAL",
    "INSUFFICIENT_BALANCE",
    "POST_ONLY_REJECT",
    "SELF_TRADE",
];

/// An order that the exchange has acknowledged.
#[derive(Clone, Debug)]
pub struct Known {
    /// As ordered.
    pub wish: Wish,
    /// The last status that an answer showed.
    pub status: String,
    /// Fills told in the answer to placing.
    pub fills: Vec<FillAnswer>,
}

impl Known {
    /// Whether no answer has said that it ended.
    pub fn may_rest(&self) -> bool {
        matches!(self.status.as_str(), "open" | "partially_filled")
    }
}

/// An order as the trader wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Number of its idempotency key.
    pub number: u64,
    /// Side.
    pub is_buy: bool,
    /// Steps.
    pub price: i64,
    /// Steps.
    pub quantity: i64,
    /// `gtc`, `ioc`, `post_only`.
    pub tif: &'static str,
}

impl Wish {
    fn body(&self) -> String {
        format!(
            r#"{{"symbol":"{SYMBOL}","side":"{}","type":"limit","tif":"{}","price":"{}","quantity":"{}"}}"#,
            if self.is_buy { "buy" } else { "sell" },
            self.tif,
            self.price_text(),
            self.quantity_text()
        )
    }

    /// The price as the exchange spells it.
    pub fn price_text(&self) -> String {
        decimal(self.price, PRICE_DECIMALS)
    }

    /// The quantity as the exchange spells it.
    pub fn quantity_text(&self) -> String {
        decimal(self.quantity, QUANTITY_DECIMALS)
    }
}

/// A request that was sent.
#[derive(Clone, Debug)]
pub enum Sent {
    /// A new order.
    Place(Wish),
    /// The end of the order with this id.
    Cancel(String),
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
    order_id: Option<String>,
}

/// See the module.
pub struct Trader {
    /// Its number.
    pub number: u32,
    /// The header line of its key.
    pub key: String,
    random: Random,
    next: u64,
    /// Every order it was told of, by id.
    pub orders: BTreeMap<String, Known>,
    /// Those that no answer has ended.
    pub resting: Vec<String>,
    /// Whether one host alone answers: of several, one that has not heard of an order refuses to cancel it as one that has ended.
    pub is_of_one: bool,
    /// Ids told or asked about since the last audit.
    pub fresh: Vec<String>,
    /// Sent, and not answered when the exchange was killed.
    unanswered: Option<Sent>,
    /// Answers, and among them those to requests sent again.
    pub answers: u64,
    /// See `answers`.
    pub sent_again: u64,
    /// Requests sent again that had happened before the kill.
    pub had_happened: u64,
}

impl Trader {
    /// A trader with the key `key` (a header line).
    pub fn new(number: u32, key: String, seed: u64) -> Trader {
        Trader {
            number,
            key,
            random: Random::new(seed ^ (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            next: 1,
            orders: BTreeMap::new(),
            resting: Vec::new(),
            is_of_one: true,
            fresh: Vec::new(),
            unanswered: None,
            answers: 0,
            sent_again: 0,
            had_happened: 0,
        }
    }

    /// Trades until the exchange no longer answers.
    ///
    /// Errors: an answer that the exchange must never give.
    pub async fn trade(&mut self, address: SocketAddr) -> Result<()> {
        let Ok(mut connection) = Connection::open(address).await else { return Ok(()) };
        loop {
            let sent = self.choose();
            self.unanswered = Some(sent.clone());
            if !self.send(&mut connection, &sent).await?.is_answered()? {
                return Ok(());
            }
            // A pause that differs, so that requests arrive together in ever new ways, and lists stay short enough
            // to be seen whole.
            let pause = Duration::from_micros(u64::from(self.random.below(PAUSE_MAX_US)));
            tokio::time::sleep(pause).await;
        }
    }

    /// Sends what was not answered once more. To be called after a restart, before trading goes on.
    pub async fn send_again(&mut self, address: SocketAddr) -> Result<()> {
        let Some(sent) = self.unanswered.clone() else { return Ok(()) };
        let mut connection = Connection::open(address).await?;
        self.sent_again += 1;
        let outcome = self.send(&mut connection, &sent).await?;
        ensure!(outcome.is_answered()?, "the restarted exchange hangs up");
        Ok(())
    }

    /// What is to be asked now: what was not answered, or something new.
    pub fn choose_next(&mut self) -> Sent {
        let sent = self.unanswered.take().unwrap_or_else(|| self.choose());
        self.unanswered = Some(sent.clone());
        sent
    }

    /// Whether something was sent, and not answered.
    pub fn is_waiting(&self) -> bool {
        self.unanswered.is_some()
    }

    fn choose(&mut self) -> Sent {
        let cancels = self.resting.len() > RESTING_MAX || self.random.below(100) < 40;
        if cancels && !self.resting.is_empty() {
            let at = self.random.below(self.resting.len() as u32) as usize;
            return Sent::Cancel(self.resting[at].clone());
        }
        let wish = Wish {
            number: self.next,
            is_buy: self.random.below(2) == 0,
            price: i64::from(PRICE_FROM + self.random.below(PRICES)),
            quantity: i64::from(1 + self.random.below(100)),
            tif: ["gtc", "gtc", "gtc", "gtc", "gtc", "gtc", "ioc", "post_only"]
                [self.random.below(8) as usize],
        };
        self.next += 1;
        Sent::Place(wish)
    }

    /// Sends one request and takes the answer in.
    ///
    /// Errors: an answer that the exchange must never give.
    pub async fn send(&mut self, connection: &mut Connection, sent: &Sent) -> Result<Outcome> {
        let key = &self.key;
        let request = match sent {
            Sent::Place(wish) => {
                let headers = format!("{key}idempotency-key: wish-{}\r\n", wish.number);
                api::request("POST", "/spot/orders", &headers, Some(&wish.body()))
            }
            Sent::Cancel(id) => api::request("DELETE", &format!("/spot/orders/{id}"), key, None),
        };
        let Ok(answer) = connection.call(&request).await else { return Ok(Outcome::Lost) };
        let is_replayed =
            answer.head.windows(20).any(|part| part.eq_ignore_ascii_case(b"idempotency-replayed"));
        let as_of = named(&answer);
        let (status, body) = (answer.status, answer.body.to_vec());
        let said = || String::from_utf8_lossy(&body).into_owned();
        // 409: the try before is still running there.
        if matches!(status, 409 | 503) {
            return Ok(Outcome::Refused(said()));
        }
        // A host that follows may not have heard of a key.
        if as_of.is_some() && matches!(status, 401 | 403) {
            return Ok(Outcome::Refused(said()));
        }
        // The exchange does not know itself what became of it.
        if status == 500 && said().contains("DB_ERROR") {
            return Ok(Outcome::Lost);
        }
        let mut told = None;
        match sent {
            Sent::Place(wish) => match status {
                200 => {
                    let order: OrderAnswer =
                        serde_json::from_slice(&body).with_context(|| format!("cannot read {}", said()))?;
                    told = Some(shown(&order)?);
                    self.placed(order.id, wish, order.status, order.fills)?;
                }
                400 => {
                    let refusal: Refusal =
                        serde_json::from_slice(&body).with_context(|| format!("cannot read {}", said()))?;
                    let Some(id) =
                        refusal.order_id.filter(|_| STORED_REFUSALS.contains(&refusal.error.as_str()))
                    else {
                        bail!("trader {}: {wish:?} was refused: {}", self.number, said())
                    };
                    told = Some(Shown {
                        order: order_number(&id).context("no UUID of an order")?,
                        status: Status::Rejected,
                        quantity: parse(&wish.quantity_text())?,
                        filled: 0,
                    });
                    self.placed(id, wish, "rejected".to_owned(), Vec::new())?;
                }
                _ => bail!("trader {}: {wish:?} was answered {status} {}", self.number, said()),
            },
            Sent::Cancel(id) => {
                let status = match status {
                    200 => {
                        let order: OrderAnswer = serde_json::from_slice(&body)
                            .with_context(|| format!("cannot read {}", said()))?;
                        told = Some(shown(&order)?);
                        "canceled"
                    }
                    // It ended before: filled, or canceled by the same request before the kill.
                    404 if self.is_of_one => "ended",
                    404 => DOUBTFUL,
                    _ => bail!("trader {}: cancel of {id} was answered {status} {}", self.number, said()),
                };
                self.orders.get_mut(id).context("only known orders are canceled")?.status = status.to_owned();
                self.resting.retain(|other| other != id);
                self.fresh.push(id.clone());
            }
        }
        self.answers += 1;
        self.had_happened += u64::from(is_replayed);
        self.unanswered = None;
        Ok(told.map_or(Outcome::Ruled(as_of), Outcome::Told))
    }

    fn placed(&mut self, id: String, wish: &Wish, status: String, fills: Vec<FillAnswer>) -> Result<()> {
        let known = Known { wish: wish.clone(), status, fills };
        if known.may_rest() {
            self.resting.push(id.clone());
        }
        self.fresh.push(id.clone());
        let before = self.orders.insert(id.clone(), known);
        ensure!(before.is_none(), "trader {}: two requests were answered with order {id}", self.number);
        Ok(())
    }
}

/// What an answer says of an order.
fn shown(order: &OrderAnswer) -> Result<Shown> {
    let status = match order.status.as_str() {
        "open" => Status::Open,
        "partially_filled" => Status::PartiallyFilled,
        "filled" => Status::Filled,
        "canceled" => Status::Canceled,
        "rejected" => Status::Rejected,
        other => bail!("the status `{other}` is none"),
    };
    let order_id = order_number(&order.id).context("no UUID of an order")?;
    Ok(Shown {
        order: order_id,
        status,
        quantity: parse(&order.quantity)?,
        filled: parse(&order.filled_qty)?,
    })
}

fn parse(text: &str) -> Result<i64> {
    Ok(i64::try_from(parse_decimal(text, 8).with_context(|| format!("`{text}` is no decimal"))?)?)
}

/// The number that a UUID of an order spells: its first 60 bits but for the version.
pub fn order_number(uuid: &str) -> Option<u64> {
    let digits: String = uuid.split('-').take(3).collect();
    let value = u64::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 16)?;
    Some(value >> 16 << 12 | value & 0xfff)
}
