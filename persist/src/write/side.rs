//! How entries beside the commands come to the journaller, and how it tells when one may be shown.
//!
//! ```text
//!  SideWriter::append ──▶ channel ──▶ journaller: between commands, into the same batches
//!         Receipt     ◀── release ◀── the batch is stored, and where else it has to be
//! ```
//! *Stored* is what the disk says of a batch. *Released* is what the writer waits for: only then may anybody be told of the entry. Alone
//! on a host the two are the same moment; beside a mirror that replies wait for the second is later ([`Settled::show`] of its source).

use crate::config::PersistConfig;
use crate::format::record::{SEAL_LEN, side_len};
use crate::format::segment::DATA_START;
use crate::storage::BLOCK_LEN;
use crate::write::encoder::{Encoder, SideRoom};
use crate::write::settled::Settled;
use crate::write::status::{JournalStatus, Pressure};
use ringside_core::ring::Doorbell;
use ringside_core::side::SideEntry;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};

/// Requests that wait for the journaller at most.
const REQUESTS: usize = 256;
/// Entries taken in one step: commands have their turn in between.
const STEP: usize = 64;

/// What an entry is for, where the disk is short of room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It lets somebody in: refused while new orders are.
    Grants,
    /// It keeps somebody out: taken as long as cancels are.
    Revokes,
}

/// Why entries are not taken, or nobody knows whether they are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SideError {
    /// None of them was taken.
    #[error("the disk of the journal has no room")]
    Full,
    /// None of them was taken.
    #[error("more wait for the journal than it takes")]
    Busy,
    /// None of them was taken.
    #[error("it is longer than an entry of this journal may be")]
    TooLong,
    /// The journal takes nothing any more; whether these are kept the next start finds.
    #[error("the journal has failed or ended; restart to read back what the disk really holds")]
    Ended,
}

struct Request {
    entries: VecDeque<SideEntry>,
    /// Who is told when they may be shown.
    told: SyncSender<()>,
}

/// Hands entries to the journaller. Cheap to clone.
#[derive(Clone)]
pub struct SideWriter {
    requests: SyncSender<Request>,
    bell: Doorbell,
    status: Arc<JournalStatus>,
    len_max: usize,
}

impl std::fmt::Debug for SideWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SideWriter").finish_non_exhaustive()
    }
}

/// Entries on their way.
#[derive(Debug)]
#[must_use = "nobody may be told of an entry before it is released"]
pub struct Receipt(Receiver<()>);

impl Receipt {
    /// Waits until they may be shown: they are kept for good then, whatever the mode.
    ///
    /// Errors: [`SideError::Ended`].
    pub fn wait(self) -> Result<(), SideError> {
        self.0.recv().map_err(|_| SideError::Ended)
    }

    /// Whether they may be shown by now.
    ///
    /// Errors: [`SideError::Ended`].
    pub fn is_released(&self) -> Result<bool, SideError> {
        match self.0.try_recv() {
            Ok(()) => Ok(true),
            Err(TryRecvError::Empty) => Ok(false),
            Err(TryRecvError::Disconnected) => Err(SideError::Ended),
        }
    }

    /// Leaves it to the next start to find them or not.
    pub fn forget(self) {}
}

impl SideWriter {
    /// Hands entries over, to be written in this order behind all that were handed over before. Waits for nothing.
    ///
    /// Errors: as [`SideError`] says.
    pub fn append(&self, entries: Vec<SideEntry>, purpose: Purpose) -> Result<Receipt, SideError> {
        if entries.iter().any(|entry| !entry.is_within_bounds() || side_len(entry) > self.len_max) {
            return Err(SideError::TooLong);
        }
        if self.is_ended() {
            return Err(SideError::Ended);
        }
        let most = match purpose {
            Purpose::Grants => Pressure::None,
            Purpose::Revokes => Pressure::CancelsOnly,
        };
        if self.status.room() > most {
            return Err(SideError::Full);
        }
        let (told, receipt) = sync_channel(1);
        match self.requests.try_send(Request { entries: entries.into(), told }) {
            Ok(()) => {
                self.bell.ring();
                Ok(Receipt(receipt))
            }
            Err(TrySendError::Full(_)) => Err(SideError::Busy),
            Err(TrySendError::Disconnected(_)) => Err(SideError::Ended),
        }
    }

    /// Whether the journal takes nothing any more before a restart.
    pub fn is_ended(&self) -> bool {
        self.status.is_failed()
    }
}

/// The journaller's end.
pub(crate) struct Intake {
    requests: Receiver<Request>,
    /// What of a request is not written yet.
    under_way: Option<Request>,
    /// Whom to tell once this many batches are stored, oldest first.
    waiting: VecDeque<(u64, SyncSender<()>)>,
    /// Batches closed, and stored.
    closed: u64,
    stored: u64,
    /// The next entry waits for more than the end of the batch under way.
    blocked: Option<SideRoom>,
    settled: Arc<dyn Settled>,
}

/// The two ends for a journal of these settings.
pub(crate) fn channel(
    config: &PersistConfig,
    status: Arc<JournalStatus>,
    settled: Arc<dyn Settled>,
) -> (SideWriter, Intake, Doorbell) {
    let (sender, requests) = sync_channel(REQUESTS);
    let bell = Doorbell::new();
    // Half a segment: the other half is for the command that comes before, whose batch may stand behind a seal that attests the last
    // segment. One of two blocks has room for those alone.
    let room = config.segment_len - DATA_START;
    let room = (config.batch_len as u64).min(room / 2).min(room - 2 * BLOCK_LEN as u64);
    let len_max = (room as usize).saturating_sub(SEAL_LEN);
    let waiting = VecDeque::new();
    let intake = Intake { requests, under_way: None, waiting, closed: 0, stored: 0, blocked: None, settled };
    (SideWriter { requests: sender, bell: bell.clone(), status, len_max }, intake, bell)
}

impl Intake {
    /// Whether nothing waits to be written, as far as can be told without a command.
    pub(crate) fn is_idle(&mut self) -> bool {
        !self.fetch() || self.blocked == Some(SideRoom::BehindACommand)
    }

    /// Whether there is a request to go on with.
    #[inline]
    fn fetch(&mut self) -> bool {
        if self.under_way.is_none() {
            self.under_way = self.requests.try_recv().ok();
        }
        self.under_way.is_some()
    }

    /// Whether the segment is to be filled up for the next entry.
    pub(crate) fn wants_fill(&self) -> bool {
        self.blocked == Some(SideRoom::BehindThisSegment)
    }

    /// Whether somebody waits for the batch under way.
    pub(crate) fn is_awaited(&self) -> bool {
        self.waiting.back().is_some_and(|(batch, _)| *batch > self.closed)
    }

    /// Encodes entries, as far as there is room; gives how many.
    #[inline]
    pub(crate) fn take(&mut self, encoder: &mut Encoder) -> usize {
        if self.fetch() { self.take_some(encoder) } else { 0 }
    }

    #[cold]
    fn take_some(&mut self, encoder: &mut Encoder) -> usize {
        self.blocked = None;
        let mut taken = 0;
        while taken < STEP
            && self.fetch()
            && let Some(mut request) = self.under_way.take()
        {
            while taken < STEP
                && let Some(entry) = request.entries.front()
            {
                let room = encoder.side_room(side_len(entry));
                if room != SideRoom::Now {
                    self.blocked = Some(room).filter(|room| *room != SideRoom::BehindThisBatch);
                    self.under_way = Some(request);
                    return taken;
                }
                encoder.push_side(entry);
                request.entries.pop_front();
                taken += 1;
            }
            match request.entries.is_empty() {
                true => {
                    let batch = self.closed + u64::from(!encoder.is_empty());
                    self.waiting.push_back((batch, request.told));
                }
                false => self.under_way = Some(request),
            }
        }
        // What asked for nothing may have waited for what was stored before.
        self.release(self.stored);
        taken
    }

    /// A batch was closed.
    pub(crate) fn closed(&mut self) {
        self.closed += 1;
    }

    /// The next batch is stored here.
    pub(crate) fn stored(&mut self) {
        self.stored += 1;
        self.release(self.stored);
    }

    /// What is in the batches up to this one may be shown, as far as this host goes.
    fn release(&mut self, through: u64) {
        while let Some((_, told)) = self.waiting.pop_front_if(|(batch, _)| *batch <= through) {
            self.settled.show(told);
        }
    }

    /// Nothing is written any more: whoever waits is told so.
    pub(crate) fn end(&mut self) {
        self.waiting.clear();
        self.settled.give_up();
        self.under_way = None;
        while self.requests.try_recv().is_ok() {}
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        self.end();
    }
}
