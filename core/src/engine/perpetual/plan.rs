//! What an order that arrives comes to, worked out before anything changes: every meeting with a resting order, and how each account
//! stands after all of them. Who may be filled is decided here and nowhere else: the check at the match (`risk.md` 6), self-trade
//! prevention (15), reduce-only (13), the dynamic band (16). What is planned is written by `commit.rs`, or asked for and dropped.

use super::admission::facing;
use super::commit::reason;
use super::execute::Role;
use super::position_change::PositionChange;
use crate::command::{PerpetualParameter, SelfTradePrevention, Side, order_flag};
use crate::ids::{AccountId, FEE_ACCOUNT};
use crate::matching::{Ending, Meeting, Step, walk};
use crate::money::{Money, Price, Quantity};
use crate::order::Order;
use crate::perpetual::plan::{Costs, PartyOutcome, Plan, PlannedFill};
use crate::perpetual::{Perpetual, State};
use crate::risk::perpetual::band::Band;
use crate::risk::perpetual::bankruptcy::{DistressedPosition, liquidation_fee, room};
use crate::risk::perpetual::{fee, reduce_only, units};

/// An order that arrives, as far as its fills depend on it.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    pub(super) account: AccountId,
    pub(super) index: usize,
    pub(super) side: Side,
    /// The last price at which it trades.
    pub(super) limit: Price,
    pub(super) open: Quantity,
    /// Its account's, once it is in.
    pub(super) leverage: u32,
    pub(super) self_trade: SelfTradePrevention,
    pub(super) role: Role,
}

/// What a plan is made for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To be committed. It ends before an account that has not paid an hour, or is still to be settled.
    Commit,
    /// Fill-or-kill asks whether all of it would be filled. Who has not paid an hour pays, whatever becomes of the order.
    Ask,
    /// What the book offers, whoever can bear it, for the margin that is asked for (`risk.md` 6). Nobody pays anything.
    Value,
}

/// Who may not have a fill.
enum Refused {
    Maker,
    Taker,
}

impl Perpetual {
    /// Plans what an order that arrives comes to, into [`Plan`]: as far as an account that is behind, and which. Nobody where it is
    /// planned to its end. Nothing changes but that who is behind may pay.
    #[inline(always)]
    pub(super) fn plan(&mut self, arrival: &Arrival, purpose: Purpose) -> Option<AccountId> {
        match purpose {
            Purpose::Value => self.plan_value(arrival),
            Purpose::Commit | Purpose::Ask => self.plan_fills(arrival, purpose),
        }
    }

    /// Plans what an order that arrives comes to, to be committed, and whether it may be: nobody is behind, and everybody may have
    /// their fills, which then are what the book offers. Otherwise only that is planned.
    pub(super) fn plan_or_value(&mut self, arrival: &Arrival) -> bool {
        if self.plan(arrival, Purpose::Commit).is_none() && !self.plan.has_refused {
            return true;
        }
        self.plan(arrival, Purpose::Value);
        false
    }

    #[inline(never)]
    fn plan_value(&mut self, arrival: &Arrival) -> Option<AccountId> {
        self.plan_for(arrival, Purpose::Value)
    }

    #[inline(never)]
    fn plan_fills(&mut self, arrival: &Arrival, purpose: Purpose) -> Option<AccountId> {
        self.plan_for(arrival, purpose)
    }

    /// Compiled once for fills and once for values, of which far less is asked.
    #[inline(always)]
    fn plan_for(&mut self, arrival: &Arrival, purpose: Purpose) -> Option<AccountId> {
        self.plan.clear();
        let &Arrival { account, index, side, limit, open, role, .. } = arrival;
        let is_filled = purpose != Purpose::Value;
        let Perpetual { books, orders, state, plan } = self;
        let band = state.symbols[index].dynamic_band(state.now_ms).filter(|_| !role.liquidates());
        let prevents = arrival.self_trade != SelfTradePrevention::None;
        let group = if prevents { state.accounts.get(account).group } else { 0 };
        let limit = books[index].key(side.opposite(), limit);
        let moves = is_filled || state.symbols[index].reducing[side.opposite() as usize & 1] != 0;
        let mut planning =
            Planning { state, plan, arrival, band, group, left: open, purpose, moves, waits_for: None };
        if moves {
            planning.add_taker();
        }
        walk(&books[index], orders, side, limit, |slot, maker| {
            if is_filled && maker.remaining < planning.left {
                planning.state.prefetch_maker(index, orders, maker.next);
            }
            planning.meet(slot, maker)
        });
        let Planning { left, waits_for, .. } = planning;
        self.plan.filled = open - left;
        waits_for
    }
}

/// An order whose meetings are worked out.
struct Planning<'a> {
    state: &'a mut State,
    plan: &'a mut Plan,
    arrival: &'a Arrival,
    /// Where it may trade, if that is bounded.
    band: Option<Band>,
    /// Trade group of its account + 1, where that matters.
    group: i64,
    left: Quantity,
    purpose: Purpose,
    /// Positions are followed from fill to fill.
    moves: bool,
    waits_for: Option<AccountId>,
}

impl Planning<'_> {
    /// All that comes of meeting a resting order: more than one fill of one that only reduces, met by its own account, which keeps
    /// its position.
    #[inline(always)]
    fn meet(&mut self, slot: u32, maker: &Order) -> Step {
        let mut open = maker.remaining;
        loop {
            let Some(meeting) = self.judge(slot, maker, open) else { return Step::Stop };
            match meeting {
                Meeting::Fill(quantity) => {
                    self.left -= quantity;
                    open -= quantity;
                    if self.left == 0 {
                        return Step::Stop;
                    }
                    if open == 0 {
                        return Step::On;
                    }
                }
                Meeting::ExpireMaker => return Step::On,
                Meeting::StopTaker(_) | Meeting::ExpireBoth(_) => return Step::Stop,
            }
        }
    }

    /// Plans what a meeting with a resting order comes to that has `open` left; `None` where its account is behind, and is waited for,
    /// or the value of what is offered is too large.
    #[inline(always)]
    fn judge(&mut self, slot: u32, maker: &Order, open: Quantity) -> Option<Meeting> {
        if self.band.is_some_and(|band| !band.admits(maker.price)) {
            return Some(self.unfilled(maker, Meeting::StopTaker(Ending::Spent), reason::BAND));
        }
        let mode = self.arrival.self_trade;
        if mode != SelfTradePrevention::None && self.is_one_party(maker.account) {
            let meeting = match mode {
                SelfTradePrevention::ExpireMaker => Meeting::ExpireMaker,
                SelfTradePrevention::ExpireBoth => Meeting::ExpireBoth(Ending::SelfTrade),
                _ => Meeting::StopTaker(Ending::SelfTrade),
            };
            return Some(self.unfilled(maker, meeting, reason::SELF_TRADE));
        }
        let mut quantity = self.left.min(open);
        if self.state.details[slot as usize].is(order_flag::REDUCE_ONLY) {
            let held = match self.plan.place(maker.account) {
                Some(place) => self.plan.parties[place].holding.quantity,
                None => self.state.holding(maker.account, self.arrival.index).quantity,
            };
            let most = reduce_only::shrunk(self.arrival.side.opposite(), open, held);
            if most == 0 {
                return Some(self.unfilled(maker, Meeting::ExpireMaker, reason::REDUCE_ONLY));
            }
            quantity = quantity.min(most);
        }
        if self.purpose == Purpose::Value {
            self.offer(maker, quantity)?;
            return Some(Meeting::Fill(quantity));
        }
        if self.state.is_behind(maker.account) {
            if self.purpose == Purpose::Commit {
                self.waits_for = Some(maker.account);
                return None;
            }
            self.have_paid(maker.account);
        }
        let costs = match self.fill(maker, quantity) {
            Ok(costs) => costs,
            Err(refused) => {
                self.plan.has_refused = true;
                let meeting = match refused {
                    Refused::Maker => Meeting::ExpireMaker,
                    Refused::Taker => Meeting::StopTaker(Ending::Spent),
                };
                return Some(self.unfilled(maker, meeting, reason::MARGIN));
            }
        };
        // Too much is found out by who asks for the sum.
        self.plan.count(costs.value);
        let (meeting, why) = (Meeting::Fill(quantity), reason::NONE);
        self.plan.note(|| PlannedFill { order: maker.id, meeting, why, costs });
        Some(meeting)
    }

    /// Plans a meeting that is no fill.
    #[inline(never)]
    fn unfilled(&mut self, maker: &Order, meeting: Meeting, why: u8) -> Meeting {
        if self.purpose != Purpose::Value {
            self.plan.note(|| PlannedFill { order: maker.id, meeting, why, costs: Costs::default() });
        }
        meeting
    }

    /// Counts what a resting order offers.
    fn offer(&mut self, maker: &Order, quantity: Quantity) -> Option<()> {
        let Some(value) = units::value(maker.price, quantity) else {
            self.plan.value = None;
            return None;
        };
        self.plan.count(value)?;
        if self.moves {
            let change = facing(self.arrival.side.opposite(), quantity);
            let place = self.place(maker.account);
            // Whoever meets an own order keeps its position.
            for (place, change) in [(place, change), (0, -change)] {
                let holding = &mut self.plan.parties[place].holding;
                holding.quantity = holding.quantity.saturating_add(change);
            }
        }
        Some(())
    }

    fn is_one_party(&self, maker: AccountId) -> bool {
        maker == self.arrival.account
            || (self.group != 0 && self.state.accounts.get(maker).group == self.group)
    }

    /// Has an account pay what it is behind with, for which the fund may pay in part.
    #[cold]
    fn have_paid(&mut self, account: AccountId) {
        let before = self.state.wallet(FEE_ACCOUNT);
        self.state.settle_first(account);
        let taker = &mut self.plan.parties[0];
        if taker.account == FEE_ACCOUNT {
            taker.record.wallet += self.state.wallet(FEE_ACCOUNT) - before;
        }
    }

    /// Adds the arriving order's account, with the leverage that it would have.
    #[inline(always)]
    fn add_taker(&mut self) {
        let &Arrival { account, index, leverage, .. } = self.arrival;
        let place = self.place(account);
        if leverage != self.state.leverage(account, index) {
            self.plan.parties[place].holding.set_leverage(leverage);
        }
    }

    /// The place of an account among the parties, which it joins as it is.
    #[inline(always)]
    fn place(&mut self, account: AccountId) -> usize {
        match self.plan.place(account) {
            Some(place) => place,
            None => {
                let holding = self.state.holding(account, self.arrival.index);
                self.plan.add((account, self.arrival.index), self.state.accounts.get(account), holding)
            }
        }
    }

    /// Plans a fill, if both sides may have it.
    #[inline(always)]
    fn fill(&mut self, maker: &Order, quantity: Quantity) -> Result<Costs, Refused> {
        let value = units::value(maker.price, quantity).ok_or(Refused::Maker)?;
        let place = self.place(maker.account);
        let costs = self.fees(place, quantity, value)?;
        let [maker_leg, taker_leg] = self.legs(place, quantity, &costs)?;
        let index = self.arrival.index;
        for (place, change) in [(place, &maker_leg), (0, &taker_leg)] {
            let party = &mut self.plan.parties[place];
            change.put_on(party);
            party.has_traded = true;
            let record = &mut party.record;
            record.touch(index);
            if !self.arrival.role.liquidates() {
                record.count_traded(value);
                if self.state.tiers.raises(record.tier, record.volume) {
                    record.tier = self.state.tiers.earned(record.volume);
                }
            }
        }
        let taker = &mut self.plan.parties[0];
        if taker.account == FEE_ACCOUNT {
            // It pays what the maker's isolated wallet lacks.
            taker.record.wallet -= maker_leg.covered;
        }
        Ok(Costs {
            realised: [maker_leg.filled.realised, taker_leg.filled.realised],
            covered: [maker_leg.covered, taker_leg.covered],
            ..costs
        })
    }

    /// Value, fees and rewards of a fill with the party at `place`.
    #[inline(always)]
    fn fees(&self, place: usize, quantity: Quantity, value: Money) -> Result<Costs, Refused> {
        use Refused::{Maker, Taker};
        let Planning { state, plan, arrival, .. } = self;
        let [taker, maker] = [&plan.parties[0], &plan.parties[place]];
        let maker_rates = state.rates_of(maker.account, &maker.record).ok_or(Maker)?;
        let taker_rates = state.rates_of(taker.account, &taker.record).ok_or(Taker)?;
        let liquidates = arrival.role.liquidates();
        let taker_rate = if liquidates { 0 } else { taker_rates[1] };
        let (mut taker_fee, maker_fee) = fee::both(value, taker_rate, maker_rates[0]).ok_or(Maker)?;
        if liquidates {
            let terms = (arrival.side, quantity, value);
            taker_fee = state.liquidation_fee(arrival.index, taker, terms).ok_or(Taker)?;
        }
        let maker_reward =
            reward(value, (&maker_rates, maker_rates[2]), maker_fee, taker_fee).ok_or(Maker)?;
        let taker_reward = if liquidates {
            0
        } else {
            reward(value, (&taker_rates, taker_rates[3]), taker_fee, maker_fee).ok_or(Taker)?
        };
        let (fees, rewards) = ([maker_fee, taker_fee], [maker_reward, taker_reward]);
        Ok(Costs { value, fees, rewards, ..Costs::default() })
    }

    /// What a fill with the party at `place` makes of both, if both bear it.
    #[inline(always)]
    fn legs(&self, place: usize, quantity: Quantity, costs: &Costs) -> Result<[PositionChange; 2], Refused> {
        use Refused::{Maker, Taker};
        let Planning { state, plan, arrival, .. } = self;
        let Arrival { index, side, role, .. } = **arrival;
        let &Costs { value, fees: [maker_fee, taker_fee], .. } = costs;
        let [taker, maker] = [&plan.parties[0], &plan.parties[place]];
        let terms = (quantity, value, maker_fee);
        let maker_leg = state.leg_of(index, maker, side.opposite(), terms).ok_or(Maker)?;
        if !maker_leg.filled.is_within_bound() {
            return Err(Maker);
        }
        let is_self = place == 0;
        if !is_self && !state.may_have(index, maker, &maker_leg, maker_leg.covered) {
            return Err(Maker);
        }
        let mut between;
        let before = if is_self {
            between = *taker;
            maker_leg.put_on(&mut between);
            &between
        } else {
            taker
        };
        let taker_leg = state.leg_of(index, before, side, (quantity, value, taker_fee)).ok_or(Taker)?;
        if !taker_leg.filled.is_within_bound() {
            return Err(Taker);
        }
        // Also where it meets its own order, which leaves its position, but takes both fees, and the fund pays for both legs.
        let covered = taker_leg.covered + if is_self { maker_leg.covered } else { 0 };
        if !role.liquidates() && !state.may_have(index, taker, &taker_leg, covered) {
            return Err(Taker);
        }
        Ok([maker_leg, taker_leg])
    }
}

/// What the affiliate of a side has of its fee, and of a fee that pays the other side's rebate no more than of the rest: FEE never falls.
#[inline(always)]
fn reward(value: Money, (rates, base): (&[i64; 5], i64), fee: Money, other: Money) -> Option<Money> {
    let charged = fee + other.min(0);
    if charged <= 0 || rates[4] == 0 { Some(0) } else { fee::reward(value, base, rates[4] as u32, charged) }
}

impl State {
    /// One side of a fill, of an account as it is planned, bound or not; `None`: it may not have it.
    #[inline(always)]
    fn leg_of(
        &self,
        index: usize,
        party: &PartyOutcome,
        side: Side,
        terms: (Quantity, Money, Money),
    ) -> Option<PositionChange> {
        self.position_change(index, &party.holding, party.record.wallet, party.is_isolated, side, terms)
    }

    /// Whether a party bears a leg, for which the fund pays `covered`.
    #[inline(always)]
    fn may_have(&self, index: usize, party: &PartyOutcome, change: &PositionChange, covered: Money) -> bool {
        if self.has_ample(index, party, change, covered).unwrap_or(false) {
            return true;
        }
        let bears = match change.filled.opened {
            0 => self.bears_close(index, party, change, covered),
            _ => self.bears(index, party, change, covered),
        };
        bears.unwrap_or(false)
    }

    /// The fee of a liquidation's fill: what the fund may take of what it brings above its bankruptcy value.
    #[inline(never)]
    fn liquidation_fee(
        &self,
        index: usize,
        taker: &PartyOutcome,
        (side, quantity, value): (Side, Quantity, Money),
    ) -> Option<Money> {
        let PartyOutcome { account, ref record, ref holding, is_isolated, .. } = *taker;
        let symbol = &self.symbols[index];
        let (equity, maintenance) = if is_isolated {
            self.isolated(index, holding)?
        } else {
            let cross = self.cross_with(account, record.wallet, Some((index, holding)))?;
            (cross.equity, cross.maintenance)
        };
        let distress =
            DistressedPosition { quantity: holding.quantity, mark: symbol.prices.mark, equity, maintenance };
        let bankruptcy = distress.bankruptcy_value(quantity, &symbol.brackets)?;
        let rate = symbol.get(PerpetualParameter::LiquidationFee);
        liquidation_fee(value, rate, room(side, value, bankruptcy)?)
    }
}
