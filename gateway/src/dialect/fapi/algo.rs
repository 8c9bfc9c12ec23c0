//! Orders of the conditional-order service as it shows them (`perpetual.md` 11).

use super::{text, words};
use ringside_core::command::{
    PerpetualOrderType, PerpetualStatus, PerpetualTimeInForce, PriceMatch, SelfTradePrevention, Side,
    WorkingType, order_flag,
};
use ringside_core::risk::perpetual::units::average_price;
use ringside_views::perpetual::order::OrderRecord;
use serde_json::{Value, json};

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
pub fn order(order: &OrderRecord, became: Option<&OrderRecord>, symbol: &str) -> Value {
    let told = &order.told;
    let is_trailing = told.original_type == PerpetualOrderType::TrailingStopMarket as u8;
    let flag = |bit| told.flags & bit != 0;
    let trailing = |value: i64| if is_trailing { text::units8(value) } else { String::new() };
    let has_come = order.counterpart != 0 || order.refused != 0;
    json!({
        "algoId": told.order,
        "clientAlgoId": order.client_order(),
        "algoType": "CONDITIONAL",
        "orderType": PerpetualOrderType::from_code(told.original_type).map_or("", words::order_type),
        "symbol": symbol,
        "side": Side::from_code(told.side).map_or("", words::side),
        "positionSide": "BOTH",
        "timeInForce": PerpetualTimeInForce::from_code(told.time_in_force).map_or("", words::time_in_force),
        "quantity": text::units8(told.quantity),
        "algoStatus": status(order, became),
        "actualOrderId": became.map_or(String::new(), |became| became.told.order.to_string()),
        "actualPrice": text::units8(became.map_or(0, |became| average_price(became.told.value, became.told.filled))),
        "triggerPrice": text::units8(if is_trailing { 0 } else { told.stop_price }),
        "price": text::units8(told.price),
        "icebergQuantity": null,
        "tpTriggerPrice": "0",
        "tpPrice": "0",
        "slTriggerPrice": "0",
        "slPrice": "0",
        "tpOrderType": "",
        "selfTradePreventionMode": SelfTradePrevention::from_code(told.self_trade).map_or("", words::self_trade),
        "workingType": WorkingType::from_code(told.working_type).map_or("", words::working_type),
        "priceMatch": PriceMatch::from_code(told.price_match).map_or("", words::price_match),
        "closePosition": flag(order_flag::CLOSE_POSITION),
        "priceProtect": flag(order_flag::PRICE_PROTECT),
        "reduceOnly": flag(order_flag::REDUCE_ONLY),
        "activatePrice": trailing(told.stop_price),
        "callbackRate": trailing(i64::from(told.callback_rate) * 100),
        "createTime": order.created_ms,
        "updateTime": order.updated_ms,
        "triggerTime": if has_come { order.updated_ms } else { 0 },
        "goodTillDate": told.good_till_ms,
    })
}
