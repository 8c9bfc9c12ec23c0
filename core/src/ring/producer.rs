//! The side that claims and publishes. One per ring: nothing is ever claimed by two, so a producer that dies
//! leaves at most payload bytes behind that nobody will look at.
#![allow(unsafe_code)]

use crate::ring::buffer::Buffer;
use crate::ring::sequence::{SEQUENCE_MAX, STEP_MAX, Sequence, Stamp};
use crate::ring::sync::Ordering;
use crate::ring::wait::{Doorbell, Idle, Wait, wait_any};
use crate::ring::{Full, Gauge, Halted, Poison, Slot};

/// Slots of a batch that become visible together; longer batches reach the consumer in such pieces, so that it works
/// on one while the next is written.
const STEP: u64 = 32;

/// Publishes payloads to a ring. Methods never wait unless they say so.
///
/// Aligned so that neither its neighbours in memory nor the other side share a cache line with it.
#[repr(align(128))]
pub struct Producer<T: Slot> {
    buffer: Buffer<T>,
    /// Sequence of the next payload.
    next: Sequence,
    /// First staged sequence that is not visible yet; `next` when there is none.
    held: Sequence,
    /// First sequence that may not be claimed before the consumers have been looked at again.
    limit: Sequence,
    wait: Wait,
    poison: Option<Poison>,
}

impl<T: Slot> Producer<T> {
    pub(super) fn new(buffer: Buffer<T>, wait: Wait) -> Producer<T> {
        let start = buffer.shape.start;
        Producer { next: start, held: start, limit: start, buffer, wait, poison: None }
    }

    /// Publishes one payload, after any that were staged. [`Full`] when there is no room, and for a halted ring.
    #[inline]
    pub fn try_publish(&mut self, payload: &T) -> Result<Sequence, Full> {
        self.try_publish_with(|_| *payload)
    }

    /// As [`Producer::try_publish`], with the payload made where it is to lie; `make` is called only when there is
    /// room, with its sequence.
    #[inline]
    pub fn try_publish_with(&mut self, make: impl FnOnce(Sequence) -> T) -> Result<Sequence, Full> {
        if self.room(1) == 0 {
            return Err(Full);
        }
        let sequence = self.next;
        self.write(sequence, make);
        self.next = sequence.wrapping_add(1);
        self.buffer.cell(sequence).stamp(Stamp::new(sequence, 1));
        if self.held == sequence {
            self.held = self.next;
            self.buffer.header().signals.filled.ring(self.buffer.barrier);
        } else {
            self.show();
        }
        Ok(sequence)
    }

    /// Publishes as many of the payloads as there is room for; gives their number. Each piece of up to 32 of them
    /// becomes visible in one step.
    #[inline]
    pub fn try_publish_batch(&mut self, payloads: &[T]) -> usize {
        let mut rest = payloads.iter();
        // `try_publish_each` asks for no more payloads than there are.
        self.try_publish_each(payloads.len(), |_| rest.next().copied().unwrap_or_else(T::new_zeroed))
    }

    /// As [`Producer::try_publish_batch`], with the payloads made where they are to lie: `make` is called in order
    /// with the sequence of each.
    #[inline]
    pub fn try_publish_each(&mut self, count: usize, mut make: impl FnMut(Sequence) -> T) -> usize {
        self.flush();
        let mut done = 0;
        while done < count {
            let room = self.room((count - done) as u64).min((count - done) as u64).min(STEP);
            if room == 0 {
                break;
            }
            self.publish_step(room, &mut make);
            done += room as usize;
        }
        done
    }

    /// Publishes `count` payloads, for which there is room, in one step.
    #[inline(always)]
    fn publish_step(&mut self, count: u64, make: &mut impl FnMut(Sequence) -> T) {
        let first = self.next;
        let after = first.wrapping_add(count);
        // The consumer still has these lines; asked for together they come in the time of one.
        for sequence in first.wrapping_add(1)..after {
            self.buffer.cell(sequence).prefetch_for_write();
        }
        // The consumer polls the first stamp only, so its line stays here until the step is complete.
        let head = make(first);
        for sequence in first.wrapping_add(1)..after {
            let cell = self.buffer.cell(sequence);
            // SAFETY: this is the producer, and `room` found the slots of this step free: its Acquire saw every
            // consumer past their last use.
            unsafe { cell.write(&make(sequence)) };
            cell.stamp(Stamp::new(sequence, 1));
        }
        // SAFETY: as above.
        unsafe { self.buffer.cell(first).write(&head) };
        self.next = after;
        self.show();
    }

    /// Takes the next slot for a payload without making it visible; [`Producer::flush`], or the next publication,
    /// shows all that is staged in one step.
    #[inline]
    pub fn stage(&mut self, payload: &T) -> Result<Sequence, Full> {
        if self.room(1) == 0 {
            return Err(Full);
        }
        let sequence = self.next;
        self.write(sequence, |_| *payload);
        if sequence != self.held {
            self.buffer.cell(sequence).stamp(Stamp::new(sequence, 1));
        }
        self.next = sequence.wrapping_add(1);
        Ok(sequence)
    }

    #[inline(always)]
    fn write(&mut self, sequence: Sequence, make: impl FnOnce(Sequence) -> T) {
        let cell = self.buffer.cell(sequence);
        // SAFETY: as in `publish_step`.
        unsafe { cell.write(&make(sequence)) };
    }

    /// Makes what is staged visible.
    #[inline]
    pub fn flush(&mut self) {
        if self.held != self.next {
            self.show();
        }
    }

    /// Makes what is staged visible and rings for nobody: for who runs the consumer next, on the same thread. A consumer that
    /// sleeps learns of it at the next publication, or when it looks by itself.
    #[inline]
    pub fn flush_unheard(&mut self) {
        if self.held != self.next {
            self.stamp_held();
        }
    }

    /// Makes what is held back visible, and rings.
    #[inline(always)]
    fn show(&mut self) {
        self.stamp_held();
        self.buffer.header().signals.filled.ring(self.buffer.barrier);
    }

    /// Stamps the first slot that is held back, which shows the rest as well.
    #[inline(always)]
    fn stamp_held(&mut self) {
        // Slots beyond the most that a stamp can name show by their own stamps.
        let count = self.next.wrapping_sub(self.held).min(STEP_MAX);
        self.buffer.cell(self.held).stamp(Stamp::new(self.held, count));
        self.held = self.next;
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

    /// A look at the ring from outside.
    pub fn gauge(&self) -> Gauge<T> {
        Gauge::new(self.buffer.clone())
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

    /// Free slots; looks at the consumers only when fewer than `wanted` are known to be.
    #[inline(always)]
    fn room(&mut self, wanted: u64) -> u64 {
        // Relaxed: a hint to stop early; who must know for certain asks `is_halted`.
        if self.buffer.header().signals.halted.load(Ordering::Relaxed) != 0 {
            return 0;
        }
        let room = self.limit.wrapping_sub(self.next);
        if room >= wanted { room } else { self.look_at_consumers() }
    }

    #[cold]
    #[inline(never)]
    fn look_at_consumers(&mut self) -> u64 {
        let capacity = self.buffer.shape.capacity;
        let (mut slowest, start) = (self.next, self.buffer.shape.start);
        for index in 0..self.buffer.shape.consumers {
            // Acquire: partner of the consumer's Release in `give_back`; its reads are done before our writes.
            let gating = self.buffer.line(index).gating.load(Ordering::Acquire);
            // No line can have been behind what an earlier look found, or be ahead of what was published.
            if gating.saturating_add(capacity) < self.limit || gating > self.next || gating < start {
                self.poison = Some(Poison::Gating { consumer: index, found: gating });
                self.buffer.halt();
                return 0;
            }
            slowest = slowest.min(gating);
        }
        self.limit = (slowest + capacity).min(SEQUENCE_MAX);
        self.limit - self.next
    }
}

impl<T: Slot> std::fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Producer")
            .field("next", &self.next)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
