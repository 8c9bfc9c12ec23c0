//! What is only sometimes there: sections that each begin with a number and are written where there is something in them, so that the
//! bytes of a state without it are what they always were.

use super::{Read, count, put};
use crate::command::PerpetualParameter as P;
use crate::ids::{ALL_MARKETS, AccountId, FIRST_PERPETUAL};
use crate::perpetual::State;
use crate::perpetual::draft::{Draft, SourceTerms};
use crate::perpetual::limits::OwnLimits;
use crate::perpetual::market::PARAMETERS;
use crate::risk::perpetual::bounds::{self, BRACKET_ROWS_MAX};
use crate::risk::perpetual::bracket::BracketRow;
use crate::risk::perpetual::index::SOURCES_MAX;
use crate::risk::perpetual::vip::{TIERS_MAX, Tier, Tiers};
use crate::snapshot::{Reader, ensure, invalid};
use crate::state_hash::Bytes;

/// Behind the last section.
const END: i64 = 0;
/// Sources with an age of their own.
const SOURCE_AGES: i64 = 1;
/// A fee schedule that waits for its midnight.
const NEXT_TIERS: i64 = 2;
/// A fee schedule that is not complete.
const TIER_ROWS: i64 = 3;
/// Limits of accounts.
const LIMITS: i64 = 4;
/// What a market is to become.
const DRAFT: i64 = 5;
/// What liquidations have to share.
const SHORTFALL: i64 = 6;

impl State {
    fn source_ages(&self) -> impl Iterator<Item = (usize, u32, u32)> {
        let of = |(index, symbol): (usize, &crate::perpetual::market::Symbol)| {
            let aged = symbol.sources.iter().filter(|source| source.stale_ms != 0);
            aged.map(|source| (index, source.id, source.stale_ms)).collect::<Vec<_>>()
        };
        self.symbols.iter().enumerate().flat_map(of)
    }

    /// Whether there is any such section.
    pub(super) fn has_extras(&self) -> bool {
        self.next_tiers.is_some()
            || !self.tier_rows.0.is_empty()
            || !self.limits.is_empty()
            || self.draft.is_some()
            || !self.shortfall.is_empty()
            || self.source_ages().next().is_some()
    }

    pub(super) fn write_extras<B: Bytes>(&self, out: &mut B) {
        if self.source_ages().next().is_some() {
            put(out, SOURCE_AGES);
            count(out, self.source_ages().count());
            for (index, source, stale_ms) in self.source_ages() {
                [index as i64, source.into(), stale_ms.into()].into_iter().for_each(|value| put(out, value));
            }
        }
        if let Some((tiers, effective_ms)) = &self.next_tiers {
            put(out, NEXT_TIERS);
            put(out, *effective_ms);
            write_tiers(out, tiers.rows());
        }
        let (rows, of) = &self.tier_rows;
        if !rows.is_empty() {
            put(out, TIER_ROWS);
            put(out, (*of).into());
            write_tiers(out, rows);
        }
        if !self.limits.is_empty() {
            put(out, LIMITS);
            count(out, self.limits.all().len());
            for (account, market, limits) in self.limits.all() {
                for value in [
                    account.into(),
                    market.into(),
                    limits.open_orders.into(),
                    limits.order_rate_10s.into(),
                    limits.order_rate_1m.into(),
                    limits.position,
                    limits.order,
                ] {
                    put(out, value);
                }
            }
        }
        if let Some(draft) = &self.draft {
            put(out, DRAFT);
            write_draft(out, draft);
        }
        if !self.shortfall.is_empty() {
            put(out, SHORTFALL);
            put(out, self.shortfall.lacked);
            count(out, self.shortfall.brought.len());
            for &(account, realised) in &self.shortfall.brought {
                put(out, account.into());
                put(out, realised);
            }
        }
        put(out, END);
    }

    pub(super) fn read_extras(&mut self, reader: &mut Reader<'_>, accounts: u32) -> Read<()> {
        let mut last = END;
        loop {
            let section = reader.i64()?;
            if section == END {
                return ensure(self.has_extras(), "extra sections of nothing");
            }
            ensure(section > last, "extra sections out of order")?;
            last = section;
            match section {
                SOURCE_AGES => self.read_source_ages(reader)?,
                NEXT_TIERS => {
                    let effective_ms = reader.i64()?;
                    let tiers = Tiers::new(&read_tiers(reader)?);
                    self.next_tiers =
                        Some((tiers.ok_or_else(|| invalid("tiers do not rise"))?, effective_ms));
                }
                TIER_ROWS => {
                    let of = u32::try_from(reader.i64()?).map_err(|_| invalid("a count out of range"))?;
                    let rows = read_tiers(reader)?;
                    ensure(
                        rows.len() < of as usize && of as usize <= TIERS_MAX,
                        "a schedule that is complete",
                    )?;
                    self.tier_rows = (rows, of);
                }
                LIMITS => self.read_limits(reader, accounts)?,
                SHORTFALL => self.read_shortfall(reader, accounts)?,
                DRAFT => self.draft = Some(Box::new(read_draft(reader, self.symbols.len())?)),
                _ => return Err(invalid("an unknown extra section")),
            }
        }
    }

    fn read_source_ages(&mut self, reader: &mut Reader<'_>) -> Read<()> {
        for _ in 0..reader.count(24)? {
            let (index, id, stale_ms) = (reader.i64()?, reader.i64()?, reader.i64()?);
            let symbol = usize::try_from(index).ok().and_then(|index| self.symbols.get_mut(index));
            let sources = symbol.map(|symbol| &mut symbol.sources);
            let source =
                sources.and_then(|sources| sources.iter_mut().find(|source| i64::from(source.id) == id));
            ensure((1..=600_000).contains(&stale_ms), "an age out of range")?;
            source.ok_or_else(|| invalid("an age of no source"))?.stale_ms = stale_ms as u32;
        }
        Ok(())
    }

    fn read_shortfall(&mut self, reader: &mut Reader<'_>, accounts: u32) -> Read<()> {
        let lacked = reader.i64()?;
        ensure(lacked >= 0, "a shortfall below zero")?;
        self.shortfall.lack(lacked);
        for _ in 0..reader.count(16)? {
            let (account, realised) = (word_of(reader)?, reader.i64()?);
            ensure((1..accounts).contains(&account), "a share of nobody")?;
            let place = &mut self.accounts.get_mut(account).brought;
            ensure(*place == 0, "a share told twice")?;
            self.shortfall.bring(account, place, realised);
        }
        ensure(!self.shortfall.is_empty(), "a shortfall of nothing")
    }

    fn read_limits(&mut self, reader: &mut Reader<'_>, accounts: u32) -> Read<()> {
        for _ in 0..reader.count(56)? {
            let mut words = [0; 2];
            for word in &mut words {
                *word = word_of(reader)?;
            }
            let [account, market]: [AccountId; 2] = words;
            let limits = OwnLimits {
                open_orders: word_of(reader)?,
                order_rate_10s: word_of(reader)?,
                order_rate_1m: word_of(reader)?,
                position: reader.i64()?,
                order: reader.i64()?,
            };
            let is_market =
                market < FIRST_PERPETUAL || market == ALL_MARKETS || self.index_of(market).is_some();
            ensure((1..accounts).contains(&account) && is_market, "limits of nobody")?;
            let is_worth = |value: i64| (0..=bounds::VALUE_MAX).contains(&value);
            ensure(is_worth(limits.position) && is_worth(limits.order), "a limit out of range")?;
            ensure(limits != OwnLimits::default(), "limits of nothing")?;
            self.put_limits(account, market, limits);
        }
        Ok(())
    }
}

fn word_of(reader: &mut Reader<'_>) -> Read<u32> {
    u32::try_from(reader.i64()?).map_err(|_| invalid("a word out of range"))
}

fn write_tiers<B: Bytes>(out: &mut B, rows: &[Tier]) {
    count(out, rows.len());
    for tier in rows {
        [tier.volume_min, tier.maker_rate, tier.taker_rate].into_iter().for_each(|value| put(out, value));
    }
}

fn read_tiers(reader: &mut Reader<'_>) -> Read<Vec<Tier>> {
    let tiers = reader.count(24)?;
    ensure(tiers <= TIERS_MAX, "too many tiers")?;
    let row = |reader: &mut Reader<'_>| {
        Ok(Tier { volume_min: reader.i64()?, maker_rate: reader.i64()?, taker_rate: reader.i64()? })
    };
    (0..tiers).map(|_| row(reader)).collect()
}

fn write_draft<B: Bytes>(out: &mut B, draft: &Draft) {
    out.put(&draft.symbol);
    out.put(&draft.base);
    out.put(&draft.quote);
    [draft.source, draft.market, draft.changes].into_iter().for_each(|value| put(out, value.into()));
    let named = draft.parameters.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?)));
    count(out, named.clone().count());
    for (parameter, value) in named {
        put(out, parameter as i64);
        put(out, value);
    }
    // One more than there are, so that none is not no list.
    let rows = draft.brackets.as_deref();
    count(out, rows.map_or(0, |rows| rows.len() + 1));
    for row in rows.unwrap_or_default() {
        [row.cap, row.maintenance_rate, row.leverage_max.into()]
            .into_iter()
            .for_each(|value| put(out, value));
    }
    let sources = draft.sources.as_deref();
    count(out, sources.map_or(0, |sources| sources.len() + 1));
    for source in sources.unwrap_or_default() {
        [source.id, source.weight, source.stale_ms].into_iter().for_each(|value| put(out, value.into()));
    }
}

fn read_draft(reader: &mut Reader<'_>, markets: usize) -> Read<Draft> {
    let (symbol, base, quote) = (reader.array()?, reader.array()?, reader.array()?);
    let (source, market, changes) = (word_of(reader)?, word_of(reader)?, word_of(reader)?);
    let is_market =
        market == 0 || market.checked_sub(FIRST_PERPETUAL).is_some_and(|at| (at as usize) < markets);
    ensure(is_market, "a draft of no market")?;
    let mut parameters = [None; PARAMETERS];
    let mut last = -1;
    for _ in 0..reader.count(16)? {
        let (parameter, value) = (reader.i64()?, reader.i64()?);
        let known =
            u8::try_from(parameter).ok().and_then(P::from_code).filter(|known| bounds::is_of_market(*known));
        ensure(parameter > last && known.is_some(), "a draft of no parameter")?;
        last = parameter;
        parameters[parameter as usize] = Some(value);
    }
    let list = |reader: &mut Reader<'_>, most: usize| -> Read<Option<usize>> {
        let length = reader.u64()?;
        ensure(length <= most as u64 + 1, "a draft of too much")?;
        Ok((length as usize).checked_sub(1))
    };
    let brackets = match list(reader, BRACKET_ROWS_MAX)? {
        None => None,
        Some(rows) => {
            let row = |reader: &mut Reader<'_>| -> Read<BracketRow> {
                let (cap, maintenance_rate, leverage_max) = (reader.i64()?, reader.i64()?, word_of(reader)?);
                Ok(BracketRow { cap, maintenance_rate, leverage_max })
            };
            Some((0..rows).map(|_| row(reader)).collect::<Read<_>>()?)
        }
    };
    let sources = match list(reader, SOURCES_MAX + 1)? {
        None => None,
        Some(rows) => {
            let row = |reader: &mut Reader<'_>| -> Read<SourceTerms> {
                let (id, weight, stale_ms) = (word_of(reader)?, word_of(reader)?, word_of(reader)?);
                Ok(SourceTerms { id, weight, stale_ms })
            };
            Some((0..rows).map(|_| row(reader)).collect::<Read<_>>()?)
        }
    };
    Ok(Draft { source, market, symbol, base, quote, changes, parameters, brackets, sources })
}
