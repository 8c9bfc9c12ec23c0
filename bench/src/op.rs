//! The compact instruction that workloads are made of, and the checksum that ties every variant of a benchmark to
//! the same fills. No text, no money.

/// What an [`Op`] asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OpKind {
    /// A limit order whose remainder rests.
    New = 0,
    /// A limit order whose remainder ends.
    ImmediateOrCancel = 1,
    /// Ends a resting order; of one that does not rest, nothing happens.
    Cancel = 2,
    /// Takes a resting order out and enters it again at the given level and quantity, as a new arrival with the same
    /// id; of one that does not rest, nothing happens.
    Replace = 3,
}

/// One instruction, 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Op {
    /// Order ids are dense, from 1, in order of entry: the ids an engine with one market gives.
    pub order: u32,
    /// Price in ticks above the workload's first price; 0 for cancels.
    pub level: u32,
    /// Quantity in lots, > 0; 0 for cancels.
    pub quantity: u32,
    /// What to do.
    pub kind: OpKind,
    /// Whether the order buys; of a cancel, where the source does not say, true.
    pub is_buy: bool,
}

const _: () = assert!(size_of::<Op>() == 16);

/// Count and order-sensitive checksum of fills: two runs with equal values made the same fills in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillSum {
    /// Fills so far.
    pub fills: u64,
    /// Multiplicative hash over (maker, taker, level, quantity) of each in turn.
    pub hash: u64,
}

/// Where a book's fills go.
pub trait TakesFills {
    /// One fill: ids of maker and taker, the maker's level, lots.
    fn fill(&mut self, maker: u64, taker: u64, level: u64, quantity: u64);
}

/// Keeps them all.
impl TakesFills for Vec<(u64, u64, u64, u64)> {
    fn fill(&mut self, maker: u64, taker: u64, level: u64, quantity: u64) {
        self.push((maker, taker, level, quantity));
    }
}

impl Default for FillSum {
    fn default() -> FillSum {
        FillSum { fills: 0, hash: 0x9e37_79b9_7f4a_7c15 }
    }
}

impl TakesFills for FillSum {
    /// Cheap enough to stand inside a timed loop of every variant.
    #[inline(always)]
    fn fill(&mut self, maker: u64, taker: u64, level: u64, quantity: u64) {
        self.fills += 1;
        let word = (maker | taker << 32).wrapping_mul(0xff51_afd7_ed55_8ccd) ^ (level << 32 | quantity);
        self.hash = (self.hash.rotate_left(23) ^ word).wrapping_mul(0x9fb2_1c65_1e98_df25);
    }
}

/// A small seeded generator (SplitMix64): equal streams on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `0..bound`; `bound` > 0.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        (((self.next_u64() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// Uniform in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Geometric with the given mean, from 0.
    #[inline]
    pub fn geometric(&mut self, mean: f64) -> u32 {
        let p = 1.0 / (mean + 1.0);
        ((1.0 - self.unit()).ln() / (1.0 - p).ln()) as u32
    }
}
