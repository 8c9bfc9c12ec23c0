//! The order object of `perpetual.md` 7.1, as every route that answers with an order shows it.

use super::words::{MatchedPrice, OrderSide, OrderStatus, OrderType, SelfTrade, TimeInForce, TriggerPrice};
use ringside_core::command::{PerpetualOrderType, PerpetualStatus, order_flag};
use ringside_core::ids::Symbol;
use ringside_core::risk::perpetual::units::average_price;
use ringside_views::perpetual::order::OrderRecord;
use ringside_wire::futures::order::{FuturesOrder, GoodTill};
use ringside_wire::futures::words::PositionSide::Both;
use ringside_wire::number::{Digits, Micros, Name, Units};

/// An order to be shown. `is_compatible`: goodTillDate as a number.
pub fn shown(order: &OrderRecord, symbol: Symbol, is_compatible: bool) -> FuturesOrder {
    let told = &order.told;
    let is_trailing = told.original_type == PerpetualOrderType::TrailingStopMarket as u8;
    let flag = |bit| told.flags & bit != 0;
    let status = PerpetualStatus::from_code(told.status);
    let is_expired = matches!(status, Some(PerpetualStatus::Expired | PerpetualStatus::ExpiredInMatch));
    FuturesOrder {
        order_id: told.order,
        symbol: Name(symbol),
        pair: None,
        cum_base: None,
        status: OrderStatus::of_code(told.status),
        client_order_id: Name(order.client_order),
        price: Units(told.price),
        avg_price: Units(average_price(told.value, told.filled)),
        orig_qty: Units(told.quantity),
        executed_qty: Units(told.filled),
        cum_qty: Units(told.filled),
        cum_quote: Micros(told.value),
        time_in_force: TimeInForce::of_code(told.time_in_force),
        r#type: OrderType::of_code(told.order_type),
        reduce_only: flag(order_flag::REDUCE_ONLY),
        close_position: flag(order_flag::CLOSE_POSITION),
        side: OrderSide::of_code(told.side),
        position_side: Both,
        stop_price: Units(if is_trailing { 0 } else { told.stop_price }),
        working_type: TriggerPrice::of_code(told.working_type),
        price_protect: flag(order_flag::PRICE_PROTECT),
        orig_type: OrderType::of_code(told.original_type),
        price_match: MatchedPrice::of_code(told.price_match),
        self_trade_prevention_mode: SelfTrade::of_code(told.self_trade),
        good_till_date: match is_compatible {
            true => GoodTill::Number(told.good_till_ms),
            false => GoodTill::Text(Digits(Some(told.good_till_ms.unsigned_abs()))),
        },
        time: order.created_ms,
        update_time: order.updated_ms,
        activate_price: is_trailing.then_some(Units(told.stop_price)),
        price_rate: is_trailing.then_some(Units(i64::from(told.callback_rate) * 100)),
        parent_order_id: (told.parent != 0).then_some(told.parent),
        trigger_time: (order.triggered_ms != 0).then_some(order.triggered_ms),
        er: is_expired.then_some(Digits(Some(told.expiry_reason.into()))),
    }
}

/// As the answer to a modification, which says two things more.
pub fn modified(order: FuturesOrder) -> FuturesOrder {
    FuturesOrder { pair: Some(order.symbol), cum_base: Some(order.executed_qty), ..order }
}
