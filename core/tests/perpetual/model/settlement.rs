//! A market closes for good (`risk.md` 18).

use super::arithmetic::{floor_div, narrow, value_down};
use super::ledger::held_side;
use super::liquidation::Name;
use super::orders::reason;
use super::{Closing, FUND, Model, Position};
use ringside_core::command::{MarginMode, PerpetualState, Side};
use ringside_core::event::{self, PostingReason};
use ringside_core::ids::{AccountId, MarketId, OrderId};

impl Model {
    /// The trade that settles a position, of an order of its own. It has nobody on its other side.
    fn tell_settled(
        &mut self,
        (account, order): (AccountId, OrderId),
        (market, price): (MarketId, i128),
        old: Position,
        amount: i128,
    ) {
        let at = self.market_mut(market);
        at.trades += 1;
        let trade = at.trades;
        self.output.fact(event::PerpetualTrade {
            trade,
            maker_order: 0,
            taker_order: order,
            price: narrow(price),
            quantity: narrow(old.quantity.abs()),
            maker_account: FUND,
            taker_account: account,
            market,
            taker_side: held_side(old.quantity).opposite() as u8,
            flags: 2,
            cause: event::TradeCause::Settlement as u8,
            reserved: 0,
            maker_fee: 0,
            taker_fee: 0,
            maker_realised: 0,
            taker_realised: narrow(amount),
            value: narrow((amount + old.cost).abs()),
        });
    }

    /// The fund pays what a position or an account lacks.
    fn take_lack(
        &mut self,
        account: AccountId,
        market: MarketId,
        (amount, mode): (i128, MarginMode),
        lacked: &mut i128,
    ) {
        if amount > 0 {
            self.account_mut(FUND).wallet -= amount;
            *lacked += amount;
            self.tell_posting(account, market, amount, PostingReason::InsuranceClear, mode, 0);
        }
    }

    /// From now on the market takes no order, and its price is known.
    pub(super) fn begin_close(&mut self, market: MarketId) {
        let second = self.now_ms().div_euclid(1000);
        let at = self.market_mut(market);
        at.index_samples.retain(|&of, _| of > second - 1800);
        let count = at.index_samples.len() as i128;
        let last = at.index;
        let mean = (count > 0).then(|| floor_div(at.index_samples.values().sum(), count));
        let price = mean.filter(|&mean| self.can_value(market, mean)).unwrap_or(last);
        let at = self.market_mut(market);
        at.set_state = PerpetualState::Closed;
        at.looked_at = None;
        at.closing =
            Some(Closing { price, paid: 0, positions: 0, lacked: 0, brought: Vec::new(), sharing: None });
    }

    /// A unit for each order and each position of markets that close.
    pub(super) fn close_markets(&mut self) {
        let ids: Vec<MarketId> = self.markets.iter().map(|market| market.id).collect();
        for market in ids {
            while self.market(market).closing.is_some() {
                if let Some(id) = self.next_doomed(market) {
                    if !self.take_unit() {
                        return;
                    }
                    self.expire_order(id, reason::CLOSED);
                    continue;
                }
                let held = |account: &AccountId| self.position(*account, market).quantity != 0;
                match (0..self.accounts.len() as AccountId).find(held) {
                    None if !self.end_close(market) => return,
                    None => {}
                    Some(_) if !self.take_unit() => return,
                    Some(account) => self.close_position(account, market),
                }
            }
        }
    }

    /// Buys in the book by priority, then sells, then what waits, of the lowest account the lowest id.
    fn next_doomed(&self, market: MarketId) -> Option<OrderId> {
        let best = |side| self.side(market, side).first().map(|order| order.id);
        let waiting = || {
            let of_market = self.orders.values().filter(|order| order.market == market);
            of_market.map(|order| (order.account, order.id)).min().map(|(_, id)| id)
        };
        best(Side::Buy).or_else(|| best(Side::Sell)).or_else(waiting)
    }

    /// An account is about to do something, or to have something done to it: what it holds in markets that close is closed.
    pub(super) fn close_first(&mut self, account: AccountId) {
        let ids: Vec<MarketId> = self.markets.iter().map(|market| market.id).collect();
        for market in ids {
            if self.market(market).closing.is_some() && self.position(account, market).quantity != 0 {
                self.close_position(account, market);
                // What it has resting there may close nothing any more.
                self.untrimmed.insert(market);
            }
        }
    }

    fn close_position(&mut self, account: AccountId, market: MarketId) {
        self.pay_first(account);
        let mut closing = self.market_mut(market).closing.take().expect("it closes");
        let Closing { price, lacked, .. } = &mut closing;
        let (price, old) = (*price, self.position(account, market));
        let amount = value_down(old.quantity, price) - old.cost;
        let mut new = old;
        (new.quantity, new.cost, new.isolated_wallet, new.open_fees) = (0, 0, 0, 0);
        new.realised += amount;
        self.positions.set(account, market, Some(new));
        self.note_turns(market, [(account, old.quantity), (account, 0)]);
        let is_isolated = old.mode == MarginMode::Isolated;
        let covered = if is_isolated { (-amount - old.isolated_wallet).max(0) } else { 0 };
        let to_wallet = amount + old.isolated_wallet;
        self.account_mut(account).wallet += to_wallet + covered;
        self.suspects.insert(account);
        let side = held_side(old.quantity).opposite();
        let what = (side, old.quantity.abs(), price);
        let order = self.arrive_filled(account, market, what, Name::Settlement);
        self.take_lack(account, market, (covered, old.mode), lacked);
        self.tell_settled((account, order), (market, price), old, amount);
        self.tell_position(account, market);
        if to_wallet + covered != 0 {
            self.tell_wallet(account);
        }
        if account == FUND {
            *lacked += (-amount).max(0);
        } else if !is_isolated {
            let (wallet, equity) = (self.account(account).wallet, self.cross_equity(account));
            let pays = (-wallet).min(-equity).max(0);
            self.account_mut(account).wallet += pays;
            self.take_lack(account, market, (pays, old.mode), lacked);
            if pays > 0 {
                self.tell_wallet(account);
            }
        }
        if account != FUND && amount > 0 {
            closing.brought.push((account, amount));
        }
        closing.paid += amount + old.cost;
        closing.positions += 1;
        self.market_mut(market).closing = Some(closing);
    }

    /// All are settled; whether the market is closed now.
    fn end_close(&mut self, market: MarketId) -> bool {
        let mut closing = self.market_mut(market).closing.take().expect("it closes");
        let (residue, price) = (-std::mem::take(&mut closing.paid), closing.price);
        assert!(
            (0..=closing.positions).contains(&residue),
            "I-10: residue {residue} of {}",
            closing.positions
        );
        if residue != 0 {
            self.pay(FUND, market, residue, PostingReason::Settlement);
        }
        let mut sharing = closing.sharing.take().unwrap_or_else(|| {
            self.share_out(std::mem::take(&mut closing.lacked), std::mem::take(&mut closing.brought))
        });
        let (is_done, _) = self.share_loss(&mut sharing);
        if !is_done {
            closing.sharing = Some(sharing);
            self.market_mut(market).closing = Some(closing);
            return false;
        }
        self.market_mut(market).told_state = PerpetualState::Closed;
        self.output.fact(event::PerpetualStateChanged {
            market,
            state: PerpetualState::Closed as u8,
            set: PerpetualState::Closed as u8,
            reserved: 0,
            settlement_price: narrow(price),
        });
        true
    }
}
