//! Deposits as canonical bytes, and back: a section of the state behind that of withdrawals, written only where there is
//! something in it.
//!
//! ```text
//! magic [4] "DPST" | version u32
//! tokens   count u64, by chain and contract, each: chain u64, address [20], asset u16, decimals u8, paused u8, minimum i128
//! vaults   count u64, by number, each: vault u16, deposits u64, signer [20], rewind u8 (0 none, 1 there is one: block u64,
//!          hash [32], time u64, proposed by [16], agreed by [16])
//! held     count u64, by vault and number, each: vault u16, number u64, account [20], token [20], value u128
//! claims   count u64, by account and asset, each: account u32, asset u16, amount i128
//! ```

use super::{Deposits, Held, Rewind, TOKENS_MAX, Token, VaultBook};
use crate::command::{DECIMALS_MAX, token_pause};
use crate::ids::AccountId;
use crate::snapshot::{Reader, SnapshotError, ensure, invalid};
use crate::state_hash::Bytes;

const MAGIC: [u8; 4] = *b"DPST";
const VERSION: u32 = 1;

type Read<T> = Result<T, SnapshotError>;

impl Deposits {
    /// Writes the section.
    pub(crate) fn write<B: Bytes>(&self, out: &mut B) {
        let count = |out: &mut B, count: usize| out.put(&(count as u64).to_le_bytes());
        out.put(&MAGIC);
        out.put(&VERSION.to_le_bytes());
        count(out, self.tokens.len());
        for ((chain_id, address), token) in &self.tokens {
            out.put(&chain_id.to_le_bytes());
            out.put(address);
            out.put(&token.asset.to_le_bytes());
            out.put(&[token.decimals, token.paused]);
            out.put(&token.minimum.to_le_bytes());
        }
        count(out, self.vaults.len());
        for (number, vault) in &self.vaults {
            out.put(&number.to_le_bytes());
            out.put(&vault.deposits.to_le_bytes());
            out.put(&vault.signer);
            out.put(&[vault.rewind.is_some().into()]);
            if let Some(rewind) = &vault.rewind {
                out.put(&rewind.block.to_le_bytes());
                out.put(&rewind.hash);
                out.put(&rewind.time_s.to_le_bytes());
                out.put(&rewind.proposed_by);
                out.put(&rewind.agreed_by);
            }
        }
        count(out, self.held.len());
        for ((vault, number), held) in &self.held {
            out.put(&vault.to_le_bytes());
            out.put(&number.to_le_bytes());
            out.put(&held.account);
            out.put(&held.token);
            out.put(&held.value.to_le_bytes());
        }
        count(out, self.claims.len());
        for ((account, asset), amount) in &self.claims {
            out.put(&account.to_le_bytes());
            out.put(&asset.to_le_bytes());
            out.put(&amount.to_le_bytes());
        }
    }

    /// Whether the section comes next.
    pub(crate) fn is_next(reader: &Reader<'_>) -> bool {
        reader.peek() == Some(&MAGIC)
    }

    /// Reads the section of a state with so many assets and vaults. `exists` says which accounts there are.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        assets: usize,
        vaults: usize,
        exists: impl Fn(AccountId) -> bool,
    ) -> Read<Deposits> {
        ensure(reader.array()? == MAGIC, "no section of deposits")?;
        ensure(reader.u32()? == VERSION, "unknown version of the section of deposits")?;
        let mut all = Deposits::default();
        for _ in 0..reader.count(48)? {
            let (chain_id, address) = (reader.u64()?, reader.array()?);
            let token = Token {
                asset: reader.u16()?,
                decimals: reader.u8()?,
                paused: reader.u8()?,
                minimum: reader.i128()?,
            };
            let is_sound = chain_id != 0
                && address != [0; 20]
                && usize::from(token.asset) < assets
                && token.decimals <= DECIMALS_MAX
                && token.paused & !token_pause::ALL == 0
                && token.minimum > 0
                && all.contract(chain_id, token.asset).is_none();
            ensure(is_sound && all.tokens.len() < TOKENS_MAX, "an impossible token")?;
            ensure(all.tokens.insert((chain_id, address), token).is_none(), "a token occurs twice")?;
        }
        for _ in 0..reader.count(31)? {
            let number = reader.u16()?;
            let (deposits, signer) = (reader.u64()?, reader.array()?);
            let rewind = match reader.u8()? {
                0 => None,
                1 => Some(Rewind {
                    block: reader.u64()?,
                    hash: reader.array()?,
                    time_s: reader.u64()?,
                    proposed_by: reader.array()?,
                    agreed_by: reader.array()?,
                }),
                _ => return Err(invalid("neither a rewind nor none")),
            };
            let book = VaultBook { deposits, signer, rewind };
            let is_sound = usize::from(number) < vaults
                && book != VaultBook::default()
                && rewind.is_none_or(|rewind| rewind.proposed_by != [0; 16]);
            ensure(is_sound && all.vaults.insert(number, book).is_none(), "an impossible book of a vault")?;
        }
        for _ in 0..reader.count(66)? {
            let place = (reader.u16()?, reader.u64()?);
            let held = Held {
                account: reader.array()?,
                token: reader.array()?,
                value: u128::from_le_bytes(reader.array()?),
            };
            let is_taken = (1..=all.vault(place.0).deposits).contains(&place.1);
            ensure(is_taken && all.held.insert(place, held).is_none(), "an impossible held deposit")?;
        }
        for _ in 0..reader.count(22)? {
            let (place, amount) = ((reader.u32()?, reader.u16()?), reader.i128()?);
            let is_sound = exists(place.0) && usize::from(place.1) < assets && amount > 0;
            ensure(is_sound && all.claims.insert(place, amount).is_none(), "an impossible claim")?;
        }
        ensure(all.is_used(), "a section of deposits without any")?;
        Ok(all)
    }

    /// What a state must hold of every claim; names the first fault.
    pub(crate) fn check(&self, vaults: usize) -> Result<(), String> {
        if self.vaults.keys().any(|&vault| usize::from(vault) >= vaults) {
            return Err("a book of a vault that is not there".into());
        }
        if let Some(((vault, number), _)) =
            self.held.iter().find(|((vault, number), _)| !(1..=self.vault(*vault).deposits).contains(number))
        {
            return Err(format!("deposit {number} of vault {vault} is held, but was not taken"));
        }
        match self.claims.iter().find(|(_, amount)| **amount <= 0) {
            None => Ok(()),
            Some(((account, asset), amount)) => {
                Err(format!("account {account} owes {amount} of asset {asset} to deposits that were undone"))
            }
        }
    }
}
