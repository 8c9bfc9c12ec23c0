//! The CRCs of many records, looked at as one.
//!
//! Behind a record and the CRC that it should have, a CRC that goes on over both stands at zero. So one that goes on over all
//! records of a stretch, each followed by what it says its CRC is, ends at zero if each says the truth. That one needs no answer for
//! each record: it is folded 64 bytes at a time by products without carry, which wait for each other a quarter as long as the
//! instruction for a CRC does, and 16 of those a record of 128 bytes takes.
//!
//! One record that is wrong is always found, as by its own CRC; several that are wrong in one stretch could hide each other, once in
//! 2^32, which is how often one by itself passes its CRC. Which of them it was the one-by-one loop of [`super::many`] says, which
//! goes over the stretch again.
#![allow(unsafe_code)]

use crate::format::checksum::many::{Run, Stop, follow_by};
use crate::format::checksum::{Block, POLYNOMIAL, Salt};
use std::arch::x86_64::{
    __m512i, _mm_crc32_u64, _mm512_clmulepi64_epi128, _mm512_loadu_si512, _mm512_mask_set1_epi64,
    _mm512_set4_epi64, _mm512_setzero_si512, _mm512_storeu_si512, _mm512_ternarylogic_epi64,
};

/// Whether the processor has the instructions.
pub(super) fn is_there() -> bool {
    std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("vpclmulqdq")
        && std::arch::is_x86_feature_detected!("sse4.2")
}

/// As [`super::many::follow`]; `None` where a CRC is wrong, of whichever record, and `run` is of no use then.
#[target_feature(enable = "avx512f,vpclmulqdq,sse4.2")]
pub(super) fn follow(bytes: &[u8], salt: Salt, run: &mut Run, until: usize) -> Option<Stop> {
    let mut folded = Folded { sum: _mm512_setzero_si512(), owed: 0 };
    let stop = follow_by(bytes, run, until, |header, words, body| {
        folded.take(salt, header, words[0], body);
        true
    });
    folded.is_right().then_some(stop)
}

/// What the records so far come to.
struct Folded {
    /// Bytes that leave the same remainder as all that were taken, of 16 at a time.
    sum: __m512i,
    /// What the CRC of the last record says, still to be taken: it comes before the next.
    owed: u32,
}

impl Folded {
    /// Takes in the record of these blocks, the first word of which is `first`: its length and its CRC.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    fn take(&mut self, salt: Salt, header: &Block, first: u64, body: &[Block]) {
        let len = first as u32 ^ !salt.start;
        let word = u64::from(self.owed) | u64::from(len) << 32;
        let header = _mm512_mask_set1_epi64(load(header), 1, word.cast_signed());
        self.sum = fold(self.sum, header);
        for block in body {
            self.sum = fold(self.sum, load(block));
        }
        self.owed = !((first >> 32) as u32);
    }

    /// Whether each record says the CRC that it has.
    #[inline]
    #[target_feature(enable = "avx512f,sse4.2")]
    fn is_right(&self) -> bool {
        let mut words = [0_u64; 8];
        // SAFETY: the words are as long as what is stored.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), self.sum) };
        words.iter().fold(0, |crc, word| _mm_crc32_u64(crc, *word)) as u32 == self.owed
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(block: &Block) -> __m512i {
    // SAFETY: a block is as long as what is loaded.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}

/// Bytes that leave the same remainder as `sum` and `next` behind it.
#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn fold(sum: __m512i, next: __m512i) -> __m512i {
    /// What the first and the second half of 16 bytes come to 64 bytes later.
    const FIRST: i64 = power(512 + 32);
    const SECOND: i64 = power(512 - 32);
    /// Exclusive or of three.
    const EITHER: i32 = 0x96;
    let powers = _mm512_set4_epi64(SECOND, FIRST, SECOND, FIRST);
    let first = _mm512_clmulepi64_epi128::<0x00>(sum, powers);
    let second = _mm512_clmulepi64_epi128::<0x11>(sum, powers);
    _mm512_ternarylogic_epi64::<EITHER>(first, second, next)
}

/// The remainder of `x` to the power of `exponent`, its bits from the highest power on, one further up as the product of two such
/// wants it.
const fn power(exponent: usize) -> i64 {
    let (mut remainder, mut place) = (1_u32 << 31, 0);
    while place < exponent {
        remainder = if remainder & 1 == 1 { remainder >> 1 ^ POLYNOMIAL } else { remainder >> 1 };
        place += 1;
    }
    (remainder as i64) << 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::record::{Last, Stamp};

    #[test]
    fn sound_records_are_taken_at_once_and_a_wrong_bit_anywhere_is_seen() {
        if !is_there() {
            return;
        }
        let salt = Salt::new(&[3; 16], 4);
        let mut stamp = Stamp { salt, chain: 5, durable_seq: 6, epoch: 7 };
        let (mut bytes, mut starts) = (vec![0; 4096], Vec::new());
        let mut len = 0;
        for blocks in [2, 1, 2, 3, 2, 2, 9, 1, 4] {
            starts.push(len);
            len += stamp.pad(&mut bytes[len..], blocks * size_of::<Block>(), Last::default(), 0);
        }
        bytes.truncate(len);
        stamp.link(&mut bytes, 0, len);
        let all = |bytes: &[u8], salt| {
            let mut run = Run::at(0);
            // SAFETY: the processor has the instructions.
            let stop = unsafe { follow(bytes, salt, &mut run, len) };
            stop.map(|stop| (stop, run.at))
        };
        assert_eq!(all(&bytes, salt), Some((Stop::Until, len)));
        assert_eq!(all(&bytes, Salt::new(&[3; 16], 5)), None, "another segment's");
        for bit in 0..len * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let start = starts[starts.partition_point(|&start| start <= bit / 8) - 1];
            // A length that cannot be stops it before that record.
            let told = all(&bytes, salt);
            assert!(told.is_none_or(|told| told == (Stop::Broken, start)), "bit {bit}: {told:?}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
