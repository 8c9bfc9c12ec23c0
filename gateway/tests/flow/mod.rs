//! What tests share that drive the engine with random commands and read views: usual commands, whole reads.

#![allow(dead_code, reason = "each test file uses its own part")]

use crate::random::Random;
use ringside_core::command::{
    Command, Credit, ListMarket, MarketKind, PlaceOrder, SelfTradePrevention, Side, TimeInForce,
};
use ringside_core::ids::{AccountId, Address, MarketId, padded};
use ringside_core::money::{AMOUNT_UNIT, UNIT, notional};
use ringside_views::Views;
use ringside_views::history::{FillQuery, FillRecord, Place};

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

/// Every fill of a query, asked for `steps` rows at a time.
pub(crate) fn fills(views: &Views, query: &FillQuery, steps: usize) -> Vec<FillRecord> {
    let (mut place, mut fills) = (Place::Newest, Vec::new());
    while place != Place::End {
        place = views.history().fills(query, place, steps, &mut fills);
    }
    fills
}

/// Views as a snapshot holds them.
pub(crate) fn saved(views: &Views) -> Vec<u8> {
    let mut bytes = Vec::new();
    views.save(&mut bytes);
    bytes
}
