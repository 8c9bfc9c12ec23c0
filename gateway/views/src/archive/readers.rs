//! Threads that read the archive, so that no gateway thread ever waits for a disk.
//!
//! Each has a connection of its own. A question takes one turn or several, each a few milliseconds; behind a turn it stands at the
//! end of those that have begun, so that many that take long share the threads and none holds them. Questions that have not begun go
//! first, save that one that has begun gets every fourth turn: so a page is not behind anybody's deep one, and a deep one comes
//! to its end under any number of pages. So many may wait; beyond that the client is told to come back instead of making everyone
//! wait longer.

use parking_lot::{Condvar, Mutex};
use ringside_persist::archive::{Archive, ArchiveError, ArchiveReader};
use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Questions that may wait.
const QUEUE: usize = 1024;
/// Questions begun one after the other while others wait for their next turn.
const BEGUN_AT_ONCE: usize = 3;

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Too many questions wait.
    Busy,
    /// The archive cannot be read; the reason is in the log.
    Failed,
}

/// Takes a turn; whether it wants another.
type Question = Box<dyn FnMut(&mut dyn ArchiveReader) -> bool + Send>;

#[derive(Default)]
struct Lanes {
    new: VecDeque<Question>,
    /// Had a turn, and want another.
    begun: VecDeque<Question>,
    /// New ones taken since one that has begun was.
    taken: usize,
    /// Threads that read.
    threads: usize,
    is_closed: bool,
}

impl Lanes {
    fn take(&mut self) -> Option<Question> {
        if self.taken >= BEGUN_AT_ONCE || self.new.is_empty() {
            self.taken = 0;
            if let Some(question) = self.begun.pop_front() {
                return Some(question);
            }
        }
        self.taken += 1;
        self.new.pop_front()
    }
}

#[derive(Default)]
struct Waiting {
    lanes: Mutex<Lanes>,
    some: Condvar,
}

/// The way to the threads. They end when it is dropped.
pub struct Readers {
    waiting: Arc<Waiting>,
}

impl Drop for Readers {
    fn drop(&mut self) {
        let mut lanes = self.waiting.lanes.lock();
        lanes.is_closed = true;
        lanes.new.clear();
        lanes.begun.clear();
        self.waiting.some.notify_all();
    }
}

impl Readers {
    /// Starts `count` threads, at least one.
    ///
    /// Errors: the archive cannot be opened; a thread cannot be started.
    pub fn start(archive: &dyn Archive, count: usize) -> Result<Readers, ReadersError> {
        let readers = Readers { waiting: Arc::default() };
        for number in 1..=count.max(1) {
            let reader = archive.reader()?;
            readers.waiting.lanes.lock().threads += 1;
            let seat = Seat(readers.waiting.clone());
            let thread = std::thread::Builder::new().name(format!("archive-{number}"));
            thread.spawn(move || seat.answer(reader)).map_err(ReadersError::Thread)?;
        }
        Ok(readers)
    }

    /// Has a question answered in one turn.
    pub async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut dyn ArchiveReader) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<T, Unreadable> {
        let mut question = Some(question);
        self.ask_in_turns(move |reader| match question.take() {
            Some(question) => question(reader).map(ControlFlow::Break),
            None => Ok(ControlFlow::Continue(())),
        })
        .await
    }

    /// Has a question answered turn by turn, until it has its answer.
    pub async fn ask_in_turns<T: Send + 'static>(
        &self,
        mut turn: impl FnMut(&mut dyn ArchiveReader) -> Result<ControlFlow<T>, ArchiveError> + Send + 'static,
    ) -> Result<T, Unreadable> {
        let (sender, receiver) = oneshot::channel();
        let mut sender = Some(sender);
        let question: Question = Box::new(move |reader| {
            // Who asked may be gone; then nobody needs the answer.
            if sender.as_ref().is_none_or(oneshot::Sender::is_closed) {
                return false;
            }
            let answer = match turn(reader) {
                Ok(ControlFlow::Continue(())) => return true,
                Ok(ControlFlow::Break(answer)) => Ok(answer),
                Err(error) => Err(error),
            };
            let _ = sender.take().map(|sender| sender.send(answer));
            false
        });
        {
            let mut lanes = self.waiting.lanes.lock();
            if lanes.threads == 0 {
                return Err(Unreadable::Failed);
            }
            if lanes.new.len() + lanes.begun.len() >= QUEUE {
                return Err(Unreadable::Busy);
            }
            lanes.new.push_back(question);
            self.waiting.some.notify_one();
        }
        match receiver.await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                tracing::error!(%error, "history cannot be read");
                Err(Unreadable::Failed)
            }
            // A thread that died drops what it holds.
            Err(_) => Err(Unreadable::Failed),
        }
    }
}

/// A thread's place; given up when it ends, however that comes.
struct Seat(Arc<Waiting>);

impl Drop for Seat {
    fn drop(&mut self) {
        let mut lanes = self.0.lanes.lock();
        lanes.threads -= 1;
        if lanes.threads == 0 {
            // Nobody is left to answer them.
            lanes.new.clear();
            lanes.begun.clear();
        }
    }
}

impl Seat {
    fn answer(&self, mut reader: Box<dyn ArchiveReader>) {
        let mut lanes = self.0.lanes.lock();
        while !lanes.is_closed {
            let Some(mut question) = lanes.take() else {
                self.0.some.wait(&mut lanes);
                continue;
            };
            drop(lanes);
            let goes_on = question(reader.as_mut());
            lanes = self.0.lanes.lock();
            if goes_on && !lanes.is_closed {
                lanes.begun.push_back(question);
            }
        }
    }
}

/// Why the readers do not start.
#[derive(Debug, thiserror::Error)]
pub enum ReadersError {
    /// The archive.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// A thread.
    #[error("cannot start a thread of the archive: {0}")]
    Thread(io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringside_persist::archive::sqlite::Sqlite;
    use std::sync::mpsc;

    /// Turns as one thread takes them: eight questions of many turns are under way when a page is asked for.
    #[test]
    fn a_page_is_answered_between_the_turns_of_deep_questions() {
        let folder = std::env::temp_dir().join(format!("ringside-turns-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let store = Sqlite::new(folder.join("history.db"));
        drop(store.writer([1; 16]).unwrap());
        let readers = Arc::new(Readers::start(&store, 1).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        // The first turn of all waits until everybody stands in line.
        let (start, started) = mpsc::channel::<()>();
        let (enter, entered) = mpsc::channel::<()>();
        let mut gate = Some((enter, started));
        let mut deep = Vec::new();
        for number in 0..8 {
            let (asking, order, mut gate) = (readers.clone(), order.clone(), gate.take());
            let mut left = 50;
            let turn = move |_: &mut dyn ArchiveReader| {
                if let Some((enter, started)) = gate.take() {
                    enter.send(()).unwrap();
                    started.recv().unwrap();
                }
                order.lock().push(number);
                left -= 1;
                Ok(if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            };
            deep.push(runtime.spawn(async move { asking.ask_in_turns(turn).await }));
            // In this order.
            runtime.block_on(tokio::task::yield_now());
            if number == 0 {
                entered.recv().unwrap();
            }
            assert_eq!(readers.waiting.lanes.lock().new.len(), number);
        }
        let mut pages = Vec::new();
        for _ in 0..20 {
            let (readers, order) = (readers.clone(), order.clone());
            let page = move |_: &mut dyn ArchiveReader| {
                order.lock().push(100);
                Ok(())
            };
            pages.push(runtime.spawn(async move { readers.ask(page).await }));
        }
        runtime.block_on(tokio::task::yield_now());
        assert_eq!(readers.waiting.lanes.lock().new.len(), 27);
        start.send(()).unwrap();
        for question in deep.into_iter().chain(pages) {
            assert_eq!(runtime.block_on(question).unwrap(), Ok(()));
        }
        let order = order.lock().clone();
        assert_eq!(order.len(), 8 * 50 + 20);
        // All pages are through while the deep ones have had two turns or three; of each four turns one is theirs.
        let last = order.iter().rposition(|turn| *turn == 100).unwrap();
        assert!(last < 40, "pages waited for deep questions: {order:?}");
        assert!(order[..last].windows(5).all(|turns| turns.iter().any(|turn| *turn < 100)), "{order:?}");
        // The deep ones go on side by side.
        for turns in order[last + 1..last + 1 + 8 * 40].chunks(8) {
            let mut of: Vec<_> = turns.to_vec();
            of.sort_unstable();
            assert_eq!(of, [0, 1, 2, 3, 4, 5, 6, 7], "{order:?}");
        }
        drop(readers);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
