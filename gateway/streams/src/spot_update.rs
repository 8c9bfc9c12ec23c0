//! What a push of the spot side will say. Noted while the views are held, so notes are copies of records and nothing is written as
//! text before [`SpotUpdate::encode`].

use super::topic::Topic;
use ringside_core::ids::{MarketId, padded};
use ringside_core::money::Price;
use ringside_dialect::spot::{encode, push};
use ringside_views::balance::BalanceRow;
use ringside_views::history::{FillRecord, TradeRecord};
use ringside_views::kline::SpotCandle;
use ringside_views::market::MarketView;
use ringside_views::order::OrderRecord;
use ringside_views::ticker::Ticker;
use ringside_wire::write;
use std::ops::Range;

/// What a push will say.
#[derive(Clone, Debug)]
pub enum SpotUpdate {
    /// An order of the account.
    Order {
        /// As it was at this moment of the command.
        record: OrderRecord,
        /// First push of an order that matches at once.
        is_beginning: bool,
        /// The fill that caused it.
        fill: Option<FillRecord>,
    },
    /// A balance row.
    Balance(BalanceRow),
    /// Levels that changed, in [`super::spot_publisher::SpotPublisher::levels`].
    Depth {
        /// First and last update id.
        updates: (u64, u64),
        /// Buy side, best first.
        bids: Range<usize>,
        /// Sell side, best first.
        asks: Range<usize>,
    },
    /// A public trade.
    Trade(TradeRecord),
    /// A row of rolling 24 hours.
    Ticker(Ticker),
    /// A candle of an interval of spot, and whether it is over.
    Kline(SpotCandle, usize, bool),
}

impl SpotUpdate {
    /// `type` of the frame.
    pub fn frame_type(&self) -> &'static str {
        match self {
            SpotUpdate::Order { .. } => "spot_user_order",
            SpotUpdate::Balance(_) => "spot_user_balance",
            SpotUpdate::Depth { .. } => "spot_depth_diff",
            SpotUpdate::Trade(_) => "spot_trade",
            SpotUpdate::Ticker(_) => "spot_ticker",
            SpotUpdate::Kline(..) => "spot_kline_update",
        }
    }

    /// Appends `data` of the frame.
    pub fn encode(&self, out: &mut Vec<u8>, topic: Topic, levels: &[(Price, i128)], markets: &MarketView) {
        let market = |market: MarketId| markets.get(market).expect("what is traded is listed");
        match self {
            SpotUpdate::Order { record, is_beginning, fill } => {
                write(out, &push::order(record, market(record.market), *is_beginning, fill.as_ref()));
            }
            SpotUpdate::Balance(row) => {
                let token = markets.asset_name(row.asset).and_then(padded).unwrap_or_default();
                write(out, &encode::balance(token, row));
            }
            SpotUpdate::Depth { updates, bids, asks } => {
                let (bids, asks) = (&levels[bids.clone()], &levels[asks.clone()]);
                write(out, &push::depth_diff(market(topic.id), *updates, bids, asks));
            }
            SpotUpdate::Trade(trade) => write(out, &encode::trade(trade, market(topic.id))),
            SpotUpdate::Ticker(ticker) => write(out, &push::ticker(ticker, market(topic.id))),
            SpotUpdate::Kline(kline, interval, is_closed) => {
                write(out, &push::kline(kline, *interval, *is_closed, market(topic.id)));
            }
        }
    }
}
