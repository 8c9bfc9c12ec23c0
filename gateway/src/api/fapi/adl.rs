//! Places in the auto-deleveraging order (`risk.md` 12.5, `perpetual.md` 9), worked out at most every 30 seconds.
//!
//! The ranking is the engine's own arithmetic over what the views hold. It looks at every position, so it goes in stretches: the
//! views are held for a few accounts at a time, and while one request works it out others are answered from the last one.

use super::{READ, later, optional_market, params, shape, views};
use crate::api::{Answer, Call, Error, Response, Route, Shared};
use crate::dialect::fapi::margin;
use parking_lot::Mutex;
use ringside_core::command::Side;
use ringside_core::ids::{AccountId, FEE_ACCOUNT, MarketId};
use ringside_core::risk::perpetual::adl::{Place, quantile};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How old a ranking may be.
const AGE_MS: i64 = 30_000;
/// Accounts looked at under one lock.
const AT_ONCE: usize = 64;

/// Rows.
pub static ROUTES: &[Route] = &[later(
    "/fapi/v1/adlQuantile",
    READ,
    5,
    "Places in the auto-deleveraging order",
    &[shape::OF_SYMBOL],
    |call| Box::pin(quantiles(call)),
)];

/// A ranking of all positions.
#[derive(Debug, Default)]
pub struct Ranking {
    at_ms: i64,
    places: HashMap<(MarketId, AccountId), u8>,
}

impl Ranking {
    /// From 0 to 4, 4 first to go; 0 for who had no position.
    pub fn quantile(&self, market: MarketId, account: AccountId) -> u8 {
        self.places.get(&(market, account)).copied().unwrap_or(0)
    }
}

/// The last ranking.
#[derive(Debug, Default)]
pub struct Ranks {
    known: Mutex<Option<Arc<Ranking>>>,
    is_running: AtomicBool,
}

/// Says that nobody works it out any more, also where the request was given up on the way.
struct Turn<'a>(&'a AtomicBool);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // Release: whoever takes the turn next sees the ranking.
        self.0.store(false, Ordering::Release);
    }
}

impl Ranks {
    /// A ranking that is young enough, or the last one while another request works the next one out.
    pub async fn get(&self, shared: &Shared, now_ms: i64) -> Arc<Ranking> {
        let known = self.known.lock().clone();
        if let Some(known) = &known
            && (known.at_ms..known.at_ms + AGE_MS).contains(&now_ms)
        {
            return known.clone();
        }
        // Acquire: partner of the Release in `Turn`.
        let is_taken = self.is_running.swap(true, Ordering::Acquire);
        if is_taken && let Some(known) = known {
            return known;
        }
        let _turn = (!is_taken).then(|| Turn(&self.is_running));
        let ranking = Arc::new(rank(shared, now_ms).await);
        *self.known.lock() = Some(ranking.clone());
        ranking
    }
}

async fn rank(shared: &Shared, now_ms: i64) -> Ranking {
    let mut ranking = Ranking { at_ms: now_ms, places: HashMap::new() };
    let markets: Vec<MarketId> = {
        let views = shared.views.read();
        views.perpetuals().markets().all().iter().map(|market| market.market).collect()
    };
    for market in markets {
        let (mut longs, mut shorts): (Vec<Place>, Vec<Place>) = Default::default();
        let mut after = FEE_ACCOUNT;
        loop {
            let looked_at = {
                let views = shared.views.read();
                let perpetuals = views.perpetuals();
                let Some(held) = perpetuals.markets().get(market) else { break };
                let next = held.holders().range((Bound::Excluded(after), Bound::Unbounded));
                let next: Vec<AccountId> = next.take(AT_ONCE).copied().collect();
                for account in &next {
                    match margin::deleveraging_place(perpetuals, *account, held) {
                        Some((Side::Buy, place)) => longs.push(place),
                        Some((Side::Sell, place)) => shorts.push(place),
                        None => {}
                    }
                }
                after = next.last().copied().unwrap_or(after);
                next.len()
            };
            if looked_at < AT_ONCE {
                break;
            }
            tokio::task::yield_now().await;
        }
        for mut side in [longs, shorts] {
            side.sort_unstable();
            let count = side.len() as u64;
            let places = (0..).zip(&side);
            ranking.places.extend(
                places.map(|(place, candidate)| ((market, candidate.account()), quantile(place, count))),
            );
        }
    }
    ranking
}

/// The ranking for a request.
pub(super) async fn ranking(call: &Call) -> Result<Arc<Ranking>, Error> {
    drop(views(call)?);
    Ok(call.worker.shared.ranks.get(&call.worker.shared, call.now_ms).await)
}

async fn quantiles(call: Call) -> Answer {
    let params = params(&call)?;
    let chosen = { optional_market(&*views(&call)?, &params)?.map(|market| market.market) };
    let ranking = ranking(&call).await?;
    let views = views(&call)?;
    let account = views.perpetuals().accounts().get(call.account());
    let rows: Vec<Value> = views
        .perpetuals()
        .markets()
        .all()
        .iter()
        .filter(|market| chosen.is_none_or(|chosen| market.market == chosen))
        .filter_map(|market| {
            let quantity = account.holding(market.market).position.quantity;
            let quantile = ranking.quantile(market.market, call.account());
            let of = |is_it: bool| if is_it { quantile } else { 0 };
            (quantity != 0).then(|| {
                json!({
                    "symbol": market.symbol(),
                    "adlQuantile": { "LONG": of(quantity > 0), "SHORT": of(quantity < 0), "BOTH": quantile },
                })
            })
        })
        .collect();
    Ok(Response::of(&rows))
}
