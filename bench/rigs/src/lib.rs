//! Tests that drive the running exchange from outside: kills under load, a recorded session, hours of mixed traffic; the fourth,
//! overload, is its binary alone. They know it by its public API, its configuration and its files, and build none of it.
//!
//! Nothing here decides anything about money.

pub mod cluster;
pub mod data;
pub mod kills;
pub mod replay;
pub mod soak;
