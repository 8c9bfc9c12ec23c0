//! Seeded numbers, and how a run of them is repeated.

#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(clippy::print_stdout, reason = "random tests print their seed")]

#[path = "../../../core/tests/support/random.rs"]
#[allow(unreachable_pub, reason = "shared with the tests of core")]
mod generator;

#[path = "../../../core/tests/support/seeds.rs"]
mod numbers;

pub(crate) use generator::Random;
#[allow(unused_imports, reason = "each test program uses its own part")]
pub(crate) use numbers::{is_rerun, seeds};

/// The seed of a test that runs one. Prints the line that runs `test` again.
pub(crate) fn seed(test: &str) -> u64 {
    seed_or(test, 1)
}

/// The same with a seed of its own where none is named: for a test that also says what must come up in it.
pub(crate) fn seed_or(test: &str, own: u64) -> u64 {
    let seed = numbers::first(own);
    println!("seed {seed}: RINGSIDE_SEED={seed} cargo test -p ringside-gateway --test api {test}");
    seed
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
