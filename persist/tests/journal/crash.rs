//! Power cuts and kills at every point, with every unsynced sector kept or lost by itself: what was acknowledged is
//! there afterwards, nothing is there that was never given, and recovering again changes nothing (failure model, rows
//! 1 to 3).

use crate::common::{
    Count, Ledger, Session, for_each_seed, random_command, recover_ledger, seeds, small_config,
};
use ringside_core::agent::Agent;
use ringside_core::gate::GateMode;
use ringside_core::ids::Sequence;
use ringside_core::side::{SideEntry, SideStore};
use ringside_persist::config::{Method, PersistConfig};
use ringside_persist::error::PersistError;
use ringside_persist::read::survey::{EpochMark, survey};
use ringside_persist::read::tail::walk;
use ringside_persist::recover::machine::Machine;
use ringside_persist::recover::recovery::Recovered;
use ringside_persist::storage::faulty::{Faulty, Plan, Random};
use ringside_persist::write::side::{Purpose, Receipt};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What is known of a journal from outside.
#[derive(Clone)]
struct Known {
    /// Hash of the state after each command that was ever handed over, by sequence; 0 for the state of genesis.
    truth: Vec<u64>,
    /// The last command that was acknowledged.
    acknowledged: Sequence,
    /// The last one that must be there even if the power goes before the next recovery has synced.
    durable: Sequence,
    /// What stood beside the commands, and the entries that were handed over since, in order.
    side: SideStore,
    entries: Vec<SideEntry>,
    /// How many of them were released.
    released: usize,
}

impl Default for Known {
    fn default() -> Known {
        Known {
            truth: vec![0],
            acknowledged: 0,
            durable: 0,
            side: SideStore::default(),
            entries: Vec::new(),
            released: 0,
        }
    }
}

impl Known {
    /// The entries that came back are the first of those that were given, and all that were released.
    fn check_side(&mut self, found: &SideStore) {
        let mut side = self.side.clone();
        let mut matches = (self.released == 0 && side == *found) as usize;
        for (index, entry) in self.entries.drain(..).enumerate() {
            side.apply(entry);
            matches += usize::from(index + 1 >= self.released && side == *found);
        }
        assert!(
            matches > 0,
            "{} entries were released, and something else came back: {found:?}",
            self.released
        );
        (self.side, self.released) = (found.clone(), 0);
    }

    /// Compares a recovered state: nothing acknowledged is missing, nothing else is there.
    fn check(&self, last: Sequence, hash: u64) {
        assert!(last >= self.acknowledged, "acknowledged {} commands, {last} came back", self.acknowledged);
        assert!(
            (last as usize) < self.truth.len(),
            "{last} came back, only {} were given",
            self.truth.len() - 1
        );
        assert_eq!(hash, self.truth[last as usize], "other commands came back than were given, up to {last}");
    }
}

/// Recovers, checks the state before the command that opens the new epoch, and goes on from there. `None` when the
/// power went meanwhile.
fn reopen(disk: &Faulty, config: &PersistConfig, known: &mut Known) -> Option<Session> {
    reopen_as(disk, config, known, Session::of)
}

fn reopen_as(
    disk: &Faulty,
    config: &PersistConfig,
    known: &mut Known,
    session: impl FnOnce(Recovered<Ledger>) -> Result<Session, PersistError>,
) -> Option<Session> {
    // As the disk was left: looking at it counts none of its calls.
    let begun = match survey(&disk.process_end()).map(|survey| survey.epoch) {
        Ok(EpochMark::Known { epoch, .. }) => epoch,
        _ => 0,
    };
    let recovered = match recover_ledger(Arc::new(disk.clone()), config, &mut ()) {
        Ok(recovered) => recovered,
        Err(error) => {
            assert!(disk.is_off(), "recovery refused: {error}");
            known.acknowledged = known.durable;
            return None;
        }
    };
    // Recovery itself gave the commands that open epochs, also the one of a recovery that the power ended.
    for opening in &recovered.engine.openings {
        let at = opening.sequence as usize;
        let hash = Ledger::next_hash(known.truth[at - 1], opening);
        if known.truth.get(at) != Some(&hash) {
            assert!(opening.sequence > known.acknowledged, "an acknowledged command gave way to an epoch");
            known.truth.truncate(at);
            known.truth.push(hash);
        }
    }
    known.check(recovered.report.last + 1, recovered.engine.hash());
    known.check_side(&recovered.side);
    assert!(recovered.report.epoch > begun, "epoch {begun} was begun before, by whoever came no further");
    let opening = recovered.engine.openings.last().map(|opening| opening.time_ns);
    assert_eq!(opening, Some(recovered.engine.time_ns()), "time runs back");
    known.truth.truncate(recovered.next_sequence as usize);
    // Recovery answers nobody, but what it has read it has made durable.
    known.acknowledged = recovered.next_sequence - 1;
    known.durable = known.acknowledged;
    Some(session(recovered).unwrap())
}

/// Hands over a few entries beside the commands, or none; how many were handed over by then, and what tells that they may be shown.
fn give_entries(random: &mut Random, session: &Session, known: &mut Known) -> Option<(usize, Receipt)> {
    let count = random.below(5);
    let entry = |_| {
        let (kind, id) = (random.below(2) as u16, [random.below(4) as u8]);
        match random.below(4) {
            0 => SideEntry::delete(kind, &id),
            _ => SideEntry::put(kind, &id, random.draw().to_le_bytes().repeat(random.below(60) as usize)),
        }
    };
    let entries: Vec<SideEntry> = (0..count).map(entry).collect();
    let receipt = session.journaller.side_writer().append(entries.clone(), Purpose::Revokes).ok()?;
    known.entries.extend(entries);
    Some((known.entries.len(), receipt))
}

fn cut_once(seed: u64) {
    let mut random = Random::new(seed);
    let mut config = small_config(&mut random);
    let mut disk = Faulty::new(seed);
    if random.below(4) == 0 {
        (config.mode, config.method) = (GateMode::Written, Some(Method::Buffered));
    } else if random.below(2) == 0 {
        disk = disk.with_durable_writes();
    }
    let mut known = Known::default();
    for _ in 0..1 + random.below(3) {
        disk.plan(Plan { cut_at: Some(disk.calls() + 1 + random.below(260)), ..Plan::default() });
        let is_kill = random.below(5) == 0;
        if let Some(mut session) = reopen(&disk, &config, &mut known) {
            let bursts = random.below(40);
            let mut receipts = Vec::new();
            for _ in 0..bursts {
                for _ in 0..1 + random.below(40) {
                    session.publish(random_command(&mut random), &mut known.truth);
                }
                receipts.extend(give_entries(&mut random, &session, &mut known));
                for _ in 0..random.below(4) {
                    session.journaller.do_work();
                }
                if disk.is_off() {
                    break;
                }
            }
            if random.below(4) == 0 {
                session.journaller.close();
            }
            if disk.is_off() {
                assert!(session.gate.is_halted() || session.journaller.do_work() == 0);
            }
            // What was stored outlives the process, what was synced outlives the machine.
            known.durable = known.durable.max(session.gate.durable());
            known.acknowledged = known.durable;
            if config.mode == GateMode::Written && is_kill && !disk.is_off() {
                known.acknowledged = session.gate.written();
            }
            // Whatever the mode, what was released outlives the machine.
            let released = receipts.iter().filter(|(_, receipt)| receipt.is_released() == Ok(true));
            known.released = released.map(|(end, _)| *end).max().unwrap_or(0);
        }
        disk = if is_kill && !disk.is_off() { disk.process_end() } else { disk.power_cut(random.draw()) };
    }
    finish(&disk, &config, &mut known);
}

/// Recovers for good, twice: the second finds what the first left and nothing to cut.
fn finish(disk: &Faulty, config: &PersistConfig, known: &mut Known) {
    reopen(disk, config, known).expect("nothing is planned");
    let again = reopen(disk, config, known).expect("nothing is planned");
    assert_eq!(again.report.cut, None, "the first recovery left something to cut");
    drop(again);
    let mut count = Count::default();
    let last = recover_ledger(Arc::new(disk.clone()), config, &mut count).unwrap();
    assert_eq!(count.events, last.next_sequence - 1, "one event for each command");
}

#[test]
fn power_cuts_lose_nothing_acknowledged() {
    for_each_seed("crash::power_cuts_lose_nothing_acknowledged", 5_000, cut_once);
}

/// Tears the last batch of a journal of shape `seed` at every byte: what is before the tear is new, what is behind it
/// is as it was, zeros or the remains of something else. False where the batch has begun a segment, which leaves nothing to tear.
fn tear(seed: u64) -> bool {
    let mut random = Random::new(seed);
    let config = PersistConfig { batch_len: 16 << 10, segment_len: 64 << 10, ..small_config(&mut random) };
    let disk = Faulty::new(seed);
    let mut known = Known::default();
    let mut session = reopen(&disk, &config, &mut known).unwrap();
    for _ in 0..random.below(4) {
        for _ in 0..1 + random.below(40) {
            session.publish(random_command(&mut random), &mut known.truth);
        }
        session.settle();
    }
    session.settle();
    known.acknowledged = session.gate.durable();
    known.durable = known.acknowledged;
    let name = |disk: &Faulty| last_segment(disk);
    let segment = name(&disk);
    let mut before = disk.bytes(&segment).unwrap();
    let start = session.journaller.status().durable().offset as usize;
    // Few enough to fit the segment, in one block or in several.
    for _ in 0..1 + random.below(if seed.is_multiple_of(2) { 24 } else { 90 }) {
        session.publish(random_command(&mut random), &mut known.truth);
    }
    // None of them is released: any of them may come back.
    give_entries(&mut random, &session, &mut known);
    session.journaller.do_work();
    let after = disk.bytes(&segment).unwrap();
    if name(&disk) != segment {
        return false;
    }
    let end = session.journaller.status().durable().offset as usize;
    if seed.is_multiple_of(3) {
        before[start..].iter_mut().for_each(|byte| *byte = random.draw() as u8);
    }
    let ends = record_ends(&after, start, end);
    for torn in start..=end {
        let mut bytes = after.clone();
        bytes[torn..].copy_from_slice(&before[torn..]);
        // Whole records up to the first that differs; bytes behind the tear may be the same by chance (padding).
        let same = bytes.iter().zip(&after).take_while(|(torn, whole)| torn == whole).count();
        let kept = ends.iter().take_while(|(end, _)| *end <= same).last();
        let expected = kept.map_or(known.acknowledged, |(_, sequence)| *sequence);
        let torn_disk = disk.process_end();
        torn_disk.tamper(&segment, |live| *live = bytes);
        let survey = survey(&torn_disk).unwrap();
        let walked = walk(&torn_disk, &survey, 0, None, |_, _| Ok(()));
        let walked = walked.unwrap_or_else(|error| panic!("torn at {torn}: {error}"));
        assert_eq!(walked.end.last.sequence, expected, "torn at {torn} of {start}..{end}");
        if torn % 97 == 0 {
            finish(&torn_disk, &config, &mut known.clone());
        }
    }
    true
}

/// Checks each seed, and that at least `least` of them came to what they are about.
fn at_least(least: u64, test: &str, count: u64, check: impl Fn(u64) -> bool + Sync) {
    let met = AtomicU64::new(0);
    for_each_seed(test, count, |seed| {
        met.fetch_add(u64::from(check(seed)), Ordering::Relaxed);
    });
    let met = met.into_inner();
    assert!(met >= least || seeds::is_rerun(), "{test}: only {met} of {count}");
}

fn last_segment(disk: &Faulty) -> String {
    let survey = survey(disk).unwrap();
    survey.header(survey.segments.len() - 1).name()
}

/// Where each record between `start` and `end` ends, and the last command up to there.
fn record_ends(bytes: &[u8], start: usize, end: usize) -> Vec<(usize, Sequence)> {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let mut ends = Vec::new();
    let mut at = start;
    while at < end {
        let len = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let sequence = word(at + 8);
        at += 64 + len.next_multiple_of(64);
        ends.push((at, sequence));
    }
    assert_eq!(at, end);
    ends
}

#[test]
fn a_batch_torn_at_every_byte_is_cut_exactly_there() {
    at_least(13, "crash::a_batch_torn_at_every_byte_is_cut_exactly_there", 15, tear);
}

/// One bit of the last command, which nothing vouches for, is not as it was: it is cut, and said that it may have been there.
/// False where it has begun a segment.
fn rot_at_the_end(seed: u64) -> bool {
    let mut random = Random::new(seed);
    let config = small_config(&mut random);
    let disk = Faulty::new(seed);
    let mut known = Known::default();
    let mut session = reopen(&disk, &config, &mut known).unwrap();
    session.settle();
    let start = session.journaller.status().durable().offset as usize;
    let segment = last_segment(&disk);
    session.publish(random_command(&mut random), &mut known.truth);
    session.journaller.do_work();
    if last_segment(&disk) != segment {
        return false;
    }
    let disk = disk.process_end();
    let byte = start + random.below(64) as usize;
    disk.tamper(&segment, |live| live[byte] ^= 1 << random.below(8));
    let walked = walk(&disk, &survey(&disk).unwrap(), 0, None, |_, _| Ok(())).unwrap();
    let cut = walked.cut.expect("the last command is damaged");
    // A length that is wrong reaches over what was never written.
    assert!(cut.is_suspect || (byte - start) < 4, "{cut:?}");
    assert_eq!(cut.offset as usize, start);
    true
}

#[test]
fn rot_that_looks_torn_is_announced() {
    at_least(440, "crash::rot_that_looks_torn_is_announced", 500, rot_at_the_end);
}

/// Batches are written by threads, two on their way at a time where a write is durable by itself, one where it takes a sync, each as
/// slow as it likes, until the power goes or a call fails. Gives whether the disk was left with something of the second behind
/// what is missing of the first.
fn end_under_load(seed: u64) -> bool {
    const BATCH_LEN: usize = 8 << 10;
    let mut random = Random::new(seed);
    let config = PersistConfig {
        inline_len: 0,
        batch_len: BATCH_LEN,
        segment_len: 128 << 10,
        ..small_config(&mut random)
    };
    let disk = Faulty::new(seed);
    let disk = if seed.is_multiple_of(3) { disk } else { disk.with_durable_writes() };
    let mut known = Known::default();
    let mut session = reopen_as(&disk, &config, &mut known, Session::threaded).unwrap();
    let (end, delay) = (Some(disk.calls() + 10 + random.below(80)), Duration::from_micros(300));
    let is_cut = random.below(2) == 0;
    disk.plan(match is_cut {
        true => Plan { cut_at: end, delay, ..Plan::default() },
        false => Plan { fail_at: end, delay, ..Plan::default() },
    });
    while !session.gate.is_halted() {
        for _ in 0..64 {
            session.publish(random_command(&mut random), &mut known.truth);
        }
        session.journaller.do_work();
    }
    let Session { journaller, gate, .. } = session;
    // Its threads end with it.
    drop(journaller);
    let acknowledged = gate.durable();
    (known.acknowledged, known.durable) = (acknowledged, acknowledged);
    let disk = if is_cut { disk.power_cut(random.draw()) } else { disk.process_end() };
    let walked = walk(&disk, &survey(&disk).unwrap(), 0, None, |_, _| Ok(())).unwrap();
    finish(&disk, &config, &mut known);
    let is_suspect = walked.cut.as_ref().is_some_and(|cut| cut.is_suspect);
    assert!(!is_cut || !is_suspect, "what is missing was taken for damage");
    walked.cut.is_some_and(|cut| cut.len > BATCH_LEN as u64)
}

#[test]
fn two_batches_on_their_way_are_cut_as_one() {
    let holes = AtomicU64::new(0);
    for_each_seed("crash::two_batches_on_their_way_are_cut_as_one", 600, |seed| {
        holes.fetch_add(u64::from(end_under_load(seed)), Ordering::Relaxed);
    });
    let is_whole = !seeds::is_rerun();
    assert!(!is_whole || holes.into_inner() > 0, "the second batch never came before the first");
}

/// In mode `written`, with a thread that writes the first batch of each segment: what comes meanwhile is stored behind that batch,
/// not into the segment before.
fn begin_segments_under_load(seed: u64) {
    let mut random = Random::new(seed);
    let config = PersistConfig {
        mode: GateMode::Written,
        method: Some(Method::Buffered),
        inline_len: 0,
        segment_len: 128 << 10,
        ..small_config(&mut random)
    };
    let disk = Faulty::new(seed);
    let mut known = Known::default();
    let mut session = reopen_as(&disk, &config, &mut known, Session::threaded).unwrap();
    disk.plan(Plan { delay: Duration::from_micros(300), ..Plan::default() });
    while survey(&disk).unwrap().segments.len() < 4 {
        for _ in 0..8 {
            session.publish(random_command(&mut random), &mut known.truth);
        }
        session.journaller.do_work();
    }
    let Session { journaller, gate, .. } = session;
    // Its threads end with it.
    drop(journaller);
    (known.acknowledged, known.durable) = (gate.written(), gate.durable());
    finish(&disk.process_end(), &config, &mut known);
}

#[test]
fn what_comes_while_a_segment_begins_is_stored_in_it() {
    for_each_seed("crash::what_comes_while_a_segment_begins_is_stored_in_it", 20, begin_segments_under_load);
}
