//! Auto-deleveraging (`risk.md` 12.5): who is asked first, and at what value.

use super::position::Position;
use super::units::{floor_div, floor_share, narrow};
use crate::command::Side;
use crate::ids::AccountId;
use crate::money::{Money, Price, Quantity, RATE_ONE};
use std::cmp::Reverse;

/// Returns above this count as this.
const RETURN_MAX: i128 = 1_000_000_000_000;

/// `ret`: profit not realised over cost in steps of 10^-8, down.
pub(crate) fn return_on_cost(unrealised: Money, cost: Money) -> i128 {
    let cost = i128::from(cost).abs().max(1);
    floor_div(i128::from(unrealised) * i128::from(RATE_ONE), cost).min(RETURN_MAX)
}

/// `score`: a return weighted by leverage for who gains, by its inverse for who loses, down. `notional` >= 0 and
/// `equity` of the candidate's scope. `None` outside the range, which no accepted position reaches.
pub fn score(unrealised: Money, cost: Money, notional: Money, equity: Money) -> Option<i128> {
    let ret = return_on_cost(unrealised, cost);
    let (notional, equity) = (i128::from(notional), i128::from(equity));
    if unrealised >= 0 {
        Some(floor_div(ret.checked_mul(notional)?, equity.max(1)))
    } else {
        // Of a cost next to nothing a return has no bound below.
        Some(floor_div(ret.saturating_mul(equity), notional.max(1)))
    }
}

/// A candidate's place in the order: the smallest comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    score: Reverse<i128>,
    notional: Reverse<Money>,
    account: AccountId,
}

impl Place {
    /// Highest score first, then the largest notional, then the lowest account.
    pub const fn new(score: i128, notional: Money, account: AccountId) -> Place {
        Place { score: Reverse(score), notional: Reverse(notional), account }
    }

    /// What it is ordered by first.
    pub const fn score(self) -> i128 {
        self.score.0
    }

    /// How large it is at the mark.
    pub const fn notional(self) -> Money {
        self.notional.0
    }

    /// Whose it is.
    pub const fn account(self) -> AccountId {
        self.account
    }
}

/// The value of `part` of what is left to place, `left` > 0 worth `value`, down.
#[inline]
pub(crate) fn part_value(value: Money, part: Quantity, left: Quantity) -> Option<Money> {
    floor_share(value, part, left)
}

/// What an account gives back of `loss`, in proportion to what it can, `weight` >= 0, of what all can, `whole`, and never more; those
/// before it can give `before`. The parts of a loss that all can give back add up to it.
pub(crate) fn give_back(loss: Money, whole: i128, before: i128, weight: Money) -> Money {
    if i128::from(loss) >= whole {
        return weight;
    }
    let share_of = |sum: i128| i128::from(loss) * sum / whole;
    (share_of(before + i128::from(weight)) - share_of(before)) as Money
}

/// The equity of a candidate's scope after it takes `part` at `value`: who would end below 0 is skipped.
pub(crate) fn equity_after(
    equity: Money,
    position: Position,
    side: Side,
    part: Quantity,
    value: Money,
    mark: Price,
) -> Option<Money> {
    let filled = position.fill(side, part, value)?;
    let before = i128::from(equity) - i128::from(position.unrealised(mark)?);
    narrow(before + i128::from(filled.realised) + i128::from(filled.position.unrealised(mark)?))
}

/// The quantile that is shown: 4 for the first fifth of the order, 0 for the last. `place` from 0, below `count`.
pub const fn quantile(place: u64, count: u64) -> u8 {
    match (place as u128 * 5).checked_div(count as u128) {
        Some(fifth) if fifth < 5 => 4 - fifth as u8,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::units::{notional, value};
    use super::*;
    use crate::money::{MONEY_UNIT, UNIT};

    const LOT: Quantity = 100_000;
    const MARK: Price = 58_200 * UNIT;

    fn short(lots: i64, price: i64) -> Position {
        let value = value(price * UNIT, lots * LOT).unwrap();
        Position::default().fill(Side::Sell, lots * LOT, value).unwrap().position
    }

    #[test]
    fn v_21_the_shorts_that_gained_most_close_first() {
        let candidates = [
            (1, short(1_000, 61_000), 5_000, 4_590_163, 53_429_497),
            (2, short(500, 63_000), 20_000, 7_619_047, 11_085_713),
            (3, short(400, 58_000), 1_000, -344_828, -14_813),
        ];
        let mut order = Vec::new();
        for (account, position, equity, ret, expected) in candidates {
            let unrealised = position.unrealised(MARK).unwrap();
            assert_eq!(return_on_cost(unrealised, position.cost), ret, "J{account}");
            let notional = notional(position.quantity, MARK).unwrap();
            let score = score(unrealised, position.cost, notional, equity * MONEY_UNIT).unwrap();
            assert_eq!(score, expected, "J{account}");
            order.push(Place::new(score, notional, account));
        }
        order.reverse();
        order.sort();
        assert_eq!(order.iter().map(|place| place.account()).collect::<Vec<_>>(), [1, 2, 3]);

        let worth = part_value(11_594_063_333, 200 * LOT, 200 * LOT).unwrap();
        assert_eq!(worth, 11_594_063_333);
        let filled = candidates[0].1.fill(Side::Buy, 200 * LOT, worth).unwrap();
        assert_eq!(filled.realised, 605_936_667);
        assert_eq!(filled.realised, 12_200 * MONEY_UNIT - worth);
        let at_mark = candidates[0].1.fill(Side::Buy, 200 * LOT, value(MARK, 200 * LOT).unwrap()).unwrap();
        assert_eq!(at_mark.realised, 560 * MONEY_UNIT);
        let equity =
            equity_after(5_000 * MONEY_UNIT, candidates[0].1, Side::Buy, 200 * LOT, worth, MARK).unwrap();
        assert_eq!(equity, 5_000 * MONEY_UNIT + 45_936_667, "better than the mark by the bankrupt's equity");
    }

    #[test]
    fn ties_go_by_notional_then_by_account() {
        let mut order = [
            Place::new(5, 10, 1),
            Place::new(5, 20, 9),
            Place::new(5, 20, 3),
            Place::new(-1, 99, 2),
            Place::new(6, 1, 8),
        ];
        order.sort();
        assert_eq!(order.map(Place::account), [8, 3, 9, 1, 2]);
    }

    #[test]
    fn parts_of_a_value_add_up_to_it() {
        let (mut left, mut worth, mut sum) = (7, 100, 0);
        for part in [3, 3, 1] {
            let value = part_value(worth, part, left).unwrap();
            sum += value;
            worth -= value;
            left -= part;
        }
        assert_eq!((sum, worth, left), (100, 0, 0));
    }

    #[test]
    fn a_loss_is_shared_by_what_was_brought_and_to_the_unit() {
        let shared = |loss, weights: &[Money]| {
            let sum = |count: usize| weights[..count].iter().map(|&weight| i128::from(weight)).sum();
            let of =
                |(place, &weight): (usize, &Money)| give_back(loss, sum(weights.len()), sum(place), weight);
            weights.iter().enumerate().map(of).collect::<Vec<_>>()
        };
        assert_eq!(shared(2, &[1, 1, 1]), [0, 1, 1]);
        assert_eq!(shared(10, &[3, 0, 5]), [3, 0, 5], "no more than there is");
        assert_eq!(shared(8, &[3, 0, 5]), [3, 0, 5]);
        assert_eq!(shared(0, &[3, 0]), [0, 0]);
        assert!(shared(5, &[]).is_empty());
        let weights = [Money::MAX, 7, Money::MAX - 1];
        assert_eq!(shared(1_000_003, &weights).iter().sum::<Money>(), 1_000_003);
    }

    #[test]
    fn scores_stay_in_range() {
        assert_eq!(return_on_cost(i64::MAX, 1), RETURN_MAX);
        assert_eq!(return_on_cost(100, 0), 10_000_000_000);
        assert_eq!(score(i64::MAX, 1, i64::MAX, -5), Some(RETURN_MAX * i128::from(i64::MAX)));
        assert_eq!(score(-1, 100, 0, 50), Some(-50_000_000));
        assert_eq!(score(i64::MIN, 1, 0, i64::MAX), Some(i128::MIN), "the last of all");
    }

    #[test]
    fn quantiles_are_fifths() {
        assert_eq!((0..5).map(|place| quantile(place, 5)).collect::<Vec<_>>(), [4, 3, 2, 1, 0]);
        assert_eq!((0..3).map(|place| quantile(place, 3)).collect::<Vec<_>>(), [4, 3, 1]);
        assert_eq!(quantile(0, 1), 4);
        assert_eq!(quantile(0, 0), 0);
    }
}
