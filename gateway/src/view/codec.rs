//! Bytes of a saved view: little-endian base-128 integers, signed ones zigzag, fixed fields as they are.
//!
//! What the bytes mean belongs to each view; this file only spells integers. Equal views give equal bytes, because every
//! view writes its rows in an order of its own (by id, by account), never in the order of a hash map.

use ringside_core::ids::AccountId;
use zerocopy::{FromBytes, Immutable, IntoBytes};

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

    /// A plain record, as it lies in memory (little-endian).
    pub fn record<T: IntoBytes + Immutable>(&mut self, record: &T) {
        self.0.extend_from_slice(record.as_bytes());
    }

    /// Plain records, with their number before them.
    pub fn records<'r, T: IntoBytes + Immutable + 'r>(
        &mut self,
        records: impl ExactSizeIterator<Item = &'r T>,
    ) {
        self.count(records.len());
        records.for_each(|record| self.record(record));
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
}

impl<'a> Reader<'a> {
    /// Reads `bytes` from their start.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0, accounts: 0 }
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
    pub fn record<T: FromBytes>(&mut self) -> Result<T, LoadError> {
        let rest = &self.bytes[self.at..];
        let (record, _) = T::read_from_prefix(rest).map_err(|_| LoadError::Truncated { at: self.at })?;
        self.at += size_of::<T>();
        Ok(record)
    }

    /// See [`Writer::records`].
    pub fn records<T: FromBytes>(&mut self) -> Result<Vec<T>, LoadError> {
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

    /// Whether nothing is left.
    pub fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
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
}
