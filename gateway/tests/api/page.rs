//! The page and its files as the server gives them. What a browser makes of them is `scripts/page.sh`'s business.

use crate::exchange::{self, Answer, Exchange};
use ringside_outbound::url::Url;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Read;
use std::time::Duration;

fn page(exchange: &mut Exchange, path: &str, headers: &[String]) -> Answer {
    exchange.request("GET", path, headers, "")
}

/// Paths of this server that a text names: in attributes, and as what a script loads later.
fn named(text: &str) -> BTreeSet<String> {
    let texts = || text.split(['"', '`', '\'']);
    let is_file = |part: &&str| part.starts_with("/web/") && part.contains('.') && !part.ends_with(".json");
    let loaded = texts().filter(|part| part.starts_with("./") && part.contains(".js?v="));
    let loaded = loaded.map(|part| part.replacen("./", "/web/", 1));
    texts().filter(is_file).map(str::to_owned).chain(loaded).collect()
}

#[test]
fn every_file_that_the_page_names_is_served() {
    let mut exchange = Exchange::start();
    let (mut open, mut seen) = (vec!["/".to_owned(), "/docs".to_owned()], BTreeSet::new());
    while let Some(path) = open.pop() {
        let answer = page(&mut exchange, &path, &[]);
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        let kind = answer.header("content-type").expect("a type").split(';').next().expect("a type");
        let file = path.split('?').next().expect("a path");
        let expected = match file.rsplit_once('.') {
            None => "text/html",
            Some((_, "js")) => "text/javascript",
            Some((_, "css")) => "text/css",
            Some((_, "svg")) => "image/svg+xml",
            Some(_) => "text/plain",
        };
        assert_eq!(kind, expected, "{path}");
        // The page may reach its own server only.
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
        // What is named by its version is kept for good, all else is asked for.
        let caching = answer.header("cache-control").expect("caching");
        assert_eq!(caching.contains("immutable"), path.contains("?v="), "{path}: {caching}");
        seen.insert(path.clone());
        open.extend(named(&answer.body).into_iter().filter(|path| !seen.contains(path)));
    }
    let files: BTreeSet<&str> = seen.iter().filter_map(|path| path.split('?').next()).collect();
    for path in [
        "/web/app.js",
        "/web/docs.js",
        "/web/app.css",
        "/web/drawing.js",
        "/web/icon.svg",
        "/web/licenses.txt",
    ] {
        assert!(files.contains(path), "{path} of {seen:?}");
    }
    let stale = page(&mut exchange, "/web/app.js?v=0123456789ab", &[]);
    assert_eq!(stale.header("cache-control"), Some("no-cache"), "of a binary that is gone");
}

/// The head of an answer, without its body.
fn head(exchange: &mut Exchange, path: &str, headers: &[String]) -> String {
    let mut client = exchange.connect();
    exchange::send(&mut client, "GET", path, headers, "");
    client.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    let (mut bytes, mut byte) = (Vec::new(), [0]);
    while !bytes.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte).expect("a head");
        bytes.push(byte[0]);
    }
    String::from_utf8(bytes).expect("text")
}

#[test]
fn a_file_that_is_known_is_not_sent_again() {
    let mut exchange = Exchange::start();
    let first = page(&mut exchange, "/web/app.js", &[]);
    let tag = first.header("etag").expect("a tag").to_owned();
    // An answer 304 has no body and so no length: it ends with its head.
    let known = head(&mut exchange, "/web/app.js", &[format!("If-None-Match: {tag}")]);
    assert!(known.starts_with("HTTP/1.1 304 ") && known.contains(&tag), "{known}");
    let other = page(&mut exchange, "/web/app.js", &["If-None-Match: \"x\"".to_owned()]);
    assert_eq!((other.status, other.body), (200, first.body));
}

#[test]
fn files_are_sent_as_small_as_the_client_takes_them() {
    let mut exchange = Exchange::start();
    let whole = page(&mut exchange, "/web/app.js", &[]);
    assert_eq!(whole.header("content-encoding"), None);
    for (accepted, encoding) in
        [("gzip, deflate, br", "br"), ("gzip;q=1.0, deflate", "gzip"), ("deflate, gzip", "gzip")]
    {
        let head = head(&mut exchange, "/web/app.js", &[format!("Accept-Encoding: {accepted}")])
            .to_ascii_lowercase();
        assert!(head.contains(&format!("content-encoding: {encoding}\r\n")), "{accepted}: {head}");
        assert!(head.contains("vary: accept-encoding\r\n"), "{head}");
        let length = head
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.split('\r').next()?.parse::<usize>().ok());
        assert!(
            length.is_some_and(|length| length * 2 < whole.body.len()),
            "{length:?} of {}",
            whole.body.len()
        );
    }
}

#[test]
fn the_page_learns_how_fast_orders_were_answered() {
    let mut exchange = Exchange::start();
    let read = |exchange: &mut Exchange| {
        serde_json::from_str::<Value>(&page(exchange, "/web/latency.json", &[]).body).expect("JSON")
    };
    assert_eq!(read(&mut exchange), json!({ "count": 0, "p50_us": null, "p99_us": null }));
    // Refused, and answered all the same.
    for _ in 0..3 {
        assert_eq!(exchange.request("POST", "/api/v1/spot/orders", &[], "{}").status, 401);
    }
    let told = read(&mut exchange);
    assert_eq!(told["count"], 3);
    let (half, most) = (told["p50_us"].as_u64().expect("a bound"), told["p99_us"].as_u64().expect("a bound"));
    assert!(0 < half && half <= most && most < 60_000_000, "{told}");
}

#[test]
fn what_is_no_file_is_not_found() {
    let mut exchange = Exchange::start();
    for path in [
        "/web/",
        "/web/nothing.js",
        "/web/..%2fapp.js",
        "/web/dist/app.js",
        "/web/app.js.br",
        "/index.html",
        "/web",
    ] {
        let answer = page(&mut exchange, path, &[]);
        assert_eq!((answer.status, answer.body.as_str()), (404, r#"{"error":"not found"}"#), "{path}");
    }
    assert_eq!(exchange.request("POST", "/", &[], "{}").status, 405);
}

#[test]
fn the_page_learns_what_a_login_needs() {
    for is_test in [true, false] {
        let mut exchange = Exchange::start_with(|config| {
            config.test_deployment = is_test;
            config.chain_id = 56;
        });
        let answer = page(&mut exchange, "/web/settings.json", &[]);
        assert_eq!(
            answer.body,
            format!(
                r#"{{"chain_id":56,"deposits":false,"node":null,"test_deployment":{is_test},"withdrawals":null}}"#
            )
        );
    }
}

/// A node that a test deployment names may be reached from the page itself, and from nothing else.
#[test]
fn the_page_may_reach_the_node_of_a_test_deployment() {
    let mut exchange = Exchange::start_with(|config| {
        config.page_node = Url::parse("http://127.0.0.1:8545/", "http");
    });
    let allows = |answer: &Answer| {
        let policy = answer.header("content-security-policy").expect("a policy").to_owned();
        assert_eq!(policy.matches("connect-src").count(), 1, "{policy}");
        policy.contains("connect-src 'self' ws://ringside wss://ringside http://127.0.0.1:8545;")
    };
    assert!(allows(&page(&mut exchange, "/", &[])));
    let settings = page(&mut exchange, "/web/settings.json", &[]).body;
    assert!(settings.contains(r#""node":"http://127.0.0.1:8545/""#), "{settings}");
    assert!(!allows(&page(&mut exchange, "/web/app.js", &[])));
}
