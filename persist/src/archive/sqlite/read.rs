//! Queries. Each names the index that answers it, so that the planner cannot take a worse one however its statistics look;
//! a query whose index were gone would fail to prepare.

use super::super::row::{BalanceChange, CandleRow, CreditRow, Entry, FillRow, OrderRow, TradeRow};
use super::super::{
    ArchiveError, ArchiveReader, CandlesAsked, EntriesAsked, FillsAsked, Looked, Mark, OrdersAsked, Passed,
    Seconds,
};
use super::column::{code, time, unsigned};
use super::entries::heads::Queries;
use super::entries::{FacetsOf, walk};
use super::pack;
use super::value::{Wide, bound, seconds, trade_key, trade_of_key};
use ringside_core::command::{OrderStatus, OrderType, Side, TimeInForce};
use ringside_core::ids::{AccountId, MarketId, OrderId, Sequence};
use ringside_core::reject::Reject;
use rusqlite::{Connection, OptionalExtension, Params, Row, named_params, params};
use std::ops::ControlFlow;
use std::path::PathBuf;

const ORDER_COLUMNS: &str = "id, sequence, account, market, status, side, type, tif, reject, price, quantity, \
                             filled, quote_quantity, traded, created_s, created_rest, lasted";
pub(super) const TRADE_COLUMNS: &str = "key, sequence, market, taker_side, price, quantity, maker_order, taker_order, \
                             maker_account, taker_account, maker_fee, taker_fee, time_s, time_rest";
const CANDLE_COLUMNS: &str =
    "market, interval_s, open_s, sequence, open, high, low, close, volume, quote_volume, trades";

/// The SQL of a list of orders. Without a status it is merged of the lists of each, all in the same order.
fn orders_sql(has_market: bool, has_status: bool) -> String {
    let (index, filter) = match has_market {
        false => ("orders_status", ""),
        true => ("orders_market_status", "AND market = :market "),
    };
    let list = |status: &str| {
        format!(
            "SELECT {ORDER_COLUMNS} FROM orders INDEXED BY {index} WHERE account = :account {filter}\
             AND status = {status} AND created_s BETWEEN :start AND :end AND id < :before AND sequence <= :through"
        )
    };
    let lists = match has_status {
        true => list(":status"),
        false => {
            let ended = OrderStatus::ALL.iter().filter(|status| !status.is_resting());
            let lists: Vec<String> = ended.map(|status| list(&(*status as u8).to_string())).collect();
            lists.join(" UNION ALL ")
        }
    };
    format!("{lists} ORDER BY created_s DESC, id DESC LIMIT :limit")
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

/// The SQL of the rows of a packed list, newest first.
fn packed_sql(table: &str) -> String {
    format!(
        "SELECT entries, version FROM {table} INDEXED BY {table}_of WHERE account = ?1 AND market = ?2 \
         AND first_s <= ?3 AND last_s >= ?4 AND sequence <= ?5 ORDER BY first_s DESC, number DESC"
    )
}

const CREDITS_SQL: &str = "SELECT sequence, time_ns, account, asset, amount, reason \
    FROM credits WHERE sequence <= ?1 ORDER BY number DESC LIMIT ?2";

/// What the database would do for each list query.
pub(super) fn plans(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let both = [false, true];
    let mut queries = Vec::new();
    for (first, second) in both.into_iter().flat_map(|first| both.map(|second| (first, second))) {
        queries.push((format!("orders, market {first}, status {second}"), orders_sql(first, second)));
    }
    both.iter().for_each(|&oldest| queries.push((format!("candles, oldest {oldest}"), candles_sql(oldest))));
    queries.push(("trades".to_string(), trades_sql()));
    ["fills", "balances"].iter().for_each(|&table| queries.push((table.to_string(), packed_sql(table))));
    queries.extend(Queries::new(|_| None).named());
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
    trade: String,
    fills: String,
    balances: String,
    trades: String,
    candles: [String; 2],
    entries: Queries,
}

impl Reader {
    pub(super) fn new(connection: Connection, path: PathBuf, facets: FacetsOf) -> Reader {
        let both = [false, true];
        Reader {
            connection,
            path,
            order: format!("SELECT {ORDER_COLUMNS} FROM orders WHERE id = ?1 AND sequence <= ?2"),
            orders: both.map(|market| both.map(|status| orders_sql(market, status))),
            trade: format!("SELECT {TRADE_COLUMNS} FROM trades WHERE key = ?1"),
            fills: packed_sql("fills"),
            balances: packed_sql("balances"),
            trades: trades_sql(),
            candles: both.map(candles_sql),
            entries: Queries::new(facets),
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

    /// Gives the rows of a packed list to `take`, newest first, for as long as it wants more.
    fn packed(
        &self,
        sql: &str,
        list: impl Params,
        mut take: impl FnMut(u16, &[u8]) -> rusqlite::Result<ControlFlow<()>>,
    ) -> rusqlite::Result<()> {
        let mut query = self.connection.prepare_cached(sql)?;
        let mut found = query.query(list)?;
        while let Some(row) = found.next()? {
            if take(row.get(1)?, row.get_ref(0)?.as_blob()?)?.is_break() {
                break;
            }
        }
        Ok(())
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
                   (SELECT count(*) FROM credits) + (SELECT count(*) FROM candles) + \
                   (SELECT coalesce(sum(count), 0) FROM packs)";
        let balances = "SELECT version, sum(length(entries)) FROM balances GROUP BY version";
        let run = || -> rusqlite::Result<u64> {
            let mut count = self.connection.query_row(sql, [], |row| unsigned(row, 0))?;
            let mut query = self.connection.prepare(balances)?;
            let mut found = query.query([])?;
            while let Some(row) = found.next()? {
                count += pack::BALANCES.count(row.get(0)?, unsigned(row, 1)? as usize)? as u64;
            }
            Ok(count)
        };
        run().map_err(|error| self.failed("the number of rows", error))
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
        let mut run = || -> rusqlite::Result<()> {
            let market = asked.market.map_or(pack::ALL, i64::from);
            let Seconds { start, end } = asked.time;
            let list = params![asked.account, market, end, start, bound(asked.through)];
            let (mut trade, mut left) = (self.connection.prepare_cached(&self.trade)?, asked.limit);
            self.packed(&self.fills, list, |version, bytes| {
                for fill in pack::fills(version, bytes)?.rev() {
                    if fill.second < start || left == 0 {
                        return Ok(ControlFlow::Break(()));
                    }
                    if fill.second <= end && fill.sequence <= asked.through {
                        let trade = trade.query_row([fill.key], trade_row)?;
                        rows.push(FillRow { trade, is_taker: fill.is_taker });
                        left -= 1;
                    }
                }
                Ok(ControlFlow::Continue(()))
            })
        };
        run().map_err(|error| self.failed("a fill", error))
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
        let mut run = || -> rusqlite::Result<()> {
            let Seconds { start, end } = time;
            let list = params![account, pack::ALL, end, start, bound(through)];
            let mut left = limit;
            self.packed(&self.balances, list, |version, bytes| {
                for change in pack::balances(account, version, bytes)?.rev() {
                    let second = seconds(change.time_ns);
                    if second < start || left == 0 {
                        return Ok(ControlFlow::Break(()));
                    }
                    if second <= end && change.sequence <= through {
                        rows.push(change);
                        left -= 1;
                    }
                }
                Ok(ControlFlow::Continue(()))
            })
        };
        run().map_err(|error| self.failed("a change of a balance", error))
    }

    fn entries(&mut self, asked: &EntriesAsked, rows: &mut Vec<Entry>) -> Result<Looked, ArchiveError> {
        let listed = walk::list(&self.connection, &self.entries, asked, rows);
        listed.map_err(|error| self.failed("an entry", error))
    }

    fn pass_entries(
        &mut self,
        asked: &EntriesAsked,
        beside: &[i64],
        most: u64,
    ) -> Result<Passed, ArchiveError> {
        let passed = walk::pass(&self.connection, &self.entries, asked, beside, most);
        passed.map_err(|error| self.failed("a number of entries", error))
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

pub(super) fn trade_row(row: &Row<'_>) -> rusqlite::Result<TradeRow> {
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
