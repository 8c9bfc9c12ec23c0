//! Opens the end of a journal for writing and appends to it without a journaller: what recovery and the skip tool
//! need. Every append is durable when it returns.

use crate::config::{PersistConfig, mode_code};
use crate::error::PersistError;
use crate::format::checksum;
use crate::format::record::{Class, SCHEMA, is_zero, side_len};
use crate::format::segment::{self, DATA_START, MAGIC, SegmentHeader};
use crate::read::replay::{Place, Reader, Step};
use crate::read::survey::{self, EpochMark, Survey};
use crate::storage::{Access, Buffer, File, Storage};
use crate::write::encoder::{Batch, Encoder, SideRoom, Tail};
use crate::write::flusher::Current;
use crate::write::segment_pool::Stock;
use crate::write::status::Position;
use ringside_core::command::Command;
use ringside_core::side::SideEntry;
use std::sync::Arc;

/// The open end of a journal.
pub(crate) struct Appender {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) encoder: Encoder,
    pub(crate) current: Current,
    pub(crate) stock: Stock,
    pub(crate) position: Position,
    /// What the records of the next batch carry.
    pub(crate) chain: u64,
    config: PersistConfig,
}

/// The end that a check found, if there is a journal at all.
pub(crate) type End = Option<(SegmentHeader, Place)>;

impl Appender {
    /// Begins epoch `epoch` at `end`: marks the epoch, makes what was kept durable, wipes what was not, and sees to a
    /// segment that bears this version's and mode's mark. `is_clean`: this process has written up to `end`, and nothing behind it.
    pub(crate) fn open(
        storage: Arc<dyn Storage>,
        config: &PersistConfig,
        survey: &Survey,
        end: End,
        is_clean: bool,
        engine_version: u32,
        epoch: u32,
    ) -> Result<Appender, PersistError> {
        let mut stock = stock(storage.as_ref(), config, survey)?;
        let (header, place) = match end {
            Some(end) => end,
            None => genesis(storage.as_ref(), config, engine_version, &mut stock)?,
        };
        if survey.epoch != (EpochMark::Known { journal_id: header.journal_id, epoch }) {
            survey::write_epoch(storage.as_ref(), header.journal_id, epoch)?;
        }
        let mut tail = match is_clean {
            true => Tail::at(header, &place),
            false => repair(storage.as_ref(), config, &header, &place, epoch)?,
        };
        let is_ours = header.engine_version == engine_version && header.mode == mode_code(config.mode);
        if !is_ours && tail.last.sequence < header.first_seq {
            // It holds no command, so its successor would bear its name: it is made anew.
            // What stands beside the commands there goes along.
            let sides = sides_of(storage.as_ref(), &tail)?;
            let is_bare = sides.is_empty();
            let header = SegmentHeader {
                mode: mode_code(config.mode),
                engine_version,
                epoch,
                schema: SCHEMA,
                segment_len: if is_bare { config.segment_len } else { header.segment_len },
                ..header
            };
            let spare = take(storage.as_ref(), header.segment_len, config, &mut stock)?;
            tail = Tail { header, offset: DATA_START, chain: header.entering_chain, last: tail.last };
            if !is_bare {
                write_aside(storage.as_ref(), config, &spare, &mut tail, epoch, &sides)?;
            }
            Current::begin(storage.as_ref(), &spare, header, || false)?;
        }
        let mut appender = Appender {
            current: Current::open(storage.as_ref(), tail.header)?,
            encoder: Encoder::new(config, engine_version, epoch, &tail),
            position: Position { segment: tail.header.number, offset: tail.offset },
            chain: tail.chain,
            storage,
            stock,
            config: config.clone(),
        };
        let is_ours =
            tail.header.engine_version == engine_version && tail.header.mode == mode_code(config.mode);
        while !is_ours && !appender.encoder.begins_segment() {
            let batch = appender.encoder.fill(Encoder::room(config.batch_len));
            appender.put(batch)?;
        }
        Ok(appender)
    }

    /// Appends one command and makes it durable.
    pub(crate) fn append(&mut self, command: &Command) -> Result<(), PersistError> {
        self.encoder.push(command);
        self.close()
    }

    /// Appends entries beside the commands and makes them durable; after an error some of them may be.
    ///
    /// Errors: I/O; they are more than a segment has room for before its first command.
    pub(crate) fn append_sides(&mut self, entries: &[SideEntry]) -> Result<(), PersistError> {
        for entry in entries {
            loop {
                match self.encoder.side_room(side_len(entry)) {
                    SideRoom::Now => break self.encoder.push_side(entry),
                    SideRoom::BehindThisBatch if !self.encoder.is_empty() => self.close()?,
                    SideRoom::BehindThisSegment => {
                        let batch = self.encoder.fill(Encoder::room(self.config.batch_len));
                        self.put(batch)?;
                    }
                    SideRoom::BehindThisBatch | SideRoom::BehindACommand => {
                        let reason = "what is to stand beside the commands is more than a segment or a batch has room for: give longer \
                                      ones"
                            .to_owned();
                        return Err(PersistError::Setting { setting: "segment_len", reason });
                    }
                }
            }
        }
        if self.encoder.is_empty() { Ok(()) } else { self.close() }
    }

    fn close(&mut self) -> Result<(), PersistError> {
        let batch = self.encoder.close(Encoder::room(self.config.batch_len));
        self.put(batch)
    }

    fn put(&mut self, mut batch: Batch) -> Result<(), PersistError> {
        batch.finish(&mut self.chain);
        if let Some(header) = batch.begins {
            let spare = take(self.storage.as_ref(), header.segment_len, &self.config, &mut self.stock)?;
            self.current = Current::begin(self.storage.as_ref(), &spare, header, || false)?;
        }
        let Current { file, name, header, .. } = &self.current;
        file.write_at(batch.offset, &batch.buffer[..batch.len]).map_err(PersistError::io("write", name))?;
        file.sync().map_err(PersistError::io("sync", name))?;
        self.position = Position { segment: header.number, offset: batch.offset + batch.len as u64 };
        self.encoder.confirm();
        Ok(())
    }
}

/// The spares on the disk; those that do not fit are removed, with what an earlier process left half written.
pub(crate) fn stock(
    storage: &dyn Storage,
    config: &PersistConfig,
    survey: &Survey,
) -> Result<Stock, PersistError> {
    let mut stock = Stock { names: Vec::new(), next_number: 1 };
    for name in &survey.leftovers {
        storage.remove(name).map_err(PersistError::io("remove", name))?;
    }
    for name in &survey.spares {
        stock.next_number = stock.next_number.max(segment::spare_number_of(name).unwrap_or(0) + 1);
        // Opening it as a segment finds holes.
        let is_whole = storage
            .open(name, Access::Append)
            .and_then(|file| Ok(file.len()? == config.segment_len && file.sync().is_ok()))
            .unwrap_or(false);
        if is_whole && stock.names.len() < config.spares {
            stock.names.push(name.clone());
        } else {
            storage.remove(name).map_err(PersistError::io("remove", name))?;
        }
    }
    Ok(stock)
}

/// Entries beside the commands in a segment that holds no command.
fn sides_of(storage: &dyn Storage, tail: &Tail) -> Result<Vec<SideEntry>, PersistError> {
    let name = tail.header.name();
    let file = storage.open(&name, Access::Read).map_err(PersistError::io("open", &name))?;
    let mut reader = Reader::new(file, tail.header, tail.offset);
    let mut sides = Vec::new();
    while let Step::Record(record) = reader.step()? {
        if record.class() == Class::Side {
            sides.push(record.side());
        }
    }
    Ok(sides)
}

/// Writes entries into the spare file that becomes the segment of `tail`, from its first record on. They come from such a segment of
/// that length, so there is room.
fn write_aside(
    storage: &dyn Storage,
    config: &PersistConfig,
    spare: &str,
    tail: &mut Tail,
    epoch: u32,
    sides: &[SideEntry],
) -> Result<(), PersistError> {
    let file = storage.open(spare, Access::Append).map_err(PersistError::io("open", spare))?;
    let mut encoder = Encoder::new(config, tail.header.engine_version, epoch, tail);
    let mut entries = sides.iter().peekable();
    while entries.peek().is_some() {
        while let Some(entry) = entries.next_if(|entry| encoder.side_room(side_len(entry)) == SideRoom::Now) {
            encoder.push_side(entry);
        }
        if encoder.is_empty() {
            let reason = "it has entries that are longer than batches are now".to_owned();
            return Err(PersistError::Setting { setting: "batch_len", reason });
        }
        let mut batch = encoder.close(Encoder::room(config.batch_len));
        batch.finish(&mut tail.chain);
        file.write_at(batch.offset, &batch.buffer[..batch.len]).map_err(PersistError::io("write", spare))?;
        tail.offset = batch.offset + batch.len as u64;
    }
    file.sync().map_err(PersistError::io("sync", spare))
}

fn take(
    storage: &dyn Storage,
    segment_len: u64,
    config: &PersistConfig,
    stock: &mut Stock,
) -> Result<String, PersistError> {
    if segment_len == config.segment_len
        && let Some(name) = stock.names.pop()
    {
        return Ok(name);
    }
    let name = segment::spare_name(stock.next_number);
    stock.next_number += 1;
    segment::allocate(storage, &name, segment_len)?;
    Ok(name)
}

/// The first segment of a new journal.
fn genesis(
    storage: &dyn Storage,
    config: &PersistConfig,
    engine_version: u32,
    stock: &mut Stock,
) -> Result<(SegmentHeader, Place), PersistError> {
    let journal_id = match config.journal_id {
        Some(id) => id,
        None => random_id().map_err(PersistError::io("read", "/dev/urandom"))?,
    };
    let header = first_header(config, engine_version, journal_id, 1);
    let spare = take(storage, config.segment_len, config, stock)?;
    Current::begin(storage, &spare, header, || false)?;
    Ok((header, Place { epoch: 0, ..Place::start_of(&header) }))
}

/// Header of a journal's first segment.
pub(crate) fn first_header(
    config: &PersistConfig,
    engine_version: u32,
    journal_id: [u8; 16],
    epoch: u32,
) -> SegmentHeader {
    SegmentHeader {
        magic: MAGIC,
        crc32c: 0,
        schema: SCHEMA,
        mode: mode_code(config.mode),
        journal_id,
        number: 1,
        first_seq: 1,
        entering_chain: checksum::chain_start(&journal_id),
        segment_len: config.segment_len,
        epoch,
        engine_version,
        entering_time_ns: 0,
    }
}

/// An id that no other journal has.
///
/// Errors: the system draws no numbers.
pub(crate) fn random_id() -> std::io::Result<[u8; 16]> {
    use std::io::Read;
    let mut id = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut id)?;
    Ok(id)
}

/// Makes the last segment end at `place`: commands of an unfinished batch are sealed, everything behind is zeroed,
/// all of it is synced. Blocks that were durable before are not touched: an unfinished batch shares none with them.
fn repair(
    storage: &dyn Storage,
    config: &PersistConfig,
    header: &SegmentHeader,
    place: &Place,
    epoch: u32,
) -> Result<Tail, PersistError> {
    let name = header.name();
    let file = storage.open(&name, Access::Repair).map_err(PersistError::io("open", &name))?;
    let mut tail = Tail::at(*header, place);
    // The seal will attest what is before it, which a killed process may have left in the page cache.
    file.sync().map_err(PersistError::io("sync", &name))?;
    if place.offset > place.batch_start {
        let mut written = vec![0; (place.offset - place.batch_start) as usize];
        file.read_at(place.batch_start, &mut written).map_err(PersistError::io("read", &name))?;
        let (version, count) = (header.engine_version, place.batch_commands);
        let mut encoder = Encoder::amid(config, version, epoch, &tail, &written, count);
        let mut batch = encoder.close(Buffer::zeroed(0));
        batch.finish(&mut tail.chain);
        file.write_at(batch.offset, &batch.buffer[..batch.len]).map_err(PersistError::io("write", &name))?;
        tail.offset += batch.len as u64;
    }
    wipe(storage, file.as_ref(), header, tail.offset)?;
    Ok(tail)
}

/// Zeroes the segment from byte `from` on, and syncs it; `file` is it, opened to be repaired.
pub(crate) fn wipe(
    storage: &dyn Storage,
    file: &dyn File,
    header: &SegmentHeader,
    from: u64,
) -> Result<(), PersistError> {
    /// So much is rewritten even if it reads as zeros: after a failed sync the page cache may know better.
    const WIPED_ALWAYS: u64 = 2 << 20;
    const CHUNK_LEN: usize = 1 << 20;
    let name = header.name();
    let reader = storage.open(&name, Access::Read).map_err(PersistError::io("open", &name))?;
    let mut offset = from;
    let mut chunk = Buffer::zeroed((header.segment_len - offset).min(CHUNK_LEN as u64) as usize);
    while offset < header.segment_len {
        let len = (header.segment_len - offset).min(CHUNK_LEN as u64) as usize;
        reader.read_at(offset, &mut chunk[..len]).map_err(PersistError::io("read", &name))?;
        if offset < from + WIPED_ALWAYS || !is_zero(&chunk[..len]) {
            segment::zero(file, &name, offset, offset + len as u64)?;
        }
        offset += len as u64;
    }
    file.sync().map_err(PersistError::io("sync", &name))
}
