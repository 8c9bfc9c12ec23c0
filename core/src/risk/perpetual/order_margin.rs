//! Initial margin, order margin and what is available (`risk.md` 5, 6, 8).
//!
//! An order reserves three amounts when it is accepted; a bucket sums them per account, market and side; the worse
//! side of a market counts, the two are never added. Which orders are in a bucket is decided elsewhere: reduce-only
//! and untriggered ones are in none.

use super::units::{
    ceil_div, ceil_of, ceil_share, ceil_to_step, magnitude, narrow, notional, notional_and_value, signed_as,
};
use crate::command::Side;
use crate::money::{Money, Price, Quantity, Rate};
use std::hint::select_unpredictable;

/// The mark up to a tick: the least price that the margin of a sell is judged at.
pub fn mark_on_tick(mark: Price, tick: Price) -> Option<Price> {
    ceil_to_step(mark.into(), 1, tick)
}

/// The price that the margin of a resting order is judged at: its limit for a buy; for a sell the highest of limit,
/// best bid and `mark`, which is [`mark_on_tick`], as it may trade there at once.
#[inline(always)]
pub fn reference_price(side: Side, limit: Price, best_bid: Option<Price>, mark: Price) -> Price {
    let least = mark.max(best_bid.unwrap_or(0));
    limit.max(select_unpredictable(side == Side::Sell, least, 0))
}

/// What an open order reserves, fixed at acceptance.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// `ref`: its value at the reference price.
    pub reference: Money,
    /// `ol`: what it would lose against the mark by trading there.
    pub open_loss: Money,
    /// `fr`: its fee as a taker.
    pub fee: Money,
}

impl Reservation {
    /// Of an order of `quantity` > 0 whose reference value is `reference`.
    #[inline(always)]
    pub fn new(
        side: Side,
        quantity: Quantity,
        reference: Money,
        mark: Price,
        taker_rate: Rate,
    ) -> Option<Reservation> {
        let (up, down) = notional_and_value(quantity, mark)?;
        let loss = match side {
            Side::Buy => reference.checked_sub(down)?,
            Side::Sell => up.checked_sub(reference)?,
        };
        Some(Reservation { reference, open_loss: loss.max(0), fee: ceil_of(reference, taker_rate)?.max(0) })
    }

    /// Of what is left of an order that was accepted with `quantity`: each amount scaled from the original one, up.
    #[inline]
    pub fn scaled(self, remaining: Quantity, quantity: Quantity) -> Option<Reservation> {
        if remaining == 0 {
            return Some(Reservation::default());
        }
        if remaining == quantity && quantity > 0 {
            return Some(self);
        }
        self.scaled_down(remaining, quantity)
    }

    #[inline(never)]
    fn scaled_down(self, remaining: Quantity, quantity: Quantity) -> Option<Reservation> {
        Some(Reservation {
            reference: ceil_share(self.reference, remaining, quantity)?,
            open_loss: ceil_share(self.open_loss, remaining, quantity)?,
            fee: ceil_share(self.fee, remaining, quantity)?,
        })
    }
}

/// Sums over the open orders of one account, market and side.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// `Q`: what is open of them.
    pub quantity: Quantity,
    /// `REF`.
    pub reference: Money,
    /// `OL`.
    pub open_loss: Money,
    /// `FR`.
    pub fee: Money,
}

impl Bucket {
    /// With an order of which `quantity` is open.
    #[inline]
    pub fn with(self, quantity: Quantity, order: Reservation) -> Option<Bucket> {
        Some(Bucket {
            quantity: self.quantity.checked_add(quantity)?,
            reference: self.reference.checked_add(order.reference)?,
            open_loss: self.open_loss.checked_add(order.open_loss)?,
            fee: self.fee.checked_add(order.fee)?,
        })
    }

    /// Without an order of which `quantity` was open.
    #[inline]
    pub fn without(self, quantity: Quantity, order: Reservation) -> Option<Bucket> {
        Some(Bucket {
            quantity: self.quantity.checked_sub(quantity)?,
            reference: self.reference.checked_sub(order.reference)?,
            open_loss: self.open_loss.checked_sub(order.open_loss)?,
            fee: self.fee.checked_sub(order.fee)?,
        })
    }

    /// The part that would open exposure beside a position of `held` signed quantity.
    #[inline]
    pub fn opening(self, side: Side, held: Quantity) -> Option<Quantity> {
        let closing = match side {
            Side::Buy => held.checked_neg()?,
            Side::Sell => held,
        };
        Some(self.quantity.checked_sub(closing.max(0))?.max(0))
    }

    /// `OL' + FR'`: open loss and fees of the part that opens.
    #[inline]
    fn charges(self, opening: Quantity) -> Option<Money> {
        let open_loss = ceil_share(self.open_loss, opening, self.quantity)?;
        open_loss.checked_add(ceil_share(self.fee, opening, self.quantity)?)
    }
}

/// What margin stands on in one market of one account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exposure {
    /// Signed quantity of the position.
    pub held: Quantity,
    /// `Np`: its notional at the mark, with its sign, away from zero.
    pub notional: Money,
    /// Orders that buy.
    pub buys: Bucket,
    /// Orders that sell.
    pub sells: Bucket,
}

/// Margin of one market in the cross wallet.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// `IM`: of position and orders.
    pub initial: Money,
    /// `PIM`: of the position alone. `OIM`, of the orders, is the rest of `initial`.
    pub position: Money,
}

impl Requirement {
    /// `OIM`.
    #[inline]
    pub const fn orders(self) -> Money {
        // Both are >= 0, and `initial` is the larger.
        self.initial.wrapping_sub(self.position)
    }
}

impl Exposure {
    /// At a mark.
    #[inline]
    pub fn new(held: Quantity, mark: Price, buys: Bucket, sells: Bucket) -> Option<Exposure> {
        Some(Exposure::of(held, notional(held, mark)?, buys, sells))
    }

    /// Of a position of a notional.
    #[inline]
    pub fn of(held: Quantity, notional: Money, buys: Bucket, sells: Bucket) -> Exposure {
        Exposure { held, notional: signed_as(held, notional), buys, sells }
    }

    /// Exposure if all orders of a side fill: what the brackets bound.
    #[inline]
    pub fn filled(&self, side: Side) -> Option<Money> {
        match side {
            Side::Buy => magnitude(self.notional.checked_add(self.buys.reference)?),
            Side::Sell => magnitude(self.notional.checked_sub(self.sells.reference)?),
        }
    }

    /// The larger of both sides.
    #[inline]
    pub fn filled_max(&self) -> Option<Money> {
        Some(self.filled(Side::Buy)?.max(self.filled(Side::Sell)?))
    }

    fn bucket(&self, side: Side) -> Bucket {
        match side {
            Side::Buy => self.buys,
            Side::Sell => self.sells,
        }
    }

    /// Cross margin at a leverage > 0: the worse side.
    #[inline]
    pub fn cross(&self, leverage: u32) -> Option<Requirement> {
        let position = margin(magnitude(self.notional)?, leverage)?;
        let mut initial = position;
        for side in [Side::Buy, Side::Sell] {
            let bucket = self.bucket(side);
            if bucket.quantity > 0 {
                let charges = bucket.charges(bucket.opening(side, self.held)?)?;
                initial = initial.max(margin(self.filled(side)?, leverage)?.checked_add(charges)?);
            }
        }
        Some(Requirement { initial, position })
    }

    /// Whether `equity` is no less than a bound of [`Exposure::cross`]'s `initial` at a leverage > 0: the largest exposure, and
    /// the larger charges, as if all orders opened. Nothing is divided: ceil(n / l) <= e where n <= e·l.
    #[inline(always)]
    pub fn is_covered_by(&self, equity: Money, leverage: u32) -> Option<bool> {
        let most = magnitude(self.notional)?.max(self.filled_max()?);
        let charges = |bucket: Bucket| bucket.open_loss.checked_add(bucket.fee);
        let left = equity.checked_sub(charges(self.buys)?.max(charges(self.sells)?))?;
        // What leaves the range of a word is more than any exposure.
        Some(left >= 0 && (left as u64).saturating_mul(leverage.into()) >= most as u64)
    }

    /// Margin of the orders beside an isolated position, at a leverage > 0: the worse side. It is taken from the cross
    /// wallet.
    #[inline]
    pub fn isolated_orders(&self, leverage: u32) -> Option<Money> {
        let mut worst = 0;
        for side in [Side::Buy, Side::Sell] {
            let bucket = self.bucket(side);
            if bucket.quantity > 0 {
                let opening = bucket.opening(side, self.held)?;
                let reference = ceil_share(bucket.reference, opening, bucket.quantity)?;
                worst = worst.max(margin(reference, leverage)?.checked_add(bucket.charges(opening)?)?);
            }
        }
        Some(worst)
    }

    /// What `initialMargin` shows: without open losses and fees.
    pub fn shown_initial(&self, leverage: u32) -> Option<Money> {
        margin(magnitude(self.notional)?.max(self.filled_max()?), leverage)
    }

    /// What `openOrderInitialMargin` shows.
    pub fn shown_orders(&self, leverage: u32) -> Option<Money> {
        self.shown_initial(leverage)?.checked_sub(margin(magnitude(self.notional)?, leverage)?)
    }
}

/// Margin of a notional >= 0 at a leverage > 0, up.
#[inline]
pub fn margin(notional: Money, leverage: u32) -> Option<Money> {
    if leverage == 0 {
        return None;
    }
    if notional >= 0 {
        // Divided by one or more, it stays in range.
        return Some((notional as u64).div_ceil(leverage.into()) as Money);
    }
    narrow(ceil_div(notional.into(), leverage.into()))
}

/// The cross account as a whole.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Cross {
    /// `W`.
    pub wallet: Money,
    /// Sum of `u` over cross positions.
    pub unrealised: Money,
    /// Sum of `IM` over cross markets.
    pub initial: Money,
    /// Sum of `OIM` over isolated markets.
    pub isolated_orders: Money,
    /// What deleveraging brought while it is not known how much of it must be given back.
    pub withheld: Money,
}

impl Cross {
    /// `E`: wallet and profit not realised.
    #[inline]
    pub fn equity(&self) -> Option<Money> {
        self.wallet.checked_add(self.unrealised)
    }

    /// Equity less all margins: below 0 where it does not suffice.
    #[inline]
    pub fn free(&self) -> Option<Money> {
        self.equity()?
            .checked_sub(self.initial)?
            .checked_sub(self.isolated_orders)?
            .checked_sub(self.withheld)
    }

    /// What new orders may use.
    #[inline]
    pub fn available(&self) -> Option<Money> {
        Some(self.free()?.max(0))
    }

    /// What may leave: profit that is not realised backs orders, but stays.
    #[inline]
    pub fn withdrawable(&self) -> Option<Money> {
        Some(Cross { unrealised: self.unrealised.min(0), ..*self }.free()?.max(0))
    }

    /// Whether an order may enter that changes the requirement of its market from `before` to `after`; `self` is the
    /// account with `after`. What does not raise the requirement may enter with nothing available.
    #[inline]
    pub fn accepts(&self, before: Money, after: Money) -> Option<bool> {
        Some(after <= before || self.free()? >= 0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::bracket::tests::bitcoin;
    use super::super::units::value;
    use super::*;
    use crate::money::{MONEY_UNIT, UNIT};
    use proptest::prelude::*;

    const MARK: Price = 60_000 * UNIT;
    const TICK: Price = 10_000_000;
    const LOT: Quantity = 100_000;
    /// 0.05 %.
    const TAKER: Rate = 50_000;

    fn order(side: Side, lots: i64, ticks: i64) -> (Quantity, Reservation) {
        let reference = reference_price(side, ticks * TICK, None, MARK);
        let quantity = lots * LOT;
        (
            quantity,
            Reservation::new(side, quantity, value(reference, quantity).unwrap(), MARK, TAKER).unwrap(),
        )
    }

    fn bucket(side: Side, lots: i64, ticks: i64) -> Bucket {
        let (quantity, reservation) = order(side, lots, ticks);
        Bucket::default().with(quantity, reservation).unwrap()
    }

    #[test]
    fn v_04_the_worse_side_counts() {
        let (buys, sells) = (bucket(Side::Buy, 100, 595_000), bucket(Side::Sell, 500, 605_000));
        let held = 200 * LOT;
        let long = Exposure::new(held, MARK, Bucket::default(), Bucket::default()).unwrap();
        assert_eq!(long.notional, 12_000 * MONEY_UNIT);
        assert_eq!(long.cross(20), Some(Requirement { initial: 600_000_000, position: 600_000_000 }));
        let buying = Exposure { buys, ..long };
        assert_eq!(buying.cross(20).unwrap().initial, 900_475_000);
        assert_eq!(sells.opening(Side::Sell, held), Some(300 * LOT));
        assert_eq!((sells.fee, sells.charges(300 * LOT)), (15_125_000, Some(9_075_000)));
        let exposure = Exposure { sells, ..buying };
        let requirement = exposure.cross(20).unwrap();
        assert_eq!((requirement.initial, requirement.orders()), (921_575_000, 321_575_000));
        let account = Cross {
            wallet: 10_000 * MONEY_UNIT,
            unrealised: 0,
            initial: requirement.initial,
            ..Cross::default()
        };
        assert_eq!(account.available(), Some(9_078_425_000));
        assert_eq!(exposure.shown_initial(20), Some(912_500_000));
        assert_eq!(exposure.shown_orders(20), Some(312_500_000));
        assert_eq!(exposure.filled(Side::Buy), Some(17_950 * MONEY_UNIT));
        assert_eq!(exposure.filled(Side::Sell), Some(18_250 * MONEY_UNIT));
        assert_eq!(exposure.filled_max(), Some(18_250 * MONEY_UNIT));
    }

    #[test]
    fn v_05_a_buy_above_the_mark_loses_as_it_opens() {
        let (_, reservation) = order(Side::Buy, 100, 603_000);
        assert_eq!(
            reservation,
            Reservation { reference: 6_030 * MONEY_UNIT, open_loss: 30 * MONEY_UNIT, fee: 3_015_000 }
        );
        let buys = bucket(Side::Buy, 100, 603_000);
        let exposure = Exposure::new(0, MARK, buys, Bucket::default()).unwrap();
        assert_eq!(margin(6_030 * MONEY_UNIT, 20), Some(301_500_000));
        assert_eq!(exposure.cross(20).unwrap().initial, 334_515_000);
        assert_eq!(exposure.isolated_orders(20), Some(334_515_000));
    }

    #[test]
    fn v_06_a_market_order_is_judged_by_the_fills_it_would_have() {
        let reference: Money = [(60_010, 100), (60_020, 100), (60_100, 100)]
            .iter()
            .map(|&(price, lots)| value(price * UNIT, lots * LOT).unwrap())
            .sum();
        assert_eq!(reference, 18_013 * MONEY_UNIT);
        let reservation = Reservation::new(Side::Buy, 300 * LOT, reference, MARK, TAKER).unwrap();
        assert_eq!((reservation.open_loss, reservation.fee), (13 * MONEY_UNIT, 9_006_500));
        let buys = Bucket::default().with(300 * LOT, reservation).unwrap();
        let exposure = Exposure::new(0, MARK, buys, Bucket::default()).unwrap();
        assert_eq!(exposure.cross(20).unwrap().initial, 922_656_500);
    }

    #[test]
    fn v_07_profit_backs_orders_but_stays() {
        let exposure = Exposure::new(200 * LOT, 61_000 * UNIT, Bucket::default(), Bucket::default()).unwrap();
        let initial = exposure.cross(20).unwrap().initial;
        assert_eq!(initial, 610 * MONEY_UNIT);
        let account =
            Cross { wallet: 2_000 * MONEY_UNIT, unrealised: 200 * MONEY_UNIT, initial, ..Cross::default() };
        assert_eq!(account.available(), Some(1_590 * MONEY_UNIT));
        assert_eq!(account.withdrawable(), Some(1_390 * MONEY_UNIT));
    }

    #[test]
    fn v_10_a_leverage_must_leave_enough() {
        let exposure = Exposure::new(500 * LOT, MARK, Bucket::default(), Bucket::default()).unwrap();
        let free = |leverage| {
            let initial = exposure.cross(leverage).unwrap().initial;
            let account = Cross { wallet: 2_000 * MONEY_UNIT, initial, ..Cross::default() };
            (initial, account.free().unwrap() >= 0)
        };
        assert_eq!(free(20), (1_500_000_000, true));
        assert_eq!(free(15), (2_000_000_000, true));
        assert_eq!(free(14), (2_142_857_143, false));
        assert!(exposure.filled_max().unwrap() <= bitcoin().exposure_max(14));
        assert_eq!(exposure.cross(0), None);
    }

    #[test]
    fn a_sell_is_judged_at_the_best_it_may_get() {
        let judged = |side, limit: i64, bid: Option<i64>| {
            reference_price(
                side,
                limit * UNIT,
                bid.map(|bid| bid * UNIT),
                mark_on_tick(MARK + 1, TICK).unwrap(),
            )
        };
        assert_eq!(judged(Side::Sell, 59_000, None), MARK + TICK);
        assert_eq!(judged(Side::Sell, 59_000, Some(61_000)), 61_000 * UNIT);
        assert_eq!(judged(Side::Sell, 62_000, Some(61_000)), 62_000 * UNIT);
        assert_eq!(judged(Side::Buy, 62_000, Some(61_000)), 62_000 * UNIT);
    }

    #[test]
    fn what_is_left_of_an_order_keeps_its_share_up() {
        let (_, reservation) = order(Side::Buy, 300, 600_001);
        let left = reservation.scaled(LOT, 300 * LOT).unwrap();
        assert_eq!(left.reference, 60_000_100);
        assert_eq!(left.open_loss, 100);
        assert_eq!(left.fee, 30_001);
        assert_eq!(reservation.scaled(300 * LOT, 300 * LOT), Some(reservation));
        assert_eq!(reservation.scaled(0, 300 * LOT), Some(Reservation::default()));
    }

    proptest! {
        /// `risk.md` 21, property 6, as far as it is arithmetic: what does not raise the requirement enters with
        /// nothing available, and an order that only closes never raises it.
        #[test]
        fn an_order_that_only_closes_never_raises_the_margin(
            lots in 1i64..1_000_000,
            closing in 1i64..1_000_000,
            is_long: bool,
            leverage in 1u32..126,
            wallet in -1_000_000_000i64..1_000_000_000,
        ) {
            prop_assume!(closing <= lots);
            let held = if is_long { lots * LOT } else { -lots * LOT };
            let flat = Exposure::new(held, MARK, Bucket::default(), Bucket::default()).unwrap();
            let mut with = flat;
            if is_long {
                with.sells = bucket(Side::Sell, closing, 600_000);
            } else {
                with.buys = bucket(Side::Buy, closing, 600_000);
            }
            let (before, after) = (flat.cross(leverage).unwrap(), with.cross(leverage).unwrap());
            prop_assert_eq!(before.initial, after.initial);
            let account = Cross { wallet, initial: after.initial, ..Cross::default() };
            prop_assert_eq!(account.accepts(before.initial, after.initial), Some(true));
        }

        #[test]
        fn the_bound_of_a_requirement_is_no_less_than_it(
            lots in -1_000_000i64..1_000_000,
            buys in 0i64..1_000_000,
            sells in 0i64..1_000_000,
            ticks in 500_000i64..700_000,
            leverage in 1u32..126,
        ) {
            let of = |side, lots| if lots == 0 { Bucket::default() } else { bucket(side, lots, ticks) };
            let exposure =
                Exposure::new(lots * LOT, MARK, of(Side::Buy, buys), of(Side::Sell, sells)).unwrap();
            let initial = exposure.cross(leverage).unwrap().initial;
            for equity in [initial - 1, initial, initial + 1, initial / 2, initial * 2] {
                let is_covered = exposure.is_covered_by(equity, leverage).unwrap();
                prop_assert!(!is_covered || equity >= initial, "{} of {}", equity, initial);
            }
        }
    }
}
