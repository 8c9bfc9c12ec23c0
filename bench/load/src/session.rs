//! A session of traders whose orders are drawn from a seed, on markets that an exchange lists, wherever it runs.
//!
//! Each trader has an account and a connection of its own, places limit orders around one price, most of which rest, and cancels the
//! oldest; some take. What is drawn depends on the seed and on nothing that the exchange answers, but for which orders are left to be
//! canceled. Accounts are credited, which only test deployments let an operator do.

use super::api::{self, OrderAnswer, QUOTE_TOKEN};
use super::connection::Connection;
use super::decimal::{decimal, parse_decimal};
use super::drive::Turn;
use super::signed::Signing;
use super::wallet::Wallet;
use anyhow::{Context, Result, ensure};
use hdrhistogram::Histogram;
use ringside_bench::op::Random;
use ringside_bench::report;
use serde::Deserialize;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

/// Decimals of prices and quantities as they are handled here.
const DECIMALS: u32 = 8;
const ONE: i64 = 10_i64.pow(DECIMALS);
/// Of each token.
const CREDIT: &str = "1000000000";
/// Of margin.
const MARGIN: &str = "10000000";
/// Orders that a trader leaves in the book.
const RESTING_MAX: usize = 24;
/// How far orders rest from the price, in hundred thousandths of it, at most; and how far the takers' limit is beyond it.
const AWAY: u32 = 300;

/// Which API a market is traded by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Venue {
    /// `/api/v1/spot`, by the key alone.
    Spot,
    /// `/fapi`, signed.
    Perpetual,
}

/// A market as far as orders must fit it; all numbers of [`DECIMALS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Market {
    /// By which API.
    pub venue: Venue,
    /// Its name.
    pub symbol: String,
    tick: i64,
    lot: i64,
    least_notional: i64,
    /// Around which orders are placed.
    price: i64,
    /// Tokens that its traders need.
    tokens: [String; 2],
}

#[derive(Deserialize)]
struct Listed {
    id: String,
    base_token: String,
    quote_token: String,
    tick_size: String,
    lot_size: String,
    min_notional: String,
}

#[derive(Deserialize)]
struct ExchangeInfo {
    symbols: Vec<ListedSymbol>,
}

#[derive(Deserialize)]
struct ListedSymbol {
    symbol: String,
    filters: Vec<Filter>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Filter {
    filter_type: String,
    tick_size: Option<String>,
    step_size: Option<String>,
    notional: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PremiumIndex {
    mark_price: String,
}

fn number(text: &str) -> Result<i64> {
    let value = parse_decimal(text, DECIMALS).and_then(|value| i64::try_from(value).ok());
    value.with_context(|| format!("{text} is no number of {DECIMALS} decimals"))
}

impl Market {
    /// The spot market of a name, or the first that is listed.
    pub async fn spot(connection: &mut Connection, symbol: Option<&str>) -> Result<Market> {
        let listed: Vec<Listed> =
            api::ask(connection, &api::request("GET", "/spot/markets", "", None)).await?;
        let wanted = |market: &Listed| symbol.is_none_or(|symbol| market.id.eq_ignore_ascii_case(symbol));
        let listed = listed.into_iter().find(wanted).context("there is no such spot market")?;
        let path = format!("/spot/depth?symbol={}&limit=5", listed.id);
        let depth: api::DepthAnswer = api::ask(connection, &api::request("GET", &path, "", None)).await?;
        let best = |levels: &[(String, String)]| levels.first().map(|(price, _)| number(price)).transpose();
        // Of an empty book any price will do.
        let price = match (best(&depth.bids)?, best(&depth.asks)?) {
            (Some(bid), Some(ask)) => bid / 2 + ask / 2,
            (bid, ask) => bid.or(ask).unwrap_or(ONE),
        };
        Ok(Market {
            venue: Venue::Spot,
            tick: number(&listed.tick_size)?,
            lot: number(&listed.lot_size)?,
            least_notional: number(&listed.min_notional)?,
            price,
            symbol: listed.id,
            tokens: [listed.base_token, listed.quote_token],
        })
    }

    /// The perpetual market of a name.
    pub async fn perpetual(connection: &mut Connection, symbol: &str) -> Result<Market> {
        let symbol = symbol.to_ascii_uppercase();
        let path = "/fapi/v1/exchangeInfo";
        let info: ExchangeInfo = api::ask(connection, &api::request_at("GET", path, "", None)).await?;
        let listed = info.symbols.into_iter().find(|listed| listed.symbol == symbol);
        let listed = listed.with_context(|| format!("there is no perpetual market {symbol}"))?;
        let of = |kind: &str, field: fn(&Filter) -> &Option<String>| {
            let filter = listed.filters.iter().find(|filter| filter.filter_type == kind);
            let text = filter.and_then(|filter| field(filter).as_deref());
            number(text.with_context(|| format!("{symbol} has no {kind}"))?)
        };
        let (tick, lot, least_notional) = (
            of("PRICE_FILTER", |filter| &filter.tick_size)?,
            of("LOT_SIZE", |filter| &filter.step_size)?,
            of("MIN_NOTIONAL", |filter| &filter.notional)?,
        );
        let path = format!("/fapi/v1/premiumIndex?symbol={symbol}");
        let index: PremiumIndex = api::ask(connection, &api::request_at("GET", &path, "", None)).await?;
        let price = number(&index.mark_price)?;
        let tokens = [QUOTE_TOKEN.to_owned(), QUOTE_TOKEN.to_owned()];
        Ok(Market { venue: Venue::Perpetual, symbol, tick, lot, least_notional, price, tokens })
    }

    /// A price so many hundred thousandths above or below the market's, on a tick and at least one away.
    fn price_at(&self, away: u32, is_above: bool) -> i64 {
        let far = (self.price / 100_000 * i64::from(away)).max(self.tick);
        let price = if is_above { self.price + far } else { self.price - far };
        (price / self.tick).max(1) * self.tick
    }

    /// A quantity of so many times the least notional, on a lot.
    fn quantity(&self, times: u32) -> i64 {
        let notional = i128::from(self.least_notional.max(self.tick)) * i128::from(times);
        let quantity = notional * i128::from(ONE) / i128::from(self.price.max(1));
        let lots = quantity / i128::from(self.lot) + 1;
        i64::try_from(lots).unwrap_or(i64::MAX / self.lot).saturating_mul(self.lot)
    }
}

/// What an order is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Order {
    is_buy: bool,
    /// Ends at once, whatever it found.
    takes: bool,
    price: i64,
    quantity: i64,
}

/// What a trader does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Place(Order),
    CancelOldest,
}

/// Draws a trader's deeds; `resting` orders are left to be canceled.
fn draw(random: &mut Random, market: &Market, resting: usize) -> Deed {
    let (cancels, takes) = (random.below(100) < 35, random.below(100) < 12);
    let (is_buy, away, times) = (random.below(2) == 0, 1 + random.below(AWAY), 2 + random.below(6));
    if resting >= RESTING_MAX || (cancels && resting > 0) {
        return Deed::CancelOldest;
    }
    let price = market.price_at(if takes { AWAY } else { away }, is_buy == takes);
    Deed::Place(Order { is_buy, takes, price, quantity: market.quantity(times) })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Placed {
    order_id: u64,
    status: String,
}

/// Code of a refusal, whatever the API calls it.
#[derive(Deserialize)]
struct Refused {
    code: Option<serde_json::Value>,
    error: Option<String>,
}

/// A trader with an account and a connection of its own.
pub struct Trader {
    connection: Connection,
    market: Rc<Market>,
    key: Signing,
    random: Random,
    resting: VecDeque<String>,
    /// Answers by status, with the code of refusals.
    pub answers: BTreeMap<String, u64>,
    /// From sending an order to its answer.
    pub placed: Histogram<u64>,
    /// From sending a cancel to its answer.
    pub canceled: Histogram<u64>,
}

impl Trader {
    /// Trader `index` of the session of `seed`: logged in, with a key, credited for its market.
    pub async fn open(
        address: SocketAddr,
        admin_key: &str,
        market: Rc<Market>,
        seed: u64,
        index: u32,
    ) -> Result<Trader> {
        let mut connection = Connection::open(address).await?;
        let wallet = Wallet::from_seed(seed, index);
        let token = api::login(&mut connection, &wallet).await?;
        let (key, secret) = api::create_signing_key(&mut connection, &token).await?;
        match market.venue {
            Venue::Perpetual => {
                api::credit_perpetual(&mut connection, admin_key, &wallet, MARGIN).await?;
            }
            Venue::Spot => {
                for token in &market.tokens {
                    api::credit(&mut connection, admin_key, &wallet, token, CREDIT).await?;
                }
            }
        }
        let random = Random::new(seed ^ u64::from(index).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (placed, canceled) = (report::histogram(), report::histogram());
        let (key, resting, answers) = (Signing { key, secret }, VecDeque::new(), BTreeMap::new());
        Ok(Trader { connection, market, key, random, resting, answers, placed, canceled })
    }

    /// Forgets what was counted: a warm-up is over.
    pub fn begin(&mut self) {
        self.answers.clear();
        self.placed.reset();
        self.canceled.reset();
    }

    fn request(&self, deed: Deed, id: Option<&str>) -> Result<Vec<u8>> {
        let symbol = &self.market.symbol;
        let header = || api::key_header(&self.key.key);
        Ok(match (deed, self.market.venue) {
            (Deed::CancelOldest, Venue::Spot) => {
                api::request("DELETE", &format!("/spot/orders/{}", id.unwrap_or_default()), &header(), None)
            }
            (Deed::CancelOldest, Venue::Perpetual) => {
                let params = format!("symbol={symbol}&orderId={}", id.unwrap_or_default());
                self.key.request("DELETE", "/v1/order", &params)?
            }
            (Deed::Place(order), venue) => {
                let (price, quantity) = (decimal(order.price, DECIMALS), decimal(order.quantity, DECIMALS));
                let side = if order.is_buy { "BUY" } else { "SELL" };
                let tif = if order.takes { "IOC" } else { "GTC" };
                match venue {
                    Venue::Spot => {
                        let body = serde_json::json!({
                            "symbol": symbol, "side": side, "type": "limit", "tif": tif, "price": price,
                            "quantity": quantity,
                        });
                        api::request("POST", "/spot/orders", &header(), Some(&body.to_string()))
                    }
                    Venue::Perpetual => {
                        let params = format!(
                            "symbol={symbol}&side={side}&type=LIMIT&timeInForce={tif}&quantity={quantity}&price={price}"
                        );
                        self.key.request("POST", "/v1/order", &params)?
                    }
                }
            }
        })
    }
}

impl Turn for Trader {
    /// Sends what is drawn next. A refusal is an answer like another; an error is no answer, or one that is none.
    async fn turn(&mut self) -> Result<()> {
        let deed = draw(&mut self.random, &self.market, self.resting.len());
        let oldest = if deed == Deed::CancelOldest { self.resting.pop_front() } else { None };
        let request = self.request(deed, oldest.as_deref())?;
        let sent = Instant::now();
        let answer = self.connection.call(&request).await.context("the exchange does not answer")?;
        let took = u64::try_from(sent.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let histogram = if deed == Deed::CancelOldest { &mut self.canceled } else { &mut self.placed };
        histogram.saturating_record(took);
        let status = answer.status;
        if status == 200 {
            if let Deed::Place(order) = deed
                && !order.takes
                && let Some(id) = left(self.market.venue, answer.body)?
            {
                self.resting.push_back(id);
            }
            *self.answers.entry("200".to_owned()).or_default() += 1;
            return Ok(());
        }
        let said = String::from_utf8_lossy(answer.body).into_owned();
        let refused = serde_json::from_str::<Refused>(&said);
        let code =
            refused.ok().and_then(|refused| refused.code.map(|code| code.to_string()).or(refused.error));
        ensure!(code.is_some(), "{status}: {said}");
        *self.answers.entry(format!("{status} {}", code.unwrap_or_default())).or_default() += 1;
        Ok(())
    }
}

/// The id of an order that was placed and is in the book.
fn left(venue: Venue, body: &[u8]) -> Result<Option<String>> {
    let said = || format!("no order: {}", String::from_utf8_lossy(body));
    Ok(match venue {
        Venue::Spot => {
            let order: OrderAnswer = serde_json::from_slice(body).with_context(said)?;
            matches!(order.status.as_str(), "open" | "partially_filled").then_some(order.id)
        }
        Venue::Perpetual => {
            let order: Placed = serde_json::from_slice(body).with_context(said)?;
            matches!(order.status.as_str(), "NEW" | "PARTIALLY_FILLED").then(|| order.order_id.to_string())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn market(tick: i64, lot: i64, price: i64) -> Market {
        let tokens = ["A".to_owned(), "B".to_owned()];
        let (venue, symbol) = (Venue::Spot, "AB".to_owned());
        Market { venue, symbol, tick, lot, least_notional: 5 * ONE, price, tokens }
    }

    #[test]
    fn orders_fit_their_market_and_a_seed_draws_them_again() {
        for market in [market(ONE / 10, ONE / 1_000, 60_000 * ONE), market(10_000, ONE / 10, ONE / 5)] {
            let mut streams = [1, 1, 2].map(Random::new);
            let drawn = streams
                .each_mut()
                .map(|random| (0..2_000).map(|turn| draw(random, &market, turn % 30)).collect::<Vec<_>>());
            assert_eq!(drawn[0], drawn[1]);
            assert_ne!(drawn[0], drawn[2]);
            let (mut takes, mut cancels) = (0, 0);
            for deed in &drawn[0] {
                let Deed::Place(order) = deed else {
                    cancels += 1;
                    continue;
                };
                takes += u32::from(order.takes);
                assert!(order.price > 0 && order.price % market.tick == 0, "{order:?}");
                assert!(order.quantity > 0 && order.quantity % market.lot == 0, "{order:?}");
                let notional = i128::from(order.price) * i128::from(order.quantity) / i128::from(ONE);
                assert!(notional >= i128::from(market.least_notional), "{order:?}");
                // What rests does not cross what others rest.
                assert_eq!(order.price > market.price, order.is_buy == order.takes, "{order:?}");
            }
            assert!(takes > 50 && cancels > 400, "{takes} {cancels}");
        }
    }
}
