//! The format by itself: commands into batches, with no ring and nobody to tell.

use super::disk::Bare;
use super::running::RING;
use super::stages::OwnClock;
use anyhow::{Context, Result, anyhow};
use ringside_bench::workload::Stamper;
use ringside_core::command::Command;
use ringside_persist::config::PersistConfig;
use ringside_persist::format::checksum::{self, Salt};
use ringside_persist::format::record::{self, COMMAND_LEN_MAX, Last, Stamp};
use ringside_persist::format::segment::{self, SegmentHeader};
use ringside_persist::storage::Buffer;
use ringside_persist::turns;
use ringside_persist::write::encoder::{Batch, Encoder, Tail};
use std::hint::black_box;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use zerocopy::FromZeros;

/// Encodes into the batches of a journal that has nowhere to stand.
fn encoder() -> (Encoder, Buffer) {
    let config = PersistConfig::new("");
    let header = SegmentHeader {
        magic: segment::MAGIC,
        crc32c: 0,
        schema: record::SCHEMA,
        mode: 2,
        journal_id: [1; 16],
        number: 1,
        first_seq: 1,
        entering_chain: 0,
        segment_len: 1 << 32,
        epoch: 1,
        engine_version: 1,
        entering_time_ns: 0,
    };
    let tail = Tail { header, offset: segment::DATA_START, chain: 0, last: Last::default() };
    (Encoder::new(&config, 1, 1, &tail), Encoder::room(config.batch_len))
}

/// Bytes per second of its processor of turning commands into batches, whose sums are left out unless `is_finished`;
/// nothing is written.
pub fn encoding(commands: &[Command], count: usize, is_finished: bool) -> f64 {
    let (mut encoder, mut room) = encoder();
    let mut chain = 0;
    let mut stamper = Stamper::after(0);
    let mut bytes = 0;
    let clock = OwnClock::start();
    for command in commands.iter().cycle().take(count) {
        if !encoder.has_room() {
            let mut batch = encoder.close(room);
            if is_finished {
                batch.finish(&mut chain);
            }
            bytes += batch.len;
            room = batch.buffer;
        }
        encoder.push(&stamper.stamp(*command));
    }
    bytes as f64 * 1e9 / clock.elapsed_ns()
}

/// Nanoseconds of a processor for stamping a command where it is to lie, among as many as a ring holds: the least that
/// bringing it can cost.
pub fn stamping(commands: &[Command], count: usize) -> f64 {
    let mut room = vec![Command::new_zeroed(); RING];
    let mut stamper = Stamper::after(0);
    let clock = OwnClock::start();
    for (place, command) in commands.iter().cycle().take(count).enumerate() {
        room[place % RING] = stamper.stamp(*command);
    }
    black_box(&room);
    clock.elapsed_ns() / count as f64
}

/// Bytes per second of each thing that is done to a batch, by itself, on one thread.
pub struct Pieces {
    /// Commands laid down as records.
    pub records: f64,
    /// Their CRCs, and what they carry of the batch before.
    pub links: f64,
    /// The digest.
    pub digests: f64,
}

/// Takes `count` commands, those given over and over, through the pieces one after the other, a batch at a time.
pub fn pieces(commands: &[Command], count: usize) -> Pieces {
    let batch_len = PersistConfig::new("").batch_len;
    let mut room = Buffer::zeroed(batch_len);
    let (stamp, salt) = (Stamp { durable_seq: 1, epoch: 1 }, Salt::new(&[1; 16], 1));
    let mut stamper = Stamper::after(0);
    let (mut bytes, mut took) = (0, [Duration::ZERO; 3]);
    let mut source = commands.iter().cycle().take(count).peekable();
    while source.peek().is_some() {
        let start = Instant::now();
        let mut used = 0;
        while used + COMMAND_LEN_MAX <= batch_len
            && let Some(command) = source.next()
        {
            used += stamp.command(&mut room[used..], &stamper.stamp(*command), used as u64);
        }
        took[0] += start.elapsed();
        let start = Instant::now();
        record::link(&mut room, salt, 1, 0, used);
        took[1] += start.elapsed();
        let start = Instant::now();
        black_box(checksum::digest(&room[..used]));
        took[2] += start.elapsed();
        bytes += used;
    }
    let [records, links, digests] = took.map(|took| bytes as f64 / took.as_secs_f64());
    Pieces { records, links, digests }
}

/// Bytes per second of all that the format asks for and no more: commands from memory become batches on one thread, their
/// sums on a second, writes and syncs on two more. No ring, no gate, nobody who waits for anything.
///
/// Errors: I/O.
pub fn format_alone(bare: &Bare, commands: &[Command], count: usize) -> Result<f64> {
    const BATCHES: usize = 4;
    let (mut encoder, mut room) = encoder();
    let mut stamper = Stamper::after(0);
    let (encoded, to_digest) = sync_channel::<Batch>(BATCHES);
    let (digested, to_write) = sync_channel::<Batch>(BATCHES);
    let (spent, free) = sync_channel::<Buffer>(BATCHES);
    for _ in 0..BATCHES {
        spent.send(Buffer::zeroed(room.len()))?;
    }
    let to_write = Mutex::new((to_write, 0));
    let write = |spent: SyncSender<Buffer>| -> Result<()> {
        turns::ask_for_short();
        loop {
            let mut next = to_write.lock().unwrap_or_else(PoisonError::into_inner);
            let Ok(batch) = next.0.recv() else { return Ok(()) };
            let offset = next.1;
            next.1 += batch.len;
            drop(next);
            (offset + batch.len <= bare.len()).then_some(()).context("the file is too short")?;
            bare.file().write_at(offset as u64, &batch.buffer[..batch.len])?;
            bare.file().sync()?;
            // The encoder has ended.
            let _ = spent.send(batch.buffer);
        }
    };
    let write = &write;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut chain = 0;
            for mut batch in to_digest {
                batch.finish(&mut chain);
                if digested.send(batch).is_err() {
                    return;
                }
            }
        });
        let theirs = spent.clone();
        let writing = [scope.spawn(move || write(theirs)), scope.spawn(move || write(spent))];
        let start = Instant::now();
        for command in commands.iter().cycle().take(count) {
            if !encoder.has_room() {
                encoded.send(encoder.close(room)).context("the thread of the digests ended")?;
                room = free.recv().context("the writing thread ended")?;
            }
            encoder.push(&stamper.stamp(*command));
        }
        encoded.send(encoder.close(room)).context("the thread of the digests ended")?;
        drop((encoded, free));
        for thread in writing {
            thread.join().map_err(|_| anyhow!("a writing thread panicked"))??;
        }
        let bytes = to_write.lock().unwrap_or_else(PoisonError::into_inner).1;
        Ok(bytes as f64 / start.elapsed().as_secs_f64())
    })
}
