//! What is noted with a command, as copies: nothing is written as text while the views are held.

use crate::dialect::fapi::stream::{self, Label, Level, Trade, Updates};
use crate::dialect::fapi::text;
use ringside_core::command::Side;
use ringside_core::event;
use ringside_core::ids::{AccountId, MarketId};
use ringside_core::risk::perpetual::units::average_price;
use std::ops::Range;

/// A note of one market.
#[derive(Clone, Debug)]
pub struct MarketNote {
    /// Market id.
    pub market: MarketId,
    /// What it says.
    pub what: What,
}

/// What a note says.
#[derive(Clone, Debug)]
pub enum What {
    /// A trade.
    Trade(Trade),
    /// Levels that a command changed, in the board's levels: both sides, and where the asks begin.
    Diff(Updates, Range<usize>, usize),
    /// The best bid and ask, after this mutation, at this time.
    Best(u64, i64, [Option<Level>; 2]),
    /// A step of a liquidation.
    Step(Step),
}

/// A step of a liquidation.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    account: AccountId,
    side: u8,
    quantity: i64,
    value: i64,
    reason: &'static str,
    fund_change: i64,
    time_ms: i64,
}

impl Step {
    /// Of an event; `None` where it moves nothing.
    pub fn of(told: &event::Liquidation, time_ms: i64) -> Option<Step> {
        let reason = match event::LiquidationStep::from_code(told.step)? {
            event::LiquidationStep::Book => "BOOK",
            event::LiquidationStep::Fund => "FUND",
            event::LiquidationStep::Adl => "ADL",
            event::LiquidationStep::Unwind => "UNWIND",
            event::LiquidationStep::Begin | event::LiquidationStep::Clear | event::LiquidationStep::End => {
                return None;
            }
        };
        let event::Liquidation { account, side, quantity, value, fund_change, .. } = *told;
        Some(Step { account, side, quantity, value, reason, fund_change, time_ms })
    }
}

/// A trade of an event.
pub fn trade_of(told: &event::PerpetualTrade, time_ms: i64) -> Trade {
    Trade {
        trade: told.trade,
        price: told.price,
        quantity: told.quantity,
        time_ms,
        is_buyer_maker: told.taker_side == Side::Sell as u8,
    }
}

impl What {
    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>, label: &Label, levels: &[Level], now_ms: i64) {
        match self {
            What::Trade(trade) => stream::trade(out, label, trade, now_ms),
            What::Diff(updates, range, middle) => {
                let (bids, asks) = (&levels[range.start..*middle], &levels[*middle..range.end]);
                stream::depth(out, label, *updates, bids, asks, now_ms);
            }
            What::Best(update, time_ms, best) => stream::best(out, label, *update, *time_ms, *best, now_ms),
            What::Step(step) => {
                let Step { account, side, quantity, value, reason, fund_change, time_ms } = *step;
                let price = average_price(value, quantity);
                let account = text::alias(account);
                stream::step(
                    out,
                    label,
                    &stream::Step { account, side, quantity, price, reason, fund_change, time_ms },
                );
            }
        }
    }
}
