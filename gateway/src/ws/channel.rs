//! Channels: one row for each, with its name, its scope and what a new subscriber is shown first. What streams send
//! (`perpetual-stream.md` 5) goes to topics of the same kinds; their names are in `stream/name.rs`.

use super::hub::Hub;
use super::stream::first;
use crate::dialect::spot::{encode, push, words};
use crate::view::Views;
use crate::view::kline::{Interval, Kline};
use crate::view::market::{MarketRecord, MarketView};
use crate::view::perpetual::series::INTERVALS;
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

    /// `@trade`, `trades:{symbol}`.
    PerpetualTrade = 16,
    /// `@aggTrade`.
    AggregateTrade = 17,
    /// `@depth`: what changed. The detail is a place in [`super::stream::name::SPEEDS`].
    DepthDiff = 18,
    /// `@depth5` and longer: the best levels. The detail is `8 x` a place in `LEVELS` plus one in `SPEEDS`.
    DepthTop = 19,
    /// `@bookTicker`, also of all markets.
    BestPrice = 20,
    /// `@markPrice`, `mark_price:{symbol}`, also of all markets. The detail is 1 for each second, else 0.
    Mark = 21,
    /// `@kline_<interval>`, `kline:{symbol}:{interval}`. The detail is a place in [`INTERVALS`].
    Candle = 22,
    /// `_perpetual@continuousKline_<interval>`. The detail is a place in [`INTERVALS`].
    PairCandle = 23,
    /// `@miniTicker`, also of all markets.
    MiniDay = 24,
    /// `@ticker`, `ticker:{symbol}`, also of all markets.
    Day = 25,
    /// `@forceOrder`, also of all markets.
    ForcedOrder = 26,
    /// `!contractInfo`.
    Contract = 27,
    /// `orderbook:{symbol}`.
    OrderBook = 28,
    /// `liquidations:{symbol}`.
    Liquidation = 29,
    /// Raw events of an account (`perpetual-stream.md` 4), to whoever listens with its listen key.
    UserData = 30,
    /// `user_data`.
    AccountEvents = 31,
    /// `orders`.
    AccountOrders = 32,
    /// `positions`.
    AccountPositions = 33,
    /// `balances`.
    AccountBalances = 34,
    /// `vip_tier`.
    AccountTier = 35,
}

impl Kind {
    /// Whether it is about an account.
    pub fn is_private(self) -> bool {
        matches!(self, Kind::UserOrders | Kind::UserBalances) || self.is_of_users()
    }

    /// Whether it has events of an account on the perpetual side.
    pub fn is_of_users(self) -> bool {
        self as u8 >= Kind::UserData as u8
    }

    /// Whether it is about perpetual markets, for anyone.
    pub fn is_of_perpetuals(self) -> bool {
        self as u8 >= Kind::PerpetualTrade as u8 && !self.is_private()
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
    /// `:{symbol}`: a perpetual market, for anyone. The number is the detail of its topic.
    Perpetual(u16),
    /// `:{symbol}:{interval}`: a perpetual market's candles of one length, for anyone.
    PerpetualCandles,
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
    pub snapshot: Option<TakeSnapshot>,
}

/// Copies what a topic shows at this moment.
pub type TakeSnapshot = fn(&Moment<'_>, Topic) -> Option<Snapshot>;

/// What snapshots are taken of.
pub struct Moment<'a> {
    /// Held for reading.
    pub views: &'a Views,
    /// Knows what no view does.
    pub hub: &'a Hub,
    /// UNIX milliseconds.
    pub now_ms: i64,
}

/// Every channel.
pub static CHANNELS: &[Row] = &[
    Row { kind: Kind::Depth, name: "spot:depth", scope: Scope::Market, snapshot: Some(depth) },
    Row { kind: Kind::Trade, name: "spot:trade", scope: Scope::Market, snapshot: None },
    Row { kind: Kind::Ticker, name: "spot:ticker", scope: Scope::Market, snapshot: Some(ticker) },
    Row { kind: Kind::Kline, name: "spot:kline", scope: Scope::Candles, snapshot: Some(kline) },
    Row { kind: Kind::UserOrders, name: "spot:user:orders", scope: Scope::Account, snapshot: None },
    Row { kind: Kind::UserBalances, name: "spot:user:balances", scope: Scope::Account, snapshot: None },
    Row { kind: Kind::AccountEvents, name: "user_data", scope: Scope::Account, snapshot: None },
    Row { kind: Kind::AccountOrders, name: "orders", scope: Scope::Account, snapshot: None },
    Row { kind: Kind::AccountPositions, name: "positions", scope: Scope::Account, snapshot: None },
    Row { kind: Kind::AccountBalances, name: "balances", scope: Scope::Account, snapshot: None },
    Row { kind: Kind::AccountTier, name: "vip_tier", scope: Scope::Account, snapshot: None },
    perpetual(Kind::OrderBook, "orderbook", Scope::Perpetual(0), Some(first::order_book)),
    perpetual(Kind::PerpetualTrade, "trades", Scope::Perpetual(0), None),
    perpetual(Kind::Day, "ticker", Scope::Perpetual(0), Some(first::day)),
    perpetual(Kind::Candle, "kline", Scope::PerpetualCandles, Some(first::candle)),
    perpetual(Kind::Mark, "mark_price", Scope::Perpetual(1), Some(first::mark)),
    perpetual(Kind::Liquidation, "liquidations", Scope::Perpetual(0), None),
];

const fn perpetual(kind: Kind, name: &'static str, scope: Scope, snapshot: Option<TakeSnapshot>) -> Row {
    Row { kind, name, scope, snapshot }
}

/// A channel of one market or of one account: what frames are sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Which channel.
    pub kind: Kind,
    /// The market, or the account; [`ringside_core::ids::ALL_MARKETS`] for all of them.
    pub id: u32,
    /// Which of a kind's streams: an interval, a speed. Of spot candles the interval's number.
    pub detail: u16,
}

impl Hash for Topic {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.detail) << 40 | (self.kind as u64) << 32 | u64::from(self.id));
    }
}

impl Topic {
    /// Of a market.
    pub fn of_market(kind: Kind, market: MarketId) -> Topic {
        Topic { kind, id: market, detail: 0 }
    }

    /// Candles of a spot market.
    pub fn of_candles(market: MarketId, interval: Interval) -> Topic {
        Topic { kind: Kind::Kline, id: market, detail: interval as u16 }
    }

    /// Of an account.
    pub fn of_account(kind: Kind, account: AccountId) -> Topic {
        Topic { kind, id: account, detail: 0 }
    }

    /// Of spot candles.
    fn interval(self) -> Option<Interval> {
        Interval::ALL.get(usize::from(self.detail)).copied().filter(|_| self.kind == Kind::Kline)
    }

    /// The name of a channel of the spot side in frames.
    pub fn name(&self, markets: &MarketView) -> Cow<'static, str> {
        match self.row() {
            None => "".into(),
            Some(Row { scope: Scope::Account, name, .. }) => (*name).into(),
            Some(_) => self.name_with(markets.get(self.id).map_or("", |market| market.symbol())).into(),
        }
    }

    /// The name of a market's channel in frames; empty where a topic is no channel's.
    pub fn name_with(&self, symbol: &str) -> String {
        let Some(row) = self.row() else { return String::new() };
        let interval = match row.scope {
            Scope::Candles => self.interval().map(words::interval),
            Scope::PerpetualCandles => INTERVALS.get(usize::from(self.detail)).map(|(word, _)| *word),
            Scope::Market | Scope::Account | Scope::Perpetual(_) => None,
        };
        match interval {
            None => format!("{}:{symbol}", row.name),
            Some(interval) => format!("{}:{symbol}:{interval}", row.name),
        }
    }

    fn row(&self) -> Option<&'static Row> {
        CHANNELS.iter().find(|row| row.kind == self.kind)
    }
}

/// A channel as a client names it.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Its row.
    pub row: &'static Row,
    /// As it is written in frames: the symbol in upper case.
    pub name: Box<str>,
    /// Its market, where it has one of spot.
    pub market: Option<MarketRecord>,
    /// What its frames are sent to; the account of a private one is filled in by [`Channel::topic`].
    topic: Topic,
}

impl Channel {
    /// The channel of a name; `None` for an unknown name or market. The symbol may have any case.
    pub fn parse(text: &str, views: &Views) -> Option<Channel> {
        CHANNELS.iter().find_map(|row| {
            let rest = text.strip_prefix(row.name)?;
            if row.scope == Scope::Account {
                let (name, topic) = (row.name.into(), Topic::of_account(row.kind, 0));
                return rest.is_empty().then_some(Channel { row, name, market: None, topic });
            }
            let rest = rest.strip_prefix(':')?;
            let (symbol, detail) = match row.scope {
                Scope::Candles => {
                    let (symbol, word) = rest.split_once(':')?;
                    (symbol, words::read_interval(word)? as u16)
                }
                Scope::PerpetualCandles => {
                    let (symbol, word) = rest.split_once(':')?;
                    (symbol, INTERVALS.iter().position(|(known, _)| *known == word)? as u16)
                }
                Scope::Perpetual(detail) => (rest, detail),
                Scope::Market | Scope::Account => (rest, 0),
            };
            let is_of_perpetuals = matches!(row.scope, Scope::Perpetual(_) | Scope::PerpetualCandles);
            let (id, name, market) = if is_of_perpetuals {
                let market = views.perpetuals().markets().by_symbol(symbol)?;
                (market.market, market.symbol(), None)
            } else {
                let market = views.markets().by_symbol(symbol)?;
                (market.market, market.symbol(), Some(*market))
            };
            let topic = Topic { kind: row.kind, id, detail };
            Some(Channel { row, name: topic.name_with(name).into(), market, topic })
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
        if self.is_private() { Topic { id: account, ..self.topic } } else { self.topic }
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
    /// Of a perpetual market: `type` and `data`, written already.
    Perpetual(&'static str, Vec<u8>),
}

impl Snapshot {
    /// `type` of the frame.
    pub fn frame_type(&self) -> &'static str {
        match self {
            Snapshot::Depth { .. } => "spot_depth_snapshot",
            Snapshot::Ticker(_) => "spot_ticker",
            Snapshot::Kline(..) => "spot_kline_snapshot",
            Snapshot::Perpetual(frame_type, _) => frame_type,
        }
    }

    /// `data` of the frame. `market` is the market of a spot channel.
    pub fn write(self, out: &mut Vec<u8>, market: Option<&MarketRecord>) {
        let Some(market) = market else {
            if let Snapshot::Perpetual(_, data) = self {
                *out = data;
            }
            return;
        };
        match self {
            Snapshot::Depth { update_id, bids, asks } => {
                out.reserve(encode::TRADE_LEN + (bids.len() + asks.len()) * encode::LEVEL_LEN);
                encode::depth(out, market, update_id, &bids, &asks);
            }
            Snapshot::Ticker(ticker) => push::ticker(out, &ticker, market),
            Snapshot::Kline(kline, interval, is_closed) => {
                push::kline(out, &kline, interval, is_closed, market);
            }
            Snapshot::Perpetual(..) => {}
        }
    }
}

/// A market that never had an order has an empty book.
fn depth(moment: &Moment<'_>, topic: Topic) -> Option<Snapshot> {
    let levels = |book: &crate::view::depth::Book| Snapshot::Depth {
        update_id: book.update_id(),
        bids: book.bids().take(SNAPSHOT_LEVELS).collect(),
        asks: book.asks().take(SNAPSHOT_LEVELS).collect(),
    };
    let empty = || Snapshot::Depth { update_id: 0, bids: Vec::new(), asks: Vec::new() };
    Some(moment.views.depth().book(topic.id).map_or_else(empty, levels))
}

fn ticker(moment: &Moment<'_>, topic: Topic) -> Option<Snapshot> {
    moment.views.tickers().get(topic.id).copied().map(Snapshot::Ticker)
}

fn kline(moment: &Moment<'_>, topic: Topic) -> Option<Snapshot> {
    let interval = topic.interval()?;
    let kline = moment.views.klines().latest(topic.id, interval)?;
    Some(Snapshot::Kline(kline, interval, kline.is_closed(interval, moment.views.time_ns())))
}
