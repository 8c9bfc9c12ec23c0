//! The floor with the least that the tables and events of a perpetual market can cost beside it, as `paid_floor.rs` has it of
//! money on the spot side.
//!
//! For each instruction that does something, the lines that the engine has to touch of an account and of an order are read and
//! changed by a number, a comparison for each, and as many events of as many bytes as the engine writes are written, as whole
//! words that are in registers already. It knows no rules, no prices but the floor's, no names of orders, no thresholds, no
//! ranking of counterparties: nothing here is fit for an exchange either.

use crate::floor::Floor;
use crate::op::{FillSum, Op, OpKind, TakesFills};
use crate::paid_floor::Told;
use crate::variant::Variant;
use crate::workload::Workload;
use ringside_core::memory::Pages;
use ringside_core::prefetch::{Hint, prefetch};

/// What every word begins with.
const CREDIT: u64 = 1 << 62;

/// A cache line.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// See the module.
pub struct OnMarginFloor {
    floor: Floor,
    tables: Tables,
    sum: FillSum,
}

/// An instruction and whose it is.
pub struct Owned(Op, u32);

/// What stands beside the book, and the events.
struct Tables {
    /// By account: over all markets, the second line for what a fill changes; in the market, the third for that.
    records: Vec<[Line; 2]>,
    holdings: Vec<[Line; 3]>,
    /// By order modulo their count, a power of two; the first word is the owner's.
    terms: Vec<[Line; 3]>,
    told: Told,
}

impl Tables {
    /// Changes what an instruction or a fill changes, and gives words to tell of it.
    #[inline(always)]
    fn change<const IS_FILL: bool>(&mut self, account: u32, order: u32, amount: u64) -> [u64; 8] {
        let (account, order) = (account as usize, order as usize & (self.terms.len() - 1));
        let (record, holding) = (&mut self.records[account], &mut self.holdings[account]);
        let free = record[0].0[0];
        assert!(free >= amount, "the credit is larger than all amounts");
        holding[0].0[0] = holding[0].0[0].wrapping_add(amount);
        holding[1].0[0] = holding[1].0[0].wrapping_add(1);
        if IS_FILL {
            record[0].0[0] = free.wrapping_sub(1);
            record[1].0[0] = record[1].0[0].wrapping_add(amount);
            holding[2].0[0] = holding[2].0[0].wrapping_add(amount);
        }
        let terms = &mut self.terms[order];
        terms[1].0[0] = terms[1].0[0].wrapping_add(amount);
        let reserved = terms[2].0[0];
        terms[2].0[0] = amount;
        [
            free,
            amount,
            holding[0].0[0],
            holding[1].0[0],
            reserved,
            terms[1].0[0],
            account as u64,
            order as u64,
        ]
    }

    /// The owner of an order.
    #[inline(always)]
    fn owner(&mut self, order: u32) -> &mut u64 {
        let place = order as usize & (self.terms.len() - 1);
        &mut self.terms[place][0].0[0]
    }
}

/// Fills on their way: the checksum, and what they change and tell.
struct Trading<'a> {
    tables: &'a mut Tables,
    sum: &'a mut FillSum,
    fills: u64,
}

impl TakesFills for Trading<'_> {
    #[inline(always)]
    fn fill(&mut self, maker: u64, taker: u64, level: u64, quantity: u64) {
        self.sum.fill(maker, taker, level, quantity);
        self.fills += 1;
        let account = *self.tables.owner(maker as u32) as u32;
        let words = self.tables.change::<true>(account, maker as u32, quantity);
        // The trade, and the maker's position, order margin and wallet.
        self.tables.told.tell::<4>(words);
    }
}

impl Variant for OnMarginFloor {
    type Input = Owned;

    fn fresh(workload: &Workload) -> OnMarginFloor {
        fn lines<T: Clone + Default>(len: usize, line: T) -> Vec<T> {
            let mut lines = Pages::Huge.reserved(0, len);
            lines.resize(len, line);
            lines
        }
        let line = Line([CREDIT; 8]);
        let accounts = workload.accounts as usize + 1;
        let orders = workload.preload.len().max(workload.mix.resting as usize);
        let tables = Tables {
            records: lines(accounts, [line; 2]),
            holdings: lines(accounts, [line; 3]),
            terms: lines(orders.next_power_of_two(), [line; 3]),
            told: Told::new(),
        };
        OnMarginFloor { floor: Floor::new(), tables, sum: FillSum::default() }
    }

    fn input(&mut self, workload: &Workload, op: &Op) -> Owned {
        Owned(*op, workload.owners[op.order as usize])
    }

    #[inline(always)]
    fn apply(&mut self, Owned(op, account): &Owned) {
        let OnMarginFloor { floor, tables, sum } = self;
        tables.told.start();
        let is_entry = matches!(op.kind, OpKind::New | OpKind::ImmediateOrCancel);
        if !is_entry && floor.open(op.order) == 0 {
            // Refused: its end alone.
            return tables.told.tell::<1>([0; 8]);
        }
        if op.kind == OpKind::New {
            *tables.owner(op.order) = u64::from(*account);
        }
        let mut trading = Trading { tables, sum, fills: 0 };
        floor.apply(op, &mut trading);
        let Trading { tables, fills, .. } = trading;
        let amount = u64::from(op.quantity);
        if fills != 0 {
            // Names, order, level, position, wallet, pools, end.
            let words = tables.change::<true>(*account, op.order, amount);
            return tables.told.tell::<7>(words);
        }
        let words = tables.change::<false>(*account, op.order, amount);
        match op.kind {
            // Names, order, its level, order margin, end; order, level, order margin, end; the change, two levels.
            OpKind::New => tables.told.tell::<5>(words),
            OpKind::Cancel | OpKind::ImmediateOrCancel => tables.told.tell::<4>(words),
            OpKind::Replace => tables.told.tell::<6>(words),
        }
    }

    fn wants_hints(&self) -> bool {
        true
    }

    #[inline(always)]
    fn hint(&self, Owned(op, account): &Owned, hint: Hint) {
        if hint == Hint::Second {
            self.floor.hint(op);
            let [holding, more, _] = &self.tables.holdings[*account as usize];
            prefetch(&self.tables.records[*account as usize]);
            prefetch(holding);
            prefetch(more);
        }
    }

    fn sum(&mut self) -> &mut FillSum {
        self.tables.told.keep();
        &mut self.sum
    }
}
