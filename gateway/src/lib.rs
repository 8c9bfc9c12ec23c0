//! The edge of the exchange: HTTP in, commands into the rings, events out of them, views for reads.
//!
//! A request passes the crate `edge` (socket, limits, who asks, router), its row's handler in [`api`] and the crate `dialect` (text into
//! commands, views into text). A change of state leaves through the crate `commands`; a read is answered from `views`; what a client
//! listens to is told by `streams`, which hangs in `egress`, and sent by `edge`. Prices of the outside enter through `feed`, what happens
//! on a chain through `chain`. [`boot`] joins them all.
//!
//! What is deliberately absent: no matching, no balance arithmetic, no journal. Only `boot` knows that a journal exists, only `archive` and
//! `boot` that there is an archive.

pub mod api;
pub mod boot;
pub mod command_line;
pub mod operations;
pub mod routes;
pub mod ws_request;
