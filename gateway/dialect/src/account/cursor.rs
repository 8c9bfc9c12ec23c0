//! Cursors of the paged routes (`account.md` 4): opaque to clients, base64url of version, hash of the filters, time, and the rows
//! of that time that were passed, with their number, so that a piece of a cursor is none. They do not expire.
//!
//! Rows of one millisecond are told apart by market and id, not by id alone: trades are numbered by market, so one that comes later
//! in the same millisecond may have a smaller number than one that was passed.

use super::refusal::{INVALID_CURSOR, Refused};
use ringside_core::ids::MarketId;
use ringside_views::log::Place;
use sha2::{Digest, Sha256};

const VERSION: u8 = 1;
/// Version, hash, time, number of rows.
const HEAD_LEN: usize = 19;
/// Market and id.
const ROW_LEN: usize = 12;
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Hash of what a cursor was issued for.
pub fn filter_hash(parts: &[&str]) -> [u8; 8] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let digest = hash.finalize();
    std::array::from_fn(|index| digest[index])
}

/// A place as a cursor.
pub fn write(place: &Place, filter: &[u8; 8]) -> String {
    let mut bytes = Vec::with_capacity(HEAD_LEN + place.passed.len() * ROW_LEN);
    bytes.push(VERSION);
    bytes.extend_from_slice(filter);
    bytes.extend_from_slice(&place.time_ms.to_be_bytes());
    // One row a market: there are fewer markets than that.
    bytes.extend_from_slice(&u16::try_from(place.passed.len()).unwrap_or(u16::MAX).to_be_bytes());
    for (market, id) in &place.passed {
        bytes.extend_from_slice(&market.to_be_bytes());
        bytes.extend_from_slice(&id.to_be_bytes());
    }
    encode(&bytes)
}

/// The place of a cursor that was issued for these filters; an empty one is the start.
pub fn read(text: &str, filter: &[u8; 8]) -> Result<Option<Place>, Refused> {
    if text.is_empty() {
        return Ok(None);
    }
    let place = decode(text).and_then(|bytes| place(&bytes, filter));
    place.map(Some).ok_or_else(|| INVALID_CURSOR.into())
}

fn place(bytes: &[u8], filter: &[u8; 8]) -> Option<Place> {
    let (head, rows) = bytes.split_at_checked(HEAD_LEN)?;
    let count = usize::from(u16::from_be_bytes([head[17], head[18]]));
    let is_sound = head[0] == VERSION && head[1..9] == filter[..] && rows.len() == count * ROW_LEN;
    if !is_sound || rows.is_empty() {
        return None;
    }
    let time_ms = i64::from_be_bytes(head[9..17].try_into().ok()?);
    let mut passed: Vec<(MarketId, u64)> = Vec::with_capacity(rows.len() / ROW_LEN);
    for row in rows.chunks_exact(ROW_LEN) {
        let (market, id) = row.split_at(4);
        passed.push((u32::from_be_bytes(market.try_into().ok()?), u64::from_be_bytes(id.try_into().ok()?)));
    }
    Some(Place { time_ms, passed })
}

fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 4 / 3 + 3);
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..=chunk.len() {
            text.push(char::from(ALPHABET[(group >> (18 - 6 * digit) & 63) as usize]));
        }
    }
    text
}

/// `None` for what [`encode`] would not have written.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for chunk in text.as_bytes().chunks(4) {
        if chunk.len() == 1 {
            return None;
        }
        let mut group = 0u32;
        for byte in chunk {
            let digit = ALPHABET.iter().position(|known| known == byte)?;
            group = group << 6 | digit as u32;
        }
        group <<= 6 * (4 - chunk.len());
        bytes.extend_from_slice(&group.to_be_bytes()[1..chunk.len()]);
    }
    (encode(&bytes) == text).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_by_no_other_filter() {
        let filter = filter_hash(&["trades", "7"]);
        for passed in [vec![(1 << 31, 5)], vec![(1, 2), (3, u64::MAX)], vec![(0, 1), (1, 2), (2, 3)]] {
            let place = Place { time_ms: 1_700_000_000_123, passed };
            let text = write(&place, &filter);
            assert!(text.bytes().all(|byte| ALPHABET.contains(&byte)), "{text}");
            assert_eq!(read(&text, &filter), Ok(Some(place)));
            assert!(read(&text, &filter_hash(&["trades", "8"])).is_err());
            for cut in 1..text.len() {
                assert!(read(&text[..cut], &filter).is_err(), "cut at {cut}");
            }
        }
        assert_eq!(read("", &filter), Ok(None));
        for wrong in ["A", "!!!!", "AAAA", "====", "é"] {
            assert!(read(wrong, &filter).is_err(), "{wrong}");
        }
        assert_ne!(filter_hash(&["ab", "c"]), filter_hash(&["a", "bc"]));
    }
}
