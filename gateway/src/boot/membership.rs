//! Changes of a cluster's members, on the thread that carries one of them: one at a time, none that would leave no majority of those
//! that answer. Whoever has come votes once it is less than a second behind.

use parking_lot::Mutex;
use ringside_edge::worker::cluster::{Ask, Change, Control, Seen, Sight};
use ringside_mirror::members::{Member, Mesh};
use ringside_persist::quorum::members::Members;
use ringside_persist::quorum::node::{Node, Role, Standing};
use ringside_persist::write::side::{Purpose, Receipt, SideWriter};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How far one may be behind to get a vote, and everybody while members are changed.
const BEHIND: Duration = Duration::from_secs(1);
/// How often it is noted how far all is agreed on.
const NOTED: Duration = Duration::from_millis(100);

/// A change that is written and not agreed on.
struct Pending {
    receipt: Receipt,
    /// It is agreed on: a receipt says that once.
    is_released: bool,
    answer: Option<oneshot::Sender<Result<(), String>>>,
}

/// What changes of members are written by, while this host leads.
#[derive(Default)]
pub(super) struct Writes(Mutex<Option<SideWriter>>);

impl Writes {
    pub(super) fn begin(&self, writer: SideWriter) {
        *self.0.lock() = Some(writer);
    }

    fn writer(&self) -> Option<SideWriter> {
        self.0.lock().clone()
    }
}

/// See the module.
pub(super) struct MemberChanges {
    control: Arc<Control>,
    writes: Arc<Writes>,
    /// Members as the settings name them.
    settings: Vec<Member>,
    pending: Option<Pending>,
    /// When how much was agreed on, oldest first, for a second.
    agreed: VecDeque<(Instant, u64)>,
    followed: Option<Members>,
}

impl MemberChanges {
    pub(super) fn new(control: Arc<Control>, writes: Arc<Writes>, settings: &[Member]) -> MemberChanges {
        MemberChanges {
            control,
            writes,
            settings: settings.to_vec(),
            pending: None,
            agreed: VecDeque::new(),
            followed: None,
        }
    }

    /// What an operator asks for. Whom they want to lead goes to `transfer`: what is under way is answered before.
    pub(super) fn ask(&mut self, node: &Node, ask: Ask, transfer: &Mutex<Option<u64>>) {
        let Ask { change, answer } = ask;
        let begun = match change {
            Change::Transfer(id) => self.check_transfer(node, id).map(|()| {
                *transfer.lock() = Some(id);
                None
            }),
            Change::Add(member) => self.add(node, &member).map(Some),
            Change::Remove(id) => self.remove(node, id).map(Some),
        };
        // Whoever asked may not wait any more.
        match begun.and_then(|members| members.map(|members| self.write(&members)).transpose()) {
            Ok(Some(receipt)) => {
                self.pending = Some(Pending { receipt, is_released: false, answer: Some(answer) })
            }
            Ok(None) => drop(answer.send(Ok(()))),
            Err(reason) => drop(answer.send(Err(reason))),
        }
    }

    /// Goes on with what is under way.
    pub(super) fn work(&mut self, node: &Node, mesh: &Mesh) {
        let now = Instant::now();
        let is_due = self.agreed.back().is_none_or(|(noted, _)| now - *noted >= NOTED);
        if is_due {
            self.agreed.push_back((now, node.batches().1));
            while self.agreed.get(1).is_some_and(|(noted, _)| now - *noted >= BEHIND) {
                self.agreed.pop_front();
            }
        }
        self.settle(node, mesh);
        if is_due && self.pending.is_none() && node.takes_change() {
            self.promote(node);
        }
        if self.followed.as_ref() != Some(node.members()) {
            self.follow(node.members(), mesh);
        }
        if is_due {
            self.control.show(self.sight(node, mesh));
        }
    }

    fn settle(&mut self, node: &Node, mesh: &Mesh) {
        let Some(mut pending) = self.pending.take() else { return };
        let is_lost = !pending.is_released
            && match pending.receipt.is_released() {
                Ok(is_released) => {
                    pending.is_released = is_released;
                    false
                }
                Err(_) => true,
            };
        let outcome = match matches!(node.role(), Role::Leads) && !is_lost {
            // It counts from the moment at which it is carried out here.
            true if pending.is_released && node.takes_change() => Ok(()),
            true => {
                self.pending = Some(pending);
                return;
            }
            false => Err("this member leads no more: whether it was agreed on the next leader's status says"
                .to_owned()),
        };
        if let Some(answer) = pending.answer {
            // Who looks next sees it.
            self.control.show(self.sight(node, mesh));
            // Whoever asked may not wait any more.
            let _ = answer.send(outcome);
        }
    }

    fn follow(&mut self, members: &Members, mesh: &Mesh) {
        let highest = members.all().keys().next_back().copied().unwrap_or(0);
        // Whoever the settings name beyond those comes, or was told of others than this one knows of yet.
        let later = self.settings.iter().filter(|member| member.id > highest).cloned();
        let all: Vec<_> =
            members.all().iter().map(|(id, agreed)| Member::of(*id, agreed)).chain(later).collect();
        match mesh.follow(&all) {
            Ok(()) => self.followed = Some(members.clone()),
            Err(error) => tracing::error!(%error, "connections do not follow the members"),
        }
    }

    fn write(&self, members: &Members) -> Result<Receipt, String> {
        let writer = self.writes.writer().ok_or("this member has not begun to lead")?;
        writer.append(vec![members.entry()], Purpose::Revokes).map_err(|error| error.to_string())
    }

    /// The last batch that somebody less than a second behind has.
    fn near(&self) -> Option<u64> {
        let (noted, agreed) = self.agreed.front()?;
        (noted.elapsed() >= BEHIND).then_some(*agreed)
    }

    /// Whether members can be changed now.
    fn check(&self, node: &Node) -> Result<(), String> {
        if !matches!(node.role(), Role::Leads) {
            let leader = match node.role() {
                Role::Follows(Some(leader)) => format!("member {leader} leads"),
                _ => "nobody leads as far as this member knows".to_owned(),
            };
            return Err(format!("this member does not lead: {leader}"));
        }
        if self.pending.is_some() || !node.takes_change() {
            return Err("another change is under way".to_owned());
        }
        Ok(())
    }

    /// Whether more than half of those that would vote answer.
    fn check_majority(node: &Node, next: &Members) -> Result<(), String> {
        let standings = node.standings();
        let is_heard = |id: &u64| standings.iter().any(|one| one.member == *id && one.is_heard);
        let voters = next.voters();
        let heard: Vec<u64> = voters.iter().copied().filter(is_heard).collect();
        match 2 * heard.len() > voters.len() {
            true => Ok(()),
            false => Err(format!(
                "of members {voters:?} that would vote only {heard:?} answer: nothing would be agreed on any more"
            )),
        }
    }

    fn check_learners(node: &Node, but: Option<u64>) -> Result<(), String> {
        match node.members().learners().into_iter().find(|id| Some(*id) != but) {
            Some(learner) => Err(format!(
                "member {learner} has come and is more than a second behind: wait for it, or remove it"
            )),
            None => Ok(()),
        }
    }

    fn add(&self, node: &Node, member: &Member) -> Result<Members, String> {
        self.check(node)?;
        MemberChanges::check_learners(node, None)?;
        let next = node.members().with(member.id, &member.address, member.key.bytes());
        let next = next.map_err(|error| error.to_string())?;
        MemberChanges::check_majority(node, &next)?;
        Ok(next)
    }

    fn remove(&self, node: &Node, id: u64) -> Result<Members, String> {
        self.check(node)?;
        if id == node.member() {
            return Err("this member leads: have another lead first (`cluster transfer`)".to_owned());
        }
        MemberChanges::check_learners(node, Some(id))?;
        let next = node.members().without(id).map_err(|error| error.to_string())?;
        MemberChanges::check_majority(node, &next)?;
        Ok(next)
    }

    fn check_transfer(&self, node: &Node, id: u64) -> Result<(), String> {
        self.check(node)?;
        let is_able = |one: &Standing| {
            one.member == id && one.is_heard && !one.is_fetching && Some(one.has) >= self.near()
        };
        if id == node.member() || !node.members().voters().contains(&id) {
            return Err(format!("member {id} leads already, or has no vote"));
        }
        if !node.standings().iter().any(is_able) {
            return Err(format!("member {id} does not answer, or is more than a second behind"));
        }
        Ok(())
    }

    /// Gives a vote to whoever has come and has almost everything.
    fn promote(&mut self, node: &Node) {
        let Some(near) = self.near() else { return };
        let standings = node.standings();
        let learners = node.members().learners();
        let is_near = |one: &&Standing| {
            learners.contains(&one.member)
                && one.is_heard
                && !one.is_fetching
                && one.has >= near
                && one.has > 0
        };
        let Some(learner) = standings.iter().find(is_near) else { return };
        let next = node.members().with_vote(learner.member).map_err(|error| error.to_string());
        let next = next.and_then(|next| MemberChanges::check_majority(node, &next).map(|()| next));
        match next.and_then(|next| self.write(&next)) {
            Ok(receipt) => {
                tracing::info!(member = learner.member, "has everything, and gets a vote");
                self.pending = Some(Pending { receipt, is_released: false, answer: None });
            }
            Err(reason) => tracing::warn!(member = learner.member, %reason, "gets no vote yet"),
        }
    }

    fn sight(&self, node: &Node, mesh: &Mesh) -> Sight {
        let standings = node.standings();
        let me = node.member();
        let seen = |(id, agreed): (&u64, &_)| {
            let member: Member = Member::of(*id, agreed);
            let standing = standings.iter().find(|one| one.member == *id);
            Seen {
                is_voter: node.members().voters().contains(id),
                is_connected: *id == me || mesh.is_connected(*id),
                standing: standing.map(|one| (one.has, one.is_heard, one.is_fetching)),
                member,
            }
        };
        Sight {
            me,
            term: node.term(),
            leader: match node.role() {
                Role::Follows(leader) => leader,
                Role::Elected(_) | Role::Leads => Some(me),
                Role::Ended => None,
            },
            batches: node.batches(),
            members: node.members().all().iter().map(seen).collect(),
        }
    }
}
