//! Shanghai Stock Exchange, 600519, the morning of 2023-02-07: the continuous phase, order by order.
//!
//! What the opening auction left resting is entered first, in order of arrival; the auction itself is not run. Each
//! published ten-level snapshot of the continuous phase is found among the states that the published fills imply, so
//! reading the session already proves that fills, cancels and snapshots agree with each other.

use super::script::{Checkpoint, ImpliedBook, OrderPlan, Script};
use ringside_bench::data::{DataError, read, rows};
use std::collections::HashMap;

const SET: &str = "sse-600519-20230207-am";

/// An order while the session is read.
struct Known {
    plan: OrderPlan,
    open: i64,
    /// Index in the script, once there.
    index: Option<u32>,
}

/// The morning.
pub fn load() -> Result<Script, DataError> {
    let mut fills = read_fills()?;
    let mut script = Script {
        name: "SSE 600519, morning of 2023-02-07".to_string(),
        symbol: "SH600519".to_string(),
        price_decimals: 3,
        tick: 10,
        ..Script::default()
    };
    let mut known: HashMap<i64, Known> = HashMap::new();
    // Numbers in order of arrival, and the recorded second that the continuous phase starts with.
    let mut arrivals = Vec::new();
    let mut start_ns = None;
    let mut is_continuous = false;
    let text = read(SET, "inputs.csv.gz")?;
    for mut row in rows("inputs.csv.gz", &text) {
        let n = row.number("no row number")?;
        let time_ns = nanoseconds(row.number("no time")?);
        let operation = row.text("no operation")?;
        let number = row.number_if_any("order number")?.unwrap_or(0);
        let since_start = time_ns.saturating_sub(start_ns.unwrap_or(time_ns));
        match operation {
            "UNCROSS" => {
                for (buy, sell, quantity) in fills.remove(&n).unwrap_or_default() {
                    for number in [buy, sell] {
                        let order = known.get_mut(&number).ok_or_else(|| row.fault("unknown order"))?;
                        order.open -= quantity;
                    }
                }
                for number in &arrivals {
                    let Some(order) = known.get_mut(number).filter(|order| order.open > 0) else { continue };
                    let plan = OrderPlan { quantity: order.open, ..order.plan };
                    order.index = Some(script.place(plan, false, 0, n as u32, []));
                }
                is_continuous = true;
            }
            "NEW" => {
                let is_buy = row.is_buy()?;
                let plan = OrderPlan {
                    is_buy,
                    price: row.number("no price")?,
                    quantity: row.number("no quantity")?,
                };
                let is_immediate = row.text("no time in force")? == "IOC";
                let mut order = Known { plan, open: plan.quantity, index: None };
                if is_continuous {
                    start_ns.get_or_insert(time_ns);
                    let mut taken = Vec::new();
                    for (maker, taker, quantity) in fills.remove(&n).unwrap_or_default() {
                        let resting = known.get_mut(&maker).ok_or_else(|| row.fault("unknown maker"))?;
                        resting.open -= quantity;
                        order.open -= quantity;
                        if taker != number || resting.open < 0 || order.open < 0 {
                            return Err(row.fault("fills do not fit the orders"));
                        }
                        taken.push((resting.index.ok_or_else(|| row.fault("maker left before"))?, quantity));
                    }
                    order.index = Some(script.place(plan, is_immediate, since_start, n as u32, taken));
                    if is_immediate {
                        order.open = 0;
                    }
                } else {
                    arrivals.push(number);
                }
                known.insert(number, order);
            }
            "CANCEL" => {
                let order = known.get_mut(&number).ok_or_else(|| row.fault("unknown order"))?;
                if row.fields.nth(2) != Some(order.open.to_string().as_str()) {
                    return Err(row.fault("another quantity is left to cancel"));
                }
                if let Some(index) = order.index {
                    script.cancel(index, since_start, n as u32, order.open);
                }
                order.open = 0;
            }
            _ => return Err(row.fault("unknown operation")),
        }
    }
    script.checkpoints = find_snapshots(&script)?;
    Ok(script)
}

/// HHMMSScc as nanoseconds since midnight.
fn nanoseconds(time_cs: i64) -> u64 {
    let (hour, minute, second, hundredth) =
        (time_cs / 1_000_000, time_cs / 10_000 % 100, time_cs / 100 % 100, time_cs % 100);
    (((hour * 60 + minute) * 60 + second) * 100 + hundredth) as u64 * 10_000_000
}

/// Row -> its fills (maker, taker, quantity).
type FillsByRow = HashMap<i64, Vec<(i64, i64, i64)>>;

fn read_fills() -> Result<FillsByRow, DataError> {
    let text = read(SET, "expected_trades.csv.gz")?;
    let mut fills = FillsByRow::new();
    for mut row in rows("expected_trades.csv.gz", &text) {
        let n = row.number("no row number")?;
        row.number("no price")?;
        let quantity = row.number("no quantity")?;
        let (maker, taker) = (row.number("no maker")?, row.number("no taker")?);
        fills.entry(n).or_default().push((maker, taker, quantity));
    }
    Ok(fills)
}

/// A snapshot as published.
struct Snapshot {
    volume: i64,
    totals: [i64; 2],
    bids: Vec<(i64, i64)>,
    asks: Vec<(i64, i64)>,
}

/// Finds each snapshot of the continuous phase among the states of the implied book, in order.
fn find_snapshots(script: &Script) -> Result<Vec<Checkpoint>, DataError> {
    // Traded in the opening auction, which the script leaves out.
    const AUCTION_VOLUME: i64 = 42_718;
    let mut book = ImpliedBook::new(script);
    let mut steps = script.steps.iter().enumerate();
    let (mut after, mut volume, mut totals) = (0, AUCTION_VOLUME, [0i64; 2]);
    let mut found = Vec::new();
    let text = read(SET, "snapshots.csv.gz")?;
    for mut row in rows("snapshots.csv.gz", &text) {
        let Some(snapshot) = read_snapshot(&mut row)? else { continue };
        loop {
            if (volume, totals) == (snapshot.volume, snapshot.totals)
                && book.depth(true, 10) == snapshot.bids
                && book.depth(false, 10) == snapshot.asks
            {
                break;
            }
            let Some((index, step)) = steps.next() else {
                return Err(row.fault("no state of the session has this book"));
            };
            for fill in script.fills_of(step) {
                volume += fill.quantity;
                totals[usize::from(!script.orders[fill.maker as usize].is_buy)] -= fill.quantity;
            }
            let total = &mut totals[usize::from(!script.orders[step.order as usize].is_buy)];
            match step.action {
                super::script::Action::Place => *total += step.left,
                super::script::Action::Cancel => *total -= step.left,
                super::script::Action::PlaceImmediate => {}
            }
            book.apply(step);
            after = index + 1;
        }
        found.push(Checkpoint { after, bids: snapshot.bids, asks: snapshot.asks });
    }
    Ok(found)
}

/// A row of the continuous phase.
fn read_snapshot(row: &mut ringside_bench::data::Row<'_>) -> Result<Option<Snapshot>, DataError> {
    row.number("no time")?;
    if row.number("no phase")? != 2 {
        return Ok(None);
    }
    row.number("no count of trades")?;
    let volume = row.number("no volume")?;
    for what in ["turnover", "previous close", "last", "open", "high", "low"] {
        row.number(what)?;
    }
    let bid_total = row.number("no total of bids")?;
    row.number("weighted bid")?;
    let ask_total = row.number("no total of asks")?;
    row.number("weighted ask")?;
    let mut snapshot = Snapshot { volume, totals: [bid_total, ask_total], bids: vec![], asks: vec![] };
    for _ in 0..10 {
        let bid = (row.number("no bid")?, row.number("no bid quantity")?);
        let ask = (row.number("no ask")?, row.number("no ask quantity")?);
        snapshot.bids.extend((bid.1 > 0).then_some(bid));
        snapshot.asks.extend((ask.1 > 0).then_some(ask));
    }
    Ok(Some(snapshot))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_morning_agrees_with_its_snapshots() {
        if ringside_bench::data::folder(SET).is_none() {
            eprintln!("skipped: ../shared/data/{SET} is not on this machine");
            return;
        }
        let script = load().expect("the data set loads");
        assert_eq!(script.checkpoints.len(), 2_450);
        assert_eq!(script.fills.len(), 11_203);
        assert_eq!(script.steps.iter().filter(|step| !step.fills.is_empty()).count(), 8_157);
    }
}
