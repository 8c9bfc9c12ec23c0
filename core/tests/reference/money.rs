//! The arithmetic of the reference engine, by schoolbook methods: 32-bit digits, carry by carry.

use ringside_core::money::{Amount, FeeRate, Price, Quantity};

/// A natural number as 32-bit digits, least first: room for 224 bits.
type Digits = [u64; 7];

const DIGIT: u64 = 1 << 32;

fn digits_of(amount: Amount) -> Digits {
    assert!(amount >= 0);
    let mut digits = [0; 7];
    for (index, digit) in digits.iter_mut().take(4).enumerate() {
        *digit = (amount >> (32 * index)) as u64 % DIGIT;
    }
    digits
}

fn times(mut digits: Digits, factor: u32) -> Digits {
    let mut carry = 0;
    for digit in &mut digits {
        let product = *digit * u64::from(factor) + carry;
        carry = product / DIGIT;
        *digit = product % DIGIT;
    }
    digits
}

/// Quotient and remainder.
fn divided(mut digits: Digits, divisor: u32) -> (Digits, u64) {
    let mut rest = 0;
    for digit in digits.iter_mut().rev() {
        let value = rest * DIGIT + *digit;
        *digit = value / u64::from(divisor);
        rest = value % u64::from(divisor);
    }
    (digits, rest)
}

/// `None` where the number exceeds the range of an amount.
fn amount_of(digits: Digits) -> Option<Amount> {
    let mut amount: Amount = 0;
    for &digit in digits.iter().rev() {
        amount = amount.checked_mul(DIGIT.into())?.checked_add(digit.into())?;
    }
    Some(amount)
}

/// The share of `amount` at `rate` (100,000,000 takes everything), rounded up.
pub fn fee(amount: Amount, rate: FeeRate) -> Amount {
    let (share, rest) = divided(times(digits_of(amount), rate), 100_000_000);
    amount_of(share).expect("a share is less than the whole") + Amount::from(rest != 0)
}

/// Price x quantity in quote, in steps of 10^-18; `None` where that exceeds the range of an amount.
pub fn notional(price: Price, quantity: Quantity) -> Option<Amount> {
    assert!(price >= 0 && quantity >= 0);
    // Both are below 2^63, so the product is below 2^126 and only the last factor can leave the range.
    (Amount::from(price) * Amount::from(quantity)).checked_mul(100)
}

/// The amount of base that a quantity is, in steps of 10^-18.
pub fn base_amount(quantity: Quantity) -> Amount {
    Amount::from(quantity) * 10_000_000_000
}
