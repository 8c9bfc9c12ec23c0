//! What each command has to tell whom of the perpetual markets.
//!
//! The board sees every command with the views as they are after it. Per market it holds what no view does (the mean of the
//! marks) and, for each topic that someone listens to, what is gathered for its next event. It writes nothing for topics
//! that nobody listens to; sockets and frames are not here.
//!
//! What has no speed is noted with the command. What has one is gathered by the command and noted when the wall clock enters
//! the next 100, 250, 500 or 1,000 ms; nothing is said where nothing has changed. Marks and closed candles go by the time
//! of commands instead, since nothing can change them any more then. Either way an event holds released commands alone.

mod depth;
mod due;
mod gather;
pub mod lookup;

use super::desk::Desk;
use super::hub::LiveTopic;
use super::note::perpetual::{MarketNote, Step, What, trade_of};
use super::stream_name;
use super::topic::{Kind, Topic, TopicMap};
use crate::dialect::fapi::stream::{self, Label, Level};
use crate::dialect::fapi::words;
use crate::egress::Told;
use gather::{Live, State};
use lookup::{best, mark_of, stick, top};
use ringside_core::command;
use ringside_core::event::{self, Event};
use ringside_core::ids::{ALL_MARKETS, FIRST_PERPETUAL, MarketId};
use ringside_core::money::Price;
use ringside_views::Views;
use ringside_views::depth::Book;
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_views::perpetual::series::INTERVALS;
use std::collections::VecDeque;

/// What all speeds are multiples of, milliseconds.
const BEAT_MS: i64 = 50;
/// Speeds that are not a command's own, milliseconds.
const SPEEDS: [i64; 4] = [100, 250, 500, 1_000];
/// Samples in the mean of the marks: a minute of seconds.
const SAMPLES: usize = 60;
/// Closed candles told at once when time jumps.
const CLOSED_MAX: usize = 1_000;

/// Kinds of events that are noted as they come.
const NOTED: &[event::Kind] = &[
    event::Kind::PerpetualTrade,
    event::Kind::PerpetualOrder,
    event::Kind::Liquidation,
    event::Kind::PerpetualStateChanged,
    event::Kind::PerpetualBracket,
];

/// See the module.
pub struct Board {
    markets: Vec<MarketBoard>,
    /// The hub's count when the topics were last looked at.
    changed: u64,
    /// Time of the last command, UNIX milliseconds.
    time_ms: i64,
    /// The last second in which marks were told, and the last three seconds.
    second: i64,
    third: i64,
    /// When the next candle that someone listens to is over.
    closes_ms: i64,
    /// Whether any topic has a speed.
    is_timed: bool,
    /// The last beat looked at since any topic has a speed, and how many of each speed had then passed.
    beat: Option<i64>,
    passed: [i64; SPEEDS.len()],
    /// Levels of the notes.
    levels: Vec<Level>,
    names: TopicMap<String>,
    /// Markets whose books the running command changed.
    touched: Vec<MarketId>,
    /// Whether the means have changed since they were taken.
    has_sampled: bool,
}

/// One market.
struct MarketBoard {
    market: MarketId,
    label: Label,
    /// Its book's last mutation.
    update: u64,
    /// When that was.
    book_ms: i64,
    marks: VecDeque<Price>,
    /// The status told last.
    status: &'static str,
    lives: Vec<Live>,
}

impl MarketBoard {
    fn mean(&self) -> Price {
        let sum: i128 = self.marks.iter().map(|mark| i128::from(*mark)).sum();
        i64::try_from(sum / (self.marks.len().max(1) as i128)).unwrap_or(0)
    }
}

impl Board {
    /// A board that goes on where these views are.
    pub fn new(views: &Views) -> Board {
        let mut board = Board {
            markets: Vec::new(),
            changed: 0,
            time_ms: views.time_ns().div_euclid(1_000_000),
            second: 0,
            third: 0,
            closes_ms: i64::MAX,
            is_timed: false,
            beat: None,
            passed: [0; SPEEDS.len()],
            levels: Vec::new(),
            names: TopicMap::default(),
            touched: Vec::new(),
            has_sampled: false,
        };
        board.list(views);
        for (market, of_views) in board.markets.iter_mut().zip(views.perpetuals().markets().all()) {
            market.status = words::symbol_status(of_views.state);
        }
        board
    }

    /// A market's name.
    pub fn symbol(&self, market: MarketId) -> &str {
        self.market(market).map_or("", |market| &market.label.symbol)
    }

    /// The name of a topic's stream.
    pub fn stream_name(&mut self, topic: Topic) -> &str {
        let place = topic.id.wrapping_sub(FIRST_PERPETUAL) as usize;
        let lower = self.markets.get(place).map_or("", |market| &market.label.lower);
        self.names.entry(topic).or_insert_with(|| stream_name::write(topic, lower))
    }

    /// Appends the payload of a note.
    pub fn encode(&self, out: &mut Vec<u8>, note: &MarketNote, now_ms: i64) {
        if let Some(market) = self.market(note.market) {
            note.what.encode(out, &market.label, &self.levels, now_ms);
        }
    }

    /// The means of the marks of the last minute by the market's place, if they have changed since this was last asked.
    pub fn take_means(&mut self) -> Option<Vec<Price>> {
        std::mem::take(&mut self.has_sampled).then(|| self.markets.iter().map(MarketBoard::mean).collect())
    }

    /// All notes are encoded.
    pub fn clear(&mut self) {
        self.levels.clear();
    }

    fn market(&self, market: MarketId) -> Option<&MarketBoard> {
        self.markets.get(market.checked_sub(FIRST_PERPETUAL)? as usize)
    }

    /// Learns the markets, their names and decimals.
    fn list(&mut self, views: &Views) {
        for market in views.perpetuals().markets().all() {
            let place = (market.market - FIRST_PERPETUAL) as usize;
            if place == self.markets.len() {
                let update = views.perpetuals().book(market.market).map_or(0, Book::update_id);
                self.markets.push(MarketBoard {
                    market: market.market,
                    label: Label::default(),
                    update,
                    book_ms: market.book_ms,
                    marks: VecDeque::with_capacity(SAMPLES),
                    status: "",
                    lives: Vec::new(),
                });
                // Topics of all markets are of this one too.
                self.changed = u64::MAX;
            }
            self.markets[place].label = Label::of(market);
        }
    }

    /// Follows a command that nobody wants to know more of.
    pub fn skip(&mut self, told: Told<'_>, views: &Views) {
        self.follow(told, views);
        self.finish(told, views);
    }

    /// Notes a command, with the views after it. `changed` is the hub's count of changed topics.
    pub fn command(&mut self, changed: u64, told: Told<'_>, views: &Views, desk: &mut Desk<'_>) {
        self.look(changed, desk.live());
        if self.follow(told, views) {
            self.look(changed, desk.live());
        }
        let time_ms = told.first().map_or(0, |event| event.time_ns.div_euclid(1_000_000));
        if time_ms >= self.closes_ms {
            self.close_candles(time_ms, views, desk);
        }
        for event in told.part(NOTED) {
            self.note(event, time_ms, views, desk);
        }
        self.books(told.part(&[event::Kind::Depth]), time_ms, views, desk);
        if self.finish(told, views) {
            self.marks(views, desk);
        }
    }

    /// Takes in new markets and new rules; says whether there are new markets.
    fn follow(&mut self, told: Told<'_>, views: &Views) -> bool {
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

    /// Takes in what is kept whoever listens; says whether this command begins a second of marks.
    fn finish(&mut self, told: Told<'_>, views: &Views) -> bool {
        for event in told.part(&[event::Kind::Depth, event::Kind::PerpetualStateChanged]) {
            if let Some(depth) = event.get::<event::Depth>()
                && let Some(place) = depth.market.checked_sub(FIRST_PERPETUAL)
                && let Some(market) = self.markets.get_mut(place as usize)
            {
                market.update = depth.update;
                market.book_ms = event.time_ns.div_euclid(1_000_000);
            }
            if let Some(state) = event.get::<event::PerpetualStateChanged>()
                && let Some(market) = self.market_mut(state.market)
            {
                market.status =
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
            for market in &mut self.markets {
                let mark = views.perpetuals().markets().get(market.market).map_or(0, PerpetualMarket::mark);
                if mark > 0 {
                    if market.marks.len() == SAMPLES {
                        market.marks.pop_front();
                    }
                    market.marks.push_back(mark);
                }
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
        for market in &mut self.markets {
            let mut before = std::mem::take(&mut market.lives);
            for LiveTopic { topic, birth } in live {
                if topic.id != market.market && topic.id != ALL_MARKETS {
                    continue;
                }
                let same = before.iter().position(|live| live.topic == *topic && live.birth == *birth);
                let live = match same {
                    Some(place) => before.swap_remove(place),
                    None => Live::new(*topic, *birth, market.update, self.time_ms),
                };
                self.is_timed |= live.is_timed();
                self.closes_ms = self.closes_ms.min(live.closes_ms());
                market.lives.push(live);
            }
        }
    }

    /// One event of a command, of those in [`NOTED`].
    fn note(&mut self, event: &Event, time_ms: i64, views: &Views, desk: &mut Desk<'_>) {
        if let Some(trade) = event.get::<event::PerpetualTrade>() {
            let Some(market) = self.market_mut(trade.market) else { return };
            let id = market.market;
            for live in &mut market.lives {
                if live.topic.kind == Kind::PerpetualTrade {
                    if trade.is_in_book() {
                        let what = What::Trade(trade_of(trade, time_ms));
                        desk.market(live.topic, MarketNote { market: id, what });
                    }
                } else {
                    live.traded(trade, views);
                }
            }
        } else if let Some(order) = event.get::<event::PerpetualOrder>() {
            let Some(market) = self.market_mut(order.market) else { return };
            market.lives.iter_mut().for_each(|live| live.ordered(order, time_ms));
        } else if let Some(told) = event.get::<event::Liquidation>() {
            let Some(market) = self.market_mut(told.market) else { return };
            let id = market.market;
            let Some(step) = Step::of(told, time_ms) else { return };
            for live in market.lives.iter().filter(|live| live.topic.kind == Kind::Liquidation) {
                desk.market(live.topic, MarketNote { market: id, what: What::Step(step) });
            }
        } else if let Some(state) = event.get::<event::PerpetualStateChanged>() {
            self.contract(state.market, false, time_ms, views, desk);
        } else if let Some(bracket) = event.get::<event::PerpetualBracket>()
            && bracket.bracket == bracket.count
        {
            self.contract(bracket.market, true, time_ms, views, desk);
        }
    }

    fn market_mut(&mut self, market: MarketId) -> Option<&mut MarketBoard> {
        self.markets.get_mut(market.checked_sub(FIRST_PERPETUAL)? as usize)
    }

    /// A status or brackets were set.
    fn contract(
        &mut self,
        market: MarketId,
        has_brackets: bool,
        now_ms: i64,
        views: &Views,
        desk: &mut Desk<'_>,
    ) {
        let Some(market) = views.perpetuals().markets().get(market) else { return };
        let status = words::symbol_status(market.state);
        let Some(own) = self.market_mut(market.market) else { return };
        if std::mem::replace(&mut own.status, status) == status && !has_brackets {
            return;
        }
        desk.payload(Topic::of_market(Kind::Contract, ALL_MARKETS), |out| {
            stream::contract(out, market, has_brackets, now_ms);
        });
    }

    /// Books that a command changed.
    fn books(&mut self, events: &[Event], time_ms: i64, views: &Views, desk: &mut Desk<'_>) {
        let depths = || events.iter().filter_map(|event| event.get::<event::Depth>());
        let Board { markets, levels, touched, .. } = self;
        touched.clear();
        for depth in depths() {
            let Some(place) = depth.market.checked_sub(FIRST_PERPETUAL) else { continue };
            let Some(market) = markets.get_mut(place as usize) else { continue };
            if touched.contains(&depth.market) || market.lives.is_empty() {
                continue;
            }
            touched.push(depth.market);
            let book = views.perpetuals().book(market.market);
            let update = book.map_or(0, Book::update_id);
            for live in &mut market.lives {
                let own = depths().filter(|other| other.market == depth.market);
                match &mut live.state {
                    State::Diff { gathered, speed_ms } => {
                        own.for_each(|depth| gathered.put(depth, time_ms));
                        let start = levels.len();
                        if *speed_ms == 0
                            && let Some((updates, middle)) = gathered.take(levels)
                        {
                            let what = What::Diff(updates, start..levels.len(), middle);
                            desk.market(live.topic, MarketNote { market: market.market, what });
                        }
                    }
                    State::Top { before, speed_ms: 0, levels } if update != *before => {
                        let updates = stream::Updates {
                            before: std::mem::replace(before, update),
                            last: update,
                            time_ms,
                        };
                        write_top(desk, live.topic, &market.label, updates, book, *levels, time_ms);
                    }
                    State::Best { last } => {
                        let best = best(book);
                        let is_news = match last.replace(best) {
                            Some(last) => last != best,
                            None => {
                                depths().any(|depth| depth.market == market.market && reaches(depth, &best))
                            }
                        };
                        if is_news {
                            let what = What::Best(update, time_ms, best);
                            desk.market(live.topic, MarketNote { market: market.market, what });
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// The second's marks.
    fn marks(&mut self, views: &Views, desk: &mut Desk<'_>) {
        let now_ms = self.time_ms;
        let third = self.second.div_euclid(3);
        let is_third = std::mem::replace(&mut self.third, third) != third;
        let prices =
            |market: &MarketBoard| mark_of(views.perpetuals().markets().get(market.market)?, market.mean());
        for detail in [0, 1] {
            if detail == 0 && !is_third {
                continue;
            }
            let topic = |id| Topic { kind: Kind::Mark, id, detail };
            for market in &self.markets {
                let own = topic(market.market);
                if let Some(mark) = market.listens_to(own).then(|| prices(market)).flatten() {
                    desk.payload(own, |out| stream::mark(out, &market.label, &mark, now_ms));
                }
            }
            let all = topic(ALL_MARKETS);
            let rows = || self.markets.iter().filter_map(|market| Some((market, prices(market)?)));
            if self.markets.first().is_some_and(|market| market.listens_to(all)) && rows().next().is_some() {
                desk.payload(all, |out| {
                    array(out, rows(), |out, (market, mark)| stream::mark(out, &market.label, &mark, now_ms));
                });
            }
        }
    }

    /// Tells candles that are over at a time.
    fn close_candles(&mut self, time_ms: i64, views: &Views, desk: &mut Desk<'_>) {
        self.closes_ms = i64::MAX;
        for market in &mut self.markets {
            for live in &mut market.lives {
                let topic = live.topic;
                let State::Candle { open_ms, is_dirty } = &mut live.state else { continue };
                let interval = INTERVALS[usize::from(topic.detail)].1;
                let is_pair = topic.kind == Kind::PairCandle;
                for _ in 0..CLOSED_MAX {
                    if interval.step(*open_ms, 1) > time_ms {
                        break;
                    }
                    if let Some(stick) = stick(views, market.market, topic.detail, *open_ms, true) {
                        desk.payload(topic, |out| {
                            stream::candle(out, &market.label, &stick, is_pair, time_ms);
                        });
                    }
                    *open_ms = interval.step(*open_ms, 1);
                    *is_dirty = false;
                }
                *open_ms = interval.open(time_ms);
                self.closes_ms = self.closes_ms.min(live.closes_ms());
            }
        }
    }
}

impl MarketBoard {
    fn listens_to(&self, topic: Topic) -> bool {
        self.lives.iter().any(|live| live.topic == topic)
    }
}

fn array<T>(out: &mut Vec<u8>, rows: impl Iterator<Item = T>, mut write: impl FnMut(&mut Vec<u8>, T)) {
    for (place, row) in rows.enumerate() {
        out.push(if place == 0 { b'[' } else { b',' });
        write(out, row);
    }
    out.push(b']');
}

/// An event of the best levels, also of a book that became empty: whoever keeps the last one must lose it.
fn write_top(
    desk: &mut Desk<'_>,
    topic: Topic,
    label: &Label,
    updates: stream::Updates,
    book: Option<&Book>,
    levels: usize,
    now_ms: i64,
) {
    let [bids, asks] = top(book, levels);
    desk.payload(topic, |out| stream::depth(out, label, updates, &bids, &asks, now_ms));
}

/// Whether a level that changed is the best one, or was better.
fn reaches(depth: &event::Depth, [bid, ask]: &[Option<Level>; 2]) -> bool {
    if depth.side == command::Side::Buy as u8 {
        bid.is_none_or(|(price, _)| depth.price >= price)
    } else {
        ask.is_none_or(|(price, _)| depth.price <= price)
    }
}
