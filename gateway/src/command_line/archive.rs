//! `ringside archive`: what everybody may know of a day, and what accounts have of their own ([`own`]), as files that people know from
//! public dumps, and the way out of the archive for what such files hold.
//!
//! ```text
//!  TO/data/futures/um/daily/trades/BTCUSDT/BTCUSDT-trades-2026-11-26.zip            one CSV in it
//!  TO/data/futures/um/daily/trades/BTCUSDT/BTCUSDT-trades-2026-11-26.zip.CHECKSUM   SHA-256, as sha256sum reads it
//! ```
//!
//! Both read the archive beside a running exchange. The same rows give the same bytes, so that a removal makes the files of the days it
//! is about once more, in no file, and goes on only where they are what lies there. Of everything public trades alone are removed, which
//! take the room; candles and funding rates stay. The archive keeps through where each list was removed: who asks for what is gone is
//! told so.

pub(super) mod day;
mod own;
mod rows;

use super::inspect::Asked;
use crate::boot::{self, ViewFold};
use anyhow::{Context, Result, bail, ensure};
use day::Day;
use own::Own;
use ringside_config::Config;
use ringside_core::Engine;
use ringside_core::ids::{AccountId, MarketId};
use ringside_persist::archive::sqlite::Sqlite;
use ringside_persist::archive::{Archive, ArchiveReader, EntriesAsked};
use ringside_persist::read::look::look;
use ringside_persist::storage::disk::Disk;
use ringside_views::Views;
use ringside_views::archive::OWN_KEPT_MS;
use ringside_views::history::TradeRecord;
use ringside_views::perpetual::rows::MarketTrade;
use rows::{Kind, Market, all, first};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;
use zip::write::SimpleFileOptions;
use zip::{DateTime, ZipWriter};

/// A data folder's archive, and the markets that it is of.
struct Opened {
    archive: Sqlite,
    reader: Box<dyn ArchiveReader>,
    fold: ViewFold,
}

impl Opened {
    fn of(config: &Config, data: &Path) -> Result<Opened> {
        let archive = Sqlite::new(data.join("archive").join("history.db"));
        ensure!(archive.path().exists(), "there is no archive in {}", data.display());
        // Names and steps of markets are the newest state's.
        let mut fold = ViewFold::new(config.history_window);
        let journal = super::journal_of(data);
        look::<Engine>(&journal, &boot::engine_config(config), u64::MAX, u64::MAX, &mut fold, |_| ())?;
        let reader = archive.reader()?;
        Ok(Opened { archive, reader, fold })
    }
}

fn markets(views: &Views) -> Vec<Market<'_>> {
    let spot = views.markets().in_order_of_symbol();
    let spot = spot.map(|market| Market::Spot { market: market.market, symbol: market.symbol() });
    spot.chain(views.perpetuals().markets().all().iter().map(Market::Perpetual)).collect()
}

/// Whose own rows are exported.
#[derive(Clone, Copy, Debug)]
pub(super) enum Accounts {
    All,
    One(Asked),
}

impl FromStr for Accounts {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Accounts, Self::Err> {
        match text {
            "all" => Ok(Accounts::All),
            text => text.parse().map(Accounts::One).map_err(|_| "`all`, a number, or 0x and 40 hex digits"),
        }
    }
}

/// What one file holds of each day.
#[derive(Clone, Copy)]
enum Dump<'a> {
    Public(Market<'a>, Kind),
    Own(Own<'a>),
}

impl Dump<'_> {
    /// Folder and name of a day's file, without an ending.
    fn file(self, day: Day) -> Result<(String, String)> {
        match self {
            Dump::Public(market, kind) => Ok(market.file(kind, day)),
            Dump::Own(own) => own.file(day),
        }
    }

    /// Writes a day as a ZIP file; how many rows it has.
    fn pack(self, reader: &mut dyn ArchiveReader, day: Day, out: &mut impl Write) -> Result<u64> {
        let (_, name) = self.file(day)?;
        let mut zip = ZipWriter::new_stream(out);
        // When a file was made is no part of what it says: the same rows give the same bytes.
        let options = SimpleFileOptions::default().last_modified_time(DateTime::default());
        zip.start_file(format!("{name}.csv"), options)?;
        let count = match self {
            Dump::Public(market, kind) => rows::write(reader, market, kind, day, &mut zip)?,
            Dump::Own(own) => own.write(reader, day, &mut zip)?,
        };
        zip.finish()?;
        Ok(count)
    }

    /// Writes a day's file and its checksum; how many rows it has. Nothing is written of nothing.
    fn write(self, reader: &mut dyn ArchiveReader, day: Day, to: &Path) -> Result<u64> {
        let (folder, name) = self.file(day)?;
        let folder = to.join(folder);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let partial = folder.join(format!("{name}.zip.partial"));
        let file = File::create(&partial).with_context(|| format!("cannot write {}", partial.display()))?;
        let mut out = Hashing { out: BufWriter::new(file), hash: Sha256::new() };
        let count = self.pack(reader, day, &mut out)?;
        let Hashing { out, hash } = out;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        drop(file);
        if count == 0 {
            fs::remove_file(&partial)?;
            // Folders that were made for it alone go.
            let _ = folder.ancestors().take(4).try_for_each(fs::remove_dir);
            return Ok(0);
        }
        let (path, checksum) =
            (folder.join(format!("{name}.zip")), folder.join(format!("{name}.zip.CHECKSUM")));
        fs::rename(&partial, &path)?;
        let mut file = File::create(&checksum)?;
        file.write_all(line(&hash.finalize(), &name).as_bytes())?;
        file.sync_all()?;
        File::open(&folder)?.sync_all()?;
        Ok(count)
    }

    /// Whether a day's file lies there, byte for byte as it would be exported now. A day of nothing has none.
    fn check(self, reader: &mut dyn ArchiveReader, day: Day, exported: &Path) -> Result<()> {
        let (folder, name) = self.file(day)?;
        let mut out = Hashing { out: io::sink(), hash: Sha256::new() };
        if self.pack(reader, day, &mut out)? == 0 {
            return Ok(());
        }
        let wanted = line(&out.hash.finalize(), &name);
        let path = exported.join(folder).join(format!("{name}.zip"));
        let found = fs::read_to_string(path.with_extension("zip.CHECKSUM")).unwrap_or_default();
        let mut lies = Hashing { out: io::sink(), hash: Sha256::new() };
        let is_there = File::open(&path).and_then(|mut file| io::copy(&mut file, &mut lies)).is_ok();
        if !is_there || found != wanted || line(&lies.hash.finalize(), &name) != wanted {
            let of = if matches!(self, Dump::Own(_)) { " --account all" } else { "" };
            bail!(
                "{} is not what `ringside archive export --day {day}{of}` writes: nothing was removed",
                path.display()
            );
        }
        Ok(())
    }
}

/// The day that the archive is in; those before are over.
fn today(reader: &mut dyn ArchiveReader) -> Result<Day> {
    Ok(Day::of(reader.mark()?.time_ns / 1_000_000))
}

fn ensure_over(day: Day, today: Day) -> Result<()> {
    ensure!(day < today, "{day} is not over in the archive, which has come to {today}");
    Ok(())
}

/// Writes the files of a day into a folder.
pub(super) fn export(config: &Config, data: &Path, day: Day, to: &Path) -> Result<String> {
    let mut opened = Opened::of(config, data)?;
    let reader = &mut *opened.reader;
    ensure_over(day, today(reader)?)?;
    let mut told = String::new();
    for market in markets(opened.fold.views()) {
        ensure!(
            whole_from(reader, market)?.is_none_or(|whole| day >= whole),
            "{}: trades of {day} were removed from the archive",
            market.symbol()
        );
        for kind in market.kinds() {
            let dump = Dump::Public(market, *kind);
            let count = dump.write(reader, day, to)?;
            if count > 0 {
                let _ = writeln!(told, "{count:>10}  {}.zip", dump.file(day)?.1);
            }
        }
    }
    if told.is_empty() {
        told = format!("nothing happened on {day}\n");
    }
    Ok(told)
}

/// Writes what accounts have of their own, of a day or of all days that are over and of which nothing was removed.
pub(super) fn export_own(
    config: &Config,
    data: &Path,
    day: Option<Day>,
    accounts: Accounts,
    to: &Path,
) -> Result<String> {
    let mut opened = Opened::of(config, data)?;
    let (reader, views) = (&mut *opened.reader, opened.fold.views());
    let account = match accounts {
        Accounts::All => None,
        Accounts::One(asked) => Some(asked.find(views)?),
    };
    let end = today(reader)?;
    if let Some(day) = day {
        ensure_over(day, end)?;
    }
    let mut told = String::new();
    for own in Own::all(&opened.archive, views, account)? {
        let whole = removed_before(reader, own.list(), own.owner, own.market)?;
        let first = match (day, whole) {
            (Some(day), Some(whole)) if day < whole => bail!(
                "{}: {} in {} of {day} were removed from the archive",
                own.address()?,
                own.kind.words(),
                own.name()?
            ),
            (Some(day), _) => day,
            (None, whole) => whole.unwrap_or(Day::of(0)),
        };
        let end = day.map_or(end, Day::next);
        let mut next = first;
        while let Some(day) = day_from(reader, &own.asked(), next)?.filter(|day| *day < end) {
            let dump = Dump::Own(own);
            let count = dump.write(reader, day, to)?;
            let (folder, name) = dump.file(day)?;
            let _ = writeln!(told, "{count:>10}  {folder}/{name}.zip");
            next = day.next();
        }
    }
    if told.is_empty() {
        told = "there is nothing of that account or that day\n".to_owned();
    }
    Ok(told)
}

/// A line as `sha256sum` writes it.
fn line(hash: &[u8], name: &str) -> String {
    format!("{}  {name}.zip\n", const_hex::encode(hash))
}

struct Hashing<W> {
    out: W,
    hash: Sha256,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The oldest trade of a market that is left.
struct Oldest {
    time_ms: i64,
    /// Whether there were others before it.
    follows_others: bool,
}

fn oldest(reader: &mut dyn ArchiveReader, market: Market<'_>) -> Result<Option<Oldest>> {
    let asked = all(market.trades(), market.id());
    Ok(match market {
        Market::Spot { .. } => first::<TradeRecord>(reader, &asked)?.map(|trade| Oldest {
            time_ms: trade.time_ns.div_euclid(1_000_000),
            follows_others: trade.trade > 1,
        }),
        Market::Perpetual(_) => first::<MarketTrade>(reader, &asked)?
            .map(|trade| Oldest { time_ms: trade.time_ms, follows_others: trade.aggregate > 1 }),
    })
}

/// The first day of which no trade was removed, where some were.
fn whole_from(reader: &mut dyn ArchiveReader, market: Market<'_>) -> Result<Option<Day>> {
    if let Some(day) = removed_before(reader, market.trades(), 0, market.id())? {
        return Ok(Some(day));
    }
    // Builds of before kept nothing of what they removed.
    let oldest = oldest(reader, market)?.filter(|oldest| oldest.follows_others);
    Ok(oldest.map(|oldest| Day::of(oldest.time_ms).next()))
}

/// The first day of which no entry of a list was removed, where some were.
fn removed_before(
    reader: &mut dyn ArchiveReader,
    list: u16,
    owner: AccountId,
    market: MarketId,
) -> Result<Option<Day>> {
    let removed = reader.removed(list, owner, Some(market))?;
    Ok(removed.map(|removed| Day::of(removed.time_ms).next()))
}

/// The first day from one on that has something of what is asked for.
fn day_from(reader: &mut dyn ArchiveReader, asked: &EntriesAsked, from: Day) -> Result<Option<Day>> {
    let mut entries = Vec::new();
    let asked = EntriesAsked { times: from.begin_ms..=i64::MAX, limit: 1, ..asked.clone() };
    reader.entries(&asked, &mut entries)?;
    Ok(entries.first().map(|entry| Day::of(entry.time_ms)))
}

/// Every day before one of which a list has something lies in `exported`. What is left of days of which something was removed was
/// compared when that went.
fn check_exported(
    reader: &mut dyn ArchiveReader,
    asked: &EntriesAsked,
    (whole, before): (Option<Day>, Day),
    dumps: &[Dump<'_>],
    exported: &Path,
) -> Result<()> {
    let mut next = whole.unwrap_or(Day::of(0));
    while let Some(day) = day_from(reader, asked, next)?.filter(|day| *day < before) {
        for dump in dumps {
            dump.check(reader, day, exported)?;
        }
        next = day.next();
    }
    Ok(())
}

/// Removes the trades of all days before one, whose files lie in `exported`.
pub(super) fn prune(config: &Config, data: &Path, before: Day, exported: &Path) -> Result<String> {
    let mut opened = Opened::of(config, data)?;
    let markets = markets(opened.fold.views());
    for market in &markets {
        let dumps = [Kind::Trades, Kind::AggregateTrades].iter().filter(|kind| market.kinds().contains(kind));
        let dumps: Vec<Dump<'_>> = dumps.map(|kind| Dump::Public(*market, *kind)).collect();
        let reader = &mut *opened.reader;
        let days = (whole_from(reader, *market)?, before);
        check_exported(reader, &all(market.trades(), market.id()), days, &dumps, exported)?;
    }
    let mut told = String::new();
    for market in markets {
        let Some(id) = first_kept(&opened.archive, &mut *opened.reader, market, before)? else { continue };
        let count = opened.archive.remove_before(market.trades(), 0, market.id(), id)?;
        let _ = writeln!(told, "{count:>10}  trades of {} before {before} are removed", market.symbol());
    }
    shrink(opened, data, &mut told)?;
    Ok(told)
}

/// Gives the room back where nobody writes.
fn shrink(opened: Opened, data: &Path, told: &mut String) -> Result<()> {
    drop(opened.reader);
    // Beside a running exchange the file keeps its length, and what is free in it is used again.
    match Disk::open_existing(&super::journal_of(data))?.lock() {
        Ok(_lock) => opened.archive.shrink()?,
        Err(_) => {
            *told += "the exchange runs: the file keeps its length, and its free pages are used again\n"
        }
    }
    Ok(())
}

/// So often it is looked whether the archive of a running exchange has come as far as its journal, and how long it waits between.
const LOOKS: u32 = 50;
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// An order that has ended and is not archived yet would come into a day that was compared without it.
fn wait_for_archive(opened: &mut Opened) -> Result<()> {
    let sequence = opened.fold.views().sequence();
    for _ in 0..LOOKS {
        if opened.reader.mark()?.sequence >= sequence {
            return Ok(());
        }
        std::thread::sleep(LOOK_EVERY);
    }
    bail!(
        "the archive is behind the journal, which has come to {sequence}: start the exchange, which fills it"
    )
}

/// Removes accounts' own rows of all days before one, whose files lie in `exported`.
pub(super) fn prune_own(config: &Config, data: &Path, before: Day, exported: &Path) -> Result<String> {
    let mut opened = Opened::of(config, data)?;
    wait_for_archive(&mut opened)?;
    let last = Day::of(opened.reader.mark()?.time_ns / 1_000_000 - OWN_KEPT_MS);
    ensure!(before <= last, "own rows of {} days stay: --before {last} at most", OWN_KEPT_MS / 86_400_000);
    let views = opened.fold.views();
    let reader = &mut *opened.reader;
    let mut all = Vec::new();
    for own in Own::all(&opened.archive, views, None)? {
        let needed = own.needed_from(reader)?.filter(|day| *day < before);
        let days = (removed_before(reader, own.list(), own.owner, own.market)?, needed.unwrap_or(before));
        check_exported(reader, &own.asked(), days, &[Dump::Own(own)], exported)?;
        all.push((own, needed));
    }
    let (mut told, mut kept) = (String::new(), String::new());
    let mut sums = own::Kind::ALL.map(|kind| (kind, 0, 0));
    for (own, needed) in all {
        if let Some(day) = needed {
            let _ = writeln!(
                kept,
                "      kept  {} of {} in {} from {day} on: an order that was placed then is open",
                own.kind.words(),
                own.address()?,
                own.name()?
            );
        }
        let Some(id) = first_kept_own(reader, own, needed.unwrap_or(before))? else { continue };
        let count = opened.archive.remove_before(own.list(), own.owner, own.market, id)?;
        if let Some((_, rows, lists)) =
            sums.iter_mut().find(|(kind, ..)| *kind == own.kind).filter(|_| count > 0)
        {
            (*rows, *lists) = (*rows + count, *lists + 1);
        }
    }
    for (kind, rows, lists) in sums.into_iter().filter(|(_, rows, _)| *rows > 0) {
        let _ = writeln!(
            told,
            "{rows:>10}  {} before {before} are removed, of {lists} accounts' lists",
            kind.words()
        );
    }
    told += &kept;
    shrink(opened, data, &mut told)?;
    Ok(told)
}

/// The id of an own row below which all are of earlier days.
fn first_kept_own(reader: &mut dyn ArchiveReader, own: Own<'_>, before: Day) -> Result<Option<u64>> {
    let later = EntriesAsked { times: before.begin_ms..=i64::MAX, ..own.asked() };
    let newest = EntriesAsked { is_oldest: false, ..own.asked() };
    let mut entries = Vec::new();
    reader.entries(&later, &mut entries)?;
    if let Some(first) = entries.first() {
        return Ok(Some(first.id));
    }
    reader.entries(&newest, &mut entries)?;
    Ok(entries.first().map(|newest| newest.id + 1))
}

/// The id of the first trade that stays: of that day or later, the first of a pack and of a row of joined trades. The newest trade
/// always stays, so that it is known that there were others.
fn first_kept(
    archive: &Sqlite,
    reader: &mut dyn ArchiveReader,
    market: Market<'_>,
    before: Day,
) -> Result<Option<u64>> {
    let (list, id) = (market.trades(), market.id());
    let later = EntriesAsked { times: before.begin_ms..=i64::MAX, ..all(list, id) };
    let newest = EntriesAsked { is_oldest: false, ..all(list, id) };
    let mut ids = Vec::new();
    reader.entries(&later, &mut ids)?;
    if ids.is_empty() {
        reader.entries(&newest, &mut ids)?;
    }
    let Some(mut kept) = ids.first().map(|entry| entry.id) else { return Ok(None) };
    while let Some(begin) = archive.pack_from(list, id, kept)? {
        let Market::Perpetual(_) = market else { return Ok(Some(begin)) };
        let of = EntriesAsked { ids: begin..=begin, ..all(list, id) };
        let Some(trade) = first::<MarketTrade>(reader, &of)? else { return Ok(Some(begin)) };
        let joined = EntriesAsked { tag: trade.aggregate, ..all(list, id) };
        match first::<MarketTrade>(reader, &joined)? {
            // The row begins in a pack before.
            Some(first) if first.trade < begin => kept = first.trade,
            _ => return Ok(Some(begin)),
        }
    }
    Ok(None)
}
