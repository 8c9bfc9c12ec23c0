//! Who wants what, across workers; and egress's end of the pushes.
//!
//! [`Hub`] counts the listeners of each topic and numbers its pushes. [`Pusher`] hangs in egress: it notes what is wanted
//! of each command, encodes each frame once when the views are free again, and hands the frames to the workers' queues.
//! It never waits: a worker that is too far behind loses frames. Sessions and sockets are not known here.

use super::channel::{Kind, Topic};
use super::frame;
use super::note::{Desk, Note, Notebook};
use super::stream::board::Board;
use super::stream::note::MarketNote;
use super::user::Users;
use crate::clock::Clock;
use crate::dialect::fapi::user::UserEvent;
use crate::egress::Listener;
use crate::view::Views;
use crate::view::hash::NumberMap;
use crate::view::market::MarketView;
use crossbeam::queue::SegQueue;
use parking_lot::Mutex;
use ringside_core::event::Event;
use ringside_core::figures::Counter;
use ringside_core::ids::{AccountId, FIRST_PERPETUAL, MarketId};
use ringside_core::money::Price;
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
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

/// A map by topic.
pub type TopicMap<T> = NumberMap<Topic, T>;

/// In which shape a listener wants its pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `{type, channel, data}`, as in `spot.md`.
    Channel,
    /// The same with the number.
    Numbered,
    /// The payload, bare or in the wrapper of the stream protocol.
    Stream,
}

/// One push, encoded in the forms that are wanted.
#[derive(Clone, Debug)]
pub struct Push {
    /// To whom.
    pub topic: Topic,
    /// Its number.
    pub seq: u64,
    /// [`Form::Channel`].
    pub plain: Option<Utf8Bytes>,
    /// [`Form::Numbered`].
    pub numbered: Option<Utf8Bytes>,
    /// [`Form::Stream`].
    pub stream: Option<StreamFrames>,
}

/// Both shapes of a stream's event. One is a part of the other, so they share their bytes.
#[derive(Clone, Debug)]
pub struct StreamFrames {
    /// The payload.
    pub raw: Utf8Bytes,
    /// `{"stream": name, "data": payload}`. Absent for user data, whose name is the listener's own.
    pub combined: Option<Utf8Bytes>,
    /// Name of the event; empty for market data.
    pub event: &'static str,
}

impl Push {
    fn len(&self) -> usize {
        let stream = self.stream.as_ref().map(|stream| stream.combined.as_ref().unwrap_or(&stream.raw));
        [self.plain.as_ref(), self.numbered.as_ref(), stream]
            .into_iter()
            .flatten()
            .map(|frame| frame.len())
            .sum()
    }
}

/// The shared end of all workers. Share it in an `Arc`.
pub struct Hub {
    table: Mutex<Table>,
    /// Grows when the public topics of perpetual markets that someone listens to change; read without the table.
    streams_changed: AtomicU64,
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
            self.lost.add(1);
            self.has_lost.store(true, Ordering::Relaxed);
        } else {
            self.backlog_len.fetch_add(batch.len, Ordering::Relaxed);
            self.batches.push(batch.clone());
        }
        self.wake.notify_one();
    }
}

#[derive(Default)]
pub(super) struct Table {
    topics: TopicMap<TopicState>,
    /// The public ones of perpetual markets among them.
    live: Vec<LiveTopic>,
    /// Topics that nobody listens to and whose frames are held, in the order in which they were left.
    left: VecDeque<(Instant, Topic)>,
    /// The highest number of any topic that is gone.
    highest: u64,
    held_len: usize,
    /// Topics of user events by account.
    watched: HashMap<AccountId, usize>,
    /// Means of the marks of the last minute, by the place of the market.
    means: Vec<Price>,
}

/// A topic of perpetual markets that someone listens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveTopic {
    /// Which.
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
        let streams_changed = AtomicU64::default();
        Hub {
            table: Mutex::default(),
            streams_changed,
            ports: (0..workers).map(|_| PushPort::default()).collect(),
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
    pub fn leave(&self, worker: usize, topic: Topic, form: Form) {
        let table = &mut *self.table.lock();
        self.ports[worker].subscriptions.fetch_sub(1, Ordering::Relaxed);
        let Some(state) = table.topics.get_mut(&topic) else { return };
        state.listeners[form as usize] -= 1;
        if form == Form::Numbered && state.listeners[form as usize] == 0 {
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

impl Table {
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
            let is_left_again = self.left.iter().any(|(_, other)| *other == topic);
            if let Some(state) = self.topics.get_mut(&topic)
                && state.listeners[Form::Numbered as usize] == 0
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
    board: Board,
    notes: Vec<Noted>,
    /// Payloads that are written already.
    written: Vec<u8>,
    markets: MarketView,
    markets_changed: u64,
    data: Vec<u8>,
    users: Users,
    user_data: Vec<u8>,
    /// When the last user event was made, UNIX milliseconds.
    made_ms: i64,
}

struct Noted {
    topic: Topic,
    seq: u64,
    /// By [`Form`].
    is_wanted: [bool; 3],
    content: Content,
}

enum Content {
    /// Of the spot side.
    Spot(Note),
    /// Of perpetual markets.
    Perpetual(MarketNote),
    /// A payload in [`Pusher::written`].
    Written(Range<usize>),
    /// Of an account; topics of one event share it.
    User(Arc<UserEvent>),
}

/// The table and the notes while something is noted.
pub struct Open<'a> {
    table: &'a mut Table,
    notes: &'a mut Vec<Noted>,
    written: &'a mut Vec<u8>,
}

impl Open<'_> {
    /// The public topics of perpetual markets that someone listens to.
    pub fn live(&self) -> &[LiveTopic] {
        &self.table.live
    }

    /// Takes a note of a perpetual market.
    pub fn market(&mut self, topic: Topic, note: MarketNote) {
        self.put(topic, Content::Perpetual(note));
    }

    /// Whether any account listens to its own events.
    pub fn has_watched(&self) -> bool {
        !self.table.watched.is_empty()
    }

    /// Whether this account does.
    pub fn is_watched(&self, account: AccountId) -> bool {
        self.table.watched.contains_key(&account)
    }

    /// Takes a note of an account, if it is wanted.
    pub fn user(&mut self, topic: Topic, event: &Arc<UserEvent>) {
        if self.is_wanted(topic) {
            self.put(topic, Content::User(event.clone()));
        }
    }

    /// Takes a payload that `write` writes at once.
    pub fn payload(&mut self, topic: Topic, write: impl FnOnce(&mut Vec<u8>)) {
        if self.is_wanted(topic) {
            let start = self.written.len();
            write(self.written);
            self.put(topic, Content::Written(start..self.written.len()));
        }
    }

    fn put(&mut self, topic: Topic, content: Content) {
        let Some(state) = self.table.topics.get_mut(&topic) else { return };
        let seq = state.next_seq;
        state.next_seq += 1;
        let mut is_wanted = state.listeners.map(|listeners| listeners > 0);
        is_wanted[Form::Numbered as usize] = state.held.is_some();
        self.notes.push(Noted { topic, seq, is_wanted, content });
    }
}

impl Desk for Open<'_> {
    fn is_wanted(&self, topic: Topic) -> bool {
        self.table.topics.contains_key(&topic)
    }

    fn note(&mut self, topic: Topic, note: Note) {
        self.put(topic, Content::Spot(note));
    }
}

impl Pusher {
    /// A listener for egress that begins behind what `views` show.
    pub fn new(hub: Arc<Hub>, views: &Views) -> Pusher {
        Pusher {
            board: Board::new(views),
            hub,
            notebook: Notebook::new(views),
            notes: Vec::new(),
            written: Vec::new(),
            markets: views.markets().clone(),
            markets_changed: views.markets_changed(),
            data: Vec::new(),
            users: Users::default(),
            user_data: Vec::new(),
            made_ms: 0,
        }
    }

    fn encode(&mut self) -> Batch {
        let Pusher { hub, notebook, board, notes, written, markets, data, user_data, made_ms, .. } = self;
        let mut pushes = Vec::with_capacity(notes.len());
        let mut named: Option<(Topic, Cow<'static, str>)> = None;
        let now_ms = hub.clock.now_ms();
        // The clock may step back; what accounts are told does not.
        *made_ms = now_ms.max(*made_ms);
        let mut told: Option<Arc<UserEvent>> = None;
        for Noted { topic, seq, is_wanted, content } in notes.drain(..) {
            data.clear();
            let (frame_type, event) = match &content {
                Content::Spot(note) => {
                    note.encode(data, topic, &notebook.levels, markets);
                    (note.frame_type(), "")
                }
                Content::Perpetual(note) => {
                    board.encode(data, note, now_ms);
                    (frame_type(topic.kind), "")
                }
                Content::Written(range) => {
                    data.extend_from_slice(&written[range.clone()]);
                    (frame_type(topic.kind), "")
                }
                Content::User(event) => {
                    // Topics of one event follow each other.
                    if !told.as_ref().is_some_and(|told| Arc::ptr_eq(told, event)) {
                        user_data.clear();
                        event.write(user_data, *made_ms);
                        told = Some(event.clone());
                    }
                    data.extend_from_slice(user_data);
                    (event.name(), event.name())
                }
            };
            let mut push = Push { topic, seq, plain: None, numbered: None, stream: None };
            if is_wanted[Form::Channel as usize] || is_wanted[Form::Numbered as usize] {
                // Most batches are of one market, and many of one topic.
                let (_, channel) = match named.take().filter(|(other, _)| *other == topic) {
                    Some(same) => named.insert(same),
                    None if topic.kind.is_of_perpetuals() => {
                        named.insert((topic, topic.name_with(board.symbol(topic.id)).into()))
                    }
                    None => named.insert((topic, topic.name(markets))),
                };
                let frame = |seq| frame::push(frame_type, channel, seq, data);
                push.plain = is_wanted[Form::Channel as usize].then(|| frame(None));
                push.numbered = is_wanted[Form::Numbered as usize].then(|| frame(Some(seq)));
            }
            if is_wanted[Form::Stream as usize] {
                push.stream = Some(match topic.kind {
                    Kind::UserData => StreamFrames { raw: frame::text(data), combined: None, event },
                    _ => frame::stream(board.stream_name(topic), data),
                });
            }
            pushes.push(push);
        }
        notebook.clear();
        board.clear();
        written.clear();
        let len = pushes.iter().map(Push::len).sum();
        Batch { pushes, len }
    }
}

/// `type` of the frames of a perpetual market's channel.
const fn frame_type(kind: Kind) -> &'static str {
    match kind {
        Kind::PerpetualTrade => "trade",
        Kind::Day => "ticker",
        Kind::Candle => "kline",
        Kind::Mark => "mark_price",
        Kind::OrderBook => "orderbook",
        Kind::Liquidation => "liquidation",
        _ => "",
    }
}

impl Listener for Pusher {
    fn command(&mut self, events: &[Event], views: &Views) {
        if self.markets_changed != views.markets_changed() {
            self.markets_changed = views.markets_changed();
            self.markets = views.markets().clone();
        }
        let Pusher { hub, notebook, board, users, notes, written, .. } = self;
        let table = &mut *hub.table.lock();
        if table.topics.is_empty() {
            board.skip(events, views);
            notebook.skip(events);
        } else {
            let changed = hub.streams_changed();
            let mut desk = Open { table: &mut *table, notes, written };
            notebook.command(events, views, &mut desk);
            users.command(events, views, &mut desk);
            board.command(changed, events, views, &mut desk);
        }
        if let Some(means) = board.take_means() {
            table.means = means;
        }
    }

    fn is_due(&self) -> bool {
        self.board.is_due(self.hub.streams_changed(), || self.hub.clock.now_ms())
    }

    fn due(&mut self, views: &Views) {
        let Pusher { hub, board, notes, written, .. } = self;
        let table = &mut *hub.table.lock();
        let now_ms = hub.clock.now_ms();
        board.due(hub.streams_changed(), now_ms, views, &mut Open { table, notes, written });
    }

    fn nap(&self) -> Option<Duration> {
        self.board.nap(self.hub.clock.now_ms())
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
