//! The signer of releases: signs what the journal holds, each thing once, and remembers it before it signs.
//!
//! ```text
//!  asked -> known digest? -> the same bytes again
//!        -> no good login token of the account? -> refused
//!        -> other digest for this (chain, vault, account, nonce)? -> refused, unless the former one is dead
//!        -> foreign vault or token, over a cap? -> refused
//!        -> log, synced -> signature
//! ```
//! A digest of a nonce is dead when the venue has seen its deadline pass on the chain; the request for another one is then
//! later than that deadline. Caps use this signer's own clock, never what it is asked. Whoever holds the log holds no key;
//! the key is never logged, shown or sent.
//!
//! The account's own word is the login token of its request, verified here again under the secret of the venue's tokens, with
//! the one algorithm there is: a venue that was taken over but has lost no more than its memory gets signatures for nobody
//! who does not ask for one just then. Tokens are HS256 (`spot.md` 2.1), so who takes that secret can make them; what bounds
//! that are the caps, and the vault, which pays nobody but the account itself. Tokens are in no log.
//!
//! Where several hosts agree, the one that leads says its term, and one that led before is heard no more: also after a restart, by
//! the term that stands with what was signed last. Terms count within a cluster; who is in none says none.

pub mod figures;
pub mod limits;
pub mod process;
pub mod remote;
pub mod settings;
pub mod shape;

use super::{Consent, Issued, Lead, Release, ReleaseKey, SignedRelease, Signer, SignerFault};
use limits::{Exposure, Policy};
use ringside_auth::jwt::Tokens;
use ringside_auth::key_log::{KeyLog, KeyLogError};
use ringside_auth::wallet::Wallet;
use ringside_commands::clock::Clock;
use ringside_core::ids::Address;
use ringside_wire::fault::Fault;
use shape::{Entry, ReleaseText};
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use zeroize::Zeroizing;

/// Entries given at once.
pub const ISSUED_MAX: usize = 1_000;

/// Why a signer cannot start. Never holds a key.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The log.
    #[error("the signer's log: {0}")]
    Log(#[from] KeyLogError),
    /// Another signer has it open.
    #[error("another signer uses the log {0}")]
    InUse(std::path::PathBuf),
    /// The log's records are not in sequence: one is missing, or it was put together of two.
    #[error("entry {position} of the signer's log says it is number {says}: the log is not whole")]
    Numbered {
        /// Where it stands.
        position: u64,
        /// What it says.
        says: u64,
    },
    /// The log was written under another key.
    #[error("the signer's log belongs to {logged}, but this key is that of {own}")]
    OtherKey {
        /// Whose log.
        logged: String,
        /// Whose key.
        own: String,
    },
    /// 32 bytes that are no key.
    #[error("the signer's key is no secp256k1 key")]
    Key,
}

/// A signer in this process, on a log of its own.
pub struct LocalSigner {
    wallet: Wallet,
    /// Reads the login tokens of accounts; makes none.
    tokens: Tokens,
    log: KeyLog<Entry>,
    entries: Vec<Entry>,
    /// Place of the newest entry of each key.
    newest: HashMap<ReleaseKey, usize>,
    policy: Policy,
    exposure: Exposure,
    clock: Clock,
    /// The newest that was heard.
    lead: Option<Lead>,
}

impl LocalSigner {
    /// Opens the log, or founds it. Bytes of a write that was cut by a crash are dropped: nothing was signed for them.
    pub fn open(
        log: &Path,
        key: &Zeroizing<[u8; 32]>,
        tokens: Tokens,
        policy: Policy,
        clock: Clock,
    ) -> Result<LocalSigner, OpenError> {
        let wallet = Wallet::new(key).ok_or(OpenError::Key)?;
        let (file, entries, dropped) = KeyLog::go_on(log).map_err(|error| match error {
            KeyLogError::InUse { path } => OpenError::InUse(path),
            other => OpenError::Log(other),
        })?;
        if dropped > 0 {
            tracing::warn!(
                bytes = dropped,
                "the signer's log ended in a cut entry; nothing was signed for it"
            );
        }
        let mut signer = LocalSigner {
            wallet,
            tokens,
            log: file,
            entries: Vec::new(),
            newest: HashMap::new(),
            policy,
            exposure: Exposure::default(),
            clock,
            lead: None,
        };
        let own = signer.wallet.address();
        for entry in entries {
            let position = signer.entries.len() as u64;
            if entry.position != position {
                return Err(OpenError::Numbered { position, says: entry.position });
            }
            if entry.signer != own {
                let hex = const_hex::encode_prefixed;
                return Err(OpenError::OtherKey { logged: hex(entry.signer), own: hex(own) });
            }
            signer.remember(entry);
        }
        Ok(signer)
    }

    /// Says who asks from now on.
    ///
    /// Errors: a later leader of the same cluster was heard; nothing is to be asked any more.
    pub fn hear(&mut self, lead: Lead) -> Result<(), SignerFault> {
        if let Some(newest) = self.lead.filter(|newest| lead.is_before(newest)) {
            let terms = (lead.term, newest.term);
            tracing::error!(
                ?terms,
                "the signer refuses a leader that has a successor; `--restored` hears it, where the venue was restored"
            );
            return Err(SignerFault::Refused(format!("term {} is over: {} was heard", terms.0, terms.1)));
        }
        if self.lead != Some(lead) {
            let cluster = const_hex::encode(lead.cluster);
            tracing::info!(cluster, term = lead.term, "the signer hears a leader");
        }
        self.lead = Some(lead);
        Ok(())
    }

    /// Hears any leader next: a venue that was restored counts terms from its copy's on.
    pub fn forget_leads(&mut self) {
        self.lead = None;
    }

    fn entry(&self, at_s: i64, release: Release) -> Entry {
        let (position, signer) = (self.entries.len() as u64, self.wallet.address());
        Entry { position, at_s, signer, release: ReleaseText(release), lead: self.lead }
    }

    fn remember(&mut self, entry: Entry) {
        self.lead = entry.lead.or(self.lead);
        self.exposure.add(&entry.release.0, entry.at_s);
        self.newest.insert(entry.release.0.key, self.entries.len());
        self.entries.push(entry);
    }

    /// The signature of something that the log holds.
    fn sign(&self, release: &Release) -> Result<SignedRelease, SignerFault> {
        let digest = release.digest();
        let signature = self.wallet.sign(&digest);
        let signature =
            signature.ok_or_else(|| SignerFault::Unknown("the digest was not signed".to_owned()))?;
        Ok(SignedRelease { digest, signature })
    }

    /// Whether what is in memory is all that may be in the log: an entry whose write failed may be there, and only the next start
    /// can tell.
    fn knows_its_log(&self) -> Result<(), SignerFault> {
        if self.log.has_failed() {
            return Err(SignerFault::Unknown("its log failed before; restart it to use it again".to_owned()));
        }
        Ok(())
    }

    fn issue(&self, entry: &Entry) -> Result<Issued, SignerFault> {
        Ok(Issued { release: entry.release.0.clone(), signed: self.sign(&entry.release.0)? })
    }

    /// Whether the account itself asks.
    fn authorize(&self, release: &Release, consent: Option<&Consent>, now_s: i64) -> Result<(), SignerFault> {
        let missing = |reason: &str| Err(SignerFault::Unauthorized(reason.to_owned()));
        let Some(consent) = consent else { return missing("no login token came with it") };
        match self.tokens.read(consent.token().as_bytes(), now_s) {
            Ok(bearer) if bearer.address == release.key.account => Ok(()),
            Ok(_) => missing("the login token is another account's"),
            Err(Fault::TokenExpired) => missing("the login token has expired"),
            Err(_) => missing("the login token is not the venue's"),
        }
    }

    /// Whether something new may be signed.
    fn judge(&mut self, release: &Release, now_s: i64) -> Result<(), SignerFault> {
        let refuse = |reason: String| {
            tracing::error!(account = %const_hex::encode_prefixed(release.key.account), nonce = release.key.nonce,
                withdrawal = release.withdrawal, %reason, "the signer refuses");
            Err(SignerFault::Refused(reason))
        };
        if let Some(&place) = self.newest.get(&release.key) {
            let former = &self.entries[place].release.0;
            if release.requested_at_s <= former.deadline_s {
                return refuse("another release holds this nonce and may still be paid".to_owned());
            }
        }
        let life = release.deadline_s.checked_sub(release.requested_at_s);
        if !life.is_some_and(|life| (1..=crate::WITHDRAWAL_LIFETIME_MAX_S).contains(&life)) {
            return refuse("the deadline is not within a day of the request".to_owned());
        }
        // Whatever this clock says is counted by it: one that is days ahead would hold the caps down until those days have passed.
        if i64::try_from(release.deadline_s).is_ok_and(|deadline_s| deadline_s < now_s) {
            return refuse("its deadline has passed by the signer's clock".to_owned());
        }
        match self.policy.judge(release).and_then(|limits| self.exposure.judge(release, limits, now_s)) {
            Ok(()) => Ok(()),
            Err(reason) => refuse(reason.to_string()),
        }
    }
}

impl fmt::Debug for LocalSigner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, entries) = (self.wallet.address(), self.entries.len());
        out.debug_struct("LocalSigner")
            .field("address", &const_hex::encode_prefixed(address))
            .field("entries", &entries)
            .finish_non_exhaustive()
    }
}

impl Signer for LocalSigner {
    fn sign_release(
        &mut self,
        release: &Release,
        consent: Option<&Consent>,
    ) -> Result<SignedRelease, SignerFault> {
        let known = self.newest.get(&release.key).map(|&place| &self.entries[place].release.0);
        if known.is_some_and(|known| known.digest() == release.digest()) {
            return self.sign(release);
        }
        let now_s = self.clock.now_s();
        self.authorize(release, consent, now_s)?;
        self.judge(release, now_s)?;
        let entry = self.entry(now_s, release.clone());
        // A write that fails may be on the disk or not; only the next start can tell.
        self.log.append(&entry, true).map_err(|error| SignerFault::Unknown(error.to_string()))?;
        self.remember(entry);
        self.sign(release)
    }

    fn find(&mut self, key: &ReleaseKey) -> Result<Option<Issued>, SignerFault> {
        self.knows_its_log()?;
        self.newest.get(key).map(|&place| self.issue(&self.entries[place])).transpose()
    }

    fn issued(&mut self, from: u64) -> Result<Vec<Issued>, SignerFault> {
        self.knows_its_log()?;
        let from = usize::try_from(from).unwrap_or(usize::MAX).min(self.entries.len());
        self.entries[from..].iter().take(ISSUED_MAX).map(|entry| self.issue(entry)).collect()
    }

    fn address(&self) -> Address {
        self.wallet.address()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringside_auth::jwt::Tokens;

    #[test]
    fn after_a_failed_write_nobody_is_told_what_the_log_does_not_hold() {
        let folder = std::env::temp_dir().join(format!("ringside-signer-failed-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let policy = Policy { vaults: Vec::new(), tokens: [].into() };
        let key = Zeroizing::new([1; 32]);
        let clock = Clock::manual(1_700_000_000_000);
        let mut signer =
            LocalSigner::open(&folder.join("log"), &key, Tokens::new(b"secret"), policy, clock).unwrap();
        let asked = ReleaseKey { chain_id: 1, vault: [1; 20], account: [2; 20], nonce: 0 };
        assert_eq!((signer.find(&asked), signer.issued(0)), (Ok(None), Ok(Vec::new())));
        // The log is taken away, so that the next entry cannot be known to be kept.
        std::fs::remove_file(folder.join("log")).unwrap();
        let (vault_name, token, value) = ("RingsideVault".to_owned(), [3; 20], 1);
        let release =
            Release { key: asked, vault_name, token, value, deadline_s: 2, requested_at_s: 1, withdrawal: 1 };
        let entry = signer.entry(1, release);
        assert!(signer.log.append(&entry, true).is_err());
        assert!(matches!(signer.find(&asked), Err(SignerFault::Unknown(_))));
        assert!(matches!(signer.issued(0), Err(SignerFault::Unknown(_))));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
