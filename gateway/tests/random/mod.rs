//! Seeded numbers, and how a run of them is repeated.

#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(clippy::print_stdout, reason = "random tests print their seed")]

#[path = "../../../core/tests/support/random.rs"]
#[allow(unreachable_pub, reason = "shared with the tests of core")]
mod generator;

pub(crate) use generator::Random;

/// The seed that `RINGSIDE_SEED` names, or 1: a run of the suite judges a change, and is the same for the same code; who looks
/// for more names other seeds. Prints the line that runs `test` again.
pub(crate) fn seed(test: &str) -> u64 {
    seed_or(test, 1)
}

/// The same with a seed of its own where none is named: for a test that also says what must come up in it.
pub(crate) fn seed_or(test: &str, own: u64) -> u64 {
    let given =
        std::env::var("RINGSIDE_SEED").ok().map(|text| text.parse().expect("RINGSIDE_SEED is a number"));
    let seed = given.unwrap_or(own);
    println!("seed {seed}: RINGSIDE_SEED={seed} cargo test -p ringside-gateway --test api {test}");
    seed
}

/// The seeds 1 to `count`, or the one that `RINGSIDE_SEED` names.
pub(crate) fn seeds(count: u64) -> Vec<u64> {
    match std::env::var("RINGSIDE_SEED") {
        Ok(seed) => vec![seed.parse().expect("RINGSIDE_SEED is a number")],
        Err(_) => (1..=count).collect(),
    }
}

/// Prints, where the test fails while it lives, the line that runs the seed again.
pub(crate) struct Rerun(pub(crate) &'static str, pub(crate) u64);

impl Drop for Rerun {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Rerun(test, seed) = self;
            println!(
                "seed {seed} fails; rerun: RINGSIDE_SEED={seed} cargo test -p ringside-gateway --test {test}"
            );
        }
    }
}
