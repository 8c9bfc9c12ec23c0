//! What every handler of one worker thread shares.

use crate::clock::Clock;
use crate::config::Config;
use std::sync::Arc;

/// The context of one worker thread; handlers reach it through [`super::Call::worker`].
pub struct Worker {
    /// Settings of the process.
    pub config: Arc<Config>,
    /// The wall clock.
    pub clock: Clock,
}
