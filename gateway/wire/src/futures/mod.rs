//! Objects of the perpetual venue (`perpetual.md` 5 to 11): each is named as the document names it, and holds its members in the order
//! in which they are written. What the document says of a member stands on it; where a name says all, nothing does.
#![expect(missing_docs, reason = "the document shows what stands on a member, and most names say all")]

pub mod account;
pub mod history;
pub mod market;
pub mod order;
pub mod stream;
pub mod user;
pub mod words;

use crate::number::{Name, Whole};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;

/// Name of a market.
pub type SymbolName = Name<20>;
/// Name of an asset.
pub type AssetName = Name<10>;

#[derive(Serialize, JsonSchema)]
pub struct FuturesSuccess {
    pub code: i32,
    pub msg: &'static str,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Refused {
    /// Below zero
    pub code: i32,
    pub msg: Cow<'static, str>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesListenKey {
    pub listen_key: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct SystemStatus {
    pub status: u8,
    pub msg: &'static str,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct ServerTime {
    pub server_time: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Countdown {
    pub countdown_time: Whole,
    pub symbol: String,
}
