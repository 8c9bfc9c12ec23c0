//! Orders that one member takes and another decides: the lanes of a follower's workers end at the leader's matcher.
//!
//! A follower asks the leader for lanes, numbers its workers' commands by the sources that it is given, and sends them. It is answered by no
//! message: what became of a command it sees in the journal, as it sees everything. So it is known at any time:
//!
//! - An answer is in the journal, or it is not yet.
//! - What is sent again is taken once: the leader takes commands of a source in turn, and passes over those that it has.
//! - Behind the first command of a later term nothing of an earlier one comes: what was not answered by then never took effect.

use super::upstream::Upstream;
use parking_lot::Mutex;
use ringside_commands::ingress::{
    CommandProducer, DiskHeadroom, EngineState, Priority, ReplyQueue, SharedEngineState,
};
use ringside_core::agent::Agent;
use ringside_core::command::{Command, Kind};
use ringside_core::ring::{self, Consumer, Doorbell, Mapping, Options, Producer, Wait};
use ringside_edge::worker::Shared;
use ringside_mirror::members::{Mesh, Orders};
use ringside_persist::quorum::frame::ORDERS_MAX;
use ringside_persist::recover::follower::FollowerStatus;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

/// Lanes that a member is given at once.
const OF_ONE: u32 = 256;
/// Sources of a term.
pub(super) const OF_A_TERM: u32 = 1 << 16;
/// Members whose orders a leader takes.
pub(super) const MEMBERS: usize = 7;
/// How often lanes are asked for: who leads gives none before it takes orders.
const ASK: Duration = Duration::from_millis(10);
/// How long nothing may be answered before new orders are refused as busy.
const STUCK: Duration = Duration::from_secs(1);
/// How long what was sent may stay without an answer before it is sent again.
const AGAIN: Duration = Duration::from_millis(500);

/// Whether a command adds load, which a full disk leaves no room for.
fn adds(kind: u16) -> bool {
    const KINDS: [Kind; 4] =
        [Kind::PlaceOrder, Kind::AmendOrder, Kind::PlacePerpetual, Kind::RequestWithdrawal];
    KINDS.iter().any(|own| *own as u16 == kind)
}

/// Of one process, whichever its role.
pub(super) struct Lanes {
    /// Tells the lanes of now from those of before, in earlier lives, too.
    name: AtomicU64,
    mesh: OnceLock<Weak<Mesh>>,
    /// Where it leads.
    leads: Mutex<Option<Leading>>,
    /// The term in which it was given lanes, and the first source of them.
    granted: Mutex<Option<(u64, u32)>>,
    /// Rings when it is.
    grants: Doorbell,
    /// Whether its workers have lanes to a leader.
    is_given: AtomicBool,
    routes: Mutex<Vec<(u32, Arc<ReplyQueue>)>>,
    changes: AtomicU64,
}

/// What a leader takes orders with.
struct Leading {
    term: u64,
    phase: Arc<SharedEngineState>,
    free: Vec<Producer<Command>>,
    of: HashMap<u64, Producer<Command>>,
    /// The first source of whom it gave lanes.
    given: HashMap<(u64, u64), u32>,
    next: u32,
    end: u32,
    /// Of each source the last number taken.
    taken: HashMap<u32, u64>,
}

impl Leading {
    /// The first source of the lanes of that name; the same again where they were given.
    fn give(&mut self, from: u64, name: u64) -> Option<u32> {
        if let Some(given) = self.given.get(&(from, name)) {
            return Some(*given);
        }
        let source = self.next;
        if self.end - source < OF_ONE {
            return None;
        }
        self.next += OF_ONE;
        self.given.insert((from, name), source);
        Some(source)
    }

    /// Takes commands in turn, as far as there is room.
    fn take(&mut self, from: u64, orders: &Orders) {
        if self.given.get(&(from, orders.lanes)) != Some(&orders.source) {
            return;
        }
        if !self.of.contains_key(&from) {
            let Some(ring) = self.free.pop() else { return };
            self.of.insert(from, ring);
        }
        let Some(ring) = self.of.get_mut(&from) else { return };
        for command in &orders.commands {
            let taken = self.taken.entry(command.source).or_default();
            let is_own = (orders.source..orders.source + OF_ONE).contains(&command.source);
            if command.source_seq <= *taken {
                continue;
            }
            // Held off as those of its own workers are; whoever took it says so to others once it waits for long.
            let priority = if adds(command.kind) { Priority::Order } else { Priority::Cancel };
            if !self.phase.has_room_for(priority) {
                return;
            }
            // Something is missing before it: all of it is sent again.
            if !is_own || command.source_seq != *taken + 1 || ring.try_publish(command).is_err() {
                return;
            }
            *taken += 1;
        }
    }
}

impl Lanes {
    /// `name` is far from any that another life of this member had.
    pub(super) fn new(name: u64) -> Lanes {
        Lanes {
            name: AtomicU64::new(name),
            mesh: OnceLock::new(),
            leads: Mutex::new(None),
            granted: Mutex::new(None),
            grants: Doorbell::new(),
            is_given: AtomicBool::new(false),
            routes: Mutex::default(),
            changes: AtomicU64::new(0),
        }
    }

    /// By which orders go.
    pub(super) fn go_by(&self, mesh: &Arc<Mesh>) {
        // One member has one.
        let _ = self.mesh.set(Arc::downgrade(mesh));
    }

    fn name(&self) -> u64 {
        self.name.load(Ordering::Relaxed)
    }

    /// Lets go of what was given: numbers begin anew, so sources do.
    fn rename(&self) {
        self.name.fetch_add(1, Ordering::Relaxed);
        self.granted.lock().take();
    }

    fn mesh(&self) -> Option<Arc<Mesh>> {
        self.mesh.get().and_then(Weak::upgrade)
    }

    /// From now on orders of others are taken in `term`, by `rings`; their sources are from `first` on, up to `end`.
    pub(super) fn lead(
        &self,
        term: u64,
        phase: Arc<SharedEngineState>,
        rings: Vec<Producer<Command>>,
        (first, end): (u32, u32),
    ) {
        let (of, given, taken) = (HashMap::new(), HashMap::new(), HashMap::new());
        *self.leads.lock() = Some(Leading { term, phase, free: rings, of, given, next: first, end, taken });
    }

    /// From now on none are.
    pub(super) fn lead_no_more(&self) {
        self.leads.lock().take();
    }

    /// Hears a member.
    pub(super) fn hear(&self, from: u64, orders: &Orders) {
        let mut leads = self.leads.lock();
        let Some(leading) = &mut *leads else {
            let is_grant = orders.commands.is_empty() && orders.source > 0 && orders.lanes == self.name();
            if is_grant {
                *self.granted.lock() = Some((orders.term, orders.source));
                self.grants.ring();
            }
            return;
        };
        if leading.term != orders.term || leading.phase.get() != EngineState::Running {
            return;
        }
        if orders.source > 0 {
            leading.take(from, orders);
        } else if let Some(source) = leading.give(from, orders.lanes)
            && let Some(mesh) = self.mesh()
        {
            mesh.carry(from, Orders { source, ..orders.clone() });
        }
    }

    /// The workers' queues by the sources of their lanes, where they are others than at that change.
    pub(super) fn routes(&self, change: &mut u64) -> Option<Vec<(u32, Arc<ReplyQueue>)>> {
        // Acquire: partner of the Release in `set_routes`.
        let changes = self.changes.load(Ordering::Acquire);
        (changes != std::mem::replace(change, changes)).then(|| self.routes.lock().clone())
    }

    fn set_routes(&self, routes: Vec<(u32, Arc<ReplyQueue>)>) {
        *self.routes.lock() = routes;
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Takes the workers' lanes back, where they have some. `is_known`: what was not answered never took effect.
    pub(super) fn end(&self, shared: &Shared, is_known: bool) {
        if !self.is_given.swap(false, Ordering::AcqRel) {
            return;
        }
        if shared.phase.get() == EngineState::Carrying {
            shared.phase.set(EngineState::Mirror);
        }
        shared.phase.set_headroom(DiskHeadroom::All);
        self.set_routes(Vec::new());
        shared.ports.iter().for_each(|port| port.detach(is_known));
    }
}

/// Carries a follower's orders to whoever leads.
pub(super) struct Carrier {
    lanes: Arc<Lanes>,
    shared: Arc<Shared>,
    upstream: Arc<dyn Upstream>,
    status: Arc<FollowerStatus>,
    given: Option<Given>,
    asked_at: Option<Instant>,
    bells: Vec<Doorbell>,
}

/// Lanes to one leader.
struct Given {
    leader: u64,
    term: u64,
    source: u32,
    rings: Vec<Consumer<Command>>,
    /// Of each lane what was taken and is not answered.
    waiting: Vec<VecDeque<Command>>,
    /// How many of them at most: so the leader has room for all.
    credit: usize,
    connection: u64,
    moved_at: Instant,
    sent_at: Instant,
}

impl Carrier {
    pub(super) fn new(
        lanes: Arc<Lanes>,
        shared: Arc<Shared>,
        upstream: Arc<dyn Upstream>,
        status: Arc<FollowerStatus>,
    ) -> Carrier {
        lanes.rename();
        let bells = vec![lanes.grants.clone()];
        Carrier { lanes, shared, upstream, status, given: None, asked_at: None, bells }
    }

    /// Asks for lanes, and begins with them once they are given.
    fn ask(&mut self, mesh: &Mesh, leader: u64, term: u64) {
        let granted = *self.lanes.granted.lock();
        if let Some((_, source)) = granted.filter(|(of, _)| *of == term) {
            if let Err(error) = self.begin(leader, term, source) {
                tracing::error!(%error, "no orders are carried to the leader");
            }
        } else if self.asked_at.is_none_or(|asked_at| asked_at.elapsed() >= ASK) {
            self.asked_at = Some(Instant::now());
            let orders = Orders { term, lanes: self.lanes.name(), source: 0, commands: Vec::new() };
            mesh.carry(leader, orders);
        }
    }

    fn begin(&mut self, leader: u64, term: u64, source: u32) -> Result<(), ring::RingError> {
        let (config, ports) = (&self.shared.config, &self.shared.ports);
        let slots = config.input_ring_slots;
        let (mut rings, mut producers) = (Vec::new(), Vec::new());
        for _ in ports {
            let options = Options { capacity: slots, consumers: 1, start: 1, wait: Wait::Park };
            let (producer, mut consumers) = ring::create(Mapping::anonymous(), options)?;
            rings.extend(consumers.pop());
            producers.push(producer);
        }
        let sources = source..;
        self.lanes.set_routes(sources.clone().zip(ports.iter().cloned()).collect());
        for ((producer, source), port) in producers.into_iter().zip(sources).zip(ports) {
            let reserved = slots * config.input_ring_reserve_percent as usize / 100;
            port.attach(CommandProducer { reserved, ..CommandProducer::new(producer, source) });
        }
        self.bells.extend(rings.iter().map(Consumer::doorbell));
        self.lanes.is_given.store(true, Ordering::Release);
        self.given = Some(Given {
            leader,
            term,
            source,
            waiting: vec![VecDeque::new(); rings.len()],
            credit: (slots / 2 / rings.len().max(1)).max(1),
            rings,
            connection: 0,
            moved_at: Instant::now(),
            sent_at: Instant::now(),
        });
        Ok(())
    }

    /// Lets go of what is answered, and sends what has come.
    fn carry(&mut self, mesh: &Mesh, leader: Option<(u64, u64)>) -> usize {
        let Carrier { given: Some(given), shared, lanes, .. } = self else { return 0 };
        let is_led = leader == Some((given.leader, given.term)) && mesh.is_connected(given.leader);
        match (shared.phase.get(), is_led) {
            (EngineState::Mirror, true) => shared.phase.set(EngineState::Carrying),
            (EngineState::Carrying, false) => shared.phase.set(EngineState::Mirror),
            _ => {}
        }
        let mut has_moved = given.waiting.iter().all(VecDeque::is_empty);
        for (waiting, port) in given.waiting.iter_mut().zip(&shared.ports) {
            let replied = port.replied();
            while waiting.pop_front_if(|command| command.source_seq <= replied).is_some() {
                has_moved = true;
            }
        }
        if has_moved {
            given.moved_at = Instant::now();
        }
        let is_stuck = given.moved_at.elapsed() >= STUCK;
        shared.phase.set_headroom(if is_stuck { DiskHeadroom::Cancels } else { DiskHeadroom::All });
        if !is_led {
            return 0;
        }
        let connection = mesh.connections(given.leader);
        let mut commands = Vec::new();
        let is_late = given.moved_at.elapsed() >= AGAIN && given.sent_at.elapsed() >= AGAIN;
        if connection != given.connection || is_late {
            (given.connection, given.sent_at) = (connection, Instant::now());
            commands.extend(given.waiting.iter().flatten().copied());
        }
        for (ring, waiting) in given.rings.iter_mut().zip(&mut given.waiting) {
            let room = given.credit.saturating_sub(waiting.len());
            ring.poll(room, |_, command| {
                waiting.push_back(*command);
                commands.push(*command);
            });
        }
        for some in commands.chunks(ORDERS_MAX) {
            let (term, lanes, source) = (given.term, lanes.name(), given.source);
            if !mesh.carry(given.leader, Orders { term, lanes, source, commands: some.to_vec() }) {
                // All of it again, once there is room.
                given.connection = 0;
                break;
            }
        }
        commands.len()
    }
}

impl Agent for Carrier {
    fn name(&self) -> &str {
        "carrier"
    }

    fn do_work(&mut self) -> usize {
        let Some(mesh) = self.lanes.mesh() else { return 0 };
        let leader = self.upstream.leader();
        if let Some(given) = &self.given
            && leader != Some((given.leader, given.term))
            && u64::from(self.status.shown_epoch()) > given.term
        {
            self.given = None;
            self.bells.truncate(1);
            self.lanes.end(&self.shared, true);
        }
        match (&self.given, leader) {
            (Some(_), _) => self.carry(&mesh, leader),
            (None, Some((leader, term))) if self.shared.phase.get() == EngineState::Mirror => {
                self.ask(&mesh, leader, term);
                0
            }
            _ => 0,
        }
    }

    fn doorbells(&self) -> &[Doorbell] {
        &self.bells
    }

    fn next_timer(&self) -> Duration {
        Duration::from_millis(10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringside_core::command::AdvanceTime;

    fn leading(slots: usize) -> (Leading, Consumer<Command>) {
        let options = Options { capacity: slots, consumers: 1, start: 1, wait: Wait::Park };
        let (producer, mut consumers) = ring::create(Mapping::anonymous(), options).expect("a ring");
        let phase = Arc::new(SharedEngineState::new(EngineState::Running));
        let lanes = Lanes::new(1);
        lanes.lead(5, phase, vec![producer], (1_000, 1_000 + 2 * OF_ONE));
        let leading = lanes.leads.lock().take().expect("it leads");
        (leading, consumers.pop().expect("one consumer"))
    }

    fn orders(source: u32, lane: u32, numbers: impl Iterator<Item = u64>) -> Orders {
        let of = |source_seq| Command { source: source + lane, source_seq, ..Command::new(AdvanceTime {}) };
        Orders { term: 5, lanes: 7, source, commands: numbers.map(of).collect() }
    }

    fn taken(ring: &mut Consumer<Command>) -> Vec<(u32, u64)> {
        let mut taken = Vec::new();
        ring.poll(usize::MAX, |_, command| taken.push((command.source, command.source_seq)));
        taken
    }

    #[test]
    fn what_is_sent_again_is_taken_once_and_nothing_out_of_turn() {
        let (mut leading, mut ring) = leading(8);
        let source = leading.give(2, 7).expect("there are some");
        assert_eq!((leading.give(2, 7), leading.give(2, 8)), (Some(source), Some(source + OF_ONE)));
        assert_eq!(leading.give(2, 9), None, "there are no more");
        leading.take(2, &orders(source, 3, 1..=2));
        leading.take(2, &orders(source, 3, 1..=3));
        leading.take(2, &orders(source, 3, 5..=6));
        leading.take(2, &orders(source, 4, 1..=1));
        let one = source + 3;
        assert_eq!(taken(&mut ring), [(one, 1), (one, 2), (one, 3), (one + 1, 1)]);
        // Of another member, of lanes of before, of a source that is none of them.
        leading.take(3, &orders(source, 3, 4..=4));
        leading.take(2, &Orders { lanes: 8, ..orders(source, 3, 4..=4) });
        leading.take(2, &orders(source, OF_ONE, 1..=1));
        assert_eq!(taken(&mut ring), []);
    }

    #[test]
    fn a_full_disk_lets_cancels_pass_and_orders_wait() {
        let (mut leading, mut ring) = leading(8);
        let source = leading.give(2, 7).expect("there are some");
        let mut placed = orders(source, 0, 1..=2);
        placed.commands[0].kind = Kind::PlaceOrder as u16;
        leading.phase.set_headroom(DiskHeadroom::Cancels);
        leading.take(2, &orders(source, 1, 1..=1));
        leading.take(2, &placed);
        assert_eq!(taken(&mut ring), [(source + 1, 1)], "nothing overtakes in its own lane");
        leading.phase.set_headroom(DiskHeadroom::All);
        leading.take(2, &placed);
        assert_eq!(taken(&mut ring), [(source, 1), (source, 2)]);
    }

    #[test]
    fn what_finds_no_room_is_taken_when_it_is_sent_again() {
        let (mut leading, mut ring) = leading(4);
        let source = leading.give(2, 7).expect("there are some");
        leading.take(2, &orders(source, 0, 1..=6));
        assert_eq!(taken(&mut ring).len(), 4);
        leading.take(2, &orders(source, 0, 1..=6));
        assert_eq!(taken(&mut ring), [(source, 5), (source, 6)]);
    }
}
