//! The chain as far as it is known, as pure state: the last final block, and the blocks seen above it, each the child of the
//! one before.
//!
//! A block that is replaced before it is final is undone here and has never counted. A final block that is replaced is more
//! than this can mend: it is said, and nothing goes on. Asks nobody, tells nobody: see `watcher.rs`.

use super::FinalBlock;
use super::provider::{Hash, Header, VaultEvent};
use std::collections::VecDeque;

/// Blocks seen above the final one, at most: a chain whose finality stands still is not followed for ever.
pub const SEEN_MAX: usize = 4_096;

/// A block that may still be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The block.
    pub header: Header,
    /// What the vault did in it.
    pub events: Vec<VaultEvent>,
}

/// What a look at a known number says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// It is the block that is known.
    Same,
    /// It was replaced; so is what stood above.
    Replaced,
    /// A final block was replaced.
    FinalReplaced,
}

/// The block does not follow the last one: the chain changed meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoChild;

/// See the module.
#[derive(Clone, Debug)]
pub struct Tracker {
    /// Number of the first block that is of interest, where nothing is final yet.
    start: u64,
    /// Number, hash, time of the last final block.
    last: Option<(u64, Hash)>,
    seen: VecDeque<Seen>,
}

impl Tracker {
    /// Goes on behind the last final block, or begins with the block `start`.
    pub fn new(start: u64, last: Option<&FinalBlock>) -> Tracker {
        Tracker { start, last: last.map(|block| (block.block, block.hash)), seen: VecDeque::new() }
    }

    /// Number of the last final block.
    pub fn final_number(&self) -> Option<u64> {
        self.last.map(|(number, _)| number)
    }

    /// Blocks that may still be replaced, oldest first.
    pub fn seen(&self) -> impl DoubleEndedIterator<Item = &Seen> {
        self.seen.iter()
    }

    /// The newest block that is known, and its hash.
    pub fn tip(&self) -> Option<(u64, Hash)> {
        self.seen.back().map(|seen| (seen.header.number, seen.header.hash)).or(self.last)
    }

    /// Number of the next block to look for.
    pub fn next(&self) -> u64 {
        self.tip().map_or(self.start, |(number, _)| number + 1)
    }

    /// Whether there is room for another block.
    pub fn has_room(&self) -> bool {
        self.seen.len() < SEEN_MAX
    }

    /// Compares what the chain now has at a known number, at or above the final one.
    pub fn look(&self, now: &Header) -> Look {
        if let Some((number, hash)) = self.last
            && now.number <= number
        {
            return if now.number == number && now.hash == hash { Look::Same } else { Look::FinalReplaced };
        }
        match self.seen.iter().rfind(|seen| seen.header.number == now.number) {
            Some(seen) if seen.header.hash == now.hash => Look::Same,
            _ => Look::Replaced,
        }
    }

    /// Forgets the blocks from a number on, which were replaced; gives them, newest first.
    pub fn undo(&mut self, number: u64) -> Vec<Seen> {
        let mut undone = Vec::new();
        while let Some(seen) = self.seen.pop_back_if(|seen| seen.header.number >= number) {
            undone.push(seen);
        }
        undone
    }

    /// Adds the block after the newest known one.
    pub fn extend(&mut self, seen: Seen) -> Result<(), NoChild> {
        let follows = match self.tip() {
            Some((_, hash)) => seen.header.parent == hash,
            None => true,
        };
        if !follows || seen.header.number != self.next() {
            return Err(NoChild);
        }
        self.seen.push_back(seen);
        Ok(())
    }

    /// The oldest block above the final one, if its number is at most `height`.
    pub fn ready(&self, height: u64) -> Option<&Seen> {
        self.seen.front().filter(|seen| seen.header.number <= height)
    }

    /// The oldest block is final now.
    pub fn settle(&mut self) {
        if let Some(seen) = self.seen.pop_front() {
            self.last = Some((seen.header.number, seen.header.hash));
        }
    }
}
