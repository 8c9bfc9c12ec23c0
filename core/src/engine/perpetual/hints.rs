//! Hints to the processor about what the commands that come soon will touch. They change no state and no result.

use crate::book::level::Levels;
use crate::book::pool::NONE;
use crate::book::{Book, Orders};
use crate::command::{CancelPerpetual, Command, Kind, ModifyPerpetual, PlacePerpetual, Side};
use crate::ids::AccountId;
use crate::perpetual::order::name_hash;
use crate::perpetual::{Perpetual, State};
use crate::prefetch::prefetch;
use std::hint::select_unpredictable;
use std::mem::offset_of;

/// A command that places an order or names one: each field stands where it does in all kinds that have it.
struct Soon<'p> {
    /// As a placement, whatever it is.
    place: &'p PlacePerpetual,
    /// As one that names an order, whatever it is.
    named: &'p CancelPerpetual,
    is_new: bool,
    index: usize,
    book: &'p Book,
}

const _: () = assert!(
    offset_of!(PlacePerpetual, account) == offset_of!(CancelPerpetual, account)
        && offset_of!(PlacePerpetual, market) == offset_of!(CancelPerpetual, market)
        && offset_of!(CancelPerpetual, account) == offset_of!(ModifyPerpetual, account)
        && offset_of!(CancelPerpetual, market) == offset_of!(ModifyPerpetual, market)
        && offset_of!(CancelPerpetual, order) == offset_of!(ModifyPerpetual, order)
);

/// Hints that commands come soon, as `Engine::prefetch` gives them: as there, what is read is chosen, not jumped to.
impl Perpetual {
    /// Has begun to load what the first order on the other side of a book needs for a fill.
    #[inline]
    pub(crate) fn prefetch_meeting(&self, index: usize, side: Side) {
        let Perpetual { books, orders, state, .. } = self;
        let first = orders.levels.get(books[index].side(side.opposite()).best_level()).head;
        state.prefetch_maker(index, orders, first);
    }

    /// What hints read of a command on a perpetual market.
    #[inline(always)]
    fn soon<'p>(&'p self, command: &'p Command) -> Option<Soon<'p>> {
        const PLACE: u16 = Kind::PlacePerpetual as u16;
        const CANCEL: u16 = Kind::CancelPerpetual as u16;
        const MODIFY: u16 = Kind::ModifyPerpetual as u16;
        if !matches!(command.kind, PLACE | CANCEL | MODIFY) {
            return None;
        }
        let place: &PlacePerpetual = command.body();
        let index = self.state.index_of(place.market)?;
        let (is_new, book) = (command.kind == PLACE, &self.books[index]);
        Some(Soon { place, named: command.body(), is_new, index, book })
    }

    /// The account, and where the order and its name are.
    #[inline(never)]
    pub(crate) fn prefetch_first(&self, command: &Command) {
        let Some(Soon { place, named, is_new, index, book }) = self.soon(command) else { return };
        let Perpetual { orders, state, .. } = self;
        state.prefetch_account(index, place.account);
        state.slots.hint(select_unpredictable(is_new, 0, named.order));
        let name = name_hash(place.account, &place.client_order);
        state.names.hint(select_unpredictable(is_new, name, 0));
        let joined = book.hint(&orders.levels, side_of(place), place.price);
        prefetch(orders.levels.get(select_unpredictable(is_new, joined, 0)));
    }

    /// The order itself; of a new one that which it comes to stand behind, or meets, and the youngest of its account.
    #[inline(never)]
    pub(crate) fn prefetch_second(&self, command: &Command) {
        let Some(soon) = self.soon(command) else { return };
        let Soon { place, named, is_new, index, book } = soon;
        let Perpetual { orders, state, .. } = self;
        let Orders { pool, levels, .. } = orders;
        let trades = soon.trades();
        let joined = levels.get(book.hint(levels, side_of(place), place.price)).tail;
        let linked = select_unpredictable(trades, soon.met(levels), joined);
        let named = state.slots.guess(named.order);
        prefetch(pool.get(select_unpredictable(is_new, linked, named)));
        let youngest = state.holding(place.account, index).orders.youngest;
        prefetch(pool.get(select_unpredictable(is_new, youngest, NONE)));
        // Of an order that is only stood behind no terms are asked for.
        let met = select_unpredictable(trades, linked, NONE);
        state.prefetch_details(select_unpredictable(is_new, met, named));
        if is_new & trades {
            state.prefetch_filled(index, place.account);
        }
    }

    /// What is linked to the order, and its name; of one that is met, its account as well. That of a new one is none, whose
    /// neighbours are near.
    #[inline(never)]
    pub(crate) fn prefetch_third(&self, command: &Command) {
        let Some(soon) = self.soon(command) else { return };
        let Soon { place, named, is_new, index, .. } = soon;
        let Perpetual { orders, state, .. } = self;
        if is_new & soon.trades() {
            state.volumes.hint(state.accounts.get(place.account).hour);
            let met = soon.met(&orders.levels);
            state.prefetch_details(orders.pool.get(met).next);
            return state.prefetch_maker(index, orders, met);
        }
        let slot = select_unpredictable(is_new, NONE, state.slots.guess(named.order));
        orders.prefetch_around(slot);
        if let Some(details) = state.details.get(slot as usize) {
            state.names.hint(name_hash(details.account, &details.client_order));
        }
    }
}

/// Of a placement; means nothing otherwise.
#[inline(always)]
fn side_of(place: &PlacePerpetual) -> Side {
    select_unpredictable(place.side == Side::Buy as u8, Side::Buy, Side::Sell)
}

impl Soon<'_> {
    /// Whether a placement finds prices to trade at; means nothing otherwise.
    #[inline(always)]
    fn trades(&self) -> bool {
        let opposite = self.book.side(side_of(self.place).opposite());
        opposite.best() <= opposite.key(self.book.steps(self.place.price))
    }

    /// The first order on the other side.
    #[inline(always)]
    fn met(&self, levels: &Levels) -> u32 {
        levels.get(self.book.side(side_of(self.place).opposite()).best_level()).head
    }
}

impl State {
    /// What of an account an order touches.
    #[inline(always)]
    pub(super) fn prefetch_account(&self, index: usize, account: AccountId) {
        self.prefetch_holding(index, account);
        prefetch(self.accounts.get(account));
    }

    /// What of it the cancel of one touches.
    #[inline(always)]
    pub(super) fn prefetch_holding(&self, index: usize, account: AccountId) {
        let holding = self.holding(account, index);
        // Its first two lines.
        prefetch(holding);
        prefetch(&holding.waiting);
    }

    /// What of an account a fill touches.
    #[inline(always)]
    pub(super) fn prefetch_party(&self, index: usize, account: AccountId) {
        let (holding, record) = (self.holding(account, index), self.accounts.get(account));
        // Its three lines, and both of the record.
        prefetch(holding);
        prefetch(&holding.waiting);
        prefetch(&holding.realised);
        prefetch(record);
        prefetch(&record.volume);
        self.bands.hint(index, account);
    }

    /// What of an account a fill touches, and an order does not.
    #[inline(always)]
    pub(super) fn prefetch_filled(&self, index: usize, account: AccountId) {
        prefetch(&self.accounts.get(account).volume);
        prefetch(&self.holding(account, index).realised);
        self.bands.hint(index, account);
    }

    /// What the fill of a resting order touches, that of the one behind it apart.
    #[inline]
    pub(super) fn prefetch_maker(&self, index: usize, orders: &Orders, slot: u32) {
        let maker = orders.pool.get(slot);
        self.prefetch_details(slot);
        self.prefetch_party(index, maker.account);
        self.slots.hint(maker.id);
        for neighbour in [maker.next, maker.younger, maker.older] {
            prefetch(orders.pool.get(neighbour));
        }
    }

    #[inline(always)]
    pub(super) fn prefetch_details(&self, slot: u32) {
        if let Some(details) = self.details.get(slot as usize) {
            prefetch(details);
            prefetch(&details.value);
            prefetch(&details.reservation);
        }
    }
}
