//! An engine that is never stopped, killed or loaded from a snapshot: it follows the journal from the first command.

use anyhow::{Context, Result, ensure};
use ringside_core::{Engine, EngineConfig};
use ringside_persist::config::Method;
use ringside_persist::error::PersistError;
use ringside_persist::format::segment::SegmentHeader;
use ringside_persist::read::survey::survey;
use ringside_persist::read::tail::walk;
use ringside_persist::storage::disk::Disk;
use std::path::{Path, PathBuf};

/// See the module.
pub struct Mirror {
    folder: PathBuf,
    engine: Engine,
}

impl Mirror {
    /// A mirror at the first command of the journal in `folder`.
    pub fn new(folder: &Path) -> Mirror {
        let config = EngineConfig { orders: 1 << 16, accounts: 64, ..EngineConfig::default() };
        Mirror { folder: folder.to_path_buf(), engine: Engine::new(&config) }
    }

    /// Applies what the journal holds up to `sequence`, or all of it; gives the hash of the state there.
    ///
    /// Errors: I/O, damage, a journal that ends before or no longer holds what comes next.
    pub fn follow(&mut self, sequence: Option<u64>) -> Result<[u8; 16]> {
        let disk = Disk::open(&self.folder, Method::Buffered, true)?;
        let survey = survey(&disk)?;
        let next = self.engine.sequence() + 1;
        // The last segment that begins at or before the next command.
        let from = (0..survey.segments.len()).rev().find(|index| survey.header(*index).first_seq <= next);
        let from = from.with_context(|| format!("the journal no longer holds command {next}"))?;
        let engine = &mut self.engine;
        walk(&disk, &survey, from, None, |_: &SegmentHeader, record| -> Result<(), PersistError> {
            let command = record.command();
            if command.sequence > engine.sequence() && command.sequence <= sequence.unwrap_or(u64::MAX) {
                engine.apply(&command, &mut ());
            }
            Ok(())
        })?;
        ensure!(
            sequence.is_none_or(|sequence| self.engine.sequence() == sequence),
            "the journal ends at {}, the exchange had recovered {sequence:?}",
            self.engine.sequence()
        );
        ensure!(self.engine.diverged().is_none(), "a recorded state hash is not the mirror's");
        self.engine.check_invariants().map_err(anyhow::Error::msg)?;
        Ok(self.engine.state_hash())
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }
}
