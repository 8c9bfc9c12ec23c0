//! Payloads of the perpetual market streams and channels (`perpetual-stream.md` 5 and 6), written as bytes: a busy market has
//! many, and each is written once for all who listen. Number formats are those of the REST answers.

use super::object::Object;
use super::words::{self, OrderSide};
use super::{encode, text};
use ringside_core::ids::TradeId;
use ringside_core::money::{Price, Quantity, Rate};
use ringside_views::perpetual::day::{DAY_MS, Day};
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_views::perpetual::series::Candle;
use ringside_wire::decimal::write_fixed;

/// A level: price and total.
pub type Level = (Price, i128);

/// What payloads need to know of a market.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// Name.
    pub symbol: String,
    /// Name in lower case, as streams have it.
    pub lower: String,
    /// Decimals of a tick.
    price: usize,
    /// Decimals of a lot.
    quantity: usize,
    /// Decimals of values.
    value: usize,
}

impl Label {
    /// Of a market as it is.
    pub fn of(market: &PerpetualMarket) -> Label {
        Label {
            symbol: market.symbol().to_owned(),
            lower: market.symbol().to_ascii_lowercase(),
            price: text::decimals(market.tick()),
            quantity: text::decimals(market.lot()),
            value: encode::value_decimals(market),
        }
    }
}

/// A trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    /// Its number.
    pub trade: TradeId,
    /// The maker's price.
    pub price: Price,
    /// How much base.
    pub quantity: Quantity,
    /// UNIX milliseconds.
    pub time_ms: i64,
    /// Whether the buyer was maker.
    pub is_buyer_maker: bool,
}

/// `@trade`.
pub fn trade(out: &mut Vec<u8>, label: &Label, trade: &Trade, now_ms: i64) {
    let mut object = Object::event(out, "trade", now_ms);
    object.number("T", trade.time_ms);
    object.text("s", &label.symbol);
    object.id("t", trade.trade);
    object.fixed("p", trade.price, label.price);
    object.fixed("q", trade.quantity, label.quantity);
    object.text("X", "MARKET");
    object.flag("m", trade.is_buyer_maker);
    object.end();
}

/// Trades of one taker side at one price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// Its number.
    pub aggregate: u64,
    /// Price of all.
    pub price: Price,
    /// Base of all.
    pub quantity: i128,
    /// First trade.
    pub first: TradeId,
    /// Last trade.
    pub last: TradeId,
    /// When the first was, UNIX milliseconds.
    pub time_ms: i64,
    /// Whether the buyers were makers.
    pub is_buyer_maker: bool,
}

/// `@aggTrade`.
pub fn aggregate(out: &mut Vec<u8>, label: &Label, row: &Aggregate, now_ms: i64) {
    let mut object = Object::event(out, "aggTrade", now_ms);
    object.text("s", &label.symbol);
    object.id("a", row.aggregate);
    object.fixed("p", row.price, label.price);
    object.fixed("q", row.quantity, label.quantity);
    object.fixed("nq", row.quantity, label.quantity);
    object.id("f", row.first);
    object.id("l", row.last);
    object.number("T", row.time_ms);
    object.flag("m", row.is_buyer_maker);
    object.end();
}

/// Which mutations of a book an event covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Updates {
    /// The last mutation before it, which the event before it ended with.
    pub before: u64,
    /// Its last.
    pub last: u64,
    /// When that was, UNIX milliseconds.
    pub time_ms: i64,
}

fn levels(out: &mut Vec<u8>, levels: &[Level], label: &Label) {
    out.push(b'[');
    for (place, (price, total)) in levels.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        out.extend_from_slice(b"[\"");
        write_fixed(out, (*price).into(), label.price);
        out.extend_from_slice(b"\",\"");
        write_fixed(out, *total, label.quantity);
        out.extend_from_slice(b"\"]");
    }
    out.push(b']');
}

/// `@depth` and `@depth5` and its like.
pub fn depth(
    out: &mut Vec<u8>,
    label: &Label,
    updates: Updates,
    bids: &[Level],
    asks: &[Level],
    now_ms: i64,
) {
    out.reserve(160 + 32 * (bids.len() + asks.len()));
    let mut object = Object::event(out, "depthUpdate", now_ms);
    object.number("T", updates.time_ms);
    object.text("s", &label.symbol);
    object.id("U", updates.before + 1);
    object.id("u", updates.last);
    object.id("pu", updates.before);
    levels(object.key("b"), bids, label);
    levels(object.key("a"), asks, label);
    object.end();
}

/// `@bookTicker`.
pub fn best(
    out: &mut Vec<u8>,
    label: &Label,
    update: u64,
    time_ms: i64,
    [bid, ask]: [Option<Level>; 2],
    now_ms: i64,
) {
    let mut object = Object::new(out);
    object.text("e", "bookTicker");
    object.id("u", update);
    object.number("E", now_ms);
    object.number("T", time_ms);
    object.text("s", &label.symbol);
    for (price_key, quantity_key, level) in [("b", "B", bid), ("a", "A", ask)] {
        // An empty side is 0 in the decimals of the other: clients take the precision of both from the text.
        let (price, total) = level.unwrap_or_default();
        object.fixed(price_key, price, label.price);
        object.fixed(quantity_key, total, label.quantity);
    }
    object.end();
}

/// Prices of a market.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Mark.
    pub mark: Price,
    /// Mean of the marks of the last minute.
    pub mean: Price,
    /// Index.
    pub index: Price,
    /// Funding rate estimated for the running interval, 10^-8.
    pub rate: Rate,
    /// When funding is settled next, UNIX milliseconds.
    pub next_ms: i64,
}

/// `@markPrice`.
pub fn mark(out: &mut Vec<u8>, label: &Label, mark: &Mark, now_ms: i64) {
    let mut object = Object::event(out, "markPriceUpdate", now_ms);
    object.text("s", &label.symbol);
    object.fixed("p", mark.mark, 8);
    object.fixed("ap", mark.mean, 8);
    object.fixed("P", mark.index, 8);
    object.fixed("i", mark.index, 8);
    object.fixed("r", mark.rate, 8);
    object.number("T", mark.next_ms);
    object.end();
}

/// A candle and what it is one of.
#[derive(Clone, Copy, Debug)]
pub struct Stick {
    /// The candle.
    pub candle: Candle,
    /// Its interval's name.
    pub interval: &'static str,
    /// Its last millisecond.
    pub close_ms: i64,
    /// Whether it is over.
    pub is_closed: bool,
}

/// `@kline_<interval>`, or for a pair `@continuousKline_<interval>`.
pub fn candle(out: &mut Vec<u8>, label: &Label, stick: &Stick, is_pair: bool, now_ms: i64) {
    let Stick { candle, interval, close_ms, is_closed } = stick;
    let mut object = Object::event(out, if is_pair { "continuous_kline" } else { "kline" }, now_ms);
    if is_pair {
        object.text("ps", &label.symbol);
        object.text("ct", "PERPETUAL");
    } else {
        object.text("s", &label.symbol);
    }
    let mut inner = Object::new(object.key("k"));
    inner.number("t", candle.open_ms);
    inner.number("T", *close_ms);
    if !is_pair {
        inner.text("s", &label.symbol);
    }
    inner.text("i", interval);
    inner.id_or_none("f", (candle.count > 0).then_some(candle.first));
    inner.id_or_none("L", (candle.count > 0).then_some(candle.last));
    for (key, price) in [("o", candle.open), ("c", candle.close), ("h", candle.high), ("l", candle.low)] {
        inner.fixed(key, price, label.price);
    }
    inner.fixed("v", candle.volume, label.quantity);
    inner.id("n", candle.count);
    inner.flag("x", *is_closed);
    inner.fixed("q", i128::from(candle.value) * 100, label.value);
    inner.fixed("V", candle.taker_volume, label.quantity);
    inner.fixed("Q", i128::from(candle.taker_value) * 100, label.value);
    inner.text("B", "0");
    inner.end();
    object.end();
}

/// `@miniTicker`.
pub fn mini_day(out: &mut Vec<u8>, label: &Label, day: &Day, now_ms: i64) {
    let mut object = Object::event(out, "24hrMiniTicker", now_ms);
    object.text("s", &label.symbol);
    for (key, price) in [("c", day.close), ("o", day.open), ("h", day.high), ("l", day.low)] {
        object.fixed(key, price, label.price);
    }
    object.fixed("v", day.volume, label.quantity);
    object.fixed("q", day.value * 100, label.value);
    object.end();
}

/// `@ticker`.
pub fn day(out: &mut Vec<u8>, label: &Label, day: &Day, now_ms: i64) {
    let mut object = Object::event(out, "24hrTicker", now_ms);
    object.text("s", &label.symbol);
    object.fixed("p", day.change(), label.price);
    object.fixed("P", day.change_percent(2), 2);
    object.fixed("w", day.weighted(label.price), label.price);
    object.fixed("c", day.close, label.price);
    object.fixed("Q", day.last_quantity, label.quantity);
    for (key, price) in [("o", day.open), ("h", day.high), ("l", day.low)] {
        object.fixed(key, price, label.price);
    }
    object.fixed("v", day.volume, label.quantity);
    object.fixed("q", day.value * 100, label.value);
    object.number("O", now_ms - DAY_MS);
    object.number("C", now_ms);
    object.id_or_none("F", day.ids.map(|(first, _)| first));
    object.id_or_none("L", day.ids.map(|(_, last)| last));
    object.id("n", day.count);
    object.end();
}

/// An order of a liquidation that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forced {
    /// A [`ringside_core::command::Side`].
    pub side: u8,
    /// Original quantity.
    pub quantity: Quantity,
    /// Limit.
    pub price: Price,
    /// Mean price of its fills.
    pub average: Price,
    /// Word of its status.
    pub status: &'static str,
    /// Quantity of its last fill.
    pub last: Quantity,
    /// Executed quantity.
    pub filled: Quantity,
    /// When it ended, UNIX milliseconds.
    pub time_ms: i64,
}

/// `@forceOrder`.
pub fn forced(out: &mut Vec<u8>, label: &Label, order: &Forced, now_ms: i64) {
    let mut object = Object::event(out, "forceOrder", now_ms);
    let mut inner = Object::new(object.key("o"));
    inner.text("s", &label.symbol);
    inner.text("S", OrderSide::of_code(order.side).text());
    inner.text("o", "LIMIT");
    inner.text("f", "IOC");
    inner.units("q", order.quantity);
    inner.units("p", order.price);
    inner.units("ap", order.average);
    inner.text("X", order.status);
    inner.units("l", order.last);
    inner.units("z", order.filled);
    inner.number("T", order.time_ms);
    inner.end();
    object.end();
}

/// `!contractInfo` of one market; with its brackets where they changed.
pub fn contract(out: &mut Vec<u8>, market: &PerpetualMarket, has_brackets: bool, now_ms: i64) {
    let mut object = Object::event(out, "contractInfo", now_ms);
    object.text("s", market.symbol());
    object.text("ps", market.symbol());
    object.text("ct", "PERPETUAL");
    object.number("dt", encode::DELIVERY_MS);
    object.number("ot", market.listed_ms);
    object.text("cs", words::symbol_status(market.state));
    if has_brackets {
        let rows = object.key("bks");
        rows.push(b'[');
        let mut floor = 0;
        for (place, bracket) in market.brackets.iter().enumerate() {
            if place > 0 {
                rows.push(b',');
            }
            let least = market.brackets.get(place + 1).map_or(1, |next| next.leverage + 1);
            let mut row = Object::new(rows);
            row.id("bs", bracket.bracket.into());
            // Caps and cumulated amounts are micros; a JSON number of them is their shortest decimal form.
            for (key, micros) in [("bnf", floor), ("bnc", bracket.cap), ("cf", bracket.cumulated)] {
                row.key(key).extend_from_slice(text::micros(micros).as_bytes());
            }
            row.key("mmr").extend_from_slice(text::units8(bracket.rate).as_bytes());
            row.id("mi", least.into());
            row.id("ma", bracket.leverage.into());
            row.end();
            floor = bracket.cap;
        }
        rows.push(b']');
    }
    object.end();
}

/// Channel `orderbook`: the best levels.
pub fn order_book(
    out: &mut Vec<u8>,
    label: &Label,
    update: u64,
    bids: &[Level],
    asks: &[Level],
    now_ms: i64,
) {
    let mut object = Object::new(out);
    object.text("symbol", &label.symbol);
    object.id("last_update_id", update);
    levels(object.key("bids"), bids, label);
    levels(object.key("asks"), asks, label);
    object.number("ts", now_ms);
    object.end();
}

/// A step of a liquidation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Public name of the account.
    pub account: String,
    /// A [`ringside_core::command::Side`] of the closing.
    pub side: u8,
    /// Base closed.
    pub quantity: Quantity,
    /// At which price.
    pub price: Price,
    /// `BOOK`, `FUND`, `ADL` or `UNWIND`.
    pub reason: &'static str,
    /// What the fund gained, micros.
    pub fund_change: i64,
    /// UNIX milliseconds.
    pub time_ms: i64,
}

/// Channel `liquidations`.
pub fn step(out: &mut Vec<u8>, label: &Label, step: &Step) {
    let mut object = Object::new(out);
    object.text("symbol", &label.symbol);
    object.text("account", &step.account);
    object.text("side", OrderSide::of_code(step.side).text());
    object.units("quantity", step.quantity);
    object.units("price", step.price);
    object.text("reason", step.reason);
    object.fixed("fund_change", i128::from(step.fund_change) * 100, 8);
    object.number("ts", step.time_ms);
    object.end();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_decimals_are_those_of_the_answers() {
        let mut random = 7_u64;
        for round in 0..10_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let value =
                i128::from(random as i64 >> (round % 64)) * if round % 7 == 0 { 1_000_000 } else { 1 };
            let mut out = Vec::new();
            write_fixed(&mut out, value, round % 9);
            assert_eq!(String::from_utf8(out).unwrap(), text::fixed(value, round % 9), "{value}");
        }
    }
}
