//! NASDAQ, AAPL, 2012-06-21, 09:30 to 10:30, order by order (LOBSTER sample).
//!
//! The public API has no request that lowers an order in place, which the venue had. So an order that is going to be
//! lowered is placed as several, one behind the other at its price: the front part is what stays, behind it one part per
//! lowering, the first to go last. Lowering then is the cancel of a part. Fills take an order from its front and
//! lowering takes it from its back, so every fill is the same; only one order's fill may be told as two.

use super::script::{Checkpoint, ImpliedBook, OrderPlan, Script};
use ringside_bench::data::{DataError, read, rows};
use std::collections::HashMap;

const SET: &str = "lobster-nasdaq-20120621";
const INPUTS: &str = "AAPL_inputs.csv.gz";

/// Part of an order: index in the script and what is open.
struct Part {
    index: u32,
    open: i64,
}

/// The hour.
pub fn load() -> Result<Script, DataError> {
    let mut fills = read_fills()?;
    let text = read(SET, INPUTS)?;
    let reductions = read_reductions(&text)?;
    let mut script = Script {
        name: "NASDAQ AAPL, 09:30 to 10:30 of 2012-06-21".to_string(),
        symbol: "AAPL".to_string(),
        price_decimals: 4,
        tick: 100,
        ..Script::default()
    };
    // Parts of each order, front first.
    let mut known: HashMap<i64, Vec<Part>> = HashMap::new();
    let mut start_ns = None;
    let mut bests = read_bests()?.into_iter().peekable();
    let mut last_row = None;
    for mut row in rows(INPUTS, &text) {
        let n = row.number("no row number")?;
        // What was the state after row n stands before the first later row.
        while let Some((_, bids, asks)) = bests.next_if(|(best, ..)| *best < n) {
            script.checkpoints.push(Checkpoint { after: script.steps.len(), bids, asks });
        }
        last_row = Some(n);
        let time_ns = row.number("no time")? as u64;
        let time_ns = time_ns - *start_ns.get_or_insert(time_ns);
        let operation = row.text("no operation")?;
        let id = row.number_if_any("order id")?;
        let id_needed = || row_id(id, n);
        match operation {
            "NEW" => {
                let plan = OrderPlan {
                    is_buy: row.is_buy()?,
                    price: row.number("no price")?,
                    quantity: row.number("no quantity")?,
                };
                let id = id_needed()?;
                let lowered = reductions.get(&id).map_or(&[][..], Vec::as_slice);
                let stays = plan.quantity - lowered.iter().sum::<i64>();
                let parts =
                    std::iter::once(stays).chain(lowered.iter().rev().copied()).filter(|part| *part > 0);
                let parts = parts.map(|open| {
                    let plan = OrderPlan { quantity: open, ..plan };
                    Part { index: script.place(plan, false, time_ns, n as u32, []), open }
                });
                let parts: Vec<Part> = parts.collect();
                known.insert(id, parts);
            }
            "CANCEL" => {
                let parts = known.get_mut(&id_needed()?).ok_or_else(|| row.fault("unknown order"))?;
                for part in parts.drain(..).filter(|part| part.open > 0) {
                    script.cancel(part.index, time_ns, n as u32, part.open);
                }
            }
            "REDUCE" | "FORCED" => {
                let (_, _, quantity) = (row.text("side")?, row.text("price")?, row.number("no quantity")?);
                let parts = known.get_mut(&id_needed()?).ok_or_else(|| row.fault("unknown order"))?;
                let part = parts.pop().filter(|part| part.open == quantity);
                let part = part.ok_or_else(|| row.fault("the order's last part is not what is lowered"))?;
                script.cancel(part.index, time_ns, n as u32, part.open);
            }
            "IOC" => {
                let plan = OrderPlan {
                    is_buy: row.is_buy()?,
                    price: row.number("no price")?,
                    quantity: row.number("no quantity")?,
                };
                let mut taken = Vec::new();
                for (maker, mut quantity) in fills.remove(&n).unwrap_or_default() {
                    let parts = known.get_mut(&maker).ok_or_else(|| row.fault("unknown maker"))?;
                    for part in parts.iter_mut().filter(|part| part.open > 0) {
                        let filled = quantity.min(part.open);
                        if filled > 0 {
                            part.open -= filled;
                            quantity -= filled;
                            taken.push((part.index, filled));
                        }
                    }
                    if quantity > 0 {
                        return Err(row.fault("the maker has less than its fill"));
                    }
                }
                script.place(plan, true, time_ns, n as u32, taken);
            }
            _ => return Err(row.fault("unknown operation")),
        }
    }
    for (n, bids, asks) in bests {
        debug_assert_eq!(Some(n), last_row);
        script.checkpoints.push(Checkpoint { after: script.steps.len(), bids, asks });
    }
    check_bests(&script)?;
    Ok(script)
}

fn row_id(id: Option<i64>, n: i64) -> Result<i64, DataError> {
    id.ok_or_else(|| DataError::Row { file: INPUTS.to_string(), row: n as usize, what: "no order id" })
}

/// Row -> its fills (maker, quantity).
fn read_fills() -> Result<HashMap<i64, Vec<(i64, i64)>>, DataError> {
    let text = read(SET, "AAPL_expected_trades.csv.gz")?;
    let mut fills: HashMap<i64, Vec<(i64, i64)>> = HashMap::new();
    for mut row in rows("AAPL_expected_trades.csv.gz", &text) {
        let (n, maker) = (row.number("no row number")?, row.number("no maker")?);
        row.number("no price")?;
        fills.entry(n).or_default().push((maker, row.number("no quantity")?));
    }
    Ok(fills)
}

/// Order -> quantities it is lowered by, in order.
fn read_reductions(text: &str) -> Result<HashMap<i64, Vec<i64>>, DataError> {
    let mut reductions: HashMap<i64, Vec<i64>> = HashMap::new();
    for mut row in rows(INPUTS, text) {
        let _ = (row.number("no row number")?, row.number("no time")?);
        if let "REDUCE" | "FORCED" = row.text("no operation")? {
            let id = row.number("no order id")?;
            let _ = (row.text("side")?, row.text("price")?);
            reductions.entry(id).or_default().push(row.number("no quantity")?);
        }
    }
    Ok(reductions)
}

type Side = Vec<(i64, i64)>;

/// (row, best bid, best ask) after each row that changed them; a side without orders is empty.
fn read_bests() -> Result<Vec<(i64, Side, Side)>, DataError> {
    let text = read(SET, "AAPL_expected_bbo.csv.gz")?;
    let mut bests = Vec::new();
    for mut row in rows("AAPL_expected_bbo.csv.gz", &text) {
        let n = row.number("no row number")?;
        let mut side = || -> Result<Side, DataError> {
            let level = row.number_if_any("price")?.zip(row.number_if_any("quantity")?);
            Ok(level.into_iter().collect())
        };
        let (asks, bids) = (side()?, side()?);
        bests.push((n, bids, asks));
    }
    Ok(bests)
}

/// Every published best price must be the implied book's.
fn check_bests(script: &Script) -> Result<(), DataError> {
    let mut book = ImpliedBook::new(script);
    let mut done = 0;
    for (index, checkpoint) in script.checkpoints.iter().enumerate() {
        for step in &script.steps[done..checkpoint.after] {
            book.apply(step);
        }
        done = checkpoint.after;
        if book.depth(true, 1) != checkpoint.bids || book.depth(false, 1) != checkpoint.asks {
            return Err(DataError::Row {
                file: "AAPL_expected_bbo.csv.gz".to_string(),
                row: index,
                what: "not the best prices that the fills imply",
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hour_agrees_with_its_best_prices() {
        if ringside_bench::data::folder(SET).is_none() {
            eprintln!("skipped: ../shared/data/{SET} is not on this machine");
            return;
        }
        let script = load().expect("the data set loads");
        assert_eq!(script.checkpoints.len(), 22_679);
        // One maker's fill may fall on two of its parts, so there are at least as many as published.
        assert!((4_038..4_100).contains(&script.fills.len()), "{}", script.fills.len());
        assert_eq!(script.steps.iter().filter(|step| !step.fills.is_empty()).count(), 3_277);
    }
}
