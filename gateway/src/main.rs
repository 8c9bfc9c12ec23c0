//! `ringside`: starts the exchange.

use std::process::ExitCode;

fn main() -> ExitCode {
    eprintln!("ringside: the engine is not joined to the gateway yet");
    ExitCode::FAILURE
}
