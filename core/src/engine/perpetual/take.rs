//! An order that trades at once where nothing but its fills follows from it: a plain market or limit order that meets plain ones and
//! does not rest. All of it was worked out (`meetings.rs`); here it is written, without a question.

use super::judge::Terms;
use super::meetings::Arrival;
use super::settle::{reason, trade_event};
use crate::book::{Mutation, Orders};
use crate::command::{
    MarginMode, PerpetualOrderType as Type, PerpetualStatus, PerpetualTimeInForce as Tif, SelfTradePrevention,
};
use crate::emit::{Emitter, depth_event};
use crate::event::{Execution, PerpetualPlaced, PerpetualPosition, PerpetualTrade, PerpetualWallet, Sink};
use crate::matching::{Fill, Meeting, Settlement, Taker, sweep};
use crate::money::{Money, Price, Quantity};
use crate::order::Order;
use crate::perpetual::facts::pools_event;
use crate::perpetual::market::Range;
use crate::perpetual::order::Details;
use crate::perpetual::plan::{Meetings, Party, Planned};
use crate::perpetual::{Perpetual, State, id_of};

impl Perpetual {
    /// Plans what a plain order within its limit would trade, into [`Meetings`]. Whether it could be planned.
    #[inline(never)]
    pub(super) fn plan(&mut self, index: usize, order: &Details, limit: Price) -> bool {
        let &Details { account, side, self_trade, quantity, .. } = order;
        self.state.prefetch_party(index, account);
        self.prefetch_meeting(index, side);
        let Perpetual { books, orders, state, meetings } = self;
        let symbol = &mut state.symbols[index];
        let is_still = symbol.contract_range == Range::EMPTY
            && symbol.mark_range == Range::EMPTY
            && !symbol.has_odd_lots()
            && symbol.is_trading()
            && !state.has_moved()
            && (self_trade == SelfTradePrevention::None || state.accounts.get(account).group == 0);
        if !is_still || order.time_in_force == Tif::PostOnly {
            return false;
        }
        let band = state.symbols[index].dynamic_band(state.now_ms);
        let limit = books[index].key(side.opposite(), limit);
        let arrival = Arrival { account, index, side, limit, quantity, band };
        state.meetings(meetings, &books[index], orders, &arrival).is_some()
    }

    /// Writes an order that trades as it was planned, and ends.
    #[inline(never)]
    pub(super) fn write_trades<S: Sink>(
        &mut self,
        index: usize,
        order: &Details,
        terms: &Terms,
        emitter: &mut Emitter<'_, S>,
    ) {
        let Perpetual { books, orders, state, meetings } = self;
        let &Details { id, account, market, side, quantity, client_order, .. } = order;
        let reference = terms.reference_of(order);
        emitter.emit(PerpetualPlaced {
            order: id,
            account,
            market,
            fired: 0,
            client_order,
            reserved: 0,
            reference,
        });
        emitter.emit(order.event(PerpetualStatus::New, Execution::New, reason::NONE, quantity));
        let limit = books[index].key(side.opposite(), terms.limit);
        let fees = state.pools.fees;
        let Meetings { fills, parties, ascending, mutations, value, .. } = meetings;
        if !fills.is_empty() {
            let mut taker = Taker { order: id, account, side, limit, remaining: quantity, ending: None };
            mutations.clear();
            let mut taking = Taking {
                state,
                index,
                emitter,
                fills: fills.iter(),
                name: 0,
                traded: Some(*value),
                mutations,
            };
            sweep(&mut books[index], orders, &mut taker, &mut taking);
            assert!(taking.fills.as_slice().is_empty(), "the book trades what was planned");
        }
        if meetings.filled < quantity {
            let left = Details { filled: meetings.filled, value: meetings.value, ..*order };
            let why = if order.order_type == Type::Market { reason::MARKET } else { reason::IMMEDIATE };
            emitter.emit(left.event(PerpetualStatus::Expired, Execution::Expired, why, 0));
        }
        if !fills.is_empty() {
            mutations.iter().for_each(|&mutation| emitter.emit(depth_event(market, mutation)));
            for &place in ascending.iter() {
                state.put_party(index, &parties[place as u32 as usize], emitter);
            }
            for &place in ascending.iter() {
                let Party { account, wallet, threshold, .. } = parties[place as u32 as usize];
                let record = state.accounts.get_mut(account);
                if std::mem::replace(&mut record.wallet, wallet) != wallet {
                    emitter.emit(PerpetualWallet { account, reserved: 0, wallet });
                }
                // Not before its wallet is what it is: it may be given its place at once.
                state.unrank(account);
                if threshold.is_none() {
                    let cross = state.cross(account);
                    state.watch_scopes(account, &cross);
                }
            }
            if state.pools.fees != fees {
                emitter.emit(pools_event(&state.pools));
            }
            state.rank_few();
        }
    }
}

impl State {
    /// Puts a party where its fills left it, and tells its position, and of a maker its order margin. Its wallet is told after
    /// those of all.
    #[inline(always)]
    fn put_party<S: Sink>(&mut self, index: usize, party: &Party, emitter: &mut Emitter<'_, S>) {
        let (account, market) = (party.account, id_of(index));
        let symbol = &self.symbols[index];
        let holding = self.holdings[index].get_mut(account);
        let before = holding.quantity;
        (holding.quantity, holding.cost) = (party.position.quantity, party.position.cost);
        (holding.open_fees, holding.realised) = (party.open_fees, party.realised);
        holding.trimmed = party.position.quantity;
        emitter.emit(PerpetualPosition {
            account,
            market,
            quantity: party.position.quantity,
            cost: party.position.cost,
            isolated_wallet: holding.isolated,
            open_fees: party.open_fees,
            realised: party.realised,
            leverage: symbol.leverage(holding),
            mode: MarginMode::Cross as u32,
        });
        if party.is_maker {
            emitter.emit(holding.exposure_event(account, market));
        }
        if (before == 0) != (party.position.quantity == 0) {
            self.enlist(account, index, before);
        } else {
            self.symbols[index].count_open(before, party.position.quantity);
        }
        self.accounts.get_mut(account).markets[index / 64] |= 1 << (index % 64);
        if let Some(threshold) = party.threshold {
            self.bands.set(index, account, threshold);
        }
    }
}

/// A match whose every fill was worked out.
struct Taking<'a, 'e, 's, S: Sink> {
    state: &'a mut State,
    index: usize,
    emitter: &'e mut Emitter<'s, S>,
    fills: std::slice::Iter<'a, Planned>,
    /// The hash of the name of the order that was filled last.
    name: u64,
    /// Value of all fills, until it counts for the volume of the order's account.
    traded: Option<Money>,
    mutations: &'a mut Vec<Mutation>,
}

impl<S: Sink> Settlement for Taking<'_, '_, '_, S> {
    #[inline(always)]
    fn meet(&mut self, _: &Taker, _: &Order, _: u32) -> Meeting {
        Meeting::Fill(Quantity::MAX)
    }

    #[inline(always)]
    fn fill(&mut self, taker: &Taker, maker: &Order, slot: u32, fill: Fill) {
        let Taking { state, index, emitter, fills, name, traded, .. } = self;
        let Some(planned) = fills.next() else { unreachable!("all of it was worked out") };
        *name = planned.name;
        if planned.meets_again {
            emitter.emit(state.holding(maker.account, *index).exposure_event(maker.account, id_of(*index)));
        }
        let symbol = &mut state.symbols[*index];
        symbol.trades += 1;
        symbol.last_price = fill.price;
        emitter.emit(PerpetualTrade {
            maker_fee: planned.maker_fee,
            taker_fee: planned.taker_fee,
            maker_realised: planned.maker_realised,
            taker_realised: planned.taker_realised,
            value: planned.value,
            ..trade_event(symbol.trades, *index, (taker, maker), fill)
        });
        let details = &mut state.details[slot as usize];
        details.filled += fill.quantity;
        details.value += planned.value;
        let reserved = (details.reservation, details.reserved_quantity);
        let left = maker.remaining - fill.quantity;
        let holding = state.holdings[*index].get_mut(maker.account);
        holding.rebook(taker.side.opposite(), reserved, maker.remaining, left);
        state.count_volume(maker.account, planned.value);
        // With the first fill, as entries of volumes stand in the order in which accounts trade.
        if let Some(traded) = traded.take() {
            state.count_volume(taker.account, traded);
        }
        state.pools.fees += planned.maker_fee + planned.taker_fee;
        assert!(state.pools.fees >= 0, "the fee pool is below zero");
    }

    fn expire(&mut self, _: &Order, _: u32) {}

    #[inline(always)]
    fn leave(&mut self, orders: &mut Orders, slot: u32) {
        self.state.forget_plain(self.index, orders, slot, self.name);
    }

    #[inline(always)]
    fn mutated(&mut self, mutation: Mutation) {
        self.mutations.push(mutation);
    }
}
