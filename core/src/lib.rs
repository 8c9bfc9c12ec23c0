//! The exchange core. State in, events out: no I/O, clock, thread, float or default-hashed map.
//!
//! - [`command`], [`event`], [`reject`]: what goes in, what comes out, why not.
//! - [`ids`], [`money`]: integers and their units.
//! - [`prefetch`]: a cache hint.

pub mod command;
pub mod event;
pub mod ids;
pub mod money;
pub mod prefetch;
pub mod reject;
