//! What answers and events look like: numbers, words, and one struct for each object, which is written and described by what is derived
//! from it.

pub mod access;
pub mod account;
pub mod address;
pub mod decimal;
pub mod fault;
pub mod form;
pub mod futures;
mod json;
pub mod name;
pub mod number;
pub mod refusal;
pub mod schema;
pub mod spot;
pub mod uuid;
mod words;

pub use json::{to_vec, write};
