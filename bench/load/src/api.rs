//! Requests of the public API as prepared bytes, and the parts of its answers that the load client reads.

use super::connection::Connection;
use super::wallet::Wallet;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Path of the spot API (`spot.md` 1).
pub const BASE: &str = "/api/v1";

/// Bytes of one request. `path` is below [`BASE`]; `headers` are whole lines, each with its line end.
pub fn request(method: &str, path: &str, headers: &str, body: Option<&str>) -> Vec<u8> {
    request_at(method, &format!("{BASE}{path}"), headers, body)
}

/// As [`request`], of a whole path.
pub fn request_at(method: &str, path: &str, headers: &str, body: Option<&str>) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: exchange\r\n{headers}");
    if let Some(body) = body {
        let _ = write!(text, "content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    }
    text.push_str("\r\n");
    text.push_str(body.unwrap_or(""));
    text.into_bytes()
}

/// The header line of an API key (of an account or of the administrator).
pub fn key_header(key: &str) -> String {
    format!("x-api-key: {key}\r\n")
}

/// How long an exchange may say that nothing was done or shown because nobody leads just now.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait until it is asked again.
const PAUSE: Duration = Duration::from_millis(20);

/// Sends a request that must be answered 200 and reads the JSON of the answer. Where nobody leads at the moment, as on a machine so
/// loaded that a lease ends, it is sent again.
pub async fn ask<T: DeserializeOwned>(connection: &mut Connection, request: &[u8]) -> Result<T> {
    let line = String::from_utf8_lossy(request.split(|&byte| byte == b'\r').next().unwrap_or_default());
    let begun = Instant::now();
    let answer = loop {
        let answer = connection.call(request).await.context("the exchange does not answer")?;
        if !is_between_leaders(answer.status, answer.body) || begun.elapsed() >= PATIENCE {
            break answer;
        }
        tokio::time::sleep(PAUSE).await;
    };
    if answer.status != 200 {
        bail!("{line}: {} {}", answer.status, String::from_utf8_lossy(answer.body));
    }
    serde_json::from_slice(answer.body)
        .with_context(|| format!("{line}: cannot read {}", String::from_utf8_lossy(answer.body)))
}

/// Whether nothing was done or shown, by either API, because nobody leads just now.
fn is_between_leaders(status: u16, body: &[u8]) -> bool {
    let says = |text: &[u8]| body.windows(text.len()).any(|part| part == text);
    status == 503 && (says(b"ENGINE_RESTARTING") || says(b"Service Unavailable."))
}

/// A market to be listed, in the words of the API.
#[derive(Clone, Debug)]
pub struct MarketText {
    /// Its name.
    pub symbol: String,
    /// Price step.
    pub tick_size: String,
    /// Quantity step.
    pub lot_size: String,
    /// Least notional.
    pub min_notional: String,
    /// Fee of resting orders, basis points.
    pub maker_fee_bps: u32,
    /// Fee of arriving orders, basis points.
    pub taker_fee_bps: u32,
}

/// Base token of every market listed here: one of the two that can be credited.
pub const BASE_TOKEN: &str = "DF";
/// Quote token.
pub const QUOTE_TOKEN: &str = "USDT";

/// Lists a market.
pub async fn list_market(connection: &mut Connection, admin_key: &str, market: &MarketText) -> Result<()> {
    let body = serde_json::json!({
        "id": market.symbol,
        "base_token": BASE_TOKEN,
        "quote_token": QUOTE_TOKEN,
        "tick_size": market.tick_size,
        "lot_size": market.lot_size,
        "min_notional": market.min_notional,
        "maker_fee_bps": market.maker_fee_bps,
        "taker_fee_bps": market.taker_fee_bps,
    });
    let request = request("POST", "/admin/spot/markets", &key_header(admin_key), Some(&body.to_string()));
    ask::<serde_json::Value>(connection, &request).await.map(drop)
}

/// Credits an account.
pub async fn credit(
    connection: &mut Connection,
    admin_key: &str,
    wallet: &Wallet,
    token: &str,
    amount: &str,
) -> Result<()> {
    let body = serde_json::json!({
        "user_address": wallet.address_text(),
        "token": token,
        "amount": amount,
        "reason": "load run",
    });
    let request =
        request("POST", "/admin/spot/balances/credit", &key_header(admin_key), Some(&body.to_string()));
    ask::<serde_json::Value>(connection, &request).await.map(drop)
}

#[derive(Deserialize)]
struct Nonce {
    nonce: String,
    expires_at: u64,
    typed_data: TypedData,
}

#[derive(Deserialize)]
struct TypedData {
    domain: Domain,
}

#[derive(Deserialize)]
struct Domain {
    #[serde(rename = "chainId")]
    chain_id: serde_json::Value,
}

#[derive(Deserialize)]
struct Login {
    token: String,
}

#[derive(Deserialize)]
struct ApiKey {
    api_key: String,
    api_secret: String,
}

/// Logs a wallet in; the answer is its token.
pub async fn login(connection: &mut Connection, wallet: &Wallet) -> Result<String> {
    let address = wallet.address_text();
    let nonce: Nonce =
        ask(connection, &request("GET", &format!("/auth/nonce?address={address}"), "", None)).await?;
    let chain_id = match &nonce.typed_data.domain.chain_id {
        serde_json::Value::Number(number) => number.as_u64(),
        serde_json::Value::String(text) => text.parse().ok(),
        _ => None,
    };
    let chain_id = chain_id.context("the typed data names no chain")?;
    let signature = wallet.sign_login(chain_id, &nonce.nonce, nonce.expires_at);
    let body = serde_json::json!({ "address": address, "nonce": nonce.nonce, "signature": signature });
    let login: Login = ask(connection, &request("POST", "/auth/login", "", Some(&body.to_string()))).await?;
    Ok(login.token)
}

/// Makes an API key that may read and trade.
pub async fn create_api_key(connection: &mut Connection, token: &str) -> Result<String> {
    Ok(create_signing_key(connection, token).await?.0)
}

/// Makes an API key that may read and trade; the key and its secret.
pub async fn create_signing_key(connection: &mut Connection, token: &str) -> Result<(String, String)> {
    let header = format!("authorization: Bearer {token}\r\n");
    let body = r#"{"label":"load run"}"#;
    let key: ApiKey = ask(connection, &request("POST", "/account/api-keys", &header, Some(body))).await?;
    Ok((key.api_key, key.api_secret))
}

/// Credits a wallet of the perpetual venue.
pub async fn credit_perpetual(
    connection: &mut Connection,
    admin_key: &str,
    wallet: &Wallet,
    amount: &str,
) -> Result<()> {
    let body =
        serde_json::json!({ "user_address": wallet.address_text(), "amount": amount, "reason": "load run" });
    let header = key_header(admin_key);
    let request = request_at("POST", "/admin/perpetual/credit", &header, Some(&body.to_string()));
    ask::<serde_json::Value>(connection, &request).await.map(drop)
}

/// An order as answered.
#[derive(Clone, Debug, Deserialize)]
pub struct OrderAnswer {
    /// Its id.
    pub id: String,
    /// `buy` or `sell`.
    pub side: String,
    /// Limit price; none for market orders.
    pub price: Option<String>,
    /// As ordered.
    pub quantity: String,
    /// Traded so far.
    pub filled_qty: String,
    /// Where it stands.
    pub status: String,
    /// Only in answers to placing.
    #[serde(default)]
    pub fills: Vec<FillAnswer>,
}

/// One fill of a placed order.
#[derive(Clone, Debug, Deserialize)]
pub struct FillAnswer {
    /// Ascending per market.
    pub trade_id: String,
    /// The maker's price.
    pub price: String,
    /// How much.
    pub quantity: String,
    /// Paid out of what was received.
    pub fee: String,
}

/// A row of an account's own trades.
#[derive(Clone, Debug, Deserialize)]
pub struct OwnTrade {
    /// Shared with the other side's row.
    pub trade_id: String,
    /// `maker` or `taker`.
    pub role: String,
    /// The account's order.
    pub order_id: String,
    /// The maker's price.
    pub price: String,
    /// How much.
    pub quantity: String,
    /// Paid out of what was received.
    pub fee: String,
    /// UNIX seconds.
    pub ts: u64,
}

/// A row of the public trades.
#[derive(Clone, Debug, Deserialize)]
pub struct PublicTrade {
    /// Ascending per market.
    pub trade_id: String,
    /// The taker's.
    pub side: String,
    /// The maker's price.
    pub price: String,
    /// How much.
    pub quantity: String,
}

/// The book as answered: (price, total), best first.
#[derive(Clone, Debug, Deserialize)]
pub struct DepthAnswer {
    /// Buys.
    pub bids: Vec<(String, String)>,
    /// Sells.
    pub asks: Vec<(String, String)>,
}

/// One balance.
#[derive(Clone, Debug, Deserialize)]
pub struct BalanceAnswer {
    /// Which token.
    pub token: String,
    /// Free.
    pub available: String,
    /// Reserved.
    pub frozen: String,
}

/// A refusal.
#[derive(Clone, Debug, Deserialize)]
pub struct ErrorAnswer {
    /// The word for it.
    pub error: String,
}
