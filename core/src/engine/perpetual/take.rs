//! An order that trades at once, carried out at once where nothing but its fills follows from it: a plain market or limit order
//! that meets plain ones and does not rest. First all of it is worked out (`meetings.rs`), then it is done without a question.
//!
//! As in `quick.rs` nothing is decided here that is not decided by the long way (`place.rs`, `run.rs`, `settle.rs`): whatever is
//! out of the ordinary, a refusal above all, goes there from the start.

use super::meetings::{Arrival, Meetings, Party, Planned};
use super::quick::{Entrant, Quick, is_plain};
use super::settle::{reason, trade_event};
use crate::book::{Mutation, Orders};
use crate::command::{
    Command, MarginMode, PerpetualOrderType as Type, PerpetualParameter as P, PerpetualStatus,
    PerpetualTimeInForce as Tif, PlacePerpetual, SelfTradePrevention, Side, WorkingType,
};
use crate::engine::emit::{Emitter, Places, depth_event};
use crate::event::{Execution, PerpetualPlaced, PerpetualPosition, PerpetualTrade, PerpetualWallet, Sink};
use crate::ids::OrderId;
use crate::matching::{Fill, Meeting, Settlement, Taker, sweep};
use crate::money::{Money, Price, Quantity};
use crate::order::Order;
use crate::perpetual::facts::pools_event;
use crate::perpetual::market::Range;
use crate::perpetual::order::{Details, is_name};
use crate::perpetual::{Perpetual, State, id_of};
use crate::risk::perpetual::order_margin::Reservation;
use crate::risk::perpetual::{band, units};

/// The terms of an order that trades at once.
struct Terms {
    side: Side,
    order_type: Type,
    time_in_force: Tif,
    self_trade: SelfTradePrevention,
    working_type: WorkingType,
    /// The last price at which it trades.
    limit: Price,
    /// Best price of the other side.
    best: Option<Price>,
    /// Nothing of it may be left.
    must_fill: bool,
}

impl Terms {
    /// Of a placement. `None`: it is not of those that are carried out here.
    #[inline(always)]
    fn of(place: &PlacePerpetual) -> Option<Terms> {
        let order_type = Type::from_code(place.order_type)?;
        let time_in_force = Tif::from_code(place.time_in_force)?;
        let is_known = match order_type {
            Type::Limit => !matches!(time_in_force, Tif::PostOnly | Tif::GoodTillDate),
            Type::Market => time_in_force == Tif::GoodTillCancel && place.price == 0,
            _ => false,
        };
        if !is_known || !is_plain(place) {
            return None;
        }
        WorkingType::from_code(place.attached_working_type)?;
        Some(Terms {
            side: Side::from_code(place.side)?,
            order_type,
            time_in_force,
            self_trade: SelfTradePrevention::from_code(place.self_trade)?,
            working_type: WorkingType::from_code(place.working_type)?,
            limit: place.price,
            best: None,
            must_fill: order_type == Type::Limit && time_in_force != Tif::ImmediateOrCancel,
        })
    }
}

impl Perpetual {
    /// Carries out a placement that trades with what rests, or ends, and tells all of it. `None`: nothing was done. Checks come in any order: one that
    /// fails is reported by the long way.
    #[inline(never)]
    pub(crate) fn take_quick<S: Sink>(
        &mut self,
        command: &Command,
        next_order: &mut OrderId,
        emitter: &mut Emitter<'_, S>,
    ) -> Option<()> {
        let place: &PlacePerpetual = command.body();
        let PlacePerpetual { account, market, quantity, idempotency_key, .. } = *place;
        let mut terms = Terms::of(place)?;
        let side = terms.side;
        self.state.check_account(account).ok()?;
        let index = self.state.index_of(market)?;
        let name = self.state.names.hash(account, &place.client_order);
        self.state.names.hint(name);
        self.state.prefetch_party(index, account);
        self.prefetch_meeting(index, side);
        let Perpetual { books, orders, state, meetings } = self;
        let is_still = state.is_quiet()
            && !state.has_moved()
            && state.symbols[index].contract_range == Range::EMPTY
            && state.symbols[index].mark_range == Range::EMPTY
            && !state.symbols[index].has_odd_lots()
            && state.names.vacancy(name).is_some()
            && is_name(&place.client_order);
        if !is_still {
            return None;
        }
        let band = state.symbols[index].dynamic_band(state.now_ms);
        let book = &books[index];
        terms.best = book.best(orders, side.opposite());
        state.check_terms(index, place, &mut terms)?;
        let limit = book.key(side.opposite(), terms.limit);
        let arrival = Arrival { account, index, side, limit, quantity, band };
        state.meetings(meetings, book, orders, &arrival)?;
        if terms.must_fill && meetings.filled < quantity {
            return None;
        }
        let reference = state.check_taker(index, place, &terms, meetings)?;

        // Nothing refuses it any more.
        let id = *next_order;
        *next_order += 1;
        let client_order = place.client_order;
        let mut apart = None;
        let mut events: Places<'_, 2> = emitter.places(&mut apart);
        events.put(
            0,
            PerpetualPlaced { order: id, account, market, fired: 0, client_order, reserved: 0, reference },
        );
        let mut details = Details {
            id,
            account,
            market,
            price: place.price,
            side,
            order_type: terms.order_type,
            original_type: terms.order_type,
            time_in_force: terms.time_in_force,
            self_trade: terms.self_trade,
            working_type: terms.working_type,
            quantity,
            ..Details::default()
        };
        events.put(1, details.event(PerpetualStatus::New, Execution::New, reason::NONE, quantity));
        emitter.bring(apart);
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
            debug_assert!(taking.fills.as_slice().is_empty());
        }
        if meetings.filled < quantity {
            (details.filled, details.value) = (meetings.filled, meetings.value);
            let why = if terms.order_type == Type::Market { reason::MARKET } else { reason::IMMEDIATE };
            emitter.emit(details.event(PerpetualStatus::Expired, Execution::Expired, why, 0));
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
        let update = books[index].update;
        emitter.emit(Quick { order: id, account, market, idempotency_key, update }.done(command));
        Some(())
    }
}

impl State {
    /// The checks of `place.rs` that need no look at the account. The limit of a market order comes to be known.
    #[inline(always)]
    fn check_terms(&self, index: usize, place: &PlacePerpetual, terms: &mut Terms) -> Option<()> {
        let symbol = &self.symbols[index];
        let (side, quantity) = (terms.side, place.quantity);
        let (most, judged) = if terms.order_type == Type::Market {
            terms.limit = symbol.take_bound(side)?;
            let entry = symbol.entry_bound(side)?;
            if terms.best.is_some_and(|best| !band::is_within(side, best, entry)) {
                return None;
            }
            (symbol.get(P::MaxMarketQuantity), symbol.prices.mark)
        } else {
            let price = place.price;
            if !symbol.takes_price(side, price) || !symbol.tick.divides(price) {
                return None;
            }
            (symbol.get(P::MaxQuantity), price)
        };
        let notional = units::ceil_value(quantity, judged)?;
        let is_sound = symbol.is_trading()
            && !symbol.is_full()
            && quantity > 0
            && symbol.lot.divides(quantity)
            && (symbol.get(P::MinQuantity)..=most).contains(&quantity)
            && (symbol.get(P::MinNotional)..=symbol.get(P::MaxNotional)).contains(&notional);
        is_sound.then_some(())
    }

    /// The checks of the account that are left, of its margin last; the reference value of an order that might have rested.
    #[inline(always)]
    fn check_taker(
        &self,
        index: usize,
        place: &PlacePerpetual,
        terms: &Terms,
        meetings: &Meetings,
    ) -> Option<Money> {
        let entrant = self.entrant(place.account, index);
        let Entrant { symbol, record, holding, .. } = entrant;
        let is_allowed = terms.self_trade != SelfTradePrevention::RejectTaker
            && (terms.self_trade == SelfTradePrevention::None || record.group == 0)
            && i64::from(holding.orders.open_orders()) < symbol.get(P::MaxOpenOrders)
            && (record.restrictions | record.liquidating | holding.liquidating) == 0;
        if !is_allowed {
            return None;
        }
        let might_rest = terms.time_in_force == Tif::GoodTillCancel && terms.order_type == Type::Limit;
        let (quantity, reference) = if might_rest {
            // It might have rested, and is judged as one that does.
            let price = match terms.side {
                Side::Buy => terms.limit,
                Side::Sell => terms.limit.max(symbol.sell_reference()).max(terms.best.unwrap_or(0)),
            };
            (place.quantity, units::value(price, place.quantity)?)
        } else {
            (meetings.filled, meetings.value)
        };
        let [_, taker_rate, ..] = self.rates_of(record)?;
        let reservation = Reservation::new(terms.side, quantity, reference, symbol.prices.mark, taker_rate)?;
        let before = (terms.side, holding.bucket(terms.side));
        self.admits(&entrant, before, quantity, reservation)?;
        Some(if might_rest { reference } else { 0 })
    }

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
