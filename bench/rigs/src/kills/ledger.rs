//! After a restart: whether the perpetual venue still says what it had answered, and nothing that nobody asked for.
//!
//! Worked out here from the trader's own orders and the account's own trades, by the rules of `risk.md` 4 and 9 with
//! arithmetic of its own: quantities by order, position and cost, profit and fee of every fill, fee tier by volume, the
//! wallet to the micro.

use super::DOUBTFUL;
use super::futures::{CREDIT, Form, FuturesTrader, Known, OrderRow, SYMBOL, steps};
use anyhow::{Context, Result, ensure};
use ringside_load::connection::Connection;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Rows that one request for a list can show.
const ROWS_MAX: usize = 1_000;
/// Micro-quote of a whole unit.
const USDT: i128 = 1_000_000;
/// Traded value over 14 days, micro-quote, and the rates from it on, 10^-8: maker, taker. As shipped (`account.md` 3).
const TIERS: [(i128, i128, i128); 4] = [
    (0, 20_000, 50_000),
    (1_000_000 * USDT, 18_000, 45_000),
    (5_000_000 * USDT, 15_000, 40_000),
    (20_000_000 * USDT, 12_000, 35_000),
];

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FillRow {
    id: u64,
    order_id: u64,
    price: String,
    qty: String,
    realized_pnl: String,
    commission: String,
    buyer: bool,
    maker: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BalanceRow {
    cross_wallet_balance: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PositionRow {
    position_amt: String,
}

#[derive(Deserialize)]
struct IncomeRow {
    income: String,
}

/// What an account's trades have come to.
#[derive(Clone, Debug, Default)]
struct Account {
    /// Traded quantity by order, 10^-8.
    filled: BTreeMap<u64, i64>,
    /// Position, 10^-8 base.
    quantity: i128,
    /// Its cost, micro-quote.
    cost: i128,
    /// Profit less fees, micro-quote.
    earned: i128,
    /// Traded value, micro-quote.
    volume: i128,
    /// The last trade seen.
    last: u64,
}

impl Account {
    /// Takes a fill in; its profit and its fee.
    fn fill(&mut self, is_buy: bool, is_maker: bool, quantity: i128, price: i128) -> (i128, i128) {
        let sign = if is_buy { 1 } else { -1 };
        let value = price * quantity / 10_000_000_000;
        let held = self.quantity.abs();
        let mut realised = 0;
        let mut opened = quantity;
        if self.quantity * sign < 0 {
            let closed = quantity.min(held);
            let worth = price * closed / 10_000_000_000;
            let removed = ceil_div(self.cost * closed, held);
            realised = -sign * worth - removed;
            self.cost -= removed;
            self.quantity += sign * closed;
            opened -= closed;
        }
        self.quantity += sign * opened;
        self.cost += sign * (price * opened / 10_000_000_000);
        let (_, maker, taker) =
            TIERS.into_iter().rev().find(|tier| self.volume >= tier.0).unwrap_or(TIERS[0]);
        let fee = ceil_div(value * if is_maker { maker } else { taker }, 100_000_000);
        self.volume += value;
        self.earned += realised - fee;
        (realised, fee)
    }
}

fn ceil_div(number: i128, by: i128) -> i128 {
    -(-number).div_euclid(by)
}

/// A trade as its two sides show it.
#[derive(Debug)]
struct Trade {
    price: String,
    quantity: String,
    /// The sides that were shown: the buyer's, the seller's; whether each was the maker.
    sides: [Option<bool>; 2],
}

/// What all audits so far have seen.
#[derive(Default)]
pub struct LedgerAudit {
    accounts: Vec<Account>,
    trades: BTreeMap<u64, Trade>,
    /// Trades up to this number were shown by both sides.
    pub trades_proven: u64,
    /// Orders compared.
    pub orders_compared: u64,
    /// Paid in fees so far, micro-quote.
    pub fees: i128,
}

impl LedgerAudit {
    /// Compares everything that may have changed since the last audit. The exchange is quiet.
    ///
    /// Errors: the first difference, as a sentence.
    pub async fn all(&mut self, connection: &mut Connection, traders: &mut [FuturesTrader]) -> Result<()> {
        self.accounts.resize_with(traders.len(), Account::default);
        for trader in traders.iter() {
            self.trades(connection, trader)
                .await
                .with_context(|| format!("futures trader {}", trader.number))?;
        }
        while let Some(trade) = self.trades.get(&(self.trades_proven + 1)) {
            let [Some(buyer), Some(seller)] = trade.sides else { break };
            ensure!(buyer != seller, "both sides or none of {trade:?} were the maker");
            self.trades_proven += 1;
            self.trades.remove(&self.trades_proven);
        }
        ensure!(
            self.trades.is_empty(),
            "of trade {} only one side or none is shown: {:?}",
            self.trades_proven + 1,
            self.trades.first_key_value()
        );
        for trader in traders.iter_mut() {
            let number = trader.number;
            self.account(connection, trader).await.with_context(|| format!("futures trader {number}"))?;
        }
        Ok(())
    }

    async fn trades(&mut self, connection: &mut Connection, trader: &FuturesTrader) -> Result<()> {
        let account = &mut self.accounts[trader.number as usize];
        loop {
            let params = format!("symbol={SYMBOL}&fromId={}&limit={ROWS_MAX}", account.last + 1);
            let rows: Vec<FillRow> = trader.ask(connection, "/v1/userTrades", &params).await?;
            let is_all = rows.len() < ROWS_MAX;
            for row in rows {
                ensure!(row.id > account.last, "trades are not in order: {row:?}");
                account.last = row.id;
                let order = trader.orders.get(&row.order_id);
                let order = order.with_context(|| format!("a trade of an unknown order: {row:?}"))?;
                ensure!(order.wish.is_buy == row.buyer, "ordered {order:?}, traded {row:?}");
                let (price, quantity) = (steps(&row.price)?, steps(&row.qty)?);
                *account.filled.entry(row.order_id).or_default() += i64::try_from(quantity)?;
                let (realised, fee) = account.fill(row.buyer, row.maker, quantity, price);
                self.fees += fee;
                // Micros, with two decimals more on the wire.
                let shown = (steps(&row.realized_pnl)?, steps(&row.commission)?);
                ensure!(
                    shown == (realised * 100, fee * 100),
                    "a profit of {realised} and a fee of {fee} were expected: {row:?}"
                );
                let first = Trade { price: row.price.clone(), quantity: row.qty.clone(), sides: [None; 2] };
                let trade = self.trades.entry(row.id).or_insert(first);
                let side = &mut trade.sides[usize::from(!row.buyer)];
                ensure!(side.is_none(), "one side of a trade was shown twice: {row:?}");
                *side = Some(row.maker);
                ensure!(
                    trade.price == row.price && trade.quantity == row.qty && row.id > self.trades_proven,
                    "two sides of one trade differ: {row:?} {trade:?}"
                );
            }
            if is_all {
                return Ok(());
            }
        }
    }

    async fn account(&mut self, connection: &mut Connection, trader: &mut FuturesTrader) -> Result<()> {
        let account = &self.accounts[trader.number as usize];
        let params = format!("symbol={SYMBOL}");
        let open: Vec<OrderRow> = trader.ask(connection, "/v1/openOrders", &params).await?;
        let mut rows: BTreeMap<u64, OrderRow> = open.into_iter().map(|row| (row.order_id, row)).collect();
        if let Some(id) = rows.keys().find(|id| !trader.orders.contains_key(*id)) {
            anyhow::bail!("order {id} belongs to no acknowledged request: {:?}", rows[id]);
        }
        let ask: BTreeSet<u64> = trader.fresh.iter().chain(&trader.open).copied().collect();
        for id in &ask {
            let row = match rows.remove(id) {
                Some(row) => row,
                None => {
                    let params = format!("symbol={SYMBOL}&orderId={id}");
                    let row = trader.ask(connection, "/v1/order", &params).await;
                    row.context("an acknowledged order is lost")?
                }
            };
            let known = trader.orders.get_mut(id).context("only known orders are asked for")?;
            compare(known, &row, account.filled.get(id).copied().unwrap_or(0))?;
            if known.status == DOUBTFUL {
                trader.open.push(*id);
            }
            known.status.clone_from(&row.status);
            self.orders_compared += 1;
        }
        ensure!(rows.is_empty(), "orders that had ended are open: {rows:?}");
        trader.fresh.clear();
        let orders = &trader.orders;
        trader.open.retain(|id| orders[id].is_open());

        let positions: Vec<PositionRow> = trader.ask(connection, "/v2/positionRisk", &params).await?;
        let position = positions.first().context("no row of the symbol")?;
        ensure!(
            steps(&position.position_amt)? == account.quantity,
            "its trades come to a position of {}, shown is {}",
            account.quantity,
            position.position_amt
        );
        // An hour may have ended during the run.
        let params = format!("symbol={SYMBOL}&incomeType=FUNDING_FEE&limit={ROWS_MAX}");
        let funding: Vec<IncomeRow> = trader.ask(connection, "/v1/income", &params).await?;
        let mut wallet = (CREDIT * USDT + account.earned) * 100;
        for row in &funding {
            wallet += steps(&row.income)?;
        }
        let balances: Vec<BalanceRow> = trader.ask(connection, "/v2/balance", "limit=1").await?;
        let shown = &balances.first().context("no balance")?.cross_wallet_balance;
        ensure!(
            steps(shown)? == wallet,
            "its trades come to a wallet of {wallet} x 10^-8, shown is {shown}, with {} funding payments",
            funding.len()
        );
        Ok(())
    }
}

/// Whether a row says what was ordered, what was traded of it, and what was answered about it.
fn compare(known: &Known, row: &OrderRow, filled: i64) -> Result<()> {
    let wish = &known.wish;
    let (limit, stop) = match wish.form {
        Form::Limit(_) => (wish.price, 0),
        Form::Market => (0, 0),
        Form::Stop => (0, wish.price),
    };
    let is_as_ordered = (row.side == "BUY") == wish.is_buy
        && steps(&row.price)? == limit.into()
        && steps(&row.stop_price)? == stop.into()
        && steps(&row.orig_qty)? == wish.quantity.into()
        && row.client_order_id == wish.name();
    ensure!(is_as_ordered, "ordered {wish:?}, shown {row:?}");
    ensure!(
        steps(&row.executed_qty)? == filled.into() && filled >= known.filled,
        "its own trades come to {filled}, answered was {}, shown {row:?}",
        known.filled
    );
    let is_whole = filled == wish.quantity;
    let may_be: &[&str] = match known.status.as_str() {
        "NEW" | "PARTIALLY_FILLED" if is_whole => &["FILLED"],
        "NEW" | "PARTIALLY_FILLED" if filled > 0 => &["PARTIALLY_FILLED"],
        "NEW" => &["NEW"],
        "FILLED" if is_whole => &["FILLED"],
        "CANCELED" if !is_whole => &["CANCELED"],
        "EXPIRED" if !is_whole => &["EXPIRED"],
        "EXPIRED_IN_MATCH" if !is_whole => &["EXPIRED_IN_MATCH"],
        "ended" if is_whole => &["FILLED"],
        "ended" => &["CANCELED"],
        DOUBTFUL if is_whole => &["FILLED"],
        DOUBTFUL if filled > 0 => &["PARTIALLY_FILLED", "CANCELED"],
        DOUBTFUL => &["NEW", "CANCELED"],
        _ => &[],
    };
    ensure!(may_be.contains(&row.status.as_str()), "answered {known:?}, shown {row:?}");
    Ok(())
}
