//! History in memory: complete, fast, and as long as memory lasts. For tools, and to compare the archive with.
//!
//! Order ids are dense but for those of perpetual orders, trade ids are dense, so what must be found by id stands at the index
//! of the id and needs no map. Rows are appended where they are written last: 72 bytes for an ended order and 16 to find it,
//! 80 for a trade and 16 for its two fills.

use super::chunked::Chunked;
use super::codec::{LoadError, Reader, Writer};
use super::history::{FillQuery, FillRecord, HistoryStore, OrderQuery, Place, Role, TradeRecord, seconds};
use super::order::OrderRecord;
use ringside_core::command::{OrderStatus, OrderType, Side, TimeInForce};
use ringside_core::ids::{AccountId, FEE_ACCOUNT, MarketId, OrderId, Sequence, TradeId};
use ringside_core::money::{Price, Quantity, RawAmount};
use ringside_core::reject::Reject;

/// Everything, in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryHistory {
    /// Order `id` at index `id - 1`.
    placed: Chunked<Placed>,
    /// In the order in which they ended.
    ended: Chunked<Ended>,
    /// Per market, trade `id` at index `id - 1`.
    trades: Vec<Chunked<Traded>>,
    /// Per account, in order of placement.
    account_orders: Vec<Chunked<OrderId>>,
    /// Per account, in order of time.
    account_fills: Vec<Chunked<FillKey>>,
}

/// What is known of every order.
#[derive(Clone, Copy, Debug)]
struct Placed {
    /// UNIX seconds; 32 unsigned bits reach into 2106.
    created_s: u32,
    /// Index in `ended`, or [`RESTING`].
    place: u32,
}

const RESTING: u32 = u32::MAX;
/// In the place of an order of the perpetual side, which has its id of the same counter.
const ELSEWHERE: Placed = Placed { created_s: 0, place: RESTING };

/// An ended order: [`OrderRecord`] without its id and without what its kind does not use.
#[derive(Clone, Copy, Debug)]
struct Ended {
    account: AccountId,
    market: MarketId,
    side: Side,
    order_type: OrderType,
    time_in_force: TimeInForce,
    status: OrderStatus,
    reject: Option<Reject>,
    /// Price and quantity, or the quote quantity of a market buy.
    size: RawAmount,
    filled: Quantity,
    traded: RawAmount,
    created_ns: i64,
    updated_ns: i64,
}

const _: () = assert!(size_of::<Ended>() == 72 && size_of::<Traded>() == 80);

impl Ended {
    fn of(order: &OrderRecord) -> Ended {
        let size = match (order.order_type, order.side) {
            (OrderType::Market, Side::Buy) => order.quote_quantity,
            _ => i128::from(order.price) << 64 | i128::from(order.quantity),
        };
        Ended {
            account: order.account,
            market: order.market,
            side: order.side,
            order_type: order.order_type,
            time_in_force: order.time_in_force,
            status: order.status,
            reject: order.reject,
            size: size.into(),
            filled: order.filled,
            traded: order.traded.into(),
            created_ns: order.created_ns,
            updated_ns: order.updated_ns,
        }
    }

    fn record(&self, order: OrderId) -> OrderRecord {
        let (price, quantity, quote_quantity) = match (self.order_type, self.side, self.size.get()) {
            (OrderType::Market, Side::Buy, size) => (0, 0, size),
            (_, _, size) => ((size >> 64) as Price, size as Quantity, 0),
        };
        OrderRecord {
            order,
            account: self.account,
            market: self.market,
            side: self.side,
            order_type: self.order_type,
            time_in_force: self.time_in_force,
            status: self.status,
            reject: self.reject,
            price,
            quantity,
            filled: self.filled,
            quote_quantity,
            traded: self.traded.get(),
            created_ns: self.created_ns,
            updated_ns: self.updated_ns,
        }
    }
}

/// A trade: [`TradeRecord`] without its id and market.
#[derive(Clone, Copy, Debug)]
struct Traded {
    price: Price,
    quantity: Quantity,
    maker_order: OrderId,
    taker_order: OrderId,
    maker_fee: RawAmount,
    taker_fee: RawAmount,
    time_ns: i64,
    maker_account: AccountId,
    /// The account, shifted by one; the lowest bit is set when the taker sells. Account ids stay below 2^31.
    taker_account_and_side: u32,
}

impl Traded {
    fn of(trade: &TradeRecord) -> Traded {
        assert!(trade.taker_account >> 31 == 0, "account ids stay below 2^31");
        Traded {
            price: trade.price,
            quantity: trade.quantity,
            maker_order: trade.maker_order,
            taker_order: trade.taker_order,
            maker_fee: trade.maker_fee.into(),
            taker_fee: trade.taker_fee.into(),
            time_ns: trade.time_ns,
            maker_account: trade.maker_account,
            taker_account_and_side: trade.taker_account << 1 | u32::from(trade.taker_side == Side::Sell),
        }
    }

    fn record(&self, market: MarketId, trade: TradeId) -> TradeRecord {
        let taker_side = if self.taker_account_and_side & 1 == 1 { Side::Sell } else { Side::Buy };
        TradeRecord {
            trade,
            market,
            taker_side,
            price: self.price,
            quantity: self.quantity,
            maker_order: self.maker_order,
            taker_order: self.taker_order,
            maker_account: self.maker_account,
            taker_account: self.taker_account_and_side >> 1,
            maker_fee: self.maker_fee.get(),
            taker_fee: self.taker_fee.get(),
            time_ns: self.time_ns,
        }
    }
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
    fn trade_at(&self, market: MarketId, trade: TradeId) -> Option<&Traded> {
        self.trades.get(market as usize)?.get((trade as usize).checked_sub(1)?)
    }

    fn traded(&self, key: FillKey) -> &Traded {
        self.trade_at(key.market(), key.trade()).expect("a fill's trade is kept")
    }

    fn placed_at(&self, order: OrderId) -> Option<&Placed> {
        self.placed.get(usize::try_from(order).ok()?.checked_sub(1)?)
    }

    fn created_s(&self, order: OrderId) -> i64 {
        self.placed_at(order).map_or(0, |placed| i64::from(placed.created_s))
    }
}

impl HistoryStore for MemoryHistory {
    fn placed(&mut self, order: OrderId, account: AccountId, created_ns: i64) {
        assert!(order as usize > self.placed.len(), "order ids ascend");
        while self.placed.len() + 1 < order as usize {
            self.placed.push(ELSEWHERE);
        }
        let created_s = u32::try_from(seconds(created_ns)).unwrap_or(u32::MAX);
        self.placed.push(Placed { created_s, place: RESTING });
        list_of(&mut self.account_orders, account).push(order);
    }

    fn ended(&mut self, order: &OrderRecord, _sequence: Sequence) {
        let place = u32::try_from(self.ended.len()).expect("fewer than 2^32 orders are kept in memory");
        self.ended.push(Ended::of(order));
        let placed =
            self.placed.get_mut(order.order as usize - 1).expect("an order is placed before it ends");
        placed.place = place;
    }

    fn trade(&mut self, trade: &TradeRecord, _sequence: Sequence) {
        let trades = list_of(&mut self.trades, trade.market);
        assert_eq!(trade.trade as usize, trades.len() + 1, "trade ids are dense");
        trades.push(Traded::of(trade));
        list_of(&mut self.account_fills, trade.maker_account).push(FillKey::new(trade, Role::Maker));
        list_of(&mut self.account_fills, trade.taker_account).push(FillKey::new(trade, Role::Taker));
    }

    fn ended_order(&self, order: OrderId) -> Option<OrderRecord> {
        let place = self.placed_at(order)?.place;
        self.ended.get(place as usize).map(|ended| ended.record(order))
    }

    fn ended_orders(
        &self,
        query: &OrderQuery,
        place: Place,
        steps: usize,
        orders: &mut Vec<OrderRecord>,
    ) -> Place {
        let Some(list) = self.account_orders.get(query.account as usize) else { return Place::End };
        let first = list.partition_point(|order| self.created_s(*order) < query.created.start_s);
        let mut next = match place {
            Place::Newest => list.partition_point(|order| self.created_s(*order) <= query.created.end_s),
            Place::Before(order) => list.partition_point(|other| *other < order),
            Place::End => return Place::End,
        };
        let mut reached = None;
        for _ in 0..steps {
            if next <= first || orders.len() >= query.limit {
                return Place::End;
            }
            next -= 1;
            let order = *list.get(next).expect("below the length");
            reached = Some(order);
            if let Some(ended) = self.ended_order(order).filter(|ended| query.matches(ended)) {
                orders.push(ended);
            }
        }
        match reached {
            Some(order) if next > first => Place::Before(order),
            _ => Place::End,
        }
    }

    fn fills(&self, query: &FillQuery, place: Place, steps: usize, fills: &mut Vec<FillRecord>) -> Place {
        let Some(list) = self.account_fills.get(query.account as usize) else { return Place::End };
        let traded_s = |key: &FillKey| seconds(self.traded(*key).time_ns);
        let first = list.partition_point(|key| traded_s(key) < query.time.start_s);
        let mut next = match place {
            Place::Newest => list.partition_point(|key| traded_s(key) <= query.time.end_s),
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
                fills.push(self.traded(key).record(key.market(), key.trade()).fill(key.role()));
            }
        }
        if next <= first { Place::End } else { Place::Before(next as u64) }
    }

    fn trades(&self, market: MarketId, limit: usize, trades: &mut Vec<TradeRecord>) {
        if let Some(list) = self.trades.get(market as usize) {
            let newest = (1..=list.len() as TradeId).rev().zip(list.iter().rev());
            trades.extend(newest.take(limit).map(|(trade, row)| row.record(market, trade)));
        }
    }

    fn last_trade(&self, market: MarketId) -> Option<TradeRecord> {
        let list = self.trades.get(market as usize)?;
        list.last().map(|row| row.record(market, list.len() as TradeId))
    }

    fn save(&self, writer: &mut Writer<'_>) {
        writer.reserve(48 * (self.placed.len() + self.trades.iter().map(Chunked::len).sum::<usize>()));
        // In order of placement. A resting order is saved by those who have it; here its account and time count.
        let mut owners = vec![0; self.placed.len()];
        for (account, orders) in (0..).zip(&self.account_orders) {
            orders.iter().for_each(|order| owners[*order as usize - 1] = account);
        }
        writer.count(self.placed.len());
        for ((order, placed), owner) in (1..).zip(self.placed.iter()).zip(owners) {
            match self.ended.get(placed.place as usize) {
                Some(ended) => ended.record(order).save(writer),
                None => {
                    writer.u64(0);
                    writer.u64(owner);
                    writer.u64(placed.created_s.into());
                }
            }
        }
        writer.count(self.trades.len());
        for (market, trades) in (0..).zip(&self.trades) {
            writer.count(trades.len());
            (1..).zip(trades.iter()).for_each(|(trade, row)| row.record(market, trade).save(writer));
        }
        // Trades of several markets interleave in an account's fills.
        writer.count(self.account_fills.len());
        for fills in &self.account_fills {
            writer.count(fills.len());
            fills.iter().for_each(|key| writer.u64(key.0));
        }
    }

    fn load(&mut self, reader: &mut Reader<'_>) -> Result<(), LoadError> {
        let mut loaded = MemoryHistory::default();
        for order in 1..=reader.count()? as OrderId {
            match reader.u64()? {
                0 => {
                    let account = reader.account()?;
                    let created_s: u32 = reader.uint("time")?;
                    // Nobody's order is one of the perpetual side.
                    if account == FEE_ACCOUNT {
                        loaded.placed.push(ELSEWHERE);
                        continue;
                    }
                    loaded.placed(order, account, i64::from(created_s) * 1_000_000_000);
                }
                id if id == order => {
                    let record = OrderRecord::load_rest(order, reader)?;
                    loaded.placed(order, record.account, record.created_ns);
                    loaded.ended(&record, 0);
                }
                _ => return Err(reader.bad("order id")),
            }
        }
        for market in 0..reader.count()? {
            let market = MarketId::try_from(market).map_err(|_| reader.bad("market"))?;
            let trades = list_of(&mut loaded.trades, market);
            for trade in 1..=reader.count()? as TradeId {
                trades.push(Traded::of(&TradeRecord::load(reader, market, trade)?));
            }
        }
        for account in 0..reader.count()? {
            let account = AccountId::try_from(account).map_err(|_| reader.bad("account"))?;
            for _ in 0..reader.count()? {
                let key = FillKey(reader.u64()?);
                if loaded.trade_at(key.market(), key.trade()).is_none() {
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
