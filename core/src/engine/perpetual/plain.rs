//! How a plain order that rests whole, leaves or changes is written: its account's order margin is all that it changes, so its events
//! are told at once, and nothing is noted, trimmed or tested after it. Whether it may is decided where every order's is
//! (`place.rs`, `modify.rs`, `account.rs`).

use super::commit::reason;
use super::judge::Terms;
use crate::book::Orders;
use crate::book::pool::NONE;
use crate::command::{PerpetualStatus, SelfTradePrevention, TimeInForce};
use crate::emit::{Emitter, Places, depth_event};
use crate::event::{Execution, PerpetualPlaced, Sink};
use crate::order::{Order, Traits};
use crate::perpetual::order::{Details, Stage};
use crate::perpetual::{Perpetual, State};

impl State {
    /// Whether no scan has anything to do that the command does not bring about itself.
    #[inline(always)]
    pub(super) fn is_quiet(&self) -> bool {
        let is_recalled = self.recalls.peek().is_some_and(|recall| recall.0.0 <= self.now_ms);
        (self.alert == 0)
            & !self.has_backlog()
            & !self.facts.are_kept()
            & self.shortfall.is_empty()
            & !is_recalled
            & !self.tests_all
            & !self.keeps_all_facts
    }

    /// The hash of an order's name, whose cell begins to load.
    #[inline(always)]
    pub(super) fn hinted_name(&self, details: &Details) -> u64 {
        let name = self.names.hash(details.account, &details.client_order);
        self.names.hint(name);
        name
    }

    /// Takes a plain order that has left its book, and whose name has the hash `name`, out of the tables, and gives its slot
    /// back.
    #[inline(always)]
    pub(super) fn forget_plain(&mut self, index: usize, orders: &mut Orders, slot: u32, name: u64) {
        let details = &mut self.details[slot as usize];
        let (account, id) = (details.account, details.id);
        details.stage = Stage::Running;
        self.names.remove(name);
        self.slots.remove(id);
        self.holdings[index].get_mut(account).orders.unlink(orders, slot);
        debug_assert!(slot != NONE);
        orders.pool.give(slot);
    }
}

impl Details {
    /// Whether it rests with nothing beside it: no flag, no date, nothing attached, and a margin of its own.
    #[inline(always)]
    pub(super) fn rests_plainly(&self) -> bool {
        self.stage == Stage::Resting
            && self.flags == 0
            && self.reserved_quantity != 0
            && self.good_till_ms == 0
            && self.children == [0; 2]
    }
}

impl Perpetual {
    /// Writes a new order, whose name has the hash `name`, that rests whole.
    #[inline(always)]
    pub(super) fn write_rest<S: Sink>(
        &mut self,
        index: usize,
        details: &mut Details,
        (terms, name): (&Terms, u64),
        emitter: &mut Emitter<'_, S>,
    ) {
        let Perpetual { books, orders, state, .. } = self;
        let &Details { id, account, market, price, side, quantity, client_order, .. } = &*details;
        let reference = terms.reservation.reference;
        let mut apart = None;
        let mut events: Places<'_, 4> = emitter.places(&mut apart);
        events.put(
            0,
            PerpetualPlaced { order: id, account, market, fired: 0, client_order, reserved: 0, reference },
        );
        events.put(1, details.event(PerpetualStatus::New, Execution::New, reason::NONE, quantity));
        let holding = state.holdings[index].get_mut(account);
        let record = Order {
            id,
            remaining: quantity,
            price,
            quantity,
            next: NONE,
            previous: NONE,
            level: 0,
            account,
            younger: NONE,
            older: holding.orders.youngest,
            market,
            traits: Traits::new(side, TimeInForce::GoodTillCancel, SelfTradePrevention::None, 0),
        };
        let key = books[index].key(side, price);
        let (slot, mutation) = books[index].queue_new(orders, record, key);
        events.put(2, depth_event(market, mutation));
        holding.orders.link(orders, slot, side);
        let Some(bucket) = holding.bucket(side).with(quantity, terms.reservation) else {
            unreachable!("sums of accepted orders")
        };
        holding.set_bucket(side, bucket);
        events.put(3, holding.exposure_event(account, market));
        state.slots.insert(id, slot);
        state.names.add(name);
        if state.details.len() <= slot as usize {
            state.details.resize(slot as usize + 4096, Details::default());
        }
        details.stage = Stage::Resting;
        (details.reservation, details.reserved_quantity) = (terms.reservation, terms.reserved_quantity);
        state.details[slot as usize] = *details;
        state.accounts.get_mut(account).markets[index / 64] |= 1 << (index % 64);
        emitter.bring(apart);
    }

    /// Writes the cancel of an order that rests plainly.
    #[inline(always)]
    pub(super) fn write_cancel<S: Sink>(&mut self, index: usize, slot: u32, emitter: &mut Emitter<'_, S>) {
        let Perpetual { books, orders, state, .. } = self;
        orders.prefetch_around(slot);
        let details = &state.details[slot as usize];
        let name = state.hinted_name(details);
        let &Details { account, market, side, reservation, reserved_quantity, .. } = details;
        let mut apart = None;
        let mut events: Places<'_, 3> = emitter.places(&mut apart);
        events.put(0, details.event(PerpetualStatus::Canceled, Execution::Canceled, reason::NONE, 0));
        let remaining = orders.pool.get(slot).remaining;
        let mutation = books[index].take_out(orders, slot);
        events.put(1, depth_event(market, mutation));
        let holding = state.holdings[index].get_mut(account);
        holding.rebook(side, (reservation, reserved_quantity), remaining, 0);
        events.put(2, holding.exposure_event(account, market));
        state.forget_plain(index, orders, slot, name);
        emitter.bring(apart);
    }

    /// Writes what a modification makes of an order that rests plainly, and rests again.
    #[inline(always)]
    pub(super) fn write_change<S: Sink>(
        &mut self,
        index: usize,
        slot: u32,
        (new, terms): (&Details, &Terms),
        emitter: &mut Emitter<'_, S>,
    ) {
        let Perpetual { books, orders, state, .. } = self;
        let &Details { account, market, side, price, quantity, filled, .. } = new;
        let open = quantity - filled;
        let old = &mut state.details[slot as usize];
        let (reservation, whole) = (old.reservation, old.reserved_quantity);
        emitter.emit(old.amended_to(new, terms.reference_of(new)));
        emitter.emit(new.event(new.open_status(), Execution::Amended, reason::NONE, open));
        *old = Details { reservation: terms.reservation, reserved_quantity: terms.reserved_quantity, ..*new };
        let remaining = orders.pool.get(slot).remaining;
        let left = books[index].take_out(orders, slot);
        let order = orders.pool.get_mut(slot);
        (order.remaining, order.quantity, order.price) = (open, quantity, price);
        let entered = books[index].rest(orders, slot);
        if left.price != entered.price {
            emitter.emit(depth_event(market, left));
        }
        emitter.emit(depth_event(market, entered));
        let holding = state.holdings[index].get_mut(account);
        let before = holding.bucket(side);
        holding.rebook(side, (reservation, whole), remaining, 0);
        let Some(bucket) = holding.bucket(side).with(open, terms.reservation) else {
            unreachable!("sums of accepted orders")
        };
        holding.set_bucket(side, bucket);
        if bucket != before {
            emitter.emit(holding.exposure_event(account, market));
        }
    }
}
