//! Routes for whoever runs the exchange: figures, and whether it is alive and ready. The same without a key, on an address
//! of their own: setting `metrics_listen`.

use super::{Answer, Call, Handler, Method, Response, Route, StatusCode};
use crate::operations;
use bytes::Bytes;
use hyper::header::HeaderValue;
use ringside_auth::access::Auth;

/// Rows. They are no part of the API that is documented.
pub static ROUTES: &[Route] = &[
    Route { is_api: false, auth: Auth::Admin, ..Route::new(Method::Get, "/metrics", Handler::Now(figures)) },
    Route {
        is_api: false,
        is_probe: true,
        ..Route::new(Method::Get, "/livez", Handler::Now(|_| Ok(text(StatusCode::OK, "alive\n"))))
    },
    Route { is_api: false, is_probe: true, ..Route::new(Method::Get, "/readyz", Handler::Now(ready)) },
];

/// Figures as Prometheus reads them. They tell of nobody's orders, yet of the venue's business: the administrator's key.
fn figures(call: &Call) -> Answer {
    let content_type = HeaderValue::from_static(operations::CONTENT_TYPE);
    Ok(Response::new(StatusCode::OK, content_type, operations::page(&call.worker.shared).into()))
}

/// 200 once recovery is over and new orders are taken; 503 before, while only what reduces is taken, and once the process stops or
/// its journal failed.
fn ready(call: &Call) -> Answer {
    let is_ready = operations::is_ready(&call.worker.shared);
    Ok(if is_ready {
        text(StatusCode::OK, "ready\n")
    } else {
        text(StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
    })
}

fn text(status: StatusCode, body: &'static str) -> Response {
    Response::new(
        status,
        HeaderValue::from_static("text/plain; charset=utf-8"),
        Bytes::from_static(body.as_bytes()),
    )
}
