//! Login, tokens and API keys through real sockets, against the real engine.

use crate::exchange::{self, Answer, Exchange};
use ringside_auth::Authenticator;
use ringside_auth::typed_data::{Login, Venue, address_of_key};
use ringside_commands::ingress::EngineState;
use ringside_wire::address::{address_text, parse_address};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

const NONCE: &str = "/api/v1/auth/nonce";
const LOGIN: &str = "/api/v1/auth/login";
const KEYS: &str = "/api/v1/account/api-keys";
const CHAIN: u64 = 31_337;

/// A wallet: its key is this number.
#[derive(Clone, Copy)]
struct Wallet(u8);

impl Wallet {
    fn key(self) -> [u8; 32] {
        let mut key = [0; 32];
        key[31] = self.0;
        key
    }

    fn address(self) -> String {
        address_text(&address_of_key(&self.key()).unwrap())
    }

    /// The signature of a login as this wallet, or for another, makes it.
    fn sign(self, chain_id: u64, address: &str, nonce: &str, expires_at_s: i64) -> String {
        let account = parse_address(address).unwrap();
        let login = Login { chain_id, account: &account, nonce, expires_at_s, venue: None };
        const_hex::encode_prefixed(login.sign(&self.key()).unwrap())
    }
}

fn parsed(answer: &Answer) -> Value {
    serde_json::from_str(&answer.body).unwrap()
}

/// Asks for a nonce; the nonce and when it expires.
fn nonce(exchange: &mut Exchange, address: &str) -> (String, i64) {
    let answer = exchange.request("GET", &format!("{NONCE}?address={address}"), &[], "");
    assert_eq!(answer.status, 200, "{}", answer.body);
    let body = parsed(&answer);
    (body["nonce"].as_str().unwrap().to_owned(), body["expires_at"].as_i64().unwrap())
}

fn login_body(address: &str, nonce: &str, signature: &str) -> String {
    json!({ "address": address, "nonce": nonce, "signature": signature }).to_string()
}

/// Logs a wallet in; its header and its token's claims.
fn log_in(exchange: &mut Exchange, wallet: Wallet) -> ([String; 1], Value) {
    let address = wallet.address();
    let (nonce, expires_at) = nonce(exchange, &address);
    let signature = wallet.sign(CHAIN, &address, &nonce, expires_at);
    let answer = exchange.request("POST", LOGIN, &[], &login_body(&address, &nonce, &signature));
    assert_eq!(answer.status, 200, "{}", answer.body);
    let body = parsed(&answer);
    assert_eq!((&body["token_type"], &body["address"]), (&json!("Bearer"), &json!(address)));
    let token = body["token"].as_str().unwrap();
    let claims = jsonwebtoken::dangerous::insecure_decode::<Value>(token).unwrap().claims;
    assert_eq!(claims["exp"], body["expires_at"]);
    ([format!("Authorization: Bearer {token}")], claims)
}

#[track_caller]
fn check(answer: &Answer, status: u16, error: &str) {
    let body = parsed(answer);
    assert_eq!((answer.status, body["error"].as_str()), (status, Some(error)), "{}", answer.body);
}

#[test]
fn a_nonce_comes_with_the_typed_data_to_sign() {
    let mut exchange = Exchange::start();
    let answer = exchange.request(
        "GET",
        &format!("{NONCE}?address=0x2B5AD5c4795c026514f8317c7a215E218DcCD6cF"),
        &[],
        "",
    );
    let body = parsed(&answer);
    let issued_at = exchange.clock.now_s();
    let nonce = body["nonce"].as_str().unwrap();
    assert!(nonce.len() == 32 && nonce.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
    let address = "0x2b5ad5c4795c026514f8317c7a215e218dccd6cf";
    let typed_data = |version: &str, login: Value, message: Value| {
        json!({
            "types": {
                "EIP712Domain": [
                    { "name": "name", "type": "string" },
                    { "name": "version", "type": "string" },
                    { "name": "chainId", "type": "uint256" },
                ],
                "Login": login,
            },
            "primaryType": "Login",
            "domain": { "name": "Exchange Login", "version": version, "chainId": CHAIN },
            "message": message,
        })
    };
    let deployment = body["typed_data_2"]["message"]["deployment"].clone();
    assert_eq!(deployment.as_str().unwrap().len(), 32);
    let expected = json!({
        "address": address,
        "nonce": nonce,
        "issued_at": issued_at,
        "expires_at": issued_at + 300,
        "version": 1,
        "typed_data": typed_data(
            "1",
            json!([
                { "name": "account", "type": "address" },
                { "name": "nonce", "type": "string" },
                { "name": "expiresAt", "type": "uint256" },
            ]),
            json!({ "account": address, "nonce": nonce, "expiresAt": issued_at + 300 }),
        ),
        "typed_data_2": typed_data(
            "2",
            json!([
                { "name": "account", "type": "address" },
                { "name": "uri", "type": "string" },
                { "name": "deployment", "type": "string" },
                { "name": "nonce", "type": "string" },
                { "name": "issuedAt", "type": "uint256" },
                { "name": "expiresAt", "type": "uint256" },
            ]),
            json!({
                "account": address, "uri": "http://127.0.0.1:0", "deployment": deployment, "nonce": nonce,
                "issuedAt": issued_at, "expiresAt": issued_at + 300,
            }),
        ),
    });
    assert_eq!(body, expected);
    for query in
        ["", "?address=", "?address=0x12", "?address=2b5ad5c4795c026514f8317c7a215e218dccd6cf", "?adress=x"]
    {
        check(&exchange.request("GET", &format!("{NONCE}{query}"), &[], ""), 400, "invalid address");
    }
}

#[test]
fn the_first_login_makes_the_account_and_the_next_finds_it() {
    let mut exchange = Exchange::start();
    let (first, claims) = log_in(&mut exchange, Wallet(2));
    let now_s = exchange.clock.now_s();
    assert_eq!((&claims["uid"], &claims["sub"]), (&json!(1), &json!(Wallet(2).address())));
    assert_eq!((&claims["iat"], &claims["exp"]), (&json!(now_s), &json!(now_s + 86_400)));
    let (_, other) = log_in(&mut exchange, Wallet(3));
    let (second, again) = log_in(&mut exchange, Wallet(2));
    assert_eq!((&other["uid"], &again["uid"]), (&json!(2), &json!(1)));
    assert_ne!(claims["jti"], again["jti"]);
    for token in [&first, &second] {
        assert_eq!(exchange.request("GET", "/api/v1/spot/orders", token, "").body, "[]");
    }
    exchange.clock.turn(86_400_000);
    check(&exchange.request("GET", "/api/v1/spot/orders", &first, ""), 401, "TOKEN_EXPIRED");
}

#[test]
fn the_forms_of_a_login() {
    let mut exchange = Exchange::start();
    let address = Wallet(2).address();
    let (nonce, expires_at) = nonce(&mut exchange, &address);
    let good = Wallet(2).sign(CHAIN, &address, &nonce, expires_at);
    for body in ["", "[]", "{", "\"x\""] {
        check(&exchange.request("POST", LOGIN, &[], body), 400, "invalid json");
    }
    let mut post = |body: Value| exchange.request("POST", LOGIN, &[], &body.to_string());
    for wrong in [json!(null), json!(5), json!("0x12"), json!(["x"]), json!(address.replace("0x", ""))] {
        let body = json!({ "address": wrong, "nonce": nonce, "signature": good });
        check(&post(body), 400, "invalid address");
    }
    check(&post(json!({ "nonce": nonce, "signature": good })), 400, "invalid address");
    for wrong in [
        json!(null),
        json!(7),
        json!("0x"),
        json!(good[..130]),
        json!(format!("{good}00")),
        json!(good.replace('1', "g")),
    ] {
        let body = json!({ "address": address, "nonce": nonce, "signature": wrong });
        check(&post(body), 400, "invalid signature");
    }
    for wrong in [json!(null), json!(7), json!(""), json!(nonce.to_uppercase() + "0"), json!("0".repeat(32))]
    {
        let body = json!({ "address": address, "nonce": wrong, "signature": good });
        check(&post(body), 401, "NONCE_INVALID");
    }
    // None of that used it up.
    assert_eq!(post(json!({ "address": address, "nonce": nonce, "signature": good, "more": 1 })).status, 200);
}

#[test]
fn a_nonce_is_good_once_for_its_address_and_for_five_minutes() {
    let mut exchange = Exchange::start();
    let (alice, bob) = (Wallet(2), Wallet(3));
    let attempt = |exchange: &mut Exchange, wallet: Wallet, (nonce, expires_at): &(String, i64)| {
        let address = wallet.address();
        let signature = wallet.sign(CHAIN, &address, nonce, *expires_at);
        exchange.request("POST", LOGIN, &[], &login_body(&address, nonce, &signature))
    };
    let issued = nonce(&mut exchange, &alice.address());
    check(&attempt(&mut exchange, bob, &issued), 401, "NONCE_INVALID");
    assert_eq!(attempt(&mut exchange, alice, &issued).status, 200);
    check(&attempt(&mut exchange, alice, &issued), 401, "NONCE_INVALID");

    let issued = nonce(&mut exchange, &alice.address());
    exchange.clock.turn(299_999);
    assert_eq!(attempt(&mut exchange, alice, &issued).status, 200);
    let issued = nonce(&mut exchange, &alice.address());
    exchange.clock.turn(300_000);
    check(&attempt(&mut exchange, alice, &issued), 401, "NONCE_INVALID");

    // However many others ask for, and for whomever, in the same second as well.
    let all: Vec<_> = (0..6).map(|_| nonce(&mut exchange, &alice.address())).collect();
    (0..100).for_each(|_| drop(nonce(&mut exchange, &alice.address())));
    for issued in &all {
        assert_eq!(attempt(&mut exchange, alice, issued).status, 200);
    }
}

#[test]
fn a_logout_ends_every_token_of_its_account() {
    const LOGOUT: &str = "/api/v1/auth/logout";
    const READ: &str = "/api/v1/spot/balances";
    let mut exchange = Exchange::start();
    let (other, _) = log_in(&mut exchange, Wallet(3));
    let (old, _) = log_in(&mut exchange, Wallet(2));
    exchange.clock.turn(1_000);
    let (token, _) = log_in(&mut exchange, Wallet(2));
    let key = parsed(&exchange.request("POST", KEYS, &token, r#"{"label":"one"}"#));
    let key = [format!("X-API-Key: {}", key["api_key"].as_str().unwrap())];
    check(&exchange.request("POST", LOGOUT, &key, ""), 403, "FORBIDDEN");
    check(&exchange.request("POST", LOGOUT, &[], ""), 401, "UNAUTHORIZED");
    // Connections that know the tokens from requests before.
    for header in [&old, &token, &other] {
        assert_eq!(exchange.request("GET", READ, header, "").status, 200);
    }
    let answer = exchange.request("POST", LOGOUT, &token, "");
    assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"ok":true}"#));
    for dead in [&old, &token] {
        check(&exchange.request("GET", READ, dead, ""), 401, "UNAUTHORIZED");
        check(&exchange.request("POST", LOGOUT, dead, ""), 401, "UNAUTHORIZED");
    }
    for header in [&other, &key] {
        assert_eq!(exchange.request("GET", READ, header, "").status, 200);
    }
    // A login in the same second is good, and dated behind the logout.
    let now_s = exchange.clock.now_s();
    let (again, claims) = log_in(&mut exchange, Wallet(2));
    assert_eq!((claims["iat"].as_i64(), claims["exp"].as_i64()), (Some(now_s + 1), Some(now_s + 86_401)));
    assert_eq!(exchange.request("GET", READ, &again, "").status, 200);

    // What a restart would open.
    let auth = exchange.reopened();
    let read = |header: &[String; 1]| {
        let token = header[0].strip_prefix("Authorization: Bearer ").unwrap();
        auth.read_token(token.as_bytes(), now_s, &*exchange.shared).map(|(bearer, _)| bearer.account)
    };
    assert!(read(&old).is_err() && read(&token).is_err());
    assert!(read(&again).is_ok() && read(&other).is_ok());
}

#[test]
fn only_the_wallet_itself_can_sign() {
    let mut exchange = Exchange::start();
    let address = Wallet(2).address();
    let forge: [fn(&str, &str, i64) -> String; 7] = [
        |address, nonce, at| Wallet(3).sign(CHAIN, address, nonce, at),
        |address, nonce, at| Wallet(2).sign(CHAIN + 1, address, nonce, at),
        |_, nonce, at| Wallet(2).sign(CHAIN, &Wallet(3).address(), nonce, at),
        |address, nonce, at| Wallet(2).sign(CHAIN, address, &nonce.replace(&nonce[..1], "f0"), at),
        |address, nonce, at| Wallet(2).sign(CHAIN, address, nonce, at + 1),
        |_, _, _| format!("0x{}", "00".repeat(65)),
        |_, _, _| format!("0x{}", "ff".repeat(65)),
    ];
    let used = |answer: Answer| answer.header("x-ex-used-weight-1m").map(str::to_owned);
    for forge in forge {
        let (nonce, expires_at) = nonce(&mut exchange, &address);
        let forged = login_body(&address, &nonce, &forge(&address, &nonce, expires_at));
        check(&exchange.request("POST", LOGIN, &[], &forged), 401, "SIGNATURE_INVALID");
        // It is used up with that, and was the same for whoever asked from there; nobody else's attempt is touched.
        let good = login_body(&address, &nonce, &Wallet(2).sign(CHAIN, &address, &nonce, expires_at));
        check(&exchange.request("POST", LOGIN, &[], &good), 401, "NONCE_INVALID");
        let mut elsewhere = exchange.connect_from("127.0.0.2");
        exchange::send(&mut elsewhere, "POST", LOGIN, &[], &good);
        assert_eq!(exchange.receive(&mut elsewhere, true).status, 200);
    }
    // Of each of the seven a nonce and two logins.
    let expected = 7 * (1 + 5 + 5) + 1;
    assert_eq!(used(exchange.request("GET", "/api/v1/nothing", &[], "")), Some(expected.to_string()));
    // v may be 0 or 1 as well.
    let (nonce, expires_at) = nonce(&mut exchange, &address);
    let good = Wallet(2).sign(CHAIN, &address, &nonce, expires_at);
    let short = match &good[130..] {
        "1b" => format!("{}00", &good[..130]),
        _ => format!("{}01", &good[..130]),
    };
    let answer = exchange.request("POST", LOGIN, &[], &login_body(&address, &nonce, &short));
    assert_eq!(answer.status, 200, "{}", answer.body);
}

#[test]
fn of_two_logins_with_one_nonce_one_succeeds() {
    let mut exchange = Exchange::start();
    let address = Wallet(2).address();
    let (nonce, expires_at) = nonce(&mut exchange, &address);
    let signature = Wallet(2).sign(CHAIN, &address, &nonce, expires_at);
    let body = login_body(&address, &nonce, &signature);
    // Both wait for the engine to make the account before either ends.
    let mut clients = [exchange.connect(), exchange.connect()];
    for client in &mut clients {
        exchange::send(client, "POST", LOGIN, &[], &body);
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    let mut statuses = clients.map(|mut client| exchange.receive(&mut client, true).status);
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 401]);
}

/// What a deployment has a wallet sign, signed, and the body that claims it.
fn bound(exchange: &mut Exchange, wallet: Wallet, change: impl Fn(&mut Value)) -> String {
    let path = format!("{NONCE}?address={}", wallet.address());
    let issued = parsed(&exchange.request("GET", &path, &[], ""));
    let both = issued["typed_data_2"].is_object();
    let mut message = issued[if both { "typed_data_2" } else { "typed_data" }]["message"].clone();
    change(&mut message);
    let text = |name: &str| message[name].as_str().unwrap();
    let number = |name: &str| message[name].as_i64().unwrap();
    let account = parse_address(&wallet.address()).unwrap();
    let venue = Venue { uri: text("uri"), deployment: text("deployment"), issued_at_s: number("issuedAt") };
    let login = Login {
        chain_id: CHAIN,
        account: &account,
        nonce: text("nonce"),
        expires_at_s: number("expiresAt"),
        venue: Some(venue),
    };
    let signature = const_hex::encode_prefixed(login.sign(&wallet.key()).unwrap());
    json!({ "address": wallet.address(), "nonce": issued["nonce"], "signature": signature, "version": 2 })
        .to_string()
}

/// Two deployments of one chain: what the one has a wallet sign is worth nothing at the other, also where the other had it sign the
/// first one's nonce.
#[test]
fn a_login_of_version_2_is_good_at_its_own_deployment_alone() {
    let at = |url: &'static str| {
        Exchange::start_with(|config| {
            config.public_url = Some(url.to_owned());
            config.test_deployment = false;
        })
    };
    let (mut one, mut other) = (at("https://one.example"), at("https://other.example"));
    for exchange in [&mut one, &mut other] {
        let good = bound(exchange, Wallet(2), |_| {});
        assert_eq!(exchange.request("POST", LOGIN, &[], &good).status, 200);
        check(&exchange.request("POST", LOGIN, &[], &good), 401, "NONCE_INVALID");
    }
    let foreign = bound(&mut one, Wallet(2), |_| {});
    check(&other.request("POST", LOGIN, &[], &foreign), 401, "NONCE_INVALID");
    let message = |exchange: &mut Exchange| {
        let path = format!("{NONCE}?address={}", Wallet(2).address());
        let issued = parsed(&exchange.request("GET", &path, &[], ""));
        assert_eq!((&issued["version"], issued.get("typed_data_2")), (&json!(2), None));
        issued["typed_data"]["message"].clone()
    };
    let others = message(&mut other);
    assert_eq!(others["uri"], "https://other.example");
    for names in [&["uri", "deployment"][..], &["uri"], &["deployment"], &["issuedAt"]] {
        let relayed = bound(&mut one, Wallet(2), |message| {
            for name in names {
                message[*name] = if *name == "issuedAt" { json!(1) } else { others[*name].clone() };
            }
        });
        check(&one.request("POST", LOGIN, &[], &relayed), 401, "SIGNATURE_INVALID");
    }
    // Version 1 is not taken here, nor what is no version.
    let (nonce, expires_at) = nonce(&mut one, &Wallet(2).address());
    let signature = Wallet(2).sign(CHAIN, &Wallet(2).address(), &nonce, expires_at);
    for version in [json!(1), json!(0), json!(3), json!("2"), json!(2.0), json!(null)] {
        let mut body = parsed_text(&login_body(&Wallet(2).address(), &nonce, &signature));
        body["version"] = version;
        check(&one.request("POST", LOGIN, &[], &body.to_string()), 400, "invalid version");
    }
    check(
        &one.request("POST", LOGIN, &[], &login_body(&Wallet(2).address(), &nonce, &signature)),
        400,
        "invalid version",
    );
    // It is the same deployment after a restart, and its nonces are not.
    let before = (message(&mut one), bound(&mut one, Wallet(2), |_| {}));
    let auth = one.reopened();
    let address = parse_address(&Wallet(2).address()).unwrap();
    let issued = auth.nonces.issue(&address, one.clock.now_s()).unwrap();
    let login = auth.login(&address, "", &issued, true).typed_data();
    assert_eq!(login["message"]["deployment"], before.0["deployment"]);
    let nonce = const_hex::decode_to_array(before.0["nonce"].as_str().unwrap()).unwrap();
    assert_eq!(auth.nonces.find(&address, &nonce, one.clock.now_s()), None);
    // A test deployment takes both.
    let mut both = Exchange::start();
    let good = bound(&mut both, Wallet(2), |_| {});
    assert_eq!(both.request("POST", LOGIN, &[], &good).status, 200);
    log_in(&mut both, Wallet(2));
}

fn parsed_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_login_during_recovery_can_be_tried_again() {
    let mut exchange = Exchange::start();
    let address = Wallet(2).address();
    let (nonce, expires_at) = nonce(&mut exchange, &address);
    let body = login_body(&address, &nonce, &Wallet(2).sign(CHAIN, &address, &nonce, expires_at));
    exchange.shared.phase.set(EngineState::Restarting);
    check(&exchange.request("POST", LOGIN, &[], &body), 503, "ENGINE_RESTARTING");
    exchange.shared.phase.set(EngineState::Running);
    assert_eq!(exchange.request("POST", LOGIN, &[], &body).status, 200);
}

#[test]
fn the_life_of_an_api_key() {
    let mut exchange = Exchange::start();
    let (token, _) = log_in(&mut exchange, Wallet(2));
    let (other, _) = log_in(&mut exchange, Wallet(3));
    let created_at = exchange.clock.now_s();
    let answer = exchange.request("POST", KEYS, &token, r#"{"label":"robot"}"#);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let made = parsed(&answer);
    let (key, secret) = (made["api_key"].as_str().unwrap(), made["api_secret"].as_str().unwrap());
    for text in [key, secret] {
        assert!(text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{text}");
    }
    let mut shown = json!({
        "id": made["id"], "api_key": key, "label": "robot", "permissions": ["read", "trade"], "ip_whitelist": [],
        "expires_at": null, "enabled": true, "created_at": created_at, "last_used_at": null,
    });
    let mut first = shown.clone();
    first["api_secret"] = json!(secret);
    assert_eq!(made, first);
    assert_eq!(parsed(&exchange.request("GET", KEYS, &token, "")), json!([shown]));
    assert_eq!(exchange.request("GET", KEYS, &other, "").body, "[]");

    let header = [format!("X-API-Key: {key}")];
    exchange.clock.turn(5_000);
    assert_eq!(exchange.request("GET", "/api/v1/spot/orders", &header, "").body, "[]");
    shown["last_used_at"] = json!(created_at + 5);
    assert_eq!(parsed(&exchange.request("GET", KEYS, &token, "")), json!([shown]));
    check(&exchange.request("GET", KEYS, &header, ""), 403, "FORBIDDEN");
    check(&exchange.request("POST", KEYS, &header, "{}"), 403, "FORBIDDEN");
    check(&exchange.request("GET", KEYS, &[], ""), 401, "UNAUTHORIZED");
    check(
        &exchange.request("GET", "/api/v1/spot/orders", &[format!("X-API-Key: {secret}")], ""),
        401,
        "UNAUTHORIZED",
    );

    let one = format!("{KEYS}/{}", made["id"]);
    let change = r#"{"label":"reader","permissions":["read"],"ip_whitelist":["127.0.0.0/8","::1"]}"#;
    for (member, value) in [
        ("label", json!("reader")),
        ("permissions", json!(["read"])),
        ("ip_whitelist", json!(["127.0.0.0/8", "::1"])),
    ] {
        shown[member] = value;
    }
    assert_eq!(parsed(&exchange.request("PATCH", &one, &token, change)), shown);
    assert_eq!(parsed(&exchange.request("PATCH", &one, &token, "{}")), shown, "nothing changes");
    assert_eq!(exchange.request("GET", "/api/v1/spot/orders", &header, "").status, 200);
    let denied = "API Key permission denied: trade not allowed";
    check(&exchange.request("POST", "/api/v1/spot/orders", &header, "{}"), 403, denied);
    exchange.request("PATCH", &one, &token, r#"{"ip_whitelist":["10.0.0.1"]}"#);
    check(&exchange.request("GET", "/api/v1/spot/orders", &header, ""), 401, "UNAUTHORIZED");
    exchange.request("PATCH", &one, &token, r#"{"ip_whitelist":[],"enabled":false}"#);
    check(&exchange.request("GET", "/api/v1/spot/orders", &header, ""), 401, "UNAUTHORIZED");
    exchange.request("PATCH", &one, &token, r#"{"enabled":true}"#);
    assert_eq!(exchange.request("GET", "/api/v1/spot/orders", &header, "").status, 200);

    // Another account's key is no key at all.
    for path in [&one, &format!("{KEYS}/999"), &format!("{KEYS}/x"), &format!("{KEYS}/-1")] {
        check(&exchange.request("PATCH", path, &other, "{}"), 404, "not found");
        check(&exchange.request("DELETE", path, &other, ""), 404, "not found");
    }
    assert_eq!(exchange.request("DELETE", &one, &token, "").body, r#"{"ok":true}"#);
    check(&exchange.request("GET", "/api/v1/spot/orders", &header, ""), 401, "UNAUTHORIZED");
    check(&exchange.request("DELETE", &one, &token, ""), 404, "not found");
    assert_eq!(exchange.request("GET", KEYS, &token, "").body, "[]");
}

#[test]
fn the_faults_of_api_key_bodies() {
    let mut exchange = Exchange::start();
    let (token, _) = log_in(&mut exchange, Wallet(2));
    let made = parsed(&exchange.request("POST", KEYS, &token, r#"{"label":"one"}"#));
    let one = format!("{KEYS}/{}", made["id"]);
    let now_s = exchange.clock.now_s();
    let networks: Vec<String> = (0..101).map(|n| format!("10.0.0.{n}")).collect();
    let cases = [
        ("label", json!(""), "invalid label"),
        ("label", json!("x".repeat(65)), "invalid label"),
        ("label", json!(5), "invalid label"),
        ("label", json!("a\nb"), "invalid label"),
        ("permissions", json!("read"), "invalid permission"),
        ("permissions", json!(["read", "withdraw"]), "invalid permission"),
        ("permissions", json!(["withdraws"]), "invalid permission"),
        ("permissions", json!(["READ"]), "invalid permission"),
        ("permissions", json!([]), "invalid permission"),
        ("permissions", json!([1]), "invalid permission"),
        ("ip_whitelist", json!("10.0.0.1"), "invalid ip_whitelist"),
        ("ip_whitelist", json!(["10.0.0.0/33"]), "invalid ip_whitelist"),
        ("ip_whitelist", json!(["host"]), "invalid ip_whitelist"),
        ("ip_whitelist", json!([1]), "invalid ip_whitelist"),
        ("ip_whitelist", json!(networks), "invalid ip_whitelist"),
    ];
    for (member, value, error) in &cases {
        let mut body = json!({ "label": "two" });
        body[*member] = value.clone();
        check(&exchange.request("POST", KEYS, &token, &body.to_string()), 400, error);
        check(&exchange.request("PATCH", &one, &token, &body.to_string()), 400, error);
    }
    for wrong in [json!(now_s), json!("soon"), json!(1.5), json!(-1)] {
        let body = json!({ "label": "two", "expires_at": wrong });
        check(&exchange.request("POST", KEYS, &token, &body.to_string()), 400, "invalid expires_at");
    }
    for wrong in [json!("false"), json!(0)] {
        check(
            &exchange.request("PATCH", &one, &token, &json!({ "enabled": wrong }).to_string()),
            400,
            "invalid enabled",
        );
    }
    check(&exchange.request("POST", KEYS, &token, "{}"), 400, "invalid label");
    check(&exchange.request("POST", KEYS, &token, "[]"), 400, "invalid json");
    assert_eq!(
        parsed(&exchange.request("GET", KEYS, &token, "")).as_array().unwrap().len(),
        1,
        "none was made"
    );

    // Letters of other scripts are characters like any; a key may end.
    let body = json!({ "label": "é".repeat(64), "permissions": ["trade"], "expires_at": now_s + 10, "ip_whitelist": null });
    let made = parsed(&exchange.request("POST", KEYS, &token, &body.to_string()));
    assert_eq!((&made["expires_at"], &made["permissions"]), (&json!(now_s + 10), &json!(["trade"])));
    let header = [format!("X-API-Key: {}", made["api_key"].as_str().unwrap())];
    check(
        &exchange.request("GET", "/api/v1/spot/orders", &header, ""),
        403,
        "API Key permission denied: read not allowed",
    );
    exchange.clock.turn(10_000);
    check(&exchange.request("GET", "/api/v1/spot/orders", &header, ""), 401, "UNAUTHORIZED");
}

#[test]
fn thirty_keys_and_no_more() {
    let mut exchange = Exchange::start();
    let (token, _) = log_in(&mut exchange, Wallet(2));
    for n in 0..30 {
        assert_eq!(
            exchange.request("POST", KEYS, &token, &json!({ "label": n.to_string() }).to_string()).status,
            200
        );
    }
    check(&exchange.request("POST", KEYS, &token, r#"{"label":"more"}"#), 400, "too many api keys");
    let (other, _) = log_in(&mut exchange, Wallet(3));
    assert_eq!(exchange.request("POST", KEYS, &other, r#"{"label":"own"}"#).status, 200);
}

#[test]
fn secrets_and_keys_outlive_the_process_and_are_for_their_owner_only() {
    let mut exchange = Exchange::start_with(|config| config.admin_key = None);
    let (token, _) = log_in(&mut exchange, Wallet(2));
    let made = parsed(&exchange.request("POST", KEYS, &token, r#"{"label":"one"}"#));
    let (key, secret) = (made["api_key"].as_str().unwrap(), made["api_secret"].as_str().unwrap());
    let config = exchange.shared.config.clone();
    let folder = config.data_dir.join("auth");
    assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{entry:?}");
        let bytes = std::fs::read(entry.path()).unwrap();
        for text in [key, secret] {
            assert!(
                !bytes.windows(64).any(|window| window == text.as_bytes()),
                "{entry:?} shows a credential"
            );
        }
        files.push(entry.file_name().into_string().unwrap());
    }
    files.sort_unstable();
    let made = ["admin_key", "deployment", "jwt_secret", "key_encryption_key"];
    assert_eq!(files, made);

    let admin_key = std::fs::read_to_string(Authenticator::admin_key_path(&config.data_dir)).unwrap();
    let admin = [format!("X-API-Key: {}", admin_key.trim())];
    let credit =
        r#"{"user_address":"0x2b5ad5c4795c026514f8317c7a215e218dccd6cf","token":"ABC","amount":"1"}"#;
    check(
        &exchange.request("POST", "/api/v1/admin/spot/balances/credit", &admin, credit),
        400,
        "invalid token",
    );
    check(
        &exchange.request("POST", "/api/v1/admin/spot/balances/credit", &token, credit),
        401,
        "UNAUTHORIZED",
    );

    // What a restart would open.
    let again = exchange.reopened();
    assert_eq!(again.keys.len(), 1);
    let bearer = token[0].strip_prefix("Authorization: Bearer ").unwrap();
    assert_eq!(again.tokens.read(bearer.as_bytes(), exchange.clock.now_s()).unwrap().account, 1);
    let kept = again.keys.find(key.as_bytes()).unwrap();
    assert_eq!(again.keys.credentials(&kept).unwrap().secret.as_str(), secret);
}

#[test]
fn the_openapi_document_is_served() {
    let mut exchange = Exchange::start();
    let answer = exchange.request("GET", "/openapi.json", &[], "");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json;charset=utf-8")));
    let document = parsed(&answer);
    assert!(document["paths"]["/api/v1/auth/login"]["post"].is_object());
    assert_eq!(
        document["paths"]
            .as_object()
            .unwrap()
            .values()
            .map(|path| path.as_object().unwrap().len())
            .sum::<usize>(),
        ringside_gateway::routes::routes().filter(|route| route.is_api).count()
    );
}
