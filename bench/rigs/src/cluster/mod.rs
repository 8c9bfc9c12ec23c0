//! Three processes that agree, on loopback, under load from clients that know all three, and what must be true whatever happens to them.
//!
//! - [`hosts`]: the processes, and what can be done to them; [`relay`]: to their connections.
//! - [`field`]: where clients go, and what they write down: every call with its begin, its end and its answer.
//! - [`serial`]: the journal as the order in which it all happened, replayed by an engine that is never stopped.
//! - [`history`]: whether calls and that order agree, as pure data; [`plants`]: whether it would say so if they did not.

pub mod field;
pub mod history;
pub mod hosts;
pub mod plants;
pub mod relay;
pub mod serial;

/// Members.
pub const HOSTS: usize = 3;
