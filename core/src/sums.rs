//! What an engine told, as one number that grows with every command: engines that got the same commands and told otherwise differ in it.
//!
//! The sum through one command less that through an earlier one is a sum of the commands between them: those who began to count at
//! different commands compare stretches. Every sum of the last [`KEPT`] commands is kept, since others ask for those of a while ago.
//!
//! Not against anybody who wants to be equal: a sum of hashes finds what memory and mistakes do.

use crate::event::{Event, Kind};
use crate::ids::Sequence;
use std::ops::RangeInclusive;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use xxhash_rust::xxh3::xxh3_64_with_seed;
use zerocopy::IntoBytes;

/// Commands whose sums are kept.
pub const KEPT: usize = 1 << 16;

/// A sum through a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventSum {
    /// The first command that is counted, from 1 on; 0: nobody counts.
    pub since: Sequence,
    /// The last one.
    pub through: Sequence,
    /// The sum of their events.
    pub sum: u64,
}

/// What one engine says of a stretch of commands of which another told the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opinion {
    /// Which, and what was told.
    pub told: Stretch,
    /// What it is by this engine.
    pub own: u64,
}

/// The sum of the commands after one through another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The command before the first.
    pub after: Sequence,
    /// The last one.
    pub through: Sequence,
    /// The sum of their events.
    pub sum: u64,
}

/// The sums of one engine. Share it in an `Arc`: the engine's thread counts, others ask.
#[derive(Debug)]
pub struct Sums(Mutex<Counting>);

impl Sums {
    /// Counts from this command on.
    pub fn since(since: Sequence) -> Sums {
        assert!(since > 0, "sequences begin at 1");
        let last = since - 1;
        Sums(Mutex::new(Counting {
            since,
            first: last,
            last,
            through: vec![0; KEPT].into_boxed_slice(),
            before: 0,
            told: EventSum::default(),
            agreed: last..=last,
            doubt: None,
            is_settled: false,
            under_way: 0,
        }))
    }

    /// To count, or to ask.
    pub fn lock(&self) -> MutexGuard<'_, Counting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same without waiting; nothing while the engine's thread counts.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, Counting>> {
        match self.0.try_lock() {
            Ok(counting) => Some(counting),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// Sums, while they are locked.
#[derive(Debug)]
pub struct Counting {
    /// What is told to others counts from this command on.
    since: Sequence,
    /// Sums are known through this one, through `last`, and between.
    first: Sequence,
    last: Sequence,
    /// By sequence modulo [`KEPT`].
    through: Box<[u64]>,
    /// The sum through the command before `since`.
    before: u64,
    /// What another told last.
    told: EventSum,
    /// Behind the first of these, through the last, all was compared and was the same.
    agreed: RangeInclusive<Sequence>,
    doubt: Option<Opinion>,
    /// The one who told last is known to be wrong: what that one goes on to tell says nothing.
    is_settled: bool,
    /// Of the command whose events are coming.
    under_way: u64,
}

impl Counting {
    /// Takes the next event.
    #[inline]
    pub fn event(&mut self, event: &Event) {
        self.under_way = xxh3_64_with_seed(event.as_bytes(), self.under_way);
        if event.kind == Kind::Done as u16 {
            debug_assert_eq!(event.sequence, self.last + 1, "commands come in order");
            let own = std::mem::take(&mut self.under_way);
            self.end(own);
        }
    }

    /// The next command is passed over.
    pub fn skip(&mut self) {
        self.under_way = 0;
        self.end(0);
    }

    fn end(&mut self, own: u64) {
        let sum = self.through[self.last as usize % KEPT].wrapping_add(own);
        self.last += 1;
        self.through[self.last as usize % KEPT] = sum;
        self.first = self.first.max((self.last + 1).saturating_sub(KEPT as u64));
    }

    fn through(&self, sequence: Sequence) -> Option<u64> {
        (self.first..=self.last).contains(&sequence).then(|| self.through[sequence as usize % KEPT])
    }

    /// What comes is told to others from here on: they compare from where they compared last with who told before, where that is known.
    pub fn begin_to_tell(&mut self) {
        let after = match self.through(self.told.through) {
            Some(_) if self.told.since > 0 && !self.is_settled => self.told.through,
            _ => self.last,
        };
        (self.since, self.before) = (after + 1, self.through[after as usize % KEPT]);
        self.is_settled = false;
    }

    /// The sum through a command, as it is told to others; where it is still known.
    pub fn at(&self, sequence: Sequence) -> Option<EventSum> {
        let sum = self.through(sequence)?.wrapping_sub(self.before);
        (sequence >= self.since).then_some(EventSum { since: self.since, through: sequence, sum })
    }

    /// The sum through the last command.
    pub fn newest(&self) -> EventSum {
        self.at(self.last).unwrap_or_default()
    }

    /// Compares with what another told, from what the same one told last on, or from where it began to count. `None` where this engine
    /// told the same, or there is nothing to compare with: the commands are too long ago, or it is known that the other is wrong.
    pub fn compare(&mut self, told: EventSum) -> Option<Opinion> {
        if told.since == 0 || self.doubt.is_some() || told == self.told {
            return None;
        }
        let before = std::mem::replace(&mut self.told, told);
        let (after, sum) = match before.since == told.since {
            true => (before.through, told.sum.wrapping_sub(before.sum)),
            false => {
                // It is another one who tells.
                self.is_settled = false;
                (told.since - 1, told.sum)
            }
        };
        let told = Stretch { after, through: told.through, sum };
        let own = self.own(&told)?;
        if own == sum {
            let is_next = *self.agreed.end() == after;
            self.agreed = if is_next { *self.agreed.start() } else { after }..=told.through;
            return None;
        }
        (!self.is_settled).then_some(Opinion { told, own })
    }

    fn own(&self, stretch: &Stretch) -> Option<u64> {
        let (before, through) = (self.through(stretch.after)?, self.through(stretch.through)?);
        Some(through.wrapping_sub(before))
    }

    /// What this engine says of a stretch that another asks for. `None`: it has not come there yet, or cannot say any more.
    pub fn opinion(&self, told: Stretch) -> Option<Opinion> {
        let was_agreed = *self.agreed.start() <= told.after && told.through <= *self.agreed.end();
        let own = self.own(&told).or(was_agreed.then_some(told.sum))?;
        Some(Opinion { told, own })
    }

    /// Whether another told the same through this command, as far as others tell anything.
    pub fn is_confirmed(&self, sequence: Sequence) -> bool {
        let is_compared = self.told.since == 0 || *self.agreed.end() >= sequence;
        self.doubt.is_none() && !self.is_settled && is_compared
    }

    /// Nothing is compared until it is known who is right.
    pub fn set_doubt(&mut self, doubt: Opinion) {
        self.doubt = Some(doubt);
    }

    /// What it is not known of who is right.
    pub fn doubt(&self) -> Option<Opinion> {
        self.doubt
    }

    /// Whether the one who told last is known to be wrong.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// This engine was right: what the other goes on to tell says nothing.
    pub fn settle(&mut self) {
        (self.doubt, self.is_settled) = (None, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Done;
    use zerocopy::FromZeros;

    fn done(sequence: Sequence, order: u64) -> Event {
        Event::new(sequence, 0, 0, Done { order, ..Done::new_zeroed() })
    }

    fn counted(since: Sequence, through: Sequence) -> Sums {
        let sums = Sums::since(since);
        (since..=through).for_each(|sequence| sums.lock().event(&done(sequence, 1)));
        sums
    }

    #[test]
    fn those_who_began_elsewhere_can_compare() {
        let (leader, late, early) = (counted(10, 50), counted(30, 60), counted(1, 60));
        let told = |at| leader.lock().at(at).unwrap();
        // What began before knows what the first word means; what began later compares from there.
        for (sums, is_known) in [(&late, false), (&early, true)] {
            for (at, is_confirmed) in [(40, is_known), (50, true)] {
                assert_eq!(sums.lock().compare(told(at)), None);
                assert_eq!(sums.lock().is_confirmed(at), is_confirmed, "through {at}");
            }
            // Nothing new, what is still to come, and from one who does not count.
            for told in [told(50), EventSum { through: 61, ..told(50) }, EventSum::default()] {
                assert_eq!(sums.lock().compare(told), None);
                assert!(!sums.lock().is_confirmed(51));
            }
        }
    }

    #[test]
    fn one_event_that_is_another_is_seen_and_by_whom() {
        let (leader, other) = (counted(1, 9), counted(1, 9));
        let told = |sums: &Sums| sums.lock().newest();
        assert_eq!(other.lock().compare(told(&leader)), None);
        leader.lock().event(&done(10, 1));
        other.lock().event(&done(10, 2));
        for sums in [&leader, &other] {
            sums.lock().event(&done(11, 1));
        }
        let at_11 = told(&leader);
        let opinion = other.lock().compare(at_11).expect("it differs");
        let stretch = opinion.told;
        assert_eq!((stretch.after, stretch.through), (9, 11));
        assert_eq!(leader.lock().opinion(stretch), Some(Opinion { told: stretch, own: stretch.sum }));
        assert_eq!(other.lock().opinion(stretch), Some(opinion));
        // Until it is known who is right nothing is compared, and then not by what that one says.
        other.lock().set_doubt(opinion);
        leader.lock().event(&done(12, 2));
        other.lock().event(&done(12, 3));
        assert_eq!(other.lock().compare(told(&leader)), None);
        other.lock().settle();
        assert_eq!(other.lock().doubt(), None);
        assert_eq!(other.lock().compare(told(&leader)), None);
        // Another one that tells is not known to be wrong.
        leader.lock().begin_to_tell();
        leader.lock().event(&done(13, 1));
        other.lock().event(&done(13, 2));
        let opinion = other.lock().compare(told(&leader)).expect("it differs");
        assert_eq!(opinion.told.after, 12);
    }

    #[test]
    fn who_comes_to_tell_goes_on_where_the_one_before_was_compared_with() {
        let (leader, next, third) = (counted(1, 9), counted(5, 12), counted(7, 12));
        let told = leader.lock().newest();
        next.lock().compare(told);
        third.lock().compare(told);
        next.lock().begin_to_tell();
        next.lock().event(&done(13, 1));
        third.lock().event(&done(13, 1));
        let told = next.lock().newest();
        assert_eq!((told.since, told.through), (10, 13), "10 to 12 were told by nobody");
        assert_eq!(third.lock().compare(told), None);
        assert_eq!(third.lock().agreed, 9..=13);
        // Where nothing was compared it begins with what comes.
        let alone = counted(5, 12);
        alone.lock().begin_to_tell();
        assert_eq!(alone.lock().newest(), EventSum::default());
        alone.lock().event(&done(13, 1));
        assert_eq!(alone.lock().newest().since, 13);
    }

    #[test]
    fn what_is_long_ago_is_answered_by_what_was_agreed_on() {
        let (leader, other) = (counted(1, 5), counted(1, 5));
        let told = leader.lock().at(4).unwrap();
        assert_eq!(other.lock().compare(told), None);
        let end = 6 + KEPT as u64;
        (6..=end).for_each(|sequence| other.lock().event(&done(sequence, 1)));
        assert_eq!(other.lock().compare(EventSum { through: 5, ..told }), None);
        let stretch = Stretch { after: 2, through: 4, sum: 77 };
        assert_eq!(other.lock().opinion(stretch), Some(Opinion { told: stretch, own: 77 }));
        for (after, through) in [(2, 5), (end - 5, end + 1)] {
            assert_eq!(other.lock().opinion(Stretch { after, through, sum: 77 }), None);
        }
        // A command that is passed over adds nothing.
        let before = other.lock().newest();
        other.lock().skip();
        assert_eq!(other.lock().newest(), EventSum { through: end + 1, ..before });
    }
}
