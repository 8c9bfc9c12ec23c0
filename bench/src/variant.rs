//! Ways of carrying out a workload, and the loops that time them: all the same, so that only the work differs.
//!
//! Instructions are turned into a variant's own input in chunks of [`CHUNK`] outside the timed sections, as they would
//! come out of a ring: recently written, in cache, and not one long array that memory bandwidth would limit.

use crate::floor::Floor;
use crate::op::{FillSum, Op};
use crate::report;
use crate::workload::Workload;
use hdrhistogram::Histogram;
use std::time::{Duration, Instant};

/// Instructions converted, then timed, at a time.
pub const CHUNK: usize = 256;
/// How far ahead of the instruction being carried out hints are given.
pub const LOOK_AHEAD: usize = 12;

/// One way of carrying out a workload.
pub trait Variant: Sized {
    /// What an instruction is to it.
    type Input;
    /// The state before the workload's preload.
    fn fresh(workload: &Workload) -> Self;
    /// Converts an instruction; not timed.
    fn input(&mut self, workload: &Workload, op: &Op) -> Self::Input;
    /// Carries it out; timed.
    fn apply(&mut self, input: &Self::Input);
    /// Told of an instruction that comes soon; timed.
    fn hint(&self, input: &Self::Input);
    /// Fills so far.
    fn sum(&mut self) -> &mut FillSum;
}

/// One timed pass.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Mean time of one instruction.
    pub ns_per_command: f64,
    /// Its fills.
    pub fills: FillSum,
}

/// Carries out `workload` on a fresh `V` and times the whole.
pub fn timed<V: Variant>(workload: &Workload, look_ahead: bool) -> Pass {
    let mut variant = prepared::<V>(workload);
    let mut inputs = Vec::with_capacity(CHUNK);
    let mut spent = Duration::ZERO;
    for chunk in workload.ops.chunks(CHUNK) {
        inputs.clear();
        inputs.extend(chunk.iter().map(|op| variant.input(workload, op)));
        let start = Instant::now();
        if look_ahead {
            for (index, input) in inputs.iter().enumerate() {
                if let Some(soon) = inputs.get(index + LOOK_AHEAD) {
                    variant.hint(soon);
                }
                variant.apply(input);
            }
        } else {
            for input in &inputs {
                variant.apply(input);
            }
        }
        spent += start.elapsed();
    }
    Pass { ns_per_command: spent.as_nanos() as f64 / workload.ops.len().max(1) as f64, fills: *variant.sum() }
}

/// Carries out `workload` on a fresh `V` and times every instruction into `latencies`, [`timer_cost_ns`] included.
pub fn timed_each<V: Variant>(
    workload: &Workload,
    look_ahead: bool,
    latencies: &mut Histogram<u64>,
) -> FillSum {
    let mut variant = prepared::<V>(workload);
    let mut inputs = Vec::with_capacity(CHUNK);
    for chunk in workload.ops.chunks(CHUNK) {
        inputs.clear();
        inputs.extend(chunk.iter().map(|op| variant.input(workload, op)));
        for (index, input) in inputs.iter().enumerate() {
            let start = Instant::now();
            if look_ahead && let Some(soon) = inputs.get(index + LOOK_AHEAD) {
                variant.hint(soon);
            }
            variant.apply(input);
            latencies.saturating_record(start.elapsed().as_nanos() as u64);
        }
    }
    *variant.sum()
}

/// Median of timing nothing.
pub fn timer_cost_ns() -> u64 {
    let mut costs = report::histogram();
    for _ in 0..100_000 {
        let start = Instant::now();
        costs.saturating_record(start.elapsed().as_nanos() as u64);
    }
    costs.value_at_quantile(0.5)
}

/// A fresh variant with the book built.
pub fn prepared<V: Variant>(workload: &Workload) -> V {
    let mut variant = V::fresh(workload);
    for op in &workload.preload {
        let input = variant.input(workload, op);
        variant.apply(&input);
    }
    *variant.sum() = FillSum::default();
    variant
}

/// The floor.
pub struct OnFloor {
    floor: Floor,
    sum: FillSum,
}

impl Variant for OnFloor {
    type Input = Op;

    fn fresh(_: &Workload) -> OnFloor {
        OnFloor { floor: Floor::new(), sum: FillSum::default() }
    }

    fn input(&mut self, _: &Workload, op: &Op) -> Op {
        *op
    }

    #[inline(always)]
    fn apply(&mut self, op: &Op) {
        self.floor.apply(op, &mut self.sum);
    }

    #[inline(always)]
    fn hint(&self, op: &Op) {
        self.floor.hint(op);
    }

    fn sum(&mut self) -> &mut FillSum {
        &mut self.sum
    }
}
