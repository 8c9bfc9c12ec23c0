//! The side that claims and publishes. One per ring: nothing is ever claimed by two, so a producer that dies
//! leaves at most payload bytes behind that nobody will look at.
#![allow(unsafe_code)]

use crate::ring::buffer::Buffer;
use crate::ring::sequence::Sequence;
use crate::ring::sync::Ordering;
use crate::ring::wait::{Doorbell, Idle, Wait, wait_any};
use crate::ring::{Full, Halted, Poison, Slot};
use std::sync::Arc;

/// Most slots that become visible in one step; longer batches reach the consumer in such pieces, so that it works
/// on one while the next is written.
const STEP: u64 = 32;

/// Publishes payloads to a ring. Methods never wait unless they say so.
pub struct Producer<T: Slot> {
    buffer: Arc<Buffer<T>>,
    wait: Wait,
    /// Sequence of the next payload.
    next: Sequence,
    /// First staged sequence that is not visible yet; `next` when there is none.
    held: Sequence,
    /// The gating sequence when last looked at.
    gating: Sequence,
    poison: Option<Poison>,
}

impl<T: Slot> Producer<T> {
    pub(super) fn new(buffer: Arc<Buffer<T>>, wait: Wait) -> Producer<T> {
        let start = buffer.shape.start;
        Producer { buffer, wait, next: start, held: start, gating: start, poison: None }
    }

    /// Publishes one payload, after any that were staged. [`Full`] when there is no room, and for a halted ring.
    #[inline]
    pub fn try_publish(&mut self, payload: &T) -> Result<Sequence, Full> {
        let sequence = self.claim()?;
        self.write(sequence, payload);
        self.next = sequence + 1;
        if self.held == sequence {
            self.stamp(sequence);
            self.held = self.next;
            self.buffer.header().signals.filled.ring(self.buffer.barrier);
        } else {
            self.stamp(sequence);
            self.flush();
        }
        Ok(sequence)
    }

    /// Publishes as many of the payloads as there is room for; gives their number. Each piece of up to 32 of them
    /// becomes visible in one step.
    pub fn try_publish_batch(&mut self, payloads: &[T]) -> usize {
        self.flush();
        let mut rest = payloads;
        while !rest.is_empty() {
            let room = self.room(rest.len() as u64);
            if room == 0 {
                break;
            }
            let (piece, after) = rest.split_at(room.min(STEP).min(rest.len() as u64) as usize);
            let first = self.next;
            // The consumer polls the first stamp only, so its line stays here until the piece is complete.
            for (sequence, payload) in (first + 1..).zip(&piece[1..]) {
                self.write(sequence, payload);
                self.stamp(sequence);
            }
            self.write(first, &piece[0]);
            self.stamp(first);
            self.next = first + piece.len() as u64;
            self.held = self.next;
            self.buffer.header().signals.filled.ring(self.buffer.barrier);
            rest = after;
        }
        payloads.len() - rest.len()
    }

    /// Takes the next slot for a payload without making it visible; [`Producer::flush`], or the next publication,
    /// shows all that is staged in one step.
    #[inline]
    pub fn stage(&mut self, payload: &T) -> Result<Sequence, Full> {
        let sequence = self.claim()?;
        self.write(sequence, payload);
        if sequence != self.held {
            self.stamp(sequence);
        }
        self.next = sequence + 1;
        Ok(sequence)
    }

    /// Makes what is staged visible.
    #[inline]
    pub fn flush(&mut self) {
        if self.held != self.next {
            self.stamp(self.held);
            self.held = self.next;
            self.buffer.header().signals.filled.ring(self.buffer.barrier);
        }
    }

    /// Publishes one payload, waiting for room by the ring's wait strategy. [`Halted`] when the ring is over.
    pub fn publish(&mut self, payload: &T) -> Result<Sequence, Halted> {
        let mut idle = Idle::new(self.wait);
        loop {
            if let Ok(sequence) = self.try_publish(payload) {
                return Ok(sequence);
            }
            if self.is_halted() {
                return Err(Halted);
            }
            // What is staged fills the ring too; its consumer must see it to make room.
            self.flush();
            if idle.pause() {
                self.sleep_until_room();
            }
        }
    }

    #[cold]
    fn sleep_until_room(&mut self) {
        let bell = self.room_doorbell();
        wait_any([&bell].into_iter(), None, || self.room(1) > 0 || self.is_halted());
    }

    /// Payloads that can be published now.
    pub fn free(&mut self) -> usize {
        self.room(self.buffer.shape.capacity) as usize
    }

    /// Whether at least `slots` payloads can be published now. Looks at the consumers only when it is not known already,
    /// so it costs less than [`Producer::free`].
    #[inline]
    pub fn has_room(&mut self, slots: usize) -> bool {
        self.room(slots as u64) >= slots as u64
    }

    /// Slots of the ring.
    pub fn capacity(&self) -> usize {
        self.buffer.shape.capacity as usize
    }

    /// Sequence of the next payload.
    pub fn next_sequence(&self) -> Sequence {
        self.next
    }

    /// Ends the ring for every side. What was published can still be read.
    pub fn halt(&self) {
        self.buffer.halt();
    }

    /// Whether some side ended the ring.
    pub fn is_halted(&self) -> bool {
        self.buffer.is_halted()
    }

    /// What a consumer did that no honest one does, if anything; the ring is halted then.
    pub fn poison(&self) -> Option<Poison> {
        self.poison
    }

    /// Rings when slots come free.
    pub fn room_doorbell(&self) -> Doorbell {
        self.buffer.freed()
    }

    /// The next sequence, once its slot is free.
    #[inline(always)]
    fn claim(&mut self) -> Result<Sequence, Full> {
        if self.room(1) == 0 {
            return Err(Full);
        }
        Ok(self.next)
    }

    /// Free slots; looks at the consumers only when fewer than `wanted` are known to be.
    #[inline(always)]
    fn room(&mut self, wanted: u64) -> u64 {
        // Relaxed: a hint to stop early; who must know for certain asks `is_halted`.
        if self.buffer.header().signals.halted.load(Ordering::Relaxed) != 0 {
            return 0;
        }
        let room = self.gating + self.buffer.shape.capacity - self.next;
        if room >= wanted { room } else { self.look_at_consumers() }
    }

    #[cold]
    #[inline(never)]
    fn look_at_consumers(&mut self) -> u64 {
        let mut slowest = self.next;
        for index in 0..self.buffer.shape.consumers {
            // Acquire: partner of the consumer's Release in `give_back`; its reads are done before our writes.
            let gating = self.buffer.line(index).gating.load(Ordering::Acquire);
            if gating < self.gating || gating > self.next {
                self.poison = Some(Poison::Gating { consumer: index, found: gating });
                self.buffer.halt();
                return 0;
            }
            slowest = slowest.min(gating);
        }
        self.gating = slowest;
        slowest + self.buffer.shape.capacity - self.next
    }

    #[inline(always)]
    fn write(&self, sequence: Sequence, payload: &T) {
        // SAFETY: only the producer calls this, for sequences that `room` found free: the Acquire there saw every
        // consumer past the slot's last use.
        unsafe { self.buffer.cell(sequence).write(payload, self.buffer.foreign) };
    }

    #[inline(always)]
    fn stamp(&self, sequence: Sequence) {
        // Release: partner of the consumers' Acquire in `stamp_of`; they see the payload, and the whole piece.
        self.buffer.cell(sequence).stamp.store(sequence + 1, Ordering::Release);
    }
}

impl<T: Slot> std::fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Producer")
            .field("next", &self.next)
            .field("gating", &self.gating)
            .finish_non_exhaustive()
    }
}
