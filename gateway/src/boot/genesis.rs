//! What a new deployment ships with: the market of `spot.md` 5.

use ringside_core::command::{ListMarket, MarketKind};
use ringside_core::ids::{AssetName, Symbol};
use ringside_core::money::{AMOUNT_UNIT, UNIT};

/// Open orders that one account may have in one market (`spot.md` 12).
const OPEN_ORDERS_MAX: u32 = 200;

/// `DFUSDT`: tick 0.0001, lot 0.1, least notional 1, no fees.
pub(super) fn shipped_market() -> ListMarket {
    ListMarket {
        symbol: field::<20>(b"DFUSDT") as Symbol,
        base: field::<10>(b"DF") as AssetName,
        quote: field::<10>(b"USDT") as AssetName,
        tick: UNIT / 10_000,
        lot: UNIT / 10,
        min_notional: AMOUNT_UNIT.into(),
        maker_fee: 0,
        taker_fee: 0,
        max_open_orders: OPEN_ORDERS_MAX,
        kind: MarketKind::Spot as u8,
        reserved: [0; 3],
    }
}

const fn field<const N: usize>(text: &[u8]) -> [u8; N] {
    let mut field = [0; N];
    let mut at = 0;
    while at < text.len() {
        field[at] = text[at];
        at += 1;
    }
    field
}
