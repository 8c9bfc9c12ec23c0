//! What a new deployment ships with: the market of `spot.md` 5, and on test deployments the perpetual markets of
//! `perpetual.md` 5 with a pinned index, so that they can be traded at once.

use ringside_core::command::{
    Command, ListMarket, ListPerpetual, MarketKind, PerpetualParameter as Setting, PerpetualState,
    SetBrackets, SetManualPrice, SetPerpetualParameter, SetPerpetualState, SetVipTier,
};
use ringside_core::ids::{AssetName, FIRST_PERPETUAL, MarketId, Symbol, padded};
use ringside_core::money::{AMOUNT_UNIT, MONEY_UNIT, UNIT};

/// Open orders that one account may have in one market (`spot.md` 12).
const OPEN_ORDERS_MAX: u32 = 200;

/// `DFUSDT`: tick 0.0001, lot 0.1, least notional 1, no fees.
pub fn shipped_market() -> ListMarket {
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

/// A perpetual market as it ships. The engine lists every market with the parameters and brackets of BTCUSDT, so the others
/// name what differs.
struct Shipped {
    base: &'static str,
    tick: i64,
    lot: i64,
    /// Index to begin with, whole quote.
    price: i64,
    settings: &'static [(Setting, i64)],
    /// Cap in quote, greatest leverage, maintenance rate in 10^-8.
    brackets: &'static [(i64, u32, u32)],
}

/// How many perpetual markets ship.
pub(super) const PERPETUALS: usize = SHIPPED.len();

const SHIPPED: [Shipped; 3] = [
    Shipped { base: "BTC", tick: UNIT / 10, lot: UNIT / 1_000, price: 60_000, settings: &[], brackets: &[] },
    Shipped {
        base: "ETH",
        tick: UNIT / 100,
        lot: UNIT / 1_000,
        price: 3_000,
        settings: &[
            (Setting::MinPrice, UNIT / 100),
            (Setting::MaxPrice, 1_000_000 * UNIT),
            (Setting::MaxQuantity, 10_000 * UNIT),
            (Setting::MaxMarketQuantity, 2_000 * UNIT),
            (Setting::MaxNotional, 2_000_000 * MONEY_UNIT),
            (Setting::ImpactNotional, 20_000 * MONEY_UNIT),
            (Setting::MarkClamp, 495_049),
        ],
        brackets: &[
            (50_000, 100, 500_000),
            (500_000, 50, 1_000_000),
            (2_000_000, 20, 2_500_000),
            (5_000_000, 10, 5_000_000),
            (10_000_000, 5, 10_000_000),
            (20_000_000, 2, 12_500_000),
        ],
    },
    Shipped {
        base: "SOL",
        tick: UNIT / 100,
        lot: UNIT / 100,
        price: 150,
        settings: &[
            (Setting::MinPrice, UNIT / 100),
            (Setting::MaxPrice, 100_000 * UNIT),
            (Setting::MinQuantity, UNIT / 100),
            (Setting::MaxQuantity, 100_000 * UNIT),
            (Setting::MaxMarketQuantity, 20_000 * UNIT),
            (Setting::MaxNotional, 500_000 * MONEY_UNIT),
            (Setting::ImpactNotional, 10_000 * MONEY_UNIT),
            (Setting::BandUp, 110_000_000),
            (Setting::BandDown, 90_000_000),
            (Setting::TakeBound, 10_000_000),
            (Setting::FundingCap, 750_000),
            (Setting::MarkClamp, 980_392),
        ],
        brackets: &[
            (10_000, 50, 1_000_000),
            (100_000, 25, 2_000_000),
            (500_000, 10, 5_000_000),
            (1_000_000, 5, 10_000_000),
            (5_000_000, 2, 12_500_000),
        ],
    },
];

/// Volume over 14 days in quote, maker and taker rate in 10^-8 (`account.md` 3).
const TIERS: [(i64, i64, i64); 6] = [
    (0, 20_000, 50_000),
    (1_000_000, 18_000, 45_000),
    (5_000_000, 15_000, 40_000),
    (20_000_000, 12_000, 35_000),
    (100_000_000, 8_000, 30_000),
    (500_000_000, 5_000, 25_000),
];

/// Lists the shipped perpetual markets, sets fee tiers and pins the indices; what is so already stays so. A mark follows at the
/// next tick; then comes [`open_perpetuals`].
pub fn list_perpetuals() -> Vec<Command> {
    let mut commands = Vec::new();
    for (market, shipped) in (FIRST_PERPETUAL..).zip(&SHIPPED) {
        let symbol = format!("{}USDT", shipped.base);
        commands.push(Command::new(ListPerpetual {
            symbol: padded(&symbol).expect("a short name"),
            base: padded(shipped.base).expect("a short name"),
            quote: padded("USDT").expect("a short name"),
            tick: shipped.tick,
            lot: shipped.lot,
        }));
        // Brackets before bounds: a funding cap is judged by the first maintenance rate.
        if !shipped.brackets.is_empty() {
            commands.push(Command::new(brackets(market, shipped.brackets)));
        }
        commands.extend(shipped.settings.iter().map(|(parameter, value)| {
            Command::new(SetPerpetualParameter { market, parameter: *parameter as u32, value: *value })
        }));
        let price = shipped.price * UNIT;
        commands.push(Command::new(SetManualPrice { market, moves_band: 0, price }));
    }
    commands.extend((0..).zip(TIERS).map(|(tier, (volume, maker_rate, taker_rate))| {
        let (count, volume) = (TIERS.len() as u32, volume * MONEY_UNIT);
        Command::new(SetVipTier { tier, count, volume, maker_rate, taker_rate })
    }));
    commands
}

/// Opens the shipped perpetual markets, once they have a mark.
pub fn open_perpetuals() -> Vec<Command> {
    (FIRST_PERPETUAL..)
        .zip(&SHIPPED)
        .map(|(market, _)| {
            let state = PerpetualState::Trading as u8;
            Command::new(SetPerpetualState { market, state, reserved: [0; 3] })
        })
        .collect()
}

fn brackets(market: MarketId, shipped: &[(i64, u32, u32)]) -> SetBrackets {
    let mut set =
        SetBrackets { market, count: shipped.len() as u32, caps: [0; 8], leverages: [0; 8], rates: [0; 8] };
    for (index, (cap, leverage, rate)) in shipped.iter().enumerate() {
        set.caps[index] = cap * MONEY_UNIT;
        set.leverages[index] = *leverage;
        set.rates[index] = *rate;
    }
    set
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

#[cfg(test)]
mod tests {
    use super::*;
    use ringside_core::risk::perpetual::bounds;
    use ringside_core::risk::perpetual::bracket::{BracketRow, widest_clamp};

    /// `risk.md` 2: the clamp ships at its bound.
    #[test]
    fn mark_clamps_are_the_widest_that_the_brackets_allow() {
        for shipped in &SHIPPED {
            let set = shipped.settings.iter().find(|(setting, _)| *setting == Setting::MarkClamp);
            let clamp = set.map_or(bounds::shipped(Setting::MarkClamp), |(_, clamp)| *clamp);
            let row = |(cap, leverage_max, rate): &(i64, u32, u32)| BracketRow {
                cap: cap * MONEY_UNIT,
                maintenance_rate: (*rate).into(),
                leverage_max: *leverage_max,
            };
            let rows: Vec<_> = match shipped.brackets {
                [] => bounds::SHIPPED_BRACKETS.to_vec(),
                rows => rows.iter().map(row).collect(),
            };
            let brackets = bounds::table(&rows).expect("sound");
            assert_eq!(Some(clamp), widest_clamp(&brackets), "{}", shipped.base);
        }
    }

    /// `risk.md` 2: 200 USDT times the greatest leverage of the first bracket.
    #[test]
    fn impact_notionals_are_those_of_the_greatest_leverage() {
        for shipped in &SHIPPED {
            let set = shipped.settings.iter().find(|(setting, _)| *setting == Setting::ImpactNotional);
            // What is not named is BTCUSDT's.
            let notional = set.map_or(25_000 * MONEY_UNIT, |(_, notional)| *notional);
            let leverage = shipped.brackets.first().map_or(125, |(_, leverage, _)| *leverage);
            assert_eq!(notional, 200 * i64::from(leverage) * MONEY_UNIT, "{}", shipped.base);
        }
    }
}
