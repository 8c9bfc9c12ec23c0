//! What an acknowledgement costs on three hosts: the same order placed and taken back, one after the other, at one exchange and at three
//! that agree, each with its data on this machine's disk, in memory, and on a disk of its own, in turns; beside a bare sync of one block.
//! Then how far behind the leader's acknowledgement a follower shows an order, how long one that was away takes to have everything again,
//! beside an exchange alone that recovers as much, and how long nobody acknowledges while the lead is handed over.
//!
//! One machine plays all hosts, so figures are ratios of one run: in memory a sync costs nothing, so three less one there is the round
//! between the three. A disk of its own is memory, and waits that were recorded of the bare sync (`bench/slow_disk`): on one disk three
//! hosts' syncs wait for each other.

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use hdrhistogram::Histogram;
use ringside_bench::op::Random;
use ringside_bench::report::{self, Bars, ForeignLoad, Unit, heading, histogram, percentile_table};
use ringside_load::api::{self, OrderAnswer};
use ringside_load::connection::Connection;
use ringside_load::server::{Server, ServerOptions};
use ringside_rigs::cluster::HOSTS;
use ringside_rigs::cluster::hosts::{Hosts, PATIENCE};
use ringside_rigs::kills::enter;
use ringside_rigs::kills::{SYMBOL, now};
use std::fmt::Write as _;
use std::fs::File;
use std::net::SocketAddr;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Placements that are not counted, so that all is warm.
const WARM: u32 = 200;
/// Syncs of this machine's disk whose times are drawn from.
const RECORDED: u32 = 4_000;

#[derive(Parser)]
struct Arguments {
    /// Rounds; each of the six is asked once in a round, in another order.
    #[arg(long, default_value_t = 30)]
    rounds: u32,
    /// Placements at each in a round.
    #[arg(long, default_value_t = 100)]
    orders: u32,
    /// Orders that a follower is asked for.
    #[arg(long, default_value_t = 1_000)]
    shown: u32,
    /// Seconds of load through which a follower is away.
    #[arg(long, default_value_t = 30)]
    away: u64,
    /// Times that the lead is handed over.
    #[arg(long, default_value_t = 12)]
    transfers: u32,
    /// A folder on a disk.
    #[arg(long, default_value = "target")]
    disk: PathBuf,
    /// A folder in memory.
    #[arg(long, default_value = "/dev/shm")]
    memory: PathBuf,
    #[command(flatten)]
    report: report::Arguments,
}

/// Goes with the run.
struct Folder(PathBuf);

impl Folder {
    fn new(parent: &Path, name: &str) -> Result<Folder> {
        let folder = parent.join(format!("ringside-ack-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Folder(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left lies in a folder of its own.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Who acknowledges.
enum Who {
    One(Box<Server>),
    Three(Box<Hosts>),
}

struct Subject {
    who: Who,
    connection: Connection,
    key: String,
    taken: Histogram<u64>,
}

impl Subject {
    async fn new(who: Who, seed: u64) -> Result<Subject> {
        let (address, admin_key) = match &who {
            Who::One(server) => (server.address, server.admin_key.clone()),
            Who::Three(hosts) => (hosts.addresses[hosts.leader().await?], hosts.admin_key().to_owned()),
        };
        let mut connection = Connection::open(address).await?;
        let [wallets, _] = enter::wallets(seed, [1, 0]);
        let traders = enter::traders(&mut connection, &admin_key, &wallets, seed).await?;
        let key = traders.into_iter().next().context("one was let in")?.key;
        let mut subject = Subject { who, connection, key, taken: histogram() };
        subject.ask(WARM).await?;
        subject.taken.reset();
        Ok(subject)
    }

    async fn address(&self) -> Result<SocketAddr> {
        Ok(match &self.who {
            Who::One(server) => server.address,
            Who::Three(hosts) => hosts.addresses[hosts.leader().await?],
        })
    }

    /// Places and takes back so many orders; the placements are timed.
    async fn ask(&mut self, orders: u32) -> Result<()> {
        let address = self.address().await?;
        if address != self.connection.address() {
            self.connection = Connection::open(address).await?;
        }
        for _ in 0..orders {
            let Placed::Acknowledged(id, took) = place(&mut self.connection, &self.key).await? else {
                bail!("nobody acknowledges");
            };
            self.taken.record(took.as_nanos() as u64)?;
            take_back(&mut self.connection, &self.key, &id).await?;
        }
        Ok(())
    }
}

/// What came of a placement.
enum Placed {
    /// Its id, and how long that took.
    Acknowledged(String, Duration),
    /// It was refused for now.
    Refused,
    /// Nobody knows.
    Unknown,
}

async fn take_back(connection: &mut Connection, key: &str, id: &str) -> Result<()> {
    let cancel = api::request("DELETE", &format!("/spot/orders/{id}"), key, None);
    connection.call(&cancel).await?;
    Ok(())
}

async fn place(connection: &mut Connection, key: &str) -> Result<Placed> {
    let body = serde_json::json!({
        "symbol": SYMBOL, "side": "buy", "type": "limit", "price": "0.5", "quantity": "1",
    });
    let request = api::request("POST", "/spot/orders", key, Some(&body.to_string()));
    let begun = Instant::now();
    let Ok(answer) = connection.call(&request).await else { return Ok(Placed::Unknown) };
    let took = begun.elapsed();
    if answer.body.windows(8).any(|part| part == b"DB_ERROR") {
        return Ok(Placed::Unknown);
    }
    if answer.status == 503 {
        return Ok(Placed::Refused);
    }
    ensure!(answer.status == 200, "{} {}", answer.status, String::from_utf8_lossy(answer.body));
    let order: OrderAnswer = serde_json::from_slice(answer.body)?;
    Ok(Placed::Acknowledged(order.id, took))
}

async fn three(program: &Path, folder: &Path) -> Result<Hosts> {
    let data = ["one", "two", "three"].map(|name| folder.join(name));
    let mut hosts = Hosts::make(program, folder, data, Vec::new(), false)?;
    for host in 0..HOSTS {
        hosts.start(host)?;
    }
    hosts.all_caught_up().await?;
    Ok(hosts)
}

async fn one(program: &Path, folder: &Path) -> Result<Server> {
    let settings = [("any_file_system".to_owned(), "true".to_owned())].into();
    let (program, folder) = (Some(program.to_owned()), Some(folder.to_owned()));
    Server::start(&ServerOptions { program, folder, settings }).await
}

/// A program that is `program` on a disk of its own, on which a sync takes one of `times`.
fn with_own_disk(program: &Path, folder: &Path, times: &[Duration]) -> Result<PathBuf> {
    let double = program.with_file_name("libringside_slow_disk.so");
    ensure!(double.exists(), "{} is missing: build ringside-slow-disk", double.display());
    let recorded = folder.join("times");
    let lines: Vec<String> = times.iter().map(|time| time.as_nanos().to_string()).collect();
    std::fs::write(&recorded, lines.join("\n"))?;
    let script = folder.join("ringside-with-own-disk");
    let text = format!(
        "#!/bin/sh\nSLOW_DISK='{}' LD_PRELOAD='{}' exec '{}' \"$@\"\n",
        recorded.display(),
        double.display(),
        program.display()
    );
    std::fs::write(&script, text)?;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))?;
    Ok(script)
}

/// Writes and syncs a block so many times; how long each took.
fn sync(file: &File, count: u32) -> Result<Vec<Duration>> {
    let block = [7; 4096];
    let times = (0..u64::from(count)).map(|at| {
        let begun = Instant::now();
        file.write_all_at(&block, at % 256 * 4096)?;
        file.sync_data()?;
        Ok(begun.elapsed())
    });
    times.collect()
}

/// How long after the leader's acknowledgement a follower shows each of so many orders: it is asked again and again.
async fn lags(subject: &mut Subject, count: u32) -> Result<Histogram<u64>> {
    let Who::Three(hosts) = &subject.who else { unreachable!("it is asked of three") };
    let leader = hosts.leader().await?;
    let mut of_leader = Connection::open(hosts.addresses[leader]).await?;
    let mut of_follower = Connection::open(hosts.addresses[(leader + 1) % HOSTS]).await?;
    let mut lags = histogram();
    for _ in 0..count {
        let Placed::Acknowledged(id, _) = place(&mut of_leader, &subject.key).await? else {
            bail!("nobody acknowledges");
        };
        let begun = Instant::now();
        let look = api::request("GET", &format!("/spot/orders/{id}"), &subject.key, None);
        while of_follower.call(&look).await?.status != 200 {
            ensure!(begun.elapsed() < Duration::from_secs(5), "a follower does not show order {id}");
        }
        lags.record(begun.elapsed().as_nanos() as u64)?;
        take_back(&mut of_leader, &subject.key, &id).await?;
    }
    Ok(lags)
}

/// Places orders and takes them back on several connections at once, as fast as they are acknowledged.
async fn load(address: SocketAddr, key: &str, seconds: u64) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(seconds);
    let one = |_| async move {
        let mut connection = Connection::open(address).await?;
        while Instant::now() < end {
            match place(&mut connection, key).await? {
                Placed::Acknowledged(id, _) => take_back(&mut connection, key, &id).await?,
                Placed::Refused | Placed::Unknown => bail!("nobody acknowledges"),
            }
        }
        Ok(())
    };
    futures_util::future::try_join_all((0..32).map(one)).await.map(drop)
}

/// Commands a second of a follower that comes back after so long under load: from the first that it gets to the leader's last.
async fn catch_up(subject: &mut Subject, seconds: u64) -> Result<(u64, f64)> {
    let Who::Three(hosts) = &mut subject.who else { unreachable!("it is asked of three") };
    let leader = hosts.leader().await?;
    let away = (leader + 1) % HOSTS;
    let before = hosts.sequence(away).await.context("it answers")?;
    hosts.kill(away)?;
    load(hosts.addresses[leader], &subject.key, seconds).await?;
    let through = hosts.sequence(leader).await.context("it answers")?;
    let started = Instant::now();
    hosts.start(away)?;
    // The leader calls it again after a pause.
    let mut begun = None;
    loop {
        let sequence = hosts.sequence(away).await.unwrap_or(0);
        if sequence > before {
            begun.get_or_insert_with(|| (sequence, Instant::now()));
        }
        match begun {
            Some((first, begun)) if sequence >= through => {
                return Ok((through - before, (through - first) as f64 / begun.elapsed().as_secs_f64()));
            }
            _ => ensure!(started.elapsed() < PATIENCE, "it does not come to {through}"),
        }
        tokio::time::sleep(Duration::from_micros(500)).await;
    }
}

/// The same of an exchange alone that is killed after so long under load: from the start of its process to when it runs.
async fn recovery(subject: &mut Subject, seconds: u64) -> Result<(u64, f64)> {
    let Who::One(server) = &mut subject.who else { unreachable!("it is asked of one") };
    load(server.address, &subject.key, seconds).await?;
    server.kill()?;
    let took = server.restart().await?;
    let (commands, _) = server.recovered()?;
    Ok((commands, commands as f64 / took.as_secs_f64()))
}

/// Of each time that the lead is handed over the longest time in which no order was acknowledged, at a client of a host that neither gives
/// nor takes it; and how many outcomes were unknown.
async fn transfers(subject: &Subject, count: u32) -> Result<(Vec<f64>, u32)> {
    let Who::Three(hosts) = &subject.who else { unreachable!("it is asked of three") };
    let (mut gaps, mut unknown) = (Vec::new(), 0);
    for _ in 0..count {
        let from = hosts.leader().await?;
        let [to, by] = [1, 2].map(|after| (from + after) % HOSTS);
        let mut connection = Connection::open(hosts.addresses[by]).await?;
        let mut command = Command::new(hosts.program());
        command.args(["cluster", "transfer", &(to + 1).to_string(), "--reason", "measured"]);
        command.args(["--url", &format!("http://{}", hosts.addresses[from])]);
        command.env("RINGSIDE_ADMIN_KEY", hosts.admin_key());
        let (begun, mut asked) = (Instant::now(), None);
        let (mut acknowledged, mut gap) = (Instant::now(), Duration::ZERO);
        while begun.elapsed() < Duration::from_millis(1_500) {
            if asked.is_none() && begun.elapsed() > Duration::from_millis(300) {
                asked = Some(command.stdout(std::process::Stdio::null()).spawn()?);
            }
            match place(&mut connection, &subject.key).await? {
                Placed::Acknowledged(id, _) => {
                    gap = gap.max(acknowledged.elapsed());
                    acknowledged = Instant::now();
                    take_back(&mut connection, &subject.key, &id).await?;
                }
                Placed::Refused => {}
                Placed::Unknown => {
                    unknown += 1;
                    connection = Connection::open(hosts.addresses[by]).await?;
                }
            }
        }
        let ended = asked.context("it was asked")?.wait()?;
        ensure!(ended.success() && hosts.leader().await? == to, "the lead was not handed over");
        gaps.push(gap.as_secs_f64() * 1e3);
    }
    Ok((gaps, unknown))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let seed = now().as_nanos() as u64;
    let mut random = Random::new(seed);
    let foreign = ForeignLoad::start();
    let disk = Folder::new(&arguments.disk, "disk")?;
    let memory = Folder::new(&arguments.memory, "memory")?;
    let program = std::env::current_exe()?.with_file_name("ringside");
    let bare = File::create(disk.0.join("bare"))?;
    bare.set_len(1 << 20)?;
    bare.sync_all()?;
    let own = Folder::new(&arguments.memory, "own")?;
    let slow = with_own_disk(&program, &own.0, &sync(&bare, RECORDED)?)?;
    let mut subjects = vec![
        Subject::new(Who::One(Box::new(one(&program, &memory.0).await?)), seed).await?,
        Subject::new(Who::One(Box::new(one(&program, &disk.0).await?)), seed).await?,
        Subject::new(Who::One(Box::new(one(&slow, &own.0).await?)), seed).await?,
        Subject::new(Who::Three(Box::new(three(&program, &memory.0).await?)), seed).await?,
        Subject::new(Who::Three(Box::new(three(&program, &disk.0).await?)), seed).await?,
        Subject::new(Who::Three(Box::new(three(&slow, &own.0).await?)), seed).await?,
    ];
    let mut synced = histogram();
    for _ in 0..arguments.rounds {
        let mut order: Vec<usize> = (0..subjects.len()).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, random.below(last as u32 + 1) as usize);
        }
        for at in order {
            subjects[at].ask(arguments.orders).await?;
        }
        for time in sync(&bare, arguments.orders)? {
            synced.record(time.as_nanos() as u64)?;
        }
    }
    let lags = lags(&mut subjects[5], arguments.shown).await?;
    let (gaps, unknown) = transfers(&subjects[5], arguments.transfers).await?;
    let (behind, caught_up) = catch_up(&mut subjects[4], arguments.away).await?;
    let (alone, recovered) = recovery(&mut subjects[1], arguments.away / 2).await?;

    let names =
        ["one, memory", "one, disk", "one, own disk", "three, memory", "three, one disk", "three, own disks"];
    let mut rows = vec![("write and sync of 4 KiB", &synced)];
    rows.extend(names.into_iter().zip(subjects.iter().map(|subject| &subject.taken)));
    rows.push(("a follower shows it later", &lags));
    let mut text = heading("ringside-rigs");
    writeln!(text, "{} rounds of {} placements at each, in turns\n", arguments.rounds, arguments.orders)?;
    text += &percentile_table(&rows, Unit::Microseconds);
    let at = |histogram: &Histogram<u64>, percentile| histogram.value_at_quantile(percentile) as f64 / 1e3;
    let [one_memory, _, one_disk, three_memory, three_shared, three_disks] =
        std::array::from_fn(|index| &subjects[index].taken);
    let sync = at(&synced, 0.5);
    let round = at(three_memory, 0.5) - at(one_memory, 0.5);
    let [waits, shared] = [three_disks, three_shared].map(|three| at(three, 0.5) - at(one_memory, 0.5));
    writeln!(
        text,
        "\nat the median: a bare sync {sync:.0} us, the round between three {round:.0} us; three on disks of their own wait {waits:.0} us, on \
         this machine's one disk {shared:.0} us"
    )?;
    let gap = report::median(&gaps);
    let longest = gaps.iter().copied().fold(0.0, f64::max);
    writeln!(
        text,
        "the lead was handed over {} times: without an acknowledgement for {gap:.0} ms at the median, {longest:.0} at most; {unknown} outcomes \
         unknown",
        gaps.len()
    )?;
    writeln!(
        text,
        "one that was {behind} commands behind got them at {caught_up:.0} a second, one alone recovered {alone} at {recovered:.0}"
    )?;
    writeln!(
        text,
        "other processes, the exchanges among them, used {:.1} % of the machine\n",
        foreign.percent()
    )?;
    let mut bars = Bars::default();
    bars.at_most("three, own disks / (bare sync + round), p50".to_owned(), waits / (sync + round), 1.35);
    let tails = [three_disks, one_disk].map(|taken| at(taken, 0.999));
    bars.at_most("three, own disks / one, own disk, p99.9".to_owned(), tails[0] / tails[1], 1.0);
    bars.at_most("a follower shows it later, ms, p99".to_owned(), at(&lags, 0.99) / 1e3, 1.0);
    bars.at_most("recovery alone / catching up, commands a second".to_owned(), recovered / caught_up, 2.0);
    bars.at_most("lead handed over, ms, median".to_owned(), gap, 50.0);
    bars.at_most("unknown outcomes while it is".to_owned(), f64::from(unknown), 0.0);
    text += &bars.table();
    drop(subjects);
    Ok(arguments.report.conclude("cluster_ack", &text, bars.missed() > 0)?)
}
