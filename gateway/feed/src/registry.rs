//! Which feeds there are: those of the configuration, and what operators added, changed or took away while the exchange ran.
//!
//! The latter is kept in a file of the data folder, not in the journal: an address may hold a provider's key, and no secret is in the
//! journal, which goes on for ever and into every copy. Replay needs no feed, as the prices that feeds delivered are commands. That
//! somebody changed one is in the audit log, without path and texts.

use parking_lot::Mutex;
use ringside_auth::secret::{self, SecretError};
use ringside_config::Config;
use ringside_config::feed::{Feed, Table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;

/// The file, in the folder that only the owner can enter.
pub const FILE: &str = "feeds";
/// Most feeds that operators may add.
pub const ADDED_MAX: usize = 1_000;

/// A feed that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it reads.
    pub feed: Feed,
    /// Whether an operator added or changed it, not the configuration.
    pub is_added: bool,
}

/// What the file holds.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Stored {
    /// Added, or in place of one of the configuration.
    feeds: Vec<Table>,
    /// Of the configuration, and taken away: market and number.
    removed: BTreeSet<(String, u32)>,
}

/// See the module.
pub struct Feeds {
    configured: Vec<Feed>,
    folder: PathBuf,
    stored: Mutex<Stored>,
    current: watch::Sender<Arc<Vec<Entry>>>,
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// What is wrong with the feed.
    #[error("{0}")]
    Feed(String),
    /// There is none of that number in the market.
    #[error("there is no such feed")]
    Unknown,
    /// The file.
    #[error(transparent)]
    File(#[from] SecretError),
}

impl Feeds {
    /// Those of the configuration alone: see [`Feeds::load`].
    pub fn new(config: &Config) -> Feeds {
        let configured = config.feeds.clone();
        let (current, _) = watch::channel(Arc::new(entries(&configured, &Stored::default())));
        let folder = config.data_dir.join(ringside_auth::FOLDER);
        Feeds { configured, folder, stored: Mutex::default(), current }
    }

    /// Takes in what operators changed in earlier runs.
    pub fn load(&self) -> Result<(), SecretError> {
        let path = self.folder.join(FILE);
        let Some(text) = secret::read(&path)? else { return Ok(()) };
        let read: Option<Stored> = serde_json::from_str(&text).ok();
        let is_sound = |stored: &Stored| stored.feeds.iter().all(|table| table.clone().feed().is_ok());
        let wanted = "feeds as this program wrote them";
        let stored = read.filter(is_sound).ok_or(SecretError::Form { path, wanted })?;
        self.current.send_replace(Arc::new(entries(&self.configured, &stored)));
        *self.stored.lock() = stored;
        Ok(())
    }

    /// All there are now, by market and number.
    pub fn all(&self) -> Arc<Vec<Entry>> {
        self.current.borrow().clone()
    }

    /// Follows changes.
    pub(super) fn follow(&self) -> watch::Receiver<Arc<Vec<Entry>>> {
        self.current.subscribe()
    }

    /// Adds a feed, or puts it in place of the one of its market and number; whether there was one. Durable when it returns.
    pub fn put(&self, mut table: Table) -> Result<bool, ChangeError> {
        table.market.make_ascii_uppercase();
        table.clone().feed().map_err(ChangeError::Feed)?;
        let key = (table.market.clone(), table.source);
        let mut stored = self.stored.lock();
        let mut next = stored.clone();
        let was_there = self.all().iter().any(|entry| is_of(entry, &key));
        next.feeds.retain(|other| (other.market.as_str(), other.source) != (key.0.as_str(), key.1));
        next.removed.remove(&key);
        next.feeds.push(table);
        if next.feeds.len() > ADDED_MAX {
            return Err(ChangeError::Feed(format!("at most {ADDED_MAX} feeds may be added")));
        }
        self.store(&mut stored, next)?;
        Ok(was_there)
    }

    /// Takes a feed away. Durable when it returns.
    pub fn remove(&self, market: &str, source: u32) -> Result<(), ChangeError> {
        let key = (market.to_ascii_uppercase(), source);
        let mut stored = self.stored.lock();
        if !self.all().iter().any(|entry| is_of(entry, &key)) {
            return Err(ChangeError::Unknown);
        }
        let mut next = stored.clone();
        next.feeds.retain(|other| (other.market.as_str(), other.source) != (key.0.as_str(), key.1));
        if self.configured.iter().any(|feed| (&feed.market, feed.source) == (&key.0, key.1)) {
            next.removed.insert(key);
        }
        Ok(self.store(&mut stored, next)?)
    }

    fn store(&self, stored: &mut Stored, next: Stored) -> Result<(), SecretError> {
        let text = serde_json::to_string(&next).unwrap_or_default();
        secret::write(&self.folder, &self.folder.join(FILE), &text)?;
        self.current.send_replace(Arc::new(entries(&self.configured, &next)));
        *stored = next;
        Ok(())
    }
}

fn is_of(entry: &Entry, (market, source): &(String, u32)) -> bool {
    (&entry.feed.market, entry.feed.source) == (market, *source)
}

/// What is configured and what was changed, as one list: the order of the configuration, what was added behind it.
fn entries(configured: &[Feed], stored: &Stored) -> Vec<Entry> {
    let mut added: Vec<Feed> = stored.feeds.iter().filter_map(|table| table.clone().feed().ok()).collect();
    let mut entries = Vec::new();
    for feed in configured {
        let key = (feed.market.clone(), feed.source);
        let at = added.iter().position(|other| (&other.market, other.source) == (&key.0, key.1));
        match at {
            Some(at) => entries.push(Entry { feed: added.remove(at), is_added: true }),
            None if stored.removed.contains(&key) => {}
            None => entries.push(Entry { feed: feed.clone(), is_added: false }),
        }
    }
    entries.extend(added.into_iter().map(|feed| Entry { feed, is_added: true }));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(market: &str, source: u32, price: &str) -> Table {
        let text = serde_json::json!({ "market": market, "source": source, "kind": "fixed", "price": price });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn changes_outlive_the_process_and_the_configuration_stays_beneath() {
        let folder = std::env::temp_dir().join(format!("ringside-feeds-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let feed = |source, price| table("BTCUSDT", source, price).feed().unwrap();
        let config =
            Config { data_dir: folder.clone(), feeds: vec![feed(1, "5"), feed(2, "6")], ..Config::default() };
        let feeds = Feeds::new(&config);
        feeds.load().unwrap();
        let keys = |feeds: &Feeds| -> Vec<(String, u32, bool)> {
            let of = |entry: &Entry| (entry.feed.market.clone(), entry.feed.source, entry.is_added);
            feeds.all().iter().map(of).collect()
        };
        let of = |market: &str, source, is_added| (market.to_owned(), source, is_added);
        assert_eq!(keys(&feeds), [of("BTCUSDT", 1, false), of("BTCUSDT", 2, false)]);
        assert!(!feeds.put(table("ethusdt", 9, "7")).unwrap());
        assert!(feeds.put(table("BTCUSDT", 2, "8")).unwrap());
        feeds.remove("btcusdt", 1).unwrap();
        assert!(matches!(feeds.remove("BTCUSDT", 1), Err(ChangeError::Unknown)));
        assert!(matches!(feeds.put(table("BTCUSDT", 3, "x")), Err(ChangeError::Feed(_))));
        let changed = [of("BTCUSDT", 2, true), of("ETHUSDT", 9, true)];
        assert_eq!(keys(&feeds), changed);
        let again = Feeds::new(&config);
        again.load().unwrap();
        assert_eq!(keys(&again), changed);
        assert_eq!(again.all()[0].feed, feed(2, "8"));
        // What was put over the configuration's goes with it, and comes back with it.
        again.remove("BTCUSDT", 2).unwrap();
        assert!(!again.put(table("BTCUSDT", 1, "9")).unwrap());
        assert_eq!(keys(&again), [of("BTCUSDT", 1, true), of("ETHUSDT", 9, true)]);
        let path = folder.join(ringside_auth::FOLDER).join(FILE);
        std::fs::write(&path, "{}").unwrap();
        assert!(matches!(Feeds::new(&config).load(), Err(SecretError::Form { .. })));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
