//! What the tests share: a state that is a hash of its commands, a fold that counts, a journal run by hand, and the
//! line that reruns a seed.
#![allow(dead_code, clippy::unwrap_used, missing_docs, unreachable_pub)]

#[path = "../../../../core/tests/support/seeds.rs"]
pub mod seeds;

use ringside_core::agent::Agent;
use ringside_core::command::{
    AdvanceTime, CancelOrder, Command, Credit, Kind, ListMarket, PlaceOrder, ReplaceOrder, Side, VerifyHash,
};
use ringside_core::event::{Done, Event, Sink};
use ringside_core::gate::Gate;
use ringside_core::ids::{Sequence, padded};
use ringside_core::money::{AMOUNT_UNIT, RawAmount, UNIT};
use ringside_core::prefetch::Hint;
use ringside_core::ring::{self, Consumer, Mapping, Options, Producer, Wait};
use ringside_core::sums::Sums;
use ringside_persist::config::PersistConfig;
use ringside_persist::error::{FoldError, PersistError};
use ringside_persist::format::schema_1;
use ringside_persist::recover::machine::{Fold, Machine, Watch};
use ringside_persist::recover::recovery::{Recovered, Report, recover_in};
use ringside_persist::storage::Storage;
use ringside_persist::storage::disk::Lock;
use ringside_persist::storage::faulty::Random;
use ringside_persist::write::journal::{Journal, Journaller};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use zerocopy::IntoBytes;

/// A state that any change to any command would change: the hash of all of them in order. Panics on a credit whose
/// reason says so, or is unsound from there on; its judge does not believe what a certain number caused.
pub struct Ledger {
    sequence: Sequence,
    time_ns: i64,
    hash: u64,
    diverged: Option<(Sequence, String)>,
    is_unsound: bool,
    /// Commands that opened an epoch: given by recovery, not by the test.
    pub openings: Vec<Command>,
}

pub const POISON: &[u8] = b"drill: poison";
pub const UNSOUND: &[u8] = b"drill: unsound";
/// Number, at its source, of a command whose events the judge does not believe.
pub const DOUBTED: u64 = u64::MAX;

/// Judges nothing but that number.
struct Judge(Option<(Sequence, String)>);

impl Watch for Judge {
    fn event(&mut self, event: &Event) {
        if event.get::<Done>().is_some_and(|done| done.source_seq == DOUBTED) {
            self.0.get_or_insert((event.sequence, "the drill's doubt".to_string()));
        }
    }

    fn skip(&mut self) {}

    fn fault(&self) -> Option<(Sequence, String)> {
        self.0.clone()
    }
}

thread_local! {
    /// A bit of the memory of the next ledger flips that applies a command on this thread.
    pub static FLIPS: Cell<bool> = const { Cell::new(false) };
}

impl Ledger {
    /// What is told of a command; `hash` is that of the state after it.
    fn event(command: &Command, time_ns: i64, hash: u64) -> Event {
        let done = Done {
            source_seq: command.source_seq,
            source: command.source,
            command: command.kind,
            reject: 0,
            order: hash,
            account: 0,
            market: 0,
            idempotency_key: 0,
            replayed: 0,
            update: 0,
        };
        Event::new(command.sequence, time_ns, 0, done)
    }

    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The hash after `command`, from the one before.
    pub fn next_hash(hash: u64, command: &Command) -> u64 {
        let mut block = [0; 192];
        block[..184].copy_from_slice(command.as_bytes());
        schema_1::chain(hash, &block)
    }
}

impl Machine for Ledger {
    type Config = ();

    fn version() -> u32 {
        1
    }

    fn genesis(_config: &()) -> Ledger {
        Ledger { sequence: 0, time_ns: 0, hash: 0, diverged: None, is_unsound: false, openings: Vec::new() }
    }

    fn load(_config: &(), bytes: &[u8]) -> Result<Ledger, FoldError> {
        let word = |index: usize| u64::from_le_bytes(bytes[index * 8..index * 8 + 8].try_into().unwrap());
        if bytes.len() != 24 {
            return Err("a ledger has 24 bytes".into());
        }
        Ok(Ledger {
            sequence: word(0),
            time_ns: word(1) as i64,
            hash: word(2),
            diverged: None,
            is_unsound: false,
            openings: Vec::new(),
        })
    }

    fn save(&self, bytes: &mut Vec<u8>) {
        for word in [self.sequence, self.time_ns as u64, self.hash] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }

    fn apply(&mut self, command: &Command, sink: &mut impl Sink) {
        self.skip(command);
        if command.kind == Kind::Credit as u16 {
            assert!(!command.body::<Credit>().reason.starts_with(POISON), "the drill's poison was swallowed");
            self.is_unsound |= command.body::<Credit>().reason.starts_with(UNSOUND);
        }
        if command.kind == Kind::VerifyHash as u16 {
            let verify = command.body::<VerifyHash>();
            if verify.hash[..8] != self.hash.to_le_bytes() {
                self.diverged = Some((verify.checkpoint, "the test's hash".to_string()));
            }
        }
        if command.kind == Kind::OpenEpoch as u16 {
            self.openings.push(*command);
        }
        self.hash = Ledger::next_hash(self.hash ^ u64::from(FLIPS.take()), command);
        sink.event(&Ledger::event(command, self.time_ns, self.hash));
    }

    fn skip(&mut self, command: &Command) {
        assert_eq!(command.sequence, self.sequence + 1, "commands come in order");
        self.sequence = command.sequence;
        self.time_ns = self.time_ns.max(command.time_ns);
    }

    fn prefetch(&self, _command: &Command, _hint: Hint) {}

    fn sequence(&self) -> Sequence {
        self.sequence
    }

    fn time_ns(&self) -> i64 {
        self.time_ns
    }

    fn state_hash(&self) -> [u8; 16] {
        let mut hash = [0; 16];
        hash[..8].copy_from_slice(&self.hash.to_le_bytes());
        hash
    }

    fn diverged(&self) -> Option<(Sequence, String)> {
        self.diverged.clone()
    }

    fn check_invariants(&self) -> Result<(), String> {
        if self.is_unsound { Err("the drill's unsoundness".to_string()) } else { Ok(()) }
    }

    fn watch(&self) -> Box<dyn Watch> {
        Box::new(Judge(None))
    }
}

/// Counts events and remembers the last, so that a lost or doubled one shows.
#[derive(Default, Debug, Clone, PartialEq, Eq)]
pub struct Count {
    pub events: u64,
    pub last: Sequence,
}

impl Fold for Count {
    fn event(&mut self, event: &Event) {
        self.events += 1;
        self.last = event.sequence;
    }

    fn save(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.events.to_le_bytes());
        bytes.extend_from_slice(&self.last.to_le_bytes());
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), FoldError> {
        *self = Count::default();
        let (events, last) = bytes.split_first_chunk::<8>().ok_or("too short")?;
        self.events = u64::from_le_bytes(*events);
        self.last = u64::from_le_bytes(last.try_into()?);
        Ok(())
    }

    fn reset(&mut self) {
        *self = Count::default();
    }
}

/// A command of one of the usual sizes.
pub fn random_command(random: &mut Random) -> Command {
    let mut command = match random.below(8) {
        0 => Command::new(AdvanceTime {}),
        1 | 2 => {
            Command::new(CancelOrder { account: random.draw() as u32, reserved: 0, order: random.draw() })
        }
        3 => Command::new(Credit {
            address: [random.draw() as u8; 20],
            asset: *b"USD\0\0\0\0\0\0\0",
            reserved: 0,
            amount: RawAmount::new(i128::from(random.draw())),
            reason: [random.draw() as u8 | 0x80; 64],
        }),
        4 if random.below(8) == 0 => {
            // Nothing this version knows: kept whole all the same.
            let mut command = Command::new(AdvanceTime {});
            command.kind = 900 + random.below(100) as u16;
            command.body[150] = random.draw() as u8;
            command
        }
        _ => Command::new(PlaceOrder::limit(
            random.draw() as u32,
            random.draw() as u32,
            Side::Buy,
            random.draw() as i64,
            random.draw() as i64,
        )),
    };
    command.source = 1 + random.below(4) as u32;
    command.source_seq = random.draw();
    command
}

/// A small journal: many segments, batches and rolls in few commands.
pub fn small_config(random: &mut Random) -> PersistConfig {
    PersistConfig {
        segment_len: [16 << 10, 20 << 10, 32 << 10, 64 << 10][random.below(4) as usize],
        batch_len: [4 << 10, 8 << 10, 16 << 10][random.below(3) as usize],
        spares: 1 + random.below(2) as usize,
        idle_seal: if random.below(2) == 0 { Duration::ZERO } else { Duration::from_secs(3600) },
        sync_interval: if random.below(2) == 0 { Duration::ZERO } else { Duration::from_secs(3600) },
        journal_id: Some([random.draw() as u8; 16]),
        opened_at_ns: 1_000,
        ..PersistConfig::new("")
    }
}

/// A journal in use, run by hand on this thread.
pub struct Session {
    pub producer: Producer<Command>,
    pub journaller: Journaller,
    pub gate: Arc<Gate>,
    pub report: Report,
    pub next: Sequence,
    pub time_ns: i64,
    /// The state's hash after the command before `next`.
    pub hash: u64,
    /// What was told of commands, those on their way included.
    pub sums: Arc<Sums>,
}

pub fn recover_ledger(
    storage: Arc<dyn Storage>,
    config: &PersistConfig,
    fold: &mut dyn Fold,
) -> Result<Recovered<Ledger>, PersistError> {
    recover_in::<Ledger>(storage, Lock::default(), config, &(), fold)
}

impl Session {
    pub fn open(storage: Arc<dyn Storage>, config: &PersistConfig) -> Result<Session, PersistError> {
        Session::of(recover_ledger(storage, config, &mut ())?)
    }

    pub fn of(recovered: Recovered<Ledger>) -> Result<Session, PersistError> {
        Session::run_by(recovered, Journaller::invoked)
    }

    /// One whose batches are written by threads of their own.
    pub fn threaded(recovered: Recovered<Ledger>) -> Result<Session, PersistError> {
        Session::run_by(recovered, Journaller::new)
    }

    pub fn run_by(
        recovered: Recovered<Ledger>,
        journaller: impl FnOnce(Journal, Consumer<Command>, Arc<Gate>) -> Result<Journaller, PersistError>,
    ) -> Result<Session, PersistError> {
        let options =
            Options { capacity: 256, consumers: 1, start: recovered.next_sequence, wait: Wait::Yield };
        let (producer, mut consumers) = ring::create(Mapping::anonymous(), options).unwrap();
        let gate = Arc::new(Gate::new(recovered.next_sequence - 1));
        let consumer = consumers.pop().unwrap();
        let journaller = journaller(recovered.journal, consumer, gate.clone())?;
        Ok(Session {
            producer,
            journaller,
            gate,
            report: recovered.report,
            next: recovered.next_sequence,
            time_ns: recovered.engine.time_ns(),
            hash: recovered.engine.hash(),
            sums: recovered.sums,
        })
    }

    /// Publishes the next command; the commands given become part of `truth`, whose entry `n` is the hash after
    /// command `n`.
    pub fn publish(&mut self, mut command: Command, truth: &mut Vec<u64>) -> bool {
        self.time_ns += 1;
        (command.sequence, command.time_ns) = (self.next, self.time_ns);
        if self.producer.try_publish(&command).is_err() {
            return false;
        }
        self.hash = Ledger::next_hash(self.hash, &command);
        self.sums.lock().event(&Ledger::event(&command, self.time_ns, self.hash));
        truth.truncate(self.next as usize);
        truth.push(self.hash);
        self.next += 1;
        true
    }

    /// Work steps until one does nothing.
    pub fn settle(&mut self) {
        while self.journaller.do_work() > 0 {}
    }

    /// What may be shown is told, as egress does.
    pub fn tell(&mut self) {
        if let Some(told) = self.sums.lock().at(self.gate.durable()) {
            self.gate.tell(told);
        }
    }
}

/// Runs `check` for each seed on two threads; a failure names its seed and the line that reruns it.
pub fn for_each_seed(test: &str, count: u64, check: impl Fn(u64) + Sync) {
    for_each(test, seeds::seeds(count), check);
}

/// The same for each number below `count`, where all of them are the proof; `RINGSIDE_SEED` names one of them.
pub fn for_each_case(test: &str, count: u64, check: impl Fn(u64) + Sync) {
    let one = seeds::first(0);
    for_each(test, if seeds::is_rerun() { one..one + 1 } else { 0..count }, check);
}

fn for_each(test: &str, seeds: Range<u64>, check: impl Fn(u64) + Sync) {
    let next = std::sync::atomic::AtomicU64::new(seeds.start);
    let work = || {
        loop {
            let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(seed)));
            if let Err(panic) = result {
                eprintln!(
                    "seed {seed} fails; rerun: RINGSIDE_SEED={seed} cargo test --release -p ringside-persist \
                     --test journal {test} -- --exact --nocapture"
                );
                next.store(seeds.end, std::sync::atomic::Ordering::Relaxed);
                std::panic::resume_unwind(panic);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(work);
        }
    });
}

/// A flow of real commands for the real engine: a market, accounts with money, then orders, cancels and replaces
/// that trade with each other. Sequences are the caller's to set; time passes.
pub struct Flow {
    random: Random,
    count: u64,
    orders: u64,
}

impl Flow {
    const ACCOUNTS: u64 = 20;

    pub fn new(seed: u64) -> Flow {
        Flow { random: Random::new(seed), count: 0, orders: 0 }
    }

    fn body(&mut self) -> Command {
        let setup = 1 + Flow::ACCOUNTS * 2;
        if self.count == 0 {
            return Command::new(ListMarket {
                symbol: padded("BTCUSD").unwrap(),
                base: padded("BTC").unwrap(),
                quote: padded("USD").unwrap(),
                tick: UNIT / 100,
                lot: UNIT / 100,
                min_notional: RawAmount::new(1),
                maker_fee: 500,
                taker_fee: 1_000,
                max_open_orders: 10_000,
                kind: 0,
                reserved: [0; 3],
            });
        }
        if self.count < setup {
            let of = self.count - 1;
            return Command::new(Credit {
                address: [of as u8 / 2 + 1; 20],
                asset: padded(if of.is_multiple_of(2) { "BTC" } else { "USD" }).unwrap(),
                reserved: 0,
                amount: RawAmount::new(1_000_000_000 * AMOUNT_UNIT),
                reason: [0; 64],
            });
        }
        let account = 1 + self.random.below(Flow::ACCOUNTS) as u32;
        let side = if self.random.below(2) == 0 { Side::Buy } else { Side::Sell };
        let price = (9_900 + self.random.below(200) as i64) * UNIT / 100;
        let quantity = (1 + self.random.below(500) as i64) * UNIT / 100;
        match self.random.below(10) {
            0..6 => {
                self.orders += 1;
                let mut order = PlaceOrder::limit(account, 0, side, price, quantity);
                order.time_in_force = self.random.below(4) as u8;
                Command::new(order)
            }
            6..9 => {
                let order = 1 + self.random.below(self.orders.max(1));
                Command::new(CancelOrder { account, reserved: 0, order })
            }
            _ => {
                let order = 1 + self.random.below(self.orders.max(1));
                Command::new(ReplaceOrder { account, reserved: 0, order, price, quantity })
            }
        }
    }
}

impl Iterator for Flow {
    type Item = Command;

    fn next(&mut self) -> Option<Command> {
        let mut command = self.body();
        self.count += 1;
        command.time_ns = 1_000 + self.count as i64 * 1_000;
        (command.source, command.source_seq) = (1, self.count);
        Some(command)
    }
}
