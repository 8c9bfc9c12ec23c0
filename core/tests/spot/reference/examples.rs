//! The worked examples of `spot.md` 8, with the numbers of its table, on both engines at once: what the two must
//! agree on is not only each other.
//!
//! Tick 0.0001, lot 0.1, min_notional 1, maker 5 bps, taker 10 bps.

use super::Pair;
use crate::support::versus::Versus;
use ringside_core::command::*;
use ringside_core::event::{Balances, Done, Event, Order, Trade};
use ringside_core::ids::{AccountId, padded};
use ringside_core::money::Amount;
use ringside_core::reject::Reject;

/// DF is asset 0, USDT asset 1, DFUSDT market 0.
const DF: u16 = 0;
const USDT: u16 = 1;

/// Both engines with the example's market.
struct Example {
    pair: Pair,
    sequence: u64,
}

impl Example {
    fn new() -> Example {
        let mut example = Example { pair: Pair::new(), sequence: 0 };
        let done = example.submit(Command::new(ListMarket {
            symbol: padded("DFUSDT").expect("short"),
            base: padded("DF").expect("short"),
            quote: padded("USDT").expect("short"),
            tick: price("0.0001"),
            lot: price("0.1"),
            min_notional: amount("1").into(),
            maker_fee: 50_000,
            taker_fee: 100_000,
            max_open_orders: 200,
            kind: 0,
            reserved: [0; 3],
        }));
        assert_eq!(done.reject, 0);
        example
    }

    fn submit(&mut self, command: Command) -> Done {
        self.sequence += 1;
        let command = Command { sequence: self.sequence, ..command };
        self.pair.apply(&command).and_then(|()| self.pair.compare()).unwrap_or_else(|text| panic!("{text}"));
        *self.pair.events.last().and_then(Event::get::<Done>).expect("Done is last")
    }

    /// A new account with `df` and `usdt`.
    fn account(&mut self, df: &str, usdt: &str) -> AccountId {
        let mut address = [1; 20];
        address[0] = self.sequence as u8;
        let mut account = self.submit(Command::new(CreateAccount { address, reserved: 0 })).account;
        for (name, sum) in [("DF", df), ("USDT", usdt)] {
            if amount(sum) > 0 {
                let asset = padded(name).expect("short");
                let credit =
                    Credit { address, asset, reserved: 0, amount: amount(sum).into(), reason: [0; 64] };
                account = self.submit(Command::new(credit)).account;
            }
        }
        account
    }

    fn limit(&mut self, account: AccountId, side: Side, quantity: &str, at: &str) -> Done {
        self.submit(Command::new(PlaceOrder::limit(account, 0, side, price(at), price(quantity))))
    }

    fn told<P: ringside_core::event::Payload>(&self) -> Vec<P> {
        self.pair.events.iter().filter_map(Event::get::<P>).copied().collect()
    }

    /// (available, frozen) of both engines, which `submit` compared.
    fn holds(&self, account: AccountId, asset: u16) -> (Amount, Amount) {
        self.pair.reference.balance(account, asset)
    }
}

/// Steps of 10^-8 of a decimal.
fn price(text: &str) -> i64 {
    decimal(text, 8) as i64
}

/// Steps of 10^-18 of a decimal.
fn amount(text: &str) -> Amount {
    decimal(text, 18)
}

fn decimal(text: &str, digits: usize) -> Amount {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    format!("{whole}{part:0<digits$}").parse().expect("a decimal")
}

#[test]
fn a_limit_buy_crosses_and_rests() {
    let mut example = Example::new();
    let seller = example.account("50", "0");
    let buyer = example.account("0", "16.8");
    example.limit(seller, Side::Sell, "50", "0.2");
    example.limit(buyer, Side::Buy, "80", "0.21");
    let trade = example.told::<Trade>()[0];
    assert_eq!((trade.price, trade.quantity), (price("0.2"), price("50")));
    assert_eq!((trade.taker_fee.get(), trade.maker_fee.get()), (amount("0.05"), amount("0.005")));
    let order = example.told::<Order>()[0];
    assert_eq!(order.status, OrderStatus::PartiallyFilled as u8);
    assert_eq!((order.filled, order.open), (price("50"), price("30")));
    assert_eq!(example.holds(buyer, DF), (amount("49.95"), 0));
    assert_eq!(example.holds(buyer, USDT), (amount("0.5"), amount("6.3")));
    assert_eq!(example.holds(seller, USDT), (amount("9.995"), 0));
    assert_eq!(example.holds(seller, DF), (0, 0));
    assert_eq!(example.told::<Balances>().len(), 3, "buyer, seller, fee account");
}

#[test]
fn a_market_buy_spends_what_buys_lots() {
    let mut example = Example::new();
    let seller = example.account("150", "0");
    let buyer = example.account("0", "25");
    example.limit(seller, Side::Sell, "100", "0.2");
    example.limit(seller, Side::Sell, "50", "0.2103");
    example.submit(Command::new(PlaceOrder::market_buy(buyer, 0, amount("25"))));
    let fills: Vec<_> = example.told::<Trade>().iter().map(|trade| (trade.price, trade.quantity)).collect();
    assert_eq!(fills, [(price("0.2"), price("100")), (price("0.2103"), price("23.7"))]);
    let order = example.told::<Order>()[0];
    assert_eq!((order.status, order.filled), (OrderStatus::Filled as u8, price("123.7")));
    assert_eq!(example.holds(buyer, USDT), (amount("0.01589"), 0));
    assert_eq!(example.holds(buyer, DF), (amount("123.5763"), 0), "123.7 less the fee of 0.1237");
}

#[test]
fn a_market_sell_leaves_its_remainder() {
    let mut example = Example::new();
    let buyer = example.account("0", "1");
    let seller = example.account("10", "0");
    // A bid of 4 at 0.19 is below the minimum of 1; the example's bid is older than the minimum.
    let update = UpdateMarket {
        market: 0,
        mask: update_mask::MIN_NOTIONAL,
        tick: 0,
        lot: 0,
        min_notional: amount("0.5").into(),
        maker_fee: 0,
        taker_fee: 0,
    };
    example.submit(Command::new(update));
    assert_eq!(example.limit(buyer, Side::Buy, "4", "0.19").reject, 0);
    example.submit(Command::new(UpdateMarket { min_notional: amount("1").into(), ..update }));
    example.submit(Command::new(PlaceOrder::market_sell(seller, 0, price("10"))));
    let order = example.told::<Order>()[0];
    assert_eq!((order.status, order.filled), (OrderStatus::Canceled as u8, price("4")));
    assert_eq!(example.holds(seller, DF), (amount("6"), 0));
    assert_eq!(example.holds(seller, USDT), (amount("0.75924"), 0));
}

#[test]
fn a_market_buy_without_asks_is_canceled() {
    let mut example = Example::new();
    let buyer = example.account("0", "25");
    assert_eq!(example.submit(Command::new(PlaceOrder::market_buy(buyer, 0, amount("25")))).reject, 0);
    let order = example.told::<Order>()[0];
    assert_eq!((order.status, order.filled), (OrderStatus::Canceled as u8, 0));
    assert_eq!(example.told::<Trade>().len(), 0);
    assert_eq!(example.holds(buyer, USDT), (amount("25"), 0));
}

#[test]
fn self_trades_are_refused_only_where_the_order_reaches() {
    let mut example = Example::new();
    let own = example.account("10", "10");
    let other = example.account("10", "0");
    example.limit(own, Side::Sell, "10", "0.2");
    let done = example.limit(own, Side::Buy, "10", "0.2");
    assert_eq!(done.rejected(), Some(Reject::SelfTrade));
    assert_ne!(done.order, 0, "the refused order is stored");
    assert_eq!(example.told::<Order>()[0].status, OrderStatus::Rejected as u8);

    let mut example = Example::new();
    let own_again = example.account("10", "10");
    let other_again = example.account("10", "0");
    assert_eq!((own, other), (own_again, other_again));
    example.limit(other, Side::Sell, "10", "0.2");
    example.limit(own, Side::Sell, "10", "0.21");
    let done = example.limit(own, Side::Buy, "11", "0.21");
    assert_eq!(done.rejected(), Some(Reject::SelfTrade), "11 reach the own ask");
    assert_eq!(example.told::<Trade>().len(), 0, "nothing trades");
    assert_eq!(example.limit(own, Side::Buy, "10", "0.21").reject, 0);
    let trade = example.told::<Trade>()[0];
    assert_eq!((trade.price, trade.quantity, trade.maker_account), (price("0.2"), price("10"), other));
}
