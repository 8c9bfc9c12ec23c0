//! What is kept for user streams ([`ringside_streams::kept`]), onto the disk and back: found at the start, made again of what the start
//! replays, written down behind the exchange. It holds nobody up, and a fault ends it alone: whoever comes back is told of a gap then.

use super::error::BootError;
use ringside_commands::clock::Clock;
use ringside_config::Config;
use ringside_core::agent::{Agent, Runner, Running};
use ringside_core::event::Event;
use ringside_core::ids::{AccountId, Sequence};
use ringside_core::ring::Wait;
use ringside_dialect::fapi::user::accounts_of;
use ringside_egress::{CommandEvents, Listener};
use ringside_persist::archive::ArchiveError;
use ringside_persist::archive::user_log::{UserChange, UserLog, UserRow};
use ringside_streams::kept::{KeptChange, KeptEvent, KeptEvents};
use ringside_streams::pusher::Pusher;
use ringside_streams::registry::SubscriptionRegistry;
use ringside_views::Views;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often steps are written down.
const EVERY: Duration = Duration::from_millis(50);
/// How often it is that nothing happened.
const MARK_EVERY: Duration = Duration::from_secs(1);

/// See the module.
pub(super) struct Keeper {
    registry: Arc<SubscriptionRegistry>,
    path: PathBuf,
    /// `None` until something is kept for the first time.
    log: Option<UserLog>,
    journal_id: [u8; 16],
    written_at: Instant,
}

impl Keeper {
    /// Finds what an earlier life kept and gives it to the registry. A file that cannot be read is begun anew.
    pub(super) fn open(config: &Config, clock: &Clock, registry: &Arc<SubscriptionRegistry>) -> Keeper {
        let path = config.data_dir.join("streams").join("users.db");
        let mut keeper = Keeper {
            registry: registry.clone(),
            path,
            log: None,
            journal_id: [0; 16],
            written_at: Instant::now(),
        };
        if keeper.path.exists()
            && let Err(error) = keeper.find(clock)
        {
            tracing::warn!(%error, "events kept for user streams cannot be read: clients that come back are told of a gap");
            keeper.log = None;
        }
        keeper
    }

    fn find(&mut self, clock: &Clock) -> Result<(), ArchiveError> {
        let log = self.log.insert(UserLog::open(&self.path)?);
        let rows = log.read()?;
        let events = rows.events.into_iter().map(|row| {
            let UserRow { account, number, time_ms, topics, name, data } = row;
            (account, KeptEvent { number, time_ms, topics, name: name.into(), data: data.into() })
        });
        let kept = KeptEvents::restored(&rows.accounts, events, log.mark(), clock.now_ms());
        let accounts: Vec<AccountId> = rows.accounts.iter().map(|(account, _)| *account).collect();
        self.registry.restore(kept, &accounts);
        Ok(())
    }

    /// What has a replay tell those accounts again; `None` where there are none.
    pub(super) fn teller(&self) -> Option<Teller> {
        let accounts = self.registry.kept_accounts();
        let mark = self.mark();
        let registry = self.registry.clone();
        (!accounts.is_empty()).then(|| Teller { registry, accounts, mark, pusher: None, events: Vec::new() })
    }

    /// Learns which journal was found, and its last command. What was kept of another is let go of.
    pub(super) fn found(&mut self, journal_id: [u8; 16], last: Sequence) {
        self.journal_id = journal_id;
        if self.log.as_ref().is_some_and(|log| !log.is_of(journal_id) || log.mark() > last) {
            self.registry.forget_kept();
            self.log = None;
        }
    }

    /// The last command of which something is written down.
    pub(super) fn mark(&self) -> Sequence {
        self.log.as_ref().map_or(0, UserLog::mark)
    }

    /// Starts it.
    pub(super) fn start(self) -> Result<Running, BootError> {
        let runner = Runner { name: "keeper".to_owned(), wait: Wait::Sleep, ..Runner::default() };
        runner.spawn(vec![Box::new(self)]).map_err(BootError::Thread)
    }

    /// Writes steps down, at the end of the process also that nothing happened since.
    fn write(&mut self, is_last: bool) -> Result<usize, ArchiveError> {
        let Some((changes, through)) = self.registry.take_kept_changes() else { return Ok(0) };
        let is_due = (is_last || self.written_at.elapsed() >= MARK_EVERY)
            && self.log.as_ref().is_some_and(|log| log.mark() < through);
        if changes.is_empty() && !is_due {
            return Ok(0);
        }
        let log = match &mut self.log {
            Some(log) => log,
            none => {
                let mut log = UserLog::open(&self.path)?;
                log.begin(self.journal_id)?;
                none.insert(log)
            }
        };
        let changes: Vec<UserChange> = changes.into_iter().map(change).collect();
        log.commit(&changes, through)?;
        self.written_at = Instant::now();
        Ok(changes.len())
    }

    fn try_write(&mut self, is_last: bool) -> usize {
        self.write(is_last).unwrap_or_else(|error| {
            tracing::warn!(%error, "events for user streams are no longer kept over a restart");
            self.registry.stop_writing_kept();
            0
        })
    }
}

/// A step as it is written.
fn change(change: KeptChange) -> UserChange {
    match change {
        KeptChange::Keep(account, since) => UserChange::Keep(account, since),
        KeptChange::Forget(account) => UserChange::Forget(account),
        KeptChange::Event(account, KeptEvent { number, time_ms, topics, name, data }) => {
            let (name, data) = (name.into_owned(), data.to_string());
            UserChange::Event(UserRow { account, number, time_ms, topics, name, data })
        }
    }
}

impl Agent for Keeper {
    fn name(&self) -> &str {
        "keeper"
    }

    fn do_work(&mut self) -> usize {
        self.try_write(false)
    }

    fn next_timer(&self) -> Duration {
        EVERY
    }

    fn close(&mut self) {
        self.try_write(true);
    }
}

/// Has the accounts that are kept told what a replay gives, as far as it was not written down.
pub(crate) struct Teller {
    registry: Arc<SubscriptionRegistry>,
    accounts: HashSet<AccountId>,
    mark: Sequence,
    /// Begins with the first command.
    pusher: Option<Pusher>,
    /// Of the running command.
    events: Vec<Event>,
}

impl Teller {
    /// Takes an event, with the views before it.
    pub(super) fn event(&mut self, event: &Event, views: &Views) {
        if self.pusher.is_none() {
            let before = views.sequence();
            if before > self.mark {
                // The snapshot is of a moment that was not written down any more.
                self.registry.miss_kept(before);
            }
            self.pusher = Some(Pusher::new(self.registry.clone(), views));
        }
        // An hour's funding has two events of every position, and nobody asks for those of others.
        let mut accounts = accounts_of(event).into_iter().flatten().peekable();
        if accounts.peek().is_none() || accounts.any(|account| self.accounts.contains(&account)) {
            self.events.push(*event);
        }
    }

    /// The command's last event was taken; these are the views after it.
    pub(super) fn end(&mut self, views: &Views) {
        if let Some(pusher) = &mut self.pusher
            && self.events.last().is_some_and(|end| end.sequence > self.mark)
        {
            pusher.command(CommandEvents::new(&self.events), views);
            pusher.flush();
        }
        self.events.clear();
    }

    /// The replay has come to its end, `last`.
    pub(super) fn finish(self, last: Sequence) {
        if self.pusher.is_none() && last > self.mark {
            self.registry.miss_kept(last);
        }
    }

    /// The views are those of another moment.
    pub(super) fn reset(&mut self) {
        self.pusher = None;
        self.events.clear();
    }
}
