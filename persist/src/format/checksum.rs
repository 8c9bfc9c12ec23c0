//! The two sums of the journal: the CRC32C of each record against rot, and the digest of each batch, BLAKE3, which every record
//! of the batch after it carries on ([`chain`]), against what is stale, missing or out of place.
//!
//! Neither is keyed: who may write the file may write a whole false journal. The digests make that visible only to somebody who
//! holds an earlier copy (a standby, a backup).
#![allow(unsafe_code)]

/// Where the CRC of a segment's records starts: records of another journal or another segment do not pass, and the
/// body of a command, whose bytes a client chooses, cannot pose as a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Salt(u32);

impl Salt {
    /// The salt of segment `number` of the journal `journal_id`.
    pub fn new(journal_id: &[u8; 16], number: u64) -> Salt {
        Salt(crc32c::crc32c_append(crc32c::crc32c(journal_id), &number.to_le_bytes()))
    }

    /// CRC32C of a record as drawn in [`crate::format::record`]: its first four bytes (the length) and all from byte 8.
    #[inline]
    pub fn crc(self, record: &[u8]) -> u32 {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if record.len() <= NEAR_LEN && std::arch::is_x86_feature_detected!("sse4.2") {
            // SAFETY: all that the function asks for is the instruction, and the processor has it.
            return unsafe { self.crc_near(record) };
        }
        self.crc_far(record)
    }

    /// Of any record: several instructions at a time where it is long.
    fn crc_far(self, record: &[u8]) -> u32 {
        crc32c::crc32c_append(crc32c::crc32c_append(self.0, &record[..4]), &record[8..])
    }

    /// Of a short one. Each step waits for the one before, but not those of the next record.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[target_feature(enable = "sse4.2")]
    fn crc_near(self, record: &[u8]) -> u32 {
        use std::arch::x86_64::{_mm_crc32_u32, _mm_crc32_u64};
        let (words, _) = record.as_chunks::<8>();
        let [first, rest @ ..] = words else { unreachable!("a record has a header") };
        let len = u64::from_le_bytes(*first) as u32;
        let mut crc = u64::from(_mm_crc32_u32(!self.0, len));
        for word in rest {
            crc = _mm_crc32_u64(crc, u64::from_le_bytes(*word));
        }
        !(crc as u32)
    }
}

/// Longest record whose CRC is worked out in one go.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const NEAR_LEN: usize = 512;

/// CRC32C of bytes that belong to no segment: headers, marks.
pub fn crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// The first 128 bits of BLAKE3.
pub fn digest(bytes: &[u8]) -> [u8; 16] {
    truncated(blake3::hash(bytes))
}

/// The first 128 bits of a running BLAKE3.
pub fn truncated(hash: blake3::Hash) -> [u8; 16] {
    let mut digest = [0; 16];
    digest.copy_from_slice(&hash.as_bytes()[..16]);
    digest
}

/// What every record of the batch after the one of that digest carries.
pub fn chain(digest: [u8; 16]) -> u64 {
    u128::from_le_bytes(digest) as u64
}

/// What every record of a journal's first batch carries.
pub fn chain_start(journal_id: &[u8; 16]) -> u64 {
    chain(digest(journal_id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_pinned() {
        // They stand in files; a change of any is a new format. Computed apart from this code.
        let record: Vec<u8> = (0..128).map(|byte| byte as u8).collect();
        assert_eq!(crc(b"123456789"), 0xe306_9283);
        assert_eq!(Salt::new(&[7; 16], 1).crc(&record), 0x2b6f_8b62);
        let digest = digest(b"");
        assert_eq!(digest[..8], [0xaf, 0x13, 0x49, 0xb9, 0xf5, 0xf9, 0xa1, 0xa6]);
        assert_eq!(chain(digest), 0xa6a1_f9f5_b949_13af);
    }

    #[test]
    fn both_ways_say_the_same() {
        let salt = Salt::new(&[9; 16], 3);
        for len in (64..=1024).step_by(64) {
            let record: Vec<u8> = (0..len).map(|at| (at * 7 + len) as u8).collect();
            let whole = [&record[..4], &record[8..]].concat();
            assert_eq!(salt.crc(&record), crc32c::crc32c_append(salt.0, &whole), "{len}");
            assert_eq!(salt.crc_far(&record), salt.crc(&record), "{len}");
        }
    }

    #[test]
    fn salt_tells_segments_and_journals_apart() {
        let record = [1; 64];
        let here = Salt::new(&[1; 16], 1).crc(&record);
        assert_ne!(here, Salt::new(&[1; 16], 2).crc(&record));
        assert_ne!(here, Salt::new(&[2; 16], 1).crc(&record));
    }
}
