//! Follows every command for the perpetual markets, and asks what each topic that someone listens to has to say of it.
//!
//! It sees every command with the views as they are after it. Per market it holds what no view does (the mean of the
//! marks) and what is followed for each topic. Nothing is written for topics that nobody listens to.

use super::perpetual::{At, Changed, Due, Label, Market, SPEEDS, Start, Stream};
use super::recorder::PushRecorder;
use super::registry::LiveTopic;
use super::topic::{Topic, TopicMap};
use ringside_commands::clock::Clock;
use ringside_core::command;
use ringside_core::event::{self, Event};
use ringside_core::ids::{ALL_MARKETS, FIRST_PERPETUAL, MarketId};
use ringside_core::money::Price;
use ringside_dialect::fapi::words;
use ringside_egress::CommandEvents;
use ringside_views::Views;
use ringside_views::depth::Book;
use ringside_views::perpetual::market::PerpetualMarket;
use std::collections::VecDeque;
use std::time::Duration;

/// What all speeds are multiples of, milliseconds.
const BEAT_MS: i64 = 50;
/// Samples in the mean of the marks: a minute of seconds.
const SAMPLES: usize = 60;

/// See the module.
pub struct FuturesPublisher {
    markets: Vec<MarketPublisher>,
    /// The registry's count when the topics were last looked at.
    changed: u64,
    /// Time of the last command, UNIX milliseconds.
    time_ms: i64,
    /// The last second of the time of commands, and the last three.
    second: i64,
    third: i64,
    /// When the next topic wants to be closed.
    closes_ms: i64,
    /// Kinds of events that topics wait for.
    wanted: Vec<event::Kind>,
    /// Whether any topic waits for the clock.
    is_timed: bool,
    /// The last beat looked at since any topic waits for the clock, and how many of each speed had then passed.
    beat: Option<i64>,
    passed: [i64; SPEEDS.len()],
    names: TopicMap<String>,
    /// Markets that the running command concerned.
    touched: Vec<MarketId>,
    /// Events of all markets that become one.
    arrays: Vec<(Topic, Vec<u8>)>,
    /// Whether the means have changed since they were taken.
    has_sampled: bool,
}

/// One market.
struct MarketPublisher {
    market: Market,
    lower: String,
    marks: VecDeque<Price>,
    /// The status after the last command.
    status: &'static str,
    followed: Vec<Followed>,
}

/// A topic that someone listens to, in one market.
struct Followed {
    topic: Topic,
    /// Of the registry.
    birth: u64,
    stream: Box<dyn Stream>,
}

/// A moment at which streams may speak.
struct Now<'a> {
    views: &'a Views,
    time_ms: i64,
    /// Asked where anything is followed alone.
    clock: &'a Clock,
}

impl MarketPublisher {
    /// Asks what is followed here, each in turn.
    fn ask(
        &mut self,
        now: &Now<'_>,
        (recorder, arrays): (&mut PushRecorder<'_>, &mut Vec<(Topic, Vec<u8>)>),
        mut ask: impl FnMut(&mut dyn Stream, &mut At<'_, '_>),
    ) {
        if self.followed.is_empty() {
            return;
        }
        let Now { views, time_ms, clock } = *now;
        let now_ms = clock.now_ms();
        for Followed { topic, stream, .. } in &mut self.followed {
            let is_row = topic.id == ALL_MARKETS && topic.kind.row().is_array;
            let array = if is_row { Some(&mut *arrays) } else { None };
            let market = &self.market;
            ask(&mut **stream, &mut At { topic: *topic, market, views, time_ms, now_ms, recorder, array });
        }
    }
}

impl FuturesPublisher {
    /// One that goes on where these views are.
    pub fn new(views: &Views) -> FuturesPublisher {
        let mut publisher = FuturesPublisher {
            markets: Vec::new(),
            changed: 0,
            time_ms: views.time_ns().div_euclid(1_000_000),
            second: 0,
            third: 0,
            closes_ms: i64::MAX,
            wanted: Vec::new(),
            is_timed: false,
            beat: None,
            passed: [0; SPEEDS.len()],
            names: TopicMap::default(),
            touched: Vec::new(),
            arrays: Vec::new(),
            has_sampled: false,
        };
        publisher.list(views);
        for (market, of_views) in publisher.markets.iter_mut().zip(views.perpetuals().markets().all()) {
            market.status = words::symbol_status(of_views.state);
        }
        publisher
    }

    /// The name of a topic's channel.
    pub fn channel_name(&self, topic: Topic) -> String {
        let place = topic.id.wrapping_sub(FIRST_PERPETUAL) as usize;
        topic.channel_name(self.markets.get(place).map_or("", |publisher| publisher.market.label.name()))
    }

    /// The name of a topic's stream.
    pub fn stream_name(&mut self, topic: Topic) -> &str {
        let place = topic.id.wrapping_sub(FIRST_PERPETUAL) as usize;
        let lower = self.markets.get(place).map_or("", |market| &market.lower);
        self.names.entry(topic).or_insert_with(|| topic.stream_name(lower))
    }

    /// The means of the marks of the last minute by the market's place, if they have changed since this was last asked.
    pub fn take_means(&mut self) -> Option<Vec<Price>> {
        let means = || self.markets.iter().map(|publisher| publisher.market.mean).collect();
        std::mem::take(&mut self.has_sampled).then(means)
    }

    /// Learns the markets, their names and decimals.
    fn list(&mut self, views: &Views) {
        for listed in views.perpetuals().markets().all() {
            let place = (listed.market - FIRST_PERPETUAL) as usize;
            if place == self.markets.len() {
                let update = views.perpetuals().book(listed.market).map_or(0, Book::update_id);
                let label = Label::of(listed);
                let (id, book_ms) = (listed.market, listed.book_ms);
                self.markets.push(MarketPublisher {
                    market: Market { id, label, update, book_ms, mean: 0 },
                    lower: listed.symbol().to_ascii_lowercase(),
                    marks: VecDeque::with_capacity(SAMPLES),
                    status: "",
                    followed: Vec::new(),
                });
                // Topics of all markets are of this one too.
                self.changed = u64::MAX;
            }
            self.markets[place].market.label = Label::of(listed);
        }
    }

    /// Follows a command that nobody wants to know more of.
    pub fn skip(&mut self, told: CommandEvents<'_>, views: &Views) {
        self.follow(told, views);
        self.finish(told, views);
    }

    /// Tells what a command has to tell, with the views after it. `changed` is the registry's count of changed topics.
    pub fn command(
        &mut self,
        changed: u64,
        clock: &Clock,
        told: CommandEvents<'_>,
        views: &Views,
        recorder: &mut PushRecorder<'_>,
    ) {
        self.look(changed, recorder.live());
        if self.follow(told, views) {
            self.look(changed, recorder.live());
        }
        let time_ms = told.first().map_or(0, |event| event.time_ns.div_euclid(1_000_000));
        let now = Now { views, time_ms, clock };
        if time_ms >= self.closes_ms {
            self.close(&now, recorder);
        }
        self.touched.clear();
        for event in told.part(&self.wanted) {
            let kind = event::Kind::from_code(event.kind).filter(|kind| self.wanted.contains(kind));
            let Some(market) = kind.and_then(|kind| market_of(kind, event)) else { continue };
            let Some(publisher) = find(&mut self.markets, market) else { continue };
            publisher.ask(&now, (recorder, &mut self.arrays), |stream, at| stream.event(event, at));
            if !self.touched.contains(&market) {
                self.touched.push(market);
            }
        }
        for market in &self.touched {
            if let Some(publisher) = find(&mut self.markets, *market) {
                publisher.ask(&now, (recorder, &mut self.arrays), |stream, at| stream.end(at));
            }
        }
        self.touched.clear();
        self.levels(told.part(&[event::Kind::Depth]), &now, recorder);
        if self.finish(told, views) {
            let third = self.second.div_euclid(3);
            let is_third = std::mem::replace(&mut self.third, third) != third;
            for publisher in &mut self.markets {
                publisher.ask(&now, (recorder, &mut self.arrays), |stream, at| stream.second(is_third, at));
            }
        }
        self.send_arrays(recorder);
    }

    /// Whether [`FuturesPublisher::due`] has something to look at.
    pub fn is_due(&self, changed: u64, now_ms: impl FnOnce() -> i64) -> bool {
        changed != self.changed || (self.is_timed && Some(now_ms().div_euclid(BEAT_MS)) != self.beat)
    }

    /// How long nothing is due.
    pub fn next_timer(&self, now_ms: i64) -> Option<Duration> {
        self.is_timed.then(|| Duration::from_millis((BEAT_MS - now_ms.rem_euclid(BEAT_MS)).unsigned_abs()))
    }

    /// Tells what the clock has made due. Between two commands, with the views as they are.
    pub fn due(&mut self, changed: u64, clock: &Clock, views: &Views, recorder: &mut PushRecorder<'_>) {
        self.look(changed, recorder.live());
        if !self.is_timed {
            self.beat = None;
            return;
        }
        let now_ms = clock.now_ms();
        let beat = self.beat.replace(now_ms.div_euclid(BEAT_MS));
        // Any other count than the last, so that a clock that steps back stops nothing.
        let passed = SPEEDS.map(|speed_ms| now_ms.div_euclid(speed_ms));
        let before = std::mem::replace(&mut self.passed, passed);
        if beat.is_none() || beat == self.beat {
            return;
        }
        let due = Due(std::array::from_fn(|place| passed[place] != before[place]));
        let now = Now { views, time_ms: self.time_ms, clock };
        for publisher in &mut self.markets {
            publisher.ask(&now, (recorder, &mut self.arrays), |stream, at| stream.beat(&due, at));
        }
        self.send_arrays(recorder);
    }

    /// Takes in new markets and new rules; says whether there are new markets.
    fn follow(&mut self, told: CommandEvents<'_>, views: &Views) -> bool {
        let is_rule = |event: &Event| {
            event.get::<event::PerpetualListed>().is_some()
                || event.get::<event::PerpetualSetting>().is_some()
        };
        let before = self.markets.len();
        let rules = [event::Kind::PerpetualListed, event::Kind::PerpetualSetting];
        if told.part(&rules).iter().any(is_rule) {
            self.list(views);
        }
        self.markets.len() > before
    }

    /// Takes in what is kept whoever listens; says whether this command begins a second.
    fn finish(&mut self, told: CommandEvents<'_>, views: &Views) -> bool {
        for event in told.part(&[event::Kind::Depth, event::Kind::PerpetualStateChanged]) {
            if let Some(depth) = event.get::<event::Depth>()
                && let Some(publisher) = self.market_mut(depth.market)
            {
                publisher.market.update = depth.update;
                publisher.market.book_ms = event.time_ns.div_euclid(1_000_000);
            }
            if let Some(state) = event.get::<event::PerpetualStateChanged>()
                && let Some(publisher) = self.market_mut(state.market)
            {
                publisher.status =
                    command::PerpetualState::from_code(state.state).map_or("", words::symbol_status);
            }
        }
        let Some(end) = told.last() else { return false };
        self.time_ms = end.time_ns.div_euclid(1_000_000);
        let is_tick = end.get::<event::Done>().is_some_and(|done| {
            done.command == command::Kind::AdvanceTime as u16 && self.time_ms.div_euclid(1_000) > self.second
        });
        if is_tick {
            self.second = self.time_ms.div_euclid(1_000);
            self.has_sampled = true;
            for publisher in &mut self.markets {
                let listed = views.perpetuals().markets().get(publisher.market.id);
                publisher.sample(listed.map_or(0, PerpetualMarket::mark));
            }
        }
        is_tick
    }

    /// Looks at what is listened to, if that has changed.
    fn look(&mut self, changed: u64, live: &[LiveTopic]) {
        if std::mem::replace(&mut self.changed, changed) == changed {
            return;
        }
        self.is_timed = false;
        self.closes_ms = i64::MAX;
        self.names.clear();
        self.wanted.clear();
        for LiveTopic { topic, .. } in live {
            let events = topic.kind.row().events.iter();
            let new: Vec<_> = events.copied().filter(|kind| !self.wanted.contains(kind)).collect();
            self.wanted.extend(new);
        }
        for publisher in &mut self.markets {
            let mut before = std::mem::take(&mut publisher.followed);
            for LiveTopic { topic, birth } in live {
                if topic.id != publisher.market.id && topic.id != ALL_MARKETS {
                    continue;
                }
                let same = before.iter().position(|known| known.topic == *topic && known.birth == *birth);
                let start = Start {
                    topic: *topic,
                    update: publisher.market.update,
                    time_ms: self.time_ms,
                    status: publisher.status,
                };
                let followed = match (same, topic.kind.row().begin) {
                    (Some(place), _) => before.swap_remove(place),
                    (None, Some(begin)) => Followed { topic: *topic, birth: *birth, stream: begin(&start) },
                    (None, None) => continue,
                };
                self.is_timed |= followed.stream.is_timed();
                self.closes_ms = self.closes_ms.min(followed.stream.closes_ms());
                publisher.followed.push(followed);
            }
        }
    }

    /// Books that a command changed.
    fn levels(&mut self, events: &[Event], now: &Now<'_>, recorder: &mut PushRecorder<'_>) {
        for event in events {
            let Some(depth) = event.get::<event::Depth>() else { continue };
            let Some(publisher) = find(&mut self.markets, depth.market) else { continue };
            if publisher.followed.is_empty() || self.touched.contains(&depth.market) {
                continue;
            }
            self.touched.push(depth.market);
            let changed = Changed { market: depth.market, events };
            publisher.ask(now, (recorder, &mut self.arrays), |stream, at| stream.levels(&changed, at));
        }
    }

    /// Closes what wants to be closed by the time of commands.
    fn close(&mut self, now: &Now<'_>, recorder: &mut PushRecorder<'_>) {
        let mut closes_ms = i64::MAX;
        for publisher in &mut self.markets {
            publisher.ask(now, (recorder, &mut self.arrays), |stream, at| {
                if stream.closes_ms() <= at.time_ms {
                    stream.close(at);
                }
                closes_ms = closes_ms.min(stream.closes_ms());
            });
        }
        self.closes_ms = closes_ms;
    }

    fn send_arrays(&mut self, recorder: &mut PushRecorder<'_>) {
        for (topic, rows) in self.arrays.drain(..) {
            recorder.payload(topic, |out| {
                out.extend_from_slice(&rows);
                out.push(b']');
            });
        }
    }

    fn market_mut(&mut self, market: MarketId) -> Option<&mut MarketPublisher> {
        find(&mut self.markets, market)
    }
}

impl MarketPublisher {
    /// Takes in a second's mark, if there is one.
    fn sample(&mut self, mark: Price) {
        if mark <= 0 {
            return;
        }
        if self.marks.len() == SAMPLES {
            self.marks.pop_front();
        }
        self.marks.push_back(mark);
        let sum: i128 = self.marks.iter().map(|mark| i128::from(*mark)).sum();
        self.market.mean = i64::try_from(sum / (self.marks.len() as i128)).unwrap_or(0);
    }
}

fn find(markets: &mut [MarketPublisher], market: MarketId) -> Option<&mut MarketPublisher> {
    markets.get_mut(market.checked_sub(FIRST_PERPETUAL)? as usize)
}

/// The market that an event is about.
fn market_of(kind: event::Kind, event: &Event) -> Option<MarketId> {
    Some(match kind {
        event::Kind::PerpetualTrade => event.get::<event::PerpetualTrade>()?.market,
        event::Kind::PerpetualOrder => event.get::<event::PerpetualOrder>()?.market,
        event::Kind::Liquidation => event.get::<event::Liquidation>()?.market,
        event::Kind::Posting => event.get::<event::Posting>()?.market,
        event::Kind::PerpetualStateChanged => event.get::<event::PerpetualStateChanged>()?.market,
        event::Kind::PerpetualBracket => event.get::<event::PerpetualBracket>()?.market,
        _ => return None,
    })
}
