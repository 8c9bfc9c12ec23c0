//! What became of each placement that carried an idempotency key, so that a retry is answered as the first try was.
//!
//! The engine decides whether a key counts as used (it knows body and age); this view only remembers the outcome, an
//! hour longer than the engine remembers the key, so that whatever the engine calls a replay is found here.

use super::codec::{LoadError, Reader, Writer};
use ringside_core::event::{self, Event};
use ringside_core::ids::{AccountId, Sequence};
use ringside_core::reject::Reject;
use std::collections::{HashMap, VecDeque};
use zerocopy::{FromBytes, IntoBytes};

/// How long outcomes are kept: the engine's 24 hours and one more.
const KEPT_NS: i64 = 25 * 3600 * 1_000_000_000;

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
}

/// Outcomes by (account, key).
#[derive(Clone, Debug, Default)]
pub struct IdempotencyView {
    outcomes: HashMap<(AccountId, u64), Outcome>,
    /// Every key in order of time; one that was used again after it ran out stands here twice.
    by_time: VecDeque<(i64, AccountId, u64)>,
}

impl IdempotencyView {
    /// What the placement with this key came to.
    pub fn outcome(&self, account: AccountId, key: u64) -> Option<&Outcome> {
        self.outcomes.get(&(account, key))
    }

    /// How many outcomes are kept.
    pub fn len(&self) -> usize {
        self.outcomes.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.outcomes.is_empty()
    }

    /// Takes the end of a command that carried a key, with what it did.
    pub(super) fn done(
        &mut self,
        event: &Event,
        done: &event::Done,
        order: Option<&event::Order>,
        trades: &[event::Trade],
    ) {
        let reject = done.rejected();
        if matches!(reject, Some(Reject::Duplicate | Reject::IdempotencyReplay | Reject::IdempotencyConflict))
        {
            return;
        }
        self.put(
            done.account,
            done.idempotency_key,
            Outcome {
                sequence: event.sequence,
                time_ns: event.time_ns,
                reject,
                order: order.copied(),
                trades: trades.into(),
            },
        );
    }

    fn put(&mut self, account: AccountId, key: u64, outcome: Outcome) {
        self.by_time.push_back((outcome.time_ns, account, key));
        self.outcomes.insert((account, key), outcome);
    }

    /// Forgets what is older than it must be kept.
    pub(super) fn advance(&mut self, now_ns: i64) {
        while let Some((time_ns, account, key)) = self.by_time.front().copied() {
            if time_ns > now_ns.saturating_sub(KEPT_NS) {
                return;
            }
            self.by_time.pop_front();
            if self.outcomes.get(&(account, key)).is_some_and(|outcome| outcome.time_ns == time_ns) {
                self.outcomes.remove(&(account, key));
            }
        }
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        let kept = self.by_time.iter().filter_map(|(time_ns, account, key)| {
            let outcome =
                self.outcomes.get(&(*account, *key)).filter(|outcome| outcome.time_ns == *time_ns)?;
            Some((*account, *key, outcome))
        });
        writer.count(kept.clone().count());
        for (account, key, outcome) in kept {
            writer.u64(account.into());
            writer.fixed(&key.to_le_bytes());
            writer.u64(outcome.sequence);
            writer.i64(outcome.time_ns);
            writer.u64(outcome.reject.map_or(0, |reject| reject.code().into()));
            writer.count(usize::from(outcome.order.is_some()));
            outcome.order.iter().for_each(|order| writer.fixed(order.as_bytes()));
            writer.count(outcome.trades.len());
            outcome.trades.iter().for_each(|trade| writer.fixed(trade.as_bytes()));
        }
    }

    pub(super) fn load(reader: &mut Reader<'_>) -> Result<IdempotencyView, LoadError> {
        let mut view = IdempotencyView::default();
        for _ in 0..reader.count()? {
            let account = reader.uint("account")?;
            let key = u64::from_le_bytes(reader.fixed()?);
            let outcome = Outcome {
                sequence: reader.u64()?,
                time_ns: reader.i64()?,
                reject: Reject::from_code(reader.uint("reject")?),
                order: match reader.count()? {
                    0 => None,
                    _ => Some(record::<event::Order, { size_of::<event::Order>() }>(reader)?),
                },
                trades: (0..reader.count()?)
                    .map(|_| record::<event::Trade, { size_of::<event::Trade>() }>(reader))
                    .collect::<Result<_, _>>()?,
            };
            view.put(account, key, outcome);
        }
        Ok(view)
    }
}

/// A fixed record of `N` bytes.
fn record<T: FromBytes, const N: usize>(reader: &mut Reader<'_>) -> Result<T, LoadError> {
    let bytes: [u8; N] = reader.fixed()?;
    T::read_from_bytes(&bytes).map_err(|_| reader.bad("record"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(time_ns: i64) -> Outcome {
        Outcome { sequence: 1, time_ns, reject: None, order: None, trades: Box::new([]) }
    }

    #[test]
    fn outcomes_are_kept_for_their_time_and_no_longer() {
        let mut view = IdempotencyView::default();
        view.put(1, 7, outcome(0));
        view.put(2, 7, outcome(1));
        view.advance(KEPT_NS - 1);
        assert!(view.outcome(1, 7).is_some() && view.outcome(2, 7).is_some());
        // Used again before the old row is swept: the new outcome outlives the old row.
        view.put(1, 7, outcome(KEPT_NS));
        view.advance(KEPT_NS);
        assert_eq!(view.outcome(1, 7).map(|outcome| outcome.time_ns), Some(KEPT_NS));
        assert!(view.outcome(2, 7).is_some());
        view.advance(KEPT_NS + 1);
        assert!(view.outcome(1, 7).is_some() && view.outcome(2, 7).is_none());
        view.advance(2 * KEPT_NS);
        assert!(view.is_empty() && view.by_time.is_empty());
    }
}
