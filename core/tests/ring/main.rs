//! The ring: what it promises one thread at a time and two, over processes, and under the model checker (`scripts/loom.sh`), whose
//! atomics no other test can use. Miri runs `basic` (`scripts/miri.sh`).
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[cfg(not(loom))]
mod basic;
#[cfg(loom)]
mod model_checker;
#[cfg(not(any(loom, miri)))]
mod processes;
#[cfg(not(any(loom, miri)))]
#[path = "../support/mod.rs"]
mod support;
