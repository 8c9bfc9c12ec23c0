//! The public engine benchmark's flow (`flow.rs`) as a session.
//!
//! A modify is two requests, a cancel and a place, because the public API has no such request; the report stream that the
//! session's fills imply must have the SHA-256 that the benchmark's authors published.

use super::script::{OrderPlan, Script};
use ringside_bench::data::flow::{Message, read_messages};
use ringside_bench::data::{DataError, read};
use ringside_bench::floor::Floor;
use ringside_bench::op::OpKind;
use ringside_load::wallet::hex;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// A scenario as requests, with the floor's fills, which the published hash has proven.
pub fn load(scenario: &str) -> Result<Script, DataError> {
    let mut script = Script {
        name: format!("flow benchmark, {scenario}"),
        symbol: format!("FLOW{}", scenario.to_ascii_uppercase().replace('-', "")),
        price_decimals: 0,
        tick: 1,
        ..Script::default()
    };
    let mut floor = Floor::new();
    let mut fills = Vec::new();
    // By order of the floor: the order of the script that it now is. By order of the script: the file's id.
    let mut indices = vec![0];
    let mut labels = Vec::new();
    let mut reports = Reports::default();
    for (row, Message { op, id }) in read_messages(scenario)?.into_iter().enumerate() {
        let row = row as u32;
        let rested = i64::from(floor.open(op.order));
        fills.clear();
        floor.apply(&op, &mut fills);
        let time_ns = u64::from(row) * 1_000;
        if let OpKind::Cancel | OpKind::Replace = op.kind {
            let order = indices[op.order as usize];
            script.cancel(order, time_ns, row, rested);
            let OrderPlan { is_buy, price, .. } = script.orders[order as usize];
            match op.kind {
                OpKind::Cancel if rested > 0 => reports.line(2, row, &[side(is_buy), id, price as u32]),
                OpKind::Cancel => reports.line(4, row, &[id]),
                _ if rested == 0 => reports.line(5, row, &[id]),
                _ => {}
            }
            if op.kind == OpKind::Cancel || rested == 0 {
                continue;
            }
        } else {
            indices.push(0);
            reports.line(0, row, &[side(op.is_buy), id, op.level, op.quantity]);
        }
        for &(maker, _, price, quantity) in &fills {
            let maker = labels[indices[maker as usize] as usize];
            reports.line(1, row, &[price as u32, quantity as u32, maker, id]);
        }
        let plan =
            OrderPlan { is_buy: op.is_buy, price: i64::from(op.level), quantity: i64::from(op.quantity) };
        let is_immediate = op.kind == OpKind::ImmediateOrCancel;
        let taken = fills.iter().map(|&(maker, _, _, quantity)| (indices[maker as usize], quantity as i64));
        let index = script.place(plan, is_immediate, time_ns, row, taken.collect::<Vec<_>>());
        labels.push(id);
        indices[op.order as usize] = index;
        let left = script.steps.last().map_or(0, |step| step.left);
        match op.kind {
            OpKind::ImmediateOrCancel if left > 0 => reports.line(2, row, &[side(op.is_buy), id, op.level]),
            OpKind::Replace => reports.line(3, row, &[side(op.is_buy), id, op.level, op.quantity]),
            _ => {}
        }
    }
    let published = published_hash(scenario)?;
    if reports.finish() != published {
        return Err(DataError::Row {
            file: format!("{scenario}_seed23.expected.json"),
            row: 0,
            what: "the report stream has not the published hash",
        });
    }
    Ok(script)
}

const fn side(is_buy: bool) -> u32 {
    if is_buy { 0 } else { 1 }
}

/// The report stream, hashed as it grows.
#[derive(Default)]
struct Reports {
    hash: Sha256,
    text: String,
    is_started: bool,
}

impl Reports {
    fn line(&mut self, kind: u32, row: u32, fields: &[u32]) {
        self.text.clear();
        // Lines are joined, not ended, by line ends. Writing into a string cannot fail.
        let _ = write!(self.text, "{}{kind},{row}", if self.is_started { "\n" } else { "" });
        for field in fields {
            let _ = write!(self.text, ",{field}");
        }
        self.is_started = true;
        self.hash.update(self.text.as_bytes());
    }

    fn finish(self) -> String {
        hex(&self.hash.finalize())[2..].to_string()
    }
}

fn published_hash(scenario: &str) -> Result<String, DataError> {
    let name = format!("{scenario}_seed23.expected.json");
    let text = read("flow-benchmark", &name)?;
    let json: serde_json::Value = serde_json::from_str(&text).map_err(|_| DataError::Row {
        file: name.clone(),
        row: 0,
        what: "not JSON",
    })?;
    json["sha256_reports"].as_str().map(str::to_string).ok_or(DataError::Row {
        file: name,
        row: 0,
        what: "no hash",
    })
}

#[cfg(test)]
mod tests {
    use super::super::script::ImpliedBook;
    use super::*;
    use ringside_bench::data::flow;

    /// Yardsticks of the data set's README; loading as a script checks the published hash.
    #[test]
    fn the_floor_makes_the_published_reports() {
        if ringside_bench::data::folder("flow-benchmark").is_none() {
            eprintln!("skipped: ../shared/data/flow-benchmark is not on this machine");
            return;
        }
        let expected = [("normal", 62_474, 5_500), ("static", 827, 41_787), ("flash-crash", 70_178, 493)];
        for (scenario, fills, resting) in expected {
            let workload = flow::load(scenario, 1_000).expect("the data set loads");
            assert_eq!(workload.ops.len(), 1_996_097);
            assert_eq!((workload.expected.fills, workload.mix.resting), (fills, resting), "{scenario}");
            let script = load(scenario).expect("the published hash");
            let mut book = ImpliedBook::new(&script);
            script.steps.iter().for_each(|step| book.apply(step));
            assert_eq!(book.open.iter().filter(|open| **open > 0).count() as u32, resting);
        }
    }
}
