//! No secret reaches the log, whatever the level: everything that clients and operators must keep to themselves is sent
//! through a whole exchange while all of it is recorded. Alone in its file, because a log is the whole process's.

#![allow(clippy::unwrap_used, reason = "a panic is a test's report")]

mod exchange;

use exchange::Exchange;
use ringside_auth::secret::Secret;
use ringside_auth::typed_data::{Login, address_of_key};
use ringside_config::Value as _;
use ringside_wire::address::address_text;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Log;

    fn make_writer(&'a self) -> Log {
        self.clone()
    }
}

#[test]
fn canaries_do_not_sing() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .json()
        .with_writer(log.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).expect("the first of this process");

    let canary = |name: &str| format!("canary{name}0123456789abcdefghijklmnopqrstuvwxyz");
    let (admin_key, jwt_secret) = (canary("admin"), canary("jwt"));
    let key_encryption_key = "ca7a21e5".repeat(8);
    let mut secrets = vec![admin_key.clone(), jwt_secret.clone(), key_encryption_key.clone()];
    let mut exchange = Exchange::start_with(|config| {
        config.admin_key = secret(&admin_key);
        config.jwt_secret = secret(&jwt_secret);
        config.key_encryption_key = secret(&key_encryption_key);
        config.weight_per_minute = 200;
    });
    let parsed = |body: &str| serde_json::from_str::<Value>(body).unwrap();

    // A login, good and bad.
    let mut wallet_key = [0; 32];
    wallet_key[31] = 2;
    let account = address_of_key(&wallet_key).unwrap();
    let address = address_text(&account);
    let mut log_in = |change: &dyn Fn(String) -> String| {
        let nonce = exchange.request("GET", &format!("/api/v1/auth/nonce?address={address}"), &[], "").body;
        let nonce = parsed(&nonce);
        let (text, expires_at_s) = (nonce["nonce"].as_str().unwrap(), nonce["expires_at"].as_i64().unwrap());
        let login = Login { chain_id: 31_337, account: &account, nonce: text, expires_at_s, venue: None };
        let signature = const_hex::encode(login.sign(&wallet_key).unwrap());
        secrets.extend([signature.clone(), text.to_owned()]);
        let body = json!({ "address": address, "nonce": text, "signature": change(signature) }).to_string();
        exchange.request("POST", "/api/v1/auth/login", &[], &body)
    };
    assert_eq!(log_in(&|signature| signature.replace('1', "2")).status, 401);
    assert_eq!(log_in(&|_| "canary".to_owned()).status, 400);
    let token = parsed(&log_in(&|signature| signature).body)["token"].as_str().unwrap().to_owned();
    secrets.push(token.clone());
    let bearer = [format!("Authorization: Bearer {token}")];

    // API keys: made, used, changed, deleted; good and bad.
    let keys = "/api/v1/account/api-keys";
    let made = parsed(&exchange.request("POST", keys, &bearer, r#"{"label":"robot"}"#).body);
    for member in ["api_key", "api_secret"] {
        secrets.push(made[member].as_str().unwrap().to_owned());
    }
    let api_key = [format!("X-API-Key: {}", made["api_key"].as_str().unwrap())];
    assert_eq!(exchange.request("GET", "/api/v1/spot/balances", &api_key, "").status, 200);
    let one = format!("{keys}/{}", made["id"]);
    assert_eq!(exchange.request("PATCH", &one, &bearer, r#"{"enabled":false}"#).status, 200);
    assert_eq!(exchange.request("GET", "/api/v1/spot/balances", &api_key, "").status, 401);
    assert_eq!(exchange.request("DELETE", &one, &bearer, "").status, 200);

    // The administrator, and somebody who guesses.
    let admin = [format!("X-API-Key: {admin_key}")];
    assert_eq!(exchange.request("PATCH", "/api/v1/admin/spot/markets/NONE", &admin, "{}").status, 404);
    let guess = canary("guess");
    secrets.push(guess.clone());
    for header in [format!("X-API-Key: {guess}"), format!("Authorization: Bearer {guess}")] {
        assert_eq!(
            exchange.request("GET", "/api/v1/spot/balances", std::slice::from_ref(&header), "").status,
            401
        );
        assert_eq!(exchange.request("PATCH", "/api/v1/admin/spot/markets/NONE", &[header], "{}").status, 401);
    }
    // Refusals of every stage: an unknown path that holds a secret, a body that is none, limits, a broken head.
    assert_eq!(exchange.request("GET", &format!("/api/v1/{guess}?k={token}"), &bearer, "").status, 404);
    assert_eq!(exchange.request("POST", "/api/v1/auth/login", &bearer, &guess).status, 400);
    let mut broken = exchange.connect();
    broken.write_all(format!("GET /{token} HTTP/9.9\r\nX-API-Key {guess}\r\n\r\n").as_bytes()).unwrap();
    while exchange.request("GET", "/api/v1/spot/balances", &bearer, "").status != 418 {}
    let summary = exchange.shared.config.summary();
    let debugged = format!("{:?}", exchange.shared.config);
    drop(exchange);

    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("logged in") && logged.contains("API key made"), "it was recorded: {logged}");
    let data = [logged, summary, debugged].concat();
    for secret in &secrets {
        // Half of one would be too much as well.
        for part in [&secret[..secret.len() / 2], &secret[secret.len() / 2..]] {
            assert!(!data.contains(part), "the log shows {secret}:\n{data}");
        }
    }
}

fn secret(text: &str) -> Option<Secret> {
    Some(Secret::parse(text).unwrap())
}
