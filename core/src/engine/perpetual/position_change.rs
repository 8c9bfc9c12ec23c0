//! One side of a fill: what it makes of a position and a wallet, whether the account bears it, and its place in the tables.

use crate::command::{MarginMode, Side};
use crate::event::PostingReason;
use crate::ids::{AccountId, FEE_ACCOUNT};
use crate::money::{Money, Price, Quantity};
use crate::perpetual::account::{DISCOUNTED, HotAccount, HotHolding};
use crate::perpetual::plan::PartyOutcome;
use crate::perpetual::{Standing, State, id_of};
use crate::risk::perpetual::position::Filled;
use crate::risk::perpetual::units::VALUE_MAX;
use crate::risk::perpetual::{fee, isolated, units};

/// What one side of a fill comes to.
#[derive(Clone, Copy)]
pub(crate) struct PositionChange {
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

impl PositionChange {
    /// Changes the holding of before to that of after.
    #[inline]
    pub(crate) fn put(&self, holding: &mut HotHolding) {
        (holding.quantity, holding.cost) = (self.filled.position.quantity, self.filled.position.cost);
        (holding.isolated, holding.open_fees) = (self.isolated, self.open_fees);
        holding.realised = self.realised;
    }

    /// Lets the profit at the mark of what is left of an isolated position pay for what its wallet lacks, before the fund does: it
    /// is realised so far. How much.
    pub(super) fn draw_on_profit(&mut self, mark: Price) -> Money {
        if self.covered == 0 {
            return 0;
        }
        let Some(profit) = self.filled.position.unrealised(mark) else {
            unreachable!("an accepted position")
        };
        let drawn = self.covered.min(profit.max(0)).min(VALUE_MAX - self.filled.position.cost);
        self.filled.position.cost += drawn;
        self.realised += drawn;
        self.covered -= drawn;
        drawn
    }

    /// Changes a party to what it is after it.
    #[inline]
    pub(super) fn put_on(&self, party: &mut PartyOutcome) {
        self.put(&mut party.holding);
        party.record.wallet = self.wallet;
    }

    /// The holding after it.
    pub(crate) fn after(&self, before: &HotHolding) -> HotHolding {
        let mut after = *before;
        self.put(&mut after);
        after
    }
}

/// What a scope lacks.
#[derive(Clone, Copy)]
struct Lack {
    /// Of its maintenance margin.
    of_margin: Money,
    /// Of an equity of 0.
    of_equity: Money,
}

impl Lack {
    /// Of a scope's equity and maintenance margin.
    fn of((equity, maintenance): (Money, Money)) -> Option<Lack> {
        let of_margin = equity.checked_sub(maintenance)?.min(0).checked_neg()?;
        Some(Lack { of_margin, of_equity: equity.min(0).checked_neg()? })
    }

    /// With what the fund has paid already.
    fn and(self, covered: Money) -> Option<Lack> {
        Some(Lack {
            of_margin: self.of_margin.checked_add(covered)?,
            of_equity: self.of_equity.checked_add(covered)?,
        })
    }

    /// Whether neither is more.
    fn is_within(&self, other: &Lack) -> bool {
        self.of_margin <= other.of_margin && self.of_equity <= other.of_equity
    }
}

impl State {
    /// One side of a fill of `quantity` worth `value`, with its fee. `None`: an isolated opening that the wallet does not
    /// bear, or numbers out of range.
    #[inline(always)]
    pub(crate) fn position_change(
        &self,
        index: usize,
        holding: &HotHolding,
        wallet: Money,
        is_isolated: bool,
        side: Side,
        (quantity, value, fee): (Quantity, Money, Money),
    ) -> Option<PositionChange> {
        let terms = (quantity, value, fee);
        let (filled, open_fees) = holding.position().fill_with_fees(side, terms, holding.open_fees)?;
        let realised = holding.realised.checked_add(filled.realised)?;
        if is_isolated {
            let [isolated, wallet, covered] = self.isolated_leg(index, holding, wallet, (filled, fee))?;
            return Some(PositionChange { filled, isolated, open_fees, realised, wallet, covered });
        }
        let wallet = wallet.checked_add(filled.realised)?.checked_sub(fee)?;
        Some(PositionChange { filled, isolated: holding.isolated, open_fees, realised, wallet, covered: 0 })
    }

    /// Isolated and cross wallet after a fill of an isolated position, and what the fund pays for it.
    #[inline(never)]
    fn isolated_leg(
        &self,
        index: usize,
        holding: &HotHolding,
        mut wallet: Money,
        (filled, fee): (Filled, Money),
    ) -> Option<[Money; 3]> {
        let (mut isolated, mut covered, mut fee_left) = (holding.isolated, 0, fee);
        if filled.closed > 0 {
            let held = holding.quantity.checked_abs()?;
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
        Some([isolated, wallet.checked_sub(fee_left)?, covered])
    }

    /// Whether an account of this market alone has more after a leg than its position is worth then: rates are below 1, so no margin
    /// needs to be asked for.
    #[inline(always)]
    pub(super) fn has_ample(
        &self,
        index: usize,
        party: &PartyOutcome,
        change: &PositionChange,
        covered: Money,
    ) -> Option<bool> {
        if covered != 0 || !party.is_simple {
            return Some(false);
        }
        let position = change.filled.position;
        let (notional, value) = units::notional_and_value(position.quantity, self.mark(index))?;
        Some(change.wallet.checked_add(value.checked_sub(position.cost)?)? >= notional)
    }

    /// Whether an account may take a leg that opens exposure: its scopes are not below maintenance after it, and the fund pays
    /// nothing that [`State::may_cover`] does not allow.
    #[inline(never)]
    pub(super) fn bears(
        &self,
        index: usize,
        party: &PartyOutcome,
        change: &PositionChange,
        covered: Money,
    ) -> Option<bool> {
        let PartyOutcome { account, holding: ref before, is_isolated, .. } = *party;
        let after = change.after(before);
        if is_isolated && (self.room(index, &after)? < 0 || !self.may_cover(index, before, covered)?) {
            return Some(false);
        }
        let cross = self.cross_with(account, change.wallet, Some((index, &after)))?;
        Some(cross.positions == 0 || cross.equity >= cross.maintenance)
    }

    /// Whether an account may take a leg that only closes: its scope is not below maintenance after it, or no further than
    /// before, and what it has lost beyond all it had is no more than before: its loss would be the fund's, and the other side's
    /// gain. A stop that comes to run below maintenance may close at prices that cost less than the margin they free.
    #[inline(never)]
    pub(super) fn bears_close(
        &self,
        index: usize,
        party: &PartyOutcome,
        change: &PositionChange,
        covered: Money,
    ) -> Option<bool> {
        let PartyOutcome { account, ref record, holding: ref before, is_isolated, .. } = *party;
        let after = change.after(before);
        if is_isolated {
            let new = Lack::of(self.isolated(index, &after)?)?.and(covered)?;
            if new.of_margin != 0 && !new.is_within(&Lack::of(self.isolated(index, before)?)?) {
                return Some(false);
            }
            // Of a fill with oneself the other leg may have moved margin to the position, and this one may have lost it.
            if change.wallet >= record.wallet {
                return Some(true);
            }
            let cross = self.cross_with(account, change.wallet, Some((index, &after)))?;
            return Some(cross.positions == 0 || cross.equity >= cross.maintenance);
        }
        let lack = |cross: Standing| Lack::of((cross.equity, cross.maintenance));
        let new = lack(self.cross_with(account, change.wallet, Some((index, &after)))?)?;
        Some(
            new.of_margin == 0
                || new.is_within(&lack(self.cross_with(account, record.wallet, Some((index, before)))?)?),
        )
    }

    /// Whether the fund may pay `covered` for a fill of an isolated position: nothing, or what the position had lost beyond its
    /// margin `before` it. What its owner still has in the rest of it, or opens with the same fill, is no excuse: the fund would
    /// pay, and the owner keep.
    fn may_cover(&self, index: usize, before: &HotHolding, covered: Money) -> Option<bool> {
        Some(covered == 0 || covered <= Lack::of(self.isolated(index, before)?)?.of_equity)
    }

    /// Equity of an isolated position above its maintenance margin.
    fn room(&self, index: usize, holding: &HotHolding) -> Option<Money> {
        let (equity, maintenance) = self.isolated(index, holding)?;
        equity.checked_sub(maintenance)
    }

    /// Effective maker and taker rates of an account, the base rates, and the affiliate's basis points.
    #[inline(always)]
    pub(super) fn rates_of(&self, account: AccountId, record: &HotAccount) -> Option<[i64; 5]> {
        if record.terms & DISCOUNTED == 0 {
            // Nothing is taken off, as of most.
            let tier = self.tiers.of(record.tier);
            return Some([tier.maker_rate, tier.taker_rate, tier.maker_rate, tier.taker_rate, 0]);
        }
        self.discounted_rates(account, record.tier)
    }

    /// The same where something may be taken off.
    #[inline(never)]
    fn discounted_rates(&self, account: AccountId, tier: u8) -> Option<[i64; 5]> {
        let record = self.accounts.get(account);
        let is_promoted = record.promo_bps != 0 && self.now_ms < record.promo_until_ms;
        let referral = fee::Referral { total: record.referral_total_bps, share: record.referral_share_bps };
        let active = |bps: u32, is_active: bool| if is_active { bps } else { 0 };
        let tier = self.tiers.of(tier);
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
    pub(crate) fn apply_change(&mut self, account: AccountId, index: usize, change: &PositionChange) {
        let holding = self.touch(account, index);
        let before = holding.quantity;
        change.put(holding);
        *self.wallet_mut(account) = change.wallet;
        self.cover(account, index, change.covered);
        self.settle_in(account, index, before);
    }

    /// The fund pays what the isolated wallet of a position lacks, if anything.
    #[inline(always)]
    pub(super) fn cover(&mut self, account: AccountId, index: usize, covered: Money) {
        if covered != 0 {
            self.cover_lack(account, index, covered);
        }
    }

    #[cold]
    fn cover_lack(&mut self, account: AccountId, index: usize, covered: Money) {
        *self.wallet_mut(FEE_ACCOUNT) -= covered;
        self.post(account, id_of(index), covered, PostingReason::InsuranceClear, MarginMode::Isolated);
    }

    /// Gives a position that was `before` its place in the tables, and has its orders and its account looked at.
    #[inline(always)]
    pub(super) fn settle_in(&mut self, account: AccountId, index: usize, before: Quantity) {
        self.resize(account, index, before);
        self.mark_for_check(account);
    }

    /// Counts a position that was `before`, and notes that orders are to be trimmed to it.
    #[inline(always)]
    pub(super) fn resize(&mut self, account: AccountId, index: usize, before: Quantity) {
        let holding = self.holdings[index].get_mut(account);
        self.symbols[index].enlist(account, before, holding.quantity);
        if holding.is_resized == 0 {
            holding.is_resized = 1;
            self.resized.push((index, account, before));
        }
    }
}
