//! The order object of `perpetual.md` 7.1, as every route that answers with an order shows it. Written straight into the
//! answer, with no tree of values in between: placing an order waits for it.

use super::object::Object;
use super::words;
use ringside_core::command::{
    PerpetualOrderType, PerpetualStatus, PerpetualTimeInForce, PriceMatch, SelfTradePrevention, Side,
    WorkingType, order_flag,
};
use ringside_core::ids::{self, Symbol};
use ringside_core::risk::perpetual::units::average_price;
use ringside_views::perpetual::order::OrderRecord;
use serde::ser::{Error, Serialize, Serializer};
use serde_json::value::RawValue;

/// An order and the name of its market.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    order: OrderRecord,
    symbol: Symbol,
    is_compatible: bool,
    is_modified: bool,
}

/// An order to be shown. `is_compatible`: goodTillDate as a number.
pub fn shown(order: &OrderRecord, symbol: Symbol, is_compatible: bool) -> Shown {
    Shown { order: *order, symbol, is_compatible, is_modified: false }
}

impl Shown {
    /// As the answer to a modification, which says two things more.
    pub fn modified(self) -> Shown {
        Shown { is_modified: true, ..self }
    }

    /// The object.
    pub fn json(&self) -> Vec<u8> {
        // As long as an order of a common symbol: room is taken once.
        let mut out = Vec::with_capacity(640);
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut Vec<u8>) {
        let told = &self.order.told;
        let order_type = |code| PerpetualOrderType::from_code(code).map_or("", words::order_type);
        let is_trailing = told.original_type == PerpetualOrderType::TrailingStopMarket as u8;
        let flag = |bit| told.flags & bit != 0;
        let time_in_force = PerpetualTimeInForce::from_code(told.time_in_force);
        let working_type = WorkingType::from_code(told.working_type);
        let self_trade = SelfTradePrevention::from_code(told.self_trade);
        let mut o = Object::new(out);
        o.id("orderId", told.order);
        o.text("symbol", ids::text(&self.symbol));
        if self.is_modified {
            o.text("pair", ids::text(&self.symbol));
            o.units("cumBase", told.filled);
        }
        o.text("status", PerpetualStatus::from_code(told.status).map_or("", words::status));
        o.text("clientOrderId", self.order.client_order());
        o.units("price", told.price);
        o.units("avgPrice", average_price(told.value, told.filled));
        o.units("origQty", told.quantity);
        o.units("executedQty", told.filled);
        o.units("cumQty", told.filled);
        o.micros("cumQuote", told.value);
        o.text("timeInForce", time_in_force.map_or("", words::time_in_force));
        o.text("type", order_type(told.order_type));
        o.flag("reduceOnly", flag(order_flag::REDUCE_ONLY));
        o.flag("closePosition", flag(order_flag::CLOSE_POSITION));
        o.text("side", Side::from_code(told.side).map_or("", words::side));
        o.text("positionSide", "BOTH");
        o.units("stopPrice", if is_trailing { 0 } else { told.stop_price });
        o.text("workingType", working_type.map_or("", words::working_type));
        o.flag("priceProtect", flag(order_flag::PRICE_PROTECT));
        o.text("origType", order_type(told.original_type));
        o.text("priceMatch", PriceMatch::from_code(told.price_match).map_or("", words::price_match));
        o.text("selfTradePreventionMode", self_trade.map_or("", words::self_trade));
        if self.is_compatible {
            o.number("goodTillDate", told.good_till_ms);
        } else {
            o.text("goodTillDate", &told.good_till_ms.to_string());
        }
        o.number("time", self.order.created_ms);
        o.number("updateTime", self.order.updated_ms);
        if is_trailing {
            o.units("activatePrice", told.stop_price);
            o.units("priceRate", i64::from(told.callback_rate) * 100);
        }
        if told.parent != 0 {
            o.id("parentOrderId", told.parent);
        }
        if self.order.triggered_ms != 0 {
            o.number("triggerTime", self.order.triggered_ms);
        }
        let status = PerpetualStatus::from_code(told.status);
        if matches!(status, Some(PerpetualStatus::Expired | PerpetualStatus::ExpiredInMatch)) {
            o.digits("er", Some(told.expiry_reason.into()));
        }
        o.end();
    }
}

/// For lists of orders.
impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = String::from_utf8(self.json()).map_err(S::Error::custom)?;
        RawValue::from_string(text).map_err(S::Error::custom)?.serialize(serializer)
    }
}
