//! What a ring promises, one thread at a time and two: order, gating, steps, wrap, halt, waiting, look-ahead.

use ringside_core::ring::{self, Full, Halted, Mapping, Options, Ring, RingError, Wait, wait_any};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

fn options(capacity: usize, consumers: usize) -> Options {
    Options { capacity, consumers, start: 1, wait: Wait::Park }
}

/// Every kind of memory that works here; checkers know only the heap.
fn mappings() -> Vec<Mapping> {
    let mut mappings = vec![Mapping::heap(false), Mapping::heap(true)];
    if !cfg!(miri) {
        mappings.extend([Mapping::anonymous(), Mapping::memfd()]);
    }
    mappings
}

/// A payload whose words all follow from its sequence, so that a torn or stale one shows.
fn payload(sequence: u64) -> [u64; 7] {
    std::array::from_fn(|index| sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(index as u32 * 9))
}

#[test]
fn payloads_come_once_in_order_over_many_laps() {
    for mapping in mappings() {
        let (mut producer, mut consumers) = ring::create::<[u64; 7]>(mapping, options(8, 2)).unwrap();
        let mut seen = [1u64, 1];
        for sequence in 1..=100 {
            assert_eq!(producer.try_publish(&payload(sequence)), Ok(sequence));
            for (index, (consumer, next)) in consumers.iter_mut().zip(&mut seen).enumerate() {
                // The second consumer reads every fifth time only.
                if index == 0 || sequence % 5 == 0 {
                    consumer.poll(usize::MAX, |found, value| {
                        assert_eq!(found, *next);
                        assert_eq!(*value, payload(found));
                        *next += 1;
                    });
                }
            }
        }
        assert_eq!(seen, [101, 101]);
    }
}

#[test]
fn the_slowest_consumer_gates_the_producer() {
    for mapping in mappings() {
        let (mut producer, mut consumers) = ring::create::<[u64; 7]>(mapping, options(4, 2)).unwrap();
        for sequence in 1..=4 {
            assert_eq!(producer.try_publish(&payload(sequence)), Ok(sequence));
        }
        assert_eq!(producer.try_publish(&payload(5)), Err(Full));
        assert_eq!(consumers[0].poll(4, |_, _| {}), 4);
        assert_eq!((producer.free(), producer.try_publish(&payload(5))), (0, Err(Full)));
        assert_eq!(consumers[1].poll(1, |_, _| {}), 1);
        assert_eq!((producer.free(), producer.try_publish(&payload(5))), (1, Ok(5)));
        assert_eq!(producer.try_publish(&payload(6)), Err(Full));
        assert_eq!((consumers[0].available(), consumers[1].available()), (1, 4));
    }
}

#[test]
fn a_batch_takes_what_fits_and_staged_payloads_show_together() {
    let (mut producer, mut consumers) =
        ring::create::<[u64; 7]>(Mapping::heap(false), options(64, 1)).unwrap();
    let consumer = &mut consumers[0];
    let all: Vec<_> = (1..=100).map(payload).collect();
    assert_eq!(producer.try_publish_batch(&all), 64);
    assert_eq!(consumer.poll(usize::MAX, |sequence, value| assert_eq!(*value, payload(sequence))), 64);
    for sequence in 65..=70 {
        assert_eq!(producer.stage(&payload(sequence)), Ok(sequence));
        assert_eq!(consumer.poll(usize::MAX, |_, _| {}), 0, "staged is not published");
    }
    producer.flush();
    assert_eq!(consumer.available(), 6);
    producer.stage(&payload(71)).unwrap();
    producer.try_publish(&payload(72)).unwrap();
    assert_eq!(consumer.poll(usize::MAX, |sequence, value| assert_eq!(*value, payload(sequence))), 8);
    producer.stage(&payload(73)).unwrap();
    assert_eq!(producer.try_publish_batch(&all[73..75]), 2);
    assert_eq!(consumer.poll(usize::MAX, |sequence, value| assert_eq!(*value, payload(sequence))), 3);
    for sequence in 76..=78 {
        producer.stage(&payload(sequence)).unwrap();
    }
    producer.flush_unheard();
    assert_eq!(consumer.poll(usize::MAX, |sequence, value| assert_eq!(*value, payload(sequence))), 3);
}

#[test]
fn polling_stops_where_asked_and_looking_ahead_ends_with_what_is_published() {
    for mapping in mappings() {
        let (mut producer, mut consumers) = ring::create::<[u64; 7]>(mapping, options(16, 1)).unwrap();
        let consumer = &mut consumers[0];
        let all: Vec<_> = (1..=10).map(payload).collect();
        producer.try_publish_batch(&all);
        assert_eq!(consumer.peek(9), Some(&payload(10)));
        assert_eq!((consumer.peek(10).is_none(), consumer.peek(16).is_none()), (true, true));
        assert!(consumer.peek(usize::MAX).is_none());
        let done = consumer.poll_until(usize::MAX, |sequence, value| {
            assert_eq!(*value, payload(sequence));
            if sequence == 8 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(done, 8);
        assert_eq!((consumer.next_sequence(), consumer.available()), (9, 2));
        assert_eq!(consumer.poll(1, |_, _| {}), 1);
    }
}

#[test]
fn a_halt_is_seen_by_every_side_and_loses_nothing() {
    for mapping in mappings() {
        let (mut producer, mut consumers) = ring::create::<[u64; 7]>(mapping, options(4, 2)).unwrap();
        producer.try_publish(&payload(1)).unwrap();
        consumers[1].halt();
        assert!(producer.is_halted() && consumers.iter().all(|consumer| consumer.is_halted()));
        assert_eq!(producer.try_publish(&payload(2)), Err(Full));
        assert_eq!(producer.publish(&payload(2)), Err(Halted));
        assert_eq!((producer.free(), producer.try_publish_batch(&[payload(2)])), (0, 0));
        assert_eq!(consumers[0].poll(usize::MAX, |_, _| {}), 1);
        assert!(!consumers[0].wait(Duration::from_secs(60)), "a halted ring keeps nobody waiting");
    }
}

#[test]
fn waiting_ends_by_publication_room_halt_or_time() {
    for (mapping, wait) in mappings()
        .into_iter()
        .flat_map(|mapping| [Wait::Spin, Wait::Yield, Wait::Park].map(|wait| (mapping.clone(), wait)))
    {
        let shape = Options { capacity: 2, consumers: 1, start: 5, wait };
        let (mut producer, mut consumers) = ring::create::<[u64; 7]>(mapping, shape).unwrap();
        let mut consumer = consumers.remove(0);
        let started = Instant::now();
        assert!(!consumer.wait(Duration::from_millis(5)));
        assert!(started.elapsed() >= Duration::from_millis(5));
        // On a busy machine a spinning side burns a time slice for every two payloads.
        let items = if cfg!(miri) || wait == Wait::Spin { 20 } else { 500 };
        let thread = std::thread::spawn(move || {
            let mut next = 5;
            while consumer.wait(Duration::from_secs(600)) {
                next +=
                    consumer.poll(usize::MAX, |sequence, value| assert_eq!(*value, payload(sequence))) as u64;
            }
            assert!(consumer.is_halted());
            next
        });
        for sequence in 5..5 + items {
            assert_eq!(producer.publish(&payload(sequence)), Ok(sequence));
        }
        while producer.free() < 2 {
            std::thread::yield_now();
        }
        producer.halt();
        assert_eq!(thread.join().unwrap(), 5 + items);
    }
}

#[test]
fn one_sleep_covers_several_rings() {
    let mut rings: Vec<_> =
        (0..3).map(|_| ring::create::<[u64; 7]>(Mapping::heap(false), options(4, 1)).unwrap()).collect();
    let mut consumers: Vec<_> = rings.iter_mut().map(|ring| ring.1.remove(0)).collect();
    let bells: Vec<_> = consumers.iter().map(|consumer| consumer.doorbell()).collect();
    let rounds = if cfg!(miri) { 9 } else { 300 };
    let thread = std::thread::spawn(move || {
        let mut count = 0;
        while count < rounds {
            wait_any(bells.iter(), None, || consumers.iter_mut().any(|consumer| consumer.is_ready()));
            count += consumers.iter_mut().map(|consumer| consumer.poll(9, |_, _| {})).sum::<usize>();
        }
    });
    for round in 0..rounds {
        rings[round % 3].0.publish(&payload(1)).unwrap();
        if round % 50 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    thread.join().unwrap();
}

#[test]
fn a_ring_that_is_made_ahead_begins_where_it_is_told() {
    for mapping in mappings() {
        let ring = Ring::<[u64; 7]>::create(mapping, options(4, 2)).unwrap().beginning_at(70).unwrap();
        let (mut producer, mut first) = (ring.producer().unwrap(), ring.consumer(0).unwrap());
        let mut second = ring.consumer(1).unwrap();
        for sequence in 70..90 {
            assert_eq!(producer.try_publish(&payload(sequence)), Ok(sequence));
            for consumer in [&mut first, &mut second] {
                let taken = consumer
                    .poll(9, |found, value| assert_eq!((found, *value), (sequence, payload(sequence))));
                assert_eq!(taken, 1);
            }
        }
        assert!(matches!(ring.beginning_at(1), Err(RingError::Taken)));
    }
    let ring = Ring::<[u64; 7]>::create(Mapping::heap(false), options(4, 1)).unwrap();
    assert!(matches!(ring.beginning_at(u64::MAX), Err(RingError::Start(u64::MAX))));
}

#[test]
fn impossible_shapes_are_refused() {
    let make = |options| ring::create::<[u64; 7]>(Mapping::heap(false), options).map(|_| ());
    for capacity in [0, 3, 1 << 33] {
        let error = make(options(capacity, 1));
        assert!(matches!(error, Err(RingError::Capacity(found)) if found == capacity as u64));
    }
    for consumers in [0, 65] {
        assert!(matches!(make(options(4, consumers)), Err(RingError::Consumers(_))));
    }
    let start = u64::MAX;
    assert!(matches!(make(Options { start, ..options(4, 1) }), Err(RingError::Start(u64::MAX))));
}
