//! Whom auto-deleveraging asks, in the order of `risk.md` 12.5.
//!
//! A place depends on the marks, so every move of one makes another order of all counterparties. It is never made as a whole:
//! holders stand in regions of what does not move with the mark (`perpetual/adl_queue.rs`), a region has a score that none in it
//! is above, and the region that promises most is looked into first. Who comes out is the first of all as soon as no
//! region promises more. What was looked into is kept until a mark moves, since a fall of the market ends many positions at
//! the same marks. Whoever changed meanwhile is entered again with the place it has now; a place that is no longer its
//! account's is passed over when it comes up. So a takeover costs as much as it takes, however many there are to take
//! from.
//!
//! What is looked into without a promise: accounts with several positions in one scope and those that have no key, all of
//! the market at the first takeover after a mark moved.

use crate::command::{MarginMode, PerpetualState, Side};
use crate::ids::{AccountId, FEE_ACCOUNT};
use crate::perpetual::account::Scope;
use crate::perpetual::adl_queue::{Group, Part, hint_ways};
use crate::perpetual::{State, id_of};
use crate::prefetch::prefetch;
use crate::risk::perpetual::adl::{Place, score};
use crate::risk::perpetual::adl_region::{REST_MIN, Region, key};
use crate::risk::perpetual::units;
use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

/// So many that changed wait to be given their places: who changes again meanwhile is given it once. Where more do, a command that
/// trades gives [`RANKED`] of them theirs, which is more than it mostly adds. A takeover gives all of them theirs first: as
/// many more would hold it up by a fifth of a microsecond each.
const UNRANKED_MANY: usize = 1 << 11;
/// Where so many wait, one is given its place for every one that is added.
const UNRANKED_MAX: usize = UNRANKED_MANY + UNRANKED_MANY / 4;
/// See [`UNRANKED_MANY`].
const RANKED: usize = 3;
/// So many are given their places in one go while there is nothing else to do,
const TIDIED: usize = 16;
/// and so many of those who paid funding with every tick, so that it comes to an end where there is always something to do: what
/// is paid in the days that it takes is a small part of what margin is asked for.
const RANKED_A_TICK: usize = 4;
/// How far ahead of who is given its place the nearest hint is given; the others at twice and three times that.
const LOOK_AHEAD: usize = 4;
const _: () = assert!(RANKED <= LOOK_AHEAD);
/// So long are orders kept for where the marks stand still.
const ORDER_MAX: usize = 1 << 16;
/// Room that each list is given at start.
const ROOM: usize = 1024;

/// The orders of counterparties at the present marks. Not state: it is made again when it is needed. The default has no room and
/// stands in while it is used.
#[derive(Default)]
pub(crate) struct Rankings {
    /// One for each market and side that was asked for.
    made: Vec<Ranking>,
    /// Accounts that changed since they were given their places, oldest first, each once.
    unranked: VecDeque<AccountId>,
    /// Heaps of rankings that are no longer used, and a list of candidates, for their memory.
    spare: Vec<BinaryHeap<Entry>>,
    kept: Vec<Place>,
}

struct Ranking {
    index: usize,
    /// The side of those who close: candidates hold the opposite one.
    side: Side,
    heap: BinaryHeap<Entry>,
}

/// What stands in an order: the largest comes first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    Account(Place),
    /// Holders with none above this score.
    Region(i128, Region),
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        match (self, other) {
            (Entry::Account(place), Entry::Account(other)) => other.cmp(place),
            (Entry::Region(bound, region), Entry::Region(other, beside)) => {
                (bound, region).cmp(&(other, beside))
            }
            // Someone of the region may have the same score, and more notional.
            (Entry::Region(bound, _), Entry::Account(place)) => {
                bound.cmp(&place.score()).then(Ordering::Greater)
            }
            (Entry::Account(place), Entry::Region(bound, _)) => place.score().cmp(bound).then(Ordering::Less),
        }
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
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
            unranked: VecDeque::with_capacity(UNRANKED_MAX + 1),
            spare: [(); 4].map(|()| BinaryHeap::with_capacity(ROOM)).into(),
            kept: Vec::with_capacity(ROOM),
        }
    }

    /// A mark moved, a bracket changed, or funding was paid: no place is what it was.
    #[inline]
    pub(crate) fn forget(&mut self) {
        while let Some(mut ranking) = self.made.pop() {
            ranking.heap.clear();
            self.spare.push(ranking.heap);
        }
    }
}

/// Whether those who are asked by a closing of a side hold long positions.
fn asks_longs(side: Side) -> bool {
    side == Side::Buy
}

impl State {
    /// An account's scopes are not what they were: it waits for its place, and where too many do the first of them is given its.
    #[inline]
    pub(crate) fn mark_stale(&mut self, account: AccountId) {
        let record = self.accounts.get_mut(account);
        if record.is_stale != 0 {
            return;
        }
        record.is_stale = 1;
        self.rankings.unranked.push_back(account);
        if self.rankings.unranked.len() > UNRANKED_MAX {
            self.rank_first();
        }
    }

    /// Between takeovers: orders are not kept for ever where the marks stand still.
    #[inline]
    pub(crate) fn tidy_rankings(&mut self) {
        if self.rankings.made.iter().any(|ranking| ranking.heap.len() > ORDER_MAX) {
            self.rankings.forget();
        }
    }

    /// Gives some of those who changed their places, where many wait.
    #[inline]
    pub(crate) fn rank_few(&mut self) {
        let many = self.rankings.unranked.len().saturating_sub(UNRANKED_MANY);
        if many != 0 {
            self.rank_together(many.min(RANKED));
        }
    }

    /// Gives so many of those who changed first their places. They go down to their lists together before the first of them is
    /// entered, so that they wait for memory together.
    #[inline(never)]
    fn rank_together(&mut self, count: usize) {
        self.hint_unranked(count);
        let mut moves = [None; RANKED];
        for moved in moves.iter_mut().take(count) {
            let Some(account) = self.next_unranked() else { break };
            let mut markets = self.markets_of(account);
            match (markets.next(), markets.next()) {
                (Some(index), None) => *moved = Some((account, index, self.group(account, index))),
                _ => self.rank(account),
            }
        }
        hint_ways(&mut moves.map(|moved| {
            let (_, index, group) = moved?;
            self.adl_queues[index].way(group?)
        }));
        for (account, index, group) in moves.into_iter().flatten() {
            self.seat_in(account, index, group);
        }
    }

    /// While there is nothing else to do: gives some of those who changed their places. Whether any waited.
    pub(crate) fn rank_some(&mut self) -> bool {
        let waited = !self.rankings.unranked.is_empty();
        for _ in 0..TIDIED {
            self.rank_first();
        }
        waited || (0..self.symbols.len()).any(|index| self.rank_payers(index, TIDIED))
    }

    /// A tick's part of the same.
    pub(crate) fn rank_few_payers(&mut self, index: usize) {
        self.rank_payers(index, RANKED_A_TICK);
    }

    /// Gives so many of those who paid funding in a market their places anew. Whether there were any. Not while an order is kept,
    /// into which all of them would be entered.
    fn rank_payers(&mut self, index: usize, count: usize) -> bool {
        if !self.rankings.made.is_empty() {
            return false;
        }
        let Some(mut from) = self.adl_queues[index].walk() else { return false };
        let mut next = None;
        for _ in 0..count {
            next = self.symbols[index].holders.next(from);
            let Some(account) = next else { break };
            self.seat(account, index);
            from = account + 1;
        }
        self.adl_queues[index].walk_on(next.map(|_| from));
        true
    }

    /// Gives who changed first its place.
    #[inline(never)]
    fn rank_first(&mut self) {
        self.hint_unranked(1);
        if let Some(account) = self.next_unranked() {
            self.rank(account);
        }
    }

    /// Hints that those are given their places soon who wait behind the `count` that are given theirs now.
    #[inline]
    fn hint_unranked(&self, count: usize) {
        let soon = |ahead: usize| {
            (0..count)
                .filter_map(move |place| self.rankings.unranked.get(ahead * LOOK_AHEAD + place).copied())
        };
        soon(3).for_each(|account| prefetch(self.accounts.get(account)));
        for account in soon(2) {
            for index in self.markets_of(account) {
                prefetch(self.holding(account, index));
                self.adl_queues[index].hint(account);
            }
        }
        for account in soon(1) {
            self.markets_of(account).for_each(|index| self.adl_queues[index].hint_list(account));
        }
    }

    /// Who changed first, and waits no longer.
    #[inline]
    fn next_unranked(&mut self) -> Option<AccountId> {
        let account = self.rankings.unranked.pop_front()?;
        self.accounts.get_mut(account).is_stale = 0;
        Some(account)
    }

    /// Gives an account its place in every market.
    pub(crate) fn rank(&mut self, account: AccountId) {
        self.markets_of(account).for_each(|index| self.seat(account, index));
    }

    /// Gives an account its place among the holders of a market. It may come into a region that an order has looked into
    /// already: so, wherever it comes to, it is entered into the orders that are kept.
    fn seat(&mut self, account: AccountId, index: usize) {
        let group = self.group(account, index);
        self.seat_in(account, index, group);
    }

    /// The same where it is known whom it belongs to.
    fn seat_in(&mut self, account: AccountId, index: usize, group: Option<Group>) {
        self.adl_queues[index].set(account, group);
        for made in 0..self.rankings.made.len() {
            let Ranking { index: of, side, .. } = self.rankings.made[made];
            if of == index {
                let place = self.place(account, index, side);
                self.rankings.made[made].heap.extend(place.map(Entry::Account));
            }
        }
    }

    /// Whom an account belongs to among the holders of a market. The fund is asked apart from them.
    fn group(&self, account: AccountId, index: usize) -> Option<Group> {
        let holding = self.holding(account, index);
        // Of a market that closes nobody is asked.
        if holding.quantity == 0
            || account == FEE_ACCOUNT
            || self.symbols[index].set == PerpetualState::Closed
        {
            return None;
        }
        let is_cross = |index: usize| self.mode(account, index) == MarginMode::Cross;
        let shares_scope =
            |other: usize| other != index && self.holding(account, other).quantity != 0 && is_cross(other);
        let rest = if !is_cross(index) {
            Some(holding.isolated)
        } else if self.markets_of(account).any(shares_scope) {
            None
        } else {
            Some(self.wallet(account))
        };
        // What an hour that is fixed is going to take or give: the market counts it as paid.
        let rest = rest.map(|rest| {
            Some(rest + self.owed(account, index)).filter(|&rest| rest >= REST_MIN).unwrap_or(rest)
        });
        let is_long = holding.quantity > 0;
        Some(match rest.and_then(|rest| key(holding.position(), rest)) {
            Some(key) => Group::Keyed { is_long, key },
            None => Group::Loose { is_long },
        })
    }

    /// Whether an account stands among the holders of a market where it belongs, or waits for that. Who paid funding may stand
    /// where it belonged before; who has no key may have been given what a key takes.
    pub(crate) fn is_ranked(&self, account: AccountId, index: usize) -> bool {
        let (stands, belongs) = (self.adl_queues[index].group(account), self.group(account, index));
        self.accounts.get(account).is_stale != 0
            || match (stands, belongs) {
                (Some(Group::Keyed { is_long, key }), Some(Group::Keyed { is_long: side, key: now })) => {
                    let paid = self.adl_queues[index].paid(is_long);
                    is_long == side && key.entry == now.entry && key.may_become(now, paid)
                }
                (Some(Group::Loose { is_long }), Some(Group::Keyed { is_long: side, .. })) => is_long == side,
                _ => stands == belongs,
            }
    }

    /// Whether every order that is kept leads to everybody it is an order of, when their turn comes: each stands in it with the place
    /// it has, or in a region that is not looked into yet and promises no less, or waits for its place.
    pub(crate) fn check_rankings(&self) -> Result<(), String> {
        for Ranking { index, side, heap } in &self.rankings.made {
            let (index, side) = (*index, *side);
            let (mut places, mut regions) = (BTreeSet::new(), Vec::new());
            for &entry in heap {
                match entry {
                    Entry::Account(place) => _ = places.insert(place),
                    Entry::Region(bound, region) => regions.push((bound, region)),
                }
            }
            for account in 0..self.accounts_count {
                let Some(place) = self.place(account, index, side) else { continue };
                let leads = |&(bound, region): &(i128, Region)| {
                    bound >= place.score()
                        && self.adl_queues[index].leads_to(asks_longs(side), region, account)
                };
                let waits = self.accounts.get(account).is_stale != 0;
                if !waits && !places.contains(&place) && !regions.iter().any(leads) {
                    return Err(format!("an order of {} leads past account {account}", id_of(index)));
                }
            }
        }
        Ok(())
    }

    /// Starts to ask the counterparties of a closing of `side` on behalf of `from`.
    pub(crate) fn candidates(&mut self, from: AccountId, index: usize, side: Side) -> Candidates {
        while !self.rankings.unranked.is_empty() {
            self.rank_first();
        }
        let mut rankings = std::mem::take(&mut self.rankings);
        let made = rankings.made.iter().position(|ranking| (ranking.index, ranking.side) == (index, side));
        let place = made.unwrap_or_else(|| {
            let mut heap = rankings.spare.pop().unwrap_or_default();
            let place = |&account: &AccountId| self.place(account, index, side).map(Entry::Account);
            if self.tests_all {
                heap.extend(self.symbols[index].holders.iter().filter_map(|account| place(&account)));
            } else {
                heap.push(Entry::Region(i128::MAX, Region::ALL));
                heap.extend(self.adl_queues[index].loose(asks_longs(side)).iter().filter_map(place));
            }
            rankings.made.push(Ranking { index, side, heap });
            rankings.made.len() - 1
        });
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
            let place = match self.rankings.made[candidates.place].heap.pop()? {
                Entry::Account(place) => place,
                Entry::Region(_, region) => {
                    self.look_into(candidates.place, region);
                    continue;
                }
            };
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
        self.rankings.made[place].heap.extend(kept.drain(..).map(Entry::Account));
        self.rankings.kept = kept;
    }

    /// Enters what a region consists of into an order.
    fn look_into(&mut self, place: usize, region: Region) {
        let Ranking { index, side, .. } = self.rankings.made[place];
        let mut heap = std::mem::take(&mut self.rankings.made[place].heap);
        let (is_long, mark) = (asks_longs(side), self.mark(index));
        let paid = self.adl_queues[index].paid(is_long);
        self.adl_queues[index].open(is_long, region, |part| match part {
            Part::Region(part) => heap.push(Entry::Region(part.bound(is_long, mark, paid), part)),
            Part::Account(account) => heap.extend(self.place(account, index, side).map(Entry::Account)),
        });
        self.rankings.made[place].heap = heap;
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
