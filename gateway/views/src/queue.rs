//! A queue that never moves what it holds: rows come at its end and go from its front, and a million of them are taken in
//! without one long copy. What has gone leaves its memory to what comes.

use super::chunk_pool::{CHUNK, ChunkPool};
use std::collections::VecDeque;
use std::sync::Arc;

/// Rows in order of arrival. The first chunk of an empty queue grows by doubling, so that a queue of few rows stays small.
#[derive(Clone, Debug)]
pub struct Queue<T> {
    /// All but the last are full, none is empty.
    chunks: VecDeque<Vec<T>>,
    /// Rows of the first chunk that have gone.
    gone: usize,
    /// Clones share them: they are empty.
    spares: Arc<ChunkPool<T>>,
}

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue { chunks: VecDeque::new(), gone: 0, spares: Arc::default() }
    }
}

impl<T: Copy> Queue<T> {
    /// Adds a row at the end.
    #[inline]
    pub fn push_back(&mut self, row: T) {
        match self.chunks.back_mut().filter(|last| last.len() < CHUNK) {
            Some(last) => last.push(row),
            None => self.open_chunk(row),
        }
    }

    #[cold]
    fn open_chunk(&mut self, row: T) {
        let mut chunk = if self.chunks.is_empty() { Vec::new() } else { self.spares.take(row) };
        chunk.push(row);
        self.chunks.push_back(chunk);
    }

    /// Takes the first row out.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let first = self.chunks.front()?;
        let row = *first.get(self.gone)?;
        self.gone += 1;
        if self.gone == first.len() {
            self.close_chunk();
        }
        Some(row)
    }

    #[cold]
    fn close_chunk(&mut self) {
        self.gone = 0;
        if let Some(chunk) = self.chunks.pop_front().filter(|chunk| chunk.capacity() >= CHUNK) {
            self.spares.give(chunk);
        }
    }

    /// Its empty chunks, to be kept up by others.
    pub fn spares(&self) -> Arc<ChunkPool<T>> {
        self.spares.clone()
    }

    /// So many rows may come at once: empty chunks for them are kept.
    pub fn expect(&self, rows: usize) {
        self.spares.expect(rows);
    }

    /// How many rows there are.
    #[inline]
    pub fn len(&self) -> usize {
        let last = self.chunks.back().map_or(0, Vec::len);
        self.chunks.len().saturating_sub(1) * CHUNK + last - self.gone
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The first row.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.chunks.front()?.get(self.gone)
    }

    /// The row at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        let at = self.gone + index;
        self.chunks.get(at / CHUNK)?.get(at % CHUNK)
    }

    /// All rows, the first first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Lets go of all rows.
    pub fn clear(&mut self) {
        while !self.chunks.is_empty() {
            self.close_chunk();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::chunk_pool::Refill;
    use super::*;

    #[test]
    fn it_is_what_a_plain_queue_is() {
        let (mut queue, mut plain) = (Queue::default(), VecDeque::new());
        let mut next = 0;
        // It fills to some chunks, drains to nothing and fills again, a few rows at a time.
        for step in 0..40_000_u64 {
            let fills = step / 9_000 % 2 == 0;
            for _ in 0..if fills { step % 4 } else { 0 } {
                next += 1;
                queue.push_back(next);
                plain.push_back(next);
            }
            for _ in 0..if fills { step % 2 } else { 5 } {
                assert_eq!(queue.pop_front(), plain.pop_front());
            }
            assert_eq!((queue.len(), queue.is_empty()), (plain.len(), plain.is_empty()));
            assert_eq!(queue.front(), plain.front());
            let index = (step * 31) as usize % (plain.len() + 2);
            assert_eq!(queue.get(index), plain.get(index));
        }
        assert!(queue.iter().eq(plain.iter()) && queue.iter().rev().eq(plain.iter().rev()));
        queue.clear();
        assert!(queue.spares.len() > 0, "chunks come back");
        assert_eq!((queue.len(), queue.front()), (0, None));
        queue.push_back(7);
        assert_eq!((queue.len(), queue.get(0), queue.get(1)), (1, Some(&7), None));
    }

    #[test]
    fn only_a_queue_that_grows_is_restocked() {
        let mut queue = Queue::default();
        let spares = queue.spares();
        (0..CHUNK).for_each(|row| queue.push_back(row));
        assert_eq!(spares.restock(), 0, "most queues stay small");
        queue.push_back(CHUNK);
        let kept = spares.restock();
        assert!(kept > 0 && spares.len() == kept && spares.restock() == 0);
        // What a spare held before is not seen.
        (CHUNK + 1..3 * CHUNK).for_each(|row| queue.push_back(row));
        assert!(queue.iter().copied().eq(0..3 * CHUNK));
        assert_eq!((spares.len(), spares.restock()), (kept - 1, 1));
        // For what may come at once there are more, and no more than that once it may not.
        queue.expect(100 * CHUNK);
        assert_eq!((spares.restock(), spares.len()), (100, kept + 100));
        queue.expect(0);
        assert_eq!(spares.restock(), 0);
        assert!((kept..=2 * kept).contains(&spares.len()));
        (0..kept).for_each(|_| drop(spares.take(0)));
        assert!(queue.clone().spares().len() == kept);
    }
}
