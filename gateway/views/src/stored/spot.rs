//! The histories of the spot side.

use super::{Layout, Sum, Wide, layouts, read, stored, write};
use crate::history::{BalanceRecord, CreditRecord, FillRecord, OwnerRecord, TradeRecord};
use crate::kept::{Kept, Stored};
use crate::kline::{Kline, KlineRow};
use crate::order::OrderRecord;
use ringside_core::command::{OrderStatus, OrderType, Side, TimeInForce};
use ringside_core::reject::Reject;

/// An ended order as numbers.
#[derive(Clone, Copy)]
pub(super) struct Coded {
    order: u64,
    account: u32,
    market: u32,
    side: u8,
    order_type: u8,
    time_in_force: u8,
    status: u8,
    reject: u32,
    price: i64,
    quantity: i64,
    filled: i64,
    quote_quantity: i128,
    traded: i128,
    created_ns: i64,
    updated_ns: i64,
}

impl Coded {
    fn of(order: &OrderRecord) -> Coded {
        Coded {
            order: order.order,
            account: order.account,
            market: order.market,
            side: order.side as u8,
            order_type: order.order_type as u8,
            time_in_force: order.time_in_force as u8,
            status: order.status as u8,
            reject: order.reject.map_or(0, |reject| reject.code().into()),
            price: order.price,
            quantity: order.quantity,
            filled: order.filled,
            quote_quantity: order.quote_quantity,
            traded: order.traded,
            created_ns: order.created_ns,
            updated_ns: order.updated_ns,
        }
    }

    /// Nothing where a number is no code.
    fn order(self) -> Option<OrderRecord> {
        let reject = u16::try_from(self.reject).ok()?;
        Some(OrderRecord {
            order: self.order,
            account: self.account,
            market: self.market,
            side: Side::from_code(self.side)?,
            order_type: OrderType::from_code(self.order_type)?,
            time_in_force: TimeInForce::from_code(self.time_in_force)?,
            status: OrderStatus::from_code(self.status)?,
            reject: Reject::from_code(reject),
            price: self.price,
            quantity: self.quantity,
            filled: self.filled,
            quote_quantity: self.quote_quantity,
            traded: self.traded,
            created_ns: self.created_ns,
            updated_ns: self.updated_ns,
        })
    }
}

layouts! {
    /// An ended order.
    OrderV1 of Coded {
        order: u64, account: u32, market: u32, side: u8, order_type: u8, time_in_force: u8, status: u8, reject: u32,
        price: i64, quantity: i64, filled: i64, quote_quantity: Sum, traded: Sum, created_ns: i64, updated_ns: i64,
    }

    /// Whose an ended order was.
    OwnerV1 of OwnerRecord { order: u64, created_ms: i64, account: u32, reserved: u32 }

    /// A trade.
    TradeV1 of TradeRecord {
        trade: u64, market: u32, taker_side: u32, price: i64, quantity: i64, maker_order: u64, taker_order: u64,
        maker_account: u32, taker_account: u32, maker_fee: Wide, taker_fee: Wide, time_ns: i64,
    }

    /// An account's half of one.
    FillV1 of FillRecord {
        trade: u64, account: u32, market: u32, side: u32, role: u32, price: i64, quantity: i64, fee: Wide, order: u64,
        time_ns: i64,
    }

    /// A credit.
    CreditV1 of CreditRecord {
        sequence: u64, time_ns: i64, amount: Wide, account: u32, asset: u32, reason: [u8; 64],
    }

    /// A balance as a command left it.
    BalanceV1 of BalanceRecord {
        sequence: u64, time_ns: i64, account: u32, asset: u32, index: u64, available: Wide, frozen: Wide,
    }

    /// A candle.
    KlineV1 of Kline {
        open_time_s: i64, open: i64, high: i64, low: i64, close: i64, volume: Sum, quote_volume: Sum, trade_count: u64,
    }

    /// A candle that is over.
    KlineRowV1 of KlineRow { kline: KlineV1, market: u32, interval_s: u32 }
}

stored! {
    OwnerRecord as SpotOwners: OwnerV1;
    TradeRecord as SpotTradeRows: TradeV1;
    FillRecord as SpotFillRows: FillV1;
    CreditRecord as CreditRows: CreditV1;
    BalanceRecord as BalanceRows: BalanceV1;
    KlineRow as SpotCandles: KlineRowV1;
}

/// Its numbers are codes, which not all bytes are.
impl Stored for OrderRecord {
    const KEPT: Kept = Kept::SpotOrders;

    fn write_as(&self, version: u16, bytes: &mut Vec<u8>) {
        assert_eq!(version, 1, "there is one version");
        write::<OrderV1>(&Coded::of(self), bytes);
    }

    fn read_as(version: u16, bytes: &[u8]) -> Option<OrderRecord> {
        (version == 1).then(|| read::<OrderV1>(bytes))??.order()
    }

    fn describe(_version: u16) -> String {
        let mut lines = String::new();
        OrderV1::describe("", 0, &mut lines);
        lines
    }
}

const _: () = super::check(Kept::SpotOrders, &[size_of::<OrderV1>()]);
