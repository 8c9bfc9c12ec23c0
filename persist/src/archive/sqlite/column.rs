//! Columns of a row, read as what they stand for.

use rusqlite::Row;
use rusqlite::types::Type;

/// What is said of a packed row whose bytes are no entries.
pub(super) fn no_row() -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, "its length is not that of whole entries".into())
}

/// What is said of a packed row whose bytes are not whole entries of its version.
pub(super) fn no_entries(list: &str, version: u16, len: usize) -> rusqlite::Error {
    let reason = format!("{len} bytes are no entries of the list of {list} in version {version}");
    rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, reason.into())
}

/// A time from its second in column `index` and the rest in the one behind.
pub(super) fn time(row: &Row<'_>, index: usize) -> rusqlite::Result<i64> {
    let (second, rest): (i64, i64) = (row.get(index)?, row.get(index + 1)?);
    Ok(second.wrapping_mul(1_000_000_000).wrapping_add(rest))
}

/// A sequence, an id or a count.
pub(super) fn unsigned(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(index)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(index, value))
}

/// A code of one of the core's lists.
pub(super) fn code<T>(
    row: &Row<'_>,
    index: usize,
    from: impl FnOnce(u8) -> Option<T>,
) -> rusqlite::Result<T> {
    let code: u8 = row.get(index)?;
    from(code).ok_or_else(|| {
        let reason = format!("code {code} is unknown");
        rusqlite::Error::FromSqlConversionFailure(index, Type::Integer, reason.into())
    })
}
