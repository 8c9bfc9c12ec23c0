//! The edge of the exchange: HTTP in, commands into the rings, events out of them, views for reads.
//!
//! A request passes `server` (socket, router), `http` (limits), `auth` (who asks), `api` (one row per route) and the crate
//! `dialect` (text into commands, views into text). A change of state leaves through the crate `commands`; a read is answered from
//! `views`; what a client listens to is told by the crate `streams`, which hangs in the crate `egress`, and sent by `ws`. Prices of the outside enter through
//! the crate `feed`, what happens on a chain through the crate `chain`.
//!
//! What is deliberately absent: no matching, no balance arithmetic, no journal. Only `boot` knows that a journal exists, only `archive` and
//! `boot` that there is an archive.

pub mod api;
pub mod boot;
pub mod command_line;
pub mod http;
pub mod metrics;
pub mod operations;
pub mod routes;
pub mod server;
pub mod worker;
pub mod ws;
