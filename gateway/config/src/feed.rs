//! Price feeds as the configuration file spells them: one table `[[feed]]` for each source of a market's index.
//!
//! ```toml
//! [[feed]]
//! market = "BTCUSDT"               # a perpetual market of this exchange
//! source = 1                       # number of the source in that market, as SetSource named it
//! kind = "websocket"               # fixed, spot, http or websocket
//! url = "wss://127.0.0.1:9100/ws"   # or ws; of http: https or http
//! send = ['{"method":"SUBSCRIBE","params":["btcusdt@bookTicker"],"id":1}']
//! price = ["data.b", "data.a"]     # where the price stands in a message; of two, their middle
//! every = "250ms"                  # shortest time between two prices; of http, between two requests
//! ```
//! `fixed` wants `price = "60000"`; `spot` wants `spot_market`, and takes `notional` (quote, 25000 unless set); `http` wants
//! `url` and `price`, and takes `volume` (where the base traded in 24 hours stands, to be shown); `websocket` takes `send` as well. A key that the kind does not know is refused. Weights are no
//! configuration: they travel as commands.

use super::value::{Value, Wanted};
use ringside_core::money::{AMOUNT_UNIT, MONEY_UNIT, Money, Price};
use ringside_outbound::url::{NodeUrl, Url};
use ringside_wire::decimal::{parse_amount, parse_entry};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Shortest time between two prices of a feed: an index moves once a second.
const EVERY_MIN: Duration = Duration::from_millis(50);
/// Longest: a source is stale after ten seconds unless the market says otherwise.
const EVERY_MAX: Duration = Duration::from_secs(60);
/// Messages that a connection is opened with, at most.
const SEND_MAX: usize = 16;

/// One source of the index of one market.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// Name of the perpetual market.
    pub market: String,
    /// Number of the source.
    pub source: u32,
    /// Shortest time between two prices.
    pub every: Duration,
    /// Where it reads.
    pub kind: FeedKind,
}

/// Where a feed reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedKind {
    /// Nowhere: one price for ever. For tests and shows.
    Fixed {
        /// The price.
        price: Price,
    },
    /// A spot market of this exchange: the middle of its impact prices.
    Spot {
        /// Name of the spot market.
        market: String,
        /// Notional of the impact prices.
        notional: Money,
    },
    /// A resource that is asked for again and again.
    Http {
        /// Address of the source.
        url: Url,
        /// Whether it is asked in secret: `https`.
        is_encrypted: bool,
        /// Where the price stands in its JSON.
        price: PricePaths,
        /// Where the base traded in 24 hours stands, to be shown.
        volume: Option<Vec<String>>,
    },
    /// A stream of messages.
    WebSocket {
        /// Address of the source.
        url: Url,
        /// Whether it is listened to in secret: `wss`.
        is_encrypted: bool,
        /// Texts sent when a connection is open.
        send: Vec<String>,
        /// Where the price stands in a message's JSON; messages without it are passed over.
        price: PricePaths,
        /// Where the base traded in 24 hours stands, to be shown.
        volume: Option<Vec<String>>,
    },
}

impl Value for Url {
    fn parse(text: &str) -> Result<Url, Wanted> {
        Url::parse(text, "http").ok_or(Wanted("an address such as http://host:port/path"))
    }
    fn show(&self) -> String {
        self.text("http")
    }
}

impl Value for Vec<NodeUrl> {
    fn parse(text: &str) -> Result<Vec<NodeUrl>, Wanted> {
        let wanted = Wanted("addresses such as https://host:port/path, separated by commas");
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(NodeUrl::parse).collect::<Option<_>>().ok_or(wanted)
    }
    /// Without the paths: a provider's key may be in them.
    fn show(&self) -> String {
        let text = |node: &NodeUrl| {
            let Url { authority, path } = &node.url;
            let scheme = if node.is_encrypted { "https" } else { "http" };
            format!("{scheme}://{authority}{}", if path == "/" { "/" } else { "/..." })
        };
        self.iter().map(text).collect::<Vec<_>>().join(",")
    }
}

/// The places of a price in JSON: one, or two whose middle it is. A place is a list of member names, and of numbers where
/// an array is met, joined by points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PricePaths {
    /// The price itself.
    One(Vec<String>),
    /// Bid and ask, in either order.
    Middle(Vec<String>, Vec<String>),
}

impl fmt::Display for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} source {} from ", self.market, self.source)?;
        match &self.kind {
            FeedKind::Fixed { .. } => f.write_str("a fixed price"),
            FeedKind::Spot { market, .. } => write!(f, "spot market {market}"),
            FeedKind::Http { url, is_encrypted, .. } => {
                write!(f, "http{}://{}", if *is_encrypted { "s" } else { "" }, url.authority)
            }
            FeedKind::WebSocket { url, is_encrypted, .. } => {
                write!(f, "ws{}://{}", if *is_encrypted { "s" } else { "" }, url.authority)
            }
        }
    }
}

/// A table as it is written.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// See [`Feed::market`].
    pub market: String,
    /// See [`Feed::source`].
    pub source: u32,
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    every: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<OneOrMore>,
    #[serde(skip_serializing_if = "Option::is_none")]
    volume: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    send: Option<OneOrMore>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spot_market: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notional: Option<String>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn texts(self) -> Vec<String> {
        match self {
            OneOrMore::One(text) => vec![text],
            OneOrMore::More(texts) => texts,
        }
    }
}

/// All tables `[[feed]]` of a file. `Err` says which is wrong, counted from 1, and how.
pub(super) fn parse(value: &toml::Value) -> Result<Vec<Feed>, String> {
    let tables = value.as_array().ok_or("`feed` must be tables, each under a line `[[feed]]`")?;
    let mut feeds: Vec<Feed> = Vec::new();
    for (number, table) in (1..).zip(tables) {
        let named = |reason: String| format!("feed {number}: {reason}");
        let table: Table =
            table.clone().try_into().map_err(|error: toml::de::Error| named(error.message().to_owned()))?;
        let feed = table.feed().map_err(named)?;
        if feeds.iter().any(|other| other.market == feed.market && other.source == feed.source) {
            return Err(named(format!("{} has two feeds for source {}", feed.market, feed.source)));
        }
        feeds.push(feed);
    }
    Ok(feeds)
}

impl Table {
    /// The feed that it describes; `Err` says what is wrong with it.
    pub fn feed(mut self) -> Result<Feed, String> {
        let every = match self.every.take() {
            None => Duration::from_secs(1),
            Some(text) => Duration::parse(&text).map_err(|wanted| format!("`every` must be {}", wanted.0))?,
        };
        if !(EVERY_MIN..=EVERY_MAX).contains(&every) {
            return Err("`every` must be from 50ms to 60s".to_owned());
        }
        let market = std::mem::take(&mut self.market).to_ascii_uppercase();
        let source = self.source;
        let kind = self.kind()?;
        Ok(Feed { market, source, every, kind })
    }

    fn kind(mut self) -> Result<FeedKind, String> {
        let kind = std::mem::take(&mut self.kind);
        let found = match &*kind {
            "fixed" => FeedKind::Fixed { price: self.fixed_price()? },
            "spot" => FeedKind::Spot {
                market: self.spot_market.take().ok_or("`spot_market` is missing")?.to_ascii_uppercase(),
                notional: self.notional()?,
            },
            "http" => {
                let (url, is_encrypted) = self.url("http")?;
                FeedKind::Http { url, is_encrypted, price: self.paths()?, volume: self.volume_path()? }
            }
            "websocket" => {
                let (url, is_encrypted) = self.url("ws")?;
                let (price, send, volume) = (self.paths()?, self.messages()?, self.volume_path()?);
                FeedKind::WebSocket { url, is_encrypted, send, price, volume }
            }
            _ => return Err("`kind` must be one of fixed, spot, http, websocket".to_owned()),
        };
        // What no kind took is a misunderstanding.
        let left = [
            ("price", self.price.is_some()),
            ("volume", self.volume.is_some()),
            ("url", self.url.is_some()),
            ("send", self.send.is_some()),
            ("spot_market", self.spot_market.is_some()),
            ("notional", self.notional.is_some()),
        ];
        match left.iter().find(|(_, is_left)| *is_left) {
            Some((key, _)) => Err(format!("a feed of kind `{kind}` has no `{key}`")),
            None => Ok(found),
        }
    }

    fn fixed_price(&mut self) -> Result<Price, String> {
        let texts = self.price.take().map(OneOrMore::texts).unwrap_or_default();
        let [text] = &texts[..] else { return Err("`price` must be one price, as text".to_owned()) };
        let price = parse_entry(text.as_bytes()).filter(|price| *price > 0);
        price.ok_or_else(|| "`price` must be a price above 0 with at most 8 decimals, as text".to_owned())
    }

    fn notional(&mut self) -> Result<Money, String> {
        let Some(text) = self.notional.take() else { return Ok(25_000 * MONEY_UNIT) };
        let micros =
            parse_amount(text.as_bytes()).map(|amount| amount / (AMOUNT_UNIT / i128::from(MONEY_UNIT)));
        let notional =
            micros.and_then(|micros| Money::try_from(micros).ok()).filter(|notional| *notional > 0);
        notional.ok_or_else(|| "`notional` must be an amount above 0, as text".to_owned())
    }

    /// Where, and whether in secret: the scheme with an `s` behind it.
    fn url(&mut self, scheme: &str) -> Result<(Url, bool), String> {
        let text = self.url.take().ok_or("`url` is missing")?;
        let plain = Url::parse(&text, scheme).map(|url| (url, false));
        let found = plain.or_else(|| Some((Url::parse_with(&text, &format!("{scheme}s"), 443)?, true)));
        found.ok_or_else(|| format!("`url` must be {scheme}://host:port/path or {scheme}s://host:port/path"))
    }

    fn paths(&mut self) -> Result<PricePaths, String> {
        let texts = self.price.take().map(OneOrMore::texts).unwrap_or_default();
        let mut paths = texts.iter().map(|text| text.split('.').map(str::to_owned).collect::<Vec<_>>());
        let found = match (paths.next(), paths.next(), paths.next()) {
            (Some(one), None, None) => Some(PricePaths::One(one)),
            (Some(bid), Some(ask), None) => Some(PricePaths::Middle(bid, ask)),
            _ => None,
        };
        let is_empty = texts.iter().any(|text| text.split('.').any(str::is_empty));
        found.filter(|_| !is_empty).ok_or_else(|| {
            "`price` must be the place of the price in the JSON, such as data.0.price, or two of them"
                .to_owned()
        })
    }

    fn volume_path(&mut self) -> Result<Option<Vec<String>>, String> {
        let Some(text) = self.volume.take() else { return Ok(None) };
        if text.split('.').any(str::is_empty) {
            return Err(
                "`volume` must be the place of the volume in the JSON, such as data.0.volume".to_owned()
            );
        }
        Ok(Some(text.split('.').map(str::to_owned).collect()))
    }

    fn messages(&mut self) -> Result<Vec<String>, String> {
        let texts = self.send.take().map(OneOrMore::texts).unwrap_or_default();
        if texts.len() > SEND_MAX {
            Err(format!("`send` must be at most {SEND_MAX} texts"))
        } else {
            Ok(texts)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringside_core::money::UNIT;

    fn read(text: &str) -> Result<Vec<Feed>, String> {
        let table: toml::Table = text.parse().unwrap();
        parse(&table["feed"])
    }

    fn path(text: &str) -> Vec<String> {
        text.split('.').map(str::to_owned).collect()
    }

    #[test]
    fn every_kind_is_read() {
        let feeds = read(
            r#"
            [[feed]]
            market = "btcusdt"
            source = 1
            kind = "fixed"
            price = "60000.5"
            [[feed]]
            market = "BTCUSDT"
            source = 2
            kind = "spot"
            spot_market = "btcusd"
            notional = "1000.000001"
            every = "500ms"
            [[feed]]
            market = "BTCUSDT"
            source = 3
            kind = "http"
            url = "http://localhost:9000?a=b"
            price = "data.0.last"
            [[feed]]
            market = "BTCUSDT"
            source = 4
            kind = "websocket"
            url = "wss://localhost"
            send = "subscribe"
            price = ["b", "a"]
            "#,
        )
        .unwrap();
        let [fixed, spot, http, websocket] = &feeds[..] else { panic!("{feeds:?}") };
        assert_eq!((&*fixed.market, fixed.source, fixed.every), ("BTCUSDT", 1, Duration::from_secs(1)));
        assert_eq!(fixed.kind, FeedKind::Fixed { price: 60_000 * UNIT + UNIT / 2 });
        assert_eq!(spot.kind, FeedKind::Spot { market: "BTCUSD".to_owned(), notional: 1_000_000_001 });
        assert_eq!(spot.every, Duration::from_millis(500));
        let url =
            |authority: &str, path: &str| Url { authority: authority.to_owned(), path: path.to_owned() };
        let price = PricePaths::One(path("data.0.last"));
        let (is_encrypted, of_http) = (false, url("localhost:9000", "/?a=b"));
        assert_eq!(http.kind, FeedKind::Http { url: of_http, is_encrypted, price, volume: None });
        let price = PricePaths::Middle(path("b"), path("a"));
        let send = vec!["subscribe".to_owned()];
        assert_eq!(
            websocket.kind,
            FeedKind::WebSocket {
                url: url("localhost:443", "/"),
                is_encrypted: true,
                send,
                price,
                volume: None
            }
        );
        assert_eq!(websocket.to_string(), "BTCUSDT source 4 from wss://localhost:443");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let check = |lines: &str, expected: &str| {
            let text = format!("[[feed]]\nmarket = \"BTCUSDT\"\nsource = 1\n{lines}");
            assert_eq!(read(&text).unwrap_err(), expected, "{lines}");
        };
        check("kind = \"carrier pigeon\"", "feed 1: `kind` must be one of fixed, spot, http, websocket");
        check("kind = \"fixed\"", "feed 1: `price` must be one price, as text");
        check(
            "kind = \"fixed\"\nprice = \"0\"",
            "feed 1: `price` must be a price above 0 with at most 8 decimals, as text",
        );
        check("kind = \"spot\"", "feed 1: `spot_market` is missing");
        check(
            "kind = \"spot\"\nspot_market = \"A\"\nurl = \"x\"",
            "feed 1: a feed of kind `spot` has no `url`",
        );
        check(
            "kind = \"http\"\nurl = \"ftp://x\"\nprice = \"p\"",
            "feed 1: `url` must be http://host:port/path or https://host:port/path",
        );
        check(
            "kind = \"websocket\"\nurl = \"wss://name:password@x\"\nprice = \"p\"",
            "feed 1: `url` must be ws://host:port/path or wss://host:port/path",
        );
        let place = "feed 1: `price` must be the place of the price in the JSON, such as data.0.price, or two of them";
        check("kind = \"http\"\nurl = \"http://x\"", place);
        check("kind = \"http\"\nurl = \"http://x\"\nprice = \"a..b\"", place);
        check("kind = \"http\"\nurl = \"http://x\"\nprice = [\"a\", \"b\", \"c\"]", place);
        check("kind = \"fixed\"\nprice = \"1\"\nevery = \"1ms\"", "feed 1: `every` must be from 50ms to 60s");
        check(
            "kind = \"fixed\"\nprice = \"1\"\n[[feed]]\nmarket = \"btcusdt\"\nsource = 1\nkind = \"fixed\"\nprice = \"2\"",
            "feed 2: BTCUSDT has two feeds for source 1",
        );
        let text = "[[feed]]\nmarket = \"A\"\nsource = 1\nkind = \"fixed\"\nweight = 3";
        assert!(read(text).unwrap_err().starts_with("feed 1: unknown field `weight`"), "{:?}", read(text));
        let table: toml::Table = "feed = 3".parse().unwrap();
        assert_eq!(parse(&table["feed"]).unwrap_err(), "`feed` must be tables, each under a line `[[feed]]`");
    }
}
