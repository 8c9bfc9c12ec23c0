//! Perpetual markets as these routes show them (`account.md` 9).

use crate::fapi::encode::Steps;
use crate::fapi::words;
use ringside_core::command::PerpetualParameter as Setting;
use ringside_views::perpetual::Perpetuals;
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_wire::account::venue;
use ringside_wire::name::Market;
use ringside_wire::number::{Exact, Fixed, Micros, Name, SignedExact, SignedFixed, SignedUnits, Units};

const HOUR_MS: i64 = 3_600_000;

/// A market, with the rates of the lowest tier.
pub fn market(views: &Perpetuals, market: &PerpetualMarket, now_ms: i64) -> venue::PerpetualMarket {
    let day = views.day(market, now_ms);
    let steps = Steps::of(market);
    let units = |setting| Units(market.setting(setting));
    let money = |setting| Micros(market.setting(setting));
    let (maker, taker) =
        views.accounts().tiers().first().map_or((0, 0), |row| (row.maker_rate, row.taker_rate));
    venue::PerpetualMarket {
        symbol: Market(market.symbol),
        base_asset: Name(market.base),
        quote_asset: Name(market.quote),
        status: words::symbol_status(market.state),
        last_price: steps.price(day.close),
        mark_price: Exact(market.mark()),
        index_price: Exact(market.index()),
        price_change_percent_24h: SignedFixed(day.change_percent(2), 2),
        high_24h: steps.price(day.high),
        low_24h: steps.price(day.low),
        volume_24h: steps.quantity(day.volume),
        quote_volume_24h: Fixed(day.value * 100, 8),
        open_interest: steps.quantity(market.open_interest),
        funding_rate: SignedExact(market.price.map_or(0, |told| told.funding_rate)),
        next_funding_time: now_ms - now_ms.rem_euclid(HOUR_MS) + HOUR_MS,
        tick_size: Units(market.tick()),
        step_size: Units(market.lot()),
        min_quantity: units(Setting::MinQuantity),
        max_quantity: units(Setting::MaxQuantity),
        min_notional: money(Setting::MinNotional),
        max_notional: money(Setting::MaxNotional),
        max_leverage: market.leverage_max(),
        maker_rate: SignedUnits(maker),
        taker_rate: SignedUnits(taker),
    }
}
