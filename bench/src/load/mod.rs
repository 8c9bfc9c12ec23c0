//! The load client: what a trader's program would do, as cheaply as possible, because on one machine every
//! microsecond of the client is taken from the server.
//!
//! - [`connection`]: one keep-alive connection. [`wallet`]: keys and the login signature. [`api`]: requests and answers.
//! - [`server`]: the exchange as a child process. [`pace`]: when requests are due.
//!
//! It knows the exchange only through its public API and its configuration.

pub mod api;
pub mod connection;
pub mod pace;
pub mod server;
pub mod wallet;
