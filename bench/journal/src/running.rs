//! A journal that runs as in the exchange: producer, ring, journaller, its threads, gate.

use anyhow::{Context, Result, bail};
use ringside_bench::workload::{Shape, Stamper, Workload};
use ringside_core::agent::{Agent, Runner, Running};
use ringside_core::command::Command;
use ringside_core::engine::EngineConfig;
use ringside_core::gate::{Gate, GateMode};
use ringside_core::ring::{self, Mapping, Options, Producer, Wait, wait_any};
use ringside_persist::config::{Method, PersistConfig};
use ringside_persist::recover::recovery::recover;
use ringside_persist::write::journal::Journaller;
use ringside_persist::write::status::JournalStatus;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use zerocopy::FromZeros;

/// Slots of the journal ring: more than a batch holds.
pub const RING: usize = 1 << 14;
/// Commands stamped and published at a time.
const PIECE: usize = 256;
/// Commands that are published and not released at most: of more the exchange's output ring, as shipped, has no room for the events.
const AHEAD: u64 = 131_072;

/// A journal with its journaller on a thread.
pub struct Journalled {
    /// Where commands go in.
    pub producer: Producer<Command>,
    /// What is written and durable.
    pub gate: Arc<Gate>,
    /// Progress.
    pub status: Arc<JournalStatus>,
    /// The thread.
    pub running: Running,
}

impl Journalled {
    /// Founds it, and waits until its segments are allocated.
    ///
    /// Errors: whatever recovery, ring or thread refuse.
    pub fn new(config: &PersistConfig, wait: Wait) -> Result<Journalled> {
        let recovered = recover(config, &EngineConfig::default(), &mut ())?;
        let start = recovered.next_sequence;
        let (producer, mut consumers) =
            ring::create(Mapping::anonymous(), Options { capacity: RING, consumers: 1, start, wait })?;
        let gate = Arc::new(Gate::new(start - 1));
        let consumer = consumers.pop().context("one consumer was asked for")?;
        let journaller = Journaller::new(recovered.journal, consumer, gate.clone())?;
        Journalled::of(producer, gate, journaller, wait, config.spares)
    }

    /// With a journaller that is there, whose ring is waited at with `wait`.
    ///
    /// Errors: the system gives no thread.
    pub fn of(
        producer: Producer<Command>,
        gate: Arc<Gate>,
        journaller: Journaller,
        wait: Wait,
        spares: usize,
    ) -> Result<Journalled> {
        let status = journaller.status();
        let runner = Runner { name: "journaller".to_string(), wait, critical: true, ..Runner::default() };
        let running = runner.spawn(vec![Box::new(journaller) as Box<dyn Agent>])?;
        while status.spares() < spares as u64 {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Journalled { producer, gate, status, running })
    }

    /// Waits until `sequence` is released.
    ///
    /// Errors: the journal stopped.
    pub fn wait(&self, sequence: u64, mode: GateMode) -> Result<()> {
        while self.gate.released(mode) < sequence {
            if self.gate.is_halted() {
                bail!("the journal stopped: {:?}", self.status.take_failure());
            }
            let bell = [self.gate.doorbell()];
            let timeout = Some(Duration::from_millis(100));
            wait_any(bell.into_iter(), timeout, || self.gate.released(mode) >= sequence);
        }
        Ok(())
    }

    /// Publishes `count` commands, those given over and over, and waits until they are durable; gives the time.
    /// Stamps them where they are to lie, as the matcher does.
    ///
    /// Errors: the journal stopped.
    pub fn push(&mut self, commands: &[Command], count: usize) -> Result<Duration> {
        let start = Instant::now();
        let mut stamper = Stamper::after(self.producer.next_sequence() - 1);
        let mut source = commands.iter().cycle();
        let none = Command::new_zeroed();
        let mut left = count;
        while left > 0 {
            let next = self.producer.next_sequence();
            self.wait(next.saturating_sub(AHEAD), GateMode::Durable)?;
            let stamped = |_| stamper.stamp(*source.next().unwrap_or(&none));
            let taken = self.producer.try_publish_each(PIECE.min(left), stamped);
            left -= taken;
            if taken == 0 {
                if self.producer.is_halted() {
                    bail!("the journal stopped: {:?}", self.status.take_failure());
                }
                let bell = [self.producer.room_doorbell()];
                let timeout = Some(Duration::from_millis(100));
                wait_any(bell.iter(), timeout, || self.producer.free() > RING / 2);
            }
        }
        self.wait(self.producer.next_sequence() - 1, GateMode::Durable)?;
        Ok(start.elapsed())
    }
}

/// Commands of flow A as the matcher would stamp them after `sequence`.
pub fn commands(count: usize, seed: u64, sequence: u64) -> Vec<Command> {
    let workload = Workload::generate(&Shape::a(1_000), count.min(1_000_000), seed);
    let mut stamper = Stamper::after(sequence);
    let ops = workload.ops.iter().cycle().take(count);
    ops.map(|op| stamper.stamp(workload.command(op))).collect()
}

/// The settings of a journal in `folder`.
pub fn config(folder: &Path, method: Option<Method>, spares: usize) -> PersistConfig {
    PersistConfig { method, spares, opened_at_ns: 1, ..PersistConfig::new(folder) }
}
