//! What an account has between the steps of one command: what the command found of it, then what the engine tells.

use ringside_core::command::MarginMode;
use ringside_core::event::{Event, PerpetualPosition, PerpetualWallet};
use ringside_core::ids::{AccountId, MarketId};
use ringside_core::money::Money;
use ringside_views::perpetual::Perpetuals;
use ringside_views::perpetual::account::Holding;

/// See the module.
pub(super) struct Ledger<'a> {
    views: &'a Perpetuals,
    account: AccountId,
    wallet: Money,
    positions: Vec<PerpetualPosition>,
}

impl<'a> Ledger<'a> {
    /// What the last command found of an account.
    pub(super) fn new(views: &'a Perpetuals, account: AccountId) -> Ledger<'a> {
        let (known, found) = (views.accounts().find(account), views.accounts().found());
        let now = known.map_or(0, |known| known.wallet);
        let holdings = known.iter().flat_map(|known| known.holdings.iter());
        let positions = holdings.map(|Holding { position, .. }| {
            found.position(position.market, account).copied().unwrap_or(*position)
        });
        Ledger {
            views,
            account,
            wallet: found.wallet(account).unwrap_or(now),
            positions: positions.collect(),
        }
    }

    /// Cross wallet.
    pub(super) fn wallet(&self) -> Money {
        self.wallet
    }

    /// Cross and isolated wallets.
    pub(super) fn total(&self) -> Money {
        self.wallet + self.positions.iter().map(isolated_wallet).sum::<Money>()
    }

    /// Takes what the command left of each position's leverage and mode; those that differ, before and after.
    pub(super) fn configured(&mut self) -> Vec<(PerpetualPosition, PerpetualPosition)> {
        let known = self.views.accounts().find(self.account);
        let mut changed = Vec::new();
        for position in &mut self.positions {
            let Some(after) = known.and_then(|known| known.holdings.get(position.market)) else { continue };
            let after = PerpetualPosition {
                leverage: after.position.leverage,
                mode: after.position.mode,
                ..*position
            };
            if after != *position {
                changed.push((*position, after));
                *position = after;
            }
        }
        changed
    }

    /// The position in a market.
    pub(super) fn position(&self, market: MarketId) -> PerpetualPosition {
        self.positions.iter().find(|position| position.market == market).copied().unwrap_or_else(|| {
            let known = self.views.accounts().get(self.account);
            known.holding(market).position
        })
    }

    /// Takes what is told of the account; whether the event is that.
    pub(super) fn take(&mut self, event: &Event) -> bool {
        if let Some(position) = event.get::<PerpetualPosition>() {
            match self.positions.iter_mut().find(|known| known.market == position.market) {
                Some(known) => *known = *position,
                None => self.positions.push(*position),
            }
            return true;
        }
        let wallet = event.get::<PerpetualWallet>();
        self.wallet = wallet.map_or(self.wallet, |told| told.wallet);
        wallet.is_some()
    }

    /// Whether a payment took the wallet of an isolated position below 0.
    pub(super) fn is_below_zero(&self, market: MarketId) -> bool {
        isolated_wallet(&self.position(market)) < 0
    }

    /// Whether it has come to where the command left the account. Tests ask.
    pub(super) fn is_settled(&self) -> bool {
        let known = self.views.accounts().get(self.account);
        self.wallet == known.wallet
            && self.positions.iter().all(|position| *position == known.holding(position.market).position)
    }
}

/// Wallet of an isolated position, 0 of a cross one.
pub(super) fn isolated_wallet(position: &PerpetualPosition) -> Money {
    if position.mode == MarginMode::Isolated as u32 { position.isolated_wallet } else { 0 }
}
