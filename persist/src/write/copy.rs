//! A journal copied from elsewhere: segments begun as they were begun there, batches checked as replay does, written at the same
//! place and made durable.
//!
//! What does not follow the end is refused, whatever is wrong with it, and nothing is written then.

use crate::config::PersistConfig;
use crate::error::PersistError;
use crate::format::checksum;
use crate::format::record::Class;
use crate::format::segment::{self, SegmentHeader};
use crate::quorum::members::Members;
use crate::read::replay::{Place, Reader, Step};
use crate::read::survey::survey;
use crate::read::tail::follows;
use crate::storage::{BLOCK_LEN, Buffer, Storage};
use crate::write::append;
use crate::write::flusher::Current;
use crate::write::segment_pool::SegmentPool;
use crate::write::settled::Settled;
use crate::write::status::JournalStatus;
use ringside_core::ids::Sequence;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a segment is waited for that is being allocated.
const SPARE_WAIT: Duration = Duration::from_secs(5);

/// Why what came is not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyError {
    /// The disk. Nothing is taken any more.
    #[error(transparent)]
    Persist(#[from] PersistError),
    /// It does not follow what is here, or is damaged. Nothing was written.
    #[error("{0}")]
    Unfit(String),
    /// The disk gives no further segment yet.
    #[error("the disk has no room for a further segment")]
    Full,
}

/// Where it ends.
#[derive(Clone)]
pub(crate) struct End {
    pub(crate) current: Current,
    pub(crate) place: Place,
}

/// Writes it.
pub(crate) struct Copier {
    storage: Arc<dyn Storage>,
    config: PersistConfig,
    status: Arc<JournalStatus>,
    settled: Arc<dyn Settled>,
    pool: Option<SegmentPool>,
    pool_len: u64,
    is_threaded: bool,
    pub(crate) end: Option<End>,
}

impl Copier {
    /// Goes on at `end`.
    pub(crate) fn new(
        storage: Arc<dyn Storage>,
        config: &PersistConfig,
        status: Arc<JournalStatus>,
        settled: Arc<dyn Settled>,
        is_threaded: bool,
        end: Option<End>,
    ) -> Copier {
        let config = config.clone();
        Copier { storage, config, status, settled, pool: None, pool_len: 0, is_threaded, end }
    }

    /// Has segments of this length allocated ahead.
    pub(crate) fn expect(&mut self, segment_len: u64) -> Result<(), PersistError> {
        if self.pool_len == segment_len {
            return Ok(());
        }
        // The one before gives its spares up.
        self.pool = None;
        let survey = survey(self.storage.as_ref())?;
        let config = PersistConfig { segment_len, ..self.config.clone() };
        let stock = append::stock(self.storage.as_ref(), &config, &survey)?;
        let pool = SegmentPool::start(
            self.is_threaded,
            self.storage.clone(),
            segment_len,
            self.config.spares,
            stock,
            self.status.clone(),
            self.settled.clone(),
        );
        self.pool = Some(pool.map_err(PersistError::io("start", "a thread of the journal"))?);
        self.pool_len = segment_len;
        Ok(())
    }

    /// Somebody else writes from now on: spares are given up.
    pub(crate) fn rest(&mut self) {
        (self.pool, self.pool_len) = (None, 0);
    }

    /// Begins the segment whose first block is `block`: segment `number` of journal `journal_id`. The first of all, or `since` is the
    /// sequence of a snapshot that it must reach back to.
    ///
    /// Errors: it does not follow; the disk.
    pub(crate) fn begin(
        &mut self,
        journal_id: [u8; 16],
        number: u64,
        block: &[u8],
        since: Option<Sequence>,
    ) -> Result<(), CopyError> {
        let unfit = |what: String| Err(CopyError::Unfit(what));
        let header = match SegmentHeader::decode(block) {
            Ok(header) => header,
            Err(reason) => return unfit(format!("the header of segment {number}: {reason}")),
        };
        if header.journal_id != journal_id || header.number != number {
            return unfit(format!("the header of segment {number} is that of another"));
        }
        if header.encode()[..BLOCK_LEN] != *block || segment::check(&header).is_err() {
            return unfit(format!("the header of segment {number} says what none says"));
        }
        match &self.end {
            Some(End { current, place }) => {
                if place.offset != current.header.segment_len || header.number != current.header.number + 1 {
                    return unfit(format!(
                        "segment {} is begun amid segment {}",
                        header.number, current.header.number
                    ));
                }
                if let Err(error) = follows(place, &header) {
                    return unfit(error.to_string());
                }
            }
            None if header.number == 1 => {
                if header.first_seq != 1 || header.entering_chain != checksum::chain_start(&journal_id) {
                    return unfit("the first segment does not begin as a journal does".to_owned());
                }
            }
            None if since.is_some_and(|since| header.first_seq <= since) => {}
            None => {
                return unfit(format!(
                    "segment {} is not the first, and no snapshot came before it",
                    header.number
                ));
            }
        }
        let spare = self.spare(header.segment_len)?;
        let current = Current::begin(self.storage.as_ref(), &spare, header, || false);
        let current =
            current.map_err(|error| if error.is_full() { CopyError::Full } else { error.into() })?;
        self.status.segment_begins();
        let index = self.end.as_ref().map_or(0, |end| end.place.index);
        self.end = Some(End { place: Place { index, ..Place::start_of(&header) }, current });
        Ok(())
    }

    /// Whether so many further segments can be begun, the first of them at once: false where it is being allocated, and where the disk
    /// gives none.
    pub(crate) fn has_spares(&self, segments: u64) -> bool {
        let Some(pool) = &self.pool else { return true };
        if pool.work().is_err() || self.status.is_failed() {
            // It is said where one is begun.
            return true;
        }
        let spares = self.status.spares();
        spares >= segments || spares > 0 && !self.status.is_short_of_room()
    }

    /// The name of an allocated file of this length.
    fn spare(&mut self, segment_len: u64) -> Result<String, CopyError> {
        let Some(pool) = self.pool.as_ref().filter(|_| segment_len == self.pool_len) else {
            // Segments of a length that the leader makes no more.
            let name = segment::spare_name(u64::MAX);
            return match segment::allocate(self.storage.as_ref(), &name, segment_len) {
                Err(error) if error.is_full() => Err(CopyError::Full),
                made => Ok(made.map(|()| name)?),
            };
        };
        let begun = Instant::now();
        loop {
            pool.work()?;
            if let Some(error) = self.status.take_failure() {
                return Err(error.into());
            }
            if let Some(name) = pool.take() {
                // So that it is known soon where the disk gives no other.
                pool.work()?;
                return Ok(name);
            }
            if begun.elapsed() > SPARE_WAIT || !self.is_threaded {
                return Err(CopyError::Full);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Checks the first `len` bytes of `bytes`, whole batches, and makes them durable where `is_right` of those. Gives the memory back.
    ///
    /// Errors: they do not follow, or lead elsewhere; the disk.
    pub(crate) fn write(
        &mut self,
        bytes: Buffer,
        len: usize,
        is_right: impl FnOnce(Vec<Ended>) -> Result<(), String>,
    ) -> Result<Buffer, CopyError> {
        let Some(End { current, place }) = &mut self.end else {
            return Err(CopyError::Unfit("records came before a segment was begun".to_owned()));
        };
        let Current { file, name, header, .. } = &*current;
        let mut reader = Reader::of_bytes(*header, *place, bytes, len);
        is_right(whole_batches(&mut reader, header)?).map_err(CopyError::Unfit)?;
        let next = reader.place();
        let bytes = reader.into_bytes();
        file.write_at(place.offset, &bytes[..len]).map_err(PersistError::io("write", name))?;
        file.sync().map_err(PersistError::io("sync", name))?;
        current.check_name(self.storage.as_ref())?;
        *place = next;
        Ok(bytes)
    }
}

/// Where a batch ends, and the members that a change in it leads to.
pub(crate) struct Ended {
    pub(crate) place: Place,
    pub(crate) members: Option<Members>,
}

/// Reads to the limit: the batches up to there, in turn.
///
/// Errors: something does not count; no batch ends there.
pub(crate) fn whole_batches(reader: &mut Reader, header: &SegmentHeader) -> Result<Vec<Ended>, CopyError> {
    let (mut members, mut batches) = (None, Vec::new());
    let bad = loop {
        match reader.step()? {
            Step::Record(record) => match record.class() {
                Class::Side => members = Members::of_entry(&record.side()).or(members),
                Class::Seal => batches.push(Ended { place: reader.place(), members: members.take() }),
                _ => {}
            },
            Step::End => break None,
            Step::Bad(bad) => break Some(bad),
        }
    };
    if let Some(bad) = bad {
        return Err(CopyError::Unfit(format!(
            "the record of sequence {} at byte {} of segment {}: {}",
            bad.sequence, bad.offset, header.number, bad.flaw
        )));
    }
    let end = reader.place();
    if end.batch_start != end.offset {
        return Err(CopyError::Unfit(format!("no seal at byte {} of segment {}", end.offset, header.number)));
    }
    Ok(batches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::faulty::Faulty;
    use crate::write::status::Position;
    use ringside_core::gate::Gate;

    #[test]
    fn a_segment_that_is_not_allocated_yet_is_not_waited_for_and_one_that_cannot_be_is_told_of() {
        let config = PersistConfig { segment_len: 64 << 10, spares: 2, ..PersistConfig::new("") };
        let start = Position { segment: 1, offset: 8192 };
        let status = Arc::new(JournalStatus::new(config.segment_len, start, Duration::MAX));
        let mut copier = Copier::new(
            Arc::new(Faulty::new(1)),
            &config,
            status.clone(),
            Arc::new(Gate::new(4)),
            true,
            None,
        );
        assert!(copier.has_spares(1), "whose length is not known is allocated where it is begun");
        copier.expect(config.segment_len).unwrap();
        while status.spares() < 2 {
            std::thread::yield_now();
        }
        // The thread that allocates has nothing to do now, and changes none of this.
        let has = |spares, is_refused, segments| {
            status.spares_are(spares, is_refused);
            copier.has_spares(segments)
        };
        assert!(!has(0, false, 1), "who waits answers nobody");
        assert!(has(1, false, 1) && has(1, false, 2), "the second is made while the first is begun");
        assert!(has(2, true, 2) && !has(1, true, 2) && !has(0, true, 1));
        status.spares_are(0, false);
        status.fail(PersistError::Stopped);
        assert!(copier.has_spares(1));
        assert!(matches!(copier.spare(config.segment_len), Err(CopyError::Persist(_))));
    }
}
