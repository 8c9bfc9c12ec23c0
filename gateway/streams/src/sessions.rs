//! The sessions of one worker: who listens to what, and dealing pushes out to them.
//!
//! Dealing is cut into short stretches with a turn of every session between two, so that a burst longer than a queue
//! reaches whoever reads. Nothing here touches a socket.

use super::envelope::{self, Form, Push, StreamFrames};
use super::registry::{Entry, SubscriptionRegistry, WorkerQueue};
use super::send_queue::SendQueue;
use super::topic::{Topic, TopicMap};
use ringside_auth::listen_key::ListenKey;
use ringside_auth::logout::Grant;
use ringside_commands::clock::Clock;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Pushes dealt out between two turns of the sessions: half of a session's queue. The more a turn has to write, the fewer
/// calls of the system it takes.
const STRETCH: usize = 128;
/// How often credentials are looked at.
const SWEEP: Duration = Duration::from_millis(250);

/// See the module. Clones share it; all stay on the worker's thread.
#[derive(Clone)]
pub struct Sessions(Rc<Inner>);

struct Inner {
    registry: Arc<SubscriptionRegistry>,
    worker: usize,
    clock: Clock,
    topics: RefCell<TopicMap<Vec<Listener>>>,
    outlets: RefCell<slab::Slab<Rc<SendQueue>>>,
    is_closing: Cell<bool>,
}

/// A subscription as dealing sees it.
struct Listener {
    queue: Rc<SendQueue>,
    /// Number of the last push it has been given, or that its snapshot includes.
    since: u64,
    form: Form,
    /// Of a stream: whether events come in the wrapper.
    is_combined: bool,
    /// Of user data.
    user: Option<Rc<UserStream>>,
    /// It lost a push and is waiting for its session to tell the client.
    has_gap: bool,
    /// No private push when it is over.
    life: Life,
}

/// How long a credential counts.
#[derive(Clone, Debug)]
pub struct Life {
    /// UNIX seconds: the first moment at which it no longer does.
    pub expires_at_s: i64,
    /// The listen key without which it does not.
    pub key: Option<Arc<ListenKey>>,
    /// The login that ends it.
    pub login: Option<Grant>,
}

impl Life {
    /// Of what needs no credential.
    pub const ENDLESS: Life = Life { expires_at_s: i64::MAX, key: None, login: None };

    /// Whether it is over.
    pub fn is_over(&self, now_ms: i64) -> bool {
        now_ms.div_euclid(1_000) >= self.expires_at_s
            || self.key.as_ref().is_some_and(|key| !key.is_active(now_ms))
            || self.login.as_ref().is_some_and(Grant::is_over)
    }
}

/// Of a stream of user data: what only its listener knows.
#[derive(Debug)]
pub struct UserStream {
    /// The listen key, which is the stream's name in the wrapper.
    pub key: Arc<ListenKey>,
    /// Names of the events that are wanted; `None` for all.
    pub events: Option<Vec<Box<str>>>,
}

impl UserStream {
    /// Whether an event of this name is wanted.
    pub fn is_wanted(&self, event: &str) -> bool {
        self.events.as_ref().is_none_or(|events| events.iter().any(|wanted| **wanted == *event))
    }
}

/// A session's place; dropping it leaves.
pub struct Connection {
    sessions: Sessions,
    key: usize,
    /// Its queue.
    pub queue: Rc<SendQueue>,
}

impl Sessions {
    /// Of the worker with this index.
    pub fn new(registry: Arc<SubscriptionRegistry>, worker: usize, clock: Clock) -> Sessions {
        Sessions(Rc::new(Inner {
            registry,
            worker,
            clock,
            topics: RefCell::default(),
            outlets: RefCell::default(),
            is_closing: Cell::new(false),
        }))
    }

    /// Deals pushes out for as long as it is polled. To be spawned once on the worker's thread.
    pub async fn run(self) {
        let mut sweep = tokio::time::interval(SWEEP);
        sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = self.port().wake.notified() => {}
                _ = sweep.tick() => self.wake_expired(),
            }
            // What came while the sessions had their turn is dealt out together.
            let mut dealt = 0;
            while let Some(batch) = self.port().take() {
                for push in &batch.pushes {
                    if dealt == STRETCH {
                        dealt = 0;
                        tokio::task::yield_now().await;
                    }
                    dealt += usize::from(self.give(push) > 0);
                }
            }
            if self.port().take_loss() {
                self.lose_all();
            }
            if self.port().take_end() {
                self.0.outlets.borrow().iter().for_each(|(_, queue)| queue.close());
            }
        }
    }

    /// A place for a new session.
    pub fn register(&self) -> Connection {
        let queue = Rc::new(SendQueue::default());
        queue.expires_at_s.set(i64::MAX);
        if self.0.is_closing.get() {
            queue.close();
        }
        let key = self.0.outlets.borrow_mut().insert(queue.clone());
        self.port().sessions.set(self.len() as u64);
        Connection { sessions: self.clone(), key, queue }
    }

    /// Sessions now.
    pub fn len(&self) -> usize {
        self.0.outlets.borrow().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Asks every session to end, and those that come too late.
    pub fn close_all(&self) {
        self.0.is_closing.set(true);
        self.0.outlets.borrow().iter().for_each(|(_, queue)| queue.close());
    }

    fn port(&self) -> &WorkerQueue {
        &self.0.registry.ports[self.0.worker]
    }

    /// Gives one push to its listeners; says to how many.
    fn give(&self, push: &Push) -> usize {
        let mut topics = self.0.topics.borrow_mut();
        let Some(listeners) = topics.get_mut(&push.topic) else { return 0 };
        let (mut queued, mut dropped) = (0, 0);
        let now_ms = if push.topic.kind.is_private() { self.0.clock.now_ms() } else { 0 };
        for listener in listeners.iter_mut() {
            match listener.give(push, now_ms) {
                Some(true) => queued += 1,
                Some(false) => dropped += 1,
                None => {}
            }
        }
        self.port().queued.add(queued);
        if dropped > 0 {
            self.port().dropped.add(dropped);
        }
        listeners.len()
    }

    fn wake_expired(&self) {
        let now_ms = self.0.clock.now_ms();
        for (_, queue) in self.0.outlets.borrow().iter() {
            let is_late = queue.expires_at_s.get() <= now_ms.div_euclid(1_000);
            if is_late || queue.has_ended_key(now_ms) || queue.has_ended_login() {
                queue.wake();
            }
        }
    }

    /// The queue between egress and this thread overflowed: every resuming subscription has a gap.
    fn lose_all(&self) {
        for (topic, listeners) in self.0.topics.borrow_mut().iter_mut() {
            listeners.iter_mut().for_each(|listener| listener.lose(*topic));
        }
    }
}

impl Listener {
    /// Queues the push where it is wanted: whether there was room.
    fn give(&mut self, push: &Push, now_ms: i64) -> Option<bool> {
        if push.seq <= self.since || self.has_gap || self.life.is_over(now_ms) {
            return None;
        }
        // A form that was not wanted when the push was noted is of a time before this listener.
        let frame = match self.form {
            Form::Channel => push.plain.as_ref().map(Cow::Borrowed),
            Form::Numbered => push.numbered.as_ref().map(Cow::Borrowed),
            Form::Stream => push.stream.as_ref().and_then(|stream| self.stream_frame(stream)),
            Form::NumberedStream => {
                push.numbered_stream.as_ref().and_then(|stream| self.stream_frame(stream))
            }
        };
        let frame = frame?;
        let is_queued = self.queue.push(&frame);
        if is_queued {
            self.since = push.seq;
        } else {
            self.lose(push.topic);
        }
        Some(is_queued)
    }

    fn stream_frame<'a>(&self, stream: &'a StreamFrames) -> Option<Cow<'a, Utf8Bytes>> {
        match (&self.user, &stream.combined) {
            (Some(user), _) if !user.is_wanted(stream.event) => None,
            (Some(user), _) if self.is_combined => {
                Some(Cow::Owned(envelope::wrapped(user.key.text(), &stream.raw)))
            }
            (None, Some(combined)) if self.is_combined => Some(Cow::Borrowed(combined)),
            _ => Some(Cow::Borrowed(&stream.raw)),
        }
    }

    fn lose(&mut self, topic: Topic) {
        if self.form.is_numbered() && !self.has_gap {
            self.has_gap = true;
            self.queue.lose(topic);
        }
    }
}

impl Connection {
    /// Enters a subscription, in place of the one that this session has to the topic in the form `replaced`. Call it with
    /// the views held for reading.
    pub fn subscribe(
        &self,
        topic: Topic,
        replaced: Option<Form>,
        form: Form,
        from: Option<u64>,
        life: Life,
    ) -> Entry {
        let inner = &self.sessions.0;
        let entry = inner.registry.enter(inner.worker, topic, form, from);
        // Entered first, so that the topic does not end in between.
        if let Some(form) = replaced {
            self.unsubscribe(topic, form);
        }
        self.listen(topic, Listener { life, ..self.listener(entry.since, form) });
        entry
    }

    /// Enters a subscription to a stream, in a form of streams. Call it with the views held for reading.
    pub fn subscribe_stream(
        &self,
        topic: Topic,
        form: Form,
        from: Option<u64>,
        is_combined: bool,
        user: Option<Rc<UserStream>>,
    ) -> Entry {
        let inner = &self.sessions.0;
        let entry = inner.registry.enter(inner.worker, topic, form, from);
        let key = user.as_ref().map(|user| user.key.clone());
        let life = Life { key, ..Life::ENDLESS };
        self.listen(topic, Listener { is_combined, user, life, ..self.listener(entry.since, form) });
        entry
    }

    /// Puts the wrapper on this session's stream of a topic, or takes it off.
    pub fn combine(&self, topic: Topic, is_combined: bool) {
        if let Some(listeners) = self.sessions.0.topics.borrow_mut().get_mut(&topic) {
            let own = |other: &&mut Listener| {
                self.owns(other, Form::Stream) || self.owns(other, Form::NumberedStream)
            };
            listeners.iter_mut().filter(own).for_each(|listener| listener.is_combined = is_combined);
        }
    }

    fn listener(&self, since: u64, form: Form) -> Listener {
        let (queue, user) = (self.queue.clone(), None);
        Listener { queue, since, form, is_combined: false, user, has_gap: false, life: Life::ENDLESS }
    }

    fn listen(&self, topic: Topic, listener: Listener) {
        self.sessions.0.topics.borrow_mut().entry(topic).or_default().push(listener);
    }

    fn owns(&self, listener: &Listener, form: Form) -> bool {
        Rc::ptr_eq(&listener.queue, &self.queue) && listener.form == form
    }

    /// Ends a subscription.
    pub fn unsubscribe(&self, topic: Topic, form: Form) {
        let inner = &self.sessions.0;
        let mut topics = inner.topics.borrow_mut();
        if let Some(listeners) = topics.get_mut(&topic) {
            if let Some(place) = listeners.iter().position(|other| self.owns(other, form)) {
                listeners.swap_remove(place);
            }
            if listeners.is_empty() {
                topics.remove(&topic);
            }
        }
        inner.registry.leave(inner.worker, topic, form);
    }

    /// Goes on after a gap, with the views held for reading: says the number of the last push before it and of the last
    /// one that the views show. `None` without a gap.
    pub fn go_on(&self, topic: Topic, form: Form) -> Option<(u64, u64)> {
        let inner = &self.sessions.0;
        let mut topics = inner.topics.borrow_mut();
        let mut listeners = topics.get_mut(&topic)?.iter_mut();
        let listener = listeners.find(|other| self.owns(other, form) && other.has_gap)?;
        let before = std::mem::replace(&mut listener.since, inner.registry.last_seq(topic));
        listener.has_gap = false;
        Some((before, listener.since))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.sessions.0.outlets.borrow_mut().remove(self.key);
        self.sessions.port().sessions.set(self.sessions.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::super::send_queue::FRAMES_MAX;
    use super::super::topic::Kind;
    use super::*;

    #[test]
    fn who_goes_on_gets_nothing_behind_a_gap_until_it_was_told_of_it() {
        let clock = Clock::manual(1_700_000_000_000);
        let registry = Arc::new(SubscriptionRegistry::new(1, clock.clone()));
        let sessions = Sessions::new(registry.clone(), 0, clock);
        let connection = sessions.register();
        let topic = Topic { kind: Kind::Trade, id: 7, detail: 0 };
        let entered = connection.subscribe(topic, None, Form::Numbered, None, Life::ENDLESS).since;
        let deal = || {
            let seq = registry.table.lock().number(topic).expect("someone listens");
            let numbered = Some(seq.to_string().into());
            sessions.give(&Push { topic, seq, plain: None, numbered, stream: None, numbered_stream: None });
            seq
        };
        let before = (0..FRAMES_MAX).fold(entered, |_, _| deal());
        assert_eq!((before, connection.queue.has_gaps()), (entered + FRAMES_MAX as u64, false));
        deal();
        assert_eq!(connection.queue.take_gaps(), [topic], "the queue was full");
        // There is room again, and one lies in between.
        while connection.queue.take().is_some() {}
        let last = deal();
        assert!(
            connection.queue.is_empty() && !connection.queue.has_gaps(),
            "told once, and not yet answered"
        );
        assert_eq!(connection.go_on(topic, Form::Numbered), Some((before, last)));
        assert_eq!(connection.go_on(topic, Form::Numbered), None);
        let next = deal();
        assert_eq!(connection.queue.take().expect("queued").as_str(), next.to_string());
    }
}
