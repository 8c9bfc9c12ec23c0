//! The disk by itself: written as segments are, and read as recovery reads them.

use super::stages::OwnClock;
use anyhow::{Context, Result, anyhow};
use ringside_persist::config::Method;
use ringside_persist::format::segment::{self, DATA_START};
use ringside_persist::storage::ahead::{self, Pool};
use ringside_persist::storage::disk::Disk;
use ringside_persist::storage::{Access, Buffer, File, Storage};
use ringside_persist::turns;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A folder that is removed at the end.
pub struct Scratch(PathBuf);

impl Scratch {
    /// In `parent`, where it gets a name of its own.
    ///
    /// Errors: I/O.
    pub fn new(parent: &Path) -> Result<Scratch> {
        let path = parent.join(format!("ringside-journal-{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("{}", path.display()))?;
        Ok(Scratch(path))
    }

    /// An empty folder in it.
    ///
    /// Errors: I/O.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.0.join(name);
        if path.exists() {
            std::fs::remove_dir_all(&path)?;
        }
        std::fs::create_dir_all(&path)?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A file of zeros on the disk, written with a method of the journal's own.
pub struct Bare {
    file: Arc<dyn File>,
    len: usize,
}

impl Bare {
    /// Of `len` bytes in `folder`.
    ///
    /// Errors: I/O.
    pub fn new(folder: &Path, method: Method, len: usize) -> Result<Bare> {
        let disk = Disk::open(folder, method, false)?;
        segment::allocate(&disk, "bare", len as u64)?;
        Ok(Bare { file: disk.open("bare", Access::Append)?, len })
    }

    /// The file.
    pub fn file(&self) -> &dyn File {
        self.file.as_ref()
    }

    /// Bytes of it.
    #[allow(clippy::len_without_is_empty)] // It is never empty.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Writes and syncs the whole file in pieces, one after the other; gives bytes per second, and the nanoseconds of a processor
    /// that a byte took. On a thread that asks for short
    /// turns, as the journal's own do: on a busy machine the disk must not look slower than it is for want of a processor.
    ///
    /// Errors: I/O.
    pub fn sweep(&self, piece: usize) -> Result<(f64, f64)> {
        let mut bytes = Buffer::zeroed(piece);
        bytes.fill(0x5a);
        let write = || -> Result<(f64, f64)> {
            turns::ask_for_short();
            let (own, start) = (OwnClock::start(), Instant::now());
            for offset in (0..self.len).step_by(piece) {
                self.file.write_at(offset as u64, &bytes[..piece])?;
                self.file.sync()?;
            }
            let took = start.elapsed().as_secs_f64();
            Ok((self.len as f64 / took, own.elapsed_ns() / self.len as f64))
        };
        std::thread::scope(|scope| {
            scope.spawn(write).join().map_err(|_| anyhow!("the writing thread panicked"))?
        })
    }

    /// The same, `depth` pieces on their way at a time, each filled anew by another thread than the one that writes it, as those
    /// of a journal are.
    ///
    /// Errors: I/O.
    pub fn sweep_fed(&self, piece: usize, depth: usize) -> Result<f64> {
        let (filled, to_write) = sync_channel::<(usize, Buffer)>(depth);
        let (spent, free) = sync_channel::<Buffer>(2 * depth + 2);
        for _ in 0..2 * depth + 1 {
            spent.send(Buffer::zeroed(piece))?;
        }
        let to_write = Mutex::new(to_write);
        let write = |spent: SyncSender<Buffer>| -> Result<()> {
            turns::ask_for_short();
            loop {
                let next = to_write.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok((offset, bytes)) = next else { return Ok(()) };
                self.file.write_at(offset as u64, &bytes[..piece])?;
                self.file.sync()?;
                // The filling thread has ended.
                let _ = spent.send(bytes);
            }
        };
        let write = &write;
        let start = Instant::now();
        std::thread::scope(|scope| {
            let each = (0..depth).map(|_| spent.clone());
            let writing: Vec<_> = each.map(|spent| scope.spawn(move || write(spent))).collect();
            drop(spent);
            for offset in (0..self.len).step_by(piece) {
                let mut bytes = free.recv()?;
                bytes.fill(offset.to_le_bytes()[2] | 1);
                filled.send((offset, bytes))?;
            }
            drop(filled);
            writing
                .into_iter()
                .try_for_each(|thread| thread.join().map_err(|_| anyhow!("a writing thread panicked"))?)
        })?;
        Ok(self.len as f64 / start.elapsed().as_secs_f64())
    }

    /// Writes and syncs one block; gives the time.
    ///
    /// Errors: I/O.
    pub fn one(&self, block: usize) -> Result<Duration> {
        let mut bytes = Buffer::zeroed(4096);
        bytes.fill(block as u8 | 1);
        let start = Instant::now();
        self.file.write_at((block * 4096 % self.len) as u64, &bytes)?;
        self.file.sync()?;
        Ok(start.elapsed())
    }
}

/// Bytes per second of reading the journal's segments in `folder` past the page cache, one read at a time, or as many as recovery
/// has on their way.
///
/// Errors: I/O.
pub fn reading(folder: &Path, is_ahead: bool) -> Result<f64> {
    let disk = Disk::open_existing(folder)?;
    let mut names: Vec<String> = disk.list()?;
    names.retain(|name| segment::first_seq_of(name).is_some());
    let (pool, mut bytes) = (Pool::new(0), 0);
    let mut buffer = Buffer::zeroed(ahead::STRETCH_LEN);
    let start = Instant::now();
    for name in &names {
        let file = disk.open(name, Access::Read)?;
        let (len, mut at) = (file.len()?, DATA_START);
        bytes += len - at;
        if is_ahead {
            let mut ahead = ahead::read_ahead(file, at, len, pool.clone())?;
            while at < len {
                at += ahead.take()?.len as u64;
            }
        } else {
            while at < len {
                let piece = (len - at).min(buffer.len() as u64) as usize;
                file.read_at(at, &mut buffer[..piece])?;
                at += piece as u64;
            }
        }
    }
    Ok(bytes as f64 / start.elapsed().as_secs_f64())
}
