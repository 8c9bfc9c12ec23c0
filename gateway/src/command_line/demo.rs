//! `ringside demo`: a test deployment with life in it. A market maker and two takers log in with wallets of their own and
//! trade through the public API, like anybody else; a visitor's wallet is credited for whoever opens the page.
//!
//! For looking and trying only: the wallets' keys follow from their names, so everybody knows them. Prices are invented.

mod traders;

use crate::boot::{self, BootError};
use crate::config::Config;
use ringside_auth::Authenticator;
use ringside_commands::clock::Clock;
use sha2::{Digest, Sha256};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Requests per minute of this machine, which traders and page share.
const WEIGHT_PER_MINUTE: u32 = 1_000_000;

/// The wallet of whoever opens the page.
const VISITOR: &str = "visitor";

/// Runs until it is told to stop. Without a folder the exchange forgets everything then.
pub(super) fn run(mut config: Config, folder: Option<PathBuf>) -> Result<(), BootError> {
    let temporary = match folder {
        Some(folder) => {
            config.data_dir = folder;
            None
        }
        None => {
            config.data_dir = std::env::temp_dir().join(format!("ringside-demo-{}", std::process::id()));
            // A folder in memory is as good as any that is thrown away.
            config.any_file_system = true;
            Some(config.data_dir.clone())
        }
    };
    config.test_deployment = true;
    config.weight_per_minute = config.weight_per_minute.max(WEIGHT_PER_MINUTE);
    let admin_key = config.admin_key.as_ref().map(|key| key.text().to_owned());
    // Made at the first start, where none is configured.
    let admin_key_path = Authenticator::admin_key_path(&config.data_dir);
    let ready = |address: SocketAddr| {
        let url = format!("http://{address}");
        super::show(&format!(
            "ringside: demo          open {url}/ and log in with the test key {}\n",
            const_hex::encode(key_of(VISITOR))
        ));
        let admin_key = admin_key.map_or_else(|| std::fs::read_to_string(&admin_key_path), Ok);
        let spawned = admin_key.and_then(|admin_key| {
            let traders = std::thread::Builder::new().name("demo".to_owned());
            traders.spawn(move || traders::run(&url, admin_key.trim()))
        });
        if let Err(error) = spawned {
            tracing::error!(%error, "nobody will trade");
        }
    };
    let ran = boot::run_and_tell(config, Clock::SYSTEM, &mut std::io::stdout(), ready);
    if let Some(folder) = temporary {
        let _ = std::fs::remove_dir_all(folder);
    }
    ran
}

/// The key of a demo wallet, the same at every start, so that its orders and balances stay its own.
fn key_of(name: &str) -> [u8; 32] {
    Sha256::digest(format!("ringside demo: {name}")).into()
}
