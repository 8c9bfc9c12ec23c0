//! Seeded order flow for benchmarks, as compact [`Op`]s and as the same flow in [`Command`]s of the engine.
//!
//! Flow A keeps about 1,000 orders resting on about 260 levels, flow B 1,000,000 on 10,000. Both are 45 % new resting
//! orders, 40 % cancels, 5 % replaces and 10 % marketable immediate-or-cancel orders, which fill 1.4 makers on
//! average (recorded exchange flow: 1.2 to 1.4) and end half a maker each, so that the mix keeps the book's size; what
//! is left of drift is steered back by at most 2 % between new and cancel. New prices lie at a geometric distance from
//! the touch, in flow B half of them anywhere in the depth. Cancels and replaces pick any resting order evenly, which is
//! hard on caches: real flow cancels young orders. Accounts are drawn evenly over the given number and trade on
//! both sides; where an order would meet its own account another is drawn, so nothing is refused.
//!
//! This module measures nothing.

use crate::floor::{Floor, LEVELS, ORDERS};
use crate::op::{FillSum, Op, OpKind, Random};
use ringside_core::command::{
    CancelOrder, Command, Credit, ListMarket, MarketKind, PlaceOrder, ReplaceOrder, Side, TimeInForce,
};
use ringside_core::ids::{Address, padded};
use ringside_core::money::{AMOUNT_UNIT, FeeRate, Price, Quantity, UNIT};

/// Price step of the market that workloads run on.
pub const TICK: Price = UNIT / 100;
/// Quantity step of it.
pub const LOT: Quantity = UNIT / 100;
/// Level 0 stands for this price.
pub const FIRST_PRICE: Price = 100 * UNIT;
/// Fee of resting orders: five basis points.
pub const MAKER_FEE: FeeRate = 50_000;
/// Fee of arriving orders.
pub const TAKER_FEE: FeeRate = 100_000;
/// Every account starts with this much of both assets.
pub const CREDIT: i128 = 1_000_000_000_000 * AMOUNT_UNIT;

/// The price of a level.
pub const fn price_of(level: u32) -> Price {
    FIRST_PRICE + level as i64 * TICK
}

/// The level of a price that [`price_of`] gave.
pub const fn level_of(price: Price) -> u64 {
    ((price - FIRST_PRICE) / TICK) as u64
}

/// What a flow looks like.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Shown in reports.
    pub name: &'static str,
    /// Orders resting before the timed part and, steered, during it.
    pub resting: u32,
    /// Mean distance from the touch, in ticks.
    pub distance_mean: f64,
    /// Share of new orders anywhere in the depth instead.
    pub uniform_share: f64,
    /// Levels of one side that `uniform_share` spreads over.
    pub depth: u32,
    /// Accounts.
    pub accounts: u32,
}

impl Shape {
    /// Flow A: 1,000 resting orders, about 260 levels.
    pub fn a(accounts: u32) -> Shape {
        Shape { name: "A", resting: 1_000, distance_mean: 36.0, uniform_share: 0.0, depth: 1, accounts }
    }

    /// Flow B: 1,000,000 resting orders, 10,000 levels.
    pub fn b(accounts: u32) -> Shape {
        Shape {
            name: "B",
            resting: 1_000_000,
            distance_mean: 900.0,
            uniform_share: 0.5,
            depth: 5_000,
            accounts,
        }
    }
}

/// What a generated flow turned out to be.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mix {
    /// New orders that rest.
    pub new: u32,
    /// Cancels.
    pub cancel: u32,
    /// Replaces.
    pub replace: u32,
    /// Marketable orders.
    pub marketable: u32,
    /// Orders resting at the end.
    pub resting: u32,
    /// Levels at the end, both sides.
    pub levels: u32,
}

/// A flow: what builds the book, what is timed, and the fills it must make.
#[derive(Clone)]
pub struct Workload {
    /// Shown in reports.
    pub name: String,
    /// Accounts, ids 1 to this.
    pub accounts: u32,
    /// Instructions before the timed part.
    pub preload: Vec<Op>,
    /// The timed instructions.
    pub ops: Vec<Op>,
    /// Account of each order, by order id; entry 0 means nothing.
    pub owners: Vec<u32>,
    /// Fills of `ops` (those of `preload` not counted).
    pub expected: FillSum,
    /// What the timed part is made of.
    pub mix: Mix,
}

impl Workload {
    /// A flow of `count` timed instructions.
    pub fn generate(shape: &Shape, count: usize, seed: u64) -> Workload {
        let mut generator = Generator::new(shape, seed);
        let preload: Vec<Op> = (0..shape.resting).map(|_| generator.new_order()).collect();
        generator.sum = FillSum::default();
        let mut mix = Mix::default();
        let ops = (0..count)
            .map(|_| {
                let op = generator.step();
                match op.kind {
                    OpKind::New => mix.new += 1,
                    OpKind::Cancel => mix.cancel += 1,
                    OpKind::Replace => mix.replace += 1,
                    OpKind::ImmediateOrCancel => mix.marketable += 1,
                }
                op
            })
            .collect();
        mix.resting = generator.live.len() as u32;
        mix.levels = (generator.floor.depth(true).count() + generator.floor.depth(false).count()) as u32;
        Workload {
            name: shape.name.to_string(),
            accounts: shape.accounts,
            preload,
            ops,
            owners: generator.owners,
            expected: generator.sum,
            mix,
        }
    }

    /// Commands that bring a fresh engine to where `preload` can start: the market, then the accounts in order of
    /// their ids, credited with both assets.
    pub fn setup(&self) -> impl Iterator<Item = Command> + use<> {
        let list = Command::new(ListMarket {
            symbol: name("BENCH"),
            base: name("BASE"),
            quote: name("QUOTE"),
            tick: TICK,
            lot: LOT,
            min_notional: (AMOUNT_UNIT / 100).into(),
            maker_fee: MAKER_FEE,
            taker_fee: TAKER_FEE,
            max_open_orders: u32::MAX,
            kind: MarketKind::Spot as u8,
            reserved: [0; 3],
        });
        let credits = (1..=self.accounts).flat_map(|account| {
            ["BASE", "QUOTE"].map(|asset| {
                Command::new(Credit {
                    address: address_of(account),
                    asset: name(asset),
                    reserved: 0,
                    amount: CREDIT.into(),
                    reason: [0; 64],
                })
            })
        });
        std::iter::once(list).chain(credits)
    }

    /// The command of an instruction, not yet stamped.
    #[inline]
    pub fn command(&self, op: &Op) -> Command {
        let account = self.owners[op.order as usize];
        let order = u64::from(op.order);
        let side = if op.is_buy { Side::Buy } else { Side::Sell };
        let (price, quantity) = (price_of(op.level), i64::from(op.quantity) * LOT);
        match op.kind {
            OpKind::New => Command::new(PlaceOrder::limit(account, 0, side, price, quantity)),
            OpKind::ImmediateOrCancel => Command::new(PlaceOrder {
                time_in_force: TimeInForce::ImmediateOrCancel as u8,
                ..PlaceOrder::limit(account, 0, side, price, quantity)
            }),
            OpKind::Cancel => Command::new(CancelOrder { account, reserved: 0, order }),
            OpKind::Replace => Command::new(ReplaceOrder { account, reserved: 0, order, price, quantity }),
        }
    }

    /// Sets `owners` so that no order meets its own account: buys belong to odd accounts, sells to even ones.
    /// Needs at least two accounts.
    pub fn own_by_side(&mut self, seed: u64) {
        let mut random = Random::new(seed);
        let pairs = self.accounts / 2;
        assert!(pairs > 0, "two accounts are the least that can trade");
        let last = self.preload.iter().chain(&self.ops).map(|op| op.order).max().unwrap_or(0);
        self.owners = vec![0; last as usize + 1];
        for op in self.preload.iter().chain(&self.ops) {
            let owner = &mut self.owners[op.order as usize];
            if *owner == 0 {
                *owner = 1 + 2 * random.below(pairs) + u32::from(!op.is_buy);
            }
        }
    }
}

/// Gives commands the stamps that the matcher and a publisher would give.
#[derive(Clone, Debug)]
pub struct Stamper {
    sequence: u64,
    source_seq: u64,
}

impl Stamper {
    /// First stamp follows `sequence`, the engine's last.
    pub fn after(sequence: u64) -> Stamper {
        Stamper { sequence, source_seq: 0 }
    }

    /// Stamps the next command; time passes a microsecond a command.
    #[inline]
    pub fn stamp(&mut self, mut command: Command) -> Command {
        self.sequence += 1;
        self.source_seq += 1;
        command.sequence = self.sequence;
        command.time_ns = 1_700_000_000_000_000_000 + self.sequence as i64 * 1_000;
        command.source = 1;
        command.source_seq = self.source_seq;
        command
    }
}

/// The wallet of an account of a workload.
pub fn address_of(account: u32) -> Address {
    let mut address = [0xbe; 20];
    address[16..].copy_from_slice(&account.to_be_bytes());
    address
}

fn name<const N: usize>(text: &str) -> [u8; N] {
    padded(text).expect("names of workloads are shorter than their fields")
}

/// Makes a flow while it runs the floor, so that it knows what rests.
struct Generator<'a> {
    shape: &'a Shape,
    random: Random,
    floor: Floor,
    sum: FillSum,
    /// Ids that rest, in no order, and where each stands in there.
    live: Vec<u32>,
    places: Vec<u32>,
    owners: Vec<u32>,
    /// Side of each order by id.
    is_buy: Vec<bool>,
    buys: u32,
}

pub(crate) const CENTRE: u32 = LEVELS as u32 / 2;
const QUANTITY_MAX: u32 = 100;

impl Generator<'_> {
    fn new(shape: &Shape, seed: u64) -> Generator<'_> {
        Generator {
            shape,
            random: Random::new(seed),
            floor: Floor::new(),
            sum: FillSum::default(),
            live: Vec::new(),
            places: vec![0],
            owners: vec![0],
            is_buy: vec![false],
            buys: 0,
        }
    }

    fn step(&mut self) -> Op {
        let target = f64::from(self.shape.resting);
        // At most two percent moves from new to cancel or back.
        let steer = ((target - self.live.len() as f64) / target).clamp(-0.02, 0.02);
        let draw = self.random.unit();
        if draw < 0.45 + steer {
            self.new_order()
        } else if draw < 0.85 {
            self.cancel()
        } else if draw < 0.90 {
            self.replace()
        } else {
            self.marketable()
        }
    }

    fn new_order(&mut self) -> Op {
        // The thinner side is a little more likely, so neither runs empty.
        let sells = self.live.len() as f64 - f64::from(self.buys);
        let lean = (sells - f64::from(self.buys)) / f64::from(self.shape.resting.max(1));
        let is_buy = self.random.unit() < 0.5 + lean.clamp(-0.25, 0.25);
        let op = Op {
            order: self.owners.len() as u32,
            level: self.resting_level(is_buy),
            quantity: 1 + self.random.below(QUANTITY_MAX),
            kind: OpKind::New,
            is_buy,
        };
        assert!((op.order as usize) < ORDERS, "the floor has no room for more orders");
        let owner = 1 + self.random.below(self.shape.accounts);
        self.owners.push(owner);
        self.is_buy.push(is_buy);
        self.places.push(self.live.len() as u32);
        self.live.push(op.order);
        self.buys += u32::from(is_buy);
        self.apply(&op);
        op
    }

    fn cancel(&mut self) -> Op {
        let order = self.live[self.random.below(self.live.len() as u32) as usize];
        let is_buy = self.is_buy[order as usize];
        let op = Op { order, level: 0, quantity: 0, kind: OpKind::Cancel, is_buy };
        self.apply(&op);
        self.forget(order);
        op
    }

    fn replace(&mut self) -> Op {
        let order = self.live[self.random.below(self.live.len() as u32) as usize];
        let is_buy = self.is_buy[order as usize];
        let level = self.resting_level(is_buy);
        let quantity = 1 + self.random.below(QUANTITY_MAX);
        let op = Op { order, level, quantity, kind: OpKind::Replace, is_buy };
        self.apply(&op);
        op
    }

    /// An order that takes 1 to 5 makers from the front of the other side, nine times in ten only a part of the last,
    /// limited at that maker's price.
    fn marketable(&mut self) -> Op {
        // Leaning against the drift keeps prices inside the arrays.
        let drift = self.floor.best(true).map_or(0.0, |best| f64::from(best) - f64::from(CENTRE));
        let is_buy = self.random.unit() < 0.5 - (drift / 2_000.0).clamp(-0.4, 0.4);
        let makers = match self.random.below(100) {
            0..75 => 1,
            75..90 => 2,
            90..96 => 3,
            96..99 => 4,
            _ => 5,
        };
        let queue: Vec<(u32, u32, u32)> = self.floor.queue(!is_buy).take(makers).collect();
        let Some(&(level, _, last)) = queue.last() else { return self.new_order() };
        let whole: u32 = queue.iter().map(|maker| maker.2).sum();
        let left = if self.random.below(10) == 0 { 0 } else { self.random.below(last) };
        let op = Op {
            order: self.owners.len() as u32,
            level,
            quantity: whole - left,
            kind: OpKind::ImmediateOrCancel,
            is_buy,
        };
        let owner = loop {
            let owner = 1 + self.random.below(self.shape.accounts);
            if queue.iter().all(|maker| self.owners[maker.1 as usize] != owner) {
                break owner;
            }
        };
        self.owners.push(owner);
        self.is_buy.push(is_buy);
        self.places.push(0);
        self.apply(&op);
        for (_, maker, _) in queue {
            if self.floor.open(maker) == 0 {
                self.forget(maker);
            }
        }
        op
    }

    /// A level that does not cross.
    fn resting_level(&mut self, is_buy: bool) -> u32 {
        let distance = if self.random.unit() < self.shape.uniform_share {
            self.random.below(self.shape.depth)
        } else {
            self.random.geometric(self.shape.distance_mean).min(self.shape.depth.max(2_000) - 1)
        };
        if is_buy {
            self.floor.best(false).unwrap_or(CENTRE + 1) - 1 - distance
        } else {
            self.floor.best(true).unwrap_or(CENTRE) + 1 + distance
        }
    }

    fn apply(&mut self, op: &Op) {
        let before = self.sum.fills;
        self.floor.apply(op, &mut self.sum);
        let is_marketable = op.kind == OpKind::ImmediateOrCancel;
        assert_eq!(self.sum.fills > before, is_marketable, "{op:?} must fill exactly if it is marketable");
    }

    fn forget(&mut self, order: u32) {
        let place = self.places[order as usize] as usize;
        self.live.swap_remove(place);
        if let Some(&moved) = self.live.get(place) {
            self.places[moved as usize] = place as u32;
        }
        self.buys -= u32::from(self.is_buy[order as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flow_a_is_as_described_and_repeatable() {
        let shape = Shape::a(1_000);
        let flow = Workload::generate(&shape, 200_000, 42);
        let again = Workload::generate(&shape, 200_000, 42);
        assert_eq!(flow.ops, again.ops);
        assert_eq!(flow.expected, again.expected);
        let Mix { new, cancel, replace, marketable, resting, levels } = flow.mix;
        let percent = |count: u32| f64::from(count) / 2_000.0;
        assert!((percent(new) - 45.0).abs() < 1.0, "{:?}", flow.mix);
        assert!((percent(cancel) - 40.0).abs() < 1.0, "{:?}", flow.mix);
        assert!((percent(replace) - 5.0).abs() < 0.5, "{:?}", flow.mix);
        assert!((percent(marketable) - 10.0).abs() < 0.5, "{:?}", flow.mix);
        assert!((950..=1_050).contains(&resting), "{:?}", flow.mix);
        assert!((230..=290).contains(&levels), "{:?}", flow.mix);
        assert_eq!(flow.preload.len(), 1_000);
    }

    #[test]
    fn no_order_meets_its_own_account() {
        let flow = Workload::generate(&Shape::a(7), 50_000, 1);
        let mut floor = Floor::new();
        for op in flow.preload.iter().chain(&flow.ops) {
            if op.kind == OpKind::ImmediateOrCancel {
                let makers: Vec<_> = floor.queue(!op.is_buy).take(5).collect();
                let mut open = op.quantity;
                for (_, maker, resting) in makers {
                    if open > 0 {
                        assert_ne!(flow.owners[maker as usize], flow.owners[op.order as usize]);
                        open = open.saturating_sub(resting);
                    }
                }
            }
            floor.apply(op, &mut FillSum::default());
        }
    }
}
