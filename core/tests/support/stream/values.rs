//! Ordinary values: accounts, targets, prices, quantities, sums.

use super::{Grid, Stream, address};
use ringside_core::command::{Credit, Side};
use ringside_core::ids::{AccountId, AssetName, OrderId};
use ringside_core::money::{Amount, MAX_ENTRY, amount_of, checked_notional};

impl Stream {
    /// A new tick: near the first one, finer, coarser, or with nothing in common with it.
    pub(super) fn tick(&mut self, grid: &Grid) -> i64 {
        let step = grid.step.0;
        let tick = match self.random.below(12) {
            0..=3 => step,
            4 => step.saturating_mul(2),
            5 => step.saturating_mul(5),
            6 => step.saturating_mul(3) / 2,
            7 => step / 2,
            8 => step / 10,
            9 => step / 64,
            10 => 1,
            _ => *self.random.pick(&[3, 7, 97, 1_000_003]),
        };
        tick.clamp(1, MAX_ENTRY)
    }

    pub(super) fn account(&mut self) -> AccountId {
        // Account 0 is the fee account; it may trade like any other.
        if self.random.permille(10) { 0 } else { 1 + self.random.below(self.profile.accounts) as AccountId }
    }

    /// An order and who asks: mostly a resting one and its owner.
    pub(super) fn target(&mut self) -> (AccountId, OrderId) {
        if self.live.is_empty() || self.random.permille(40) {
            let order = self.random.below(self.orders_seen + 3);
            return (self.account(), order);
        }
        let live = *self.random.pick(&self.live);
        let account = if self.random.permille(40) { self.account() } else { live.account };
        (account, live.order)
    }

    pub(super) fn price(&mut self, grid: &Grid, side: Side, marketable: bool) -> i64 {
        if self.random.permille(15) {
            // Anywhere: levels far apart.
            let far = grid.tick.saturating_mul(1 + self.random.between(0, 9) * (1 << self.random.below(44)));
            return far.min(MAX_ENTRY / grid.tick * grid.tick);
        }
        let band = self.profile.band;
        let reach = if marketable { band } else { band / 3 };
        let offset = self.random.between(-band, reach);
        let offset = if side == Side::Buy { offset } else { -offset };
        let price = grid.center.saturating_add(offset * grid.step.0).clamp(grid.step.0, MAX_ENTRY);
        (price / grid.tick * grid.tick).max(grid.tick)
    }

    pub(super) fn quantity(&mut self, grid: &Grid) -> i64 {
        let lots = self.random.between(1, self.profile.lots);
        if self.profile.huge && self.random.permille(100) {
            return MAX_ENTRY / grid.lot * grid.lot;
        }
        lots.saturating_mul(grid.lot).min(MAX_ENTRY / grid.lot * grid.lot)
    }

    /// Quote for a market buy: some lots near the center, with a crumb.
    pub(super) fn quote(&mut self, grid: &Grid) -> Amount {
        let quantity = self.quantity(grid);
        let amount = checked_notional(grid.center, quantity).unwrap_or(Amount::MAX / 2);
        amount.saturating_add(Amount::from(self.random.below(3))).max(1)
    }

    pub(super) fn credit_of(&mut self, grid: &Grid, account: u64, asset: AssetName) -> Credit {
        let lots = self.random.between(1, self.profile.wealth);
        let quantity = lots.saturating_mul(grid.lot).min(MAX_ENTRY);
        let amount = if self.profile.huge {
            Amount::MAX / *self.random.pick(&[2, 8, 64, 1 << 20, 1 << 60])
        } else if asset == grid.base {
            amount_of(quantity)
        } else {
            checked_notional(grid.center, quantity).unwrap_or(Amount::MAX / 8)
        };
        // The zero address is the fee account's.
        let address = if self.random.permille(20) { [0; 20] } else { address(account) };
        let mut reason = [0; 64];
        reason[..4].copy_from_slice(b"test");
        Credit { address, asset, reserved: 0, amount: amount.into(), reason }
    }
}
