//! Integer money: prices and quantities in steps of 10^-8, amounts in steps of 10^-18.
//!
//! A price times a quantity is exact as an amount (10^-8 x 10^-8 = 10^-16, two digits to spare), and an
//! amount of 10^-18 is one unit of an 18-decimal token on a chain. Tick and lot are entry rules, never the
//! unit of storage. This module parses and prints nothing; text belongs to the edge.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Price of one whole base unit in quote, in steps of 10^-8. Orders carry prices > 0.
pub type Price = i64;
/// Quantity of a base asset in steps of 10^-8. Orders carry quantities > 0.
pub type Quantity = i64;
/// Amount of any asset in steps of 10^-18.
pub type Amount = i128;

/// Steps of one whole unit of [`Price`] and [`Quantity`].
pub const UNIT: i64 = 100_000_000;
/// Steps of one whole unit of [`Amount`].
pub const AMOUNT_UNIT: i128 = 1_000_000_000_000_000_000;
/// Steps of one micro of [`Money`].
pub const AMOUNT_PER_MICRO: Amount = 1_000_000_000_000;
/// An amount step is this many times finer than a quantity step.
const AMOUNT_PER_QUANTITY: u64 = 10_000_000_000;
/// A price step times a quantity step is this many amount steps.
pub(crate) const AMOUNT_PER_PRODUCT: u128 = 100;

/// Largest price and quantity that can be entered: 92,233,720,368 whole units (`spot.md` 1).
pub const MAX_ENTRY: i64 = 92_233_720_368 * UNIT;

/// Money of the perpetual ledger, in micro-quote: steps of 10^-6 of the margin asset (`risk.md` 1).
pub type Money = i64;
/// Steps of one whole unit of [`Money`].
pub const MONEY_UNIT: Money = 1_000_000;
/// A rate, ratio or multiplier of the perpetual side, in steps of 10^-8.
pub type Rate = i64;
/// The rate 1.0.
pub const RATE_ONE: Rate = 100_000_000;

/// Fee rates are in steps of 10^-8: a basis point is 10,000.
pub type FeeRate = u32;
/// The fee rate that would take everything.
pub const FEE_RATE_ONE: FeeRate = 100_000_000;

/// A fee rate as state and files keep it: in steps of 10^-6 where it is a number of them, as engines up to version 10 had no
/// others, so that the hash of their state stays; else marked, in steps of 10^-8.
#[inline]
pub const fn kept_rate(rate: FeeRate) -> u32 {
    if rate.is_multiple_of(KEPT_STEP) { rate / KEPT_STEP } else { rate | KEPT_MARK }
}

/// A fee rate that was kept; `None` where it is above all, or not as it would be kept.
pub const fn rate_of_kept(kept: u32) -> Option<FeeRate> {
    let rate = if kept & KEPT_MARK == 0 { kept.checked_mul(KEPT_STEP) } else { Some(kept & !KEPT_MARK) };
    match rate {
        Some(rate) if rate <= FEE_RATE_ONE && kept_rate(rate) == kept => Some(rate),
        _ => None,
    }
}

const KEPT_STEP: u32 = 100;
const KEPT_MARK: u32 = 1 << 31;

/// The amount of base that a quantity, not negative, is. Exact, cannot overflow: 2^63 x 10^10 < 2^97.
#[inline]
pub const fn amount_of(quantity: Quantity) -> Amount {
    debug_assert!(quantity >= 0);
    (quantity as u64 as u128 * AMOUNT_PER_QUANTITY as u128) as i128
}

/// Price x quantity in quote, both not negative, exact; `None` where it exceeds the range of [`Amount`].
#[inline]
pub const fn checked_notional(price: Price, quantity: Quantity) -> Option<Amount> {
    debug_assert!(price >= 0 && quantity >= 0);
    let product = price as u64 as u128 * quantity as u64 as u128;
    if product > i128::MAX as u128 / AMOUNT_PER_PRODUCT {
        return None;
    }
    Some(product.wrapping_mul(AMOUNT_PER_PRODUCT) as i128)
}

/// Price x quantity in quote of an order whose notional was accepted before, so that it fits.
#[inline]
pub const fn notional(price: Price, quantity: Quantity) -> Amount {
    debug_assert!(checked_notional(price, quantity).is_some());
    (price as u64 as u128 * quantity as u64 as u128).wrapping_mul(AMOUNT_PER_PRODUCT) as i128
}

/// `amount` x `rate`, rounded up to a step of 10^-18 (`spot.md` 8). `amount` must not be negative. Cannot overflow.
#[inline]
pub const fn fee(amount: Amount, rate: FeeRate) -> Amount {
    debug_assert!(amount >= 0 && rate <= FEE_RATE_ONE);
    if rate == 0 {
        return 0;
    }
    // One = 256 x 390,625, which has 19 bits. Where amount x rate stays below 2^117, both parts of the division have 64 bits.
    const ODD: u64 = FEE_RATE_ONE as u64 / 256;
    const { assert!(ODD * 256 == FEE_RATE_ONE as u64 && ODD < 1 << 19) };
    if amount >> 90 != 0 {
        return fee_of_much(amount, rate);
    }
    let product = (amount as u128).wrapping_mul(rate as u128).wrapping_add(FEE_RATE_ONE as u128 - 1) >> 8;
    let high = (product >> 45) as u64;
    let low = (high % ODD) << 45 | product as u64 & ((1 << 45) - 1);
    (((high / ODD) as u128) << 45).wrapping_add((low / ODD) as u128) as i128
}

/// The same for any amount: the whole part is divided before it is multiplied.
#[cold]
const fn fee_of_much(amount: Amount, rate: FeeRate) -> Amount {
    let (one, rate) = (FEE_RATE_ONE as i128, rate as i128);
    (amount / one) * rate + ((amount % one) * rate + one - 1) / one
}

/// An [`Amount`] as it stands in commands, events and files: two little-endian words, low first, so that the
/// records need no 16-byte alignment and have no holes.
#[derive(Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct RawAmount {
    low: u64,
    high: u64,
}

impl RawAmount {
    /// Zero.
    pub const ZERO: RawAmount = RawAmount { low: 0, high: 0 };
    /// The words of `amount`.
    #[inline]
    pub const fn new(amount: Amount) -> RawAmount {
        RawAmount { low: amount as u64, high: (amount >> 64) as u64 }
    }
    /// The amount the words spell.
    #[inline]
    pub const fn get(self) -> Amount {
        ((self.high as i128) << 64) | self.low as i128
    }
}

impl From<Amount> for RawAmount {
    #[inline]
    fn from(amount: Amount) -> RawAmount {
        RawAmount::new(amount)
    }
}

impl std::fmt::Debug for RawAmount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_amount_keeps_every_bit() {
        for amount in [0, 1, -1, i128::MAX, i128::MIN, 1 << 64, -(1 << 64), u64::MAX as i128] {
            assert_eq!(RawAmount::new(amount).get(), amount);
        }
    }

    #[test]
    fn fee_rounds_up_and_never_overflows() {
        assert_eq!(fee(1, 1), 1);
        assert_eq!(fee(100_000_000, 1), 1);
        assert_eq!(fee(100_000_001, 1), 2);
        assert_eq!(fee(i128::MAX, FEE_RATE_ONE), i128::MAX);
        let mut random = 1u128;
        for bits in 0..127 {
            for rate in [1, 3, 33_333_333, 99_999_999, FEE_RATE_ONE] {
                random = random.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).wrapping_add(1);
                let amount = (random >> (127 - bits)) as i128 >> 1;
                let exact = fee_of_much(amount, rate);
                assert_eq!(fee(amount, rate), exact, "{amount} x {rate}");
                // Rounded up: at most one step above the true value, never below.
                if amount < i128::MAX >> 27 {
                    let excess = exact * 100_000_000 - amount * i128::from(rate);
                    assert!((0..100_000_000).contains(&excess));
                }
            }
        }
        // spot.md 8, first example: 50 DF at 10 bps.
        assert_eq!(fee(50 * AMOUNT_UNIT, 100_000), AMOUNT_UNIT / 20);
    }

    #[test]
    fn kept_rates_of_every_version_are_read() {
        for rate in [0, 1, 1_250, 99_999_999, FEE_RATE_ONE] {
            assert_eq!(rate_of_kept(kept_rate(rate)), Some(rate));
        }
        // Ten basis points, and all, as they were kept before.
        assert_eq!([1_000, 1_000_000].map(rate_of_kept), [Some(100_000), Some(FEE_RATE_ONE)]);
        let wrong = [1_000_001, kept_rate(FEE_RATE_ONE + 1), u32::MAX >> 1, KEPT_MARK | 1_000];
        assert_eq!(wrong.map(rate_of_kept), [None; 4]);
    }

    #[test]
    fn notional_is_exact() {
        // 0.0001 x 0.1 = 0.00001
        assert_eq!(notional(10_000, 10_000_000), AMOUNT_UNIT / 100_000);
        assert_eq!(checked_notional(MAX_ENTRY, MAX_ENTRY), None);
        assert_eq!(amount_of(UNIT), AMOUNT_UNIT);
    }
}
