//! Empty chunks of queues, made before they are needed by a thread that nobody waits for.
//!
//! Memory that is new to the process is cleared by the system where it is touched first, megabytes at a time: whoever folds
//! events would stand still for that, and every client behind it.

use crossbeam::queue::SegQueue;
use ringside_core::agent::Agent;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Rows of one chunk. A power of two, so that an index splits by shift and mask.
pub(super) const CHUNK: usize = 512;
/// Empty chunks that are kept for what comes, at least: more than a busy queue fills between two looks.
const SPARES: usize = 8;
/// The smallest page of the system.
const PAGE_LEN: usize = 4_096;
/// How often it is looked while chunks are taken, and else.
const NAPS: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(100)];

/// The empty chunks of one queue.
pub struct ChunkPool<T> {
    chunks: SegQueue<Vec<T>>,
    /// How many are kept.
    wanted: AtomicUsize,
    /// Some row, to touch memory with. There once the queue has had more than one chunk: most never do.
    row: OnceLock<T>,
}

impl<T> Default for ChunkPool<T> {
    fn default() -> ChunkPool<T> {
        ChunkPool { chunks: SegQueue::new(), wanted: AtomicUsize::new(SPARES), row: OnceLock::new() }
    }
}

impl<T> fmt::Debug for ChunkPool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} spare chunks", self.chunks.len())
    }
}

impl<T: Copy> ChunkPool<T> {
    /// An empty chunk, of which `row` will be the first.
    pub(super) fn take(&self, row: T) -> Vec<T> {
        self.row.get_or_init(|| row);
        self.chunks.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK))
    }

    /// Keeps a chunk whose rows have gone, where there is room for it.
    pub(super) fn give(&self, mut chunk: Vec<T>) {
        chunk.clear();
        // One too many goes back to the system.
        if self.is_short() {
            self.chunks.push(chunk);
        }
    }

    /// Keeps enough for so many rows that may come at once.
    pub(super) fn expect(&self, rows: usize) {
        // Relaxed: nothing else is read by it.
        self.wanted.store(SPARES + rows / CHUNK, Ordering::Relaxed);
    }

    fn is_short(&self) -> bool {
        self.chunks.len() < self.wanted.load(Ordering::Relaxed)
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.chunks.len()
    }
}

/// Something that runs short of chunks.
pub trait Refill: Send + Sync {
    /// Makes chunks until there are as many as are kept; how many that was.
    fn restock(&self) -> usize;
}

impl<T: Copy + Send + Sync> Refill for ChunkPool<T> {
    fn restock(&self) -> usize {
        let Some(row) = self.row.get() else { return 0 };
        let mut made = 0;
        // No more than a row of each page: what one processor has written, another has to fetch from it.
        let stride = (PAGE_LEN / size_of::<T>().max(1)).max(1);
        while self.is_short() {
            let mut chunk = Vec::with_capacity(CHUNK);
            for place in chunk.spare_capacity_mut().iter_mut().step_by(stride) {
                place.write(*row);
            }
            self.give(chunk);
            made += 1;
        }
        while self.chunks.len() > SPARES + self.wanted.load(Ordering::Relaxed) && self.chunks.pop().is_some()
        {
        }
        made
    }
}

/// Keeps spares up.
pub struct Refiller {
    spares: Vec<Arc<dyn Refill>>,
    has_made: bool,
}

impl Refiller {
    /// Of these queues.
    pub fn new(spares: Vec<Arc<dyn Refill>>) -> Refiller {
        Refiller { spares, has_made: false }
    }
}

impl Agent for Refiller {
    fn name(&self) -> &str {
        "restocker"
    }

    /// Gives 0 even so: what it makes will do until the next look.
    fn do_work(&mut self) -> usize {
        let made: usize = self.spares.iter().map(|spares| spares.restock()).sum();
        self.has_made = made > 0;
        0
    }

    fn next_timer(&self) -> Duration {
        NAPS[usize::from(!self.has_made)]
    }
}
