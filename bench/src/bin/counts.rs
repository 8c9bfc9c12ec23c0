//! Instructions and cache misses a command, which no other process and no machine changes, of the flows that the benchmarks `engine`
//! and `perpetual` time: whole, as the matcher carries them out, and by kind. Each row is a run of this program under callgrind.
//!
//! Compared with accepted figures it ends with an error where one has grown. Nothing is counted for a run whose fills are not the
//! floor's.
#![allow(clippy::print_stdout)]

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use ringside_bench::callgrind::{self, Cost, Profile};
use ringside_bench::margin_floor::OnMarginFloor;
use ringside_bench::op::FillSum;
use ringside_bench::perpetual::PerpetualFlow;
use ringside_bench::variant::{KINDS, Kept, OnEngine, OnFloor, OnPerpetual, Variant, counted};
use ringside_bench::workload::{Shape, Workload};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Instructions and cache misses a command.
#[derive(Parser)]
struct Arguments {
    /// Also a million accounts and a million orders.
    #[arg(long)]
    all: bool,
    /// Only rows whose names contain this.
    #[arg(long, default_value = "")]
    only: String,
    /// End with an error where a figure is above the one in this file: instructions by more than 1 %, misses of the instruction cache by
    /// more than 25 %, of the data cache by more than 10 %.
    #[arg(long)]
    check: Option<PathBuf>,
    /// Count all rows and write them into this file.
    #[arg(long, conflicts_with_all = ["check", "only"])]
    accept: Option<PathBuf>,
    /// What the figures are of, for that file: commit and compiler.
    #[arg(long, default_value = "unknown")]
    origin: String,
    /// Carry out this row: what callgrind is given.
    #[arg(long, hide = true)]
    carry_out: Option<String>,
    /// The same by kind.
    #[arg(long, hide = true)]
    by_kind: bool,
}

/// Seed of the flows.
const SEED: u64 = 42;
/// Commands before the first that is counted.
const WARM_UP: usize = 60_000;
/// Commands that are.
const COUNTED: usize = 99_872;

/// One way of carrying out one flow.
struct Row {
    name: &'static str,
    flow: &'static str,
    shape: fn() -> Shape,
    is_perpetual: bool,
    counted: fn(&Workload, usize, bool) -> FillSum,
    /// Of those that a change is judged by.
    is_gate: bool,
}

const A: (&str, fn() -> Shape) = ("A-1,000", || Shape::a(1_000));
const A_MANY: (&str, fn() -> Shape) = ("A-1,000,000", || Shape::a(1_000_000));
const B: (&str, fn() -> Shape) = ("B-1,000,000", || Shape::b(1_000_000));

const fn spot<V: Variant>(name: &'static str, (flow, shape): (&'static str, fn() -> Shape)) -> Row {
    Row { name, flow, shape, is_perpetual: false, counted: counted::<V>, is_gate: true }
}

const fn perpetual<V: Variant>(name: &'static str, (flow, shape): (&'static str, fn() -> Shape)) -> Row {
    Row { name, flow, shape, is_perpetual: true, counted: counted::<V>, is_gate: true }
}

const fn aside(row: Row) -> Row {
    Row { is_gate: false, ..row }
}

const ROWS: [Row; 12] = [
    spot::<OnFloor>("floor", A),
    perpetual::<OnMarginFloor>("margin-floor", A),
    spot::<OnEngine<Kept>>("spot", A),
    perpetual::<OnPerpetual>("perpetual", A),
    aside(spot::<OnFloor>("floor", A_MANY)),
    aside(perpetual::<OnMarginFloor>("margin-floor", A_MANY)),
    aside(spot::<OnEngine<Kept>>("spot", A_MANY)),
    aside(perpetual::<OnPerpetual>("perpetual", A_MANY)),
    aside(spot::<OnFloor>("floor", B)),
    aside(perpetual::<OnMarginFloor>("margin-floor", B)),
    aside(spot::<OnEngine<Kept>>("spot", B)),
    aside(perpetual::<OnPerpetual>("perpetual", B)),
];

impl Row {
    fn label(&self) -> String {
        format!("{} {}", self.name, self.flow)
    }

    /// Carries it out, and says how many commands of each kind were to be counted, in the order of [`KINDS`].
    fn carry_out(&self, by_kind: bool) -> Result<()> {
        let mut workload = Workload::generate(&(self.shape)(), WARM_UP + COUNTED, SEED);
        if self.is_perpetual {
            workload = PerpetualFlow::new(workload).workload;
        }
        let fills = (self.counted)(&workload, WARM_UP, by_kind);
        ensure!(fills == workload.expected, "{fills:?} instead of {:?}", workload.expected);
        for (_, kind, _) in KINDS {
            println!("{}", workload.ops[WARM_UP..].iter().filter(|op| op.kind == kind).count());
        }
        Ok(())
    }

    /// Figures of the whole and of each kind.
    fn count(&self, program: &Path) -> Result<Vec<Figures>> {
        let mut figures = Vec::new();
        let of = |kind: &str, commands: u64, cost: Cost| Figures {
            label: format!("{} {kind}", self.label()),
            values: [cost.instructions, cost.instruction_misses, cost.data_misses, cost.second_misses]
                .map(|count| count as f64 / commands as f64),
        };
        let (whole, commands) = self.profile(program, false)?;
        figures.push(of("all", commands.iter().sum(), whole.total));
        let (profile, commands) = self.profile(program, true)?;
        for ((kind, _, function), commands) in KINDS.into_iter().zip(commands) {
            figures.push(of(kind, commands, profile.cost_of(function)));
        }
        Ok(figures)
    }

    /// Runs `program` for this row under callgrind; and how many commands of each kind it counted.
    fn profile(&self, program: &Path, by_kind: bool) -> Result<(Profile, Vec<u64>)> {
        let folder = program.parent().context("a program is in a folder")?;
        let name = program.file_name().context("a program has a name")?.to_string_lossy();
        let file = folder.join(format!("{name}-{}.callgrind", std::process::id()));
        // Where its arguments end, the program's stack begins: they are equally long for all that is compared.
        let mut command = callgrind::command(folder, &format!("./{name}"), &file);
        command.args(["--carry-out", &self.label()]).args(by_kind.then_some("--by-kind"));
        let output = command.output().context("valgrind cannot be run: scripts/counts.sh installs it")?;
        let [said, complaint] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        ensure!(output.status.success(), "{}: {}\n{complaint}", self.label(), output.status);
        let commands: Vec<u64> = said.lines().map(str::parse).collect::<Result<_, _>>()?;
        ensure!(
            commands.len() == KINDS.len() && commands.iter().all(|&count| count > 0),
            "{}: {said}",
            self.label()
        );
        let text = std::fs::read_to_string(&file).context("callgrind left no profile")?;
        std::fs::remove_file(&file)?;
        let profile = Profile::parse(&text).map_err(|fault| anyhow::anyhow!("{}: {fault}", self.label()))?;
        Ok((profile, commands))
    }
}

/// What a command costs.
#[derive(Clone, Debug, PartialEq)]
struct Figures {
    /// Row, flow, kind.
    label: String,
    /// By [`NAMES`].
    values: [f64; 4],
}

const NAMES: [&str; 4] = ["instructions", "I1 misses", "D1 misses", "L2 misses"];
/// By how much a figure may be above the accepted one: a share of it, and so many a command. Code that is the same lies elsewhere
/// after any change: a commit of renames alone moved the misses of the instruction cache by 15 %, and few misses move by more than their
/// hundredth. Data lies elsewhere too: the folder that the program was built in alone moved its misses by 6.6 %.
const SHARE: [f64; 4] = [0.01, 0.25, 0.1, 0.01];
const SLACK: [f64; 4] = [0.0, 1.0, 0.1, 0.1];

impl Figures {
    fn line(&self) -> String {
        let [instructions, misses @ ..] = self.values;
        let misses = misses.map(|value| format!("{value:>10.3}")).concat();
        format!("{:<44}{instructions:>10.2}{misses}\n", self.label)
    }

    /// Of a line that [`Figures::line`] wrote.
    fn parse(line: &str) -> Option<Figures> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (label, values) = words.split_at_checked(3)?;
        let values: Vec<f64> = values.iter().map(|word| word.parse()).collect::<Result<_, _>>().ok()?;
        Some(Figures { label: label.join(" "), values: values.try_into().ok()? })
    }
}

/// What of `found` is above what was accepted, a line each.
///
/// Errors: figures that are none, or rows that nobody accepted.
fn grown(found: &[Figures], accepted: &str) -> Result<String> {
    let mut known = Vec::new();
    for line in accepted.lines().filter(|line| !line.starts_with('#')) {
        known.push(Figures::parse(line).with_context(|| format!("`{line}` is no row of figures"))?);
    }
    let mut faults = String::new();
    for Figures { label, values } in found {
        let Some(row) = known.iter().find(|row| row.label == *label) else {
            bail!("nobody accepted figures of `{label}`: scripts/counts.sh --accept");
        };
        for (index, name) in NAMES.iter().enumerate() {
            let (before, now) = (row.values[index], values[index]);
            if now > before * (1.0 + SHARE[index]) + SLACK[index] {
                writeln!(faults, "{label}: {now:.2} {name} a command, {before:.2} were accepted")?;
            }
        }
    }
    Ok(faults)
}

fn heading() -> String {
    let [instructions, misses @ ..] = NAMES;
    format!(
        "{:<44}{:>10}{}\n",
        "# a command: row, flow-accounts, kind",
        &instructions[..5],
        misses.map(|name| format!("{name:>10}")).concat()
    )
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(label) = &arguments.carry_out {
        let row = ROWS.iter().find(|row| row.label() == *label).context("no such row")?;
        return row.carry_out(arguments.by_kind);
    }
    let program = std::env::current_exe()?;
    let is_wanted = |row: &&Row| {
        (row.is_gate || arguments.all || arguments.accept.is_some()) && row.label().contains(&arguments.only)
    };
    let mut found = Vec::new();
    print!("{}", heading());
    for row in ROWS.iter().filter(is_wanted) {
        for figures in row.count(&program)? {
            print!("{}", figures.line());
            found.push(figures);
        }
    }
    if let Some(file) = &arguments.accept {
        let rows: String = found.iter().map(Figures::line).collect();
        let text = format!("# scripts/counts.sh --accept: {}\n{}{rows}", arguments.origin, heading());
        std::fs::write(file, text)?;
    }
    if let Some(file) = &arguments.check {
        let accepted =
            std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let faults = grown(&found, &accepted)?;
        ensure!(
            faults.is_empty(),
            "above what was accepted; where that is worth it: scripts/counts.sh --accept\n{faults}"
        );
        println!("nothing is above what was accepted");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(label: &str, values: [f64; 4]) -> Figures {
        Figures { label: label.to_owned(), values }
    }

    #[test]
    fn rows_are_read_as_they_are_written() {
        let figures = row("perpetual A-1,000 rests", [1_459.25, 25.0, 14.125, 0.0]);
        assert_eq!(Figures::parse(&figures.line()), Some(figures));
        for line in ["", "perpetual A-1,000 all", "a b c 1 2 3", "a b c 1 2 3 x", "a b c 1 2 3 4 5"] {
            assert_eq!(Figures::parse(line), None, "{line}");
        }
    }

    #[test]
    fn what_has_grown_is_named() {
        let accepted = row("spot A-1,000 all", [600.0, 0.2, 7.5, 0.0]).line();
        let accepted = format!("{}{accepted}", heading());
        let faults = |values| grown(&[row("spot A-1,000 all", values)], &accepted).expect("both are figures");
        assert_eq!(faults([600.0, 0.2, 7.5, 0.0]), "");
        assert_eq!(faults([606.0, 1.2, 7.6, 0.1]), "");
        assert_eq!(faults([500.0, 0.0, 0.0, 0.0]), "");
        assert_eq!(
            faults([606.1, 0.2, 7.5, 0.0]),
            "spot A-1,000 all: 606.10 instructions a command, 600.00 were accepted\n"
        );
        assert_eq!(
            faults([600.0, 1.26, 7.5, 0.2]),
            "spot A-1,000 all: 1.26 I1 misses a command, 0.20 were accepted\n\
             spot A-1,000 all: 0.20 L2 misses a command, 0.00 were accepted\n"
        );
        assert!(grown(&[row("spot A-1,000 takes", [1.0; 4])], &accepted).is_err());
        assert!(grown(&[], "spot A-1,000 all 600").is_err());
    }
}
