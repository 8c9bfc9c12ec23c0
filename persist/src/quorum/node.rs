//! One member: what `raft` decides, carried out on this member's journal. No thread, no socket, no clock: whoever runs it brings
//! messages and ticks, and takes messages away.
//!
//! - A member that follows writes the leader's batches and syncs them before it says so.
//! - A member that leads has a journaller; what that writes is proposed here while its own disk takes it ([`Link`]), and what two of three
//!   have is agreed on, whichever two: this member counts itself once its disk has it.
//!   Its term begins with a batch that says nothing: once that is agreed on, so is all before it, and only then is the engine started.
//! - A member that was leading and leads no more ends: its engine is ahead of what is agreed on. It is opened anew, as after a restart.
//!
//! - A member whose next batch the leader no longer has is told so ([`Node::wants`]). It goes on, and whoever runs it fetches the
//!   files of another ([`crate::quorum::install`]); once they are here it ends, to be opened anew on them.
//!
//! A member that starts says nothing in elections, and begins none, for as long as the longest wait for one: before it went it may
//! have promised a leader not to.

use crate::config::{PersistConfig, Term};
use crate::error::PersistError;
use crate::quorum::install::Fetched;
use crate::quorum::lease::Lease;
use crate::quorum::link::Link;
use crate::quorum::log::{AT_ONCE, Found, Log, Whole, sequence_at};
use crate::quorum::members::{self, Members};
use crate::storage::Storage;
use crate::storage::disk::Lock;
use crate::write::status::{JournalStatus, Position};
use raft::eraftpb::{Entry, EntryType, HardState, Message, MessageType};
use raft::{Config, Progress, ProgressState, RawNode, SnapshotStatus, StateRole};
use ringside_core::gate::GateMode;
use ringside_core::ids::Sequence;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Ticks from one heartbeat to the next.
const HEARTBEAT: usize = 3;
/// Ticks without a leader after which an election begins: drawn from this up to twice as many.
const ELECTION: usize = 15;
/// Ticks for which a member that starts keeps out of elections.
const SILENCE: usize = 2 * ELECTION;
/// Bytes of batches in a message, unless one batch alone is longer.
const MESSAGE_LEN: u64 = 1 << 20;
/// Messages on their way to a member at most: heartbeats wait behind them, and must not wait as long as an election does. What is made
/// meanwhile goes with the next one.
const IN_FLIGHT: usize = 16;
/// Ticks after which a member that is to fetch the files is told so again, or asked how far it has come.
const REMIND: usize = 50;

/// Who a member is.
#[derive(Clone, Debug)]
pub struct Membership {
    /// Its number.
    pub member: u64,
    /// All members, as the settings name them: as long as nothing else stands in the journal.
    pub members: Members,
    /// Decides how long it waits before elections.
    pub seed: u64,
}

/// What a member does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It holds what the leader sends; the leader's number, if there is one.
    Follows(Option<u64>),
    /// It leads, and everything in its journal is agreed on: its engine is to be started with this.
    Elected(Term),
    /// It leads, and its engine runs.
    Leads,
    /// It led, or another journal takes the place of its own: to be opened anew once its engine is stopped.
    Ended,
}

/// How a member fares, as the leader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its number.
    pub member: u64,
    /// The last batch that it is known to have.
    pub has: u64,
    /// It was heard within the longest wait for an election.
    pub is_heard: bool,
    /// The leader no longer has what it needs.
    pub is_fetching: bool,
}

/// One member; see the module's header.
pub struct Node {
    raft: RawNode<Log>,
    link: Option<Arc<Link>>,
    is_ended: bool,
    out: Vec<Message>,
    /// Ticks that it still keeps out of elections.
    silent: usize,
    /// Up to which batch all is agreed on.
    agreed: u64,
    /// Its last batch and its term when it was opened.
    opened: (u64, u64),
    /// The batch behind which the leader has all, where it no longer has what comes next here.
    wanted: Option<u64>,
    /// Ticks since others were reminded.
    reminded: usize,
    ticks: u64,
    /// At which tick each other was heard last.
    heard: BTreeMap<u64, u64>,
    lease: Lease,
    now_ms: u64,
    random: u64,
    drawn: usize,
    /// What the wait for the next election was drawn for.
    drawn_for: (u64, StateRole, u64),
    /// The last term in which another was told to begin an election at once, whomever its voters hear: whenever that arrives.
    called: u64,
    /// What `raft` gave out while this member's own disk takes it: its numbers, and the last batch of each.
    unconfirmed: VecDeque<(u64, u64)>,
    /// Bytes of batches that were heard and are not written, or are to be sent.
    in_hand: usize,
    _lock: Lock,
}

impl Node {
    /// Opens the member whose locked folder is `storage`. Without threads (`is_threaded` false) the same calls do the same.
    ///
    /// Errors: the folder is no member's, or another's; a mode in which replies do not wait for the disk; damage; I/O.
    pub fn open(
        storage: Arc<dyn Storage>,
        lock: Lock,
        config: &PersistConfig,
        engine_version: u32,
        membership: &Membership,
        is_threaded: bool,
    ) -> Result<Node, PersistError> {
        let refuse = |reason: String| Err(PersistError::Member { reason });
        if config.mode != GateMode::Durable {
            return refuse("members acknowledge what is synced: set `acknowledge` to durable".to_owned());
        }
        let log = Log::open(storage, config, engine_version, &membership.members, is_threaded)?;
        let member = membership.member;
        if log.vote().member != member {
            return refuse(format!(
                "this folder is that of member {}, and this is started as member {member}",
                log.vote().member
            ));
        }
        let settings = Config {
            id: member,
            election_tick: ELECTION,
            heartbeat_tick: HEARTBEAT,
            max_size_per_msg: MESSAGE_LEN,
            max_inflight_msgs: IN_FLIGHT,
            applied: log.applied(),
            check_quorum: true,
            pre_vote: true,
            ..Config::default()
        };
        let silent_logger = slog::Logger::root(slog::Discard, slog::o!());
        let raft = RawNode::new(&settings, log, &silent_logger).map_err(broken)?;
        let agreed = raft.raft.raft_log.committed;
        let opened = (raft.store().last(), raft.raft.term);
        let mut node = Node {
            raft,
            link: None,
            is_ended: false,
            out: Vec::new(),
            silent: SILENCE,
            agreed,
            opened,
            wanted: None,
            reminded: 0,
            ticks: 0,
            heard: BTreeMap::new(),
            lease: Lease::default(),
            now_ms: 0,
            random: membership.seed,
            drawn: 0,
            drawn_for: (u64::MAX, StateRole::Follower, 0),
            called: 0,
            unconfirmed: VecDeque::new(),
            in_hand: 0,
            _lock: lock,
        };
        node.draw();
        node.show();
        Ok(node)
    }

    /// What it does now.
    pub fn role(&self) -> Role {
        let raft = &self.raft.raft;
        if self.is_ended {
            Role::Ended
        } else if self.link.is_some() {
            Role::Leads
        } else if raft.state != StateRole::Leader {
            Role::Follows((raft.leader_id != 0).then_some(raft.leader_id))
        } else if self.agreed == self.log().last() && self.term_at(self.agreed) == raft.term {
            // Terms fit: they are epochs, and a batch of this one was written.
            Role::Elected(Term { number: raft.term as u32, index: self.agreed })
        } else {
            Role::Follows(None)
        }
    }

    /// Its number.
    pub fn member(&self) -> u64 {
        self.raft.raft.id
    }

    /// Its term.
    pub fn term(&self) -> u64 {
        self.raft.raft.term
    }

    /// The last batch in its journal, and the last that is agreed on as far as it knows.
    pub fn batches(&self) -> (u64, u64) {
        (self.log().last(), self.agreed)
    }

    /// The last command that is agreed on as far as it knows.
    pub fn sequence(&self) -> Sequence {
        sequence_at(self.log().at(self.agreed))
    }

    /// How its disk fares, and up to where its journal may be read: while it follows.
    pub fn status(&self) -> Arc<JournalStatus> {
        self.log().status()
    }

    /// Id of the cluster, which is its journal's.
    pub fn cluster(&self) -> [u8; 16] {
        self.log().vote().cluster
    }

    /// Whether an engine can follow the journal: it is known that everything was agreed on that anybody was told of before this term.
    pub fn has_journal(&self) -> bool {
        let (last, term) = self.opened;
        // Of what was agreed on when it went it may have forgotten how far that was.
        let is_known = self.agreed >= last || self.term() > term;
        self.agreed > 0 && self.term_at(self.agreed) == self.term() && is_known
    }

    /// Gives the journal up to a leader's engine, which it is elected to start. `wake` is called when there is something to do here.
    pub fn lead(&mut self, wake: Box<dyn Fn() + Send + Sync>) -> Arc<Link> {
        assert!(matches!(self.role(), Role::Elected(_)), "only who is elected leads");
        let at = self.log().at(self.agreed);
        let position = at.map_or(Position { segment: 0, offset: 0 }, |at| at.position());
        self.raft.mut_store().lend();
        let link = Arc::new(Link::new(wake, position, self.term()));
        self.link = Some(link.clone());
        link
    }

    /// It is so late, in milliseconds of a clock that never runs back: what is sent from here on is sent then, or later.
    pub fn set_time(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
    }

    /// Until when no other can have been elected, by that clock; 0 where it does not lead, or hands the lead over.
    pub fn lease_until_ms(&self) -> u64 {
        let raft = &self.raft.raft;
        let hands_over = raft.lead_transferee.is_some() || self.called == raft.term;
        match raft.state == StateRole::Leader && !hands_over && !self.is_ended {
            true => self.lease.until_ms(&self.raft),
            false => 0,
        }
    }

    /// Hands the lead over to member `to`, who votes, or to the one that has most: nothing is proposed any more, and once that one has
    /// everything it is elected at once. False: this one does not lead, or nobody answers. Where that one does not come to have everything
    /// this member leads on, a wait for an election later; where it was called to be elected and is not, this member leads no more: the
    /// call may arrive at any time. What comes of it [`Node::role`] says.
    pub fn hand_over(&mut self, to: Option<u64>) -> bool {
        if self.raft.raft.state != StateRole::Leader || self.is_ended {
            return false;
        }
        let Some(to) = self.heir(|id| to.is_none_or(|to| to == id)) else { return false };
        self.raft.transfer_leader(to);
        true
    }

    /// Of the others who vote and answer, and for whom `is_wanted`, the one that has most.
    fn heir(&self, is_wanted: impl Fn(u64) -> bool) -> Option<u64> {
        let raft = &self.raft.raft;
        let voters = raft.prs().conf().voters();
        let is_able = |(id, progress): &(&u64, &Progress)| {
            **id != raft.id && progress.recent_active && voters.contains(**id) && is_wanted(**id)
        };
        let most = raft.prs().iter().filter(is_able).max_by_key(|(_, progress)| progress.matched);
        most.map(|(id, _)| *id)
    }

    /// Whom the lead is to be handed over to because this member's disk is short of room, before it takes cancels alone: one whose disk
    /// has room.
    pub fn roomier(&self) -> Option<u64> {
        let raft = &self.raft.raft;
        let leads = self.link.is_some() && !self.is_ended && raft.state == StateRole::Leader;
        if !leads || raft.lead_transferee.is_some() || !self.is_short_of_room() {
            return None;
        }
        self.heir(|id| self.lease.has_room(id, raft.term))
    }

    fn is_short_of_room(&self) -> bool {
        match &self.link {
            Some(link) => link.is_short_of_room(),
            None => self.log().status().is_short_of_room(),
        }
    }

    /// Ten milliseconds have passed.
    pub fn tick(&mut self) {
        if self.is_ended {
            return;
        }
        self.ticks += 1;
        if self.silent > 0 {
            self.silent -= 1;
            return;
        }
        self.raft.tick();
        let raft = &mut self.raft.raft;
        if self.called == raft.term && raft.state == StateRole::Leader && raft.lead_transferee.is_none() {
            raft.become_follower(raft.term, 0);
        }
        self.remind();
        self.draw();
    }

    /// A message that is lost, and an install that ends where nobody hears of it, leave no trace: so it is said again.
    fn remind(&mut self) {
        self.reminded += 1;
        if self.reminded < REMIND {
            return;
        }
        self.reminded = 0;
        let raft = &self.raft.raft;
        if raft.state != StateRole::Leader {
            return;
        }
        let is_told = |(_, progress): &(&u64, &Progress)| progress.state == ProgressState::Snapshot;
        let told: Vec<u64> = raft.prs().iter().filter(is_told).map(|(id, _)| *id).collect();
        for id in told {
            self.raft.report_snapshot(id, SnapshotStatus::Failure);
        }
    }

    /// A message of another member. What does not fit is passed over.
    pub fn step(&mut self, mut message: Message) {
        let kind = message.get_msg_type();
        self.heard.insert(message.from, self.ticks);
        let is_of_election = matches!(kind, MessageType::MsgRequestVote | MessageType::MsgRequestPreVote);
        let is_local = raft::raw_node::is_local_msg(kind);
        if self.is_ended || is_local || self.silent > 0 && is_of_election {
            return;
        }
        self.lease.hear(&message, self.term());
        if kind == MessageType::MsgAppend {
            // What type it is of its batch says, and nobody else.
            for entry in message.mut_entries().iter_mut().filter(|entry| members::is_change(&entry.data)) {
                let whole = Whole { block: entry.take_context(), batch: entry.take_data() };
                entry.entry_type = EntryType::EntryConfChangeV2;
                whole.put(entry);
            }
        }
        if kind == MessageType::MsgSnapshot && !self.has_place(&mut message) {
            return;
        }
        // As if it had been lost: it comes again, and may find room.
        if kind == MessageType::MsgAppend && !self.log().has_room_for(&message.entries) {
            return;
        }
        self.in_hand += message.entries.iter().map(|entry| entry.data.len()).sum::<usize>();
        // A message of a member that is none, or that answers nothing.
        let _ = self.raft.step(message);
        self.in_hand += self.log().take_sent();
        self.draw();
    }

    /// Whether enough was heard for [`Node::work`]: nothing more is to be heard before.
    pub fn has_enough(&self) -> bool {
        self.in_hand >= AT_ONCE
    }

    /// Whether its own journal goes on from the place that the leader has all behind. If so the leader is answered, else the files are
    /// wanted.
    fn has_place(&mut self, message: &mut Message) -> bool {
        let id = self.raft.raft.id;
        let metadata = message.mut_snapshot().mut_metadata();
        let (index, term) = (metadata.index, metadata.term);
        if index <= self.agreed || index <= self.log().last() && self.term_at(index) == term {
            // Who is in no set of members is answered nothing.
            metadata.mut_conf_state().voters = vec![id];
            return true;
        }
        if message.term >= self.term() && self.link.is_none() {
            self.wanted = Some(index);
        }
        false
    }

    /// The leader no longer has what comes next here: files are wanted that reach to this batch at least.
    pub fn wants(&self) -> Option<u64> {
        // It may have come another way.
        self.wanted.filter(|index| *index > self.agreed && !self.is_ended && self.link.is_none())
    }

    /// What was fetched takes the place of the journal, if it reaches far enough: then this ends, to be opened anew. False: it is
    /// fetched again, if it is still wanted.
    ///
    /// Errors: the disk.
    pub fn adopt(&mut self, fetched: &Fetched) -> Result<bool, PersistError> {
        // Everything that it ever said it has is in what is agreed on up to there, or was never agreed on.
        let least = self.wants().map(|index| index.max(self.log().last()));
        if self.raft.raft.state == StateRole::Leader || least.is_none_or(|least| fetched.index < least) {
            return Ok(false);
        }
        self.raft.mut_store().adopt(fetched)?;
        self.end();
        Ok(true)
    }

    /// The members, as far as is agreed on here.
    pub fn members(&self) -> &Members {
        self.log().members(self.agreed)
    }

    /// Who it is that hears from this one while it leads, and how far each is; nothing while it does not.
    pub fn standings(&self) -> Vec<Standing> {
        let raft = &self.raft.raft;
        if raft.state != StateRole::Leader || self.is_ended {
            return Vec::new();
        }
        let standing = |(id, progress): (&u64, &Progress)| Standing {
            member: *id,
            has: if *id == raft.id { self.log().durable() } else { progress.matched },
            is_heard: *id == raft.id
                || self.heard.get(id).is_some_and(|heard| self.ticks - heard <= SILENCE as u64),
            is_fetching: progress.state == ProgressState::Snapshot,
        };
        let mut standings: Vec<_> = raft.prs().iter().map(standing).collect();
        standings.sort_by_key(|standing| standing.member);
        standings
    }

    /// Whether a change of members may be written by the leader's journaller now: one at a time.
    pub fn takes_change(&self) -> bool {
        let raft = &self.raft.raft;
        let is_leading = self.link.is_some() && !self.is_ended && raft.state == StateRole::Leader;
        is_leading && !raft.has_pending_conf() && raft.lead_transferee.is_none()
    }

    /// Up to where its files are agreed on, and the last command there; nothing where nothing is.
    pub fn agreed(&self) -> Option<(Position, Sequence)> {
        let at = self.log().at(self.agreed.min(self.log().durable()))?;
        Some((at.position(), at.last.sequence))
    }

    /// Member `id` cannot be reached: nothing was sent to it.
    pub fn is_unreachable(&mut self, id: u64) {
        if !self.is_ended {
            self.raft.report_unreachable(id);
        }
    }

    /// Carries out what is decided; what is to be sent stands in [`Node::messages`]. Whether there was anything.
    ///
    /// Errors: the disk; a leader's batch that does not follow. Nothing is done any more then.
    pub fn work(&mut self) -> Result<bool, PersistError> {
        if self.is_ended {
            return Ok(false);
        }
        self.in_hand = 0;
        let mut is_any = self.propose()?;
        self.confirm()?;
        while !self.is_ended && self.raft.has_ready() {
            is_any = true;
            self.ready()?;
            self.confirm()?;
        }
        self.log().take_failure().map_or(Ok(is_any), Err)
    }

    /// What is to be sent to others.
    pub fn messages(&mut self) -> Vec<Message> {
        let (now_ms, is_short) = (self.now_ms, self.is_short_of_room());
        self.out.iter_mut().for_each(|message| Lease::stamp(message, now_ms, is_short));
        if self.out.iter().any(|message| message.get_msg_type() == MessageType::MsgTimeoutNow) {
            self.called = self.term();
        }
        std::mem::take(&mut self.out)
    }

    fn log(&self) -> &Log {
        self.raft.store()
    }

    fn term_at(&self, index: u64) -> u64 {
        self.log().at(index).map_or(0, |at| u64::from(at.term))
    }

    /// Whether a batch waits for the engine to have applied it: it is to be asked again soon.
    pub fn waits_for_engine(&self) -> bool {
        !self.is_ended && self.link.as_ref().is_some_and(|link| link.waits_for_engine())
    }

    /// Counts what this member's own disk has by now.
    fn confirm(&mut self) -> Result<(), PersistError> {
        let Some(link) = &self.link else { return Ok(()) };
        self.raft.mut_store().synced(link.local());
        let durable = self.log().durable();
        while let Some((number, _)) = self.unconfirmed.pop_front_if(|(_, last)| *last <= durable) {
            self.raft.on_persist_ready(number);
        }
        self.raft.mut_store().agree(self.agreed)
    }

    /// Proposes what the journaller has made.
    fn propose(&mut self) -> Result<bool, PersistError> {
        let Some(link) = &self.link else { return Ok(false) };
        if self.raft.raft.state != StateRole::Leader {
            self.end();
            return Ok(true);
        }
        if self.raft.raft.lead_transferee.is_some() {
            // It would be refused. Where the other does not come to lead it goes on.
            return Ok(false);
        }
        let (until, given) = link.take();
        let found = self.raft.mut_store().found(until, given)?;
        let is_any = !found.is_empty();
        for batch in found {
            let next = self.raft.raft.raft_log.last_index() + 1;
            assert_eq!(batch.index, next, "a leader's batches are proposed in turn");
            let proposed = match batch.change {
                None => {
                    let Found { context, data, .. } = batch;
                    let entry = Entry { context, data, ..Entry::default() };
                    let (msg_type, entries) = (MessageType::MsgPropose, vec![entry].into());
                    self.raft.step(Message {
                        msg_type,
                        entries,
                        from: self.raft.raft.id,
                        ..Message::default()
                    })
                }
                // It would be taken for one that opens a term.
                Some(_) if self.raft.raft.has_pending_conf() => Err(raft::Error::ProposalDropped),
                Some(change) => {
                    let whole = Whole { block: batch.context, batch: batch.data };
                    self.raft.propose_conf_change(whole.context(), change)
                }
            };
            // What is refused is refused because others lead.
            if proposed.is_err() {
                self.end();
                return Ok(true);
            }
        }
        Ok(is_any)
    }

    fn ready(&mut self) -> Result<(), PersistError> {
        let mut ready = self.raft.ready();
        self.out.append(&mut ready.take_messages());
        if self.link.is_some() && self.raft.raft.state != StateRole::Leader {
            // Its journaller may be writing. What others decided it hears again once it is opened anew.
            self.end();
            return Ok(());
        }
        if let Some(state) = ready.hs() {
            let state: HardState = state.clone();
            self.raft.mut_store().keep(&state)?;
        }
        let entries: Vec<Entry> = ready.take_entries();
        self.raft.mut_store().append(&entries)?;
        self.out.append(&mut ready.take_persisted_messages());
        if self.link.is_some() {
            self.unconfirmed.push_back((ready.number(), self.log().last()));
            self.raft.advance_append_async(ready);
        } else {
            let mut light = self.raft.advance(ready);
            self.out.append(&mut light.take_messages());
        }
        let agreed = self.raft.raft.raft_log.committed;
        let changes: Vec<_> =
            self.log().changes(self.agreed, agreed).filter_map(Members::conf_change).collect();
        for change in changes {
            self.raft.apply_conf_change(&change).map_err(broken)?;
        }
        self.raft.advance_apply();
        if agreed > self.agreed {
            self.agreed = agreed;
            self.raft.mut_store().agree(agreed)?;
            self.show();
        }
        self.draw();
        Ok(())
    }

    /// Lets what is agreed on be read and shown.
    fn show(&mut self) {
        let Some(at) = self.log().at(self.agreed) else { return };
        match &self.link {
            Some(link) => link.agree(at.position(), at.last.sequence),
            None => self.log().status().show(at.position(), self.term()),
        }
    }

    fn end(&mut self) {
        self.is_ended = true;
        if let Some(link) = &self.link {
            link.lose();
        }
    }

    /// Draws how long it waits before it begins an election: of the seed, and anew whenever `raft` does.
    fn draw(&mut self) {
        let raft = &mut self.raft.raft;
        let now = (raft.term, raft.state, raft.leader_id);
        if now != self.drawn_for {
            self.drawn_for = now;
            // Numbers in the manner of splitmix64.
            self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = self.random;
            word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            self.drawn = ELECTION + ((word ^ word >> 31) % ELECTION as u64) as usize;
        }
        if raft.randomized_election_timeout() != self.drawn {
            raft.set_randomized_election_timeout(self.drawn);
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(link) = &self.link {
            link.lose();
        }
    }
}

fn broken(error: raft::Error) -> PersistError {
    PersistError::Member { reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quorum::vote;
    use crate::storage::faulty::Faulty;

    #[test]
    fn no_more_is_heard_than_is_answered_for_at_once() {
        let storage: Arc<dyn Storage> = Arc::new(Faulty::new(1));
        vote::init(storage.as_ref(), 2, Some([7; 16])).unwrap();
        let config = PersistConfig { segment_len: 64 << 10, ..PersistConfig::new("") };
        let members = Members::of_settings([1, 2, 3].map(|id| {
            (id, members::Member { address: format!("{id}:1"), key: [id as u8; 32], is_voter: true })
        }));
        let membership = Membership { member: 2, members, seed: 1 };
        let mut node = Node::open(storage, Lock::default(), &config, 1, &membership, false).unwrap();
        let batch = |index, len| {
            let entry = Entry { term: 1, index, data: vec![0; len].into(), ..Entry::default() };
            let (msg_type, entries) = (MessageType::MsgAppend, vec![entry].into());
            let log_term = u64::from(index > 1);
            Message {
                msg_type,
                from: 1,
                to: 2,
                term: 1,
                log_term,
                index: index - 1,
                entries,
                ..Message::default()
            }
        };
        node.step(batch(1, AT_ONCE - 4096));
        assert!(!node.has_enough(), "a few that came together are written together");
        node.step(batch(2, 4096));
        assert!(node.has_enough());
    }
}
