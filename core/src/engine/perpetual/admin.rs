//! What administrators and feeds ask: listings, parameters, brackets, states, tiers, terms, sources, credits.

use super::tiers::HOUR_MS;
use crate::book::grid::{Step, gcd};
use crate::command::{
    ActivateRule, FeedPrice, OWN_OPEN_ORDERS_MAX, OWN_RATE_MAX, PerpetualParameter as P, PerpetualState,
    ScheduleVipTier, SetAccountLimits, SetBrackets, SetManualPrice, SetPerpetualAccount,
    SetPerpetualParameter, SetPerpetualState, SetSource, SetVipTier, account_mask, limit_mask, rule,
};
use crate::event::{
    PerpetualBracket, PerpetualListed, PerpetualSetting, PerpetualSource, PerpetualSourceAge, RuleActivated,
    VipTier, VipTierScheduled,
};
use crate::ids::{ALL_MARKETS, AssetId, DRAFT_MARKET, MarketId};
use crate::money::{Price, Quantity};
use crate::perpetual::account::DISABLED;
use crate::perpetual::draft::{Draft, SourceTerms};
use crate::perpetual::market::{Source, Symbol};
use crate::perpetual::work::WORK_MAX_RANGE;
use crate::perpetual::{Perpetual, State, id_of};
use crate::reject::Reject;
use crate::risk::perpetual::bounds::{self, SOURCES_MAX, STALE_MS_MAX, VALUE_MAX, WEIGHT_MAX};
use crate::risk::perpetual::bracket::{BracketRow, Brackets};
use crate::risk::perpetual::vip::{TIERS_MAX, Tier, Tiers};

/// Greatest price of a source or an index, P8.
const PRICE_MAX: Price = 100_000_000_000_000_000;

impl Perpetual {
    /// Opens a market whose names, steps and configuration are sound.
    pub(crate) fn open_market(&mut self, symbol: Symbol, quote: AssetId) -> MarketId {
        let (name, base) = (symbol.name, symbol.base);
        let index = self.list(symbol);
        let market = id_of(index);
        self.state.margin_asset = Some(quote);
        self.state.writer.emit(PerpetualListed { market, base, quote, symbol: name, reserved: 0 });
        for &parameter in P::ALL.iter().filter(|parameter| bounds::is_of_market(**parameter)) {
            let value = self.state.symbols[index].get(parameter);
            self.state.writer.emit(PerpetualSetting { market, parameter: parameter as u32, value });
        }
        self.state.tell_brackets(index);
        market
    }

    /// See [`SetPerpetualParameter`]. `spot_markets` is the count of spot markets, `source` who says it.
    pub(crate) fn set_parameter(
        &mut self,
        set: &SetPerpetualParameter,
        spot_markets: usize,
        source: u32,
    ) -> Result<(), Reject> {
        let SetPerpetualParameter { market, value, .. } = *set;
        let code = u8::try_from(set.parameter).ok();
        let parameter = code.and_then(P::from_code).ok_or(Reject::Malformed)?;
        if !bounds::is_of_market(parameter) {
            if market != ALL_MARKETS {
                return Err(Reject::MarketNotFound);
            }
            if !bounds::is_possible(parameter, value) {
                return Err(Reject::ParameterOutOfRange);
            }
            match parameter {
                P::RecoveryCancelOnlyMs => self.state.recovery_ms[0] = value,
                P::RecoveryPostOnlyMs => self.state.recovery_ms[1] = value,
                _ => self.state.fee_burn_bps = value as u32,
            }
            self.state.writer.emit(PerpetualSetting { market, parameter: set.parameter, value });
            return Ok(());
        }
        if market == DRAFT_MARKET {
            return self.state.draft_parameter(parameter, value, source);
        }
        let index = self.state.index_of(market).ok_or(Reject::MarketNotFound)?;
        let symbol = &self.state.symbols[index];
        bounds::check(parameter, value, &symbol.brackets, spot_markets)?;
        let step = |of: P| (parameter == of).then_some(value);
        judge_steps(symbol.steps, step(P::Tick), step(P::Lot))?;
        self.put_parameter(index, parameter, value);
        Ok(())
    }

    /// Gives a market's parameter a value that was judged, and tells it.
    pub(super) fn put_parameter(&mut self, index: usize, parameter: P, value: i64) {
        let now_ms = self.state.now_ms;
        let symbol = &mut self.state.symbols[index];
        symbol.parameters[parameter as usize] = value;
        match parameter {
            P::Tick => {
                symbol.tick = Step::new(value);
                symbol.steps.0 = gcd(symbol.steps.0, value);
                self.books[index].fit(&mut self.orders, value);
            }
            P::Lot => {
                symbol.lot = Step::new(value);
                symbol.steps.1 = gcd(symbol.steps.1, value);
            }
            // What is due stays due at the tick.
            P::FundingIntervalHours if now_ms < symbol.next_funding_ms => {
                symbol.next_funding_ms = symbol.funding_after(now_ms);
            }
            _ => {}
        }
        self.state.symbols[index].refresh_bounds();
        let (market, number) = (id_of(index), parameter as u32);
        self.state.writer.emit(PerpetualSetting { market, parameter: number, value });
        if parameter == P::Lot {
            self.seek_remainders(index);
            self.finish_remainders();
        }
    }

    /// See [`SetPerpetualState`].
    pub(crate) fn set_state(&mut self, set: &SetPerpetualState) -> Result<(), Reject> {
        let index = self.state.index_of(set.market).ok_or(Reject::MarketNotFound)?;
        let symbol = &self.state.symbols[index];
        if symbol.set == PerpetualState::Closed {
            return Err(Reject::MarketDelisted);
        }
        let state = PerpetualState::from_code(set.state).ok_or(Reject::Malformed)?;
        if needs_mark(state) && symbol.prices.mark == 0 {
            return Err(Reject::NoMarkPrice);
        }
        if state == PerpetualState::Closed {
            self.state.begin_close(index);
            return Ok(());
        }
        let symbol = &mut self.state.symbols[index];
        let was_suspended = symbol.is_suspended();
        symbol.set = state;
        if was_suspended && !symbol.is_suspended() {
            self.state.recheck_deferred();
        }
        self.state.tell_state(index);
        Ok(())
    }
}

/// Whether a state can be set only once the market has a mark.
pub(super) fn needs_mark(state: PerpetualState) -> bool {
    !matches!(state, PerpetualState::Halted | PerpetualState::CancelOnly)
}

/// A new tick, a new lot or both fit all that a market ever had, whose greatest common divisors are `had`.
pub(super) fn judge_steps(
    had: (Price, Quantity),
    tick: Option<Price>,
    lot: Option<Quantity>,
) -> Result<(), Reject> {
    for (parameter, value) in [(P::Tick, tick), (P::Lot, lot)] {
        if value.is_some_and(|value| !bounds::is_possible(parameter, value)) {
            return Err(Reject::ParameterOutOfRange);
        }
    }
    let with = |had, value: Option<i64>| value.map_or(had, |value| gcd(had, value));
    let named = if tick.is_some() { P::Tick } else { P::Lot };
    Ok(bounds::check_steps(with(had.0, tick), with(had.1, lot), named)?)
}

/// A source of such a weight and age may be added to `others`.
pub(super) fn judge_source(weight: u32, stale_ms: u32, others: usize) -> Result<(), Reject> {
    let is_sound = weight <= WEIGHT_MAX && stale_ms <= STALE_MS_MAX && (weight == 0 || others < SOURCES_MAX);
    if is_sound { Ok(()) } else { Err(Reject::ParameterOutOfRange) }
}

impl State {
    /// See [`ActivateRule`].
    pub(crate) fn activate(&mut self, activate: &ActivateRule) -> Result<(), Reject> {
        if activate.rule == rule::WORK_MAX {
            return self.bound_work(activate.value);
        }
        if activate.rule != self.rules + 1 || activate.rule > rule::LAST {
            return Err(Reject::Malformed);
        }
        let fits = self.symbols.iter().all(|symbol| {
            let clamp = symbol.get(P::MarkClamp);
            symbol.set == PerpetualState::Closed
                || bounds::check(P::MarkClamp, clamp, &symbol.brackets, 0).is_ok()
        });
        if !fits {
            return Err(Reject::ParameterOutOfRange);
        }
        self.rules = activate.rule;
        self.writer.emit(RuleActivated { rule: activate.rule, value: 0 });
        Ok(())
    }

    /// How much one command does at most, from the next on.
    fn bound_work(&mut self, most: u32) -> Result<(), Reject> {
        if !WORK_MAX_RANGE.contains(&most) {
            return Err(Reject::ParameterOutOfRange);
        }
        self.work.most = most;
        self.writer.emit(RuleActivated { rule: rule::WORK_MAX, value: most });
        Ok(())
    }

    /// See [`SetBrackets`].
    pub(crate) fn set_brackets(&mut self, set: &SetBrackets, source: u32) -> Result<(), Reject> {
        let is_draft = set.market == DRAFT_MARKET;
        let index = self.index_of(set.market);
        if !is_draft && index.is_none() {
            return Err(Reject::MarketNotFound);
        }
        let (count, follows) = (set.count as usize & 0xffff, set.count >> 16);
        if !(1..=set.caps.len()).contains(&count) || follows > u32::from(is_draft) {
            return Err(Reject::Malformed);
        }
        let mut rows = [BracketRow::default(); 8];
        for (place, row) in rows.iter_mut().enumerate() {
            *row = BracketRow {
                cap: set.caps[place],
                maintenance_rate: set.rates[place].into(),
                leverage_max: set.leverages[place],
            };
        }
        let rows = &rows[..count];
        let Some(index) = index else { return self.draft_brackets(rows, follows != 0, source) };
        let brackets = bounds::table(rows)?;
        let symbol = &self.symbols[index];
        bounds::check_rates(|parameter| symbol.get(parameter), &brackets)?;
        self.put_brackets(index, brackets);
        Ok(())
    }

    /// Gives a market brackets that were judged, and tells them.
    pub(super) fn put_brackets(&mut self, index: usize, brackets: Brackets) {
        self.symbols[index].brackets = brackets;
        self.tell_brackets(index);
        let State { symbols, marked_for_check, rankings, .. } = self;
        rankings.forget();
        marked_for_check.extend(symbols[index].holders.iter());
    }

    fn tell_brackets(&mut self, index: usize) {
        let rows = self.symbols[index].brackets.rows();
        let count = rows.len() as u16;
        for (place, row) in rows.iter().enumerate() {
            self.writer.emit(PerpetualBracket {
                market: id_of(index),
                bracket: place as u16 + 1,
                count,
                cap: row.cap,
                rate: row.maintenance_rate,
                cumulated: row.cumulated,
                leverage: row.leverage_max,
                reserved: 0,
            });
        }
    }

    /// See [`SetVipTier`].
    pub(crate) fn set_tier(&mut self, set: &SetVipTier) -> Result<(), Reject> {
        let (tier, count) = (set.tier as usize, set.count as usize);
        if tier >= count || !(1..=TIERS_MAX).contains(&count) {
            return Err(Reject::Malformed);
        }
        let new = Tier { volume_min: set.volume, maker_rate: set.maker_rate, taker_rate: set.taker_rate };
        let mut rows = [Tier::default(); TIERS_MAX];
        let known = self.tiers.rows();
        let kept = known.len().min(count);
        rows[..kept].copy_from_slice(&known[..kept]);
        rows[tier] = new;
        let tiers = Tiers::new(&rows[..count]).filter(|_| new.has_sound_rates());
        self.tiers = tiers.ok_or(Reject::ParameterOutOfRange)?;
        self.tell_vip_tier(tier);
        self.judged = 0;
        self.work.rolls |= !self.judge_accounts();
        Ok(())
    }

    /// See [`ScheduleVipTier`].
    pub(crate) fn schedule_tier(&mut self, set: &ScheduleVipTier) -> Result<(), Reject> {
        let (tier, count) = (set.tier as usize, set.count as usize);
        let (rows, of) = (&self.tier_rows.0, self.tier_rows.1);
        let follows = tier == 0 || (tier == rows.len() && set.count == of);
        if tier >= count || !(1..=TIERS_MAX).contains(&count) || !follows {
            return Err(Reject::Malformed);
        }
        let new = Tier { volume_min: set.volume, maker_rate: set.maker_rate, taker_rate: set.taker_rate };
        if !new.has_sound_rates() {
            return Err(Reject::ParameterOutOfRange);
        }
        if tier + 1 < count {
            let rows = &mut self.tier_rows.0;
            rows.truncate(tier);
            rows.push(new);
            self.tier_rows.1 = set.count;
            return Ok(());
        }
        let mut all = if tier == 0 { Vec::new() } else { rows.clone() };
        all.push(new);
        let tiers = Tiers::new(&all).ok_or(Reject::ParameterOutOfRange)?;
        let effective_ms = (self.now_ms.div_euclid(24 * HOUR_MS) + 1) * 24 * HOUR_MS;
        self.tier_rows = (Vec::new(), 0);
        self.next_tiers = Some((tiers, effective_ms));
        for (tier, row) in (0..).zip(all) {
            self.writer.emit(VipTierScheduled {
                tier,
                count: set.count,
                volume: row.volume_min,
                maker_rate: row.maker_rate,
                taker_rate: row.taker_rate,
                effective_ms,
            });
        }
        Ok(())
    }

    /// Tells a tier of the schedule in force.
    pub(super) fn tell_vip_tier(&mut self, tier: usize) {
        let rows = self.tiers.rows();
        let (Tier { volume_min, maker_rate, taker_rate }, count) = (rows[tier], rows.len() as u32);
        self.writer.emit(VipTier { tier: tier as u32, count, volume: volume_min, maker_rate, taker_rate });
    }

    /// See [`SetAccountLimits`]. `spot_markets` is the count of spot markets.
    pub(crate) fn limit_account(
        &mut self,
        set: &SetAccountLimits,
        spot_markets: usize,
    ) -> Result<(), Reject> {
        self.check_account(set.account)?;
        let is_spot = (set.market as usize) < spot_markets;
        if !is_spot && set.market != ALL_MARKETS && self.index_of(set.market).is_none() {
            return Err(Reject::MarketNotFound);
        }
        let rates = limit_mask::RATE_10S | limit_mask::RATE_1M;
        let notionals = limit_mask::POSITION | limit_mask::ORDER;
        let is_sound = set.mask != 0
            && set.mask & !limit_mask::ALL == 0
            && (set.market == ALL_MARKETS || set.mask & rates == 0)
            && !(is_spot && set.mask & notionals != 0);
        if !is_sound {
            return Err(Reject::Malformed);
        }
        let counts = |bit: u32, is_in_range: bool| set.mask & bit == 0 || is_in_range;
        let fits = counts(limit_mask::OPEN_ORDERS, set.open_orders <= OWN_OPEN_ORDERS_MAX)
            && counts(limit_mask::RATE_10S, set.order_rate_10s <= OWN_RATE_MAX)
            && counts(limit_mask::RATE_1M, set.order_rate_1m <= OWN_RATE_MAX)
            && counts(limit_mask::POSITION, (0..=VALUE_MAX).contains(&set.max_position_notional))
            && counts(limit_mask::ORDER, (0..=VALUE_MAX).contains(&set.max_order_notional));
        if !fits {
            return Err(Reject::ParameterOutOfRange);
        }
        self.set_limits(set);
        Ok(())
    }

    /// See [`SetPerpetualAccount`].
    pub(crate) fn set_account(&mut self, set: &SetPerpetualAccount) -> Result<(), Reject> {
        self.check_account(set.account)?;
        let counts = |bit: u32| set.mask & bit != 0;
        if set.mask & !account_mask::ALL != 0
            || (counts(account_mask::TRADE_GROUP) && !(-1..i64::MAX).contains(&set.trade_group))
            || (counts(account_mask::REFERRAL)
                && (set.referral_total_bps > 10_000 || set.referral_share_bps > 10_000))
            || (counts(account_mask::PROMO) && set.promo_bps > 10_000)
        {
            return Err(Reject::Malformed);
        }
        let record = self.accounts.get_mut(set.account);
        if counts(account_mask::TRADE_GROUP) {
            record.group = set.trade_group + 1;
        }
        if counts(account_mask::TRADING) {
            record.terms = record.terms & !DISABLED | u8::from(set.trading_enabled == 0);
        }
        if counts(account_mask::FEE_BURN) {
            record.fee_burn = u8::from(set.fee_burn != 0);
        }
        if counts(account_mask::REFERRAL) {
            record.referral_total_bps = set.referral_total_bps;
            record.referral_share_bps = set.referral_share_bps;
        }
        if counts(account_mask::PROMO) {
            record.promo_bps = set.promo_bps;
            record.promo_until_ms = set.promo_until_ms;
        }
        record.note_discounts();
        self.tell_terms(set.account);
        Ok(())
    }

    /// See [`SetSource`].
    pub(crate) fn set_source(&mut self, set: &SetSource, source: u32) -> Result<(), Reject> {
        if set.market == DRAFT_MARKET {
            return self.draft_source(set, source);
        }
        let index = self.index_of(set.market).ok_or(Reject::MarketNotFound)?;
        let sources = &self.symbols[index].sources;
        let others = sources.iter().filter(|source| source.id != set.source).count();
        judge_source(set.weight, set.stale_ms, others)?;
        self.put_source(index, SourceTerms { id: set.source, weight: set.weight, stale_ms: set.stale_ms });
        Ok(())
    }

    /// Adds, weighs or takes away a source that was judged, and tells it.
    fn put_source(&mut self, index: usize, terms: SourceTerms) {
        let sources = &mut self.symbols[index].sources;
        let SourceTerms { id, weight, stale_ms } = terms;
        let found = sources.binary_search_by_key(&id, |source| source.id);
        let (mut price, mut stale_before) = (0, 0);
        match found {
            Ok(place) if weight == 0 => {
                sources.remove(place);
            }
            Ok(place) => {
                let source = &mut sources[place];
                (price, stale_before) = (source.price, source.stale_ms);
                (source.weight, source.stale_ms) = (weight, stale_ms);
            }
            Err(_) if weight == 0 => {}
            Err(place) => sources.insert(place, Source { id, weight, stale_ms, ..Source::default() }),
        }
        let market = id_of(index);
        self.writer.emit(PerpetualSource { market, source: id, weight, manual: 0, price });
        if weight > 0 && stale_ms != stale_before {
            self.writer.emit(PerpetualSourceAge { market, source: id, stale_ms, reserved: 0 });
        }
    }

    /// Gives a market the sources that a draft names, if it names any, and no others.
    pub(super) fn put_sources(&mut self, index: usize, draft: &Draft) {
        let Some(sources) = &draft.sources else { return };
        let is_named = |id: u32| sources.iter().any(|source| source.id == id);
        let gone: Vec<u32> =
            self.symbols[index].sources.iter().map(|source| source.id).filter(|id| !is_named(*id)).collect();
        for id in gone {
            self.put_source(index, SourceTerms { id, weight: 0, stale_ms: 0 });
        }
        for source in sources {
            self.put_source(index, *source);
        }
    }

    /// See [`FeedPrice`].
    pub(crate) fn feed(&mut self, feed: &FeedPrice) -> Result<(), Reject> {
        let index = self.index_of(feed.market).ok_or(Reject::MarketNotFound)?;
        if !(1..=PRICE_MAX).contains(&feed.price) {
            return Err(Reject::InvalidPrice);
        }
        let now_ms = self.now_ms;
        let sources = &mut self.symbols[index].sources;
        let place = sources
            .binary_search_by_key(&feed.source, |source| source.id)
            .map_err(|_| Reject::SourceNotFound)?;
        let source = &mut sources[place];
        (source.price, source.at_ms) = (feed.price, now_ms);
        let weight = source.weight;
        let FeedPrice { market, source, price } = *feed;
        self.writer.emit(PerpetualSource { market, source, weight, manual: 0, price });
        Ok(())
    }

    /// See [`SetManualPrice`].
    pub(crate) fn set_manual(&mut self, set: &SetManualPrice) -> Result<(), Reject> {
        let index = self.index_of(set.market).ok_or(Reject::MarketNotFound)?;
        let is_valid = (0..=PRICE_MAX).contains(&set.price)
            && self.symbols[index].may_be_valued_at(set.price, self.symbols.len());
        if !is_valid {
            return Err(Reject::InvalidPrice);
        }
        self.symbols[index].manual = set.price;
        if set.moves_band != 0 {
            let now_ms = self.now_ms;
            self.symbols[index].forget_marks(now_ms);
        }
        let (market, price) = (set.market, set.price);
        self.writer.emit(PerpetualSource { market, source: 0, weight: 0, manual: 1, price });
        Ok(())
    }
}
