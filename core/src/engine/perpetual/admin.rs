//! What administrators and feeds ask: listings, parameters, brackets, states, tiers, terms, sources, credits.

use super::tiers::HOUR_MS;
use crate::book::grid::{Step, gcd};
use crate::command::{
    ActivateRule, FeedPrice, PerpetualParameter as P, PerpetualState, SetBrackets, SetManualPrice,
    SetPerpetualAccount, SetPerpetualParameter, SetPerpetualState, SetSource, SetVipTier, account_mask, rule,
};
use crate::event::{
    PerpetualBracket, PerpetualListed, PerpetualSetting, PerpetualSource, RuleActivated, VipTier,
};
use crate::ids::{ALL_MARKETS, AssetId, MarketId, Symbol as Name};
use crate::money::{Price, Quantity};
use crate::perpetual::market::{Source, Symbol, is_in_range};
use crate::perpetual::{Perpetual, State, id_of};
use crate::reject::Reject;
use crate::risk::perpetual::bracket::{BracketRow, Brackets, strict_clamp, widest_clamp};
use crate::risk::perpetual::index::SOURCES_MAX;
use crate::risk::perpetual::units::value_of_step;
use crate::risk::perpetual::vip::{TIERS_MAX, Tier, Tiers};

/// Greatest price of a source or an index, P8.
const PRICE_MAX: Price = 100_000_000_000_000_000;
/// Greatest weight of a source.
const WEIGHT_MAX: u32 = 1_000_000;

/// Whether a parameter is the venue's, not a market's.
fn is_of_venue(parameter: P) -> bool {
    parameter as u8 >= P::FeeBurnBps as u8
}

impl Perpetual {
    /// Opens a market whose names and steps are sound.
    pub(crate) fn open_market(
        &mut self,
        name: Name,
        base: AssetId,
        quote: AssetId,
        tick: Price,
        lot: Quantity,
    ) -> MarketId {
        let mut symbol = Symbol::new(name, base, tick, lot, self.state.now_ms);
        if self.state.rules >= rule::STRICT_MARK_CLAMP {
            let clamp = &mut symbol.parameters[P::MarkClamp as usize];
            *clamp = (*clamp).min(strict_clamp(&symbol.brackets));
        }
        let index = self.list(symbol);
        let market = id_of(index);
        self.state.margin_asset = Some(quote);
        self.state.facts.emit(PerpetualListed { market, base, quote, symbol: name, reserved: 0 });
        for &parameter in P::ALL {
            if !is_of_venue(parameter) {
                let value = self.state.symbols[index].get(parameter);
                self.state.facts.emit(PerpetualSetting { market, parameter: parameter as u32, value });
            }
        }
        self.state.tell_brackets(index);
        market
    }

    /// See [`SetPerpetualParameter`]. `spot_markets` is the count of spot markets.
    pub(crate) fn set_parameter(
        &mut self,
        set: &SetPerpetualParameter,
        spot_markets: usize,
    ) -> Result<(), Reject> {
        let code = u8::try_from(set.parameter).ok();
        let parameter = code.and_then(P::from_code).ok_or(Reject::Malformed)?;
        if is_of_venue(parameter) {
            if set.market != ALL_MARKETS {
                return Err(Reject::MarketNotFound);
            }
            if !is_in_range(parameter, set.value) {
                return Err(Reject::ParameterOutOfRange);
            }
            match parameter {
                P::RecoveryCancelOnlyMs => self.state.recovery_ms[0] = set.value,
                P::RecoveryPostOnlyMs => self.state.recovery_ms[1] = set.value,
                _ => self.state.fee_burn_bps = set.value as u32,
            }
        } else {
            let index = self.state.index_of(set.market).ok_or(Reject::MarketNotFound)?;
            self.state.check_parameter(index, parameter, set.value, spot_markets)?;
            let now_ms = self.state.now_ms;
            let symbol = &mut self.state.symbols[index];
            symbol.parameters[parameter as usize] = set.value;
            match parameter {
                P::Tick => {
                    symbol.tick = Step::new(set.value);
                    symbol.steps.0 = gcd(symbol.steps.0, set.value);
                    self.books[index].fit(&mut self.orders, set.value);
                }
                P::Lot => {
                    symbol.lot = Step::new(set.value);
                    symbol.steps.1 = gcd(symbol.steps.1, set.value);
                }
                // What is due stays due at the tick.
                P::FundingIntervalHours if now_ms < symbol.next_funding_ms => {
                    symbol.next_funding_ms = symbol.funding_after(now_ms);
                }
                _ => {}
            }
            self.state.symbols[index].refresh_bounds();
        }
        let SetPerpetualParameter { market, value, .. } = *set;
        self.state.facts.emit(PerpetualSetting { market, parameter: set.parameter, value });
        if parameter == P::Lot
            && let Some(index) = self.state.index_of(market)
        {
            self.finish_remainders(index);
        }
        Ok(())
    }

    /// See [`SetPerpetualState`].
    pub(crate) fn set_state(&mut self, set: &SetPerpetualState) -> Result<(), Reject> {
        let index = self.state.index_of(set.market).ok_or(Reject::MarketNotFound)?;
        let symbol = &self.state.symbols[index];
        if symbol.set == PerpetualState::Closed {
            return Err(Reject::MarketDelisted);
        }
        let state = PerpetualState::from_code(set.state).ok_or(Reject::Malformed)?;
        let needs_mark = !matches!(state, PerpetualState::Halted | PerpetualState::CancelOnly);
        if needs_mark && symbol.prices.mark == 0 {
            return Err(Reject::NoMarkPrice);
        }
        if state == PerpetualState::Closed {
            self.close(index);
            return Ok(());
        }
        let symbol = &mut self.state.symbols[index];
        let was_suspended = symbol.is_suspended();
        symbol.set = state;
        if was_suspended && !symbol.is_suspended() {
            self.state.unpark();
        }
        self.state.tell_state(index);
        Ok(())
    }
}

impl State {
    /// Bounds that only the state knows.
    fn check_parameter(
        &self,
        index: usize,
        parameter: P,
        value: i64,
        spot_markets: usize,
    ) -> Result<(), Reject> {
        let symbol = &self.symbols[index];
        if !is_in_range(parameter, value) {
            return Err(Reject::ParameterOutOfRange);
        }
        let first = symbol.brackets.first();
        // Of every parameter, the largest included.
        let three_quarters = i128::from(value) * 4 <= 3 * i128::from(first.maintenance_rate);
        let (tick, lot) = symbol.steps;
        let holds = match parameter {
            P::Tick if value_of_step(gcd(tick, value), lot).is_none() => return Err(Reject::StepsDoNotFit),
            P::Lot if value_of_step(tick, gcd(lot, value)).is_none() => return Err(Reject::StepsDoNotFit),
            P::LiquidationFee | P::FundingCap => three_quarters,
            P::MarkClamp => value <= self.clamp_max(&symbol.brackets),
            P::SpotMarket => value < spot_markets as i64,
            _ => true,
        };
        if holds { Ok(()) } else { Err(Reject::ParameterOutOfRange) }
    }

    /// The widest mark clamp that brackets allow, by the rules in force.
    fn clamp_max(&self, brackets: &Brackets) -> i64 {
        if self.rules >= rule::STRICT_MARK_CLAMP { strict_clamp(brackets) } else { widest_clamp(brackets) }
    }

    /// Whether the parameters of a market allow these brackets.
    fn fits(&self, index: usize, brackets: &Brackets) -> bool {
        let symbol = &self.symbols[index];
        symbol.fits(brackets) && symbol.get(P::MarkClamp) <= self.clamp_max(brackets)
    }

    /// See [`ActivateRule`].
    pub(crate) fn activate(&mut self, activate: &ActivateRule) -> Result<(), Reject> {
        if activate.rule != self.rules + 1 || activate.rule > rule::LAST {
            return Err(Reject::Malformed);
        }
        let fits = self.symbols.iter().all(|symbol| {
            symbol.set == PerpetualState::Closed || symbol.get(P::MarkClamp) <= strict_clamp(&symbol.brackets)
        });
        if !fits {
            return Err(Reject::ParameterOutOfRange);
        }
        self.rules = activate.rule;
        self.facts.emit(RuleActivated { rule: activate.rule, reserved: 0 });
        Ok(())
    }

    /// See [`SetBrackets`].
    pub(crate) fn set_brackets(&mut self, set: &SetBrackets) -> Result<(), Reject> {
        let index = self.index_of(set.market).ok_or(Reject::MarketNotFound)?;
        let count = set.count as usize;
        if !(1..=set.caps.len()).contains(&count) {
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
        let is_bounded = rows.iter().all(|row| row.cap <= 1_000_000_000_000_000 && row.leverage_max <= 125);
        let brackets = Brackets::new(rows).filter(|brackets| is_bounded && self.fits(index, brackets));
        self.symbols[index].brackets = brackets.ok_or(Reject::ParameterOutOfRange)?;
        self.tell_brackets(index);
        let State { symbols, suspects, rankings, .. } = self;
        rankings.forget();
        suspects.extend(symbols[index].holders.iter());
        Ok(())
    }

    fn tell_brackets(&mut self, index: usize) {
        let rows = self.symbols[index].brackets.rows();
        let count = rows.len() as u16;
        for (place, row) in rows.iter().enumerate() {
            self.facts.emit(PerpetualBracket {
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
        let limit = 1_000_000;
        let is_rate = (-limit..=limit).contains(&set.maker_rate)
            && (0..=limit).contains(&set.taker_rate)
            && set.maker_rate + set.taker_rate >= 0;
        let mut rows = [Tier::default(); TIERS_MAX];
        let known = self.tiers.rows();
        let kept = known.len().min(count);
        rows[..kept].copy_from_slice(&known[..kept]);
        rows[tier] = Tier { volume_min: set.volume, maker_rate: set.maker_rate, taker_rate: set.taker_rate };
        let tiers = Tiers::new(&rows[..count]).filter(|_| is_rate);
        self.tiers = tiers.ok_or(Reject::ParameterOutOfRange)?;
        self.facts.emit(VipTier {
            tier: set.tier,
            count: set.count,
            volume: set.volume,
            maker_rate: set.maker_rate,
            taker_rate: set.taker_rate,
        });
        let hour = self.now_ms.div_euclid(HOUR_MS);
        for account in 0..self.accounts_count {
            self.judge_tier(account, hour);
        }
        Ok(())
    }

    /// See [`SetPerpetualAccount`].
    pub(crate) fn set_account(&mut self, set: &SetPerpetualAccount) -> Result<(), Reject> {
        self.check_account(set.account)?;
        let counts = |bit: u32| set.mask & bit != 0;
        if (counts(account_mask::TRADE_GROUP) && !(-1..i64::MAX).contains(&set.trade_group))
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
            record.disabled = u8::from(set.trading_enabled == 0);
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
        self.tell_terms(set.account);
        Ok(())
    }

    /// See [`SetSource`].
    pub(crate) fn set_source(&mut self, set: &SetSource) -> Result<(), Reject> {
        let index = self.index_of(set.market).ok_or(Reject::MarketNotFound)?;
        let sources = &mut self.symbols[index].sources;
        let found = sources.binary_search_by_key(&set.source, |source| source.id);
        if set.weight > WEIGHT_MAX || (found.is_err() && set.weight > 0 && sources.len() == SOURCES_MAX) {
            return Err(Reject::ParameterOutOfRange);
        }
        let mut price = 0;
        match found {
            Ok(place) if set.weight == 0 => {
                sources.remove(place);
            }
            Ok(place) => {
                sources[place].weight = set.weight;
                price = sources[place].price;
            }
            Err(_) if set.weight == 0 => {}
            Err(place) => {
                sources.insert(place, Source { id: set.source, weight: set.weight, ..Source::default() })
            }
        }
        let (market, source, weight) = (set.market, set.source, set.weight);
        self.facts.emit(PerpetualSource { market, source, weight, manual: 0, price });
        Ok(())
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
        self.facts.emit(PerpetualSource { market, source, weight, manual: 0, price });
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
        let (market, price) = (set.market, set.price);
        self.facts.emit(PerpetualSource { market, source: 0, weight: 0, manual: 1, price });
        Ok(())
    }
}
