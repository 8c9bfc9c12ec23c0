//! Rings under one face: ours and the ones it is measured against. Each is used in the way that its authors give for
//! the best throughput, with one producer and one consumer; nothing here waits, the caller does.

use crossbeam::queue::ArrayQueue;
use disruptor::{
    BusySpin, EventPoller, Producer as _, SingleConsumerBarrier, SingleProducer, SingleProducerBarrier,
};
use ringside_core::ring::{self, Mapping, Options, Slot, Wait};
use std::sync::Arc;

/// What travels: every word follows from the sequence, so that any torn, stale or lost payload shows.
pub trait Payload: Copy + Send + Sync + 'static {
    /// The payload of a sequence.
    fn of(sequence: u64) -> Self;
    /// 0 if this is the payload of `sequence`, whole.
    fn difference(&self, sequence: u64) -> u64;
}

impl<const WORDS: usize> Payload for [u64; WORDS] {
    #[inline(always)]
    fn of(sequence: u64) -> Self {
        std::array::from_fn(|index| sequence.wrapping_add((index as u64) << 40))
    }

    #[inline(always)]
    fn difference(&self, sequence: u64) -> u64 {
        let words = self.iter().enumerate();
        words.fold(0, |found, (index, word)| found | (word ^ sequence.wrapping_add((index as u64) << 40)))
    }
}

/// One way to get payloads from one thread to another. Sequences start at 0.
pub trait Peer: 'static {
    /// As in the report.
    const NAME: &'static str;
    /// What it carries.
    type Payload: Payload;
    /// The publishing side.
    type Sender: Send + 'static;
    /// The reading side.
    type Receiver: Send + 'static;

    /// An empty one with room for `capacity` payloads, a power of two.
    fn make(capacity: usize) -> (Self::Sender, Self::Receiver);
    /// Publishes the payload of `sequence`; false when there is no room.
    fn send(sender: &mut Self::Sender, sequence: u64) -> bool;
    /// Publishes the payloads of `first` and of the `count - 1` after it, together as far as possible; gives how many
    /// found room.
    fn send_batch(sender: &mut Self::Sender, first: u64, count: u64) -> u64;
    /// Reads what there is, calling `f` for each.
    fn receive(receiver: &mut Self::Receiver, f: impl FnMut(&Self::Payload));
}

/// Most payloads that a consumer takes before it gives their slots back, where the consumer can choose.
const TAKE: usize = 256;

/// Ours, in memory of this process.
pub struct Ours<P>(P);

impl<P: Payload + Slot> Peer for Ours<P> {
    const NAME: &'static str = "ringside";
    type Payload = P;
    type Sender = ring::Producer<P>;
    type Receiver = ring::Consumer<P>;

    fn make(capacity: usize) -> (Self::Sender, Self::Receiver) {
        make_ours(Mapping::anonymous(), capacity)
    }

    #[inline(always)]
    fn send(sender: &mut Self::Sender, sequence: u64) -> bool {
        sender.try_publish_with(|_| P::of(sequence)).is_ok()
    }

    #[inline(always)]
    fn send_batch(sender: &mut Self::Sender, _first: u64, count: u64) -> u64 {
        // Sequences of the ring are those of the run.
        sender.try_publish_each(count as usize, P::of) as u64
    }

    #[inline(always)]
    fn receive(receiver: &mut Self::Receiver, mut f: impl FnMut(&P)) {
        receiver.poll(TAKE, |_, payload| f(payload));
    }
}

/// Ours, in a memfd that other processes could map.
pub struct OursShared<P>(P);

impl<P: Payload + Slot> Peer for OursShared<P> {
    const NAME: &'static str = "ringside, memfd";
    type Payload = P;
    type Sender = ring::Producer<P>;
    type Receiver = ring::Consumer<P>;

    fn make(capacity: usize) -> (Self::Sender, Self::Receiver) {
        make_ours(Mapping::memfd(), capacity)
    }

    #[inline(always)]
    fn send(sender: &mut Self::Sender, sequence: u64) -> bool {
        Ours::send(sender, sequence)
    }

    #[inline(always)]
    fn send_batch(sender: &mut Self::Sender, first: u64, count: u64) -> u64 {
        Ours::send_batch(sender, first, count)
    }

    #[inline(always)]
    fn receive(receiver: &mut Self::Receiver, f: impl FnMut(&P)) {
        Ours::receive(receiver, f);
    }
}

fn make_ours<P: Slot>(mapping: Mapping, capacity: usize) -> (ring::Producer<P>, ring::Consumer<P>) {
    let options = Options { capacity, consumers: 1, start: 0, wait: Wait::Park };
    let (producer, mut consumers) = ring::create(mapping, options).expect("a ring of this size fits");
    (producer, consumers.remove(0))
}

/// `crossbeam::queue::ArrayQueue`: any number of producers and consumers, no batches.
pub struct Crossbeam<P>(P);

impl<P: Payload> Peer for Crossbeam<P> {
    const NAME: &'static str = "crossbeam ArrayQueue";
    type Payload = P;
    type Sender = Arc<ArrayQueue<P>>;
    type Receiver = Arc<ArrayQueue<P>>;

    fn make(capacity: usize) -> (Self::Sender, Self::Receiver) {
        let queue = Arc::new(ArrayQueue::new(capacity));
        (queue.clone(), queue)
    }

    #[inline(always)]
    fn send(sender: &mut Self::Sender, sequence: u64) -> bool {
        sender.push(P::of(sequence)).is_ok()
    }

    #[inline(always)]
    fn send_batch(sender: &mut Self::Sender, first: u64, count: u64) -> u64 {
        (first..first + count).take_while(|&sequence| Self::send(sender, sequence)).count() as u64
    }

    #[inline(always)]
    fn receive(receiver: &mut Self::Receiver, mut f: impl FnMut(&P)) {
        for _ in 0..TAKE {
            let Some(payload) = receiver.pop() else { break };
            f(&payload);
        }
    }
}

/// `rtrb`: one producer, one consumer, two indices; both sides take chunks.
pub struct Rtrb<P>(P);

impl<P: Payload> Peer for Rtrb<P> {
    const NAME: &'static str = "rtrb";
    type Payload = P;
    type Sender = rtrb::Producer<P>;
    type Receiver = rtrb::Consumer<P>;

    fn make(capacity: usize) -> (Self::Sender, Self::Receiver) {
        rtrb::RingBuffer::new(capacity)
    }

    #[inline(always)]
    fn send(sender: &mut Self::Sender, sequence: u64) -> bool {
        sender.push(P::of(sequence)).is_ok()
    }

    #[inline(always)]
    fn send_batch(sender: &mut Self::Sender, first: u64, count: u64) -> u64 {
        // The whole batch is asked for first: only then are the consumer's cached indices enough.
        let fits = if sender.write_chunk_uninit(count as usize).is_ok() {
            count as usize
        } else {
            sender.slots().min(count as usize)
        };
        let Ok(chunk) = sender.write_chunk_uninit(fits) else { return 0 };
        chunk.fill_from_iter((first..first + fits as u64).map(P::of)) as u64
    }

    #[inline(always)]
    fn receive(receiver: &mut Self::Receiver, mut f: impl FnMut(&P)) {
        let filled = receiver.slots().min(TAKE);
        if let Ok(chunk) = receiver.read_chunk(filled) {
            let (head, tail) = chunk.as_slices();
            head.iter().for_each(&mut f);
            tail.iter().for_each(&mut f);
            chunk.commit_all();
        }
    }
}

/// `rtrb` with its consumer taking one at a time.
pub struct RtrbPop<P>(P);

impl<P: Payload> Peer for RtrbPop<P> {
    const NAME: &'static str = "rtrb, pop";
    type Payload = P;
    type Sender = rtrb::Producer<P>;
    type Receiver = rtrb::Consumer<P>;

    fn make(capacity: usize) -> (Self::Sender, Self::Receiver) {
        rtrb::RingBuffer::new(capacity)
    }

    #[inline(always)]
    fn send(sender: &mut Self::Sender, sequence: u64) -> bool {
        Rtrb::<P>::send(sender, sequence)
    }

    #[inline(always)]
    fn send_batch(sender: &mut Self::Sender, first: u64, count: u64) -> u64 {
        Rtrb::<P>::send_batch(sender, first, count)
    }

    #[inline(always)]
    fn receive(receiver: &mut Self::Receiver, mut f: impl FnMut(&P)) {
        for _ in 0..TAKE {
            let Ok(payload) = receiver.pop() else { break };
            f(&payload);
        }
    }
}

/// `disruptor`: a cursor, gating sequences, a consumer that takes all there is.
pub struct Disruptor<P>(P);

impl<P: Payload> Peer for Disruptor<P> {
    const NAME: &'static str = "disruptor";
    type Payload = P;
    type Sender = SingleProducer<P, SingleConsumerBarrier>;
    type Receiver = EventPoller<P, SingleProducerBarrier>;

    fn make(capacity: usize) -> (Self::Sender, Self::Receiver) {
        let (poller, builder) =
            disruptor::build_single_producer(capacity, || P::of(u64::MAX), BusySpin).new_event_poller();
        (builder.build(), poller)
    }

    #[inline(always)]
    fn send(sender: &mut Self::Sender, sequence: u64) -> bool {
        sender.try_publish(|slot| *slot = P::of(sequence)).is_ok()
    }

    #[inline(always)]
    fn send_batch(sender: &mut Self::Sender, first: u64, count: u64) -> u64 {
        let fill = sender.try_batch_publish(count as usize, |slots| {
            for (slot, sequence) in slots.zip(first..) {
                *slot = P::of(sequence);
            }
        });
        if fill.is_ok() { count } else { 0 }
    }

    #[inline(always)]
    fn receive(receiver: &mut Self::Receiver, f: impl FnMut(&P)) {
        if let Ok(mut payloads) = receiver.take(TAKE as u64) {
            (&mut payloads).for_each(f);
        }
    }
}
