//! Writes what was planned of an order that arrives: into the book, the accounts, and the events. Nothing is asked here, and nothing
//! can fail.

use super::execute::Role;
use super::orders::place_of;
use crate::book::{Mutation, Orders};
use crate::command::{MarginMode, PerpetualStatus, SelfTradePrevention};
use crate::event::{
    Execution, LiquidationStep, PerpetualTrade, Posting, PostingReason, PreventedMatch, TradeCause,
};
use crate::ids::{AccountId, FEE_ACCOUNT};
use crate::matching::{Fill, Meeting, Settlement, Taker, sweep};
use crate::money::Quantity;
use crate::order::Order;
use crate::perpetual::account::HotHolding;
use crate::perpetual::event_writer::position_event;
use crate::perpetual::plan::{Costs, PartyOutcome, Plan, PlannedFill};
use crate::perpetual::{Perpetual, State, id_of};
use std::num::NonZeroU8;

/// Reasons why orders expire, numbers of `perpetual-stream.md` 4.1.
pub(crate) mod reason {
    pub(crate) const NONE: u8 = 0;
    pub(crate) const SELF_TRADE: u8 = 1;
    pub(crate) const IMMEDIATE: u8 = 2;
    pub(crate) const IMMEDIATE_SELF_TRADE: u8 = 3;
    pub(crate) const REDUCE_ONLY: u8 = 4;
    pub(crate) const LIQUIDATION: u8 = 5;
    pub(crate) const CLOSE_POSITION: u8 = 6;
    pub(crate) const CLOSED: u8 = 7;
    pub(crate) const REFUSED: u8 = 8;
    pub(crate) const MARKET: u8 = 9;
    pub(crate) const MARGIN: u8 = 10;
    pub(crate) const BAND: u8 = 11;
    pub(crate) const DELEVERAGED: u8 = 12;
}

impl Perpetual {
    /// Writes what was planned of the arriving order in `slot`, which trades that and no more; the `reason` for which it stopped, if it
    /// did.
    pub(super) fn commit(
        &mut self,
        index: usize,
        slot: u32,
        taker: &mut Taker,
        role: Role,
    ) -> Option<NonZeroU8> {
        let Perpetual { books, orders, state, plan } = self;
        let Plan { meetings, parties, .. } = plan;
        if state.work.has_dues() {
            for party in parties.iter().filter(|party| party.has_traded) {
                // Nobody who owes is among them; who holds nothing yet pays nothing for an hour that is fixed.
                state.settle_first(party.account);
            }
        }
        let mut writing =
            Writing { state, index, slot, role, planned: meetings.iter(), now: None, stopped: None };
        sweep(&mut books[index], orders, taker, &mut writing);
        assert!(writing.planned.as_slice().is_empty(), "the book has whom the plan met");
        let stopped = writing.stopped;
        for party in parties.iter().filter(|party| party.has_traded) {
            state.put_party(index, party);
        }
        stopped
    }
}

/// An order trading on a perpetual market as it was planned.
struct Writing<'a> {
    state: &'a mut State,
    index: usize,
    /// The arriving order's.
    slot: u32,
    role: Role,
    planned: std::slice::Iter<'a, PlannedFill>,
    /// The meeting that is written.
    now: Option<&'a PlannedFill>,
    /// Why the arriving order stopped, a `reason`; none while it did not.
    stopped: Option<NonZeroU8>,
}

impl State {
    /// Lowers what a resting order has open in its bucket from `before` to `after`, and tells it.
    #[inline(always)]
    fn rebook(&mut self, slot: u32, before: Quantity, after: Quantity) {
        let State { details, holdings, writer, .. } = self;
        let details = &details[slot as usize];
        let holding = holdings[place_of(details.market)].get_mut(details.account);
        details.rebook(holding, (before, after), writer);
    }
}

impl Writing<'_> {
    /// Notes that self-trade prevention kept two orders apart.
    #[inline(never)]
    fn prevented(&mut self, taker: &Taker, maker: &Order, meeting: Meeting) {
        let (ends_maker, ends_taker, mode) = match meeting {
            Meeting::ExpireMaker => (true, false, SelfTradePrevention::ExpireMaker),
            Meeting::ExpireBoth(_) => (true, true, SelfTradePrevention::ExpireBoth),
            Meeting::StopTaker(_) | Meeting::Fill(_) => (false, true, SelfTradePrevention::ExpireTaker),
        };
        let group =
            if maker.account == taker.account { 0 } else { self.state.accounts.get(taker.account).group };
        let symbol = &mut self.state.symbols[self.index];
        symbol.prevented += 1;
        let event = PreventedMatch {
            prevented: symbol.prevented,
            taker_order: taker.order,
            maker_order: maker.id,
            price: maker.price,
            maker_quantity: if ends_maker { maker.remaining } else { 0 },
            taker_quantity: if ends_taker { taker.remaining } else { 0 },
            trade_group: group - 1,
            taker_account: taker.account,
            maker_account: maker.account,
            market: maker.market,
            mode: mode as u8,
            reserved: [0; 3],
        };
        self.state.writer.emit(event);
    }

    /// The meeting that is written.
    #[inline(always)]
    fn now(&self) -> &PlannedFill {
        match self.now {
            Some(planned) => planned,
            None => unreachable!("orders meet before anything comes of it"),
        }
    }
}

impl State {
    /// Puts a party where its fills left it.
    fn put_party(&mut self, index: usize, party: &PartyOutcome) {
        let PartyOutcome { account, ref record, holding: ref planned, .. } = *party;
        let State { symbols, accounts, holdings, writer, .. } = self;
        let (now, holding) = (accounts.get_mut(account), holdings[index].get_mut(account));
        now.touch(index);
        let wallet = std::mem::replace(&mut now.wallet, record.wallet);
        let moving = |of: &HotHolding| (of.quantity, of.cost, of.isolated, of.open_fees, of.realised);
        let (before, after) = (moving(holding), moving(planned));
        (holding.quantity, holding.cost, holding.isolated, holding.open_fees, holding.realised) = after;
        if after != before {
            writer.emit(position_event((account, index), &symbols[index], (now, holding)));
        }
        if wallet != record.wallet {
            writer.wallet(account, record.wallet);
        }
        self.settle_in(account, index, before.0);
    }

    /// Fees of a fill into their pools.
    #[inline]
    fn collect(&mut self, index: usize, liquidates: bool, costs: &Costs, accounts: [AccountId; 2]) {
        let Costs { fees: [maker_fee, taker_fee], rewards: [maker_reward, taker_reward], .. } = *costs;
        let rewards = maker_reward + taker_reward;
        let ledger = &mut self.ledger;
        ledger.affiliates += rewards;
        if liquidates {
            ledger.fees += maker_fee - rewards;
            *self.wallet_mut(FEE_ACCOUNT) += taker_fee;
        } else {
            ledger.fees += maker_fee + taker_fee - rewards;
        }
        assert!(self.ledger.fees >= 0, "the fee pool is below zero");
        for (account, amount) in accounts.into_iter().zip(costs.rewards) {
            if amount != 0 {
                let trade = self.symbols[index].trades;
                self.writer.emit(Posting {
                    account,
                    market: id_of(index),
                    amount,
                    reason: PostingReason::Affiliate as u8,
                    wallet: MarginMode::Cross as u8,
                    reserved: [0; 6],
                    trade,
                });
            }
        }
    }
}

impl Settlement for Writing<'_> {
    #[inline]
    fn meet(&mut self, taker: &Taker, maker: &Order) -> Option<Meeting> {
        let planned = self.planned.next()?;
        self.now = Some(planned);
        let &PlannedFill { order, meeting, why, .. } = planned;
        assert!(order == maker.id, "the book has whom the plan met");
        if why == reason::SELF_TRADE {
            self.prevented(taker, maker, meeting);
        } else if let Meeting::StopTaker(_) = meeting {
            self.stopped = NonZeroU8::new(why);
        }
        Some(meeting)
    }

    fn fill(&mut self, taker: &Taker, maker: &Order, slot: u32, fill: Fill) {
        let costs = self.now().costs;
        let Writing { state, index, slot: taker_slot, role, .. } = self;
        let (index, taker_slot, liquidates) = (*index, *taker_slot, role.liquidates());
        let accounts = [maker.account, taker.account];
        for (account, covered) in accounts.into_iter().zip(costs.covered) {
            state.cover(account, index, covered);
        }
        for place in [slot, taker_slot] {
            let details = &mut state.details[place as usize];
            details.filled += fill.quantity;
            details.value += costs.value;
        }
        let symbol = &mut state.symbols[index];
        symbol.trades += 1;
        symbol.last_price = fill.price;
        symbol.contract_range.add(fill.price);
        let trade = symbol.trades;
        state.moved |= 1 << index;
        state.work.stirred |= 1 << index;
        state.show_fresh(index, fill.price);
        let is_maker_filled = fill.is_maker_filled && !state.details[slot as usize].is_shortened;
        let is_taker_filled = taker.remaining == fill.quantity;
        let [[maker_fee, taker_fee], [maker_realised, taker_realised]] = [costs.fees, costs.realised];
        state.writer.emit(PerpetualTrade {
            trade,
            maker_order: maker.id,
            taker_order: taker.order,
            price: fill.price,
            quantity: fill.quantity,
            maker_account: maker.account,
            taker_account: taker.account,
            market: id_of(index),
            taker_side: taker.side as u8,
            flags: u8::from(is_maker_filled) | u8::from(is_taker_filled) << 1,
            cause: if liquidates { TradeCause::Liquidation } else { TradeCause::Book } as u8,
            reserved: 0,
            maker_fee,
            taker_fee,
            maker_realised,
            taker_realised,
            value: costs.value,
        });
        state.rebook(slot, maker.remaining, maker.remaining - fill.quantity);
        if !liquidates {
            state.add_volume(maker.account, costs.value);
            state.add_volume(taker.account, costs.value);
        }
        state.collect(index, liquidates, &costs, accounts);
        let step = match taker.account {
            _ if liquidates => Some((LiquidationStep::Book, taker_fee)),
            // It unwinds.
            FEE_ACCOUNT => Some((LiquidationStep::Unwind, taker_realised - taker_fee)),
            _ => None,
        };
        if let Some((step, fund_change)) = step {
            state.liquidation_step(
                taker.account,
                index,
                step,
                (taker.side, taker.order),
                (fill.quantity, costs.value, fund_change),
                FEE_ACCOUNT,
            );
        }
        state.grow_attached(slot);
        state.grow_attached(taker_slot);
        state.follow_trailing(index, 0, fill.price);
    }

    fn expire(&mut self, _: &Order, _: u32) {}

    fn leave(&mut self, orders: &mut Orders, slot: u32) {
        let &PlannedFill { meeting, why, .. } = self.now();
        let ends = match meeting {
            Meeting::Fill(_) if self.state.details[slot as usize].is_shortened => {
                Some((PerpetualStatus::Expired, reason::REDUCE_ONLY))
            }
            Meeting::Fill(_) => None,
            _ if why == reason::SELF_TRADE => Some((PerpetualStatus::ExpiredInMatch, why)),
            _ => Some((PerpetualStatus::Expired, why)),
        };
        if let Some((status, why)) = ends {
            self.state.end_unfilled(orders, slot);
            let event = self.state.details[slot as usize].event(status, Execution::Expired, why, 0);
            self.state.writer.emit(event);
            self.state.rebook(slot, orders.open(slot), 0);
        }
        self.state.forget(orders, slot);
        orders.pool.give(slot);
    }

    fn mutated(&mut self, mutation: Mutation) {
        self.state.writer.mutated(self.index, mutation);
    }
}
