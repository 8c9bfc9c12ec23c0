//! How commands reach the engine: the clock that stamps and measures, and the way in, by which a thread hands commands to its ring
//! and is told what came of them.

pub mod clock;
pub mod ingress;
