//! Until when a leader may show what it has as the newest there is: for as long as no other can have been elected.
//!
//! Who hears a leader votes for nobody else for a wait of an election at least. So a heartbeat carries when it was sent, by the leader's
//! own clock; an answer brings that back, and what more than half have answered was heard after it. The library's own lease would last
//! until it notices that nobody answers, up to two such waits: too long.
//!
//! An answer also says whether its member's disk is short of room, by a byte behind what it brings back.

use raft::RawNode;
use raft::eraftpb::{Message, MessageType};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// How long a lease lasts from the moment at which a heartbeat was sent that more than half answered, milliseconds: a tenth less than
/// the shortest wait for an election, and a tick, which a follower's count may begin before it.
const LASTS_MS: u64 = 125;
/// Says that a disk is short of room.
const SHORT: u8 = 1;

/// What a leader knows of its lease.
#[derive(Default)]
pub(crate) struct Lease {
    /// Of members, when the newest heartbeat was sent that they answered, milliseconds.
    answered: BTreeMap<u64, u64>,
    /// Of those the ones whose disks are short of room.
    short: BTreeSet<u64>,
    term: u64,
}

impl Lease {
    /// Notes on a heartbeat when it is sent, and on an answer that `is_short` of room who sends it.
    pub(crate) fn stamp(message: &mut Message, now_ms: u64, is_short: bool) {
        match message.get_msg_type() {
            MessageType::MsgHeartbeat if message.context.is_empty() => {
                message.context = now_ms.to_le_bytes().to_vec().into();
            }
            MessageType::MsgHeartbeatResponse if is_short && message.context.len() == size_of::<u64>() => {
                message.context = [&message.context[..], &[SHORT]].concat().into();
            }
            _ => {}
        }
    }

    /// Hears an answer in the term of this member.
    pub(crate) fn hear(&mut self, message: &Message, term: u64) {
        if message.get_msg_type() != MessageType::MsgHeartbeatResponse || message.term != term {
            return;
        }
        let Some((sent_ms, rest)) = message.context.split_first_chunk() else { return };
        if term != self.term {
            *self = Lease { term, ..Lease::default() };
        }
        match rest {
            [SHORT] => self.short.insert(message.from),
            _ => self.short.remove(&message.from),
        };
        let newest = self.answered.entry(message.from).or_default();
        *newest = u64::from_le_bytes(*sent_ms).max(*newest);
    }

    /// Whether member `id` has answered in this term that its disk has room.
    pub(crate) fn has_room(&self, id: u64, term: u64) -> bool {
        term == self.term && self.answered.contains_key(&id) && !self.short.contains(&id)
    }

    /// Until when it lasts, milliseconds of the same clock; 0: there is none. `raft` leads.
    pub(crate) fn until_ms<S: raft::Storage>(&self, raft: &RawNode<S>) -> u64 {
        let raft = &raft.raft;
        if raft.term != self.term {
            return 0;
        }
        let mut times: Vec<u64> = self.answered.values().copied().collect();
        times.sort_unstable_by(|one, other| other.cmp(one));
        let is_quorum = |at: &u64| {
            let late = self.answered.iter().filter(|(_, sent)| *sent >= at).map(|(id, _)| *id);
            let have: HashSet<u64, _> = late.chain([raft.id]).collect();
            raft.prs().has_quorum(&have)
        };
        times.into_iter().find(is_quorum).map_or(0, |sent_ms| sent_ms + LASTS_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_whether_there_is_room_in_its_term_alone() {
        let mut lease = Lease::default();
        let mut answer = |id, term, is_short| {
            let mut heartbeat = Message { msg_type: MessageType::MsgHeartbeat, ..Message::default() };
            Lease::stamp(&mut heartbeat, 40, is_short);
            let mut answer = Message { msg_type: MessageType::MsgHeartbeatResponse, ..heartbeat };
            (answer.from, answer.term) = (id, term);
            Lease::stamp(&mut answer, 90, is_short);
            lease.hear(&answer, term);
            assert_eq!(lease.answered[&id], 40, "when it was sent comes back as it was");
            [1, 2].map(|id| lease.has_room(id, term))
        };
        assert_eq!(answer(1, 3, false), [true, false]);
        assert_eq!(answer(2, 3, true), [true, false]);
        assert_eq!(answer(1, 3, true), [false, false]);
        assert_eq!(answer(2, 3, false), [false, true]);
        assert_eq!(answer(1, 4, false), [true, false], "another term, in which the other has said nothing");
        assert!(!lease.has_room(1, 5));
    }
}
