//! Bitstamp, BTC/USD, the first hours of 2015-05-01: orders that come and go, nearly all without trading.
//!
//! The recording says little of exact fills (events are missing and out of order), so it is used as flow: what is created is
//! placed as a limit order, what is deleted with something left is canceled. The fills that must come of it are those of an
//! obvious book that is kept here, by price and time; the engine has no part in it. Quantities are whole hundred-millionths.

use super::script::{OrderPlan, Script};
use ringside_bench::data::{DataError, read};
use ringside_load::decimal::parse_decimal;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, VecDeque};

const SET: &str = "bitstamp-btcusd-20150501-am";
const FILE: &str = "events.log.zst";
/// Decimals of a recorded amount.
const AMOUNT_DECIMALS: u32 = 8;

/// One side: the orders of a level in order of time, with what is left of each. The best price comes first.
type Side = BTreeMap<Reverse<i64>, VecDeque<(u32, i64)>>;

/// Both sides, sells under their negated price so that the best of either comes first.
#[derive(Default)]
struct Book {
    sides: [Side; 2],
    /// Level of each order that rests.
    resting: HashMap<u32, (usize, Reverse<i64>)>,
}

impl Book {
    /// Takes from the other side what `plan` reaches: makers with what each gives. `plan` is `order` from now on, and rests.
    fn place(&mut self, order: u32, plan: OrderPlan) -> Vec<(u32, i64)> {
        let (own, other) = if plan.is_buy { (0, 1) } else { (1, 0) };
        let (mut left, mut fills) = (plan.quantity, Vec::new());
        while left > 0
            && let Some(mut level) = self.sides[other].first_entry()
        {
            let best = level.key().0.abs();
            if (plan.is_buy && best > plan.price) || (!plan.is_buy && best < plan.price) {
                break;
            }
            while left > 0
                && let Some((maker, open)) = level.get_mut().front_mut()
            {
                let quantity = left.min(*open);
                fills.push((*maker, quantity));
                (left, *open) = (left - quantity, *open - quantity);
                if *open == 0 {
                    self.resting.remove(maker);
                    level.get_mut().pop_front();
                }
            }
            if level.get().is_empty() {
                level.remove();
            }
        }
        if left > 0 {
            let level = Reverse(if plan.is_buy { plan.price } else { -plan.price });
            self.sides[own].entry(level).or_default().push_back((order, left));
            self.resting.insert(order, (own, level));
        }
        fills
    }

    /// Takes an order out; what was left of it, 0 when it does not rest.
    fn cancel(&mut self, order: u32) -> i64 {
        let Some((side, level)) = self.resting.remove(&order) else { return 0 };
        let Some(orders) = self.sides[side].get_mut(&level) else { return 0 };
        let Some(at) = orders.iter().position(|(other, _)| *other == order) else { return 0 };
        let left = orders.remove(at).map_or(0, |(_, left)| left);
        if orders.is_empty() {
            self.sides[side].remove(&level);
        }
        left
    }
}

/// The session as requests with the fills of the obvious book.
pub fn load() -> Result<Script, DataError> {
    let text = read(SET, FILE)?;
    let mut script = Script {
        name: "Bitstamp BTC/USD, 2015-05-01".to_owned(),
        symbol: "BTCUSD".to_owned(),
        price_decimals: 2,
        tick: 1,
        ..Script::default()
    };
    let (mut book, mut orders, mut start_ms) = (Book::default(), HashMap::new(), None);
    for (row, line) in text.lines().enumerate() {
        let fault = |what| DataError::Row { file: FILE.to_owned(), row, what };
        let mut parts = line.splitn(3, ' ');
        let mut part = |what| parts.next().ok_or(fault(what));
        let time_ms: u64 = part("no time")?.parse().map_err(|_| fault("a time is a number"))?;
        let time_ns = time_ms.saturating_sub(*start_ms.get_or_insert(time_ms)) * 1_000_000;
        let kind = part("no kind")?;
        if !matches!(kind, "order_created" | "order_deleted") {
            continue;
        }
        let event: serde_json::Value =
            serde_json::from_str(part("no event")?).map_err(|_| fault("not JSON"))?;
        let id = event["id"].as_u64().ok_or(fault("no id"))?;
        let units = |name: &str, decimals| {
            let units = parse_decimal(event[name].as_str()?, decimals)?;
            i64::try_from(units).ok()
        };
        let quantity = units("amount", AMOUNT_DECIMALS).ok_or(fault("no amount"))?;
        if kind == "order_deleted" {
            // Nothing left: it was filled there; here it may rest, and stays.
            if quantity > 0
                && let Some(order) = orders.remove(&id)
            {
                let left = book.cancel(order);
                script.cancel(order, time_ns, row as u32, left);
            }
            continue;
        }
        let plan = OrderPlan {
            is_buy: event["order_type"] == 0,
            price: units("price", 2).ok_or(fault("no price"))?,
            quantity,
        };
        // Market orders are recorded with prices that no exchange would take.
        if quantity > 0 && (1..1_000_000).contains(&plan.price) {
            let order = script.orders.len() as u32;
            let fills = book.place(order, plan);
            script.place(plan, false, time_ns, row as u32, fills);
            orders.insert(id, order);
        }
    }
    Ok(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_obvious_book_takes_the_best_price_and_the_oldest_first() {
        let mut book = Book::default();
        let order = |is_buy, price, quantity| OrderPlan { is_buy, price, quantity };
        for (index, (price, quantity)) in [(103, 5), (101, 4), (101, 3), (102, 9)].into_iter().enumerate() {
            assert!(book.place(index as u32, order(false, price, quantity)).is_empty());
        }
        assert_eq!(book.cancel(3), 9);
        assert_eq!(book.place(4, order(true, 102, 6)), [(1, 4), (2, 2)]);
        assert_eq!(book.place(5, order(true, 200, 100)), [(2, 1), (0, 5)]);
        assert_eq!((book.cancel(5), book.cancel(5), book.cancel(2)), (94, 0, 0));
        assert!(book.place(6, order(false, 1, 1)).is_empty());
    }

    #[test]
    fn the_session_is_consistent() {
        let Ok(script) = load() else { return };
        assert!(
            script.steps.len() > 40_000 && script.fills.len() > 100,
            "{} {}",
            script.steps.len(),
            script.fills.len()
        );
        let mut book = super::super::script::ImpliedBook::new(&script);
        script.steps.iter().for_each(|step| book.apply(step));
    }
}
