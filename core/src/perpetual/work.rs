//! How much one command may do, and what it left over for the next (`risk.md` 19).
//!
//! A unit is a thing done, never a thing looked at: an order that ends, with those attached to it, or is shortened; a trigger that
//! fires, to the end of its order; a countdown; a connection whose grace is over; a position that pays funding, or is settled; the match
//! of an order of a liquidation or of the fund; a takeover; a counterparty that is deleveraged, with its orders; who is weighed for a
//! loss that is shared, or gives back of it; an account whose orders are ended where less than a changed lot is left of them; a warning;
//! an hour of an account that leaves a window of its volume; a lower tier that comes due; an account that a new table of tiers judges.
//! Every command has one for what it asks for itself.
//!
//! What is left over waits in the state: orders to be trimmed here, triggers in batches by market (`triggers.rs`), expiries in their
//! heaps, funding, settlement and remainders of a changed lot in their market, hours of volume in their queue, liquidations in the marks
//! of `liquidation_index.rs`, a loss that is shared with those who share it (`shortfall.rs`). Funding and settlement come before
//! liquidations: nobody is judged with an unpaid hour, or a position that has a price already, and no liquidation goes on before all are
//! done, nor before a loss that is shared is shared to the end. Hours of volume come last.

use super::{State, markets_in};
use crate::command::MarginMode;
use crate::ids::AccountId;
use crate::perpetual::account::Scope;
use std::ops::RangeInclusive;

/// Units of a command, unless a rule says otherwise.
pub(crate) const WORK_MAX: u32 = 256;
/// What a rule may say.
pub(crate) const WORK_MAX_RANGE: RangeInclusive<u32> = 8..=65_536;

/// See the module.
pub(crate) struct Work {
    /// Units of a command.
    pub(crate) most: u32,
    /// Those that the running command has left.
    pub(crate) left: u32,
    /// Markets and accounts whose orders are to be trimmed, ascending, and whether their positions became zero or turned.
    pub(crate) trims: Vec<(usize, AccountId, bool)>,
    /// Markets, a bit each, that have batches of triggers that are due.
    pub(crate) due: u128,
    /// Number of the next batch.
    pub(crate) batches: u64,
    /// A liquidation that goes on.
    pub(crate) paused: Option<Scope>,
    /// The last scan found somebody to be liquidated or warned, and had no unit for it.
    pub(crate) scan: bool,
    /// The same of the fund's own test.
    pub(crate) fund: bool,
    /// Markets, a bit each, whose watched prices moved since a scan left nobody over.
    pub(crate) stirred: u128,
    /// Markets, a bit each, whose funding is not paid to the end.
    pub(crate) unpaid: u128,
    /// Markets, a bit each, that close.
    pub(crate) closing: u128,
    /// Markets, a bit each, whose lot changed and whose accounts are not looked at to the end.
    pub(crate) odd: u128,
    /// Hours that have passed are not rolled to the end, or accounts not judged by a new table of tiers.
    pub(crate) rolls: bool,
    /// Until when, ms, dates and countdowns are to expire that had no unit; 0: none wait.
    pub(crate) dates_ms: i64,
}

impl Default for Work {
    fn default() -> Work {
        Work {
            most: WORK_MAX,
            left: 0,
            trims: Vec::with_capacity(1024),
            due: 0,
            batches: 0,
            paused: None,
            scan: false,
            fund: false,
            stirred: 0,
            unpaid: 0,
            closing: 0,
            odd: 0,
            rolls: false,
            dates_ms: 0,
        }
    }
}

impl Work {
    /// Whether positions have an hour to pay, or a market to leave.
    #[inline(always)]
    pub(crate) fn has_dues(&self) -> bool {
        (self.unpaid | self.closing) != 0
    }

    /// Takes a unit, if one is left.
    pub(crate) fn take(&mut self) -> bool {
        let is_left = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_left
    }
}

impl State {
    /// Whether a trigger is due that may run: in a market that does not match it waits until that does.
    #[inline(never)]
    fn has_due(&self) -> bool {
        markets_in(self.work.due)
            .any(|index| self.triggers[index].due_count > 0 && self.symbols[index].matches())
    }

    /// Whether anything before the fund's test waits that the next command can do.
    pub(crate) fn has_left_over(&self) -> bool {
        let work = &self.work;
        work.scan | work.paused.is_some() | ((work.unpaid | work.closing) != 0) | !work.trims.is_empty()
            || self.has_due()
    }

    /// Whether anything waits that the next command can do.
    #[inline(always)]
    pub(crate) fn has_backlog(&self) -> bool {
        let work = &self.work;
        (work.dates_ms != 0) | ((work.unpaid | work.closing | work.odd) != 0) | work.fund | work.rolls
            || work.scan
            || work.paused.is_some()
            || !work.trims.is_empty()
            || (work.due != 0 && self.has_due())
    }

    /// Whether orders that could match in a market must be refused: what its last move of a price brought about is not done.
    #[inline(always)]
    pub(crate) fn is_busy(&self, index: usize) -> bool {
        let work = &self.work;
        let has_work = work.scan | !work.trims.is_empty() | work.paused.is_some();
        self.triggers[index].due_count > 0 || (has_work && self.has_work_in(index))
    }

    /// Whether what is left over but triggers concerns a market.
    #[cold]
    fn has_work_in(&self, index: usize) -> bool {
        let work = &self.work;
        (work.scan && work.stirred >> index & 1 != 0)
            || work.trims.iter().any(|trim| trim.0 == index)
            || work.paused.is_some_and(|scope| match scope.isolated {
                Some(only) => only == index,
                None => {
                    self.holding(scope.account, index).quantity != 0
                        && self.mode(scope.account, index) == MarginMode::Cross
                }
            })
    }
}
