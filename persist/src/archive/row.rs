//! The rows of the archive, as every store gives them back. Integers of the core throughout; no text, no meaning.

use ringside_core::command::{OrderStatus, OrderType, Side, TimeInForce};
use ringside_core::ids::{AccountId, AssetId, MarketId, OrderId, Sequence, TradeId};
use ringside_core::money::{Amount, Price, Quantity};
use ringside_core::reject::Reject;

/// An order as its end left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderRow {
    /// The command that ended it.
    pub sequence: Sequence,
    /// Order id.
    pub order: OrderId,
    /// Account id.
    pub account: AccountId,
    /// Market id.
    pub market: MarketId,
    /// Buy or sell.
    pub side: Side,
    /// How it was priced.
    pub order_type: OrderType,
    /// What became of a remainder.
    pub time_in_force: TimeInForce,
    /// How it ended.
    pub status: OrderStatus,
    /// Why it was rejected, where it was.
    pub reject: Option<Reject>,
    /// Limit price, 0 for market orders.
    pub price: Price,
    /// As ordered; 0 for a market buy sized in quote.
    pub quantity: Quantity,
    /// Base traded.
    pub filled: Quantity,
    /// Quote to spend as ordered, 0 unless a market buy.
    pub quote_quantity: Amount,
    /// Quote traded, fees apart.
    pub traded: Amount,
    /// When it was placed, nanoseconds of the UNIX epoch.
    pub created_ns: i64,
    /// When it ended.
    pub updated_ns: i64,
}

/// One match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TradeRow {
    /// The command that caused it.
    pub sequence: Sequence,
    /// Ascending per market, from 1.
    pub trade: TradeId,
    /// Market id.
    pub market: MarketId,
    /// The taker's side.
    pub taker_side: Side,
    /// The maker's price.
    pub price: Price,
    /// How much base.
    pub quantity: Quantity,
    /// The resting order.
    pub maker_order: OrderId,
    /// The arriving order.
    pub taker_order: OrderId,
    /// Owner of the resting order.
    pub maker_account: AccountId,
    /// Owner of the arriving order.
    pub taker_account: AccountId,
    /// The maker's fee, in the asset it received.
    pub maker_fee: Amount,
    /// The taker's fee, in the asset it received.
    pub taker_fee: Amount,
    /// When, nanoseconds of the UNIX epoch.
    pub time_ns: i64,
}

/// One account's half of a trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillRow {
    /// The trade.
    pub trade: TradeRow,
    /// Whether it is the taker's half.
    pub is_taker: bool,
}

/// A balance as a command left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceChange {
    /// The command.
    pub sequence: Sequence,
    /// When, nanoseconds of the UNIX epoch.
    pub time_ns: i64,
    /// Account id.
    pub account: AccountId,
    /// Of what.
    pub asset: AssetId,
    /// Free amount, 10^-18.
    pub available: Amount,
    /// Reserved amount, 10^-18.
    pub frozen: Amount,
}

/// A balance raised by the administrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditRow {
    /// The command.
    pub sequence: Sequence,
    /// When, nanoseconds of the UNIX epoch.
    pub time_ns: i64,
    /// Account id.
    pub account: AccountId,
    /// Of what.
    pub asset: AssetId,
    /// How much.
    pub amount: Amount,
    /// Audit note, padded with zeros.
    pub reason: [u8; 64],
}

/// A candle that will not change any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandleRow {
    /// The command at whose time it was found to be over.
    pub sequence: Sequence,
    /// Of which market.
    pub market: MarketId,
    /// Length in seconds.
    pub interval_s: u32,
    /// First second.
    pub open_s: i64,
    /// Price of the first trade.
    pub open: Price,
    /// Highest price.
    pub high: Price,
    /// Lowest price.
    pub low: Price,
    /// Price of the last trade.
    pub close: Price,
    /// Base traded, in the steps of a quantity.
    pub volume: i128,
    /// Quote traded.
    pub quote_volume: Amount,
    /// Trades.
    pub trades: u64,
}

/// A history of entries, and what its rows keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List {
    /// Which; the gateway's number.
    pub number: u16,
    /// Whether an entry may come after another of a larger id or a later time: orders end in another order than they are
    /// placed.
    pub is_late: bool,
}

/// A row of a history that the store does not look into: numbers to find it by, and the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The command that made it.
    pub sequence: Sequence,
    /// Which history.
    pub list: List,
    /// Whose, 0 for everyone's.
    pub owner: AccountId,
    /// Market id.
    pub market: MarketId,
    /// Unique in list, owner and market, and below 2^63.
    pub id: u64,
    /// UNIX milliseconds; never falls where ids rise.
    pub time_ms: i64,
    /// What else it can be asked for by, below 2^63; 0 for nothing.
    pub tag: u64,
    /// Of what version of its list the record is.
    pub version: u16,
    /// The record, of less than 2^16 bytes.
    pub bytes: Box<[u8]>,
}
