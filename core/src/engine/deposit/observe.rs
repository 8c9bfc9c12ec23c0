//! What a vault is found to be: which is new, and whose signatures it pays for. A replaced signer is so for good (the contract
//! takes none back), so once that is final, what it signed and nobody released is dead.

use super::super::{Engine, Outcome};
use crate::command::{EXPIRIES_MAX, ObserveVault};
use crate::emit::Emitter;
use crate::event::{self, Sink};
use crate::ids::Address;
use crate::reject::Reject;
use crate::withdrawal::Withdrawal;

impl Engine {
    /// See [`ObserveVault`].
    pub(super) fn observe_vault<S: Sink>(
        &mut self,
        told: &ObserveVault,
        emitter: &mut Emitter<'_, S>,
    ) -> Result<Outcome, Reject> {
        let ObserveVault { chain_id, vault: address, signer, vault_name, block } = *told;
        self.judge_vault(chain_id, &address, &vault_name)?;
        let known = self.withdrawals.vault(chain_id, &address);
        let last = known.map_or(0, |vault| self.withdrawals.vaults[vault as usize].block);
        if signer != Address::default() && block != last {
            return Err(Reject::ChainBehind);
        }
        let (vault, opened) = self.find_or_open_vault(chain_id, address, vault_name);
        let former = self.deposits.vault(vault).signer;
        if signer == Address::default() || signer == former {
            opened.into_iter().for_each(|opened| emitter.emit(opened));
            return Ok(Outcome::default());
        }
        let dead: Vec<Withdrawal> = if former == Address::default() {
            Vec::new()
        } else {
            let of_vault = self.withdrawals.iter().filter(|found| found.vault == vault && !found.is_disputed);
            of_vault.take(EXPIRIES_MAX).copied().collect()
        };
        let back = self.forget_expired(&dead);
        self.move_amounts(&back, None, emitter);
        opened.into_iter().for_each(|opened| emitter.emit(opened));
        super::super::withdrawal::tell_expired(&dead, emitter);
        if dead.len() < EXPIRIES_MAX {
            self.deposits.vaults.entry(vault).or_default().signer = signer;
            emitter.emit(event::VaultSigner { vault, reserved: [0; 6], former, signer, block });
        }
        Ok(Outcome::default())
    }
}
