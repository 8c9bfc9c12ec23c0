//! What WebSocket pushes hold in `data` (`spot.md` 11), where it is not what REST answers anyway. The frame around it is
//! not spelled here.

use super::encode;
use super::encode::{members, received};
use ringside_core::money::Price;
use ringside_views::history::FillRecord;
use ringside_views::kline::{SPOT_INTERVALS, SpotCandle};
use ringside_views::market::MarketRecord;
use ringside_views::order::OrderRecord;
use ringside_views::ticker::Ticker;
use ringside_views::time::seconds;
use ringside_wire::name::{Market, TradeId};
use ringside_wire::number::{Amount, Total, Units};
use ringside_wire::spot::words::{PushedTimeInForce, SpotOrderStatus};
use ringside_wire::spot::{DepthDiff, Levels, PushedKline, PushedOrder, PushedTicker, SpotFill};

/// The levels that one command changed, with their new totals; 0 removes.
pub fn depth_diff<'a>(
    market: &MarketRecord,
    (first, last): (u64, u64),
    bids: &'a [(Price, i128)],
    asks: &'a [(Price, i128)],
) -> DepthDiff<'a> {
    DepthDiff {
        symbol: Market(market.symbol),
        update_id_first: first,
        update_id_last: last,
        bids: Levels(bids.into()),
        asks: Levels(asks.into()),
    }
}

/// One row of rolling 24 hours, with the second of its refresh.
pub fn ticker(ticker: &Ticker, market: &MarketRecord) -> PushedTicker {
    PushedTicker { ticker: encode::ticker(ticker, market), ts: ticker.close_time_s }
}

/// One candle.
pub fn kline(candle: &SpotCandle, interval: usize, is_closed: bool, market: &MarketRecord) -> PushedKline {
    let (open_time, close_time) = encode::seconds_of(candle, interval);
    PushedKline {
        symbol: Market(market.symbol),
        interval: SPOT_INTERVALS[interval].0,
        open_time,
        close_time,
        open: Units(candle.open),
        high: Units(candle.high),
        low: Units(candle.low),
        close: Units(candle.close),
        volume: Total(candle.volume),
        quote_volume: Amount(candle.value),
        trade_count: candle.count,
        is_closed,
    }
}

/// An order of the account that reads this. `is_beginning` spells its status `new`, whatever the record says. `fill` is
/// the one that caused the push, if one did.
pub fn order(
    record: &OrderRecord,
    market: &MarketRecord,
    is_beginning: bool,
    fill: Option<&FillRecord>,
) -> PushedOrder {
    let status = if is_beginning { "new" } else { SpotOrderStatus::of(record.status).text() };
    PushedOrder {
        order: members(record, market, (PushedTimeInForce::of(record.time_in_force), status)),
        updated_at: seconds(record.updated_ns),
        last_fill: fill.map(|fill| SpotFill {
            trade_id: TradeId(fill.trade),
            price: Units(fill.price),
            quantity: Units(fill.quantity),
            fee: Amount(fill.fee.get()),
            fee_token: received(fill.side(), market),
        }),
    }
}
