//! `ringside demo`: a test deployment with life in it, in the data folder and at the address of any other start. A market maker and
//! two takers log in with wallets of their own and trade through the public API, like anybody else; in a new folder they have traded
//! for hours before it opens.
//!
//! For looking and trying only: the traders' keys follow from their names, so everybody knows them. Prices are invented.

mod past;
mod traders;

use crate::boot::{self, BootError};
use ringside_auth::Authenticator;
use ringside_commands::clock::Clock;
use ringside_config::Config;
use sha2::{Digest, Sha256};
use std::net::SocketAddr;

/// Requests per minute of this machine, which traders and page share.
const WEIGHT_PER_MINUTE: u32 = 1_000_000;

/// What each trader is given when it has less than a tenth of it.
const STOCK: i64 = 5_000_000;

/// Runs until it is told to stop.
pub(super) fn run(mut config: Config) -> Result<(), BootError> {
    config.test_deployment = true;
    config.weight_per_minute = config.weight_per_minute.max(WEIGHT_PER_MINUTE);
    past::write(&config, &Clock::SYSTEM)?;
    let admin_key = config.admin_key.as_ref().map(|key| key.text().to_owned());
    // Made at the first start, where none is configured.
    let admin_key_path = Authenticator::admin_key_path(&config.data_dir);
    let ready = |address: SocketAddr| {
        let url = format!("http://{address}");
        super::show(&format!("ringside: demo          traders are on their way to {url}/\n"));
        let admin_key = admin_key.map_or_else(|| std::fs::read_to_string(&admin_key_path), Ok);
        let spawned = admin_key.and_then(|admin_key| {
            let traders = std::thread::Builder::new().name("demo".to_owned());
            traders.spawn(move || traders::run(&url, admin_key.trim()))
        });
        if let Err(error) = spawned {
            tracing::error!(%error, "nobody will trade");
        }
    };
    boot::run_and_tell(config, Clock::SYSTEM, &mut std::io::stdout(), ready)
}

/// The key of a demo wallet, the same at every start, so that its orders and balances stay its own.
fn key_of(name: &str) -> [u8; 32] {
    Sha256::digest(format!("ringside demo: {name}")).into()
}

/// Random numbers of no worth.
struct Random(u64);

impl Random {
    fn new() -> Random {
        Random(getrandom::u64().unwrap_or(1) | 1)
    }

    /// From 0 to 1.
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Around 0, mostly within 1: as bell-shaped as a sum of three is.
    fn normal(&mut self) -> f64 {
        2.0 * (0..3).map(|_| self.uniform() - 0.5).sum::<f64>()
    }
}
