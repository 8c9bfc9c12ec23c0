//! `ringside archive`: what everybody may know of a day as files that people know from public dumps, and the way out of the archive for
//! what such files hold.
//!
//! ```text
//!  TO/data/futures/um/daily/trades/BTCUSDT/BTCUSDT-trades-2026-11-26.zip            one CSV in it
//!  TO/data/futures/um/daily/trades/BTCUSDT/BTCUSDT-trades-2026-11-26.zip.CHECKSUM   SHA-256, as sha256sum reads it
//! ```
//!
//! Both read the archive beside a running exchange. The same rows give the same bytes, so that a removal makes the files of the days it
//! is about once more, in no file, and goes on only where they are what lies there. Trades alone are removed: of everything public they
//! take the room, and candles, funding rates and what belongs to accounts stay.

pub(super) mod day;
mod rows;

use crate::boot::{self, ViewFold};
use crate::config::Config;
use anyhow::{Context, Result, bail, ensure};
use day::Day;
use ringside_core::Engine;
use ringside_persist::archive::sqlite::Sqlite;
use ringside_persist::archive::{Archive, ArchiveReader, EntriesAsked};
use ringside_persist::read::look::look;
use ringside_persist::storage::disk::Disk;
use ringside_views::Views;
use ringside_views::history::TradeRecord;
use ringside_views::perpetual::rows::MarketTrade;
use rows::{Kind, Market, all, first};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
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

/// Writes the files of a day into a folder.
pub(super) fn export(config: &Config, data: &Path, day: Day, to: &Path) -> Result<String> {
    let mut opened = Opened::of(config, data)?;
    let archived_ms = opened.reader.mark()?.time_ns / 1_000_000;
    ensure!(
        archived_ms >= day.next().begin_ms,
        "{day} is not over in the archive, which has come to {}",
        Day::of(archived_ms)
    );
    let mut told = String::new();
    for market in markets(opened.fold.views()) {
        let reader = &mut *opened.reader;
        if let Some(oldest) = oldest(reader, market)?.filter(|oldest| oldest.follows_others) {
            ensure!(
                day.begin_ms >= Day::of(oldest.time_ms).next().begin_ms,
                "{}: trades of {day} were removed from the archive",
                market.symbol()
            );
        }
        for kind in market.kinds() {
            let (folder, name) = market.file(*kind, day);
            let folder = to.join(folder);
            let count = write_file(reader, market, *kind, day, &folder, &name)?;
            if count > 0 {
                let _ = writeln!(told, "{count:>10}  {name}.zip");
            }
        }
    }
    if told.is_empty() {
        told = format!("nothing happened on {day}\n");
    }
    Ok(told)
}

/// Writes one file and its checksum; how many rows it has. Nothing is written of nothing.
fn write_file(
    reader: &mut dyn ArchiveReader,
    market: Market<'_>,
    kind: Kind,
    day: Day,
    folder: &Path,
    name: &str,
) -> Result<u64> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let partial = folder.join(format!("{name}.zip.partial"));
    let file = File::create(&partial).with_context(|| format!("cannot write {}", partial.display()))?;
    let mut out = Hashing { out: BufWriter::new(file), hash: Sha256::new() };
    let count = packed(reader, market, kind, day, name, &mut out)?;
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
    let (path, checksum) = (folder.join(format!("{name}.zip")), folder.join(format!("{name}.zip.CHECKSUM")));
    fs::rename(&partial, &path)?;
    let mut file = File::create(&checksum)?;
    file.write_all(line(&hash.finalize(), name).as_bytes())?;
    file.sync_all()?;
    File::open(folder)?.sync_all()?;
    Ok(count)
}

fn packed(
    reader: &mut dyn ArchiveReader,
    market: Market<'_>,
    kind: Kind,
    day: Day,
    name: &str,
    out: &mut impl Write,
) -> Result<u64> {
    let mut zip = ZipWriter::new_stream(out);
    // When a file was made is no part of what it says: the same rows give the same bytes.
    let options = SimpleFileOptions::default().last_modified_time(DateTime::default());
    zip.start_file(format!("{name}.csv"), options)?;
    let count = rows::write(reader, market, kind, day, &mut zip)?;
    zip.finish()?;
    Ok(count)
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

/// Removes the trades of all days before one, whose files lie in `exported`.
pub(super) fn prune(config: &Config, data: &Path, before: Day, exported: &Path) -> Result<String> {
    let mut opened = Opened::of(config, data)?;
    let markets = markets(opened.fold.views());
    for market in &markets {
        check_exported(&mut *opened.reader, *market, before, exported)?;
    }
    let mut told = String::new();
    for market in markets {
        let Some(id) = first_kept(&opened.archive, &mut *opened.reader, market, before)? else { continue };
        let count = opened.archive.remove_before(market.trades(), market.id(), id)?;
        let _ = writeln!(told, "{count:>10}  trades of {} before {before} are removed", market.symbol());
    }
    drop(opened.reader);
    // Beside a running exchange the file keeps its length, and what is free in it is used again.
    match Disk::open_existing(&super::journal_of(data))?.lock() {
        Ok(_lock) => opened.archive.shrink()?,
        Err(_) => told += "the exchange runs: the file keeps its length, and its free pages are used again\n",
    }
    Ok(told)
}

/// Every day before `before` of which there are trades lies in `exported`, byte for byte as it would be exported now.
fn check_exported(
    reader: &mut dyn ArchiveReader,
    market: Market<'_>,
    before: Day,
    exported: &Path,
) -> Result<()> {
    let Some(oldest) = oldest(reader, market)? else { return Ok(()) };
    let mut day = Day::of(oldest.time_ms);
    // What is left of a day whose older packs are gone was compared when those went.
    if oldest.follows_others {
        day = day.next();
    }
    while day < before {
        for kind in [Kind::Trades, Kind::AggregateTrades].iter().filter(|kind| market.kinds().contains(kind))
        {
            let (folder, name) = market.file(*kind, day);
            let mut out = Hashing { out: io::sink(), hash: Sha256::new() };
            if packed(reader, market, *kind, day, &name, &mut out)? == 0 {
                continue;
            }
            let wanted = line(&out.hash.finalize(), &name);
            let path = exported.join(folder).join(format!("{name}.zip"));
            let found = fs::read_to_string(path.with_extension("zip.CHECKSUM")).unwrap_or_default();
            let mut lies = Hashing { out: io::sink(), hash: Sha256::new() };
            let is_there = File::open(&path).and_then(|mut file| io::copy(&mut file, &mut lies)).is_ok();
            if !is_there || found != wanted || line(&lies.hash.finalize(), &name) != wanted {
                bail!(
                    "{} is not what `ringside archive export --day {day}` writes: nothing was removed",
                    path.display()
                );
            }
        }
        day = day.next();
    }
    Ok(())
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
