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
use super::{Lead, Signer, Watch};
use crate::Settings;
use ringside_auth::jwt::Tokens;
use ringside_commands::clock::Clock;
use ringside_core::ids::Address;
use ringside_outbound::url::NodeUrl;
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
/// login tokens by `own`, unless its settings say otherwise. Where several hosts agree `lead` asks it.
pub fn signer(
    settings: &Settings,
    clock: &Clock,
    own: &Tokens,
    lead: Option<Lead>,
) -> Result<Option<Box<dyn Signer>>, PartsError> {
    if let (Some(socket), Some(address)) = (&settings.signer_socket, settings.signer_address) {
        return Ok(Some(Box::new(RemoteSigner::new(socket, address, settings.patience).asked_by(lead))));
    }
    let Some(path) = &settings.signer_settings else { return Ok(None) };
    let of = SignerSettings::load(path)?;
    let key = of.key(settings.signer_key.as_ref())?;
    let tokens = of.tokens()?.unwrap_or_else(|| own.clone());
    Ok(Some(Box::new(LocalSigner::open(&of.log, &key, tokens, of.policy(), clock.clone())?)))
}

/// The watcher of the vault that signatures of `signer` are for, if there are nodes to ask.
pub fn watch(settings: &Settings, vault: Address, signer: Option<Address>) -> Option<Box<dyn Watch>> {
    if settings.nodes.is_empty() {
        return None;
    }
    if settings.agreement < 2 {
        tracing::warn!(
            "the chain is believed on one voice: a node that lies can have withdrawals paid and returned"
        );
    }
    let watched = watched(settings, vault, &settings.vault_name);
    Some(start(settings, WatcherConfig { signer, ..watched }))
}

/// Watchers of vaults that were replaced.
pub fn former(settings: &Arc<Settings>) -> MakeWatch {
    let settings = settings.clone();
    Box::new(move |vault, name| {
        let watched = watched(&settings, vault, name);
        start(&settings, WatcherConfig { is_former: true, start: 0, ..watched })
    })
}

fn watched(settings: &Settings, vault: Address, name: &str) -> WatcherConfig {
    WatcherConfig {
        chain_id: settings.chain_id,
        vault,
        vault_name: name.to_owned(),
        signer: None,
        is_former: false,
        start: settings.vault_block,
        confirmations: settings.confirmations,
        wants_finalized: settings.wants_finalized,
        every: settings.every,
        stalled_after: settings.stalled_after,
    }
}

fn start(settings: &Settings, watched: WatcherConfig) -> Box<dyn Watch> {
    let (urls, needed, patience) = (settings.nodes.clone(), settings.agreement, settings.patience);
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
pub fn referrals(settings: &Settings) -> Option<Reader> {
    let (contract, url) = (settings.referral?, settings.nodes.first()?.clone());
    Some(Reader::new(provider(url, settings.patience), settings.chain_id, contract))
}

/// What a worker thread asks of tokens that an operator adds, where there is a node.
pub fn tokens(settings: &Settings) -> Option<TokenReader> {
    let node = settings.nodes.first()?.clone();
    Some(TokenReader::new(provider(node, settings.patience), settings.chain_id))
}

/// The same for the thread of the chain, which keeps every account's fee terms by it.
pub fn discounts(settings: &Arc<Settings>) -> MakeReader {
    let settings = settings.clone();
    Box::new(move || referrals(&settings))
}

fn provider(node: NodeUrl, patience: std::time::Duration) -> Provider {
    Provider::new(Box::new(HttpTransport::new(node, patience)))
}
