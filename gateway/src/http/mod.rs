//! Sockets, limits and the router. Knows rows, never what a resource means.

pub mod caller;
pub mod fault;
pub mod limits;
pub mod order_rate;
pub mod response;
pub mod router;
pub mod server;
pub mod service;
pub mod stream;
pub mod watch;
