//! What a market asks of an order by itself, whoever sends it: its state, price, quantity, notional and band (`perpetual.md` 7).

use super::market::Symbol;
use super::order::Details;
use crate::command::{
    PerpetualOrderType as Type, PerpetualParameter as P, PerpetualState, PerpetualTimeInForce as Tif, Side,
    WorkingType, order_flag,
};
use crate::money::{Money, Price, Quantity};
use crate::reject::Reject;
use crate::risk::perpetual::trigger::is_callback;
use crate::risk::perpetual::{band, units};

impl Symbol {
    /// It takes such an order now.
    #[inline(always)]
    pub(crate) fn takes(&self, order: &Details) -> Result<(), Reject> {
        if self.is_trading() {
            return Ok(());
        }
        let takes = match self.state() {
            PerpetualState::Closed => return Err(Reject::MarketDelisted),
            PerpetualState::Trading => true,
            PerpetualState::PostOnly => order.time_in_force == Tif::PostOnly,
            PerpetualState::ReduceOnly => order.reduces(),
            PerpetualState::CancelOnly | PerpetualState::Halted => false,
        };
        if takes { Ok(()) } else { Err(Reject::StateRefuses) }
    }

    #[inline(always)]
    pub(crate) fn check_price(&self, price: Price) -> Result<(), Reject> {
        if price <= 0 {
            return Err(Reject::InvalidPrice);
        }
        if !self.tick.divides(price) {
            return Err(Reject::InvalidTick);
        }
        if price < self.get(P::MinPrice) {
            return Err(Reject::PriceBelowMinimum);
        }
        if price > self.get(P::MaxPrice) {
            return Err(Reject::PriceAboveMaximum);
        }
        Ok(())
    }

    /// Stop, activation and attached prices, and the callback.
    #[inline(always)]
    pub(crate) fn check_stops(&self, order: &Details, attached: [Price; 2]) -> Result<(), Reject> {
        let &Details { order_type, stop_price, callback_rate, .. } = order;
        if order_type.is_conditional() || attached != [0; 2] {
            self.check_stop_prices(order_type, (stop_price, callback_rate), attached)
        } else {
            Ok(())
        }
    }

    #[inline(never)]
    fn check_stop_prices(
        &self,
        order_type: Type,
        (stop_price, callback_rate): (Price, u32),
        attached: [Price; 2],
    ) -> Result<(), Reject> {
        let as_stop = |price: Price, invalid: Reject| match self.check_price(price) {
            Err(Reject::InvalidPrice) => Err(invalid),
            Err(Reject::PriceAboveMaximum) => Err(Reject::StopPriceAboveMaximum),
            other => other,
        };
        match order_type {
            Type::TrailingStopMarket => {
                if stop_price != 0 {
                    as_stop(stop_price, Reject::InvalidActivationPrice)?;
                }
                if !is_callback(callback_rate.into()) {
                    return Err(Reject::InvalidCallback);
                }
            }
            Type::Limit | Type::Market | Type::Liquidation => {}
            _ => as_stop(stop_price, Reject::InvalidStopPrice)?,
        }
        for price in attached.into_iter().filter(|&price| price != 0) {
            as_stop(price, Reject::InvalidStopPrice)?;
        }
        Ok(())
    }

    /// A quantity floored to lots, if that is not too little.
    #[inline(always)]
    pub(crate) fn floor_quantity(&self, quantity: Quantity) -> Result<Quantity, Reject> {
        if quantity <= 0 {
            return Err(Reject::InvalidQuantity);
        }
        let floored = match self.lot.divides(quantity) {
            true => quantity,
            false => quantity - quantity % self.lot.value(),
        };
        if floored >= self.get(P::MinQuantity) { Ok(floored) } else { Err(Reject::QuantityOutOfRange) }
    }

    /// The same, if it is not too much either.
    #[inline(always)]
    pub(crate) fn check_quantity(&self, quantity: Quantity, has_price: bool) -> Result<Quantity, Reject> {
        let floored = self.floor_quantity(quantity)?;
        let most = self.get(if has_price { P::MaxQuantity } else { P::MaxMarketQuantity });
        if floored <= most { Ok(floored) } else { Err(Reject::QuantityOutOfRange) }
    }

    /// The notional of an order at a price, of which its account may have `most`.
    #[inline(always)]
    pub(crate) fn check_notional(&self, order: &Details, price: Price, most: Money) -> Result<(), Reject> {
        // Exact for a price on the tick.
        let notional: Money = units::ceil_value(order.quantity, price).ok_or(Reject::AboveMaxNotional)?;
        if notional < self.get(P::MinNotional) && !order.is(order_flag::REDUCE_ONLY) {
            return Err(Reject::BelowMinNotional);
        }
        if notional > most { Err(Reject::AboveMaxNotional) } else { Ok(()) }
    }

    #[inline(always)]
    pub(crate) fn check_band(&self, side: Side, price: Price) -> Result<(), Reject> {
        let outside = match side {
            Side::Buy => Reject::PriceAboveBand,
            Side::Sell => Reject::PriceBelowBand,
        };
        let bound = self.entry_bound(side).ok_or(outside)?;
        if band::is_within(side, price, bound) { Ok(()) } else { Err(outside) }
    }

    /// The latest price of a working type.
    pub(crate) fn watched(&self, working_type: WorkingType) -> Price {
        match working_type {
            WorkingType::ContractPrice => self.contract_price(),
            WorkingType::MarkPrice => self.prices.mark,
        }
    }
}
