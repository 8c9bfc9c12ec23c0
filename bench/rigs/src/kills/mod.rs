//! The exchange killed with -9 again and again under load, and what must be true afterwards (failure model, row 1).
//!
//! - [`enter`]: how traders get in. [`trader`]: one account that places and cancels through the public API, and remembers every answer.
//! - [`audit`]: after a restart, whether the exchange still says what it had answered: every order, fill and balance.
//! - [`futures`], [`ledger`]: the same on the perpetual venue: an account that trades through `/fapi`, and the audit of its
//!   orders, fills, position and wallet. [`stream_keys`]: the keys of its user stream.
//! - [`mirror`]: an engine that is never stopped; it follows the journal, and its state must be the recovered one.
//!
//! Requests that were on the way when the exchange was killed are sent again under the same idempotency key, as a
//! trader's program would: each must have happened once, before the kill or now. `/fapi` has no such keys: there they are
//! looked up by their names first.

use anyhow::{Context, Result, bail};
use ringside_load::connection::Answer;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub mod audit;
pub mod enter;
pub mod futures;
pub mod ledger;
pub mod mirror;
pub mod stream_keys;
pub mod trader;

/// Runs a program of kills with `seed`, or one of the clock's; where it fails, says by which line (`again`) it is run again.
pub fn seeded(
    seed: Option<u64>,
    again: impl Fn(u64) -> String,
    run: impl AsyncFnOnce(u64) -> Result<()>,
) -> ExitCode {
    let seed = seed.unwrap_or_else(|| now().as_nanos() as u64);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime.context("no runtime").and_then(|runtime| runtime.block_on(run(seed)));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("FAILED: {error:#}");
            eprintln!("seed {seed}; again: {}", again(seed));
            ExitCode::FAILURE
        }
    }
}

/// Since the beginning of 1970.
pub fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

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

/// The status of an order that is to be looked up: a host of several has said that it has ended.
const DOUBTFUL: &str = "doubtful";

/// The header by which an answer names the sequence that it shows.
pub const SEQUENCE: &str = "x-ringside-sequence";

/// What every account starts with, whole units of both tokens.
pub const CREDIT: i128 = 1_000_000_000;

/// One whole unit of a token.
pub const UNIT: i128 = 10i128.pow(AMOUNT_DECIMALS);

/// Where an order stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Rests or waits, nothing traded.
    Open,
    /// Part traded.
    PartiallyFilled,
    /// Traded whole.
    Filled,
    /// Ended by its owner, or as a rest that may not stay.
    Canceled,
    /// Ended by a rule.
    Expired,
    /// Ended since it would have traded with its own account.
    ExpiredInMatch,
    /// Refused, and kept.
    Rejected,
}

impl Status {
    /// Whether it rests or waits.
    pub const fn is_open(self) -> bool {
        matches!(self, Status::Open | Status::PartiallyFilled)
    }
}

/// An order as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its number.
    pub order: u64,
    /// See there.
    pub status: Status,
    /// As ordered, or as changed since, 10^-8.
    pub quantity: i64,
    /// Executed so far, 10^-8.
    pub filled: i64,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was carried out, and this is how the order stood then.
    Told(Shown),
    /// A rule refused it; the sequence as of which, where the answer names one.
    Ruled(Option<u64>),
    /// Nothing was done, says the exchange, and why: it may be asked again.
    Refused(String),
    /// Nobody answers, or not what became of it.
    Lost,
}

impl Outcome {
    /// Whether there was an answer.
    ///
    /// Errors: a refusal, which an exchange that is alone and has room has no reason for.
    pub fn is_answered(&self) -> Result<bool> {
        match self {
            Outcome::Told(_) | Outcome::Ruled(_) => Ok(true),
            Outcome::Refused(why) => bail!("refused: {why}"),
            Outcome::Lost => Ok(false),
        }
    }
}

/// The sequence that an answer names.
fn named(answer: &Answer<'_>) -> Option<u64> {
    answer.header(SEQUENCE)?.parse().ok()
}
