//! Where notes of a command are taken: what is wanted, as it is numbered.

use super::envelope::Form;
use super::registry::{LiveTopic, Subscriptions};
use super::spot_update::SpotUpdate;
use super::topic::{Kind, Topic};
use ringside_core::ids::AccountId;
use ringside_dialect::fapi::user::UserEvent;
use std::ops::Range;
use std::sync::Arc;

/// The table and the notes while something is noted.
pub struct PushRecorder<'a> {
    time_ms: i64,
    table: &'a mut Subscriptions,
    notes: &'a mut Vec<PendingUpdate>,
    written: &'a mut Vec<u8>,
}

/// A push before it is encoded.
pub(super) struct PendingUpdate {
    pub topic: Topic,
    pub seq: u64,
    /// By [`super::envelope::Form`].
    pub is_wanted: [bool; Form::COUNT],
    /// Kept for those who come back.
    pub is_kept: bool,
    /// Engine time of its command, UNIX milliseconds.
    pub time_ms: i64,
    pub content: Content,
}

/// What a push will say.
pub(super) enum Content {
    /// Of the spot side.
    Spot(SpotUpdate),
    /// Of perpetual markets, written already: where it stands.
    Written(Range<usize>),
    /// Of an account; topics of one event share it.
    User(Arc<UserEvent>),
}

impl<'a> PushRecorder<'a> {
    pub(super) fn new(
        table: &'a mut Subscriptions,
        notes: &'a mut Vec<PendingUpdate>,
        written: &'a mut Vec<u8>,
        time_ms: i64,
    ) -> PushRecorder<'a> {
        PushRecorder { time_ms, table, notes, written }
    }

    /// Whether a note of the topic would be taken.
    pub fn is_wanted(&self, topic: Topic) -> bool {
        self.table.is_wanted(topic)
    }

    /// The public topics of perpetual markets that someone listens to.
    pub fn live(&self) -> &[LiveTopic] {
        self.table.live()
    }

    /// Takes a note of the spot side.
    pub fn spot(&mut self, topic: Topic, note: SpotUpdate) {
        self.put(topic, Content::Spot(note));
    }

    /// Whether any account listens to its own events.
    pub fn has_watched(&self) -> bool {
        self.table.has_watched()
    }

    /// Whether this account does.
    pub fn is_watched(&self, account: AccountId) -> bool {
        self.table.is_watched(account)
    }

    /// Takes an event of an account for each of its topics that wants it.
    pub fn user(&mut self, account: AccountId, event: UserEvent, kinds: impl Iterator<Item = Kind>) {
        // Whoever listens to which of them: the number is the event's own.
        let (event, seq) = (Arc::new(event), self.table.event_number(account));
        for topic in kinds.map(|kind| Topic::of_account(kind, account)) {
            if self.is_wanted(topic) {
                self.push(topic, seq, Content::User(event.clone()));
            }
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
        let seq = match topic.kind.is_private() {
            true => Some(self.table.event_number(topic.id)),
            false => self.table.number(topic),
        };
        if let Some(seq) = seq {
            self.push(topic, seq, content);
        }
    }

    fn push(&mut self, topic: Topic, seq: u64, content: Content) {
        let (is_wanted, is_kept) = (self.table.forms(topic), self.table.is_kept(topic));
        self.notes.push(PendingUpdate { topic, seq, is_wanted, is_kept, time_ms: self.time_ms, content });
    }
}
