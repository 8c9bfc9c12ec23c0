//! The load client: what a trader's program would do, as cheaply as possible, because on one machine every
//! microsecond of the client is taken from the server.
//!
//! - [`connection`]: one keep-alive connection. [`wallet`]: keys and the login signature. [`api`]: requests and answers,
//!   whose numbers are [`decimal`]s.
//!   [`signed`]: requests of the perpetual API and the check of their signature.
//! - [`server`]: the exchange as a child process. [`bare`]: the least that a server can do. [`pace`], [`drive`]: when
//!   requests are sent, and many connections sending them. [`subject`]: one server of a comparison, and its figures.
//! - [`session`]: traders whose orders are drawn from a seed, for an exchange anywhere.
//!
//! It knows the exchange only through its public API and its configuration.

pub mod api;
pub mod bare;
pub mod connection;
pub mod decimal;
pub mod drive;
pub mod pace;
pub mod server;
pub mod session;
pub mod signed;
pub mod subject;
pub mod wallet;
