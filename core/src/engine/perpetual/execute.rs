//! Runs an order that passed its checks: it trades, then rests or ends.

use super::admission::Admission;
use super::commit::reason;
use super::orders::place_of;
use super::plan::{Arrival, Purpose};
use crate::book::side::EMPTY;
use crate::command::{PerpetualOrderType, PerpetualStatus};
use crate::event::Execution;
use crate::matching::{Ending, Taker};
use crate::money::Quantity;
use crate::perpetual::Perpetual;
use crate::perpetual::order::{Details, Stage};
use std::num::NonZeroU8;

/// On whose behalf an order runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Owner,
    /// It closes for a scope in liquidation.
    Liquidation,
}

impl Role {
    #[inline(always)]
    pub(super) fn liquidates(self) -> bool {
        self == Role::Liquidation
    }
}

/// What is left of an order that traded, whether it was stopped, and the `reason` for which it was, if that is one.
type Traded = (Quantity, Option<Ending>, Option<NonZeroU8>);

impl Perpetual {
    /// Runs the order in a slot. Its events before the match are out already. One of a liquidation stays open: what the book does not
    /// take of it, others do.
    pub(crate) fn execute(&mut self, slot: u32, admission: &Admission, role: Role) {
        let details = &mut self.state.details[slot as usize];
        details.stage = Stage::Running;
        details.reservation = admission.reservation;
        details.reserved_quantity = admission.reserved_quantity;
        let (index, side, open) = (place_of(details.market), details.side, details.quantity - details.filled);
        let (is_immediate, is_market) =
            (details.is_immediate(), details.order_type == PerpetualOrderType::Market);
        let trades = self.meets(index, side, admission.limit)
            && (role.liquidates() || self.state.symbols[index].matches());
        let (remaining, ending, stopped) =
            if trades { self.sweep(slot, open, admission, role) } else { (open, None, None) };
        if stopped.is_some_and(|why| why.get() == reason::BAND) {
            let binds = &mut self.state.symbols[index].binds_ms[side as usize & 1];
            if *binds == 0 {
                *binds = self.state.now_ms;
            }
        }
        if role.liquidates() {
            return;
        }
        if remaining == 0 {
            return self.complete(slot);
        }
        if ending.is_none() && stopped.is_none() && self.is_remainder(index, slot, remaining) {
            return self.finish(slot);
        }
        let (status, why) = match (ending, stopped) {
            (Some(Ending::SelfTrade), _) if is_immediate => {
                (PerpetualStatus::ExpiredInMatch, reason::IMMEDIATE_SELF_TRADE)
            }
            (Some(Ending::SelfTrade), _) => (PerpetualStatus::ExpiredInMatch, reason::SELF_TRADE),
            (_, Some(why)) => (PerpetualStatus::Expired, why.get()),
            _ if is_market => (PerpetualStatus::Expired, reason::MARKET),
            _ if is_immediate => (PerpetualStatus::Expired, reason::IMMEDIATE),
            _ => return self.rest(index, slot, remaining),
        };
        self.end(slot, status, Execution::Expired, why);
    }

    /// Trades the order in a slot, of which `open` is to trade and which meets the other side: it is planned, unless it was when it was
    /// judged, and committed, at once unless somebody it meets has to pay before.
    #[inline(never)]
    fn sweep(&mut self, slot: u32, open: Quantity, admission: &Admission, role: Role) -> Traded {
        let Admission { limit, mut is_planned, .. } = *admission;
        let Details { id, account, market, side, self_trade, .. } = self.state.details[slot as usize];
        let index = place_of(market);
        // How far it goes the plan says.
        let any = EMPTY - 1;
        let mut taker = Taker { order: id, account, side, limit: any, remaining: open, ending: None };
        let leverage = self.state.leverage(account, index);
        let stopped = loop {
            let open = taker.remaining;
            let arrival = Arrival { account, index, side, limit, open, leverage, self_trade, role };
            let behind =
                if std::mem::take(&mut is_planned) { None } else { self.plan(&arrival, Purpose::Commit) };
            let stopped = self.commit(index, slot, &mut taker, role);
            let Some(account) = behind else { break stopped };
            self.state.settle_first(account);
        };
        self.finish_best(index, side.opposite());
        (taker.remaining, taker.ending, stopped)
    }
}
