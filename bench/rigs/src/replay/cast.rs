//! Which account places which order: as many as wanted or needed, none with more open orders than an account may have,
//! buyers and sellers apart, so that no order ever meets one of its own account.

use crate::data::script::{Action, ImpliedBook, Script};

/// Open orders of one account in one market stay below this (the exchange allows 200, `spot.md` 12).
pub const OPEN_MAX: u32 = 150;

/// The accounts of a replay: the first half buys, the second half sells.
pub struct Cast {
    /// Account of each order.
    pub accounts: Vec<u32>,
    /// How many there are.
    pub count: u32,
}

impl Cast {
    /// Spreads the orders of `script` over at least `wanted` accounts, one after the other.
    pub fn new(script: &Script, wanted: u32) -> Cast {
        let per_side = (wanted.div_ceil(2)).max(peak(script).div_ceil(OPEN_MAX * 3 / 4)).max(1);
        let mut open = vec![0u32; 2 * per_side as usize];
        let mut next = [0u32; 2];
        let mut accounts = vec![0; script.orders.len()];
        let mut book = ImpliedBook::new(script);
        for step in &script.steps {
            for fill in script.fills_of(step) {
                let is_filled = book.open[fill.maker as usize] == fill.quantity;
                open[accounts[fill.maker as usize] as usize] -= u32::from(is_filled);
            }
            match step.action {
                Action::Place | Action::PlaceImmediate => {
                    let side = usize::from(!script.orders[step.order as usize].is_buy);
                    // One side's orders never exceed three quarters of its accounts' room, so one has room.
                    let account = loop {
                        let account = side as u32 * per_side + next[side];
                        next[side] = (next[side] + 1) % per_side;
                        if open[account as usize] < OPEN_MAX {
                            break account;
                        }
                    };
                    accounts[step.order as usize] = account;
                    open[account as usize] += u32::from(step.action == Action::Place && step.left > 0);
                }
                Action::Cancel => open[accounts[step.order as usize] as usize] -= u32::from(step.left > 0),
            }
            book.apply(step);
        }
        Cast { accounts, count: 2 * per_side }
    }
}

/// Most orders of one side resting at once.
fn peak(script: &Script) -> u32 {
    let (mut resting, mut peak) = ([0u32; 2], 0);
    let mut book = ImpliedBook::new(script);
    for step in &script.steps {
        let side = |order: u32| usize::from(!script.orders[order as usize].is_buy);
        for fill in script.fills_of(step) {
            resting[side(fill.maker)] -= u32::from(book.open[fill.maker as usize] == fill.quantity);
        }
        match step.action {
            Action::Place => resting[side(step.order)] += u32::from(step.left > 0),
            Action::PlaceImmediate => {}
            Action::Cancel => resting[side(step.order)] -= u32::from(step.left > 0),
        }
        peak = peak.max(resting[0]).max(resting[1]);
        book.apply(step);
    }
    peak
}
