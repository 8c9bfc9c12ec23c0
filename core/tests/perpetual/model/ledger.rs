//! Money and positions: the only code that changes a balance. Each posting's legs sum to zero, where a cost counts
//! against its owner and DEP against the world (`risk.md` 3, 4, 20).

use super::arithmetic::{ceil_div, floor_div, narrow, share_up};
use super::{Account, FUND, Model, Position};
use ringside_core::command::{MarginMode, Side};
use ringside_core::event::{self, PostingReason};
use ringside_core::ids::{ALL_MARKETS, AccountId, AssetId, MarketId};

/// What a fill does to one side, worked out before anything changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Half {
    pub position: Position,
    pub closed: i128,
    pub opened: i128,
    pub opened_value: i128,
    pub realised: i128,
    /// Change of the cross wallet.
    pub wallet: i128,
    /// What the fund pays for an isolated position.
    pub covered: i128,
    /// The wallet cannot pay isolated margin and fee.
    pub lacks: bool,
}

/// +1 for a buy.
pub fn sign(side: Side) -> i128 {
    if side == Side::Buy { 1 } else { -1 }
}

/// The side of a position, of which a quantity is not 0.
pub fn held_side(quantity: i128) -> Side {
    if quantity > 0 { Side::Buy } else { Side::Sell }
}

impl Model {
    /// Tells both sides of every ledger.
    pub(super) fn prove(&mut self) {
        let accounts = self.spot.accounts.len() as AccountId;
        for asset in 0..self.spot.assets.len() as AssetId {
            let sum = |of: fn((i128, i128)) -> i128| -> i128 {
                (0..accounts).map(|account| of(self.spot.balance(account, asset))).sum()
            };
            let (available, frozen) = (sum(|both| both.0), sum(|both| both.1));
            self.output.fact(event::SpotLedger {
                asset,
                reserved: [0; 6],
                available: available.into(),
                frozen: frozen.into(),
                credited: (available + frozen).into(),
            });
        }
        if let Some(asset) = self.margin_asset {
            let wallets: i128 = (1..accounts).map(|account| self.account(account).wallet).sum();
            let isolated: i128 = self.positions.values().map(|position| position.isolated_wallet).sum();
            let costs: i128 = self.positions.values().map(|position| position.cost).sum();
            let received = self.markets.iter().filter_map(|market| Some(market.hour.as_ref()?.received));
            let left = self.markets.iter().filter_map(|market| Some(-market.closing.as_ref()?.paid));
            let collected = left.sum::<i128>() - received.sum::<i128>();
            self.output.fact(event::PerpetualLedger {
                wallets: wallets.into(),
                isolated: isolated.into(),
                costs: costs.into(),
                fund: narrow(self.account(FUND).wallet + collected),
                fees: narrow(self.fees),
                affiliates: narrow(self.affiliates),
                deposits: narrow(self.deposits),
                asset,
                reserved: [0; 6],
            });
        }
        self.output.fact(event::StateHash { hash: [0; 16] });
    }

    pub fn account(&self, id: AccountId) -> &Account {
        &self.accounts[id as usize]
    }

    pub(super) fn account_mut(&mut self, id: AccountId) -> &mut Account {
        &mut self.accounts[id as usize]
    }

    /// Where an account stands in a market, whether it ever touched it or not.
    pub fn position(&self, account: AccountId, market: MarketId) -> Position {
        self.positions.get(account, market).copied().unwrap_or(Position {
            quantity: 0,
            cost: 0,
            isolated_wallet: 0,
            open_fees: 0,
            realised: 0,
            leverage: 0,
            mode: self.account(account).default_mode,
        })
    }

    /// The leverage in force: 20, or the market's greatest if that is less, until one was set.
    pub fn leverage(&self, market: MarketId, position: &Position) -> i128 {
        let first = self.market(market).brackets[0].leverage;
        i128::from(if position.leverage == 0 { first.min(20) } else { position.leverage })
    }

    /// What a fill of `quantity` worth `value` makes of an account's position and wallets (`risk.md` 4, 8).
    pub(super) fn half(
        &self,
        account: AccountId,
        market: MarketId,
        side: Side,
        quantity: i128,
        value: i128,
        fee: i128,
    ) -> Half {
        let old = self.position(account, market);
        let mut position = old;
        let held = old.quantity.abs();
        let closes = old.quantity != 0 && held_side(old.quantity) != side;
        let closed = if closes { quantity.min(held) } else { 0 };
        let opened = quantity - closed;
        // A price times a quantity is exact; a value off the grid is rounded down for the closing part.
        let closed_value = if closed == quantity { value } else { floor_div(value * closed, quantity) };
        let opened_value = value - closed_value;
        let mut realised = 0;
        if closed > 0 {
            let removed = ceil_div(old.cost * closed, held);
            realised = -sign(side) * closed_value - removed;
            position.cost -= removed;
            position.quantity += sign(side) * closed;
            position.open_fees -= ceil_div(old.open_fees * closed, held);
        }
        position.quantity += sign(side) * opened;
        position.cost += sign(side) * opened_value;
        position.open_fees += share_up(fee, opened, quantity);
        position.realised += realised;
        let (mut wallet, mut covered, mut lacks) = (realised - fee, 0, false);
        if old.mode == MarginMode::Isolated {
            // A fill that closes and opens pays its fee with what it closes.
            let (closing_fee, opening_fee) = if closed > 0 { (fee, 0) } else { (0, fee) };
            wallet = 0;
            if closed > 0 {
                let released = floor_div(old.isolated_wallet * closed, held);
                let pay = released + realised - closing_fee;
                position.isolated_wallet -= released;
                if pay >= 0 {
                    wallet += pay;
                } else {
                    position.isolated_wallet += pay;
                }
                if position.isolated_wallet < 0 {
                    covered = -position.isolated_wallet;
                    position.isolated_wallet = 0;
                }
            }
            if opened > 0 {
                let margin = ceil_div(opened_value, self.leverage(market, &old));
                lacks = self.account(account).wallet + wallet < margin + opening_fee;
                position.isolated_wallet += margin;
                wallet -= margin + opening_fee;
            }
        }
        Half { position, closed, opened, opened_value, realised, wallet, covered, lacks }
    }

    /// Carries a half out. Gives what it added to the balance of `risk.md` 20 I-1: its counterparts must take it away.
    pub(super) fn settle(&mut self, account: AccountId, market: MarketId, half: &Half) -> i128 {
        let old = self.position(account, market);
        self.positions.set(account, market, Some(half.position));
        self.account_mut(account).wallet += half.wallet;
        self.suspects.insert(account);
        self.cover(account, market, half.covered);
        half.wallet + (half.position.isolated_wallet - old.isolated_wallet) - (half.position.cost - old.cost)
    }

    /// Notes whose position became zero or turned by a fill; a trade with oneself is one fill.
    pub(super) fn note_turns(&mut self, market: MarketId, before: [(AccountId, i128); 2]) {
        for (account, was) in before {
            if was != 0 && self.position(account, market).quantity.signum() != was.signum() {
                self.turned.insert((account, market));
            }
        }
    }

    /// The fund pays what an isolated position lacks.
    pub(super) fn cover(&mut self, account: AccountId, market: MarketId, amount: i128) {
        if amount == 0 {
            return;
        }
        self.account_mut(FUND).wallet -= amount;
        self.tell_posting(account, market, amount, PostingReason::InsuranceClear, MarginMode::Isolated, 0);
    }

    /// To the wallet that backs a position, or the cross wallet for [`ALL_MARKETS`].
    pub(super) fn pay(
        &mut self,
        account: AccountId,
        market: MarketId,
        amount: i128,
        reason: PostingReason,
    ) -> i128 {
        let mode = if market == ALL_MARKETS || account == FUND {
            MarginMode::Cross
        } else {
            self.position(account, market).mode
        };
        if mode == MarginMode::Isolated {
            self.positions.get_mut(account, market).expect("it has a position").isolated_wallet += amount;
        } else {
            self.account_mut(account).wallet += amount;
        }
        self.suspects.insert(account);
        self.tell_posting(account, market, amount, reason, mode, 0);
        match mode {
            MarginMode::Isolated => self.tell_position(account, market),
            MarginMode::Cross => self.tell_wallet(account),
        }
        amount
    }

    pub(super) fn tell_posting(
        &mut self,
        account: AccountId,
        market: MarketId,
        amount: i128,
        reason: PostingReason,
        wallet: MarginMode,
        trade: u64,
    ) {
        self.output.fact(event::Posting {
            account,
            market,
            amount: narrow(amount),
            reason: reason as u8,
            wallet: wallet as u8,
            reserved: [0; 6],
            trade,
        });
    }
}
