//! How traders get in: the market is listed, wallets log in and are given keys and money.

use super::futures::{self, FuturesTrader};
use super::trader::Trader;
use super::{CREDIT, MAKER_FEE_BPS, SYMBOL, TAKER_FEE_BPS};
use anyhow::Result;
use ringside_load::api::{self, BASE_TOKEN, MarketText, QUOTE_TOKEN};
use ringside_load::connection::Connection;
use ringside_load::wallet::Wallet;

/// Wallets of so many spot and perpetual traders, by their numbers.
pub fn wallets(seed: u64, counts: [u32; 2]) -> [Vec<Wallet>; 2] {
    let of = |seed, count| (0..count).map(|number| Wallet::from_seed(seed, number)).collect();
    [of(seed, counts[0]), of(!seed, counts[1])]
}

/// Lists the market; logs the traders in and credits them.
pub async fn traders(
    connection: &mut Connection,
    admin_key: &str,
    wallets: &[Wallet],
    seed: u64,
) -> Result<Vec<Trader>> {
    let market = MarketText {
        symbol: SYMBOL.to_string(),
        tick_size: "0.0001".to_string(),
        lot_size: "0.1".to_string(),
        min_notional: "0.01".to_string(),
        maker_fee_bps: MAKER_FEE_BPS,
        taker_fee_bps: TAKER_FEE_BPS,
    };
    api::list_market(connection, admin_key, &market).await?;
    let mut traders = Vec::new();
    for (wallet, number) in wallets.iter().zip(0..) {
        let token = api::login(connection, wallet).await?;
        let key = api::create_api_key(connection, &token).await?;
        for token in [BASE_TOKEN, QUOTE_TOKEN] {
            api::credit(connection, admin_key, wallet, token, &CREDIT.to_string()).await?;
        }
        traders.push(Trader::new(number, api::key_header(&key), seed));
    }
    Ok(traders)
}

/// Logs the traders of the perpetual venue in and credits their wallets.
pub async fn futures_traders(
    connection: &mut Connection,
    admin_key: &str,
    wallets: &[Wallet],
    seed: u64,
) -> Result<Vec<FuturesTrader>> {
    let mut traders = Vec::new();
    for (wallet, number) in wallets.iter().zip(0..) {
        let token = api::login(connection, wallet).await?;
        let (key, secret) = api::create_signing_key(connection, &token).await?;
        api::credit_perpetual(connection, admin_key, wallet, &futures::CREDIT.to_string()).await?;
        traders.push(FuturesTrader::new(number, key, secret, seed));
    }
    Ok(traders)
}
