//! Rings: one producer, any number of consumers that gate it, fixed-size slots, one mapping.
//!
//! A ring does not know what its payloads mean, never grows, never drops, and never hands a slot to two producers.
//!
//! # The memory-order argument
//!
//! Let `capacity` be a power of two. Sequence `s` has slot `s mod capacity`; a slot holds a stamp and a payload, the
//! stamp in the payload's (first) cache line, so that a hop moves one line. Only the producer writes stamps and payloads;
//! only consumer `i` writes line `i`, its gating sequence: the first sequence it still needs.
//!
//! - *Publish.* The producer writes the payload of `s`, then stores `s + 1` to the stamp with Release. A consumer
//!   loads the stamp with Acquire and reads the payload only if it found `s + 1`: so it reads the payload of `s`.
//!   It waits for exactly that number, and until then the slot holds the stamp of the lap before, or 0 in the first lap:
//!   sequences start at [`Options::start`] and stamps are never 0.
//! - *Gate.* A consumer stores `s + 1` or more to its line with Release after its last read of the payload of `s`. The
//!   producer writes to the slot of `s` again only for `s + capacity`, after loads with Acquire found every line beyond
//!   `s`. So no read races with the next lap's write. The producer remembers the slowest line it saw; an old value
//!   only makes it look again.
//! - *Steps.* Payloads that are published together are a step. The stamps after its first are stored while the first
//!   is withheld; the first comes last and says how many they are, so that a consumer that found it reads the rest
//!   without looking at lines which the producer may still be writing. Consumers take slots in order, so none sees a
//!   part of the step, also when the producer dies in the middle. Each stamp is a Release store, so that looking
//!   ahead at any stamped payload is no race either.
//! - *Wrap.* Between two looks at the same slot the producer cannot pass `capacity` sequences, because the consumer's own
//!   line holds it back: the stamp is the expected one or the one before, never a later one. Sequences stay below
//!   [`SEQUENCE_MAX`].
//!
//! # Sleeping
//!
//! A sleeper must not miss the last change before it sleeps. It (1) sets the bell's bit, (2) fences, (3) checks its
//! condition; a publisher (a) changes the state, (b) fences, (c) loads the bell. Both fences are sequentially
//! consistent, hence totally ordered: if (2) comes before (b), the load (c) sees the bit, or a later value of the word, and
//! the publisher wakes; if (b) comes before (2), the check (3) sees the change and there is no sleep. A wake
//! moves the word before it calls the kernel, and the kernel compares the word with the value seen at (1) under the
//! lock that a wake takes: a sleep that begins after the wake does not begin at all. Several ringers race for one
//! compare-and-swap; the losers' changes precede the winner's wake or the sleeper's next (1), so they are seen at its next (3).
//! On Linux (b) is a mere compiler fence and (2) a `membarrier`, which puts a full fence into every running thread of
//! every registered process: either before the publisher's (c) and after its (a), or before (a), and then (c) comes
//! after (1). See `futex.rs` for what happens where that call is refused.
//!
//! # Foreign memory
//!
//! In a memfd or a file another process may write anything at any time. Facts are read once and checked before
//! mapping; positions are private; an index is computed from a private sequence and masked, never read; a stamp or
//! gating sequence that no honest peer can have written poisons the ring ([`Poison`]) and halts it; payloads move in
//! and out word by word with atomics and are looked at in private copies. Every payload type is valid for any bytes.
//! What such a peer can do is to spoil its own ring.

mod buffer;
mod consumer;
#[cfg(not(loom))]
mod futex;
mod gauge;
mod handover;
mod mapping;
mod producer;
mod sequence;
pub(crate) mod sync;
mod wait;

pub use buffer::{CAPACITY_MAX, CONSUMERS_MAX};
pub use consumer::Consumer;
pub use gauge::Gauge;
pub use mapping::Mapping;
pub use producer::Producer;
pub use sequence::{SEQUENCE_MAX, Sequence};
pub use wait::{Doorbell, Idle, Wait, wait_any};

use buffer::Buffer;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use sync::Ordering;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// What a slot can carry: plain old data, valid for any bytes, a multiple of 8 bytes long, aligned to 8 at most.
pub trait Slot: FromBytes + IntoBytes + Immutable + KnownLayout + Copy + Send + 'static {}

impl<T: FromBytes + IntoBytes + Immutable + KnownLayout + Copy + Send + 'static> Slot for T {}

/// Shape of a new ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Slots; a power of two.
    pub capacity: usize,
    /// How many consumers gate the producer; at least one. Each must be polled, or the ring fills up.
    pub consumers: usize,
    /// Sequence of the first slot published.
    pub start: Sequence,
    /// How [`Producer::publish`] and [`Consumer::wait`] wait.
    pub wait: Wait,
}

/// There is no room now. A halted ring never has room again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the ring is full")]
pub struct Full;

/// The ring is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the ring is halted")]
pub struct Halted;

/// What a peer wrote that no honest peer writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Poison {
    /// A stamp that is neither the slot's next nor its last.
    #[error("slot of sequence {sequence} is stamped {found}")]
    Stamp {
        /// The sequence that was due.
        sequence: Sequence,
        /// What the slot says.
        found: u64,
    },
    /// A gating sequence that ran back or overtook the producer.
    #[error("consumer {consumer} claims to be at {found}")]
    Gating {
        /// Which consumer.
        consumer: usize,
        /// What its line says.
        found: u64,
    },
}

/// Why a ring cannot be made or joined.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    /// Not a power of two, or too many bytes.
    #[error("a ring cannot have {0} slots")]
    Capacity(u64),
    /// None, or more than [`CONSUMERS_MAX`].
    #[error("a ring cannot have {0} consumers")]
    Consumers(u64),
    /// Too near to the end of all sequences.
    #[error("a ring cannot start at {0}")]
    Start(Sequence),
    /// The file is no ring.
    #[error("no ring: it begins with {0:#018x}")]
    Magic(u64),
    /// A ring of another layout version.
    #[error("layout version {0} is not spoken here")]
    Version(u64),
    /// A ring of other payloads.
    #[error("payloads have {found} bytes instead of {expected}")]
    SlotLen {
        /// Bytes of our payload type.
        expected: u64,
        /// What the header says.
        found: u64,
    },
    /// The file is shorter or longer than its facts say.
    #[error("the mapping has {found} bytes instead of {expected}")]
    Size {
        /// Bytes that the facts amount to.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// A memory file that its other owner could still cut short.
    #[error("the memory file is not sealed against a change of size")]
    NotSealed,
    /// A ring's producer, or this consumer, is somebody already.
    #[error("that part of the ring is taken")]
    Taken,
    /// The system refused.
    #[error("mapping a ring: {0}")]
    Io(#[from] std::io::Error),
}

/// A ring whose parts are yet to be taken: to keep one and hand the ring to another process for the other.
pub struct Ring<T: Slot> {
    buffer: Buffer<T>,
    wait: Wait,
}

/// Makes a ring and takes all its parts.
pub fn create<T: Slot>(
    mapping: Mapping,
    options: Options,
) -> Result<(Producer<T>, Vec<Consumer<T>>), RingError> {
    let ring = Ring::create(mapping, options)?;
    let consumers = (0..options.consumers).map(|index| ring.consumer(index)).collect::<Result<_, _>>()?;
    Ok((ring.producer()?, consumers))
}

impl<T: Slot> Ring<T> {
    /// Makes a ring.
    pub fn create(mapping: Mapping, options: Options) -> Result<Ring<T>, RingError> {
        Ok(Ring { buffer: Buffer::create(&mapping, &options)?, wait: options.wait })
    }

    /// The same ring, beginning at `start`: memory is taken when it is made, and that may be before it is known where it begins. Only while
    /// nobody else has it; [`RingError::Taken`] where a part of it was taken.
    pub fn beginning_at(mut self, start: Sequence) -> Result<Ring<T>, RingError> {
        let lines = (0..self.buffer.shape.consumers).map(|index| &self.buffer.line(index).taken);
        // Relaxed: there is nobody else.
        if lines
            .chain([&self.buffer.header().signals.producer_taken])
            .any(|taken| taken.load(Ordering::Relaxed) != 0)
        {
            return Err(RingError::Taken);
        }
        self.buffer.begin_at(start)?;
        Ok(self)
    }

    /// Joins a ring of another process, made with [`Mapping::memfd`], by its descriptor. How to wait is this side's choice.
    pub fn join_fd(fd: OwnedFd, wait: Wait) -> Result<Ring<T>, RingError> {
        Ok(Ring { buffer: Buffer::join_fd(fd)?, wait })
    }

    /// Joins a ring of another process, made with [`Mapping::file`], by its path.
    pub fn join_file(path: &Path, wait: Wait) -> Result<Ring<T>, RingError> {
        Ok(Ring { buffer: Buffer::join_file(path)?, wait })
    }

    /// Hands the ring, made with [`Mapping::memfd`], to the process at the other end of a socket, which takes it with
    /// [`Ring::receive`]. Waits while the socket is full.
    pub fn send(&self, socket: &UnixStream) -> Result<(), RingError> {
        let no_fd = || std::io::Error::new(std::io::ErrorKind::Unsupported, "the ring has no descriptor");
        Ok(handover::send_fd(socket, self.fd().ok_or_else(no_fd)?)?)
    }

    /// Joins a ring that the process at the other end of a socket hands over; waits for it. Errors: what arrives
    /// instead, and all of [`Ring::join_fd`].
    pub fn receive(socket: &UnixStream, wait: Wait) -> Result<Ring<T>, RingError> {
        Ring::join_fd(handover::receive_fd(socket)?, wait)
    }

    /// Takes the producer's part. [`RingError::Taken`] when somebody has or had it: a ring serves one incarnation.
    pub fn producer(&self) -> Result<Producer<T>, RingError> {
        // Relaxed: decides who, publishes nothing.
        if self.buffer.header().signals.producer_taken.swap(1, Ordering::Relaxed) != 0 {
            return Err(RingError::Taken);
        }
        Ok(Producer::new(self.buffer.clone(), self.wait))
    }

    /// Takes the part of consumer `index`. [`RingError::Taken`] as above.
    pub fn consumer(&self, index: usize) -> Result<Consumer<T>, RingError> {
        if index >= self.buffer.shape.consumers {
            return Err(RingError::Consumers(index as u64 + 1));
        }
        // Relaxed: as above.
        if self.buffer.line(index).taken.swap(1, Ordering::Relaxed) != 0 {
            return Err(RingError::Taken);
        }
        Ok(Consumer::new(self.buffer.clone(), self.wait, index))
    }

    /// The descriptor to hand to the other process; `None` for memory of this process.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.buffer.fd()
    }

    /// Slots of the ring.
    pub fn capacity(&self) -> usize {
        self.buffer.shape.capacity as usize
    }

    /// Ends the ring for every side.
    pub fn halt(&self) {
        self.buffer.halt();
    }
}

impl<T: Slot> std::fmt::Debug for Ring<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
