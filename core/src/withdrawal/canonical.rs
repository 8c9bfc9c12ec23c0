//! Withdrawals as canonical bytes, and back: a section of the state, written only where there is something in it.
//!
//! ```text
//! magic [4] "WDRW" | version u32 | next u64 | paused u32
//! vaults       count u64, each: chain u64, address [20], name [24], block u64, hash [32], time u64
//! seats        count u64, by vault and address, each: vault u16, address [20], released u64
//! withdrawals  count u64, by number, each: number u64, account u32, asset u16, vault u16, ledger u8, status u8,
//!              disputed u8, amount i128, token [20], nonce u64, requested u64, deadline u64
//! proposals    version 2 only, which is written only where there are any: count u64, by number, each: number u64,
//!              operator [16], paid u8
//! ```
//!
//! The magic tells it from the section of the perpetual side, which begins with a small number. Which nonces are held and
//! what is due follows from the withdrawals.

use super::{Proposal, Seat, VAULTS_MAX, Vault, Withdrawal, Withdrawals, steps_of_unit};
use crate::command::{Ledger, WithdrawalStatus, pause};
use crate::ids::{AccountId, Address, WithdrawalId};
use crate::snapshot::{Reader, SnapshotError, ensure, invalid};
use crate::state_hash::Bytes;
use std::collections::BTreeSet;

const MAGIC: [u8; 4] = *b"WDRW";
const VERSION: u32 = 1;
/// With proposals.
const VERSION_WITH_PROPOSALS: u32 = 2;

type Read<T> = Result<T, SnapshotError>;

impl Withdrawals {
    /// Writes the section.
    pub(crate) fn write<B: Bytes>(&self, out: &mut B) {
        let count = |out: &mut B, count: usize| out.put(&(count as u64).to_le_bytes());
        out.put(&MAGIC);
        let version = if self.proposals.is_empty() { VERSION } else { VERSION_WITH_PROPOSALS };
        out.put(&version.to_le_bytes());
        out.put(&self.next.to_le_bytes());
        out.put(&self.paused.to_le_bytes());
        count(out, self.vaults.len());
        for vault in &self.vaults {
            out.put(&vault.chain_id.to_le_bytes());
            out.put(&vault.address);
            out.put(&vault.name);
            out.put(&vault.block.to_le_bytes());
            out.put(&vault.hash);
            out.put(&vault.time_s.to_le_bytes());
        }
        // A seat that says nothing is as none.
        let told = || self.seats.iter().filter(|(_, seat)| seat.released > 0);
        count(out, told().count());
        for ((vault, address), seat) in told() {
            out.put(&vault.to_le_bytes());
            out.put(address);
            out.put(&seat.released.to_le_bytes());
        }
        count(out, self.open.len());
        for withdrawal in self.open.values() {
            out.put(&withdrawal.id.to_le_bytes());
            out.put(&withdrawal.account.to_le_bytes());
            out.put(&withdrawal.asset.to_le_bytes());
            out.put(&withdrawal.vault.to_le_bytes());
            out.put(&[withdrawal.ledger as u8, withdrawal.status as u8, withdrawal.is_disputed.into()]);
            out.put(&withdrawal.amount.to_le_bytes());
            out.put(&withdrawal.token);
            out.put(&withdrawal.nonce.to_le_bytes());
            out.put(&withdrawal.requested_at_s.to_le_bytes());
            out.put(&withdrawal.deadline_s.to_le_bytes());
        }
        if version == VERSION_WITH_PROPOSALS {
            count(out, self.proposals.len());
            for (id, proposal) in &self.proposals {
                out.put(&id.to_le_bytes());
                out.put(&proposal.operator);
                out.put(&[proposal.is_paid.into()]);
            }
        }
    }

    /// Whether the section comes next.
    pub(crate) fn is_next(reader: &Reader<'_>) -> bool {
        reader.peek() == Some(&MAGIC)
    }

    /// Reads the section. `holds` gives the address of an account that exists.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        assets: usize,
        holds: impl Fn(AccountId) -> Option<Address>,
    ) -> Read<Withdrawals> {
        ensure(reader.array()? == MAGIC, "no section of withdrawals")?;
        let version = reader.u32()?;
        let is_known = matches!(version, VERSION | VERSION_WITH_PROPOSALS);
        ensure(is_known, "unknown version of the section of withdrawals")?;
        let mut all = Withdrawals::new();
        all.next = reader.u64()?;
        all.paused = reader.u32()?;
        ensure(all.paused & !pause::ALL == 0, "an unknown pause")?;
        let vaults = reader.count(100)?;
        ensure(vaults <= VAULTS_MAX, "too many vaults")?;
        for _ in 0..vaults {
            let vault = Vault {
                chain_id: reader.u64()?,
                address: reader.array()?,
                name: reader.array()?,
                block: reader.u64()?,
                hash: reader.array()?,
                time_s: reader.u64()?,
            };
            ensure(all.vault(vault.chain_id, &vault.address).is_none(), "a vault occurs twice")?;
            all.vaults.push(vault);
        }
        ensure(all.is_used(), "a section of withdrawals without any")?;
        for _ in 0..reader.count(30)? {
            let (vault, address) = (reader.u16()?, reader.array()?);
            let released = reader.u64()?;
            ensure(usize::from(vault) < vaults && released > 0, "a seat without vault")?;
            let seat = Seat { released, held: Vec::new() };
            ensure(all.seats.insert((vault, address), seat).is_none(), "a seat occurs twice")?;
        }
        for _ in 0..reader.count(79)? {
            let withdrawal = read_withdrawal(reader)?;
            let address = holds(withdrawal.account).ok_or_else(|| invalid("a withdrawal of nobody"))?;
            let is_sound = usize::from(withdrawal.vault) < vaults
                && usize::from(withdrawal.asset) < assets
                && (1..all.next).contains(&withdrawal.id)
                && withdrawal.amount > 0
                && withdrawal.amount % steps_of_unit(withdrawal.ledger) == 0
                && withdrawal.requested_at_s < withdrawal.deadline_s;
            ensure(is_sound && all.get(withdrawal.id).is_none(), "an impossible withdrawal")?;
            let seat = all.seats.get(&(withdrawal.vault, address));
            let is_held = seat.is_some_and(|seat| seat.holder(withdrawal.nonce).is_some());
            ensure(!is_held, "two withdrawals hold a nonce")?;
            let sum = all.perpetual_in_flight().checked_add(withdrawal.amount);
            ensure(sum.is_some(), "withdrawals leave the range")?;
            all.insert(address, withdrawal);
            if withdrawal.is_disputed {
                all.dispute(withdrawal.id);
            }
        }
        if version == VERSION_WITH_PROPOSALS {
            all.read_proposals(reader)?;
        }
        Ok(all)
    }

    fn read_proposals(&mut self, reader: &mut Reader<'_>) -> Read<()> {
        for _ in 0..reader.count(25)? {
            let (id, operator) = (reader.u64()?, reader.array()?);
            let is_paid = match reader.u8()? {
                0 => false,
                1 => true,
                _ => return Err(invalid("neither paid nor not")),
            };
            let is_new = self.proposal(id).is_none() && self.get(id).is_some_and(|found| found.is_disputed);
            ensure(is_new && operator != [0; 16], "an impossible proposal")?;
            self.propose(id, Proposal { operator, is_paid });
        }
        ensure(!self.proposals.is_empty(), "a list of proposals without any")
    }

    /// Every withdrawal holds its nonce and is due at its deadline; what is derived fits. Names the first fault.
    pub(crate) fn check(&self, holds: impl Fn(AccountId) -> Option<Address>) -> Result<(), String> {
        let mut in_flight = 0;
        let mut held: BTreeSet<(u16, Address, u64, WithdrawalId)> = BTreeSet::new();
        for withdrawal in self.open.values() {
            let address = holds(withdrawal.account).ok_or("a withdrawal of nobody")?;
            held.insert((withdrawal.vault, address, withdrawal.nonce, withdrawal.id));
            let due = (withdrawal.vault, withdrawal.deadline_s, withdrawal.id);
            if self.deadlines.contains(&due) == withdrawal.is_disputed {
                return Err(format!("withdrawal {} has the wrong deadline", withdrawal.id));
            }
            let released = self.seats.get(&(withdrawal.vault, address)).map_or(0, |seat| seat.released);
            if (withdrawal.nonce < released) != withdrawal.is_disputed {
                return Err(format!("withdrawal {} is open, the counter at {released}", withdrawal.id));
            }
            if withdrawal.ledger == Ledger::Perpetual && withdrawal.status.holds_amount() {
                in_flight += withdrawal.amount;
            }
        }
        let seats = self.seats.iter();
        let told: BTreeSet<_> = seats
            .flat_map(|(&(vault, address), seat)| {
                seat.held.iter().map(move |&(nonce, id)| (vault, address, nonce, id))
            })
            .collect();
        let is_disputed = |id: &WithdrawalId| self.open.get(id).is_some_and(|found| found.is_disputed);
        if !self.proposals.keys().all(is_disputed) {
            return Err("a proposal about what is not disputed".into());
        }
        let disputed = self.open.values().filter(|withdrawal| withdrawal.is_disputed).count();
        if told != held || self.deadlines.len() + disputed != self.open.len() {
            return Err("nonces or deadlines of withdrawals that are not open".into());
        }
        if in_flight != self.perpetual_in_flight {
            return Err(format!("{in_flight} in flight, {} counted", self.perpetual_in_flight));
        }
        Ok(())
    }
}

fn read_withdrawal(reader: &mut Reader<'_>) -> Read<Withdrawal> {
    let (id, account, asset, vault) = (reader.u64()?, reader.u32()?, reader.u16()?, reader.u16()?);
    let ledger = Ledger::from_code(reader.u8()?).ok_or_else(|| invalid("unknown ledger"))?;
    let status = WithdrawalStatus::from_code(reader.u8()?);
    let is_open = |status: &WithdrawalStatus| status.holds_amount() || *status == WithdrawalStatus::Void;
    let status = status.filter(is_open).ok_or_else(|| invalid("a withdrawal that has ended"))?;
    let is_disputed = match reader.u8()? {
        0 => false,
        1 => true,
        _ => return Err(invalid("neither disputed nor not")),
    };
    Ok(Withdrawal {
        id,
        account,
        asset,
        vault,
        ledger,
        status,
        is_disputed,
        amount: reader.i128()?,
        token: reader.array()?,
        nonce: reader.u64()?,
        requested_at_s: reader.u64()?,
        deadline_s: reader.u64()?,
    })
}
