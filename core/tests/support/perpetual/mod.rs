//! A perpetual venue to drive by hand: commands in, their events out, every invariant checked after each.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

pub mod flow;
pub mod histories;
pub mod plain;

use ringside_core::audit::Auditor;
use ringside_core::command::*;
use ringside_core::event::{self, Event};
use ringside_core::ids::{FIRST_PERPETUAL, MarketId, padded};
use ringside_core::reject::Reject;
use ringside_core::{Engine, EngineConfig};

/// One whole unit of price or quantity.
pub const ONE: i64 = 100_000_000;
/// One USDT.
pub const USDT: i64 = 1_000_000;
/// The first market.
pub const BTC: MarketId = FIRST_PERPETUAL;

/// See the module.
pub struct Venue {
    pub engine: Engine,
    /// Keeps the books a second time.
    pub auditor: Auditor,
    pub time_ms: i64,
    pub events: Vec<Event>,
    pub names: u64,
    /// How often the engine goes through a snapshot.
    pub every: u64,
}

/// A small engine.
pub fn config() -> EngineConfig {
    EngineConfig { orders: 256, accounts: 64, idempotency_keys: 64, ..EngineConfig::default() }
}

/// A decimal number of base or price.
pub fn dec(text: &str) -> i64 {
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part = format!("{part:0<8}");
    sign * (whole.parse::<i64>().unwrap() * ONE + part.parse::<i64>().unwrap())
}

/// A decimal number of USDT.
pub fn usd(text: &str) -> i64 {
    dec(text) / 100
}

/// A limit order, good till canceled, without a name.
pub fn limit_order(account: u32, side: Side, quantity: &str, price: &str) -> PlacePerpetual {
    PlacePerpetual {
        account,
        market: BTC,
        side: side as u8,
        order_type: PerpetualOrderType::Limit as u8,
        time_in_force: 0,
        self_trade: 0,
        working_type: 0,
        price_match: 0,
        flags: 0,
        price: dec(price),
        quantity: dec(quantity),
        stop_price: 0,
        callback_rate: 0,
        leverage: 0,
        good_till_ms: 0,
        take_profit: 0,
        stop_loss: 0,
        client_order: [0; 36],
        attached_working_type: 0,
        reserved: [0; 3],
        idempotency_key: 0,
        idempotency_body: 0,
    }
}

/// A position that changed hands outside the book: who gave it up, and who took it.
#[derive(Clone, Copy, Debug)]
pub struct Moved {
    pub from: u32,
    pub to: u32,
    pub market: u32,
    pub quantity: i64,
    pub value: i64,
    pub from_realised: i64,
    pub to_realised: i64,
    pub cause: event::TradeCause,
}

/// What changed hands outside the book: takeovers and deleveragings.
pub fn moved(events: &[Event]) -> Vec<Moved> {
    let trades = events.iter().filter_map(Event::get::<event::PerpetualTrade>);
    let moved = trades.filter_map(|trade| {
        let cause = event::TradeCause::from_code(trade.cause).expect("a cause");
        let is_moved = matches!(cause, event::TradeCause::Takeover | event::TradeCause::Deleveraging);
        is_moved.then_some(Moved {
            from: trade.taker_account,
            to: trade.maker_account,
            market: trade.market,
            quantity: trade.quantity,
            value: trade.value,
            from_realised: trade.taker_realised,
            to_realised: trade.maker_realised,
            cause,
        })
    });
    moved.collect()
}

/// What orders traded in the book.
pub fn fills(events: &[Event]) -> Vec<event::PerpetualTrade> {
    let trades = events.iter().filter_map(Event::get::<event::PerpetualTrade>).copied();
    trades.filter(|trade| trade.cause <= event::TradeCause::Liquidation as u8).collect()
}

impl Venue {
    /// BTCUSDT listed, no account but the fund.
    pub fn new() -> Venue {
        let engine = Engine::new(&config());
        let mut venue = Venue {
            auditor: Auditor::new(&engine),
            engine,
            time_ms: 1_700_000_000_000,
            events: Vec::new(),
            names: 0,
            every: 3,
        };
        venue.list("BTC", "0.1");
        venue
    }

    /// Lists a market in lots of 0.001 against USDT.
    fn list(&mut self, base: &str, tick: &str) {
        self.ok(ListPerpetual {
            symbol: padded(&format!("{base}USDT")).unwrap(),
            base: padded(base).unwrap(),
            quote: padded("USDT").unwrap(),
            tick: dec(tick),
            lot: dec("0.001"),
        });
    }

    /// ETHUSDT listed as well.
    pub fn list_second(&mut self) {
        self.list("ETH", "0.01");
    }

    /// Trading at a mark.
    pub fn trading(mark: &str) -> Venue {
        let mut venue = Venue::new();
        venue.mark(mark);
        venue.ok(SetPerpetualState { market: BTC, state: PerpetualState::Trading as u8, reserved: [0; 3] });
        venue
    }

    /// Carries a command out.
    pub fn give<B: Body>(&mut self, body: B) -> event::Done {
        let command = Command {
            sequence: self.engine.sequence() + 1,
            time_ns: self.time_ms * 1_000_000,
            ..Command::new(body)
        };
        self.apply(&command)
    }

    /// Carries out a command that has its sequence.
    pub fn apply(&mut self, command: &Command) -> event::Done {
        self.events.clear();
        self.engine.apply(command, &mut self.events);
        if let Err(fault) = self.engine.check_invariants() {
            panic!("{fault}\nafter {command:?}\n{:#?}", self.events);
        }
        self.events.iter().for_each(|event| self.auditor.event(event));
        if let Some(fault) = self.auditor.fault() {
            panic!("{fault:?}\nafter {command:?}\n{:#?}", self.events);
        }
        if command.sequence.is_multiple_of(self.every) {
            self.reload();
        }
        *self.events.last().unwrap().get::<event::Done>().unwrap()
    }

    /// Goes on with the engine that a snapshot gives back.
    pub fn reload(&mut self) {
        let mut bytes = Vec::new();
        self.engine.save(&mut bytes);
        let loaded = Engine::load(&config(), &bytes).expect("a snapshot of a sound state");
        assert_eq!(loaded.state_hash(), self.engine.state_hash(), "at {}", self.engine.sequence());
        self.engine = loaded;
    }

    /// Carries out a command that must be accepted.
    pub fn ok<B: Body + std::fmt::Debug>(&mut self, body: B) -> event::Done {
        let done = self.give(body);
        assert_eq!(done.rejected(), None, "{body:?}");
        done
    }

    /// Carries out a command that must be refused.
    pub fn refused<B: Body>(&mut self, body: B) -> Reject {
        self.give(body).rejected().unwrap()
    }

    /// Time passes to the next second.
    pub fn tick(&mut self) {
        self.time_ms += 1_000;
        self.ok(AdvanceTime {});
    }

    /// Pins the index, and with a thin book the mark.
    pub fn mark(&mut self, price: &str) {
        self.ok(SetManualPrice { market: BTC, moves_band: 0, price: dec(price) });
        self.tick();
    }

    /// A new account with a wallet.
    pub fn account(&mut self, wallet: &str) -> u32 {
        let count = self.engine.accounts();
        let mut address = [9; 20];
        address[..4].copy_from_slice(&count.to_le_bytes());
        let account = self.ok(CreateAccount { address, reserved: 0 }).account;
        let amount = usd(wallet);
        if amount != 0 {
            self.ok(CreditPerpetual { address, reserved: 0, amount, reason: [0; 64] });
        }
        account
    }

    /// The fund receives.
    pub fn fund(&mut self, amount: &str) {
        self.ok(CreditPerpetual { address: [0; 20], reserved: 0, amount: usd(amount), reason: [0; 64] });
    }

    /// A limit order, good till canceled, under a new name.
    pub fn limit(&mut self, account: u32, side: Side, quantity: &str, price: &str) -> PlacePerpetual {
        self.names += 1;
        let client_order = padded(&format!("order-{}", self.names)).unwrap();
        PlacePerpetual { client_order, ..limit_order(account, side, quantity, price) }
    }

    /// Places a limit buy.
    pub fn buy(&mut self, account: u32, quantity: &str, price: &str) -> u64 {
        let place = self.limit(account, Side::Buy, quantity, price);
        self.ok(place).order
    }

    /// Places a limit sell.
    pub fn sell(&mut self, account: u32, quantity: &str, price: &str) -> u64 {
        let place = self.limit(account, Side::Sell, quantity, price);
        self.ok(place).order
    }

    /// What the last command said of a kind.
    pub fn said<P: event::Payload>(&self) -> Vec<P> {
        self.events.iter().filter_map(|event| event.get::<P>().copied()).collect()
    }

    /// What changed hands outside the book in the last command.
    pub fn moved(&self) -> Vec<Moved> {
        moved(&self.events)
    }

    /// What orders traded in the book in the last command.
    pub fn fills(&self) -> Vec<event::PerpetualTrade> {
        fills(&self.events)
    }

    /// The ends of orders in the last command: id, status, reason, filled.
    pub fn ends(&self) -> Vec<(u64, PerpetualStatus, u8, i64)> {
        self.said::<event::PerpetualOrder>()
            .into_iter()
            .filter(|order| order.open == 0 && order.execution >= event::Execution::Canceled as u8)
            .map(|order| {
                let status = PerpetualStatus::from_code(order.status).unwrap();
                (order.order, status, order.expiry_reason, order.filled)
            })
            .collect()
    }
}

/// Removes maker and taker fees.
pub fn no_fees(venue: &mut Venue) {
    venue.ok(SetVipTier { tier: 0, count: 1, volume: 0, maker_rate: 0, taker_rate: 0 });
}

/// Sets a leverage.
pub fn leverage(venue: &mut Venue, account: u32, leverage: u32) {
    venue.ok(SetLeverage { account, market: BTC, leverage, reserved: 0 });
}

/// A market whose positions have one bracket, up to a billion, at a maintenance rate in steps of 10^-8, and orders of any
/// size below.
pub fn one_bracket(venue: &mut Venue, market: u32, rate: u32) {
    let mut brackets = SetBrackets { market, count: 1, caps: [0; 8], leverages: [0; 8], rates: [0; 8] };
    (brackets.caps[0], brackets.leverages[0], brackets.rates[0]) = (usd("1000000000"), 1, rate);
    venue.ok(brackets);
    let parameter = PerpetualParameter::MinNotional as u32;
    venue.ok(SetPerpetualParameter { market, parameter, value: 0 });
}

/// Opens a position of an account at a price against another one.
pub fn open(venue: &mut Venue, account: u32, against: u32, side: Side, quantity: &str, price: &str) {
    let rest = venue.limit(against, side.opposite(), quantity, price);
    venue.ok(rest);
    let take = venue.limit(account, side, quantity, price);
    venue.ok(take);
}

/// The position that an account has now.
pub fn held(venue: &Venue, account: u32) -> i64 {
    venue.engine.perpetual_position(account, BTC).unwrap().quantity
}
