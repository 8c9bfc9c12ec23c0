//! What an order that arrives comes to, as `engine/perpetual/plan.rs` works it out and `commit.rs` writes it. Nothing is read of it
//! between commands: each plan begins anew.

use super::account::{HotAccount, HotHolding};
use crate::ids::{AccountId, OrderId};
use crate::matching::Meeting;
use crate::memory::Pages;
use crate::money::{Money, Quantity};

/// What a meeting with a resting order comes to.
#[derive(Clone, Copy)]
pub(crate) struct PlannedFill {
    /// The resting order.
    pub(crate) order: OrderId,
    pub(crate) meeting: Meeting,
    /// The `reason` for which a resting order ends that is not filled, or the arriving one stops.
    pub(crate) why: u8,
    /// Self-trade prevention keeps the two apart.
    pub(crate) is_prevented: bool,
    /// Of a fill; zeros elsewhere.
    pub(crate) costs: Costs,
}

/// What a fill costs, and brings; of two sides the maker's first.
#[derive(Clone, Copy, Default)]
pub(crate) struct Costs {
    pub(crate) value: Money,
    pub(crate) fees: [Money; 2],
    pub(crate) realised: [Money; 2],
    /// What the fund pays because an isolated wallet does not suffice.
    pub(crate) covered: [Money; 2],
    /// What goes to affiliates.
    pub(crate) rewards: [Money; 2],
}

/// An account as the fills so far leave it.
#[derive(Clone, Copy)]
pub(crate) struct PartyOutcome {
    pub(crate) account: AccountId,
    pub(crate) record: HotAccount,
    pub(crate) holding: HotHolding,
    /// A fill is its own.
    pub(crate) has_traded: bool,
}

/// See the module.
pub(crate) struct Plan {
    /// In the order in which they happen.
    pub(crate) meetings: Vec<PlannedFill>,
    /// The arriving order's account, then those of makers as they are met.
    pub(crate) parties: Vec<PartyOutcome>,
    /// Where among the parties an account is, if it is there.
    places: Vec<u32>,
    /// Over all fills.
    pub(crate) filled: Quantity,
    /// Of all fills; `None`: too much.
    pub(crate) value: Option<Money>,
    /// Somebody may not have a fill.
    pub(crate) has_refused: bool,
}

impl Plan {
    /// Nothing planned; address space for every account.
    pub(crate) fn new(accounts: usize, pages: Pages) -> Plan {
        let most = accounts.max(4096);
        Plan {
            meetings: pages.room(most),
            parties: pages.room(most),
            places: vec![0; most],
            filled: 0,
            value: None,
            has_refused: false,
        }
    }

    /// Forgets all of it.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.meetings.clear();
        self.parties.clear();
        (self.filled, self.value, self.has_refused) = (0, Some(0), false);
    }

    /// Counts the value of a fill; `None`: all of them are worth too much.
    #[inline(always)]
    pub(crate) fn count(&mut self, value: Money) -> Option<()> {
        let sum = self.value.take()?;
        self.value = Some(sum.checked_add(value)?);
        Some(())
    }

    /// The place of an account among the parties.
    #[inline]
    pub(crate) fn place(&self, account: AccountId) -> Option<usize> {
        let place = *self.places.get(account as usize)? as usize;
        self.parties.get(place).is_some_and(|party| party.account == account).then_some(place)
    }

    /// Adds an account that is none of the parties, as it is; its place.
    #[inline(always)]
    pub(crate) fn add(&mut self, account: AccountId, record: &HotAccount, holding: &HotHolding) -> usize {
        let (index, place) = (account as usize, self.parties.len());
        if self.places.len() <= index {
            self.places.resize(index + 4096, 0);
        }
        self.places[index] = place as u32;
        // Made where it stays: pushed, it would be copied there.
        let party = || PartyOutcome { account, record: *record, holding: *holding, has_traded: false };
        self.parties.extend(std::iter::once_with(party));
        place
    }
}
