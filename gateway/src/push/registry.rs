//! Who wants what, across workers, and the queue of pushes to each of them.
//!
//! [`SubscriptionRegistry`] counts the listeners of each topic, numbers its pushes and holds the latest for those who ask to go on. Nothing
//! here waits: a worker that is too far behind loses frames. What pushes say, sessions and sockets are not known here.

use super::envelope::{Form, Push};
use super::topic::{Topic, TopicMap};
use crossbeam::queue::SegQueue;
use parking_lot::Mutex;
use ringside_commands::clock::Clock;
use ringside_core::figures::Counter;
use ringside_core::ids::{AccountId, FIRST_PERPETUAL, MarketId};
use ringside_core::money::Price;
use ringside_views::hash::NumberMap;
use std::collections::VecDeque;
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
    /// Topics of user events by account.
    watched: NumberMap<AccountId, usize>,
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

/// A topic that someone listens to, or whose frames are still held.
struct TopicState {
    /// By [`Form`].
    listeners: [usize; 3],
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
    /// Frames it asked for again, `since` being the last of them; `None` where one is no longer held, or none was asked for.
    pub again: Option<Vec<Utf8Bytes>>,
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
        let (live, watched) = (&mut table.live, &mut table.watched);
        let state = table.topics.entry(topic).or_insert_with(|| {
            if topic.kind.is_of_users() {
                *watched.entry(topic.id).or_default() += 1;
            }
            if topic.kind.is_of_perpetuals() {
                live.push(LiveTopic { topic, birth: next_seq });
                // Relaxed: whoever sees it takes the table's lock before anything follows from it.
                self.streams_changed.fetch_add(1, Ordering::Relaxed);
            }
            TopicState { listeners: [0; 3], next_seq, held: None }
        });
        self.ports[worker].subscriptions.fetch_add(1, Ordering::Relaxed);
        let since = state.next_seq - 1;
        state.listeners[form as usize] += 1;
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
            Some(frames) => Entry { since: held.last, again: Some(frames) },
            None => Entry { since, again: None },
        }
    }

    /// The number of the last push noted. With the views held for reading: of the last one they show.
    pub fn last_seq(&self, topic: Topic) -> u64 {
        self.table.lock().topics.get(&topic).map_or(0, |state| state.next_seq - 1)
    }

    /// Takes a listener out.
    pub fn leave(&self, worker: usize, topic: Topic, form: Form) {
        let table = &mut *self.table.lock();
        self.ports[worker].subscriptions.fetch_sub(1, Ordering::Relaxed);
        let Some(state) = table.topics.get_mut(&topic) else { return };
        state.listeners[form as usize] -= 1;
        if form == Form::Numbered
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
        self.topics.is_empty()
    }

    /// Whether a push of a topic is wanted.
    pub(super) fn is_wanted(&self, topic: Topic) -> bool {
        self.topics.contains_key(&topic)
    }

    /// Gives a topic's next push its number, and says in which forms (by [`Form`]) it is wanted; `None` where it is not.
    pub(super) fn number(&mut self, topic: Topic) -> Option<(u64, [bool; 3])> {
        let state = self.topics.get_mut(&topic)?;
        let seq = state.next_seq;
        state.next_seq += 1;
        let mut is_wanted = state.listeners.map(|listeners| listeners > 0);
        is_wanted[Form::Numbered as usize] = state.held.is_some();
        Some((seq, is_wanted))
    }

    /// The public topics of perpetual markets that someone listens to.
    pub(super) fn live(&self) -> &[LiveTopic] {
        &self.live
    }

    /// Whether any account listens to its own events.
    pub(super) fn has_watched(&self) -> bool {
        !self.watched.is_empty()
    }

    /// Whether this account does.
    pub(super) fn is_watched(&self, account: AccountId) -> bool {
        self.watched.contains_key(&account)
    }

    /// Notes the means of the marks of the last minute, by the place of the market.
    pub(super) fn set_means(&mut self, means: Vec<Price>) {
        self.means = means;
    }

    /// Holds pushes for those who ask to go on, and lets go of what was held long enough.
    pub(super) fn hold(&mut self, pushes: &[Push]) {
        pushes.iter().for_each(|push| self.put(push));
        self.forget(Instant::now());
    }

    fn drop_if_idle(&mut self, topic: Topic) {
        let is_idle = |state: &TopicState| state.listeners == [0; 3] && state.held.is_none();
        if self.topics.get(&topic).is_some_and(is_idle)
            && let Some(state) = self.topics.remove(&topic)
        {
            self.highest = self.highest.max(state.next_seq - 1);
            self.live.retain(|live| live.topic != topic);
            if topic.kind.is_of_users()
                && let Some(topics) = self.watched.get_mut(&topic.id)
            {
                *topics -= 1;
                if *topics == 0 {
                    self.watched.remove(&topic.id);
                }
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

    fn own(account: AccountId) -> Topic {
        Topic { kind: Kind::UserOrders, id: account, detail: 0 }
    }

    #[test]
    fn what_is_held_goes_a_minute_after_the_last_leaving_however_often_it_was_left() {
        let registry = SubscriptionRegistry::new(1, Clock::manual(1_700_000_000_000));
        let accounts = 20_000;
        for _ in 0..3 {
            for account in 0..accounts {
                registry.enter(WORKER, own(account), Form::Numbered, None);
                registry.leave(WORKER, own(account), Form::Numbered);
            }
        }
        registry.enter(WORKER, own(7), Form::Numbered, None);
        let table = &mut *registry.table.lock();
        let long_after = Instant::now() + LINGER;
        let (first_turns, last_turn) = (table.left[0].0, table.left[2 * accounts as usize].0);
        table.forget(first_turns);
        assert_eq!(table.topics.len(), accounts as usize, "each was left again");
        table.forget(last_turn);
        assert!(table.topics.len() < accounts as usize && table.topics.contains_key(&own(accounts - 1)));
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
            let (seq, _) = registry.table.lock().number(own(7)).expect("someone listens");
            assert_eq!(seq, last + 1);
            last = seq;
        }
        registry.leave(WORKER, own(7), Form::Channel);
        assert!(!registry.table.lock().is_wanted(own(7)), "nobody listens and nothing is held");
        assert_eq!(registry.enter(WORKER, own(7), Form::Channel, None).since, last, "the same instant");
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
