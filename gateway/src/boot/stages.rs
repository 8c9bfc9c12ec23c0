//! The graph of stages: the only place where rings are made and joined.
//!
//! ```text
//! ports -> input rings -> matcher -> journal ring -> journaller -> gate
//!                            |                                      |
//!                            +----> output ring -> egress <---------+
//! ```
//! The follower reads the files of the journal in the background and feeds the archive; the restocker keeps memory ready for the
//! views; the keeper writes down what is kept for user streams.

use super::error::BootError;
use super::keeper::{Keeper, Teller};
use super::lanes::{self, Lanes};
use super::membership::Writes;
use super::rings::{Rings, ends, wait};
use super::shown::Shown;
use super::upstream::Upstream;
use ringside_chain::proof::Proofs;
use ringside_commands::clock::Clock;
use ringside_commands::ingress::{CommandProducer, ReplyQueue};
use ringside_config::{Acknowledge, Config, StorageKind, Threading, WaitKind};
use ringside_core::agent::{Activity, Agent, Runner, Running};
use ringside_core::command::Command;
use ringside_core::event::{Event, Kind};
use ringside_core::gate::{Gate, GateMode};
use ringside_core::hash_seed::HashSeed;
use ringside_core::ids::Sequence;
use ringside_core::matcher::{Matcher, MatcherFigures, MatcherOptions};
use ringside_core::memory::Pages;
use ringside_core::pace::Pace;
use ringside_core::ring::{Gauge, Wait};
use ringside_core::{Engine, EngineConfig};
use ringside_edge::worker::Shared;
use ringside_egress::{Egress, Listener};
use ringside_mirror::leader::Mirrored;
use ringside_persist::archive::sqlite::Sqlite;
use ringside_persist::archive::{Archive, Mark, Upgrade};
use ringside_persist::config::{Method, PersistConfig, Term};
use ringside_persist::error::{FoldError, PersistError};
use ringside_persist::mirror::source::Source;
use ringside_persist::quorum::link::Link;
use ringside_persist::recover::follower::{Examine, Followed, Follower, FollowerStatus, check_kept};
use ringside_persist::recover::machine::Fold;
use ringside_persist::recover::recovery::{Recovered, Report, recover_in, take_over};
use ringside_persist::storage::disk::{Disk, Lock};
use ringside_persist::turns;
use ringside_persist::write::journal::Journaller;
use ringside_persist::write::side::SideWriter;
use ringside_persist::write::status::JournalStatus;
use ringside_streams::pusher::Pusher;
use ringside_views::archive::archiver::Archiver;
use ringside_views::archive::readers::Readers;
use ringside_views::archive::rows;
use ringside_views::chunk_pool::Refiller;
use ringside_views::log::Retention;
use ringside_views::{Upgraded, Views};
use std::fmt::{Display, Formatter};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Lanes of one epoch at most, which `workers` is bounded by; a source number is `epoch x LANES + lane`.
const LANES: u32 = 256;
/// Inputs besides those of gateway threads: what is decided by the chain, and by the process itself.
pub(super) const INPUTS: usize = 2;
/// Processors up to which there is none to spare for the stages: clients, the disk and the archive want some, too.
const INVOKED_PROCESSORS: usize = 2;

/// What the configuration says of the journal.
pub fn persist_config(config: &Config, clock: &Clock) -> PersistConfig {
    PersistConfig {
        mode: mode(config),
        method: match config.storage {
            StorageKind::Auto => None,
            StorageKind::Mapped => Some(Method::Mapped),
            StorageKind::Direct => Some(Method::Direct),
        },
        shed_after: config.flush_shed,
        segment_len: config.segment_len.bytes(),
        // A journaller that shares its thread must not block in a sync.
        inline_len: if shares_journaller(config) { 0 } else { PersistConfig::new("").inline_len },
        snapshot_commands: config.snapshot_commands,
        snapshot_interval: config.snapshot_interval,
        snapshots_kept: config.snapshots_kept,
        follower_lag: config.follower_lag.bytes(),
        any_file_system: config.any_file_system || config.test_deployment,
        opened_at_ns: clock.now_ns(),
        ..PersistConfig::new(config.data_dir.join("journal"))
    }
}

/// What the configuration says of the engine's memory.
pub fn engine_config(config: &Config) -> EngineConfig {
    let pages = if config.huge_pages { Pages::Huge } else { Pages::Small };
    EngineConfig {
        orders: config.engine_orders,
        accounts: config.engine_accounts,
        pages,
        hash_seed: HashSeed::random(),
        ..EngineConfig::default()
    }
}

fn mode(config: &Config) -> GateMode {
    match config.acknowledge {
        Acknowledge::Durable => GateMode::Durable,
        Acknowledge::Written => GateMode::Written,
    }
}

/// Storing into the map never blocks, so that the journaller can share the matcher's thread then.
fn shares_journaller(config: &Config) -> bool {
    config.threading == Threading::Shared && config.acknowledge == Acknowledge::Written
}

/// Whether gateway threads run the stages of the shared thread themselves: where there are not even processors for one of
/// each, waking that thread for every batch costs more than what it does. A host that gave it a core of its own, or has it
/// wait without sleeping, is taken at its word.
fn is_invoked(config: &Config) -> bool {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    config.threading == Threading::Shared
        && config.wait == WaitKind::Park
        && config.pin_matcher.is_none()
        && processors <= INVOKED_PROCESSORS
}

/// The archive of the configuration.
pub(super) fn archive(config: &Config) -> Sqlite {
    Sqlite::new(archive_folder(config).join("history.db"))
        .telling(told)
        .faceted(rows::facets_of)
        .taking_over(rows::entries_of)
}

/// Says what becomes of an archive of an earlier version.
fn told(upgrade: &Upgrade) {
    let Upgrade { what, from, to, done } = *upgrade;
    match done {
        None => tracing::info!(what, from, to, "the archive is upgraded: this may take minutes"),
        Some((rows, took)) => tracing::info!(what, from, to, rows, ?took, "the archive is upgraded"),
    }
}

fn archive_folder(config: &Config) -> PathBuf {
    config.data_dir.join("archive")
}

/// Whether a journal's folder has never held one: there is nothing in it, or the files alone that are locked.
pub(crate) fn is_blank(journal: &Path) -> bool {
    std::fs::read_dir(journal).is_ok_and(|entries| {
        entries
            .flatten()
            .all(|entry| ["lock", "hold", "lost+found"].iter().any(|name| entry.file_name() == *name))
    })
}

/// The views of a recovery. What is archived is let go of on the way, so that a long replay takes no more memory than the
/// exchange will.
pub(crate) struct ViewFold {
    views: Views,
    /// Rows kept beside those that are not archived.
    window: usize,
    archived: Sequence,
    /// Tells accounts what they may ask for again.
    teller: Option<Teller>,
}

impl ViewFold {
    /// Empty views that let nothing go but what is beyond `window`.
    pub(crate) fn new(window: usize) -> ViewFold {
        ViewFold { views: ViewFold::views_of(window), window, archived: 0, teller: None }
    }

    /// The views as they now are.
    pub(crate) fn views(&self) -> &Views {
        &self.views
    }

    fn views_of(window: usize) -> Views {
        Views::new(Retention::Window(window))
    }
}

impl Fold for ViewFold {
    fn event(&mut self, event: &Event) {
        if let Some(teller) = &mut self.teller {
            teller.event(event, &self.views);
        }
        self.views.fold(event);
        if event.kind == Kind::Done as u16 {
            if let Some(teller) = &mut self.teller {
                teller.end(&self.views);
            }
            self.views.forget(self.archived);
        }
    }

    fn save(&self, bytes: &mut Vec<u8>) {
        self.views.save(bytes);
    }

    fn reset(&mut self) {
        self.views = ViewFold::views_of(self.window);
        self.teller.iter_mut().for_each(Teller::reset);
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), FoldError> {
        let begun = Instant::now();
        let upgraded = self.views.load(bytes)?;
        self.teller.iter_mut().for_each(Teller::reset);
        let took = begun.elapsed();
        for Upgraded { what, from, to } in upgraded {
            tracing::info!(what, from, to, len = bytes.len(), ?took, "views of an earlier version were read");
        }
        Ok(())
    }
}

/// The second engine of an exchange whose first one was that until now: made from the journal on its own thread, since clients wait for
/// the first one. Until then there are no snapshots, and history stays in memory.
struct Later<M> {
    make: Option<M>,
    made: Option<Follower<Engine, Archiver>>,
    status: Arc<FollowerStatus>,
}

impl<M> Later<M> {
    fn new(make: M) -> (Later<M>, Arc<FollowerStatus>) {
        let status = Arc::new(FollowerStatus::default());
        (Later { make: Some(make), made: None, status: status.clone() }, status)
    }
}

impl<M: FnOnce() -> Result<Follower<Engine, Archiver>, PersistError> + Send> Agent for Later<M> {
    fn name(&self) -> &str {
        "follower"
    }

    fn do_work(&mut self) -> usize {
        let Some(make) = self.make.take() else { return self.made.as_mut().map_or(0, Agent::do_work) };
        match make() {
            Ok(mut follower) => {
                follower.reports_to(self.status.clone());
                self.made = Some(follower);
            }
            Err(error) => self.status.fail(error),
        }
        1
    }

    fn next_timer(&self) -> Duration {
        self.made.as_ref().map_or(Duration::from_secs(1), Agent::next_timer)
    }

    fn close(&mut self) {
        self.made.iter_mut().for_each(Agent::close);
    }
}

/// Lets requests read the archive.
pub(super) fn open_history(shared: &Shared) -> Result<(), BootError> {
    let history = &shared.history;
    if !history.is_open() {
        history.open(Readers::start(&archive(&shared.config), shared.config.archive_readers)?);
    }
    Ok(())
}

/// Has proofs of reserves made of the follower's state.
struct Prover(Arc<Proofs>);

impl Examine<Engine, Archiver> for Prover {
    fn stops_at(&self, command: &Command) -> bool {
        self.0.stops_at(command)
    }

    fn is_due(&self) -> bool {
        self.0.is_due()
    }

    fn look(&mut self, engine: &Engine, archiver: &Archiver) {
        self.0.look(engine, archiver.views());
    }
}

pub(super) fn disk(persist: &PersistConfig) -> Result<Disk, PersistError> {
    Disk::open(&persist.directory, persist.method(), persist.any_file_system)
}

/// Takes the data folder for this process, for as long as the lock or a clone of it lives.
///
/// Errors: [`PersistError::Locked`], I/O.
pub(super) fn take_folder(config: &Config, clock: &Clock) -> Result<Lock, PersistError> {
    let persist = persist_config(config, clock);
    persist.check()?;
    disk(&persist)?.lock()
}

/// Where an exchange begins.
pub(super) enum Origin<'a> {
    /// With what lies in its data folder, which is taken, or with nothing.
    Disk(Lock),
    /// As the leader of a cluster, with the engine that has followed the journal to its end, what keeps events for user streams, and rings.
    Followed(Box<Followed<Engine, Shown>>, Running, Box<Rings>, &'a Led),
}

/// What the leader of a cluster has of its membership.
pub(super) struct Led {
    /// Its term, and the cluster's number.
    pub(super) term: Term,
    pub(super) cluster: [u8; 16],
    /// Says what is agreed on.
    pub(super) link: Arc<Link>,
    /// Its journal, which is taken.
    pub(super) files: Arc<Disk>,
    pub(super) taken: Lock,
    /// Its own figures.
    pub(super) upstream: Arc<dyn Upstream>,
    /// By which it takes orders of others.
    pub(super) lanes: Arc<Lanes>,
    /// By which its members are changed.
    pub(super) writes: Arc<Writes>,
}

impl<'a> Origin<'a> {
    /// Of a leader: it can come to lead no more.
    pub(super) fn led(&self) -> Option<&'a Led> {
        match self {
            Origin::Disk(_) => None,
            Origin::Followed(.., led) => Some(led),
        }
    }
}

/// An engine and a journal, ready to be started.
pub(super) struct Rebuilt<'a> {
    recovered: Recovered<Engine>,
    /// The views at the last command found, where they are not shown yet.
    views: Option<Views>,
    /// Those who listen, where they do already.
    listeners: Vec<Box<dyn Listener>>,
    keeping: Running,
    rings: Rings,
    led: Option<&'a Led>,
    begun: Instant,
}

impl<'a> Rebuilt<'a> {
    /// Recovers from the data folder, or founds a new journal in it; or goes on from what was followed. Takes as long as it takes. Of a
    /// cluster's leader what it writes is agreed on when this returns.
    ///
    /// Errors: as recovery; [`BootError::Lost`].
    pub(super) fn of(origin: Origin<'a>, shared: &Shared) -> Result<Rebuilt<'a>, BootError> {
        let begun = Instant::now();
        match origin {
            Origin::Disk(taken) => Rebuilt::from_disk(shared, taken, begun),
            Origin::Followed(followed, keeping, rings, led) => {
                Rebuilt::take_over(shared, *followed, (keeping, *rings), led, begun)
            }
        }
    }

    fn from_disk(shared: &Shared, taken: Lock, begun: Instant) -> Result<Rebuilt<'a>, BootError> {
        let config = &shared.config;
        let mut keeper = Keeper::open(config, &shared.clock, &shared.registry);
        let archive = archive(config);
        // What cannot be read now is reported when it is opened.
        let mark = match archive.path().exists() {
            true => archive.reader().and_then(|mut reader| reader.mark()).ok(),
            false => Some(Mark::default()),
        };
        let archived = mark.map_or(0, |mark| mark.sequence);
        let persist = persist_config(config, &shared.clock);
        if archived > 0 && is_blank(&persist.directory) {
            return Err(BootError::JournalGone {
                journal: persist.directory,
                archive: archive_folder(config),
                through: archived,
            });
        }
        let window = config.history_window;
        let views = ViewFold::views_of(window);
        let mut fold = ViewFold { views, window, archived, teller: keeper.teller() };
        let disk = Arc::new(disk(&persist)?);
        if mark.is_some() {
            // Before anything is written: the version that can fill the archive would not start afterwards.
            check_kept::<Engine>(disk.as_ref(), archived)?;
        }
        let recovered = recover_in(disk, taken, &persist, &engine_config(config), &mut fold)?;
        if let Some(teller) = fold.teller.take() {
            teller.finish(recovered.next_sequence - 1);
        }
        keeper.found(recovered.journal.id(), recovered.next_sequence - 1);
        let (views, keeping) = (Some(fold.views), keeper.start()?);
        let rings = Rings::make(shared, INPUTS + shared.ports.len())?;
        Ok(Rebuilt { recovered, views, listeners: Vec::new(), keeping, rings, led: None, begun })
    }

    fn take_over(
        shared: &Shared,
        followed: Followed<Engine, Shown>,
        (keeping, rings): (Running, Rings),
        led: &'a Led,
        begun: Instant,
    ) -> Result<Rebuilt<'a>, BootError> {
        let persist = PersistConfig { term: Some(led.term), ..persist_config(&shared.config, &shared.clock) };
        let (mut recovered, mut shown) = take_over(led.files.clone(), led.taken.clone(), &persist, followed)?;
        let position = recovered.journal.position();
        led.link.has_written(position);
        if !led.link.wait(position) {
            return Err(BootError::Lost);
        }
        recovered.open(&mut shown);
        shown.show();
        // What others decided of its own orders is told; what is left is in no journal.
        led.lanes.end(shared, true);
        let listeners = shown.into_listeners();
        Ok(Rebuilt { recovered, views: None, listeners, keeping, rings, led: Some(led), begun })
    }

    /// What was found.
    pub(super) fn report(&self) -> &Report {
        &self.recovered.report
    }
}

impl Display for Rebuilt<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Recovered { engine, report, .. } = &self.recovered;
        let sequence = engine.sequence();
        match self.led {
            None => {
                let hash = u128::from_be_bytes(engine.state_hash());
                write!(f, "{report}\nrecovery: state {hash:032x} at sequence {sequence}")
            }
            Some(led) => write!(
                f,
                "takeover: term {}, from sequence {sequence} on, in {:.1} ms",
                led.term.number,
                self.begun.elapsed().as_secs_f64() * 1e3
            ),
        }
    }
}

/// The running stages.
pub(super) struct Stages {
    matching: Running,
    journalling: Option<Running>,
    showing: Option<Running>,
    following: Running,
    restocking: Running,
    keeping: Running,
    /// How far the journal has come.
    pub(super) gate: Arc<Gate>,
    /// How the journal fares.
    pub(super) journal: Arc<JournalStatus>,
    /// How the second engine fares.
    pub(super) follower: Arc<FollowerStatus>,
    /// What a mirror may be fed from.
    pub(super) mirrored: Option<Mirrored>,
    /// Cores that were asked for and could not be had, in words.
    pub(super) warnings: Vec<String>,
}

/// Looks at the rings and at what the threads do.
pub(super) struct Gauges {
    /// Of each gateway thread, then of the feeds.
    pub(super) inputs: Vec<Gauge<Command>>,
    pub(super) journal: Gauge<Command>,
    pub(super) output: Gauge<Event>,
    pub(super) matcher: Arc<MatcherFigures>,
    /// By the name of the thread.
    pub(super) threads: Vec<(&'static str, Activity)>,
    /// Threads that are not on the core they were to be pinned to.
    pub(super) unpinned: usize,
}

/// Stages that were started, the lane of the process, and looks at them.
type Started = (Stages, CommandProducer, Gauges);

impl Stages {
    /// Joins and starts everything behind the ports. The views of `shared` show what was recovered; replies go to `ports`, which get
    /// their lanes here, all but the last: that one is the process's own, and its lane is given back, for what is to be
    /// published before anything else. Pushes go to the registry, `begin` is given who hands entries to the journal.
    pub(super) fn start(
        rebuilt: Rebuilt<'_>,
        shared: &Shared,
        begin: impl FnOnce(SideWriter),
        ports: &[Arc<ReplyQueue>],
    ) -> Result<Started, BootError> {
        let (config, clock, views) = (&shared.config, &shared.clock, shared.views.clone());
        let (registry, figures) = (&shared.registry, &shared.metrics.egress);
        let Rebuilt { recovered, views: found, mut listeners, keeping, rings, led, .. } = rebuilt;
        let (last, journal_id) = (recovered.next_sequence - 1, recovered.journal.id());
        let mut archiver = None;
        if let Some(found) = found {
            let opened = Archiver::open(&archive(config), journal_id, last, views.clone())?;
            archiver = Some((opened, found.archived_through()));
            views.replace(found);
        }
        let restocker = Refiller::new(views.read().spares());
        let wait = wait(config);
        let next = recovered.next_sequence;
        let gate = Arc::new(Gate::new(next - 1));
        let (journal_in, journal_out) = ends(rings.journal, next)?;
        let (output_in, output_out) = ends(rings.output, 1)?;
        let mut free = rings.inputs.into_iter();

        let (mut input_gauges, journal_gauge, output_gauge) =
            (Vec::new(), journal_in.gauge(), output_in.gauge());
        let mut inputs = Vec::new();
        let mut own_lanes = Vec::new();
        let sources = if led.is_some() { lanes::OF_A_TERM } else { LANES };
        let first_source = recovered.report.epoch.wrapping_mul(sources);
        for lane in 0..ports.len() as u32 {
            let ring = free.next().expect("each port has one");
            let (producer, consumer) = ends(ring, 1)?;
            let reserved = config.input_ring_slots * config.input_ring_reserve_percent as usize / 100;
            let source = first_source + lane + 1;
            input_gauges.push(producer.gauge());
            inputs.push(consumer);
            own_lanes.push(CommandProducer {
                producer,
                source,
                reserved,
                numbered: 0,
                invoker: None,
                at_first: None,
            });
        }
        if let Some(led) = led {
            let mut rings = Vec::new();
            for ring in free {
                let (producer, consumer) = ends(ring, 1)?;
                inputs.push(consumer);
                rings.push(producer);
            }
            let of_others = (first_source + LANES, first_source.saturating_add(lanes::OF_A_TERM - 1));
            led.lanes.lead(u64::from(led.term.number), shared.phase.clone(), rings, of_others);
        }
        let routes = own_lanes.iter().zip(ports).map(|(lane, port)| (lane.source, port.clone())).collect();
        let own = own_lanes.pop().expect("the process has a port");

        let mut own_bells = vec![output_in.room_doorbell(), output_out.doorbell()];
        if shares_journaller(config) {
            own_bells.extend([journal_in.room_doorbell(), journal_out.doorbell(), gate.doorbell().clone()]);
        }
        let source = config.mirror_listen.map(|_| {
            let position = recovered.journal.position();
            Arc::new(Source::new(
                gate.clone(),
                config.acknowledge_mirror,
                config.flush_shed,
                next - 1,
                position,
            ))
        });
        let journaller = match (&source, led) {
            (_, Some(led)) => {
                Journaller::led(recovered.journal, journal_out, gate.clone(), led.link.clone(), true)?
            }
            (None, None) => Journaller::new(recovered.journal, journal_out, gate.clone())?,
            (Some(source), None) => {
                Journaller::mirrored(recovered.journal, journal_out, source.clone(), true)?
            }
        };
        let journal = journaller.status();
        begin(journaller.side_writer());
        let persist = persist_config(config, clock);
        let mirrored = match source {
            None => None,
            Some(source) => Some(Mirrored {
                source,
                storage: Arc::new(disk(&persist)?),
                journal: journal.clone(),
                segment_len: persist.segment_len,
            }),
        };
        let second = {
            let files = Arc::new(disk(&persist)?);
            let (engine, journal, proofs) = (engine_config(config), journal.clone(), shared.proofs.clone());
            let skipped = recovered.report.skipped.clone();
            move |archiver| {
                let mut follower: Follower<Engine, Archiver> =
                    Follower::new(files, &persist, &engine, archiver, journal, &skipped)?;
                follower.examined_by(Box::new(Prover(proofs)));
                Ok::<_, PersistError>(follower)
            }
        };
        let (follower_status, follower): (_, Box<dyn Agent>) = match archiver {
            Some((archiver, forgotten)) => {
                let is_behind = archiver.mark().sequence < forgotten;
                let mut follower = second(archiver)?;
                if is_behind {
                    // The archive was lost or is an older copy: nothing is served before it holds what the views have forgotten.
                    follower.catch_up(forgotten)?;
                }
                (follower.status(), Box::new(follower))
            }
            None => {
                let (config, views) = (config.clone(), views.clone());
                let (later, status) =
                    Later::new(move || second(Archiver::open(&archive(&config), journal_id, last, views)?));
                (status, Box::new(later))
            }
        };
        open_history(shared)?;
        let (now, agreement) = (clock.clone(), shared.agreement.clone());
        let begun = now.reading();
        let mut pace = Pace::begin(recovered.engine.time_ns(), begun);
        agreement.tell(pace.distance_ns(begun));
        let engine_time = move || {
            let reading = now.reading();
            let engine_ns = pace.at(reading);
            agreement.tell(pace.distance_ns(reading));
            engine_ns
        };
        let events = recovered.engine.events_at_most();
        let matcher = Matcher::new(
            recovered.engine,
            inputs,
            journal_in,
            output_in,
            engine_time,
            MatcherOptions::default(),
        );
        if let Some(led) = led {
            led.link.goes_by(matcher.applied());
        }
        if listeners.is_empty() {
            listeners.push(Box::new(Pusher::new(registry.clone(), &views.read())));
        }
        let mut egress = Egress::new(output_out, gate.clone(), mode(config), views, routes, recovered.sums);
        egress.make_room(events, engine_config(config).pages);
        listeners.into_iter().for_each(|listener| egress.listen(listener));
        egress.measure(clock.clone(), figures.clone());
        let matcher_figures = matcher.figures();

        let run = |name: &str, core: Option<usize>, agents: Vec<Box<dyn Agent>>| {
            let runner = Runner { name: name.to_owned(), core, wait, critical: true, ..Runner::default() };
            runner.spawn(agents).map_err(BootError::Thread)
        };
        let run_core = |agents: Vec<Box<dyn Agent>>| {
            let runner = Runner {
                name: "core".to_owned(),
                core: config.pin_matcher,
                wait,
                critical: true,
                own_bells,
                invoked: is_invoked(config),
            };
            runner.spawn(agents).map_err(BootError::Thread)
        };
        let matcher: Box<dyn Agent> = Box::new(matcher);
        let journaller: Box<dyn Agent> = Box::new(journaller);
        let egress: Box<dyn Agent> = Box::new(egress);
        let (matching, journalling, showing) = match config.threading {
            Threading::Dedicated => (
                run("matcher", config.pin_matcher, vec![matcher])?,
                Some(run("journaller", config.pin_journaller, vec![journaller])?),
                Some(run("egress", config.pin_egress, vec![egress])?),
            ),
            Threading::Shared if shares_journaller(config) => {
                (run_core(vec![matcher, journaller, egress])?, None, None)
            }
            Threading::Shared => (
                run_core(vec![matcher, egress])?,
                Some(run("journaller", config.pin_journaller, vec![journaller])?),
                None,
            ),
        };
        let following = Runner { name: "follower".to_owned(), wait: Wait::Sleep, ..Runner::default() };
        let following = following.spawn(vec![follower]).map_err(BootError::Thread)?;

        let restocking = Runner { name: "restocker".to_owned(), wait: Wait::Sleep, ..Runner::default() };
        let restocking = restocking.spawn(vec![Box::new(restocker)]).map_err(BootError::Thread)?;

        let mut warnings = Vec::new();
        for running in [Some(&matching), journalling.as_ref(), showing.as_ref()].into_iter().flatten() {
            warnings.extend(running.not_pinned().map(|reason| reason.to_string()));
        }
        let threads = [
            Some((if showing.is_some() { "matcher" } else { "core" }, &matching)),
            journalling.as_ref().map(|running| ("journaller", running)),
            showing.as_ref().map(|running| ("egress", running)),
            Some(("follower", &following)),
            Some(("restocker", &restocking)),
            Some(("keeper", &keeping)),
        ];
        let gauges = Gauges {
            inputs: input_gauges,
            journal: journal_gauge,
            output: output_gauge,
            matcher: matcher_figures,
            threads: threads
                .into_iter()
                .flatten()
                .map(|(name, running)| (name, running.activity()))
                .collect(),
            unpinned: warnings.len(),
        };
        for (mut lane, port) in own_lanes.into_iter().zip(ports) {
            if is_invoked(config) {
                lane.invoker = Some(matching.invoker());
                // Its clients wait while another thread has its processor, as they do for the stages' own thread.
                lane.at_first = Some(turns::ask_for_short);
            }
            port.attach(lane);
        }
        let stages = Stages {
            matching,
            journalling,
            showing,
            following,
            restocking,
            keeping,
            gate,
            journal,
            follower: follower_status,
            mirrored,
            warnings,
        };
        Ok((stages, own, gauges))
    }

    /// Ends the stages in the order of the flow: what was taken is journalled, what was journalled is shown.
    pub(super) fn stop(self) {
        // On the shared thread the agents are closed in the order of the flow too.
        self.matching.join();
        self.journalling.map(Running::join);
        self.showing.map(Running::join);
        self.following.join();
        self.restocking.join();
        // Last, when all is shown.
        self.keeping.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_engines_spread_their_tables_alike() {
        let config = Config::default();
        let [one, other] = [(); 2].map(|()| engine_config(&config).hash_seed);
        assert!(one != other && one != EngineConfig::default().hash_seed);
    }
}
