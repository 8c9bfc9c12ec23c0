//! Order ids as UUIDs and back: a reversible spelling, so that no table of ids is needed.
//!
//! ```text
//! 01234567-89ab-8cde-Vfff-ffffffffffff      version 8, variant 10
//! `-- order id, 60 bits -'  `-- check, 62 bits
//! ```
//! Ids in order of time are UUIDs in order of text. The check makes every other UUID one of an order that does not exist;
//! it is no secret and protects nothing: who may see an order is decided by its account.

use ringside_core::ids::OrderId;

/// Characters of a UUID.
pub const LEN: usize = 36;

/// Bits of an order id that the spelling holds.
const ID_BITS: u32 = 60;
/// Version 8 of RFC 9562, in place.
const VERSION: u128 = 8 << 76;
/// The variant of RFC 9562, in place.
const VARIANT: u128 = 0b10 << 62;
const CHECK_MASK: u64 = (1 << 62) - 1;

/// The UUID of an order, lower case with hyphens.
pub fn order_uuid(order: OrderId) -> [u8; LEN] {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let value = value_of(order);
    let mut text = [b'-'; LEN];
    let mut shift = 128;
    for (index, place) in text.iter_mut().enumerate() {
        if !is_hyphen(index) {
            shift -= 4;
            *place = HEX[(value >> shift) as usize & 15];
        }
    }
    text
}

/// The UUID of an order as text.
pub fn order_uuid_text(order: OrderId) -> String {
    String::from_utf8_lossy(&order_uuid(order)).into_owned()
}

/// A UUID that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParsedUuid {
    /// One that an order of this deployment could have.
    Order(OrderId),
    /// A UUID of something else.
    Foreign,
}

/// Reads a UUID of any case; `None` for text that is none.
pub fn parse(text: &str) -> Option<ParsedUuid> {
    if text.len() != LEN {
        return None;
    }
    let mut value = 0u128;
    for (index, byte) in text.bytes().enumerate() {
        if is_hyphen(index) {
            if byte != b'-' {
                return None;
            }
            continue;
        }
        value = value << 4 | u128::from(char::from(byte).to_digit(16)?);
    }
    let order = ((value >> 80) as u64) << 12 | (value >> 64) as u64 & 0xfff;
    Some(if value == value_of(order) { ParsedUuid::Order(order) } else { ParsedUuid::Foreign })
}

const fn is_hyphen(index: usize) -> bool {
    matches!(index, 8 | 13 | 18 | 23)
}

fn value_of(order: OrderId) -> u128 {
    debug_assert!(order >> ID_BITS == 0, "order ids stay below 2^53");
    let high = u128::from(order >> 12) << 80;
    let low = u128::from(order & 0xfff) << 64;
    high | VERSION | low | VARIANT | u128::from(check(order))
}

/// 62 bits that depend on every bit of the id: two rounds of multiply and shift.
fn check(order: OrderId) -> u64 {
    let mut value = order ^ 0x5bd1_e995_7b93_a1c7;
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        value ^= value >> 33;
        value = value.wrapping_mul(factor);
    }
    (value ^ value >> 33) & CHECK_MASK
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_spelling_is_fixed() {
        // Ids are in clients' hands for good: this text must never change.
        assert_eq!(order_uuid_text(1), "00000000-0000-8001-bb68-693ff2dce9d5");
    }

    #[test]
    fn other_uuids_are_foreign_and_other_text_is_none() {
        for text in [
            "00000000-0000-0000-0000-000000000000",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
            "123e4567-e89b-12d3-a456-426614174000",
            "00000000-0000-8001-bb68-693ff2dce9d6",
            "00000000-0000-8001-8000-000000000000",
        ] {
            assert_eq!(parse(text), Some(ParsedUuid::Foreign), "{text}");
        }
        for text in [
            "",
            "1",
            "00000000000080018000000000000000",
            "{00000000-0000-8001-8000-000000000000}",
            "00000000-0000-8001-8000-00000000000g",
            "00000000_0000-8001-8000-000000000000",
            "0000000-00000-8001-8000-000000000000",
            "00000000-0000-8001-8000-0000000000é",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn ids_read_back_and_keep_their_order(a in 0u64..1 << 53, b in 0u64..1 << 53) {
            let (first, second) = (order_uuid_text(a), order_uuid_text(b));
            prop_assert_eq!(parse(&first), Some(ParsedUuid::Order(a)));
            prop_assert_eq!(parse(&first.to_uppercase()), Some(ParsedUuid::Order(a)));
            prop_assert_eq!(first.cmp(&second), a.cmp(&b));
            prop_assert_eq!(&first[14..15], "8");
            prop_assert!(matches!(first.as_bytes()[19], b'8' | b'9' | b'a' | b'b'));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
            let _ = parse(&text);
        }

        #[test]
        fn a_changed_digit_is_foreign(id in 1u64..1 << 53, index in 0usize..LEN, digit in 0u32..16) {
            let mut text = order_uuid(id);
            prop_assume!(!is_hyphen(index));
            text[index] = char::from_digit(digit, 16).expect("a digit") as u8;
            let text = String::from_utf8(text.to_vec()).expect("hex");
            prop_assume!(text != order_uuid_text(id));
            prop_assert_eq!(parse(&text), Some(ParsedUuid::Foreign));
        }
    }
}
