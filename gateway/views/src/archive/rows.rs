//! Records of the views as rows of the archive, and back. Field by field; nothing is computed.

use crate::history::{FillRecord, Role, TradeRecord};
use crate::kline::{ClosedKline, Interval, Kline};
use crate::log;
use crate::order::OrderRecord;
use crate::perpetual::{self, Added};
use ringside_core::event::{Balances, Credited, Event};
use ringside_core::ids::Sequence;
use ringside_persist::archive::FacetOf;
use ringside_persist::archive::row::{
    BalanceChange, CandleRow, CreditRow, Entry, FillRow, List, OrderRow, TradeRow,
};

/// An ended order as a row.
pub fn row_of_order(order: &OrderRecord, sequence: Sequence) -> OrderRow {
    OrderRow {
        sequence,
        order: order.order,
        account: order.account,
        market: order.market,
        side: order.side,
        order_type: order.order_type,
        time_in_force: order.time_in_force,
        status: order.status,
        reject: order.reject,
        price: order.price,
        quantity: order.quantity,
        filled: order.filled,
        quote_quantity: order.quote_quantity,
        traded: order.traded,
        created_ns: order.created_ns,
        updated_ns: order.updated_ns,
    }
}

/// The ended order of a row.
pub fn order_of(row: &OrderRow) -> OrderRecord {
    OrderRecord {
        order: row.order,
        account: row.account,
        market: row.market,
        side: row.side,
        order_type: row.order_type,
        time_in_force: row.time_in_force,
        status: row.status,
        reject: row.reject,
        price: row.price,
        quantity: row.quantity,
        filled: row.filled,
        quote_quantity: row.quote_quantity,
        traded: row.traded,
        created_ns: row.created_ns,
        updated_ns: row.updated_ns,
    }
}

/// A trade as a row.
pub fn row_of_trade(trade: &TradeRecord, sequence: Sequence) -> TradeRow {
    TradeRow {
        sequence,
        trade: trade.trade,
        market: trade.market,
        taker_side: trade.taker_side,
        price: trade.price,
        quantity: trade.quantity,
        maker_order: trade.maker_order,
        taker_order: trade.taker_order,
        maker_account: trade.maker_account,
        taker_account: trade.taker_account,
        maker_fee: trade.maker_fee,
        taker_fee: trade.taker_fee,
        time_ns: trade.time_ns,
    }
}

/// The trade of a row.
pub fn trade_of(row: &TradeRow) -> TradeRecord {
    TradeRecord {
        trade: row.trade,
        market: row.market,
        taker_side: row.taker_side,
        price: row.price,
        quantity: row.quantity,
        maker_order: row.maker_order,
        taker_order: row.taker_order,
        maker_account: row.maker_account,
        taker_account: row.taker_account,
        maker_fee: row.maker_fee,
        taker_fee: row.taker_fee,
        time_ns: row.time_ns,
    }
}

/// The fill of a row.
pub fn fill_of(row: &FillRow) -> FillRecord {
    trade_of(&row.trade).fill(if row.is_taker { Role::Taker } else { Role::Maker })
}

/// The balances that an event says have changed: base, then quote.
pub fn balance_changes(event: &Event, changed: &Balances) -> impl Iterator<Item = BalanceChange> {
    let row = |asset, available, frozen| BalanceChange {
        sequence: event.sequence,
        time_ns: event.time_ns,
        account: changed.account,
        asset,
        available,
        frozen,
    };
    let base = (changed.changed & 1 != 0)
        .then(|| row(changed.base, changed.base_available.get(), changed.base_frozen.get()));
    // Equal assets: one balance changed, outside any market, and it stands in the base's fields.
    let quote = (changed.changed & 2 != 0 && changed.quote != changed.base)
        .then(|| row(changed.quote, changed.quote_available.get(), changed.quote_frozen.get()));
    base.into_iter().chain(quote)
}

/// A credit as a row.
pub fn row_of_credit(event: &Event, credited: &Credited) -> CreditRow {
    CreditRow {
        sequence: event.sequence,
        time_ns: event.time_ns,
        account: credited.account,
        asset: credited.asset,
        amount: credited.amount.get(),
        reason: credited.reason,
    }
}

/// Length of an interval as it stands in rows.
pub fn interval_s(interval: Interval) -> u32 {
    u32::try_from(interval.seconds()).expect("no interval is longer than a day")
}

/// A candle that the command `sequence` closed, as a row.
pub fn row_of_kline(closed: &ClosedKline, sequence: Sequence) -> CandleRow {
    let kline = &closed.kline;
    CandleRow {
        sequence,
        market: closed.market,
        interval_s: interval_s(closed.interval),
        open_s: kline.open_time_s,
        open: kline.open,
        high: kline.high,
        low: kline.low,
        close: kline.close,
        volume: kline.volume,
        quote_volume: kline.quote_volume,
        trades: kline.trade_count,
    }
}

/// The candle of a row.
pub fn kline_of(row: &CandleRow) -> Kline {
    Kline {
        open_time_s: row.open_s,
        open: row.open,
        high: row.high,
        low: row.low,
        close: row.close,
        volume: row.volume,
        quote_volume: row.quote_volume,
        trade_count: row.trades,
    }
}

/// What the rows of a list keep to, by the list's number.
pub fn list_of(number: u16) -> List {
    // Orders end in another order than they are placed, and what operators did in another than they noted it.
    let late = [log::List::Orders, log::List::ServiceOrders, log::List::ForcedOrders, log::List::Operators];
    let is_late = late.iter().any(|list| *list as u16 == number);
    List { number, is_late }
}

/// What the records of a list are filtered by, by the list's number.
pub fn facets_of(number: u16) -> Option<FacetOf> {
    fn of<T: log::Row>(version: u16, bytes: &[u8]) -> Option<u8> {
        T::read(version, bytes).ok().map(|row| row.facet())
    }
    match number {
        _ if [log::List::Orders, log::List::ServiceOrders].iter().any(|list| *list as u16 == number) => {
            Some(of::<perpetual::order::OrderRecord>)
        }
        _ if number == log::List::Fills as u16 => Some(of::<perpetual::rows::FillRecord>),
        _ => None,
    }
}

/// A row of a perpetual history as an entry of the archive.
pub fn entry_of(added: Added<'_>, sequence: Sequence) -> Entry {
    Entry {
        sequence,
        list: list_of(added.list),
        owner: added.key.owner,
        market: added.key.market,
        id: added.key.id,
        time_ms: added.key.time_ms,
        tag: added.key.tag,
        version: added.version,
        bytes: added.bytes.into(),
    }
}
