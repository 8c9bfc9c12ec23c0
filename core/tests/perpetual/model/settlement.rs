//! A market closes for good (`risk.md` 18).

use super::arithmetic::{floor_div, narrow, value_down};
use super::ledger::held_side;
use super::liquidation::Name;
use super::orders::reason;
use super::{FUND, Model, Position};
use ringside_core::command::{MarginMode, PerpetualState};
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

    pub(super) fn close_market(&mut self, market: MarketId) {
        let orders: Vec<OrderId> =
            self.orders.values().filter(|order| order.market == market).map(|order| order.id).collect();
        for id in orders {
            if self.orders.contains_key(&id) {
                self.expire_order(id, reason::CLOSED);
            }
        }
        self.pay_rest(market);
        let second = self.now_ms().div_euclid(1000);
        let at = self.market_mut(market);
        at.index_samples.retain(|&of, _| of > second - 1800);
        let count = at.index_samples.len() as i128;
        let last = at.index;
        let mean = (count > 0).then(|| floor_div(at.index_samples.values().sum(), count));
        let price = mean.filter(|&mean| self.can_value(market, mean)).unwrap_or(last);
        let (mut paid, mut positions, mut moved) = (0, 0, 0);
        let (mut lacked, mut brought) = (0, Vec::new());
        for account in 0..self.accounts.len() as AccountId {
            if self.position(account, market).quantity == 0 {
                continue;
            }
            self.pay_first(account);
            let old = self.position(account, market);
            let amount = value_down(old.quantity, price) - old.cost;
            let mut new = old;
            (new.quantity, new.cost, new.isolated_wallet, new.open_fees) = (0, 0, 0, 0);
            new.realised += amount;
            self.positions.set(account, market, Some(new));
            let is_isolated = old.mode == MarginMode::Isolated;
            let covered = if is_isolated { (-amount - old.isolated_wallet).max(0) } else { 0 };
            let to_wallet = amount + old.isolated_wallet;
            self.account_mut(account).wallet += to_wallet + covered;
            self.suspects.insert(account);
            let side = held_side(old.quantity).opposite();
            let what = (side, old.quantity.abs(), price);
            let order = self.arrive_filled(account, market, what, Name::Settlement);
            self.take_lack(account, market, (covered, old.mode), &mut lacked);
            self.tell_settled((account, order), (market, price), old, amount);
            if account == FUND {
                lacked += (-amount).max(0);
            } else if !is_isolated {
                let (wallet, equity) = (self.account(account).wallet, self.cross_equity(account));
                let pays = (-wallet).min(-equity).max(0);
                self.account_mut(account).wallet += pays;
                self.take_lack(account, market, (pays, old.mode), &mut lacked);
            }
            if account != FUND && amount > 0 {
                brought.push((account, amount));
            }
            moved += to_wallet - old.isolated_wallet + old.cost;
            paid += amount + old.cost;
            positions += 1;
        }
        let residue = -paid;
        assert!((0..=positions).contains(&residue), "I-10: residue {residue} of {positions}");
        if residue != 0 {
            moved += self.pay(FUND, market, residue, PostingReason::Settlement);
        }
        assert_eq!(moved, 0, "the legs of a settlement sum to zero");
        self.share_settlement(lacked, &brought);
        let at = self.market_mut(market);
        at.set_state = PerpetualState::Closed;
        at.told_state = PerpetualState::Closed;
        self.output.fact(event::PerpetualStateChanged {
            market,
            state: PerpetualState::Closed as u8,
            set: PerpetualState::Closed as u8,
            reserved: 0,
            settlement_price: narrow(price),
        });
    }
}
