//! The settlement of a market that closes (`risk.md` 18). Its price is fixed and orders are refused at once; then, by and by, its
//! orders end, the buys in the book by priority, the sells, then those that wait, account by account; then its positions are closed
//! at that price, account by account, or when their account is next touched; then those it paid give back what the fund cannot pay of
//! what it lacked. With the last of them the market is closed.
//!
//! Who has touched no other market is done with when its position is closed, and the scan that follows does not look at it again.

use super::commit::reason;
use super::funding::LOOK_AHEAD;
use super::orders::{Closing as Order, Named};
use crate::command::{MarginMode, PerpetualState, Side};
use crate::event::{PerpetualStateChanged, PerpetualTrade, PostingReason, TradeCause};
use crate::ids::{AccountId, FEE_ACCOUNT, OrderId};
use crate::memory::Pages;
use crate::money::Money;
use crate::perpetual::adl_queue::AdlQueue;
use crate::perpetual::liquidation_index::TriggerMark;
use crate::perpetual::market::{Closing, Range};
use crate::perpetual::shortfall::Shortfall;
use crate::perpetual::{Perpetual, State, id_of, markets_in};

impl Perpetual {
    /// Ends orders and closes positions of markets that close, as far as there are units.
    pub(super) fn close_markets(&mut self) {
        for index in markets_in(self.state.work.closing) {
            let is_closed = self.end_orders(index) && self.state.close_positions(index);
            self.state.collect_trims();
            if !(is_closed && self.state.end_close(index)) {
                return;
            }
        }
    }

    /// Whether there were units enough.
    fn end_orders(&mut self, index: usize) -> bool {
        for side in [Side::Buy, Side::Sell] {
            loop {
                let next = self.books[index].slots(&self.orders, side).next();
                let Some(slot) = next else { break };
                if !self.state.work.take() {
                    return false;
                }
                self.expire(slot, reason::CLOSED);
            }
        }
        while let Some(account) = self.state.symbols[index].waiters.next(0) {
            // Their list begins with the oldest, which has the least id.
            let waiting = |slot: &u32| self.state.details[*slot as usize].waits();
            let Some(slot) = self.open_orders(account, index).find(waiting) else {
                unreachable!("an account among those that wait")
            };
            if !self.state.work.take() {
                return false;
            }
            self.expire(slot, reason::CLOSED);
        }
        true
    }
}

impl State {
    /// Fixes the price of a market: the mean of its index samples, or its last index. It takes no order any more.
    pub(crate) fn begin_close(&mut self, index: usize) {
        let markets = self.symbols.len();
        let symbol = &mut self.symbols[index];
        symbol.indexes.advance((self.now_ms / 1_000) as u64);
        let mean = symbol.indexes.mean().filter(|&price| symbol.may_be_valued_at(price, markets));
        let price = mean.unwrap_or(symbol.index.price);
        symbol.set = PerpetualState::Closed;
        symbol.closing = Some(Box::new(Closing { price, residue: 0, shortfall: Shortfall::default() }));
        // No trigger fires here any more.
        (symbol.contract_range, symbol.mark_range) = (Range::EMPTY, Range::EMPTY);
        self.moved &= !(1 << index);
        self.work.closing |= 1 << index;
        // All orders end.
        (symbol.looked_at, self.work.odd) = (AccountId::MAX, self.work.odd & !(1 << index));
        self.rankings.forget();
        self.adl_queues[index] = AdlQueue::new(0, Pages::Small);
    }

    /// Closes positions, as far as there are units; whether none is left.
    fn close_positions(&mut self, index: usize) -> bool {
        let mut accounts = std::mem::take(&mut self.concerned);
        accounts.clear();
        let (most, mut from) = (self.work.left as usize, 0);
        while accounts.len() <= most
            && let Some(account) = self.symbols[index].holders.next(from)
        {
            accounts.push(account);
            from = account + 1;
        }
        let is_last = accounts.len() <= most;
        accounts.truncate(most);
        for (place, &account) in accounts.iter().enumerate() {
            if let Some(&soon) = accounts.get(place + LOOK_AHEAD) {
                self.hint_holder(soon, index);
            }
            self.close_position(account, index);
        }
        self.work.left -= accounts.len() as u32;
        self.concerned = accounts;
        is_last
    }

    /// The last position was closed: shares what it lacked, as far as there are units. Whether there were enough.
    fn end_close(&mut self, index: usize) -> bool {
        let Some(mut closing) = self.symbols[index].closing.take() else { unreachable!("it closes") };
        let residue = std::mem::take(&mut closing.residue);
        if residue != 0 {
            *self.wallet_mut(FEE_ACCOUNT) += residue;
            self.post(FEE_ACCOUNT, id_of(index), residue, PostingReason::Settlement, MarginMode::Cross);
        }
        let (is_done, _) = self.share(&mut closing.shortfall);
        if !is_done {
            self.symbols[index].closing = Some(closing);
            return false;
        }
        self.work.closing &= !(1 << index);
        self.symbols[index].told = PerpetualState::Closed;
        self.writer.emit(PerpetualStateChanged {
            market: id_of(index),
            state: PerpetualState::Closed as u8,
            set: PerpetualState::Closed as u8,
            reserved: 0,
            settlement_price: closing.price,
        });
        true
    }

    /// Closes what an account holds in markets that close.
    #[cold]
    pub(super) fn close_first(&mut self, account: AccountId) {
        for index in markets_in(self.work.closing) {
            if self.holding(account, index).quantity != 0 {
                self.close_position(account, index);
            }
        }
    }

    /// Closes a position at the price of its market.
    fn close_position(&mut self, account: AccountId, index: usize) {
        self.pay_first(account);
        let Some(mut closing) = self.symbols[index].closing.take() else { unreachable!("it closes") };
        let (price, shortfall) = (closing.price, &mut closing.shortfall);
        let mode = self.mode(account, index);
        let before = *self.holding(account, index);
        let Some(amount) = before.position().unrealised(price) else { unreachable!("an accepted position") };
        let holding = self.touch(account, index);
        (holding.quantity, holding.cost, holding.open_fees, holding.isolated) = (0, 0, 0, 0);
        holding.realised += amount;
        self.resize(account, index, before.quantity);
        // An isolated position loses what it was given, and no more.
        let lacked = (amount + before.isolated).min(0).saturating_neg();
        let lacked = if mode == MarginMode::Isolated { lacked } else { 0 };
        let gained = amount + before.isolated + lacked;
        *self.wallet_mut(account) += gained;
        let side = if before.quantity > 0 { Side::Sell } else { Side::Buy };
        let order = Order { account, index, side, quantity: before.quantity.abs(), price };
        let id = self.place_filled(&order, Named::Settlement);
        self.settle_lacked(account, index, (lacked, mode), shortfall);
        self.tell_settled(&order, id, (before.cost, amount));
        self.tell_position(account, index);
        if gained != 0 {
            self.tell_wallet(account);
        }
        if account == FEE_ACCOUNT {
            shortfall.lack(amount.min(0).saturating_neg());
        } else {
            let wallet = self.wallet(account);
            if wallet < 0 && mode == MarginMode::Cross {
                let lacked = (-wallet).min(self.cross(account).equity.min(0).saturating_neg());
                *self.wallet_mut(account) += lacked;
                self.settle_lacked(account, index, (lacked, mode), shortfall);
                if lacked != 0 {
                    self.tell_wallet(account);
                }
            }
            if amount > 0 {
                shortfall.bring(account, &mut self.touch(account, index).brought, amount);
            }
        }
        let owes = self.wallet(account) < 0;
        if owes || account == FEE_ACCOUNT || !self.accounts.get(account).is_alone_in(index) {
            self.mark_for_check(account);
        } else {
            // All that a test would find.
            self.liquidation_index.set(index, account, TriggerMark::Never);
        }
        // Costs leave the ledger with their positions; what is left is what rounding left of the values.
        closing.residue -= amount + before.cost;
        self.symbols[index].closing = Some(closing);
    }

    /// Tells the trade by which a position is settled. Nobody is on its other side: what rounding leaves of all of them the fund gets.
    #[inline]
    fn tell_settled(&mut self, closing: &Order, order: OrderId, (cost, amount): (Money, Money)) {
        let &Order { account, index, side, quantity, price } = closing;
        let trade = self.next_trade(index);
        self.writer.emit(PerpetualTrade {
            trade,
            maker_order: 0,
            taker_order: order,
            price,
            quantity,
            maker_account: FEE_ACCOUNT,
            taker_account: account,
            market: id_of(index),
            taker_side: side as u8,
            flags: 2,
            cause: TradeCause::Settlement as u8,
            reserved: 0,
            maker_fee: 0,
            taker_fee: 0,
            maker_realised: 0,
            taker_realised: amount,
            value: (amount + cost).abs(),
        });
    }

    /// The fund pays what an account's scope lacks after its position was settled.
    fn settle_lacked(
        &mut self,
        account: AccountId,
        index: usize,
        (lacked, mode): (Money, MarginMode),
        shortfall: &mut Shortfall,
    ) {
        if lacked != 0 {
            *self.wallet_mut(FEE_ACCOUNT) -= lacked;
            self.post(account, id_of(index), lacked, PostingReason::InsuranceClear, mode);
            shortfall.lack(lacked);
        }
    }
}
