//! What one operator at a time moved of the venue's own money within the last day, so that a bound on what one may do holds over time
//! and not for each request. In memory: a restart begins anew.

use parking_lot::Mutex;
use ringside_core::ids::AssetName;
use ringside_core::money::Amount;

/// A move counts for a day after the hour in which it was made.
const HOURS: i64 = 25;
const HOUR_MS: i64 = 3_600_000;

/// Sums by asset and hour, oldest first. All operators count together: a name that nobody proved is no bound.
#[derive(Default)]
pub struct Alone(Mutex<Vec<Hour>>);

struct Hour {
    number: i64,
    asset: AssetName,
    moved: Amount,
}

/// A move that was counted.
#[derive(Debug)]
pub struct Counted {
    number: i64,
    asset: AssetName,
    amount: Amount,
}

impl Alone {
    /// Counts a move of an amount above 0; `None` where it and what was counted of its asset would be above `bound` together.
    pub fn count(&self, asset: AssetName, amount: Amount, bound: Amount, now_ms: i64) -> Option<Counted> {
        let number = now_ms.div_euclid(HOUR_MS);
        let mut hours = self.0.lock();
        hours.retain(|hour| number - hour.number < HOURS);
        let moved = hours
            .iter()
            .filter(|hour| hour.asset == asset)
            .try_fold(amount, |sum, hour| sum.checked_add(hour.moved));
        moved.filter(|moved| *moved <= bound)?;
        match hours.iter_mut().find(|hour| (hour.number, hour.asset) == (number, asset)) {
            Some(hour) => hour.moved += amount,
            None => hours.push(Hour { number, asset, moved: amount }),
        }
        Some(Counted { number, asset, amount })
    }

    /// Forgets a move that did not come about.
    pub fn forget(&self, counted: Counted) {
        let Counted { number, asset, amount } = counted;
        let mut hours = self.0.lock();
        if let Some(hour) = hours.iter_mut().find(|hour| (hour.number, hour.asset) == (number, asset)) {
            hour.moved -= amount;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringside_core::ids::padded;

    #[test]
    fn parts_of_a_sum_are_bound_as_the_whole() {
        let alone = Alone::default();
        let [usdt, df] = ["USDT", "DF"].map(|name| padded(name).unwrap());
        let count = |asset, amount, now_ms| alone.count(asset, amount, 10, now_ms);
        assert!(count(usdt, 11, 0).is_none());
        assert!(count(usdt, 4, 0).is_some());
        let failed = count(usdt, 6, HOUR_MS).unwrap();
        assert!(count(usdt, 1, HOUR_MS).is_none());
        assert!(count(df, 10, HOUR_MS).is_some(), "each asset by itself");
        alone.forget(failed);
        assert!(count(usdt, 6, HOUR_MS).is_some());
        assert!(count(usdt, 1, 24 * HOUR_MS).is_none(), "the first may be less than a day old");
        assert!(count(usdt, 4, 25 * HOUR_MS).is_some());
        assert!(count(usdt, 1, 25 * HOUR_MS).is_none());
        assert!(count(usdt, Amount::MAX, 26 * HOUR_MS).is_none());
    }
}
