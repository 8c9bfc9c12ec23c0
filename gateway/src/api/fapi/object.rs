//! Objects that routes of the perpetual venue answer with, for the OpenAPI document (`perpetual.md` 5 to 11). Which route answers
//! with which, and how many: `answer.rs`.

use super::shape::{MATCHES, SELF_TRADES, SIDES, WORKING};
use crate::api::docs::{Field, SIGNED, Shape, boolean, decimal, integer, signed, text};
use crate::dialect::fapi::words;

const POSITION_SIDE: Shape = Shape::OneOf(&["BOTH"]);
const TYPE: Shape = Shape::OneOf(&words::ORDER_TYPES);
const TIME_IN_FORCE: Shape = Shape::OneOf(&words::TIMES_IN_FORCE);
const STATUS: Shape =
    Shape::OneOf(&["NEW", "PARTIALLY_FILLED", "FILLED", "CANCELED", "EXPIRED", "EXPIRED_IN_MATCH"]);

/// An order (`perpetual.md` 7.1).
pub(super) const ORDER: Shape = Shape::Named(
    "FuturesOrder",
    &[
        decimal("avgPrice"),
        text("clientOrderId"),
        boolean("closePosition"),
        decimal("cumQty"),
        decimal("cumQuote"),
        decimal("executedQty"),
        Field::new("goodTillDate", Shape::Either(&[Shape::Integer, Shape::Text]), ""),
        integer("orderId"),
        decimal("origQty"),
        Field::new("origType", TYPE, ""),
        Field::new("positionSide", POSITION_SIDE, ""),
        decimal("price"),
        Field::new("priceMatch", MATCHES, ""),
        boolean("priceProtect"),
        boolean("reduceOnly"),
        Field::new("selfTradePreventionMode", SELF_TRADES, ""),
        Field::new("side", SIDES, ""),
        Field::new("status", STATUS, ""),
        decimal("stopPrice"),
        text("symbol"),
        integer("time"),
        Field::new("timeInForce", TIME_IN_FORCE, ""),
        Field::new("type", TYPE, ""),
        integer("updateTime"),
        Field::new("workingType", WORKING, ""),
        Field::optional("activatePrice", Shape::Decimal, ""),
        Field::optional("priceRate", Shape::Decimal, ""),
        Field::optional("pair", Shape::Text, "Of the answer to a modification: the symbol."),
        Field::optional(
            "cumBase",
            Shape::Decimal,
            "Of the answer to a modification: what was executed of the base.",
        ),
        Field::optional("parentOrderId", Shape::Integer, ""),
        Field::optional("triggerTime", Shape::Integer, "When a conditional order fired, ms; absent before."),
        Field::optional(
            "er",
            Shape::Text,
            "Why it expired, as the stream tells it; absent where it did not.",
        ),
    ],
);

/// A conditional order of the service (`perpetual.md` 11).
pub(super) const ALGO: Shape = Shape::Named(
    "FuturesConditionalOrder",
    &[
        text("activatePrice"),
        text("actualOrderId"),
        text("actualPrice"),
        integer("algoId"),
        text("algoStatus"),
        text("algoType"),
        text("callbackRate"),
        text("clientAlgoId"),
        boolean("closePosition"),
        integer("createTime"),
        integer("goodTillDate"),
        Field::new("icebergQuantity", Shape::Nullable(&Shape::Text), ""),
        Field::new("orderType", TYPE, ""),
        Field::new("positionSide", POSITION_SIDE, ""),
        decimal("price"),
        Field::new("priceMatch", MATCHES, ""),
        boolean("priceProtect"),
        decimal("quantity"),
        boolean("reduceOnly"),
        Field::new("selfTradePreventionMode", SELF_TRADES, ""),
        Field::new("side", SIDES, ""),
        decimal("slPrice"),
        decimal("slTriggerPrice"),
        text("symbol"),
        Field::new("timeInForce", TIME_IN_FORCE, ""),
        text("tpOrderType"),
        decimal("tpPrice"),
        decimal("tpTriggerPrice"),
        decimal("triggerPrice"),
        integer("triggerTime"),
        integer("updateTime"),
        Field::new("workingType", WORKING, ""),
    ],
);

/// A limit of requests or orders.
pub(super) const RATE_LIMIT: Shape = Shape::Named(
    "FuturesRateLimit",
    &[text("interval"), integer("intervalNum"), integer("limit"), text("rateLimitType")],
);

/// A fill.
pub(super) const FILL: Shape = Shape::Named(
    "FuturesFill",
    &[
        boolean("buyer"),
        signed("commission"),
        text("commissionAsset"),
        integer("id"),
        boolean("maker"),
        integer("orderId"),
        Field::new("positionSide", POSITION_SIDE, ""),
        decimal("price"),
        decimal("qty"),
        signed("quoteQty"),
        signed("realizedPnl"),
        Field::new("side", SIDES, ""),
        text("symbol"),
        integer("time"),
    ],
);

/// A modification of an order.
pub(super) const AMENDMENT: Shape = Shape::Named(
    "FuturesAmendment",
    &[
        Field::new(
            "amendment",
            Shape::Object(&[
                integer("count"),
                Field::new("origQty", Shape::Object(&[decimal("after"), decimal("before")]), ""),
                Field::new("price", Shape::Object(&[decimal("after"), decimal("before")]), ""),
            ]),
            "",
        ),
        integer("amendmentId"),
        text("clientOrderId"),
        integer("orderId"),
        text("pair"),
        text("symbol"),
        integer("time"),
    ],
);

/// A balance, first version.
pub(super) const BALANCE_V1: Shape = Shape::Named(
    "FuturesBalanceV1",
    &[
        text("accountAlias"),
        text("asset"),
        signed("availableBalance"),
        signed("balance"),
        signed("crossUnPnl"),
        signed("crossWalletBalance"),
        boolean("marginAvailable"),
        signed("maxWithdrawAmount"),
        integer("updateTime"),
        signed("withdrawAvailable"),
    ],
);

/// A balance.
pub(super) const BALANCE: Shape = Shape::Named(
    "FuturesBalance",
    &[
        text("accountAlias"),
        text("asset"),
        signed("availableBalance"),
        signed("balance"),
        signed("crossUnPnl"),
        signed("crossWalletBalance"),
        boolean("marginAvailable"),
        signed("maxWithdrawAmount"),
        integer("updateTime"),
    ],
);

/// An asset of an account, second version.
const ASSET_V2: Shape = Shape::Named(
    "FuturesAssetV2",
    &[
        text("asset"),
        signed("availableBalance"),
        signed("crossUnPnl"),
        signed("crossWalletBalance"),
        signed("initialMargin"),
        signed("maintMargin"),
        boolean("marginAvailable"),
        signed("marginBalance"),
        signed("maxWithdrawAmount"),
        signed("openOrderInitialMargin"),
        signed("positionInitialMargin"),
        signed("unrealizedProfit"),
        integer("updateTime"),
        signed("walletBalance"),
    ],
);

/// A position of an account, second version.
const HELD_V2: Shape = Shape::Named(
    "FuturesAccountPositionV2",
    &[
        signed("askNotional"),
        signed("bidNotional"),
        decimal("breakEvenPrice"),
        decimal("entryPrice"),
        signed("initialMargin"),
        boolean("isolated"),
        signed("isolatedWallet"),
        decimal("leverage"),
        signed("maintMargin"),
        signed("maxNotional"),
        signed("notional"),
        signed("openOrderInitialMargin"),
        signed("positionAmt"),
        signed("positionInitialMargin"),
        Field::new("positionSide", POSITION_SIDE, ""),
        text("symbol"),
        signed("unrealizedProfit"),
        integer("updateTime"),
    ],
);

/// An account, second version.
pub(super) const ACCOUNT_V2: Shape = Shape::Named(
    "FuturesAccountV2",
    &[
        Field::new("assets", Shape::List(&ASSET_V2), ""),
        signed("availableBalance"),
        boolean("canDeposit"),
        boolean("canTrade"),
        boolean("canWithdraw"),
        boolean("feeBurn"),
        integer("feeTier"),
        signed("maxWithdrawAmount"),
        boolean("multiAssetsMargin"),
        Field::new("positions", Shape::List(&HELD_V2), ""),
        signed("totalCrossUnPnl"),
        signed("totalCrossWalletBalance"),
        signed("totalInitialMargin"),
        signed("totalMaintMargin"),
        signed("totalMarginBalance"),
        signed("totalOpenOrderInitialMargin"),
        signed("totalPositionInitialMargin"),
        signed("totalUnrealizedProfit"),
        signed("totalWalletBalance"),
        integer("tradeGroupId"),
        integer("updateTime"),
    ],
);

/// An asset of an account.
const ASSET: Shape = Shape::Named(
    "FuturesAsset",
    &[
        text("asset"),
        signed("availableBalance"),
        signed("crossUnPnl"),
        signed("crossWalletBalance"),
        signed("initialMargin"),
        signed("maintMargin"),
        signed("marginBalance"),
        signed("maxWithdrawAmount"),
        signed("openOrderInitialMargin"),
        signed("positionInitialMargin"),
        signed("unrealizedProfit"),
        integer("updateTime"),
        signed("walletBalance"),
    ],
);

/// A position of an account.
const HELD: Shape = Shape::Named(
    "FuturesAccountPosition",
    &[
        signed("initialMargin"),
        signed("isolatedMargin"),
        signed("isolatedWallet"),
        signed("maintMargin"),
        signed("notional"),
        signed("positionAmt"),
        Field::new("positionSide", POSITION_SIDE, ""),
        text("symbol"),
        signed("unrealizedProfit"),
        integer("updateTime"),
    ],
);

/// An account.
pub(super) const ACCOUNT: Shape = Shape::Named(
    "FuturesAccount",
    &[
        Field::new("assets", Shape::List(&ASSET), ""),
        signed("availableBalance"),
        signed("maxWithdrawAmount"),
        Field::new("positions", Shape::List(&HELD), ""),
        signed("totalCrossUnPnl"),
        signed("totalCrossWalletBalance"),
        signed("totalInitialMargin"),
        signed("totalMaintMargin"),
        signed("totalMarginBalance"),
        signed("totalOpenOrderInitialMargin"),
        signed("totalPositionInitialMargin"),
        signed("totalUnrealizedProfit"),
        signed("totalWalletBalance"),
    ],
);

/// A position, second version.
pub(super) const POSITION_V2: Shape = Shape::Named(
    "FuturesPositionV2",
    &[
        decimal("breakEvenPrice"),
        decimal("entryPrice"),
        text("isAutoAddMargin"),
        signed("isolatedMargin"),
        signed("isolatedWallet"),
        decimal("leverage"),
        signed("liquidationPrice"),
        text("marginType"),
        decimal("markPrice"),
        signed("maxNotionalValue"),
        signed("notional"),
        signed("positionAmt"),
        Field::new("positionSide", POSITION_SIDE, ""),
        text("symbol"),
        signed("unRealizedProfit"),
        integer("updateTime"),
    ],
);

/// A position.
pub(super) const POSITION: Shape = Shape::Named(
    "FuturesPosition",
    &[
        integer("adl"),
        signed("askNotional"),
        signed("bidNotional"),
        decimal("breakEvenPrice"),
        decimal("entryPrice"),
        signed("initialMargin"),
        signed("isolatedMargin"),
        signed("isolatedWallet"),
        signed("liquidationPrice"),
        signed("maintMargin"),
        text("marginAsset"),
        decimal("markPrice"),
        signed("notional"),
        signed("openOrderInitialMargin"),
        signed("positionAmt"),
        signed("positionInitialMargin"),
        Field::new("positionSide", POSITION_SIDE, ""),
        text("symbol"),
        signed("unRealizedProfit"),
        integer("updateTime"),
    ],
);

/// A bracket.
const BRACKET: Shape = Shape::Named(
    "FuturesBracket",
    &[
        integer("bracket"),
        Field::new("cum", Shape::Number, ""),
        integer("initialLeverage"),
        Field::new("maintMarginRatio", Shape::Number, ""),
        integer("notionalCap"),
        integer("notionalFloor"),
    ],
);

/// Brackets of a market.
pub(super) const BRACKETS: Shape =
    Shape::Named("FuturesBrackets", &[Field::new("brackets", Shape::List(&BRACKET), ""), text("symbol")]);

/// A change of the wallet.
pub(super) const INCOME: Shape = Shape::Named(
    "FuturesIncome",
    &[
        text("asset"),
        signed("income"),
        text("incomeType"),
        text("info"),
        text("symbol"),
        integer("time"),
        text("tradeId"),
        integer("tranId"),
    ],
);

/// A match of an account with itself that was prevented.
pub(super) const PREVENTED: Shape = Shape::Named(
    "FuturesPreventedMatch",
    &[
        integer("makerOrderId"),
        text("makerSymbol"),
        integer("preventedMatchId"),
        decimal("price"),
        Field::new("selfTradePreventionMode", SELF_TRADES, ""),
        text("symbol"),
        integer("takerOrderId"),
        decimal("takerPreventedQuantity"),
        integer("tradeGroupId"),
        integer("transactTime"),
    ],
);

/// A filter: its type says which of the others are there.
const FILTER: Shape = Shape::Named(
    "FuturesFilter",
    &[
        text("filterType"),
        Field::optional("maxPrice", Shape::Decimal, ""),
        Field::optional("minPrice", Shape::Decimal, ""),
        Field::optional("tickSize", Shape::Decimal, ""),
        Field::optional("maxQty", Shape::Decimal, ""),
        Field::optional("minQty", Shape::Decimal, ""),
        Field::optional("stepSize", Shape::Decimal, ""),
        Field::optional("limit", Shape::Integer, ""),
        Field::optional("notional", SIGNED, ""),
        Field::optional("multiplierDecimal", Shape::Decimal, ""),
        Field::optional("multiplierDown", Shape::Decimal, ""),
        Field::optional("multiplierUp", Shape::Decimal, ""),
    ],
);

/// A market.
pub(super) const SYMBOL: Shape = Shape::Named(
    "FuturesSymbol",
    &[
        text("baseAsset"),
        integer("baseAssetPrecision"),
        text("contractType"),
        integer("deliveryDate"),
        Field::new("filters", Shape::List(&FILTER), ""),
        decimal("liquidationFee"),
        signed("maintMarginPercent"),
        text("marginAsset"),
        decimal("marketTakeBound"),
        integer("maxMoveOrderLimit"),
        signed("maxNotional"),
        integer("onboardDate"),
        Field::new("orderTypes", Shape::List(&Shape::Text), ""),
        text("pair"),
        Field::new("permissionSets", Shape::List(&Shape::Text), "None"),
        integer("pricePrecision"),
        integer("quantityPrecision"),
        text("quoteAsset"),
        integer("quotePrecision"),
        signed("requiredMarginPercent"),
        integer("settlePlan"),
        text("status"),
        text("symbol"),
        Field::new("timeInForce", Shape::List(&Shape::Text), ""),
        Field::new(
            "tradingState",
            Shape::OneOf(&["TRADING", "POST_ONLY", "REDUCE_ONLY", "CANCEL_ONLY", "HALTED", "CLOSED"]),
            "What it takes now. POST_ONLY: timeInForce GTX alone, for half a minute after the price band has bound, or after a restart",
        ),
        decimal("triggerProtect"),
        Field::new("underlyingSubType", Shape::List(&Shape::Any), ""),
        text("underlyingType"),
    ],
);

/// A trade.
pub(super) const TRADE: Shape = Shape::Named(
    "FuturesTrade",
    &[
        integer("id"),
        boolean("isBuyerMaker"),
        boolean("isRPITrade"),
        decimal("price"),
        decimal("qty"),
        signed("quoteQty"),
        integer("time"),
    ],
);

/// Trades of one taker at one price.
pub(super) const AGGREGATE: Shape = Shape::Named(
    "FuturesAggregateTrade",
    &[
        integer("T"),
        integer("a"),
        integer("f"),
        integer("l"),
        boolean("m"),
        decimal("nq"),
        decimal("p"),
        decimal("q"),
    ],
);

/// Mark, index and funding.
pub(super) const PREMIUM_INDEX: Shape = Shape::Named(
    "FuturesPremiumIndex",
    &[
        decimal("estimatedSettlePrice"),
        decimal("indexPrice"),
        signed("interestRate"),
        signed("lastFundingRate"),
        decimal("markPrice"),
        integer("nextFundingTime"),
        text("symbol"),
        integer("time"),
    ],
);

/// The rolling day.
pub(super) const DAY: Shape = Shape::Named(
    "FuturesDay",
    &[
        integer("closeTime"),
        integer("count"),
        integer("firstId"),
        decimal("highPrice"),
        integer("lastId"),
        decimal("lastPrice"),
        decimal("lastQty"),
        decimal("lowPrice"),
        decimal("openPrice"),
        integer("openTime"),
        signed("priceChange"),
        signed("priceChangePercent"),
        signed("quoteVolume"),
        text("symbol"),
        decimal("volume"),
        decimal("weightedAvgPrice"),
    ],
);

/// The last price.
pub(super) const LAST_PRICE: Shape =
    Shape::Named("FuturesLastPrice", &[decimal("price"), text("symbol"), integer("time")]);

/// The best levels.
pub(super) const BEST: Shape = Shape::Named(
    "FuturesBest",
    &[
        decimal("askPrice"),
        decimal("askQty"),
        decimal("bidPrice"),
        decimal("bidQty"),
        integer("lastUpdateId"),
        text("symbol"),
        integer("time"),
    ],
);

/// The insurance fund of some markets.
pub(super) const INSURANCE: Shape = Shape::Named(
    "FuturesInsuranceFund",
    &[
        Field::new(
            "assets",
            Shape::List(&Shape::Object(&[text("asset"), signed("marginBalance"), integer("updateTime")])),
            "",
        ),
        Field::new("symbols", Shape::List(&Shape::Text), ""),
    ],
);

/// How near a market is to auto-deleveraging.
pub(super) const ADL_RISK: Shape = Shape::Named(
    "FuturesAdlRisk",
    &[
        Field::new("adlRisk", Shape::OneOf(&["low", "medium", "high"]), ""),
        text("symbol"),
        integer("updateTime"),
    ],
);

/// Sessions of a kind of underlyings.
pub(super) const SESSIONS: Shape = Shape::Named(
    "FuturesSessions",
    &[Field::new(
        "sessions",
        Shape::List(&Shape::Object(&[integer("endTime"), integer("startTime"), text("type")])),
        "",
    )],
);

/// The index of an asset.
pub(super) const ASSET_INDEX: Shape = Shape::Named(
    "FuturesAssetIndex",
    &[
        decimal("askBuffer"),
        signed("askRate"),
        signed("autoExchangeAskBuffer"),
        signed("autoExchangeAskRate"),
        signed("autoExchangeBidBuffer"),
        signed("autoExchangeBidRate"),
        decimal("bidBuffer"),
        signed("bidRate"),
        decimal("index"),
        text("symbol"),
        integer("time"),
    ],
);

/// Done.
pub(super) const SUCCESS: Shape = Shape::Named("FuturesSuccess", &[integer("code"), text("msg")]);

/// A key of a user stream.
pub(super) const LISTEN_KEY: Shape = Shape::Named("FuturesListenKey", &[text("listenKey")]);
