//! After the match: reduce-only orders are trimmed to their positions, and orders whose price has come are run
//! (`risk.md` 13, 14).

use super::judge::{Given, Terms};
use super::orders::place_of;
use super::run::Role;
use super::settle::reason;
use crate::command::{
    PerpetualOrderType as Type, PerpetualParameter, PerpetualState, PerpetualStatus, PriceMatch,
    SelfTradePrevention, WorkingType, order_flag,
};
use crate::event::{Execution, TriggerDeferred, TriggerRefused};
use crate::ids::AccountId;
use crate::money::Price;
use crate::perpetual::market::Range;
use crate::perpetual::order::{Details, Stage};
use crate::perpetual::{Perpetual, State};
use crate::reject::Reject;
use crate::risk::perpetual::index::IndexState;
use crate::risk::perpetual::reduce_only;
use crate::risk::perpetual::trigger::is_deferred;

impl Perpetual {
    /// Trims orders of every account whose position in a market, or in this one, shrank or turned since the last time.
    pub(crate) fn trim(&mut self, only: Option<usize>) {
        let mut trimmed = std::mem::take(&mut self.state.trimmed);
        trimmed.clear();
        let state = &mut self.state;
        for (index, account) in state.facts.touched() {
            if only.is_some_and(|only| only != index) {
                continue;
            }
            let holding = state.holdings[index].get_mut(account);
            let (held, was) = (holding.quantity, holding.trimmed);
            if held == was {
                continue;
            }
            holding.trimmed = held;
            let turned = was != 0 && held.signum() != was.signum();
            if (turned || held.abs() < was.abs()) && holding.bound > 0 {
                trimmed.push((index, account, turned));
            }
        }
        trimmed.sort_unstable();
        for &(index, account, turned) in &trimmed {
            self.trim_account(account, index, turned);
        }
        self.state.trimmed = trimmed;
    }

    /// `turned`: the position became zero or changed sides.
    fn trim_account(&mut self, account: AccountId, index: usize, turned: bool) {
        let held = self.state.holding(account, index).quantity;
        let mut doomed = std::mem::take(&mut self.state.doomed);
        doomed.clear();
        doomed.extend(
            self.open_orders(account, index)
                .filter(|&slot| {
                    let details = &self.state.details[slot as usize];
                    details.is(order_flag::GTE)
                        || (details.stage == Stage::Resting && details.is(order_flag::REDUCE_ONLY))
                })
                .map(|slot| self.orders.pool.get(slot).id),
        );
        for &id in &doomed {
            let Some(slot) = self.state.slots.find(id) else { continue };
            let details = self.state.details[slot as usize];
            if details.stage == Stage::Resting {
                let open = self.orders.pool.get(slot).remaining;
                let left = reduce_only::shrunk(details.side, open, held);
                if left == 0 {
                    self.expire(slot, reason::REDUCE_ONLY);
                } else if left < open {
                    let mutation = self.books[index].shrink(&mut self.orders, slot, open - left);
                    self.state.facts.mutated(index, mutation);
                    let details = &mut self.state.details[slot as usize];
                    details.is_shortened = true;
                    let status = details.open_status();
                    let event = details.event(status, Execution::Amended, reason::NONE, left);
                    self.state.facts.emit(event);
                }
            } else if turned && details.waits() && reduce_only::shrunk(details.side, 1, held) == 0 {
                self.expire(slot, reason::CLOSE_POSITION);
            }
        }
        self.state.doomed = doomed;
    }

    /// Runs every order whose price has come, and those that these bring about.
    pub(crate) fn run_triggers(&mut self) {
        loop {
            let mut moved = self.state.moved;
            while moved != 0 {
                self.state.collect_fired(moved.trailing_zeros() as usize);
                moved &= moved - 1;
            }
            let Some(id) = self.state.fired.pop_front() else { return };
            if let Some(slot) = self.state.slots.find(id) {
                self.fire(slot);
            }
        }
    }

    /// Runs one fired order to its end.
    fn fire(&mut self, slot: u32) {
        self.state.unwatch(slot, true);
        let sibling = self.state.sibling(slot).map(|slot| self.state.details[slot as usize].id);
        let details = &mut self.state.details[slot as usize];
        details.stage = Stage::Running;
        if details.parent != 0 {
            // What is open of the entry must not go on without its protection, nor meet it.
            details.self_trade = SelfTradePrevention::ExpireMaker;
            if let Some(parent) = self.state.slots.find(details.parent) {
                self.end_canceled(parent);
            }
        }
        let before = self.state.details[slot as usize];
        let index = place_of(before.market);
        let mut slot = slot;
        let prepared = self.prepare_fired(slot, index);
        match prepared {
            Ok(terms) => {
                if before.is(order_flag::CONDITIONAL_SERVICE) {
                    slot = self.go_on_as_new(slot, &terms);
                } else {
                    let details = &self.state.details[slot as usize];
                    let event = details.event(
                        PerpetualStatus::New,
                        Execution::Triggered,
                        reason::NONE,
                        details.quantity,
                    );
                    self.state.facts.emit(event);
                }
                self.run(slot, &terms, Role::Owner);
                self.trim(Some(index));
            }
            Err(reject) => {
                let why = if before.is(order_flag::CLOSE_POSITION) && reject == Reject::ReduceOnlyRefused {
                    reason::CLOSE_POSITION
                } else {
                    self.state.facts.emit(TriggerRefused {
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
        if let Some(slot) = sibling.and_then(|id| self.state.slots.find(id)) {
            self.state.cancel_waiting(&mut self.orders, slot);
        }
    }

    /// Makes a fired order an ordinary one, and judges it.
    fn prepare_fired(&mut self, slot: u32, index: usize) -> Result<Terms, Reject> {
        let mut details = self.state.details[slot as usize];
        details.order_type = match details.original_type {
            Type::Stop | Type::TakeProfit | Type::Limit => Type::Limit,
            _ => Type::Market,
        };
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
            let most = self.state.order_notional_max(details.account, index, record);
            symbol.check_price(details.price)?;
            symbol.check_notional(&details, details.price, most)?;
            symbol.check_band(details.side, details.price)?;
        }
        let leverage = self.state.leverage(details.account, index);
        let terms = self.judge(index, &details, leverage, Given::default())?;
        self.state.details[slot as usize] = details;
        Ok(terms)
    }

    /// A fired order of the conditional-order service ends under its id, and goes on under a new one.
    fn go_on_as_new(&mut self, slot: u32, terms: &Terms) -> u32 {
        let old = self.state.details[slot as usize];
        let event = old.event(PerpetualStatus::New, Execution::Triggered, reason::NONE, 0);
        self.state.facts.emit(event);
        self.state.forget(&mut self.orders, slot);
        self.orders.pool.give(slot);
        let mut details = old;
        details.id = self.take_id();
        details.flags &= !order_flag::CONDITIONAL_SERVICE;
        let slot = self.enter(details);
        self.state.adopt(slot);
        self.announce(slot, old.id, Some(terms));
        slot
    }
}

impl State {
    /// Tells the attached orders of an order what it is called now.
    fn adopt(&mut self, parent: u32) {
        let Details { id, children, .. } = self.details[parent as usize];
        for child in children.into_iter().filter(|&child| child != 0) {
            if let Some(slot) = self.slots.find(child) {
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
            let slot = self.slots.find(id)?;
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

    /// Moves orders whose price has come since the last call to the queue, ascending ids.
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
        if self.triggers[index].are_empty() {
            return;
        }
        let mut found = std::mem::take(&mut self.doomed);
        found.clear();
        for working in [WorkingType::ContractPrice, WorkingType::MarkPrice] {
            let range = ranges[working as usize];
            if range == Range::EMPTY || (working == WorkingType::MarkPrice && is_stale) {
                continue;
            }
            // Where judging begins again they have not seen it yet.
            self.follow_trailing(index, working as usize, prices[working as usize]);
            let mut before = std::mem::take(&mut self.held_before);
            before.clear();
            std::mem::swap(&mut before, &mut self.triggers[index].held_back[working as usize]);
            for (heap, key) in range.keys().into_iter().enumerate() {
                let mut deferred = std::mem::take(&mut self.deferred);
                deferred.clear();
                while let Some((stop, id)) = self.triggers[index].stops[working as usize][heap].take(key) {
                    let Some(slot) = self.slots.find(id) else { continue };
                    if self.details[slot as usize].stage != Stage::Waiting {
                        continue;
                    }
                    let fresh = self.fresh.iter().find(|fresh| fresh.order == id);
                    let is_due = fresh.is_none_or(|fresh| stop <= fresh.seen[working as usize].keys()[heap]);
                    if !is_due || self.defers(index, slot) {
                        deferred.push((stop, id));
                    } else {
                        found.push(id);
                    }
                }
                for &(stop, id) in &deferred {
                    let due = &mut self.triggers[index].stops[working as usize][heap];
                    due.fired();
                    due.add(stop, id);
                }
                self.deferred = deferred;
            }
            let mut turned = std::mem::take(&mut self.triggers[index].trailing[working as usize].turned);
            turned.sort_unstable();
            for &id in &turned {
                let Some(slot) = self.slots.find(id) else { continue };
                if self.details[slot as usize].stage != Stage::Waiting {
                    continue;
                }
                if self.defers(index, slot) {
                    // It is judged again on the next price.
                    self.details[slot as usize].has_turned = false;
                } else {
                    found.push(id);
                }
            }
            turned.clear();
            self.triggers[index].trailing[working as usize].turned = turned;
            // Whoever was held back before and is not now has left its trigger: the episode is over.
            let held_back = &mut self.triggers[index].held_back[working as usize];
            held_back.sort_unstable();
            for &id in &before {
                if self.triggers[index].held_back[working as usize].binary_search(&id).is_err()
                    && let Some(slot) = self.slots.find(id)
                {
                    self.details[slot as usize].is_deferred = false;
                }
            }
            self.held_before = before;
        }
        self.fresh.retain(|fresh| fresh.market != index);
        found.sort_unstable();
        found.dedup();
        self.fired.extend(&found);
        self.doomed = found;
    }

    /// Whether price protection holds an order back; tells it once per episode.
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
            self.facts.emit(event);
        }
        true
    }

    /// Shows a watched price to every trailing order of a working type.
    #[inline(always)]
    pub(crate) fn follow_trailing(&mut self, index: usize, working: usize, price: Price) {
        if !self.triggers[index].trailing[working].is_empty() {
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
        let State { triggers, slots, details, .. } = self;
        let trailing = &mut triggers[index].trailing[working];
        let mut turned = std::mem::take(&mut trailing.turned);
        trailing.follow(price, |id| {
            let Some(slot) = slots.find(id) else { return };
            let details = &mut details[slot as usize];
            if details.stage == Stage::Waiting && !details.has_turned {
                details.has_turned = true;
                turned.push(id);
            }
        });
        trailing.turned = turned;
    }
}
