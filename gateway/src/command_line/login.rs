//! `ringside login`: a login token for a wallet, from a running exchange. For people at a shell and scripts; a browser
//! signs with its own wallet.

use crate::auth::address_text;
use crate::auth::typed_data::{Login, address_of_key};
use anyhow::{Context, Result, anyhow, bail};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use zeroize::Zeroizing;

/// The part of a nonce answer that a signature needs.
#[derive(Deserialize)]
struct Nonce {
    nonce: String,
    expires_at: i64,
    typed_data: Value,
}

#[derive(Deserialize)]
struct Token {
    token: String,
}

/// Logs `key` (64 hex digits) in at `url` (`http://host:port`); gives the token.
pub fn login(url: &str, key: &str) -> Result<String> {
    let mut secret = Zeroizing::new([0; 32]);
    const_hex::decode_to_slice(key.trim_start_matches("0x"), &mut *secret)
        .map_err(|_| anyhow!("a wallet key has 64 hex digits"))?;
    let account = address_of_key(&secret).context("that number is no key of the curve")?;
    let address = address_text(&account);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let found = call(url, Method::GET, &format!("/api/v1/auth/nonce?address={address}"), None).await?;
        let nonce: Nonce = serde_json::from_value(found).context("the answer is no nonce")?;
        let chain_id = nonce.typed_data["domain"]["chainId"].as_u64().context("the answer names no chain")?;
        // Only a login can be signed here, whatever the server calls its typed data.
        let login =
            Login { chain_id, account: &account, nonce: &nonce.nonce, expires_at_s: nonce.expires_at };
        let signature = login.sign(&secret).context("the key cannot sign")?;
        let body = json!({
            "address": address,
            "nonce": nonce.nonce,
            "signature": const_hex::encode_prefixed(signature),
        });
        let answer = call(url, Method::POST, "/api/v1/auth/login", Some(body)).await?;
        let token: Token = serde_json::from_value(answer).context("the answer is no token")?;
        Ok(token.token)
    })
}

async fn call(url: &str, method: Method, path: &str, body: Option<Value>) -> Result<Value> {
    let host = url.strip_prefix("http://").context("the address must start with http://")?;
    let host = host.trim_end_matches('/');
    let stream = TcpStream::connect(host).await.with_context(|| format!("cannot reach {host}"))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let driver = tokio::spawn(connection);
    let body = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", host)
        .header("content-type", "application/json")
        .body(Full::new(body))?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let bytes = response.into_body().collect().await?.to_bytes();
    drop(sender);
    driver.abort();
    if status != StatusCode::OK {
        bail!("{path}: {status} {}", String::from_utf8_lossy(&bytes));
    }
    Ok(serde_json::from_slice(&bytes)?)
}
