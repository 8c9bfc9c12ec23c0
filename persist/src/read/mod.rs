//! Journals read back; nothing here writes.
//!
//! - [`survey`], [`replay`], [`tail`]: what lies in a directory; one segment read; where the journal ends, and why.
//! - [`verify`], [`look`]: whether all is sound; what any command did.

pub mod look;
pub mod replay;
pub mod survey;
pub mod tail;
pub mod verify;
