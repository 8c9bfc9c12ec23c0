//! Whether a fill-or-kill order would be filled whole: asked by filling it, fill after fill by the rules of the match, on the
//! accounts themselves, and putting back what they were. A maker that may not be filled, or a taker that comes to lack margin on
//! the way, is found before anything has happened. Nothing is told, and no order changes; but who is asked has paid its hours then.

use super::settle::{Arriving, PerpetualMatch};
use crate::command::{SelfTradePrevention, order_flag};
use crate::ids::AccountId;
use crate::matching::{Step, Taker, walk};
use crate::money::{Price, Quantity};
use crate::order::Order;
use crate::perpetual::order::Details;
use crate::perpetual::plan::Before;
use crate::perpetual::{Perpetual, State};
use crate::risk::perpetual::reduce_only;

impl Perpetual {
    /// Whether all of `open` would be filled of an order that arrives with `leverage`.
    pub(super) fn fills_whole(
        &mut self,
        index: usize,
        order: &Details,
        (limit, open, leverage): (Price, Quantity, u32),
    ) -> bool {
        let Perpetual { books, orders, state, .. } = self;
        let band = state.symbols[index].dynamic_band(state.now_ms);
        let &Details { account, side, self_trade, .. } = order;
        let mut rehearsed = std::mem::take(&mut state.rehearsed);
        rehearsed.clear();
        rehearsed.push(state.as_before(account, index));
        if leverage != state.leverage(account, index) {
            state.holdings[index].get_mut(account).leverage = leverage;
        }
        let group = state.accounts.get(account).group;
        let arriving = Arriving { slot: 0, self_trade, liquidates: false, band, stopped: None, group };
        let limit = books[index].key(side.opposite(), limit);
        let mut taker = Taker { order: order.id, account, side, limit, remaining: open, ending: None };
        let mut matching = PerpetualMatch::new(state, index, arriving);
        walk(&books[index], orders, side, limit, |maker| {
            matching.rehearse(&mut taker, maker, &mut rehearsed)
        });
        // Backwards: of an account with several fills the first note is how it was.
        for before in rehearsed.iter().rev() {
            *state.accounts.get_mut(before.account) = before.record;
            *state.holdings[index].get_mut(before.account) = before.holding;
        }
        state.rehearsed = rehearsed;
        taker.remaining == 0
    }
}

impl PerpetualMatch<'_> {
    /// A meeting and its fills, as [`crate::matching::Settlement::meet`] judges them.
    fn rehearse(&mut self, taker: &mut Taker, maker: &Order, rehearsed: &mut Vec<Before>) -> Step {
        if self.arriving.band.is_some_and(|band| !band.admits(maker.price)) {
            return Step::Stop;
        }
        let mode = self.arriving.self_trade;
        if mode != SelfTradePrevention::None && self.is_one_party(taker, maker) {
            return if mode == SelfTradePrevention::ExpireMaker { Step::On } else { Step::Stop };
        }
        let slot = self.state.slots.find(maker.id).unwrap_or(0);
        let only_reduces = self.state.details[slot as usize].is(order_flag::REDUCE_ONLY);
        let mut maker = *maker;
        // More than one fill: of an order that only reduces, met by its own account, which keeps its position.
        while taker.remaining > 0 && maker.remaining > 0 {
            let mut quantity = taker.remaining.min(maker.remaining);
            if only_reduces {
                let held = self.state.holding(maker.account, self.index).quantity;
                quantity = reduce_only::shrunk(taker.side.opposite(), quantity, held);
                if quantity == 0 {
                    break;
                }
            }
            // For good, whatever becomes of the order.
            self.state.settle_first(maker.account);
            match self.prepare(taker, &maker, quantity) {
                Ok(()) => {}
                Err(true) => break,
                Err(false) => return Step::Stop,
            }
            for account in [maker.account, taker.account] {
                rehearsed.push(self.state.as_before(account, self.index));
            }
            self.put_prepared([maker.account, taker.account]);
            taker.remaining -= quantity;
            maker.remaining -= quantity;
        }
        if taker.remaining == 0 { Step::Stop } else { Step::On }
    }

    /// What a prepared fill makes of both accounts, as far as fills after it depend on that.
    fn put_prepared(&mut self, accounts: [AccountId; 2]) {
        let PerpetualMatch { state, index, prepared, .. } = self;
        let Some(prepared) = prepared else { unreachable!("a meeting prepared it") };
        for (account, leg) in accounts.into_iter().zip([&prepared.maker, &prepared.taker]) {
            let record = state.accounts.get_mut(account);
            record.wallet = leg.wallet;
            record.markets[*index / 64] |= 1 << (*index % 64);
            leg.put(state.holdings[*index].get_mut(account));
        }
        for account in accounts {
            let record = state.accounts.get_mut(account);
            record.count_traded(prepared.value);
            record.tier = record.tier.max(state.tiers.earned(record.volume));
        }
    }
}

impl State {
    /// An account as it is.
    fn as_before(&self, account: AccountId, index: usize) -> Before {
        Before { account, record: *self.accounts.get(account), holding: *self.holding(account, index) }
    }
}
