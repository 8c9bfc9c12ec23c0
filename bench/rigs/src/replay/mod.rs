//! Replays a recorded session through a running exchange and checks everything that comes back.
//!
//! The order in which requests reach the exchange decides fills. Requests are spread over many connections, and two
//! whose outcome could depend on their order ([`crate::data::script::Script::conflict`]) are never on the way at once:
//! the later is sent when the earlier has been answered, by which time the exchange has put it in its place. All
//! trading requests conflict with each other, so trades also come in the recorded order.
//!
//! - [`window`]: what may be sent now. [`cast`]: which account places which order. [`stage`]: the exchange made ready.
//! - [`run`]: sends, waits, kills and restarts. [`verdict`]: answers against expectations. [`audit`]: the whole state.

pub mod audit;
pub mod cast;
pub mod run;
pub mod stage;
pub mod verdict;
pub mod window;

/// Fee of resting orders in replayed markets, basis points.
pub const MAKER_FEE_BPS: u32 = 5;
/// Fee of arriving orders.
pub const TAKER_FEE_BPS: u32 = 10;
