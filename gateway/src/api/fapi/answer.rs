//! What every route of the perpetual venue answers, for the OpenAPI document: a row a route. A test holds each answer of a story to
//! it, member by member.

use super::object::{
    ACCOUNT, ACCOUNT_V2, ADL_RISK, AGGREGATE, ALGO, AMENDMENT, ASSET_INDEX, BALANCE, BALANCE_V1, BEST,
    BRACKETS, DAY, FILL, INCOME, INSURANCE, LAST_PRICE, LISTEN_KEY, ORDER, POSITION, POSITION_V2,
    PREMIUM_INDEX, PREVENTED, RATE_LIMIT, SESSIONS, SUCCESS, SYMBOL, TRADE,
};
use crate::api::Method;
use crate::api::docs::{Field, SIGNED, Shape, boolean, decimal, integer, signed, text};

/// An element of a batch that was refused.
const REFUSED: Shape = Shape::Object(&[Field::new("code", Shape::Integer, "Below zero"), text("msg")]);
/// Start, open, high, low, close, volume, end, value, count, the takers' volume and value, nothing.
const CANDLE: Shape = Shape::Tuple(&members_of_candle(Shape::Decimal));
/// The same of premiums.
const SIGNED_CANDLE: Shape = Shape::Tuple(&members_of_candle(SIGNED));

/// Levels of a book.
const DEPTH: Shape = Shape::Object(&[
    integer("E"),
    integer("T"),
    Field::new("asks", Shape::List(&Shape::Tuple(&[Shape::Decimal, Shape::Decimal])), ""),
    Field::new("bids", Shape::List(&Shape::Tuple(&[Shape::Decimal, Shape::Decimal])), ""),
    integer("lastUpdateId"),
]);

const fn members_of_candle(price: Shape) -> [Shape; 12] {
    const SUM: Shape = Shape::Decimal;
    [Shape::Integer, price, price, price, price, SUM, Shape::Integer, SUM, Shape::Integer, SUM, SUM, SUM]
}

/// By method and path.
const ANSWERS: &[(Method, &str, Shape)] = &[
    (Method::Get, "/api/v3/myPreventedMatches", Shape::List(&PREVENTED)),
    (Method::Get, "/api/v3/preventedMatches", Shape::List(&PREVENTED)),
    (Method::Get, "/api/v3/ping", Shape::Object(&[])),
    (Method::Get, "/api/v3/time", Shape::Object(&[integer("serverTime")])),
    (Method::Get, "/fapi/v1/account", ACCOUNT_V2),
    (
        Method::Get,
        "/fapi/v1/accountConfig",
        Shape::Object(&[
            boolean("canDeposit"),
            boolean("canTrade"),
            boolean("canWithdraw"),
            boolean("dualSidePosition"),
            integer("feeTier"),
            boolean("multiAssetsMargin"),
            integer("tradeGroupId"),
            integer("updateTime"),
        ]),
    ),
    (
        Method::Get,
        "/fapi/v1/adlQuantile",
        Shape::List(&Shape::Object(&[
            Field::new(
                "adlQuantile",
                Shape::Object(&[integer("BOTH"), integer("LONG"), integer("SHORT")]),
                "",
            ),
            text("symbol"),
        ])),
    ),
    (Method::Get, "/fapi/v1/aggTrades", Shape::List(&AGGREGATE)),
    (Method::Delete, "/fapi/v1/algoOpenOrders", SUCCESS),
    (
        Method::Delete,
        "/fapi/v1/algoOrder",
        Shape::Object(&[integer("algoId"), text("clientAlgoId"), decimal("code"), text("msg")]),
    ),
    (Method::Get, "/fapi/v1/algoOrder", ALGO),
    (Method::Post, "/fapi/v1/algoOrder", ALGO),
    (Method::Get, "/fapi/v1/allAlgoOrders", Shape::List(&ALGO)),
    (Method::Delete, "/fapi/v1/allOpenOrders", SUCCESS),
    (Method::Get, "/fapi/v1/allOrders", Shape::List(&ORDER)),
    (
        Method::Get,
        "/fapi/v1/apiTradingStatus",
        Shape::Object(&[Field::new("indicators", Shape::Object(&[]), ""), integer("updateTime")]),
    ),
    (Method::Get, "/fapi/v1/assetIndex", Shape::Either(&[Shape::List(&ASSET_INDEX), ASSET_INDEX])),
    (Method::Get, "/fapi/v1/balance", Shape::List(&BALANCE_V1)),
    (Method::Delete, "/fapi/v1/batchOrders", Shape::List(&Shape::Either(&[ORDER, REFUSED]))),
    (Method::Post, "/fapi/v1/batchOrders", Shape::List(&Shape::Either(&[ORDER, REFUSED]))),
    (Method::Put, "/fapi/v1/batchOrders", Shape::List(&Shape::Either(&[ORDER, REFUSED]))),
    (
        Method::Get,
        "/fapi/v1/commissionRate",
        Shape::Object(&[signed("makerCommissionRate"), text("symbol"), signed("takerCommissionRate")]),
    ),
    (
        Method::Get,
        "/fapi/v1/constituents",
        Shape::Object(&[
            Field::new(
                "constituents",
                Shape::List(&Shape::Object(&[
                    text("exchange"),
                    decimal("price"),
                    text("symbol"),
                    decimal("weight"),
                ])),
                "",
            ),
            text("symbol"),
            integer("time"),
        ]),
    ),
    (Method::Get, "/fapi/v1/continuousKlines", Shape::List(&CANDLE)),
    (Method::Post, "/fapi/v1/countdownCancelAll", Shape::Object(&[decimal("countdownTime"), text("symbol")])),
    (Method::Get, "/fapi/v1/depth", DEPTH),
    (Method::Get, "/fapi/v1/rpiDepth", DEPTH),
    (
        Method::Get,
        "/fapi/v1/exchangeInfo",
        Shape::Object(&[
            Field::new(
                "assets",
                Shape::List(&Shape::Object(&[
                    text("asset"),
                    signed("autoAssetExchange"),
                    boolean("marginAvailable"),
                ])),
                "",
            ),
            Field::new("exchangeFilters", Shape::List(&Shape::Any), ""),
            text("futuresType"),
            Field::new("rateLimits", Shape::List(&RATE_LIMIT), ""),
            integer("serverTime"),
            Field::new("symbols", Shape::List(&SYMBOL), ""),
            text("timezone"),
        ]),
    ),
    (Method::Get, "/fapi/v1/feeBurn", Shape::Object(&[boolean("feeBurn")])),
    (Method::Post, "/fapi/v1/feeBurn", SUCCESS),
    (Method::Get, "/fapi/v1/forceOrders", Shape::List(&ORDER)),
    (
        Method::Get,
        "/fapi/v1/fundingInfo",
        Shape::List(&Shape::Object(&[
            signed("adjustedFundingRateCap"),
            signed("adjustedFundingRateFloor"),
            boolean("disclaimer"),
            integer("fundingIntervalHours"),
            text("symbol"),
            integer("updateTime"),
        ])),
    ),
    (
        Method::Get,
        "/fapi/v1/fundingRate",
        Shape::List(&Shape::Object(&[
            signed("fundingRate"),
            integer("fundingTime"),
            decimal("markPrice"),
            text("symbol"),
        ])),
    ),
    (Method::Get, "/fapi/v1/historicalTrades", Shape::List(&TRADE)),
    (Method::Get, "/fapi/v1/income", Shape::List(&INCOME)),
    (Method::Get, "/fapi/v1/indexInfo", Shape::List(&Shape::Any)),
    (Method::Get, "/fapi/v1/insuranceBalance", Shape::Either(&[INSURANCE, Shape::List(&INSURANCE)])),
    (Method::Get, "/fapi/v1/symbolAdlRisk", Shape::Either(&[ADL_RISK, Shape::List(&ADL_RISK)])),
    (
        Method::Get,
        "/fapi/v1/tradingSchedule",
        Shape::Object(&[
            Field::new(
                "marketSchedules",
                Shape::Object(&[
                    Field::new("CN_EQUITY", SESSIONS, ""),
                    Field::new("COMMODITY", SESSIONS, ""),
                    Field::new("EQUITY", SESSIONS, ""),
                    Field::new("FX", SESSIONS, ""),
                    Field::new("HK_EQUITY", SESSIONS, ""),
                    Field::new("KR_EQUITY", SESSIONS, ""),
                ]),
                "",
            ),
            integer("updateTime"),
        ]),
    ),
    (Method::Get, "/fapi/v1/indexPriceKlines", Shape::List(&CANDLE)),
    (Method::Get, "/fapi/v1/klines", Shape::List(&CANDLE)),
    (
        Method::Post,
        "/fapi/v1/leverage",
        Shape::Object(&[integer("leverage"), signed("maxNotionalValue"), text("symbol")]),
    ),
    (Method::Get, "/fapi/v1/leverageBracket", Shape::Either(&[Shape::List(&BRACKETS), BRACKETS])),
    (Method::Delete, "/fapi/v1/listenKey", Shape::Object(&[])),
    (Method::Post, "/fapi/v1/listenKey", LISTEN_KEY),
    (Method::Put, "/fapi/v1/listenKey", LISTEN_KEY),
    (
        Method::Get,
        "/fapi/v1/marginType",
        Shape::Object(&[text("marginType"), Field::optional("symbol", Shape::Text, "")]),
    ),
    (Method::Post, "/fapi/v1/marginType", SUCCESS),
    (Method::Get, "/fapi/v1/markPriceKlines", Shape::List(&CANDLE)),
    (Method::Get, "/fapi/v1/multiAssetsMargin", Shape::Object(&[boolean("multiAssetsMargin")])),
    (Method::Post, "/fapi/v1/multiAssetsMargin", SUCCESS),
    (Method::Get, "/fapi/v1/openAlgoOrders", Shape::List(&ALGO)),
    (
        Method::Get,
        "/fapi/v1/openInterest",
        Shape::Object(&[signed("openInterest"), text("symbol"), integer("time")]),
    ),
    (Method::Get, "/fapi/v1/openOrder", ORDER),
    (Method::Get, "/fapi/v1/openOrders", Shape::List(&ORDER)),
    (Method::Delete, "/fapi/v1/order", ORDER),
    (Method::Get, "/fapi/v1/order", ORDER),
    (Method::Post, "/fapi/v1/order", ORDER),
    (Method::Put, "/fapi/v1/order", ORDER),
    (Method::Post, "/fapi/v1/order/test", ORDER),
    (Method::Get, "/fapi/v1/orderAmendment", Shape::List(&AMENDMENT)),
    (Method::Get, "/fapi/v1/ping", Shape::Object(&[])),
    (
        Method::Post,
        "/fapi/v1/positionMargin",
        Shape::Object(&[
            Field::new("amount", Shape::Number, ""),
            integer("code"),
            text("msg"),
            integer("type"),
        ]),
    ),
    (
        Method::Get,
        "/fapi/v1/positionMargin/history",
        Shape::List(&Shape::Object(&[
            signed("amount"),
            text("asset"),
            text("deltaType"),
            text("positionSide"),
            text("symbol"),
            integer("time"),
            integer("type"),
        ])),
    ),
    (Method::Get, "/fapi/v1/positionRisk", Shape::List(&POSITION_V2)),
    (Method::Get, "/fapi/v1/positionSide/dual", Shape::Object(&[boolean("dualSidePosition")])),
    (Method::Post, "/fapi/v1/positionSide/dual", SUCCESS),
    (Method::Get, "/fapi/v1/premiumIndex", Shape::Either(&[PREMIUM_INDEX, Shape::List(&PREMIUM_INDEX)])),
    (Method::Get, "/fapi/v1/premiumIndexKlines", Shape::List(&SIGNED_CANDLE)),
    (Method::Get, "/fapi/v1/rateLimit/order", Shape::List(&RATE_LIMIT)),
    (
        Method::Get,
        "/fapi/v1/symbolConfig",
        Shape::List(&Shape::Object(&[
            boolean("isAutoAddMargin"),
            integer("leverage"),
            text("marginType"),
            signed("maxNotionalValue"),
            text("symbol"),
        ])),
    ),
    (Method::Get, "/fapi/v1/ticker/24hr", Shape::Either(&[DAY, Shape::List(&DAY)])),
    (Method::Get, "/fapi/v1/ticker/bookTicker", Shape::Either(&[BEST, Shape::List(&BEST)])),
    (Method::Get, "/fapi/v1/ticker/price", Shape::Either(&[LAST_PRICE, Shape::List(&LAST_PRICE)])),
    (Method::Get, "/fapi/v1/time", Shape::Object(&[integer("serverTime")])),
    (Method::Get, "/fapi/v1/trades", Shape::List(&TRADE)),
    (Method::Get, "/fapi/v1/userTrades", Shape::List(&FILL)),
    (Method::Get, "/fapi/v2/account", ACCOUNT_V2),
    (Method::Get, "/fapi/v2/balance", Shape::List(&BALANCE)),
    (Method::Get, "/fapi/v2/positionRisk", Shape::List(&POSITION_V2)),
    (Method::Get, "/fapi/v2/ticker/price", Shape::Either(&[LAST_PRICE, Shape::List(&LAST_PRICE)])),
    (Method::Get, "/fapi/v3/account", ACCOUNT),
    (Method::Get, "/fapi/v3/balance", Shape::List(&BALANCE)),
    (Method::Get, "/fapi/v3/positionRisk", Shape::List(&POSITION)),
    (Method::Get, "/futures/data/{name}", Shape::List(&Shape::Any)),
    (Method::Get, "/sapi/v1/capital/config/getall", Shape::List(&Shape::Any)),
    (Method::Get, "/sapi/v1/margin/allPairs", Shape::List(&Shape::Any)),
    (Method::Get, "/sapi/v1/system/status", Shape::Object(&[text("msg"), integer("status")])),
];

/// What a route answers.
pub(super) const fn of(method: Method, path: &str) -> Shape {
    let mut index = 0;
    while index < ANSWERS.len() {
        let (of_method, of_path, shape) = ANSWERS[index];
        if of_method as u8 == method as u8 && is_same(of_path.as_bytes(), path.as_bytes()) {
            return shape;
        }
        index += 1;
    }
    Shape::Any
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}
