//! Three processes that agree, under load from clients that know all three; round after round something happens to one of them, to two or
//! to all, to what connects them or to a disk. Nothing acknowledged is lost or done twice, no two lead in one term, and what every
//! client was answered agrees with the one order in which it all happened.
//!
//! `scripts/cluster_kills.sh` builds what it needs and runs it. A failure names the seed and the line that runs it again; what
//! a seed fixes are the orders, the faults and their times, not what the machine makes of them.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use futures_util::future::try_join_all;
use ringside_bench::op::Random;
use ringside_bench::report::{self, machine_facts};
use ringside_load::api;
use ringside_load::connection::Connection;
use ringside_rigs::cluster::HOSTS;
use ringside_rigs::cluster::field::{self, Field};
use ringside_rigs::cluster::history::{self, Said, Verdict};
use ringside_rigs::cluster::hosts::{self, Hosts, PATIENCE};
use ringside_rigs::cluster::plants;
use ringside_rigs::cluster::relay::Flow;
use ringside_rigs::cluster::serial::Replay;
use ringside_rigs::kills::audit::Audit;
use ringside_rigs::kills::enter;
use ringside_rigs::kills::futures::FuturesTrader;
use ringside_rigs::kills::ledger::LedgerAudit;
use ringside_rigs::kills::trader::Trader;
use ringside_rigs::kills::{now, seeded};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

#[derive(Parser)]
#[command(
    about = "Does to three processes that agree whatever may happen to them, under load, and looks for what was lost"
)]
struct Arguments {
    /// Rounds, with one fault each.
    #[arg(long, default_value_t = 300)]
    rounds: u32,
    /// Of orders, faults and times; from the clock when absent.
    #[arg(long)]
    seed: Option<u64>,
    /// Spot accounts.
    #[arg(long, default_value_t = 7)]
    traders: u32,
    /// Accounts on the perpetual venue.
    #[arg(long, default_value_t = 7)]
    futures: u32,
    /// Folder on the disk to be tested.
    #[arg(long, overrides_with = "folder")]
    folder: Option<PathBuf>,
    /// A small file system of its own, for the third member: rounds fill it. Without it no disk is full.
    #[arg(long)]
    small_disk: Option<PathBuf>,
    /// These faults alone, by their words.
    #[arg(long)]
    only: Vec<String>,
    #[command(flatten)]
    report: report::Arguments,
}

/// How long a member is left to find out that its files are gone.
const NOTICED: Duration = Duration::from_millis(500);
/// How often members are asked whom they follow.
const WATCH: Duration = Duration::from_millis(50);

/// What happens in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    KillLeader,
    KillFollower,
    KillTwo,
    KillAll,
    /// SIGSTOP, 50 ms to 5 s.
    Stop,
    /// One member reaches no other, and no other reaches it.
    Cut,
    /// Two do not reach each other; both reach the third.
    Partial,
    /// What one says to another is held, and comes late.
    OneWay,
    /// The third member's disk.
    DiskFull,
    /// Journal and archive of one are gone.
    DiskLost,
}

impl Fault {
    const ALL: [Fault; 10] = [
        Fault::KillLeader,
        Fault::KillFollower,
        Fault::KillTwo,
        Fault::KillAll,
        Fault::Stop,
        Fault::Cut,
        Fault::Partial,
        Fault::OneWay,
        Fault::DiskFull,
        Fault::DiskLost,
    ];

    const fn words(self) -> &'static str {
        match self {
            Fault::KillLeader => "kill-leader",
            Fault::KillFollower => "kill-follower",
            Fault::KillTwo => "kill-two",
            Fault::KillAll => "kill-all",
            Fault::Stop => "stop",
            Fault::Cut => "cut",
            Fault::Partial => "partial-cut",
            Fault::OneWay => "one-way",
            Fault::DiskFull => "disk-full",
            Fault::DiskLost => "disk-lost",
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    seeded(arguments.seed, |seed| again(&arguments, seed), async |seed| run(&arguments, seed).await)
}

/// The line that runs it again, with everything that was given but folders, which the script makes.
fn again(arguments: &Arguments, seed: u64) -> String {
    let Arguments { rounds, traders, futures, only, .. } = arguments;
    let only: String = only.iter().map(|fault| format!(" --only {fault}")).collect();
    format!(
        "scripts/cluster_kills.sh --rounds {rounds} --seed {seed} --traders {traders} --futures {futures}{only}"
    )
}

/// What goes with the run.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        if std::env::var_os("RINGSIDE_KEEP").is_none() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

async fn run(arguments: &Arguments, seed: u64) -> Result<()> {
    println!("{} rounds, seed {seed}", arguments.rounds);
    let mut faults: Vec<Fault> = Fault::ALL.into();
    if !arguments.only.is_empty() {
        faults.retain(|fault| arguments.only.iter().any(|word| word == fault.words()));
        ensure!(!faults.is_empty(), "no fault has such words; these are: {:?}", Fault::ALL.map(Fault::words));
    }
    if arguments.small_disk.is_none() {
        println!("skipped: no disk is full, for want of a small file system");
        faults.retain(|fault| *fault != Fault::DiskFull);
    }
    let parent = arguments.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder = Folder(parent.join(format!("ringside-cluster-{}-{seed:x}", std::process::id())));
    std::fs::create_dir_all(&folder.0).with_context(|| format!("cannot make {}", folder.0.display()))?;
    let data = ["one", "two", "three"].map(|name| folder.0.join(name));
    let data = match &arguments.small_disk {
        Some(disk) => [data[0].clone(), data[1].clone(), disk.join("three")],
        None => data,
    };
    // Small segments and frequent snapshots, so that faults meet every change of file.
    let settings = [
        ("segment_len", "1MiB"),
        ("snapshot_commands", "1500"),
        ("snapshots_kept", "8"),
        // Lists come from the archive as soon as there is something in it.
        ("history_window", "100"),
        // A leader that is deposed holds the orders that it can no longer answer for so long, and is no member meanwhile.
        ("request_timeout", "2s"),
        // In a round that fails it is what tells why.
        ("log", "info"),
    ];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let program = std::env::current_exe()?.with_file_name("ringside");
    let mut hosts = Hosts::make(&program, &folder.0, data, settings, true)?;
    let result = Venue::open(arguments, seed, &mut hosts).await;
    let result = match result {
        Ok(venue) => venue.rounds(arguments, seed, &faults, &mut hosts).await,
        Err(error) => Err(error),
    };
    result.with_context(|| format!("their last words:\n{}", hosts.log_tails()))
}

/// Who trades, and what is known of it all.
struct Venue {
    random: Random,
    traders: Vec<Trader>,
    futures: Vec<FuturesTrader>,
    audit: Audit,
    ledger: LedgerAudit,
    replay: Replay,
    field: Field,
    small_disk: Option<PathBuf>,
    figures: Figures,
    /// Whom members follow in which term, as their figures say.
    heard: BTreeMap<u64, u64>,
    /// What was last said of how far it is.
    said: String,
}

/// What it came to.
#[derive(Default)]
struct Figures {
    verdict: Verdict,
    /// Of each kind of fault how often.
    rounds: BTreeMap<Fault, u32>,
    /// From a leader's death to the next acknowledgement, milliseconds.
    failovers: Vec<f64>,
    /// The same from the moment on that it reached nobody.
    cut_leaders: Vec<f64>,
    /// Of a leader that was stopped for long enough that another took over.
    stopped_leaders: Vec<f64>,
    /// Of those whose disk was full, how many led.
    full_leaders: u32,
    /// Violations that were planted into what was recorded, and found.
    plants: BTreeMap<&'static str, u32>,
    /// Lost disks that their members did not notice within [`NOTICED`].
    unnoticed: u32,
    /// Members that ended by themselves, with their codes.
    ended: BTreeMap<i32, u32>,
}

impl Venue {
    /// Starts all three and lets the traders in.
    async fn open(arguments: &Arguments, seed: u64, hosts: &mut Hosts) -> Result<Venue> {
        for host in 0..HOSTS {
            hosts.start(host)?;
        }
        let [spot, perpetual] = enter::wallets(seed, [arguments.traders, arguments.futures]);
        let leader = hosts.leader().await?;
        let mut connection = Connection::open(hosts.addresses[leader]).await?;
        let mut traders = enter::traders(&mut connection, hosts.admin_key(), &spot, seed).await?;
        let mut futures =
            enter::futures_traders(&mut connection, hosts.admin_key(), &perpetual, seed).await?;
        traders.iter_mut().for_each(|trader| trader.is_of_one = false);
        futures.iter_mut().for_each(|trader| trader.is_of_one = false);
        // A follower learns at its next start of the keys that were made since its last.
        hosts.all_caught_up().await?;
        for host in 0..HOSTS {
            hosts.kill(host)?;
        }
        for host in 0..HOSTS {
            hosts.start(host)?;
        }
        Ok(Venue {
            random: Random::new(seed),
            traders,
            futures,
            audit: Audit::default(),
            ledger: LedgerAudit::default(),
            replay: Replay::new(&spot, &perpetual),
            field: Field::new(hosts),
            small_disk: arguments.small_disk.clone(),
            figures: Figures::default(),
            heard: BTreeMap::new(),
            said: String::new(),
        })
    }

    async fn rounds(
        mut self,
        arguments: &Arguments,
        seed: u64,
        faults: &[Fault],
        hosts: &mut Hosts,
    ) -> Result<()> {
        let begun = Instant::now();
        let mut ahead: Vec<Fault> = Vec::new();
        for round in 1..=arguments.rounds {
            if ahead.is_empty() {
                // Each as often as any other, in another order each time.
                ahead = faults.into();
                for last in (1..ahead.len()).rev() {
                    ahead.swap(last, self.random.below(last as u32 + 1) as usize);
                }
            }
            let fault = ahead.pop().context("there are faults")?;
            let in_round = || format!("round {round}, {}", fault.words());
            hosts.leader().await.with_context(in_round)?;
            self.strike(fault, hosts).await.with_context(in_round)?;
            self.look(hosts).await.with_context(in_round)?;
            *self.figures.rounds.entry(fault).or_default() += 1;
            if round % 20 == 0 || round == arguments.rounds {
                self.said = self.report(round, begun.elapsed());
                // The last one stands in the report.
                if round < arguments.rounds {
                    print!("{}", self.said);
                }
            }
        }
        self.end(hosts, &again(arguments, seed), &arguments.report).await
    }

    /// Lets all trade and read, and the fault happen meanwhile.
    async fn strike(&mut self, fault: Fault, hosts: &mut Hosts) -> Result<()> {
        let Venue { random, traders, futures, field, figures, small_disk, heard, .. } = self;
        let addresses = hosts.addresses;
        let field = &*field;
        field.is_over.set(false);
        let mut seed = || Random::new(random.next_u64());
        let mut clients = 0..;
        let mut numbered = || (clients.next().unwrap_or(0), seed());
        let spot = traders.iter_mut().map(|trader| (trader, numbered())).collect::<Vec<_>>();
        let perpetual = futures.iter_mut().map(|trader| (trader, numbered())).collect::<Vec<_>>();
        let readers = (0..HOSTS).map(|host| (host, numbered())).collect::<Vec<_>>();
        let spot = try_join_all(spot.into_iter().map(async |(trader, (client, mut random))| {
            field::roam(field, trader, client, &mut random).await
        }));
        let perpetual = try_join_all(perpetual.into_iter().map(async |(trader, (client, mut random))| {
            field::roam(field, trader, client, &mut random).await
        }));
        let readers =
            try_join_all(readers.into_iter().map(async |(host, (client, mut random))| {
                field::read(field, host, client, &mut random).await
            }));
        let mut happening =
            Happening { random: seed(), hosts, field, figures, small_disk: small_disk.as_deref() };
        let striking = async {
            let result = happening.fault(fault).await;
            field.is_over.set(true);
            result
        };
        let watching = watch(field, addresses, heard);
        tokio::try_join!(spot, perpetual, readers, striking, watching).map(drop)
    }

    /// All is quiet: everything acknowledged is looked up, and every answer compared with the journal of one of them.
    async fn look(&mut self, hosts: &mut Hosts) -> Result<()> {
        for code in hosts.start_ended()? {
            *self.figures.ended.entry(code.unwrap_or(-1)).or_default() += 1;
        }
        hosts.leader().await?;
        hosts.quiet().await?;
        let leader = hosts.leader().await?;
        let mut connection = Connection::open(hosts.addresses[leader]).await?;
        for trader in &mut self.futures {
            trader.settle(&mut connection).await?;
        }
        self.audit.all(&mut connection, &mut self.traders, now().as_secs()).await?;
        self.ledger.all(&mut connection, &mut self.futures).await?;
        let through = hosts.all_caught_up().await?;
        let whose = self.random.below(HOSTS as u32) as usize;
        self.replay
            .follow(&hosts.data(whose).join("journal"), through)
            .with_context(|| format!("member {}'s journal", whose + 1))?;
        let history = self.field.history.take();
        let verdict = history::check(&history, &self.replay.serial);
        for (plant, is_found) in plants::found(&history, &self.replay.serial) {
            *self.figures.plants.entry(plant).or_default() += 1;
            ensure!(is_found, "what was planted into the history was not found: {plant}");
        }
        self.replay.serial.entries.clear();
        let (violations, count) = (verdict.violations.join("\n  "), verdict.violated);
        self.figures.verdict.add(verdict);
        ensure!(count == 0, "the history does not hold, {count} times:\n  {violations}");
        let terms = hosts.terms()?;
        for (term, leader) in &self.heard {
            // One that was elected and lost it before its engine ran says nothing.
            let said = terms.get(term).map(|host| *host as u64 + 1);
            ensure!(
                said.is_none_or(|said| said == *leader),
                "in term {term} member {said:?} led, and member {leader} was followed"
            );
        }
        for (_, term) in &self.replay.serial.terms {
            ensure!(
                terms.contains_key(term),
                "term {term} is in the journal, and nobody said that it leads in it"
            );
        }
        Ok(())
    }

    fn report(&self, round: u32, elapsed: Duration) -> String {
        let spot = |of: fn(&Trader) -> u64| self.traders.iter().map(of).sum::<u64>();
        let perpetual = |of: fn(&FuturesTrader) -> u64| self.futures.iter().map(of).sum::<u64>();
        let verdict = &self.figures.verdict;
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{round} rounds in {:.0} s: {} answers; {} sent again, of which {} had happened; {} orders compared, {} trades; \
             {} commands replayed",
            elapsed.as_secs_f64(),
            spot(|trader| trader.answers),
            spot(|trader| trader.sent_again),
            spot(|trader| trader.had_happened),
            self.audit.orders_compared,
            self.audit.trades_proven,
            self.replay.engine().sequence(),
        );
        let _ = writeln!(
            text,
            "    /fapi: {} answers; {} looked up, of which {} had happened; {} orders compared, {} trades",
            perpetual(|trader| trader.answers),
            perpetual(|trader| trader.looked_up),
            perpetual(|trader| trader.had_happened),
            self.ledger.orders_compared,
            self.ledger.trades_proven,
        );
        let _ = writeln!(
            text,
            "    history: {} answers are what replay gives, {} calls without one, {} of which had happened; {} reads, {} of a leader",
            verdict.told, verdict.unknown, verdict.had_happened, verdict.reads, verdict.leader_reads
        );
        text
    }

    /// Stops all three, and compares what they have.
    async fn end(self, hosts: &mut Hosts, again: &str, report: &report::Arguments) -> Result<()> {
        let leader = hosts.leader().await?;
        let mut connection = Connection::open(hosts.addresses[leader]).await?;
        let request =
            api::request_at("GET", "/admin/ledger/proof", &api::key_header(hosts.admin_key()), None);
        let proof: serde_json::Value = api::ask(&mut connection, &request).await?;
        let ledgers = proof["ledgers"].as_array().context("a proof without ledgers")?;
        let unequal = ledgers.iter().find(|ledger| ledger["equal"] != true);
        ensure!(!ledgers.is_empty() && unequal.is_none(), "the ledgers do not add up: {unequal:?}");
        hosts.all_caught_up().await?;
        let terms = hosts.terms()?.len();
        for host in 0..HOSTS {
            hosts.kill(host)?;
        }
        let compared = compare(hosts)?;
        for host in 0..HOSTS {
            let verdict = Command::new(hosts.program()).arg("verify").arg(hosts.data(host)).output()?;
            let said = [verdict.stdout, verdict.stderr].concat();
            ensure!(verdict.status.success(), "verify: {}", String::from_utf8_lossy(&said));
        }
        let mut text = format!("{}\n{again}\n{}", machine_facts(), self.said);
        let figures = self.figures;
        let rounds: Vec<_> =
            figures.rounds.iter().map(|(fault, count)| format!("{count} {}", fault.words())).collect();
        let _ = writeln!(text, "faults: {}", rounds.join(", "));
        let _ = writeln!(
            text,
            "nothing lost, nothing doubled, no two leaders in any of {terms} terms; {compared} segments equal on all that have them, \
             ledgers equal"
        );
        outages(&mut text, "a leader's death to the next acknowledgement", figures.failovers);
        outages(&mut text, "a leader's cut to the next acknowledgement", figures.cut_leaders);
        outages(
            &mut text,
            "a leader's stop of a second or more to the next acknowledgement",
            figures.stopped_leaders,
        );
        let verdict = figures.verdict;
        let _ = writeln!(
            text,
            "no read of a leader lacks what was acknowledged before it, but for {} that lack what one that follows had \
             acknowledged; {} reads behind those of before at a host that was started anew; {} \
             cancels refused by a host that had not heard of the order yet",
            verdict.behind_followers, verdict.back_over_starts, verdict.unheard
        );
        let kinds = figures.plants.len();
        let planted: u32 = figures.plants.values().sum();
        let _ = writeln!(
            text,
            "planted into what was recorded, and found: {planted} violations of {kinds} kinds"
        );
        let ended: Vec<_> =
            figures.ended.iter().map(|(code, count)| format!("{count} with {code}")).collect();
        let _ = writeln!(
            text,
            "members that ended by themselves: {}; lost disks that went unnoticed: {}; full disks of a leader: {}",
            if ended.is_empty() { "none".to_owned() } else { ended.join(", ") },
            figures.unnoticed,
            figures.full_leaders
        );
        Ok(report.conclude("cluster_kills", &text, false)?)
    }
}

fn outages(text: &mut String, what: &str, mut times: Vec<f64>) {
    if times.is_empty() {
        return;
    }
    times.sort_by(f64::total_cmp);
    let part = |part: f64| times[((times.len() as f64 * part).ceil() as usize).clamp(1, times.len()) - 1];
    let _ = writeln!(
        text,
        "from {what}, {} times: p50 {:.0} ms, p99 {:.0} ms, longest {:.0} ms",
        times.len(),
        part(0.5),
        part(0.99),
        part(1.0)
    );
}

/// Compares the files, as far as all have them; how many that are. What was on its way when they were killed some have, and some do not.
fn compare(hosts: &Hosts) -> Result<usize> {
    let all = [hosts.segments(0)?, hosts.segments(1)?, hosts.segments(2)?];
    let newest =
        all.iter().filter_map(|segments| segments.keys().next_back()).max().context("no segments")?;
    let mut compared = 0;
    for (name, one) in &all[0] {
        let others = all[1..].iter().filter_map(|segments| segments.get(name)).collect::<Vec<_>>();
        for other in &others {
            let differs = one.chunks(4096).zip(other.chunks(4096)).position(|(one, other)| {
                let is_blank = |block: &[u8]| block.iter().all(|byte| *byte == 0);
                one != other && !(name == newest && (is_blank(one) || is_blank(other)))
            });
            ensure!(differs.is_none() && one.len() == other.len(), "{name} differs in block {differs:?}");
        }
        compared += usize::from(others.len() == 2);
    }
    ensure!(compared > 0, "they have no segment in common");
    Ok(compared)
}

/// Looks whom the members say they follow, until it is over.
///
/// Errors: in one term not all follow the same.
async fn watch(field: &Field, addresses: [SocketAddr; HOSTS], heard: &mut BTreeMap<u64, u64>) -> Result<()> {
    while !field.is_over.get() {
        tokio::time::sleep(WATCH).await;
        for address in addresses {
            let names = ["ringside_cluster_term", "ringside_cluster_leader"];
            let Some([term, leader]) = hosts::figures(address, names).await else { continue };
            if leader == 0 {
                continue;
            }
            let before = heard.insert(term, leader);
            ensure!(
                before.is_none_or(|before| before == leader),
                "in term {term} members {before:?} and {leader} were followed"
            );
        }
    }
    Ok(())
}

/// One fault, under load.
struct Happening<'a> {
    random: Random,
    hosts: &'a mut Hosts,
    field: &'a Field,
    figures: &'a mut Figures,
    small_disk: Option<&'a Path>,
}

impl Happening<'_> {
    fn below(&mut self, count: u64) -> u64 {
        u64::from(self.random.below(count as u32))
    }

    async fn rest(&mut self, from: u64, to: u64) {
        let length = from + self.below(to - from);
        tokio::time::sleep(Duration::from_millis(length)).await;
    }

    /// Waits for so many more acknowledged orders: it goes on.
    async fn some(&self, more: u64) -> Result<()> {
        let (begun, wanted) = (Instant::now(), self.field.placed.get() + more);
        while self.field.placed.get() < wanted {
            ensure!(begun.elapsed() < PATIENCE, "no orders are taken for {PATIENCE:?}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Ok(())
    }

    /// From a time on to the next acknowledgement by another host than `but`, milliseconds.
    fn outage(&self, from: u64, but: usize) -> Option<f64> {
        let history = self.field.history.borrow();
        let later = history.calls.iter().filter(|call| call.ended > from && call.host != but);
        let told = later.filter(|call| matches!(call.said, Said::Told(_)));
        let first = told.map(|call| call.ended).min()?;
        Some((first - from) as f64 / 1e6)
    }

    /// Waits until another host has acknowledged something since.
    async fn taken_over(&self, from: u64, but: usize) -> Result<f64> {
        let begun = Instant::now();
        loop {
            if let Some(outage) = self.outage(from, but) {
                return Ok(outage);
            }
            ensure!(begun.elapsed() < PATIENCE, "no other takes over from member {}", but + 1);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn fault(&mut self, fault: Fault) -> Result<()> {
        self.some(10).await.context("before it")?;
        self.rest(1, 300).await;
        let leader = self.hosts.leader().await?;
        let other = (leader + 1 + self.below(2) as usize) % HOSTS;
        let third = HOSTS - leader - other;
        match fault {
            Fault::KillLeader => {
                let from = self.field.now();
                self.hosts.kill(leader)?;
                let outage = self.taken_over(from, leader).await?;
                self.figures.failovers.push(outage);
                self.rest(0, 300).await;
                self.hosts.start(leader)?;
            }
            Fault::KillFollower => {
                self.hosts.kill(other)?;
                self.some(20).await.context("without a follower")?;
                self.hosts.start(other)?;
            }
            Fault::KillTwo => {
                let (one, two) = if self.below(3) == 0 { (other, third) } else { (leader, other) };
                self.hosts.kill(one)?;
                self.hosts.kill(two)?;
                let from = self.field.now();
                self.rest(0, 1_000).await;
                let to = self.field.now();
                self.hosts.start(one)?;
                self.hosts.start(two)?;
                let history = self.field.history.borrow();
                let mut alone = history.calls.iter().filter(|call| call.begun > from && call.ended < to);
                let taken = alone.find(|call| matches!(call.said, Said::Told(_)));
                ensure!(taken.is_none(), "one of three has acknowledged alone: {taken:?}");
            }
            Fault::KillAll => {
                for host in 0..HOSTS {
                    self.hosts.kill(host)?;
                }
                self.rest(0, 200).await;
                for host in 0..HOSTS {
                    self.hosts.start(host)?;
                }
            }
            Fault::Stop => {
                let whose = if self.below(3) == 0 { other } else { leader };
                // 50 ms to 5 s, as often short as long.
                let length = 50 << self.below(7);
                let length = length + self.below(length);
                let length = length.min(5_000);
                let from = self.field.now();
                self.hosts.signal(whose, "-STOP")?;
                tokio::time::sleep(Duration::from_millis(length)).await;
                self.hosts.signal(whose, "-CONT")?;
                if whose == leader && length >= 1_000 {
                    let outage = self.taken_over(from, leader).await?;
                    self.figures.stopped_leaders.push(outage);
                }
            }
            Fault::Cut => {
                let whose = if self.below(3) == 0 { other } else { leader };
                let from = self.field.now();
                for host in (0..HOSTS).filter(|host| *host != whose) {
                    self.hosts.relays().set_both(whose, host, Flow::Cut);
                }
                if whose == leader {
                    let outage = self.taken_over(from, leader).await?;
                    self.figures.cut_leaders.push(outage);
                } else {
                    self.some(20).await.context("with a follower cut off")?;
                }
                self.rest(0, 1_000).await;
                self.hosts.relays().open_all();
            }
            Fault::Partial => {
                let (one, two) = [(leader, other), (other, third)][self.below(2) as usize];
                self.hosts.relays().set_both(one, two, Flow::Cut);
                self.rest(0, 1_000).await;
                self.some(20).await.context("while two do not reach each other")?;
                self.hosts.relays().open_all();
            }
            Fault::OneWay => {
                let (from, to) = [(leader, other), (other, leader), (other, third)][self.below(3) as usize];
                self.hosts.relays().set(from, to, Flow::Silent);
                self.rest(0, 1_500).await;
                self.some(20).await.context("while one does not hear another")?;
                self.hosts.relays().open_all();
            }
            Fault::DiskFull => self.disk_full(leader).await?,
            Fault::DiskLost => {
                self.hosts.lose_disk(other)?;
                // It ends by itself as soon as it misses something; what it does not miss is gone all the same.
                let code = tokio::time::timeout(NOTICED, self.hosts.ends(other)).await;
                match code {
                    Ok(code) => *self.figures.ended.entry(code?.unwrap_or(-1)).or_default() += 1,
                    Err(_) => {
                        self.figures.unnoticed += 1;
                        self.hosts.kill(other)?;
                    }
                }
                self.some(20).await.context("without the member whose disk is lost")?;
                self.hosts.replace_lost_disk(other).await?;
            }
        }
        self.some(20).await.context("after it")
    }

    /// Fills the third member's disk, looks whether the other two go on, with the lead where it had it, and makes room again.
    async fn disk_full(&mut self, leader: usize) -> Result<()> {
        const WHOSE: usize = 2;
        let disk = self.small_disk.context("a fault that needs a small disk")?;
        let filler = fill(disk)?;
        if leader == WHOSE {
            // The load uses up the segments that it has ahead.
            let begun = Instant::now();
            while self.hosts.leader().await? == WHOSE {
                ensure!(begun.elapsed() < PATIENCE, "a leader whose disk is full leads on");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            self.figures.full_leaders += 1;
        }
        self.some(20).await.context("while the disk of a follower is full")?;
        std::fs::remove_file(filler)?;
        Ok(())
    }
}

/// Takes all room that is left, in a file that is given back.
fn fill(disk: &Path) -> Result<PathBuf> {
    let path = disk.join("filler");
    let mut file = File::create(&path)?;
    for len in [1 << 20, 64 << 10, 4 << 10] {
        let bytes = vec![1; len];
        let mut written = 0u64;
        while file.write_all(&bytes).is_ok() {
            written += len as u64;
            if written > 4 << 30 {
                bail!("{} is no small disk", disk.display());
            }
        }
    }
    Ok(path)
}
