//! Shapes of what is sent to the spot venue, for the OpenAPI document.

use crate::api::docs::{ADDRESS_SENT, Field, SYMBOL, SYMBOL_SENT, Shape, TOKEN};
use crate::api::operate::REASON;
use ringside_views::kline::SPOT_INTERVALS;
use ringside_wire::spot::words::{SpotMarketStatus, SpotOrderStatus, SpotOrderType, SpotSide};

const SIDE: Shape = Shape::OneOf(SpotSide::ALL);
const ORDER_TYPE: Shape = Shape::OneOf(SpotOrderType::ALL);
const TIF: Shape = Shape::OneOf(&["gtc", "ioc", "post_only"]);

pub(super) const ORDER_STATUS: Shape = Shape::OneOf(SpotOrderStatus::ALL);
pub(super) const MARKET_STATUS: Shape = Shape::OneOf(SpotMarketStatus::ALL);

pub(super) const PLACE: Shape = Shape::Object(&[
    Field::new("symbol", SYMBOL_SENT, "Any case"),
    Field::new("side", SIDE, ""),
    Field::new("type", ORDER_TYPE, ""),
    Field::optional("tif", TIF, "Default gtc; a market order is always ioc"),
    Field::optional("price", Shape::DecimalInput, "Limit orders"),
    Field::optional("quantity", Shape::DecimalInput, "Limit orders and market sells"),
    Field::optional("quote_quantity", Shape::DecimalInput, "Market buys: how much quote to spend"),
]);

pub(super) const INTERVAL: Shape = Shape::OneOf(&{
    let mut words = [""; SPOT_INTERVALS.len()];
    let mut place = 0;
    while place < words.len() {
        words[place] = SPOT_INTERVALS[place].0;
        place += 1;
    }
    words
});

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
