//! Routes, streams and sockets of a whole exchange: one program, since each that links the gateway costs its link.
//!
//! Apart stand what is the whole process's (`logs.rs`, `command_line.rs`) and what scripts run for long (`fuzz_*.rs`).

#![allow(clippy::unwrap_used, reason = "a panic is a test's report")]

#[path = "../exchange/mod.rs"]
mod exchange;
#[path = "../local_book/mod.rs"]
mod local_book;
#[path = "../random/mod.rs"]
mod random;
#[path = "../server/mod.rs"]
mod server;
#[path = "../user_reader/mod.rs"]
mod user_reader;

mod auth;
mod authorization;
mod deposits;
mod disconnect;
mod fapi;
mod fapi_codes;
mod fapi_corners;
mod fapi_edge;
mod fapi_rows;
mod fapi_service;
mod fapi_shapes;
mod http;
mod listen_key;
mod page;
mod parameters;
mod refusals;
mod replayed;
mod resume;
mod spot_golden;
mod spot_overload;
mod stream_book;
mod streams;
mod trades;
mod user_stream;
mod withdrawals;
mod ws;
mod ws_fapi;
mod ws_flow;
mod ws_golden;
