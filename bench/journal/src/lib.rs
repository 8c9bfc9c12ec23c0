//! The parts of the benchmark `journal`: the journal as it runs, and what it is made of, each by itself.

pub mod disk;
pub mod encoding;
pub mod members;
pub mod near;
pub mod running;
pub mod stages;
