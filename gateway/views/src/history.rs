//! What has happened on the spot side and will not change: ended orders, trades, each account's half of them, credits, and balances
//! as they were.

use super::chunk_pool::Refill;
use super::codec::{LoadError, Reader, Writer};
use super::kept::Kept;
use super::log::{Key, Log, Retention, Row};
use super::order::OrderRecord;
use super::time::{TimeRange, milliseconds};
use crate::stored::{Wide, layouts, stored};
use ringside_core::command::{OrderStatus, Side};
use ringside_core::event::{self, Event};
use ringside_core::ids::{AccountId, AssetId, MarketId, OrderId, Sequence, TradeId};
use ringside_core::money::{Price, Quantity, RawAmount};
use std::sync::Arc;

/// One match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TradeRecord {
    /// Ascending per market, from 1.
    pub trade: TradeId,
    /// Market id.
    pub market: MarketId,
    /// A [`Side`]: the taker's.
    pub taker_side: u32,
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
    pub maker_fee: RawAmount,
    /// The taker's fee, in the asset it receives.
    pub taker_fee: RawAmount,
    /// When, nanoseconds of the UNIX epoch.
    pub time_ns: i64,
}

impl TradeRecord {
    /// The trade of an event.
    pub fn of_event(trade: &event::Trade, time_ns: i64) -> TradeRecord {
        TradeRecord {
            trade: trade.trade,
            market: trade.market,
            taker_side: trade.taker_side.into(),
            price: trade.price,
            quantity: trade.quantity,
            maker_order: trade.maker_order,
            taker_order: trade.taker_order,
            maker_account: trade.maker_account,
            taker_account: trade.taker_account,
            maker_fee: trade.maker_fee,
            taker_fee: trade.taker_fee,
            time_ns,
        }
    }

    /// The taker's side.
    pub fn side(&self) -> Side {
        side_of(self.taker_side)
    }

    /// Its two halves, the maker's first.
    pub fn fills(&self) -> [FillRecord; 2] {
        let fill = |account, side, fee, role: Role, order| FillRecord {
            trade: self.trade,
            account,
            market: self.market,
            side: side as u32,
            role: role as u32,
            price: self.price,
            quantity: self.quantity,
            fee,
            order,
            time_ns: self.time_ns,
        };
        let (side, other) = (self.side(), self.side().opposite());
        [
            fill(self.maker_account, other, self.maker_fee, Role::Maker, self.maker_order),
            fill(self.taker_account, side, self.taker_fee, Role::Taker, self.taker_order),
        ]
    }

    /// One of its halves.
    pub fn fill(&self, role: Role) -> FillRecord {
        self.fills()[role as usize]
    }

    /// As snapshots had it before its list had a layout.
    fn load(reader: &mut Reader<'_>) -> Result<TradeRecord, LoadError> {
        // Market ids are dense, so that a large one is none; it would only ask for memory.
        let market: MarketId = reader.uint("market")?;
        if market >> 20 != 0 {
            return Err(reader.bad("market"));
        }
        Ok(TradeRecord {
            market,
            trade: reader.u64()?,
            taker_side: reader.code("side", Side::from_code)? as u32,
            price: reader.i64()?,
            quantity: reader.i64()?,
            maker_order: reader.u64()?,
            taker_order: reader.u64()?,
            maker_account: reader.account()?,
            taker_account: reader.account()?,
            maker_fee: reader.i128()?.into(),
            taker_fee: reader.i128()?.into(),
            time_ns: reader.i64()?,
        })
    }
}

impl Row for TradeRecord {
    fn key(&self) -> Key {
        Key { owner: 0, market: self.market, id: self.trade, time_ms: milliseconds(self.time_ns), tag: 0 }
    }
}

/// What a row's code says; the engine emits known sides.
fn side_of(code: u32) -> Side {
    if code == Side::Sell as u32 { Side::Sell } else { Side::Buy }
}

/// Which half of a trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The order rested.
    Maker = 0,
    /// The order arrived.
    Taker = 1,
}

/// One account's half of a trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillRecord {
    /// The trade.
    pub trade: TradeId,
    /// Account id.
    pub account: AccountId,
    /// Market id.
    pub market: MarketId,
    /// A [`Side`]: the account's.
    pub side: u32,
    /// A [`Role`].
    pub role: u32,
    /// The trade's price.
    pub price: Price,
    /// How much base.
    pub quantity: Quantity,
    /// The account's fee, in the asset it received.
    pub fee: RawAmount,
    /// The account's order.
    pub order: OrderId,
    /// When, nanoseconds of the UNIX epoch.
    pub time_ns: i64,
}

impl FillRecord {
    /// The account's side.
    pub fn side(&self) -> Side {
        side_of(self.side)
    }

    /// Which half it is.
    pub fn role(&self) -> Role {
        if self.role == Role::Taker as u32 { Role::Taker } else { Role::Maker }
    }
}

impl Row for FillRecord {
    /// Who trades with himself has both halves.
    fn key(&self) -> Key {
        let id = self.trade << 1 | u64::from(self.role);
        Key { owner: self.account, market: self.market, id, time_ms: milliseconds(self.time_ns), tag: 0 }
    }
}

/// Whose an ended order was, by its id alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerRecord {
    /// Order id.
    pub order: OrderId,
    /// When it was placed, UNIX milliseconds.
    pub created_ms: i64,
    /// Account id.
    pub account: AccountId,
    /// Reserved: zero.
    pub reserved: u32,
}

impl OwnerRecord {
    /// That of an order.
    pub fn of(order: &OrderRecord) -> OwnerRecord {
        let created_ms = milliseconds(order.created_ns);
        OwnerRecord { order: order.order, created_ms, account: order.account, reserved: 0 }
    }
}

impl Row for OwnerRecord {
    const IS_LATE: bool = true;

    fn key(&self) -> Key {
        Key { owner: 0, market: 0, id: self.order, time_ms: self.created_ms, tag: 0 }
    }
}

/// A balance raised by the administrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditRecord {
    /// The command that did it.
    pub sequence: Sequence,
    /// When, nanoseconds of the UNIX epoch.
    pub time_ns: i64,
    /// How much.
    pub amount: RawAmount,
    /// Account id.
    pub account: AccountId,
    /// Of what: an asset id.
    pub asset: u32,
    /// Audit note, padded with zeros.
    pub reason: [u8; 64],
}

impl Row for CreditRecord {
    fn key(&self) -> Key {
        Key { owner: 0, market: 0, id: self.sequence, time_ms: milliseconds(self.time_ns), tag: 0 }
    }
}

/// A balance as a command left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceRecord {
    /// The command.
    pub sequence: Sequence,
    /// When, nanoseconds of the UNIX epoch.
    pub time_ns: i64,
    /// Account id.
    pub account: AccountId,
    /// Of what: an asset id.
    pub asset: u32,
    /// Which of the command's events told it; who has another place here is of the same command.
    pub index: u64,
    /// Free amount, 10^-18.
    pub available: RawAmount,
    /// Reserved amount, 10^-18.
    pub frozen: RawAmount,
}

impl Row for BalanceRecord {
    /// By asset in the place of a market: an event tells two at most.
    fn key(&self) -> Key {
        let id = self.sequence << 20 | self.index;
        Key { owner: self.account, market: self.asset, id, time_ms: milliseconds(self.time_ns), tag: 0 }
    }
}

/// The balances that an event says have changed: base, then quote.
fn balances_of(event: &Event, changed: &event::Balances) -> impl Iterator<Item = BalanceRecord> {
    let row = |asset: AssetId, available, frozen| BalanceRecord {
        sequence: event.sequence,
        time_ns: event.time_ns,
        account: changed.account,
        asset: asset.into(),
        index: event.index.into(),
        available,
        frozen,
    };
    let base =
        (changed.changed & 1 != 0).then(|| row(changed.base, changed.base_available, changed.base_frozen));
    // Equal assets: one balance changed, outside any market, and it stands in the base's fields.
    let quote = (changed.changed & 2 != 0 && changed.quote != changed.base)
        .then(|| row(changed.quote, changed.quote_available, changed.quote_frozen));
    base.into_iter().chain(quote)
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

/// The histories of the spot side.
#[derive(Clone, Debug)]
pub struct SpotHistory {
    pub(super) ended: Log<OrderRecord>,
    pub(super) owners: Log<OwnerRecord>,
    pub(super) fills: Log<FillRecord>,
    pub(super) trades: Log<TradeRecord>,
    pub(super) credits: Log<CreditRecord>,
    /// For whoever takes rows as they come; nothing reads them in memory.
    pub(super) balances: Log<BalanceRecord>,
    /// Per market, the newest trade, kept or not.
    last_trades: Vec<Option<TradeRecord>>,
    keep: Retention,
}

impl SpotHistory {
    pub(super) fn new(keep: Retention) -> SpotHistory {
        SpotHistory {
            ended: Log::new(keep),
            owners: Log::new(keep),
            fills: Log::new(keep),
            trades: Log::new(keep),
            credits: Log::new(keep),
            balances: Log::new(keep),
            last_trades: Vec::new(),
            keep,
        }
    }

    pub(super) fn keep(&self) -> Retention {
        self.keep
    }

    pub(super) fn spares(&self) -> Vec<Arc<dyn Refill>> {
        vec![self.ended.spares(), self.owners.spares(), self.fills.spares(), self.trades.spares()]
    }

    /// Ended orders.
    pub fn ended(&self) -> &Log<OrderRecord> {
        &self.ended
    }

    /// Whose they were.
    pub fn owners(&self) -> &Log<OwnerRecord> {
        &self.owners
    }

    /// Each account's halves of trades.
    pub fn fills(&self) -> &Log<FillRecord> {
        &self.fills
    }

    /// Trades.
    pub fn trades(&self) -> &Log<TradeRecord> {
        &self.trades
    }

    /// Credits.
    pub fn credits(&self) -> &Log<CreditRecord> {
        &self.credits
    }

    /// The newest trade of a market.
    pub fn last_trade(&self, market: MarketId) -> Option<TradeRecord> {
        *self.last_trades.get(market as usize)?
    }

    /// The ended order of an id, as far as it is kept.
    pub fn order(&self, account: AccountId, order: OrderId) -> Option<&OrderRecord> {
        self.ended.find(account, order)
    }

    pub(super) fn order_ended(&mut self, order: OrderRecord, sequence: Sequence) {
        self.owners.push(sequence, OwnerRecord::of(&order));
        self.ended.push(sequence, order);
    }

    /// An order that was refused to an account without money, which costs its owner nothing: it is kept in memory alone, or anybody
    /// could make the archive grow.
    pub(super) fn order_refused(&mut self, order: OrderRecord, sequence: Sequence) {
        if self.keep != Retention::Nothing {
            self.order_ended(order, sequence);
        }
    }

    pub(super) fn traded(&mut self, trade: TradeRecord, sequence: Sequence) {
        self.trades.push(sequence, trade);
        trade.fills().into_iter().for_each(|fill| self.fills.push(sequence, fill));
        self.set_last(trade);
    }

    fn set_last(&mut self, trade: TradeRecord) {
        let market = trade.market as usize;
        if market >= self.last_trades.len() {
            self.last_trades.resize(market + 1, None);
        }
        self.last_trades[market] = Some(trade);
    }

    pub(super) fn credited(&mut self, event: &Event, credited: &event::Credited) {
        let credit = CreditRecord {
            sequence: event.sequence,
            time_ns: event.time_ns,
            amount: credited.amount,
            account: credited.account,
            asset: credited.asset.into(),
            reason: credited.reason,
        };
        self.credits.push(event.sequence, credit);
    }

    pub(super) fn balances_changed(&mut self, event: &Event, changed: &event::Balances) {
        if self.keep == Retention::Nothing {
            balances_of(event, changed).for_each(|row| self.balances.push(event.sequence, row));
        }
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        self.ended.save(writer);
        self.fills.save(writer);
        self.trades.save(writer);
        self.credits.save(writer);
        writer.count(self.last_trades.iter().flatten().count());
        self.last_trades.iter().flatten().for_each(|trade| writer.record(trade));
        self.owners.save(writer);
    }

    pub(super) fn load(reader: &mut Reader<'_>, keep: Retention) -> Result<SpotHistory, LoadError> {
        let mut loaded = SpotHistory {
            ended: Log::load(reader, keep)?,
            fills: Log::load(reader, keep)?,
            trades: Log::load(reader, keep)?,
            credits: Log::load(reader, keep)?,
            ..SpotHistory::new(keep)
        };
        for _ in 0..reader.count()? {
            let trade: TradeRecord = reader.record()?;
            if trade.market >> 20 != 0 {
                return Err(reader.bad("market"));
            }
            loaded.set_last(trade);
        }
        if reader.has(Kept::SpotOwners) {
            loaded.owners = Log::load(reader, keep)?;
        }
        Ok(loaded)
    }

    /// Credits as snapshots had them before their list had a layout, where they stood then.
    pub(super) fn load_credits_before(reader: &mut Reader<'_>) -> Result<Vec<CreditRecord>, LoadError> {
        let mut credits = Vec::new();
        for _ in 0..reader.count()? {
            credits.push(CreditRecord {
                sequence: reader.u64()?,
                time_ns: reader.i64()?,
                amount: reader.i128()?.into(),
                account: reader.uint("account")?,
                asset: reader.uint("asset")?,
                reason: reader.fixed()?,
            });
        }
        Ok(credits)
    }

    /// The rest of it as snapshots had it before [`super::kept::Kept::SpotOrders`]: one place from which on all rows are kept, the newest trade of
    /// each market, ended orders, and trades, of which fills were the two halves.
    pub(super) fn load_before(
        reader: &mut Reader<'_>,
        keep: Retention,
        credits: Vec<CreditRecord>,
    ) -> Result<SpotHistory, LoadError> {
        let (through, _newest_order) = (reader.u64()?, reader.u64()?);
        if through == Sequence::MAX {
            return Err(reader.bad("sequence"));
        }
        let mut last_trades = Vec::new();
        for _ in 0..reader.count()? {
            last_trades.push(TradeRecord::load(reader)?);
        }
        let mut loaded = SpotHistory {
            ended: Log::new(keep).forgotten_through(through),
            owners: Log::new(keep).forgotten_through(through),
            fills: Log::new(keep).forgotten_through(through),
            trades: Log::new(keep).forgotten_through(through),
            ..SpotHistory::new(keep)
        };
        let mut last = through + 1;
        for _ in 0..reader.count()? {
            let sequence = ascending(reader, &mut last)?;
            let order = OrderRecord::load(reader)?;
            let is_known = loaded.order(order.account, order.order).is_some();
            if order.status.is_resting() || is_known || order.order >> 44 != 0 {
                return Err(reader.bad("ended order"));
            }
            loaded.order_ended(order, sequence);
        }
        last = through + 1;
        for _ in 0..reader.count()? {
            let sequence = ascending(reader, &mut last)?;
            loaded.traded(TradeRecord::load(reader)?, sequence);
        }
        last_trades.into_iter().for_each(|trade| loaded.set_last(trade));
        credits.into_iter().for_each(|credit| loaded.credits.push(credit.sequence, credit));
        Ok(loaded)
    }
}

fn ascending(reader: &mut Reader<'_>, last: &mut Sequence) -> Result<Sequence, LoadError> {
    let sequence = reader.u64()?;
    if sequence < *last {
        return Err(reader.bad("sequence"));
    }
    *last = sequence;
    Ok(sequence)
}

layouts! {
    /// Whose an ended order was.
    OwnerV1 of OwnerRecord { order: u64, created_ms: i64, account: u32, reserved: u32 }

    /// A trade.
    TradeV1 of TradeRecord {
        trade: u64, market: u32, taker_side: u32, price: i64, quantity: i64, maker_order: u64, taker_order: u64,
        maker_account: u32, taker_account: u32, maker_fee: Wide, taker_fee: Wide, time_ns: i64,
    }

    /// An account's half of one.
    FillV1 of FillRecord {
        trade: u64, account: u32, market: u32, side: u32, role: u32, price: i64, quantity: i64, fee: Wide, order: u64,
        time_ns: i64,
    }

    /// A credit.
    CreditV1 of CreditRecord {
        sequence: u64, time_ns: i64, amount: Wide, account: u32, asset: u32, reason: [u8; 64],
    }

    /// A balance as a command left it.
    BalanceV1 of BalanceRecord {
        sequence: u64, time_ns: i64, account: u32, asset: u32, index: u64, available: Wide, frozen: Wide,
    }
}

stored! {
    OwnerRecord as SpotOwners: OwnerV1;
    TradeRecord as SpotTradeRows: TradeV1;
    FillRecord as SpotFillRows: FillV1;
    CreditRecord as CreditRows: CreditV1;
    BalanceRecord as BalanceRows: BalanceV1;
}
