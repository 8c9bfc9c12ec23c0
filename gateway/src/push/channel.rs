//! Channels: one row for each, with its name, its scope and what a new subscriber is shown first. What streams send
//! (`perpetual-stream.md` 5) goes to topics of the same kinds; their names are in `stream_name.rs`.

use super::snapshot::{self, TakeSnapshot};
use super::topic::{Kind, Topic};
use crate::dialect::spot::words;
use ringside_core::command::{MarketStatus, PerpetualState};
use ringside_core::ids::AccountId;
use ringside_views::Views;
use ringside_views::market::{MarketRecord, MarketView};
use ringside_views::perpetual::series::INTERVALS;
use std::borrow::Cow;

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
    /// Kind of channel.
    pub kind: Kind,
    /// Name, without what follows it.
    pub name: &'static str,
    /// What follows.
    pub scope: Scope,
    /// What is sent right after the acknowledgement, if anything: taken while the views are held, so it only copies.
    pub snapshot: Option<TakeSnapshot>,
}

/// Every channel.
pub static CHANNELS: &[Row] = &[
    Row { kind: Kind::Depth, name: "spot:depth", scope: Scope::Market, snapshot: Some(snapshot::depth) },
    Row { kind: Kind::Trade, name: "spot:trade", scope: Scope::Market, snapshot: None },
    Row { kind: Kind::Ticker, name: "spot:ticker", scope: Scope::Market, snapshot: Some(snapshot::ticker) },
    Row { kind: Kind::Kline, name: "spot:kline", scope: Scope::Candles, snapshot: Some(snapshot::kline) },
    Row { kind: Kind::UserOrders, name: "spot:user:orders", scope: Scope::Account, snapshot: None },
    Row { kind: Kind::UserBalances, name: "spot:user:balances", scope: Scope::Account, snapshot: None },
    Row { kind: Kind::AccountEvents, name: "user_data", scope: Scope::Account, snapshot: None },
    Row { kind: Kind::AccountOrders, name: "orders", scope: Scope::Account, snapshot: None },
    Row { kind: Kind::AccountPositions, name: "positions", scope: Scope::Account, snapshot: None },
    Row { kind: Kind::AccountBalances, name: "balances", scope: Scope::Account, snapshot: None },
    Row { kind: Kind::AccountTier, name: "vip_tier", scope: Scope::Account, snapshot: None },
    perpetual(Kind::OrderBook, "orderbook", Scope::Perpetual(0), Some(snapshot::order_book)),
    perpetual(Kind::PerpetualTrade, "trades", Scope::Perpetual(0), None),
    perpetual(Kind::Day, "ticker", Scope::Perpetual(0), Some(snapshot::day)),
    perpetual(Kind::Candle, "kline", Scope::PerpetualCandles, Some(snapshot::candle)),
    perpetual(Kind::Mark, "mark_price", Scope::Perpetual(1), Some(snapshot::mark)),
    perpetual(Kind::Liquidation, "liquidations", Scope::Perpetual(0), None),
];

const fn perpetual(kind: Kind, name: &'static str, scope: Scope, snapshot: Option<TakeSnapshot>) -> Row {
    Row { kind, name, scope, snapshot }
}

impl Topic {
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
    /// Its market is gone for good.
    is_over: bool,
}

impl Channel {
    /// The channel of a name; `None` for an unknown name or market. The symbol may have any case.
    pub fn parse(text: &str, views: &Views) -> Option<Channel> {
        CHANNELS.iter().find_map(|row| {
            let rest = text.strip_prefix(row.name)?;
            if row.scope == Scope::Account {
                let (name, topic) = (row.name.into(), Topic::of_account(row.kind, 0));
                let channel = Channel { row, name, market: None, topic, is_over: false };
                return rest.is_empty().then_some(channel);
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
            let (id, name, market, is_over) = if is_of_perpetuals {
                let market = views.perpetuals().markets().by_symbol(symbol)?;
                (market.market, market.symbol(), None, market.state == PerpetualState::Closed)
            } else {
                let market = views.markets().by_symbol(symbol)?;
                let is_over = market.status == MarketStatus::Delisted;
                (market.market, market.symbol(), Some(*market), is_over)
            };
            let topic = Topic { kind: row.kind, id, detail };
            Some(Channel { row, name: topic.name_with(name).into(), market, topic, is_over })
        })
    }

    /// Whether new subscriptions are refused because its market is gone for good.
    pub fn is_over(&self) -> bool {
        self.is_over
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
