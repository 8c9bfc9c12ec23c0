//! Which scopes a moved mark may have brought below maintenance, without looking at all of them.
//!
//! Each position carries a threshold: while every mark of its scope stays on the safe side of its own threshold, the
//! scope's equity cannot be below its maintenance margin. A market keeps its positions in two heaps by threshold, long
//! ones by the highest first, short ones by the lowest, so a move finds exactly those whose threshold it passed. A
//! threshold is an estimate on the safe side and is not state: an engine restored from a snapshot tests every
//! position once, and comes to the same result.

use super::account::Holding;
use crate::account::Sparse;
use crate::ids::AccountId;
use crate::money::Price;

/// One heap: smallest key first, with the place of each account kept in its holding.
#[derive(Default)]
struct Heap {
    cells: Vec<(Price, AccountId)>,
}

/// Both heaps of a market. Keys of long positions are negated thresholds.
#[derive(Default)]
struct Market {
    longs: Heap,
    shorts: Heap,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Bands {
    markets: Vec<Market>,
}

type Holdings = Sparse<Holding, 256>;

impl Heap {
    fn place(&self, holdings: &mut Holdings, at: usize) {
        holdings.get_mut(self.cells[at].1).band = at as u32 + 1;
    }

    fn up(&mut self, holdings: &mut Holdings, mut at: usize) {
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.cells[parent].0 <= self.cells[at].0 {
                break;
            }
            self.cells.swap(parent, at);
            self.place(holdings, at);
            at = parent;
        }
        self.place(holdings, at);
    }

    fn down(&mut self, holdings: &mut Holdings, mut at: usize) {
        loop {
            let first = at * 4 + 1;
            let last = (first + 4).min(self.cells.len());
            let Some(least) = (first..last).min_by_key(|&child| self.cells[child].0) else { break };
            if self.cells[least].0 >= self.cells[at].0 {
                break;
            }
            self.cells.swap(least, at);
            self.place(holdings, at);
            at = least;
        }
        self.place(holdings, at);
    }

    fn set(&mut self, holdings: &mut Holdings, account: AccountId, key: Price) {
        let at = holdings.get(account).band as usize;
        if at == 0 {
            self.cells.push((key, account));
            self.up(holdings, self.cells.len() - 1);
            return;
        }
        let before = std::mem::replace(&mut self.cells[at - 1].0, key);
        if key < before { self.up(holdings, at - 1) } else { self.down(holdings, at - 1) }
    }

    fn remove(&mut self, holdings: &mut Holdings, account: AccountId) {
        let at = holdings.get(account).band as usize;
        if at == 0 {
            return;
        }
        holdings.get_mut(account).band = 0;
        let Some(last) = self.cells.pop() else { return };
        if at - 1 < self.cells.len() {
            let before = std::mem::replace(&mut self.cells[at - 1], last);
            if last.0 < before.0 { self.up(holdings, at - 1) } else { self.down(holdings, at - 1) }
        }
    }
}

impl Bands {
    /// Adds a market.
    pub(crate) fn list(&mut self) {
        self.markets.push(Market::default());
    }

    /// Gives a position its threshold. `was_long`: the side of the heap it stood in, if it stood in one.
    pub(crate) fn set(
        &mut self,
        holdings: &mut Holdings,
        index: usize,
        account: AccountId,
        is_long: bool,
        threshold: Price,
    ) {
        holdings.get_mut(account).threshold = threshold;
        let market = &mut self.markets[index];
        if is_long {
            market.longs.set(holdings, account, -threshold);
        } else {
            market.shorts.set(holdings, account, threshold);
        }
    }

    /// Takes a position out that was long or short.
    pub(crate) fn remove(
        &mut self,
        holdings: &mut Holdings,
        index: usize,
        account: AccountId,
        was_long: bool,
    ) {
        let market = &mut self.markets[index];
        if was_long {
            market.longs.remove(holdings, account)
        } else {
            market.shorts.remove(holdings, account)
        }
    }

    /// Shows `found` every account whose threshold a mark has passed. Thresholds stay as they are.
    pub(crate) fn passed(&self, index: usize, mark: Price, mut found: impl FnMut(AccountId)) {
        let market = &self.markets[index];
        for (heap, key) in [(&market.longs, -mark), (&market.shorts, mark)] {
            // The cells with keys below: a subtree from the root, walked in order of places.
            visit(heap, 0, key, &mut found);
        }
    }
}

/// Walks the cells of a heap whose keys are below `key`.
fn visit(heap: &Heap, place: usize, key: Price, found: &mut impl FnMut(AccountId)) {
    let Some(&(threshold, account)) = heap.cells.get(place) else { return };
    if threshold >= key {
        return;
    }
    found(account);
    for child in place * 4 + 1..place * 4 + 5 {
        visit(heap, child, key, found);
    }
}
