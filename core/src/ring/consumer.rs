//! A side that reads. Each consumer gates the producer by a line of its own and knows nothing of the others.
//!
//! Its position is private: the mapping can lie about what is published, never about what was read.
#![allow(unsafe_code)]

use crate::ring::buffer::Buffer;
use crate::ring::sequence::Sequence;
use crate::ring::sync::Ordering;
use crate::ring::wait::{Doorbell, Idle, Wait, wait_any};
use crate::ring::{Poison, Slot};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Reads the payloads of a ring in order, each once.
pub struct Consumer<T: Slot> {
    buffer: Arc<Buffer<T>>,
    wait: Wait,
    index: usize,
    /// Sequence of the next payload to read.
    next: Sequence,
    poison: Option<Poison>,
    /// Where a payload of foreign memory is looked at ahead of its turn.
    ahead: T,
}

impl<T: Slot> Consumer<T> {
    pub(super) fn new(buffer: Arc<Buffer<T>>, wait: Wait, index: usize) -> Consumer<T> {
        let next = buffer.shape.start;
        Consumer { buffer, wait, index, next, poison: None, ahead: T::new_zeroed() }
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
        let first = self.next;
        let end = first + (limit as u64).min(self.buffer.shape.capacity);
        while self.next < end && self.has_next() {
            if self.read_next(&mut f).is_break() {
                break;
            }
        }
        self.give_back(first)
    }

    /// As [`Consumer::poll_until`], and before each `f` calls `hint` with the payload `distance` further on, where
    /// one is published already: time to fetch what that payload will need. Hints may repeat and may be missing.
    #[inline]
    pub fn poll_ahead(
        &mut self,
        limit: usize,
        distance: usize,
        mut hint: impl FnMut(&T),
        mut f: impl FnMut(Sequence, &T) -> ControlFlow<()>,
    ) -> usize {
        let first = self.next;
        let end = first + (limit as u64).min(self.buffer.shape.capacity);
        while self.next < end && self.has_next() {
            if let Some(payload) = self.peek(distance) {
                hint(payload);
            }
            if self.read_next(&mut f).is_break() {
                break;
            }
        }
        self.give_back(first)
    }

    /// The payload `ahead` places after the next one to be read (0 is that one), if it is published. A hint: it
    /// comes without promise that the ones before it are, and its turn comes later all the same.
    #[inline]
    pub fn peek(&mut self, ahead: usize) -> Option<&T> {
        if ahead as u64 >= self.buffer.shape.capacity || self.poison.is_some() {
            return None;
        }
        let sequence = self.next + ahead as u64;
        let cell = self.buffer.cell(sequence);
        // Acquire: as in `has_next`.
        if cell.stamp.load(Ordering::Acquire) != sequence + 1 {
            return None;
        }
        if self.buffer.foreign {
            // SAFETY: this consumer saw the stamp just now and has not given the slot back.
            self.ahead = unsafe { cell.read(true, |payload| *payload) };
            return Some(&self.ahead);
        }
        // SAFETY: as above, and the borrow of `self` keeps it from giving the slot back while the payload is used.
        Some(unsafe { cell.in_place() })
    }

    /// Whether a payload can be read now.
    #[inline]
    pub fn is_ready(&mut self) -> bool {
        self.has_next()
    }

    /// Payloads that can be read now; looks at each of them.
    pub fn available(&mut self) -> usize {
        if !self.has_next() {
            return 0;
        }
        let published = |&sequence: &Sequence| {
            // Acquire: as in `has_next`.
            self.buffer.cell(sequence).stamp.load(Ordering::Acquire) == sequence + 1
        };
        (self.next..self.next + self.buffer.shape.capacity).take_while(published).count()
    }

    /// Waits, by the ring's wait strategy, until a payload can be read, the ring is halted or the time is up.
    /// True when a payload can be read.
    pub fn wait(&mut self, timeout: Duration) -> bool {
        let mut idle = Idle::new(self.wait);
        let mut deadline = None;
        loop {
            if self.has_next() {
                return true;
            }
            if self.is_halted() {
                // What was published before the halt counts.
                return self.has_next();
            }
            let sleep = idle.pause();
            if !sleep && self.wait == Wait::Park {
                continue;
            }
            let now = Instant::now();
            let deadline = *deadline.get_or_insert(now + timeout);
            if now >= deadline {
                return self.has_next();
            }
            if sleep {
                let bell = self.doorbell();
                let span = deadline - now;
                wait_any([&bell].into_iter(), Some(span), || self.has_next() || self.is_halted());
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

    /// Whether the next slot is published. Besides the right stamp an honest slot can only hold what the lap before
    /// left there, so anything else poisons the ring.
    #[inline(always)]
    fn has_next(&mut self) -> bool {
        // Acquire: partner of the producer's Release in `stamp`.
        let found = self.buffer.cell(self.next).stamp.load(Ordering::Acquire);
        if found == self.next + 1 {
            return self.poison.is_none();
        }
        if found != self.stamp_before() {
            self.fail(found);
        }
        false
    }

    /// What the next slot holds until it is published.
    #[inline(always)]
    fn stamp_before(&self) -> u64 {
        let shape = &self.buffer.shape;
        if self.next - shape.start < shape.capacity { 0 } else { self.next + 1 - shape.capacity }
    }

    #[cold]
    fn fail(&mut self, found: u64) {
        if self.poison.is_none() {
            self.poison = Some(Poison::Stamp { sequence: self.next, found });
            self.buffer.halt();
        }
    }

    #[inline(always)]
    fn read_next<R>(&mut self, f: &mut impl FnMut(Sequence, &T) -> R) -> R {
        let sequence = self.next;
        // SAFETY: `has_next` saw the stamp, and the slot is given back only in `give_back`, after the batch.
        let result =
            unsafe { self.buffer.cell(sequence).read(self.buffer.foreign, |payload| f(sequence, payload)) };
        self.next = sequence + 1;
        result
    }

    /// Gives back the slots from `first` to the one before next; gives their number.
    #[inline(always)]
    fn give_back(&mut self, first: Sequence) -> usize {
        if self.next != first {
            // Release: partner of the producer's Acquire in `look_at_consumers`; our reads come before its writes.
            self.buffer.line(self.index).gating.store(self.next, Ordering::Release);
            self.buffer.header().freed.ring(self.buffer.barrier);
        }
        (self.next - first) as usize
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
