//! Signer and watcher as the configuration has them.

use super::discount::MakeReader;
use super::figures::NodesFigures;
use super::http::HttpTransport;
use super::provider::Provider;
use super::quorum::Quorum;
use super::referral::Reader;
use super::signer::remote::RemoteSigner;
use super::signer::settings::{SettingsError, SignerSettings};
use super::signer::{LocalSigner, OpenError};
use super::thread::MakeWatch;
use super::token::TokenReader;
use super::watcher::{WatcherConfig, WatcherStart};
use super::{Signer, Watch};
use crate::clock::Clock;
use crate::config::Config;
use crate::config::feed::NodeUrl;
use ringside_auth::jwt::Tokens;
use ringside_core::ids::Address;
use std::sync::Arc;

/// Why the configured signer cannot be had. Never holds a key.
#[derive(Debug, thiserror::Error)]
pub enum PartsError {
    /// Its settings or its key.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Its log.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// The signer: in this process, or at the other end of a socket, where it need not be there yet. One in this process verifies
/// login tokens by `own`, unless its settings say otherwise.
pub fn signer(config: &Config, clock: &Clock, own: &Tokens) -> Result<Option<Box<dyn Signer>>, PartsError> {
    if let (Some(socket), Some(address)) = (&config.signer_socket, config.signer_address) {
        return Ok(Some(Box::new(RemoteSigner::new(socket, address.0, config.chain_patience))));
    }
    let Some(path) = &config.signer_settings else { return Ok(None) };
    let settings = SignerSettings::load(path)?;
    let key = settings.key(config.signer_key.as_ref())?;
    let tokens = settings.tokens()?.unwrap_or_else(|| own.clone());
    Ok(Some(Box::new(LocalSigner::open(&settings.log, &key, tokens, settings.policy(), clock.clone())?)))
}

/// The watcher of the vault that signatures of `signer` are for, if there are nodes to ask.
pub fn watch(config: &Config, vault: Address, signer: Option<Address>) -> Option<Box<dyn Watch>> {
    if config.chain_nodes.is_empty() {
        return None;
    }
    if config.chain_agreement < 2 {
        tracing::warn!(
            "the chain is believed on one voice: a node that lies can have withdrawals paid and returned"
        );
    }
    let watched = watched(config, vault, &config.vault_name);
    Some(start(config, WatcherConfig { signer, ..watched }))
}

/// Watchers of vaults that were replaced.
pub fn former(config: &Arc<Config>) -> MakeWatch {
    let config = config.clone();
    Box::new(move |vault, name| {
        let watched = watched(&config, vault, name);
        start(&config, WatcherConfig { is_former: true, start: 0, ..watched })
    })
}

fn watched(config: &Config, vault: Address, name: &str) -> WatcherConfig {
    WatcherConfig {
        chain_id: config.chain_id,
        vault,
        vault_name: name.to_owned(),
        signer: None,
        is_former: false,
        start: config.vault_block,
        confirmations: config.chain_confirmations,
        wants_finalized: config.chain_finalized,
        every: config.chain_every,
        stalled_after: config.chain_stalled_after,
    }
}

fn start(config: &Config, watched: WatcherConfig) -> Box<dyn Watch> {
    let (urls, needed, patience) =
        (config.chain_nodes.clone(), config.chain_agreement, config.chain_patience);
    let names = urls.iter().map(|node| node.url.authority.clone());
    let figures = Arc::new(NodesFigures::new(names, needed));
    let (counted, chain_id) = (figures.clone(), watched.chain_id);
    let quorum = move || {
        let providers = urls.into_iter().map(|url| provider(url, patience)).collect();
        Quorum::new(chain_id, providers, needed).counted(counted)
    };
    Box::new(WatcherStart { config: watched, figures, quorum: Box::new(quorum) })
}

/// The referral contract, as a worker thread asks for it.
pub fn referrals(config: &Config) -> Option<Reader> {
    let (contract, url) = (config.referral_address?, config.chain_nodes.first()?.clone());
    Some(Reader::new(provider(url, config.chain_patience), config.chain_id, contract.0))
}

/// What a worker thread asks of tokens that an operator adds, where there is a node.
pub fn tokens(config: &Config) -> Option<TokenReader> {
    let node = config.chain_nodes.first()?.clone();
    Some(TokenReader::new(provider(node, config.chain_patience), config.chain_id))
}

/// The same for the thread of the chain, which keeps every account's fee terms by it.
pub fn discounts(config: &Arc<Config>) -> MakeReader {
    let config = config.clone();
    Box::new(move || referrals(&config))
}

fn provider(node: NodeUrl, patience: std::time::Duration) -> Provider {
    Provider::new(Box::new(HttpTransport::new(node, patience)))
}
