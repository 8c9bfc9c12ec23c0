//! How many bytes a second three members agree on in batches of 1 MiB: real files, real connections, engines that are ahead of all. In
//! turns with it the disk alone, which all three share, and the loopback alone, on which the leader sends everything twice. Then how
//! fast the files of one that follows come to another, as to one whose disk was lost, and what an acknowledgement takes meanwhile.

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Parser;
use hdrhistogram::Histogram;
use ringside_bench::address::own_address;
use ringside_bench::report::{self, Bars, Unit, heading, histogram, median, percentile_table};
use ringside_bench_journal::disk::{Bare, Scratch};
use ringside_bench_journal::members::{self, CLUSTER, Leading, MEMBERS};
use ringside_bench_journal::running::{Journalled, RING, commands};
use ringside_core::command::Command;
use ringside_core::engine::{ENGINE_VERSION, Engine, EngineConfig};
use ringside_core::gate::GateMode;
use ringside_core::ring::Wait;
use ringside_mirror::keys::Identity;
use ringside_mirror::members::{Agreement, Give, Given, Hear, Member, Mesh, Wanted, fetch, start};
use ringside_mirror::ticks::Ticks;
use ringside_persist::config::{Method, Term, mode_code};
use ringside_persist::quorum::Message;
use ringside_persist::quorum::install::Fetch;
use ringside_persist::quorum::link::Link;
use ringside_persist::quorum::members::Members;
use ringside_persist::quorum::node::{Node, Role};
use ringside_persist::storage::Storage;
use ringside_persist::storage::disk::Lock;
use ringside_persist::turns;
use ringside_persist::write::status::{JournalStatus, Position};
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// The exchange's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Length of a full batch.
const BATCH: usize = 1 << 20;
/// Acknowledgements whose times are taken while nothing else happens.
const ACKNOWLEDGED: usize = 4_000;

#[derive(Parser)]
#[command(about = "How many bytes a second three members agree on")]
struct Arguments {
    /// Rounds; the members, the disk and the loopback take turns in each.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// MiB of journal in a round.
    #[arg(long, default_value_t = 192)]
    mebibytes: usize,
    /// A folder on a disk.
    #[arg(long, default_value = "target")]
    directory: PathBuf,
    #[command(flatten)]
    report: report::Arguments,
}

/// What the thread of a member is brought.
enum Brought {
    Message(Message),
    /// The journaller has something for it.
    Work,
    /// It is elected: the journal goes to a leader's engine.
    Lead(SyncSender<Arc<Link>>),
    Stop,
}

/// What others may know of a member.
#[derive(Clone, Copy)]
struct Told {
    role: Role,
    agreed: Option<(Position, u64)>,
}

struct Host {
    bring: Sender<Brought>,
    mesh: Arc<Mesh>,
    identity: Identity,
    storage: Arc<dyn Storage>,
    status: Arc<JournalStatus>,
    told: Arc<Mutex<Told>>,
    thread: JoinHandle<Result<()>>,
}

impl Host {
    fn told(&self) -> Told {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Brings a member what others say and what time it is until it is stopped.
fn carry(
    mut node: Node,
    brought: &Receiver<Brought>,
    bring: &Sender<Brought>,
    mesh: &Mesh,
    told: &Mutex<Told>,
) -> Result<()> {
    turns::ask_for_short();
    let begun = Instant::now();
    let mut ticks = Ticks::begin();
    loop {
        let first = match brought.recv_timeout(ticks.wait()) {
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            first => first.ok(),
        };
        node.set_time(begun.elapsed().as_millis() as u64);
        for one in first.into_iter().chain(brought.try_iter()) {
            match one {
                Brought::Message(message) => node.step(message),
                Brought::Work => {}
                Brought::Lead(answer) => {
                    let bring = bring.clone();
                    // It is being stopped.
                    let wake = move || drop(bring.send(Brought::Work));
                    let _ = answer.send(node.lead(Box::new(wake)));
                }
                Brought::Stop => return Ok(()),
            }
            if node.has_enough() {
                break;
            }
        }
        for _ in 0..ticks.passed() {
            node.tick();
        }
        node.work()?;
        for message in node.messages() {
            let to = message.to;
            if !mesh.send(message) {
                node.is_unreachable(to);
            }
        }
        let now = Told { role: node.role(), agreed: node.agreed() };
        let has_ended = matches!(now.role, Role::Ended);
        let before = std::mem::replace(&mut *told.lock().unwrap_or_else(PoisonError::into_inner), now);
        if has_ended && !matches!(before.role, Role::Ended) {
            eprintln!("the member that led does so no more");
        }
    }
}

fn agreement() -> Agreement {
    Agreement {
        cluster: CLUSTER,
        engine_version: ENGINE_VERSION,
        mode: mode_code(GateMode::Durable),
        segment_len: members::config().segment_len,
    }
}

/// Three hosts of one machine.
struct World {
    hosts: Vec<Host>,
    members: Vec<Member>,
    shutdown: CancellationToken,
}

impl World {
    fn new(scratch: &Scratch) -> Result<World> {
        let (mut folders, mut identities, mut members) = (Vec::new(), Vec::new(), Vec::new());
        for id in 1..=MEMBERS as u64 {
            let folder = scratch.folder(&id.to_string())?;
            let identity = Identity::of(&folder)?;
            members.push(Member { id, address: own_address().to_string(), key: identity.fingerprint() });
            identities.push(identity);
            folders.push(folder);
        }
        let shutdown = CancellationToken::new();
        let named = Members::of_settings(members.iter().map(Member::as_agreed));
        let mut hosts = Vec::new();
        for ((folder, identity), member) in folders.iter().zip(identities).zip(&members) {
            let (node, storage) = members::open(member.id, folder, &named, true)?;
            hosts.push(host(node, storage, identity, member, &members, &shutdown)?);
        }
        Ok(World { hosts, members, shutdown })
    }

    /// Waits for one that is elected.
    fn elected(&self) -> Result<(&Host, Term)> {
        let until = Instant::now() + Duration::from_secs(20);
        while Instant::now() < until {
            for host in &self.hosts {
                if let Role::Elected(term) = host.told().role {
                    return Ok((host, term));
                }
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        bail!("nobody is elected")
    }

    fn end(self) -> Result<()> {
        self.shutdown.cancel();
        for host in self.hosts {
            // It may have ended by itself.
            let _ = host.bring.send(Brought::Stop);
            host.thread.join().map_err(|_| anyhow!("a member panicked"))??;
            if let Some(mesh) = Arc::into_inner(host.mesh) {
                mesh.join();
            }
        }
        Ok(())
    }
}

fn host(
    node: Node,
    storage: Arc<dyn Storage>,
    identity: Identity,
    member: &Member,
    all: &[Member],
    shutdown: &CancellationToken,
) -> Result<Host> {
    let (bring, brought) = channel();
    let told = Arc::new(Mutex::new(Told { role: node.role(), agreed: None }));
    let (delivered, own, files) = (bring.clone(), told.clone(), storage.clone());
    let give = move |_: u64| -> Result<Given, String> {
        let agreed = own.lock().unwrap_or_else(PoisonError::into_inner).agreed;
        let (position, sequence) = agreed.ok_or("it has nothing")?;
        let (storage, segment_len) = (files.clone(), members::config().segment_len);
        Ok(Given { storage, position, sequence, segment_len, beside: None, held: Box::new(()) })
    };
    let hear = Hear {
        // It is being stopped.
        deliver: Box::new(move |message| drop(delivered.send(Brought::Message(message)))),
        orders: Box::new(|_, _| ()),
        sayings: Box::new(|_, _| ()),
        give: Arc::new(give) as Arc<Give>,
    };
    let listen: SocketAddr = member.address.parse()?;
    let mesh = start(listen, member.id, &identity, all, agreement(), hear, shutdown.clone())?;
    let mesh = Arc::new(mesh);
    let status = node.status();
    let (carried, own, again) = (mesh.clone(), told.clone(), bring.clone());
    let run = move || {
        let ended = carry(node, &brought, &again, &carried, &own);
        // What the others cannot say, who see a journal that stopped.
        ended.inspect_err(|error| eprintln!("a member ended: {error:#}"))
    };
    let thread = std::thread::Builder::new().name("quorum".to_owned()).spawn(run)?;
    Ok(Host { bring, mesh, identity, storage, status, told, thread })
}

/// Bytes a second that one sends and another reads on this machine, in pieces of a batch.
fn loopback(len: usize) -> Result<f64> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let begun = Instant::now();
    let read = std::thread::spawn(move || -> Result<()> {
        let (mut stream, _) = listener.accept()?;
        let mut piece = vec![0; BATCH];
        for _ in 0..len / BATCH {
            stream.read_exact(&mut piece)?;
        }
        Ok(())
    });
    let mut stream = TcpStream::connect(address)?;
    let piece = vec![0x5a; BATCH];
    for _ in 0..len / BATCH {
        stream.write_all(&piece)?;
    }
    read.join().map_err(|_| anyhow!("the reading thread panicked"))??;
    Ok(len as f64 / begun.elapsed().as_secs_f64())
}

/// Takes times of commands that are acknowledged one by one for as long as `goes_on`.
fn acknowledge(
    journal: &mut Journalled,
    commands: &[Command],
    goes_on: &mut dyn FnMut(usize) -> bool,
) -> Result<Histogram<u64>> {
    let mut taken = histogram();
    let mut count = 0;
    while goes_on(count) {
        taken.record(journal.push(&commands[count % commands.len()..][..1], 1)?.as_nanos() as u64)?;
        count += 1;
        // So that the disk is not its alone.
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(taken)
}

/// The files of a member on their way to another.
struct Fetched {
    came: Duration,
    checked: Duration,
    bytes: u64,
}

/// Fetches the files of `from` into the folder of `to`, aside, and reads them back.
fn fetch_files(world: &World, from: usize, to: usize) -> Result<Fetched> {
    let (source, own) = (&world.members[from], &world.hosts[to]);
    let wanted = Wanted {
        me: world.members[to].id,
        identity: &own.identity,
        agreement: agreement(),
        index: 1,
        beside: Path::new("/dev/null"),
    };
    let begun = Instant::now();
    let begin = || Fetch::begin(&own.storage, Lock::default(), &members::config(), true);
    let came = fetch(&wanted, || vec![source.clone()], begin, &CancellationToken::new())?;
    let came_in = begun.elapsed();
    let names = own.storage.list()?;
    let files = names.iter().filter(|name| name.starts_with("fetched.") && name.ends_with(".journal"));
    let bytes = files.count() as u64 * members::config().segment_len;
    let begun = Instant::now();
    came.context("it was not cancelled")?.check::<Engine>(&EngineConfig::default())?;
    Ok(Fetched { came: came_in, checked: begun.elapsed(), bytes })
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let scratch = Scratch::new(&arguments.directory)?;
    let len = arguments.mebibytes << 20;
    let bare = Bare::new(&scratch.folder("bare")?, Method::Direct, len)?;
    let world = World::new(&scratch)?;
    let (leader, term) = world.elected()?;
    let at = world.hosts.iter().position(|host| std::ptr::eq(host, leader)).context("it is one of them")?;
    let (recovered, link) = members::recover(&leader.storage, term, leader.status.clone(), || {
        let (answer, link) = sync_channel(1);
        leader.bring.send(Brought::Lead(answer))?;
        Ok(link.recv()?)
    })?;
    ensure!(link.wait(recovered.journal.position()), "the opening is not agreed on");
    let (leading, journaller) = Leading::new(recovered, &link, RING, Wait::Park, true)?;
    let Leading { producer, gate, .. } = leading;
    let mut journal = Journalled::of(producer, gate, journaller, Wait::Park, members::config().spares)?;
    let commands = commands(100_000, 42, 0);
    // A batch that is full holds fewer: records have heads, and commands are of many lengths.
    let each = |bytes: usize| bytes / 104;

    let [mut agreed, mut lengths, mut disk, mut wire, mut ratios] = [const { Vec::new() }; 5];
    journal.push(&commands, each(len / 4))?;
    for round in 0..arguments.rounds {
        let mut turns: [&mut dyn FnMut() -> Result<()>; 3] = [
            &mut || {
                let (bytes, batches) = (journal.status.bytes(), journal.status.batches());
                let took = journal.push(&commands, each(len))?;
                let bytes = (journal.status.bytes() - bytes) as f64;
                agreed.push(bytes / took.as_secs_f64() / 1e6);
                lengths.push(bytes / (journal.status.batches() - batches) as f64 / 1024.0);
                Ok(())
            },
            &mut || {
                disk.push(bare.sweep(BATCH)?.0 / 1e6);
                Ok(())
            },
            &mut || {
                wire.push(loopback(len)? / 1e6);
                Ok(())
            },
        ];
        turns.rotate_left(round % 3);
        turns.into_iter().try_for_each(|turn| turn())?;
        ratios.push(agreed[round] / (disk[round] / 3.0).min(wire[round] / 2.0));
    }
    let others: Vec<usize> = (0..MEMBERS).filter(|other| *other != at).collect();
    let alone = acknowledge(&mut journal, &commands, &mut |count| count < ACKNOWLEDGED)?;
    let (fetched, meanwhile) = std::thread::scope(|scope| {
        let fetching = scope.spawn(|| fetch_files(&world, others[0], others[1]));
        let meanwhile = acknowledge(&mut journal, &commands, &mut |_| !fetching.is_finished());
        (fetching.join().map_err(|_| anyhow!("who fetches panicked")), meanwhile)
    });
    let (fetched, meanwhile) = (fetched??, meanwhile?);
    ensure!(!link.is_lost(), "the leader was not led by another meanwhile");
    journal.running.stop();
    world.end()?;

    let mut text = heading("ringside-bench-journal");
    writeln!(text, "{} rounds of {} MiB, MB/s, medians\n", arguments.rounds, arguments.mebibytes)?;
    let length = median(&lengths);
    writeln!(text, "| three members agree on, batches of {length:.0} KiB | {:.0} |", median(&agreed))?;
    writeln!(text, "|---|---|")?;
    writeln!(text, "| the disk alone, batches of 1 MiB, each synced | {:.0} |", median(&disk))?;
    writeln!(text, "| the loopback alone | {:.0} |\n", median(&wire))?;
    let gibibyte = fetched.came.as_secs_f64() * (1 << 30) as f64 / fetched.bytes as f64;
    writeln!(
        text,
        "{} MiB of files of one that follows came in {:.2} s (1 GiB: {gibibyte:.2} s), and were read back in {:.2} s\n",
        fetched.bytes >> 20,
        fetched.came.as_secs_f64(),
        fetched.checked.as_secs_f64()
    )?;
    let rows = [("acknowledged, nothing else", &alone), ("acknowledged, files fetched", &meanwhile)];
    text += &percentile_table(&rows, Unit::Microseconds);
    writeln!(text)?;
    let mut bars = Bars::default();
    let name = "lesser of disk / 3 and loopback / 2, x agreed on";
    bars.at_most(name.to_owned(), 1.0 / median(&ratios), 1.0 / 0.8);
    bars.at_most("1 GiB of files, s".to_owned(), gibibyte, 10.0);
    let p99 = |taken: &Histogram<u64>| taken.value_at_quantile(0.99) as f64;
    bars.at_most("p99 while files are fetched, x without".to_owned(), p99(&meanwhile) / p99(&alone), 1.2);
    text += &bars.table();
    Ok(arguments.report.conclude("quorum_throughput", &text, bars.missed() > 0)?)
}
