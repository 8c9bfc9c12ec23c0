//! One price: a queue of orders, oldest first, and the sum of what is open.

use super::pool::NONE;
use crate::money::Price;

/// See the module. Half a cache line.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Level {
    /// Sum of open quantities; more than an `i64` can hold.
    pub(crate) total: i128,
    pub(crate) price: Price,
    /// Oldest order.
    pub(crate) head: u32,
    /// Youngest order.
    pub(crate) tail: u32,
}

const _: () = assert!(size_of::<Level>() == 32);

impl Level {
    pub(crate) const fn empty(price: Price) -> Level {
        Level { total: 0, price, head: NONE, tail: NONE }
    }
}
