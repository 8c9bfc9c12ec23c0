//! Looking at a ring from outside: how full it is. For people and dashboards; costs the two sides nothing.

use crate::ring::Slot;
use crate::ring::buffer::Buffer;
use crate::ring::sync::Ordering;

/// A look at a ring, from any thread. It takes no part: it neither holds slots nor is seen.
pub struct Gauge<T: Slot>(Buffer<T>);

impl<T: Slot> Gauge<T> {
    pub(super) fn new(buffer: Buffer<T>) -> Gauge<T> {
        Gauge(buffer)
    }

    /// Slots published and still needed by the slowest consumer; as of a moment that may be over, and in the middle of a step
    /// off by less than a step.
    pub fn depth(&self) -> u64 {
        let shape = &self.0.shape;
        // Acquire: partner of the Release in `Consumer::give_back`; stamps found below are at least as new.
        let gating = |index| self.0.line(index).gating.load(Ordering::Acquire);
        let Some(from) = (0..shape.consumers).map(gating).min() else { return 0 };
        let from = from.max(shape.start);
        // What is published of a lap is a prefix of it, so that its end can be looked for by halves.
        let (mut low, mut high) = (0, shape.capacity);
        while low < high {
            let middle = low + (high - low) / 2;
            let sequence = from.wrapping_add(middle);
            if self.0.cell(sequence).stamped().is_of(sequence) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Slots of the ring.
    pub fn capacity(&self) -> u64 {
        self.0.shape.capacity
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::ring::{self, Mapping, Options, Wait};

    #[test]
    fn the_depth_is_what_the_consumer_has_not_given_back() {
        let options = Options { capacity: 8, consumers: 1, start: 5, wait: Wait::Yield };
        let (mut producer, mut consumers) = ring::create::<u64>(Mapping::anonymous(), options).unwrap();
        let gauge = producer.gauge();
        assert_eq!((gauge.depth(), gauge.capacity()), (0, 8));
        for lap in 0..5 {
            assert_eq!(producer.try_publish_batch(&[1; 8]), 8);
            assert_eq!(gauge.depth(), 8, "lap {lap}: full");
            consumers[0].poll(3, |_, _| {});
            assert_eq!(gauge.depth(), 5, "lap {lap}");
            consumers[0].poll(8, |_, _| {});
            assert_eq!(gauge.depth(), 0, "lap {lap}: empty");
        }
    }
}
