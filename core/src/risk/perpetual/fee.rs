//! Fees (`risk.md` 9, `account.md` 3): the discount stack, what each side of a fill pays, and the affiliate's part.

use super::units::{ceil_div, ceil_of, floor_div, floor_rate, narrow};
use crate::money::{Money, Rate};

/// The multiplier 1.0: multipliers are in steps of 10^-6.
pub const MULTIPLIER_ONE: i64 = 1_000_000;
/// Discounts take no more than half.
pub const MULTIPLIER_MIN: i64 = 500_000;
/// A discount of everything, in basis points.
pub const DISCOUNT_ONE: u32 = 10_000;
/// Most entries of the discount stack: more would leave the range of the product.
pub const DISCOUNTS_MAX: usize = 7;

/// The multiplier of the active discounts, in basis points: one division over all, up. `None` for more than
/// [`DISCOUNTS_MAX`], or one above [`DISCOUNT_ONE`].
pub fn multiplier(discounts: &[u32]) -> Option<i64> {
    if discounts.len() > DISCOUNTS_MAX {
        return None;
    }
    let (mut product, mut one) = (i128::from(MULTIPLIER_ONE), 1i128);
    for &discount in discounts {
        product *= i128::from(DISCOUNT_ONE.checked_sub(discount)?);
        one *= i128::from(DISCOUNT_ONE);
    }
    Some(narrow(ceil_div(product, one))?.max(MULTIPLIER_MIN))
}

/// What is left of a base rate, up. A rebate is never discounted.
#[inline]
pub fn rate(base: Rate, multiplier: i64) -> Option<Rate> {
    if base < 0 {
        return Some(base);
    }
    narrow(ceil_div(i128::from(base) * i128::from(multiplier), MULTIPLIER_ONE.into()))
}

/// Fee of a value >= 0, up; at a rate below 0 what is paid back, as a negative fee, down in amount.
#[inline]
pub fn fee(value: Money, rate: Rate) -> Option<Money> {
    // Upwards is toward zero for a rebate.
    ceil_of(value, rate)
}

/// Fees of both sides of a fill, taker first: a rebate is no more than the other side pays.
#[inline]
pub fn both(value: Money, taker_rate: Rate, maker_rate: Rate) -> Option<(Money, Money)> {
    let (taker, maker) = (fee(value, taker_rate)?, fee(value, maker_rate)?);
    let limit = |own: Money, other: Money| if own < 0 { own.max(-other.max(0)) } else { own };
    Some((limit(taker, maker), limit(maker, taker)))
}

/// Terms of a referral, in basis points.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Referral {
    /// What trader and affiliate have together of the base fee.
    pub total: u32,
    /// The trader's part of that.
    pub share: u32,
}

impl Referral {
    /// The trader's discount, down.
    pub const fn trader(self) -> u32 {
        ((self.total as u64 * self.share as u64) / DISCOUNT_ONE as u64) as u32
    }

    /// The affiliate's part: the rest. `None` where the trader's share is above all of it.
    pub const fn affiliate(self) -> Option<u32> {
        self.total.checked_sub(self.trader())
    }
}

/// What the affiliate receives of a fee that was charged, down: `affiliate` basis points of the base fee, at most
/// all of it.
#[inline(never)]
pub fn reward(value: Money, base: Rate, affiliate: u32, charged: Money) -> Option<Money> {
    let product = i128::from(value).checked_mul(i128::from(base).checked_mul(affiliate.into())?)?;
    let reward = narrow(floor_rate(floor_div(product, DISCOUNT_ONE.into())))?;
    Some(reward.min(charged).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::MONEY_UNIT;

    #[test]
    fn v_13_a_referred_trader_pays_less_and_the_affiliate_has_a_part() {
        let terms = Referral { total: 2_000, share: 5_000 };
        assert_eq!((terms.trader(), terms.affiliate()), (1_000, Some(1_000)));
        let (base, value) = (50_000, 30_000 * MONEY_UNIT);
        assert_eq!(fee(value, base), Some(15 * MONEY_UNIT));
        let rate = rate(base, multiplier(&[terms.trader()]).unwrap()).unwrap();
        assert_eq!(rate, 45_000);
        let charged = fee(value, rate).unwrap();
        assert_eq!(charged, 13_500_000);
        let reward = reward(value, base, 1_000, charged).unwrap();
        assert_eq!((reward, charged - reward), (1_500_000, 12_000_000));
        assert_eq!(fee(60_000_100, rate), Some(27_001));
    }

    #[test]
    fn discounts_multiply_and_stop_at_half() {
        assert_eq!(multiplier(&[]), Some(MULTIPLIER_ONE));
        // account.md 3: VIP 1 taker, referral 1000, promo 500.
        assert_eq!(multiplier(&[1_000, 500]), Some(855_000));
        assert_eq!(rate(45_000, 855_000), Some(38_475));
        assert_eq!(fee(1_000 * MONEY_UNIT, 38_475), Some(384_750));
        assert_eq!(multiplier(&[5_000, 1]), Some(MULTIPLIER_MIN));
        assert_eq!(multiplier(&[10_000; 7]), Some(MULTIPLIER_MIN));
        assert_eq!(multiplier(&[1; 7]), Some(999_301), "0.99930020996... up");
        assert_eq!(multiplier(&[0; 8]), None);
        assert_eq!(multiplier(&[10_001]), None);
        assert_eq!(rate(33_333, 855_000), Some(28_500), "28,499.7 up");
    }

    #[test]
    fn a_rebate_is_no_more_than_the_other_side_pays() {
        assert_eq!(rate(-10_000, MULTIPLIER_MIN), Some(-10_000));
        assert_eq!(fee(99_999, -10_000), Some(-9), "9.9999 down");
        assert_eq!(both(1_000_000, 50_000, 20_000), Some((500, 200)));
        assert_eq!(both(1_000_000, 50_000, -10_000), Some((500, -100)));
        assert_eq!(both(1_000_000, 5_000, -10_000), Some((50, -50)));
        assert_eq!(both(1_000_000, -5_000, -10_000), Some((0, 0)));
    }

    #[test]
    fn a_reward_is_no_more_than_the_fee() {
        assert_eq!(reward(1_000_000, 50_000, 10_000, 450), Some(450));
        assert_eq!(reward(1_000_000, -50_000, 10_000, 0), Some(0));
        assert_eq!(Referral { total: 10, share: 20_000 }.affiliate(), None);
    }
}
