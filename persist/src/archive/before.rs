//! Rows of archives that had a table for each list of the spot side, before all were entries. Whoever knows what an entry is made
//! of makes entries of them, once, when such an archive is opened.

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
    /// Its place among the changes of the account by that command.
    pub index: u64,
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

/// Any of them.
#[derive(Clone, Copy, Debug)]
pub enum Before {
    /// An order that ended.
    Order(OrderRow),
    /// A trade, whose halves were fills.
    Trade(TradeRow),
    /// A change of a balance.
    Balance(BalanceChange),
    /// A credit.
    Credit(CreditRow),
    /// A candle that was over.
    Candle(CandleRow),
}
