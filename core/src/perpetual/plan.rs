//! What an order that arrives comes to, as `engine/perpetual/plan.rs` works it out and `commit.rs` writes it. Nothing is read of it
//! between commands: each plan begins anew.

use super::account::{HotAccount, HotHolding};
use super::mode_of;
use crate::command::MarginMode;
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
    /// Its position here is isolated, or comes to be; no fill changes that.
    pub(crate) is_isolated: bool,
    /// It is not, and this is the only market that the account has touched.
    pub(crate) is_simple: bool,
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

    /// Adds an account that is none of the parties, as it is in a market; its place.
    #[inline(always)]
    pub(crate) fn add(
        &mut self,
        (account, index): (AccountId, usize),
        record: &HotAccount,
        holding: &HotHolding,
    ) -> usize {
        let place = self.parties.len();
        if self.places.len() <= account as usize {
            self.places.resize(account as usize + 4096, 0);
        }
        self.places[account as usize] = place as u32;
        let is_isolated = mode_of(record, holding) == MarginMode::Isolated;
        let is_simple = !is_isolated && record.is_alone_in(index);
        // Made where it stays: pushed, it would be copied there.
        self.parties.extend(std::iter::once_with(|| PartyOutcome {
            account,
            record: *record,
            holding: *holding,
            has_traded: false,
            is_isolated,
            is_simple,
        }));
        place
    }

    /// Adds a meeting, made where it stays.
    #[inline(always)]
    pub(crate) fn note(&mut self, planned: impl FnOnce() -> PlannedFill) {
        self.meetings.extend(std::iter::once_with(planned));
    }
}
