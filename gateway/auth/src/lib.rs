//! Who asks: login tokens, API keys, listen keys, the administrator's key and those of operators.
//!
//! One [`Authenticator`] serves all workers. What it recognized on a connection is remembered there ([`Remembered`]), so
//! that a client that sends the same credential again is not hashed again. Routes and limits are not its business.

pub mod access;
pub mod cidr;
pub mod credential_log;
pub mod former_files;
pub mod jwt;
pub mod key;
mod key_encryption;
pub mod key_log;
pub mod listen_key;
pub mod login;
pub mod logout;
pub mod nonce;
pub mod operators;
pub mod rotate;
pub mod seal;
pub mod secret;
pub mod seen;
pub mod signed;
pub mod test_wallet;
pub mod typed_data;
pub mod wallet;

use access::{Acting, Auth, Identity, Means, Operator, Permission};
use credential_log::{CredentialLog, CredentialLogError};
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use jwt::{Bearer, Tokens};
use key::{ApiKey, KeyError, KeyStore};
use listen_key::{ListenKeyError, ListenKeys};
use logout::{Grant, Logouts};
use nonce::Nonces;
use operators::Watched;
use ringside_core::ids::{AccountId, Address};
use ringside_core::side::SideStore;
use ringside_wire::fault::{Denied, Fault};
use seal::SealError;
use secret::{RandomError, SecretError};
use seen::Seen;
use sha2::{Digest, Sha256};
use signed::SignedRequest;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// Key header of signed requests, and the one that existing clients send in its place.
const SIGNED_KEY: HeaderName = HeaderName::from_static("x-ex-apikey");
const COMPATIBLE_KEY: HeaderName = HeaderName::from_static("x-mbx-apikey");
/// Folder of the data folder that holds keys and secrets.
pub const FOLDER: &str = "auth";
/// Characters of an administrator's key and of a token secret that are made here.
const MADE_LEN: usize = 64;

/// What a deployment says of who may ask.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The data folder; keys and secrets lie in a folder of it.
    pub data_dir: PathBuf,
    /// The administrator's key, where it is not to be the file's.
    pub admin_key: Option<Zeroizing<String>>,
    /// What signs login tokens, where it is not to be the file's.
    pub jwt_secret: Option<Zeroizing<String>>,
    /// What keys are sealed under, 64 hex digits, where it is not to be the file's.
    pub key_encryption_key: Option<Zeroizing<String>>,
    /// Where clients reach the deployment: logins name it.
    pub uri: String,
    /// The chain that logins name.
    pub chain_id: u64,
    /// Whether logins of version 1 are taken.
    pub takes_login_version_1: bool,
    /// Whether the key header of existing clients is looked at.
    pub compat_header: bool,
    /// Whether a signature is taken once.
    pub refuse_replays: bool,
    /// Whether wallets whose keys everybody knows are let in.
    pub takes_test_wallets: bool,
}

/// Everything that recognizes callers.
pub struct Authenticator {
    /// Login tokens.
    pub tokens: Tokens,
    /// Accounts that took their tokens back.
    pub logouts: Logouts,
    /// API keys.
    pub keys: KeyStore,
    /// Keys of user streams.
    pub listen_keys: ListenKeys,
    /// Login nonces.
    pub nonces: Nonces,
    /// Tells this deployment from every other: made at its first start.
    deployment: Zeroizing<String>,
    /// Where clients reach it.
    uri: String,
    /// The chain that logins name.
    chain_id: u64,
    /// Whether logins of version 1 are taken.
    takes_version_1: bool,
    /// Whose turn it is to find out who signed: that takes a thread's whole time, which others need.
    recoveries: Semaphore,
    /// SHA-256 of the administrator's key: comparing hashes hides its length as well.
    admin_key_hash: [u8; 32],
    /// Who has a key of its own that opens the same routes.
    operators: Watched,
    /// Whether the header of existing clients is looked at.
    compat_header: bool,
    /// Signatures that were taken, where none is taken twice.
    pub seen: Option<Seen>,
    /// Whether wallets whose keys everybody knows are let in.
    takes_test_wallets: bool,
}

impl Authenticator {
    /// How many kinds of its credentials are not kept any more before a restart.
    pub fn failed_logs(&self) -> usize {
        [self.logouts.has_failed(), self.keys.has_failed(), self.listen_keys.has_failed()]
            .into_iter()
            .filter(|&failed| failed)
            .count()
    }
}

/// A request as far as its signature reaches.
#[derive(Clone, Copy, Debug)]
pub struct PresentedRequest<'a> {
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Where it came from, if that is known.
    pub ip: Option<IpAddr>,
    /// When it was fully read, UNIX milliseconds.
    pub now_ms: i64,
    /// Its query string.
    pub query: &'a str,
    /// Its body; empty where the method has none.
    pub body: &'a [u8],
    /// Whether it may change something.
    pub is_change: bool,
}

/// What the exchange knows of accounts. A credential names its account by number, and after a journal was restored to an earlier
/// moment a number may be another wallet's.
pub trait Accounts {
    /// Whether the account of this number is the one of this wallet; nothing while that is not known, before recovery has ended.
    fn is_of(&self, account: AccountId, address: &Address) -> Option<bool>;
}

/// Why the credentials of a deployment could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// A secret file.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// Keys are sealed under two key-encryption keys.
    #[error(
        "a change of the key-encryption key was interrupted, as {0} tells; `ringside rotate-key` finishes it"
    )]
    Rotating(PathBuf),
    /// The key-encryption key is not the one that they were sealed under.
    #[error(
        "the {what} of this journal were sealed under another key-encryption key than {key}: put that one back, a copy of \
         `ringside backup` has it only where it was made with `--with-secrets`. Without it they are lost: `ringside rotate-key \
         --give-up` leaves them out, and their owners make new ones"
    )]
    Sealed {
        /// What does not open.
        what: &'static str,
        /// Where the present key is from.
        key: String,
    },
    /// The API keys.
    #[error("API keys: {0}")]
    Keys(#[from] KeyError),
    /// The listen keys.
    #[error("listen keys: {0}")]
    ListenKeys(#[from] ListenKeyError),
    /// The logouts.
    #[error("logouts: {0}")]
    Logouts(CredentialLogError),
    /// The files of earlier versions.
    #[error(transparent)]
    FormerFiles(key_log::KeyLogError),
}

/// What opening found, for the lines printed at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The administrator's key was made just now.
    pub is_admin_key_new: bool,
}

impl Authenticator {
    /// Opens the secrets of the data folder, and makes those that are neither there nor configured; and the credentials that are kept,
    /// of which changes go to `log`.
    pub fn open(
        settings: &Settings,
        side: &SideStore,
        log: &Arc<dyn CredentialLog>,
    ) -> Result<(Authenticator, Found), AuthError> {
        let folder = folder(&settings.data_dir);
        let next = folder.join(key_encryption::NEXT);
        if next.exists() {
            return Err(AuthError::Rotating(next));
        }
        let is_made = |line: &str| line.len() >= 32 && line.bytes().all(|byte| byte.is_ascii_graphic());
        let text = |configured: &Option<Zeroizing<String>>, name: &str| match configured {
            Some(secret) => Ok((secret.clone(), false)),
            None => secret::load_or_create(
                &folder,
                name,
                || secret::random_text(MADE_LEN),
                is_made,
                "at least 32 characters",
            ),
        };
        let (admin_key, is_admin_key_new) = text(&settings.admin_key, "admin_key")?;
        let (jwt_secret, _) = text(&settings.jwt_secret, "jwt_secret")?;
        let is_id = |line: &str| line.len() == 32 && line.bytes().all(|byte| byte.is_ascii_hexdigit());
        let (deployment, _) =
            secret::load_or_create(&folder, "deployment", random_id, is_id, "32 hex digits")?;
        let sealing_key = key_encryption::read(settings, &folder)?;
        let sealed = |what| AuthError::Sealed {
            what,
            key: match settings.key_encryption_key {
                Some(_) => "the configured one".to_owned(),
                None => format!("that of {}", folder.join(key_encryption::CURRENT).display()),
            },
        };
        let sealer = || seal::Sealer::new(&sealing_key);
        let keys = KeyStore::open(side, log.clone(), sealer()).map_err(|error| match error {
            KeyError::Seal(SealError::DoesNotOpen) => sealed("API keys"),
            other => AuthError::Keys(other),
        })?;
        let listen_keys = ListenKeys::open(side, log.clone(), sealer()).map_err(|error| match error {
            ListenKeyError::Seal(SealError::DoesNotOpen) => sealed("keys of user streams"),
            other => AuthError::ListenKeys(other),
        })?;
        let logouts = Logouts::open(side, log.clone()).map_err(AuthError::Logouts)?;
        let auth = Authenticator {
            tokens: Tokens::new(jwt_secret.as_bytes()),
            logouts,
            keys,
            listen_keys,
            nonces: Nonces::new().map_err(SecretError::from)?,
            deployment,
            uri: settings.uri.clone(),
            chain_id: settings.chain_id,
            takes_version_1: settings.takes_login_version_1,
            recoveries: Semaphore::new(1),
            admin_key_hash: Sha256::digest(admin_key.as_bytes()).into(),
            operators: Watched::open(&folder)?,
            compat_header: settings.compat_header,
            seen: settings.refuse_replays.then(Seen::default),
            takes_test_wallets: settings.takes_test_wallets,
        };
        Ok((auth, Found { is_admin_key_new }))
    }

    /// Has the credentials that another process keeps, which writes the journal.
    ///
    /// Errors: they were sealed under another key-encryption key, or are none; those of before count on.
    pub fn refresh(&self, side: &SideStore) -> Result<(), AuthError> {
        self.keys.refresh(side).map_err(AuthError::Keys)?;
        self.listen_keys.refresh(side).map_err(AuthError::ListenKeys)?;
        self.logouts.refresh(side).map_err(AuthError::Logouts)
    }

    /// Where the administrator's key lies when it is not configured.
    pub fn admin_key_path(data_dir: &Path) -> PathBuf {
        folder(data_dir).join("admin_key")
    }

    /// Checks what a route needs against what a request sent. First 401, then 403 (`spot.md` 3). `remembered` belongs to the
    /// connection.
    pub fn check(
        &self,
        needs: Auth,
        headers: &HeaderMap,
        ip: Option<IpAddr>,
        now_s: i64,
        accounts: &dyn Accounts,
        remembered: &mut Remembered,
    ) -> Result<Option<Identity>, Fault> {
        match needs {
            // Signed requests are checked with their parameters, those of operators are no account's: by the functions below.
            Auth::Signed(_) | Auth::Stream | Auth::Admin => Err(Fault::Unauthorized),
            Auth::None => Ok(None),
            Auth::Optional(permission) => match sent(headers) {
                None => Ok(None),
                Some(sent) => {
                    self.recognize(sent, ip, now_s, accounts, remembered)?.permitted(permission).map(Some)
                }
            },
            Auth::Account(permission) => {
                let sent = sent(headers).ok_or(Fault::Unauthorized)?;
                self.recognize(sent, ip, now_s, accounts, remembered)?.permitted(permission).map(Some)
            }
            Auth::JwtOnly(denied) => {
                let sent = sent(headers).ok_or(Fault::Unauthorized)?;
                let recognized = self.recognize(sent, ip, now_s, accounts, remembered)?;
                match recognized.key {
                    None => Ok(Some(recognized.identity)),
                    Some(_) => Err(Fault::Forbidden(denied)),
                }
            }
        }
    }

    /// Checks a signed request (`perpetual.md` 2): form of the key, key and permission, parameters, time, signature. Existing
    /// clients may ask for a user stream by the key alone (`is_stream`).
    pub fn check_signed(
        &self,
        permission: Permission,
        is_stream: bool,
        request: PresentedRequest<'_>,
        accounts: &dyn Accounts,
        remembered: &mut Remembered,
    ) -> Result<Identity, Fault> {
        let PresentedRequest { headers, ip, now_ms, query, body, is_change } = request;
        let key = headers.get(SIGNED_KEY).or_else(|| self.compatible_key(headers)).ok_or(Fault::KeyFormat)?;
        let key = key.as_bytes();
        // What looks like no key is none: only a key that is refused is looked at for that.
        let is_key = || key.len() == key::KEY_LEN && key.iter().all(u8::is_ascii_alphanumeric);
        let recognized = self.recognize(Sent::Key(key), ip, now_ms / 1_000, accounts, remembered);
        let recognized = recognized.map_err(|fault| if is_key() { fault } else { Fault::KeyFormat })?;
        let identity = recognized.permitted(permission)?;
        if is_stream && self.is_compatible(headers) && !signed::is_any_sent(query, body) {
            return Ok(identity);
        }
        let signer = recognized.key.as_deref().map(|key| self.keys.signer(key));
        let signed = SignedRequest::read(query, body).map_err(Fault::SignatureError)?;
        // A key that was sealed under another key-encryption key was refused at start.
        let signer = signer.and_then(Result::ok).ok_or(Fault::Internal)?;
        signed.check(signer, now_ms).map_err(Fault::SignatureError)?;
        if let Some(seen) = self.seen.as_ref().filter(|_| is_change) {
            seen.take(identity.account, &signed, now_ms)?;
        }
        Ok(identity)
    }

    /// Who calls a route of operators: by a key of their own, or by the administrator's.
    pub fn acting(&self, headers: &HeaderMap) -> Result<Acting, Fault> {
        let key = headers.get(API_KEY).ok_or(Fault::Unauthorized)?;
        let key_hash: [u8; 32] = Sha256::digest(key.as_bytes()).into();
        let is_shared: bool = key_hash.ct_eq(&self.admin_key_hash).into();
        match self.operators.find(&key_hash) {
            Some(name) => Ok(Acting::Own(Operator { name, key_hash })),
            None if is_shared => Ok(Acting::Shared),
            None => Err(Fault::Unauthorized),
        }
    }

    /// Whether the key of an operator who acted before still counts, as the same operator's.
    pub fn is_operator(&self, operator: &Operator) -> bool {
        self.operators.find(&operator.key_hash).as_deref() == Some(&operator.name)
    }

    /// Whether an operator of this name has a key.
    pub fn has_operator(&self, name: &str) -> bool {
        self.operators.has(name)
    }

    /// The header that a key stands for which existing clients send otherwise, such as in a frame.
    pub fn header_of_clients(&self) -> HeaderName {
        if self.compat_header { COMPATIBLE_KEY } else { SIGNED_KEY }
    }

    /// Whether a request came by the header of existing clients.
    pub fn is_compatible(&self, headers: &HeaderMap) -> bool {
        !headers.contains_key(SIGNED_KEY) && self.compatible_key(headers).is_some()
    }

    fn compatible_key<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        headers.get(COMPATIBLE_KEY).filter(|_| self.compat_header)
    }

    /// Who sent this credential: remembered from a request before, or looked up.
    fn recognize<'a>(
        &self,
        sent: Sent<'_>,
        ip: Option<IpAddr>,
        now_s: i64,
        accounts: &dyn Accounts,
        remembered: &'a mut Remembered,
    ) -> Result<&'a Recognized, Fault> {
        let generation = self.keys.generation();
        let all = &mut remembered.0;
        all.retain(|known| known.is_confirmed);
        let index = match all.iter().position(|known| known.is_same(sent, ip, generation)) {
            Some(index) => index,
            None => {
                let found = self.look_up(sent, ip, now_s, generation, accounts)?;
                // Keys have changed since these were looked up, so that they are known no more.
                all.retain(|known| known.key.is_none() || known.generation == generation);
                all.truncate(REMEMBERED - 1);
                all.insert(0, found);
                0
            }
        };
        // Time passes also for what is remembered.
        let refused = match (&all[index].key, all[index].identity.means) {
            (None, Means::Jwt { expires_at_s }) if now_s >= expires_at_s => Fault::TokenExpired,
            (None, _) if all[index].login.as_ref().is_some_and(Grant::is_over) => Fault::Unauthorized,
            (Some(key), _) if !key.is_usable(ip, now_s) => Fault::Unauthorized,
            (key, _) => {
                key.iter().for_each(|key| key.used(now_s));
                return Ok(&all[index]);
            }
        };
        all.remove(index);
        Err(refused)
    }

    /// Reads a login token, and gives what tells when its account logs out.
    pub fn read_token(
        &self,
        token: &[u8],
        now_s: i64,
        accounts: &dyn Accounts,
    ) -> Result<(Bearer, Grant), Fault> {
        let (bearer, login) = self.read(token, now_s)?;
        match accounts.is_of(bearer.account, &bearer.address) {
            Some(false) => Err(Fault::Unauthorized),
            Some(true) | None => Ok((bearer, login)),
        }
    }

    fn read(&self, token: &[u8], now_s: i64) -> Result<(Bearer, Grant), Fault> {
        let bearer = self.tokens.read(token, now_s)?;
        let login = self.logouts.grant(bearer.account, bearer.issued_at_s);
        if login.is_over() || self.is_anybody(&bearer.address) {
            Err(Fault::Unauthorized)
        } else {
            Ok((bearer, login))
        }
    }

    /// Whether it proves nobody to have the key of this wallet, since everybody has it. A data folder of a test deployment may hold
    /// tokens and API keys of such a wallet, and money.
    fn is_anybody(&self, address: &Address) -> bool {
        !self.takes_test_wallets && test_wallet::is_known(address)
    }

    fn look_up(
        &self,
        sent: Sent<'_>,
        ip: Option<IpAddr>,
        now_s: i64,
        generation: u64,
        accounts: &dyn Accounts,
    ) -> Result<Recognized, Fault> {
        let (text, identity, key, login) = match sent {
            Sent::Token(token) => {
                let (bearer, login) = self.read(token, now_s)?;
                let means = Means::Jwt { expires_at_s: bearer.expires_at_s };
                let identity = Identity { account: bearer.account, address: bearer.address, means };
                (token, identity, None, Some(login))
            }
            Sent::Key(text) => {
                let key = self.keys.find(text).filter(|key| !self.is_anybody(key.address()));
                let key = key.ok_or(Fault::Unauthorized)?;
                let means = Means::ApiKey { id: key.id() };
                (text, Identity { account: key.account(), address: *key.address(), means }, Some(key), None)
            }
        };
        let is_confirmed = match accounts.is_of(identity.account, &identity.address) {
            Some(false) => return Err(Fault::Unauthorized),
            known => known.is_some(),
        };
        let sent = Zeroizing::new(text.to_vec());
        Ok(Recognized { sent, ip, generation, identity, is_confirmed, key, login })
    }
}

/// 32 hex digits.
fn random_id() -> Result<Zeroizing<String>, RandomError> {
    let mut id = [0; 16];
    secret::fill(&mut id)?;
    Ok(Zeroizing::new(const_hex::encode(id)))
}

/// Where keys and secrets lie.
pub fn folder(data_dir: &Path) -> PathBuf {
    data_dir.join(FOLDER)
}

/// A credential of a request.
#[derive(Clone, Copy)]
enum Sent<'a> {
    Token(&'a [u8]),
    Key(&'a [u8]),
}

/// The login token of a request, as it was sent.
pub fn token(headers: &HeaderMap) -> Option<&[u8]> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(token.trim_ascii())
}

/// The credential of a request: the token counts where both are sent.
fn sent(headers: &HeaderMap) -> Option<Sent<'_>> {
    if let Some(token) = token(headers) {
        return Some(Sent::Token(token));
    }
    let is_empty = |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"bearer");
    match headers.get(API_KEY) {
        Some(value) => Some(Sent::Key(value.as_bytes())),
        // A token was announced, and there is none.
        None => headers.get(AUTHORIZATION).filter(|value| is_empty(value)).map(|_| Sent::Token(b"")),
    }
}

/// Credentials of one connection that are remembered.
const REMEMBERED: usize = 4;

/// The credentials that were good on a connection, the one looked up last first, so that its next request need not be looked
/// up. A few, because a program that trades for several accounts, or a proxy, sends them in turn.
#[derive(Default)]
pub struct Remembered(Vec<Recognized>);

/// A credential that was good.
struct Recognized {
    sent: Zeroizing<Vec<u8>>,
    ip: Option<IpAddr>,
    /// Changes of keys before the look-up: after a further one the key is looked up again.
    generation: u64,
    identity: Identity,
    /// Whether the account was known to be that of the wallet; who was recognized during recovery is looked up again.
    is_confirmed: bool,
    key: Option<Arc<ApiKey>>,
    /// Of a token.
    login: Option<Grant>,
}

impl Recognized {
    fn is_same(&self, sent: Sent<'_>, ip: Option<IpAddr>, generation: u64) -> bool {
        let (text, is_current) = match sent {
            Sent::Token(text) => (text, self.key.is_none()),
            Sent::Key(text) => (text, self.key.is_some() && self.generation == generation),
        };
        is_current && self.ip == ip && is_equal(&self.sent, text)
    }

    fn permitted(&self, permission: Permission) -> Result<Identity, Fault> {
        match &self.key {
            Some(key) if !key.permits(permission) => Err(Fault::Forbidden(match permission {
                Permission::Read => Denied::Read,
                Permission::Trade => Denied::Trade,
            })),
            _ => Ok(self.identity),
        }
    }
}

/// Whether two credentials are the same, in a time that tells nothing but their lengths: behind a proxy several clients may
/// share a connection. Eight bytes at a time, as every request of a connection is compared with all that it remembers.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let (words, rest) = one.as_chunks::<8>();
    let (other_words, other_rest) = other.as_chunks::<8>();
    let differs = words
        .iter()
        .zip(other_words)
        .fold(0, |differs, (word, other)| differs | (u64::from_ne_bytes(*word) ^ u64::from_ne_bytes(*other)));
    let is_same: bool = differs.ct_eq(&0).into();
    one.len() == other.len() && is_same & bool::from(rest.ct_eq(other_rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_equal_in_every_byte_or_not_at_all() {
        for len in [0, 1, 7, 8, 9, 64, 67] {
            let one: Vec<u8> = (0..len).map(|index| index as u8).collect();
            assert!(is_equal(&one, &one.clone()));
            assert!(!is_equal(&one, &[one.as_slice(), b"x"].concat()));
            for at in 0..one.len() {
                let mut other = one.clone();
                other[at] ^= 0x80;
                assert!(!is_equal(&one, &other), "{len} {at}");
            }
        }
    }
}
