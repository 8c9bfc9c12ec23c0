//! What each outside source last said, for those who want to see it. Nothing is decided with it: an index is made of the commands
//! that publishers send.

use super::price;
use parking_lot::Mutex;
use ringside_config::feed::{Feed, FeedKind, PricePaths};
use ringside_core::money::{Price, Quantity};
use std::collections::BTreeMap;

/// One quote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quote {
    /// Where it was read.
    pub source: String,
    /// The price, above 0.
    pub last: Price,
    /// The lower of two prices; the price itself of a source that tells one.
    pub bid: Price,
    /// The higher of the two, or the price itself.
    pub ask: Price,
    /// Base traded in 24 hours; 0 where the source does not tell it.
    pub volume: Quantity,
    /// When it came, UNIX milliseconds.
    pub time_ms: i64,
}

/// The newest quote of each source, by market and number of the source.
#[derive(Debug, Default)]
pub struct Quotes(Mutex<BTreeMap<(String, u32), Quote>>);

impl Quotes {
    /// Takes what a source of the outside said.
    pub(super) fn put(&self, feed: &Feed, json: &str, last: Price, time_ms: i64) {
        let (FeedKind::Http { url, price: paths, volume, .. }
        | FeedKind::WebSocket { url, price: paths, volume, .. }) = &feed.kind
        else {
            return;
        };
        let (bid, ask) = match paths {
            PricePaths::One(_) => (last, last),
            PricePaths::Middle(..) => price::both(json, paths).unwrap_or((last, last)),
        };
        let volume = volume.as_ref().and_then(|path| price::at(json, path)).unwrap_or(0);
        let source = url.authority.clone();
        let quote = Quote { source, last, bid: bid.min(ask), ask: bid.max(ask), volume, time_ms };
        self.0.lock().insert((feed.market.to_ascii_uppercase(), feed.source), quote);
    }

    /// The newest quote of the first outside source that is configured for a market.
    pub fn of<'f>(&self, feeds: impl IntoIterator<Item = &'f Feed>, market: &str) -> Option<Quote> {
        let is_outside =
            |feed: &&Feed| matches!(feed.kind, FeedKind::Http { .. } | FeedKind::WebSocket { .. });
        let first =
            feeds.into_iter().filter(is_outside).find(|feed| feed.market.eq_ignore_ascii_case(market))?;
        self.0.lock().get(&(first.market.to_ascii_uppercase(), first.source)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringside_outbound::url::Url;
    use std::time::Duration;

    #[test]
    fn the_first_outside_source_counts() {
        let path = |name: &str| vec![name.to_owned()];
        let url = Url { authority: "venue:80".to_owned(), path: "/".to_owned() };
        let middle = PricePaths::Middle(path("b"), path("a"));
        let feed =
            |source, kind| Feed { market: "btcusdt".to_owned(), source, every: Duration::from_secs(1), kind };
        let outside =
            FeedKind::Http { url: url.clone(), is_encrypted: false, price: middle, volume: Some(path("v")) };
        let other =
            FeedKind::Http { url, is_encrypted: true, price: PricePaths::One(path("p")), volume: None };
        let feeds = [feed(1, FeedKind::Fixed { price: 5 }), feed(2, outside), feed(3, other)];
        let quotes = Quotes::default();
        quotes.put(&feeds[2], r#"{"p":"7"}"#, 700_000_000, 5);
        assert_eq!(quotes.of(&feeds, "BTCUSDT"), None, "the first has said nothing yet");
        quotes.put(&feeds[1], r#"{"b":"60000.5","a":"60001.5","v":"12.25"}"#, 6_000_100_000_000, 9);
        let quote = quotes.of(&feeds, "BTCUSDT").unwrap();
        assert_eq!(
            (quote.bid, quote.ask, quote.last),
            (6_000_050_000_000, 6_000_150_000_000, 6_000_100_000_000)
        );
        assert_eq!((quote.volume, quote.time_ms, quote.source.as_str()), (1_225_000_000, 9, "venue:80"));
        assert_eq!(quotes.of(&feeds, "ETHUSDT"), None);
        assert_eq!(quotes.of(&feeds[2..], "BTCUSDT").unwrap().bid, 700_000_000);
    }
}
