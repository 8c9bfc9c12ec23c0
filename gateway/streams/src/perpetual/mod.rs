//! What is said of perpetual markets: a file for each stream, with what it gathers of commands, when it speaks and the event it fills.
//!
//! A topic that someone listens to is followed in each market that it is about. It is told of the events that its row names and of
//! changed levels, and speaks with the command, or when the wall clock enters the next 100, 250, 500 or 1,000 ms; it says nothing where
//! nothing has changed. Marks and closed candles go by the time of commands instead, since nothing can change them any more then.
//! Either way an event holds released commands alone.

pub mod aggregate;
pub mod best;
pub mod book;
pub mod candle;
pub mod contract;
pub mod day;
pub mod depth;
pub mod forced;
pub mod insurance;
pub mod liquidation;
pub mod mark;
pub mod trade;

use super::recorder::PushRecorder;
use super::topic::Topic;
use ringside_core::event::{self, Event};
use ringside_core::ids::{MarketId, Symbol, text};
use ringside_core::money::Price;
use ringside_dialect::fapi::encode::Steps;
use ringside_views::Views;
use ringside_views::depth::Book;
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_wire::futures::SymbolName;
use ringside_wire::number::Name;
use serde::Serialize;

/// Speeds that are not a command's own, milliseconds.
pub(super) const SPEEDS: [i64; 4] = [100, 250, 500, 1_000];

/// Begins to follow a market for a topic.
pub(super) type Begin = fn(&Start) -> Box<dyn Stream>;

/// One market as it is followed for one topic.
pub(super) trait Stream: Send {
    /// An event of the market.
    fn event(&mut self, _event: &Event, _at: &mut At<'_, '_>) {}

    /// Levels of the book that a command changed, behind its other events.
    fn levels(&mut self, _changed: &Changed<'_>, _at: &mut At<'_, '_>) {}

    /// A command that had events of the market is over.
    fn end(&mut self, _at: &mut At<'_, '_>) {}

    /// The time of commands enters the next second, and perhaps the next three.
    fn second(&mut self, _is_third: bool, _at: &mut At<'_, '_>) {}

    /// When it wants to be closed, by the time of commands, UNIX milliseconds.
    fn closes_ms(&self) -> i64 {
        i64::MAX
    }

    /// A command comes that is not before [`Stream::closes_ms`].
    fn close(&mut self, _at: &mut At<'_, '_>) {}

    /// Whether it waits for the clock.
    fn is_timed(&self) -> bool {
        false
    }

    /// The clock entered what is next of some speeds.
    fn beat(&mut self, _due: &Due, _at: &mut At<'_, '_>) {}
}

/// What a stream begins behind.
pub(super) struct Start {
    pub topic: Topic,
    /// The book's last mutation.
    pub update: u64,
    /// Of the last command, UNIX milliseconds.
    pub time_ms: i64,
    /// The status that was told last.
    pub status: &'static str,
}

/// What events need to know of a market.
#[derive(Clone, Copy)]
pub struct Label {
    symbol: Symbol,
    /// Numbers in the decimals of its steps.
    pub steps: Steps,
}

impl Label {
    /// Of a market as it is.
    pub fn of(market: &PerpetualMarket) -> Label {
        Label { symbol: market.symbol, steps: Steps::of(market) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        text(&self.symbol)
    }

    /// The same in an event.
    pub fn symbol(&self) -> SymbolName {
        Name(self.symbol)
    }
}

/// A market as its publisher knows it.
pub(super) struct Market {
    pub id: MarketId,
    pub label: Label,
    /// Its book's last mutation.
    pub update: u64,
    /// When that was, UNIX milliseconds.
    pub book_ms: i64,
    /// Mean of the marks of the last minute; 0 where there are none.
    pub mean: Price,
}

/// Where a stream speaks.
pub(super) struct At<'a, 'd> {
    pub topic: Topic,
    pub market: &'a Market,
    pub views: &'a Views,
    /// Of the command, or of the last one, UNIX milliseconds.
    pub time_ms: i64,
    /// By the clock, UNIX milliseconds.
    pub now_ms: i64,
    pub recorder: &'a mut PushRecorder<'d>,
    /// Events of all markets that become one array; `None` where each is one.
    pub array: Option<&'a mut Vec<(Topic, Vec<u8>)>>,
}

impl At<'_, '_> {
    /// Sends an event.
    pub(super) fn tell(&mut self, event: &impl Serialize) {
        let Some(arrays) = &mut self.array else {
            self.recorder.payload(self.topic, |out| ringside_wire::write(out, event));
            return;
        };
        let place = arrays.iter().position(|(topic, _)| *topic == self.topic).unwrap_or_else(|| {
            arrays.push((self.topic, Vec::new()));
            arrays.len() - 1
        });
        let rows = &mut arrays[place].1;
        rows.push(if rows.is_empty() { b'[' } else { b',' });
        ringside_wire::write(rows, event);
    }

    pub(super) fn label(&self) -> Label {
        self.market.label
    }

    pub(super) fn book(&self) -> Option<&Book> {
        self.views.perpetuals().book(self.market.id)
    }

    /// As it is listed.
    pub(super) fn listed(&self) -> Option<&PerpetualMarket> {
        self.views.perpetuals().markets().get(self.market.id)
    }
}

/// Levels of one market among the events of a command.
pub(super) struct Changed<'a> {
    pub market: MarketId,
    pub events: &'a [Event],
}

impl<'a> Changed<'a> {
    /// In the order of the mutations.
    pub(super) fn levels(&self) -> impl Iterator<Item = &'a event::Depth> {
        let of_market = |depth: &&event::Depth| depth.market == self.market;
        self.events.iter().filter_map(|event| event.get::<event::Depth>()).filter(of_market)
    }
}

/// Of which of [`SPEEDS`] the clock entered the next.
pub(super) struct Due(pub [bool; SPEEDS.len()]);

impl Due {
    /// Whether this speed is among them.
    pub(super) fn has(&self, speed_ms: i64) -> bool {
        SPEEDS.iter().zip(self.0).any(|(speed, is_due)| is_due && *speed == speed_ms)
    }
}
