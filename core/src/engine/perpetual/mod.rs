//! Commands of the perpetual side: one file per family, and here what they share, which is the frame of a command.
//!
//! Checks, match, trim, triggers, liquidation scan (`risk.md` 19), each telling what it changes.

mod account;
mod admin;
mod admission;
mod close;
mod commit;
mod draft;
mod execute;
mod funding;
mod hints;
mod invariants;
mod liquidate;
mod liquidation_scan;
mod modify;
mod orders;
mod place;
mod plan;
mod position_change;
mod tick;
mod tiers;
mod triggers;
mod withdraw;

use super::admin::{is_name, is_step};
use super::idempotency::{Use, Verdict};
use super::{Engine, Outcome};
use crate::command::{
    CancelPerpetual, Command, CreditPerpetual, Kind, ListPerpetual, PlacePerpetual, Side, TransferOnce,
    TransferPerpetual,
};
use crate::emit::Emitter;
use crate::event::{self, PostingReason, Sink};
use crate::ids::{AccountId, AssetId, AssetName, FEE_ACCOUNT, MarketId, OrderId, Sequence};
use crate::money::{AMOUNT_PER_MICRO, Amount, Money, Price, Rate};
use crate::perpetual::event_writer::position_event;
use crate::perpetual::market::Symbol;
use crate::perpetual::{MARKETS_MAX, Perpetual, State};
use crate::reject::Reject;
use crate::risk::perpetual::impact::{impact_price, spot_index};
use crate::risk::perpetual::units::value_of_step;

/// Largest transfer or credit.
const TRANSFER_MAX: Money = 1_000_000_000_000_000_000;

/// Sequence and engine time of a command, ns.
type At = (Sequence, i64);

/// What a perpetual command comes to.
type Answer = Result<Acted, Reject>;

/// Names of a market, its base and its quote.
type Names = (crate::ids::Symbol, AssetName, AssetName);

/// What [`event::Done`] says of it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Acted {
    order: OrderId,
    account: u32,
    market: Option<MarketId>,
}

impl Engine {
    /// Carries out a command of the perpetual side.
    pub(super) fn perpetual_command<S: Sink>(
        &mut self,
        kind: Kind,
        command: &Command,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        if Kind::is_of_one_order(command.kind) {
            return self.order_command(command, emitter);
        }
        let mut outcome = Outcome::default();
        let used = match kind {
            Kind::TransferOnce => {
                let transfer: &TransferOnce = command.body();
                let key = (transfer.idempotency_key, transfer.idempotency_body);
                match self.first_use(transfer.account, key, &mut outcome) {
                    Ok(used) => used,
                    Err(reject) => return outcome.refused(reject),
                }
            }
            _ => None,
        };
        let mut perpetual = self.take_perpetual(emitter);
        let had_backlog = perpetual.state.has_backlog();
        if had_backlog {
            perpetual.work_off();
            if let Some(account) = command.account().filter(|&account| account != FEE_ACCOUNT) {
                perpetual.state.settle_first(account);
            }
        }
        let answer = match kind {
            Kind::ListPerpetual => self.list_perpetual(&mut perpetual, command.body()),
            Kind::ApplyDraft => self.apply_draft(&mut perpetual, command),
            Kind::CreditPerpetual => self.credit_perpetual(&mut perpetual, command.body()),
            // One begins with the fields of the other.
            Kind::TransferPerpetual | Kind::TransferOnce => {
                self.transfer_perpetual(&mut perpetual, command.body())
            }
            _ => perpetual.act(kind, command, self.markets.len()),
        };
        // A refusal changes nothing, but for a modification that takes its order away.
        let is_changed = answer.is_ok() || had_backlog || !perpetual.state.writer.are_none();
        self.give_perpetual(perpetual, is_changed, emitter);
        if let Some(new) = used
            && !answer.as_ref().is_err_and(|reject| reject.is_temporary())
        {
            self.idempotency.remember(new);
        }
        match answer {
            Ok(Acted { order, account, market }) => {
                if matches!(kind, Kind::TransferPerpetual | Kind::TransferOnce) {
                    self.tell_spot(account, emitter);
                }
                let update = market.map_or(0, |market| self.perpetual_update(market));
                Outcome { order, account, market, update, ..outcome }
            }
            Err(reject) => {
                outcome.account = command.account().unwrap_or(0);
                outcome.refused(reject)
            }
        }
    }

    /// The use of an idempotency key, if there is one and nobody had used it; noted in the outcome. Errors: a replay, whose first
    /// command the outcome then names, and another body.
    #[inline]
    fn first_use(
        &mut self,
        account: u32,
        (key, body): (u64, u64),
        outcome: &mut Outcome,
    ) -> Result<Option<Use>, Reject> {
        (outcome.account, outcome.idempotency_key) = (account, key);
        if key == 0 {
            return Ok(None);
        }
        let new = Use { account, key, body, sequence: self.sequence, time_ns: self.time.ns() };
        match self.idempotency.look_up(&new) {
            Verdict::Fresh => Ok(Some(new)),
            Verdict::Replay(first) => {
                outcome.replayed = first;
                Err(Reject::IdempotencyReplay)
            }
            Verdict::Conflict => Err(Reject::IdempotencyConflict),
        }
    }

    /// Carries out a placement, a modification or a cancel.
    #[inline(always)]
    pub(super) fn order_command<S: Sink>(
        &mut self,
        command: &Command,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        const PLACE: u16 = Kind::PlacePerpetual as u16;
        const MODIFY: u16 = Kind::ModifyPerpetual as u16;
        let mut outcome = Outcome::default();
        let mut used = None;
        if command.kind == PLACE {
            let place: &PlacePerpetual = command.body();
            let key = (place.idempotency_key, place.idempotency_body);
            match self.first_use(place.account, key, &mut outcome) {
                Ok(new) => used = new,
                Err(reject) => return outcome.refused(reject),
            }
        }
        let at = (self.sequence, self.time.ns());
        let perpetual = self.ready_perpetual();
        let had_backlog = perpetual.state.has_backlog();
        if had_backlog {
            perpetual.state.begin_events(at, emitter);
            perpetual.work_off();
            // All three name an account first, a market second.
            perpetual.state.settle_first(command.body::<CancelPerpetual>().account);
        }
        let answer = match command.kind {
            PLACE => perpetual.place(command.body(), at, emitter),
            MODIFY => perpetual.modify(command.body(), at, emitter),
            _ => perpetual.cancel(command.body(), at, emitter),
        };
        if had_backlog {
            perpetual.end_events(true, emitter);
        }
        let &CancelPerpetual { account, market, .. } = command.body();
        // Where an order was named or made there is the market.
        let update = if answer.is_ok() { perpetual.books[orders::place_of(market)].update } else { 0 };
        let next_order = perpetual.state.next_order;
        self.next_order = next_order;
        outcome.account = account;
        let temporary = answer.as_ref().is_err_and(|reject| reject.is_temporary());
        if let Some(new) = used
            && !temporary
        {
            self.idempotency.remember(new);
        }
        match answer {
            // A test.
            Ok(0) => outcome,
            Ok(order) => Outcome { order, market: Some(market), update, ..outcome },
            Err(reject) => outcome.refused(reject),
        }
    }

    /// Lets time pass on the perpetual side; first ends the orders of accounts whose connections are lost.
    pub(super) fn tick_perpetual<S: Sink>(
        &mut self,
        lost: &[(AccountId, MarketId)],
        emitter: &mut Emitter<'_, S>,
    ) {
        if self.perpetual.is_none() {
            return;
        }
        let mut perpetual = self.take_perpetual(emitter);
        perpetual.state.work.left = perpetual.state.work.left + 1 - lost.len() as u32;
        perpetual.end_of_lost(lost);
        let (markets, orders) = (&self.markets, &self.orders);
        perpetual.tick(|market, notional| {
            let market = markets.get(usize::try_from(market).ok()?)?;
            let lot = market.rules.lot.value();
            let side = |side: Side| impact_price(side, market.book.depth(orders, side), notional, lot);
            spot_index(side(Side::Buy), side(Side::Sell))
        });
        self.give_perpetual(perpetual, true, emitter);
    }

    /// After a recovery: every market takes cancels only, then only orders that cannot trade, for the configured times.
    pub(super) fn start_recovery_windows<S: Sink>(&mut self, emitter: &mut Emitter<'_, S>) {
        let has_windows =
            self.perpetual.as_ref().is_some_and(|perpetual| perpetual.state.recovery_ms != [0; 2]);
        if !has_windows {
            return;
        }
        let mut perpetual = self.take_perpetual(emitter);
        let state = &mut perpetual.state;
        for index in 0..state.symbols.len() {
            let (now_ms, [cancel_only, post_only]) = (state.now_ms, state.recovery_ms);
            let symbol = &mut state.symbols[index];
            symbol.recovery_ms = [now_ms + cancel_only, now_ms + cancel_only + post_only];
            symbol.recover(now_ms);
            if symbol.state() != symbol.told {
                state.tell_state(index);
            }
        }
        self.give_perpetual(perpetual, true, emitter);
    }

    /// The perpetual side, ready for this command; made where it is new.
    #[inline(always)]
    fn ready_perpetual(&mut self) -> &mut Perpetual {
        let now_ns = self.time.ns();
        let perpetual = self.perpetual.get_or_insert_with(|| {
            let mut new = Box::new(Perpetual::new(&self.config));
            new.state.volumes.hour = now_ns / 3_600_000_000_000;
            new
        });
        let state = &mut perpetual.state;
        state.now_ms = now_ns / 1_000_000;
        state.next_order = self.next_order;
        state.accounts_count = self.accounts.count();
        // One is for what the command asks for itself.
        state.work.left = state.work.most - 1;
        if !state.work.scan {
            state.work.stirred = 0;
        }
        perpetual
    }

    /// Takes the perpetual side out, ready for this command, whose events it will keep.
    fn take_perpetual<S: Sink>(&mut self, emitter: &mut Emitter<'_, S>) -> Box<Perpetual> {
        let at = (self.sequence, self.time.ns());
        self.ready_perpetual().state.begin_events(at, emitter);
        match self.perpetual.take() {
            Some(perpetual) => perpetual,
            None => unreachable!("it is there once it is ready"),
        }
    }

    /// Ends a command: what it touched is tested and told, and the perpetual side put back.
    fn give_perpetual<S: Sink>(
        &mut self,
        mut perpetual: Box<Perpetual>,
        is_changed: bool,
        emitter: &mut Emitter<'_, S>,
    ) {
        perpetual.end_events(is_changed, emitter);
        let state = &perpetual.state;
        self.next_order = state.next_order;
        self.has_limits = !state.limits.is_empty();
        self.perpetual = Some(perpetual);
    }

    fn perpetual_update(&self, market: MarketId) -> u64 {
        let perpetual = self.perpetual.as_ref();
        perpetual
            .and_then(|perpetual| Some(perpetual.books[perpetual.state.index_of(market)?].update))
            .unwrap_or(0)
    }

    fn list_perpetual(&mut self, perpetual: &mut Perpetual, list: &ListPerpetual) -> Answer {
        let names = (list.symbol, list.base, list.quote);
        self.check_listing(perpetual, &names, is_step(list.tick) && is_step(list.lot))?;
        if value_of_step(list.tick, list.lot).is_none() {
            return Err(Reject::StepsDoNotFit);
        }
        let (base, quote) = self.assets_of(perpetual, &names);
        let symbol = Symbol::new(list.symbol, base, list.tick, list.lot, perpetual.state.now_ms);
        let market = perpetual.open_market(symbol, quote);
        Ok(Acted { market: Some(market), ..Acted::default() })
    }

    /// Whether a market of these names (its own, base and quote) may be listed; `is_sound`: all else that is malformed or not.
    fn check_listing(&self, perpetual: &Perpetual, names: &Names, is_sound: bool) -> Result<(), Reject> {
        let (symbol, base, quote) = names;
        if perpetual.state.symbols.iter().any(|listed| listed.name == *symbol) {
            return Err(Reject::MarketExists);
        }
        let is_sound = is_sound
            && is_name(symbol, 2)
            && is_name(base, 1)
            && is_name(quote, 1)
            && base != quote
            && self.assets.len() < AssetId::MAX as usize - 2
            && perpetual.books.len() < MARKETS_MAX;
        if !is_sound {
            return Err(Reject::Malformed);
        }
        if perpetual.state.margin_asset.is_some_and(|asset| self.assets[asset as usize].name != *quote) {
            return Err(Reject::MarginAssetDiffers);
        }
        Ok(())
    }

    /// Base and quote of a listing; made where they are new, and told.
    fn assets_of(&mut self, perpetual: &mut Perpetual, (_, base, quote): &Names) -> (AssetId, AssetId) {
        let [base, quote] = [*base, *quote].map(|name| {
            self.asset(&name).unwrap_or_else(|| {
                let asset = self.add_asset(name);
                perpetual.state.writer.emit(event::AssetCreated { name, asset, reserved: 0 });
                asset
            })
        });
        (base, quote)
    }

    /// See [`CreditPerpetual`].
    fn credit_perpetual(&mut self, perpetual: &mut Perpetual, credit: &CreditPerpetual) -> Answer {
        let state = &mut perpetual.state;
        if state.margin_asset.is_none() {
            return Err(Reject::MarketNotFound);
        }
        let amount = credit.amount;
        let found = self.accounts.find(&credit.address);
        found.into_iter().for_each(|account| state.settle_first(account));
        let wallet = found.map_or(0, |account| state.wallet(account));
        let is_sound = amount != 0
            && (-TRANSFER_MAX..=TRANSFER_MAX).contains(&amount)
            && !(amount < 0 && found == Some(FEE_ACCOUNT))
            && in_range(state.ledger.net_deposits, amount)
            && in_range(wallet, amount);
        if !is_sound {
            return Err(Reject::InvalidAmount);
        }
        if amount < 0 {
            let free = found.and_then(|account| state.withdrawable(account)).unwrap_or(0);
            if -amount > free {
                return Err(Reject::CrossInsufficient);
            }
        }
        let (account, is_new) = self.accounts.find_or_make(credit.address);
        if is_new {
            state.writer.emit(event::AccountCreated { address: credit.address, account });
            state.accounts_count = self.accounts.count();
        }
        state.deposit(account, amount, PostingReason::Adjustment);
        Ok(Acted { account, ..Acted::default() })
    }

    /// See [`TransferPerpetual`].
    fn transfer_perpetual(&mut self, perpetual: &mut Perpetual, transfer: &TransferPerpetual) -> Answer {
        let TransferPerpetual { account, amount, .. } = *transfer;
        let state = &mut perpetual.state;
        state.check_account(account)?;
        let asset = state.margin_asset.ok_or(Reject::MarketNotFound)?;
        let is_sound = amount != 0
            && (-TRANSFER_MAX..=TRANSFER_MAX).contains(&amount)
            && in_range(state.ledger.net_deposits, amount)
            && in_range(state.wallet(account), amount);
        if !is_sound {
            return Err(Reject::InvalidAmount);
        }
        let moved = Amount::from(amount) * AMOUNT_PER_MICRO;
        let available = self.balances.get(account, asset).available;
        if amount > 0 {
            if available < moved {
                return Err(Reject::InsufficientBalance);
            }
            self.balances.get_mut(account, asset).pay(moved);
        } else {
            if state.withdrawable(account).is_none_or(|free| -amount > free) {
                return Err(Reject::CrossInsufficient);
            }
            if state.ledger.deficit {
                return Err(Reject::WithdrawalsPaused);
            }
            if self.assets[asset as usize].credited.checked_sub(moved).is_none() {
                return Err(Reject::InvalidAmount);
            }
            self.balances.get_mut(account, asset).receive(-moved);
        }
        // What spot balances add up to.
        self.assets[asset as usize].credited -= moved;
        state.deposit(account, amount, PostingReason::Transfer);
        Ok(Acted { account, ..Acted::default() })
    }

    /// Tells the spot balance of the margin asset.
    fn tell_spot<S: Sink>(&self, account: u32, emitter: &mut Emitter<'_, S>) {
        let asset = self.perpetual.as_ref().and_then(|perpetual| perpetual.state.margin_asset).unwrap_or(0);
        self.tell_balance(account, asset, emitter);
    }
}

/// Whether a sum stays within what money may be.
fn in_range(sum: Money, amount: Money) -> bool {
    sum.checked_add(amount).is_some_and(|sum| sum.unsigned_abs() <= 4_000_000_000_000_000_000)
}

impl Perpetual {
    /// Carries out a command that concerns the perpetual side alone.
    fn act(&mut self, kind: Kind, command: &Command, spot_markets: usize) -> Answer {
        let market = command.market().filter(|&market| self.state.index_of(market).is_some());
        let (state, source) = (&mut self.state, command.source);
        match kind {
            Kind::SetPerpetualParameter => self.set_parameter(command.body(), spot_markets, source),
            Kind::SetBrackets => state.set_brackets(command.body(), source),
            Kind::DraftPerpetual => state.begin_draft(command.body(), source),
            Kind::SetPerpetualState => self.set_state(command.body()),
            Kind::ActivateRule => state.activate(command.body()),
            Kind::SetVipTier => state.set_tier(command.body()),
            Kind::SetPerpetualAccount => state.set_account(command.body()),
            Kind::ScheduleVipTier => state.schedule_tier(command.body()),
            Kind::SetAccountLimits => state.limit_account(command.body(), spot_markets),
            Kind::SetSource => state.set_source(command.body(), source),
            Kind::FeedPrice => state.feed(command.body()),
            Kind::SetManualPrice => state.set_manual(command.body()),
            Kind::CancelAllPerpetual => self.cancel_all(command.body()),
            Kind::SetCountdown => state.set_countdown(command.body()),
            Kind::SetLeverage => state.set_leverage(command.body()),
            Kind::SetMarginMode => state.set_mode(command.body()),
            Kind::AdjustIsolatedMargin => state.adjust_margin(command.body()),
            _ => Err(Reject::Malformed),
        }?;
        Ok(Acted { order: 0, account: command.account().unwrap_or(0), market })
    }

    /// Begins what may bring anything about: events are kept from now on, and [`Perpetual::end_change`] must follow. Whether none were
    /// before, as they are of what was left over.
    #[inline(always)]
    fn begin_change<S: Sink>(&mut self, at: At, emitter: &mut Emitter<'_, S>) -> bool {
        let is_first = !self.state.writer.are_kept();
        if is_first {
            self.state.begin_events(at, emitter);
        }
        is_first
    }

    /// Does what follows from it, and tells all of it.
    #[inline(always)]
    fn end_change<S: Sink>(&mut self, is_first: bool, emitter: &mut Emitter<'_, S>) {
        if is_first {
            self.end_events(!self.state.is_settled(), emitter);
        }
    }

    #[inline(always)]
    fn end_events<S: Sink>(&mut self, is_changed: bool, emitter: &mut Emitter<'_, S>) {
        if is_changed {
            self.settle_down();
        }
        self.state.finish_events();
        self.state.writer.end(emitter);
    }

    /// Does what commands before left over, as far as there are units.
    fn work_off(&mut self) {
        if self.state.work.dates_ms != 0 {
            self.run_dates();
        }
        self.finish_remainders();
        self.settle_down();
        if self.state.work.rolls {
            self.state.roll_hours();
        }
    }

    /// What follows: trim, triggers, what is fixed of funding and settlement, liquidation scan, until nothing changes: what a
    /// liquidation trades moves the price that triggers watch.
    #[inline(never)]
    fn settle_down(&mut self) {
        loop {
            self.run_triggers();
            self.state.pay_hours();
            self.close_markets();
            self.scan_liquidations();
            if !self.state.has_moved() {
                return;
            }
        }
    }
}

impl State {
    /// Whether nothing follows a command that found nothing left over: no position, price or margin moved that something waits for.
    /// Only what follows leaves something over.
    #[inline(always)]
    fn is_settled(&self) -> bool {
        debug_assert!(self.work.odd != 0 || self.work.rolls || !self.has_backlog());
        let is_rechecked = self.rechecks.peek().is_some_and(|recheck| recheck.0.0 <= self.now_ms);
        (self.alert == 0)
            & (self.moved == 0)
            & self.resized.is_empty()
            & self.marked_for_check.is_empty()
            & self.shortfall.is_empty()
            & !is_rechecked
            & !self.tests_all
    }
}

/// Looking at the perpetual side without changing it: for tests and recovery checks.
impl Engine {
    /// A cross wallet, 0 where there is none.
    pub fn perpetual_wallet(&self, account: u32) -> Money {
        self.perpetual.as_ref().map_or(0, |perpetual| perpetual.state.wallet(account))
    }

    /// What an account has in a market, as an event.
    pub fn perpetual_position(&self, account: u32, market: MarketId) -> Option<event::PerpetualPosition> {
        let state = &self.perpetual.as_ref()?.state;
        let index = state.index_of(market)?;
        let (record, holding) = (state.accounts.get(account), state.holding(account, index));
        Some(position_event((account, index), &state.symbols[index], (record, holding)))
    }

    /// An hour's funding that is not paid to the end: rate, mark, what positions received so far less what they paid, and who has not
    /// paid.
    pub fn perpetual_unpaid(&self, market: MarketId) -> Option<(Rate, Price, Money, Vec<u32>)> {
        let state = &self.perpetual.as_ref()?.state;
        let index = state.index_of(market)?;
        let unpaid = state.symbols[index].unpaid.as_ref()?;
        let mut owing: Vec<u32> = state.symbols[index].holders.iter().collect();
        owing.retain(|account| *account >= unpaid.next && !unpaid.ahead.contains(account));
        Some((unpaid.rate, unpaid.mark, unpaid.received, owing))
    }

    /// Of a market that closes: what rounding left so far of the values of its positions.
    pub fn perpetual_closing(&self, market: MarketId) -> Option<Money> {
        let state = &self.perpetual.as_ref()?.state;
        Some(state.symbols[state.index_of(market)?].closing.as_ref()?.residue)
    }

    /// Perpetual markets, ascending.
    pub fn perpetual_markets(&self) -> impl Iterator<Item = MarketId> + use<> {
        let count = self.perpetual.as_ref().map_or(0, |perpetual| perpetual.state.symbols.len());
        (0..count).map(crate::perpetual::id_of)
    }

    /// FEE, REF, DEP and the flag DEFICIT, as an event; `None` while there is no perpetual side.
    pub fn perpetual_pools(&self) -> Option<event::PerpetualPools> {
        Some(crate::perpetual::event_writer::ledger_event(&self.perpetual.as_ref()?.state.ledger))
    }

    /// Open orders of the perpetual side as events, in no order that means anything.
    pub fn perpetual_orders(&self) -> impl Iterator<Item = event::PerpetualOrder> + '_ {
        self.perpetual.iter().flat_map(|perpetual| {
            perpetual.state.order_index.iter().map(|(_, slot)| {
                let details = &perpetual.state.details[slot as usize];
                let is_resting = details.stage == crate::perpetual::order::Stage::Resting;
                let open = if is_resting { perpetual.orders.open(slot) } else { details.quantity };
                details.event(details.open_status(), event::Execution::New, 0, open)
            })
        })
    }

    /// Whether anything is left over that the next command can do.
    pub fn has_backlog(&self) -> bool {
        self.delisting > 0 || self.perpetual.as_ref().is_some_and(|perpetual| perpetual.state.has_backlog())
    }

    /// When the next countdown may run out, or the grace of a lost connection, UNIX milliseconds: no later than the first that does, as
    /// one that was replaced by a later one may be forgotten only at its time. No part of the state.
    pub fn countdown_ms(&self) -> Option<i64> {
        let countdown =
            self.perpetual.as_ref().and_then(|perpetual| perpetual.state.dates.countdowns.first());
        countdown.into_iter().chain(self.disconnects.first_ms()).min()
    }

    /// Does some of the work that is put off until it is needed; to be called while there is no command. Whether there was any.
    /// No effect on state or results.
    pub fn tidy(&mut self) -> bool {
        self.perpetual.as_mut().is_some_and(|perpetual| perpetual.state.rank_some())
    }

    /// From now on every account is tested after every command, as if there were no thresholds: what they are compared
    /// with. No part of the state.
    pub fn test_every_position(&mut self) {
        if let Some(perpetual) = &mut self.perpetual {
            perpetual.state.tests_all = true;
        }
    }

    /// The cross account of an account.
    pub fn perpetual_cross(&self, account: u32) -> Option<crate::risk::perpetual::order_margin::Cross> {
        self.perpetual.as_ref()?.state.sums(account)
    }
}
