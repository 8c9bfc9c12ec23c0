//! The public engine benchmark's flow: three synthetic scenarios of one symbol, two million messages each.
//!
//! File ids are scattered; an [`Op`] names an order by its place among the new orders, which is the id that an engine
//! gives. As a [`Script`] a modify is two requests, a cancel and a place, because the public API has no such request; the
//! report stream that the script's fills imply must have the SHA-256 that the benchmark's authors published.

use super::script::{OrderPlan, Script};
use super::{DataError, read, rows};
use crate::floor::Floor;
use crate::op::{FillSum, Op, OpKind};
use crate::workload::{Mix, Shape, Workload};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Names of the scenarios.
pub const SCENARIOS: [&str; 3] = ["normal", "static", "flash-crash"];

/// A message and the file's id of its order.
struct Message {
    op: Op,
    id: u32,
}

/// The messages of a scenario, owned by `accounts` accounts (>= 2), buys by odd ones and sells by even ones.
pub fn load(scenario: &str, accounts: u32) -> Result<Workload, DataError> {
    let mut workload = Workload {
        name: scenario.to_string(),
        accounts,
        preload: Vec::new(),
        ops: read_messages(scenario)?.into_iter().map(|message| message.op).collect(),
        owners: Vec::new(),
        expected: FillSum::default(),
        mix: Mix::default(),
    };
    workload.own_by_side(23);
    expect(&mut workload);
    Ok(workload)
}

/// A scenario as requests, with the floor's fills, which the published hash has proven.
pub fn load_script(scenario: &str) -> Result<Script, DataError> {
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
        crate::load::wallet::hex(&self.hash.finalize())[2..].to_string()
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

/// Which flows of the engine's benchmark are carried out: two generated ones, and this set's.
#[derive(clap::Args)]
pub struct Flows {
    /// Commands of the generated flows.
    #[arg(long, default_value_t = 1_000_000)]
    commands: usize,
    /// Seed of the generated flows.
    #[arg(long, default_value_t = 42)]
    pub seed: u64,
    /// Only flows whose name contains this.
    #[arg(long)]
    only: Option<String>,
}

impl Flows {
    /// One after the other: the next is made when it is asked for.
    pub fn each(&self) -> impl Iterator<Item = Result<Workload, DataError>> + '_ {
        let wanted = |name: &str| self.only.as_ref().is_none_or(|only| name.contains(only.as_str()));
        let generated = [Shape::a(1_000), Shape::b(1_000_000)].into_iter();
        let generated = generated.filter(move |shape| wanted(shape.name));
        generated
            .map(|shape| Ok(Workload::generate(&shape, self.commands, self.seed)))
            .chain(SCENARIOS.into_iter().filter(move |name| wanted(name)).map(|name| load(name, 1_000)))
    }
}

fn read_messages(scenario: &str) -> Result<Vec<Message>, DataError> {
    let file = format!("{scenario}_seed23.csv.zst");
    let text = read("flow-benchmark", &file)?;
    // File ids run from 0 to 1,000,000.
    let mut orders_by_id = vec![0u32; 1_000_001];
    let mut orders = 0;
    let mut messages = Vec::with_capacity(2_000_000);
    for mut row in rows(&file, &text) {
        let kind = row.text("no kind")?;
        let id = row.number("no id")? as u32;
        let order = orders_by_id.get_mut(id as usize).ok_or_else(|| row.fault("id out of range"))?;
        let op = match kind {
            "N" | "M" => {
                let is_buy = row.is_buy()?;
                let level = row.number("no price")? as u32;
                let quantity = row.number("no quantity")? as u32;
                let kind = match (kind, kind == "N" && row.text("no ioc")? == "1") {
                    ("M", _) => OpKind::Replace,
                    (_, true) => OpKind::ImmediateOrCancel,
                    (_, false) => OpKind::New,
                };
                if kind != OpKind::Replace {
                    orders += 1;
                    *order = orders;
                }
                Op { order: *order, level, quantity, kind, is_buy }
            }
            "C" => Op { order: *order, level: 0, quantity: 0, kind: OpKind::Cancel, is_buy: true },
            _ => return Err(row.fault("unknown kind")),
        };
        if op.order == 0 {
            return Err(row.fault("an order that was never entered"));
        }
        messages.push(Message { op, id });
    }
    Ok(messages)
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
    use super::super::script::ImpliedBook;
    use super::*;

    /// Yardsticks of the data set's README; loading as a script checks the published hash.
    #[test]
    fn the_floor_makes_the_published_reports() {
        if super::super::folder("flow-benchmark").is_none() {
            eprintln!("skipped: ../shared/data/flow-benchmark is not on this machine");
            return;
        }
        let expected = [("normal", 62_474, 5_500), ("static", 827, 41_787), ("flash-crash", 70_178, 493)];
        for (scenario, fills, resting) in expected {
            let workload = load(scenario, 1_000).expect("the data set loads");
            assert_eq!(workload.ops.len(), 1_996_097);
            assert_eq!((workload.expected.fills, workload.mix.resting), (fills, resting), "{scenario}");
            let script = load_script(scenario).expect("the published hash");
            let mut book = ImpliedBook::new(&script);
            script.steps.iter().for_each(|step| book.apply(step));
            assert_eq!(book.open.iter().filter(|open| **open > 0).count() as u32, resting);
        }
    }
}
