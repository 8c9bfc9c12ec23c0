//! Histories in two tiers, joined as the module above says: one lock, then the archive up to the sequence
//! that the log had forgotten at that moment. What takes long is looked at in stretches: of the views, which are held for one
//! alone, and of the archive, in turns ([`super::readers`]).

use super::History;
use super::readers::Unreadable;
use super::rows;
use crate::Views;
use crate::candle::{Candle, ClosedCandle};
use crate::kept::List;
use crate::log::{Archived, Log, Page, Place, Row};
use crate::order;
use crate::perpetual::histories::is_late;
use crate::perpetual::order::OrderRecord;
use crate::perpetual::rows::{MarketTrade, name_tag};
use crate::perpetual::series::{CandleQuery, fill, list_of};
use ringside_core::command::ClientOrder;
use ringside_core::ids::{AccountId, MarketId, OrderId, Sequence};
use ringside_persist::archive::row::Entry;
use ringside_persist::archive::{ArchiveError, ArchiveReader, EntriesAsked, Looked, Passed};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Orders of one name that are looked at to find the newest: more than different names of one tag.
const NAMESAKES: usize = 8;
/// Trades read at a time where joined ones are wanted.
const TRADES_AT_ONCE: usize = 4096;

/// Rows of a list, none of which may still change.
pub fn source<T: Archived>() -> Source<T> {
    Source { list: T::LIST, log: T::log, open: |_, _| Vec::new() }
}

/// Where rows come from.
pub struct Source<T: 'static> {
    list: List,
    log: fn(&Views) -> &Log<T>,
    /// Rows of a page that may still change, and are in no log before they do not.
    open: fn(&Views, &Page) -> Vec<T>,
}

impl<T> Clone for Source<T> {
    fn clone(&self) -> Source<T> {
        *self
    }
}

impl<T> Copy for Source<T> {}

impl<T> Source<T> {
    /// The list that the archive has them in.
    pub fn list(&self) -> List {
        self.list
    }
}

/// Orders, open ones included.
pub const ORDERS: Source<OrderRecord> = Source {
    list: List::Orders,
    log: |views| views.perpetuals().orders().ended(),
    open: |views, page| views.perpetuals().orders().open_page(page, false),
};
/// The same of the conditional-order service.
const SERVICE_ORDERS: Source<OrderRecord> = Source {
    list: List::ServiceOrders,
    log: |views| views.perpetuals().orders().service(),
    open: |views, page| views.perpetuals().orders().open_page(page, true),
};

/// Orders of the spot side, resting ones included.
pub(super) const SPOT_ORDERS: Source<order::OrderRecord> = Source {
    list: List::SpotOrders,
    log: |views| views.history().ended(),
    open: |views, page| views.open_orders().page(page),
};

/// Rows, and how many others were passed by to find them.
pub struct Look<T> {
    /// Those asked for.
    pub rows: Vec<T>,
    /// Of the list, within the bounds of the page, and not of its tag or facets; those in memory apart.
    pub passed: u64,
}

/// Rows beyond others.
pub struct Beyond<T> {
    /// From the end on that is asked for.
    pub rows: Vec<T>,
    /// Behind the last of them.
    pub place: Option<Place>,
    /// How many there are without skip and limit, where that was wanted.
    pub total: u64,
    /// How many were passed over, those that do not fit among them.
    pub passed: u64,
}

/// A row's order among those of several markets.
type Order = (i64, u64, MarketId);

fn order_of(row: &impl Row) -> Order {
    let key = row.key();
    (key.time_ms, key.id, key.market)
}

/// Rows in memory that are asked for, by their places.
struct Held<T> {
    /// In no order.
    rows: Vec<(Order, u64)>,
    /// Those that may still change.
    open: Vec<T>,
    /// What is not among them is in the archive through this sequence.
    through: Sequence,
}

/// A row that was found, or where it stands.
enum Found<T> {
    Row(T),
    RowRef(u64),
}

/// What a page asks of the archive.
pub(super) fn asked(list: u16, page: &Page, through: Sequence) -> EntriesAsked {
    EntriesAsked {
        list: rows::list_of(list),
        owner: page.owner,
        market: page.market,
        tag: page.tag,
        facets: page.facets,
        ids: page.ids.clone(),
        times: page.times.clone(),
        through,
        is_oldest: page.is_oldest,
        limit: page.limit,
        work: usize::MAX,
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

/// Appends what one turn finds; the time to go on from, where it was not all.
fn records<T: Row>(
    archive: &mut dyn ArchiveReader,
    asked: &EntriesAsked,
    rows: &mut Vec<T>,
) -> Result<Looked, ArchiveError> {
    let mut entries = Vec::new();
    let looked = archive.entries(asked, &mut entries)?;
    for entry in &entries {
        rows.push(row_of(entry)?);
    }
    Ok(looked)
}

/// The row or the few that one turn finds: those of an id, or the first within a time.
pub(super) fn few<T: Row>(
    archive: &mut dyn ArchiveReader,
    asked: &EntriesAsked,
) -> Result<Vec<T>, ArchiveError> {
    let mut rows = Vec::new();
    records(archive, asked, &mut rows)?;
    Ok(rows)
}

impl History {
    /// The rows of a page, oldest first.
    pub async fn page<T: Archived>(&self, page: &Page) -> Result<Vec<T>, Unreadable> {
        Ok(self.look(source::<T>(), page).await?.rows)
    }

    /// The same of any source, and what it took.
    pub async fn look<T: Row + Send + 'static>(
        &self,
        source: Source<T>,
        page: &Page,
    ) -> Result<Look<T>, Unreadable> {
        let (mut rows, through) = if page.is_plain() {
            let views = self.views.read();
            let log = (source.log)(&views);
            let mut rows = log.page(page);
            rows.extend((source.open)(&views, page));
            (rows, log.archived_through())
        } else {
            let held = self.held(source, page, page.limit).await;
            let through = held.through;
            (self.rows_of(source, page, held).await?, through)
        };
        page.join(&mut rows);
        if through == 0 || (rows.len() >= page.limit && self.is_whole(source, page, rows.first())) {
            return Ok(Look { rows, passed: 0 });
        }
        let archived = self.archived::<T>(asked(source.list as u16, page, through)).await?;
        rows.extend(archived.rows);
        page.join(&mut rows);
        Ok(Look { rows, passed: archived.passed })
    }

    /// Whether nothing that a page asks for comes before the rows that were found in memory, as many as it wants: rows of most lists
    /// stand in the order of their commands, so that the newest are in memory, but those of one time in several markets stand in
    /// another.
    fn is_whole<T: Row>(&self, source: Source<T>, page: &Page, oldest: Option<&T>) -> bool {
        if page.is_of_one() {
            return true;
        }
        let Some(oldest) = oldest.filter(|_| !is_late(source.list as u16) && !page.is_oldest) else {
            return false;
        };
        page.market.is_some() || (source.log)(&self.views.read()).has_all_from(oldest.key().time_ms)
    }

    /// Finds the rows in memory that fit a page, of each market at most so many from the end asked for on. The answer is that of the
    /// moment of the first lock, though the views are held for a stretch at a time: what is let go of meanwhile is in the archive,
    /// what comes is not looked at.
    async fn held<T: Row>(&self, source: Source<T>, page: &Page, most: usize) -> Held<T> {
        let whole = Page { limit: usize::MAX, ..page.clone() };
        let (mut rows, mut found) = (Vec::new(), 0);
        let mut first: Option<(Vec<T>, Sequence, std::vec::IntoIter<Vec<u64>>)> = None;
        let mut places = Vec::new().into_iter();
        let through = loop {
            {
                let views = self.views.read();
                let log = (source.log)(&views);
                let (_, _, lists) = first.get_or_insert_with(|| {
                    let open = (source.open)(&views, &whole);
                    (open, views.sequence(), log.places(&whole).into_iter())
                });
                let mut left = self.steps;
                loop {
                    let Some(place) = places.next().filter(|_| found < most) else {
                        let Some(list) = lists.next() else { break };
                        (places, found) = (list.into_iter(), 0);
                        continue;
                    };
                    if let Some((sequence, row)) = log.placed(place)
                        && page.wants(row)
                    {
                        rows.push((sequence, order_of(row), place));
                        found += 1;
                    }
                    left -= 1;
                    if left == 0 {
                        break;
                    }
                }
                if left > 0 {
                    break log.archived_through();
                }
            }
            tokio::task::yield_now().await;
        };
        let (open, begun, _) = first.unwrap_or_default();
        let through = through.min(begun);
        rows.retain(|(sequence, ..)| *sequence > through);
        Held { rows: rows.into_iter().map(|(_, order, place)| (order, place)).collect(), open, through }
    }

    /// The rows that were found to be in memory.
    async fn rows_of<T: Row + Send + 'static>(
        &self,
        source: Source<T>,
        page: &Page,
        held: Held<T>,
    ) -> Result<Vec<T>, Unreadable> {
        let mut rows: Vec<(Order, Found<T>)> =
            held.rows.into_iter().map(|(order, place)| (order, Found::RowRef(place))).collect();
        rows.extend(held.open.into_iter().map(|row| (order_of(&row), Found::Row(row))));
        rows.sort_unstable_by_key(|(order, _)| *order);
        if page.is_oldest {
            rows.truncate(page.limit);
        } else {
            rows.drain(..rows.len().saturating_sub(page.limit));
        }
        self.fetch(source, page.owner, rows).await
    }

    /// Fetches rows from where they stand, or from where they have gone since.
    async fn fetch<T: Row + Send + 'static>(
        &self,
        source: Source<T>,
        owner: AccountId,
        found: Vec<(Order, Found<T>)>,
    ) -> Result<Vec<T>, Unreadable> {
        let (mut rows, mut gone) = (Vec::with_capacity(found.len()), Vec::new());
        {
            let views = self.views.read();
            let log = (source.log)(&views);
            for (order, found) in found {
                match found {
                    Found::Row(row) => rows.push(Some(row)),
                    Found::RowRef(place) => {
                        let row = log.placed(place).map(|(_, row)| *row);
                        if row.is_none() {
                            gone.push((rows.len(), order));
                        }
                        rows.push(row);
                    }
                }
            }
        }
        if !gone.is_empty() {
            let ask = move |archive: &mut dyn ArchiveReader| {
                let mut found = Vec::new();
                for (at, (time_ms, id, market)) in gone {
                    let page = Page::new(owner, Some(market), 1).of_id(id).within(time_ms..=time_ms);
                    found.push((at, few(archive, &asked(source.list as u16, &page, Sequence::MAX))?.pop()));
                }
                Ok(found)
            };
            for (at, row) in self.readers()?.ask(ask).await? {
                rows[at] = row;
            }
        }
        rows.into_iter().collect::<Option<Vec<T>>>().ok_or(Unreadable::Failed)
    }

    /// What the archive has of what is asked for, turn by turn.
    async fn archived<T: Row + Send + 'static>(
        &self,
        mut asked: EntriesAsked,
    ) -> Result<Look<T>, Unreadable> {
        asked.work = self.work;
        let (mut rows, mut looked_at) = (Vec::new(), 0u64);
        let turn = move |archive: &mut dyn ArchiveReader| {
            let were = rows.len();
            let looked = records(archive, &asked, &mut rows)?;
            looked_at += looked.rows;
            asked.limit -= rows.len() - were;
            let Some(time_ms) = looked.rest else {
                let rows = std::mem::take(&mut rows);
                let passed = looked_at.saturating_sub(rows.len() as u64);
                return Ok(ControlFlow::Break(Look { rows, passed }));
            };
            asked.go_on_from(time_ms);
            Ok(ControlFlow::Continue(()))
        };
        self.readers()?.ask_in_turns(turn).await
    }

    /// Passes over what is asked of the archive, and over times beside it, until that would be more than `most`: turn by turn.
    async fn pass(
        &self,
        mut asked: EntriesAsked,
        beside: Arc<[i64]>,
        most: u64,
    ) -> Result<Passed, Unreadable> {
        asked.work = self.work;
        let (mut sum, mut others) = (Passed::default(), 0);
        let turn = move |archive: &mut dyn ArchiveReader| {
            let start = beside.partition_point(|time_ms| time_ms < asked.times.start());
            let end = beside.partition_point(|time_ms| time_ms <= asked.times.end());
            let left = &beside[start..end.max(start)];
            let passed = archive.pass_entries(&asked, left, most - sum.wanted - others)?;
            others += match passed.next {
                None => left.len(),
                Some(next) if asked.is_oldest => left.partition_point(|time_ms| *time_ms < next),
                Some(next) => left.len() - left.partition_point(|time_ms| *time_ms <= next),
            } as u64;
            sum.wanted += passed.wanted;
            sum.rows += passed.rows;
            match passed.next.filter(|_| !passed.is_full) {
                None => Ok(ControlFlow::Break(Passed { next: passed.next, is_full: passed.is_full, ..sum })),
                Some(next) => {
                    asked.go_on_from(next);
                    Ok(ControlFlow::Continue(()))
                }
            }
        };
        self.readers()?.ask_in_turns(turn).await
    }

    /// The rows of a page beyond `skip` others from the end that it begins at. What is passed over is counted, not read.
    pub async fn beyond<T: Row + Send + 'static>(
        &self,
        source: Source<T>,
        page: &Page,
        skip: u64,
        is_counted: bool,
    ) -> Result<Beyond<T>, Unreadable> {
        let near = usize::try_from(skip).ok().and_then(|skip| skip.checked_add(page.limit));
        match near.filter(|near| *near <= self.steps && page.is_plain()) {
            Some(near) => self.beyond_few(source, page, near, is_counted).await,
            None => self.beyond_many(source, page, skip, is_counted).await,
        }
    }

    /// The same where rows of the first few are read.
    async fn beyond_few<T: Row + Send + 'static>(
        &self,
        source: Source<T>,
        page: &Page,
        near: usize,
        is_counted: bool,
    ) -> Result<Beyond<T>, Unreadable> {
        let whole = Page { limit: near, ..page.clone() };
        let (mut rows, held, through) = {
            let views = self.views.read();
            let log = (source.log)(&views);
            let open = (source.open)(&views, &Page { limit: usize::MAX, ..page.clone() });
            let held = log.count(page) + open.len() as u64;
            let mut rows = log.page(&whole);
            rows.extend(open);
            (rows, held, log.archived_through())
        };
        whole.join(&mut rows);
        let mut total = held;
        if through > 0 {
            let asked = asked(source.list as u16, &whole, through);
            if is_counted {
                total += self.pass(asked.clone(), Arc::default(), u64::MAX).await?.wanted;
            }
            rows.extend(self.archived::<T>(asked).await?.rows);
            whole.join(&mut rows);
        }
        if !page.is_oldest {
            rows.reverse();
        }
        let place = place_behind(rows.iter().map(order_of));
        let passed = rows.len().min(near - page.limit);
        let is_there = rows.len() > passed;
        rows.drain(..passed);
        Ok(Beyond { rows, place: place.filter(|_| is_there), total, passed: passed as u64 })
    }

    async fn beyond_many<T: Row + Send + 'static>(
        &self,
        source: Source<T>,
        page: &Page,
        skip: u64,
        is_counted: bool,
    ) -> Result<Beyond<T>, Unreadable> {
        let held = self.held(source, page, usize::MAX).await;
        let asked = asked(source.list as u16, page, held.through);
        let mut found: Vec<(Order, Found<T>)> =
            held.rows.into_iter().map(|(order, place)| (order, Found::RowRef(place))).collect();
        found.extend(held.open.into_iter().map(|row| (order_of(&row), Found::Row(row))));
        found.sort_unstable_by_key(|(order, _)| *order);
        let beside: Arc<[i64]> = found.iter().map(|((time_ms, ..), _)| *time_ms).collect();
        let mut total = found.len() as u64;
        let passed = match held.through {
            // All is here.
            0 => Passed { next: Some(if page.is_oldest { i64::MIN } else { i64::MAX }), ..Passed::default() },
            _ => self.pass(asked.clone(), beside, skip).await?,
        };
        total += passed.wanted;
        let is_passed = |(time_ms, ..): Order| match passed.next {
            None => true,
            Some(next) if page.is_oldest => time_ms < next,
            Some(next) => time_ms > next,
        };
        let were = found.len();
        found.retain(|(order, _)| !is_passed(*order));
        let mut rows_passed = passed.rows + (were - found.len()) as u64;
        // What is still to be passed, row by row.
        let rest = (skip - passed.wanted).saturating_sub((were - found.len()) as u64);
        let limit = usize::try_from(rest).unwrap_or(usize::MAX).saturating_add(page.limit);
        if let Some(next) = passed.next.filter(|_| held.through > 0) {
            let mut rest = asked;
            rest.go_on_from(next);
            if is_counted {
                total += self.pass(rest.clone(), Arc::default(), u64::MAX).await?.wanted;
            }
            let archived = self.archived::<T>(EntriesAsked { limit, ..rest }).await?;
            if !page.is_plain() {
                rows_passed += archived.passed;
            }
            found.extend(archived.rows.into_iter().map(|row| (order_of(&row), Found::Row(row))));
            found.sort_unstable_by_key(|(order, _)| *order);
        }
        if !page.is_oldest {
            found.reverse();
        }
        found.truncate(limit);
        let place = place_behind(found.iter().map(|(order, _)| *order));
        let behind = found.len().min(limit - page.limit);
        let is_there = found.len() > behind;
        found.drain(..behind);
        let rows = self.fetch(source, page.owner, found).await?;
        let place = place.filter(|_| is_there);
        Ok(Beyond { rows, place, total, passed: rows_passed + behind as u64 })
    }

    /// Orders of a page, open ones included, oldest first.
    pub async fn perpetual_orders(
        &self,
        page: &Page,
        is_of_service: bool,
    ) -> Result<Vec<OrderRecord>, Unreadable> {
        let source = if is_of_service { SERVICE_ORDERS } else { ORDERS };
        Ok(self.look(source, page).await?.rows)
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
            (rows, missing, orders.ended().archived_through())
        };
        if through == 0 || missing.is_empty() {
            return Ok(rows);
        }
        let ask = move |archive: &mut dyn ArchiveReader| {
            let mut found: Vec<OrderRecord> = Vec::new();
            for (account, market, order) in missing {
                let page = Page::new(account, Some(market), 1).of_id(order);
                found.extend(few::<OrderRecord>(archive, &asked(List::Orders as u16, &page, through))?);
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
    ) -> Result<Vec<Candle<i64>>, Unreadable> {
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
            let mut found: Vec<ClosedCandle<i64>> = few(archive, &before)?;
            found.extend(few::<ClosedCandle<i64>>(archive, &within)?);
            Ok(found)
        };
        let found = self.readers()?.ask(ask).await?;
        let mut known: Vec<Candle<i64>> = found.iter().map(|closed| closed.candle).collect();
        known.extend(held);
        Ok(fill(&query, now_ms, &known))
    }
}

/// Where a walk stands behind the last of these rows.
fn place_behind(rows: impl DoubleEndedIterator<Item = Order>) -> Option<Place> {
    let mut place: Option<Place> = None;
    for (time_ms, id, market) in rows.rev() {
        let place = place.get_or_insert_with(|| Place { time_ms, passed: Vec::new() });
        if place.time_ms != time_ms {
            break;
        }
        // The last of a market comes first here.
        if place.passed.iter().all(|(known, _)| *known != market) {
            place.passed.push((market, id));
        }
    }
    place
}
