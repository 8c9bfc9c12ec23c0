//! After the match: reduce-only orders are trimmed to their positions, and orders whose price has come are run
//! (`risk.md` 13, 14).

use super::admission::Admission;
use super::commit::reason;
use super::execute::Role;
use super::orders::place_of;
use crate::command::{
    PerpetualParameter, PerpetualState, PerpetualStatus, PriceMatch, SelfTradePrevention, WorkingType,
    order_flag,
};
use crate::event::{Execution, TriggerDeferred, TriggerRefused};
use crate::ids::{AccountId, OrderId};
use crate::money::Price;
use crate::perpetual::market::Range;
use crate::perpetual::order::{Details, Stage};
use crate::perpetual::trailing::Trailings;
use crate::perpetual::triggers::{Batch, Triggers, stop_of};
use crate::perpetual::{Perpetual, State};
use crate::reject::Reject;
use crate::risk::perpetual::index::IndexState;
use crate::risk::perpetual::reduce_only;
use crate::risk::perpetual::trigger::is_deferred;

impl Perpetual {
    /// Trims orders of every account whose position shrank or turned since the last time, as far as there are units; whether all
    /// were.
    pub(crate) fn trim(&mut self) -> bool {
        self.state.collect_trims();
        if self.state.work.trims.is_empty() {
            return true;
        }
        let mut trims = std::mem::take(&mut self.state.work.trims);
        trims.retain(|&(index, account, turned)| !self.trim_account(account, index, turned));
        self.state.work.trims = trims;
        self.state.work.trims.is_empty()
    }

    /// `turned`: the position became zero or changed sides. Whether there were units enough.
    fn trim_account(&mut self, account: AccountId, index: usize, turned: bool) -> bool {
        let held = self.state.holding(account, index).quantity;
        let mut to_cancel = std::mem::take(&mut self.state.to_cancel);
        to_cancel.clear();
        to_cancel.extend(
            self.open_orders(account, index)
                .filter(|&slot| {
                    let details = &self.state.details[slot as usize];
                    details.is(order_flag::GTE)
                        || (details.stage == Stage::Resting && details.is(order_flag::REDUCE_ONLY))
                })
                .map(|slot| self.orders.pool.get(slot).id),
        );
        let mut is_done = true;
        for &id in &to_cancel {
            let Some(slot) = self.state.order_index.find(id) else { continue };
            let details = self.state.details[slot as usize];
            let (open, left, ends) = if details.stage == Stage::Resting {
                let open = self.orders.open(slot);
                let left = reduce_only::shrunk(details.side, open, held);
                (open, left, left == 0)
            } else {
                let ends = turned && details.waits() && reduce_only::shrunk(details.side, 1, held) == 0;
                (0, 0, ends)
            };
            if !ends && left == open {
                continue;
            }
            if !self.state.work.take() {
                is_done = false;
                break;
            }
            if details.stage == Stage::Resting {
                if ends {
                    self.expire(slot, reason::REDUCE_ONLY);
                } else {
                    let mutation = self.books[index].shrink(&mut self.orders, slot, open - left);
                    let details = &mut self.state.details[slot as usize];
                    details.is_shortened = true;
                    let status = details.open_status();
                    let event = details.event(status, Execution::Amended, reason::NONE, left);
                    self.state.writer.emit(event);
                    self.state.writer.mutated(index, mutation);
                }
            } else {
                self.expire(slot, reason::CLOSE_POSITION);
            }
        }
        self.state.to_cancel = to_cancel;
        is_done
    }

    /// Runs every order whose price has come, and those that these bring about, as far as there are units.
    pub(crate) fn run_triggers(&mut self) {
        loop {
            let is_trimmed = self.trim();
            let mut moved = self.state.moved;
            while moved != 0 {
                self.state.collect_fired(moved.trailing_zeros() as usize);
                moved &= moved - 1;
            }
            if !is_trimmed || self.state.work.left == 0 || self.state.work.due == 0 {
                return;
            }
            let Some((index, id)) = self.state.next_due() else { return };
            self.state.triggers[index].take_next(id);
            self.state.work.take();
            if let Some(slot) = self.state.order_index.find(id) {
                self.fire(slot);
            }
        }
    }

    /// Runs one fired order to its end.
    #[inline(never)]
    fn fire(&mut self, slot: u32) {
        self.state.settle_first(self.state.details[slot as usize].account);
        self.state.unwatch(slot, true);
        let sibling = self.state.sibling(slot).map(|slot| self.state.details[slot as usize].id);
        let details = &mut self.state.details[slot as usize];
        details.stage = Stage::Running;
        (details.is_deferred, details.is_queued) = (false, false);
        if details.parent != 0 {
            // What is open of the entry must not go on without its protection, nor meet it.
            details.self_trade = SelfTradePrevention::ExpireMaker;
            if let Some(parent) = self.state.order_index.find(details.parent) {
                self.end_canceled(parent);
            }
        }
        let before = self.state.details[slot as usize];
        let index = place_of(before.market);
        let mut slot = slot;
        let prepared = self.prepare_fired(slot, index);
        match prepared {
            Ok(admission) => {
                if before.is(order_flag::CONDITIONAL_SERVICE) {
                    slot = self.go_on_as_new(slot, &admission);
                } else {
                    let details = &self.state.details[slot as usize];
                    let event = details.event(
                        PerpetualStatus::New,
                        Execution::Triggered,
                        reason::NONE,
                        details.quantity,
                    );
                    self.state.writer.emit(event);
                }
                self.execute(slot, &admission, Role::Owner);
                self.trim();
            }
            Err(reject) => {
                let why = if before.is(order_flag::CLOSE_POSITION) && reject == Reject::ReduceOnlyRefused {
                    reason::CLOSE_POSITION
                } else {
                    self.state.writer.emit(TriggerRefused {
                        order: before.id,
                        account: before.account,
                        market: before.market,
                        reject: reject.code(),
                        reserved: [0; 6],
                    });
                    reason::REFUSED
                };
                self.expire(slot, why);
            }
        }
        if let Some(slot) = sibling.and_then(|id| self.state.order_index.find(id)) {
            self.state.cancel_waiting(&mut self.orders, slot);
        }
    }

    /// Makes a fired order an ordinary one, and judges it.
    fn prepare_fired(&mut self, slot: u32, index: usize) -> Result<Admission, Reject> {
        let mut details = self.state.details[slot as usize];
        details.order_type = details.original_type.fired();
        let held = self.state.holding(details.account, index).quantity;
        let mut reject = None;
        if details.is(order_flag::CLOSE_POSITION) {
            details.quantity = held.abs();
        }
        if details.reduces() {
            match reduce_only::clamped(details.side, details.quantity, held) {
                Some(quantity) => details.quantity = quantity,
                None => reject = Some(Reject::ReduceOnlyRefused),
            }
        } else if self.state.symbols[index].state() == PerpetualState::ReduceOnly {
            reject = Some(Reject::StateRefuses);
        } else {
            // It waited since before its account might place nothing any more, which may still close.
            let (account, holding) = (details.account, self.state.holding(details.account, index));
            reject = self.state.accounts.get(account).may_run(holding).err();
        }
        if details.price_match != PriceMatch::None {
            match self.matched_price(index, details.side, details.price_match) {
                Some(price) => details.price = price,
                None => reject = reject.or(Some(Reject::NoPriceMatch)),
            }
        }
        if let Some(reject) = reject {
            return Err(reject);
        }
        if details.price_match != PriceMatch::None {
            // Filters that ask for the price had none to judge before (`perpetual.md` 7.5).
            let (symbol, record) = (&self.state.symbols[index], self.state.accounts.get(details.account));
            let most = self.state.order_notional_max(details.account, (index, symbol), record);
            symbol.check_price(details.price)?;
            symbol.check_notional(&details, details.price, most)?;
            symbol.check_band(details.side, details.price)?;
        }
        let leverage = self.state.leverage(details.account, index);
        let admission = self.judge(index, &details, leverage, None)?;
        self.state.details[slot as usize] = details;
        Ok(admission)
    }

    /// A fired order of the conditional-order service ends under its id, and goes on under a new one.
    fn go_on_as_new(&mut self, slot: u32, admission: &Admission) -> u32 {
        let old = self.state.details[slot as usize];
        let event = old.event(PerpetualStatus::New, Execution::Triggered, reason::NONE, 0);
        self.state.writer.emit(event);
        self.state.forget(&mut self.orders, slot);
        self.orders.pool.give(slot);
        let mut details = old;
        details.id = self.take_id();
        details.flags &= !order_flag::CONDITIONAL_SERVICE;
        let slot = self.register(&details);
        self.state.adopt(slot);
        self.state.writer.tell_new(&details, old.id, admission.reference_of(&details));
        slot
    }
}

impl State {
    /// Tells the attached orders of an order what it is called now.
    fn adopt(&mut self, parent: u32) {
        let Details { id, children, .. } = self.details[parent as usize];
        for child in children.into_iter().filter(|&child| child != 0) {
            if let Some(slot) = self.order_index.find(child) {
                self.details[slot as usize].parent = id;
            }
        }
    }

    /// The other order attached to the parent of this one.
    fn sibling(&self, slot: u32) -> Option<u32> {
        let details = &self.details[slot as usize];
        if details.parent == 0 {
            return None;
        }
        // It is next to it in its account's list of ids: take-profit and stop-loss follow each other.
        [details.id - 1, details.id + 1].into_iter().find_map(|id| {
            let slot = self.order_index.find(id)?;
            let other = &self.details[slot as usize];
            (other.parent == details.parent && other.waits()).then_some(slot)
        })
    }

    /// Whether a price that triggers watch has moved since they were judged.
    pub(crate) fn has_moved(&self) -> bool {
        let mut moved = self.moved;
        while moved != 0 {
            let symbol = &self.symbols[moved.trailing_zeros() as usize];
            moved &= moved - 1;
            let is_stale = symbol.index.state == IndexState::Stale;
            if symbol.matches()
                && (symbol.contract_range != Range::EMPTY || (symbol.mark_range != Range::EMPTY && !is_stale))
            {
                return true;
            }
        }
        false
    }

    /// Notes whose orders are to be trimmed.
    pub(super) fn collect_trims(&mut self) {
        if self.resized.is_empty() {
            return;
        }
        for &(index, account, was) in &self.resized {
            let holding = self.holdings[index].get_mut(account);
            holding.is_resized = 0;
            if holding.bound == 0 {
                continue;
            }
            let held = holding.quantity;
            let turned = was != 0 && held.signum() != was.signum();
            if turned || held.abs() < was.abs() {
                self.work.trims.push((index, account, turned));
            }
        }
        self.resized.clear();
        if self.work.trims.is_empty() {
            return;
        }
        self.work.trims.sort_unstable();
        self.work.trims.dedup_by(|later, first| {
            let is_same = (later.0, later.1) == (first.0, first.1);
            first.2 |= is_same && later.2;
            is_same
        });
    }

    /// Market and id of the order that is due and is to be run next: of the oldest batch the least, in markets that match.
    #[inline(never)]
    fn next_due(&mut self) -> Option<(usize, OrderId)> {
        let State { work, triggers, order_index, details, symbols, .. } = self;
        let is_open = |id: OrderId| {
            let slot = order_index.find(id).filter(|&slot| details[slot as usize].id == id);
            slot.is_some_and(|slot| details[slot as usize].stage == Stage::Waiting)
        };
        let mut next: Option<(u64, usize, OrderId)> = None;
        let mut due = work.due;
        while due != 0 {
            let index = due.trailing_zeros() as usize;
            due &= due - 1;
            if !symbols[index].matches() {
                continue;
            }
            match triggers[index].next(is_open) {
                Some((number, id)) => {
                    if next.is_none_or(|(least, ..)| number < least) {
                        next = Some((number, index, id));
                    }
                }
                None => work.due &= !(1 << index),
            }
        }
        next.map(|(_, index, id)| (index, id))
    }

    /// Has orders whose price has come since the last call wait to be run, as one batch.
    fn collect_fired(&mut self, index: usize) {
        let symbol = &mut self.symbols[index];
        let ranges = [symbol.contract_range, symbol.mark_range];
        if ranges == [Range::EMPTY; 2] {
            return;
        }
        let prices = [symbol.contract_price(), symbol.prices.mark];
        if !symbol.matches() {
            symbol.contract_range.restart(prices[0]);
            symbol.mark_range.restart(prices[1]);
            return;
        }
        let is_stale = symbol.index.state == IndexState::Stale;
        symbol.contract_range = Range::EMPTY;
        if is_stale {
            symbol.mark_range.restart(prices[1]);
        } else {
            symbol.mark_range = Range::EMPTY;
        }
        if symbol.mark_range == Range::EMPTY {
            self.moved &= !(1 << index);
        }
        if !self.triggers[index].are_empty() {
            self.collect_due(index, ranges, prices, is_stale);
        }
        self.fresh.retain(|fresh| fresh.market != index);
    }

    #[inline(never)]
    fn collect_due(&mut self, index: usize, ranges: [Range; 2], prices: [Price; 2], is_stale: bool) {
        let symbol = &self.symbols[index];
        let protection = symbol.get(PerpetualParameter::TriggerProtect);
        let is_protected = is_deferred(symbol.prices.mark, symbol.contract_price(), protection);
        let mut batch = self.triggers[index].batch(self.work.batches);
        for working in [WorkingType::ContractPrice, WorkingType::MarkPrice] {
            let range = ranges[working as usize];
            if range == Range::EMPTY || (working == WorkingType::MarkPrice && is_stale) {
                continue;
            }
            // Where judging begins again they have not seen it yet.
            self.follow_trailing(index, working as usize, prices[working as usize]);
            for (heap, key) in range.keys().into_iter().enumerate() {
                self.set_fresh_aside(index, (working as usize, heap), key);
                let Triggers { slab, stops, .. } = &mut self.triggers[index];
                let stops = &mut stops[working as usize][heap];
                let mut anew = std::mem::take(&mut self.held_anew);
                anew.clear();
                stops.free(slab, key, &mut anew);
                let freed = anew.len();
                if is_protected {
                    batch.put(stops.take_unheld(slab, key, &mut anew));
                } else {
                    stops.take(slab, key).into_iter().for_each(|tree| batch.put(tree));
                }
                for (place, &id) in anew.iter().enumerate() {
                    self.hold_back(id, place >= freed);
                }
                self.held_anew = anew;
                self.put_fresh_back(index, (working as usize, heap));
            }
            self.collect_turned(index, working as usize, &mut batch);
        }
        self.work.batches += 1;
        let triggers = &mut self.triggers[index];
        triggers.queue(batch);
        if triggers.due_count > 0 {
            self.work.due |= 1 << index;
        }
    }

    /// Takes attached orders that began to watch within the command, and that no price since has reached, from among those that one
    /// of `key` takes.
    fn set_fresh_aside(&mut self, index: usize, (working, heap): (usize, usize), key: i64) {
        let State { fresh, triggers, order_index, details, deferred, .. } = self;
        deferred.clear();
        for fresh in fresh.iter().filter(|fresh| fresh.market == index) {
            let Some(slot) = order_index.find(fresh.order) else { continue };
            let details = &details[slot as usize];
            let Some((of, stop)) = stop_of(details) else { continue };
            let is_concerned = details.stage == Stage::Waiting
                && (details.working_type as usize, of) == (working, heap)
                && (fresh.seen[working].keys()[heap] + 1..=key).contains(&stop);
            let Triggers { slab, stops, .. } = &mut triggers[index];
            if is_concerned && stops[working][heap].remove(slab, stop, details) {
                deferred.push((stop, fresh.order));
            }
        }
    }

    fn put_fresh_back(&mut self, index: usize, (working, heap): (usize, usize)) {
        let State { triggers, order_index, details, deferred, .. } = self;
        for (stop, id) in deferred.drain(..) {
            let Some(slot) = order_index.find(id) else { continue };
            let Triggers { slab, stops, .. } = &mut triggers[index];
            stops[working][heap].add(slab, stop, &details[slot as usize]);
        }
    }

    /// Price protection begins, or ceases, to hold an order back.
    fn hold_back(&mut self, id: OrderId, begins: bool) {
        let Some(slot) = self.order_index.find(id) else { return };
        let details = &mut self.details[slot as usize];
        details.is_deferred = begins;
        if begins {
            let symbol = &self.symbols[place_of(details.market)];
            let event = TriggerDeferred {
                order: id,
                account: details.account,
                market: details.market,
                mark: symbol.prices.mark,
                last: symbol.contract_price(),
            };
            self.writer.emit(event);
        }
    }

    /// Trailing orders that turned far enough.
    fn collect_turned(&mut self, index: usize, working: usize, batch: &mut Batch) {
        let mut before = std::mem::take(&mut self.held_before);
        before.clear();
        std::mem::swap(&mut before, &mut self.triggers[index].held_back[working]);
        let [sure, unsure] = &mut self.triggers[index].trailing[working];
        let mut turned = std::mem::take(&mut sure.turned);
        turned.append(&mut unsure.turned);
        turned.sort_unstable();
        for &id in &turned {
            let Some(slot) = self.order_index.find(id) else { continue };
            let details = &self.details[slot as usize];
            if details.stage != Stage::Waiting || details.is_queued {
                continue;
            }
            if self.defers(index, slot) {
                // It is judged again on the next price.
                self.details[slot as usize].has_turned = false;
            } else {
                self.details[slot as usize].is_queued = true;
                batch.turn(id);
            }
        }
        turned.clear();
        self.triggers[index].trailing[working][0].turned = turned;
        // Whoever was held back before and is not now has left its trigger: the episode is over.
        let held_back = &mut self.triggers[index].held_back[working];
        held_back.sort_unstable();
        for &id in &before {
            if self.triggers[index].held_back[working].binary_search(&id).is_err()
                && let Some(slot) = self.order_index.find(id)
            {
                self.details[slot as usize].is_deferred = false;
            }
        }
        self.held_before = before;
    }

    /// Whether price protection holds a trailing order back; tells it once per episode.
    fn defers(&mut self, index: usize, slot: u32) -> bool {
        let symbol = &self.symbols[index];
        let (mark, last) = (symbol.prices.mark, symbol.contract_price());
        let protection = symbol.get(PerpetualParameter::TriggerProtect);
        let details = &mut self.details[slot as usize];
        if !details.is(order_flag::PRICE_PROTECT) || !is_deferred(mark, last, protection) {
            details.is_deferred = false;
            return false;
        }
        self.triggers[index].held_back[details.working_type as usize].push(details.id);
        if !details.is_deferred {
            details.is_deferred = true;
            let event = TriggerDeferred {
                order: details.id,
                account: details.account,
                market: details.market,
                mark,
                last,
            };
            self.writer.emit(event);
        }
        true
    }

    /// Shows a watched price to every trailing order of a working type.
    #[inline(always)]
    pub(crate) fn follow_trailing(&mut self, index: usize, working: usize, price: Price) {
        if !self.triggers[index].trailing[working].iter().all(Trailings::is_empty) {
            self.show_trailing(index, working, price);
        }
    }

    /// Shows a new mark to trailing orders that are judged now: those of a market that trades, of its mark while its index is there.
    pub(crate) fn follow_mark(&mut self, index: usize) {
        let symbol = &self.symbols[index];
        let (mark, has_traded) = (symbol.prices.mark, symbol.last_price != 0);
        let is_stale = symbol.index.state == IndexState::Stale;
        if !symbol.matches() {
            return;
        }
        if !is_stale {
            self.follow_trailing(index, WorkingType::MarkPrice as usize, mark);
        }
        if !has_traded {
            self.follow_trailing(index, WorkingType::ContractPrice as usize, mark);
        }
    }

    #[inline(never)]
    fn show_trailing(&mut self, index: usize, working: usize, price: Price) {
        let State { triggers, order_index, details, .. } = self;
        for trailing in &mut triggers[index].trailing[working] {
            let mut turned = std::mem::take(&mut trailing.turned);
            trailing.follow(price, |id| {
                let Some(slot) = order_index.find(id) else { return };
                let details = &mut details[slot as usize];
                if details.stage == Stage::Waiting && !details.has_turned {
                    details.has_turned = true;
                    turned.push(id);
                }
            });
            trailing.turned = turned;
        }
    }
}
