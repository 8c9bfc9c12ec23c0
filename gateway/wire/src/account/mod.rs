//! Objects of the routes that are about accounts, and of operators (`account.md`), as `futures/` has those of the perpetual venue, which
//! are theirs as well.
#![expect(missing_docs, reason = "the document shows what stands on a member, and most names say all")]

pub mod chain;
pub mod operator;
pub mod own;
pub mod proof;
pub mod venue;

use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Done {
    /// true
    pub ok: bool,
}

/// The answer where there is nothing to say.
pub const DONE: Done = Done { ok: true };

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Items<T> {
    pub items: Vec<T>,
}

// One of two that a change may be answered with.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum OrElse<A, B> {
    This(A),
    That(B),
}
