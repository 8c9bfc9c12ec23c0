//! What is read ahead and given away is judged as what is read record by record; what belongs elsewhere is found.

use super::*;
use crate::config::{PersistConfig, Term};
use crate::format::record::{HEADER_LEN, SCHEMA, SEAL_LEN};
use crate::format::segment::MAGIC;
use crate::quorum::members::{Member, Members};
use crate::storage::ahead::{Pool, read_ahead};
use crate::storage::faulty::{Faulty, Random};
use crate::storage::{Access, Storage};
use crate::write::copy::whole_batches;
use crate::write::encoder::{Encoder, Tail};
use ringside_core::command::{AdvanceTime, CancelOrder, Command, PlaceOrder, Side};

const LEN: u64 = 8 << 20;

fn header() -> SegmentHeader {
    SegmentHeader {
        magic: MAGIC,
        crc32c: 0,
        schema: SCHEMA,
        mode: 2,
        journal_id: [1; 16],
        number: 1,
        first_seq: 1,
        entering_chain: 5,
        segment_len: LEN,
        epoch: 1,
        engine_version: 1,
        entering_time_ns: 0,
    }
}

/// A full segment of records of all lengths, in batches of many lengths.
fn segment() -> Vec<u8> {
    let (mut random, config) = (Random::new(7), PersistConfig::new(""));
    let tail = Tail { header: header(), offset: DATA_START, chain: 5, last: header().entering() };
    let mut encoder = Encoder::new(&config, 1, 1, &tail);
    let mut chain = tail.chain;
    let mut bytes = vec![0; LEN as usize];
    bytes[..DATA_START as usize].copy_from_slice(&header().encode());
    while !encoder.begins_segment() {
        for _ in 0..1 + random.below(9_000) {
            if !encoder.has_room() {
                break;
            }
            let mut command = match random.below(4) {
                0 => Command::new(AdvanceTime {}),
                1 => Command::new(CancelOrder { account: 1, reserved: 0, order: 3 }),
                2 => Command::new(PlaceOrder::limit(1, 2, Side::Sell, 3, 4)),
                // One that is kept whole.
                _ => Command { reserved: 1, ..Command::new(AdvanceTime {}) },
            };
            command.sequence = encoder.last().sequence + 1;
            encoder.push(&command);
        }
        let mut batch = encoder.close(Encoder::room(config.batch_len));
        batch.finish(&mut chain);
        let at = batch.offset as usize;
        bytes[at..at + batch.len].copy_from_slice(&batch.buffer[..batch.len]);
        if encoder.segment_room() < 1 << 16 && !encoder.begins_segment() {
            let mut batch = encoder.fill(Encoder::room(config.batch_len));
            batch.finish(&mut chain);
            let at = batch.offset as usize;
            bytes[at..at + batch.len].copy_from_slice(&batch.buffer[..batch.len]);
        }
    }
    bytes
}

fn reader(bytes: &[u8], is_ahead: bool) -> Reader {
    let storage = Faulty::new(1);
    storage.create("file").unwrap().write_at(0, bytes).unwrap();
    let file = storage.open("file", Access::Read).unwrap();
    if is_ahead {
        let ahead = read_ahead(file.clone(), DATA_START, LEN, Pool::new(ROOM)).unwrap();
        Reader::ahead(file, header(), ahead)
    } else {
        Reader::new(file, header(), LEN)
    }
}

/// Everything a reader says of the segment, as text that tells apart what differs.
fn told(bytes: &[u8], is_ahead: bool) -> (u64, String, Place) {
    let mut reader = reader(bytes, is_ahead);
    let (mut commands, mut sum) = (0, blake3::Hasher::new());
    let end = loop {
        match reader.step().unwrap() {
            Step::Record(record) if record.class() == Class::Command => {
                sum.update(record.bytes);
                commands += 1;
            }
            Step::Record(_) => {}
            other => break format!("{other:?} {}", sum.finalize()),
        }
    };
    (commands, end, reader.place())
}

/// The same of what is handed out.
fn handed_out(bytes: &[u8], is_ahead: bool) -> (u64, String, Place) {
    let mut reader = reader(bytes, is_ahead);
    reader.hand_out();
    let (mut commands, mut sum, mut last) = (0, blake3::Hasher::new(), header().entering().sequence);
    let mut take = |checked: Checked| {
        assert_eq!(checked.before(), last);
        for record in checked.commands() {
            last += 1;
            assert_eq!((record.class(), record.header.seq), (Class::Command, last));
            sum.update(record.bytes);
            commands += 1;
        }
        assert_eq!(checked.last(), last);
    };
    let end = loop {
        let end = match reader.step().unwrap() {
            Step::Record(_) => None,
            other => Some(format!("{other:?}")),
        };
        reader.checked().into_iter().for_each(&mut take);
        if let Some(end) = end {
            break end;
        }
    };
    reader.rest().into_iter().for_each(&mut take);
    (commands, format!("{end} {}", sum.finalize()), reader.place())
}

fn all_say(bytes: &[u8], expected: &(u64, String, Place), when: &str) {
    assert_eq!(told(bytes, true), *expected, "{when}");
    for is_ahead in [false, true] {
        assert_eq!(handed_out(bytes, is_ahead), *expected, "{when}, {is_ahead}");
    }
}

#[test]
fn what_is_read_ahead_is_judged_as_what_is_read_at_once() {
    let whole = segment();
    let sound = told(&whole, false);
    assert!(sound.0 > 40_000 && sound.1.starts_with("End"), "{sound:?}");
    all_say(&whole, &sound, "whole");
    let mut random = Random::new(11);
    for round in 0..60 {
        let mut bytes = whole.clone();
        let at = DATA_START + random.below(LEN - DATA_START);
        match round % 3 {
            0 => bytes[at as usize] ^= 1 << random.below(8),
            // A length that runs past the stretch, or past everything.
            1 => {
                let at = (at - at % 64) as usize;
                bytes[at..at + 4].copy_from_slice(&(random.below(1 << 17) as u32).to_le_bytes());
            }
            // Nothing was written from there on.
            _ => bytes[at as usize..].fill(0),
        }
        all_say(&bytes, &told(&bytes, false), &format!("round {round}, byte {at}"));
    }
}

/// A segment of `batches`, each of as many orders of `account`, from the first batch of the journal on.
fn life(epoch: u32, account: u32, batches: &[u64]) -> Vec<u8> {
    let config = PersistConfig::new("");
    let tail = Tail { header: header(), offset: DATA_START, chain: 5, last: header().entering() };
    let (mut encoder, mut chain) = (Encoder::new(&config, 1, epoch, &tail), tail.chain);
    let mut bytes = vec![0; LEN as usize];
    for &count in batches {
        for _ in 0..count {
            let mut command = Command::new(CancelOrder { account, reserved: 0, order: 3 });
            command.sequence = encoder.last().sequence + 1;
            encoder.push(&command);
        }
        let mut batch = encoder.close(Encoder::room(config.batch_len));
        batch.finish(&mut chain);
        let at = batch.offset as usize;
        bytes[at..at + batch.len].copy_from_slice(&batch.buffer[..batch.len]);
    }
    bytes
}

/// Where the first record stands that does not count, and why.
fn first_bad(bytes: &[u8]) -> (u64, Flaw) {
    let mut reader = reader(bytes, false);
    loop {
        match reader.step().unwrap() {
            Step::Record(_) => {}
            Step::Bad(bad) => return (bad.offset, bad.flaw),
            Step::End => unreachable!("the segment is not full"),
        }
    }
}

const RECORD: usize = 128;
const BLOCK: usize = BLOCK_LEN;
const START: usize = DATA_START as usize;

#[test]
fn a_batch_says_of_its_end_what_its_reader_finds_there() {
    let config = PersistConfig { term: Some(Term { number: 1, index: 40 }), ..PersistConfig::new("") };
    let mut place = Place { index: 40, ..Place::start_of(&header()) };
    let mut encoder = Encoder::new(&config, 1, 1, &Tail::at(header(), &place));
    let mut chain = place.chain;
    let member = Member { address: "one:1".to_owned(), key: [1; 32], is_voter: true };
    let changed = Members::of_settings([(1, member)]);
    for (count, side) in [(1, false), (2_000, false), (0, false), (7, true), (3, false)] {
        for _ in 0..count {
            let mut command = Command::new(AdvanceTime {});
            (command.sequence, command.time_ns) = (encoder.last().sequence + 1, 9);
            encoder.push(&command);
        }
        if side {
            encoder.push_side(&changed.entry());
        }
        let mut batch = encoder.close(Encoder::room(config.batch_len));
        batch.finish(&mut chain);
        let mut reader = Reader::of_bytes(header(), place, batch.buffer, batch.len);
        let found = whole_batches(&mut reader, &header()).unwrap();
        let found: Vec<_> = found.into_iter().map(|ended| (ended.place, ended.members)).collect();
        assert_eq!(found, [(batch.end, batch.members)]);
        assert_eq!(found[0].1.is_some(), side);
        place = batch.end;
    }
}

/// All that a batch says of itself can be right: what is before it was another.
#[test]
fn a_batch_that_followed_others_is_not_taken_for_the_next() {
    let (own, other) = (life(1, 1, &[20, 20, 20]), life(1, 2, &[20, 20, 20]));
    let mut mixed = own.clone();
    mixed[START + BLOCK..START + 2 * BLOCK].copy_from_slice(&other[START + BLOCK..START + 2 * BLOCK]);
    assert_eq!(first_bad(&own), ((START + 3 * BLOCK) as u64, Flaw::Crc));
    assert_eq!(first_bad(&mixed), ((START + BLOCK) as u64, Flaw::Chain));
    // With its seal, and without one.
    mixed[START + 2 * BLOCK - SEAL_LEN..].fill(0);
    assert_eq!(first_bad(&mixed), ((START + BLOCK) as u64, Flaw::Chain));
}

/// Of a batch that was cut, something comes back in the middle of the one that was written there since: it carries the same digest of
/// the batch before, and the next sequence.
#[test]
fn a_record_of_an_earlier_life_of_its_place_is_found() {
    let (old, new) = (life(1, 1, &[20, 20, 20]), life(2, 2, &[20, 20, 20]));
    for place in 1..20 {
        let at = START + place * RECORD;
        let mut mixed = new.clone();
        mixed[at..at + RECORD].copy_from_slice(&old[at..at + RECORD]);
        assert_eq!(first_bad(&mixed), (at as u64, Flaw::Epoch), "record {place}");
        // All from there on.
        mixed[at..].copy_from_slice(&old[at..]);
        assert_eq!(first_bad(&mixed), (at as u64, Flaw::Epoch), "from record {place}");
        // All up to there.
        let mut mixed = old.clone();
        mixed[at..].copy_from_slice(&new[at..]);
        assert_eq!(first_bad(&mixed), (at as u64, Flaw::Epoch), "up to record {place}");
    }
}

/// Records that are sound and in order, and not those of the seal.
#[test]
fn a_seal_counts_for_its_own_batch_only() {
    let (own, other) = (life(1, 1, &[20]), life(1, 2, &[20]));
    let at = START + 7 * RECORD;
    let mut mixed = own.clone();
    mixed[at..at + RECORD].copy_from_slice(&other[at..at + RECORD]);
    assert_eq!(first_bad(&mixed), ((START + BLOCK - SEAL_LEN) as u64, Flaw::Seal));
}

/// What is sound and in its place, and says something that this version cannot read, is neither passed over nor cut.
#[test]
fn what_this_version_does_not_know_is_refused() {
    let (record, seal) = (START + 3 * RECORD, START + BLOCK - SEAL_LEN);
    let (schema, kind, reserved) = (44, 46, HEADER_LEN + 32);
    let cases = [
        ("a schema to come", record, schema, SCHEMA as u8 + 1),
        ("a schema before the segment's", record, schema, SCHEMA as u8 - 1),
        ("a kind to come", record, kind, 0xee),
        ("a seal that says more", seal, reserved + 8, 1),
        ("a seal that says more", seal, SEAL_LEN - 1, 1),
    ];
    for (what, at, byte, value) in cases {
        let mut bytes = life(1, 1, &[20, 20]);
        bytes[at + byte] = value;
        record::link(&mut bytes, header().salt(), 5, at, at + 1);
        let mut reader = reader(&bytes, false);
        let error = loop {
            match reader.step() {
                Ok(Step::Record(_)) => {}
                Ok(other) => panic!("{what}: {other:?}"),
                Err(error) => break error,
            }
        };
        let is_named = matches!(error, PersistError::UnknownRecord { offset, .. } if offset == at as u64);
        assert!(is_named, "{what}: {error}");
    }
}
