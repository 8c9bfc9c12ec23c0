//! A journal of this exchange as a session: one spot market of it, from the first command that is kept to the last.
//!
//! The journal is read without changing it and carried out again. What its commands did to the market becomes requests that
//! the public API has for limit orders, and that do the same:
//!
//! - an order that was taken is placed; a market order, or one that self-trade prevention ended, as an immediate order of what
//!   it traded, at the last price it traded at; one that must trade whole as an immediate order;
//! - every order that a command ended is canceled, whether by its owner, with all others or because its market closed;
//! - a replacement is a cancel and a place;
//! - what rests at the beginning of what is kept is placed first, each level in the order of its queue.
//!
//! What was refused, and a market order that met nobody, changed nothing and is left out. An order that was lowered in place
//! is not: the public API has no such request.
//!
//! What is expected comes from an engine that is given these steps alone, under two accounts. Where no order was lowered, its
//! fills must be those of the journal and its last book the journal's, which proves that the requests do the same.

use super::script::{Fill, ImpliedBook, OrderPlan, Script};
use ringside_bench::data::DataError;
use ringside_core::command::{
    CancelOrder, Command, Credit, Kind, ListMarket, MarketKind, OrderStatus, OrderType, PlaceOrder,
    ReplaceOrder, Side, TimeInForce,
};
use ringside_core::event::{self, Done, Event, Trade};
use ringside_core::ids::{AccountId, Address, AssetName, MarketId, OrderId, Sequence, padded, text};
use ringside_core::money::RawAmount;
use ringside_core::{Engine, EngineConfig};
use ringside_persist::error::PersistError;
use ringside_persist::read::look::{Seen, look, state_before};
use ringside_persist::read::survey::survey;
use ringside_persist::recover::snapshot_store;
use ringside_persist::storage::disk::Disk;
use std::collections::HashMap;
use std::path::Path;

/// Decimals of the engine's prices and quantities.
const DECIMALS: u32 = 8;

/// What a journal's session is made of.
#[derive(Debug)]
pub struct Recorded {
    /// The session.
    pub script: Script,
    /// The commands that were read.
    pub commands: std::ops::RangeInclusive<Sequence>,
    /// Orders that rested at the beginning, which are placed first.
    pub resting: usize,
    /// What is not in it.
    pub left_out: LeftOut,
}

/// What is left out of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Placements of the market and cancels and changes of any order that were refused.
    pub refused: u64,
    /// Orders of the market that neither traded nor rested.
    pub idle: u64,
    /// Orders of the market that were lowered in place.
    pub lowered: u64,
    /// Orders placed in other spot markets.
    pub elsewhere: u64,
}

/// The market `symbol` of the journal in `folder`, a data folder or the journal's own; without a symbol the spot market with
/// most orders.
///
/// Errors: the journal cannot be read, or holds no order of such a market.
pub fn load(folder: &Path, symbol: Option<&str>) -> Result<Recorded, DataError> {
    let inner = folder.join("journal");
    let folder = if inner.is_dir() { inner.as_path() } else { folder };
    let fault = |what: String| DataError::Journal(folder.display().to_string(), what);
    let Reading { engine, from, mut markets, refused } =
        read(folder).map_err(|error| fault(error.to_string()))?;
    let name = |market: MarketId| engine.market_event(market).map(|found| text(&found.symbol).to_owned());
    let wanted = |market: MarketId| symbol.is_none_or(|symbol| name(market).as_deref() == Some(symbol));
    let most = (0..markets.len()).rev().filter(|&market| wanted(market as MarketId));
    let most =
        most.max_by_key(|&market| markets[market].placed).filter(|&most| !markets[most].moves.is_empty());
    let Some(most) = most else {
        return Err(fault(format!("it holds no order of {}", symbol.unwrap_or("any spot market"))));
    };
    let placed: u64 = markets.iter().map(|market| market.placed).sum();
    let draft = markets.swap_remove(most);
    let market = most as MarketId;
    let rules = engine.market_event(market).ok_or_else(|| fault("a market without rules".to_owned()))?;
    let left_out = LeftOut {
        refused: refused + draft.refused,
        idle: draft.idle,
        lowered: draft.lowered,
        elsewhere: placed - draft.placed,
    };
    let script = play(&draft, &rules).map_err(fault)?;
    if draft.lowered == 0 {
        prove(&draft, &script, &engine, market).map_err(fault)?;
    }
    Ok(Recorded { script, commands: from..=engine.sequence(), resting: draft.resting, left_out })
}

/// What a command did, in the engine's units.
enum Move {
    Place { plan: OrderPlan, is_immediate: bool },
    Cancel(u32),
}

/// One market while the journal is read.
#[derive(Default)]
struct Draft {
    /// With the time and the sequence of their commands.
    moves: Vec<(i64, Sequence, Move)>,
    /// The journal's own, by placements in `moves`.
    fills: Vec<Fill>,
    /// The placement, in `moves`, that each order now stands for.
    known: HashMap<OrderId, u32>,
    /// Placements in `moves`.
    count: u32,
    /// Of them those at the beginning.
    resting: usize,
    /// Orders placed in the journal.
    placed: u64,
    refused: u64,
    idle: u64,
    lowered: u64,
}

struct Reading {
    /// As it was in the end.
    engine: Engine,
    /// The first command read.
    from: Sequence,
    markets: Vec<Draft>,
    /// Cancels and changes that were refused: of which market is not known.
    refused: u64,
}

/// Everything that the journal holds, from the first place that it can be carried out from.
fn read(folder: &Path) -> Result<Reading, PersistError> {
    let disk = Disk::open_existing(folder)?;
    let survey = survey(&disk)?;
    let snapshots = survey.snapshots.iter().filter_map(|name| snapshot_store::sequence_of(name));
    let reaches_back = survey.segments.first().is_some_and(|first| first.header.number == 1);
    let mut starts: Vec<Sequence> = reaches_back.then_some(1).into_iter().collect();
    starts.extend(snapshots.map(|sequence| sequence + 1));
    let mut result = Err(PersistError::Missing { reason: "there is no journal with a snapshot".to_owned() });
    for from in starts {
        result = read_from(folder, from);
        // What an older version decided, or a snapshot that is damaged: a later snapshot may lie behind it.
        if !matches!(result, Err(PersistError::EngineVersion { .. } | PersistError::Missing { .. })) {
            break;
        }
    }
    result
}

fn read_from(folder: &Path, from: Sequence) -> Result<Reading, PersistError> {
    let config = EngineConfig::default();
    let mut markets: Vec<Draft> = Vec::new();
    let before: Engine = state_before(folder, &config, from, &mut ())?;
    let from = before.sequence() + 1;
    for market in 0..before.markets() as MarketId {
        let draft = of_market(&mut markets, market);
        for side in [Side::Buy, Side::Sell] {
            for order in before.resting(market, side) {
                let plan = OrderPlan { is_buy: side == Side::Buy, price: order.price, quantity: order.open };
                draft.place(before.time_ns(), from - 1, order.order, plan, false);
            }
        }
        draft.resting = draft.moves.len();
    }
    drop(before);
    let mut refused = 0;
    let mut fault = None;
    let engine = look::<Engine>(folder, &config, from, Sequence::MAX, &mut (), |seen| {
        let taken = take(&mut markets, &seen);
        refused += u64::from(taken == Ok(false));
        fault = fault.take().or(taken.err());
    })?;
    match fault {
        Some(reason) => Err(PersistError::Invariant { sequence: engine.sequence(), reason }),
        None => Ok(Reading { engine, from, markets, refused }),
    }
}

fn of_market(markets: &mut Vec<Draft>, market: MarketId) -> &mut Draft {
    let place = market as usize;
    if markets.len() <= place {
        markets.resize_with(place + 1, Draft::default);
    }
    &mut markets[place]
}

/// Takes down what a command did to the books; false of a cancel or change that was refused.
fn take(markets: &mut Vec<Draft>, seen: &Seen<'_, Engine>) -> Result<bool, String> {
    let Command { sequence, time_ns, kind, .. } = *seen.command;
    let is_refused =
        seen.events.last().and_then(Event::get::<Done>).is_some_and(|done| done.rejected().is_some());
    match Kind::from_code(kind) {
        Some(Kind::PlaceOrder) if is_refused => {
            let market = seen.command.body::<PlaceOrder>().market;
            if (market as usize) < seen.machine.markets() {
                of_market(markets, market).refused += 1;
            }
            return Ok(true);
        }
        Some(Kind::CancelOrder | Kind::AmendOrder | Kind::ReplaceOrder) if is_refused => return Ok(false),
        _ => {}
    }
    let trades: Vec<&Trade> = seen.events.iter().filter_map(Event::get).collect();
    for told in seen.events.iter().filter_map(Event::get::<event::Order>) {
        let draft = of_market(markets, told.market);
        let unknown = || format!("command {sequence} ends order {}, which was never placed", told.order);
        let is_ended =
            matches!(OrderStatus::from_code(told.status), Some(OrderStatus::Canceled | OrderStatus::Expired));
        let is_replaced = told.is_amended == 1 && kind == Kind::ReplaceOrder as u16;
        if told.is_amended == 1 && !is_replaced {
            draft.lowered += 1;
        } else if told.is_new == 1 || is_replaced {
            let mut quantity = told.quantity;
            if is_replaced {
                let order = draft.known.get(&told.order).copied().ok_or_else(unknown)?;
                draft.moves.push((time_ns, sequence, Move::Cancel(order)));
                quantity = seen.command.body::<ReplaceOrder>().quantity;
            } else {
                draft.placed += 1;
            }
            draft.arrive(time_ns, sequence, told, quantity, &trades)?;
        } else if is_ended {
            let order = draft.known.remove(&told.order).ok_or_else(unknown)?;
            draft.moves.push((time_ns, sequence, Move::Cancel(order)));
        }
    }
    Ok(true)
}

impl Draft {
    fn place(
        &mut self,
        time_ns: i64,
        sequence: Sequence,
        order: OrderId,
        plan: OrderPlan,
        is_immediate: bool,
    ) {
        self.moves.push((time_ns, sequence, Move::Place { plan, is_immediate }));
        self.known.insert(order, self.count);
        self.count += 1;
    }

    /// An order that came with `quantity`, and its trades.
    fn arrive(
        &mut self,
        time_ns: i64,
        sequence: Sequence,
        told: &event::Order,
        quantity: i64,
        trades: &[&Trade],
    ) -> Result<(), String> {
        let traded: i64 = trades.iter().map(|trade| trade.quantity).sum();
        let is_limit = told.order_type == OrderType::Limit as u8 && told.status != OrderStatus::Expired as u8;
        let immediate = [TimeInForce::ImmediateOrCancel as u8, TimeInForce::FillOrKill as u8];
        let is_immediate = !is_limit || immediate.contains(&told.time_in_force);
        if is_immediate && traded == 0 {
            self.idle += 1;
            return Ok(());
        }
        let mut plan = OrderPlan { is_buy: told.side == Side::Buy as u8, price: told.price, quantity };
        if let Some(last) = trades.last().filter(|_| !is_limit) {
            (plan.price, plan.quantity) = (last.price, traded);
        }
        let taker = self.count;
        for trade in trades {
            let maker = self.known.get(&trade.maker_order).copied();
            let maker = maker.ok_or_else(|| format!("command {sequence} meets an order never placed"))?;
            self.fills.push(Fill { maker, taker, quantity: trade.quantity });
            if trade.maker_filled == 1 {
                self.known.remove(&trade.maker_order);
            }
        }
        self.place(time_ns, sequence, told.order, plan, is_immediate);
        if told.open == 0 {
            self.known.remove(&told.order);
        }
        Ok(())
    }
}

/// The draft as a session, with what an engine makes of it that is given nothing else.
fn play(draft: &Draft, rules: &event::Market) -> Result<Script, String> {
    let plans = || {
        draft.moves.iter().filter_map(|(_, _, step)| match step {
            Move::Place { plan, .. } => Some(plan),
            Move::Cancel(_) => None,
        })
    };
    // Rules may have changed on the way: what all prices and quantities are multiples of.
    let tick = plans().fold(rules.tick, |step, plan| divisor(step, plan.price));
    let lot = plans().fold(rules.lot, |step, plan| divisor(step, plan.quantity));
    let (price_decimals, price_unit) = decimals_of(tick);
    let (quantity_decimals, quantity_unit) = decimals_of(lot);
    let symbol = text(&rules.symbol).to_owned();
    let mut script = Script {
        name: format!("{symbol} of a journal"),
        symbol,
        price_decimals,
        tick: tick / price_unit,
        quantity_decimals,
        ..Script::default()
    };
    let mut floor = Floor::open(rules, tick, lot)?;
    let began = draft.moves.get(draft.resting).map_or(0, |(time_ns, ..)| *time_ns);
    // By placement: the engine's number of it. By that: the placement.
    let mut numbers: Vec<OrderId> = Vec::new();
    let mut placements: HashMap<OrderId, u32> = HashMap::new();
    for (time_ns, sequence, step) in &draft.moves {
        let time_ns = time_ns.saturating_sub(began).max(0) as u64;
        let row = u32::try_from(*sequence).unwrap_or(u32::MAX);
        match step {
            Move::Place { plan, is_immediate } => {
                let (number, trades) = floor.place(plan, *is_immediate)?;
                let fills = trades.iter().map(|trade| {
                    let maker = placements.get(&trade.maker_order).copied();
                    let maker = maker.ok_or("the engine filled an order that it was not given")?;
                    Ok((maker, trade.quantity / quantity_unit))
                });
                let fills: Vec<(u32, i64)> = fills.collect::<Result<_, String>>()?;
                let plan = OrderPlan {
                    is_buy: plan.is_buy,
                    price: plan.price / price_unit,
                    quantity: plan.quantity / quantity_unit,
                };
                let placement = script.place(plan, *is_immediate, time_ns, row, fills);
                numbers.push(number);
                placements.insert(number, placement);
            }
            Move::Cancel(order) => {
                let left = floor.cancel(numbers[*order as usize], &script.orders[*order as usize])?;
                script.cancel(*order, time_ns, row, left / quantity_unit);
            }
        }
    }
    let mut book = ImpliedBook::new(&script);
    script.steps.iter().for_each(|step| book.apply(step));
    if !is_book(&book, &floor.engine, 0, (price_unit, quantity_unit)) {
        return Err("the fills of the engine that was given the session do not lead to its book".to_owned());
    }
    Ok(script)
}

/// The session's fills are the journal's, and its book in the end.
fn prove(draft: &Draft, script: &Script, engine: &Engine, market: MarketId) -> Result<(), String> {
    let unit = |decimals: u32| 10i64.pow(DECIMALS - decimals);
    let units = (unit(script.price_decimals), unit(script.quantity_decimals));
    let fills = script.fills.iter().map(|fill| Fill { quantity: fill.quantity * units.1, ..*fill });
    if let Some(at) = fills.clone().zip(&draft.fills).position(|(own, recorded)| own != *recorded) {
        return Err(format!("fill {at} of the session is not the journal's {:?}", draft.fills[at]));
    }
    if fills.len() != draft.fills.len() {
        return Err(format!("{} fills in the session, {} in the journal", fills.len(), draft.fills.len()));
    }
    let mut book = ImpliedBook::new(script);
    script.steps.iter().for_each(|step| book.apply(step));
    if !is_book(&book, engine, market, units) {
        return Err("the session ends with another book than the journal".to_owned());
    }
    Ok(())
}

fn is_book(book: &ImpliedBook<'_>, engine: &Engine, market: MarketId, units: (i64, i64)) -> bool {
    [Side::Buy, Side::Sell].into_iter().all(|side| {
        let levels = book.depth(side == Side::Buy, usize::MAX).into_iter();
        let levels = levels.map(|(price, total)| (price * units.0, i128::from(total) * i128::from(units.1)));
        engine.depth(market, side, usize::MAX).into_iter().eq(levels)
    })
}

/// The greatest divisor of both.
fn divisor(one: i64, other: i64) -> i64 {
    if other == 0 { one } else { divisor(other, one % other) }
}

/// Decimals that multiples of `step` need, and what one of the last of them is in the engine's units.
fn decimals_of(step: i64) -> (u32, i64) {
    let (mut decimals, mut unit) = (DECIMALS, 1);
    while decimals > 0 && step % (unit * 10) == 0 {
        (decimals, unit) = (decimals - 1, unit * 10);
    }
    (decimals, unit)
}

/// An engine with nothing but the market, one account that buys and one that sells.
struct Floor {
    engine: Engine,
    events: Vec<Event>,
    accounts: [AccountId; 2],
}

impl Floor {
    /// More than any session can spend, and far from what an amount can be.
    const CREDIT: i128 = 1 << 125;

    fn open(rules: &event::Market, tick: i64, lot: i64) -> Result<Floor, String> {
        let names: [Option<AssetName>; 2] = [padded("BASE"), padded("QUOTE")];
        let [Some(base), Some(quote)] = names else { return Err("an asset needs a name".to_owned()) };
        let engine = Engine::new(&EngineConfig::default());
        let mut floor = Floor { engine, events: Vec::new(), accounts: [0; 2] };
        floor.apply(Command::new(ListMarket {
            symbol: rules.symbol,
            base,
            quote,
            tick,
            lot,
            min_notional: RawAmount::new(1),
            maker_fee: 0,
            taker_fee: 0,
            max_open_orders: u32::MAX,
            kind: MarketKind::Spot as u8,
            reserved: [0; 3],
        }))?;
        for (place, asset) in [(0, quote), (1, base)] {
            let address: Address = [place as u8 + 1; 20];
            let amount = RawAmount::new(Floor::CREDIT);
            floor.apply(Command::new(Credit { address, asset, reserved: 0, amount, reason: [0; 64] }))?;
            floor.accounts[place] = floor.engine.account(&address).ok_or("a credit makes its account")?;
        }
        Ok(floor)
    }

    fn account(&self, plan: &OrderPlan) -> AccountId {
        self.accounts[usize::from(!plan.is_buy)]
    }

    /// The order's number and its trades.
    fn place(&mut self, plan: &OrderPlan, is_immediate: bool) -> Result<(OrderId, Vec<Trade>), String> {
        let side = if plan.is_buy { Side::Buy } else { Side::Sell };
        let mut order = PlaceOrder::limit(self.account(plan), 0, side, plan.price, plan.quantity);
        if is_immediate {
            order.time_in_force = TimeInForce::ImmediateOrCancel as u8;
        }
        self.apply(Command::new(order))?;
        let trades = self.events.iter().filter_map(Event::get::<Trade>).copied().collect();
        let number = self.events.iter().filter_map(Event::get::<event::Order>).find(|told| told.is_new == 1);
        Ok((number.ok_or("the engine does not tell of an order that it took")?.order, trades))
    }

    /// What was open of it; 0 where it had ended.
    fn cancel(&mut self, order: OrderId, plan: &OrderPlan) -> Result<i64, String> {
        let Some(resting) = self.engine.order(order) else { return Ok(0) };
        let account = self.account(plan);
        self.apply(Command::new(CancelOrder { account, reserved: 0, order }))?;
        Ok(resting.open)
    }

    fn apply(&mut self, mut command: Command) -> Result<(), String> {
        command.sequence = self.engine.sequence() + 1;
        self.events.clear();
        self.engine.apply(&command, &mut self.events);
        match self.events.last().and_then(Event::get::<Done>).and_then(Done::rejected) {
            Some(reject) => {
                Err(format!("the engine that is given the session refuses {command:?}: {reject:?}"))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
