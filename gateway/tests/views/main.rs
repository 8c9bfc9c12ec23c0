//! Views and their archive, folded from events without a socket.

#![allow(clippy::unwrap_used, reason = "a panic is a test's report")]

#[path = "../../../core/tests/support/data.rs"]
#[allow(unreachable_pub, reason = "shared with the tests of core")]
mod data;
#[path = "../flow/mod.rs"]
mod flow;
#[path = "../perpetual/mod.rs"]
mod perpetual;
#[path = "../../../core/tests/support/perpetual/flow.rs"]
mod perpetual_flow;
#[path = "../random/mod.rs"]
mod random;
#[path = "../user_reader/mod.rs"]
mod user_reader;

mod captured;
mod gate;
mod history;
mod history_perpetual;
mod market_data;
mod perpetual_candles;
mod perpetual_views;
mod pieces;
mod shown;
mod spot_views;
mod stored;
mod user_events;
