//! Events of an account as its user stream tells them (`perpetual-stream.md` 4). `tell` makes them of a command's events,
//! `ledger` knows what the account had after each step of it, `write` spells them. Who listens is not known here.

mod exposure;
mod ledger;
mod tell;
mod write;

pub use tell::{accounts_of, tell};
pub use write::listen_key_expired;

use crate::dialect::fapi::refusal::Refusal;
use ringside_core::event::VipChange;
use ringside_core::ids::Symbol;
use ringside_views::perpetual::order::OrderRecord;

/// Where events of an account go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserChannel {
    /// The stream of its listen key: bare events.
    Raw,
    /// Channel `user_data`.
    UserData,
    /// Channel `orders`.
    Orders,
    /// Channel `positions`.
    Positions,
    /// Channel `balances`.
    Balances,
    /// Channel `vip_tier`.
    VipTier,
}

impl UserChannel {
    /// Every one.
    pub const ALL: [UserChannel; 6] = [
        UserChannel::Raw,
        UserChannel::UserData,
        UserChannel::Orders,
        UserChannel::Positions,
        UserChannel::Balances,
        UserChannel::VipTier,
    ];
}

/// One event. Times are UNIX milliseconds, quantities and prices 10^-8, money micros.
#[derive(Clone, Debug)]
pub enum UserEvent {
    /// ORDER_TRADE_UPDATE.
    Order(Box<OrderUpdate>),
    /// TRADE_LITE.
    Lite(Box<OrderUpdate>),
    /// ACCOUNT_UPDATE.
    Account(Box<AccountUpdate>),
    /// MARGIN_CALL.
    MarginCall(Box<MarginCall>),
    /// ACCOUNT_CONFIG_UPDATE of a leverage.
    Leverage {
        /// Engine time of the command, UNIX milliseconds.
        time_ms: i64,
        /// Name of the market.
        symbol: Symbol,
        /// The new one.
        leverage: u32,
    },
    /// TRIGGER_DEFERRED.
    Deferred {
        /// Engine time of the command, UNIX milliseconds.
        time_ms: i64,
        /// Name of the market.
        symbol: Symbol,
        /// Order id.
        order: u64,
        /// Mark price.
        mark: i64,
        /// Last price.
        last: i64,
    },
    /// CONDITIONAL_ORDER_TRIGGER_REJECT.
    TriggerRefused {
        /// Engine time of the command, UNIX milliseconds.
        time_ms: i64,
        /// Name of the market.
        symbol: Symbol,
        /// Order id.
        order: u64,
        /// Code and text that answer it.
        refusal: Refusal,
    },
    /// ALGO_UPDATE.
    Algo(Box<AlgoUpdate>),
    /// A row of channel `balances`.
    Balance(Box<BalanceUpdate>),
    /// A change of the fee tier.
    Vip {
        /// Engine time of the command, UNIX milliseconds.
        time_ms: i64,
        /// What happened.
        change: VipChange,
        /// Tier before, and after.
        tiers: (u8, u8),
        /// Traded value of 14 days.
        volume: i64,
        /// When it holds.
        effective_ms: i64,
    },
}

/// What happened to an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
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

/// An order as it is after something happened to it.
#[derive(Clone, Copy, Debug)]
pub struct OrderUpdate {
    /// Engine time of the command, UNIX milliseconds.
    pub time_ms: i64,
    /// Name of the market.
    pub symbol: Symbol,
    /// The order after it.
    pub order: OrderRecord,
    /// What happened.
    pub happening: Happening,
    /// The fill that happened.
    pub fill: Option<Fill>,
    /// Reference value of what the account has open of buys and sells after it.
    pub exposure: [i64; 2],
}

/// One account's half of a trade.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    /// Its number.
    pub trade: u64,
    /// How much.
    pub quantity: i64,
    /// At which price.
    pub price: i64,
    /// What it cost; below 0 a rebate.
    pub fee: i64,
    /// Profit, before the fee.
    pub realised: i64,
    /// Whether the order rested.
    pub is_maker: bool,
}

/// Why an account changed, values of `m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// Balances and positions after a step.
#[derive(Clone, Debug)]
pub struct AccountUpdate {
    /// Engine time of the command, UNIX milliseconds.
    pub time_ms: i64,
    /// What changed the account: `m`.
    pub reason: Reason,
    /// Wallet balance, cross wallet, change other than profit and commission.
    pub balance: Option<[i64; 3]>,
    /// Positions that changed.
    pub positions: Vec<PositionRow>,
}

/// One position of an [`AccountUpdate`].
#[derive(Clone, Copy, Debug)]
pub struct PositionRow {
    /// Name of the market.
    pub symbol: Symbol,
    /// Signed.
    pub quantity: i64,
    /// At which price it was opened.
    pub entry_price: i64,
    /// At which price it pays for its fees.
    pub break_even_price: i64,
    /// Profit so far, before fees.
    pub realised: i64,
    /// Profit at the mark.
    pub unrealised: i64,
    /// Whether its margin is its own.
    pub is_isolated: bool,
    /// That margin.
    pub isolated_wallet: i64,
}

/// A scope that is near its liquidation.
#[derive(Clone, Debug)]
pub struct MarginCall {
    /// Cross wallet, where the scope is the cross account.
    pub cross_wallet: Option<i64>,
    /// Its positions.
    pub positions: Vec<CalledRow>,
}

/// One position of a [`MarginCall`].
#[derive(Clone, Copy, Debug)]
pub struct CalledRow {
    /// Name of the market.
    pub symbol: Symbol,
    /// Signed.
    pub quantity: i64,
    /// Whether its margin is its own.
    pub is_isolated: bool,
    /// That margin.
    pub isolated_wallet: i64,
    /// Mark price.
    pub mark: i64,
    /// Profit at the mark.
    pub unrealised: i64,
    /// Maintenance margin.
    pub maintenance: i64,
}

/// An order of the conditional-order service.
#[derive(Clone, Debug)]
pub struct AlgoUpdate {
    /// Engine time of the command, UNIX milliseconds.
    pub time_ms: i64,
    /// Name of the market.
    pub symbol: Symbol,
    /// The order as placed.
    pub order: OrderRecord,
    /// `algoStatus`.
    pub status: &'static str,
    /// The order it went on as.
    pub actual: Option<OrderRecord>,
    /// When it fired, 0 before.
    pub trigger_ms: i64,
    /// Why it was refused.
    pub refusal: Option<Refusal>,
}

/// A row of channel `balances`.
#[derive(Clone, Copy, Debug)]
pub struct BalanceUpdate {
    /// Engine time of the command, UNIX milliseconds.
    pub time_ms: i64,
    /// What changed the balance.
    pub reason: Reason,
    /// Cross and isolated wallets.
    pub wallet: i64,
    /// Cross wallet.
    pub cross_wallet: i64,
    /// What new orders may use, after the command.
    pub available: i64,
    /// By how much the wallet balance changed.
    pub change: i64,
}

impl UserEvent {
    /// Its name: `e` of a bare event, `type` of a channel's frame.
    pub fn name(&self) -> &'static str {
        match self {
            UserEvent::Order(_) => "ORDER_TRADE_UPDATE",
            UserEvent::Lite(_) => "TRADE_LITE",
            UserEvent::Account(_) => "ACCOUNT_UPDATE",
            UserEvent::MarginCall(_) => "MARGIN_CALL",
            UserEvent::Leverage { .. } => "ACCOUNT_CONFIG_UPDATE",
            UserEvent::Deferred { .. } => "TRIGGER_DEFERRED",
            UserEvent::TriggerRefused { .. } => "CONDITIONAL_ORDER_TRIGGER_REJECT",
            UserEvent::Algo(_) => "ALGO_UPDATE",
            UserEvent::Balance(_) => "balance_update",
            UserEvent::Vip { .. } => "vip_tier_changed",
        }
    }

    /// Whether it goes there. Bare streams have no event that existing clients do not know.
    pub fn goes_to(&self, channel: UserChannel) -> bool {
        use UserChannel::{Balances, Orders, Positions, Raw, UserData, VipTier};
        match self {
            UserEvent::Order(_)
            | UserEvent::Lite(_)
            | UserEvent::Algo(_)
            | UserEvent::TriggerRefused { .. } => matches!(channel, Raw | UserData | Orders),
            UserEvent::Deferred { .. } => matches!(channel, UserData | Orders),
            UserEvent::Account(_) | UserEvent::MarginCall(_) | UserEvent::Leverage { .. } => {
                matches!(channel, Raw | UserData | Positions)
            }
            UserEvent::Balance(_) => channel == Balances,
            UserEvent::Vip { .. } => channel == VipTier,
        }
    }
}

impl Reason {
    /// Its word.
    pub const fn text(self) -> &'static str {
        match self {
            Reason::Order => "ORDER",
            Reason::FundingFee => "FUNDING_FEE",
            Reason::Deposit => "DEPOSIT",
            Reason::Withdraw => "WITHDRAW",
            Reason::MarginTransfer => "MARGIN_TRANSFER",
            Reason::MarginTypeChange => "MARGIN_TYPE_CHANGE",
            Reason::InsuranceClear => "INSURANCE_CLEAR",
            Reason::AdminDeposit => "ADMIN_DEPOSIT",
            Reason::AdminWithdraw => "ADMIN_WITHDRAW",
        }
    }
}
