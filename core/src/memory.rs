//! Large pieces of memory, and the advice to back them with huge pages: a million records of one cache line lie on
//! 16,000 small pages or on 31 huge ones, and a processor remembers where a few thousand pages are. It changes no state
//! and no result.
#![allow(unsafe_code)]

use zerocopy::FromZeros;

/// Which pages large pieces of memory are to lie on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pages {
    /// What the system gives unasked.
    #[default]
    Small,
    /// Huge ones, where the system has any to give to those who ask.
    Huge,
}

/// What is smaller than this is not worth asking for.
const WORTH_IT: usize = 2 << 20;

impl Pages {
    /// `len` values of all zeros, their memory taken. Empty where there is no room for them.
    pub(crate) fn zeroed<T: FromZeros + Clone>(self, len: usize) -> Box<[T]> {
        let mut values: Vec<T> = Vec::new();
        if values.try_reserve_exact(len).is_ok() {
            // Before anything is written: what was written on small pages stays there.
            self.advise(values.as_ptr().cast(), values.capacity() * size_of::<T>());
            values.resize(len, T::new_zeroed());
        }
        values.into_boxed_slice()
    }

    /// A vector of `len` default values with address space for `reserve`.
    pub fn reserved<T: Clone + Default>(self, len: usize, reserve: usize) -> Vec<T> {
        let mut values = self.room(reserve.max(len));
        values.resize(len, T::default());
        values
    }

    /// An empty vector with address space for `reserve` values.
    pub fn room<T>(self, reserve: usize) -> Vec<T> {
        let mut values: Vec<T> = Vec::new();
        // Refused, it grows by moving: slower, and no less right.
        let _ = values.try_reserve_exact(reserve);
        self.advise(values.as_ptr().cast(), values.capacity() * size_of::<T>());
        values
    }

    /// Asks the system to back memory of ours with huge pages. It may refuse, which changes nothing.
    fn advise(self, start: *const u8, len: usize) {
        if self == Pages::Small || len < WORTH_IT {
            return;
        }
        // The advice is for whole pages; those at the ends are shared with others.
        const PAGE: usize = 4096;
        let skipped = start.align_offset(PAGE);
        let len = len.saturating_sub(skipped) / PAGE * PAGE;
        #[cfg(all(target_os = "linux", not(miri)))]
        // SAFETY: the range is inside one allocation that the caller owns, so it is mapped; this advice moves pages but
        // leaves what is read from them and who may access them as it was.
        unsafe {
            libc::madvise(start.wrapping_add(skipped).cast_mut().cast(), len, libc::MADV_HUGEPAGE);
        }
        #[cfg(not(all(target_os = "linux", not(miri))))]
        let _ = (skipped, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_changes_no_content() {
        for pages in [Pages::Small, Pages::Huge] {
            let zeroed = pages.zeroed::<u64>(1 << 20);
            assert!(zeroed.len() == 1 << 20 && zeroed.iter().all(|value| *value == 0));
            let reserved: Vec<u32> = pages.reserved(3, 1 << 20);
            assert!(reserved == [0, 0, 0] && reserved.capacity() >= 1 << 20);
        }
    }
}
