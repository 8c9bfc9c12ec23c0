//! The perpetual side as canonical bytes, and back: the section that follows the spot state where there is a perpetual
//! side at all, so that the bytes of a purely spot engine are what they always were.
//!
//! Every field that decides about a further command, in a fixed order; lists carry their length first; accounts,
//! markets and orders by number, orders of one price by priority. What can be made again from the rest (indexes by
//! price, heaps, counts, thresholds) is not written. Here stands what belongs to no account, market or order, and what comes
//! after what; the records themselves are in `canonical/`.

mod account;
mod extra;
mod market;
mod order;

use super::market::Range;
use super::triggers::countdown;
use super::volume::{Entry, Volumes, WINDOW_14_H};
use super::{Perpetual, State, VenueLedger};
use crate::book::Book;
use crate::command::PerpetualState;
use crate::config::EngineConfig;
use crate::ids::{AccountId, OrderId};
use crate::risk::perpetual::vip::{TIERS_MAX, Tier, Tiers};
use crate::snapshot::{Reader, SnapshotError, ensure, invalid};
use crate::state_hash::Bytes;
use account::{blank, is_blank, read_account, read_holding, write_account, write_holding};
use market::{read_symbol, write_symbol};

type Read<T> = Result<T, SnapshotError>;

/// Version of this section as long as nothing in it is newer.
const VERSION: u32 = 1;
/// Version of a section with a tail: the windows after a recovery, and rules that were switched on. Where there is nothing
/// of this the section is of the version before, byte by byte, so that hashes recorded then still hold.
const VERSION_WITH_TAIL: u32 = 2;
/// Version of a section with a tail, of whatever, and behind it what `extra.rs` says.
const VERSION_WITH_EXTRAS: u32 = 3;

fn put<B: Bytes>(out: &mut B, value: i64) {
    out.put(&value.to_le_bytes());
}

fn count<B: Bytes>(out: &mut B, count: usize) {
    out.put(&(count as u64).to_le_bytes());
}

impl Perpetual {
    /// Writes the section.
    pub(crate) fn write<B: Bytes>(&self, out: &mut B, accounts: u32) {
        let state = &self.state;
        let version = match (state.has_extras(), state.has_tail()) {
            (true, _) => VERSION_WITH_EXTRAS,
            (false, true) => VERSION_WITH_TAIL,
            (false, false) => VERSION,
        };
        out.put(&version.to_le_bytes());
        put(out, state.margin_asset.map_or(-1, i64::from));
        put(out, state.fee_burn_bps.into());
        put(out, state.ledger.fees);
        put(out, state.ledger.affiliates);
        put(out, state.ledger.net_deposits);
        put(out, state.ledger.deficit.into());
        count(out, state.tiers.rows().len());
        for tier in state.tiers.rows() {
            [tier.volume_min, tier.maker_rate, tier.taker_rate].into_iter().for_each(|value| put(out, value));
        }
        let peaks = || state.peak.recorded(state.now_ms.max(0) as u64);
        count(out, peaks().count());
        for (minute, equity) in peaks() {
            put(out, minute as i64);
            put(out, equity);
        }
        put(out, state.now_ms);
        put(out, state.volumes.hour);
        count(out, state.volumes.entries.len());
        for entry in &state.volumes.entries {
            [entry.hour, entry.account.into(), entry.volume].into_iter().for_each(|value| put(out, value));
        }
        let known = |account: &u32| *state.accounts.get(*account) != blank(state.accounts.get(*account));
        count(out, (0..accounts).filter(known).count());
        for account in (0..accounts).filter(known) {
            out.put(&account.to_le_bytes());
            write_account(out, state.accounts.get(account));
        }
        count(out, state.symbols.len());
        for index in 0..state.symbols.len() {
            write_symbol(out, &state.symbols[index]);
            put(out, self.books[index].update as i64);
            let holds = |account: &u32| !is_blank(state.holding(*account, index));
            count(out, (0..accounts).filter(holds).count());
            for account in (0..accounts).filter(holds) {
                out.put(&account.to_le_bytes());
                write_holding(out, state.holding(account, index));
            }
        }
        self.write_orders(out);
        if version >= VERSION_WITH_TAIL {
            put(out, state.rules.into());
            state.recovery_ms.into_iter().for_each(|value| put(out, value));
            for symbol in &state.symbols {
                symbol.recovery_ms.into_iter().for_each(|value| put(out, value));
                put(out, symbol.recovery as i64);
            }
        }
        if version >= VERSION_WITH_EXTRAS {
            state.write_extras(out);
        }
    }

    /// Reads the section. Every order's id must be below `next_order`.
    pub(crate) fn read(
        config: &EngineConfig,
        reader: &mut Reader<'_>,
        accounts: u32,
        assets: usize,
        next_order: OrderId,
    ) -> Read<Perpetual> {
        let version = reader.u32()?;
        ensure(
            (VERSION..=VERSION_WITH_EXTRAS).contains(&version),
            "unknown version of the perpetual section",
        )?;
        let mut perpetual = Perpetual::new(config);
        let state = &mut perpetual.state;
        state.accounts_count = accounts;
        let asset = reader.i64()?;
        ensure((-1..assets as i64).contains(&asset), "a margin asset that is none")?;
        state.margin_asset = u16::try_from(asset).ok();
        state.fee_burn_bps = u32::try_from(reader.i64()?).map_err(|_| invalid("a discount out of range"))?;
        ensure(state.fee_burn_bps <= 5_000, "a discount out of range")?;
        let [fees, affiliates, deposits] = [reader.i64()?, reader.i64()?, reader.i64()?];
        state.ledger = VenueLedger { fees, affiliates, net_deposits: deposits, deficit: reader.i64()? != 0 };
        state.tiers = read_tiers(reader)?;
        for _ in 0..reader.count(16)? {
            let (minute, equity) = (reader.i64()?, reader.i64()?);
            let ms = u64::try_from(minute).ok().and_then(|minute| minute.checked_mul(60_000));
            state.peak.record(ms.ok_or_else(|| invalid("a minute out of range"))?, equity);
        }
        state.now_ms = reader.i64()?;
        read_volumes(reader, &mut state.volumes, accounts)?;
        for _ in 0..reader.count(4)? {
            let account = reader.u32()?;
            ensure(account < accounts, "terms without account")?;
            let record = read_account(reader)?;
            if record.pending != 0 {
                state.pending.insert((record.pending_ms, account));
            }
            if record.countdown_ms != 0 {
                state.dates.countdowns.add(record.countdown_ms, countdown(account, u32::MAX));
            }
            *state.accounts.get_mut(account) = record;
        }
        for number in 0..state.volumes.entries.len() {
            let entry = state.volumes.entries[number];
            if entry.hour == state.volumes.hour {
                state.accounts.get_mut(entry.account).hour = number as u64 + 1;
            }
        }
        for index in 0..reader.count(8)? {
            perpetual.read_market(config, reader, index, (accounts, assets))?;
        }
        perpetual.read_orders(reader, accounts, next_order)?;
        if version >= VERSION_WITH_TAIL {
            perpetual.state.read_tail(reader)?;
        }
        if version == VERSION_WITH_TAIL {
            ensure(perpetual.state.has_tail(), "a tail of nothing")?;
        }
        if version >= VERSION_WITH_EXTRAS {
            perpetual.state.read_extras(reader, accounts)?;
        }
        for account in 0..accounts {
            ensure(perpetual.state.has_sums(account), "positions leave their range")?;
            if account != crate::ids::FEE_ACCOUNT {
                perpetual.state.watch_anew(account);
            }
        }
        perpetual.state.pools_are_told();
        Ok(perpetual)
    }

    /// A market, its positions and what its book's last update was.
    fn read_market(
        &mut self,
        config: &EngineConfig,
        reader: &mut Reader<'_>,
        index: usize,
        (accounts, assets): (u32, usize),
    ) -> Read<()> {
        ensure(index < super::MARKETS_MAX, "too many perpetual markets")?;
        let symbol = read_symbol(reader)?;
        ensure((symbol.base as usize) < assets, "a market without assets")?;
        let grid = symbol.steps.0;
        self.list(symbol);
        self.books[index] = Book::new(grid, &config.hash_seed);
        self.books[index].update = reader.i64()? as u64;
        let state = &mut self.state;
        for _ in 0..reader.count(4)? {
            let account = reader.u32()?;
            ensure(account < accounts, "a position without account")?;
            let holding = read_holding(reader)?;
            if holding.countdown_ms != 0 {
                state.dates.countdowns.add(holding.countdown_ms, countdown(account, index as u32));
            }
            *state.holdings[index].get_mut(account) = holding;
            state.accounts.get_mut(account).markets[index / 64] |= 1 << (index % 64);
            state.symbols[index].enlist(account, 0, holding.quantity);
        }
        let symbol = &state.symbols[index];
        if [symbol.contract_range, symbol.mark_range] != [Range::EMPTY; 2] {
            state.moved |= 1 << index;
        }
        Ok(())
    }
}

impl State {
    /// Whether all that is computed of an account stays within the range of money.
    fn has_sums(&self, account: AccountId) -> bool {
        self.sums(account).is_some_and(|sums| sums.free().is_some())
            && self.cross_with(account, self.wallet(account), None).is_some()
            && self
                .markets_of(account)
                .all(|index| self.isolated(index, self.holding(account, index)).is_some())
    }

    fn has_tail(&self) -> bool {
        self.rules != 0
            || self.recovery_ms != [0; 2]
            || self.symbols.iter().any(|symbol| symbol.recovery_ms != [0; 2])
    }

    fn read_tail(&mut self, reader: &mut Reader<'_>) -> Read<()> {
        self.rules = u32::try_from(reader.i64()?).map_err(|_| invalid("a rule out of range"))?;
        ensure(self.rules <= crate::command::rule::LAST, "a rule that this version does not know")?;
        self.recovery_ms = [reader.i64()?, reader.i64()?];
        let is_length = |length: &i64| (0..=3_600_000).contains(length);
        ensure(self.recovery_ms.iter().all(is_length), "a window out of range")?;
        for symbol in &mut self.symbols {
            symbol.recovery_ms = [reader.i64()?, reader.i64()?];
            let [cancel_only, post_only] = symbol.recovery_ms;
            ensure(0 <= cancel_only && cancel_only <= post_only, "a window that ends before it begins")?;
            // As of the last tick: time may have passed since.
            let recovery = u8::try_from(reader.i64()?).ok().and_then(PerpetualState::from_code);
            symbol.recovery = recovery.ok_or_else(|| invalid("unknown state of a window"))?;
        }
        Ok(())
    }
}

fn read_tiers(reader: &mut Reader<'_>) -> Read<Tiers> {
    let mut rows = [Tier::default(); TIERS_MAX];
    let tiers = reader.count(24)?;
    let rows = rows.get_mut(..tiers).ok_or_else(|| invalid("too many tiers"))?;
    for row in rows.iter_mut() {
        *row = Tier { volume_min: reader.i64()?, maker_rate: reader.i64()?, taker_rate: reader.i64()? };
    }
    Tiers::new(rows).ok_or_else(|| invalid("tiers do not rise"))
}

fn read_volumes(reader: &mut Reader<'_>, volumes: &mut Volumes, accounts: u32) -> Read<()> {
    volumes.hour = reader.i64()?;
    for _ in 0..reader.count(24)? {
        let (hour, account, volume) = (reader.i64()?, reader.i64()?, reader.i64()?);
        let account = u32::try_from(account).ok().filter(|&account| account < accounts);
        let account = account.ok_or_else(|| invalid("a volume without account"))?;
        volumes.entries.push_back(Entry { hour, account, volume });
    }
    let is_counted = |entry: &&Entry| entry.hour < volumes.hour - WINDOW_14_H;
    volumes.counted = volumes.entries.iter().take_while(is_counted).count() as u64;
    Ok(())
}
