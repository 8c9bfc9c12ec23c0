//! Events of market streams and channels (`perpetual-stream.md` 5 and 6), members in the order in which they are written.

use super::market::Level;
use super::{AssetName, SymbolName};
use crate::number::{Exact, Fixed, MicrosNumber, SignedExact, SignedFixed, SignedMoney, Units};
use serde::Serialize;

/// `@trade`.
#[derive(Serialize)]
#[serde(tag = "e", rename = "trade")]
pub struct TradeEvent {
    #[serde(rename = "E")]
    pub event_time: i64,
    #[serde(rename = "T")]
    pub time: i64,
    #[serde(rename = "s")]
    pub symbol: SymbolName,
    #[serde(rename = "t")]
    pub trade: u64,
    #[serde(rename = "p")]
    pub price: Fixed,
    #[serde(rename = "q")]
    pub quantity: Fixed,
    /// `MARKET`.
    #[serde(rename = "X")]
    pub kind: &'static str,
    #[serde(rename = "m")]
    pub is_buyer_maker: bool,
}

/// `@aggTrade`.
#[derive(Serialize)]
#[serde(tag = "e", rename = "aggTrade")]
pub struct AggregateEvent {
    #[serde(rename = "E")]
    pub event_time: i64,
    #[serde(rename = "s")]
    pub symbol: SymbolName,
    #[serde(rename = "a")]
    pub aggregate: u64,
    #[serde(rename = "p")]
    pub price: Fixed,
    #[serde(rename = "q")]
    pub quantity: Fixed,
    #[serde(rename = "nq")]
    pub normal_quantity: Fixed,
    #[serde(rename = "f")]
    pub first: u64,
    #[serde(rename = "l")]
    pub last: u64,
    #[serde(rename = "T")]
    pub time: i64,
    #[serde(rename = "m")]
    pub is_buyer_maker: bool,
}

/// `@depth` and the streams of the best levels.
#[derive(Serialize)]
#[serde(tag = "e", rename = "depthUpdate")]
pub struct DepthEvent {
    #[serde(rename = "E")]
    pub event_time: i64,
    #[serde(rename = "T")]
    pub time: i64,
    #[serde(rename = "s")]
    pub symbol: SymbolName,
    /// First mutation.
    #[serde(rename = "U")]
    pub first: u64,
    /// Last mutation.
    #[serde(rename = "u")]
    pub last: u64,
    /// The last mutation of the event before.
    #[serde(rename = "pu")]
    pub before: u64,
    #[serde(rename = "b")]
    pub bids: Vec<Level>,
    #[serde(rename = "a")]
    pub asks: Vec<Level>,
}

/// `@bookTicker`.
#[derive(Serialize)]
#[serde(tag = "e", rename = "bookTicker")]
pub struct BestEvent {
    #[serde(rename = "u")]
    pub update: u64,
    #[serde(rename = "E")]
    pub event_time: i64,
    #[serde(rename = "T")]
    pub time: i64,
    #[serde(rename = "s")]
    pub symbol: SymbolName,
    #[serde(rename = "b")]
    pub bid: Fixed,
    #[serde(rename = "B")]
    pub bid_quantity: Fixed,
    #[serde(rename = "a")]
    pub ask: Fixed,
    #[serde(rename = "A")]
    pub ask_quantity: Fixed,
}

/// `@markPrice`.
#[derive(Serialize)]
#[serde(tag = "e", rename = "markPriceUpdate")]
pub struct MarkEvent {
    #[serde(rename = "E")]
    pub event_time: i64,
    #[serde(rename = "s")]
    pub symbol: SymbolName,
    #[serde(rename = "p")]
    pub mark: Exact,
    /// Mean of the marks of the last minute.
    #[serde(rename = "ap")]
    pub mean: Exact,
    /// Estimated settlement price.
    #[serde(rename = "P")]
    pub settle: Exact,
    #[serde(rename = "i")]
    pub index: Exact,
    #[serde(rename = "r")]
    pub rate: SignedExact,
    #[serde(rename = "T")]
    pub next: i64,
}

/// `@kline_<interval>`.
#[derive(Serialize)]
#[serde(tag = "e", rename = "kline")]
pub struct CandleEvent {
    #[serde(rename = "E")]
    pub event_time: i64,
    #[serde(rename = "s")]
    pub symbol: SymbolName,
    #[serde(rename = "k")]
    pub candle: EventCandle,
}

/// `_perpetual@continuousKline_<interval>`.
#[derive(Serialize)]
#[serde(tag = "e", rename = "continuous_kline")]
pub struct PairCandleEvent {
    #[serde(rename = "E")]
    pub event_time: i64,
    #[serde(rename = "ps")]
    pub pair: SymbolName,
    /// `PERPETUAL`.
    #[serde(rename = "ct")]
    pub contract_type: &'static str,
    #[serde(rename = "k")]
    pub candle: EventCandle,
}

/// The candle of an event.
#[derive(Serialize)]
pub struct EventCandle {
    #[serde(rename = "t")]
    pub open_time: i64,
    #[serde(rename = "T")]
    pub close_time: i64,
    /// Absent of a pair.
    #[serde(rename = "s", skip_serializing_if = "Option::is_none")]
    pub symbol: Option<SymbolName>,
    #[serde(rename = "i")]
    pub interval: &'static str,
    /// -1 without trades.
    #[serde(rename = "f")]
    pub first: i64,
    /// -1 without trades.
    #[serde(rename = "L")]
    pub last: i64,
    #[serde(rename = "o")]
    pub open: Fixed,
    #[serde(rename = "c")]
    pub close: Fixed,
    #[serde(rename = "h")]
    pub high: Fixed,
    #[serde(rename = "l")]
    pub low: Fixed,
    #[serde(rename = "v")]
    pub volume: Fixed,
    #[serde(rename = "n")]
    pub count: u64,
    #[serde(rename = "x")]
    pub is_closed: bool,
    #[serde(rename = "q")]
    pub value: Fixed,
    #[serde(rename = "V")]
    pub taker_volume: Fixed,
    #[serde(rename = "Q")]
    pub taker_value: Fixed,
    /// `0`.
    #[serde(rename = "B")]
    pub ignored: &'static str,
}

/// `@miniTicker`.
#[derive(Serialize)]
#[serde(tag = "e", rename = "24hrMiniTicker")]
pub struct MiniDayEvent {
    #[serde(rename = "E")]
    pub event_time: i64,
    #[serde(rename = "s")]
    pub symbol: SymbolName,
    #[serde(rename = "c")]
    pub close: Fixed,
    #[serde(rename = "o")]
    pub open: Fixed,
    #[serde(rename = "h")]
    pub high: Fixed,
    #[serde(rename = "l")]
    pub low: Fixed,
    #[serde(rename = "v")]
    pub volume: Fixed,
    #[serde(rename = "q")]
    pub value: Fixed,
}

/// `@ticker`.
#[derive(Serialize)]
#[serde(tag = "e", rename = "24hrTicker")]
pub struct DayEvent {
    #[serde(rename = "E")]
    pub event_time: i64,
    #[serde(rename = "s")]
    pub symbol: SymbolName,
    #[serde(rename = "p")]
    pub change: SignedFixed,
    #[serde(rename = "P")]
    pub change_percent: SignedFixed,
    /// Mean price by quantity.
    #[serde(rename = "w")]
    pub weighted: Fixed,
    #[serde(rename = "c")]
    pub close: Fixed,
    #[serde(rename = "Q")]
    pub last_quantity: Fixed,
    #[serde(rename = "o")]
    pub open: Fixed,
    #[serde(rename = "h")]
    pub high: Fixed,
    #[serde(rename = "l")]
    pub low: Fixed,
    #[serde(rename = "v")]
    pub volume: Fixed,
    #[serde(rename = "q")]
    pub value: Fixed,
    #[serde(rename = "O")]
    pub open_time: i64,
    #[serde(rename = "C")]
    pub close_time: i64,
    /// -1 without trades.
    #[serde(rename = "F")]
    pub first: i64,
    /// -1 without trades.
    #[serde(rename = "L")]
    pub last: i64,
    #[serde(rename = "n")]
    pub count: u64,
}

/// `@forceOrder`.
#[derive(Serialize)]
#[serde(tag = "e", rename = "forceOrder")]
pub struct ForcedEvent {
    #[serde(rename = "E")]
    pub event_time: i64,
    #[serde(rename = "o")]
    pub order: ForcedOrder,
}

/// An order of a liquidation that is over.
#[derive(Clone, Copy, Serialize)]
pub struct ForcedOrder {
    #[serde(rename = "s")]
    pub symbol: SymbolName,
    #[serde(rename = "S")]
    pub side: &'static str,
    /// `LIMIT`.
    #[serde(rename = "o")]
    pub order_type: &'static str,
    /// `IOC`.
    #[serde(rename = "f")]
    pub time_in_force: &'static str,
    #[serde(rename = "q")]
    pub quantity: Units,
    #[serde(rename = "p")]
    pub price: Units,
    /// Mean price of its fills.
    #[serde(rename = "ap")]
    pub average: Units,
    #[serde(rename = "X")]
    pub status: &'static str,
    /// Quantity of its last fill.
    #[serde(rename = "l")]
    pub last: Units,
    #[serde(rename = "z")]
    pub filled: Units,
    #[serde(rename = "T")]
    pub time: i64,
}

/// `!contractInfo`.
#[derive(Serialize)]
#[serde(tag = "e", rename = "contractInfo")]
pub struct ContractEvent {
    #[serde(rename = "E")]
    pub event_time: i64,
    #[serde(rename = "s")]
    pub symbol: SymbolName,
    #[serde(rename = "ps")]
    pub pair: SymbolName,
    /// `PERPETUAL`.
    #[serde(rename = "ct")]
    pub contract_type: &'static str,
    #[serde(rename = "dt")]
    pub delivery: i64,
    #[serde(rename = "ot")]
    pub onboard: i64,
    #[serde(rename = "cs")]
    pub status: &'static str,
    /// Where they changed.
    #[serde(rename = "bks", skip_serializing_if = "Option::is_none")]
    pub brackets: Option<Vec<EventBracket>>,
}

/// A bracket of a contract's event.
#[derive(Serialize)]
pub struct EventBracket {
    #[serde(rename = "bs")]
    pub bracket: u16,
    #[serde(rename = "bnf")]
    pub notional_floor: MicrosNumber,
    #[serde(rename = "bnc")]
    pub notional_cap: MicrosNumber,
    #[serde(rename = "cf")]
    pub cumulated: MicrosNumber,
    #[serde(rename = "mmr")]
    pub rate: f64,
    #[serde(rename = "mi")]
    pub least_leverage: u32,
    #[serde(rename = "ma")]
    pub most_leverage: u32,
}

/// `@insurance`: what the fund gained or paid in a market by one command.
#[derive(Serialize)]
#[serde(tag = "e", rename = "insuranceUpdate")]
pub struct InsuranceEvent {
    #[serde(rename = "E")]
    pub event_time: i64,
    #[serde(rename = "T")]
    pub time: i64,
    #[serde(rename = "s")]
    pub symbol: SymbolName,
    #[serde(rename = "a")]
    pub asset: AssetName,
    /// Below zero where it paid.
    #[serde(rename = "d")]
    pub change: SignedMoney,
    /// The fund after the command.
    #[serde(rename = "b")]
    pub balance: SignedMoney,
}

/// Channel `orderbook`: the best levels.
#[derive(Serialize)]
pub struct OrderBook {
    pub symbol: SymbolName,
    pub last_update_id: u64,
    pub bids: Vec<Level>,
    pub asks: Vec<Level>,
    pub ts: i64,
}

/// Channel `liquidations`: a step of one.
#[derive(Serialize)]
pub struct LiquidationStep {
    pub symbol: SymbolName,
    /// Public name of the account.
    pub account: String,
    /// Of the closing.
    pub side: &'static str,
    pub quantity: Units,
    pub price: Units,
    /// `BOOK`, `FUND`, `ADL` or `UNWIND`.
    pub reason: &'static str,
    /// What the fund gained.
    pub fund_change: SignedMoney,
    pub ts: i64,
}
