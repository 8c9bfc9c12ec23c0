//! The venue's own money: fund and fees, from and to spot balances (`account.md` 13).

use super::arithmetic::ceil_div;
use super::{FUND, Model, Outcome};
use ringside_core::command::{MarginMode, MoveTreasury};
use ringside_core::event::{PostingReason, TreasuryMoved};
use ringside_core::ids::{ALL_MARKETS, AccountId};
use ringside_core::reject::Reject;

/// Spot steps of a micro.
const STEPS: i128 = 1_000_000_000_000;
/// Most that one transfer moves, and most that a wallet or a pool may hold.
const MOST: i128 = 1_000_000_000_000_000_000;
const MONEY: i128 = 4 * MOST;

/// Numbers of the places.
const ACCOUNT: u8 = 0;
const IN_FUND: u8 = 1;
const SPOT_FEES: u8 = 2;
const FEES: u8 = 3;

fn is_pool(place: u8) -> bool {
    place == IN_FUND || place == FEES
}

impl Model {
    pub(super) fn move_treasury(&mut self, asked: &MoveTreasury) -> Result<Outcome, Reject> {
        let ends = [(asked.from, asked.from_account), (asked.to, asked.to_account)];
        let is_end = |(place, account): (u8, AccountId)| place <= FEES && (place == ACCOUNT || account == 0);
        if !ends.into_iter().all(is_end) || ends[0] == ends[1] {
            return Err(Reject::Malformed);
        }
        let known = self.spot.assets.iter().position(|name| *name == asked.asset);
        let asset = known.ok_or(Reject::MarketNotFound)? as u16;
        for (place, account) in ends {
            if place == ACCOUNT && (account == FUND || account as usize >= self.spot.accounts.len()) {
                return Err(Reject::AccountNotFound);
            }
        }
        let amount = asked.amount.get();
        if amount <= 0 {
            return Err(Reject::InvalidAmount);
        }
        let (leaves, enters) = (is_pool(asked.from), is_pool(asked.to));
        let micros = amount / STEPS;
        if leaves || enters {
            let deposits = self.deposits + if enters { micros } else { 0 } - if leaves { micros } else { 0 };
            let after = match asked.to {
                IN_FUND => self.account(FUND).wallet + micros,
                FEES => self.fees + micros,
                _ => 0,
            };
            if self.margin_asset != Some(asset)
                || amount % STEPS != 0
                || micros > MOST
                || deposits.abs() > MONEY
                || after.abs() > MONEY
            {
                return Err(Reject::InvalidAmount);
            }
            if asked.from == IN_FUND && self.deficit {
                return Err(Reject::WithdrawalsPaused);
            }
            let there = match asked.from {
                IN_FUND => self.fund_may_pay(),
                FEES => self.fees,
                _ => micros,
            };
            if there < micros {
                return Err(Reject::CrossInsufficient);
            }
        }
        // The fees of spot trades are the balance of the fee account, which is the fund's.
        let spot = |(place, account): (u8, AccountId)| match place {
            ACCOUNT => Some(account),
            SPOT_FEES => Some(FUND),
            _ => None,
        };
        if spot(ends[0]).is_some_and(|account| self.spot.balance(account, asset).0 < amount) {
            return Err(Reject::InsufficientBalance);
        }
        for (end, signed) in ends.into_iter().zip([-amount, amount]) {
            let micros = signed / STEPS;
            match end.0 {
                IN_FUND => {
                    // No profit and no loss: the peak of the last 8 hours moves along.
                    self.fund_equities.values_mut().for_each(|equity| *equity += micros);
                    self.account_mut(FUND).wallet += micros;
                    self.deposits += micros;
                    self.suspects.insert(FUND);
                    let reason = PostingReason::Treasury;
                    self.tell_posting(FUND, ALL_MARKETS, micros, reason, MarginMode::Cross, 0);
                }
                FEES => {
                    self.fees += micros;
                    self.deposits += micros;
                    let reason = PostingReason::TreasuryFees;
                    self.tell_posting(FUND, ALL_MARKETS, micros, reason, MarginMode::Cross, 0);
                }
                _ => {
                    let account = spot(end).expect("no pool");
                    self.spot.move_owned(account, asset, signed);
                    self.transferred.push((account, asset));
                }
            }
        }
        self.treasury = Some(TreasuryMoved {
            amount: asked.amount,
            from_account: asked.from_account,
            to_account: asked.to_account,
            asset,
            from: asked.from,
            to: asked.to,
            reserved: [0; 4],
        });
        Ok(Outcome::default())
    }

    /// What may leave the fund: its wallet stays at 0 or above, its equity at its maintenance margin and a tenth of its positions.
    fn fund_may_pay(&self) -> i128 {
        let notional: i128 =
            self.markets.iter().map(|at| at.notional(self.position(FUND, at.id).quantity)).sum();
        let backing = ceil_div(notional, 10).max(self.scope_maintenance(FUND, None));
        let free = (self.cross_equity(FUND) - backing).min(self.account(FUND).wallet).max(0);
        (free - self.owes(FUND)).max(0)
    }
}
