//! What is only sometimes there: sections that each begin with a number and are written where there is something in them, so that the
//! bytes of a state without it are what they always were.

use super::{Read, count, put};
use crate::command::{PerpetualParameter as P, PerpetualState, byte_enum};
use crate::ids::{ALL_MARKETS, AccountId, FIRST_PERPETUAL, OrderId};
use crate::money::RATE_ONE;
use crate::perpetual::account::Scope;
use crate::perpetual::draft::{Draft, SourceTerms};
use crate::perpetual::limits::OwnLimits;
use crate::perpetual::market::{Closing, PARAMETERS, Unpaid};
use crate::perpetual::order::Stage;
use crate::perpetual::shortfall::{Sharing, Shortfall};
use crate::perpetual::triggers::{Triggers, stop_of};
use crate::perpetual::work::{WORK_MAX, WORK_MAX_RANGE};
use crate::perpetual::{State, markets_in};
use crate::risk::perpetual::bounds::{self, BRACKET_ROWS_MAX};
use crate::risk::perpetual::bracket::BracketRow;
use crate::risk::perpetual::funding::payment;
use crate::risk::perpetual::index::SOURCES_MAX;
use crate::risk::perpetual::vip::{TIERS_MAX, Tier, Tiers};
use crate::snapshot::{Reader, ensure, invalid};
use crate::state_hash::Bytes;
use std::collections::BTreeSet;

/// Behind the last section.
const END: i64 = 0;

byte_enum! {
    /// A section, by its number. They are written in this order.
    enum Section {
        /// Sources with an age of their own.
        SourceAges = 1,
        /// A fee schedule that waits for its midnight.
        NextTiers = 2,
        /// A fee schedule that is not complete.
        TierRows = 3,
        /// Limits of accounts.
        Limits = 4,
        /// What a market is to become.
        Draft = 5,
        /// What liquidations have to share.
        Shortfall = 6,
        /// What one command left over for the next, and how much one may do.
        Work = 7,
        /// Funding that is not paid to the end.
        Unpaid = 8,
        /// Markets that close.
        Closing = 9,
        /// Losses that are not shared to the end.
        Sharing = 10,
        /// Markets whose lot changed and whose accounts are not looked at to the end.
        Odd = 11,
        /// Hours of volume that are not rolled to the end, and accounts that a new table does not judge yet.
        Rolls = 12,
    }
}

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
        Section::ALL.iter().any(|&section| self.has_section(section))
    }

    pub(super) fn write_extras<B: Bytes>(&self, out: &mut B) {
        for &section in Section::ALL.iter().filter(|&&section| self.has_section(section)) {
            put(out, section as i64);
            self.write_section(section, out);
        }
        put(out, END);
    }

    pub(super) fn read_extras(&mut self, reader: &mut Reader<'_>, accounts: u32) -> Read<()> {
        let mut last = END;
        loop {
            let number = reader.i64()?;
            if number == END {
                return ensure(self.has_extras(), "extra sections of nothing");
            }
            ensure(number > last, "extra sections out of order")?;
            last = number;
            let section = u8::try_from(number).ok().and_then(Section::from_code);
            self.read_section(section.ok_or_else(|| invalid("an unknown extra section"))?, reader, accounts)?;
        }
    }

    /// Whether there is something in a section.
    fn has_section(&self, section: Section) -> bool {
        match section {
            Section::SourceAges => self.source_ages().next().is_some(),
            Section::NextTiers => self.next_tiers.is_some(),
            Section::TierRows => !self.tier_rows.0.is_empty(),
            Section::Limits => !self.limits.is_empty(),
            Section::Draft => self.draft.is_some(),
            Section::Shortfall => !self.shortfall.is_empty(),
            Section::Work => self.has_work(),
            Section::Unpaid => self.work.unpaid != 0,
            Section::Closing => self.work.closing != 0,
            Section::Sharing => self.shared().next().is_some(),
            Section::Odd => self.work.odd != 0,
            Section::Rolls => self.work.rolls,
        }
    }

    fn write_section<B: Bytes>(&self, section: Section, out: &mut B) {
        match section {
            Section::SourceAges => self.write_source_ages(out),
            Section::NextTiers => {
                if let Some((tiers, effective_ms)) = &self.next_tiers {
                    put(out, *effective_ms);
                    write_tiers(out, tiers.rows());
                }
            }
            Section::TierRows => {
                put(out, self.tier_rows.1.into());
                write_tiers(out, &self.tier_rows.0);
            }
            Section::Limits => self.write_limits(out),
            Section::Draft => {
                if let Some(draft) = &self.draft {
                    write_draft(out, draft);
                }
            }
            Section::Shortfall => self.write_shortfall(out),
            Section::Work => self.write_work(out),
            Section::Unpaid => self.write_unpaid(out),
            Section::Closing => self.write_closing(out),
            Section::Sharing => self.write_sharing(out),
            Section::Odd => self.write_odd(out),
            Section::Rolls => {
                put(out, (self.volumes.counted - self.volumes.forgotten) as i64);
                put(out, self.judged.into());
            }
        }
    }

    fn read_section(&mut self, section: Section, reader: &mut Reader<'_>, accounts: u32) -> Read<()> {
        match section {
            Section::SourceAges => self.read_source_ages(reader),
            Section::NextTiers => {
                let effective_ms = reader.i64()?;
                let tiers = Tiers::new(&read_tiers(reader)?).ok_or_else(|| invalid("tiers do not rise"))?;
                self.next_tiers = Some((tiers, effective_ms));
                Ok(())
            }
            Section::TierRows => {
                let of = u32::try_from(reader.i64()?).map_err(|_| invalid("a count out of range"))?;
                let rows = read_tiers(reader)?;
                let is_begun = rows.len() < of as usize && of as usize <= TIERS_MAX;
                self.tier_rows = (rows, of);
                ensure(is_begun, "a schedule that is complete")
            }
            Section::Limits => self.read_limits(reader, accounts),
            Section::Draft => {
                self.draft = Some(Box::new(read_draft(reader, self.symbols.len())?));
                Ok(())
            }
            Section::Shortfall => self.read_shortfall(reader, accounts),
            Section::Work => self.read_work(reader, accounts),
            Section::Unpaid => self.read_unpaid(reader, accounts),
            Section::Closing => self.read_closing(reader, accounts),
            Section::Sharing => self.read_sharing(reader),
            Section::Odd => self.read_odd(reader, accounts),
            Section::Rolls => self.read_rolls(reader),
        }
    }

    fn write_source_ages<B: Bytes>(&self, out: &mut B) {
        count(out, self.source_ages().count());
        for (index, source, stale_ms) in self.source_ages() {
            [index as i64, source.into(), stale_ms.into()].into_iter().for_each(|value| put(out, value));
        }
    }

    fn write_limits<B: Bytes>(&self, out: &mut B) {
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

    fn write_shortfall<B: Bytes>(&self, out: &mut B) {
        put(out, self.shortfall.lacked);
        count(out, self.shortfall.brought.len());
        for &(account, realised) in &self.shortfall.brought {
            put(out, account.into());
            put(out, realised);
        }
    }

    /// Whether anything waits, be it for its market to match, or a command's units are not those that ship.
    fn has_work(&self) -> bool {
        let work = &self.work;
        work.most != WORK_MAX
            || work.dates_ms != 0
            || work.scan
            || work.fund
            || work.paused.is_some()
            || !work.trims.is_empty()
            || self.triggers.iter().any(|triggers| triggers.due_count > 0)
    }

    fn write_work<B: Bytes>(&self, out: &mut B) {
        let work = &self.work;
        let stirred = if work.scan { work.stirred } else { 0 };
        let (account, only) = match work.paused {
            Some(Scope { account, isolated }) => {
                (i64::from(account), isolated.map_or(-1, |index| index as i64))
            }
            None => (-1, -1),
        };
        for value in [
            work.most.into(),
            work.dates_ms,
            work.scan.into(),
            work.fund.into(),
            stirred as i64,
            (stirred >> 64) as i64,
            account,
            only,
        ] {
            put(out, value);
        }
        count(out, work.trims.len());
        for &(index, account, turned) in &work.trims {
            [index as i64, account.into(), turned.into()].into_iter().for_each(|value| put(out, value));
        }
        let mut batches = Vec::new();
        for (index, triggers) in self.triggers.iter().enumerate() {
            let of = triggers.batches(|id| self.waits(id));
            batches.extend(of.map(|(number, ids)| (number, index, ids)));
        }
        batches.sort_unstable();
        count(out, batches.len());
        for (_, index, ids) in batches {
            put(out, index as i64);
            count(out, ids.len());
            ids.into_iter().for_each(|id| put(out, id as i64));
        }
    }

    fn read_work(&mut self, reader: &mut Reader<'_>, accounts: u32) -> Read<()> {
        let mut values = [0; 8];
        for value in &mut values {
            *value = reader.i64()?;
        }
        let [most, dates_ms, scan, fund, low, high, account, only] = values;
        let most = u32::try_from(most).ok().filter(|most| WORK_MAX_RANGE.contains(most));
        self.work.most = most.ok_or_else(|| invalid("a bound of work out of range"))?;
        ensure((0..=self.now_ms).contains(&dates_ms), "dates of the future wait")?;
        ensure([scan, fund].iter().all(|flag| (0..=1).contains(flag)), "a flag that is none")?;
        self.work.dates_ms = dates_ms;
        (self.work.scan, self.work.fund) = (scan != 0, fund != 0);
        self.work.stirred = u128::from(high as u64) << 64 | u128::from(low as u64);
        let markets = self.symbols.len();
        ensure(markets == 128 || self.work.stirred >> markets == 0, "a price of no market moved")?;
        let index_of = |value: i64| usize::try_from(value).ok().filter(|&index| index < markets);
        if account != -1 {
            let account = u32::try_from(account).ok().filter(|account| (1..accounts).contains(account));
            let account = account.ok_or_else(|| invalid("a liquidation of nobody"))?;
            let isolated = index_of(only);
            ensure(isolated.is_some() || only == -1, "a liquidation of no market")?;
            match isolated {
                Some(index) => self.holdings[index].get_mut(account).liquidating = 1,
                None => self.accounts.get_mut(account).liquidating = 1,
            }
            self.work.paused = Some(Scope { account, isolated });
        }
        for _ in 0..reader.count(24)? {
            let (index, account, turned) = (index_of(reader.i64()?), word_of(reader)?, reader.i64()?);
            let index = index.ok_or_else(|| invalid("orders of no market are to be trimmed"))?;
            ensure(account < accounts && (0..=1).contains(&turned), "orders of nobody are to be trimmed")?;
            self.work.trims.push((index, account, turned != 0));
        }
        ensure(self.work.trims.is_sorted(), "orders to be trimmed out of order")?;
        for _ in 0..reader.count(16)? {
            let index = index_of(reader.i64()?).ok_or_else(|| invalid("triggers of no market are due"))?;
            let mut batch = self.triggers[index].batch(self.work.batches);
            let mut last = 0;
            for _ in 0..reader.count(8)? {
                let id = reader.u64()?;
                ensure(id > last, "triggers that are due out of order")?;
                last = id;
                let slot = self.slot_of(id).filter(|&slot| self.waits_in(slot, index));
                let slot = slot.ok_or_else(|| invalid("a trigger is due that is none"))?;
                let details = &mut self.details[slot as usize];
                let Triggers { slab, stops, .. } = &mut self.triggers[index];
                match stop_of(details) {
                    Some((heap, key)) => {
                        let stops = &mut stops[details.working_type as usize][heap];
                        ensure(stops.remove(slab, key, details), "a trigger is due twice")?;
                        batch.join(slab, key, id);
                    }
                    None => {
                        ensure(!details.is_queued, "a trigger is due twice")?;
                        details.is_queued = true;
                        batch.turn(id);
                    }
                }
            }
            self.work.batches += 1;
            self.work.due |= 1 << index;
            self.triggers[index].queue(batch);
        }
        ensure(self.has_work(), "work that is none")
    }

    fn write_unpaid<B: Bytes>(&self, out: &mut B) {
        let of = |(index, symbol): (usize, &crate::perpetual::market::Symbol)| {
            symbol.unpaid.as_deref().map(|unpaid| (index, unpaid.clone()))
        };
        let all: Vec<_> = self.symbols.iter().enumerate().filter_map(of).collect();
        count(out, all.len());
        for (index, Unpaid { rate, mark, next, received, ahead }) in all {
            for value in [index as i64, rate, mark, next.into(), received] {
                put(out, value);
            }
            // Whoever is below has paid as any other.
            count(out, ahead.range(next..).count());
            ahead.range(next..).for_each(|&account| put(out, account.into()));
        }
    }

    fn read_unpaid(&mut self, reader: &mut Reader<'_>, accounts: u32) -> Read<()> {
        let mut last = -1;
        for _ in 0..reader.count(48)? {
            let (index, rate, mark) = (reader.i64()?, reader.i64()?, reader.i64()?);
            ensure(index > last, "unpaid funding out of order")?;
            last = index;
            let (next, received) = (word_of(reader)?, reader.i64()?);
            let mut ahead = BTreeSet::new();
            for _ in 0..reader.count(8)? {
                let account = word_of(reader)?;
                let is_next =
                    account >= next && account < accounts && ahead.last().is_none_or(|&last| last < account);
                ensure(is_next, "funding paid by nobody, or twice")?;
                ahead.insert(account);
            }
            let symbol = usize::try_from(index).ok().and_then(|index| self.symbols.get_mut(index));
            let symbol = symbol.ok_or_else(|| invalid("unpaid funding of no market"))?;
            let is_sound = rate != 0 && rate.unsigned_abs() < RATE_ONE as u64 && mark > 0;
            ensure(is_sound && symbol.holders.next(next).is_some(), "unpaid funding of nothing")?;
            let pays =
                |account| payment(self.holdings[index as usize].get(account).quantity, mark, rate).is_some();
            ensure((0..accounts).all(pays), "unpaid funding out of range")?;
            symbol.unpaid = Some(Box::new(Unpaid { rate, mark, next, received, ahead }));
            self.work.unpaid |= 1 << index;
        }
        ensure(self.work.unpaid != 0, "unpaid funding of no market")
    }

    fn write_closing<B: Bytes>(&self, out: &mut B) {
        count(out, self.work.closing.count_ones() as usize);
        for (index, symbol) in self.symbols.iter().enumerate() {
            let Some(closing) = &symbol.closing else { continue };
            let Closing { price, residue, shortfall } = &**closing;
            [index as i64, *price, *residue, shortfall.lacked].into_iter().for_each(|value| put(out, value));
            count(out, shortfall.brought.len());
            for &(account, profit) in &shortfall.brought {
                put(out, account.into());
                put(out, profit);
            }
        }
    }

    fn read_closing(&mut self, reader: &mut Reader<'_>, accounts: u32) -> Read<()> {
        let mut last = -1;
        for _ in 0..reader.count(40)? {
            let (index, price, residue) = (reader.i64()?, reader.i64()?, reader.i64()?);
            ensure(index > last, "markets that close out of order")?;
            last = index;
            let mut shortfall = Shortfall::default();
            shortfall.lack(reader.i64()?);
            ensure(shortfall.lacked >= 0, "a shortfall below zero")?;
            for _ in 0..reader.count(16)? {
                let (account, profit) = (word_of(reader)?, reader.i64()?);
                ensure((1..accounts).contains(&account) && profit >= 0, "a profit of nobody, or none")?;
                let holdings = usize::try_from(index).ok().and_then(|index| self.holdings.get_mut(index));
                let holdings = holdings.ok_or_else(|| invalid("a market closes that is none"))?;
                let place = &mut holdings.get_mut(account).brought;
                ensure(*place == 0, "a profit told twice")?;
                shortfall.bring(account, place, profit);
            }
            let symbol = usize::try_from(index).ok().and_then(|index| self.symbols.get_mut(index));
            let symbol = symbol.ok_or_else(|| invalid("a market closes that is none"))?;
            ensure(symbol.set == PerpetualState::Closed && price >= 0, "a market closes that is open")?;
            let position = |account| self.holdings[index as usize].get(account).position();
            let fits = |account| position(account).unrealised(price).is_some();
            ensure((0..accounts).all(fits), "a price at which nothing can be closed")?;
            symbol.closing = Some(Box::new(Closing { price, residue, shortfall }));
            self.work.closing |= 1 << index;
        }
        ensure(self.work.closing != 0, "no market closes")
    }

    fn write_odd<B: Bytes>(&self, out: &mut B) {
        count(out, self.work.odd.count_ones() as usize);
        for index in markets_in(self.work.odd) {
            [index as i64, self.symbols[index].looked_at.into()]
                .into_iter()
                .for_each(|value| put(out, value));
        }
    }

    fn read_odd(&mut self, reader: &mut Reader<'_>, accounts: u32) -> Read<()> {
        let mut last = -1;
        for _ in 0..reader.count(16)? {
            let (index, looked_at) = (reader.i64()?, word_of(reader)?);
            ensure(index > last && looked_at < accounts, "changed lots out of order")?;
            last = index;
            let symbol = usize::try_from(index).ok().and_then(|index| self.symbols.get_mut(index));
            let symbol = symbol.filter(|symbol| symbol.set != PerpetualState::Closed);
            symbol.ok_or_else(|| invalid("the lot of no market changed"))?.looked_at = looked_at;
            self.work.odd |= 1 << index;
        }
        ensure(self.work.odd != 0, "no lot changed")
    }

    fn read_rolls(&mut self, reader: &mut Reader<'_>) -> Read<()> {
        let (counted, judged) = (reader.i64()?, word_of(reader)?);
        let counted = u64::try_from(counted).ok().filter(|&counted| counted <= self.volumes.counted);
        self.volumes.counted = counted.ok_or_else(|| invalid("hours that left too early"))?;
        (self.judged, self.work.rolls) = (judged, true);
        Ok(())
    }

    /// Losses that are being shared: that of liquidations as of market -1, those of settlements.
    fn shared(&self) -> impl Iterator<Item = (i64, Sharing)> {
        let of = |symbol: &crate::perpetual::market::Symbol| symbol.closing.as_ref()?.shortfall.sharing;
        let settled = self.symbols.iter().map(of).enumerate().map(|(index, sharing)| (index as i64, sharing));
        std::iter::once((-1, self.shortfall.sharing))
            .chain(settled)
            .filter_map(|(index, sharing)| Some((index, sharing?)))
    }

    fn write_sharing<B: Bytes>(&self, out: &mut B) {
        count(out, self.shared().count());
        for (index, Sharing { loss, weighed, given, whole, before }) in self.shared() {
            [index, loss, weighed.into(), given.into()].into_iter().for_each(|value| put(out, value));
            [whole, before].into_iter().for_each(|sum| out.put(&sum.to_le_bytes()));
        }
    }

    fn read_sharing(&mut self, reader: &mut Reader<'_>) -> Read<()> {
        let mut last = None;
        for _ in 0..reader.count(64)? {
            let (index, loss) = (reader.i64()?, reader.i64()?);
            ensure(last < Some(index), "losses out of order")?;
            last = Some(index);
            let (weighed, given) = (word_of(reader)?, word_of(reader)?);
            let sharing = Sharing { loss, weighed, given, whole: reader.i128()?, before: reader.i128()? };
            let shortfall = match usize::try_from(index) {
                Err(_) if index == -1 => Some(&mut self.shortfall),
                Err(_) => None,
                Ok(index) => self
                    .symbols
                    .get_mut(index)
                    .and_then(|symbol| Some(&mut symbol.closing.as_mut()?.shortfall)),
            };
            let shortfall = shortfall.ok_or_else(|| invalid("a loss of no market is shared"))?;
            let (places, weighed, given) = (shortfall.brought.len(), weighed as usize, given as usize);
            let is_next = weighed <= places && given < places && (given == 0 || weighed == places);
            let left: Option<i128> = (shortfall.brought.get(given..weighed))
                .map(|left| left.iter().map(|&(_, weight)| i128::from(weight)).sum());
            let fits = sharing.before >= 0
                && left.is_some_and(|left| sharing.whole.checked_sub(sharing.before) == Some(left));
            ensure(loss > 0 && is_next && fits, "a loss that is shared by others")?;
            shortfall.sharing = Some(sharing);
        }
        ensure(last.is_some(), "no loss is shared")
    }

    /// Whether an order is open and waits for its trigger.
    fn waits(&self, id: OrderId) -> bool {
        self.slot_of(id).is_some_and(|slot| self.details[slot as usize].stage == Stage::Waiting)
    }

    fn waits_in(&self, slot: u32, index: usize) -> bool {
        let details = &self.details[slot as usize];
        details.stage == Stage::Waiting && self.index_of(details.market) == Some(index)
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
