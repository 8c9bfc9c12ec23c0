//! Reduce-only orders (`risk.md` 13): how much of one may be open.

use crate::command::Side;
use crate::money::Quantity;

/// Quantity of a reduce-only order that enters beside a position of `held` signed quantity; `None` where the position is
/// not opposite to it.
#[inline]
pub fn clamped(side: Side, quantity: Quantity, held: Quantity) -> Option<Quantity> {
    let closable = match side {
        Side::Buy => held.checked_neg()?,
        Side::Sell => held,
    };
    if closable > 0 { Some(quantity.min(closable)) } else { None }
}

/// What stays open of a resting reduce-only order after its account's position became `held`: 0 where it ends, as the
/// position is gone or turned. What is taken away counts as expired.
#[inline]
pub(crate) fn shrunk(side: Side, open: Quantity, held: Quantity) -> Quantity {
    clamped(side, open, held).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v_22_resting_orders_shrink_with_the_position() {
        let shrink = |open: &mut [Quantity], held| {
            for open in open {
                *open = shrunk(Side::Sell, *open, held);
            }
        };
        let mut open = [6, 8, 4].map(|quantity| clamped(Side::Sell, quantity, 10).unwrap());
        assert_eq!(open, [6, 8, 4]);
        // The first fills whole; an ordinary sell of 3 fills; the second fills what it has left.
        open[0] = 0;
        shrink(&mut open, 4);
        assert_eq!(open, [0, 4, 4]);
        shrink(&mut open, 1);
        assert_eq!(open, [0, 1, 1]);
        open[1] -= 1;
        let executed = 1;
        shrink(&mut open, 0);
        assert_eq!((open, executed), ([0, 0, 0], 1));
    }

    #[test]
    fn only_an_opposite_position_can_be_reduced() {
        assert_eq!(clamped(Side::Sell, 5, 3), Some(3));
        assert_eq!(clamped(Side::Buy, 5, -3), Some(3));
        assert_eq!(clamped(Side::Buy, 2, -3), Some(2));
        assert_eq!(clamped(Side::Sell, 5, -3), None);
        assert_eq!(clamped(Side::Buy, 5, 3), None);
        assert_eq!(clamped(Side::Buy, 5, 0), None);
        assert_eq!(clamped(Side::Buy, 5, i64::MIN), None);
        assert_eq!(shrunk(Side::Buy, 5, 1), 0, "the position turned");
    }
}
