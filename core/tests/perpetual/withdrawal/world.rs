//! The whole world of withdrawals on one thread, from a seed: the venue, a signer with its log, a chain that forgets its
//! newest blocks, users who submit what they were given whenever they like, and a watch that tells what is final.
//!
//! The venue is killed and replayed, and restored from old copies; the chain moves, drops and delays transactions; signers
//! sign and do not answer. The world keeps books of its own: what each account was given, and what the vault has paid it.

use super::venue::{ACCOUNTS, CHAIN, GIVEN, START_S, VAULT, Venue, address, advance, request, token, value};
use ringside_core::command::*;
use ringside_core::event::{Event, ReleaseAlarm, Withdrawal};
use ringside_core::ids::{AccountId, WithdrawalId, padded};
use ringside_core::money::Amount;
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

#[derive(Clone, Debug, Default)]
struct Block {
    time_s: u64,
    paid: Vec<Signed>,
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
    }

    pub fn is_complete(&self) -> bool {
        let Seen { confirmed, expired, returned, voided, adopted, reissued, reorganised, restored, late } =
            *self;
        [confirmed, expired, returned, voided, adopted, reissued, reorganised, restored, late]
            .iter()
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
    blocks: Vec<Block>,
    /// The last block that was final when anybody looked.
    final_block: usize,
    /// A copy to restore.
    copy: Vec<u8>,
    pub seen: Seen,
}

impl World {
    pub fn new(seed: u64) -> World {
        let venue = Venue::new();
        let copy = venue.saved();
        World {
            random: seed,
            venue,
            log: Vec::new(),
            unanswered: Vec::new(),
            given: Vec::new(),
            pool: Vec::new(),
            blocks: vec![Block { time_s: START_S, paid: Vec::new() }],
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
                18..=44 => self.sign_one(),
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
        self.blocks.push(Block { time_s, paid: Vec::new() });
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
            let Block { time_s, paid } = self.blocks[number].clone();
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
                let known = Some(ringside_core::reject::Reject::AlreadyReleased);
                assert!(done.rejected().is_none() || done.rejected() == known, "{done:?}");
            }
            // Not every block is told, only every other that is.
            if number == last || self.below(2) == 0 {
                self.venue.give(advance(number as u64, time_s));
                self.note();
            }
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
                reserved: [0; 3],
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
        for account in 1..=ACCOUNTS {
            for ledger in [Ledger::Spot, Ledger::Perpetual] {
                let (free, taken) = self.venue.holds(account, ledger);
                let (told, all) = self.paid(account, ledger);
                assert_eq!(free + taken + told, GIVEN, "account {account}, {ledger:?}");
                assert!(
                    free + all <= GIVEN,
                    "account {account} is paid what it still has: {ledger:?}, {:?}, {:?}",
                    self.open(),
                    self.log.iter().filter(|signed| signed.account == account).collect::<Vec<_>>()
                );
            }
        }
    }

    /// Nobody asks any more, and time passes: nothing is on its way in the end, and every unit is in one place.
    fn settle(&mut self) {
        for _ in 0..DEPTH + 2 {
            let time_s = self.blocks.last().map_or(0, |block| block.time_s) + 200_000;
            self.blocks.push(Block { time_s, paid: Vec::new() });
        }
        self.watch();
        self.venue.engine.check_invariants().unwrap();
        assert_eq!(self.venue.engine.withdrawals().count(), 0, "everything has come to its end");
        assert_eq!(self.venue.engine.withdrawals_paused(), 0);
        for account in 1..=ACCOUNTS {
            for ledger in [Ledger::Spot, Ledger::Perpetual] {
                let (free, _) = self.venue.holds(account, ledger);
                assert_eq!(free + self.paid(account, ledger).1, GIVEN, "account {account}, {ledger:?}");
            }
        }
    }
}
