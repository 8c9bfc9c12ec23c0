//! The spelling of the `/fapi` API: parameters into commands, views into JSON, refusals into codes.

pub mod params;
pub mod refusal;
