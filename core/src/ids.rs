//! Integer ids. What each is called in text (UUID, symbol, address) belongs to the edge.

/// Who trades. Dense, from 1 in order of creation; 0 is the fee account of the deployment.
pub type AccountId = u32;
/// What is traded. Dense, from 0 in order of listing.
pub type MarketId = u32;
/// What balances are held in. Dense, from 0 in order of first mention.
pub type AssetId = u16;
/// Ascending over all markets, from 1, also for orders stored as rejected; stays below 2^53.
pub type OrderId = u64;
/// Ascending per market, from 1.
pub type TradeId = u64;
/// Ascending over all accounts, from 1; stays below 2^53.
pub type WithdrawalId = u64;
/// Position in the stream of commands, from 1.
pub type Sequence = u64;

/// The account that fees go to.
pub const FEE_ACCOUNT: AccountId = 0;
/// Id of the first perpetual market; those of spot markets are below.
pub const FIRST_PERPETUAL: MarketId = 1 << 30;
/// "Every market" in [`crate::command::CancelAll`].
pub const ALL_MARKETS: MarketId = MarketId::MAX;
/// The market that a draft describes ([`crate::command::DraftPerpetual`]), in commands that change a market's configuration.
pub const DRAFT_MARKET: MarketId = MarketId::MAX - 1;

/// A wallet address.
pub type Address = [u8; 20];

/// Text of a market (up to 20 of `[A-Z0-9]`), padded with zeros.
pub type Symbol = [u8; 20];
/// Text of an asset (up to 10 of `[A-Z0-9]`), padded with zeros.
pub type AssetName = [u8; 10];

/// Pads `text` with zeros; `None` when it is longer than the field.
pub fn padded<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut field = [0; N];
    field.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
    Some(field)
}

/// The text of a padded field; bytes that are not UTF-8 give the empty text.
pub fn text(field: &[u8]) -> &str {
    let len = field.iter().position(|&byte| byte == 0).unwrap_or(field.len());
    std::str::from_utf8(&field[..len]).unwrap_or("")
}
