//! How the core's integers stand in columns of 64 bits.

use ringside_core::ids::TradeId;
use ringside_core::money::Amount;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};

const TRADE_BITS: u32 = 43;

/// An amount: an integer where it fits, else its 16 bytes, big end first. Amounts are shown, never compared in the store.
pub(super) struct Wide(pub(super) Amount);

impl FromSql for Wide {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Wide> {
        match value {
            ValueRef::Integer(small) => Ok(Wide(small.into())),
            ValueRef::Blob(bytes) => {
                let bytes = bytes.try_into().map_err(|_| FromSqlError::InvalidType)?;
                Ok(Wide(Amount::from_be_bytes(bytes)))
            }
            _ => Err(FromSqlError::InvalidType),
        }
    }
}

/// The trade of a key.
pub(super) fn trade_of_key(key: i64) -> TradeId {
    (key & ((1 << TRADE_BITS) - 1)) as TradeId
}

/// A sequence or id. None reaches 2^63; one that did would be refused.
pub(super) fn unsigned(value: u64) -> rusqlite::Result<i64> {
    i64::try_from(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

/// A bound of a search: what is too large for the column is the largest.
pub(super) fn bound(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
