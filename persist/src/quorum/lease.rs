//! Until when a leader may show what it has as the newest there is: for as long as no other can have been elected.
//!
//! Who hears a leader votes for nobody else for a wait of an election at least. So a heartbeat carries when it was sent, by the leader's
//! own clock; an answer brings that back, and what more than half have answered was heard after it. The library's own lease would last
//! until it notices that nobody answers, up to two such waits: too long.

use raft::RawNode;
use raft::eraftpb::{Message, MessageType};
use std::collections::{BTreeMap, HashSet};

/// How long a lease lasts from the moment at which a heartbeat was sent that more than half answered, milliseconds: a tenth less than
/// the shortest wait for an election, and a tick, which a follower's count may begin before it.
const LASTS_MS: u64 = 125;

/// What a leader knows of its lease.
#[derive(Default)]
pub(crate) struct Lease {
    /// Of members, when the newest heartbeat was sent that they answered, milliseconds.
    answered: BTreeMap<u64, u64>,
    term: u64,
}

impl Lease {
    /// Notes on a heartbeat when it is sent.
    pub(crate) fn stamp(message: &mut Message, now_ms: u64) {
        if message.get_msg_type() == MessageType::MsgHeartbeat && message.context.is_empty() {
            message.context = now_ms.to_le_bytes().to_vec().into();
        }
    }

    /// Hears an answer in the term of this member.
    pub(crate) fn hear(&mut self, message: &Message, term: u64) {
        if message.get_msg_type() != MessageType::MsgHeartbeatResponse || message.term != term {
            return;
        }
        let Ok(sent_ms) = <[u8; 8]>::try_from(&message.context[..]) else { return };
        if term != self.term {
            (self.term, self.answered) = (term, BTreeMap::new());
        }
        let newest = self.answered.entry(message.from).or_default();
        *newest = u64::from_le_bytes(sent_ms).max(*newest);
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
