//! History in memory: complete, fast, and as long as memory lasts.
//!
//! Order ids and trade ids are dense, so rows stand at the index of their id and need no map; an account's lists hold
//! 8 bytes per order and per fill.

use super::chunked::Chunked;
use super::codec::{LoadError, Reader, Writer};
use super::history::{
    FillQuery, FillRecord, HistoryStore, OrderQuery, Place, Role, TimeRange, TradeRecord, seconds,
};
use super::order::OrderRecord;
use ringside_core::ids::{AccountId, MarketId, OrderId, TradeId};

/// Everything, in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryHistory {
    /// Order `id` at index `id - 1`; of a resting order only placement counts.
    orders: Chunked<OrderRecord>,
    /// Per market, trade `id` at index `id - 1`.
    trades: Vec<Chunked<TradeRecord>>,
    /// Per account, in order of placement.
    account_orders: Vec<Chunked<OrderId>>,
    /// Per account, in order of time.
    account_fills: Vec<Chunked<FillKey>>,
}

/// Names a fill in 8 bytes: market (20 bits), trade (43 bits), role (1 bit).
#[derive(Clone, Copy, Debug)]
struct FillKey(u64);

const TRADE_BITS: u32 = 43;

impl FillKey {
    fn new(trade: &TradeRecord, role: Role) -> FillKey {
        assert!(trade.market >> 20 == 0 && trade.trade >> TRADE_BITS == 0, "markets and trades fit a key");
        FillKey(
            u64::from(trade.market) << (TRADE_BITS + 1) | trade.trade << 1 | u64::from(role == Role::Taker),
        )
    }

    fn market(self) -> MarketId {
        (self.0 >> (TRADE_BITS + 1)) as MarketId
    }

    fn trade(self) -> TradeId {
        (self.0 >> 1) & ((1 << TRADE_BITS) - 1)
    }

    fn role(self) -> Role {
        if self.0 & 1 == 1 { Role::Taker } else { Role::Maker }
    }
}

impl MemoryHistory {
    fn trade_of(&self, key: FillKey) -> &TradeRecord {
        self.trades
            .get(key.market() as usize)
            .and_then(|trades| trades.get(key.trade() as usize - 1))
            .expect("a fill's trade is kept")
    }

    fn order_at(&self, order: OrderId) -> &OrderRecord {
        self.orders.get(order as usize - 1).expect("an account's order is kept")
    }
}

impl HistoryStore for MemoryHistory {
    fn order(&mut self, order: &OrderRecord) {
        let index = order.order as usize - 1;
        if let Some(row) = self.orders.get_mut(index) {
            *row = *order;
            return;
        }
        assert_eq!(index, self.orders.len(), "order ids are dense");
        self.orders.push(*order);
        list_of(&mut self.account_orders, order.account).push(order.order);
    }

    fn trade(&mut self, trade: &TradeRecord) {
        let trades = list_of(&mut self.trades, trade.market);
        assert_eq!(trade.trade as usize, trades.len() + 1, "trade ids are dense");
        trades.push(*trade);
        list_of(&mut self.account_fills, trade.maker_account).push(FillKey::new(trade, Role::Maker));
        list_of(&mut self.account_fills, trade.taker_account).push(FillKey::new(trade, Role::Taker));
    }

    fn ended_order(&self, order: OrderId) -> Option<OrderRecord> {
        let index = usize::try_from(order).ok()?.checked_sub(1)?;
        self.orders.get(index).filter(|row| !row.status.is_resting()).copied()
    }

    fn ended_orders(
        &self,
        query: &OrderQuery,
        place: Place,
        steps: usize,
        orders: &mut Vec<OrderRecord>,
    ) -> Place {
        let Some(list) = self.account_orders.get(query.account as usize) else { return Place::End };
        let created = |order: &OrderId| seconds(self.order_at(*order).created_ns);
        let first = list.partition_point(|order| created(order) < query.created.start_s);
        let mut next = match place {
            Place::Newest if query.created.end_s == TimeRange::ALL.end_s => list.len(),
            Place::Newest => list.partition_point(|order| created(order) <= query.created.end_s),
            Place::Before(order) => list.partition_point(|other| *other < order),
            Place::End => return Place::End,
        };
        for _ in 0..steps {
            if next <= first || orders.len() >= query.limit {
                return Place::End;
            }
            next -= 1;
            let order = self.order_at(*list.get(next).expect("below the length"));
            if !order.status.is_resting() && query.matches(order) {
                orders.push(*order);
            }
        }
        if next <= first { Place::End } else { Place::Before(*list.get(next).expect("below the length")) }
    }

    fn fills(&self, query: &FillQuery, place: Place, steps: usize, fills: &mut Vec<FillRecord>) -> Place {
        let Some(list) = self.account_fills.get(query.account as usize) else { return Place::End };
        let traded = |key: &FillKey| seconds(self.trade_of(*key).time_ns);
        let first = list.partition_point(|key| traded(key) < query.time.start_s);
        let mut next = match place {
            Place::Newest if query.time.end_s == TimeRange::ALL.end_s => list.len(),
            Place::Newest => list.partition_point(|key| traded(key) <= query.time.end_s),
            Place::Before(index) => index as usize,
            Place::End => return Place::End,
        };
        for _ in 0..steps {
            if next <= first || fills.len() >= query.limit {
                return Place::End;
            }
            next -= 1;
            let key = *list.get(next).expect("below the length");
            if query.market.is_none_or(|market| market == key.market()) {
                fills.push(self.trade_of(key).fill(key.role()));
            }
        }
        if next <= first { Place::End } else { Place::Before(next as u64) }
    }

    fn trades(&self, market: MarketId, limit: usize, trades: &mut Vec<TradeRecord>) {
        if let Some(list) = self.trades.get(market as usize) {
            trades.extend(list.iter().rev().take(limit));
        }
    }

    fn last_trade(&self, market: MarketId) -> Option<TradeRecord> {
        self.trades.get(market as usize)?.last().copied()
    }

    fn save(&self, writer: &mut Writer<'_>) {
        writer.count(self.orders.len());
        self.orders.iter().for_each(|order| order.save(writer));
        writer.count(self.trades.len());
        for trades in &self.trades {
            writer.count(trades.len());
            trades.iter().for_each(|trade| trade.save(writer));
        }
        // The accounts' lists of orders follow from the orders, but trades of several markets interleave in an
        // account's list of fills.
        writer.count(self.account_fills.len());
        for fills in &self.account_fills {
            writer.count(fills.len());
            fills.iter().for_each(|key| writer.u64(key.0));
        }
    }

    fn load(&mut self, reader: &mut Reader<'_>) -> Result<(), LoadError> {
        let mut loaded = MemoryHistory::default();
        for order in 1..=reader.count()? as OrderId {
            let record = OrderRecord::load(reader)?;
            if record.order != order {
                return Err(reader.bad("order id"));
            }
            loaded.order(&record);
        }
        for market in 0..reader.count()? {
            let market = MarketId::try_from(market).map_err(|_| reader.bad("market"))?;
            let trades = list_of(&mut loaded.trades, market);
            for trade in 1..=reader.count()? as TradeId {
                trades.push(TradeRecord::load(reader, market, trade)?);
            }
        }
        for account in 0..reader.count()? {
            let account = AccountId::try_from(account).map_err(|_| reader.bad("account"))?;
            for _ in 0..reader.count()? {
                let key = FillKey(reader.u64()?);
                let trades = loaded.trades.get(key.market() as usize);
                let index = (key.trade() as usize).wrapping_sub(1);
                if trades.is_none_or(|trades| trades.get(index).is_none()) {
                    return Err(reader.bad("fill"));
                }
                list_of(&mut loaded.account_fills, account).push(key);
            }
        }
        *self = loaded;
        Ok(())
    }
}

/// The list at `index`, made where it is missing.
fn list_of<T>(lists: &mut Vec<Chunked<T>>, index: u32) -> &mut Chunked<T> {
    let index = index as usize;
    if index >= lists.len() {
        lists.resize_with(index + 1, Chunked::default);
    }
    &mut lists[index]
}
