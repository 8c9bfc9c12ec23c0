//! The reference engine: what the exchange must do, written as plainly as possible and only from `spot.md` and the docs
//! of commands and events. It shares the record types with the real engine and nothing else.
//!
//! Nothing is cached. A side of a book is sorted from the list of resting orders when it is walked; a level's total
//! and an account's frozen funds are sums over that list, so they cannot drift. A placement is first *planned*
//! against the untouched book and only then carried out. It knows no state hash (that depends on the real engine's
//! canonical form), no snapshots and no speed.
//!
//! Two test binaries include it, and each uses a part.
#![allow(dead_code, unreachable_pub)]

pub mod matching;
pub mod money;
pub mod output;

use matching::{Incoming, Size};
use output::Output;
use ringside_core::command::{self, Command, Kind, MarketStatus, OrderStatus, OrderType, Side};
use ringside_core::command::{SelfTradePrevention, TimeInForce, update_mask};
use ringside_core::event::{self, Event};
use ringside_core::ids::{
    ALL_MARKETS, AccountId, Address, AssetId, AssetName, FEE_ACCOUNT, MarketId, OrderId,
};
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
    pub update: u64,
    pub trades: TradeId,
    pub last_price: Option<Price>,
}

/// The first command of an idempotency key.
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
pub type Balances = BTreeMap<(AccountId, AssetId), (Amount, Amount)>;

/// The whole state.
#[derive(Default)]
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
    owned: BTreeMap<(AccountId, AssetId), Amount>,
    /// By market id.
    pub markets: Vec<Market>,
    /// Every resting order, by id.
    pub orders: BTreeMap<OrderId, Resting>,
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
            done.idempotency_key = command.body::<command::PlaceOrder>().idempotency_key;
            if let Some((reject, replayed)) = self.remember(command.body()) {
                done.reject = reject.code();
                done.replayed = replayed;
                return output.finish(done);
            }
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
        output.finish(done)
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
                Ok(Outcome::default())
            }
            Kind::Checkpoint => {
                output.fact(event::StateHash { hash: [0; 16] });
                Ok(Outcome::default())
            }
            Kind::AdvanceTime | Kind::VerifyHash | Kind::SkipCommand => Ok(Outcome::default()),
        }
    }

    // ---- the stream ----

    /// Judges and notes the source's number.
    fn is_duplicate(&mut self, command: &Command) -> bool {
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
    fn remember(&mut self, place: &command::PlaceOrder) -> Option<(Reject, Sequence)> {
        let key = (place.account, place.idempotency_key);
        if key.1 == 0 {
            return None;
        }
        match self.keys.get(&key) {
            Some(first) if i128::from(self.time_ns) - i128::from(first.time_ns) < i128::from(DAY_NS) => {
                if first.body == place.idempotency_body {
                    Some((Reject::IdempotencyReplay, first.sequence))
                } else {
                    Some((Reject::IdempotencyConflict, 0))
                }
            }
            _ => {
                let body = place.idempotency_body;
                self.keys.insert(key, Remembered { body, sequence: self.sequence, time_ns: self.time_ns });
                None
            }
        }
    }

    // ---- orders ----

    fn place(&mut self, place: &command::PlaceOrder, output: &mut Output) -> Result<Outcome, Reject> {
        let side = Side::from_code(place.side).ok_or(Reject::Malformed)?;
        let order_type = OrderType::from_code(place.order_type).ok_or(Reject::Malformed)?;
        let time_in_force = TimeInForce::from_code(place.time_in_force).ok_or(Reject::Malformed)?;
        let self_trade = SelfTradePrevention::from_code(place.self_trade).ok_or(Reject::Malformed)?;
        let is_market = order_type == OrderType::Market;
        if place.flags != 0 || (is_market && time_in_force != TimeInForce::ImmediateOrCancel) {
            return Err(Reject::Malformed);
        }
        self.known_account(place.account)?;
        let market = self.trading_market(place.market)?;
        let size = if is_market && side == Side::Buy {
            Size::Quote(place.quote_quantity.get())
        } else {
            Size::Base(place.quantity)
        };
        let mut incoming = Incoming {
            order: 0,
            account: place.account,
            market: place.market,
            side,
            order_type,
            time_in_force,
            self_trade,
            price: if is_market { None } else { Some(place.price) },
            size,
            filled_before: 0,
            maker_fee: market.maker_fee,
            taker_fee: market.taker_fee,
        };
        match self.judge(&incoming, 0) {
            Ok(()) => {
                self.last_order += 1;
                incoming.order = self.last_order;
                let before = self.balances();
                self.execute(&incoming, true, &before, output);
                Ok(Outcome { order: incoming.order, market: Some(place.market), ..Outcome::default() })
            }
            Err(reject) if stored(reject) => {
                self.last_order += 1;
                incoming.order = self.last_order;
                let rejected =
                    event::Order { reject: reject.code(), ..incoming.event(OrderStatus::Rejected, 0, 0) };
                output.order(event::Order { is_new: 1, ..rejected });
                Ok(Outcome {
                    order: incoming.order,
                    market: Some(place.market),
                    stored: Some(reject),
                    ..Outcome::default()
                })
            }
            Err(reject) => Err(reject),
        }
    }

    /// Every check from the amounts on. `released` is what a replaced order would give back first.
    fn judge(&self, incoming: &Incoming, released: Amount) -> Result<(), Reject> {
        let market = &self.markets[incoming.market as usize];
        if incoming.price.is_some_and(|price| price <= 0 || price > MAX_ENTRY) {
            return Err(Reject::InvalidPrice);
        }
        match incoming.size {
            Size::Base(quantity) => {
                if quantity <= 0 || quantity > MAX_ENTRY {
                    return Err(Reject::InvalidQuantity);
                }
                if incoming.filled_before.checked_add(quantity).is_none_or(|ordered| ordered > MAX_ENTRY) {
                    return Err(Reject::InvalidQuantity);
                }
                if incoming.price.is_some_and(|price| money::notional(price, quantity).is_none()) {
                    return Err(Reject::InvalidQuantity);
                }
            }
            Size::Quote(amount) => {
                if amount <= 0 {
                    return Err(Reject::InvalidQuoteQuantity);
                }
            }
        }
        if incoming.price.is_some_and(|price| price % market.tick != 0) {
            return Err(Reject::InvalidTick);
        }
        if matches!(incoming.size, Size::Base(quantity) if quantity % market.lot != 0) {
            return Err(Reject::InvalidLot);
        }
        // None: no price to value a market sell at, or a value beyond any minimum.
        let value = match incoming.size {
            Size::Quote(amount) => Some(amount),
            Size::Base(quantity) => incoming
                .price
                .or_else(|| self.best(incoming.market, Side::Buy))
                .or(market.last_price)
                .and_then(|price| money::notional(price, quantity)),
        };
        if value.is_some_and(|value| value < market.min_notional) {
            return Err(Reject::BelowMinNotional);
        }
        let (asset, needed) = match (incoming.side, incoming.size, incoming.price) {
            (Side::Buy, Size::Quote(amount), _) => (market.quote, amount),
            (Side::Buy, Size::Base(quantity), Some(price)) => {
                (market.quote, money::notional(price, quantity).expect("judged above"))
            }
            (Side::Buy, Size::Base(_), None) => unreachable!("a market buy is sized in quote"),
            (Side::Sell, Size::Base(quantity), _) => (market.base, money::base_amount(quantity)),
            (Side::Sell, Size::Quote(_), _) => unreachable!("a sell is sized in base"),
        };
        let (available, _) = self.balance(incoming.account, asset);
        if available + released < needed {
            return Err(Reject::InsufficientBalance);
        }
        let is_replace = incoming.order != 0;
        if incoming.may_rest() && !is_replace {
            let mine =
                |order: &&Resting| order.account == incoming.account && order.market == incoming.market;
            if self.orders.values().filter(mine).count() >= market.max_open_orders as usize {
                return Err(Reject::TooManyOpenOrders);
            }
        }
        if incoming.time_in_force == TimeInForce::PostOnly {
            let best = self.best(incoming.market, incoming.side.opposite());
            if best.is_some_and(|best| incoming.reaches(best)) {
                return Err(Reject::PostOnlyWouldCross);
            }
        }
        let plan = matching::plan(self, incoming);
        if plan.refused {
            return Err(Reject::SelfTrade);
        }
        if incoming.time_in_force == TimeInForce::FillOrKill && plan.rest != Size::Base(0) {
            return Err(Reject::FillOrKill);
        }
        Ok(())
    }

    fn cancel(&mut self, cancel: &command::CancelOrder, output: &mut Output) -> Result<Outcome, Reject> {
        let order = self.own_order(cancel.account, cancel.order)?;
        let before = self.balances();
        self.end(order.order, OrderStatus::Canceled, output);
        self.tell_balances(order.market, Some(order.account), &[], &before, output);
        Ok(Outcome { order: order.order, market: Some(order.market), ..Outcome::default() })
    }

    fn cancel_all(&mut self, cancel: &command::CancelAll, output: &mut Output) -> Result<Outcome, Reject> {
        self.known_account(cancel.account)?;
        let everywhere = cancel.market == ALL_MARKETS;
        if !everywhere {
            self.known_market(cancel.market)?;
        }
        let chosen: Vec<(OrderId, MarketId)> = self
            .orders
            .values()
            .filter(|order| order.account == cancel.account && (everywhere || order.market == cancel.market))
            .map(|order| (order.order, order.market))
            .collect();
        let mut markets: Vec<(MarketId, Balances)> = Vec::new();
        for (order, market) in chosen {
            if !markets.iter().any(|(known, _)| *known == market) {
                markets.push((market, self.balances()));
            }
            self.end(order, OrderStatus::Canceled, output);
        }
        for (market, before) in markets {
            self.tell_balances(market, Some(cancel.account), &[], &before, output);
        }
        Ok(Outcome { market: (!everywhere).then_some(cancel.market), ..Outcome::default() })
    }

    fn amend(&mut self, amend: &command::AmendOrder, output: &mut Output) -> Result<Outcome, Reject> {
        let order = self.own_order(amend.account, amend.order)?;
        if amend.quantity <= 0 || amend.quantity >= order.open {
            return Err(Reject::InvalidAmend);
        }
        let before = self.balances();
        let resting = self.orders.get_mut(&order.order).expect("found above");
        resting.open = amend.quantity;
        let told = resting.event(resting.status(), resting.open, false, true);
        output.order(told);
        self.mutated(order.market, order.side, order.price, output);
        self.tell_balances(order.market, Some(order.account), &[], &before, output);
        Ok(Outcome { order: order.order, market: Some(order.market), ..Outcome::default() })
    }

    fn replace(&mut self, replace: &command::ReplaceOrder, output: &mut Output) -> Result<Outcome, Reject> {
        let old = self.own_order(replace.account, replace.order)?;
        let market = self.trading_market(old.market)?;
        let incoming = Incoming {
            order: old.order,
            account: old.account,
            market: old.market,
            side: old.side,
            order_type: old.order_type,
            time_in_force: old.time_in_force,
            self_trade: old.self_trade,
            price: Some(replace.price),
            size: Size::Base(replace.quantity),
            filled_before: old.filled,
            maker_fee: market.maker_fee,
            taker_fee: market.taker_fee,
        };
        self.judge(&incoming, old.reservation())?;
        let before = self.balances();
        self.orders.remove(&old.order);
        self.mutated(old.market, old.side, old.price, output);
        self.execute(&incoming, false, &before, output);
        Ok(Outcome { order: old.order, market: Some(old.market), ..Outcome::default() })
    }

    /// Takes an order out of the book and says so.
    fn end(&mut self, order: OrderId, status: OrderStatus, output: &mut Output) {
        let ended = self.orders.remove(&order).expect("the order rests");
        output.order(ended.event(status, 0, false, false));
        self.mutated(ended.market, ended.side, ended.price, output);
    }

    // ---- administration ----

    fn find_or_make(&mut self, address: Address, output: &mut Output) -> AccountId {
        if let Some(index) = self.accounts.iter().position(|&known| known == address) {
            return index as AccountId;
        }
        self.accounts.push(address);
        let account = (self.accounts.len() - 1) as AccountId;
        output.fact(event::AccountCreated { address, account });
        account
    }

    fn credit(&mut self, credit: &command::Credit, output: &mut Output) -> Result<Outcome, Reject> {
        let asset =
            self.assets.iter().position(|&name| name == credit.asset).ok_or(Reject::MarketNotFound)?;
        let asset = asset as AssetId;
        let amount = credit.amount.get();
        let issued: Amount =
            self.owned.iter().filter(|((_, of), _)| *of == asset).map(|(_, owned)| owned).sum();
        if amount <= 0 || issued.checked_add(amount).is_none() {
            return Err(Reject::InvalidAmount);
        }
        let account = self.find_or_make(credit.address, output);
        *self.owned.entry((account, asset)).or_default() += amount;
        let (available, frozen) = self.balance(account, asset);
        output.balances(event::Balances {
            account,
            base: asset,
            quote: asset,
            changed: 1,
            base_available: available.into(),
            base_frozen: frozen.into(),
            quote_available: 0.into(),
            quote_frozen: 0.into(),
        });
        output.fact(event::Credited {
            account,
            asset,
            reserved: 0,
            amount: credit.amount,
            reason: credit.reason,
        });
        Ok(Outcome { account: Some(account), ..Outcome::default() })
    }

    fn list(&mut self, list: &command::ListMarket, output: &mut Output) -> Result<Outcome, Reject> {
        if self.markets.iter().any(|market| market.symbol == list.symbol) {
            return Err(Reject::MarketExists);
        }
        let well_formed = is_name(&list.symbol, 2)
            && is_name(&list.base, 1)
            && is_name(&list.quote, 1)
            && list.base != list.quote
            && command::MarketKind::from_code(list.kind).is_some();
        if !well_formed
            || !is_step(list.tick)
            || !is_step(list.lot)
            || list.min_notional.get() <= 0
            || !is_rate(list.maker_fee)
            || !is_rate(list.taker_fee)
            || list.max_open_orders == 0
        {
            return Err(Reject::Malformed);
        }
        let base = self.find_or_make_asset(list.base, output);
        let quote = self.find_or_make_asset(list.quote, output);
        self.markets.push(Market {
            symbol: list.symbol,
            base,
            quote,
            tick: list.tick,
            lot: list.lot,
            min_notional: list.min_notional.get(),
            maker_fee: list.maker_fee,
            taker_fee: list.taker_fee,
            max_open_orders: list.max_open_orders,
            kind: list.kind,
            status: MarketStatus::Listed,
            update: 0,
            trades: 0,
            last_price: None,
        });
        let id = (self.markets.len() - 1) as MarketId;
        self.tell_market(id, output);
        Ok(Outcome { market: Some(id), ..Outcome::default() })
    }

    fn find_or_make_asset(&mut self, name: AssetName, output: &mut Output) -> AssetId {
        if let Some(index) = self.assets.iter().position(|&known| known == name) {
            return index as AssetId;
        }
        self.assets.push(name);
        let asset = (self.assets.len() - 1) as AssetId;
        output.fact(event::AssetCreated { name, asset, reserved: 0 });
        asset
    }

    fn update(&mut self, update: &command::UpdateMarket, output: &mut Output) -> Result<Outcome, Reject> {
        self.known_market(update.market)?;
        let counts = |bit: u32| update.mask & bit != 0;
        let bad = update.mask >= 32
            || (counts(update_mask::TICK) && !is_step(update.tick))
            || (counts(update_mask::LOT) && !is_step(update.lot))
            || (counts(update_mask::MIN_NOTIONAL) && update.min_notional.get() <= 0)
            || (counts(update_mask::MAKER_FEE) && !is_rate(update.maker_fee))
            || (counts(update_mask::TAKER_FEE) && !is_rate(update.taker_fee));
        if bad {
            return Err(Reject::Malformed);
        }
        let market = &mut self.markets[update.market as usize];
        if counts(update_mask::TICK) {
            market.tick = update.tick;
        }
        if counts(update_mask::LOT) {
            market.lot = update.lot;
        }
        if counts(update_mask::MIN_NOTIONAL) {
            market.min_notional = update.min_notional.get();
        }
        if counts(update_mask::MAKER_FEE) {
            market.maker_fee = update.maker_fee;
        }
        if counts(update_mask::TAKER_FEE) {
            market.taker_fee = update.taker_fee;
        }
        self.tell_market(update.market, output);
        Ok(Outcome { market: Some(update.market), ..Outcome::default() })
    }

    fn set_status(&mut self, set: &command::SetMarketStatus, output: &mut Output) -> Result<Outcome, Reject> {
        self.known_market(set.market)?;
        if self.markets[set.market as usize].status == MarketStatus::Delisted {
            return Err(Reject::MarketDelisted);
        }
        let status = MarketStatus::from_code(set.status).ok_or(Reject::Malformed)?;
        if status == MarketStatus::Delisted {
            let before = self.balances();
            let chosen: Vec<(OrderId, AccountId)> = self
                .orders
                .values()
                .filter(|order| order.market == set.market)
                .map(|order| (order.order, order.account))
                .collect();
            let owners: Vec<AccountId> = chosen.iter().map(|&(_, account)| account).collect();
            for (order, _) in chosen {
                self.end(order, OrderStatus::Canceled, output);
            }
            self.tell_balances(set.market, None, &owners, &before, output);
        }
        self.markets[set.market as usize].status = status;
        self.tell_market(set.market, output);
        Ok(Outcome { market: Some(set.market), ..Outcome::default() })
    }

    // ---- lookups ----

    fn known_account(&self, account: AccountId) -> Result<(), Reject> {
        if (account as usize) < self.accounts.len() { Ok(()) } else { Err(Reject::AccountNotFound) }
    }

    fn known_market(&self, market: MarketId) -> Result<&Market, Reject> {
        self.markets.get(market as usize).ok_or(Reject::MarketNotFound)
    }

    fn trading_market(&self, market: MarketId) -> Result<&Market, Reject> {
        let market = self.known_market(market)?;
        match market.status {
            MarketStatus::Listed => Ok(market),
            MarketStatus::Halted => Err(Reject::MarketHalted),
            MarketStatus::Delisted => Err(Reject::MarketDelisted),
        }
    }

    fn own_order(&self, account: AccountId, order: OrderId) -> Result<Resting, Reject> {
        self.known_account(account)?;
        let order = self.orders.get(&order).ok_or(Reject::OrderNotFound)?;
        if order.account == account { Ok(order.clone()) } else { Err(Reject::NotOwner) }
    }

    /// The resting orders of a side, best price first, then oldest arrival.
    pub fn side(&self, market: MarketId, side: Side) -> Vec<&Resting> {
        let mut orders: Vec<&Resting> =
            self.orders.values().filter(|order| order.market == market && order.side == side).collect();
        orders.sort_by_key(|order| {
            let rank = if side == Side::Buy { -order.price } else { order.price };
            (rank, order.arrival)
        });
        orders
    }

    /// Best price of a side.
    pub fn best(&self, market: MarketId, side: Side) -> Option<Price> {
        let prices = self.orders.values().filter(|order| order.market == market && order.side == side);
        let prices = prices.map(|order| order.price);
        if side == Side::Buy { prices.max() } else { prices.min() }
    }

    fn level_total(&self, market: MarketId, side: Side, price: Price) -> Amount {
        let here = |order: &&Resting| order.market == market && order.side == side && order.price == price;
        self.orders.values().filter(here).map(|order| Amount::from(order.open)).sum()
    }

    /// (available, frozen) of one account in one asset; zeros for a row that does not exist.
    pub fn balance(&self, account: AccountId, asset: AssetId) -> (Amount, Amount) {
        let owned = self.owned.get(&(account, asset)).copied().unwrap_or(0);
        let holds = |order: &&Resting| order.account == account && self.held_asset(order) == asset;
        let frozen: Amount = self.orders.values().filter(holds).map(Resting::reservation).sum();
        assert!(owned >= frozen, "account {account} owns {owned} of asset {asset}, orders hold {frozen}");
        (owned - frozen, frozen)
    }

    /// Every row that was ever more than zero.
    pub fn balances(&self) -> Balances {
        let mut all: Balances = self.owned.iter().map(|(&row, &owned)| (row, (owned, 0))).collect();
        for order in self.orders.values() {
            let row =
                all.get_mut(&(order.account, self.held_asset(order))).expect("an order holds what is owned");
            row.0 -= order.reservation();
            row.1 += order.reservation();
        }
        all
    }

    fn held_asset(&self, order: &Resting) -> AssetId {
        let market = &self.markets[order.market as usize];
        if order.side == Side::Buy { market.quote } else { market.base }
    }

    // ---- what is told ----

    /// Counts a mutation of a level and tells its total.
    fn mutated(&mut self, market: MarketId, side: Side, price: Price, output: &mut Output) {
        self.markets[market as usize].update += 1;
        output.depth(event::Depth {
            update: self.markets[market as usize].update,
            price,
            total: self.level_total(market, side, price).into(),
            market,
            side: side as u8,
            reserved: [0; 3],
        });
    }

    /// Tells the balances in a market's two assets of those whose values differ from `before`.
    fn tell_balances(
        &self,
        market: MarketId,
        acting: Option<AccountId>,
        touched: &[AccountId],
        before: &Balances,
        output: &mut Output,
    ) {
        let mut accounts: Vec<AccountId> = acting.into_iter().collect();
        for &account in touched.iter().filter(|&&account| account != FEE_ACCOUNT).chain(&[FEE_ACCOUNT]) {
            if !accounts.contains(&account) {
                accounts.push(account);
            }
        }
        let Market { base, quote, .. } = self.markets[market as usize];
        let after = self.balances();
        for account in accounts {
            let row = |rows: &Balances, asset| rows.get(&(account, asset)).copied().unwrap_or((0, 0));
            let base_changed = row(before, base) != row(&after, base);
            let quote_changed = row(before, quote) != row(&after, quote);
            if base_changed || quote_changed {
                output.balances(event::Balances {
                    account,
                    base,
                    quote,
                    changed: u64::from(base_changed) | u64::from(quote_changed) << 1,
                    base_available: row(&after, base).0.into(),
                    base_frozen: row(&after, base).1.into(),
                    quote_available: row(&after, quote).0.into(),
                    quote_frozen: row(&after, quote).1.into(),
                });
            }
        }
    }

    fn tell_market(&self, id: MarketId, output: &mut Output) {
        let market = &self.markets[id as usize];
        output.fact(event::Market {
            market: id,
            base: market.base,
            quote: market.quote,
            tick: market.tick,
            lot: market.lot,
            min_notional: market.min_notional.into(),
            maker_fee: market.maker_fee,
            taker_fee: market.taker_fee,
            max_open_orders: market.max_open_orders,
            symbol: market.symbol,
            kind: market.kind,
            status: market.status as u8,
            reserved: [0; 6],
        });
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
        _ => 0,
    }
}

/// The refusals that keep the order (`spot.md` 4).
fn stored(reject: Reject) -> bool {
    use Reject::*;
    [InvalidTick, InvalidLot, BelowMinNotional, InsufficientBalance, PostOnlyWouldCross, SelfTrade]
        .contains(&reject)
}

/// At least `least` of `[A-Z0-9]`, then zeros to the end of the field.
fn is_name(field: &[u8], least: usize) -> bool {
    let text: Vec<u8> = field.iter().copied().take_while(|&byte| byte != 0).collect();
    let zeros = field[text.len()..].iter().all(|&byte| byte == 0);
    let letters = text.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    zeros && letters && text.len() >= least
}

fn is_step(step: i64) -> bool {
    (1..=MAX_ENTRY).contains(&step)
}

fn is_rate(rate: FeeRate) -> bool {
    rate <= 1_000_000
}
