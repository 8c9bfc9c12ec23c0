//! A fuzzer for stable Rust: changes inputs that are worth something, keeps those that make something new happen, and says
//! how to see a failure again. It knows bytes and a dictionary; what they mean is the target's.
//!
//! It has no instrumented code to look at. Instead a target returns a signature of what an input did (the refusals it met,
//! the kinds of its answers), and an input with a signature not seen before joins the corpus.
//!
//! `FUZZ_SECONDS` says how long (a second or two in the test suites, 60 in scripts/fuzz.sh), `RINGSIDE_SEED` which
//! random numbers (`seeds.rs`), `FUZZ_INPUT` (hex) that only this input is to be run.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its own part")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a failure is told in words that rerun it")]

#[path = "seeds.rs"]
mod seeds;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// Most inputs kept.
const CORPUS_LEN_MAX: usize = 4_096;

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `end`, which is not reached.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// What is fuzzed.
pub struct Fuzz<'a> {
    /// Name of the test, for the line that reruns it.
    pub name: &'a str,
    /// Inputs to start from.
    pub corpus: Vec<Vec<u8>>,
    /// Pieces that mean something to the target.
    pub dictionary: &'a [&'a [u8]],
    /// Inputs consist of records of this length; 1 for bytes without structure.
    pub record_len: usize,
    /// Longest input.
    pub len_max: usize,
    /// How long where `FUZZ_SECONDS` does not say.
    pub seconds: f64,
}

/// What a run came to.
pub struct Run {
    /// Inputs run.
    pub inputs: u64,
    /// Signatures seen.
    pub signatures: usize,
}

impl Run {
    /// Fails where a whole run saw too few kinds of outcome to have gone anywhere.
    #[track_caller]
    pub fn reached(&self, least: usize) {
        let is_whole_run = std::env::var_os("FUZZ_INPUT").is_none();
        let Run { inputs, signatures } = self;
        assert!(
            !is_whole_run || *signatures >= least,
            "only {signatures} kinds of outcome in {inputs} inputs"
        );
    }
}

impl<'a> Fuzz<'a> {
    /// Bytes without structure, for two seconds.
    pub fn of_bytes(name: &'a str, corpus: Vec<Vec<u8>>, dictionary: &'a [&'a [u8]], len_max: usize) -> Self {
        Fuzz { name, corpus, dictionary, record_len: 1, len_max, seconds: 2.0 }
    }

    /// The same from texts.
    pub fn of_text(name: &'a str, corpus: &[&str], dictionary: &'a [&'a [u8]], len_max: usize) -> Self {
        let corpus = corpus.iter().map(|text| text.as_bytes().to_vec()).collect();
        Fuzz::of_bytes(name, corpus, dictionary, len_max)
    }

    /// Runs `target` until the time is up; a panic in it ends the test. `target` gives a signature of what happened.
    pub fn run<S: Hash>(mut self, mut target: impl FnMut(&[u8]) -> S) -> Run {
        if let Ok(hex) = std::env::var("FUZZ_INPUT") {
            target(&from_hex(&hex));
            return Run { inputs: 1, signatures: 1 };
        }
        let seed = seeds::first(1);
        let seconds = match std::env::var("FUZZ_SECONDS") {
            Ok(seconds) => seconds.parse().expect("FUZZ_SECONDS is a number"),
            Err(_) => self.seconds,
        };
        let (mut random, begin) = (Random(seed), Instant::now());
        let (mut seen, mut inputs) = (HashSet::new(), 0u64);
        let first = std::mem::take(&mut self.corpus);
        assert!(!first.is_empty(), "inputs to start from");
        // All that was given is run as it is, and kept whatever it does.
        let mut given = first.clone().into_iter();
        self.corpus = first;
        while begin.elapsed() < Duration::from_secs_f64(seconds) {
            let input = given.next().unwrap_or_else(|| self.change(&mut random));
            inputs += 1;
            let outcome = catch_unwind(AssertUnwindSafe(|| target(&input)));
            let signature = outcome.unwrap_or_else(|panic| {
                eprintln!(
                    "input {inputs} of RINGSIDE_SEED={seed} failed; FUZZ_INPUT={} cargo test {}",
                    to_hex(&input),
                    self.name
                );
                resume_unwind(panic)
            });
            let mut hasher = DefaultHasher::new();
            signature.hash(&mut hasher);
            if seen.insert(hasher.finish()) {
                if self.corpus.len() == CORPUS_LEN_MAX {
                    let at = random.below(CORPUS_LEN_MAX);
                    self.corpus.swap_remove(at);
                }
                self.corpus.push(input);
            }
        }
        let rate = inputs as f64 / begin.elapsed().as_secs_f64();
        println!(
            "{}: RINGSIDE_SEED={seed}, {inputs} inputs, {rate:.0} a second, {} kinds of outcome",
            self.name,
            seen.len()
        );
        Run { inputs, signatures: seen.len() }
    }

    /// An input of the corpus with a few changes, most often one.
    fn change(&self, random: &mut Random) -> Vec<u8> {
        let mut input = self.corpus[random.below(self.corpus.len())].clone();
        loop {
            if self.record_len > 1 && random.below(2) == 0 {
                self.change_records(&mut input, random);
            } else {
                self.change_bytes(&mut input, random);
            }
            input.truncate(self.len_max);
            if random.below(3) == 0 {
                return input;
            }
        }
    }

    /// Whole records: left out, doubled, swapped, taken from another input.
    fn change_records(&self, input: &mut Vec<u8>, random: &mut Random) {
        let len = self.record_len;
        let count = input.len() / len;
        let other = &self.corpus[random.below(self.corpus.len())];
        let taken = random.below(other.len() / len) * len;
        let taken = other.get(taken..taken + len).unwrap_or(&[]).to_vec();
        let at = random.below(count.max(1)) * len;
        match random.below(4) {
            0 if count > 1 => drop(input.drain(at..at + len)),
            1 if count > 0 => {
                let record = input[at..at + len].to_vec();
                input.extend(record);
            }
            2 if count > 1 => {
                let with = random.below(count) * len;
                for index in 0..len {
                    input.swap(at + index, with + index);
                }
            }
            _ => drop(input.splice(at..at, taken)),
        }
    }

    fn change_bytes(&self, input: &mut Vec<u8>, random: &mut Random) {
        const NUMBERS: [u64; 16] = [
            0,
            1,
            2,
            3,
            7,
            8,
            255,
            256,
            65_535,
            1 << 31,
            u32::MAX as u64,
            100_000_000,
            1 << 53,
            i64::MAX as u64,
            1 << 63,
            u64::MAX,
        ];
        let at = random.below(input.len());
        let end = (at + 1 + random.below(16)).min(input.len());
        // Fixed records keep their length, or every later field would be another.
        match random.below(if self.record_len > 1 { 4 } else { 11 }) {
            0 if !input.is_empty() => input[at] ^= 1 << random.below(8),
            1 if !input.is_empty() => input[at] = random.next() as u8,
            2 | 3 if input.len() >= 8 => {
                let len = [1, 2, 4, 8][random.below(4)];
                let at = random.below(input.len() / len) * len;
                let mut number = NUMBERS[random.below(NUMBERS.len())];
                if random.below(4) == 0 {
                    number = number.wrapping_neg();
                }
                let known = u64::from(input[at]);
                let number = if random.below(3) == 0 { known.wrapping_add(number) } else { number };
                input[at..at + len].copy_from_slice(&number.to_le_bytes()[..len]);
            }
            4 if at < end => drop(input.drain(at..end)),
            5 => drop(input.splice(at..at, [random.next() as u8])),
            6 | 7 if !self.dictionary.is_empty() => {
                let word = self.dictionary[random.below(self.dictionary.len())];
                let over = if random.below(2) == 0 { at..at } else { at..end };
                input.splice(over, word.iter().copied());
            }
            8 if at < end => {
                let most = if random.below(20) == 0 { 400 } else { 4 };
                let piece = input[at..end].repeat(1 + random.below(most));
                input.splice(at..at, piece);
            }
            9 => {
                let other = &self.corpus[random.below(self.corpus.len())];
                let from = random.below(other.len());
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            _ => input.truncate(at),
        }
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("FUZZ_INPUT is hex");
    (0..text.len() / 2).map(|index| digit(2 * index)).collect()
}
