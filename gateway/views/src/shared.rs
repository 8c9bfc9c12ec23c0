//! The views as threads share them: one writer (egress), many readers.
//!
//! Readers take one lock for all they read, so what they see is of one moment. The table of markets can be read without
//! that lock: order entry needs it for every request and must not wait for a fold.

use super::Views;
use super::market::MarketView;
use parking_lot::{RwLock, RwLockReadGuard};
use ringside_core::ids::{AccountId, Sequence};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What order entry looks at.
#[derive(Default)]
struct EntryTable {
    markets: MarketView,
    /// Order rates of accounts that have their own: in ten seconds, in a minute.
    rates: BTreeMap<AccountId, [u32; 2]>,
}

/// Views behind a lock. Share it in an `Arc`.
#[derive(Default)]
pub struct SharedViews {
    views: RwLock<Views>,
    entry: RwLock<Arc<EntryTable>>,
    /// Grows each time `entry` is replaced.
    version: AtomicU64,
    /// Sequence through which history is in the archive.
    archived: AtomicU64,
}

impl SharedViews {
    /// Shares `views`.
    pub fn new(views: Views) -> SharedViews {
        let shared = SharedViews::default();
        shared.replace(views);
        shared
    }

    /// Everything as of one moment. Hold it for bounded work only: the writer waits, and behind it every other reader.
    pub fn read(&self) -> RwLockReadGuard<'_, Views> {
        self.views.read()
    }

    /// Takes `views` for the present ones: those of a finished recovery for the empty ones of a start.
    pub fn replace(&self, views: Views) {
        self.write(|present| {
            *present = views;
            self.publish_markets(present);
        });
    }

    /// Changes the views under one lock. Whoever reads after this sees all of the change.
    pub fn write<R>(&self, change: impl FnOnce(&mut Views) -> R) -> R {
        let mut views = self.views.write();
        let before = views.markets_changed();
        let result = change(&mut views);
        if views.markets_changed() != before {
            self.publish_markets(&views);
        }
        // Acquire: partner of the Release in `set_archived`; who reads what is forgotten here finds it there.
        views.forget(self.archived.load(Ordering::Acquire));
        result
    }

    /// Says that everything of `sequence` and before can be read from the archive: the views may forget it.
    pub fn set_archived(&self, sequence: Sequence) {
        // Release: see `write`.
        self.archived.store(sequence, Ordering::Release);
    }

    /// The sequence through which history is in the archive.
    pub fn archived(&self) -> Sequence {
        self.archived.load(Ordering::Acquire)
    }

    fn publish_markets(&self, views: &Views) {
        let rates = views.perpetuals().configured().order_rates().collect();
        *self.entry.write() = Arc::new(EntryTable { markets: views.markets().clone(), rates });
        // Release: partner of the Acquire in `MarketReader::with`.
        self.version.fetch_add(1, Ordering::Release);
    }
}

/// One thread's look at the table of markets and at own order rates: one atomic load unless something has changed.
pub struct MarketReader {
    shared: Arc<SharedViews>,
    cached: RefCell<(u64, Arc<EntryTable>)>,
}

impl MarketReader {
    /// A reader for the calling thread.
    pub fn new(shared: Arc<SharedViews>) -> MarketReader {
        MarketReader { shared, cached: RefCell::default() }
    }

    /// Calls `look` with the table as of now: every reply that was given before shows in it.
    pub fn with<R>(&self, look: impl FnOnce(&MarketView) -> R) -> R {
        self.look(|table| look(&table.markets))
    }

    /// Order rates of an account's own, in ten seconds and in a minute; 0 where it has none.
    pub fn order_rates(&self, account: AccountId) -> [u32; 2] {
        self.look(|table| table.rates.get(&account).copied().unwrap_or_default())
    }

    fn look<R>(&self, look: impl FnOnce(&EntryTable) -> R) -> R {
        let mut cached = self.cached.borrow_mut();
        // Acquire: partner of the Release in `publish_markets`.
        let version = self.shared.version.load(Ordering::Acquire);
        if cached.0 != version {
            *cached = (version, self.shared.entry.read().clone());
        }
        look(&cached.1)
    }
}
