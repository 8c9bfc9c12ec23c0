//! One account of the perpetual venue: places, shortens and cancels through `/fapi` as fast as it is answered, and
//! remembers what it was told.
//!
//! `/fapi` has no idempotency keys. What was not answered is looked up by the client's own name for the order, and sent again
//! only where the exchange knows nothing of it, as programs for this API do.

use super::{DOUBTFUL, Outcome, Shown, Status, named};
use anyhow::{Context, Result, bail, ensure};
use ringside_bench::op::Random;
use ringside_load::connection::Connection;
use ringside_load::decimal::{decimal, parse_decimal};
use ringside_load::signed::Signing;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

/// The market, which every test deployment ships with its index pinned.
pub const SYMBOL: &str = "BTCUSDT";
/// Prices and quantities of the API.
pub const DECIMALS: u32 = 8;
/// Wallet of each account, whole USDT: no position that the load can come to needs more.
pub const CREDIT: i128 = 100_000_000;
/// Orders are placed at this many ticks of 0.1 from 60,000 less half of them.
const PRICES: u32 = 24;
const TICK: i64 = 10_000_000;
const LOT: i64 = 100_000;
const CENTRE: i64 = 60_000 * 100_000_000;
/// Beyond this many orders that may still rest or wait, the trader only cancels.
const OPEN_MAX: usize = 40;
/// Longest pause between an answer and the next request.
const PAUSE_MAX_US: u32 = 8_000;
/// Codes of the API.
const UNKNOWN_ORDER: i64 = -2011;
const NO_SUCH_ORDER: i64 = -2013;
const WOULD_CROSS: [i64; 2] = [-2010, -5022];
const MARKET_CLOSED: i64 = -4140;
/// What a 503 says where it is not known what became of the request.
const UNKNOWN: &str = "Unknown error";

/// What an order is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A limit order with its time in force.
    Limit(&'static str),
    /// At what the book offers.
    Market,
    /// Waits for a price that does not come.
    Stop,
}

/// An order as the trader wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Number in its name.
    pub number: u64,
    /// Side.
    pub is_buy: bool,
    /// See there.
    pub form: Form,
    /// Limit price, or the price waited for; 0 for a market order. Steps of 10^-8.
    pub price: i64,
    /// Steps of 10^-8.
    pub quantity: i64,
}

impl Wish {
    fn params(&self) -> String {
        let side = if self.is_buy { "BUY" } else { "SELL" };
        let (price, quantity) = (decimal(self.price, DECIMALS), decimal(self.quantity, DECIMALS));
        let mut text = format!("symbol={SYMBOL}&side={side}&newClientOrderId={}", self.name());
        let _ = match self.form {
            Form::Limit(tif) => write!(
                text,
                "&type=LIMIT&timeInForce={tif}&price={price}&quantity={quantity}&selfTradePreventionMode=EXPIRE_TAKER"
            ),
            Form::Market => {
                write!(text, "&type=MARKET&quantity={quantity}&selfTradePreventionMode=EXPIRE_TAKER")
            }
            Form::Stop => write!(text, "&type=STOP_MARKET&stopPrice={price}&quantity={quantity}"),
        };
        text
    }

    /// The client's name of the order.
    pub fn name(&self) -> String {
        format!("kill-{}", self.number)
    }
}

/// An order that the exchange has acknowledged.
#[derive(Clone, Debug)]
pub struct Known {
    /// As ordered, and as shortened since.
    pub wish: Wish,
    /// The last status that an answer showed.
    pub status: String,
    /// What was executed when it was answered.
    pub filled: i64,
}

impl Known {
    /// Whether no answer has said that it ended.
    pub fn is_open(&self) -> bool {
        matches!(self.status.as_str(), "NEW" | "PARTIALLY_FILLED")
    }
}

/// A request that was sent.
#[derive(Clone, Debug)]
pub enum Sent {
    /// A new order.
    Place(Wish),
    /// The end of the order with this id.
    Cancel(u64),
    /// Shortens an order to a quantity, its place in the queue kept.
    Shorten(u64, i64),
}

/// An order as answered.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderRow {
    /// Its id.
    pub order_id: u64,
    /// See the API.
    pub status: String,
    /// The client's name.
    pub client_order_id: String,
    /// Limit price, `0` for a market order.
    pub price: String,
    /// Price waited for, `0` for none.
    pub stop_price: String,
    /// As ordered.
    pub orig_qty: String,
    /// Traded so far.
    pub executed_qty: String,
    /// `BUY` or `SELL`.
    pub side: String,
}

#[derive(Deserialize)]
struct Refusal {
    code: i64,
}

/// See the module.
pub struct FuturesTrader {
    /// Its number.
    pub number: u32,
    pub(super) signing: Signing,
    random: Random,
    next: u64,
    /// Every order it was told of, by id.
    pub orders: BTreeMap<u64, Known>,
    /// Those that no answer has ended.
    pub open: Vec<u64>,
    /// See [`super::trader::Trader::is_of_one`].
    pub is_of_one: bool,
    /// Ids told or asked about since the last audit.
    pub fresh: Vec<u64>,
    unanswered: Option<Sent>,
    /// Sent, and nobody knows what became of it.
    unsure: Vec<Sent>,
    /// Answers, and among them those to requests looked up after a kill.
    pub answers: u64,
    /// See `answers`.
    pub looked_up: u64,
    /// Requests looked up that had happened before the kill.
    pub had_happened: u64,
}

impl FuturesTrader {
    /// A trader with a key and its secret.
    pub fn new(number: u32, key: String, secret: String, seed: u64) -> FuturesTrader {
        FuturesTrader {
            number,
            signing: Signing { key, secret },
            random: Random::new(!seed ^ (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            next: 1,
            orders: BTreeMap::new(),
            open: Vec::new(),
            is_of_one: true,
            fresh: Vec::new(),
            unanswered: None,
            unsure: Vec::new(),
            answers: 0,
            looked_up: 0,
            had_happened: 0,
        }
    }

    /// Asks, and reads what must be an answer and no refusal.
    pub async fn ask<T: DeserializeOwned>(
        &self,
        connection: &mut Connection,
        path: &str,
        params: &str,
    ) -> Result<T> {
        let request = self.signing.request("GET", path, params)?;
        let answer = connection.call(&request).await.context("the exchange does not answer")?;
        let said = || format!("{path}?{params}: {} {}", answer.status, String::from_utf8_lossy(answer.body));
        ensure!(answer.status == 200, "{}", said());
        serde_json::from_slice(answer.body).with_context(said)
    }

    /// One order, if the exchange knows it. `by` chooses it.
    async fn find(&self, connection: &mut Connection, by: &str) -> Result<Option<OrderRow>> {
        let request = self.signing.request("GET", "/v1/order", &format!("symbol={SYMBOL}&{by}"))?;
        let answer = connection.call(&request).await.context("the exchange does not answer")?;
        match answer.status {
            200 => Ok(Some(serde_json::from_slice(answer.body)?)),
            _ if code(answer.body) == Some(NO_SUCH_ORDER) => Ok(None),
            status => bail!("order {by}: {status} {}", String::from_utf8_lossy(answer.body)),
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
            let pause = Duration::from_micros(u64::from(self.random.below(PAUSE_MAX_US)));
            tokio::time::sleep(pause).await;
        }
    }

    /// Finds out what became of the request that was not answered, and sends it again if nothing did. To be called after a
    /// restart, before trading goes on.
    pub async fn resolve(&mut self, address: SocketAddr) -> Result<()> {
        let Some(sent) = self.unanswered.take() else { return Ok(()) };
        let mut connection = Connection::open(address).await?;
        self.looked_up += 1;
        let found = match &sent {
            Sent::Place(wish) => {
                let by = format!("origClientOrderId={}", wish.name());
                self.find(&mut connection, &by).await?.map(|row| (row, wish.clone()))
            }
            // A second cancel does nothing that the first did not.
            Sent::Cancel(_) => None,
            Sent::Shorten(id, quantity) => {
                let row = self.find(&mut connection, &format!("orderId={id}")).await?;
                let row = row.context("an acknowledged order is lost")?;
                let wish = self.shortened(&row, *quantity)?;
                let is_done = row.status == "CANCELED" || steps(&row.orig_qty)? == i128::from(*quantity);
                is_done.then_some((row, wish))
            }
        };
        if let Some((row, wish)) = found {
            self.had_happened += 1;
            return self.told(row, wish);
        }
        self.unanswered = Some(sent.clone());
        let outcome = self.send(&mut connection, &sent).await?;
        ensure!(outcome.is_answered()?, "the restarted exchange hangs up");
        Ok(())
    }

    /// What is to be asked now: what was refused for the time being, or something new.
    pub fn choose_next(&mut self) -> Sent {
        let sent = self.unanswered.take().unwrap_or_else(|| self.choose());
        self.unanswered = Some(sent.clone());
        sent
    }

    /// Puts what was sent aside, until [`FuturesTrader::settle`] finds out what became of it: a name counts among open orders alone, so
    /// that it may not be sent again before that.
    pub fn put_aside(&mut self) {
        let Some(sent) = self.unanswered.take() else { return };
        match sent {
            Sent::Place(_) => {}
            Sent::Cancel(id) | Sent::Shorten(id, _) => self.open.retain(|other| *other != id),
        }
        self.unsure.push(sent);
    }

    /// Finds out what became of what was put aside; nothing is sent again. The exchange is quiet.
    ///
    /// Errors: no answer, an acknowledged order that is not there.
    pub async fn settle(&mut self, connection: &mut Connection) -> Result<()> {
        // Nothing of it was done.
        self.unanswered = None;
        for sent in std::mem::take(&mut self.unsure) {
            self.looked_up += 1;
            let by = match &sent {
                Sent::Place(wish) => format!("origClientOrderId={}", wish.name()),
                Sent::Cancel(id) | Sent::Shorten(id, _) => format!("orderId={id}"),
            };
            let row = self.find(connection, &by).await?;
            match (sent, row) {
                (Sent::Place(_), None) => {}
                (Sent::Place(wish), Some(row)) => {
                    self.had_happened += 1;
                    self.told(row, wish)?;
                }
                (Sent::Cancel(_) | Sent::Shorten(..), None) => bail!("the acknowledged order {by} is lost"),
                (Sent::Cancel(id), Some(row)) => {
                    let wish = self.orders.get(&id).context("only known orders are canceled")?.wish.clone();
                    self.had_happened += u64::from(row.status == "CANCELED");
                    self.told(row, wish)?;
                }
                (Sent::Shorten(id, quantity), Some(row)) => {
                    let before =
                        self.orders.get(&id).context("only known orders are shortened")?.wish.clone();
                    let is_done = steps(&row.orig_qty)? == i128::from(quantity);
                    self.had_happened += u64::from(is_done);
                    let wish = if is_done { Wish { quantity, ..before } } else { before };
                    self.told(row, wish)?;
                }
            }
        }
        Ok(())
    }

    /// One of its orders that is open, for all it knows.
    pub fn any_open(&mut self) -> Option<u64> {
        let at = self.random.below(self.open.len().max(1) as u32) as usize;
        self.open.get(at).copied()
    }

    /// The order as a host shows it, and the sequence that its answer names; nothing where it does not know the order, or not the key.
    pub async fn look(&self, connection: &mut Connection, id: u64) -> Result<Option<(Shown, Option<u64>)>> {
        let request = self.signing.request("GET", "/v1/order", &format!("symbol={SYMBOL}&orderId={id}"))?;
        let Ok(answer) = connection.call(&request).await else { return Ok(None) };
        if answer.status != 200 {
            return Ok(None);
        }
        let named = named(&answer);
        Ok(Some((shown(&serde_json::from_slice(answer.body)?)?, named)))
    }

    fn choose(&mut self) -> Sent {
        let pick = self.random.below(100);
        if !self.open.is_empty() && (self.open.len() > OPEN_MAX || pick < 35) {
            let at = self.random.below(self.open.len() as u32) as usize;
            return Sent::Cancel(self.open[at]);
        }
        if !self.open.is_empty() && pick < 50 {
            let at = self.random.below(self.open.len() as u32) as usize;
            let id = self.open[at];
            let known = &self.orders[&id];
            let shorter = known.wish.quantity / LOT / 2 * LOT;
            if shorter > 0 && matches!(known.wish.form, Form::Limit(_)) {
                return Sent::Shorten(id, shorter);
            }
        }
        let is_buy = self.random.below(2) == 0;
        let (form, price) = match self.random.below(12) {
            0 => (Form::Market, 0),
            1 => (Form::Stop, if is_buy { CENTRE / 10 * 11 } else { CENTRE / 10 * 9 }),
            pick => {
                let away = i64::from(self.random.below(PRICES)) - i64::from(PRICES / 2);
                let tif = match pick {
                    2 => "IOC",
                    3 => "GTX",
                    _ => "GTC",
                };
                (Form::Limit(tif), CENTRE + away * TICK)
            }
        };
        let quantity = LOT * i64::from(1 + self.random.below(40));
        let wish = Wish { number: self.next, is_buy, form, price, quantity };
        self.next += 1;
        Sent::Place(wish)
    }

    /// Sends one request and takes the answer in.
    ///
    /// Errors: an answer that the exchange must never give.
    pub async fn send(&mut self, connection: &mut Connection, sent: &Sent) -> Result<Outcome> {
        let request = match sent {
            Sent::Place(wish) => self.signing.request("POST", "/v1/order", &wish.params())?,
            Sent::Cancel(id) => {
                self.signing.request("DELETE", "/v1/order", &format!("symbol={SYMBOL}&orderId={id}"))?
            }
            Sent::Shorten(id, quantity) => {
                let wish = &self.orders[id].wish;
                let params = format!(
                    "symbol={SYMBOL}&side={}&orderId={id}&price={}&quantity={}&keepPriority=true",
                    if wish.is_buy { "BUY" } else { "SELL" },
                    decimal(wish.price, DECIMALS),
                    decimal(*quantity, DECIMALS)
                );
                self.signing.request("PUT", "/v1/order", &params)?
            }
        };
        let Ok(answer) = connection.call(&request).await else { return Ok(Outcome::Lost) };
        let as_of = named(&answer);
        let (status, body) = (answer.status, answer.body.to_vec());
        let said = || format!("{sent:?} was answered {status} {}", String::from_utf8_lossy(&body));
        if status == 503 {
            let text = String::from_utf8_lossy(&body).into_owned();
            return Ok(if text.contains(UNKNOWN) { Outcome::Lost } else { Outcome::Refused(text) });
        }
        // A host that follows may not have heard of a key.
        if as_of.is_some() && matches!(status, 401 | 403) {
            return Ok(Outcome::Refused(said()));
        }
        let told = match status {
            200 => Some(shown(&serde_json::from_slice(&body).with_context(said)?)?),
            _ => None,
        };
        match (sent, status) {
            (Sent::Place(wish), 200) => {
                let row: OrderRow = serde_json::from_slice(&body).with_context(said)?;
                ensure!(!self.orders.contains_key(&row.order_id), "two requests made one order: {}", said());
                self.told(row, wish.clone())?;
            }
            (Sent::Cancel(_), 200) => {
                let row: OrderRow = serde_json::from_slice(&body).with_context(said)?;
                let wish = self.orders.get(&row.order_id).with_context(said)?.wish.clone();
                ensure!(row.status == "CANCELED", "{}", said());
                self.told(row, wish)?;
            }
            (Sent::Shorten(_, quantity), 200) => {
                let row: OrderRow = serde_json::from_slice(&body).with_context(said)?;
                let wish = self.shortened(&row, *quantity)?;
                self.told(row, wish)?;
            }
            (Sent::Place(wish), _)
                if wish.form == Form::Limit("GTX")
                    && code(&body).is_some_and(|code| WOULD_CROSS.contains(&code)) => {}
            // An index that went stale while the exchange was down keeps its market closed until a feed speaks again.
            (Sent::Place(_), 400) if code(&body) == Some(MARKET_CLOSED) => {}
            // It ended before: filled, or canceled by the same request before the kill.
            (Sent::Cancel(id), _) if code(&body) == Some(UNKNOWN_ORDER) => self.ended(*id)?,
            // It has traded meanwhile, so that the quantity asked for no longer lowers what is open, or it has ended.
            (Sent::Shorten(id, _), 400) => self.fresh.push(*id),
            _ => bail!("trader {}: {}", self.number, said()),
        }
        self.answers += 1;
        self.unanswered = None;
        Ok(told.map_or(Outcome::Ruled(as_of), Outcome::Told))
    }

    /// What an order is after it was shortened: one that has traded as much already is canceled as it was.
    fn shortened(&self, row: &OrderRow, quantity: i64) -> Result<Wish> {
        let known = self.orders.get(&row.order_id).context("only known orders are shortened")?;
        let quantity = if row.status == "CANCELED" { known.wish.quantity } else { quantity };
        Ok(Wish { quantity, ..known.wish.clone() })
    }

    fn told(&mut self, row: OrderRow, wish: Wish) -> Result<()> {
        let filled = i64::try_from(steps(&row.executed_qty)?)?;
        let known = Known { wish, status: row.status, filled };
        self.open.retain(|id| *id != row.order_id);
        if known.is_open() {
            self.open.push(row.order_id);
        }
        self.fresh.push(row.order_id);
        self.orders.insert(row.order_id, known);
        Ok(())
    }

    fn ended(&mut self, id: u64) -> Result<()> {
        let status = if self.is_of_one { "ended" } else { DOUBTFUL };
        self.orders.get_mut(&id).context("only known orders are canceled")?.status = status.to_owned();
        self.open.retain(|other| *other != id);
        self.fresh.push(id);
        Ok(())
    }
}

/// What an answer says of an order.
fn shown(row: &OrderRow) -> Result<Shown> {
    let status = match row.status.as_str() {
        "NEW" => Status::Open,
        "PARTIALLY_FILLED" => Status::PartiallyFilled,
        "FILLED" => Status::Filled,
        "CANCELED" => Status::Canceled,
        "EXPIRED" => Status::Expired,
        "EXPIRED_IN_MATCH" => Status::ExpiredInMatch,
        other => bail!("the status `{other}` is none"),
    };
    let [quantity, filled] = [&row.orig_qty, &row.executed_qty].map(|text| steps(text));
    Ok(Shown {
        order: row.order_id,
        status,
        quantity: i64::try_from(quantity?)?,
        filled: i64::try_from(filled?)?,
    })
}

fn code(body: &[u8]) -> Option<i64> {
    serde_json::from_slice::<Refusal>(body).ok().map(|refusal| refusal.code)
}

/// A number of the API in steps of 10^-8.
pub fn steps(text: &str) -> Result<i128> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let steps = parse_decimal(digits, DECIMALS).with_context(|| format!("`{text}` is no decimal"))?;
    Ok(sign * steps)
}
