//! One frame between a leader and its mirror: a head of fixed length, and up to 1 MiB behind it.
//!
//! Little-endian:
//!
//! ```text
//!   0 magic [8] | 8 crc32c u32 (of bytes 12..72) | 12 version u16 | 14 kind u16 | 16 journal id [16]
//!  32 segment u64 | 40 offset u64 | 48 sequence u64 | 56 chain u64 | 64 detail u32 | 68 len u32 (of what is behind it)
//! ```
//!
//! | Kind | From | Says | Behind it |
//! |---|---|---|---|
//! | HELLO | mirror | where its journal ends: segment, offset, last sequence, chain; id, segment and the rest 0: it has none, and detail: bit 0, it begins with the newest snapshot though there may be all from the first command on | |
//! | WELCOME | leader | its end; detail: bit 0, replies wait for the mirror; chain: bytes of its next segments | |
//! | REFUSED | either | why the connection ends | text |
//! | SNAPSHOT | leader | sequence; offset in the file, of chain bytes in all | bytes of the file, whole blocks |
//! | BEGIN | leader | segment | the first block of the segment |
//! | RECORDS | leader | segment, offset, last sequence; detail 1: a batch ends here | whole blocks of records |
//! | SYNCED | mirror | up to where its disk holds everything | |
//! | BEAT | leader | its end, when there is nothing else to say | |
//! | BESIDE | member of a cluster | offset in a file that is kept beside the journal, of chain bytes in all; detail: crc32c of what is behind it | bytes of the file, whole blocks |
//!
//! What else is behind a head carries sums of its own: records, seals, the header of a segment, the digests of a snapshot.

use crate::format::checksum;
use crate::storage::BLOCK_LEN;
use ringside_core::ids::Sequence;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// First bytes of a frame.
pub const MAGIC: [u8; 8] = *b"RINGMIR1";
/// Version of everything this file draws.
pub const VERSION: u16 = 1;
/// Bytes of a head.
pub const HEAD_LEN: usize = 72;
/// Most bytes behind a head.
pub const PAYLOAD_MAX: usize = 1 << 20;
/// In the detail of a HELLO that has no journal: the newest snapshot comes first.
pub(crate) const NEWEST: u32 = 1;
/// Most bytes of a refusal's text.
pub const TEXT_MAX: usize = 4096;

/// What a frame is for; see the table above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
#[allow(missing_docs)] // The table says what each is.
pub enum FrameKind {
    Hello = 1,
    Welcome = 2,
    Refused = 3,
    Snapshot = 4,
    Begin = 5,
    Records = 6,
    Synced = 7,
    Beat = 8,
    Beside = 9,
}

impl FrameKind {
    const ALL: [FrameKind; 9] = [
        FrameKind::Hello,
        FrameKind::Welcome,
        FrameKind::Refused,
        FrameKind::Snapshot,
        FrameKind::Begin,
        FrameKind::Records,
        FrameKind::Synced,
        FrameKind::Beat,
        FrameKind::Beside,
    ];

    /// Whether so many bytes may be behind its head.
    fn takes(self, len: usize) -> bool {
        match self {
            FrameKind::Hello | FrameKind::Welcome | FrameKind::Synced | FrameKind::Beat => len == 0,
            FrameKind::Refused => len <= TEXT_MAX,
            FrameKind::Begin => len == BLOCK_LEN,
            FrameKind::Snapshot | FrameKind::Records | FrameKind::Beside => {
                (1..=PAYLOAD_MAX).contains(&len) && len.is_multiple_of(BLOCK_LEN)
            }
        }
    }
}

/// Why bytes are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Something else speaks there.
    #[error("what came does not begin as a frame does")]
    Magic,
    /// Some byte is another.
    #[error("the checksum of a frame does not match")]
    Crc,
    /// Another build.
    #[error("the other side speaks version {0} of the mirror's frames, this one {VERSION}")]
    Version(u16),
    /// Nothing this version knows.
    #[error("a frame is of kind {0}, which this version does not know")]
    Kind(u16),
    /// Too long, or of a length that its kind does not have.
    #[error("a frame of kind {kind} says that {len} bytes follow")]
    Len {
        /// Its kind.
        kind: u16,
        /// What it says.
        len: u32,
    },
    /// A place that no batch begins or ends at.
    #[error("a frame of kind {kind} names byte {offset}, which is no boundary of a block")]
    Offset {
        /// Its kind.
        kind: u16,
        /// What it says.
        offset: u64,
    },
}

/// The head; see the drawing above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
#[allow(missing_docs)] // The drawing and the table say what each field is.
pub struct Head {
    pub magic: [u8; 8],
    pub crc32c: u32,
    pub version: u16,
    pub kind: u16,
    pub journal_id: [u8; 16],
    pub segment: u64,
    pub offset: u64,
    pub sequence: Sequence,
    pub chain: u64,
    pub detail: u32,
    pub len: u32,
}

const _: () = assert!(size_of::<Head>() == HEAD_LEN);

impl Head {
    /// A head with nothing behind it, of this journal.
    pub fn new(kind: FrameKind, journal_id: [u8; 16]) -> Head {
        Head {
            magic: MAGIC,
            crc32c: 0,
            version: VERSION,
            kind: kind as u16,
            journal_id,
            segment: 0,
            offset: 0,
            sequence: 0,
            chain: 0,
            detail: 0,
            len: 0,
        }
    }

    /// Bytes behind it.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether nothing is behind it.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What it is for.
    ///
    /// Errors: [`FrameError::Kind`].
    pub fn kind(&self) -> Result<FrameKind, FrameError> {
        let known = FrameKind::ALL.into_iter().find(|kind| *kind as u16 == self.kind);
        known.ok_or(FrameError::Kind(self.kind))
    }

    /// Appends the frame, with `payload` behind the head.
    pub fn put(mut self, payload: &[u8], out: &mut Vec<u8>) {
        self.len = payload.len() as u32;
        self.crc32c = checksum::crc(&self.as_bytes()[12..]);
        out.extend_from_slice(self.as_bytes());
        out.extend_from_slice(payload);
    }

    /// Reads a head; what it says is behind it is at most [`PAYLOAD_MAX`] bytes.
    ///
    /// Errors: [`FrameError`].
    pub fn read(bytes: &[u8; HEAD_LEN]) -> Result<Head, FrameError> {
        let head = Head::read_from_bytes(bytes).unwrap_or_else(|_| unreachable!("they are as many"));
        if head.magic != MAGIC {
            return Err(FrameError::Magic);
        }
        if checksum::crc(&bytes[12..]) != head.crc32c {
            return Err(FrameError::Crc);
        }
        if head.version != VERSION {
            return Err(FrameError::Version(head.version));
        }
        if !head.kind()?.takes(head.len()) {
            return Err(FrameError::Len { kind: head.kind, len: head.len });
        }
        if !head.offset.is_multiple_of(BLOCK_LEN as u64) {
            return Err(FrameError::Offset { kind: head.kind, offset: head.offset });
        }
        Ok(head)
    }
}

/// Appends a piece of a file that is kept beside the journal, at `offset` of its `len` bytes.
pub fn put_beside(journal_id: [u8; 16], offset: u64, len: u64, piece: &[u8], out: &mut Vec<u8>) {
    let detail = checksum::crc(piece);
    Head { offset, chain: len, detail, ..Head::new(FrameKind::Beside, journal_id) }.put(piece, out);
}

/// Whether what came behind such a head is what was sent.
pub fn is_beside_sound(head: &Head, piece: &[u8]) -> bool {
    head.detail == checksum::crc(piece)
}

/// Appends a refusal.
pub fn put_refusal(journal_id: [u8; 16], text: &str, out: &mut Vec<u8>) {
    let end = text.floor_char_boundary(TEXT_MAX);
    Head::new(FrameKind::Refused, journal_id).put(&text.as_bytes()[..end], out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::faulty::Random;

    fn bytes_of(head: Head, payload: &[u8]) -> [u8; HEAD_LEN] {
        let mut out = Vec::new();
        head.put(payload, &mut out);
        out[..HEAD_LEN].try_into().expect("a head")
    }

    /// With the sum put right after a change.
    fn summed(mut bytes: [u8; HEAD_LEN]) -> [u8; HEAD_LEN] {
        let crc = checksum::crc(&bytes[12..]);
        bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    #[test]
    fn frames_come_back() {
        let head = Head {
            segment: 3,
            offset: 8192,
            sequence: 7,
            chain: 9,
            detail: 1,
            ..Head::new(FrameKind::Records, [5; 16])
        };
        let bytes = bytes_of(head, &[0; BLOCK_LEN]);
        let read = Head::read(&bytes).expect("sound");
        assert_eq!((read.kind(), read.len()), (Ok(FrameKind::Records), BLOCK_LEN));
        assert_eq!((read.segment, read.offset, read.sequence, read.chain, read.detail), (3, 8192, 7, 9, 1));
        let mut long = Vec::new();
        put_refusal([1; 16], &"ü".repeat(TEXT_MAX), &mut long);
        let read = Head::read(long[..HEAD_LEN].try_into().expect("a head")).expect("sound");
        assert_eq!(read.len(), TEXT_MAX);
        assert!(std::str::from_utf8(&long[HEAD_LEN..]).is_ok(), "cut between two letters");
    }

    /// Two releases understand each other only where both mean the same by a version.
    #[test]
    fn frames_of_this_version_are_the_bytes_that_they_were() {
        let mut bytes = Vec::new();
        for kind in FrameKind::ALL {
            let (segment, offset, sequence, chain, detail) = (3, 8192, 7, 9, 1);
            Head { segment, offset, sequence, chain, detail, ..Head::new(kind, [5; 16]) }
                .put(&[], &mut bytes);
        }
        put_beside([5; 16], 4096, 1 << 20, &[6; BLOCK_LEN], &mut bytes);
        put_refusal([5; 16], "why", &mut bytes);
        assert_eq!((VERSION, checksum::crc(&bytes)), (1, 1_518_055_944), "other bytes need another version");
    }

    #[test]
    fn every_bit_of_a_head_counts() {
        let mut bytes = bytes_of(Head::new(FrameKind::Beat, [5; 16]), &[]);
        for bit in 0..HEAD_LEN * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let refused = Head::read(&bytes).expect_err("changed");
            assert_eq!(refused == FrameError::Magic, bit < 64, "bit {bit}: {refused}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(Head::read(&bytes).is_ok());
    }

    #[test]
    fn what_no_frame_says_is_refused_though_its_sum_is_right() {
        let beat = bytes_of(Head::new(FrameKind::Beat, [5; 16]), &[]);
        let changed = |at: usize, value: u16| {
            let mut bytes = beat;
            bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
            Head::read(&summed(bytes))
        };
        assert_eq!(changed(12, 2), Err(FrameError::Version(2)));
        for kind in [0, 10, u16::MAX] {
            assert_eq!(changed(14, kind), Err(FrameError::Kind(kind)));
        }
        assert_eq!(changed(40, 1), Err(FrameError::Offset { kind: 8, offset: 1 }));
        let of = |kind: FrameKind, len: u32| {
            let mut bytes = bytes_of(Head::new(kind, [5; 16]), &[]);
            bytes[68..72].copy_from_slice(&len.to_le_bytes());
            Head::read(&summed(bytes)).map(|head| head.len())
        };
        let (block, max) = (BLOCK_LEN as u32, PAYLOAD_MAX as u32);
        for (kind, good, bad) in [
            (FrameKind::Hello, vec![0], vec![1, block]),
            (FrameKind::Welcome, vec![0], vec![1]),
            (FrameKind::Synced, vec![0], vec![block]),
            (FrameKind::Beat, vec![0], vec![u32::MAX]),
            (FrameKind::Refused, vec![0, 1, TEXT_MAX as u32], vec![TEXT_MAX as u32 + 1]),
            (FrameKind::Begin, vec![block], vec![0, block - 1, 2 * block]),
            (FrameKind::Records, vec![block, max], vec![0, 1, block + 1, max + block, u32::MAX]),
            (FrameKind::Snapshot, vec![block, max], vec![0, block - 1, max + block]),
            (FrameKind::Beside, vec![block, max], vec![0, block - 1, max + block]),
        ] {
            for len in good {
                assert_eq!(of(kind, len), Ok(len as usize), "{kind:?}");
            }
            for len in bad {
                assert_eq!(of(kind, len), Err(FrameError::Len { kind: kind as u16, len }), "{kind:?}");
            }
        }
    }

    #[test]
    fn bytes_of_chance_are_no_frames() {
        let mut random = Random::new(7);
        for _ in 0..20_000 {
            let mut bytes = [0; HEAD_LEN];
            bytes.iter_mut().for_each(|byte| *byte = random.draw() as u8);
            assert_eq!(Head::read(&bytes), Err(FrameError::Magic));
            bytes[..8].copy_from_slice(&MAGIC);
            assert_eq!(Head::read(&bytes), Err(FrameError::Crc));
            // With the sum of whoever knows the format: whatever is read of it stays within bounds.
            bytes[12..14].copy_from_slice(&VERSION.to_le_bytes());
            bytes[14..16].copy_from_slice(&(random.draw() as u16 % 11).to_le_bytes());
            bytes[68..72].copy_from_slice(&((random.draw() as u32) >> random.below(32)).to_le_bytes());
            if let Ok(head) = Head::read(&summed(bytes)) {
                assert!(head.len() <= PAYLOAD_MAX && head.kind().is_ok());
            }
        }
    }
}
