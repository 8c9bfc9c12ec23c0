//! The exchange as those meet it who run it: watched, backed up, restored, supervised, searched for secrets.

#![allow(clippy::unwrap_used, reason = "a panic is a test's report")]

#[path = "../process/mod.rs"]
mod process;

mod archive;
mod audit;
mod backup;
mod clock;
mod cluster;
mod disconnect;
mod disk;
mod diverged;
mod feed;
mod first_start;
mod host;
mod metrics;
mod mirror;
mod mounted;
mod resume;
mod secrets;
mod sizing;
mod supervised;
mod takeover;
mod tools;
mod upgrade;
