//! Which seeds a random test runs. The suite's are the same for the same code, since a run of it judges a change. `RINGSIDE_SEED`
//! names one: a failure again. `RINGSIDE_NIGHT` names a night (`scripts/nightly.sh`): other seeds than the suite's, and
//! `RINGSIDE_TIMES` as many of them.
#![allow(dead_code, unreachable_pub, reason = "each test program uses its own part")]

use std::ops::Range;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not {text:?}")))
}

/// The seeds of a test that has `count`.
pub fn seeds(count: u64) -> Range<u64> {
    let first = first(1);
    let count = if is_rerun() { 1 } else { count * number("RINGSIDE_TIMES").unwrap_or(1) };
    first..first + count
}

/// The first seed of a test that counts on from its `own`.
pub fn first(own: u64) -> u64 {
    // Nights lie so far apart that no test comes from one to the next.
    number("RINGSIDE_SEED").or(number("RINGSIDE_NIGHT").map(|night| (night % (1 << 40)) << 20)).unwrap_or(own)
}

/// Whether a night runs, which does the whole of what the suite does a part of.
pub fn is_night() -> bool {
    number("RINGSIDE_NIGHT").is_some()
}

/// Whether one seed alone is run, so that not everything that the test looks for comes up.
pub fn is_rerun() -> bool {
    number("RINGSIDE_SEED").is_some()
}
