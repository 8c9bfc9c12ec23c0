//! Integer arithmetic of `risk.md` 1. Everything is i128; an overflow panics, which is a finding.

/// One whole unit of a price, a quantity, a rate.
pub const E8: i128 = 100_000_000;
/// Products of a price and a quantity, both in steps of 10^-8, in a micro-quote.
pub const E10: i128 = 10_000_000_000;
/// Micro-quote in one quote.
pub const E6: i128 = 1_000_000;
/// Largest value of an order or position.
pub const MAX_VALUE: i128 = 1_000_000_000_000_000;

pub fn floor_div(a: i128, b: i128) -> i128 {
    assert!(b > 0, "divisors are positive");
    let quotient = a / b;
    if a - quotient * b < 0 { quotient - 1 } else { quotient }
}

pub fn ceil_div(a: i128, b: i128) -> i128 {
    -floor_div(-a, b)
}

/// Toward zero.
pub fn trunc(a: i128, b: i128) -> i128 {
    assert!(b > 0, "divisors are positive");
    if a < 0 { -(-a / b) } else { a / b }
}

/// To the nearest, halves to even: for prices that are shown.
pub fn nearest(a: i128, b: i128) -> i128 {
    let (low, twice) = (floor_div(a, b), 2 * (a - floor_div(a, b) * b));
    if twice > b || (twice == b && low % 2 != 0) { low + 1 } else { low }
}

pub fn clamp(a: i128, low: i128, high: i128) -> i128 {
    if a < low {
        low
    } else if a > high {
        high
    } else {
        a
    }
}

/// Value of a trade, exact.
pub fn value(price: i128, quantity: i128) -> i128 {
    let product = price * quantity;
    assert!(product % E10 == 0, "the value of {quantity} at {price} is not whole");
    product / E10
}

/// Value at any price, down.
pub fn value_down(quantity: i128, price: i128) -> i128 {
    floor_div(quantity * price, E10)
}

/// Value at any price, up.
pub fn value_up(quantity: i128, price: i128) -> i128 {
    ceil_div(quantity * price, E10)
}

/// A part of an amount, up; 0 of nothing.
pub fn share_up(amount: i128, part: i128, whole: i128) -> i128 {
    if whole == 0 { 0 } else { ceil_div(amount * part, whole) }
}

/// A rate of an amount, up.
pub fn rate_up(amount: i128, rate: i128) -> i128 {
    ceil_div(amount * rate, E8)
}

/// A rate of an amount, down.
pub fn rate_down(amount: i128, rate: i128) -> i128 {
    floor_div(amount * rate, E8)
}

pub fn floor_to(a: i128, step: i128) -> i128 {
    floor_div(a, step) * step
}

pub fn ceil_to(a: i128, step: i128) -> i128 {
    ceil_div(a, step) * step
}

/// Into an event's field.
pub fn narrow(a: i128) -> i64 {
    i64::try_from(a).unwrap_or_else(|_| panic!("{a} leaves the range of 64 bits"))
}
