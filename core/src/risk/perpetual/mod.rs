//! Perpetual: the arithmetic of margin, profit, fees, marks, funding and liquidation (`risk.md`), to the last micro.
//!
//! Pure functions and small plain structs: no account, book or clock is known here, nothing is allocated, nothing
//! panics. Sums and products are taken on `i128`; what leaves the range of its type is `None`, and the command that
//! asked is refused before a field changes. Prices, index and marks are [`Price`](crate::money::Price)s and
//! quantities [`Quantity`](crate::money::Quantity)s in steps of 10^-8, a position's quantity signed; money is
//! [`Money`](crate::money::Money), rates are [`Rate`](crate::money::Rate)s.
//!
//! Rounding goes against the account, and the difference stays inside the system; each function names its direction.
//! What the edge shows (entry, liquidation price, slippage) is public, so that it is never computed twice.

pub mod adl;
pub(crate) mod adl_region;
pub mod band;
pub(crate) mod bankruptcy;
pub mod bounds;
pub mod bracket;
pub mod fee;
pub mod funding;
pub mod impact;
pub(crate) mod index;
pub mod isolated;
pub(crate) mod mark;
pub mod order_margin;
pub mod position;
pub mod preview;
pub mod reduce_only;
pub(crate) mod settlement;
pub mod takeover;
#[cfg(test)]
mod total;
pub(crate) mod trigger;
pub mod units;
pub(crate) mod vip;
pub(crate) mod window;
