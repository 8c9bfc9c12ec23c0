//! The life of an order beside the match: it enters the tables, rests, shrinks, ends, and takes its attached orders with it.

use super::commit::reason;
use crate::book::pool::NONE;
use crate::book::{Book, Mutation, Orders};
use crate::command::{
    ClientOrder, PerpetualOrderType as Type, PerpetualStatus, PerpetualTimeInForce, SelfTradePrevention,
    Side, TimeInForce, WorkingType, order_flag,
};
use crate::event::{Execution, PerpetualPlaced};
use crate::ids::{AccountId, FIRST_PERPETUAL, MarketId, OrderId, TradeId};
use crate::money::{Money, Price, Quantity};
use crate::order::{Order, Traits};
use crate::perpetual::account::Holding;
use crate::perpetual::client_order_ids::ClientOrderIds;
use crate::perpetual::event_writer::EventWriter;
use crate::perpetual::market::{Range, Symbol};
use crate::perpetual::order::{Details, Stage};
use crate::perpetual::order_index::OrderIndex;
use crate::perpetual::triggers::{Dates, Fresh, Triggers, stop_of};
use crate::perpetual::{Perpetual, State, id_of, markets_in};

/// Index of a market that exists.
#[inline]
pub(crate) fn place_of(market: MarketId) -> usize {
    (market - FIRST_PERPETUAL) as usize
}

impl Perpetual {
    /// Gives an order its slot, and its place among its account's. It is not in the book yet.
    pub(crate) fn register(&mut self, details: &Details) -> u32 {
        self.register_named(details, self.state.client_order_ids.hash(details.account, &details.client_order))
    }

    /// The same of one whose name has the hash `name`.
    #[inline(always)]
    pub(crate) fn register_named(&mut self, details: &Details, name: u64) -> u32 {
        let index = place_of(details.market);
        let slot = self.orders.pool.take();
        *self.orders.pool.get_mut(slot) = Order {
            id: details.id,
            remaining: details.quantity - details.filled,
            price: details.price,
            quantity: details.quantity,
            next: NONE,
            previous: NONE,
            level: 0,
            account: details.account,
            younger: NONE,
            older: NONE,
            market: details.market,
            traits: Traits::new(details.side, TimeInForce::GoodTillCancel, SelfTradePrevention::None, 0),
        };
        self.state.holdings[index].get_mut(details.account).orders.append(&mut self.orders, slot);
        let place = self.details_mut(slot);
        *place = *details;
        place.name = name;
        let state = &mut self.state;
        state.order_index.insert(details.id, slot);
        state.client_order_ids.add(name);
        if details.good_till_ms != 0 {
            state.dates.orders.add(details.good_till_ms, details.id);
        }
        if details.waits() {
            let holding = state.holdings[index].get_mut(details.account);
            if holding.waiting == 0 {
                state.symbols[index].waiters.insert(details.account);
            }
            holding.waiting += 1;
            holding.bound += u32::from(details.is(order_flag::GTE));
            if details.is(order_flag::CLOSE_POSITION) {
                holding.closers |= details.closer_bit();
            }
        }
        if details.stage == Stage::Waiting {
            state.watch(slot);
        }
        slot
    }

    /// Gives a slot to an order that cannot outlive its command and has none attached. Nobody can ask for it before it ends,
    /// so it enters no table.
    #[inline(always)]
    pub(crate) fn register_fleeting(&mut self, details: &Details) -> u32 {
        debug_assert!(details.is_fleeting());
        let slot = self.orders.pool.take();
        *self.details_mut(slot) = *details;
        slot
    }

    /// Puts an order into the book with what it has left, and into its bucket.
    #[inline(always)]
    pub(crate) fn rest(&mut self, index: usize, slot: u32, remaining: Quantity) {
        let Perpetual { books, orders, state, .. } = self;
        let State { details, accounts, holdings, symbols, writer, .. } = state;
        let details = &mut details[slot as usize];
        let holding = holdings[index].get_mut(details.account);
        writer.mutated(index, details.queue(&mut books[index], orders, slot, remaining));
        if details.is(order_flag::REDUCE_ONLY) {
            details.bind(&mut symbols[index], holding);
        } else {
            accounts.get_mut(details.account).touch(index);
            details.reserve(holding, remaining, writer);
        }
    }

    /// Puts an order of a snapshot, whose buckets are there, into the book.
    pub(crate) fn rest_again(&mut self, slot: u32, remaining: Quantity) {
        let Perpetual { books, orders, state, .. } = self;
        let details = &mut state.details[slot as usize];
        let index = place_of(details.market);
        details.queue(&mut books[index], orders, slot, remaining);
        if details.is(order_flag::REDUCE_ONLY) {
            details.bind(&mut state.symbols[index], state.holdings[index].get_mut(details.account));
        }
    }

    /// Takes an order out of the book, if it is in; it stays in the tables.
    #[inline(always)]
    pub(crate) fn remove_from_book(&mut self, slot: u32) {
        let Perpetual { books, orders, state: State { details, holdings, symbols, writer, .. }, .. } = self;
        let details = &mut details[slot as usize];
        let index = place_of(details.market);
        let holding = holdings[index].get_mut(details.account);
        details.leave_book(&mut books[index], orders, slot, (&mut symbols[index], holding), writer);
    }

    /// Ends an open order for its owner, who wants its attached orders to end as well.
    #[inline(always)]
    pub(crate) fn cancel_owned(&mut self, slot: u32) {
        self.state.end_attached(&mut self.orders, slot);
        self.end_canceled(slot);
    }

    /// Ends an open order as canceled.
    pub(crate) fn end_canceled(&mut self, slot: u32) {
        self.end(slot, PerpetualStatus::Canceled, Execution::Canceled, reason::NONE);
    }

    /// Ends an open order as expired.
    pub(crate) fn expire(&mut self, slot: u32, why: u8) {
        self.end(slot, PerpetualStatus::Expired, Execution::Expired, why);
    }

    /// Ends an open order for good. Its attached orders stay with what it has filled.
    pub(crate) fn end(&mut self, slot: u32, status: PerpetualStatus, execution: Execution, why: u8) {
        self.state.end_unfilled(&mut self.orders, slot);
        let details = &self.state.details[slot as usize];
        self.state.writer.emit(details.event(status, execution, why, 0));
        self.state.unwatch(slot, false);
        self.leave(slot);
    }

    /// Ends an order as filled of which less than a lot is left (`risk.md` 17). Its attached orders stay, as of any that is
    /// filled.
    pub(crate) fn finish(&mut self, slot: u32) {
        let details = &self.state.details[slot as usize];
        self.state.writer.emit(details.event(PerpetualStatus::Filled, Execution::Expired, reason::NONE, 0));
        self.leave(slot);
    }

    /// Takes an order that ended out of the book, if it is in, and out of every table, and gives its slot back.
    #[inline(always)]
    fn leave(&mut self, slot: u32) {
        let Perpetual { books, orders, state, .. } = self;
        let State { details, holdings, symbols, writer, order_index, client_order_ids, dates, .. } = state;
        let details = &mut details[slot as usize];
        let index = place_of(details.market);
        let holding = holdings[index].get_mut(details.account);
        details.leave_book(&mut books[index], orders, slot, (&mut symbols[index], holding), writer);
        if !details.is_fleeting() {
            details.strike(orders, slot, holding, Tables { order_index, client_order_ids, dates });
        }
        orders.pool.give(slot);
    }

    /// See [`crate::perpetual::market::Symbol::is_remainder`].
    pub(crate) fn is_remainder(&self, index: usize, slot: u32, open: Quantity) -> bool {
        self.state.symbols[index].is_remainder(&self.state.details[slot as usize], open)
    }

    /// Ends an order that rests if it is a remainder; what [`Perpetual::finish_remainders`] comes to yet waits for that.
    pub(crate) fn finish_remainder(&mut self, index: usize, slot: u32) {
        let is_looked_at = self.state.details[slot as usize].account < self.state.symbols[index].looked_at;
        if is_looked_at && self.is_remainder(index, slot, self.orders.open(slot)) {
            self.finish(slot);
        }
    }

    /// Ends the best order of a side as a remainder: after a match the only one that may have become one.
    pub(crate) fn finish_best(&mut self, index: usize, side: Side) {
        if !self.state.symbols[index].has_odd_lots() || self.books[index].best(&self.orders, side).is_none() {
            return;
        }
        let slot = self.orders.levels.get(self.books[index].side(side).best_level()).head;
        self.finish_remainder(index, slot);
    }

    /// The lot of a market has changed: its accounts are to be looked at for what is less than a lot now.
    pub(crate) fn seek_remainders(&mut self, index: usize) {
        let rests = Side::ALL.iter().any(|&side| self.books[index].best(&self.orders, side).is_some());
        let is_sought = rests && self.state.symbols[index].has_odd_lots();
        self.state.symbols[index].looked_at = if is_sought { 0 } else { AccountId::MAX };
        self.state.work.odd = self.state.work.odd & !(1 << index) | u128::from(is_sought) << index;
    }

    /// Ends remainders of markets whose lot has changed, account by account, of each by ascending ids, as far as there are units.
    pub(super) fn finish_remainders(&mut self) {
        for index in markets_in(self.state.work.odd) {
            while self.state.symbols[index].looked_at < self.state.accounts_count {
                if !self.state.work.take() {
                    return;
                }
                let account = self.state.symbols[index].looked_at;
                self.state.symbols[index].looked_at += 1;
                let mut next = self.state.holding(account, index).orders.oldest;
                while next != NONE {
                    let slot = next;
                    next = self.orders.pool.get(slot).younger;
                    if self.state.details[slot as usize].stage == Stage::Resting {
                        self.finish_remainder(index, slot);
                    }
                }
            }
            self.state.symbols[index].looked_at = AccountId::MAX;
            self.state.work.odd &= !(1 << index);
        }
    }

    /// Takes an order that ended, or was filled, which nothing tells, and that is in no book and waits for nothing, out of every
    /// table, and gives its slot back. Its attached orders stay.
    #[inline(always)]
    pub(crate) fn complete(&mut self, slot: u32) {
        if !self.state.details[slot as usize].is_fleeting() {
            self.state.strike(&mut self.orders, slot);
        }
        self.orders.pool.give(slot);
    }

    /// Open orders of an account in a market, oldest first.
    pub(crate) fn open_orders(&self, account: AccountId, index: usize) -> impl Iterator<Item = u32> + '_ {
        let mut slot = self.state.holding(account, index).orders.oldest;
        std::iter::from_fn(move || {
            let found = slot;
            (found != NONE).then(|| {
                slot = self.orders.pool.get(found).younger;
                found
            })
        })
    }

    /// Has `end` end every open order of an account in a market that `choose` picks, ascending ids.
    pub(crate) fn end_all(
        &mut self,
        account: AccountId,
        index: usize,
        end: impl Fn(&mut Perpetual, u32),
        choose: impl Fn(&Details) -> bool,
    ) {
        let mut to_cancel = std::mem::take(&mut self.state.to_cancel);
        to_cancel.clear();
        to_cancel.extend(
            self.open_orders(account, index)
                .filter(|&slot| choose(&self.state.details[slot as usize]))
                .map(|slot| self.orders.pool.get(slot).id),
        );
        for &id in &to_cancel {
            // Attached orders may have gone with an earlier one.
            if let Some(slot) = self.state.order_index.find(id) {
                end(self, slot);
            }
        }
        self.state.to_cancel = to_cancel;
    }
}

/// An order by which the engine closes a position, or takes one over.
pub(crate) struct Closing {
    pub(crate) account: AccountId,
    pub(crate) index: usize,
    pub(crate) side: Side,
    pub(crate) quantity: Quantity,
    /// 0: any, where the book is passed over.
    pub(crate) price: Price,
}

/// What such an order is called.
#[derive(Clone, Copy)]
pub(crate) enum Named {
    /// `autoclose-<ms><order id>`: of who is liquidated, and of the fund.
    AutoClose(i64),
    /// Of a counterparty.
    Deleveraging,
    /// Of a market that is settled.
    Settlement,
}

impl Closing {
    /// What it is beyond its record in the book, where it never stands.
    pub(crate) fn details(&self, id: OrderId, name: Named) -> Details {
        Details {
            id,
            account: self.account,
            market: id_of(self.index),
            price: self.price,
            side: self.side,
            order_type: Type::Liquidation,
            original_type: Type::Liquidation,
            time_in_force: PerpetualTimeInForce::ImmediateOrCancel,
            stage: Stage::Running,
            quantity: self.quantity,
            client_order: name.of(id),
            ..Details::default()
        }
    }
}

impl Named {
    /// The name of an order, cut to 36.
    fn of(self, id: OrderId) -> ClientOrder {
        let mut name = [0; 36];
        let mut len = 0;
        let mut put = |byte: u8| {
            if let Some(place) = name.get_mut(len) {
                *place = byte;
                len += 1;
            }
        };
        match self {
            Named::AutoClose(now_ms) => {
                b"autoclose-".iter().for_each(|&byte| put(byte));
                for number in [now_ms as u64, id] {
                    let digits = number.checked_ilog10().unwrap_or(0);
                    for digit in (0..=digits).rev() {
                        put(b'0' + (number / 10u64.pow(digit) % 10) as u8);
                    }
                }
            }
            Named::Deleveraging => b"adl_autoclose".iter().for_each(|&byte| put(byte)),
            Named::Settlement => b"settlement_autoclose".iter().for_each(|&byte| put(byte)),
        }
        name
    }
}

/// Where an open order is found by its id, its name and its date.
struct Tables<'a> {
    order_index: &'a mut OrderIndex,
    client_order_ids: &'a mut ClientOrderIds,
    dates: &'a mut Dates,
}

impl Details {
    /// Lowers what it has open in the bucket of its side from `before` to `after`, and tells it.
    #[inline(always)]
    pub(super) fn rebook(
        &self,
        holding: &mut Holding,
        (before, after): (Quantity, Quantity),
        writer: &mut EventWriter,
    ) {
        if self.reserved_quantity != 0 {
            holding.rebook(self.side, (self.reservation, self.reserved_quantity), before, after);
            writer.emit(holding.exposure_event(self.account, self.market));
        }
    }

    /// Adds what it has open to the bucket of its side, and tells it.
    #[inline(always)]
    pub(super) fn reserve(&self, holding: &mut Holding, remaining: Quantity, writer: &mut EventWriter) {
        let part = self.reservation.scaled(remaining, self.reserved_quantity);
        let bucket = part.and_then(|part| holding.bucket(self.side).with(remaining, part));
        let Some(bucket) = bucket else { unreachable!("sums of accepted orders") };
        holding.set_bucket(self.side, bucket);
        writer.emit(holding.exposure_event(self.account, self.market));
    }

    /// Comes into a book with `remaining` open.
    #[inline(always)]
    fn queue(&mut self, book: &mut Book, orders: &mut Orders, slot: u32, remaining: Quantity) -> Mutation {
        self.stage = Stage::Resting;
        let record = orders.pool.get_mut(slot);
        (record.remaining, record.price, record.quantity) = (remaining, self.price, self.filled + remaining);
        book.queue_there(orders, slot, book.key(self.side, self.price))
    }

    /// Leaves the book, if it is in, and its bucket.
    #[inline(always)]
    fn leave_book(
        &mut self,
        book: &mut Book,
        orders: &mut Orders,
        slot: u32,
        (symbol, holding): (&mut Symbol, &mut Holding),
        writer: &mut EventWriter,
    ) {
        if self.stage != Stage::Resting {
            return;
        }
        let remaining = orders.open(slot);
        writer.mutated(place_of(self.market), book.take_out(orders, slot));
        self.rebook(holding, (remaining, 0), writer);
        self.unbind(symbol, holding);
        self.stage = Stage::Running;
    }

    /// Leaves every table, neither resting nor waiting.
    #[inline(always)]
    fn strike(&mut self, orders: &mut Orders, slot: u32, holding: &mut Holding, tables: Tables<'_>) {
        self.stage = Stage::Running;
        holding.orders.unlink(orders, slot);
        tables.order_index.remove(self.id);
        tables.client_order_ids.remove(self.name);
        if self.good_till_ms != 0 {
            tables.dates.orders.ended(|_, id| tables.order_index.find(id).is_some());
        }
    }

    /// Resting and reduce-only, it counts.
    #[inline(always)]
    fn bind(&self, symbol: &mut Symbol, holding: &mut Holding) {
        symbol.reducing[self.side as usize & 1] += 1;
        holding.bound += 1;
    }

    /// Resting and reduce-only, it counts no longer.
    #[inline(always)]
    fn unbind(&self, symbol: &mut Symbol, holding: &mut Holding) {
        if self.stage == Stage::Resting && self.is(order_flag::REDUCE_ONLY) {
            symbol.reducing[self.side as usize & 1] -= 1;
            holding.bound -= 1;
        }
    }
}

impl EventWriter {
    /// Tells a new order, names first; `reference` is what it adds to the reference value of its side, `fired` the one that it goes
    /// on for.
    #[inline(always)]
    pub(super) fn tell_new(&mut self, details: &Details, fired: OrderId, reference: Money) {
        self.emit(PerpetualPlaced {
            order: details.id,
            account: details.account,
            market: details.market,
            fired,
            client_order: details.client_order,
            reserved: 0,
            reference,
        });
        self.emit(details.event(PerpetualStatus::New, Execution::New, reason::NONE, details.quantity));
    }
}

impl State {
    /// Tells an order that the trade told next fills: of who takes a position over, or is settled. Its id.
    pub(crate) fn place_filled(&mut self, closing: &Closing, name: Named) -> OrderId {
        let id = self.next_order;
        self.next_order += 1;
        self.writer.tell_new(&closing.details(id, name), 0, 0);
        id
    }

    /// The id of a trade that is not made in the book.
    pub(crate) fn next_trade(&mut self, index: usize) -> TradeId {
        let symbol = &mut self.symbols[index];
        symbol.trades += 1;
        symbol.trades
    }

    /// An attached order waits for its price from now on, the one in force first.
    fn begin_watching(&mut self, slot: u32) {
        self.watch(slot);
        let details = &self.details[slot as usize];
        let (order, market) = (details.id, place_of(details.market));
        let symbol = &mut self.symbols[market];
        let (last, mark) = (symbol.contract_price(), symbol.prices.mark);
        // Whoever watched it before has been judged by it, and is so again.
        symbol.mark_range.add(mark);
        self.moved |= 1 << market;
        self.fresh.push(Fresh { order, market, seen: [Range::of(last), Range::of(mark)] });
    }

    /// Shows a price of a fill to attached orders that began to watch within the command.
    #[inline]
    pub(crate) fn show_fresh(&mut self, market: usize, price: Price) {
        for fresh in self.fresh.iter_mut().filter(|fresh| fresh.market == market) {
            fresh.seen[WorkingType::ContractPrice as usize].add(price);
        }
    }

    /// Puts a waiting order where its price will find it.
    pub(crate) fn watch(&mut self, slot: u32) {
        let details = &self.details[slot as usize];
        let (id, stop, working) = (details.id, details.stop_price, details.working_type as usize);
        let triggers: &mut Triggers = &mut self.triggers[place_of(details.market)];
        match stop_of(details) {
            Some((heap, key)) => triggers.stops[working][heap].add(&mut triggers.slab, key, details),
            None => {
                let trailing =
                    &mut triggers.trailing[working][usize::from(details.is(order_flag::PRICE_PROTECT))];
                let callback = details.callback_rate.into();
                // It turned: from a snapshot, of a market that was not open, or due. Versions before 12 kept its extreme.
                if details.has_turned && trailing.are_sure() && details.extreme == 0 {
                    return trailing.add_turned(id);
                }
                trailing.add(details.side, callback, stop, details.extreme, id);
                if details.has_turned {
                    trailing.turned.push(id);
                }
            }
        }
    }

    /// A waiting order waits no longer: it fired, or ends. `was_taken`: it was taken from among those that are due.
    #[inline(always)]
    pub(crate) fn unwatch(&mut self, slot: u32, was_taken: bool) {
        let details = &self.details[slot as usize];
        if details.waits() {
            self.unwatch_waiting(slot, was_taken);
        }
    }

    #[inline(never)]
    fn unwatch_waiting(&mut self, slot: u32, was_taken: bool) {
        let details = self.details[slot as usize];
        let index = place_of(details.market);
        let holding = self.holdings[index].get_mut(details.account);
        holding.waiting -= 1;
        if holding.waiting == 0 {
            self.symbols[index].waiters.remove(details.account);
        }
        holding.bound -= u32::from(details.is(order_flag::GTE));
        if details.is(order_flag::CLOSE_POSITION) {
            holding.closers &= !details.closer_bit();
        }
        if details.stage == Stage::Dormant {
            return;
        }
        let working = details.working_type as usize;
        let State { triggers, order_index, details: all, .. } = self;
        let triggers = &mut triggers[index];
        let was_due = match stop_of(&details) {
            Some((heap, key)) => {
                !was_taken && !triggers.stops[working][heap].remove(&mut triggers.slab, key, &details)
            }
            None => {
                let may_be_held = usize::from(details.is(order_flag::PRICE_PROTECT));
                triggers.trailing[working][may_be_held].ended(|id| {
                    id != details.id
                        && order_index.find(id).is_some_and(|slot| all[slot as usize].stage == Stage::Waiting)
                });
                !was_taken && details.is_queued
            }
        };
        triggers.due_count -= u32::from(was_due);
    }

    /// Cancels the attached orders of an order that ends with nothing filled: there is nothing for them to cover.
    #[inline(always)]
    pub(crate) fn end_unfilled(&mut self, orders: &mut Orders, slot: u32) {
        if self.details[slot as usize].filled == 0 {
            self.end_attached(orders, slot);
        }
    }

    /// Cancels the attached orders of an order.
    #[inline(always)]
    pub(crate) fn end_attached(&mut self, orders: &mut Orders, slot: u32) {
        if self.details[slot as usize].children != [0; 2] {
            self.end_children(orders, slot);
        }
    }

    #[inline(never)]
    fn end_children(&mut self, orders: &mut Orders, slot: u32) {
        for child in self.details[slot as usize].children.into_iter().filter(|&child| child != 0) {
            // One that fired goes its own way.
            if let Some(place) = self.order_index.find(child)
                && self.details[place as usize].waits()
            {
                self.cancel_waiting(orders, place);
            }
        }
    }

    /// Cancels an order that is not in the book.
    pub(crate) fn cancel_waiting(&mut self, orders: &mut Orders, slot: u32) {
        let status = PerpetualStatus::Canceled;
        let event = self.details[slot as usize].event(status, Execution::Canceled, reason::NONE, 0);
        self.writer.emit(event);
        self.forget(orders, slot);
        orders.pool.give(slot);
    }

    /// Takes an order out of every table but its slot, which the caller gives back, and the book, which has lost it or never had it.
    #[inline]
    pub(crate) fn forget(&mut self, orders: &mut Orders, slot: u32) {
        self.unwatch(slot, false);
        let State { details, holdings, symbols, .. } = self;
        let details = &details[slot as usize];
        let index = place_of(details.market);
        details.unbind(&mut symbols[index], holdings[index].get_mut(details.account));
        self.strike(orders, slot);
    }

    /// The same of one that neither rests nor waits.
    #[inline(always)]
    fn strike(&mut self, orders: &mut Orders, slot: u32) {
        let State { details, holdings, order_index, client_order_ids, dates, .. } = self;
        let details = &mut details[slot as usize];
        let holding = holdings[place_of(details.market)].get_mut(details.account);
        details.strike(orders, slot, holding, Tables { order_index, client_order_ids, dates });
    }

    /// Lets the attached orders of an order grow to what it has filled.
    #[inline(always)]
    pub(crate) fn grow_attached(&mut self, parent: u32) {
        if self.details[parent as usize].children != [0; 2] {
            self.grow_children(parent);
        }
    }

    #[inline(never)]
    fn grow_children(&mut self, parent: u32) {
        let details = &self.details[parent as usize];
        let filled = details.filled;
        for child in details.children.into_iter().filter(|&child| child != 0) {
            let Some(slot) = self.order_index.find(child) else { continue };
            let details = &mut self.details[slot as usize];
            if !details.waits() {
                continue;
            }
            details.quantity = filled;
            let wakes = details.stage == Stage::Dormant;
            if wakes {
                details.stage = Stage::Waiting;
            }
            let event = details.event(PerpetualStatus::New, Execution::Amended, reason::NONE, filled);
            self.writer.emit(event);
            if wakes {
                self.begin_watching(slot);
            }
        }
    }
}
