//! After a restart: whether the exchange still says what it had answered, and nothing that nobody asked for.
//!
//! Worked out here from the trader's own orders and the account's own trades, with arithmetic of its own: quantities by
//! order, fees by role, both balances and what is frozen of them.

use super::trader::{Known, Trader};
use super::{
    AMOUNT_DECIMALS, CREDIT, DOUBTFUL, MAKER_FEE_BPS, PRICE_DECIMALS, QUANTITY_DECIMALS, SYMBOL,
    TAKER_FEE_BPS, UNIT,
};
use anyhow::{Context, Result, ensure};
use ringside_load::api::{self, OrderAnswer, OwnTrade};
use ringside_load::connection::Connection;
use ringside_load::decimal::{decimal, parse_decimal};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Rows that one request for a list can show.
const ROWS_MAX: usize = 200;
/// Amount of one step of a price times one step of a quantity.
const STEP_VALUE: i128 = 10i128.pow(AMOUNT_DECIMALS - PRICE_DECIMALS - QUANTITY_DECIMALS);
/// Amount of one step of a quantity.
const STEP_QUANTITY: i128 = 10i128.pow(AMOUNT_DECIMALS - QUANTITY_DECIMALS);

#[derive(Deserialize)]
struct BalanceRow {
    token: String,
    available: String,
    frozen: String,
}

/// What an account's trades have come to.
#[derive(Clone, Debug, Default)]
struct Account {
    /// Traded quantity by order, steps.
    filled: BTreeMap<String, i64>,
    /// Change of the base balance by trades.
    base: i128,
    /// Change of the quote balance by trades.
    quote: i128,
    seen: BTreeSet<(u64, bool)>,
}

/// A trade as its two sides show it.
#[derive(Clone, Debug)]
struct Trade {
    price: String,
    quantity: String,
    sides: usize,
}

/// What all audits so far have seen.
#[derive(Default)]
pub struct Audit {
    accounts: Vec<Account>,
    trades: BTreeMap<u64, Trade>,
    /// Trades up to this number were shown by both sides.
    pub trades_proven: u64,
    /// Paid in fees so far: base, quote.
    pub fees: (i128, i128),
    /// Orders compared.
    pub orders_compared: u64,
    /// Second in which the last audit began.
    since_s: u64,
}

impl Audit {
    /// Compares everything that may have changed since the last audit. The exchange is quiet.
    ///
    /// Errors: the first difference, as a sentence.
    pub async fn all(
        &mut self,
        connection: &mut Connection,
        traders: &mut [Trader],
        now_s: u64,
    ) -> Result<()> {
        self.accounts.resize_with(traders.len(), Account::default);
        for trader in traders.iter_mut() {
            self.trades(connection, trader).await.with_context(|| format!("trader {}", trader.number))?;
        }
        while self.trades.get(&(self.trades_proven + 1)).is_some_and(|trade| trade.sides == 2) {
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
            self.account(connection, trader).await.with_context(|| format!("trader {}", trader.number))?;
        }
        self.since_s = now_s;
        Ok(())
    }

    async fn trades(&mut self, connection: &mut Connection, trader: &Trader) -> Result<()> {
        let path = format!("/spot/trades/me?limit={ROWS_MAX}&start={}", self.since_s);
        let rows: Vec<OwnTrade> =
            api::ask(connection, &api::request("GET", &path, &trader.key, None)).await?;
        ensure!(rows.len() < ROWS_MAX, "more trades in one cycle than can be seen: strike earlier");
        let account = &mut self.accounts[trader.number as usize];
        for row in rows {
            let number: u64 = row.trade_id.parse()?;
            let is_maker = row.role == "maker";
            if !account.seen.insert((number, is_maker)) {
                continue;
            }
            let order = trader.orders.get(&row.order_id);
            let order = order.with_context(|| format!("a trade of an unknown order: {row:?}"))?;
            let price = steps(&row.price, PRICE_DECIMALS)?;
            let quantity = steps(&row.quantity, QUANTITY_DECIMALS)?;
            *account.filled.entry(row.order_id.clone()).or_default() += i64::try_from(quantity)?;
            let value = price * quantity * STEP_VALUE;
            let bps = i128::from(if is_maker { MAKER_FEE_BPS } else { TAKER_FEE_BPS });
            let received = if order.wish.is_buy { quantity * STEP_QUANTITY } else { value };
            let fee = received * bps / 10_000;
            ensure!(steps(&row.fee, AMOUNT_DECIMALS)? == fee, "a fee of {fee} was expected: {row:?}");
            if order.wish.is_buy {
                account.base += received - fee;
                account.quote -= value;
                self.fees.0 += fee;
            } else {
                account.quote += received - fee;
                account.base -= quantity * STEP_QUANTITY;
                self.fees.1 += fee;
            }
            ensure!(number > self.trades_proven, "both sides of a trade were shown before: {row:?}");
            let first = Trade { price: row.price.clone(), quantity: row.quantity.clone(), sides: 0 };
            let trade = self.trades.entry(number).or_insert(first);
            trade.sides += 1;
            ensure!(
                trade.price == row.price && trade.quantity == row.quantity && trade.sides <= 2,
                "two sides of one trade differ: {row:?} {trade:?}"
            );
        }
        let proven = self.trades_proven;
        account.seen.retain(|(number, _)| *number + 100_000 > proven);
        Ok(())
    }

    async fn account(&mut self, connection: &mut Connection, trader: &mut Trader) -> Result<()> {
        let mut rows: BTreeMap<String, OrderAnswer> = BTreeMap::new();
        for filter in
            [format!("start={}", self.since_s), "status=open".into(), "status=partially_filled".into()]
        {
            let path = format!("/spot/orders?symbol={SYMBOL}&limit={ROWS_MAX}&{filter}");
            let list: Vec<OrderAnswer> =
                api::ask(connection, &api::request("GET", &path, &trader.key, None)).await?;
            ensure!(list.len() < ROWS_MAX, "more orders in one cycle than can be seen: strike earlier");
            rows.extend(list.into_iter().map(|row| (row.id.clone(), row)));
        }
        if let Some(id) = rows.keys().find(|id| !trader.orders.contains_key(*id)) {
            anyhow::bail!("order {id} belongs to no acknowledged request: {:?}", rows[id]);
        }
        let ask: BTreeSet<String> = trader.fresh.drain(..).chain(trader.resting.iter().cloned()).collect();
        let (mut frozen_base, mut frozen_quote) = (0i128, 0i128);
        for id in &ask {
            let row = match rows.remove(id) {
                Some(row) => row,
                None => {
                    let request = api::request("GET", &format!("/spot/orders/{id}"), &trader.key, None);
                    api::ask(connection, &request).await.context("an acknowledged order is lost")?
                }
            };
            let known = trader.orders.get_mut(id).context("only known orders are asked for")?;
            let filled = self.accounts[trader.number as usize].filled.get(id).copied().unwrap_or(0);
            compare(known, &row, filled)?;
            for fill in &known.fills {
                let number = fill.trade_id.parse()?;
                let is_kept = self.accounts[trader.number as usize].seen.contains(&(number, false));
                ensure!(is_kept, "an acknowledged fill is lost: {fill:?} of {id}");
            }
            known.fills.clear();
            self.orders_compared += 1;
            if known.status == DOUBTFUL {
                trader.resting.push(id.clone());
            }
            known.status.clone_from(&row.status);
            let rest = i128::from(known.wish.quantity - filled);
            match (known.may_rest(), known.wish.is_buy) {
                (true, true) => frozen_quote += i128::from(known.wish.price) * rest * STEP_VALUE,
                (true, false) => frozen_base += rest * STEP_QUANTITY,
                _ => {}
            }
        }
        // The rest were settled in an earlier audit and are listed again because they are of the same second.
        for (id, row) in &rows {
            let known = &trader.orders[id];
            let filled = self.accounts[trader.number as usize].filled.get(id).copied().unwrap_or(0);
            compare(known, row, filled)?;
        }
        let orders = &trader.orders;
        trader.resting.retain(|id| orders[id].may_rest());
        let account = &self.accounts[trader.number as usize];
        let path = "/spot/balances";
        let balances: Vec<BalanceRow> =
            api::ask(connection, &api::request("GET", path, &trader.key, None)).await?;
        let expected = [
            (api::BASE_TOKEN, CREDIT * UNIT + account.base, frozen_base),
            (api::QUOTE_TOKEN, CREDIT * UNIT + account.quote, frozen_quote),
        ];
        for (token, total, frozen) in expected {
            let row = balances.iter().find(|row| row.token == token).context("a token is not shown")?;
            let shown = (steps(&row.available, AMOUNT_DECIMALS)?, steps(&row.frozen, AMOUNT_DECIMALS)?);
            ensure!(
                shown == (total - frozen, frozen),
                "{token}: available and frozen are {shown:?}, its orders and trades come to {:?}",
                (total - frozen, frozen)
            );
        }
        Ok(())
    }
}

/// Whether a row says what was ordered, what was traded of it, and what was answered about it.
fn compare(known: &Known, row: &OrderAnswer, filled: i64) -> Result<()> {
    let wish = &known.wish;
    let is_as_ordered = row.side == if wish.is_buy { "buy" } else { "sell" }
        && row.price.as_deref() == Some(wish.price_text().as_str())
        && row.quantity == wish.quantity_text();
    ensure!(is_as_ordered, "ordered {wish:?}, shown {row:?}");
    ensure!(
        row.filled_qty == decimal(filled, QUANTITY_DECIMALS),
        "its own trades come to {}, shown {row:?}",
        decimal(filled, QUANTITY_DECIMALS)
    );
    let may_be: &[&str] = match known.status.as_str() {
        "open" | "partially_filled" if filled == wish.quantity => &["filled"],
        "open" | "partially_filled" if filled > 0 => &["partially_filled"],
        "open" => &["open"],
        "filled" if filled == wish.quantity => &["filled"],
        "canceled" if filled < wish.quantity => &["canceled"],
        "rejected" if filled == 0 => &["rejected"],
        "ended" if filled == wish.quantity => &["filled"],
        "ended" => &["canceled"],
        DOUBTFUL if filled == wish.quantity => &["filled"],
        DOUBTFUL if filled > 0 => &["partially_filled", "canceled"],
        DOUBTFUL => &["open", "canceled"],
        _ => &[],
    };
    ensure!(may_be.contains(&row.status.as_str()), "answered {known:?}, shown {row:?}");
    Ok(())
}

fn steps(text: &str, decimals: u32) -> Result<i128> {
    parse_decimal(text, decimals).with_context(|| format!("`{text}` is no decimal"))
}
