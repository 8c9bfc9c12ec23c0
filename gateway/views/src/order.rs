//! Orders in the books, each with what the wire shows of it. Ended orders are the history's (see [`super::history`]).

use super::codec::{LoadError, Reader, Writer};
use super::log::{Key, Page, Row};
use super::order_index::OrderIndex;
use super::segmented_vec::SegmentedVec;
use super::time::milliseconds;
use crate::stored::{Sum, layouts, stored};
use ringside_core::command::{OrderStatus, OrderType, Side, TimeInForce};
use ringside_core::event;
use ringside_core::ids::{AccountId, MarketId, OrderId};
use ringside_core::money::{Amount, Price, Quantity, notional};
use ringside_core::reject::Reject;

/// An order as its last change left it. 96 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderRecord {
    /// Order id.
    pub order: OrderId,
    /// Account id.
    pub account: AccountId,
    /// Market id.
    pub market: MarketId,
    /// Buy or sell.
    pub side: Side,
    /// How it is priced.
    pub order_type: OrderType,
    /// What becomes of a remainder.
    pub time_in_force: TimeInForce,
    /// Where it stands.
    pub status: OrderStatus,
    /// Why it was rejected, where it was.
    pub reject: Option<Reject>,
    /// Limit price, 0 for market orders.
    pub price: Price,
    /// As ordered; 0 for a market buy sized in quote.
    pub quantity: Quantity,
    /// Base traded so far.
    pub filled: Quantity,
    /// Quote to spend as ordered, 0 unless a market buy.
    pub quote_quantity: Amount,
    /// Quote traded so far: the sum of price x quantity of its fills, fees apart.
    pub traded: Amount,
    /// When it was placed, nanoseconds of the UNIX epoch.
    pub created_ns: i64,
    /// When it last changed.
    pub updated_ns: i64,
}

const _: () = assert!(size_of::<OrderRecord>() == 96);

impl OrderRecord {
    /// The order of an event; `traded` and `created_ns` are what the event does not say.
    pub fn of_event(order: &event::Order, traded: Amount, created_ns: i64, updated_ns: i64) -> OrderRecord {
        OrderRecord {
            order: order.order,
            account: order.account,
            market: order.market,
            side: Side::from_code(order.side).expect("the engine emits known sides"),
            order_type: OrderType::from_code(order.order_type).expect("the engine emits known types"),
            time_in_force: TimeInForce::from_code(order.time_in_force)
                .expect("the engine emits known times in force"),
            status: OrderStatus::from_code(order.status).expect("the engine emits known statuses"),
            reject: Reject::from_code(order.reject),
            price: order.price,
            quantity: order.quantity,
            filled: order.filled,
            quote_quantity: order.quote_quantity.get(),
            traded,
            created_ns,
            updated_ns,
        }
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.u64(self.order);
        writer.u64(self.account.into());
        writer.u64(self.market.into());
        writer.fixed(&[self.side as u8, self.order_type as u8, self.time_in_force as u8, self.status as u8]);
        writer.u64(self.reject.map_or(0, |reject| reject.code().into()));
        writer.i64(self.price);
        writer.i64(self.quantity);
        writer.i64(self.filled);
        writer.i128(self.quote_quantity);
        writer.i128(self.traded);
        writer.i64(self.created_ns);
        writer.i64(self.updated_ns - self.created_ns);
    }

    pub(super) fn load(reader: &mut Reader<'_>) -> Result<OrderRecord, LoadError> {
        let mut record = OrderRecord {
            order: reader.u64()?,
            account: reader.account()?,
            market: reader.uint("market")?,
            side: reader.code("side", Side::from_code)?,
            order_type: reader.code("order type", OrderType::from_code)?,
            time_in_force: reader.code("time in force", TimeInForce::from_code)?,
            status: reader.code("order status", OrderStatus::from_code)?,
            reject: Reject::from_code(reader.uint("reject")?),
            price: reader.i64()?,
            quantity: reader.i64()?,
            filled: reader.i64()?,
            quote_quantity: reader.i128()?,
            traded: reader.i128()?,
            created_ns: reader.i64()?,
            updated_ns: 0,
        };
        let age = reader.i64()?;
        record.updated_ns = record.created_ns.checked_add(age).ok_or_else(|| reader.bad("time"))?;
        Ok(record)
    }
}

impl Row for OrderRecord {
    const IS_LATE: bool = true;
    const HAS_FACETS: bool = true;

    fn key(&self) -> Key {
        let time_ms = milliseconds(self.created_ns);
        Key { owner: self.account, market: self.market, id: self.order, time_ms, tag: 0 }
    }

    /// Where it stands.
    fn facet(&self) -> u8 {
        self.status as u8
    }
}

/// Every resting order, by id and by account.
#[derive(Clone, Debug, Default)]
pub struct OpenOrders {
    slots: SegmentedVec<OrderRecord>,
    /// Slots that hold no order.
    free: Vec<u32>,
    index: OrderIndex,
    /// Slots of each account's orders, oldest order first. Lists are short (a few hundred per market at most), so they are
    /// searched from end to end.
    by_account: Vec<Vec<u32>>,
}

impl OpenOrders {
    /// The resting order of an id.
    pub fn get(&self, order: OrderId) -> Option<&OrderRecord> {
        self.index.get(order).map(|slot| self.at(slot))
    }

    /// The resting orders of an account, oldest first.
    pub fn of_account(&self, account: AccountId) -> impl DoubleEndedIterator<Item = &OrderRecord> {
        let list = self.by_account.get(account as usize).map_or(&[][..], Vec::as_slice);
        list.iter().map(|slot| self.at(*slot))
    }

    /// Those of a page.
    pub fn page(&self, page: &Page) -> Vec<OrderRecord> {
        self.of_account(page.owner).filter(|order| page.wants(*order)).copied().collect()
    }

    /// How many orders rest.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether none rests.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    #[inline]
    fn at(&self, slot: u32) -> &OrderRecord {
        self.slots.get(slot as usize).expect("an indexed slot exists")
    }

    #[inline]
    fn at_mut(&mut self, slot: u32) -> &mut OrderRecord {
        self.slots.get_mut(slot as usize).expect("an indexed slot exists")
    }

    /// Puts a resting order in place, new or changed.
    pub(super) fn put(&mut self, record: OrderRecord) {
        if let Some(slot) = self.index.get(record.order) {
            *self.at_mut(slot) = record;
            return;
        }
        let slot = match self.free.pop() {
            Some(slot) => {
                *self.at_mut(slot) = record;
                slot
            }
            None => {
                self.slots.push(record);
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 orders rest at once")
            }
        };
        self.index.insert(record.order, slot);
        let account = record.account as usize;
        if account >= self.by_account.len() {
            self.by_account.resize_with(account + 1, Vec::new);
        }
        // A new order is its account's newest.
        self.by_account[account].push(slot);
    }

    /// Takes an order out.
    pub(super) fn remove(&mut self, order: OrderId) -> Option<OrderRecord> {
        let slot = self.index.remove(order)?;
        let record = *self.at(slot);
        self.free.push(slot);
        let list = &mut self.by_account[record.account as usize];
        if let Some(place) = list.iter().position(|other| *other == slot) {
            list.remove(place);
        }
        Some(record)
    }

    /// Applies a trade to the resting order it took from. Returns the order when the trade ended it.
    pub(super) fn traded(&mut self, trade: &event::Trade, time_ns: i64) -> Option<OrderRecord> {
        let slot = self.index.get(trade.maker_order).expect("a maker rests before it trades");
        let maker = self.at_mut(slot);
        maker.filled += trade.quantity;
        maker.traded += notional(trade.price, trade.quantity);
        maker.updated_ns = time_ns;
        if trade.maker_filled == 0 {
            maker.status = OrderStatus::PartiallyFilled;
            return None;
        }
        maker.status = OrderStatus::Filled;
        self.remove(trade.maker_order)
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.count(self.index.len());
        for slot in self.by_account.iter().flatten() {
            self.at(*slot).save(writer);
        }
    }

    pub(super) fn load(reader: &mut Reader<'_>) -> Result<OpenOrders, LoadError> {
        let mut view = OpenOrders::default();
        // By account, oldest order first: the order in which they were written.
        let mut last = (0, 0);
        for _ in 0..reader.count()? {
            let record = OrderRecord::load(reader)?;
            let place = (record.account, record.order);
            if !record.status.is_resting() || place <= last || record.order > ORDER_MAX {
                return Err(reader.bad("open order"));
            }
            last = place;
            view.put(record);
        }
        Ok(view)
    }
}

/// Order ids stay below this; a larger one in saved bytes is a fault that must not ask for memory.
const ORDER_MAX: OrderId = 1 << 40;

/// An ended order as numbers.
#[derive(Clone, Copy)]
pub(crate) struct CodedOrder {
    order: u64,
    account: u32,
    market: u32,
    side: u8,
    order_type: u8,
    time_in_force: u8,
    status: u8,
    reject: u32,
    price: i64,
    quantity: i64,
    filled: i64,
    quote_quantity: i128,
    traded: i128,
    created_ns: i64,
    updated_ns: i64,
}

impl From<OrderRecord> for CodedOrder {
    fn from(order: OrderRecord) -> CodedOrder {
        CodedOrder {
            order: order.order,
            account: order.account,
            market: order.market,
            side: order.side as u8,
            order_type: order.order_type as u8,
            time_in_force: order.time_in_force as u8,
            status: order.status as u8,
            reject: order.reject.map_or(0, |reject| reject.code().into()),
            price: order.price,
            quantity: order.quantity,
            filled: order.filled,
            quote_quantity: order.quote_quantity,
            traded: order.traded,
            created_ns: order.created_ns,
            updated_ns: order.updated_ns,
        }
    }
}

/// Its numbers are codes, which not all bytes are.
impl TryFrom<CodedOrder> for OrderRecord {
    type Error = ();

    fn try_from(coded: CodedOrder) -> Result<OrderRecord, ()> {
        let reject = u16::try_from(coded.reject).map_err(|_| ())?;
        Ok(OrderRecord {
            order: coded.order,
            account: coded.account,
            market: coded.market,
            side: Side::from_code(coded.side).ok_or(())?,
            order_type: OrderType::from_code(coded.order_type).ok_or(())?,
            time_in_force: TimeInForce::from_code(coded.time_in_force).ok_or(())?,
            status: OrderStatus::from_code(coded.status).ok_or(())?,
            reject: Reject::from_code(reject),
            price: coded.price,
            quantity: coded.quantity,
            filled: coded.filled,
            quote_quantity: coded.quote_quantity,
            traded: coded.traded,
            created_ns: coded.created_ns,
            updated_ns: coded.updated_ns,
        })
    }
}

layouts! {
    /// An ended order.
    OrderV1 of CodedOrder {
        order: u64, account: u32, market: u32, side: u8, order_type: u8, time_in_force: u8, status: u8, reject: u32,
        price: i64, quantity: i64, filled: i64, quote_quantity: Sum, traded: Sum, created_ns: i64, updated_ns: i64,
    }
}

stored! {
    OrderRecord as SpotOrders: OrderV1;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(order: OrderId, account: AccountId) -> OrderRecord {
        OrderRecord {
            order,
            account,
            market: 0,
            side: Side::Buy,
            order_type: OrderType::Limit,
            time_in_force: TimeInForce::GoodTillCancel,
            status: OrderStatus::Open,
            reject: None,
            price: 5,
            quantity: 7,
            filled: 0,
            quote_quantity: 0,
            traded: 0,
            created_ns: 1,
            updated_ns: 1,
        }
    }

    fn ids(view: &OpenOrders, account: AccountId) -> Vec<OrderId> {
        view.of_account(account).map(|order| order.order).collect()
    }

    #[test]
    fn lists_stay_in_order_of_id() {
        let mut view = OpenOrders::default();
        for id in [1, 2, 3, 5] {
            view.put(order(id, 9));
        }
        view.put(order(6, 8));
        assert_eq!(view.remove(2).map(|order| order.order), Some(2));
        assert_eq!(view.remove(2), None);
        // It takes the slot of the one that left, and is the newest all the same.
        view.put(order(7, 9));
        view.put(OrderRecord { price: 6, ..order(3, 9) });
        assert_eq!(ids(&view, 9), [1, 3, 5, 7]);
        assert_eq!(view.get(3).map(|order| order.price), Some(6));
        assert_eq!(ids(&view, 8), [6]);
        assert_eq!(ids(&view, 7), [0; 0]);
        assert_eq!(view.len(), 5);
    }

    #[test]
    fn a_trade_changes_and_ends_its_maker() {
        let mut view = OpenOrders::default();
        view.put(order(1, 9));
        let trade = event::Trade {
            trade: 1,
            maker_order: 1,
            taker_order: 2,
            price: 5,
            quantity: 3,
            maker_fee: 0.into(),
            taker_fee: 0.into(),
            maker_account: 9,
            taker_account: 8,
            market: 0,
            taker_side: Side::Sell as u8,
            maker_filled: 0,
            reserved: 0,
        };
        assert_eq!(view.traded(&trade, 2), None);
        let maker = *view.get(1).expect("it rests");
        assert_eq!((maker.filled, maker.status, maker.updated_ns), (3, OrderStatus::PartiallyFilled, 2));
        let ended =
            view.traded(&event::Trade { quantity: 4, maker_filled: 1, ..trade }, 3).expect("it ended");
        assert_eq!((ended.filled, ended.status, ended.traded), (7, OrderStatus::Filled, notional(5, 7)));
        assert!(view.is_empty() && ids(&view, 9).is_empty());
    }
}
