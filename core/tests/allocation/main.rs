//! A warm engine takes no memory: a program of its own, because its allocator counts what a test asks for.
#![allow(clippy::unwrap_used)]

mod counting;
#[path = "../support/perpetual/flow.rs"]
mod flow;

mod perpetual;
mod spot;
