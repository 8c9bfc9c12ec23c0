//! The page at `/`: static files that are part of the binary. They name nothing outside the process that serves them, and
//! use the public API like any other client, and for withdrawals what `withdrawals` tells besides.

pub mod withdrawals;

use super::docs::{Param, Shape};
use super::spot::deposit::vault;
use super::{Answer, Call, Handler, Method, Response, Route, StatusCode};
use bytes::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, ETAG, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::header::{HOST, IF_NONE_MATCH, REFERRER_POLICY};
use ringside_wire::fault::Fault;
use ringside_wire::refusal::Dialect;
use sha2::{Digest, Sha256};
use std::sync::OnceLock;

/// Rows. They are no part of the API that is documented.
pub static ROUTES: &[Route] = &[
    Route { is_api: false, ..Route::new(Method::Get, "/", Handler::Now(|call| Ok(serve_index(call)))) },
    Route {
        is_api: false,
        params: &[Param::path("name", Shape::Text, "Name of the file")],
        ..Route::new(Method::Get, "/web/{name}", Handler::Now(serve))
    },
];

/// One file.
struct File {
    name: &'static str,
    content_type: &'static str,
    body: &'static [u8],
}

macro_rules! files {
    ($($name:literal from $path:literal as $content_type:ident;)*) => {
        &[$(File {
            name: $name,
            content_type: $content_type,
            body: include_bytes!(concat!("../../web/", $path)),
        }),*]
    };
}

const HTML: &str = "text/html;charset=utf-8";
const CSS: &str = "text/css;charset=utf-8";
const SCRIPT: &str = "text/javascript;charset=utf-8";
const SVG: &str = "image/svg+xml";
const TEXT: &str = "text/plain;charset=utf-8";

/// The first is the page itself.
static FILES: &[File] = files! {
    "index.html" from "index.html" as HTML;
    "style.css" from "style.css" as CSS;
    "icon.svg" from "icon.svg" as SVG;
    "app.js" from "app.js" as SCRIPT;
    "account.js" from "account.js" as SCRIPT;
    "api.js" from "api.js" as SCRIPT;
    "book.js" from "book.js" as SCRIPT;
    "chart.js" from "chart.js" as SCRIPT;
    "deposit.js" from "deposit.js" as SCRIPT;
    "deposit_form.js" from "deposit_form.js" as SCRIPT;
    "login.js" from "login.js" as SCRIPT;
    "perpetual.js" from "perpetual.js" as SCRIPT;
    "sign.js" from "sign.js" as SCRIPT;
    "spot.js" from "spot.js" as SCRIPT;
    "view.js" from "view.js" as SCRIPT;
    "wallet.js" from "wallet.js" as SCRIPT;
    "withdraw.js" from "withdraw.js" as SCRIPT;
    "noble.js" from "vendor/noble.js" as SCRIPT;
    "noble.LICENSE" from "vendor/noble.LICENSE" as TEXT;
    "lightweight-charts.js" from "vendor/lightweight-charts.js" as SCRIPT;
    "lightweight-charts.LICENSE" from "vendor/lightweight-charts.LICENSE" as TEXT;
};

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
    respond(0, HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static(POLICY)))
}

fn serve(call: &Call) -> Answer {
    let name = call.path_param(0);
    if name == "settings.json" {
        return Ok(settings(call));
    }
    let index = FILES.iter().position(|file| file.name == name);
    let index = index.ok_or_else(|| Fault::NotFound.error(Dialect::Spot))?;
    if call.header(IF_NONE_MATCH.as_str()).is_some_and(|known| known.as_bytes() == tag(index).as_bytes()) {
        let empty = Response { body: Bytes::new(), ..respond(index, HeaderValue::from_static(POLICY)) };
        return Ok(Response { status: StatusCode::NOT_MODIFIED, ..empty });
    }
    Ok(respond(index, HeaderValue::from_static(POLICY)))
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

fn respond(index: usize, policy: HeaderValue) -> Response {
    let file = &FILES[index];
    let content_type = HeaderValue::from_static(file.content_type);
    Response::new(StatusCode::OK, content_type, Bytes::from_static(file.body))
        // Asked for every time, sent only when another binary holds another file.
        .with_header(CACHE_CONTROL, HeaderValue::from_static("no-cache"))
        .with_header(ETAG, tag(index).clone())
        .with_header(CONTENT_SECURITY_POLICY, policy)
        .with_header(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"))
        .with_header(REFERRER_POLICY, HeaderValue::from_static("no-referrer"))
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
