//! A mirror on a disk of its own: the same bytes whatever dies and whenever it connects, nothing taken that does not fit, nothing
//! cut, and a leader again once it is promoted.

use crate::common::{Count, Ledger, Session, for_each_seed, random_command, recover_ledger, small_config};
use ringside_core::agent::Agent;
use ringside_core::ids::Sequence;
use ringside_core::side::SideEntry;
use ringside_persist::config::PersistConfig;
use ringside_persist::error::PersistError;
use ringside_persist::format::segment;
use ringside_persist::mirror::frame::{FrameKind, HEAD_LEN, Head};
use ringside_persist::mirror::mark::{Mark, promote};
use ringside_persist::mirror::sink::{Sink, SinkError};
use ringside_persist::mirror::source::{Feed, FeedError, Source};
use ringside_persist::read::survey::survey;
use ringside_persist::recover::follower::Follower;
use ringside_persist::recover::snapshot_store;
use ringside_persist::storage::Storage;
use ringside_persist::storage::disk::Lock;
use ringside_persist::storage::faulty::{Faulty, Plan, Random};
use ringside_persist::write::journal::Journaller;
use ringside_persist::write::side::{Purpose, SideError};
use ringside_persist::write::status::{JournalStatus, Pressure};
use std::sync::Arc;
use std::time::Duration;

/// A leader, run by hand.
struct Leader {
    storage: Faulty,
    config: PersistConfig,
    session: Session,
    source: Arc<Source>,
    status: Arc<JournalStatus>,
}

impl Leader {
    fn open(storage: Faulty, config: &PersistConfig, is_awaited: bool) -> Leader {
        let recovered = recover_ledger(Arc::new(storage.clone()), config, &mut ()).unwrap();
        let last = recovered.next_sequence - 1;
        let mut made = None;
        let session = Session::run_by(recovered, |journal, consumer, gate| {
            let source = Arc::new(Source::new(gate, is_awaited, Duration::ZERO, last, journal.position()));
            made = Some(source.clone());
            Journaller::mirrored(journal, consumer, source, false)
        });
        let session = session.unwrap();
        let status = session.journaller.status();
        Leader { storage, config: config.clone(), session, source: made.unwrap(), status }
    }

    fn publish(&mut self, random: &mut Random, count: u64, truth: &mut Vec<u64>) {
        for _ in 0..count {
            let command = random_command(random);
            if !self.session.publish(command, truth) {
                self.session.settle();
            }
        }
    }

    fn connect(&self, sink: &mut Sink) -> Result<Link, FeedError> {
        let mut frames = Vec::new();
        let hello = through_the_wire(sink.hello(), &[]);
        let (storage, segment_len) = (Arc::new(self.storage.clone()), self.config.segment_len);
        let feed =
            Feed::open(self.source.clone(), storage, self.status.clone(), &hello, segment_len, &mut frames);
        match feed {
            Ok(feed) => Ok(Link { feed, frames }),
            Err(error) => {
                // It is told so.
                let refused = deliver(sink, &frames).expect_err("a refusal came");
                assert!(matches!(refused, SinkError::Refused(_)), "{refused}");
                Err(error)
            }
        }
    }
}

/// A connection.
struct Link {
    feed: Feed,
    frames: Vec<u8>,
}

impl Link {
    /// Gives the mirror the next frames; whether there were any.
    fn pump(&mut self, sink: &mut Sink) -> Result<bool, SinkError> {
        self.feed.next(&mut self.frames).unwrap();
        let frames = std::mem::take(&mut self.frames);
        deliver(sink, &frames)?;
        self.feed.synced(&through_the_wire(sink.synced(), &[])).unwrap();
        Ok(!frames.is_empty())
    }

    fn pump_all(&mut self, sink: &mut Sink) {
        while self.pump(sink).unwrap() {}
    }
}

fn through_the_wire(head: Head, payload: &[u8]) -> Head {
    let mut bytes = Vec::new();
    head.put(payload, &mut bytes);
    Head::read(bytes[..HEAD_LEN].try_into().unwrap()).unwrap()
}

fn split(frames: &[u8]) -> Vec<(Head, &[u8])> {
    let (mut at, mut heads) = (0, Vec::new());
    while at < frames.len() {
        let head = Head::read(frames[at..at + HEAD_LEN].try_into().unwrap()).unwrap();
        at += HEAD_LEN;
        heads.push((head, &frames[at..at + head.len()]));
        at += head.len();
    }
    heads
}

fn deliver(sink: &mut Sink, frames: &[u8]) -> Result<(), SinkError> {
    split(frames).into_iter().try_for_each(|(head, payload)| sink.take(&head, payload).map(|_| ()))
}

fn sink_in(storage: &Faulty, config: &PersistConfig) -> Result<Sink, PersistError> {
    Sink::open(Arc::new(storage.clone()), Lock::default(), config, false, || 77)
}

/// Of every segment: name and bytes.
fn segments(storage: &Faulty) -> Vec<(String, Vec<u8>)> {
    let mut names: Vec<_> = storage.list().unwrap();
    names.retain(|name| segment::first_seq_of(name).is_some());
    names.sort();
    names.into_iter().map(|name| (name.clone(), storage.bytes(&name).unwrap())).collect()
}

fn assert_same(leader: &Faulty, mirror: &Faulty) {
    let (of_leader, of_mirror) = (segments(leader), segments(mirror));
    let names = |all: &[(String, Vec<u8>)]| all.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&of_leader), names(&of_mirror));
    for ((name, leader), (_, mirror)) in of_leader.iter().zip(&of_mirror) {
        let at = leader.iter().zip(mirror).position(|(leader, mirror)| leader != mirror);
        assert!(at.is_none() && leader.len() == mirror.len(), "{name} differs at byte {at:?}");
    }
}

#[test]
fn a_mirror_holds_the_same_bytes_whatever_dies() {
    for_each_seed("mirror::a_mirror_holds_the_same_bytes_whatever_dies", 150, |seed| {
        let mut random = Random::new(seed);
        let config = config_of(&mut random);
        let is_awaited = random.below(2) == 0;
        let mut mirror = Faulty::new(seed + 1);
        if random.below(2) == 0 {
            mirror = mirror.with_durable_writes();
        }
        let mut leader = Leader::open(Faulty::new(seed).with_durable_writes(), &config, is_awaited);
        let mut truth = vec![0, leader.session.hash];
        let mut sink = Some(sink_in(&mirror, &config).unwrap());
        let mut link: Option<Link> = None;
        // What was let out while replies waited for the mirror must be there.
        let mut promised: Sequence = 0;
        for step in 0..80 {
            match random.below(12) {
                0..4 => {
                    let count = random.below(60);
                    leader.publish(&mut random, count, &mut truth);
                }
                4..6 => leader.session.settle(),
                6 | 7 => {
                    if let (Some(link), Some(sink)) = (&mut link, &mut sink) {
                        link.pump(sink).unwrap();
                    }
                }
                8 => {
                    // The connection is made, or breaks and is made again.
                    drop(link.take());
                    let sink = sink.get_or_insert_with(|| sink_in(&mirror, &config).unwrap());
                    link = Some(
                        leader
                            .connect(sink)
                            .unwrap_or_else(|error| panic!("seed {seed} step {step}: {error}")),
                    );
                }
                9 => {
                    // The mirror's process dies, or its power goes.
                    drop((link.take(), sink.take()));
                    mirror = if random.below(2) == 0 {
                        mirror.process_end()
                    } else {
                        mirror.power_cut(seed + step)
                    };
                }
                10 => {
                    // So does the leader's.
                    drop(link.take());
                    let storage = leader.storage.clone();
                    let storage = if random.below(2) == 0 {
                        storage.process_end()
                    } else {
                        storage.power_cut(seed + step)
                    };
                    leader = Leader::open(storage, &config, is_awaited);
                    let last = leader.session.next as usize - 1;
                    assert!(
                        last >= truth.len().min(promised as usize),
                        "seed {seed}: the leader lost what it promised"
                    );
                    truth.truncate(last);
                    truth.push(leader.session.hash);
                    // What recovery shows was not promised to be there yet.
                    promised = promised.min(leader.session.gate.durable());
                }
                _ => {
                    leader.session.settle();
                    if let (Some(link), Some(sink)) = (&mut link, &mut sink) {
                        link.pump_all(sink);
                        if is_awaited {
                            promised = promised.max(leader.session.gate.durable());
                            assert!(
                                sink.synced().sequence >= promised,
                                "seed {seed}: let out before it was mirrored"
                            );
                        }
                    }
                }
            }
        }
        leader.session.settle();
        let mut sink = sink.unwrap_or_else(|| sink_in(&mirror, &config).unwrap());
        drop(link.take());
        let mut link = leader.connect(&mut sink).unwrap();
        link.pump_all(&mut sink);
        leader.session.journaller.close();
        link.pump_all(&mut sink);
        assert_same(&leader.storage, &mirror);
        assert_eq!(
            leader.session.gate.durable(),
            leader.session.next - 1,
            "everything is let out in the end"
        );
        let figures = leader.source.figures();
        assert!(
            figures.is_connected && figures.is_live && (figures.lag, figures.lag_bytes) == (0, 0),
            "{figures:?}"
        );

        // And it is a journal that a leader goes on with, once it is promoted.
        let refused = recover_ledger(Arc::new(mirror.clone()), &config, &mut ()).err().unwrap();
        assert!(refused.to_string().contains("`ringside promote`"), "{refused}");
        drop(sink);
        let promoted = promote(&mirror).unwrap();
        let epoch = leader.session.report.epoch;
        assert_eq!((promoted.sequence, promoted.epoch), (leader.session.next - 1, epoch + 1));
        let expected = Mark { is_awaited, leader: promoted.sequence, time_ns: 77 };
        assert!(
            promoted.mark.is_some_and(|mark| mark.leader <= promoted.sequence
                && Mark { leader: promoted.sequence, ..mark } == expected)
        );
        let recovered = recover_ledger(Arc::new(mirror), &config, &mut ()).unwrap();
        assert_eq!(recovered.report.last, promoted.sequence);
        assert_eq!(recovered.report.epoch, epoch + 2, "above what a start of the old leader would begin");
    });
}

/// As [`small_config`], of a journal whose id is one that journals have.
fn config_of(random: &mut Random) -> PersistConfig {
    let config = small_config(random);
    PersistConfig { journal_id: Some([random.draw() as u8 | 1; 16]), ..config }
}

/// A leader with commands in several segments, and a mirror that has all of them.
fn pair(seed: u64, is_awaited: bool) -> (Leader, Faulty, PersistConfig, Vec<u64>) {
    pair_of(seed, is_awaited, 4 << 10)
}

fn pair_of(seed: u64, is_awaited: bool, batch_len: usize) -> (Leader, Faulty, PersistConfig, Vec<u64>) {
    let config = PersistConfig {
        segment_len: 20 << 10,
        batch_len,
        idle_seal: Duration::from_secs(3600),
        ..config_of(&mut Random::new(seed))
    };
    let mut leader = Leader::open(Faulty::new(seed).with_durable_writes(), &config, is_awaited);
    let mirror = Faulty::new(seed + 1).with_durable_writes();
    let mut truth = vec![0, leader.session.hash];
    let mut sink = sink_in(&mirror, &config).unwrap();
    let mut link = leader.connect(&mut sink).unwrap();
    for _ in 0..5 {
        leader.publish(&mut Random::new(seed), 50, &mut truth);
        leader.session.settle();
        link.pump_all(&mut sink);
    }
    assert!(segments(&mirror).len() > 2);
    drop(link);
    (leader, mirror, config, truth)
}

#[test]
fn two_histories_are_never_joined_and_nothing_is_cut() {
    let (mut leader, mirror, config, mut truth) = pair(3, false);
    // The mirror becomes the leader; the old one writes on.
    promote(&mirror).unwrap();
    let mut new = Leader::open(mirror.clone(), &config, false);
    let mut theirs = vec![0; new.session.next as usize];
    new.publish(&mut Random::new(8), 40, &mut theirs);
    new.session.settle();
    let old = leader.storage.clone();
    leader.publish(&mut Random::new(9), 10, &mut truth);
    leader.session.settle();
    drop(leader);
    let before = segments(&old);
    let mut sink = sink_in(&old, &config).unwrap();
    let refused = new.connect(&mut sink).err().unwrap().to_string();
    assert!(
        refused.contains("conflict in ")
            && refused.contains("at byte ")
            && refused.contains("mv DATA/journal"),
        "{refused}"
    );
    drop(sink);
    assert!(segments(&old) == before && !survey(&old).unwrap().is_mirror, "it is as it was");
    assert!(recover_ledger(Arc::new(old), &config, &mut ()).is_ok(), "and starts as what it was");

    // One that ends before they part goes on as a mirror.
    let (leader, mirror, config, _) = pair(4, false);
    let old = leader.storage.process_end();
    drop(leader);
    promote(&mirror).unwrap();
    let new = Leader::open(mirror.clone(), &config, false);
    let mut sink = sink_in(&old, &config).unwrap();
    new.connect(&mut sink).unwrap().pump_all(&mut sink);
    assert_same(&mirror, &old);

    // One that reaches further than its leader.
    let (leader, mirror, config, _) = pair(5, false);
    let longer = leader.storage.process_end();
    drop(leader);
    let mut sink = sink_in(&mirror, &config).unwrap();
    let mut shorter = Leader::open(longer, &config, false);
    shorter.session.settle();
    shorter.connect(&mut sink).unwrap().pump_all(&mut sink);
    let hello = sink.hello();
    let beyond = Head { offset: hello.offset + 4096, ..hello };
    let (mut frames, storage) = (Vec::new(), Arc::new(shorter.storage.clone()));
    let refused = Feed::open(
        shorter.source.clone(),
        storage,
        shorter.status.clone(),
        &beyond,
        config.segment_len,
        &mut frames,
    );
    assert!(refused.err().unwrap().to_string().starts_with("conflict: the mirror's journal reaches to"));

    // Another journal altogether.
    let stranger = PersistConfig { journal_id: Some([99; 16]), ..config.clone() };
    let other = Leader::open(Faulty::new(1).with_durable_writes(), &stranger, false);
    let refused = other.connect(&mut sink).err().unwrap().to_string();
    assert!(refused.contains("holds another journal"), "{refused}");
}

#[test]
fn replies_wait_for_a_mirror_that_is_to_be_waited_for() {
    let (mut leader, mirror, config, mut truth) = pair(6, true);
    let mut random = Random::new(6);
    assert_eq!(leader.session.gate.durable(), leader.session.next - 1);
    assert_eq!(leader.source.pressure(), Pressure::CancelsOnly, "no mirror is connected");
    let before = leader.session.gate.durable();
    leader.publish(&mut random, 20, &mut truth);
    leader.session.settle();
    assert_eq!(leader.session.gate.durable(), before, "it is on one disk only");
    assert_eq!(leader.session.gate.written(), before + 20);
    let figures = leader.source.figures();
    assert!(!figures.is_connected && figures.lag == 20 && figures.lag_bytes > 0, "{figures:?}");

    let mut sink = sink_in(&mirror, &config).unwrap();
    let mut link = leader.connect(&mut sink).unwrap();
    assert_eq!(leader.source.pressure(), Pressure::CancelsOnly, "it is behind");
    link.pump_all(&mut sink);
    assert_eq!(leader.session.gate.durable(), before + 20, "on both");
    assert_eq!(leader.source.pressure(), Pressure::None);

    // Connected and slow is as good as a slow disk: here any wait is too long.
    leader.publish(&mut random, 1, &mut truth);
    leader.session.settle();
    assert_eq!(
        (leader.source.pressure(), leader.session.gate.durable()),
        (Pressure::CancelsOnly, before + 20)
    );
    link.pump_all(&mut sink);
    assert_eq!((leader.source.pressure(), leader.session.gate.durable()), (Pressure::None, before + 21));

    // So do entries beside the commands, and whoever waits for one is told when the journal ends before.
    let writer = leader.session.journaller.side_writer();
    let entry = |id: &[u8]| vec![SideEntry::put(1, id, vec![7; 100])];
    let receipt = writer.append(entry(b"a"), Purpose::Grants).unwrap();
    leader.session.settle();
    assert_eq!(receipt.is_released(), Ok(false), "it is on one disk only");
    link.pump_all(&mut sink);
    assert_eq!(receipt.is_released(), Ok(true), "on both");

    // What it was not given it cannot have.
    let ahead = Head { sequence: before + 22, ..sink.synced() };
    assert!(matches!(link.feed.synced(&ahead), Err(FeedError::Nonsense(_))));
    // A second connection takes the place of the first, whose end is then none of the second.
    let second = leader.connect(&mut sink).unwrap();
    assert!(link.feed.is_over() && !second.feed.is_over());
    drop(link);
    assert!(leader.source.figures().is_connected);
    drop(second);
    assert!(!leader.source.figures().is_connected);
    let receipt = writer.append(entry(b"b"), Purpose::Grants).unwrap();
    leader.session.settle();
    assert_eq!(receipt.is_released(), Ok(false));
    drop(leader);
    assert_eq!(receipt.is_released(), Err(SideError::Ended));
}

#[test]
fn an_empty_mirror_of_a_journal_without_its_beginning_gets_a_snapshot_first() {
    let config = PersistConfig {
        segment_len: 16 << 10,
        batch_len: 4 << 10,
        snapshots_kept: 1,
        snapshot_commands: 40,
        ..config_of(&mut Random::new(1))
    };
    let mut leader = Leader::open(Faulty::new(1).with_durable_writes(), &config, false);
    let storage: Arc<dyn Storage> = Arc::new(leader.storage.clone());
    let mut follower: Follower<Ledger, Count> =
        Follower::new(storage, &config, &(), Count::default(), leader.status.clone(), &[]).unwrap();
    let mut truth = vec![0, leader.session.hash];
    let mut random = Random::new(2);
    for _ in 0..8 {
        leader.publish(&mut random, 60, &mut truth);
        leader.session.settle();
        while follower.do_work() > 0 {}
    }
    let survey = survey(&leader.storage).unwrap();
    assert!(survey.header(0).number > 1 && survey.snapshots.len() == 1, "retention has begun");
    let snapshot = survey.snapshots[0].clone();

    // Whatever bit of it is another, it gets no name, and neither does a segment.
    for bit in [0, 8 * 100, 8 * 4096 + 3, 8 * 8192 + 1] {
        let mirror = Faulty::new(9);
        let mut sink = sink_in(&mirror, &config).unwrap();
        let mut link = leader.connect(&mut sink).unwrap();
        link.feed.next(&mut link.frames).unwrap();
        let mut frames = std::mem::take(&mut link.frames);
        let at = 2 * HEAD_LEN + bit / 8;
        frames[at] ^= 1 << (bit % 8);
        let refused = deliver(&mut sink, &frames).expect_err("damaged");
        assert!(matches!(refused, SinkError::Unfit(_)), "{refused}");
        assert!(mirror.bytes(&snapshot).is_none() && segments(&mirror).is_empty());
    }

    let mirror = Faulty::new(9);
    let mut sink = sink_in(&mirror, &config).unwrap();
    let mut link = leader.connect(&mut sink).unwrap();
    // It breaks off after the snapshot and goes on.
    link.pump(&mut sink).unwrap();
    drop((link, sink));
    let mirror = mirror.process_end();
    let mut sink = sink_in(&mirror, &config).unwrap();
    leader.connect(&mut sink).unwrap().pump_all(&mut sink);
    assert_eq!(mirror.bytes(&snapshot), leader.storage.bytes(&snapshot));
    let newest = snapshot_store::sequence_of(&snapshot).unwrap();
    let (all, part) = (segments(&leader.storage), segments(&mirror));
    assert!(all.ends_with(&part) && segment::first_seq_of(&part[0].0).unwrap() <= newest);

    // The second engine runs on it, and so does a leader.
    let storage: Arc<dyn Storage> = Arc::new(mirror.clone());
    let mut hot: Follower<Ledger, Count> =
        Follower::new(storage, &config, &(), Count::default(), sink.status(), &[]).unwrap();
    while hot.do_work() > 0 {}
    assert_eq!(hot.machine().hash(), leader.session.hash);
    drop((hot, sink));
    promote(&mirror).unwrap();
    let mut count = Count::default();
    let recovered = recover_ledger(Arc::new(mirror), &config, &mut count).unwrap();
    assert_eq!((recovered.report.last, count.last), (leader.session.next - 1, leader.session.next));

    // A mirror that ends before the leader's first segment is told so.
    let (leader_of_old, old, _, _) = pair(1, false);
    drop(leader_of_old);
    let mut sink = sink_in(&old, &config).unwrap();
    let head = sink.hello();
    assert!(head.segment > 1);
    let early = Head { segment: 1, ..head };
    let (mut frames, storage) = (Vec::new(), Arc::new(leader.storage.clone()));
    let early = Head { journal_id: config.journal_id.unwrap(), ..early };
    let refused = Feed::open(
        leader.source.clone(),
        storage,
        leader.status.clone(),
        &early,
        config.segment_len,
        &mut frames,
    );
    assert!(refused.err().unwrap().to_string().contains("it is too far behind"));
}

#[test]
fn what_does_not_fit_is_refused_and_changes_nothing() {
    let (mut leader, mirror, config, mut truth) = pair_of(7, false, 16 << 10);
    for _ in 0..3 {
        leader.publish(&mut Random::new(70), 50, &mut truth);
        leader.session.settle();
    }
    let mut sink = sink_in(&mirror, &config).unwrap();
    let mut link = leader.connect(&mut sink).unwrap();
    while link.feed.next(&mut link.frames).unwrap() {}
    let frames = link.frames.clone();
    let refuse =
        |what: &str, expected: &str, change: &mut dyn FnMut(&mut Head, &mut Vec<u8>), of: FrameKind| {
            let copy = mirror.process_end();
            let mut sink = sink_in(&copy, &config).unwrap();
            sink.hello();
            for (head, payload) in split(&frames) {
                // Several blocks, of which one alone is no batch.
                if head.kind() != Ok(of) || of == FrameKind::Records && payload.len() <= 4096 {
                    sink.take(&head, payload).unwrap();
                    continue;
                }
                let before = segments(&copy);
                let (mut head, mut bytes) = (head, payload.to_vec());
                change(&mut head, &mut bytes);
                let refused = sink.take(&through_the_wire(head, &bytes), &bytes).expect_err(what).to_string();
                assert!(refused.contains(expected), "{what}: {refused}");
                assert!(segments(&copy) == before, "{what}: something was written");
                return;
            }
            panic!("{what}: no such frame came");
        };
    refuse(
        "another journal",
        "another journal",
        &mut |head, _| head.journal_id = [98; 16],
        FrameKind::Welcome,
    );
    refuse("a length that no segment has", "segment_len", &mut |head, _| head.chain = 5, FrameKind::Welcome);
    let stretch = FrameKind::Records;
    refuse(
        "another journal's records",
        "another journal",
        &mut |head, _| head.journal_id = [98; 16],
        stretch,
    );
    refuse("a later place", "is the next", &mut |head, _| head.offset += 4096, stretch);
    refuse("an earlier place", "is the next", &mut |head, _| head.offset -= 4096, stretch);
    refuse("another segment", "is the next", &mut |head, _| head.segment += 1, stretch);
    for bit in (0..3 * 4096 * 8).step_by(97) {
        // Every record has a sum; the seal covers all of them.
        let flip = &mut |_: &mut Head, bytes: &mut Vec<u8>| {
            let at = bit / 8 % bytes.len();
            bytes[at] ^= 1 << (bit % 8);
        };
        refuse("a flipped bit", "the record of sequence", flip, stretch);
    }
    let begin = FrameKind::Begin;
    for (at, expected) in [(0, "header"), (16, "header"), (33, "header"), (4000, "header")] {
        refuse("a header with a flipped bit", expected, &mut |_, bytes| bytes[at] ^= 1, begin);
    }
    refuse("a header of another number", "is that of another", &mut |head, _| head.segment += 1, begin);
    let mut sink = sink_in(&mirror, &config).unwrap();
    leader.connect(&mut sink).unwrap().pump_all(&mut sink);
    leader.session.journaller.close();
    leader.connect(&mut sink).unwrap().pump_all(&mut sink);
    assert_same(&leader.storage, &mirror);

    // Out of turn.
    let mut sink = sink_in(&mirror, &config).unwrap();
    let heads = split(&frames);
    let (welcome, _) = heads[0];
    let (records, payload) = *heads.iter().find(|(head, _)| head.kind() == Ok(stretch)).unwrap();
    sink.hello();
    assert!(sink.take(&records, payload).is_err(), "before the welcome");
    sink.take(&welcome, &[]).unwrap();
    assert!(sink.take(&welcome, &[]).is_err(), "twice");
    for kind in [FrameKind::Hello, FrameKind::Synced] {
        let head = through_the_wire(Head { journal_id: welcome.journal_id, ..Head::new(kind, [0; 16]) }, &[]);
        assert!(sink.take(&head, &[]).is_err(), "{kind:?} is what a mirror says");
    }
    let mut empty = sink_in(&Faulty::new(1), &config).unwrap();
    empty.take(&welcome, &[]).unwrap();
    assert!(empty.take(&records, payload).unwrap_err().to_string().contains("before a segment was begun"));
    let (begin, header) = *heads.iter().find(|(head, _)| head.kind() == Ok(FrameKind::Begin)).unwrap();
    assert!(empty.take(&begin, header).unwrap_err().to_string().contains("no snapshot came before it"));
}

#[test]
fn bytes_of_chance_change_nothing_and_panic_nowhere() {
    for_each_seed("mirror::bytes_of_chance_change_nothing_and_panic_nowhere", 40, |seed| {
        let mut random = Random::new(seed);
        let (_leader, mirror, config, _) = pair(20 + seed % 4, false);
        let before = segments(&mirror);
        let mut sink = sink_in(&mirror, &config).unwrap();
        let hello = sink.hello();
        let kinds = [
            FrameKind::Welcome,
            FrameKind::Snapshot,
            FrameKind::Begin,
            FrameKind::Records,
            FrameKind::Beat,
            FrameKind::Refused,
        ];
        for _ in 0..200 {
            let kind = kinds[random.below(6) as usize];
            let len = match kind {
                FrameKind::Welcome | FrameKind::Beat => 0,
                FrameKind::Refused => random.below(100) as usize,
                FrameKind::Begin => 4096,
                _ => 4096 * (1 + random.below(4) as usize),
            };
            let mut payload: Vec<u8> = (0..len).map(|_| random.draw() as u8).collect();
            if kind == FrameKind::Refused {
                payload.iter_mut().for_each(|byte| *byte |= 0x80);
            }
            let near = |random: &mut Random, value: u64| match random.below(4) {
                0 => random.draw(),
                1 => value.wrapping_add(4096),
                _ => value,
            };
            let head = Head {
                segment: near(&mut random, hello.segment),
                offset: near(&mut random, hello.offset) & !4095,
                sequence: near(&mut random, hello.sequence),
                chain: near(&mut random, config.segment_len),
                detail: random.below(2) as u32,
                ..Head::new(kind, hello.journal_id)
            };
            let head = through_the_wire(head, &payload);
            let _ = sink.take(&head, &payload);
        }
        assert!(segments(&mirror) == before, "seed {seed}");
    });
}

#[test]
fn a_mirror_whose_disk_is_full_says_so_and_goes_on_once_there_is_room() {
    let (mut leader, mirror, config, mut truth) = pair(11, false);
    leader.publish(&mut Random::new(5), 200, &mut truth);
    leader.session.settle();
    let used: usize =
        mirror.list().unwrap().iter().filter_map(|name| mirror.bytes(name)).map(|bytes| bytes.len()).sum();
    mirror.plan(Plan { capacity: Some(used as u64 + 8192), ..Plan::default() });
    let mut sink = sink_in(&mirror, &config).unwrap();
    let mut link = leader.connect(&mut sink).unwrap();
    let refused = loop {
        match link.pump(&mut sink) {
            Ok(true) => {}
            Ok(false) => panic!("there was room for all"),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, SinkError::Full), "{refused}");
    drop(link);
    mirror.plan(Plan::default());
    leader.connect(&mut sink).unwrap().pump_all(&mut sink);
    leader.session.journaller.close();
    leader.connect(&mut sink).unwrap().pump_all(&mut sink);
    assert_same(&leader.storage, &mirror);
}
