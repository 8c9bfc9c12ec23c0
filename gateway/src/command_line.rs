//! The command line of `ringside`: without a subcommand it starts the exchange.

pub mod client;
mod demo;
pub mod login;

use crate::boot;
use crate::clock::Clock;
use crate::config::{Config, LogFormat};
use clap::{Parser, Subcommand};
use ringside_core::Engine;
use ringside_persist::skip::{Decision, skip_machine};
use ringside_persist::verify::verify;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

/// An exchange: spot trading on a deterministic in-memory core, with a durable journal.
#[derive(Parser, Debug)]
#[command(name = "ringside", version, about)]
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
    Settings,
    /// Checks journal and snapshots without starting anything or writing a byte. Exit code 0: sound; 1: damaged.
    Verify {
        /// A data folder, or the folder of a journal.
        directory: PathBuf,
        /// One line of JSON instead of sentences.
        #[arg(long)]
        json: bool,
    },
    /// Records that the one command that stops the engine is to be passed over. Two operators decide.
    Skip {
        /// Its sequence, as recovery named it.
        #[arg(long)]
        sequence: u64,
        /// The operators; give it twice.
        #[arg(long = "operator", required = true)]
        operators: Vec<String>,
        /// Why, at most 64 bytes.
        #[arg(long)]
        reason: String,
    },
    /// Starts a test deployment in which a market maker and takers trade, for looking at its page.
    Demo {
        /// A data folder to keep; unset: a temporary one, removed at the end.
        #[arg(long)]
        folder: Option<PathBuf>,
    },
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

/// Runs the process.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let config = match Config::load(arguments.config.as_deref(), std::env::vars()) {
        Ok(config) => config,
        Err(error) => return fail(&error, 2),
    };
    match arguments.action.unwrap_or(Action::Start) {
        Action::Start => start(config),
        Action::Settings => {
            show(&config.summary());
            ExitCode::SUCCESS
        }
        Action::Verify { directory, json } => {
            let journal = directory.join("journal");
            match verify(if journal.is_dir() { &journal } else { &directory }) {
                Ok(verdict) => {
                    show(&format!("{}\n", if json { verdict.to_json() } else { verdict.to_string() }));
                    ExitCode::from(u8::from(!verdict.is_sound()))
                }
                Err(error) => fail(&error, 2),
            }
        }
        Action::Skip { sequence, operators, reason } => {
            let [first, second] = operators.as_slice() else {
                return fail(&"two operators decide: give --operator twice", 2);
            };
            let decision = Decision { sequence, operators: [first, second], reason: &reason };
            let persist = boot::persist_config(&config, &Clock::SYSTEM);
            match skip_machine::<Engine>(&persist, &boot::engine_config(&config), &decision) {
                Ok(record) => {
                    show(&format!(
                        "ringside: command {sequence} will be passed over; recorded as {record}\n"
                    ));
                    ExitCode::SUCCESS
                }
                Err(error) => fail(&error, 1),
            }
        }
        Action::Demo { folder } => {
            let _logs = match start_logs(&config) {
                Ok(guard) => guard,
                Err(error) => return fail(&error, 2),
            };
            match demo::run(config, folder) {
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

fn start(config: Config) -> ExitCode {
    let _logs = match start_logs(&config) {
        Ok(guard) => guard,
        Err(error) => return fail(&error, 2),
    };
    show(&config.summary());
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
