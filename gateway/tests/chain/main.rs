//! The chain's side of withdrawals and deposits without a node: the signer and its log, and the watcher against simulated chains. What
//! needs a real node is `scripts/chain.sh`.

#![allow(clippy::unwrap_used, reason = "a panic is a test's report")]

#[path = "../../../core/tests/support/market.rs"]
mod market;
#[path = "../random/mod.rs"]
mod random;

mod absences;
mod faults;
mod figures;
mod histories;
mod http;
mod ledger;
mod referral;
mod reserves;
mod signer;
mod world;
