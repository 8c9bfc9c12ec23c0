//! Answers against expectations: each answer to a placing or canceling request, and each account's own trades, which
//! tell the maker of every fill.

use super::cast::Cast;
use super::stage::side_word;
use super::{MAKER_FEE_BPS, TAKER_FEE_BPS};
use crate::data::script::{Action, Fill, Script};
use anyhow::{Context, Result, bail, ensure};
use ringside_load::api::{ErrorAnswer, OrderAnswer, OwnTrade};
use ringside_load::decimal::parse_decimal;
use std::collections::HashMap;

/// 10^18: amounts are compared at the finest step that the API knows.
pub const AMOUNT_UNIT: i128 = 1_000_000_000_000_000_000;

/// What has been learnt so far.
pub struct Verdict<'a> {
    script: &'a Script,
    cast: &'a Cast,
    /// The exchange's id of each order that was answered.
    pub ids: Vec<Option<String>>,
    /// Order of each id.
    orders: HashMap<String, u32>,
    /// Number of the trade of each fill, 0 before it was answered.
    trades: Vec<u64>,
    fills: HashMap<u64, u32>,
    /// Bit 0: seen in the maker's trades, bit 1: in the taker's.
    seen: Vec<u8>,
    /// Answered fills that an account's trades have not yet shown, by account.
    pub unseen: Vec<u32>,
}

impl<'a> Verdict<'a> {
    /// Nothing learnt.
    pub fn new(script: &'a Script, cast: &'a Cast) -> Verdict<'a> {
        Verdict {
            script,
            cast,
            ids: vec![None; script.orders.len()],
            orders: HashMap::new(),
            trades: vec![0; script.fills.len()],
            fills: HashMap::new(),
            seen: vec![0; script.fills.len()],
            unseen: vec![0; cast.count as usize],
        }
    }

    /// Judges the answer to a step.
    pub fn step(&mut self, index: usize, status: u16, body: &[u8]) -> Result<()> {
        let text = || String::from_utf8_lossy(body).into_owned();
        let row = self.script.steps[index].row;
        let judged = match self.script.steps[index].action {
            Action::Place | Action::PlaceImmediate => self.placed(index, status, body),
            Action::Cancel => self.canceled(index, status, body),
        };
        judged.with_context(|| format!("step {index}, row {row}, answered {status} {}", text()))
    }

    fn placed(&mut self, index: usize, status: u16, body: &[u8]) -> Result<()> {
        let script = self.script;
        let step = &script.steps[index];
        ensure!(status == 200, "a place that must be taken was refused");
        let answer: OrderAnswer = serde_json::from_slice(body)?;
        let plan = script.orders[step.order as usize];
        let filled = plan.quantity - step.left;
        let state = match (step.action, step.left, filled) {
            (_, 0, _) => "filled",
            (Action::PlaceImmediate, ..) => "canceled",
            (_, _, 0) => "open",
            _ => "partially_filled",
        };
        ensure!(answer.status == state, "the order should be {state}");
        ensure!(answer.side == side_word(plan.is_buy), "the side differs");
        ensure!(answer.price.as_deref() == Some(&script.price_text(plan.price)), "the price differs");
        ensure!(answer.quantity == script.quantity_text(plan.quantity), "the quantity differs");
        ensure!(answer.filled_qty == script.quantity_text(filled), "{filled} should be filled");
        let expected = script.fills_of(step);
        ensure!(answer.fills.len() == expected.len(), "{} fills expected", expected.len());
        for (offset, (found, fill)) in answer.fills.iter().zip(expected).enumerate() {
            let at = step.fills.start as usize + offset;
            ensure!(
                found.price == script.price_text(script.price_of(fill)),
                "fill {offset}: the price differs"
            );
            ensure!(
                found.quantity == script.quantity_text(fill.quantity),
                "fill {offset}: the quantity differs"
            );
            let fee = fee(script, fill, false);
            ensure!(parse_decimal(&found.fee, 18) == Some(fee), "fill {offset}: the fee differs");
            let trade: u64 = found.trade_id.parse().context("a trade id is a number")?;
            let before = at.checked_sub(1).map_or(0, |before| self.trades[before]);
            ensure!(trade > before, "fill {offset}: its trade does not follow the one before");
            self.trades[at] = trade;
            self.fills.insert(trade, at as u32);
            for order in [fill.maker, fill.taker] {
                self.unseen[self.cast.accounts[order as usize] as usize] += 1;
            }
        }
        ensure!(self.orders.insert(answer.id.clone(), step.order).is_none(), "the id was used before");
        self.ids[step.order as usize] = Some(answer.id);
        Ok(())
    }

    fn canceled(&self, index: usize, status: u16, body: &[u8]) -> Result<()> {
        let step = &self.script.steps[index];
        if step.left == 0 {
            ensure!(status == 404, "the order had ended before");
            let answer: ErrorAnswer = serde_json::from_slice(body)?;
            ensure!(answer.error == "ORDER_NOT_FOUND", "another error");
            return Ok(());
        }
        ensure!(status == 200, "a cancel that must be taken was refused");
        let answer: OrderAnswer = serde_json::from_slice(body)?;
        let filled = self.script.orders[step.order as usize].quantity - step.left;
        ensure!(Some(&answer.id) == self.ids[step.order as usize].as_ref(), "the id differs");
        ensure!(answer.status == "canceled", "the order should be canceled");
        ensure!(answer.filled_qty == self.script.quantity_text(filled), "{filled} should be filled");
        Ok(())
    }

    /// Judges one account's own trades.
    pub fn own_trades(&mut self, account: u32, trades: &[OwnTrade]) -> Result<()> {
        for trade in trades {
            self.own_trade(account, trade).with_context(|| format!("account {account}, {trade:?}"))?;
        }
        Ok(())
    }

    fn own_trade(&mut self, account: u32, trade: &OwnTrade) -> Result<()> {
        let number: u64 = trade.trade_id.parse().context("a trade id is a number")?;
        // A fill whose answer is still on the way may already be shown.
        let Some(&at) = self.fills.get(&number) else { return Ok(()) };
        let fill = self.script.fills[at as usize];
        let (bit, expected, is_maker) = match trade.role.as_str() {
            "maker" => (1, fill.maker, true),
            "taker" => (2, fill.taker, false),
            _ => bail!("neither maker nor taker"),
        };
        let order = self.orders.get(&trade.order_id).copied();
        ensure!(order == Some(expected), "another order than the recorded {}", trade.role);
        ensure!(self.cast.accounts[expected as usize] == account, "an order of another account");
        ensure!(trade.price == self.script.price_text(self.script.price_of(&fill)), "the price differs");
        ensure!(trade.quantity == self.script.quantity_text(fill.quantity), "the quantity differs");
        let fee = fee(self.script, &fill, is_maker);
        ensure!(parse_decimal(&trade.fee, 18) == Some(fee), "the fee differs");
        if self.seen[at as usize] & bit == 0 {
            self.seen[at as usize] |= bit;
            self.unseen[account as usize] -= 1;
        }
        Ok(())
    }

    /// Fills of which both accounts' trades have told.
    pub fn fills_proven(&self) -> usize {
        self.seen.iter().filter(|seen| **seen == 3).count()
    }

    /// What is not yet proven of the first `fills` fills, for the reader of an error.
    pub fn unproven(&self, fills: usize) -> String {
        let missing: Vec<String> = (0..fills)
            .filter(|at| self.seen[*at] != 3)
            .map(|at| {
                let fill = self.script.fills[at];
                let account = |order: u32| self.cast.accounts[order as usize];
                format!(
                    "trade {}: maker's account {} {}, taker's account {} {}",
                    self.trades[at],
                    account(fill.maker),
                    if self.seen[at] & 1 == 0 { "does not show it" } else { "shows it" },
                    account(fill.taker),
                    if self.seen[at] & 2 == 0 { "does not show it" } else { "shows it" },
                )
            })
            .collect();
        format!("{} missing, first {:#?}", missing.len(), &missing[..missing.len().min(8)])
    }

    /// Number of the trade of a fill, 0 before it was answered.
    pub fn trade_of(&self, fill: usize) -> u64 {
        self.trades[fill]
    }

    /// The order of an id.
    pub fn order_of(&self, id: &str) -> Option<u32> {
        self.orders.get(id).copied()
    }
}

/// Quote amount of a fill.
pub fn notional(script: &Script, price: i64, quantity: i64) -> i128 {
    let decimals = script.price_decimals + script.quantity_decimals;
    i128::from(price) * i128::from(quantity) * 10i128.pow(18 - decimals)
}

/// Base amount of a quantity.
pub fn base_amount(script: &Script, quantity: i64) -> i128 {
    i128::from(quantity) * 10i128.pow(18 - script.quantity_decimals)
}

/// What a side of a fill pays, out of what it receives: the buyer base, the seller quote, rounded up (`spot.md` 8).
pub fn fee(script: &Script, fill: &Fill, is_maker: bool) -> i128 {
    let order = if is_maker { fill.maker } else { fill.taker };
    let received = if script.orders[order as usize].is_buy {
        base_amount(script, fill.quantity)
    } else {
        notional(script, script.price_of(fill), fill.quantity)
    };
    let bps = i128::from(if is_maker { MAKER_FEE_BPS } else { TAKER_FEE_BPS });
    (received * bps + 9_999) / 10_000
}
