//! Views as the `/fapi` API shows them (`perpetual.md` 5 to 9): from what the views hold to the objects of `ringside_wire::futures`.

use super::margin::{AccountSummary, Held};
use super::text;
use super::words::{self, MarginType, OrderSide, OrderType, PositionMargin, TimeInForce, TradingState};
use ringside_core::command::{MarginMode, PerpetualParameter as Setting, Side};
use ringside_core::ids::Symbol;
use ringside_core::money::{RATE_ONE, UNIT};
use ringside_views::candle;
use ringside_views::day::{DAY_MS, Ticker24h};
use ringside_views::depth::Book;
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_views::perpetual::order::OrderTable;
use ringside_views::perpetual::rows::{FillRecord, IncomeKind, IncomeRecord, MarketTrade};
use ringside_wire::futures::account::{
    FuturesAccount, FuturesAccountPosition, FuturesAccountPositionV2, FuturesAccountV2, FuturesAsset,
    FuturesAssetV2, FuturesBalance, FuturesBracket, FuturesBrackets, FuturesPosition, FuturesPositionV2,
};
use ringside_wire::futures::history::{FuturesFill, FuturesIncome};
use ringside_wire::futures::market::{
    Candle, Depth, FuturesAggregateTrade, FuturesBest, FuturesDay, FuturesFilter, FuturesPremiumIndex,
    FuturesSymbol, FuturesTrade, Level,
};
use ringside_wire::futures::words::PositionSide::Both;
use ringside_wire::number::{
    Digits, Exact, Fixed, MicrosNumber, Name, SignedExact, SignedFixed, SignedMicros, SignedMoney,
    SignedUnits, SignedWhole, Units, Whole,
};

/// When contracts end that never do.
pub const DELIVERY_MS: i64 = 4_133_404_800_000;
/// The margin asset.
pub const USDT: &str = "USDT";

/// A row of userTrades.
pub fn fill(fill: &FillRecord, symbol: Symbol) -> FuturesFill {
    FuturesFill {
        symbol: Name(symbol),
        id: fill.trade,
        order_id: fill.order,
        side: OrderSide::of_code(fill.side),
        price: Units(fill.price),
        qty: Units(fill.quantity),
        realized_pnl: SignedMoney(fill.realised),
        quote_qty: SignedMicros(fill.value),
        commission: SignedMoney(fill.fee),
        commission_asset: USDT,
        time: fill.time_ms,
        position_side: Both,
        buyer: fill.side == Side::Buy as u8,
        maker: fill.is_maker == 1,
    }
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
pub fn income(row: &IncomeRecord, symbol: Symbol) -> FuturesIncome {
    let kind = IncomeKind::ALL.into_iter().find(|kind| *kind as u32 == row.kind);
    let len = row.info.iter().position(|byte| *byte == 0).unwrap_or(row.info.len());
    FuturesIncome {
        symbol: Name(symbol),
        income_type: kind.map_or("", income_type),
        income: SignedMoney(row.amount),
        asset: USDT,
        info: String::from_utf8_lossy(&row.info[..len]).into_owned(),
        time: row.time_ms,
        tran_id: row.tran,
        trade_id: Digits((row.trade != 0).then_some(row.trade)),
    }
}

/// A symbol of exchangeInfo.
pub fn symbol(market: &PerpetualMarket) -> FuturesSymbol {
    let setting = |setting| market.setting(setting);
    let units = |setting| Some(Units(market.setting(setting)));
    let fixed = |setting, decimals| Fixed(market.setting(setting).into(), decimals);
    let filter = |filter_type| FuturesFilter { filter_type, ..FuturesFilter::default() };
    let lot = |filter_type, greatest| FuturesFilter {
        min_qty: units(Setting::MinQuantity),
        max_qty: units(greatest),
        step_size: units(Setting::Lot),
        ..filter(filter_type)
    };
    let first = market.brackets.first();
    FuturesSymbol {
        symbol: Name(market.symbol),
        pair: Name(market.symbol),
        contract_type: "PERPETUAL",
        delivery_date: DELIVERY_MS,
        onboard_date: market.listed_ms,
        status: words::symbol_status(market.state),
        trading_state: TradingState::of(market.state),
        maint_margin_percent: SignedFixed(first.map_or(0, |bracket| i128::from(bracket.rate) * 100), 4),
        required_margin_percent: SignedFixed(
            (100 * UNIT / i64::from(market.leverage_max().max(1))).into(),
            4,
        ),
        base_asset: Name(market.base),
        quote_asset: Name(market.quote),
        margin_asset: Name(market.quote),
        price_precision: text::decimals(market.tick()),
        quantity_precision: text::decimals(market.lot()),
        base_asset_precision: 8,
        quote_precision: 8,
        underlying_type: "COIN",
        underlying_sub_type: Vec::new(),
        settle_plan: 0,
        trigger_protect: fixed(Setting::TriggerProtect, 4),
        liquidation_fee: fixed(Setting::LiquidationFee, 6),
        market_take_bound: fixed(Setting::TakeBound, 2),
        max_notional: SignedMicros(setting(Setting::MaxNotional)),
        max_move_order_limit: 10_000,
        order_types: OrderType::ALL,
        time_in_force: TimeInForce::ALL,
        permission_sets: Vec::new(),
        filters: [
            FuturesFilter {
                min_price: units(Setting::MinPrice),
                max_price: units(Setting::MaxPrice),
                tick_size: units(Setting::Tick),
                ..filter("PRICE_FILTER")
            },
            lot("LOT_SIZE", Setting::MaxQuantity),
            lot("MARKET_LOT_SIZE", Setting::MaxMarketQuantity),
            FuturesFilter { limit: Some(setting(Setting::MaxOpenOrders)), ..filter("MAX_NUM_ORDERS") },
            FuturesFilter {
                limit: Some(setting(Setting::MaxConditionalOrders)),
                ..filter("MAX_NUM_ALGO_ORDERS")
            },
            FuturesFilter {
                notional: Some(SignedMicros(setting(Setting::MinNotional))),
                ..filter("MIN_NOTIONAL")
            },
            FuturesFilter {
                multiplier_up: Some(fixed(Setting::BandUp, 4)),
                multiplier_down: Some(fixed(Setting::BandDown, 4)),
                multiplier_decimal: Some(Whole(4)),
                ..filter("PERCENT_PRICE")
            },
        ],
    }
}

/// Numbers of a market in the decimals of its steps.
#[derive(Clone, Copy)]
pub struct Steps {
    price: usize,
    quantity: usize,
}

impl Steps {
    /// Those of a market.
    pub fn of(market: &PerpetualMarket) -> Steps {
        Steps { price: text::decimals(market.tick()), quantity: text::decimals(market.lot()) }
    }

    /// A price.
    pub fn price(self, price: i64) -> Fixed {
        Fixed(price.into(), self.price)
    }

    /// A price that is made for so many decimals.
    pub fn price_of(self, price: impl FnOnce(usize) -> i128) -> Fixed {
        Fixed(price(self.price), self.price)
    }

    /// A quantity.
    pub fn quantity(self, quantity: impl Into<i128>) -> Fixed {
        Fixed(quantity.into(), self.quantity)
    }

    /// Micros, in the decimals of a price and a quantity together: exact.
    pub fn value(self, micros: impl Into<i128>) -> Fixed {
        Fixed(micros.into() * 100, (self.price + self.quantity).min(8))
    }
}

const fn signed(number: Fixed) -> SignedFixed {
    SignedFixed(number.0, number.1)
}

/// A depth answer.
pub fn depth(market: &PerpetualMarket, book: Option<&Book>, limit: usize, now_ms: i64) -> Depth {
    let steps = Steps::of(market);
    let level = |(price, total): (i64, i128)| -> Level { (steps.price(price), steps.quantity(total)) };
    Depth {
        last_update_id: book.map_or(0, Book::update_id),
        event_time: now_ms,
        time: market.book_ms,
        bids: book.map_or_else(Vec::new, |book| book.bids().take(limit).map(level).collect()),
        asks: book.map_or_else(Vec::new, |book| book.asks().take(limit).map(level).collect()),
    }
}

/// A row of trades.
pub fn trade(market: &PerpetualMarket, trade: &MarketTrade) -> FuturesTrade {
    let steps = Steps::of(market);
    FuturesTrade {
        id: trade.trade,
        price: steps.price(trade.price),
        qty: steps.quantity(trade.quantity),
        quote_qty: signed(steps.value(trade.value)),
        time: trade.time_ms,
        is_buyer_maker: trade.is_buyer_maker == 1,
        is_rpi_trade: false,
    }
}

/// A row of aggTrades: trades of one number, oldest first.
pub fn aggregate(market: &PerpetualMarket, trades: &[MarketTrade]) -> FuturesAggregateTrade {
    let (first, last) = (trades[0], trades[trades.len() - 1]);
    let steps = Steps::of(market);
    let quantity = steps.quantity(trades.iter().map(|trade| i128::from(trade.quantity)).sum::<i128>());
    FuturesAggregateTrade {
        aggregate: first.aggregate,
        price: steps.price(first.price),
        quantity,
        // Without what retail price improvement took, which does not exist here.
        normal_quantity: quantity,
        first: first.trade,
        last: last.trade,
        time: first.time_ms,
        is_buyer_maker: first.is_buyer_maker == 1,
    }
}

/// A candle of trades.
pub fn candle(market: &PerpetualMarket, candle: &candle::Candle<i64>, close_ms: i64) -> Candle<Fixed> {
    let steps = Steps::of(market);
    (
        candle.open_ms,
        steps.price(candle.open),
        steps.price(candle.high),
        steps.price(candle.low),
        steps.price(candle.close),
        steps.quantity(candle.volume),
        close_ms,
        steps.value(candle.value),
        candle.count,
        steps.quantity(candle.taker_volume),
        steps.value(candle.taker_value),
        Fixed(0, 0),
    )
}

/// A candle of samples; `value` makes one of steps of 10^-8 and decimals.
pub fn sampled<P>(candle: &candle::Candle<i64>, close_ms: i64, value: fn(i128, usize) -> P) -> Candle<P> {
    let [open, high, low, close] =
        [candle.open, candle.high, candle.low, candle.close].map(|price| value(price.into(), 8));
    let none = Fixed(0, 0);
    (candle.open_ms, open, high, low, close, none, close_ms, none, candle.count, none, none, none)
}

/// premiumIndex of a market.
pub fn premium_index(market: &PerpetualMarket, now_ms: i64) -> FuturesPremiumIndex {
    let price = market.price;
    FuturesPremiumIndex {
        symbol: Name(market.symbol),
        mark_price: Exact(market.mark()),
        index_price: Exact(market.index()),
        estimated_settle_price: Exact(market.index()),
        last_funding_rate: SignedExact(price.map_or(0, |price| price.funding_rate)),
        interest_rate: SignedExact(market.setting(Setting::Interest)),
        next_funding_time: price
            .map_or(now_ms - now_ms.rem_euclid(3_600_000) + 3_600_000, |price| price.next_funding_ms),
        time: if market.price_ms == 0 { now_ms } else { market.price_ms },
    }
}

/// The rolling day of a market.
pub fn ticker(market: &PerpetualMarket, day: &Ticker24h, now_ms: i64) -> FuturesDay {
    let steps = Steps::of(market);
    let id = |id: Option<u64>| id.map_or(-1, u64::cast_signed);
    FuturesDay {
        symbol: Name(market.symbol),
        price_change: signed(steps.price(day.change())),
        price_change_percent: SignedFixed(day.change_percent(2), 2),
        weighted_avg_price: steps.price_of(|decimals| day.weighted(decimals)),
        last_price: steps.price(day.close),
        last_qty: steps.quantity(day.last_quantity),
        open_price: steps.price(day.open),
        high_price: steps.price(day.high),
        low_price: steps.price(day.low),
        volume: steps.quantity(day.volume),
        quote_volume: signed(steps.value(day.value)),
        open_time: now_ms - DAY_MS,
        close_time: now_ms,
        first_id: id(day.ids.map(|(first, _)| first)),
        last_id: id(day.ids.map(|(_, last)| last)),
        count: day.count,
    }
}

/// bookTicker of a market.
pub fn book_ticker(market: &PerpetualMarket, book: Option<&Book>) -> FuturesBest {
    let steps = Steps::of(market);
    let best = |level: Option<(i64, i128)>| match level {
        None => (Fixed(0, 0), Fixed(0, 0)),
        Some((price, total)) => (steps.price(price), steps.quantity(total)),
    };
    let (bid_price, bid_qty) = best(book.and_then(|book| book.bids().next()));
    let (ask_price, ask_qty) = best(book.and_then(|book| book.asks().next()));
    FuturesBest {
        symbol: Name(market.symbol),
        bid_price,
        bid_qty,
        ask_price,
        ask_qty,
        time: market.book_ms,
        last_update_id: book.map_or(0, Book::update_id),
    }
}

/// The bracket object of a market.
pub fn brackets(market: &PerpetualMarket) -> FuturesBrackets {
    let mut floor = 0;
    let rows = market.brackets.iter().map(|bracket| FuturesBracket {
        bracket: bracket.bracket,
        initial_leverage: bracket.leverage,
        notional_cap: MicrosNumber(bracket.cap),
        notional_floor: MicrosNumber(std::mem::replace(&mut floor, bracket.cap)),
        maint_margin_ratio: bracket.rate as f64 / RATE_ONE as f64,
        cum: MicrosNumber(bracket.cumulated),
    });
    FuturesBrackets { symbol: Name(market.symbol), brackets: rows.collect() }
}

/// A margin mode of a market.
pub fn mode(held: &Held<'_>) -> MarginMode {
    if held.is_isolated { MarginMode::Isolated } else { MarginMode::Cross }
}

/// The same as a request has it.
pub fn margin_type(held: &Held<'_>) -> MarginType {
    MarginType::of(mode(held))
}

fn entry(held: &Held<'_>) -> (Units, Units) {
    let position = held.position();
    let price = |price: Option<i64>| Units(price.unwrap_or(0));
    if position.quantity == 0 {
        return (Units(0), Units(0));
    }
    (price(position.entry_price()), price(position.break_even_price(held.holding.position.open_fees)))
}

fn isolated_margin(held: &Held<'_>) -> SignedMoney {
    SignedMoney(if held.is_isolated && held.holding.position.quantity != 0 {
        held.isolated_wallet() + held.unrealised
    } else {
        0
    })
}

/// Most that may be held at its leverage, in whole units.
pub fn exposure_max(held: &Held<'_>) -> SignedWhole {
    SignedWhole(held.exposure_max / 1_000_000)
}

/// A row of positionRisk v1 and v2.
pub fn position_risk(held: &Held<'_>) -> FuturesPositionV2 {
    let (entry_price, break_even_price) = entry(held);
    FuturesPositionV2 {
        symbol: Name(held.market.symbol),
        position_side: Both,
        position_amt: SignedUnits(held.holding.position.quantity),
        entry_price,
        break_even_price,
        mark_price: Exact(held.market.mark()),
        un_realized_profit: SignedMoney(held.unrealised),
        liquidation_price: SignedUnits(held.liquidation_price),
        leverage: Whole(held.leverage.into()),
        max_notional_value: exposure_max(held),
        margin_type: PositionMargin::of(mode(held)),
        isolated_margin: isolated_margin(held),
        isolated_wallet: SignedMoney(held.isolated_wallet()),
        is_auto_add_margin: "false",
        notional: SignedMoney(held.notional),
        update_time: held.holding.updated_ms,
    }
}

/// A row of positionRisk v3.
pub fn position_risk_3(held: &Held<'_>, quantile: u8) -> FuturesPosition {
    let (entry_price, break_even_price) = entry(held);
    FuturesPosition {
        symbol: Name(held.market.symbol),
        position_side: Both,
        position_amt: SignedUnits(held.holding.position.quantity),
        entry_price,
        break_even_price,
        mark_price: Exact(held.market.mark()),
        un_realized_profit: SignedMoney(held.unrealised),
        liquidation_price: SignedUnits(held.liquidation_price),
        isolated_margin: isolated_margin(held),
        notional: SignedMoney(held.notional),
        margin_asset: USDT,
        isolated_wallet: SignedMoney(held.isolated_wallet()),
        initial_margin: SignedMoney(held.initial),
        maint_margin: SignedMoney(held.maintenance),
        position_initial_margin: SignedMoney(held.position_initial),
        open_order_initial_margin: SignedMoney(held.initial - held.position_initial),
        adl: quantile,
        bid_notional: SignedMoney(held.holding.exposure.buy_reference),
        ask_notional: SignedMoney(held.holding.exposure.sell_reference),
        update_time: held.holding.updated_ms,
        leverage: None,
        margin_type: None,
    }
}

/// A position of account v1 and v2.
pub fn account_position(held: &Held<'_>) -> FuturesAccountPositionV2 {
    let (entry_price, break_even_price) = entry(held);
    FuturesAccountPositionV2 {
        symbol: Name(held.market.symbol),
        initial_margin: SignedMoney(held.initial),
        maint_margin: SignedMoney(held.maintenance),
        unrealized_profit: SignedMoney(held.unrealised),
        position_initial_margin: SignedMoney(held.position_initial),
        open_order_initial_margin: SignedMoney(held.initial - held.position_initial),
        leverage: Whole(held.leverage.into()),
        isolated: held.is_isolated,
        entry_price,
        break_even_price,
        max_notional: exposure_max(held),
        bid_notional: SignedMoney(held.holding.exposure.buy_reference),
        ask_notional: SignedMoney(held.holding.exposure.sell_reference),
        position_side: Both,
        position_amt: SignedUnits(held.holding.position.quantity),
        notional: SignedMoney(held.notional),
        isolated_wallet: SignedMoney(held.isolated_wallet()),
        update_time: held.holding.updated_ms,
    }
}

/// A position of account v3.
pub fn account_position_3(held: &Held<'_>) -> FuturesAccountPosition {
    FuturesAccountPosition {
        symbol: Name(held.market.symbol),
        position_side: Both,
        position_amt: SignedUnits(held.holding.position.quantity),
        unrealized_profit: SignedMoney(held.unrealised),
        isolated_margin: isolated_margin(held),
        notional: SignedMoney(held.notional),
        isolated_wallet: SignedMoney(held.isolated_wallet()),
        initial_margin: SignedMoney(held.initial),
        maint_margin: SignedMoney(held.maintenance),
        update_time: held.holding.updated_ms,
    }
}

/// The one row of balance; v1 has withdrawAvailable.
pub fn balance(figures: &AccountSummary<'_>, alias: String) -> FuturesBalance {
    FuturesBalance {
        account_alias: alias,
        asset: USDT,
        balance: SignedMoney(figures.wallet),
        cross_wallet_balance: SignedMoney(figures.account.wallet),
        cross_un_pnl: SignedMoney(figures.cross_unrealised),
        available_balance: SignedMoney(figures.available),
        max_withdraw_amount: SignedMoney(figures.withdrawable),
        margin_available: true,
        update_time: figures.account.updated_ms,
    }
}

/// account v3. `orders` are those of all accounts.
pub fn account_3(figures: &AccountSummary<'_>, orders: &OrderTable) -> FuturesAccount {
    let initial = figures.total(|held| held.initial);
    let position_initial = figures.total(|held| held.position_initial);
    let maint_margin = SignedMoney(figures.total(|held| held.maintenance));
    let asset = FuturesAsset {
        asset: USDT,
        wallet_balance: SignedMoney(figures.wallet),
        unrealized_profit: SignedMoney(figures.unrealised),
        margin_balance: SignedMoney(figures.wallet + figures.unrealised),
        maint_margin,
        initial_margin: SignedMoney(initial),
        position_initial_margin: SignedMoney(position_initial),
        open_order_initial_margin: SignedMoney(initial - position_initial),
        cross_wallet_balance: SignedMoney(figures.account.wallet),
        cross_un_pnl: SignedMoney(figures.cross_unrealised),
        available_balance: SignedMoney(figures.available),
        max_withdraw_amount: SignedMoney(figures.withdrawable),
        update_time: figures.account.updated_ms,
    };
    FuturesAccount {
        total_initial_margin: asset.initial_margin,
        total_maint_margin: asset.maint_margin,
        total_wallet_balance: asset.wallet_balance,
        total_unrealized_profit: asset.unrealized_profit,
        total_margin_balance: asset.margin_balance,
        total_position_initial_margin: asset.position_initial_margin,
        total_open_order_initial_margin: asset.open_order_initial_margin,
        total_cross_wallet_balance: asset.cross_wallet_balance,
        total_cross_un_pnl: asset.cross_un_pnl,
        available_balance: asset.available_balance,
        max_withdraw_amount: asset.max_withdraw_amount,
        positions: figures.touched(orders).map(account_position_3).collect(),
        assets: [asset],
    }
}

/// account v1 and v2: the same of every symbol, and what the account may do.
pub fn account(figures: &AccountSummary<'_>, orders: &OrderTable) -> FuturesAccountV2 {
    let terms = &figures.account.terms;
    let FuturesAccount { assets: [asset], .. } = account_3(figures, orders);
    FuturesAccountV2 {
        total_initial_margin: asset.initial_margin,
        total_maint_margin: asset.maint_margin,
        total_wallet_balance: asset.wallet_balance,
        total_unrealized_profit: asset.unrealized_profit,
        total_margin_balance: asset.margin_balance,
        total_position_initial_margin: asset.position_initial_margin,
        total_open_order_initial_margin: asset.open_order_initial_margin,
        total_cross_wallet_balance: asset.cross_wallet_balance,
        total_cross_un_pnl: asset.cross_un_pnl,
        available_balance: asset.available_balance,
        max_withdraw_amount: asset.max_withdraw_amount,
        positions: figures.held.iter().map(account_position).collect(),
        fee_tier: figures.account.tier,
        fee_burn: terms.fee_burn == 1,
        can_trade: terms.trading_enabled == 1,
        can_deposit: true,
        can_withdraw: true,
        update_time: 0,
        multi_assets_margin: false,
        trade_group_id: terms.trade_group,
        assets: [FuturesAssetV2 {
            asset: asset.asset,
            wallet_balance: asset.wallet_balance,
            unrealized_profit: asset.unrealized_profit,
            margin_balance: asset.margin_balance,
            maint_margin: asset.maint_margin,
            initial_margin: asset.initial_margin,
            position_initial_margin: asset.position_initial_margin,
            open_order_initial_margin: asset.open_order_initial_margin,
            cross_wallet_balance: asset.cross_wallet_balance,
            cross_un_pnl: asset.cross_un_pnl,
            available_balance: asset.available_balance,
            max_withdraw_amount: asset.max_withdraw_amount,
            margin_available: true,
            update_time: asset.update_time,
        }],
    }
}
