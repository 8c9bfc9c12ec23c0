//! Kills the exchange with -9 at random moments under load, and proves after each restart that no acknowledged order,
//! fill or balance was lost or doubled, and that the recovered state is that of an engine which was never stopped.
//!
//! `scripts/kills.sh` builds what it needs and runs it. A failure names the seed and the line that runs it again; what
//! a seed fixes are the orders and the moments, not what the machine makes of them.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use anyhow::{Context, Result, ensure};
use clap::Parser;
use futures_util::future::try_join_all;
use ringside_bench::op::Random;
use ringside_core::ids::FEE_ACCOUNT;
use ringside_load::connection::Connection;
use ringside_load::server::{Server, ServerOptions};
use ringside_rigs::kills::audit::Audit;
use ringside_rigs::kills::enter;
use ringside_rigs::kills::futures::FuturesTrader;
use ringside_rigs::kills::ledger::LedgerAudit;
use ringside_rigs::kills::mirror::Mirror;
use ringside_rigs::kills::stream_keys::StreamKeys;
use ringside_rigs::kills::trader::Trader;
use ringside_rigs::kills::{now, seeded};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

#[derive(Parser)]
#[command(about = "Kills the exchange again and again under load and looks for what was lost")]
struct Arguments {
    /// Kills.
    #[arg(long, default_value_t = 300)]
    cycles: u32,
    /// Of orders and moments; from the clock when absent.
    #[arg(long)]
    seed: Option<u64>,
    /// Accounts, each with a connection of its own.
    #[arg(long, default_value_t = 8)]
    traders: u32,
    /// Accounts on the perpetual venue, each with a connection of its own.
    #[arg(long, default_value_t = 6)]
    futures: u32,
    /// Longest time under load before a kill, milliseconds.
    #[arg(long, default_value_t = 150)]
    load_ms: u32,
    /// Folder on the disk to be tested.
    #[arg(long, overrides_with = "folder")]
    folder: Option<PathBuf>,
    /// What a reply waits for: durable or written.
    #[arg(long, default_value = "durable")]
    acknowledge: String,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    seeded(arguments.seed, |seed| again(&arguments, seed), async |seed| run(&arguments, seed).await)
}

/// The line that runs it again, with everything that was given.
fn again(arguments: &Arguments, seed: u64) -> String {
    let Arguments { cycles, seed: _, traders, futures, load_ms, folder, acknowledge } = arguments;
    let folder = folder.as_ref().map(|folder| format!(" --folder {folder:?}")).unwrap_or_default();
    format!(
        "scripts/kills.sh --cycles {cycles} --seed {seed} --traders {traders} --futures {futures} --load-ms {load_ms} \
         --acknowledge {acknowledge}{folder}"
    )
}

async fn run(arguments: &Arguments, seed: u64) -> Result<()> {
    println!("{} kills, seed {seed}, replies wait for {}", arguments.cycles, arguments.acknowledge);
    // Small segments and frequent snapshots, so that kills meet every change of file.
    let settings = [
        ("segment_len", "1MiB"),
        ("snapshot_commands", "1500"),
        ("snapshots_kept", "8"),
        // Lists come from the archive as soon as there is something in it.
        ("history_window", "100"),
        ("acknowledge", &arguments.acknowledge),
    ];
    let settings = settings.map(|(key, value)| (key.to_string(), value.to_string())).into();
    let folder = arguments.folder.clone();
    let mut server = Server::start(&ServerOptions { program: None, folder, settings }).await?;
    let result = cycles(arguments, seed, &mut server).await;
    result.with_context(|| format!("the server's last words:\n{}", server.log_tail()))
}

async fn cycles(arguments: &Arguments, seed: u64, server: &mut Server) -> Result<()> {
    let mut random = Random::new(seed);
    let [spot, perpetual] = enter::wallets(seed, [arguments.traders, arguments.futures]);
    let mut connection = Connection::open(server.address).await?;
    let mut traders = enter::traders(&mut connection, &server.admin_key, &spot, seed).await?;
    let mut futures = enter::futures_traders(&mut connection, &server.admin_key, &perpetual, seed).await?;
    drop(connection);
    let (mut audit, mut ledger) = (Audit::default(), LedgerAudit::default());
    let mut stream_keys = StreamKeys::default();
    let mut mirror = Mirror::new(&server.data_folder().join("journal"));
    let mut recovered = None;
    let (started, mut longest) = (Instant::now(), Duration::ZERO);
    let mut killed_in_recovery = 0;
    for cycle in 1..=arguments.cycles {
        let in_cycle = || format!("kill {cycle}");
        strike(
            server,
            (&mut traders, &mut futures),
            Duration::from_micros(u64::from(random.below(arguments.load_ms * 1000))),
        )
        .await
        .with_context(in_cycle)?;
        follow(server, &mut mirror, recovered.take()).with_context(in_cycle)?;
        while random.below(8) == 0 {
            server.restart_and_kill(Duration::from_micros(u64::from(random.below(60_000))))?;
            killed_in_recovery += 1;
        }
        longest = longest.max(server.restart().await.with_context(in_cycle)?);
        recovered = Some(server.recovered()?);
        for trader in &mut traders {
            trader.send_again(server.address).await.with_context(in_cycle)?;
        }
        for trader in &mut futures {
            trader.resolve(server.address).await.with_context(in_cycle)?;
        }
        let mut connection = Connection::open(server.address).await?;
        audit.all(&mut connection, &mut traders, now().as_secs()).await.with_context(in_cycle)?;
        ledger.all(&mut connection, &mut futures).await.with_context(in_cycle)?;
        stream_keys.all(&mut connection, &futures, &mut random).await.with_context(in_cycle)?;
        if cycle % 20 == 0 || cycle == arguments.cycles {
            report(cycle, started.elapsed(), &traders, &audit, &mirror);
            report_futures(&futures, &ledger);
            println!("    stream keys: {} found again, {} still ended", stream_keys.found, stream_keys.ended);
        }
    }
    server.kill()?;
    follow(server, &mut mirror, recovered)?;
    mirror.follow(None)?;
    let fees =
        [0, 1].map(|asset| mirror.engine().balance(FEE_ACCOUNT, asset).map_or(0, |(available, _)| available));
    let paid = [audit.fees.0, audit.fees.1];
    ensure!(
        fees == paid || fees == [paid[1], paid[0]],
        "the fee account holds {fees:?}, the trades show {paid:?}"
    );
    println!(
        "nothing lost, nothing doubled: {} kills, {killed_in_recovery} more during recovery; longest restart {longest:.1?}; \
         every recovered state was that of the engine that never stopped",
        arguments.cycles
    );
    Ok(())
}

/// Lets all trade at once and kills the exchange `after` that.
async fn strike(
    server: &mut Server,
    (traders, futures): (&mut [Trader], &mut [FuturesTrader]),
    after: Duration,
) -> Result<()> {
    let address = server.address;
    let spot = try_join_all(traders.iter_mut().map(|trader| trader.trade(address)));
    let perpetual = try_join_all(futures.iter_mut().map(|trader| trader.trade(address)));
    let trading = async { tokio::try_join!(spot, perpetual) };
    let killing = async {
        tokio::time::sleep(after).await;
        server.kill()
    };
    tokio::try_join!(trading, killing).map(drop)
}

/// With the exchange dead: its journal is sound, and the state it had recovered is the mirror's.
fn follow(server: &Server, mirror: &mut Mirror, recovered: Option<(u64, String)>) -> Result<()> {
    let Some((sequence, hash)) = recovered else { return Ok(()) };
    let own = mirror.follow(Some(sequence))?;
    let own = own.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    ensure!(own == hash, "recovery said state {hash} at {sequence}, the engine that never stopped has {own}");
    let verdict = Command::new(server.program()).arg("verify").arg(server.data_folder()).output()?;
    ensure!(
        verdict.status.success(),
        "verify: {}{}",
        String::from_utf8_lossy(&verdict.stdout),
        String::from_utf8_lossy(&verdict.stderr)
    );
    Ok(())
}

fn report(cycle: u32, elapsed: Duration, traders: &[Trader], audit: &Audit, mirror: &Mirror) {
    let sum = |of: fn(&Trader) -> u64| traders.iter().map(of).sum::<u64>();
    println!(
        "{cycle} kills in {:.0} s: {} answers; {} sent again, of which {} had happened; {} orders compared, {} trades; \
         {} commands mirrored",
        elapsed.as_secs_f64(),
        sum(|trader| trader.answers),
        sum(|trader| trader.sent_again),
        sum(|trader| trader.had_happened),
        audit.orders_compared,
        audit.trades_proven,
        mirror.engine().sequence(),
    );
}

fn report_futures(traders: &[FuturesTrader], ledger: &LedgerAudit) {
    let sum = |of: fn(&FuturesTrader) -> u64| traders.iter().map(of).sum::<u64>();
    println!(
        "    /fapi: {} answers; {} looked up, of which {} had happened; {} orders compared, {} trades",
        sum(|trader| trader.answers),
        sum(|trader| trader.looked_up),
        sum(|trader| trader.had_happened),
        ledger.orders_compared,
        ledger.trades_proven,
    );
}
