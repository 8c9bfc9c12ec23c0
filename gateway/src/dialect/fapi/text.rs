//! Numbers as the `/fapi` dialect writes them (`perpetual.md` 1).

use crate::dialect::decimal;
use ringside_core::ids::AccountId;
use sha2::{Digest, Sha256};

/// Eight letters that stand for an account and tell nothing of it.
pub fn alias(account: AccountId) -> String {
    let hash = Sha256::digest([&b"account alias"[..], &account.to_le_bytes()].concat());
    hash.iter().take(8).map(|byte| char::from(b'A' + byte % 26)).collect()
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::with_capacity(24);
    write(&mut out);
    // Digits, a point and a sign.
    String::from_utf8(out).unwrap_or_default()
}

/// Steps of 10^-8, shortest form.
pub fn units8(value: i64) -> String {
    written(|out| decimal::write_entry(out, value))
}

/// Steps of 10^-18, shortest form.
pub fn amount(value: i128) -> String {
    written(|out| decimal::write_amount(out, value))
}

/// Micros, shortest form.
pub fn micros(value: i64) -> String {
    written(|out| decimal::write_amount(out, i128::from(value) * 1_000_000_000_000))
}

/// Steps of 10^-8 with exactly so many decimals; what lies beyond is cut.
pub fn fixed(value: i128, decimals: usize) -> String {
    let decimals = decimals.min(8);
    let value = value / 10_i128.pow(8 - decimals as u32);
    let one = 10_u128.pow(decimals as u32);
    let (sign, magnitude) = (if value < 0 { "-" } else { "" }, value.unsigned_abs());
    match decimals {
        0 => format!("{sign}{magnitude}"),
        _ => format!("{sign}{}.{:0decimals$}", magnitude / one, magnitude % one),
    }
}

/// Steps of 10^-8 with exactly 8 decimals.
pub fn exact8(value: i64) -> String {
    fixed(value.into(), 8)
}

/// Micros with exactly 8 decimals.
pub fn money(micros: i64) -> String {
    fixed(i128::from(micros) * 100, 8)
}

/// Micros with exactly so many decimals.
pub fn value(micros: i64, decimals: usize) -> String {
    fixed(i128::from(micros) * 100, decimals)
}

/// Decimals that a step of 10^-8 units has: 1 for 0.1, 0 for 5.
pub fn decimals(step: i64) -> usize {
    let mut decimals = 8;
    let mut step = step;
    while decimals > 0 && step != 0 && step % 10 == 0 {
        step /= 10;
        decimals -= 1;
    }
    decimals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_form() {
        assert_eq!((units8(900_000_000_000), units8(38_500_000)), ("9000".to_owned(), "0.385".to_owned()));
        assert_eq!(
            (micros(450_000), micros(0), micros(-1)),
            ("0.45".to_owned(), "0".to_owned(), "-0.000001".to_owned())
        );
        assert_eq!(
            (fixed(900_000_000_000, 1), fixed(0, 3), fixed(38_500_000, 3)),
            ("9000.0".to_owned(), "0.000".to_owned(), "0.385".to_owned())
        );
        assert_eq!((fixed(-5, 8), fixed(123_456_789, 0)), ("-0.00000005".to_owned(), "1".to_owned()));
        assert_eq!(
            (money(23_724_692), money(-450_000)),
            ("23.72469200".to_owned(), "-0.45000000".to_owned())
        );
        assert_eq!(
            [10_000_000, 100_000, 100_000_000, 1, 50_000_000, 1_000_000_000].map(decimals),
            [1, 3, 0, 8, 1, 0]
        );
    }
}
