//! Views and events into JSON of the spot dialect, written straight from integers: no tree, no float, no formatting
//! machinery. Text that is written unescaped is `[A-Za-z0-9_-]` by construction (symbols, tokens, words, ids).

use super::id::order_uuid;
use super::refusal;
use super::words;
use ringside_core::command::{OrderType, Side};
use ringside_core::event;
use ringside_core::money::{Amount, Price, Quantity, notional};
use ringside_views::balance::BalanceRow;
use ringside_views::history::{FillRecord, Role, TradeRecord, seconds};
use ringside_views::kline::{Interval, Kline};
use ringside_views::market::MarketRecord;
use ringside_views::order::OrderRecord;
use ringside_views::ticker::Ticker;
use ringside_wire::decimal::{write_amount, write_bps, write_entry, write_i64, write_total, write_u64};

/// Bytes that most orders need without fills: one allocation per reply.
pub const ORDER_LEN: usize = 384;
/// Bytes of one fill, trade or own trade.
pub const TRADE_LEN: usize = 256;
/// Bytes of one level.
pub const LEVEL_LEN: usize = 32;

/// One order, `fills` left out.
pub fn order(out: &mut Vec<u8>, order: &OrderRecord, market: &MarketRecord) {
    order_members(out, order, market);
    out.push(b'}');
}

/// The answer of a placement: the order with the fills it had at once.
pub fn placed(out: &mut Vec<u8>, record: &OrderRecord, market: &MarketRecord, trades: &[event::Trade]) {
    order_members(out, record, market);
    out.extend_from_slice(b",\"fills\":");
    list(out, trades, |out, trade| {
        out.extend_from_slice(b"{\"trade_id\":\"");
        write_u64(out, trade.trade);
        price_and_quantity(out, trade.price, trade.quantity);
        fee(out, trade.taker_fee.get(), record.side, market);
        out.push(b'}');
    });
    out.push(b'}');
}

/// The record of an order as it was placed, for [`placed`].
pub fn placed_record(order: &event::Order, trades: &[event::Trade], time_ns: i64) -> OrderRecord {
    let traded = trades.iter().map(|trade| notional(trade.price, trade.quantity)).sum();
    OrderRecord::of_event(order, traded, time_ns, time_ns)
}

fn order_members(out: &mut Vec<u8>, order: &OrderRecord, market: &MarketRecord) {
    let words = (words::time_in_force(order.time_in_force), words::order_status(order.status));
    order_without_times(out, order, market, words);
    out.extend_from_slice(b",\"created_at\":");
    write_i64(out, seconds(order.created_ns));
    out.extend_from_slice(b",\"updated_at\":");
    write_i64(out, seconds(order.updated_ns));
}

/// The members of an order up to `reject_reason`, with its time in force and its status in the given words.
pub(super) fn order_without_times(
    out: &mut Vec<u8>,
    order: &OrderRecord,
    market: &MarketRecord,
    (time_in_force, status): (&str, &str),
) {
    let is_market = order.order_type == OrderType::Market;
    let is_market_buy = is_market && order.side == Side::Buy;
    out.extend_from_slice(b"{\"id\":\"");
    out.extend_from_slice(&order_uuid(order.order));
    text(out, b"\",\"symbol\":\"", market.symbol());
    text(out, b"\",\"side\":\"", words::side(order.side));
    text(out, b"\",\"type\":\"", words::order_type(order.order_type));
    text(out, b"\",\"tif\":\"", time_in_force);
    out.extend_from_slice(b"\",\"price\":");
    if is_market {
        out.extend_from_slice(b"null");
    } else {
        out.push(b'"');
        write_entry(out, order.price);
        out.push(b'"');
    }
    out.extend_from_slice(b",\"quantity\":\"");
    write_entry(out, if is_market_buy { order.filled } else { order.quantity });
    out.extend_from_slice(b"\",\"quote_quantity\":");
    if is_market_buy {
        out.push(b'"');
        write_amount(out, order.quote_quantity);
        out.push(b'"');
    } else {
        out.extend_from_slice(b"null");
    }
    out.extend_from_slice(b",\"filled_qty\":\"");
    write_entry(out, order.filled);
    out.extend_from_slice(b"\",\"avg_fill_price\":\"");
    write_total(out, average_price(order.traded, order.filled));
    text(out, b"\",\"status\":\"", status);
    match order.reject {
        None => out.extend_from_slice(b"\",\"reject_reason\":null"),
        Some(reject) => {
            text(out, b"\",\"reject_reason\":\"", refusal::reason(reject));
            out.push(b'"');
        }
    }
}

/// Quote traded over base traded in steps of 10^-8, half away from zero; 0 without fills.
pub fn average_price(traded: Amount, filled: Quantity) -> i128 {
    if filled == 0 {
        return 0;
    }
    // A price step times a quantity step is 100 amount steps.
    let divisor = i128::from(filled) * 100;
    let (whole, rest) = (traded / divisor, traded % divisor);
    whole + i128::from(rest >= divisor - rest)
}

/// One own trade.
pub fn fill(out: &mut Vec<u8>, fill: &FillRecord, market: &MarketRecord) {
    out.extend_from_slice(b"{\"trade_id\":\"");
    write_u64(out, fill.trade);
    text(out, b"\",\"symbol\":\"", market.symbol());
    text(out, b"\",\"side\":\"", words::side(fill.side));
    price_and_quantity(out, fill.price, fill.quantity);
    fee(out, fill.fee, fill.side, market);
    let role = match fill.role {
        Role::Maker => "maker",
        Role::Taker => "taker",
    };
    text(out, b",\"role\":\"", role);
    out.extend_from_slice(b"\",\"order_id\":\"");
    out.extend_from_slice(&order_uuid(fill.order));
    out.extend_from_slice(b"\",\"ts\":");
    write_i64(out, seconds(fill.time_ns));
    out.push(b'}');
}

/// One public trade; its `ts` has milliseconds.
pub fn trade(out: &mut Vec<u8>, trade: &TradeRecord, market: &MarketRecord) {
    out.extend_from_slice(b"{\"trade_id\":\"");
    write_u64(out, trade.trade);
    text(out, b"\",\"symbol\":\"", market.symbol());
    text(out, b"\",\"side\":\"", words::side(trade.taker_side));
    price_and_quantity(out, trade.price, trade.quantity);
    out.extend_from_slice(b",\"ts\":");
    write_i64(out, trade.time_ns.div_euclid(1_000_000));
    out.push(b'}');
}

/// A book's levels, best first on both sides.
pub fn depth(
    out: &mut Vec<u8>,
    market: &MarketRecord,
    update_id: u64,
    bids: &[(Price, i128)],
    asks: &[(Price, i128)],
) {
    text(out, b"{\"symbol\":\"", market.symbol());
    out.extend_from_slice(b"\",\"last_update_id\":");
    write_u64(out, update_id);
    out.extend_from_slice(b",\"bids\":");
    list(out, bids, level);
    out.extend_from_slice(b",\"asks\":");
    list(out, asks, level);
    out.push(b'}');
}

pub(super) fn level(out: &mut Vec<u8>, (price, total): &(Price, i128)) {
    out.extend_from_slice(b"[\"");
    write_entry(out, *price);
    out.extend_from_slice(b"\",\"");
    write_total(out, *total);
    out.extend_from_slice(b"\"]");
}

/// One candle as an array.
pub fn kline(out: &mut Vec<u8>, kline: &Kline, interval: Interval) {
    out.push(b'[');
    write_i64(out, kline.open_time_s);
    out.extend_from_slice(b",\"");
    for price in [kline.open, kline.high, kline.low, kline.close] {
        write_entry(out, price);
        out.extend_from_slice(b"\",\"");
    }
    write_total(out, kline.volume);
    out.extend_from_slice(b"\",");
    write_i64(out, kline.close_time_s(interval));
    out.extend_from_slice(b",\"");
    write_amount(out, kline.quote_volume);
    out.extend_from_slice(b"\",");
    write_u64(out, kline.trade_count);
    out.push(b']');
}

/// One row of rolling 24 hours.
pub fn ticker(out: &mut Vec<u8>, ticker: &Ticker, market: &MarketRecord) {
    ticker_members(out, ticker, market);
    out.push(b'}');
}

/// The members of a ticker, brace open, so that a push can add its own.
pub fn ticker_members(out: &mut Vec<u8>, ticker: &Ticker, market: &MarketRecord) {
    text(out, b"{\"symbol\":\"", market.symbol());
    out.extend_from_slice(b"\",\"last_price\":\"");
    write_entry(out, ticker.last_price);
    out.extend_from_slice(b"\",\"open_price\":\"");
    write_entry(out, ticker.open_price);
    out.extend_from_slice(b"\",\"high\":\"");
    write_entry(out, ticker.high);
    out.extend_from_slice(b"\",\"low\":\"");
    write_entry(out, ticker.low);
    out.extend_from_slice(b"\",\"volume\":\"");
    write_total(out, ticker.volume);
    out.extend_from_slice(b"\",\"quote_volume\":\"");
    write_amount(out, ticker.quote_volume);
    out.extend_from_slice(b"\",\"trade_count\":");
    write_u64(out, ticker.trade_count);
    out.extend_from_slice(b",\"open_time\":");
    write_i64(out, ticker.open_time_s());
    out.extend_from_slice(b",\"close_time\":");
    write_i64(out, ticker.close_time_s);
}

/// One market.
pub fn market(out: &mut Vec<u8>, market: &MarketRecord) {
    text(out, b"{\"id\":\"", market.symbol());
    text(out, b"\",\"base_token\":\"", market.base_name());
    text(out, b"\",\"quote_token\":\"", market.quote_name());
    out.extend_from_slice(b"\",\"tick_size\":\"");
    write_entry(out, market.tick);
    out.extend_from_slice(b"\",\"lot_size\":\"");
    write_entry(out, market.lot);
    out.extend_from_slice(b"\",\"min_notional\":\"");
    write_amount(out, market.min_notional);
    out.extend_from_slice(b"\",\"maker_fee_bps\":");
    write_bps(out, market.maker_fee);
    out.extend_from_slice(b",\"taker_fee_bps\":");
    write_bps(out, market.taker_fee);
    text(out, b",\"status\":\"", words::market_status(market.status));
    out.extend_from_slice(b"\"}");
}

/// One balance row under the token's name.
pub fn balance(out: &mut Vec<u8>, token: &str, row: &BalanceRow) {
    text(out, b"{\"token\":\"", token);
    out.extend_from_slice(b"\",\"available\":\"");
    write_amount(out, row.available);
    out.extend_from_slice(b"\",\"frozen\":\"");
    write_amount(out, row.frozen);
    out.extend_from_slice(b"\",\"ts\":");
    write_i64(out, seconds(row.changed_ns));
    out.push(b'}');
}

/// An array of what `write` writes.
pub fn list<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'[');
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

pub(super) fn text(out: &mut Vec<u8>, before: &[u8], text: &str) {
    out.extend_from_slice(before);
    out.extend_from_slice(text.as_bytes());
}

pub(super) fn price_and_quantity(out: &mut Vec<u8>, price: Price, quantity: Quantity) {
    out.extend_from_slice(b"\",\"price\":\"");
    write_entry(out, price);
    out.extend_from_slice(b"\",\"quantity\":\"");
    write_entry(out, quantity);
    out.push(b'"');
}

/// The fee and the token it was paid in: the one that `side` receives.
pub(super) fn fee(out: &mut Vec<u8>, fee: Amount, side: Side, market: &MarketRecord) {
    out.extend_from_slice(b",\"fee\":\"");
    write_amount(out, fee);
    let token = match side {
        Side::Buy => market.base_name(),
        Side::Sell => market.quote_name(),
    };
    text(out, b"\",\"fee_token\":\"", token);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ringside_core::command::{MarketKind, MarketStatus, OrderStatus, TimeInForce};
    use ringside_core::ids::padded;
    use ringside_core::money::{AMOUNT_UNIT, UNIT};
    use ringside_core::reject::Reject;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        let text = String::from_utf8(out).expect("text");
        let _: serde_json::Value = serde_json::from_str(&text).expect("json");
        text
    }

    fn dfusdt() -> MarketRecord {
        MarketRecord {
            market: 0,
            symbol: padded("DFUSDT").expect("short"),
            base: 0,
            quote: 1,
            base_name: padded("DF").expect("short"),
            quote_name: padded("USDT").expect("short"),
            tick: 10_000,
            lot: UNIT / 10,
            min_notional: AMOUNT_UNIT,
            maker_fee: 50_000,
            taker_fee: 105_000,
            max_open_orders: 200,
            kind: MarketKind::Spot,
            status: MarketStatus::Listed,
        }
    }

    fn market_buy() -> OrderRecord {
        OrderRecord {
            order: 7,
            account: 1,
            market: 0,
            side: Side::Buy,
            order_type: OrderType::Market,
            time_in_force: TimeInForce::ImmediateOrCancel,
            status: OrderStatus::Filled,
            reject: None,
            price: 0,
            quantity: 0,
            filled: 12_370_000_000,
            quote_quantity: 25 * AMOUNT_UNIT,
            traded: 20 * AMOUNT_UNIT + 4_984_110_000_000_000_000,
            created_ns: 1_700_000_000_999_999_999,
            updated_ns: 1_700_000_001_000_000_000,
        }
    }

    #[test]
    fn an_order_shows_what_its_kind_has() {
        let buy = written(|out| order(out, &market_buy(), &dfusdt()));
        let id = super::super::id::order_uuid_text(7);
        assert_eq!(
            buy,
            format!(
                r#"{{"id":"{id}","symbol":"DFUSDT","side":"buy","type":"market","tif":"ioc","price":null,"quantity":"123.7","quote_quantity":"25","filled_qty":"123.7","avg_fill_price":"0.2019734","status":"filled","reject_reason":null,"created_at":1700000000,"updated_at":1700000001}}"#
            )
        );
        let limit = OrderRecord {
            order_type: OrderType::Limit,
            time_in_force: TimeInForce::PostOnly,
            side: Side::Sell,
            status: OrderStatus::Rejected,
            reject: Some(Reject::PostOnlyWouldCross),
            price: 20_000_000,
            quantity: 15 * UNIT / 10,
            quote_quantity: 0,
            filled: 0,
            traded: 0,
            ..market_buy()
        };
        let limit = written(|out| placed(out, &limit, &dfusdt(), &[]));
        assert_eq!(
            limit,
            format!(
                r#"{{"id":"{id}","symbol":"DFUSDT","side":"sell","type":"limit","tif":"post_only","price":"0.2","quantity":"1.5","quote_quantity":null,"filled_qty":"0","avg_fill_price":"0","status":"rejected","reject_reason":"POST_ONLY_REJECT","created_at":1700000000,"updated_at":1700000001,"fills":[]}}"#
            )
        );
    }

    #[test]
    fn a_market_and_a_balance() {
        assert_eq!(
            written(|out| market(out, &dfusdt())),
            r#"{"id":"DFUSDT","base_token":"DF","quote_token":"USDT","tick_size":"0.0001","lot_size":"0.1","min_notional":"1","maker_fee_bps":5,"taker_fee_bps":10.5,"status":"listed"}"#
        );
        let row = BalanceRow { available: 1, frozen: AMOUNT_UNIT, changed_ns: 5_999_999_999, asset: 0 };
        assert_eq!(
            written(|out| balance(out, "DF", &row)),
            r#"{"token":"DF","available":"0.000000000000000001","frozen":"1","ts":5}"#
        );
        assert_eq!(
            written(|out| depth(out, &dfusdt(), 7, &[(20_000_000, 5), (1, 1i128 << 70)], &[])),
            r#"{"symbol":"DFUSDT","last_update_id":7,"bids":[["0.2","0.00000005"],["0.00000001","11805916207174.11303424"]],"asks":[]}"#
        );
    }

    #[test]
    fn averages_round_half_away_from_zero() {
        let average = |fills: &[(Price, Quantity)]| {
            let traded = fills.iter().map(|(price, quantity)| notional(*price, *quantity)).sum();
            average_price(traded, fills.iter().map(|(_, quantity)| quantity).sum())
        };
        assert_eq!(average(&[]), 0);
        assert_eq!(average(&[(1, 1), (2, 1)]), 2);
        assert_eq!(average(&[(1, 2), (2, 1)]), 1);
        assert_eq!(average(&[(1, 1), (2, 2)]), 2);
        assert_eq!(average(&[(20_000_000, 100 * UNIT), (21_030_000, 237 * UNIT / 10)]), 20_197_340);
    }

    proptest! {
        #[test]
        fn averages_agree_with_another_implementation(
            fills in prop::collection::vec((1i64..1_000_000_000, 1i64..1_000_000_000), 1..6)
        ) {
            let traded: Amount = fills.iter().map(|(price, quantity)| notional(*price, *quantity)).sum();
            let filled: Quantity = fills.iter().map(|(_, quantity)| *quantity).sum();
            let products: u128 = fills.iter().map(|(price, quantity)| *price as u128 * *quantity as u128).sum();
            let doubled = (2 * products / filled as u128) as i128;
            prop_assert_eq!(average_price(traded, filled), (doubled + 1) / 2);
        }
    }
}
