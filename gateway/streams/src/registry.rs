//! Who wants what, across workers, and the queue of pushes to each of them.
//!
//! [`SubscriptionRegistry`] counts the listeners of each topic, numbers its pushes and holds the latest for those who ask to go on. Nothing
//! here waits: a worker that is too far behind loses frames. What pushes say, sessions and sockets are not known here.

use super::envelope::{Form, Push};
use super::kept::{KeptChange, KeptEvent, KeptEvents, PLACES, through};
use super::topic::{Topic, TopicMap};
use crossbeam::queue::SegQueue;
use parking_lot::Mutex;
use ringside_commands::clock::Clock;
use ringside_core::figures::Counter;
use ringside_core::ids::{AccountId, FIRST_PERPETUAL, MarketId, Sequence};
use ringside_core::money::Price;
use ringside_views::hash::NumberMap;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Bytes of frames that may wait for one worker; more are lost to all its sessions.
const BACKLOG_LEN_MAX: usize = 64 << 20;
/// Frames held per channel for those who ask to go on.
const HELD_MAX: usize = 1_024;
/// Bytes of them per channel.
const HELD_LEN_MAX: usize = 1 << 20;
/// Bytes of them in all.
const HELD_LEN_IN_ALL: usize = 128 << 20;
/// How long they are held when nobody listens any more.
const LINGER: Duration = Duration::from_secs(60);

/// The shared end of all workers. Share it in an `Arc`.
pub struct SubscriptionRegistry {
    pub(super) table: Mutex<Subscriptions>,
    /// Grows when the public topics of perpetual markets that someone listens to change; read without the table.
    streams_changed: AtomicU64,
    /// By index of the worker.
    pub ports: Vec<WorkerQueue>,
    pub(super) clock: Clock,
}

/// One worker's queue of pushes.
#[derive(Default)]
pub struct WorkerQueue {
    /// Batches, oldest first.
    batches: SegQueue<Arc<FrameBatch>>,
    backlog_len: AtomicUsize,
    subscriptions: AtomicUsize,
    has_lost: AtomicBool,
    /// The sessions of now are to end.
    is_over: AtomicBool,
    /// Frames put into the queues of connections. The worker alone counts.
    pub queued: Counter,
    /// Frames that a connection's queue had no room for. The worker alone counts.
    pub dropped: Counter,
    /// Batches that this queue had no room for. Egress alone counts.
    pub lost: Counter,
    /// Connections that listen or may. The worker alone counts.
    pub sessions: Counter,
    /// Woken once per batch.
    pub wake: Notify,
}

/// Frames of one stretch of commands.
pub struct FrameBatch {
    /// In order.
    pub pushes: Vec<Push>,
    len: usize,
}

impl FrameBatch {
    pub(super) fn new(pushes: Vec<Push>) -> FrameBatch {
        let len = pushes.iter().map(Push::len).sum();
        FrameBatch { pushes, len }
    }
}

impl WorkerQueue {
    /// The next batch.
    pub fn take(&self) -> Option<Arc<FrameBatch>> {
        let batch = self.batches.pop()?;
        self.backlog_len.fetch_sub(batch.len, Ordering::Relaxed);
        Some(batch)
    }

    /// Whether frames were lost since this was last asked.
    pub fn take_loss(&self) -> bool {
        self.has_lost.load(Ordering::Relaxed) && self.has_lost.swap(false, Ordering::Relaxed)
    }

    /// Whether the sessions of now are to end, once.
    pub fn take_end(&self) -> bool {
        self.is_over.load(Ordering::Relaxed) && self.is_over.swap(false, Ordering::Relaxed)
    }

    /// Hands a batch over, unless too much waits already.
    pub(super) fn give(&self, batch: &Arc<FrameBatch>) {
        if self.subscriptions.load(Ordering::Relaxed) == 0 {
            return;
        }
        // Relaxed: only egress adds, so what it sees is too much rather than too little.
        if self.backlog_len.load(Ordering::Relaxed) + batch.len > BACKLOG_LEN_MAX {
            self.lost.add(1);
            self.has_lost.store(true, Ordering::Relaxed);
        } else {
            self.backlog_len.fetch_add(batch.len, Ordering::Relaxed);
            self.batches.push(batch.clone());
        }
        self.wake.notify_one();
    }
}

/// What is known of every topic.
#[derive(Default)]
pub(super) struct Subscriptions {
    topics: TopicMap<TopicState>,
    /// The public ones of perpetual markets among them.
    live: Vec<LiveTopic>,
    /// Topics that nobody listens to and whose frames are held, in the order in which they were left.
    left: VecDeque<(Instant, Topic)>,
    /// The highest number of any topic that is gone.
    highest: u64,
    held_len: usize,
    /// Accounts that someone listens to or whose events are kept.
    watched: NumberMap<AccountId, Watched>,
    /// Accounts among them whose events of the perpetual side are wanted.
    users: usize,
    /// The last command that was noted.
    sequence: Sequence,
    /// Events of accounts for those who ask to go on.
    kept: KeptEvents,
    /// Means of the marks of the last minute, by the place of the market.
    means: Vec<Price>,
}

/// A topic of perpetual markets that someone listens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveTopic {
    /// Stream and market.
    pub topic: Topic,
    /// Differs each time a topic comes to life.
    pub birth: u64,
}

/// An account that someone listens to.
#[derive(Default)]
struct Watched {
    /// Its topics, and one more while its events are kept.
    topics: usize,
    /// Those of the perpetual side among them.
    users: usize,
    /// No event of it may have a smaller number.
    next: u64,
}

/// A topic that someone listens to, or whose frames are still held.
struct TopicState {
    /// By [`Form`].
    listeners: [usize; Form::COUNT],
    /// Number of the next push.
    next_seq: u64,
    held: Option<Held>,
}

/// The latest frames, without holes up to the last.
struct Held {
    /// With their numbers, which ascend by one.
    frames: VecDeque<(u64, Utf8Bytes)>,
    len: usize,
    /// The last number that was put in.
    last: u64,
    /// How often the topic stands in [`Subscriptions::left`].
    leavings: u32,
}

/// Where a subscription begins.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Pushes with a higher number are for it.
    pub since: u64,
    /// What it asked for again, up to `since`; `None` where some of it is no longer held, or nothing was asked for.
    pub again: Option<Again>,
}

/// What a client missed.
#[derive(Clone, Debug)]
pub enum Again {
    /// Of a market: frames.
    Frames(Vec<Utf8Bytes>),
    /// Of an account: events.
    Events(Vec<KeptEvent>),
}

impl SubscriptionRegistry {
    /// For so many workers.
    pub fn new(workers: usize, clock: Clock) -> SubscriptionRegistry {
        let streams_changed = AtomicU64::default();
        SubscriptionRegistry {
            table: Mutex::default(),
            streams_changed,
            ports: (0..workers).map(|_| WorkerQueue::default()).collect(),
            clock,
        }
    }

    /// Enters a listener. Call it with the views held for reading: its pushes begin right behind what they show. `from`
    /// asks a resuming one to begin behind that number instead.
    pub fn enter(&self, worker: usize, topic: Topic, form: Form, from: Option<u64>) -> Entry {
        let table = &mut *self.table.lock();
        // Microseconds are far ahead of any count of pushes, so a number of another life is never taken for one of this.
        let first = self.clock.now_ns().unsigned_abs() / 1_000;
        let next_seq = first.max(table.highest) + 1;
        if !table.topics.contains_key(&topic) {
            if topic.kind.is_private() {
                table.watch(topic.id, topic.kind.is_of_users());
            }
            if topic.kind.is_of_perpetuals() {
                table.live.push(LiveTopic { topic, birth: next_seq });
                // Relaxed: whoever sees it takes the table's lock before anything follows from it.
                self.streams_changed.fetch_add(1, Ordering::Relaxed);
            }
        }
        let state = table.topics.entry(topic).or_insert(TopicState {
            listeners: [0; Form::COUNT],
            next_seq,
            held: None,
        });
        self.ports[worker].subscriptions.fetch_add(1, Ordering::Relaxed);
        state.listeners[form as usize] += 1;
        if topic.kind.is_private() {
            return table.enter_account(topic, form, from);
        }
        let since = state.next_seq - 1;
        if form != Form::Numbered {
            return Entry { since, again: None };
        }
        let held = state.held.get_or_insert_with(|| Held {
            frames: VecDeque::new(),
            len: 0,
            last: since,
            leavings: 0,
        });
        match from.and_then(|from| held.behind(from)) {
            Some(frames) => Entry { since: held.last, again: Some(Again::Frames(frames)) },
            None => Entry { since, again: None },
        }
    }

    /// The number of the last push noted. With the views held for reading: of the last one they show.
    pub fn last_seq(&self, topic: Topic) -> u64 {
        let table = self.table.lock();
        if topic.kind.is_private() {
            return table.last_number(topic.id);
        }
        table.topics.get(&topic).map_or(0, |state| state.next_seq - 1)
    }

    /// Begins with what an earlier life kept of accounts.
    pub fn restore(&self, kept: KeptEvents, accounts: &[AccountId]) {
        let table = &mut *self.table.lock();
        accounts.iter().for_each(|account| table.watch(*account, true));
        table.kept = kept;
    }

    /// Lets go of all that is kept: it is of another journal. Before anyone listens.
    pub fn forget_kept(&self) {
        let table = &mut *self.table.lock();
        (table.kept, table.users) = (KeptEvents::default(), 0);
        table.watched.clear();
    }

    /// Ends every session that there is: what they were told goes on elsewhere, or anew.
    pub fn end_sessions(&self) {
        for port in &self.ports {
            // Relaxed: each worker ends its own, whenever it looks.
            port.is_over.store(true, Ordering::Relaxed);
            port.wake.notify_one();
        }
    }

    /// The accounts whose events are kept.
    pub fn kept_accounts(&self) -> HashSet<AccountId> {
        self.table.lock().kept.accounts().collect()
    }

    /// Events of commands up to this one are of no account that is kept, or lost.
    pub fn miss_kept(&self, sequence: Sequence) {
        self.table.lock().kept.miss(sequence);
    }

    /// See [`KeptEvents::take_changes`].
    pub fn take_kept_changes(&self) -> Option<(Vec<KeptChange>, Sequence)> {
        self.table.lock().kept.take_changes()
    }

    /// What is kept is no longer written down.
    pub fn stop_writing_kept(&self) {
        self.table.lock().kept.stop_writing();
    }

    /// Takes a listener out.
    pub fn leave(&self, worker: usize, topic: Topic, form: Form) {
        let table = &mut *self.table.lock();
        self.ports[worker].subscriptions.fetch_sub(1, Ordering::Relaxed);
        let Some(state) = table.topics.get_mut(&topic) else { return };
        state.listeners[form as usize] -= 1;
        if topic.kind.is_private() && form.is_numbered() {
            table.kept.leave(topic.id, self.clock.now_ms());
        } else if form == Form::Numbered
            && state.listeners[form as usize] == 0
            && let Some(held) = &mut state.held
        {
            held.leavings += 1;
            table.left.push_back((Instant::now() + LINGER, topic));
        }
        let before = table.live.len();
        table.drop_if_idle(topic);
        table.forget(Instant::now());
        if table.live.len() != before {
            self.streams_changed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The mean of a perpetual market's marks of the last minute; 0 where it is not known.
    pub fn mean_of(&self, market: MarketId) -> Price {
        let place = market.checked_sub(FIRST_PERPETUAL).map(|place| place as usize);
        place.and_then(|place| self.table.lock().means.get(place).copied()).unwrap_or(0)
    }

    /// How often the public topics of perpetual markets changed.
    pub(super) fn streams_changed(&self) -> u64 {
        self.streams_changed.load(Ordering::Relaxed)
    }
}

impl Held {
    /// The frames behind a number, if all are held.
    fn behind(&self, seq: u64) -> Option<Vec<Utf8Bytes>> {
        let first = self.frames.front().map_or(self.last + 1, |(first, _)| *first);
        if !(first..=self.last + 1).contains(&seq.checked_add(1)?) {
            return None;
        }
        let skipped = usize::try_from(seq + 1 - first).ok()?;
        Some(self.frames.iter().skip(skipped).map(|(_, frame)| frame.clone()).collect())
    }

    /// Adds the next frame; returns by how many bytes more is held than before.
    fn put(&mut self, seq: u64, frame: Utf8Bytes, is_short: bool) -> isize {
        let before = self.len as isize;
        if seq != self.last + 1 {
            self.frames.clear();
            self.len = 0;
        }
        self.last = seq;
        self.len += frame.len();
        self.frames.push_back((seq, frame));
        let most = if is_short { 0 } else { HELD_LEN_MAX };
        while (self.frames.len() > HELD_MAX || self.len > most)
            && let Some((_, frame)) = self.frames.pop_front()
        {
            self.len -= frame.len();
        }
        self.len as isize - before
    }
}

impl Subscriptions {
    /// Whether nobody listens to anything.
    pub(super) fn is_empty(&self) -> bool {
        self.topics.is_empty() && self.kept.is_empty()
    }

    /// Whether a push of a topic is wanted.
    pub(super) fn is_wanted(&self, topic: Topic) -> bool {
        self.topics.contains_key(&topic) || self.is_kept(topic)
    }

    /// Whether events of a topic are kept.
    pub(super) fn is_kept(&self, topic: Topic) -> bool {
        topic.kind.is_private() && self.kept.has(topic.id)
    }

    /// Begins to note a command.
    pub(super) fn begin(&mut self, sequence: Sequence) {
        self.sequence = sequence;
    }

    /// Gives the next push of a topic of no account its number; `None` where it is not wanted.
    pub(super) fn number(&mut self, topic: Topic) -> Option<u64> {
        let state = self.topics.get_mut(&topic)?;
        state.next_seq += 1;
        Some(state.next_seq - 1)
    }

    /// Gives the next event of an account its number: by its place in the venue's order.
    pub(super) fn event_number(&mut self, account: AccountId) -> u64 {
        let first = self.sequence.saturating_mul(PLACES);
        let Some(watched) = self.watched.get_mut(&account) else { return first };
        let number = watched.next.max(first);
        watched.next = number + 1;
        number
    }

    /// In which forms (by [`Form`]) a push is wanted.
    pub(super) fn forms(&self, topic: Topic) -> [bool; Form::COUNT] {
        let Some(state) = self.topics.get(&topic) else { return [false; Form::COUNT] };
        let mut is_wanted = state.listeners.map(|listeners| listeners > 0);
        is_wanted[Form::Numbered as usize] |= state.held.is_some();
        is_wanted
    }

    /// The number of the last event of an account that was noted, or of the last that might have been.
    fn last_number(&self, account: AccountId) -> u64 {
        let next = self.watched.get(&account).map_or(0, |watched| watched.next);
        through(self.sequence).max(next.saturating_sub(1))
    }

    fn enter_account(&mut self, topic: Topic, form: Form, from: Option<u64>) -> Entry {
        let (account, since) = (topic.id, self.last_number(topic.id));
        if !form.is_numbered() {
            return Entry { since, again: None };
        }
        if self.kept.enter(account, self.sequence) {
            self.watch(account, true);
        }
        match from.and_then(|from| self.kept.behind(account, topic.kind, from, self.sequence)) {
            Some((events, since)) => Entry { since, again: Some(Again::Events(events)) },
            None => Entry { since, again: None },
        }
    }

    fn watch(&mut self, account: AccountId, is_of_users: bool) {
        let watched = self.watched.entry(account).or_default();
        watched.topics += 1;
        if is_of_users {
            watched.users += 1;
            self.users += usize::from(watched.users == 1);
        }
    }

    fn unwatch(&mut self, account: AccountId, is_of_users: bool) {
        let Some(watched) = self.watched.get_mut(&account) else { return };
        watched.topics -= 1;
        if is_of_users {
            watched.users -= 1;
            self.users -= usize::from(watched.users == 0);
        }
        if watched.topics == 0 {
            self.watched.remove(&account);
        }
    }

    /// The public topics of perpetual markets that someone listens to.
    pub(super) fn live(&self) -> &[LiveTopic] {
        &self.live
    }

    /// Whether any account listens to its own events.
    pub(super) fn has_watched(&self) -> bool {
        self.users > 0
    }

    /// Whether this account does.
    pub(super) fn is_watched(&self, account: AccountId) -> bool {
        self.watched.get(&account).is_some_and(|watched| watched.users > 0)
    }

    /// Notes the means of the marks of the last minute, by the place of the market.
    pub(super) fn set_means(&mut self, means: Vec<Price>) {
        self.means = means;
    }

    /// Holds pushes of all commands noted so far for those who ask to go on, and lets go of what was held long enough.
    pub(super) fn hold(&mut self, pushes: &[Push], kept: Vec<(AccountId, KeptEvent)>, now_ms: i64) {
        pushes.iter().filter(|push| !push.topic.kind.is_private()).for_each(|push| self.put(push));
        self.forget(Instant::now());
        if !self.kept.is_empty() {
            self.kept.put(kept, self.sequence, now_ms);
            for account in self.kept.take_expired(now_ms) {
                self.unwatch(account, true);
            }
        }
    }

    /// Whether [`Subscriptions::hold`] has anything to do with commands that nobody listens to.
    pub(super) fn is_keeping(&self) -> bool {
        !self.kept.is_empty()
    }

    fn drop_if_idle(&mut self, topic: Topic) {
        let is_idle = |state: &TopicState| state.listeners == [0; Form::COUNT] && state.held.is_none();
        if self.topics.get(&topic).is_some_and(is_idle)
            && let Some(state) = self.topics.remove(&topic)
        {
            self.highest = self.highest.max(state.next_seq - 1);
            self.live.retain(|live| live.topic != topic);
            if topic.kind.is_private() {
                self.unwatch(topic.id, topic.kind.is_of_users());
            }
        }
    }

    /// Lets go of frames that were held long enough.
    fn forget(&mut self, now: Instant) {
        while let Some((until, topic)) = self.left.front().copied()
            && until <= now
        {
            self.left.pop_front();
            let Some(state) = self.topics.get_mut(&topic) else { continue };
            let Some(held) = &mut state.held else { continue };
            held.leavings -= 1;
            if held.leavings == 0 && state.listeners[Form::Numbered as usize] == 0 {
                self.held_len -= held.len;
                state.held = None;
                self.drop_if_idle(topic);
            }
        }
    }

    fn put(&mut self, push: &Push) {
        let Some(frame) = &push.numbered else { return };
        let is_short = self.held_len > HELD_LEN_IN_ALL;
        if let Some(held) = self.topics.get_mut(&push.topic).and_then(|state| state.held.as_mut()) {
            self.held_len = self.held_len.saturating_add_signed(held.put(push.seq, frame.clone(), is_short));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::topic::Kind;
    use super::*;

    const WORKER: usize = 0;

    fn own(market: MarketId) -> Topic {
        Topic { kind: Kind::Trade, id: market, detail: 0 }
    }

    #[test]
    fn what_is_held_goes_a_minute_after_the_last_leaving_however_often_it_was_left() {
        let registry = SubscriptionRegistry::new(1, Clock::manual(1_700_000_000_000));
        let markets = 20_000;
        for _ in 0..3 {
            for market in 0..markets {
                registry.enter(WORKER, own(market), Form::Numbered, None);
                registry.leave(WORKER, own(market), Form::Numbered);
            }
        }
        registry.enter(WORKER, own(7), Form::Numbered, None);
        let table = &mut *registry.table.lock();
        let long_after = Instant::now() + LINGER;
        let (first_turns, last_turn) = (table.left[0].0, table.left[2 * markets as usize].0);
        table.forget(first_turns);
        assert_eq!(table.topics.len(), markets as usize, "each was left again");
        table.forget(last_turn);
        assert!(table.topics.len() < markets as usize && table.topics.contains_key(&own(markets - 1)));
        // Sixty thousand leavings in one go: once each was looked for among all the others, with the table locked.
        table.forget(long_after);
        assert_eq!((table.topics.len(), table.left.len(), table.held_len), (1, 0, 0));
        assert!(table.topics[&own(7)].held.is_some(), "someone listens");
    }

    #[test]
    fn numbers_go_on_upwards_where_the_clock_does_not() {
        let registry = SubscriptionRegistry::new(1, Clock::manual(1_700_000_000_000));
        let begun = registry.enter(WORKER, own(7), Form::Channel, None).since;
        let mut last = begun;
        for _ in 0..3 {
            let seq = registry.table.lock().number(own(7)).expect("someone listens");
            assert_eq!(seq, last + 1);
            last = seq;
        }
        registry.leave(WORKER, own(7), Form::Channel);
        assert!(!registry.table.lock().is_wanted(own(7)), "nobody listens and nothing is held");
        assert_eq!(registry.enter(WORKER, own(7), Form::Channel, None).since, last, "the same instant");
    }

    #[test]
    fn events_of_an_account_are_numbered_by_the_venues_order_whoever_listens() {
        let registry = SubscriptionRegistry::new(1, Clock::manual(1_700_000_000_000));
        let topic = Topic::of_account(Kind::AccountOrders, 7);
        registry.enter(WORKER, topic, Form::Channel, None);
        let numbers = |sequence, count| {
            let table = &mut *registry.table.lock();
            table.begin(sequence);
            (0..count).map(|_| table.event_number(7)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(5, 2), [5 * PLACES, 5 * PLACES + 1]);
        assert_eq!(registry.last_seq(topic), through(5));
        let own = registry.enter(WORKER, topic, Form::Numbered, Some(through(5)));
        assert!(matches!(own.again, Some(Again::Events(events)) if events.is_empty()));
        registry.leave(WORKER, topic, Form::Channel);
        registry.leave(WORKER, topic, Form::Numbered);
        assert!(registry.table.lock().is_wanted(topic), "its client may come back");
        assert_eq!(numbers(6, 1), [6 * PLACES]);
        // More than there are places for.
        assert_eq!(numbers(7, PLACES + 2).last(), Some(&(8 * PLACES + 1)));
        assert_eq!((numbers(8, 1), numbers(9, 1)), (vec![8 * PLACES + 2], vec![9 * PLACES]));
        assert_eq!(registry.enter(WORKER, topic, Form::Channel, None).since, through(9));
    }

    #[test]
    fn what_waits_for_a_worker_has_a_bound_and_what_is_lost_is_told_once() {
        let port = WorkerQueue::default();
        let batch = |len| Arc::new(FrameBatch { pushes: Vec::new(), len });
        port.give(&batch(1));
        assert!(port.take().is_none(), "nobody listens here");
        port.subscriptions.store(1, Ordering::Relaxed);
        port.give(&batch(BACKLOG_LEN_MAX - 10));
        port.give(&batch(10));
        assert_eq!((port.take_loss(), port.lost.get()), (false, 0));
        port.give(&batch(1));
        assert_eq!((port.take_loss(), port.take_loss(), port.lost.get()), (true, false, 1));
        let taken = || port.take().map(|batch| batch.len);
        assert_eq!(taken(), Some(BACKLOG_LEN_MAX - 10));
        port.give(&batch(BACKLOG_LEN_MAX - 9));
        assert!(port.take_loss(), "ten wait still");
        port.give(&batch(BACKLOG_LEN_MAX - 10));
        assert_eq!((taken(), taken(), taken()), (Some(10), Some(BACKLOG_LEN_MAX - 10), None));
        assert_eq!((port.take_loss(), port.lost.get()), (false, 2));
    }

    #[test]
    fn frames_are_held_without_holes() {
        let mut held = Held { frames: VecDeque::new(), len: 0, last: 9, leavings: 0 };
        let put = |held: &mut Held, seq: u64| held.put(seq, seq.to_string().into(), false);
        let behind = |held: &Held, seq| {
            held.behind(seq).map(|frames| frames.iter().map(|frame| frame.to_string()).collect::<Vec<_>>())
        };
        assert_eq!((behind(&held, 8), behind(&held, 9), behind(&held, 10)), (None, Some(vec![]), None));
        let added: Vec<isize> = (10..13).map(|seq| put(&mut held, seq)).collect();
        assert_eq!(added, [2, 2, 2]);
        assert_eq!(behind(&held, 8), None, "never held");
        assert_eq!(behind(&held, 9), Some(vec!["10".into(), "11".into(), "12".into()]));
        assert_eq!(behind(&held, 11), Some(vec!["12".into()]));
        assert_eq!((behind(&held, 12), behind(&held, 13)), (Some(vec![]), None));
        // One was never put in: nobody who lacks it may go on as if there were none.
        assert_eq!(put(&mut held, 14), -4);
        assert_eq!((behind(&held, 12), behind(&held, 13)), (None, Some(vec!["14".into()])));
    }
}
