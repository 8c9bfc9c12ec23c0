//! Perpetual markets as these routes show them (`account.md` 9).

use crate::dialect::fapi::{text, words};
use ringside_core::command::PerpetualParameter as Setting;
use ringside_views::perpetual::Perpetuals;
use ringside_views::perpetual::market::PerpetualMarket;
use serde_json::{Value, json};

const HOUR_MS: i64 = 3_600_000;

/// A market, with the rates of the lowest tier.
pub fn market(views: &Perpetuals, market: &PerpetualMarket, now_ms: i64) -> Value {
    let day = views.day(market, now_ms);
    let tick = text::decimals(market.tick());
    let price = |value: i64| text::fixed(value.into(), tick);
    let base = |value: i128| text::fixed(value, text::decimals(market.lot()));
    let units = |setting| text::units8(market.setting(setting));
    let money = |setting| text::micros(market.setting(setting));
    let (maker, taker) =
        views.accounts().tiers().first().map_or((0, 0), |row| (row.maker_rate, row.taker_rate));
    json!({
        "symbol": market.symbol(),
        "base_asset": market.base(),
        "quote_asset": market.quote(),
        "status": words::symbol_status(market.state),
        "last_price": price(day.close),
        "mark_price": text::exact8(market.mark()),
        "index_price": text::exact8(market.index()),
        "price_change_percent_24h": text::fixed(day.change_percent(2), 2),
        "high_24h": price(day.high),
        "low_24h": price(day.low),
        "volume_24h": base(day.volume),
        "quote_volume_24h": text::fixed(day.value * 100, 8),
        "open_interest": base(market.open_interest),
        "funding_rate": text::exact8(market.price.map_or(0, |told| told.funding_rate)),
        "next_funding_time": now_ms - now_ms.rem_euclid(HOUR_MS) + HOUR_MS,
        "tick_size": text::units8(market.tick()),
        "step_size": text::units8(market.lot()),
        "min_quantity": units(Setting::MinQuantity),
        "max_quantity": units(Setting::MaxQuantity),
        "min_notional": money(Setting::MinNotional),
        "max_notional": money(Setting::MaxNotional),
        "max_leverage": market.leverage_max(),
        "maker_rate": text::units8(maker),
        "taker_rate": text::units8(taker),
    })
}
