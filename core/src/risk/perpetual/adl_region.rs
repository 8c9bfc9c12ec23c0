//! Where a counterparty of auto-deleveraging stands at any mark, and how high its score (`risk.md` 12.5) can be: what lets
//! the best be found without a look at all of them.
//!
//! Let `w = (E - u) / |C|`, the equity that does not hang on the mark, and `e = |C| / |q|`, the entry price. Both stay what
//! they are while marks move, and of a scope with one position they say it all: with `s` the profit over cost, which
//! follows from `e` and the mark,
//!
//! ```text
//! score / 10^8 = s / (w + s) * N / |C|     if s >= 0: falls with w
//!                s * (w + s) / (N / |C|)   if s < 0:  falls with w as well
//! ```
//!
//! So of all positions with entry prices of a range and `w` at or above a floor, no score is higher than the formula gives
//! for that floor and the ends of that range. Keys are logarithms of both, rounded down, and [`Region::bound`] goes wrong by
//! what is added to it, never the other way. A bound decides nothing: who is first is decided by scores themselves.
//!
//! Funding takes from all of a side at once, and of each in proportion to its quantity: `w` falls by what was paid per unit over
//! `e`. So nobody gets another key by it: what was paid since keys were worked out is taken off the floor ([`Paid`]).
//!
//! Scopes with several positions are no part of this: their `w` moves with other marks.

use super::position::Position;
use super::units::{PRODUCTS_PER_MICRO, ceil_rate, product};
use crate::money::{Money, Price, RATE_ONE, Rate};

/// Fractions of 2^-40.
const SHIFT: u32 = 40;
const ONE: i128 = 1 << SHIFT;
/// Entry prices are kept times this, in micros over steps of quantity.
const ENTRY_SHIFT: u32 = 60;
/// Binary digits of a key that are its number's after the leading one; seven more say where that one is.
const MANTISSA: u32 = 25;
/// Binary digits of a key.
const KEY_BITS: u32 = 32;
/// Least cost of a position that has a key, micros: of less, a micro that rounding takes is too large a part.
const COST_MIN: Money = 1 << 22;
/// Least of `rest` that a position with a key has.
pub(crate) const REST_MIN: Money = 3;
/// Part of a bound that is added to it, as a shift: a micro of a notional of `COST_MIN` / 16, rounding up.
const SLACK: u32 = 17;
/// Least notional over cost that bounds are worked out for, and the largest; others are bounded by nothing.
const RATIO_MIN: i128 = ONE / 16;
const RATIO_MAX: i128 = ONE << 10;
/// More of `w` than this counts as this.
const FLOOR_MAX: i128 = ONE << 8;
/// A micro over the least cost.
const MICRO_MAX: i128 = ONE / COST_MIN as i128;
/// More than this paid of a unit counts as all: above every price.
const PAID_MAX: i128 = 1 << 57;

/// Logarithms of what does not move with the mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) entry: u32,
    pub(crate) rest: u32,
}

/// The key of a position whose scope has `rest` = E - u; `None` for one that bounds do not hold for: dust, a cost of the wrong
/// sign, nothing but profit as equity.
pub(crate) fn key(position: Position, rest: Money) -> Option<Key> {
    let Position { quantity, cost } = position;
    let is_plain =
        cost.signum() == quantity.signum() && cost.unsigned_abs() >= COST_MIN as u64 && rest >= REST_MIN;
    if !is_plain {
        return None;
    }
    let (quantity, cost) = (u128::from(quantity.unsigned_abs()), u128::from(cost.unsigned_abs()));
    // Two micros less: what rounding of profit may take of equity is in there.
    let rest = u128::from(rest.unsigned_abs()) - 2;
    let entry = logarithm((cost << ENTRY_SHIFT).checked_div(quantity)?);
    Some(Key { entry, rest: logarithm((rest << SHIFT).checked_div(cost)?) })
}

/// A number's place among all, rounded down: where its leading one is, and the digits after it.
fn logarithm(number: u128) -> u32 {
    let Some(power) = number.checked_ilog2() else { return 0 };
    let digits = if power >= MANTISSA { number >> (power - MANTISSA) } else { number << (MANTISSA - power) };
    power << MANTISSA | digits as u32 & ((1 << MANTISSA) - 1)
}

/// The least number of a place, down.
fn number(logarithm: u32) -> u128 {
    let power = logarithm >> MANTISSA;
    let digits = u128::from(1 << MANTISSA | logarithm & ((1 << MANTISSA) - 1));
    if power >= MANTISSA { digits << (power - MANTISSA) } else { digits >> (MANTISSA - power) }
}

/// What funding took from holders of a side since their keys were worked out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Paid {
    /// In so many payments, of each of which rounding may have taken a micro.
    times: u32,
    /// Of a unit of quantity, in price steps, up.
    price: i128,
}

impl Paid {
    /// With another payment: of a rate > 0 of the notional at a mark.
    pub(crate) fn with(self, mark: Price, rate: Rate) -> Paid {
        Paid { times: self.times + 1, price: self.price + ceil_rate(product(mark, rate)) }
    }

    /// Without those before.
    pub(crate) fn since(self, before: Paid) -> Paid {
        Paid { times: self.times - before.times, price: self.price - before.price }
    }

    /// Over the cost of a position with an entry price at or above `entry`, up; `None`: more than counts.
    fn over_cost(self, entry: u128) -> Option<i128> {
        if self == Paid::default() {
            return Some(0);
        }
        if self.price > PAID_MAX {
            return None;
        }
        let price = self.price.unsigned_abs() << ENTRY_SHIFT;
        let share = ((price / PRODUCTS_PER_MICRO.unsigned_abs() + 1) << SHIFT).checked_div(entry)? + 1;
        i128::try_from(share).ok()?.checked_add(i128::from(self.times) * MICRO_MAX)
    }
}

/// All keys that begin alike: with the first two binary digits of both halves, or the first four, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Region {
    /// Its lowest key.
    first: Key,
    /// How many pairs of digits its keys share.
    depth: u8,
}

/// Pairs of digits in a key.
pub(crate) const DEPTH_MAX: u8 = (KEY_BITS / 2) as u8;
/// Regions that a region consists of.
pub(crate) const PARTS: usize = 16;

impl Key {
    /// Which part of a region of `depth`, below [`DEPTH_MAX`], it lies in.
    #[inline]
    pub(crate) fn part(self, depth: u8) -> usize {
        let shift = KEY_BITS - 2 - 2 * u32::from(depth);
        ((self.entry >> shift & 3) << 2 | self.rest >> shift & 3) as usize
    }

    /// Whether it lies in one region of `depth` with another.
    #[inline]
    pub(crate) fn shares(self, other: Key, depth: u8) -> bool {
        let differing = (self.entry ^ other.entry) | (self.rest ^ other.rest);
        depth == 0 || differing >> (KEY_BITS - 2 * u32::from(depth)) == 0
    }
}

impl Key {
    /// Whether `w` of this key may be that of another with the same entry price, after what was paid or received.
    pub(crate) fn may_become(self, now: Key, paid: Paid) -> bool {
        let least = Region { first: self, depth: DEPTH_MAX }.floor(paid);
        // Of small numbers each has a logarithm, and not each logarithm a number.
        number(now.rest + 1).max(number(now.rest) + 1) > least.unsigned_abs()
    }
}

impl Region {
    /// Where all are.
    pub(crate) const ALL: Region = Region { first: Key { entry: 0, rest: 0 }, depth: 0 };

    /// How many parts on the way to it.
    pub(crate) fn depth(self) -> u8 {
        self.depth
    }

    /// Its lowest key.
    pub(crate) fn first(self) -> Key {
        self.first
    }

    /// One of its parts; it is not at the end of its digits.
    pub(crate) fn part(self, part: usize) -> Region {
        let shift = KEY_BITS - 2 - 2 * u32::from(self.depth);
        let (entry, rest) = ((part as u32 >> 2) << shift, (part as u32 & 3) << shift);
        Region {
            first: Key { entry: self.first.entry | entry, rest: self.first.rest | rest },
            depth: self.depth + 1,
        }
    }

    /// A score that none is above at a mark, of long positions or of short ones that had a key of the region before they paid what
    /// they may have `paid` since, of which more than two micros are left them.
    pub(crate) fn bound(self, is_long: bool, mark: Price, paid: Paid) -> i128 {
        let Some((low, high)) = self.ratios(mark) else { return i128::MAX };
        if low < RATIO_MIN || high > RATIO_MAX {
            return i128::MAX;
        }
        let floor = self.floor(paid);
        let (least, most) = if is_long { (low - ONE, high - ONE) } else { (ONE - high, ONE - low) };
        let gain = (most >= 0).then(|| gaining(most, floor, high));
        let loss = (least < 0).then(|| losing((-most).max(0), -least, floor, (low, high)));
        gain.into_iter().chain(loss).max().unwrap_or(i128::MAX)
    }

    /// The least `w`.
    fn floor(self, paid: Paid) -> i128 {
        let Key { entry, rest } = self.first;
        if rest == 0 {
            return 0;
        }
        let paid = paid.over_cost(if entry == 0 { 0 } else { number(entry) }).unwrap_or(i128::MAX);
        let before = i128::try_from(number(rest)).unwrap_or(i128::MAX);
        (before - paid).clamp(0, FLOOR_MAX)
    }

    /// Notional over cost at a mark: the least, down, and the most, up.
    fn ratios(self, mark: Price) -> Option<(i128, i128)> {
        // The mark in the units of an entry price, so that a mark of the entry is a ratio of 1.
        let mark = (u128::try_from(mark).ok()? << ENTRY_SHIFT) / PRODUCTS_PER_MICRO.unsigned_abs();
        let width = 1u64 << (KEY_BITS - 2 * u32::from(self.depth));
        let end = u64::from(self.first.entry) + width;
        let most = match self.first.entry {
            0 => 0,
            entry => number(entry),
        };
        let most = ((mark + 1) << SHIFT).checked_div(most)? + 1;
        let least = match u32::try_from(end) {
            Ok(end) => (mark << SHIFT).checked_div(number(end) + 1)?,
            Err(_) => 0,
        };
        Some((i128::try_from(least).ok()?, i128::try_from(most).ok()?))
    }
}

/// The highest score of who gains at most `most` over cost, has `floor` at least beside it, and at most `ratio` as notional.
fn gaining(most: i128, floor: i128, ratio: i128) -> i128 {
    const FINE: u32 = 60;
    // Grows with the gain. Below 2^51 << 60.
    let share = ((most << FINE).checked_div(floor + most)).map_or(1 << FINE, |share| share + 1);
    let score = ((((share * ratio) >> FINE) + 1) * i128::from(RATE_ONE)) >> SHIFT;
    score + (score >> SLACK) + 2
}

/// The highest score of who loses `least` to `most` over cost and has `floor` at least beside that.
fn losing(least: i128, most: i128, floor: i128, (low, high): (i128, i128)) -> i128 {
    let weighted = |loss: i128| loss * (loss - floor);
    // Largest at an end. Below 2^50 x 2^50.
    let product = weighted(least).max(weighted(most)) >> SHIFT;
    let score = |ratio: i128| (product.abs() * i128::from(RATE_ONE)).checked_div(ratio).unwrap_or(0);
    if product < 0 {
        // Equity is left: the more notional, the higher.
        let score = score(high + (high >> SLACK) + 1);
        2 - (score - (score >> SLACK) - 1).max(0)
    } else {
        // None may be left: the loss counts the more, and its own rounding as often as equity is of notional.
        let score = score(low) + most.checked_div(low).unwrap_or(0) + 1;
        score + (score >> SLACK) + 2
    }
}

#[cfg(test)]
mod tests {
    use super::super::adl::score;
    use super::super::funding::payment;
    use super::super::units::notional;
    use super::*;
    use crate::money::UNIT;

    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 11) % bound
        }

        /// Of any size up to 2^bits.
        fn sized(&mut self, bits: u64) -> i64 {
            let size = self.below(bits) + 1;
            self.below(1 << size) as i64 + 1
        }
    }

    /// The regions of a key, the narrowest last.
    fn regions(key: Key) -> impl Iterator<Item = Region> {
        (0..DEPTH_MAX).scan(Region::ALL, move |region, depth| {
            *region = region.part(key.part(depth));
            Some(*region)
        })
    }

    #[test]
    fn a_key_may_become_itself_however_small_its_rest() {
        for cost in [1 << 22, 335_901_175_571, 1 << 50] {
            for rest in [3, 1_000, 10_000_000, 10_000_001, cost / 7 + 3, cost] {
                let position = Position { quantity: 12_913_000_000, cost };
                let Some(key) = key(position, rest) else { continue };
                assert!(key.may_become(key, Paid::default()), "{rest} beside {cost}");
                assert!(!Key { rest: key.rest + (1 << 26), ..key }.may_become(key, Paid::default()));
            }
        }
    }

    #[test]
    fn places_of_numbers_ascend_and_their_least_numbers_are_below() {
        let mut random = Random(3);
        for _ in 0..100_000 {
            let number_of = u128::from(random.sized(62) as u64) << random.below(60);
            let other = number_of + u128::from(random.sized(40) as u64);
            let place = logarithm(number_of);
            assert!(place <= logarithm(other), "{number_of} {other}");
            assert!(number(place) <= number_of && number_of <= number(place + 1), "{number_of}");
        }
        assert_eq!((logarithm(0), logarithm(1), logarithm(2)), (0, 0, 1 << MANTISSA));
    }

    #[test]
    fn no_score_is_above_the_bound_of_a_region_it_lies_in() {
        let mut random = Random(5);
        let (mut met, mut close) = ([0; 4], 0);
        for _ in 0..400_000 {
            let is_long = random.below(2) == 0;
            let entry = random.sized(50);
            let quantity = random.sized(56);
            let cost =
                i128::from(entry) * i128::from(quantity) / PRODUCTS_PER_MICRO + random.below(3) as i128;
            let Ok(cost) = i64::try_from(cost) else { continue };
            if cost > 1_000_000_000_000_000 {
                continue;
            }
            // Marks from a tenth of the entry to ten times it, most of them near it.
            let range = [100, 1_000, 100_000, 10_000_000][random.below(4) as usize];
            let mark =
                (i128::from(entry) * (i128::from(random.below(range)) + 9_000_000) / 9_000_000).max(1) as i64;
            let mark = if random.below(2) == 0 { (2 * entry - mark).max(entry / 10 + 1) } else { mark };
            let leverage = [1, 3, 40][random.below(3) as usize];
            let rest = random.below((cost as u64).saturating_mul(leverage) / 20 + 9);
            let sign = if is_long { 1 } else { -1 };
            let position = Position { quantity: sign * quantity, cost: sign * cost };
            let Some(key) = key(position, rest as i64) else {
                assert!(cost < COST_MIN || rest <= 2, "{position:?} {rest}");
                continue;
            };
            // What was paid since is known of all of a side together.
            let (mut paid, mut rest) = (Paid::default(), rest as i64);
            for _ in 0..random.below(5).saturating_sub(2) {
                let rate = random.below(300_000) as i64 + 1;
                let Some(change) = payment(position.quantity, mark, sign * rate) else { continue };
                (paid, rest) = (paid.with(mark, rate), rest + change);
            }
            if rest < REST_MIN {
                continue;
            }
            let (Some(unrealised), Some(notional)) = (position.unrealised(mark), notional(quantity, mark))
            else {
                continue;
            };
            let Some(score) = score(unrealised, position.cost, notional, rest + unrealised) else {
                continue;
            };
            met[usize::from(is_long) * 2 + usize::from(unrealised >= 0)] += 1;
            let mut before = i128::MAX;
            for region in regions(key) {
                let bound = region.bound(is_long, mark, paid);
                let what = || format!("{region:?} of {position:?} beside {rest} at {mark}: {score}");
                assert!(score <= bound, "{bound} is no bound: {}", what());
                // A part is not bounded much worse than the whole.
                assert!(
                    bound <= before.saturating_add((before >> 12).abs()).saturating_add(16),
                    "{}",
                    what()
                );
                before = bound;
            }
            close += usize::from(before - score <= score.abs() / 10_000 + 100);
        }
        assert!(met.iter().all(|&count| count > 10_000), "{met:?}");
        assert!(close * 10 > met.iter().sum::<usize>() * 8, "{close} of {met:?} are bounded closely");
    }

    #[test]
    fn of_the_positions_of_v_21_the_first_is_bounded_highest() {
        let short = |lots: i64, price: i64, equity: i64| {
            let (quantity, cost) = (-lots * 100_000, -lots * price * 1_000);
            let position = Position { quantity, cost };
            let unrealised = position.unrealised(58_200 * UNIT).unwrap();
            key(position, equity * 1_000_000 - unrealised).unwrap()
        };
        let keys = [short(1_000, 61_000, 5_000), short(500, 63_000, 20_000), short(400, 58_000, 1_000)];
        let bounds =
            keys.map(|key| regions(key).last().unwrap().bound(false, 58_200 * UNIT, Paid::default()));
        for (bound, score) in bounds.into_iter().zip([53_429_497, 11_085_713, -14_813]) {
            assert!((score..=score + 500).contains(&bound), "{bound} of {score}");
        }
    }
}
