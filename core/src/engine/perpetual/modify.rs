//! A resting limit order changes price or quantity (`risk.md` 17, `perpetual.md` 8.1).

use super::At;
use super::admission::Admission;
use super::commit::reason;
use super::execute::Role;
use crate::command::{
    ModifyPerpetual, PerpetualOrderType as Type, PerpetualState, PerpetualTimeInForce, PriceMatch,
    SelfTradePrevention, Side, order_flag,
};
use crate::emit::Emitter;
use crate::event::{Execution, PerpetualAmended, Sink};
use crate::ids::OrderId;
use crate::money::{Money, Quantity};
use crate::perpetual::order::{Details, Stage};
use crate::perpetual::{Perpetual, State};
use crate::reject::Reject;
use crate::risk::perpetual::order_margin::Bucket;
use crate::risk::perpetual::reduce_only;

/// Most modifications of one order.
pub(crate) const AMENDMENTS_MAX: u16 = 10_000;

impl Perpetual {
    /// See [`ModifyPerpetual`]; the id of the order.
    #[inline(never)]
    pub(super) fn modify<S: Sink>(
        &mut self,
        modify: &ModifyPerpetual,
        at: At,
        emitter: &mut Emitter<'_, S>,
    ) -> Result<OrderId, Reject> {
        let (slot, changed) = self.accept_change(modify)?;
        let id = self.state.details[slot as usize].id;
        let is_first = self.begin_change(at, emitter);
        let refused = match changed {
            Ok(GoesOn { index, new, admission }) => {
                self.change(index, slot, &new, (&admission, modify.flags == order_flag::KEEP_PRIORITY));
                None
            }
            Err(Ends(reject)) => {
                self.end_canceled(slot);
                reject
            }
        };
        self.end_change(is_first, emitter);
        refused.map_or(Ok(id), Err)
    }

    /// Checks a modification: the order's slot, and what it comes to. Changes nothing.
    #[inline(always)]
    fn accept_change(&mut self, modify: &ModifyPerpetual) -> Result<(u32, Changed), Reject> {
        let price_match = PriceMatch::from_code(modify.price_match).ok_or(Reject::Malformed)?;
        let side = match modify.side {
            255 => None,
            code => Some(Side::from_code(code).ok_or(Reject::Malformed)?),
        };
        let keeps_place = modify.flags == order_flag::KEEP_PRIORITY;
        if (modify.flags != 0 && !keeps_place) || (modify.price != 0) == (price_match != PriceMatch::None) {
            return Err(Reject::Malformed);
        }
        self.state.check_account(modify.account)?;
        let index = self.state.index_of(modify.market).ok_or(Reject::MarketNotFound)?;
        let slot = self.find_own(modify.account, index, modify.order, &modify.client_order)?;
        let old = self.state.details[slot as usize];
        self.state.may_be_changed(index, &old, modify, side)?;
        let mut new = Details { quantity: modify.quantity, self_trade: SelfTradePrevention::None, ..old };
        let matched = match price_match {
            PriceMatch::None => Some(modify.price),
            _ => self.matched_price(index, old.side, price_match),
        };
        if let Some(price) = matched {
            new.price = price;
            self.state.symbols[index].check_price(price)?;
        }
        if new.quantity > 0 && new.quantity <= new.filled {
            // It ends, whatever filters ask of one that goes on.
            return Ok((slot, Err(Ends(None))));
        }
        if new.is(order_flag::REDUCE_ONLY) {
            let floored = self.state.symbols[index].floor_quantity(new.quantity)?;
            let held = self.state.holding(new.account, index).quantity;
            let most = reduce_only::shrunk(new.side, floored - new.filled, held);
            new.quantity = new.filled + most.max(0);
        }
        let symbol = &self.state.symbols[index];
        new.quantity = symbol.check_quantity(new.quantity, true)?;
        if matched.is_some() {
            let record = self.state.accounts.get(new.account);
            let most = self.state.order_notional_max(new.account, (index, symbol), record);
            symbol.check_notional(&new, new.price, most)?;
            symbol.check_band(new.side, new.price)?;
        }
        if (new.price, new.quantity) == (old.price, old.quantity) && matched.is_some() {
            return Err(Reject::NothingToModify);
        }
        if new.quantity <= new.filled {
            return Ok((slot, Err(Ends(None))));
        }
        let remaining = self.orders.open(slot);
        let shrinks = new.quantity < old.quantity && new.quantity - new.filled < remaining;
        if keeps_place && (new.price != old.price || !shrinks) {
            return Err(Reject::PriorityNotKept);
        }
        self.state.may_order(new.account, self.state.accounts.get(new.account))?;
        if matched.is_none() {
            // What is left to judge needs the price.
            return Err(Reject::NoPriceMatch);
        }
        let released = self.state.released(index, &old, remaining);
        let leverage = self.state.leverage(new.account, index);
        let admission = match self.judge(index, &new, leverage, released) {
            Ok(admission) => admission,
            Err(crosses @ Reject::PostOnlyWouldCross) => return Ok((slot, Err(Ends(Some(crosses))))),
            Err(reject) => return Err(reject),
        };
        new.amendments += 1;
        new.is_shortened = false;
        new.price_match = price_match;
        Ok((slot, Ok(GoesOn { index, new, admission })))
    }

    /// Gives an order other terms; it keeps its place where it may.
    fn change(
        &mut self,
        index: usize,
        slot: u32,
        new: &Details,
        (admission, keeps_place): (&Admission, bool),
    ) {
        let old = &self.state.details[slot as usize];
        let amended = old.amended_to(new, admission.reference_of(new));
        self.state.writer.emit(amended);
        let open = new.quantity - new.filled;
        let event = new.event(new.open_status(), Execution::Amended, reason::NONE, open);
        self.state.writer.emit(event);
        if keeps_place {
            self.shrink_in_place(slot, index, new, admission);
            self.finish_remainder(index, slot);
        } else {
            self.remove_from_book(slot);
            self.state.details[slot as usize].take_terms(new);
            self.execute(slot, admission, Role::Owner);
        }
    }

    /// Lowers an order where it stands.
    fn shrink_in_place(&mut self, slot: u32, index: usize, new: &Details, admission: &Admission) {
        let remaining = self.orders.open(slot);
        let open = new.quantity - new.filled;
        let mutation = self.books[index].shrink(&mut self.orders, slot, remaining - open);
        self.state.writer.mutated(index, mutation);
        let State { details, holdings, writer, .. } = &mut self.state;
        let details = &mut details[slot as usize];
        let holding = holdings[index].get_mut(details.account);
        if details.reserved_quantity != 0 {
            let of = (details.reservation, details.reserved_quantity);
            holding.rebook(details.side, of, remaining, 0);
        }
        details.take_terms(new);
        (details.reservation, details.reserved_quantity) =
            (admission.reservation, admission.reserved_quantity);
        if !new.is(order_flag::REDUCE_ONLY) {
            details.reserve(holding, open, writer);
        }
    }
}

/// What a modification that passed comes to.
type Changed = Result<GoesOn, Ends>;

/// The order goes on with other terms.
struct GoesOn {
    index: usize,
    new: Details,
    admission: Admission,
}

/// The order ends, and whoever asked is told why, unless that was what he asked for.
struct Ends(Option<Reject>);

impl Details {
    /// Takes what a modification may change.
    #[inline(always)]
    fn take_terms(&mut self, new: &Details) {
        (self.price, self.quantity, self.self_trade) = (new.price, new.quantity, new.self_trade);
        (self.amendments, self.is_shortened, self.price_match) =
            (new.amendments, new.is_shortened, new.price_match);
    }

    /// What a modification says of it, which has become `new`, worth `reference` while it is open.
    #[inline(always)]
    pub(super) fn amended_to(&self, new: &Details, reference: Money) -> PerpetualAmended {
        PerpetualAmended {
            order: self.id,
            account: self.account,
            market: self.market,
            price_before: self.price,
            price_after: new.price,
            quantity_before: self.quantity,
            quantity_after: new.quantity,
            count: new.amendments.into(),
            reserved: 0,
            reference,
        }
    }
}

impl State {
    /// Whether an order is one that a modification may change, now.
    #[inline(always)]
    fn may_be_changed(
        &self,
        index: usize,
        old: &Details,
        modify: &ModifyPerpetual,
        side: Option<Side>,
    ) -> Result<(), Reject> {
        if old.order_type != Type::Limit || old.stage != Stage::Resting {
            return Err(Reject::NotModifiable);
        }
        if side.is_some_and(|side| side != old.side) {
            return Err(Reject::SideDiffers);
        }
        if self.symbols[index].state() != PerpetualState::Trading {
            return Err(Reject::NotTrading);
        }
        let could_match = old.time_in_force != PerpetualTimeInForce::PostOnly
            && (modify.price != old.price || modify.quantity >= old.quantity);
        if could_match && self.is_busy(index) {
            return Err(Reject::EngineBusy);
        }
        if old.amendments >= AMENDMENTS_MAX {
            return Err(Reject::TooManyModifications);
        }
        Ok(())
    }

    /// The bucket of an order without it: it leaves its bucket, and the book, before it enters anew.
    #[inline(always)]
    fn released(&self, index: usize, old: &Details, remaining: Quantity) -> Option<Bucket> {
        if old.reserved_quantity == 0 {
            return None;
        }
        let part = old.reservation.scaled(remaining, old.reserved_quantity);
        let bucket = self.holding(old.account, index).bucket(old.side);
        let Some(released) = part.and_then(|part| bucket.without(remaining, part)) else {
            unreachable!("parts of an accepted order")
        };
        Some(released)
    }
}
