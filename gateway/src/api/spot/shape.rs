//! Shapes of the spot resources, for the OpenAPI document.

use crate::api::docs::{ADDRESS, ADDRESS_SENT, Field, SYMBOL, SYMBOL_SENT, Shape, TOKEN, TRADE_ID, UUID};
use crate::api::operate::REASON;
use crate::dialect::spot::words;

const SIDE: Shape = Shape::OneOf(&["buy", "sell"]);
const ORDER_TYPE: Shape = Shape::OneOf(&["limit", "market"]);
const TIF: Shape = Shape::OneOf(&["gtc", "ioc", "post_only"]);

const REJECT_REASON: Shape = Shape::OneOf(&[
    "INVALID_TICK",
    "INVALID_LOT",
    "BELOW_MIN_NOTIONAL",
    "INSUFFICIENT_BALANCE",
    "POST_ONLY_REJECT",
    "SELF_TRADE",
]);

pub(super) const ORDER_STATUS: Shape =
    Shape::OneOf(&["open", "partially_filled", "filled", "canceled", "rejected", "expired"]);
pub(super) const MARKET_STATUS: Shape = Shape::OneOf(&["listed", "halted", "delisted"]);

pub(super) const MARKET: Shape = Shape::Named(
    "SpotMarket",
    &[
        Field::new("id", SYMBOL, "Symbol"),
        Field::new("base_token", TOKEN, "What is traded"),
        Field::new("quote_token", TOKEN, "What is paid"),
        Field::new("tick_size", Shape::Decimal, "Price step"),
        Field::new("lot_size", Shape::Decimal, "Quantity step"),
        Field::new("min_notional", Shape::Decimal, "Least price x quantity"),
        Field::new("maker_fee_bps", Shape::Number, "Basis points"),
        Field::new("taker_fee_bps", Shape::Number, "Basis points"),
        Field::new("status", MARKET_STATUS, ""),
    ],
);

pub(super) const PLACE: Shape = Shape::Object(&[
    Field::new("symbol", SYMBOL_SENT, "Any case"),
    Field::new("side", SIDE, ""),
    Field::new("type", ORDER_TYPE, ""),
    Field::optional("tif", TIF, "Default gtc; a market order is always ioc"),
    Field::optional("price", Shape::DecimalInput, "Limit orders"),
    Field::optional("quantity", Shape::DecimalInput, "Limit orders and market sells"),
    Field::optional("quote_quantity", Shape::DecimalInput, "Market buys: how much quote to spend"),
]);

macro_rules! order_fields {
    ($($more:expr),*) => {
        &[
            Field::new("id", UUID, "UUID"),
            Field::new("symbol", SYMBOL, ""),
            Field::new("side", SIDE, ""),
            Field::new("type", ORDER_TYPE, ""),
            Field::new("tif", TIF, ""),
            Field::new("price", Shape::Nullable(&Shape::Decimal), "Null for market orders"),
            Field::new("quantity", Shape::Decimal, "Base; of a market buy what is filled"),
            Field::new("quote_quantity", Shape::Nullable(&Shape::Decimal), "Market buys only"),
            Field::new("filled_qty", Shape::Decimal, "Base filled so far"),
            Field::new("avg_fill_price", Shape::Decimal, "8 decimals, 0 without fills"),
            Field::new("status", ORDER_STATUS, ""),
            Field::new("reject_reason", Shape::Nullable(&REJECT_REASON), "Set on rejection"),
            Field::new("created_at", Shape::Integer, "UNIX seconds"),
            Field::new("updated_at", Shape::Integer, "UNIX seconds"),
            $($more,)*
        ]
    };
}

pub(super) const ORDER: Shape = Shape::Named("SpotOrder", order_fields!());

const FILL: Shape = Shape::Named(
    "SpotFill",
    &[
        Field::new("trade_id", TRADE_ID, "Digits, ascending per market"),
        Field::new("price", Shape::Decimal, ""),
        Field::new("quantity", Shape::Decimal, ""),
        Field::new("fee", Shape::Decimal, "In fee_token"),
        Field::new("fee_token", TOKEN, "The token received"),
    ],
);

pub(super) const PLACED_ORDER: Shape = Shape::Named(
    "SpotPlacedOrder",
    order_fields!(Field::new("fills", Shape::List(&FILL), "What it traded at once, in order")),
);

pub(super) const OWN_TRADE: Shape = Shape::Named(
    "SpotOwnTrade",
    &[
        Field::new("trade_id", TRADE_ID, "Digits, ascending per market"),
        Field::new("symbol", SYMBOL, ""),
        Field::new("side", SIDE, "The caller's"),
        Field::new("price", Shape::Decimal, ""),
        Field::new("quantity", Shape::Decimal, ""),
        Field::new("fee", Shape::Decimal, "The caller's, in fee_token"),
        Field::new("fee_token", TOKEN, "The token received"),
        Field::new("role", Shape::OneOf(&["maker", "taker"]), ""),
        Field::new("order_id", UUID, "The caller's order"),
        Field::new("ts", Shape::Integer, "UNIX seconds"),
    ],
);

pub(super) const TRADE: Shape = Shape::Named(
    "SpotTrade",
    &[
        Field::new("trade_id", TRADE_ID, "Digits, ascending per market"),
        Field::new("symbol", SYMBOL, ""),
        Field::new("side", SIDE, "The taker's"),
        Field::new("price", Shape::Decimal, ""),
        Field::new("quantity", Shape::Decimal, ""),
        Field::new("ts", Shape::Integer, "UNIX milliseconds"),
    ],
);

const LEVELS: Shape = Shape::List(&Shape::Tuple(&[Shape::Decimal, Shape::Decimal]));

pub(super) const DEPTH: Shape = Shape::Named(
    "SpotDepth",
    &[
        Field::new("symbol", SYMBOL, ""),
        Field::new("last_update_id", Shape::Integer, "Grows with every change of the book"),
        Field::new("bids", LEVELS, "[price, total], descending"),
        Field::new("asks", LEVELS, "[price, total], ascending"),
    ],
);

pub(super) const INTERVAL: Shape = Shape::OneOf(&words::INTERVALS);

/// open_time, open, high, low, close, volume, close_time, quote volume, trade count.
pub(super) const KLINE: Shape = Shape::Tuple(&[
    Shape::Integer,
    Shape::Decimal,
    Shape::Decimal,
    Shape::Decimal,
    Shape::Decimal,
    Shape::Decimal,
    Shape::Integer,
    Shape::Decimal,
    Shape::Integer,
]);

pub(super) const TICKER: Shape = Shape::Named(
    "SpotTicker",
    &[
        Field::new("symbol", SYMBOL, ""),
        Field::new("last_price", Shape::Decimal, "Of the newest trade, in the window or not"),
        Field::new("open_price", Shape::Decimal, "Of the window's first trade"),
        Field::new("high", Shape::Decimal, ""),
        Field::new("low", Shape::Decimal, ""),
        Field::new("volume", Shape::Decimal, "Base"),
        Field::new("quote_volume", Shape::Decimal, "Quote"),
        Field::new("trade_count", Shape::Integer, ""),
        Field::new("open_time", Shape::Integer, "UNIX seconds, close_time - 86400"),
        Field::new("close_time", Shape::Integer, "UNIX seconds of the last refresh"),
    ],
);

pub(super) const BALANCE: Shape = Shape::Named(
    "SpotBalance",
    &[
        Field::new("token", TOKEN, ""),
        Field::new("available", Shape::Decimal, "Free"),
        Field::new("frozen", Shape::Decimal, "Reserved by open orders and withdrawals"),
        Field::new("ts", Shape::Integer, "UNIX seconds of the last change, 0 when never"),
    ],
);

pub(in crate::api) const AUTHORIZATION: Shape = Shape::Named(
    "WithdrawalAuthorization",
    &[
        Field::new("id", UUID, ""),
        Field::new("nonce", Shape::Integer, "The vault's counter at which it can be submitted"),
        Field::new("signature", Shape::Pattern("^0x[0-9a-f]{130}$"), "r, s, v"),
        Field::new("deadline", Shape::Integer, "UNIX seconds; to be submitted strictly before it"),
        Field::new("vault_address", ADDRESS, ""),
        Field::new("chain_id", Shape::Integer, ""),
        Field::new("amount", Shape::Decimal, ""),
    ],
);

/// Hash of a transaction.
const TX_HASH: Shape = Shape::Pattern("^0x[0-9a-f]{64}$");

pub(super) const DEPOSIT: Shape = Shape::Named(
    "Deposit",
    &[
        Field::new(
            "id",
            Shape::Pattern("^[0-9]+-0x[0-9a-f]{40}-[0-9]+$"),
            "The same from its first block on",
        ),
        Field::new("token", Shape::Text, "Its name; the contract where that is not known here"),
        Field::new("amount", Shape::Decimal, "What arrived; of a token that is not known in its base units"),
        Field::new("chain_id", Shape::Integer, ""),
        Field::new("number", Shape::Integer, "The vault's"),
        Field::new("tx_hash", TX_HASH, ""),
        Field::new("block_number", Shape::Integer, ""),
        Field::new("confirmations", Shape::Integer, "Blocks on top of that one"),
        Field::new("status", Shape::OneOf(&["pending", "credited"]), ""),
        Field::new("seen_at", Shape::Integer, "UNIX seconds of its block"),
        Field::new("credited_at", Shape::Nullable(&Shape::Integer), "UNIX seconds, once credited"),
        Field::optional("held", Shape::Text, "Why it is final and not credited"),
    ],
);

pub(super) const DEPOSIT_ADDRESS: Shape = Shape::Named(
    "DepositAddress",
    &[
        Field::new("chain_id", Shape::Integer, ""),
        Field::new("vault_address", ADDRESS, "The contract whose deposit and depositFor take it"),
        Field::new("former_vault_addresses", Shape::List(&ADDRESS), "Replaced by it; to be used no more"),
        Field::new(
            "tokens",
            Shape::List(&Shape::Object(&[
                Field::new("symbol", TOKEN, ""),
                Field::new("address", ADDRESS, "The contract"),
                Field::new("decimals", Shape::Integer, "Of its base unit"),
                Field::new("deposits_paused", Shape::Boolean, "What comes is held until it is taken back"),
            ])),
            "",
        ),
        Field::new("confirmations", Shape::Integer, "Blocks on top of one whose deposits are credited"),
    ],
);

pub(in crate::api) const WITHDRAWAL: Shape = Shape::Named(
    "Withdrawal",
    &[
        Field::new("id", UUID, ""),
        Field::new("token", TOKEN, ""),
        Field::new("amount", Shape::Decimal, ""),
        Field::new("fee", Shape::Decimal, "0"),
        Field::new("chain_id", Shape::Integer, ""),
        Field::new("nonce", Shape::Integer, ""),
        Field::new("status", Shape::OneOf(&["signed", "confirmed", "expired"]), ""),
        Field::new("deadline", Shape::Integer, "UNIX seconds"),
        Field::new("tx_hash", Shape::Nullable(&TX_HASH), "Once confirmed"),
        Field::new("block_number", Shape::Nullable(&Shape::Integer), "Once confirmed"),
        Field::new("requested_at", Shape::Integer, "UNIX seconds"),
        Field::new("confirmed_at", Shape::Nullable(&Shape::Integer), "UNIX seconds, once confirmed"),
    ],
);

pub(super) const LIST_MARKET: Shape = Shape::Object(&[
    Field::new("id", SYMBOL, "[A-Z0-9]{2,20}, unique"),
    Field::new("base_token", TOKEN, "[A-Z0-9]{1,10}"),
    Field::new("quote_token", TOKEN, "[A-Z0-9]{1,10}, another than base_token"),
    Field::new("tick_size", Shape::DecimalInput, "> 0, at most 8 decimals"),
    Field::new("lot_size", Shape::DecimalInput, "> 0, at most 8 decimals"),
    Field::new("min_notional", Shape::DecimalInput, "> 0, at most 18 decimals"),
    Field::new("maker_fee_bps", Shape::Number, "0 to 10000, at most 4 decimals"),
    Field::new("taker_fee_bps", Shape::Number, "0 to 10000, at most 4 decimals"),
    REASON,
]);

pub(super) const UPDATE_MARKET: Shape = Shape::Object(&[
    Field::optional("tick_size", Shape::DecimalInput, "> 0, at most 8 decimals"),
    Field::optional("lot_size", Shape::DecimalInput, "> 0, at most 8 decimals"),
    Field::optional("min_notional", Shape::DecimalInput, "> 0, at most 18 decimals"),
    Field::optional("maker_fee_bps", Shape::Number, "0 to 10000, at most 4 decimals"),
    Field::optional("taker_fee_bps", Shape::Number, "0 to 10000, at most 4 decimals"),
    REASON,
]);

pub(super) const CREDIT: Shape = Shape::Object(&[
    Field::new("user_address", ADDRESS_SENT, "0x and 40 hex digits; a new one gets an account"),
    Field::new("token", TOKEN, "A token that has a ledger"),
    Field::new("amount", Shape::DecimalInput, "> 0, at most 18 decimals"),
    REASON,
]);

pub(super) const TRANSFER: Shape = Shape::Named(
    "Transfer",
    &[
        Field::new("id", Shape::Pattern("^[0-9]{1,20}$"), ""),
        Field::new("direction", Shape::OneOf(crate::dialect::spot::transfer::DIRECTIONS), ""),
        Field::new("token", TOKEN, ""),
        Field::new("amount", Shape::Decimal, ""),
        Field::new("status", Shape::OneOf(&["completed"]), ""),
        Field::new("ts", Shape::Integer, "UNIX seconds"),
    ],
);
