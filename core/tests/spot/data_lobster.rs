//! An hour of NASDAQ, AAPL, 2012-06-21 (LOBSTER): 89,115 inputs, 4,038 expected fills of 3,277 aggressors, and the
//! best bid and offer after every input that changes it.
//!
//! Translation: dollars x 10,000 and shares become the engine's 10^-8 steps; orders are spread over accounts without a
//! self-trade rule or fee. `NEW` is a limit order, `IOC` an immediate-or-cancel one, `CANCEL` a cancel. `REDUCE` takes
//! shares from an order that keeps its place: an amend, or a cancel when nothing is left. `FORCED` takes shares out
//! of an order without a match (29 rows, where the exchange knew what the file does not): done the same way.
//! Checked after every one of the inputs: the fills, or that there is none, and the best bid and offer with size, or
//! that it is as before (not within a run of `FORCED` rows of one time stamp, which is one message). No input may be
//! refused.

use crate::support::driver::Session;
use crate::support::{data, stream};
use ringside_core::command::{AmendOrder, CancelOrder, PlaceOrder, SelfTradePrevention, Side, TimeInForce};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::{self, Trade};
use ringside_core::ids::{AccountId, MarketId, OrderId};
use ringside_core::money::UNIT;
use std::collections::BTreeMap;

/// Engine price steps of a ten-thousandth of a dollar.
const STEP: i64 = UNIT / 10_000;
const ACCOUNTS: u64 = 25;

/// Ask price, ask size, bid price, bid size; 0 where a side is empty.
type Best = [i64; 4];

#[test]
fn aapl_hour() {
    let Some(folder) = data::folder("lobster-nasdaq-20120621") else { return };
    let mut fills: BTreeMap<i64, Vec<[i64; 3]>> = BTreeMap::new();
    for row in data::rows(&data::text(&folder.join("AAPL_expected_trades.csv.gz"))) {
        let [n, maker, price, quantity] = row[..] else { panic!("{row:?}") };
        let fill = [maker, price, quantity].map(data::number);
        fills.entry(data::number(n)).or_default().push(fill);
    }
    let mut bests: BTreeMap<i64, Best> = BTreeMap::new();
    for row in data::rows(&data::text(&folder.join("AAPL_expected_bbo.csv.gz"))) {
        let [n, best @ ..] = &row[..] else { panic!("{row:?}") };
        bests.insert(data::number(n), std::array::from_fn(|index| data::number(best[index])));
    }
    let (fill_count, best_count) = (fills.values().map(Vec::len).sum::<usize>(), bests.len());
    assert_eq!((fill_count, fills.len(), best_count), (4_038, 3_277, 22_679), "the set's own counts");

    let mut hour = Hour::new();
    let mut best = [0; 4];
    let mut count = 0;
    let inputs = data::text(&folder.join("AAPL_inputs.csv.gz"));
    let mut rows = data::rows(&inputs).peekable();
    while let Some(row) = rows.next() {
        let [n, time, op, order, side, price, quantity, new_order] = row[..] else { panic!("{row:?}") };
        assert_eq!(new_order, "", "no input of this hour replaces an order");
        let [n, order, price, quantity] = [n, order, price, quantity].map(data::number);
        match op {
            "NEW" => hour.enter(order, side, price, quantity, false),
            "IOC" => hour.enter(order, side, price, quantity, true),
            "CANCEL" => hour.reduce(order, None),
            "REDUCE" | "FORCED" => hour.reduce(order, Some(quantity)),
            _ => panic!("row {n}: {op}"),
        }
        let fills = fills.remove(&n).unwrap_or_default();
        assert_eq!(hour.fills(), fills, "fills of row {n}: {row:?}");
        count += 1;
        // One message of the exchange can be several `FORCED` rows; the book is told after the last.
        let goes_on = rows.peek().is_some_and(|next| next[1] == time && next[2] == "FORCED");
        if op == "FORCED" && goes_on {
            assert!(!bests.contains_key(&n));
            continue;
        }
        best = bests.remove(&n).unwrap_or(best);
        assert_eq!(hour.best(), best, "best prices after row {n}: {row:?}");
    }
    assert_eq!(count, 89_115);
    assert!(fills.is_empty() && bests.is_empty(), "expectations of inputs that do not exist");
    hour.session.engine.check_invariants().expect("invariants hold");
}

/// The engine's book of the hour.
struct Hour {
    session: Session<Engine>,
    market: MarketId,
    accounts: Vec<AccountId>,
    entered: usize,
    orders: BTreeMap<i64, (AccountId, OrderId)>,
    numbers: BTreeMap<OrderId, i64>,
    /// Open shares of each resting order, kept by the test.
    open: BTreeMap<i64, i64>,
}

impl Hour {
    fn new() -> Hour {
        let mut session = Session::new(Engine::new(&EngineConfig::default()));
        let market = session.open_market("AAPL", "SHARE", "USD");
        let fund = |index| {
            session.credit(stream::address(index), "SHARE", i128::MAX / 100);
            session.credit(stream::address(index), "USD", i128::MAX / 100)
        };
        let accounts = (0..ACCOUNTS).map(fund).collect();
        Hour {
            session,
            market,
            accounts,
            entered: 0,
            orders: BTreeMap::new(),
            numbers: BTreeMap::new(),
            open: BTreeMap::new(),
        }
    }

    fn enter(&mut self, number: i64, side: &str, price: i64, quantity: i64, is_ioc: bool) {
        let side = if side == "B" { Side::Buy } else { Side::Sell };
        let account = self.accounts[self.entered % self.accounts.len()];
        self.entered += 1;
        let mut place = PlaceOrder::limit(account, self.market, side, price * STEP, quantity * UNIT);
        place.self_trade = SelfTradePrevention::None as u8;
        if is_ioc {
            place.time_in_force = TimeInForce::ImmediateOrCancel as u8;
        }
        let done = self.session.accept(place);
        let order = *self.session.told::<event::Order>().next().expect("one order");
        if is_ioc {
            assert_eq!(order.filled, quantity * UNIT, "an aggressor is put together from its fills");
        } else {
            assert_eq!(order.filled, 0, "no new order of this hour crosses");
            self.orders.insert(number, (account, done.order));
            self.numbers.insert(done.order, number);
            self.open.insert(number, quantity);
        }
        for [maker, _, quantity] in self.fills() {
            *self.open.get_mut(&maker).expect("a maker rests") -= quantity;
        }
    }

    /// Takes `quantity` out of an order, or all that is left.
    fn reduce(&mut self, number: i64, quantity: Option<i64>) {
        let (account, order) = self.orders[&number];
        let open = self.open[&number];
        let left = open - quantity.unwrap_or(open);
        self.open.insert(number, left);
        if left > 0 {
            self.session.accept(AmendOrder { account, reserved: 0, order, quantity: left * UNIT });
        } else {
            self.session.accept(CancelOrder { account, reserved: 0, order });
            let order = self.session.told::<event::Order>().next().expect("one order");
            assert_eq!(order.quantity - order.filled, open * UNIT, "order {number}: the remainder");
        }
    }

    /// Fills of the last input: maker, price, shares.
    fn fills(&self) -> Vec<[i64; 3]> {
        let fill =
            |trade: &Trade| [self.numbers[&trade.maker_order], trade.price / STEP, trade.quantity / UNIT];
        self.session.told::<Trade>().map(fill).collect()
    }

    fn best(&self) -> Best {
        let level = |side| {
            let best = self.session.engine.depth(self.market, side, 1).first().copied().unwrap_or((0, 0));
            (best.0 / STEP, (best.1 / i128::from(UNIT)) as i64)
        };
        let (ask, bid) = (level(Side::Sell), level(Side::Buy));
        [ask.0, ask.1, bid.0, bid.1]
    }
}
