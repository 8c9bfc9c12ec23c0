//! Whom auto-deleveraging asks, in the order of `risk.md` 12.5.
//!
//! A place depends on the marks, so every move of one makes an order of all counterparties anew. But a fall of the market
//! ends many positions at the same marks: the order is made once, when the first takeover asks for it, and kept until a mark
//! moves. Whoever changed meanwhile is entered again with the place it has now; a place that is no longer its account's is
//! passed over when it comes up. So a takeover costs as much as it takes, however many there are to take from.

use super::liquidate::Scope;
use crate::command::{MarginMode, Side};
use crate::ids::{AccountId, FEE_ACCOUNT};
use crate::perpetual::State;
use crate::risk::perpetual::adl::{Place, score};
use crate::risk::perpetual::units;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// So many changes are remembered for rankings that are kept.
const CHANGED_MAX: usize = 1 << 16;

/// Room that each list is given at start.
const ROOM: usize = 1024;

/// The orders of counterparties at the present marks. Not state: it is made again when it is needed. The default has no room and
/// stands in while it is used.
#[derive(Default)]
pub(crate) struct Rankings {
    /// One for each market and side that was asked for.
    made: Vec<Ranking>,
    /// Accounts that changed since, which of the rankings do not know: a prefix each does.
    changed: Vec<AccountId>,
    /// Heaps of rankings that are no longer used, and a list of candidates, for their memory.
    spare: Vec<BinaryHeap<Reverse<Place>>>,
    kept: Vec<Place>,
}

struct Ranking {
    index: usize,
    /// The side of those who close: candidates hold the opposite one.
    side: Side,
    heap: BinaryHeap<Reverse<Place>>,
    /// How many of those who changed it knows.
    known: usize,
}

/// Candidates of one takeover, best first.
pub(crate) struct Candidates {
    place: usize,
    from: AccountId,
    /// Whether the fund was asked.
    fund_was_asked: bool,
    /// Candidates that keep their place.
    kept: Vec<Place>,
}

impl Rankings {
    /// None made, with room for some.
    pub(crate) fn new() -> Rankings {
        Rankings {
            made: Vec::with_capacity(4),
            changed: Vec::with_capacity(ROOM),
            spare: [(); 4].map(|()| BinaryHeap::with_capacity(ROOM)).into(),
            kept: Vec::with_capacity(ROOM),
        }
    }

    /// A mark moved, or a bracket changed: no place is what it was.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.changed.clear();
        while let Some(mut ranking) = self.made.pop() {
            ranking.heap.clear();
            self.spare.push(ranking.heap);
        }
    }

    /// An account's scopes are not what they were.
    #[inline]
    pub(crate) fn changed(&mut self, account: AccountId) {
        if !self.made.is_empty() {
            self.changed.push(account);
        }
    }

    /// Between takeovers: where the marks stand still, orders are not kept for ever.
    #[inline]
    pub(crate) fn tidy(&mut self) {
        if self.changed.len() > CHANGED_MAX {
            self.forget();
        }
    }
}

impl State {
    /// Starts to ask the counterparties of a closing of `side` on behalf of `from`.
    pub(crate) fn candidates(&mut self, from: AccountId, index: usize, side: Side) -> Candidates {
        let mut rankings = std::mem::take(&mut self.rankings);
        let made = rankings.made.iter().position(|ranking| (ranking.index, ranking.side) == (index, side));
        let place = made.unwrap_or_else(|| {
            let mut places = rankings.spare.pop().unwrap_or_default().into_vec();
            let holders = self.symbols[index].holders.iter();
            places.extend(holders.filter_map(|&account| self.place(account, index, side)).map(Reverse));
            let known = rankings.changed.len();
            rankings.made.push(Ranking { index, side, heap: places.into(), known });
            rankings.made.len() - 1
        });
        let ranking = &mut rankings.made[place];
        while let Some(&account) = rankings.changed.get(ranking.known) {
            ranking.known += 1;
            ranking.heap.extend(self.place(account, index, side).map(Reverse));
        }
        let kept = std::mem::take(&mut rankings.kept);
        self.rankings = rankings;
        Candidates { place, from, fund_was_asked: from == FEE_ACCOUNT, kept }
    }

    /// The next counterparty. Whoever has given all is a candidate no longer.
    pub(crate) fn next_candidate(&mut self, candidates: &mut Candidates) -> Option<AccountId> {
        let Ranking { index, side, .. } = self.rankings.made[candidates.place];
        if !std::mem::replace(&mut candidates.fund_was_asked, true) && self.holds(FEE_ACCOUNT, index, side) {
            return Some(FEE_ACCOUNT);
        }
        loop {
            let Reverse(place) = self.rankings.made[candidates.place].heap.pop()?;
            let account = place.account();
            // One that is not its account's any more: the account was entered again when it changed.
            // And one that was entered twice comes up twice in a row.
            if self.place(account, index, side) != Some(place) || candidates.kept.last() == Some(&place) {
                continue;
            }
            candidates.kept.push(place);
            if account != candidates.from && !self.is_liquidating(account, index) {
                return Some(account);
            }
        }
    }

    /// Ends asking: whoever still has something keeps its place.
    pub(crate) fn end_candidates(&mut self, candidates: Candidates) {
        let Candidates { place, mut kept, .. } = candidates;
        self.rankings.made[place].heap.extend(kept.drain(..).map(Reverse));
        self.rankings.kept = kept;
    }

    /// Whether an account's position is opposite to a closing of `side`.
    fn holds(&self, account: AccountId, index: usize, side: Side) -> bool {
        let quantity = self.holding(account, index).quantity;
        match side {
            Side::Sell => quantity < 0,
            Side::Buy => quantity > 0,
        }
    }

    fn is_liquidating(&self, account: AccountId, index: usize) -> bool {
        let flag = match self.mode(account, index) {
            MarginMode::Isolated => self.holding(account, index).liquidating,
            MarginMode::Cross => self.accounts.get(account).liquidating,
        };
        flag != 0
    }

    /// An account's place among the counterparties of a closing of `side`, if it is one. The fund has none: it comes first.
    fn place(&self, account: AccountId, index: usize, side: Side) -> Option<Place> {
        if account == FEE_ACCOUNT || !self.holds(account, index, side) {
            return None;
        }
        let holding = self.holding(account, index);
        let isolated = (self.mode(account, index) == MarginMode::Isolated).then_some(index);
        let (equity, _) = self.standing(Scope { account, isolated });
        let mark = self.symbols[index].prices.mark;
        let ranked = holding.position().unrealised(mark).and_then(|unrealised| {
            let notional = units::notional(holding.quantity, mark)?;
            Some(Place::new(score(unrealised, holding.cost, notional, equity)?, notional, account))
        });
        let Some(place) = ranked else { unreachable!("an accepted position") };
        Some(place)
    }
}
