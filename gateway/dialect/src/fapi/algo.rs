//! Orders of the conditional-order service as it shows them (`perpetual.md` 11).

use super::words::{MatchedPrice, OrderSide, OrderType, SelfTrade, TimeInForce, TriggerPrice};
use ringside_core::command::{PerpetualOrderType, PerpetualStatus, order_flag};
use ringside_core::ids::Symbol;
use ringside_core::risk::perpetual::units::average_price;
use ringside_views::perpetual::order::OrderRecord;
use ringside_wire::futures::order::{FuturesConditionalOrder, Trailing};
use ringside_wire::futures::words::PositionSide::Both;
use ringside_wire::number::{Digits, Name, Units};

/// The status of an order, and of what it became.
pub fn status(order: &OrderRecord, became: Option<&OrderRecord>) -> &'static str {
    match (became, PerpetualStatus::from_code(order.told.status)) {
        (Some(became), _) if became.is_open() => "TRIGGERED",
        (Some(_), _) => "FINISHED",
        _ if order.refused != 0 => "REJECTED",
        (None, Some(PerpetualStatus::New)) => "NEW",
        (None, Some(PerpetualStatus::Canceled)) => "CANCELED",
        (None, _) => "EXPIRED",
    }
}

/// The algo object. `became` is the order that it goes on as, once it fired.
pub fn order(order: &OrderRecord, became: Option<&OrderRecord>, symbol: Symbol) -> FuturesConditionalOrder {
    let told = &order.told;
    let is_trailing = told.original_type == PerpetualOrderType::TrailingStopMarket as u8;
    let flag = |bit| told.flags & bit != 0;
    let trailing = |value: i64| Trailing(is_trailing.then_some(Units(value)));
    let has_come = order.counterpart != 0 || order.refused != 0;
    FuturesConditionalOrder {
        algo_id: told.order,
        client_algo_id: Name(order.client_order),
        algo_type: "CONDITIONAL",
        order_type: OrderType::of_code(told.original_type),
        symbol: Name(symbol),
        side: OrderSide::of_code(told.side),
        position_side: Both,
        time_in_force: TimeInForce::of_code(told.time_in_force),
        quantity: Units(told.quantity),
        algo_status: status(order, became),
        actual_order_id: Digits(became.map(|became| became.told.order)),
        actual_price: Units(became.map_or(0, |became| average_price(became.told.value, became.told.filled))),
        trigger_price: Units(if is_trailing { 0 } else { told.stop_price }),
        price: Units(told.price),
        iceberg_quantity: None,
        tp_trigger_price: Units(0),
        tp_price: Units(0),
        sl_trigger_price: Units(0),
        sl_price: Units(0),
        tp_order_type: "",
        self_trade_prevention_mode: SelfTrade::of_code(told.self_trade),
        working_type: TriggerPrice::of_code(told.working_type),
        price_match: MatchedPrice::of_code(told.price_match),
        close_position: flag(order_flag::CLOSE_POSITION),
        price_protect: flag(order_flag::PRICE_PROTECT),
        reduce_only: flag(order_flag::REDUCE_ONLY),
        activate_price: trailing(told.stop_price),
        callback_rate: trailing(i64::from(told.callback_rate) * 100),
        create_time: order.created_ms,
        update_time: order.updated_ms,
        trigger_time: if has_come { order.updated_ms } else { 0 },
        good_till_date: told.good_till_ms,
    }
}
