//! The spot side of the engine through `Engine::apply`: tables of orders and fills, the obvious engine beside the real one, what
//! always holds, replay, layouts, and recorded markets.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../reference/mod.rs"]
mod naive;
#[path = "../support/mod.rs"]
mod support;

mod data_flow_benchmark;
mod data_lobster;
mod data_scenarios;
mod data_sse;
mod delisting;
mod invariants;
mod layout;
mod properties;
mod reference;
mod replay;
mod scripts;
