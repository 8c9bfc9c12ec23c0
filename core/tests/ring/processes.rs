//! Rings between processes: a long run through a memfd that was handed over a socket, a producer that is killed, a
//! peer that writes anything anywhere.
//!
//! The other process is this test binary again, running [`the_other_process`] alone. `RINGSIDE_SEED` reruns a random
//! test; `RINGSIDE_KILLS` and `RINGSIDE_SLOTS` change how long it goes on.

use crate::support::random::Random;
use crate::support::{seeds, setting};
use ringside_core::ring::{Consumer, Mapping, Options, Poison, Producer, Ring, RingError, Wait, wait_any};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What travels: fills a slot of one cache line.
type Payload = [u64; 7];

/// Longest that anything here may take before it counts as a stall.
const STALL: Duration = Duration::from_secs(60);
/// Names the part that the other process plays.
const PART: &str = "RINGSIDE_RING_PART";
/// Where the first slot lies, and how many words of facts the header begins with: drawn in `core/src/ring/buffer.rs`.
const SLOTS_OFFSET: u64 = 4096;
const FACT_COUNT: usize = 8;

/// Every word follows from the sequence, so that a torn, stale or lost one shows.
fn payload(sequence: u64) -> Payload {
    std::array::from_fn(|index| sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(index as u32 * 9))
}

/// Slots that the honest producer of these tests shows in one step, from `sequence` on: 1 to 32.
fn step_len(sequence: u64) -> usize {
    let hash = sequence.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32;
    if hash.is_multiple_of(3) { 1 } else { 1 + (hash >> 8) as usize % 32 }
}

fn make(capacity: usize) -> Ring<Payload> {
    let options = Options { capacity, consumers: 1, start: 1, wait: Wait::Park };
    Ring::create(Mapping::memfd(), options).unwrap()
}

/// The other process, killed when the test is over; and the end of the socket on this side.
struct Peer {
    child: Child,
    socket: UnixStream,
}

impl Peer {
    fn start(part: &str) -> Peer {
        let (socket, theirs) = UnixStream::pair().unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["processes::the_other_process", "--exact", "--nocapture", "--test-threads=1"])
            .env(PART, part)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Peer { child, socket }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs in the other process; as an ordinary test it has no part to play.
#[test]
fn the_other_process() {
    let Ok(part) = std::env::var(PART) else { return };
    let socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    let ring = Ring::<Payload>::receive(&socket, Wait::Park).unwrap();
    match part.split_once(' ').map_or((part.as_str(), 0), |(part, count)| (part, count.parse().unwrap())) {
        ("publish", count) => publish(ring.producer().unwrap(), count, 0),
        ("linger", count) => publish(ring.producer().unwrap(), count, 30),
        ("scribble", seed) => scribble(&file_of(&ring), seed),
        other => panic!("no part {other:?}"),
    }
}

/// Publishes `count` payloads in steps of [`step_len`], in every way there is, then halts the ring. Spins as often as
/// said before each payload, so that a kill finds a step half written more often than not.
fn publish(mut producer: Producer<Payload>, count: u64, spins: u32) {
    let make = |sequence| {
        (0..spins).for_each(|_| std::hint::spin_loop());
        payload(sequence)
    };
    let end = producer.next_sequence() + count;
    while producer.next_sequence() < end {
        let first = producer.next_sequence();
        let len = step_len(first).min((end - first) as usize);
        if len == 1 {
            producer.publish(&make(first)).unwrap();
            continue;
        }
        // A step shows as a whole only where there is room for the whole.
        while !producer.has_room(len) {
            assert!(!producer.is_halted());
            let bell = producer.room_doorbell();
            wait_any([&bell].into_iter(), None, || producer.has_room(len) || producer.is_halted());
        }
        if first.is_multiple_of(2) {
            assert_eq!(producer.try_publish_each(len, make), len);
        } else {
            (first..)
                .take(len)
                .for_each(|sequence| assert_eq!(producer.stage(&make(sequence)), Ok(sequence)));
            producer.flush();
        }
    }
    producer.halt();
}

/// Reads all there is and checks it; gives how many came.
fn drain(consumer: &mut Consumer<Payload>) -> usize {
    let mut next = consumer.next_sequence();
    let done = consumer.poll(usize::MAX, |sequence, value| {
        assert_eq!(sequence, next);
        assert_eq!(*value, payload(sequence), "payload of {sequence}");
        next += 1;
    });
    assert_eq!(consumer.poison(), None);
    done
}

#[test]
fn ten_million_slots_pass_between_two_processes() {
    let count = setting("RINGSIDE_SLOTS").unwrap_or(10_000_000);
    let ring = make(4096);
    let mut consumer = ring.consumer(0).unwrap();
    let mut peer = Peer::start(&format!("publish {count}"));
    ring.send(&peer.socket).unwrap();
    let mut seen = 0;
    while consumer.wait(STALL) {
        seen += drain(&mut consumer) as u64;
    }
    assert!(consumer.is_halted(), "stalled after {seen} slots");
    assert_eq!(seen, count);
    assert!(peer.child.wait().unwrap().success());
}

#[test]
fn a_killed_producer_stalls_and_corrupts_nothing() {
    let seed = seeds::first(u64::from(std::process::id()) ^ 0x5eed);
    let kills = setting("RINGSIDE_KILLS").unwrap_or(1000);
    println!(
        "RINGSIDE_SEED={seed} cargo test -p ringside-core --test ring processes::a_killed -- --nocapture"
    );
    let mut random = Random::new(seed);
    // Another ring, whose producer lives on.
    let other_ring = make(64);
    let mut other = other_ring.consumer(0).unwrap();
    let other_peer = Peer::start(&format!("publish {}", 1u64 << 40));
    other_ring.send(&other_peer.socket).unwrap();
    let (mut killed_early, mut seen_of_killed) = (0, 0);
    for round in 0..kills {
        let fault = format!("seed {seed}, round {round}");
        let ring = make(64);
        let mut consumer = ring.consumer(0).unwrap();
        let mut peer = Peer::start(&format!("linger {}", 1u64 << 40));
        ring.send(&peer.socket).unwrap();
        // One in eight dies at some time of its start, the rest after some slots and some more moments.
        let early = random.permille(125);
        let (slots, pause) = (1 + random.below(2000), Duration::from_nanos(random.below(100_000)));
        let bells = [consumer.doorbell(), other.doorbell()];
        let (started, mut seen) = (Instant::now(), 0);
        let delay = Duration::from_micros(random.below(10_000));
        while if early { started.elapsed() < delay } else { seen < slots } {
            seen += drain(&mut consumer) as u64;
            drain(&mut other);
            assert!(started.elapsed() < STALL, "{fault}: nothing comes");
            wait_any(bells.iter(), Some(Duration::from_millis(1)), || {
                consumer.is_ready() || other.is_ready()
            });
        }
        let moment = Instant::now();
        while moment.elapsed() < pause {
            seen += drain(&mut consumer) as u64;
        }
        peer.child.kill().unwrap();
        assert!(!peer.child.wait().unwrap().success(), "{fault}: it was to publish for ever");
        // What was visible can be read, and a step is whole or absent.
        while drain(&mut consumer) > 0 {}
        let mut boundary = 1;
        while boundary < consumer.next_sequence() {
            boundary += step_len(boundary) as u64;
        }
        assert_eq!(consumer.next_sequence(), boundary, "{fault}: a part of a step was shown");
        // A dead producer keeps nobody waiting longer than asked, and nobody can take its place in this ring.
        let waited = Instant::now();
        assert!(!consumer.wait(Duration::from_micros(50)) && waited.elapsed() < STALL, "{fault}");
        assert!(!consumer.is_halted(), "{fault}");
        assert!(seen == 0 || matches!(ring.producer(), Err(RingError::Taken)), "{fault}");
        // The other ring goes on: more than fits into it comes after the kill.
        let (mut others_seen, waited) = (0, Instant::now());
        while others_seen <= other.capacity() {
            assert!(waited.elapsed() < STALL, "{fault}: the other ring stalls");
            other.wait(Duration::from_secs(1));
            others_seen += drain(&mut other);
        }
        killed_early += u64::from(boundary == 1);
        seen_of_killed += boundary - 1;
    }
    println!(
        "{kills} kills, {killed_early} before the first slot, {seen_of_killed} slots of killed producers"
    );
    assert!(kills < 100 || seen_of_killed > kills * 500);
}

/// The ring's memory as its descriptor gives it to anybody.
fn file_of(ring: &Ring<Payload>) -> File {
    File::from(ring.fd().unwrap().try_clone_to_owned().unwrap())
}

fn read_word(file: &File, offset: u64) -> u64 {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, offset).unwrap();
    u64::from_ne_bytes(bytes)
}

fn write_word(file: &File, offset: u64, word: u64) {
    file.write_all_at(&word.to_ne_bytes(), offset).unwrap();
}

/// Values that are near to something, or far from everything.
fn wild(random: &mut Random, honest: u64) -> u64 {
    match random.below(8) {
        0 => honest.wrapping_add(random.below(9)).wrapping_sub(4),
        1 => *random.pick(&[0, 1, u64::MAX, 1 << 63, 1 << 56, 1 << 55, (1 << 56) - 1, u64::from(u32::MAX)]),
        2 => honest ^ 1 << random.below(64),
        3 => honest.wrapping_neg(),
        4 => random.below(200),
        _ => random.next() >> random.below(64),
    }
}

#[test]
fn damaged_facts_are_refused() {
    let seed = seeds::first(7);
    println!("RINGSIDE_SEED={seed} cargo test -p ringside-core --test ring processes::damaged");
    let mut random = Random::new(seed);
    let ring = make(8);
    let file = file_of(&ring);
    let join = || Ring::<Payload>::join_fd(ring.fd().unwrap().try_clone_to_owned().unwrap(), Wait::Park);
    for fact in 0..FACT_COUNT {
        let honest = read_word(&file, fact as u64 * 8);
        for _ in 0..2000 {
            let damaged = wild(&mut random, honest);
            write_word(&file, fact as u64 * 8, damaged);
            let outcome = join();
            let fault = format!("fact {fact}: {damaged:#x} instead of {honest:#x}");
            match (fact, outcome) {
                _ if damaged == honest => continue,
                (0, Err(RingError::Magic(found))) => assert_eq!(found, damaged),
                (1, Err(RingError::Version(found))) => assert_eq!(found, damaged),
                (2, Err(RingError::Size { .. })) => {}
                (3, Err(RingError::Capacity(_) | RingError::Size { .. })) => {}
                (4 | 5, Err(RingError::SlotLen { .. })) => {}
                // The lines of up to 29 consumers fit before the first slot, so their number can be a lie that fits.
                (6, Err(RingError::Consumers(_) | RingError::Size { .. })) => {}
                (6, Ok(_)) => assert!((1..=29).contains(&damaged), "{fault}"),
                (7, Err(RingError::Start(found))) => assert_eq!(found, damaged),
                (7, Ok(_)) => assert!(damaged < 1 << 54, "{fault}"),
                (_, outcome) => panic!("{fault}: {outcome:?}"),
            }
        }
        write_word(&file, fact as u64 * 8, honest);
    }
    join().unwrap();
    // Another payload type, a file that is no ring at all, a socket that carries something else.
    let other = Ring::<[u64; 9]>::join_fd(ring.fd().unwrap().try_clone_to_owned().unwrap(), Wait::Park);
    assert!(matches!(other, Err(RingError::SlotLen { .. })));
    let null = File::open("/dev/null").unwrap();
    assert!(matches!(Ring::<Payload>::join_fd(null.into(), Wait::Park), Err(RingError::NotSealed)));
    let (mut here, there) = UnixStream::pair().unwrap();
    here.write_all(b"hello").unwrap();
    assert!(matches!(Ring::<Payload>::receive(&there, Wait::Park), Err(RingError::Io(_))));
}

#[test]
fn wild_stamps_poison_the_ring() {
    let seed = seeds::first(7);
    println!("RINGSIDE_SEED={seed} cargo test -p ringside-core --test ring processes::wild");
    let mut random = Random::new(seed);
    for _ in 0..2000 {
        let ring = make(8);
        let (file, mut producer, mut consumer) =
            (file_of(&ring), ring.producer().unwrap(), ring.consumer(0).unwrap());
        // Some slots of some lap have passed when the next one is stamped by nobody honest.
        for sequence in 1..1 + random.below(20) {
            producer.try_publish(&payload(sequence)).unwrap();
            assert_eq!(drain(&mut consumer), 1);
        }
        let due = consumer.next_sequence();
        let offset = SLOTS_OFFSET + due % 8 * 64;
        let (before, damaged) = (read_word(&file, offset), wild(&mut random, due + 1));
        write_word(&file, offset, damaged);
        let (sequence, further) = (damaged & ((1 << 56) - 1), damaged >> 56);
        let count = consumer.poll(usize::MAX, |_, _| {});
        if sequence == due + 1 && further < 8 {
            assert_eq!(count as u64, further + 1, "what an honest producer can have written is believed");
        } else if damaged == before || before != 0 && sequence == before & ((1 << 56) - 1) {
            assert_eq!((count, consumer.poison()), (0, None), "the stamp of the lap before");
        } else {
            assert_eq!(
                (count, consumer.poison()),
                (0, Some(Poison::Stamp { sequence: due, found: damaged }))
            );
            assert!(producer.is_halted() && producer.try_publish(&payload(due)).is_err());
            assert!(!consumer.wait(STALL) && consumer.peek(0).is_none());
            write_word(&file, offset, due + 1);
            assert_eq!(consumer.poll(usize::MAX, |_, _| {}), 0, "poison does not wear off");
        }
    }
}

#[test]
fn wild_gating_poisons_the_ring() {
    let ring = make(8);
    let line = 3 * 128;
    let mut producer = ring.producer().unwrap();
    (1..=8).for_each(|sequence| assert_eq!(producer.try_publish(&payload(sequence)), Ok(sequence)));
    let file = file_of(&ring);
    assert_eq!((read_word(&file, line), producer.free()), (1, 0));
    write_word(&file, line, 5);
    assert_eq!(producer.free(), 4);
    for damaged in [0, 4, 10, 100, u64::MAX, 1 << 63] {
        let ring = make(8);
        let (file, mut producer) = (file_of(&ring), ring.producer().unwrap());
        (1..=8).for_each(|sequence| assert_eq!(producer.try_publish(&payload(sequence)), Ok(sequence)));
        write_word(&file, line, 6);
        assert_eq!(producer.free(), 5);
        write_word(&file, line, damaged);
        assert_eq!(producer.free(), 0);
        assert_eq!(producer.poison(), Some(Poison::Gating { consumer: 0, found: damaged }));
        assert!(producer.is_halted() && producer.publish(&payload(9)).is_err());
    }
}

/// Writes wild words all over the ring's memory, for ever.
fn scribble(file: &File, seed: u64) {
    let mut random = Random::new(seed);
    let words = file.metadata().unwrap().len() / 8;
    loop {
        // Header, consumer line and stamps get most of it.
        let offset = match random.below(4) {
            0 => random.below(64),
            1 => (SLOTS_OFFSET / 8) + random.below(16) * 8,
            2 => random.below(words),
            _ => 16 + random.below(40),
        } * 8;
        let honest = read_word(file, offset);
        write_word(file, offset, wild(&mut random, honest));
        if random.permille(10) {
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_peer_that_writes_anywhere_spoils_its_own_ring_only() {
    let seed = seeds::first(u64::from(std::process::id()) ^ 0x5eed);
    println!("RINGSIDE_SEED={seed} cargo test -p ringside-core --test ring processes::a_peer -- --nocapture");
    let mut random = Random::new(seed);
    // An honest ring beside the spoilt ones.
    let honest = make(16);
    let (mut honest_producer, mut honest_consumer) =
        (honest.producer().unwrap(), honest.consumer(0).unwrap());
    let (mut poisoned, mut operations) = (0, 0u64);
    for round in 0..100 {
        let ring = make(16);
        let (mut producer, mut consumer) = (ring.producer().unwrap(), ring.consumer(0).unwrap());
        let peer = Peer::start(&format!("scribble {}", random.next() >> 1));
        ring.send(&peer.socket).unwrap();
        let started = Instant::now();
        // Until poison ends it, every operation returns in its time, whatever the memory says.
        while started.elapsed() < Duration::from_millis(60) {
            let one = Instant::now();
            match random.below(9) {
                0 => drop(producer.try_publish(&payload(1))),
                1 => drop(producer.try_publish_batch(&[payload(1); 5])),
                2 => drop(producer.stage(&payload(1))),
                3 => producer.flush(),
                4 => assert!(consumer.poll(usize::MAX, |_, _| {}) <= 16),
                5 => assert!(consumer.available() <= 16),
                6 => drop(consumer.peek(random.below(20) as usize)),
                7 => assert!(producer.free() <= 16),
                _ if random.permille(20) => drop(consumer.wait(Duration::from_micros(200))),
                _ => {}
            }
            assert!(one.elapsed() < STALL, "seed {seed}, round {round}: an operation hung");
            let sequence = honest_producer.next_sequence();
            assert_eq!(honest_producer.try_publish(&payload(sequence)), Ok(sequence));
            assert_eq!(drain(&mut honest_consumer), 1);
            operations += 1;
        }
        poisoned += u32::from(consumer.poison().is_some() || producer.poison().is_some());
    }
    println!("{operations} operations on scribbled memory; {poisoned} of 100 rings noticed");
    assert!(poisoned > 0 && operations > 10_000);
}
