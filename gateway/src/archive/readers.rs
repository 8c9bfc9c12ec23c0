//! Threads that read the archive, so that no gateway thread ever waits for a disk.
//!
//! Each has a connection of its own. Questions wait in one bounded queue; when it is full the client is told to come back
//! instead of making everyone wait longer.

use crossbeam::channel::{Receiver, Sender, TrySendError, bounded};
use ringside_persist::archive::{Archive, ArchiveError, ArchiveReader};
use std::io;
use tokio::sync::oneshot;

/// Questions that may wait.
const QUEUE: usize = 1024;

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Too many questions wait.
    Busy,
    /// The archive cannot be read; the reason is in the log.
    Failed,
}

type Question = Box<dyn FnOnce(&mut dyn ArchiveReader) + Send>;

/// The way to the threads. They end when it is dropped.
pub struct Readers {
    questions: Sender<Question>,
}

impl Readers {
    /// Starts `count` threads, at least one.
    ///
    /// Errors: the archive cannot be opened; a thread cannot be started.
    pub fn start(archive: &dyn Archive, count: usize) -> Result<Readers, ReadersError> {
        let (questions, waiting) = bounded::<Question>(QUEUE);
        for number in 1..=count.max(1) {
            let reader = archive.reader()?;
            let waiting = waiting.clone();
            let thread = std::thread::Builder::new().name(format!("archive-{number}"));
            thread.spawn(move || answer(reader, &waiting)).map_err(ReadersError::Thread)?;
        }
        Ok(Readers { questions })
    }

    /// Has a question answered on one of the threads.
    pub async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut dyn ArchiveReader) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<T, Unreadable> {
        let (sender, receiver) = oneshot::channel();
        let question: Question = Box::new(move |reader| {
            // Who asked may be gone; then nobody needs the answer.
            if !sender.is_closed() {
                let _ = sender.send(question(reader));
            }
        });
        self.questions.try_send(question).map_err(|error| match error {
            TrySendError::Full(_) => Unreadable::Busy,
            TrySendError::Disconnected(_) => Unreadable::Failed,
        })?;
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

fn answer(mut reader: Box<dyn ArchiveReader>, waiting: &Receiver<Question>) {
    for question in waiting {
        question(reader.as_mut());
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
