//! One frame between members of a cluster: a head of fixed length, and what belongs to its kind behind it.
//!
//! Little-endian:
//!
//! ```text
//!   0 magic [8] | 8 crc32c u32 (of bytes 12..192) | 12 version u16 | 14 kind u16 | 16 cluster id [16] | 32 from u64 | 40 to u64
//!  48 term u64 | 56 log_term u64 | 64 index u64 | 72 commit u64 | 80 commit_term u64 | 88 reject_hint u64
//!  96 request_snapshot u64 | 104 priority i64 | 112 type u8 | 113 reject u8 | 114 length of context u8 | 115 zero
//! 116 entries u32 | 120 len u32 (of what is behind it) | 124 crc32c u32 (of what is behind it, without bytes of entries)
//! 128 context [64], zeros behind it
//! ```
//!
//! | Kind | Says | Behind it |
//! |---|---|---|
//! | HELLO | who speaks, first of all, from both sides | engine version u32, mode u16, zero u16, segment length u64 |
//! | MESSAGE | a message of raft; the fields from byte 48 on are 0 in other kinds | a head for each entry (term u64, index u64, length of context u32, of data u32); then context and data of each |
//! | REFUSED | why the connection ends | text |
//! | BEAT | that the side is there; it is said back | |
//! | FETCH | as HELLO, on a connection of its own: the files are wanted, at least up to batch `index`; behind the other side's HELLO both speak as mirrors do | as HELLO |
//! | ORDERS | commands that another host took are to be decided here: `term` is the leader's, `index` names the lanes that they came by, `commit` is the first source number of those, 0 while it is asked for | commands as the ring has them |
//! | SAYING | what this member's engine told, where engines differ ([`crate::quorum::divergence`]): the leader told the sum `commit` of the commands after `log_term` through `index`, here it is `commit_term`; `reject` is 1 where the other is to say its own | |
//!
//! An entry is a batch of the journal: its data are whole blocks, or none in the one that opens a term; its context is the first block
//! of a segment's header where the batch begins a segment, else empty. Both carry sums of their own.
//!
//! A message that has a snapshot says where it ends alone, by `index` and `log_term`, which it has no other use for: its files are
//! fetched ([`crate::quorum::install`]).
//!
//! Not carried: proposals, because a batch has its place in the leader's journal alone; requests for
//! an index to read at, because reads follow a lease that is not the library's. A change of members goes as the batch that it is:
//! whoever takes it sees what it is ([`crate::quorum::members`]).

use crate::format::checksum;
use crate::quorum::divergence::Saying;
use crate::quorum::log::Whole;
use crate::storage::BLOCK_LEN;
use bytes::Bytes;
pub use raft::eraftpb::{Entry, EntryType, MessageType};
use raft::eraftpb::{Message, Snapshot, SnapshotMetadata};
use ringside_core::command::Command;
use ringside_core::sums::{Opinion, Stretch};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// First bytes of a frame.
pub const MAGIC: [u8; 8] = *b"RINGMEM1";
/// Version of everything this file draws.
pub const VERSION: u16 = 2;
/// Bytes of a head.
pub const HEAD_LEN: usize = 192;
/// Most bytes of a frame, its head among them.
pub const FRAME_MAX: usize = 64 << 20;
/// Most entries of a message: as many as fit with a block each.
pub const ENTRIES_MAX: usize = FRAME_MAX / BLOCK_LEN;
/// Most bytes of a message's context.
pub const CONTEXT_MAX: usize = 64;
/// Most commands of a frame of orders.
pub const ORDERS_MAX: usize = 4096;
/// Most bytes of a refusal's text.
pub const TEXT_MAX: usize = 4096;

const ENTRY_HEAD_LEN: usize = 24;
const AGREEMENT_LEN: usize = 16;

/// Types of messages that members send each other, under raft's own numbers.
const CARRIED: [MessageType; 11] = [
    MessageType::MsgAppend,
    MessageType::MsgAppendResponse,
    MessageType::MsgRequestVote,
    MessageType::MsgRequestVoteResponse,
    MessageType::MsgSnapshot,
    MessageType::MsgHeartbeat,
    MessageType::MsgHeartbeatResponse,
    MessageType::MsgTransferLeader,
    MessageType::MsgTimeoutNow,
    MessageType::MsgRequestPreVote,
    MessageType::MsgRequestPreVoteResponse,
];

/// What a frame is for; see the table above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
#[allow(missing_docs)] // The table says what each is.
pub enum FrameKind {
    Hello = 1,
    Message = 2,
    Refused = 3,
    Beat = 4,
    Fetch = 5,
    Orders = 6,
    Saying = 7,
}

impl FrameKind {
    const ALL: [FrameKind; 7] = [
        FrameKind::Hello,
        FrameKind::Message,
        FrameKind::Refused,
        FrameKind::Beat,
        FrameKind::Fetch,
        FrameKind::Orders,
        FrameKind::Saying,
    ];
}

/// What members must have alike: else their journals would differ, or their engines decide differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// Id of the cluster, which is its journal's.
    pub cluster: [u8; 16],
    /// Version of what the engine decides.
    pub engine_version: u32,
    /// What a reply waits for, as [`crate::config::mode_code`] numbers it.
    pub mode: u16,
    /// Bytes of a segment.
    pub segment_len: u64,
}

/// Why bytes are no frame, or a message goes into none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Something else speaks there.
    #[error("what came does not begin as a frame does")]
    Magic,
    /// Some byte of the head is another.
    #[error("the checksum of a frame does not match")]
    Crc,
    /// Some byte behind the head is another.
    #[error("the checksum of what is behind a frame's head does not match")]
    BehindCrc,
    /// Another build.
    #[error(
        "the other member speaks version {0} of the members' frames, this one {VERSION}: run the same release on both"
    )]
    Version(u16),
    /// None that is known, or another than is read here.
    #[error("a frame is of kind {0}, which does not belong there")]
    Kind(u16),
    /// Too long, too short, or of a length that its kind does not have.
    #[error("a frame of kind {kind} has {len} bytes behind its head")]
    Len {
        /// Its kind.
        kind: u16,
        /// What it says.
        len: u64,
    },
    /// Nobody, or one who speaks to itself.
    #[error("a frame goes from member {from} to member {to}")]
    Members {
        /// Who speaks.
        from: u64,
        /// To whom.
        to: u64,
    },
    /// Something stands where nothing may.
    #[error("a frame of kind {0} has a field set that its kind does not have")]
    Field(u16),
    /// Not one that members send each other.
    #[error("a message is of type {0}, which members do not send each other")]
    Type(u8),
    /// More of it than there is room for.
    #[error("the context of a message has {0} bytes, at most {CONTEXT_MAX} go")]
    Context(u64),
    /// Files go another way, and a place in the journal is all that is said of them; or none is said.
    #[error("a message has more of a snapshot than its place, or not that, or should have none")]
    Snapshot,
    /// Too many, or in a message that has none.
    #[error("a message of type {kind} has {count} entries")]
    Entries {
        /// Type of the message.
        kind: u8,
        /// How many it says it has.
        count: u64,
    },
    /// No batch of the journal.
    #[error("entry {index} is no batch")]
    EntryType {
        /// Its place.
        index: u64,
    },
    /// It does not follow what is before it.
    #[error("entry {index} of term {term} does not follow what is before it in its message")]
    EntryOrder {
        /// Its place.
        index: u64,
        /// Its term.
        term: u64,
    },
    /// Not whole blocks.
    #[error("entry {index} has {data} bytes of data and {context} of context, which are no whole blocks")]
    EntryLen {
        /// Its place.
        index: u64,
        /// What it says of its data.
        data: u64,
        /// And of its context.
        context: u64,
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
    pub cluster: [u8; 16],
    pub from: u64,
    pub to: u64,
    pub term: u64,
    pub log_term: u64,
    pub index: u64,
    pub commit: u64,
    pub commit_term: u64,
    pub reject_hint: u64,
    pub request_snapshot: u64,
    pub priority: i64,
    pub message_type: u8,
    pub reject: u8,
    pub context_len: u8,
    pub zero: u8,
    pub entries: u32,
    pub len: u32,
    pub behind_crc32c: u32,
    pub context: [u8; CONTEXT_MAX],
}

const _: () = assert!(size_of::<Head>() == HEAD_LEN && CONTEXT_MAX <= u8::MAX as usize);

/// The head of an entry; see the table above.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct EntryHead {
    term: u64,
    index: u64,
    context_len: u32,
    data_len: u32,
}

const _: () = assert!(size_of::<EntryHead>() == ENTRY_HEAD_LEN);

impl EntryHead {
    fn of(entry: &Entry) -> Result<EntryHead, FrameError> {
        let whole = Whole::of(entry).filter(|_| entry.entry_type != EntryType::EntryConfChange);
        let Whole { block, batch } = whole.ok_or(FrameError::EntryType { index: entry.index })?;
        let (data, context) = (batch.len(), block.len());
        match (u32::try_from(data), u32::try_from(context)) {
            (Ok(data_len), Ok(context_len)) => {
                Ok(EntryHead { term: entry.term, index: entry.index, context_len, data_len })
            }
            _ => Err(FrameError::EntryLen { index: entry.index, data: data as u64, context: context as u64 }),
        }
    }

    /// Bytes of context and data.
    fn len(&self) -> usize {
        self.context_len as usize + self.data_len as usize
    }
}

impl Head {
    fn new(kind: FrameKind, cluster: [u8; 16], from: u64, to: u64) -> Head {
        Head {
            magic: MAGIC,
            crc32c: 0,
            version: VERSION,
            kind: kind as u16,
            cluster,
            from,
            to,
            term: 0,
            log_term: 0,
            index: 0,
            commit: 0,
            commit_term: 0,
            reject_hint: 0,
            request_snapshot: 0,
            priority: 0,
            message_type: 0,
            reject: 0,
            context_len: 0,
            zero: 0,
            entries: 0,
            len: 0,
            behind_crc32c: 0,
            context: [0; CONTEXT_MAX],
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

    /// Appends it; `summed` is what comes first behind it, `len` bytes are all that does.
    fn put(mut self, summed: &[u8], len: u32, out: &mut Vec<u8>) {
        self.len = len;
        self.behind_crc32c = checksum::crc(summed);
        self.crc32c = checksum::crc(&self.as_bytes()[12..]);
        out.extend_from_slice(self.as_bytes());
        out.extend_from_slice(summed);
    }

    /// Reads a head; with what it says is behind it, it is at most [`FRAME_MAX`] bytes.
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
        head.check()?;
        Ok(head)
    }

    /// Whether its fields go together.
    fn check(&self) -> Result<(), FrameError> {
        let kind = self.kind()?;
        if self.from == 0 || self.to == 0 || self.from == self.to {
            return Err(FrameError::Members { from: self.from, to: self.to });
        }
        let fits = match kind {
            FrameKind::Hello | FrameKind::Fetch => self.len() == AGREEMENT_LEN,
            FrameKind::Message => self.len() <= FRAME_MAX - HEAD_LEN,
            FrameKind::Refused => self.len() <= TEXT_MAX,
            FrameKind::Beat | FrameKind::Saying => self.is_empty(),
            FrameKind::Orders => {
                self.len().is_multiple_of(size_of::<Command>())
                    && self.len() <= ORDERS_MAX * size_of::<Command>()
            }
        };
        if !fits {
            return Err(FrameError::Len { kind: self.kind, len: u64::from(self.len) });
        }
        if kind != FrameKind::Message {
            let plain = Head {
                crc32c: self.crc32c,
                len: self.len,
                behind_crc32c: self.behind_crc32c,
                ..Head::new(kind, self.cluster, self.from, self.to)
            };
            let plain = match kind {
                FrameKind::Fetch => Head { index: self.index, ..plain },
                FrameKind::Orders => {
                    Head { index: self.index, term: self.term, commit: self.commit, ..plain }
                }
                FrameKind::Saying => {
                    let Head { log_term, index, commit, commit_term, .. } = *self;
                    Head { log_term, index, commit, commit_term, reject: self.reject & 1, ..plain }
                }
                _ => plain,
            };
            return if *self == plain { Ok(()) } else { Err(FrameError::Field(self.kind)) };
        }
        let carried = CARRIED.into_iter().find(|carried| *carried as u8 == self.message_type);
        let carried = carried.ok_or(FrameError::Type(self.message_type))?;
        if carried == MessageType::MsgSnapshot && self.index == 0 {
            return Err(FrameError::Snapshot);
        }
        let most = if carried == MessageType::MsgAppend { ENTRIES_MAX } else { 0 };
        if self.entries as usize > most {
            return Err(FrameError::Entries { kind: self.message_type, count: u64::from(self.entries) });
        }
        if self.context_len as usize > CONTEXT_MAX {
            return Err(FrameError::Context(u64::from(self.context_len)));
        }
        let is_blank = self.context[self.context_len as usize..].iter().all(|byte| *byte == 0);
        if self.reject > 1 || self.zero != 0 || !is_blank {
            return Err(FrameError::Field(self.kind));
        }
        Ok(())
    }

    /// What one of orders brings; `payload` is what is behind it.
    ///
    /// Errors: [`FrameError`].
    pub fn orders(&self, payload: &[u8]) -> Result<Orders, FrameError> {
        if self.kind()? != FrameKind::Orders {
            return Err(FrameError::Kind(self.kind));
        }
        if checksum::crc(payload) != self.behind_crc32c {
            return Err(FrameError::BehindCrc);
        }
        let source = u32::try_from(self.commit).map_err(|_| FrameError::Field(self.kind))?;
        let commands = payload.chunks_exact(size_of::<Command>());
        let commands =
            commands.map(|bytes| Command::read_from_bytes(bytes).map_err(|_| FrameError::Field(self.kind)));
        Ok(Orders {
            term: self.term,
            lanes: self.index,
            source,
            commands: commands.collect::<Result<_, _>>()?,
        })
    }

    /// What one of a saying says.
    ///
    /// Errors: [`FrameError`].
    pub fn saying(&self) -> Result<Saying, FrameError> {
        if self.kind()? != FrameKind::Saying {
            return Err(FrameError::Kind(self.kind));
        }
        let told = Stretch { after: self.log_term, through: self.index, sum: self.commit };
        let opinion = Opinion { told, own: self.commit_term };
        match told.after >= told.through {
            true => Err(FrameError::Field(self.kind)),
            false => Ok(Saying { opinion, asks: self.reject == 1 }),
        }
    }

    /// Whether these entries follow what the message says is before them, and each other; gives the bytes of all behind the head.
    fn check_entries(&self, entries: impl Iterator<Item = EntryHead>) -> Result<u32, FrameError> {
        let (mut index, mut term, mut len) = (self.index, self.log_term, 0);
        for entry in entries {
            if index.checked_add(1) != Some(entry.index) || !(term..=self.term).contains(&entry.term) {
                return Err(FrameError::EntryOrder { index: entry.index, term: entry.term });
            }
            let (data, context) = (entry.data_len as usize, entry.context_len as usize);
            if !data.is_multiple_of(BLOCK_LEN) || ![0, BLOCK_LEN].contains(&context) {
                return Err(FrameError::EntryLen {
                    index: entry.index,
                    data: data as u64,
                    context: context as u64,
                });
            }
            (index, term) = (entry.index, entry.term);
            len += ENTRY_HEAD_LEN + entry.len();
        }
        match u32::try_from(len) {
            Ok(short) if len <= FRAME_MAX - HEAD_LEN => Ok(short),
            _ => Err(FrameError::Len { kind: self.kind, len: len as u64 }),
        }
    }

    /// What is behind it up to byte `to`, its sum checked.
    fn behind<'a>(&self, kind: FrameKind, payload: &'a [u8], to: usize) -> Result<&'a [u8], FrameError> {
        if self.kind()? != kind {
            return Err(FrameError::Kind(self.kind));
        }
        let summed = payload.get(..to).filter(|_| payload.len() == self.len());
        let summed = summed.ok_or(FrameError::Len { kind: self.kind, len: payload.len() as u64 })?;
        match checksum::crc(summed) == self.behind_crc32c {
            true => Ok(summed),
            false => Err(FrameError::BehindCrc),
        }
    }

    /// The message, of which this was read, and what came behind it; entries share the bytes.
    ///
    /// Errors: [`FrameError`].
    pub fn message(&self, payload: Vec<u8>) -> Result<Message, FrameError> {
        let payload = Bytes::from(payload);
        let mut at = self.entries as usize * ENTRY_HEAD_LEN;
        let (heads, _) = self.behind(FrameKind::Message, &payload, at)?.as_chunks::<ENTRY_HEAD_LEN>();
        let heads = heads.iter().map(|bytes| zerocopy::transmute!(*bytes));
        if self.check_entries(heads.clone())? != self.len {
            return Err(FrameError::Len { kind: self.kind, len: u64::from(self.len) });
        }
        let mut take = |len: u32| {
            let taken = payload.slice(at..at + len as usize);
            at += len as usize;
            taken
        };
        let entries: Vec<_> = heads
            .map(|head: EntryHead| Entry {
                term: head.term,
                index: head.index,
                context: take(head.context_len),
                data: take(head.data_len),
                ..Entry::default()
            })
            .collect();
        let carried = CARRIED.into_iter().find(|carried| *carried as u8 == self.message_type);
        let msg_type = carried.ok_or(FrameError::Type(self.message_type))?;
        let is_snapshot = msg_type == MessageType::MsgSnapshot;
        let place =
            SnapshotMetadata { index: self.index, term: self.log_term, ..SnapshotMetadata::default() };
        let snapshot = Snapshot { metadata: Some(place).into(), ..Snapshot::default() };
        Ok(Message {
            msg_type,
            from: self.from,
            to: self.to,
            term: self.term,
            log_term: if is_snapshot { 0 } else { self.log_term },
            index: if is_snapshot { 0 } else { self.index },
            snapshot: is_snapshot.then_some(snapshot).into(),
            entries: entries.into(),
            commit: self.commit,
            commit_term: self.commit_term,
            request_snapshot: self.request_snapshot,
            reject: self.reject == 1,
            reject_hint: self.reject_hint,
            context: Bytes::copy_from_slice(&self.context[..self.context_len as usize]),
            // As the library fills both.
            deprecated_priority: u64::try_from(self.priority).unwrap_or(0),
            priority: self.priority,
            ..Message::default()
        })
    }

    /// What the other side holds for agreed; `payload` is what came behind the head.
    ///
    /// Errors: [`FrameError`].
    pub fn agreement(&self, payload: &[u8]) -> Result<Agreement, FrameError> {
        let kind = if self.kind()? == FrameKind::Fetch { FrameKind::Fetch } else { FrameKind::Hello };
        let bytes = self.behind(kind, payload, AGREEMENT_LEN)?;
        let at = |at: usize, len: usize| {
            let mut word = [0; 8];
            word[..len].copy_from_slice(&bytes[at..at + len]);
            u64::from_le_bytes(word)
        };
        if at(6, 2) != 0 {
            return Err(FrameError::Field(self.kind));
        }
        Ok(Agreement {
            cluster: self.cluster,
            engine_version: at(0, 4) as u32,
            mode: at(4, 2) as u16,
            segment_len: at(8, 8),
        })
    }

    /// Why the other side refuses; `payload` is what came behind the head.
    ///
    /// Errors: [`FrameError`].
    pub fn text(&self, payload: &[u8]) -> Result<String, FrameError> {
        self.behind(FrameKind::Refused, payload, self.len())
            .map(|text| String::from_utf8_lossy(text).into_owned())
    }
}

/// Bytes of the frame of a message.
pub fn len_of(message: &Message) -> usize {
    let wholes = message.entries.iter().filter_map(Whole::of);
    HEAD_LEN + wholes.map(|whole| ENTRY_HEAD_LEN + whole.block.len() + whole.batch.len()).sum::<usize>()
}

/// Appends the frame of a message up to the bytes of its entries, and gives those, which stand behind.
///
/// Errors: [`FrameError`]: it is none that members send each other; nothing is appended.
pub fn put(message: &Message, cluster: [u8; 16], out: &mut Vec<u8>) -> Result<Vec<Bytes>, FrameError> {
    let is_snapshot = message.msg_type == MessageType::MsgSnapshot;
    let place = message.snapshot.as_ref().map(|snapshot| (snapshot.get_metadata(), snapshot.data.is_empty()));
    let (index, log_term) = match (is_snapshot, place) {
        (false, None) => (message.index, message.log_term),
        (true, Some((place, true))) if (message.index, message.log_term) == (0, 0) && place.index > 0 => {
            (place.index, place.term)
        }
        _ => return Err(FrameError::Snapshot),
    };
    let context_len = message.context.len();
    if context_len > CONTEXT_MAX {
        return Err(FrameError::Context(context_len as u64));
    }
    let (message_type, count) = (message.msg_type as u8, message.entries.len());
    let too_many = FrameError::Entries { kind: message_type, count: count as u64 };
    let mut head = Head {
        term: message.term,
        log_term,
        index,
        commit: message.commit,
        commit_term: message.commit_term,
        reject_hint: message.reject_hint,
        request_snapshot: message.request_snapshot,
        priority: message.priority,
        message_type,
        reject: u8::from(message.reject),
        context_len: context_len as u8,
        entries: u32::try_from(count).map_err(|_| too_many)?,
        ..Head::new(FrameKind::Message, cluster, message.from, message.to)
    };
    head.context[..context_len].copy_from_slice(&message.context);
    head.check()?;
    let heads = message.entries.iter().map(EntryHead::of).collect::<Result<Vec<_>, _>>()?;
    let len = head.check_entries(heads.iter().copied())?;
    head.put(heads.as_bytes(), len, out);
    let wholes = message.entries.iter().filter_map(Whole::of);
    Ok(wholes.flat_map(|whole| [whole.block, whole.batch]).filter(|bytes| !bytes.is_empty()).collect())
}

/// Appends what a member says first.
pub fn put_hello(agreement: &Agreement, from: u64, to: u64, out: &mut Vec<u8>) {
    put_agreement(Head::new(FrameKind::Hello, agreement.cluster, from, to), agreement, out);
}

/// Appends what a member says first where it wants the files, at least up to batch `index`.
pub fn put_fetch(agreement: &Agreement, from: u64, to: u64, index: u64, out: &mut Vec<u8>) {
    let head = Head { index, ..Head::new(FrameKind::Fetch, agreement.cluster, from, to) };
    put_agreement(head, agreement, out);
}

fn put_agreement(head: Head, agreement: &Agreement, out: &mut Vec<u8>) {
    let mut bytes = [0; AGREEMENT_LEN];
    bytes[..4].copy_from_slice(&agreement.engine_version.to_le_bytes());
    bytes[4..6].copy_from_slice(&agreement.mode.to_le_bytes());
    bytes[8..].copy_from_slice(&agreement.segment_len.to_le_bytes());
    head.put(&bytes, AGREEMENT_LEN as u32, out);
}

/// Appends a refusal.
pub fn put_refusal(cluster: [u8; 16], from: u64, to: u64, text: &str, out: &mut Vec<u8>) {
    let text = &text.as_bytes()[..text.floor_char_boundary(TEXT_MAX)];
    Head::new(FrameKind::Refused, cluster, from, to).put(text, text.len() as u32, out);
}

/// Commands that a member took, and that the leader is to decide; without any, lanes are asked for or given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orders {
    /// The leader's term.
    pub term: u64,
    /// Names the lanes by which they came.
    pub lanes: u64,
    /// The first source number of those lanes; 0 while it is asked for.
    pub source: u32,
    /// In order.
    pub commands: Vec<Command>,
}

/// Appends orders, [`ORDERS_MAX`] at most.
pub fn put_orders(orders: &Orders, cluster: [u8; 16], from: u64, to: u64, out: &mut Vec<u8>) {
    let head = Head {
        term: orders.term,
        index: orders.lanes,
        commit: u64::from(orders.source),
        ..Head::new(FrameKind::Orders, cluster, from, to)
    };
    let bytes = orders.commands.as_bytes();
    head.put(bytes, bytes.len() as u32, out);
}

/// Appends what a member says of a sum.
pub fn put_saying(saying: &Saying, cluster: [u8; 16], from: u64, to: u64, out: &mut Vec<u8>) {
    let Saying { opinion: Opinion { told, own }, asks } = *saying;
    let head = Head {
        log_term: told.after,
        index: told.through,
        commit: told.sum,
        commit_term: own,
        reject: u8::from(asks),
        ..Head::new(FrameKind::Saying, cluster, from, to)
    };
    head.put(&[], 0, out);
}

/// Appends a sign of life.
pub fn put_beat(cluster: [u8; 16], from: u64, to: u64, out: &mut Vec<u8>) {
    Head::new(FrameKind::Beat, cluster, from, to).put(&[], 0, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::faulty::Random;

    const CLUSTER: [u8; 16] = [5; 16];
    const AGREED: Agreement =
        Agreement { cluster: CLUSTER, engine_version: 16, mode: 2, segment_len: 64 << 20 };

    fn entry(term: u64, index: u64, blocks: usize, begins: bool) -> Entry {
        Entry {
            term,
            index,
            data: vec![index as u8; blocks * BLOCK_LEN].into(),
            context: vec![9; if begins { BLOCK_LEN } else { 0 }].into(),
            ..Entry::default()
        }
    }

    #[test]
    fn orders_come_as_they_go_and_nothing_of_another_length_does() {
        use ringside_core::command::AdvanceTime;
        let of = |source_seq| Command { source: 9, source_seq, ..Command::new(AdvanceTime {}) };
        for count in [0, 1, 3, ORDERS_MAX as u64] {
            let orders =
                Orders { term: 7, lanes: u64::MAX, source: 11, commands: (1..=count).map(of).collect() };
            let mut out = Vec::new();
            put_orders(&orders, CLUSTER, 1, 2, &mut out);
            let (head, behind) = out.split_first_chunk().unwrap();
            let head = Head::read(head).unwrap();
            assert_eq!(head.orders(behind), Ok(orders));
            if count > 0 {
                let mut other = behind.to_vec();
                other[5] ^= 1;
                assert_eq!(head.orders(&other), Err(FrameError::BehindCrc));
            }
        }
    }

    #[test]
    fn what_is_said_of_a_sum_comes_back() {
        let of = |after, through, asks| {
            let told = Stretch { after, through, sum: u64::MAX };
            let saying = Saying { opinion: Opinion { told, own: 3 }, asks };
            let mut out = Vec::new();
            put_saying(&saying, CLUSTER, 1, 2, &mut out);
            let head: [u8; HEAD_LEN] = out.try_into().expect("a head");
            (saying, head)
        };
        for (after, through, asks) in [(0, 1, false), (7, 9, true)] {
            let (saying, bytes) = of(after, through, asks);
            let head = Head::read(&bytes).expect("sound");
            assert_eq!((head.kind(), head.saying()), (Ok(FrameKind::Saying), Ok(saying)));
            for (at, value) in [(113, 2), (112, 1), (48, 1), (96, 1)] {
                let mut other = bytes.to_vec();
                other[at] = value;
                let other: [u8; HEAD_LEN] = summed(other).try_into().expect("a head");
                assert_eq!(Head::read(&other), Err(FrameError::Field(7)), "byte {at}");
            }
        }
        for (after, through) in [(5, 5), (6, 5)] {
            let head = Head::read(&of(after, through, true).1).expect("sound");
            assert_eq!(head.saying(), Err(FrameError::Field(7)), "there is no command");
        }
    }

    /// An append of a batch that begins a segment, one that does not, and the entry that opens a term.
    fn append() -> Message {
        Message {
            msg_type: MessageType::MsgAppend,
            from: 1,
            to: 2,
            term: 7,
            log_term: 6,
            index: 40,
            commit: 39,
            entries: vec![entry(6, 41, 2, true), entry(7, 42, 1, false), entry(7, 43, 0, false)].into(),
            ..Message::default()
        }
    }

    /// That a member is too far behind.
    fn snapshot() -> Message {
        let place = SnapshotMetadata { index: 40, term: 6, ..SnapshotMetadata::default() };
        Message {
            msg_type: MessageType::MsgSnapshot,
            snapshot: Some(Snapshot { metadata: Some(place).into(), ..Snapshot::default() }).into(),
            entries: Vec::new().into(),
            index: 0,
            log_term: 0,
            ..append()
        }
    }

    fn bytes_of(message: &Message) -> Vec<u8> {
        let mut out = Vec::new();
        let entries = put(message, CLUSTER, &mut out).expect("goes into a frame");
        out.extend(entries.concat());
        assert_eq!(out.len(), len_of(message));
        out
    }

    fn read(bytes: &[u8]) -> Result<Message, FrameError> {
        let (head, behind) = bytes.split_first_chunk::<HEAD_LEN>().expect("a head");
        Head::read(head)?.message(behind.to_vec())
    }

    /// With the sums put right after a change.
    fn summed(mut bytes: Vec<u8>) -> Vec<u8> {
        let entries = u32::from_le_bytes(bytes[116..120].try_into().expect("four"));
        let end = (HEAD_LEN + entries as usize * ENTRY_HEAD_LEN).min(bytes.len());
        let behind = checksum::crc(&bytes[HEAD_LEN..end]);
        bytes[124..128].copy_from_slice(&behind.to_le_bytes());
        let crc = checksum::crc(&bytes[12..HEAD_LEN]);
        bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    fn changed<const N: usize>(bytes: &[u8], at: usize, value: [u8; N]) -> Result<Message, FrameError> {
        let mut bytes = bytes.to_vec();
        bytes[at..at + N].copy_from_slice(&value);
        read(&summed(bytes))
    }

    /// Two releases in one cluster hear each other only where both mean the same by a version.
    #[test]
    fn frames_of_this_version_are_the_bytes_that_they_were() {
        use ringside_core::command::AdvanceTime;
        let put = |put: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            put(&mut out);
            out
        };
        let command = Command { source: 9, source_seq: 2, ..Command::new(AdvanceTime {}) };
        let orders = Orders { term: 7, lanes: 3, source: 11, commands: vec![command] };
        let told = Stretch { after: 7, through: 9, sum: 5 };
        let saying = Saying { opinion: Opinion { told, own: 3 }, asks: true };
        let of_old = [
            ("append", bytes_of(&append()), 826_086_795),
            ("snapshot", bytes_of(&snapshot()), 397_444_189),
            ("hello", put(&|out| put_hello(&AGREED, 1, 2, out)), 4_158_655_513),
            ("fetch", put(&|out| put_fetch(&AGREED, 1, 2, 40, out)), 1_188_015_902),
            ("refused", put(&|out| put_refusal(CLUSTER, 1, 2, "why", out)), 2_632_011_434),
            ("beat", put(&|out| put_beat(CLUSTER, 1, 2, out)), 2_691_424_949),
            ("orders", put(&|out| put_orders(&orders, CLUSTER, 1, 2, out)), 4_005_565_861),
            ("saying", put(&|out| put_saying(&saying, CLUSTER, 1, 2, out)), 2_078_272_805),
        ];
        assert_eq!(VERSION, 2);
        for (name, bytes, crc) in of_old {
            assert_eq!(checksum::crc(&bytes), crc, "{name}: other bytes need another version");
        }
    }

    #[test]
    fn each_message_that_raft_sends_comes_back() {
        assert_eq!(read(&bytes_of(&append())), Ok(append()));
        assert_eq!(read(&bytes_of(&snapshot())), Ok(snapshot()));
        let is_plain = |kind: &MessageType| *kind != MessageType::MsgSnapshot;
        for (number, msg_type) in CARRIED.into_iter().filter(is_plain).enumerate() {
            for reject in [false, true] {
                let message = Message {
                    msg_type,
                    from: u64::MAX,
                    to: 2,
                    term: 3 + number as u64,
                    log_term: 4,
                    index: u64::MAX,
                    commit: 6,
                    commit_term: 7,
                    request_snapshot: 8,
                    reject,
                    reject_hint: 9,
                    context: b"CampaignTransfer".as_slice().into(),
                    deprecated_priority: 10,
                    priority: 10,
                    ..Message::default()
                };
                assert_eq!(read(&bytes_of(&message)), Ok(message.clone()));
                let last = Message {
                    context: vec![1; CONTEXT_MAX].into(),
                    priority: -1,
                    deprecated_priority: 0,
                    ..message
                };
                assert_eq!(read(&bytes_of(&last)), Ok(last));
            }
        }
    }

    #[test]
    fn what_members_say_beside_messages_comes_back() {
        let mut out = Vec::new();
        let mut said = |put: &dyn Fn(&mut Vec<u8>)| {
            out.clear();
            put(&mut out);
            let (head, behind) = out.split_first_chunk::<HEAD_LEN>().expect("a head");
            let head = Head::read(head).expect("sound");
            assert_eq!((head.cluster, head.from, head.to, head.len()), (CLUSTER, 1, 2, behind.len()));
            (head, behind.to_vec())
        };
        let (hello, behind) = said(&|out| put_hello(&AGREED, 1, 2, out));
        assert_eq!(hello.agreement(&behind), Ok(AGREED));
        let mut gap = hello;
        let reserved = [&behind[..6], &[1, 0], &behind[8..]].concat();
        gap.behind_crc32c = checksum::crc(&reserved);
        assert_eq!(gap.agreement(&reserved), Err(FrameError::Field(1)));
        assert_eq!(hello.agreement(&reserved), Err(FrameError::BehindCrc));
        assert_eq!(hello.agreement(&behind[1..]), Err(FrameError::Len { kind: 1, len: 15 }));
        assert_eq!(hello.message(behind), Err(FrameError::Kind(1)));
        let (fetch, behind) = said(&|out| put_fetch(&AGREED, 1, 2, 77, out));
        assert_eq!((fetch.index, fetch.agreement(&behind)), (77, Ok(AGREED)));
        let (beat, _) = said(&|out| put_beat(CLUSTER, 1, 2, out));
        assert_eq!((beat.kind(), beat.text(&[])), (Ok(FrameKind::Beat), Err(FrameError::Kind(4))));
        let (refused, text) = said(&|out| put_refusal(CLUSTER, 1, 2, &"€".repeat(TEXT_MAX), out));
        assert_eq!(refused.text(&text), Ok("€".repeat(TEXT_MAX / 3)), "cut between two letters");
        assert_eq!(refused.text(&text[1..]), Err(FrameError::Len { kind: 3, len: 4094 }));
    }

    #[test]
    fn frames_are_drawn_so() {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let message = Message { context: b"ctx".as_slice().into(), priority: 1, ..append() };
        let bytes = bytes_of(&message);
        assert_eq!(hex(&bytes[..HEAD_LEN + 3 * ENTRY_HEAD_LEN]), GOLDEN.concat());
        assert_eq!(
            bytes[HEAD_LEN + 3 * ENTRY_HEAD_LEN..],
            [vec![9; 4096], vec![41; 8192], vec![42; 4096]].concat()
        );
        assert!(CARRIED.iter().map(|carried| *carried as u8).eq([3, 4, 5, 6, 7, 8, 9, 13, 14, 17, 18]));
    }

    /// Head, then the heads of three entries.
    const GOLDEN: [&str; 13] = [
        "52494e474d454d31a3a9369f02000200",
        "05050505050505050505050505050505",
        "01000000000000000200000000000000",
        "07000000000000000600000000000000",
        "28000000000000002700000000000000",
        "00000000000000000000000000000000",
        "00000000000000000100000000000000",
        "030003000300000048400000329363fc",
        "6374780000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "060000000000000029000000000000000010000000200000",
        "07000000000000002a000000000000000000000000100000",
        "07000000000000002b000000000000000000000000000000",
    ];

    #[test]
    fn every_bit_but_those_of_entries_counts() {
        let mut bytes = bytes_of(&append());
        let summed = HEAD_LEN + 3 * ENTRY_HEAD_LEN;
        for bit in 0..summed * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let expected = match bit / 8 {
                0..8 => FrameError::Magic,
                8..HEAD_LEN => FrameError::Crc,
                _ => FrameError::BehindCrc,
            };
            assert_eq!(read(&bytes), Err(expected), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        for byte in summed..bytes.len() {
            bytes[byte] ^= 0x10;
            // The journal's own sums are for these.
            let read = read(&bytes).expect("sound");
            assert!(read != append() && Message { entries: append().entries, ..read } == append());
            bytes[byte] ^= 0x10;
        }
        for cut in [0, 1, summed - HEAD_LEN, bytes.len() - HEAD_LEN - 1] {
            let expected = FrameError::Len { kind: 2, len: cut as u64 };
            assert_eq!(read(&bytes[..HEAD_LEN + cut]), Err(expected));
        }
        assert_eq!(read(&bytes), Ok(append()));
    }

    #[test]
    fn what_no_head_says_is_refused_though_its_sum_is_right() {
        let bytes = bytes_of(&append());
        assert_eq!(changed(&bytes, 12, [1, 0]), Err(FrameError::Version(1)));
        for kind in [0, 8, u16::MAX] {
            assert_eq!(changed(&bytes, 14, kind.to_le_bytes()), Err(FrameError::Kind(kind)));
        }
        assert_eq!(changed(&bytes, 32, [2]), Err(FrameError::Members { from: 2, to: 2 }));
        assert_eq!(changed(&bytes, 32, [0]), Err(FrameError::Members { from: 0, to: 2 }));
        assert_eq!(changed(&bytes, 40, [0]), Err(FrameError::Members { from: 1, to: 0 }));
        for no_type in [0, 1, 2, 10, 11, 12, 15, 16, 19, 255] {
            assert_eq!(changed(&bytes, 112, [no_type]), Err(FrameError::Type(no_type)));
        }
        assert_eq!(changed(&bytes, 112, [7]), Err(FrameError::Entries { kind: 7, count: 3 }));
        let place = bytes_of(&snapshot());
        assert_eq!(changed(&place, 64, [0; 8]), Err(FrameError::Snapshot), "of no place");
        assert_eq!(changed(&bytes, 112, [8]), Err(FrameError::Entries { kind: 8, count: 3 }));
        assert_eq!(changed(&bytes, 113, [2]), Err(FrameError::Field(2)));
        assert_eq!(changed(&bytes, 114, [65]), Err(FrameError::Context(65)));
        assert_eq!(changed(&bytes, 115, [1]), Err(FrameError::Field(2)));
        assert_eq!(changed(&bytes, 191, [1]), Err(FrameError::Field(2)));
        let many = ENTRIES_MAX as u32 + 1;
        let expected = FrameError::Entries { kind: 3, count: u64::from(many) };
        assert_eq!(changed(&bytes, 116, many.to_le_bytes()), Err(expected));
        for len in [(FRAME_MAX - HEAD_LEN) as u32 + 1, u32::MAX] {
            let expected = FrameError::Len { kind: 2, len: u64::from(len) };
            assert_eq!(changed(&bytes, 120, len.to_le_bytes()), Err(expected));
        }
        for (kind, good, bad) in [
            (FrameKind::Hello, vec![AGREEMENT_LEN], vec![0, AGREEMENT_LEN + 1]),
            (FrameKind::Fetch, vec![AGREEMENT_LEN], vec![0, AGREEMENT_LEN + 1]),
            (FrameKind::Refused, vec![0, TEXT_MAX], vec![TEXT_MAX + 1]),
            (FrameKind::Beat, vec![0], vec![1]),
            (
                FrameKind::Orders,
                vec![0, ORDERS_MAX * size_of::<Command>()],
                vec![1, (ORDERS_MAX + 1) * size_of::<Command>()],
            ),
        ] {
            let of = |len: usize| {
                let mut out = Vec::new();
                Head::new(kind, CLUSTER, 1, 2).put(&[], len as u32, &mut out);
                out
            };
            let read = |bytes: Vec<u8>| Head::read(&bytes.try_into().expect("a head")).map(|head| head.len());
            for len in good {
                assert_eq!(read(of(len)), Ok(len), "{kind:?}");
                let mut set = of(len);
                set[56] = 1;
                assert_eq!(read(summed(set)), Err(FrameError::Field(kind as u16)));
            }
            for len in bad {
                let expected = FrameError::Len { kind: kind as u16, len: len as u64 };
                assert_eq!(read(of(len)), Err(expected), "{kind:?}");
            }
        }
    }

    #[test]
    fn entries_that_do_not_follow_are_refused() {
        let bytes = bytes_of(&append());
        let order = |index, term| Err(FrameError::EntryOrder { index, term });
        let at = |number: usize, field: usize| HEAD_LEN + number * ENTRY_HEAD_LEN + field;
        assert_eq!(changed(&bytes, at(0, 8), [42]), order(42, 6), "one is left out");
        assert_eq!(changed(&bytes, at(1, 8), [41]), order(41, 7), "one comes twice");
        assert_eq!(changed(&bytes, 64, [0xff; 8]), order(41, 6), "behind the last there is");
        assert_eq!(changed(&bytes, at(0, 0), [5]), order(41, 5), "older than what is before it");
        assert_eq!(changed(&bytes, at(1, 0), [8]), order(42, 8), "newer than its leader");
        assert_eq!(changed(&bytes, at(2, 0), [6]), order(43, 6), "older than the one before it");
        let len = |data, context| Err(FrameError::EntryLen { index: 42, data, context });
        assert_eq!(changed(&bytes, at(1, 20), [1]), len(4097, 0));
        assert_eq!(changed(&bytes, at(1, 16), [1]), len(4096, 1));
        assert_eq!(changed(&bytes, at(1, 16), 8192u32.to_le_bytes()), len(4096, 8192));
        let more = FrameError::Len { kind: 2, len: bytes.len() as u64 - HEAD_LEN as u64 };
        assert_eq!(changed(&bytes, at(1, 16), 4096u32.to_le_bytes()), Err(more), "more than came");
        assert_eq!(changed(&bytes, at(1, 20), 0u32.to_le_bytes()), Err(more), "less than came");
        assert_eq!(changed(&bytes, 116, [2]), Err(more), "one is not counted");
        let most = 3 * (u64::from(u32::MAX) & !4095) + 4096 + 3 * ENTRY_HEAD_LEN as u64;
        let mut huge = bytes.clone();
        for number in 0..3 {
            huge[at(number, 20)..at(number, 24)].copy_from_slice(&(!4095u32).to_le_bytes());
        }
        assert_eq!(read(&summed(huge)), Err(FrameError::Len { kind: 2, len: most }));
    }

    #[test]
    fn what_is_not_for_members_goes_into_no_frame() {
        let refused = |message: Message| {
            let mut out = vec![1];
            let refused = put(&message, CLUSTER, &mut out).expect_err("refused");
            assert_eq!(out, [1], "nothing is appended");
            refused
        };
        for (code, msg_type) in [
            (0, MessageType::MsgHup),
            (1, MessageType::MsgBeat),
            (2, MessageType::MsgPropose),
            (10, MessageType::MsgUnreachable),
            (11, MessageType::MsgSnapStatus),
            (12, MessageType::MsgCheckQuorum),
            (15, MessageType::MsgReadIndex),
            (16, MessageType::MsgReadIndexResp),
        ] {
            assert_eq!(refused(Message { msg_type, ..append() }), FrameError::Type(code));
        }
        let some = Some(Snapshot::default()).into();
        assert_eq!(refused(Message { snapshot: some, ..append() }), FrameError::Snapshot);
        let bare = Message { msg_type: MessageType::MsgSnapshot, ..Message::default() };
        assert_eq!(refused(bare), FrameError::Snapshot);
        let mut more = snapshot();
        more.mut_snapshot().data = b"a state".as_slice().into();
        assert_eq!(refused(more), FrameError::Snapshot);
        assert_eq!(refused(Message { index: 1, ..snapshot() }), FrameError::Snapshot);
        let context = vec![0; CONTEXT_MAX + 1].into();
        assert_eq!(refused(Message { context, ..append() }), FrameError::Context(65));
        assert_eq!(refused(Message { from: 2, ..append() }), FrameError::Members { from: 2, to: 2 });
        let vote = Message { msg_type: MessageType::MsgRequestVote, ..append() };
        assert_eq!(refused(vote), FrameError::Entries { kind: 5, count: 3 });
        let entries: Vec<_> = (41..=41 + ENTRIES_MAX as u64).map(|index| entry(6, index, 0, false)).collect();
        let count = entries.len() as u64;
        assert_eq!(
            refused(Message { entries: entries.into(), ..append() }),
            FrameError::Entries { kind: 3, count }
        );
        let with = |entry: Entry| refused(Message { entries: vec![entry].into(), ..append() });
        for entry_type in [EntryType::EntryConfChange, EntryType::EntryConfChangeV2] {
            let changes = Entry { entry_type, ..entry(6, 41, 1, false) };
            assert_eq!(with(changes), FrameError::EntryType { index: 41 });
        }
        assert_eq!(with(entry(6, 42, 1, false)), FrameError::EntryOrder { index: 42, term: 6 });
        let uneven = Entry { data: vec![0; 5].into(), ..entry(6, 41, 0, false) };
        assert_eq!(with(uneven), FrameError::EntryLen { index: 41, data: 5, context: 0 });
        let long = (FRAME_MAX / BLOCK_LEN, (FRAME_MAX + ENTRY_HEAD_LEN) as u64);
        assert_eq!(with(entry(6, 41, long.0, false)), FrameError::Len { kind: 2, len: long.1 });
        let longest = entry(6, 41, long.0 - 1, false);
        let message = Message { entries: vec![longest].into(), ..append() };
        assert_eq!(read(&bytes_of(&message)), Ok(message));
    }

    #[test]
    fn bytes_of_chance_are_no_frames() {
        let mut random = Random::new(7);
        let mut accepted = [0; 2];
        for _ in 0..40_000 {
            let mut bytes = vec![0; HEAD_LEN + random.below(4) as usize * ENTRY_HEAD_LEN];
            bytes.iter_mut().for_each(|byte| *byte = random.draw() as u8);
            assert_eq!(read(&bytes), Err(FrameError::Magic));
            bytes[..8].copy_from_slice(&MAGIC);
            assert_eq!(read(&bytes), Err(FrameError::Crc));
            // With the sums of whoever knows the format: whatever is read of it stays within bounds.
            bytes[12..14].copy_from_slice(&VERSION.to_le_bytes());
            bytes[14..16].copy_from_slice(&(random.draw() as u16 % 7).to_le_bytes());
            bytes[112..116].copy_from_slice(&[random.below(20) as u8, random.below(2) as u8, 64, 0]);
            bytes[116..120].copy_from_slice(&(random.below(4) as u32).to_le_bytes());
            let len = match random.below(4) {
                0 => (random.draw() as u32) >> random.below(32),
                _ => (bytes.len() - HEAD_LEN) as u32,
            };
            bytes[120..124].copy_from_slice(&len.to_le_bytes());
            if random.below(2) == 0 {
                // Entries that follow each other, without data.
                bytes.copy_within(48..56, 56);
                let index = u64::from_le_bytes(bytes[64..72].try_into().expect("eight")) >> 1;
                bytes[64..72].copy_from_slice(&index.to_le_bytes());
                let term: [u8; 8] = bytes[48..56].try_into().expect("eight");
                for (number, entry) in (1..).zip(bytes[HEAD_LEN..].chunks_exact_mut(ENTRY_HEAD_LEN)) {
                    entry.fill(0);
                    entry[..8].copy_from_slice(&term);
                    entry[8..16].copy_from_slice(&(index + number).to_le_bytes());
                }
            }
            let bytes = summed(bytes);
            let (head, _) = bytes.split_first_chunk::<HEAD_LEN>().expect("a head");
            if let Ok(head) = Head::read(head) {
                assert!(HEAD_LEN + head.len() <= FRAME_MAX && head.kind().is_ok());
            }
            // What is read is what its sender put.
            if let Ok(message) = read(&bytes) {
                let mut again = Vec::new();
                let cluster = bytes[16..32].try_into().expect("sixteen");
                let entries = put(&message, cluster, &mut again).expect("goes");
                again.extend(entries.concat());
                assert_eq!(again, bytes);
                accepted[usize::from(!message.entries.is_empty())] += 1;
            }
        }
        assert!(accepted.iter().all(|count| *count > 10), "{accepted:?}");
    }
}
