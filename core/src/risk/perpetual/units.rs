//! Units and division (`risk.md` 1): the only place where the perpetual side divides.
//!
//! A price step times a quantity step is 10^-16 quote, of which a micro has 10^10. Every divisor is positive.

use crate::money::{Money, Price, Quantity, RATE_ONE, Rate};

/// Products of a price step and a quantity step in one micro-quote.
pub const PRODUCTS_PER_MICRO: i128 = 10_000_000_000;
/// Largest value of an order or a position: one billion quote.
pub const VALUE_MAX: Money = 1_000_000_000_000_000;
/// Most that what is open in all markets together, of one side, may come to be worth by a rise of an index: then all sums of
/// values at marks, which may be up to twice an index, fit `Money` beside a wallet.
pub(crate) const OPEN_VALUE_MAX: Money = 2_000_000_000_000_000_000;

/// Quotient toward zero, and whether something is left: with which sign. `divisor` > 0.
#[inline]
const fn divide(dividend: i128, divisor: i128) -> (i128, i32) {
    debug_assert!(divisor > 0);
    let (quotient, rest) = if dividend as i64 as i128 == dividend && divisor as i64 as i128 == divisor {
        // Most dividends fit a word, and a division of words is several times cheaper.
        let (dividend, divisor) = (dividend as i64, divisor as i64);
        let quotient = dividend.wrapping_div(divisor);
        (quotient as i128, dividend.wrapping_sub(quotient.wrapping_mul(divisor)) as i128)
    } else {
        let quotient = dividend.wrapping_div(divisor);
        (quotient, dividend.wrapping_sub(quotient.wrapping_mul(divisor)))
    };
    (quotient, rest.signum() as i32)
}

/// Toward minus infinity. `divisor` > 0.
#[inline]
pub const fn floor_div(dividend: i128, divisor: i128) -> i128 {
    let (quotient, rest) = divide(dividend, divisor);
    // A rest means a divisor of at least two, so the quotient is far from the ends of its range.
    if rest < 0 { quotient.wrapping_sub(1) } else { quotient }
}

/// Toward plus infinity. `divisor` > 0.
#[inline]
pub const fn ceil_div(dividend: i128, divisor: i128) -> i128 {
    let (quotient, rest) = divide(dividend, divisor);
    if rest > 0 { quotient.wrapping_add(1) } else { quotient }
}

/// Toward zero. `divisor` > 0.
#[inline]
pub const fn trunc_div(dividend: i128, divisor: i128) -> i128 {
    divide(dividend, divisor).0
}

/// To the nearest, halves to the even neighbour: for what is shown, never for what is computed with. `divisor` > 0,
/// below 2^126.
pub const fn half_even_div(dividend: i128, divisor: i128) -> i128 {
    let floor = floor_div(dividend, divisor);
    // Below the divisor, so that twice it stays in range.
    let rest = dividend.wrapping_sub(floor.wrapping_mul(divisor));
    let odd = (floor & 1) != 0;
    if rest * 2 > divisor || (rest * 2 == divisor && odd) { floor.wrapping_add(1) } else { floor }
}

/// Price of what cost `value` in all: `value / quantity`, halves to even (`perpetual.md` 1); 0 of nothing. Shown, never
/// computed with.
pub const fn average_price(value: Money, quantity: Quantity) -> Price {
    if quantity <= 0 {
        return 0;
    }
    match narrow(half_even_div(value as i128 * PRODUCTS_PER_MICRO, quantity as i128)) {
        Some(price) => price,
        None if value < 0 => -i64::MAX,
        None => i64::MAX,
    }
}

/// As a word, if it fits one.
#[inline]
pub const fn narrow(value: i128) -> Option<i64> {
    if value as i64 as i128 == value { Some(value as i64) } else { None }
}

/// `magnitude` / (`ODD` x 2^`SHIFT`) toward zero, and whether nothing is left. `ODD` < 2^32.
///
/// Divisions of a word by a constant are multiplications; one of 128 bits is a call. Results that fit a word, and
/// much larger ones, take two of the former.
#[inline]
const fn split<const ODD: u64, const SHIFT: u32>(magnitude: u128) -> (u128, bool) {
    let low = magnitude as u64 & ((1 << SHIFT) - 1);
    let rest = magnitude >> SHIFT;
    if rest >> 64 == 0 {
        let rest = rest as u64;
        return ((rest / ODD) as u128, rest.is_multiple_of(ODD) && low == 0);
    }
    if rest >> 96 == 0 {
        let high = (rest >> 32) as u64;
        let tail = (high % ODD) << 32 | rest as u32 as u64;
        let quotient = ((high / ODD) as u128) << 32 | (tail / ODD) as u128;
        return (quotient, tail.is_multiple_of(ODD) && low == 0);
    }
    (rest / ODD as u128, rest.is_multiple_of(ODD as u128) && low == 0)
}

/// `dividend` / (`ODD` x 2^`SHIFT`), up or down.
#[inline]
const fn round<const ODD: u64, const SHIFT: u32>(dividend: i128, up: bool) -> i128 {
    let is_negative = dividend < 0;
    let (quotient, is_exact) = split::<ODD, SHIFT>(dividend.unsigned_abs());
    // Away from zero where the direction is that of the sign. At most 2^127 / 256 before.
    let magnitude = if is_exact || up == is_negative { quotient } else { quotient.wrapping_add(1) } as i128;
    if is_negative { magnitude.wrapping_neg() } else { magnitude }
}

const PRODUCT_ODD: u64 = 9_765_625;
const PRODUCT_SHIFT: u32 = 10;
const RATE_ODD: u64 = 390_625;
const RATE_SHIFT: u32 = 8;
const _: () = assert!((PRODUCT_ODD as i128) << PRODUCT_SHIFT == PRODUCTS_PER_MICRO);
const _: () = assert!((RATE_ODD as i64) << RATE_SHIFT == RATE_ONE);

/// Products of price and quantity steps as micros, down.
#[inline]
pub const fn floor_micros(products: i128) -> i128 {
    round::<PRODUCT_ODD, PRODUCT_SHIFT>(products, false)
}

/// Products of price and quantity steps as micros, up.
#[inline]
pub const fn ceil_micros(products: i128) -> i128 {
    round::<PRODUCT_ODD, PRODUCT_SHIFT>(products, true)
}

/// What a rate took a product with, divided by 1.0, down.
#[inline]
pub const fn floor_rate(product: i128) -> i128 {
    round::<RATE_ODD, RATE_SHIFT>(product, false)
}

/// What a rate took a product with, divided by 1.0, up.
#[inline]
pub const fn ceil_rate(product: i128) -> i128 {
    round::<RATE_ODD, RATE_SHIFT>(product, true)
}

/// Price x quantity. Cannot overflow.
#[inline]
pub const fn product(price: Price, quantity: Quantity) -> i128 {
    (price as i128).wrapping_mul(quantity as i128)
}

/// The product of two magnitudes in micros, down, and whether something is left. `None` where more than a word is left of it
/// without the twos of a micro, as of few.
#[inline(always)]
const fn micros(one: u64, other: u64) -> Option<(i64, bool)> {
    let wide = (one as u128).wrapping_mul(other as u128);
    let high = (wide >> 64) as u64;
    if high >> PRODUCT_SHIFT != 0 {
        return None;
    }
    let low = wide as u64;
    let rest = high << (64 - PRODUCT_SHIFT) | low >> PRODUCT_SHIFT;
    let quotient = rest / PRODUCT_ODD;
    let is_whole = (low & ((1 << PRODUCT_SHIFT) - 1) == 0) & (quotient.wrapping_mul(PRODUCT_ODD) == rest);
    Some((quotient as i64, !is_whole))
}

/// The absolute value, if there is one. Signs of positions are as good as random, so nothing branches on one.
#[inline(always)]
pub const fn magnitude(number: i64) -> Option<i64> {
    let magnitude = number.unsigned_abs() as i64;
    if magnitude < 0 { None } else { Some(magnitude) }
}

/// With the sign of a number, without a branch as well.
#[inline(always)]
pub(crate) const fn signed_as(number: i64, magnitude: i64) -> i64 {
    let sign = number >> 63;
    (magnitude ^ sign).wrapping_sub(sign)
}

/// `V`, the value of a trade: exact. `None` where it leaves the range, or where the configuration let a pair of
/// price and quantity in whose value is no whole micro.
#[inline(always)]
pub const fn value(price: Price, quantity: Quantity) -> Option<Money> {
    if (price | quantity) >= 0
        && let Some((value, is_rounded)) = micros(price as u64, quantity as u64)
    {
        return if is_rounded { None } else { Some(value) };
    }
    wide_value(price, quantity)
}

#[inline(never)]
const fn wide_value(price: Price, quantity: Quantity) -> Option<Money> {
    let products = product(price, quantity);
    let (quotient, is_exact) = split::<PRODUCT_ODD, PRODUCT_SHIFT>(products.unsigned_abs());
    if !is_exact || quotient > i64::MAX as u128 {
        return None;
    }
    let value = quotient as i64;
    Some(if products < 0 { value.wrapping_neg() } else { value })
}

/// `N`, the value of a signed quantity at a price off the grid, down.
#[inline(always)]
pub const fn floor_value(quantity: Quantity, price: Price) -> Option<Money> {
    if let Some((_, value)) = narrow_notional_and_value(quantity, price) {
        return Some(value);
    }
    wide_floor_value(quantity, price)
}

#[inline(never)]
const fn wide_floor_value(quantity: Quantity, price: Price) -> Option<Money> {
    narrow(floor_micros(product(price, quantity)))
}

/// `N`, the value of a signed quantity at a price off the grid, up.
#[inline(always)]
pub const fn ceil_value(quantity: Quantity, price: Price) -> Option<Money> {
    if (price | quantity) >= 0
        && let Some((down, is_rounded)) = micros(price as u64, quantity as u64)
    {
        return Some(down.wrapping_add(is_rounded as i64));
    }
    wide_ceil_value(quantity, price)
}

#[inline(never)]
const fn wide_ceil_value(quantity: Quantity, price: Price) -> Option<Money> {
    narrow(ceil_micros(product(price, quantity)))
}

/// The notional of a signed quantity, and its value down: [`notional`] and [`floor_value`] at the price of one of them.
#[inline(always)]
pub const fn notional_and_value(quantity: Quantity, mark: Price) -> Option<(Money, Money)> {
    match narrow_notional_and_value(quantity, mark) {
        None => wide_notional_and_value(quantity, mark),
        some => some,
    }
}

#[inline(always)]
const fn narrow_notional_and_value(quantity: Quantity, mark: Price) -> Option<(Money, Money)> {
    if mark < 0 {
        return None;
    }
    match micros(mark as u64, quantity.unsigned_abs()) {
        Some((down, is_rounded)) => {
            let up = down.wrapping_add(is_rounded as i64);
            let value = down.wrapping_add((is_rounded & (quantity < 0)) as i64);
            Some((up, signed_as(quantity, value)))
        }
        None => None,
    }
}

#[inline(never)]
const fn wide_notional_and_value(quantity: Quantity, mark: Price) -> Option<(Money, Money)> {
    let products = product(mark, quantity);
    let (down, is_exact) = split::<PRODUCT_ODD, PRODUCT_SHIFT>(products.unsigned_abs());
    // At most 2^126 / 10^10.
    let up = if is_exact { down } else { down.wrapping_add(1) };
    if up > i64::MAX as u128 {
        return None;
    }
    let value = if products < 0 { (up as i64).wrapping_neg() } else { down as i64 };
    Some((up as i64, value))
}

/// The notional used in margin formulas: the absolute value of a position at the mark, up.
#[inline]
pub const fn notional(quantity: Quantity, mark: Price) -> Option<Money> {
    if let Some((notional, _)) = narrow_notional_and_value(quantity, mark) {
        return Some(notional);
    }
    let products = product(mark, quantity).unsigned_abs();
    // At most 2^126.
    narrow(ceil_micros(products as i128))
}

/// `U`, the value of one tick on one lot. `None` unless a whole number of micros, at least one.
pub const fn value_of_step(tick: Price, lot: Quantity) -> Option<Money> {
    match value(tick, lot) {
        Some(value) if tick > 0 && value > 0 => Some(value),
        _ => None,
    }
}

/// Whether tick and lot may become `tick` and `lot` while orders rest that entered under the old ones: the value of
/// every old or new tick on every old or new lot must be whole.
pub const fn may_change_steps(from: (Price, Quantity), tick: Price, lot: Quantity) -> bool {
    value_of_step(from.0, from.1).is_some()
        && value_of_step(from.0, lot).is_some()
        && value_of_step(tick, from.1).is_some()
        && value_of_step(tick, lot).is_some()
}

/// The largest multiple of `step` that is not above `numerator` / `denominator`; both divisors > 0.
#[inline]
pub const fn floor_to_step(numerator: i128, denominator: i128, step: i64) -> Option<i64> {
    // Rounding twice downwards is rounding once.
    let count = floor_div(floor_div(numerator, denominator), step as i128);
    match count.checked_mul(step as i128) {
        Some(multiple) => narrow(multiple),
        None => None,
    }
}

/// The smallest multiple of `step` that is not below `numerator` / `denominator`; both divisors > 0.
#[inline]
pub const fn ceil_to_step(numerator: i128, denominator: i128, step: i64) -> Option<i64> {
    let count = ceil_div(ceil_div(numerator, denominator), step as i128);
    match count.checked_mul(step as i128) {
        Some(multiple) => narrow(multiple),
        None => None,
    }
}

/// A share `part` / `whole` of `value` toward zero, and what is left; `None` where that takes more than words. `whole` > 0. Quantities
/// are whole numbers of lots: without the twos that both have, most products fit a word, whose division is several times cheaper.
#[inline]
const fn share(value: Money, part: i64, whole: i64) -> Option<(i64, i64)> {
    let twos = (part | whole).trailing_zeros();
    let (part, whole) = (part >> twos, whole >> twos);
    match value.checked_mul(part) {
        Some(product) => {
            let quotient = product.wrapping_div(whole);
            Some((quotient, product.wrapping_sub(quotient.wrapping_mul(whole))))
        }
        None => None,
    }
}

#[inline(never)]
const fn wide_ceil_share(value: Money, part: i64, whole: i64) -> Option<Money> {
    narrow(ceil_div((value as i128).wrapping_mul(part as i128), whole as i128))
}

#[inline(never)]
const fn wide_floor_share(value: Money, part: i64, whole: i64) -> Option<Money> {
    narrow(floor_div((value as i128).wrapping_mul(part as i128), whole as i128))
}

/// A share `part` / `whole` of `value`, up; none of nothing. `whole` >= 0.
#[inline]
pub const fn ceil_share(value: Money, part: i64, whole: i64) -> Option<Money> {
    if whole <= 0 || part == 0 || value == 0 {
        return Some(0);
    }
    if part == whole {
        return Some(value);
    }
    match share(value, part, whole) {
        // A rest means a whole of at least two, so the quotient is far from the ends of its range.
        Some((quotient, rest)) => Some(quotient.wrapping_add((rest > 0) as i64)),
        None => wide_ceil_share(value, part, whole),
    }
}

/// A share `part` / `whole` of `value`, down; none of nothing. `whole` >= 0.
#[inline]
pub const fn floor_share(value: Money, part: i64, whole: i64) -> Option<Money> {
    if whole <= 0 || part == 0 {
        return Some(0);
    }
    if part == whole {
        return Some(value);
    }
    match share(value, part, whole) {
        Some((quotient, rest)) => Some(quotient.wrapping_sub((rest < 0) as i64)),
        None => wide_floor_share(value, part, whole),
    }
}

/// `value` x `rate`, up.
#[inline(always)]
pub const fn ceil_of(value: Money, rate: Rate) -> Option<Money> {
    match value.checked_mul(rate) {
        // Most products fit a word, and a division of one by a constant is a multiplication. Whether something is left of it
        // nothing foretells.
        Some(product) if product >= 0 => {
            let down = product / RATE_ONE;
            Some(down.wrapping_add((down.wrapping_mul(RATE_ONE) != product) as Money))
        }
        _ => wide_ceil_of(value, rate),
    }
}

#[inline(never)]
const fn wide_ceil_of(value: Money, rate: Rate) -> Option<Money> {
    narrow(ceil_rate((value as i128).wrapping_mul(rate as i128)))
}

/// `value` x `rate`, down.
#[inline]
pub const fn floor_of(value: Money, rate: Rate) -> Option<Money> {
    narrow(floor_rate((value as i128).wrapping_mul(rate as i128)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::{MONEY_UNIT, UNIT};

    #[test]
    fn v_01_the_value_of_a_trade_is_exact() {
        let (tick, lot) = (10_000_000, 100_000);
        assert_eq!(value_of_step(tick, lot), Some(100));
        assert_eq!(600_000 * tick, 60_000 * UNIT);
        assert_eq!(500 * lot, UNIT / 2);
        assert_eq!(value(60_000 * UNIT, UNIT / 2), Some(30_000_000_000));
        assert_eq!(value(60_000 * UNIT, UNIT / 2), Some(30_000 * MONEY_UNIT));
    }

    #[test]
    fn words_give_what_wide_products_give() {
        let mut random = 5u64;
        let mut number = |bits: u32| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 1 >> (63 - bits)) as i64
        };
        let mut exact = 0;
        for step in 0..200_000u32 {
            let round = if step % 3 == 0 { 100_000 } else { 1 };
            let [mut price, mut quantity] =
                [step % 63, step / 63 % 63].map(|bits| number(bits) / round * round);
            if step % 5 < 2 {
                quantity = -quantity;
            }
            match step % 1_009 {
                0 => price = i64::MAX,
                1 => price = -price,
                2 => quantity = i64::MIN,
                3 => quantity = i64::MAX,
                _ => {}
            }
            let (products, what) = (product(price, quantity), format!("{price} {quantity}"));
            assert_eq!(value(price, quantity), wide_value(price, quantity), "{what}");
            let both = wide_notional_and_value(quantity, price);
            assert_eq!(notional_and_value(quantity, price), both, "{what}");
            assert_eq!(floor_value(quantity, price), narrow(floor_micros(products)), "{what}");
            assert_eq!(ceil_value(quantity, price), narrow(ceil_micros(products)), "{what}");
            let away = narrow(ceil_micros(products.unsigned_abs() as i128));
            assert_eq!(notional(quantity, price), away, "{what}");
            let rate = quantity % RATE_ONE;
            let charged = narrow(ceil_rate(i128::from(price) * i128::from(rate)));
            assert_eq!(ceil_of(price, rate), charged, "{what}");
            exact += u32::from(value(price, quantity).is_some_and(|value| value != 0));
        }
        assert!(exact > 1_000, "{exact}");
    }

    #[test]
    fn steps_whose_value_is_no_whole_micro_are_refused() {
        assert_eq!(value_of_step(10_000_000, 100), None);
        assert_eq!(value_of_step(10_000_000, 0), None);
        assert_eq!(value_of_step(-10_000_000, -100_000), None);
        assert!(may_change_steps((10_000_000, 100_000), 1_000_000, 1_000_000));
        assert!(may_change_steps((10_000_000, 100_000), 100_000, 100_000));
        assert!(!may_change_steps((10_000_000, 100_000), 10_000, 1_000_000), "old lot on the new tick");
        assert_eq!(value(3, 7), None);
        assert_eq!(value(i64::MAX, i64::MAX), None);
    }

    #[test]
    fn divisions_round_where_their_names_say() {
        for (dividend, floor, trunc, ceil, even) in [
            (7, 3, 3, 4, 4),
            (-7, -4, -3, -3, -4),
            (6, 3, 3, 3, 3),
            (-6, -3, -3, -3, -3),
            (5, 2, 2, 3, 2),
            (-5, -3, -2, -2, -2),
            (0, 0, 0, 0, 0),
        ] {
            assert_eq!(floor_div(dividend, 2), floor);
            assert_eq!(trunc_div(dividend, 2), trunc);
            assert_eq!(ceil_div(dividend, 2), ceil);
            assert_eq!(half_even_div(dividend, 2), even, "{dividend}");
        }
        assert_eq!(half_even_div(2, 3), 1);
        assert_eq!(half_even_div(-2, 3), -1);
        for divisor in [1, 2, i128::from(i64::MAX), i128::MAX] {
            for dividend in [i128::MIN, i128::MIN + 1, i64::MIN.into(), -1, 0, 1, i64::MAX.into(), i128::MAX]
            {
                let (floor, ceil) = (floor_div(dividend, divisor), ceil_div(dividend, divisor));
                assert_eq!(floor, dividend.div_euclid(divisor));
                assert_eq!(ceil - floor, i128::from(dividend.rem_euclid(divisor) != 0));
            }
        }
    }

    #[test]
    fn divisions_by_constants_are_divisions() {
        let mut random = 1u128;
        for bits in 0..128 {
            for _ in 0..50 {
                random = random.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).wrapping_add(1);
                let any = (random as i128) >> bits;
                // Exact multiples too: a random dividend is none.
                let whole = floor_div(any, PRODUCTS_PER_MICRO) * PRODUCTS_PER_MICRO;
                for dividend in [any, whole, whole.saturating_add(1), whole.saturating_sub(1)] {
                    assert_eq!(floor_micros(dividend), floor_div(dividend, PRODUCTS_PER_MICRO), "{dividend}");
                    assert_eq!(ceil_micros(dividend), ceil_div(dividend, PRODUCTS_PER_MICRO), "{dividend}");
                    assert_eq!(floor_rate(dividend), floor_div(dividend, RATE_ONE.into()), "{dividend}");
                    assert_eq!(ceil_rate(dividend), ceil_div(dividend, RATE_ONE.into()), "{dividend}");
                }
            }
        }
    }

    #[test]
    fn a_notional_and_a_value_are_both_at_once() {
        let mut random = 1u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random as i64) >> (random >> 58)
        };
        for _ in 0..20_000 {
            let (quantity, mark) = (next(), next().saturating_abs());
            for mark in [mark, mark / 10_000_000_000 * 10_000_000_000, 0] {
                let both = notional(quantity, mark).zip(floor_value(quantity, mark));
                assert_eq!(notional_and_value(quantity, mark), both, "{quantity} at {mark}");
            }
        }
    }

    #[test]
    fn shares_are_those_of_whole_products() {
        let mut random = 1u64;
        let mut next = |bits: u32| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> (64 - bits)) as i64
        };
        for lot in [1, 2, 100_000, 1_000_000, 1 << 40] {
            for _ in 0..2_000 {
                let value = (next(62) - (1 << 61)) >> (next(6) as u32 % 60);
                let (part, whole) = (next(20) * lot, (1 + next(20)) * lot);
                let (dividend, divisor) = (i128::from(value) * i128::from(part), i128::from(whole));
                let shown = format!("{value} x {part} / {whole}");
                assert_eq!(ceil_share(value, part, whole), narrow(ceil_div(dividend, divisor)), "{shown}");
                assert_eq!(floor_share(value, part, whole), narrow(floor_div(dividend, divisor)), "{shown}");
            }
        }
    }

    #[test]
    fn values_round_by_use() {
        let (quantity, mark) = (-12_300_000, 5_990_012_345_678);
        assert_eq!(floor_value(quantity, mark), Some(-7_367_715_186));
        assert_eq!(ceil_value(quantity, mark), Some(-7_367_715_185));
        assert_eq!(notional(quantity, mark), Some(7_367_715_186));
        assert_eq!(notional(i64::MIN, i64::MAX), None);
        assert_eq!(value(-60_000 * UNIT, UNIT), Some(-60_000 * MONEY_UNIT));
        assert_eq!(floor_to_step(105, 10, 4), Some(8));
        assert_eq!(ceil_to_step(105, 10, 4), Some(12));
        assert_eq!(ceil_to_step(i128::MAX, 1, i64::MAX), None);
        assert_eq!(ceil_share(10, 1, 3), Some(4));
        assert_eq!(floor_share(10, 1, 3), Some(3));
        assert_eq!(ceil_share(10, 1, 0), Some(0));
    }
}
