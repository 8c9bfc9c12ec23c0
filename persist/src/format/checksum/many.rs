//! Sums of many records, one after the other. The instruction for a CRC takes three cycles for eight bytes, and a chain is
//! multiplications that wait for each other, but those of several records need not: in a short loop over whole records they
//! cost a third of what they cost one by one between other things.
//!
//! Both together cost 15 ns for a record of 128 bytes, the chain by itself 9 (each step waits for the one before), the CRC 8. A CRC
//! by products without carry (`pclmulqdq`) costs 9 by itself and as much as now together with a chain. Where none is asked for by
//! itself, because records are read, [`folded`] has something cheaper.
//!
//! Says the same as [`Salt::crc`], which is what runs where the processor has no such instruction, and
//! [`chain`](super::chain).
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use crate::format::checksum::folded;
use crate::format::checksum::{Block, Salt, Words, chain_of, words};
use crate::format::record::{CHAIN, Last, Plain, chained, kind_of, len_at, plain_of};
use ringside_core::ids::Sequence;
use std::slice;

/// Fills in chains and CRCs of whole records, one after the other from byte `from` of `records` on, until one ends at or behind
/// byte `until`; gives where. The first carries `next`, which becomes what the record behind the last must carry.
pub(crate) fn link(records: &mut [u8], salt: Salt, next: &mut u64, from: usize, until: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("sse4.2") {
        // SAFETY: all that the function asks for is the instruction, and the processor has it.
        return unsafe { instruction::link(records, salt, next, from, until) };
    }
    link_by(records, next, from, until, |header, carried, body| salt.crc_of(header, carried, body))
}

/// A run of records that are sound, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Where the next record starts.
    pub(crate) at: usize,
    /// What it must carry as its chain; `None`: anything.
    pub(crate) chain: Option<u64>,
    /// The last of them, from one on that is for others to look at.
    pub(crate) plains: Option<Plains>,
}

/// A record, and those behind it that go on from it and need no closer look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plains {
    /// Where the first starts.
    pub(crate) first: usize,
    /// Of the last record.
    pub(crate) sequence: Sequence,
    /// Of the last record.
    pub(crate) epoch: u32,
    /// The last command behind the first record.
    pub(crate) last: Option<Last>,
    /// Commands behind the first record.
    pub(crate) commands: u64,
}

/// Why [`follow`] has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It has come as far as it should.
    Until,
    /// The next record is sound and needs a closer look.
    Special,
    /// The next record is cut off, has no length that a record can have, another CRC than it says, or not the chain of the
    /// record before it.
    Broken,
}

impl Run {
    /// Begins with the record at `at`.
    pub(crate) fn at(at: usize) -> Run {
        Run { at, chain: None, plains: None }
    }
}

impl Plains {
    fn first(at: usize, words: &Words) -> Plains {
        Plains { first: at, sequence: words[1], epoch: words[5] as u32, last: None, commands: 0 }
    }

    /// Takes in the record that comes next, if it needs no closer look.
    #[inline(always)]
    fn take(&mut self, words: &Words, body: &[Block]) -> bool {
        let Some(Plain { sequence, time_ns, epoch, is_command }) = plain_of(words, body) else {
            return false;
        };
        if sequence != self.sequence + u64::from(is_command) || epoch < self.epoch {
            return false;
        }
        (self.sequence, self.epoch) = (sequence, epoch);
        if is_command {
            self.last = Some(Last { sequence, time_ns });
            self.commands += 1;
        }
        true
    }
}

/// Goes on from one whole record to the next until one ends at or behind byte `until` of `bytes`, or the next is not as those
/// before it. The first of [`Run::plains`] is taken whatever it is, if it is sound.
pub(crate) fn follow(bytes: &[u8], salt: Salt, run: &mut Run, until: usize) -> Stop {
    #[cfg(target_arch = "x86_64")]
    if folded::is_there() {
        let mut gone = *run;
        // SAFETY: all that the function asks for are instructions, and the processor has them.
        if let Some(stop) = unsafe { folded::follow(bytes, salt, &mut gone, until) } {
            *run = gone;
            return stop;
        }
    }
    follow_singly(bytes, salt, run, until)
}

/// The same, each record by itself.
fn follow_singly(bytes: &[u8], salt: Salt, run: &mut Run, until: usize) -> Stop {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("sse4.2") {
        // SAFETY: as above.
        return unsafe { instruction::follow(bytes, salt, run, until) };
    }
    follow_plainly(bytes, salt, run, until)
}

/// The same, with no instruction that some processors do not have.
fn follow_plainly(bytes: &[u8], salt: Salt, run: &mut Run, until: usize) -> Stop {
    follow_by(bytes, run, until, |header, words, body| {
        (words[0] >> 32) as u32 == salt.crc_of(header, words[CHAIN], body)
    })
}

#[inline(always)]
fn link_by(
    records: &mut [u8],
    next: &mut u64,
    from: usize,
    until: usize,
    crc: impl Fn(&Block, u64, &[Block]) -> u32,
) -> usize {
    let (mut at, mut carried) = (from, *next);
    while at < until {
        let Some(len) = len_at(&records[at..]) else { unreachable!("they were made here") };
        let (blocks, _) = records[at..at + len].as_chunks_mut::<64>();
        let [header, body @ ..] = blocks else { unreachable!("a record has a header") };
        let body = &*body;
        // Each record waits for the chain of the one before it, so that goes from one to the next in a register.
        let mut words = words(header);
        words[CHAIN] = carried;
        let crc = crc(header, carried, body);
        header[16..24].copy_from_slice(&carried.to_le_bytes());
        header[4..8].copy_from_slice(&crc.to_le_bytes());
        carried = chain_of(carried, words, chained(kind_of(&words), body));
        at += len;
    }
    *next = carried;
    at
}

/// `is_right` says whether a record has the CRC that it says, by its header, the words of that, and its other blocks.
#[inline(always)]
pub(super) fn follow_by(
    bytes: &[u8],
    run: &mut Run,
    until: usize,
    mut is_right: impl FnMut(&Block, &Words, &[Block]) -> bool,
) -> Stop {
    let Run { mut at, chain: mut expected, mut plains } = *run;
    let stop = loop {
        if at >= until {
            break Stop::Until;
        }
        let Some(record) = len_at(&bytes[at..]).and_then(|len| bytes[at..].get(..len)) else {
            break Stop::Broken;
        };
        let (blocks, _) = record.as_chunks::<64>();
        let [header, body @ ..] = blocks else { unreachable!("a record has a header") };
        // Most are two blocks long: where the compiler knows that, nothing is a loop.
        let next = match body {
            [one] => next_by(at, header, slice::from_ref(one), expected, &mut plains, &mut is_right),
            _ => next_by(at, header, body, expected, &mut plains, &mut is_right),
        };
        match next {
            Ok(chain) => expected = Some(chain),
            Err(stop) => break stop,
        }
        at += record.len();
    };
    *run = Run { at, chain: expected, plains };
    stop
}

/// Takes the record of these blocks, which starts at `at`; gives what the one behind it must carry as its chain.
#[inline(always)]
fn next_by(
    at: usize,
    header: &Block,
    body: &[Block],
    expected: Option<u64>,
    plains: &mut Option<Plains>,
    is_right: &mut impl FnMut(&Block, &Words, &[Block]) -> bool,
) -> Result<u64, Stop> {
    let words = words(header);
    // What it carries, not what it should carry: so no record waits for the one before it.
    let carried = words[CHAIN];
    if !is_right(header, &words, body) || expected.is_some_and(|expected| expected != carried) {
        return Err(Stop::Broken);
    }
    match plains {
        Some(plains) => {
            if !plains.take(&words, body) {
                return Err(Stop::Special);
            }
        }
        None => *plains = Some(Plains::first(at, &words)),
    }
    Ok(chain_of(carried, words, chained(kind_of(&words), body)))
}

/// The same loops, compiled for processors that have the instruction.
#[cfg(target_arch = "x86_64")]
mod instruction {
    use super::{Block, Run, Salt, Stop, follow_by, link_by, words};
    use crate::format::record::CHAIN;
    use std::arch::x86_64::{_mm_crc32_u32, _mm_crc32_u64};

    #[target_feature(enable = "sse4.2")]
    pub(super) fn link(records: &mut [u8], salt: Salt, next: &mut u64, from: usize, until: usize) -> usize {
        link_by(records, next, from, until, |header, carried, body| crc(salt, header, carried, body))
    }

    #[target_feature(enable = "sse4.2")]
    pub(super) fn follow(bytes: &[u8], salt: Salt, run: &mut Run, until: usize) -> Stop {
        follow_by(bytes, run, until, |header, words, body| {
            (words[0] >> 32) as u32 == crc(salt, header, words[CHAIN], body)
        })
    }

    /// [`Salt::crc`] of the record of these blocks that carries `carried`, whatever its header says there.
    #[inline]
    #[target_feature(enable = "sse4.2")]
    fn crc(salt: Salt, header: &Block, carried: u64, body: &[Block]) -> u32 {
        let mut header = words(header);
        header[CHAIN] = carried;
        let mut crc = u64::from(_mm_crc32_u32(!salt.start, header[0] as u32));
        for word in &header[1..] {
            crc = _mm_crc32_u64(crc, *word);
        }
        for block in body {
            for word in words(block) {
                crc = _mm_crc32_u64(crc, word);
            }
        }
        !(crc as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::checksum::chain;
    use crate::format::record::{HEADER_LEN, SEAL, chain_at, padded};
    use crate::storage::faulty::Random;

    /// Bytes with a length in front of each record, and where records start.
    fn records(random: &mut Random) -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut starts) = (Vec::new(), Vec::new());
        for _ in 0..1 + random.below(40) {
            starts.push(bytes.len());
            let body = [0, 8, 16, 64, 72, 184, 256, 1000][random.below(8) as usize];
            let record = 0..HEADER_LEN + padded(body);
            bytes.extend(record.map(|_| random.below(256) as u8));
            let start = starts[starts.len() - 1];
            bytes[start..start + 4].copy_from_slice(&(body as u32).to_le_bytes());
        }
        (bytes, starts)
    }

    #[test]
    fn both_ways_say_what_the_salt_says_of_each_record() {
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let salt = Salt::new(&[seed as u8; 16], seed);
            let (bytes, starts) = records(&mut random);
            let (mut linked, mut plain) = (bytes.clone(), bytes.clone());
            let from = starts[random.below(starts.len() as u64) as usize];
            let until = from + random.below((bytes.len() - from) as u64 + 1) as usize;
            let (mut next, mut same) = (seed, seed);
            let end = link(&mut linked, salt, &mut next, from, until);
            let crc = |header: &Block, carried, body: &[Block]| salt.crc_of(header, carried, body);
            assert_eq!(link_by(&mut plain, &mut same, from, until, crc), end);
            assert_eq!(next, same);
            assert!(linked == plain, "seed {seed}");
            assert!(linked[..from] == bytes[..from] && linked[end..] == bytes[end..], "seed {seed}");
            let ends = starts.iter().copied().chain([bytes.len()]);
            assert_eq!(Some(end), ends.clone().find(|&at| at >= until.max(from)), "seed {seed}");
            let mut carried = seed;
            for (start, end) in starts.iter().copied().zip(ends.skip(1)).filter(|&(start, _)| start < until) {
                if start >= from {
                    let record = &linked[start..end];
                    assert_eq!(record[16..24], carried.to_le_bytes(), "seed {seed}");
                    assert_eq!(record[4..8], salt.crc(record).to_le_bytes(), "seed {seed}");
                    let is_seal = record[46..48] == SEAL.to_le_bytes();
                    carried = chain(carried, if is_seal { &record[..HEADER_LEN] } else { record });
                }
            }
            assert_eq!(carried, next, "seed {seed}");
        }
    }

    /// Follows records up to `until` through those that need a closer look, by each of the ways.
    fn follow_on(bytes: &[u8], salt: Salt, run: Run, until: usize) -> Run {
        let mut run = run;
        while run.at < until {
            let (mut singly, mut plainly) = (run, run);
            let stop = follow(bytes, salt, &mut run, until);
            assert_eq!((follow_singly(bytes, salt, &mut singly, until), singly), (stop, run));
            assert_eq!((follow_plainly(bytes, salt, &mut plainly, until), plainly), (stop, run));
            match stop {
                Stop::Until => break,
                Stop::Broken => break,
                Stop::Special => run.plains = None,
            }
        }
        Run { plains: None, ..run }
    }

    /// Where the records from the first on end to be sound.
    fn sound(bytes: &[u8], salt: Salt) -> usize {
        let run = follow_on(bytes, salt, Run::at(0), bytes.len());
        // In two steps as in one.
        let half = follow_on(bytes, salt, Run::at(0), bytes.len() / 2);
        assert_eq!(follow_on(bytes, salt, half, bytes.len()), run);
        run.at
    }

    #[test]
    fn what_is_wrong_or_cut_off_or_does_not_follow_is_not_sound() {
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let salt = Salt::new(&[1; 16], seed);
            let (mut bytes, starts) = records(&mut random);
            let len = bytes.len();
            link(&mut bytes, salt, &mut 7, 0, len);
            assert_eq!(sound(&bytes, salt), len);
            assert_eq!(sound(&bytes, Salt::new(&[2; 16], seed)), 0, "another journal's");
            let elsewhere = Run { chain: Some(8), ..Run::at(0) };
            assert_eq!(follow_on(&bytes, salt, elsewhere, len).at, 0, "another chain");
            let last = starts[starts.len() - 1];
            assert_eq!(sound(&bytes[..len - 64], salt), last.min(len - 64), "seed {seed}");
            let mut flipped = bytes.clone();
            let at = random.below(len as u64) as usize;
            flipped[at] ^= 1 << random.below(8);
            let hit = starts.partition_point(|&start| start <= at) - 1;
            assert_eq!(sound(&flipped, salt), starts[hit], "seed {seed}");
            // One that is whole, but was written somewhere else.
            bytes[starts[hit] + 8] ^= 1;
            let mut carried = chain_at(&bytes[starts[hit]..]);
            link(&mut bytes, salt, &mut carried, starts[hit], starts[hit] + 1);
            let next = starts.get(hit + 1).copied().unwrap_or(len);
            assert_eq!(sound(&bytes, salt), next, "seed {seed}");
        }
    }
}
