//! Places in the auto-deleveraging order (`risk.md` 12.5, `perpetual.md` 9), worked out at most every 30 seconds.
//!
//! The ranking is the engine's own arithmetic over what the views hold. It looks at every position, so it goes in stretches: the
//! views are held for a few accounts at a time, and while one request works it out others are answered from the last one.

use parking_lot::Mutex;
use ringside_core::command::Side;
use ringside_core::ids::{AccountId, FEE_ACCOUNT, MarketId};
use ringside_core::money::Money;
use ringside_core::risk::perpetual::adl::{Place, quantile};
use ringside_core::risk::perpetual::takeover::{Fund, may_take};
use ringside_dialect::fapi::margin;
use ringside_views::SharedViews;
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
    crowds: HashMap<MarketId, Crowd>,
}

/// The positions of a market at its mark, without the insurance fund's.
#[derive(Clone, Copy, Debug, Default)]
struct Crowd {
    greatest: Money,
    larger_side: i128,
}

/// How near a market's next liquidation is to auto-deleveraging (`risk.md` 12.4): what the fund could take over of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Risk {
    /// Every position of a side.
    Low,
    /// Any one position.
    Medium,
    /// Not even the largest one.
    High,
}

impl Ranking {
    /// From 0 to 4, 4 first to go; 0 for who had no position.
    pub fn quantile(&self, market: MarketId, account: AccountId) -> u8 {
        self.places.get(&(market, account)).copied().unwrap_or(0)
    }

    /// When it was worked out, UNIX milliseconds.
    pub const fn at_ms(&self) -> i64 {
        self.at_ms
    }

    /// What a fund that stands so could take over of a market.
    pub fn risk(&self, market: MarketId, fund: Fund) -> Risk {
        let crowd = self.crowds.get(&market).copied().unwrap_or_default();
        let takes = |more: i128| {
            let notional = Money::try_from(i128::from(fund.notional) + more).unwrap_or(Money::MAX);
            more == 0 || may_take(Fund { notional, ..fund }, fund.equity)
        };
        match (takes(crowd.larger_side), takes(crowd.greatest.into())) {
            (true, _) => Risk::Low,
            (false, true) => Risk::Medium,
            (false, false) => Risk::High,
        }
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
    let mut ranking = Ranking { at_ms: now_ms, places: HashMap::new(), crowds: HashMap::new() };
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
        let mut crowd = Crowd::default();
        for mut side in [longs, shorts] {
            let sum = side.iter().map(|place| i128::from(place.notional())).sum();
            let greatest = side.iter().map(|place| place.notional()).max().unwrap_or(0);
            crowd.larger_side = crowd.larger_side.max(sum);
            crowd.greatest = crowd.greatest.max(greatest);
            side.sort_unstable();
            let count = side.len() as u64;
            let places = (0..).zip(&side);
            ranking.places.extend(
                places.map(|(place, candidate)| ((market, candidate.account()), quantile(place, count))),
            );
        }
        ranking.crowds.insert(market, crowd);
    }
    ranking
}
