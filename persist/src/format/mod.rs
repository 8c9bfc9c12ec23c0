//! The bytes of a record and of a segment, and the sums in them.
//!
//! - [`checksum`]: the sums. [`record`]: one frame. [`segment`]: one file, its name and header. [`schema_1`]: what records had
//!   before.

pub mod checksum;
pub mod record;
pub mod schema_1;
pub mod segment;
