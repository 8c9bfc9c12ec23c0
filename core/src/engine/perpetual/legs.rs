//! One side of a fill: what it makes of a position and a wallet, whether the account bears it, and its place in the tables.

use crate::command::{MarginMode, Side};
use crate::event::PostingReason;
use crate::ids::{AccountId, FEE_ACCOUNT};
use crate::money::{Money, Quantity};
use crate::perpetual::account::{Account, Holding};
use crate::perpetual::{State, id_of, mode_of};
use crate::risk::perpetual::position::{Filled, open_fees};
use crate::risk::perpetual::{fee, isolated, units};

/// What one side of a fill comes to.
#[derive(Clone, Copy)]
pub(crate) struct Leg {
    /// The position after it is in there.
    pub(crate) filled: Filled,
    /// Of the holding after it.
    isolated: Money,
    open_fees: Money,
    realised: Money,
    pub(crate) wallet: Money,
    /// What the fund pays because an isolated wallet does not suffice.
    pub(crate) covered: Money,
}

impl Leg {
    /// Changes the holding of before to that of after.
    #[inline]
    pub(crate) fn put(&self, holding: &mut Holding) {
        (holding.quantity, holding.cost) = (self.filled.position.quantity, self.filled.position.cost);
        (holding.isolated, holding.open_fees) = (self.isolated, self.open_fees);
        holding.realised = self.realised;
    }

    /// The holding after it.
    pub(crate) fn after(&self, before: &Holding) -> Holding {
        let mut after = *before;
        self.put(&mut after);
        after
    }
}

impl State {
    /// One side of a fill of `quantity` worth `value`, with its fee. `None`: an isolated opening that the wallet does not
    /// bear, or numbers out of range.
    pub(crate) fn leg(
        &self,
        index: usize,
        holding: &Holding,
        mut wallet: Money,
        is_isolated: bool,
        side: Side,
        (quantity, value, fee): (Quantity, Money, Money),
    ) -> Option<Leg> {
        let held = holding.quantity.checked_abs()?;
        let filled = holding.position().fill(side, quantity, value)?;
        let mut covered = 0;
        let mut isolated = holding.isolated;
        if is_isolated {
            let mut fee_left = fee;
            if filled.closed > 0 {
                let closed = isolated::close(isolated, filled.closed, held, filled.realised, fee)?;
                fee_left = 0;
                isolated = closed.isolated;
                wallet = wallet.checked_add(closed.released)?;
                covered = closed.covered;
            }
            if filled.opened > 0 {
                let leverage = self.symbols[index].leverage(holding);
                let margin = isolated::opening_margin(filled.opened_value, leverage)?;
                if wallet < margin.checked_add(fee_left)? {
                    return None;
                }
                wallet -= margin;
                isolated = isolated.checked_add(margin)?;
            }
            wallet = wallet.checked_sub(fee_left)?;
        } else {
            wallet = wallet.checked_add(filled.realised)?.checked_sub(fee)?;
        }
        if units::magnitude(filled.position.cost)? > units::VALUE_MAX {
            return None;
        }
        Some(Leg {
            filled,
            isolated,
            open_fees: open_fees(holding.open_fees, held, &filled, fee)?,
            realised: holding.realised.checked_add(filled.realised)?,
            wallet,
            covered,
        })
    }

    /// Whether an account may take a leg that opens exposure: its scopes are not below maintenance after it.
    pub(super) fn bears(&self, account: AccountId, index: usize, leg: &Leg) -> Option<bool> {
        let record = self.accounts.get(account);
        let before = self.holding(account, index);
        if record.is_alone_in(index) && mode_of(record, before) == MarginMode::Cross {
            // Of an account of this market alone that has more than its position is worth, no margin needs to be asked for:
            // rates are below 1.
            let (position, mark) = (leg.filled.position, self.mark(index));
            let (notional, value) = units::notional_and_value(position.quantity, mark)?;
            if leg.wallet.checked_add(value.checked_sub(position.cost)?)? >= notional {
                return Some(true);
            }
        }
        let after = leg.after(before);
        if mode_of(record, &after) == MarginMode::Isolated {
            let (equity, maintenance) = self.isolated(index, &after)?;
            if equity < maintenance {
                return Some(false);
            }
        }
        let cross = self.cross_with(account, leg.wallet, Some((index, &after)))?;
        Some(cross.positions == 0 || cross.equity >= cross.maintenance)
    }

    /// Whether an account may take a leg that only closes: its scope is not below maintenance after it, or no further than
    /// before: its loss would be the fund's, and the other side's gain. A stop that comes to run below maintenance may close at
    /// prices that cost less than the margin they free.
    pub(super) fn bears_close(&self, account: AccountId, index: usize, leg: &Leg) -> Option<bool> {
        let record = self.accounts.get(account);
        let before = self.holding(account, index);
        let after = leg.after(before);
        let room = |(equity, maintenance): (Money, Money)| equity.checked_sub(maintenance);
        if mode_of(record, before) == MarginMode::Isolated {
            // What the fund would have to cover is below 0.
            let left = room(self.isolated(index, &after)?)?.checked_sub(leg.covered)?;
            return Some(left >= 0 || left >= room(self.isolated(index, before)?)?);
        }
        let cross = self.cross_with(account, leg.wallet, Some((index, &after)))?;
        let left = room((cross.equity, cross.maintenance))?;
        if left >= 0 {
            return Some(true);
        }
        let cross = self.cross_with(account, record.wallet, None)?;
        Some(left >= room((cross.equity, cross.maintenance))?)
    }

    /// Effective maker and taker rates of an account, the base rates, and the affiliate's basis points.
    #[inline(always)]
    pub(crate) fn rates(&self, account: AccountId) -> Option<[i64; 5]> {
        self.rates_of(self.accounts.get(account))
    }

    /// The same of an account's record.
    #[inline(always)]
    pub(super) fn rates_of(&self, record: &Account) -> Option<[i64; 5]> {
        if (record.referral_total_bps | record.promo_bps | u32::from(record.fee_burn)) == 0 {
            // Nothing is taken off, as of most.
            let tier = self.tiers.of(record.tier);
            return Some([tier.maker_rate, tier.taker_rate, tier.maker_rate, tier.taker_rate, 0]);
        }
        self.discounted_rates(record)
    }

    /// The same where something may be taken off.
    #[inline(never)]
    fn discounted_rates(&self, record: &Account) -> Option<[i64; 5]> {
        let is_promoted = record.promo_bps != 0 && self.now_ms < record.promo_until_ms;
        let referral = fee::Referral { total: record.referral_total_bps, share: record.referral_share_bps };
        let active = |bps: u32, is_active: bool| if is_active { bps } else { 0 };
        let tier = self.tiers.of(record.tier);
        let multiplier = fee::multiplier(&[
            referral.trader(),
            active(self.fee_burn_bps, record.fee_burn != 0),
            active(record.promo_bps, is_promoted),
        ])?;
        Some([
            fee::rate(tier.maker_rate, multiplier)?,
            fee::rate(tier.taker_rate, multiplier)?,
            tier.maker_rate,
            tier.taker_rate,
            i64::from(referral.affiliate()?),
        ])
    }

    /// Puts a leg into place.
    pub(crate) fn put_leg(&mut self, account: AccountId, index: usize, leg: &Leg) {
        let holding = self.touch(account, index);
        let before = holding.quantity;
        leg.put(holding);
        *self.wallet_mut(account) = leg.wallet;
        if leg.covered != 0 {
            *self.wallet_mut(FEE_ACCOUNT) -= leg.covered;
            self.post(
                account,
                id_of(index),
                leg.covered,
                PostingReason::InsuranceClear,
                MarginMode::Isolated,
            );
        }
        self.enlist(account, index, before);
        self.suspect(account);
    }

    /// Keeps the set of holders, and what is open, in step with a position that was `before`.
    pub(crate) fn enlist(&mut self, account: AccountId, index: usize, before: Quantity) {
        let now = self.holding(account, index).quantity;
        self.symbols[index].count_open(before, now);
        let holders = &mut self.symbols[index].holders;
        if before == 0 && now != 0 {
            holders.insert(account);
        } else if before != 0 && now == 0 {
            holders.remove(account);
        }
    }
}
