//! A resting order's record, and an arriving order as parsed from its command.
//!
//! What is particular to an order type is in [`limit`] and [`market`]. An order type that is not in the book while
//! it waits (trigger, trailing) enters it through the same [`Incoming`], so the matching loop does not know it.

pub(crate) mod limit;
pub(crate) mod market;

use crate::book::pool::{Chained, NONE};
use crate::command::{OrderType, PlaceOrder, SelfTradePrevention, Side, TimeInForce, place_flag};
use crate::event;
use crate::ids::{AccountId, MarketId, OrderId};
use crate::money::{Amount, FeeRate, Price, Quantity, RawAmount};

/// A resting order: one cache line.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub(crate) struct Order {
    pub(crate) id: OrderId,
    /// Open quantity, > 0 while it rests.
    pub(crate) remaining: Quantity,
    pub(crate) price: Price,
    /// As ordered: filled + open.
    pub(crate) quantity: Quantity,
    /// Behind it at its level.
    pub(crate) next: u32,
    /// Before it at its level.
    pub(crate) previous: u32,
    /// Handle of its level on its side of the book.
    pub(crate) level: u32,
    pub(crate) account: AccountId,
    /// The next younger open order of its account in its market.
    pub(crate) younger: u32,
    /// The next older one.
    pub(crate) older: u32,
    pub(crate) market: MarketId,
    pub(crate) traits: Traits,
}

const _: () = assert!(size_of::<Order>() == 64 && align_of::<Order>() == 64);

impl Chained for Order {
    fn chain(&mut self) -> &mut u32 {
        &mut self.next
    }
}

impl Order {
    /// Traded so far.
    #[inline(always)]
    pub(crate) fn filled(&self) -> Quantity {
        // At most what was ordered is open.
        self.quantity.wrapping_sub(self.remaining)
    }

    /// Its event, with the given status and open quantity.
    #[inline(always)]
    pub(crate) fn event(&self, status: crate::command::OrderStatus, open: Quantity) -> event::Order {
        event::Order {
            order: self.id,
            account: self.account,
            market: self.market,
            side: self.traits.side() as u8,
            order_type: OrderType::Limit as u8,
            time_in_force: self.traits.time_in_force() as u8,
            status: status as u8,
            is_new: 0,
            is_amended: 0,
            reject: 0,
            price: self.price,
            quantity: self.quantity,
            quote_quantity: RawAmount::ZERO,
            filled: self.filled(),
            open,
        }
    }
}

/// Side, time in force, self-trade mode and the maker fee rate read at placement, in one word. Only limit orders rest, and only
/// those that wait until they are canceled.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traits(u32);

const SIDE_BIT: u32 = 31;
const SELF_TRADE_SHIFT: u32 = 28;
const POST_ONLY_BIT: u32 = 27;
const FEE_MASK: u32 = (1 << POST_ONLY_BIT) - 1;
const _: () = assert!(crate::money::FEE_RATE_ONE <= FEE_MASK);

impl Traits {
    #[inline(always)]
    pub(crate) fn new(
        side: Side,
        time_in_force: TimeInForce,
        self_trade: SelfTradePrevention,
        maker_fee: FeeRate,
    ) -> Traits {
        debug_assert!(maker_fee <= FEE_MASK && Traits::may_rest(time_in_force));
        Traits(
            (side as u32) << SIDE_BIT
                | (self_trade as u32) << SELF_TRADE_SHIFT
                | u32::from(time_in_force == TimeInForce::PostOnly) << POST_ONLY_BIT
                | maker_fee,
        )
    }

    /// Whether an order may be in a book.
    pub(crate) fn may_rest(time_in_force: TimeInForce) -> bool {
        matches!(time_in_force, TimeInForce::GoodTillCancel | TimeInForce::PostOnly)
    }

    #[inline(always)]
    pub(crate) fn side(self) -> Side {
        if self.0 >> SIDE_BIT == 0 { Side::Buy } else { Side::Sell }
    }

    #[inline(always)]
    pub(crate) fn time_in_force(self) -> TimeInForce {
        match self.0 >> POST_ONLY_BIT & 1 {
            0 => TimeInForce::GoodTillCancel,
            _ => TimeInForce::PostOnly,
        }
    }

    #[inline(always)]
    pub(crate) fn self_trade(self) -> SelfTradePrevention {
        match SelfTradePrevention::from_code((self.0 >> SELF_TRADE_SHIFT & 7) as u8) {
            Some(value) => value,
            None => unreachable!("packed by new"),
        }
    }

    #[inline(always)]
    pub(crate) fn maker_fee(self) -> FeeRate {
        self.0 & FEE_MASK
    }
}

/// An arriving order whose bytes are within their enumerations. Fields that its type does not use are 0.
#[derive(Clone, Copy)]
pub(crate) struct Incoming {
    pub(crate) account: AccountId,
    pub(crate) market: MarketId,
    pub(crate) side: Side,
    pub(crate) order_type: OrderType,
    pub(crate) time_in_force: TimeInForce,
    pub(crate) self_trade: SelfTradePrevention,
    pub(crate) price: Price,
    pub(crate) quantity: Quantity,
    pub(crate) quote_quantity: Amount,
}

/// What of an order may have been sent finer than it is held.
#[inline(always)]
fn finer_flags(order_type: OrderType, side: Side) -> u32 {
    match (order_type, side) {
        (OrderType::Limit, _) => place_flag::FINER_PRICE | place_flag::FINER_QUANTITY,
        (OrderType::Market, Side::Sell) => place_flag::FINER_QUANTITY,
        (OrderType::Market, Side::Buy) => 0,
    }
}

impl Incoming {
    /// `None`: malformed.
    #[inline(always)]
    pub(crate) fn parse(place: &PlaceOrder) -> Option<Incoming> {
        let side = Side::from_code(place.side)?;
        let order_type = OrderType::from_code(place.order_type)?;
        let time_in_force = TimeInForce::from_code(place.time_in_force)?;
        let self_trade = SelfTradePrevention::from_code(place.self_trade)?;
        if place.flags & !finer_flags(order_type, side) != 0 {
            return None;
        }
        let mut order = Incoming {
            account: place.account,
            market: place.market,
            side,
            order_type,
            time_in_force,
            self_trade,
            price: place.price,
            quantity: place.quantity,
            quote_quantity: 0,
        };
        if order_type == OrderType::Market {
            if time_in_force != TimeInForce::ImmediateOrCancel {
                return None;
            }
            order.price = 0;
            if side == Side::Buy {
                order.quantity = 0;
                order.quote_quantity = place.quote_quantity.get();
            }
        }
        Some(order)
    }

    /// Whether it is a market buy, which is sized in quote.
    #[inline(always)]
    pub(crate) fn is_quote_sized(&self) -> bool {
        self.order_type == OrderType::Market && self.side == Side::Buy
    }

    /// Whether what does not trade at once may rest.
    #[inline(always)]
    pub(crate) fn may_rest(&self) -> bool {
        matches!(self.time_in_force, TimeInForce::GoodTillCancel | TimeInForce::PostOnly)
    }

    /// Its event, with state left for the caller to fill in.
    #[inline(always)]
    pub(crate) fn event(&self, order: OrderId, status: crate::command::OrderStatus) -> event::Order {
        event::Order {
            order,
            account: self.account,
            market: self.market,
            side: self.side as u8,
            order_type: self.order_type as u8,
            time_in_force: self.time_in_force as u8,
            status: status as u8,
            is_new: 1,
            is_amended: 0,
            reject: 0,
            price: self.price,
            quantity: self.quantity,
            quote_quantity: self.quote_quantity.into(),
            filled: 0,
            open: 0,
        }
    }

    /// The record it rests as; `older` is its account's youngest order before it. The queue's links are the book's to
    /// set.
    #[inline(always)]
    pub(crate) fn record(
        &self,
        id: OrderId,
        quantity: Quantity,
        remaining: Quantity,
        maker_fee: FeeRate,
        older: u32,
    ) -> Order {
        Order {
            id,
            remaining,
            price: self.price,
            quantity,
            next: NONE,
            previous: NONE,
            level: 0,
            account: self.account,
            younger: NONE,
            older,
            market: self.market,
            traits: Traits::new(self.side, self.time_in_force, self.self_trade, maker_fee),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traits_keep_every_value() {
        for &side in Side::ALL {
            for tif in [TimeInForce::GoodTillCancel, TimeInForce::PostOnly] {
                for &mode in SelfTradePrevention::ALL {
                    for fee in [0, 1, 12_345_678, crate::money::FEE_RATE_ONE] {
                        let traits = Traits::new(side, tif, mode, fee);
                        assert_eq!(
                            (traits.side(), traits.time_in_force(), traits.self_trade(), traits.maker_fee()),
                            (side, tif, mode, fee)
                        );
                    }
                }
            }
        }
    }
}
