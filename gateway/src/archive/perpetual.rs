//! Histories of the perpetual side in two tiers, joined as the module above says: one lock, then the archive up to the sequence
//! that the log had forgotten at that moment.

use super::History;
use super::readers::Unreadable;
use super::rows;
use crate::view::Views;
use crate::view::perpetual::Perpetuals;
use crate::view::perpetual::log::{List, Log, Page, Row};
use crate::view::perpetual::order::{ForcedRecord, OrderRecord};
use crate::view::perpetual::rows::{
    AmendRecord, FillRecord, FundingRecord, IncomeRecord, MarginRecord, MarketTrade, OperatorRecord,
    PreventedRecord, TransferRecord, name_tag,
};
use crate::view::perpetual::series::{Candle, CandleQuery, ClosedCandle, fill, list_of};
use ringside_core::command::ClientOrder;
use ringside_core::ids::{AccountId, MarketId, OrderId, Sequence};
use ringside_persist::archive::row::Entry;
use ringside_persist::archive::{ArchiveError, ArchiveReader, EntriesAsked};

/// Orders of one name that are looked at to find the newest: more than different names of one tag.
const NAMESAKES: usize = 8;
/// Trades read at a time where joined ones are wanted.
const TRADES_AT_ONCE: usize = 4096;

/// A row that has a list of the archive to itself.
pub trait Archived: Row + Send + 'static {
    /// The list.
    const LIST: List;
    /// Its log among the views.
    fn log(views: &Perpetuals) -> &Log<Self>;
}

macro_rules! archived {
    ($($row:ty: $list:ident = $log:expr;)*) => {
        $(impl Archived for $row {
            const LIST: List = List::$list;
            fn log(views: &Perpetuals) -> &Log<$row> {
                let of: fn(&Perpetuals) -> &Log<$row> = $log;
                of(views)
            }
        })*
    };
}

archived! {
    OrderRecord: Orders = |views| views.orders().ended();
    ForcedRecord: ForcedOrders = |views| views.orders().forced();
    FillRecord: Fills = |views| views.fills();
    IncomeRecord: Income = |views| views.income();
    AmendRecord: Amendments = |views| views.amendments();
    MarginRecord: MarginChanges = |views| views.margins();
    PreventedRecord: Prevented = |views| views.prevented();
    MarketTrade: Trades = |views| views.trades();
    FundingRecord: Fundings = |views| views.fundings();
    TransferRecord: Transfers = |views| views.transfers();
    OperatorRecord: Operators = |views| views.operators().log();
}

/// What a page asks of the archive.
fn asked(list: u16, page: &Page, through: Sequence) -> EntriesAsked {
    EntriesAsked {
        list: rows::list_of(list),
        owner: page.owner,
        market: page.market,
        tag: page.tag,
        ids: page.ids.clone(),
        times: page.times.clone(),
        through,
        is_oldest: page.is_oldest,
        skip: 0,
        limit: page.limit,
    }
}

/// The row of an entry, of whichever version it is.
///
/// Errors: a version that is not known, bytes of another length than it has.
pub fn row_of<T: Row>(entry: &Entry) -> Result<T, ArchiveError> {
    T::read(entry.version, &entry.bytes).map_err(|error| ArchiveError::Row {
        what: "an entry",
        place: format!("list {}", entry.list.number),
        reason: error.to_string(),
    })
}

fn records<T: Row>(
    archive: &mut dyn ArchiveReader,
    asked: &EntriesAsked,
    rows: &mut Vec<T>,
) -> Result<(), ArchiveError> {
    let mut entries = Vec::new();
    archive.entries(asked, &mut entries)?;
    for entry in &entries {
        rows.push(row_of(entry)?);
    }
    Ok(())
}

impl History {
    /// The rows of a page, oldest first.
    pub async fn page<T: Archived>(&self, page: &Page) -> Result<Vec<T>, Unreadable> {
        let (rows, through) = {
            let views = self.views.read();
            let log = T::log(views.perpetuals());
            (log.page(page), log.forgotten())
        };
        self.add(T::LIST, page, rows, through).await
    }

    /// Adds what the archive has of a page to what was in memory.
    async fn add<T: Row + Send + 'static>(
        &self,
        list: List,
        page: &Page,
        mut rows: Vec<T>,
        through: Sequence,
    ) -> Result<Vec<T>, Unreadable> {
        // Rows of all lists but those of orders stand in the order of their commands: the newest are those in memory.
        let is_ordered = !matches!(list, List::Orders | List::ServiceOrders | List::ForcedOrders);
        if through == 0 || (is_ordered && !page.is_oldest && rows.len() >= page.limit) {
            return Ok(rows);
        }
        rows.extend(self.archived::<T>(asked(list as u16, page, through)).await?);
        page.join(&mut rows);
        Ok(rows)
    }

    async fn archived<T: Row + Send + 'static>(&self, asked: EntriesAsked) -> Result<Vec<T>, Unreadable> {
        let ask = move |archive: &mut dyn ArchiveReader| {
            let mut found: Vec<T> = Vec::new();
            records(archive, &asked, &mut found).map(|()| found)
        };
        self.readers()?.ask(ask).await
    }

    /// The rows of a page beyond `skip` others from the end that it begins at, oldest first. Of a list whose rows stand in the
    /// order of their commands.
    pub async fn page_beyond<T: Archived>(&self, page: &Page, skip: usize) -> Result<Vec<T>, Unreadable> {
        let whole = Page { limit: page.limit.saturating_add(skip), ..page.clone() };
        let (mut held, through) = {
            let views = self.views.read();
            let log = T::log(views.perpetuals());
            (log.page(&whole), log.forgotten())
        };
        if !page.is_oldest {
            // The newest are those in memory.
            let passed = held.len().min(skip);
            held.truncate(held.len() - passed);
            if through > 0 && held.len() < page.limit {
                let rest = Page { limit: page.limit - held.len(), ..page.clone() };
                let asked = EntriesAsked { skip: skip - passed, ..asked(T::LIST as u16, &rest, through) };
                held.extend(self.archived::<T>(asked).await?);
                page.join(&mut held);
            }
            return Ok(held);
        }
        let (mut rows, passed) = match through {
            0 => (Vec::new(), 0),
            _ => {
                let asked = EntriesAsked { skip, ..asked(T::LIST as u16, page, through) };
                let ask = move |archive: &mut dyn ArchiveReader| {
                    let mut found: Vec<T> = Vec::new();
                    records(archive, &asked, &mut found)?;
                    let passed = match found.len() {
                        0 => archive.count_entries(&asked)?,
                        _ => asked.skip as u64,
                    };
                    Ok((found, usize::try_from(passed).unwrap_or(usize::MAX)))
                };
                self.readers()?.ask(ask).await?
            }
        };
        rows.extend(held.into_iter().skip(skip.saturating_sub(passed)));
        rows.truncate(page.limit);
        Ok(rows)
    }

    /// How many rows a page would have without its limit. Counting the archive takes time with their number.
    pub async fn count<T: Archived>(&self, page: &Page) -> Result<u64, Unreadable> {
        let (held, through) = {
            let views = self.views.read();
            let log = T::log(views.perpetuals());
            (log.count(page), log.forgotten())
        };
        self.count_with(T::LIST, page, held, through).await
    }

    /// The same of orders, open ones included.
    pub async fn count_orders(&self, page: &Page) -> Result<u64, Unreadable> {
        let whole = Page { limit: usize::MAX, ..page.clone() };
        let (held, through) = {
            let views = self.views.read();
            let orders = views.perpetuals().orders();
            let open = orders.open_page(&whole, false).len() as u64;
            (orders.ended().count(page) + open, orders.ended().forgotten())
        };
        self.count_with(List::Orders, page, held, through).await
    }

    async fn count_with(
        &self,
        list: List,
        page: &Page,
        held: u64,
        through: Sequence,
    ) -> Result<u64, Unreadable> {
        if through == 0 {
            return Ok(held);
        }
        let asked = asked(list as u16, page, through);
        let archived = self.readers()?.ask(move |archive| archive.count_entries(&asked)).await?;
        Ok(held + archived)
    }

    /// Orders of a page, open ones included, oldest first.
    pub async fn perpetual_orders(
        &self,
        page: &Page,
        is_of_service: bool,
    ) -> Result<Vec<OrderRecord>, Unreadable> {
        let (list, mut rows, through) = {
            let views = self.views.read();
            let orders = views.perpetuals().orders();
            let (list, log) = service_log(orders, is_of_service);
            let mut rows = log.page(page);
            rows.extend(orders.open_page(page, is_of_service));
            (list, rows, log.forgotten())
        };
        page.join(&mut rows);
        self.add(list, page, rows, through).await
    }

    /// The order of an id in an account's market.
    pub async fn perpetual_order(
        &self,
        account: AccountId,
        market: MarketId,
        order: OrderId,
        is_of_service: bool,
    ) -> Result<Option<OrderRecord>, Unreadable> {
        let page = Page::new(account, Some(market), 1).of_id(order);
        Ok(self.perpetual_orders(&page, is_of_service).await?.pop())
    }

    /// The order of an account's market with a client's name: the open one, else the newest that ended.
    pub async fn perpetual_order_named(
        &self,
        account: AccountId,
        market: MarketId,
        name: ClientOrder,
        is_of_service: bool,
    ) -> Result<Option<OrderRecord>, Unreadable> {
        let page = Page::new(account, Some(market), NAMESAKES).tagged(name_tag(market, &name));
        let is_it = |order: &&OrderRecord| order.client_order == name;
        let rows = self.perpetual_orders(&page, is_of_service).await?;
        // One of the service that fired is told as it was until then.
        let has_fired = |order: &OrderRecord| order.is_of_service() && order.counterpart != 0;
        let open = rows.iter().find(|order| order.is_open() && !has_fired(order) && is_it(order));
        Ok(open.or_else(|| rows.iter().rev().find(is_it)).copied())
    }

    /// What orders of the conditional-order service became: for each that fired, the order it goes on as.
    pub async fn became(&self, fired: &[OrderRecord]) -> Result<Vec<OrderRecord>, Unreadable> {
        let (mut rows, missing, through) = {
            let views = self.views.read();
            let orders = views.perpetuals().orders();
            let (mut rows, mut missing) = (Vec::new(), Vec::new());
            for order in fired.iter().filter(|order| order.counterpart != 0) {
                match orders.get(order.told.account, order.told.market, order.counterpart) {
                    Some(found) => rows.push(*found),
                    None => missing.push((order.told.account, order.told.market, order.counterpart)),
                }
            }
            (rows, missing, orders.ended().forgotten())
        };
        if through == 0 || missing.is_empty() {
            return Ok(rows);
        }
        let ask = move |archive: &mut dyn ArchiveReader| {
            let mut found: Vec<OrderRecord> = Vec::new();
            for (account, market, order) in missing {
                let page = Page::new(account, Some(market), 1).of_id(order);
                records(archive, &asked(List::Orders as u16, &page, through), &mut found)?;
            }
            Ok(found)
        };
        rows.extend(self.readers()?.ask(ask).await?);
        Ok(rows)
    }

    /// Public trades of whole rows of joined trades, oldest first: `limit` rows from the trade `from` on, or of a time, or the
    /// newest.
    pub async fn joined_trades(&self, page: &Page) -> Result<Vec<Vec<MarketTrade>>, Unreadable> {
        let mut rows: Vec<Vec<MarketTrade>> = Vec::new();
        let mut next = Page { limit: TRADES_AT_ONCE, ..page.clone() };
        loop {
            let found: Vec<MarketTrade> = self.page(&next).await?;
            let is_last = found.len() < next.limit;
            let (Some(first), Some(last)) = (found.first().copied(), found.last().copied()) else { break };
            let mut joined: Vec<Vec<MarketTrade>> =
                found.chunk_by(|one, next| one.aggregate == next.aggregate).map(<[_]>::to_vec).collect();
            let is_same =
                |one: &Vec<MarketTrade>, next: &Vec<MarketTrade>| one[0].aggregate == next[0].aggregate;
            if page.is_oldest {
                if let (Some(before), Some(next)) = (rows.last_mut(), joined.first())
                    && is_same(before, next)
                {
                    before.extend(joined.remove(0));
                }
                rows.append(&mut joined);
                next.ids = last.trade + 1..=*page.ids.end();
            } else {
                if let (Some(before), Some(next)) = (joined.last(), rows.first_mut())
                    && is_same(before, next)
                    && let Some(mut before) = joined.pop()
                {
                    before.append(next);
                    *next = before;
                }
                joined.append(&mut rows);
                rows = joined;
                next.ids = *page.ids.start()..=first.trade - 1;
            }
            // One more than wanted, so that the last one wanted is whole.
            if is_last || rows.len() > page.limit {
                break;
            }
        }
        if page.is_oldest {
            rows.truncate(page.limit);
        } else {
            rows.drain(..rows.len().saturating_sub(page.limit));
        }
        Ok(rows)
    }

    /// Candles of a query, oldest first.
    pub async fn perpetual_candles(
        &self,
        query: CandleQuery,
        now_ms: i64,
    ) -> Result<Vec<Candle>, Unreadable> {
        let (held, older) = {
            let views: &Views = &self.views.read();
            views.perpetuals().series().kept(&query, now_ms)
        };
        let Some(older) = older.filter(|_| self.views.archived() > 0) else {
            return Ok(fill(&query, now_ms, &held));
        };
        // Candles before the first that is kept are over and never change, whenever they were archived.
        let list = list_of(query.source, query.interval);
        let page = |times, limit| {
            let page = Page::new(0, Some(query.market), limit).within(times);
            asked(list, &page, Sequence::MAX)
        };
        let last_ms = older.kept_ms.saturating_sub(1);
        let before = page(i64::MIN..=older.first_ms.saturating_sub(1).min(last_ms), 1);
        let within = EntriesAsked { is_oldest: true, ..page(older.first_ms..=last_ms, query.limit) };
        let ask = move |archive: &mut dyn ArchiveReader| {
            let mut found: Vec<ClosedCandle> = Vec::new();
            records(archive, &before, &mut found)?;
            records(archive, &within, &mut found)?;
            Ok(found)
        };
        let found = self.readers()?.ask(ask).await?;
        let mut known: Vec<Candle> = found.iter().map(|closed| closed.candle).collect();
        known.extend(held);
        Ok(fill(&query, now_ms, &known))
    }
}

fn service_log(
    orders: &crate::view::perpetual::order::OrderTable,
    is_of_service: bool,
) -> (List, &Log<OrderRecord>) {
    match is_of_service {
        true => (List::ServiceOrders, orders.service()),
        false => (List::Orders, orders.ended()),
    }
}
