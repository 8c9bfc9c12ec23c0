//! Pages of other origins: which of them may read an answer, and what a browser asks before it sends for them what it would not
//! send otherwise.
//!
//! Who asks is told by keys and tokens that a page puts into headers itself. Nothing here depends on what a browser sends by
//! itself, so no answer allows credentials of a browser's.

use crate::http::response::{JSON, Response};
use crate::route::{Method, Route};
use bytes::Bytes;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, HOST, HeaderMap,
    HeaderValue, ORIGIN, VARY,
};
use hyper::http::request::Parts;
use hyper::{Method as Sent, StatusCode};
use ringside_auth::access::Auth;
use ringside_config::{Config, Origin};

/// Every header that a request may have and a page must be allowed to set.
const SENT: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, idempotency-key, x-api-key, x-ex-apikey, x-mbx-apikey, x-operator",
);
/// Every header of answers that a page must be allowed to read.
const SHOWN: HeaderValue = HeaderValue::from_static(
    "idempotency-replayed, retry-after, x-ex-order-count-10s, x-ex-order-count-1m, x-ex-used-weight-1m, \
     x-mbx-order-count-10s, x-mbx-order-count-1m, x-mbx-used-weight-1m",
);
const ANY: HeaderValue = HeaderValue::from_static("*");
/// Seconds for which a browser need not ask again.
const MAX_AGE_S: HeaderValue = HeaderValue::from_static("600");

/// The method that a browser asks for before it sends a request of a page.
pub fn asked_for(head: &Parts) -> Option<Sent> {
    if head.method != Sent::OPTIONS || !head.headers.contains_key(ORIGIN) {
        return None;
    }
    Sent::from_bytes(head.headers.get(ACCESS_CONTROL_REQUEST_METHOD)?.as_bytes()).ok()
}

/// Who may read the answers of a route beside those who are not pages: the value that says so, `None` where nobody asks as a
/// page or the page may not.
pub fn reader(config: &Config, headers: &HeaderMap, route: Option<&Route>) -> Option<HeaderValue> {
    let sent = headers.get(ORIGIN)?;
    let origin = Origin::parse(sent.to_str().ok()?);
    let is_known = origin.is_some_and(|origin| {
        config.cors_origins.contains(&origin)
            || config.public_url.as_deref().and_then(origin_of).is_some_and(|own| own == origin)
            || is_host(headers, &origin)
    });
    let is_public = |route: &Route| route.auth == Auth::None && route.method == Method::Get;
    if is_known {
        Some(sent.clone())
    } else {
        (config.test_deployment && route.is_some_and(is_public)).then_some(ANY)
    }
}

/// The origin of an address.
fn origin_of(url: &str) -> Option<Origin> {
    let (scheme, rest) = url.split_once("://")?;
    Origin::parse(&format!("{scheme}://{}", rest.split('/').next().unwrap_or("")))
}

/// Whether it is the server that the request is sent to, by either scheme: a proxy may have ended TLS.
fn is_host(headers: &HeaderMap, origin: &Origin) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    host.is_some_and(|host| {
        ["http", "https"]
            .iter()
            .any(|scheme| Origin::parse(&format!("{scheme}://{host}")).as_ref() == Some(origin))
    })
}

/// What an answer says to the page that asked for it.
pub fn tell(headers: &mut HeaderMap, reader: HeaderValue) {
    if reader != ANY {
        headers.append(VARY, HeaderValue::from_name(ORIGIN));
    }
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, reader);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, SHOWN);
}

/// The answer to what a browser asks first, to be told whose page it is.
pub fn permit(allow: &str) -> Response {
    let methods = HeaderValue::from_str(allow).unwrap_or(HeaderValue::from_static(""));
    Response::new(StatusCode::NO_CONTENT, JSON, Bytes::new())
        .with_header(ACCESS_CONTROL_ALLOW_METHODS, methods)
        .with_header(ACCESS_CONTROL_ALLOW_HEADERS, SENT)
        .with_header(ACCESS_CONTROL_MAX_AGE, MAX_AGE_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_origin_of_its_pages() {
        assert_eq!(origin_of("https://a.example/x/y"), Origin::parse("https://a.example"));
        assert_eq!(origin_of("a.example"), None);
    }
}
