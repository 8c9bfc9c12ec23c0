//! What operators configured beside the markets' own figures: who changed what last, ages of sources, the fee schedule to come, limits
//! that accounts have of their own.

use super::super::codec::{LoadError, Reader, Writer};
use crate::stored::{layouts, stored};
use ringside_core::command::Kind;
use ringside_core::event::{self, Done, OperatorNoted};
use ringside_core::ids::{ALL_MARKETS, AccountId, FIRST_PERPETUAL, MarketId};
use std::collections::BTreeMap;
use zerocopy::FromZeros;

/// The last change of a market's configuration, or of the fee schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When, UNIX milliseconds.
    pub time_ms: i64,
    /// Who, padded with zeros; nobody: the venue itself, when it was founded.
    pub operator: [u8; 16],
    /// 1: by a key of its own.
    pub proven: u64,
    /// Which market, or [`ALL_MARKETS`] for the fee schedule.
    pub market: u64,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Configured {
    changes: BTreeMap<MarketId, Change>,
    ages: BTreeMap<(MarketId, u32), u32>,
    next_tiers: Vec<event::VipTierScheduled>,
    limits: BTreeMap<(AccountId, MarketId), event::AccountLimits>,
    /// The running command told of the fee schedule.
    is_of_tiers: bool,
}

impl Configured {
    /// The last change of a market, or of the fee schedule, which is [`ALL_MARKETS`].
    pub fn change(&self, market: MarketId) -> Option<&Change> {
        self.changes.get(&market)
    }

    /// Age after which a source is not fresh, milliseconds; 0: as its market says.
    pub fn source_age(&self, market: MarketId, source: u32) -> u32 {
        self.ages.get(&(market, source)).copied().unwrap_or(0)
    }

    /// The fee schedule that waits for its midnight, lowest tier first.
    pub fn next_tiers(&self) -> &[event::VipTierScheduled] {
        &self.next_tiers
    }

    /// A limit of an account's own that counts in a market: that of the market first, then that over all.
    pub fn own_limit<T: Copy + Default + PartialEq>(
        &self,
        account: AccountId,
        market: MarketId,
        kind: impl Fn(&event::AccountLimits) -> T,
    ) -> Option<T> {
        let of = |market| self.limits.get(&(account, market)).map(&kind).filter(|own| *own != T::default());
        of(market).or_else(|| of(ALL_MARKETS))
    }

    /// Accounts with order rates of their own: in ten seconds, in a minute; 0 for none of the two.
    pub fn order_rates(&self) -> impl Iterator<Item = (AccountId, [u32; 2])> {
        let of_all = self.limits.values().filter(|limits| limits.market == ALL_MARKETS);
        of_all.map(|limits| (limits.account, [limits.order_rate_10s, limits.order_rate_1m]))
    }

    pub(super) fn age(&mut self, age: &event::PerpetualSourceAge) {
        let key = (age.market, age.source);
        match age.stale_ms {
            0 => self.ages.remove(&key),
            stale_ms => self.ages.insert(key, stale_ms),
        };
    }

    pub(super) fn source(&mut self, source: &event::PerpetualSource) {
        if source.manual == 0 && source.weight == 0 {
            self.ages.remove(&(source.market, source.source));
        }
    }

    pub(super) fn scheduled(&mut self, tier: &event::VipTierScheduled) {
        if tier.tier == 0 {
            self.next_tiers.clear();
        }
        self.next_tiers.push(*tier);
        self.is_of_tiers = true;
    }

    pub(super) fn tier(&mut self, time_ms: i64) {
        self.next_tiers.retain(|tier| tier.effective_ms > time_ms);
        self.is_of_tiers = true;
    }

    pub(super) fn limit(&mut self, limits: &event::AccountLimits) {
        self.limits.insert((limits.account, limits.market), *limits);
    }

    /// `noted`: the operator who announced the command, if any did.
    pub(super) fn done(&mut self, done: &Done, noted: Option<&OperatorNoted>, time_ms: i64) {
        let is_of_tiers = std::mem::take(&mut self.is_of_tiers);
        let of_market = match Kind::from_code(done.command) {
            Some(
                Kind::ListPerpetual
                | Kind::SetPerpetualParameter
                | Kind::SetBrackets
                | Kind::SetPerpetualState
                | Kind::SetSource
                | Kind::SetManualPrice
                | Kind::ApplyDraft,
            ) => Some(done.market).filter(|market| *market >= FIRST_PERPETUAL),
            // What ticks bring about is nobody's doing.
            Some(Kind::ScheduleVipTier | Kind::SetVipTier) if is_of_tiers => Some(ALL_MARKETS),
            _ => None,
        };
        let Some(market) = of_market.filter(|_| done.reject == 0) else { return };
        let (operator, proven) = noted.map_or(([0; 16], 0), |noted| (noted.operator, noted.proven.into()));
        self.changes.insert(market, Change { time_ms, operator, proven, market: market.into() });
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.records(self.changes.values());
        let ages = self.ages.iter().map(|(&(market, source), &stale_ms)| event::PerpetualSourceAge {
            market,
            source,
            stale_ms,
            ..event::PerpetualSourceAge::new_zeroed()
        });
        let ages: Vec<_> = ages.collect();
        writer.records(ages.iter());
        writer.records(self.next_tiers.iter());
        writer.records(self.limits.values());
    }

    pub(super) fn load(reader: &mut Reader<'_>) -> Result<Configured, LoadError> {
        let changes: Vec<Change> = reader.records()?;
        let ages: Vec<event::PerpetualSourceAge> = reader.records()?;
        let next_tiers = reader.records()?;
        let limits: Vec<event::AccountLimits> = reader.records()?;
        if limits.iter().any(|limits| !reader.knows(limits.account)) {
            return Err(reader.bad("account"));
        }
        Ok(Configured {
            changes: changes.into_iter().map(|change| (change.market as MarketId, change)).collect(),
            ages: ages.into_iter().map(|age| ((age.market, age.source), age.stale_ms)).collect(),
            next_tiers,
            limits: limits.into_iter().map(|limits| ((limits.account, limits.market), limits)).collect(),
            is_of_tiers: false,
        })
    }
}

layouts! {
    /// The last change of a configuration.
    ChangeV1 of Change { time_ms: i64, operator: [u8; 16], proven: u64, market: u64 }
}

stored! {
    Change as Changes: ChangeV1;
}
