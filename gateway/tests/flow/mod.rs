//! What tests share that drive the engine with random commands and read views: usual commands, whole reads.

#![allow(dead_code, reason = "each test file uses its own part")]

use crate::random::Random;
use ringside_core::command::{
    Command, Credit, ListMarket, MarketKind, PlaceOrder, SelfTradePrevention, Side, TimeInForce,
};
use ringside_core::ids::{AccountId, Address, MarketId, padded};
use ringside_core::money::{AMOUNT_UNIT, UNIT, notional};
use ringside_views::Views;
use ringside_views::history::{FillQuery, FillRecord, OrderQuery};
use ringside_views::order::OrderRecord;

/// The wallet of an account.
pub(crate) fn address(account: u64) -> Address {
    let mut address = Address::default();
    address[19] = account as u8;
    address
}

/// Gives an account, made where there is none, so much.
pub(crate) fn credit(account: u64, asset: &str, amount: i128) -> Command {
    Command::new(Credit {
        address: address(account),
        asset: padded(asset).expect("short"),
        reserved: 0,
        amount: amount.into(),
        reason: padded("test").expect("short"),
    })
}

/// Opens a market with fees of 5 and 10 bps.
pub(crate) fn list_market((symbol, base, quote): (&str, &str, &str)) -> Command {
    Command::new(ListMarket {
        symbol: padded(symbol).expect("short"),
        base: padded(base).expect("short"),
        quote: padded(quote).expect("short"),
        tick: 10_000,
        lot: UNIT / 10,
        min_notional: AMOUNT_UNIT.into(),
        maker_fee: 50_000,
        taker_fee: 100_000,
        max_open_orders: 20,
        kind: MarketKind::Spot as u8,
        reserved: [0; 3],
    })
}

/// An order of any kind, most often a limit order.
pub(crate) fn any_order(
    random: &mut Random,
    account: AccountId,
    market: MarketId,
    price: i64,
    quantity: i64,
) -> PlaceOrder {
    let side = *random.pick(Side::ALL);
    let limit = PlaceOrder::limit(account, market, side, price, quantity);
    let place = match (random.below(6), side) {
        (0, Side::Buy) => PlaceOrder::market_buy(account, market, notional(price, quantity)),
        (0, Side::Sell) => PlaceOrder::market_sell(account, market, quantity),
        _ => PlaceOrder { time_in_force: *random.pick(TimeInForce::ALL) as u8, ..limit },
    };
    PlaceOrder { self_trade: *random.pick(SelfTradePrevention::ALL) as u8, ..place }
}

/// The orders of a query, resting and ended, newest placement first: a filter over everything in memory.
pub(crate) fn orders(views: &Views, query: &OrderQuery) -> Vec<OrderRecord> {
    let ended = views.history().ended().of(query.account);
    let mut found: Vec<OrderRecord> =
        ended.chain(views.open_orders().of_account(query.account)).copied().collect();
    found.retain(|order| {
        query.market.is_none_or(|market| market == order.market)
            && query.status.is_none_or(|status| status == order.status)
            && query.created.contains(order.created_ns)
    });
    found.sort_by_key(|order| std::cmp::Reverse(order.order));
    found.truncate(query.limit);
    found
}

/// The fills of a query, newest first, the taker's half of a trade before the maker's: the same of them.
pub(crate) fn fills(views: &Views, query: &FillQuery) -> Vec<FillRecord> {
    let mut found: Vec<FillRecord> = views.history().fills().of(query.account).copied().collect();
    found.retain(|fill| {
        query.market.is_none_or(|market| market == fill.market) && query.time.contains(fill.time_ns)
    });
    // Of one millisecond in several markets: by number.
    let order = |fill: &FillRecord| (fill.time_ns / 1_000_000, fill.trade, fill.role, fill.market);
    found.sort_by_key(|fill| std::cmp::Reverse(order(fill)));
    found.truncate(query.limit);
    found
}

/// Views as a snapshot holds them.
pub(crate) fn saved(views: &Views) -> Vec<u8> {
    let mut bytes = Vec::new();
    views.save(&mut bytes);
    bytes
}
