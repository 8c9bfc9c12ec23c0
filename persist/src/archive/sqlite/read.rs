//! Queries. Each names the index that answers it, so that the planner cannot take a worse one however its statistics look;
//! a query whose index were gone would fail to prepare.

use super::super::row::{BalanceChange, CandleRow, CreditRow, FillRow, OrderRow, TradeRow};
use super::super::{ArchiveError, ArchiveReader, CandlesAsked, FillsAsked, Mark, OrdersAsked, Seconds};
use super::value::{Wide, bound, trade_key, trade_of_key};
use ringside_core::command::{OrderStatus, OrderType, Side, TimeInForce};
use ringside_core::ids::{AccountId, MarketId, OrderId, Sequence};
use ringside_core::reject::Reject;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Params, Row, named_params, params};
use std::path::PathBuf;

const ORDER_COLUMNS: &str = "id, sequence, account, market, status, side, type, tif, reject, price, quantity, \
                             filled, quote_quantity, traded, created_s, created_rest, lasted";
const TRADE_COLUMNS: &str = "key, sequence, market, taker_side, price, quantity, maker_order, taker_order, \
                             maker_account, taker_account, maker_fee, taker_fee, time_s, time_rest";
const CANDLE_COLUMNS: &str =
    "market, interval_s, open_s, sequence, open, high, low, close, volume, quote_volume, trades";

/// The SQL of a list of orders.
fn orders_sql(has_market: bool, has_status: bool) -> String {
    let (index, filter) = match (has_market, has_status) {
        (false, false) => ("orders_account", ""),
        (true, false) => ("orders_market", "AND market = :market "),
        (false, true) => ("orders_status", "AND status = :status "),
        (true, true) => ("orders_market_status", "AND market = :market AND status = :status "),
    };
    format!(
        "SELECT {ORDER_COLUMNS} FROM orders INDEXED BY {index} WHERE account = :account {filter}\
         AND created_s BETWEEN :start AND :end AND id < :before AND sequence <= :through \
         ORDER BY created_s DESC, id DESC LIMIT :limit"
    )
}

/// The SQL of the fills of an account on one side of its trades.
fn fills_sql(is_taker: bool, has_market: bool) -> String {
    let role = if is_taker { "taker" } else { "maker" };
    let (index, filter) = if has_market { ("_market", "AND market = :market ") } else { ("", "") };
    format!(
        "SELECT {TRADE_COLUMNS} FROM trades INDEXED BY trades_{role}{index} WHERE {role}_account = :account {filter}\
         AND time_s BETWEEN :start AND :end AND sequence <= :through \
         ORDER BY time_s DESC, sequence DESC, key DESC LIMIT :limit"
    )
}

/// The SQL of a list of candles; the outer one turns the newest round.
fn candles_sql(oldest: bool) -> String {
    let direction = if oldest { "ASC" } else { "DESC" };
    format!(
        "SELECT {CANDLE_COLUMNS} FROM candles WHERE market = :market AND interval_s = :interval \
         AND open_s BETWEEN :start AND :end AND sequence <= :through ORDER BY open_s {direction} LIMIT :limit"
    )
}

fn trades_sql() -> String {
    format!(
        "SELECT {TRADE_COLUMNS} FROM trades WHERE key BETWEEN ?1 AND ?2 AND sequence <= ?3 \
         ORDER BY key DESC LIMIT ?4"
    )
}

const BALANCES_SQL: &str = "SELECT sequence, time_s, time_rest, account, asset, available, frozen \
    FROM balances INDEXED BY balances_account WHERE account = ?1 AND time_s BETWEEN ?2 AND ?3 AND sequence <= ?4 \
    ORDER BY time_s DESC, number DESC LIMIT ?5";

const CREDITS_SQL: &str = "SELECT sequence, time_ns, account, asset, amount, reason \
    FROM credits WHERE sequence <= ?1 ORDER BY number DESC LIMIT ?2";

/// What the database would do for each list query.
pub(super) fn plans(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let both = [false, true];
    let mut queries = Vec::new();
    for (first, second) in both.into_iter().flat_map(|first| both.map(|second| (first, second))) {
        queries.push((format!("orders, market {first}, status {second}"), orders_sql(first, second)));
        queries.push((format!("fills, taker {first}, market {second}"), fills_sql(first, second)));
    }
    both.iter().for_each(|&oldest| queries.push((format!("candles, oldest {oldest}"), candles_sql(oldest))));
    queries.push(("trades".to_string(), trades_sql()));
    queries.push(("balances".to_string(), BALANCES_SQL.to_string()));
    queries.push(("credits".to_string(), CREDITS_SQL.to_string()));
    let mut plans = Vec::new();
    for (name, sql) in queries {
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
        // Parameters stay unbound: a plan does not depend on them.
        let mut steps = explain.raw_query();
        let mut plan = Vec::new();
        while let Some(step) = steps.next()? {
            plan.push(step.get::<_, String>(3)?);
        }
        plans.push((name, plan.join("; ")));
    }
    Ok(plans)
}

pub(super) struct Reader {
    connection: Connection,
    path: PathBuf,
    order: String,
    orders: [[String; 2]; 2],
    fills: [[String; 2]; 2],
    trades: String,
    candles: [String; 2],
}

impl Reader {
    pub(super) fn new(connection: Connection, path: PathBuf) -> Reader {
        let both = [false, true];
        Reader {
            connection,
            path,
            order: format!("SELECT {ORDER_COLUMNS} FROM orders WHERE id = ?1 AND sequence <= ?2"),
            orders: both.map(|market| both.map(|status| orders_sql(market, status))),
            fills: both.map(|is_taker| both.map(|market| fills_sql(is_taker, market))),
            trades: trades_sql(),
            candles: both.map(candles_sql),
        }
    }

    fn failed(&self, what: &'static str, error: rusqlite::Error) -> ArchiveError {
        match error {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..) => {
                let place = self.path.display().to_string();
                ArchiveError::Row { what, place, reason: error.to_string() }
            }
            error => super::failed(&self.path, "read from", error),
        }
    }

    fn list<T>(
        &self,
        what: &'static str,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
        rows: &mut Vec<T>,
    ) -> Result<(), ArchiveError> {
        let run = || -> rusqlite::Result<()> {
            let mut query = self.connection.prepare_cached(sql)?;
            for row in query.query_map(params, read)? {
                rows.push(row?);
            }
            Ok(())
        };
        run().map_err(|error| self.failed(what, error))
    }
}

impl ArchiveReader for Reader {
    fn mark(&mut self) -> Result<Mark, ArchiveError> {
        let read = |row: &Row<'_>| Ok(Mark { sequence: unsigned(row, 0)?, time_ns: row.get(1)? });
        let found = self.connection.query_row("SELECT sequence, time_ns FROM meta", [], read);
        found.map_err(|error| self.failed("the mark", error))
    }

    fn rows(&mut self) -> Result<u64, ArchiveError> {
        let sql = "SELECT (SELECT count(*) FROM orders) + (SELECT count(*) FROM trades) + \
                   (SELECT count(*) FROM balances) + (SELECT count(*) FROM credits) + (SELECT count(*) FROM candles)";
        let found = self.connection.query_row(sql, [], |row| unsigned(row, 0));
        found.map_err(|error| self.failed("the number of rows", error))
    }

    fn order(&mut self, order: OrderId, through: Sequence) -> Result<Option<OrderRow>, ArchiveError> {
        let run = || {
            let mut query = self.connection.prepare_cached(&self.order)?;
            query.query_row(params![bound(order), bound(through)], order_row).optional()
        };
        run().map_err(|error| self.failed("an order", error))
    }

    fn orders(&mut self, asked: &OrdersAsked, rows: &mut Vec<OrderRow>) -> Result<(), ArchiveError> {
        let sql = &self.orders[usize::from(asked.market.is_some())][usize::from(asked.status.is_some())];
        let (before, through, limit) = (bound(asked.before), bound(asked.through), bound(asked.limit as u64));
        let Seconds { start, end } = asked.created;
        let account = asked.account;
        match (asked.market, asked.status.map(|status| status as u8)) {
            (None, None) => {
                let params = named_params! {":account": account, ":start": start, ":end": end, ":before": before,
                ":through": through, ":limit": limit};
                self.list("an order", sql, params, order_row, rows)
            }
            (Some(market), None) => {
                let params = named_params! {":account": account, ":market": market, ":start": start, ":end": end,
                ":before": before, ":through": through, ":limit": limit};
                self.list("an order", sql, params, order_row, rows)
            }
            (None, Some(status)) => {
                let params = named_params! {":account": account, ":status": status, ":start": start, ":end": end,
                ":before": before, ":through": through, ":limit": limit};
                self.list("an order", sql, params, order_row, rows)
            }
            (Some(market), Some(status)) => {
                let params = named_params! {":account": account, ":market": market, ":status": status,
                ":start": start, ":end": end, ":before": before, ":through": through, ":limit": limit};
                self.list("an order", sql, params, order_row, rows)
            }
        }
    }

    fn fills(&mut self, asked: &FillsAsked, rows: &mut Vec<FillRow>) -> Result<(), ArchiveError> {
        let (through, limit) = (bound(asked.through), bound(asked.limit as u64));
        let Seconds { start, end } = asked.time;
        let account = asked.account;
        let mut found = Vec::new();
        for is_taker in [false, true] {
            let sql = &self.fills[usize::from(is_taker)][usize::from(asked.market.is_some())];
            let read = |row: &Row<'_>| Ok(FillRow { trade: trade_row(row)?, is_taker });
            match asked.market {
                None => {
                    let params = named_params! {":account": account, ":start": start, ":end": end,
                    ":through": through, ":limit": limit};
                    self.list("a trade", sql, params, read, &mut found)?;
                }
                Some(market) => {
                    let params = named_params! {":account": account, ":market": market, ":start": start,
                    ":end": end, ":through": through, ":limit": limit};
                    self.list("a trade", sql, params, read, &mut found)?;
                }
            }
        }
        // Trades of one command are of one market, so that their ids tell their order.
        found.sort_unstable_by_key(|fill| (fill.trade.sequence, fill.trade.trade, fill.is_taker));
        rows.extend(found.into_iter().rev().take(asked.limit));
        Ok(())
    }

    fn trades(
        &mut self,
        market: MarketId,
        through: Sequence,
        limit: usize,
        rows: &mut Vec<TradeRow>,
    ) -> Result<(), ArchiveError> {
        let (first, last) = (trade_key(market, 0), trade_key(market, (1 << 43) - 1));
        let params = params![first, last, bound(through), bound(limit as u64)];
        self.list("a trade", &self.trades, params, trade_row, rows)
    }

    fn candles(&mut self, asked: &CandlesAsked, rows: &mut Vec<CandleRow>) -> Result<(), ArchiveError> {
        let sql = &self.candles[usize::from(asked.oldest)];
        let before = rows.len();
        let params = named_params! {":market": asked.market, ":interval": asked.interval_s,
        ":start": asked.open.start, ":end": asked.open.end, ":through": bound(asked.through),
        ":limit": bound(asked.limit as u64)};
        self.list("a candle", sql, params, candle_row, rows)?;
        if !asked.oldest {
            rows[before..].reverse();
        }
        Ok(())
    }

    fn balances(
        &mut self,
        account: AccountId,
        time: Seconds,
        through: Sequence,
        limit: usize,
        rows: &mut Vec<BalanceChange>,
    ) -> Result<(), ArchiveError> {
        let params = params![account, time.start, time.end, bound(through), bound(limit as u64)];
        self.list("a change of a balance", BALANCES_SQL, params, balance_row, rows)
    }

    fn credits(
        &mut self,
        through: Sequence,
        limit: usize,
        rows: &mut Vec<CreditRow>,
    ) -> Result<(), ArchiveError> {
        self.list("a credit", CREDITS_SQL, params![bound(through), bound(limit as u64)], credit_row, rows)
    }
}

fn order_row(row: &Row<'_>) -> rusqlite::Result<OrderRow> {
    let created_ns = time(row, 14)?;
    let reject: u16 = row.get(8)?;
    Ok(OrderRow {
        order: unsigned(row, 0)?,
        sequence: unsigned(row, 1)?,
        account: row.get(2)?,
        market: row.get(3)?,
        status: code(row, 4, OrderStatus::from_code)?,
        side: code(row, 5, Side::from_code)?,
        order_type: code(row, 6, OrderType::from_code)?,
        time_in_force: code(row, 7, TimeInForce::from_code)?,
        reject: Reject::from_code(reject),
        price: row.get(9)?,
        quantity: row.get(10)?,
        filled: row.get(11)?,
        quote_quantity: row.get::<_, Wide>(12)?.0,
        traded: row.get::<_, Wide>(13)?.0,
        created_ns,
        updated_ns: created_ns.wrapping_add(row.get(16)?),
    })
}

fn trade_row(row: &Row<'_>) -> rusqlite::Result<TradeRow> {
    Ok(TradeRow {
        trade: trade_of_key(row.get(0)?),
        sequence: unsigned(row, 1)?,
        market: row.get(2)?,
        taker_side: code(row, 3, Side::from_code)?,
        price: row.get(4)?,
        quantity: row.get(5)?,
        maker_order: unsigned(row, 6)?,
        taker_order: unsigned(row, 7)?,
        maker_account: row.get(8)?,
        taker_account: row.get(9)?,
        maker_fee: row.get::<_, Wide>(10)?.0,
        taker_fee: row.get::<_, Wide>(11)?.0,
        time_ns: time(row, 12)?,
    })
}

fn balance_row(row: &Row<'_>) -> rusqlite::Result<BalanceChange> {
    Ok(BalanceChange {
        sequence: unsigned(row, 0)?,
        time_ns: time(row, 1)?,
        account: row.get(3)?,
        asset: row.get(4)?,
        available: row.get::<_, Wide>(5)?.0,
        frozen: row.get::<_, Wide>(6)?.0,
    })
}

fn credit_row(row: &Row<'_>) -> rusqlite::Result<CreditRow> {
    Ok(CreditRow {
        sequence: unsigned(row, 0)?,
        time_ns: row.get(1)?,
        account: row.get(2)?,
        asset: row.get(3)?,
        amount: row.get::<_, Wide>(4)?.0,
        reason: row.get(5)?,
    })
}

fn candle_row(row: &Row<'_>) -> rusqlite::Result<CandleRow> {
    Ok(CandleRow {
        market: row.get(0)?,
        interval_s: row.get(1)?,
        open_s: row.get(2)?,
        sequence: unsigned(row, 3)?,
        open: row.get(4)?,
        high: row.get(5)?,
        low: row.get(6)?,
        close: row.get(7)?,
        volume: row.get::<_, Wide>(8)?.0,
        quote_volume: row.get::<_, Wide>(9)?.0,
        trades: unsigned(row, 10)?,
    })
}

/// A time from its second in column `index` and the rest in the one behind.
fn time(row: &Row<'_>, index: usize) -> rusqlite::Result<i64> {
    let (second, rest): (i64, i64) = (row.get(index)?, row.get(index + 1)?);
    Ok(second.wrapping_mul(1_000_000_000).wrapping_add(rest))
}

/// A sequence, an id or a count.
fn unsigned(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(index)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(index, value))
}

/// A code of one of the core's lists.
fn code<T>(row: &Row<'_>, index: usize, from: impl FnOnce(u8) -> Option<T>) -> rusqlite::Result<T> {
    let code: u8 = row.get(index)?;
    from(code).ok_or_else(|| {
        let reason = format!("code {code} is unknown");
        rusqlite::Error::FromSqlConversionFailure(index, Type::Integer, reason.into())
    })
}
