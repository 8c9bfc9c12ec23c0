//! Open orders, and what of them has been executed (I-12).

use crate::command::PerpetualStatus;
use crate::engine::Engine;
use crate::event::{Execution, PerpetualOrder, PerpetualTrade, TradeCause};
use crate::ids::{AccountId, MarketId, OrderId};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, Default)]
struct Open {
    account: AccountId,
    market: MarketId,
    side: u8,
    quantity: i128,
    filled: i128,
    value: i128,
    open: i128,
}

/// See the module.
#[derive(Default)]
pub(super) struct OpenOrders {
    orders: BTreeMap<OrderId, Open>,
    /// Orders that the running command has executed, and that no event has ended since.
    touched: Vec<OrderId>,
}

impl OpenOrders {
    pub(super) fn of(engine: &Engine) -> OpenOrders {
        let orders = engine.perpetual_orders().map(|told| (told.order, open(&told))).collect();
        OpenOrders { orders, touched: Vec::new() }
    }

    pub(super) fn traded(&mut self, trade: &PerpetualTrade) -> Result<(), String> {
        // A settlement has nobody on its other side.
        let is_alone = trade.cause == TradeCause::Settlement as u8;
        let (maker, taker) = (trade.maker_account, trade.taker_account);
        for (order, account, is_filled) in [(trade.maker_order, maker, 1), (trade.taker_order, taker, 2)] {
            if is_alone && is_filled == 1 {
                continue;
            }
            let side = if is_filled == 2 { trade.taker_side } else { trade.taker_side ^ 1 };
            let known = self.orders.get_mut(&order).ok_or("an order that is not open trades")?;
            known.filled += i128::from(trade.quantity);
            known.value += i128::from(trade.value);
            known.open -= i128::from(trade.quantity);
            if (known.account, known.market, known.side) != (account, trade.market, side) {
                return Err("a trade of another account, market or side than its order".into());
            }
            if known.open < 0 || known.filled > known.quantity {
                return Err("an order trades more than it has".into());
            }
            if trade.flags & is_filled != 0 {
                if known.open != 0 {
                    return Err("a filled order has something left".into());
                }
                self.orders.remove(&order);
            } else {
                self.touched.push(order);
            }
        }
        Ok(())
    }

    pub(super) fn told(&mut self, told: &PerpetualOrder) -> Result<(), String> {
        let execution = Execution::from_code(told.execution).ok_or("an unknown execution")?;
        let now = open(told);
        if now.filled + now.open > now.quantity {
            return Err("executed and open are more than the order".into());
        }
        if execution == Execution::New {
            let is_known = self.orders.insert(told.order, now).is_some();
            return if now.filled != 0 || is_known { Err("an order that is not new".into()) } else { Ok(()) };
        }
        let known = self.orders.get(&told.order).ok_or("an order that is not open changes")?;
        if (known.filled, known.value) != (now.filled, now.value) {
            return Err(format!("its trades come to {} worth {}", known.filled, known.value));
        }
        let has_ended = told.status > PerpetualStatus::PartiallyFilled as u8;
        let goes_on_as_another = execution == Execution::Triggered && now.open == 0 && now.quantity > 0;
        if has_ended && now.open != 0 {
            return Err("an order that ended has something open".into());
        }
        if has_ended || goes_on_as_another {
            self.orders.remove(&told.order);
        } else {
            self.orders.insert(told.order, now);
        }
        Ok(())
    }

    /// The end of a command.
    pub(super) fn done(&mut self) -> Result<(), String> {
        for order in self.touched.drain(..) {
            if self.orders.get(&order).is_some_and(|known| known.open == 0) {
                return Err(format!("order {order} has nothing left, and no event has ended it"));
            }
        }
        Ok(())
    }
}

fn open(told: &PerpetualOrder) -> Open {
    Open {
        account: told.account,
        market: told.market,
        side: told.side,
        quantity: told.quantity.into(),
        filled: told.filled.into(),
        value: told.value.into(),
        open: told.open.into(),
    }
}
