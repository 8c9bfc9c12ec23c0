//! Bytes of a saved view: little-endian base-128 integers, signed ones zigzag, fixed fields as they are, rows as their layouts say
//! ([`super::kept`]).
//!
//! What the bytes mean belongs to each view; this file only spells integers, and the table of versions of all lists that a
//! snapshot begins with. Equal views give equal bytes, because every view writes its rows in an order of its own (by id, by
//! account), never in the order of a hash map.

use super::kept::{Kept, Stored};
use ringside_core::ids::AccountId;

/// Why saved bytes could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The bytes end within a field.
    #[error("the views end early, at byte {at}")]
    Truncated {
        /// Offset of the field.
        at: usize,
    },
    /// Written by a version that this one does not read.
    #[error("views of format {found}, this version reads {known}")]
    Version {
        /// What the bytes say.
        found: u64,
        /// What this version writes.
        known: u64,
    },
    /// More lists than this version knows.
    #[error("the views have {found} lists, this version reads {known}")]
    OwnerIndex {
        /// How many there are.
        found: usize,
        /// How many are known.
        known: usize,
    },
    /// A list of a version that this one does not read, or of rows of another length than that version has.
    #[error(
        "the list of {list} has rows of version {version} and {len} bytes, of which this build knows versions up to {known}"
    )]
    Rows {
        /// Its name.
        list: &'static str,
        /// The version of its rows.
        version: u64,
        /// Bytes of each of them, 0 where they are not of one length.
        len: u64,
        /// The newest version that is known.
        known: u16,
    },
    /// A field holds what it cannot.
    #[error("{what} out of range at byte {at}")]
    Value {
        /// Which field.
        what: &'static str,
        /// Offset behind the field.
        at: usize,
    },
    /// Bytes are left over.
    #[error("{left} bytes follow the end of the views")]
    Trailing {
        /// How many.
        left: usize,
    },
}

/// Appends fields to a buffer.
pub struct Writer<'a>(pub &'a mut Vec<u8>);

impl Writer<'_> {
    /// Makes room for about so many bytes.
    pub fn reserve(&mut self, len: usize) {
        self.0.reserve(len);
    }

    /// An unsigned integer, 1 to 10 bytes.
    pub fn u64(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A length or count.
    pub fn count(&mut self, value: usize) {
        self.u64(value as u64);
    }

    /// A signed integer, small magnitudes short.
    pub fn i64(&mut self, value: i64) {
        self.u64(((value << 1) ^ (value >> 63)) as u64);
    }

    /// A signed integer of 128 bits, 1 to 19 bytes.
    pub fn i128(&mut self, value: i128) {
        let mut value = ((value << 1) ^ (value >> 127)) as u128;
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// The versions of all lists, as rows are written from here on.
    pub fn versions(&mut self) {
        self.count(Kept::ALL.len());
        for list in Kept::ALL {
            self.u64(list.newest().into());
            self.count(list.row_len(list.newest()).unwrap_or(0));
        }
    }

    /// A row of one length.
    pub fn record<T: Stored>(&mut self, row: &T) {
        row.write(self.0);
    }

    /// Rows of one length, with their number before them.
    pub fn records<'r, T: Stored + 'r>(&mut self, rows: impl ExactSizeIterator<Item = &'r T>) {
        self.count(rows.len());
        rows.for_each(|row| self.record(row));
    }

    /// Bytes of a length the reader knows.
    pub fn fixed(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

/// Takes fields from the front of saved bytes.
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    accounts: usize,
    /// By list; nothing where all are as they are written today.
    versions: Option<Box<[u16]>>,
    /// Whether the bytes have no table of versions.
    is_without_table: bool,
}

impl<'a> Reader<'a> {
    /// Reads `bytes` from their start.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0, accounts: 0, versions: None, is_without_table: false }
    }

    /// Takes the versions of all lists: from the bytes, or those of a `format` that has no table of them.
    ///
    /// Errors: a version that is not known, rows of another length than it has.
    pub fn versions(&mut self, format: Option<u64>) -> Result<(), LoadError> {
        if let Some(format) = format {
            self.versions = Some(Kept::ALL.iter().map(|list| list.of_format(format)).collect());
            self.is_without_table = true;
            return Ok(());
        }
        let found = self.count()?;
        if found > Kept::ALL.len() {
            return Err(LoadError::OwnerIndex { found, known: Kept::ALL.len() });
        }
        let mut versions = vec![0; Kept::ALL.len()].into_boxed_slice();
        for (list, known) in Kept::ALL.iter().zip(&mut versions[..found]) {
            let (version, len) = (self.u64()?, self.u64()?);
            *known = u16::try_from(version).unwrap_or(u16::MAX);
            if list.row_len(*known).map(|len| len as u64) != Some(len) {
                return Err(LoadError::Rows { list: list.name(), version, len, known: list.newest() });
            }
        }
        self.versions = Some(versions);
        Ok(())
    }

    /// The version of a list, 0 where these bytes are older than it.
    pub fn version(&self, list: Kept) -> u16 {
        self.versions.as_ref().map_or(list.newest(), |versions| versions[list as usize])
    }

    /// Whether these bytes have a list.
    pub fn has(&self, list: Kept) -> bool {
        self.version(list) != 0
    }

    /// The next byte.
    pub fn u8(&mut self) -> Result<u8, LoadError> {
        let byte = *self.bytes.get(self.at).ok_or(LoadError::Truncated { at: self.at })?;
        self.at += 1;
        Ok(byte)
    }

    /// See [`Writer::u64`].
    pub fn u64(&mut self) -> Result<u64, LoadError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                return Err(self.bad("integer"));
            }
            value |= part << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.bad("integer"))
    }

    /// An unsigned integer that must fit `T`.
    pub fn uint<T: TryFrom<u64>>(&mut self, what: &'static str) -> Result<T, LoadError> {
        let value = self.u64()?;
        T::try_from(value).map_err(|_| self.bad(what))
    }

    /// The number of accounts, once it is known.
    pub fn limit_accounts(&mut self, accounts: usize) {
        self.accounts = accounts;
    }

    /// The id of an account that exists.
    pub fn account(&mut self) -> Result<AccountId, LoadError> {
        let account: AccountId = self.uint("account")?;
        if self.knows(account) { Ok(account) } else { Err(self.bad("account")) }
    }

    /// Whether an account exists, once their number is known: what stands by id asks for no more memory than they do.
    pub fn knows(&self, account: AccountId) -> bool {
        (account as usize) < self.accounts
    }

    /// A count of rows of at least one byte each, so that a false count cannot ask for more memory than there are bytes.
    pub fn count(&mut self) -> Result<usize, LoadError> {
        let count = self.uint("count")?;
        if count > self.bytes.len() - self.at {
            return Err(self.bad("count"));
        }
        Ok(count)
    }

    /// See [`Writer::i64`].
    pub fn i64(&mut self) -> Result<i64, LoadError> {
        let value = self.u64()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// See [`Writer::i128`].
    pub fn i128(&mut self) -> Result<i128, LoadError> {
        let mut value = 0u128;
        for shift in (0..128).step_by(7) {
            let byte = self.u8()?;
            let part = u128::from(byte & 0x7f);
            if shift == 126 && part > 3 {
                return Err(self.bad("integer"));
            }
            value |= part << shift;
            if byte < 0x80 {
                return Ok((value >> 1) as i128 ^ -((value & 1) as i128));
            }
        }
        Err(self.bad("integer"))
    }

    /// The next `N` bytes.
    pub fn fixed<const N: usize>(&mut self) -> Result<[u8; N], LoadError> {
        let field = self.bytes.get(self.at..self.at + N).ok_or(LoadError::Truncated { at: self.at })?;
        self.at += N;
        let mut out = [0; N];
        out.copy_from_slice(field);
        Ok(out)
    }

    /// See [`Writer::record`].
    pub fn record<T: Stored>(&mut self) -> Result<T, LoadError> {
        let version = self.version(T::KEPT);
        let len = T::KEPT.row_len(version).unwrap_or(0);
        let bytes = self.bytes.get(self.at..self.at + len).ok_or(LoadError::Truncated { at: self.at })?;
        self.at += len;
        T::read_as(version, bytes).ok_or_else(|| self.bad(T::KEPT.name()))
    }

    /// See [`Writer::records`].
    pub fn records<T: Stored>(&mut self) -> Result<Vec<T>, LoadError> {
        let count = self.count()?;
        (0..count).map(|_| self.record()).collect()
    }

    /// A byte that names one of an enumeration's values.
    pub fn code<T>(&mut self, what: &'static str, from_code: fn(u8) -> Option<T>) -> Result<T, LoadError> {
        let byte = self.u8()?;
        from_code(byte).ok_or_else(|| self.bad(what))
    }

    /// The error of a field that was just read.
    pub fn bad(&self, what: &'static str) -> LoadError {
        LoadError::Value { what, at: self.at }
    }

    /// Whether the lists that follow were left out: formats without a table of versions did so with empty ones at their end.
    pub fn is_left_out(&self) -> bool {
        self.is_without_table && self.at == self.bytes.len()
    }

    /// Checks that nothing is left.
    pub fn end(self) -> Result<(), LoadError> {
        match self.bytes.len() - self.at {
            0 => Ok(()),
            left => Err(LoadError::Trailing { left }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_keep_every_bit() {
        let mut bytes = Vec::new();
        let mut writer = Writer(&mut bytes);
        let unsigned = [0, 1, 0x7f, 0x80, u64::MAX, 1 << 63];
        let signed = [0, -1, 1, i64::MIN, i64::MAX];
        let wide = [0, -1, 1, i128::MIN, i128::MAX, 1 << 64];
        unsigned.iter().for_each(|&value| writer.u64(value));
        signed.iter().for_each(|&value| writer.i64(value));
        wide.iter().for_each(|&value| writer.i128(value));
        let mut reader = Reader::new(&bytes);
        unsigned.iter().for_each(|&value| assert_eq!(reader.u64(), Ok(value)));
        signed.iter().for_each(|&value| assert_eq!(reader.i64(), Ok(value)));
        wide.iter().for_each(|&value| assert_eq!(reader.i128(), Ok(value)));
        assert_eq!(reader.end(), Ok(()));
    }

    #[test]
    fn bad_bytes_are_refused() {
        assert_eq!(Reader::new(&[0x80]).u64(), Err(LoadError::Truncated { at: 1 }));
        assert_eq!(Reader::new(&[0xff; 20]).u64(), Err(LoadError::Value { what: "integer", at: 10 }));
        assert_eq!(Reader::new(&[0xff; 20]).i128(), Err(LoadError::Value { what: "integer", at: 19 }));
        assert_eq!(Reader::new(&[200, 1, 0]).count(), Err(LoadError::Value { what: "count", at: 2 }));
        assert_eq!(Reader::new(&[1, 2]).end(), Err(LoadError::Trailing { left: 2 }));
    }

    #[test]
    fn lists_of_versions_that_are_not_known_are_refused_by_name() {
        let mut bytes = Vec::new();
        Writer(&mut bytes).versions();
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.versions(None), Ok(()));
        assert!(
            Kept::ALL.iter().all(|list| reader.version(*list) == list.newest()) && reader.end() == Ok(())
        );
        let read = |count: usize, change: &dyn Fn(Kept, &mut (u64, u64))| {
            let mut bytes = Vec::new();
            let mut writer = Writer(&mut bytes);
            writer.count(count);
            for list in Kept::ALL {
                let mut entry = (list.newest().into(), list.row_len(list.newest()).unwrap_or(0) as u64);
                change(*list, &mut entry);
                writer.u64(entry.0);
                writer.u64(entry.1);
            }
            Reader::new(&bytes).versions(None)
        };
        let known = Kept::ALL.len();
        // A table of before the newest list.
        let mut older = bytes.clone();
        older[0] -= 1;
        let mut reader = Reader::new(&older);
        assert_eq!(reader.versions(None), Ok(()));
        assert!(reader.has(Kept::ALL[known - 2]) && !reader.has(Kept::ALL[known - 1]));
        assert_eq!(
            read(known + 1, &|_, _| ()).err(),
            Some(LoadError::OwnerIndex { found: known + 1, known })
        );
        for list in Kept::ALL {
            let newest = u64::from(list.newest());
            let len = list.row_len(list.newest()).unwrap_or(0) as u64;
            for (version, len) in [(newest + 1, len), (0, len), (newest, len + 8), (1 << 20, len)] {
                let found = read(known, &|of, entry| {
                    if of == *list {
                        *entry = (version, len)
                    }
                });
                let (list, known) = (list.name(), list.newest());
                assert_eq!(found.err(), Some(LoadError::Rows { list, version, len, known }));
            }
        }
    }
}
