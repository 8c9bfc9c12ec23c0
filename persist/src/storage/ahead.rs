//! Reads a file from front to back, the next stretches on a thread of its own while the reader works on this one:
//! reading past the page cache gets no help from the kernel. The thread also shows each stretch to whoever has work to do
//! on it that the reader is spared.

use crate::storage::{BLOCK_LEN, Buffer, File};
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a stretch.
const STRETCH_LEN: usize = 1 << 20;

/// Stretches on their way at most.
const STRETCHES: usize = 2;

/// Whether a file of `len` bytes is worth reading ahead.
pub fn is_worth_it(len: u64) -> bool {
    len >= 4 * STRETCH_LEN as u64
}

/// `file` of `len` bytes, for reading from front to back. `show` gets every stretch that is read, with its place in the file,
/// before the reader does. Fails when the system gives no thread.
pub fn read_ahead(
    file: Arc<dyn File>,
    len: u64,
    mut show: impl FnMut(u64, &[u8]) + Send + 'static,
) -> io::Result<Arc<dyn File>> {
    let (ask, asked) = sync_channel::<Stretch>(STRETCHES);
    let (give, given) = sync_channel(STRETCHES);
    let theirs = file.clone();
    std::thread::Builder::new().name("read-ahead".to_string()).spawn(move || {
        // Ends when the reader is dropped: one of the channels is closed then.
        for mut stretch in asked {
            let len = stretch.len;
            let result = theirs.read_at(stretch.start, &mut stretch.buffer[..len]).map(|()| {
                show(stretch.start, &stretch.buffer[..len]);
                stretch
            });
            if give.send(result).is_err() {
                return;
            }
        }
    })?;
    let state = State {
        current: Stretch::empty(),
        asked: VecDeque::new(),
        free: Stretch::several(),
        ask,
        given,
        len,
    };
    Ok(Arc::new(Ahead { file, state: Mutex::new(state) }))
}

struct Ahead {
    file: Arc<dyn File>,
    state: Mutex<State>,
}

struct State {
    /// What was read.
    current: Stretch,
    /// Ends of the stretches that are being read, one behind the other.
    asked: VecDeque<u64>,
    free: Vec<Stretch>,
    ask: SyncSender<Stretch>,
    given: Receiver<io::Result<Stretch>>,
    len: u64,
}

struct Stretch {
    start: u64,
    len: usize,
    buffer: Buffer,
}

impl Stretch {
    fn empty() -> Stretch {
        Stretch { start: 0, len: 0, buffer: Buffer::zeroed(STRETCH_LEN) }
    }

    fn several() -> Vec<Stretch> {
        (0..STRETCHES).map(|_| Stretch::empty()).collect()
    }

    fn end(&self) -> u64 {
        self.start + self.len as u64
    }
}

impl State {
    /// Has the stretches from `start` on read, as many as there is room for.
    fn ask(&mut self, mut start: u64) -> io::Result<()> {
        while start < self.len
            && let Some(mut stretch) = self.free.pop()
        {
            stretch.start = start;
            stretch.len = (self.len - start).min(STRETCH_LEN as u64) as usize;
            start = stretch.end();
            self.asked.push_back(start);
            self.ask.send(stretch).map_err(|_| io::Error::other("the reading thread has ended"))?;
        }
        Ok(())
    }

    /// Makes the stretch at `offset` the current one and has the next read.
    fn turn(&mut self, offset: u64) -> io::Result<()> {
        if offset != self.current.end() {
            // Not from front to back after all: what was read ahead is of no use.
            while !self.asked.is_empty() {
                self.receive()?;
            }
        }
        if self.asked.is_empty() {
            self.ask(offset - offset % BLOCK_LEN as u64)?;
        }
        self.receive()?;
        self.ask(self.asked.back().copied().unwrap_or(self.current.end()))
    }

    fn receive(&mut self) -> io::Result<()> {
        self.asked.pop_front();
        let stretch = self.given.recv().map_err(|_| io::Error::other("the reading thread has ended"))??;
        self.free.push(std::mem::replace(&mut self.current, stretch));
        Ok(())
    }
}

impl File for Ahead {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut offset, mut rest) = (offset, buffer);
        while !rest.is_empty() {
            if offset >= state.len {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if offset < state.current.start || offset >= state.current.end() {
                state.turn(offset)?;
            }
            let at = (offset - state.current.start) as usize;
            let len = rest.len().min(state.current.len - at);
            let (now, later) = rest.split_at_mut(len);
            now.copy_from_slice(&state.current.buffer[at..at + len]);
            (offset, rest) = (offset + len as u64, later);
        }
        Ok(())
    }

    fn write_at(&self, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::faulty::{Faulty, Random};
    use crate::storage::{Access, Storage};

    #[test]
    fn reads_what_the_file_holds_in_any_order() {
        let storage = Faulty::new(1);
        let len = 5 * STRETCH_LEN + 3 * BLOCK_LEN;
        let bytes: Vec<u8> = (0..len).map(|at| (at ^ (at >> 9)) as u8).collect();
        storage.create("file").unwrap().write_at(0, &bytes).unwrap();
        let (shown, seen) = std::sync::mpsc::channel();
        let whole = bytes.clone();
        let show = move |start: u64, stretch: &[u8]| {
            assert!(stretch == &whole[start as usize..start as usize + stretch.len()], "at {start}");
            let _ = shown.send(start);
        };
        let file = read_ahead(storage.open("file", Access::Read).unwrap(), len as u64, show).unwrap();
        let mut random = Random::new(2);
        let mut buffer = vec![0; STRETCH_LEN];
        let mut offset = 0;
        for step in 0..300 {
            if step % 20 == 19 {
                offset = random.below(len as u64) as usize;
            }
            let len = (1 + random.below(STRETCH_LEN as u64) as usize).min(bytes.len() - offset);
            file.read_at(offset as u64, &mut buffer[..len]).unwrap();
            assert!(buffer[..len] == bytes[offset..offset + len], "{len} bytes at {offset}");
            offset = if offset + len == bytes.len() { 0 } else { offset + len };
        }
        assert!(file.read_at(len as u64 - 10, &mut buffer[..11]).is_err());
        let firsts: Vec<u64> = seen.try_iter().take(3).collect();
        assert_eq!(firsts, [0, STRETCH_LEN as u64, 2 * STRETCH_LEN as u64], "ahead of the reader");
    }
}
