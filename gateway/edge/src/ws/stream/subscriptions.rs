//! The streams of one connection: by which names, in which shape. Frames and sockets are not here.

use super::key;
use super::request::{self, Action, Fault};
use crate::worker::Worker;
use ringside_auth::listen_key::ListenKey;
use ringside_streams::envelope::{self, Form};
use ringside_streams::registry::{Again, Entry};
use ringside_streams::row;
use ringside_streams::sessions::{Connection, UserStream};
use ringside_streams::topic::{Kind, Topic};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Streams of one connection (`perpetual-stream.md` 1).
pub const STREAMS_MAX: usize = 1_024;
/// Longest name that is kept: none of a stream is near it, and others are only there to be listed.
const NAME_LEN_MAX: usize = 80;

/// So many names cost as much as a request.
const NAMES_PER_WEIGHT: usize = 10;

/// What the address of a connection asks for.
#[derive(Debug, Default)]
pub struct Opening {
    /// Names of streams and listen keys.
    pub names: Vec<String>,
    /// Whether the wrapper is on.
    pub is_combined: bool,
    /// A listen key of its own parameter, and the events that are wanted of it.
    pub user: Option<(String, Option<Vec<Box<str>>>)>,
    /// Whether events of listen keys are to have numbers.
    pub is_resuming: bool,
    /// The number to go on behind.
    pub from: Option<u64>,
}

/// See the module. [`Streams::leave`] before it is dropped.
#[derive(Debug, Default)]
pub struct Streams {
    list: Vec<Stream>,
    /// Names of the list: a request may name a thousand.
    names: HashSet<Rc<str>>,
    is_combined: bool,
}

#[derive(Debug)]
struct Stream {
    /// As it is listed; the same memory as in the set of them.
    name: Rc<str>,
    target: Target,
}

#[derive(Debug)]
enum Target {
    /// Of no stream.
    Silent,
    /// Of perpetual markets.
    Market(Topic),
    /// Of an account.
    User(Topic, Form, Rc<UserStream>),
}

impl Target {
    fn topic(&self) -> Option<(Topic, Form)> {
        match self {
            Target::Silent => None,
            Target::Market(topic) => Some((*topic, Form::Stream)),
            Target::User(topic, form, _) => Some((*topic, *form)),
        }
    }
}

/// How streams of accounts begin.
#[derive(Clone, Copy)]
enum Begin {
    /// Without numbers.
    Plain,
    /// With numbers, behind this one if it is named.
    Numbered(Option<u64>),
}

impl Streams {
    /// Begins with what the address asks for, as far as the limit goes.
    pub fn open(&mut self, opening: Opening, worker: &Worker, connection: &Connection) {
        self.is_combined = opening.is_combined;
        let begin = if opening.is_resuming { Begin::Numbered(opening.from) } else { Begin::Plain };
        if let Some((key, events)) = opening.user {
            self.add(vec![key], events, begin, worker, connection);
        }
        let mut names = opening.names;
        names.truncate(STREAMS_MAX);
        self.add(names, None, begin, worker, connection);
    }

    /// What a request costs beside its frame: by the names that it looks up, or the streams that it goes through.
    pub fn weight(&self, action: &Action) -> u32 {
        weight_of_names(match action {
            Action::Subscribe(names) | Action::Unsubscribe(names) => names.len(),
            Action::List | Action::SetCombined(_) => self.list.len(),
            Action::IsCombined => 0,
        })
    }

    /// Carries a request out, and answers it.
    pub fn answer(
        &mut self,
        id: &str,
        action: Result<Action, Fault>,
        worker: &Worker,
        connection: &Connection,
    ) -> Utf8Bytes {
        match action.and_then(|action| self.carry_out(action, worker, connection)) {
            Ok(result) => request::answer(id, &result),
            Err(fault) => request::refusal(id, &fault),
        }
    }

    fn carry_out(
        &mut self,
        action: Action,
        worker: &Worker,
        connection: &Connection,
    ) -> Result<Value, Fault> {
        match action {
            Action::Subscribe(names) => {
                let new: HashSet<String> = names
                    .iter()
                    .map(|name| listed(name))
                    .filter(|name| !self.names.contains(&**name))
                    .collect();
                if self.list.len() + new.len() > STREAMS_MAX {
                    return Err(request::TOO_MANY);
                }
                self.add(names, None, Begin::Plain, worker, connection);
            }
            Action::Unsubscribe(names) => names.iter().for_each(|name| self.end(&listed(name), connection)),
            Action::List => return Ok(self.list.iter().map(|stream| json!(*stream.name)).collect()),
            Action::SetCombined(is_combined) => {
                self.is_combined = is_combined;
                for (topic, _) in self.list.iter().filter_map(|stream| stream.target.topic()) {
                    connection.combine(topic, is_combined);
                }
            }
            Action::IsCombined => return Ok(json!(self.is_combined)),
        }
        Ok(Value::Null)
    }

    /// Adds streams that are not there yet. `events` narrows user data.
    fn add(
        &mut self,
        names: Vec<String>,
        events: Option<Vec<Box<str>>>,
        begin: Begin,
        worker: &Worker,
        connection: &Connection,
    ) {
        let views = worker.shared.views.read();
        let markets = views.perpetuals().markets();
        for name in names {
            let name: Rc<str> = listed(&name).into();
            if name.is_empty() || name.len() > NAME_LEN_MAX || !self.names.insert(name.clone()) {
                continue;
            }
            let target = if key::is_key(&name) {
                key::find(worker, &name).map_or(Target::Silent, |key| {
                    let topic = Topic::of_account(Kind::UserData, key.account());
                    let form = match begin {
                        Begin::Plain => Form::Stream,
                        Begin::Numbered(_) => Form::NumberedStream,
                    };
                    Target::User(topic, form, Rc::new(UserStream { key, events: events.clone() }))
                })
            } else {
                Topic::of_stream(&name, markets).map_or(Target::Silent, Target::Market)
            };
            match &target {
                Target::Silent => {}
                Target::Market(topic) => {
                    connection.subscribe_stream(*topic, Form::Stream, None, self.is_combined, None);
                }
                Target::User(topic, form, user) => {
                    let from = if let Begin::Numbered(from) = begin { from } else { None };
                    let (listener, is_combined) = (Some(user.clone()), self.is_combined);
                    let entry = connection.subscribe_stream(*topic, *form, from, is_combined, listener);
                    if *form == Form::NumberedStream {
                        self.resume(user, entry, from, worker, connection);
                    }
                }
            }
            self.list.push(Stream { name, target });
        }
    }

    /// Says where a numbered stream begins, and what its client missed.
    fn resume(
        &self,
        user: &UserStream,
        entry: Entry,
        from: Option<u64>,
        worker: &Worker,
        connection: &Connection,
    ) {
        let now_ms = worker.clock.now_ms();
        match (from, entry.again) {
            (Some(from), Some(Again::Events(events))) => {
                self.tell(user, &envelope::stream_state(now_ms, from, None), connection);
                for event in events.iter().filter(|event| user.is_wanted(&event.name)) {
                    let text = envelope::numbered(event.data.as_bytes(), event.number);
                    self.tell(user, text.as_bytes(), connection);
                }
            }
            (Some(from), _) => {
                let gap = Some((from, Kind::UserData.row().reads));
                self.tell(user, &envelope::stream_state(now_ms, entry.since, gap), connection);
            }
            (None, _) => self.tell(user, &envelope::stream_state(now_ms, entry.since, None), connection),
        }
    }

    /// Tells the numbered stream of a topic that it lost events, and has it go on.
    pub fn tell_gap(&self, topic: Topic, worker: &Worker, connection: &Connection) {
        let of_topic = |stream: &&Stream| stream.target.topic() == Some((topic, Form::NumberedStream));
        for stream in self.list.iter().filter(of_topic) {
            let gap = {
                let _views = worker.shared.views.read();
                connection.go_on(topic, Form::NumberedStream)
            };
            if let (Some((from, seq)), Target::User(_, _, user)) = (gap, &stream.target) {
                let gap = Some((from, topic.kind.row().reads));
                self.tell(user, &envelope::stream_state(worker.clock.now_ms(), seq, gap), connection);
            }
        }
    }

    /// Answers with an event of a user's stream, in the connection's shape.
    fn tell(&self, user: &UserStream, event: &[u8], connection: &Connection) {
        let text = envelope::text(event);
        connection.queue.answer(if self.is_combined {
            envelope::wrapped(user.key.text(), &text)
        } else {
            text
        });
    }

    fn end(&mut self, name: &str, connection: &Connection) {
        if !self.names.remove(name) {
            return;
        }
        let Some(place) = self.list.iter().position(|stream| *stream.name == *name) else { return };
        // In order, since the list is shown in the order of the subscriptions.
        if let Some((topic, form)) = self.list.remove(place).target.topic() {
            connection.unsubscribe(topic, form);
        }
    }

    /// The listen keys that this connection has streams of.
    pub fn keys(&self) -> impl Iterator<Item = &Arc<ListenKey>> {
        self.users().map(|user| &user.key)
    }

    fn users(&self) -> impl Iterator<Item = &UserStream> {
        self.list.iter().filter_map(|stream| match &stream.target {
            Target::User(_, _, user) => Some(&**user),
            Target::Silent | Target::Market(_) => None,
        })
    }

    /// Ends the stream of a key that is over, after its last event in the connection's shape.
    pub fn end_key(&mut self, key: &Arc<ListenKey>, worker: &Worker, connection: &Connection) {
        let Some(user) = self.users().find(|user| Arc::ptr_eq(&user.key, key)) else { return };
        if user.is_wanted(key::EXPIRED) {
            self.tell(user, &key::expired(worker, key), connection);
        }
        self.end(key.text(), connection);
    }

    /// Ends all.
    pub fn leave(&self, connection: &Connection) {
        self.list
            .iter()
            .filter_map(|stream| stream.target.topic())
            .for_each(|(topic, form)| connection.unsubscribe(topic, form));
    }
}

/// What it costs to look so many names up.
pub fn weight_of_names(count: usize) -> u32 {
    u32::try_from(count / NAMES_PER_WEIGHT).unwrap_or(u32::MAX)
}

/// A name as it is listed: keys stay as they are.
fn listed(text: &str) -> String {
    if key::is_key(text) { text.to_owned() } else { row::canonical(text) }
}
