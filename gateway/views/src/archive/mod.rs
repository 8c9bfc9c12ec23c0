//! History in two tiers: what the views still hold, and the archive.
//!
//! A page is read from the views under their lock, which also tells through which sequence they have forgotten, and then,
//! outside the lock, from the archive up to exactly that sequence. Every row is thus found once: rows of later commands
//! were in memory when it was looked at, all others are in the archive, which had them before they were forgotten. So the
//! answer is that of the moment of the lock, however far either tier moves on meanwhile.
//!
//! - [`archiver`]: the fold that feeds the archive, on the follower. [`readers`]: the threads that read it.
//! - [`pages`]: pages of any list; and what orders, trades and candles of the perpetual side are asked beside.
//! - [`keyset`]: rows over several markets, from a place on.
//! - [`rows`]: records of the views as rows of the archive, and back.
//!
//! Not here: SQL or keys (the store's), text (the dialect's), whether the views show the state (the routes').

pub mod archiver;
pub mod keyset;
pub mod pages;
pub mod readers;
pub mod rows;

pub use ringside_persist::archive::Removed;

use crate::SharedViews;
use crate::candle::ClosedCandle;
use crate::history::{FillQuery, FillRecord, OrderQuery, OwnerRecord, TradeRecord};
use crate::kept::List;
use crate::kline::{SpotCandle, list_of};
use crate::log::Page;
use crate::order::OrderRecord;
use crate::time::TimeRange;
use readers::{Readers, Unreadable};
use ringside_core::ids::{AccountId, MarketId, OrderId, Sequence};
use ringside_persist::archive::ArchiveReader;
use std::sync::{Arc, OnceLock};

/// Rows looked at under one lock in a search that may be long.
const STEPS: usize = 2048;

/// Accounts' own rows of so long are never removed from the archive, so that routes of a fixed reach always show all of it, and none has
/// to ask what was removed.
pub const OWN_KEPT_MS: i64 = 92 * 86_400_000;

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

    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        self.readers.get().is_some()
    }

    fn readers(&self) -> Result<&Readers, Unreadable> {
        self.readers.get().ok_or(Unreadable::Failed)
    }

    /// Through where an account's rows of a list were removed from the archive, in a market or in any.
    pub async fn removed(
        &self,
        list: List,
        account: AccountId,
        market: Option<MarketId>,
    ) -> Result<Option<Removed>, Unreadable> {
        let ask = move |archive: &mut dyn ArchiveReader| archive.removed(list as u16, account, market);
        match self.readers.get() {
            Some(readers) => readers.ask(ask).await,
            None => Ok(None),
        }
    }

    /// The order of an id of an account, resting or ended.
    pub async fn order(&self, account: AccountId, order: OrderId) -> Result<Option<OrderRecord>, Unreadable> {
        let page = Page::new(account, None, 1).of_id(order);
        Ok(self.look(pages::SPOT_ORDERS, &page).await?.rows.pop())
    }

    /// Whose the order of an id is, resting or ended.
    pub async fn owner(&self, order: OrderId) -> Result<Option<AccountId>, Unreadable> {
        if let Some(open) = self.views.read().open_orders().get(order) {
            return Ok(Some(open.account));
        }
        let rows: Vec<OwnerRecord> = self.page(&Page::new(0, Some(0), 1).of_id(order)).await?;
        Ok(rows.first().map(|row| row.account))
    }

    /// Orders of an account, newest placement first.
    pub async fn orders(&self, query: OrderQuery) -> Result<Vec<OrderRecord>, Unreadable> {
        let page = Page::new(query.account, query.market, query.limit).within(query.created.milliseconds());
        let page = match query.status {
            Some(status) => page.faceted(1 << status as u8),
            None => page,
        };
        if query.status.is_some_and(|status| status.is_resting()) {
            let mut rows = self.views.read().open_orders().page(&page);
            rows.reverse();
            rows.truncate(query.limit);
            return Ok(rows);
        }
        let mut rows = self.look(pages::SPOT_ORDERS, &page).await?.rows;
        rows.reverse();
        Ok(rows)
    }

    /// Fills of an account, newest first.
    pub async fn fills(&self, query: FillQuery) -> Result<Vec<FillRecord>, Unreadable> {
        let page = Page::new(query.account, query.market, query.limit).within(query.time.milliseconds());
        let mut rows: Vec<FillRecord> = self.page(&page).await?;
        rows.reverse();
        Ok(rows)
    }

    /// The newest trades of a market, newest first, at most `limit`.
    pub async fn trades(&self, market: MarketId, limit: usize) -> Result<Vec<TradeRecord>, Unreadable> {
        let mut rows: Vec<TradeRecord> = self.page(&Page::new(0, Some(market), limit)).await?;
        rows.reverse();
        Ok(rows)
    }

    /// Candles of a spot interval that open within `opens`, oldest first, at most `limit`: the oldest of them when the range says where to
    /// start, else the newest.
    pub async fn klines(
        &self,
        market: MarketId,
        interval: usize,
        opens: TimeRange,
        limit: usize,
    ) -> Result<Vec<SpotCandle>, Unreadable> {
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
        let before = TimeRange { start_s: opens.start_s, end_s: opens.end_s.min(since_s - 1) };
        let missing = if oldest { limit } else { limit - held.len() };
        let page = Page::new(0, Some(market), missing).within(before.milliseconds()).oldest(oldest);
        let asked = pages::asked(list_of(interval), &page, Sequence::MAX);
        let ask = move |archive: &mut dyn ArchiveReader| {
            let found: Vec<ClosedCandle<i128>> = pages::few(archive, &asked)?;
            Ok((archive.mark()?, found))
        };
        let (mark, mut found) = self.readers()?.ask(ask).await?;
        if mark.time_ns.div_euclid(1_000_000_000) < since_s {
            // It is so far behind that candles may be in neither tier. The views hold more than a day of them.
            tracing::error!(archived = mark.sequence, "the archive is too far behind to read candles");
            return Err(Unreadable::Failed);
        }
        found.sort_by_key(|closed| closed.candle.open_ms);
        let mut klines: Vec<SpotCandle> = found.iter().map(|closed| closed.candle).collect();
        klines.append(&mut held);
        klines.truncate(limit);
        Ok(klines)
    }
}
