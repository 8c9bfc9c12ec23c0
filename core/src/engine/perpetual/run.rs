//! Runs an order that passed its checks: it trades, then rests or ends.

use super::judge::Terms;
use super::orders::place_of;
use super::settle::{Arriving, PerpetualMatch, reason};
use crate::command::{PerpetualOrderType, PerpetualStatus, SelfTradePrevention, Side};
use crate::event::Execution;
use crate::ids::{AccountId, MarketId, OrderId};
use crate::matching::{Ending, Taker, sweep};
use crate::money::{Price, Quantity};
use crate::perpetual::Perpetual;
use crate::perpetual::order::Stage;

/// On whose behalf an order runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Owner,
    /// It closes for a scope in liquidation.
    Liquidation,
}

/// Terms of an order that runs.
#[derive(Clone, Copy)]
struct Arrived {
    id: OrderId,
    account: AccountId,
    market: MarketId,
    side: Side,
    order_type: PerpetualOrderType,
    is_immediate: bool,
    self_trade: SelfTradePrevention,
    open: Quantity,
}

impl Perpetual {
    /// Runs the order in a slot. Its events before the match are out already. One of a liquidation stays open: what the book does not
    /// take of it, others do.
    pub(crate) fn run(&mut self, slot: u32, terms: &Terms, role: Role) {
        let details = &mut self.state.details[slot as usize];
        details.stage = Stage::Running;
        details.reservation = terms.reservation;
        details.reserved_quantity = terms.reserved_quantity;
        // What is asked of it while it trades; not all of it, which is long.
        let details = Arrived {
            id: details.id,
            account: details.account,
            market: details.market,
            side: details.side,
            order_type: details.order_type,
            is_immediate: details.is_immediate(),
            self_trade: details.self_trade,
            open: details.quantity - details.filled,
        };
        let index = place_of(details.market);
        let mut stopped = None;
        let mut ending = None;
        let mut remaining = details.open;
        let limit = self.key(index, details.side, terms.limit);
        let meets = self.books[index].side(details.side.opposite()).best() <= limit;
        if meets && (self.state.symbols[index].matches() || role == Role::Liquidation) {
            let mut taker = Taker {
                order: details.id,
                account: details.account,
                side: details.side,
                limit,
                remaining,
                ending: None,
            };
            let band = self.state.symbols[index].dynamic_band(self.state.now_ms);
            let Perpetual { books, orders, state, .. } = self;
            let arriving = Arriving {
                slot,
                self_trade: details.self_trade,
                liquidates: role == Role::Liquidation,
                band: band.filter(|_| role != Role::Liquidation),
                stopped: None,
                group: state.accounts.get(details.account).group,
            };
            let mut matching = PerpetualMatch::new(state, index, arriving);
            sweep(&mut books[index], orders, &mut taker, &mut matching);
            stopped = matching.arriving.stopped;
            (remaining, ending) = (taker.remaining, taker.ending);
            self.finish_best(index, details.side.opposite());
        }
        if stopped.is_some_and(|why| why.get() == reason::BAND) {
            let binds = &mut self.state.symbols[index].binds_ms[details.side as usize & 1];
            if *binds == 0 {
                *binds = self.state.now_ms;
            }
        }
        if role == Role::Liquidation {
            return;
        }
        if remaining == 0 {
            return self.complete(slot);
        }
        if ending.is_none() && stopped.is_none() && self.is_remainder(index, slot, remaining) {
            return self.finish(slot);
        }
        let is_immediate = details.is_immediate;
        let (status, why) = match (ending, stopped) {
            (Some(Ending::SelfTrade), _) if is_immediate => {
                (PerpetualStatus::ExpiredInMatch, reason::IMMEDIATE_SELF_TRADE)
            }
            (Some(Ending::SelfTrade), _) => (PerpetualStatus::ExpiredInMatch, reason::SELF_TRADE),
            (_, Some(why)) => (PerpetualStatus::Expired, why.get()),
            _ if details.order_type == PerpetualOrderType::Market => {
                (PerpetualStatus::Expired, reason::MARKET)
            }
            _ if is_immediate => (PerpetualStatus::Expired, reason::IMMEDIATE),
            _ => return self.rest(slot, remaining),
        };
        self.end(slot, status, Execution::Expired, why);
    }

    /// The last key of the other side that an order with a limit price may trade at.
    fn key(&self, index: usize, side: Side, limit: Price) -> u64 {
        self.books[index].key(side.opposite(), limit)
    }
}
