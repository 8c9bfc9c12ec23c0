//! What bankrupt scopes lacked since the last time it was shared, and who was deleveraged for them (`risk.md` 12.5), or was paid by a
//! settlement (18). It outlives a command only where liquidations, or the sharing itself, are left over for the next. Its room is kept,
//! so that sharing takes no memory.

use crate::ids::AccountId;
use crate::money::Money;

/// Room at the start.
const ROOM: usize = 256;

/// See the module.
pub(crate) struct Shortfall {
    /// What the fund paid for them.
    pub(crate) lacked: Money,
    /// Accounts and what was realised for each in all, in the order of their first fills. Once weighed it is what it can give back, and
    /// 0 once it gave that. The record of each says which of them, from 1 on, may be its own.
    pub(crate) brought: Vec<(AccountId, Money)>,
    /// How far it is shared.
    pub(crate) sharing: Option<Sharing>,
}

/// A loss that is shared by and by: everybody is weighed, then everybody gives back, in the order of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sharing {
    /// Above 0.
    pub(crate) loss: Money,
    /// Who is weighed, and who gave back.
    pub(crate) weighed: u32,
    pub(crate) given: u32,
    /// What those who are weighed can give back, and what those of them could who did.
    pub(crate) whole: i128,
    pub(crate) before: i128,
}

impl Default for Shortfall {
    fn default() -> Shortfall {
        Shortfall { lacked: 0, brought: Vec::with_capacity(ROOM), sharing: None }
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

    /// An account was deleveraged, or paid; `place` is where it stands, or stood in a list before.
    pub(crate) fn bring(&mut self, account: AccountId, place: &mut u32, realised: Money) {
        match (*place as usize).checked_sub(1).and_then(|place| self.brought.get_mut(place)) {
            Some((owner, sum)) if *owner == account => *sum = sum.saturating_add(realised),
            _ => {
                self.brought.push((account, realised));
                *place = self.brought.len() as u32;
            }
        }
    }

    /// What an account may have to give back: nothing new may be done with it until that is known.
    #[inline]
    pub(crate) fn withheld(&self, account: AccountId, place: u32) -> Money {
        match (place as usize).checked_sub(1).and_then(|place| self.brought.get(place)) {
            Some(&(owner, sum)) if owner == account => sum.max(0),
            _ => 0,
        }
    }
}
