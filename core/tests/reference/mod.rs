//! The reference engine: what the exchange must do, written as plainly as possible and only from `spot.md` and the docs
//! of commands and events. It shares the record types with the real engine and nothing else.
//!
//! Nothing is cached. A side of a book is sorted from the list of resting orders when it is walked; a level's total
//! and an account's frozen funds are sums over that list, so they cannot drift. A placement is first *planned*
//! against the untouched book and only then carried out. It knows no state hash (that depends on the real engine's
//! canonical form), no snapshots and no speed.
//!
//! Three test binaries include it, and each uses a part.
#![allow(dead_code, unreachable_pub, unused_imports)]

mod admin;
mod connections;
mod matching;
mod money;
mod orders;
mod output;
mod view;

pub use admin::is_name;

use crate::support::table::Table;
use output::Output;
use ringside_core::command::{self, Command, Kind, MarketStatus, OrderStatus, OrderType, Side};
use ringside_core::command::{SelfTradePrevention, TimeInForce};
use ringside_core::event::{self, Event};
use ringside_core::ids::{AccountId, Address, AssetId, AssetName, FEE_ACCOUNT, MarketId, OrderId};
use ringside_core::ids::{Sequence, Symbol, TradeId};
use ringside_core::money::{Amount, FeeRate, Price, Quantity};
use ringside_core::reject::Reject;
use std::collections::BTreeMap;

/// Largest price, quantity, tick and lot: 92,233,720,368 whole units in steps of 10^-8.
pub const MAX_ENTRY: i64 = 9_223_372_036_800_000_000;
/// Nanoseconds that an idempotency key is remembered.
const DAY_NS: i64 = 86_400_000_000_000;

/// A resting order.
#[derive(Clone, Debug)]
pub struct Resting {
    pub order: OrderId,
    pub account: AccountId,
    pub market: MarketId,
    pub side: Side,
    pub order_type: OrderType,
    pub time_in_force: TimeInForce,
    pub self_trade: SelfTradePrevention,
    pub price: Price,
    pub filled: Quantity,
    pub open: Quantity,
    /// The market's maker fee when the order was placed or last replaced.
    pub maker_fee: FeeRate,
    /// Position in time priority: grows with every order that comes to rest.
    pub arrival: u64,
}

impl Resting {
    /// What the order holds back: quote for a buy, base for a sell.
    fn reservation(&self) -> Amount {
        match self.side {
            Side::Buy => money::notional(self.price, self.open).expect("judged at placement"),
            Side::Sell => money::base_amount(self.open),
        }
    }

    fn status(&self) -> OrderStatus {
        if self.filled == 0 { OrderStatus::Open } else { OrderStatus::PartiallyFilled }
    }

    /// The event that tells its state.
    fn event(&self, status: OrderStatus, open: Quantity, is_new: bool, is_amended: bool) -> event::Order {
        event::Order {
            order: self.order,
            account: self.account,
            market: self.market,
            side: self.side as u8,
            order_type: self.order_type as u8,
            time_in_force: self.time_in_force as u8,
            status: status as u8,
            is_new: is_new.into(),
            is_amended: is_amended.into(),
            reject: 0,
            price: self.price,
            quantity: self.filled + self.open,
            quote_quantity: 0.into(),
            filled: self.filled,
            open,
        }
    }
}

/// A market.
#[derive(Clone, Debug)]
pub struct Market {
    pub symbol: Symbol,
    pub base: AssetId,
    pub quote: AssetId,
    pub tick: Price,
    pub lot: Quantity,
    pub min_notional: Amount,
    pub maker_fee: FeeRate,
    pub taker_fee: FeeRate,
    pub max_open_orders: u32,
    pub kind: u8,
    pub status: MarketStatus,
    /// Halted until its last order is canceled.
    pub delists: bool,
    pub update: u64,
    pub trades: TradeId,
    pub last_price: Option<Price>,
}

/// The first command of an idempotency key.
#[derive(Clone)]
struct Remembered {
    body: u64,
    sequence: Sequence,
    time_ns: i64,
}

/// What a command that was taken, or stored as rejected, tells [`event::Done`].
#[derive(Default)]
struct Outcome {
    order: OrderId,
    /// Overrides the account named in the command.
    account: Option<AccountId>,
    market: Option<MarketId>,
    /// The order was stored as rejected for this.
    stored: Option<Reject>,
}

/// (available, frozen) of everybody.
pub type Balances = Table<(AccountId, AssetId), (Amount, Amount)>;

/// The whole state.
#[derive(Clone, Default)]
pub struct Reference {
    pub sequence: Sequence,
    pub time_ns: i64,
    epoch: u32,
    sources: BTreeMap<u32, u64>,
    keys: BTreeMap<(AccountId, u64), Remembered>,
    /// Addresses by account id.
    pub accounts: Vec<Address>,
    /// Names by asset id.
    pub assets: Vec<AssetName>,
    /// What each account owns, reserved or not.
    owned: Table<(AccountId, AssetId), Amount>,
    /// By market id.
    pub markets: Vec<Market>,
    /// Every resting order, by id.
    pub orders: Table<OrderId, Resting>,
    /// Open orders that accounts may have, where that is not what the market says; over all markets: ALL_MARKETS.
    pub own_limits: BTreeMap<(AccountId, MarketId), u32>,
    /// Whose orders end with a connection.
    pub connections: Vec<connections::Connection>,
    /// Of them, those that the last tick ended.
    pub lost: usize,
    /// Markets of the perpetual side.
    pub perpetuals: Vec<MarketId>,
    /// Units of work of a command, where that was said.
    pub units_max: Option<usize>,
    last_order: OrderId,
    arrivals: u64,
}

impl Reference {
    /// Genesis: the fee account exists, under the zero address.
    pub fn new() -> Reference {
        Reference { accounts: vec![[0; 20]], ..Reference::default() }
    }

    /// The events of a command.
    pub fn apply(&mut self, command: &Command) -> Vec<Event> {
        assert_eq!(command.sequence, self.sequence + 1, "commands come in order");
        self.sequence += 1;
        self.time_ns = self.time_ns.max(command.time_ns);
        let mut output = Output::new(self.sequence, self.time_ns);
        let mut done = event::Done {
            source_seq: command.source_seq,
            source: command.source,
            command: command.kind,
            reject: 0,
            order: 0,
            account: 0,
            market: 0,
            idempotency_key: 0,
            replayed: 0,
            update: 0,
        };
        if self.is_duplicate(command) {
            done.reject = Reject::Duplicate.code();
            return output.finish(done);
        }
        let Some(kind) = Kind::from_code(command.kind) else {
            done.reject = Reject::Malformed.code();
            return output.finish(done);
        };
        done.account = named_account(kind, command);
        if kind == Kind::PlaceOrder {
            let place: &command::PlaceOrder = command.body();
            done.idempotency_key = place.idempotency_key;
            let (key, body) = (place.idempotency_key, place.idempotency_body);
            if let Some((reject, replayed)) = self.remember(place.account, key, body) {
                done.reject = reject.code();
                done.replayed = replayed;
                return output.finish(done);
            }
        }
        let mut first = Vec::new();
        if kind == Kind::AdvanceTime {
            let lost = self.take_lost();
            self.lost = lost.len();
            first = self.end_lost(&lost);
        }
        match self.dispatch(kind, command, &mut output) {
            Err(reject) => done.reject = reject.code(),
            Ok(outcome) => {
                done.order = outcome.order;
                done.account = outcome.account.unwrap_or(done.account);
                if let Some(market) = outcome.market {
                    done.market = market;
                    done.update = self.markets[market as usize].update;
                }
                done.reject = outcome.stored.map_or(0, Reject::code);
            }
        }
        output.finish_behind(first, done)
    }

    /// The next order id, for an order of another kind of market.
    pub fn take_order_id(&mut self) -> OrderId {
        self.last_order += 1;
        self.last_order
    }

    /// Adds to, or takes from, what an account owns outside any market.
    pub fn move_owned(&mut self, account: AccountId, asset: AssetId, amount: Amount) {
        *self.owned.entry((account, asset)) += amount;
    }

    /// The asset of a name and whether this made it.
    pub fn asset_named(&mut self, name: AssetName) -> (AssetId, bool) {
        let known = self.assets.len();
        let asset = self.find_or_make_asset(name, &mut Output::new(0, 0));
        (asset, self.assets.len() > known)
    }

    /// The account of an address and whether this made it.
    pub fn account_of(&mut self, address: Address) -> (AccountId, bool) {
        let known = self.accounts.len();
        let account = self.find_or_make(address, &mut Output::new(0, 0));
        (account, self.accounts.len() > known)
    }

    /// Passes over a command.
    pub fn skip(&mut self, command: &Command) {
        self.sequence += 1;
        self.time_ns = self.time_ns.max(command.time_ns);
    }

    fn dispatch(&mut self, kind: Kind, command: &Command, output: &mut Output) -> Result<Outcome, Reject> {
        match kind {
            Kind::PlaceOrder => self.place(command.body(), output),
            Kind::CancelOrder => self.cancel(command.body(), output),
            Kind::CancelAll => self.cancel_all(command.body(), output),
            Kind::AmendOrder => self.amend(command.body(), output),
            Kind::ReplaceOrder => self.replace(command.body(), output),
            Kind::CreateAccount => {
                let account = self.find_or_make(command.body::<command::CreateAccount>().address, output);
                Ok(Outcome { account: Some(account), ..Outcome::default() })
            }
            Kind::Credit => self.credit(command.body(), output),
            Kind::ListMarket => self.list(command.body(), output),
            Kind::UpdateMarket => self.update(command.body(), output),
            Kind::SetMarketStatus => self.set_status(command.body(), output),
            Kind::OpenEpoch => {
                let epoch = command.body::<command::OpenEpoch>().epoch;
                if epoch <= self.epoch {
                    return Err(Reject::Malformed);
                }
                self.epoch = epoch;
                self.sources.clear();
                self.lose_connections();
                Ok(Outcome::default())
            }
            Kind::Checkpoint => {
                output.fact(event::StateHash { hash: [0; 16] });
                Ok(Outcome::default())
            }
            Kind::AdvanceTime => {
                self.delist_on(self.units_max() - self.lost, output);
                Ok(Outcome::default())
            }
            Kind::SetDisconnect => self.set_disconnect(command.body()),
            Kind::VerifyHash | Kind::SkipCommand => Ok(Outcome::default()),
            // The perpetual side has a model of its own; spot streams hold none of its commands.
            _ => Err(Reject::Malformed),
        }
    }

    /// Judges and notes the source's number.
    pub fn is_duplicate(&mut self, command: &Command) -> bool {
        if command.source_seq == 0 {
            return false;
        }
        let last = self.sources.get(&command.source).copied().unwrap_or(0);
        if command.source_seq <= last {
            return true;
        }
        self.sources.insert(command.source, command.source_seq);
        false
    }

    /// Judges the idempotency key: a refusal with the first command's sequence, or notes it.
    pub fn remember(&mut self, account: AccountId, key: u64, body: u64) -> Option<(Reject, Sequence)> {
        let key = (account, key);
        if key.1 == 0 {
            return None;
        }
        match self.keys.get(&key) {
            Some(first) if i128::from(self.time_ns) - i128::from(first.time_ns) < i128::from(DAY_NS) => {
                if first.body == body {
                    Some((Reject::IdempotencyReplay, first.sequence))
                } else {
                    Some((Reject::IdempotencyConflict, 0))
                }
            }
            _ => {
                self.keys.insert(key, Remembered { body, sequence: self.sequence, time_ns: self.time_ns });
                None
            }
        }
    }
}

/// The account that a command names, as named.
fn named_account(kind: Kind, command: &Command) -> AccountId {
    match kind {
        Kind::PlaceOrder => command.body::<command::PlaceOrder>().account,
        Kind::CancelOrder => command.body::<command::CancelOrder>().account,
        Kind::CancelAll => command.body::<command::CancelAll>().account,
        Kind::AmendOrder => command.body::<command::AmendOrder>().account,
        Kind::ReplaceOrder => command.body::<command::ReplaceOrder>().account,
        Kind::SetDisconnect => command.body::<command::SetDisconnect>().account,
        _ => 0,
    }
}
