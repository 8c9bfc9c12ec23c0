//! What a fill costs both sides: positions, wallets, fees, affiliates, volumes. And who may be filled: the check at the
//! match (`risk.md` 6), self-trade prevention (15), reduce-only (13), the dynamic band (16).

use super::legs::Leg;
use crate::book::{Mutation, Orders};
use crate::command::{MarginMode, PerpetualParameter, PerpetualStatus, SelfTradePrevention, order_flag};
use crate::event::{
    Execution, LiquidationStep, PerpetualTrade, Posting, PostingReason, PreventedMatch, TradeCause,
};
use crate::ids::{AccountId, FEE_ACCOUNT, TradeId};
use crate::matching::{Ending, Fill, Meeting, Settlement, Taker};
use crate::money::{Money, Quantity};
use crate::order::Order;
use crate::perpetual::{State, id_of, mode_of};
use crate::risk::perpetual::band::Band;
use crate::risk::perpetual::bankruptcy::{Distress, liquidation_fee, room};
use crate::risk::perpetual::{fee, reduce_only, units};
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

/// What an arriving order is to the settlement.
pub(crate) struct Arriving {
    pub(crate) slot: u32,
    pub(crate) self_trade: SelfTradePrevention,
    /// It closes for a scope in liquidation.
    pub(crate) liquidates: bool,
    /// No bounds by the dynamic band.
    pub(crate) band: Option<Band>,
    /// Why it stopped, a `reason`; none while it did not.
    pub(crate) stopped: Option<NonZeroU8>,
    pub(crate) group: i64,
}

/// An order trading on a perpetual market.
pub(crate) struct PerpetualMatch<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) index: usize,
    pub(crate) arriving: Arriving,
    pub(super) prepared: Option<Prepared>,
    /// How the resting order that leaves next ends, unless it was filled.
    leaving: Option<(PerpetualStatus, u8)>,
}

/// A fill that was found possible.
#[derive(Clone, Copy)]
pub(super) struct Prepared {
    pub(super) maker: Leg,
    pub(super) taker: Leg,
    pub(super) value: Money,
    maker_fee: Money,
    taker_fee: Money,
    affiliates: [Money; 2],
}

impl State {
    /// Lowers what an order has open in its bucket from `before` to `after`.
    pub(crate) fn rebook(&mut self, slot: u32, before: Quantity, after: Quantity) {
        let index = (self.details[slot as usize].market - crate::ids::FIRST_PERPETUAL) as usize;
        let details = &self.details[slot as usize];
        if details.reserved_quantity == 0 {
            return;
        }
        let (reservation, whole) = (details.reservation, details.reserved_quantity);
        let (side, account) = (details.side, details.account);
        self.touch(account, index);
        let holding = self.holdings[index].get_mut(account);
        self.facts.tell_exposure(account, index, holding);
        self.facts.rebooked(holding);
        holding.rebook(side, (reservation, whole), before, after);
    }
}

impl<'a> PerpetualMatch<'a> {
    pub(crate) fn new(state: &'a mut State, index: usize, arriving: Arriving) -> PerpetualMatch<'a> {
        PerpetualMatch { state, index, arriving, prepared: None, leaving: None }
    }

    fn stop(&mut self, why: u8) -> Meeting {
        self.arriving.stopped = NonZeroU8::new(why);
        Meeting::StopTaker(Ending::Spent)
    }

    /// Whether both are one party.
    pub(super) fn is_one_party(&self, taker: &Taker, maker: &Order) -> bool {
        maker.account == taker.account
            || (self.arriving.group != 0
                && self.state.accounts.get(maker.account).group == self.arriving.group)
    }

    /// Notes that self-trade prevention kept two orders apart.
    fn prevented(&mut self, taker: &Taker, maker: &Order, mode: SelfTradePrevention) {
        let symbol = &mut self.state.symbols[self.index];
        symbol.prevented += 1;
        let ends_maker = mode != SelfTradePrevention::ExpireTaker;
        let ends_taker = mode != SelfTradePrevention::ExpireMaker;
        let group = if maker.account == taker.account { 0 } else { self.arriving.group };
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
        self.state.facts.emit(event);
    }

    /// Prepares a fill of `quantity`, if both sides may have it; otherwise who may not: `true` the maker.
    #[inline]
    pub(super) fn prepare(&mut self, taker: &Taker, maker: &Order, quantity: Quantity) -> Result<(), bool> {
        let index = self.index;
        let state = &*self.state;
        let value = units::value(maker.price, quantity).ok_or(true)?;
        let arriving = &self.arriving;
        let maker_rates = state.rates(maker.account).ok_or(true)?;
        let taker_rates = state.rates(taker.account).ok_or(false)?;
        let taker_rate = if arriving.liquidates { 0 } else { taker_rates[1] };
        let (mut taker_fee, maker_fee) = fee::both(value, taker_rate, maker_rates[0]).ok_or(true)?;
        if arriving.liquidates {
            taker_fee = self.liquidation_fee(taker, quantity, value).ok_or(false)?;
        }
        // Of a fee that pays the other side's rebate, the affiliate has no more than the rest: FEE never falls.
        let reward = |rates: &[i64; 5], base: i64, fee: Money, other: Money| {
            let charged = fee + other.min(0);
            if charged <= 0 || rates[4] == 0 {
                Some(0)
            } else {
                fee::reward(value, base, rates[4] as u32, charged)
            }
        };
        let affiliates = [
            reward(&maker_rates, maker_rates[2], maker_fee, taker_fee).ok_or(true)?,
            if arriving.liquidates {
                0
            } else {
                reward(&taker_rates, taker_rates[3], taker_fee, maker_fee).ok_or(false)?
            },
        ];
        let maker_leg = {
            let (record, holding) = (state.accounts.get(maker.account), state.holding(maker.account, index));
            let isolated = mode_of(record, holding) == MarginMode::Isolated;
            let terms = (quantity, value, maker_fee);
            state.leg(index, holding, record.wallet, isolated, taker.side.opposite(), terms)
        }
        .filter(|leg| leg.filled.is_within_bound())
        .ok_or(true)?;
        let is_self = maker.account == taker.account;
        let bears = |account: AccountId, leg: &Leg, covered: Money| {
            let bears = match leg.filled.opened {
                0 => state.bears_close(account, index, leg, covered),
                _ => state.bears(account, index, leg, covered),
            };
            bears.unwrap_or(false)
        };
        if !is_self && !bears(maker.account, &maker_leg, maker_leg.covered) {
            return Err(true);
        }
        let between;
        let (record, holding) = (state.accounts.get(taker.account), state.holding(taker.account, index));
        let isolated = mode_of(record, holding) == MarginMode::Isolated;
        let (holding, wallet) = if is_self {
            between = maker_leg.after(holding);
            (&between, maker_leg.wallet)
        } else {
            (holding, record.wallet)
        };
        let terms = (quantity, value, taker_fee);
        let taker_leg = state
            .leg(index, holding, wallet, isolated, taker.side, terms)
            .filter(|leg| leg.filled.is_within_bound())
            .ok_or(false)?;
        // Also where it meets its own order, which leaves its position, but takes both fees, and the fund pays for both legs.
        let covered = taker_leg.covered + if is_self { maker_leg.covered } else { 0 };
        if !arriving.liquidates && !bears(taker.account, &taker_leg, covered) {
            return Err(false);
        }
        self.prepared =
            Some(Prepared { maker: maker_leg, taker: taker_leg, value, maker_fee, taker_fee, affiliates });
        Ok(())
    }

    /// The fee of a liquidation's fill: what the fund may take of what it brings above its bankruptcy value.
    fn liquidation_fee(&self, taker: &Taker, quantity: Quantity, value: Money) -> Option<Money> {
        let state = &*self.state;
        let holding = state.holding(taker.account, self.index);
        let symbol = &state.symbols[self.index];
        let is_isolated = state.mode(taker.account, self.index) == MarginMode::Isolated;
        let (equity, maintenance) = if is_isolated {
            state.isolated(self.index, holding)?
        } else {
            let cross = state.cross_with(taker.account, state.wallet(taker.account), None)?;
            (cross.equity, cross.maintenance)
        };
        let distress = Distress { quantity: holding.quantity, mark: symbol.prices.mark, equity, maintenance };
        let bankruptcy = distress.bankruptcy_value(quantity, &symbol.brackets)?;
        let rate = symbol.get(PerpetualParameter::LiquidationFee);
        liquidation_fee(value, rate, room(taker.side, value, bankruptcy)?)
    }
}

impl State {
    /// Fees of a fill into their pools.
    #[inline]
    fn collect(&mut self, index: usize, liquidates: bool, prepared: &Prepared, accounts: [AccountId; 2]) {
        let [maker_reward, taker_reward] = prepared.affiliates;
        let rewards = maker_reward + taker_reward;
        let pools = &mut self.pools;
        pools.affiliates += rewards;
        if liquidates {
            pools.fees += prepared.maker_fee - rewards;
            *self.wallet_mut(FEE_ACCOUNT) += prepared.taker_fee;
        } else {
            pools.fees += prepared.maker_fee + prepared.taker_fee - rewards;
        }
        assert!(self.pools.fees >= 0, "the fee pool is below zero");
        for (account, amount) in accounts.into_iter().zip(prepared.affiliates) {
            if amount != 0 {
                let trade = self.symbols[index].trades;
                self.facts.emit(Posting {
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

/// A fill as an event that says nothing of what it costs.
#[inline(always)]
pub(super) fn trade_event(
    trade: TradeId,
    index: usize,
    (taker, maker): (&Taker, &Order),
    fill: Fill,
) -> PerpetualTrade {
    PerpetualTrade {
        trade,
        maker_order: maker.id,
        taker_order: taker.order,
        price: fill.price,
        quantity: fill.quantity,
        maker_account: maker.account,
        taker_account: taker.account,
        market: id_of(index),
        taker_side: taker.side as u8,
        flags: u8::from(fill.is_maker_filled) | u8::from(taker.remaining == fill.quantity) << 1,
        cause: TradeCause::Book as u8,
        reserved: 0,
        maker_fee: 0,
        taker_fee: 0,
        maker_realised: 0,
        taker_realised: 0,
        value: 0,
    }
}

impl Settlement for PerpetualMatch<'_> {
    fn meet(&mut self, taker: &Taker, maker: &Order, slot: u32) -> Meeting {
        if self.arriving.band.is_some_and(|band| !band.admits(maker.price)) {
            return self.stop(reason::BAND);
        }
        let mode = self.arriving.self_trade;
        if mode != SelfTradePrevention::None && self.is_one_party(taker, maker) {
            self.prevented(taker, maker, mode);
            if mode != SelfTradePrevention::ExpireTaker {
                self.leaving = Some((PerpetualStatus::ExpiredInMatch, reason::SELF_TRADE));
            }
            return match mode {
                SelfTradePrevention::ExpireMaker => Meeting::ExpireMaker,
                SelfTradePrevention::ExpireBoth => Meeting::ExpireBoth(Ending::SelfTrade),
                _ => Meeting::StopTaker(Ending::SelfTrade),
            };
        }
        let mut most = Quantity::MAX;
        if self.state.details[slot as usize].is(order_flag::REDUCE_ONLY) {
            let held = self.state.holding(maker.account, self.index).quantity;
            most = reduce_only::shrunk(taker.side.opposite(), maker.remaining, held);
            if most == 0 {
                self.leaving = Some((PerpetualStatus::Expired, reason::REDUCE_ONLY));
                return Meeting::ExpireMaker;
            }
        }
        self.state.settle_first(maker.account);
        match self.prepare(taker, maker, taker.remaining.min(maker.remaining).min(most)) {
            Ok(()) => Meeting::Fill(most),
            Err(true) => {
                self.leaving = Some((PerpetualStatus::Expired, reason::MARGIN));
                Meeting::ExpireMaker
            }
            Err(false) => self.stop(reason::MARGIN),
        }
    }

    fn fill(&mut self, taker: &Taker, maker: &Order, slot: u32, fill: Fill) {
        let PerpetualMatch { state, index, arriving, prepared, leaving } = self;
        let Some(prepared) = prepared else { unreachable!("a meeting prepared it") };
        let (index, liquidates) = (*index, arriving.liquidates);
        state.put_leg(maker.account, index, &prepared.maker);
        if taker.account == FEE_ACCOUNT {
            // It has just paid what the maker's isolated wallet lacked.
            prepared.taker.wallet -= prepared.maker.covered;
        }
        state.put_leg(taker.account, index, &prepared.taker);
        let taker_slot = arriving.slot;
        for place in [slot, taker_slot] {
            let details = &mut state.details[place as usize];
            details.filled += fill.quantity;
            details.value += prepared.value;
        }
        if state.details[slot as usize].reserved_quantity != 0 {
            state.rebook(slot, maker.remaining, maker.remaining - fill.quantity);
        }
        let symbol = &mut state.symbols[index];
        symbol.trades += 1;
        symbol.last_price = fill.price;
        symbol.contract_range.add(fill.price);
        let trade = symbol.trades;
        state.moved |= 1 << index;
        state.work.stirred |= 1 << index;
        state.show_fresh(index, fill.price);
        let is_shortened = state.details[slot as usize].is_shortened;
        let told = Fill { is_maker_filled: fill.is_maker_filled && !is_shortened, ..fill };
        let event = trade_event(trade, index, (taker, maker), told);
        state.facts.emit(PerpetualTrade {
            cause: if liquidates { TradeCause::Liquidation } else { TradeCause::Book } as u8,
            maker_fee: prepared.maker_fee,
            taker_fee: prepared.taker_fee,
            maker_realised: prepared.maker.filled.realised,
            taker_realised: prepared.taker.filled.realised,
            value: prepared.value,
            ..event
        });
        if !liquidates {
            state.add_volume(maker.account, prepared.value);
            state.add_volume(taker.account, prepared.value);
        }
        state.collect(index, liquidates, prepared, [maker.account, taker.account]);
        let step = match taker.account {
            _ if liquidates => Some((LiquidationStep::Book, prepared.taker_fee)),
            // It unwinds.
            FEE_ACCOUNT => {
                Some((LiquidationStep::Unwind, prepared.taker.filled.realised - prepared.taker_fee))
            }
            _ => None,
        };
        if let Some((step, fund_change)) = step {
            state.liquidation_step(
                taker.account,
                index,
                step,
                (taker.side, taker.order),
                (fill.quantity, prepared.value, fund_change),
                FEE_ACCOUNT,
            );
        }
        state.grow_attached(slot);
        state.grow_attached(taker_slot);
        if fill.is_maker_filled && is_shortened {
            *leaving = Some((PerpetualStatus::Expired, reason::REDUCE_ONLY));
        }
        state.follow_trailing(index, 0, fill.price);
    }

    fn expire(&mut self, _: &Order, _: u32) {}

    fn leave(&mut self, orders: &mut Orders, slot: u32) {
        if let Some((status, why)) = self.leaving.take() {
            self.state.end_unfilled(orders, slot);
            self.state.rebook(slot, orders.pool.get(slot).remaining, 0);
            let event = self.state.details[slot as usize].event(status, Execution::Expired, why, 0);
            self.state.facts.emit(event);
        }
        self.state.forget(orders, slot);
        orders.pool.give(slot);
    }

    fn mutated(&mut self, mutation: Mutation) {
        self.state.facts.mutated(self.index, mutation);
    }
}
