//! Memory for what an order that arrives would trade: worked out by `engine/perpetual/meetings.rs` and `rehearse.rs`, empty between
//! commands.

use super::Standing;
use super::account::{Account, Holding};
use super::bands::Threshold;
use crate::book::Mutation;
use crate::ids::AccountId;
use crate::money::{Money, Quantity, Rate};
use crate::risk::perpetual::position::Position;

/// Most fills of one order that are worked out.
pub(crate) const FILLS_MAX: usize = 64;

/// One fill.
#[derive(Clone, Copy)]
pub(crate) struct Planned {
    pub(crate) value: Money,
    pub(crate) maker_fee: Money,
    pub(crate) taker_fee: Money,
    pub(crate) maker_realised: Money,
    pub(crate) taker_realised: Money,
    /// The hash of the maker's name, where it is filled.
    pub(crate) name: u64,
    /// An earlier fill was the maker's too: its order margin is told between them.
    pub(crate) meets_again: bool,
}

/// How an account stands after the fills so far.
#[derive(Clone, Copy)]
pub(crate) struct Party {
    pub(crate) account: AccountId,
    pub(crate) is_maker: bool,
    pub(crate) position: Position,
    pub(crate) open_fees: Money,
    pub(crate) realised: Money,
    pub(crate) wallet: Money,
    /// At which its scopes must be tested, once all fills are known; `None` where that takes a look at other markets.
    pub(crate) threshold: Option<Threshold>,
    /// Its cross positions in other markets, without the wallet.
    pub(crate) others: Standing,
    /// Notional of its position, and equity, where the last fill asked for them.
    pub(crate) standing: Option<(Money, Money)>,
    /// What its side of a fill pays.
    pub(crate) rate: Rate,
    /// Value of its fills.
    pub(crate) traded: Money,
}

/// Memory for the meetings of one order.
pub(crate) struct Meetings {
    /// In the order of the fills.
    pub(crate) fills: Vec<Planned>,
    /// The makers as they are met, then the order's account.
    pub(crate) parties: Vec<Party>,
    /// Accounts of the parties, ascending, each above its place among them.
    pub(crate) ascending: Vec<u64>,
    /// Levels, as the match leaves them.
    pub(crate) mutations: Vec<Mutation>,
    /// Filled quantity and value over all.
    pub(crate) filled: Quantity,
    pub(crate) value: Money,
}

impl Meetings {
    pub(crate) fn new() -> Meetings {
        Meetings {
            fills: Vec::with_capacity(FILLS_MAX),
            parties: Vec::with_capacity(FILLS_MAX + 1),
            ascending: Vec::with_capacity(FILLS_MAX + 1),
            mutations: Vec::with_capacity(FILLS_MAX),
            filled: 0,
            value: 0,
        }
    }
}

/// An account as it was before a fill.
#[derive(Clone, Copy)]
pub(crate) struct Before {
    pub(crate) account: AccountId,
    pub(crate) record: Account,
    pub(crate) holding: Holding,
}
