//! The settlement of funding (`risk.md` 11): one command for every position of a market, which everybody's orders wait for. So each
//! account is gone to once, while what it has is near: it pays or receives, it is told, and where it stays far from a warning its
//! threshold is set at once and the scan that follows does not look at it again.

use crate::command::{MarginMode, PerpetualState};
use crate::event::{FundingSettled, PostingReason};
use crate::ids::{AccountId, FEE_ACCOUNT};
use crate::money::{Money, Price, Rate};
use crate::perpetual::{State, id_of};
use crate::prefetch::prefetch;
use crate::risk::perpetual::adl_region::REST_MIN;
use crate::risk::perpetual::funding::payment;
use crate::risk::perpetual::units::{VALUE_MAX, narrow};

/// How many accounts ahead of the one that pays the hints are given.
pub(super) const LOOK_AHEAD: usize = 12;

impl State {
    /// Pays funding where its time has come.
    pub(super) fn settle_funding(&mut self, index: usize) {
        let now_ms = self.now_ms;
        let symbol = &mut self.symbols[index];
        if now_ms < symbol.next_funding_ms || symbol.set == PerpetualState::Closed {
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
        let mut settled = FundingSettled {
            market: id_of(index),
            sparse: u32::from(is_sparse),
            rate,
            mark,
            funding_ms,
            residue: 0,
            positions: symbol.holders.len() as u64,
        };
        let place = self.facts.emit(settled);
        if rate != 0 {
            settled.residue = -self.pay_all(index, mark, rate);
            self.facts.amend(place, settled);
        }
        if settled.residue != 0 {
            let (market, residue) = (id_of(index), settled.residue);
            *self.wallet_mut(FEE_ACCOUNT) += residue;
            self.post(FEE_ACCOUNT, market, residue, PostingReason::FundingResidue, MarginMode::Cross);
        }
    }

    /// Pays every position of a market; what all receive.
    fn pay_all(&mut self, index: usize, mark: Price, rate: Rate) -> Money {
        self.rankings.forget();
        self.crowds[index].pay(rate > 0, mark, rate.saturating_abs());
        let mut accounts = std::mem::take(&mut self.concerned);
        accounts.clear();
        accounts.extend(self.symbols[index].holders.iter());
        // Noted first: wallets are told in the order of accounts.
        self.wallet_mut(FEE_ACCOUNT);
        let mut sum = 0i128;
        for (place, &account) in accounts.iter().enumerate() {
            if let Some(&soon) = accounts.get(place + LOOK_AHEAD) {
                self.hint_holder(soon, index);
            }
            sum += i128::from(self.pay(account, index, mark, rate));
        }
        self.concerned = accounts;
        let Some(sum) = narrow(sum) else { unreachable!("what is paid is received, but for rounding") };
        sum
    }

    /// Hints that a holder pays soon.
    #[inline(always)]
    pub(super) fn hint_holder(&self, account: AccountId, index: usize) {
        let (record, holding) = (self.accounts.get(account), self.holding(account, index));
        prefetch(record);
        prefetch(&record.note);
        prefetch(holding);
        prefetch(&holding.mode);
        self.bands.hint(index, account);
    }

    /// Pays one position; what it receives.
    #[inline]
    fn pay(&mut self, account: AccountId, index: usize, mark: Price, rate: Rate) -> Money {
        let Some(amount) = payment(self.holding(account, index).quantity, mark, rate) else {
            unreachable!("an accepted position")
        };
        if amount == 0 {
            return 0;
        }
        let mode = self.mode(account, index);
        let rest = match mode {
            MarginMode::Cross => self.wallet_mut(account),
            MarginMode::Isolated => &mut self.touch(account, index).isolated,
        };
        *rest += amount;
        let rest = *rest;
        self.post(account, id_of(index), amount, PostingReason::FundingFee, mode);
        if rest < 0 && mode == MarginMode::Isolated {
            self.fill_up_isolated(account, index);
        }
        if rest < REST_MIN {
            // Nothing is left to have a key by.
            self.unrank(account);
        }
        if account == FEE_ACCOUNT || self.is_well(account).is_none() {
            self.question(account);
        }
        amount
    }

    /// Brings an isolated wallet back to 0 that a payment took below. What it lacks comes out of the profit of its position, which is
    /// realised so far: the position may be far above maintenance, and is not liquidated then. Only what is lacking beyond that the
    /// fund pays (`risk.md` 3, 8).
    fn fill_up_isolated(&mut self, account: AccountId, index: usize) {
        let mark = self.mark(index);
        let holding = self.touch(account, index);
        let lacking = -holding.isolated;
        let Some(profit) = holding.position().unrealised(mark) else { unreachable!("an accepted position") };
        let realised = lacking.min(profit.max(0)).min(VALUE_MAX - holding.cost);
        holding.isolated = 0;
        holding.cost += realised;
        holding.realised += realised;
        let fund_pays = lacking - realised;
        if realised != 0 {
            let reason = PostingReason::RealisedProfit;
            self.post(account, id_of(index), realised, reason, MarginMode::Isolated);
        }
        if fund_pays != 0 {
            *self.wallet_mut(FEE_ACCOUNT) -= fund_pays;
            let reason = PostingReason::InsuranceClear;
            self.post(account, id_of(index), fund_pays, reason, MarginMode::Isolated);
        }
    }
}
