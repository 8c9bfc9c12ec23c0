//! Digests of batches, worked out where their bytes are read, so that whoever checks the records finds them ready.
//!
//! A quarter of what checking a journal costs is BLAKE3, and the thread that checks is the slowest of a replay. The
//! thread that reads ahead of it has time: [`Scout`] follows the lengths of the records from seal to seal and hashes what
//! lies between. It judges nothing. What it offers is the digest of an exact stretch of bytes, and is taken only for that
//! stretch ([`Offers::take`]); where bytes make no sense it stops offering, and the checker hashes by itself again.

use crate::checksum;
use crate::record::{HEADER_LEN, RECORD_LEN_MAX, SEAL, padded};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Bytes `start..end` of the segment have this digest.
struct Offer {
    start: u64,
    end: u64,
    digest: [u8; 16],
}

/// The side that reads.
pub(crate) struct Scout {
    /// Byte of the segment at which the next stretch is expected; `None` once it has lost its way.
    next: Option<u64>,
    /// Where the next record starts.
    record: u64,
    /// Where the batch under way starts.
    batch: u64,
    digest: blake3::Hasher,
    give: Sender<Offer>,
}

/// The side that checks.
pub(crate) struct Offers {
    given: Receiver<Offer>,
    first: Option<Offer>,
}

/// Both sides, for a segment that is read from byte `start` on, where a batch starts.
pub(crate) fn digests(start: u64) -> (Scout, Offers) {
    let (give, given) = channel();
    let digest = blake3::Hasher::new();
    (Scout { next: Some(start), record: start, batch: start, digest, give }, Offers { given, first: None })
}

impl Scout {
    /// Looks at the bytes of the segment from `start` on, whole blocks, and offers the digests of the batches that end in them.
    pub(crate) fn see(&mut self, start: u64, bytes: &[u8]) {
        if self.next != Some(start) {
            self.next = None;
            return;
        }
        let end = start + bytes.len() as u64;
        // What of the batch was in the bytes before is hashed already.
        let mut hashed = self.batch.max(start);
        while self.record < end {
            let at = (self.record - start) as usize;
            let Some((header, _)) = bytes[at..].split_first_chunk::<HEADER_LEN>() else {
                self.next = None;
                return;
            };
            let len = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
            let kind = u16::from_le_bytes([header[46], header[47]]);
            if len > RECORD_LEN_MAX - HEADER_LEN || kind == 0 {
                self.next = None;
                return;
            }
            let after = self.record + (HEADER_LEN + padded(len)) as u64;
            if kind == SEAL {
                self.digest.update(&bytes[(hashed - start) as usize..at]);
                let digest = checksum::truncated(self.digest.finalize());
                self.digest.reset();
                // The checker may have left.
                let _ = self.give.send(Offer { start: self.batch, end: self.record, digest });
                (self.batch, hashed) = (after, after);
            }
            self.record = after;
        }
        if hashed < end {
            self.digest.update(&bytes[(hashed - start) as usize..]);
        }
        self.next = Some(end);
    }
}

impl Offers {
    /// The digest of bytes `start..end`, if it was offered.
    pub(crate) fn take(&mut self, start: u64, end: u64) -> Option<[u8; 16]> {
        while self.first.as_ref().is_none_or(|offer| offer.end < end) {
            self.first = Some(self.given.try_recv().ok()?);
        }
        let offer = self.first.as_ref().filter(|offer| (offer.start, offer.end) == (start, end))?;
        Some(offer.digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Last, SEAL_LEN, Seal, Stamp, finish_seal};
    use crate::storage::faulty::Random;

    /// Batches of pads of random lengths, from byte 0 of a segment on, and the places of their seals.
    fn batches(random: &mut Random, count: usize) -> (Vec<u8>, Vec<(u64, u64)>) {
        let salt = checksum::Salt::new(&[3; 16], 4);
        let mut stamp = Stamp { salt, chain: 5, durable_seq: 6, epoch: 7 };
        let (mut bytes, mut seals) = (Vec::new(), Vec::new());
        let mut room = vec![0; RECORD_LEN_MAX];
        for _ in 0..count {
            let start = bytes.len() as u64;
            for _ in 0..random.below(20) {
                let len = HEADER_LEN * (1 + random.below(40) as usize);
                let len = stamp.pad(&mut room, len, Last::default(), 0);
                bytes.extend_from_slice(&room[..len]);
            }
            seals.push((start, bytes.len() as u64));
            let seal = Seal { digest: [0; 16], batch_len: 0, command_count: 0 };
            stamp.seal(&mut room, &seal, Last::default(), 0);
            finish_seal(&mut room, salt, checksum::digest(&bytes[start as usize..]));
            bytes.extend_from_slice(&room[..SEAL_LEN]);
        }
        (bytes, seals)
    }

    #[test]
    fn every_batch_is_offered_however_it_is_cut_and_nothing_else_is_given() {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let (bytes, seals) = batches(&mut random, 12);
            let (mut scout, mut offers) = digests(0);
            let mut at = 0;
            while at < bytes.len() {
                let end = bytes.len().min(at + HEADER_LEN * (1 + random.below(200) as usize));
                scout.see(at as u64, &bytes[at..end]);
                at = end;
            }
            for (start, end) in seals {
                assert_eq!(offers.take(start + 64, end), None, "another stretch");
                let expected = checksum::digest(&bytes[start as usize..end as usize]);
                assert_eq!(offers.take(start, end), Some(expected), "seed {seed}");
            }
            assert_eq!(offers.take(0, bytes.len() as u64), None);
        }
    }

    #[test]
    fn nothing_is_offered_behind_what_makes_no_sense() {
        let (bytes, seals) = batches(&mut Random::new(1), 4);
        let mut broken = bytes.clone();
        let (start, end) = seals[2];
        broken[start as usize..start as usize + 4].fill(0xff);
        let (mut scout, mut offers) = digests(0);
        scout.see(0, &broken);
        assert!(offers.take(seals[1].0, seals[1].1).is_some());
        assert_eq!(offers.take(start, end), None);
        // Not from front to back.
        let (mut scout, mut offers) = digests(0);
        scout.see(4096, &bytes[..4096]);
        scout.see(0, &bytes);
        assert_eq!(offers.take(seals[0].0, seals[0].1), None);
    }
}
