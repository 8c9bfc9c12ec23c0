//! A list that only grows at its end and never moves what it holds: a million rows are appended without one long copy.

/// Rows of one chunk. A power of two, so that an index splits by shift and mask.
const CHUNK: usize = 1024;

/// Rows in order of arrival. The last chunk grows by doubling, so that a list of few rows stays small, and its rows are
/// one step away, so that appending to one of many lists touches little memory.
#[derive(Clone, Debug)]
pub struct SegmentedVec<T> {
    last: Vec<T>,
    full: Vec<Box<[T]>>,
}

impl<T> Default for SegmentedVec<T> {
    fn default() -> SegmentedVec<T> {
        SegmentedVec { last: Vec::new(), full: Vec::new() }
    }
}

impl<T> SegmentedVec<T> {
    /// Adds a row at the end.
    #[inline]
    pub fn push(&mut self, row: T) {
        if self.last.len() == CHUNK {
            self.close_chunk();
        }
        self.last.push(row);
    }

    #[cold]
    fn close_chunk(&mut self) {
        // Lists that come here grow on: the next chunk is taken whole.
        let full = std::mem::replace(&mut self.last, Vec::with_capacity(CHUNK));
        self.full.push(full.into_boxed_slice());
    }

    /// How many rows there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.full.len() * CHUNK + self.last.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        match self.full.get(index / CHUNK) {
            Some(chunk) => chunk.get(index % CHUNK),
            None => self.last.get(index - self.full.len() * CHUNK),
        }
    }

    /// The row at `index`, to change.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let before = self.full.len() * CHUNK;
        match self.full.get_mut(index / CHUNK) {
            Some(chunk) => chunk.get_mut(index % CHUNK),
            None => self.last.get_mut(index - before),
        }
    }

    /// The last row.
    pub fn last(&self) -> Option<&T> {
        self.last.last().or_else(|| self.full.last()?.last())
    }

    /// The rows, first to last.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.full.iter().flatten().chain(&self.last)
    }

    /// Number of leading rows for which `holds` is true, where it holds for a prefix of the list only.
    pub fn partition_point(&self, mut holds: impl FnMut(&T) -> bool) -> usize {
        let whole = self.full.partition_point(|chunk| chunk.last().is_some_and(&mut holds));
        let rest = match self.full.get(whole) {
            Some(chunk) => chunk.partition_point(holds),
            None => self.last.partition_point(holds),
        };
        whole * CHUNK + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behaves_like_a_vector() {
        let mut list = SegmentedVec::default();
        assert_eq!((list.len(), list.is_empty(), list.last()), (0, true, None));
        for value in 0..3 * CHUNK + 7 {
            list.push(value);
            assert_eq!((list.len(), list.last()), (value + 1, Some(&value)));
            if value % 100 == 0 || value.is_multiple_of(CHUNK) {
                let bound = value / 2;
                assert_eq!(list.partition_point(|&row| row < bound), bound);
                assert_eq!(list.partition_point(|_| true), value + 1);
            }
        }
        assert!(list.iter().copied().eq(0..3 * CHUNK + 7));
        assert_eq!(list.iter().next_back(), Some(&(3 * CHUNK + 6)));
        for bound in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 7, 9 * CHUNK] {
            assert_eq!(list.partition_point(|&value| value < bound), bound.min(3 * CHUNK + 7));
            assert_eq!(list.get(bound).copied(), (bound < 3 * CHUNK + 7).then_some(bound));
            assert_eq!(list.get_mut(bound).copied(), (bound < 3 * CHUNK + 7).then_some(bound));
        }
    }
}
