//! The whole world of withdrawals and deposits on one thread, from a seed: the venue, a signer with its log, a chain that
//! forgets its newest blocks, users who submit what they were given and deposit whenever they like, and a watch that tells what is
//! final.
//!
//! The venue is killed and replayed, and restored from old copies; the chain moves, drops and delays transactions; signers
//! sign and do not answer. The world keeps books of its own: what each account was given, what it has deposited, and what the
//! vault has paid it.

use super::venue::{
    ACCOUNTS, CHAIN, DF, GIVEN, START_S, VAULT, Venue, address, advance, request, token, token_of, value,
};
use ringside_core::command::*;
use ringside_core::event::{Event, ReleaseAlarm, Withdrawal};
use ringside_core::ids::{AccountId, Address, WithdrawalId, padded};
use ringside_core::money::Amount;
use ringside_core::reject::Reject;
use ringside_core::{Engine, EngineConfig};
use std::collections::BTreeMap;

/// Blocks above which nothing is final.
const DEPTH: usize = 4;

/// What a signature is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Signed {
    account: AccountId,
    nonce: u64,
    ledger: Ledger,
    amount: Amount,
    requested_at_s: u64,
    deadline_s: u64,
}

/// What somebody deposits.
#[derive(Clone, Copy, Debug)]
struct Brought {
    account: AccountId,
    token: Address,
    value: u128,
}

/// A token that is not known in the beginning, with 6 decimals.
const GOLD: Address = [0x44; 20];

#[derive(Clone, Debug, Default)]
struct Block {
    time_s: u64,
    paid: Vec<Signed>,
    /// With the numbers that the vault gave them.
    brought: Vec<(u64, Brought)>,
}

/// What has happened, to see that a run was worth it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub confirmed: u64,
    pub expired: u64,
    pub returned: u64,
    pub voided: u64,
    pub adopted: u64,
    pub reissued: u64,
    pub reorganised: u64,
    pub restored: u64,
    pub late: u64,
    pub deposited: u64,
    pub held: u64,
    pub let_go: u64,
    pub undone: u64,
    pub gaps: u64,
    pub again: u64,
}

impl Seen {
    pub fn add(&mut self, other: &Seen) {
        self.confirmed += other.confirmed;
        self.expired += other.expired;
        self.returned += other.returned;
        self.voided += other.voided;
        self.adopted += other.adopted;
        self.reissued += other.reissued;
        self.reorganised += other.reorganised;
        self.restored += other.restored;
        self.late += other.late;
        self.deposited += other.deposited;
        self.held += other.held;
        self.let_go += other.let_go;
        self.undone += other.undone;
        self.gaps += other.gaps;
        self.again += other.again;
    }

    pub fn is_complete(&self) -> bool {
        let Seen {
            confirmed, expired, returned, voided, adopted, reissued, reorganised, restored, late, ..
        } = *self;
        let Seen { deposited, held, let_go, undone, gaps, again, .. } = *self;
        [confirmed, expired, returned, voided, adopted, reissued, reorganised, restored, late]
            .iter()
            .chain(&[deposited, held, let_go, undone, gaps, again])
            .all(|count| *count > 0)
    }
}

pub struct World {
    random: u64,
    venue: Venue,
    /// The signer's log.
    log: Vec<Signed>,
    /// Requests whose answer was lost.
    unanswered: Vec<WithdrawalId>,
    /// What users hold.
    given: Vec<Signed>,
    /// Transactions that wait for a block.
    pool: Vec<Signed>,
    /// Deposits that wait for a block.
    waiting: Vec<Brought>,
    blocks: Vec<Block>,
    /// The last block that was final when anybody looked.
    final_block: usize,
    /// A copy to restore.
    copy: Vec<u8>,
    pub seen: Seen,
}

impl World {
    pub fn new(seed: u64) -> World {
        let mut venue = Venue::new();
        venue.take(ObserveVault {
            chain_id: CHAIN,
            vault: VAULT,
            signer: [0; 20],
            vault_name: padded("SpotVault").unwrap(),
            block: 0,
        });
        venue.take(token_of("DF", DF, 18));
        let copy = venue.saved();
        World {
            random: seed,
            venue,
            log: Vec::new(),
            unanswered: Vec::new(),
            given: Vec::new(),
            pool: Vec::new(),
            waiting: Vec::new(),
            blocks: vec![Block { time_s: START_S, ..Block::default() }],
            final_block: 0,
            copy,
            seen: Seen::default(),
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    /// Takes `steps` steps, then lets everything come to its end.
    pub fn run(&mut self, steps: u32) {
        for _ in 0..steps {
            match self.below(100) {
                0..=17 => self.ask(),
                18..=38 => self.sign_one(),
                39..=43 => self.bring(),
                44 => self.set_gold(),
                45..=62 => self.submit(),
                63..=80 => self.mine(),
                81..=84 => self.reorganise(),
                85..=92 => self.watch(),
                93..=94 => self.venue.now_s += self.below(40_000),
                95..=96 => self.replay(),
                97 => self.copy = self.venue.saved(),
                _ => self.restore(),
            }
            self.check();
        }
        self.settle();
    }

    /// Somebody deposits, for an account that may not be there yet.
    fn bring(&mut self) {
        let account = 1 + self.below(u64::from(ACCOUNTS) + 1) as AccountId;
        let token = if self.below(2) == 0 { DF } else { GOLD };
        let value = u128::from(1 + self.below(1 << 40)) << self.below(40);
        self.waiting.push(Brought { account, token, value });
    }

    /// An operator adds the token, or pauses its deposits, and lets go what nothing holds any more.
    fn set_gold(&mut self) {
        let paused = if self.below(2) == 0 { token_pause::DEPOSITS } else { 0 };
        self.venue.take(SetToken { paused, ..token_of("GOLD", GOLD, 6) });
        self.let_go();
    }

    fn let_go(&mut self) {
        let held: Vec<u64> = self.venue.engine.held_deposits(CHAIN, &VAULT).collect();
        for number in held {
            let done =
                self.venue.give(CreditHeldDeposit { chain_id: CHAIN, vault: VAULT, reserved: 0, number });
            self.seen.let_go += u64::from(done.rejected().is_none());
        }
    }

    fn ask(&mut self) {
        let account = 1 + self.below(ACCOUNTS.into()) as AccountId;
        let ledger = if self.below(2) == 0 { Ledger::Spot } else { Ledger::Perpetual };
        let units = 1 + self.below(400) as Amount;
        let lifetime_s = 3_000 + self.below(90_000) as u32;
        self.venue.give(RequestWithdrawal { lifetime_s, ..request(account, ledger, units) });
        self.note();
    }

    /// The signer's one rule. A conflict is what must never happen.
    fn sign(&mut self, wanted: Signed) {
        let is_key = |signed: &&Signed| signed.account == wanted.account && signed.nonce == wanted.nonce;
        if let Some(last) = self.log.iter().rev().find(is_key) {
            if *last == wanted {
                return;
            }
            assert!(wanted.requested_at_s > last.deadline_s, "two live digests: {last:?}, {wanted:?}");
            self.seen.reissued += 1;
        }
        self.log.push(wanted);
    }

    /// Signs what is requested, and lets go wrong what may.
    fn sign_one(&mut self) {
        let requested = self.requested();
        if requested.is_empty() {
            return self.find_unanswered();
        }
        let (id, wanted) = requested[self.below(requested.len() as u64) as usize];
        // Who was asked before may have signed, whatever the connection does now.
        let is_first = !self.log.contains(&wanted);
        match self.below(10) {
            0 if is_first => {
                // Not reached.
                self.venue.take(ReturnWithdrawal { withdrawal: id, holds_nonce: 0 });
                self.seen.returned += 1;
            }
            1 => {
                // No answer; nobody knows.
                if self.below(2) == 0 {
                    self.sign(wanted);
                }
                self.venue.take(ReturnWithdrawal { withdrawal: id, holds_nonce: 1 });
                self.unanswered.push(id);
                self.seen.voided += 1;
            }
            // Signed, and killed before it was recorded.
            2 => self.sign(wanted),
            _ => {
                self.sign(wanted);
                self.venue.sign(id);
                assert_eq!(self.venue.told::<Withdrawal>().len(), 1);
                self.given.push(wanted);
            }
        }
    }

    /// The signer is back: nonces are freed of which it knows nothing.
    fn find_unanswered(&mut self) {
        let Some(id) = self.unanswered.pop() else { return };
        let Some((_, wanted)) = self.open().into_iter().find(|(open, _)| *open == id) else { return };
        if self.venue.status(id) != Some(WithdrawalStatus::Void) {
            return;
        }
        let is_known = self.log.iter().any(|signed| {
            (signed.account, signed.nonce, signed.deadline_s)
                == (wanted.account, wanted.nonce, wanted.deadline_s)
        });
        if !is_known {
            self.venue.take(ReturnWithdrawal { withdrawal: id, holds_nonce: 0 });
        }
    }

    fn open(&self) -> Vec<(WithdrawalId, Signed)> {
        let shown = self.venue.engine.withdrawals();
        shown
            .map(|found| {
                let signed = Signed {
                    account: found.account,
                    nonce: found.nonce,
                    ledger: found.ledger,
                    amount: found.amount,
                    requested_at_s: found.requested_at_s,
                    deadline_s: found.deadline_s,
                };
                (found.withdrawal, signed)
            })
            .collect()
    }

    fn requested(&self) -> Vec<(WithdrawalId, Signed)> {
        let is_requested =
            |(id, _): &(WithdrawalId, Signed)| self.venue.status(*id) == Some(WithdrawalStatus::Requested);
        self.open().into_iter().filter(is_requested).collect()
    }

    /// A user submits anything that was ever given to one.
    fn submit(&mut self) {
        if !self.given.is_empty() {
            let place = self.below(self.given.len() as u64) as usize;
            self.pool.push(self.given[place]);
        }
    }

    fn counter(&self, account: AccountId) -> u64 {
        self.blocks.iter().flat_map(|block| &block.paid).filter(|paid| paid.account == account).count() as u64
    }

    /// A block, with what of the pool the vault takes.
    fn mine(&mut self) {
        let last = self.blocks.last().map_or(0, |block| block.time_s);
        let step = if self.below(6) == 0 { self.below(50_000) } else { 12 };
        let time_s = last + 1 + step;
        self.blocks.push(Block { time_s, ..Block::default() });
        for brought in std::mem::take(&mut self.waiting) {
            let number = 1 + self.blocks.iter().map(|block| block.brought.len() as u64).sum::<u64>();
            if self.below(4) == 0 {
                self.waiting.push(brought);
            } else {
                self.blocks.last_mut().unwrap().brought.push((number, brought));
            }
        }
        let pool = std::mem::take(&mut self.pool);
        for tx in pool {
            if self.below(4) == 0 {
                self.pool.push(tx);
            } else if time_s < tx.deadline_s && self.counter(tx.account) == tx.nonce {
                self.seen.late += u64::from(tx.deadline_s - time_s < 15);
                self.blocks.last_mut().unwrap().paid.push(tx);
            }
        }
    }

    /// The newest blocks are gone; what was in them waits again, is lost, or comes later.
    fn reorganise(&mut self) {
        let depth = self.below(DEPTH as u64 + 1) as usize;
        for _ in 0..depth.min(self.blocks.len() - 1 - self.last_final()) {
            let gone = self.blocks.pop().unwrap();
            self.seen.reorganised += gone.paid.len() as u64;
            self.seen.undone += gone.brought.len() as u64;
            for (_, brought) in gone.brought {
                if self.below(3) != 0 {
                    self.waiting.push(brought);
                }
            }
            for tx in gone.paid {
                if self.below(3) != 0 {
                    self.pool.push(tx);
                }
            }
        }
    }

    /// The last block that can no longer be replaced: shorter chains do not take that back.
    fn last_final(&self) -> usize {
        self.final_block.max((self.blocks.len() - 1).saturating_sub(DEPTH))
    }

    /// Tells what is final from where the venue stands.
    fn watch(&mut self) {
        let told = self.cursor();
        let last = self.last_final();
        self.final_block = last;
        for number in told + 1..=last {
            let Block { time_s, paid, .. } = self.blocks[number].clone();
            self.tell_deposits(number);
            let mut counters: BTreeMap<AccountId, u64> = BTreeMap::new();
            for tx in &paid {
                let before = self.blocks[..number].iter().flat_map(|block| &block.paid);
                let before = before.filter(|paid| paid.account == tx.account).count() as u64;
                let nonce = counters.entry(tx.account).or_insert(before);
                let release = RecordRelease {
                    chain_id: CHAIN,
                    vault: VAULT,
                    account: address(tx.account),
                    token: token(tx.ledger),
                    reserved: 0,
                    value: value(tx.ledger, tx.amount).into(),
                    nonce: *nonce,
                    tx_hash: [number as u8; 32],
                    block: number as u64,
                    block_time_s: time_s,
                };
                *nonce += 1;
                let done = self.venue.give(release);
                self.note();
                let known = Some(Reject::AlreadyReleased);
                assert!(done.rejected().is_none() || done.rejected() == known, "{done:?}");
            }
            // Not every block is told, only every other that is.
            if number == last || self.below(2) == 0 {
                self.venue.give(advance(number as u64, time_s));
                self.note();
            }
        }
    }

    /// Tells the deposits of a block: each is taken once, and one that comes before its turn is seen to.
    fn tell_deposits(&mut self, block: usize) {
        let brought = self.blocks[block].brought.clone();
        for (number, Brought { account, token, value }) in brought {
            let record = RecordDeposit {
                chain_id: CHAIN,
                vault: VAULT,
                account: address(account),
                token,
                reserved: 0,
                value: (value as i128).into(),
                number,
                tx_hash: [block as u8; 32],
                block: block as u64,
                block_time_s: self.blocks[block].time_s,
            };
            let before = self.venue.engine.deposits(CHAIN, &VAULT);
            if self.below(8) == 0 {
                let early = before + 2 + self.below(3);
                let done = self.venue.give(RecordDeposit { number: early, ..record });
                assert_eq!(done.rejected(), Some(Reject::DepositOutOfOrder));
                self.seen.gaps += 1;
            }
            let done = self.venue.give(record);
            if number <= before {
                assert_eq!(done.rejected(), Some(Reject::AlreadyDeposited));
                self.seen.again += 1;
                continue;
            }
            assert_eq!(done.rejected(), None);
            self.seen.deposited += 1;
            self.seen.held +=
                self.venue.engine.held_deposits(CHAIN, &VAULT).filter(|held| *held == number).count() as u64;
        }
    }

    /// The last block that the venue was told of, as its events say.
    fn cursor(&self) -> usize {
        self.venue.engine.chain_cursor(CHAIN, &VAULT).map_or(0, |(block, _)| block as usize)
    }

    fn note(&mut self) {
        let alarms = self.venue.told::<ReleaseAlarm>();
        assert!(alarms.is_empty(), "{alarms:?}");
        for told in self.venue.told::<Withdrawal>() {
            match WithdrawalStatus::from_code(told.status).unwrap() {
                WithdrawalStatus::Confirmed => self.seen.confirmed += 1,
                WithdrawalStatus::Expired => self.seen.expired += 1,
                _ => self.seen.adopted += u64::from(told.is_adopted),
            }
        }
    }

    /// Killed and replayed: the same state.
    fn replay(&mut self) {
        let mut again = Engine::load(&EngineConfig::SMALLEST, &self.venue.saved()).unwrap();
        assert_eq!(again.state_hash(), self.venue.engine.state_hash());
        let probe = Command { sequence: again.sequence() + 1, ..Command::new(AdvanceTime {}) };
        let mut events: Vec<Event> = Vec::new();
        again.apply(&probe, &mut events);
        let saved = self.venue.saved();
        self.venue.restore(&saved);
    }

    /// An old copy is restored: the signer's log is read first, then the chain from where the copy stood.
    fn restore(&mut self) {
        let copy = self.copy.clone();
        self.venue.restore(&copy);
        self.unanswered.clear();
        // What was deposited comes first: the signer may have signed what it paid for.
        for number in self.cursor() + 1..=self.last_final() {
            self.tell_deposits(number);
        }
        self.final_block = self.last_final();
        self.seen.restored += 1;
        let mut newest: BTreeMap<(AccountId, u64), Signed> = BTreeMap::new();
        for signed in &self.log {
            newest.insert((signed.account, signed.nonce), *signed);
        }
        for signed in newest.into_values() {
            let asset = if signed.ledger == Ledger::Spot { "DF" } else { "USDT" };
            self.venue.give(AdoptWithdrawal {
                address: address(signed.account),
                ledger: signed.ledger as u8,
                is_of_new_signer: 0,
                reserved: [0; 2],
                amount: signed.amount.into(),
                chain_id: CHAIN,
                vault: VAULT,
                token: token(signed.ledger),
                asset: padded(asset).unwrap(),
                reserved_2: [0; 6],
                nonce: signed.nonce,
                deadline_s: signed.deadline_s,
                requested_at_s: signed.requested_at_s,
                vault_name: padded("SpotVault").unwrap(),
            });
            self.note();
        }
    }

    /// What an account has deposited of a token by what the venue has taken and credited, in amount steps.
    fn deposited(&self, account: AccountId, token: Address) -> Amount {
        let (taken, steps) =
            (self.venue.engine.deposits(CHAIN, &VAULT), if token == DF { 1 } else { 1_000_000_000_000 });
        let held: Vec<u64> = self.venue.engine.held_deposits(CHAIN, &VAULT).collect();
        let all = self.blocks.iter().flat_map(|block| &block.brought);
        let own = all.filter(|(number, brought)| {
            *number <= taken && !held.contains(number) && (brought.account, brought.token) == (account, token)
        });
        own.map(|(_, brought)| brought.value as Amount * steps).sum()
    }

    /// What the vault has paid an account by final blocks that the venue was told of, and by all.
    fn paid(&self, account: AccountId, ledger: Ledger) -> (Amount, Amount) {
        let counted = |blocks: &[Block]| -> Amount {
            let paid = blocks.iter().flat_map(|block| &block.paid);
            let ours = paid.filter(|paid| paid.account == account && paid.ledger == ledger);
            ours.map(|paid| paid.amount).sum()
        };
        (counted(&self.blocks[..=self.cursor()]), counted(&self.blocks))
    }

    /// Supply is conserved: what an account has, what is on its way, and what it was paid by what the venue was told, is what
    /// it was given. And it is never paid beyond that, whatever the venue knows yet.
    fn check(&self) {
        self.check_deposits();
        for account in 1..=ACCOUNTS {
            for ledger in [Ledger::Spot, Ledger::Perpetual] {
                let (free, taken) = self.venue.holds(account, ledger);
                let (told, all) = self.paid(account, ledger);
                let given = self.given(account, ledger);
                assert_eq!(free + taken + told, given, "account {account}, {ledger:?}");
                assert!(
                    free + all <= given,
                    "account {account} is paid what it still has: {ledger:?}, {:?}, {:?}",
                    self.open(),
                    self.log.iter().filter(|signed| signed.account == account).collect::<Vec<_>>()
                );
            }
        }
    }

    /// What an account was given and has deposited.
    fn given(&self, account: AccountId, ledger: Ledger) -> Amount {
        GIVEN + if ledger == Ledger::Spot { self.deposited(account, DF) } else { 0 }
    }

    /// What is deposited of the added token is where its account is, to the last unit.
    fn check_deposits(&self) {
        let engine = &self.venue.engine;
        for account in 1..=ACCOUNTS + 1 {
            let number = engine.account(&address(account));
            for (name, token) in [("GOLD", GOLD), ("DF", DF)] {
                let deposited = self.deposited(account, token);
                let asset = engine.asset(&padded(name).unwrap());
                let found = number.zip(asset).and_then(|(number, asset)| engine.balance(number, asset));
                let found = found.map_or(0, |(available, frozen)| available + frozen);
                assert!(
                    token == DF && account <= ACCOUNTS || found == deposited,
                    "account {account}, {name}"
                );
            }
        }
    }

    /// Nobody asks any more, and time passes: nothing is on its way in the end, and every unit is in one place.
    fn settle(&mut self) {
        for _ in 0..DEPTH + 2 {
            let time_s = self.blocks.last().map_or(0, |block| block.time_s) + 200_000;
            self.blocks.push(Block { time_s, ..Block::default() });
        }
        self.watch();
        self.venue.take(token_of("GOLD", GOLD, 6));
        self.let_go();
        assert_eq!(self.venue.engine.held_deposits(CHAIN, &VAULT).count(), 0, "nothing is held in the end");
        let all = self.blocks.iter().map(|block| block.brought.len() as u64).sum::<u64>();
        assert_eq!(self.venue.engine.deposits(CHAIN, &VAULT), all, "nothing is left out");
        self.check_deposits();
        self.venue.engine.check_invariants().unwrap();
        assert_eq!(self.venue.engine.withdrawals().count(), 0, "everything has come to its end");
        assert_eq!(self.venue.engine.withdrawals_paused(), 0);
        for account in 1..=ACCOUNTS {
            for ledger in [Ledger::Spot, Ledger::Perpetual] {
                let (free, _) = self.venue.holds(account, ledger);
                let given = self.given(account, ledger);
                assert_eq!(free + self.paid(account, ledger).1, given, "account {account}, {ledger:?}");
            }
        }
    }
}
