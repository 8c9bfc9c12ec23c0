//! Views as the `/fapi` API shows them (`perpetual.md` 5 to 9). Shapes and number formats are stated here, once.

use super::margin::{Figures, Held};
use super::{text, words};
use ringside_core::command::{MarginMode, PerpetualParameter as Setting, Side};
use ringside_core::money::{RATE_ONE, UNIT};
use ringside_views::depth::Book;
use ringside_views::perpetual::day::{DAY_MS, Day};
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_views::perpetual::order::OrderTable;
use ringside_views::perpetual::rows::{FillRecord, IncomeKind, IncomeRecord, MarketTrade};
use ringside_views::perpetual::series::Candle;
use serde_json::{Value, json};

/// The seven types and five times in force are words of `perpetual.md` 1.
pub const DELIVERY_MS: i64 = 4_133_404_800_000;

fn side(code: u8) -> &'static str {
    Side::from_code(code).map_or("", words::side)
}

/// A row of userTrades.
pub fn fill(fill: &FillRecord, symbol: &str) -> Value {
    json!({
        "symbol": symbol,
        "id": fill.trade,
        "orderId": fill.order,
        "side": side(fill.side),
        "price": text::units8(fill.price),
        "qty": text::units8(fill.quantity),
        "realizedPnl": text::money(fill.realised),
        "quoteQty": text::micros(fill.value),
        "commission": text::money(fill.fee),
        "commissionAsset": "USDT",
        "time": fill.time_ms,
        "positionSide": "BOTH",
        "buyer": fill.side == Side::Buy as u8,
        "maker": fill.is_maker == 1,
    })
}

/// The word of a kind of income.
pub const fn income_type(kind: IncomeKind) -> &'static str {
    match kind {
        IncomeKind::Transfer => "TRANSFER",
        IncomeKind::RealizedPnl => "REALIZED_PNL",
        IncomeKind::Commission => "COMMISSION",
        IncomeKind::FundingFee => "FUNDING_FEE",
        IncomeKind::InsuranceClear => "INSURANCE_CLEAR",
        IncomeKind::CommissionRebate => "COMMISSION_REBATE",
        IncomeKind::InternalTransfer => "INTERNAL_TRANSFER",
        IncomeKind::Treasury => "TREASURY",
    }
}

/// A row of income.
pub fn income(row: &IncomeRecord, symbol: &str) -> Value {
    let kind = IncomeKind::ALL.into_iter().find(|kind| *kind as u32 == row.kind);
    let len = row.info.iter().position(|byte| *byte == 0).unwrap_or(row.info.len());
    json!({
        "symbol": symbol,
        "incomeType": kind.map_or("", income_type),
        "income": text::money(row.amount),
        "asset": "USDT",
        "info": String::from_utf8_lossy(&row.info[..len]),
        "time": row.time_ms,
        "tranId": row.tran,
        "tradeId": if row.trade == 0 { String::new() } else { row.trade.to_string() },
    })
}

/// A symbol of exchangeInfo.
pub fn symbol(market: &PerpetualMarket) -> Value {
    let setting = |setting| market.setting(setting);
    let units = |setting| text::units8(market.setting(setting));
    let money = |setting| text::micros(market.setting(setting));
    let first = market.brackets.first();
    let lot = |greatest| json!({ "minQty": units(Setting::MinQuantity), "maxQty": units(greatest), "stepSize": units(Setting::Lot) });
    let mut lot_size = lot(Setting::MaxQuantity);
    lot_size["filterType"] = json!("LOT_SIZE");
    let mut market_lot_size = lot(Setting::MaxMarketQuantity);
    market_lot_size["filterType"] = json!("MARKET_LOT_SIZE");
    json!({
        "symbol": market.symbol(),
        "pair": market.symbol(),
        "contractType": "PERPETUAL",
        "deliveryDate": DELIVERY_MS,
        "onboardDate": market.listed_ms,
        "status": words::symbol_status(market.state),
        "tradingState": words::state(market.state),
        "maintMarginPercent": text::fixed(first.map_or(0, |bracket| i128::from(bracket.rate) * 100), 4),
        "requiredMarginPercent": text::fixed(i128::from(100 * UNIT / i64::from(market.leverage_max().max(1))), 4),
        "baseAsset": market.base(),
        "quoteAsset": market.quote(),
        "marginAsset": market.quote(),
        "pricePrecision": text::decimals(market.tick()),
        "quantityPrecision": text::decimals(market.lot()),
        "baseAssetPrecision": 8,
        "quotePrecision": 8,
        "underlyingType": "COIN",
        "underlyingSubType": [],
        "settlePlan": 0,
        "triggerProtect": text::fixed(setting(Setting::TriggerProtect).into(), 4),
        "liquidationFee": text::fixed(setting(Setting::LiquidationFee).into(), 6),
        "marketTakeBound": text::fixed(setting(Setting::TakeBound).into(), 2),
        "maxNotional": money(Setting::MaxNotional),
        "maxMoveOrderLimit": 10_000,
        "orderTypes": words::ORDER_TYPES,
        "timeInForce": words::TIMES_IN_FORCE,
        // Products of the venue's own that may trade it: there are none.
        "permissionSets": [],
        "filters": [
            { "filterType": "PRICE_FILTER", "minPrice": units(Setting::MinPrice), "maxPrice": units(Setting::MaxPrice), "tickSize": units(Setting::Tick) },
            lot_size,
            market_lot_size,
            { "filterType": "MAX_NUM_ORDERS", "limit": setting(Setting::MaxOpenOrders) },
            { "filterType": "MAX_NUM_ALGO_ORDERS", "limit": setting(Setting::MaxConditionalOrders) },
            { "filterType": "MIN_NOTIONAL", "notional": money(Setting::MinNotional) },
            {
                "filterType": "PERCENT_PRICE",
                "multiplierUp": text::fixed(setting(Setting::BandUp).into(), 4),
                "multiplierDown": text::fixed(setting(Setting::BandDown).into(), 4),
                "multiplierDecimal": "4",
            },
        ],
    })
}

/// Levels of one side.
fn levels(
    market: &PerpetualMarket,
    levels: impl Iterator<Item = (i64, i128)>,
    limit: usize,
) -> Vec<[String; 2]> {
    let (price_decimals, quantity_decimals) = (text::decimals(market.tick()), text::decimals(market.lot()));
    levels
        .take(limit)
        .map(|(price, total)| {
            [text::fixed(price.into(), price_decimals), text::fixed(total, quantity_decimals)]
        })
        .collect()
}

/// A depth answer.
pub fn depth(market: &PerpetualMarket, book: Option<&Book>, limit: usize, now_ms: i64) -> Value {
    json!({
        "lastUpdateId": book.map_or(0, Book::update_id),
        "E": now_ms,
        "T": market.book_ms,
        "bids": book.map_or_else(Vec::new, |book| levels(market, book.bids(), limit)),
        "asks": book.map_or_else(Vec::new, |book| levels(market, book.asks(), limit)),
    })
}

/// Decimals of values of a market: those of a tick and a lot together, exact.
pub fn value_decimals(market: &PerpetualMarket) -> usize {
    (text::decimals(market.tick()) + text::decimals(market.lot())).min(8)
}

/// A row of trades.
pub fn trade(market: &PerpetualMarket, trade: &MarketTrade) -> Value {
    json!({
        "id": trade.trade,
        "price": text::fixed(trade.price.into(), text::decimals(market.tick())),
        "qty": text::fixed(trade.quantity.into(), text::decimals(market.lot())),
        "quoteQty": text::value(trade.value, value_decimals(market)),
        "time": trade.time_ms,
        "isBuyerMaker": trade.is_buyer_maker == 1,
        "isRPITrade": false,
    })
}

/// A row of aggTrades: trades of one number, oldest first.
pub fn aggregate(market: &PerpetualMarket, trades: &[MarketTrade]) -> Value {
    let (first, last) = (trades[0], trades[trades.len() - 1]);
    let quantity: i128 = trades.iter().map(|trade| i128::from(trade.quantity)).sum();
    let quantity = text::fixed(quantity, text::decimals(market.lot()));
    json!({
        "a": first.aggregate,
        "p": text::fixed(first.price.into(), text::decimals(market.tick())),
        "q": quantity,
        // Without what retail price improvement took, which does not exist here.
        "nq": quantity,
        "f": first.trade,
        "l": last.trade,
        "T": first.time_ms,
        "m": first.is_buyer_maker == 1,
    })
}

/// A candle of trades.
pub fn candle(market: &PerpetualMarket, candle: &Candle, close_ms: i64) -> Value {
    let price = |value: i64| text::fixed(value.into(), text::decimals(market.tick()));
    let quantity = |value: i64| text::fixed(value.into(), text::decimals(market.lot()));
    let value = |micros| text::value(micros, value_decimals(market));
    json!([
        candle.open_ms,
        price(candle.open),
        price(candle.high),
        price(candle.low),
        price(candle.close),
        quantity(candle.volume),
        close_ms,
        value(candle.value),
        candle.count,
        quantity(candle.taker_volume),
        value(candle.taker_value),
        "0",
    ])
}

/// A candle of samples.
pub fn sampled(candle: &Candle, close_ms: i64) -> Value {
    let value = text::exact8;
    json!([
        candle.open_ms,
        value(candle.open),
        value(candle.high),
        value(candle.low),
        value(candle.close),
        "0",
        close_ms,
        "0",
        candle.count,
        "0",
        "0",
        "0",
    ])
}

/// premiumIndex of a market.
pub fn premium_index(market: &PerpetualMarket, now_ms: i64) -> Value {
    let price = market.price;
    json!({
        "symbol": market.symbol(),
        "markPrice": text::exact8(market.mark()),
        "indexPrice": text::exact8(market.index()),
        "estimatedSettlePrice": text::exact8(market.index()),
        "lastFundingRate": text::exact8(price.map_or(0, |price| price.funding_rate)),
        "interestRate": text::exact8(market.setting(Setting::Interest)),
        "nextFundingTime": price.map_or(now_ms - now_ms.rem_euclid(3_600_000) + 3_600_000, |price| price.next_funding_ms),
        "time": if market.price_ms == 0 { now_ms } else { market.price_ms },
    })
}

/// The rolling day of a market.
pub fn ticker(market: &PerpetualMarket, day: &Day, now_ms: i64) -> Value {
    let tick = text::decimals(market.tick());
    let price = |value: i64| text::fixed(value.into(), tick);
    let quantity = |value: i128| text::fixed(value, text::decimals(market.lot()));
    let id = |id: Option<u64>| id.map_or(json!(-1), |id| json!(id));
    json!({
        "symbol": market.symbol(),
        "priceChange": price(day.change()),
        "priceChangePercent": text::fixed(day.change_percent(2), 2),
        "weightedAvgPrice": text::fixed(day.weighted(tick), tick),
        "lastPrice": price(day.close),
        "lastQty": quantity(day.last_quantity.into()),
        "openPrice": price(day.open),
        "highPrice": price(day.high),
        "lowPrice": price(day.low),
        "volume": quantity(day.volume),
        "quoteVolume": text::fixed(day.value * 100, value_decimals(market)),
        "openTime": now_ms - DAY_MS,
        "closeTime": now_ms,
        "firstId": id(day.ids.map(|(first, _)| first)),
        "lastId": id(day.ids.map(|(_, last)| last)),
        "count": day.count,
    })
}

/// bookTicker of a market.
pub fn book_ticker(market: &PerpetualMarket, book: Option<&Book>) -> Value {
    let (price_decimals, quantity_decimals) = (text::decimals(market.tick()), text::decimals(market.lot()));
    let best = |level: Option<(i64, i128)>| match level {
        None => ("0".to_owned(), "0".to_owned()),
        Some((price, total)) => {
            (text::fixed(price.into(), price_decimals), text::fixed(total, quantity_decimals))
        }
    };
    let (bid_price, bid_quantity) = best(book.and_then(|book| book.bids().next()));
    let (ask_price, ask_quantity) = best(book.and_then(|book| book.asks().next()));
    json!({
        "symbol": market.symbol(),
        "bidPrice": bid_price,
        "bidQty": bid_quantity,
        "askPrice": ask_price,
        "askQty": ask_quantity,
        "time": market.book_ms,
        "lastUpdateId": book.map_or(0, Book::update_id),
    })
}

/// The bracket object of a market.
pub fn brackets(market: &PerpetualMarket) -> Value {
    // Caps and cumulated amounts are whole numbers of micros; most of them whole numbers.
    let number = |micros: i64| match micros % 1_000_000 {
        0 => json!(micros / 1_000_000),
        _ => json!(micros as f64 / 1e6),
    };
    let mut floor = 0;
    let rows: Vec<Value> = market
        .brackets
        .iter()
        .map(|bracket| {
            let row = json!({
                "bracket": bracket.bracket,
                "initialLeverage": bracket.leverage,
                "notionalCap": number(bracket.cap),
                "notionalFloor": number(floor),
                "maintMarginRatio": bracket.rate as f64 / RATE_ONE as f64,
                "cum": number(bracket.cumulated),
            });
            floor = bracket.cap;
            row
        })
        .collect();
    json!({ "symbol": market.symbol(), "brackets": rows })
}

/// A margin mode of a market.
pub fn mode(held: &Held<'_>) -> MarginMode {
    if held.is_isolated { MarginMode::Isolated } else { MarginMode::Cross }
}

fn entry(held: &Held<'_>) -> (String, String) {
    let position = held.position();
    let price = |price: Option<i64>| text::units8(price.unwrap_or(0));
    if position.quantity == 0 {
        return ("0".to_owned(), "0".to_owned());
    }
    (price(position.entry_price()), price(position.break_even_price(held.holding.position.open_fees)))
}

fn isolated_margin(held: &Held<'_>) -> i64 {
    if held.is_isolated && held.holding.position.quantity != 0 {
        held.isolated_wallet() + held.unrealised
    } else {
        0
    }
}

/// A row of positionRisk v1 and v2.
pub fn position_risk(held: &Held<'_>) -> Value {
    let (entry, break_even) = entry(held);
    json!({
        "symbol": held.market.symbol(),
        "positionSide": "BOTH",
        "positionAmt": text::units8(held.holding.position.quantity),
        "entryPrice": entry,
        "breakEvenPrice": break_even,
        "markPrice": text::exact8(held.market.mark()),
        "unRealizedProfit": text::money(held.unrealised),
        "liquidationPrice": text::units8(held.liquidation_price),
        "leverage": held.leverage.to_string(),
        "maxNotionalValue": (held.exposure_max / 1_000_000).to_string(),
        "marginType": words::margin_type_small(mode(held)),
        "isolatedMargin": text::money(isolated_margin(held)),
        "isolatedWallet": text::money(held.isolated_wallet()),
        "isAutoAddMargin": "false",
        "notional": text::money(held.notional),
        "updateTime": held.holding.updated_ms,
    })
}

/// A row of positionRisk v3.
pub fn position_risk_3(held: &Held<'_>, quantile: u32) -> Value {
    let (entry, break_even) = entry(held);
    json!({
        "symbol": held.market.symbol(),
        "positionSide": "BOTH",
        "positionAmt": text::units8(held.holding.position.quantity),
        "entryPrice": entry,
        "breakEvenPrice": break_even,
        "markPrice": text::exact8(held.market.mark()),
        "unRealizedProfit": text::money(held.unrealised),
        "liquidationPrice": text::units8(held.liquidation_price),
        "isolatedMargin": text::money(isolated_margin(held)),
        "notional": text::money(held.notional),
        "marginAsset": "USDT",
        "isolatedWallet": text::money(held.isolated_wallet()),
        "initialMargin": text::money(held.initial),
        "maintMargin": text::money(held.maintenance),
        "positionInitialMargin": text::money(held.position_initial),
        "openOrderInitialMargin": text::money(held.initial - held.position_initial),
        "adl": quantile,
        "bidNotional": text::money(held.holding.exposure.buy_reference),
        "askNotional": text::money(held.holding.exposure.sell_reference),
        "updateTime": held.holding.updated_ms,
    })
}

/// A position of account v1 and v2.
pub fn account_position(held: &Held<'_>) -> Value {
    let (entry, break_even) = entry(held);
    json!({
        "symbol": held.market.symbol(),
        "initialMargin": text::money(held.initial),
        "maintMargin": text::money(held.maintenance),
        "unrealizedProfit": text::money(held.unrealised),
        "positionInitialMargin": text::money(held.position_initial),
        "openOrderInitialMargin": text::money(held.initial - held.position_initial),
        "leverage": held.leverage.to_string(),
        "isolated": held.is_isolated,
        "entryPrice": entry,
        "breakEvenPrice": break_even,
        "maxNotional": (held.exposure_max / 1_000_000).to_string(),
        "bidNotional": text::money(held.holding.exposure.buy_reference),
        "askNotional": text::money(held.holding.exposure.sell_reference),
        "positionSide": "BOTH",
        "positionAmt": text::units8(held.holding.position.quantity),
        "notional": text::money(held.notional),
        "isolatedWallet": text::money(held.isolated_wallet()),
        "updateTime": held.holding.updated_ms,
    })
}

/// A position of account v3.
pub fn account_position_3(held: &Held<'_>) -> Value {
    json!({
        "symbol": held.market.symbol(),
        "positionSide": "BOTH",
        "positionAmt": text::units8(held.holding.position.quantity),
        "unrealizedProfit": text::money(held.unrealised),
        "isolatedMargin": text::money(isolated_margin(held)),
        "notional": text::money(held.notional),
        "isolatedWallet": text::money(held.isolated_wallet()),
        "initialMargin": text::money(held.initial),
        "maintMargin": text::money(held.maintenance),
        "updateTime": held.holding.updated_ms,
    })
}

/// The one row of balance; v1 has withdrawAvailable.
pub fn balance(figures: &Figures<'_>, alias: &str, is_first_version: bool) -> Value {
    let mut row = json!({
        "accountAlias": alias,
        "asset": "USDT",
        "balance": text::money(figures.wallet),
        "crossWalletBalance": text::money(figures.account.wallet),
        "crossUnPnl": text::money(figures.cross_unrealised),
        "availableBalance": text::money(figures.available),
        "maxWithdrawAmount": text::money(figures.withdrawable),
        "marginAvailable": true,
        "updateTime": figures.account.updated_ms,
    });
    if is_first_version {
        row["withdrawAvailable"] = json!(text::money(figures.withdrawable));
    }
    row
}

/// account of any version; `fee_burn` is shown before version 3 alone. `orders` are those of all accounts.
pub fn account(figures: &Figures<'_>, orders: &OrderTable, version: u32) -> Value {
    let initial = figures.total(|held| held.initial);
    let position_initial = figures.total(|held| held.position_initial);
    let maintenance = figures.total(|held| held.maintenance);
    let mut asset = json!({
        "asset": "USDT",
        "walletBalance": text::money(figures.wallet),
        "unrealizedProfit": text::money(figures.unrealised),
        "marginBalance": text::money(figures.wallet + figures.unrealised),
        "maintMargin": text::money(maintenance),
        "initialMargin": text::money(initial),
        "positionInitialMargin": text::money(position_initial),
        "openOrderInitialMargin": text::money(initial - position_initial),
        "crossWalletBalance": text::money(figures.account.wallet),
        "crossUnPnl": text::money(figures.cross_unrealised),
        "availableBalance": text::money(figures.available),
        "maxWithdrawAmount": text::money(figures.withdrawable),
        "updateTime": figures.account.updated_ms,
    });
    let positions: Vec<Value> = match version {
        3 => figures.touched(orders).map(account_position_3).collect(),
        _ => figures.held.iter().map(account_position).collect(),
    };
    let mut object = json!({
        "totalInitialMargin": text::money(initial),
        "totalMaintMargin": text::money(maintenance),
        "totalWalletBalance": text::money(figures.wallet),
        "totalUnrealizedProfit": text::money(figures.unrealised),
        "totalMarginBalance": text::money(figures.wallet + figures.unrealised),
        "totalPositionInitialMargin": text::money(position_initial),
        "totalOpenOrderInitialMargin": text::money(initial - position_initial),
        "totalCrossWalletBalance": text::money(figures.account.wallet),
        "totalCrossUnPnl": text::money(figures.cross_unrealised),
        "availableBalance": text::money(figures.available),
        "maxWithdrawAmount": text::money(figures.withdrawable),
        "positions": positions,
    });
    if version < 3 {
        asset["marginAvailable"] = json!(true);
        let terms = &figures.account.terms;
        for (name, value) in [
            ("feeTier", json!(figures.account.tier)),
            ("feeBurn", json!(terms.fee_burn == 1)),
            ("canTrade", json!(terms.trading_enabled == 1)),
            ("canDeposit", json!(true)),
            ("canWithdraw", json!(true)),
            ("updateTime", json!(0)),
            ("multiAssetsMargin", json!(false)),
            ("tradeGroupId", json!(terms.trade_group)),
        ] {
            object[name] = value;
        }
    }
    object["assets"] = json!([asset]);
    object
}
