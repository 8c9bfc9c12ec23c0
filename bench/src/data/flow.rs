//! The public engine benchmark's flow: three synthetic scenarios of one symbol, two million messages each.
//!
//! File ids are scattered; here an order's id is its place among the new orders, which is the id that an engine
//! gives. The published hash over the report stream is checked by the tests of the core, not here: here the fills of the
//! floor are the expectation.

use super::{DataError, read};
use crate::floor::Floor;
use crate::op::{FillSum, Op, OpKind};
use crate::workload::{Mix, Workload};

/// Names of the scenarios.
pub const SCENARIOS: [&str; 3] = ["normal", "static", "flash-crash"];

/// The messages of a scenario, owned by `accounts` accounts (>= 2), buys by odd ones and sells by even ones.
pub fn load(scenario: &str, accounts: u32) -> Result<Workload, DataError> {
    let file = format!("flow-benchmark/{scenario}_seed23.csv.zst");
    let text = read("flow-benchmark", &format!("{scenario}_seed23.csv.zst"))?;

    // File ids run from 0 to 1,000,000.
    let mut ids = vec![0u32; 1_000_001];
    let mut orders = 0;
    let mut ops = Vec::with_capacity(2_000_000);
    for (row, line) in text.lines().skip(1).enumerate() {
        let fault = |what| DataError::Row { file: file.clone(), row, what };
        let mut fields = line.split(',');
        let mut field = |what| fields.next().ok_or_else(|| fault(what));
        let number = |text: &str| text.parse::<u32>().map_err(|_| fault("not a number"));
        let kind = field("no kind")?;
        let id = ids.get_mut(number(field("no id")?)? as usize).ok_or_else(|| fault("id out of range"))?;
        let op = match kind {
            "N" | "M" => {
                let is_buy = match field("no side")? {
                    "B" => true,
                    "S" => false,
                    _ => return Err(fault("neither B nor S")),
                };
                let level = number(field("no price")?)?;
                let quantity = number(field("no quantity")?)?;
                let kind = match (kind, kind == "N" && field("no ioc")? == "1") {
                    ("M", _) => OpKind::Replace,
                    (_, true) => OpKind::ImmediateOrCancel,
                    (_, false) => OpKind::New,
                };
                if kind != OpKind::Replace {
                    orders += 1;
                    *id = orders;
                }
                Op { order: *id, level, quantity, kind, is_buy }
            }
            "C" => Op { order: *id, level: 0, quantity: 0, kind: OpKind::Cancel, is_buy: true },
            _ => return Err(fault("unknown kind")),
        };
        if op.order == 0 {
            return Err(fault("an order that was never entered"));
        }
        ops.push(op);
    }

    let mut workload = Workload {
        name: format!("flow benchmark, {scenario}"),
        accounts,
        preload: Vec::new(),
        ops,
        owners: Vec::new(),
        expected: FillSum::default(),
        mix: Mix::default(),
    };
    workload.own_by_side(23);
    expect(&mut workload);
    Ok(workload)
}

/// Fills in what the floor makes of it.
fn expect(workload: &mut Workload) {
    let mut floor = Floor::new();
    for op in &workload.ops {
        floor.apply(op, &mut workload.expected);
        match op.kind {
            OpKind::New => workload.mix.new += 1,
            OpKind::ImmediateOrCancel => workload.mix.marketable += 1,
            OpKind::Cancel => workload.mix.cancel += 1,
            OpKind::Replace => workload.mix.replace += 1,
        }
    }
    workload.mix.levels = (floor.depth(true).count() + floor.depth(false).count()) as u32;
    workload.mix.resting = (floor.queue(true).count() + floor.queue(false).count()) as u32;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Yardsticks of the data set's README.
    #[test]
    fn the_floor_makes_the_published_number_of_trades() {
        if super::super::folder("flow-benchmark").is_none() {
            eprintln!("skipped: ../shared/data/flow-benchmark is not on this machine");
            return;
        }
        let expected = [("normal", 62_474, 5_500), ("static", 827, 41_787), ("flash-crash", 70_178, 493)];
        for (scenario, fills, resting) in expected {
            let workload = load(scenario, 1_000).expect("the data set loads");
            assert_eq!(workload.ops.len(), 1_996_097);
            assert_eq!((workload.expected.fills, workload.mix.resting), (fills, resting), "{scenario}");
        }
    }
}
