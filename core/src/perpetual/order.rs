//! What an open perpetual order is beyond its record in the book: kept beside it, by slot.

use crate::command::{
    ClientOrder, PerpetualOrderType, PerpetualStatus, PerpetualTimeInForce, PriceMatch, SelfTradePrevention,
    Side, WorkingType, order_flag,
};
use crate::event::{Execution, PerpetualOrder};
use crate::ids::{AccountId, MarketId, OrderId};
use crate::money::{Money, Price, Quantity};
use crate::risk::perpetual::order_margin::Reservation;
use std::mem::offset_of;

/// Where an open order stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Stage {
    /// Attached, and its parent has no fill yet.
    #[default]
    Dormant = 0,
    /// Waits for its trigger.
    Waiting = 1,
    /// Being matched by the running command.
    Running = 2,
    /// In the book.
    Resting = 3,
}

/// See the module. Three cache lines: what a plain order is while it rests, trades and ends; what it reserves and is tied to; what
/// only one that waits for a trigger has, and the name, which is read where its hash does not do.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Details {
    pub(crate) id: OrderId,
    pub(crate) account: AccountId,
    pub(crate) market: MarketId,
    /// Limit price, resolved; 0 of market types.
    pub(crate) price: Price,
    /// As ordered.
    pub(crate) quantity: Quantity,
    pub(crate) filled: Quantity,
    /// Value of the fills.
    pub(crate) value: Money,
    pub(crate) side: Side,
    pub(crate) order_type: PerpetualOrderType,
    pub(crate) original_type: PerpetualOrderType,
    pub(crate) time_in_force: PerpetualTimeInForce,
    pub(crate) self_trade: SelfTradePrevention,
    pub(crate) working_type: WorkingType,
    pub(crate) price_match: PriceMatch,
    pub(crate) stage: Stage,
    pub(crate) flags: u16,
    pub(crate) amendments: u16,
    /// Part of it was taken away with the position.
    pub(crate) is_shortened: bool,
    /// Price protection holds it back, and that was told.
    pub(crate) is_deferred: bool,
    /// A trailing order that turned far enough.
    pub(crate) has_turned: bool,
    /// A trailing order that is due and waits to be run.
    pub(crate) is_queued: bool,
    /// What it reserved when it was accepted with `reserved_quantity`; zeros where it reserves nothing.
    pub(crate) reservation: Reservation,
    /// What `reservation` is of.
    pub(crate) reserved_quantity: Quantity,
    /// The hash of its name; 0 of one that ends with the command that brought it, and is in no table.
    pub(crate) name: u64,
    /// Attached orders, 0 for none.
    pub(crate) children: [OrderId; 2],
    pub(crate) good_till_ms: i64,
    pub(crate) client_order: ClientOrder,
    pub(crate) callback_rate: u32,
    pub(crate) stop_price: Price,
    /// Highest (sell) or lowest (buy) price since a trailing order became active.
    pub(crate) extreme: Price,
    pub(crate) parent: OrderId,
}

const _: () = assert!(
    offset_of!(Details, reservation) == 64
        && offset_of!(Details, client_order) == 128
        && size_of::<Details>() == 192
);

impl Default for Details {
    fn default() -> Details {
        Details {
            id: 0,
            account: 0,
            market: 0,
            price: 0,
            side: Side::Buy,
            order_type: PerpetualOrderType::Limit,
            original_type: PerpetualOrderType::Limit,
            time_in_force: PerpetualTimeInForce::GoodTillCancel,
            self_trade: SelfTradePrevention::None,
            working_type: WorkingType::ContractPrice,
            price_match: PriceMatch::None,
            stage: Stage::Dormant,
            is_shortened: false,
            is_deferred: false,
            has_turned: false,
            is_queued: false,
            flags: 0,
            callback_rate: 0,
            amendments: 0,
            quantity: 0,
            filled: 0,
            value: 0,
            stop_price: 0,
            extreme: 0,
            good_till_ms: 0,
            parent: 0,
            children: [0; 2],
            reservation: Reservation::default(),
            reserved_quantity: 0,
            name: 0,
            client_order: [0; 36],
        }
    }
}

impl Details {
    #[inline]
    pub(crate) fn is(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Whether it only shrinks the position.
    #[inline]
    pub(crate) fn reduces(&self) -> bool {
        self.is(order_flag::REDUCE_ONLY | order_flag::CLOSE_POSITION)
    }

    /// Whether it may not rest: what of it finds no other side ends.
    #[inline]
    pub(crate) fn is_immediate(&self) -> bool {
        self.order_type != PerpetualOrderType::Limit
            || matches!(
                self.time_in_force,
                PerpetualTimeInForce::ImmediateOrCancel | PerpetualTimeInForce::FillOrKill
            )
    }

    /// Whether it ends with the command that brought it, and is in no table.
    #[inline]
    pub(crate) fn is_fleeting(&self) -> bool {
        self.name == 0
    }

    /// Whether it waits for a trigger, or for its parent first.
    #[inline]
    pub(crate) fn waits(&self) -> bool {
        matches!(self.stage, Stage::Dormant | Stage::Waiting)
    }

    /// Whether an open order is of the classes of `order_class`.
    pub(crate) fn is_of(&self, classes: u32) -> bool {
        let class = if self.is(order_flag::CONDITIONAL_SERVICE) && self.waits() { 2 } else { 1 };
        classes & class != 0
    }

    /// The bit of a close-position order among those of its account and market.
    pub(crate) fn closer_bit(&self) -> u8 {
        1 << (self.side as u8 + 2 * u8::from(self.original_type == PerpetualOrderType::TakeProfitMarket))
    }

    /// Its event.
    #[inline(always)]
    pub(crate) fn event(
        &self,
        status: PerpetualStatus,
        execution: Execution,
        expiry_reason: u8,
        open: Quantity,
    ) -> PerpetualOrder {
        // Of others these are 0, which is known without a look at them.
        let waited = self.original_type.is_conditional();
        PerpetualOrder {
            order: self.id,
            account: self.account,
            market: self.market,
            side: self.side as u8,
            order_type: self.order_type as u8,
            original_type: self.original_type as u8,
            time_in_force: self.time_in_force as u8,
            status: status as u8,
            execution: execution as u8,
            expiry_reason,
            self_trade: self.self_trade as u8,
            working_type: self.working_type as u8,
            price_match: self.price_match as u8,
            flags: self.flags,
            callback_rate: if waited { self.callback_rate } else { 0 },
            price: self.price,
            quantity: self.quantity,
            filled: self.filled,
            open,
            value: self.value,
            stop_price: if waited { self.stop_price } else { 0 },
            good_till_ms: self.good_till_ms,
            parent: if waited { self.parent } else { 0 },
        }
    }

    /// Its status while it is open.
    pub(crate) fn open_status(&self) -> PerpetualStatus {
        if self.filled == 0 { PerpetualStatus::New } else { PerpetualStatus::PartiallyFilled }
    }
}

/// Whether a name is one: 1 to 36 of `[.A-Z:/a-z0-9_-]`, then zeros.
#[inline(never)]
pub(crate) fn is_name(name: &ClientOrder) -> bool {
    // `-./`, digits and `:` are neighbours.
    let is_listed = |byte: u8| {
        let is_letter = (byte | 0x20).wrapping_sub(b'a') < 26;
        is_letter | (byte.wrapping_sub(b'-') < 14) | (byte == b'_')
    };
    // What is not listed must be a zero, and what follows a zero as well. All bytes alike and without a branch, so that the
    // compiler looks at sixteen at a time; the last sixteen overlap those before them, and the very last has none behind it.
    let mut wrong = [0u8; 16];
    for at in [0, 16, 19] {
        let bytes = sixteen(name, at).into_iter().zip(sixteen(name, at + 1));
        for (wrong, (byte, next)) in wrong.iter_mut().zip(bytes) {
            *wrong |= if is_listed(byte) { 0 } else { byte | next };
        }
    }
    let last = name[35];
    let is_last_right = last == 0 || is_listed(last);
    (name[0] != 0) & (wrong.iter().fold(0, |sum, lane| sum | lane) == 0) & is_last_right
}

#[inline(always)]
fn sixteen(name: &ClientOrder, at: usize) -> [u8; 16] {
    match name.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(bytes) => *bytes,
        None => unreachable!("a name is longer"),
    }
}

/// The name of an attached order.
pub(crate) fn attached_name(parent: &ClientOrder, suffix: &[u8; 3]) -> ClientOrder {
    let mut name = [0; 36];
    let len = parent.iter().position(|&byte| byte == 0).unwrap_or(parent.len()).min(33);
    name[..len].copy_from_slice(&parent[..len]);
    name[len..len + 3].copy_from_slice(suffix);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_the_characters_that_the_documentation_lists() {
        let name = |text: &[u8]| {
            let mut name = [0; 36];
            name[..text.len()].copy_from_slice(text);
            is_name(&name)
        };
        for byte in 0..=u8::MAX {
            let is_listed = byte.is_ascii_alphanumeric() || b".:/_-".contains(&byte);
            assert_eq!(name(&[byte]), is_listed, "{byte}");
            assert_eq!(name(&[b'a', byte, b'b']), is_listed, "{byte} between two");
            assert_eq!(name(&[b'a', byte]), is_listed || byte == 0, "{byte} at the end");
        }
        assert!(!name(b""));
        assert!(name(&[b'z'; 36]));
        assert!(!name(b"a\0\0b"));
        for end in 1..36 {
            let mut long = [b'Z'; 36];
            long[end..].fill(0);
            assert!(is_name(&long), "{end}");
            long[35] = b'0';
            assert_eq!(is_name(&long), end == 35, "{end}");
            long[end..].fill(0);
            long[end - 1] = b'@';
            assert!(!is_name(&long), "{end}");
        }
    }
}
