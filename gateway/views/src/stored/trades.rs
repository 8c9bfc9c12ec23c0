//! Trades, each account's half of them, and what else moves money.

use super::{Wide, layouts, stored};
use crate::perpetual::rows::{FillRecord, IncomeRecord, MarginRecord, MarketTrade, TransferRecord};
use ringside_core::event;

layouts! {
    /// One account's half of a perpetual trade.
    FillV1 of FillRecord {
        trade: u64, order: u64, price: i64, quantity: i64, value: i64, fee: i64, realised: i64, time_ms: i64,
        account: u32, market: u32, side: u8, is_maker: u8, is_liquidation: u8, reserved: [u8; 5],
    }

    /// A change of a wallet.
    IncomeV1 of IncomeRecord {
        tran: u64, amount: i64, time_ms: i64, trade: u64, account: u32, market: u32, kind: u32, info: [u8; 36],
    }

    /// Margin moved to or from an isolated position.
    MarginV1 of MarginRecord { number: u64, amount: i64, time_ms: i64, account: u32, market: u32, kind: u64 }

    /// A public trade of a perpetual market.
    TradeV1 of MarketTrade {
        trade: u64, aggregate: u64, price: i64, quantity: i64, value: i64, time_ms: i64, aggregate_ms: i64, market: u32,
        is_buyer_maker: u32,
    }

    /// A transfer between the ledgers.
    TransferV1 of TransferRecord { number: u64, amount: i64, time_ms: i64, account: u32, reserved: u32 }

    /// A spot trade of a placement with an idempotency key.
    SpotTradeV1 of event::Trade {
        trade: u64, maker_order: u64, taker_order: u64, price: i64, quantity: i64, maker_fee: Wide, taker_fee: Wide,
        maker_account: u32, taker_account: u32, market: u32, taker_side: u8, maker_filled: u8, reserved: u16,
    }
}

stored! {
    event::Trade as OutcomeTrades: SpotTradeV1;
    FillRecord as Fills: FillV1;
    IncomeRecord as Income: IncomeV1;
    MarginRecord as MarginChanges: MarginV1;
    MarketTrade as Trades: TradeV1;
    TransferRecord as Transfers: TransferV1;
}
