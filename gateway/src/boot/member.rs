//! The role of a member of a cluster: it follows whoever leads, serves reads meanwhile, and runs the exchange for as long as it leads.
//!
//! One thread carries the consensus through all of this; it never computes on commands. What answers clients stays, and so does the
//! engine of who is elected: it has followed, opens the term, and takes orders.

use super::credentials;
use super::error::BootError;
use super::fetch::Files;
use super::front::Front;
use super::lanes::{self, Lanes};
use super::membership::{MemberChanges, Writes};
use super::replica::{self, Following, Replica};
use super::rings::Rings;
use super::stages::{INPUTS, Led, Origin, disk, persist_config};
use super::upstream::Upstream;
use parking_lot::Mutex;
use ringside_commands::clock::Clock;
use ringside_commands::ingress::Lease;
use ringside_config::Config;
use ringside_core::engine::ENGINE_VERSION;
use ringside_core::ids::Sequence;
use ringside_core::sums::Sums;
use ringside_edge::metrics::Page;
use ringside_edge::worker::cluster::{Ask, Control};
use ringside_mirror::keys::Identity;
use ringside_mirror::members::{self, Agreement, Give, Hear, Member, Mesh};
use ringside_mirror::ticks::Ticks;
use ringside_persist::config::{PersistConfig, Term, mode_code};
use ringside_persist::error::PersistError;
use ringside_persist::quorum::divergence::{Divergence, Saying, Verdict};
use ringside_persist::quorum::install::Fetched;
use ringside_persist::quorum::link::Link;
use ringside_persist::quorum::members::Members;
use ringside_persist::quorum::node::{self, Node, Role};
use ringside_persist::quorum::{Message, vote};
use ringside_persist::storage::disk::Lock;
use ringside_persist::turns;
use ringside_persist::write::status::JournalStatus;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// After how long it is looked again whether the engine has applied what is to be proposed: it has nearly always.
const GLANCE: Duration = Duration::from_micros(50);

/// What its thread is brought.
enum Brought {
    Message(Message),
    /// Another member says what its engine told.
    Said(u64, Saying),
    /// The journaller has something for it.
    Work,
    /// It is elected: the journal goes to a leader's engine.
    Lead(SyncSender<Arc<Link>>),
    /// The files of another came, or not; nothing where they are not wanted any more.
    Fetched(Result<Option<Fetched>, String>),
    /// It is to lead no more; this one is, where one is named.
    HandOver(Option<u64>),
    /// An operator wants other members.
    Ask(Ask),
    Stop,
}

/// What others may know of it.
#[derive(Clone, Debug)]
struct Told {
    role: Role,
    term: u64,
    batches: (u64, u64),
    sequence: Sequence,
    has_journal: bool,
    /// The files of another are wanted.
    is_fetching: bool,
    /// Who is to lead for want of room here.
    roomier: Option<u64>,
    failure: Option<Failure>,
}

/// Why it ended by itself.
#[derive(Clone, Debug)]
enum Failure {
    /// Its disk.
    Journal(String),
    /// Its engine is not to be believed.
    Diverged(String),
}

impl From<Failure> for BootError {
    fn from(failure: Failure) -> BootError {
        match failure {
            Failure::Journal(reason) => BootError::Journal(reason),
            Failure::Diverged(reason) => BootError::Diverged(reason),
        }
    }
}

/// One opening of a member, and the thread that carries it.
struct Running {
    member: u64,
    bring: Sender<Brought>,
    told: Arc<Mutex<Told>>,
    cluster: [u8; 16],
    journal: Arc<JournalStatus>,
    mesh: Arc<Mesh>,
    /// Whom an operator wants to lead.
    transfer: Arc<Mutex<Option<u64>>>,
    counted: Counted,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Running {
    fn told(&self) -> Told {
        self.told.lock().clone()
    }

    fn stop(&self) {
        // It may have ended by itself.
        let _ = self.bring.send(Brought::Stop);
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

impl Upstream for Running {
    fn journal_id(&self) -> Option<[u8; 16]> {
        self.told().has_journal.then_some(self.cluster)
    }

    fn sequence(&self) -> Sequence {
        self.told().sequence
    }

    fn is_over(&self) -> bool {
        let told = self.told();
        told.failure.is_some() || !matches!(told.role, Role::Follows(_))
    }

    fn leader(&self) -> Option<(u64, u64)> {
        let told = self.told();
        match told.role {
            Role::Follows(Some(leader)) => Some((leader, told.term)),
            _ => None,
        }
    }

    fn figures(&self, page: &mut Page) {
        let told = self.told();
        page.gauge("ringside_cluster_term", "Term of the cluster that this member knows of", told.term);
        let leader = match told.role {
            Role::Follows(leader) => leader.unwrap_or(0),
            Role::Elected(_) | Role::Leads => self.member,
            Role::Ended => 0,
        };
        page.gauge(
            "ringside_cluster_leader",
            "Number of the member that leads as far as this one knows, 0 for none",
            leader,
        );
        page.gauge(
            "ringside_cluster_batches_behind",
            "Batches in this member's journal that are not known to be agreed on",
            told.batches.0 - told.batches.1,
        );
        page.gauge(
            "ringside_cluster_fetching",
            "1 while this member is too far behind and fetches the files of another",
            u8::from(told.is_fetching),
        );
        let doubts = self.counted.lock().as_ref().and_then(|sums| Some(sums.try_lock()?.doubt().is_some()));
        page.gauge(
            "ringside_cluster_differs",
            "1 while this member's engine told something else than the leader's, and it is not known who is right",
            u8::from(doubts == Some(true)),
        );
        let connected = self.mesh.members().iter().filter(|member| self.mesh.is_connected(member.id)).count();
        page.gauge(
            "ringside_cluster_connected",
            "Other members that this one is connected to",
            connected as u64,
        );
    }

    fn counts(&self, sums: Arc<Sums>) -> bool {
        *self.counted.lock() = Some(sums);
        true
    }

    fn hand_over(&self, to: Option<u64>) {
        // It may have ended by itself.
        let _ = self.bring.send(Brought::HandOver(to));
    }

    fn take_transfer(&self) -> Option<u64> {
        self.transfer.lock().take()
    }

    fn roomier(&self) -> Option<u64> {
        self.told().roomier
    }
}

/// How long it waits to fetch files again that did not come.
const PAUSE: Duration = Duration::from_secs(1);

/// What its engine told, once there is one: it goes on to count when it comes to lead.
type Counted = Arc<Mutex<Option<Arc<Sums>>>>;

/// How long one who leads, and is wrong, waits for another to lead.
const SUCCEEDED: Duration = Duration::from_millis(500);

/// Files of another on their way.
struct Fetching {
    cancelled: CancellationToken,
    thread: JoinHandle<()>,
}

impl Fetching {
    /// Begins to fetch everything up to batch `index`: from members that follow rather than from the one that leads, which has enough
    /// to do.
    fn begin(index: u64, carried: &Carried) -> std::io::Result<Fetching> {
        let cancelled = CancellationToken::new();
        let (files, mesh, told) = (carried.files.clone(), carried.mesh.clone(), carried.told.clone());
        let (bring, token) = (carried.bring.clone(), cancelled.clone());
        let sources = move || {
            let leader = match told.lock().role {
                Role::Follows(leader) => leader,
                _ => None,
            };
            let mut sources = mesh.members();
            sources.retain(|member| mesh.is_connected(member.id));
            sources.sort_by_key(|member| Some(member.id) == leader);
            sources
        };
        let run = move || {
            let fetched = files.fetch(index, sources, &token);
            // It is being stopped.
            let _ = bring.send(Brought::Fetched(fetched));
        };
        let thread = std::thread::Builder::new().name("fetch".to_owned()).spawn(run)?;
        Ok(Fetching { cancelled, thread })
    }

    fn end(self) {
        self.cancelled.cancel();
        // It panics where it was said why.
        let _ = self.thread.join();
    }
}

/// What carries a member works with.
struct Carried {
    bring: Sender<Brought>,
    mesh: Arc<Mesh>,
    told: Arc<Mutex<Told>>,
    files: Arc<Files>,
    lease: Arc<Lease>,
    control: Arc<Control>,
    writes: Arc<Writes>,
    transfer: Arc<Mutex<Option<u64>>>,
    counted: Counted,
    /// Members as the settings name them.
    settings: Vec<Member>,
}

/// Carries `node` until it is stopped or its disk fails. `end` is called once it leads no more, or another journal takes the place of
/// its own.
fn carry(mut node: Node, brought: &Receiver<Brought>, carried: &Carried, end: &dyn Fn()) {
    let mut fetching = None;
    let is_over = carry_on(&mut node, brought, carried, &mut fetching);
    carried.control.taken_by(None);
    carried.files.show(None);
    if let Some(fetching) = fetching {
        fetching.end();
    }
    drop(node);
    if is_over {
        end();
    }
}

/// Whether it is over by itself.
fn carry_on(
    node: &mut Node,
    brought: &Receiver<Brought>,
    carried: &Carried,
    fetching: &mut Option<Fetching>,
) -> bool {
    let mut ticks = Ticks::begin();
    let mut fetch_at = Instant::now();
    let mut membership =
        MemberChanges::new(carried.control.clone(), carried.writes.clone(), &carried.settings);
    let mut divergence = Divergence::default();
    let mut wrong: Option<(Instant, String)> = None;
    let bring = carried.bring.clone();
    carried.control.taken_by(Some(Box::new(move |ask| {
        // It is being stopped, and whoever asked is told so.
        let _ = bring.send(Brought::Ask(ask));
    })));
    loop {
        let wait = if node.waits_for_engine() { ticks.wait().min(GLANCE) } else { ticks.wait() };
        let first = match brought.recv_timeout(wait) {
            Ok(first) => Some(first),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return false,
        };
        let mut failure = None;
        node.set_time(carried.lease.now_ms());
        for one in first.into_iter().chain(brought.try_iter()) {
            match one {
                Brought::Message(message) => node.step(message),
                Brought::Said(from, saying) => divergence.hear(from, saying, carried.lease.now_ms()),
                Brought::Work => {}
                Brought::Ask(ask) => membership.ask(node, ask, &carried.transfer),
                Brought::HandOver(to) => {
                    if !node.hand_over(to) {
                        tracing::warn!("there is nobody to hand the lead over to");
                    }
                }
                Brought::Lead(answer) => {
                    if matches!(node.role(), Role::Elected(_)) {
                        let bring = carried.bring.clone();
                        let wake = move || {
                            // It is stopped, and so will be whoever wakes it.
                            let _ = bring.send(Brought::Work);
                        };
                        let _ = answer.send(node.lead(Box::new(wake)));
                    }
                }
                Brought::Fetched(fetched) => {
                    if let Some(fetching) = fetching.take() {
                        fetching.end();
                    }
                    fetch_at = Instant::now() + PAUSE;
                    match fetched {
                        Ok(Some(fetched)) => match node.adopt(&fetched) {
                            Ok(true) => tracing::info!(
                                sequence = fetched.sequence,
                                snapshot = fetched.snapshot,
                                "the journal of another member takes the place of this one's"
                            ),
                            Ok(false) => tracing::info!("what was fetched does not reach far enough"),
                            Err(error) => failure = Some(Failure::Journal(error.to_string())),
                        },
                        Ok(None) => {}
                        Err(reason) => tracing::warn!(%reason, "the files of another member are not taken"),
                    }
                }
                Brought::Stop => return false,
            }
            if node.has_enough() {
                break;
            }
        }
        for _ in 0..ticks.passed() {
            node.tick();
        }
        let worked = node.work();
        // Before others are told of what ends it.
        carried.lease.set(node.lease_until_ms());
        for message in node.messages() {
            let to = message.to;
            if !carried.mesh.send(message) {
                node.is_unreachable(to);
            }
        }
        let failure = failure.or_else(|| worked.err().map(|error| Failure::Journal(error.to_string())));
        let leads = matches!(node.role(), Role::Leads | Role::Elected(_));
        if let Some(reason) = carried.judge(node, &mut divergence, leads)
            && wrong.is_none()
        {
            tracing::error!(reason, "this member is wrong");
            wrong = Some((Instant::now(), reason));
            node.hand_over(None);
        }
        let is_succeeded = |(since, _): &&(Instant, String)| !leads || since.elapsed() >= SUCCEEDED;
        let diverged =
            wrong.as_ref().filter(is_succeeded).map(|(_, reason)| Failure::Diverged(reason.clone()));
        let failure = failure.or(diverged);
        let now = tell(node, failure.clone());
        let is_over = matches!(now.role, Role::Ended) || failure.is_some();
        *carried.told.lock() = now;
        if is_over {
            return true;
        }
        carried.files.show(Some(node));
        membership.work(node, &carried.mesh);
        match (node.wants(), &fetching) {
            (Some(index), None) if Instant::now() >= fetch_at => match Fetching::begin(index, carried) {
                Ok(begun) => *fetching = Some(begun),
                Err(error) => {
                    tracing::error!(%error, "files cannot be fetched");
                    fetch_at = Instant::now() + PAUSE;
                }
            },
            // It says so.
            (None, Some(begun)) => begun.cancelled.cancel(),
            _ => {}
        }
    }
}

impl Carried {
    /// Says and hears whose engine is wrong; why this one is, where it is.
    fn judge(&self, node: &Node, divergence: &mut Divergence, leads: bool) -> Option<String> {
        let sums = self.counted.lock().clone()?;
        let (voters, now_ms) = (node.members().voters(), self.lease.now_ms());
        let (sayings, verdict) = divergence.work(node.member(), &sums, &voters, leads, now_ms);
        sayings.into_iter().for_each(|saying| self.mesh.say(saying));
        match verdict {
            Verdict::GoesOn => None,
            Verdict::Ends(reason) => Some(reason),
        }
    }
}

fn tell(node: &Node, failure: Option<Failure>) -> Told {
    Told {
        role: node.role(),
        term: node.term(),
        batches: node.batches(),
        sequence: node.sequence(),
        has_journal: node.has_journal(),
        is_fetching: node.wants().is_some(),
        roomier: node.roomier(),
        failure,
    }
}

/// Runs until it is told to stop, or its disk fails. `ready` is called once it answers.
pub(super) fn run(
    config: &Arc<Config>,
    clock: &Clock,
    member: u64,
    taken: &Lock,
    shutdown: &CancellationToken,
    out: &mut impl Write,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), BootError> {
    let Some(listen) = config.cluster_listen else { unreachable!("settings are checked together") };
    credentials::check_none_outside(config)?;
    let identity = Identity::of(&config.data_dir).map_err(BootError::Mirror)?;
    let persist = persist_config(config, clock);
    let disk = Arc::new(disk(&persist)?);
    let cluster = vote::read(disk.as_ref())?.cluster;
    let agreement = Agreement {
        cluster,
        engine_version: ENGINE_VERSION,
        mode: mode_code(persist.mode),
        segment_len: persist.segment_len,
    };
    let files = Arc::new(Files {
        config: config.clone(),
        member,
        identity: identity.clone(),
        agreement,
        taken: taken.clone(),
        disk,
        persist: persist.clone(),
        agreed: Mutex::default(),
        given: AtomicU64::new(0),
    });
    // Of the opening that runs: messages that come between two of them are sent again.
    let inbox: Arc<Mutex<Option<Sender<Brought>>>> = Arc::default();
    let deliver = {
        let inbox = inbox.clone();
        Box::new(move |message| {
            if let Some(inbox) = &*inbox.lock() {
                // It is being stopped.
                let _ = inbox.send(Brought::Message(message));
            }
        })
    };
    let sayings = {
        let inbox = inbox.clone();
        Box::new(move |from, saying| {
            if let Some(inbox) = &*inbox.lock() {
                // It is being stopped.
                let _ = inbox.send(Brought::Said(from, saying));
            }
        })
    };
    let give: Arc<Give> = {
        let files = files.clone();
        Arc::new(move |wanted| files.give(wanted))
    };
    let lanes = Arc::new(Lanes::new(clock.now_ns().cast_unsigned() ^ member << 56));
    let orders = {
        let lanes = lanes.clone();
        Box::new(move |from, orders| lanes.hear(from, &orders))
    };
    let connected = CancellationToken::new();
    let mesh = members::start(
        listen,
        member,
        &identity,
        &config.cluster_members,
        agreement,
        Hear { deliver, orders, sayings, give },
        connected.clone(),
    );
    let mesh = Arc::new(mesh.map_err(BootError::Mirror)?);
    lanes.go_by(&mesh);
    let lease = Arc::new(Lease::default());
    let control = Arc::new(Control::default());
    let part = Part {
        config,
        clock,
        member,
        taken,
        files: &files,
        persist: &persist,
        mesh: &mesh,
        lease: &lease,
        control: &control,
        lanes: &lanes,
        writes: &Arc::default(),
    };
    let (mut front, mut ready) = (None, Some(ready));
    let mut ended = Ok(());
    while ended.is_ok() && !shutdown.is_cancelled() {
        ended = part.once(&mut front, &inbox, shutdown, out, &mut ready);
        inbox.lock().take();
    }
    let stopped = front.as_mut().map_or(Ok(()), Front::stop);
    // What shows figures has a part of the mesh.
    drop(front);
    connected.cancel();
    if let Some(mesh) = Arc::into_inner(mesh) {
        mesh.join();
    }
    if ended.is_ok() {
        let _ = writeln!(out, "ringside: member {member} has stopped");
    }
    ended.and(stopped)
}

/// What every opening of this member has in common.
struct Part<'a> {
    config: &'a Arc<Config>,
    clock: &'a Clock,
    member: u64,
    taken: &'a Lock,
    files: &'a Arc<Files>,
    persist: &'a PersistConfig,
    mesh: &'a Arc<Mesh>,
    lease: &'a Arc<Lease>,
    lanes: &'a Arc<Lanes>,
    writes: &'a Arc<Writes>,
    control: &'a Arc<Control>,
}

impl Part<'_> {
    /// From its opening to the end of its lead, or of everything.
    fn once<W: Write, R: FnOnce(SocketAddr)>(
        &self,
        front: &mut Option<Front>,
        inbox: &Mutex<Option<Sender<Brought>>>,
        shutdown: &CancellationToken,
        out: &mut W,
        ready: &mut Option<R>,
    ) -> Result<(), BootError> {
        let role = shutdown.child_token();
        let running = Arc::new(self.open(&role)?);
        match self.files.take_over_archive(running.sequence()) {
            Ok(false) => {}
            // What reads the one that was there is closed with what answers from it.
            Ok(true) => front.take().map_or(Ok(()), |mut front| front.stop())?,
            Err(error) => {
                running.stop();
                return Err(error.into());
            }
        }
        *inbox.lock() = Some(running.bring.clone());
        let mut told = move |address: SocketAddr| {
            if let Some(ready) = ready.take() {
                ready(address);
            }
        };
        let front = match front {
            Some(front) => front,
            none => {
                let side = credentials::held(&self.persist.directory)?;
                // It may be ended, and another opened.
                let serving = shutdown.child_token();
                let front = none.insert(Front::open(self.config, self.clock, &side, &serving, out)?);
                front.shared.phase.leased(self.lease.clone());
                // It is the first.
                let _ = front.shared.cluster.set(self.control.clone());
                front
            }
        };
        let rings = {
            let shared = front.shared.clone();
            std::thread::spawn(move || Rings::make(&shared, shared.ports.len() + INPUTS + lanes::MEMBERS))
        };
        let outcome = loop {
            let following = self.follow(front, &running, out, &mut told);
            match running.told().role {
                _ if shutdown.is_cancelled() => {
                    // What is being answered is answered from what it shows.
                    let stopped = front.stop();
                    following.into_iter().for_each(Following::end);
                    break stopped;
                }
                _ if running.told().failure.is_some() => {
                    drop(following.and_then(Following::take));
                    break Ok(());
                }
                Role::Elected(term) => {
                    break self.lead(front, &running, (term, following, rings), &role, out, &mut told);
                }
                // It was elected, and others were before it could begin.
                Role::Follows(_) => {
                    drop(following.and_then(Following::take));
                    self.lanes.end(&front.shared, false);
                }
                Role::Leads | Role::Ended => {
                    drop(following.and_then(Following::take));
                    break Ok(());
                }
            };
        };
        self.lanes.end(&front.shared, false);
        let failure = running.told().failure;
        running.stop();
        match failure {
            Some(failure) => Err(failure.into()),
            None => outcome,
        }
    }

    fn open(&self, role: &CancellationToken) -> Result<Running, PersistError> {
        let membership = node::Membership {
            member: self.member,
            members: Members::of_settings(self.config.cluster_members.iter().map(Member::as_agreed)),
            // Each start waits as long as no other.
            seed: self.clock.now_ns().cast_unsigned() ^ self.member << 56,
        };
        let disk = self.files.disk.clone();
        let node = Node::open(disk, self.taken.clone(), self.persist, ENGINE_VERSION, &membership, true)?;
        let told = Arc::new(Mutex::new(tell(&node, None)));
        let (cluster, journal) = (node.cluster(), node.status());
        let (bring, brought) = channel();
        let role = role.clone();
        let transfer: Arc<Mutex<Option<u64>>> = Arc::default();
        let counted = Counted::default();
        let carried = Carried {
            bring: bring.clone(),
            mesh: self.mesh.clone(),
            told: told.clone(),
            files: self.files.clone(),
            lease: self.lease.clone(),
            control: self.control.clone(),
            writes: self.writes.clone(),
            transfer: transfer.clone(),
            counted: counted.clone(),
            settings: self.config.cluster_members.clone(),
        };
        let lease = self.lease.clone();
        let run = move || {
            // Others wait for what it says, and take silence for a loss.
            turns::ask_for_short();
            carry(node, &brought, &carried, &|| role.cancel());
            lease.set(0);
        };
        let thread = std::thread::Builder::new().name("quorum".to_owned()).spawn(run);
        let thread = thread.map_err(|cause| PersistError::Member { reason: cause.to_string() })?;
        let (mesh, thread) = (self.mesh.clone(), Mutex::new(Some(thread)));
        Ok(Running { member: self.member, bring, told, cluster, journal, mesh, transfer, counted, thread })
    }

    fn replica(&self, running: &Arc<Running>) -> Replica {
        let (upstream, files) = (running.clone(), self.files.disk.clone());
        Replica { upstream, files, journal: running.journal.clone(), lanes: Some(self.lanes.clone()) }
    }

    /// Serves reads until it is elected, or there is nothing more to follow.
    fn follow(
        &self,
        front: &mut Front,
        running: &Arc<Running>,
        out: &mut impl Write,
        ready: &mut dyn FnMut(SocketAddr),
    ) -> Option<Following> {
        let greet = |address| {
            format!(
                "ringside: member {} of     a cluster of {}; it follows from sequence {}\n\
                 ringside: answers on      http://{address}/api/v1: reads at the sequence that each answer names; orders go to the one that leads",
                self.member,
                self.config.cluster_members.len(),
                running.sequence()
            )
        };
        replica::serve(front, &self.replica(running), out, greet, ready)
    }

    /// Runs the exchange until it leads no more, with the engine that has followed: everything in the journal is agreed on.
    fn lead(
        &self,
        front: &mut Front,
        running: &Arc<Running>,
        (term, following, rings): (Term, Option<Following>, JoinHandle<Result<Rings, BootError>>),
        role: &CancellationToken,
        out: &mut impl Write,
        ready: &mut dyn FnMut(SocketAddr),
    ) -> Result<(), BootError> {
        let (follower, keeping) = match following.and_then(Following::take) {
            Some(taken) => taken,
            None => replica::follower(&front.shared, &self.replica(running))?,
        };
        let followed = match follower.into_followed(running.journal.shown()) {
            Err(error @ PersistError::Diverged { .. }) => return Err(BootError::Diverged(error.to_string())),
            followed => Box::new(followed?),
        };
        front.shared.edge.auth.refresh(&followed.side)?;
        let (answer, link) = sync_channel(1);
        let _ = running.bring.send(Brought::Lead(answer));
        // It may have lost meanwhile: then there is no answer, and it follows again.
        let Ok(link) = link.recv_timeout(Duration::from_secs(1)) else { return Ok(()) };
        let _ = writeln!(out, "ringside: member {} leads in term {}", self.member, term.number);
        let (files, taken) = (self.files.disk.clone(), self.taken.clone());
        let (upstream, lanes, writes) = (running.clone(), self.lanes.clone(), self.writes.clone());
        let cluster = running.cluster;
        let led = Led { term, cluster, link, files, taken, upstream, lanes, writes };
        // It panics where it was said why.
        let rings = Box::new(rings.join().map_err(|_| BootError::Lost)??);
        match super::lead(front, Origin::Followed(followed, keeping, rings, &led), role, out, ready) {
            Err(BootError::Lost) => Ok(()),
            Err(_) if led.link.is_lost() && running.told().failure.is_none() => Ok(()),
            ended => ended,
        }
    }
}
