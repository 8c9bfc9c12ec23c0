//! The floor with the least that money and events can cost beside it, so that a report shows what of an engine's distance from
//! the floor is the amount of work, and what is the way it is done.
//!
//! For each instruction that does something, one cache line of balances is read, checked and changed by an amount of 128 bits,
//! and as many events of as many bytes as the engine writes are written, as whole words that are in registers already. It knows
//! no rules, no fees, no owners of orders (an order's line is picked by its id), finds and tells nothing: nothing here is fit
//! for an exchange either.

use crate::floor::Floor;
use crate::op::{FillSum, Op, OpKind, TakesFills};
use crate::workload::{LOT, price_of};
use ringside_core::event::Event;
use ringside_core::memory::Pages;
use ringside_core::prefetch::prefetch;
use std::hint::select_unpredictable;

/// Words of an event.
const WORDS: usize = size_of::<Event>() / 8;
/// Events that one instruction may write.
const ROOM: usize = 4_096;
/// Every line starts with this much of both.
const CREDIT: i128 = 1 << 120;

/// What there is of two assets, free and reserved.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Line([i128; 4]);

/// See the module.
pub struct PaidFloor {
    floor: Floor,
    purses: Purses,
    sum: FillSum,
}

/// Balances and events.
struct Purses {
    lines: Vec<Line>,
    told: Told,
}

/// The events of the running instruction.
pub(crate) struct Told {
    events: Vec<[u64; WORDS]>,
    written: usize,
    instruction: u64,
}

/// Fills on their way: the checksum, and what they move and tell.
struct Paying<'a> {
    purses: &'a mut Purses,
    sum: &'a mut FillSum,
    fills: u64,
}

impl TakesFills for Paying<'_> {
    #[inline(always)]
    fn fill(&mut self, maker: u64, taker: u64, level: u64, quantity: u64) {
        self.sum.fill(maker, taker, level, quantity);
        self.fills += 1;
        let amount = i128::from(level) * i128::from(quantity);
        let line = self.purses.line_of(maker);
        let told = self.purses.pay(line, true, amount);
        // The trade, and the maker's balances.
        self.purses.tell::<2>(told);
    }
}

impl Purses {
    /// The line that an order pays with.
    #[inline(always)]
    fn line_of(&self, order: u64) -> usize {
        let spread = (order as u32).wrapping_mul(0x9e37_79b1);
        ((u64::from(spread) * self.lines.len() as u64) >> 32) as usize
    }

    /// Reserves an amount of one of a line's two assets, or gives it back, and says what is there then.
    #[inline(always)]
    fn pay(&mut self, line: usize, is_back: bool, amount: i128) -> [i128; 4] {
        let Line([free, reserved, others @ ..]) = self.lines[line];
        // Both ways alike, without a branch or an index: nothing is written in parts and read back whole.
        let change = select_unpredictable(is_back, amount.wrapping_neg(), amount);
        let (free, reserved) = (free.wrapping_sub(change), reserved.wrapping_add(change));
        assert!(free | reserved >= 0, "the credit is larger than all amounts");
        let held = [free, reserved, others[0], others[1]];
        self.lines[line] = Line(held);
        held
    }

    #[inline(always)]
    fn tell<const N: usize>(&mut self, [a, b, c, d]: [i128; 4]) {
        self.told.tell::<N>([a, a >> 64, b, b >> 64, c, c >> 64, d, d >> 64].map(|half| half as u64));
    }
}

impl Told {
    pub(crate) fn new() -> Told {
        Told { events: vec![[1; WORDS]; ROOM], written: 0, instruction: 0 }
    }

    /// Starts an instruction.
    #[inline(always)]
    pub(crate) fn start(&mut self) {
        self.written = 0;
        self.instruction += 1;
    }

    /// Writes `N` events that say `words`.
    #[inline(always)]
    pub(crate) fn tell<const N: usize>(&mut self, words: [u64; 8]) {
        let places = self.events[self.written..].first_chunk_mut::<N>();
        for event in places.into_iter().flatten() {
            event[0] = self.instruction;
            event[1] = self.instruction;
            event[2] = N as u64;
            event[3..11].copy_from_slice(&words);
            event[11..].fill(0);
        }
        self.written += N;
    }

    /// Keeps them from being left out.
    pub(crate) fn keep(&self) {
        std::hint::black_box(&self.events);
    }
}

impl PaidFloor {
    /// An empty book, and `accounts` lines.
    pub fn new(accounts: usize) -> PaidFloor {
        let mut lines: Vec<Line> = Pages::Huge.reserved(accounts, accounts);
        lines.fill(Line([CREDIT; 4]));
        let purses = Purses { lines, told: Told::new() };
        PaidFloor { floor: Floor::new(), purses, sum: FillSum::default() }
    }

    /// Carries out one instruction.
    #[inline(always)]
    pub fn apply(&mut self, op: &Op) {
        let PaidFloor { floor, purses, sum } = self;
        purses.told.start();
        let is_entry = matches!(op.kind, OpKind::New | OpKind::ImmediateOrCancel);
        if !is_entry && floor.open(op.order) == 0 {
            // Refused: its end alone.
            return purses.tell::<1>([0; 4]);
        }
        let line = purses.line_of(u64::from(op.order));
        let mut paying = Paying { purses, sum, fills: 0 };
        floor.apply(op, &mut paying);
        let Paying { purses, fills, .. } = paying;
        let amount = i128::from(price_of(op.level)) * i128::from(i64::from(op.quantity) * LOT);
        let told = purses.pay(line, op.kind == OpKind::Cancel, amount);
        if fills != 0 {
            // The fee account's.
            let told = purses.pay(0, false, 1);
            purses.tell::<1>(told);
        }
        if op.kind == OpKind::ImmediateOrCancel && fills == 0 {
            // The order and the end.
            purses.tell::<2>(told);
        } else {
            // The order, its level, its account, the end.
            purses.tell::<4>(told);
        }
    }

    /// Touches what `op` will need.
    #[inline(always)]
    pub fn hint(&self, op: &Op) {
        self.floor.hint(op);
        prefetch(&self.purses.lines[self.purses.line_of(u64::from(op.order))]);
    }

    /// Fills so far.
    pub fn sum(&mut self) -> &mut FillSum {
        self.purses.told.keep();
        &mut self.sum
    }
}
