//! One frame of the journal: how a command becomes bytes on disk and back.
//!
//! Little-endian. A header of 64 bytes, the body, zeros to the next multiple of 64:
//!
//! ```text
//!  byte   0        4        8                16               24               32
//!         +--------+--------+----------------+----------------+----------------+
//!       0 | len    | crc32c | seq            | chain          | durable_seq    |
//!         +--------+--------+----------------+--------+-------+----------------+
//!      32 | ts_ns           | epoch  |sch|typ| source | flags | source_seq     |
//!         +-----------------+--------+---+---+--------+-------+----------------+
//!      64 | body: len bytes, then zeros to a multiple of 64 (checked)            ...
//!         +--------------------------------------------------------------------+
//! ```
//!
//! | Field | Meaning |
//! |---|---|
//! | len | bytes of the body, padding excluded |
//! | crc32c | of bytes 0..4 and 8..end, padding included, starting at the segment's [`Salt`] |
//! | seq | sequence of the command, dense; of pads, seals and entries beside the commands: of the last command before them |
//! | chain | the same in all records of a batch: [`chain`](crate::format::checksum::chain) of the digest that the seal of the batch before says; of a journal's first batch: [`chain_start`](crate::format::checksum::chain_start) |
//! | durable_seq | last sequence known to be durable before this record was written |
//! | ts_ns | time of the command; of the others: of the last command before them |
//! | epoch | incarnation of the process that wrote it |
//! | sch, typ | [`SCHEMA`]; a [`command::Kind`] or one of [`PAD`], [`SEAL`], [`RAW`], [`SIDE`] |
//! | source, source_seq | as in the command; zero in the others |
//! | flags | distance, in units of 64 bytes, from this record back to the durable mark: everything before that point of the segment was durable before this record was written. Bits 28 and up are zero |
//!
//! The body of a command is [`Command::body_len`] bytes; a command that those do not tell whole (a kind this
//! version does not know, a reserved field in use) is kept as [`RAW`], all 184 bytes of it, so that what the engine
//! was given is what replay gives it. Written once: the golden files of `tests/golden/` hold every shape.
//!
//! The body of a [`SIDE`] record is an entry that the engine never sees ([`ringside_core::side`]); what its bytes mean its writer knows:
//!
//! ```text
//!   0 kind u16 | 2 what u16 (1: the bytes stand there now, 2: nothing does) | 4 id_len u16 | 6 zero u16 | 8 id | bytes to the end
//! ```
//!
//! So nothing is summed twice: the CRC says whether a record is as it was written, `seq`, `epoch` and `chain` whether it belongs
//! where it stands, the digest in the seal whether the batch is whole; and each digest covers the one before.
//!
//! Records of the first schema are read as well ([`schema_1`]).
//!
//! This file knows no files, batches or recovery rules. [`parse`](parse()) reads what it writes.

mod parse;

use crate::format::checksum::Salt;
use crate::format::schema_1;
pub(crate) use parse::is_zero;
pub use parse::{Class, Flaw, Record, len_at, parse};
use ringside_core::command::{self, BODY_LEN, Command};
use ringside_core::ids::Sequence;
use ringside_core::side::{BYTES_LEN_MAX, ID_LEN_MAX, SideEntry};
use ringside_core::sums::EventSum;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Version of everything this file draws.
pub const SCHEMA: u16 = 2;
/// Bytes of a header, and the unit records are padded to.
pub const HEADER_LEN: usize = 64;
/// Type of a record that fills space; its body is zeros.
pub const PAD: u16 = 0xff01;
/// Type of the record that ends a batch; its body is a [`Seal`].
pub const SEAL: u16 = 0xff02;
/// Type of a command kept whole.
pub const RAW: u16 = 0xff03;
/// Type of an entry beside the commands.
pub const SIDE: u16 = 0xff04;
/// Longest record of any type, header included; longer gaps take several pads.
pub const RECORD_LEN_MAX: usize = 64 * 1024;
/// Bytes of a seal's record.
pub const SEAL_LEN: usize = HEADER_LEN + padded(size_of::<Seal>());
/// Bytes of the longest command's record.
pub const COMMAND_LEN_MAX: usize = HEADER_LEN + padded(size_of::<Command>());
/// Bytes of a [`SIDE`] body before its id.
pub(crate) const SIDE_HEAD_LEN: usize = 8;
/// Bytes of the longest record of an entry beside the commands.
pub const SIDE_LEN_MAX: usize = HEADER_LEN + padded(SIDE_HEAD_LEN + ID_LEN_MAX + BYTES_LEN_MAX);
const _: () = assert!(SIDE_LEN_MAX <= RECORD_LEN_MAX);
/// Bits of `flags` that may be set.
pub const DISTANCE_MASK: u32 = (1 << 28) - 1;

/// The first 64 bytes of a record; see the drawing above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
#[allow(missing_docs)] // The table above says what each field is.
pub struct Header {
    pub len: u32,
    pub crc32c: u32,
    pub seq: Sequence,
    pub chain: u64,
    pub durable_seq: Sequence,
    pub ts_ns: i64,
    pub epoch: u32,
    pub schema: u16,
    pub kind: u16,
    pub source: u32,
    pub flags: u32,
    pub source_seq: u64,
}

const _: () = assert!(size_of::<Header>() == HEADER_LEN);

impl Header {
    /// Its bytes as little-endian words.
    #[inline(always)]
    fn words(&self) -> [u64; 8] {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        [
            pair(self.len, self.crc32c),
            self.seq,
            self.chain,
            self.durable_seq,
            self.ts_ns.cast_unsigned(),
            pair(self.epoch, u32::from(self.schema) | u32::from(self.kind) << 16),
            pair(self.source, self.flags),
            self.source_seq,
        ]
    }
}

/// Whether this version reads records of that schema.
#[inline]
pub fn is_known(schema: u16) -> bool {
    (schema_1::SCHEMA..=SCHEMA).contains(&schema)
}

/// Body of a [`SEAL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Seal {
    /// First 128 bits of BLAKE3 over the batch: the `batch_len` bytes before this record.
    pub digest: [u8; 16],
    /// Bytes of the batch, this record excluded.
    pub batch_len: u64,
    /// Commands in the batch.
    pub command_count: u64,
    /// Its number in the log of a cluster, from 1, dense; 0 where it was written alone.
    pub index: u64,
    /// What the engine told through some earlier command ([`EventSum`]), for those who follow to compare: the first command that it
    /// counts, that one, the sum. Zeros where nobody counted.
    pub told: [u64; 3],
}

impl Seal {
    /// What the engine told.
    pub fn told(&self) -> EventSum {
        let [since, through, sum] = self.told;
        EventSum { since, through, sum }
    }

    /// Whether what it says was told can be, in a batch that ends at command `last`.
    pub(crate) fn is_sound(&self, last: Sequence) -> bool {
        let [since, through, _] = self.told;
        self.told == [0; 3] || (1..=through).contains(&since) && through <= last
    }
}

/// A body's room: `len` rounded up to a multiple of 64.
#[inline]
pub const fn padded(len: usize) -> usize {
    len.next_multiple_of(HEADER_LEN)
}

/// What every record of a stretch of writing has in common.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    /// See [`Header::durable_seq`].
    pub durable_seq: Sequence,
    /// See [`Header::epoch`].
    pub epoch: u32,
}

impl Stamp {
    /// Appends the record of `command` at the start of `room` and gives the bytes taken. `distance` is in bytes. `room` holds
    /// at least [`COMMAND_LEN_MAX`]. Its chain and its CRC are left for [`link`] to fill in.
    #[inline]
    pub fn command(&self, room: &mut [u8], command: &Command, distance: u64) -> usize {
        let header = Header {
            len: 0,
            crc32c: 0,
            seq: command.sequence,
            chain: 0,
            durable_seq: self.durable_seq,
            ts_ns: command.time_ns,
            epoch: self.epoch,
            schema: SCHEMA,
            kind: command.kind,
            source: command.source,
            flags: units(distance),
            source_seq: command.source_seq,
        };
        let Some(len) = body_len_of(command.kind).filter(|_| command.reserved == 0) else {
            return self.put(room, Header { kind: RAW, ..header }, command.as_bytes());
        };
        let header = Header { len: len as u32, ..header };
        // The zeros that pad the body stand behind it in the command, too: nearly every record is copied in one piece of a
        // length that the compiler knows.
        match padded(len) {
            64 if ends_at::<8>(&command.body, len) => {
                room[HEADER_LEN..2 * HEADER_LEN].copy_from_slice(&command.body[..64]);
                self.finish(room, header, 2 * HEADER_LEN)
            }
            128 if ends_at::<16>(&command.body, len) => {
                room[HEADER_LEN..3 * HEADER_LEN].copy_from_slice(&command.body[..128]);
                self.finish(room, header, 3 * HEADER_LEN)
            }
            _ if ends_at::<{ BODY_LEN / 8 }>(&command.body, len) => {
                self.put(room, header, &command.body[..len])
            }
            _ => self.put(room, Header { kind: RAW, len: 0, ..header }, command.as_bytes()),
        }
    }

    /// Appends a pad of exactly `len` bytes (a multiple of 64, at most [`RECORD_LEN_MAX`]) after the command `last`, to be
    /// linked as commands are.
    pub fn pad(&self, room: &mut [u8], len: usize, last: Last, distance: u64) -> usize {
        assert!(
            len.is_multiple_of(HEADER_LEN) && (HEADER_LEN..=RECORD_LEN_MAX).contains(&len),
            "pad of {len}"
        );
        room[HEADER_LEN..len].fill(0);
        let header = Header { len: (len - HEADER_LEN) as u32, ..self.internal(PAD, last, distance) };
        self.finish(room, header, len)
    }

    /// Appends a seal after the command `last`: [`SEAL_LEN`] bytes, to be linked as commands are, which [`finish_seal`] must
    /// complete with the digest before they are written.
    pub fn seal(&self, room: &mut [u8], seal: &Seal, last: Last, distance: u64) -> usize {
        self.put(room, self.internal(SEAL, last, distance), seal.as_bytes())
    }

    /// Appends the record of an entry beside the commands, after the command `last`: [`side_len`] bytes, to be linked as commands are.
    /// The entry is within its bounds.
    pub fn side(&self, room: &mut [u8], entry: &SideEntry, last: Last, distance: u64) -> usize {
        assert!(entry.is_within_bounds(), "an entry that would not be read again");
        let (what, bytes): (u16, &[u8]) = entry.bytes.as_ref().map_or((2, &[]), |bytes| (1, bytes));
        let id = &entry.key.id;
        let total = side_len(entry);
        let len = SIDE_HEAD_LEN + id.len() + bytes.len();
        let body = &mut room[HEADER_LEN..total];
        for (word, number) in body.chunks_mut(2).zip([entry.key.kind, what, id.len() as u16, 0]) {
            word.copy_from_slice(&number.to_le_bytes());
        }
        body[SIDE_HEAD_LEN..][..id.len()].copy_from_slice(id);
        body[SIDE_HEAD_LEN + id.len()..len].copy_from_slice(bytes);
        body[len..].fill(0);
        self.finish(room, Header { len: len as u32, ..self.internal(SIDE, last, distance) }, total)
    }

    fn internal(&self, kind: u16, last: Last, distance: u64) -> Header {
        Header {
            len: 0,
            crc32c: 0,
            seq: last.sequence,
            chain: 0,
            durable_seq: self.durable_seq,
            ts_ns: last.time_ns,
            epoch: self.epoch,
            schema: SCHEMA,
            kind,
            source: 0,
            flags: units(distance),
            source_seq: 0,
        }
    }

    fn put(&self, room: &mut [u8], header: Header, body: &[u8]) -> usize {
        let total = HEADER_LEN + padded(body.len());
        room[HEADER_LEN..HEADER_LEN + body.len()].copy_from_slice(body);
        room[HEADER_LEN + body.len()..total].fill(0);
        self.finish(room, Header { len: body.len() as u32, ..header }, total)
    }

    /// Writes the header in front of a body that is there.
    // Inlined and given the header by value, so that its fields become words in registers.
    #[inline(always)]
    fn finish(&self, room: &mut [u8], header: Header, total: usize) -> usize {
        let (words, _) = room[..total].as_chunks_mut::<8>();
        for (room, word) in words.iter_mut().zip(header.words()) {
            *room = word.to_le_bytes();
        }
        total
    }
}

/// Bytes of the record of an entry beside the commands.
pub fn side_len(entry: &SideEntry) -> usize {
    let bytes = entry.bytes.as_ref().map_or(0, Vec::len);
    HEADER_LEN + padded(SIDE_HEAD_LEN + entry.key.id.len() + bytes)
}

/// Gives whole records of a batch the chain that they carry and their CRCs, one after the other from byte `from` of `records` on,
/// until one ends at or behind byte `until`; gives where.
pub fn link(records: &mut [u8], salt: Salt, chain: u64, from: usize, until: usize) -> usize {
    let mut at = from;
    while at < until {
        let Some(len) = len_at(&records[at..]) else { unreachable!("they were made here") };
        let record = &mut records[at..at + len];
        record[16..24].copy_from_slice(&chain.to_le_bytes());
        let crc = salt.crc(record);
        record[4..8].copy_from_slice(&crc.to_le_bytes());
        at += len;
    }
    at
}

/// Completes a seal that [`Stamp::seal`] wrote with the digest of its batch.
pub fn finish_seal(record: &mut [u8], salt: Salt, digest: [u8; 16]) {
    record[HEADER_LEN..HEADER_LEN + 16].copy_from_slice(&digest);
    let crc = salt.crc(&record[..SEAL_LEN]);
    record[4..8].copy_from_slice(&crc.to_le_bytes());
}

/// The last command before a pad or a seal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Last {
    /// Its sequence.
    pub sequence: Sequence,
    /// Its time.
    pub time_ns: i64,
}

#[inline]
fn units(distance: u64) -> u32 {
    let units = distance / HEADER_LEN as u64;
    assert!(units <= u64::from(DISTANCE_MASK), "a segment is shorter than the distance field reaches");
    units as u32
}

/// Bytes of the body of a command of kind `code`; `None` for a kind that this version does not know.
#[inline]
fn body_len_of(code: u16) -> Option<usize> {
    match BODY_LENS.get(usize::from(code)) {
        Some(&len) if len != UNKNOWN => Some(usize::from(len)),
        _ => None,
    }
}

const UNKNOWN: u8 = u8::MAX;

/// By kind: a look into a table costs less than telling dozens of kinds apart, once and again, for every record.
static BODY_LENS: [u8; 256] = {
    let mut lens = [UNKNOWN; 256];
    let mut place = 0;
    while place < command::Kind::ALL.len() {
        let kind = command::Kind::ALL[place];
        assert!((kind as usize) < lens.len() && kind.body_len() < UNKNOWN as usize);
        assert!(kind.body_len() <= BODY_LEN && kind.body_len().is_multiple_of(8));
        lens[kind as usize] = kind.body_len() as u8;
        place += 1;
    }
    lens
};

/// Whether nothing but zeros stands in the body from its first `len` bytes on, a whole number of words, at most `WITHIN`. Looks at
/// each of those through a mask: a loop of a length that the compiler knows costs less than one that is shorter.
#[inline(always)]
fn ends_at<const WITHIN: usize>(body: &[u8; BODY_LEN], len: usize) -> bool {
    let (words, _) = body.as_chunks::<8>();
    let (near, rest) = words.split_at(WITHIN);
    rest.iter().fold(behind::<WITHIN>(near, len), |any, word| any | u64::from_le_bytes(*word)) == 0
}

/// What stands in the first `WITHIN` of `words` from byte `len` on, a whole number of words.
#[inline(always)]
fn behind<const WITHIN: usize>(words: &[[u8; 8]], len: usize) -> u64 {
    const WORDS: usize = BODY_LEN / 8;
    static MASKS: [u64; 2 * WORDS] = {
        let mut masks = [0; 2 * WORDS];
        let mut place = WORDS;
        while place < masks.len() {
            masks[place] = u64::MAX;
            place += 1;
        }
        masks
    };
    let Some((masks, _)) = MASKS[WORDS - len / 8..].split_first_chunk::<WITHIN>() else {
        unreachable!("a body is no longer than its room")
    };
    words.iter().zip(masks).fold(0, |any, (word, mask)| any | u64::from_le_bytes(*word) & mask)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringside_core::command::{AdvanceTime, CancelOrder, PlaceOrder, Side};

    fn stamp() -> Stamp {
        Stamp { durable_seq: 6, epoch: 7 }
    }

    fn salt() -> Salt {
        Salt::new(&[3; 16], 4)
    }

    fn command(sequence: u64) -> Command {
        let mut command = Command::new(PlaceOrder::limit(1, 2, Side::Sell, 3, 4));
        (command.sequence, command.time_ns, command.source, command.source_seq) = (sequence, 1_000, 8, 9);
        command
    }

    #[repr(align(64))]
    struct Room([u8; 1024]);

    #[test]
    fn commands_come_back_whole() {
        let mut strange = Command::new(CancelOrder { account: 1, reserved: 2, order: 3 });
        strange.body[BODY_LEN - 1] = 1;
        let mut unknown = command(12);
        (unknown.kind, unknown.reserved) = (999, 4);
        let mut empty = Command::new(AdvanceTime {});
        empty.sequence = 3;
        for (command, len) in [(command(10), 128), (strange, 256), (unknown, 256), (empty, 64)] {
            let mut room = Room([0xaa; 1024]);
            assert_eq!(stamp().command(&mut room.0, &command, 640), len);
            assert_eq!(link(&mut room.0, salt(), 5, 0, 1), len);
            let record = parse(&room.0, salt()).expect("valid");
            assert_eq!((record.class(), record.bytes.len(), record.distance()), (Class::Command, len, 640));
            assert!(record.command() == command, "{command:?}");
            assert_eq!(record.header.chain, 5);
        }
    }

    #[test]
    fn pads_and_seals_come_back() {
        let mut room = Room([0xaa; 1024]);
        let last = Last { sequence: 10, time_ns: 11 };
        let seal = Seal { digest: [1; 16], batch_len: 2, command_count: 3, index: 0, told: [0; 3] };
        let pad_len = stamp().pad(&mut room.0, 192, last, 0);
        let seal_len = stamp().seal(&mut room.0[pad_len..], &seal, last, 192);
        assert_eq!((pad_len, seal_len), (192, SEAL_LEN));
        assert_eq!(link(&mut room.0, salt(), 5, 0, 193), pad_len + seal_len);
        assert_eq!(parse(&room.0, salt()).expect("pad").class(), Class::Pad);
        let record = parse(&room.0[192..], salt()).expect("seal");
        assert_eq!((record.class(), record.seal(), record.header.seq), (Class::Seal, seal, 10));
        finish_seal(&mut room.0[192..], salt(), [9; 16]);
        let record = parse(&room.0[192..], salt()).expect("seal");
        assert_eq!((record.seal().digest, record.header.chain), ([9; 16], 5));
    }

    #[test]
    fn entries_beside_the_commands_come_back() {
        let mut room = vec![0_u64; 8 << 10];
        let room = room.as_mut_bytes();
        let last = Last { sequence: 10, time_ns: 11 };
        for (id, bytes) in [(0, 0), (1, 55), (8, 300), (ID_LEN_MAX, BYTES_LEN_MAX)] {
            let put = SideEntry::put(7, &vec![5; id], vec![6; bytes]);
            let gone = SideEntry::delete(7, &vec![5; id]);
            for entry in [put, gone] {
                room.fill(0xaa);
                let len = stamp().side(room, &entry, last, 640);
                assert!(len == side_len(&entry) && len <= SIDE_LEN_MAX);
                assert_eq!(link(room, salt(), 5, 0, 1), len);
                let record = parse(room, salt()).expect("valid");
                assert_eq!((record.class(), record.bytes.len(), record.distance()), (Class::Side, len, 640));
                assert_eq!((record.side(), record.header.seq, record.header.ts_ns), (entry, 10, 11));
            }
        }
    }

    #[test]
    fn an_entry_that_is_none_is_not_taken_for_one() {
        let mut room = Room([0; 1024]);
        let entry = SideEntry::put(7, b"key", vec![1, 2, 3]);
        let gone = SideEntry::delete(7, b"key");
        // Byte of the body, and what stands there: what it may say, an id that is longer than its room, a reserved number, bytes of what
        // is gone.
        let cases = [
            (&entry, 2, 0),
            (&entry, 2, 2),
            (&entry, 2, 3),
            (&entry, 3, 1),
            (&entry, 4, 7),
            (&entry, 5, 1),
            (&entry, 6, 1),
            (&gone, 2, 1),
            (&gone, 4, 2),
        ];
        for (entry, byte, value) in cases {
            stamp().side(&mut room.0, entry, Last::default(), 0);
            room.0[HEADER_LEN + byte] = value;
            link(&mut room.0, salt(), 5, 0, 1);
            let is_put = entry.bytes.is_some();
            let expected = if byte == 2 && value == 1 && !is_put { Class::Side } else { Class::Unknown };
            assert_eq!(parse(&room.0, salt()).expect("valid").class(), expected, "{byte} {value} {is_put}");
        }
        stamp().side(&mut room.0, &entry, Last::default(), 0);
        room.0[44] = schema_1::SCHEMA as u8;
        link(&mut room.0, salt(), 5, 0, 1);
        assert_eq!(
            parse(&room.0, salt()).expect("valid").class(),
            Class::Unknown,
            "the first schema had none"
        );
    }

    #[test]
    fn a_seal_that_says_what_cannot_be_is_not_taken_for_one() {
        let mut room = Room([0; 1024]);
        for place in 0..4 {
            let told = std::array::from_fn(|index| u64::from(index == place) << 63);
            let seal = Seal { digest: [1; 16], batch_len: 2, command_count: 3, index: 7, told };
            stamp().seal(&mut room.0, &seal, Last::default(), 0);
            link(&mut room.0, salt(), 5, 0, SEAL_LEN);
            let class = if place < 3 { Class::Unknown } else { Class::Seal };
            assert_eq!(parse(&room.0, salt()).expect("valid").class(), class, "word {place}");
        }
        let last = Last { sequence: 9, time_ns: 0 };
        for (told, is_sound) in
            [([5, 9, 0], true), ([9, 9, 1], true), ([5, 10, 1], false), ([6, 5, 1], false)]
        {
            let seal = Seal { digest: [1; 16], batch_len: 2, command_count: 3, index: 7, told };
            stamp().seal(&mut room.0, &seal, last, 0);
            link(&mut room.0, salt(), 5, 0, SEAL_LEN);
            let class = if is_sound { Class::Seal } else { Class::Unknown };
            assert_eq!(parse(&room.0, salt()).expect("valid").class(), class, "{told:?}");
        }
    }

    #[test]
    fn every_bit_of_a_record_counts() {
        let mut room = Room([0; 1024]);
        let len = stamp().command(&mut room.0, &command(1), 0);
        link(&mut room.0, salt(), 5, 0, len);
        for bit in 0..len * 8 {
            room.0[bit / 8] ^= 1 << (bit % 8);
            assert!(parse(&room.0, salt()).is_err(), "bit {bit}");
            room.0[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(parse(&room.0, Salt::new(&[3; 16], 5)).is_err(), "a record of another segment");
    }
}
