//! The settlement of a market that closes (`risk.md` 18): one command for every order and every position of it, which everybody's
//! orders wait for. So what is kept of all positions together goes at once, not by and by: who holds one, and who stands where among
//! counterparties. Who has touched no other market is done with when its position is closed, and the scan that follows does not look
//! at it again.

use super::funding::LOOK_AHEAD;
use super::orders::{Closing, Named, place_of};
use super::settle::reason;
use crate::command::{MarginMode, PerpetualState, Side};
use crate::event::{PerpetualStateChanged, PerpetualTrade, PostingReason, TradeCause};
use crate::ids::{AccountId, FEE_ACCOUNT, OrderId};
use crate::memory::Pages;
use crate::money::{Money, Price};
use crate::perpetual::bands::Threshold;
use crate::perpetual::crowd::Crowd;
use crate::perpetual::market::Range;
use crate::perpetual::shortfall::Shortfall;
use crate::perpetual::{Perpetual, State, id_of};
use crate::risk::perpetual::units::narrow;

impl Perpetual {
    /// Settles a market for good (`risk.md` 18), at the mean of its index samples, or its last index.
    pub(crate) fn close(&mut self, index: usize) {
        let mut doomed: Vec<(u64, u32)> = Vec::new();
        for account in 0..self.state.accounts_count {
            doomed.extend(self.open_orders(account, index).map(|slot| (self.orders.pool.get(slot).id, slot)));
        }
        doomed.sort_unstable();
        for (id, _) in doomed {
            if let Some(slot) = self.state.slots.find(id) {
                debug_assert_eq!(place_of(self.state.details[slot as usize].market), index);
                self.expire(slot, reason::CLOSED);
            }
        }
        self.state.pay_rest(index);
        self.state.close_positions(index);
    }
}

impl State {
    /// Closes every position of a market at its settlement price.
    fn close_positions(&mut self, index: usize) {
        let markets = self.symbols.len();
        let symbol = &mut self.symbols[index];
        symbol.indexes.advance((self.now_ms / 1_000) as u64);
        let mean = symbol.indexes.mean().filter(|&price| symbol.may_be_valued_at(price, markets));
        let price = mean.unwrap_or(symbol.index.price);
        let mut accounts = std::mem::take(&mut self.concerned);
        accounts.clear();
        accounts.extend(symbol.holders.iter());
        symbol.empty();
        // No trigger is left that would use them up.
        (symbol.contract_range, symbol.mark_range) = (Range::EMPTY, Range::EMPTY);
        self.moved &= !(1 << index);
        self.crowds[index] = Crowd::new(0, Pages::Small);
        // Noted first: wallets are told in the order of accounts.
        self.wallet_mut(FEE_ACCOUNT);
        let mut residue = 0i128;
        let mut shortfall = Shortfall::default();
        for (place, &account) in accounts.iter().enumerate() {
            if let Some(&soon) = accounts.get(place + LOOK_AHEAD) {
                self.hint_holder(soon, index);
            }
            residue -= i128::from(self.close_position(account, index, price, &mut shortfall));
        }
        self.concerned = accounts;
        let Some(residue) = narrow(residue) else {
            unreachable!("longs are worth what shorts are, but for rounding")
        };
        if residue != 0 {
            *self.wallet_mut(FEE_ACCOUNT) += residue;
            self.post(FEE_ACCOUNT, id_of(index), residue, PostingReason::Settlement, MarginMode::Cross);
        }
        self.share(&mut shortfall);
        let symbol = &mut self.symbols[index];
        symbol.set = PerpetualState::Closed;
        symbol.told = PerpetualState::Closed;
        self.facts.emit(PerpetualStateChanged {
            market: id_of(index),
            state: PerpetualState::Closed as u8,
            set: PerpetualState::Closed as u8,
            reserved: 0,
            settlement_price: price,
        });
    }

    /// Closes a position that is no longer among those of its market; what it was worth.
    #[inline]
    fn close_position(
        &mut self,
        account: AccountId,
        index: usize,
        price: Price,
        shortfall: &mut Shortfall,
    ) -> Money {
        self.pay_first(account);
        let mode = self.mode(account, index);
        let before = *self.holding(account, index);
        let Some(amount) = before.position().unrealised(price) else { unreachable!("an accepted position") };
        let holding = self.touch(account, index);
        (holding.quantity, holding.cost, holding.open_fees, holding.isolated) = (0, 0, 0, 0);
        holding.trimmed = 0;
        holding.realised += amount;
        // An isolated position loses what it was given, and no more.
        let lacked = (amount + before.isolated).min(0).saturating_neg();
        let lacked = if mode == MarginMode::Isolated { lacked } else { 0 };
        *self.wallet_mut(account) += amount + before.isolated + lacked;
        let side = if before.quantity > 0 { Side::Sell } else { Side::Buy };
        let closing = Closing { account, index, side, quantity: before.quantity.abs(), price };
        let order = self.place_filled(&closing, Named::Settlement);
        self.settle_lacked(account, index, (lacked, mode), shortfall);
        self.tell_settled(&closing, order, (before.cost, amount));
        if account == FEE_ACCOUNT {
            shortfall.lack(amount.min(0).saturating_neg());
        } else {
            let wallet = self.wallet(account);
            if wallet < 0 && mode == MarginMode::Cross {
                let lacked = (-wallet).min(self.cross(account).equity.min(0).saturating_neg());
                *self.wallet_mut(account) += lacked;
                self.settle_lacked(account, index, (lacked, mode), shortfall);
            }
            if amount > 0 {
                // Each account has one position here.
                shortfall.bring(account, &mut 0, amount);
            }
        }
        let owes = self.wallet(account) < 0;
        if owes || account == FEE_ACCOUNT || !self.accounts.get(account).is_alone_in(index) {
            self.suspect(account);
        } else {
            // All that a test would find.
            self.bands.set(index, account, Threshold::Never);
        }
        // Costs leave the ledger with their positions; what is left is what rounding left of the values.
        amount + before.cost
    }

    /// Tells the trade by which a position is settled. Nobody is on its other side: what rounding leaves of all of them the fund gets.
    #[inline]
    fn tell_settled(&mut self, closing: &Closing, order: OrderId, (cost, amount): (Money, Money)) {
        let &Closing { account, index, side, quantity, price } = closing;
        let trade = self.next_trade(index);
        self.facts.emit(PerpetualTrade {
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
