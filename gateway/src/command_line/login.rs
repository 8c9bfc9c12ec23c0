//! `ringside login`: a login token for a wallet, from a running exchange. For people at a shell and scripts; a browser
//! signs with its own wallet.

use super::client::{Client, parse_key};
use anyhow::Result;

/// Logs `key` (64 hex digits) in at `url` (`http://host:port`); gives the token.
pub fn login(url: &str, key: &str) -> Result<String> {
    let secret = parse_key(key)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { Client::new(url)?.login(&secret).await })
}
