//! History in memory as far as it is not archived yet, and a window of what came last.
//!
//! Rows stand in two queues in the order of the events, and go from their fronts, whole commands at a time, oldest first.
//! Lists point into the queues by place, a number that grows with every row and never changes. What is gone is told by one
//! sequence, so that a reader of both tiers knows for every row which one has it.

use super::codec::{LoadError, Reader, Writer};
use super::history::{
    FillQuery, FillRecord, Forgotten, HistoryStore, OrderQuery, Place, Role, TradeRecord, seconds,
};
use super::log::Keep;
use super::order::OrderRecord;
use super::queue;
use super::slots::SlotIndex;
use super::spares::Restock;
use ringside_core::ids::{AccountId, MarketId, OrderId, Sequence};
use std::collections::VecDeque;
use std::sync::Arc;

/// Rows let go of at a time, give or take a command: more than a batch of events can bring, so that it keeps up.
const FORGOTTEN_AT_ONCE: usize = 2048;

/// The window of each history of the perpetual side is this part of that of spot; there are about as many of them.
const PERPETUAL_SHARE: usize = 8;

/// Rows of one kind in the order of the events, each with the command it belongs to.
#[derive(Clone, Debug)]
struct Queue<T> {
    rows: queue::Queue<(Sequence, T)>,
    /// Place of the first row.
    first: u64,
}

impl<T: Copy> Queue<T> {
    fn new() -> Queue<T> {
        Queue { rows: queue::Queue::default(), first: 0 }
    }

    /// Adds a row; gives its place.
    fn push(&mut self, sequence: Sequence, row: T) -> u64 {
        self.rows.push_back((sequence, row));
        self.first + self.rows.len() as u64 - 1
    }

    fn at(&self, place: u64) -> &T {
        &self.rows.get((place - self.first) as usize).expect("lists point at rows that are kept").1
    }

    fn front(&self) -> Option<Sequence> {
        self.rows.front().map(|(sequence, _)| *sequence)
    }

    /// Takes the first row out if it belongs to `sequence`; gives it with its place.
    fn pop(&mut self, sequence: Sequence) -> Option<(u64, T)> {
        if self.front() != Some(sequence) {
            return None;
        }
        let (_, row) = self.rows.pop_front()?;
        self.first += 1;
        Some((self.first - 1, row))
    }
}

/// What is recent.
#[derive(Clone, Debug)]
pub struct RecentHistory {
    /// Rows kept although they are archived.
    window: usize,
    forgotten: Forgotten,
    ended: Queue<OrderRecord>,
    trades: Queue<TradeRecord>,
    /// Order id to place in `ended`, both modulo [`SLOTS`].
    index: SlotIndex,
    /// Per account, its ended orders in order of the id, with their places.
    account_orders: Vec<VecDeque<(OrderId, u64)>>,
    /// Per account, place of the trade and, in the lowest bit, whether it is the taker's half.
    account_fills: Vec<VecDeque<u64>>,
    /// Per market, places.
    market_trades: Vec<VecDeque<u64>>,
    /// Per market, the newest trade, kept or not.
    last_trades: Vec<Option<TradeRecord>>,
}

/// More than rows can be in memory at once.
const SLOTS: u64 = u32::MAX as u64;

impl RecentHistory {
    /// Nothing yet; `window` archived rows (ended orders and trades together) will be kept beside those that are not.
    pub fn new(window: usize) -> RecentHistory {
        RecentHistory {
            window,
            forgotten: Forgotten::default(),
            ended: Queue::new(),
            trades: Queue::new(),
            index: SlotIndex::default(),
            account_orders: Vec::new(),
            account_fills: Vec::new(),
            market_trades: Vec::new(),
            last_trades: Vec::new(),
        }
    }

    /// How many ended orders and trades are in memory.
    pub fn len(&self) -> usize {
        self.ended.rows.len() + self.trades.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn place_of(&self, order: OrderId) -> Option<u64> {
        let slot = u64::from(self.index.get(order)?);
        Some(self.ended.first + (slot + SLOTS - self.ended.first % SLOTS) % SLOTS)
    }

    /// Lets go of all rows of one command, which is the oldest.
    fn forget_command(&mut self, sequence: Sequence) -> usize {
        let before = self.len();
        while let Some((_, order)) = self.ended.pop(sequence) {
            self.index.remove(order.order);
            let list = &mut self.account_orders[order.account as usize];
            // Mostly it stands first, and a search would fetch what nobody has looked at for long.
            if list.front().is_some_and(|(id, _)| *id == order.order) {
                list.pop_front();
            } else if let Ok(place) = list.binary_search_by_key(&order.order, |(id, _)| *id) {
                list.remove(place);
            }
            self.forgotten.newest_order = self.forgotten.newest_order.max(order.order);
        }
        while let Some((_, trade)) = self.trades.pop(sequence) {
            // Lists are in the order of the queue, so that what goes first stands first.
            self.account_fills[trade.maker_account as usize].pop_front();
            self.account_fills[trade.taker_account as usize].pop_front();
            self.market_trades[trade.market as usize].pop_front();
        }
        self.forgotten.through = sequence;
        before - self.len()
    }
}

impl HistoryStore for RecentHistory {
    fn keep(&self) -> Keep {
        Keep::Window(self.window / PERPETUAL_SHARE)
    }

    fn spares(&self) -> Vec<Arc<dyn Restock>> {
        vec![self.ended.rows.spares(), self.trades.rows.spares()]
    }

    fn placed(&mut self, _order: OrderId, _account: AccountId, _created_ns: i64) {}

    fn ended(&mut self, order: &OrderRecord, sequence: Sequence) {
        let place = self.ended.push(sequence, *order);
        assert!((self.ended.rows.len() as u64) < SLOTS, "fewer than 2^32 rows are in memory");
        self.index.insert(order.order, (place % SLOTS) as u32);
        let list = list_of(&mut self.account_orders, order.account);
        match list.back() {
            Some((newest, _)) if *newest > order.order => {
                let at = list.partition_point(|(id, _)| *id < order.order);
                list.insert(at, (order.order, place));
            }
            _ => list.push_back((order.order, place)),
        }
    }

    fn trade(&mut self, trade: &TradeRecord, sequence: Sequence) {
        let place = self.trades.push(sequence, *trade);
        list_of(&mut self.account_fills, trade.maker_account).push_back(place << 1);
        list_of(&mut self.account_fills, trade.taker_account).push_back(place << 1 | 1);
        list_of(&mut self.market_trades, trade.market).push_back(place);
        set_last(&mut self.last_trades, *trade);
    }

    fn forgotten(&self) -> Forgotten {
        self.forgotten
    }

    fn forget(&mut self, archived: Sequence) {
        let mut count = 0;
        while self.len() > self.window && count < FORGOTTEN_AT_ONCE {
            let oldest = match (self.ended.front(), self.trades.front()) {
                (Some(order), Some(trade)) => order.min(trade),
                (Some(sequence), None) | (None, Some(sequence)) => sequence,
                (None, None) => return,
            };
            if oldest > archived {
                return;
            }
            count += self.forget_command(oldest);
        }
    }

    fn ended_order(&self, order: OrderId) -> Option<OrderRecord> {
        self.place_of(order).map(|place| *self.ended.at(place))
    }

    fn ended_orders(
        &self,
        query: &OrderQuery,
        place: Place,
        steps: usize,
        orders: &mut Vec<OrderRecord>,
    ) -> Place {
        let Some(list) = self.account_orders.get(query.account as usize) else { return Place::End };
        let created_s = |place: u64| seconds(self.ended.at(place).created_ns);
        let first = list.partition_point(|(_, place)| created_s(*place) < query.created.start_s);
        let mut next = match place {
            Place::Newest => list.partition_point(|(_, place)| created_s(*place) <= query.created.end_s),
            Place::Before(order) => list.partition_point(|(other, _)| *other < order),
            Place::End => return Place::End,
        };
        let mut reached = None;
        for _ in 0..steps {
            if next <= first || orders.len() >= query.limit {
                return Place::End;
            }
            next -= 1;
            let (order, place) = list[next];
            reached = Some(order);
            let ended = self.ended.at(place);
            if query.matches(ended) {
                orders.push(*ended);
            }
        }
        match reached {
            Some(order) if next > first => Place::Before(order),
            _ => Place::End,
        }
    }

    fn fills(&self, query: &FillQuery, place: Place, steps: usize, fills: &mut Vec<FillRecord>) -> Place {
        let Some(list) = self.account_fills.get(query.account as usize) else { return Place::End };
        let traded_s = |key: u64| seconds(self.trades.at(key >> 1).time_ns);
        let first = list.partition_point(|key| traded_s(*key) < query.time.start_s);
        let mut next = match place {
            Place::Newest => list.partition_point(|key| traded_s(*key) <= query.time.end_s),
            Place::Before(key) => list.partition_point(|other| *other < key),
            Place::End => return Place::End,
        };
        let mut reached = None;
        for _ in 0..steps {
            if next <= first || fills.len() >= query.limit {
                return Place::End;
            }
            next -= 1;
            let key = list[next];
            reached = Some(key);
            let trade = self.trades.at(key >> 1);
            if query.market.is_none_or(|market| market == trade.market) {
                fills.push(trade.fill(if key & 1 == 1 { Role::Taker } else { Role::Maker }));
            }
        }
        match reached {
            Some(key) if next > first => Place::Before(key),
            _ => Place::End,
        }
    }

    fn trades(&self, market: MarketId, limit: usize, trades: &mut Vec<TradeRecord>) {
        if let Some(list) = self.market_trades.get(market as usize) {
            trades.extend(list.iter().rev().take(limit).map(|place| *self.trades.at(*place)));
        }
    }

    fn last_trade(&self, market: MarketId) -> Option<TradeRecord> {
        *self.last_trades.get(market as usize)?
    }

    fn save(&self, writer: &mut Writer<'_>) {
        save_head(writer, self.forgotten, &self.last_trades);
        writer.count(self.ended.rows.len());
        for (sequence, order) in self.ended.rows.iter() {
            writer.u64(*sequence);
            order.save(writer);
        }
        writer.count(self.trades.rows.len());
        for (sequence, trade) in self.trades.rows.iter() {
            writer.u64(*sequence);
            writer.u64(trade.market.into());
            writer.u64(trade.trade);
            trade.save(writer);
        }
    }

    fn load(&mut self, reader: &mut Reader<'_>) -> Result<(), LoadError> {
        let mut loaded = RecentHistory::new(self.window);
        let last_trades;
        (loaded.forgotten, last_trades) = load_head(reader)?;
        let mut last = loaded.forgotten.through + 1;
        for _ in 0..reader.count()? {
            let sequence = ascending(reader, &mut last)?;
            let order = OrderRecord::load(reader)?;
            if order.status.is_resting() || loaded.index.get(order.order).is_some() || order.order >> 44 != 0
            {
                return Err(reader.bad("ended order"));
            }
            loaded.ended(&order, sequence);
        }
        last = loaded.forgotten.through + 1;
        for _ in 0..reader.count()? {
            let sequence = ascending(reader, &mut last)?;
            let market = market_of(reader)?;
            let trade = reader.u64()?;
            loaded.trade(&TradeRecord::load(reader, market, trade)?, sequence);
        }
        loaded.last_trades = last_trades;
        *self = loaded;
        Ok(())
    }
}

/// What every store that forgets saves first: where its memory begins, and the newest trade of each market.
pub fn save_head(writer: &mut Writer<'_>, forgotten: Forgotten, last_trades: &[Option<TradeRecord>]) {
    writer.u64(forgotten.through);
    writer.u64(forgotten.newest_order);
    writer.count(last_trades.iter().flatten().count());
    for trade in last_trades.iter().flatten() {
        writer.u64(trade.market.into());
        writer.u64(trade.trade);
        trade.save(writer);
    }
}

/// What [`save_head`] saved.
pub fn load_head(reader: &mut Reader<'_>) -> Result<(Forgotten, Vec<Option<TradeRecord>>), LoadError> {
    let forgotten = Forgotten { through: reader.u64()?, newest_order: reader.u64()? };
    if forgotten.through == Sequence::MAX {
        return Err(reader.bad("sequence"));
    }
    let mut last_trades = Vec::new();
    for _ in 0..reader.count()? {
        let market = market_of(reader)?;
        let trade = reader.u64()?;
        set_last(&mut last_trades, TradeRecord::load(reader, market, trade)?);
    }
    Ok((forgotten, last_trades))
}

/// Puts the newest trade of its market in place.
pub fn set_last(last_trades: &mut Vec<Option<TradeRecord>>, trade: TradeRecord) {
    let market = trade.market as usize;
    if market >= last_trades.len() {
        last_trades.resize(market + 1, None);
    }
    last_trades[market] = Some(trade);
}

/// Market ids are dense, so that a large one is none; it would only ask for memory.
fn market_of(reader: &mut Reader<'_>) -> Result<MarketId, LoadError> {
    let market: MarketId = reader.uint("market")?;
    if market >> 20 == 0 { Ok(market) } else { Err(reader.bad("market")) }
}

fn ascending(reader: &mut Reader<'_>, last: &mut Sequence) -> Result<Sequence, LoadError> {
    let sequence = reader.u64()?;
    if sequence < *last {
        return Err(reader.bad("sequence"));
    }
    *last = sequence;
    Ok(sequence)
}

/// The list at `index`, made where it is missing.
fn list_of<T>(lists: &mut Vec<VecDeque<T>>, index: u32) -> &mut VecDeque<T> {
    let index = index as usize;
    if index >= lists.len() {
        lists.resize_with(index + 1, VecDeque::new);
    }
    &mut lists[index]
}
