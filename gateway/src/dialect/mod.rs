//! Spellings: how each API writes what the engine and the views hold. Names core and views only; knows no socket, no
//! status type of an HTTP library and no runtime, so that every rule of spelling can be tested as a function of text.

pub mod account;
pub mod decimal;
pub mod fapi;
pub mod spot;
