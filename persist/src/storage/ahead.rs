//! Reads a file from front to back on threads of its own, ahead of whoever works on what was read: reading past the page cache
//! gets no help from the kernel. Two threads take turns, so that the disk has the next stretch to read before anybody has woken
//! to hear of the last; the reader gets the buffers themselves, not copies.

use crate::storage::{Buffer, File};
use crate::turns;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Bytes of a stretch.
const STRETCH_LEN: usize = 1 << 19;

/// Threads that read.
const READERS: usize = 2;

/// Stretches of each of them on their way at most.
const STRETCHES: usize = 3;

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
    pub buffer: Buffer,
}

/// A file on its way into memory; see the module's header. Dropping it ends its threads.
pub struct Ahead {
    lanes: [Lane; READERS],
    /// Stretches taken so far, and buffers given back: they belong to the threads in turn.
    taken: usize,
    given_back: usize,
}

/// One thread's.
struct Lane {
    spent: SyncSender<Buffer>,
    filled: Receiver<io::Result<Stretch>>,
}

/// The bytes `from..to` of `file`, from front to back, each stretch behind `room` bytes that are the caller's to use. All are
/// multiples of the block length.
///
/// Errors: the system gives no threads.
pub fn read_ahead(file: Arc<dyn File>, from: u64, to: u64, room: usize) -> io::Result<Ahead> {
    let first = Lane::start(file.clone(), from, to, room)?;
    let second = Lane::start(file, from + STRETCH_LEN as u64, to, room)?;
    Ok(Ahead { lanes: [first, second], taken: 0, given_back: 0 })
}

impl Lane {
    /// Reads the stretch at `from` and every [`READERS`]th after it.
    fn start(file: Arc<dyn File>, from: u64, to: u64, room: usize) -> io::Result<Lane> {
        // Both channels hold all stretches there are, so only an empty one makes a thread wait. They end when the reader is
        // dropped: one of them is closed then.
        let (spent, free) = sync_channel::<Buffer>(STRETCHES);
        let (fill, filled) = sync_channel(STRETCHES);
        for _ in 0..STRETCHES {
            let _ = spent.try_send(Buffer::zeroed(room + STRETCH_LEN));
        }
        let read = move || {
            turns::ask_for_short();
            let mut start = from;
            for mut buffer in free {
                let len = to.saturating_sub(start).min(STRETCH_LEN as u64) as usize;
                if len == 0 {
                    return;
                }
                let read = file.read_at(start, &mut buffer[room..room + len]);
                let is_over = read.is_err();
                if fill.send(read.map(|()| Stretch { start, len, buffer })).is_err() || is_over {
                    return;
                }
                start += (READERS * STRETCH_LEN) as u64;
            }
        };
        std::thread::Builder::new().name("read-ahead".to_string()).spawn(read)?;
        Ok(Lane { spent, filled })
    }
}

impl Ahead {
    /// The next stretch, waiting until it is read. Each follows the one before without gap.
    ///
    /// Errors: the file cannot be read, or was read to its end; every call says so then.
    pub fn take(&mut self) -> io::Result<Stretch> {
        // A thread that has ended closed its channel.
        let received = self.lanes[self.taken % READERS].filled.recv();
        let stretch = received.unwrap_or_else(|_| Err(io::ErrorKind::UnexpectedEof.into()))?;
        self.taken += 1;
        Ok(stretch)
    }

    /// Gives back the buffer of the oldest stretch that was not given back yet: it is worked off.
    pub fn give_back(&mut self, buffer: Buffer) {
        // Nobody wants it any more when all is read.
        let _ = self.lanes[self.given_back % READERS].spent.try_send(buffer);
        self.given_back += 1;
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
        for to in [len, 10 * STRETCH_LEN, from + STRETCH_LEN, from + BLOCK_LEN, from] {
            let file = storage.open("file", Access::Read).unwrap();
            let mut ahead = read_ahead(file, from as u64, to as u64, room).unwrap();
            let mut at = from;
            while at < to {
                let Stretch { start, len, mut buffer } = ahead.take().unwrap();
                assert_eq!(start, at as u64);
                assert!(buffer[room..room + len] == bytes[at..at + len], "{len} bytes at {at}");
                buffer[..room].fill(0xff);
                ahead.give_back(buffer);
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
        let mut ahead = read_ahead(file, 0, 4 * STRETCH_LEN as u64, 0).unwrap();
        for place in 0..3 {
            assert_eq!(ahead.take().unwrap().start, place * STRETCH_LEN as u64);
        }
        assert!(ahead.take().is_err());
        assert!(ahead.take().is_err());
    }
}
