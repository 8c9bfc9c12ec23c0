//! Words of the spot API: lower case out, any case in.

use crate::words::words;
use ringside_core::command::{MarketStatus, OrderStatus, OrderType, Side, TimeInForce};

words! {
    /// Which side of the book.
    SpotSide of Side { "buy" = Buy, "sell" = Sell }

    /// A type.
    SpotOrderType of OrderType { "limit" = Limit, "market" = Market }

    /// A time in force. Fill-or-kill cannot be sent here, but an account's orders of other APIs are shown.
    SpotTimeInForce of TimeInForce {
        "gtc" = GoodTillCancel,
        "ioc" = ImmediateOrCancel,
        "post_only" = PostOnly,
        "fok" = FillOrKill,
    }

    /// The same in pushes (`spot.md` 1).
    PushedTimeInForce of TimeInForce {
        "GTC" = GoodTillCancel,
        "IOC" = ImmediateOrCancel,
        "POST_ONLY" = PostOnly,
        "FOK" = FillOrKill,
    }

    /// A status.
    SpotOrderStatus of OrderStatus {
        "open" = Open,
        "partially_filled" = PartiallyFilled,
        "filled" = Filled,
        "canceled" = Canceled,
        "rejected" = Rejected,
        "expired" = Expired,
    }

    /// A market's status.
    SpotMarketStatus of MarketStatus { "listed" = Listed, "halted" = Halted, "delisted" = Delisted }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back_in_any_case() {
        for word in SpotOrderStatus::ALL {
            let read = SpotOrderStatus::read(word).unwrap();
            assert_eq!(SpotOrderStatus::of(read).text(), *word);
            assert_eq!(SpotOrderStatus::read_any_case(&word.to_uppercase()), Some(read));
            assert_eq!(SpotOrderStatus::read_any_case(&format!(" {word}")), None);
        }
        assert_eq!(SpotOrderStatus::ALL.len(), OrderStatus::ALL.len());
        assert_eq!((SpotSide::read(""), SpotSide::read("BUY")), (None, None));
        assert_eq!(SpotSide::read_any_case("Sell"), Some(Side::Sell));
        assert_eq!(SpotSide::of_code(9u8).text(), "");
    }

    #[test]
    fn pushed_words_are_those_of_answers_in_upper_case() {
        for (pushed, shown) in PushedTimeInForce::ALL.iter().zip(SpotTimeInForce::ALL) {
            assert_eq!(*pushed, shown.to_uppercase());
        }
    }
}
