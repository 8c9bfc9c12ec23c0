//! Topics: what pushes are about, and what a listener listens to. Their names are those of channels (`channel.rs`) and of streams
//! (`stream_name.rs`).

use ringside_core::ids::{AccountId, MarketId};
use ringside_views::hash::NumberMap;
use ringside_views::kline::Interval;
use std::hash::{Hash, Hasher};

/// A map by topic.
pub type TopicMap<T> = NumberMap<Topic, T>;

/// A channel or stream of one market or of one account: what frames are sent to.
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

    /// The length of spot candles.
    pub fn interval(self) -> Option<Interval> {
        Interval::ALL.get(usize::from(self.detail)).copied().filter(|_| self.kind == Kind::Kline)
    }
}

/// Which channel or stream.
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
    /// `@depth`: what changed. The detail is a place in [`super::stream_name::SPEEDS`].
    DepthDiff = 18,
    /// `@depth5` and longer: the best levels. The detail is `8 x` a place in `LEVELS` plus one in `SPEEDS`.
    DepthTop = 19,
    /// `@bookTicker`, also of all markets.
    BestPrice = 20,
    /// `@markPrice`, `mark_price:{symbol}`, also of all markets. The detail is 1 for each second, else 0.
    Mark = 21,
    /// `@kline_<interval>`, `kline:{symbol}:{interval}`. The detail is a place in [`ringside_views::perpetual::series::INTERVALS`].
    Candle = 22,
    /// `_perpetual@continuousKline_<interval>`. The detail is a place in [`ringside_views::perpetual::series::INTERVALS`].
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
