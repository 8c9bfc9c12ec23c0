//! GET /spot/health: answers always, also while there is no engine.

use crate::api::docs::{Field, Shape};
use crate::api::{Answer, Call, Handler, Method, Response, Route};
use crate::ingress::Phase;
use ringside_wire::decimal::write_u64;

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[Route {
    tag: "market data",
    summary: "State of the engine",
    response: Shape::Object(&[
        Field::new("engine", Shape::OneOf(&["running", "disabled"]), ""),
        Field::new("queue_depth", Shape::Integer, "Commands handed to the engine and not yet answered"),
        Field::new("books_loaded", Shape::Integer, "Markets not delisted; 0 while the engine does not run"),
    ]),
    ..Route::new(Method::Get, "/api/v1/spot/health", Handler::Now(health))
}];

fn health(call: &Call) -> Answer {
    let is_running = call.worker.ingress.phase() == Phase::Running;
    let (word, queue_len, book_count) = if is_running {
        let queue_len = call.worker.shared.ports.iter().map(|port| port.queue_len()).sum();
        (&b"running"[..], queue_len, call.worker.markets.with(|markets| markets.book_count()))
    } else {
        (&b"disabled"[..], 0, 0)
    };
    let mut out = Vec::with_capacity(64);
    out.extend_from_slice(b"{\"engine\":\"");
    out.extend_from_slice(word);
    out.extend_from_slice(b"\",\"queue_depth\":");
    write_u64(&mut out, queue_len);
    out.extend_from_slice(b",\"books_loaded\":");
    write_u64(&mut out, book_count as u64);
    out.push(b'}');
    Ok(Response::json(out))
}
