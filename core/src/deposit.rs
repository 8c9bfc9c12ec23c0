//! What came from a chain, as state only: the tokens that are known, how many deposits of each vault were taken, those that
//! are held, whose signatures a vault pays for, and what was credited for deposits that the chain has undone since.
//!
//! A deposit that is credited is forgotten here; histories are the views'. Nothing here moves money.

pub(crate) mod canonical;

use crate::command::{DECIMALS_MAX, Ledger};
use crate::ids::{AccountId, Address, AssetId};
use crate::money::Amount;
use std::collections::BTreeMap;

/// Most tokens that are ever known.
pub(crate) const TOKENS_MAX: usize = 1_024;

/// A token of a chain. Everything but its least amount and its pauses is for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) asset: AssetId,
    pub(crate) decimals: u8,
    /// Bits of [`crate::command::token_pause`].
    pub(crate) paused: u8,
    /// Least amount of a withdrawal from a spot balance.
    pub(crate) minimum: Amount,
}

impl Token {
    /// Amount steps of a base unit.
    pub(crate) fn steps(&self) -> Amount {
        10i128.pow(u32::from(DECIMALS_MAX - self.decimals))
    }
}

/// What is known of a vault beside its last final block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VaultBook {
    /// Deposits taken: the number of the last.
    pub(crate) deposits: u64,
    /// Whose signatures it pays for; zeros while nobody is known.
    pub(crate) signer: Address,
    pub(crate) rewind: Option<Rewind>,
}

/// What operators want of a vault whose final blocks the chain has replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rewind {
    /// The block to go back to.
    pub(crate) block: u64,
    pub(crate) hash: [u8; 32],
    pub(crate) time_s: u64,
    pub(crate) proposed_by: [u8; 16],
    /// Zeros while it is proposed.
    pub(crate) agreed_by: [u8; 16],
}

impl Rewind {
    pub(crate) fn is_agreed(&self) -> bool {
        self.agreed_by != [0; 16]
    }
}

/// A deposit that is nobody's yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) account: Address,
    pub(crate) token: Address,
    /// In base units, without sign.
    pub(crate) value: u128,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deposits {
    /// By chain and contract.
    pub(crate) tokens: BTreeMap<(u64, Address), Token>,
    /// By number of the vault; a vault that nothing is known of is not there.
    pub(crate) vaults: BTreeMap<u16, VaultBook>,
    /// By vault and number.
    pub(crate) held: BTreeMap<(u16, u64), Held>,
    /// What was credited for deposits that the chain undid, until it is deposited again.
    pub(crate) claims: BTreeMap<(AccountId, AssetId), Amount>,
}

impl Deposits {
    /// Whether there is anything to remember.
    pub(crate) fn is_used(&self) -> bool {
        *self != Deposits::default()
    }

    /// What is known of a vault.
    pub(crate) fn vault(&self, vault: u16) -> VaultBook {
        self.vaults.get(&vault).copied().unwrap_or_default()
    }

    /// The contract of an asset on a chain.
    pub(crate) fn contract(&self, chain_id: u64, asset: AssetId) -> Option<&Address> {
        let mut of_chain = self.tokens.range((chain_id, [0; 20])..=(chain_id, [0xff; 20]));
        of_chain.find(|(_, token)| token.asset == asset).map(|((_, address), _)| address)
    }

    /// Amount steps of a base unit of a token. One that is not known has as many decimals as its ledger: withdrawals are older
    /// than tokens.
    pub(crate) fn steps_of(&self, chain_id: u64, token: &Address, ledger: Ledger) -> Amount {
        let known = self.tokens.get(&(chain_id, *token)).map(Token::steps);
        known.unwrap_or_else(|| crate::withdrawal::steps_of_unit(ledger))
    }

    /// What of a credit is paid by what was credited before for a deposit that the chain undid.
    pub(crate) fn claimed(&mut self, account: AccountId, asset: AssetId, amount: Amount) -> Amount {
        let Some(claim) = self.claims.get_mut(&(account, asset)) else { return 0 };
        let paid = amount.min(*claim);
        *claim -= paid;
        if *claim == 0 {
            self.claims.remove(&(account, asset));
        }
        paid
    }
}
