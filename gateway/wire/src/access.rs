//! Logins and API keys as they are shown to their owner.
#![expect(missing_docs, reason = "the document shows what stands on a member, and most names say all")]

use crate::name::Address;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

#[derive(Serialize, JsonSchema)]
pub struct LoginNonce {
    /// Lower case
    pub address: Address,
    /// 32 hex digits, good once
    #[schemars(regex(pattern = "^[0-9a-f]{32}$"))]
    pub nonce: String,
    /// UNIX seconds
    pub issued_at: i64,
    /// UNIX seconds; part of what is signed
    pub expires_at: i64,
    /// Of `typed_data`; to be sent with its signature
    pub version: u8,
    /// What eth_signTypedData_v4 takes, of that version
    pub typed_data: Value,
    /// The same of version 2, bound to this deployment, where version 1 is taken as well
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    pub typed_data_2: Option<Value>,
}

#[derive(Serialize, JsonSchema)]
pub struct LoginToken {
    /// JWT; send it as Authorization: Bearer
    pub token: String,
    pub token_type: TokenType,
    /// Lower case
    pub address: Address,
    /// UNIX seconds
    pub expires_at: i64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub enum TokenType {
    Bearer,
}

#[derive(Serialize, JsonSchema)]
pub struct ApiKey<'a> {
    /// Number of the key, never given twice
    pub id: u64,
    /// 64 characters
    #[schemars(regex(pattern = "^[A-Za-z0-9]{64}$"))]
    pub api_key: &'a str,
    /// 64 characters; shown only where the key is made
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[A-Za-z0-9]{64}$"))]
    pub api_secret: Option<&'a str>,
    /// 1 to 64 characters
    #[schemars(regex(pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,64}$"))]
    pub label: &'a str,
    /// What it may be used for
    pub permissions: Vec<KeyPermission>,
    /// IP addresses and networks; empty: any
    pub ip_whitelist: &'a [String],
    /// UNIX seconds
    pub expires_at: Option<i64>,
    /// Whether it may be used
    pub enabled: bool,
    /// UNIX seconds
    pub created_at: i64,
    /// UNIX seconds
    pub last_used_at: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum KeyPermission {
    Read,
    Trade,
}
