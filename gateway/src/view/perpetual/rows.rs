//! Rows of the perpetual histories. Plain records, saved as they are.

use super::recent::Owned;
use ringside_core::command::ClientOrder;
use ringside_core::event;
use ringside_core::ids::{AccountId, MarketId, OrderId, TradeId};
use ringside_core::money::{Price, Quantity};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// One account's half of a trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct FillRecord {
    /// The trade.
    pub trade: TradeId,
    /// The account's order.
    pub order: OrderId,
    /// The maker's price.
    pub price: Price,
    /// How much base.
    pub quantity: Quantity,
    /// Micro-quote.
    pub value: i64,
    /// Below 0 a rebate.
    pub fee: i64,
    /// Profit before the fee.
    pub realised: i64,
    /// UNIX milliseconds.
    pub time_ms: i64,
    /// Whose.
    pub account: AccountId,
    /// Where.
    pub market: MarketId,
    /// A [`ringside_core::command::Side`]: the account's.
    pub side: u8,
    /// 1: the order rested.
    pub is_maker: u8,
    /// 1: the engine's order of a liquidation.
    pub is_liquidation: u8,
    /// Zero.
    pub reserved: [u8; 5],
}

/// One change of a wallet that is income.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct IncomeRecord {
    /// Number of the row, over all accounts.
    pub tran: u64,
    /// Micro-quote, to the account.
    pub amount: i64,
    /// UNIX milliseconds.
    pub time_ms: i64,
    /// The trade, 0 for none.
    pub trade: TradeId,
    /// Whose.
    pub account: AccountId,
    /// Where, or [`ringside_core::ids::ALL_MARKETS`].
    pub market: MarketId,
    /// An [`IncomeKind`].
    pub kind: u32,
    /// Text, padded with zeros.
    pub info: ClientOrder,
}

/// Kinds of income. Numbers are saved: append, never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum IncomeKind {
    /// From or to the spot wallet.
    Transfer = 0,
    /// Profit of a closed part.
    RealizedPnl = 1,
    /// Fee.
    Commission = 2,
    /// Funding.
    FundingFee = 3,
    /// Liquidation fee, deficit taken over.
    InsuranceClear = 4,
    /// Maker rebate.
    CommissionRebate = 5,
    /// An operator's.
    InternalTransfer = 6,
}

impl IncomeKind {
    /// Every kind.
    pub const ALL: [IncomeKind; 7] = [
        IncomeKind::Transfer,
        IncomeKind::RealizedPnl,
        IncomeKind::Commission,
        IncomeKind::FundingFee,
        IncomeKind::InsuranceClear,
        IncomeKind::CommissionRebate,
        IncomeKind::InternalTransfer,
    ];
}

/// One modification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct AmendRecord {
    /// As the engine told it.
    pub told: event::PerpetualAmended,
    /// The order's name.
    pub client_order: ClientOrder,
    /// Zero.
    pub reserved: u32,
    /// UNIX milliseconds.
    pub time_ms: i64,
}

impl Owned for FillRecord {
    fn owner(&self) -> AccountId {
        self.account
    }
}

impl Owned for IncomeRecord {
    fn owner(&self) -> AccountId {
        self.account
    }
}

impl Owned for AmendRecord {
    fn owner(&self) -> AccountId {
        self.told.account
    }
}
