//! The three sums a record carries: CRC32C against rot, a 64-bit chain against what is stale, missing or out of
//! place, BLAKE3 against the hand that knows how to compute the other two.
//!
//! None of them is keyed: who may write the file may write a whole false journal. The digest of a seal makes that
//! visible only to somebody who holds an earlier copy (a standby, a backup).

#[cfg(target_arch = "x86_64")]
mod folded;
pub(crate) mod many;

/// Where the CRC of a segment's records starts: records of another journal or another segment do not pass, and the
/// body of a command, whose bytes a client chooses, cannot pose as a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Salt {
    start: u32,
    /// The CRC after a length of 0.
    after_zero: u32,
}

impl Salt {
    /// The salt of segment `number` of the journal `journal_id`.
    pub fn new(journal_id: &[u8; 16], number: u64) -> Salt {
        let start = crc32c::crc32c_append(crc32c::crc32c(journal_id), &number.to_le_bytes());
        Salt { start, after_zero: crc32c::crc32c_append(start, &[0; 4]) }
    }

    /// CRC32C of a record as drawn in [`crate::format::record`]: its first four bytes (the length) and all from byte 8.
    ///
    /// A CRC is linear, so that of the length of nearly every record is one look into a table.
    #[inline]
    pub fn crc(self, record: &[u8]) -> u32 {
        let after_len = match record[..4] {
            [len, 0, 0, 0] => self.after_zero ^ LENGTHS[usize::from(len)],
            _ => crc32c::crc32c_append(self.start, &record[..4]),
        };
        crc32c::crc32c_append(after_len, &record[8..])
    }

    /// The same of the record of these blocks that carries `carried`, whatever its header says there.
    fn crc_of(self, header: &Block, carried: u64, body: &[Block]) -> u32 {
        let carried = carried.to_le_bytes();
        let parts = [&header[..4], &header[8..16], &carried, &header[24..], body.as_flattened()];
        parts.into_iter().fold(self.start, crc32c::crc32c_append)
    }
}

/// Of CRC32C, its bits from the highest power on.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// What a length of one byte changes in the CRC after it.
static LENGTHS: [u32; 256] = lengths();

const fn lengths() -> [u32; 256] {
    let mut table = [0; 256];
    let mut len = 0;
    while len < table.len() {
        // Four bytes of the message, bit by bit, by the reflected polynomial.
        let (mut crc, mut bit) = (len as u32, 0);
        while bit < 32 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        table[len] = crc;
        len += 1;
    }
    table
}

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

/// Value from which a journal's chain starts, before its first record.
pub fn chain_start(journal_id: &[u8; 16]) -> u64 {
    let half = |range: std::ops::Range<usize>| {
        let mut word = [0; 8];
        word.copy_from_slice(&journal_id[range]);
        u64::from_le_bytes(word)
    };
    fold(half(0..8) ^ WEIGHTS[0], half(8..16) ^ WEIGHTS[1])
}

/// What the record after `record` must carry as its chain: a hash of the whole record but for its CRC, seeded by its
/// own chain. `record` is a whole number of 64-byte blocks.
///
/// The CRC, a function of the rest, is left out so that a processor can go on with the next record's chain while it
/// still works on this one's CRC. Sixty-four bytes at a time, four 64 x 64 -> 128-bit products that do not wait for
/// each other, then one that folds them into the state.
#[inline]
pub fn chain(seed: u64, record: &[u8]) -> u64 {
    let (blocks, rest) = record.as_chunks::<64>();
    debug_assert!(rest.is_empty());
    match blocks {
        [] => Chain::after(seed).end(),
        [header, body @ ..] => chain_of(seed, words(header), body),
    }
}

/// [`chain`] of a record whose first block is at hand as words, the CRC's half of the first included, and whose other
/// blocks are `body`. Who has just made the words need not read them back from where they were stored.
#[inline(always)]
pub fn chain_of(seed: u64, header: Words, body: &[Block]) -> u64 {
    let mut chain = Chain::after(seed);
    let mut header = header;
    header[0] &= u64::from(u32::MAX);
    chain.block(header);
    for block in body {
        chain.block(words(block));
    }
    chain.end()
}

/// The unit that records are made of.
pub(crate) type Block = [u8; 64];

/// A block as the little-endian words that it consists of.
pub(crate) type Words = [u64; 8];

#[inline(always)]
pub(crate) fn words(block: &Block) -> Words {
    let (words, _) = block.as_chunks::<8>();
    std::array::from_fn(|index| u64::from_le_bytes(words[index]))
}

struct Chain(u64);

impl Chain {
    #[inline(always)]
    fn after(seed: u64) -> Chain {
        Chain(seed ^ WEIGHTS[8])
    }

    #[inline(always)]
    fn block(&mut self, words: Words) {
        let word = |index: usize| words[index] ^ WEIGHTS[index];
        let left = fold(word(0), word(1)) ^ fold(word(2), word(3)).rotate_left(17);
        let right = fold(word(4), word(5)) ^ fold(word(6), word(7)).rotate_left(41);
        self.0 = fold(self.0 ^ left, WEIGHTS[9] ^ right).wrapping_add(left.rotate_left(29));
    }

    #[inline(always)]
    fn end(&self) -> u64 {
        fold(self.0 ^ WEIGHTS[10], self.0.rotate_left(32) ^ WEIGHTS[9])
    }
}

/// The two halves of a 128-bit product, one over the other.
#[inline(always)]
const fn fold(left: u64, right: u64) -> u64 {
    let product = left as u128 * right as u128;
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
        // They stand in files; a change of any is a new format. Computed apart from this code.
        let record: Vec<u8> = (0..128).map(|byte| byte as u8).collect();
        assert_eq!(crc(b"123456789"), 0xe306_9283);
        assert_eq!(Salt::new(&[7; 16], 1).crc(&record), 0x2b6f_8b62);
        assert_eq!(chain_start(&[7; 16]), 0x939f_7ad1_cc90_5645);
        assert_eq!(chain(1, &record), 0x01c1_5e74_c855_4210);
    }

    #[test]
    fn a_length_from_the_table_is_that_of_its_bytes() {
        let salt = Salt::new(&[9; 16], 3);
        for len in (0..=256_u32).chain([1 << 16, u32::MAX]) {
            let mut record = [0x5a; 64];
            record[..4].copy_from_slice(&len.to_le_bytes());
            let whole = [&record[..4], &record[8..]].concat();
            assert_eq!(salt.crc(&record), crc32c::crc32c_append(salt.start, &whole), "{len}");
        }
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

    #[test]
    fn salt_tells_segments_and_journals_apart() {
        let record = [1; 64];
        let here = Salt::new(&[1; 16], 1).crc(&record);
        assert_ne!(here, Salt::new(&[1; 16], 2).crc(&record));
        assert_ne!(here, Salt::new(&[2; 16], 1).crc(&record));
    }
}
