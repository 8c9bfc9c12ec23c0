//! Values by account. The engine gives ids in order, so each value has its place, a page of neighbours at a time: a command that goes
//! through all accounts in their order goes through memory in its order, where a hash would have it jump with each.

/// Values of one page.
const PAGE: usize = 64;

type Page<T> = Box<[Option<T>; PAGE]>;

/// See the module. Pages are there from where one of their values first is.
#[derive(Clone, Debug)]
pub struct DenseMap<T> {
    pages: Vec<Option<Page<T>>>,
    len: usize,
}

impl<T> Default for DenseMap<T> {
    fn default() -> DenseMap<T> {
        DenseMap { pages: Vec::new(), len: 0 }
    }
}

impl<T> DenseMap<T> {
    /// The value of an id.
    #[inline]
    pub fn get(&self, id: u32) -> Option<&T> {
        self.pages.get(id as usize / PAGE)?.as_ref()?[id as usize % PAGE].as_ref()
    }

    /// The value of an id, to change.
    #[inline]
    pub fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        self.pages.get_mut(id as usize / PAGE)?.as_mut()?[id as usize % PAGE].as_mut()
    }

    /// The value of an id; where there is none, the one that `make` makes.
    #[inline]
    pub fn get_or_insert_with(&mut self, id: u32, make: impl FnOnce() -> T) -> &mut T {
        let page = id as usize / PAGE;
        if self.pages.get(page).is_none_or(Option::is_none) {
            self.open(page);
        }
        let Some(Some(page)) = self.pages.get_mut(page) else { unreachable!("it was opened") };
        let place = &mut page[id as usize % PAGE];
        self.len += usize::from(place.is_none());
        place.get_or_insert_with(make)
    }

    #[cold]
    fn open(&mut self, page: usize) {
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        self.pages[page] = Some(Box::new(std::array::from_fn(|_| None)));
    }

    /// Takes the value of an id out.
    #[inline]
    pub fn remove(&mut self, id: u32) -> Option<T> {
        let value = self.pages.get_mut(id as usize / PAGE)?.as_mut()?[id as usize % PAGE].take();
        self.len -= usize::from(value.is_some());
        value
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All values with their ids, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let pages = (0..).step_by(PAGE).zip(&self.pages);
        let pages = pages.filter_map(|(first, page)| Some((first, page.as_ref()?)));
        pages.flat_map(|(first, page)| {
            (first..).zip(page.iter()).filter_map(|(id, value)| Some((id, value.as_ref()?)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn it_is_a_map() {
        let (mut paged, mut plain) = (DenseMap::default(), BTreeMap::new());
        for step in 0..20_000_u32 {
            let id = step.wrapping_mul(2_654_435_761) >> 20;
            if step % 3 == 0 {
                assert_eq!(paged.remove(id), plain.remove(&id));
            } else {
                assert_eq!(paged.get_or_insert_with(id, || step), plain.entry(id).or_insert(step));
            }
            let other = step % 4_200;
            assert_eq!((paged.get(other), paged.len()), (plain.get(&other), plain.len()));
            assert_eq!(paged.get_mut(other), plain.get_mut(&other));
            assert_eq!(paged.is_empty(), plain.is_empty());
        }
        assert!(paged.iter().eq(plain.iter().map(|(id, value)| (*id, value))));
    }
}
