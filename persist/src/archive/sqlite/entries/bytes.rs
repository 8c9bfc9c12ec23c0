//! The bytes of a pack: entries one behind the other, oldest first, each as what it changes of the one before.
//!
//! Rows of one list are alike: the same account, the next number, a little later. An entry is a run of words of 64 bits, and
//! of each word only those low bytes are written in which it differs from the same word of the entry before; the first
//! differs from zeros. That is a third of the records' length, and it is written to the log and to the file.
//!
//! ```text
//!  entry    length of the record u16 | groups                                                       little-endian
//!  group    of 8 words: which of them differ u8, lowest first | each of those
//!  word     n u8, 1 to 8 | the n low bytes of (word xor the same of the entry before)
//!  words    sequence | time_ms | id | tag | the record, filled up with zeros
//! ```

use super::super::super::row::Entry;
use ringside_core::ids::Sequence;

/// Words before the record.
const HEAD: usize = 4;
const WORD: usize = 8;
/// Words of one group.
const GROUP: usize = 8;

/// What entries are found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) sequence: Sequence,
    pub(super) time_ms: i64,
    pub(super) id: u64,
    pub(super) tag: u64,
}

/// Writes the entries of a pack.
#[derive(Default)]
pub(super) struct Encoder {
    bytes: Vec<u8>,
    /// Words of the entry before.
    before: Vec<u64>,
}

impl Encoder {
    /// Appends an entry; `None` for a record that is too long.
    pub(super) fn add(&mut self, entry: &Entry) -> Option<()> {
        let len = u16::try_from(entry.bytes.len()).ok()?;
        let count = HEAD + usize::from(len).div_ceil(WORD);
        if self.before.len() < count {
            self.before.resize(count, 0);
        }
        self.bytes.extend_from_slice(&len.to_le_bytes());
        let (whole, rest) = entry.bytes.as_chunks::<WORD>();
        let mut last = [0; WORD];
        last[..rest.len()].copy_from_slice(rest);
        let last = (!rest.is_empty()).then_some(last);
        let record = whole.iter().chain(last.iter()).map(|word| u64::from_le_bytes(*word));
        let mut words = [entry.sequence, entry.time_ms as u64, entry.id, entry.tag].into_iter().chain(record);
        for group in self.before[..count].chunks_mut(GROUP) {
            // Without branches: what is written of a word that does not differ is written over by the next.
            let (mut written, mut len, mut differing) = ([0; 1 + GROUP * (1 + WORD)], 1, 0);
            for (bit, (before, word)) in group.iter_mut().zip(&mut words).enumerate() {
                let change = word ^ *before;
                *before = word;
                let low = WORD - change.leading_zeros() as usize / 8;
                written[len] = low as u8;
                written[len + 1..][..WORD].copy_from_slice(&change.to_le_bytes());
                let differs = usize::from(change != 0);
                differing |= (differs as u8) << bit;
                len += differs * (1 + low);
            }
            written[0] = differing;
            self.bytes.extend_from_slice(&written[..len]);
        }
        Some(())
    }

    /// What was written so far.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Begins the next pack.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.before.fill(0);
    }
}

/// Reads the entries of a pack.
pub(super) struct Decoder<'a> {
    bytes: &'a [u8],
    words: Vec<u64>,
    record: Vec<u8>,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Decoder<'a> {
        Decoder { bytes, words: Vec::new(), record: Vec::new() }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next entry and its record; `None` for bytes that are none.
    pub(super) fn read(&mut self) -> Option<(Head, &[u8])> {
        let (len, rest) = self.bytes.split_first_chunk::<2>()?;
        self.bytes = rest;
        let len = usize::from(u16::from_le_bytes(*len));
        let count = HEAD + len.div_ceil(WORD);
        if self.words.len() < count {
            self.words.resize(count, 0);
        }
        for group in self.words[..count].chunks_mut(GROUP) {
            let (differing, mut rest) = self.bytes.split_first()?;
            if group.len() < GROUP && differing >> group.len() != 0 {
                return None;
            }
            let words = group.iter_mut().enumerate().filter(|(bit, _)| differing >> bit & 1 != 0);
            for (_, word) in words {
                let (len, behind) = rest.split_first()?;
                let (low, behind) = behind.split_at_checked(usize::from(*len))?;
                let mut change = [0; WORD];
                change.get_mut(..low.len())?.copy_from_slice(low);
                *word ^= u64::from_le_bytes(change);
                rest = behind;
            }
            self.bytes = rest;
        }
        self.record.clear();
        self.words[HEAD..count].iter().for_each(|word| self.record.extend_from_slice(&word.to_le_bytes()));
        self.record.truncate(len);
        let [sequence, time_ms, id, tag] = *self.words.first_chunk()?;
        Some((Head { sequence, time_ms: time_ms as i64, id, tag }, &self.record))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::super::row::List;
    use super::*;

    fn entry(id: u64, bytes: Vec<u8>) -> Entry {
        let list = List { number: 1, is_late: false };
        let (time_ms, tag) = (-5 + id as i64, id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1);
        let (sequence, version, bytes) = (id + 7, 1, bytes.into());
        Entry { sequence, list, owner: 3, market: 4, id, time_ms, tag, version, bytes }
    }

    #[test]
    fn entries_of_any_length_come_back() {
        let mut encoder = Encoder::default();
        for _ in 0..2 {
            encoder.clear();
            let entries: Vec<Entry> = (0..200u64)
                .map(|id| entry(id, (0..(id * 37 % 301)).map(|at| (at * id / 3) as u8).collect()))
                .collect();
            entries.iter().for_each(|entry| encoder.add(entry).unwrap());
            let mut decoder = Decoder::new(encoder.bytes());
            for entry in &entries {
                assert!(!decoder.is_at_end());
                let (head, record) = decoder.read().unwrap();
                let Entry { sequence, time_ms, id, tag, .. } = *entry;
                assert_eq!((head, record), (Head { sequence, time_ms, id, tag }, &entry.bytes[..]));
            }
            assert!(decoder.is_at_end());
        }
        assert!(encoder.add(&entry(1, vec![0; 1 << 16])).is_none());
    }

    #[test]
    fn bytes_that_are_no_pack_are_told() {
        let mut encoder = Encoder::default();
        encoder.add(&entry(9, vec![7; 20])).unwrap();
        let bytes = encoder.bytes();
        for len in 0..bytes.len() {
            assert!(Decoder::new(&bytes[..len]).read().is_none(), "{len} of {} bytes", bytes.len());
        }
        let mut bytes = bytes.to_vec();
        bytes[3] = 9;
        assert!(Decoder::new(&bytes).read().is_none(), "a word of nine bytes");
    }
}
