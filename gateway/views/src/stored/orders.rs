//! Orders, what changed them, and meetings that ended them.

use super::{Wide, layouts, stored};
use crate::idempotency::KeyedOrder;
use crate::perpetual::order::{ForcedRecord, OrderRecord};
use crate::perpetual::rows::{AmendRecord, PreventedRecord};
use ringside_core::event;

layouts! {
    /// What the engine told of a perpetual order.
    ToldOrderV1 of event::PerpetualOrder {
        order: u64, account: u32, market: u32, side: u8, order_type: u8, original_type: u8, time_in_force: u8, status: u8,
        execution: u8, expiry_reason: u8, self_trade: u8, working_type: u8, price_match: u8, flags: u16,
        callback_rate: u32, price: i64, quantity: i64, filled: i64, open: i64, value: i64, stop_price: i64,
        good_till_ms: i64, parent: u64,
    }

    /// A perpetual order.
    OrderV1 of OrderRecord {
        told: ToldOrderV1, created_ms: i64, updated_ms: i64, counterpart: u64, client_order: [u8; 36], refused: u32;
        lacks triggered_ms: 0
    }

    /// With the time at which a conditional order fired.
    OrderV2 of OrderRecord, after OrderV1 { triggered_ms: i64 }

    /// What the engine told of a modification.
    ToldAmendmentV1 of event::PerpetualAmended {
        order: u64, account: u32, market: u32, price_before: i64, price_after: i64, quantity_before: i64,
        quantity_after: i64, count: u32, reserved: u32; lacks reference: 0
    }

    /// A modification of a perpetual order.
    AmendmentV1 of AmendRecord {
        told: ToldAmendmentV1, client_order: [u8; 36], reserved: u32, time_ms: i64, number: u64,
    }

    /// What the engine told of a meeting that self-trade prevention ended.
    ToldPreventedV1 of event::PreventedMatch {
        prevented: u64, taker_order: u64, maker_order: u64, price: i64, maker_quantity: i64, taker_quantity: i64,
        trade_group: i64, taker_account: u32, maker_account: u32, market: u32, mode: u8, reserved: [u8; 3],
    }

    /// Such a meeting, as one account finds it by one order.
    PreventedV1 of PreventedRecord { told: ToldPreventedV1, time_ms: i64, role: u64 }

    /// An order of the perpetual side as a placement with an idempotency key left it.
    KeyedOrderV1 of KeyedOrder { sequence: u64, time_ns: i64, order: OrderV2 }

    /// A spot order as a placement with an idempotency key left it.
    SpotOrderV1 of event::Order {
        order: u64, account: u32, market: u32, side: u8, order_type: u8, time_in_force: u8, status: u8, is_new: u8,
        is_amended: u8, reject: u16, price: i64, quantity: i64, quote_quantity: Wide, filled: i64, open: i64,
    }
}

stored! {
    event::Order as OutcomeOrders: SpotOrderV1;
    KeyedOrder as KeyedOrders: KeyedOrderV1;
    OrderRecord as Orders: OrderV1, OrderV2;
    ForcedRecord as Orders: OrderV1, OrderV2;
    AmendRecord as Amendments: AmendmentV1;
    PreventedRecord as Prevented: PreventedV1;
}
