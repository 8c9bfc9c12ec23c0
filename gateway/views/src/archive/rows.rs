//! Rows of the views as entries of the archive, and what archives of before had instead.

use crate::candle::{Candle, ClosedCandle};
use crate::history::{BalanceRecord, CreditRecord, FillRecord, OwnerRecord, TradeRecord};
use crate::kept::List as Number;
use crate::log::{Added, Row};
use crate::order;
pub use crate::perpetual::histories::facets_of;
use crate::perpetual::histories::is_late;
use ringside_core::ids::Sequence;
use ringside_persist::archive::before::Before;
use ringside_persist::archive::row::{Entry, List};

/// What the rows of a list keep to, by the list's number.
pub fn list_of(number: u16) -> List {
    List { number, is_late: is_late(number) }
}

/// A row of a history as an entry of the archive.
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

fn entry<T: Row>(list: u16, row: &T, sequence: Sequence) -> Entry {
    let mut bytes = Vec::new();
    row.write(&mut bytes);
    entry_of(Added { list, key: row.key(), version: T::KEPT.newest(), bytes: &bytes }, sequence)
}

/// A row of an archive that had a table for each list of the spot side, as it is kept now.
pub fn entries_of(before: &Before, entries: &mut Vec<Entry>) {
    match before {
        Before::Order(row) => {
            let order = order::OrderRecord {
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
            };
            entries.push(entry(Number::SpotOrders as u16, &order, row.sequence));
            entries.push(entry(Number::SpotOwners as u16, &OwnerRecord::of(&order), row.sequence));
        }
        Before::Trade(row) => {
            let trade = TradeRecord {
                trade: row.trade,
                market: row.market,
                taker_side: row.taker_side as u32,
                price: row.price,
                quantity: row.quantity,
                maker_order: row.maker_order,
                taker_order: row.taker_order,
                maker_account: row.maker_account,
                taker_account: row.taker_account,
                maker_fee: row.maker_fee.into(),
                taker_fee: row.taker_fee.into(),
                time_ns: row.time_ns,
            };
            entries.push(entry(Number::SpotTrades as u16, &trade, row.sequence));
            let fill = |fill: FillRecord| entry(Number::SpotFills as u16, &fill, row.sequence);
            entries.extend(trade.fills().map(fill));
        }
        Before::Balance(row) => {
            let balance = BalanceRecord {
                sequence: row.sequence,
                time_ns: row.time_ns,
                account: row.account,
                asset: row.asset.into(),
                index: row.index,
                available: row.available.into(),
                frozen: row.frozen.into(),
            };
            entries.push(entry(Number::BalanceChanges as u16, &balance, row.sequence));
        }
        Before::Credit(row) => {
            let credit = CreditRecord {
                sequence: row.sequence,
                time_ns: row.time_ns,
                amount: row.amount.into(),
                account: row.account,
                asset: row.asset.into(),
                reason: row.reason,
            };
            entries.push(entry(Number::Credits as u16, &credit, row.sequence));
        }
        Before::Candle(row) => {
            let candle = Candle {
                high: row.high,
                low: row.low,
                close: row.close,
                volume: row.volume,
                value: row.quote_volume,
                count: row.trades,
                ..Candle::flat(row.open_s * 1_000, row.open)
            };
            // Tables had these lengths alone.
            if let Some(closed) = ClosedCandle::of_seconds(candle, row.market, row.interval_s) {
                entries.push(entry(closed.list as u16, &closed, row.sequence));
            }
        }
    }
}
