//! The ring under the model checker: every interleaving and every permitted reordering, without a preemption bound.
//!
//! Run by `scripts/loom.sh`; an ordinary build skips this file. Payloads lie in tracked cells, so any access that is
//! not ordered by the protocol fails the model, not only one that happens to read a wrong value. Two or three threads,
//! few slots and bounded attempts keep each model small enough to be explored in full: what they cover is stated by
//! their loops, and more laps only repeat the states of the first ones. Sleepers have no timeout here, so a missed
//! wake is a deadlock, which the checker reports. Not covered: `membarrier` (both halves of the fence are real fences
//! here) and memory of other processes (`processes.rs`).

use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use ringside_core::gate::Gate;
use ringside_core::ring::{
    self, Consumer, Doorbell, Full, Halted, Mapping, Options, Producer, Wait, wait_any,
};
use std::sync::Arc;
use std::time::Duration;

const FOREVER: Duration = Duration::from_secs(1_000_000);

fn make(capacity: usize, consumers: usize) -> (Producer<u64>, Vec<Consumer<u64>>) {
    let options = Options { capacity, consumers, start: 1, wait: Wait::Park };
    ring::create(Mapping::heap(false), options).expect("a ring")
}

/// Payload of a sequence.
fn payload(sequence: u64) -> u64 {
    sequence * 100 + 7
}

/// Polls once; gives how many came, after checking each.
fn poll(consumer: &mut Consumer<u64>, limit: usize) -> usize {
    let mut next = consumer.next_sequence();
    let done = consumer.poll(limit, |sequence, value| {
        assert_eq!((sequence, *value), (next, payload(next)));
        next += 1;
    });
    assert!(consumer.poison().is_none());
    done
}

#[test]
fn what_is_published_is_read_whole_and_in_order() {
    loom::model(|| {
        let (mut producer, mut consumers) = make(4, 1);
        let mut consumer = consumers.remove(0);
        let reader = thread::spawn(move || {
            let done = (0..4).map(|_| poll(&mut consumer, 9)).sum::<usize>();
            (done, consumer)
        });
        for sequence in 1..=4 {
            assert_eq!(producer.try_publish(&payload(sequence)), Ok(sequence));
        }
        let (done, mut consumer) = reader.join().expect("no panic");
        assert_eq!(done + poll(&mut consumer, 9), 4);
    });
}

#[test]
fn slots_are_written_again_only_after_they_were_given_back() {
    loom::model(|| {
        let (mut producer, mut consumers) = make(2, 1);
        let mut consumer = consumers.remove(0);
        let reader = thread::spawn(move || {
            let done = poll(&mut consumer, 1) + poll(&mut consumer, 2) + poll(&mut consumer, 2);
            (done, consumer)
        });
        let mut next = 1;
        for _ in 0..5 {
            match producer.try_publish(&payload(next)) {
                Ok(sequence) => {
                    assert_eq!(sequence, next);
                    next += 1;
                }
                Err(Full) => thread::yield_now(),
            }
        }
        assert!(producer.poison().is_none());
        let (done, mut consumer) = reader.join().expect("no panic");
        assert_eq!(done + poll(&mut consumer, 9), next as usize - 1);
        assert!(next > 2 && next <= 6);
    });
}

#[test]
fn one_slot_wraps_at_every_step() {
    loom::model(|| {
        let (mut producer, mut consumers) = make(1, 1);
        let mut consumer = consumers.remove(0);
        let reader = thread::spawn(move || {
            let done = (0..5).map(|_| poll(&mut consumer, 1)).sum::<usize>();
            (done, consumer)
        });
        let mut next = 1;
        for _ in 0..5 {
            next += producer.try_publish(&payload(next)).is_ok() as u64;
        }
        let (done, mut consumer) = reader.join().expect("no panic");
        assert_eq!(done + poll(&mut consumer, 1), next as usize - 1);
    });
}

#[test]
fn every_consumer_gates() {
    loom::model(|| {
        let (mut producer, mut consumers) = make(1, 2);
        let mut second = consumers.remove(1);
        let mut first = consumers.remove(0);
        let reader = thread::spawn(move || (poll(&mut second, 1), second));
        assert_eq!(producer.try_publish(&payload(1)), Ok(1));
        assert_eq!(poll(&mut first, 1), 1);
        let again = producer.try_publish(&payload(2)).is_ok();
        let (done, mut second) = reader.join().expect("no panic");
        assert!(done == 1 || !again, "a slot was written over before its second consumer read it");
        assert_eq!(done + poll(&mut second, 1), 1 + (again && done == 1) as usize);
    });
}

#[test]
fn two_consumers_read_over_several_laps() {
    loom::model(|| {
        let (mut producer, mut consumers) = make(1, 2);
        let readers = [consumers.remove(0), consumers.remove(0)].map(|mut consumer| {
            thread::spawn(move || {
                let done = (0..3).map(|_| poll(&mut consumer, 1)).sum::<usize>();
                (done, consumer)
            })
        });
        let mut next = 1;
        for _ in 0..3 {
            next += producer.try_publish(&payload(next)).is_ok() as u64;
        }
        for reader in readers {
            let (done, mut consumer) = reader.join().expect("no panic");
            assert_eq!(done + poll(&mut consumer, 1), next as usize - 1);
        }
    });
}

#[test]
fn steps_wrap() {
    loom::model(|| {
        let (mut producer, mut consumers) = make(2, 1);
        let mut consumer = consumers.remove(0);
        let reader = thread::spawn(move || {
            let done = (0..3).map(|_| poll(&mut consumer, 2)).sum::<usize>();
            (done, consumer)
        });
        let mut next = 1;
        for _ in 0..4 {
            let done = producer.try_publish_batch(&[payload(next), payload(next + 1)]);
            assert_eq!(done % 2, 0, "a poll gives both slots back at once");
            next += done as u64;
        }
        let (done, mut consumer) = reader.join().expect("no panic");
        assert_eq!(done + poll(&mut consumer, 2), next as usize - 1);
    });
}

#[test]
fn a_step_shows_whole_or_not_at_all() {
    loom::model(|| {
        let (mut producer, mut consumers) = make(4, 1);
        let mut consumer = consumers.remove(0);
        let reader = thread::spawn(move || {
            let done = poll(&mut consumer, 9);
            assert!([0, 3].contains(&done), "{done} of a step of 3");
            (done, consumer)
        });
        assert_eq!(producer.try_publish_batch(&[payload(1), payload(2), payload(3)]), 3);
        let (done, mut consumer) = reader.join().expect("no panic");
        assert_eq!(done + poll(&mut consumer, 9), 3);
    });
}

#[test]
fn staged_payloads_wait_for_the_flush_and_can_be_glanced_at() {
    loom::model(|| {
        let (mut producer, mut consumers) = make(4, 1);
        let mut consumer = consumers.remove(0);
        let reader = thread::spawn(move || {
            // A glance may reach beyond what is visible; it must be no race all the same.
            if let Some(value) = consumer.peek(1) {
                assert_eq!(*value, payload(2));
            }
            let done = poll(&mut consumer, 9);
            assert!([0, 2].contains(&done), "{done} of a step of 2");
            (done, consumer)
        });
        producer.stage(&payload(1)).expect("room");
        producer.stage(&payload(2)).expect("room");
        producer.flush();
        let (done, mut consumer) = reader.join().expect("no panic");
        assert_eq!(done + poll(&mut consumer, 9), 2);
    });
}

#[test]
fn a_halt_comes_after_what_was_published() {
    loom::model(|| {
        let (mut producer, mut consumers) = make(2, 1);
        let mut consumer = consumers.remove(0);
        let reader = thread::spawn(move || {
            if consumer.is_halted() {
                assert_eq!(poll(&mut consumer, 9), 1);
            }
        });
        producer.try_publish(&payload(1)).expect("room");
        producer.halt();
        assert_eq!(producer.try_publish(&payload(2)), Err(Full));
        reader.join().expect("no panic");
    });
}

#[test]
fn a_sleeping_consumer_is_woken() {
    loom::model(|| {
        let (mut producer, mut consumers) = make(2, 1);
        let mut consumer = consumers.remove(0);
        let reader = thread::spawn(move || {
            assert!(consumer.wait(FOREVER));
            assert_eq!(poll(&mut consumer, 9), 1);
        });
        producer.try_publish(&payload(1)).expect("room");
        reader.join().expect("no panic");
    });
}

#[test]
fn a_consumer_that_sleeps_again_is_woken_again() {
    loom::model(|| {
        let (mut producer, mut consumers) = make(2, 1);
        let mut consumer = consumers.remove(0);
        let reader = thread::spawn(move || {
            let mut done = 0;
            while done < 2 {
                assert!(consumer.wait(FOREVER));
                done += poll(&mut consumer, 9);
            }
        });
        producer.try_publish(&payload(1)).expect("room");
        producer.try_publish(&payload(2)).expect("room");
        reader.join().expect("no panic");
    });
}

#[test]
fn a_producer_that_waits_for_room_is_woken() {
    loom::model(|| {
        let (mut producer, mut consumers) = make(1, 1);
        let mut consumer = consumers.remove(0);
        producer.try_publish(&payload(1)).expect("room");
        let reader = thread::spawn(move || {
            assert_eq!(poll(&mut consumer, 1), 1);
            consumer
        });
        assert_eq!(producer.publish(&payload(2)), Ok(2));
        let mut consumer = reader.join().expect("no panic");
        assert_eq!(poll(&mut consumer, 1), 1);
    });
}

#[test]
fn each_side_may_sleep_for_the_other() {
    loom::model(|| {
        let (mut producer, mut consumers) = make(1, 1);
        let mut consumer = consumers.remove(0);
        let reader = thread::spawn(move || {
            assert!(consumer.wait(FOREVER));
            assert_eq!(poll(&mut consumer, 1), 1);
            consumer
        });
        assert_eq!(producer.publish(&payload(1)), Ok(1));
        assert_eq!(producer.publish(&payload(2)), Ok(2));
        let mut consumer = reader.join().expect("no panic");
        assert_eq!(poll(&mut consumer, 1), 1);
    });
}

#[test]
fn a_halt_wakes_both_sides() {
    loom::model(|| {
        let (mut producer, mut consumers) = make(1, 1);
        let mut consumer = consumers.remove(0);
        let reader = thread::spawn(move || {
            assert!(!consumer.wait(FOREVER));
            assert!(consumer.is_halted());
        });
        producer.halt();
        assert_eq!(producer.publish(&payload(1)), Err(Halted));
        reader.join().expect("no panic");
    });
    loom::model(|| {
        let (mut producer, consumers) = make(1, 1);
        producer.try_publish(&payload(1)).expect("room");
        let halting = thread::spawn(move || consumers[0].halt());
        assert_eq!(producer.publish(&payload(2)), Err(Halted));
        halting.join().expect("no panic");
    });
}

#[test]
fn two_ringers_of_one_bell_lose_no_wake() {
    loom::model(|| {
        let bell = Doorbell::new();
        let rung = Arc::new(AtomicU32::new(0));
        let (theirs, their_bell) = (rung.clone(), bell.clone());
        let ringer = thread::spawn(move || {
            theirs.fetch_add(1, Ordering::Relaxed);
            their_bell.ring();
        });
        let (theirs, their_bell) = (rung.clone(), bell.clone());
        let sleeper = thread::spawn(move || {
            let ready = || theirs.load(Ordering::Relaxed) == 2;
            while !wait_any([&their_bell].into_iter(), None, ready) {}
        });
        rung.fetch_add(1, Ordering::Relaxed);
        bell.ring();
        ringer.join().expect("no panic");
        sleeper.join().expect("no panic");
    });
}

#[test]
fn one_sleep_covers_two_rings() {
    loom::model(|| {
        let (_one, mut ones) = make(1, 1);
        let (mut other, mut others) = make(1, 1);
        let (mut first, mut second) = (ones.remove(0), others.remove(0));
        let reader = thread::spawn(move || {
            let bells = [first.doorbell(), second.doorbell()];
            while !second.is_ready() {
                wait_any(bells.iter(), None, || first.is_ready() || second.is_ready());
            }
            assert_eq!((poll(&mut first, 1), poll(&mut second, 1)), (0, 1));
        });
        other.try_publish(&payload(1)).expect("room");
        reader.join().expect("no panic");
    });
}

#[test]
fn the_gate_wakes_who_waits_for_a_sequence() {
    loom::model(|| {
        let gate = Arc::new(Gate::new(0));
        let theirs = gate.clone();
        let reader = thread::spawn(move || {
            while theirs.durable() < 1 {
                wait_any([theirs.doorbell()].into_iter(), None, || theirs.durable() >= 1);
            }
            assert!(theirs.written() >= theirs.durable(), "durable overtook written");
        });
        gate.publish_written(1);
        gate.publish_durable(1);
        reader.join().expect("no panic");
    });
}
