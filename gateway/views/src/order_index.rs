//! Where each resting order stands: order id to slot number, without hashing.
//!
//! Order ids are dense and resting ones mostly recent, so a tree of two levels, pages by id in folders by id, is smaller
//! and faster than a map. A page goes when the last of its orders does, a folder with its last page unless it is the newest,
//! which would only be made again. A page costs 4 bytes for each of its ids, however few of them rest.

use ringside_core::ids::OrderId;

/// Ids of one page, and pages of one folder. Powers of two.
const PAGE: u64 = 256;
const FOLDER: u64 = 4096;
/// "Not resting."
const NONE: u32 = u32::MAX;

/// Slot numbers by order id.
#[derive(Clone, Debug, Default)]
pub struct OrderIndex {
    folders: Vec<Option<Folder>>,
    len: usize,
}

#[derive(Clone, Debug)]
struct Folder {
    pages: Box<[Option<Page>]>,
    /// How many there are.
    count: u32,
}

#[derive(Clone, Debug)]
struct Page {
    slots: Box<[u32; PAGE as usize]>,
    resting: u32,
}

/// Folder, page within it, place within that.
#[inline]
fn place_of(order: OrderId) -> (usize, usize, usize) {
    let page = order / PAGE;
    ((page / FOLDER) as usize, (page % FOLDER) as usize, (order % PAGE) as usize)
}

impl OrderIndex {
    /// The slot of an order.
    #[inline]
    pub fn get(&self, order: OrderId) -> Option<u32> {
        let (folder, page, place) = place_of(order);
        let page = self.folders.get(folder)?.as_ref()?.pages[page].as_ref()?;
        Some(page.slots[place]).filter(|slot| *slot != NONE)
    }

    /// Names the slot of an order that had none.
    pub fn insert(&mut self, order: OrderId, slot: u32) {
        let (folder, page, place) = place_of(order);
        if folder >= self.folders.len() {
            if let Some(newest) = self.folders.last_mut() {
                newest.take_if(|newest| newest.count == 0);
            }
            self.folders.resize(folder + 1, None);
        }
        let folder = self.folders[folder]
            .get_or_insert_with(|| Folder { pages: vec![None; FOLDER as usize].into(), count: 0 });
        let page = folder.pages[page].get_or_insert_with(|| {
            folder.count += 1;
            Page { slots: Box::new([NONE; PAGE as usize]), resting: 0 }
        });
        page.slots[place] = slot;
        page.resting += 1;
        self.len += 1;
    }

    /// Forgets an order; gives its slot.
    pub fn remove(&mut self, order: OrderId) -> Option<u32> {
        let (folder, page, place) = place_of(order);
        let is_newest = folder + 1 == self.folders.len();
        let at = self.folders.get_mut(folder)?;
        let folder = at.as_mut()?;
        let found = &mut folder.pages[page];
        let page = found.as_mut()?;
        let slot = std::mem::replace(&mut page.slots[place], NONE);
        if slot == NONE {
            return None;
        }
        page.resting -= 1;
        self.len -= 1;
        if page.resting == 0 {
            *found = None;
            folder.count -= 1;
            if folder.count == 0 && !is_newest {
                *at = None;
            }
        }
        Some(slot)
    }

    /// How many orders have a slot.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none has.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn behaves_as_a_map_and_lets_go_of_empty_pages() {
        let (mut index, mut model) = (OrderIndex::default(), BTreeMap::new());
        let mut random = 7u64;
        for order in 1..20_000u64 {
            index.insert(order, order as u32 * 3);
            model.insert(order, order as u32 * 3);
            for _ in 0..2 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let old = order.saturating_sub((random >> 33) % 3000);
                assert_eq!(index.get(old), model.get(&old).copied());
                assert_eq!(index.remove(old), model.remove(&old));
            }
            assert_eq!(index.len(), model.len());
        }
        model.keys().for_each(|order| assert!(index.remove(*order).is_some()));
        assert_eq!((index.len(), index.folders.len()), (0, 1));
        assert!(index.folders.iter().flatten().all(|folder| folder.count == 0), "all pages are let go");
        assert_eq!(index.get(u64::MAX), None);
    }

    #[test]
    fn what_is_held_does_not_grow_with_the_ids_that_were() {
        let mut index = OrderIndex::default();
        let stride = PAGE / 2;
        for place in 0..200_000u64 {
            index.insert(place * stride, 7);
            if place >= 1_000 {
                assert_eq!(index.remove((place - 1_000) * stride), Some(7));
            }
        }
        assert_eq!(index.len(), 1_000);
        let folders = |index: &OrderIndex| index.folders.iter().flatten().count();
        assert!(folders(&index) <= 2, "{} folders", folders(&index));
        for place in 199_000..200_000 {
            assert_eq!(index.remove(place * stride), Some(7));
        }
        // The newest stays, for the next order to come, and goes when it is not the newest any more.
        assert_eq!(folders(&index), 1);
        index.insert(200_000 * stride + PAGE * FOLDER, 7);
        assert_eq!(folders(&index), 1);
    }
}
