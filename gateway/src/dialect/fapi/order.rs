//! The order object of `perpetual.md` 7.1, as every route that answers with an order shows it. Written straight into the
//! answer, with no tree of values in between: placing an order waits for it.

use super::words;
use crate::dialect::decimal;
use crate::view::perpetual::order::OrderRecord;
use ringside_core::command::{
    PerpetualOrderType, PerpetualStatus, PerpetualTimeInForce, PriceMatch, SelfTradePrevention, Side,
    WorkingType, order_flag,
};
use ringside_core::ids::{self, Symbol};
use ringside_core::risk::perpetual::units::average_price;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// An order and the name of its market.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    order: OrderRecord,
    symbol: Symbol,
    is_compatible: bool,
}

/// An order to be shown. `is_compatible`: goodTillDate as a number.
pub fn shown(order: &OrderRecord, symbol: Symbol, is_compatible: bool) -> Shown {
    Shown { order: *order, symbol, is_compatible }
}

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let told = &self.order.told;
        let order_type = |code| PerpetualOrderType::from_code(code).map_or("", words::order_type);
        let is_trailing = told.original_type == PerpetualOrderType::TrailingStopMarket as u8;
        let flag = |bit| told.flags & bit != 0;
        let mut object = serializer.serialize_map(None)?;
        let mut put = Put { object: &mut object, scratch: Vec::with_capacity(48) };
        put.value("orderId", &told.order)?;
        put.value("symbol", ids::text(&self.symbol))?;
        put.value("status", PerpetualStatus::from_code(told.status).map_or("", words::status))?;
        put.value("clientOrderId", self.order.client_order())?;
        put.units8("price", told.price)?;
        put.units8("avgPrice", average_price(told.value, told.filled))?;
        put.units8("origQty", told.quantity)?;
        put.units8("executedQty", told.filled)?;
        put.units8("cumQty", told.filled)?;
        put.micros("cumQuote", told.value)?;
        let time_in_force = PerpetualTimeInForce::from_code(told.time_in_force);
        put.value("timeInForce", time_in_force.map_or("", words::time_in_force))?;
        put.value("type", order_type(told.order_type))?;
        put.value("reduceOnly", &flag(order_flag::REDUCE_ONLY))?;
        put.value("closePosition", &flag(order_flag::CLOSE_POSITION))?;
        put.value("side", Side::from_code(told.side).map_or("", words::side))?;
        put.value("positionSide", "BOTH")?;
        put.units8("stopPrice", if is_trailing { 0 } else { told.stop_price })?;
        put.value("workingType", WorkingType::from_code(told.working_type).map_or("", words::working_type))?;
        put.value("priceProtect", &flag(order_flag::PRICE_PROTECT))?;
        put.value("origType", order_type(told.original_type))?;
        put.value("priceMatch", PriceMatch::from_code(told.price_match).map_or("", words::price_match))?;
        let self_trade = SelfTradePrevention::from_code(told.self_trade);
        put.value("selfTradePreventionMode", self_trade.map_or("", words::self_trade))?;
        if self.is_compatible {
            put.value("goodTillDate", &told.good_till_ms)?;
        } else {
            put.value("goodTillDate", &told.good_till_ms.to_string())?;
        }
        put.value("time", &self.order.created_ms)?;
        put.value("updateTime", &self.order.updated_ms)?;
        if is_trailing {
            put.units8("activatePrice", told.stop_price)?;
            put.units8("priceRate", i64::from(told.callback_rate) * 100)?;
        }
        if told.parent != 0 {
            put.value("parentOrderId", &told.parent)?;
        }
        object.end()
    }
}

/// Members of an object that is being written.
struct Put<'a, M> {
    object: &'a mut M,
    /// Numbers are written here one after another, so that none has memory of its own.
    scratch: Vec<u8>,
}

impl<M: SerializeMap> Put<'_, M> {
    fn value<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), M::Error> {
        self.object.serialize_entry(key, value)
    }

    fn number(&mut self, key: &'static str, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), M::Error> {
        self.scratch.clear();
        write(&mut self.scratch);
        // Digits, a point and a sign.
        self.object.serialize_entry(key, str::from_utf8(&self.scratch).unwrap_or_default())
    }

    /// Steps of 10^-8.
    fn units8(&mut self, key: &'static str, value: i64) -> Result<(), M::Error> {
        self.number(key, |out| decimal::write_entry(out, value))
    }

    /// Micros.
    fn micros(&mut self, key: &'static str, value: i64) -> Result<(), M::Error> {
        self.number(key, |out| decimal::write_amount(out, i128::from(value) * 1_000_000_000_000))
    }
}
