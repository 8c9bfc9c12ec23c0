//! CRCs and chains of records and digests of batches, worked out for a stretch of a segment as a whole before its records are
//! looked at one by one: loops that do nothing else cost a fraction of the same sums between other steps.
//!
//! [`Sums`] follows the lengths of the records from seal to seal. It judges nothing. What it says is that in an exact stretch of
//! bytes the CRC of each record is right and each carries the chain of the one before it there, which of them are commands and
//! pads that go on from a record before them, and what the digest of another exact stretch is, and it is taken only for those;
//! where bytes make no sense it says nothing more, and the reader works everything out by itself again.

use crate::format::checksum::many::{self, Plains, Run, Stop};
use crate::format::checksum::{self, Salt};
use crate::format::record::{HEADER_LEN, Last, RECORD_LEN_MAX, SEAL, padded};
use std::collections::VecDeque;
use std::ops::Range;

/// Bytes gone through twice while they are near: fits the second-level cache. BLAKE3 is fastest on powers of two.
const PIECE_LEN: usize = 64 << 10;

/// Bytes `start..end` of the segment have this digest.
struct Known {
    start: u64,
    end: u64,
    digest: [u8; 16],
}

/// Records that count if the one before them does: sound, plain, each the successor of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Followers {
    /// Where the record starts that they follow.
    pub(crate) first: u64,
    /// Where they end.
    pub(crate) end: u64,
    /// What the record behind them must carry as its chain.
    pub(crate) chain: u64,
    /// Epoch of the last of them.
    pub(crate) epoch: u32,
    /// The last command among them.
    pub(crate) last: Option<Last>,
    /// Commands among them.
    pub(crate) commands: u64,
}

/// What is known of the stretch seen last, and of the batches that end in it.
pub(crate) struct Sums {
    salt: Salt,
    /// Byte of the segment at which the next stretch is expected; `None` once it has lost its way.
    next: Option<u64>,
    /// Where the next record starts.
    record: u64,
    /// Where the batch under way starts.
    batch: u64,
    digest: blake3::Hasher,
    /// The records in here are whole, have the right CRC and, but for the first, the chain of the one before.
    sound: Range<u64>,
    /// In the stretch seen last, from front to back.
    followers: VecDeque<Followers>,
    known: VecDeque<Known>,
}

impl Sums {
    /// For a segment that is read from byte `start` on, where a batch starts.
    pub(crate) fn new(salt: Salt, start: u64) -> Sums {
        Sums {
            salt,
            next: Some(start),
            record: start,
            batch: start,
            digest: blake3::Hasher::new(),
            sound: 0..0,
            followers: VecDeque::new(),
            known: VecDeque::new(),
        }
    }

    /// Goes through the bytes of the segment from `start` on, whole blocks, that are looked at next.
    pub(crate) fn see(&mut self, start: u64, bytes: &[u8]) {
        self.sound = 0..0;
        self.followers.clear();
        let is_next = self.next == Some(start);
        let followed = if is_next { self.follow(start, bytes) } else { None };
        self.next = followed.map(|()| start + bytes.len() as u64);
    }

    /// `None` where bytes make no sense.
    fn follow(&mut self, start: u64, bytes: &[u8]) -> Option<()> {
        let mut at = (self.record - start) as usize;
        let mut run = Run::at(at);
        let mut is_sound = true;
        self.sound = self.record..self.record;
        // What of the batch was in the bytes before is hashed already.
        let mut hashed = (self.batch.max(start) - start) as usize;
        while at < bytes.len() {
            let piece = bytes.len().min(at + PIECE_LEN);
            if is_sound {
                let is_first = run.plains.is_none();
                let stop = many::follow(bytes, self.salt, &mut run, piece);
                if is_first && run.plains.is_some() && kind_at(&bytes[at..]) == SEAL {
                    hashed = self.seal(start, bytes, hashed, at)?;
                }
                at = run.at;
                if stop != Stop::Until {
                    self.followers
                        .extend(run.plains.take().and_then(|plains| followers(start, &run, &plains)));
                }
                is_sound = stop != Stop::Broken;
            }
            while !is_sound && at < piece {
                let (header, _) = bytes[at..].split_first_chunk::<HEADER_LEN>()?;
                let len = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
                let kind = kind_at(header);
                if len > RECORD_LEN_MAX - HEADER_LEN || kind == 0 {
                    return None;
                }
                if kind == SEAL {
                    hashed = self.seal(start, bytes, hashed, at)?;
                }
                at += HEADER_LEN + padded(len);
            }
            let whole = at.min(bytes.len()).saturating_sub(hashed) / PIECE_LEN * PIECE_LEN;
            self.digest.update(&bytes[hashed.min(bytes.len())..][..whole]);
            hashed += whole;
            self.sound.end = start + run.at as u64;
        }
        self.followers.extend(run.plains.and_then(|plains| followers(start, &run, &plains)));
        self.digest.update(&bytes[hashed.min(bytes.len())..]);
        self.record = start + at as u64;
        Some(())
    }

    /// The batch under way, hashed up to byte `hashed` of the stretch at `start`, ends with the seal at byte `at`; gives where
    /// the next begins. `None` where the seal has no length that a record can have.
    fn seal(&mut self, start: u64, bytes: &[u8], hashed: usize, at: usize) -> Option<usize> {
        let header = bytes[at..].first_chunk::<HEADER_LEN>()?;
        let after = at
            + HEADER_LEN
            + padded(u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize);
        self.digest.update(&bytes[hashed..at]);
        let digest = checksum::truncated(self.digest.finalize());
        self.digest.reset();
        self.known.push_back(Known { start: self.batch, end: start + at as u64, digest });
        self.batch = start + after as u64;
        Some(after)
    }

    /// What follows the record at byte `first`, if that is known. Asked from front to back.
    #[inline]
    pub(crate) fn followers(&mut self, first: u64) -> Option<Followers> {
        while self.followers.front()?.first < first {
            self.followers.pop_front();
        }
        self.followers.pop_front_if(|followers| followers.first == first)
    }

    /// Whether the CRC of the record that is bytes `start..end` was found right.
    #[inline]
    pub(crate) fn is_sound(&self, start: u64, end: u64) -> bool {
        self.sound.start <= start && end <= self.sound.end
    }

    /// Whether a record starts at byte `at` that was found to carry the chain of the one before it.
    #[inline]
    pub(crate) fn is_linked(&self, at: u64) -> bool {
        self.sound.start < at && at < self.sound.end
    }

    /// The digest of bytes `start..end`, if it is known.
    pub(crate) fn take(&mut self, start: u64, end: u64) -> Option<[u8; 16]> {
        while self.known.front()?.end < end {
            self.known.pop_front();
        }
        let known = self.known.front().filter(|known| (known.start, known.end) == (start, end))?;
        Some(known.digest)
    }
}

/// The type of the record whose header stands at the start of `bytes`.
fn kind_at(bytes: &[u8]) -> u16 {
    u16::from_le_bytes([bytes[46], bytes[47]])
}

/// What `plains` of a run over the stretch at `start` say to a reader, if there are any behind the first.
fn followers(start: u64, run: &Run, plains: &Plains) -> Option<Followers> {
    let Plains { first, epoch, last, commands, .. } = *plains;
    let (first, end) = (start + first as u64, start + run.at as u64);
    Some(Followers { first, end, chain: run.chain?, epoch, last, commands })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::record::{self, SEAL_LEN, Seal, Stamp, finish_seal};
    use crate::storage::faulty::Random;

    fn salt() -> Salt {
        Salt::new(&[3; 16], 4)
    }

    fn has_sum(record: &[u8]) -> bool {
        record[4..8] == salt().crc(record).to_le_bytes()
    }

    /// Where records start and end.
    fn places(bytes: &[u8]) -> Vec<(usize, usize)> {
        let mut places = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let end = at + record::len_at(&bytes[at..]).unwrap();
            places.push((at, end));
            at = end;
        }
        places
    }

    /// Batches of pads of random lengths, from byte 0 of a segment on, and the places of their seals.
    fn batches(random: &mut Random, count: usize) -> (Vec<u8>, Vec<(u64, u64)>) {
        let salt = salt();
        let mut stamp = Stamp { salt, chain: 5, durable_seq: 6, epoch: 7 };
        let (mut bytes, mut seals) = (Vec::new(), Vec::new());
        let mut room = vec![0; RECORD_LEN_MAX];
        for _ in 0..count {
            let start = bytes.len() as u64;
            for _ in 0..random.below(20) {
                let len = HEADER_LEN * (1 + random.below(40) as usize);
                let len = stamp.pad(&mut room, len, Last::default(), 0);
                stamp.link(&mut room, 0, len);
                bytes.extend_from_slice(&room[..len]);
            }
            seals.push((start, bytes.len() as u64));
            let seal = Seal { digest: [0; 16], batch_len: 0, command_count: 0 };
            stamp.seal(&mut room, &seal, Last::default(), 0);
            stamp.link(&mut room, 0, SEAL_LEN);
            finish_seal(&mut room, salt, checksum::digest(&bytes[start as usize..]));
            bytes.extend_from_slice(&room[..SEAL_LEN]);
        }
        (bytes, seals)
    }

    #[test]
    fn every_digest_is_known_however_batches_are_cut_and_nothing_else_is_given() {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let (bytes, seals) = batches(&mut random, 12);
            let mut sums = Sums::new(salt(), 0);
            let mut at = 0;
            while at < bytes.len() {
                let end = bytes.len().min(at + HEADER_LEN * (1 + random.below(200) as usize));
                sums.see(at as u64, &bytes[at..end]);
                at = end;
            }
            for (start, end) in seals {
                assert_eq!(sums.take(start + 64, end), None, "another stretch");
                let expected = checksum::digest(&bytes[start as usize..end as usize]);
                assert_eq!(sums.take(start, end), Some(expected), "seed {seed}");
            }
            assert_eq!(sums.take(0, bytes.len() as u64), None);
        }
    }

    #[test]
    fn records_are_told_sound_only_where_they_are_and_lie_whole_in_a_stretch() {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let (mut bytes, _) = batches(&mut random, 12);
            let flipped = random.below(bytes.len() as u64) as usize;
            let records = places(&bytes);
            // Behind a length that is wrong nothing is known of where records are.
            let is_length = flipped % HEADER_LEN < 4
                && records.iter().any(|&(start, _)| flipped - flipped % HEADER_LEN == start);
            if !is_length {
                bytes[flipped] ^= 1 << random.below(8);
            }
            let mut sums = Sums::new(salt(), 0);
            let mut at = 0;
            while at < bytes.len() {
                let stretch = at..bytes.len().min(at + HEADER_LEN * (1 + random.below(200) as usize));
                sums.see(at as u64, &bytes[stretch.clone()]);
                let mut is_sound = true;
                let first = records.iter().map(|place| place.0).find(|&at| at >= stretch.start).unwrap_or(0);
                for &(start, end) in records.iter().filter(|(start, _)| stretch.contains(start)) {
                    is_sound &= end <= stretch.end && has_sum(&bytes[start..end]);
                    assert_eq!(
                        sums.is_sound(start as u64, end as u64),
                        is_sound,
                        "seed {seed}, {start}..{end}"
                    );
                    let is_linked = is_sound && start > first;
                    assert_eq!(sums.is_linked(start as u64), is_linked, "seed {seed}, {start}..{end}");
                }
                assert!(!sums.is_sound(stretch.start as u64, stretch.end as u64 + 64), "past the stretch");
                at = stretch.end;
            }
        }
    }

    #[test]
    fn nothing_is_known_behind_what_makes_no_sense() {
        let (bytes, seals) = batches(&mut Random::new(1), 4);
        let mut broken = bytes.clone();
        let (start, end) = seals[2];
        broken[start as usize..start as usize + 4].fill(0xff);
        let mut sums = Sums::new(salt(), 0);
        sums.see(0, &broken);
        assert!(sums.take(seals[1].0, seals[1].1).is_some());
        assert_eq!(sums.take(start, end), None);
        assert!(!sums.is_sound(end, end + SEAL_LEN as u64));
        // Not from front to back.
        let mut sums = Sums::new(salt(), 0);
        sums.see(4096, &bytes[4096..8192]);
        sums.see(0, &bytes);
        assert_eq!(sums.take(seals[0].0, seals[0].1), None);
        assert!(!sums.is_sound(0, HEADER_LEN as u64));
    }
}
