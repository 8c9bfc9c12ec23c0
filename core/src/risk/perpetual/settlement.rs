//! The settlement of a market that closes (`risk.md` 18): its price, and what rounding leaves.
//!
//! What a position receives is its profit not realised at the settlement price.

use super::units::narrow;
use super::window::Window;
use crate::money::Money;

/// Seconds of index samples that the price is the mean of.
pub(crate) const SETTLEMENT_S: usize = 1_800;
/// The index samples that it is made of.
pub(crate) type IndexSamples = Window<SETTLEMENT_S>;

/// What rounding left of the amounts of all positions, for the fund: >= 0, at most a micro each.
pub(crate) fn residue(amounts: impl IntoIterator<Item = Money>) -> Option<Money> {
    let sum = amounts.into_iter().try_fold(0i128, |sum, amount| sum.checked_add(amount.into()))?;
    narrow(sum.checked_neg()?)
}

#[cfg(test)]
mod tests {
    use super::super::position::Position;
    use super::*;
    use crate::money::{MONEY_UNIT, Price, Quantity, UNIT};
    use proptest::prelude::*;

    const LOT: Quantity = 100_000;

    #[test]
    fn v_28_positions_close_at_the_mean_of_the_index() {
        let mut samples = IndexSamples::new();
        samples.record(0, 99_999 * UNIT);
        for second in 1..=1_800 {
            let around: Price = if second % 2 == 0 { UNIT } else { -UNIT };
            samples.record(second, 6_005_667_500_000 + around);
        }
        let price = samples.mean().unwrap();
        assert_eq!(price, 6_005_667_500_000);
        let long = Position { quantity: 500 * LOT, cost: 30_000 * MONEY_UNIT };
        assert_eq!(long.unrealised(price), Some(28_337_500));
        let short = Position { quantity: -300 * LOT, cost: -18_100 * MONEY_UNIT };
        assert_eq!(short.unrealised(price), Some(82_997_500));
    }

    proptest! {
        /// I-10: the residue is at least 0 and at most a micro per position.
        #[test]
        fn the_residue_is_at_most_a_micro_per_position(
            mut lots in prop::collection::vec(-1_000_000i64..1_000_000, 1..20),
            price in 1i64..1_000_000_000_000_000,
        ) {
            lots.push(-lots.iter().sum::<i64>());
            // What positions cost adds up to nothing as well.
            let cost = |index: usize| if index.is_multiple_of(2) { 7_000_000 } else { -7_000_000 };
            let even = lots.len() / 2 * 2;
            let amounts = lots.iter().enumerate().map(|(index, &lots)| {
                let cost = if index < even { cost(index) } else { 0 };
                Position { quantity: lots * LOT, cost }.unrealised(price).unwrap()
            });
            let residue = residue(amounts).unwrap();
            prop_assert!(residue >= 0 && residue <= lots.len() as i64);
        }
    }
}
