//! Callgrind, from the program that it runs and from the one that runs it: what is to be simulated and counted, and what was.
//!
//! The caches that it simulates are given, not those of the machine, and the program's memory lies where it lay the last time, so
//! that a run repeats: see [`command`].

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Size, ways and line of the first instruction cache and of the first data cache.
const FIRST_CACHE: &str = "32768,8,64";
/// The same of the cache behind them.
const SECOND_CACHE: &str = "1048576,16,64";

/// From here on caches are simulated. What comes before runs several times faster and leaves them empty.
#[inline(always)]
pub fn simulate() {
    request(START_INSTRUMENTATION);
}

/// Begins to count, or stops.
#[inline(always)]
pub fn toggle_counting() {
    request(TOGGLE_COLLECT);
}

/// Writes what was counted since the last call into a file of its own, the profile's with a number behind it from 1 on.
#[inline(always)]
pub fn dump() {
    request(DUMP_STATS);
}

/// "CT" in the upper half: requests of this tool.
const DUMP_STATS: u64 = 0x4354_0000;
const TOGGLE_COLLECT: u64 = 0x4354_0002;
const START_INSTRUMENTATION: u64 = 0x4354_0004;

/// A request to valgrind, as `valgrind.h` makes it. Does nothing where the program runs by itself.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[inline(always)]
fn request(code: u64) {
    let words = [code, 0, 0, 0, 0, 0];
    // SAFETY: the rotations turn a register by 128 bits, and an exchange with itself changes none; valgrind, which knows them by
    // that, reads six words at rax, which live here, and writes rdx, which is said to be written.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") words.as_ptr(),
            inout("rdx") 0u64 => _,
            options(nostack)
        );
    }
}

/// Requests are known on no other machine: nothing is counted there, which who reads the profile is told.
#[cfg(not(target_arch = "x86_64"))]
fn request(_: u64) {}

/// Makes a function another than those of the same code, with which the compiler would join it, at no cost.
#[inline(always)]
#[allow(unsafe_code)]
pub fn distinct<const NUMBER: u8>() {
    // SAFETY: a comment.
    unsafe { std::arch::asm!("/* {} */", const NUMBER, options(nomem, nostack, preserves_flags)) }
}

/// What runs `program`, a path from `folder`, under callgrind in that folder, so that equal programs are counted alike: caches as
/// given, no environment, addresses not drawn by chance where the system lets them be fixed. The profile goes to `profile`.
pub fn command(folder: &Path, program: &str, profile: &Path) -> Command {
    let fixes = Command::new("setarch").args(["-R", "true"]).status().is_ok_and(|status| status.success());
    let mut command = Command::new(if fixes { "setarch" } else { "valgrind" });
    if fixes {
        command.args(["-R", "valgrind"]);
    }
    command
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .args(["--quiet", "--tool=callgrind", "--cache-sim=yes", "--branch-sim=no"])
        .args(["--instr-atstart=no", "--collect-atstart=no", "--demangle=no"])
        .arg(format!("--I1={FIRST_CACHE}"))
        .arg(format!("--D1={FIRST_CACHE}"))
        .arg(format!("--LL={SECOND_CACHE}"))
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(program);
    command
}

/// What something cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Instructions.
    pub instructions: u64,
    /// Misses of the first instruction cache.
    pub instruction_misses: u64,
    /// Misses of the first data cache.
    pub data_misses: u64,
    /// Misses of the second cache.
    pub second_misses: u64,
}

impl Cost {
    fn add(&mut self, other: Cost) {
        self.instructions += other.instructions;
        self.instruction_misses += other.instruction_misses;
        self.data_misses += other.data_misses;
        self.second_misses += other.second_misses;
    }
}

/// What callgrind counted.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Of the whole.
    pub total: Cost,
    /// By the symbol of a function, what calls of it cost with all that they called.
    pub calls: BTreeMap<String, Cost>,
}

impl Profile {
    /// Reads a profile.
    ///
    /// Errors: it is not of the form that is written under [`command`].
    pub fn parse(text: &str) -> Result<Profile, String> {
        let mut profile = Profile::default();
        let mut events = Vec::new();
        // Symbols are written out once, and from then on by their number.
        let mut symbols = BTreeMap::new();
        let mut called = "";
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(names) = line.strip_prefix("events: ") {
                events = names.split_whitespace().collect();
            } else if let Some(numbers) = line.strip_prefix("totals: ") {
                profile.total = cost(&events, numbers)?;
            } else if let Some(symbol) = line.strip_prefix("fn=") {
                named(&mut symbols, symbol)?;
            } else if let Some(symbol) = line.strip_prefix("cfn=") {
                called = named(&mut symbols, symbol)?;
            } else if line.starts_with("calls=") {
                // How many there were is of no use: those before anything is counted are among them.
                let (_, numbers) = lines.next().and_then(|line| line.split_once(' ')).unwrap_or_default();
                profile.calls.entry(called.to_owned()).or_default().add(cost(&events, numbers)?);
            }
        }
        if profile.total == Cost::default() {
            return Err("nothing was counted".to_owned());
        }
        Ok(profile)
    }

    /// What calls cost of all functions whose symbols contain `name`.
    pub fn cost_of(&self, name: &str) -> Cost {
        let mut all = Cost::default();
        for (_, cost) in self.calls.iter().filter(|(symbol, _)| symbol.contains(name)) {
            all.add(*cost);
        }
        all
    }
}

/// The symbol of `(number) symbol`, or of the `(number)` of one that was written out before.
fn named<'t>(symbols: &mut BTreeMap<&'t str, &'t str>, text: &'t str) -> Result<&'t str, String> {
    let (number, symbol) = text.split_once(' ').unwrap_or((text, ""));
    if !symbol.is_empty() {
        symbols.insert(number, symbol);
    }
    symbols.get(number).copied().ok_or_else(|| format!("nothing has the number {number}"))
}

/// Numbers in the order of `events`; those at the end that are 0 are left out.
fn cost(events: &[&str], numbers: &str) -> Result<Cost, String> {
    let mut cost = Cost::default();
    for (event, number) in events.iter().zip(numbers.split_whitespace()) {
        let number: u64 = number.parse().map_err(|_| format!("`{number}` is no number"))?;
        match *event {
            "Ir" => cost.instructions += number,
            "I1mr" => cost.instruction_misses += number,
            "D1mr" | "D1mw" => cost.data_misses += number,
            "ILmr" | "DLmr" | "DLmw" => cost.second_misses += number,
            _ => {}
        }
    }
    Ok(cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# callgrind format
version: 1
positions: line
events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
fl=(1) a.rs
fn=(1) loop
12 100 20 3
cfn=(2) place
calls=7 40
13 700 60 5 2 3 4 1 1 1
cfn=(2)
calls=1 40
+2 90

fn=(2)
40 790 60 5 2 3 4 1 1 1
cfn=(3) fill_in_place
calls=2 50
* 80 1
totals: 890 80 8 2 3 4 1 1 1
";

    #[test]
    fn profiles_are_read() {
        let profile = Profile::parse(TEXT).expect("a profile");
        let cost =
            |instructions| Cost { instructions, instruction_misses: 2, data_misses: 7, second_misses: 3 };
        assert_eq!(profile.total, cost(890));
        assert_eq!(profile.calls["place"], cost(790));
        assert_eq!(profile.cost_of("place"), cost(870));
        assert_eq!(profile.cost_of("cancel"), Cost::default());
    }

    #[test]
    fn what_is_no_profile_is_refused() {
        assert_eq!(Profile::parse("").map(drop), Err("nothing was counted".to_owned()));
        for (part, other) in [("cfn=(3) fill", "cfn=(4)\nfn=(3) fill"), ("13 700", "13 7O0")] {
            assert!(Profile::parse(&TEXT.replace(part, other)).is_err(), "{part}");
        }
    }
}
