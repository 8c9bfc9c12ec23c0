//! What became of each placement that carried an idempotency key, so that a retry is answered as the first try was.
//!
//! The engine decides whether a key counts as used (it knows body and age); this view only remembers the outcome, an
//! hour longer than the engine remembers the key, so that whatever the engine calls a replay is found here.
//!
//! An account may bring millions of keys in a day, so an outcome is kept as the bytes in which it differs from its neighbours:
//! about 45 for an order that rests, and 50 for each of its trades.

use super::codec::{LoadError, Reader, Writer};
use super::hash::NumberMap;
use super::perpetual::order::OrderRecord;
use crate::perpetual::order::OrderV2;
use crate::stored::{layouts, stored};
use ringside_core::event::{self, Event};
use ringside_core::hash_seed::HashSeed;
use ringside_core::ids::{AccountId, Sequence};
use ringside_core::numbered::{Numbered, Rows, key_of};
use ringside_core::reject::Reject;
use std::collections::VecDeque;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

/// How long outcomes are kept: the engine's 24 hours and one more.
const KEPT_NS: i64 = 25 * 3600 * 1_000_000_000;
/// Bytes of a chunk from which on the next outcome opens another: less than an offset in it can say.
const CHUNK_LEN: usize = 60_000;

/// What a placement came to: everything its reply is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The command.
    pub sequence: Sequence,
    /// Its time, nanoseconds of the UNIX epoch.
    pub time_ns: i64,
    /// The refusal, if it was one.
    pub reject: Option<Reject>,
    /// The order as placed; `None` for a refusal that stores none.
    pub order: Option<event::Order>,
    /// Its trades, in order.
    pub trades: Box<[event::Trade]>,
    /// The order as a placement on the perpetual side left it.
    pub perpetual: Option<OrderRecord>,
}

/// An order of the perpetual side, as a placement with a key left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyedOrder {
    /// The command.
    pub sequence: Sequence,
    /// Its time, nanoseconds of the UNIX epoch.
    pub time_ns: i64,
    /// The order after the command.
    pub order: OrderRecord,
}

/// Outcomes by (account, key).
#[derive(Debug)]
pub struct IdempotencyView {
    log: Log,
    /// Orders of the perpetual side, by the sequence of their commands.
    orders: VecDeque<KeyedOrder>,
    /// Nothing in views that only pass outcomes on.
    found: Option<Found>,
}

/// What outcomes are found by.
#[derive(Debug)]
struct Found {
    /// The latest outcome of each account and key.
    latest: Numbered,
    /// Outcomes in the log, by account.
    accounts: NumberMap<AccountId, u32>,
}

impl Default for IdempotencyView {
    fn default() -> IdempotencyView {
        IdempotencyView::new(true)
    }
}

impl IdempotencyView {
    /// No outcomes. Only views that somebody asks find them again; all save them.
    pub(super) fn new(is_asked: bool) -> IdempotencyView {
        let found = || Found { latest: Numbered::new(0, HashSeed::random()), accounts: NumberMap::default() };
        IdempotencyView { log: Log::default(), orders: VecDeque::new(), found: is_asked.then(found) }
    }

    /// What the placement with this key came to.
    pub fn outcome(&self, account: AccountId, key: u64) -> Option<Outcome> {
        let outcome = self.log.outcome(self.number(account, key)?);
        let order = self.orders.binary_search_by_key(&outcome.sequence, |order| order.sequence);
        Some(Outcome { perpetual: order.ok().map(|place| self.orders[place].order), ..outcome })
    }

    /// When the placement with this key was carried out or refused, nanoseconds of the UNIX epoch.
    pub fn time_ns(&self, account: AccountId, key: u64) -> Option<i64> {
        Some(self.log.head(self.number(account, key)?).time_ns)
    }

    fn number(&self, account: AccountId, key: u64) -> Option<u64> {
        let is_it = |number| self.log.is_of(number, account, key);
        self.found.as_ref()?.latest.find(key_of(account, key), &self.log, is_it)
    }

    /// How many outcomes are kept.
    pub fn len(&self) -> usize {
        (self.log.next - self.log.first) as usize
    }

    /// How many of them are this account's.
    pub fn len_of(&self, account: AccountId) -> usize {
        self.found.as_ref().and_then(|found| found.accounts.get(&account)).map_or(0, |count| *count as usize)
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the end of a command that carried a key, with what it did on the spot side, or the order that it left on the
    /// perpetual side.
    pub(super) fn done(
        &mut self,
        event: &Event,
        done: &event::Done,
        (order, trades): (Option<&event::Order>, &[event::Trade]),
        perpetual: Option<&OrderRecord>,
    ) {
        let reject = done.rejected();
        let is_unused = |reject: Reject| {
            matches!(reject, Reject::Duplicate | Reject::IdempotencyReplay | Reject::IdempotencyConflict)
                || reject.is_temporary()
        };
        if reject.is_some_and(is_unused) {
            return;
        }
        let (sequence, time_ns) = (event.sequence, event.time_ns);
        let head = Head { account: done.account, key: done.idempotency_key, sequence, time_ns };
        self.put(head, reject, order, trades);
        self.orders.extend(perpetual.map(|order| KeyedOrder { sequence, time_ns, order: *order }));
    }

    fn put(
        &mut self,
        head: Head,
        reject: Option<Reject>,
        order: Option<&event::Order>,
        trades: &[event::Trade],
    ) {
        let Head { account, key, .. } = head;
        let number = self.log.push(head, reject, order, trades);
        if let Some(Found { latest, accounts }) = &mut self.found {
            latest.put(key_of(account, key), number, &self.log, |other| self.log.is_of(other, account, key));
            *accounts.entry(account).or_default() += 1;
        }
    }

    /// Forgets what is older than it must be kept.
    pub(super) fn advance(&mut self, now_ns: i64) {
        while self.log.oldest_ns <= now_ns.saturating_sub(KEPT_NS) && !self.is_empty() {
            let Head { account, key, .. } = self.log.head(self.log.first);
            if let Some(Found { latest, accounts }) = &mut self.found {
                latest.remove(key_of(account, key), self.log.first, &self.log);
                if let Some(count) = accounts.get_mut(&account) {
                    *count -= 1;
                    if *count == 0 {
                        accounts.remove(&account);
                    }
                }
            }
            self.log.pop();
        }
        while self.orders.front().is_some_and(|order| order.time_ns <= now_ns.saturating_sub(KEPT_NS)) {
            self.orders.pop_front();
        }
    }

    /// Appends the orders of the perpetual side; the rest is [`IdempotencyView::save`]'s.
    pub(super) fn save_orders(&self, writer: &mut Writer<'_>) {
        writer.records(self.orders.iter());
    }

    /// See [`IdempotencyView::save_orders`].
    pub(super) fn load_orders(&mut self, reader: &mut Reader<'_>) -> Result<(), LoadError> {
        self.orders = reader.records()?.into();
        Ok(())
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.count(self.len());
        for number in self.log.first..self.log.next {
            let Head { account, key, .. } = self.log.head(number);
            let outcome = self.log.outcome(number);
            writer.u64(account.into());
            writer.fixed(&key.to_le_bytes());
            writer.u64(outcome.sequence);
            writer.i64(outcome.time_ns);
            writer.u64(outcome.reject.map_or(0, |reject| reject.code().into()));
            writer.count(usize::from(outcome.order.is_some()));
            outcome.order.iter().for_each(|order| writer.record(order));
            writer.count(outcome.trades.len());
            outcome.trades.iter().for_each(|trade| writer.record(trade));
        }
    }

    pub(super) fn load(reader: &mut Reader<'_>, is_asked: bool) -> Result<IdempotencyView, LoadError> {
        let mut view = IdempotencyView::new(is_asked);
        for _ in 0..reader.count()? {
            let account = reader.uint("account")?;
            let key = u64::from_le_bytes(reader.fixed()?);
            let (sequence, time_ns) = (reader.u64()?, reader.i64()?);
            let reject = Reject::from_code(reader.uint("reject")?);
            let order = match reader.count()? {
                0 => None,
                _ => Some(reader.record()?),
            };
            let trades: Vec<event::Trade> = reader.records()?;
            view.put(Head { account, key, sequence, time_ns }, reject, order.as_ref(), &trades);
        }
        Ok(view)
    }
}

/// Outcomes in order of time, numbered from the first that ever was. One whose key was used again after it ran out stands here
/// twice.
#[derive(Debug)]
struct Log {
    chunks: VecDeque<Chunk>,
    /// Number of the oldest, and of the next to come.
    first: u64,
    next: u64,
    /// Time of the oldest.
    oldest_ns: i64,
}

/// Outcomes one behind the other: key, account, sequence and time since the chunk's, refusal, twice the number of trades and 1 for an
/// order, then order and trades as what differs.
#[derive(Debug)]
struct Chunk {
    /// Number of the first.
    first: u64,
    sequence: Sequence,
    time_ns: i64,
    /// The first order in it, which others are much like.
    like: Option<event::Order>,
    bytes: Vec<u8>,
    /// Where each begins.
    offsets: Vec<u16>,
}

/// Who did what when.
#[derive(Clone, Copy, Debug)]
struct Head {
    account: AccountId,
    key: u64,
    sequence: Sequence,
    time_ns: i64,
}

impl Default for Log {
    fn default() -> Log {
        Log { chunks: VecDeque::new(), first: 0, next: 0, oldest_ns: i64::MAX }
    }
}

impl Log {
    fn push(
        &mut self,
        head: Head,
        reject: Option<Reject>,
        order: Option<&event::Order>,
        trades: &[event::Trade],
    ) -> u64 {
        if self.first == self.next {
            self.oldest_ns = head.time_ns;
        }
        if self.chunks.back().is_none_or(|chunk| chunk.bytes.len() >= CHUNK_LEN) {
            if let Some(full) = self.chunks.back_mut() {
                full.bytes.shrink_to_fit();
                full.offsets.shrink_to_fit();
            }
            let Head { sequence, time_ns, .. } = head;
            let (bytes, offsets) = (Vec::new(), Vec::new());
            self.chunks.push_back(Chunk { first: self.next, sequence, time_ns, like: None, bytes, offsets });
        }
        let chunk = self.chunks.back_mut().expect("there is one now");
        chunk.offsets.push(chunk.bytes.len() as u16);
        let mut writer = Writer(&mut chunk.bytes);
        writer.fixed(&head.key.to_le_bytes());
        writer.u64(head.account.into());
        writer.i64(head.sequence.wrapping_sub(chunk.sequence) as i64);
        writer.i64(head.time_ns.wrapping_sub(chunk.time_ns));
        writer.u64(reject.map_or(0, |reject| reject.code().into()));
        writer.u64(trades.len() as u64 * 2 + u64::from(order.is_some()));
        if let Some(order) = order {
            write_unlike(&mut writer, order, chunk.like.get_or_insert(*order));
        }
        let mut like = event::Trade::new_zeroed();
        for trade in trades {
            write_unlike(&mut writer, trade, &like);
            like = *trade;
        }
        self.next += 1;
        self.next - 1
    }

    /// Takes the oldest out.
    fn pop(&mut self) {
        self.first += 1;
        let is_over = |chunk: &Chunk| self.first - chunk.first == chunk.offsets.len() as u64;
        if self.chunks.front().is_some_and(is_over) {
            self.chunks.pop_front();
        }
        self.oldest_ns = match self.first == self.next {
            true => i64::MAX,
            false => self.head(self.first).time_ns,
        };
    }

    /// The chunk of an outcome and a reader that stands before it.
    fn reader(&self, number: u64) -> (&Chunk, Reader<'_>) {
        let chunk = &self.chunks[self.chunks.partition_point(|chunk| chunk.first <= number) - 1];
        let offset = chunk.offsets[(number - chunk.first) as usize];
        (chunk, Reader::new(&chunk.bytes[offset.into()..]))
    }

    fn head(&self, number: u64) -> Head {
        let (chunk, mut reader) = self.reader(number);
        chunk.head(&mut reader).expect("what was written is read")
    }

    fn outcome(&self, number: u64) -> Outcome {
        let (chunk, mut reader) = self.reader(number);
        chunk.outcome(&mut reader).expect("what was written is read")
    }

    fn is_of(&self, number: u64, account: AccountId, key: u64) -> bool {
        let (_, mut reader) = self.reader(number);
        let is_key = reader.fixed() == Ok(key.to_le_bytes());
        is_key && reader.uint("account") == Ok(account)
    }
}

impl Rows for Log {
    fn first(&self) -> u64 {
        self.first
    }

    fn key(&self, number: u64) -> u64 {
        let Head { account, key, .. } = self.head(number);
        key_of(account, key)
    }
}

impl Chunk {
    fn head(&self, reader: &mut Reader<'_>) -> Result<Head, LoadError> {
        Ok(Head {
            key: u64::from_le_bytes(reader.fixed()?),
            account: reader.uint("account")?,
            sequence: self.sequence.wrapping_add(reader.i64()? as u64),
            time_ns: self.time_ns.wrapping_add(reader.i64()?),
        })
    }

    fn outcome(&self, reader: &mut Reader<'_>) -> Result<Outcome, LoadError> {
        let Head { sequence, time_ns, .. } = self.head(reader)?;
        let reject = Reject::from_code(reader.uint("reject")?);
        let counts = reader.u64()?;
        let order = match self.like.filter(|_| counts % 2 == 1) {
            Some(like) => Some(read_unlike(reader, like)?),
            None => None,
        };
        let mut like = event::Trade::new_zeroed();
        let trades = (0..counts / 2).map(|_| {
            like = read_unlike(reader, like)?;
            Ok(like)
        });
        let trades = trades.collect::<Result<_, LoadError>>()?;
        Ok(Outcome { sequence, time_ns, reject, order, trades, perpetual: None })
    }
}

/// A record as the bytes in which it is unlike another: a bit for each of its words that is, then for each such word a bit for
/// each byte, and those bytes.
fn write_unlike<T: IntoBytes + Immutable>(writer: &mut Writer<'_>, record: &T, like: &T) {
    const { assert!(size_of::<T>().is_multiple_of(8) && size_of::<T>() <= 512) };
    let pairs = || record.as_bytes().chunks_exact(8).zip(like.as_bytes().chunks_exact(8));
    let bits =
        pairs().enumerate().fold(0, |bits, (word, (one, other))| bits | u64::from(one != other) << word);
    writer.u64(bits);
    for (one, other) in pairs().filter(|(one, other)| one != other) {
        let unlike = || one.iter().zip(other).enumerate().filter(|(_, (one, other))| one != other);
        writer.fixed(&[unlike().fold(0, |bits, (byte, _)| bits | 1u8 << byte)]);
        unlike().for_each(|(_, (byte, _))| writer.fixed(&[*byte]));
    }
}

/// The record that is `like` but for what was written.
fn read_unlike<T: FromBytes + IntoBytes>(reader: &mut Reader<'_>, mut like: T) -> Result<T, LoadError> {
    let bits = reader.u64()?;
    for (word, bytes) in like.as_mut_bytes().chunks_exact_mut(8).enumerate() {
        if bits >> word & 1 == 1 {
            let unlike = reader.u8()?;
            for (at, byte) in bytes.iter_mut().enumerate() {
                if unlike >> at & 1 == 1 {
                    *byte = reader.u8()?;
                }
            }
        }
    }
    Ok(like)
}

layouts! {
    /// An order of the perpetual side as a placement with an idempotency key left it.
    KeyedOrderV1 of KeyedOrder { sequence: u64, time_ns: i64, order: OrderV2 }
}

stored! {
    KeyedOrder as KeyedOrders: KeyedOrderV1;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(account: AccountId, key: u64, time_ns: i64) -> Head {
        Head { account, key, sequence: 1, time_ns }
    }

    fn put(view: &mut IdempotencyView, account: AccountId, key: u64, time_ns: i64) {
        view.put(head(account, key, time_ns), None, None, &[]);
    }

    #[test]
    fn outcomes_are_kept_for_their_time_and_no_longer() {
        let mut view = IdempotencyView::default();
        put(&mut view, 1, 7, 0);
        put(&mut view, 2, 7, 1);
        view.advance(KEPT_NS - 1);
        assert!(view.outcome(1, 7).is_some() && view.outcome(2, 7).is_some());
        assert_eq!((view.len_of(1), view.len_of(2), view.len_of(3)), (1, 1, 0));
        // Used again before the old row is swept: the new outcome outlives the old row.
        put(&mut view, 1, 7, KEPT_NS);
        view.advance(KEPT_NS);
        assert_eq!(view.time_ns(1, 7), Some(KEPT_NS));
        assert!(view.outcome(2, 7).is_some());
        view.advance(KEPT_NS + 1);
        assert!(view.outcome(1, 7).is_some() && view.outcome(2, 7).is_none());
        view.advance(2 * KEPT_NS);
        assert!(view.is_empty() && view.log.chunks.is_empty() && view.len_of(1) == 0);
    }

    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((u128::from(self.0 ^ self.0 >> 29) * u128::from(bound)) >> 64) as u64
        }

        /// A record with anything in it, or with little that differs from record to record.
        fn record<T: FromBytes + IntoBytes>(&mut self, is_wild: bool) -> T {
            let mut record = T::new_zeroed();
            for byte in record.as_mut_bytes() {
                *byte = if is_wild || self.below(8) == 0 { self.below(256) as u8 } else { 3 };
            }
            record
        }
    }

    #[test]
    fn every_outcome_is_given_back_to_the_bit() {
        let mut random = Random(3);
        let (mut view, mut model) = (IdempotencyView::default(), VecDeque::new());
        let mut unasked = IdempotencyView::new(false);
        for number in 0..40_000_u64 {
            let is_wild = random.below(20) == 0;
            let trades = if random.below(9) == 0 { random.below(5) } else { 0 };
            // One is longer than a chunk.
            let trades = if number == 20_000 { 2_000 } else { trades };
            let outcome = Outcome {
                sequence: if is_wild { random.below(u64::MAX) } else { number },
                time_ns: number as i64 * 20_000_000_000,
                reject: (random.below(5) == 0).then_some(Reject::InvalidTick),
                order: (random.below(5) > 0).then(|| random.record(is_wild)),
                trades: (0..trades).map(|_| random.record(is_wild)).collect(),
                perpetual: None,
            };
            let (account, key) = (random.below(4) as AccountId, number * 77);
            let Outcome { sequence, time_ns, reject, order, trades, .. } = &outcome;
            let head = Head { account, key, sequence: *sequence, time_ns: *time_ns };
            for view in [&mut view, &mut unasked] {
                view.put(head, *reject, order.as_ref(), trades);
                view.advance(*time_ns);
            }
            model.push_back((account, key, outcome));
            while model[0].2.time_ns <= number as i64 * 20_000_000_000 - KEPT_NS {
                model.pop_front();
            }
            let (account, key, outcome) = &model[random.below(model.len() as u64) as usize];
            assert_eq!(view.outcome(*account, *key).as_ref(), Some(outcome), "{number}");
            assert_eq!(view.outcome(*account + 1, *key), None);
        }
        assert_eq!(view.len(), model.len());
        let counts: usize = (0..4).map(|account| view.len_of(account)).sum();
        assert_eq!(counts, model.len());
        // Saved and loaded they are the same, and views that nobody asks save the same.
        let saved = |view: &IdempotencyView| {
            let mut bytes = Vec::new();
            view.save(&mut Writer(&mut bytes));
            bytes
        };
        let bytes = saved(&view);
        assert_eq!(saved(&unasked), bytes);
        let loaded = IdempotencyView::load(&mut Reader::new(&bytes), true).expect("it was saved");
        assert_eq!(saved(&loaded), bytes);
        for (account, key, outcome) in &model {
            assert_eq!(loaded.outcome(*account, *key).as_ref(), Some(outcome));
        }
    }

    /// What a million orders of one account take that rest, as at a market maker's.
    #[test]
    fn an_outcome_takes_little() {
        let mut random = Random(9);
        let mut view = IdempotencyView::default();
        let outcomes = 1_000_000;
        for number in 0..outcomes {
            let quantity = random.below(90_000) as i64 * 10_000_000;
            let order = event::Order {
                order: number * 3 + random.below(3),
                account: 90_000,
                market: 1,
                side: 1 + random.below(2) as u8,
                order_type: 1,
                time_in_force: 1,
                status: 1,
                is_new: 1,
                price: 6_000_000_000_000 + random.below(100_000) as i64 * 1_000_000,
                quantity,
                open: quantity,
                ..event::Order::new_zeroed()
            };
            let sequence = number * 5 + random.below(5);
            let time_ns = number as i64 * 33_333_333 + random.below(33_000_000) as i64;
            let head = Head { account: 90_000, key: random.below(u64::MAX), sequence, time_ns };
            view.put(head, None, Some(&order), &[]);
        }
        let len = |chunk: &Chunk| size_of::<Chunk>() + chunk.bytes.capacity() + 2 * chunk.offsets.capacity();
        let log: usize = view.log.chunks.iter().map(len).sum();
        let found = view.found.as_ref().map_or(0, |found| found.latest.memory_len());
        let per_outcome = (log + found) as f64 / outcomes as f64;
        assert!(per_outcome < 64.0, "{per_outcome} bytes an outcome");
    }
}
