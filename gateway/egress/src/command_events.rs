//! One command as it is told on: its events, and of a long one where each kind stands.

use ringside_core::event::{Event, Kind};
use std::ops::Deref;

/// Kinds have smaller codes.
const CODES: usize = 256;

const _: () = {
    let mut place = 0;
    while place < Kind::ALL.len() {
        assert!((Kind::ALL[place] as usize) < CODES);
        place += 1;
    }
};

/// The events of one command, [`ringside_core::event::Done`] last.
#[derive(Clone, Copy, Debug)]
pub struct CommandEvents<'a> {
    events: &'a [Event],
    spans: Option<&'a Spans>,
}

impl<'a> CommandEvents<'a> {
    /// A command of few events.
    pub fn new(events: &'a [Event]) -> CommandEvents<'a> {
        CommandEvents { events, spans: None }
    }

    /// A long command, of which `spans` has noted every event.
    pub(super) fn long(events: &'a [Event], spans: &'a Spans) -> CommandEvents<'a> {
        CommandEvents { events, spans: Some(spans) }
    }

    /// A stretch that has all events of these kinds, and may have others: whoever wants few of an hour's funding, which has two
    /// events of every position, does not go through all.
    pub fn part(self, kinds: &[Kind]) -> &'a [Event] {
        let Some(spans) = self.spans else { return self.events };
        let spans = kinds.iter().filter_map(|kind| spans.of[*kind as usize]);
        let whole = spans.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
        whole.map_or(&[], |(first, last)| &self.events[first as usize..=last as usize])
    }
}

impl Deref for CommandEvents<'_> {
    type Target = [Event];

    fn deref(&self) -> &[Event] {
        self.events
    }
}

/// By kind, the places of the first and the last event of a command.
#[derive(Clone, Debug)]
pub(super) struct Spans {
    of: Box<[Option<(u32, u32)>; CODES]>,
    /// How many events were noted.
    len: u32,
}

impl Default for Spans {
    fn default() -> Spans {
        Spans { of: Box::new([None; CODES]), len: 0 }
    }
}

impl Spans {
    /// Notes the next events of the command.
    pub(super) fn note(&mut self, events: &[Event]) {
        for event in events {
            let place = self.len;
            self.len += 1;
            match self.of.get_mut(usize::from(event.kind)) {
                Some(Some((_, last))) => *last = place,
                Some(none) => *none = Some((place, place)),
                None => {}
            }
        }
    }

    /// How many events were noted.
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Another command follows.
    pub(super) fn clear(&mut self) {
        if self.len > 0 {
            self.of.fill(None);
            self.len = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_all_of_its_kinds() {
        let kinds = [Kind::Posting, Kind::Depth, Kind::Depth, Kind::Posting, Kind::Trade, Kind::Done];
        let events = kinds.map(|kind| Event { kind: kind as u16, ..Event::EMPTY });
        let mut spans = Spans::default();
        for _ in 0..2 {
            spans.note(&events[..2]);
            spans.note(&events[2..]);
            let told = CommandEvents::long(&events, &spans);
            assert_eq!(told.part(&[Kind::Depth]), &events[1..3]);
            assert_eq!(told.part(&[Kind::Posting]), &events[..4]);
            assert_eq!(told.part(&[Kind::Trade, Kind::Depth]), &events[1..5]);
            assert_eq!(told.part(&[Kind::Order]), &[]);
            assert_eq!((told.part(&[Kind::Done]), told.len()), (&events[5..], 6));
            assert_eq!(CommandEvents::new(&events).part(&[Kind::Order]), &events);
            spans.clear();
        }
    }
}
