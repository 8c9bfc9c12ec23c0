//! The page and its files as the server gives them. What a browser makes of them is `scripts/page.sh`'s business.

use crate::exchange::{self, Answer, Exchange};
use ringside_gateway::config::feed::Url;
use std::collections::BTreeSet;
use std::io::Read;
use std::time::Duration;

fn page(exchange: &mut Exchange, path: &str, headers: &[String]) -> Answer {
    exchange.request("GET", path, headers, "")
}

/// Paths of this server that a text names: in attributes, and as imports of a module.
fn named(text: &str) -> BTreeSet<String> {
    let attributes = text.split('"').filter(|part| part.starts_with("/web/")).map(str::to_owned);
    let imports = text
        .split("from './")
        .skip(1)
        .filter_map(|rest| rest.split_once('\'').map(|(name, _)| format!("/web/{name}")));
    attributes.chain(imports).collect()
}

#[test]
fn every_file_that_the_page_names_is_served() {
    let mut exchange = Exchange::start();
    let (mut open, mut seen) = (vec!["/".to_owned()], BTreeSet::new());
    while let Some(path) = open.pop() {
        let answer = page(&mut exchange, &path, &[]);
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        let kind = answer.header("content-type").expect("a type").split(';').next().expect("a type");
        let expected = match path.rsplit_once('.') {
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
        seen.insert(path.clone());
        // Libraries are built whole and name nothing.
        if answer.body.len() < 40_000 {
            open.extend(named(&answer.body).into_iter().filter(|path| !seen.contains(path)));
        }
    }
    for path in ["/web/app.js", "/web/sign.js", "/web/noble.js", "/web/lightweight-charts.js"] {
        assert!(seen.contains(path), "{path} of {seen:?}");
    }
    for path in ["/web/noble.LICENSE", "/web/lightweight-charts.LICENSE"] {
        assert_eq!(page(&mut exchange, path, &[]).status, 200, "{path}");
    }
}

#[test]
fn a_file_that_is_known_is_not_sent_again() {
    let mut exchange = Exchange::start();
    let first = page(&mut exchange, "/web/app.js", &[]);
    let tag = first.header("etag").expect("a tag").to_owned();
    // An answer 304 has no body and so no length: it ends with its head.
    let mut client = exchange.connect();
    exchange::send(&mut client, "GET", "/web/app.js", &[format!("If-None-Match: {tag}")], "");
    client.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    let (mut bytes, mut byte) = (Vec::new(), [0]);
    while !bytes.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte).expect("a head");
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).expect("text");
    assert!(head.starts_with("HTTP/1.1 304 ") && head.contains(&tag), "{head}");
    let other = page(&mut exchange, "/web/app.js", &["If-None-Match: \"x\"".to_owned()]);
    assert_eq!((other.status, other.body), (200, first.body));
}

#[test]
fn what_is_no_file_is_not_found() {
    let mut exchange = Exchange::start();
    for path in
        ["/web/", "/web/nothing.js", "/web/..%2fapp.js", "/web/vendor/noble.js", "/index.html", "/web"]
    {
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
