//! A resting limit order changes price or quantity (`risk.md` 17, `perpetual.md` 8.1).

use super::run::Role;
use super::settle::reason;
use crate::command::{
    ModifyPerpetual, PerpetualOrderType as Type, PerpetualState, PerpetualTimeInForce, PriceMatch,
    SelfTradePrevention, Side, order_flag,
};
use crate::event::{Execution, PerpetualAmended};
use crate::ids::OrderId;
use crate::perpetual::Perpetual;
use crate::perpetual::account::DISABLED;
use crate::perpetual::order::{Details, Stage};
use crate::reject::Reject;
use crate::risk::perpetual::reduce_only;

/// Most modifications of one order.
pub(crate) const AMENDMENTS_MAX: u32 = 10_000;

impl Perpetual {
    /// See [`ModifyPerpetual`]; the id of the order.
    pub(crate) fn modify(&mut self, modify: &ModifyPerpetual) -> Result<OrderId, Reject> {
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
        if old.order_type != Type::Limit || old.stage != Stage::Resting {
            return Err(Reject::NotModifiable);
        }
        if side.is_some_and(|side| side != old.side) {
            return Err(Reject::SideDiffers);
        }
        if self.state.symbols[index].state() != PerpetualState::Trading {
            return Err(Reject::NotTrading);
        }
        let could_match = old.time_in_force != PerpetualTimeInForce::PostOnly
            && (modify.price != old.price || modify.quantity >= old.quantity);
        if could_match && self.state.is_busy(index) {
            return Err(Reject::EngineBusy);
        }
        if old.amendments >= AMENDMENTS_MAX {
            return Err(Reject::TooManyModifications);
        }
        let mut new = Details { quantity: modify.quantity, self_trade: SelfTradePrevention::None, ..old };
        let matched = match price_match {
            PriceMatch::None => Some(modify.price),
            _ => self.matched_price(index, old.side, price_match),
        };
        if let Some(price) = matched {
            new.price = price;
            self.state.check_price(index, price)?;
        }
        if new.quantity > 0 && new.quantity <= new.filled {
            // It ends, whatever filters ask of one that goes on.
            self.end_canceled(slot);
            return Ok(old.id);
        }
        if new.is(order_flag::REDUCE_ONLY) {
            let floored = self.state.floor_quantity(index, &new)?;
            let held = self.state.holding(new.account, index).quantity;
            let most = reduce_only::shrunk(new.side, floored - new.filled, held);
            new.quantity = new.filled + most.max(0);
        }
        new.quantity = self.state.check_quantity(index, &new, true)?;
        if matched.is_some() {
            self.state.check_notional(index, &new, new.price)?;
            self.state.check_band(index, new.side, new.price)?;
        }
        if (new.price, new.quantity) == (old.price, old.quantity) && matched.is_some() {
            return Err(Reject::NothingToModify);
        }
        if new.quantity <= new.filled {
            self.end_canceled(slot);
            return Ok(old.id);
        }
        let remaining = self.orders.pool.get(slot).remaining;
        let shrinks = new.quantity < old.quantity && new.quantity - new.filled < remaining;
        if keeps_place && (new.price != old.price || !shrinks) {
            return Err(Reject::PriorityNotKept);
        }
        let record = self.state.accounts.get(new.account);
        if record.restrictions & DISABLED != 0 {
            return Err(Reject::TradingDisabled);
        }
        if record.liquidating != 0 || self.state.holding(new.account, index).liquidating != 0 {
            return Err(Reject::InLiquidation);
        }
        if matched.is_none() {
            // What is left to judge needs the price.
            return Err(Reject::NoPriceMatch);
        }
        let terms = match self.judge_changed(slot, index, &new) {
            Ok(terms) => terms,
            Err(Reject::PostOnlyWouldCross) => {
                self.end_canceled(slot);
                return Err(Reject::PostOnlyWouldCross);
            }
            Err(reject) => return Err(reject),
        };

        // Nothing refuses it any more.
        new.amendments += 1;
        new.is_shortened = false;
        new.price_match = price_match;
        self.state.facts.emit(PerpetualAmended {
            order: new.id,
            account: new.account,
            market: new.market,
            price_before: old.price,
            price_after: new.price,
            quantity_before: old.quantity,
            quantity_after: new.quantity,
            count: new.amendments,
            reserved: 0,
            reference: terms.reference_of(&new),
        });
        let open = new.quantity - new.filled;
        let event = new.event(new.open_status(), Execution::Amended, reason::NONE, open);
        self.state.facts.emit(event);
        if keeps_place {
            self.shrink_in_place(slot, index, &new, terms);
            if self.is_remainder(index, slot, open) {
                self.finish(slot);
            }
        } else {
            self.lift(slot);
            self.state.details[slot as usize] = Details { stage: Stage::Running, ..new };
            self.run(slot, &terms, Role::Owner);
        }
        Ok(old.id)
    }

    /// Judges an order's new terms with the old ones out of the buckets, and the order out of the book.
    fn judge_changed(
        &mut self,
        slot: u32,
        index: usize,
        new: &Details,
    ) -> Result<super::judge::Terms, Reject> {
        let leverage = self.state.leverage(new.account, index);
        let remaining = self.orders.pool.get(slot).remaining;
        let noted = *self.state.holding(new.account, index);
        self.state.rebook(slot, remaining, 0);
        let released = *self.state.holding(new.account, index);
        // The requirement that the change must not raise is the one with the old order in.
        let judged = self.judge_against(index, new, leverage, Some(&noted));
        let holding = self.state.touch(new.account, index);
        debug_assert_eq!(holding.buckets, released.buckets);
        holding.buckets = noted.buckets;
        judged
    }

    /// Lowers an order where it stands.
    fn shrink_in_place(&mut self, slot: u32, index: usize, new: &Details, terms: super::judge::Terms) {
        let remaining = self.orders.pool.get(slot).remaining;
        let open = new.quantity - new.filled;
        self.state.rebook(slot, remaining, 0);
        let mutation = self.books[index].shrink(&mut self.orders, slot, remaining - open);
        self.state.facts.mutated(index, mutation);
        self.state.details[slot as usize] =
            Details { reservation: terms.reservation, reserved_quantity: terms.reserved_quantity, ..*new };
        if !new.is(order_flag::REDUCE_ONLY) {
            self.state.book_in(slot, open);
        }
    }
}
