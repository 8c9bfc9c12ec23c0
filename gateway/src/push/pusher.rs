//! Egress's end of the pushes: it notes what is wanted of each command, encodes each frame once when the views are free again, and
//! hands the frames to the workers' queues. It never waits.

use super::envelope::{self, Form, Push, StreamFrames};
use super::futures_publisher::FuturesPublisher;
use super::recorder::{Content, PendingUpdate, PushRecorder};
use super::registry::{FrameBatch, SubscriptionRegistry};
use super::spot_publisher::SpotPublisher;
use super::topic::{Kind, Topic};
use super::user::Users;
use crate::dialect::fapi::user::UserEvent;
use crate::egress::{CommandEvents, Listener};
use ringside_views::Views;
use ringside_views::market::MarketView;
use std::sync::Arc;
use std::time::Duration;

/// See the module.
pub struct Pusher {
    registry: Arc<SubscriptionRegistry>,
    spot: SpotPublisher,
    futures: FuturesPublisher,
    notes: Vec<PendingUpdate>,
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

impl Pusher {
    /// A listener for egress that begins behind what `views` show.
    pub fn new(registry: Arc<SubscriptionRegistry>, views: &Views) -> Pusher {
        Pusher {
            futures: FuturesPublisher::new(views),
            registry,
            spot: SpotPublisher::new(views),
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

    fn encode(&mut self) -> FrameBatch {
        let Pusher { registry, spot, futures, notes, written, markets, data, user_data, made_ms, .. } = self;
        let mut pushes = Vec::with_capacity(notes.len());
        let mut named: Option<(Topic, String)> = None;
        let now_ms = registry.clock.now_ms();
        // The clock may step back; what accounts are told does not.
        *made_ms = now_ms.max(*made_ms);
        let mut told: Option<Arc<UserEvent>> = None;
        for PendingUpdate { topic, seq, is_wanted, content } in notes.drain(..) {
            data.clear();
            let (frame_type, event) = match &content {
                Content::Spot(note) => {
                    note.encode(data, topic, &spot.levels, markets);
                    (note.frame_type(), "")
                }
                Content::Written(range) => {
                    data.extend_from_slice(&written[range.clone()]);
                    (topic.kind.row().frame_type, "")
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
                        named.insert((topic, futures.channel_name(topic)))
                    }
                    None => {
                        let symbol = markets.get(topic.id).map_or("", |market| market.symbol());
                        named.insert((topic, topic.channel_name(symbol)))
                    }
                };
                let frame = |seq| envelope::push(frame_type, channel, seq, data);
                push.plain = is_wanted[Form::Channel as usize].then(|| frame(None));
                push.numbered = is_wanted[Form::Numbered as usize].then(|| frame(Some(seq)));
            }
            if is_wanted[Form::Stream as usize] {
                push.stream = Some(match topic.kind {
                    Kind::UserData => StreamFrames { raw: envelope::text(data), combined: None, event },
                    _ => envelope::stream(futures.stream_name(topic), data),
                });
            }
            pushes.push(push);
        }
        spot.clear();
        written.clear();
        FrameBatch::new(pushes)
    }
}

impl Listener for Pusher {
    fn command(&mut self, told: CommandEvents<'_>, views: &Views) {
        if self.markets_changed != views.markets_changed() {
            self.markets_changed = views.markets_changed();
            self.markets = views.markets().clone();
        }
        let Pusher { registry, spot, futures, users, notes, written, .. } = self;
        let table = &mut *registry.table.lock();
        if table.is_empty() {
            futures.skip(told, views);
            spot.skip(told);
        } else {
            let changed = registry.streams_changed();
            let mut recorder = PushRecorder::new(&mut *table, notes, written);
            spot.command(told, views, &mut recorder);
            users.command(&told, views, &mut recorder);
            futures.command(changed, registry.clock.now_ms(), told, views, &mut recorder);
        }
        if let Some(means) = futures.take_means() {
            table.set_means(means);
        }
    }

    fn is_due(&self) -> bool {
        self.futures.is_due(self.registry.streams_changed(), || self.registry.clock.now_ms())
    }

    fn due(&mut self, views: &Views) {
        let Pusher { registry, futures, notes, written, .. } = self;
        let table = &mut *registry.table.lock();
        let now_ms = registry.clock.now_ms();
        futures.due(registry.streams_changed(), now_ms, views, &mut PushRecorder::new(table, notes, written));
    }

    fn next_timer(&self) -> Option<Duration> {
        self.futures.next_timer(self.registry.clock.now_ms())
    }

    fn flush(&mut self) {
        if self.notes.is_empty() {
            return;
        }
        let batch = Arc::new(self.encode());
        if batch.pushes.iter().any(|push| push.numbered.is_some()) {
            self.registry.table.lock().hold(&batch.pushes);
        }
        self.registry.ports.iter().for_each(|port| port.give(&batch));
    }
}
