//! `ringside signer`: the signer of releases as a process of its own.

use ringside_auth::secret::Secret;
use ringside_chain::Signer;
use ringside_chain::signer::settings::{SettingsError, SignerSettings};
use ringside_chain::signer::{LocalSigner, OpenError, process};
use ringside_commands::clock::Clock;
use std::convert::Infallible;
use std::io::Write;
use std::path::Path;

/// Why it does not start, or had to stop.
#[derive(Debug, thiserror::Error)]
pub(super) enum SignerError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("the signer's settings name no socket")]
    NoSocket,
    #[error("the signer's socket: {0}")]
    Socket(#[from] std::io::Error),
}

/// Signs until it is ended. `is_restored`: for a venue that was.
pub(super) fn run(
    settings: &Path,
    key: Option<&Secret>,
    is_restored: bool,
) -> Result<Infallible, SignerError> {
    let settings = SignerSettings::load(settings)?;
    let key = settings.key(key)?;
    let socket = settings.socket.clone().ok_or(SignerError::NoSocket)?;
    let tokens = settings.tokens()?.ok_or(SettingsError::NoTokenSecret)?;
    let mut signer = LocalSigner::open(&settings.log, &key, tokens, settings.policy(), Clock::SYSTEM)?;
    if is_restored {
        signer.forget_leads();
    }
    drop(key);
    let listener = process::bind(&socket)?;
    // Nobody may be listening to standard output; that is no reason to stop.
    let _ = writeln!(
        std::io::stdout(),
        "ringside: signs for {} at {}",
        const_hex::encode_prefixed(signer.address()),
        socket.display()
    );
    Ok(process::serve(&listener, signer)?)
}
