//! Whose engine is wrong, where engines told different things: each member says what its own told, and more than half of those who vote
//! are right.
//!
//! The journal is sound whoever is wrong: it is agreed on as bytes. So who is wrong ends, and begins anew from what the journal leads
//! to; who is right goes on. Where no half agrees nobody knows, and all end: what is replayed from disks is a further opinion.
//!
//! A leader that others differ from does not go on for long where nobody settles it: what it tells clients may be wrong.
//!
//! This file knows no network and no clock: whoever runs it brings what others say and milliseconds, and sends what is to be said.

use ringside_core::ids::Sequence;
use ringside_core::sums::{Opinion, Stretch, Sums};
use std::collections::BTreeMap;

/// Questions that are remembered: each is one difference.
const QUESTIONS: usize = 64;
/// How long until something is said again that may have been lost, in milliseconds.
const AGAIN_MS: u64 = 200;
/// How long a leader goes on while others differ from it, and nobody settles that, in milliseconds.
const UNSETTLED_MS: u64 = 1_000;

/// What a member says to all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saying {
    /// What its engine told.
    pub opinion: Opinion,
    /// It does not know yet who is right: the others are to say theirs.
    pub asks: bool,
}

/// What is known of who is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing, or it is not this one who is wrong.
    GoesOn,
    /// This one is to end, and why.
    Ends(String),
}

/// One for each opening of a member.
#[derive(Debug, Default)]
pub struct Divergence {
    questions: BTreeMap<(Sequence, Sequence), Question>,
}

#[derive(Debug)]
struct Question {
    told: Stretch,
    /// By member, as far as they said it.
    said: BTreeMap<u64, u64>,
    asked_at_ms: u64,
    /// When this member may say its own next.
    next_ms: u64,
    /// Somebody asked since it said its own.
    is_asked: bool,
    is_settled: bool,
}

impl Divergence {
    fn question(&mut self, told: Stretch, now_ms: u64) -> &mut Question {
        let key = (told.through, told.after);
        if self.questions.len() >= QUESTIONS && !self.questions.contains_key(&key) {
            self.questions.pop_first();
        }
        self.questions.entry(key).or_insert_with(|| Question {
            told,
            said: BTreeMap::new(),
            asked_at_ms: now_ms,
            next_ms: now_ms,
            is_asked: true,
            is_settled: false,
        })
    }

    /// A member says what its engine told.
    pub fn hear(&mut self, from: u64, Saying { opinion, asks }: Saying, now_ms: u64) {
        let question = self.question(opinion.told, now_ms);
        // What it was told is part of the question: a second one about the same place says something else was told.
        if question.told == opinion.told {
            question.said.insert(from, opinion.own);
            question.is_asked |= asks;
        }
    }

    /// Asks where this member doubts, answers where others do, and judges. `sums` are what its engine told, `voters` who counts.
    pub fn work(
        &mut self,
        member: u64,
        sums: &Sums,
        voters: &[u64],
        leads: bool,
        now_ms: u64,
    ) -> (Vec<Saying>, Verdict) {
        // Whoever carries the consensus waits for no engine.
        let Some(mut sums) = sums.try_lock() else { return (Vec::new(), Verdict::GoesOn) };
        let doubt = sums.doubt();
        if let Some(doubt) = doubt {
            self.question(doubt.told, now_ms);
        }
        let mut sayings = Vec::new();
        for question in self.questions.values_mut() {
            if let Some(Opinion { own, .. }) = sums.opinion(question.told) {
                question.said.insert(member, own);
            }
            let Some(&own) = question.said.get(&member) else { continue };
            let opinion = Opinion { told: question.told, own };
            let verdict = question.judge(own, voters);
            let is_doubted = question.said.values().any(|said| *said != own);
            if verdict == Some(true) {
                if doubt.is_some_and(|doubt| doubt.told == question.told) {
                    sums.settle();
                }
                question.is_settled = true;
            }
            if verdict == Some(false) {
                // The others may not know yet.
                sayings.push(Saying { opinion, asks: false });
                return (sayings, Verdict::Ends(question.fault(own)));
            }
            let is_unsettled = verdict.is_none() && is_doubted;
            if leads && is_unsettled && now_ms >= question.asked_at_ms + UNSETTLED_MS {
                return (sayings, Verdict::Ends(question.fault(own)));
            }
            let asks = !question.is_settled;
            // The leader who is wrong may have heard none of those that settled it.
            let goes_on = question.told.sum != own && sums.is_settled();
            if (asks || question.is_asked || goes_on) && now_ms >= question.next_ms {
                (question.next_ms, question.is_asked) = (now_ms + AGAIN_MS, false);
                sayings.push(Saying { opinion, asks });
            }
        }
        (sayings, Verdict::GoesOn)
    }
}

impl Question {
    /// Whether `own` is right; `None` as long as it is not known.
    fn judge(&self, own: u64, voters: &[u64]) -> Option<bool> {
        let said = || voters.iter().filter_map(|voter| self.said.get(voter));
        let is_most = |sum: &&u64| 2 * said().filter(|other| other == sum).count() > voters.len();
        match said().find(is_most) {
            Some(sum) => Some(*sum == own),
            None if said().count() == voters.len() => Some(false),
            None => None,
        }
    }

    fn fault(&self, own: u64) -> String {
        let Stretch { after, through, sum } = self.told;
        let said: Vec<String> =
            self.said.iter().map(|(member, sum)| format!("{member}: {sum:016x}")).collect();
        format!(
            "this member's engine told something else than the others': the events of commands {} to {through} come to {own:016x} \
             here, the leader told {sum:016x}, and by member it is {}; its memory or disk may be at fault",
            after + 1,
            said.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringside_core::event::{Done, Event};
    use std::ops::Range;
    use zerocopy::FromZeros;

    const VOTERS: [u64; 3] = [1, 2, 3];

    struct Member {
        sums: Sums,
        divergence: Divergence,
    }

    /// Three members through command 5, of which `wrong` told something else of the last one.
    fn members(wrong: &[u64]) -> Vec<Member> {
        let of = |id: u64| {
            let sums = Sums::since(1);
            for sequence in 1..=5 {
                let is_wrong = sequence == 5 && wrong.contains(&id);
                let done = Done { order: if is_wrong { id } else { 0 }, ..Done::new_zeroed() };
                sums.lock().event(&Event::new(sequence, 0, 0, done));
            }
            Member { sums, divergence: Divergence::default() }
        };
        VOTERS.map(of).into()
    }

    /// The first leads, and the others have compared; everything said comes through, but from and to `away`. Who ends.
    fn settle(members: &mut [Member], away: &[u64], rounds: Range<u64>) -> Vec<u64> {
        let told = members[0].sums.lock().newest();
        for member in &mut members[1..] {
            let mut sums = member.sums.lock();
            if let Some(opinion) = sums.compare(told) {
                sums.set_doubt(opinion);
            }
        }
        let mut ended: Vec<u64> = Vec::new();
        for round in rounds {
            for id in VOTERS {
                if away.contains(&id) || ended.contains(&id) {
                    continue;
                }
                let Member { sums, divergence } = &mut members[id as usize - 1];
                let (sayings, verdict) = divergence.work(id, sums, &VOTERS, id == 1, 10 * round);
                for to in VOTERS.into_iter().filter(|to| *to != id && !away.contains(to)) {
                    for saying in &sayings {
                        members[to as usize - 1].divergence.hear(id, *saying, 10 * round);
                    }
                }
                if let Verdict::Ends(reason) = verdict {
                    assert!(reason.contains("commands 1 to 5"), "{reason}");
                    ended.push(id);
                }
            }
        }
        ended
    }

    #[test]
    fn whoever_differs_from_the_two_others_ends_and_they_go_on() {
        for wrong in VOTERS {
            let mut members = members(&[wrong]);
            assert_eq!(settle(&mut members, &[], 0..30), [wrong]);
            let doubts =
                VOTERS.map(|id| id != wrong && members[id as usize - 1].sums.lock().doubt().is_some());
            assert_eq!(doubts, [false; 3], "those who are right know it");
        }
        assert_eq!(settle(&mut members(&[]), &[], 0..30), [0; 0]);
    }

    #[test]
    fn a_leader_that_did_not_hear_how_it_was_settled_is_told_again() {
        let mut members = members(&[1]);
        assert_eq!(settle(&mut members, &[1], 0..5), [0; 0]);
        let is_known = |at: usize| members[at].sums.lock().is_settled();
        assert!(is_known(1) && is_known(2), "the two others know it");
        assert_eq!(settle(&mut members, &[], 5..60), [1]);
        // Of another one that tells they know nothing.
        for (at, sums) in members.iter().enumerate().skip(1).map(|(at, member)| (at, &member.sums)) {
            let mut sums = sums.lock();
            sums.begin_to_tell();
            assert!(!sums.is_settled(), "{at}");
        }
    }

    #[test]
    fn where_no_two_agree_all_end() {
        let mut ended = settle(&mut members(&[1, 2]), &[], 0..30);
        ended.sort();
        assert_eq!(ended, VOTERS);
    }

    #[test]
    fn where_nobody_settles_it_the_leader_ends_after_a_while() {
        let mut members = members(&[2]);
        assert_eq!(settle(&mut members, &[3], 0..90), [0; 0], "the third may come");
        assert!(members[1].sums.lock().doubt().is_some());
        assert_eq!(settle(&mut members, &[3], 90..110), [1], "and the one that doubts stands still");
        assert!(members[1].sums.lock().doubt().is_some());
        // The one that was away has it.
        let mut members = self::members(&[2]);
        settle(&mut members, &[3], 0..70);
        assert_eq!(settle(&mut members, &[], 70..120), [2]);
    }

    #[test]
    fn who_has_not_come_there_says_it_later_and_who_has_settled_it_says_it_again() {
        let mut members = members(&[2]);
        let ahead = Stretch { after: 5, through: 6, sum: 8 };
        let Member { sums, divergence } = &mut members[2];
        divergence.hear(2, Saying { opinion: Opinion { told: ahead, own: 7 }, asks: true }, 0);
        assert_eq!(divergence.work(3, sums, &VOTERS, false, 0).0, []);
        sums.lock().event(&Event::new(6, 0, 0, Done::new_zeroed()));
        let (sayings, _) = divergence.work(3, sums, &VOTERS, false, 10);
        let own = sums.lock().opinion(ahead).unwrap().own;
        assert_eq!(sayings, [Saying { opinion: Opinion { told: ahead, own }, asks: true }]);
        divergence.hear(1, Saying { opinion: Opinion { told: ahead, own }, asks: false }, 20);
        assert_eq!(divergence.work(3, sums, &VOTERS, false, 20).0, [], "it is settled");
        divergence.hear(2, Saying { opinion: Opinion { told: ahead, own: 7 }, asks: true }, 300);
        let (sayings, _) = divergence.work(3, sums, &VOTERS, false, 300);
        assert_eq!(sayings, [Saying { opinion: Opinion { told: ahead, own }, asks: false }]);
        assert_eq!(divergence.work(3, sums, &VOTERS, false, 600).0, [], "nobody asks");
    }
}
