//! The rows of the archive, as every store gives them back: numbers to find them by, and bytes.

use ringside_core::ids::{AccountId, MarketId, Sequence};

/// A history of entries, and what its rows keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List {
    /// Which; the gateway's number.
    pub number: u16,
    /// Whether an entry may come after another of a larger id or a later time: orders end in another order than they are
    /// placed.
    pub is_late: bool,
}

/// A row of a history that the store does not look into: numbers to find it by, and the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The command that made it.
    pub sequence: Sequence,
    /// Which history.
    pub list: List,
    /// Whose, 0 for everyone's.
    pub owner: AccountId,
    /// Market id.
    pub market: MarketId,
    /// Unique in list, owner and market, and below 2^63.
    pub id: u64,
    /// UNIX milliseconds; never falls where ids rise.
    pub time_ms: i64,
    /// What else it can be asked for by, below 2^63; 0 for nothing.
    pub tag: u64,
    /// Of what version of its list the record is.
    pub version: u16,
    /// The record, of less than 2^16 bytes.
    pub bytes: Box<[u8]>,
}
