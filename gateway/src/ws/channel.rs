//! Channels: one row for each, with its name, its scope and what a new subscriber is shown first.

use crate::dialect::spot::{encode, push, words};
use crate::view::Views;
use crate::view::kline::{Interval, Kline};
use crate::view::market::{MarketRecord, MarketView};
use crate::view::ticker::Ticker;
use ringside_core::command::MarketStatus;
use ringside_core::ids::{AccountId, MarketId};
use ringside_core::money::Price;
use std::borrow::Cow;
use std::hash::{Hash, Hasher};

/// Levels of a side in a snapshot.
const SNAPSHOT_LEVELS: usize = 1_000;

/// Which channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// `spot:depth:{symbol}`.
    Depth = 1,
    /// `spot:trade:{symbol}`.
    Trade = 2,
    /// `spot:ticker:{symbol}`.
    Ticker = 3,
    /// `spot:kline:{symbol}:{interval}`.
    Kline = 4,
    /// `spot:user:orders`.
    UserOrders = 5,
    /// `spot:user:balances`.
    UserBalances = 6,
}

impl Kind {
    /// Whether it is about an account.
    pub fn is_private(self) -> bool {
        matches!(self, Kind::UserOrders | Kind::UserBalances)
    }
}

/// What follows the name, and with it what the channel is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// `:{symbol}`: a market, for anyone.
    Market,
    /// `:{symbol}:{interval}`: a market's candles of one length, for anyone.
    Candles,
    /// Nothing: the account that listens.
    Account,
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Which.
    pub kind: Kind,
    /// Name, without what follows it.
    pub name: &'static str,
    /// What follows.
    pub scope: Scope,
    /// What is sent right after the acknowledgement, if anything: taken while the views are held, so it only copies.
    pub snapshot: Option<fn(&Views, Topic) -> Option<Snapshot>>,
}

/// Every channel.
pub static CHANNELS: &[Row] = &[
    Row { kind: Kind::Depth, name: "spot:depth", scope: Scope::Market, snapshot: Some(depth) },
    Row { kind: Kind::Trade, name: "spot:trade", scope: Scope::Market, snapshot: None },
    Row { kind: Kind::Ticker, name: "spot:ticker", scope: Scope::Market, snapshot: Some(ticker) },
    Row { kind: Kind::Kline, name: "spot:kline", scope: Scope::Candles, snapshot: Some(kline) },
    Row { kind: Kind::UserOrders, name: "spot:user:orders", scope: Scope::Account, snapshot: None },
    Row { kind: Kind::UserBalances, name: "spot:user:balances", scope: Scope::Account, snapshot: None },
];

/// A channel of one market or of one account: what frames are sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Which channel.
    pub kind: Kind,
    /// The market, or the account.
    pub id: u32,
    /// Of candles.
    pub interval: Option<Interval>,
}

impl Hash for Topic {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let interval = self.interval.map_or(0, |interval| interval as u64);
        state.write_u64(interval << 40 | (self.kind as u64) << 32 | u64::from(self.id));
    }
}

/// A topic is one small number, which no client chooses freely: a multiplication spreads it well enough.
#[derive(Clone, Copy, Debug, Default)]
pub struct TopicHasher(u64);

impl Hasher for TopicHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }
}

impl Topic {
    /// Of a market.
    pub fn of_market(kind: Kind, market: MarketId) -> Topic {
        Topic { kind, id: market, interval: None }
    }

    /// Candles of a market.
    pub fn of_candles(market: MarketId, interval: Interval) -> Topic {
        Topic { kind: Kind::Kline, id: market, interval: Some(interval) }
    }

    /// The channel's name in frames.
    pub fn name(&self, markets: &MarketView) -> Cow<'static, str> {
        let row = CHANNELS.iter().find(|row| row.kind == self.kind).expect("every kind has a row");
        match row.scope {
            Scope::Account => row.name.into(),
            Scope::Market | Scope::Candles => {
                let symbol = markets.get(self.id).map_or("", |market| market.symbol());
                name_of(row, symbol, self.interval).into()
            }
        }
    }

    /// Of an account.
    pub fn of_account(kind: Kind, account: AccountId) -> Topic {
        Topic { kind, id: account, interval: None }
    }
}

fn name_of(row: &Row, symbol: &str, interval: Option<Interval>) -> String {
    match interval {
        None => format!("{}:{symbol}", row.name),
        Some(interval) => format!("{}:{symbol}:{}", row.name, words::interval(interval)),
    }
}

/// A channel as a client names it.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Its row.
    pub row: &'static Row,
    /// As it is written in frames: the symbol in upper case.
    pub name: Box<str>,
    /// Its market, where it has one.
    pub market: Option<MarketRecord>,
    /// Of its candles.
    pub interval: Option<Interval>,
}

impl Channel {
    /// The channel of a name; `None` for an unknown name or market. The symbol may have any case.
    pub fn parse(text: &str, markets: &MarketView) -> Option<Channel> {
        CHANNELS.iter().find_map(|row| {
            let rest = text.strip_prefix(row.name)?;
            if row.scope == Scope::Account {
                let name = row.name.into();
                return rest.is_empty().then_some(Channel { row, name, market: None, interval: None });
            }
            let rest = rest.strip_prefix(':')?;
            let (symbol, interval) = match row.scope {
                Scope::Candles => {
                    let (symbol, word) = rest.split_once(':')?;
                    (symbol, Some(words::read_interval(word)?))
                }
                _ => (rest, None),
            };
            let market = *markets.by_symbol(symbol)?;
            let name = name_of(row, market.symbol(), interval).into();
            Some(Channel { row, name, market: Some(market), interval })
        })
    }

    /// Whether new subscriptions are refused because its market is gone for good.
    pub fn is_over(&self) -> bool {
        self.market.is_some_and(|market| market.status == MarketStatus::Delisted)
    }

    /// Whether it is only for the account it is about.
    pub fn is_private(&self) -> bool {
        self.row.kind.is_private()
    }

    /// What its frames are sent to, for a subscriber of this account.
    pub fn topic(&self, account: AccountId) -> Topic {
        let id = self.market.map_or(account, |market| market.market);
        Topic { kind: self.row.kind, id, interval: self.interval }
    }
}

/// A moment's state, copied.
pub enum Snapshot {
    /// Levels, best first.
    Depth {
        /// Id of the last mutation.
        update_id: u64,
        /// Buy side.
        bids: Vec<(Price, i128)>,
        /// Sell side.
        asks: Vec<(Price, i128)>,
    },
    /// A row.
    Ticker(Ticker),
    /// The newest candle, and whether it is over.
    Kline(Kline, Interval, bool),
}

impl Snapshot {
    /// `type` of the frame.
    pub fn frame_type(&self) -> &'static str {
        match self {
            Snapshot::Depth { .. } => "spot_depth_snapshot",
            Snapshot::Ticker(_) => "spot_ticker",
            Snapshot::Kline(..) => "spot_kline_snapshot",
        }
    }

    /// `data` of the frame.
    pub fn write(&self, out: &mut Vec<u8>, market: &MarketRecord) {
        match self {
            Snapshot::Depth { update_id, bids, asks } => {
                out.reserve(encode::TRADE_LEN + (bids.len() + asks.len()) * encode::LEVEL_LEN);
                encode::depth(out, market, *update_id, bids, asks);
            }
            Snapshot::Ticker(ticker) => push::ticker(out, ticker, market),
            Snapshot::Kline(kline, interval, is_closed) => {
                push::kline(out, kline, *interval, *is_closed, market)
            }
        }
    }
}

/// A market that never had an order has an empty book.
fn depth(views: &Views, topic: Topic) -> Option<Snapshot> {
    let levels = |book: &crate::view::depth::Book| Snapshot::Depth {
        update_id: book.update_id(),
        bids: book.bids().take(SNAPSHOT_LEVELS).collect(),
        asks: book.asks().take(SNAPSHOT_LEVELS).collect(),
    };
    let empty = || Snapshot::Depth { update_id: 0, bids: Vec::new(), asks: Vec::new() };
    Some(views.depth().book(topic.id).map_or_else(empty, levels))
}

fn ticker(views: &Views, topic: Topic) -> Option<Snapshot> {
    views.tickers().get(topic.id).copied().map(Snapshot::Ticker)
}

fn kline(views: &Views, topic: Topic) -> Option<Snapshot> {
    let interval = topic.interval?;
    let kline = views.klines().latest(topic.id, interval)?;
    Some(Snapshot::Kline(kline, interval, kline.is_closed(interval, views.time_ns())))
}
