//! Simulated histories: users withdraw, blocks come and are replaced, the venue dies and is restored from old copies. In the
//! end nothing was paid twice, nothing is lost, and what the accounts have and were paid is what they had.

use crate::ledger::{EnginePort, LIFETIME_S, Venue};
use crate::random::{Random, Rerun, seeds};
use crate::signer::{Folder, sign};
use crate::world::{Brought, CHAIN_ID, Mood, Node, SIGNER, Submission, TOKEN, VAULT, VAULT_NAME, World};
use ringside_chain::Signer;
use ringside_chain::provider::Provider;
use ringside_chain::quorum::Quorum;
use ringside_chain::signer::limits::{Limits, Policy, VaultPolicy};
use ringside_chain::watcher::{Turn, TurnError, Watcher, WatcherConfig};
use ringside_commands::clock::Clock;
use ringside_core::command::WithdrawalStatus;
use ringside_core::ids::Address;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

const START_S: u64 = 1_700_000_000;
const UNITS: u128 = 1_000_000_000_000_000_000;
/// What every account has in the beginning.
const EACH: u128 = 1_000_000 * UNITS;
const ACCOUNTS: [Address; 3] = [[0xa1; 20], [0xa2; 20], [0xa3; 20]];
/// One that has nothing but what it deposits.
const POOR: Address = [0xa4; 20];

pub(crate) fn policy() -> Policy {
    let vault = VaultPolicy { chain_id: CHAIN_ID, address: VAULT, name: "SpotVault".to_owned() };
    Policy { vaults: vec![vault], tokens: [(TOKEN, Limits::NONE)].into() }
}

/// Everything of one history.
pub(crate) struct Rig {
    pub(crate) world: Rc<RefCell<World>>,
    pub(crate) venue: Rc<RefCell<Venue>>,
    pub(crate) moods: Vec<Rc<Cell<Mood>>>,
    pub(crate) config: WatcherConfig,
    watcher: Option<Watcher>,
    /// A signature was given that the venue has not recorded.
    forgot: bool,
    needed: usize,
    /// Of 100 facts, how many the venue does not take.
    busy: Rc<Cell<u64>>,
    /// Of 100 questions, how many the world does not wait for.
    restless: Rc<Cell<u64>>,
    random: Rc<RefCell<Random>>,
    depth_max: u64,
    /// Questions that each node was asked in this turn.
    questions: Vec<Rc<Cell<u64>>>,
    /// Deposits that were sent.
    sent: u64,
}

impl Rig {
    pub(crate) fn new(seed: u64, confirmations: u64, finality: Option<u64>, nodes: usize) -> Rig {
        let world = Rc::new(RefCell::new(World::new(START_S, finality.unwrap_or(u64::MAX))));
        let config = WatcherConfig {
            chain_id: CHAIN_ID,
            vault: VAULT,
            vault_name: VAULT_NAME.to_owned(),
            signer: Some(SIGNER),
            is_former: false,
            start: 0,
            confirmations,
            wants_finalized: finality.is_some(),
            every: Duration::ZERO,
            stalled_after: Duration::MAX,
        };
        Rig {
            world,
            venue: Rc::new(RefCell::new(Venue::new(&ACCOUNTS, EACH, START_S))),
            moods: (0..nodes).map(|_| Rc::new(Cell::new(Mood::Honest))).collect(),
            config,
            watcher: None,
            forgot: false,
            needed: 2,
            busy: Rc::default(),
            restless: Rc::default(),
            random: Rc::new(RefCell::new(Random::new(seed))),
            // What is final is not replaced; a count of confirmations promises the same of what it counts.
            depth_max: finality.unwrap_or(confirmations),
            questions: Vec::new(),
            sent: 0,
        }
    }

    pub(crate) fn below(&self, bound: u64) -> u64 {
        self.random.borrow_mut().below(bound)
    }

    /// The watcher of a venue that was just started, on nodes that keep their mood.
    fn start(&mut self) -> Watcher {
        let names = ["one", "two", "three"];
        let mut providers = Vec::new();
        self.questions.clear();
        for (mood, name) in self.moods.iter_mut().zip(names) {
            let (node, fresh) = Node::new(name, &self.world);
            fresh.set(mood.get());
            self.questions.push(node.questions.clone());
            *mood = fresh;
            let (world, random, restless, depth_max) =
                (self.world.clone(), self.random.clone(), self.restless.clone(), self.depth_max);
            let node = node.disturbed_by(move || {
                let random = &mut *random.borrow_mut();
                if random.below(100) < restless.get() {
                    let depth = random.below(depth_max + 1);
                    world.borrow_mut().reorganize(depth, random);
                }
            });
            providers.push(Provider::new(Box::new(node)));
        }
        let (busy, random) = (self.busy.clone(), self.random.clone());
        let port = EnginePort {
            venue: self.venue.clone(),
            world: self.world.clone(),
            is_busy: Rc::new(move || busy.get() > 0 && random.borrow_mut().below(100) < busy.get()),
            confirmations: self.config.confirmations,
        };
        Watcher::new(self.config.clone(), Quorum::new(CHAIN_ID, providers, self.needed), Box::new(port))
    }

    /// Ends the venue's process; the next turn is a new one's, after it has looked at its signer's log.
    pub(crate) fn crash(&mut self) {
        self.watcher = None;
    }

    pub(crate) fn turn(&mut self) -> bool {
        self.look().is_ok()
    }

    pub(crate) fn look(&mut self) -> Result<Turn, TurnError> {
        let mut watcher = self.watcher.take().unwrap_or_else(|| self.start());
        self.questions.iter().for_each(|questions| questions.set(0));
        let turn = futures_util::FutureExt::now_or_never(watcher.turn()).expect("the model does not wait");
        self.watcher = Some(watcher);
        turn
    }

    /// Turns until everything up to the head is told.
    pub(crate) fn follow(&mut self) {
        for _ in 0..10_000 {
            if self.look() == Ok(Turn::Done) {
                return;
            }
        }
        panic!("the watcher does not get on");
    }

    pub(crate) fn request(&mut self, signer: &mut dyn Signer) -> Option<Submission> {
        let account = [POOR, ACCOUNTS[0], ACCOUNTS[1], ACCOUNTS[2]][self.below(4) as usize];
        let value = u128::from(1 + self.below(1_000)) * UNITS;
        let release = self.venue.borrow_mut().request(account, value)?;
        sign(signer, &release).expect("what the venue asks for is signed");
        // Sometimes it is killed before it has recorded that; the signer's log tells it later.
        if self.below(16) == 0 {
            self.forgot = true;
        } else {
            self.venue.borrow_mut().record(release.withdrawal);
        }
        Some(Submission { account, value, nonce: release.key.nonce, deadline_s: release.deadline_s })
    }

    /// Somebody deposits.
    pub(crate) fn bring(&mut self) {
        let account = [POOR, ACCOUNTS[0], ACCOUNTS[1], ACCOUNTS[2]][self.below(4) as usize];
        let value = u128::from(1 + self.below(2_000)) * UNITS;
        self.sent += 1;
        let brought = Brought { id: self.sent, account, token: TOKEN, value };
        self.world.borrow_mut().waiting.push(brought);
    }

    /// After a copy was restored: what was deposited is told before the signer's log is compared, and releases after it.
    pub(crate) fn start_from_copy(&mut self, signer: &mut dyn Signer) {
        self.crash();
        self.venue.borrow_mut().holds_releases = true;
        self.venue.borrow_mut().is_caught_up = false;
        self.follow();
        assert!(self.venue.borrow().is_caught_up);
        self.reconcile(signer);
        self.venue.borrow_mut().holds_releases = false;
    }

    /// What the venue does with its signer's log after a start.
    pub(crate) fn reconcile(&mut self, signer: &mut dyn Signer) {
        let mut all = Vec::new();
        loop {
            let issued = signer.issued(all.len() as u64).unwrap();
            if issued.is_empty() {
                break;
            }
            all.extend(issued);
        }
        self.venue.borrow_mut().adopt(&all);
        self.forgot = false;
    }

    /// A venue that was killed before it recorded a signature starts again and hears of it by the signer's log.
    pub(crate) fn remember(&mut self, signer: &mut dyn Signer) {
        if self.forgot {
            self.crash();
            self.reconcile(signer);
        }
    }

    pub(crate) fn reorganize(&mut self) {
        let depth = self.below(self.depth_max + 1);
        self.world.borrow_mut().reorganize(depth, &mut self.random.borrow_mut());
    }

    /// Replaces blocks however deep, final ones too.
    pub(crate) fn deep(&mut self, depth: u64) {
        self.world.borrow_mut().reorganize(depth, &mut self.random.borrow_mut());
    }

    /// Honest nodes, a calm world, and blocks until everything has ended.
    pub(crate) fn end(&mut self) {
        self.moods.iter().for_each(|mood| mood.set(Mood::Honest));
        self.busy.set(0);
        self.restless.set(0);
        for _ in 0..4 {
            self.world.borrow_mut().mine(LIFETIME_S, false);
            for _ in 0..=self.depth_max.max(self.config.confirmations) {
                self.world.borrow_mut().mine(1, false);
            }
            self.follow();
        }
        self.judge();
    }

    /// What must hold of every history.
    fn judge(&self) {
        let (world, venue) = (self.world.borrow(), self.venue.borrow());
        assert_eq!((venue.open_count(), venue.alarms(), venue.is_paused()), (0, 0, false));
        venue.check();
        assert_eq!(venue.deposits(), world.deposits(), "no deposit is left out");
        for account in ACCOUNTS.iter().chain([&POOR]) {
            let (paid, brought) = (world.paid(account), world.brought(account, &TOKEN));
            let given = brought + if *account == POOR { 0 } else { EACH };
            let (available, frozen) = venue.balance(account);
            assert_eq!(
                (available + paid, frozen),
                (given + venue.claim(account), 0),
                "what it has and was paid is what it had and brought"
            );
            let own = venue.withdrawals().filter(|one| one.submission.account == *account);
            let confirmed = own.filter(|one| one.status == WithdrawalStatus::Confirmed);
            assert_eq!(confirmed.map(|one| one.submission.value).sum::<u128>(), paid);
        }
    }
}

/// One step of a history that any may take.
fn step(rig: &mut Rig, signed: &mut Vec<Submission>, signer: &mut dyn Signer) {
    match rig.below(19) {
        16..19 => rig.bring(),
        0..3 => {
            signed.extend(rig.request(signer));
            rig.remember(signer);
        }
        3..5 if !signed.is_empty() => {
            let chosen = rig.below(signed.len() as u64) as usize;
            // Nobody has to submit at once, nor ever, nor once.
            let submission = signed[chosen];
            rig.world.borrow_mut().pool.push(submission);
        }
        5..9 => {
            let (seconds, is_empty) = (1 + rig.below(30), rig.below(3) == 0);
            rig.world.borrow_mut().mine(seconds, is_empty);
        }
        // Up to the very last second of a deadline, and past it.
        9 if !signed.is_empty() => {
            let deadline_s = signed[rig.below(signed.len() as u64) as usize].deadline_s;
            let now_s = rig.world.borrow().head().time_s;
            let seconds = (deadline_s + rig.below(3)).saturating_sub(now_s + 1);
            rig.world.borrow_mut().mine(seconds.max(1), false);
        }
        10 => rig.reorganize(),
        // What the signer knows besides is nothing that the venue does not.
        11 => rig.crash(),
        12 => {
            for _ in 0..rig.below(25) {
                rig.world.borrow_mut().mine(2, false);
            }
        }
        _ => {
            rig.turn();
        }
    }
}

/// Row 11: reorganizations up to 64 blocks deep on a chain that says what is final, up to the confirmations on one that
/// does not; also in the middle of a turn.
#[test]
fn a_reorganization_is_undone_before_it_counts() {
    let folder = Folder::new("histories");
    let mut confirmed = 0;
    for seed in seeds(1_500) {
        let _rerun = Rerun("chain histories::a_reorganization", seed);
        let (confirmations, finality) = match seed % 4 {
            0 => (20, None),
            1 => (20, Some(64)),
            2 => (3, None),
            _ => (1, Some(7)),
        };
        let mut rig = Rig::new(seed, confirmations, finality, 2 + (seed % 2) as usize);
        let mut signer = folder.signer(&format!("{seed}"), policy(), Clock::manual(START_S as i64 * 1_000));
        rig.busy.set([0, 10, 50][rig.below(3) as usize]);
        rig.restless.set([0, 0, 3][rig.below(3) as usize]);
        let mut signed = Vec::new();
        for _ in 0..40 + rig.below(60) {
            step(&mut rig, &mut signed, &mut signer);
        }
        rig.end();
        confirmed +=
            rig.venue.borrow().withdrawals().filter(|one| one.status == WithdrawalStatus::Confirmed).count();
        folder.remove(&format!("{seed}"));
    }
    // A history in which nothing happens shows nothing.
    assert!(confirmed > 0, "nothing was ever confirmed");
}

/// Row 20: the venue is killed, restored from an older copy, and takes in from the signer's log what it has forgotten.
#[test]
fn an_old_copy_neither_pays_twice_nor_loses() {
    let folder = Folder::new("copies");
    for seed in seeds(4_000) {
        let _rerun = Rerun("chain histories::an_old_copy", seed);
        let mut rig = Rig::new(seed, 2 + seed % 3, None, 2);
        let name = format!("{seed}");
        let clock = Clock::manual(START_S as i64 * 1_000);
        let mut signer = folder.signer(&name, policy(), clock.clone());
        let mut signed = Vec::new();
        let mut copies = vec![rig.venue.borrow().copy()];
        for _ in 0..30 + rig.below(30) {
            match rig.below(24) {
                0 => {
                    let copy = rig.venue.borrow().copy();
                    copies.push(copy);
                }
                1 => {
                    let chosen = rig.below(copies.len() as u64) as usize;
                    rig.venue.borrow_mut().restore(&copies[chosen]);
                    // The signer may have died as well; its log is what it was.
                    drop(signer);
                    signer = folder.signer(&name, policy(), clock.clone());
                    rig.start_from_copy(&mut signer);
                }
                _ => step(&mut rig, &mut signed, &mut signer),
            }
        }
        rig.end();
        folder.remove(&name);
    }
}
