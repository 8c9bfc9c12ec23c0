//! Accounts of the perpetual side: wallets, positions, terms, fee tiers. Margins are computed by readers.

use super::super::codec::{LoadError, Reader, Writer};
use super::super::dense_map::DenseMap;
use crate::stored::{
    events::{ExposureV1, PositionV1},
    layouts, stored,
};
use ringside_core::command::MarginMode;
use ringside_core::event::{self, VipChange};
use ringside_core::ids::{AccountId, MarketId};
use ringside_core::money::Quantity;

/// Leverage where an account never set one, unless the market allows less.
pub const LEVERAGE_DEFAULT: u32 = 20;

/// What an account has in one market.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Position, leverage, mode; a leverage of 0 was never told.
    pub position: event::PerpetualPosition,
    /// Buckets of open orders.
    pub exposure: event::PerpetualExposure,
    /// When the position last changed, UNIX milliseconds; 0 when none was ever held.
    pub updated_ms: i64,
}

/// One account.
#[derive(Clone, Debug)]
pub struct PerpetualAccount {
    /// Cross wallet, micro-quote.
    pub wallet: i64,
    /// When this or the wallet of an isolated position last changed, UNIX milliseconds, 0 for never.
    pub updated_ms: i64,
    /// Switches, referral and promotion.
    pub terms: event::AccountTerms,
    /// The last change of its tier.
    pub vip: Option<event::VipChanged>,
    /// Its fee tier.
    pub tier: u32,
    /// By market.
    pub holdings: Holdings,
}

/// What an account has, by market. Most trade in few: the list takes what they need, where a node of a map is made for eleven.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holdings(Vec<Holding>);

impl Holdings {
    fn find(&self, market: MarketId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&market, |holding| holding.position.market)
    }

    /// What it has in a market, if it was ever told of.
    pub fn get(&self, market: MarketId) -> Option<&Holding> {
        self.find(market).ok().map(|at| &self.0[at])
    }

    fn get_mut(&mut self, market: MarketId) -> Option<&mut Holding> {
        self.find(market).ok().map(|at| &mut self.0[at])
    }

    fn insert(&mut self, holding: Holding) {
        match self.find(holding.position.market) {
            Ok(at) => self.0[at] = holding,
            Err(at) => {
                self.0.reserve_exact(1);
                self.0.insert(at, holding);
            }
        }
    }

    /// All of them, ascending by market.
    pub fn iter(&self) -> std::slice::Iter<'_, Holding> {
        self.0.iter()
    }
}

impl PerpetualAccount {
    /// An account that nothing happened to.
    pub fn new(account: AccountId) -> PerpetualAccount {
        PerpetualAccount {
            wallet: 0,
            updated_ms: 0,
            terms: event::AccountTerms {
                account,
                trading_enabled: 1,
                trade_group: -1,
                promo_until_ms: 0,
                fee_burn: 0,
                referral_total_bps: 0,
                referral_share_bps: 0,
                promo_bps: 0,
                default_mode: MarginMode::Cross as u32,
                reserved: 0,
            },
            vip: None,
            tier: 0,
            holdings: Holdings::default(),
        }
    }

    /// What it has in a market that it may never have touched.
    pub fn holding(&self, market: MarketId) -> Holding {
        self.holdings.get(market).copied().unwrap_or_else(|| self.untouched(market))
    }

    fn untouched(&self, market: MarketId) -> Holding {
        let account = self.terms.account;
        Holding {
            position: event::PerpetualPosition {
                account,
                market,
                quantity: 0,
                cost: 0,
                isolated_wallet: 0,
                open_fees: 0,
                realised: 0,
                leverage: 0,
                mode: self.terms.default_mode,
            },
            exposure: event::PerpetualExposure {
                account,
                market,
                buy_quantity: 0,
                buy_reference: 0,
                buy_open_loss: 0,
                buy_fee_reserve: 0,
                sell_quantity: 0,
                sell_reference: 0,
                sell_open_loss: 0,
                sell_fee_reserve: 0,
            },
            updated_ms: 0,
        }
    }
}

/// What the last command changed of accounts, as it found it. Each is listed as often as it was told; ascending once the command has
/// ended, those told first before others.
#[derive(Clone, Debug, Default)]
pub struct Found {
    wallets: Vec<(AccountId, i64)>,
    positions: Vec<event::PerpetualPosition>,
    exposures: Vec<event::PerpetualExposure>,
}

impl Found {
    /// The cross wallet of an account; `None` where the command did not change it.
    pub fn wallet(&self, account: AccountId) -> Option<i64> {
        let place = self.wallets.partition_point(|known| known.0 < account);
        self.wallets.get(place).filter(|found| found.0 == account).map(|found| found.1)
    }

    /// A position; `None` where the command did not change it.
    pub fn position(&self, market: MarketId, account: AccountId) -> Option<&event::PerpetualPosition> {
        let place = self.positions.partition_point(|known| (known.market, known.account) < (market, account));
        self.positions.get(place).filter(|found| (found.market, found.account) == (market, account))
    }

    /// The order margin of a holding; `None` where the command did not change it.
    pub fn exposure(&self, market: MarketId, account: AccountId) -> Option<&event::PerpetualExposure> {
        let place = self.exposures.partition_point(|known| (known.market, known.account) < (market, account));
        self.exposures.get(place).filter(|found| (found.market, found.account) == (market, account))
    }

    /// The command has ended.
    pub(super) fn arrange(&mut self) {
        self.wallets.sort_by_key(|known| known.0);
        self.positions.sort_by_key(|known| (known.market, known.account));
        self.exposures.sort_by_key(|known| (known.market, known.account));
    }

    pub(super) fn clear(&mut self) {
        self.exposures.clear();
        self.wallets.clear();
        self.positions.clear();
    }
}

/// All accounts that the engine told of, and the fee tiers.
#[derive(Clone, Debug, Default)]
pub struct AccountTable {
    accounts: DenseMap<PerpetualAccount>,
    tiers: Vec<event::VipTier>,
    found: Found,
}

impl AccountTable {
    /// An account, which may be one that nothing happened to.
    pub fn get(&self, account: AccountId) -> PerpetualAccount {
        self.accounts.get(account).cloned().unwrap_or_else(|| PerpetualAccount::new(account))
    }

    /// An account that the engine told of.
    pub fn find(&self, account: AccountId) -> Option<&PerpetualAccount> {
        self.accounts.get(account)
    }

    /// What the last command found of what it changed.
    pub fn found(&self) -> &Found {
        &self.found
    }

    pub(super) fn found_mut(&mut self) -> &mut Found {
        &mut self.found
    }

    /// Fee tiers, lowest first.
    pub fn tiers(&self) -> &[event::VipTier] {
        &self.tiers
    }

    fn at(&mut self, account: AccountId) -> &mut PerpetualAccount {
        self.accounts.get_or_insert_with(account, || PerpetualAccount::new(account))
    }

    pub(super) fn tier(&mut self, tier: &event::VipTier) {
        self.tiers.retain(|known| known.tier != tier.tier && known.tier < tier.count);
        let at = self.tiers.partition_point(|known| known.tier < tier.tier);
        self.tiers.insert(at, *tier);
    }

    pub(super) fn vip(&mut self, changed: &event::VipChanged) {
        let account = self.at(changed.account);
        account.vip = Some(*changed);
        if changed.change != VipChange::DowngradeScheduled as u8 {
            account.tier = changed.to.into();
        }
    }

    pub(super) fn terms(&mut self, terms: &event::AccountTerms) {
        let account =
            self.accounts.get_or_insert_with(terms.account, || PerpetualAccount::new(terms.account));
        account.terms = *terms;
    }

    pub(super) fn wallet(&mut self, wallet: &event::PerpetualWallet, time_ms: i64) {
        let account =
            self.accounts.get_or_insert_with(wallet.account, || PerpetualAccount::new(wallet.account));
        self.found.wallets.push((wallet.account, account.wallet));
        account.wallet = wallet.wallet;
        account.updated_ms = time_ms;
    }

    /// Takes a position; its quantity before.
    pub(super) fn position(&mut self, position: &event::PerpetualPosition, time_ms: i64) -> Quantity {
        let account = self.at(position.account);
        let found = match account.holdings.get_mut(position.market) {
            Some(holding) => {
                // Leverage and mode alone are no position.
                if position.quantity != 0 || holding.position.quantity != 0 {
                    holding.updated_ms = time_ms;
                }
                std::mem::replace(&mut holding.position, *position)
            }
            None => {
                let untouched = account.untouched(position.market);
                let updated_ms = if position.quantity == 0 { 0 } else { time_ms };
                let holding = Holding { position: *position, updated_ms, ..untouched };
                account.holdings.insert(holding);
                untouched.position
            }
        };
        if found.isolated_wallet != position.isolated_wallet {
            self.at(position.account).updated_ms = time_ms;
        }
        self.found.positions.push(found);
        found.quantity
    }

    pub(super) fn exposure(&mut self, exposure: &event::PerpetualExposure) {
        let account = self.at(exposure.account);
        let found = match account.holdings.get_mut(exposure.market) {
            Some(holding) => std::mem::replace(&mut holding.exposure, *exposure),
            None => {
                let untouched = account.untouched(exposure.market);
                account.holdings.insert(Holding { exposure: *exposure, ..untouched });
                untouched.exposure
            }
        };
        self.found.exposures.push(found);
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.records(self.tiers.iter());
        writer.count(self.accounts.len());
        for (_, account) in self.accounts.iter() {
            writer.record(&account.terms);
            writer.i64(account.wallet);
            writer.i64(account.updated_ms);
            writer.records(account.vip.iter());
            writer.u64(account.tier.into());
            writer.records(account.holdings.iter());
        }
    }

    pub(super) fn load(reader: &mut Reader<'_>) -> Result<AccountTable, LoadError> {
        let mut table = AccountTable { tiers: reader.records()?, ..AccountTable::default() };
        for _ in 0..reader.count()? {
            let terms: event::AccountTerms = reader.record()?;
            if !reader.knows(terms.account) {
                return Err(reader.bad("account"));
            }
            let account = PerpetualAccount {
                terms,
                wallet: reader.i64()?,
                updated_ms: reader.i64()?,
                vip: reader.records()?.pop(),
                tier: reader.uint("tier")?,
                holdings: {
                    let mut holdings = Holdings::default();
                    let told: Vec<Holding> = reader.records()?;
                    told.into_iter().for_each(|holding| holdings.insert(holding));
                    holdings
                },
            };
            table.accounts.remove(terms.account);
            table.accounts.get_or_insert_with(terms.account, || account);
        }
        Ok(table)
    }
}

layouts! {
    /// What an account has in a market.
    HoldingV1 of Holding { position: PositionV1, exposure: ExposureV1, updated_ms: i64 }
}

stored! {
    Holding as Holdings: HoldingV1;
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::FromZeros;

    /// `perpetual.md` 9: funding and losses of an isolated position change the balance, and the cross wallet not always.
    #[test]
    fn a_balance_changes_with_every_wallet() {
        let mut table = AccountTable::default();
        let mut fold = |quantity, isolated_wallet, leverage, time_ms| {
            let position = event::PerpetualPosition {
                account: 1,
                market: 9,
                quantity,
                isolated_wallet,
                leverage,
                ..FromZeros::new_zeroed()
            };
            table.position(&position, time_ms);
            let account = table.get(1);
            (account.updated_ms, account.holding(9).updated_ms)
        };
        assert_eq!(fold(0, 0, 10, 1), (0, 0));
        assert_eq!(fold(5, 100, 10, 2), (2, 2));
        assert_eq!(fold(5, 100, 20, 3), (2, 3));
        assert_eq!(fold(5, 90, 20, 4), (4, 4));
        assert_eq!(fold(0, 0, 20, 5), (5, 5));
        assert_eq!(fold(0, 0, 30, 6), (5, 5));
    }

    /// A lower tier holds when it begins, not when it is announced.
    #[test]
    fn a_tier_that_is_to_come_is_not_there_yet() {
        let mut table = AccountTable::default();
        let mut fold = |change: VipChange, from, to| {
            let zero: event::VipChanged = FromZeros::new_zeroed();
            table.vip(&event::VipChanged { account: 1, change: change as u8, from, to, ..zero });
            table.get(1).tier
        };
        assert_eq!(fold(VipChange::UpgradeImmediate, 0, 3), 3);
        assert_eq!(fold(VipChange::DowngradeScheduled, 3, 2), 3);
        assert_eq!(fold(VipChange::DowngradeApplied, 3, 2), 2);
    }
}
