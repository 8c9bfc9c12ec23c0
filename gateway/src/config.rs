//! The one configuration struct.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Everything that can be set.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Where everything durable lies.
    pub data_dir: PathBuf,
    /// Whether balances may be credited by the administrator.
    pub test_deployment: bool,
    /// Chain of login signatures.
    pub chain_id: u64,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            data_dir: PathBuf::from("data"),
            test_deployment: true,
            chain_id: 31337,
        }
    }
}
