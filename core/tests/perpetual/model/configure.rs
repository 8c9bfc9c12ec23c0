//! Drafts of markets, schedules of fees to come, limits of accounts.

use super::admin::{
    PARAMETERS, bounds_hold, brackets_of, clamp_max, rates_hold, shipped_brackets, volumes_hold,
};
use super::arithmetic::{E6, E10, MAX_VALUE, narrow};
use super::fees::DAY_MS;
use super::{Draft, Model, Outcome, OwnLimits, Tier};
use ringside_core::command::{
    ApplyDraft, DraftPerpetual, PerpetualState, ScheduleVipTier, SetAccountLimits, SetPerpetualState,
    SetSource,
};
use ringside_core::event;
use ringside_core::ids::{ALL_MARKETS, AccountId, FIRST_PERPETUAL, MarketId};
use ringside_core::reject::Reject;
use std::collections::BTreeMap;

/// Pairs of parameters of which the first may not be above the second.
const ENDS: [(u32, u32); 4] = [(3, 4), (5, 6), (5, 7), (8, 9)];

impl Model {
    pub(super) fn begin_draft(&mut self, draft: &DraftPerpetual, source: u32) -> Result<Outcome, Reject> {
        let market = (draft.market != 0).then_some(draft.market);
        if let Some(market) = market {
            self.known_market(market)?;
        }
        self.draft = Some(Draft {
            source,
            market,
            names: (draft.symbol, draft.base, draft.quote),
            changes: 0,
            parameters: BTreeMap::new(),
            brackets: None,
            sources: None,
        });
        Ok(Outcome::default())
    }

    /// The draft of a source, with one change more.
    pub(super) fn drafted(&mut self, source: u32) -> Result<&mut Draft, Reject> {
        let draft =
            self.draft.as_mut().filter(|draft| draft.source == source).ok_or(Reject::DraftNotFound)?;
        draft.changes += 1;
        Ok(draft)
    }

    pub(super) fn draft_brackets(
        &mut self,
        rows: Vec<(i128, u32, i128)>,
        follows: bool,
        source: u32,
    ) -> Result<Outcome, Reject> {
        let draft =
            self.draft.as_mut().filter(|draft| draft.source == source).ok_or(Reject::DraftNotFound)?;
        if follows {
            let first = draft.brackets.as_mut().filter(|first| first.len() == 8).ok_or(Reject::Malformed)?;
            first.extend(rows);
        } else {
            draft.brackets = Some(rows);
        }
        draft.changes += 1;
        Ok(Outcome::default())
    }

    pub(super) fn draft_source(&mut self, set: &SetSource, source: u32) -> Result<Outcome, Reject> {
        let draft =
            self.draft.as_mut().filter(|draft| draft.source == source).ok_or(Reject::DraftNotFound)?;
        let sources = draft.sources.get_or_insert_default();
        if set.weight > 0 {
            if sources.len() == 17 {
                return Err(Reject::ParameterOutOfRange);
            }
            sources.push((set.source, set.weight, set.stale_ms));
        }
        draft.changes += 1;
        Ok(Outcome::default())
    }

    pub(super) fn apply_draft(&mut self, apply: &ApplyDraft, source: u32) -> Result<Outcome, Reject> {
        let draft =
            self.draft.clone().filter(|draft| (draft.source, draft.changes) == (source, apply.changes));
        let draft = draft.ok_or(Reject::DraftNotFound)?;
        let state = match apply.state {
            255 => None,
            code => Some(PerpetualState::from_code(code).ok_or(Reject::Malformed)?),
        };
        if state == Some(PerpetualState::Closed) {
            return Err(Reject::Malformed);
        }
        let needs_mark =
            state.is_some_and(|state| !matches!(state, PerpetualState::Halted | PerpetualState::CancelOnly));
        let market = match draft.market {
            Some(market) => self.change_as_drafted(&draft, market, needs_mark)?,
            None => self.list_as_drafted(&draft, needs_mark)?,
        };
        self.draft = None;
        if let Some(sources) = &draft.sources {
            let gone: Vec<u32> = self.market(market).sources.keys().copied().collect();
            for id in gone.into_iter().filter(|id| sources.iter().all(|source| source.0 != *id)) {
                self.put_source(market, (id, 0, 0));
            }
            for source in sources {
                self.put_source(market, *source);
            }
        }
        if let Some(state) = state {
            let set = SetPerpetualState { market, state: state as u8, reserved: [0; 3] };
            self.set_state(&set).expect("judged before");
        }
        Ok(Outcome { market: Some(market), ..Outcome::default() })
    }

    fn list_as_drafted(&mut self, draft: &Draft, needs_mark: bool) -> Result<MarketId, Reject> {
        self.judge_names(draft.names, true)?;
        let step = |number| draft.parameters.get(&number).copied().unwrap_or(0);
        let (tick, lot) = (step(1), step(2));
        judge_ranges(&[(1, tick), (2, lot)])?;
        if tick * lot % E10 != 0 {
            return Err(Reject::StepsDoNotFit);
        }
        let rows = draft.brackets.clone().unwrap_or_else(shipped_brackets);
        let brackets = brackets_of(&rows).ok_or(Reject::ParameterOutOfRange)?;
        // What follows from the table and the steps, where nothing is said.
        let first = brackets[0];
        let mut parameters: BTreeMap<u32, i128> = PARAMETERS.iter().map(|row| (row.0, row.1)).collect();
        parameters.insert(3, tick);
        parameters.insert(5, lot);
        parameters.insert(16, (first.rate * 3 / 4).min(250_000));
        parameters.insert(17, clamp_max(&brackets));
        parameters.insert(21, 200 * E6 * i128::from(first.leverage));
        parameters.insert(25, (first.rate * 3 / 4).min(300_000));
        parameters.extend(draft.parameters.iter().map(|(number, value)| (*number, *value)));
        self.judge_whole(&brackets, &parameters)?;
        judge_sources(draft)?;
        if needs_mark {
            return Err(Reject::NoMarkPrice);
        }
        Ok(self.open_market(draft.names, parameters, brackets).market.expect("a new one"))
    }

    fn change_as_drafted(
        &mut self,
        draft: &Draft,
        market: MarketId,
        needs_mark: bool,
    ) -> Result<MarketId, Reject> {
        let at = self.market(market);
        if at.set_state == PerpetualState::Closed {
            return Err(Reject::MarketDelisted);
        }
        let steps: Vec<_> = draft.parameters.iter().map(|(number, value)| (*number, *value)).collect();
        let steps: Vec<_> = steps.into_iter().filter(|(number, _)| *number <= 2).collect();
        judge_ranges(&steps)?;
        let with =
            |had: &[i128], number| [had, &Vec::from_iter(draft.parameters.get(&number).copied())].concat();
        let (ticks, lots) = (with(&at.ticks, 1), with(&at.lots, 2));
        let fits = ticks.iter().all(|tick| lots.iter().all(|lot| tick * lot % E10 == 0));
        if !fits {
            return Err(Reject::StepsDoNotFit);
        }
        let brackets = match &draft.brackets {
            Some(rows) => brackets_of(rows).ok_or(Reject::ParameterOutOfRange)?,
            None => at.brackets.clone(),
        };
        let mut parameters = at.parameters.clone();
        parameters.extend(draft.parameters.iter().map(|(number, value)| (*number, *value)));
        let mark = at.mark;
        self.judge_whole(&brackets, &parameters)?;
        judge_sources(draft)?;
        if needs_mark && mark == 0 {
            return Err(Reject::NoMarkPrice);
        }
        for (number, value) in &draft.parameters {
            self.put_parameter(market, *number, *value);
        }
        if draft.brackets.is_some() {
            self.put_brackets(market, brackets);
        }
        Ok(market)
    }

    /// Everything that a configuration must hold, as a whole.
    fn judge_whole(
        &self,
        brackets: &[super::Bracket],
        parameters: &BTreeMap<u32, i128>,
    ) -> Result<(), Reject> {
        let all: Vec<_> = parameters.iter().map(|(number, value)| (*number, *value)).collect();
        judge_ranges(&all)?;
        let holds = bounds_hold(brackets, parameters)
            && [1, 2, 4, 8].contains(&parameters[&22])
            && parameters[&28] < self.spot.markets.len() as i128
            && ENDS.iter().all(|(least, greatest)| parameters[least] <= parameters[greatest]);
        if holds { Ok(()) } else { Err(Reject::ParameterOutOfRange) }
    }

    pub(super) fn schedule_tier(&mut self, set: &ScheduleVipTier) -> Result<Outcome, Reject> {
        if !(1..=16).contains(&set.count) || set.tier >= set.count {
            return Err(Reject::Malformed);
        }
        let (mut tiers, count) = self.collected.clone();
        if set.tier == 0 {
            tiers.clear();
        } else if set.tier as usize != tiers.len() || set.count != count {
            return Err(Reject::Malformed);
        }
        let (maker, taker) = (i128::from(set.maker_rate), i128::from(set.taker_rate));
        if !rates_hold(maker, taker) {
            return Err(Reject::ParameterOutOfRange);
        }
        tiers.push(Tier { volume: set.volume.into(), maker, taker });
        if tiers.len() < set.count as usize {
            self.collected = (tiers, set.count);
            return Ok(Outcome::default());
        }
        if !volumes_hold(&tiers) {
            return Err(Reject::ParameterOutOfRange);
        }
        let effective_ms = (self.now_ms().div_euclid(DAY_MS) + 1) * DAY_MS;
        for (number, tier) in tiers.iter().enumerate() {
            self.output.fact(event::VipTierScheduled {
                tier: number as u32,
                count: set.count,
                volume: narrow(tier.volume),
                maker_rate: narrow(tier.maker),
                taker_rate: narrow(tier.taker),
                effective_ms,
            });
        }
        self.collected = (Vec::new(), 0);
        self.scheduled = Some((tiers, effective_ms));
        Ok(Outcome::default())
    }

    /// Tells a tier of the schedule in force.
    pub(super) fn tell_tier(&mut self, number: usize) {
        let tier = self.tiers[number];
        self.output.fact(event::VipTier {
            tier: number as u32,
            count: self.tiers.len() as u32,
            volume: narrow(tier.volume),
            maker_rate: narrow(tier.maker),
            taker_rate: narrow(tier.taker),
        });
    }

    pub(super) fn limit_account(&mut self, set: &SetAccountLimits) -> Result<Outcome, Reject> {
        self.known_trader(set.account)?;
        let is_spot = set.market < FIRST_PERPETUAL;
        match set.market {
            ALL_MARKETS => {}
            market if is_spot && (market as usize) < self.spot.markets.len() => {}
            market => self.known_market(market)?,
        }
        let counts = |number: u32| set.mask >> number & 1 == 1;
        let bad_rate = set.market != ALL_MARKETS && (counts(1) || counts(2));
        let bad_notional = is_spot && (counts(3) || counts(4));
        if set.mask == 0 || set.mask > 31 || bad_rate || bad_notional {
            return Err(Reject::Malformed);
        }
        let worth = |value: i64| (0..=MAX_VALUE).contains(&i128::from(value));
        let fits = (!counts(0) || set.open_orders <= 20_000)
            && (!counts(1) || set.order_rate_10s <= 1_000_000)
            && (!counts(2) || set.order_rate_1m <= 1_000_000)
            && (!counts(3) || worth(set.max_position_notional))
            && (!counts(4) || worth(set.max_order_notional));
        if !fits {
            return Err(Reject::ParameterOutOfRange);
        }
        let key = (set.account, set.market);
        let mut limits = self.limits.get(&key).copied().unwrap_or_default();
        if counts(0) {
            limits.open_orders = set.open_orders.into();
        }
        if counts(1) {
            limits.rate_10s = set.order_rate_10s;
        }
        if counts(2) {
            limits.rate_1m = set.order_rate_1m;
        }
        if counts(3) {
            limits.position = set.max_position_notional.into();
        }
        if counts(4) {
            limits.order = set.max_order_notional.into();
        }
        self.limits.insert(key, limits);
        self.spot.own_limits.remove(&key);
        if limits.open_orders != 0 {
            self.spot.own_limits.insert(key, limits.open_orders as u32);
        }
        self.output.fact(event::AccountLimits {
            account: set.account,
            market: set.market,
            open_orders: limits.open_orders as u32,
            order_rate_10s: limits.rate_10s,
            order_rate_1m: limits.rate_1m,
            reserved: 0,
            max_position_notional: narrow(limits.position),
            max_order_notional: narrow(limits.order),
        });
        Ok(Outcome::default())
    }

    /// A limit that an account has of its own in a market: that market's first.
    pub fn own_limit(
        &self,
        account: AccountId,
        market: MarketId,
        kind: impl Fn(&OwnLimits) -> i128,
    ) -> Option<i128> {
        let of = |market| self.limits.get(&(account, market)).map(&kind).filter(|limit| *limit != 0);
        of(market).or_else(|| of(ALL_MARKETS))
    }
}

fn judge_ranges(values: &[(u32, i128)]) -> Result<(), Reject> {
    let fits = values.iter().all(|(number, value)| {
        let row = PARAMETERS.iter().find(|row| row.0 == *number).expect("a parameter of a market");
        (row.2..=row.3).contains(value)
    });
    if fits { Ok(()) } else { Err(Reject::ParameterOutOfRange) }
}

fn judge_sources(draft: &Draft) -> Result<(), Reject> {
    let sources = draft.sources.as_deref().unwrap_or_default();
    let ids: std::collections::BTreeSet<u32> = sources.iter().map(|source| source.0).collect();
    let fits = sources.len() <= 16
        && ids.len() == sources.len()
        && sources.iter().all(|(_, weight, stale_ms)| *weight <= 1_000_000 && *stale_ms <= 600_000);
    if fits { Ok(()) } else { Err(Reject::ParameterOutOfRange) }
}
