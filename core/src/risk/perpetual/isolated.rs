//! The margin of an isolated position (`risk.md` 8): what moves between it and the cross wallet.

use super::order_margin::margin;
use super::units::floor_share;
use crate::money::{Money, Quantity};

/// What opening a part worth `value` moves from the cross wallet to the position's own, up. The rest of the order ends
/// where the wallet is below this and the fee.
#[inline]
pub fn opening_margin(value: Money, leverage: u32) -> Option<Money> {
    margin(value, leverage)
}

/// What closing a part did to the wallets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// `IW` after it, >= 0.
    pub isolated: Money,
    /// What the cross wallet receives, >= 0.
    pub released: Money,
    /// What the fund pays where the position's margin does not suffice, >= 0.
    pub covered: Money,
}

/// Closes `closed` of `held` quantity, both > 0, of a position with `isolated` margin: its share of the margin, its
/// profit and its fee go to the cross wallet together, or come out of the margin that stays where they are a loss.
#[inline]
pub fn close(
    isolated: Money,
    closed: Quantity,
    held: Quantity,
    realised: Money,
    fee: Money,
) -> Option<Closed> {
    let share = floor_share(isolated, closed, held)?;
    let pay = share.checked_add(realised)?.checked_sub(fee)?;
    let left = isolated.checked_sub(share)?.checked_add(pay.min(0))?;
    Some(Closed { isolated: left.max(0), released: pay.max(0), covered: left.min(0).checked_neg()? })
}

/// Whether `amount` may be taken out of the margin of a position: what is left and its loss so far must bear the
/// initial margin.
#[inline]
pub fn may_remove(
    isolated: Money,
    unrealised: Money,
    amount: Money,
    notional: Money,
    leverage: u32,
) -> Option<bool> {
    let left = isolated.checked_add(unrealised.min(0))?.checked_sub(amount)?;
    Some(left >= margin(notional, leverage)?)
}

#[cfg(test)]
mod tests {
    use super::super::bracket::tests::bitcoin;
    use super::super::fee;
    use super::super::position::Position;
    use super::super::units::{notional, value};
    use super::*;
    use crate::command::Side;
    use crate::money::{MONEY_UNIT, UNIT};

    const LOT: Quantity = 100_000;

    fn short() -> Position {
        let value = value(60_000 * UNIT, 300 * LOT).unwrap();
        Position::default().fill(Side::Sell, 300 * LOT, value).unwrap().position
    }

    #[test]
    fn v_11_closing_a_third_releases_a_third() {
        let short = short();
        let isolated = opening_margin(-short.cost, 10).unwrap();
        assert_eq!(isolated, 1_800 * MONEY_UNIT);
        let paid = value(61_000 * UNIT, 100 * LOT).unwrap();
        let filled = short.fill(Side::Buy, 100 * LOT, paid).unwrap();
        assert_eq!(filled.realised, -100 * MONEY_UNIT);
        let fee = fee::fee(paid, 50_000).unwrap();
        assert_eq!(fee, 3_050_000);
        let closed = close(isolated, filled.closed, 300 * LOT, filled.realised, fee).unwrap();
        assert_eq!(closed, Closed { isolated: 1_200 * MONEY_UNIT, released: 496_950_000, covered: 0 });
        assert_eq!(filled.position, Position { quantity: -200 * LOT, cost: -12_000 * MONEY_UNIT });
    }

    #[test]
    fn v_12_the_untouched_short_ends_a_tick_later() {
        let (short, isolated) = (short(), 1_800 * MONEY_UNIT);
        let at = |mark| {
            let equity = isolated + short.unrealised(mark).unwrap();
            (equity, bitcoin().maintenance_at(short.quantity, mark).unwrap())
        };
        assert_eq!(at(6_573_710_000_000), (78_870_000, 78_884_520));
        assert_eq!(at(6_573_700_000_000), (78_900_000, 78_884_400));
    }

    #[test]
    fn a_loss_beyond_the_margin_is_the_funds() {
        let closed = close(1_000, 1, 4, -1_200, 30).unwrap();
        assert_eq!(closed, Closed { isolated: 0, released: 0, covered: 230 });
        let closed = close(1_000, 1, 4, -900, 30).unwrap();
        assert_eq!(closed, Closed { isolated: 70, released: 0, covered: 0 });
        let closed = close(1_001, 1, 2, 0, 0).unwrap();
        assert_eq!(closed, Closed { isolated: 501, released: 500, covered: 0 });
        assert_eq!(close(i64::MAX, 1, 1, 1, 0), None);
    }

    #[test]
    fn margin_comes_out_down_to_the_initial_margin() {
        let notional = notional(-300 * LOT, 60_000 * UNIT).unwrap();
        let may =
            |amount, unrealised| may_remove(2_000 * MONEY_UNIT, unrealised, amount, notional, 10).unwrap();
        assert!(may(200 * MONEY_UNIT, 0));
        assert!(!may(200 * MONEY_UNIT + 1, 0));
        assert!(!may(200 * MONEY_UNIT, -1));
        assert!(!may(200 * MONEY_UNIT + 1, 500 * MONEY_UNIT), "profit does not count");
    }
}
