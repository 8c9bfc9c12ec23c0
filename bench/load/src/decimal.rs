//! Numbers as the API writes them, in whole units.

/// `value` x 10^-`decimals`, as short as it can be written.
pub fn decimal(value: i64, decimals: u32) -> String {
    let unit = 10i64.pow(decimals);
    let (whole, part) = (value / unit, value % unit);
    if part == 0 {
        return whole.to_string();
    }
    let text = format!("{whole}.{part:0width$}", width = decimals as usize);
    text.trim_end_matches('0').to_string()
}

/// The whole units of a decimal text as [`decimal`] writes it; `None` if it has more decimals or is no number.
pub fn parse_decimal(text: &str, decimals: u32) -> Option<i128> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > decimals as usize {
        return None;
    }
    let unit = 10i128.checked_pow(decimals)?;
    let scale = 10i128.checked_pow(decimals - part.len() as u32)?;
    let part = if part.is_empty() { 0 } else { part.parse::<i128>().ok()? };
    whole.parse::<i128>().ok()?.checked_mul(unit)?.checked_add(part * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals() {
        assert_eq!(decimal(1_808_080, 3), "1808.08");
        assert_eq!(decimal(1_808_000, 3), "1808");
        assert_eq!(decimal(5, 4), "0.0005");
        assert_eq!(parse_decimal("1808.08", 3), Some(1_808_080));
        assert_eq!(parse_decimal("0.0005", 4), Some(5));
        for text in ["", ".5", "1.0000", "-1", "1e3", "1.2.3"] {
            assert_eq!(parse_decimal(text, 3), None, "{text}");
        }
    }
}
