//! Enumerations as words: any case in, lower case out. One list per enumeration serves both ways.

use ringside_core::command::{MarketStatus, OrderStatus, OrderType, Side, TimeInForce};
use ringside_views::kline::Interval;

/// Words of [`Side`].
pub const SIDES: &[(&str, Side)] = &[("buy", Side::Buy), ("sell", Side::Sell)];

/// Words of [`OrderType`].
pub const ORDER_TYPES: &[(&str, OrderType)] = &[("limit", OrderType::Limit), ("market", OrderType::Market)];

/// Words of [`TimeInForce`] that a spot order may be sent with.
pub const TIMES_IN_FORCE: &[(&str, TimeInForce)] = &[
    ("gtc", TimeInForce::GoodTillCancel),
    ("ioc", TimeInForce::ImmediateOrCancel),
    ("post_only", TimeInForce::PostOnly),
];

/// Words of [`OrderStatus`].
pub const ORDER_STATUSES: &[(&str, OrderStatus)] = &[
    ("open", OrderStatus::Open),
    ("partially_filled", OrderStatus::PartiallyFilled),
    ("filled", OrderStatus::Filled),
    ("canceled", OrderStatus::Canceled),
    ("rejected", OrderStatus::Rejected),
    ("expired", OrderStatus::Expired),
];

/// Words of [`MarketStatus`].
pub const MARKET_STATUSES: &[(&str, MarketStatus)] = &[
    ("listed", MarketStatus::Listed),
    ("halted", MarketStatus::Halted),
    ("delisted", MarketStatus::Delisted),
];

/// Words of [`Interval`], in its order. Their case counts: elsewhere `M` is a month.
pub const INTERVALS: [&str; 6] = ["1m", "5m", "15m", "1h", "4h", "1d"];

/// The interval of a word.
pub fn read_interval(text: &str) -> Option<Interval> {
    let index = INTERVALS.iter().position(|word| *word == text)?;
    Interval::ALL.get(index).copied()
}

/// The word of an interval.
pub const fn interval(interval: Interval) -> &'static str {
    INTERVALS[interval as usize]
}

/// The value of a word, whatever its case.
pub fn read<T: Copy>(words: &[(&str, T)], text: &str) -> Option<T> {
    words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)).map(|(_, value)| *value)
}

/// The word of a side.
pub const fn side(side: Side) -> &'static str {
    match side {
        Side::Buy => "buy",
        Side::Sell => "sell",
    }
}

/// The word of an order type.
pub const fn order_type(order_type: OrderType) -> &'static str {
    match order_type {
        OrderType::Limit => "limit",
        OrderType::Market => "market",
    }
}

/// The word of a time in force. Fill-or-kill cannot be sent here, but an account's orders of other dialects are shown.
pub const fn time_in_force(time_in_force: TimeInForce) -> &'static str {
    match time_in_force {
        TimeInForce::GoodTillCancel => "gtc",
        TimeInForce::ImmediateOrCancel => "ioc",
        TimeInForce::PostOnly => "post_only",
        TimeInForce::FillOrKill => "fok",
    }
}

/// The word of an order's status.
pub const fn order_status(status: OrderStatus) -> &'static str {
    match status {
        OrderStatus::Open => "open",
        OrderStatus::PartiallyFilled => "partially_filled",
        OrderStatus::Filled => "filled",
        OrderStatus::Canceled => "canceled",
        OrderStatus::Rejected => "rejected",
        OrderStatus::Expired => "expired",
    }
}

/// The word of a market's status.
pub const fn market_status(status: MarketStatus) -> &'static str {
    match status {
        MarketStatus::Listed => "listed",
        MarketStatus::Halted => "halted",
        MarketStatus::Delisted => "delisted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back_in_any_case() {
        fn check<T: Copy + PartialEq + std::fmt::Debug>(
            words: &[(&str, T)],
            word: impl Fn(T) -> &'static str,
        ) {
            for (text, value) in words {
                assert_eq!(word(*value), *text);
                assert_eq!(read(words, text), Some(*value));
                assert_eq!(read(words, &text.to_uppercase()), Some(*value));
                assert_eq!(read(words, &format!(" {text}")), None);
            }
            assert_eq!(read(words, ""), None);
        }
        check(SIDES, side);
        check(ORDER_TYPES, order_type);
        check(TIMES_IN_FORCE, time_in_force);
        check(ORDER_STATUSES, order_status);
        check(MARKET_STATUSES, market_status);
        assert_eq!(SIDES.len(), Side::ALL.len());
        assert_eq!(ORDER_TYPES.len(), OrderType::ALL.len());
        assert_eq!(ORDER_STATUSES.len(), OrderStatus::ALL.len());
        assert_eq!(MARKET_STATUSES.len(), MarketStatus::ALL.len());
        assert_eq!(read(ORDER_STATUSES, "new"), None);
    }
}
