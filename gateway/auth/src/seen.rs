//! Signatures of changes that were taken while their time lasts, so that none is taken twice (`refuse_replays`).
//!
//! A signed request counts until its timestamp and window are over; its signature is kept for so long, and a second request that
//! bears it is refused, however it is spelled and whichever thread has it. Nothing is kept over a restart: what was signed before it
//! is refused instead. Both hold whatever the clock does. A clock that was ahead and is put back finds requests whose signatures were
//! let go of already, and those are refused as late; and a start counts from the latest time that either clock or engine knew.

use super::signed::{AHEAD_MS, SignedRequest};
use parking_lot::Mutex;
use ringside_core::ids::AccountId;
use ringside_wire::fault::{Fault, SignatureError};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Signatures that are kept at once, at some 100 bytes each.
const KEPT_MAX: usize = 1 << 19;
/// Of these, so many of one account.
const OF_ACCOUNT_MAX: u32 = 1 << 14;

/// Half of a signature: as hard to meet by chance or by search as is needed.
type Mark = u128;

/// See the module.
#[derive(Debug)]
pub struct Seen(Mutex<Kept>);

#[derive(Debug)]
struct Kept {
    marks: HashSet<Mark>,
    /// When each is over, and whose it is.
    ends: BTreeSet<(i64, Mark, AccountId)>,
    of: HashMap<AccountId, u32>,
    /// The latest time at which signatures were let go of.
    passed_ms: i64,
    /// Requests signed before were perhaps taken before the start.
    since_ms: i64,
}

impl Default for Seen {
    fn default() -> Seen {
        let (marks, ends, of) = Default::default();
        Seen(Mutex::new(Kept { marks, ends, of, passed_ms: i64::MIN, since_ms: i64::MIN }))
    }
}

impl Seen {
    /// The exchange begins to take requests: at the later of the times that its clock and its engine know.
    pub fn begin(&self, now_ms: i64) {
        // What was taken just before may have been signed for so much later.
        self.0.lock().since_ms = now_ms.saturating_add(AHEAD_MS);
    }

    /// Takes a request whose signature was found to be right, once.
    pub fn take(&self, account: AccountId, request: &SignedRequest<'_>, now_ms: i64) -> Result<(), Fault> {
        let end_ms = request.end_ms();
        let (half, _) = request.signature().split_first_chunk().expect("a signature has 32 bytes");
        let mark = Mark::from_le_bytes(*half);
        let kept = &mut *self.0.lock();
        kept.pass(now_ms);
        if request.timestamp_ms() < kept.since_ms || end_ms < kept.passed_ms {
            return Err(Fault::SignatureError(SignatureError::Late));
        }
        if kept.marks.contains(&mark) {
            return Err(Fault::SignatureError(SignatureError::Replayed));
        }
        let of = kept.of.get(&account).copied().unwrap_or(0);
        if kept.marks.len() >= KEPT_MAX || of >= OF_ACCOUNT_MAX {
            return Err(Fault::Throttled);
        }
        kept.marks.insert(mark);
        kept.ends.insert((end_ms, mark, account));
        kept.of.insert(account, of + 1);
        Ok(())
    }
}

impl Kept {
    /// Lets go of what is over.
    fn pass(&mut self, now_ms: i64) {
        while let Some(&(end_ms, mark, account)) = self.ends.first()
            && end_ms < now_ms
        {
            self.ends.pop_first();
            self.marks.remove(&mark);
            match self.of.get_mut(&account) {
                Some(count) if *count > 1 => *count -= 1,
                _ => {
                    self.of.remove(&account);
                }
            }
        }
        self.passed_ms = self.passed_ms.max(now_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::super::signed::Signer;
    use super::*;

    const NOW_MS: i64 = 1_700_000_000_000;

    fn take(
        seen: &Seen,
        account: AccountId,
        number: u32,
        sent: (i64, i64),
        now_ms: i64,
    ) -> Result<(), Fault> {
        let (timestamp_ms, window_ms) = sent;
        let query = format!("n={number}&recvWindow={window_ms}&timestamp={timestamp_ms}");
        let signature = const_hex::encode(Signer::new(b"secret").sign(query.as_bytes()));
        let query = format!("{query}&signature={signature}");
        let request = SignedRequest::read(&query, b"").unwrap();
        seen.take(account, &request, now_ms)
    }

    const LATE: Result<(), Fault> = Err(Fault::SignatureError(SignatureError::Late));
    const REPLAYED: Result<(), Fault> = Err(Fault::SignatureError(SignatureError::Replayed));

    /// Ten thousand captures, each sent again from at once to twice its window later.
    #[test]
    fn a_capture_has_no_second_effect_at_any_time() {
        let seen = Seen::default();
        seen.begin(NOW_MS - 60_000);
        let mut again = Vec::new();
        for number in 0..10_000_u32 {
            let now_ms = NOW_MS + i64::from(number) * 3;
            let window_ms = i64::from(number % 60 + 1) * 1_000;
            let timestamp_ms = now_ms - i64::from(number % 7) * 150 + 900;
            assert_eq!(take(&seen, number % 5, number, (timestamp_ms, window_ms), now_ms), Ok(()));
            again.push((now_ms + window_ms * i64::from(number % 21) / 10, number, timestamp_ms, window_ms));
        }
        again.sort_unstable();
        // The last was taken; nobody asks in the past.
        let last_ms = NOW_MS + 30_000;
        let (mut replayed, mut late) = (0, 0);
        for (at_ms, number, timestamp_ms, window_ms) in again {
            let found = take(&seen, number % 5, number, (timestamp_ms, window_ms), at_ms.max(last_ms));
            replayed += usize::from(found == REPLAYED);
            late += usize::from(found == LATE);
        }
        assert_eq!(replayed + late, 10_000, "{replayed} and {late}");
        assert!(replayed > 1_000 && late > 1_000, "{replayed} and {late}");
        assert_eq!(take(&seen, 1, 1, (NOW_MS + 900_000, 5_000), NOW_MS + 900_000), Ok(()));
        assert_eq!(seen.0.lock().marks.len(), 1, "what is over is let go of");
    }

    #[test]
    fn a_clock_that_is_put_back_brings_none_back() {
        let seen = Seen::default();
        seen.begin(NOW_MS - 60_000);
        assert_eq!(take(&seen, 1, 1, (NOW_MS, 5_000), NOW_MS), Ok(()));
        // The clock runs ahead, and the signature is let go of; then it is put right.
        assert_eq!(take(&seen, 1, 2, (NOW_MS + 50_000, 5_000), NOW_MS + 50_000), Ok(()));
        assert_eq!(take(&seen, 1, 1, (NOW_MS, 5_000), NOW_MS + 1_000), LATE);
        assert_eq!(take(&seen, 1, 2, (NOW_MS + 50_000, 5_000), NOW_MS + 49_500), REPLAYED);
    }

    #[test]
    fn what_was_signed_before_a_start_is_refused_after_it() {
        let seen = Seen::default();
        seen.begin(NOW_MS);
        for (timestamp_ms, expected) in
            [(NOW_MS - 1, LATE), (NOW_MS, LATE), (NOW_MS + 999, LATE), (NOW_MS + 1_000, Ok(()))]
        {
            assert_eq!(take(&seen, 1, 1, (timestamp_ms, 60_000), NOW_MS + 1_000), expected, "{timestamp_ms}");
        }
    }

    #[test]
    fn memory_is_bounded_and_one_account_does_not_take_it_all() {
        let seen = Seen::default();
        seen.begin(NOW_MS - 60_000);
        let mut taken = 0;
        for number in 0..OF_ACCOUNT_MAX + 10 {
            taken += u32::from(take(&seen, 1, number, (NOW_MS, 60_000), NOW_MS).is_ok());
        }
        assert_eq!(taken, OF_ACCOUNT_MAX);
        assert_eq!(take(&seen, 1, u32::MAX, (NOW_MS, 60_000), NOW_MS), Err(Fault::Throttled));
        assert_eq!(take(&seen, 1, 7, (NOW_MS, 60_000), NOW_MS), REPLAYED, "what is known stays known");
        assert_eq!(take(&seen, 2, u32::MAX, (NOW_MS, 60_000), NOW_MS), Ok(()));
        // With its window each goes.
        assert_eq!(take(&seen, 1, u32::MAX - 1, (NOW_MS + 60_001, 1_000), NOW_MS + 60_001), Ok(()));
    }
}
