//! The rings between the stages. All their memory is taken when they are made, which takes some ten milliseconds: a member of a cluster
//! makes them before it is elected.

use super::error::BootError;
use ringside_config::{Config, WaitKind};
use ringside_core::command::Command;
use ringside_core::event::Event;
use ringside_core::ids::Sequence;
use ringside_core::ring::{Consumer, Mapping, Options, Producer, Ring, RingError, Slot, Wait};
use ringside_edge::worker::Shared;

/// Rings of which no part was taken.
pub(super) struct Rings {
    pub(super) journal: Ring<Command>,
    pub(super) output: Ring<Event>,
    /// Of this process, then of other members.
    pub(super) inputs: Vec<Ring<Command>>,
}

impl Rings {
    /// For an exchange with so many inputs.
    ///
    /// Errors: there is no memory.
    pub(super) fn make(shared: &Shared, inputs: usize) -> Result<Rings, BootError> {
        let config = &shared.config;
        let options = |capacity| Options { capacity, consumers: 1, start: 1, wait: wait(config) };
        let input = |_| Ring::create(Mapping::anonymous(), options(config.input_ring_slots));
        Ok(Rings {
            journal: Ring::create(Mapping::anonymous(), options(config.journal_ring_slots))?,
            output: Ring::create(Mapping::anonymous(), options(config.output_ring_slots))?,
            inputs: (0..inputs).map(input).collect::<Result<_, RingError>>()?,
        })
    }
}

/// Both ends of a ring, from `start` on.
pub(super) fn ends<T: Slot>(ring: Ring<T>, start: Sequence) -> Result<(Producer<T>, Consumer<T>), BootError> {
    let ring = ring.beginning_at(start)?;
    Ok((ring.producer()?, ring.consumer(0)?))
}

pub(super) fn wait(config: &Config) -> Wait {
    match config.wait {
        WaitKind::Park => Wait::Park,
        WaitKind::Yield => Wait::Yield,
        WaitKind::Spin => Wait::Spin,
    }
}
