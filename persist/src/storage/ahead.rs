//! Reads a file from front to back on threads of its own, ahead of whoever works on what was read: reading past the page cache
//! gets no help from the kernel. One thread reads, so that the disk always has something to do; a second shows each stretch
//! to whoever has work to do on it that the reader is spared; then the reader gets the buffer itself, not a copy.

use crate::storage::{Buffer, File};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Bytes of a stretch.
const STRETCH_LEN: usize = 1 << 19;

/// Stretches on their way at most.
const STRETCHES: usize = 5;

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
    spent: SyncSender<Buffer>,
    given: Receiver<io::Result<Stretch>>,
}

/// The bytes `from..to` of `file`, from front to back, each stretch behind `room` bytes that are the caller's to use. `show`
/// gets every stretch, with its place in the file, before [`Ahead::take`] gives it. All are multiples of the block length.
///
/// Errors: the system gives no threads.
pub fn read_ahead(
    file: Arc<dyn File>,
    from: u64,
    to: u64,
    room: usize,
    mut show: impl FnMut(u64, &[u8]) + Send + 'static,
) -> io::Result<Ahead> {
    // All channels hold all stretches there are, so only an empty one makes a thread wait. They end when the reader is
    // dropped: one of the channels is closed then.
    let (spent, free) = sync_channel::<Buffer>(STRETCHES);
    let (filled, fresh) = sync_channel::<io::Result<Stretch>>(STRETCHES);
    let (give, given) = sync_channel(STRETCHES);
    for _ in 0..STRETCHES {
        let _ = spent.try_send(Buffer::zeroed(room + STRETCH_LEN));
    }
    let read = move || {
        let mut start = from;
        for mut buffer in free {
            let len = (to - start).min(STRETCH_LEN as u64) as usize;
            if len == 0 {
                return;
            }
            let read = file.read_at(start, &mut buffer[room..room + len]);
            let is_over = read.is_err();
            if filled.send(read.map(|()| Stretch { start, len, buffer })).is_err() || is_over {
                return;
            }
            start += len as u64;
        }
    };
    let pass_on = move || {
        for stretch in fresh {
            if let Ok(Stretch { start, len, buffer }) = &stretch {
                show(*start, &buffer[room..room + len]);
            }
            if give.send(stretch).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("read-ahead".to_string()).spawn(read)?;
    std::thread::Builder::new().name("read-digest".to_string()).spawn(pass_on)?;
    Ok(Ahead { spent, given })
}

impl Ahead {
    /// The next stretch, waiting until it is read. Each follows the one before without gap.
    ///
    /// Errors: the file cannot be read, or was read to its end.
    pub fn take(&mut self) -> io::Result<Stretch> {
        // A thread that has ended closed its channel.
        self.given.recv().unwrap_or_else(|_| Err(io::ErrorKind::UnexpectedEof.into()))
    }

    /// Gives back the buffer of a stretch that is worked off.
    pub fn give_back(&mut self, buffer: Buffer) {
        // Nobody wants it any more when all is read.
        let _ = self.spent.try_send(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::faulty::Faulty;
    use crate::storage::{Access, BLOCK_LEN, Storage};

    #[test]
    fn gives_what_the_file_holds_and_shows_it_before() {
        let storage = Faulty::new(1);
        let len = 20 * STRETCH_LEN + 3 * BLOCK_LEN;
        let bytes: Vec<u8> = (0..len).map(|at| (at ^ (at >> 9)) as u8).collect();
        storage.create("file").unwrap().write_at(0, &bytes).unwrap();
        let (shown, seen) = std::sync::mpsc::channel();
        let whole = bytes.clone();
        let show = move |start: u64, stretch: &[u8]| {
            assert!(stretch == &whole[start as usize..start as usize + stretch.len()], "at {start}");
            let _ = shown.send(start);
        };
        let file = storage.open("file", Access::Read).unwrap();
        let (from, room) = (2 * BLOCK_LEN, BLOCK_LEN);
        let mut ahead = read_ahead(file, from as u64, len as u64, room, show).unwrap();
        let mut at = from;
        while at < len {
            let Stretch { start, len, mut buffer } = ahead.take().unwrap();
            assert_eq!(start, at as u64);
            assert!(buffer[room..room + len] == bytes[at..at + len], "{len} bytes at {at}");
            assert_eq!(seen.try_recv(), Ok(start), "shown before");
            buffer[..room].fill(0xff);
            ahead.give_back(buffer);
            at += len;
        }
        assert_eq!(at, len);
        assert_eq!(ahead.take().err().map(|error| error.kind()), Some(io::ErrorKind::UnexpectedEof));
    }

    #[test]
    fn what_cannot_be_read_is_told_in_its_turn() {
        let storage = Faulty::new(1);
        let len = 3 * STRETCH_LEN;
        storage.create("file").unwrap().write_at(0, &vec![1; len]).unwrap();
        let file = storage.open("file", Access::Read).unwrap();
        // The file is shorter than it should be.
        let mut ahead = read_ahead(file, 0, 4 * STRETCH_LEN as u64, 0, |_, _| {}).unwrap();
        for place in 0..3 {
            assert_eq!(ahead.take().unwrap().start, place * STRETCH_LEN as u64);
        }
        assert!(ahead.take().is_err());
        assert!(ahead.take().is_err());
    }
}
