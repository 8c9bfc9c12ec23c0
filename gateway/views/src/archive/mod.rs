//! History in two tiers: what the views still hold, and the archive.
//!
//! A page is read from the views under their lock, which also tells through which sequence they have forgotten, and then,
//! outside the lock, from the archive up to exactly that sequence. Every row is thus found once: rows of later commands
//! were in memory when it was looked at, all others are in the archive, which had them before they were forgotten. So the
//! answer is that of the moment of the lock, however far either tier moves on meanwhile.
//!
//! - [`archiver`]: the fold that feeds the archive, on the follower. [`readers`]: the threads that read it.
//! - [`perpetual`]: the same for the histories of the perpetual side.
//! - [`keyset`]: rows over several markets, from a place on.
//! - [`rows`]: records of the views as rows of the archive, and back.
//!
//! Not here: SQL or keys (the store's), text (the dialect's), whether the views show the state (the routes').

pub mod archiver;
pub mod keyset;
pub mod perpetual;
pub mod readers;
pub mod rows;

use crate::history::{FillQuery, FillRecord, OrderQuery, Place, TimeRange, TradeRecord};
use crate::kline::{Interval, Kline};
use crate::order::OrderRecord;
use crate::{OrderSearch, SharedViews};
use readers::{Readers, Unreadable};
use ringside_core::ids::{MarketId, OrderId, Sequence};
use ringside_persist::archive::{ArchiveReader, CandlesAsked, FillsAsked, OrdersAsked, Seconds};
use std::sync::{Arc, OnceLock};

/// Rows looked at under one lock in a search that may be long.
const STEPS: usize = 2048;

/// What one turn at the archive takes, in rows that are looked at: a few milliseconds.
const WORK: usize = 8_192;

/// Both tiers.
pub struct History {
    views: Arc<SharedViews>,
    readers: OnceLock<Readers>,
    steps: usize,
    work: usize,
}

impl History {
    /// With an archive that is not open yet: only views that have forgotten nothing can be read.
    pub fn new(views: Arc<SharedViews>) -> History {
        History { views, readers: OnceLock::new(), steps: STEPS, work: WORK }
    }

    /// With so many rows looked at under one lock, and so many in one turn at the archive.
    #[must_use]
    pub fn stepping(self, steps: usize, work: usize) -> History {
        History { steps, work, ..self }
    }

    /// Opens the archive, once.
    pub fn open(&self, readers: Readers) {
        // A second one would read the same file.
        let _ = self.readers.set(readers);
    }

    fn readers(&self) -> Result<&Readers, Unreadable> {
        self.readers.get().ok_or(Unreadable::Failed)
    }

    /// The order of an id, resting or ended.
    pub async fn order(&self, order: OrderId) -> Result<Option<OrderRecord>, Unreadable> {
        let forgotten = {
            let views = self.views.read();
            if let Some(found) = views.order(order) {
                return Ok(Some(found));
            }
            views.history().forgotten()
        };
        if order == 0 || order > forgotten.newest_order {
            return Ok(None);
        }
        let found = self.readers()?.ask(move |archive| archive.order(order, forgotten.through)).await?;
        Ok(found.map(|row| rows::order_of(&row)))
    }

    /// Orders of an account, newest placement first.
    pub async fn orders(&self, query: OrderQuery) -> Result<Vec<OrderRecord>, Unreadable> {
        let mut search = OrderSearch::new(query);
        while !search.is_done() {
            self.views.read().search_orders(&mut search, STEPS);
        }
        if let Some(through) = search.rest() {
            let asked = OrdersAsked {
                account: query.account,
                market: query.market,
                status: query.status,
                created: seconds(query.created),
                before: OrderId::MAX,
                through,
                limit: query.limit,
            };
            let ask = move |archive: &mut dyn ArchiveReader| {
                let mut found = Vec::new();
                archive.orders(&asked, &mut found).map(|()| found)
            };
            let found = self.readers()?.ask(ask).await?;
            search.add(found.iter().map(rows::order_of).collect());
        }
        Ok(search.into_orders())
    }

    /// Fills of an account, newest first.
    pub async fn fills(&self, query: FillQuery) -> Result<Vec<FillRecord>, Unreadable> {
        let (mut place, mut fills) = (Place::Newest, Vec::new());
        let (mut first, mut forgotten) = (None, Default::default());
        while place != Place::End {
            let views = self.views.read();
            forgotten = views.history().forgotten();
            first.get_or_insert(forgotten);
            place = views.history().fills(&query, place, STEPS, &mut fills);
        }
        // All rows in memory are newer than any in the archive.
        if fills.len() >= query.limit || forgotten.through == 0 {
            return Ok(fills);
        }
        let asked = FillsAsked {
            account: query.account,
            market: query.market,
            time: seconds(query.time),
            through: forgotten.through,
            limit: query.limit,
        };
        let ask = move |archive: &mut dyn ArchiveReader| {
            let mut found = Vec::new();
            archive.fills(&asked, &mut found).map(|()| found)
        };
        let found = self.readers()?.ask(ask).await?;
        let met = if first == Some(forgotten) { 0 } else { fills.len() };
        for fill in found.iter().map(rows::fill_of) {
            // Forgotten between two stretches, after it was met.
            if !fills[..met].contains(&fill) {
                fills.push(fill);
            }
        }
        fills.truncate(query.limit);
        Ok(fills)
    }

    /// The newest trades of a market, newest first, at most `limit`.
    pub async fn trades(&self, market: MarketId, limit: usize) -> Result<Vec<TradeRecord>, Unreadable> {
        let mut trades = Vec::with_capacity(limit);
        let forgotten = {
            let views = self.views.read();
            views.history().trades(market, limit, &mut trades);
            views.history().forgotten()
        };
        let rest = limit - trades.len();
        // Trades are numbered from 1, so that the first is known to be the last of the list.
        let is_whole = trades.last().is_some_and(|trade| trade.trade == 1);
        if rest == 0 || is_whole || forgotten.through == 0 {
            return Ok(trades);
        }
        let ask = move |archive: &mut dyn ArchiveReader| {
            let mut found = Vec::new();
            archive.trades(market, forgotten.through, rest, &mut found).map(|()| found)
        };
        let found = self.readers()?.ask(ask).await?;
        trades.extend(found.iter().map(rows::trade_of));
        Ok(trades)
    }

    /// Candles that open within `opens`, oldest first, at most `limit`: the oldest of them when the range says where to
    /// start, else the newest.
    pub async fn klines(
        &self,
        market: MarketId,
        interval: Interval,
        opens: TimeRange,
        limit: usize,
    ) -> Result<Vec<Kline>, Unreadable> {
        let (mut held, since_s) = {
            let views = self.views.read();
            let klines = views.klines();
            (klines.page(market, interval, &opens, limit), klines.held_since_s(market, interval))
        };
        let oldest = opens.start_s != i64::MIN;
        let Some(since_s) = since_s else { return Ok(held) };
        if opens.start_s >= since_s || (!oldest && held.len() >= limit) {
            return Ok(held);
        }
        // Candles before the oldest that is held are over and never change, whenever they were archived.
        let open = Seconds { start: opens.start_s, end: opens.end_s.min(since_s - 1) };
        let limit_archived = if oldest { limit } else { limit - held.len() };
        let asked = CandlesAsked {
            market,
            interval_s: rows::interval_s(interval),
            open,
            through: Sequence::MAX,
            oldest,
            limit: limit_archived,
        };
        let ask = move |archive: &mut dyn ArchiveReader| {
            let mut found = Vec::new();
            archive.candles(&asked, &mut found)?;
            Ok((archive.mark()?, found))
        };
        let (mark, found) = self.readers()?.ask(ask).await?;
        if mark.time_ns.div_euclid(1_000_000_000) < since_s {
            // It is so far behind that candles may be in neither tier. The views hold more than a day of them.
            tracing::error!(archived = mark.sequence, "the archive is too far behind to read candles");
            return Err(Unreadable::Failed);
        }
        let mut klines: Vec<Kline> = found.iter().map(rows::kline_of).collect();
        klines.append(&mut held);
        klines.truncate(limit);
        Ok(klines)
    }
}

fn seconds(range: TimeRange) -> Seconds {
    Seconds { start: range.start_s, end: range.end_s }
}
