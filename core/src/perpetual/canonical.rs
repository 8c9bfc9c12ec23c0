//! The perpetual side as canonical bytes, and back: the section that follows the spot state where there is a perpetual
//! side at all, so that the bytes of a purely spot engine are what they always were.
//!
//! Every field that decides about a further command, in a fixed order; lists carry their length first; accounts,
//! markets and orders by number, orders of one price by priority. What can be made again from the rest (indexes by
//! price, heaps, counts, thresholds) is not written.

use super::account::{Account, Holding};
use super::market::{Prices, Range, Source, Symbol};
use super::order::{Details, Stage};
use super::volume::Entry;
use super::{Perpetual, Pools};
use crate::book::Book;
use crate::book::grid::{Step, gcd};
use crate::command::{
    PerpetualOrderType, PerpetualParameter, PerpetualState, PerpetualTimeInForce, PriceMatch,
    SelfTradePrevention, Side, WorkingType,
};
use crate::engine::EngineConfig;
use crate::event::PerpetualPrice;
use crate::ids::OrderId;
use crate::money::Price;
use crate::risk::perpetual::bracket::{BracketRow, Brackets};
use crate::risk::perpetual::funding::Premiums;
use crate::risk::perpetual::index::{Index, IndexState};
use crate::risk::perpetual::mark::Basis;
use crate::risk::perpetual::order_margin::Reservation;
use crate::risk::perpetual::vip::{TIERS_MAX, Tier, Tiers};
use crate::snapshot::{Reader, SnapshotError, ensure, invalid};
use crate::state_hash::Bytes;
use zerocopy::{FromZeros, IntoBytes};

type Read<T> = Result<T, SnapshotError>;

/// Version of this section as long as nothing in it is newer.
const VERSION: u32 = 1;
/// Version of a section with a tail: the windows after a recovery, and rules that were switched on. Where there is nothing
/// of this the section is of the version before, byte by byte, so that hashes recorded then still hold.
const VERSION_WITH_TAIL: u32 = 2;

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
        let version = if state.has_tail() { VERSION_WITH_TAIL } else { VERSION };
        out.put(&version.to_le_bytes());
        put(out, state.margin_asset.map_or(-1, i64::from));
        put(out, state.fee_burn_bps.into());
        put(out, state.pools.fees);
        put(out, state.pools.affiliates);
        put(out, state.pools.deposits);
        put(out, state.pools.deficit.into());
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
        let trailing = state.triggers.iter().flat_map(|triggers| &triggers.trailing);
        let mut extremes: Vec<_> = trailing.flat_map(|trailing| trailing.extremes()).collect();
        extremes.sort_unstable();
        // Orders: those in books by priority, then the others by id.
        count(out, state.slots.len());
        for index in 0..self.books.len() {
            for side in [Side::Buy, Side::Sell] {
                for slot in self.books[index].slots(&self.orders, side) {
                    self.write_order(out, slot, &extremes);
                }
            }
        }
        let mut waiting: Vec<(u64, u32)> =
            state.slots.iter().filter(|&(_, slot)| state.details[slot as usize].waits()).collect();
        waiting.sort_unstable();
        for (_, slot) in waiting {
            self.write_order(out, slot, &extremes);
        }
        if state.has_tail() {
            put(out, state.rules.into());
            state.recovery_ms.into_iter().for_each(|value| put(out, value));
            for symbol in &state.symbols {
                symbol.recovery_ms.into_iter().for_each(|value| put(out, value));
                put(out, symbol.recovery as i64);
            }
        }
    }

    /// `extremes` of active trailing orders, by id.
    fn write_order<B: Bytes>(&self, out: &mut B, slot: u32, extremes: &[(OrderId, Price)]) {
        let details = &self.state.details[slot as usize];
        let active = extremes.binary_search_by_key(&details.id, |&(id, _)| id).ok();
        let extreme = active.filter(|_| details.stage == Stage::Waiting).map_or(0, |place| extremes[place].1);
        let remaining =
            if details.stage == Stage::Resting { self.orders.pool.get(slot).remaining } else { 0 };
        put(out, details.id as i64);
        out.put(&details.account.to_le_bytes());
        out.put(&details.market.to_le_bytes());
        out.put(&[
            details.side as u8,
            details.order_type as u8,
            details.original_type as u8,
            details.time_in_force as u8,
            details.self_trade as u8,
            details.working_type as u8,
            details.price_match as u8,
            details.stage as u8,
            u8::from(details.is_shortened),
            u8::from(details.is_deferred),
            u8::from(details.has_turned),
        ]);
        out.put(&details.flags.to_le_bytes());
        out.put(&details.callback_rate.to_le_bytes());
        out.put(&details.amendments.to_le_bytes());
        for value in [
            details.price,
            details.quantity,
            details.filled,
            remaining,
            details.value,
            details.stop_price,
            extreme,
            details.good_till_ms,
            details.parent as i64,
            details.children[0] as i64,
            details.children[1] as i64,
            details.reservation.reference,
            details.reservation.open_loss,
            details.reservation.fee,
            details.reserved_quantity,
        ] {
            put(out, value);
        }
        out.put(&details.client_order);
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
            version == VERSION || version == VERSION_WITH_TAIL,
            "unknown version of the perpetual section",
        )?;
        let mut perpetual = Perpetual::new(config.orders, config.accounts, config.pages);
        let state = &mut perpetual.state;
        state.accounts_count = accounts;
        let asset = reader.i64()?;
        ensure((-1..assets as i64).contains(&asset), "a margin asset that is none")?;
        state.margin_asset = u16::try_from(asset).ok();
        state.fee_burn_bps = u32::try_from(reader.i64()?).map_err(|_| invalid("a discount out of range"))?;
        ensure(state.fee_burn_bps <= 5_000, "a discount out of range")?;
        state.pools = Pools {
            fees: reader.i64()?,
            affiliates: reader.i64()?,
            deposits: reader.i64()?,
            deficit: reader.i64()? != 0,
        };
        let mut rows = [Tier::default(); TIERS_MAX];
        let tiers = reader.count(24)?;
        let rows = rows.get_mut(..tiers).ok_or_else(|| invalid("too many tiers"))?;
        for row in rows.iter_mut() {
            *row = Tier { volume_min: reader.i64()?, maker_rate: reader.i64()?, taker_rate: reader.i64()? };
        }
        state.tiers = Tiers::new(rows).ok_or_else(|| invalid("tiers do not rise"))?;
        for _ in 0..reader.count(16)? {
            let (minute, equity) = (reader.i64()?, reader.i64()?);
            let ms = u64::try_from(minute).ok().and_then(|minute| minute.checked_mul(60_000));
            state.peak.record(ms.ok_or_else(|| invalid("a minute out of range"))?, equity);
        }
        state.now_ms = reader.i64()?;
        state.volumes.hour = reader.i64()?;
        for _ in 0..reader.count(24)? {
            let (hour, account, volume) = (reader.i64()?, reader.i64()?, reader.i64()?);
            let account = u32::try_from(account).ok().filter(|&account| account < accounts);
            let account = account.ok_or_else(|| invalid("a volume without account"))?;
            state.volumes.entries.push_back(Entry { hour, account, volume });
        }
        state.volumes.counted = state
            .volumes
            .entries
            .iter()
            .take_while(|entry| entry.hour < state.volumes.hour - super::volume::WINDOW_14_H)
            .count() as u64;
        for _ in 0..reader.count(4)? {
            let account = reader.u32()?;
            ensure(account < accounts, "terms without account")?;
            let record = read_account(reader)?;
            if record.pending != 0 {
                state.pending.push(account);
            }
            if record.countdown_ms != 0 {
                state.dates.countdowns.push(std::cmp::Reverse((record.countdown_ms, account, u32::MAX)));
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
            ensure(index < super::MARKETS_MAX, "too many perpetual markets")?;
            let symbol = read_symbol(reader)?;
            ensure((symbol.base as usize) < assets, "a market without assets")?;
            let grid = symbol.steps.0;
            perpetual.list(symbol);
            perpetual.books[index] = Book::new(grid);
            let update = reader.i64()? as u64;
            for _ in 0..reader.count(4)? {
                let account = reader.u32()?;
                ensure(account < accounts, "a position without account")?;
                let holding = read_holding(reader)?;
                let state = &mut perpetual.state;
                if holding.countdown_ms != 0 {
                    let due = (holding.countdown_ms, account, index as u32);
                    state.dates.countdowns.push(std::cmp::Reverse(due));
                }
                *state.holdings[index].get_mut(account) = holding;
                state.accounts.get_mut(account).markets[index / 64] |= 1 << (index % 64);
                state.enlist(account, index, 0);
            }
            let symbol = &perpetual.state.symbols[index];
            if [symbol.contract_range, symbol.mark_range] != [Range::EMPTY; 2] {
                perpetual.state.moved |= 1 << index;
            }
            perpetual.books[index].update = update;
        }
        perpetual.read_orders(reader, accounts, next_order)?;
        if version == VERSION_WITH_TAIL {
            perpetual.state.read_tail(reader)?;
        }
        for account in 0..accounts {
            let state = &perpetual.state;
            let fits = state.sums(account).is_some_and(|sums| sums.free().is_some())
                && state.cross_with(account, state.wallet(account), None).is_some()
                && state
                    .markets_of(account)
                    .all(|index| state.isolated(index, state.holding(account, index)).is_some());
            ensure(fits, "positions leave their range")?;
            if account != crate::ids::FEE_ACCOUNT {
                perpetual.state.watch_anew(account);
            }
        }
        perpetual.state.has_backlog = perpetual.state.next_passed(0).is_some();
        Ok(perpetual)
    }

    fn read_orders(&mut self, reader: &mut Reader<'_>, accounts: u32, next_order: OrderId) -> Read<()> {
        let mut orders = Vec::new();
        for _ in 0..reader.count(160)? {
            orders.push(read_order(reader, self.books.len(), accounts)?);
        }
        let updates: Vec<u64> = self.books.iter().map(|book| book.update).collect();
        for (details, _) in orders.iter().filter(|(details, _)| details.stage == Stage::Resting) {
            let index = (details.market - crate::ids::FIRST_PERPETUAL) as usize;
            let grid = &mut self.state.symbols[index].steps.0;
            ensure(gcd(*grid, details.price) == *grid, "a price off the grid")?;
        }
        // Ids ascend on entry; the books fill by priority.
        let mut by_id: Vec<usize> = (0..orders.len()).collect();
        by_id.sort_unstable_by_key(|&place| orders[place].0.id);
        ensure(
            by_id.windows(2).all(|pair| orders[pair[0]].0.id != orders[pair[1]].0.id),
            "an order occurs twice",
        )?;
        let newest = by_id.last().map_or(0, |&place| orders[place].0.id);
        ensure(newest < next_order, "an order from the future")?;
        let mut slots = vec![0; orders.len()];
        for place in by_id {
            let (details, _) = orders[place];
            let stage = if details.stage == Stage::Resting { Stage::Running } else { details.stage };
            slots[place] = self.enter(Details { stage, ..details });
            if details.is_deferred {
                let index = (details.market - crate::ids::FIRST_PERPETUAL) as usize;
                self.state.triggers[index].held_back[details.working_type as usize].push(details.id);
            }
        }
        for (place, (details, remaining)) in orders.iter().enumerate() {
            if details.stage == Stage::Resting {
                // Buckets were read; the check of the whole compares them.
                self.queue(slots[place], *remaining);
            }
        }
        for (book, update) in self.books.iter_mut().zip(updates) {
            book.update = update;
        }
        Ok(())
    }
}

impl super::State {
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
        ensure(self.has_tail(), "a tail of nothing")?;
        Ok(())
    }
}

/// An account's record without what only says where things lie.
fn blank(record: &Account) -> Account {
    Account {
        markets: record.markets,
        hour: record.hour,
        note: record.note,
        parked: record.parked,
        ..Account::default()
    }
}

fn is_blank(holding: &Holding) -> bool {
    let rest = Holding {
        note: holding.note,
        listed: holding.listed,
        orders: holding.orders,
        waiting: holding.waiting,
        bound: holding.bound,
        closers: holding.closers,
        trimmed: holding.trimmed,
        ..Holding::default()
    };
    *holding == rest
}

fn write_account<B: Bytes>(out: &mut B, of: &Account) {
    for value in [
        of.wallet,
        of.group,
        of.promo_until_ms,
        of.promo_bps.into(),
        of.referral_total_bps.into(),
        of.referral_share_bps.into(),
        of.pending_ms,
        of.volume,
        of.volume_30,
        of.countdown_ms,
        of.called_ms,
    ] {
        put(out, value);
    }
    // The last was once whether it is warned, which nothing depends on.
    out.put(&[of.fee_burn, of.disabled, of.default_mode, of.tier, of.pending, of.countdown_keeps, 0]);
}

fn read_account(reader: &mut Reader<'_>) -> Read<Account> {
    let mut account = Account {
        wallet: reader.i64()?,
        group: reader.i64()?,
        promo_until_ms: reader.i64()?,
        promo_bps: bps(reader)?,
        referral_total_bps: bps(reader)?,
        referral_share_bps: bps(reader)?,
        pending_ms: reader.i64()?,
        volume: reader.i64()?,
        volume_30: reader.i64()?,
        countdown_ms: reader.i64()?,
        called_ms: reader.i64()?,
        ..Account::default()
    };
    [
        account.fee_burn,
        account.disabled,
        account.default_mode,
        account.tier,
        account.pending,
        account.countdown_keeps,
        _,
    ] = reader.array()?;
    ensure(account.default_mode <= 1, "unknown margin mode")?;
    ensure(account.wallet.unsigned_abs() <= 4_000_000_000_000_000_000, "a wallet out of range")?;
    Ok(account)
}

fn bps(reader: &mut Reader<'_>) -> Read<u32> {
    let value = reader.i64()?;
    ensure((0..=10_000).contains(&value), "basis points out of range")?;
    Ok(value as u32)
}

fn write_holding<B: Bytes>(out: &mut B, of: &Holding) {
    for value in [of.quantity, of.cost, of.isolated, of.open_fees, of.realised, of.called_ms, of.countdown_ms]
    {
        put(out, value);
    }
    for value in of.buckets.as_flattened() {
        put(out, *value);
    }
    out.put(&of.leverage.to_le_bytes());
    // The one between was once whether it is warned, which nothing depends on.
    out.put(&[of.mode, 0, of.countdown_keeps]);
}

fn read_holding(reader: &mut Reader<'_>) -> Read<Holding> {
    let mut holding = Holding::new_zeroed();
    for field in [
        &mut holding.quantity,
        &mut holding.cost,
        &mut holding.isolated,
        &mut holding.open_fees,
        &mut holding.realised,
        &mut holding.called_ms,
        &mut holding.countdown_ms,
    ] {
        *field = reader.i64()?;
    }
    for value in holding.buckets.as_flattened_mut() {
        *value = reader.i64()?;
    }
    holding.trimmed = holding.quantity;
    holding.leverage = reader.u32()?;
    [holding.mode, _, holding.countdown_keeps] = reader.array()?;
    ensure(holding.mode <= 2 && holding.leverage <= 125, "an impossible mode or leverage")?;
    Ok(holding)
}

fn write_symbol<B: Bytes>(out: &mut B, of: &Symbol) {
    out.put(&of.name);
    out.put(&of.base.to_le_bytes());
    out.put(&[
        of.set as u8,
        of.told as u8,
        of.index.state as u8,
        u8::from(of.index_halts),
        u8::from(of.prices.clamped),
    ]);
    let (samples, repeats) = of.basis.parts();
    let samples: Vec<i64> = samples.collect();
    for value in [
        of.steps.0,
        of.steps.1,
        of.pause_ms,
        of.binds_ms[0],
        of.binds_ms[1],
        of.index.price,
        of.index.lost_ms as i64,
        of.manual,
        of.prices.mark,
        of.prices.basis,
        of.prices.bid,
        of.prices.ask,
        of.premiums.count.into(),
        of.sampled.0,
        of.sampled.1,
        of.next_funding_ms,
        of.trades as i64,
        of.last_price,
        of.contract_range.low,
        of.contract_range.high,
        of.mark_range.low,
        of.mark_range.high,
        of.prevented as i64,
        repeats.into(),
    ] {
        put(out, value);
    }
    out.put(&of.premiums.weighted.to_le_bytes());
    of.parameters.iter().for_each(|&value| put(out, value));
    count(out, of.brackets.rows().len());
    for row in of.brackets.rows() {
        [row.cap, row.maintenance_rate, row.leverage_max.into()]
            .into_iter()
            .for_each(|value| put(out, value));
    }
    count(out, of.sources.len());
    for source in &of.sources {
        [source.id.into(), source.weight.into(), source.price, source.at_ms]
            .into_iter()
            .for_each(|value| put(out, value));
    }
    count(out, samples.len());
    samples.into_iter().for_each(|value| put(out, value));
    for window in [of.marks.recorded().collect::<Vec<_>>(), of.indexes.recorded().collect()] {
        count(out, window.len());
        for (second, value) in window {
            put(out, second as i64);
            put(out, value);
        }
    }
    out.put(&[u8::from(of.price_told.is_some())]);
    if let Some(told) = &of.price_told {
        out.put(told.as_bytes());
    }
}

fn read_symbol(reader: &mut Reader<'_>) -> Read<Symbol> {
    let name = reader.array()?;
    let base = reader.u16()?;
    let [set, told, index_state, halts, clamped]: [u8; 5] = reader.array()?;
    let mut values = [0; 24];
    for value in &mut values {
        *value = reader.i64()?;
    }
    let weighted = reader.i128()?;
    let mut symbol = Symbol::new(name, base, 1, 10_000_000_000, 0);
    for parameter in 0..symbol.parameters.len() {
        symbol.parameters[parameter] = reader.i64()?;
        if let Some(known) = PerpetualParameter::from_code(parameter as u8) {
            ensure(
                super::market::is_in_range(known, symbol.parameters[parameter]),
                "a parameter out of range",
            )?;
        }
    }
    let state =
        |code: u8| PerpetualState::from_code(code).ok_or_else(|| invalid("unknown state of a market"));
    (symbol.set, symbol.told) = (state(set)?, state(told)?);
    symbol.tick = Step::new(symbol.get(PerpetualParameter::Tick));
    symbol.lot = Step::new(symbol.get(PerpetualParameter::Lot));
    symbol.steps = (values[0], values[1]);
    ensure(values[0] > 0 && values[1] > 0, "steps out of range")?;
    ensure(
        symbol.tick.value() % values[0] == 0 && symbol.lot.value() % values[1] == 0,
        "steps do not divide",
    )?;
    (symbol.pause_ms, symbol.binds_ms) = (values[2], [values[3], values[4]]);
    let index_state = match index_state {
        0 => IndexState::Live,
        1 => IndexState::Single,
        2 => IndexState::Spot,
        3 => IndexState::Manual,
        4 => IndexState::Held,
        5 => IndexState::Stale,
        _ => return Err(invalid("unknown state of an index")),
    };
    symbol.index = Index { price: values[5], state: index_state, lost_ms: values[6] as u64 };
    symbol.index_halts = halts != 0;
    symbol.manual = values[7];
    let (mark, basis, bid, ask) = (values[8], values[9], values[10], values[11]);
    ensure((0..=2_000_000_000_000_000_000).contains(&mark), "a mark out of range")?;
    symbol.prices = Prices { mark, basis, clamped: clamped != 0, bid, ask };
    symbol.premiums = Premiums { count: values[12] as u32, weighted };
    symbol.sampled = (values[13], values[14]);
    symbol.next_funding_ms = values[15];
    (symbol.trades, symbol.last_price) = (values[16] as u64, values[17]);
    symbol.contract_range = Range { low: values[18], high: values[19] };
    symbol.mark_range = Range { low: values[20], high: values[21] };
    symbol.prevented = values[22] as u64;
    let mut rows = [BracketRow::default(); 8];
    let brackets = reader.count(24)?;
    let rows = rows.get_mut(..brackets).ok_or_else(|| invalid("too many brackets"))?;
    for row in rows.iter_mut() {
        let (cap, maintenance_rate, leverage) = (reader.i64()?, reader.i64()?, reader.i64()?);
        *row = BracketRow { cap, maintenance_rate, leverage_max: leverage as u32 };
    }
    let brackets = Brackets::new(rows).filter(|brackets| symbol.fits(brackets));
    symbol.brackets = brackets.ok_or_else(|| invalid("unsound brackets"))?;
    for _ in 0..reader.count(32)? {
        let (id, weight) = (reader.i64()? as u32, reader.i64()? as u32);
        symbol.sources.push(Source { id, weight, price: reader.i64()?, at_ms: reader.i64()? });
    }
    ensure(symbol.sources.len() <= 16, "too many sources")?;
    let mut samples = Vec::new();
    for _ in 0..reader.count(8)? {
        samples.push(reader.i64()?);
    }
    symbol.basis =
        Basis::from_parts(&samples, values[23] as u32).ok_or_else(|| invalid("too many samples"))?;
    for _ in 0..reader.count(16)? {
        symbol.marks.record(reader.u64()?, reader.i64()?);
    }
    for _ in 0..reader.count(16)? {
        symbol.indexes.record(reader.u64()?, reader.i64()?);
    }
    if reader.u8()? != 0 {
        let bytes: [u8; size_of::<PerpetualPrice>()] = reader.array()?;
        symbol.price_told = Some(zerocopy::transmute!(bytes));
    }
    symbol.refresh_bounds();
    Ok(symbol)
}

fn read_order(reader: &mut Reader<'_>, markets: usize, accounts: u32) -> Read<(Details, i64)> {
    let id = reader.u64()?;
    let (account, market) = (reader.u32()?, reader.u32()?);
    let is_known =
        market.checked_sub(crate::ids::FIRST_PERPETUAL).is_some_and(|index| (index as usize) < markets);
    ensure(account < accounts && is_known, "an order without account or market")?;
    let codes: [u8; 11] = reader.array()?;
    let unknown = || invalid("an order outside its enumerations");
    let stage = match codes[7] {
        0 => Stage::Dormant,
        1 => Stage::Waiting,
        3 => Stage::Resting,
        _ => return Err(unknown()),
    };
    let mut details = Details {
        id,
        account,
        market,
        side: Side::from_code(codes[0]).ok_or_else(unknown)?,
        order_type: PerpetualOrderType::from_code(codes[1]).ok_or_else(unknown)?,
        original_type: PerpetualOrderType::from_code(codes[2]).ok_or_else(unknown)?,
        time_in_force: PerpetualTimeInForce::from_code(codes[3]).ok_or_else(unknown)?,
        self_trade: SelfTradePrevention::from_code(codes[4]).ok_or_else(unknown)?,
        working_type: WorkingType::from_code(codes[5]).ok_or_else(unknown)?,
        price_match: PriceMatch::from_code(codes[6]).ok_or_else(unknown)?,
        stage,
        is_shortened: codes[8] != 0,
        is_deferred: codes[9] != 0,
        has_turned: codes[10] != 0,
        flags: reader.u16()?,
        callback_rate: reader.u32()?,
        amendments: reader.u32()?,
        ..Details::default()
    };
    let mut values = [0; 15];
    for value in &mut values {
        *value = reader.i64()?;
    }
    [
        details.price,
        details.quantity,
        details.filled,
        _,
        details.value,
        details.stop_price,
        details.extreme,
        ..,
    ] = values;
    let remaining = values[3];
    details.good_till_ms = values[7];
    details.parent = values[8] as u64;
    details.children = [values[9] as u64, values[10] as u64];
    details.reservation = Reservation { reference: values[11], open_loss: values[12], fee: values[13] };
    details.reserved_quantity = values[14];
    details.client_order = reader.array()?;
    let rests = details.stage == Stage::Resting;
    ensure(
        details.quantity >= 0
            && (0..=details.quantity).contains(&details.filled)
            && rests == (remaining > 0)
            && remaining <= details.quantity - details.filled
            && (!rests || details.price > 0)
            && details.reserved_quantity >= 0,
        "an order's quantities are out of range",
    )?;
    Ok((details, remaining))
}
