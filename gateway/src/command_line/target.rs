//! Which running exchange a subcommand of operators asks, and by whose key.

use super::client::Client;
use anyhow::{Context, Result};
use ringside_auth::Authenticator;
use ringside_config::Config;
use std::path::PathBuf;
use zeroize::Zeroizing;

/// The arguments that say it.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct Target {
    /// Where the exchange runs.
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    pub(super) url: String,
    /// A file that holds the operator's own key; unset: the administrator's key of these settings, which proves nobody.
    #[arg(long, value_name = "FILE")]
    pub(super) operator_key: Option<PathBuf>,
}

impl Target {
    /// A client of it that sends the key.
    ///
    /// Errors: no such key; an address that is none.
    pub(super) fn client(&self, config: &Config) -> Result<Client> {
        let key = self.key(config)?;
        Ok(Client::new(&self.url)?.with_header("x-api-key", key.trim().to_owned()))
    }

    fn key(&self, config: &Config) -> Result<Zeroizing<String>> {
        let file = match (&self.operator_key, &config.admin_key) {
            (Some(file), _) => file.clone(),
            (None, Some(key)) => return Ok(Zeroizing::new(key.text().to_owned())),
            (None, None) => Authenticator::admin_key_path(&config.data_dir),
        };
        let text = std::fs::read_to_string(&file).with_context(|| format!("key of {}", file.display()))?;
        Ok(Zeroizing::new(text))
    }
}
