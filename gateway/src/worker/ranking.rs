//! Places in the auto-deleveraging order (`risk.md` 12.5, `perpetual.md` 9), worked out at most every 30 seconds.
//!
//! The ranking is the engine's own arithmetic over what the views hold. It looks at every position, so it goes in stretches: the
//! views are held for a few accounts at a time, and while one request works it out others are answered from the last one.

use crate::dialect::fapi::margin;
use crate::view::SharedViews;
use parking_lot::Mutex;
use ringside_core::command::Side;
use ringside_core::ids::{AccountId, FEE_ACCOUNT, MarketId};
use ringside_core::risk::perpetual::adl::{Place, quantile};
use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How old a ranking may be.
const AGE_MS: i64 = 30_000;
/// Accounts looked at under one lock.
const AT_ONCE: usize = 64;

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
    pub async fn get(&self, views: &SharedViews, now_ms: i64) -> Arc<Ranking> {
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
        let ranking = Arc::new(rank(views, now_ms).await);
        *self.known.lock() = Some(ranking.clone());
        ranking
    }
}

async fn rank(views: &SharedViews, now_ms: i64) -> Ranking {
    let mut ranking = Ranking { at_ms: now_ms, places: HashMap::new() };
    let markets: Vec<MarketId> = {
        let views = views.read();
        views.perpetuals().markets().all().iter().map(|market| market.market).collect()
    };
    for market in markets {
        let (mut longs, mut shorts): (Vec<Place>, Vec<Place>) = Default::default();
        let mut after = FEE_ACCOUNT;
        loop {
            let looked_at = {
                let views = views.read();
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
