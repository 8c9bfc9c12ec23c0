//! The spot market that a venue is shipped with (`spot.md` 5): what tests of withdrawals move the base asset of.
#![allow(clippy::unwrap_used, unreachable_pub)]

use ringside_core::command::{ListMarket, MarketKind};
use ringside_core::ids::padded;
use ringside_core::money::{AMOUNT_UNIT, UNIT};

/// `DFUSDT`: tick 0.0001, lot 0.1, least notional 1, no fees.
pub fn df_usdt() -> ListMarket {
    ListMarket {
        symbol: padded("DFUSDT").unwrap(),
        base: padded("DF").unwrap(),
        quote: padded("USDT").unwrap(),
        tick: UNIT / 10_000,
        lot: UNIT / 10,
        min_notional: AMOUNT_UNIT.into(),
        maker_fee: 0,
        taker_fee: 0,
        max_open_orders: 200,
        kind: MarketKind::Spot as u8,
        reserved: [0; 3],
    }
}
