//! What a plain order that arrives would trade with plain resting ones, worked out before anything changes: every fill, and how
//! each party stands after all of them.
//!
//! The arithmetic is that of `risk/perpetual/`, the rules are those of `settle.rs`, which decides wherever this does not: about
//! parties with an isolated position here, with affiliates, who would change their tier, who are not far from a warning; about
//! orders that only reduce, have a date or attached orders; and about meetings that are no fill.

use super::watch::slack;
use crate::book::pool::NONE;
use crate::book::{Book, Orders};
use crate::command::{MarginMode, Side};
use crate::ids::{AccountId, FEE_ACCOUNT};
use crate::money::{Money, Price, Quantity};
use crate::perpetual::account::{Account, Holding};
use crate::perpetual::bands::Threshold;
use crate::perpetual::market::Symbol;
use crate::perpetual::plan::{FILLS_MAX, Meetings, Party, Planned};
use crate::perpetual::{Standing, State, mode_of};
use crate::risk::perpetual::band::Band;
use crate::risk::perpetual::position::{Filled, Position};
use crate::risk::perpetual::{fee, units};

/// An order that arrives, as far as its fills depend on it.
pub(super) struct Arrival {
    pub(super) account: AccountId,
    pub(super) index: usize,
    pub(super) side: Side,
    /// Last key of the other side that it may trade at.
    pub(super) limit: u64,
    pub(super) quantity: Quantity,
    /// Where it may trade, if that is bounded.
    pub(super) band: Option<Band>,
}

impl Party {
    /// One side of a fill, with its fee, as [`State::leg`] has it of a cross account, which must not come below its maintenance
    /// margin where it opens, or rests and closes. `None`: it does, or numbers are out of range.
    #[inline(always)]
    fn fill(&mut self, symbol: &Symbol, side: Side, fill: (Quantity, Money, Money)) -> Option<Filled> {
        let (_, value, fee) = fill;
        // How the last fill leaves it is asked at the end. A taker that closes meets its best prices first, a maker its worst.
        if self.is_maker && self.traded != 0 && self.standing.is_none() {
            self.bears(symbol)?;
        }
        let (filled, open_fees) = self.position.fill_with_fees(side, fill, self.open_fees)?;
        if !filled.is_within_bound() {
            return None;
        }
        self.wallet = self.wallet.checked_add(filled.realised)?.checked_sub(fee)?;
        self.open_fees = open_fees;
        self.realised = self.realised.checked_add(filled.realised)?;
        self.position = filled.position;
        self.traded = self.traded.checked_add(value)?;
        self.standing = None;
        if filled.opened > 0 {
            self.bears(symbol)?;
        }
        Some(filled)
    }

    /// Notes how it stands; `None` where that is below its maintenance margin.
    #[inline(always)]
    fn bears(&mut self, symbol: &Symbol) -> Option<()> {
        let (notional, equity) = self.standing(symbol)?;
        self.standing = Some((notional, equity));
        let free = equity.checked_sub(self.others.maintenance)?;
        // Rates are below 1.
        (free >= notional || free >= symbol.brackets.maintenance(notional)?).then_some(())
    }

    /// Notional of its position, and equity.
    #[inline(always)]
    fn standing(&self, symbol: &Symbol) -> Option<(Money, Money)> {
        let Position { quantity, cost } = self.position;
        let (notional, worth) = units::notional_and_value(quantity, symbol.prices.mark)?;
        let equity = self.wallet.checked_add(self.others.equity)?;
        Some((notional, equity.checked_add(worth.checked_sub(cost)?)?))
    }
}

impl State {
    /// An account before the first of its fills. `None`: it is none that this decides about.
    #[inline(always)]
    fn party(&self, account: AccountId, index: usize, is_maker: bool) -> Option<Party> {
        let (record, holding): (&Account, &Holding) =
            (self.accounts.get(account), self.holding(account, index));
        let [maker_rate, taker_rate, .., affiliate] = self.rates_of(record)?;
        let is_alone = record.is_alone_in(index);
        let is_known = mode_of(record, holding) == MarginMode::Cross
            && account != FEE_ACCOUNT
            && affiliate == 0
            && holding.bound == 0;
        if !is_known {
            return None;
        }
        self.volumes.hint(record.hour);
        let others = match is_alone {
            true => Standing::default(),
            false => self.cross_with(account, 0, Some((index, &Holding::default())))?,
        };
        Some(Party {
            account,
            is_maker,
            position: holding.position(),
            open_fees: holding.open_fees,
            realised: holding.realised,
            wallet: record.wallet,
            threshold: is_alone.then_some(Threshold::Never),
            others,
            standing: None,
            rate: if is_maker { maker_rate } else { taker_rate },
            traded: 0,
        })
    }

    /// Works out what an order meets. `None`: something is out of the ordinary.
    #[inline(always)]
    pub(super) fn meetings(
        &self,
        meetings: &mut Meetings,
        book: &Book,
        orders: &Orders,
        arrival: &Arrival,
    ) -> Option<()> {
        let Arrival { account, index, side, limit, quantity, ref band } = *arrival;
        let Meetings { fills, parties, ascending, .. } = meetings;
        let symbol = &self.symbols[index];
        fills.clear();
        parties.clear();
        ascending.clear();
        let mut taker = self.party(account, index, false)?;
        let maker_side = side.opposite();
        let opposite = book.side(maker_side);
        let mut left = quantity;
        let (mut low, mut high) = (Price::MAX, Price::MIN);
        let mut next = (opposite.best() <= limit).then(|| opposite.best_level());
        while let Some(handle) = next {
            let level = orders.levels.get(handle);
            if book.key(maker_side, level.price) > limit {
                break;
            }
            if band.is_some_and(|band| !band.admits(level.price)) {
                return None;
            }
            (low, high) = (low.min(level.price), high.max(level.price));
            let mut slot = level.head;
            while slot != NONE {
                let maker = orders.pool.get(slot);
                let details = &self.details[slot as usize];
                let is_plain = details.flags == 0
                    && details.reserved_quantity != 0
                    && details.good_till_ms == 0
                    && details.children == [0; 2]
                    && !details.is_shortened;
                if !is_plain || maker.account == account || fills.len() == FILLS_MAX {
                    return None;
                }
                let quantity = left.min(maker.remaining);
                if quantity < left {
                    self.prefetch_maker(index, orders, maker.next);
                }
                let value = units::value(level.price, quantity)?;
                // Few: an order meets more than some only in a sweep.
                let known = parties.iter().position(|party| party.account == maker.account);
                let meets_again = known.is_some();
                let place = match known {
                    Some(place) => place,
                    None => {
                        ascending.push(u64::from(maker.account) << 32 | parties.len() as u64);
                        parties.push(self.party(maker.account, index, true)?);
                        parties.len() - 1
                    }
                };
                let party = parties.get_mut(place)?;
                let (taker_fee, maker_fee) = fee::both(value, taker.rate, party.rate)?;
                let maker_realised = party.fill(symbol, maker_side, (quantity, value, maker_fee))?.realised;
                let taker_realised = taker.fill(symbol, side, (quantity, value, taker_fee))?.realised;
                let name = if quantity == maker.remaining { self.hinted_name(details) } else { 0 };
                fills.push(Planned {
                    value,
                    maker_fee,
                    taker_fee,
                    maker_realised,
                    taker_realised,
                    name,
                    meets_again,
                });
                left -= quantity;
                if left == 0 {
                    break;
                }
                slot = maker.next;
            }
            if left == 0 {
                break;
            }
            next = opposite.after(&orders.levels, handle);
        }
        (meetings.filled, meetings.value) = (quantity - left, taker.traded);
        if fills.is_empty() {
            return Some(());
        }
        if !self.triggers[index].stay_quiet(low, high) {
            return None;
        }
        ascending.push(u64::from(account) << 32 | parties.len() as u64);
        ascending.sort_unstable();
        parties.push(taker);
        for party in parties.iter_mut() {
            self.settle_party(symbol, party)?;
        }
        Some(())
    }

    /// Completes a party after its fills. `None`: it changes its tier, or is to be tested and may be warned.
    #[inline(always)]
    fn settle_party(&self, symbol: &Symbol, party: &mut Party) -> Option<()> {
        let record = self.accounts.get(party.account);
        if self.tiers.raises(record.tier, record.volume.checked_add(party.traded)?) {
            return None;
        }
        let quantity = party.position.quantity;
        let Standing { maintenance, positions, .. } = party.others;
        if quantity == 0 && positions == 0 {
            return (party.wallet >= 0).then_some(());
        }
        let (notional, equity) = match party.standing {
            Some(standing) => standing,
            None => party.standing(symbol)?,
        };
        if let Some(threshold) = &mut party.threshold {
            *threshold = self.well(symbol, record.called_ms, quantity, (notional, equity))?;
            return Some(());
        }
        let own = if quantity == 0 { 0 } else { symbol.brackets.maintenance(notional)? };
        let positions = positions + u32::from(quantity != 0);
        (slack(equity, maintenance.checked_add(own)?, positions, false) > 0).then_some(())
    }
}
