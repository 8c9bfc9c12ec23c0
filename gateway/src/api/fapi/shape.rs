//! Parameters of the `/fapi` routes as the OpenAPI document shows them. Each may come in the query or, but for GET, in a form.
//!
//! What is read and how it is judged is the dialect's (`dialect/fapi/params.rs`, `place.rs`); a test holds the two together.

use crate::api::docs::{Param, SYMBOL_SENT, Shape};
use ringside_dialect::fapi::words::{MarginType, MatchedPrice, OrderSide, SelfTrade, TriggerPrice};

/// Milliseconds, ids, counts. What may be left out may be sent empty as well.
const INTEGER: Shape = Shape::Pattern("^[0-9]{1,19}$");
const INTEGER_OR_NONE: Shape = Shape::Pattern("^[0-9]{0,19}$");
const SYMBOL_OR_NONE: Shape = Shape::Pattern("^([A-Za-z0-9]{2,20})?$");
const DECIMAL: Shape = Shape::Pattern("^[0-9]{1,20}(\\.[0-9]{1,40})?$");
const BOOLEAN: Shape = Shape::OneOf(&["true", "false"]);
const CLIENT: Shape = Shape::Pattern("^[.A-Z:/a-z0-9_-]{1,36}$");
const SIDES: Shape = Shape::OneOf(OrderSide::ALL);
const WORKING: Shape = Shape::OneOf(TriggerPrice::ALL);
const MATCHES: Shape = Shape::OneOf(MatchedPrice::ALL);
const SELF_TRADES: Shape = Shape::OneOf(SelfTrade::ALL);
const CONDITIONAL: Shape = Shape::OneOf(&["CONDITIONAL"]);
const TYPES: Shape = Shape::OneOf(&[
    "LIMIT",
    "MARKET",
    "STOP",
    "STOP_LIMIT",
    "STOP_MARKET",
    "TAKE_PROFIT",
    "TAKE_PROFIT_LIMIT",
    "TAKE_PROFIT_MARKET",
    "TRAILING_STOP_MARKET",
]);

/// The market.
pub const SYMBOL: Param = Param::query("symbol", SYMBOL_SENT, "Name of the market, any case");
/// One market, or all.
pub const OF_SYMBOL: Param = Param::optional("symbol", SYMBOL_OR_NONE, "One market only");
/// The market by its pair.
pub const PAIR: Param = Param::query("pair", SYMBOL_SENT, "Name of the market, any case");
/// Kind of contract.
pub const CONTRACT: Param = Param::query("contractType", Shape::OneOf(&["PERPETUAL"]), "");
/// Asset index.
pub const OF_ASSET: Param = Param::optional("symbol", SYMBOL_OR_NONE, "USDTUSD");
/// A statistic, none of which is kept.
pub const STATISTIC: Param = Param::path("name", Shape::Text, "Any: every answer is empty");
/// Rows at most.
pub const LIMIT: Param = Param::optional("limit", INTEGER_OR_NONE, "Rows at most");
/// Levels.
pub const DEPTH_LIMIT: Param = Param::optional(
    "limit",
    Shape::OneOf(&["", "5", "10", "20", "50", "100", "500", "1000"]),
    "Levels of a side",
);
/// Levels with retail price improvement.
pub const IMPROVED_LIMIT: Param = Param::optional("limit", Shape::OneOf(&["", "1000"]), "Levels of a side");
/// First time.
pub const START: Param = Param::optional("startTime", INTEGER_OR_NONE, "UNIX milliseconds");
/// Last time.
pub const END: Param = Param::optional("endTime", INTEGER_OR_NONE, "UNIX milliseconds, included");
/// First id.
pub const FROM_ID: Param = Param::optional("fromId", INTEGER_OR_NONE, "Oldest rows from this id on");
/// Page.
pub const PAGE: Param = Param::optional("page", INTEGER_OR_NONE, "From 1");
/// Length of a candle.
pub const INTERVAL: Param = Param::query(
    "interval",
    Shape::OneOf(&[
        "1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "8h", "12h", "1d", "3d", "1w", "1M",
    ]),
    "",
);
/// An order by its id.
pub const ORDER_ID: Param = Param::optional("orderId", INTEGER_OR_NONE, "The order");
/// An order by its name.
pub const CLIENT_ID: Param = Param::optional("origClientOrderId", CLIENT, "Its name, where no id is sent");
/// Several by ids.
pub const ORDER_IDS: Param = Param::optional("orderIdList", Shape::Text, "JSON list of at most 10 ids");
/// Several by names.
pub const CLIENT_IDS: Param =
    Param::optional("origClientOrderIdList", Shape::Text, "JSON list of at most 10 names");
/// Elements of a batch.
pub const BATCH: Param = Param::query("batchOrders", Shape::Text, "JSON list of 1 to 5 orders");
/// Kind of a forced order.
pub const CLOSE_TYPE: Param = Param::optional("autoCloseType", Shape::OneOf(&["LIQUIDATION", "ADL"]), "");
/// Timer.
pub const COUNTDOWN: Param = Param::query("countdownTime", INTEGER, "Milliseconds, 0 stops the timer");
/// What the timer spares.
pub const KEEP: Param = Param::optional("keepReduceOnly", BOOLEAN, "ChunkPool orders that only reduce");
/// Kind of income.
pub const INCOME_TYPE: Param = Param::optional(
    "incomeType",
    Shape::OneOf(&[
        "TRANSFER",
        "REALIZED_PNL",
        "FUNDING_FEE",
        "COMMISSION",
        "INSURANCE_CLEAR",
        "COMMISSION_REBATE",
        "REFERRAL_KICKBACK",
        "INTERNAL_TRANSFER",
        "TREASURY",
    ]),
    "",
);
/// Leverage.
pub const LEVERAGE: Param = Param::query("leverage", INTEGER, "From 1 to the market's greatest");
/// Margin type.
pub const MARGIN_TYPE: Param = Param::query("marginType", Shape::OneOf(MarginType::ALL), "");
/// Position mode.
pub const DUAL: Param = Param::query("dualSidePosition", BOOLEAN, "false is the only mode");
/// Multi-assets mode.
pub const MULTI: Param = Param::query("multiAssetsMargin", BOOLEAN, "false is the only mode");
/// Discount of fees.
pub const FEE_BURN: Param = Param::query("feeBurn", BOOLEAN, "");
/// Margin to move.
pub const AMOUNT: Param = Param::query("amount", DECIMAL, "Of the margin asset");
/// Which way.
pub const MARGIN_KIND: Param = Param::query("type", Shape::OneOf(&["1", "2"]), "1 adds, 2 takes away");
/// Which way, or both.
pub const OF_MARGIN_KIND: Param = Param::optional("type", Shape::OneOf(&["1", "2"]), "1 added, 2 taken away");
/// Side of a position.
pub const POSITION_SIDE: Param = Param::optional("positionSide", Shape::OneOf(&["BOTH"]), "");
/// A prevented match.
pub const PREVENTED_ID: Param = Param::optional("preventedMatchId", INTEGER_OR_NONE, "That one");
/// First prevented match.
pub const FROM_PREVENTED: Param =
    Param::optional("fromPreventedMatchId", INTEGER_OR_NONE, "With orderId: from this one on");
/// An order of the service by its id.
pub const ALGO_ID: Param = Param::optional("algoId", INTEGER_OR_NONE, "The order");
/// An order of the service by its name.
pub const ALGO_CLIENT_ID: Param = Param::optional("clientAlgoId", CLIENT, "Its name, where no id is sent");
/// Kind of the service's orders.
pub const OF_ALGO_TYPE: Param = Param::optional("algoType", CONDITIONAL, "");

macro_rules! placement {
    ($stop:literal, $client:literal, $activation:literal, $($more:expr),*) => {
        &[
            SYMBOL,
            $($more,)*
            Param::query("side", SIDES, ""),
            Param::query("type", TYPES, ""),
            Param::optional("positionSide", Shape::OneOf(&["BOTH"]), ""),
            Param::optional("timeInForce", Shape::OneOf(&["GTC", "IOC", "FOK", "GTX", "GTD", "GTE_GTC"]), ""),
            Param::optional("quantity", DECIMAL, "Floored to the step"),
            Param::optional("price", DECIMAL, ""),
            Param::optional($stop, DECIMAL, "Where it fires"),
            Param::optional($activation, DECIMAL, "Of TRAILING_STOP_MARKET"),
            Param::optional("callbackRate", DECIMAL, "Percent, of TRAILING_STOP_MARKET"),
            Param::optional("reduceOnly", BOOLEAN, ""),
            Param::optional("closePosition", BOOLEAN, "Of STOP_MARKET and TAKE_PROFIT_MARKET"),
            Param::optional("workingType", WORKING, ""),
            Param::optional("priceProtect", BOOLEAN, ""),
            Param::optional("priceMatch", MATCHES, ""),
            Param::optional("selfTradePreventionMode", SELF_TRADES, ""),
            Param::optional("goodTillDate", INTEGER_OR_NONE, "UNIX milliseconds, with GTD"),
            Param::optional($client, CLIENT, "Name of the order"),
            Param::optional("newOrderRespType", Shape::OneOf(&["ACK", "RESULT"]), ""),
            Param::optional("leverage", INTEGER_OR_NONE, "Set with the order"),
            Param::optional(
                "idempotencyKey",
                Shape::Pattern("^([A-Za-z0-9_-]{1,64})?$"),
                "Also as header Idempotency-Key: the same within 24 hours gets the stored answer and Idempotency-Replayed: true"
            ),
        ]
    };
}

/// Of POST order.
pub const PLACED: &[Param] = placement!(
    "stopPrice",
    "newClientOrderId",
    "activationPrice",
    Param::optional(
        "tpTriggerPrice",
        DECIMAL,
        "Attaches a take-profit order, named as the order, cut to 33 characters, and _tp"
    ),
    Param::optional(
        "slTriggerPrice",
        DECIMAL,
        "Attaches a stop-loss order, named as the order, cut to 33 characters, and _sl"
    ),
    Param::optional("tpslWorkingType", WORKING, "Of the attached orders")
);
/// Of POST algoOrder.
pub const ALGO_PLACED: &[Param] =
    placement!("triggerPrice", "clientAlgoId", "activatePrice", Param::query("algoType", CONDITIONAL, ""));
/// Of PUT order.
pub const MODIFIED: &[Param] = &[
    SYMBOL,
    ORDER_ID,
    CLIENT_ID,
    Param::optional("side", SIDES, "The order's"),
    Param::query("quantity", DECIMAL, "Executed part included"),
    Param::optional("price", DECIMAL, ""),
    Param::optional("priceMatch", MATCHES, "In place of a price"),
    Param::optional("keepPriority", BOOLEAN, "Keeps the place in the queue"),
];
/// Of signed routes, beside their own.
pub const SIGNED: &[Param] = &[
    Param::query("timestamp", INTEGER, "UNIX milliseconds"),
    Param::query("signature", Shape::Pattern("^[0-9a-fA-F]{64}$"), "HMAC-SHA256 of the other parameters"),
    Param::optional("recvWindow", INTEGER_OR_NONE, "Milliseconds, 1 to 60000; 5000"),
];
