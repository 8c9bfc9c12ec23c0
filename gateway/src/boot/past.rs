//! A past for a show: commands of before the exchange opens, in a journal that has none yet. Each bears the time it is told with, and
//! recovery replays them like any others: what is shown of them is history, not a table beside it.

use super::error::BootError;
use super::make_data_folder;
use super::stages::{engine_config, is_blank, persist_config, take_folder};
use ringside_commands::clock::Clock;
use ringside_config::Config;
use ringside_core::Engine;
use ringside_core::agent::Agent;
use ringside_core::command::Command;
use ringside_core::event::{Done, Event};
use ringside_core::gate::Gate;
use ringside_core::reject::Reject;
use ringside_core::ring::{self, Mapping, Options, Producer, Wait};
use ringside_persist::recover::recovery::recover_in;
use ringside_persist::storage::disk::Disk;
use ringside_persist::write::journal::Journaller;
use std::sync::Arc;

/// Slots of the ring before the journal.
const SLOTS: usize = 1 << 12;

/// A journal that is being founded.
pub struct Past {
    engine: Engine,
    producer: Producer<Command>,
    journaller: Journaller,
    gate: Arc<Gate>,
    events: Vec<Event>,
}

impl Past {
    /// Founds the journal of a data folder at this time, UNIX nanoseconds. Nothing where there is one: its past is its own.
    pub fn found(config: &Config, begin_ns: i64) -> Result<Option<Past>, BootError> {
        make_data_folder(config)?;
        let taken = take_folder(config, &Clock::SYSTEM)?;
        let persist = persist_config(config, &Clock::manual(begin_ns / 1_000_000));
        if !is_blank(&persist.directory) {
            return Ok(None);
        }
        let disk = Disk::open(&persist.directory, persist.method(), persist.any_file_system)?;
        let recovered =
            recover_in::<Engine>(Arc::new(disk), taken, &persist, &engine_config(config), &mut ())?;
        let start = recovered.next_sequence;
        let options = Options { capacity: SLOTS, consumers: 1, start, wait: Wait::Park };
        let (producer, mut consumers) = ring::create(Mapping::anonymous(), options)?;
        let gate = Arc::new(Gate::new(start - 1));
        let consumer = consumers.pop().expect("one was asked for");
        let journaller = Journaller::invoked(recovered.journal, consumer, gate.clone())?;
        Ok(Some(Past { engine: recovered.engine, producer, journaller, gate, events: Vec::new() }))
    }

    /// Tells a command of this time, which may not be before that of the last; what the engine refuses it with.
    pub fn tell(&mut self, time_ns: i64, command: Command) -> Result<Option<Reject>, BootError> {
        let command = Command { sequence: self.engine.sequence() + 1, time_ns, ..command };
        while !self.producer.has_room(1) {
            self.work()?;
        }
        let published = self.producer.try_publish(&command);
        debug_assert_eq!(published, Ok(command.sequence));
        self.events.clear();
        self.engine.apply(&command, &mut self.events);
        let done = self.events.iter().rev().find_map(|event| event.get::<Done>());
        Ok(done.and_then(Done::rejected))
    }

    /// Waits until all of it is durable, and lets the folder go.
    pub fn close(mut self) -> Result<(), BootError> {
        while self.gate.durable() < self.engine.sequence() {
            self.work()?;
        }
        self.journaller.close();
        Ok(())
    }

    fn work(&mut self) -> Result<(), BootError> {
        self.journaller.do_work();
        match self.journaller.status().take_failure() {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}
