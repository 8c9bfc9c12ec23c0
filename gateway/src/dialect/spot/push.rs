//! What WebSocket pushes hold in `data` (`spot.md` 11), where it is not what REST answers anyway. The frame around it is
//! not spelled here.

use super::encode::{fee, level, list, order_without_times, price_and_quantity, text, ticker_members};
use super::words;
use ringside_core::command::TimeInForce;
use ringside_core::money::Price;
use ringside_views::history::{FillRecord, seconds};
use ringside_views::kline::{Interval, Kline};
use ringside_views::market::MarketRecord;
use ringside_views::order::OrderRecord;
use ringside_views::ticker::Ticker;
use ringside_wire::decimal::{write_amount, write_entry, write_i64, write_total, write_u64};

/// The levels that one command changed, with their new totals; 0 removes.
pub fn depth_diff(
    out: &mut Vec<u8>,
    market: &MarketRecord,
    (first, last): (u64, u64),
    bids: &[(Price, i128)],
    asks: &[(Price, i128)],
) {
    text(out, b"{\"symbol\":\"", market.symbol());
    out.extend_from_slice(b"\",\"update_id_first\":");
    write_u64(out, first);
    out.extend_from_slice(b",\"update_id_last\":");
    write_u64(out, last);
    out.extend_from_slice(b",\"bids\":");
    list(out, bids, level);
    out.extend_from_slice(b",\"asks\":");
    list(out, asks, level);
    out.push(b'}');
}

/// One row of rolling 24 hours, with the second of its refresh.
pub fn ticker(out: &mut Vec<u8>, ticker: &Ticker, market: &MarketRecord) {
    ticker_members(out, ticker, market);
    out.extend_from_slice(b",\"ts\":");
    write_i64(out, ticker.close_time_s);
    out.push(b'}');
}

/// One candle.
pub fn kline(out: &mut Vec<u8>, kline: &Kline, interval: Interval, is_closed: bool, market: &MarketRecord) {
    text(out, b"{\"symbol\":\"", market.symbol());
    text(out, b"\",\"interval\":\"", words::interval(interval));
    out.extend_from_slice(b"\",\"open_time\":");
    write_i64(out, kline.open_time_s);
    out.extend_from_slice(b",\"close_time\":");
    write_i64(out, kline.close_time_s(interval));
    for (name, price) in
        [("open", kline.open), ("high", kline.high), ("low", kline.low), ("close", kline.close)]
    {
        text(out, b",\"", name);
        out.extend_from_slice(b"\":\"");
        write_entry(out, price);
        out.push(b'"');
    }
    out.extend_from_slice(b",\"volume\":\"");
    write_total(out, kline.volume);
    out.extend_from_slice(b"\",\"quote_volume\":\"");
    write_amount(out, kline.quote_volume);
    out.extend_from_slice(b"\",\"trade_count\":");
    write_u64(out, kline.trade_count);
    text(out, b",\"is_closed\":", if is_closed { "true" } else { "false" });
    out.push(b'}');
}

/// An order of the account that reads this. `is_beginning` spells its status `new`, whatever the record says. `fill` is
/// the one that caused the push, if one did.
pub fn order(
    out: &mut Vec<u8>,
    record: &OrderRecord,
    market: &MarketRecord,
    is_beginning: bool,
    fill: Option<&FillRecord>,
) {
    let status = if is_beginning { "new" } else { words::order_status(record.status) };
    order_without_times(out, record, market, (upper_case(record.time_in_force), status));
    out.extend_from_slice(b",\"updated_at\":");
    write_i64(out, seconds(record.updated_ns));
    if let Some(fill) = fill {
        out.extend_from_slice(b",\"last_fill\":{\"trade_id\":\"");
        write_u64(out, fill.trade);
        price_and_quantity(out, fill.price, fill.quantity);
        fee(out, fill.fee, fill.side, market);
        out.push(b'}');
    }
    out.push(b'}');
}

/// REST shows it in lower case, pushes in upper (`spot.md` 1).
const fn upper_case(time_in_force: TimeInForce) -> &'static str {
    match time_in_force {
        TimeInForce::GoodTillCancel => "GTC",
        TimeInForce::ImmediateOrCancel => "IOC",
        TimeInForce::PostOnly => "POST_ONLY",
        TimeInForce::FillOrKill => "FOK",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_rest_in_upper_case() {
        for time_in_force in TimeInForce::ALL {
            assert_eq!(upper_case(*time_in_force), words::time_in_force(*time_in_force).to_uppercase());
        }
    }
}
