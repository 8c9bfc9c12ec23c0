//! A morning of the Shanghai Stock Exchange, 600519, 2023-02-07, through the engine's continuous trading.
//!
//! The engine holds no call auctions, so the opening is rebuilt: the orders entered before the single `UNCROSS` row,
//! less what the exchange's own printed auction fills took, are placed in their order of entry and must rest without
//! a trade. From there every input runs as it came:
//!
//! - every fill of every aggressor must be the exchange's: maker, order of makers, price, quantity;
//! - every cancel must find exactly the published remainder;
//! - every aggressor with a published remainder must rest it;
//! - every snapshot of the continuous phase must be a state the book passes through, in order, near its time: ten
//!   levels and the total quantity of each side.
//!
//! Translation: price in thousandths of a yuan and shares become the engine's 10^-8 steps; one account per 1,000 order
//! numbers, no self-trade rule, no fee. Not checked here: the auction's own price rule (the exchange's result is
//! taken), weighted average prices, and where an aggressor without remainder stops (see the set's README).

use crate::support::driver::Session;
use crate::support::{data, stream};
use ringside_core::command::{CancelOrder, PlaceOrder, SelfTradePrevention, Side, TimeInForce};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::{self, Trade};
use ringside_core::ids::{AccountId, MarketId, OrderId};
use ringside_core::money::UNIT;
use std::collections::BTreeMap;

/// Engine price steps of a thousandth of a yuan.
const MILLI: i64 = UNIT / 1000;
/// Accounts that the orders are spread over.
const ACCOUNTS: i64 = 40;

/// One row of `inputs`.
struct Input {
    n: i64,
    time_cs: i64,
    op: String,
    order_no: i64,
    side: Option<Side>,
    price: i64,
    quantity: i64,
    is_ioc: bool,
}

/// (maker order number, price, shares), as the exchange printed them.
type Fill = (i64, i64, i64);

#[test]
fn morning() {
    let Some(folder) = data::folder("sse-600519-20230207-am") else { return };
    let inputs = inputs(&data::text(&folder.join("inputs.csv.gz")));
    let mut fills: BTreeMap<i64, Vec<Fill>> = BTreeMap::new();
    let mut auction: BTreeMap<i64, i64> = BTreeMap::new();
    let uncross = inputs.iter().position(|input| input.op == "UNCROSS").expect("one auction");
    for row in data::rows(&data::text(&folder.join("expected_trades.csv.gz"))) {
        let [n, price, quantity, maker, taker] = row[..] else { panic!("{row:?}") };
        let (n, quantity) = (data::number(n), data::number(quantity));
        if n == inputs[uncross].n {
            *auction.entry(data::number(maker)).or_default() += quantity;
            *auction.entry(data::number(taker)).or_default() += quantity;
        } else {
            fills.entry(n).or_default().push((data::number(maker), data::number(price), quantity));
        }
    }
    let snapshots = snapshots(&data::text(&folder.join("snapshots.csv.gz")));

    let mut morning = Morning::new();
    morning.open(&inputs[..uncross], &auction);
    let mut met = 0;
    let (mut trades, mut aggressors, mut cancels, mut remainders) = (0, 0, 0, 0);
    let mut traded = Traded::of_auction(&auction, inputs[uncross].price);
    // The book as the auction left it is shown until trading begins.
    met += morning.meet(&snapshots[met..], &traded, inputs[uncross].time_cs, inputs[uncross + 1].time_cs);
    for (index, input) in inputs.iter().enumerate().skip(uncross + 1) {
        if input.op == "CANCEL" {
            morning.cancel(input);
            cancels += 1;
        } else {
            let expected = fills.remove(&input.n).unwrap_or_default();
            let rests = morning.enter(input, &expected);
            aggressors += usize::from(!expected.is_empty());
            remainders += usize::from(!expected.is_empty() && rests);
            trades += expected.len();
            traded.add(&expected);
        }
        let next = inputs.get(index + 1).map_or(i64::MAX, |input| input.time_cs);
        met += morning.meet(&snapshots[met..], &traded, input.time_cs, next);
    }
    assert!(fills.is_empty(), "fills of inputs that do not exist: {fills:?}");
    assert_eq!(
        (trades, aggressors, cancels, remainders),
        (11_203, 8_157, 8_712, 462),
        "the set's own counts"
    );
    let left = snapshots.get(met);
    assert_eq!(met, 2_450, "the book never was as snapshot {met} shows it: {left:?}");
    morning.session.engine.check_invariants().expect("invariants hold");
}

/// What the day's counters of the snapshots say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Traded {
    count: i64,
    shares: i64,
    /// Yuan x 10^5.
    turnover: i64,
}

impl Traded {
    fn of_auction(auction: &BTreeMap<i64, i64>, price: i64) -> Traded {
        let shares = auction.values().sum::<i64>() / 2;
        Traded { count: 334, shares, turnover: shares * price * 100 }
    }

    fn add(&mut self, fills: &[Fill]) {
        for &(_, price, shares) in fills {
            self.count += 1;
            self.shares += shares;
            self.turnover += price * shares * 100;
        }
    }
}

/// The engine's book of the morning.
struct Morning {
    session: Session<Engine>,
    market: MarketId,
    accounts: Vec<AccountId>,
    orders: BTreeMap<i64, OrderId>,
    numbers: BTreeMap<OrderId, i64>,
}

impl Morning {
    fn new() -> Morning {
        let mut session = Session::new(Engine::new(&EngineConfig::default()));
        let market = session.open_market("SH600519", "MOUTAI", "CNY");
        let accounts = (0..ACCOUNTS as u64)
            .map(|index| {
                session.credit(stream::address(index), "MOUTAI", i128::MAX / 100);
                session.credit(stream::address(index), "CNY", i128::MAX / 100)
            })
            .collect();
        Morning { session, market, accounts, orders: BTreeMap::new(), numbers: BTreeMap::new() }
    }

    fn account(&self, order_no: i64) -> AccountId {
        self.accounts[(order_no / 1000 % ACCOUNTS) as usize]
    }

    /// Places what the auction left.
    fn open(&mut self, inputs: &[Input], auction: &BTreeMap<i64, i64>) {
        let canceled: Vec<i64> =
            inputs.iter().filter(|input| input.op == "CANCEL").map(|input| input.order_no).collect();
        for input in inputs.iter().filter(|input| input.op == "NEW") {
            let left = input.quantity - auction.get(&input.order_no).copied().unwrap_or(0);
            assert!(left >= 0, "order {} filled beyond its quantity", input.order_no);
            if left > 0 && !canceled.contains(&input.order_no) {
                let rests = self.enter(&Input { quantity: left, op: "NEW".into(), ..*input }, &[]);
                assert!(rests, "row {}: the auction left a crossed book", input.n);
            }
        }
    }

    /// Places an order and compares its fills. Whether something of it rests.
    fn enter(&mut self, input: &Input, expected: &[Fill]) -> bool {
        let side = input.side.expect("an order has a side");
        let account = self.account(input.order_no);
        let mut place =
            PlaceOrder::limit(account, self.market, side, input.price * MILLI, input.quantity * UNIT);
        place.self_trade = SelfTradePrevention::None as u8;
        if input.is_ioc {
            place.time_in_force = TimeInForce::ImmediateOrCancel as u8;
        }
        let done = self.session.accept(place);
        assert!(self.orders.insert(input.order_no, done.order).is_none(), "order numbers are used once");
        self.numbers.insert(done.order, input.order_no);
        let fill =
            |trade: &Trade| (self.numbers[&trade.maker_order], trade.price / MILLI, trade.quantity / UNIT);
        let real: Vec<Fill> = self.session.told::<Trade>().map(fill).collect();
        assert_eq!(real, expected, "row {}", input.n);
        let order = self.session.told::<event::Order>().next().expect("one order");
        let shares: i64 = expected.iter().map(|fill| fill.2).sum();
        assert_eq!(order.filled, shares * UNIT, "row {}", input.n);
        assert_eq!(
            order.open,
            if input.is_ioc { 0 } else { (input.quantity - shares) * UNIT },
            "row {}",
            input.n
        );
        order.open > 0
    }

    fn cancel(&mut self, input: &Input) {
        let account = self.account(input.order_no);
        let order = self.orders[&input.order_no];
        self.session.accept(CancelOrder { account, reserved: 0, order });
        let order = self.session.told::<event::Order>().next().expect("one order");
        assert_eq!(order.quantity - order.filled, input.quantity * UNIT, "row {}: the remainder", input.n);
    }

    /// How many of the next snapshots the book now equals, near enough to their stamps: the book stands as it is from
    /// `from_cs` until `until_cs`. Stamps are whole seconds, and a state may be shown in the next one.
    fn meet(&self, snapshots: &[Snapshot], traded: &Traded, from_cs: i64, until_cs: i64) -> usize {
        let met = |snapshot: &&Snapshot| {
            snapshot.traded == *traded
                && seconds_of(until_cs) >= seconds(snapshot.time) - TOLERANCE_S
                && seconds_of(from_cs) <= seconds(snapshot.time) + TOLERANCE_S
                && *snapshot == &self.snapshot(snapshot.time, *traded)
        };
        snapshots.iter().take_while(met).count()
    }

    fn snapshot(&self, time: i64, traded: Traded) -> Snapshot {
        let side = |side: Side| {
            let levels = self.session.engine.depth(self.market, side, usize::MAX);
            let total = levels.iter().map(|level| level.1).sum::<i128>() / i128::from(UNIT);
            let level = |&(price, total): &(i64, i128)| (price / MILLI, (total / i128::from(UNIT)) as i64);
            let mut ten: Vec<(i64, i64)> = levels.iter().take(10).map(level).collect();
            ten.resize(10, (0, 0));
            (total as i64, ten)
        };
        let ((bid_total, bids), (ask_total, asks)) = (side(Side::Buy), side(Side::Sell));
        Snapshot { time, traded, bid_total, ask_total, bids, asks }
    }
}

/// Seconds that a snapshot's stamp may be off the moment it shows.
const TOLERANCE_S: i64 = 1;

/// A snapshot of the exchange.
#[derive(Debug, PartialEq, Eq)]
struct Snapshot {
    /// HHMMSS.
    time: i64,
    traded: Traded,
    bid_total: i64,
    ask_total: i64,
    bids: Vec<(i64, i64)>,
    asks: Vec<(i64, i64)>,
}

/// Seconds of the day of HHMMSS.
fn seconds(time: i64) -> i64 {
    time / 10_000 * 3600 + time / 100 % 100 * 60 + time % 100
}

/// Seconds of the day of HHMMSScc.
fn seconds_of(time_cs: i64) -> i64 {
    if time_cs == i64::MAX { i64::MAX } else { seconds(time_cs / 100) }
}

/// The snapshots of the continuous phase.
fn snapshots(text: &str) -> Vec<Snapshot> {
    data::rows(text)
        .filter(|row| row[1] == "2")
        .map(|row| {
            let field = |index: usize| data::number(row[index]);
            let levels = |first: usize| {
                let level = |index: usize| (field(first + 4 * index), field(first + 4 * index + 1));
                (0..10).map(level).collect()
            };
            Snapshot {
                time: field(0),
                traded: Traded { count: field(2), shares: field(3), turnover: field(4) },
                bid_total: field(10),
                ask_total: field(12),
                bids: levels(14),
                asks: levels(16),
            }
        })
        .collect()
}

fn inputs(text: &str) -> Vec<Input> {
    data::rows(text)
        .map(|row| {
            let [n, time_cs, op, order_no, side, price, quantity, tif] = row[..] else { panic!("{row:?}") };
            Input {
                n: data::number(n),
                time_cs: data::number(time_cs),
                op: op.into(),
                order_no: data::number(order_no),
                side: match side {
                    "B" => Some(Side::Buy),
                    "S" => Some(Side::Sell),
                    _ => None,
                },
                price: data::number(price),
                quantity: data::number(quantity),
                is_ioc: tif == "IOC",
            }
        })
        .collect()
}
