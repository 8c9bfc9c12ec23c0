//! Reads a file from front to back on threads of its own, ahead of whoever works on what was read: reading past the page cache
//! gets no help from the kernel. Several reads are on their way at once, so that the disk is never without one, and whoever works
//! gets the buffers themselves, not copies; dropped, on whichever thread, they go back to be read into again.
//!
//! Knows nothing of what it reads.

use crate::storage::{Buffer, File};
use crate::turns;
use std::collections::BTreeMap;
use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes of a stretch.
pub const STRETCH_LEN: usize = 1 << 19;

/// Reads on their way at most.
pub const READS: usize = 4;

/// Buffers there are: being read into, read, being checked, being applied. With the room that recovery wants they are two huge pages
/// together; each more costs as much as checking two of them.
const BUFFERS: usize = 7;

/// Whether a file of `len` bytes is worth reading ahead.
pub fn is_worth_it(len: u64) -> bool {
    len >= 8 * STRETCH_LEN as u64
}

/// Bytes of a file, with room in front of them.
pub struct Stretch {
    /// Their place in the file.
    pub start: u64,
    /// How many.
    pub len: usize,
    /// The room, then the bytes.
    pub buffer: Lent,
}

/// A buffer that goes back to where it came from when it is dropped.
pub struct Lent {
    buffer: Option<Buffer>,
    home: Option<Arc<Pool>>,
}

impl Lent {
    /// A buffer that came from nowhere.
    pub fn own(buffer: Buffer) -> Lent {
        Lent { buffer: Some(buffer), home: None }
    }

    /// The buffer, for good.
    pub fn into_buffer(mut self) -> Buffer {
        self.buffer.take().unwrap_or_else(|| Buffer::zeroed(0))
    }
}

impl Deref for Lent {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        self.buffer.as_deref().unwrap_or_default()
    }
}

impl DerefMut for Lent {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.buffer.as_deref_mut().unwrap_or_default()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Some(buffer), Some(home)) = (self.buffer.take(), &self.home) {
            home.lock().push(buffer);
            home.freed.notify_one();
        }
    }
}

/// Buffers for files that are read one after the other.
pub struct Pool {
    room: usize,
    free: Mutex<Vec<Buffer>>,
    freed: Condvar,
}

impl Pool {
    /// `room` bytes, a multiple of the block length, are left before what is read.
    pub fn new(room: usize) -> Arc<Pool> {
        let free = Mutex::new(Buffer::several(BUFFERS, room + STRETCH_LEN));
        Arc::new(Pool { room, free, freed: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Buffer>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A buffer, waiting for one; `None` once nobody reads on.
    fn take(self: &Arc<Pool>, is_over: &AtomicBool) -> Option<Lent> {
        let mut free = self.lock();
        loop {
            // Relaxed: it is set under this lock, or has no hurry.
            if is_over.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(buffer) = free.pop() {
                return Some(Lent { buffer: Some(buffer), home: Some(self.clone()) });
            }
            free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A file on its way into memory; see the module's header. Dropping it ends its threads.
pub struct Ahead {
    reading: Arc<Reading>,
    /// Stretches taken so far.
    taken: u64,
    has_failed: bool,
}

/// What the threads share.
struct Reading {
    file: Arc<dyn File>,
    from: u64,
    to: u64,
    pool: Arc<Pool>,
    /// Nobody wants what is still to be read.
    is_over: AtomicBool,
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Default)]
struct State {
    /// Number of the stretch to be read next.
    next: u64,
    /// What was read, by number.
    read: BTreeMap<u64, io::Result<Stretch>>,
    /// Number of the stretch that is waited for.
    wanted: u64,
    /// Threads at work.
    threads: usize,
}

/// The bytes `from..to` of `file`, from front to back, each stretch behind the room that `pool` leaves, which is the caller's to
/// use. All are multiples of the block length.
///
/// Errors: the system gives no threads.
pub fn read_ahead(file: Arc<dyn File>, from: u64, to: u64, pool: Arc<Pool>) -> io::Result<Ahead> {
    let state = Mutex::new(State { threads: READS, ..State::default() });
    let (is_over, filled) = (AtomicBool::new(false), Condvar::new());
    let reading = Arc::new(Reading { file, from, to, pool, is_over, state, filled });
    let ahead = Ahead { reading: reading.clone(), taken: 0, has_failed: false };
    for _ in 0..READS {
        let theirs = reading.clone();
        let read = move || {
            turns::ask_for_short();
            theirs.run();
        };
        std::thread::Builder::new().name("read-ahead".to_string()).spawn(read)?;
    }
    Ok(ahead)
}

impl Reading {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        // The buffer first: the stretch that is waited for then has one.
        while let Some(mut buffer) = self.pool.take(&self.is_over) {
            let mut state = self.lock();
            let number = state.next;
            let start = self.from + number * STRETCH_LEN as u64;
            let len = self.to.saturating_sub(start).min(STRETCH_LEN as u64) as usize;
            if len == 0 {
                break;
            }
            state.next += 1;
            drop(state);
            let room = self.pool.room;
            let read = self.file.read_at(start, &mut buffer[room..room + len]);
            let is_error = read.is_err();
            let mut state = self.lock();
            state.read.insert(number, read.map(|()| Stretch { start, len, buffer }));
            if number == state.wanted {
                self.filled.notify_one();
            }
            if is_error {
                break;
            }
        }
        self.lock().threads -= 1;
        self.filled.notify_one();
    }
}

impl Ahead {
    /// The next stretch, waiting until it is read. Each follows the one before without gap.
    ///
    /// Errors: the file cannot be read, or was read to its end; every call says so then.
    pub fn take(&mut self) -> io::Result<Stretch> {
        if self.has_failed {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut state = self.reading.lock();
        state.wanted = self.taken;
        loop {
            if let Some(read) = state.read.remove(&self.taken) {
                self.taken += 1;
                self.has_failed |= read.is_err();
                return read;
            }
            if state.threads == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            state = self.reading.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        let free = self.reading.pool.lock();
        self.reading.is_over.store(true, Ordering::Relaxed);
        drop(free);
        self.reading.pool.freed.notify_all();
        let read = std::mem::take(&mut self.reading.lock().read);
        drop(read);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::faulty::Faulty;
    use crate::storage::{Access, BLOCK_LEN, Storage};

    #[test]
    fn gives_what_the_file_holds_in_its_order() {
        let storage = Faulty::new(1);
        let len = 20 * STRETCH_LEN + 3 * BLOCK_LEN;
        let bytes: Vec<u8> = (0..len).map(|at| (at ^ (at >> 9)) as u8).collect();
        storage.create("file").unwrap().write_at(0, &bytes).unwrap();
        let (from, room) = (2 * BLOCK_LEN, BLOCK_LEN);
        // One for all: what was dropped is read into again.
        let pool = Pool::new(room);
        for to in [len, 10 * STRETCH_LEN, from + STRETCH_LEN, from + BLOCK_LEN, from] {
            let file = storage.open("file", Access::Read).unwrap();
            let mut ahead = read_ahead(file, from as u64, to as u64, pool.clone()).unwrap();
            let mut at = from;
            while at < to {
                let Stretch { start, len, mut buffer } = ahead.take().unwrap();
                assert_eq!(start, at as u64);
                assert!(buffer[room..room + len] == bytes[at..at + len], "{len} bytes at {at}");
                buffer[..room].fill(0xff);
                at += len;
            }
            assert_eq!(at, to);
            for _ in 0..3 {
                let error = ahead.take().err().map(|error| error.kind());
                assert_eq!(error, Some(io::ErrorKind::UnexpectedEof));
            }
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_in_its_turn() {
        let storage = Faulty::new(1);
        let len = 3 * STRETCH_LEN;
        storage.create("file").unwrap().write_at(0, &vec![1; len]).unwrap();
        let file = storage.open("file", Access::Read).unwrap();
        // The file is shorter than it should be.
        let mut ahead = read_ahead(file, 0, 4 * STRETCH_LEN as u64, Pool::new(0)).unwrap();
        for place in 0..3 {
            assert_eq!(ahead.take().unwrap().start, place * STRETCH_LEN as u64);
        }
        assert!(ahead.take().is_err());
        assert!(ahead.take().is_err());
    }

    #[test]
    fn threads_that_nobody_waits_for_end_and_give_everything_back() {
        let storage = Faulty::new(1);
        storage.create("file").unwrap().write_at(0, &vec![1; 40 * STRETCH_LEN]).unwrap();
        let pool = Pool::new(0);
        for taken in [0, 1, BUFFERS, 2 * BUFFERS] {
            let file = storage.open("file", Access::Read).unwrap();
            let mut ahead = read_ahead(file, 0, 40 * STRETCH_LEN as u64, pool.clone()).unwrap();
            (0..taken).for_each(|_| drop(ahead.take().unwrap()));
            drop(ahead);
            let given_back = || pool.lock().len();
            for _ in 0..10_000 {
                if given_back() == BUFFERS {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            assert_eq!(given_back(), BUFFERS, "after {taken}");
        }
    }
}
