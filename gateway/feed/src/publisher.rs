//! From the newest price of a feed to a command of its source.

use ringside_commands::ingress::{Ingress, Priority, Reply, Unavailable};
use ringside_config::feed::Feed;
use ringside_core::command::{Command, FeedPrice};
use ringside_core::money::Price;
use ringside_core::reject::Reject;
use ringside_views::SharedViews;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Publishes for one feed.
pub(super) struct Publisher {
    feed: String,
    market: String,
    source: u32,
    every: Duration,
    ingress: Ingress,
    views: Arc<SharedViews>,
    newest: watch::Receiver<Option<Price>>,
    /// What became of the last price.
    outcome: Outcome,
}

/// What became of a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Nothing was published yet.
    None,
    Taken,
    /// The exchange has no such market.
    NotListed,
    Refused(Reject),
    Unavailable(Unavailable),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::None => f.write_str("nothing was published"),
            Outcome::Taken => f.write_str("prices are taken"),
            Outcome::NotListed => f.write_str("there is no such perpetual market"),
            Outcome::Refused(reject) => write!(f, "prices are refused: {reject:?}"),
            Outcome::Unavailable(unavailable) => unavailable.fmt(f),
        }
    }
}

impl Publisher {
    pub(super) fn new(
        feed: &Feed,
        ingress: Ingress,
        views: Arc<SharedViews>,
        newest: watch::Receiver<Option<Price>>,
    ) -> Publisher {
        Publisher {
            feed: feed.to_string(),
            market: feed.market.clone(),
            source: feed.source,
            every: feed.every,
            ingress,
            views,
            newest,
            outcome: Outcome::None,
        }
    }

    /// Publishes until the feed is gone: the newest price each time, one command at a time, no faster than configured.
    pub(super) async fn run(mut self) {
        // A moment less than the interval of what is read at that interval, lest every second price be late.
        let pause = self.every * 9 / 10;
        while self.newest.changed().await.is_ok() {
            let price = *self.newest.borrow_and_update();
            let Some(price) = price else { continue };
            let outcome = self.publish(price).await;
            self.note(outcome);
            tokio::time::sleep(pause).await;
        }
    }

    async fn publish(&self, price: Price) -> Outcome {
        let market =
            self.views.read().perpetuals().markets().by_symbol(&self.market).map(|market| market.market);
        let Some(market) = market else { return Outcome::NotListed };
        let command = Command::new(FeedPrice { market, source: self.source, price });
        let reply: Result<Reply, Unavailable> = self.ingress.submit(command, Priority::Internal).await;
        match reply.map(|reply| reply.done.rejected()) {
            Ok(None) => Outcome::Taken,
            Ok(Some(reject)) => Outcome::Refused(reject),
            Err(unavailable) => Outcome::Unavailable(unavailable),
        }
    }

    /// Tells the log when something changed.
    fn note(&mut self, outcome: Outcome) {
        if self.outcome != outcome {
            let feed = &self.feed;
            match outcome {
                Outcome::Taken => tracing::info!(%feed, "a price feed publishes"),
                _ => tracing::warn!(%feed, %outcome, "a price feed cannot publish"),
            }
            self.outcome = outcome;
        }
    }
}
