//! Events of an account as its user stream and its channels tell them (`perpetual-stream.md` 4), members in the order in which they
//! are written. What comes before them in a bare event, its name and when it was made, is [`Stamped`].

use super::SymbolName;
use super::words::{
    MarginType, MatchedPrice, OrderSide, OrderStatus, PositionMargin, PositionSide, SelfTrade, TimeInForce,
    TriggerPrice,
};
use crate::number::{Digits, Exact, Money, MoneyOrZero, Name, Units};
use serde::Serialize;
use std::borrow::Cow;

/// An event with what every bare one begins with.
#[derive(Debug, Serialize)]
pub struct Stamped<'a, T> {
    #[serde(rename = "e")]
    pub name: &'static str,
    /// When it is made.
    #[serde(rename = "E")]
    pub made: i64,
    #[serde(flatten)]
    pub event: &'a T,
}

/// `ORDER_TRADE_UPDATE`.
#[derive(Clone, Debug, Serialize)]
pub struct OrderUpdate {
    #[serde(rename = "T")]
    pub time: i64,
    #[serde(rename = "o")]
    pub order: UpdatedOrder,
}

/// An order after something happened to it.
#[derive(Clone, Debug, Serialize)]
pub struct UpdatedOrder {
    #[serde(rename = "s")]
    pub symbol: SymbolName,
    #[serde(rename = "c")]
    pub client_order: Name<36>,
    #[serde(rename = "S")]
    pub side: OrderSide,
    #[serde(rename = "o")]
    pub order_type: &'static str,
    #[serde(rename = "f")]
    pub time_in_force: TimeInForce,
    #[serde(rename = "q")]
    pub quantity: Units,
    #[serde(rename = "p")]
    pub price: Units,
    /// Mean price of its fills.
    #[serde(rename = "ap")]
    pub average: Units,
    #[serde(rename = "sp")]
    pub stop_price: Units,
    #[serde(rename = "x")]
    pub execution: Execution,
    #[serde(rename = "X")]
    pub status: OrderStatus,
    #[serde(rename = "i")]
    pub order: u64,
    /// Quantity of its last fill.
    #[serde(rename = "l")]
    pub last: Units,
    #[serde(rename = "z")]
    pub filled: Units,
    /// Price of its last fill.
    #[serde(rename = "L")]
    pub last_price: Units,
    #[serde(rename = "N")]
    pub fee_asset: &'static str,
    /// Below zero a rebate.
    #[serde(rename = "n")]
    pub fee: MoneyOrZero,
    #[serde(rename = "T")]
    pub time: i64,
    /// 0 without one.
    #[serde(rename = "t")]
    pub trade: u64,
    /// Reference value of the account's open buys after it.
    #[serde(rename = "b")]
    pub bids: MoneyOrZero,
    /// The same of sells.
    #[serde(rename = "a")]
    pub asks: MoneyOrZero,
    #[serde(rename = "m")]
    pub is_maker: bool,
    #[serde(rename = "R")]
    pub is_reduce_only: bool,
    #[serde(rename = "wt")]
    pub working_type: TriggerPrice,
    #[serde(rename = "ot")]
    pub original_type: &'static str,
    #[serde(rename = "ps")]
    pub position_side: PositionSide,
    #[serde(rename = "cp")]
    pub is_close_position: bool,
    /// Of an order that trails, as is the next.
    #[serde(rename = "AP", skip_serializing_if = "Option::is_none")]
    pub activation: Option<Units>,
    #[serde(rename = "cr", skip_serializing_if = "Option::is_none")]
    pub callback_rate: Option<Units>,
    #[serde(rename = "pP")]
    pub is_protected: bool,
    /// 0, as is the next.
    #[serde(rename = "si")]
    pub ignored: u8,
    #[serde(rename = "ss")]
    pub also_ignored: u8,
    /// Profit of the fill, before its fee.
    #[serde(rename = "rp")]
    pub realised: MoneyOrZero,
    #[serde(rename = "V")]
    pub self_trade: SelfTrade,
    #[serde(rename = "pm")]
    pub price_match: MatchedPrice,
    #[serde(rename = "gtd")]
    pub good_till: i64,
    /// 0 but where it expires.
    #[serde(rename = "er")]
    pub expiry_reason: Digits,
}

/// What happened to an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Execution {
    /// Accepted, or fired.
    New,
    /// Changed.
    Amendment,
    /// Ended on request.
    Canceled,
    /// Ended by a rule.
    Expired,
    /// Filled, in part or whole.
    Trade,
    /// Filled to liquidate or deleverage.
    Calculated,
}

/// `TRADE_LITE`.
#[derive(Clone, Debug, Serialize)]
pub struct LiteUpdate {
    #[serde(rename = "T")]
    pub time: i64,
    #[serde(rename = "s")]
    pub symbol: SymbolName,
    #[serde(rename = "q")]
    pub quantity: Units,
    #[serde(rename = "p")]
    pub price: Units,
    #[serde(rename = "m")]
    pub is_maker: bool,
    #[serde(rename = "c")]
    pub client_order: Name<36>,
    #[serde(rename = "S")]
    pub side: OrderSide,
    #[serde(rename = "L")]
    pub last_price: Units,
    #[serde(rename = "l")]
    pub last: Units,
    #[serde(rename = "t")]
    pub trade: u64,
    #[serde(rename = "i")]
    pub order: u64,
}

/// `ACCOUNT_UPDATE`.
#[derive(Clone, Debug, Serialize)]
pub struct AccountUpdate {
    #[serde(rename = "T")]
    pub time: i64,
    #[serde(rename = "a")]
    pub account: UpdatedAccount,
}

/// Balances and positions after a step.
#[derive(Clone, Debug, Serialize)]
pub struct UpdatedAccount {
    #[serde(rename = "m")]
    pub reason: Reason,
    /// One or none.
    #[serde(rename = "B")]
    pub balances: Vec<UpdatedBalance>,
    /// Those that changed.
    #[serde(rename = "P")]
    pub positions: Vec<UpdatedPosition>,
}

/// Why an account changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Reason {
    /// Fills, liquidation, deleveraging, settlement of a market (decided here).
    Order,
    /// Funding.
    FundingFee,
    /// From the spot wallet.
    Deposit,
    /// To the spot wallet.
    Withdraw,
    /// Between cross and isolated wallet.
    MarginTransfer,
    /// Another margin mode.
    MarginTypeChange,
    /// Liquidation fee, deficit taken over.
    InsuranceClear,
    /// By an operator, to the account.
    AdminDeposit,
    /// By an operator, from the account.
    AdminWithdraw,
}

/// The balance of an [`AccountUpdate`].
#[derive(Clone, Debug, Serialize)]
pub struct UpdatedBalance {
    #[serde(rename = "a")]
    pub asset: &'static str,
    /// Cross and isolated wallets.
    #[serde(rename = "wb")]
    pub wallet: Money,
    #[serde(rename = "cw")]
    pub cross_wallet: Money,
    /// Change other than profit and commission.
    #[serde(rename = "bc")]
    pub change: MoneyOrZero,
}

/// A position of an [`AccountUpdate`].
#[derive(Clone, Debug, Serialize)]
pub struct UpdatedPosition {
    #[serde(rename = "s")]
    pub symbol: SymbolName,
    /// Signed.
    #[serde(rename = "pa")]
    pub quantity: Units,
    #[serde(rename = "ep")]
    pub entry_price: Units,
    #[serde(rename = "bep")]
    pub break_even_price: Units,
    /// Profit so far, before fees.
    #[serde(rename = "cr")]
    pub realised: Money,
    /// Profit at the mark.
    #[serde(rename = "up")]
    pub unrealised: Money,
    #[serde(rename = "mt")]
    pub margin_type: PositionMargin,
    #[serde(rename = "iw")]
    pub isolated_wallet: Money,
    #[serde(rename = "ps")]
    pub position_side: PositionSide,
    #[serde(rename = "ma")]
    pub margin_asset: &'static str,
}

/// `MARGIN_CALL`: a scope that is near its liquidation.
#[derive(Clone, Debug, Serialize)]
pub struct MarginCall {
    /// Where the scope is the cross account.
    #[serde(rename = "cw", skip_serializing_if = "Option::is_none")]
    pub cross_wallet: Option<Money>,
    #[serde(rename = "p")]
    pub positions: Vec<CalledPosition>,
}

/// A position of a [`MarginCall`].
#[derive(Clone, Debug, Serialize)]
pub struct CalledPosition {
    #[serde(rename = "s")]
    pub symbol: SymbolName,
    #[serde(rename = "ps")]
    pub position_side: PositionSide,
    /// Signed.
    #[serde(rename = "pa")]
    pub quantity: Units,
    #[serde(rename = "mt")]
    pub margin_type: MarginType,
    #[serde(rename = "iw")]
    pub isolated_wallet: Money,
    #[serde(rename = "mp")]
    pub mark: Exact,
    #[serde(rename = "up")]
    pub unrealised: Money,
    #[serde(rename = "mm")]
    pub maintenance: Money,
}

/// `ACCOUNT_CONFIG_UPDATE`.
#[derive(Clone, Debug, Serialize)]
pub struct ConfigUpdate {
    #[serde(rename = "T")]
    pub time: i64,
    #[serde(rename = "ac")]
    pub config: LeverageChange,
}

/// The leverage of a market.
#[derive(Clone, Debug, Serialize)]
pub struct LeverageChange {
    #[serde(rename = "s")]
    pub symbol: SymbolName,
    /// The new one.
    #[serde(rename = "l")]
    pub leverage: u32,
}

/// `TRIGGER_DEFERRED`.
#[derive(Clone, Debug, Serialize)]
pub struct DeferredUpdate {
    #[serde(rename = "T")]
    pub time: i64,
    #[serde(rename = "o")]
    pub order: DeferredOrder,
}

/// A protected order whose trigger waits while mark and last price differ too much.
#[derive(Clone, Debug, Serialize)]
pub struct DeferredOrder {
    #[serde(rename = "s")]
    pub symbol: SymbolName,
    #[serde(rename = "i")]
    pub order: u64,
    pub mark: Exact,
    pub last: Units,
}

/// `CONDITIONAL_ORDER_TRIGGER_REJECT`.
#[derive(Clone, Debug, Serialize)]
pub struct TriggerRefusal {
    #[serde(rename = "T")]
    pub time: i64,
    #[serde(rename = "or")]
    pub order: RefusedOrder,
}

/// An order that fired and was refused.
#[derive(Clone, Debug, Serialize)]
pub struct RefusedOrder {
    #[serde(rename = "s")]
    pub symbol: SymbolName,
    #[serde(rename = "i")]
    pub order: u64,
    /// Text of the refusal.
    #[serde(rename = "r")]
    pub reason: Cow<'static, str>,
}

/// `ALGO_UPDATE`.
#[derive(Clone, Debug, Serialize)]
pub struct AlgoUpdate {
    #[serde(rename = "T")]
    pub time: i64,
    #[serde(rename = "o")]
    pub order: UpdatedAlgo,
}

/// An order of the conditional-order service after something happened to it.
#[derive(Clone, Debug, Serialize)]
pub struct UpdatedAlgo {
    #[serde(rename = "caid")]
    pub client_order: Name<36>,
    #[serde(rename = "aid")]
    pub order: u64,
    /// `CONDITIONAL`.
    #[serde(rename = "at")]
    pub kind: &'static str,
    #[serde(rename = "o")]
    pub order_type: &'static str,
    #[serde(rename = "s")]
    pub symbol: SymbolName,
    #[serde(rename = "S")]
    pub side: OrderSide,
    #[serde(rename = "ps")]
    pub position_side: PositionSide,
    #[serde(rename = "f")]
    pub time_in_force: TimeInForce,
    #[serde(rename = "q")]
    pub quantity: Units,
    #[serde(rename = "X")]
    pub status: &'static str,
    /// The order that it went on as, empty before; so are the next three.
    #[serde(rename = "ai")]
    pub actual: Digits,
    #[serde(rename = "ap")]
    pub actual_average: Units,
    #[serde(rename = "aq")]
    pub actual_filled: Units,
    #[serde(rename = "act")]
    pub actual_type: &'static str,
    #[serde(rename = "tp")]
    pub trigger_price: Units,
    #[serde(rename = "p")]
    pub price: Units,
    #[serde(rename = "V")]
    pub self_trade: SelfTrade,
    #[serde(rename = "wt")]
    pub working_type: TriggerPrice,
    #[serde(rename = "pm")]
    pub price_match: MatchedPrice,
    #[serde(rename = "cp")]
    pub is_close_position: bool,
    #[serde(rename = "pP")]
    pub is_protected: bool,
    #[serde(rename = "R")]
    pub is_reduce_only: bool,
    /// When it fired, 0 before.
    #[serde(rename = "tt")]
    pub trigger_time: i64,
    #[serde(rename = "gtd")]
    pub good_till: i64,
    /// Why it was refused, empty where it was not.
    #[serde(rename = "rm")]
    pub refusal: Cow<'static, str>,
}

/// A row of channel `balances`.
#[derive(Clone, Debug, Serialize)]
pub struct BalanceUpdate {
    pub asset: &'static str,
    /// Cross and isolated wallets.
    pub wallet_balance: Money,
    pub cross_wallet_balance: Money,
    /// What new orders may use, after the command.
    pub available_balance: Money,
    /// By how much the wallet balance changed.
    pub change: MoneyOrZero,
    pub reason: Reason,
    pub ts: i64,
}

/// A row of channel `vip_tier`.
#[derive(Clone, Debug, Serialize)]
pub struct TierUpdate {
    pub kind: &'static str,
    pub from_tier: u8,
    pub to_tier: u8,
    /// Traded value of 14 days.
    pub volume_14d: Money,
    /// When it holds.
    pub effective_at: i64,
    pub ts: i64,
}

/// `listenKeyExpired`: the last event of a stream whose key is over.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyExpired<'a> {
    pub listen_key: &'a str,
}
