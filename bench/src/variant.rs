//! Ways of carrying out a workload, and the loops that time or count them: all the same, so that only the work differs.
//!
//! Instructions are turned into a variant's own input in chunks of [`CHUNK`] outside the timed sections, as they would
//! come out of a ring: recently written, in cache, and not one long array that memory bandwidth would limit.

use crate::callgrind;
use crate::floor::Floor;
use crate::op::{FillSum, Op, OpKind, TakesFills};
use crate::paid_floor::PaidFloor;
use crate::perpetual::PerpetualFlow;
use crate::report;
use crate::workload::{LOT, Stamper, TICK, Workload, level_of, price_of};
use hdrhistogram::Histogram;
use ringside_core::bare::BareBook;
use ringside_core::command::{Command, Side};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::{Event, Kind, Outbox, Payload, PerpetualTrade, Sink, Trade};
use ringside_core::ids::Sequence;
use ringside_core::memory::Pages;
use ringside_core::money::{Price, Quantity};
use ringside_core::prefetch::Hint;
use std::time::Instant;

/// Instructions converted, then timed, at a time.
pub const CHUNK: usize = 256;
/// How far ahead of the instruction being carried out the nearest hint is given; the other two at two and three times
/// that.
pub const LOOK_AHEAD: usize = 6;

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
    /// Whether hints are worth their time, asked before each chunk; timed.
    fn wants_hints(&self) -> bool;
    /// Told of an instruction that comes soon; timed.
    fn hint(&self, input: &Self::Input, hint: Hint);
    /// Fills so far.
    fn sum(&mut self) -> &mut FillSum;
}

/// One timed pass.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Time of each chunk, nanoseconds.
    pub chunks_ns: Vec<u64>,
    /// Its fills.
    pub fills: FillSum,
}

/// Nanoseconds per command over passes of the same workload: the sum over chunks of each chunk's median. Chunks do
/// the same work in every pass, so whatever else the machine did meanwhile falls out where it hit fewer than half the
/// passes of a chunk.
pub fn ns_per_command(passes: &[Pass], commands: usize) -> f64 {
    let chunks = passes.first().map_or(0, |pass| pass.chunks_ns.len());
    let sum: f64 = (0..chunks)
        .map(|chunk| {
            report::median(&passes.iter().map(|pass| pass.chunks_ns[chunk] as f64).collect::<Vec<_>>())
        })
        .sum();
    sum / commands.max(1) as f64
}

/// Carries out `workload` on a fresh `V` and times the whole.
pub fn timed<V: Variant>(workload: &Workload, look_ahead: bool) -> Pass {
    let mut variant = prepared::<V>(workload);
    let mut inputs = Vec::with_capacity(CHUNK);
    let mut chunks_ns = Vec::with_capacity(workload.ops.len() / CHUNK + 1);
    for chunk in workload.ops.chunks(CHUNK) {
        inputs.clear();
        inputs.extend(chunk.iter().map(|op| variant.input(workload, op)));
        let start = Instant::now();
        each(&mut variant, &inputs, look_ahead);
        chunks_ns.push(start.elapsed().as_nanos() as u64);
    }
    Pass { chunks_ns, fills: *variant.sum() }
}

/// Carries out a chunk: what is timed and counted.
#[inline(always)]
fn each<V: Variant>(variant: &mut V, inputs: &[V::Input], look_ahead: bool) {
    if look_ahead && variant.wants_hints() {
        for (index, input) in inputs.iter().enumerate() {
            hint_from(variant, inputs, index);
            variant.apply(input);
        }
    } else {
        for input in inputs {
            variant.apply(input);
        }
    }
}

#[inline(always)]
fn hint_from<V: Variant>(variant: &V, inputs: &[V::Input], index: usize) {
    let hint = |near, hint| {
        if let Some(soon) = inputs.get(index + near * LOOK_AHEAD) {
            variant.hint(soon, hint);
        }
    };
    hint(1, Hint::Third);
    hint(2, Hint::Second);
    hint(3, Hint::First);
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
        let wants_hints = look_ahead && variant.wants_hints();
        for (index, input) in inputs.iter().enumerate() {
            let start = Instant::now();
            if wants_hints {
                hint_from(&variant, &inputs, index);
            }
            variant.apply(input);
            latencies.saturating_record(start.elapsed().as_nanos() as u64);
        }
    }
    *variant.sum()
}

/// Carries out `workload` on a fresh `V` with look-ahead. Under callgrind, whose caches are empty at its first command, what
/// [`timed`] times is counted from command `warm_up` on; or, `by_kind`, what each kind costs by itself: the calls of [`KINDS`].
pub fn counted<V: Variant>(workload: &Workload, warm_up: usize, by_kind: bool) -> FillSum {
    let mut variant = prepared::<V>(workload);
    let mut inputs = Vec::with_capacity(CHUNK);
    let (before, ops) = workload.ops.split_at(warm_up);
    callgrind::simulate();
    for (ops, is_counted) in [(before, false), (ops, true)] {
        for chunk in ops.chunks(CHUNK) {
            inputs.clear();
            inputs.extend(chunk.iter().map(|op| variant.input(workload, op)));
            if is_counted {
                callgrind::toggle_counting();
            }
            if by_kind {
                each_by_kind(&mut variant, chunk, &inputs);
            } else {
                each(&mut variant, &inputs, true);
            }
            if is_counted {
                callgrind::toggle_counting();
            }
        }
    }
    *variant.sum()
}

/// Kinds of commands, and the functions that [`counted`] calls for them.
pub const KINDS: [(&str, OpKind, &str); 4] = [
    ("rests", OpKind::New, "counted_place_that_rests"),
    ("takes", OpKind::ImmediateOrCancel, "counted_place_that_takes"),
    ("cancel", OpKind::Cancel, "counted_cancel"),
    ("replace", OpKind::Replace, "counted_replace"),
];

fn each_by_kind<V: Variant>(variant: &mut V, ops: &[Op], inputs: &[V::Input]) {
    let wants_hints = variant.wants_hints();
    for (index, (op, input)) in ops.iter().zip(inputs).enumerate() {
        if wants_hints {
            hint_from(variant, inputs, index);
        }
        match op.kind {
            OpKind::New => counted_place_that_rests(variant, input),
            OpKind::ImmediateOrCancel => counted_place_that_takes(variant, input),
            OpKind::Cancel => counted_cancel(variant, input),
            OpKind::Replace => counted_replace(variant, input),
        }
    }
}

#[inline(never)]
fn counted_place_that_rests<V: Variant>(variant: &mut V, input: &V::Input) {
    callgrind::distinct::<0>();
    variant.apply(input);
}

#[inline(never)]
fn counted_place_that_takes<V: Variant>(variant: &mut V, input: &V::Input) {
    callgrind::distinct::<1>();
    variant.apply(input);
}

#[inline(never)]
fn counted_cancel<V: Variant>(variant: &mut V, input: &V::Input) {
    callgrind::distinct::<2>();
    variant.apply(input);
}

#[inline(never)]
fn counted_replace<V: Variant>(variant: &mut V, input: &V::Input) {
    callgrind::distinct::<3>();
    variant.apply(input);
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

    fn wants_hints(&self) -> bool {
        true
    }

    #[inline(always)]
    fn hint(&self, op: &Op, hint: Hint) {
        // All that it can know of an instruction it knows at once.
        if hint == Hint::Second {
            self.floor.hint(op);
        }
    }

    fn sum(&mut self) -> &mut FillSum {
        &mut self.sum
    }
}

/// The floor with the least that money and events can cost.
pub struct OnPaidFloor(PaidFloor);

impl Variant for OnPaidFloor {
    type Input = Op;

    fn fresh(workload: &Workload) -> OnPaidFloor {
        OnPaidFloor(PaidFloor::new(workload.accounts as usize + 1))
    }

    fn input(&mut self, _: &Workload, op: &Op) -> Op {
        *op
    }

    #[inline(always)]
    fn apply(&mut self, op: &Op) {
        self.0.apply(op);
    }

    fn wants_hints(&self) -> bool {
        true
    }

    #[inline(always)]
    fn hint(&self, op: &Op, hint: Hint) {
        if hint == Hint::Second {
            self.0.hint(op);
        }
    }

    fn sum(&mut self) -> &mut FillSum {
        self.0.sum()
    }
}

/// An instruction in the engine's units, for the book alone.
pub struct BookInput {
    order: u64,
    price: Price,
    quantity: Quantity,
    kind: OpKind,
    side: Side,
}

/// Our book and matching alone: no accounts, no money, no events, no checks.
pub struct OnBook {
    book: BareBook,
    sum: FillSum,
}

impl Variant for OnBook {
    type Input = BookInput;

    fn fresh(workload: &Workload) -> OnBook {
        OnBook { book: BareBook::new(TICK, orders_of(workload), Pages::Huge), sum: FillSum::default() }
    }

    fn input(&mut self, _: &Workload, op: &Op) -> BookInput {
        BookInput {
            order: u64::from(op.order),
            price: price_of(op.level),
            quantity: i64::from(op.quantity) * LOT,
            kind: op.kind,
            side: if op.is_buy { Side::Buy } else { Side::Sell },
        }
    }

    #[inline(always)]
    fn apply(&mut self, input: &BookInput) {
        let OnBook { book, sum } = self;
        let fill = |maker, taker, price, quantity: Quantity| {
            sum.fill(maker, taker, level_of(price), (quantity / LOT) as u64);
        };
        match input.kind {
            OpKind::New | OpKind::ImmediateOrCancel => {
                let rests = input.kind == OpKind::New;
                book.place(input.side, input.price, input.quantity, rests, fill);
            }
            OpKind::Cancel => {
                book.cancel(input.order);
            }
            OpKind::Replace => {
                book.replace(input.order, input.price, input.quantity, fill);
            }
        }
    }

    fn wants_hints(&self) -> bool {
        self.book.wants_hints()
    }

    #[inline(always)]
    fn hint(&self, input: &BookInput, hint: Hint) {
        if matches!(input.kind, OpKind::Cancel | OpKind::Replace) {
            self.book.prefetch_order(input.order, hint);
        } else if hint == Hint::Second {
            self.book.prefetch_price(input.side, input.price);
        }
    }

    fn sum(&mut self) -> &mut FillSum {
        &mut self.sum
    }
}

/// The whole engine: commands in; accounts, reservations, fees, self-trade rule; events into `E`.
pub struct OnEngine<E> {
    engine: Engine,
    stamper: Stamper,
    events: E,
}

/// Where a measured engine's events go, and the checksum of the trades among them.
pub trait Events: Sink + Default {
    /// Called before each command.
    fn clear(&mut self);
    /// Trades so far.
    fn sum(&mut self) -> &mut FillSum;
}

/// The core's outbox, as in production; each command uses it anew.
pub struct Kept {
    outbox: Outbox,
    sum: FillSum,
}

impl Default for Kept {
    fn default() -> Kept {
        Kept { outbox: Outbox::new(4_096), sum: FillSum::default() }
    }
}

impl Events for Kept {
    #[inline(always)]
    fn clear(&mut self) {
        self.outbox.clear();
    }

    fn sum(&mut self) -> &mut FillSum {
        &mut self.sum
    }
}

/// Nowhere: what is left is the work of the state.
#[derive(Default)]
pub struct Dropped {
    sum: FillSum,
}

impl Events for Dropped {
    #[inline(always)]
    fn clear(&mut self) {}

    fn sum(&mut self) -> &mut FillSum {
        &mut self.sum
    }
}

#[inline(always)]
fn count(sum: &mut FillSum, event: &Event) {
    if let Some(trade) = event.get::<Trade>() {
        let level = level_of(trade.price);
        sum.fill(trade.maker_order, trade.taker_order, level, (trade.quantity / LOT) as u64);
    }
}

impl Sink for Kept {
    #[inline(always)]
    fn event(&mut self, event: &Event) {
        self.outbox.event(event);
        count(&mut self.sum, event);
    }

    #[inline(always)]
    fn emit<P: Payload>(&mut self, sequence: Sequence, time_ns: i64, index: u32, payload: P) {
        self.outbox.emit(sequence, time_ns, index, payload);
        if is_trade::<P>()
            && let Some(event) = self.outbox.events().last()
        {
            count(&mut self.sum, event);
        }
    }

    #[inline(always)]
    fn places<const N: usize>(&mut self) -> Option<&mut [Event; N]> {
        self.outbox.places()
    }
}

impl Sink for Dropped {
    #[inline(always)]
    fn event(&mut self, event: &Event) {
        count(&mut self.sum, event);
    }

    #[inline(always)]
    fn emit<P: Payload>(&mut self, sequence: Sequence, time_ns: i64, index: u32, payload: P) {
        if is_trade::<P>() {
            self.event(&Event::new(sequence, time_ns, index, payload));
        }
    }
}

const fn is_trade<P: Payload>() -> bool {
    P::KIND as u16 == Kind::Trade as u16
}

impl<E: Events> Variant for OnEngine<E> {
    type Input = Command;

    fn fresh(workload: &Workload) -> OnEngine<E> {
        let config = EngineConfig {
            orders: orders_of(workload),
            accounts: workload.accounts as usize + 1,
            pages: Pages::Huge,
            ..EngineConfig::default()
        };
        let mut variant =
            OnEngine { engine: Engine::new(&config), stamper: Stamper::after(0), events: E::default() };
        for command in workload.setup() {
            let command = variant.stamper.stamp(command);
            variant.apply(&command);
        }
        variant
    }

    fn input(&mut self, workload: &Workload, op: &Op) -> Command {
        self.stamper.stamp(workload.command(op))
    }

    #[inline(always)]
    fn apply(&mut self, command: &Command) {
        self.events.clear();
        self.engine.apply(command, &mut self.events);
    }

    fn wants_hints(&self) -> bool {
        self.engine.wants_hints()
    }

    #[inline(always)]
    fn hint(&self, command: &Command, hint: Hint) {
        self.engine.prefetch(command, hint);
    }

    fn sum(&mut self) -> &mut FillSum {
        self.events.sum()
    }
}

/// The whole engine on a perpetual market: commands in; positions, margin, fees, tiers; events kept.
pub struct OnPerpetual {
    engine: Engine,
    stamper: Stamper,
    flow: PerpetualFlow,
    /// Replaces converted so far.
    replaces: usize,
    events: PerpetualEvents,
}

/// The core's outbox, and the checksum of the perpetual trades among the events.
struct PerpetualEvents {
    outbox: Outbox,
    /// While the outbox is lent: how many events were in it.
    lent_at: Option<usize>,
    sum: FillSum,
}

impl Sink for PerpetualEvents {
    #[inline(always)]
    fn exchange(&mut self, other: &mut Outbox) -> bool {
        let is_back = self.lent_at.take();
        if is_back.is_none() {
            self.lent_at = Some(self.outbox.events().len());
        }
        self.outbox.exchange(other);
        if let Some(before) = is_back {
            self.outbox.events()[before..].iter().for_each(|event| count_perpetual(&mut self.sum, event));
        }
        true
    }

    #[inline(always)]
    fn event(&mut self, event: &Event) {
        self.outbox.event(event);
        self.count();
    }

    #[inline(always)]
    fn batch(&mut self, events: &[Event]) {
        self.outbox.batch(events);
        events.iter().for_each(|event| count_perpetual(&mut self.sum, event));
    }

    #[inline(always)]
    fn emit<P: Payload>(&mut self, sequence: Sequence, time_ns: i64, index: u32, payload: P) {
        self.outbox.emit(sequence, time_ns, index, payload);
        if P::KIND as u16 == Kind::PerpetualTrade as u16 {
            self.count();
        }
    }

    #[inline(always)]
    fn places<const N: usize>(&mut self) -> Option<&mut [Event; N]> {
        self.outbox.places()
    }
}

impl PerpetualEvents {
    #[inline(always)]
    fn count(&mut self) {
        if let Some(event) = self.outbox.events().last() {
            count_perpetual(&mut self.sum, event);
        }
    }
}

#[inline(always)]
fn count_perpetual(sum: &mut FillSum, event: &Event) {
    if let Some(trade) = event.get::<PerpetualTrade>() {
        let level = level_of(trade.price);
        sum.fill(trade.maker_order, trade.taker_order, level, (trade.quantity / LOT) as u64);
    }
}

impl OnPerpetual {
    /// A fresh engine for a flow that [`PerpetualFlow::new`] made.
    pub fn start(flow: PerpetualFlow) -> OnPerpetual {
        let config = EngineConfig {
            orders: orders_of(&flow.workload),
            accounts: flow.workload.accounts as usize + 1,
            pages: Pages::Huge,
            ..EngineConfig::default()
        };
        let events = PerpetualEvents { outbox: Outbox::new(4_096), lent_at: None, sum: FillSum::default() };
        let setup = flow.setup();
        let engine = Engine::new(&config);
        let mut variant = OnPerpetual { engine, stamper: Stamper::after(0), flow, replaces: 0, events };
        for command in setup {
            let command = variant.stamper.stamp(command);
            variant.apply(&command);
        }
        variant
    }
}

impl Variant for OnPerpetual {
    type Input = Command;

    /// The flow is made again: what was executed of each replaced order is not part of a workload.
    fn fresh(workload: &Workload) -> OnPerpetual {
        OnPerpetual::start(PerpetualFlow::new(workload.clone()))
    }

    fn input(&mut self, _: &Workload, op: &Op) -> Command {
        self.stamper.stamp(self.flow.command(op, &mut self.replaces))
    }

    #[inline(always)]
    fn apply(&mut self, command: &Command) {
        self.events.outbox.clear();
        self.engine.apply(command, &mut self.events);
    }

    fn wants_hints(&self) -> bool {
        self.engine.wants_hints()
    }

    #[inline(always)]
    fn hint(&self, command: &Command, hint: Hint) {
        self.engine.prefetch(command, hint);
    }

    fn sum(&mut self) -> &mut FillSum {
        &mut self.events.sum
    }
}

/// Resting orders to take memory for: at start and at the end with a tenth to spare.
fn orders_of(workload: &Workload) -> usize {
    let most = workload.preload.len().max(workload.mix.resting as usize);
    most + most / 10 + 1_024
}
