//! The edge: sockets, what every request passes on its way to a handler and back, sessions of WebSockets, and what workers share.
//!
//! It knows what a row says ([`route::Route`]) and no resource: rows and handlers are given to it in a [`server::router::Router`].

pub mod http;
pub mod login;
pub mod metrics;
pub mod route;
pub mod server;
pub mod unavailable;
pub mod worker;
pub mod ws;
