//! Whether what clients were answered agrees with the one order in which everything happened: the journal that the members agreed on.
//!
//! That order is known, so nothing is searched for. Every answer must be what replay gives at its command's sequence; sequences respect
//! real time; what was acknowledged is there once, what was refused is not, and of what was never answered either holds; a read shows
//! nothing older than it may, and nothing that was not asked for yet. Pure data in, words out: no clock, no file, no connection.

use super::HOSTS;
use crate::kills::Shown;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// Violations that are put into words.
const WORDS: usize = 20;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Venue {
    /// Spot.
    Spot,
    /// Perpetual.
    Perpetual,
}

/// A trader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Who {
    /// Where it trades.
    pub venue: Venue,
    /// Its number there.
    pub number: u32,
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asked {
    /// An order, by the trader's own number for it. A spot order's is not in the journal: there it is 0.
    Place(u64),
    /// The end of an order.
    Cancel(u64),
    /// Another quantity of an order.
    Shorten(u64, i64),
}

/// What was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// Done; how the order stood then.
    Told(Shown),
    /// Nothing was done.
    Refused,
    /// There was no answer, or one that says as much.
    Unknown,
}

/// One request that may change something. Times are nanoseconds of one clock.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Whose.
    pub who: Who,
    /// At which host.
    pub host: usize,
    /// Before it was sent.
    pub begun: u64,
    /// After its answer was there, or was no longer waited for.
    pub ended: u64,
    /// See there.
    pub asked: Asked,
    /// See there.
    pub said: Said,
}

/// What a read showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saw {
    /// The book's last update.
    Update(u64),
    /// An order of a venue.
    Order(Venue, Shown),
    /// That there is no such order, or no longer: so says who refuses to cancel it.
    Gone(Venue, u64),
}

/// One read that was answered.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// Of readers and traders alike, each its own.
    pub client: u32,
    /// Which host answered.
    pub host: usize,
    /// How often that host had been started.
    pub life: u32,
    /// As of calls.
    pub begun: u64,
    /// As of calls.
    pub ended: u64,
    /// The sequence that the answer names.
    pub named: Option<u64>,
    /// Whether the host said that it leads both before and after it.
    pub is_leaders: bool,
    /// See there.
    pub saw: Saw,
}

/// A command of a trader as it stands in the journal.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its place.
    pub sequence: u64,
    /// Whose.
    pub who: Who,
    /// What for.
    pub asked: Asked,
    /// The order that it placed, ended or changed.
    pub order: u64,
    /// Whether it did what it asks for; a spot order that is kept as rejected was placed.
    pub is_done: bool,
}

/// What replay of the journal gives.
#[derive(Clone, Debug, Default)]
pub struct Serial {
    /// In order.
    pub entries: Vec<Entry>,
    /// By order how it stood from which sequence on.
    pub orders: BTreeMap<(Venue, u64), Vec<(u64, Shown)>>,
    /// The book's last update from which sequence on.
    pub updates: Vec<(u64, u64)>,
    /// The term from which sequence on.
    pub terms: Vec<(u64, u64)>,
}

/// What clients wrote down.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Requests.
    pub calls: Vec<Call>,
    /// Reads.
    pub reads: Vec<Read>,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Calls that were told what became of them.
    pub told: u64,
    /// Calls without an answer, and those of them that had happened.
    pub unknown: u64,
    /// See `unknown`.
    pub had_happened: u64,
    /// Reads, and among them those that a leader answered.
    pub reads: u64,
    /// See `reads`.
    pub leader_reads: u64,
    /// Reads of a leader that lack what one that follows had acknowledged in the same term.
    pub behind_followers: u64,
    /// Cancels refused by a host that follows, since it had not heard of an order that was acknowledged.
    pub unheard: u64,
    /// Reads that were older than an earlier one of the same client at the same host, which was started anew between them.
    pub back_over_starts: u64,
    /// What must not be: the first of it.
    pub violations: Vec<String>,
    /// How often.
    pub violated: u64,
    /// Which kinds of them.
    pub kinds: BTreeSet<&'static str>,
}

impl Verdict {
    fn fault(&mut self, what: &'static str, of: &impl Debug) {
        self.violated += 1;
        self.kinds.insert(what);
        if self.violations.len() < WORDS {
            self.violations.push(format!("{what}: {of:?}"));
        }
    }

    /// Takes another's figures in.
    pub fn add(&mut self, other: Verdict) {
        self.told += other.told;
        self.unknown += other.unknown;
        self.had_happened += other.had_happened;
        self.reads += other.reads;
        self.leader_reads += other.leader_reads;
        self.unheard += other.unheard;
        self.behind_followers += other.behind_followers;
        self.back_over_starts += other.back_over_starts;
        self.violated += other.violated;
        self.violations.extend(other.violations);
        self.kinds.extend(other.kinds);
    }
}

/// All tries of one request: at most one of them was carried out.
#[derive(Clone, Debug, Default)]
struct Tries {
    calls: Vec<Call>,
}

/// A request that stands in the journal, as its client saw it.
#[derive(Clone, Copy, Debug)]
struct Done {
    sequence: u64,
    /// Before this it was not asked for.
    begun: u64,
    /// After this its client knew.
    ended: Option<u64>,
    /// Who told it.
    host: Option<usize>,
}

/// Compares them.
pub fn check(history: &History, serial: &Serial) -> Verdict {
    let mut verdict = Verdict::default();
    let done = calls(history, serial, &mut verdict);
    real_time(&done, &mut verdict);
    reads(history, serial, &done, &mut verdict);
    verdict
}

/// Finds every call in the journal, and every entry among the calls.
fn calls(history: &History, serial: &Serial, verdict: &mut Verdict) -> Vec<Done> {
    let mut tries: BTreeMap<(Who, Asked), Tries> = BTreeMap::new();
    for call in &history.calls {
        tries.entry((call.who, call.asked)).or_default().calls.push(*call);
    }
    let mut entries: BTreeMap<(Who, Asked), Vec<&Entry>> = BTreeMap::new();
    for entry in serial.entries.iter().filter(|entry| entry.is_done) {
        entries.entry((entry.who, key(entry))).or_default().push(entry);
    }
    let mut done = Vec::new();
    let mut asked_for = BTreeSet::new();
    for ((who, asked), tries) in &tries {
        let told: Vec<(&Call, Shown)> = tries
            .calls
            .iter()
            .filter_map(|call| match call.said {
                Said::Told(shown) => Some((call, shown)),
                _ => None,
            })
            .collect();
        let unknown = tries.calls.iter().filter(|call| call.said == Said::Unknown);
        verdict.told += told.len() as u64;
        verdict.unknown += unknown.clone().count() as u64;
        let found = entries.get(&(*who, entry_key(*who, *asked, told.first().map(|told| told.1))));
        let found = found.map_or(&[][..], |found| found.as_slice());
        let [one] = found else {
            match found {
                [] if told.is_empty() => {}
                [] => verdict.fault("acknowledged, and not in the journal", tries),
                more => verdict.fault("done more than once", &(tries, more)),
            }
            continue;
        };
        asked_for.insert(one.sequence);
        if told.is_empty() {
            verdict.had_happened += 1;
        }
        let possible = tries.calls.iter().filter(|call| call.said != Said::Refused);
        let Some(begun) = possible.map(|call| call.begun).min() else {
            verdict.fault("refused, and done all the same", &(tries, one));
            continue;
        };
        let state = at(serial, who.venue, one.order, one.sequence);
        for (call, shown) in &told {
            if state != Some(*shown) {
                verdict.fault("an answer is not what replay gives", &(call, one.sequence, state));
            }
        }
        let first = told.iter().map(|(call, _)| call).min_by_key(|call| call.ended);
        let (ended, host) = (first.map(|call| call.ended), first.map(|call| call.host));
        done.push(Done { sequence: one.sequence, begun, ended, host });
    }
    for entry in serial.entries.iter().filter(|entry| entry.is_done && !asked_for.contains(&entry.sequence)) {
        // One that was found twice has been said.
        let is_said = entries[&(entry.who, key(entry))].len() > 1;
        if !is_said {
            verdict.fault("done, and nobody asked for it", entry);
        }
    }
    done
}

/// What an entry is found by.
fn key(entry: &Entry) -> Asked {
    match (entry.who.venue, entry.asked) {
        (Venue::Spot, Asked::Place(_)) => Asked::Place(entry.order),
        (_, asked) => asked,
    }
}

/// The same of a call: a spot order by what its answer names.
fn entry_key(who: Who, asked: Asked, told: Option<Shown>) -> Asked {
    match (who.venue, asked) {
        (Venue::Spot, Asked::Place(_)) => Asked::Place(told.map_or(0, |shown| shown.order)),
        (_, asked) => asked,
    }
}

fn at(serial: &Serial, venue: Venue, order: u64, sequence: u64) -> Option<Shown> {
    let states = serial.orders.get(&(venue, order))?;
    let after = states.partition_point(|(from, _)| *from <= sequence);
    Some(states.get(after.checked_sub(1)?)?.1)
}

/// What was answered before something else was asked for stands before it.
fn real_time(done: &[Done], verdict: &mut Verdict) {
    let known = by_end(done);
    for one in done {
        if let Some(before) = newest_before(&known, one.begun).filter(|before| *before > one.sequence) {
            verdict.fault("answered before another began, and stands after it", &(before, one));
        }
    }
}

/// By the time at which it was known, the greatest sequence that was.
fn by_end(done: &[Done]) -> Vec<(u64, u64)> {
    let mut known: Vec<(u64, u64)> = done.iter().filter_map(|one| Some((one.ended?, one.sequence))).collect();
    known.sort_unstable();
    let mut newest = 0;
    for (_, sequence) in &mut known {
        newest = newest.max(*sequence);
        *sequence = newest;
    }
    known
}

fn newest_before(known: &[(u64, u64)], time: u64) -> Option<u64> {
    let count = known.partition_point(|(ended, _)| *ended < time);
    Some(known[count.checked_sub(1)?].1)
}

fn reads(history: &History, serial: &Serial, done: &[Done], verdict: &mut Verdict) {
    let known = by_end(done);
    let of = |host| done.iter().copied().filter(|one| one.host == Some(host)).collect::<Vec<_>>();
    let own: [_; HOSTS] = std::array::from_fn(|host| by_end(&of(host)));
    let term = |sequence: u64| serial.terms.partition_point(|(from, _)| *from <= sequence);
    let begun: BTreeMap<u64, u64> = done.iter().map(|one| (one.sequence, one.begun)).collect();
    // By client and host: the life, and what it has seen.
    let mut seen: BTreeMap<(u32, usize), (u32, u64)> = BTreeMap::new();
    let mut in_order: Vec<&Read> = history.reads.iter().collect();
    in_order.sort_by_key(|read| read.begun);
    for read in in_order {
        verdict.reads += 1;
        let Some((from, until)) = shown_through(serial, read.saw, |sequence| {
            begun.get(&sequence).is_none_or(|begun| *begun <= read.ended)
        }) else {
            verdict.fault("a read shows what never was", read);
            continue;
        };
        // What it shows was there from `from` on and no longer at `until`.
        let is_older = |than: u64| until <= than;
        if read.named.is_some_and(is_older) {
            verdict.fault("a read is older than the sequence that it names", &(read, from, until));
        }
        if begun.get(&from).is_some_and(|begun| *begun > read.ended) {
            verdict.fault("a read shows what was not asked for yet", &(read, from));
        }
        if read.is_leaders {
            verdict.leader_reads += 1;
            let lacks =
                |known: &[(u64, u64)]| newest_before(known, read.begun).filter(|newest| is_older(*newest));
            if let Some(newest) = lacks(&known) {
                // Who follows may answer an order that it carried before the leader shows it.
                match lacks(&own[read.host]).is_none() && term(newest) == term(until.saturating_sub(1)) {
                    true => verdict.behind_followers += 1,
                    false => verdict.fault(
                        "a leader's read lacks what was acknowledged before it",
                        &(read, until, newest),
                    ),
                }
            }
        } else if matches!(read.saw, Saw::Gone(..)) && until < u64::MAX {
            verdict.unheard += 1;
        }
        let before = seen.entry((read.client, read.host)).or_insert((read.life, 0));
        if is_older(before.1) {
            match before.0 == read.life {
                true => verdict.fault("a client's reads run back at one host", &(read, until, before.1)),
                false => verdict.back_over_starts += 1,
            }
            before.1 = 0;
        }
        // Of an order that is gone nobody says whether it was there.
        let from = if matches!(read.saw, Saw::Gone(..)) { 0 } else { from };
        *before = (read.life, before.1.max(from).max(read.named.unwrap_or(0)));
    }
}

/// From which sequence on it was so, and from which on no longer. `may_be_known`: whether a command had been asked for in time.
fn shown_through(serial: &Serial, saw: Saw, may_be_known: impl Fn(u64) -> bool) -> Option<(u64, u64)> {
    match saw {
        // Not yet, or no longer: what can be so at the later time counts.
        Saw::Gone(venue, order) => {
            let Some(states) = serial.orders.get(&(venue, order)) else { return Some((0, u64::MAX)) };
            let end = states.iter().find(|(_, shown)| !shown.status.is_open()).map(|(from, _)| *from);
            match end.filter(|end| may_be_known(*end)) {
                Some(end) => Some((end, u64::MAX)),
                None => Some((0, states.first()?.0)),
            }
        }
        Saw::Update(update) => {
            let index = serial.updates.partition_point(|(_, after)| *after < update);
            let (from, found) = *serial.updates.get(index)?;
            let until = serial.updates.get(index + 1).map_or(u64::MAX, |(from, _)| *from);
            (found == update).then_some((from, until))
        }
        Saw::Order(venue, shown) => {
            let states = serial.orders.get(&(venue, shown.order))?;
            let first = states.iter().position(|(_, state)| *state == shown)?;
            let last = states.iter().rposition(|(_, state)| *state == shown)?;
            let until = states.get(last + 1).map_or(u64::MAX, |(from, _)| *from);
            Some((states[first].0, until))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kills::Status;

    const WHO: Who = Who { venue: Venue::Perpetual, number: 1 };
    const SPOT: Who = Who { venue: Venue::Spot, number: 2 };

    fn shown(order: u64, status: Status, filled: i64) -> Shown {
        Shown { order, status, quantity: 100, filled }
    }

    fn call(who: Who, [begun, ended]: [u64; 2], asked: Asked, said: Said) -> Call {
        Call { who, host: 0, begun, ended, asked, said }
    }

    fn entry(sequence: u64, who: Who, asked: Asked, order: u64) -> Entry {
        Entry { sequence, who, asked, order, is_done: true }
    }

    fn read(client: u32, host: usize, [begun, ended]: [u64; 2], named: Option<u64>, update: u64) -> Read {
        let is_leaders = named.is_none();
        Read { client, host, life: 1, begun, ended, named, is_leaders, saw: Saw::Update(update) }
    }

    /// Places 1 and 2, cancels 1, an unknown 3 that happened and an unknown 4 that did not, a spot order; reads of a leader (host 0) and
    /// of a follower (host 1).
    fn sound() -> (History, Serial) {
        let open = |order| shown(order, Status::Open, 0);
        let serial = Serial {
            entries: vec![
                entry(10, WHO, Asked::Place(1), 101),
                entry(20, WHO, Asked::Place(2), 102),
                entry(30, WHO, Asked::Cancel(101), 101),
                entry(40, WHO, Asked::Place(3), 103),
                entry(50, SPOT, Asked::Place(0), 104),
            ],
            orders: [
                ((Venue::Perpetual, 101), vec![(10, open(101)), (30, shown(101, Status::Canceled, 0))]),
                ((Venue::Perpetual, 102), vec![(20, open(102)), (40, shown(102, Status::Filled, 100))]),
                ((Venue::Perpetual, 103), vec![(40, shown(103, Status::Filled, 100))]),
                ((Venue::Spot, 104), vec![(50, open(104))]),
            ]
            .into(),
            updates: vec![(1, 0), (10, 1), (20, 2), (30, 3), (40, 5)],
            terms: vec![(1, 1)],
        };
        let history = History {
            calls: vec![
                call(WHO, [100, 110], Asked::Place(1), Said::Told(open(101))),
                call(WHO, [120, 130], Asked::Place(2), Said::Refused),
                call(WHO, [140, 150], Asked::Place(2), Said::Told(open(102))),
                call(WHO, [160, 170], Asked::Cancel(101), Said::Told(shown(101, Status::Canceled, 0))),
                call(WHO, [180, 190], Asked::Place(3), Said::Unknown),
                call(WHO, [191, 192], Asked::Place(4), Said::Unknown),
                call(WHO, [193, 194], Asked::Cancel(101), Said::Refused),
                call(SPOT, [200, 210], Asked::Place(7), Said::Unknown),
                call(SPOT, [220, 230], Asked::Place(7), Said::Told(open(104))),
            ],
            reads: vec![
                read(1, 0, [111, 112], None, 1),
                read(1, 0, [155, 156], None, 2),
                // May show what is on its way.
                read(1, 0, [161, 162], None, 3),
                read(2, 1, [156, 157], Some(10), 1),
                read(2, 1, [175, 176], Some(30), 3),
                Read { saw: Saw::Gone(Venue::Perpetual, 101), ..read(4, 0, [165, 167], None, 0) },
                Read { saw: Saw::Gone(Venue::Perpetual, 103), ..read(4, 0, [175, 176], None, 0) },
                Read {
                    saw: Saw::Order(Venue::Perpetual, shown(102, Status::Filled, 100)),
                    ..read(3, 1, [240, 241], Some(40), 0)
                },
            ],
        };
        (history, serial)
    }

    #[test]
    fn a_sound_history_is_found_sound() {
        let (history, serial) = sound();
        let verdict = check(&history, &serial);
        assert_eq!(verdict.violations, Vec::<String>::new());
        assert_eq!((verdict.told, verdict.unknown, verdict.had_happened), (4, 3, 1));
        assert_eq!((verdict.reads, verdict.leader_reads), (8, 5));
    }

    /// Changes one thing of a sound history.
    type Plant = fn(&mut History, &mut Serial);

    #[test]
    fn every_kind_of_violation_is_found() {
        let plants: [(&str, Plant); 15] = [
            ("acknowledged, and not in the journal", |_, serial| {
                serial.entries.remove(1);
            }),
            ("acknowledged, and not in the journal", |_, serial| serial.entries[4].is_done = false),
            ("done more than once", |_, serial| {
                let again = Entry { sequence: 45, order: 105, ..serial.entries[1] };
                serial.entries.push(again);
            }),
            ("refused, and done all the same", |history, _| history.calls[4].said = Said::Refused),
            ("refused, and done all the same", |history, serial| {
                history.calls[5].said = Said::Refused;
                serial.entries.push(entry(45, WHO, Asked::Place(4), 105));
            }),
            ("done, and nobody asked for it", |_, serial| {
                serial.entries.push(entry(45, WHO, Asked::Place(9), 105));
            }),
            ("done, and nobody asked for it", |_, serial| {
                serial.entries.push(entry(55, SPOT, Asked::Place(0), 105));
            }),
            ("an answer is not what replay gives", |history, _| {
                history.calls[0].said = Said::Told(shown(101, Status::PartiallyFilled, 10));
            }),
            // Order 2 was answered before the cancel of 1 was asked for.
            ("answered before another began, and stands after it", |_, serial| {
                serial.entries[1].sequence = 35;
                serial.orders.insert(
                    (Venue::Perpetual, 102),
                    vec![(35, shown(102, Status::Open, 0)), (40, shown(102, Status::Filled, 100))],
                );
            }),
            ("a leader's read lacks what was acknowledged before it", |history, _| {
                history.reads[1].saw = Saw::Update(1);
            }),
            ("a read is older than the sequence that it names", |history, _| {
                history.reads[4].named = Some(40)
            }),
            ("a client's reads run back at one host", |history, _| {
                history.reads[4] = Read { saw: Saw::Update(0), named: None, host: 1, ..history.reads[4] };
                history.reads[4].named = Some(1);
            }),
            ("a read shows what was not asked for yet", |history, _| history.reads[0].saw = Saw::Update(2)),
            // It was there, was acknowledged, and had not ended.
            ("a leader's read lacks what was acknowledged before it", |history, _| {
                history.reads[1] =
                    Read { saw: Saw::Gone(Venue::Perpetual, 102), client: 9, ..history.reads[1] };
            }),
            ("a read shows what never was", |history, _| history.reads[0].saw = Saw::Update(4)),
        ];
        for (index, (words, plant)) in plants.into_iter().enumerate() {
            let (mut history, mut serial) = sound();
            plant(&mut history, &mut serial);
            let verdict = check(&history, &serial);
            let is_found = verdict.violations.iter().any(|violation| violation.starts_with(words));
            assert!(is_found, "plant {index}, {words}: {:#?}", verdict.violations);
        }
    }

    #[test]
    fn a_host_that_follows_may_not_have_heard_of_an_order() {
        let (mut history, serial) = sound();
        let gone = Saw::Gone(Venue::Perpetual, 102);
        history.reads[1] =
            Read { saw: gone, named: Some(10), host: 1, client: 9, is_leaders: false, ..history.reads[1] };
        let verdict = check(&history, &serial);
        assert_eq!((verdict.violated, verdict.unheard), (0, 1));
        history.reads[1].named = Some(20);
        assert_eq!(check(&history, &serial).violated, 1, "it names a sequence at which it had");
    }

    #[test]
    fn a_host_that_was_started_anew_may_begin_behind() {
        let (mut history, serial) = sound();
        history.reads[4] = Read { saw: Saw::Update(0), named: Some(1), ..history.reads[4] };
        assert_eq!(check(&history, &serial).violated, 1);
        history.reads[4].life = 2;
        let verdict = check(&history, &serial);
        assert_eq!((verdict.violated, verdict.back_over_starts), (0, 1));
    }
}
