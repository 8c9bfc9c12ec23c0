//! Where a resting order is: order id -> slot. Ids are dense and ascending, so the index is pages of consecutive
//! ids; a page lives while one of its orders does.

use super::pool::NONE;
use super::table::Table;
use crate::ids::OrderId;

/// Ids per page.
const PAGE: usize = 512;

#[derive(Clone)]
struct Page {
    slots: [u32; PAGE],
    live: u32,
}

/// See the module. Memory: 4 bytes per id of every page with a live order; at worst one page per resting order.
pub(crate) struct Index {
    /// Number of a page (`id / PAGE`) -> place in `pages`.
    places: Table<u32>,
    // Boxed, so that growing copies addresses and no page.
    #[allow(clippy::vec_box)]
    pages: Vec<Box<Page>>,
    free: Vec<u32>,
    /// The page that new ids fall into; it is not given back while it is this.
    newest: u64,
    newest_place: u32,
}

impl Index {
    /// An index with memory for `capacity` resting orders.
    pub(crate) fn new(capacity: usize) -> Index {
        // Resting orders lie scattered among ids of orders that ended: room for eight ids each.
        let pages = capacity * 8 / PAGE + 2;
        let mut index = Index {
            places: Table::new(pages),
            pages: Vec::with_capacity(pages),
            free: Vec::with_capacity(pages),
            newest: u64::MAX,
            newest_place: 0,
        };
        for place in 0..pages {
            index.pages.push(Index::page());
            index.free.push((pages - 1 - place) as u32);
        }
        index
    }

    fn page() -> Box<Page> {
        Box::new(Page { slots: [NONE; PAGE], live: 0 })
    }

    /// The slot of an order, or `NONE`.
    #[inline]
    pub(crate) fn find(&self, id: OrderId) -> u32 {
        match self.places.find(id / PAGE as u64) {
            Some(place) => self.pages[place as usize].slots[id as usize % PAGE],
            None => NONE,
        }
    }

    /// The cell that `find` will read, for a prefetch hint.
    #[inline]
    pub(crate) fn hint(&self, id: OrderId) -> Option<&u32> {
        let place = self.places.find(id / PAGE as u64)?;
        Some(&self.pages[place as usize].slots[id as usize % PAGE])
    }

    /// Enters an order.
    #[inline]
    pub(crate) fn insert(&mut self, id: OrderId, slot: u32) {
        if id / PAGE as u64 != self.newest {
            self.turn(id / PAGE as u64);
        }
        let page = &mut self.pages[self.newest_place as usize];
        debug_assert!(page.slots[id as usize % PAGE] == NONE && slot != NONE);
        page.slots[id as usize % PAGE] = slot;
        page.live += 1;
    }

    /// Makes `number` the newest page.
    #[cold]
    fn turn(&mut self, number: u64) {
        let left = self.newest;
        if left != u64::MAX && self.pages[self.newest_place as usize].live == 0 {
            self.places.remove(left);
            self.free.push(self.newest_place);
        }
        self.newest = number;
        self.newest_place = match self.places.find(number) {
            Some(place) => place,
            None => {
                let place = self.free.pop().unwrap_or_else(|| {
                    self.pages.push(Index::page());
                    // Room to give every page back, so that giving back never allocates.
                    self.free.reserve(self.pages.len());
                    (self.pages.len() - 1) as u32
                });
                *self.places.entry(number) = place;
                place
            }
        };
    }

    /// Takes an order out that is in.
    #[inline]
    pub(crate) fn remove(&mut self, id: OrderId) {
        let number = id / PAGE as u64;
        let place = match self.places.find(number) {
            Some(place) => place,
            None => unreachable!("a resting order is in the index"),
        };
        let page = &mut self.pages[place as usize];
        debug_assert!(page.slots[id as usize % PAGE] != NONE);
        page.slots[id as usize % PAGE] = NONE;
        page.live -= 1;
        if page.live == 0 && number != self.newest {
            self.release(number, place);
        }
    }

    #[cold]
    fn release(&mut self, number: u64, place: u32) {
        self.places.remove(number);
        self.free.push(place);
    }

    /// Checks counts and that free pages are empty; the sum of live orders.
    pub(crate) fn check(&self) -> Result<usize, String> {
        let mut live = 0;
        for (place, page) in self.pages.iter().enumerate() {
            let used = page.slots.iter().filter(|&&slot| slot != NONE).count();
            if used != page.live as usize {
                return Err(format!("page {place} of the index counts {} but holds {used}", page.live));
            }
            live += used;
        }
        for &place in &self.free {
            if self.pages[place as usize].live != 0 {
                return Err(format!("free page {place} of the index is not empty"));
            }
        }
        if self.places.len() + self.free.len() != self.pages.len() {
            return Err("pages of the index are lost".into());
        }
        Ok(live)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_reused_once_their_orders_ended() {
        let mut index = Index::new(0);
        let taken = index.pages.len();
        for id in 1..100_000u64 {
            index.insert(id, id as u32);
            assert_eq!(index.find(id), id as u32);
            if id > 700 {
                index.remove(id - 700);
                assert_eq!(index.find(id - 700), NONE);
            }
        }
        assert_eq!(index.check().unwrap(), 700);
        assert!(index.pages.len() <= taken + 2, "{} pages", index.pages.len());
        assert_eq!(index.find(5_000_000), NONE);
    }
}
