//! What one operator asked for and another has yet to agree to (`account.md` 13). It is kept in memory, for 15 minutes: a restart
//! forgets it, and it is asked for anew.

use super::Worker;
use crate::http::response::Answer;
use parking_lot::Mutex;
use ringside_auth::access::{Acting, Operator};
use ringside_auth::secret::{RandomError, fill};
use std::pin::Pin;
use std::rc::Rc;

/// How long a request waits, milliseconds.
pub const LIFE_MS: i64 = 15 * 60_000;
/// Most requests that wait: each holds a body.
pub const APPROVALS_MAX: usize = 256;

/// Carries a request out in the name of both, at a time (UNIX milliseconds).
pub type CarryOut = Box<dyn FnOnce(Rc<Worker>, Acting, i64) -> Pin<Box<dyn Future<Output = Answer>>> + Send>;

/// A request of one operator that wants a second.
pub struct Proposal {
    /// Its HTTP method.
    pub method: &'static str,
    /// Its path.
    pub path: String,
    /// Everything that it asks for, as the audit log will have it.
    pub detail: String,
    /// Why, as sent.
    pub reason: String,
    /// Who asks.
    pub operator: Operator,
    /// What becomes of it.
    pub carry_out: CarryOut,
}

/// One that waits, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// 16 hex digits, drawn at random: an id of before a restart names nothing of after it.
    pub id: String,
    /// HTTP method of the request.
    pub method: &'static str,
    /// Its path.
    pub path: String,
    /// Everything that it asks for.
    pub detail: String,
    /// The reason that the operator gave.
    pub reason: String,
    /// Name of who asked.
    pub proposed_by: String,
    /// UNIX milliseconds.
    pub created_ms: i64,
    /// From then on it is forgotten, UNIX milliseconds.
    pub expires_ms: i64,
}

/// Why nobody can agree to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// Nothing of this id waits.
    Unknown,
    /// It is the operator's own.
    Own,
    /// Who asked for it has that key no more; it is forgotten now.
    Removed,
}

/// All that wait. See the module.
#[derive(Default)]
pub struct Approvals(Mutex<Vec<Kept>>);

struct Kept {
    waiting: Waiting,
    operator: Operator,
    carry_out: CarryOut,
}

impl Approvals {
    /// Keeps a request; `None` where as many wait as may.
    pub fn add(&self, proposal: Proposal, now_ms: i64) -> Result<Option<Waiting>, RandomError> {
        let mut number = [0; 8];
        fill(&mut number)?;
        let mut all = self.of(now_ms);
        if all.len() >= APPROVALS_MAX {
            return Ok(None);
        }
        let Proposal { method, path, detail, reason, operator, carry_out } = proposal;
        let waiting = Waiting {
            id: const_hex::encode(number),
            method,
            path,
            detail,
            reason,
            proposed_by: operator.name.clone(),
            created_ms: now_ms,
            expires_ms: now_ms + LIFE_MS,
        };
        all.push(Kept { waiting: waiting.clone(), operator, carry_out });
        Ok(Some(waiting))
    }

    /// Everything that waits, oldest first.
    pub fn list(&self, now_ms: i64) -> Vec<Waiting> {
        self.of(now_ms).iter().map(|kept| kept.waiting.clone()).collect()
    }

    /// Takes a request for `second` to have it carried out, once; `counts` says whether an operator's key still does.
    pub fn agree(
        &self,
        id: &str,
        second: &Operator,
        counts: impl Fn(&Operator) -> bool,
        now_ms: i64,
    ) -> Result<(Acting, CarryOut), Denial> {
        let mut all = self.of(now_ms);
        let at = all.iter().position(|kept| kept.waiting.id == id).ok_or(Denial::Unknown)?;
        let first = &all[at].operator;
        if first.name == second.name || first.key_hash == second.key_hash {
            return Err(Denial::Own);
        }
        let is_counted = counts(first);
        let Kept { operator, carry_out, .. } = all.remove(at);
        if is_counted { Ok((Acting::Two(operator, second.clone()), carry_out)) } else { Err(Denial::Removed) }
    }

    /// Forgets a request; whether there was one.
    pub fn take_back(&self, id: &str, now_ms: i64) -> bool {
        let mut all = self.of(now_ms);
        let count = all.len();
        all.retain(|kept| kept.waiting.id != id);
        all.len() < count
    }

    fn of(&self, now_ms: i64) -> parking_lot::MutexGuard<'_, Vec<Kept>> {
        let mut all = self.0.lock();
        all.retain(|kept| now_ms < kept.waiting.expires_ms);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::response::Response;

    fn operator(name: &str, key: u8) -> Operator {
        Operator { name: name.to_owned(), key_hash: [key; 32] }
    }

    fn proposal(operator: Operator) -> Proposal {
        Proposal {
            method: "POST",
            path: "/admin/treasury/transfer".to_owned(),
            detail: "7 USDT".to_owned(),
            reason: "a test".to_owned(),
            operator,
            carry_out: Box::new(|_, _, _| Box::pin(async { Ok(Response::json("{}")) })),
        }
    }

    #[test]
    fn another_operator_agrees_once_and_in_time() {
        let (approvals, ann, bob) = (Approvals::default(), operator("ann", 1), operator("bob", 2));
        let add = |now_ms| approvals.add(proposal(ann.clone()), now_ms).unwrap().unwrap().id;
        let agree = |id: &str, second: &Operator, now_ms| {
            approvals.agree(id, second, |_| true, now_ms).map(|(acting, _)| acting)
        };
        let id = add(5);
        assert_eq!(agree("0", &bob, 5), Err(Denial::Unknown));
        for own in [&ann, &operator("ann", 2), &operator("bob", 1)] {
            assert_eq!(agree(&id, own, 5), Err(Denial::Own));
        }
        assert_eq!(agree(&id, &bob, 5), Ok(Acting::Two(ann.clone(), bob.clone())));
        assert_eq!(agree(&id, &bob, 5), Err(Denial::Unknown));
        let id = add(5);
        assert_eq!(approvals.list(4 + LIFE_MS).len(), 1);
        assert_eq!(agree(&id, &bob, 5 + LIFE_MS), Err(Denial::Unknown));
        let id = add(5);
        assert_eq!((approvals.take_back(&id, 6), approvals.take_back(&id, 6)), (true, false));
        let id = add(5);
        assert_eq!(approvals.agree(&id, &bob, |_| false, 6).err(), Some(Denial::Removed));
        assert!(approvals.list(6).is_empty());
    }

    #[test]
    fn no_more_wait_than_may() {
        let approvals = Approvals::default();
        for _ in 0..APPROVALS_MAX {
            assert!(approvals.add(proposal(operator("ann", 1)), 5).unwrap().is_some());
        }
        assert_eq!(approvals.add(proposal(operator("ann", 1)), 5).unwrap(), None);
        assert!(approvals.add(proposal(operator("ann", 1)), 5 + LIFE_MS).unwrap().is_some());
    }
}
