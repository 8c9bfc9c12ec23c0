//! Events of accounts that are kept for clients who come back: which, how long, and where each stands in the venue's order.
//!
//! **Numbers.** An event's number is the sequence of its command times [`PLACES`], and its place among what the command tells its
//! account: the same whoever listens, after a restart, and on every host. Where there are more than that, they run on. A client
//! whose numbers are doubles holds them exactly through 2 x 10^12 commands.
//!
//! **What is kept.** From the first subscription with `resume` on, everything its account is told, on every channel: for a day, at most
//! [`EVENTS_MAX`] events and [`LEN_MAX`] bytes of an account and [`LEN_IN_ALL`] in all, the oldest going first. It ends a day after
//! the last such client left. Whoever asks for what has gone is told so.
//!
//! All of it is in memory. Steps are noted for whoever writes them down ([`KeptEvents::take_changes`]), so that a start finds them
//! again; what was not written down yet is made again of the commands that the start replays.

use super::topic::Kind;
use ringside_core::ids::{AccountId, Sequence};
use ringside_views::hash::NumberMap;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

/// Places of one command's events.
pub const PLACES: u64 = 4_096;
/// How long events are kept, and accounts after their last client left, in milliseconds.
pub const KEPT_MS: i64 = 24 * 3_600_000;
/// Events of an account.
pub const EVENTS_MAX: usize = 4_096;
/// Bytes of them.
pub const LEN_MAX: usize = 2 << 20;
/// Bytes of all accounts.
pub const LEN_IN_ALL: usize = 128 << 20;
/// Accounts; of more the one that was left first goes.
pub const ACCOUNTS_MAX: usize = 65_536;
/// Bytes of steps that may wait to be written down.
const CHANGES_LEN_MAX: usize = 64 << 20;
/// What an event takes beside its text.
const OVERHEAD: usize = 96;
/// So many events gone, and it is written down that they are.
const GONE_EACH: u32 = 256;

/// The last number that an event of a command may have.
pub fn through(sequence: Sequence) -> u64 {
    sequence.saturating_mul(PLACES).saturating_add(PLACES - 1)
}

/// An event that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptEvent {
    /// Its place in the venue's order.
    pub number: u64,
    /// Engine time of its command, UNIX milliseconds.
    pub time_ms: i64,
    /// Where it goes: [`bit`]s.
    pub topics: u16,
    /// `type` of its frames, `e` of a bare one.
    pub name: Cow<'static, str>,
    /// What it says.
    pub data: Arc<str>,
}

impl KeptEvent {
    fn len(&self) -> usize {
        self.data.len() + OVERHEAD
    }
}

/// The bit of a kind of topics of an account; 0 of another. They are on disk.
pub const fn bit(kind: Kind) -> u16 {
    match kind {
        Kind::UserOrders => 1,
        Kind::UserBalances => 2,
        Kind::UserData => 4,
        Kind::AccountEvents => 8,
        Kind::AccountOrders => 16,
        Kind::AccountPositions => 32,
        Kind::AccountBalances => 64,
        Kind::AccountTier => 128,
        _ => 0,
    }
}

/// A step, to be written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptChange {
    /// Everything of the account behind this number is kept, and nothing before.
    Keep(AccountId, u64),
    /// It is no longer kept.
    Forget(AccountId),
    /// An event.
    Event(AccountId, KeptEvent),
}

/// See the module.
#[derive(Debug, Default)]
pub struct KeptEvents {
    accounts: NumberMap<AccountId, Account>,
    /// Every event, oldest first; some may be gone already.
    order: VecDeque<(i64, AccountId, u64)>,
    /// Accounts that were left, and when; some have come back.
    left: VecDeque<(i64, AccountId)>,
    len: usize,
    changes: Vec<KeptChange>,
    changes_len: usize,
    /// Nobody writes down, or not fast enough.
    is_unwritten: bool,
    /// All numbers up to it are in.
    through: u64,
}

#[derive(Debug, Default)]
struct Account {
    events: VecDeque<KeptEvent>,
    len: usize,
    /// Everything behind it is here.
    since: u64,
    listeners: usize,
    /// When the last of them left.
    left_ms: i64,
    /// Events gone since that was last written down.
    gone: u32,
}

impl KeptEvents {
    /// Those of an earlier life, which had everything through the command `mark`. Everyone has left, now.
    pub fn restored(
        accounts: &[(AccountId, u64)],
        events: impl IntoIterator<Item = (AccountId, KeptEvent)>,
        mark: Sequence,
        now_ms: i64,
    ) -> KeptEvents {
        let mut kept = KeptEvents { through: through(mark), ..KeptEvents::default() };
        for (account, since) in accounts {
            kept.accounts.insert(*account, Account { since: *since, left_ms: now_ms, ..Account::default() });
            kept.left.push_back((now_ms, *account));
        }
        events.into_iter().for_each(|(account, event)| kept.add(account, event));
        kept.trim(now_ms);
        kept
    }

    /// Accounts that are kept.
    pub fn len(&self) -> usize {
        self.accounts.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.accounts.is_empty()
    }

    /// All that are.
    pub fn accounts(&self) -> impl Iterator<Item = AccountId> {
        self.accounts.keys().copied()
    }

    /// Whether this one is.
    pub fn has(&self, account: AccountId) -> bool {
        self.accounts.contains_key(&account)
    }

    /// Takes the events of commands that end with `sequence`; ones that it has already are passed over.
    pub fn put(
        &mut self,
        events: impl IntoIterator<Item = (AccountId, KeptEvent)>,
        sequence: Sequence,
        now_ms: i64,
    ) {
        for (account, event) in events {
            let Some(known) = self.accounts.get_mut(&account) else { continue };
            if event.number <= known.since.max(known.events.back().map_or(0, |last| last.number)) {
                continue;
            }
            self.note(event.len(), || KeptChange::Event(account, event.clone()));
            self.add(account, event);
        }
        self.through = self.through.max(through(sequence));
        self.trim(now_ms);
    }

    /// Everything up to a command is missing.
    pub fn miss(&mut self, sequence: Sequence) {
        let accounts: Vec<AccountId> = self.accounts().collect();
        for account in accounts {
            self.gone(account, through(sequence));
            self.tell_gone(account);
        }
        self.through = self.through.max(through(sequence));
    }

    /// A client listens to an account; everything through `sequence` was noted before. Gives whether the account is new here.
    pub fn enter(&mut self, account: AccountId, sequence: Sequence) -> bool {
        let mut is_new = false;
        let known = self.accounts.entry(account).or_insert_with(|| {
            is_new = true;
            Account { since: through(sequence), ..Account::default() }
        });
        known.listeners += 1;
        if is_new {
            self.note(OVERHEAD, || KeptChange::Keep(account, through(sequence)));
        }
        is_new
    }

    /// A client has left.
    pub fn leave(&mut self, account: AccountId, now_ms: i64) {
        let Some(known) = self.accounts.get_mut(&account) else { return };
        known.listeners = known.listeners.saturating_sub(1);
        if known.listeners == 0 {
            known.left_ms = now_ms;
            self.left.push_back((now_ms, account));
        }
    }

    /// What a topic was told behind a number, if all of it is here, and the number behind which it is told live; `sequence` is the last
    /// command that was noted.
    pub fn behind(
        &self,
        account: AccountId,
        kind: Kind,
        number: u64,
        sequence: Sequence,
    ) -> Option<(Vec<KeptEvent>, u64)> {
        let known = self.accounts.get(&account)?;
        let last = known.events.back().map_or(0, |last| last.number);
        if number < known.since || number > through(sequence).max(last) {
            return None;
        }
        let first = known.events.partition_point(|event| event.number <= number);
        let events = known.events.range(first..).filter(|event| event.topics & bit(kind) != 0);
        Some((events.cloned().collect(), number.max(self.through)))
    }

    /// Accounts whose time is over, out of here now.
    pub fn take_expired(&mut self, now_ms: i64) -> Vec<AccountId> {
        let mut expired = Vec::new();
        while let Some((left_ms, account)) = self.left.front().copied()
            && (left_ms + KEPT_MS <= now_ms || self.accounts.len() > ACCOUNTS_MAX)
        {
            self.left.pop_front();
            let is_over = |known: &Account| known.listeners == 0 && known.left_ms == left_ms;
            if self.accounts.get(&account).is_some_and(is_over)
                && let Some(known) = self.accounts.remove(&account)
            {
                self.len -= known.len;
                self.note(OVERHEAD, || KeptChange::Forget(account));
                expired.push(account);
            }
        }
        expired
    }

    /// Takes the steps since the last call, and the command that they go through. `None` once some were lost: then nothing that
    /// follows may be written down.
    pub fn take_changes(&mut self) -> Option<(Vec<KeptChange>, Sequence)> {
        if self.is_unwritten {
            return None;
        }
        self.changes_len = 0;
        Some((std::mem::take(&mut self.changes), self.through / PLACES))
    }

    /// Nobody writes down any more.
    pub fn stop_writing(&mut self) {
        self.is_unwritten = true;
        (self.changes, self.changes_len) = (Vec::new(), 0);
    }

    fn add(&mut self, account: AccountId, event: KeptEvent) {
        let Some(known) = self.accounts.get_mut(&account) else { return };
        let (len, number) = (event.len(), event.number);
        self.order.push_back((event.time_ms, account, number));
        known.events.push_back(event);
        known.len += len;
        self.len += len;
        let over = |known: &Account| known.events.len() > EVENTS_MAX || known.len > LEN_MAX;
        while let Some(first) = self.accounts.get(&account).filter(|known| over(known))
            && let Some(number) = first.events.front().map(|first| first.number)
        {
            self.gone(account, number);
        }
    }

    /// Lets go of what is too old, or too much in all.
    fn trim(&mut self, now_ms: i64) {
        while let Some((time_ms, account, number)) = self.order.front().copied()
            && (time_ms + KEPT_MS <= now_ms || self.len > LEN_IN_ALL || self.is_gone(account, number))
        {
            self.order.pop_front();
            if !self.is_gone(account, number) {
                self.gone(account, number);
            }
        }
    }

    fn is_gone(&self, account: AccountId, number: u64) -> bool {
        self.accounts.get(&account).is_none_or(|known| known.since >= number)
    }

    /// An account's events up to a number are no longer here.
    fn gone(&mut self, account: AccountId, number: u64) {
        let Some(known) = self.accounts.get_mut(&account) else { return };
        known.since = known.since.max(number);
        while let Some(first) = known.events.front().filter(|first| first.number <= number) {
            let len = first.len();
            known.events.pop_front();
            known.len -= len;
            self.len -= len;
            known.gone += 1;
        }
        if known.gone >= GONE_EACH {
            self.tell_gone(account);
        }
    }

    /// Has it written down how much of an account is gone.
    fn tell_gone(&mut self, account: AccountId) {
        let Some(known) = self.accounts.get_mut(&account) else { return };
        known.gone = 0;
        let since = known.since;
        self.note(OVERHEAD, || KeptChange::Keep(account, since));
    }

    fn note(&mut self, len: usize, change: impl FnOnce() -> KeptChange) {
        if self.is_unwritten {
            return;
        }
        self.changes_len += len;
        self.changes.push(change());
        if self.changes_len > CHANGES_LEN_MAX {
            self.stop_writing();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_700_000_000_000;

    fn event(sequence: Sequence, place: u64, time_ms: i64, len: usize) -> KeptEvent {
        let (number, name) = (sequence * PLACES + place, Cow::Borrowed("x"));
        KeptEvent { number, time_ms, topics: bit(Kind::UserData), name, data: "d".repeat(len).into() }
    }

    fn numbers(kept: &KeptEvents, kind: Kind, number: u64, sequence: Sequence) -> Option<Vec<u64>> {
        let (events, _) = kept.behind(7, kind, number, sequence)?;
        Some(events.iter().map(|event| event.number).collect())
    }

    #[test]
    fn what_is_behind_a_number_is_given_whole_or_not_at_all() {
        let mut kept = KeptEvents::default();
        kept.put([(7, event(9, 0, NOW_MS, 1))], 9, NOW_MS);
        assert_eq!(kept.behind(7, Kind::UserData, through(9), 9), None, "nobody has asked");
        assert!(kept.enter(7, 10) && !kept.enter(7, 10));
        kept.put(
            [(7, event(10, 4, NOW_MS, 1)), (7, event(11, 0, NOW_MS, 1)), (7, event(11, 1, NOW_MS, 1))],
            11,
            NOW_MS,
        );
        kept.put([(7, event(11, 1, NOW_MS, 1)), (8, event(12, 0, NOW_MS, 1))], 12, NOW_MS);
        let first = 11 * PLACES;
        assert_eq!(numbers(&kept, Kind::UserData, through(10), 12), Some(vec![first, first + 1]));
        assert_eq!(numbers(&kept, Kind::AccountOrders, through(10), 12), Some(vec![]), "not told there");
        assert_eq!(numbers(&kept, Kind::UserData, first, 12), Some(vec![first + 1]));
        assert_eq!(numbers(&kept, Kind::UserData, through(12), 12), Some(vec![]));
        assert_eq!(numbers(&kept, Kind::UserData, through(12) + 1, 12), None, "of the future");
        assert_eq!(numbers(&kept, Kind::UserData, through(10) - 1, 12), None, "before it was kept");
        // More of a command than there are places for: its numbers run on into those of the next.
        kept.put([(7, event(13, PLACES + 9, NOW_MS, 1))], 13, NOW_MS);
        assert_eq!(numbers(&kept, Kind::UserData, through(13), 13), Some(vec![14 * PLACES + 9]));
        assert_eq!(numbers(&kept, Kind::UserData, 14 * PLACES + 9, 13), Some(vec![]));
        assert_eq!(numbers(&kept, Kind::UserData, 14 * PLACES + 10, 13), None, "of the future");
    }

    #[test]
    fn what_is_old_or_too_much_goes_and_so_does_who_stays_away() {
        let mut kept = KeptEvents::default();
        kept.enter(7, 0);
        kept.put([(7, event(1, 0, NOW_MS, 1))], 1, NOW_MS);
        kept.put([(7, event(2, 0, NOW_MS + 1, 1))], 2, NOW_MS + KEPT_MS);
        assert_eq!(numbers(&kept, Kind::UserData, PLACES, 2), Some(vec![2 * PLACES]));
        assert_eq!(numbers(&kept, Kind::UserData, PLACES - 1, 2), None, "a day old");
        for sequence in 3..(5 + EVENTS_MAX as u64) {
            kept.put([(7, event(sequence, 0, NOW_MS + 2, 1))], sequence, NOW_MS + 2);
        }
        let last = 4 + EVENTS_MAX as u64;
        assert_eq!(numbers(&kept, Kind::UserData, 4 * PLACES, last).map(|all| all.len()), Some(EVENTS_MAX));
        assert_eq!(numbers(&kept, Kind::UserData, 4 * PLACES - 1, last), None, "too many");
        kept.put([(7, event(last + 1, 0, NOW_MS + 3, LEN_MAX))], last + 1, NOW_MS + 3);
        assert_eq!(numbers(&kept, Kind::UserData, last * PLACES, last + 1), None, "too long");
        assert_eq!((kept.len, kept.accounts[&7].len), (0, 0));
        kept.leave(7, NOW_MS);
        kept.enter(7, last);
        assert_eq!(kept.take_expired(NOW_MS + KEPT_MS), [0; 0], "it has come back");
        kept.leave(7, NOW_MS + 5);
        assert_eq!(kept.take_expired(NOW_MS + 4 + KEPT_MS), [0; 0]);
        assert_eq!(kept.take_expired(NOW_MS + 5 + KEPT_MS), [7]);
        assert!(kept.is_empty());
    }

    #[test]
    fn what_was_written_down_is_the_same_in_another_life() {
        let mut kept = KeptEvents::default();
        kept.enter(7, 0);
        let put = |kept: &mut KeptEvents, sequence| {
            kept.put([(7, event(sequence, 0, NOW_MS, 1))], sequence, NOW_MS)
        };
        (1..=600).for_each(|sequence| put(&mut kept, sequence));
        let (changes, mark) = kept.take_changes().expect("all is written");
        let (mut accounts, mut events) = (Vec::new(), Vec::new());
        for change in changes {
            match change {
                KeptChange::Keep(account, since) => accounts.push((account, since)),
                KeptChange::Event(account, event) => events.push((account, event)),
                KeptChange::Forget(_) => panic!("nobody left"),
            }
        }
        assert_eq!((mark, events.len(), &accounts[..]), (600, 600, &[(7, through(0))][..]));
        let mut again = KeptEvents::restored(&accounts, events, mark, NOW_MS);
        // The start replays from a snapshot before the mark on.
        (590..=610).for_each(|sequence| put(&mut again, sequence));
        (601..=610).for_each(|sequence| put(&mut kept, sequence));
        for number in [through(0), 300 * PLACES, 605 * PLACES] {
            let expected = numbers(&kept, Kind::UserData, number, 610);
            assert!(
                expected.is_some() && numbers(&again, Kind::UserData, number, 610) == expected,
                "{number}"
            );
        }
        // A snapshot after the mark: what lies between is made by nobody.
        again.miss(620);
        assert_eq!(numbers(&again, Kind::UserData, 610 * PLACES, 620), None);
        assert_eq!(numbers(&again, Kind::UserData, through(620), 620), Some(vec![]));
    }
}
