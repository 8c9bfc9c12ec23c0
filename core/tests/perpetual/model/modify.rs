//! A resting limit order gets a new price and quantity (`risk.md` 17, `perpetual.md` 8.1).

use super::arithmetic::narrow;
use super::margin::Bucket;
use super::{Model, Order, Outcome, Stage};
use ringside_core::command::{
    ModifyPerpetual, PerpetualOrderType, PerpetualState, PerpetualTimeInForce, PriceMatch,
    SelfTradePrevention, Side, order_flag,
};
use ringside_core::event::{self, Execution};
use ringside_core::reject::Reject;

/// Most modifications of an order.
const MOST: u32 = 10_000;

impl Model {
    pub(super) fn modify(&mut self, modify: &ModifyPerpetual) -> Result<Outcome, Reject> {
        let price_match = PriceMatch::from_code(modify.price_match).ok_or(Reject::Malformed)?;
        let keeps = modify.flags == order_flag::KEEP_PRIORITY;
        if !(modify.side < 2 || modify.side == 255)
            || (modify.flags != 0 && !keeps)
            || (modify.price != 0) == (price_match != PriceMatch::None)
        {
            return Err(Reject::Malformed);
        }
        self.known_trader(modify.account)?;
        self.known_market(modify.market)?;
        let id = self.named_order(modify.account, modify.market, modify.order, &modify.client_order)?;
        let old = self.orders[&id].clone();
        if old.stage != Stage::Resting || old.kind != PerpetualOrderType::Limit {
            return Err(Reject::NotModifiable);
        }
        if Side::from_code(modify.side).is_some_and(|side| side != old.side) {
            return Err(Reject::SideDiffers);
        }
        if self.state(modify.market) != PerpetualState::Trading {
            return Err(Reject::NotTrading);
        }
        let shrinks = old.price == i128::from(modify.price) && i128::from(modify.quantity) < old.quantity;
        if self.is_busy(modify.market) && old.time_in_force != PerpetualTimeInForce::PostOnly && !shrinks {
            return Err(Reject::EngineBusy);
        }
        if old.modifications >= MOST {
            return Err(Reject::TooManyModifications);
        }
        let before = self.buckets(modify.account, modify.market);
        // Levels count as the market stands, the order's own with them.
        let matched = self.matched_price(modify.market, old.side, price_match);
        // As if it were not in the book.
        self.orders.get_mut(&id).expect("open").stage = Stage::Arriving;
        let mut new = Order {
            price: modify.price.into(),
            quantity: modify.quantity.into(),
            price_match,
            self_trade: SelfTradePrevention::None,
            stage: Stage::Arriving,
            modifications: old.modifications + 1,
            shortened: false,
            ..old.clone()
        };
        let judged = self.judge_modification(&old, &mut new, keeps, before, matched);
        self.orders.insert(id, old.clone());
        let outcome = Outcome { order: id, market: Some(modify.market), ..Outcome::default() };
        match judged {
            Ok(true) => {
                self.cancel_order(id);
                Ok(outcome)
            }
            Ok(false) => {
                self.carry_out(old, new, keeps);
                Ok(outcome)
            }
            Err(Reject::PostOnlyWouldCross) => {
                self.cancel_order(id);
                self.refused_with_change = true;
                Err(Reject::PostOnlyWouldCross)
            }
            Err(reject) => Err(reject),
        }
    }

    /// True: nothing is left to trade.
    fn judge_modification(
        &mut self,
        old: &Order,
        new: &mut Order,
        keeps: bool,
        before: [Bucket; 2],
        matched: Option<i128>,
    ) -> Result<bool, Reject> {
        let mut unresolved = false;
        if new.price_match != PriceMatch::None {
            match matched {
                Some(price) => new.price = price,
                None => (unresolved, new.price) = (true, old.price),
            }
        }
        if !unresolved {
            self.judge_price(new.market, new.price, Reject::InvalidPrice, Reject::PriceAboveMaximum)?;
        }
        if new.quantity > 0 && new.quantity <= new.filled {
            return Ok(true);
        }
        if new.has(order_flag::REDUCE_ONLY) {
            self.floor_quantity(new)?;
            let most = self.reducible(new.account, new.market, new.side);
            if new.quantity - new.filled > most {
                new.quantity = new.filled + most;
            }
        }
        self.judge_quantity(new)?;
        if !unresolved {
            self.judge_notional(new)?;
            self.judge_band(new.market, new.side, new.price)?;
        }
        if !unresolved && new.price == old.price && new.quantity == old.quantity {
            return Err(Reject::NothingToModify);
        }
        if new.quantity <= new.filled {
            return Ok(true);
        }
        if keeps && (new.price != old.price || new.quantity - new.filled >= old.open) {
            return Err(Reject::PriorityNotKept);
        }
        if !self.account(new.account).trading_enabled {
            return Err(Reject::TradingDisabled);
        }
        if self.liquidating.iter().any(|(account, _)| *account == new.account) {
            return Err(Reject::InLiquidation);
        }
        if !unresolved {
            self.judge_margin_against(new, before)?;
        }
        if unresolved {
            return Err(Reject::NoPriceMatch);
        }
        if !keeps {
            self.judge_entry(new)?;
        }
        Ok(false)
    }

    fn carry_out(&mut self, old: Order, mut new: Order, keeps: bool) {
        let id = old.id;
        new.open = new.quantity - new.filled;
        self.output.fact(event::PerpetualAmended {
            order: id,
            account: old.account,
            market: old.market,
            price_before: narrow(old.price),
            price_after: narrow(new.price),
            quantity_before: narrow(old.quantity),
            quantity_after: narrow(new.quantity),
            count: new.modifications,
            reserved: 0,
            reference: narrow(new.reference_in_book()),
        });
        if keeps {
            new.stage = Stage::Resting;
            self.orders.insert(id, new);
            self.tell_order(id, Execution::Amended);
            self.mutated(old.market, old.side, old.price);
            self.tell_exposure(&old);
            self.finish_remainders(old.market);
            return;
        }
        self.orders.insert(id, new);
        self.tell_order(id, Execution::Amended);
        self.mutated(old.market, old.side, old.price);
        self.tell_exposure(&old);
        self.execute(id);
    }
}
