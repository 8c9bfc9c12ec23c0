//! Decimal text <-> scaled integers, exact both ways. No float, and no rounding that is not asked for: text that does not fit is
//! refused.
//!
//! In: `^[0-9]{1,20}(\.[0-9]+)?$`, and numbers of JSON with an exponent as well (`spot.md` 1, `perpetual.md` 1): what programs print of
//! their binary floats. Out: the shortest decimal form, no exponent, `0` for zero.

use arrayvec::ArrayString;
use ringside_core::money::{AMOUNT_UNIT, Amount, FEE_RATE_ONE, FeeRate, MAX_ENTRY, Price, UNIT};
use std::borrow::Cow;

/// Digits before the point that text may have, and decimals that are held.
const WHOLE_DIGITS_MAX: usize = 20;
const FRACTION_DIGITS: usize = 18;
/// Decimals that a number with an exponent is written out to; what is finer still is told from nothing by the last.
const PLAIN_DIGITS: usize = 40;

/// Text as it was sent.
struct Sent {
    whole: u128,
    /// In steps of 10^-18, down.
    fraction: u64,
    /// Whether more than that was sent.
    is_finer: bool,
}

/// Text as an amount in steps of 10^-18: at most 18 decimals after trailing zeros are cut. Never negative, below 10^38.
pub fn parse_amount(text: &[u8]) -> Option<Amount> {
    parse(text).filter(|sent| !sent.is_finer).map(|sent| sent.amount())
}

/// The same of any number of decimals: of what is finer than 10^-18 the last digit is not 0, so that it is a multiple of nothing
/// coarser, and not zero.
pub fn parse_any(text: &[u8]) -> Option<Amount> {
    let sent = parse(text)?;
    let amount = sent.amount();
    Some(amount + i128::from(sent.is_finer && amount % 10 == 0))
}

/// Text as a price or quantity in steps of 10^-8: at most 8 decimals after trailing zeros are cut, at most
/// [`MAX_ENTRY`]. May be zero.
pub fn parse_entry(text: &[u8]) -> Option<Price> {
    parse_entry_down(text).filter(|(_, is_finer)| !is_finer).map(|(entry, _)| entry)
}

/// The same of any number of decimals, down, and whether it is finer than that.
pub fn parse_entry_down(text: &[u8]) -> Option<(Price, bool)> {
    const STEP: u64 = (AMOUNT_UNIT / UNIT as i128) as u64;
    let Sent { whole, fraction, is_finer } = parse(text)?;
    let value = whole.checked_mul(UNIT as u128)? + u128::from(fraction / STEP);
    let is_finer = is_finer || !fraction.is_multiple_of(STEP);
    let entry = i64::try_from(value).ok().filter(|value| *value <= MAX_ENTRY)?;
    (entry < MAX_ENTRY || !is_finer).then_some((entry, is_finer))
}

/// A string of JSON without escapes, or a number, read from its text by `parse`.
pub fn of_json<T>(json: &str, parse: fn(&[u8]) -> Option<T>) -> Option<T> {
    match json.strip_prefix('"').and_then(|json| json.strip_suffix('"')) {
        Some(text) => parse(text.as_bytes()),
        None => parse(&plain(json.as_bytes())?),
    }
}

/// A number of JSON without its exponent; `None` where it has more digits before the point than any amount.
pub fn plain(number: &[u8]) -> Option<Cow<'_, [u8]>> {
    let Some(at) = number.iter().position(|byte| matches!(byte, b'e' | b'E')) else {
        return Some(Cow::Borrowed(number));
    };
    let (mantissa, exponent) = (&number[..at], &number[at + 1..]);
    let (is_negative, exponent) = match exponent {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let exponent = exponent
        .iter()
        .fold(0i64, |value, digit| (value * 10 + i64::from(digit.saturating_sub(b'0'))).min(9_999));
    let whole = mantissa.iter().position(|byte| *byte == b'.').unwrap_or(mantissa.len());
    let digits: Vec<u8> = mantissa.iter().copied().filter(|byte| *byte != b'.').collect();
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    let digits = &digits[zeros..];
    if digits.is_empty() {
        return Some(Cow::Borrowed(b"0"));
    }
    // Digits before the point, of those from the first that is not 0.
    let before = whole as i64 - zeros as i64 + if is_negative { -exponent } else { exponent };
    let mut out = Vec::with_capacity(WHOLE_DIGITS_MAX + 1 + PLAIN_DIGITS);
    if before > WHOLE_DIGITS_MAX as i64 {
        return None;
    }
    let split = before.clamp(0, digits.len() as i64) as usize;
    out.extend_from_slice(if split == 0 { b"0" } else { &digits[..split] });
    out.resize(out.len() + (before - split as i64).max(0) as usize, b'0');
    if split < digits.len() {
        out.push(b'.');
        let end = out.len() + PLAIN_DIGITS;
        out.resize(out.len() + before.min(0).unsigned_abs().min(PLAIN_DIGITS as u64 - 1) as usize, b'0');
        out.extend_from_slice(&digits[split..]);
        out.truncate(end);
    }
    Some(Cow::Owned(out))
}

impl Sent {
    fn amount(&self) -> Amount {
        self.whole as i128 * AMOUNT_UNIT + i128::from(self.fraction)
    }
}

/// Text as a fee rate: basis points with at most 4 decimals, at most 10000.
pub fn parse_bps(text: &[u8]) -> Option<FeeRate> {
    const STEP: u64 = AMOUNT_UNIT as u64 / 10_000;
    let Sent { whole, fraction, is_finer } = parse(text)?;
    if is_finer || !fraction.is_multiple_of(STEP) {
        return None;
    }
    let value = whole.checked_mul(10_000)? + u128::from(fraction / STEP);
    u32::try_from(value).ok().filter(|value| *value <= FEE_RATE_ONE)
}

fn parse(text: &[u8]) -> Option<Sent> {
    let point = text.iter().position(|byte| *byte == b'.');
    let (whole, fraction) = match point {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &b"0"[..]),
    };
    if !(1..=WHOLE_DIGITS_MAX).contains(&whole.len()) || fraction.is_empty() {
        return None;
    }
    let (held, rest) = fraction.split_at(fraction.len().min(FRACTION_DIGITS));
    if !rest.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // 19 digits fit 64 bits; only the twentieth needs more.
    let (head, tail) = whole.split_at(whole.len().min(19));
    let mut value = u128::from(digits(head)?);
    for digit in tail {
        value = value * 10 + u128::from(digits(&[*digit])?);
    }
    Some(Sent {
        whole: value,
        fraction: digits(held)? * POWERS[FRACTION_DIGITS - held.len()],
        is_finer: rest.iter().any(|digit| *digit != b'0'),
    })
}

/// Up to 19 digits as an integer.
fn digits(text: &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    Some(value)
}

/// Powers of ten.
const POWERS: [u64; 20] = {
    let mut powers = [1; 20];
    let mut index = 1;
    while index < 20 {
        powers[index] = powers[index - 1] * 10;
        index += 1;
    }
    powers
};

/// Text of a number, without an allocation: digits of the widest integer, a sign, a point and the zero before it.
pub type Text = ArrayString<42>;

/// Text as one of the functions below writes it.
#[inline]
pub fn text_of(write: impl FnOnce(&mut Text)) -> Text {
    let mut text = Text::new_const();
    write(&mut text);
    text
}

/// Appends an amount given in steps of 10^-18.
pub fn write_amount(out: &mut Text, amount: Amount) {
    if amount < 0 {
        out.push('-');
    }
    let magnitude = amount.unsigned_abs();
    match u64::try_from(magnitude) {
        Ok(small) => write_parts(out, small / AMOUNT_UNIT as u64, small % AMOUNT_UNIT as u64, 18),
        Err(_) => {
            write_integer(out, magnitude / AMOUNT_UNIT as u128);
            write_fraction(out, (magnitude % AMOUNT_UNIT as u128) as u64, 18);
        }
    }
}

/// Appends a price or quantity given in steps of 10^-8.
pub fn write_entry(out: &mut Text, value: Price) {
    if value < 0 {
        out.push('-');
    }
    let magnitude = value.unsigned_abs();
    write_parts(out, magnitude / UNIT as u64, magnitude % UNIT as u64, 8);
}

/// Appends a sum of quantities, each in steps of 10^-8; it may exceed 64 bits.
pub fn write_total(out: &mut Text, total: i128) {
    match i64::try_from(total) {
        Ok(total) => write_entry(out, total),
        Err(_) => {
            if total < 0 {
                out.push('-');
            }
            let magnitude = total.unsigned_abs();
            write_integer(out, magnitude / UNIT as u128);
            write_fraction(out, (magnitude % UNIT as u128) as u64, 8);
        }
    }
}

/// Appends a fee rate as basis points.
pub fn write_bps(out: &mut Text, rate: FeeRate) {
    write_parts(out, u64::from(rate / 10_000), u64::from(rate % 10_000), 4);
}

fn write_parts(out: &mut Text, whole: u64, fraction: u64, decimals: usize) {
    write_integer(out, whole);
    write_fraction(out, fraction, decimals);
}

/// Appends `fraction` as that many decimals without trailing zeros; nothing for zero.
fn write_fraction(out: &mut Text, fraction: u64, decimals: usize) {
    if fraction != 0 {
        let mut digits = itoa::Buffer::new();
        out.push('.');
        out.push_str(padded(&mut digits, fraction, decimals).trim_end_matches('0'));
    }
}

/// So many digits, at most 18, zeros in front.
fn padded(digits: &mut itoa::Buffer, value: u64, count: usize) -> &str {
    &digits.format(POWERS[count] + value)[1..]
}

/// Appends an integer.
pub fn write_integer(out: &mut Text, value: impl itoa::Integer) {
    out.push_str(itoa::Buffer::new().format(value));
}

/// Appends steps of 10^-8 with exactly so many decimals, at most 8; what lies beyond is cut.
pub fn write_fixed(out: &mut Text, value: i128, decimals: usize) {
    let decimals = decimals.min(8);
    let one = POWERS[decimals];
    let mut is_negative = value < 0;
    let (whole, fraction) = match i64::try_from(value) {
        Ok(small) => {
            let steps = small.unsigned_abs() / POWERS[8 - decimals];
            is_negative &= steps > 0;
            (u128::from(steps / one), steps % one)
        }
        Err(_) => {
            let steps = value.unsigned_abs() / u128::from(POWERS[8 - decimals]);
            (steps / u128::from(one), (steps % u128::from(one)) as u64)
        }
    };
    if is_negative {
        out.push('-');
    }
    write_integer(out, whole);
    if decimals > 0 {
        out.push('.');
        out.push_str(padded(&mut itoa::Buffer::new(), fraction, decimals));
    }
}

/// Decimals that a step of 10^-8 has: 1 for 0.1, 0 for 5.
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
    use proptest::prelude::*;
    use rust_decimal::Decimal;
    use std::str::FromStr;

    fn written(write: impl FnOnce(&mut Text)) -> String {
        text_of(write).as_str().to_owned()
    }

    #[test]
    fn entries_at_the_edges() {
        let cases: [(&str, Option<i64>); 22] = [
            ("0", Some(0)),
            ("0.0", Some(0)),
            ("00000000000000000001", Some(UNIT)),
            ("1", Some(UNIT)),
            ("0.00000001", Some(1)),
            ("0.000000010000000000", Some(1)),
            ("0.000000001", None),
            ("0.000000010000000001", None),
            ("92233720368", Some(MAX_ENTRY)),
            ("92233720368.000000000000000000", Some(MAX_ENTRY)),
            ("92233720368.00000001", None),
            ("92233720369", None),
            ("99999999999999999999", None),
            ("000000000000000000001", None),
            ("", None),
            (".", None),
            (".5", None),
            ("5.", None),
            ("1e5", None),
            ("-1", None),
            ("+1", None),
            ("1.0000000000000000000", Some(UNIT)),
        ];
        for (text, value) in cases {
            assert_eq!(parse_entry(text.as_bytes()), value, "{text:?}");
        }
        let finer: [(&str, Option<(i64, bool)>); 6] = [
            ("0.30000000000000004", Some((30_000_000, true))),
            ("0.000000001", Some((0, true))),
            ("0.0000000000000000000001", Some((0, true))),
            ("0.3", Some((30_000_000, false))),
            ("92233720368.000000001", None),
            ("0.3x", None),
        ];
        for (text, value) in finer {
            assert_eq!(parse_entry_down(text.as_bytes()), value, "{text:?}");
        }
        for text in [" 1", "1 ", "1,0", "1_0", "0x1", "NaN", "１", "1.2.3", "1\0"] {
            assert_eq!(parse_entry(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn amounts_at_the_edges() {
        let largest = "99999999999999999999.999999999999999999";
        assert_eq!(parse_amount(largest.as_bytes()), Some(10i128.pow(38) - 1));
        assert_eq!(written(|out| write_amount(out, 10i128.pow(38) - 1)), largest);
        assert_eq!(parse_amount(b"0.000000000000000001"), Some(1));
        assert_eq!(parse_amount(b"0.0000000000000000001"), None);
        assert_eq!(parse_any(b"0.0000000000000000001"), Some(1));
        assert_eq!(parse_any(b"0.0033000000000000004"), Some(3_300_000_000_000_001));
        assert_eq!(parse_any(b"5.00000000000000000000000"), Some(5 * AMOUNT_UNIT));
        assert_eq!(parse_any(b"0.00000000000000000000x"), None);
        assert_eq!(written(|out| write_amount(out, 0)), "0");
        assert_eq!(written(|out| write_amount(out, -1)), "-0.000000000000000001");
        assert_eq!(written(|out| write_amount(out, 25 * AMOUNT_UNIT)), "25");
        assert_eq!(written(|out| write_amount(out, i128::MAX)), "170141183460469231731.687303715884105727");
        assert_eq!(written(|out| write_total(out, i128::from(i64::MAX) + 1)), "92233720368.54775808");
        assert_eq!(written(|out| write_total(out, 10i128.pow(28))), "100000000000000000000");
        assert_eq!(written(|out| write_entry(out, 12_370_000_000)), "123.7");
        assert_eq!(written(|out| write_integer(out, i64::MIN)), "-9223372036854775808");
    }

    #[test]
    fn numbers_with_an_exponent_are_written_out() {
        let least = format!("0.{}1", "0".repeat(39));
        let cut = format!("0.{}987", "0".repeat(37));
        let cases: [(&str, Option<&str>); 16] = [
            ("0.5", Some("0.5")),
            ("5e-05", Some("0.00005")),
            ("1.1e-2", Some("0.011")),
            ("2E-1", Some("0.2")),
            ("1.5e+3", Some("1500")),
            ("12.34e1", Some("123.4")),
            ("0.0012e2", Some("0.12")),
            ("0.0012e4", Some("12")),
            ("0e99999999999999999999", Some("0")),
            ("0.00E-7", Some("0")),
            ("1e19", Some("10000000000000000000")),
            ("1e20", None),
            ("123456789e300", None),
            ("1e-9999999999", Some(&least)),
            ("9.87654321e-38", Some(&cut)),
            ("0.1e1", Some("1")),
        ];
        assert_eq!(plain(b"-1e-2").and_then(|text| parse_any(&text)), None);
        for (number, text) in cases {
            let plain = plain(number.as_bytes());
            let plain = plain.as_deref().map(|plain| str::from_utf8(plain).expect("text"));
            assert_eq!(plain, text, "{number}");
        }
    }

    #[test]
    fn fixed_decimals_and_decimals_of_steps() {
        for (value, decimals, text) in [
            (900_000_000_000, 1, "9000.0"),
            (0, 3, "0.000"),
            (38_500_000, 3, "0.385"),
            (-5, 8, "-0.00000005"),
            (-5, 3, "0.000"),
            (123_456_789, 0, "1"),
            (i128::from(i64::MIN) * 100, 8, "-9223372036854.77580800"),
        ] {
            assert_eq!(written(|out| write_fixed(out, value, decimals)), text);
        }
        assert_eq!(
            [10_000_000, 100_000, 100_000_000, 1, 50_000_000, 1_000_000_000].map(decimals),
            [1, 3, 0, 8, 1, 0]
        );
    }

    #[test]
    fn rates_have_four_decimals() {
        for (text, rate) in [
            ("0", Some(0)),
            ("5", Some(50_000)),
            ("0.125", Some(1_250)),
            ("0.0001", Some(1)),
            ("10000", Some(100_000_000)),
        ] {
            assert_eq!(parse_bps(text.as_bytes()), rate);
            assert_eq!(written(|out| write_bps(out, rate.expect("a rate"))), text);
        }
        for text in ["10000.0001", "0.00001", "-1", "1e2", "99999999999999999999"] {
            assert_eq!(parse_bps(text.as_bytes()), None, "{text}");
        }
        assert_eq!(written(|out| write_bps(out, 105_000)), "10.5");
    }

    proptest! {
        #[test]
        fn any_bytes_parse_or_are_refused(text in prop::collection::vec(any::<u8>(), 0..48)) {
            let _ = (parse_amount(&text), parse_any(&text), parse_entry_down(&text), parse_bps(&text));
        }

        #[test]
        fn digits_and_points_are_judged_as_the_rule_says(text in "[0-9.]{0,24}") {
            let rule = text.split_once('.').map_or((text.as_str(), "0"), |parts| parts);
            let fits = (1..=20).contains(&rule.0.len()) && !rule.1.is_empty() && !rule.1.contains('.');
            prop_assert_eq!(parse_any(text.as_bytes()).is_some(), fits);
            let is_held = fits && rule.1.bytes().skip(18).all(|digit| digit == b'0');
            prop_assert_eq!(parse_amount(text.as_bytes()).is_some(), is_held);
        }

        #[test]
        fn exponents_agree_with_another_implementation(mantissa in 0u64..1_000_000_000_000, scale in 0u32..9, exponent in -15i32..7) {
            let decimal = Decimal::from_i128_with_scale(mantissa.into(), scale);
            let number = format!("{decimal}e{exponent}");
            let power = Decimal::from_i128_with_scale(1, 0);
            let power = (0..exponent).fold(power, |power, _| power * Decimal::TEN);
            let scaled = Decimal::from_i128_with_scale(mantissa.into(), scale + exponent.min(0).unsigned_abs()) * power;
            let read = plain(number.as_bytes()).and_then(|plain| parse_any(&plain));
            let exact = parse_any(scaled.to_string().as_bytes());
            prop_assert_eq!(read, exact, "{} {}", number, scaled);
        }

        #[test]
        fn amounts_agree_with_another_implementation(value in 0i128..79_228_162_514_264_337_593_543_950_335) {
            let text = written(|out| write_amount(out, value));
            prop_assert_eq!(parse_amount(text.as_bytes()), Some(value));
            let other = Decimal::from_str(&text).expect("a decimal");
            prop_assert_eq!(other, Decimal::from_i128_with_scale(value, 18));
            prop_assert_eq!(other.normalize().to_string(), text);
        }

        #[test]
        fn entries_agree_with_another_implementation(value in 0i64..=MAX_ENTRY) {
            let text = written(|out| write_entry(out, value));
            prop_assert_eq!(parse_entry(text.as_bytes()), Some(value));
            prop_assert_eq!(Decimal::from_i128_with_scale(value.into(), 8).normalize().to_string(), text);
            prop_assert_eq!(written(|out| write_total(out, value.into())), written(|out| write_entry(out, value)));
        }

        #[test]
        fn wide_integers_are_written_whole(value in any::<i128>(), small in any::<i64>()) {
            prop_assert_eq!(text_of(|out| write_integer(out, value.unsigned_abs())).as_str().to_owned(), value.unsigned_abs().to_string());
            prop_assert_eq!(written(|out| write_integer(out, small)), small.to_string());
            prop_assert_eq!(written(|out| write_integer(out, small as u64)), (small as u64).to_string());
        }

        #[test]
        fn fixed_decimals_agree_with_another_implementation(value in any::<i64>(), decimals in 0usize..9) {
            let other = Decimal::from_i128_with_scale(value.into(), 8).trunc_with_scale(decimals as u32);
            let text = format!("{other:.decimals$}");
            let text = if other.is_zero() { text.trim_start_matches('-') } else { &text };
            prop_assert_eq!(written(|out| write_fixed(out, value.into(), decimals)), text);
        }
    }
}
