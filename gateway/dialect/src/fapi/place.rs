//! Parameters of placements and modifications into commands (`perpetual.md` 7.2 to 7.5, 8.1).
//!
//! Checks run in the order of `perpetual.md` 2, row 11: mandatory and format, symbol, enumerations, combinations. What state
//! decides is the engine's.

use super::params::{Decimal, Params, integer};
use super::refusal::{self, Refusal};
use super::text;
use super::words::{self, TradingState};
use crate::is_nothing;
use ringside_core::command::{
    ClientOrder, ModifyPerpetual, PerpetualOrderType, PerpetualParameter as Setting, PerpetualState,
    PerpetualTimeInForce, PlacePerpetual, PriceMatch, SelfTradePrevention, Side, WorkingType, order_flag,
};
use ringside_core::ids::AccountId;
use ringside_core::money::{Money, Price, Quantity, UNIT};
use ringside_core::reject::Reject;
use ringside_views::depth::Book;
use ringside_views::perpetual::Perpetuals;
use ringside_views::perpetual::market::{MarketTable, PerpetualMarket};

/// Greatest length of a client's name of an order.
const CLIENT_ORDER_LEN: usize = 36;

/// Parameters of other venues, or of other markets, that make an order show less, rest only, wait, or borrow. Whoever sends one asks
/// for another order than this venue would place, and is told so.
pub const UNSUPPORTED: &[&str] = &[
    "autoRepayAtCancel",
    "closeOnTrigger",
    "displayQty",
    "displayQuantity",
    "expireTime",
    "hidden",
    "icebergQty",
    "icebergQuantity",
    "isIsolated",
    "isMmp",
    "marginMode",
    "marginType",
    "pegOffsetType",
    "pegOffsetValue",
    "pegPriceType",
    "postOnly",
    "quoteOrderQty",
    "sideEffectType",
    "stopLimitPrice",
    "stopLoss",
    "stopLossPrice",
    "takeProfit",
    "takeProfitPrice",
    "trailingDelta",
    "trailingPercent",
    "trailingStop",
    "trailingTime",
    "triggerDirection",
    "visibleSize",
];
/// Names that liquidations and deleveraging give their orders.
const RESERVED: [&str; 3] = ["autoclose-", "adl_autoclose", "settlement_autoclose"];

/// Parameters of a placement that no modification changes: the order would stay without what it is asked to have.
pub const OF_PLACEMENTS_ALONE: &[&str] = &[
    "activatePrice",
    "activationPrice",
    "callbackRate",
    "closePosition",
    "slTriggerPrice",
    "stopPrice",
    "tpTriggerPrice",
    "triggerPrice",
];

/// Whether a name is sent, and not as nothing.
fn is_sent(params: &Params<'_>, name: &str) -> bool {
    params.get(name).is_some_and(|text| !is_nothing(text))
}

/// -1104 for what would have made another order of it.
fn refuse_unsupported(params: &Params<'_>) -> Result<(), Refusal> {
    let mut sent = UNSUPPORTED.iter().filter(|name| is_sent(params, name) && !says_again(params, name));
    sent.next().map_or(Ok(()), |name| Err(refusal::unsupported(name)))
}

/// Whether the order is what a name asks for by what else is sent: clients send their own words beside ours.
fn says_again(params: &Params<'_>, name: &str) -> bool {
    match name {
        "postOnly" => params.get("timeInForce") == Some("GTX"),
        "stopLossPrice" | "takeProfitPrice" => {
            is_sent(params, "stopPrice") || is_sent(params, "triggerPrice")
        }
        "trailingPercent" => is_sent(params, "callbackRate"),
        _ => false,
    }
}

/// Names under which a placement's fields are sent: those of POST order, or of the conditional-order service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// `stopPrice`, `newClientOrderId`.
    Order,
    /// `triggerPrice`, `clientAlgoId`.
    Service,
}

impl Names {
    fn stop(self) -> &'static str {
        match self {
            Names::Order => "stopPrice",
            Names::Service => "triggerPrice",
        }
    }

    /// The stop price as the other routes name it.
    fn other_stop(self) -> &'static str {
        match self {
            Names::Order => "triggerPrice",
            Names::Service => "stopPrice",
        }
    }

    fn client(self) -> &'static str {
        match self {
            Names::Order => "newClientOrderId",
            Names::Service => "clientAlgoId",
        }
    }

    /// A type that can be placed so: -1116.
    fn check(self, order_type: PerpetualOrderType) -> Result<PerpetualOrderType, Refusal> {
        match (self, order_type) {
            (Names::Service, PerpetualOrderType::Limit | PerpetualOrderType::Market) => {
                Err(refusal::ORDER_TYPE)
            }
            _ => Ok(order_type),
        }
    }
}

/// A client's name of an order, padded.
pub fn client_order(name: &str) -> Result<ClientOrder, Refusal> {
    if name.len() > CLIENT_ORDER_LEN {
        return Err(refusal::CLIENT_ORDER_LENGTH);
    }
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".:/_-".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_allowed) {
        return Err(refusal::CLIENT_ORDER);
    }
    Ok(padded(name))
}

/// The same of a name that is given by a client: none that the venue gives.
fn own_name(name: &str) -> Result<ClientOrder, Refusal> {
    if RESERVED.iter().any(|reserved| name.starts_with(reserved)) {
        return Err(refusal::CLIENT_ORDER);
    }
    client_order(name)
}

fn padded(name: &str) -> ClientOrder {
    let mut field = [0; CLIENT_ORDER_LEN];
    field[..name.len()].copy_from_slice(name.as_bytes());
    field
}

/// A decimal that counts as not sent where it is zero.
fn not_zero(value: Option<Decimal>) -> Option<Decimal> {
    value.filter(|value| !value.is_zero())
}

/// The command of a placement. `generated` is the order's name where none is sent.
pub fn place(
    params: &Params<'_>,
    markets: &MarketTable,
    account: AccountId,
    names: Names,
    generated: ClientOrder,
) -> Result<PlacePerpetual, Refusal> {
    refuse_unsupported(params)?;
    // Mandatory and format.
    let symbol = params.text("symbol")?;
    let side = params.text("side")?;
    let order_type = params.text("type")?;
    let quantity = params.decimal("quantity")?;
    let limit = params.decimal("price")?;
    let stop = params.decimal(names.stop())?;
    let other_stop = params.decimal(names.other_stop())?;
    let [activation, other_activation] =
        [params.decimal("activationPrice")?, params.decimal("activatePrice")?];
    let callback = params.decimal("callbackRate")?;
    let take_profit = not_zero(params.decimal("tpTriggerPrice")?);
    let stop_loss = not_zero(params.decimal("slTriggerPrice")?);
    let reduce_only = params.boolean("reduceOnly")?.unwrap_or(false);
    let close_position = params.boolean("closePosition")?.unwrap_or(false);
    let price_protect = params.boolean("priceProtect")?.unwrap_or(false);
    let good_till = params.integer("goodTillDate")?.unwrap_or(0);
    // 0 stands for none in the command, so what is no leverage goes on as one that no market has: the engine judges it in its
    // turn (`perpetual.md` 7.10).
    let leverage = match params.get("leverage") {
        None => 0,
        Some(text) => match integer(text).ok_or_else(|| refusal::leverage(text))? {
            0 => u32::MAX,
            value => u32::try_from(value).unwrap_or(u32::MAX),
        },
    };
    // Symbol.
    let market = markets.by_symbol(symbol).ok_or(refusal::SYMBOL)?;
    // Enumerations.
    let side = words::parse_side(side)?;
    let order_type = names.check(words::parse_order_type(order_type)?)?;
    let position_side = params.get("positionSide").unwrap_or("BOTH");
    if !["BOTH", "LONG", "SHORT"].contains(&position_side) {
        return Err(refusal::POSITION_SIDE);
    }
    let working_type =
        params.get("workingType").map_or(Ok(WorkingType::ContractPrice), words::parse_working_type)?;
    let price_match = params.get("priceMatch").map_or(Ok(PriceMatch::None), words::parse_price_match)?;
    let self_trade = match params.get("selfTradePreventionMode") {
        None => SelfTradePrevention::None,
        Some(word) => words::parse_self_trade(word)?,
    };
    if !matches!(params.get("newOrderRespType"), None | Some("ACK" | "RESULT")) {
        return Err(refusal::RESPONSE_TYPE);
    }
    let attached =
        params.get("tpslWorkingType").map_or(Ok(WorkingType::ContractPrice), words::parse_working_type)?;
    let (time_in_force, is_gte) = time_in_force(params, order_type)?;
    let has_limit = matches!(
        order_type,
        PerpetualOrderType::Limit | PerpetualOrderType::Stop | PerpetualOrderType::TakeProfit
    );
    let is_trailing = order_type == PerpetualOrderType::TrailingStopMarket;
    let is_conditional = !matches!(order_type, PerpetualOrderType::Limit | PerpetualOrderType::Market);
    let has_stop = is_conditional && !is_trailing;
    let may_close =
        matches!(order_type, PerpetualOrderType::StopMarket | PerpetualOrderType::TakeProfitMarket);
    let has_match = price_match != PriceMatch::None;
    let is_dated = time_in_force == PerpetualTimeInForce::GoodTillDate;
    let either_activation = activation.or(other_activation);
    // As what is nothing counts where anything else may not be sent (`perpetual.md` 7.3).
    let has_time_in_force = !matches!(params.get("timeInForce"), None | Some("0" | "0.0" | "false"));
    let is_set = |value| not_zero(value).is_some();
    // What the type must come with and what it may, as asked for one after the other: a name, whether it is missing, whether it is
    // sent though it may not be. The price is missed before a stop price, and too much behind it.
    let (sent, is_limit) = (params.get("timeInForce"), order_type == PerpetualOrderType::Limit);
    let rules = [
        (
            "timeInForce",
            is_limit && sent.is_none(),
            has_time_in_force && order_type == PerpetualOrderType::Market,
        ),
        ("quantity", !close_position && quantity.is_none(), false),
        ("price", has_limit && !has_match && limit.is_none(), false),
        (names.stop(), has_stop && stop.is_none(), is_set(stop) && !has_stop),
        (names.other_stop(), false, is_set(other_stop) && !has_stop),
        ("callbackRate", is_trailing && callback.is_none(), is_set(callback) && !is_trailing),
        ("activationPrice", false, is_set(either_activation) && !is_trailing),
        ("closePosition", false, close_position && !may_close),
        ("price", false, is_set(limit) && (has_match || !has_limit)),
        ("goodTillDate", is_dated && good_till == 0, good_till != 0 && !is_dated),
        ("reduceOnly", false, reduce_only && close_position),
        ("tpTriggerPrice", false, take_profit.is_some() && is_conditional),
        ("slTriggerPrice", false, stop_loss.is_some() && is_conditional),
    ];
    if let Some((name, ..)) = rules.iter().find(|(_, is_missing, _)| *is_missing) {
        return Err(refusal::mandatory(name));
    }
    // Combinations. Two spellings of one thing say the same, or nobody can say which one counts.
    let differ = |one: Option<Decimal>, other: Option<Decimal>| matches!((not_zero(one), not_zero(other)), (Some(one), Some(other)) if one != other);
    if differ(activation, other_activation) || differ(stop, other_stop) {
        return Err(refusal::COMBINATION);
    }
    if has_match && !has_limit {
        return Err(refusal::PRICE_MATCH_TYPE);
    }
    if let Some((name, ..)) = rules.iter().find(|(.., is_too_much)| *is_too_much) {
        return Err(refusal::not_required(name));
    }
    if close_position && not_zero(quantity).is_some() {
        return Err(refusal::QUANTITY_WITH_CLOSE);
    }
    // Business rules; what the market's state refuses is refused before any of them, and by the engine where none is broken.
    let of_state = |refusal| {
        let reduces = reduce_only || close_position;
        refused_by_state(market.state, time_in_force, reduces).unwrap_or(refusal)
    };
    if position_side != "BOTH" {
        return Err(of_state(refusal::POSITION_SIDE_MODE));
    }
    let client_order = params.get(names.client()).map_or(Ok(generated), own_name).map_err(of_state)?;
    if is_trailing && either_activation.is_some_and(Decimal::is_zero) {
        return Err(of_state(refusal::ACTIVATION));
    }
    let price = |price: Option<Decimal>| price.map_or(Ok(0), Decimal::price).map_err(of_state);
    let stop_price = |price: Option<Decimal>| price.map_or(Ok(0), Decimal::stop_price).map_err(of_state);
    let flag = |is_set: bool, bit: u16| if is_set { bit } else { 0 };
    Ok(PlacePerpetual {
        account,
        market: market.market,
        side: side as u8,
        order_type: order_type as u8,
        time_in_force: time_in_force as u8,
        self_trade: self_trade as u8,
        working_type: working_type as u8,
        price_match: price_match as u8,
        flags: flag(reduce_only, order_flag::REDUCE_ONLY)
            | flag(close_position, order_flag::CLOSE_POSITION)
            | flag(price_protect && is_conditional, order_flag::PRICE_PROTECT)
            | flag(is_gte && close_position, order_flag::GTE)
            | flag(names == Names::Service, order_flag::CONDITIONAL_SERVICE),
        price: price(limit.filter(|_| has_limit))?,
        stop_price: stop_price(if is_trailing { either_activation } else { stop.filter(|_| has_stop) })?,
        callback_rate: if is_trailing { callback_rate(callback).map_err(of_state)? } else { 0 },
        quantity: quantity.map_or(Ok(0), |sent| floored(sent, market, has_limit)).map_err(of_state)?,
        leverage,
        good_till_ms: good_till / 1000 * 1000,
        take_profit: stop_price(take_profit)?,
        stop_loss: stop_price(stop_loss)?,
        client_order,
        attached_working_type: attached as u8,
        reserved: [0; 3],
        idempotency_key: 0,
        idempotency_body: 0,
    })
}

/// What a market's state refuses of all orders of a kind (`risk.md` 16).
fn refused_by_state(
    state: PerpetualState,
    time_in_force: PerpetualTimeInForce,
    reduces: bool,
) -> Option<Refusal> {
    let is_taken = match state {
        PerpetualState::Closed => return Some(refusal::CLOSED),
        PerpetualState::Trading => true,
        PerpetualState::PostOnly => time_in_force == PerpetualTimeInForce::PostOnly,
        PerpetualState::ReduceOnly => reduces,
        PerpetualState::CancelOnly | PerpetualState::Halted => false,
    };
    (!is_taken).then(|| refusal::state(state, TradingState::of(state).text()))
}

/// A quantity that was sent. Less than a quantity can have is not zero: it fails as what flooring to lots leaves nothing of.
fn floored(sent: Decimal, market: &PerpetualMarket, has_limit: bool) -> Result<Quantity, Refusal> {
    match sent.quantity() {
        0 if sent.is_zero() => Ok(0),
        0 if market.lot() > 1 => Ok(1),
        0 => Err(outside_lot_size(0, market, has_limit)),
        quantity => Ok(quantity),
    }
}

fn outside_lot_size(quantity: Quantity, market: &PerpetualMarket, has_limit: bool) -> Refusal {
    let greatest = if has_limit { Setting::MaxQuantity } else { Setting::MaxMarketQuantity };
    refusal::lot_size(
        &text::units8(quantity),
        &text::units8(market.setting(Setting::MinQuantity)),
        &text::units8(market.setting(greatest)),
    )
}

/// More decimals than the tick has, or between two ticks.
fn off_tick(price: Price, market: &PerpetualMarket) -> Refusal {
    let step = 10_i64.pow(8 - text::decimals(market.tick()) as u32);
    if price % step != 0 { refusal::PRECISION } else { refusal::TICK }
}

fn time_in_force(
    params: &Params<'_>,
    order_type: PerpetualOrderType,
) -> Result<(PerpetualTimeInForce, bool), Refusal> {
    let gtc = (PerpetualTimeInForce::GoodTillCancel, false);
    match (order_type, params.get("timeInForce")) {
        (_, None) | (PerpetualOrderType::Market, Some("0" | "0.0" | "false")) => Ok(gtc),
        (PerpetualOrderType::Market, Some(word)) => words::parse_time_in_force(word).map(|_| gtc),
        (
            PerpetualOrderType::Limit | PerpetualOrderType::Stop | PerpetualOrderType::TakeProfit,
            Some(word),
        ) => Ok((words::parse_time_in_force(word)?, false)),
        (_, Some("GTC")) => Ok(gtc),
        (_, Some("GTE_GTC")) => Ok((PerpetualTimeInForce::GoodTillCancel, true)),
        (_, Some(_)) => Err(refusal::TIME_IN_FORCE),
    }
}

/// Percent into steps of 10^-8.
fn callback_rate(percent: Option<Decimal>) -> Result<u32, Refusal> {
    const STEP: i128 = 1_000_000_000_000;
    let percent = percent.unwrap_or(Decimal(0)).0;
    if percent % STEP != 0 {
        return Err(refusal::CALLBACK);
    }
    u32::try_from(percent / STEP).map_err(|_| refusal::CALLBACK)
}

/// The command of a modification.
pub fn modify(
    params: &Params<'_>,
    markets: &MarketTable,
    account: AccountId,
) -> Result<ModifyPerpetual, Refusal> {
    refuse_unsupported(params)?;
    let symbol = params.text("symbol")?;
    let order = params.integer("orderId")?;
    let name = params.get("origClientOrderId");
    if order.is_none() && name.is_none() {
        return Err(refusal::ORDER_NAME);
    }
    let quantity = params.decimal("quantity")?.ok_or_else(|| refusal::mandatory("quantity"))?;
    let price = params.decimal("price")?;
    let keep_priority = params.boolean("keepPriority")?.unwrap_or(false);
    let market = markets.by_symbol(symbol).ok_or(refusal::SYMBOL)?;
    if let Some(name) = OF_PLACEMENTS_ALONE.iter().find(|name| is_sent(params, name)) {
        return Err(refusal::not_required(name));
    }
    let side = params.get("side").map(words::parse_side).transpose()?;
    let price_match = params.get("priceMatch").map_or(Ok(PriceMatch::None), words::parse_price_match)?;
    match (not_zero(price), price_match) {
        (None, PriceMatch::None) if price.is_none() => return Err(refusal::mandatory("price")),
        (None, PriceMatch::None) => return Err(refusal::PRICE_ZERO),
        (None, _) | (Some(_), PriceMatch::None) => {}
        (Some(_), _) => return Err(refusal::not_required("price")),
    }
    Ok(ModifyPerpetual {
        account,
        market: market.market,
        order: order_id(order),
        price: price.map_or(Ok(0), Decimal::price)?,
        quantity: floored(quantity, market, true)?,
        side: side.map_or(255, |side| side as u8),
        price_match: price_match as u8,
        flags: if keep_priority { order_flag::KEEP_PRIORITY } else { 0 },
        client_order: match order {
            Some(_) => [0; 36],
            None => lookup_name(name.unwrap_or("")),
        },
    })
}

/// An order id that was sent. No order has 0, by which the engine would look for a name; none has the largest either.
pub fn order_id(sent: Option<i64>) -> u64 {
    match sent {
        None => 0,
        Some(0) => u64::MAX,
        Some(order) => order.unsigned_abs(),
    }
}

/// A name to look for, padded. What no order can be called finds none.
pub fn lookup_name(name: &str) -> ClientOrder {
    client_order(name).unwrap_or([b'?'; 36])
}

/// An order as it is judged: at the price that it takes from the book as it stands, if it takes one and finds such a level, and
/// with no more than it can reduce.
pub fn as_judged(sent: &PlacePerpetual, book: Option<&Book>, position: Quantity) -> PlacePerpetual {
    let is_clamped = sent.flags & order_flag::REDUCE_ONLY != 0
        && matches!(
            PerpetualOrderType::from_code(sent.order_type),
            Some(PerpetualOrderType::Limit | PerpetualOrderType::Market)
        );
    let quantity = if is_clamped { sent.quantity.min(position.abs()) } else { sent.quantity };
    PlacePerpetual { price: matched_price(sent, book).unwrap_or(sent.price), quantity, ..*sent }
}

fn matched_price(sent: &PlacePerpetual, book: Option<&Book>) -> Option<Price> {
    use PriceMatch as Match;
    let (is_own, level) = match PriceMatch::from_code(sent.price_match)? {
        Match::None => return None,
        Match::Opponent => (false, 1),
        Match::Opponent5 => (false, 5),
        Match::Opponent10 => (false, 10),
        Match::Opponent20 => (false, 20),
        Match::Queue => (true, 1),
        Match::Queue5 => (true, 5),
        Match::Queue10 => (true, 10),
        Match::Queue20 => (true, 20),
    };
    // The others wait for their trigger first.
    if sent.order_type != PerpetualOrderType::Limit as u8 {
        return None;
    }
    let found = match (sent.side == Side::Buy as u8) == is_own {
        true => book?.bids().nth(level - 1),
        false => book?.asks().nth(level - 1),
    };
    found.map(|(price, _)| price)
}

/// The largest notional that an order of an account may have in a market: the account's own limit, else the market's.
pub fn notional_max(views: &Perpetuals, account: AccountId, market: &PerpetualMarket) -> Money {
    let own = views.configured().own_limit(account, market.market, |limits| limits.max_order_notional);
    own.unwrap_or_else(|| market.setting(Setting::MaxNotional))
}

/// A refusal of the engine with the values that its text names; `most`: see [`notional_max`].
pub fn explain(
    reject: Reject,
    sent: &PlacePerpetual,
    (market, most): (&PerpetualMarket, Money),
    leverage: Option<&str>,
) -> Refusal {
    let order_type = PerpetualOrderType::from_code(sent.order_type);
    let has_limit = matches!(
        order_type,
        Some(PerpetualOrderType::Limit | PerpetualOrderType::Stop | PerpetualOrderType::TakeProfit)
    );
    let lot = market.lot().max(1);
    let quantity = sent.quantity - sent.quantity % lot;
    let notional = || {
        // The stop price is what an order with no limit of its own is judged at before it fires; a trailing one has none.
        let is_trailing = order_type == Some(PerpetualOrderType::TrailingStopMarket);
        let price = match (sent.price, sent.stop_price) {
            (0, stop) if stop != 0 && !has_limit && !is_trailing => stop,
            (0, _) => market.mark(),
            (price, _) => price,
        };
        text::units8((i128::from(price) * i128::from(quantity) / i128::from(UNIT)) as i64)
    };
    match reject {
        Reject::InvalidTick => {
            let prices = [sent.price, sent.stop_price, sent.take_profit, sent.stop_loss];
            let off = prices.into_iter().find(|price| price % market.tick().max(1) != 0);
            off.map_or(refusal::TICK, |price| off_tick(price, market))
        }
        Reject::QuantityOutOfRange => outside_lot_size(quantity, market, has_limit),
        Reject::BelowMinNotional => {
            refusal::min_notional(&notional(), &text::micros(market.setting(Setting::MinNotional)))
        }
        Reject::AboveMaxNotional => refusal::max_notional(&notional(), &text::micros(most)),
        Reject::StateRefuses | Reject::MarketHalted => {
            refusal::state(market.state, TradingState::of(market.state).text())
        }
        Reject::InvalidLeverage => refusal::leverage(leverage.unwrap_or("0")),
        reject => super::reject::of_reject(reject),
    }
}
