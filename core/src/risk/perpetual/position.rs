//! A position by cost (`risk.md` 4): what a fill makes of it, and what it shows.
//!
//! No average price is stored: all of the cost leaves with the last lot, so realised profit over the life of a
//! position is exact. Which wallet a profit goes to is not decided here.

use super::units::{
    PRODUCTS_PER_MICRO, VALUE_MAX, ceil_share, floor_share, floor_value, half_even_div, magnitude, narrow,
};
use crate::command::Side;
use crate::money::{Money, Price, Quantity};

/// Signed quantity and signed cost. Without quantity there is no cost.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Position {
    /// Above 0 for a long position, below for a short one.
    pub quantity: Quantity,
    /// What was paid for it; received, where below 0.
    pub cost: Money,
}

/// What a fill made of a position: first its closing part, then its opening part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// The position after it.
    pub position: Position,
    /// Profit of the closing part.
    pub realised: Money,
    /// Quantity that closed, >= 0.
    pub closed: Quantity,
    /// Value of that, >= 0.
    pub closed_value: Money,
    /// Quantity that opened, >= 0.
    pub opened: Quantity,
    /// Value of that, >= 0.
    pub opened_value: Money,
}

impl Filled {
    /// Whether a trade may come to this (`risk.md` 1): a position that it opens is worth no more than the bound. What is taken over
    /// has no bound, or nobody could take it.
    #[inline(always)]
    pub(crate) const fn is_within_bound(&self) -> bool {
        self.opened == 0 || self.position.cost.unsigned_abs() <= VALUE_MAX as u64
    }
}

impl Position {
    /// A fill of `quantity` > 0 worth `value`. In a flip the closing part has its share of the value, which is exact
    /// for a trade at a price of the book and rounded down for a value off the grid.
    #[inline(always)]
    pub fn fill(self, side: Side, quantity: Quantity, value: Money) -> Option<Filled> {
        if quantity <= 0 {
            return None;
        }
        let held = self.held()?;
        let is_closing = match side {
            Side::Buy => self.quantity < 0,
            Side::Sell => self.quantity > 0,
        };
        let closed = if is_closing { quantity.min(held) } else { 0 };
        // Both parts are parts of `quantity`.
        let opened = quantity.wrapping_sub(closed);
        let closed_value = floor_share(value, closed, quantity)?;
        let opened_value = value.checked_sub(closed_value)?;
        let mut position = self;
        let mut realised = 0;
        if closed > 0 {
            let removed = ceil_share(self.cost, closed, held)?;
            realised = signed(side, closed_value)?.checked_add(removed)?.checked_neg()?;
            position.cost = self.cost.checked_sub(removed)?;
            position.quantity = self.quantity.checked_add(signed(side, closed)?)?;
        }
        position.quantity = position.quantity.checked_add(signed(side, opened)?)?;
        position.cost = position.cost.checked_add(signed(side, opened_value)?)?;
        Some(Filled { position, realised, closed, closed_value, opened, opened_value })
    }

    /// The same beside what was paid to open it, `fees` so far, with the fill's own `fee` ([`open_fees`]). What only opens has
    /// nothing to share out.
    #[inline(always)]
    pub fn fill_with_fees(
        self,
        side: Side,
        (quantity, value, fee): (Quantity, Money, Money),
        fees: Money,
    ) -> Option<(Filled, Money)> {
        let is_opening = match side {
            Side::Buy => self.quantity >= 0,
            Side::Sell => self.quantity <= 0,
        };
        if !is_opening || quantity <= 0 {
            return self.close_with_fees(side, (quantity, value, fee), fees);
        }
        let position = Position {
            quantity: self.quantity.checked_add(signed(side, quantity)?)?,
            cost: self.cost.checked_add(signed(side, value)?)?,
        };
        let (opened, opened_value) = (quantity, value);
        let filled = Filled { position, realised: 0, closed: 0, closed_value: 0, opened, opened_value };
        Some((filled, fees.checked_add(fee)?))
    }

    #[inline(never)]
    fn close_with_fees(
        self,
        side: Side,
        (quantity, value, fee): (Quantity, Money, Money),
        fees: Money,
    ) -> Option<(Filled, Money)> {
        let filled = self.fill(side, quantity, value)?;
        Some((filled, open_fees(fees, self.held()?, &filled, fee)?))
    }

    /// Absolute quantity.
    #[inline]
    pub const fn held(self) -> Option<Quantity> {
        magnitude(self.quantity)
    }

    /// The side that closes it; `None` for no position.
    #[inline]
    pub const fn closing_side(self) -> Option<Side> {
        match self.quantity {
            1.. => Some(Side::Sell),
            0 => None,
            _ => Some(Side::Buy),
        }
    }

    /// `u`, the profit not realised yet at a mark, down.
    #[inline]
    pub fn unrealised(self, mark: Price) -> Option<Money> {
        floor_value(self.quantity, mark)?.checked_sub(self.cost)
    }

    /// The average price it was entered at, 0 without one: for show, halves to even.
    pub fn entry_price(self) -> Option<Price> {
        self.shown_price(self.cost.unsigned_abs().into())
    }

    /// The price at which closing pays for the fees of opening, `open_fees` of them, as well: for show, halves to even.
    pub fn break_even_price(self, open_fees: Money) -> Option<Price> {
        let cost = i128::from(self.cost) + i128::from(open_fees);
        self.shown_price(if self.quantity < 0 { -cost } else { cost })
    }

    /// The price of one unit where all of it is worth `micros`.
    fn shown_price(self, micros: i128) -> Option<Price> {
        let held = self.held()?;
        if held == 0 {
            return Some(0);
        }
        narrow(half_even_div(micros * PRODUCTS_PER_MICRO, held.into()))
    }
}

/// Fees that were paid to open what is left of a position: reduced by a closing part as its cost is, and raised by an
/// opening part's share of the fill's fee. `before` is the sum so far, `held` the quantity before the fill.
#[inline]
pub fn open_fees(before: Money, held: Quantity, filled: &Filled, fee: Money) -> Option<Money> {
    let removed = ceil_share(before, filled.closed, held)?;
    let added = ceil_share(fee, filled.opened, filled.closed.checked_add(filled.opened)?)?;
    before.checked_sub(removed)?.checked_add(added)
}

/// With the sign of a side: a buy adds.
#[inline]
pub(crate) const fn signed(side: Side, magnitude: i64) -> Option<i64> {
    match side {
        Side::Buy => Some(magnitude),
        Side::Sell => magnitude.checked_neg(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::units::value;
    use super::*;
    use crate::money::{MONEY_UNIT, UNIT};
    use proptest::prelude::*;

    const LOT: Quantity = 100_000;
    const TICK: Price = 10_000_000;

    fn trade(position: Position, side: Side, lots: i64, ticks: i64) -> Filled {
        let value = value(ticks * TICK, lots * LOT).unwrap();
        position.fill(side, lots * LOT, value).unwrap()
    }

    #[test]
    fn v_02_a_position_is_built_reduced_flipped_and_closed() {
        let mut wallet = 10_000 * MONEY_UNIT;
        let mut step = |position, side, lots, ticks| {
            let filled = trade(position, side, lots, ticks);
            wallet += filled.realised;
            filled
        };
        let first = step(Position::default(), Side::Buy, 300, 600_000);
        let second = step(first.position, Side::Buy, 200, 601_001);
        assert_eq!(second.position, Position { quantity: 500 * LOT, cost: 30_020_020_000 });
        assert_eq!(second.position.entry_price(), Some(6_004_004_000_000));
        let third = step(second.position, Side::Sell, 123, 602_507);
        assert_eq!(second.position.cost - third.position.cost, 7_384_924_920);
        assert_eq!(third.realised, 25_911_180);
        assert_eq!(third.position, Position { quantity: 377 * LOT, cost: 22_635_095_080 });
        let flip = step(third.position, Side::Sell, 500, 599_000);
        assert_eq!(flip.realised, -52_795_080);
        assert_eq!(flip.position, Position { quantity: -123 * LOT, cost: -7_367_700_000 });
        assert_eq!((flip.closed, flip.opened), (377 * LOT, 123 * LOT));
        assert_eq!(flip.opened_value, 7_367_700_000);
        let last = step(flip.position, Side::Buy, 123, 598_000);
        assert_eq!(last.realised, 12_300_000);
        assert_eq!(last.position, Position::default());
        assert_eq!(wallet, 9_985_416_100);
    }

    #[test]
    fn v_03_unrealised_profit_rounds_down() {
        let position = Position { quantity: -123 * LOT, cost: -7_367_700_000 };
        let mark = 5_990_012_345_678;
        assert_eq!(floor_value(position.quantity, mark), Some(-7_367_715_186));
        assert_eq!(position.unrealised(mark), Some(-15_186));
    }

    #[test]
    fn shown_prices() {
        assert_eq!(Position::default().entry_price(), Some(0));
        let long = Position { quantity: UNIT, cost: 60_000 * MONEY_UNIT };
        assert_eq!(long.break_even_price(30 * MONEY_UNIT), Some(60_030 * UNIT));
        let short = Position { quantity: -UNIT, cost: -60_000 * MONEY_UNIT };
        assert_eq!(short.break_even_price(30 * MONEY_UNIT), Some(59_970 * UNIT));
        assert_eq!((long.closing_side(), short.closing_side()), (Some(Side::Sell), Some(Side::Buy)));
        assert_eq!(Position::default().closing_side(), None);
    }

    #[test]
    fn fees_of_opening_follow_the_cost() {
        let first = trade(Position::default(), Side::Buy, 300, 600_000);
        let fees = open_fees(0, 0, &first, 9_000_000).unwrap();
        assert_eq!(fees, 9_000_000);
        let part = trade(first.position, Side::Sell, 100, 600_000);
        let fees = open_fees(fees, 300 * LOT, &part, 3_000_000).unwrap();
        assert_eq!(fees, 6_000_000, "a third left, and closing adds nothing");
        let flip = trade(part.position, Side::Sell, 300, 600_000);
        let fees = open_fees(fees, 200 * LOT, &flip, 9_000_000).unwrap();
        assert_eq!(fees, 3_000_000, "a third of the flip opened");
    }

    #[test]
    fn fees_worked_out_with_a_fill_are_those_worked_out_after_it() {
        let mut random = 3u64;
        let mut number = |bound: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((random >> 33) % bound) as i64
        };
        let ends = [0, 1, -1, i64::MAX, i64::MIN, i64::MAX / 2];
        for step in 0..100_000 {
            let quantity = (number(9) - 4) * LOT;
            let mut position = Position { quantity, cost: quantity / 7 * 600 + number(50) };
            let mut fill = ((number(6) - 1) * LOT, number(1 << 31), number(1_000) - 100);
            let mut fees = number(1 << 20) - 1_000;
            match step % 23 {
                0 => position.quantity = ends[step % ends.len()],
                1 => position.cost = ends[step % ends.len()],
                2 => fill.0 = ends[step % ends.len()],
                3 => fill.1 = ends[step % ends.len()],
                4 => fill.2 = ends[step % ends.len()],
                5 => fees = ends[step % ends.len()],
                _ => {}
            }
            for side in [Side::Buy, Side::Sell] {
                let apart = position
                    .fill(side, fill.0, fill.1)
                    .and_then(|filled| Some((filled, open_fees(fees, position.held()?, &filled, fill.2)?)));
                let both = position.fill_with_fees(side, fill, fees);
                assert_eq!(both, apart, "{position:?} {side:?} {fill:?} {fees}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_none() {
        let huge = Position { quantity: i64::MAX, cost: i64::MAX };
        assert_eq!(huge.fill(Side::Buy, 1, 0), None);
        assert_eq!(huge.fill(Side::Sell, 0, 0), None);
        assert_eq!(huge.fill(Side::Sell, -1, 1), None);
        assert_eq!(Position { quantity: i64::MIN, cost: -1 }.fill(Side::Buy, 1, 1), None);
        assert_eq!(Position { quantity: i64::MIN, cost: -1 }.unrealised(i64::MAX), None);
    }

    proptest! {
        /// `risk.md` 21, property 2: any split of a fill changes no wallet by more than a micro per part, and no full
        /// close at all.
        #[test]
        fn a_split_fill_costs_at_most_a_micro_per_part(
            held in 1i64..1_000_000,
            average in 1i64..1_000_000,
            odd in -50i64..50,
            is_long: bool,
            ticks in 1i64..1_000_000,
            parts in prop::collection::vec(1i64..1_000, 1..12),
        ) {
            let (opening, closing) = if is_long { (Side::Buy, Side::Sell) } else { (Side::Sell, Side::Buy) };
            // A cost off the grid, as many partial closings leave it.
            let cost = value(average * TICK, held * LOT).unwrap() + odd;
            let start = Position {
                quantity: signed(opening, held * LOT).unwrap(),
                cost: signed(opening, cost).unwrap(),
            };
            let total: i64 = parts.iter().sum();
            let whole = trade(start, closing, total, ticks);
            let (mut position, mut realised) = (start, 0);
            for &part in &parts {
                let filled = trade(position, closing, part, ticks);
                position = filled.position;
                realised += filled.realised;
            }
            prop_assert_eq!(position.quantity, whole.position.quantity);
            let difference = realised - whole.realised;
            if total >= held {
                prop_assert_eq!((difference, position), (0, whole.position));
            } else {
                prop_assert!(difference.abs() <= parts.len() as i64, "{} micros over {} parts", difference, parts.len());
                // Nothing is made or lost: what one realised less, its cost has less.
                prop_assert_eq!(position.cost - whole.position.cost, difference);
            }
        }
    }
}
