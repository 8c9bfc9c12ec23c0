//! What agreeing costs a processor: three members of a cluster in turns on one thread, with no network, no engine, and files in memory.
//! A leader's journaller makes a batch; what the members' consensus then does until it is agreed on is timed, the leader's and the
//! followers' apart. The journaller itself, frames, and whoever is woken are not in it; the system's copy of what a follower writes is.

use anyhow::{Context, Result, bail};
use clap::Parser;
use hdrhistogram::Histogram;
use ringside_bench::report::{self, Bars, Unit, heading, histogram, percentile_table};
use ringside_bench_journal::disk::Scratch;
use ringside_bench_journal::members::{self, MEMBERS};
use ringside_core::agent::Agent;
use ringside_core::command::{AdvanceTime, Command};
use ringside_core::ring::Wait;
use ringside_persist::quorum::Message;
use ringside_persist::quorum::link::Link;
use ringside_persist::quorum::members::{Member, Members};
use ringside_persist::quorum::node::{Node, Role};
use ringside_persist::storage::Storage;
use ringside_persist::write::journal::Journaller;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Parser)]
#[command(about = "What agreeing on a batch costs a processor")]
struct Arguments {
    /// Batches of each length.
    #[arg(long, default_value_t = 4_000)]
    batches: usize,
    /// Commands in a batch, one row each.
    #[arg(long, value_delimiter = ',', default_value = "1,28,400")]
    commands: Vec<usize>,
    /// A folder in memory.
    #[arg(long, default_value = "/dev/shm")]
    directory: PathBuf,
    #[command(flatten)]
    report: report::Arguments,
}

struct World {
    nodes: Vec<Node>,
    files: Vec<Arc<dyn Storage>>,
    leader: usize,
    /// What each spent on the batch under way.
    spent: [Duration; MEMBERS],
}

impl World {
    fn new(scratch: &Scratch) -> Result<World> {
        let member =
            |id: u64| (id, Member { address: format!("host-{id}:1"), key: [id as u8; 32], is_voter: true });
        let named = Members::of_settings((1..=MEMBERS as u64).map(member));
        let (mut nodes, mut files) = (Vec::new(), Vec::new());
        for id in 1..=MEMBERS as u64 {
            let (node, storage) = members::open(id, &scratch.folder(&id.to_string())?, &named, false)?;
            nodes.push(node);
            files.push(storage);
        }
        let mut world = World { nodes, files, leader: 0, spent: Default::default() };
        for _ in 0..1_000 {
            world.nodes.iter_mut().for_each(Node::tick);
            world.exchange()?;
            if let Some(leader) = world.nodes.iter().position(|node| matches!(node.role(), Role::Elected(_)))
            {
                world.leader = leader;
                return Ok(world);
            }
        }
        bail!("nobody is elected")
    }

    /// Every member works until none has anything to say.
    fn exchange(&mut self) -> Result<()> {
        let mut waiting: Vec<Message> = Vec::new();
        loop {
            for (node, spent) in self.nodes.iter_mut().zip(&mut self.spent) {
                let (own, others) = waiting.into_iter().partition(|message| message.to == node.member());
                waiting = others;
                let own: Vec<Message> = own;
                let begun = Instant::now();
                own.into_iter().for_each(|message| node.step(message));
                node.work()?;
                let said = node.messages();
                *spent += begun.elapsed();
                waiting.extend(said);
            }
            if waiting.is_empty() {
                return Ok(());
            }
        }
    }
}

/// The leader's side of the journal.
struct Leading {
    journal: members::Leading,
    journaller: Journaller,
    link: Arc<Link>,
}

impl Leading {
    fn begin(world: &mut World) -> Result<Leading> {
        let node = &mut world.nodes[world.leader];
        let Role::Elected(term) = node.role() else { bail!("it was elected") };
        let storage = world.files[world.leader].clone();
        let status = node.status();
        let (recovered, link) = members::recover(&storage, term, status, || Ok(node.lead(Box::new(|| ()))))?;
        world.exchange()?;
        if link.is_agreed(recovered.journal.position()) != Some(true) {
            bail!("the opening is not agreed on");
        }
        let (journal, journaller) = members::Leading::new(recovered, &link, 1 << 12, Wait::Yield, false)?;
        Ok(Leading { journal, journaller, link })
    }

    /// A batch of so many commands is made, agreed on and written.
    fn batch(&mut self, world: &mut World, commands: usize) -> Result<()> {
        let members::Leading { producer, gate, time_ns } = &mut self.journal;
        for _ in 0..commands {
            *time_ns += 1;
            let sequence = producer.next_sequence();
            let command = Command { sequence, time_ns: *time_ns, ..Command::new(AdvanceTime {}) };
            producer.try_publish(&command).ok().context("the ring has room")?;
        }
        let last = producer.next_sequence() - 1;
        self.journaller.do_work();
        world.spent = Default::default();
        world.exchange()?;
        while self.journaller.do_work() > 0 {}
        world.exchange()?;
        if gate.durable() != last || self.link.is_lost() {
            bail!("command {last} is not agreed on");
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let scratch = Scratch::new(&arguments.directory)?;
    let mut world = World::new(&scratch)?;
    let mut leading = Leading::begin(&mut world)?;
    let mut taken: Vec<(String, Histogram<u64>)> = Vec::new();
    for &commands in &arguments.commands {
        let [mut of_leader, mut of_follower] = [histogram(), histogram()];
        for count in 0..arguments.batches {
            leading.batch(&mut world, commands)?;
            // The first are not warm.
            if count < arguments.batches / 10 {
                continue;
            }
            for (at, spent) in world.spent.iter().enumerate() {
                let of = if at == world.leader { &mut of_leader } else { &mut of_follower };
                of.record(spent.as_nanos() as u64)?;
            }
        }
        taken.push((format!("leader, {commands} commands"), of_leader));
        taken.push((format!("follower, {commands} commands"), of_follower));
    }
    let mut text = heading("ringside-bench-journal");
    writeln!(text, "{} batches of each length\n", arguments.batches)?;
    let rows: Vec<_> = taken.iter().map(|(name, taken)| (name.as_str(), taken)).collect();
    text += &percentile_table(&rows, Unit::Microseconds);
    writeln!(text)?;
    let mut bars = Bars::default();
    for (name, taken) in &taken {
        let limit = if name.starts_with("leader") { 5.0 } else { 4.0 };
        if !name.contains("400") {
            bars.at_most(format!("{name}, us, median"), taken.value_at_quantile(0.5) as f64 / 1e3, limit);
        }
    }
    text += &bars.table();
    Ok(arguments.report.conclude("quorum", &text, bars.missed() > 0)?)
}
