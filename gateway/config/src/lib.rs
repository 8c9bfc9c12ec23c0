//! The one configuration: what can be set, its defaults, where a value came from, and the summary printed at start.
//!
//! A setting is one row of the table below. Its key is the same everywhere: `weight_per_minute = 2400` in the file
//! given by `--config`, `RINGSIDE_WEIGHT_PER_MINUTE=2400` in the environment (which wins). Durations and sizes carry units.
//! A key that no row knows is refused, so that a misspelled limit cannot silently stay at its default.
//!
//! Price feeds are the one thing that is no plain value: each is a table `[[feed]]` of the file, see [`feed`].
//!
//! No setting changes what the engine decides; such things travel as commands.

pub mod feed;
mod origin;
mod value;

use feed::Feed;
pub use origin::Origin;
use ringside_auth::cidr::Cidr;
use ringside_auth::secret::Secret;
use ringside_auth::test_wallet::TEST_WALLETS;
use ringside_chain::WITHDRAWAL_LIFETIME_MAX_S;
use ringside_core::command::DECIMALS_MAX;
use ringside_mirror::keys::Fingerprint;
use ringside_mirror::members::{self, Member};
use ringside_outbound::url::{NodeUrl, Url};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
pub use value::{
    Acknowledge, Cores, LogFormat, Size, StorageKind, Threading, TokenAmount, Value, WaitKind, Wallet,
    Wanted, is_host_and_port, member,
};
use zeroize::Zeroizing;

/// Prefix of every setting in the environment.
pub const ENVIRONMENT_PREFIX: &str = "RINGSIDE_";

/// Variables with the prefix that are no settings: they steer tests and tools, whose children inherit them.
const NOT_SETTINGS: &[&str] = &[
    "RINGSIDE_BLESS",
    "RINGSIDE_CONFIG",
    "RINGSIDE_KEEP",
    "RINGSIDE_NEW_KEY_ENCRYPTION_KEY",
    "RINGSIDE_SEED",
];

/// Most gateway threads: each has a lane of its own, as the chain and the process itself have, and an epoch numbers 256.
const WORKERS_MAX: usize = 254;

/// Why a configuration was refused. Texts name the key and, where one is meant, the nearest known key; never a secret.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("cannot read configuration file {path}: {cause}")]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The file is no TOML.
    #[error("configuration file {path}: {cause}")]
    Syntax {
        /// Which file.
        path: PathBuf,
        /// Where and why.
        cause: Box<toml::de::Error>,
    },
    /// No setting of this name.
    #[error("{origin}: unknown setting `{key}`{hint}")]
    UnknownKey {
        /// The file or the environment variable.
        origin: String,
        /// The name.
        key: String,
        /// "; did you mean ...?", or nothing.
        hint: String,
    },
    /// The value does not fit the setting.
    #[error("{origin}: setting `{key}` {reason}")]
    Value {
        /// The file or the environment variable.
        origin: String,
        /// The name.
        key: &'static str,
        /// What is wanted.
        reason: String,
    },
    /// A price feed is not as it must be.
    #[error("{origin}: {reason}")]
    Feed {
        /// The file.
        origin: String,
        /// Which feed, and what is wrong.
        reason: String,
    },
    /// Two settings contradict each other.
    #[error("configuration: {0}")]
    Conflict(String),
}

/// One row of the table of settings.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Key in the file; upper-cased behind the prefix, the environment variable.
    pub key: &'static str,
    /// What it does.
    pub doc: &'static str,
}

macro_rules! settings {
    ($($(#[doc = $doc:literal])* $key:ident : $type:ty = $default:expr;)*) => {
        /// Everything that can be set. [`Config::default`] is safe on two cores.
        #[derive(Clone, Debug)]
        pub struct Config {
            $($(#[doc = $doc])* pub $key: $type,)*
            /// Where prices of the outside come from, in the order of the file.
            pub feeds: Vec<Feed>,
        }

        impl Default for Config {
            fn default() -> Config {
                Config { $($key: $default,)* feeds: Vec::new() }
            }
        }

        /// Every setting, in the order of the summary.
        pub const SETTINGS: &[Setting] =
            &[$(Setting { key: stringify!($key), doc: concat!($($doc, "\n"),*) },)*];

        impl Config {
            /// Takes one value; `Err(None)` for an unknown key.
            fn set(&mut self, key: &str, text: &str, origin: &str) -> Result<(), Option<ConfigError>> {
                match key {
                    $(stringify!($key) => match <$type as Value>::parse(text) {
                        Ok(value) => self.$key = value,
                        Err(Wanted(wanted)) => {
                            return Err(Some(ConfigError::Value {
                                origin: origin.to_owned(),
                                key: stringify!($key),
                                reason: format!("must be {wanted}"),
                            }));
                        }
                    },)*
                    _ => return Err(None),
                }
                Ok(())
            }

            /// Every key with its value as text; secrets only as set or not.
            /// Every setting as it is shown, without secrets.
            pub fn shown(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($key), Value::show(&self.$key)),)*]
            }
        }
    };
}

settings! {
    /// Address and port of REST, WebSocket and the OpenAPI document.
    listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8080));
    /// Address and port of `/metrics`, `/livez`, `/livez/reads`, `/readyz` and `/leaderz` without a key, for a network of the operator's
    /// own; unset: they are served at `listen` alone, `/metrics` for the administrator's key.
    metrics_listen: Option<SocketAddr> = None;
    /// Folder of everything durable: journal, snapshots, keys, secrets.
    data_dir: PathBuf = PathBuf::from("data");
    /// Whether the administrator may credit balances out of nothing.
    test_deployment: bool = true;
    /// Accounts of well-known keys, with money and an API key each, that a test deployment begins with: at most 10. A production
    /// deployment has none, and lets nobody in by such a key.
    test_accounts: usize = 10;
    /// Chain named in login signatures.
    chain_id: u64 = 31337;
    /// Address at which clients reach this deployment, as a browser shows it: it is part of what a wallet signs to log in. Unset: http://
    /// and `listen`.
    public_url: Option<String> = None;
    /// Whether logins are taken that are signed for no deployment in particular; unset: on test deployments.
    login_version_1: Option<bool> = None;
    /// Whether a signed change is refused that was taken before, byte for byte: two equal orders of one millisecond then have to
    /// differ in something, such as their `newClientOrderId`.
    refuse_replays: bool = false;

    /// The vault that withdrawals go through; unset: no withdrawals.
    vault_address: Option<Wallet> = None;
    /// Name of the vault in its EIP-712 domain, 1 to 24 characters.
    vault_name: String = "SpotVault".to_owned();
    /// Contract of the token DF; unset: no withdrawals from spot balances.
    df_address: Option<Wallet> = None;
    /// Contract of the token USDT; unset: no withdrawals from perpetual wallets.
    usdt_address: Option<Wallet> = None;
    /// Decimals of that contract's base unit, at most 18: chains differ.
    usdt_decimals: u8 = 6;
    /// Time from a withdrawal's request to the deadline of its signature, from 1 min to 24 h: no signer signs for longer.
    withdrawal_lifetime: Duration = Duration::from_secs(86_400);
    /// How long a request for a withdrawal waits for the signer before its amount goes back; at most 8 s.
    signer_patience: Duration = Duration::from_secs(5);

    /// File of authorities (PEM) that price feeds by `https` and `wss` may be vouched for by, beside those that this host trusts.
    feed_authorities: Option<PathBuf> = None;

    /// The administrator's key; unset: kept in the data folder, made at first start.
    admin_key: Option<Secret> = None;
    /// Key of login tokens, at least 32 characters; unset: kept in the data folder, made at first start.
    jwt_secret: Option<Secret> = None;
    /// Key that seals API secrets, 64 hex digits; unset: kept in the data folder, made at first start.
    key_encryption_key: Option<Secret> = None;

    /// Amount of a token, in its own units, that POST /admin/treasury/transfer moves within a day for one operator, all of them counted
    /// together; what goes above it takes two. 0: two always.
    treasury_two_operators_above: TokenAmount = TokenAmount::whole(1_000);

    /// Whether a crash may write the process's memory, in which secrets are, to a core dump.
    core_dumps: bool = false;

    /// Gateway threads, each with its own input ring; 0: half the cores, at least one.
    workers: usize = 0;
    /// Who runs the stages: `shared` on one thread, or `dedicated`, a thread each.
    threading: Threading = Threading::Shared;
    /// How a stage waits: `park`, `yield` or `spin`. Spinning wants a core for each thread.
    wait: WaitKind = WaitKind::Park;
    /// Core of the matcher, or of the shared stages; unset: wherever the system likes.
    pin_matcher: Option<usize> = None;
    /// Core of the journaller.
    pin_journaller: Option<usize> = None;
    /// Core of egress.
    pin_egress: Option<usize> = None;
    /// Cores of the gateway threads, one after the other; empty: wherever the system likes.
    pin_workers: Cores = Cores::default();
    /// Whether the engine asks the system for huge pages for its tables.
    huge_pages: bool = false;

    /// What a reply waits for: `durable`, synced to the disk, or `written`, which a power cut may undo.
    acknowledge: Acknowledge = Acknowledge::Durable;
    /// Address and port at which a mirror may connect; unset: none may.
    mirror_listen: Option<SocketAddr> = None;
    /// Keys of the other side, leader or mirror, as `ringside mirror-key` shows them there: nobody else is heard.
    mirror_keys: Vec<Fingerprint> = Vec::new();
    /// Whether a reply waits until the mirror has synced it as well. Without a connected mirror new orders are refused then.
    acknowledge_mirror: bool = false;
    /// Host and port of the leader whose mirror this is; unset: this is none.
    mirror_of: Option<String> = None;
    /// Number of this host among `cluster_members`; unset: it is of no cluster.
    cluster_member: Option<u64> = None;
    /// Address and port at which the other members of the cluster connect.
    cluster_listen: Option<SocketAddr> = None;
    /// All members of the cluster, this one among them, the same on each host: each as `NUMBER@HOST:PORT=KEY`, with the key that
    /// `ringside mirror-key` shows there.
    cluster_members: Vec<Member> = Vec::new();
    /// How segments are stored: `mapped`, `direct`, or `auto` for the faster of the two under `acknowledge`.
    storage: StorageKind = StorageKind::Auto;
    /// A sync of the journal that takes longer holds new orders off until it is done; what reduces and cancels goes on.
    flush_shed: Duration = Duration::from_millis(250);
    /// Whether the journal may lie on a file system that is not known to keep what it synced; on a test deployment it may.
    any_file_system: bool = false;
    /// Length of one journal segment.
    segment_len: Size = Size::mebibytes(64);
    /// Commands between two snapshots.
    snapshot_commands: u64 = 5_000_000;
    /// Longest time between two snapshots.
    snapshot_interval: Duration = Duration::from_secs(300);
    /// Snapshots kept, with all segments since the oldest.
    snapshots_kept: usize = 3;
    /// Bytes of the journal that archive and snapshots may be behind while commands come fast, so that what they cost is not
    /// taken from those who wait for answers; 0B: they follow at once.
    follower_lag: Size = Size::mebibytes(48);
    /// Ended orders and trades kept in memory although they are archived; lists of those that come later need no disk.
    history_window: usize = 65_536;
    /// Threads that read the archive.
    archive_readers: usize = 2;
    /// Slots of each gateway thread's input ring, a power of two.
    input_ring_slots: usize = 16_384;
    /// Share of an input ring that only cancels and internal commands may use, in percent.
    input_ring_reserve_percent: u32 = 20;
    /// Slots of the journal ring, a power of two.
    journal_ring_slots: usize = 65_536;
    /// Slots of the output ring, a power of two.
    output_ring_slots: usize = 131_072;
    /// Resting orders to take memory for at start; more are taken as needed.
    engine_orders: usize = 65_536;
    /// Accounts to take memory for at start; more are taken as needed.
    engine_accounts: usize = 4_096;

    /// Connections at once; fewer where the process may not open as many files.
    max_connections: usize = 10_000;
    /// Connections at once of one address; behind a trusted proxy, of the client that it names.
    max_connections_per_ip: usize = 1_000;
    /// Longest time from a request's first byte, or a connection's start, to the end of its headers.
    header_timeout: Duration = Duration::from_secs(5);
    /// Longest time for a body to arrive, and again for the answer to be ready.
    request_timeout: Duration = Duration::from_secs(10);
    /// How long a connection may rest between two requests.
    idle_timeout: Duration = Duration::from_secs(75);
    /// How long open requests may take to finish at shutdown.
    shutdown_timeout: Duration = Duration::from_secs(15);
    /// Longest request head, from 8 KiB to 60 KiB.
    header_len_max: Size = Size::kibibytes(8);
    /// Longest request body.
    body_len_max: Size = Size::kibibytes(64);
    /// Proxies whose `X-Forwarded-For` is believed, with or without ports; empty: none, the peer is the client. Clients of whom such a
    /// proxy says no address share one limit, and keys bound to addresses do not open for them.
    trusted_proxies: Vec<Cidr> = Vec::new();
    /// Origins whose pages may read answers in a browser, beside the exchange's own; each as a browser writes it, such as
    /// `https://app.example`. A test deployment's public market data every page may read.
    cors_origins: Vec<Origin> = Vec::new();

    /// How often a WebSocket is pinged.
    websocket_ping_interval: Duration = Duration::from_secs(180);
    /// How long a WebSocket may be silent, pings unanswered, before it is closed.
    websocket_pong_timeout: Duration = Duration::from_secs(600);
    /// How long a WebSocket may live.
    websocket_life: Duration = Duration::from_secs(86_400);
    /// Frames of a WebSocket client per second in the long run; what goes beyond is answered RATE_LIMITED. Pings count apart.
    websocket_frames_per_second: u32 = 10;
    /// Frames that a WebSocket client may send at once.
    websocket_frames_at_once: u32 = 400;
    /// Requests of a WebSocket client per second on `/ws-fapi/v1`.
    websocket_requests_per_second: u32 = 300;

    /// Whether `X-MBX-APIKEY` is accepted in place of `X-EX-APIKEY`.
    compat_header: bool = true;
    /// Request weight of one address per minute.
    weight_per_minute: u32 = 2_400;
    /// Orders of one account per ten seconds.
    orders_per_ten_seconds: u32 = 300;
    /// Orders of one account per minute (`/fapi` only).
    orders_per_minute: u32 = 1_200;
    /// Withdrawals of one account in 24 hours: each is remembered for good, in about half a kilobyte of memory. A request for a
    /// further one is refused (429).
    withdrawals_per_day: usize = 1_000;
    /// Idempotency keys of one account in 24 hours, each of which costs about 360 bytes of memory for so long, half of them where
    /// snapshots are made: what comes with a further one is refused (429), and without one it is carried out.
    idempotency_keys_per_account: usize = 1_000_000;
    /// Idempotency keys of all accounts in 24 hours; beyond them what comes with a new one is refused (503).
    idempotency_keys: usize = 10_000_000;
    /// Requests of one address to the funding routes of `/fapi` per five minutes.
    funding_requests: u32 = 500;
    /// Requests after the first 429 of a minute that bring a ban.
    ban_after: u32 = 20;
    /// Length of the first ban; each further one within `ban_memory` is four times as long.
    ban_first: Duration = Duration::from_secs(120);
    /// Length of the longest ban.
    ban_max: Duration = Duration::from_secs(259_200);
    /// How long a ban counts towards the length of the next.
    ban_memory: Duration = Duration::from_secs(259_200);

    /// Nodes of the chain, as https:// or http://host:port/path, of independent owners; empty: the chain is not watched.
    chain_nodes: Vec<NodeUrl> = Vec::new();
    /// How many of them must say the same before it counts; one alone is for tests.
    chain_agreement: usize = 2;
    /// Blocks on top of one whose releases are final.
    chain_confirmations: u64 = 20;
    /// Whether the chain must call a block final as well, where it has such a word.
    chain_finalized: bool = false;
    /// Block in which the vault was made: the first that can hold a release.
    vault_block: u64 = 0;
    /// Pause between two looks at the chain.
    chain_every: Duration = Duration::from_secs(2);
    /// How long a node may take for an answer.
    chain_patience: Duration = Duration::from_secs(5);
    /// A chain without a new block for so long counts as failing.
    chain_stalled_after: Duration = Duration::from_secs(600);
    /// Settings of a signer in this process, of a host that is of no cluster; unset, and no socket either: no withdrawals.
    signer_settings: Option<PathBuf> = None;
    /// Socket of a signer that is a process of its own.
    signer_socket: Option<PathBuf> = None;
    /// Whose signatures that signer gives.
    signer_address: Option<Wallet> = None;
    /// Key of the signer where its settings name no file, 64 hex digits.
    signer_key: Option<Secret> = None;
    /// Node through which the page at `/` sends transactions of a pasted test key, which it then may reach; test deployments only.
    page_node: Option<Url> = None;
    /// Contract of referral records; unset: CHAIN_ERROR.
    referral_address: Option<Wallet> = None;
    /// How often an account's fee terms are read from it.
    referral_every: Duration = Duration::from_secs(3_600);
    /// How often a proof of reserves is made; while something is missing or nothing is owed yet, at least every minute.
    proof_every: Duration = Duration::from_secs(3_600);
    /// The operator whose status the referral routes show.
    operator_address: Option<Wallet> = None;

    /// What is logged, as `level` or `target=level,...`.
    log: String = "info".to_owned();
    /// How logs are written: `text` or `json`.
    log_format: LogFormat = LogFormat::Text;
}

impl Config {
    /// Defaults, then the file if there is one, then the environment (names and values as `std::env::vars` gives them).
    pub fn load(
        file: Option<&Path>,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Config, ConfigError> {
        let text = match file {
            Some(path) => Some(
                std::fs::read_to_string(path)
                    .map_err(|cause| ConfigError::File { path: path.to_owned(), cause })?,
            ),
            None => None,
        };
        Config::from_texts(file.zip(text.as_deref()), environment)
    }

    fn from_texts(
        file: Option<(&Path, &str)>,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Config, ConfigError> {
        let mut config = Config::default();
        if let Some((path, text)) = file {
            config.take_file(text, path)?;
        }
        // In order of name, so that the first error does not depend on the process's environment block.
        for (name, text) in environment.collect::<BTreeMap<_, _>>() {
            let Some(key) = name.strip_prefix(ENVIRONMENT_PREFIX) else { continue };
            if NOT_SETTINGS.contains(&name.as_str()) {
                continue;
            }
            let key = key.to_ascii_lowercase();
            config.take(&key, &text, &format!("environment variable {name}"))?;
        }
        config.check()?;
        Ok(config)
    }

    fn take_file(&mut self, text: &str, path: &Path) -> Result<(), ConfigError> {
        let table: toml::Table = text
            .parse()
            .map_err(|cause| ConfigError::Syntax { path: path.to_owned(), cause: Box::new(cause) })?;
        let origin = path.display().to_string();
        for (key, value) in &table {
            if key == "feed" {
                self.feeds = feed::parse(value)
                    .map_err(|reason| ConfigError::Feed { origin: origin.clone(), reason })?;
                continue;
            }
            let text =
                value::text_of(value).ok_or_else(|| match SETTINGS.iter().find(|row| row.key == key) {
                    Some(row) => ConfigError::Value {
                        origin: origin.clone(),
                        key: row.key,
                        reason: "must be a plain value or a list of plain values".to_owned(),
                    },
                    None => unknown(&origin, key),
                })?;
            self.take(key, &text, &origin)?;
        }
        Ok(())
    }

    fn take(&mut self, key: &str, text: &str, origin: &str) -> Result<(), ConfigError> {
        self.set(key, text, origin).map_err(|error| error.unwrap_or_else(|| unknown(origin, key)))
    }

    /// What no single value can show to be wrong.
    fn check(&self) -> Result<(), ConfigError> {
        let conflict = |text: String| Err(ConfigError::Conflict(text));
        for (key, slots) in [
            ("input_ring_slots", self.input_ring_slots),
            ("journal_ring_slots", self.journal_ring_slots),
            ("output_ring_slots", self.output_ring_slots),
        ] {
            if !slots.is_power_of_two() || slots < 64 {
                return conflict(format!("`{key}` must be a power of two, at least 64"));
            }
        }
        if self.workers > WORKERS_MAX {
            return conflict(format!("`workers` must be at most {WORKERS_MAX}"));
        }
        if self.input_ring_reserve_percent > 90 {
            return conflict("`input_ring_reserve_percent` must be at most 90".to_owned());
        }
        let is_url = |url: &String| {
            let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
            host.is_some_and(|host| !host.is_empty() && url.bytes().all(|byte| byte.is_ascii_graphic()))
        };
        if !self.public_url.iter().all(is_url) {
            return conflict("`public_url` must begin with https:// or http://".to_owned());
        }
        if !(8_192..=61_440).contains(&self.header_len_max.bytes()) {
            return conflict("`header_len_max` must be from 8KiB to 60KiB".to_owned());
        }
        if self.jwt_secret.as_ref().is_some_and(|secret| secret.text().len() < 32) {
            return conflict("`jwt_secret` must have at least 32 characters".to_owned());
        }
        if self.admin_key.as_ref().is_some_and(|secret| secret.text().len() < 16) {
            return conflict("`admin_key` must have at least 16 characters".to_owned());
        }
        let hex = |secret: &Secret| {
            secret.text().len() == 64 && secret.text().bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        if self.key_encryption_key.as_ref().is_some_and(|secret| !hex(secret)) {
            return conflict("`key_encryption_key` must be 64 hex digits".to_owned());
        }
        if self.chain_agreement == 0
            || (!self.chain_nodes.is_empty() && self.chain_agreement > self.chain_nodes.len())
        {
            return conflict("`chain_agreement` must be from 1 to the number of `chain_nodes`".to_owned());
        }
        if (1..self.chain_nodes.len()).any(|at| self.chain_nodes[..at].contains(&self.chain_nodes[at])) {
            return conflict("`chain_nodes` must not name a node twice: it would be two voices".to_owned());
        }
        if (self.mirror_listen.is_some() || self.mirror_of.is_some()) && self.mirror_keys.is_empty() {
            return conflict(
                "`mirror_keys` must name the other side where there are a leader and a mirror: `ringside mirror-key` shows its key there"
                    .to_owned(),
            );
        }
        if self.acknowledge_mirror && self.mirror_listen.is_none() {
            return conflict(
                "`acknowledge_mirror` needs `mirror_listen`: no mirror could connect".to_owned(),
            );
        }
        if self.acknowledge_mirror && self.acknowledge == Acknowledge::Written {
            return conflict(
                "`acknowledge_mirror` goes with `acknowledge = durable`: a mirror gets what is synced"
                    .to_owned(),
            );
        }
        if !self.mirror_of.iter().all(|leader| is_host_and_port(leader)) {
            return conflict("`mirror_of` must be a host and a port, such as 10.0.0.1:7070".to_owned());
        }
        self.check_cluster().or_else(conflict)?;
        if self.test_accounts > TEST_WALLETS.len() {
            return conflict(format!("`test_accounts` must be at most {}", TEST_WALLETS.len()));
        }
        if self.page_node.is_some() && !self.test_deployment {
            return conflict(
                "`page_node` is for test deployments: nobody should paste a key that guards anything"
                    .to_owned(),
            );
        }
        if self.signer_settings.is_some() && self.signer_socket.is_some() {
            return conflict("`signer_settings` and `signer_socket` exclude each other".to_owned());
        }
        if self.signer_socket.is_some() != self.signer_address.is_some() {
            return conflict("`signer_socket` and `signer_address` go together".to_owned());
        }
        if !(1..=24).contains(&self.vault_name.len()) || self.vault_name.contains('\0') {
            return conflict("`vault_name` must have 1 to 24 characters".to_owned());
        }
        if !(60..=WITHDRAWAL_LIFETIME_MAX_S).contains(&self.withdrawal_lifetime.as_secs()) {
            return conflict(
                "`withdrawal_lifetime` must be from 1min to 24h: no signer signs for longer".to_owned(),
            );
        }
        let has_signer = self.signer_settings.is_some() || self.signer_socket.is_some();
        if self.vault_address.is_some() && has_signer && self.chain_nodes.is_empty() {
            return conflict(
                "`chain_nodes` must name nodes where there are a vault and a signer: nothing would be confirmed, nor expire"
                    .to_owned(),
            );
        }
        if self.signer_patience > Duration::from_secs(8) {
            return conflict("`signer_patience` must be at most 8s".to_owned());
        }
        if self.vault_address.is_some() && self.df_address.is_some() && self.df_address == self.usdt_address {
            return conflict("`df_address` and `usdt_address` must differ".to_owned());
        }
        if self.usdt_decimals > DECIMALS_MAX {
            return conflict("`usdt_decimals` must be at most 18".to_owned());
        }
        if self.snapshots_kept == 0 || self.snapshot_commands == 0 {
            return conflict("`snapshots_kept` and `snapshot_commands` must not be 0".to_owned());
        }
        Ok(())
    }

    /// Whether it is of a cluster in all respects, or in none; gives what is wrong.
    fn check_cluster(&self) -> Result<(), String> {
        let (listens, has_members) = (self.cluster_listen.is_some(), !self.cluster_members.is_empty());
        let Some(me) = self.cluster_member else {
            return match listens || has_members {
                true => Err("`cluster_listen` and `cluster_members` need `cluster_member`: which of them is this host?".to_owned()),
                false => Ok(()),
            };
        };
        if !listens || !has_members {
            return Err(
                "`cluster_member` needs `cluster_listen` and `cluster_members`: where it listens, and who the members are"
                    .to_owned(),
            );
        }
        if self.mirror_listen.is_some() || self.mirror_of.is_some() {
            return Err(
                "a member of a cluster has no mirror and is none: unset `mirror_listen` and `mirror_of`, or `cluster_member`, \
                 `cluster_listen` and `cluster_members`"
                    .to_owned(),
            );
        }
        if self.signer_settings.is_some() {
            return Err(
                "`signer_settings` is for one host: of three each would have a log that knows nothing of the others'; set \
                 `signer_socket`"
                    .to_owned(),
            );
        }
        members::find(me, &self.cluster_members).map(drop)
    }

    /// Whether a login of version 1 is taken.
    pub fn takes_login_version_1(&self) -> bool {
        self.login_version_1.unwrap_or(self.test_deployment)
    }

    /// What it says of its chain.
    pub fn chain(&self) -> ringside_chain::Settings {
        let address = |wallet: Option<Wallet>| wallet.map(|wallet| wallet.0);
        ringside_chain::Settings {
            chain_id: self.chain_id,
            nodes: self.chain_nodes.clone(),
            agreement: self.chain_agreement,
            confirmations: self.chain_confirmations,
            wants_finalized: self.chain_finalized,
            every: self.chain_every,
            patience: self.chain_patience,
            stalled_after: self.chain_stalled_after,
            vault: address(self.vault_address),
            vault_name: self.vault_name.clone(),
            vault_block: self.vault_block,
            df: address(self.df_address),
            usdt: address(self.usdt_address),
            usdt_decimals: self.usdt_decimals,
            signer_settings: self.signer_settings.clone(),
            signer_socket: self.signer_socket.clone(),
            signer_address: address(self.signer_address),
            signer_key: self.signer_key.clone(),
            signer_patience: self.signer_patience,
            referral: address(self.referral_address),
            referral_every: self.referral_every,
        }
    }

    /// What it says of who may ask.
    pub fn auth(&self) -> ringside_auth::Settings {
        let text =
            |secret: &Option<Secret>| secret.as_ref().map(|secret| Zeroizing::new(secret.text().to_owned()));
        ringside_auth::Settings {
            data_dir: self.data_dir.clone(),
            admin_key: text(&self.admin_key),
            jwt_secret: text(&self.jwt_secret),
            key_encryption_key: text(&self.key_encryption_key),
            uri: self.public_url.clone().unwrap_or_else(|| format!("http://{}", self.listen)),
            chain_id: self.chain_id,
            takes_login_version_1: self.takes_login_version_1(),
            compat_header: self.compat_header,
            refuse_replays: self.refuse_replays,
            takes_test_wallets: self.test_deployment,
        }
    }

    /// Gateway threads that will run: `workers`, or what 0 stands for on this machine.
    pub fn worker_count(&self) -> usize {
        match self.workers {
            0 => std::thread::available_parallelism()
                .map_or(1, |cores| (cores.get() / 2).clamp(1, WORKERS_MAX)),
            workers => workers,
        }
    }

    /// The same with what each setting is for, in the words of the table.
    pub fn explained(&self) -> String {
        let mut text = String::new();
        for (line, row) in self.summary().lines().zip(SETTINGS) {
            let _ = writeln!(text, "{line}");
            for said in row.doc.lines() {
                let _ = writeln!(text, "      {}", said.trim());
            }
        }
        for feed in &self.feeds {
            let _ = writeln!(text, "* feed  {feed}");
        }
        text
    }

    /// Keys of what differs from the default.
    pub fn changed(&self) -> Vec<&'static str> {
        let defaults = Config::default().shown();
        let shown = self.shown().into_iter().zip(defaults);
        let mut keys: Vec<_> =
            shown.filter(|((_, shown), (_, default))| shown != default).map(|((key, _), _)| key).collect();
        keys.extend((!self.feeds.is_empty()).then_some("feed"));
        keys
    }

    /// One line per setting, `*` before those that differ from the default. Holds no secret.
    pub fn summary(&self) -> String {
        let width = SETTINGS.iter().map(|row| row.key.len()).max().unwrap_or(0);
        let defaults = Config::default().shown();
        let mut text = String::new();
        for ((key, shown), (_, default)) in self.shown().into_iter().zip(defaults) {
            let mark = if shown == default { ' ' } else { '*' };
            // Writing into a string cannot fail.
            let _ = writeln!(text, "{mark} {key:width$}  {shown}");
        }
        for feed in &self.feeds {
            let _ = writeln!(text, "* {:width$}  {feed}", "feed");
        }
        text
    }
}

fn unknown(origin: &str, key: &str) -> ConfigError {
    let near = SETTINGS
        .iter()
        .map(|row| (strsim::levenshtein(key, row.key), row.key))
        .min()
        .filter(|(distance, near)| *distance <= near.len() / 3);
    let hint = near.map_or_else(String::new, |(_, near)| format!("; did you mean `{near}`?"));
    ConfigError::UnknownKey { origin: origin.to_owned(), key: key.to_owned(), hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(file: &str, environment: &[(&str, &str)]) -> Result<Config, String> {
        let environment = environment.iter().map(|&(name, text)| (name.to_owned(), text.to_owned()));
        Config::from_texts(Some((Path::new("ringside.toml"), file)), environment)
            .map_err(|error| error.to_string())
    }

    fn check(file: &str, environment: &[(&str, &str)], message: &str) {
        assert_eq!(load(file, environment).expect_err(file), message);
    }

    #[test]
    fn defaults_are_accepted_and_safe() {
        let config = load("", &[]).unwrap();
        assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
        assert!(config.test_deployment && config.worker_count() >= 1);
        assert_eq!(config.acknowledge, Acknowledge::Durable);
        assert!(!config.summary().contains('*'), "{}", config.summary());
    }

    #[test]
    fn the_environment_wins_over_the_file() {
        let file = "weight_per_minute = 10\nidle_timeout = \"250ms\"\nsegment_len = \"1GiB\"\n\
                    pin_workers = [2, 3]\ntest_deployment = false\ntrusted_proxies = [\"10.0.0.0/8\"]";
        let config = load(file, &[("RINGSIDE_WEIGHT_PER_MINUTE", "11"), ("HOME", "/root")]).unwrap();
        assert_eq!(config.weight_per_minute, 11);
        assert_eq!(config.idle_timeout, Duration::from_millis(250));
        assert_eq!(config.segment_len.bytes(), 1 << 30);
        assert_eq!(config.pin_workers.0, [2, 3]);
        assert!(!config.test_deployment);
        assert_eq!(
            config.changed(),
            [
                "test_deployment",
                "pin_workers",
                "segment_len",
                "idle_timeout",
                "trusted_proxies",
                "weight_per_minute"
            ]
        );
        assert!(config.trusted_proxies[0].contains("10.200.0.1".parse().unwrap()));
        assert!(config.summary().contains("* weight_per_minute"), "{}", config.summary());
    }

    #[test]
    fn faults_are_named() {
        check(
            "weigth_per_minute = 1",
            &[],
            "ringside.toml: unknown setting `weigth_per_minute`; did you mean `weight_per_minute`?",
        );
        check("colour = 1", &[], "ringside.toml: unknown setting `colour`");
        check("[http]\nlisten = 1", &[], "ringside.toml: unknown setting `http`");
        check(
            "",
            &[("RINGSIDE_LISTN", "x")],
            "environment variable RINGSIDE_LISTN: unknown setting `listn`; did you mean `listen`?",
        );
        check(
            "idle_timeout = 5",
            &[],
            "ringside.toml: setting `idle_timeout` must be a duration with a unit (ms, s, min, h), such as 250ms or 5s",
        );
        check(
            "body_len_max = \"64KB\"",
            &[],
            "ringside.toml: setting `body_len_max` must be a size with a unit (B, KiB, MiB, GiB), such as 64KiB",
        );
        check("workers = -1", &[], "ringside.toml: setting `workers` must be a whole number, not negative");
        check(
            "workers = { a = 1 }",
            &[],
            "ringside.toml: setting `workers` must be a plain value or a list of plain values",
        );
        check(
            "acknowledge = \"maybe\"",
            &[],
            "ringside.toml: setting `acknowledge` must be one of durable, written",
        );
        check(
            "input_ring_slots = 1000",
            &[],
            "configuration: `input_ring_slots` must be a power of two, at least 64",
        );
        check(
            "vault_address = \"0x1111111111111111111111111111111111111111\"\nsigner_settings = \"signer.toml\"",
            &[],
            "configuration: `chain_nodes` must name nodes where there are a vault and a signer: nothing would be confirmed, nor expire",
        );
        check(
            "withdrawal_lifetime = \"25h\"",
            &[],
            "configuration: `withdrawal_lifetime` must be from 1min to 24h: no signer signs for longer",
        );
        check(
            "page_node = \"http://127.0.0.1:8545\"\ntest_deployment = false",
            &[],
            "configuration: `page_node` is for test deployments: nobody should paste a key that guards anything",
        );
        for wrong in ["exchange.example", "https://", "ftp://exchange.example", "https://a b"] {
            let message = "configuration: `public_url` must begin with https:// or http://";
            check(&format!("public_url = \"{wrong}\""), &[], message);
        }
        let key = "00".repeat(32);
        check(
            "mirror_listen = \"127.0.0.1:7070\"",
            &[],
            "configuration: `mirror_keys` must name the other side where there are a leader and a mirror: `ringside mirror-key` shows \
             its key there",
        );
        check(
            "mirror_keys = [\"00\"]",
            &[],
            "ringside.toml: setting `mirror_keys` must be keys of 64 hex digits, as `ringside mirror-key` shows them",
        );
        check(
            "acknowledge_mirror = true",
            &[],
            "configuration: `acknowledge_mirror` needs `mirror_listen`: no mirror could connect",
        );
        check(
            &format!(
                "acknowledge_mirror = true\nacknowledge = \"written\"\nmirror_listen = \"127.0.0.1:7070\"\nmirror_keys = \"{key}\""
            ),
            &[],
            "configuration: `acknowledge_mirror` goes with `acknowledge = durable`: a mirror gets what is synced",
        );
        for wrong in ["10.0.0.1", ":7070", "host:port"] {
            let message = "configuration: `mirror_of` must be a host and a port, such as 10.0.0.1:7070";
            check(&format!("mirror_of = \"{wrong}\"\nmirror_keys = \"{key}\""), &[], message);
        }
        check("test_accounts = 11", &[], "configuration: `test_accounts` must be at most 10");
        check("workers = 255", &[], "configuration: `workers` must be at most 254");
        check("jwt_secret = \"short\"", &[], "configuration: `jwt_secret` must have at least 32 characters");
    }

    #[test]
    fn a_host_is_of_a_cluster_in_all_respects_or_in_none() {
        let keys = ["11", "22", "33"].map(|byte| byte.repeat(32));
        let [one, two, three] = [1, 2, 3].map(|id| format!("{id}@host-{id}.example:7071={}", keys[id - 1]));
        let members = format!("cluster_members = [\"{one}\", \"{two}\", \"{three}\"]\n");
        let listen = "cluster_listen = \"10.0.0.2:7071\"\n";
        let whole = format!("cluster_member = 2\n{listen}{members}");
        let config = load(&whole, &[]).unwrap();
        assert_eq!(config.changed(), ["cluster_member", "cluster_listen", "cluster_members"]);
        assert_eq!((config.cluster_member, config.cluster_members[1].id), (Some(2), 2));
        assert_eq!(config.cluster_members[2].address, "host-3.example:7071");
        let shown = config.cluster_members.show();
        assert_eq!(shown, [&*one, &*two, &*three].join(","));
        assert_eq!(
            load(&whole, &[("RINGSIDE_CLUSTER_MEMBERS", &shown)]).unwrap().cluster_members.show(),
            shown
        );

        let which = "configuration: `cluster_listen` and `cluster_members` need `cluster_member`: which of them is this host?";
        check(listen, &[], which);
        check(&members, &[], which);
        let rest = "configuration: `cluster_member` needs `cluster_listen` and `cluster_members`: where it listens, and who the \
                    members are";
        check(&format!("cluster_member = 2\n{listen}"), &[], rest);
        check(&format!("cluster_member = 2\n{members}"), &[], rest);
        for mirror in ["mirror_of = \"10.0.0.1:7070\"", "mirror_listen = \"10.0.0.1:7070\""] {
            check(
                &format!("{whole}{mirror}\nmirror_keys = \"{}\"", keys[0]),
                &[],
                "configuration: a member of a cluster has no mirror and is none: unset `mirror_listen` and `mirror_of`, or \
                 `cluster_member`, `cluster_listen` and `cluster_members`",
            );
        }
        check(
            &format!("{whole}signer_settings = \"signer.toml\""),
            &[],
            "configuration: `signer_settings` is for one host: of three each would have a log that knows nothing of the others'; \
             set `signer_socket`",
        );
        check(
            &whole,
            &[("RINGSIDE_CLUSTER_MEMBER", "4")],
            "configuration: `cluster_members` does not name this member, 4",
        );
        check(&whole.replace("3@", "1@"), &[], "configuration: `cluster_members` names two members 1");
        check(
            &whole.replace(&keys[2], &keys[0]),
            &[],
            "configuration: `cluster_members` names one key for members 1 and 3: each host makes its own, `mirror.key` must not be \
             copied",
        );
        for (wrong, wanted) in [
            ("10.0.0.1:7071", "members as NUMBER@HOST:PORT=KEY, such as 1@10.0.0.1:7071=KEY"),
            ("1@10.0.0.1:7071", "members as NUMBER@HOST:PORT=KEY, such as 1@10.0.0.1:7071=KEY"),
            ("0@10.0.0.1:7071=00", "members whose numbers, before the @, are whole and from 1 on"),
            ("one@10.0.0.1:7071=00", "members whose numbers, before the @, are whole and from 1 on"),
            ("1@10.0.0.1=00", "members at a host and a port each, such as 10.0.0.1:7071"),
            ("1@:7071=00", "members at a host and a port each, such as 10.0.0.1:7071"),
            (
                "1@10.0.0.1:7071=00",
                "members with a key each, behind the =, of 64 hex digits, as `ringside mirror-key` shows it there",
            ),
        ] {
            let message = format!("ringside.toml: setting `cluster_members` must be {wanted}");
            check(&format!("cluster_members = [\"{wrong}\"]"), &[], &message);
        }
    }

    #[test]
    fn no_text_shows_a_secret() {
        let canary = "canary-0123456789-canary-0123456789-canary";
        let config = load("", &[("RINGSIDE_ADMIN_KEY", canary), ("RINGSIDE_JWT_SECRET", canary)]).unwrap();
        assert!(!format!("{config:?}{}", config.summary()).contains("canary"));
        let refused = load("", &[("RINGSIDE_KEY_ENCRYPTION_KEY", canary)]).unwrap_err();
        assert!(!refused.contains("canary"), "{refused}");
        assert!(config.summary().contains("* admin_key"), "{}", config.summary());
    }

    #[test]
    fn every_shown_value_is_read_back() {
        let mut config = Config::default();
        for (key, shown) in Config::default().shown() {
            if !shown.is_empty() {
                config.take(key, &shown, "test").unwrap();
            }
        }
        assert_eq!(config.shown(), Config::default().shown());
        assert_eq!(SETTINGS.len(), config.shown().len());
    }
}
