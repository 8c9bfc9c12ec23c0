//! Every bit of a journal and of a snapshot flipped, every sector zeroed, exchanged, replaced by another: each is
//! found and named, or provably harmless (failure model, row 4).

use crate::common::{Ledger, Session, for_each_case, random_command, seeds};
use ringside_core::ids::Sequence;
use ringside_core::side::{SideEntry, SideStore};
use ringside_persist::config::PersistConfig;
use ringside_persist::error::PersistError;
use ringside_persist::format::record::{Flaw, Header, SEAL, SEAL_LEN, finish_seal};
use ringside_persist::format::segment::{DATA_START, SegmentHeader};
use ringside_persist::read::replay::{Reader, Step};
use ringside_persist::read::survey::{Survey, survey};
use ringside_persist::read::tail::walk;
use ringside_persist::recover::machine::Machine;
use ringside_persist::recover::snapshot_store::{self, Moment};
use ringside_persist::storage::faulty::{Faulty, Random, SECTOR_LEN};
use ringside_persist::storage::{Access, File, Storage};
use ringside_persist::write::side::Purpose;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use zerocopy::FromBytes;

/// A journal of 256 KiB in whole, durable batches, the last of which only vouches for those before.
struct Journal {
    files: BTreeMap<String, Arc<Vec<u8>>>,
    /// Names of the segments, and where each of their records starts.
    segments: Vec<(String, Vec<usize>)>,
    /// The last command.
    last: Sequence,
    /// Byte of the last segment behind the batch of the last command: what is behind may be lost.
    vouched: usize,
}

const SEGMENT_LEN: u64 = 32 << 10;
const SEGMENTS: usize = 8;

fn journal() -> Journal {
    let config = PersistConfig {
        segment_len: SEGMENT_LEN,
        batch_len: 8 << 10,
        spares: 1,
        idle_seal: Duration::ZERO,
        journal_id: Some([7; 16]),
        opened_at_ns: 1,
        ..PersistConfig::new("")
    };
    let disk = Faulty::new(1);
    let mut session = Session::open(Arc::new(disk.clone()), &config).unwrap();
    let mut random = Random::new(4);
    let mut truth = vec![0; 2];
    loop {
        for _ in 0..1 + random.below(60) {
            session.publish(random_command(&mut random), &mut truth);
        }
        // Entries beside the commands among them.
        let writer = session.journaller.side_writer();
        let entries = (0..random.below(4)).map(|id| SideEntry::put(1, &[id as u8], vec![2; 200]));
        writer.append(entries.collect(), Purpose::Grants).unwrap().forget();
        session.settle();
        let found = survey(&disk).unwrap();
        // The last segment keeps some blocks that were never written.
        if found.segments.len() == SEGMENTS && session.journaller.status().durable().offset > SEGMENT_LEN / 2
        {
            break;
        }
        assert!(found.segments.len() <= SEGMENTS);
    }
    let durable = session.journaller.status().durable().offset as usize;
    let found = survey(&disk).unwrap();
    let mut files = BTreeMap::new();
    let mut segments = Vec::new();
    for read in &found.segments {
        let name = read.header.name();
        let bytes = disk.bytes(&name).unwrap();
        let is_last = segments.len() + 1 == SEGMENTS;
        let end = if is_last { durable } else { bytes.len() };
        let mut starts = record_starts(&bytes, end);
        if is_last {
            // Behind it nothing was ever written: what appears there is blamed on the record that is due.
            starts.push(end);
        }
        segments.push((name.clone(), starts));
        files.insert(name, Arc::new(bytes));
    }
    // The last batch is a seal and its pad, one block.
    Journal { files, segments, last: session.gate.durable(), vouched: durable - 4096 }
}

fn record_starts(bytes: &[u8], end: usize) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut at = DATA_START as usize;
    while at < end {
        starts.push(at);
        let (header, _) = Header::read_from_prefix(&bytes[at..]).unwrap();
        at += 64 + (header.len as usize).next_multiple_of(64);
    }
    assert_eq!(at, end);
    starts
}

/// The files with some bytes of one of them replaced; read only.
struct Patched<'a> {
    journal: &'a Journal,
    patch: Arc<Mutex<Patch>>,
}

#[derive(Default)]
struct Patch {
    name: String,
    spots: Vec<(usize, Vec<u8>)>,
}

struct PatchedFile {
    name: String,
    bytes: Arc<Vec<u8>>,
    patch: Arc<Mutex<Patch>>,
}

impl Storage for Patched<'_> {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.journal.files.keys().cloned().collect())
    }
    fn open(&self, name: &str, _access: Access) -> io::Result<Arc<dyn File>> {
        let bytes = self.journal.files.get(name).ok_or(io::ErrorKind::NotFound)?;
        let (name, bytes) = (name.to_string(), bytes.clone());
        Ok(Arc::new(PatchedFile { name, bytes, patch: self.patch.clone() }))
    }
    fn create(&self, _name: &str) -> io::Result<Arc<dyn File>> {
        unreachable!("nothing is written")
    }
    fn rename(&self, _from: &str, _to: &str) -> io::Result<()> {
        unreachable!("nothing is written")
    }
    fn remove(&self, _name: &str) -> io::Result<()> {
        unreachable!("nothing is written")
    }
    fn sync_directory(&self) -> io::Result<()> {
        unreachable!("nothing is written")
    }
}

impl File for PatchedFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = offset as usize;
        buffer.copy_from_slice(&self.bytes[start..start + buffer.len()]);
        let patch = self.patch.lock().unwrap();
        if patch.name == self.name {
            for (at, bytes) in &patch.spots {
                let (from, to) = ((*at).max(start), (at + bytes.len()).min(start + buffer.len()));
                if from < to {
                    buffer[from - start..to - start].copy_from_slice(&bytes[from - at..to - at]);
                }
            }
        }
        Ok(())
    }
    fn write_at(&self, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
        unreachable!("nothing is written")
    }
    fn sync(&self) -> io::Result<()> {
        unreachable!("nothing is written")
    }
}

impl<'a> Patched<'a> {
    fn new(journal: &'a Journal) -> Patched<'a> {
        Patched { journal, patch: Arc::default() }
    }

    /// Puts bytes in place of those of segment `index` at `at` and judges the outcome. `whole` is the survey of the
    /// journal as it should be, which holds as long as no header is touched.
    fn check(&self, whole: &Survey, index: usize, spots: Vec<(usize, Vec<u8>)>) {
        let (name, starts) = &self.journal.segments[index];
        let original = &self.journal.files[name];
        let changed: Vec<usize> = spots
            .iter()
            .flat_map(|(at, bytes)| bytes.iter().enumerate().map(move |(i, byte)| (at + i, *byte)))
            .filter(|(at, byte)| original[*at] != *byte)
            .map(|(at, _)| at)
            .collect();
        let Some(&first) = changed.iter().min() else { return };
        let first_in_records = changed.iter().copied().filter(|at| *at >= DATA_START as usize).min();
        *self.patch.lock().unwrap() = Patch { name: name.clone(), spots };
        let result = if first < DATA_START as usize {
            survey(self).and_then(|survey| {
                // One copy of the header is enough, but the damage shows.
                assert!(survey.segments[index].is_degraded, "a damaged header of {name} went unseen");
                walk(self, &survey, index, None, |_, _| Ok(()))
            })
        } else {
            walk(self, whole, index, None, |_, _| Ok(()))
        };
        let is_last = index + 1 == SEGMENTS;
        match result {
            Ok(walked) => {
                // Harmless only where nothing but the vouching batch or unused space is hit, or one header copy.
                let is_harmless = first_in_records.is_none_or(|at| is_last && at >= self.journal.vouched);
                assert!(is_harmless, "{name}: a change at byte {first} went unseen");
                assert_eq!(
                    walked.end.last.sequence, self.journal.last,
                    "{name}: a change at {first} lost commands"
                );
            }
            Err(PersistError::Rot { segment, offset, .. }) => {
                let hit = first_in_records.expect("no record was touched");
                let record = starts.iter().rev().find(|start| **start <= hit).copied().unwrap_or(0);
                assert_eq!(
                    &segment, name,
                    "the wrong segment is named for a change at byte {first} of {name}"
                );
                assert_eq!(
                    offset as usize, record,
                    "{name}: the wrong record is named for a change at {first}"
                );
            }
            Err(PersistError::SegmentHeader { segment, .. }) => {
                assert!(
                    first < DATA_START as usize,
                    "{name}: a header is blamed for a change at byte {first}"
                );
                assert_eq!(&segment, name);
            }
            Err(error) => panic!("{name}: a change at byte {first} is answered with: {error}"),
        }
    }
}

/// Work is split over seeds, so that a failure names a stretch that reruns by itself: one stretch per segment half.
#[test]
fn every_flipped_bit_of_a_journal_is_found() {
    let journal = journal();
    let parts = SEGMENTS as u64 * 2;
    let whole = survey(&Patched::new(&journal)).unwrap();
    for_each_case("rot::every_flipped_bit_of_a_journal_is_found", parts, |part| {
        let patched = Patched::new(&journal);
        let index = part as usize / 2;
        let name = &journal.segments[index].0;
        let half = SEGMENT_LEN as usize / 2;
        let from = part as usize % 2 * half;
        // All of them takes two minutes: the suite flips one of each byte, another in each of eight in a row.
        let step = if seeds::is_night() { 1 } else { 9 };
        for bit in (from * 8..(from + half) * 8).step_by(step) {
            let byte = journal.files[name][bit / 8] ^ (1 << (bit % 8));
            patched.check(&whole, index, vec![(bit / 8, vec![byte])]);
        }
    });
}

#[test]
fn every_sector_zeroed_exchanged_or_stale_is_found() {
    let journal = journal();
    let whole = survey(&Patched::new(&journal)).unwrap();
    let sectors = SEGMENT_LEN as usize / SECTOR_LEN;
    for_each_case("rot::every_sector_zeroed_exchanged_or_stale_is_found", SEGMENTS as u64, |seed| {
        let patched = Patched::new(&journal);
        let mut random = Random::new(seed);
        let index = seed as usize;
        let name = &journal.segments[index].0;
        let sector = |name: &str, sector: usize| {
            journal.files[name][sector * SECTOR_LEN..(sector + 1) * SECTOR_LEN].to_vec()
        };
        for one in 0..sectors {
            let at = one * SECTOR_LEN;
            patched.check(&whole, index, vec![(at, vec![0; SECTOR_LEN])]);
            patched.check(&whole, index, vec![(at, vec![0xff; SECTOR_LEN])]);
            let noise = (0..SECTOR_LEN).map(|_| random.draw() as u8).collect();
            patched.check(&whole, index, vec![(at, noise)]);
            // What stands elsewhere, in this segment or another: misdirected, or never overwritten.
            for (other, _) in &journal.segments {
                for from in 0..sectors {
                    patched.check(&whole, index, vec![(at, sector(other, from))]);
                }
            }
            for other in one + 1..sectors {
                let pair = vec![(at, sector(name, other)), (other * SECTOR_LEN, sector(name, one))];
                patched.check(&whole, index, pair);
            }
        }
    });
}

/// Both copies of a header gone: the segment is named, nothing is guessed.
#[test]
fn a_segment_without_a_header_is_refused() {
    let journal = journal();
    for (name, _) in &journal.segments {
        let patched = Patched::new(&journal);
        *patched.patch.lock().unwrap() = Patch { name: name.clone(), spots: vec![(0, vec![0; 8192])] };
        match survey(&patched) {
            Err(PersistError::SegmentHeader { segment, .. }) => assert_eq!(&segment, name),
            other => panic!("{name}: {other:?}"),
        }
        // A header of the right form that belongs elsewhere.
        let (header, _) = SegmentHeader::read_from_prefix(&journal.files[name]).unwrap();
        let moved = SegmentHeader { first_seq: header.first_seq + 1, ..header }.encode();
        *patched.patch.lock().unwrap() = Patch { name: name.clone(), spots: vec![(0, moved.to_vec())] };
        assert!(matches!(survey(&patched), Err(PersistError::SegmentHeader { .. })), "{name}");
        // And one of another journal.
        let foreign = SegmentHeader { journal_id: [8; 16], ..header }.encode();
        *patched.patch.lock().unwrap() = Patch { name: name.clone(), spots: vec![(0, foreign.to_vec())] };
        assert_foreign(&patched, "another journal");
    }
}

/// A directory whose epoch file or whose segments came from somewhere else.
#[test]
fn files_of_two_journals_are_not_taken_for_one() {
    let config = |id| PersistConfig {
        segment_len: SEGMENT_LEN,
        batch_len: 8 << 10,
        journal_id: Some([id; 16]),
        ..PersistConfig::new("")
    };
    let [own, other] = [7, 8].map(|id| {
        let disk = Faulty::new(1);
        drop(Session::open(Arc::new(disk.clone()), &config(id)).unwrap());
        disk
    });
    assert!(survey(&own).is_ok());
    let epoch = other.bytes("epoch").unwrap();
    own.tamper("epoch", |bytes| *bytes = epoch);
    assert_foreign(&own, "another journal than the epoch file");
}

/// A header is refused, and why.
fn assert_foreign(storage: &impl Storage, why: &str) {
    match survey(storage) {
        Err(PersistError::SegmentHeader { segment, reason }) => {
            assert!(reason.contains(why), "{segment}: {reason}");
        }
        other => panic!("{other:?}"),
    }
}

/// A missing segment is named by its neighbours, a missing end by whoever knows of it.
#[test]
fn missing_segments_are_noticed() {
    let journal = journal();
    for missing in 0..SEGMENTS {
        let mut files = journal.files.clone();
        files.remove(&journal.segments[missing].0);
        let shorter = Journal { files, segments: journal.segments.clone(), ..journal };
        let patched = Patched::new(&shorter);
        let result =
            survey(&patched).and_then(|survey| walk(&patched, &survey, 0, Some(journal.last), |_, _| Ok(())));
        match result {
            // Older segments may go; what remains is whole.
            Ok(walked) => assert_eq!((missing, walked.end.last.sequence), (0, journal.last)),
            Err(PersistError::Missing { .. }) => assert!(missing > 0),
            Err(error) => panic!("segment {missing}: {error}"),
        }
    }
}

#[test]
fn every_flipped_bit_of_a_snapshot_is_found() {
    const PARTS: u64 = 16;
    let disk = Faulty::new(2);
    let mut random = Random::new(3);
    let mut engine = vec![0; 40_000];
    engine.iter_mut().for_each(|byte| *byte = random.draw() as u8);
    let views = vec![5; 9_000];
    let mut ledger = Vec::new();
    Ledger::genesis(&()).save(&mut ledger);
    let moment = Moment {
        journal_id: [7; 16],
        sequence: 99,
        mark: 1,
        time_ns: 2,
        epoch: 3,
        engine_version: 1,
        state_hash: [4; 16],
    };
    let mut side = SideStore::default();
    for id in 0..20 {
        side.apply(SideEntry::put(1, &[id], vec![id; 300]));
    }
    let (name, len) = snapshot_store::write(&disk, &moment, &engine, &views, &side).unwrap();
    let bytes = disk.bytes(&name).unwrap();
    assert_eq!(bytes.len() as u64, len);
    for_each_case("rot::every_flipped_bit_of_a_snapshot_is_found", PARTS, |part| {
        let disk = disk.process_end();
        let bits = bytes.len() * 8;
        for bit in bits * part as usize / PARTS as usize..bits * (part as usize + 1) / PARTS as usize {
            disk.tamper(&name, |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
            match snapshot_store::read(&disk, &name) {
                Err(PersistError::Snapshot { file, .. }) => assert_eq!(file, name),
                Err(error) => panic!("bit {bit}: {error}"),
                Ok(_) => panic!("bit {bit} of the snapshot went unseen"),
            }
            disk.tamper(&name, |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
        }
        assert!(snapshot_store::read(&disk, &name).is_ok());
        for cut in [0, 1, 4096, bytes.len() - 4096, bytes.len() - 1] {
            let whole = disk.bytes(&name).unwrap();
            disk.tamper(&name, |bytes| bytes.truncate(cut));
            assert!(snapshot_store::read(&disk, &name).is_err(), "cut to {cut} bytes");
            disk.tamper(&name, |bytes| *bytes = whole);
        }
    });
}

/// A segment long enough to be read ahead. What is wrong in it is found where a reader that reads for itself finds it, and a
/// seal that says something else of its batch is one of those things.
#[test]
fn digests_worked_out_ahead_hide_nothing() {
    let config = PersistConfig { segment_len: 5 << 20, spares: 1, opened_at_ns: 1, ..PersistConfig::new("") };
    let disk = Faulty::new(1);
    let mut session = Session::open(Arc::new(disk.clone()), &config).unwrap();
    let mut random = Random::new(4);
    let mut truth = vec![0; 2];
    while session.journaller.status().durable().offset < 9 << 19 {
        for _ in 0..1 + random.below(250) {
            assert!(session.publish(random_command(&mut random), &mut truth));
        }
        session.settle();
    }
    let whole = survey(&disk).unwrap();
    let (header, name) = (whole.segments[0].header, whole.segments[0].header.name());
    let bytes = disk.bytes(&name).unwrap();
    let durable = session.journaller.status().durable().offset as usize;
    let starts = record_starts(&bytes, durable);
    let seals = starts.iter().copied().filter(|at| bytes[at + 46..at + 48] == SEAL.to_le_bytes());
    let seals: Vec<usize> = seals.collect();
    assert!(seals.len() > 200 && whole.segments.len() == 1);
    for round in 0..160 {
        let mut rotten = bytes.clone();
        match round % 4 {
            0 => {}
            1 => {
                let seal = seals[random.below(seals.len() as u64) as usize];
                finish_seal(&mut rotten[seal..seal + SEAL_LEN], header.salt(), [random.draw() as u8; 16]);
            }
            _ => rotten[random.below(durable as u64 - DATA_START) as usize + DATA_START as usize] ^= 0x10,
        }
        let damaged = Faulty::new(1);
        damaged.create(&name).unwrap().write_at(0, &rotten).unwrap();
        let mut reader = Reader::new(damaged.open(&name, Access::Read).unwrap(), header, header.segment_len);
        let bad = loop {
            match reader.step().unwrap() {
                Step::Record(_) => {}
                Step::Bad(bad) => break bad,
                Step::End => unreachable!("the segment is not full"),
            }
        };
        let mut seen = 0;
        let walked = walk(&damaged, &whole, 0, None, |_, _| {
            seen += 1;
            Ok(())
        });
        match walked {
            Ok(walked) => {
                assert_eq!((walked.end, walked.commands), (reader.place(), seen));
                assert!(bad.offset as usize == durable || bad.offset as usize > seals[seals.len() - 2]);
            }
            Err(PersistError::Rot { offset, sequence, flaw, .. }) => {
                assert_eq!((offset, sequence, flaw), (bad.offset, bad.sequence, bad.flaw), "round {round}");
                assert_eq!(seen, reader.place().last.sequence);
            }
            Err(error) => panic!("round {round}: {error}"),
        }
        assert_eq!(bad.flaw == Flaw::Seal, round % 4 == 1, "round {round}");
    }
}
