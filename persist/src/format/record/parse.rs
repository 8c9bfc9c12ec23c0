//! Bytes back into records and commands: whether a record's own bytes agree with each other, and what it says.

use super::{
    DISTANCE_MASK, HEADER_LEN, Header, PAD, RAW, RECORD_LEN_MAX, SEAL, SIDE, SIDE_HEAD_LEN, Seal,
    body_len_of, is_known, padded,
};
use crate::format::checksum::Salt;
use crate::format::schema_1;
use ringside_core::command::Command;
use ringside_core::side::{BYTES_LEN_MAX, ID_LEN_MAX, SideEntry, SideKey};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

/// Whether all bytes are zero. Looks at all of them, so that it can take many at a time.
#[inline]
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().fold(0, |any, word| any | u64::from_le_bytes(*word));
    rest.iter().fold(words, |any, byte| any | u64::from(*byte)) == 0
}

/// A record whose own bytes agree with each other; whether it belongs where it was found is for the reader to say.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Its first 64 bytes.
    pub header: &'a Header,
    /// Header, body, padding.
    pub bytes: &'a [u8],
}

/// Why bytes are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The length runs past the segment or the longest record.
    Length,
    /// The CRC does not match.
    Crc,
    /// The CRC matches, but the padding or a reserved flag is not zero.
    Padding,
    /// A valid record that belongs elsewhere: the chain does not match.
    Chain,
    /// The chain matches, the sequence is not the next.
    Sequence,
    /// The epoch is lower than that of the record before, or a command's another than that of its batch.
    Epoch,
    /// A seal whose digest or counts do not fit its batch.
    Seal,
    /// The segment ends inside a record.
    End,
}

impl std::fmt::Display for Flaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Flaw::Length => "its length field is out of range",
            Flaw::Crc => "its checksum does not match",
            Flaw::Padding => "its padding is not zero",
            Flaw::Chain => "it does not follow what is before it",
            Flaw::Sequence => "its sequence is not the next",
            Flaw::Epoch => "its epoch is not that of the records before it",
            Flaw::Seal => "the seal does not fit its batch",
            Flaw::End => "the segment ends inside it",
        })
    }
}

/// Bytes of the record at the start of `bytes`, as its header says; `None` where that is none that a record can have, or the
/// header is not there whole.
#[inline]
pub fn len_at(bytes: &[u8]) -> Option<usize> {
    let (header, _) = bytes.split_first_chunk::<HEADER_LEN>()?;
    let (words, _) = header.as_chunks::<4>();
    let len = u32::from_le_bytes(words[0]) as usize;
    (len <= RECORD_LEN_MAX - HEADER_LEN).then(|| HEADER_LEN + padded(len))
}

/// The record at the start of `bytes`, which reach to the end of the segment, or hold what [`len_at`] says, or [`RECORD_LEN_MAX`].
/// `bytes` are aligned to 8.
#[inline]
pub fn parse(bytes: &[u8], salt: Salt) -> Result<Record<'_>, Flaw> {
    let (header, _) = Header::ref_from_prefix(bytes).map_err(|_| Flaw::End)?;
    let len = header.len as usize;
    if len > RECORD_LEN_MAX - HEADER_LEN || HEADER_LEN + padded(len) > bytes.len() {
        return Err(Flaw::Length);
    }
    let record = &bytes[..HEADER_LEN + padded(len)];
    if salt.crc(record) != header.crc32c {
        return Err(Flaw::Crc);
    }
    if header.flags & !DISTANCE_MASK != 0 || !is_zero(&record[HEADER_LEN + len..]) {
        return Err(Flaw::Padding);
    }
    Ok(Record { header, bytes: record })
}

/// What stands in the body of an entry beside the commands.
struct Side<'a> {
    kind: u16,
    id: &'a [u8],
    bytes: Option<&'a [u8]>,
}

/// What a record is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Carries a command.
    Command,
    /// Fills space.
    Pad,
    /// Ends a batch.
    Seal,
    /// Carries an entry beside the commands.
    Side,
    /// Nothing this version can read: an unknown type, schema or body length, a seal that says more than is known, or an entry
    /// beside the commands that is none.
    Unknown,
}

impl<'a> Record<'a> {
    /// The record at the start of `bytes`, which is known to be one and whole there. `bytes` are aligned to 8.
    #[inline]
    pub(crate) fn trusted(bytes: &'a [u8]) -> Option<Record<'a>> {
        let (header, _) = Header::ref_from_prefix(bytes).ok()?;
        let bytes = bytes.get(..HEADER_LEN + padded(header.len as usize))?;
        Some(Record { header, bytes })
    }

    /// What it is for.
    #[inline]
    pub fn class(&self) -> Class {
        let len = self.header.len as usize;
        if !is_known(self.header.schema) {
            return Class::Unknown;
        }
        match self.header.kind {
            PAD => Class::Pad,
            SEAL if self.is_schema_1() && len == schema_1::SEAL_BODY_LEN => Class::Seal,
            SEAL if !self.is_schema_1() && len == size_of::<Seal>() => {
                match self.seal().is_sound(self.header.seq) {
                    true => Class::Seal,
                    false => Class::Unknown,
                }
            }
            SIDE if !self.is_schema_1() && self.side_parts().is_some() => Class::Side,
            RAW if len == size_of::<Command>() => Class::Command,
            kind if body_len_of(kind) == Some(len) => Class::Command,
            _ => Class::Unknown,
        }
    }

    /// Whether it is of the first schema.
    #[inline]
    pub fn is_schema_1(&self) -> bool {
        self.header.schema == schema_1::SCHEMA
    }

    /// What tells it from any other that could stand in its place: itself, and through the chain every batch before its own.
    pub fn mark(&self) -> u64 {
        match self.is_schema_1() {
            true => schema_1::chain_after(self),
            false => self.header.chain ^ u64::from(self.header.crc32c),
        }
    }

    /// Its body without padding.
    #[inline]
    pub fn body(&self) -> &'a [u8] {
        &self.bytes[HEADER_LEN..HEADER_LEN + self.header.len as usize]
    }

    /// The command of a record of [`Class::Command`].
    #[inline]
    pub fn command(&self) -> Command {
        let mut command = Command::new_zeroed();
        self.command_into(&mut command);
        command
    }

    /// The same, made where it is to stand: a command is 184 bytes, and replay lives on not copying it twice.
    #[inline]
    pub fn command_into(&self, command: &mut Command) {
        let body = self.body();
        if self.header.kind == RAW {
            command.as_mut_bytes().copy_from_slice(body);
            return;
        }
        command.sequence = self.header.seq;
        command.time_ns = self.header.ts_ns;
        command.source_seq = self.header.source_seq;
        command.source = self.header.source;
        command.kind = self.header.kind;
        command.reserved = 0;
        // What pads the body in the record pads it in the command.
        let padded = &self.bytes[HEADER_LEN..];
        match padded.len() {
            64 => {
                command.body[..64].copy_from_slice(padded);
                command.body[64..].fill(0);
            }
            128 => {
                command.body[..128].copy_from_slice(padded);
                command.body[128..].fill(0);
            }
            _ => {
                let (used, rest) = command.body.split_at_mut(body.len());
                used.copy_from_slice(body);
                rest.fill(0);
            }
        }
    }

    /// The content of a record of [`Class::Seal`].
    pub fn seal(&self) -> Seal {
        // Where the body is shorter zeros follow.
        let (seal, _) = Seal::read_from_prefix(&self.bytes[HEADER_LEN..])
            .unwrap_or_else(|_| unreachable!("class checked the length"));
        seal
    }

    /// The entry of a record of [`Class::Side`].
    pub fn side(&self) -> SideEntry {
        let Some(Side { kind, id, bytes }) = self.side_parts() else {
            unreachable!("class checked the body")
        };
        SideEntry { key: SideKey { kind, id: id.to_vec() }, bytes: bytes.map(<[u8]>::to_vec) }
    }

    /// The body of an entry, where it is one.
    fn side_parts(&self) -> Option<Side<'a>> {
        let (head, rest) = self.body().split_first_chunk::<SIDE_HEAD_LEN>()?;
        let word = |index: usize| u16::from_le_bytes([head[index * 2], head[index * 2 + 1]]);
        let (id, bytes) = rest.split_at_checked(usize::from(word(2)))?;
        let is_within = id.len() <= ID_LEN_MAX && bytes.len() <= BYTES_LEN_MAX && word(3) == 0;
        let bytes = match (word(1), bytes) {
            (1, bytes) => Some(bytes),
            (2, []) => None,
            _ => return None,
        };
        is_within.then_some(Side { kind: word(0), id, bytes })
    }

    /// How many bytes before this record the durable mark stood when it was written.
    #[inline]
    pub fn distance(&self) -> u64 {
        u64::from(self.header.flags & DISTANCE_MASK) * HEADER_LEN as u64
    }
}
