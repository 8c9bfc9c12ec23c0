//! Perpetual markets: brackets, prices and their sources, funding.

use super::{Sum, layouts, stored};
use crate::perpetual::interest::InterestRecord;
use crate::perpetual::rows::FundingRecord;
use ringside_core::event;

layouts! {
    /// A bracket of a market.
    BracketV1 of event::PerpetualBracket {
        market: u32, bracket: u16, count: u16, cap: i64, rate: i64, cumulated: i64, leverage: u32, reserved: u32,
    }

    /// The prices of a market.
    PriceV1 of event::PerpetualPrice {
        market: u32, index_state: u8, clamped: u8, reserved: u16, index: i64, mark: i64, basis: i64, impact_bid: i64,
        impact_ask: i64, funding_rate: i64, next_funding_ms: i64,
    }

    /// A source of an index.
    SourceV1 of event::PerpetualSource { market: u32, source: u32, weight: u32, manual: u32, price: i64 }

    /// Age from which a source is not fresh.
    SourceAgeV1 of event::PerpetualSourceAge { market: u32, source: u32, stale_ms: u32, reserved: u32 }

    /// What the engine told of a funding rate that was settled.
    ToldFundingV1 of event::FundingSettled {
        market: u32, sparse: u32, rate: i64, mark: i64, funding_ms: i64, residue: i64, positions: u64,
    }

    /// A funding rate that was settled.
    FundingV1 of FundingRecord { told: ToldFundingV1 }

    /// A sample of open interest.
    InterestV1 of InterestRecord { time_ms: i64, quantity: Sum, value: Sum, market: u32, reserved: u32 }
}

stored! {
    event::PerpetualBracket as Brackets: BracketV1;
    event::PerpetualPrice as Prices: PriceV1;
    event::PerpetualSource as Sources: SourceV1;
    event::PerpetualSourceAge as SourceAges: SourceAgeV1;
    FundingRecord as Fundings: FundingV1;
    InterestRecord as Interest: InterestV1;
}
