//! The whole state of the exchange, read through its API while nothing is on the way, against what the answered steps
//! imply: book, open orders and balances of every account, own and public trades.

use super::cast::Cast;
use super::stage::{CREDIT, Stage, side_word};
use super::verdict::{AMOUNT_UNIT, Verdict, base_amount, fee, notional};
use crate::data::script::{Action, Checkpoint, ImpliedBook, Script};
use anyhow::{Context, Result, ensure};
use ringside_load::api::{
    BASE_TOKEN, BalanceAnswer, DepthAnswer, OrderAnswer, OwnTrade, PublicTrade, QUOTE_TOKEN, ask, request,
};
use ringside_load::connection::Connection;
use ringside_load::decimal::parse_decimal;
use std::collections::BTreeMap;

/// Rows that one request for an account's trades can show (`spot.md` 7).
pub const TRADES_MAX: u32 = 200;

/// Levels that one request for the book can show.
const DEPTH_MAX: usize = 1_000;

/// What the audit needs to know of the replay.
pub struct Audit<'a> {
    /// The session.
    pub script: &'a Script,
    /// Who placed what.
    pub cast: &'a Cast,
    /// Keys.
    pub stage: &'a Stage,
}

/// What was compared, for the report.
#[derive(Clone, Copy, Debug, Default)]
pub struct Audited {
    /// Levels.
    pub levels: usize,
    /// Open orders.
    pub orders: usize,
    /// Balances.
    pub balances: usize,
    /// Fills of which both accounts' trades told.
    pub fills: usize,
}

impl Audit<'_> {
    /// Compares the book with `book`, and with `recorded` levels (as many as there are) if given.
    pub async fn depth(
        &self,
        connection: &mut Connection,
        book: &ImpliedBook<'_>,
        recorded: Option<&Checkpoint>,
    ) -> Result<usize> {
        let path = format!("/spot/depth?symbol={}&limit={DEPTH_MAX}", self.script.symbol);
        let answer: DepthAnswer = ask(connection, &request("GET", &path, "", None)).await?;
        let mut levels = 0;
        for (is_buy, found) in [(true, &answer.bids), (false, &answer.asks)] {
            let found: Vec<(i64, i64)> = found
                .iter()
                .map(|(price, total)| {
                    let price = parse_decimal(price, self.script.price_decimals)?;
                    Some((price as i64, parse_decimal(total, self.script.quantity_decimals)? as i64))
                })
                .collect::<Option<_>>()
                .context("a level is not in the market's steps")?;
            let expected = book.depth(is_buy, DEPTH_MAX);
            ensure!(
                found == expected,
                "{} side of the book differs, first at {:?}",
                side_word(is_buy),
                found.iter().zip(&expected).find(|(found, expected)| found != expected)
            );
            if let Some(checkpoint) = recorded {
                let recorded = if is_buy { &checkpoint.bids } else { &checkpoint.asks };
                let found = &found[..recorded.len().min(found.len())];
                ensure!(found == recorded.as_slice(), "the book differs from the recorded {recorded:?}");
            }
            levels += found.len();
        }
        Ok(levels)
    }

    /// Compares everything, given which steps have been answered and that none is on the way.
    pub async fn all(
        &self,
        connection: &mut Connection,
        verdict: &mut Verdict<'_>,
        is_done: impl Fn(usize) -> bool,
    ) -> Result<Audited> {
        let script = self.script;
        let mut book = ImpliedBook::new(script);
        let mut fills = 0;
        for (_, step) in script.steps.iter().enumerate().filter(|(index, _)| is_done(*index)) {
            book.apply(step);
            // Trading steps are answered in order, so their fills are a prefix; others may have run ahead.
            if !step.fills.is_empty() {
                fills = step.fills.end as usize;
            }
        }
        let levels = self.depth(connection, &book, None).await?;
        for account in 0..self.cast.count {
            if verdict.unseen[account as usize] > 0 {
                let trades = self.own_trades(connection, account).await?;
                verdict.own_trades(account, &trades)?;
            }
        }
        ensure!(
            verdict.fills_proven() == fills && verdict.unseen.iter().all(|unseen| *unseen == 0),
            "the accounts' own trades do not show all {fills} fills: {}",
            verdict.unproven(fills)
        );
        self.public_trades(connection, verdict, fills).await?;
        let orders = self.open_orders(connection, verdict, &book).await?;
        let balances = self.balances(connection, &book, fills).await?;
        Ok(Audited { levels, orders, balances, fills })
    }

    /// The newest of an account's own trades.
    async fn own_trades(&self, connection: &mut Connection, account: u32) -> Result<Vec<OwnTrade>> {
        ask(connection, &self.own_trades_request(account)).await
    }

    /// The request for it.
    pub fn own_trades_request(&self, account: u32) -> Vec<u8> {
        let path = format!("/spot/trades/me?symbol={}&limit={TRADES_MAX}", self.script.symbol);
        request("GET", &path, &self.stage.keys[account as usize], None)
    }

    /// The newest public trades are the last of the fills, newest first.
    async fn public_trades(
        &self,
        connection: &mut Connection,
        verdict: &Verdict<'_>,
        fills: usize,
    ) -> Result<()> {
        let script = self.script;
        let path = format!("/spot/trades?symbol={}&limit=1000", script.symbol);
        let found: Vec<PublicTrade> = ask(connection, &request("GET", &path, "", None)).await?;
        ensure!(found.len() == fills.min(1_000), "{} public trades for {fills} fills", found.len());
        for (trade, at) in found.iter().zip((0..fills).rev()) {
            let fill = script.fills[at];
            let is_buy = script.orders[fill.taker as usize].is_buy;
            ensure!(
                trade.trade_id == verdict.trade_of(at).to_string()
                    && trade.side == side_word(is_buy)
                    && trade.price == script.price_text(script.price_of(&fill))
                    && trade.quantity == script.quantity_text(fill.quantity),
                "public trade {trade:?} is not fill {at}, {fill:?}"
            );
        }
        Ok(())
    }

    /// Every account's open orders are exactly the implied ones, with the implied fills.
    async fn open_orders(
        &self,
        connection: &mut Connection,
        verdict: &Verdict<'_>,
        book: &ImpliedBook<'_>,
    ) -> Result<usize> {
        let script = self.script;
        let mut found = 0;
        for account in 0..self.cast.count {
            for (status, is_touched) in [("open", false), ("partially_filled", true)] {
                let path = format!("/spot/orders?symbol={}&status={status}&limit=200", script.symbol);
                let key = &self.stage.keys[account as usize];
                let orders: Vec<OrderAnswer> = ask(connection, &request("GET", &path, key, None)).await?;
                for answer in orders {
                    let order =
                        verdict.order_of(&answer.id).context("an open order that was never answered")?;
                    let plan = script.orders[order as usize];
                    let filled = book.filled[order as usize];
                    ensure!(
                        self.cast.accounts[order as usize] == account
                            && book.open[order as usize] == plan.quantity - filled
                            && (filled > 0) == is_touched
                            && answer.side == side_word(plan.is_buy)
                            && answer.price.as_deref() == Some(&script.price_text(plan.price))
                            && answer.quantity == script.quantity_text(plan.quantity)
                            && answer.filled_qty == script.quantity_text(filled),
                        "order {order} of account {account} is {answer:?}"
                    );
                    found += 1;
                }
            }
        }
        let expected = book.open.iter().filter(|open| **open > 0).count();
        ensure!(found == expected, "{found} open orders instead of {expected}");
        Ok(found)
    }

    /// Every account's balances follow from its credits, its fills with their fees, and its open orders.
    async fn balances(
        &self,
        connection: &mut Connection,
        book: &ImpliedBook<'_>,
        fills: usize,
    ) -> Result<usize> {
        let script = self.script;
        let start = [CREDIT * AMOUNT_UNIT, 0, CREDIT * AMOUNT_UNIT, 0];
        // Base available, base frozen, quote available, quote frozen.
        let mut expected = vec![start; self.cast.count as usize];
        for fill in &script.fills[..fills] {
            let (base, quote) =
                (base_amount(script, fill.quantity), notional(script, script.price_of(fill), fill.quantity));
            for (order, is_maker) in [(fill.maker, true), (fill.taker, false)] {
                let account = &mut expected[self.cast.accounts[order as usize] as usize];
                let fee = fee(script, fill, is_maker);
                if script.orders[order as usize].is_buy {
                    account[0] += base - fee;
                    account[2] -= quote;
                } else {
                    account[0] -= base;
                    account[2] += quote - fee;
                }
            }
        }
        for (order, open) in book.open.iter().enumerate().filter(|(_, open)| **open > 0) {
            let plan = script.orders[order];
            let account = &mut expected[self.cast.accounts[order] as usize];
            let (amount, at) = if plan.is_buy {
                (notional(script, plan.price, *open), 2)
            } else {
                (base_amount(script, *open), 0)
            };
            account[at] -= amount;
            account[at + 1] += amount;
        }
        for (account, expected) in expected.iter().enumerate() {
            let request = request("GET", "/spot/balances", &self.stage.keys[account], None);
            let answer: Vec<BalanceAnswer> = ask(connection, &request).await?;
            let found: BTreeMap<&str, (Option<i128>, Option<i128>)> = answer
                .iter()
                .map(|row| {
                    (row.token.as_str(), (parse_decimal(&row.available, 18), parse_decimal(&row.frozen, 18)))
                })
                .collect();
            for (token, at) in [(BASE_TOKEN, 0), (QUOTE_TOKEN, 2)] {
                ensure!(
                    found.get(token) == Some(&(Some(expected[at]), Some(expected[at + 1]))),
                    "account {account} has {answer:?}, not {} and {} of {token}",
                    expected[at],
                    expected[at + 1]
                );
            }
        }
        Ok(2 * expected.len())
    }

    /// An order that a repeated cancel no longer found: it must have been canceled by the first, as expected.
    pub async fn canceled_before(&self, connection: &mut Connection, index: usize, id: &str) -> Result<()> {
        let step = &self.script.steps[index];
        ensure!(
            step.action == Action::Cancel && step.left > 0,
            "step {index} is no cancel that finds its order"
        );
        let answer: OrderAnswer =
            ask(connection, &self.stage.about_order(self.cast, "GET", step, id)).await?;
        let filled = self.script.orders[step.order as usize].quantity - step.left;
        ensure!(
            answer.status == "canceled" && answer.filled_qty == self.script.quantity_text(filled),
            "step {index}: the order is {answer:?}"
        );
        Ok(())
    }
}
