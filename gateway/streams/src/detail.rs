//! What tells the topics of one kind and market apart: an interval, a speed, how many levels; and the word of it in a name.

use super::topic::Topic;
use ringside_views::candle::{INTERVALS, Interval};
use ringside_views::kline::SPOT_INTERVALS;

/// What tells the topics of one kind and market apart: what its number is a place in, and what of a name it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Nothing.
    One,
    /// Every third second, or with `@1s` every one.
    Seconds,
    /// The word of an interval of [`INTERVALS`].
    Interval,
    /// The word of an interval of spot.
    SpotInterval,
    /// A speed of [`SPEEDS`].
    Speed,
    /// `8 x` a number of [`LEVELS`], and a speed of [`SPEEDS`].
    LevelsAndSpeed,
}

/// Speeds of depth streams, with what stands in the name: milliseconds between two events, 0 for each command.
pub const SPEEDS: [(&str, i64); 5] =
    [("", 250), ("@250ms", 250), ("@500ms", 500), ("@100ms", 100), ("@0ms", 0)];

/// Levels of a side in depth streams that send the best ones.
pub const LEVELS: [usize; 3] = [5, 10, 20];

const SECONDS: [&str; 2] = ["", "@1s"];

impl Detail {
    /// Of what stands in a name.
    pub(super) fn read(self, word: &str) -> Option<u16> {
        let speed = |word: &str| Some(SPEEDS.iter().position(|(known, _)| *known == word)? as u16);
        match self {
            Detail::One => word.is_empty().then_some(0),
            Detail::Seconds => Some(SECONDS.iter().position(|known| *known == word)? as u16),
            Detail::Interval | Detail::SpotInterval => {
                Some(self.intervals().iter().position(|(known, _)| *known == word)? as u16)
            }
            Detail::Speed => speed(word),
            Detail::LevelsAndSpeed => {
                let (levels, rest) = word.split_at(word.find('@').unwrap_or(word.len()));
                let levels = LEVELS.iter().position(|known| known.to_string() == levels)? as u16;
                Some(levels * 8 + speed(rest)?)
            }
        }
    }

    /// What stands in a name.
    pub(super) fn write(self, topic: Topic) -> String {
        let place = usize::from(topic.detail);
        match self {
            Detail::One => String::new(),
            Detail::Seconds => SECONDS[place % SECONDS.len()].to_owned(),
            Detail::Interval | Detail::SpotInterval => {
                self.intervals().get(place).map_or("", |(word, _)| word).to_owned()
            }
            Detail::Speed => topic.speed().0.to_owned(),
            Detail::LevelsAndSpeed => format!("{}{}", topic.levels(), topic.speed().0),
        }
    }

    /// The intervals that it is a place in.
    fn intervals(self) -> &'static [(&'static str, Interval)] {
        match self {
            Detail::Interval => &INTERVALS,
            Detail::SpotInterval => &SPOT_INTERVALS,
            _ => &[],
        }
    }

    /// Whether channels name it.
    pub(super) fn is_interval(self) -> bool {
        !self.intervals().is_empty()
    }
}

impl Topic {
    /// The speed of a depth stream.
    pub fn speed(self) -> (&'static str, i64) {
        SPEEDS[usize::from(self.detail % 8) % SPEEDS.len()]
    }

    /// How many levels a stream of the best ones sends.
    pub fn levels(self) -> usize {
        LEVELS[usize::from(self.detail / 8) % LEVELS.len()]
    }
}
