//! A venue with money on both ledgers, driven one command at a time: invariants, audit, and snapshots are checked on the way.

use crate::support::market::df_usdt;
use ringside_core::audit::Auditor;
use ringside_core::command::*;
use ringside_core::event::{Done, Event, Payload};
use ringside_core::ids::{AccountId, Address, WithdrawalId, padded};
use ringside_core::money::{AMOUNT_UNIT, Amount, UNIT};
use ringside_core::reject::Reject;
use ringside_core::{Engine, EngineConfig};

pub const CHAIN: u64 = 31_337;
pub const VAULT: Address = [0x11; 20];
pub const DF: Address = [0x22; 20];
pub const USDT: Address = [0x33; 20];
pub const LIFETIME_S: u32 = 86_400;
/// What every account is given on each ledger.
pub const GIVEN: Amount = 1_000 * AMOUNT_UNIT;
/// When it all begins, UNIX seconds.
pub const START_S: u64 = 1_767_000_000;
/// How many accounts there are; their numbers begin at 1.
pub const ACCOUNTS: u32 = 3;

pub fn address(account: AccountId) -> Address {
    [account as u8; 20]
}

pub fn token(ledger: Ledger) -> Address {
    match ledger {
        Ledger::Spot => DF,
        Ledger::Perpetual => USDT,
    }
}

/// Base units of the token.
pub fn value(ledger: Ledger, amount: Amount) -> Amount {
    match ledger {
        Ledger::Spot => amount,
        Ledger::Perpetual => amount / 1_000_000_000_000,
    }
}

/// A request for whole units.
pub fn request(account: AccountId, ledger: Ledger, units: Amount) -> RequestWithdrawal {
    let asset = if ledger == Ledger::Spot { "DF" } else { "USDT" };
    RequestWithdrawal {
        account,
        ledger: ledger as u8,
        reserved: [0; 3],
        amount: (units * AMOUNT_UNIT).into(),
        chain_id: CHAIN,
        vault: VAULT,
        token: token(ledger),
        asset: padded(asset).unwrap(),
        reserved_2: [0; 6],
        lifetime_s: LIFETIME_S,
        reserved_3: 0,
        vault_name: padded("SpotVault").unwrap(),
        idempotency_key: 0,
        idempotency_body: 0,
    }
}

pub struct Venue {
    pub engine: Engine,
    pub auditor: Auditor,
    pub now_s: u64,
    pub events: Vec<Event>,
    /// Every command so far, since the engine was made or restored.
    pub commands: Vec<Command>,
}

impl Venue {
    pub fn new() -> Venue {
        let engine = Engine::new(&EngineConfig::SMALLEST);
        let auditor = Auditor::new(&engine);
        let mut venue = Venue { engine, auditor, now_s: START_S, events: Vec::new(), commands: Vec::new() };
        venue.take(df_usdt());
        venue.take(ListPerpetual {
            symbol: padded("BTCUSDT").unwrap(),
            base: padded("BTC").unwrap(),
            quote: padded("USDT").unwrap(),
            tick: UNIT / 10,
            lot: UNIT / 1_000,
        });
        for account in 1..=ACCOUNTS {
            venue.take(Credit {
                address: address(account),
                asset: padded("DF").unwrap(),
                reserved: 0,
                amount: GIVEN.into(),
                reason: [0; 64],
            });
            let amount = (GIVEN / 1_000_000_000_000) as i64;
            venue.take(CreditPerpetual { address: address(account), reserved: 0, amount, reason: [0; 64] });
        }
        venue
    }

    /// Carries a command out.
    pub fn give<B: Body>(&mut self, body: B) -> Done {
        let (sequence, time_ns) = (self.engine.sequence() + 1, self.now_s as i64 * 1_000_000_000);
        let command = Command { sequence, time_ns, ..Command::new(body) };
        self.commands.push(command);
        self.events.clear();
        self.engine.apply(&command, &mut self.events);
        self.events.iter().for_each(|event| self.auditor.event(event));
        if let Some((sequence, fault)) = self.auditor.fault() {
            panic!("audit at {sequence}: {fault}");
        }
        *self.events.last().unwrap().get::<Done>().unwrap()
    }

    /// The same; it must be taken.
    pub fn take<B: Body + std::fmt::Debug>(&mut self, body: B) -> Done {
        let done = self.give(body);
        assert_eq!(done.rejected(), None, "{body:?}");
        done
    }

    /// The same; it must be refused and change nothing.
    pub fn refuse<B: Body + std::fmt::Debug>(&mut self, body: B, reject: Reject) {
        let before = self.bytes_but_clock();
        let done = self.give(body);
        assert_eq!(done.rejected(), Some(reject), "{body:?}");
        assert_eq!(self.events.len(), 1, "{:?}", self.events);
        assert!(self.bytes_but_clock() == before, "a refusal changed the state: {body:?}");
    }

    /// The state without sequence and time.
    fn bytes_but_clock(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.engine.save(&mut bytes);
        // Header, sequence, time.
        bytes.split_off(77 + 16)
    }

    pub fn told<P: Payload>(&self) -> Vec<P> {
        self.events.iter().filter_map(Event::get::<P>).copied().collect()
    }

    /// What an account has on a ledger, in amount steps: free, and taken by withdrawals.
    pub fn holds(&self, account: AccountId, ledger: Ledger) -> (Amount, Amount) {
        let taken = |found: &ringside_core::engine::PendingWithdrawal| {
            found.account == account && found.ledger == ledger && found.status.holds_amount()
        };
        let taken: Amount = self.engine.withdrawals().filter(taken).map(|found| found.amount).sum();
        match ledger {
            Ledger::Spot => {
                let asset = self.engine.asset(&padded("DF").unwrap()).unwrap();
                let (available, frozen) = self.engine.balance(account, asset).unwrap();
                assert_eq!(frozen, taken, "frozen is what withdrawals hold");
                (available, taken)
            }
            Ledger::Perpetual => {
                (Amount::from(self.engine.perpetual_wallet(account)) * 1_000_000_000_000, taken)
            }
        }
    }

    pub fn status(&self, id: WithdrawalId) -> Option<WithdrawalStatus> {
        self.engine.withdrawals().find(|found| found.withdrawal == id).map(|found| found.status)
    }

    pub fn saved(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.engine.save(&mut bytes);
        bytes
    }

    /// Goes on from saved bytes.
    pub fn restore(&mut self, bytes: &[u8]) {
        self.engine = Engine::load(&EngineConfig::SMALLEST, bytes).unwrap();
        self.auditor = Auditor::new(&self.engine);
        self.commands.clear();
    }

    pub fn sign(&mut self, id: WithdrawalId) -> Done {
        self.give(RecordSignature { withdrawal: id, digest: [1; 32], signature: [7; 65], reserved: [0; 7] })
    }

    pub fn release(&mut self, account: AccountId, ledger: Ledger, units: Amount, nonce: u64) -> Done {
        self.give(release(account, ledger, units, nonce))
    }

    pub fn advance(&mut self, block: u64, time_s: u64) -> Done {
        self.give(advance(block, time_s))
    }
}

pub fn release(account: AccountId, ledger: Ledger, units: Amount, nonce: u64) -> RecordRelease {
    RecordRelease {
        chain_id: CHAIN,
        vault: VAULT,
        account: address(account),
        token: token(ledger),
        reserved: 0,
        value: value(ledger, units * AMOUNT_UNIT).into(),
        nonce,
        tx_hash: [9; 32],
        block: 5,
        block_time_s: START_S + 60,
    }
}

/// A token that is added, of which a whole unit is withdrawn at least.
pub fn token_of(asset: &str, token: Address, decimals: u8) -> SetToken {
    SetToken {
        chain_id: CHAIN,
        token,
        asset: padded(asset).unwrap(),
        decimals,
        paused: 0,
        minimum: AMOUNT_UNIT.into(),
    }
}

/// A deposit of base units.
pub fn deposit(number: u64, account: Address, token: Address, value: u128) -> RecordDeposit {
    RecordDeposit {
        chain_id: CHAIN,
        vault: VAULT,
        account,
        token,
        reserved: 0,
        value: (value as i128).into(),
        number,
        tx_hash: [number as u8; 32],
        block: 5,
        block_time_s: START_S + 60,
    }
}

pub fn advance(block: u64, time_s: u64) -> AdvanceChain {
    AdvanceChain { chain_id: CHAIN, vault: VAULT, reserved: 0, block, hash: [block as u8; 32], time_s }
}
