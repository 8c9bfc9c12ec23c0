//! Channels as clients name them (`spot.md` 11, `perpetual-stream.md` 6).

use super::row::Row;
use super::topic::{Kind, Scope, Topic};
use ringside_core::command::{MarketStatus, PerpetualState};
use ringside_core::ids::AccountId;
use ringside_views::Views;
use ringside_views::market::MarketRecord;

/// A channel as a client names it.
#[derive(Clone, Debug)]
pub struct Channel {
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
        Kind::channels().find_map(|kind| {
            let rest = text.strip_prefix(kind.row().channel)?;
            if kind.is_private() {
                let topic = Topic::of_account(kind, 0);
                let name = topic.channel_name("").into();
                return rest.is_empty().then_some(Channel { name, market: None, topic, is_over: false });
            }
            let (symbol, detail) = Topic::of_channel(kind, rest)?;
            let (id, symbol, market, is_over) = if kind.scope() == Scope::Market {
                let market = views.perpetuals().markets().by_symbol(symbol)?;
                (market.market, market.symbol(), None, market.state == PerpetualState::Closed)
            } else {
                let market = views.markets().by_symbol(symbol)?;
                let is_over = market.status == MarketStatus::Delisted;
                (market.market, market.symbol(), Some(*market), is_over)
            };
            let topic = Topic { kind, id, detail };
            Some(Channel { name: topic.channel_name(symbol).into(), market, topic, is_over })
        })
    }

    /// Its row.
    pub fn row(&self) -> &'static Row {
        self.topic.kind.row()
    }

    /// Whether new subscriptions are refused because its market is gone for good.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether it is only for the account it is about.
    pub fn is_private(&self) -> bool {
        self.topic.kind.is_private()
    }

    /// What its frames are sent to, for a subscriber of this account.
    pub fn topic(&self, account: AccountId) -> Topic {
        if self.is_private() { Topic { id: account, ..self.topic } } else { self.topic }
    }
}
