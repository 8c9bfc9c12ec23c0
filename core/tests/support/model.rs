//! An independent bookkeeper that knows only commands' kinds and the events: it rebuilds orders, books and money
//! from the events of each command and complains where they contradict each other or the rules of matching.

use ringside_core::command::{Command, Kind, MarketStatus, OrderStatus, Side};
use ringside_core::event::{self, Event};
use ringside_core::ids::{AccountId, AssetId, FEE_ACCOUNT, MarketId, OrderId};
use ringside_core::money::{Amount, FEE_RATE_ONE, FeeRate, Price, Quantity};
use std::collections::{BTreeMap, BTreeSet};

/// An order that rests, as told.
#[derive(Clone, Debug)]
struct Resting {
    account: AccountId,
    market: MarketId,
    side: Side,
    price: Price,
    filled: Quantity,
    open: Quantity,
    arrival: u64,
    maker_fee: FeeRate,
}

/// A market as told, and its running ids.
#[derive(Clone, Debug)]
struct Market {
    base: AssetId,
    quote: AssetId,
    lot: Quantity,
    maker_fee: FeeRate,
    taker_fee: FeeRate,
    status: u8,
    update: u64,
    trades: u64,
}

/// What was seen, so that a test can demand that its streams meet every case.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub commands: u64,
    pub events: u64,
    pub trades: u64,
    /// By number.
    pub rejects: BTreeMap<u16, u64>,
    /// By event kind.
    pub kinds: BTreeMap<u16, u64>,
    /// Named cases.
    pub cases: BTreeMap<&'static str, u64>,
}

impl Seen {
    fn case(&mut self, name: &'static str, holds: bool) {
        *self.cases.entry(name).or_default() += u64::from(holds);
    }

    /// Adds another's counts.
    pub fn add(&mut self, other: &Seen) {
        self.commands += other.commands;
        self.events += other.events;
        self.trades += other.trades;
        for (&key, count) in &other.rejects {
            *self.rejects.entry(key).or_default() += count;
        }
        for (&key, count) in &other.kinds {
            *self.kinds.entry(key).or_default() += count;
        }
        for (&key, count) in &other.cases {
            *self.cases.entry(key).or_default() += count;
        }
    }
}

/// The bookkeeper.
#[derive(Default)]
pub struct Model {
    sequence: u64,
    time_ns: i64,
    accounts: u32,
    assets: u16,
    markets: Vec<Market>,
    resting: BTreeMap<OrderId, Resting>,
    last_order: OrderId,
    arrivals: u64,
    /// What each account owns by credits and trades.
    owned: BTreeMap<(AccountId, AssetId), Amount>,
    /// (available, frozen) as told.
    told: BTreeMap<(AccountId, AssetId), (Amount, Amount)>,
    issued: BTreeMap<AssetId, Amount>,
    /// Level totals as told.
    depth: BTreeMap<(MarketId, u8, Price), Amount>,
    pub seen: Seen,
}

macro_rules! demand {
    ($holds:expr, $($text:tt)+) => {
        if !$holds {
            return Err(format!($($text)+));
        }
    };
}

impl Model {
    pub fn new() -> Model {
        Model { accounts: 1, ..Model::default() }
    }

    /// Takes in the events of one command.
    ///
    /// # Errors
    /// A sentence that says which rule they break.
    pub fn observe(&mut self, command: &Command, events: &[Event]) -> Result<(), String> {
        self.sequence += 1;
        self.time_ns = self.time_ns.max(command.time_ns);
        self.envelope(command, events)?;
        let done = *events.last().and_then(Event::get::<event::Done>).ok_or("the last event is not Done")?;
        let trades: Vec<event::Trade> = events.iter().filter_map(Event::get).copied().collect();
        let orders: Vec<event::Order> = events.iter().filter_map(Event::get).copied().collect();
        let depth: Vec<event::Depth> = events.iter().filter_map(Event::get).copied().collect();
        let balances: Vec<event::Balances> = events.iter().filter_map(Event::get).copied().collect();
        self.count(&done, events);
        let updates: Vec<u64> = self.markets.iter().map(|market| market.update).collect();

        let touched = self.trade(&done, &trades, &orders)?;
        let touched = self.order(&done, &trades, &orders, touched)?;
        self.facts(events)?;
        self.levels(&depth, &touched, &updates)?;
        self.money(&balances)?;
        if done.reject == 0 || done.order != 0 {
            if let Some(market) = self.markets.get(done.market as usize) {
                let named = done.update == market.update || done.update == 0;
                demand!(named, "Done tells update {}, the market is at {}", done.update, market.update);
            }
        } else {
            demand!(
                trades.is_empty() && depth.is_empty() && balances.is_empty(),
                "a refusal changed something"
            );
        }
        for market in touched.iter().map(|&(market, _, _)| market).collect::<BTreeSet<_>>() {
            self.uncrossed(market)?;
        }
        Ok(())
    }

    /// Sequence, time, index, group order, zeros.
    fn envelope(&self, command: &Command, events: &[Event]) -> Result<(), String> {
        let mut group = 0;
        for (index, event) in events.iter().enumerate() {
            demand!(event.index as usize == index, "event {index} says index {}", event.index);
            demand!(event.sequence == command.sequence, "event {index} says sequence {}", event.sequence);
            demand!(event.time_ns == self.time_ns, "event {index} says time {}", event.time_ns);
            demand!(event.reserved == 0, "event {index} has a reserved field set");
            let kind = event::Kind::from_code(event.kind).ok_or("an event of no kind")?;
            let of_kind = match kind {
                event::Kind::Trade => 1,
                event::Kind::Order => 2,
                event::Kind::Depth => 3,
                event::Kind::Balances => 4,
                event::Kind::AssetCreated => 5,
                event::Kind::Market => 6,
                event::Kind::AccountCreated => 7,
                event::Kind::Credited => 8,
                event::Kind::StateHash => 9,
                event::Kind::Done => 10,
                _ => return Err("an event of the perpetual side".into()),
            };
            demand!(of_kind >= group, "event {index}, a {kind:?}, comes too late");
            demand!(of_kind != 10 || index + 1 == events.len(), "Done is not last");
            group = of_kind;
        }
        Ok(())
    }

    fn count(&mut self, done: &event::Done, events: &[Event]) {
        self.seen.commands += 1;
        self.seen.events += events.len() as u64;
        *self.seen.rejects.entry(done.reject).or_default() += 1;
        for event in events {
            *self.seen.kinds.entry(event.kind).or_default() += 1;
        }
    }

    /// Trades: the maker is the first in the queue, the price is its own, ids are dense, fees are right. Gives the
    /// levels touched.
    fn trade(
        &mut self,
        done: &event::Done,
        trades: &[event::Trade],
        orders: &[event::Order],
    ) -> Result<BTreeSet<(MarketId, u8, Price)>, String> {
        let mut touched = BTreeSet::new();
        let ended: BTreeSet<OrderId> =
            orders.iter().filter(|order| order.order != done.order).map(|order| order.order).collect();
        let taker = orders.iter().find(|order| order.order == done.order);
        for trade in trades {
            self.seen.trades += 1;
            let taker = taker.ok_or("a trade without an order of the command")?;
            demand!(trade.taker_order == taker.order, "{trade:?}: not the order of the command");
            demand!(
                trade.taker_account == taker.account && trade.market == taker.market,
                "{trade:?}: wrong taker"
            );
            demand!(trade.taker_side == taker.side, "{trade:?}: wrong side");
            let maker = self
                .resting
                .get(&trade.maker_order)
                .cloned()
                .ok_or("a trade with an order that rests not")?;
            demand!(
                maker.account == trade.maker_account && maker.market == trade.market,
                "{trade:?}: wrong maker"
            );
            demand!(maker.side as u8 != trade.taker_side, "{trade:?}: both on one side");
            demand!(maker.price == trade.price, "{trade:?}: the maker rests at {}", maker.price);
            let better = |rest: &Resting| {
                let rank = |resting: &Resting| match resting.side {
                    Side::Buy => (-resting.price, resting.arrival),
                    Side::Sell => (resting.price, resting.arrival),
                };
                rest.market == maker.market && rest.side == maker.side && rank(rest) < rank(&maker)
            };
            let passed = self.resting.iter().find(|(id, resting)| better(resting) && !ended.contains(id));
            demand!(passed.is_none(), "{trade:?} passed over {passed:?}");
            let buys = trade.taker_side == Side::Buy as u8;
            let limit_holds = taker.price == 0
                || if buys { trade.price <= taker.price } else { trade.price >= taker.price };
            demand!(limit_holds, "{trade:?}: past the taker's limit {}", taker.price);
            demand!(
                trade.quantity > 0 && trade.quantity <= maker.open,
                "{trade:?}: the maker has {}",
                maker.open
            );
            demand!((trade.quantity == maker.open) == (trade.maker_filled == 1), "{trade:?}: maker_filled");
            self.settle(trade, &maker)?;
            let market = &mut self.markets[trade.market as usize];
            market.trades += 1;
            market.update += 1;
            demand!(market.status == MarketStatus::Listed as u8, "{trade:?}: the market does not trade");
            demand!(trade.trade == market.trades, "{trade:?}: trade id, {} expected", market.trades);
            touched.insert((trade.market, maker.side as u8, trade.price));
            self.seen.case("the maker is left with a part", trade.maker_filled == 0);
            self.seen.case("an account trades with itself", trade.maker_account == trade.taker_account);
            self.seen.case("the fee account trades", trade.maker_account == FEE_ACCOUNT);
            if trade.maker_filled == 1 {
                self.resting.remove(&trade.maker_order);
            } else {
                let maker = self.resting.get_mut(&trade.maker_order).expect("found above");
                maker.open -= trade.quantity;
                maker.filled += trade.quantity;
            }
        }
        self.seen.case("several levels in one command", touched.len() > 1);
        self.seen.case("several fills in one command", trades.len() > 1);
        Ok(touched)
    }

    /// Moves the money of a trade.
    fn settle(&mut self, trade: &event::Trade, maker: &Resting) -> Result<(), String> {
        let Market { base, quote, taker_fee, .. } = self.markets[trade.market as usize];
        let base_amount = Amount::from(trade.quantity) * 10_000_000_000;
        let quote_amount = Amount::from(trade.price) * Amount::from(trade.quantity) * 100;
        let buys = trade.taker_side == Side::Buy as u8;
        let (maker_receives, taker_receives) =
            if buys { (quote_amount, base_amount) } else { (base_amount, quote_amount) };
        let (maker_fee, taker_fee_paid) = (trade.maker_fee.get(), trade.taker_fee.get());
        demand!(
            is_fee(maker_fee, maker_receives, maker.maker_fee),
            "{trade:?}: maker fee at {}",
            maker.maker_fee
        );
        demand!(is_fee(taker_fee_paid, taker_receives, taker_fee), "{trade:?}: taker fee at {taker_fee}");
        let (buyer, seller, buyer_fee, seller_fee) = if buys {
            (trade.taker_account, trade.maker_account, taker_fee_paid, maker_fee)
        } else {
            (trade.maker_account, trade.taker_account, maker_fee, taker_fee_paid)
        };
        for (account, asset, amount) in [
            (buyer, quote, -quote_amount),
            (buyer, base, base_amount - buyer_fee),
            (seller, base, -base_amount),
            (seller, quote, quote_amount - seller_fee),
            (FEE_ACCOUNT, base, buyer_fee),
            (FEE_ACCOUNT, quote, seller_fee),
        ] {
            *self.owned.entry((account, asset)).or_default() += amount;
        }
        Ok(())
    }

    /// Order events: ids, sums, states.
    fn order(
        &mut self,
        done: &event::Done,
        trades: &[event::Trade],
        orders: &[event::Order],
        mut touched: BTreeSet<(MarketId, u8, Price)>,
    ) -> Result<BTreeSet<(MarketId, u8, Price)>, String> {
        let kind = Kind::from_code(done.command);
        let is_amend = kind == Some(Kind::AmendOrder);
        let mut told = BTreeSet::new();
        for order in orders {
            demand!(told.insert(order.order), "{order:?} is told twice");
            let status = OrderStatus::from_code(order.status).ok_or("no such status")?;
            let side = Side::from_code(order.side).ok_or("no such side")?;
            let traded: Quantity = trades
                .iter()
                .filter(|trade| trade.taker_order == order.order)
                .map(|trade| trade.quantity)
                .sum();
            let old = self.resting.remove(&order.order);
            if order.is_new == 1 {
                self.last_order += 1;
                demand!(order.order == self.last_order, "{order:?}: {} expected", self.last_order);
                demand!(old.is_none(), "{order:?} is new and rests already");
            }
            let before = old.as_ref().map_or(0, |old| old.filled);
            demand!(
                order.is_new == 1 || old.is_some(),
                "{order:?} neither is new nor rested: it ended before"
            );
            demand!(order.filled == before + traded, "{order:?}: filled is {before} + {traded}");
            if let Some(old) = &old {
                demand!(
                    (old.account, old.market, old.side) == (order.account, order.market, side),
                    "{order:?}"
                );
                if order.is_amended == 0 {
                    let ordered = old.filled + old.open;
                    demand!(
                        order.quantity == ordered && order.price == old.price,
                        "{order:?}: was {ordered}"
                    );
                }
                self.markets[old.market as usize].update += 1;
                touched.insert((old.market, side as u8, old.price));
                if is_amend {
                    demand!(
                        order.price == old.price && order.open < old.open,
                        "{order:?}: amended from {old:?}"
                    );
                }
            }
            let sized_in_quote = order.quote_quantity.get() != 0;
            demand!(sized_in_quote == (order.quantity == 0), "{order:?}: sized in base or in quote");
            if status.is_resting() {
                demand!(order.open > 0 && order.quantity == order.filled + order.open, "{order:?}: sums");
                demand!((order.filled == 0) == (status == OrderStatus::Open), "{order:?}: status");
                if is_amend {
                    let arrival = old.as_ref().map_or(0, |old| old.arrival);
                    self.rest(order, side, arrival, old.as_ref().map(|old| old.maker_fee));
                } else {
                    self.arrivals += 1;
                    self.markets[order.market as usize].update += 1;
                    self.rest(order, side, self.arrivals, None);
                }
                touched.insert((order.market, side as u8, order.price));
            } else {
                demand!(order.open == 0, "{order:?} ended and is open");
                let whole = sized_in_quote || order.filled == order.quantity;
                demand!(status != OrderStatus::Filled || (whole && order.filled > 0), "{order:?}: not whole");
                let partial = sized_in_quote || order.filled < order.quantity;
                demand!(status == OrderStatus::Filled || partial, "{order:?}: whole, but not filled");
            }
            demand!((order.reject != 0) == (status == OrderStatus::Rejected), "{order:?}: reject");
            self.spent(order, trades)?;
            self.note(order, status, kind, traded, old.is_some());
        }
        Ok(touched)
    }

    /// Counts the cases of an order event.
    fn note(
        &mut self,
        order: &event::Order,
        status: OrderStatus,
        kind: Option<Kind>,
        traded: i64,
        rested: bool,
    ) {
        let replaced = kind == Some(Kind::ReplaceOrder) && order.is_amended == 1;
        let ended_as_maker = rested && order.is_amended == 0 && status == OrderStatus::Expired;
        self.seen.case("a replace trades", replaced && traded > 0);
        self.seen.case("a replace rests", replaced && order.open > 0);
        self.seen.case("a replace is filled", replaced && status == OrderStatus::Filled);
        self.seen.case("a replaced order expires as taker", replaced && status == OrderStatus::Expired);
        self.seen.case("a maker expires", ended_as_maker);
        self.seen.case(
            "a taker expires after fills",
            order.is_new == 1 && status == OrderStatus::Expired && traded > 0,
        );
        self.seen
            .case("a taker rests after fills", order.is_new == 1 && status == OrderStatus::PartiallyFilled);
        self.seen.case(
            "a remainder is canceled",
            order.is_new == 1 && status == OrderStatus::Canceled && traded > 0,
        );
        let quote = order.quote_quantity.get() != 0;
        self.seen.case("a market buy is filled", quote && status == OrderStatus::Filled);
        self.seen.case(
            "a market buy is canceled after fills",
            quote && status == OrderStatus::Canceled && traded > 0,
        );
        let market_sell = order.price == 0 && !quote;
        self.seen.case("a market sell is filled", market_sell && status == OrderStatus::Filled);
        let swept = kind == Some(Kind::SetMarketStatus);
        self.seen.case("delisting ends an order", swept);
        let lot = self.markets[order.market as usize].lot;
        self.seen.case("an order rests off the lot", order.open % lot != 0);
    }

    fn rest(&mut self, order: &event::Order, side: Side, arrival: u64, maker_fee: Option<FeeRate>) {
        let maker_fee = maker_fee.unwrap_or(self.markets[order.market as usize].maker_fee);
        self.resting.insert(
            order.order,
            Resting {
                account: order.account,
                market: order.market,
                side,
                price: order.price,
                filled: order.filled,
                open: order.open,
                arrival,
                maker_fee,
            },
        );
    }

    /// A market buy never spends more than it said.
    fn spent(&self, order: &event::Order, trades: &[event::Trade]) -> Result<(), String> {
        let limit = order.quote_quantity.get();
        if limit == 0 {
            return Ok(());
        }
        let mine = trades.iter().filter(|trade| trade.taker_order == order.order);
        let spent: Amount =
            mine.map(|trade| Amount::from(trade.price) * Amount::from(trade.quantity) * 100).sum();
        demand!(spent <= limit, "{order:?} spent {spent}");
        Ok(())
    }

    fn facts(&mut self, events: &[Event]) -> Result<(), String> {
        for event in events {
            if let Some(created) = event.get::<event::AccountCreated>() {
                demand!(created.account == self.accounts, "{created:?}: {} expected", self.accounts);
                self.accounts += 1;
            } else if let Some(created) = event.get::<event::AssetCreated>() {
                demand!(created.asset == self.assets, "{created:?}: {} expected", self.assets);
                self.assets += 1;
            } else if let Some(credited) = event.get::<event::Credited>() {
                let amount = credited.amount.get();
                *self.owned.entry((credited.account, credited.asset)).or_default() += amount;
                *self.issued.entry(credited.asset).or_default() += amount;
            } else if let Some(told) = event.get::<event::Market>() {
                self.market(told)?;
            }
        }
        Ok(())
    }

    fn market(&mut self, told: &event::Market) -> Result<(), String> {
        if told.market as usize == self.markets.len() {
            self.markets.push(Market {
                base: told.base,
                quote: told.quote,
                lot: told.lot,
                maker_fee: told.maker_fee,
                taker_fee: told.taker_fee,
                status: told.status,
                update: 0,
                trades: 0,
            });
        }
        let market = self.markets.get_mut(told.market as usize).ok_or("a market id with a gap")?;
        market.lot = told.lot;
        market.maker_fee = told.maker_fee;
        market.taker_fee = told.taker_fee;
        market.status = told.status;
        let delisted = told.status == MarketStatus::Delisted as u8;
        let left = self.resting.values().any(|resting| resting.market == told.market);
        demand!(!(delisted && left), "an order rests in delisted market {}", told.market);
        Ok(())
    }

    /// Depth events: update ids without gap, every touched level told, final totals right.
    fn levels(
        &mut self,
        depth: &[event::Depth],
        touched: &BTreeSet<(MarketId, u8, Price)>,
        before: &[u64],
    ) -> Result<(), String> {
        let mut last = before.to_vec();
        for told in depth {
            let level = (told.market, told.side, told.price);
            demand!(touched.contains(&level), "{told:?}: nothing happened there");
            let at = &mut last[told.market as usize];
            demand!(told.update > *at, "{told:?}: the update before was {at}");
            *at = told.update;
            if told.total.get() == 0 {
                self.depth.remove(&level);
            } else {
                self.depth.insert(level, told.total.get());
            }
        }
        for (market, (last, market_now)) in last.iter().zip(&self.markets).enumerate() {
            let counted = market_now.update;
            demand!(
                *last == counted,
                "market {market}: depth ends at update {last}, {counted} mutations counted"
            );
        }
        for &(market, side, price) in touched {
            let here = self.resting.values().filter(|resting| {
                (resting.market, resting.side as u8, resting.price) == (market, side, price)
            });
            let total: Amount = here.map(|resting| Amount::from(resting.open)).sum();
            let told = self.depth.get(&(market, side, price)).copied().unwrap_or(0);
            demand!(
                told == total,
                "level {price} of side {side}, market {market}: told {told}, orders have {total}"
            );
        }
        Ok(())
    }

    /// Balances events: owned is what trades and credits say, frozen what orders hold, nothing is made or lost.
    fn money(&mut self, balances: &[event::Balances]) -> Result<(), String> {
        for told in balances {
            demand!(told.changed & !3 == 0 && told.changed != 0, "{told:?}: changed");
            let rows = [
                (told.base, told.base_available.get(), told.base_frozen.get(), 1),
                (told.quote, told.quote_available.get(), told.quote_frozen.get(), 2),
            ];
            let rows = if told.base == told.quote { &rows[..1] } else { &rows[..] };
            for &(asset, available, frozen, bit) in rows {
                let row = (told.account, asset);
                demand!(available >= 0 && frozen >= 0, "{told:?}: below zero");
                let old = self.told.insert(row, (available, frozen)).unwrap_or((0, 0));
                let differs = old != (available, frozen);
                // Of one account, cancel-all tells a shared asset in each market it touched.
                let again = balances.iter().filter(|other| other.account == told.account).count() > 1;
                demand!(again || differs == (told.changed & bit != 0), "{told:?}: was {old:?}");
            }
        }
        let mut frozen: BTreeMap<(AccountId, AssetId), Amount> = BTreeMap::new();
        for resting in self.resting.values() {
            let market = &self.markets[resting.market as usize];
            let (asset, amount) = match resting.side {
                Side::Buy => (market.quote, Amount::from(resting.price) * Amount::from(resting.open) * 100),
                Side::Sell => (market.base, Amount::from(resting.open) * 10_000_000_000),
            };
            *frozen.entry((resting.account, asset)).or_default() += amount;
        }
        let mut sums: BTreeMap<AssetId, Amount> = BTreeMap::new();
        for (&row, &owned) in &self.owned {
            let (available, held) = self.told.get(&row).copied().unwrap_or((0, 0));
            let reserved = frozen.remove(&row).unwrap_or(0);
            demand!(held == reserved, "{row:?}: told frozen {held}, orders reserve {reserved}");
            demand!(
                available + held == owned,
                "{row:?}: told {available} + {held}, trades and credits give {owned}"
            );
            *sums.entry(row.1).or_default() += owned;
        }
        demand!(frozen.is_empty(), "reserved by who owns nothing: {frozen:?}");
        demand!(sums == self.issued, "issued {:?}, owned {sums:?}", self.issued);
        Ok(())
    }

    fn uncrossed(&self, market: MarketId) -> Result<(), String> {
        let side = |side: Side| {
            let here = move |resting: &&Resting| resting.market == market && resting.side == side;
            self.resting.values().filter(here).map(|resting| resting.price)
        };
        if let (Some(bid), Some(ask)) = (side(Side::Buy).max(), side(Side::Sell).min()) {
            demand!(bid < ask, "market {market} is crossed: bid {bid}, ask {ask}");
        }
        Ok(())
    }

    /// Orders that rest now.
    pub fn resting_len(&self) -> usize {
        self.resting.len()
    }
}

/// Whether `fee` is `amount` x `rate`, rounded up: judged without a product that could leave the range.
fn is_fee(fee: Amount, amount: Amount, rate: FeeRate) -> bool {
    let one = Amount::from(FEE_RATE_ONE);
    let rate = Amount::from(rate);
    // fee = ceil((whole x one + part) x rate / one) = whole x rate + ceil(part x rate / one)
    let (whole, part) = (amount / one, amount % one);
    let rest = fee - whole * rate;
    rest * one >= part * rate && (rest - 1) * one < part * rate
}
