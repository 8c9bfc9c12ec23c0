//! From a configuration to a running exchange and, in the end, back to nothing.
//!
//! The server listens first ([`front`]), so that clients are told of a restart instead of being refused; then recovery, then the
//! stages. It is the only part of the gateway that knows that a journal exists.

pub(crate) mod credentials;
mod error;
mod fetch;
mod figures;
mod front;
mod funded;
pub mod genesis;
mod keeper;
mod lanes;
mod member;
mod membership;
mod mirror;
pub mod past;
mod replica;
mod rings;
mod shown;
mod stages;
mod supervisor;
mod upstream;

use credentials::JournalLog;
pub use error::BootError;
use front::Front;
use ringside_auth::Authenticator;
use ringside_auth::test_wallet::TestWallet;
use ringside_chain::Lead;
use ringside_commands::clock::{Agreement, Clock};
use ringside_commands::ingress::{CommandProducer, DiskHeadroom, EngineState};
use ringside_config::Config;
use ringside_core::command::{Body, Command, PerpetualState};
use ringside_core::ids::Sequence;
use ringside_edge::server::shutdown_on_signals;
use ringside_edge::worker::Shared;
use ringside_mirror::keys::Identity;
use ringside_mirror::leader;
use ringside_persist::error::EXIT_JOURNAL;
use ringside_persist::recover::follower::FollowerStatus;
use ringside_persist::storage::disk::{make_folder, unsure_file_system};
use ringside_persist::write::side::SideWriter;
use ringside_persist::write::status::Pressure;
use ringside_views::perpetual::market::PerpetualMarket;
use stages::{Led, Origin, Rebuilt, Stages, take_folder};
pub(crate) use stages::{ViewFold, is_blank};
pub use stages::{engine_config, persist_config};
use std::fmt::Write as _;
use std::fs::Permissions;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How often the journal's health is looked at.
const WATCH: Duration = Duration::from_millis(10);
/// How long a leader that stops waits for what is under way, and for another to be elected.
const ANSWERED_WAIT: Duration = Duration::from_millis(300);
const HANDED_WAIT: Duration = Duration::from_secs(1);
/// How long the stages of one that lost its lead may need to stop.
const STOPPED_WAIT: Duration = Duration::from_secs(10);
/// How often a leader without room, or without its second engine, tries to have another lead.
const POOR: Duration = Duration::from_secs(10);
/// So long nothing of a leader may be shown while its lease lasts: its clock is a command every second.
const STANDS: Duration = Duration::from_secs(2);
/// How long a stop waits for a connected mirror to have all.
const MIRRORED_WAIT: Duration = Duration::from_secs(2);

/// Runs the exchange until it is told to stop by SIGTERM or SIGINT, or its journal fails. What an operator should know goes
/// to `out`.
pub fn run(config: Config, clock: Clock, out: &mut impl Write) -> Result<(), BootError> {
    run_and_tell(config, clock, out, |_| {})
}

/// The same, and calls `ready` with the address once commands are taken.
pub fn run_and_tell(
    config: Config,
    clock: Clock,
    out: &mut impl Write,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), BootError> {
    let config = Arc::new(config);
    if let Some(leader) = config.mirror_of.clone() {
        return mirror::run(&config, &clock, &leader, out, ready);
    }
    make_data_folder(&config)?;
    // First, and to the very end: others write to the folder as well, from the log of API keys to the archive.
    let taken = take_folder(&config, &clock)?;
    let shutdown = CancellationToken::new();
    shutdown_on_signals(shutdown.clone()).map_err(BootError::Thread)?;
    if let Some(member) = config.cluster_member {
        return member::run(&config, &clock, member, &taken, &shutdown, out, ready);
    }
    refuse_file_system(&config)?;
    let side = credentials::find(&config, &clock, &taken)?;
    let mut front = Front::open(&config, &clock, &side, &shutdown, out)?;
    drop(side);
    let ended = lead(&mut front, Origin::Disk(taken), &shutdown, out, ready);
    let stopped = front.stop();
    ended.and(stopped)
}

/// Where the journal's disk is not known to keep what it synced: a warning, and recovery refuses it in production.
fn refuse_file_system(config: &Config) -> Result<(), BootError> {
    if config.test_deployment
        && !config.any_file_system
        && let Some(file_system) = unsure_file_system(&config.data_dir)?
    {
        tracing::warn!(
            file_system,
            "not known to keep what it synced: a production deployment is refused here"
        );
    }
    Ok(())
}

/// The exchange itself, alone or as the leader of a cluster: until `role` is cancelled, or the journal fails. `ready` is called once
/// commands are taken.
fn lead(
    front: &mut Front,
    origin: Origin<'_>,
    role: &CancellationToken,
    out: &mut impl Write,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), BootError> {
    let say = |out: &mut dyn Write, line: &str| {
        // Nobody may be listening to standard output; that is no reason to stop.
        let _ = writeln!(out, "{line}");
        let _ = out.flush();
    };
    let shared = front.shared.clone();
    let (config, clock, chain) = (&shared.config, &shared.clock, &shared.chain);
    let led = origin.led();
    let asks = led.map(|led| Lead { cluster: led.cluster, term: led.term.number.into() });
    let signer = ringside_chain::parts::signer(chain, clock, &shared.edge.auth.tokens, asks)?;
    let address = signer.as_ref().map(|signer| signer.address());
    let parts = ringside_chain::thread::Parts {
        watch: chain.vault.and_then(|vault| ringside_chain::parts::watch(chain, vault, address)),
        former: (!chain.nodes.is_empty()).then(|| ringside_chain::parts::former(chain)),
        signer,
        referrals: Some(ringside_chain::parts::discounts(chain)),
    };
    let mut apart = Apart::default();
    let (stages, mut own) = start_stages(&shared, origin, &front.log, &mut apart, out)?;
    let mirroring = CancellationToken::new();
    let fed = feed_mirror(&stages, config, &mirroring, out)?;
    if shared.views.read().markets().is_empty() {
        send(&mut own, genesis::shipped_market());
    }
    if config.test_deployment && awaits_perpetuals(&shared) {
        open_perpetuals(&shared, &mut own, role);
    }
    let funded = match config.test_deployment && !awaits_perpetuals(&shared) {
        true => funded::open(&shared, &mut own, role),
        false => &[],
    };
    shared.feed_port.attach(own);
    shared.phase.set_headroom(room(&shared, &stages));
    *shared.agreed.write() = led.map(|_| stages.gate.clone());
    shared.begin();
    let feeds = ringside_feed::start(shared.for_feeds(), role.clone()).map_err(BootError::Thread)?;
    if let Some(figures) = parts.watch.as_ref().and_then(|watch| watch.figures()) {
        shared.metrics.set_nodes(figures);
    }
    let chained =
        ringside_chain::thread::start(shared.for_chain(), parts, role.clone()).map_err(BootError::Thread)?;
    let address = front.address;
    say(out, &greeting(config, address, front.is_admin_key_new, funded));
    front.tell_ready(&format!("running on {address}"), ready);

    let has_ended = watch(front, &stages, role, apart, led);
    led.iter().for_each(|led| led.lanes.lead_no_more());
    if let Some(led) = led.filter(|led| !has_ended && !led.link.is_lost()) {
        hand_over(&shared, led, None);
    }
    let is_lost = led.is_some_and(|led| led.link.is_lost());
    let is_over = shared.edge.shutdown.is_cancelled();
    if has_ended && !is_lost {
        shared.phase.set(EngineState::Halted);
    }
    role.cancel();
    let served = if is_lost && !is_over { Ok(()) } else { front.stop() };
    let _ = feeds.join();
    let _ = chained.join();
    shared.phase.set(if is_lost { EngineState::Restarting } else { EngineState::Halted });
    let (journal, follower) = (stages.journal.clone(), stages.follower.clone());
    let source = stages.mirrored.as_ref().map(|mirrored| mirrored.source.clone());
    if is_lost {
        stages.follower.leave();
        stop_or_end(stages);
        front.rest();
    } else {
        stages.stop();
    }
    if let Some(source) = source {
        let begun = Instant::now();
        while source.figures().is_connected
            && source.figures().lag_bytes > 0
            && begun.elapsed() < MIRRORED_WAIT
        {
            std::thread::sleep(WATCH);
        }
    }
    mirroring.cancel();
    fed.map(JoinHandle::join);
    tell_of_follower(&follower);
    // Commands are refused before the journal's thread says why.
    let reason = journal.take_failure().map(|error| error.to_string());
    match reason.or_else(|| (has_ended && !is_lost).then(|| "it ended".to_owned())) {
        Some(reason) => Err(BootError::Journal(reason)),
        None if is_lost && !is_over => Err(BootError::Lost),
        None => {
            say(out, "ringside: stopped; everything acknowledged is in the journal");
            served
        }
    }
}

/// Lets another member lead, `to` where one is named, in good order: what is under way is answered first, and nothing more is taken. It
/// may come to nothing.
fn hand_over(shared: &Shared, led: &Led, to: Option<u64>) {
    let comes_within = |wait: Duration, holds: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !holds() && begun.elapsed() < wait {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    shared.phase.set(EngineState::Restarting);
    comes_within(ANSWERED_WAIT, &|| shared.ports.iter().all(|port| port.queue_len() == 0));
    led.upstream.hand_over(to);
    comes_within(HANDED_WAIT, &|| led.link.is_lost());
}

/// The same while this one goes on to lead where it comes to nothing. Whether it leads no more.
fn try_to_hand_over(shared: &Shared, led: &Led, to: Option<u64>) -> bool {
    hand_over(shared, led, to);
    let is_lost = led.link.is_lost();
    if !is_lost {
        shared.phase.set(EngineState::Running);
    }
    is_lost
}

/// Stops what leads no more. Stages that hang are not waited for: the process ends, and is begun anew as one that follows.
fn stop_or_end(stages: Stages) {
    let (told, stopped) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        stages.stop();
        // Nobody listens where it took too long.
        let _ = told.send(());
    });
    if stopped.recv_timeout(STOPPED_WAIT).is_err() {
        tracing::error!("the stages of a leader that lost its lead do not stop: the process ends");
        std::process::exit(EXIT_JOURNAL);
    }
}

/// Lets a mirror connect, where one may.
fn feed_mirror(
    stages: &Stages,
    config: &Config,
    shutdown: &CancellationToken,
    out: &mut impl Write,
) -> Result<Option<JoinHandle<()>>, BootError> {
    let (Some(address), Some(mirrored)) = (config.mirror_listen, stages.mirrored.clone()) else {
        return Ok(None);
    };
    let identity = Identity::of(&config.data_dir).map_err(BootError::Mirror)?;
    let started = leader::start(address, &identity, &config.mirror_keys, mirrored, shutdown.clone());
    let (address, thread) = started.map_err(BootError::Mirror)?;
    let awaited = if config.acknowledge_mirror { "replies wait for it" } else { "no reply waits for it" };
    let key = identity.fingerprint();
    let _ = writeln!(
        out,
        "ringside: a mirror      may connect to {address}; {awaited}. This side's key is {key}"
    );
    Ok(Some(thread))
}

/// The data folder, for its owner only.
fn make_data_folder(config: &Config) -> Result<(), BootError> {
    let path = &config.data_dir;
    let make = || {
        make_folder(&path.join("journal"))?;
        keep_private(path)
    };
    make().map_err(|cause| BootError::Folder { path: path.clone(), cause })
}

/// Takes from a folder of what everybody has what lets others in, whoever made it.
fn keep_private(path: &Path) -> std::io::Result<()> {
    let mode = std::fs::metadata(path)?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    tracing::warn!(path = %path.display(), mode = format!("{:o}", mode & 0o7777), "the data folder lets others in: it is 0700 now");
    std::fs::set_permissions(path, Permissions::from_mode(0o700))
}

fn start_stages(
    shared: &Shared,
    origin: Origin<'_>,
    log: &JournalLog,
    apart: &mut Apart,
    out: &mut impl Write,
) -> Result<(Stages, CommandProducer), BootError> {
    let upstream = origin.led().map(|led| led.upstream.clone());
    let writes = origin.led().map(|led| led.writes.clone());
    let rebuilt = Rebuilt::of(origin, shared)?;
    let report = rebuilt.report().clone();
    let _ = writeln!(out, "{rebuilt}");
    let ports: Vec<_> = shared.ports.iter().chain([&shared.chain_port, &shared.feed_port]).cloned().collect();
    let begin = |writer: SideWriter| {
        writes.iter().for_each(|writes| writes.begin(writer.clone()));
        log.begin(writer);
    };
    let (stages, own, gauges) = Stages::start(rebuilt, shared, begin, &ports)?;
    if let Some(distance) = apart.look(&shared.agreement) {
        let _ = writeln!(out, "recovery: {distance}");
        tracing::warn!("{distance}");
    }
    let interval = shared.config.snapshot_interval;
    let syncs = stages.journal.flushes().clone();
    shared.metrics.set_stages(figures::source(&stages, gauges, &report, interval, upstream), syncs);
    for warning in &stages.warnings {
        tracing::warn!(%warning, "a stage is not pinned");
    }
    Ok((stages, own))
}

/// Whether the perpetual markets that ship are still to be listed or opened: at the first start, and at the next one if that was
/// cut off. Nobody has an account until they are open.
fn awaits_perpetuals(shared: &Shared) -> bool {
    let views = shared.views.read();
    let markets = views.perpetuals().markets().all();
    let is_halted = |market: &PerpetualMarket| market.state == PerpetualState::Halted;
    markets.is_empty()
        || (views.accounts().len() == 1
            && (markets.len() < genesis::PERPETUALS || markets.iter().any(is_halted)))
}

/// Lists and opens the perpetual markets that ship, so that whoever finds the exchange running finds them open. They get a mark at
/// the next tick of the clock, which comes every second, and shows once it is durable, which takes a while where the disk is busy;
/// should it not come, the markets stay halted, for the administrator to open.
fn open_perpetuals(shared: &Shared, own: &mut CommandProducer, shutdown: &CancellationToken) {
    const PATIENCE: Duration = Duration::from_secs(30);
    let all_come_to = |holds: fn(&PerpetualMarket) -> bool| {
        let begin = Instant::now();
        loop {
            let views = shared.views.read();
            let markets = views.perpetuals().markets().all();
            if markets.len() >= genesis::PERPETUALS && markets.iter().all(holds) {
                return true;
            }
            drop(views);
            if begin.elapsed() > PATIENCE || shutdown.is_cancelled() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    genesis::list_perpetuals().into_iter().for_each(|command| publish(own, command));
    if all_come_to(|market| market.mark() > 0) {
        genesis::open_perpetuals().into_iter().for_each(|command| publish(own, command));
        all_come_to(|market| market.state == PerpetualState::Trading);
    }
}

/// Publishes a command of the process itself. Its ring is new, so there is room.
fn send<B: Body>(own: &mut CommandProducer, body: B) {
    publish(own, Command::new(body));
}

fn publish(own: &mut CommandProducer, command: Command) {
    own.numbered += 1;
    let command = Command { source: own.source, source_seq: own.numbered, ..command };
    let published = own.producer.try_publish(&command);
    debug_assert!(published.is_ok());
}

fn tell_of_follower(follower: &FollowerStatus) {
    if let Some(notice) = follower.take_notice() {
        tracing::warn!(%notice, "follower");
    }
    if let Some(error) = follower.take_failure() {
        tracing::error!(
            %error,
            "the follower has stopped: from now on no snapshots are made, history stays in memory, and only what frees or ends \
             something is taken, until the next start"
        );
    }
}

/// What the journal's disk, the mirror, the second engine and the clock leave room for.
fn room(shared: &Shared, stages: &Stages) -> DiskHeadroom {
    let of_disk = match stages.journal.pressure() {
        Pressure::Full => DiskHeadroom::Nothing,
        Pressure::CancelsOnly => DiskHeadroom::Cancels,
        // The longer it went on, the more the next start would have to replay, and the more memory history would take.
        Pressure::None if stages.follower.is_failed() => DiskHeadroom::Cancels,
        Pressure::None => DiskHeadroom::All,
    };
    let of_mirror = match stages.mirrored.as_ref().map(|mirrored| mirrored.source.pressure()) {
        None | Some(Pressure::None) => DiskHeadroom::All,
        Some(_) => DiskHeadroom::Cancels,
    };
    let of_clock = if shared.agreement.holds() { DiskHeadroom::All } else { DiskHeadroom::Cancels };
    of_disk.max(of_mirror).max(of_clock)
}

/// Waits for the end; whether it is that of the journal.
fn watch(
    front: &mut Front,
    stages: &Stages,
    role: &CancellationToken,
    mut apart: Apart,
    led: Option<&Led>,
) -> bool {
    let shared = front.shared.clone();
    let mut is_in_deficit = false;
    let mut moves = Moves { shown: 0, at: Instant::now() };
    let begun = Instant::now();
    let mut poor_at: Option<Instant> = None;
    while !role.is_cancelled() {
        let deficit = shared.views.read().perpetuals().pools().deficit != 0;
        if let Some(change) = apart.look(&shared.agreement) {
            tracing::warn!("{change}");
        }
        if deficit != is_in_deficit {
            is_in_deficit = deficit;
            if deficit {
                tracing::error!(
                    "DEFICIT: the insurance fund is below zero; withdrawals from perpetual wallets are paused"
                );
            } else {
                tracing::warn!("the insurance fund is out of deficit");
            }
        }
        if stages.journal.is_failed() || stages.gate.is_halted() {
            return true;
        }
        shared.phase.set_headroom(room(&shared, stages));
        tell_of_follower(&stages.follower);
        front.pulse(stages.journal.pressure() == Pressure::Full);
        if let Some(led) = led {
            let has_work = shared.phase.get() == EngineState::Running && !led.link.waits_for_others();
            if moves.stand(shared.views.read().sequence(), has_work, Instant::now()) {
                tracing::error!("nothing has moved here for {STANDS:?}: another member is to lead");
                led.upstream.hand_over(None);
            }
            if let Some(to) = led.upstream.take_transfer() {
                let is_lost = try_to_hand_over(&shared, led, Some(to));
                if !is_lost {
                    tracing::warn!(to, "the member did not come to lead: this one leads on");
                }
            }
            // Here only what frees or ends something is taken, or soon will be; another may have room, a faster disk, a second engine.
            // What stops every second engine, or fills every disk, must not have the lead go round.
            let has_stopped = stages.follower.is_failed() && begun.elapsed() >= POOR;
            let is_slow = stages.journal.pressure() != Pressure::None && !stages.journal.is_short_of_room();
            let roomier = led.upstream.roomier();
            let is_poor = has_stopped || is_slow || roomier.is_some();
            if is_poor && poor_at.is_none_or(|at| at.elapsed() >= POOR) {
                poor_at = Some(Instant::now());
                tracing::warn!("this member can lead no longer as it should: another one is to lead");
                try_to_hand_over(&shared, led, roomier);
            }
        }
        std::thread::sleep(WATCH);
    }
    false
}

/// When the last command was shown.
struct Moves {
    shown: Sequence,
    at: Instant,
}

impl Moves {
    /// Whether nothing has moved for too long, though it should have: once in so long.
    fn stand(&mut self, shown: Sequence, has_work: bool, now: Instant) -> bool {
        let stands = has_work && shown == self.shown && now - self.at >= STANDS;
        if stands || !has_work || shown != self.shown {
            (self.shown, self.at) = (shown, now);
        }
        stands
    }
}

/// Whether the machine's clock was last seen apart from engine time.
#[derive(Default)]
struct Apart(bool);

impl Apart {
    /// What there is to say now; nothing where it was said before.
    fn look(&mut self, agreement: &Agreement) -> Option<String> {
        let is_apart = !agreement.holds();
        if is_apart == std::mem::replace(&mut self.0, is_apart) {
            return None;
        }
        let distance_ns = agreement.distance_ns();
        let [seconds, milliseconds] =
            [1_000_000_000, 1_000_000].map(|unit| distance_ns.unsigned_abs() / unit);
        let is_where = if distance_ns < 0 { "behind" } else { "ahead of" };
        Some(match is_apart {
            true => format!(
                "this machine's clock is {seconds} s {is_where} engine time ({milliseconds} ms), which goes on at its own pace and \
                 comes nearer by a tenth of what passes: until they agree within a second, or an operator accepts the distance \
                 by POST /admin/clock/accept, new orders and withdrawals are refused; what reduces and cancels is taken"
            ),
            false => format!(
                "the clock is {milliseconds} ms {is_where} engine time, within a second or what an operator accepted: new \
                 orders are taken"
            ),
        })
    }
}

/// What a newcomer needs to know.
fn greeting(config: &Config, address: SocketAddr, is_admin_key_new: bool, funded: &[TestWallet]) -> String {
    let admin_key = match &config.admin_key {
        Some(_) => "as configured".to_owned(),
        None => {
            let path = Authenticator::admin_key_path(&config.data_dir);
            format!("{} {}", if is_admin_key_new { "made just now, in" } else { "in" }, path.display())
        }
    };
    let kind = match config.test_deployment {
        true => "a TEST deployment: its money is worth nothing, and may be made out of nothing",
        false => "a production deployment",
    };
    let acknowledge = match config.acknowledge {
        ringside_config::Acknowledge::Durable => "durable",
        ringside_config::Acknowledge::Written => "written",
    };
    let changed = match &*config.changed() {
        [] => "all as shipped".to_owned(),
        keys => format!("as shipped but {}", keys.join(", ")),
    };
    let mut text = format!(
        "ringside: running on    http://{address}/api/v1, {kind}\n\
         ringside: page          http://{address}/\n\
         ringside: API           http://{address}/docs, or curl http://{address}/openapi.json\n\
         ringside: data          {data} (acknowledges when {acknowledge}; chain {chain})\n\
         ringside: settings      {changed}; `ringside settings --explain` shows them\n\
         ringside: administrator's key {admin_key}\n",
        data = config.data_dir.display(),
        chain = config.chain_id,
    );
    if !funded.is_empty() {
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "ringside: {} funded accounts, whose keys everybody knows. Log in at the page with the second column; clients of the \
             Binance API take the first as key and the second as secret",
            funded.len()
        );
        for wallet in funded {
            let _ = writeln!(text, "  {}  {}", wallet.api_key(), wallet.key());
        }
    }
    text + "ringside: first trade   see README.md, \"A first trade\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leader_that_shows_nothing_while_it_should_stands() {
        let begun = Instant::now();
        let mut moves = Moves { shown: 7, at: begun };
        let mut stand = |shown, has_work, ms| moves.stand(shown, has_work, begun + Duration::from_millis(ms));
        assert!(!stand(7, true, 1_999) && !stand(8, true, 2_000), "it moves");
        assert!(!stand(8, false, 5_000), "the others are waited for");
        assert!(!stand(8, true, 6_999) && stand(8, true, 7_000));
        assert!(!stand(8, true, 8_999) && stand(8, true, 9_000), "said again");
    }

    #[test]
    fn a_clock_that_is_apart_is_said_once_and_so_is_its_end() {
        const S: i64 = 1_000_000_000;
        let (agreement, mut apart) = (Agreement::default(), Apart::default());
        let mut look = |distance_ns| {
            agreement.tell(distance_ns);
            apart.look(&agreement)
        };
        assert_eq!(look(0), None);
        assert_eq!(look(-S), None, "a second is no step");
        let said = look(-60 * S).expect("it is apart");
        assert!(said.contains("60 s behind engine time (60000 ms)"), "{said}");
        assert_eq!(look(-59 * S), None, "it was said");
        assert!(look(S / 2).expect("they agree").contains("500 ms ahead of"));
        assert!(look(2 * S).expect("it is apart").contains("2 s ahead of"));
    }
}
