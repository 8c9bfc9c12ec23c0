//! `ringside`: the exchange and its tools.

use mimalloc::MiMalloc;
use std::process::ExitCode;

/// The stages take their memory at start; this serves the gateway, where buffers are made on one thread and freed on
/// another.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    ringside_gateway::command_line::main()
}
