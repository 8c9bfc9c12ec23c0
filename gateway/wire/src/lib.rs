//! What answers and events look like: numbers, words, and one struct for each object, which is written and described by what is derived
//! from it.

pub mod access;
pub mod account;
pub mod address;
pub mod decimal;
pub mod fault;
pub mod form;
pub mod futures;
pub mod name;
pub mod number;
pub mod refusal;
pub mod schema;
pub mod spot;
pub mod uuid;
mod words;

/// Appends a value as JSON.
pub fn write<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    // Nothing here has keys that are no text, nor fails otherwise; a vector takes everything.
    let _ = serde_json::to_writer(out, value);
}
