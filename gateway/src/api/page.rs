//! The pages at `/` and `/docs`: static files that are part of the binary. They name nothing outside the process that serves them, and
//! use the public API like any other client, and for withdrawals what `withdrawals` tells besides.

pub mod withdrawals;

use super::docs::{Param, Shape};
use super::spot::deposit::vault;
use super::{Answer, Call, Handler, Method, Response, Route, StatusCode};
use bytes::Bytes;
use hyper::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, ETAG, HeaderValue,
};
use hyper::header::{HOST, IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS};
use ringside_edge::metrics::latency::Stage;
use ringside_wire::fault::Fault;
use ringside_wire::refusal::Dialect;
use sha2::{Digest, Sha256};
use std::sync::OnceLock;

/// Rows. They are no part of the API that is documented.
pub static ROUTES: &[Route] = &[
    Route { is_api: false, ..Route::new(Method::Get, "/", Handler::Now(|call| Ok(serve_index(call)))) },
    Route { is_api: false, ..Route::new(Method::Get, "/docs", Handler::Now(|call| Ok(serve_docs(call)))) },
    Route {
        is_api: false,
        params: &[Param::path("name", Shape::Text, "Name of the file")],
        ..Route::new(Method::Get, "/web/{name}", Handler::Now(serve))
    },
];

/// One file, as `scripts/web.sh` built it, and its copies for who takes them smaller.
struct File {
    name: &'static str,
    content_type: &'static str,
    body: &'static [u8],
    brotli: &'static [u8],
    gzip: &'static [u8],
}

macro_rules! files {
    ($($name:literal as $content_type:ident;)*) => {
        &[$(File {
            name: $name,
            content_type: $content_type,
            body: include_bytes!(concat!("../../web/dist/", $name)),
            brotli: include_bytes!(concat!("../../web/dist/", $name, ".br")),
            gzip: include_bytes!(concat!("../../web/dist/", $name, ".gz")),
        }),*]
    };
}

const HTML: &str = "text/html;charset=utf-8";
const CSS: &str = "text/css;charset=utf-8";
const SCRIPT: &str = "text/javascript;charset=utf-8";
const SVG: &str = "image/svg+xml";
const TEXT: &str = "text/plain;charset=utf-8";

/// The first is the page itself, the second the API for people.
static FILES: &[File] = files! {
    "index.html" as HTML;
    "docs.html" as HTML;
    "app.css" as CSS;
    "app.js" as SCRIPT;
    "docs.js" as SCRIPT;
    "parts.js" as SCRIPT;
    "drawing.js" as SCRIPT;
    "icon.svg" as SVG;
    "licenses.txt" as TEXT;
};

/// Asked for every time, sent only when another binary holds another file.
const ASKED_FOR: HeaderValue = HeaderValue::from_static("no-cache");
/// A file that was asked for by its version never changes.
const KEPT: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// What the page may load and reach: its own server. The chart sets styles of its own.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page may also open sockets to its own server, which not every browser takes as `'self'`, and on a test deployment reach the
/// node that it names.
fn serve_index(call: &Call) -> Response {
    let is_of_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    let host = call.header(HOST.as_str()).filter(|host| host.bytes().all(is_of_host));
    let mut reached = host.map(|host| format!(" ws://{host} wss://{host}")).unwrap_or_default();
    if let Some(node) = &call.worker.config.page_node {
        reached += &format!(" http://{}", node.authority);
    }
    let policy = POLICY.replacen("connect-src 'self'", &format!("connect-src 'self'{reached}"), 1);
    respond(call, 0, HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static(POLICY)))
}

fn serve_docs(call: &Call) -> Response {
    respond(call, 1, HeaderValue::from_static(POLICY))
}

fn serve(call: &Call) -> Answer {
    let name = call.path_param(0);
    match &*name {
        "settings.json" => return Ok(settings(call)),
        "latency.json" => return Ok(latency(call)),
        _ => {}
    }
    let index = FILES.iter().position(|file| file.name == name);
    let index = index.ok_or_else(|| Fault::NotFound.error(Dialect::Spot))?;
    let response = respond(call, index, HeaderValue::from_static(POLICY));
    if call.header(IF_NONE_MATCH.as_str()).is_some_and(|known| known.as_bytes() == tag(index).as_bytes()) {
        return Ok(Response { status: StatusCode::NOT_MODIFIED, body: Bytes::new(), ..response });
    }
    Ok(response)
}

/// How long requests about orders took, from a request's head to its answer, since the process started or an operator had the counts
/// begin anew: upper bounds, within a percent, in microseconds.
fn latency(call: &Call) -> Response {
    let histogram = ringside_hgrm::of_cells(call.worker.shared.metrics.latencies(Stage::Order).cells());
    let count = histogram.len();
    let within = |quantile| (count > 0).then(|| histogram.value_at_quantile(quantile).div_ceil(1_000));
    Response::of(&serde_json::json!({ "count": count, "p50_us": within(0.5), "p99_us": within(0.99) }))
}

/// What the page must know of the deployment before it can sign a login, deposit or withdraw.
fn settings(call: &Call) -> Response {
    let config = &call.worker.config;
    Response::of(&serde_json::json!({
        "test_deployment": config.test_deployment,
        "chain_id": config.chain_id,
        "node": config.page_node.as_ref().map(|node| node.text("http")),
        "deposits": vault(call).is_some(),
        "withdrawals": withdrawals::settings(call),
    }))
}

fn respond(call: &Call, index: usize, policy: HeaderValue) -> Response {
    let file = &FILES[index];
    let taken = |encoding: &str| {
        let header = call.header(ACCEPT_ENCODING.as_str()).unwrap_or_default();
        header.split(',').any(|one| one.split(';').next().is_some_and(|name| name.trim() == encoding))
    };
    let (body, encoding) = match (taken("br"), taken("gzip")) {
        (true, _) => (file.brotli, Some("br")),
        (false, true) => (file.gzip, Some("gzip")),
        (false, false) => (file.body, None),
    };
    let is_kept = call.query().get("v").is_some_and(|asked| !asked.is_empty() && *asked == *version());
    let content_type = HeaderValue::from_static(file.content_type);
    let response = Response::new(StatusCode::OK, content_type, Bytes::from_static(body))
        .with_header(CACHE_CONTROL, if is_kept { KEPT } else { ASKED_FOR })
        .with_header(ETAG, tag(index).clone())
        .with_header(VARY, HeaderValue::from_static("accept-encoding"))
        .with_header(CONTENT_SECURITY_POLICY, policy)
        .with_header(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"))
        .with_header(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    match encoding {
        Some(name) => response.with_header(CONTENT_ENCODING, HeaderValue::from_static(name)),
        None => response,
    }
}

/// The version that the page names its files by: of all that was built.
fn version() -> &'static str {
    static VERSION: OnceLock<&str> = OnceLock::new();
    VERSION.get_or_init(|| {
        let page = std::str::from_utf8(FILES[0].body).unwrap_or_default();
        page.split_once("?v=").and_then(|(_, rest)| rest.split('"').next()).unwrap_or_default()
    })
}

/// The entity tag of a file: of its content.
fn tag(index: usize) -> &'static HeaderValue {
    static TAGS: OnceLock<Vec<HeaderValue>> = OnceLock::new();
    let tags = TAGS.get_or_init(|| {
        let tag = |file: &File| format!("\"{}\"", const_hex::encode(&Sha256::digest(file.body)[..12]));
        let value = |file| HeaderValue::from_str(&tag(file)).unwrap_or(HeaderValue::from_static("\"\""));
        FILES.iter().map(value).collect()
    });
    &tags[index]
}
