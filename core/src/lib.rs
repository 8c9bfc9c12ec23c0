//! The exchange core. State in, events out: no I/O, clock, thread, float or default-hashed map.
//!
//! - [`command`], [`event`], [`reject`]: what goes in, what comes out, why not.
//! - [`ids`], [`money`]: integers and their units.
//! - [`prefetch`]: a cache hint.
//! - [`ring`], [`gate`]: how commands and events travel between stages, and what has been journalled.
//! - [`agent`], [`pin`]: stages, and the threads that run them. State modules know none of these four.

pub mod agent;
pub mod command;
pub mod event;
pub mod gate;
pub mod ids;
pub mod money;
pub mod pin;
pub mod prefetch;
pub mod reject;
pub mod ring;
