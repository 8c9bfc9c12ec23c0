//! `ringside-bench load`: orders at a steady rate against an exchange that runs anywhere, and how long each took to be acknowledged.

use anyhow::{Context, Result, bail, ensure};
use clap::{Parser, Subcommand, ValueEnum};
use hdrhistogram::Histogram;
use ringside_bench::report::{self, Unit};
use ringside_load::api;
use ringside_load::connection::Connection;
use ringside_load::drive::{Driven, open};
use ringside_load::session::{Market, Trader};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// Measures an exchange that runs, here or on another host.
#[derive(Parser)]
#[command(name = "ringside-bench", version = concat!(env!("CARGO_PKG_VERSION"), " ", env!("BUILT_COMMIT")))]
struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Sends orders at a steady rate, whatever the answers do, drawn from a seed; needs no recorded data. Latency counts from when a
    /// request was due, so that what waits behind a slow answer counts as well (no coordinated omission). The exchange must be a test
    /// deployment, since accounts are credited, and its limits must let so many requests of one address through.
    Load(Load),
}

#[derive(clap::Args)]
struct Load {
    /// Where the exchange listens: http://host:port.
    #[arg(long)]
    url: String,
    /// A file that holds the key of the administrator or of an operator, who credits the accounts.
    #[arg(long, value_name = "FILE")]
    operator_key: Option<PathBuf>,
    /// The same key itself; better given in the environment.
    #[arg(long, env = "RINGSIDE_ADMIN_KEY", hide_env_values = true)]
    admin_key: Option<String>,
    /// Requests a second, all traders together.
    #[arg(long, default_value_t = 500.0)]
    rate: f64,
    /// Measured seconds.
    #[arg(long, default_value_t = 30.0)]
    seconds: f64,
    /// Seconds before, not measured.
    #[arg(long, default_value_t = 3.0)]
    warm_up: f64,
    /// Traders, each with an account and a connection.
    #[arg(long, default_value_t = 32)]
    traders: u32,
    /// What they trade.
    #[arg(long, value_enum, default_value_t = Trades::Both)]
    trade: Trades,
    /// The spot market; unset: the first that is listed.
    #[arg(long, value_name = "SYMBOL")]
    spot: Option<String>,
    /// The perpetual market.
    #[arg(long, value_name = "SYMBOL", default_value = "BTCUSDT")]
    perpetual: String,
    /// What accounts and orders are drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// What the exchange runs on, for the report: processor, cores, disk.
    #[arg(long, value_name = "TEXT", default_value = "as the client")]
    host: String,
    /// Folder for `load.hgrm`, `load.svg` and `load.txt`.
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Trades {
    Spot,
    Perpetual,
    /// Every second trader the one, the others the other.
    Both,
}

fn main() -> Result<()> {
    let Action::Load(load) = Arguments::parse().action;
    ensure!(load.rate > 0.0 && load.rate.is_finite(), "--rate: above 0");
    ensure!(load.seconds > 0.0 && load.seconds.is_finite(), "--seconds: above 0");
    ensure!(load.warm_up >= 0.0 && load.warm_up.is_finite(), "--warm-up: 0 or more");
    ensure!(load.traders > 0, "--traders: at least 1");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, run(&load))
}

/// How long the exchange itself says that its stages took.
#[derive(Deserialize)]
struct Counted {
    settings: BTreeMap<String, String>,
    stages: BTreeMap<String, Vec<(u64, u64)>>,
}

async fn run(load: &Load) -> Result<()> {
    let address = address(&load.url)?;
    let key = key(load)?;
    let mut connection =
        Connection::open(address).await.with_context(|| format!("cannot connect to {}", load.url))?;
    let mut markets = Vec::new();
    if load.trade != Trades::Perpetual {
        markets.push(Rc::new(Market::spot(&mut connection, load.spot.as_deref()).await?));
    }
    if load.trade != Trades::Spot {
        markets.push(Rc::new(Market::perpetual(&mut connection, &load.perpetual).await?));
    }
    say(&format!("{} traders log in", load.traders));
    let mut traders = Vec::new();
    for index in 0..load.traders {
        let market = markets[index as usize % markets.len()].clone();
        traders.push(Trader::open(address, &key, market, load.seed, index).await?);
    }
    if load.warm_up > 0.0 {
        say(&format!("warm-up: {} s", load.warm_up));
        (traders, _) = open(traders, load.rate, Duration::from_secs_f64(load.warm_up), |_, _| ()).await?;
        traders.iter_mut().for_each(Trader::begin);
    }
    let header = api::key_header(&key);
    let mut connection = Connection::open(address).await?;
    let begin = api::request_at("POST", "/latency/reset", &header, Some("{}"));
    api::ask::<serde_json::Value>(&mut connection, &begin).await?;
    let measured = Duration::from_secs_f64(load.seconds);
    let (traders, driven) = open(traders, load.rate, measured, |due, latencies| {
        let at = |quantile| latencies.value_at_quantile(quantile) as f64 / 1_000.0;
        say(&format!(
            "{due} due, {} answered: p50 {:.0} us, p99 {:.0} us, max {:.0} us",
            latencies.len(),
            at(0.5),
            at(0.99),
            at(1.0)
        ));
    })
    .await?;
    let mut connection = Connection::open(address).await?;
    let counted: Counted =
        api::ask(&mut connection, &api::request_at("GET", "/latency.json", &header, None)).await?;
    let symbols: Vec<&str> = markets.iter().map(|market| market.symbol.as_str()).collect();
    conclude(load, &symbols, &traders, &driven, &counted)
}

fn conclude(
    load: &Load,
    symbols: &[&str],
    traders: &[Trader],
    driven: &Driven,
    counted: &Counted,
) -> Result<()> {
    let (mut placed, mut canceled) = (report::histogram(), report::histogram());
    let mut answers: BTreeMap<&str, u64> = BTreeMap::new();
    for trader in traders {
        placed.add(&trader.placed)?;
        canceled.add(&trader.canceled)?;
        for (answer, count) in &trader.answers {
            *answers.entry(answer).or_default() += count;
        }
    }
    let acknowledge = counted.settings.get("acknowledge").map_or("?", String::as_str);
    let title = format!("{:.0} requests/s for {:.0} s, acknowledged {acknowledge}", load.rate, load.seconds);
    let settings = counted.settings.iter().filter(|(_, value)| !value.is_empty());
    let settings = settings.map(|(key, value)| format!("{key} {value}"));
    let answers = answers.iter().map(|(answer, count)| format!("{answer}: {count}"));
    let notes = [
        format!("exchange: {}", settings.collect::<Vec<_>>().join(", ")),
        format!("on: {}", load.host),
        format!("client: {}, commit {}", report::machine_facts(), env!("BUILT_COMMIT")),
        format!(
            "session: {} traders of {}, seed {}, warm-up {} s",
            load.traders,
            symbols.join(" and "),
            load.seed,
            load.warm_up
        ),
        format!("answers: {}; {:.0} a second", answers.collect::<Vec<_>>().join(", "), driven.per_second()),
    ];
    let rows: [(&str, &Histogram<u64>); 3] = [
        ("since it was due", &driven.latencies),
        ("order, since it was sent", &placed),
        ("cancel, since it was sent", &canceled),
    ];
    let stages: Vec<(&str, Histogram<u64>)> = counted
        .stages
        .iter()
        .map(|(name, cells)| (name.as_str(), ringside_hgrm::of_cells(cells.iter().copied())))
        .collect();
    let stages: Vec<(&str, &Histogram<u64>)> =
        stages.iter().map(|(name, histogram)| (*name, histogram)).collect();
    let mut text = format!("{title}\n");
    for note in &notes {
        let _ = writeln!(text, "{note}");
    }
    let _ = write!(
        text,
        "\nat the client\n{}\nthe exchange says of the same time\n{}",
        report::percentile_table(&rows, Unit::Microseconds),
        report::percentile_table(&stages, Unit::Microseconds)
    );
    write!(std::io::stdout().lock(), "{text}")?;
    if let Some(folder) = &load.to {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        std::fs::write(folder.join("load.txt"), &text)?;
        report::write_hgrm(&driven.latencies, &folder.join("load.hgrm"))?;
        let mut lines = rows.to_vec();
        lines.extend(
            stages
                .iter()
                .filter(|(name, _)| *name == "order")
                .map(|(_, histogram)| ("of that in the exchange", *histogram)),
        );
        report::write_svg(&title, &lines, &notes, &folder.join("load.svg"))?;
        say(&format!("load.txt, load.hgrm and load.svg are in {}", folder.display()));
    }
    Ok(())
}

/// Where a URL leads. The load client speaks no TLS, which would be measured with the exchange.
fn address(url: &str) -> Result<SocketAddr> {
    let Some(rest) = url.strip_prefix("http://") else {
        bail!("{url}: http://host:port, since a proxy that ends TLS would be measured with it");
    };
    let host = rest.trim_end_matches('/');
    let host = if host.rsplit(':').next().is_some_and(|port| port.parse::<u16>().is_ok()) {
        host.to_owned()
    } else {
        format!("{host}:80")
    };
    let found = host.to_socket_addrs().with_context(|| format!("{url} leads nowhere"))?;
    found.into_iter().next().with_context(|| format!("{url} leads nowhere"))
}

fn key(load: &Load) -> Result<String> {
    match (&load.operator_key, &load.admin_key) {
        (Some(file), _) => {
            let key = std::fs::read_to_string(file).with_context(|| format!("key of {}", file.display()))?;
            Ok(key.trim().to_owned())
        }
        (None, Some(key)) => Ok(key.clone()),
        (None, None) => {
            bail!("a key is needed that may credit accounts: --operator-key FILE, or RINGSIDE_ADMIN_KEY")
        }
    }
}

/// Progress goes to standard error, so that the report alone is on standard output.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
