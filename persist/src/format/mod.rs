//! The bytes of a record and of a segment, and the sums in them.
//!
//! - [`checksum`]: the sums. [`record`]: one frame. [`segment`]: one file, its name and header.

pub mod checksum;
pub mod record;
pub mod segment;
