//! What events say of orders: from the record of one to the objects of `ringside_wire::futures::user`.

use crate::fapi::encode::USDT;
use crate::fapi::refusal::Refusal;
use crate::fapi::words::{
    MatchedPrice, OrderSide, OrderStatus, OrderType, SelfTrade, TimeInForce, TriggerPrice,
};
use ringside_core::command::{PerpetualOrderType, order_flag};
use ringside_core::ids::Symbol;
use ringside_core::risk::perpetual::units::average_price;
use ringside_views::perpetual::order::OrderRecord;
use ringside_wire::futures::user::{Execution, LiteUpdate, UpdatedAlgo, UpdatedOrder};
use ringside_wire::futures::words::PositionSide::Both;
use ringside_wire::number::{Digits, MoneyOrZero, Name, Units};

/// One account's half of a trade. Quantities and prices 10^-8, money micros.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fill {
    pub trade: u64,
    pub quantity: i64,
    pub price: i64,
    /// What it cost; below 0 a rebate.
    pub fee: i64,
    /// Profit, before the fee.
    pub realised: i64,
    /// Whether the order rested.
    pub is_maker: bool,
}

/// An order as it is after something happened to it. `exposure`: reference value of what the account has open of buys and sells
/// after it.
pub(super) fn order(
    time: i64,
    symbol: Symbol,
    order: &OrderRecord,
    execution: Execution,
    fill: Option<Fill>,
    exposure: [i64; 2],
) -> UpdatedOrder {
    let told = &order.told;
    let flag = |bit| told.flags & bit != 0;
    let is_trailing = is_trailing(order);
    let fill = fill.unwrap_or_default();
    let [bids, asks] = exposure.map(MoneyOrZero);
    UpdatedOrder {
        symbol: Name(symbol),
        client_order: Name(order.client_order),
        side: OrderSide::of_code(told.side),
        order_type: order_type(told.order_type),
        time_in_force: TimeInForce::of_code(told.time_in_force),
        quantity: Units(told.quantity),
        price: Units(told.price),
        average: average(order),
        stop_price: Units(if is_trailing { 0 } else { told.stop_price }),
        execution,
        status: OrderStatus::of_code(told.status),
        order: told.order,
        last: Units(fill.quantity),
        filled: Units(told.filled),
        last_price: Units(fill.price),
        fee_asset: USDT,
        fee: MoneyOrZero(fill.fee),
        time,
        trade: fill.trade,
        bids,
        asks,
        is_maker: fill.is_maker,
        is_reduce_only: flag(order_flag::REDUCE_ONLY),
        working_type: TriggerPrice::of_code(told.working_type),
        original_type: order_type(told.original_type),
        position_side: Both,
        is_close_position: flag(order_flag::CLOSE_POSITION),
        activation: is_trailing.then_some(Units(told.stop_price)),
        callback_rate: is_trailing.then_some(Units(i64::from(told.callback_rate) * 100)),
        is_protected: flag(order_flag::PRICE_PROTECT),
        ignored: 0,
        also_ignored: 0,
        realised: MoneyOrZero(fill.realised),
        self_trade: SelfTrade::of_code(told.self_trade),
        price_match: MatchedPrice::of_code(told.price_match),
        good_till: told.good_till_ms,
        expiry_reason: Digits(Some(match execution {
            Execution::Expired => told.expiry_reason.into(),
            _ => 0,
        })),
    }
}

/// A fill in short. Of the order it shows nothing that fills change.
pub(super) fn lite(time: i64, symbol: Symbol, order: &OrderRecord, fill: Fill) -> LiteUpdate {
    LiteUpdate {
        time,
        symbol: Name(symbol),
        quantity: Units(order.told.quantity),
        price: Units(order.told.price),
        is_maker: fill.is_maker,
        client_order: Name(order.client_order),
        side: OrderSide::of_code(order.told.side),
        last_price: Units(fill.price),
        last: Units(fill.quantity),
        trade: fill.trade,
        order: order.told.order,
    }
}

/// An order of the conditional-order service as placed. `actual` is the order that it went on as.
pub(super) fn algo(
    symbol: Symbol,
    order: &OrderRecord,
    status: &'static str,
    actual: Option<&OrderRecord>,
    trigger_time: i64,
    refusal: Option<Refusal>,
) -> UpdatedAlgo {
    let told = &order.told;
    let flag = |bit| told.flags & bit != 0;
    UpdatedAlgo {
        client_order: Name(order.client_order),
        order: told.order,
        kind: "CONDITIONAL",
        order_type: order_type(told.original_type),
        symbol: Name(symbol),
        side: OrderSide::of_code(told.side),
        position_side: Both,
        time_in_force: TimeInForce::of_code(told.time_in_force),
        quantity: Units(told.quantity),
        status,
        actual: Digits(actual.map(|actual| actual.told.order)),
        actual_average: actual.map_or(Units(0), average),
        actual_filled: Units(actual.map_or(0, |actual| actual.told.filled)),
        actual_type: actual.map_or("", |actual| order_type(actual.told.order_type)),
        trigger_price: Units(if is_trailing(order) { 0 } else { told.stop_price }),
        price: Units(told.price),
        self_trade: SelfTrade::of_code(told.self_trade),
        working_type: TriggerPrice::of_code(told.working_type),
        price_match: MatchedPrice::of_code(told.price_match),
        is_close_position: flag(order_flag::CLOSE_POSITION),
        is_protected: flag(order_flag::PRICE_PROTECT),
        is_reduce_only: flag(order_flag::REDUCE_ONLY),
        trigger_time,
        good_till: told.good_till_ms,
        refusal: refusal.map_or("".into(), |refusal| refusal.msg),
    }
}

/// A type as events name it: here, and nowhere else, a liquidation order is one.
fn order_type(code: u8) -> &'static str {
    match PerpetualOrderType::from_code(code) {
        Some(PerpetualOrderType::Liquidation) => "LIQUIDATION",
        Some(known) => OrderType::of(known).text(),
        None => "",
    }
}

fn is_trailing(order: &OrderRecord) -> bool {
    order.told.original_type == PerpetualOrderType::TrailingStopMarket as u8
}

fn average(order: &OrderRecord) -> Units {
    Units(average_price(order.told.value, order.told.filled))
}
