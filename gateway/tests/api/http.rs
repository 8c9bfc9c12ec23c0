//! The edge through real sockets: every refusal it makes, the order of its checks, and what it does to those who misbehave.

use crate::random::{Random, seed};
use crate::server::{ADMIN_KEY, Client, START_MS, TestServer, head};
use ringside_auth::access::{Auth, Permission};
use ringside_config::Value;
use ringside_edge::http::order_rate::OrderCount;
use ringside_edge::route::{
    Answer as HandlerAnswer, Call, Handler, Method, Response, Route, StatusCode, Weight,
};
use ringside_wire::fault::Denied;
use ringside_wire::refusal::Dialect;
use ringside_wire::refusal::Error;
use std::time::{Duration, Instant};

static ROUTES: &[&[Route]] = &[&[
    Route::new(Method::Get, "/api/v1/plain", Handler::Now(|_| Ok(Response::json("{}")))),
    Route::new(Method::Delete, "/api/v1/plain", Handler::Now(|_| Ok(Response::json("{}")))),
    Route::new(Method::Get, "/elsewhere", Handler::Now(|_| Ok(Response::json("{}")))),
    Route {
        dialect: Dialect::Fapi,
        ..Route::new(Method::Get, "/fapi/v1/plain", Handler::Now(|_| Ok(Response::json("{}"))))
    },
    Route::new(Method::Post, "/api/v1/echo", Handler::Now(|call| Ok(Response::json(call.body.clone())))),
    Route::new(Method::Post, "/api/v1/object", Handler::Now(object)),
    Route {
        auth: Auth::Account(Permission::Read),
        ..Route::new(Method::Get, "/api/v1/read", Handler::Now(who))
    },
    Route {
        auth: Auth::Account(Permission::Trade),
        ..Route::new(Method::Post, "/api/v1/trade", Handler::Now(object))
    },
    Route {
        auth: Auth::JwtOnly(Denied::Withdraw),
        ..Route::new(Method::Post, "/api/v1/withdraw", Handler::Now(who))
    },
    Route {
        auth: Auth::JwtOnly(Denied::LoginOnly),
        ..Route::new(Method::Get, "/api/v1/keys", Handler::Now(who))
    },
    Route {
        auth: Auth::Optional(Permission::Read),
        ..Route::new(Method::Get, "/api/v1/optional", Handler::Now(who))
    },
    Route { auth: Auth::Admin, ..Route::new(Method::Get, "/api/v1/admin", Handler::Now(who)) },
    Route { is_probe: true, ..Route::new(Method::Get, "/alive", Handler::Now(|_| Ok(Response::json("{}")))) },
    Route {
        auth: Auth::Admin,
        precondition: Some(|_| Err(Error::spot(StatusCode::NOT_FOUND, "DISABLED"))),
        ..Route::new(Method::Get, "/api/v1/disabled", Handler::Now(who))
    },
    Route {
        auth: Auth::Account(Permission::Trade),
        orders: OrderCount::ONE,
        ..Route::new(Method::Post, "/api/v1/order", Handler::Now(object))
    },
    Route {
        auth: Auth::Account(Permission::Trade),
        dialect: Dialect::Fapi,
        orders: OrderCount { ten_seconds: 5, minute: 1 },
        ..Route::new(Method::Post, "/fapi/v1/batch", Handler::Now(object))
    },
    Route {
        auth: Auth::Account(Permission::Trade),
        orders: OrderCount::ONE,
        ..Route::new(
            Method::Post,
            "/api/v1/busy",
            Handler::Now(|_| Err(Error::spot(StatusCode::SERVICE_UNAVAILABLE, "ENGINE_BUSY"))),
        )
    },
    Route {
        weight: Weight::ByQuery(|query| query.get("weight").and_then(|text| text.parse().ok()).unwrap_or(1)),
        ..Route::new(Method::Get, "/api/v1/heavy", Handler::Now(|_| Ok(Response::json("{}"))))
    },
    Route::new(Method::Get, "/api/v1/slow", Handler::Later(|call| Box::pin(slow(call)))),
    Route::new(Method::Post, "/api/v1/slow", Handler::Later(|call| Box::pin(slow(call)))),
    Route {
        dialect: Dialect::Fapi,
        ..Route::new(Method::Post, "/fapi/v1/slow", Handler::Later(|call| Box::pin(slow(call))))
    },
    Route {
        dialect: Dialect::Account,
        ..Route::new(Method::Post, "/account/slow", Handler::Later(|call| Box::pin(slow(call))))
    },
    Route::new(Method::Get, "/api/v1/panic", Handler::Now(|_| panic!("a handler panics on purpose"))),
    Route::new(Method::Get, "/api/v1/path/{one}/{two}", Handler::Now(path)),
    Route::new(
        Method::Get,
        "/api/v1/ip",
        Handler::Now(|call| Ok(Response::json(call.ip.map_or("unknown".to_owned(), |ip| ip.to_string())))),
    ),
    Route::new(Method::Get, "/upgrade", Handler::Now(upgrade)),
]];

fn object(call: &Call) -> HandlerAnswer {
    let value: serde_json::Map<String, serde_json::Value> = call.json()?;
    Ok(Response::of(&value))
}

fn who(call: &Call) -> HandlerAnswer {
    Ok(Response::of(&call.identity.map(|identity| identity.account)))
}

fn path(call: &Call) -> HandlerAnswer {
    Ok(Response::of(&[call.path_param(0), call.path_param(1)]))
}

async fn slow(call: Call) -> HandlerAnswer {
    let query = call.query().get("ms").and_then(|text| text.parse().ok()).unwrap_or(0);
    tokio::time::sleep(Duration::from_millis(query)).await;
    Ok(Response::json("{\"slow\":true}"))
}

/// Says 101 and then sends back what it gets, in capitals.
fn upgrade(call: &Call) -> HandlerAnswer {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let Some(upgrade) = call.upgrade.take() else {
        return Err(Error::spot(StatusCode::UPGRADE_REQUIRED, "upgrade required"));
    };
    tokio::task::spawn_local(async move {
        let mut stream = hyper_util::rt::TokioIo::new(upgrade.await.expect("an upgrade"));
        let mut buffer = [0; 64];
        while let Ok(len @ 1..) = stream.read(&mut buffer).await {
            buffer[..len].make_ascii_uppercase();
            stream.write_all(&buffer[..len]).await.expect("a client");
        }
    });
    let header = |name, value| {
        (hyper::header::HeaderName::from_static(name), hyper::header::HeaderValue::from_static(value))
    };
    let mut response = Response::new(StatusCode::SWITCHING_PROTOCOLS, header("a", "b").1, Default::default());
    response.headers = vec![header("connection", "upgrade"), header("upgrade", "capitals")];
    Ok(response)
}

fn start() -> TestServer {
    TestServer::start(ROUTES)
}

/// Sends one request on a connection of its own and compares status and body.
#[track_caller]
fn check(server: &TestServer, request: (&str, &str), headers: &[&str], body: &str, expected: (u16, &str)) {
    let answer = server.request(request.0, request.1, headers, body);
    assert_eq!((answer.status, answer.body.as_str()), expected, "{request:?} {headers:?}");
}

#[test]
fn unknown_paths_and_methods() {
    let server = start();
    check(&server, ("GET", "/api/v1/plain"), &[], "", (200, "{}"));
    check(&server, ("GET", "/api/v1/nothing"), &[], "", (404, r#"{"error":"not found"}"#));
    check(&server, ("GET", "/api/v1/plain/"), &[], "", (404, r#"{"error":"not found"}"#));
    check(&server, ("GET", "/"), &[], "", (404, r#"{"error":"not found"}"#));
    check(&server, ("POST", "/api/v1/plain"), &[], "{}", (405, r#"{"error":"method not allowed"}"#));
    let fapi = r#"{"code":-5000,"msg":"Path /fapi/v1/nothing, Method GET is invalid"}"#;
    check(&server, ("GET", "/fapi/v1/nothing"), &[], "", (404, fapi));
    let fapi = r#"{"code":-5000,"msg":"Path /fapi/v1/plain, Method PUT is invalid"}"#;
    check(&server, ("PUT", "/fapi/v1/plain"), &[], "", (404, fapi));
    let answer = server.request("PATCH", "/api/v1/plain", &[], "");
    assert_eq!(answer.header("allow"), Some("GET, HEAD, DELETE"));
}

#[test]
fn path_parameters_are_decoded() {
    let server = start();
    check(&server, ("GET", "/api/v1/path/a%20b/%C3%A9?x=y"), &[], "", (200, r#"["a b","é"]"#));
    check(&server, ("GET", "/api/v1/path/a%2Fb/%ff"), &[], "", (200, "[\"a/b\",\"\u{fffd}\"]"));
}

#[test]
fn bodies_up_to_the_limit() {
    let server = start();
    let fits = format!("\"{}\"", "x".repeat(65_534));
    check(&server, ("POST", "/api/v1/echo"), &[], &fits, (200, &fits));
    let too_large = (413, r#"{"error":"body too large"}"#);
    check(&server, ("POST", "/api/v1/echo"), &[], &format!("{fits} "), too_large);
    // Read and thrown away, so that the refusal arrives.
    check(&server, ("POST", "/api/v1/echo"), &[], &"x".repeat(900_000), too_large);

    // Announced far too large: refused before a byte of it is sent.
    let mut client = server.connect();
    client.send(b"POST /api/v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999\r\n\r\n");
    assert_eq!(client.receive().expect("a refusal").status, 413);
    assert_eq!(client.receive(), None, "and the connection is closed");

    // A client that asks first is not told to go on.
    let mut client = server.connect();
    client.send(
        b"POST /api/v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\nExpect: 100-continue\r\n\r\n",
    );
    assert_eq!(client.receive().expect("a refusal").status, 413);

    // In chunks, the length shows only as they come.
    let mut client = server.connect();
    client.send(b"POST /api/v1/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    for _ in 0..17 {
        client.send(format!("1000\r\n{}\r\n", "x".repeat(4096)).as_bytes());
    }
    client.send(b"0\r\n\r\n");
    assert_eq!(client.receive().expect("a refusal").status, 413);

    let mut client = server.connect();
    client.send(b"POST /api/v1/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.send(b"3\r\n[1,\r\n2\r\n2]\r\n0\r\n\r\n");
    assert_eq!(client.receive().expect("an answer").body, "[1,2]");
}

#[test]
fn a_body_must_be_a_json_object() {
    let server = start();
    check(&server, ("POST", "/api/v1/object"), &[], " {\"a\":1}", (200, r#"{"a":1}"#));
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(30_000), "]".repeat(30_000));
    for (wrong, why) in [
        ("", "no JSON object"),
        ("[1]", "no JSON object"),
        ("1", "no JSON object"),
        ("null", "no JSON object"),
        ("{", "EOF while parsing an object at line 1 column 1"),
        ("{\"a\":1}}", "trailing characters at line 1 column 8"),
        ("{a:1}", "key must be a string at line 1 column 2"),
        ("{\"a\":1} x", "trailing characters at line 1 column 9"),
        ("\u{feff}{}", "no JSON object"),
        (&deep, "recursion limit exceeded at line 1 column 132"),
    ] {
        let body = format!(r#"{{"error":"invalid json","message":"body: {why}"}}"#);
        check(&server, ("POST", "/api/v1/object"), &[], wrong, (400, &body));
    }
}

#[test]
fn credentials() {
    let server = start();
    let unauthorized = (401, r#"{"error":"UNAUTHORIZED"}"#);
    let token = server.bearer();
    let (_, both) = server.api_key((true, true));
    let (_, read) = server.api_key((true, false));
    let (_, trade) = server.api_key((false, true));
    let get = ("GET", "/api/v1/read");

    for good in [&token, &both, &read] {
        check(&server, get, &[good], "", (200, "7"));
    }
    check(&server, get, &[&token.replace("Bearer", "bEARER")], "", (200, "7"));
    let unknown_key = format!("X-API-Key: {}", "A".repeat(64));
    let admin_key = format!("X-API-Key: {ADMIN_KEY}");
    for wrong in [
        "A: b",
        "Authorization: Bearer",
        "Authorization: Bearer x",
        "Authorization: Basic YTpi",
        "Authorization: ",
        "X-API-Key:",
        "X-API-Key: \u{1}",
        &unknown_key,
        &admin_key,
    ] {
        if wrong.contains('\u{1}') {
            continue;
        }
        check(&server, get, &[wrong], "", unauthorized);
    }
    // Both sent: the token counts.
    check(&server, get, &["Authorization: Bearer x", &both], "", unauthorized);
    check(&server, ("POST", "/api/v1/trade"), &[&token, &read], "{}", (200, "{}"));
    // Another scheme is not a token, so the key counts.
    check(&server, get, &["Authorization: Basic YTpi", &both], "", (200, "7"));

    let denied = |what: &str| format!(r#"{{"error":"API Key permission denied: {what} not allowed"}}"#);
    check(&server, get, &[&trade], "", (403, &denied("read")));
    check(&server, ("POST", "/api/v1/trade"), &[&read], "{}", (403, &denied("trade")));
    check(&server, ("POST", "/api/v1/trade"), &[&trade], "{}", (200, "{}"));

    check(&server, ("POST", "/api/v1/withdraw"), &[&token], "{}", (200, "7"));
    check(&server, ("POST", "/api/v1/withdraw"), &[&both], "{}", (403, &denied("withdraws")));
    check(&server, ("POST", "/api/v1/withdraw"), &[&unknown_key], "{}", unauthorized);
    check(&server, ("GET", "/api/v1/keys"), &[&token], "", (200, "7"));
    let forbidden = r#"{"error":"FORBIDDEN","message":"this route takes a login token, not an API key"}"#;
    check(&server, ("GET", "/api/v1/keys"), &[&both], "", (403, forbidden));

    check(&server, ("GET", "/api/v1/optional"), &[], "", (200, "null"));
    check(&server, ("GET", "/api/v1/optional"), &[&token], "", (200, "7"));
    check(&server, ("GET", "/api/v1/optional"), &["Authorization: Bearer x"], "", unauthorized);
    check(&server, ("GET", "/api/v1/optional"), &[&trade], "", (403, &denied("read")));
    check(&server, ("GET", "/api/v1/plain"), &["Authorization: Bearer x"], "", (200, "{}"));

    check(&server, ("GET", "/api/v1/admin"), &[&admin_key], "", (200, "null"));
    for wrong in ["A: b", &token, &both, &format!("{admin_key}x"), &admin_key[..admin_key.len() - 1]] {
        check(&server, ("GET", "/api/v1/admin"), &[wrong], "", unauthorized);
    }
}

#[test]
fn a_token_ends_at_its_time_also_on_a_connection_that_knows_it() {
    let server = start();
    let token = server.bearer();
    let mut client = server.connect();
    assert_eq!(client.request("GET", "/api/v1/read", &[&token], "").status, 200);
    server.clock.turn(86_399_000);
    assert_eq!(client.request("GET", "/api/v1/read", &[&token], "").status, 200);
    server.clock.turn(1_000);
    let expired = (401, r#"{"error":"TOKEN_EXPIRED"}"#);
    let answer = client.request("GET", "/api/v1/read", &[&token], "");
    assert_eq!((answer.status, answer.body.as_str()), expired);
    check(&server, ("GET", "/api/v1/read"), &[&token], "", expired);
}

#[test]
fn a_connection_remembers_nothing_that_is_no_longer_so() {
    use ringside_auth::key::KeyChange;
    let server = start();
    let (id, key) = server.api_key((true, true));
    let keys = &server.shared.edge.auth.keys;
    let mut client = server.connect();
    let mut status = |headers: &[&str]| client.request("GET", "/api/v1/read", headers, "").status;
    assert_eq!((status(&[&key]), status(&[&key])), (200, 200));
    // Another credential, or none, on the same connection.
    let other = format!("{}{}", &key[..key.len() - 1], if key.ends_with('A') { 'B' } else { 'A' });
    assert_eq!((status(&[&other]), status(&[]), status(&[&key])), (401, 401, 200));
    keys.change(7, id, KeyChange { permissions: Some((false, true)), ..Default::default() })
        .expect("a change");
    assert_eq!(status(&[&key]), 403);
    keys.change(7, id, KeyChange { permissions: Some((true, true)), ..Default::default() })
        .expect("a change");
    assert_eq!(status(&[&key]), 200);
    keys.change(7, id, KeyChange { enabled: Some(false), ..Default::default() }).expect("a change");
    assert_eq!(status(&[&key]), 401);
    keys.change(7, id, KeyChange { enabled: Some(true), ..Default::default() }).expect("a change");
    let elsewhere = vec![ringside_auth::cidr::Cidr::parse("127.0.0.2").expect("an address")];
    keys.change(7, id, KeyChange { ip_whitelist: Some(elsewhere), ..Default::default() }).expect("a change");
    assert_eq!(status(&[&key]), 401);
    let mut from_there = server.connect_from("127.0.0.2");
    assert_eq!(from_there.request("GET", "/api/v1/read", &[&key], "").status, 200);
    keys.delete(7, id).expect("it is deleted");
    assert_eq!(from_there.request("GET", "/api/v1/read", &[&key], "").status, 401);
}

#[test]
fn the_first_failed_check_answers() {
    let server = TestServer::start_with(ROUTES, |config| config.orders_per_ten_seconds = 1);
    let long = "x".repeat(70_000);
    let token = server.bearer();
    let (_, read) = server.api_key((true, false));
    // 404 and 405 before 413; 413 before 401; 401 before 403 and 400; 403 before 400; the order rate before 400.
    check(&server, ("POST", "/api/v1/nothing"), &[], &long, (404, r#"{"error":"not found"}"#));
    check(&server, ("POST", "/api/v1/plain"), &[], &long, (405, r#"{"error":"method not allowed"}"#));
    check(&server, ("POST", "/api/v1/trade"), &[], &long, (413, r#"{"error":"body too large"}"#));
    check(&server, ("POST", "/api/v1/trade"), &[], "no json", (401, r#"{"error":"UNAUTHORIZED"}"#));
    const NO_OBJECT: &str = r#"{"error":"invalid json","message":"body: no JSON object"}"#;
    let denied = r#"{"error":"API Key permission denied: trade not allowed"}"#;
    check(&server, ("POST", "/api/v1/trade"), &[&read], "no json", (403, denied));
    check(&server, ("POST", "/api/v1/trade"), &[&token], "no json", (400, NO_OBJECT));
    check(&server, ("GET", "/api/v1/disabled"), &[], "", (404, r#"{"error":"DISABLED"}"#));
    check(&server, ("POST", "/api/v1/order"), &[&token], "no json", (400, NO_OBJECT));
    assert_eq!(server.request("POST", "/api/v1/order", &[&token], "no json").status, 429);
    assert_eq!(server.request("POST", "/api/v1/order", &[], "{}").status, 401);
    // 429 before 404.
    server.get("/api/v1/heavy?weight=2400", &[]);
    assert_eq!(server.request("POST", "/api/v1/nothing", &[], &long).status, 429);
}

#[test]
fn weight_is_charged_shown_and_refused() {
    let server = start();
    let used = |path: &str, expected: (u16, &str)| {
        let answer = server.get(path, &[]);
        assert_eq!(
            (answer.status, answer.header("x-ex-used-weight-1m")),
            (expected.0, Some(expected.1)),
            "{path}"
        );
        assert_eq!(answer.header("x-mbx-used-weight-1m"), Some(expected.1));
        answer
    };
    used("/api/v1/plain", (200, "1"));
    used("/api/v1/heavy?weight=5", (200, "6"));
    used("/api/v1/nothing", (404, "7"));
    used("/api/v1/read", (401, "8"));
    used("/fapi/v1/plain", (200, "9"));
    used("/fapi/v1/nothing", (404, "10"));
    // Other paths are charged as well, but show nothing, unless they are of the routes of accounts.
    assert_eq!(server.get("/elsewhere", &[]).header("x-ex-used-weight-1m"), None);
    used("/account/nothing", (404, "12"));
    used("/api/v1/heavy?weight=2388", (200, "2400"));
    server.clock.turn(59_001);
    let answer = used("/api/v1/plain", (429, "2401"));
    assert_eq!(answer.header("retry-after"), Some("1"));
    let body = r#"{"error":"RATE_LIMITED","message":"the limit is a weight of 2400 per minute"}"#;
    assert_eq!(answer.body, body);
    let answer = used("/fapi/v1/plain", (429, "2402"));
    assert!(answer.body.starts_with(r#"{"code":-1003,"msg":"Too many requests; current limit is 2400"#));
    // Another address has its own budget; the next minute gives this one a new one.
    assert_eq!(server.connect_from("127.0.0.2").request("GET", "/api/v1/plain", &[], "").status, 200);
    server.clock.turn(999);
    used("/api/v1/plain", (200, "1"));
}

#[test]
fn operators_and_probes_have_limits_of_their_own() {
    let server = TestServer::start_with(ROUTES, |config| config.weight_per_minute = 100);
    let admin = format!("X-API-Key: {ADMIN_KEY}");
    let status = |path: &str, headers: &[&str]| server.get(path, headers).status;
    // Beyond the limit of its address, then banned.
    assert_eq!(status("/api/v1/heavy?weight=100", &[]), 200);
    for refused in [429, 418] {
        assert_eq!(status("/api/v1/plain", &[]), refused);
        assert_eq!(status("/alive", &[]), 200);
        assert_eq!(status("/api/v1/admin", &[&admin]), 200);
        // A key that is wrong, or that the route does not ask for, is the address's.
        assert_eq!(status("/api/v1/admin", &["X-API-Key: admin-key-of-the-guess"]), refused);
        assert_eq!(status("/api/v1/admin", &[]), refused);
        assert_eq!(status("/api/v1/plain", &[&admin]), refused);
        (0..20).for_each(|_| assert!([429, 418].contains(&status("/api/v1/plain", &[]))));
    }
    // Their own limits hold, and bring no ban; neither takes from the other's.
    (0..98).for_each(|n| assert_eq!(status("/alive", &[]), 200, "{n}"));
    (0..30).for_each(|_| assert_eq!(status("/alive", &[]), 429));
    let answer = server.get("/api/v1/admin", &[&admin]);
    assert_eq!((answer.status, answer.header("x-ex-used-weight-1m")), (200, Some("3")));
    assert_eq!(server.connect_from("127.0.0.2").request("GET", "/alive", &[], "").status, 200);
    server.clock.turn(60_000);
    assert_eq!((status("/alive", &[]), status("/api/v1/plain", &[])), (200, 418));
}

#[test]
fn who_goes_on_after_429_is_banned_for_longer_each_time() {
    let server = start();
    let mut client = server.connect();
    let mut now_ms = START_MS;
    for length_s in [120, 480, 1_920] {
        assert_eq!(client.request("GET", "/api/v1/heavy?weight=2400", &[], "").status, 200);
        for _ in 0..20 {
            assert_eq!(client.request("GET", "/api/v1/plain", &[], "").status, 429);
        }
        let answer = client.request("GET", "/api/v1/plain", &[], "");
        assert_eq!(answer.status, 418);
        assert_eq!(answer.header("retry-after"), Some(length_s.to_string().as_str()));
        let until = now_ms + length_s * 1_000;
        let body = format!(r#"{{"error":"BANNED","message":"this address is banned until {until}"}}"#);
        assert_eq!(answer.body, body);
        let body = format!(
            "Way too many requests; IP banned until {until}. Please use the websocket for live updates to avoid bans."
        );
        let answer = client.request("GET", "/fapi/v1/plain", &[], "");
        assert_eq!(answer.body, format!(r#"{{"code":-1003,"msg":"{body}"}}"#));
        // A new connection is no way around it; another address is free.
        assert_eq!(server.get("/api/v1/plain", &[]).status, 418);
        assert_eq!(server.connect_from("127.0.0.2").request("GET", "/api/v1/plain", &[], "").status, 200);
        server.clock.turn(length_s * 1_000);
        now_ms += length_s * 1_000;
    }
    assert_eq!(client.request("GET", "/api/v1/plain", &[], "").status, 200);
}

#[test]
fn orders_per_account() {
    let server = start();
    let token = server.bearer();
    let (_, key) = server.api_key((true, true));
    let mut client = server.connect();
    server.clock.turn(9_500);
    for n in 0..300 {
        let credential = if n % 2 == 0 { &token } else { &key };
        assert_eq!(client.request("POST", "/api/v1/order", &[credential], "{}").status, 200, "{n}");
    }
    let answer = server.connect_from("127.0.0.2").request("POST", "/api/v1/order", &[&key], "{}");
    assert_eq!((answer.status, answer.header("retry-after")), (429, Some("1")));
    let body = r#"{"error":"RATE_LIMITED","message":"the limit is 300 orders per 10 seconds"}"#;
    assert_eq!(answer.body, body);
    // Other routes are not orders.
    assert_eq!(client.request("POST", "/api/v1/trade", &[&token], "{}").status, 200);
    server.clock.turn(500);
    assert_eq!(client.request("POST", "/api/v1/order", &[&token], "{}").status, 200);

    // The other dialect counts apart and shows what it counted.
    let answer = client.request("POST", "/fapi/v1/batch", &[&token], "{}");
    let shown =
        ["x-ex-order-count-10s", "x-mbx-order-count-10s", "x-ex-order-count-1m", "x-mbx-order-count-1m"];
    assert_eq!(shown.map(|name| answer.header(name)), [Some("5"), Some("5"), Some("1"), Some("1")]);
    for _ in 0..59 {
        client.request("POST", "/fapi/v1/batch", &[&token], "{}");
    }
    let answer = client.request("POST", "/fapi/v1/batch", &[&token], "{}");
    let body = r#"{"code":-1015,"msg":"Too many new orders; current limit is 300 orders per 10 SECOND."}"#;
    assert_eq!((answer.status, answer.body.as_str()), (429, body));
    assert_eq!(answer.header("x-ex-order-count-10s"), None);
}

#[test]
fn a_503_costs_neither_weight_nor_orders() {
    let server = TestServer::start_with(ROUTES, |config| {
        config.orders_per_ten_seconds = 2;
        config.weight_per_minute = 20;
    });
    let token = server.bearer();
    for _ in 0..30 {
        let answer = server.request("POST", "/api/v1/busy", &[&token], "{}");
        assert_eq!((answer.status, answer.header("x-ex-used-weight-1m")), (503, Some("0")));
    }
    assert_eq!(server.request("POST", "/api/v1/order", &[&token], "{}").status, 200);
    assert_eq!(server.request("POST", "/api/v1/order", &[&token], "{}").status, 200);
    assert_eq!(server.request("POST", "/api/v1/order", &[&token], "{}").status, 429);
}

#[test]
fn a_trusted_proxy_speaks_for_its_clients() {
    let server = TestServer::start_with(ROUTES, |config| {
        config.trusted_proxies = Value::parse("127.0.0.1,10.0.0.0/8").expect("networks");
        config.weight_per_minute = 40;
    });
    let ip = |from: &str, forwarded: &[&str]| {
        server.connect_from(from).request("GET", "/api/v1/ip", forwarded, "").body
    };
    assert_eq!(ip("127.0.0.1", &["X-Forwarded-For: 203.0.113.9"]), "203.0.113.9");
    assert_eq!(ip("127.0.0.1", &["X-Forwarded-For: 1.1.1.1, 203.0.113.9, 10.1.1.1"]), "203.0.113.9");
    assert_eq!(ip("127.0.0.1", &["X-Forwarded-For: 1.1.1.1", "X-Forwarded-For: 203.0.113.9"]), "203.0.113.9");
    // What a caller writes that is no text takes nothing from what its proxy says.
    assert_eq!(ip("127.0.0.1", &["X-Forwarded-For: \u{e9}, 203.0.113.9"]), "203.0.113.9");
    for (hop, address) in [
        ("203.0.113.9:5000", "203.0.113.9"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("[::ffff:203.0.113.9]:5000", "203.0.113.9"),
        ("2001:db8::7", "2001:db8::7"),
        ("[2001:db8::7]", "2001:db8::7"),
        ("[2001:db8::7]:443", "2001:db8::7"),
    ] {
        assert_eq!(ip("127.0.0.1", &[&format!("X-Forwarded-For: {hop}")]), address, "{hop}");
        assert_eq!(
            ip("127.0.0.1", &[&format!("X-Forwarded-For: 1.1.1.1, {hop}, 10.1.1.1:80")]),
            address,
            "{hop}"
        );
    }
    for nobody in NOBODY {
        let forwarded = format!("X-Forwarded-For: {nobody}");
        assert_eq!(ip("127.0.0.1", &[&forwarded]), "unknown", "{nobody}");
    }
    assert_eq!(ip("127.0.0.1", &[]), "unknown");
    // Anyone else may write what it likes.
    assert_eq!(ip("127.0.0.2", &["X-Forwarded-For: 203.0.113.9"]), "127.0.0.2");
    let mut proxy = server.connect();
    for n in 0..30 {
        let client = format!("X-Forwarded-For: 198.51.100.{}", n % 5);
        assert_eq!(proxy.request("GET", "/api/v1/plain", &[&client], "").status, 200);
    }
    for _ in 0..34 {
        proxy.request("GET", "/api/v1/plain", &["X-Forwarded-For: 198.51.100.0"], "");
    }
    assert_eq!(proxy.request("GET", "/api/v1/plain", &["X-Forwarded-For: 198.51.100.0"], "").status, 429);
    assert_eq!(proxy.request("GET", "/api/v1/plain", &["X-Forwarded-For: 198.51.100.1"], "").status, 200);
}

/// What a proxy may say that names no client: the last hop is no address, or all are proxies.
const NOBODY: &[&str] = &[
    "",
    "203.0.113.9, junk",
    "1.1.1.1, \u{e9}",
    "1.1.1.1,",
    "unknown",
    "unix:",
    "203.0.113.9:",
    "203.0.113.9:65536",
    "[203.0.113.9]",
    "[2001:db8::7",
    "[2001:db8::7]:x",
    "\"203.0.113.9\"",
    "127.0.0.1:5000",
    "10.1.1.1, 127.0.0.1",
];

#[test]
fn who_is_behind_a_proxy_and_not_named_is_not_taken_for_the_proxy() {
    let server = TestServer::start_with(ROUTES, |config| {
        config.trusted_proxies = Value::parse("127.0.0.1,10.0.0.0/8").expect("networks");
    });
    let bound = server.bound_key(&["127.0.0.0/8", "10.0.0.0/8", "::/0", "203.0.113.0/24"]);
    let status = |from: &str, forwarded: &[&str]| {
        let headers = [&[bound.as_str()], forwarded].concat();
        server.connect_from(from).request("GET", "/api/v1/read", &headers, "").status
    };
    assert_eq!(status("127.0.0.1", &["X-Forwarded-For: 203.0.113.9:5000"]), 200);
    assert_eq!(status("127.0.0.1", &["X-Forwarded-For: [2001:db8::7]:443"]), 200);
    assert_eq!(status("127.0.0.1", &["X-Forwarded-For: 198.51.100.1"]), 401);
    assert_eq!(status("127.0.0.2", &["X-Forwarded-For: junk"]), 200, "no proxy");
    // On a connection that knows the key as well.
    let mut known = server.connect();
    let good = [bound.as_str(), "X-Forwarded-For: 203.0.113.9"];
    assert_eq!(known.request("GET", "/api/v1/read", &good, "").status, 200);
    for nobody in NOBODY {
        let forwarded = format!("X-Forwarded-For: {nobody}");
        assert_eq!(status("127.0.0.1", &[&forwarded]), 401, "{nobody}");
        assert_eq!(known.request("GET", "/api/v1/read", &[&bound, &forwarded], "").status, 401, "{nobody}");
    }
    assert_eq!(status("127.0.0.1", &[]), 401);
    // A key that is bound to nothing opens for them.
    let (_, unbound) = server.api_key((true, true));
    assert_eq!(server.get("/api/v1/read", &[&unbound]).status, 200);
    // They share a limit, which is nobody else's.
    assert_eq!(server.get("/api/v1/heavy?weight=2400", &["X-Forwarded-For: junk"]).status, 429);
    assert_eq!(server.get("/api/v1/plain", &[]).status, 429);
    assert_eq!(server.get("/api/v1/plain", &["X-Forwarded-For: 203.0.113.9"]).status, 200);
    assert_eq!(server.connect_from("127.0.0.2").request("GET", "/api/v1/plain", &[], "").status, 200);
}

/// Limits of a tenth of what ships, so that tests need not wait for long.
fn impatient() -> TestServer {
    TestServer::start_with(ROUTES, |config| {
        config.header_timeout = Duration::from_millis(500);
        config.request_timeout = Duration::from_millis(1_000);
        config.idle_timeout = Duration::from_millis(3_000);
    })
}

#[test]
fn slow_heads_and_silent_connections_are_closed_and_others_served() {
    let server = impatient();
    let silent: Vec<Client> = (0..200).map(|_| server.connect()).collect();
    let mut slow: Vec<Client> = (0..200).map(|_| server.connect()).collect();
    let begin = Instant::now();
    // A byte now and then, for ever: none of them may live on by that.
    let mut text = b"GET /api/v1/plain HTTP/1.1\r\nHost: a\r\nX: ".iter().chain(std::iter::repeat(&b'x'));
    while begin.elapsed() < Duration::from_millis(1_200) {
        let byte = *text.next().expect("for ever");
        for client in &mut slow {
            use std::io::Write;
            let _ = client.stream.write_all(&[byte]);
        }
        assert_eq!(server.get("/api/v1/plain", &[]).status, 200);
        // As many rounds as a fast machine gets through would come to the weight of a minute.
        std::thread::sleep(Duration::from_millis(5));
    }
    for mut client in silent.into_iter().chain(slow) {
        let late = client.closes_within(Duration::from_secs(10));
        assert!(late.is_some_and(|late| late < Duration::from_millis(200)), "{late:?}");
    }
}

#[test]
fn a_connection_may_rest_between_requests_but_not_for_ever() {
    let server = impatient();
    let mut client = server.connect();
    assert_eq!(client.request("GET", "/api/v1/plain", &[], "").status, 200);
    std::thread::sleep(Duration::from_millis(1_500));
    assert_eq!(client.request("GET", "/api/v1/plain", &[], "").status, 200, "three header limits later");
    let closed = client.closes_within(Duration::from_secs(10)).expect("it is closed");
    assert!(closed > Duration::from_millis(2_500) && closed < Duration::from_millis(8_000), "{closed:?}");
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let server = impatient();
    let mut client = server.connect();
    client.send(b"POST /api/v1/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{");
    let answer = client.receive().expect("a refusal");
    assert_eq!((answer.status, answer.body.as_str()), (408, r#"{"error":"request timeout"}"#));
    assert_eq!(client.receive(), None);
}

#[test]
fn a_body_that_is_none_is_refused_at_once() {
    let server = start();
    let chunked = |body: &str| format!("Transfer-Encoding: chunked\r\n\r\n{body}");
    let broken = [
        chunked("zz"),
        chunked("zz\r\n"),
        chunked("-1\r\n{\r\n0\r\n\r\n"),
        chunked("1\r\n{}}\r\n0\r\n\r\n"),
        chunked("fffffffffffffffff\r\n{}"),
    ];
    // What breaks off is no body either.
    let short = ["Content-Length: 10\r\n\r\n{".to_owned(), chunked("5\r\n{"), chunked("2\r\n{}\r\n")];
    for (body, ends) in broken.iter().map(|body| (body, false)).chain(short.iter().map(|body| (body, true))) {
        for (path, refusal) in [
            ("/api/v1/slow", r#"{"error":"invalid request","message":"the body cannot be read as HTTP"}"#),
            (
                "/fapi/v1/slow",
                r#"{"code":-1102,"msg":"Mandatory parameter 'body' was not sent, was empty/null, or malformed."}"#,
            ),
            ("/account/slow", r#"{"code":"INVALID_PARAMETER","message":"the body cannot be read as HTTP"}"#),
        ] {
            let begin = Instant::now();
            let mut client = server.connect();
            client.send(format!("POST {path} HTTP/1.1\r\nHost: a\r\n{body}").as_bytes());
            if ends {
                client.stream.shutdown(std::net::Shutdown::Write).expect("half of it");
            }
            let answer = client.receive().expect("an answer");
            assert_eq!((answer.status, answer.body.as_str()), (400, refusal), "{body:?}");
            assert_eq!(client.receive(), None);
            assert!(begin.elapsed() < Duration::from_secs(5), "{body:?}: {:?}", begin.elapsed());
        }
    }
}

#[test]
fn who_has_said_all_it_had_to_say_is_answered() {
    let server = start();
    let slow = |ms: u64| head("POST", &format!("/api/v1/slow?ms={ms}"), &[], "{}");
    for ms in [0, 1, 5, 50, 300] {
        for both in [slow(ms), slow(ms) + &head("POST", "/api/v1/echo", &[], "[]")] {
            let mut client = server.connect();
            client.send(both.as_bytes());
            client.stream.shutdown(std::net::Shutdown::Write).expect("half of it");
            assert_eq!(
                client.receive().map(|answer| answer.body).as_deref(),
                Some(r#"{"slow":true}"#),
                "{ms}"
            );
            if both != slow(ms) {
                assert_eq!(client.receive().map(|answer| answer.body).as_deref(), Some("[]"), "{ms}");
            }
            assert_eq!(client.receive(), None);
        }
    }
}

#[test]
fn a_handler_that_does_not_finish_is_answered_for() {
    let server = impatient();
    let mut client = server.connect();
    assert_eq!(client.request("GET", "/api/v1/slow?ms=500", &[], "").body, r#"{"slow":true}"#);
    let answer = client.request("GET", "/api/v1/slow?ms=60000", &[], "");
    assert_eq!(answer.status, 500);
    assert_eq!(answer.body, r#"{"error":"internal","message":"no answer in time"}"#);
    // Of a change nobody knows whether it was made.
    let answer = client.request("POST", "/api/v1/slow?ms=60000", &[], "");
    let message = "no answer in time; the outcome is unknown, query before you retry";
    assert_eq!(answer.body, format!(r#"{{"error":"internal","message":"{message}"}}"#));
    assert_eq!(client.request("GET", "/api/v1/plain", &[], "").status, 200, "the connection goes on");
}

#[test]
fn heads_beyond_the_limits_are_refused() {
    let server = start();
    let mut client = server.connect();
    let long = format!("X: {}", "x".repeat(9_000));
    assert_eq!(client.request("GET", "/api/v1/plain", &[&long], "").status, 431);
    let many: Vec<String> = (0..120).map(|n| format!("X-{n}: y")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(server.get("/api/v1/plain", &many).status, 431);
    let fits = format!("X: {}", "x".repeat(7_500));
    assert_eq!(server.get("/api/v1/plain", &[&fits]).status, 200);
    let mut client = server.connect();
    client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    assert!(
        client.closes_within(Duration::from_secs(10)).is_some()
            || client.receive().is_none_or(|answer| answer.status == 400)
    );
}

/// What the HTTP library refuses by itself is an error of the exchange as well: JSON, with the members that clients look for.
#[test]
fn heads_that_cannot_be_read_are_answered_in_json() {
    let server = start();
    let long = format!("GET /api/v1/plain HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(9_000));
    for (status, head) in [
        (400, "GET /api/v1/plain?batchOrders=[{\"symbol\":\"BTCUSDT\"}] HTTP/1.1\r\nHost: ringside\r\n\r\n"),
        (400, "GET /api/v1/plain?a=b c HTTP/1.1\r\nHost: ringside\r\n\r\n"),
        (400, "hello\r\n\r\n"),
        (431, long.as_str()),
    ] {
        let mut client = server.connect();
        // Also behind a request that is fine.
        assert_eq!(client.request("GET", "/api/v1/plain", &[], "").status, 200);
        client.send(head.as_bytes());
        let answer = client.receive().expect("an answer");
        assert_eq!(answer.status, status, "{head}");
        assert_eq!(answer.header("content-type"), Some("application/json;charset=utf-8"));
        let body: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(body["code"], -1100);
        assert_eq!(body["error"], "invalid request");
        assert!(body["msg"].as_str().unwrap().starts_with("Illegal characters found in parameter"));
        assert!(client.closes_within(Duration::from_secs(10)).is_some());
    }
}

#[test]
fn requests_in_one_packet_are_answered_in_order() {
    let server = start();
    let mut client = server.connect();
    let mut packet = String::new();
    for n in 0..50 {
        let body = format!("[{n}]");
        let path = if n % 5 == 0 { "/api/v1/slow?ms=1" } else { "/api/v1/echo" };
        let method = if n % 5 == 0 { "GET" } else { "POST" };
        packet.push_str(&head(method, path, &[], if n % 5 == 0 { "" } else { &body }));
    }
    client.send(packet.as_bytes());
    for n in 0..50 {
        let expected = if n % 5 == 0 { r#"{"slow":true}"#.to_owned() } else { format!("[{n}]") };
        assert_eq!(client.receive().expect("an answer").body, expected);
    }
}

#[test]
fn a_panic_ends_its_own_connection_only() {
    let server = start();
    let mut other = server.connect();
    assert_eq!(other.request("GET", "/api/v1/plain", &[], "").status, 200);
    for _ in 0..10 {
        let mut client = server.connect();
        client.send(head("GET", "/api/v1/panic", &[], "").as_bytes());
        assert_eq!(client.receive(), None);
        assert_eq!(other.request("GET", "/api/v1/plain", &[], "").status, 200);
    }
}

#[test]
fn connections_are_capped_per_address_and_in_all() {
    let server = TestServer::start_with(ROUTES, |config| {
        config.max_connections_per_ip = 3;
        config.max_connections = 5;
    });
    let works = |client: &mut Client| {
        client.send(head("GET", "/api/v1/plain", &[], "").as_bytes());
        client.receive().is_some()
    };
    let mut first: Vec<Client> = (0..3).map(|_| server.connect()).collect();
    assert!(first.iter_mut().all(works));
    assert!(server.connect().closes_within(Duration::from_secs(10)).is_some(), "a fourth of one address");
    let mut second: Vec<Client> = (0..2).map(|_| server.connect_from("127.0.0.2")).collect();
    assert!(second.iter_mut().all(works));
    assert!(
        server.connect_from("127.0.0.3").closes_within(Duration::from_secs(10)).is_some(),
        "a sixth in all"
    );
    drop(first.pop());
    let begin = Instant::now();
    while !works(&mut server.connect()) {
        assert!(begin.elapsed() < Duration::from_secs(10), "a place that was left is free again");
    }
}

#[test]
fn connections_behind_a_proxy_are_capped_per_client() {
    let server = TestServer::start_with(ROUTES, |config| {
        config.trusted_proxies = Value::parse("127.0.0.1").expect("a network");
        config.max_connections_per_ip = 3;
        config.max_connections = 12;
    });
    let of = |client: &str| format!("X-Forwarded-For: {client}");
    let asks = |connection: &mut Client, client: &str| {
        connection.request("GET", "/api/v1/plain", &[&of(client)], "").status
    };
    let upgraded = |client: &str| {
        let mut connection = server.connect();
        let headers = [&of(client), "Connection: upgrade", "Upgrade: capitals"];
        (connection.request("GET", "/upgrade", &headers, "").status, connection)
    };
    // More connections of the proxy than one client may have: before a head they are nobody's.
    let mut silent: Vec<Client> = (0..6).map(|_| server.connect()).collect();
    let mut held: Vec<Client> = (0..3)
        .map(|_| {
            let (status, connection) = upgraded("198.51.100.1");
            assert_eq!(status, 101);
            connection
        })
        .collect();
    let (status, mut fourth) = upgraded("198.51.100.1:5000");
    assert_eq!(status, 429);
    assert!(fourth.closes_within(Duration::from_secs(10)).is_some(), "it is nobody's and may not stay");
    let mut refused = server.connect();
    let headers = [&of("198.51.100.1"), "X-EX-APIKEY: x"];
    let answer = refused.request("GET", "/fapi/v1/plain", &headers, "");
    let body = r#"{"code":-1003,"msg":"Too many connections; current limit is 3 connections per IP."}"#;
    assert_eq!((answer.status, answer.body.as_str(), answer.header("retry-after")), (429, body, Some("1")));
    drop((fourth, refused));
    // Others are not touched by that; a connection that serves several clients in turn is the last one's.
    let mut shared = silent.pop().expect("one of six");
    for client in ["198.51.100.2", "198.51.100.3", "198.51.100.2"] {
        assert_eq!(asks(&mut shared, client), 200);
    }
    let mut more: Vec<Client> = silent.drain(..2).collect();
    more.iter_mut().for_each(|connection| assert_eq!(asks(connection, "198.51.100.2"), 200));
    let mut fourth = silent.pop().expect("one of three");
    assert_eq!(asks(&mut fourth, "198.51.100.2"), 429);
    let mut other = silent.pop().expect("one of two");
    assert_eq!(asks(&mut other, "198.51.100.3"), 200, "which it no longer has");
    // Who is not named shares one cap.
    more.truncate(0);
    drop(shared);
    let unnamed: Vec<u16> = (0..4)
        .map(|_| server.connect())
        .map(|mut one| (asks(&mut one, "?"), std::mem::forget(one)).0)
        .collect();
    assert_eq!(unnamed, [200, 200, 200, 429]);
    // What goes makes room.
    held.pop();
    let begin = Instant::now();
    while upgraded("198.51.100.1").0 != 101 {
        assert!(begin.elapsed() < Duration::from_secs(10), "a place that was left is free again");
    }
}

#[test]
fn shutdown_finishes_what_runs_and_closes_what_rests() {
    let mut server = start();
    let mut resting = server.connect();
    assert_eq!(resting.request("GET", "/api/v1/plain", &[], "").status, 200);
    let mut fresh = server.connect();
    let mut running = server.connect();
    running.send(head("GET", "/api/v1/slow?ms=700", &[], "").as_bytes());
    std::thread::sleep(Duration::from_millis(200));
    let address = server.address();
    server.stop();
    assert!(resting.closes_within(Duration::from_millis(400)).is_some(), "closed before the slow one ends");
    assert!(fresh.closes_within(Duration::from_secs(10)).is_some());
    let answer = running.receive().expect("it is finished");
    assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    assert_eq!(running.receive(), None);
    let (took, ended) = server.join();
    assert!(took < Duration::from_secs(5), "{took:?}");
    ended.expect("no thread panicked");
    assert!(std::net::TcpStream::connect(address).is_err(), "nobody listens");
}

#[test]
fn shutdown_cuts_what_does_not_end() {
    let mut server =
        TestServer::start_with(ROUTES, |config| config.shutdown_timeout = Duration::from_millis(300));
    let mut running = server.connect();
    running.send(head("GET", "/api/v1/slow?ms=9000", &[], "").as_bytes());
    std::thread::sleep(Duration::from_millis(200));
    let (took, ended) = server.join();
    assert!(took < Duration::from_secs(5), "{took:?}");
    ended.expect("no thread panicked");
    assert_eq!(running.receive(), None);
}

#[test]
fn an_upgraded_connection_belongs_to_its_handler() {
    let server = TestServer::start_with(ROUTES, |config| config.max_connections_per_ip = 2);
    assert_eq!(server.get("/upgrade", &[]).status, 426);
    let mut client = server.connect();
    let answer = client.request("GET", "/upgrade", &["Connection: upgrade", "Upgrade: capitals"], "");
    assert_eq!((answer.status, answer.header("upgrade")), (101, Some("capitals")));
    use std::io::Read;
    for word in ["hello", "again"] {
        client.send(word.as_bytes());
        let mut got = [0; 5];
        client.stream.read_exact(&mut got).expect("an echo");
        assert_eq!(got, word.to_ascii_uppercase().as_bytes());
    }
    // A place that a connection has left is free a moment later.
    let take_place = || {
        let begin = Instant::now();
        loop {
            let mut client = server.connect();
            client.send(head("GET", "/api/v1/plain", &[], "").as_bytes());
            if client.receive().is_some_and(|answer| answer.status == 200) {
                return client;
            }
            assert!(begin.elapsed() < Duration::from_secs(10), "its place is free again");
        }
    };
    // It still holds its place under the caps.
    let _second = take_place();
    assert!(server.connect().closes_within(Duration::from_secs(10)).is_some());
    drop(client);
    take_place();
}

#[test]
fn random_bytes_never_hurt_anyone_else() {
    let server = TestServer::start_with(ROUTES, |config| config.weight_per_minute = u32::MAX);
    let mut random = Random::new(seed("http::random_bytes"));
    let mut random = move || random.next();
    let good = head(
        "POST",
        "/api/v1/object",
        &["X-API-Key: a", "Authorization: Bearer a.b.c"],
        "{\"a\":[1,2,\"x\"]}",
    );
    for round in 0..400 {
        let mut bytes = good.clone().into_bytes();
        for _ in 0..1 + random() % 8 {
            let at = random() as usize % bytes.len();
            match random() % 4 {
                0 => bytes[at] = random() as u8,
                1 => drop(bytes.drain(at..(at + random() as usize % 9).min(bytes.len()))),
                2 => bytes.insert(at, b"\r\n: {}\"\0"[random() as usize % 8]),
                _ => bytes.extend_from_within(at..),
            }
            if bytes.is_empty() {
                break;
            }
        }
        use std::io::Write;
        let mut client = server.connect();
        let _ = client.stream.write_all(&bytes);
        let _ = client.stream.shutdown(std::net::Shutdown::Write);
        // Whatever comes back, it ends.
        let mut all = Vec::new();
        use std::io::Read;
        match client.stream.read_to_end(&mut all) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "round {round}"),
        }
    }
    assert_eq!(server.get("/api/v1/plain", &[]).status, 200);
}

/// All that comes on a connection that the server closes: the head without what each answer has of its own, and what is behind it.
fn to_the_end(server: &TestServer, method: &str, path: &str, headers: &[&str]) -> (String, String) {
    let mut client = server.connect();
    let headers = [&["Connection: close"], headers].concat();
    client.send(head(method, path, &headers, "").as_bytes());
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut client.stream, &mut bytes).expect("an answer");
    let text = String::from_utf8(bytes).expect("text");
    let (head, rest) = text.split_once("\r\n\r\n").expect("a head");
    let own = |line: &&str| !["date:", "x-ex-used", "x-mbx-used"].iter().any(|name| line.starts_with(name));
    (head.lines().filter(own).collect::<Vec<_>>().join("\n"), rest.to_owned())
}

#[test]
fn a_head_request_is_answered_wherever_a_get_is() {
    let server = TestServer::start_with(ringside_gateway::routes::ROUTES, |config| {
        config.weight_per_minute = 1_000_000;
    });
    let mut count = 0;
    for route in ringside_gateway::routes::routes().filter(|route| route.method == Method::Get) {
        let path = route.path.replace("{*names}", "x").replace(['{', '}'], "");
        let (head, body) = to_the_end(&server, "GET", &path, &[]);
        let len = format!("content-length: {}", body.len());
        assert!(head.lines().any(|line| line == len) || body.is_empty(), "{path}: {head}");
        // What names the time or the method is as long as that.
        let without_len = |head: &str| {
            let lines = head.lines().filter(|line| !line.starts_with("content-length"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let (of_head, nothing) = to_the_end(&server, "HEAD", &path, &[]);
        assert_eq!((without_len(&of_head), nothing.as_str()), (without_len(&head), ""), "{path}");
        assert_eq!(of_head.contains("content-length: "), head.contains("content-length: "), "{path}");
        count += 1;
    }
    assert!(count > 100, "{count} routes");
    let (head, rest) = to_the_end(&server, "HEAD", "/api/v1/spot/nothing", &[]);
    assert!(head.starts_with("HTTP/1.1 404 ") && rest.is_empty(), "{head}");
    // Another method is none.
    let (head, _) = to_the_end(&server, "HEAD", "/api/v1/auth/login", &[]);
    assert!(head.starts_with("HTTP/1.1 405 "), "{head}");
}

#[test]
fn pages_of_configured_origins_may_read_answers() {
    let start = |is_test: bool| {
        TestServer::start_with(ROUTES, |config| {
            config.cors_origins =
                Value::parse("https://app.example, http://127.0.0.1:3000").expect("origins");
            config.public_url = Some("https://exchange.example/".to_owned());
            config.test_deployment = is_test;
        })
    };
    let (server, test) = (start(false), start(true));
    let reads = |server: &TestServer, method: &str, path: &str, origin: &str| {
        let answer = server.request(method, path, &[&format!("Origin: {origin}")], "");
        assert_eq!(answer.header("access-control-allow-credentials"), None);
        let allowed = answer.header("access-control-allow-origin").map(str::to_owned);
        assert_eq!(answer.header("vary"), allowed.as_ref().filter(|to| *to != "*").map(|_| "origin"));
        let is_shown = |shown: &str| shown.contains("x-mbx-used-weight-1m") && shown.contains("retry-after");
        assert_eq!(answer.header("access-control-expose-headers").is_some_and(is_shown), allowed.is_some());
        allowed
    };
    let own = ["https://app.example", "http://127.0.0.1:3000", "https://exchange.example", "http://ringside"];
    // Refusals too: who may not know why is of no help to anybody.
    for path in ["/api/v1/plain", "/api/v1/read", "/api/v1/nothing", "/fapi/v1/nothing"] {
        for origin in own {
            assert_eq!(reads(&server, "GET", path, origin).as_deref(), Some(origin), "{path}");
            assert_eq!(reads(&test, "GET", path, origin).as_deref(), Some(origin), "{path}");
        }
    }
    for origin in ["https://evil.example", "https://app.example.evil", "http://app.example", "null", "*", "x"]
    {
        for (method, path) in [("GET", "/api/v1/plain"), ("GET", "/api/v1/read"), ("POST", "/api/v1/echo")] {
            assert_eq!(reads(&server, method, path, origin), None, "{origin} {path}");
            // What anybody may see, any page may, where there is nothing to lose.
            let any = (path == "/api/v1/plain").then(|| "*".to_owned());
            assert_eq!(reads(&test, method, path, origin), any, "{origin} {path}");
        }
    }
    assert_eq!(server.get("/api/v1/plain", &[]).header("access-control-allow-origin"), None);
}

#[test]
fn what_a_browser_asks_before_a_page_may_send_is_answered() {
    let server = TestServer::start_with(ROUTES, |config| {
        config.cors_origins = Value::parse("https://app.example").expect("an origin");
    });
    let asks = |origin: &str, method: &str, path: &str| {
        let headers = [
            &format!("Origin: {origin}"),
            &format!("Access-Control-Request-Method: {method}"),
            "Access-Control-Request-Headers: x-mbx-apikey",
        ];
        server.request("OPTIONS", path, &headers, "")
    };
    let answer = asks("https://app.example", "POST", "/api/v1/trade");
    assert_eq!((answer.status, answer.body.as_str()), (204, ""));
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(answer.header("access-control-allow-methods"), Some("POST"));
    assert_eq!(answer.header("access-control-max-age"), Some("600"));
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    let allowed = answer.header("access-control-allow-headers").unwrap_or_default().to_owned();
    for name in
        ["authorization", "content-type", "idempotency-key", "x-api-key", "x-ex-apikey", "x-mbx-apikey"]
    {
        assert!(allowed.split(", ").any(|known| known == name), "{name}: {allowed}");
    }
    let answer = asks("https://app.example", "GET", "/fapi/v1/plain");
    assert_eq!(answer.header("access-control-allow-methods"), Some("GET, HEAD"));
    // Another page is told nothing but where anybody may read.
    let stranger = asks("https://evil.example", "POST", "/api/v1/trade");
    assert_eq!((stranger.status, stranger.header("access-control-allow-methods")), (204, None));
    assert_eq!(
        asks("https://evil.example", "GET", "/api/v1/read").header("access-control-allow-origin"),
        None
    );
    assert_eq!(
        asks("https://evil.example", "GET", "/api/v1/plain").header("access-control-allow-origin"),
        Some("*")
    );
    // What no route has, and what no browser asks.
    assert_eq!(asks("https://app.example", "PUT", "/api/v1/trade").status, 405);
    assert_eq!(asks("https://app.example", "POST", "/api/v1/nothing").status, 404);
    assert_eq!(server.request("OPTIONS", "/api/v1/trade", &[], "").status, 405);
    assert_eq!(server.request("OPTIONS", "/api/v1/trade", &["Origin: https://app.example"], "").status, 405);
    // It is counted like any request.
    let counted = asks("https://app.example", "POST", "/api/v1/trade");
    assert!(counted.header("x-mbx-used-weight-1m").is_some());
}
