//! Routes for whoever runs the exchange: figures, latencies, and whether it is alive, ready, leads. Figures and the probes also without
//! a key, on an address of their own: setting `metrics_listen`.

use super::docs::{Param, Shape};
use super::operate::who;
use super::{Answer, Call, Handler, Method, Response, Route, StatusCode};
use crate::operations;
use bytes::Bytes;
use hyper::header::HeaderValue;
use ringside_auth::access::Auth;
use ringside_dialect::account::refusal::INVALID_PARAMETER;
use ringside_edge::metrics::latency::Stage;
use ringside_wire::refusal::Dialect;
use serde_json::{Map, Value, json};

/// Settings that whoever compares latencies must know.
const OF_LATENCY: [&str; 10] = [
    "acknowledge",
    "storage",
    "threading",
    "wait",
    "workers",
    "pin_matcher",
    "pin_journaller",
    "pin_egress",
    "pin_workers",
    "huge_pages",
];

const TEXT: &str = "text/plain; charset=utf-8";

/// Rows. They are no part of the API that is documented.
pub static ROUTES: &[Route] = &[
    Route { is_api: false, auth: Auth::Admin, ..Route::new(Method::Get, "/metrics", Handler::Now(figures)) },
    Route {
        params: &[Param::optional("stage", Shape::Text, "Default order")],
        ..latency(Method::Get, "/latency.hgrm", Handler::Now(distribution))
    },
    latency(Method::Get, "/latency.json", Handler::Now(cells)),
    latency(Method::Post, "/latency/reset", Handler::Now(begin_anew)),
    probe("/livez"),
    probe("/livez/reads"),
    probe("/readyz"),
    probe("/leaderz"),
];

const fn latency(method: Method, path: &'static str, handler: Handler) -> Route {
    Route { is_api: false, dialect: Dialect::Account, auth: Auth::Admin, ..Route::new(method, path, handler) }
}

/// 200 or 503, and why ([`operations::PROBES`]).
const fn probe(path: &'static str) -> Route {
    Route { is_api: false, is_probe: true, ..Route::new(Method::Get, path, Handler::Now(probed)) }
}

/// How long a stage took, or a request until it was acknowledged, as the text that HdrHistogram's plotters read.
fn distribution(call: &Call) -> Answer {
    let stage = match call.query().get("stage") {
        None => Stage::Order,
        Some(name) => Stage::of_name(&name).ok_or_else(|| {
            let names = Stage::ALL.map(Stage::name).join(", ");
            INVALID_PARAMETER.saying(format!("stage: one of {names}"))
        })?,
    };
    let histogram = ringside_hgrm::of_cells(call.worker.shared.metrics.latencies(stage).cells());
    let body = ringside_hgrm::text(&histogram).into();
    Ok(Response::new(StatusCode::OK, HeaderValue::from_static(TEXT), body))
}

/// The same of all stages for programs: of each the longest duration of every cell that is not empty, in nanoseconds, and how many it
/// holds; since when, in milliseconds; and the settings that it depends on.
fn cells(call: &Call) -> Answer {
    let metrics = &call.worker.shared.metrics;
    let counted =
        |stage: Stage| (stage.name().to_owned(), json!(metrics.latencies(stage).cells().collect::<Vec<_>>()));
    let stages: Map<String, Value> = Stage::ALL.into_iter().map(counted).collect();
    let since_ms = metrics.latencies_since().elapsed().as_millis() as u64;
    let settings = call.worker.config.shown().into_iter().filter(|(key, _)| OF_LATENCY.contains(key));
    let settings: Map<String, Value> =
        settings.map(|(key, shown)| (key.to_owned(), Value::String(shown))).collect();
    Ok(Response::of(&json!({ "since_ms": since_ms, "settings": settings, "stages": stages })))
}

/// Has those counts begin anew.
fn begin_anew(call: &Call) -> Answer {
    call.worker.shared.metrics.latencies_begin();
    let (by, is_proven) = who(call);
    tracing::info!(by, is_proven, ip = %call.noted_ip().to_canonical(), "latencies are counted anew");
    Ok(Response::json("{}"))
}

/// Figures as Prometheus reads them. They tell of nobody's orders, yet of the venue's business: the administrator's key.
fn figures(call: &Call) -> Answer {
    let content_type = HeaderValue::from_static(operations::CONTENT_TYPE);
    Ok(Response::new(StatusCode::OK, content_type, operations::page(&call.worker.shared).into()))
}

fn probed(call: &Call) -> Answer {
    let probe = operations::PROBES.iter().find(|(path, _)| *path == call.route.path);
    let (is_so, words) = probe.map_or((false, ""), |(_, probe)| probe(&call.worker.shared));
    Ok(text(if is_so { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, words))
}

fn text(status: StatusCode, body: &'static str) -> Response {
    Response::new(status, HeaderValue::from_static(TEXT), Bytes::from_static(body.as_bytes()))
}
