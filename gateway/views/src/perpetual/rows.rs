//! Rows of the perpetual histories, in memory and on disk.

use super::super::log::{Key, OfEvent, Row};
use super::super::time::milliseconds;
use crate::stored::{
    events::{NotedV1, ReasonV1, ToldAmendmentV1, ToldFundingV1, ToldPreventedV1},
    layouts, stored,
};
use ringside_core::command::ClientOrder;
use ringside_core::event::{self, Event};
use ringside_core::ids::{AccountId, MarketId, OrderId, TradeId};
use ringside_core::money::{Price, Quantity};
use zerocopy::FromZeros;

/// One account's half of a trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Account id.
    pub account: AccountId,
    /// Market id.
    pub market: MarketId,
    /// A [`ringside_core::command::Side`]: the account's.
    pub side: u8,
    /// 1: the order rested.
    pub is_maker: u8,
    /// 1: the engine's order of a liquidation.
    pub is_liquidation: u8,
    /// Reserved: zero.
    pub reserved: [u8; 5],
}

/// One change of a wallet that is income.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncomeRecord {
    /// Number of the row, over all accounts.
    pub tran: u64,
    /// Micro-quote, to the account.
    pub amount: i64,
    /// UNIX milliseconds.
    pub time_ms: i64,
    /// The trade, 0 for none.
    pub trade: TradeId,
    /// Account id.
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
    /// Of the spot balance: from or to the insurance fund or fees.
    Treasury = 7,
}

impl IncomeKind {
    /// Every kind.
    pub const ALL: [IncomeKind; 8] = [
        IncomeKind::Transfer,
        IncomeKind::RealizedPnl,
        IncomeKind::Commission,
        IncomeKind::FundingFee,
        IncomeKind::InsuranceClear,
        IncomeKind::CommissionRebate,
        IncomeKind::InternalTransfer,
        IncomeKind::Treasury,
    ];
}

/// One modification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmendRecord {
    /// As the engine told it.
    pub told: event::PerpetualAmended,
    /// The order's name.
    pub client_order: ClientOrder,
    /// Reserved: zero.
    pub reserved: u32,
    /// UNIX milliseconds.
    pub time_ms: i64,
    /// Number of the row, over all accounts.
    pub number: u64,
}

/// Margin moved to or from an isolated position by request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarginRecord {
    /// Number of the row, over all accounts.
    pub number: u64,
    /// Micro-quote, above 0.
    pub amount: i64,
    /// UNIX milliseconds.
    pub time_ms: i64,
    /// Account id.
    pub account: AccountId,
    /// Market id.
    pub market: MarketId,
    /// 1: added, 2: taken away.
    pub kind: u64,
}

/// One transfer between the spot and the perpetual ledger, at the owner's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferRecord {
    /// Its number: the sequence of its command.
    pub number: u64,
    /// Micro-quote: above 0 from spot to perpetual.
    pub amount: i64,
    /// UNIX milliseconds.
    pub time_ms: i64,
    /// Account id.
    pub account: AccountId,
    /// Reserved: zero.
    pub reserved: u32,
}

/// One thing that an operator did or tried to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromZeros)]
pub struct OperatorRecord {
    /// Number of the row, from 1.
    pub number: u64,
    /// When the note was made, UNIX milliseconds.
    pub time_ms: i64,
    /// Sequence of the command that did it, 0 where none came.
    pub sequence: u64,
    /// Who, from where, and on what, as told.
    pub noted: event::OperatorNoted,
    /// Why, and what exactly, as told.
    pub told: event::OperatorReason,
    /// 0, or why it was refused: a [`ringside_core::reject::Reject`].
    pub reject: u64,
}

/// One meeting that self-trade prevention ended, as one of its accounts finds it by one of its orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreventedRecord {
    /// As the engine told it.
    pub told: event::PreventedMatch,
    /// UNIX milliseconds.
    pub time_ms: i64,
    /// 0 or [`PreventedRecord::OF_TAKER`], the row of the arriving order: its account's, unless
    /// [`PreventedRecord::OTHERS`] says that it is the other account's.
    pub role: u64,
}

impl PreventedRecord {
    /// The row is found by the arriving order.
    pub const OF_TAKER: u64 = 1;
    /// The row is the account's whose order it is not found by.
    pub const OTHERS: u64 = 2;
}

/// A public trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarketTrade {
    /// Its number.
    pub trade: TradeId,
    /// Number of the row of joined trades that it belongs to.
    pub aggregate: u64,
    /// The maker's price.
    pub price: Price,
    /// How much base.
    pub quantity: Quantity,
    /// Micro-quote.
    pub value: i64,
    /// UNIX milliseconds.
    pub time_ms: i64,
    /// When the first trade of its row was.
    pub aggregate_ms: i64,
    /// Market id.
    pub market: MarketId,
    /// 1: the taker sold, so the buyer was maker.
    pub is_buyer_maker: u32,
}

/// A funding rate settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FundingRecord {
    /// As the engine told it.
    pub told: event::FundingSettled,
}

/// A client's name of an order in a market as a tag.
pub fn name_tag(market: MarketId, name: &ClientOrder) -> u64 {
    // FNV-1a: the same on every machine and in every version, as what is stored must be.
    let bytes = market.to_le_bytes().into_iter().chain(*name);
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash >> 1) | 1
}

impl Row for FillRecord {
    fn key(&self) -> Key {
        Key {
            owner: self.account,
            market: self.market,
            // Of a trade with oneself there are two.
            id: self.trade << 1 | u64::from(self.is_maker == 0),
            time_ms: self.time_ms,
            tag: self.order,
        }
    }

    const HAS_FACETS: bool = true;

    fn facet(&self) -> u8 {
        self.side
    }
}

impl Row for IncomeRecord {
    fn key(&self) -> Key {
        Key {
            owner: self.account,
            market: self.market,
            id: self.tran,
            time_ms: self.time_ms,
            tag: u64::from(self.kind) + 1,
        }
    }
}

impl Row for AmendRecord {
    fn key(&self) -> Key {
        Key {
            owner: self.told.account,
            market: self.told.market,
            id: self.number,
            time_ms: self.time_ms,
            tag: self.told.order,
        }
    }
}

impl Row for MarginRecord {
    fn key(&self) -> Key {
        Key {
            owner: self.account,
            market: self.market,
            id: self.number,
            time_ms: self.time_ms,
            tag: self.kind,
        }
    }
}

impl Row for TransferRecord {
    fn key(&self) -> Key {
        // Of two directions one can be asked for.
        let tag = if self.amount > 0 { 1 } else { 2 };
        Key { owner: self.account, market: 0, id: self.number, time_ms: self.time_ms, tag }
    }
}

impl Row for OperatorRecord {
    /// What operators did is kept in another order than they noted it.
    const IS_LATE: bool = true;

    fn key(&self) -> Key {
        Key { owner: 0, market: 0, id: self.number, time_ms: self.time_ms, tag: 0 }
    }
}

impl Row for PreventedRecord {
    fn key(&self) -> Key {
        let (told, of_taker) = (&self.told, self.role & PreventedRecord::OF_TAKER);
        let is_takers = (of_taker != 0) != (self.role & PreventedRecord::OTHERS != 0);
        Key {
            owner: if is_takers { told.taker_account } else { told.maker_account },
            market: told.market,
            id: told.prevented << 1 | of_taker,
            time_ms: self.time_ms,
            tag: if of_taker != 0 { told.taker_order } else { told.maker_order },
        }
    }
}

impl OfEvent for PreventedRecord {
    type Told = event::PreventedMatch;

    /// Both accounts find it by both orders.
    fn rows(event: &Event, told: &event::PreventedMatch) -> impl Iterator<Item = PreventedRecord> {
        let owners = if told.taker_account == told.maker_account { 1 } else { 2 };
        let (told, time_ms) = (*told, milliseconds(event.time_ns));
        let roles = [0, PreventedRecord::OTHERS].into_iter().take(owners);
        let roles = roles.flat_map(|owner| [0, PreventedRecord::OF_TAKER].map(|order| owner | order));
        roles.map(move |role| PreventedRecord { told, time_ms, role })
    }
}

impl Row for MarketTrade {
    fn key(&self) -> Key {
        Key { owner: 0, market: self.market, id: self.trade, time_ms: self.time_ms, tag: self.aggregate }
    }
}

impl OfEvent for FundingRecord {
    type Told = event::FundingSettled;

    fn rows(_: &Event, told: &event::FundingSettled) -> impl Iterator<Item = FundingRecord> {
        std::iter::once(FundingRecord { told: *told })
    }
}

impl Row for FundingRecord {
    fn key(&self) -> Key {
        let FundingRecord { told } = self;
        Key {
            owner: 0,
            market: told.market,
            id: told.funding_ms.unsigned_abs() << 20 | u64::from(told.market & 0xf_ffff),
            time_ms: told.funding_ms,
            tag: 0,
        }
    }
}

layouts! {
    /// One account's half of a perpetual trade.
    FillV1 of FillRecord {
        trade: u64, order: u64, price: i64, quantity: i64, value: i64, fee: i64, realised: i64, time_ms: i64,
        account: u32, market: u32, side: u8, is_maker: u8, is_liquidation: u8, reserved: [u8; 5],
    }

    /// A change of a wallet.
    IncomeV1 of IncomeRecord {
        tran: u64, amount: i64, time_ms: i64, trade: u64, account: u32, market: u32, kind: u32, info: [u8; 36],
    }

    /// Margin moved to or from an isolated position.
    MarginV1 of MarginRecord { number: u64, amount: i64, time_ms: i64, account: u32, market: u32, kind: u64 }

    /// A public trade of a perpetual market.
    TradeV1 of MarketTrade {
        trade: u64, aggregate: u64, price: i64, quantity: i64, value: i64, time_ms: i64, aggregate_ms: i64, market: u32,
        is_buyer_maker: u32,
    }

    /// A transfer between the ledgers.
    TransferV1 of TransferRecord { number: u64, amount: i64, time_ms: i64, account: u32, reserved: u32 }

    /// An action.
    OperatorV1 of OperatorRecord {
        number: u64, time_ms: i64, sequence: u64, noted: NotedV1, told: ReasonV1, reject: u64,
    }

    /// A modification of a perpetual order.
    AmendmentV1 of AmendRecord {
        told: ToldAmendmentV1, client_order: [u8; 36], reserved: u32, time_ms: i64, number: u64,
    }

    /// Such a meeting, as one account finds it by one order.
    PreventedV1 of PreventedRecord { told: ToldPreventedV1, time_ms: i64, role: u64 }

    /// A funding rate that was settled.
    FundingV1 of FundingRecord { told: ToldFundingV1 }
}

stored! {
    FillRecord as Fills: FillV1;
    IncomeRecord as Income: IncomeV1;
    MarginRecord as MarginChanges: MarginV1;
    MarketTrade as Trades: TradeV1;
    TransferRecord as Transfers: TransferV1;
    OperatorRecord as Operators: OperatorV1;
    AmendRecord as Amendments: AmendmentV1;
    PreventedRecord as Prevented: PreventedV1;
    FundingRecord as Fundings: FundingV1;
}
