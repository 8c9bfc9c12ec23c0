//! What the passing of the clock has to tell: streams with a speed of their own, between two commands.

use super::gather::{Live, State, closes_ms};
use super::lookup::{BOOK_LEVELS, stick, top};
use super::{BEAT_MS, Board, MarketBoard, SPEEDS, write_top};
use crate::dialect::fapi::stream;
use crate::push::desk::Desk;
use crate::push::note::perpetual::{MarketNote, What};
use crate::push::topic::{Kind, Topic};
use ringside_core::ids::ALL_MARKETS;
use ringside_views::Views;
use std::time::Duration;

impl Board {
    /// Whether [`Board::due`] has something to look at.
    pub fn is_due(&self, changed: u64, now_ms: impl FnOnce() -> i64) -> bool {
        changed != self.changed || (self.is_timed && Some(now_ms().div_euclid(BEAT_MS)) != self.beat)
    }

    /// How long nothing is due.
    pub fn nap(&self, now_ms: i64) -> Option<Duration> {
        self.is_timed.then(|| Duration::from_millis((BEAT_MS - now_ms.rem_euclid(BEAT_MS)).unsigned_abs()))
    }

    /// Notes what the clock has made due. Between two commands, with the views as they are.
    pub fn due(&mut self, changed: u64, now_ms: i64, views: &Views, desk: &mut Desk<'_>) {
        self.look(changed, desk.live());
        if !self.is_timed {
            self.beat = None;
            return;
        }
        let beat = self.beat.replace(now_ms.div_euclid(BEAT_MS));
        // Any other count than the last, so that a clock that steps back stops nothing.
        let passed = SPEEDS.map(|speed_ms| now_ms.div_euclid(speed_ms));
        let before = std::mem::replace(&mut self.passed, passed);
        if beat.is_none() || beat == self.beat {
            return;
        }
        let is_due = |speed_ms: i64| {
            SPEEDS
                .iter()
                .zip(passed.iter().zip(&before))
                .any(|(speed, (now, then))| *speed == speed_ms && now != then)
        };
        let mut days: Vec<(Topic, Vec<u8>)> = Vec::new();
        let Board { markets, levels, .. } = self;
        for market in markets {
            let MarketBoard { market: id, label, update, book_ms, lives, .. } = market;
            let book = views.perpetuals().book(*id);
            for Live { topic, state, .. } in lives {
                let topic = *topic;
                match state {
                    State::Diff { gathered, speed_ms } if is_due(*speed_ms) => {
                        let start = levels.len();
                        if let Some((updates, middle)) = gathered.take(levels) {
                            let what = What::Diff(updates, start..levels.len(), middle);
                            desk.market(topic, MarketNote { market: *id, what });
                        }
                    }
                    State::Top { before, speed_ms, levels } if is_due(*speed_ms) && before != update => {
                        let before = std::mem::replace(before, *update);
                        let updates = stream::Updates { before, last: *update, time_ms: *book_ms };
                        write_top(desk, topic, label, updates, book, *levels, now_ms);
                    }
                    State::Book { sent } if is_due(100) && sent != update => {
                        *sent = *update;
                        let [bids, asks] = top(book, BOOK_LEVELS);
                        desk.payload(topic, |out| {
                            stream::order_book(out, label, *update, &bids, &asks, now_ms);
                        });
                    }
                    State::Aggregates(rows) if is_due(100) => {
                        while let Some(row) = rows.take(now_ms) {
                            desk.payload(topic, |out| stream::aggregate(out, label, &row, now_ms));
                        }
                    }
                    // One that is over by the clock is told closed, by the command that closes it.
                    State::Candle { open_ms, is_dirty }
                        if is_due(250) && *is_dirty && closes_ms(topic, *open_ms) > now_ms =>
                    {
                        *is_dirty = false;
                        if let Some(stick) = stick(views, *id, topic.detail, *open_ms, false) {
                            let is_pair = topic.kind == Kind::PairCandle;
                            desk.payload(topic, |out| stream::candle(out, label, &stick, is_pair, now_ms));
                        }
                    }
                    State::Day(rolling) if is_due(1_000) => {
                        let Some(day) = rolling.changed(views, *id, now_ms) else { continue };
                        let write = match topic.kind {
                            Kind::MiniDay => stream::mini_day,
                            _ => stream::day,
                        };
                        if topic.id != ALL_MARKETS {
                            desk.payload(topic, |out| write(out, label, &day, now_ms));
                            continue;
                        }
                        let place = days.iter().position(|(other, _)| *other == topic).unwrap_or_else(|| {
                            days.push((topic, Vec::new()));
                            days.len() - 1
                        });
                        let rows = &mut days[place].1;
                        rows.push(if rows.is_empty() { b'[' } else { b',' });
                        write(rows, label, &day, now_ms);
                    }
                    State::Forced(orders) if is_due(1_000) => {
                        if let Some(order) = orders.take() {
                            desk.payload(topic, |out| stream::forced(out, label, &order, now_ms));
                        }
                    }
                    _ => {}
                }
            }
        }
        for (topic, rows) in days {
            desk.payload(topic, |out| {
                out.extend_from_slice(&rows);
                out.push(b']');
            });
        }
    }
}
