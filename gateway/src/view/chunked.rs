//! A list that only grows at its end and never moves what it holds: a million rows are appended without one long copy.

/// Rows of one chunk. A power of two, so that an index splits by shift and mask.
const CHUNK: usize = 1024;

/// Rows in order of arrival. The first chunk grows by doubling, so that a list of few rows stays small.
#[derive(Clone, Debug)]
pub struct Chunked<T> {
    chunks: Vec<Vec<T>>,
}

impl<T> Default for Chunked<T> {
    fn default() -> Chunked<T> {
        Chunked { chunks: Vec::new() }
    }
}

impl<T> Chunked<T> {
    /// Adds a row at the end.
    pub fn push(&mut self, row: T) {
        match self.chunks.last_mut() {
            Some(last) if last.len() < CHUNK => last.push(row),
            Some(_) => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(row);
                self.chunks.push(chunk);
            }
            None => self.chunks.push(vec![row]),
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The row at `index`.
    pub fn get(&self, index: usize) -> Option<&T> {
        self.chunks.get(index / CHUNK)?.get(index % CHUNK)
    }

    /// The row at `index`, to change.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        self.chunks.get_mut(index / CHUNK)?.get_mut(index % CHUNK)
    }

    /// The last row.
    pub fn last(&self) -> Option<&T> {
        self.chunks.last()?.last()
    }

    /// The rows, first to last.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.chunks.iter().flatten()
    }

    /// Number of leading rows for which `holds` is true, where it holds for a prefix of the list only.
    pub fn partition_point(&self, mut holds: impl FnMut(&T) -> bool) -> usize {
        let whole = self.chunks.partition_point(|chunk| chunk.last().is_some_and(&mut holds));
        match self.chunks.get(whole) {
            Some(chunk) => whole * CHUNK + chunk.partition_point(holds),
            None => self.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behaves_like_a_vector() {
        let mut list = Chunked::default();
        assert_eq!((list.len(), list.is_empty(), list.last()), (0, true, None));
        for value in 0..3 * CHUNK + 7 {
            list.push(value);
            assert_eq!((list.len(), list.last()), (value + 1, Some(&value)));
        }
        assert!(list.iter().copied().eq(0..3 * CHUNK + 7));
        assert_eq!(list.iter().next_back(), Some(&(3 * CHUNK + 6)));
        for bound in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 7, 9 * CHUNK] {
            assert_eq!(list.partition_point(|&value| value < bound), bound.min(3 * CHUNK + 7));
            assert_eq!(list.get(bound).copied(), (bound < 3 * CHUNK + 7).then_some(bound));
        }
    }
}
