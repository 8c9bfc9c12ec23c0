//! Perpetual markets for anyone, and what the outside says of them.

use crate::futures::AssetName;
use crate::name::Market;
use crate::number::{Exact, Fixed, Micros, SignedExact, SignedFixed, SignedUnits, Units};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
pub struct PerpetualMarket {
    pub base_asset: AssetName,
    pub funding_rate: SignedExact,
    pub high_24h: Fixed,
    pub index_price: Exact,
    pub last_price: Fixed,
    pub low_24h: Fixed,
    pub maker_rate: SignedUnits,
    pub mark_price: Exact,
    pub max_leverage: u32,
    pub max_notional: Micros,
    pub max_quantity: Units,
    pub min_notional: Micros,
    pub min_quantity: Units,
    /// UNIX milliseconds: the next full hour
    pub next_funding_time: i64,
    pub open_interest: Fixed,
    pub price_change_percent_24h: SignedFixed,
    pub quote_asset: AssetName,
    pub quote_volume_24h: Fixed,
    pub status: &'static str,
    pub step_size: Units,
    pub symbol: Market,
    pub taker_rate: SignedUnits,
    pub tick_size: Units,
    pub volume_24h: Fixed,
}

#[derive(Serialize, JsonSchema)]
pub struct ExternalTicker {
    pub ask_price: Units,
    /// The same as the other where the source tells one price
    pub bid_price: Units,
    pub last_price: Units,
    /// Where it was read
    pub source: String,
    pub symbol: Market,
    /// UNIX milliseconds
    pub ts: i64,
    /// 0 where the source does not tell it
    pub volume_24h: Units,
}
