//! What the first schema of records had that no later one has: each carried a hash of the record before it. Only read.
//!
//! Since the second schema records carry the digest of the batch before theirs ([`crate::format::record`]). The rest of a record
//! is as it was, so that both are read by the same reader, and a segment begun with one is gone on with by the other.

use crate::format::record::{HEADER_LEN, Record, SEAL};

/// The schema's number.
pub const SCHEMA: u16 = 1;
/// Bytes of a seal's body: those that say something.
pub const SEAL_BODY_LEN: usize = 32;

/// Chain that the record after `record` must carry. Of a seal only the header counts.
pub fn chain_after(record: &Record<'_>) -> u64 {
    let len = if record.header.kind == SEAL { HEADER_LEN } else { record.bytes.len() };
    chain(record.header.chain, &record.bytes[..len])
}

/// A hash of a whole record but for its CRC, seeded by its own chain. `record` is a whole number of 64-byte blocks.
///
/// Sixty-four bytes at a time, four 64 x 64 -> 128-bit products, then one that folds them into the state.
pub fn chain(seed: u64, record: &[u8]) -> u64 {
    let mut state = seed ^ WEIGHTS[8];
    let (blocks, _) = record.as_chunks::<64>();
    for (number, block) in blocks.iter().enumerate() {
        let (words, _) = block.as_chunks::<8>();
        let word = |index: usize| {
            let word = u64::from_le_bytes(words[index]);
            // The CRC.
            let is_first = number == 0 && index == 0;
            (if is_first { word & u64::from(u32::MAX) } else { word }) ^ WEIGHTS[index]
        };
        let left = fold(word(0), word(1)) ^ fold(word(2), word(3)).rotate_left(17);
        let right = fold(word(4), word(5)) ^ fold(word(6), word(7)).rotate_left(41);
        state = fold(state ^ left, WEIGHTS[9] ^ right).wrapping_add(left.rotate_left(29));
    }
    fold(state ^ WEIGHTS[10], state.rotate_left(32) ^ WEIGHTS[9])
}

/// The two halves of a 128-bit product, one over the other.
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

/// Odd words without pattern: the fractional parts of the square roots of the first primes, made odd.
const WEIGHTS: [u64; 11] = [
    0x6a09_e667_f3bc_c909,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
    0xcbbb_9d5d_c105_9ed9,
    0x629a_292a_367c_d507,
    0x9159_015a_3070_dd17,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_pinned() {
        // They stand in files. Computed apart from this code.
        let record: Vec<u8> = (0..128).map(|byte| byte as u8).collect();
        assert_eq!(chain(1, &record), 0x01c1_5e74_c855_4210);
    }

    #[test]
    fn chain_sees_every_bit_and_its_seed() {
        let mut record = [0x5a; 192];
        let whole = chain(9, &record);
        assert_ne!(whole, chain(8, &record));
        for bit in (0..record.len() * 8).filter(|bit| !(32..64).contains(bit)) {
            record[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(whole, chain(9, &record), "bit {bit}");
            record[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
