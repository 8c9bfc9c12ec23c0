//! Withdrawals on their way: requested -> signed -> confirmed or expired, as state only. Also what decides about them: the
//! vaults with the last final block of each, every account's counter there, and the pauses.
//!
//! A withdrawal that has ended is forgotten here; histories are the views'. Nothing here moves money.

pub(crate) mod canonical;

use crate::command::{Ledger, VaultName, WithdrawalStatus};
use crate::ids::{AccountId, Address, AssetId, WithdrawalId};
use crate::money::{AMOUNT_UNIT, Amount};
use std::collections::{BTreeMap, BTreeSet};

/// Most vaults that are ever used.
pub(crate) const VAULTS_MAX: usize = 256;

/// Least amount of a withdrawal (`spot.md` 10, `account.md` 7).
pub(crate) const fn minimum(ledger: Ledger) -> Amount {
    match ledger {
        Ledger::Spot => AMOUNT_UNIT,
        Ledger::Perpetual => 10 * AMOUNT_UNIT,
    }
}

/// Amount steps of the least part of a ledger, and of one base unit of a token that is not known on the chain.
pub(crate) const fn steps_of_unit(ledger: Ledger) -> Amount {
    match ledger {
        Ledger::Spot => 1,
        Ledger::Perpetual => 1_000_000_000_000,
    }
}

/// A vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vault {
    pub(crate) chain_id: u64,
    pub(crate) address: Address,
    pub(crate) name: VaultName,
    /// The last final block; 0 before the first.
    pub(crate) block: u64,
    pub(crate) hash: [u8; 32],
    pub(crate) time_s: u64,
}

/// A withdrawal that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Withdrawal {
    pub(crate) id: WithdrawalId,
    pub(crate) account: AccountId,
    pub(crate) asset: AssetId,
    pub(crate) vault: u16,
    pub(crate) ledger: Ledger,
    /// Requested, Signed or Void.
    pub(crate) status: WithdrawalStatus,
    /// The vault paid something else for its nonce: it neither expires nor is confirmed.
    pub(crate) is_disputed: bool,
    pub(crate) amount: Amount,
    pub(crate) token: Address,
    pub(crate) nonce: u64,
    pub(crate) requested_at_s: u64,
    pub(crate) deadline_s: u64,
}

/// What an operator wants to become of a disputed withdrawal, until another agrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proposal {
    pub(crate) operator: [u8; 16],
    pub(crate) is_paid: bool,
}

/// An account in a vault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seat {
    /// The vault's counter: releases that are final.
    pub(crate) released: u64,
    /// Nonces that withdrawals hold, ascending, and which.
    pub(crate) held: Vec<(u64, WithdrawalId)>,
}

impl Seat {
    /// The smallest nonce not below the counter that no withdrawal holds.
    pub(crate) fn next_nonce(&self) -> u64 {
        let mut nonce = self.released;
        for &(held, _) in &self.held {
            nonce += u64::from(held == nonce);
        }
        nonce
    }

    /// The withdrawal that holds a nonce.
    pub(crate) fn holder(&self, nonce: u64) -> Option<WithdrawalId> {
        let place = self.held.binary_search_by_key(&nonce, |&(held, _)| held).ok()?;
        Some(self.held[place].1)
    }
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Withdrawals {
    /// Number of the next one.
    pub(crate) next: WithdrawalId,
    /// Bits of [`crate::command::pause`].
    pub(crate) paused: u32,
    pub(crate) vaults: Vec<Vault>,
    pub(crate) seats: BTreeMap<(u16, Address), Seat>,
    open: BTreeMap<WithdrawalId, Withdrawal>,
    /// What can expire: vault, deadline, withdrawal.
    deadlines: BTreeSet<(u16, u64, WithdrawalId)>,
    /// Of disputed ones.
    proposals: BTreeMap<WithdrawalId, Proposal>,
    /// What withdrawals of the perpetual ledger have taken, in amount steps.
    perpetual_in_flight: Amount,
}

impl Withdrawals {
    pub(crate) fn new() -> Withdrawals {
        Withdrawals {
            next: 1,
            paused: 0,
            vaults: Vec::new(),
            seats: BTreeMap::new(),
            open: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            proposals: BTreeMap::new(),
            perpetual_in_flight: 0,
        }
    }

    /// Whether there is anything to remember.
    pub(crate) fn is_used(&self) -> bool {
        self.paused != 0 || !self.vaults.is_empty()
    }

    /// The vault of a contract.
    pub(crate) fn vault(&self, chain_id: u64, address: &Address) -> Option<u16> {
        let is_it = |vault: &Vault| vault.chain_id == chain_id && vault.address == *address;
        self.vaults.iter().position(is_it).map(|place| place as u16)
    }

    pub(crate) fn get(&self, id: WithdrawalId) -> Option<&Withdrawal> {
        self.open.get(&id)
    }

    /// Those that have not ended, by number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Withdrawal> {
        self.open.values()
    }

    /// What withdrawals of the perpetual ledger have taken and neither paid nor given back, in amount steps.
    pub(crate) fn perpetual_in_flight(&self) -> Amount {
        self.perpetual_in_flight
    }

    /// Adds one. Its nonce is free at the seat of `address`.
    pub(crate) fn insert(&mut self, address: Address, withdrawal: Withdrawal) {
        let seat = self.seats.entry((withdrawal.vault, address)).or_default();
        let place = seat.held.partition_point(|&(held, _)| held < withdrawal.nonce);
        seat.held.insert(place, (withdrawal.nonce, withdrawal.id));
        self.count(&withdrawal, 1);
        self.deadlines.insert((withdrawal.vault, withdrawal.deadline_s, withdrawal.id));
        self.open.insert(withdrawal.id, withdrawal);
    }

    /// Changes the status of one; its nonce stays held.
    pub(crate) fn set_status(&mut self, id: WithdrawalId, status: WithdrawalStatus) -> Option<Withdrawal> {
        let before = *self.open.get(&id)?;
        let now = Withdrawal { status, ..before };
        self.count(&before, -1);
        self.count(&now, 1);
        self.open.insert(id, now);
        Some(now)
    }

    /// Marks one as disputed: it stays as it is until an operator decides.
    pub(crate) fn dispute(&mut self, id: WithdrawalId) {
        if let Some(withdrawal) = self.open.get_mut(&id) {
            withdrawal.is_disputed = true;
            self.deadlines.remove(&(withdrawal.vault, withdrawal.deadline_s, id));
        }
    }

    /// The release that made one disputed has not happened: it can be paid or expire again.
    pub(crate) fn reopen(&mut self, id: WithdrawalId) {
        if let Some(withdrawal) = self.open.get_mut(&id) {
            withdrawal.is_disputed = false;
            self.deadlines.insert((withdrawal.vault, withdrawal.deadline_s, id));
            self.proposals.remove(&id);
        }
    }

    /// What is proposed of a disputed one.
    pub(crate) fn proposal(&self, id: WithdrawalId) -> Option<Proposal> {
        self.proposals.get(&id).copied()
    }

    /// Proposes what becomes of one that is disputed, in place of what was proposed before.
    pub(crate) fn propose(&mut self, id: WithdrawalId, proposal: Proposal) {
        self.proposals.insert(id, proposal);
    }

    /// Takes one out, and its nonce from the seat of `address`.
    pub(crate) fn remove(&mut self, address: &Address, id: WithdrawalId) -> Option<Withdrawal> {
        let withdrawal = self.open.remove(&id)?;
        self.count(&withdrawal, -1);
        self.deadlines.remove(&(withdrawal.vault, withdrawal.deadline_s, id));
        self.proposals.remove(&id);
        if let Some(seat) = self.seats.get_mut(&(withdrawal.vault, *address)) {
            seat.held.retain(|&(_, holder)| holder != id);
        }
        Some(withdrawal)
    }

    /// Those of a vault whose deadline is before `time_s`, the earliest first, at most `limit`.
    pub(crate) fn due(&self, vault: u16, time_s: u64, limit: usize) -> Vec<WithdrawalId> {
        let due = self.deadlines.range((vault, 0, 0)..(vault, time_s, 0));
        due.take(limit).map(|&(_, _, id)| id).collect()
    }

    fn count(&mut self, withdrawal: &Withdrawal, sign: Amount) {
        if withdrawal.ledger == Ledger::Perpetual && withdrawal.status.holds_amount() {
            self.perpetual_in_flight += sign * withdrawal.amount;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_nonce_is_the_smallest_not_below_the_counter() {
        let seat = |released, held: &[u64]| Seat {
            released,
            held: held.iter().map(|&nonce| (nonce, nonce + 100)).collect(),
        };
        assert_eq!(seat(0, &[]).next_nonce(), 0);
        assert_eq!(seat(0, &[0, 1]).next_nonce(), 2);
        assert_eq!(seat(0, &[1, 2]).next_nonce(), 0, "the vault cannot pass over it");
        assert_eq!(seat(2, &[2, 4]).next_nonce(), 3);
        assert_eq!(seat(3, &[1, 3]).next_nonce(), 4, "a disputed one below the counter does not count");
        assert_eq!(seat(2, &[2, 4]).holder(4), Some(104));
        assert_eq!(seat(2, &[2, 4]).holder(3), None);
    }
}
