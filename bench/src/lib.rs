//! Measurements of the engine and of the rings, and what all measurements share: workloads, the floor they are measured against,
//! reports. It knows core alone, so that no row of the engine waits for a journal or a gateway to be built.
//!
//! - [`op`], [`workload`]: what is sent. [`floor`]: the least a book can cost, [`paid_floor`]: with money and events,
//!   [`margin_floor`]: with those of a perpetual market.
//!   [`data`]: recorded flow with known outcome.
//! - [`address`]: where what is started listens. [`callgrind`]: instructions and misses instead of time.
//! - [`rings`]: ours and the rings it is measured against.
//!
//! Nothing here decides anything about money, and no number is printed for a run whose fills are not the expected ones.

pub mod address;
pub mod callgrind;
pub mod data;
pub mod floor;
pub mod margin_floor;
pub mod op;
pub mod paid_floor;
pub mod perpetual;
pub mod positions;
pub mod report;
pub mod rings;
pub mod variant;
pub mod workload;
