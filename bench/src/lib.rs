//! Benchmarks and load runs: workloads, the floor they are measured against, the load client, reports.
//!
//! - [`op`], [`workload`]: what is sent. [`floor`]: the least a book can cost, [`paid_floor`]: with money and events,
//!   [`margin_floor`]: with those of a perpetual market.
//!   [`data`]: recorded flow with known outcome.
//! - [`rings`]: ours and the rings it is measured against.
//!
//! Nothing here decides anything about money, and no number is printed for a run whose fills are not the expected ones.

pub mod data;
pub mod floor;
pub mod journal;
pub mod kills;
pub mod load;
pub mod margin_floor;
pub mod op;
pub mod paid_floor;
pub mod perpetual;
pub mod replay;
pub mod report;
pub mod rings;
pub mod soak;
pub mod variant;
pub mod workload;
