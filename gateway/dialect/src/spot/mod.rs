//! The spot dialect (`spot.md`): requests into commands and queries, views and events into JSON.

pub mod admin;
pub mod decode;
pub mod deposit;
pub mod encode;
pub mod push;
pub mod refusal;
pub mod transfer;
pub mod withdrawal;

pub use ringside_wire::uuid as id;
