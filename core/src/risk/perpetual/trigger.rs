//! When conditional orders fire (`risk.md` 14).
//!
//! Which price is watched, and what becomes of an order that fires, is decided elsewhere.

use crate::command::Side;
use crate::money::{Price, RATE_ONE, Rate};

/// What a stop price waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// STOP, STOP_MARKET: the market moving with the order's side.
    Stop,
    /// TAKE_PROFIT, TAKE_PROFIT_MARKET: against it.
    TakeProfit,
}

/// The lowest and highest watched price since the last evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) low: Price,
    pub(crate) high: Price,
}

impl Range {
    /// Of one price.
    pub(crate) const fn of(price: Price) -> Range {
        Range { low: price, high: price }
    }
}

/// Whether an order fires. At placement, with the range of the watched price alone, it is refused instead.
#[inline]
pub(crate) const fn fires(condition: Condition, side: Side, stop: Price, watched: Range) -> bool {
    if waits_for_rise(condition, side) { watched.high >= stop } else { watched.low <= stop }
}

/// Whether the watched price must rise to the stop price, rather than fall: what an index over stop prices is kept by.
#[inline]
pub(crate) const fn waits_for_rise(condition: Condition, side: Side) -> bool {
    matches!((condition, side), (Condition::Stop, Side::Buy) | (Condition::TakeProfit, Side::Sell))
}

/// Smallest callback rate and step of callback rates: 0.1 %.
pub(crate) const CALLBACK_STEP: Rate = 100_000;
/// Largest callback rate: 10 %.
pub(crate) const CALLBACK_MAX: Rate = 10_000_000;

/// Whether a callback rate may be asked for.
pub(crate) const fn is_callback(rate: Rate) -> bool {
    rate >= CALLBACK_STEP && rate <= CALLBACK_MAX && rate % CALLBACK_STEP == 0
}

/// A trailing stop: it follows the watched price from its activation on, and fires where that turns back by the callback
/// rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trailing {
    pub(crate) activation: Price,
    /// See [`is_callback`].
    pub(crate) callback: Rate,
    /// Trough of a buy, peak of a sell; 0 until active.
    pub(crate) extreme: Price,
}

impl Trailing {
    /// At placement. Without an activation price it is active at once; `None` where the activation price is not below
    /// (buy) or above (sell) the watched price.
    pub(crate) fn new(
        side: Side,
        activation: Option<Price>,
        callback: Rate,
        watched: Price,
    ) -> Option<Trailing> {
        let Some(activation) = activation else {
            return Some(Trailing { activation: watched, callback, extreme: watched });
        };
        let is_ahead = match side {
            Side::Buy => activation < watched,
            Side::Sell => activation > watched,
        };
        if is_ahead { Some(Trailing { activation, callback, extreme: 0 }) } else { None }
    }
}

/// What one order does by itself: many are followed together (`trailing.rs`), and do the same.
#[cfg(test)]
impl Trailing {
    /// Whether the activation price was reached.
    pub(crate) const fn is_active(&self) -> bool {
        self.extreme != 0
    }

    /// Takes one watched price, in sequence; whether it fires.
    pub(crate) fn follow(&mut self, side: Side, price: Price) -> bool {
        let is_reached = match side {
            Side::Buy => price <= self.activation,
            Side::Sell => price >= self.activation,
        };
        if !self.is_active() {
            if is_reached {
                self.extreme = price;
            }
            return false;
        }
        self.extreme = match side {
            Side::Buy => self.extreme.min(price),
            Side::Sell => self.extreme.max(price),
        };
        let (now, extreme) = (i128::from(price) * i128::from(RATE_ONE), i128::from(self.extreme));
        match side {
            Side::Buy => now >= extreme * i128::from(RATE_ONE + self.callback),
            Side::Sell => now <= extreme * i128::from(RATE_ONE - self.callback),
        }
    }
}

/// Whether `priceProtect` keeps an order armed: mark and last price are further apart than the market's bound.
pub(crate) fn is_deferred(mark: Price, last: Price, protection: Rate) -> bool {
    i128::from(mark.abs_diff(last)) * i128::from(RATE_ONE) > i128::from(protection) * i128::from(mark)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::UNIT;

    #[test]
    fn v_23_a_trailing_sell_follows_its_peak() {
        let mut order = Trailing::new(Side::Sell, Some(61_000 * UNIT), 1_000_000, 60_400 * UNIT).unwrap();
        assert!(is_callback(order.callback));
        let mut step = |price: i64| {
            let fired = order.follow(Side::Sell, price * UNIT);
            (order.is_active(), order.extreme / UNIT, fired)
        };
        assert_eq!(step(60_500), (false, 0, false));
        assert_eq!(step(61_000), (true, 61_000, false));
        assert_eq!(step(61_500), (true, 61_500, false));
        assert_eq!(step(60_900), (true, 61_500, false), "the limit is 60,885");
        assert_eq!(step(60_880), (true, 61_500, true));
    }

    #[test]
    fn a_trailing_buy_follows_its_trough() {
        assert_eq!(Trailing::new(Side::Buy, Some(100), 1_000_000, 100), None);
        assert_eq!(Trailing::new(Side::Sell, Some(100), 1_000_000, 100), None);
        let mut order = Trailing::new(Side::Buy, None, 1_000_000, 1_000).unwrap();
        assert!(order.is_active());
        assert!(!order.follow(Side::Buy, 900));
        assert!(!order.follow(Side::Buy, 908));
        assert!(order.follow(Side::Buy, 909));
        let mut order = Trailing::new(Side::Buy, None, 1_000_000, 1_000).unwrap();
        assert!(order.follow(Side::Buy, 1_010), "exactly the callback");
    }

    #[test]
    fn stops_fire_at_their_price() {
        let range = Range { low: 90, high: 110 };
        for (condition, side, at, beyond) in [
            (Condition::Stop, Side::Buy, 110, 111),
            (Condition::Stop, Side::Sell, 90, 89),
            (Condition::TakeProfit, Side::Buy, 90, 89),
            (Condition::TakeProfit, Side::Sell, 110, 111),
        ] {
            assert!(fires(condition, side, at, range), "{condition:?} {side:?}");
            assert!(!fires(condition, side, beyond, range), "{condition:?} {side:?}");
        }
    }

    #[test]
    fn callbacks_are_tenths_of_a_percent() {
        for (rate, expected) in [
            (0, false),
            (99_999, false),
            (100_000, true),
            (150_000, false),
            (10_000_000, true),
            (10_100_000, false),
            (-100_000, false),
        ] {
            assert_eq!(is_callback(rate), expected, "{rate}");
        }
    }

    #[test]
    fn protection_is_relative_to_the_mark() {
        assert!(!is_deferred(1_000, 1_050, 5_000_000));
        assert!(is_deferred(1_000, 1_051, 5_000_000));
        assert!(is_deferred(1_000, 949, 5_000_000));
    }
}
