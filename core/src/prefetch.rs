//! A hint to the processor that memory will be read soon. It changes no state and no result.
#![allow(unsafe_code)]

/// Starts bringing the cache line at the start of `place` near; does nothing where the processor has no such hint.
#[inline(always)]
pub fn prefetch<T: ?Sized>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = core::ptr::from_ref(place).cast::<i8>();
        // SAFETY: a prefetch faults on no address and has no effect but on caches; the instruction belongs to the
        // baseline of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// So many records of a cache line each stay in the caches by themselves, and hints cost more than they save: with
/// 42,000 orders and 1,000 accounts commands took half as long again with hints, with a million of each half as long.
pub(crate) const NEAR: u32 = 1 << 16;

/// How deep a hint looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// What the command names: account, price, the place of an order.
    First,
    /// What that points to: the order, the last one at a price, the first on the other side.
    Second,
    /// And what that touches: neighbours in queues, its level, its owner.
    Third,
}

impl Hint {
    /// In the order in which they are given.
    pub const ALL: [Hint; 3] = [Hint::First, Hint::Second, Hint::Third];
}
