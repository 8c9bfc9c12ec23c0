//! What has happened and will not change: ended orders, trades, and each account's half of them.
//!
//! [`HistoryStore`] is what the views hold of it: everything ([`super::MemoryHistory`]), or what is recent, the rest being
//! in an archive ([`super::RecentHistory`]). Where the two meet is one sequence ([`Forgotten`]): rows of later commands are
//! here, all others there. A store answers pages from newest to oldest and looks at a bounded number of rows per call, so
//! that a reader which must search far never holds the views for long.

use super::codec::{LoadError, Reader, Writer};
use super::log::Keep;
use super::order::OrderRecord;
use super::spares::Restock;
use ringside_core::command::{OrderStatus, Side};
use ringside_core::event;
use ringside_core::ids::{AccountId, MarketId, OrderId, Sequence, TradeId};
use ringside_core::money::{Amount, Price, Quantity};
use std::sync::Arc;

/// One match. 96 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TradeRecord {
    /// Ascending per market, from 1.
    pub trade: TradeId,
    /// Market id.
    pub market: MarketId,
    /// The taker's side.
    pub taker_side: Side,
    /// The maker's price.
    pub price: Price,
    /// How much base.
    pub quantity: Quantity,
    /// The resting order.
    pub maker_order: OrderId,
    /// The arriving order.
    pub taker_order: OrderId,
    /// Owner of the resting order.
    pub maker_account: AccountId,
    /// Owner of the arriving order.
    pub taker_account: AccountId,
    /// The maker's fee, in the asset it receives.
    pub maker_fee: Amount,
    /// The taker's fee, in the asset it receives.
    pub taker_fee: Amount,
    /// When, nanoseconds of the UNIX epoch.
    pub time_ns: i64,
}

const _: () = assert!(size_of::<TradeRecord>() == 96);

impl TradeRecord {
    /// The trade of an event.
    pub fn of_event(trade: &event::Trade, time_ns: i64) -> TradeRecord {
        TradeRecord {
            trade: trade.trade,
            market: trade.market,
            taker_side: Side::from_code(trade.taker_side).expect("the engine emits known sides"),
            price: trade.price,
            quantity: trade.quantity,
            maker_order: trade.maker_order,
            taker_order: trade.taker_order,
            maker_account: trade.maker_account,
            taker_account: trade.taker_account,
            maker_fee: trade.maker_fee.get(),
            taker_fee: trade.taker_fee.get(),
            time_ns,
        }
    }

    /// The half of one of its two sides.
    pub fn fill(&self, role: Role) -> FillRecord {
        let (side, fee, order) = match role {
            Role::Taker => (self.taker_side, self.taker_fee, self.taker_order),
            Role::Maker => (self.taker_side.opposite(), self.maker_fee, self.maker_order),
        };
        FillRecord {
            trade: self.trade,
            market: self.market,
            side,
            price: self.price,
            quantity: self.quantity,
            fee,
            role,
            order,
            time_ns: self.time_ns,
        }
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.fixed(&[self.taker_side as u8]);
        writer.i64(self.price);
        writer.i64(self.quantity);
        writer.u64(self.maker_order);
        writer.u64(self.taker_order);
        writer.u64(self.maker_account.into());
        writer.u64(self.taker_account.into());
        writer.i128(self.maker_fee);
        writer.i128(self.taker_fee);
        writer.i64(self.time_ns);
    }

    pub(super) fn load(
        reader: &mut Reader<'_>,
        market: MarketId,
        trade: TradeId,
    ) -> Result<TradeRecord, LoadError> {
        Ok(TradeRecord {
            trade,
            market,
            taker_side: reader.code("side", Side::from_code)?,
            price: reader.i64()?,
            quantity: reader.i64()?,
            maker_order: reader.u64()?,
            taker_order: reader.u64()?,
            maker_account: reader.account()?,
            taker_account: reader.account()?,
            maker_fee: reader.i128()?,
            taker_fee: reader.i128()?,
            time_ns: reader.i64()?,
        })
    }
}

/// Which half of a trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The order rested.
    Maker,
    /// The order arrived.
    Taker,
}

/// One account's half of a trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillRecord {
    /// The trade.
    pub trade: TradeId,
    /// Market id.
    pub market: MarketId,
    /// The account's side.
    pub side: Side,
    /// The trade's price.
    pub price: Price,
    /// How much base.
    pub quantity: Quantity,
    /// The account's fee, in the asset it received.
    pub fee: Amount,
    /// Which half.
    pub role: Role,
    /// The account's order.
    pub order: OrderId,
    /// When, nanoseconds of the UNIX epoch.
    pub time_ns: i64,
}

/// Seconds of the UNIX epoch, both ends inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// First second.
    pub start_s: i64,
    /// Last second.
    pub end_s: i64,
}

impl TimeRange {
    /// All of time.
    pub const ALL: TimeRange = TimeRange { start_s: i64::MIN, end_s: i64::MAX };

    /// Whether the second of `time_ns` is inside.
    pub fn contains(&self, time_ns: i64) -> bool {
        (self.start_s..=self.end_s).contains(&seconds(time_ns))
    }
}

/// The whole second of a time.
pub fn seconds(time_ns: i64) -> i64 {
    time_ns.div_euclid(1_000_000_000)
}

/// Which orders of an account are asked for.
#[derive(Clone, Copy, Debug)]
pub struct OrderQuery {
    /// Account id.
    pub account: AccountId,
    /// In one market only.
    pub market: Option<MarketId>,
    /// In one status only.
    pub status: Option<OrderStatus>,
    /// Placed when.
    pub created: TimeRange,
    /// At most how many.
    pub limit: usize,
}

impl OrderQuery {
    /// Whether an order of the account is asked for.
    pub fn matches(&self, order: &OrderRecord) -> bool {
        self.market.is_none_or(|market| market == order.market)
            && self.status.is_none_or(|status| status == order.status)
            && self.created.contains(order.created_ns)
    }
}

/// Which fills of an account are asked for.
#[derive(Clone, Copy, Debug)]
pub struct FillQuery {
    /// Account id.
    pub account: AccountId,
    /// In one market only.
    pub market: Option<MarketId>,
    /// Traded when.
    pub time: TimeRange,
    /// At most how many.
    pub limit: usize,
}

/// Where a search stands that looks from newest to oldest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nothing was looked at.
    Newest,
    /// All rows at this place and later ones were looked at; what it counts is the store's business.
    Before(u64),
    /// Nothing is left to look at.
    End,
}

/// Where a store's memory begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Rows of this command and all before it are not here; those of all later ones are.
    pub through: Sequence,
    /// No order that ended in one of those has a larger id.
    pub newest_order: OrderId,
}

/// Where ended orders and trades are kept. Rows are given in the order of the events and never change.
pub trait HistoryStore: Send + Sync {
    /// How much of the perpetual histories, which the views hold themselves, is kept beside this.
    fn keep(&self) -> Keep {
        Keep::All
    }

    /// Its spare memory.
    fn spares(&self) -> Vec<Arc<dyn Restock>> {
        Vec::new()
    }

    /// Learns of an order that was just placed, resting or not: its id, account and time, which order a list.
    fn placed(&mut self, order: OrderId, account: AccountId, created_ns: i64);

    /// Takes an order that the command `sequence` has just ended; it was [`HistoryStore::placed`] before.
    fn ended(&mut self, order: &OrderRecord, sequence: Sequence);

    /// The same for an order that the command `sequence` has refused to an account without money, which costs its owner nothing: it
    /// is kept in memory alone, or anybody could make the archive grow.
    fn refused(&mut self, order: &OrderRecord, sequence: Sequence) {
        self.ended(order, sequence);
    }

    /// Takes a trade of the command `sequence`.
    fn trade(&mut self, trade: &TradeRecord, sequence: Sequence);

    /// What is no longer here.
    fn forgotten(&self) -> Forgotten {
        Forgotten::default()
    }

    /// Everything of `archived` and before can be read elsewhere: lets go of what it does not want to keep of that, a
    /// bounded number of rows at a time.
    fn forget(&mut self, _archived: Sequence) {}

    /// The ended order of an id; `None` while it rests.
    fn ended_order(&self, order: OrderId) -> Option<OrderRecord>;

    /// Appends ended orders of an account to `orders`, newest placement first, from `place` on, until `orders` holds
    /// the query's limit or `steps` rows were looked at. Returns where it stopped; [`Place::Before`] counts order ids.
    fn ended_orders(
        &self,
        query: &OrderQuery,
        place: Place,
        steps: usize,
        orders: &mut Vec<OrderRecord>,
    ) -> Place;

    /// Appends fills of an account to `fills`, newest first, in the manner of [`HistoryStore::ended_orders`].
    fn fills(&self, query: &FillQuery, place: Place, steps: usize, fills: &mut Vec<FillRecord>) -> Place;

    /// Appends the newest trades of a market to `trades`, newest first, at most `limit`.
    fn trades(&self, market: MarketId, limit: usize, trades: &mut Vec<TradeRecord>);

    /// The newest trade of a market.
    fn last_trade(&self, market: MarketId) -> Option<TradeRecord>;

    /// Appends what a snapshot of the views must hold of this store.
    fn save(&self, writer: &mut Writer<'_>);

    /// Takes the place of everything held by what [`HistoryStore::save`] wrote.
    fn load(&mut self, reader: &mut Reader<'_>) -> Result<(), LoadError>;
}
