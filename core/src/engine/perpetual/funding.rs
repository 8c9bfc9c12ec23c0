//! Funding (`risk.md` 11). At its hour a market fixes rate and mark. Each position pays by these numbers when it is next touched, so
//! that nothing else happens to it before, or when its turn comes among what waits (`perpetual/work.rs`); the fund gets what rounding
//! left when the last has paid.
//!
//! An account is gone to once, while what it has is near: it pays or receives, it is told, and where it stays far from a warning its
//! threshold is set at once and the scan that follows does not look at it again.

use crate::command::{MarginMode, PerpetualState};
use crate::event::{FundingSettled, PostingReason};
use crate::ids::{AccountId, FEE_ACCOUNT};
use crate::money::{Money, Price};
use crate::perpetual::market::Unpaid;
use crate::perpetual::{State, id_of, markets_in};
use crate::prefetch::prefetch;
use crate::risk::perpetual::adl_region::REST_MIN;
use crate::risk::perpetual::funding::payment;
use crate::risk::perpetual::units::VALUE_MAX;

/// How many accounts ahead of the one that pays the hints are given.
pub(super) const LOOK_AHEAD: usize = 12;

impl State {
    /// Fixes the funding of a market where its time has come and the last is paid.
    pub(super) fn fix_funding(&mut self, index: usize) {
        let now_ms = self.now_ms;
        let symbol = &mut self.symbols[index];
        let is_due = now_ms >= symbol.next_funding_ms && symbol.set != PerpetualState::Closed;
        if !is_due || symbol.unpaid.is_some() {
            return;
        }
        let funding_ms = symbol.next_funding_ms;
        let is_sparse = symbol.premiums.is_short(symbol.funding_rules().interval_hours);
        let rate = if is_sparse { 0 } else { symbol.estimated_rate() };
        symbol.next_funding_ms = symbol.funding_after(now_ms);
        symbol.premiums = Default::default();
        let mark = symbol.prices.mark;
        if symbol.state() == PerpetualState::Halted || mark == 0 {
            return;
        }
        let positions = symbol.holders.len() as u64;
        if rate != 0 && positions != 0 {
            symbol.unpaid = Some(Box::new(Unpaid { rate, mark, ..Unpaid::default() }));
            self.work.unpaid |= 1 << index;
            self.rankings.forget();
            self.adl_queues[index].pay(rate > 0, mark, rate.saturating_abs());
        }
        self.writer.emit(FundingSettled {
            market: id_of(index),
            sparse: u32::from(is_sparse),
            rate,
            mark,
            funding_ms,
            residue: 0,
            positions,
        });
    }

    /// Has positions pay what is fixed, as far as there are units: markets ascending, accounts ascending in each.
    pub(super) fn pay_hours(&mut self) {
        for index in markets_in(self.work.unpaid) {
            let paid = self.pay_hour(index, self.work.left as usize);
            self.work.left -= paid as u32;
            if self.symbols[index].unpaid.is_some() {
                return;
            }
        }
    }

    /// Has up to `most` positions pay; how many did.
    fn pay_hour(&mut self, index: usize, most: usize) -> usize {
        let mut payers = std::mem::take(&mut self.concerned);
        payers.clear();
        let symbol = &mut self.symbols[index];
        let Some(unpaid) = &mut symbol.unpaid else { unreachable!("an hour that is fixed") };
        let mut goes_on = None;
        while let Some(account) = symbol.holders.next(unpaid.next) {
            if !unpaid.ahead.remove(&account) {
                if payers.len() == most {
                    goes_on = Some(account);
                    break;
                }
                payers.push(account);
            }
            unpaid.next = account + 1;
        }
        for (place, &account) in payers.iter().enumerate() {
            if let Some(&soon) = payers.get(place + LOOK_AHEAD) {
                self.hint_holder(soon, index);
            }
            self.pay(account, index);
        }
        let paid = payers.len();
        self.concerned = payers;
        if goes_on.is_none() {
            self.end_hour(index);
        }
        paid
    }

    /// The last position has paid.
    fn end_hour(&mut self, index: usize) {
        let Some(unpaid) = self.symbols[index].unpaid.take() else { unreachable!("an hour that is fixed") };
        self.work.unpaid &= !(1 << index);
        let residue = -unpaid.received;
        if residue != 0 {
            *self.wallet_mut(FEE_ACCOUNT) += residue;
            self.post(FEE_ACCOUNT, id_of(index), residue, PostingReason::FundingResidue, MarginMode::Cross);
        }
    }

    /// Has an account pay every hour that is fixed, and closes its positions in markets that close, before anything else happens to
    /// it.
    #[inline(always)]
    pub(crate) fn settle_first(&mut self, account: AccountId) {
        if self.work.has_dues() && account < self.accounts_count {
            self.pay_first(account);
            self.close_first(account);
        }
    }

    /// Whether an account has an hour to pay, or positions in markets that close.
    #[inline(always)]
    pub(super) fn is_behind(&self, account: AccountId) -> bool {
        self.work.has_dues() && self.has_dues(account)
    }

    #[cold]
    fn has_dues(&self, account: AccountId) -> bool {
        let owes = |index: usize| {
            let unpaid = self.symbols[index].unpaid.as_ref();
            unpaid.is_some_and(|unpaid| account >= unpaid.next && !unpaid.ahead.contains(&account))
                && self.holding(account, index).quantity != 0
        };
        account < self.accounts_count
            && (markets_in(self.work.unpaid).any(owes)
                || markets_in(self.work.closing).any(|index| self.holding(account, index).quantity != 0))
    }

    #[cold]
    pub(super) fn pay_first(&mut self, account: AccountId) {
        for index in markets_in(self.work.unpaid) {
            let unpaid = self.symbols[index].unpaid.as_mut();
            // Who holds nothing, and comes to, pays nothing for this hour either.
            let has_turn =
                unpaid.is_some_and(|unpaid| account >= unpaid.next && unpaid.ahead.insert(account));
            if has_turn && self.holding(account, index).quantity != 0 {
                self.pay(account, index);
            }
        }
    }

    /// What an hour that is fixed still gives to a position, or takes from it below 0.
    #[inline]
    pub(crate) fn owed(&self, account: AccountId, index: usize) -> Money {
        if self.work.unpaid >> index & 1 == 0 {
            return 0;
        }
        match &self.symbols[index].unpaid {
            Some(unpaid) if account >= unpaid.next && !unpaid.ahead.contains(&account) => {
                self.payment_of(account, index, unpaid)
            }
            _ => 0,
        }
    }

    /// What hours that are fixed still take from a cross wallet, >= 0: it is there, and not free.
    pub(crate) fn owes(&self, account: AccountId) -> Money {
        if self.work.unpaid == 0 {
            return 0;
        }
        let crosses =
            self.markets_of(account).filter(|&index| self.mode(account, index) == MarginMode::Cross);
        -crosses.map(|index| self.owed(account, index)).sum::<Money>().min(0)
    }

    fn payment_of(&self, account: AccountId, index: usize, unpaid: &Unpaid) -> Money {
        let Some(amount) = payment(self.holding(account, index).quantity, unpaid.mark, unpaid.rate) else {
            unreachable!("an accepted position")
        };
        amount
    }

    /// Hints that a holder pays soon.
    #[inline(always)]
    pub(super) fn hint_holder(&self, account: AccountId, index: usize) {
        let (record, holding) = (self.accounts.get(account), self.holding(account, index));
        prefetch(record);
        prefetch(holding);
        self.liquidation_index.hint(index, account);
    }

    /// Has one position pay or receive.
    #[inline]
    fn pay(&mut self, account: AccountId, index: usize) {
        let Some(unpaid) = &self.symbols[index].unpaid else { unreachable!("an hour that is fixed") };
        let (amount, mark) = (self.payment_of(account, index, unpaid), unpaid.mark);
        if amount == 0 {
            return;
        }
        if let Some(unpaid) = &mut self.symbols[index].unpaid {
            unpaid.received += amount;
        }
        let mode = self.mode(account, index);
        let rest = match mode {
            MarginMode::Cross => self.wallet_mut(account),
            MarginMode::Isolated => &mut self.touch(account, index).isolated,
        };
        *rest += amount;
        let rest = *rest;
        self.post(account, id_of(index), amount, PostingReason::FundingFee, mode);
        match mode {
            MarginMode::Cross => self.tell_wallet(account),
            MarginMode::Isolated => {
                self.tell_position(account, index);
                if rest < 0 {
                    self.fill_up(account, index, mark);
                }
            }
        }
        if rest < REST_MIN {
            // Nothing is left to have a key by.
            self.mark_stale(account);
        }
        if account == FEE_ACCOUNT || self.is_safe(account).is_none() {
            self.mark_deferred(account);
        }
    }

    /// Brings an isolated wallet back to 0 that a payment took below. What it lacks comes out of the profit of its position, which is
    /// realised so far: the position may be far above maintenance, and is not liquidated then. Only what is lacking beyond that the
    /// fund pays (`risk.md` 3, 8).
    #[cold]
    fn fill_up(&mut self, account: AccountId, index: usize, mark: Price) {
        let mode = MarginMode::Isolated;
        let holding = self.touch(account, index);
        let lacking = -holding.isolated;
        let Some(profit) = holding.position().unrealised(mark) else { unreachable!("an accepted position") };
        let realised = lacking.min(profit.max(0)).min(VALUE_MAX - holding.cost);
        if realised != 0 {
            holding.isolated += realised;
            holding.cost += realised;
            holding.realised += realised;
            self.post(account, id_of(index), realised, PostingReason::RealisedProfit, mode);
            self.tell_position(account, index);
        }
        let fund_pays = lacking - realised;
        if fund_pays != 0 {
            self.touch(account, index).isolated += fund_pays;
            *self.wallet_mut(FEE_ACCOUNT) -= fund_pays;
            self.post(account, id_of(index), fund_pays, PostingReason::InsuranceClear, mode);
            self.tell_position(account, index);
        }
    }
}
