//! A side that reads. Each consumer gates the producer by a line of its own and knows nothing of the others.
//!
//! Its position is private: the mapping can lie about what is published, never about what was read.
#![allow(unsafe_code)]

use crate::ring::buffer::Buffer;
use crate::ring::sequence::{Line, Sequence, Stamp};
use crate::ring::sync::Ordering;
use crate::ring::wait::{Doorbell, Idle, Wait, wait_any};
use crate::ring::{Poison, Slot};
use std::ops::ControlFlow;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

/// How many payloads ahead of its turn one is asked for.
const SOON: u64 = 8;

/// A look at the clock costs as much as several polls.
const POLLS_PER_LOOK_AT_THE_CLOCK: u32 = 64;

/// Reads the payloads of a ring in order, each once.
///
/// Aligned so that neither its neighbours in memory nor the other side share a cache line with it.
#[repr(align(128))]
pub struct Consumer<T: Slot> {
    buffer: Buffer<T>,
    /// Sequence of the next payload to read.
    next: Sequence,
    /// Everything before this is known to be published.
    known: Sequence,
    /// This consumer's line in the mapping.
    line: NonNull<Line>,
    index: usize,
    wait: Wait,
    poison: Option<Poison>,
    /// Where a payload of foreign memory is looked at ahead of its turn.
    ahead: T,
}

// SAFETY: the line is an atomic in memory that the buffer keeps alive, and the buffer is itself Send.
unsafe impl<T: Slot> Send for Consumer<T> {}

impl<T: Slot> Consumer<T> {
    pub(super) fn new(buffer: Buffer<T>, wait: Wait, index: usize) -> Consumer<T> {
        let next = buffer.shape.start;
        let line = NonNull::from(buffer.line(index));
        Consumer { buffer, next, known: next, line, index, wait, poison: None, ahead: T::new_zeroed() }
    }

    /// Calls `f` for each published payload in order, `limit` at most, then gives all their slots back in one step.
    /// Gives the number of payloads read: 0 when there is none, and for good after a poisoned slot.
    #[inline]
    pub fn poll(&mut self, limit: usize, mut f: impl FnMut(Sequence, &T)) -> usize {
        self.poll_until(limit, |sequence, payload| {
            f(sequence, payload);
            ControlFlow::Continue(())
        })
    }

    /// As [`Consumer::poll`], and stops after a payload for which `f` breaks.
    #[inline]
    pub fn poll_until(&mut self, limit: usize, mut f: impl FnMut(Sequence, &T) -> ControlFlow<()>) -> usize {
        let taken = if self.buffer.foreign {
            self.run::<true>(limit, |_, _| {}, &mut f)
        } else {
            self.run::<false>(limit, |_, _| {}, &mut f)
        };
        if taken > 0 {
            self.tell_room();
        }
        taken
    }

    /// As [`Consumer::poll_until`], for who takes many steps one after the other. Rings for nobody: a producer that sleeps until
    /// there is room learns of it at [`Consumer::tell_room`], which must follow; woken at each step it would wake for a few
    /// slots again and again. And where a whole step is published, payloads are asked for ahead of their turn, since another
    /// processor has them: 7 of 59 ns a command where that one is far, nothing where it is near.
    #[inline]
    pub fn poll_unheard(
        &mut self,
        limit: usize,
        mut f: impl FnMut(Sequence, &T) -> ControlFlow<()>,
    ) -> usize {
        if self.buffer.foreign {
            self.run::<true>(limit, |_, _| {}, &mut f)
        } else if self.peek(limit.saturating_sub(1)).is_some() {
            let ask = |consumer: &mut Self, sequence: Sequence| {
                consumer.buffer.cell(sequence.wrapping_add(SOON)).prefetch_for_read();
            };
            self.run::<false>(limit, ask, &mut f)
        } else {
            self.run::<false>(limit, |_, _| {}, &mut f)
        }
    }

    /// Wakes a producer that sleeps until there is room.
    #[inline]
    pub fn tell_room(&self) {
        self.buffer.header().freed.ring(self.buffer.barrier);
    }

    /// Reads what is published, in the stretches in which it became visible. A payload whose `f` panics is read
    /// again, with those before it, by the next call.
    #[inline(always)]
    fn run<const FOREIGN: bool>(
        &mut self,
        limit: usize,
        mut before: impl FnMut(&mut Self, Sequence),
        f: &mut impl FnMut(Sequence, &T) -> ControlFlow<()>,
    ) -> usize {
        let first = self.next;
        let end = first.wrapping_add((limit as u64).min(self.buffer.shape.capacity));
        let mut sequence = first;
        'batch: while sequence < end && (sequence < self.known || self.look(sequence)) {
            let stop = self.known.min(end);
            while sequence < stop {
                before(self, sequence);
                let cell = self.buffer.cell(sequence);
                // SAFETY: a stamp said that this slot is published, and it is given back only below.
                let flow = unsafe { cell.read::<FOREIGN, _>(|payload| f(sequence, payload)) };
                sequence = sequence.wrapping_add(1);
                if flow.is_break() {
                    break 'batch;
                }
            }
        }
        if sequence != first {
            self.next = sequence;
            // Release: partner of the producer's Acquire in `look_at_consumers`; our reads come before its writes.
            self.line().gating.store(sequence, Ordering::Release);
        }
        sequence.wrapping_sub(first) as usize
    }

    /// The payload `ahead` places after the next one to be read (0 is that one), if it is published. A hint: it
    /// comes without promise that the ones before it are, and its turn comes later all the same.
    #[inline]
    pub fn peek(&mut self, ahead: usize) -> Option<&T> {
        if ahead as u64 >= self.buffer.shape.capacity || self.poison.is_some() {
            return None;
        }
        self.glance(self.next.wrapping_add(ahead as u64))
    }

    /// The payload of a sequence less than a lap ahead, if it is published.
    #[inline(always)]
    fn glance(&mut self, sequence: Sequence) -> Option<&T> {
        let cell = self.buffer.cell(sequence);
        if sequence >= self.known && !cell.stamped().is_of(sequence) {
            return None;
        }
        if self.buffer.foreign {
            // SAFETY: the slot is published, and this consumer has not given it back.
            self.ahead = unsafe { cell.read::<true, _>(|payload| *payload) };
            return Some(&self.ahead);
        }
        // SAFETY: as above, and the borrow of `self` keeps it from being given back while the payload is used.
        Some(unsafe { cell.in_place() })
    }

    /// Whether a payload can be read now.
    #[inline]
    pub fn is_ready(&mut self) -> bool {
        self.next < self.known || self.look(self.next)
    }

    /// Payloads that can be read now; looks at each of them.
    pub fn available(&mut self) -> usize {
        if !self.is_ready() {
            return 0;
        }
        let published = |&sequence: &Sequence| {
            sequence < self.known || self.buffer.cell(sequence).stamped().is_of(sequence)
        };
        (self.next..self.next + self.buffer.shape.capacity).take_while(published).count()
    }

    /// Waits, by the ring's wait strategy, until a payload can be read, the ring is halted or the time is up.
    /// True when a payload can be read.
    pub fn wait(&mut self, timeout: Duration) -> bool {
        let mut idle = Idle::new(self.wait);
        let mut deadline = None;
        loop {
            for _ in 0..POLLS_PER_LOOK_AT_THE_CLOCK {
                if self.is_ready() {
                    return true;
                }
                if self.is_halted() {
                    // What was published before the halt counts.
                    return self.is_ready();
                }
                if idle.pause() {
                    break;
                }
            }
            let now = Instant::now();
            let deadline = *deadline.get_or_insert(now + timeout);
            if now >= deadline {
                return self.is_ready();
            }
            if idle.is_time_to_sleep() {
                let bell = self.doorbell();
                let span = deadline - now;
                wait_any([&bell].into_iter(), Some(span), || self.is_ready() || self.is_halted());
            }
        }
    }

    /// Rings when payloads were published or the ring was halted.
    pub fn doorbell(&self) -> Doorbell {
        self.buffer.filled()
    }

    /// Ends the ring for every side.
    pub fn halt(&self) {
        self.buffer.halt();
    }

    /// Whether some side ended the ring. What was published before can still be read.
    pub fn is_halted(&self) -> bool {
        self.buffer.is_halted()
    }

    /// What the producer did that no honest one does, if anything. The ring is halted then and nothing more is read.
    pub fn poison(&self) -> Option<Poison> {
        self.poison
    }

    /// Sequence of the next payload to read.
    pub fn next_sequence(&self) -> Sequence {
        self.next
    }

    /// Slots of the ring.
    pub fn capacity(&self) -> usize {
        self.buffer.shape.capacity as usize
    }

    /// Looks at the stamp of `sequence`, the first that is not known to be published. Besides the right stamp an
    /// honest slot can only hold that of the lap before, so anything else poisons the ring.
    #[inline(always)]
    fn look(&mut self, sequence: Sequence) -> bool {
        let found = self.buffer.cell(sequence).stamped();
        if found.is_of(sequence) && found.count() <= self.buffer.shape.capacity && self.poison.is_none() {
            self.known = sequence.wrapping_add(found.count());
            return true;
        }
        if !self.is_of_lap_before(sequence, found) {
            self.fail(sequence, found);
        }
        false
    }

    #[inline(always)]
    fn is_of_lap_before(&self, sequence: Sequence, found: Stamp) -> bool {
        let shape = &self.buffer.shape;
        if sequence.wrapping_sub(shape.start) < shape.capacity {
            found == Stamp::NONE
        } else {
            found.is_of(sequence.wrapping_sub(shape.capacity))
        }
    }

    #[cold]
    fn fail(&mut self, sequence: Sequence, found: Stamp) {
        if self.poison.is_none() {
            self.poison = Some(Poison::Stamp { sequence, found: found.0 });
            self.buffer.halt();
        }
    }

    #[inline(always)]
    fn line(&self) -> &Line {
        // SAFETY: taken from the buffer, which lives as long as this consumer; a line is made of atomics only.
        unsafe { self.line.as_ref() }
    }
}

impl<T: Slot> std::fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Consumer")
            .field("index", &self.index)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}
