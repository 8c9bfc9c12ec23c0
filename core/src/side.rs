//! What stands beside the commands in the journal: entries that the engine never sees, in one order with its commands. They are a
//! keyed map: the last entry of a key is what counts, and whoever wrote a key knows what its bytes mean.
//!
//! Reading a stretch of entries again over what they led to changes nothing in the end, so a store may be brought up to date from
//! any place at or before its own.

use std::collections::BTreeMap;

/// Bytes of an id at most.
pub const ID_LEN_MAX: usize = 64;
/// Bytes behind a key at most.
pub const BYTES_LEN_MAX: usize = 16 << 10;

/// What an entry is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SideKey {
    /// Whose it is: numbers are given by who writes entries.
    pub kind: u16,
    /// Which of them, at most [`ID_LEN_MAX`] bytes.
    pub id: Vec<u8>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideEntry {
    /// Of what.
    pub key: SideKey,
    /// What now stands there, at most [`BYTES_LEN_MAX`] bytes; `None`: nothing any more.
    pub bytes: Option<Vec<u8>>,
}

impl SideEntry {
    /// Puts bytes behind a key.
    pub fn put(kind: u16, id: &[u8], bytes: Vec<u8>) -> SideEntry {
        SideEntry { key: SideKey { kind, id: id.to_vec() }, bytes: Some(bytes) }
    }

    /// Takes a key away.
    pub fn delete(kind: u16, id: &[u8]) -> SideEntry {
        SideEntry { key: SideKey { kind, id: id.to_vec() }, bytes: None }
    }

    /// Whether it is no longer than an entry may be.
    pub fn is_within_bounds(&self) -> bool {
        let len = self.bytes.as_ref().map_or(0, Vec::len);
        self.key.id.len() <= ID_LEN_MAX && len <= BYTES_LEN_MAX
    }
}

/// The last word on each key of a stretch of entries; `None`: it was taken away.
pub type SideChanges = BTreeMap<SideKey, Option<Vec<u8>>>;

/// All that stands there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideStore(BTreeMap<SideKey, Vec<u8>>);

/// Bytes that are no [`SideStore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the entries beside the commands cannot be read")]
pub struct NoSideStore;

impl SideStore {
    /// Takes an entry.
    pub fn apply(&mut self, entry: SideEntry) {
        match entry.bytes {
            Some(bytes) => drop(self.0.insert(entry.key, bytes)),
            None => drop(self.0.remove(&entry.key)),
        }
    }

    /// Takes the last words of a stretch of entries.
    pub fn apply_all(&mut self, changes: SideChanges) {
        changes.into_iter().for_each(|(key, bytes)| self.apply(SideEntry { key, bytes }));
    }

    /// What stands behind a key.
    pub fn get(&self, kind: u16, id: &[u8]) -> Option<&[u8]> {
        self.0.get(&SideKey { kind, id: id.to_vec() }).map(Vec::as_slice)
    }

    /// All of a kind, with their ids.
    pub fn of_kind(&self, kind: u16) -> impl Iterator<Item = (&[u8], &[u8])> {
        let from = SideKey { kind, id: Vec::new() };
        self.0
            .range(from..)
            .take_while(move |(key, _)| key.kind == kind)
            .map(|(key, bytes)| (key.id.as_slice(), bytes.as_slice()))
    }

    /// Keys that something stands behind.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What makes `wanted` of it.
    pub fn difference(&self, wanted: &SideStore) -> Vec<SideEntry> {
        let gone = self.0.keys().filter(|key| !wanted.0.contains_key(key));
        let gone = gone.map(|key| SideEntry { key: key.clone(), bytes: None });
        let new = wanted.0.iter().filter(|(key, bytes)| self.0.get(key) != Some(bytes));
        gone.chain(new.map(|(key, bytes)| SideEntry { key: key.clone(), bytes: Some(bytes.clone()) }))
            .collect()
    }

    /// Appends all of it: a count, then of each key its kind u16, lengths of id u16 and bytes u32, and these; little-endian.
    pub fn save(&self, out: &mut Vec<u8>) {
        out.extend((self.0.len() as u64).to_le_bytes());
        for (SideKey { kind, id }, bytes) in &self.0 {
            out.extend(kind.to_le_bytes());
            out.extend((id.len() as u16).to_le_bytes());
            out.extend((bytes.len() as u32).to_le_bytes());
            out.extend(id);
            out.extend(bytes);
        }
    }

    /// What [`SideStore::save`] appended, nothing before or behind it.
    pub fn load(bytes: &[u8]) -> Result<SideStore, NoSideStore> {
        fn number<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], NoSideStore> {
            rest.split_off(..N).and_then(|bytes| bytes.try_into().ok()).ok_or(NoSideStore)
        }
        let mut rest = bytes;
        let mut store = SideStore::default();
        for _ in 0..u64::from_le_bytes(number(&mut rest)?) {
            let kind = u16::from_le_bytes(number(&mut rest)?);
            let id_len = usize::from(u16::from_le_bytes(number(&mut rest)?));
            let len = u32::from_le_bytes(number(&mut rest)?) as usize;
            let id = rest.split_off(..id_len).ok_or(NoSideStore)?.to_vec();
            let bytes = rest.split_off(..len).ok_or(NoSideStore)?.to_vec();
            store.0.insert(SideKey { kind, id }, bytes);
        }
        if rest.is_empty() { Ok(store) } else { Err(NoSideStore) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<SideEntry> {
        vec![
            SideEntry::put(2, b"one", vec![1; 300]),
            SideEntry::put(1, b"", Vec::new()),
            SideEntry::put(2, b"two", vec![2]),
            SideEntry::delete(2, b"one"),
            SideEntry::put(2, b"two", vec![3, 4]),
            SideEntry::put(3, b"two", vec![5]),
        ]
    }

    fn store(entries: impl IntoIterator<Item = SideEntry>) -> SideStore {
        let mut store = SideStore::default();
        entries.into_iter().for_each(|entry| store.apply(entry));
        store
    }

    #[test]
    fn the_last_entry_of_a_key_counts_wherever_reading_begins_again() {
        let whole = store(entries());
        assert_eq!((whole.len(), whole.get(2, b"one"), whole.get(2, b"two")), (3, None, Some(&[3, 4][..])));
        assert_eq!(whole.of_kind(2).collect::<Vec<_>>(), [(&b"two"[..], &[3, 4][..])]);
        for from in 0..=entries().len() {
            for upto in from..=entries().len() {
                // A store of `upto`, brought up to date from `from` on.
                let mut again = store(entries().drain(..upto));
                again.apply_all(entries().drain(from..).map(|entry| (entry.key, entry.bytes)).collect());
                assert_eq!(again, whole, "{from} {upto}");
            }
        }
    }

    #[test]
    fn a_difference_makes_one_of_the_other() {
        for upto in 0..=entries().len() {
            let (mut some, whole) = (store(entries().drain(..upto)), store(entries()));
            some.difference(&whole).into_iter().for_each(|entry| some.apply(entry));
            assert_eq!(some, whole);
            assert!(some.difference(&whole).is_empty());
        }
    }

    #[test]
    fn what_was_saved_is_loaded_and_nothing_else() {
        let mut bytes = Vec::new();
        store(entries()).save(&mut bytes);
        assert_eq!(SideStore::load(&bytes), Ok(store(entries())));
        for len in 0..bytes.len() {
            assert_eq!(SideStore::load(&bytes[..len]), Err(NoSideStore), "{len}");
        }
        bytes.push(0);
        assert_eq!(SideStore::load(&bytes), Err(NoSideStore));
    }

    #[test]
    fn what_is_too_long_is_out_of_bounds() {
        let of = |id: usize, bytes: usize| SideEntry::put(1, &vec![0; id], vec![0; bytes]);
        assert!(of(ID_LEN_MAX, BYTES_LEN_MAX).is_within_bounds());
        assert!(!of(ID_LEN_MAX + 1, 0).is_within_bounds() && !of(0, BYTES_LEN_MAX + 1).is_within_bounds());
    }
}
