//! The histories of the spot side.

use super::{Sum, Wide, layouts, stored};
use crate::candle::{Candle, ClosedCandle};
use crate::history::{BalanceRecord, CreditRecord, FillRecord, OwnerRecord, TradeRecord};
use crate::kline::{SpotCandle, seconds_of};
use crate::order::OrderRecord;
use ringside_core::command::{OrderStatus, OrderType, Side, TimeInForce};
use ringside_core::reject::Reject;

/// An ended order as numbers.
#[derive(Clone, Copy)]
pub(super) struct CodedOrder {
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

impl From<OrderRecord> for CodedOrder {
    fn from(order: OrderRecord) -> CodedOrder {
        CodedOrder {
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
}

/// Its numbers are codes, which not all bytes are.
impl TryFrom<CodedOrder> for OrderRecord {
    type Error = ();

    fn try_from(coded: CodedOrder) -> Result<OrderRecord, ()> {
        let reject = u16::try_from(coded.reject).map_err(|_| ())?;
        Ok(OrderRecord {
            order: coded.order,
            account: coded.account,
            market: coded.market,
            side: Side::from_code(coded.side).ok_or(())?,
            order_type: OrderType::from_code(coded.order_type).ok_or(())?,
            time_in_force: TimeInForce::from_code(coded.time_in_force).ok_or(())?,
            status: OrderStatus::from_code(coded.status).ok_or(())?,
            reject: Reject::from_code(reject),
            price: coded.price,
            quantity: coded.quantity,
            filled: coded.filled,
            quote_quantity: coded.quote_quantity,
            traded: coded.traded,
            created_ns: coded.created_ns,
            updated_ns: coded.updated_ns,
        })
    }
}

/// A candle in whole seconds.
#[derive(Clone, Copy)]
pub(super) struct Kline {
    open_time_s: i64,
    open: i64,
    high: i64,
    low: i64,
    close: i64,
    volume: i128,
    quote_volume: i128,
    trade_count: u64,
}

/// A candle that is over, with the length of its interval.
#[derive(Clone, Copy)]
pub(super) struct KlineRow {
    kline: Kline,
    market: u32,
    interval_s: u32,
}

impl From<ClosedCandle<i128>> for KlineRow {
    fn from(closed: ClosedCandle<i128>) -> KlineRow {
        let Candle { open_ms, open, high, low, close, volume, value, count, .. } = closed.candle;
        let (open_time_s, quote_volume, trade_count) = (open_ms / 1_000, value, count);
        let kline = Kline { open_time_s, open, high, low, close, volume, quote_volume, trade_count };
        KlineRow { kline, market: closed.market, interval_s: seconds_of(closed.interval()) }
    }
}

/// There are not all lengths.
impl TryFrom<KlineRow> for ClosedCandle<i128> {
    type Error = ();

    fn try_from(row: KlineRow) -> Result<ClosedCandle<i128>, ()> {
        let Kline { open_time_s, open, high, low, close, volume, quote_volume, trade_count } = row.kline;
        let open_ms = open_time_s.checked_mul(1_000).ok_or(())?;
        let candle: SpotCandle = Candle {
            high,
            low,
            close,
            volume,
            value: quote_volume,
            count: trade_count,
            ..Candle::flat(open_ms, open)
        };
        ClosedCandle::of_seconds(candle, row.market, row.interval_s).ok_or(())
    }
}

layouts! {
    /// An ended order.
    OrderV1 of CodedOrder {
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
    OrderRecord as SpotOrders: OrderV1;
    ClosedCandle<i128> as SpotCandles: KlineRowV1;
}
