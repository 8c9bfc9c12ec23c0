//! Orders of the perpetual side: open ones, and the newest that ended.

use super::super::codec::{LoadError, Reader, Writer};
use super::recent::{Owned, Recent};
use super::rows::FillRecord;
use ringside_core::command::{ClientOrder, PerpetualStatus, order_flag};
use ringside_core::event;
use ringside_core::ids::{AccountId, MarketId, OrderId};
use ringside_core::risk::perpetual::units::floor_value;
use std::collections::{BTreeSet, HashMap};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// One order as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct OrderRecord {
    /// What the engine told last, with the fills since in it.
    pub told: event::PerpetualOrder,
    /// UNIX milliseconds.
    pub created_ms: i64,
    /// UNIX milliseconds of the last change.
    pub updated_ms: i64,
    /// On the conditional-order service: the order that this one became, or came from; else 0.
    pub counterpart: OrderId,
    /// Its name, padded with zeros.
    pub client_order: ClientOrder,
    /// Zero.
    pub reserved: u32,
}

impl OrderRecord {
    /// An order that the engine tells of for the first time.
    pub fn new(
        told: &event::PerpetualOrder,
        placed: Option<&event::PerpetualPlaced>,
        time_ms: i64,
    ) -> OrderRecord {
        OrderRecord {
            told: *told,
            created_ms: time_ms,
            updated_ms: time_ms,
            counterpart: placed.map_or(0, |placed| placed.fired),
            client_order: placed.map_or([0; 36], |placed| placed.client_order),
            reserved: 0,
        }
    }

    /// What one command made of an order: its state after the last of the command's events, before anything later changed
    /// it. `None` where they do not tell of it.
    pub fn of_command(order: OrderId, events: &[event::Event]) -> Option<OrderRecord> {
        let mut placed = None;
        let mut record: Option<OrderRecord> = None;
        for event in events {
            let time_ms = event.time_ns.div_euclid(1_000_000);
            if let Some(named) = event.get::<event::PerpetualPlaced>()
                && named.order == order
            {
                placed = Some(*named);
            }
            if let Some(told) = event.get::<event::PerpetualOrder>()
                && told.order == order
            {
                record = Some(OrderRecord::new(told, placed.as_ref(), time_ms));
            }
            let (Some(trade), Some(record)) = (event.get::<event::PerpetualTrade>(), &mut record) else {
                continue;
            };
            for (side, whole) in [(trade.maker_order, 1), (trade.taker_order, 2)] {
                if side == order {
                    let value = floor_value(trade.quantity, trade.price).unwrap_or(i64::MAX);
                    record.filled(trade.quantity, value, trade.flags & whole != 0, time_ms);
                }
            }
        }
        record
    }

    /// A fill of it.
    pub fn filled(&mut self, quantity: i64, value: i64, is_whole: bool, time_ms: i64) {
        self.told.filled += quantity;
        self.told.value = self.told.value.saturating_add(value);
        self.told.open = if is_whole { 0 } else { (self.told.open - quantity).max(0) };
        let status = if is_whole { PerpetualStatus::Filled } else { PerpetualStatus::PartiallyFilled };
        self.told.status = status as u8;
        self.updated_ms = time_ms;
    }

    /// Whether it rests or waits.
    pub fn is_open(&self) -> bool {
        self.told.status <= PerpetualStatus::PartiallyFilled as u8
    }

    /// Whether it waits for its trigger.
    pub fn is_waiting(&self) -> bool {
        self.told.order_type > 1 && self.told.order_type == self.told.original_type
    }

    /// Whether it belongs to the conditional-order service: placed there, and not fired.
    pub fn is_of_service(&self) -> bool {
        self.told.flags & order_flag::CONDITIONAL_SERVICE != 0 && self.is_waiting()
    }

    /// Its name as text.
    pub fn client_order(&self) -> &str {
        let len = self.client_order.iter().position(|byte| *byte == 0).unwrap_or(self.client_order.len());
        // Names are ASCII, as the engine checks.
        std::str::from_utf8(&self.client_order[..len]).unwrap_or("")
    }
}

impl Owned for OrderRecord {
    fn owner(&self) -> AccountId {
        self.told.account
    }
}

/// All orders that are known.
#[derive(Clone, Debug)]
pub struct OrderTable {
    open: HashMap<OrderId, OrderRecord>,
    open_of: HashMap<AccountId, BTreeSet<OrderId>>,
    ended: Recent<OrderRecord>,
    ended_at: HashMap<OrderId, u64>,
}

impl OrderTable {
    pub(super) fn new(max: usize) -> OrderTable {
        OrderTable {
            open: HashMap::new(),
            open_of: HashMap::new(),
            ended: Recent::new(max),
            ended_at: HashMap::new(),
        }
    }

    pub(super) fn told(
        &mut self,
        told: &event::PerpetualOrder,
        placed: Option<&event::PerpetualPlaced>,
        time_ms: i64,
    ) {
        let record = match self.open.get(&told.order) {
            Some(before) => OrderRecord { told: *told, updated_ms: time_ms, ..*before },
            None => OrderRecord::new(told, placed, time_ms),
        };
        self.put(record);
    }

    /// The order of the conditional-order service went on as another.
    pub(super) fn fired(&mut self, order: OrderId, as_order: OrderId, time_ms: i64) {
        let Some(mut record) = self.open.get(&order).copied() else { return };
        record.counterpart = as_order;
        record.updated_ms = time_ms;
        self.end(record);
    }

    pub(super) fn traded(&mut self, fill: &FillRecord, is_filled: bool) {
        let Some(mut record) = self.open.get(&fill.order).copied() else { return };
        record.filled(fill.quantity, fill.value, is_filled, fill.time_ms);
        self.put(record);
    }

    fn put(&mut self, record: OrderRecord) {
        if record.is_open() {
            if self.open.insert(record.told.order, record).is_none() {
                self.open_of.entry(record.told.account).or_default().insert(record.told.order);
            }
        } else {
            self.end(record);
        }
    }

    fn end(&mut self, record: OrderRecord) {
        let (order, account) = (record.told.order, record.told.account);
        if self.open.remove(&order).is_some()
            && let Some(own) = self.open_of.get_mut(&account)
        {
            own.remove(&order);
            if own.is_empty() {
                self.open_of.remove(&account);
            }
        }
        let (place, gone) = self.ended.push(record);
        self.ended_at.insert(order, place);
        if let Some(gone) = gone {
            self.ended_at.remove(&gone.told.order);
        }
    }

    /// The order of an id, open or lately ended.
    pub fn get(&self, order: OrderId) -> Option<&OrderRecord> {
        self.open.get(&order).or_else(|| self.ended.get(*self.ended_at.get(&order)?))
    }

    /// Open orders of an account, oldest first, those that wait included.
    pub fn open_of(&self, account: AccountId) -> impl DoubleEndedIterator<Item = &OrderRecord> {
        self.open_of.get(&account).into_iter().flatten().filter_map(|order| self.open.get(order))
    }

    /// Ended orders of an account in the order in which they ended.
    pub fn ended_of(&self, account: AccountId) -> impl DoubleEndedIterator<Item = &OrderRecord> {
        self.ended.of_account(account)
    }

    /// All ended orders that are kept.
    pub fn ended(&self) -> impl DoubleEndedIterator<Item = &OrderRecord> {
        self.ended.iter()
    }

    /// The order of an account with a client's name: an open one first, else the newest that ended.
    pub fn named(&self, account: AccountId, market: MarketId, name: &str) -> Option<&OrderRecord> {
        let is_it = |order: &&OrderRecord| order.told.market == market && order.client_order() == name;
        self.open_of(account)
            .find(is_it)
            .or_else(|| self.ended_of(account).filter(is_it).max_by_key(|order| order.told.order))
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        let mut open: Vec<&OrderRecord> = self.open.values().collect();
        open.sort_unstable_by_key(|order| order.told.order);
        writer.count(open.len());
        open.into_iter().for_each(|order| writer.record(order));
        self.ended.save(writer);
    }

    pub(super) fn load(reader: &mut Reader<'_>, max: usize) -> Result<OrderTable, LoadError> {
        let mut table = OrderTable::new(max);
        for _ in 0..reader.count()? {
            let record: OrderRecord = reader.record()?;
            if !record.is_open() {
                return Err(reader.bad("open order"));
            }
            table.put(record);
        }
        table.ended = Recent::load(reader, max)?;
        let first = table.ended.first();
        table.ended_at =
            table.ended.iter().zip(first..).map(|(order, place)| (order.told.order, place)).collect();
        Ok(table)
    }
}
