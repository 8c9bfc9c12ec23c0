//! GET /spot/health: answers always, also while there is no engine.

use crate::api::{Call, Error, Method, Route, now};
use ringside_commands::ingress::EngineState;
use ringside_wire::spot::{EngineWord, Health};

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[Route {
    tag: "market data",
    summary: "State of the engine",
    ..Route::of(Method::Get, "/api/v1/spot/health", now!(health))
}];

fn health(call: &Call) -> Result<Health, Error> {
    let is_running = matches!(call.phase, EngineState::Running | EngineState::Carrying);
    Ok(match is_running {
        true => Health {
            engine: EngineWord::Running,
            queue_depth: call.worker.shared.ports.iter().map(|port| port.queue_len()).sum(),
            books_loaded: call.worker.markets.with(|markets| markets.book_count()) as u64,
        },
        false => Health { engine: EngineWord::Disabled, queue_depth: 0, books_loaded: 0 },
    })
}
