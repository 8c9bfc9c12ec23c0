//! The perpetual side of the engine and withdrawals through `Engine::apply`: vectors and sentences of the specification, an
//! independent model beside the real engine, replay and old snapshots, and recorded accounts.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, unreachable_pub)]

#[path = "../reference/mod.rs"]
mod naive;
#[path = "../support/mod.rs"]
mod support;

mod attached;
mod audit;
mod bounded;
mod clock;
mod configure;
mod conformance;
mod crowd;
mod data_account_flow;
mod disconnect;
mod fund;
mod independent;
mod isolated;
mod matcher;
mod model;
mod random;
mod range;
mod recovery;
mod replay;
mod treasury;
mod vectors;
mod withdrawal;
