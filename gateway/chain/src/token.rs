//! What a node says of a token's contract, before an operator adds it for good. No money moves on these answers.

use super::provider::{FromWord, Hash, Provider, ProviderFault};
use ringside_auth::wallet::keccak256;
use ringside_core::ids::Address;

/// Why a contract is not the token that it is said to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// Nothing stands at the address.
    #[error("there is no contract at the address")]
    NoCode,
    /// Something that does not answer as a token does.
    #[error("the contract does not answer as a token does")]
    NoToken,
    /// It has so many decimals.
    #[error("the contract has {0} decimals")]
    Decimals(u8),
    /// The node.
    #[error(transparent)]
    Node(#[from] ProviderFault),
}

/// Asks a node of the calling thread.
pub struct TokenReader {
    provider: Provider,
    chain_id: u64,
}

impl TokenReader {
    /// At a node of a chain.
    pub fn new(provider: Provider, chain_id: u64) -> TokenReader {
        TokenReader { provider, chain_id }
    }

    /// Whether a token of so many decimals stands at an address.
    pub async fn check(&self, token: &Address, decimals: u8) -> Result<(), TokenFault> {
        let code_len = self.provider.code_len(token).await?;
        if code_len == 0 {
            self.provider.judge_chain(self.chain_id).await?;
            return Err(TokenFault::NoCode);
        }
        let answer = self.provider.call(token, &keccak256("decimals()")[..4]).await?;
        self.provider.judge_chain(self.chain_id).await?;
        let own = <&Hash>::try_from(answer.as_slice()).ok().and_then(u8::try_from_word);
        match own {
            Some(own) if own == decimals => Ok(()),
            Some(own) => Err(TokenFault::Decimals(own)),
            None => Err(TokenFault::NoToken),
        }
    }
}
