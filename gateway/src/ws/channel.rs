//! Channels: one row for each, with its name, its scope and what a new subscriber is shown first.

use crate::dialect::spot::encode;
use crate::view::Views;
use crate::view::market::{MarketRecord, MarketView};
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
}

impl Hash for Topic {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64((self.kind as u64) << 32 | u64::from(self.id));
    }
}

impl Topic {
    /// Of a market.
    pub fn of_market(kind: Kind, market: MarketId) -> Topic {
        Topic { kind, id: market }
    }

    /// The channel's name in frames.
    pub fn name(&self, markets: &MarketView) -> Cow<'static, str> {
        let row = CHANNELS.iter().find(|row| row.kind == self.kind).expect("every kind has a row");
        match row.scope {
            Scope::Account => row.name.into(),
            Scope::Market => {
                let symbol = markets.get(self.id).map_or("", |market| market.symbol());
                format!("{}:{symbol}", row.name).into()
            }
        }
    }

    /// Of an account.
    pub fn of_account(kind: Kind, account: AccountId) -> Topic {
        Topic { kind, id: account }
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
}

impl Channel {
    /// The channel of a name; `None` for an unknown name or market. The symbol may have any case.
    pub fn parse(text: &str, markets: &MarketView) -> Option<Channel> {
        CHANNELS.iter().find_map(|row| {
            let rest = text.strip_prefix(row.name)?;
            match row.scope {
                Scope::Account => {
                    rest.is_empty().then(|| Channel { row, name: row.name.into(), market: None })
                }
                Scope::Market => {
                    let market = markets.by_symbol(rest.strip_prefix(':')?)?;
                    let name = format!("{}:{}", row.name, market.symbol()).into();
                    Some(Channel { row, name, market: Some(*market) })
                }
            }
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
        Topic { kind: self.row.kind, id: self.market.map_or(account, |market| market.market) }
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
}

impl Snapshot {
    /// `type` of the frame.
    pub fn frame_type(&self) -> &'static str {
        match self {
            Snapshot::Depth { .. } => "spot_depth_snapshot",
        }
    }

    /// `data` of the frame.
    pub fn write(&self, out: &mut Vec<u8>, market: &MarketRecord) {
        match self {
            Snapshot::Depth { update_id, bids, asks } => {
                out.reserve(encode::TRADE_LEN + (bids.len() + asks.len()) * encode::LEVEL_LEN);
                encode::depth(out, market, *update_id, bids, asks);
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
