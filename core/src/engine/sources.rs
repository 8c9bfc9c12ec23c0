//! Which commands of each source were applied: the last number is enough, as a source numbers its commands in order.

use crate::book::table::Table;
use crate::hash_seed::HashSeed;

/// See the module. Bounded by the count of sources in one epoch.
pub(crate) struct Sources {
    last: Table<u64>,
    /// The source that spoke last and its last number, which is not in `last` yet: sources speak in batches.
    speaker: (u32, u64),
    epoch: u32,
}

impl Sources {
    pub(crate) fn new(seed: &HashSeed) -> Sources {
        Sources { last: Table::new(64, seed), speaker: (0, 0), epoch: 0 }
    }

    /// Takes in a command's number; whether it is new. Number 0 is always new.
    #[inline]
    pub(crate) fn admit(&mut self, source: u32, number: u64) -> bool {
        if source != self.speaker.0 && number != 0 {
            self.turn(source);
        }
        if number > self.speaker.1 {
            self.speaker.1 = number;
            return true;
        }
        number == 0
    }

    /// Makes `source` the speaker.
    #[inline(never)]
    fn turn(&mut self, source: u32) {
        if self.speaker.1 != 0 {
            *self.last.entry(u64::from(self.speaker.0)) = self.speaker.1;
        }
        self.speaker = (source, self.last.find(u64::from(source)).unwrap_or(0));
    }

    /// Starts an epoch: every source so far is forgotten. `false` where it is not above the last.
    pub(crate) fn open_epoch(&mut self, epoch: u32) -> bool {
        if epoch <= self.epoch {
            return false;
        }
        self.epoch = epoch;
        self.speaker = (0, 0);
        self.last.clear();
        true
    }

    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Sources and their last numbers, ascending.
    pub(crate) fn sorted(&self) -> Vec<(u32, u64)> {
        let others = self.last.iter().map(|(source, last)| (source as u32, last));
        let mut all: Vec<(u32, u64)> = others.filter(|other| other.0 != self.speaker.0).collect();
        all.extend((self.speaker.1 != 0).then_some(self.speaker));
        all.sort_unstable();
        all
    }

    pub(crate) fn restore(epoch: u32, last: &[(u32, u64)], seed: &HashSeed) -> Sources {
        // Source 0 is the speaker of an engine in which nobody has spoken, so its own number must stand there.
        let zero = last.iter().find(|(source, _)| *source == 0).map_or(0, |(_, number)| *number);
        let mut sources = Sources { last: Table::new(last.len().max(64), seed), speaker: (0, zero), epoch };
        for &(source, number) in last {
            *sources.last.entry(u64::from(source)) = number;
        }
        sources
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source that is number 0 and numbers its commands was forgotten by a restored engine, which took them twice.
    #[test]
    fn what_was_seen_is_seen_after_a_restore_whoever_spoke() {
        for order in [[0, 1], [1, 0], [7, 3]] {
            let mut sources = Sources::new(&HashSeed::default());
            for source in order {
                assert!(sources.admit(source, 5));
            }
            let mut restored = Sources::restore(sources.epoch(), &sources.sorted(), &HashSeed::default());
            assert_eq!(restored.sorted(), sources.sorted());
            for source in order {
                assert!(!restored.admit(source, 5), "source {source} of {order:?}");
                assert!(restored.admit(source, 6));
            }
            assert!(!restored.admit(order[0], 6));
        }
    }
}
