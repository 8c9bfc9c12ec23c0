//! The venue's half of the simulations: the real engine, driven by the commands that the chain's side submits, one at a time
//! and without a journal; and the port through which the watcher tells it. Panics at what must be impossible.
//!
//! What it keeps besides is what its own events have told, as the views do. A copy of both is what a backup is.

use crate::market::df_usdt;
use crate::world::{CHAIN_ID, Submission, TOKEN, VAULT, World, deposit_hash};
use ringside_chain::{
    Counters, FinalBlock, FinalDeposit, FinalRelease, Issued, Local, Release, ReleaseKey, Replaced, Stop,
    Told, WatchPort,
};
use ringside_core::audit::Auditor;
use ringside_core::command::{
    AdoptWithdrawal, AdvanceChain, Body, Command, Credit, DepositStatus, Ledger, ObserveVault,
    PauseWithdrawals, RecordDeposit, RecordRelease, RecordSignature, RequestWithdrawal, RewindVault,
    SetToken, UndoEvent, WithdrawalStatus, pause,
};
use ringside_core::event::{self, ChainAdvanced, Done, Event, ReleaseAlarm, RewindStage};
use ringside_core::ids::{Address, WithdrawalId, padded};
use ringside_core::reject::Reject;
use ringside_core::{Engine, EngineConfig};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Seconds from a request to its deadline.
pub(crate) const LIFETIME_S: u64 = 600;
/// A withdrawal as it was told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Withdrawal {
    pub(crate) submission: Submission,
    pub(crate) status: WithdrawalStatus,
}

/// An event of the vault that the engine has taken.
#[derive(Clone, Debug)]
struct Taken {
    block: u64,
    undo: UndoEvent,
    /// Of a deposit.
    contents: Option<FinalDeposit>,
}

/// What events have told.
#[derive(Clone, Debug, Default)]
struct Seen {
    withdrawals: BTreeMap<WithdrawalId, Withdrawal>,
    cursor: Option<FinalBlock>,
    marks: Vec<FinalBlock>,
    taken: Vec<Taken>,
    time_s: u64,
    alarms: u32,
}

/// What a backup is.
pub(crate) struct Copy {
    engine: Vec<u8>,
    seen: Seen,
}

/// See the module.
pub(crate) struct Venue {
    engine: Engine,
    auditor: Auditor,
    events: Vec<Event>,
    seen: Seen,
    /// The signer's log is still to be compared.
    pub(crate) holds_releases: bool,
    pub(crate) is_caught_up: bool,
    /// What operators are told of final blocks that were replaced, and whether they agree to go back.
    pub(crate) replaced: Option<Replaced>,
    pub(crate) agrees: bool,
    /// Why withdrawals were last stopped.
    pub(crate) stops: Vec<Stop>,
    /// Whether it is wanted what the vault holds, and of each block that was told since then what that is.
    pub(crate) wants_held: bool,
    pub(crate) held: Vec<(u64, u128)>,
}

impl Venue {
    /// What the ledgers owe of the token, to everybody.
    pub(crate) fn owed(&self) -> i128 {
        let asset = self.engine.asset(&padded("DF").unwrap()).unwrap();
        let all = self.engine.liabilities().unwrap();
        let df = &all[usize::from(asset)];
        df.accounts.iter().map(|row| row.owed()).sum::<i128>() + df.fees + df.funds + df.held_deposits
    }

    /// Accounts with `each` of the token.
    pub(crate) fn new(accounts: &[Address], each: u128, time_s: u64) -> Venue {
        let engine = Engine::new(&EngineConfig::SMALLEST);
        let auditor = Auditor::new(&engine);
        let seen = Seen { time_s, ..Seen::default() };
        let mut venue = Venue {
            engine,
            auditor,
            events: Vec::new(),
            seen,
            holds_releases: false,
            is_caught_up: false,
            replaced: None,
            agrees: false,
            stops: Vec::new(),
            wants_held: false,
            held: Vec::new(),
        };
        let df = padded("DF").unwrap();
        venue.take(df_usdt());
        venue.take(SetToken {
            chain_id: CHAIN_ID,
            token: TOKEN,
            asset: df,
            decimals: 18,
            paused: 0,
            minimum: 1_000_000_000_000_000_000.into(),
        });
        for &address in accounts {
            let amount = (each as i128).into();
            venue.take(Credit { address, asset: df, reserved: 0, amount, reason: [0; 64] });
        }
        venue
    }

    /// Carries a command out and folds what it tells.
    fn give<B: Body>(&mut self, body: B) -> Done {
        let (sequence, time_ns) = (self.engine.sequence() + 1, self.seen.time_s as i64 * 1_000_000_000);
        self.events.clear();
        self.engine.apply(&Command { sequence, time_ns, ..Command::new(body) }, &mut self.events);
        for event in &self.events {
            self.auditor.event(event);
            self.seen.fold(event, &self.engine);
        }
        if let Some((sequence, fault)) = self.auditor.fault() {
            panic!("audit at {sequence}: {fault}");
        }
        *self.events.last().unwrap().get::<Done>().unwrap()
    }

    fn take<B: Body>(&mut self, body: B) -> Done {
        let done = self.give(body);
        assert_eq!(done.rejected(), None);
        done
    }

    /// Takes an amount and the smallest free nonce; what the signer is to sign. `None` where the engine refuses.
    pub(crate) fn request(&mut self, address: Address, value: u128) -> Option<Release> {
        let account = self.engine.account(&address)?;
        let done = self.give(RequestWithdrawal {
            account,
            ledger: Ledger::Spot as u8,
            reserved: [0; 3],
            amount: (value as i128).into(),
            chain_id: CHAIN_ID,
            vault: VAULT,
            token: TOKEN,
            asset: padded("DF").unwrap(),
            reserved_2: [0; 6],
            lifetime_s: LIFETIME_S as u32,
            reserved_3: 0,
            vault_name: padded("SpotVault").unwrap(),
            idempotency_key: 0,
            idempotency_body: 0,
        });
        match done.rejected() {
            None => Some(self.release(done.order)),
            Some(Reject::InsufficientBalance | Reject::WithdrawalsPaused | Reject::NonceHeld) => None,
            Some(reject) => panic!("{reject:?}"),
        }
    }

    /// What the signer is asked for, as the desk makes it of what was told.
    fn release(&self, id: WithdrawalId) -> Release {
        let mut told = self.events.iter().filter_map(Event::get::<event::Withdrawal>);
        let told = told.next_back().expect("it was told");
        let Submission { account, value, nonce, deadline_s } = self.seen.withdrawals[&id].submission;
        Release {
            key: ReleaseKey { chain_id: CHAIN_ID, vault: VAULT, account, nonce },
            vault_name: "SpotVault".to_owned(),
            token: TOKEN,
            value,
            deadline_s,
            requested_at_s: told.requested_at_s,
            withdrawal: id,
        }
    }

    /// Records a signature.
    pub(crate) fn record(&mut self, withdrawal: WithdrawalId) {
        self.take(RecordSignature { withdrawal, digest: [1; 32], signature: [7; 65], reserved: [0; 7] });
    }

    /// A backup.
    pub(crate) fn copy(&self) -> Copy {
        let mut engine = Vec::new();
        self.engine.save(&mut engine);
        Copy { engine, seen: self.seen.clone() }
    }

    /// Goes on from a backup.
    pub(crate) fn restore(&mut self, copy: &Copy) {
        self.engine = Engine::load(&EngineConfig::SMALLEST, &copy.engine).unwrap();
        self.auditor = Auditor::new(&self.engine);
        self.seen = copy.seen.clone();
    }

    /// After a copy was restored: takes in what the signer has signed since; of each key the newest, as the desk does.
    pub(crate) fn adopt(&mut self, issued: &[Issued]) {
        let newest: BTreeMap<ReleaseKey, &Release> =
            issued.iter().map(|issued| (issued.release.key, &issued.release)).collect();
        for release in newest.into_values() {
            // The venue's clock is later than anything that was ever asked of it.
            self.seen.time_s = self.seen.time_s.max(release.requested_at_s);
            let known = self.seen.withdrawals.iter().find(|(_, known)| {
                let Submission { account, value, nonce, deadline_s } = known.submission;
                (account, value, nonce, deadline_s)
                    == (release.key.account, release.value, release.key.nonce, release.deadline_s)
            });
            match known.map(|(&id, known)| (id, known.status)) {
                Some((id, WithdrawalStatus::Requested)) => self.record(id),
                Some(_) => {}
                None => self.adopt_one(release),
            }
        }
    }

    fn adopt_one(&mut self, release: &Release) {
        let done = self.give(AdoptWithdrawal {
            address: release.key.account,
            ledger: Ledger::Spot as u8,
            is_of_new_signer: 0,
            reserved: [0; 2],
            amount: (release.value as i128).into(),
            chain_id: CHAIN_ID,
            vault: VAULT,
            token: TOKEN,
            asset: padded("DF").unwrap(),
            reserved_2: [0; 6],
            nonce: release.key.nonce,
            deadline_s: release.deadline_s,
            requested_at_s: release.requested_at_s,
            vault_name: padded("SpotVault").unwrap(),
        });
        match done.rejected() {
            None => self.record(done.order),
            Some(Reject::AlreadyReleased | Reject::WithdrawalExpired) => {}
            Some(reject) => panic!("{release:?}: {reject:?}"),
        }
    }

    /// Available and frozen of the token.
    pub(crate) fn balance(&self, address: &Address) -> (u128, u128) {
        let asset = self.engine.asset(&padded("DF").unwrap()).unwrap();
        let Some(account) = self.engine.account(address) else { return (0, 0) };
        let (available, frozen) = self.engine.balance(account, asset).unwrap();
        (available.unsigned_abs(), frozen.unsigned_abs())
    }

    pub(crate) fn withdrawals(&self) -> impl Iterator<Item = &Withdrawal> {
        self.seen.withdrawals.values()
    }

    pub(crate) fn open_count(&self) -> usize {
        self.engine.withdrawals().count()
    }

    pub(crate) fn alarms(&self) -> u32 {
        self.seen.alarms
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.engine.withdrawals_paused() != 0
    }

    pub(crate) fn cursor(&self) -> Option<FinalBlock> {
        self.seen.cursor
    }

    /// Deposits that were taken.
    pub(crate) fn deposits(&self) -> u64 {
        self.engine.deposits(CHAIN_ID, &VAULT)
    }

    /// What an account was credited for deposits that the chain has undone.
    pub(crate) fn claim(&self, address: &Address) -> u128 {
        let asset = self.engine.asset(&padded("DF").unwrap()).unwrap();
        let account = self.engine.account(address);
        account.map_or(0, |account| self.engine.deposit_claim(account, asset).unsigned_abs())
    }

    pub(crate) fn paused(&self) -> u32 {
        self.engine.withdrawals_paused()
    }

    /// Two operators agree, and everything above the block is taken back, the last first.
    fn go_back(&mut self, kept: FinalBlock) {
        let FinalBlock { chain_id, vault, block, hash, time_s } = kept;
        for name in ["ann", "bob"] {
            let operator = padded(name).unwrap();
            self.take(RewindVault { chain_id, vault, reserved: 0, block, hash, time_s, operator });
        }
        while let Some(last) = self.seen.taken.pop_if(|taken| taken.block > block) {
            self.take(last.undo);
        }
        self.take(RewindVault { chain_id, vault, reserved: 0, block, hash, time_s, operator: [0; 16] });
    }

    /// What holds of every state: supply, and what the engine itself checks.
    pub(crate) fn check(&self) {
        self.engine.check_invariants().unwrap();
    }
}

impl Seen {
    fn fold(&mut self, event: &Event, engine: &Engine) {
        if let Some(told) = event.get::<event::Withdrawal>() {
            let submission = Submission {
                account: engine.address(told.account).unwrap(),
                value: told.amount.get().unsigned_abs(),
                nonce: told.nonce,
                deadline_s: told.deadline_s,
            };
            let status = WithdrawalStatus::from_code(told.status).unwrap();
            self.withdrawals.insert(told.withdrawal, Withdrawal { submission, status });
        } else if let Some(told) = event.get::<ChainAdvanced>() {
            let (block, hash, time_s) = (told.block, told.hash, told.time_s);
            let block = FinalBlock { chain_id: CHAIN_ID, vault: VAULT, block, hash, time_s };
            self.cursor = Some(block);
            self.marks.push(block);
        } else if let Some(told) = event.get::<event::VaultRewind>() {
            if told.stage == RewindStage::Done as u8 {
                self.marks.retain(|mark| mark.block <= told.block);
                self.cursor = self.marks.last().copied();
            }
        } else if event.get::<ReleaseAlarm>().is_some() {
            self.alarms += 1;
        }
    }
}

/// The port to a venue, which may be busy. What it is told is compared with the world.
pub(crate) struct EnginePort {
    pub(crate) venue: Rc<RefCell<Venue>>,
    pub(crate) world: Rc<RefCell<World>>,
    /// Whether the next fact is not taken.
    pub(crate) is_busy: Rc<dyn Fn() -> bool>,
    /// Depth below which a told block must lie.
    pub(crate) confirmations: u64,
}

impl EnginePort {
    fn assert_final(&self, number: u64) {
        let head = self.world.borrow().head().number;
        assert!(number + self.confirmations <= head, "block {number} was told at {head}");
    }

    fn told(&self, body: impl Body) -> Told {
        let venue = &mut *self.venue.borrow_mut();
        let before = venue.seen.alarms;
        match venue.give(body).rejected() {
            None if venue.seen.alarms > before => Told::Alarm,
            None => Told::Taken,
            // As the venue's own port has it.
            Some(Reject::AlreadyReleased | Reject::AlreadyDeposited | Reject::ChainBehind) => Told::Known,
            Some(Reject::ReleaseOutOfOrder | Reject::DepositOutOfOrder) => Told::Gap,
            Some(reject) => panic!("what the chain tells in its order is taken: {reject:?}"),
        }
    }
}

impl WatchPort for EnginePort {
    fn cursor(&self, _: u64, _: &Address) -> Option<FinalBlock> {
        self.venue.borrow().cursor()
    }

    fn release(&self, release: FinalRelease) -> Local<'_, Told> {
        if (self.is_busy)() {
            return Box::pin(async { Told::Later });
        }
        self.assert_final(release.block);
        assert_eq!((release.key.chain_id, release.key.vault), (CHAIN_ID, VAULT));
        let block = self.world.borrow().canonical[release.block as usize].clone();
        let truly = block
            .paid
            .iter()
            .find(|paid| paid.account == release.key.account && paid.nonce == release.key.nonce);
        let truly = truly.expect("what is told has happened");
        assert_eq!((truly.value, TOKEN, block.time_s), (release.value, release.token, release.block_time_s));
        assert_eq!(crate::world::tx_hash(truly), release.tx_hash);
        assert!(!self.venue.borrow().holds_releases, "not before the signer's log was compared");
        let told = self.told(RecordRelease {
            chain_id: CHAIN_ID,
            vault: VAULT,
            account: release.key.account,
            token: release.token,
            reserved: 0,
            value: (release.value as i128).into(),
            nonce: release.key.nonce,
            tx_hash: release.tx_hash,
            block: release.block,
            block_time_s: release.block_time_s,
        });
        if matches!(told, Told::Taken | Told::Alarm) {
            self.note_release(&release);
        }
        Box::pin(std::future::ready(told))
    }

    fn advance(&self, block: FinalBlock) -> Local<'_, Told> {
        if (self.is_busy)() {
            return Box::pin(async { Told::Later });
        }
        self.assert_final(block.block);
        let truly = &self.world.borrow().canonical[block.block as usize];
        assert_eq!((truly.hash, truly.time_s), (block.hash, block.time_s));
        let FinalBlock { chain_id, vault, block, hash, time_s } = block;
        // The first block of all is none that an engine has to be told of.
        assert!(block == 0 || self.venue.borrow().cursor().is_none_or(|cursor| cursor.block < block));
        let told = self.told(AdvanceChain { chain_id, vault, reserved: 0, block, hash, time_s });
        let seen = &mut self.venue.borrow_mut().seen;
        seen.time_s = seen.time_s.max(time_s);
        Box::pin(std::future::ready(told))
    }

    fn wants_held(&self, _: u64, _: &Address) -> Vec<Address> {
        if self.venue.borrow().wants_held { vec![TOKEN] } else { Vec::new() }
    }

    fn held(&self, block: FinalBlock, held: Vec<(Address, u128)>) {
        let [(TOKEN, held)] = held[..] else { panic!("another token: {held:?}") };
        self.venue.borrow_mut().held.push((block.block, held));
    }

    fn marks(&self, _: u64, _: &Address) -> Vec<FinalBlock> {
        self.venue.borrow().seen.marks.iter().rev().copied().collect()
    }

    fn counters(&self, _: u64, _: &Address) -> Counters {
        let venue = self.venue.borrow();
        let taken = &venue.seen.taken;
        let deposits = taken.iter().filter(|taken| taken.contents.is_some()).count() as u64;
        assert_eq!(deposits, venue.deposits());
        Counters {
            deposits,
            releases: taken.len() as u64 - deposits,
            block: taken.iter().map(|taken| taken.block).max().unwrap_or(0),
        }
    }

    fn open(&self, _: u64, _: &Address) -> usize {
        self.venue.borrow().open_count()
    }

    fn signer(&self, _: u64, _: &Address) -> Option<Address> {
        let signer = self.venue.borrow().engine.vault_signer(CHAIN_ID, &VAULT);
        (signer != [0; 20]).then_some(signer)
    }

    fn takes_releases(&self) -> bool {
        !self.venue.borrow().holds_releases
    }

    fn caught_up(&self) {
        self.venue.borrow_mut().is_caught_up = true;
    }

    fn deposit(&self, deposit: FinalDeposit) -> Local<'_, Told> {
        if (self.is_busy)() {
            return Box::pin(async { Told::Later });
        }
        self.assert_final(deposit.block);
        let block = self.world.borrow().canonical[deposit.block as usize].clone();
        let truly = block.brought.iter().find(|(number, _)| *number == deposit.number);
        let (_, truly) = truly.expect("what is told has happened");
        assert_eq!(
            (truly.account, truly.token, truly.value),
            (deposit.account, deposit.token, deposit.value)
        );
        assert_eq!((deposit_hash(truly), block.time_s), (deposit.tx_hash, deposit.block_time_s));
        // As the venue's own port has it.
        let contents = |known: &Taken| known.contents.filter(|known| known.number == deposit.number);
        let known = self.venue.borrow().seen.taken.iter().find_map(contents);
        if known.is_some_and(|known| known.tx_hash != deposit.tx_hash) {
            return Box::pin(async { Told::Alarm });
        }
        let told = self.told(RecordDeposit {
            chain_id: CHAIN_ID,
            vault: VAULT,
            account: deposit.account,
            token: deposit.token,
            reserved: 0,
            value: (deposit.value as i128).into(),
            number: deposit.number,
            tx_hash: deposit.tx_hash,
            block: deposit.block,
            block_time_s: deposit.block_time_s,
        });
        if told == Told::Taken {
            let venue = &mut *self.venue.borrow_mut();
            let credited = venue.events.iter().find_map(Event::get::<event::Deposit>).unwrap();
            assert_eq!(credited.status, DepositStatus::Credited as u8);
            let undo = UndoEvent {
                account: deposit.account,
                is_deposit: 1,
                amount: credited.amount,
                number: deposit.number,
                block: deposit.block,
                ..NOTHING
            };
            venue.seen.taken.push(Taken { block: deposit.block, undo, contents: Some(deposit) });
        }
        Box::pin(std::future::ready(told))
    }

    fn observe(&self, _: u64, _: &Address, signer: Option<Address>, block: u64) -> Local<'_, Told> {
        if (self.is_busy)() {
            return Box::pin(async { Told::Later });
        }
        Box::pin(std::future::ready(self.told(ObserveVault {
            chain_id: CHAIN_ID,
            vault: VAULT,
            signer: signer.unwrap_or_default(),
            vault_name: padded("SpotVault").unwrap(),
            block,
        })))
    }

    fn stop(&self, stops: Vec<Stop>) -> Local<'_, Told> {
        let bit = |stop: &Stop| if let Stop::Chain(_) = stop { pause::CHAIN } else { pause::VAULT };
        let paused = stops.iter().map(bit).fold(0, |bits, bit| bits | bit);
        self.venue.borrow_mut().stops = stops;
        Box::pin(std::future::ready(self.told(PauseWithdrawals {
            mask: pause::CHAIN | pause::VAULT,
            paused,
            reason: [0; 64],
        })))
    }

    fn replaced(&self, replaced: Option<Replaced>) -> Local<'_, Told> {
        let venue = &mut *self.venue.borrow_mut();
        venue.replaced = replaced;
        let told = match replaced {
            Some(replaced) if venue.agrees => {
                venue.go_back(replaced.kept);
                Told::Taken
            }
            Some(_) => Told::Later,
            None => Told::Known,
        };
        Box::pin(std::future::ready(told))
    }

    fn seen(&self, _: ReleaseKey, _: [u8; 32], _: u64) {}

    fn seen_deposit(&self, _: FinalDeposit, _: Option<u64>) {}
}

/// An event that is taken back, as far as all are alike.
const NOTHING: UndoEvent = UndoEvent {
    withdrawal: 0,
    account: [0; 20],
    vault: VAULT,
    token: TOKEN,
    asset: *b"DF\0\0\0\0\0\0\0\0",
    ledger: Ledger::Spot as u8,
    is_deposit: 0,
    amount: ringside_core::money::RawAmount::ZERO,
    chain_id: CHAIN_ID,
    number: 0,
    requested_at_s: 0,
    deadline_s: 0,
    block: 0,
};

impl EnginePort {
    /// Remembers a release that was taken, and what it confirmed.
    fn note_release(&self, release: &FinalRelease) {
        let venue = &mut *self.venue.borrow_mut();
        let confirmed = venue.events.iter().find_map(Event::get::<event::Withdrawal>);
        let undo = UndoEvent {
            withdrawal: confirmed.map_or(0, |told| told.withdrawal),
            account: release.key.account,
            amount: confirmed.map_or(0.into(), |told| told.amount),
            requested_at_s: confirmed.map_or(0, |told| told.requested_at_s),
            deadline_s: confirmed.map_or(0, |told| told.deadline_s),
            number: release.key.nonce,
            block: release.block,
            ..NOTHING
        };
        venue.seen.taken.push(Taken { block: release.block, undo, contents: None });
    }
}
