//! What answers and events look like: numbers, words, and one struct for each object, which is written and described by what is derived
//! from it.

pub mod account;
pub mod decimal;
pub mod futures;
pub mod name;
pub mod number;
pub mod schema;
mod words;
