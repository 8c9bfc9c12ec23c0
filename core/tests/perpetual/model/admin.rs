//! Markets, parameters, sources, fee tiers, terms of accounts.

use super::arithmetic::{E8, E10, ceil_div, floor_div, narrow};
use super::fees::HOUR_MS;
use super::{Bracket, FUND, Market, Model, Outcome, Source, Tier};
use ringside_core::command::{
    ActivateRule, CreditPerpetual, FeedPrice, ListPerpetual, MarginMode, PerpetualState, SetBrackets,
    SetManualPrice, SetPerpetualAccount, SetPerpetualParameter, SetPerpetualState, SetSource, SetVipTier,
    account_mask,
};
use ringside_core::event::{self, PostingReason};
use ringside_core::ids::{
    ALL_MARKETS, AccountId, AssetName, DRAFT_MARKET, FIRST_PERPETUAL, MarketId, Symbol,
};
use ringside_core::reject::Reject;
use std::collections::BTreeMap;

/// Number, shipped default, least, greatest of each parameter of a market.
pub(super) const PARAMETERS: [(u32, i128, i128, i128); 28] = [
    (1, 0, 1, crate::naive::MAX_ENTRY as i128),
    (2, 0, 1, crate::naive::MAX_ENTRY as i128),
    (3, 10_000_000, 0, 100_000_000_000_000_000),
    (4, 1_000_000_000_000_000, 1, 100_000_000_000_000_000),
    (5, 100_000, 1, 1_000_000_000_000_000_000),
    (6, 100_000_000_000, 1, 1_000_000_000_000_000_000),
    (7, 12_000_000_000, 1, 1_000_000_000_000_000_000),
    (8, 5_000_000, 0, 1_000_000_000_000_000),
    (9, 5_000_000_000_000, 1, 1_000_000_000_000_000),
    (10, 200, 1, 10_000),
    (11, 100, 1, 10_000),
    (12, 105_000_000, 100_000_000, 1_000_000_000),
    (13, 95_000_000, 0, 100_000_000),
    (14, 5_000_000, 1, 99_999_999),
    (15, 5_000_000, 0, 100_000_000),
    (16, 250_000, 0, i64::MAX as i128),
    (17, 398_009, 0, i64::MAX as i128),
    (18, 500_000, 0, 100_000_000),
    (19, 10_000, 1, 600_000),
    (20, 2, 1, 16),
    (21, 25_000_000_000, 1, 1_000_000_000_000_000),
    (22, 1, 1, 8),
    (23, 10_000, -100_000_000, 100_000_000),
    (24, 50_000, 0, 100_000_000),
    (25, 300_000, 0, i64::MAX as i128),
    (26, 10_000_000, 1, 100_000_000),
    (27, 300, 1, 600),
    (28, -1, -1, u32::MAX as i128),
];
/// Cap in USDT, leverage, maintenance rate of the shipped brackets.
const BRACKETS: [(i128, u32, i128); 7] = [
    (50_000, 125, 400_000),
    (500_000, 100, 500_000),
    (1_000_000, 50, 1_000_000),
    (5_000_000, 20, 2_500_000),
    (10_000_000, 10, 5_000_000),
    (20_000_000, 5, 10_000_000),
    (50_000_000, 2, 12_500_000),
];
/// Volume in USDT, maker and taker rate of the shipped tiers.
const TIERS: [(i128, i128, i128); 6] = [
    (0, 20_000, 50_000),
    (1_000_000, 18_000, 45_000),
    (5_000_000, 15_000, 40_000),
    (20_000_000, 12_000, 35_000),
    (100_000_000, 8_000, 30_000),
    (500_000_000, 5_000, 25_000),
];
const FEE_BURN: u32 = 40;
/// Parameters of the whole venue, and the greatest value of each.
const OF_VENUE: [(u32, i128); 3] = [(FEE_BURN, 5_000), (41, 3_600_000), (42, 3_600_000)];
const MOST: i64 = 1_000_000_000_000_000_000;
/// Largest sum of money.
const MONEY: i128 = 4_000_000_000_000_000_000;

/// The tiers that ship.
pub fn shipped_tiers() -> Vec<Tier> {
    TIERS.iter().map(|&(volume, maker, taker)| Tier { volume: volume * super::E6, maker, taker }).collect()
}

/// A table with its sums, or `None` where it breaks a rule.
pub(super) fn brackets_of(rows: &[(i128, u32, i128)]) -> Option<Vec<Bracket>> {
    let mut brackets: Vec<Bracket> = Vec::new();
    for &(cap, leverage, rate) in rows {
        let mut cumulated = 0;
        if let Some(last) = brackets.last() {
            if cap <= last.cap || leverage >= last.leverage || rate <= last.rate {
                return None;
            }
            let slice = last.cap * (rate - last.rate);
            if slice % E8 != 0 {
                return None;
            }
            cumulated = last.cumulated + slice / E8;
        }
        let fits = cap > 0
            && cap <= super::arithmetic::MAX_VALUE
            && (1..=125).contains(&leverage)
            && (1..E8).contains(&rate);
        if !fits {
            return None;
        }
        let bracket = Bracket { cap, leverage, rate, cumulated };
        if spare_at_cap(&bracket) < 0 {
            return None;
        }
        brackets.push(bracket);
    }
    Some(brackets)
}

/// Initial margin at the greatest leverage less maintenance margin, of the largest position of a bracket.
fn spare_at_cap(bracket: &Bracket) -> i128 {
    let initial = ceil_div(bracket.cap, bracket.leverage.into());
    initial - (ceil_div(bracket.cap * bracket.rate, E8) - bracket.cumulated)
}

/// The bounds of `risk.md` 2.
pub(super) fn bounds_hold(brackets: &[Bracket], parameters: &BTreeMap<u32, i128>) -> bool {
    let first = brackets[0];
    parameters[&16] < first.rate
        && 4 * parameters[&25] <= 3 * first.rate
        && parameters[&17] <= clamp_max(brackets)
}

/// The widest mark clamp: in each bracket the largest c with c x cap x (1 + rate of the next bracket) <= what is spare at its cap.
pub(super) fn clamp_max(brackets: &[Bracket]) -> i128 {
    let of = |at: usize| {
        let next = brackets.get(at + 1).unwrap_or(&brackets[at]).rate;
        floor_div(spare_at_cap(&brackets[at]) * E8 * E8, brackets[at].cap * (E8 + next))
    };
    (0..brackets.len()).map(of).min().expect("there is one at least")
}

/// Rates of a tier that may be.
pub(super) fn rates_hold(maker: i128, taker: i128) -> bool {
    (-1_000_000..=1_000_000).contains(&maker) && (0..=1_000_000).contains(&taker) && taker + maker >= 0
}

/// Tiers that begin at nothing, each above the one before.
pub(super) fn volumes_hold(tiers: &[Tier]) -> bool {
    tiers[0].volume == 0 && tiers.windows(2).all(|pair| pair[0].volume < pair[1].volume)
}

/// The brackets that ship.
pub(super) fn shipped_brackets() -> Vec<(i128, u32, i128)> {
    BRACKETS.iter().map(|&(cap, leverage, rate)| (cap * super::E6, leverage, rate)).collect()
}

impl Model {
    pub(super) fn list(&mut self, list: &ListPerpetual) -> Result<Outcome, Reject> {
        let step = |step: i64| (1..=crate::naive::MAX_ENTRY).contains(&step);
        self.judge_names((list.symbol, list.base, list.quote), step(list.tick) && step(list.lot))?;
        let (tick, lot) = (i128::from(list.tick), i128::from(list.lot));
        if tick * lot % E10 != 0 {
            return Err(Reject::StepsDoNotFit);
        }
        let mut parameters: BTreeMap<u32, i128> =
            PARAMETERS.iter().map(|&(number, default, _, _)| (number, default)).collect();
        parameters.insert(1, tick);
        parameters.insert(2, lot);
        let brackets = brackets_of(&shipped_brackets()).expect("the shipped table is sound");
        Ok(self.open_market((list.symbol, list.base, list.quote), parameters, brackets))
    }

    /// Whether a market of these names (its own, base, quote) may be listed.
    pub(super) fn judge_names(
        &self,
        (symbol, base, quote): (Symbol, AssetName, AssetName),
        steps: bool,
    ) -> Result<(), Reject> {
        if self.markets.iter().any(|market| market.symbol == symbol) {
            return Err(Reject::MarketExists);
        }
        let names = crate::naive::is_name(&symbol, 2)
            && crate::naive::is_name(&base, 1)
            && crate::naive::is_name(&quote, 1);
        if !names || base == quote || !steps {
            return Err(Reject::Malformed);
        }
        if let Some(asset) = self.margin_asset
            && self.spot.assets[usize::from(asset)] != quote
        {
            return Err(Reject::MarginAssetDiffers);
        }
        Ok(())
    }

    /// A market that was judged.
    pub(super) fn open_market(
        &mut self,
        (symbol, base, quote): (Symbol, AssetName, AssetName),
        parameters: BTreeMap<u32, i128>,
        brackets: Vec<Bracket>,
    ) -> Outcome {
        let list = ListPerpetual { symbol, base, quote, tick: 0, lot: 0 };
        let (tick, lot) = (parameters[&1], parameters[&2]);
        let (base, new_base) = self.spot.asset_named(list.base);
        if new_base {
            self.output.fact(event::AssetCreated { name: list.base, asset: base, reserved: 0 });
        }
        let (quote, new_quote) = self.spot.asset_named(list.quote);
        if new_quote {
            self.output.fact(event::AssetCreated { name: list.quote, asset: quote, reserved: 0 });
        }
        self.margin_asset = Some(quote);
        let id = FIRST_PERPETUAL + self.markets.len() as MarketId;
        let interval = parameters[&22] as i64 * HOUR_MS;
        let next_funding_ms = (self.now_ms().div_euclid(interval) + 1) * interval;
        self.markets.push(Market {
            id,
            symbol: list.symbol,
            base,
            quote,
            parameters,
            ticks: vec![tick],
            lots: vec![lot],
            brackets,
            set_state: PerpetualState::Halted,
            told_state: PerpetualState::Halted,
            update: 0,
            trades: 0,
            prevented: 0,
            last_price: None,
            sources: BTreeMap::new(),
            manual: None,
            index_state: None,
            index: 0,
            index_lost_ms: None,
            index_halts: false,
            mark: 0,
            basis: 0,
            clamped: false,
            impact_bid: None,
            impact_ask: None,
            basis_samples: Vec::new(),
            basis_repeats: 0,
            second: None,
            premiums: Vec::new(),
            premium_slot: None,
            next_funding_ms,
            hour: None,
            closing: None,
            looked_at: None,
            index_samples: BTreeMap::new(),
            mark_samples: BTreeMap::new(),
            contract_path: Vec::new(),
            mark_path: Vec::new(),
            band_since_ms: [None; 2],
            pause_until_ms: None,
            told_price: None,
        });
        self.output.fact(event::PerpetualListed {
            market: id,
            base,
            quote,
            symbol: list.symbol,
            reserved: 0,
        });
        for &(number, ..) in &PARAMETERS {
            self.tell_setting(id, number);
        }
        self.tell_brackets(id);
        Outcome { market: Some(id), ..Outcome::default() }
    }

    pub(super) fn tell_setting(&mut self, market: MarketId, parameter: u32) {
        let value = self.market(market).parameters[&parameter];
        self.output.fact(event::PerpetualSetting { market, parameter, value: narrow(value) });
    }

    pub(super) fn tell_brackets(&mut self, market: MarketId) {
        let brackets = self.market(market).brackets.clone();
        for (index, bracket) in brackets.iter().enumerate() {
            self.output.fact(event::PerpetualBracket {
                market,
                bracket: index as u16 + 1,
                count: brackets.len() as u16,
                cap: narrow(bracket.cap),
                rate: narrow(bracket.rate),
                cumulated: narrow(bracket.cumulated),
                leverage: bracket.leverage,
                reserved: 0,
            });
        }
    }

    pub(super) fn set_parameter(
        &mut self,
        set: &SetPerpetualParameter,
        source: u32,
    ) -> Result<Outcome, Reject> {
        let value = i128::from(set.value);
        if let Some(&(_, most)) = OF_VENUE.iter().find(|row| row.0 == set.parameter) {
            if set.market != ALL_MARKETS {
                return Err(Reject::MarketNotFound);
            }
            if !(0..=most).contains(&value) {
                return Err(Reject::ParameterOutOfRange);
            }
            match set.parameter {
                FEE_BURN => self.fee_burn_bps = value,
                // Nothing recovers in these streams.
                _ => self.windows[set.parameter as usize - 41] = value,
            }
            let (market, parameter) = (ALL_MARKETS, set.parameter);
            self.output.fact(event::PerpetualSetting { market, parameter, value: set.value });
            return Ok(Outcome::default());
        }
        let Some(&(number, _, least, most)) = PARAMETERS.iter().find(|row| row.0 == set.parameter) else {
            return Err(Reject::Malformed);
        };
        if set.market == DRAFT_MARKET {
            self.drafted(source)?.parameters.insert(number, value);
            return Ok(Outcome::default());
        }
        self.known_market(set.market)?;
        if value < least || value > most || (number == 22 && ![1, 2, 4, 8].contains(&value)) {
            return Err(Reject::ParameterOutOfRange);
        }
        let at = self.market(set.market);
        if number == 1 && at.lots.iter().any(|lot| value * lot % E10 != 0) {
            return Err(Reject::StepsDoNotFit);
        }
        if number == 2 && at.ticks.iter().any(|tick| value * tick % E10 != 0) {
            return Err(Reject::StepsDoNotFit);
        }
        let first = at.brackets[0];
        let out_of_range = match number {
            16 => value >= first.rate,
            17 => value > clamp_max(&at.brackets),
            25 => 4 * value > 3 * first.rate,
            28 => value >= self.spot.markets.len() as i128,
            _ => false,
        };
        if out_of_range {
            return Err(Reject::ParameterOutOfRange);
        }
        self.put_parameter(set.market, number, value);
        Ok(Outcome { market: Some(set.market), ..Outcome::default() })
    }

    /// A value that was judged.
    pub(super) fn put_parameter(&mut self, market: MarketId, number: u32, value: i128) {
        let now = self.now_ms();
        let at = self.market_mut(market);
        at.parameters.insert(number, value);
        match number {
            1 if !at.ticks.contains(&value) => at.ticks.push(value),
            2 if !at.lots.contains(&value) => at.lots.push(value),
            22 => {
                let interval = value as i64 * HOUR_MS;
                if now < at.next_funding_ms {
                    at.next_funding_ms = (now.div_euclid(interval) + 1) * interval;
                }
            }
            _ => {}
        }
        self.tell_setting(market, number);
        if number == 2 {
            self.seek_remainders(market);
            self.look_for_remainders();
        }
    }

    pub(super) fn set_brackets(&mut self, set: &SetBrackets, source: u32) -> Result<Outcome, Reject> {
        if set.market != DRAFT_MARKET {
            self.known_market(set.market)?;
        }
        let follows = set.count / 65_536;
        let count = set.count % 65_536;
        if !(1..=8).contains(&count) || follows > 1 || (follows == 1 && set.market != DRAFT_MARKET) {
            return Err(Reject::Malformed);
        }
        let rows: Vec<_> = (0..count as usize)
            .map(|at| (i128::from(set.caps[at]), set.leverages[at], i128::from(set.rates[at])))
            .collect();
        if set.market == DRAFT_MARKET {
            return self.draft_brackets(rows, follows == 1, source);
        }
        let brackets = brackets_of(&rows).ok_or(Reject::ParameterOutOfRange)?;
        if !bounds_hold(&brackets, &self.market(set.market).parameters) {
            return Err(Reject::ParameterOutOfRange);
        }
        self.put_brackets(set.market, brackets);
        Ok(Outcome { market: Some(set.market), ..Outcome::default() })
    }

    /// A table that was judged.
    pub(super) fn put_brackets(&mut self, market: MarketId, brackets: Vec<Bracket>) {
        self.market_mut(market).brackets = brackets;
        self.tell_brackets(market);
        self.suspect_holders(market);
    }

    pub(super) fn activate(&mut self, activate: &ActivateRule) -> Result<Outcome, Reject> {
        if activate.rule == 256 {
            if !(8..=65_536).contains(&activate.value) {
                return Err(Reject::ParameterOutOfRange);
            }
            self.units_max = activate.value;
            self.spot.units_max = Some(activate.value as usize);
            self.output.fact(event::RuleActivated { rule: 256, value: activate.value });
            return Ok(Outcome::default());
        }
        if activate.rule != self.rules + 1 || activate.rule > 1 {
            return Err(Reject::Malformed);
        }
        let fits = |market: &Market| {
            market.set_state == PerpetualState::Closed
                || market.parameters[&17] <= clamp_max(&market.brackets)
        };
        if !self.markets.iter().all(fits) {
            return Err(Reject::ParameterOutOfRange);
        }
        self.rules = activate.rule;
        self.output.fact(event::RuleActivated { rule: activate.rule, value: 0 });
        Ok(Outcome::default())
    }

    pub(super) fn set_state(&mut self, set: &SetPerpetualState) -> Result<Outcome, Reject> {
        self.known_market(set.market)?;
        let at = self.market(set.market);
        if at.set_state == PerpetualState::Closed {
            return Err(Reject::MarketDelisted);
        }
        let state = PerpetualState::from_code(set.state).ok_or(Reject::Malformed)?;
        let needs_mark = !matches!(state, PerpetualState::Halted | PerpetualState::CancelOnly);
        if needs_mark && at.mark == 0 {
            return Err(Reject::NoMarkPrice);
        }
        let outcome = Outcome { market: Some(set.market), ..Outcome::default() };
        if state == PerpetualState::Closed {
            self.begin_close(set.market);
            return Ok(outcome);
        }
        let was_suspended = self.is_market_suspended(set.market);
        self.market_mut(set.market).set_state = state;
        if was_suspended && !self.is_market_suspended(set.market) {
            self.suspect_holders(set.market);
        }
        let in_force = self.state(set.market);
        self.market_mut(set.market).told_state = in_force;
        self.output.fact(event::PerpetualStateChanged {
            market: set.market,
            state: in_force as u8,
            set: state as u8,
            reserved: 0,
            settlement_price: 0,
        });
        Ok(outcome)
    }

    pub(super) fn set_tier(&mut self, set: &SetVipTier) -> Result<Outcome, Reject> {
        if !(1..=16).contains(&set.count) || set.tier >= set.count {
            return Err(Reject::Malformed);
        }
        let (maker, taker) = (i128::from(set.maker_rate), i128::from(set.taker_rate));
        if !rates_hold(maker, taker) {
            return Err(Reject::ParameterOutOfRange);
        }
        let mut tiers = self.tiers.clone();
        tiers.truncate(set.count as usize);
        let tier = Tier { volume: set.volume.into(), maker, taker };
        while tiers.len() < set.count as usize {
            // A tier that nobody described makes the table unsound.
            tiers.push(Tier { volume: 0, maker: 0, taker: 0 });
        }
        tiers[set.tier as usize] = tier;
        if !volumes_hold(&tiers) {
            return Err(Reject::ParameterOutOfRange);
        }
        self.tiers = tiers;
        self.tell_tier(set.tier as usize);
        self.unjudged = Some(0);
        self.roll_waits |= !self.judge_all();
        Ok(Outcome::default())
    }

    pub(super) fn set_account(&mut self, set: &SetPerpetualAccount) -> Result<Outcome, Reject> {
        self.known_trader(set.account)?;
        let counts = |bit| set.mask & bit != 0;
        let bad = set.mask > 31
            || (counts(account_mask::TRADE_GROUP) && !(-1..i64::MAX).contains(&set.trade_group))
            || (counts(account_mask::REFERRAL)
                && (set.referral_total_bps > 10_000 || set.referral_share_bps > 10_000))
            || (counts(account_mask::PROMO) && set.promo_bps > 10_000);
        if bad {
            return Err(Reject::Malformed);
        }
        let terms = self.account_mut(set.account);
        if counts(account_mask::TRADE_GROUP) {
            terms.trade_group = set.trade_group;
        }
        if counts(account_mask::TRADING) {
            terms.trading_enabled = set.trading_enabled != 0;
        }
        if counts(account_mask::FEE_BURN) {
            terms.fee_burn = set.fee_burn != 0;
        }
        if counts(account_mask::REFERRAL) {
            terms.referral_total = set.referral_total_bps.into();
            terms.referral_share = set.referral_share_bps.into();
        }
        if counts(account_mask::PROMO) {
            terms.promo = set.promo_bps.into();
            terms.promo_until = set.promo_until_ms;
        }
        self.tell_terms(set.account);
        Ok(Outcome::default())
    }

    pub(super) fn tell_terms(&mut self, account: AccountId) {
        let terms = self.account(account).clone();
        self.output.fact(event::AccountTerms {
            account,
            trading_enabled: terms.trading_enabled.into(),
            trade_group: terms.trade_group,
            promo_until_ms: terms.promo_until,
            fee_burn: terms.fee_burn.into(),
            referral_total_bps: terms.referral_total as u32,
            referral_share_bps: terms.referral_share as u32,
            promo_bps: terms.promo as u32,
            default_mode: terms.default_mode as u32,
            reserved: 0,
        });
    }

    pub(super) fn set_source(&mut self, set: &SetSource, source: u32) -> Result<Outcome, Reject> {
        if set.market == DRAFT_MARKET {
            return self.draft_source(set, source);
        }
        self.known_market(set.market)?;
        let at = self.market_mut(set.market);
        let full = at.sources.len() >= 16 && !at.sources.contains_key(&set.source) && set.weight > 0;
        if set.weight > 1_000_000 || set.stale_ms > 600_000 || full {
            return Err(Reject::ParameterOutOfRange);
        }
        self.put_source(set.market, (set.source, set.weight, set.stale_ms));
        Ok(Outcome { market: Some(set.market), ..Outcome::default() })
    }

    /// A source that was judged.
    pub(super) fn put_source(&mut self, market: MarketId, (source, weight, stale_ms): (u32, u32, u32)) {
        let at = self.market_mut(market);
        let mut price = 0;
        let mut changed = false;
        if weight == 0 {
            at.sources.remove(&source);
        } else {
            let of = at.sources.entry(source).or_insert(Source { weight: 0, stale_ms: 0, last: None });
            changed = of.stale_ms != i64::from(stale_ms);
            (of.weight, of.stale_ms) = (weight.into(), stale_ms.into());
            price = of.last.map_or(0, |(price, _)| narrow(price));
        }
        self.output.fact(event::PerpetualSource { market, source, weight, manual: 0, price });
        if changed {
            self.output.fact(event::PerpetualSourceAge { market, source, stale_ms, reserved: 0 });
        }
    }

    pub(super) fn feed(&mut self, feed: &FeedPrice) -> Result<Outcome, Reject> {
        self.known_market(feed.market)?;
        if !(1..=100_000_000_000_000_000).contains(&feed.price) {
            return Err(Reject::InvalidPrice);
        }
        let now = self.now_ms();
        let at = self.market_mut(feed.market);
        let Some(source) = at.sources.get_mut(&feed.source) else { return Err(Reject::SourceNotFound) };
        source.last = Some((feed.price.into(), now));
        let weight = source.weight as u32;
        self.output.fact(event::PerpetualSource {
            market: feed.market,
            source: feed.source,
            weight,
            manual: 0,
            price: feed.price,
        });
        Ok(Outcome { market: Some(feed.market), ..Outcome::default() })
    }

    pub(super) fn set_manual(&mut self, set: &SetManualPrice) -> Result<Outcome, Reject> {
        self.known_market(set.market)?;
        let price = i128::from(set.price);
        if !(0..=100_000_000_000_000_000).contains(&price) || !self.can_value(set.market, price) {
            return Err(Reject::InvalidPrice);
        }
        let now = self.now_ms();
        let at = self.market_mut(set.market);
        at.manual = (set.price > 0).then_some(set.price.into());
        if set.moves_band != 0 {
            at.mark_samples.clear();
            at.band_since_ms = [None; 2];
            at.pause_until_ms = at.pause_until_ms.map(|until| until.min(now));
        }
        self.output.fact(event::PerpetualSource {
            market: set.market,
            source: 0,
            weight: 0,
            manual: 1,
            price: set.price,
        });
        Ok(Outcome { market: Some(set.market), ..Outcome::default() })
    }

    pub(super) fn credit(&mut self, credit: &CreditPerpetual) -> Result<Outcome, Reject> {
        if self.margin_asset.is_none() {
            return Err(Reject::MarketNotFound);
        }
        let amount = i128::from(credit.amount);
        let known = self.spot.accounts.iter().position(|address| *address == credit.address);
        known.into_iter().for_each(|account| self.settle_first(account as AccountId));
        let is_fund = known == Some(FUND as usize);
        let wallet = known.map_or(0, |account| self.accounts[account].wallet);
        let bad = amount == 0
            || !(-MOST..=MOST).contains(&credit.amount)
            || (is_fund && amount < 0)
            || (self.deposits + amount).abs() > MONEY
            || (wallet + amount).abs() > MONEY;
        if bad {
            return Err(Reject::InvalidAmount);
        }
        if amount < 0 && known.is_none_or(|account| self.withdrawable(account as AccountId) < -amount) {
            return Err(Reject::CrossInsufficient);
        }
        let (account, is_new) = self.spot.account_of(credit.address);
        if is_new {
            self.output.fact(event::AccountCreated { address: credit.address, account });
        }
        self.meet_accounts();
        self.account_mut(account).wallet += amount;
        self.deposits += amount;
        self.suspects.insert(account);
        self.tell_posting(account, ALL_MARKETS, amount, PostingReason::Adjustment, MarginMode::Cross, 0);
        self.tell_wallet(account);
        Ok(Outcome { account: Some(account), ..Outcome::default() })
    }
}
