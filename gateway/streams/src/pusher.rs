//! Egress's end of the pushes: it notes what is wanted of each command, encodes each frame once when the views are free again, and
//! hands the frames to the workers' queues. It never waits.

use super::envelope::{self, Form, Push, StreamFrames};
use super::futures_publisher::FuturesPublisher;
use super::kept::{KeptEvent, bit};
use super::recorder::{Content, PendingUpdate, PushRecorder};
use super::registry::{FrameBatch, SubscriptionRegistry};
use super::spot_publisher::SpotPublisher;
use super::topic::{Kind, Topic};
use super::user::Users;
use ringside_core::ids::AccountId;
use ringside_dialect::fapi::user::UserEvent;
use ringside_egress::{CommandEvents, Listener};
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
    /// Events of some account were kept when the last command was noted.
    is_keeping: bool,
}

impl Pusher {
    /// A listener for egress that begins behind what `views` show.
    pub fn new(registry: Arc<SubscriptionRegistry>, views: &Views) -> Pusher {
        registry.table.lock().begin(views.sequence());
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
            is_keeping: false,
        }
    }

    fn encode(&mut self) -> (FrameBatch, Vec<(AccountId, KeptEvent)>) {
        let Pusher { registry, spot, futures, notes, written, markets, data, user_data, made_ms, .. } = self;
        let (mut pushes, mut kept) = (Vec::with_capacity(notes.len()), Vec::new());
        let mut named: Option<(Topic, String)> = None;
        let now_ms = registry.clock.now_ms();
        // The clock may step back; what accounts are told does not.
        *made_ms = now_ms.max(*made_ms);
        let mut told: Option<Arc<UserEvent>> = None;
        for PendingUpdate { topic, seq, is_wanted, is_kept, time_ms, content } in notes.drain(..) {
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
            if is_kept {
                keep(&mut kept, topic, seq, time_ms, frame_type, data);
            }
            if is_wanted == [false; Form::COUNT] {
                continue;
            }
            let mut push =
                Push { topic, seq, plain: None, numbered: None, stream: None, numbered_stream: None };
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
            push.numbered_stream = is_wanted[Form::NumberedStream as usize].then(|| {
                let raw = envelope::numbered(data, seq);
                Box::new(StreamFrames { raw, combined: None, event })
            });
            pushes.push(push);
        }
        spot.clear();
        written.clear();
        (FrameBatch::new(pushes), kept)
    }
}

/// Keeps what a topic is told; topics of one event follow each other and share it.
fn keep(
    kept: &mut Vec<(AccountId, KeptEvent)>,
    topic: Topic,
    number: u64,
    time_ms: i64,
    name: &'static str,
    data: &[u8],
) {
    let topics = bit(topic.kind);
    match kept.last_mut() {
        Some((account, last)) if *account == topic.id && last.number == number => last.topics |= topics,
        _ => {
            let data = String::from_utf8_lossy(data).into();
            kept.push((topic.id, KeptEvent { number, time_ms, topics, name: name.into(), data }));
        }
    }
}

impl Listener for Pusher {
    fn command(&mut self, told: CommandEvents<'_>, views: &Views) {
        if self.markets_changed != views.markets_changed() {
            self.markets_changed = views.markets_changed();
            self.markets = views.markets().clone();
        }
        let Pusher { registry, spot, futures, users, notes, written, is_keeping, .. } = self;
        let table = &mut *registry.table.lock();
        let (sequence, time_ns) = told.last().map_or((0, 0), |event| (event.sequence, event.time_ns));
        table.begin(sequence);
        *is_keeping = table.is_keeping();
        if table.is_empty() {
            futures.skip(told, views);
            spot.skip(told);
        } else {
            let changed = registry.streams_changed();
            let mut recorder = PushRecorder::new(&mut *table, notes, written, time_ns.div_euclid(1_000_000));
            spot.command(told, views, &mut recorder);
            users.command(&told, views, &mut recorder);
            futures.command(changed, &registry.clock, told, views, &mut recorder);
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
        let mut recorder = PushRecorder::new(table, notes, written, registry.clock.now_ms());
        futures.due(registry.streams_changed(), &registry.clock, views, &mut recorder);
    }

    fn next_timer(&self) -> Option<Duration> {
        self.futures.next_timer(self.registry.clock.now_ms())
    }

    fn flush(&mut self) {
        if self.notes.is_empty() && !self.is_keeping {
            return;
        }
        let (batch, kept) = self.encode();
        let batch = Arc::new(batch);
        if self.is_keeping || batch.pushes.iter().any(|push| push.numbered.is_some()) {
            let now_ms = self.registry.clock.now_ms();
            self.registry.table.lock().hold(&batch.pushes, kept, now_ms);
        }
        if batch.pushes.is_empty() {
            return;
        }
        self.registry.ports.iter().for_each(|port| port.give(&batch));
    }
}
