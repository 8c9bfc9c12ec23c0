//! Reads of the referral contract (`account.md` 12): what it says of an address, kept for ten seconds.
//!
//! One node is asked, as nothing but a page and a discount depends on it: no money moves on these answers. A node that
//! fails, is slow or reverts gives [`ChainError`], and nothing of it is kept.

use super::provider::{FromWord, Hash, Provider, ProviderFault, address_of};
use parking_lot::Mutex;
use ringside_auth::wallet::{keccak256, word};
use ringside_core::ids::Address;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long a good answer is given again.
pub const KEPT: Duration = Duration::from_secs(10);
/// Answers kept at most; beyond it those whose time is over go.
const KEPT_MAX: usize = 65_536;
/// Questions to the node on behalf of strangers: so many at once,
const ASKED_AT_ONCE: u32 = 100;
/// and one more in each such time. A node that is asked without end answers nobody, and confirms no withdrawal.
const ASKED_EVERY: Duration = Duration::from_millis(50);
/// Names of the levels of a referrer.
const TIERS: [&str; 5] = ["Starter", "Silver", "Gold", "Platinum", "Diamond"];

/// The contract could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// Its answer, or that there was none.
    #[error("the referral contract cannot be read: {0}")]
    Fault(#[from] ProviderFault),
    /// The node is asked too much already.
    #[error("the referral contract is not read: strangers ask for too much of it")]
    TooMany,
}

/// `userRebates(address)`. Unknown users have zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebate {
    /// In steps of 10^-6 US dollars.
    pub claimed_usd: u128,
    /// Counts claims.
    pub nonce: u64,
    /// Code of the referral, see [`code_text`].
    pub code: Hash,
    /// Who referred; the zero address for nobody.
    pub referrer: Address,
    /// Level, see [`tier_name`].
    pub tier: u8,
}

/// `referralInfo(address)`. Unknown users have zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Code of the referral, see [`code_text`].
    pub code: Hash,
    /// Who referred; the zero address for nobody.
    pub referrer: Address,
    /// Basis points of the fee that go back in all.
    pub total_rebate_bps: u16,
    /// Of them the trader's.
    pub trader_discount_bps: u16,
    /// And the referrer's.
    pub affiliate_reward_bps: u16,
}

/// Name of a level.
pub fn tier_name(tier: u8) -> &'static str {
    TIERS.get(usize::from(tier)).copied().unwrap_or("Unknown")
}

/// A code as text: UTF-8 up to the first zero byte, else hex.
pub fn code_text(code: &Hash) -> String {
    let end = code.iter().position(|byte| *byte == 0).unwrap_or(code.len());
    match std::str::from_utf8(&code[..end]) {
        Ok(text) => text.to_owned(),
        Err(_) => const_hex::encode_prefixed(code),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum View {
    Rebate,
    Terms,
    Claimed,
    Operator,
}

impl View {
    fn signature(self) -> &'static str {
        match self {
            View::Rebate => "userRebates(address)",
            View::Terms => "referralInfo(address)",
            View::Claimed => "claimed(address)",
            View::Operator => "isOperator(address)",
        }
    }
}

/// The words of an answer, and when it came.
type Answer = (Instant, Vec<Hash>);

/// Good answers of the last seconds, and how much may be asked; one for all threads.
#[derive(Debug, Default)]
pub struct Kept {
    answers: Mutex<HashMap<(View, Address), Answer>>,
    /// When all that was asked would have been asked at the even pace.
    paid: Mutex<Option<Instant>>,
}

impl Kept {
    /// Whether one more question may be asked.
    fn allows(&self, now: Instant) -> bool {
        let mut paid = self.paid.lock();
        let next = paid.map_or(now, |paid| paid.max(now)) + ASKED_EVERY;
        let is_allowed = next <= now + ASKED_EVERY * ASKED_AT_ONCE;
        if is_allowed {
            *paid = Some(next);
        }
        is_allowed
    }

    fn get(&self, view: View, address: &Address, now: Instant) -> Option<Vec<Hash>> {
        let kept = self.answers.lock();
        let (since, words) = kept.get(&(view, *address))?;
        (now.saturating_duration_since(*since) < KEPT).then(|| words.clone())
    }

    fn put(&self, view: View, address: &Address, now: Instant, words: Vec<Hash>) {
        let kept = &mut *self.answers.lock();
        if kept.len() >= KEPT_MAX {
            kept.retain(|_, (since, _)| now.saturating_duration_since(*since) < KEPT);
        }
        if kept.len() < KEPT_MAX {
            kept.insert((view, *address), (now, words));
        }
    }
}

/// A contract, through a node of the calling thread.
pub struct Reader {
    provider: Provider,
    chain_id: u64,
    contract: Address,
}

impl Reader {
    /// A contract at a node of a chain.
    pub fn new(provider: Provider, chain_id: u64, contract: Address) -> Reader {
        Reader { provider, chain_id, contract }
    }

    /// The contract.
    pub fn contract(&self) -> &Address {
        &self.contract
    }

    /// What a user has claimed, and who referred it.
    pub async fn rebate(&self, kept: &Kept, address: &Address) -> Result<Rebate, ChainError> {
        self.read(kept, View::Rebate, address, |[claimed_usd, nonce, code, referrer, tier]| {
            Some(Rebate {
                claimed_usd: u128::try_from_word(claimed_usd)?,
                nonce: u64::try_from_word(nonce)?,
                code: *code,
                referrer: address_of(referrer)?,
                tier: u8::try_from_word(tier)?,
            })
        })
        .await
    }

    /// The terms of a user's referral.
    pub async fn terms(&self, kept: &Kept, address: &Address) -> Result<Terms, ChainError> {
        self.read(kept, View::Terms, address, |[code, referrer, total, trader, affiliate]| {
            Some(Terms {
                code: *code,
                referrer: address_of(referrer)?,
                total_rebate_bps: u16::try_from_word(total)?,
                trader_discount_bps: u16::try_from_word(trader)?,
                affiliate_reward_bps: u16::try_from_word(affiliate)?,
            })
        })
        .await
    }

    /// What a user has claimed, in steps of 10^-6 US dollars.
    pub async fn claimed(&self, kept: &Kept, address: &Address) -> Result<u128, ChainError> {
        self.read(kept, View::Claimed, address, |[claimed]| u128::try_from_word(claimed)).await
    }

    /// Whether an address may write the records.
    pub async fn is_operator(&self, kept: &Kept, address: &Address) -> Result<bool, ChainError> {
        let is_one =
            |[truth]: &[Hash; 1]| u8::try_from_word(truth).filter(|truth| *truth < 2).map(|truth| truth == 1);
        self.read(kept, View::Operator, address, is_one).await
    }

    /// What the words that a view returns say; those that say nothing are not kept.
    async fn read<const WORDS: usize, T>(
        &self,
        kept: &Kept,
        view: View,
        address: &Address,
        meaning: impl Fn(&[Hash; WORDS]) -> Option<T>,
    ) -> Result<T, ChainError> {
        let of = |words: &[Hash]| meaning(words.try_into().ok()?);
        if let Some(known) = kept.get(view, address, Instant::now()).and_then(|words| of(&words)) {
            return Ok(known);
        }
        if !kept.allows(Instant::now()) {
            return Err(ChainError::TooMany);
        }
        let selector = &keccak256(view.signature())[..4];
        let answer = self.provider.call(&self.contract, &[selector, &word(address)].concat()).await?;
        self.provider.judge_chain(self.chain_id).await?;
        // Nothing is also what a node answers for an address without code.
        let (words, []) = answer.as_chunks::<32>() else { return Err(NONSENSE) };
        let found = of(words).ok_or(NONSENSE)?;
        kept.put(view, address, Instant::now(), words.to_vec());
        Ok(found)
    }
}

const NONSENSE: ChainError =
    ChainError::Fault(ProviderFault::Nonsense("the contract is not that of referrals"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_levels_in_text() {
        let code = |text: &[u8]| {
            let mut code = [0; 32];
            code[..text.len()].copy_from_slice(text);
            code_text(&code)
        };
        assert_eq!(code(b""), "");
        assert_eq!(code(b"ALICE1"), "ALICE1");
        assert_eq!(code("Zürich".as_bytes()), "Zürich");
        assert_eq!(code(b"A\0B"), "A");
        assert_eq!(code(&[b'x'; 32]), "x".repeat(32));
        assert_eq!(code(&[0xff, 1]), format!("0xff01{}", "00".repeat(30)));
        let names: Vec<_> = [0, 1, 2, 3, 4, 5, 255].map(tier_name).into();
        assert_eq!(names, ["Starter", "Silver", "Gold", "Platinum", "Diamond", "Unknown", "Unknown"]);
    }
}
