//! Login by signature: which nonce, signed by whom (`spot.md` 2.1). REST and WebSocket share it.
//!
//! Accounts and tokens are not made here: a login may have to wait for the engine, and its nonce is used up only after that. One
//! that was signed by somebody else is used up at once for the client that brought it: each guess costs what a new nonce costs.

use super::nonce::{Live, NONCE_LIFE_S, Nonce};
use super::typed_data::{Login, Venue};
use crate::Authenticator;
use crate::wallet::{SignatureBytes, recover};
use ringside_core::ids::Address;
use ringside_wire::address::parse_address;

/// What one client may spend: each nonce that it brings with a signature of somebody else's is gone for it.
pub trait NonceBudget {
    /// Takes a nonce and its last second, unless it was taken before; whether it was taken.
    fn spend(&self, nonce: (i64, Nonce), now_s: i64) -> bool;

    /// Gives it back.
    fn unspend(&self, nonce: (i64, Nonce));
}

/// Why a login is refused, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginRefusal {
    /// The address is not `0x` and 40 hex digits.
    InvalidAddress,
    /// The signature is not 65 bytes of hex.
    InvalidSignature,
    /// No version that this deployment takes.
    InvalidVersion,
    /// The nonce is unknown, used, expired, or of another address.
    NonceInvalid,
    /// Another account signed, or something else was signed, or everybody can sign for this account.
    SignatureInvalid,
}

/// A login as a client claims it.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Of what was signed.
    pub version: u64,
    /// Wallet.
    pub address: String,
    /// As issued.
    pub nonce: String,
    /// Hex.
    pub signature: String,
}

/// A login whose signature is good. Its nonce still lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedLogin {
    /// Wallet address of the account.
    pub address: Address,
    live: Live,
}

impl Authenticator {
    /// Judges address, nonce and signature as a client sent them. Who signed is found out on another thread, one after the other.
    pub async fn check_login(
        &self,
        claim: &Claim,
        client: &impl NonceBudget,
        now_s: i64,
    ) -> Result<SignedLogin, LoginRefusal> {
        let address = parse_address(&claim.address).ok_or(LoginRefusal::InvalidAddress)?;
        let signature = parse_signature(&claim.signature).ok_or(LoginRefusal::InvalidSignature)?;
        let is_bound = claim.version == 2;
        let is_taken = is_bound || claim.version == 1 && self.takes_version_1;
        if !is_taken {
            return Err(LoginRefusal::InvalidVersion);
        }
        let found = parse_nonce(&claim.nonce).and_then(|nonce| self.nonces.find(&address, &nonce, now_s));
        let live = found
            .filter(|live| client.spend((live.expires_at_s, live.nonce), now_s))
            .ok_or(LoginRefusal::NonceInvalid)?;
        let digest = self.login(&address, &claim.nonce, &live, is_bound).digest();
        let is_signed = move || recover(&digest, &signature).is_some_and(|signer| signer == address);
        let turn = self.recoveries.acquire().await;
        // A panic there was reported by the thread's own hook.
        let is_signed = tokio::task::spawn_blocking(is_signed).await.unwrap_or(false);
        drop(turn);
        if !is_signed || self.is_anybody(&address) {
            return Err(LoginRefusal::SignatureInvalid);
        }
        client.unspend((live.expires_at_s, live.nonce));
        Ok(SignedLogin { address, live })
    }

    /// What a wallet signs for this nonce, in version 2 where it is `is_bound` to this deployment.
    pub fn login<'a>(
        &'a self,
        account: &'a Address,
        nonce: &'a str,
        live: &Live,
        is_bound: bool,
    ) -> Login<'a> {
        let venue = Venue {
            uri: &self.uri,
            deployment: &self.deployment,
            issued_at_s: live.expires_at_s - NONCE_LIFE_S,
        };
        Login {
            chain_id: self.chain_id,
            account,
            nonce,
            expires_at_s: live.expires_at_s,
            venue: is_bound.then_some(venue),
        }
    }

    /// Uses the nonce of a login up; refuses the second of two that carry the same one.
    pub fn finish_login(&self, login: &SignedLogin, now_s: i64) -> Result<(), LoginRefusal> {
        if self.nonces.consume(&login.live, now_s) { Ok(()) } else { Err(LoginRefusal::NonceInvalid) }
    }
}

/// The nonce's one spelling, 32 lower-case hex digits: the text is part of what is signed.
pub fn nonce_text(nonce: &Nonce) -> String {
    const_hex::encode(nonce)
}

fn parse_nonce(text: &str) -> Option<Nonce> {
    let is_spelled_so =
        text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let mut nonce = Nonce::default();
    (is_spelled_so && const_hex::decode_to_slice(text, &mut nonce).is_ok()).then_some(nonce)
}

fn parse_signature(text: &str) -> Option<SignatureBytes> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let mut signature = [0; 65];
    (digits.len() == 130 && const_hex::decode_to_slice(digits, &mut signature).is_ok()).then_some(signature)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_nonce_and_signature() {
        let nonce = parse_nonce("9f86d081884c7d659a2feaa0c55ad015").unwrap();
        assert_eq!(nonce_text(&nonce), "9f86d081884c7d659a2feaa0c55ad015");
        for wrong in [
            "",
            "9F86d081884c7d659a2feaa0c55ad015",
            "9f86d081884c7d659a2feaa0c55ad01",
            "0x86d081884c7d659a2feaa0c55ad015",
        ] {
            assert_eq!(parse_nonce(wrong), None, "{wrong}");
        }
        let digits = "ab".repeat(65);
        assert_eq!(parse_signature(&format!("0x{digits}")), Some([0xab; 65]));
        assert_eq!(parse_signature(&digits), Some([0xab; 65]));
        for wrong in [
            String::new(),
            "ab".repeat(64),
            "ab".repeat(66),
            format!("0x0x{}", "ab".repeat(64)),
            "zz".repeat(65),
        ] {
            assert_eq!(parse_signature(&wrong), None, "{wrong}");
        }
    }
}
