//! The command line of `ringside`: without a subcommand it starts the exchange. Its help and its manual page come from the
//! one description here.

mod admin;
mod archive;
mod backup;
pub mod client;
mod cluster;
mod demo;
mod inspect;
mod latency;
pub mod login;
mod manual;
mod mirror;
mod replay;
mod signer;
mod target;
mod top;

use crate::boot::{self, ViewFold};
use anyhow::Context;
use clap::{CommandFactory, Parser, Subcommand};
use ringside_auth::operators::Operators;
use ringside_auth::rotate::{Rotated, Rotation};
use ringside_commands::clock::Clock;
use ringside_config::{Config, LogFormat};
use ringside_core::Engine;
use ringside_persist::read::verify::verify;
use ringside_persist::recover::backup::Until;
use ringside_persist::recover::skip::{Decision, skip_machine};
use ringside_persist::storage::disk::Disk;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use target::Target;
use tracing_subscriber::EnvFilter;

/// The version, with the commit that it was built of.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("BUILT_COMMIT"), ")");

/// An exchange: spot and perpetual futures on a deterministic in-memory core, with a durable journal.
#[derive(Parser, Debug)]
#[command(name = "ringside", version = VERSION)]
struct Arguments {
    /// Settings as TOML; the environment (RINGSIDE_<KEY>) wins over it.
    #[arg(long, global = true, env = "RINGSIDE_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Starts the exchange (the default).
    Start,
    /// Shows every setting with its value and where it differs from the default.
    Settings {
        /// What each is for as well.
        #[arg(long)]
        explain: bool,
    },
    /// Checks journal and snapshots without starting anything or writing a byte. Exit code 0: sound; 1: damaged; 2: there is no
    /// journal, or it cannot be read.
    Verify {
        /// A data folder, or the folder of a journal.
        directory: PathBuf,
        /// One line of JSON instead of sentences.
        #[arg(long)]
        json: bool,
    },
    /// Records that the one command that stops the engine is to be passed over. Two operators decide, each by the key that
    /// `ringside operator` made for them; their names are those of the keys.
    Skip {
        /// Its sequence, as recovery named it.
        #[arg(long)]
        sequence: u64,
        /// A file that holds an operator's key, such as /dev/stdin; give it twice, for two operators.
        #[arg(long = "operator-key", required = true, value_name = "FILE")]
        keys: Vec<PathBuf>,
        /// Why, at most 64 bytes.
        #[arg(long)]
        reason: String,
    },
    /// Shows commands of the journal, what each did, and the state after them. Reads the folder of a running exchange as well.
    Inspect {
        /// A data folder, or the folder of a journal.
        directory: PathBuf,
        /// The first command; unset: the last ones.
        #[arg(long)]
        sequence: Option<u64>,
        /// How many commands.
        #[arg(long, default_value_t = 1)]
        count: u64,
        /// The state after them too: books, markets, its hash.
        #[arg(long)]
        state: bool,
        /// The state too, with all that this account has: its address, or its number.
        #[arg(long, value_name = "ADDRESS")]
        account: Option<inspect::Asked>,
        /// One line of JSON instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Runs the journal again with other fees, bands or liquidation fees and reports what would have differed.
    Replay {
        /// A data folder, or the folder of a journal.
        directory: PathBuf,
        /// What is other; may be given again: `DFUSDT.taker_fee=5` (basis points), `vip.0.maker_fee=0.0001`,
        /// `BTCUSDT.band_up=1.02`, `BTCUSDT.liquidation_fee=0.01`.
        #[arg(long = "set", required = true, value_name = "PLACE.NAME=VALUE")]
        changes: Vec<replay::Change>,
        /// From this command on; unset: from the first that the journal still has.
        #[arg(long)]
        from: Option<u64>,
        /// Through this command; unset: to the end.
        #[arg(long)]
        through: Option<u64>,
        /// One line of JSON instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Copies everything durable into a new folder, whether or not the exchange runs. Interrupted, it leaves nothing of that
    /// name.
    Backup {
        /// The data folder.
        directory: PathBuf,
        /// The folder to make.
        to: PathBuf,
        /// The deployment's secrets too, in the clear. Without, they must be kept elsewhere.
        #[arg(long)]
        with_secrets: bool,
    },
    /// Makes a data folder of a copy, or of several of one deployment, as of their end or of an earlier moment.
    Restore {
        /// Copies that `backup` made, older ones first: the archive of an old one and the segments of later ones reach every
        /// command in between.
        #[arg(required = true)]
        copies: Vec<PathBuf>,
        /// The folder to make.
        #[arg(long)]
        to: PathBuf,
        /// Through this command.
        #[arg(long, conflicts_with = "time")]
        sequence: Option<u64>,
        /// Through the last command not after this time, UNIX milliseconds.
        #[arg(long)]
        time: Option<i64>,
        /// Take API keys, logins and operators' keys as they were when the newest copy was made: what was revoked since is good again.
        /// Without, keys are disabled until their owners enable them, logins are over and operators need new keys.
        #[arg(long)]
        enable_keys: bool,
        /// Take them from this folder `auth`, which is newer, and from the journal beside it: those of the data folder that is given up.
        #[arg(long, value_name = "FOLDER", conflicts_with = "enable_keys")]
        auth: Option<PathBuf>,
    },
    /// Shows the key by which the other side knows this one, leader or mirror; in a new data folder it is made.
    MirrorKey,
    /// Hosts that agree: one leads, and another goes on when it dies.
    Cluster {
        #[command(subcommand)]
        action: ClusterAction,
    },
    /// Makes a leader of a stopped mirror whose leader is gone for good: says which command is its last and what may be missing, and
    /// raises the epoch. Refused while the leader of the settings answers.
    Promote {
        /// The mirror's data folder.
        directory: PathBuf,
    },
    /// What everybody may know of a day, or what accounts have of their own, as files, and the removal of what such files hold.
    Archive {
        #[command(subcommand)]
        action: ArchiveAction,
    },
    /// Seals all API keys under another key-encryption key, while the exchange is stopped. Where the key lies in the data folder
    /// a new one is made; where the configuration gives it, the new one comes from the environment. Interrupted, run it again.
    RotateKey {
        /// The new key, 64 hex digits; from the environment only.
        #[arg(long, env = "RINGSIDE_NEW_KEY_ENCRYPTION_KEY", hide = true, hide_env_values = true)]
        new_key: Option<String>,
        /// Leaves out what opens under neither key: where the old one is lost.
        #[arg(long)]
        give_up: bool,
    },
    /// Makes a key for an operator, shows it once, and lets the routes of the administrator know it by this name at once, also while
    /// the exchange runs: the audit log then says who acted. What is kept in the data folder is only what the key hashes to.
    Operator {
        /// Who: at most 16 letters, digits, points, hyphens or underscores; unset: names those who have a key.
        name: Option<String>,
        /// Takes the key away instead: it opens nothing from then on.
        #[arg(long, requires = "name")]
        remove: bool,
    },
    /// Asks the routes of operators of a running exchange and prints the answer, one line of JSON; what is refused goes to standard
    /// error. A noun, a verb and the arguments of the path, then `name=value` for members of the body or the body itself:
    /// JSON, @FILE, or - for standard input. `ringside admin help NOUN VERB` says what each takes. Where an answer has an
    /// `approval_id`, a second operator has it carried out by `ringside admin approvals agree ID`. What has no word is asked
    /// for by method and path, `ringside admin GET /admin/audit?limit=5`.
    #[command(after_help = format!("Words:\n{}", admin::words::list()))]
    Admin {
        /// Such as `tokens list`, `perpetual state BTCUSDT state=TRADING`, or a method, a path and a body.
        #[arg(required = true)]
        words: Vec<String>,
        #[command(flatten)]
        target: Target,
    },
    /// Shows how long requests and stages of a running exchange took since it started, or since the counts began anew: `order` is from
    /// a request's head to its acknowledgement, `ring`, `matcher`, `journal` and `egress` one after the other in `engine`.
    Latency {
        #[command(flatten)]
        target: Target,
        /// A folder for a file of each stage, `order.hgrm` and so on, as plotters of HdrHistogram read them.
        #[arg(long, value_name = "FOLDER")]
        to: Option<PathBuf>,
        /// Has the exchange count anew afterwards. Figures of /metrics go on.
        #[arg(long)]
        reset: bool,
        /// One line of JSON instead of text, microseconds.
        #[arg(long)]
        json: bool,
    },
    /// Shows what a running exchange does now, refreshed in place: rates, latencies of each stage, rings, what lags behind, limits,
    /// connections, disk, fund, indices.
    Top {
        #[command(flatten)]
        target: Target,
        /// Seconds between two looks.
        #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
        every: u64,
        /// So many looks; unset: until it is stopped.
        #[arg(long)]
        count: Option<u64>,
        /// One line of JSON for each look.
        #[arg(long)]
        json: bool,
    },
    /// Prints the manual page: `ringside manual | man -l -`.
    Manual,
    /// Signs releases for an exchange that is another process: over a Unix socket, from a log and caps of its own.
    Signer {
        /// Its settings, see `gateway/chain/src/signer/settings.rs`.
        #[arg(long)]
        settings: PathBuf,
        /// The venue was restored from a copy, whose terms are before those of leaders that were heard: hear whoever leads now.
        #[arg(long)]
        restored: bool,
    },
    /// Starts a test deployment in which a market maker and takers trade; in a new data folder they have done so for hours.
    Demo,
    /// Prints a login token for a wallet.
    Login {
        /// Where the exchange runs.
        #[arg(long, default_value = "http://127.0.0.1:8080")]
        url: String,
        /// The wallet's key, 64 hex digits; better given in the environment.
        #[arg(long, env = "WALLET_KEY", hide_env_values = true)]
        key: String,
    },
}

#[derive(Subcommand, Debug)]
enum ClusterAction {
    /// Makes the data folder that of the member that the settings name, of a new cluster or of the one given. Once for each host.
    Init {
        /// Id of the cluster, as the first host showed it: 32 hex digits.
        #[arg(long, value_name = "ID")]
        cluster: Option<String>,
        /// For one who comes to a cluster that runs, under a number that was nobody's: its folder is empty, and it is no member before it
        /// is added where the leader runs.
        #[arg(long, requires = "cluster")]
        join: bool,
    },
    /// Shows the members: who leads, who answers, how far each is. What each has the member that leads knows.
    Status {
        #[command(flatten)]
        target: Target,
        /// One line of JSON instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Has the leader take one more member in, and waits until it votes: that is once it is less than a second behind.
    Add {
        /// Number, host and port, and key: `4@10.0.0.4:7071=KEY`, with what `ringside mirror-key` shows there.
        #[arg(value_name = "ID@HOST:PORT=KEY")]
        member: String,
        #[command(flatten)]
        asked: cluster::Asked,
    },
    /// Has the leader take a member out. Its number is not given again.
    Remove {
        /// Its number.
        member: u64,
        #[command(flatten)]
        asked: cluster::Asked,
    },
    /// Adds one and takes another out once the new one votes: for a disk or a host that is lost.
    Replace {
        /// Number of the one that goes.
        old: u64,
        /// Who comes: `4@10.0.0.4:7071=KEY`.
        #[arg(value_name = "ID@HOST:PORT=KEY")]
        new: String,
        #[command(flatten)]
        asked: cluster::Asked,
    },
    /// Has another member lead.
    Transfer {
        /// Its number.
        member: u64,
        #[command(flatten)]
        asked: cluster::Asked,
    },
}

#[derive(Subcommand, Debug)]
enum ArchiveAction {
    /// Writes trades, joined trades, candles of a minute and funding rates of a day as CSV in ZIP files with SHA-256 checksums, by market,
    /// in the folders and columns of Binance's public data; with --account what is an account's own instead. Reads the folder of a running
    /// exchange as well.
    Export {
        /// The data folder; unset: that of the settings.
        directory: Option<PathBuf>,
        /// The day, UTC, such as 2026-11-26. It must be over. With --account it may be left out, for all days that are.
        #[arg(long, required_unless_present = "account")]
        day: Option<archive::day::Day>,
        /// Orders, fills, income, balances and transfers of this account instead, in a folder of its address: an address, a number, or
        /// `all`.
        #[arg(long, value_name = "ADDRESS")]
        account: Option<archive::Accounts>,
        /// The folder to write to.
        #[arg(long, value_name = "FOLDER")]
        to: PathBuf,
    },
    /// Removes public trades of all days before one from the archive. Refuses where a file of such a day is missing or is not what an
    /// export would write. Candles and funding rates stay, and what belongs to accounts does without --own. Stopped, the file shrinks as
    /// well.
    Prune {
        /// The data folder; unset: that of the settings.
        directory: Option<PathBuf>,
        /// The first day that stays, UTC, such as 2026-11-26.
        #[arg(long)]
        before: archive::day::Day,
        /// The folder that those days were exported to.
        #[arg(long, value_name = "FOLDER")]
        exported: PathBuf,
        /// Accounts' own rows instead, all of which `export --account all` wrote. Those of 92 days stay, and of whoever has an order open
        /// all orders and fills of its market since the day it was placed.
        #[arg(long)]
        own: bool,
    },
}

impl Action {
    /// Whether settings that are wrong stop it: those of the environment may be meant for another one.
    fn reads_settings(&self) -> bool {
        match self {
            Action::Verify { .. } | Action::Backup { .. } | Action::Manual | Action::Login { .. } => false,
            Action::Admin { target, .. } | Action::Latency { target, .. } | Action::Top { target, .. } => {
                target.operator_key.is_none()
            }
            _ => true,
        }
    }
}

/// Runs the process.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // Others' variables may be anything; one of ours that is no text is no value either.
    let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    let variables = std::env::vars_os().map(|(key, value)| (text(key), text(value)));
    let action = arguments.action.unwrap_or(Action::Start);
    let config = match Config::load(arguments.config.as_deref(), variables) {
        Ok(config) => config,
        Err(_) if !action.reads_settings() => Config::default(),
        Err(error) => return fail(&error, 2),
    };
    match action {
        Action::Start => start(config),
        Action::Settings { explain } => {
            show(&if explain { config.explained() } else { config.summary() });
            ExitCode::SUCCESS
        }
        Action::Verify { directory, json } => match verify(&journal_of(&directory)) {
            // A folder mistaken for another must not be called sound.
            Ok(verdict) if verdict.is_empty() => {
                fail(&format!("there is no journal in {}", directory.display()), 2)
            }
            Ok(verdict) => {
                show(&format!("{}\n", if json { verdict.to_json() } else { verdict.to_string() }));
                ExitCode::from(u8::from(!verdict.is_sound()))
            }
            Err(error) => fail(&error, 2),
        },
        Action::Skip { sequence, keys, reason } => {
            let [first, second] = match two_operators(&config, &keys) {
                Ok(names) => names,
                Err(error) => return fail(&format!("{error:#}"), 2),
            };
            let decision = Decision { sequence, operators: [&first, &second], reason: &reason };
            let persist = boot::persist_config(&config, &Clock::SYSTEM);
            let mut fold = ViewFold::new(config.history_window);
            match skip_machine::<Engine>(&persist, &boot::engine_config(&config), &decision, &mut fold) {
                Ok(record) => {
                    show(&format!(
                        "ringside: command {sequence} will be passed over; recorded as {record}\n"
                    ));
                    ExitCode::SUCCESS
                }
                Err(error) => fail(&error, 1),
            }
        }
        Action::Inspect { directory, sequence, count, state, account, json } => {
            let wanted = inspect::Wanted { sequence, count, with_state: state, account, as_json: json };
            tell(inspect::inspect(&config, &directory, &wanted))
        }
        Action::Replay { directory, changes, from, through, json } => {
            let wanted = replay::Wanted { from, through, changes, as_json: json };
            tell(replay::replay(&config, &directory, &wanted))
        }
        Action::Backup { directory, to, with_secrets } => tell(backup::backup(&directory, &to, with_secrets)),
        Action::Restore { copies, to, sequence, time, enable_keys, auth } => {
            let until = match (sequence, time) {
                (Some(sequence), _) => Until::Sequence(sequence),
                (None, Some(time_ms)) => {
                    Until::Time(time_ms.saturating_mul(1_000_000).saturating_add(999_999))
                }
                (None, None) => Until::End,
            };
            let credentials = match auth {
                Some(folder) => backup::Credentials::Of(folder),
                None if enable_keys => backup::Credentials::OfCopy,
                None => backup::Credentials::Ended,
            };
            tell(backup::restore(&config, &copies, &to, until, &credentials))
        }
        Action::Archive { action: ArchiveAction::Export { directory, day, account, to } } => {
            let data = directory.as_ref().unwrap_or(&config.data_dir);
            tell(match (account, day) {
                (Some(accounts), day) => archive::export_own(&config, data, day, accounts, &to),
                (None, Some(day)) => archive::export(&config, data, day, &to),
                (None, None) => Err(anyhow::anyhow!("--day is missing")),
            })
        }
        Action::Archive { action: ArchiveAction::Prune { directory, before, exported, own } } => {
            let data = directory.as_ref().unwrap_or(&config.data_dir);
            tell(match own {
                true => archive::prune_own(&config, data, before, &exported),
                false => archive::prune(&config, data, before, &exported),
            })
        }
        Action::MirrorKey => tell(mirror::key(&config)),
        Action::Cluster { action } => tell(match action {
            ClusterAction::Init { cluster, join } => cluster::init(&config, cluster.as_deref(), join),
            ClusterAction::Status { target, json } => cluster::status(&config, &target, json),
            ClusterAction::Add { member, asked } => cluster::add(&config, &member, &asked),
            ClusterAction::Remove { member, asked } => cluster::remove(&config, member, &asked),
            ClusterAction::Replace { old, new, asked } => cluster::replace(&config, old, &new, &asked),
            ClusterAction::Transfer { member, asked } => cluster::transfer(&config, member, &asked),
        }),
        Action::Promote { directory } => tell(mirror::promote(&config, &directory)),
        Action::RotateKey { new_key, give_up } => tell(rotate_key(&config, new_key, give_up)),
        Action::Operator { name, remove } => tell(operator(&config, name.as_deref(), remove)),
        Action::Admin { words, target } => ask(&config, &admin::Wanted { words, target }),
        Action::Latency { target, to, reset, json } => {
            tell(latency::latency(&config, &latency::Wanted { target, to, reset, as_json: json }))
        }
        Action::Top { target, every, count, json } => {
            let every = Duration::from_secs(every);
            tell(
                top::top(&config, &top::Wanted { target, every, count, as_json: json })
                    .map(|()| String::new()),
            )
        }
        Action::Manual => tell(manual::page(Arguments::command()).map_err(anyhow::Error::from)),
        Action::Signer { settings, restored } => {
            let _logs = match start_logs(&config) {
                Ok(guard) => guard,
                Err(error) => return fail(&error, 2),
            };
            keep_memory_private(&config);
            let Err(error) = signer::run(&settings, config.signer_key.as_ref(), restored);
            fail(&error, 1)
        }
        Action::Demo => {
            let _logs = match start_logs(&config) {
                Ok(guard) => guard,
                Err(error) => return fail(&error, 2),
            };
            match demo::run(config) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => fail(&error, error.exit_code()),
            }
        }
        Action::Login { url, key } => match login::login(&url, &key) {
            Ok(token) => {
                show(&format!("{token}\n"));
                ExitCode::SUCCESS
            }
            Err(error) => fail(&format!("{error:#}"), 1),
        },
    }
}

/// Asks a running exchange for something that operators may.
fn ask(config: &Config, wanted: &admin::Wanted) -> ExitCode {
    let request = match admin::read(wanted) {
        Ok(admin::Asked::Request(request)) => request,
        Ok(admin::Asked::Help(text)) => {
            show(&text);
            return ExitCode::SUCCESS;
        }
        Err(error) => return fail(&format!("{error:#}"), 2),
    };
    match admin::send(config, wanted, request) {
        Ok((status, answer)) if status.is_success() => {
            show(&format!("{answer}\n"));
            ExitCode::SUCCESS
        }
        Ok((status, answer)) => {
            let _ = writeln!(std::io::stderr(), "{answer}");
            fail(&status, 1)
        }
        Err(error) => fail(&format!("{error:#}"), 1),
    }
}

/// The folder of the journal in a data folder, or the folder itself.
fn journal_of(directory: &Path) -> PathBuf {
    let journal = directory.join("journal");
    if journal.is_dir() { journal } else { directory.to_owned() }
}

fn rotate_key(config: &Config, new_key: Option<String>, gives_up: bool) -> anyhow::Result<String> {
    let new_key = new_key.map(zeroize::Zeroizing::new);
    anyhow::ensure!(
        new_key.is_some() || config.key_encryption_key.is_none(),
        "the configuration gives the key-encryption key: give the new one as RINGSIDE_NEW_KEY_ENCRYPTION_KEY"
    );
    // Held to the end: a running exchange has its keys in memory and would write them back under the old one.
    let lock = Disk::open_existing(&config.data_dir.join("journal"))?.lock()?;
    let clock = Clock::SYSTEM;
    boot::credentials::take_along(config, &clock, &lock)?;
    let rotation = Rotation::begin(&config.auth(), new_key.as_ref().map(|key| key.as_str()))?;
    let mut rotated = Rotated::default();
    boot::credentials::change(config, &clock, &lock, |side| {
        let (wanted, done) = rotation.reseal(side, gives_up)?;
        rotated = done;
        Ok::<_, anyhow::Error>(wanted)
    })?;
    rotation.finish()?;
    let Rotated { resealed, were_new, given_up } = rotated;
    let given_up = if gives_up { format!(", {given_up} given up") } else { String::new() };
    Ok(format!(
        "ringside: {resealed} sealed anew under the new key-encryption key, {were_new} before{given_up}; what was sealed under the old \
         one stands in older segments, snapshots and copies until they are removed\n"
    ))
}

/// Names of the two operators whose keys these files hold.
fn two_operators(config: &Config, keys: &[PathBuf]) -> anyhow::Result<[String; 2]> {
    let [first, second] = keys else {
        anyhow::bail!("two operators decide: give --operator-key twice");
    };
    let operators = Operators::load(&ringside_auth::folder(&config.data_dir))?;
    let name = |file: &PathBuf| {
        let key = std::fs::read_to_string(file).map(zeroize::Zeroizing::new);
        let key = key.with_context(|| format!("--operator-key {}", file.display()))?;
        let name = operators.find_key(key.trim());
        let text = || {
            format!(
                "--operator-key {}: no operator has this key; `ringside operator` makes one",
                file.display()
            )
        };
        name.map(str::to_owned).with_context(text)
    };
    let names = [name(first)?, name(second)?];
    anyhow::ensure!(names[0] != names[1], "two operators decide: both keys are those of {}", names[0]);
    Ok(names)
}

fn operator(config: &Config, name: Option<&str>, remove: bool) -> anyhow::Result<String> {
    let folder = ringside_auth::folder(&config.data_dir);
    let mut operators = Operators::load(&folder)?;
    let Some(name) = name else {
        return Ok(operators.names().map(|name| format!("{name}\n")).collect());
    };
    if !remove {
        return Ok(format!("{}\n", *operators.add(&folder, name)?));
    }
    anyhow::ensure!(operators.remove(&folder, name)?, "{name} has no key");
    Ok(format!("ringside: {name} has no key any more\n"))
}

/// Memory holds secrets: it is neither written to a core dump nor shown to other processes of the same user.
fn keep_memory_private(config: &Config) {
    use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
    if config.core_dumps {
        return;
    }
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    let kept =
        set_dumpable_behavior(DumpableBehavior::NotDumpable).and_then(|()| setrlimit(Resource::Core, none));
    if let Err(error) = kept {
        tracing::warn!(%error, "a core dump of this process may hold secrets");
    }
}

/// Shows what a tool has to tell, or why it has nothing.
fn tell(told: anyhow::Result<String>) -> ExitCode {
    match told {
        Ok(text) => {
            show(&text);
            ExitCode::SUCCESS
        }
        Err(error) => fail(&format!("{error:#}"), 1),
    }
}

/// Descriptors for what is no connection of a client: files of the journal and the archive, nodes, feeds, threads.
const OWN_DESCRIPTORS: usize = 256;
/// Fewer connections than this serve nobody.
const CONNECTIONS_MIN: usize = 64;

/// Connections must leave descriptors to the journal: it can go on without them as little as without a disk. So as many are taken
/// as the process may have, and no more connections than they allow; with too few for either it does not start, since strangers'
/// connections would end it.
fn keep_descriptors(config: &mut Config) -> Result<(), String> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, current } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    if let Some(limit) = if raised.is_ok() { maximum } else { current } {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let most = limit.saturating_sub(OWN_DESCRIPTORS);
        if most < CONNECTIONS_MIN {
            return Err(format!(
                "the limit of open files is {limit}, and at least {} are needed: raise it (ulimit -n, or LimitNOFILE of the \
                 service)",
                OWN_DESCRIPTORS + CONNECTIONS_MIN
            ));
        }
        if config.max_connections > most {
            tracing::warn!(
                limit,
                "the limit of open files allows {most} connections, not {}",
                config.max_connections
            );
            config.max_connections = most;
        }
    }
    Ok(())
}

fn start(mut config: Config) -> ExitCode {
    let _logs = match start_logs(&config) {
        Ok(guard) => guard,
        Err(error) => return fail(&error, 2),
    };
    if let Err(reason) = keep_descriptors(&mut config) {
        return fail(&reason, 2);
    }
    keep_memory_private(&config);
    match boot::run(config, Clock::SYSTEM, &mut std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error, error.exit_code()),
    }
}

/// Logs go to standard error, through a thread that drops lines rather than holding up who writes them.
fn start_logs(config: &Config) -> Result<tracing_appender::non_blocking::WorkerGuard, String> {
    let filter = EnvFilter::try_new(&config.log).map_err(|error| format!("setting `log`: {error}"))?;
    let (writer, guard) = tracing_appender::non_blocking(std::io::stderr());
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    let set = match config.log_format {
        LogFormat::Text => logs.with_ansi(false).try_init(),
        LogFormat::Json => logs.json().try_init(),
    };
    set.map_err(|error| error.to_string())?;
    Ok(guard)
}

fn show(text: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody may be listening.
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

fn fail(error: &dyn std::fmt::Display, code: u8) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "ringside: {error}");
    ExitCode::from(code)
}
