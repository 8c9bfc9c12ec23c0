//! Bytes that outlive a version (failure model, row 23): what is written today is what `golden/` holds, what `golden/`
//! holds can be read, a million commands give the same journal and the same state in every build, and commands that
//! another version of the engine decided are never replayed: only its snapshots are taken.
//!
//! After a deliberate change of format (a new schema, a new file beside the old ones) or of decisions (a new
//! `ENGINE_VERSION`): `RINGSIDE_GOLDEN=print cargo test -p ringside-persist --release --test journal compatibility:: --
//! --nocapture` prints what this build writes.

use crate::common::{Count, Flow, Ledger, Session, recover_ledger};
use ringside_core::agent::Agent;
use ringside_core::command::{Command, Kind};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::{Event, Sink};
use ringside_core::gate::Gate;
use ringside_core::ids::Sequence;
use ringside_core::prefetch::Hint;
use ringside_core::ring::{self, Mapping, Options, Wait};
use ringside_core::side::{SideEntry, SideStore};
use ringside_persist::archive::ArchiveError;
use ringside_persist::config::{Method, PersistConfig};
use ringside_persist::error::{FoldError, PersistError};
use ringside_persist::format::record::len_at;
use ringside_persist::format::segment::DATA_START;
use ringside_persist::read::survey::survey;
use ringside_persist::read::tail::walk;
use ringside_persist::read::verify::verify;
use ringside_persist::recover::follower::{Follower, check_kept};
use ringside_persist::recover::machine::{Fold, Machine};
use ringside_persist::recover::recovery::{recover_in, recover_machine};
use ringside_persist::storage::disk::Lock;
use ringside_persist::storage::faulty::{Faulty, Random};
use ringside_persist::storage::{Storage, disk::Disk};
use ringside_persist::write::journal::Journaller;
use ringside_persist::write::side::Purpose;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// BLAKE3 of all segments of [`MILLION`] commands of [`Flow`] from [`SEED`], one after the other.
const JOURNAL: &str = "435808c0d743e6c79e99e3f874cdcf924912e1adae9816c6bd0639b5265600d3";
/// Hash of the real engine's state after them. Belongs to `ENGINE_VERSION`, as the vectors of core's replay test do.
const STATE: &str = "32e5c8c18dd0a5aa43a00638eff451b0";
const SEED: u64 = 20_260;
const MILLION: usize = 1_000_000;

/// Kinds when format 1 was written, each with a body that fills it; when format 2 was. A kind that comes later gets a golden file
/// of its own.
const KINDS: [u16; 16] = [1, 2, 3, 4, 5, 16, 17, 32, 33, 34, 48, 49, 50, 51, 52, 104];
/// Schema of the segments that are written.
const SCHEMA: u16 = 2;
/// Every format there was, the kinds that are in it, and the schema of its segments.
const FORMATS: [(&str, &[u16], u16); 4] = [
    ("format-1", KINDS.split_at(15).0, 1),
    ("kind-104", &[104], 1),
    ("format-2", &KINDS, SCHEMA),
    ("kind-105", &[105], SCHEMA),
];

fn is_printing() -> bool {
    std::env::var("RINGSIDE_GOLDEN").is_ok_and(|value| value == "print")
}

fn config() -> PersistConfig {
    PersistConfig {
        segment_len: 16 << 10,
        batch_len: 8 << 10,
        spares: 1,
        idle_seal: Duration::from_secs(3600),
        snapshot_interval: Duration::from_secs(3600),
        journal_id: Some(*b"golden journal 1"),
        opened_at_ns: 1_700_000_000_000_000_000,
        ..PersistConfig::new("")
    }
}

/// A command of a kind with a body that fills it.
fn shape(kind: u16, len: usize) -> Command {
    let mut command = Command::new(ringside_core::command::AdvanceTime {});
    command.kind = kind;
    for (index, byte) in command.body[..len].iter_mut().enumerate() {
        *byte = (index * 7 + usize::from(kind)) as u8 | 1;
    }
    (command.source, command.source_seq) = (u32::from(kind) << 8 | 3, u64::from(kind) * 1_000_003);
    command
}

/// The same of a kind that there is.
fn shape_of(kind: u16) -> Command {
    shape(kind, Kind::from_code(kind).expect("kinds are never taken away").body_len())
}

/// What a format's golden file holds: one command of each kind, one of a kind nobody knows, one with a reserved field in use; or the
/// one kind that it is of.
fn shapes(kinds: &[u16]) -> Vec<Command> {
    let mut commands: Vec<Command> = kinds.iter().copied().map(shape_of).collect();
    if commands.len() == 1 {
        return commands;
    }
    // A decision to pass over a command that is not there, or replay would look for it.
    commands[14].body[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    commands.push(shape(999, 152));
    let mut reserved = shape(1, 8);
    reserved.reserved = 7;
    commands.push(reserved);
    commands
}

/// Journals commands in batches of five with the ledger and takes a snapshot of the end.
fn write_shapes(disk: &Faulty, shapes: &[Command]) -> Vec<Command> {
    let config = config();
    let mut session = Session::open(Arc::new(disk.clone()), &config).unwrap();
    let mut truth = vec![0; 2];
    let mut given = Vec::new();
    for commands in shapes.chunks(5) {
        for mut command in commands.iter().copied() {
            if command.kind == Kind::VerifyHash as u16 {
                command.body[8..16].copy_from_slice(&session.hash.to_le_bytes());
            }
            given.push(Command { sequence: session.next, time_ns: session.time_ns + 1, ..command });
            assert!(session.publish(command, &mut truth));
        }
        session.settle();
    }
    session.journaller.close();
    let (storage, status) = (Arc::new(disk.clone()), session.journaller.status());
    let mut follower =
        Follower::<Ledger, Count>::new(storage, &config, &(), Count::default(), status, &[]).unwrap();
    follower.close();
    assert!(!follower.status().is_failed(), "{:?}", follower.status().take_failure());
    given
}

/// Every file as text: its name and length, then lines of 32 bytes that are not all zero.
fn dump(disk: &Faulty) -> String {
    let mut text = String::new();
    let mut names = disk.list().unwrap();
    names.sort();
    for name in names {
        let bytes = disk.bytes(&name).unwrap();
        writeln!(text, "{name} {}", bytes.len()).unwrap();
        for (index, line) in
            bytes.chunks(32).enumerate().filter(|(_, line)| line.iter().any(|byte| *byte > 0))
        {
            write!(text, "  {:06x} ", index * 32).unwrap();
            line.iter().for_each(|byte| write!(text, "{byte:02x}").unwrap());
            text.push('\n');
        }
    }
    text
}

/// The directory that [`dump`] made the text of.
fn undump(text: &str) -> Faulty {
    let disk = Faulty::new(1);
    let mut name = String::new();
    for line in text.lines() {
        let (first, second) = line.trim().split_once(' ').unwrap();
        if line.starts_with(' ') {
            let at = usize::from_str_radix(first, 16).unwrap();
            disk.tamper(&name, |bytes| {
                for index in 0..second.len() / 2 {
                    bytes[at + index] = u8::from_str_radix(&second[index * 2..index * 2 + 2], 16).unwrap();
                }
            });
        } else {
            name = first.to_string();
            disk.create(&name).unwrap();
            disk.tamper(&name, |bytes| bytes.resize(second.parse().unwrap(), 0));
        }
    }
    disk.sync_directory().unwrap();
    disk
}

#[test]
fn bytes_are_written_as_ever() {
    for (name, kinds, _) in FORMATS.into_iter().filter(|(_, _, schema)| *schema == SCHEMA) {
        let disk = Faulty::new(1);
        write_shapes(&disk, &shapes(kinds));
        let text = dump(&disk);
        if is_printing() {
            println!("{name}:\n{text}");
            continue;
        }
        let golden = golden(name);
        for (number, (line, expected)) in text.lines().zip(golden.lines()).enumerate() {
            assert_eq!(line, expected, "line {} of {name}", number + 1);
        }
        assert_eq!(text.len(), golden.len());
        assert!(dump(&undump(&text)) == text, "the test's own reading of its text");
    }
}

/// Entries beside the commands between two commands, the longest among them, in the journal and in a snapshot.
#[test]
fn entries_beside_the_commands_are_written_and_read_as_ever() {
    let entries = [
        SideEntry::put(1, &7_u64.to_le_bytes(), (0..=255).collect()),
        SideEntry::put(0xfffe, b"", Vec::new()),
        SideEntry::put(2, &[9; 64], vec![3; 100]),
        SideEntry::delete(1, &7_u64.to_le_bytes()),
        SideEntry::put(2, &[9; 64], vec![4; 101]),
    ];
    let disk = Faulty::new(1);
    let config = PersistConfig { segment_len: 24 << 10, ..config() };
    let mut session = Session::open(Arc::new(disk.clone()), &config).unwrap();
    session.journaller.side_writer().append(entries.to_vec(), Purpose::Grants).unwrap().forget();
    session.settle();
    assert!(session.publish(shape_of(1), &mut vec![0; 2]));
    session.journaller.close();
    let (storage, status) = (Arc::new(disk.clone()), session.journaller.status());
    let mut follower =
        Follower::<Ledger, Count>::new(storage, &config, &(), Count::default(), status, &[]).unwrap();
    follower.close();
    let text = dump(&disk);
    if is_printing() {
        println!("side-1:\n{text}");
        return;
    }
    assert_eq!(text, golden("side-1"), "what is written has changed");
    let mut expected = SideStore::default();
    entries.into_iter().for_each(|entry| expected.apply(entry));
    let disk = undump(&golden("side-1"));
    let snapshots = survey(&disk).unwrap().snapshots;
    for is_with in [true, false] {
        if !is_with {
            disk.remove(&snapshots[0]).unwrap();
        }
        let recovered = recover_ledger(Arc::new(disk.process_end()), &config, &mut ()).unwrap();
        assert_eq!((recovered.report.snapshot.is_some(), recovered.side), (is_with, expected.clone()));
    }
}

fn golden(name: &str) -> String {
    std::fs::read_to_string(format!("{}/tests/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn bytes_of_every_format_are_read() {
    for (name, kinds, schema) in FORMATS {
        let disk = undump(&golden(name));
        let expected = write_shapes(&Faulty::new(1), &shapes(kinds));
        let mut found = Vec::new();
        let survey = survey(&disk).unwrap();
        assert!(survey.segments.len() > 1 || kinds.len() == 1, "a segment's end is among the shapes");
        assert!(survey.segments.iter().all(|read| read.header.schema == schema));
        let walked = walk(&disk, &survey, 0, None, |_, record| {
            assert_eq!(record.header.schema, schema);
            found.push(record.command());
            Ok(())
        });
        assert_eq!(walked.unwrap().cut, None);
        assert_eq!(found.remove(0).kind, Kind::OpenEpoch as u16);
        assert!(found == expected, "{name}: {found:?}");

        // With the snapshot, and without it from the first command, the same state.
        let mut count = Count::default();
        let with = recover_ledger(Arc::new(disk.process_end()), &config(), &mut count).unwrap();
        assert_eq!(with.report.snapshot, Some(expected.len() as u64 + 1));
        assert_eq!(count.events, with.next_sequence - 1);
        disk.remove(survey.snapshots.last().unwrap()).unwrap();
        let without = recover_ledger(Arc::new(disk), &config(), &mut ()).unwrap();
        assert_eq!(without.report.snapshot, None);
        assert_eq!(with.engine.hash(), without.engine.hash());
    }
}

/// A journal that an earlier build has left, whole or torn at any record, is sealed and gone on with where it ends, in the segment
/// that it was in and in those after it.
#[test]
fn a_journal_of_an_earlier_format_is_gone_on_with() {
    let (_, kinds, _) = FORMATS[0];
    let given = shapes(kinds).len() as Sequence + 1;
    let left = || {
        let disk = undump(&golden("format-1"));
        // It would know of what is torn.
        survey(&disk).unwrap().snapshots.iter().for_each(|name| disk.remove(name).unwrap());
        disk
    };
    let last = survey(&left()).unwrap().segments.pop().unwrap().header;
    let bytes = left().bytes(&last.name()).unwrap();
    let mut places = vec![DATA_START as usize];
    while let Some(at) =
        places.last().copied().filter(|at| bytes.get(at + 44).is_some_and(|schema| *schema > 0))
    {
        places.push(at + len_at(&bytes[at..]).unwrap());
    }
    assert!(places.len() > 4, "{places:?}");
    for torn in places {
        let disk = left();
        disk.tamper(&last.name(), |bytes| bytes[torn..].fill(0));
        let kept = walk(&disk, &survey(&disk).unwrap(), 0, None, |_, _| Ok(())).unwrap().end.last.sequence;
        assert!((last.first_seq - 1..=given).contains(&kept), "torn at {torn}: {kept}");
        let mut session = Session::open(Arc::new(disk.clone()), &config()).unwrap();
        assert_eq!(session.report.last, kept);
        let (mut random, mut truth) = (Random::new(torn as u64), vec![0; 2]);
        while survey(&disk).unwrap().segments.len() < 5 {
            for _ in 0..20 {
                assert!(session.publish(crate::common::random_command(&mut random), &mut truth));
            }
            session.settle();
        }
        session.journaller.close();
        let mut schemas = Vec::new();
        let survey = survey(&disk).unwrap();
        let walked = walk(&disk, &survey, 0, None, |header, record| {
            schemas.push((header.schema, record.header.schema));
            Ok(())
        });
        assert_eq!(walked.unwrap().end.last.sequence + 1, session.next, "torn at {torn}");
        let earlier = schemas.iter().filter(|schemas| **schemas == (1, 1)).count() as Sequence;
        assert_eq!(earlier, kept, "torn at {torn}");
        assert!(schemas.is_sorted() && schemas.contains(&(2, 2)), "torn at {torn}: {schemas:?}");
        let again = recover_ledger(Arc::new(disk), &config(), &mut ()).unwrap();
        let opening = again.engine.openings.last().unwrap();
        assert_eq!(again.engine.hash(), Ledger::next_hash(session.hash, opening), "torn at {torn}");
    }
}

/// What an earlier build has written is judged as strictly as by itself.
#[test]
fn every_flipped_bit_of_an_earlier_format_is_found() {
    let disk = undump(&golden("format-1"));
    let survey = survey(&disk).unwrap();
    let name = survey.header(0).name();
    for byte in DATA_START as usize..config().segment_len as usize {
        for bit in 0..8 {
            disk.tamper(&name, |bytes| bytes[byte] ^= 1 << bit);
            match walk(&disk, &survey, 0, None, |_, _| Ok(())) {
                Err(PersistError::Rot { segment, .. }) => assert_eq!(segment, name),
                other => panic!("bit {bit} of byte {byte}: {other:?}"),
            }
            disk.tamper(&name, |bytes| bytes[byte] ^= 1 << bit);
        }
    }
}

#[test]
fn a_million_commands_give_the_same_journal_and_state_in_every_build() {
    let folder = std::env::temp_dir().join(format!("ringside-golden-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let config = PersistConfig {
        directory: folder.clone(),
        method: Some(Method::Buffered),
        any_file_system: true,
        ..PersistConfig { segment_len: 64 << 20, batch_len: 1 << 20, ..config() }
    };
    let recovered = recover_machine::<Ledger>(&config, &(), &mut ()).unwrap();
    let mut engine = Engine::new(&EngineConfig::default());
    engine.apply(&recovered.engine.openings[0], &mut ());
    let mut hash = recovered.engine.hash();
    let options = Options { capacity: 1 << 13, consumers: 1, start: 2, wait: Wait::Yield };
    let (mut producer, mut consumers) = ring::create(Mapping::anonymous(), options).unwrap();
    let gate = Arc::new(Gate::new(1));
    let consumer = consumers.pop().unwrap();
    let mut journaller = Journaller::invoked(recovered.journal, consumer, gate.clone()).unwrap();
    let last = MILLION as Sequence + 1;
    for (sequence, command) in (2..=last).zip(Flow::new(SEED)) {
        let command = Command { sequence, ..command };
        engine.apply(&command, &mut ());
        hash = Ledger::next_hash(hash, &command);
        producer.try_publish(&command).unwrap();
        if sequence % 4096 == 0 || sequence == last {
            while journaller.do_work() > 0 {}
            assert_eq!(gate.durable(), sequence);
        }
    }
    journaller.close();
    drop(journaller);

    let verdict = verify(&folder).unwrap();
    assert!(verdict.is_sound() && verdict.last == last, "{verdict}");
    let mut digest = blake3::Hasher::new();
    for segment in &verdict.segments {
        digest.update(&std::fs::read(folder.join(&segment.name)).unwrap());
    }
    let journal = digest.finalize().to_hex().to_string();

    // What the disk gives back leads the real engine to the state that it was in.
    let disk = Disk::open_existing(&folder).unwrap();
    let mut again = Engine::new(&EngineConfig::default());
    walk(&disk, &survey(&disk).unwrap(), 0, None, |_, record| {
        again.apply(&record.command(), &mut ());
        Ok(())
    })
    .unwrap();
    assert_eq!(again.state_hash(), engine.state_hash());
    let state: String = again.state_hash().iter().map(|byte| format!("{byte:02x}")).collect();
    let recovered = recover_machine::<Ledger>(&config, &(), &mut ()).unwrap();
    assert_eq!(recovered.report.commands, last);
    assert_eq!(recovered.engine.hash(), Ledger::next_hash(hash, recovered.engine.openings.last().unwrap()));
    std::fs::remove_dir_all(&folder).unwrap();
    if is_printing() {
        println!("JOURNAL {journal}\nSTATE {state}");
        return;
    }
    assert_eq!(journal, JOURNAL, "the bytes of the journal have changed");
    assert_eq!(
        state, STATE,
        "the engine decides otherwise than its version says, or the canonical state has changed"
    );
}

/// The ledger as another version of the engine.
struct Of<const VERSION: u32>(Ledger);

impl<const VERSION: u32> Machine for Of<VERSION> {
    type Config = ();
    fn version() -> u32 {
        VERSION
    }
    fn genesis(_config: &()) -> Self {
        Of(Ledger::genesis(&()))
    }
    fn load(_config: &(), bytes: &[u8]) -> Result<Self, FoldError> {
        Ok(Of(Ledger::load(&(), bytes)?))
    }
    fn save(&self, bytes: &mut Vec<u8>) {
        self.0.save(bytes);
    }
    fn apply(&mut self, command: &Command, sink: &mut impl Sink) {
        self.0.apply(command, sink);
    }
    fn skip(&mut self, command: &Command) {
        self.0.skip(command);
    }
    fn prefetch(&self, _command: &Command, _hint: Hint) {}
    fn sequence(&self) -> Sequence {
        self.0.sequence()
    }
    fn time_ns(&self) -> i64 {
        self.0.time_ns()
    }
    fn state_hash(&self) -> [u8; 16] {
        self.0.state_hash()
    }
    fn diverged(&self) -> Option<(Sequence, String)> {
        self.0.diverged()
    }
    fn check_invariants(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Starts version `VERSION`, journals `count` commands and ends, gracefully (with a snapshot) or not. Gives the last
/// sequence and the state's hash, or why it does not start.
fn live<const VERSION: u32>(
    disk: &Faulty,
    random: &mut Random,
    count: u64,
    is_graceful: bool,
) -> Result<(Sequence, u64), PersistError> {
    let config = PersistConfig { segment_len: 32 << 10, ..config() };
    let storage: Arc<Faulty> = Arc::new(disk.clone());
    let recovered = recover_in::<Of<VERSION>>(storage.clone(), Lock::default(), &config, &(), &mut ())?;
    let mut hash = recovered.engine.0.hash();
    let mut next = recovered.next_sequence;
    let options = Options { capacity: 1 << 10, consumers: 1, start: next, wait: Wait::Yield };
    let (mut producer, mut consumers) = ring::create(Mapping::anonymous(), options).unwrap();
    let gate = Arc::new(Gate::new(next - 1));
    let mut journaller = Journaller::invoked(recovered.journal, consumers.pop().unwrap(), gate).unwrap();
    for _ in 0..count {
        let mut command = crate::common::random_command(random);
        (command.sequence, command.time_ns) = (next, recovered.engine.0.time_ns() + next as i64);
        hash = Ledger::next_hash(hash, &command);
        producer.try_publish(&command).unwrap();
        next += 1;
    }
    journaller.close();
    if is_graceful {
        let status = journaller.status();
        let mut follower = Follower::<Of<VERSION>, ()>::new(storage, &config, &(), (), status, &[]).unwrap();
        follower.close();
        assert!(!follower.status().is_failed(), "{:?}", follower.status().take_failure());
    }
    Ok((next - 1, hash))
}

#[test]
fn another_version_starts_from_a_snapshot_only() {
    crate::common::for_each_seed("compatibility::another_version_starts_from_a_snapshot_only", 200, |seed| {
        let mut random = Random::new(seed);
        let disk = Faulty::new(seed);
        let mut count = || random.below(300);
        let (first, second, third) = (count(), count(), 1 + count());
        // Killed: nothing but its commands is left.
        let (_, _) = live::<1>(&disk, &mut random, first, false).unwrap();
        let before = disk.process_end();
        match live::<2>(&disk, &mut random, 0, false).err() {
            Some(PersistError::EngineVersion { sequence: 1, found: 1, own: 2 }) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(dump(&disk), dump(&before), "a refusal writes nothing");
        // The old version started once more, and shut down.
        let (last, hash) = live::<1>(&disk, &mut random, second, true).unwrap();
        let (end, ours) = live::<2>(&disk, &mut random, third, false).unwrap();
        assert_eq!(end, last + 1 + third);
        assert_ne!(hash, ours);
        // Goes on by itself, from the old version's snapshot and its own commands.
        let config = PersistConfig { segment_len: 32 << 10, ..config() };
        let storage = Arc::new(disk.process_end());
        let recovered = recover_in::<Of<2>>(storage, Lock::default(), &config, &(), &mut ()).unwrap();
        assert_eq!((recovered.report.snapshot, recovered.report.last), (Some(last), end));
        let opening = recovered.engine.0.openings.last().unwrap();
        assert_eq!(recovered.engine.0.hash(), Ledger::next_hash(ours, opening));
        // There is no way back past its commands, not even where it has left a snapshot, nor forward without the snapshot.
        let stopped = disk.process_end();
        for is_stopped in [false, true] {
            if is_stopped {
                live::<2>(&stopped, &mut random, 0, true).unwrap();
            }
            match live::<1>(&stopped.process_end(), &mut random, 0, false).err() {
                Some(PersistError::LaterEngine { found: 2, own: 1, .. }) => {}
                other => panic!("{other:?}"),
            }
        }
        let names = survey(&disk).unwrap().snapshots;
        disk.tamper(names.last().unwrap(), |bytes| bytes[4_100] ^= 1);
        match live::<2>(&disk, &mut random, 0, false).err() {
            Some(PersistError::EngineVersion { sequence: 1, found: 1, own: 2 }) => {}
            other => panic!("{other:?}"),
        }
    });
}

/// A fold that keeps everything through a sequence elsewhere, as the archive does.
struct Kept(Sequence);

impl Fold for Kept {
    fn event(&mut self, _event: &Event) {}
    fn save(&self, _bytes: &mut Vec<u8>) {}
    fn load(&mut self, _bytes: &[u8]) -> Result<(), FoldError> {
        Ok(())
    }
    fn reset(&mut self) {}
    fn kept(&self) -> Sequence {
        self.0
    }
}

#[test]
fn a_follower_replays_no_command_of_another_version() {
    let (disk, mut random) = (Faulty::new(1), Random::new(1));
    let config = PersistConfig { segment_len: 32 << 10, ..config() };
    let (older, _) = live::<1>(&disk, &mut random, 200, true).unwrap();
    let (newer, _) = live::<1>(&disk, &mut random, 200, true).unwrap();
    let is_refused = |result: Result<(), PersistError>, kept: Sequence| match result {
        Err(PersistError::Archive(ArchiveError::OtherEngine { mark, to, found: 1, own: 2 })) => {
            assert_eq!((mark, to), (kept, newer));
        }
        other => panic!("{kept}: {other:?}"),
    };
    // Known before the new version has written anything; the old one can fill what is missing.
    for kept in [0, older, newer - 1] {
        is_refused(check_kept::<Of<2>>(&disk, kept), kept);
        check_kept::<Of<1>>(&disk, kept).unwrap();
    }
    check_kept::<Of<2>>(&disk, newer).unwrap();

    let storage: Arc<Faulty> = Arc::new(disk.clone());
    let recovered = recover_in::<Of<2>>(storage.clone(), Lock::default(), &config, &(), &mut ()).unwrap();
    assert_eq!(recovered.report.snapshot, Some(newer));
    let next = recovered.next_sequence;
    let options = Options { capacity: 64, consumers: 1, start: next, wait: Wait::Yield };
    let (_producer, mut consumers) = ring::create(Mapping::anonymous(), options).unwrap();
    let gate = Arc::new(Gate::new(next - 1));
    let mut journaller = Journaller::invoked(recovered.journal, consumers.pop().unwrap(), gate).unwrap();
    journaller.close();
    let follow = |kept: Sequence| {
        Follower::<Of<2>, Kept>::new(storage.clone(), &config, &(), Kept(kept), journaller.status(), &[])
    };
    for kept in [0, older, newer - 1] {
        is_refused(follow(kept).map(|_| ()), kept);
    }
    // From the snapshot that recovery started from there is nothing of the old version to replay.
    let mut follower = follow(newer).unwrap();
    follower.close();
    assert!(!follower.status().is_failed(), "{:?}", follower.status().take_failure());
    assert_eq!(follower.machine().state_hash(), recovered.engine.state_hash());
}

#[test]
fn a_follower_stops_at_a_command_of_another_version() {
    let (disk, mut random) = (Faulty::new(1), Random::new(1));
    let config = PersistConfig { segment_len: 32 << 10, ..config() };
    let mut session = Session::open(Arc::new(disk.clone()), &config).unwrap();
    assert!(session.publish(crate::common::random_command(&mut random), &mut vec![0; 2]));
    session.settle();
    let (storage, status) = (Arc::new(disk.clone()), session.journaller.status());
    let mut follower = Follower::<Of<2>, ()>::new(storage, &config, &(), (), status, &[]).unwrap();
    while follower.do_work() > 0 {}
    match follower.status().take_failure() {
        Some(PersistError::EngineVersion { sequence: 1, found: 1, own: 2 }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(follower.machine().sequence(), 0);
}
