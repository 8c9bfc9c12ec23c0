//! A recorded session as requests to an exchange and what must come of them.
//!
//! Expected fills come from the recording. Everything else that is checked (the book, open orders, what a cancel
//! finds) is implied by them: [`ImpliedBook`] books fills and cancels and never matches anything itself.

use ringside_load::decimal::decimal;
use std::collections::BTreeMap;
use std::ops::Range;

/// One limit order of the session. Prices and quantities are in the script's own whole units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderPlan {
    /// Its side.
    pub is_buy: bool,
    /// Its limit.
    pub price: i64,
    /// As placed, > 0.
    pub quantity: i64,
}

/// What a step asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Places the order; what is left rests.
    Place,
    /// Places the order; what is left ends.
    PlaceImmediate,
    /// Cancels the order.
    Cancel,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Step {
    /// What to do.
    pub action: Action,
    /// Index into [`Script::orders`].
    pub order: u32,
    /// When it was recorded, nanoseconds after the first.
    pub time_ns: u64,
    /// Row of the recording it belongs to.
    pub row: u32,
    /// Its fills: a range of [`Script::fills`].
    pub fills: Range<u32>,
    /// Quantity neither filled before nor by this step: of a place what rests or ends, of a cancel what it ends;
    /// 0 of a cancel that comes too late.
    pub left: i64,
}

/// One expected fill, at the maker's price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Resting order.
    pub maker: u32,
    /// Arriving order.
    pub taker: u32,
    /// How much.
    pub quantity: i64,
}

/// A book that the recording itself shows.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Steps done.
    pub after: usize,
    /// Best buys (price, total), as many as were published.
    pub bids: Vec<(i64, i64)>,
    /// Best sells.
    pub asks: Vec<(i64, i64)>,
}

/// A session.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Shown in reports.
    pub name: String,
    /// Name of the market.
    pub symbol: String,
    /// A price of 1 is this many decimal places below one quote unit.
    pub price_decimals: u32,
    /// Price step, in price units.
    pub tick: i64,
    /// A quantity of 1, which is the quantity step, is this many decimal places below one base unit.
    pub quantity_decimals: u32,
    /// Orders in order of their placing.
    pub orders: Vec<OrderPlan>,
    /// Requests in order.
    pub steps: Vec<Step>,
    /// Fills in order.
    pub fills: Vec<Fill>,
    /// Published books, ascending by `after`.
    pub checkpoints: Vec<Checkpoint>,
}

impl Script {
    /// Adds the placing of a new order with its fills `(maker, quantity)`, and returns its index.
    pub(super) fn place(
        &mut self,
        plan: OrderPlan,
        is_immediate: bool,
        time_ns: u64,
        row: u32,
        fills: impl IntoIterator<Item = (u32, i64)>,
    ) -> u32 {
        let order = self.orders.len() as u32;
        self.orders.push(plan);
        let start = self.fills.len() as u32;
        self.fills.extend(fills.into_iter().map(|(maker, quantity)| Fill { maker, taker: order, quantity }));
        let fills = start..self.fills.len() as u32;
        let filled: i64 = self.fills[start as usize..].iter().map(|fill| fill.quantity).sum();
        let action = if is_immediate { Action::PlaceImmediate } else { Action::Place };
        self.steps.push(Step { action, order, time_ns, row, fills, left: plan.quantity - filled });
        order
    }

    /// Adds the canceling of an order of which `left` is open, 0 if it has ended.
    pub(super) fn cancel(&mut self, order: u32, time_ns: u64, row: u32, left: i64) {
        let end = self.fills.len() as u32;
        self.steps.push(Step { action: Action::Cancel, order, time_ns, row, fills: end..end, left });
    }

    /// The fills of a step.
    pub fn fills_of(&self, step: &Step) -> &[Fill] {
        &self.fills[step.fills.start as usize..step.fills.end as usize]
    }

    /// The price of a fill.
    pub fn price_of(&self, fill: &Fill) -> i64 {
        self.orders[fill.maker as usize].price
    }

    /// Whether the outcome could depend on which of two steps comes first. Steps of which no two conflict may be
    /// sent at once; every fill, and the queue of every level, is then the same in each order of arrival:
    ///
    /// - steps of one order conflict;
    /// - two steps that trade conflict, so that trades come in the order of the script;
    /// - a place conflicts with a place or cancel of the other side at a price it could trade at;
    /// - two places of one side conflict at equal prices (their place in the queue), or where one trades at a price that
    ///   the other reaches as well;
    /// - cancels of different orders never conflict, nor does a cancel with a place of its own side.
    pub fn conflict(&self, first: &Step, second: &Step) -> bool {
        if first.order == second.order {
            return true;
        }
        let trades = |step: &Step| !step.fills.is_empty();
        if trades(first) && trades(second) {
            return true;
        }
        let (one, other) = (&self.orders[first.order as usize], &self.orders[second.order as usize]);
        let places = |step: &Step| step.action != Action::Cancel;
        if one.is_buy != other.is_buy {
            let (buy, sell) = if one.is_buy { (one, other) } else { (other, one) };
            return (places(first) || places(second)) && buy.price >= sell.price;
        }
        if !places(first) || !places(second) {
            return false;
        }
        if one.price == other.price {
            return true;
        }
        let reaches = |trading: &Step, limit: i64| {
            self.fills_of(trading).first().is_some_and(|fill| {
                let best = self.price_of(fill);
                if one.is_buy { limit >= best } else { limit <= best }
            })
        };
        reaches(first, other.price) || reaches(second, one.price)
    }

    /// `price` as text.
    pub fn price_text(&self, price: i64) -> String {
        decimal(price, self.price_decimals)
    }

    /// `quantity` as text.
    pub fn quantity_text(&self, quantity: i64) -> String {
        decimal(quantity, self.quantity_decimals)
    }

    /// Keeps the first `count` steps only.
    pub fn truncate(&mut self, count: usize) {
        if count < self.steps.len() {
            self.steps.truncate(count);
            let places = self.steps.iter().filter(|step| step.action != Action::Cancel).count();
            self.orders.truncate(places);
            self.fills.truncate(self.steps.last().map_or(0, |step| step.fills.end as usize));
            self.checkpoints.retain(|checkpoint| checkpoint.after <= count);
        }
    }
}

/// The book that follows from the expected fills and cancels.
#[derive(Clone)]
pub struct ImpliedBook<'a> {
    script: &'a Script,
    /// Open quantity of each order, 0 when it does not rest.
    pub open: Vec<i64>,
    /// Traded quantity of each order.
    pub filled: Vec<i64>,
    /// Totals by price: buys, sells.
    levels: [BTreeMap<i64, i64>; 2],
}

impl<'a> ImpliedBook<'a> {
    /// Before the first step.
    pub fn new(script: &'a Script) -> ImpliedBook<'a> {
        let orders = script.orders.len();
        ImpliedBook { script, open: vec![0; orders], filled: vec![0; orders], levels: Default::default() }
    }

    /// Books a step.
    ///
    /// # Panics
    /// When the expectation contradicts itself: a fill of more than a maker has, a cancel of another quantity than rests.
    pub fn apply(&mut self, step: &Step) {
        let script = self.script;
        for fill in script.fills_of(step) {
            self.shrink(fill.maker, fill.quantity);
            self.filled[fill.maker as usize] += fill.quantity;
            self.filled[fill.taker as usize] += fill.quantity;
        }
        match step.action {
            Action::Place => {
                let plan = &script.orders[step.order as usize];
                self.open[step.order as usize] = step.left;
                if step.left > 0 {
                    *self.levels[usize::from(!plan.is_buy)].entry(plan.price).or_default() += step.left;
                }
            }
            Action::PlaceImmediate => {}
            Action::Cancel => {
                let open = self.open[step.order as usize];
                assert_eq!(open, step.left, "row {}: a cancel finds another quantity", step.row);
                self.shrink(step.order, open);
            }
        }
    }

    fn shrink(&mut self, order: u32, quantity: i64) {
        let plan = &self.script.orders[order as usize];
        let open = &mut self.open[order as usize];
        assert!(*open >= quantity, "order {order} has {open} open, not {quantity}");
        *open -= quantity;
        if quantity > 0 {
            let levels = &mut self.levels[usize::from(!plan.is_buy)];
            let total = levels.get_mut(&plan.price).expect("an open order counts in its level");
            *total -= quantity;
            if *total == 0 {
                levels.remove(&plan.price);
            }
        }
    }

    /// Best levels of a side (price, total), best first.
    pub fn depth(&self, is_buy: bool, limit: usize) -> Vec<(i64, i64)> {
        let levels = self.levels[usize::from(!is_buy)].iter().map(|(&price, &total)| (price, total));
        if is_buy { levels.rev().take(limit).collect() } else { levels.take(limit).collect() }
    }

    /// Sum of a side's open quantities.
    pub fn total(&self, is_buy: bool) -> i64 {
        self.levels[usize::from(!is_buy)].values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringside_bench::floor::{Floor, LEVELS};
    use ringside_bench::op::{Op, OpKind, Random};

    /// Random flow; swapping neighbours that do not conflict, again and again, must change no fill and no book.
    #[test]
    fn steps_without_conflict_commute() {
        for seed in 1..=6 {
            let mut random = Random::new(seed);
            let script = random_script(&mut random, 2_000);
            let mut order: Vec<usize> = (0..script.steps.len()).collect();
            let mut swapped = 0;
            for _ in 0..40 * order.len() {
                let at = random.below(order.len() as u32 - 1) as usize;
                let (first, second) = (&script.steps[order[at]], &script.steps[order[at + 1]]);
                if !script.conflict(first, second) {
                    order.swap(at, at + 1);
                    swapped += 1;
                }
            }
            assert!(swapped > order.len(), "seed {seed}: too few swaps to tell, {swapped}");
            let mut floor = Floor::new();
            let mut fills = Vec::new();
            for &index in &order {
                let step = &script.steps[index];
                let plan = script.orders[step.order as usize];
                let before = fills.len();
                floor.apply(&op_of(step, &plan), &mut fills);
                let expected: Vec<_> = script
                    .fills_of(step)
                    .iter()
                    .map(|fill| {
                        (u64::from(fill.maker) + 1, script.price_of(fill) as u64, fill.quantity as u64)
                    })
                    .collect();
                let found: Vec<_> = fills[before..]
                    .iter()
                    .map(|&(maker, _, level, quantity)| (maker, level, quantity))
                    .collect();
                assert_eq!(found, expected, "seed {seed}, step {index}");
            }
            let mut implied = ImpliedBook::new(&script);
            script.steps.iter().for_each(|step| implied.apply(step));
            for is_buy in [true, false] {
                let depth: Vec<_> =
                    floor.depth(is_buy).map(|(price, total)| (i64::from(price), total as i64)).collect();
                assert_eq!(depth, implied.depth(is_buy, usize::MAX), "seed {seed}");
            }
        }
    }

    fn op_of(step: &Step, plan: &OrderPlan) -> Op {
        let kind = match step.action {
            Action::Place => OpKind::New,
            Action::PlaceImmediate => OpKind::ImmediateOrCancel,
            Action::Cancel => OpKind::Cancel,
        };
        Op {
            order: step.order + 1,
            level: plan.price as u32,
            quantity: plan.quantity as u32,
            kind,
            is_buy: plan.is_buy,
        }
    }

    fn random_script(random: &mut Random, count: usize) -> Script {
        let (mut script, mut floor) = (Script::default(), Floor::new());
        for row in 0..count as u32 {
            if random.below(5) < 2 && !script.orders.is_empty() {
                let order = random.below(script.orders.len() as u32);
                let plan = script.orders[order as usize];
                script.cancel(order, 0, row, i64::from(floor.open(order + 1)));
                let step = script.steps.last().expect("just pushed");
                floor.apply(&op_of(step, &plan), &mut Vec::new());
                continue;
            }
            let plan = OrderPlan {
                is_buy: random.below(2) == 0,
                price: i64::from(LEVELS as u32 / 2 + random.below(60)),
                quantity: 1 + i64::from(random.below(9)),
            };
            let is_immediate = random.below(6) == 0;
            let mut fills = Vec::new();
            let op = Op {
                order: script.orders.len() as u32 + 1,
                level: plan.price as u32,
                quantity: plan.quantity as u32,
                kind: if is_immediate { OpKind::ImmediateOrCancel } else { OpKind::New },
                is_buy: plan.is_buy,
            };
            floor.apply(&op, &mut fills);
            let fills = fills.iter().map(|&(maker, _, _, quantity)| (maker as u32 - 1, quantity as i64));
            script.place(plan, is_immediate, 0, row, fills);
        }
        script
    }
}
