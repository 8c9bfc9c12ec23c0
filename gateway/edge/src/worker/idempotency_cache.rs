//! Idempotency keys as the gateway sees them: which placement is running, and which refusals it gave by itself.
//!
//! What the engine answered is remembered by the engine and the views, and survives a restart. What the gateway refused
//! before the engine saw it changed nothing; it is kept here, in memory, so that a retry reads the same answer.

use bytes::Bytes;
use parking_lot::Mutex;
use ringside_core::ids::AccountId;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::{Duration, Instant};

/// How long a refusal is kept.
const KEPT: Duration = Duration::from_secs(24 * 3600);
/// Most refusals kept. Above that the account that has most loses its oldest, so that nobody pushes out another's who has fewer.
/// Losing one costs nobody an order: it never took effect.
const REFUSALS_MAX: usize = 1 << 16;
/// Longest that is kept, bytes, so that their number bounds their memory. What is refused at more length is judged again.
const REFUSAL_LEN_MAX: usize = 512;

/// A key and a body as the engine takes them: 64 bits of a hash, never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keyed {
    /// Account id.
    pub account: AccountId,
    /// The key, scoped to the route.
    pub key: u64,
    /// The request's body.
    pub body: u64,
}

impl Keyed {
    /// Of a key sent to `route` with `body`. The hash is fixed for good: it stands in journals.
    pub fn new(account: AccountId, route: &str, key: &str, body: &[u8]) -> Keyed {
        let short = |parts: [&[u8]; 3]| {
            let mut hash = Sha256::new();
            parts.iter().for_each(|part| hash.update(part));
            let digest = hash.finalize();
            let mut short = [0; 8];
            short.copy_from_slice(&digest[..8]);
            u64::from_le_bytes(short).max(1)
        };
        Keyed {
            account,
            key: short([route.as_bytes(), b"\0", key.as_bytes()]),
            body: short([body, b"", b""]),
        }
    }
}

/// What is known of a key.
pub enum Known<'a> {
    /// Nothing; it is running now, until the claim is dropped.
    Fresh(Claim<'a>),
    /// A request with it is running, or one with another body was refused.
    Conflict,
    /// The same request was refused before, with this status and body.
    Refused(u16, Bytes),
}

/// Keys in use. Locked for a lookup at a time, and only by requests that carry a key.
#[derive(Default)]
pub struct IdempotencyCache(Mutex<Table>);

#[derive(Default)]
struct Table {
    entries: HashMap<(AccountId, u64), Entry>,
    /// Refusals by number, which is in order of time: when, whose and of which key.
    refused: BTreeMap<u64, (Instant, AccountId, u64)>,
    /// Number of the next.
    next: u64,
    /// The numbers of each account's, oldest first.
    accounts: HashMap<AccountId, VecDeque<u64>>,
    /// How many each account has, least first.
    counts: BTreeSet<(usize, AccountId)>,
}

struct Entry {
    body: u64,
    state: State,
}

enum State {
    Running,
    Refused(u16, Bytes),
}

impl IdempotencyCache {
    /// Takes the key for a request that begins now, or says why not.
    pub fn claim(&self, keyed: Keyed) -> Known<'_> {
        let table = &mut *self.0.lock();
        table.forget(Instant::now());
        match table.entries.get(&(keyed.account, keyed.key)) {
            None => {}
            Some(Entry { body, state: State::Refused(status, answer) }) if *body == keyed.body => {
                return Known::Refused(*status, answer.clone());
            }
            Some(_) => return Known::Conflict,
        }
        table.entries.insert((keyed.account, keyed.key), Entry { body: keyed.body, state: State::Running });
        Known::Fresh(Claim { replays: self, keyed })
    }
}

impl Table {
    fn forget(&mut self, now: Instant) {
        while let Some(&(since, account, _)) = self.refused.values().next()
            && now.duration_since(since) >= KEPT
        {
            self.forget_oldest(account);
        }
        while self.refused.len() > REFUSALS_MAX
            && let Some(&(_, account)) = self.counts.last()
        {
            self.forget_oldest(account);
        }
    }

    /// Forgets the oldest refusal of an account that has one.
    fn forget_oldest(&mut self, account: AccountId) {
        let own = self.accounts.get_mut(&account).expect("it has one");
        self.counts.remove(&(own.len(), account));
        let number = own.pop_front().expect("it has one");
        if own.is_empty() {
            self.accounts.remove(&account);
        } else {
            self.counts.insert((own.len(), account));
        }
        let (.., key) = self.refused.remove(&number).expect("each number has its refusal");
        self.entries.remove(&(account, key));
    }

    fn refuse(&mut self, Keyed { account, key, body }: Keyed, status: u16, answer: Bytes) {
        self.entries.insert((account, key), Entry { body, state: State::Refused(status, answer) });
        let number = self.next;
        self.next += 1;
        self.refused.insert(number, (Instant::now(), account, key));
        let own = self.accounts.entry(account).or_default();
        self.counts.remove(&(own.len(), account));
        own.push_back(number);
        self.counts.insert((own.len(), account));
    }
}

/// A key in use by a running request.
pub struct Claim<'a> {
    replays: &'a IdempotencyCache,
    keyed: Keyed,
}

impl Claim<'_> {
    /// The request is over, refused without the engine: a retry gets this answer.
    pub fn refused(self, status: u16, answer: Bytes) {
        if answer.len() <= REFUSAL_LEN_MAX {
            self.replays.0.lock().refuse(self.keyed, status, answer);
        }
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let place = (self.keyed.account, self.keyed.key);
        let table = &mut *self.replays.0.lock();
        if table.entries.get(&place).is_some_and(|entry| matches!(entry.state, State::Running)) {
            table.entries.remove(&place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyed(key: &str, body: &[u8]) -> Keyed {
        Keyed::new(1, "orders", key, body)
    }

    #[test]
    fn hashes_are_fixed_and_tell_keys_routes_and_bodies_apart() {
        // The first 8 bytes, little-endian, of SHA-256 of "orders\0k" and of "{}".
        let known = Keyed::new(1, "orders", "k", b"{}");
        assert_eq!((known.key, known.body), (0x19d1_559d_0cf2_fbdd, 0x8a67_b355_a36f_1344));
        assert_ne!(known.key, Keyed::new(1, "order", "sk", b"{}").key);
        assert_ne!(known.body, Keyed::new(1, "orders", "k", b"{} ").body);
    }

    #[test]
    fn a_key_runs_once_at_a_time() {
        let replays = IdempotencyCache::default();
        let Known::Fresh(claim) = replays.claim(keyed("a", b"1")) else { panic!("it is new") };
        assert!(matches!(replays.claim(keyed("a", b"1")), Known::Conflict));
        assert!(matches!(replays.claim(keyed("a", b"2")), Known::Conflict));
        assert!(matches!(replays.claim(keyed("b", b"1")), Known::Fresh(_)));
        drop(claim);
        assert!(matches!(replays.claim(keyed("a", b"2")), Known::Fresh(_)));
        assert!(replays.0.lock().entries.is_empty());
    }

    #[test]
    fn a_refusal_is_repeated_to_the_same_body_only() {
        let replays = IdempotencyCache::default();
        let Known::Fresh(claim) = replays.claim(keyed("a", b"1")) else { panic!("it is new") };
        claim.refused(400, Bytes::from_static(b"no"));
        assert!(matches!(replays.claim(keyed("a", b"1")), Known::Refused(400, answer) if answer == "no"));
        assert!(matches!(replays.claim(keyed("a", b"2")), Known::Conflict));
        let table = &mut *replays.0.lock();
        table.forget(Instant::now());
        assert_eq!(table.entries.len(), 1);
        table.forget(Instant::now() + KEPT);
        assert!(table.entries.is_empty() && table.refused.is_empty());
        assert!(table.accounts.is_empty() && table.counts.is_empty());
    }

    #[test]
    fn what_is_refused_at_length_is_not_kept() {
        let replays = IdempotencyCache::default();
        for (len, is_kept) in [(REFUSAL_LEN_MAX, true), (REFUSAL_LEN_MAX + 1, false)] {
            let keyed = keyed(&len.to_string(), b"1");
            let Known::Fresh(claim) = replays.claim(keyed) else { panic!("it is new") };
            claim.refused(400, Bytes::from(vec![b'n'; len]));
            assert_eq!(matches!(replays.claim(keyed), Known::Refused(..)), is_kept, "{len}");
        }
    }

    /// Whoever sends refusals without end pushes out their own.
    #[test]
    fn the_account_with_most_refusals_loses_its_oldest_first() {
        let replays = IdempotencyCache::default();
        let refuse = |account: AccountId, key: usize| {
            let keyed = Keyed::new(account, "orders", &key.to_string(), b"1");
            let Known::Fresh(claim) = replays.claim(keyed) else { panic!("it is new") };
            claim.refused(400, Bytes::from_static(b"no"));
        };
        let is_kept = |account: AccountId, key: usize| {
            let keyed = Keyed::new(account, "orders", &key.to_string(), b"1");
            matches!(replays.claim(keyed), Known::Refused(..))
        };
        refuse(1, 0);
        (0..REFUSALS_MAX + 3).for_each(|key| refuse(2, key));
        refuse(1, 1);
        assert!(is_kept(1, 0) && is_kept(1, 1));
        // Two of them are another's.
        assert!(!is_kept(2, 4) && is_kept(2, 5) && is_kept(2, REFUSALS_MAX + 2));
        assert_eq!(replays.0.lock().entries.len(), REFUSALS_MAX);
    }
}
