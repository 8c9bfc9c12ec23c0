//! Orders of the perpetual side: open ones, and those that ended.

use super::super::codec::{LoadError, Reader, Writer};
use super::super::hash::NumberMap;
use super::super::log::{Key, Log, Page, Retention, Row};
use super::rows::{FillRecord, name_tag};
use crate::stored::{events::ToldOrderV1, layouts, stored};
use ringside_core::command::{ClientOrder, PerpetualOrderType, PerpetualStatus, order_flag};
use ringside_core::event::{self, Execution};
use ringside_core::ids::{AccountId, MarketId, OrderId, Sequence};
use std::collections::BTreeSet;

/// One order as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The [`ringside_core::reject::Reject`] that it was refused with when its trigger came, else 0.
    pub refused: u32,
    /// When its trigger fired, UNIX milliseconds; 0 before, and where that was not kept.
    pub triggered_ms: i64,
}

/// Starts of the names of orders that close a position by force.
const LIQUIDATION_NAME: &str = "autoclose-";
/// The name of an order that auto-deleveraging fills.
const DELEVERAGING_NAME: &str = "adl_autoclose";

/// Why an order closes a position by force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forced {
    /// Its account is liquidated.
    Liquidation = 1,
    /// Another one is, and this one takes over.
    Deleveraging = 2,
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
            refused: 0,
            triggered_ms: if has_fired(told) { time_ms } else { 0 },
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
                    record.filled(trade.quantity, trade.value, trade.flags & whole != 0, time_ms);
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

    /// Whether it belongs to the conditional-order service. Fired, it goes on as another order that does not.
    pub fn is_of_service(&self) -> bool {
        self.told.flags & order_flag::CONDITIONAL_SERVICE != 0
    }

    /// Whether it closes a position by force.
    pub fn forced(&self) -> Option<Forced> {
        let name = self.client_order();
        match self.told.order_type {
            // Clients may give such names to orders of theirs.
            kind if kind == PerpetualOrderType::Liquidation as u8 && name.starts_with(LIQUIDATION_NAME) => {
                Some(Forced::Liquidation)
            }
            kind if kind == PerpetualOrderType::Liquidation as u8 && name == DELEVERAGING_NAME => {
                Some(Forced::Deleveraging)
            }
            _ => None,
        }
    }

    /// Its name as text.
    pub fn client_order(&self) -> &str {
        let len = self.client_order.iter().position(|byte| *byte == 0).unwrap_or(self.client_order.len());
        // Names are ASCII, as the engine checks.
        std::str::from_utf8(&self.client_order[..len]).unwrap_or("")
    }
}

impl Row for OrderRecord {
    const IS_LATE: bool = true;
    const HAS_FACETS: bool = true;

    fn key(&self) -> Key {
        Key {
            owner: self.told.account,
            market: self.told.market,
            id: self.told.order,
            time_ms: self.created_ms,
            tag: name_tag(self.told.market, &self.client_order),
        }
    }

    fn facet(&self) -> u8 {
        order_facet(self.told.side, self.told.status)
    }
}

/// What orders are filtered by: side and status. The archive counts by it, so it stays what it is.
pub fn order_facet(side: u8, status: u8) -> u8 {
    side << 3 | status
}

/// An order of a liquidation or of auto-deleveraging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForcedRecord(pub OrderRecord);

impl From<OrderRecord> for ForcedRecord {
    fn from(order: OrderRecord) -> ForcedRecord {
        ForcedRecord(order)
    }
}

impl From<ForcedRecord> for OrderRecord {
    fn from(forced: ForcedRecord) -> OrderRecord {
        forced.0
    }
}

impl Row for ForcedRecord {
    const IS_LATE: bool = true;

    fn key(&self) -> Key {
        Key { tag: self.0.forced().map_or(0, |forced| forced as u64), ..self.0.key() }
    }
}

/// Whether the engine tells that the order's trigger has fired.
fn has_fired(told: &event::PerpetualOrder) -> bool {
    told.execution == Execution::Triggered as u8
}

/// Orders ended by one command for which the room is kept.
const ENDED_AT_ONCE: usize = 1_024;

/// All orders that are known.
#[derive(Clone, Debug)]
pub struct OrderTable {
    open: NumberMap<OrderId, OrderRecord>,
    open_of: NumberMap<AccountId, BTreeSet<OrderId>>,
    pub(super) ended: Log<OrderRecord>,
    pub(super) service: Log<OrderRecord>,
    pub(super) forced: Log<ForcedRecord>,
    /// What the command folded last ended.
    just_ended: NumberMap<OrderId, OrderRecord>,
}

impl OrderTable {
    pub(super) fn new(keep: Retention) -> OrderTable {
        OrderTable {
            open: NumberMap::default(),
            open_of: NumberMap::default(),
            ended: Log::new(keep),
            service: Log::new(keep),
            forced: Log::new(keep),
            just_ended: NumberMap::default(),
        }
    }

    pub(super) fn told(
        &mut self,
        told: &event::PerpetualOrder,
        placed: Option<&event::PerpetualPlaced>,
        sequence: Sequence,
        time_ms: i64,
    ) {
        let record = match self.open.get(&told.order) {
            Some(before) => {
                let triggered_ms = if has_fired(told) { time_ms } else { before.triggered_ms };
                OrderRecord { told: *told, updated_ms: time_ms, triggered_ms, ..*before }
            }
            None => OrderRecord::new(told, placed, time_ms),
        };
        self.put(sequence, record);
    }

    /// The order of the conditional-order service went on as another.
    pub(super) fn fired(&mut self, order: OrderId, as_order: OrderId, sequence: Sequence, time_ms: i64) {
        let Some(mut record) = self.open.get(&order).copied() else { return };
        record.counterpart = as_order;
        record.updated_ms = time_ms;
        self.end(sequence, record);
    }

    /// An order was refused when its trigger came; its end is told next.
    pub(super) fn refused(&mut self, refused: &event::TriggerRefused) {
        if let Some(record) = self.open.get_mut(&refused.order) {
            record.refused = refused.reject.into();
        }
    }

    pub(super) fn traded(&mut self, fill: &FillRecord, is_filled: bool, sequence: Sequence) {
        let Some(record) = self.open.get_mut(&fill.order) else { return };
        record.filled(fill.quantity, fill.value, is_filled, fill.time_ms);
        if !record.is_open() {
            let record = *record;
            self.end(sequence, record);
        }
    }

    pub(super) fn put(&mut self, sequence: Sequence, record: OrderRecord) {
        if record.is_open() {
            if self.open.insert(record.told.order, record).is_none() {
                self.open_of.entry(record.told.account).or_default().insert(record.told.order);
            }
        } else {
            self.end(sequence, record);
        }
    }

    fn end(&mut self, sequence: Sequence, record: OrderRecord) {
        let (order, account) = (record.told.order, record.told.account);
        if self.open.remove(&order).is_some()
            && let Some(own) = self.open_of.get_mut(&account)
        {
            own.remove(&order);
            if own.is_empty() {
                self.open_of.remove(&account);
            }
        }
        self.just_ended.insert(order, record);
        if record.is_of_service() {
            self.service.push(sequence, record);
            return;
        }
        self.ended.push(sequence, record);
        if record.forced().is_some() {
            self.forced.push(sequence, ForcedRecord(record));
        }
    }

    /// An open order.
    pub fn open(&self, order: OrderId) -> Option<&OrderRecord> {
        self.open.get(&order)
    }

    /// An order that is open, or that the command folded last ended.
    pub fn current(&self, order: OrderId) -> Option<&OrderRecord> {
        self.open.get(&order).or_else(|| self.just_ended.get(&order))
    }

    /// A command begins.
    pub(super) fn begin(&mut self) {
        // To empty a table takes its room, which one mass end would leave to every command behind it.
        if self.just_ended.capacity() > ENDED_AT_ONCE {
            self.just_ended = NumberMap::default();
        }
        self.just_ended.clear();
    }

    /// Open orders of an account, oldest first, those that wait included.
    pub fn open_of(&self, account: AccountId) -> impl DoubleEndedIterator<Item = &OrderRecord> {
        self.open_of.get(&account).into_iter().flatten().filter_map(|order| self.open.get(order))
    }

    /// The open order of an account with a client's name; `is_of_service` tells orders of the conditional-order service from
    /// others.
    pub fn open_named(
        &self,
        account: AccountId,
        market: MarketId,
        name: &str,
        is_of_service: bool,
    ) -> Option<&OrderRecord> {
        self.open_of(account).find(|order| {
            order.told.market == market
                && order.is_of_service() == is_of_service
                && order.client_order() == name
        })
    }

    /// Ended orders, those of the conditional-order service apart.
    pub fn ended(&self) -> &Log<OrderRecord> {
        &self.ended
    }

    /// Ended orders of the conditional-order service.
    pub fn service(&self) -> &Log<OrderRecord> {
        &self.service
    }

    /// Ended orders that closed positions by force.
    pub fn forced(&self) -> &Log<ForcedRecord> {
        &self.forced
    }

    /// The order of an id in an account's market, open or among those ended that are kept.
    pub fn get(&self, account: AccountId, market: MarketId, order: OrderId) -> Option<&OrderRecord> {
        let open = self.open.get(&order);
        open.filter(|open| open.told.account == account && open.told.market == market)
            .or_else(|| self.ended.get(account, market, order))
            .or_else(|| self.service.get(account, market, order))
    }

    /// Open orders within a page, oldest first.
    pub fn open_page(&self, page: &Page, is_of_service: bool) -> Vec<OrderRecord> {
        let is_wanted = |order: &&OrderRecord| order.is_of_service() == is_of_service && page.wants(*order);
        let open = self.open_of(page.owner).filter(is_wanted).copied();
        match page.is_oldest {
            true => open.take(page.limit).collect(),
            false => open.rev().take(page.limit).collect(),
        }
    }

    /// The histories, to let go of what is archived.
    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        let mut open: Vec<&OrderRecord> = self.open.values().collect();
        open.sort_unstable_by_key(|order| order.told.order);
        writer.count(open.len());
        open.into_iter().for_each(|order| writer.record(order));
        self.ended.save(writer);
        self.service.save(writer);
        self.forced.save(writer);
    }

    pub(super) fn load(reader: &mut Reader<'_>, keep: Retention) -> Result<OrderTable, LoadError> {
        let mut table = OrderTable::new(keep);
        for _ in 0..reader.count()? {
            let record: OrderRecord = reader.record()?;
            if !record.is_open() {
                return Err(reader.bad("open order"));
            }
            table.put(0, record);
        }
        table.ended = Log::load(reader, keep)?;
        table.service = Log::load(reader, keep)?;
        table.forced = Log::load(reader, keep)?;
        Ok(table)
    }
}

layouts! {
    /// A perpetual order.
    OrderV1 of OrderRecord {
        told: ToldOrderV1, created_ms: i64, updated_ms: i64, counterpart: u64, client_order: [u8; 36], refused: u32;
        lacks triggered_ms: 0
    }

    /// With the time at which a conditional order fired.
    OrderV2 of OrderRecord, after OrderV1 { triggered_ms: i64 }
}

stored! {
    OrderRecord as Orders: OrderV1, OrderV2;
    ForcedRecord as Orders: OrderV1, OrderV2;
}
