//! Views and events as the spot API shows them: from what they hold to the objects of `ringside_wire::spot`.

use super::refusal;
use ringside_core::command::{OrderType, Side};
use ringside_core::event;
use ringside_core::ids::AssetName;
use ringside_core::money::{Amount, Price, Quantity, notional};
use ringside_views::balance::BalanceRow;
use ringside_views::history::{FillRecord, Role, TradeRecord};
use ringside_views::kline::{SPOT_INTERVALS, SpotCandle};
use ringside_views::market::MarketRecord;
use ringside_views::order::OrderRecord;
use ringside_views::ticker::Ticker;
use ringside_views::time::seconds;
use ringside_wire::name::{Market, OrderUuid, Token, TradeId};
use ringside_wire::number::{self, Bps, Total, Units};
use ringside_wire::spot::words::{
    SpotMarketStatus, SpotOrderStatus, SpotOrderType, SpotSide, SpotTimeInForce,
};
use ringside_wire::spot::{
    Levels, OrderMembers, RejectReason, SpotBalance, SpotDepth, SpotFill, SpotKline, SpotMarket, SpotOrder,
    SpotOwnTrade, SpotPlacedOrder, SpotTicker, SpotTrade, TradeRole,
};
use std::borrow::Cow;

/// One order, `fills` left out.
pub fn order(order: &OrderRecord, market: &MarketRecord) -> SpotOrder {
    let words = (SpotTimeInForce::of(order.time_in_force), SpotOrderStatus::of(order.status));
    SpotOrder {
        order: members(order, market, words),
        created_at: seconds(order.created_ns),
        updated_at: seconds(order.updated_ns),
    }
}

/// The answer of a placement: the order with the fills it had at once.
pub fn placed(record: &OrderRecord, market: &MarketRecord, trades: &[event::Trade]) -> SpotPlacedOrder {
    let fill = |trade: &event::Trade| SpotFill {
        trade_id: TradeId(trade.trade),
        price: Units(trade.price),
        quantity: Units(trade.quantity),
        fee: number::Amount(trade.taker_fee.get()),
        fee_token: received(record.side, market),
    };
    SpotPlacedOrder { order: order(record, market), fills: trades.iter().map(fill).collect() }
}

/// The record of an order as it was placed, for [`placed`].
pub fn placed_record(order: &event::Order, trades: &[event::Trade], time_ns: i64) -> OrderRecord {
    let traded = trades.iter().map(|trade| notional(trade.price, trade.quantity)).sum();
    OrderRecord::of_event(order, traded, time_ns, time_ns)
}

/// The members of an order up to `reject_reason`, with its time in force and its status in the given words.
pub(super) fn members<T, S>(
    order: &OrderRecord,
    market: &MarketRecord,
    (tif, status): (T, S),
) -> OrderMembers<T, S> {
    let is_market = order.order_type == OrderType::Market;
    let is_market_buy = is_market && order.side == Side::Buy;
    OrderMembers {
        id: OrderUuid(order.order),
        symbol: Market(market.symbol),
        side: SpotSide::of(order.side),
        r#type: SpotOrderType::of(order.order_type),
        tif,
        price: (!is_market).then_some(Units(order.price)),
        quantity: Units(if is_market_buy { order.filled } else { order.quantity }),
        quote_quantity: is_market_buy.then_some(number::Amount(order.quote_quantity)),
        filled_qty: Units(order.filled),
        avg_fill_price: Total(average_price(order.traded, order.filled)),
        status,
        reject_reason: order.reject.map(|reject| RejectReason(refusal::reason(reject))),
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
pub fn fill(fill: &FillRecord, market: &MarketRecord) -> SpotOwnTrade {
    SpotOwnTrade {
        trade_id: TradeId(fill.trade),
        symbol: Market(market.symbol),
        side: SpotSide::of(fill.side()),
        price: Units(fill.price),
        quantity: Units(fill.quantity),
        fee: number::Amount(fill.fee.get()),
        fee_token: received(fill.side(), market),
        role: match fill.role() {
            Role::Maker => TradeRole::Maker,
            Role::Taker => TradeRole::Taker,
        },
        order_id: OrderUuid(fill.order),
        ts: seconds(fill.time_ns),
    }
}

/// One public trade; its `ts` has milliseconds.
pub fn trade(trade: &TradeRecord, market: &MarketRecord) -> SpotTrade {
    SpotTrade {
        trade_id: TradeId(trade.trade),
        symbol: Market(market.symbol),
        side: SpotSide::of(trade.side()),
        price: Units(trade.price),
        quantity: Units(trade.quantity),
        ts: trade.time_ns.div_euclid(1_000_000),
    }
}

/// A book's levels, best first on both sides.
pub fn depth<'a>(
    market: &MarketRecord,
    update_id: u64,
    bids: impl Into<Cow<'a, [(Price, i128)]>>,
    asks: impl Into<Cow<'a, [(Price, i128)]>>,
) -> SpotDepth<'a> {
    SpotDepth {
        symbol: Market(market.symbol),
        last_update_id: update_id,
        bids: Levels(bids.into()),
        asks: Levels(asks.into()),
    }
}

/// One candle as an array.
pub fn kline(candle: &SpotCandle, interval: usize) -> SpotKline {
    let (open_s, close_s) = seconds_of(candle, interval);
    (
        open_s,
        Units(candle.open),
        Units(candle.high),
        Units(candle.low),
        Units(candle.close),
        Total(candle.volume),
        close_s,
        number::Amount(candle.value),
        candle.count,
    )
}

/// The first second of a candle and its last.
pub(super) fn seconds_of(candle: &SpotCandle, interval: usize) -> (i64, i64) {
    (candle.open_ms / 1_000, SPOT_INTERVALS[interval].1.step(candle.open_ms, 1) / 1_000 - 1)
}

/// One row of rolling 24 hours.
pub fn ticker(ticker: &Ticker, market: &MarketRecord) -> SpotTicker {
    SpotTicker {
        symbol: Market(market.symbol),
        last_price: Units(ticker.day.close),
        open_price: Units(ticker.day.open),
        high: Units(ticker.day.high),
        low: Units(ticker.day.low),
        volume: Total(ticker.day.volume),
        quote_volume: number::Amount(ticker.day.value),
        trade_count: ticker.day.count,
        open_time: ticker.open_time_s(),
        close_time: ticker.close_time_s,
    }
}

/// One market.
pub fn market(market: &MarketRecord) -> SpotMarket {
    SpotMarket {
        id: Market(market.symbol),
        base_token: Token(market.base_name),
        quote_token: Token(market.quote_name),
        tick_size: Units(market.tick),
        lot_size: Units(market.lot),
        min_notional: number::Amount(market.min_notional),
        maker_fee_bps: Bps(market.maker_fee),
        taker_fee_bps: Bps(market.taker_fee),
        status: SpotMarketStatus::of(market.status),
    }
}

/// One balance row under the token's name.
pub fn balance(token: AssetName, row: &BalanceRow) -> SpotBalance {
    SpotBalance {
        token: Token(token),
        available: number::Amount(row.available),
        frozen: number::Amount(row.frozen),
        ts: seconds(row.changed_ns),
    }
}

/// The token that a side receives, and pays fees in.
pub(super) const fn received(side: Side, market: &MarketRecord) -> Token {
    match side {
        Side::Buy => Token(market.base_name),
        Side::Sell => Token(market.quote_name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ringside_core::command::{MarketKind, MarketStatus, OrderStatus, TimeInForce};
    use ringside_core::ids::padded;
    use ringside_core::money::{AMOUNT_UNIT, UNIT};
    use ringside_core::reject::Reject;

    fn written(value: impl serde::Serialize) -> String {
        serde_json::to_string(&value).expect("json")
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
        let buy = written(order(&market_buy(), &dfusdt()));
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
        let limit = written(placed(&limit, &dfusdt(), &[]));
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
            written(market(&dfusdt())),
            r#"{"id":"DFUSDT","base_token":"DF","quote_token":"USDT","tick_size":"0.0001","lot_size":"0.1","min_notional":"1","maker_fee_bps":5,"taker_fee_bps":10.5,"status":"listed"}"#
        );
        let row = BalanceRow { available: 1, frozen: AMOUNT_UNIT, changed_ns: 5_999_999_999, asset: 0 };
        assert_eq!(
            written(balance(padded("DF").expect("short"), &row)),
            r#"{"token":"DF","available":"0.000000000000000001","frozen":"1","ts":5}"#
        );
        assert_eq!(
            written(depth(&dfusdt(), 7, &[(20_000_000, 5), (1, 1i128 << 70)][..], &[][..])),
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
