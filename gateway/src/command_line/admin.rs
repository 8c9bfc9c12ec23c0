//! `ringside admin`: a request to the routes of operators of a running exchange, JSON in and out.

use super::client::Client;
use crate::auth::Authenticator;
use crate::config::Config;
use anyhow::{Context, Result, ensure};
use hyper::{Method, StatusCode};
use serde_json::Value;
use std::io::Read;
use std::path::PathBuf;
use zeroize::Zeroizing;

/// What to send, and where.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) method: String,
    pub(super) path: String,
    /// JSON; `-` for standard input.
    pub(super) body: Option<String>,
    pub(super) url: String,
    /// Unset: the administrator's key of this configuration.
    pub(super) key_file: Option<PathBuf>,
}

/// Sends it; status and answer, whatever they are.
pub(super) fn send(config: &Config, wanted: &Wanted) -> Result<(StatusCode, Value)> {
    let method =
        Method::from_bytes(wanted.method.to_ascii_uppercase().as_bytes()).context("no HTTP method")?;
    ensure!(wanted.path.starts_with('/'), "{}: a path begins with /", wanted.path);
    let body = match wanted.body.as_deref() {
        None => None,
        Some("-") => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("standard input")?;
            Some(text)
        }
        Some(text) => Some(text.to_owned()),
    };
    let body = body.map(|text| serde_json::from_str(&text).context("the body is no JSON")).transpose()?;
    let key = key(config, wanted)?;
    let mut client = Client::new(&wanted.url)?.with_header("x-api-key", key.trim().to_owned());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(client.send(method, &wanted.path, body))
}

fn key(config: &Config, wanted: &Wanted) -> Result<Zeroizing<String>> {
    let file = match (&wanted.key_file, &config.admin_key) {
        (Some(file), _) => file.clone(),
        (None, Some(key)) => return Ok(Zeroizing::new(key.text().to_owned())),
        (None, None) => Authenticator::admin_key_path(config),
    };
    let text = std::fs::read_to_string(&file).with_context(|| format!("key of {}", file.display()))?;
    Ok(Zeroizing::new(text))
}
