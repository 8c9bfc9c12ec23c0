//! What an account's histories say, kept from events alone: property 8a of `risk.md` 21. Fills with their signs sum to the
//! position, what its orders have executed as well, and the profits of fills, with what was taken out of a position's profit, to
//! what it has realised. A trade is of an order of its account, market and side that is open.

use ringside_core::command::{PerpetualStatus, Side};
use ringside_core::event::{self, Event, PostingReason, TradeCause};
use std::collections::{BTreeMap, BTreeSet};

type Holder = (u32, u32);

#[derive(Clone, Copy, Default)]
struct Order {
    holder: Holder,
    side: u8,
    filled: i128,
    value: i128,
    is_over: bool,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    fills: i128,
    realised: i128,
    position: i128,
    told: i128,
}

/// See the module. From genesis on.
#[derive(Default)]
pub struct Histories {
    orders: BTreeMap<u64, Order>,
    holders: BTreeMap<Holder, Sums>,
    touched: BTreeSet<Holder>,
    /// Last trade of each market.
    trades: BTreeMap<u32, u64>,
    /// Trades by cause.
    pub causes: [u64; 5],
}

impl Histories {
    /// Takes the events of a command.
    pub fn take(&mut self, events: &[Event]) -> Result<(), String> {
        for event in events {
            self.event(event).map_err(|fault| format!("8a: {fault}: {event:?}"))?;
        }
        for holder in std::mem::take(&mut self.touched) {
            let Sums { fills, realised, position, told } = self.holders[&holder];
            if fills != position || realised != told {
                return Err(format!(
                    "8a: {holder:?} holds {position}, its fills come to {fills}; they realised {realised}, told {told}"
                ));
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &Event) -> Result<(), String> {
        if let Some(told) = event.get::<event::PerpetualOrder>() {
            let holder = (told.account, told.market);
            let known = self.orders.entry(told.order).or_insert(Order {
                holder,
                side: told.side,
                ..Order::default()
            });
            if known.is_over || (known.filled, known.value) != (told.filled.into(), told.value.into()) {
                return Err(format!("an order that is over, or executed {} by its trades", known.filled));
            }
            known.is_over = told.status > PerpetualStatus::PartiallyFilled as u8;
        } else if let Some(trade) = event.get::<event::PerpetualTrade>() {
            self.trade(trade)?;
        } else if let Some(posting) = event.get::<event::Posting>() {
            if posting.reason == PostingReason::RealisedProfit as u8 {
                let holder = (posting.account, posting.market);
                self.holders.entry(holder).or_default().realised += i128::from(posting.amount);
                self.touched.insert(holder);
            }
        } else if let Some(position) = event.get::<event::PerpetualPosition>() {
            let holder = (position.account, position.market);
            let sums = self.holders.entry(holder).or_default();
            (sums.position, sums.told) = (position.quantity.into(), position.realised.into());
            self.touched.insert(holder);
        }
        Ok(())
    }

    fn trade(&mut self, trade: &event::PerpetualTrade) -> Result<(), String> {
        let cause = TradeCause::from_code(trade.cause).ok_or("no cause")?;
        self.causes[cause as usize] += 1;
        let last = self.trades.entry(trade.market).or_default();
        if trade.trade != *last + 1 {
            return Err(format!("the trade before was {last}"));
        }
        *last = trade.trade;
        let maker = (trade.maker_order, trade.maker_account, trade.taker_side ^ 1, trade.maker_realised, 1);
        let taker = (trade.taker_order, trade.taker_account, trade.taker_side, trade.taker_realised, 2);
        let sides = if cause == TradeCause::Settlement { vec![taker] } else { vec![maker, taker] };
        for (order, account, side, realised, bit) in sides {
            let holder = (account, trade.market);
            let known = self.orders.get_mut(&order).ok_or("an order that nobody told")?;
            if known.is_over || known.holder != holder || known.side != side {
                return Err("an order that is over, or somebody else's".into());
            }
            known.filled += i128::from(trade.quantity);
            known.value += i128::from(trade.value);
            known.is_over = trade.flags & bit != 0;
            let signed = if side == Side::Buy as u8 { trade.quantity } else { -trade.quantity };
            let sums = self.holders.entry(holder).or_default();
            sums.fills += i128::from(signed);
            sums.realised += i128::from(realised);
            self.touched.insert(holder);
        }
        Ok(())
    }

    /// The same over every order that there ever was.
    pub fn judge(&self) -> Result<(), String> {
        let mut executed: BTreeMap<Holder, i128> = BTreeMap::new();
        for order in self.orders.values() {
            let signed = if order.side == Side::Buy as u8 { order.filled } else { -order.filled };
            *executed.entry(order.holder).or_default() += signed;
        }
        for (holder, sums) in &self.holders {
            let executed = executed.get(holder).copied().unwrap_or(0);
            if (sums.fills, executed) != (sums.position, sums.position) {
                return Err(format!(
                    "8a: {holder:?} holds {}, its fills come to {}, its orders executed {executed}",
                    sums.position, sums.fills
                ));
            }
        }
        Ok(())
    }
}
