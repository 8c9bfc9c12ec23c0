//! The journal, its snapshots and recovery: every cut, every fault of a disk, every flipped bit, old formats, and the real engine
//! behind them.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;
#[path = "../../../core/tests/support/perpetual/flow.rs"]
mod flow;

mod beside;
mod cluster;
mod compatibility;
mod crash;
mod drills;
mod faults;
mod full_disk;
mod kept;
mod mirror;
mod perpetual;
mod room;
mod rot;
mod side;
mod slow_disk;
mod verify;
