//! The fold that feeds the archive. It rides on the follower, which replays the durable journal in the background: nothing
//! waits for it, and whatever a crash interrupts is given again by the next replay.
//!
//! It folds views of its own, because a row needs what only they know (when an order was placed, what it had traded), but
//! they hold no history: ended orders and trades go straight into the next batch, candles when they close. So neither its memory nor the snapshots
//! that are made of it grow with history.

use super::rows;
use crate::codec::{Reader, Writer};
use crate::history::{FillQuery, FillRecord, Forgotten, HistoryStore, OrderQuery, Place, TradeRecord};
use crate::log::Keep;
use crate::order::OrderRecord;
use crate::recent::{load_head, save_head, set_last};
use crate::{LoadError, SharedViews, Views};
use parking_lot::Mutex;
use ringside_core::event::{Balances, Credited, Event, Kind};
use ringside_core::ids::{AccountId, MarketId, OrderId, Sequence};
use ringside_persist::archive::{Archive, ArchiveError, ArchiveWriter, Batch, Mark};
use ringside_persist::error::FoldError;
use ringside_persist::recover::machine::Fold;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rows of one commit, more or less. A commit writes every page of an index that it touched, and those of a thousand
/// accounts are touched by few rows: a quarter of this number cost a third of the rate.
const ROWS: usize = 65_536;
/// How long fewer rows may wait.
const WAIT: Duration = Duration::from_secs(1);

/// The fold; see the module's header.
pub struct Archiver {
    views: Views,
    pending: Arc<Mutex<Pending>>,
    writer: Box<dyn ArchiveWriter>,
    /// How far the archive had come when it was opened.
    opened: Mark,
    shared: Arc<SharedViews>,
    /// Since when something waits to be committed.
    waiting: Option<Instant>,
    fault: Option<ArchiveError>,
}

impl Archiver {
    /// Opens the archive of the journal `journal_id` to write, and tells `shared` from now on how far it has come. The
    /// journal ends at `last`.
    ///
    /// Errors: the store's; it is another journal's; it knows what the journal does not.
    pub fn open(
        archive: &dyn Archive,
        journal_id: [u8; 16],
        last: Sequence,
        shared: Arc<SharedViews>,
    ) -> Result<Archiver, ArchiveError> {
        let writer = archive.writer(journal_id)?;
        let opened = writer.mark();
        if opened.sequence > last {
            let reason = format!("the journal ends at {last}");
            return Err(ArchiveError::Ahead { mark: opened.sequence, reason });
        }
        shared.set_archived(opened.sequence);
        let pending = Arc::new(Mutex::new(Pending { after: opened.sequence, batch: Batch::default() }));
        let views = views_of(&pending);
        Ok(Archiver { views, pending, writer, opened, shared, waiting: None, fault: None })
    }

    /// How far the archive has come.
    pub fn mark(&self) -> Mark {
        self.writer.mark()
    }

    /// The views as they now are.
    pub fn views(&self) -> &Views {
        &self.views
    }

    /// The same history must give the same time at the mark.
    fn check_mark(&mut self, sequence: Sequence, time_ns: i64) {
        if sequence == self.opened.sequence && time_ns != self.opened.time_ns && self.fault.is_none() {
            let reason = format!(
                "the journal has another command there, of {time_ns} ns where the archive says {} ns",
                self.opened.time_ns
            );
            self.fault = Some(ArchiveError::Ahead { mark: sequence, reason });
        }
    }
}

fn views_of(pending: &Arc<Mutex<Pending>>) -> Views {
    Views::new(Box::new(Collector {
        pending: pending.clone(),
        forgotten: Forgotten::default(),
        last_trades: Vec::new(),
    }))
}

impl Fold for Archiver {
    fn event(&mut self, event: &Event) {
        let is_new = event.sequence > self.opened.sequence;
        if is_new && let Some(changed) = event.get::<Balances>() {
            self.pending.lock().batch.balances.extend(rows::balance_changes(event, changed));
        }
        if is_new && let Some(credited) = event.get::<Credited>() {
            self.pending.lock().batch.credits.push(rows::row_of_credit(event, credited));
        }
        self.views.fold(event);
        if event.kind == Kind::Done as u16 {
            let closed = self.views.klines().closed_by(event.sequence);
            if is_new && !closed.is_empty() {
                let candles = closed.iter().map(|closed| rows::row_of_kline(closed, event.sequence));
                self.pending.lock().batch.candles.extend(candles);
            }
            {
                let entries = &mut self.pending.lock().batch.entries;
                self.views.take_perpetual(|added| {
                    if is_new {
                        entries.push(rows::entry_of(added, event.sequence));
                    }
                });
            }
            self.views.forget(event.sequence);
            self.check_mark(event.sequence, event.time_ns);
        }
    }

    fn save(&self, bytes: &mut Vec<u8>) {
        self.views.save(bytes);
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), FoldError> {
        self.pending.lock().batch.clear();
        self.views.load(bytes).map(|_| ()).map_err(FoldError::from)
    }

    fn reset(&mut self) {
        self.pending.lock().batch.clear();
        self.views = views_of(&self.pending);
    }

    fn kept(&self) -> Sequence {
        self.writer.mark().sequence
    }

    fn commit(&mut self, through: Sequence, is_due: bool) -> Result<(), ArchiveError> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let mark = self.writer.mark();
        let mark = match through > mark.sequence {
            true => Mark { sequence: through, time_ns: self.views.time_ns() },
            false => mark,
        };
        let mut pending = self.pending.lock();
        let is_waiting = mark != self.writer.mark();
        if !is_due {
            if !is_waiting {
                return Ok(());
            }
            let since = *self.waiting.get_or_insert_with(Instant::now);
            if pending.batch.len() < ROWS && since.elapsed() < WAIT {
                return Ok(());
            }
        }
        self.writer.commit(&pending.batch, mark, is_due)?;
        pending.batch.clear();
        self.waiting = None;
        self.shared.set_archived(mark.sequence);
        Ok(())
    }
}

/// Rows of commands that are not archived yet.
struct Pending {
    /// Rows of this command and before are in the archive.
    after: Sequence,
    batch: Batch,
}

/// What stands in for history in the archiver's views: rows go into the batch, none stays.
struct Collector {
    pending: Arc<Mutex<Pending>>,
    forgotten: Forgotten,
    last_trades: Vec<Option<TradeRecord>>,
}

impl HistoryStore for Collector {
    fn keep(&self) -> Keep {
        Keep::Nothing
    }

    fn placed(&mut self, _order: OrderId, _account: AccountId, _created_ns: i64) {}

    fn ended(&mut self, order: &OrderRecord, sequence: Sequence) {
        self.forgotten.newest_order = self.forgotten.newest_order.max(order.order);
        let mut pending = self.pending.lock();
        if sequence > pending.after {
            pending.batch.orders.push(rows::row_of_order(order, sequence));
        }
    }

    fn refused(&mut self, order: &OrderRecord, _sequence: Sequence) {
        self.forgotten.newest_order = self.forgotten.newest_order.max(order.order);
    }

    fn trade(&mut self, trade: &TradeRecord, sequence: Sequence) {
        set_last(&mut self.last_trades, *trade);
        let mut pending = self.pending.lock();
        if sequence > pending.after {
            pending.batch.trades.push(rows::row_of_trade(trade, sequence));
        }
    }

    fn forgotten(&self) -> Forgotten {
        self.forgotten
    }

    fn forget(&mut self, archived: Sequence) {
        self.forgotten.through = archived;
    }

    fn ended_order(&self, _order: OrderId) -> Option<OrderRecord> {
        None
    }

    fn ended_orders(
        &self,
        _query: &OrderQuery,
        _place: Place,
        _steps: usize,
        _orders: &mut Vec<OrderRecord>,
    ) -> Place {
        Place::End
    }

    fn fills(&self, _query: &FillQuery, _place: Place, _steps: usize, _fills: &mut Vec<FillRecord>) -> Place {
        Place::End
    }

    fn trades(&self, _market: MarketId, _limit: usize, _trades: &mut Vec<TradeRecord>) {}

    fn last_trade(&self, market: MarketId) -> Option<TradeRecord> {
        *self.last_trades.get(market as usize)?
    }

    /// As [`crate::RecentHistory`] saves itself when it holds no row: it is what loads this.
    fn save(&self, writer: &mut Writer<'_>) {
        save_head(writer, self.forgotten, &self.last_trades);
        writer.count(0);
        writer.count(0);
    }

    fn load(&mut self, reader: &mut Reader<'_>) -> Result<(), LoadError> {
        let (forgotten, last_trades) = load_head(reader)?;
        for _ in 0..2 {
            if reader.count()? != 0 {
                return Err(reader.bad("history in a snapshot"));
            }
        }
        (self.forgotten, self.last_trades) = (forgotten, last_trades);
        Ok(())
    }
}
