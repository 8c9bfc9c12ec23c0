//! The settlement of a market that closes (`risk.md` 18): its price.
//!
//! What a position receives is its profit not realised at the settlement price.

use super::window::Window;

/// Seconds of index samples that the price is the mean of.
pub(crate) const SETTLEMENT_S: usize = 1_800;
/// The index samples that it is made of.
pub(crate) type IndexSamples = Window<SETTLEMENT_S>;

#[cfg(test)]
mod tests {
    use super::super::position::Position;
    use super::*;
    use crate::money::{MONEY_UNIT, Price, Quantity, UNIT};

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
}
