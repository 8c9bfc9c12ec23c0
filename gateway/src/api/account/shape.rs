//! Shapes of what these routes answer, for the OpenAPI document: perpetual objects are those of `perpetual.md` 7 and 8.

use crate::api::docs::{Field, SYMBOL, Shape, boolean, decimal, integer, signed, text};

const SIDE: Shape = Shape::OneOf(&["BUY", "SELL"]);

/// An order.
pub const ORDER: Shape = Shape::Named(
    "PerpetualOrder",
    &[
        integer("orderId"),
        Field::new("symbol", SYMBOL, ""),
        text("status"),
        text("clientOrderId"),
        decimal("price"),
        decimal("avgPrice"),
        decimal("origQty"),
        decimal("executedQty"),
        decimal("cumQty"),
        decimal("cumQuote"),
        text("timeInForce"),
        text("type"),
        text("origType"),
        boolean("reduceOnly"),
        boolean("closePosition"),
        Field::new("side", SIDE, ""),
        text("positionSide"),
        decimal("stopPrice"),
        text("workingType"),
        boolean("priceProtect"),
        text("priceMatch"),
        text("selfTradePreventionMode"),
        text("goodTillDate"),
        integer("time"),
        integer("updateTime"),
    ],
);

/// A fill.
pub const FILL: Shape = Shape::Named(
    "PerpetualFill",
    &[
        Field::new("symbol", SYMBOL, ""),
        integer("id"),
        integer("orderId"),
        Field::new("side", SIDE, ""),
        decimal("price"),
        decimal("qty"),
        signed("realizedPnl"),
        decimal("quoteQty"),
        signed("commission"),
        text("commissionAsset"),
        integer("time"),
        text("positionSide"),
        boolean("buyer"),
        boolean("maker"),
    ],
);

/// A position.
pub const POSITION: Shape = Shape::Named(
    "PerpetualPosition",
    &[
        Field::new("symbol", SYMBOL, ""),
        text("positionSide"),
        signed("positionAmt"),
        signed("entryPrice"),
        signed("breakEvenPrice"),
        decimal("markPrice"),
        signed("unRealizedProfit"),
        decimal("liquidationPrice"),
        signed("isolatedMargin"),
        signed("notional"),
        text("marginAsset"),
        decimal("isolatedWallet"),
        decimal("initialMargin"),
        decimal("maintMargin"),
        decimal("positionInitialMargin"),
        decimal("openOrderInitialMargin"),
        integer("adl"),
        decimal("bidNotional"),
        decimal("askNotional"),
        integer("updateTime"),
        Field::new("leverage", Shape::Pattern("^[0-9]{1,3}$"), ""),
        Field::new("marginType", Shape::OneOf(&["cross", "isolated"]), ""),
    ],
);

/// A perpetual market.
pub const MARKET: Shape = Shape::Named(
    "PerpetualMarket",
    &[
        Field::new("symbol", SYMBOL, ""),
        text("base_asset"),
        text("quote_asset"),
        text("status"),
        decimal("last_price"),
        decimal("mark_price"),
        decimal("index_price"),
        signed("price_change_percent_24h"),
        decimal("high_24h"),
        decimal("low_24h"),
        decimal("volume_24h"),
        decimal("quote_volume_24h"),
        decimal("open_interest"),
        signed("funding_rate"),
        Field::new("next_funding_time", Shape::Integer, "UNIX milliseconds: the next full hour"),
        decimal("tick_size"),
        decimal("step_size"),
        decimal("min_quantity"),
        decimal("max_quantity"),
        decimal("min_notional"),
        decimal("max_notional"),
        integer("max_leverage"),
        signed("maker_rate"),
        signed("taker_rate"),
    ],
);

const BRACKET: Shape = Shape::Object(&[
    integer("bracket"),
    integer("initialLeverage"),
    Field::new("notionalCap", Shape::Number, ""),
    Field::new("notionalFloor", Shape::Number, ""),
    Field::new("maintMarginRatio", Shape::Number, ""),
    Field::new("cum", Shape::Number, ""),
]);

/// Brackets of a market.
pub const BRACKETS: Shape = Shape::Named(
    "Brackets",
    &[Field::new("symbol", SYMBOL, ""), Field::new("brackets", Shape::List(&BRACKET), "")],
);

/// What an outside source says of a market.
pub const EXTERNAL: Shape = Shape::Named(
    "ExternalTicker",
    &[
        Field::new("symbol", SYMBOL, ""),
        Field::new("source", Shape::Text, "Where it was read"),
        decimal("last_price"),
        Field::new("bid_price", Shape::Decimal, "The same as the other where the source tells one price"),
        decimal("ask_price"),
        Field::new("volume_24h", Shape::Decimal, "0 where the source does not tell it"),
        Field::new("ts", Shape::Integer, "UNIX milliseconds"),
    ],
);

/// An account across both ledgers.
pub const UNIFIED: Shape = Shape::Named(
    "UnifiedAccount",
    &[
        integer("account_id"),
        text("address"),
        Field::new("margin_mode", Shape::OneOf(&["CROSSED", "ISOLATED", "MIXED"]), ""),
        integer("tier"),
        signed("total_equity"),
        Field::new(
            "perpetual",
            Shape::Object(&[
                signed("wallet_balance"),
                signed("unrealized_pnl"),
                signed("margin_balance"),
                decimal("available_balance"),
                decimal("max_withdraw"),
                decimal("initial_margin"),
                decimal("maint_margin"),
                signed("margin_ratio"),
            ]),
            "",
        ),
        Field::new(
            "spot",
            Shape::List(&Shape::Object(&[
                text("token"),
                decimal("available"),
                decimal("frozen"),
                decimal("usdt_value"),
            ])),
            "",
        ),
        integer("positions"),
        integer("open_orders"),
        integer("update_time"),
    ],
);

/// What an order would do.
pub const PREVIEW: Shape = Shape::Named(
    "OrderPreview",
    &[
        Field::new("symbol", SYMBOL, ""),
        Field::new("side", SIDE, ""),
        Field::new("type", Shape::OneOf(&["LIMIT", "MARKET"]), ""),
        decimal("quantity"),
        Field::new("price", Shape::Nullable(&Shape::Decimal), "Of a limit order"),
        Field::new("avg_price", Shape::Nullable(&Shape::Decimal), "Of what would fill at once"),
        Field::new("worst_price", Shape::Nullable(&Shape::Decimal), "The same"),
        decimal("fill_quantity"),
        decimal("slippage"),
        decimal("max_slippage"),
        decimal("notional"),
        signed("fee_rate"),
        signed("fee"),
        integer("leverage"),
        decimal("initial_margin"),
        decimal("open_loss"),
        decimal("required_margin"),
        decimal("available_balance"),
        boolean("sufficient"),
        decimal("liquidation_price"),
    ],
);
