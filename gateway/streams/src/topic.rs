//! Topics: what pushes are about, and what a listener listens to. How they are named and what they say: `row.rs`.

use ringside_core::ids::{AccountId, MarketId};
use ringside_views::hash::NumberMap;
use std::hash::{Hash, Hasher};

/// A map by topic.
pub type TopicMap<T> = NumberMap<Topic, T>;

/// A channel or stream of one market or of one account: what frames are sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Which row.
    pub kind: Kind,
    /// The market, or the account; [`ringside_core::ids::ALL_MARKETS`] for all of them.
    pub id: u32,
    /// Which of a kind's streams: see [`super::row::Detail`].
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

    /// Candles of a spot market, of a place among its intervals.
    pub fn of_candles(market: MarketId, interval: usize) -> Topic {
        Topic { kind: Kind::Kline, id: market, detail: interval as u16 }
    }

    /// Of an account.
    pub fn of_account(kind: Kind, account: AccountId) -> Topic {
        Topic { kind, id: account, detail: 0 }
    }
}

/// Whom a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A spot market, for anyone.
    SpotMarket,
    /// An account, for itself: its spot side.
    SpotAccount,
    /// A perpetual market, for anyone.
    Market,
    /// An account, for itself: its perpetual side.
    Account,
}

macro_rules! kinds {
    ($($scope:ident { $($(#[$doc:meta])* $kind:ident,)* })*) => {
        /// Which channel or stream.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Kind { $($($(#[$doc])* $kind,)*)* }

        impl Kind {
            /// Every one.
            pub const ALL: &[Kind] = &[$($(Kind::$kind),*),*];

            /// About whom.
            pub const fn scope(self) -> Scope {
                match self { $($(Kind::$kind)|* => Scope::$scope,)* }
            }
        }
    };
}

kinds! {
    SpotMarket {
        /// `spot:depth:{symbol}`.
        Depth,
        /// `spot:trade:{symbol}`.
        Trade,
        /// `spot:ticker:{symbol}`.
        Ticker,
        /// `spot:kline:{symbol}:{interval}`.
        Kline,
    }
    SpotAccount {
        /// `spot:user:orders`.
        UserOrders,
        /// `spot:user:balances`.
        UserBalances,
    }
    Account {
        /// Bare events of an account (`perpetual-stream.md` 4), to whoever listens with its listen key.
        UserData,
        /// `user_data`.
        AccountEvents,
        /// `orders`.
        AccountOrders,
        /// `positions`.
        AccountPositions,
        /// `balances`.
        AccountBalances,
        /// `vip_tier`.
        AccountTier,
    }
    Market {
        /// `@trade`, `trades:{symbol}`.
        PerpetualTrade,
        /// `@aggTrade`.
        AggregateTrade,
        /// `@depth`: what changed.
        DepthDiff,
        /// `@depth5` and longer: the best levels.
        DepthTop,
        /// `orderbook:{symbol}`.
        OrderBook,
        /// `@bookTicker`, also of all markets.
        BestPrice,
        /// `@markPrice`, `mark_price:{symbol}`, also of all markets.
        Mark,
        /// `@kline_<interval>`, `kline:{symbol}:{interval}`.
        Candle,
        /// `_perpetual@continuousKline_<interval>`.
        PairCandle,
        /// `@miniTicker`, also of all markets.
        MiniDay,
        /// `@ticker`, `ticker:{symbol}`, also of all markets.
        Day,
        /// `@forceOrder`, also of all markets.
        ForcedOrder,
        /// `!contractInfo`.
        Contract,
        /// `liquidations:{symbol}`.
        Liquidation,
        /// `@insurance`.
        Insurance,
    }
}

impl Kind {
    /// Whether it is about an account.
    pub const fn is_private(self) -> bool {
        matches!(self.scope(), Scope::SpotAccount | Scope::Account)
    }

    /// Whether it has events of an account on the perpetual side.
    pub const fn is_of_users(self) -> bool {
        matches!(self.scope(), Scope::Account)
    }

    /// Whether it is about perpetual markets, for anyone.
    pub const fn is_of_perpetuals(self) -> bool {
        matches!(self.scope(), Scope::Market)
    }
}
