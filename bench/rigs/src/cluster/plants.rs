//! Violations planted into a recorded history, one of each kind, so that a run shows that its checker would have found them.

use super::HOSTS;
use super::history::{Asked, Entry, History, Read, Said, Saw, Serial, Venue, check};

/// Plants one thing; `false` where the history has no place for it.
type Plant = fn(&mut History, &mut Serial) -> bool;

/// What [`check`] calls it, and how it is planted.
const PLANTS: [(&str, Plant); 11] = [
    ("acknowledged, and not in the journal", lost),
    ("done more than once", doubled),
    ("refused, and done all the same", refused),
    ("done, and nobody asked for it", invented),
    ("an answer is not what replay gives", changed),
    ("answered before another began, and stands after it", swapped),
    ("a read shows what never was", unheard_of),
    ("a read is older than the sequence that it names", misnamed),
    ("a read shows what was not asked for yet", foreseen),
    ("a leader's read lacks what was acknowledged before it", stale),
    ("a client's reads run back at one host", run_back),
];

/// Of each plant that the history, which holds, has a place for: whether it is found.
pub fn found(history: &History, serial: &Serial) -> Vec<(&'static str, bool)> {
    let mut all = Vec::new();
    for (words, plant) in PLANTS {
        let (mut history, mut serial) = (history.clone(), serial.clone());
        if plant(&mut history, &mut serial) {
            let verdict = check(&history, &serial);
            all.push((words, verdict.kinds.contains(words)));
        }
    }
    all
}

/// Where the entry of a perpetual order stands that a call was told of, and which call that is.
fn told(history: &History, serial: &Serial, nth: usize) -> Option<(usize, usize)> {
    let pairs = history.calls.iter().enumerate().filter_map(|(call, made)| {
        let is_told = matches!(made.said, Said::Told(_)) && matches!(made.asked, Asked::Place(_));
        let is_its = |entry: &Entry| entry.is_done && entry.who == made.who && entry.asked == made.asked;
        let is_wanted = is_told && made.who.venue == Venue::Perpetual;
        Some((call, serial.entries.iter().position(|entry| is_wanted && is_its(entry))?))
    });
    pairs.into_iter().nth(nth)
}

fn lost(history: &mut History, serial: &mut Serial) -> bool {
    let Some((_, entry)) = told(history, serial, 3) else { return false };
    serial.entries.remove(entry);
    true
}

fn doubled(history: &mut History, serial: &mut Serial) -> bool {
    let Some((_, entry)) = told(history, serial, 3) else { return false };
    let again = Entry { sequence: u64::MAX, order: u64::MAX, ..serial.entries[entry] };
    serial.entries.push(again);
    true
}

fn refused(history: &mut History, serial: &mut Serial) -> bool {
    let Some((call, _)) = told(history, serial, 3) else { return false };
    let (who, asked) = (history.calls[call].who, history.calls[call].asked);
    let tries = history.calls.iter_mut().filter(|call| call.who == who && call.asked == asked);
    tries.for_each(|call| call.said = Said::Refused);
    true
}

fn invented(history: &mut History, serial: &mut Serial) -> bool {
    let Some((_, entry)) = told(history, serial, 3) else { return false };
    let other = Entry { sequence: u64::MAX, asked: Asked::Place(u64::MAX), ..serial.entries[entry] };
    serial.entries.push(other);
    true
}

fn changed(history: &mut History, serial: &mut Serial) -> bool {
    let Some((call, _)) = told(history, serial, 3) else { return false };
    let Said::Told(shown) = &mut history.calls[call].said else { return false };
    shown.filled += 1;
    true
}

fn swapped(history: &mut History, serial: &mut Serial) -> bool {
    let Some((first, one)) = told(history, serial, 3) else { return false };
    let later = (4..).map_while(|nth| told(history, serial, nth));
    let after = history.calls[first].ended;
    let Some((_, other)) = later.into_iter().find(|(call, _)| history.calls[*call].begun > after) else {
        return false;
    };
    let sequence = serial.entries[one].sequence;
    serial.entries[one].sequence = serial.entries[other].sequence;
    serial.entries[other].sequence = sequence;
    true
}

/// One of the reads of the book that `is_it` says of, with the place of its update among all.
fn of_book(
    history: &History,
    serial: &Serial,
    is_it: impl Fn(&Read, usize) -> bool,
) -> Option<(usize, usize)> {
    history.reads.iter().enumerate().find_map(|(index, read)| {
        let Saw::Update(update) = read.saw else { return None };
        let place = serial.updates.iter().position(|(_, after)| *after == update)?;
        is_it(read, place).then_some((index, place))
    })
}

fn unheard_of(history: &mut History, serial: &mut Serial) -> bool {
    let Some((read, _)) = of_book(history, serial, |_, _| true) else { return false };
    history.reads[read].saw = Saw::Update(u64::MAX);
    true
}

fn misnamed(history: &mut History, serial: &mut Serial) -> bool {
    let is_followed = |read: &Read, place: usize| read.named.is_some() && place + 1 < serial.updates.len();
    let Some((read, place)) = of_book(history, serial, is_followed) else { return false };
    history.reads[read].named = Some(serial.updates[place + 1].0);
    true
}

fn foreseen(history: &mut History, serial: &mut Serial) -> bool {
    // The last update that a trader asked for.
    let asked = serial.updates.iter().rev().find(|(from, _)| {
        let entry = serial.entries.iter().find(|entry| entry.is_done && entry.sequence == *from);
        entry.is_some_and(|entry| entry.who.venue == Venue::Perpetual)
    });
    let Some((_, update)) = asked.copied() else { return false };
    let Some((read, _)) = of_book(history, serial, |_, _| true) else { return false };
    history.reads[read].saw = Saw::Update(update);
    true
}

/// A leader shows the book as it was at the beginning of what was recorded, though a later change of it was acknowledged.
fn stale(history: &mut History, serial: &mut Serial) -> bool {
    let first = serial.entries.first().map_or(0, |entry| entry.sequence);
    let before = serial.updates.partition_point(|(from, _)| *from < first);
    let (Some(place), Some((until, _))) = (before.checked_sub(1), serial.updates.get(before)) else {
        return false;
    };
    let known = |host: usize| {
        let told = history.calls.iter().filter(|call| {
            let is_its = |entry: &Entry| entry.is_done && entry.who == call.who && entry.asked == call.asked;
            let entry = serial.entries.iter().find(|entry| is_its(entry));
            let is_told = call.host == host && matches!(call.said, Said::Told(_));
            is_told && entry.is_some_and(|entry| entry.sequence >= *until)
        });
        told.map(|call| call.ended).min()
    };
    let known: [Option<u64>; HOSTS] = std::array::from_fn(known);
    let is_late =
        |read: &Read, _| read.is_leaders && known[read.host].is_some_and(|known| read.begun > known);
    let Some((read, _)) = of_book(history, serial, is_late) else { return false };
    history.reads[read].saw = Saw::Update(serial.updates[place].1);
    true
}

/// A client is shown, behind what it saw, what was there before.
fn run_back(history: &mut History, serial: &mut Serial) -> bool {
    let Some((read, place)) = of_book(history, serial, |_, place| place > 0) else { return false };
    let earlier = serial.updates[place - 1].1;
    let again = Read {
        begun: history.reads[read].ended,
        ended: history.reads[read].ended,
        named: Some(0),
        saw: Saw::Update(earlier),
        ..history.reads[read]
    };
    history.reads.push(again);
    true
}
