//! Referral discounts (`account.md` 3): the terms that the contract has for each account of the perpetual side become its fee
//! terms, when the account is first met and once an hour from then on.
//!
//! One node is asked, as for the page: what a wrong answer costs is bounded by the discount stack, which never takes more than
//! half of a fee. Where the contract cannot be read, or says what cannot be, an account keeps the terms it has.

use super::referral::{Kept, Reader, Terms};
use ringside_commands::ingress::{Ingress, Priority};
use ringside_core::command::{Command, SetPerpetualAccount, account_mask};
use ringside_core::ids::{AccountId, Address};
use ringside_views::SharedViews;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks for accounts whose time has come; also after a failure.
const LOOK_MAX: Duration = Duration::from_secs(10);
/// Accounts looked at while the views are held.
const SLICE: usize = 1_024;
/// Basis points of everything.
const WHOLE_BPS: u32 = 10_000;

/// Makes a reader on the thread that uses it, where a contract is configured.
pub type MakeReader = Box<dyn FnOnce() -> Option<Reader> + Send>;

/// Keeps the terms of all accounts.
pub(super) struct Discounts {
    reader: Reader,
    views: Arc<SharedViews>,
    ingress: Ingress,
    every: Duration,
    read_at: HashMap<AccountId, Instant>,
}

impl Discounts {
    pub(super) fn new(
        reader: Reader,
        views: Arc<SharedViews>,
        ingress: Ingress,
        every: Duration,
    ) -> Discounts {
        Discounts { reader, views, ingress, every, read_at: HashMap::new() }
    }

    /// Works for ever.
    pub(super) async fn run(mut self) {
        let mut failures = 0u32;
        loop {
            match self.refresh().await {
                Ok(()) => failures = 0,
                Err(reason) => {
                    failures += 1;
                    // At the first, then ever more rarely: the log is for people.
                    if failures.is_power_of_two() {
                        tracing::warn!(reason, failures, "referral terms are not refreshed");
                    }
                }
            }
            tokio::time::sleep(LOOK_MAX.min(self.every)).await;
        }
    }

    /// Asks for every account whose time has come, one after the other; ends at the first failure.
    async fn refresh(&mut self) -> Result<(), String> {
        for (account, address) in self.due() {
            // Nothing that was kept for the page: an hour is long enough.
            let terms = self.reader.terms(&Kept::default(), &address).await;
            let terms = terms.map_err(|error| error.to_string())?;
            match split(&terms) {
                Some(split) => self.set(account, split).await?,
                None => tracing::error!(account, ?terms, "referral terms that cannot be are not taken"),
            }
            self.read_at.insert(account, Instant::now());
        }
        Ok(())
    }

    /// Accounts whose time has come. Views are held for a slice of all accounts at a time, as who folds events waits meanwhile.
    fn due(&self) -> Vec<(AccountId, Address)> {
        let (mut due, mut from) = (Vec::new(), 0);
        loop {
            let views = self.views.read();
            let (accounts, known) = (views.accounts(), views.perpetuals().accounts());
            let until = accounts.len().min(from + SLICE);
            let slice = (from..until).filter_map(|account| AccountId::try_from(account).ok());
            let told = slice.filter(|account| known.find(*account).is_some());
            let late = told.filter(|account| {
                self.read_at.get(account).is_none_or(|read_at| read_at.elapsed() >= self.every)
            });
            due.extend(late.filter_map(|account| Some((account, *accounts.address(account)?))));
            if until == accounts.len() {
                return due;
            }
            from = until;
        }
    }

    /// Sets the terms of an account where they are others.
    async fn set(&self, account: AccountId, (total, share): (u32, u32)) -> Result<(), String> {
        let known = self.views.read().perpetuals().accounts().get(account).terms;
        if (known.referral_total_bps, known.referral_share_bps) == (total, share) {
            return Ok(());
        }
        let set = SetPerpetualAccount {
            account,
            mask: account_mask::REFERRAL,
            referral_total_bps: total,
            referral_share_bps: share,
            ..zerocopy::FromZeros::new_zeroed()
        };
        let reply = self.ingress.submit(Command::new(set), Priority::Internal).await;
        let reply = reply.map_err(|unavailable| unavailable.to_string())?;
        reply.done.rejected().map_or(Ok(()), |reject| Err(format!("the engine refuses: {reject:?}")))
    }
}

/// The whole rebate and the trader's share of it, both in basis points, of which the engine makes the same discount and reward
/// again (`risk.md` 9); zeros without a referrer; `None` where discount and reward are not the whole, or more than a fee.
fn split(terms: &Terms) -> Option<(u32, u32)> {
    if terms.referrer == Address::default() {
        return Some((0, 0));
    }
    let [total, trader, affiliate] =
        [terms.total_rebate_bps, terms.trader_discount_bps, terms.affiliate_reward_bps].map(u32::from);
    if trader + affiliate != total || total > WHOLE_BPS {
        return None;
    }
    // Rounded up, since the engine rounds down: what is lost there is less than one, as no total is above the whole.
    let share = if total == 0 { 0 } else { (trader * WHOLE_BPS).div_ceil(total) };
    Some((total, share))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(total: u16, trader: u16, affiliate: u16) -> Terms {
        Terms {
            referrer: [1; 20],
            total_rebate_bps: total,
            trader_discount_bps: trader,
            affiliate_reward_bps: affiliate,
            ..Terms::default()
        }
    }

    #[test]
    fn every_discount_comes_out_of_the_engine_as_the_contract_has_it() {
        for total in 1..=10_000 {
            // Every tenth trader's part, and both ends.
            for trader in (0..=total).step_by(10).chain([1, total - 1, total]).filter(|part| *part <= total) {
                let (whole, share) = split(&terms(total, trader, total - trader)).unwrap();
                assert!(share <= 10_000);
                assert_eq!((whole, whole * share / 10_000), (total.into(), trader.into()));
            }
        }
    }

    #[test]
    fn what_cannot_be_is_not_taken() {
        assert_eq!(split(&terms(1_000, 600, 300)), None);
        assert_eq!(split(&terms(20_000, 10_000, 10_000)), None);
        assert_eq!(split(&terms(0, 0, 0)), Some((0, 0)));
        assert_eq!(split(&Terms { referrer: [0; 20], ..terms(1_000, 600, 400) }), Some((0, 0)));
    }
}
