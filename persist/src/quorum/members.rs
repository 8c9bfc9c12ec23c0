//! Who the members of a cluster are: an entry of the journal beside the commands, which the engine never sees. It stands there
//! whole after each change, with what the change was, so that snapshots, copies and restores carry it; a journal without it is that
//! of a cluster whose members are those of the settings.
//!
//! ```text
//!   0 version u16 | 2 count u16 | 4 what u16 | 6 zero u16 | 8 whom u64 | 16 highest u64 (number that any member ever had)
//!  24 of each, by number: id u64 | flags u16 (bit 0: it votes) | length of address u16 | zero u32 | key [32] | address
//! ```
//!
//! | What | Whom | raft's word |
//! |---|---|---|
//! | 1 | comes, without a vote | AddLearnerNode |
//! | 2 | votes from now on | AddNode |
//! | 3 | goes, and had a vote | RemoveNode |
//! | 4 | goes, and had none | RemoveNode |
//!
//! One change at a time, in a batch of its own: each two majorities of the sets before and after it have a member in common. A number is
//! given once: whoever comes with an empty disk is somebody else.

use crate::format::record::{self, HEADER_LEN, SIDE, SIDE_HEAD_LEN};
use raft::eraftpb::{ConfChangeSingle, ConfChangeType, ConfChangeV2, ConfState};
use ringside_core::side::{SideEntry, SideStore};
use std::collections::BTreeMap;

/// Kind of the entry; those of others are far below.
pub const KIND: u16 = 0xfff0;
const ID: &[u8] = b"members";
const VERSION: u16 = 1;
/// Members at most.
pub const MEMBERS_MAX: usize = 64;
/// Bytes of an address at most.
pub const ADDRESS_MAX: usize = 200;

/// A member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Host and port at which it listens for the others.
    pub address: String,
    /// SHA-256 of its public key.
    pub key: [u8; 32],
    /// Whether it votes, and counts in majorities.
    pub is_voter: bool,
}

/// What a change was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
enum What {
    Comes = 1,
    Votes = 2,
    VoterGoes = 3,
    LearnerGoes = 4,
}

/// All members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    all: BTreeMap<u64, Member>,
    highest: u64,
    /// The change that led to them, and whom it was about.
    change: Option<(What, u64)>,
}

/// Why members cannot be changed so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoChange {
    /// Numbers are given once.
    #[error("{0} was a member's number already: give the next that never was, {1} or higher")]
    Used(u64, u64),
    /// One key, one member.
    #[error("member {0} has this key")]
    Key(u64),
    /// It is none.
    #[error("there is no member {0}")]
    Unknown(u64),
    /// It is what it was to become.
    #[error("member {0} votes already")]
    Votes(u64),
    /// Somebody has to.
    #[error("member {0} is the last that votes")]
    Last(u64),
    /// More than there may be, or a longer address.
    #[error("a cluster has at most {MEMBERS_MAX} members, with addresses of at most {ADDRESS_MAX} bytes")]
    TooLong,
}

impl Members {
    /// Members that all vote, as the settings name them.
    pub fn of_settings(members: impl IntoIterator<Item = (u64, Member)>) -> Members {
        let all: BTreeMap<u64, Member> = members.into_iter().collect();
        let highest = all.keys().next_back().copied().unwrap_or(0);
        Members { all, highest, change: None }
    }

    /// Without one who is named there and is none yet.
    pub(crate) fn but(&self, id: u64) -> Members {
        let mut members = self.clone();
        members.all.remove(&id);
        members
    }

    /// What stands beside the commands of them.
    pub fn of(side: &SideStore) -> Option<Members> {
        side.get(KIND, ID).and_then(Members::decode)
    }

    /// All, by number.
    pub fn all(&self) -> &BTreeMap<u64, Member> {
        &self.all
    }

    /// Numbers of those that vote.
    pub fn voters(&self) -> Vec<u64> {
        self.numbers(true)
    }

    /// Numbers of those that do not.
    pub fn learners(&self) -> Vec<u64> {
        self.numbers(false)
    }

    fn numbers(&self, votes: bool) -> Vec<u64> {
        self.all.iter().filter(|(_, member)| member.is_voter == votes).map(|(id, _)| *id).collect()
    }

    /// With one more, who does not vote yet.
    ///
    /// Errors: as [`NoChange`] says.
    pub fn with(&self, id: u64, address: &str, key: [u8; 32]) -> Result<Members, NoChange> {
        if id <= self.highest {
            return Err(NoChange::Used(id, self.highest + 1));
        }
        if let Some((other, _)) = self.all.iter().find(|(_, member)| member.key == key) {
            return Err(NoChange::Key(*other));
        }
        if self.all.len() == MEMBERS_MAX || address.len() > ADDRESS_MAX {
            return Err(NoChange::TooLong);
        }
        let mut all = self.all.clone();
        all.insert(id, Member { address: address.to_owned(), key, is_voter: false });
        Ok(Members { all, highest: id, change: Some((What::Comes, id)) })
    }

    /// With a vote for one who had none.
    ///
    /// Errors: as [`NoChange`] says.
    pub fn with_vote(&self, id: u64) -> Result<Members, NoChange> {
        let mut members = Members { change: Some((What::Votes, id)), ..self.clone() };
        let member = members.all.get_mut(&id).ok_or(NoChange::Unknown(id))?;
        if std::mem::replace(&mut member.is_voter, true) {
            return Err(NoChange::Votes(id));
        }
        Ok(members)
    }

    /// Without one.
    ///
    /// Errors: as [`NoChange`] says.
    pub fn without(&self, id: u64) -> Result<Members, NoChange> {
        let mut members = self.clone();
        let gone = members.all.remove(&id).ok_or(NoChange::Unknown(id))?;
        if members.voters().is_empty() {
            return Err(NoChange::Last(id));
        }
        members.change = Some((if gone.is_voter { What::VoterGoes } else { What::LearnerGoes }, id));
        Ok(members)
    }

    /// The entry of the journal.
    pub fn entry(&self) -> SideEntry {
        let (what, whom) = self.change.map_or((0, 0), |(what, whom)| (what as u16, whom));
        let mut bytes = Vec::new();
        for number in [VERSION, self.all.len() as u16, what, 0] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(whom.to_le_bytes());
        bytes.extend(self.highest.to_le_bytes());
        for (id, Member { address, key, is_voter }) in &self.all {
            bytes.extend(id.to_le_bytes());
            bytes.extend(u16::from(*is_voter).to_le_bytes());
            bytes.extend((address.len() as u16).to_le_bytes());
            bytes.extend([0; 4]);
            bytes.extend(key);
            bytes.extend(address.as_bytes());
        }
        SideEntry::put(KIND, ID, bytes)
    }

    /// What an entry of the journal says, if it is about members.
    pub(crate) fn of_entry(entry: &SideEntry) -> Option<Members> {
        let is_theirs = entry.key.kind == KIND && entry.key.id == ID;
        entry.bytes.as_deref().filter(|_| is_theirs).and_then(Members::decode)
    }

    fn decode(bytes: &[u8]) -> Option<Members> {
        fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
            rest.split_off(..N)?.try_into().ok()
        }
        let mut rest = bytes;
        let mut short = || take(&mut rest).map(u16::from_le_bytes);
        let (version, count, what, zero) = (short()?, short()?, short()?, short()?);
        let whom = u64::from_le_bytes(take(&mut rest)?);
        let highest = u64::from_le_bytes(take(&mut rest)?);
        if version != VERSION || zero != 0 || usize::from(count) > MEMBERS_MAX {
            return None;
        }
        let mut all = BTreeMap::new();
        for _ in 0..count {
            let id = u64::from_le_bytes(take(&mut rest)?);
            let flags = u16::from_le_bytes(take(&mut rest)?);
            let len = usize::from(u16::from_le_bytes(take(&mut rest)?));
            let zero: [u8; 4] = take(&mut rest)?;
            let key = take(&mut rest)?;
            let address = String::from_utf8(rest.split_off(..len)?.to_vec()).ok()?;
            let is_next = id > all.keys().next_back().copied().unwrap_or(0);
            if !is_next || id > highest || flags > 1 || zero != [0; 4] || len > ADDRESS_MAX {
                return None;
            }
            all.insert(id, Member { address, key, is_voter: flags == 1 });
        }
        let is_voter = all.get(&whom).map(|member: &Member| member.is_voter);
        let change = match (what, is_voter) {
            (0, _) if whom == 0 => None,
            (1, Some(false)) => Some((What::Comes, whom)),
            (2, Some(true)) => Some((What::Votes, whom)),
            (3, None) => Some((What::VoterGoes, whom)),
            (4, None) => Some((What::LearnerGoes, whom)),
            _ => return None,
        };
        let members = Members { all, highest, change };
        (rest.is_empty() && !members.voters().is_empty()).then_some(members)
    }

    /// As raft knows them.
    pub(crate) fn conf_state(&self) -> ConfState {
        ConfState { voters: self.voters(), learners: self.learners(), ..ConfState::default() }
    }

    /// As raft knew them before the change.
    pub(crate) fn conf_state_before(&self) -> ConfState {
        let mut before = self.conf_state();
        match self.change {
            Some((What::Comes, whom)) => before.learners.retain(|id| *id != whom),
            Some((What::Votes, whom)) => {
                before.voters.retain(|id| *id != whom);
                before.learners.push(whom);
            }
            Some((What::VoterGoes, whom)) => before.voters.push(whom),
            Some((What::LearnerGoes, whom)) => before.learners.push(whom),
            None => {}
        }
        before
    }

    /// The change, as raft knows it: of one that was none, nothing.
    pub(crate) fn conf_change(&self) -> Option<ConfChangeV2> {
        let (what, node_id) = self.change?;
        let change_type = match what {
            What::Comes => ConfChangeType::AddLearnerNode,
            What::Votes => ConfChangeType::AddNode,
            What::VoterGoes | What::LearnerGoes => ConfChangeType::RemoveNode,
        };
        let single = ConfChangeSingle { change_type, node_id, ..ConfChangeSingle::default() };
        Some(ConfChangeV2 { changes: vec![single].into(), ..ConfChangeV2::default() })
    }
}

/// Whether a batch of the journal is a change of members, as far as its bytes say without being checked: they are when they are written.
pub(crate) fn is_change(batch: &[u8]) -> bool {
    let mut at = 0;
    while let Some(record) = batch.get(at..).filter(|record| record.len() >= HEADER_LEN) {
        let short = |at: usize| record.get(at..at + 2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
        if short(46) == Some(SIDE) && short(HEADER_LEN) == Some(KIND) {
            let id = record.get(HEADER_LEN + SIDE_HEAD_LEN..);
            return id.is_some_and(|id| id.starts_with(ID));
        }
        match record::len_at(record) {
            Some(len) if len > 0 => at += len,
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(number: u8) -> (u64, Member) {
        let member =
            Member { address: format!("host-{number}.example:7071"), key: [number; 32], is_voter: true };
        (u64::from(number), member)
    }

    fn three() -> Members {
        Members::of_settings([1, 2, 3].map(member))
    }

    fn numbers(state: &ConfState) -> (Vec<u64>, Vec<u64>) {
        let mut learners = state.learners.clone();
        let mut voters = state.voters.clone();
        learners.sort_unstable();
        voters.sort_unstable();
        (voters, learners)
    }

    #[test]
    fn each_change_says_what_was_before_it_and_comes_back_from_its_entry() {
        let with = three().with(4, "host-4.example:7071", [4; 32]).unwrap();
        let votes = with.with_vote(4).unwrap();
        let gone = votes.without(1).unwrap();
        let learner = gone.with(9, "host-9.example:7071", [9; 32]).unwrap();
        let sent_away = learner.without(9).unwrap();
        let all = [three(), with, votes, gone, learner, sent_away];
        for pair in all.windows(2) {
            assert_eq!(numbers(&pair[1].conf_state_before()), numbers(&pair[0].conf_state()));
            let change = pair[1].conf_change().expect("one change");
            assert_eq!((change.changes.len(), change.enter_joint(), change.leave_joint()), (1, None, false));
        }
        for members in &all {
            assert_eq!(Members::of_entry(&members.entry()).as_ref(), Some(members));
            let mut side = SideStore::default();
            side.apply(members.entry());
            assert_eq!(Members::of(&side).as_ref(), Some(members));
        }
        assert_eq!(numbers(&all[5].conf_state()), (vec![2, 3, 4], vec![]));
    }

    #[test]
    fn what_would_end_a_cluster_or_confuse_it_is_refused() {
        let three = three();
        assert_eq!(three.with(3, "x:1", [9; 32]), Err(NoChange::Used(3, 4)));
        assert_eq!(three.with(4, "x:1", [2; 32]), Err(NoChange::Key(2)));
        assert_eq!(three.with(4, &"x".repeat(ADDRESS_MAX + 1), [9; 32]), Err(NoChange::TooLong));
        assert_eq!(
            (three.with_vote(4), three.with_vote(3)),
            (Err(NoChange::Unknown(4)), Err(NoChange::Votes(3)))
        );
        assert_eq!(three.without(4), Err(NoChange::Unknown(4)));
        let one = three.without(1).unwrap().without(2).unwrap();
        assert_eq!(one.without(3), Err(NoChange::Last(3)));
        let learns = three.with(7, "x:1", [7; 32]).unwrap();
        let without = learns.without(7).unwrap();
        assert_eq!(without.with(7, "x:1", [8; 32]), Err(NoChange::Used(7, 8)), "a number is given once");
    }

    #[test]
    fn bytes_that_are_no_members_are_none() {
        let SideEntry { bytes, .. } = three().with(4, "four:1", [4; 32]).unwrap().entry();
        let bytes = bytes.unwrap();
        assert!(Members::decode(&bytes).is_some());
        for len in 0..bytes.len() {
            assert_eq!(Members::decode(&bytes[..len]), None, "{len}");
        }
        for (at, value) in [
            (0, 2),
            (2, 5),
            (4, 2),
            (4, 3),
            (4, 5),
            (6, 1),
            (8, 5),
            (8, 3),
            (16, 3),
            (24, 9),
            (32, 2),
            (36, 1),
        ] {
            let mut changed = bytes.clone();
            changed[at] = value;
            assert_eq!(Members::decode(&changed), None, "{value} at {at}");
        }
        let more = [&bytes[..], &[0]].concat();
        assert_eq!(Members::decode(&more), None);
    }
}
