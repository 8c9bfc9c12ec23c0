//! What bankrupt scopes lacked since the last time it was shared, and who was deleveraged for them (`risk.md` 12.5). It outlives a command
//! only where liquidations are left over for the next. Its room is kept, so that sharing takes no memory.

use crate::ids::AccountId;
use crate::money::Money;

/// Room at the start.
const ROOM: usize = 256;

/// See the module.
pub(crate) struct Shortfall {
    /// What the fund paid for them.
    pub(crate) lacked: Money,
    /// Accounts and what deleveraging realised for each in all, in the order of their first fills. Each account's record says which
    /// of them, from 1 on, is its own.
    pub(crate) brought: Vec<(AccountId, Money)>,
    /// What each of them can give back, while that is worked out.
    pub(crate) weights: Vec<Money>,
}

impl Default for Shortfall {
    fn default() -> Shortfall {
        Shortfall { lacked: 0, brought: Vec::with_capacity(ROOM), weights: Vec::with_capacity(ROOM) }
    }
}

impl Shortfall {
    /// Whether there is nothing to share, and nobody to share it.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.lacked == 0 && self.brought.is_empty()
    }

    /// The fund paid for a scope.
    pub(crate) fn lack(&mut self, amount: Money) {
        self.lacked = self.lacked.saturating_add(amount);
    }

    /// An account was deleveraged; `place` is where it stands, 0 where it does not yet.
    pub(crate) fn bring(&mut self, account: AccountId, place: &mut u32, realised: Money) {
        match (*place as usize).checked_sub(1).and_then(|place| self.brought.get_mut(place)) {
            Some((_, sum)) => *sum = sum.saturating_add(realised),
            None => {
                self.brought.push((account, realised));
                *place = self.brought.len() as u32;
            }
        }
    }

    /// What the account of a place may have to give back: nothing new may be done with it until that is known.
    #[inline]
    pub(crate) fn withheld(&self, place: u32) -> Money {
        let own = (place as usize).checked_sub(1).and_then(|place| self.brought.get(place));
        own.map_or(0, |(_, sum)| (*sum).max(0))
    }

    /// It was shared.
    pub(crate) fn clear(&mut self) {
        self.lacked = 0;
        self.brought.clear();
        self.weights.clear();
    }
}
