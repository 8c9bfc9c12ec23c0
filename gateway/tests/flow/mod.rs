//! What tests share that drive the engine with random commands and read views: numbers, seeds, usual commands, whole reads.

#![allow(dead_code, reason = "each test file uses its own part")]

use ringside_core::command::{
    Command, Credit, ListMarket, MarketKind, PlaceOrder, SelfTradePrevention, Side, TimeInForce,
};
use ringside_core::ids::{AccountId, Address, MarketId, padded};
use ringside_core::money::{AMOUNT_UNIT, UNIT, notional};
use ringside_gateway::view::Views;
use ringside_gateway::view::history::{FillQuery, FillRecord, Place};

/// Small random numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// From 0 to `bound`, which is not reached.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % bound
    }

    /// One of `items`.
    pub(crate) fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }
}

/// The seeds 1 to `count`, or the one that `RINGSIDE_SEED` names.
pub(crate) fn seeds(count: u64) -> Vec<u64> {
    match std::env::var("RINGSIDE_SEED") {
        Ok(seed) => vec![seed.parse().expect("RINGSIDE_SEED is a number")],
        Err(_) => (1..=count).collect(),
    }
}

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
        maker_fee: 500,
        taker_fee: 1000,
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
    let side = random.one_of(Side::ALL);
    let limit = PlaceOrder::limit(account, market, side, price, quantity);
    let place = match (random.below(6), side) {
        (0, Side::Buy) => PlaceOrder::market_buy(account, market, notional(price, quantity)),
        (0, Side::Sell) => PlaceOrder::market_sell(account, market, quantity),
        _ => PlaceOrder { time_in_force: random.one_of(TimeInForce::ALL) as u8, ..limit },
    };
    PlaceOrder { self_trade: random.one_of(SelfTradePrevention::ALL) as u8, ..place }
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
