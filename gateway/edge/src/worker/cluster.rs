//! What operators see of the cluster that this host is a member of, and how they have its members changed. The thread that carries the
//! consensus says the one and does the other.

use parking_lot::Mutex;
use ringside_mirror::members::Member;
use tokio::sync::oneshot;

/// A change that an operator asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// One more, who votes once it has everything.
    Add(Member),
    /// One less.
    Remove(u64),
    /// Another leads.
    Transfer(u64),
}

/// A change, and who waits for what comes of it.
pub struct Ask {
    /// Which.
    pub change: Change,
    /// Told once it is agreed on; of a transfer once it is begun.
    pub answer: oneshot::Sender<Result<(), String>>,
}

/// A member, as this one sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Who.
    pub member: Member,
    /// It counts in majorities.
    pub is_voter: bool,
    /// Messages to it are on their way.
    pub is_connected: bool,
    /// What the leader knows of it: the last batch that it has, that it answers, that it fetches the files of another.
    pub standing: Option<(u64, bool, bool)>,
}

/// The cluster, as this member sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    /// Its own number.
    pub me: u64,
    /// The term that it knows of.
    pub term: u64,
    /// Who leads.
    pub leader: Option<u64>,
    /// The last batch in its journal, and the last that is agreed on.
    pub batches: (u64, u64),
    /// All members.
    pub members: Vec<Seen>,
}

/// Takes changes.
pub type Take = Box<dyn Fn(Ask) + Send>;

/// Between the routes and whoever carries the member.
#[derive(Default)]
pub struct Control {
    sight: Mutex<Option<Sight>>,
    take: Mutex<Option<Take>>,
}

impl Control {
    /// The cluster; nothing where this host is of none.
    pub fn sight(&self) -> Option<Sight> {
        self.sight.lock().clone()
    }

    /// Has a change made; nothing where nobody takes it now.
    pub fn ask(&self, change: Change) -> Option<oneshot::Receiver<Result<(), String>>> {
        let (answer, answered) = oneshot::channel();
        let take = self.take.lock();
        take.as_ref()?(Ask { change, answer });
        Some(answered)
    }

    /// Shows this from now on.
    pub fn show(&self, sight: Sight) {
        *self.sight.lock() = Some(sight);
    }

    /// Hands changes to somebody, or to nobody.
    pub fn taken_by(&self, take: Option<Take>) {
        *self.take.lock() = take;
    }
}
