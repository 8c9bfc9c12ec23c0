//! A client of a running exchange for the subcommands that speak to one: JSON. It knows no route but those of the login.

use anyhow::{Context, Result, anyhow, bail};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Method, Request, StatusCode};
use ringside_auth::typed_data::{Login, Venue, address_of_key};
use ringside_outbound::Outbound;
use ringside_outbound::tls::Trust;
use ringside_wire::address::address_text;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use zeroize::Zeroizing;

/// The part of a nonce answer that a signature needs.
#[derive(Deserialize)]
struct Nonce {
    nonce: String,
    issued_at: i64,
    expires_at: i64,
    version: u64,
    typed_data: Value,
}

#[derive(Deserialize)]
struct Token {
    token: String,
}

/// A client of one exchange.
pub struct Client {
    url: String,
    header: Option<(&'static str, String)>,
    outbound: Outbound,
}

/// Before an answer is given up: more than the exchange itself takes before it says that an outcome is not known.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest answer, in bytes.
const ANSWER_LEN_MAX: usize = 64 << 20;

impl Client {
    /// For the exchange at `url` (`http://host:port`, or `https`); connects with the first request.
    pub fn new(url: &str) -> Result<Client> {
        let trust = match url.split_once("://") {
            Some(("http", _)) => Trust::nobody(),
            Some(("https", _)) => Trust::of_host(),
            _ => bail!("the address must start with http:// or https://"),
        };
        let outbound = Outbound::new(&trust.map_err(anyhow::Error::msg)?, PATIENCE, ANSWER_LEN_MAX);
        Ok(Client { url: url.trim_end_matches('/').to_owned(), header: None, outbound })
    }

    /// The same with a header that is sent with every request: a credential.
    pub fn with_header(mut self, name: &'static str, value: String) -> Client {
        self.header = Some((name, value));
        self
    }

    /// Sends a request; gives status and JSON of the answer, whatever the status.
    pub async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Result<(StatusCode, Value)> {
        let (status, bytes) = self.ask(method, path, body).await?;
        Ok((status, serde_json::from_slice(&bytes).unwrap_or(Value::Null)))
    }

    /// The same with the bytes of the answer.
    pub async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Result<(StatusCode, Bytes)> {
        let body = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("content-type", "application/json");
        if let Some((name, value)) = &self.header {
            request = request.header(*name, value);
        }
        Ok(self.outbound.ask(request.body(Full::new(body))?).await?)
    }

    /// The same where only 200 will do.
    pub async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value> {
        let (status, answer) = self.send(method, path, body).await?;
        if status != StatusCode::OK {
            bail!("{path}: {status} {answer}");
        }
        Ok(answer)
    }

    /// Logs a wallet in by its key; gives the token.
    pub async fn login(&self, key: &[u8; 32]) -> Result<String> {
        let account = address_of_key(key).context("that number is no key of the curve")?;
        let address = address_text(&account);
        let found = self.call(Method::GET, &format!("/api/v1/auth/nonce?address={address}"), None).await?;
        let nonce: Nonce = serde_json::from_value(found).context("the answer is no nonce")?;
        let chain_id = nonce.typed_data["domain"]["chainId"].as_u64().context("the answer names no chain")?;
        // Only a login can be signed here, whatever the server calls its typed data.
        let said = |name: &str| nonce.typed_data["message"][name].as_str();
        let venue = said("uri").zip(said("deployment"));
        let venue = venue.map(|(uri, deployment)| Venue { uri, deployment, issued_at_s: nonce.issued_at });
        let login =
            Login { chain_id, account: &account, nonce: &nonce.nonce, expires_at_s: nonce.expires_at, venue };
        let signature = login.sign(key).context("the key cannot sign")?;
        let body = json!({
            "address": address,
            "nonce": nonce.nonce,
            "signature": const_hex::encode_prefixed(signature),
            "version": nonce.version,
        });
        let answer = self.call(Method::POST, "/api/v1/auth/login", Some(body)).await?;
        let token: Token = serde_json::from_value(answer).context("the answer is no token")?;
        Ok(token.token)
    }
}

/// A wallet's key from its 64 hex digits.
pub fn parse_key(digits: &str) -> Result<Zeroizing<[u8; 32]>> {
    let mut secret = Zeroizing::new([0; 32]);
    const_hex::decode_to_slice(digits.trim_start_matches("0x"), &mut *secret)
        .map_err(|_| anyhow!("a wallet key has 64 hex digits"))?;
    Ok(secret)
}
