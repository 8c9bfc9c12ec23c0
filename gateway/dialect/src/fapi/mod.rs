//! The spelling of the `/fapi` API: parameters into commands, views into JSON, refusals into codes.

pub mod algo;
pub mod encode;
pub mod fees;
pub mod margin;
pub mod order;
pub mod params;
pub mod place;
pub mod refusal;
pub mod reject;
pub mod text;
pub mod user;
pub mod words;
