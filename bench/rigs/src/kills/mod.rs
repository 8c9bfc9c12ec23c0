//! The exchange killed with -9 again and again under load, and what must be true afterwards (failure model, row 1).
//!
//! - [`trader`]: one account that places and cancels through the public API, and remembers every answer.
//! - [`audit`]: after a restart, whether the exchange still says what it had answered: every order, fill and balance.
//! - [`futures`], [`ledger`]: the same on the perpetual venue: an account that trades through `/fapi`, and the audit of its
//!   orders, fills, position and wallet. [`stream_keys`]: the keys of its user stream.
//! - [`mirror`]: an engine that is never stopped; it follows the journal, and its state must be the recovered one.
//!
//! Requests that were on the way when the exchange was killed are sent again under the same idempotency key, as a
//! trader's program would: each must have happened once, before the kill or now. `/fapi` has no such keys: there they are
//! looked up by their names first.

pub mod audit;
pub mod futures;
pub mod ledger;
pub mod mirror;
pub mod stream_keys;
pub mod trader;

/// Price step and quantity step have these decimals.
pub const PRICE_DECIMALS: u32 = 4;
/// See [`PRICE_DECIMALS`].
pub const QUANTITY_DECIMALS: u32 = 1;
/// Amounts of tokens.
pub const AMOUNT_DECIMALS: u32 = 18;

/// The market.
pub const SYMBOL: &str = "KILLS";
/// Basis points of resting orders.
pub const MAKER_FEE_BPS: u32 = 5;
/// Basis points of arriving orders.
pub const TAKER_FEE_BPS: u32 = 10;

/// What every account starts with, whole units of both tokens.
pub const CREDIT: i128 = 1_000_000_000;

/// One whole unit of a token.
pub const UNIT: i128 = 10i128.pow(AMOUNT_DECIMALS);
