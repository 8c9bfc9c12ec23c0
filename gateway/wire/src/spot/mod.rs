//! Objects of the spot venue (`spot.md`), of answers and of pushes.
#![expect(missing_docs, reason = "the document shows what stands on a member, and most names say all")]

pub mod chain;
pub mod words;

use crate::name::{Market, OrderUuid, Token, TradeId};
use crate::number::{Amount, Bps, Micros, Total, Units};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use words::{PushedTimeInForce, SpotMarketStatus, SpotOrderStatus, SpotOrderType, SpotSide, SpotTimeInForce};

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct SpotMarket {
    /// Symbol
    pub id: Market,
    /// What is traded
    pub base_token: Token,
    /// What is paid
    pub quote_token: Token,
    /// Price step
    pub tick_size: Units,
    /// Quantity step
    pub lot_size: Units,
    /// Least price x quantity
    pub min_notional: Amount,
    /// Basis points
    pub maker_fee_bps: Bps,
    /// Basis points
    pub taker_fee_bps: Bps,
    pub status: SpotMarketStatus,
}

// What orders of answers and of pushes have in common, which spell two words each in its own way.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OrderMembers<T, S> {
    /// UUID
    pub id: OrderUuid,
    pub symbol: Market,
    pub side: SpotSide,
    pub r#type: SpotOrderType,
    pub tif: T,
    /// Null for market orders
    pub price: Option<Units>,
    /// Base; of a market buy what is filled
    pub quantity: Units,
    /// Market buys only
    pub quote_quantity: Option<Amount>,
    /// Base filled so far
    pub filled_qty: Units,
    /// 8 decimals, 0 without fills
    pub avg_fill_price: Total,
    pub status: S,
    /// Set on rejection
    pub reject_reason: Option<RejectReason>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SpotOrder {
    #[serde(flatten)]
    pub order: OrderMembers<SpotTimeInForce, SpotOrderStatus>,
    /// UNIX seconds
    pub created_at: i64,
    /// UNIX seconds
    pub updated_at: i64,
}

#[derive(Serialize, JsonSchema)]
pub struct SpotPlacedOrder {
    #[serde(flatten)]
    pub order: SpotOrder,
    /// What it traded at once, in order
    pub fills: Vec<SpotFill>,
}

#[derive(Serialize, JsonSchema)]
pub struct PushedOrder {
    #[serde(flatten)]
    pub order: OrderMembers<PushedTimeInForce, &'static str>,
    /// UNIX seconds
    pub updated_at: i64,
    /// The one that caused the push
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_fill: Option<SpotFill>,
}

// Why an order was stored as rejected: the error that its placement was answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct RejectReason(pub &'static str);

impl JsonSchema for RejectReason {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RejectReason".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": [
            "INVALID_TICK",
            "INVALID_LOT",
            "BELOW_MIN_NOTIONAL",
            "INSUFFICIENT_BALANCE",
            "POST_ONLY_REJECT",
            "SELF_TRADE",
        ] })
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Canceled {
    /// The orders canceled, oldest first
    pub canceled: Vec<SpotOrder>,
}

#[derive(Serialize, JsonSchema)]
pub struct SpotFill {
    /// Digits, ascending per market
    pub trade_id: TradeId,
    pub price: Units,
    pub quantity: Units,
    /// In fee_token
    pub fee: Amount,
    /// The token received
    pub fee_token: Token,
}

#[derive(Serialize, JsonSchema)]
pub struct SpotOwnTrade {
    /// Digits, ascending per market
    pub trade_id: TradeId,
    pub symbol: Market,
    /// The caller's
    pub side: SpotSide,
    pub price: Units,
    pub quantity: Units,
    /// The caller's, in fee_token
    pub fee: Amount,
    /// The token received
    pub fee_token: Token,
    pub role: TradeRole,
    /// The caller's order
    pub order_id: OrderUuid,
    /// UNIX seconds
    pub ts: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum TradeRole {
    Maker,
    Taker,
}

#[derive(Serialize, JsonSchema)]
pub struct SpotTrade {
    /// Digits, ascending per market
    pub trade_id: TradeId,
    pub symbol: Market,
    /// The taker's
    pub side: SpotSide,
    pub price: Units,
    pub quantity: Units,
    /// UNIX milliseconds
    pub ts: i64,
}

// Levels, best first; each is its price and its total.
#[derive(Clone, Debug)]
pub struct Levels<'a>(pub Cow<'a, [(i64, i128)]>);

impl Serialize for Levels<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(price, total)| (Units(*price), Total(*total))))
    }
}

impl JsonSchema for Levels<'_> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Levels".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<(Units, Total)>::json_schema(generator)
    }
}

#[derive(Serialize, JsonSchema)]
pub struct SpotDepth<'a> {
    pub symbol: Market,
    /// Grows with every change of the book
    pub last_update_id: u64,
    /// [price, total], descending
    pub bids: Levels<'a>,
    /// [price, total], ascending
    pub asks: Levels<'a>,
}

// The levels that one command changed, with their new totals; 0 removes.
#[derive(Serialize, JsonSchema)]
pub struct DepthDiff<'a> {
    pub symbol: Market,
    pub update_id_first: u64,
    pub update_id_last: u64,
    pub bids: Levels<'a>,
    pub asks: Levels<'a>,
}

/// open_time, open, high, low, close, volume, close_time, quote volume, trade count.
pub type SpotKline = (i64, Units, Units, Units, Units, Total, i64, Amount, u64);

#[derive(Serialize, JsonSchema)]
pub struct PushedKline {
    pub symbol: Market,
    pub interval: &'static str,
    pub open_time: i64,
    pub close_time: i64,
    pub open: Units,
    pub high: Units,
    pub low: Units,
    pub close: Units,
    pub volume: Total,
    pub quote_volume: Amount,
    pub trade_count: u64,
    pub is_closed: bool,
}

#[derive(Serialize, JsonSchema)]
pub struct SpotTicker {
    pub symbol: Market,
    /// Of the newest trade, in the window or not
    pub last_price: Units,
    /// Of the window's first trade
    pub open_price: Units,
    pub high: Units,
    pub low: Units,
    /// Base
    pub volume: Total,
    /// Quote
    pub quote_volume: Amount,
    pub trade_count: u64,
    /// UNIX seconds, close_time - 86400
    pub open_time: i64,
    /// UNIX seconds of the last refresh
    pub close_time: i64,
}

#[derive(Serialize, JsonSchema)]
pub struct PushedTicker {
    #[serde(flatten)]
    pub ticker: SpotTicker,
    /// UNIX seconds of the refresh
    pub ts: i64,
}

#[derive(Serialize, JsonSchema)]
pub struct SpotBalance {
    pub token: Token,
    /// Free
    pub available: Amount,
    /// Reserved by open orders and withdrawals
    pub frozen: Amount,
    /// UNIX seconds of the last change, 0 when never
    pub ts: i64,
}

#[derive(Serialize, JsonSchema)]
pub struct Transfer {
    pub amount: Micros,
    pub direction: Direction,
    pub id: TradeId,
    pub status: Completed,
    pub token: Token,
    /// UNIX seconds
    pub ts: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Direction {
    ToPerp,
    ToSpot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Completed {
    Completed,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Health {
    pub engine: EngineWord,
    /// Commands handed to the engine and not yet answered
    pub queue_depth: u64,
    /// Markets not delisted; 0 while the engine does not run
    pub books_loaded: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum EngineWord {
    Running,
    Disabled,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct MarketDone {
    /// true
    pub ok: bool,
    /// The market
    pub id: Market,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct StatusDone {
    #[serde(flatten)]
    pub done: MarketDone,
    pub status: SpotMarketStatus,
}
