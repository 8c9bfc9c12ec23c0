//! The public engine benchmark's flow: three synthetic scenarios of one symbol, two million messages each.
//!
//! File ids are scattered; an [`Op`] names an order by its place among the new orders, which is the id that an engine
//! gives.

use super::{DataError, read, rows};
use crate::floor::Floor;
use crate::op::{FillSum, Op, OpKind};
use crate::workload::{Mix, Shape, Workload};

/// Names of the scenarios.
pub const SCENARIOS: [&str; 3] = ["normal", "static", "flash-crash"];

/// A message.
pub struct Message {
    /// What it asks for.
    pub op: Op,
    /// The file's id of its order.
    pub id: u32,
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

/// The messages of a scenario, as they come.
pub fn read_messages(scenario: &str) -> Result<Vec<Message>, DataError> {
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
