//! The exchange core. State in, events out: no I/O, clock, thread, float or default-hashed map.
//!
//! - [`command`], [`event`], [`reject`]: what goes in, what comes out, why not.
//! - [`ids`], [`money`]: integers and their units.
//! - [`engine`]: all state, and `apply`. Below it, unseen from outside: `market` (rules, book, where accounts stand),
//!   `book` (levels and queues), `order`, `matching` (the price-time loop), `stp`, [`risk`] (what a fill costs; of it the
//!   arithmetic of the perpetual side is seen, for who shows what it computes), `account` (who holds what), `withdrawal` (what is on its way
//!   to a chain), `deposit` (what came from there), `disconnect` (whose orders end with a connection), `perpetual` (the same of the perpetual side), `emit` (how events are written),
//!   `config`, `time`. State names no engine.
//! - [`bare`]: book and matching without the rest, for benchmarks.
//! - [`snapshot`] and `state_hash`: the state as canonical bytes.
//! - [`side`]: what stands beside the commands in the journal, unseen by the engine.
//! - [`numbered`]: rows found by hash. [`hash_seed`]: how tables spread what users choose. [`prefetch`]: a cache hint.
//!   [`figures`]: counters and histograms of running threads.
//! - [`ring`], [`gate`]: how commands and events travel between stages, and what has been journalled.
//! - [`matcher`]: the stage that owns the engine and decides order. [`pace`]: what it stamps commands with.
//! - [`agent`], [`pin`]: stages, and the threads that run them. State modules know none of these five.

// A step that needs more is several (`clippy.toml` has the bound).
#![warn(clippy::too_many_lines)]

mod account;
pub mod agent;
pub mod audit;
pub mod bare;
mod book;
pub mod command;
mod config;
mod deposit;
mod disconnect;
mod emit;
pub mod engine;
pub mod event;
pub mod figures;
pub mod gate;
pub mod hash_seed;
pub mod ids;
mod market;
pub mod matcher;
mod matching;
pub mod memory;
pub mod money;
pub mod numbered;
mod order;
pub mod pace;
mod perpetual;
pub mod pin;
pub mod prefetch;
pub mod reject;
pub mod ring;
pub mod risk;
pub mod side;
pub mod snapshot;
mod state_hash;
mod stp;
pub mod sums;
mod time;
mod withdrawal;

pub use engine::{Engine, EngineConfig};
