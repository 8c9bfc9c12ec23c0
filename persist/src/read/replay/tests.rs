//! What is read ahead, skimmed and given away is judged as what is read record by record.

use super::*;
use crate::config::PersistConfig;
use crate::format::record::SCHEMA;
use crate::format::segment::MAGIC;
use crate::storage::ahead::{Pool, read_ahead};
use crate::storage::faulty::{Faulty, Random};
use crate::storage::{Access, Storage};
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
        batch.finish();
        let at = batch.offset as usize;
        bytes[at..at + batch.len].copy_from_slice(&batch.buffer[..batch.len]);
        if encoder.segment_room() < 1 << 16 && !encoder.begins_segment() {
            let mut batch = encoder.fill(Encoder::room(config.batch_len));
            batch.finish();
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

/// The same of what is handed out; `is_skimmed`: by one that steps over what is known to follow.
fn handed_out(bytes: &[u8], is_ahead: bool, is_skimmed: bool) -> (u64, String, Place) {
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
        if is_skimmed {
            reader.skim();
        }
    };
    reader.rest().into_iter().for_each(&mut take);
    (commands, format!("{end} {}", sum.finalize()), reader.place())
}

fn all_say(bytes: &[u8], expected: &(u64, String, Place), when: &str) {
    assert_eq!(told(bytes, true), *expected, "{when}");
    for (is_ahead, is_skimmed) in [(false, false), (true, false), (true, true)] {
        assert_eq!(handed_out(bytes, is_ahead, is_skimmed), *expected, "{when}, {is_ahead} {is_skimmed}");
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
