//! Names, addresses, hashes and ids as answers write them.

use crate::decimal::{text_of, write_integer};
use crate::json::PLAIN;
use crate::schema::{ADDRESS, HASH, SYMBOL, TOKEN, TRADE_ID, TX_HASH, UUID, pattern};
use crate::uuid::order_uuid;
use ringside_core::ids::text;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident($value:ident: $kind:ty) as $pattern:expr => $text:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name(pub $kind);

        impl Serialize for $name {
            #[inline]
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $name($value) = self;
                serializer.serialize_newtype_struct(PLAIN, $text)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                pattern($pattern)
            }
        }
    )*};
}

names! {
    /// Name of a market.
    Market(name: [u8; 20]) as SYMBOL => text(name);
    /// Name of a token.
    Token(name: [u8; 10]) as TOKEN => text(name);
    /// A wallet or a contract.
    Address(address: [u8; 20]) as ADDRESS => const_hex::Buffer::<20, true>::new().format(address);
    /// Id of an order.
    OrderUuid(order: u64) as UUID => str::from_utf8(&order_uuid(*order)).unwrap_or_default();
    /// Number of a trade.
    TradeId(trade: u64) as TRADE_ID => text_of(|out| write_integer(out, *trade)).as_str();
    /// Hash of a transaction.
    TxHash(hash: [u8; 32]) as TX_HASH => const_hex::Buffer::<32, true>::new().format(hash);
    /// A hash.
    Hash(hash: [u8; 32]) as HASH => const_hex::Buffer::<32>::new().format(hash);
}
