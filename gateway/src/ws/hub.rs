//! Who wants what, across workers; and egress's end of the pushes.
//!
//! [`Hub`] counts the listeners of each topic and numbers its pushes. [`Pusher`] hangs in egress: it notes what is wanted
//! of each command, encodes each frame once when the views are free again, and hands the frames to the workers' queues.
//! It never waits: a worker that is too far behind loses frames. Sessions and sockets are not known here.

use super::channel::{Topic, TopicHasher};
use super::frame;
use super::note::{Desk, Note, Notebook};
use crate::clock::Clock;
use crate::egress::Listener;
use crate::view::Views;
use crate::view::market::MarketView;
use crossbeam::queue::SegQueue;
use parking_lot::Mutex;
use ringside_core::event::Event;
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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

/// A map by topic.
pub type TopicMap<T> = HashMap<Topic, T, BuildHasherDefault<TopicHasher>>;

/// One push, encoded in the forms that are wanted.
#[derive(Clone, Debug)]
pub struct Push {
    /// To whom.
    pub topic: Topic,
    /// Its number.
    pub seq: u64,
    /// As in `spot.md`.
    pub plain: Option<Utf8Bytes>,
    /// With the number.
    pub numbered: Option<Utf8Bytes>,
}

impl Push {
    fn len(&self) -> usize {
        [&self.plain, &self.numbered].into_iter().flatten().map(|frame| frame.len()).sum()
    }
}

/// The shared end of all workers. Share it in an `Arc`.
pub struct Hub {
    table: Mutex<Table>,
    /// By index of the worker.
    pub ports: Vec<PushPort>,
    clock: Clock,
}

/// One worker's queue of pushes.
#[derive(Default)]
pub struct PushPort {
    /// Batches, oldest first.
    batches: SegQueue<Arc<Batch>>,
    backlog_len: AtomicUsize,
    subscriptions: AtomicUsize,
    has_lost: AtomicBool,
    /// Woken once per batch.
    pub wake: Notify,
}

/// Frames of one stretch of commands.
pub struct Batch {
    /// In order.
    pub pushes: Vec<Push>,
    len: usize,
}

impl PushPort {
    /// The next batch.
    pub fn take(&self) -> Option<Arc<Batch>> {
        let batch = self.batches.pop()?;
        self.backlog_len.fetch_sub(batch.len, Ordering::Relaxed);
        Some(batch)
    }

    /// Whether frames were lost since this was last asked.
    pub fn take_loss(&self) -> bool {
        self.has_lost.load(Ordering::Relaxed) && self.has_lost.swap(false, Ordering::Relaxed)
    }

    /// Hands a batch over, unless too much waits already.
    fn give(&self, batch: &Arc<Batch>) {
        if self.subscriptions.load(Ordering::Relaxed) == 0 {
            return;
        }
        // Relaxed: only egress adds, so what it sees is too much rather than too little.
        if self.backlog_len.load(Ordering::Relaxed) + batch.len > BACKLOG_LEN_MAX {
            self.has_lost.store(true, Ordering::Relaxed);
        } else {
            self.backlog_len.fetch_add(batch.len, Ordering::Relaxed);
            self.batches.push(batch.clone());
        }
        self.wake.notify_one();
    }
}

#[derive(Default)]
struct Table {
    topics: TopicMap<TopicState>,
    /// Topics that nobody listens to and whose frames are held, in the order in which they were left.
    left: VecDeque<(Instant, Topic)>,
    /// The highest number of any topic that is gone.
    highest: u64,
    held_len: usize,
}

/// A topic that someone listens to, or whose frames are still held.
struct TopicState {
    plain: usize,
    resuming: usize,
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
}

/// Where a subscription begins.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Pushes with a higher number are for it.
    pub since: u64,
    /// Frames it asked for again, `since` being the last of them; `None` where one is no longer held, or none was asked for.
    pub again: Option<Vec<Utf8Bytes>>,
}

impl Hub {
    /// For so many workers.
    pub fn new(workers: usize, clock: Clock) -> Hub {
        Hub { table: Mutex::default(), ports: (0..workers).map(|_| PushPort::default()).collect(), clock }
    }

    /// Enters a listener. Call it with the views held for reading: its pushes begin right behind what they show. `from`
    /// asks a resuming one to begin behind that number instead.
    pub fn enter(&self, worker: usize, topic: Topic, is_resuming: bool, from: Option<u64>) -> Entry {
        let table = &mut *self.table.lock();
        // Microseconds are far ahead of any count of pushes, so a number of another life is never taken for one of this.
        let first = self.clock.now_ns().unsigned_abs() / 1_000;
        let highest = table.highest;
        let state = table.topics.entry(topic).or_insert_with(|| TopicState {
            plain: 0,
            resuming: 0,
            next_seq: first.max(highest) + 1,
            held: None,
        });
        self.ports[worker].subscriptions.fetch_add(1, Ordering::Relaxed);
        let since = state.next_seq - 1;
        if !is_resuming {
            state.plain += 1;
            return Entry { since, again: None };
        }
        state.resuming += 1;
        let held = state.held.get_or_insert_with(|| Held { frames: VecDeque::new(), len: 0, last: since });
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
    pub fn leave(&self, worker: usize, topic: Topic, is_resuming: bool) {
        let table = &mut *self.table.lock();
        self.ports[worker].subscriptions.fetch_sub(1, Ordering::Relaxed);
        let Some(state) = table.topics.get_mut(&topic) else { return };
        let count = if is_resuming { &mut state.resuming } else { &mut state.plain };
        *count -= 1;
        if is_resuming && state.resuming == 0 {
            table.left.push_back((Instant::now() + LINGER, topic));
        }
        table.drop_if_idle(topic);
        table.forget(Instant::now());
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

impl Table {
    fn drop_if_idle(&mut self, topic: Topic) {
        let is_idle = |state: &TopicState| state.plain + state.resuming == 0 && state.held.is_none();
        if self.topics.get(&topic).is_some_and(is_idle)
            && let Some(state) = self.topics.remove(&topic)
        {
            self.highest = self.highest.max(state.next_seq - 1);
        }
    }

    /// Lets go of frames that were held long enough.
    fn forget(&mut self, now: Instant) {
        while let Some((until, topic)) = self.left.front().copied()
            && until <= now
        {
            self.left.pop_front();
            let is_left_again = self.left.iter().any(|(_, other)| *other == topic);
            if let Some(state) = self.topics.get_mut(&topic)
                && state.resuming == 0
                && !is_left_again
            {
                self.held_len -= state.held.take().map_or(0, |held| held.len);
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

/// Egress's end.
pub struct Pusher {
    hub: Arc<Hub>,
    notebook: Notebook,
    notes: Vec<Noted>,
    markets: MarketView,
    markets_changed: u64,
    data: Vec<u8>,
}

struct Noted {
    topic: Topic,
    seq: u64,
    is_plain: bool,
    is_numbered: bool,
    note: Note,
}

/// The table and the notes while a command is noted.
struct Open<'a> {
    table: &'a mut Table,
    notes: &'a mut Vec<Noted>,
}

impl Desk for Open<'_> {
    fn is_wanted(&self, topic: Topic) -> bool {
        self.table.topics.contains_key(&topic)
    }

    fn note(&mut self, topic: Topic, note: Note) {
        let Some(state) = self.table.topics.get_mut(&topic) else { return };
        let seq = state.next_seq;
        state.next_seq += 1;
        let (is_plain, is_numbered) = (state.plain > 0, state.held.is_some());
        self.notes.push(Noted { topic, seq, is_plain, is_numbered, note });
    }
}

impl Pusher {
    /// A listener for egress that begins behind what `views` show.
    pub fn new(hub: Arc<Hub>, views: &Views) -> Pusher {
        Pusher {
            hub,
            notebook: Notebook::new(views),
            notes: Vec::new(),
            markets: views.markets().clone(),
            markets_changed: views.markets_changed(),
            data: Vec::new(),
        }
    }

    fn encode(&mut self) -> Batch {
        let mut pushes = Vec::with_capacity(self.notes.len());
        let mut named: Option<(Topic, Cow<'static, str>)> = None;
        for Noted { topic, seq, is_plain, is_numbered, note } in self.notes.drain(..) {
            self.data.clear();
            note.encode(&mut self.data, topic, &self.notebook.levels, &self.markets);
            // Most batches are of one market, and many of one topic.
            let (_, channel) = match named.take().filter(|(other, _)| *other == topic) {
                Some(same) => named.insert(same),
                None => named.insert((topic, topic.name(&self.markets))),
            };
            let frame = |seq| frame::push(note.frame_type(), channel, seq, &self.data);
            let plain = is_plain.then(|| frame(None));
            let numbered = is_numbered.then(|| frame(Some(seq)));
            pushes.push(Push { topic, seq, plain, numbered });
        }
        self.notebook.clear();
        let len = pushes.iter().map(Push::len).sum();
        Batch { pushes, len }
    }
}

impl Listener for Pusher {
    fn command(&mut self, events: &[Event], views: &Views) {
        if self.markets_changed != views.markets_changed() {
            self.markets_changed = views.markets_changed();
            self.markets = views.markets().clone();
        }
        let table = &mut *self.hub.table.lock();
        if table.topics.is_empty() {
            return self.notebook.skip(events);
        }
        self.notebook.command(events, views, &mut Open { table, notes: &mut self.notes });
    }

    fn flush(&mut self) {
        if self.notes.is_empty() {
            return;
        }
        let batch = Arc::new(self.encode());
        if batch.pushes.iter().any(|push| push.numbered.is_some()) {
            let table = &mut *self.hub.table.lock();
            batch.pushes.iter().for_each(|push| table.put(push));
            table.forget(Instant::now());
        }
        self.hub.ports.iter().for_each(|port| port.give(&batch));
    }
}
