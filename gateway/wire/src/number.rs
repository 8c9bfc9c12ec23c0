//! Numbers as answers write them: each a type that says its unit and its form, is written without an allocation, and is described in
//! the document.

use crate::decimal::{Text, text_of, write_amount, write_entry, write_fixed, write_integer, write_total};
use crate::json::PLAIN;
use crate::schema::{DECIMAL, SIGNED, pattern};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt::{Display, Formatter, Result};

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident($($value:ident: $kind:ty),+) as $pattern:expr => $write:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name($(pub $kind),+);

        impl $name {
            /// As it is written.
            #[inline]
            pub fn text(self) -> Text {
                let $name($($value),+) = self;
                text_of(|out| $write(out, $($value),+))
            }
        }

        impl Display for $name {
            fn fmt(&self, f: &mut Formatter<'_>) -> Result {
                f.write_str(self.text().as_str())
            }
        }

        impl Serialize for $name {
            #[inline]
            fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.serialize_newtype_struct(PLAIN, self.text().as_str())
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

/// Described as another type is.
macro_rules! described {
    ([$($generics:tt)*] $name:ty as $other:ty) => {
        impl<$($generics)*> JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                <$other>::json_schema(generator)
            }
        }
    };
}

fn write_micros(out: &mut Text, micros: i64) {
    write_amount(out, i128::from(micros) * 1_000_000_000_000);
}

fn write_exact(out: &mut Text, value: i64) {
    write_fixed(out, value.into(), 8);
}

fn write_money(out: &mut Text, micros: i64) {
    write_fixed(out, i128::from(micros) * 100, 8);
}

fn write_money_or_zero(out: &mut Text, micros: i64) {
    if micros == 0 { write_integer(out, 0) } else { write_money(out, micros) }
}

numbers! {
    /// Steps of 10^-8, shortest form.
    Units(value: i64) as DECIMAL => write_entry;
    /// The same where it may be below zero.
    SignedUnits(value: i64) as SIGNED => write_entry;
    /// Sums of steps of 10^-8, shortest form.
    Total(value: i128) as DECIMAL => write_total;
    /// Micros, shortest form.
    Micros(value: i64) as DECIMAL => write_micros;
    /// The same where it may be below zero.
    SignedMicros(value: i64) as SIGNED => write_micros;
    /// Steps of 10^-18, shortest form.
    Amount(value: i128) as DECIMAL => write_amount;
    /// The same where it may be below zero.
    SignedAmount(value: i128) as SIGNED => write_amount;
    /// Steps of 10^-8 with exactly 8 decimals.
    Exact(value: i64) as DECIMAL => write_exact;
    /// The same where it may be below zero.
    SignedExact(value: i64) as SIGNED => write_exact;
    /// Micros with exactly 8 decimals.
    Money(value: i64) as DECIMAL => write_money;
    /// The same where it may be below zero.
    SignedMoney(value: i64) as SIGNED => write_money;
    /// The same, `0` for none.
    MoneyOrZero(value: i64) as SIGNED => write_money_or_zero;
    /// Steps of 10^-8 with exactly so many decimals; what lies beyond is cut.
    Fixed(value: i128, decimals: usize) as DECIMAL => write_fixed;
    /// The same where it may be below zero.
    SignedFixed(value: i128, decimals: usize) as SIGNED => write_fixed;
    /// An integer as text.
    Whole(value: i64) as DECIMAL => write_integer;
    /// The same where it may be below zero.
    SignedWhole(value: i64) as SIGNED => write_integer;
}

/// A text of a field padded with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<const N: usize>(pub [u8; N]);

impl<const N: usize> Serialize for Name<N> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(ringside_core::ids::text(&self.0))
    }
}

described!([const N: usize] Name<N> as String);

/// An integer as text, empty for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits(pub Option<u64>);

impl Serialize for Digits {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self.0 {
            Some(value) => {
                serializer.serialize_newtype_struct(PLAIN, text_of(|out| write_integer(out, value)).as_str())
            }
            None => serializer.serialize_str(""),
        }
    }
}

described!([] Digits as String);

/// Micros as a number of JSON: whole where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MicrosNumber(pub i64);

impl Serialize for MicrosNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self.0 % 1_000_000 {
            0 => serializer.serialize_i64(self.0 / 1_000_000),
            _ => serializer.serialize_f64(self.0 as f64 / 1e6),
        }
    }
}

described!([] MicrosNumber as f64);

/// Steps of 10^-4 as a number of JSON: whole where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bps(pub u32);

impl Serialize for Bps {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self.0 % 10_000 {
            0 => serializer.serialize_u32(self.0 / 10_000),
            _ => serializer.serialize_f64(f64::from(self.0) / 1e4),
        }
    }
}

described!([] Bps as f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_form() {
        for (number, text) in [
            (Units(900_000_000_000).to_string(), "9000"),
            (Units(38_500_000).to_string(), "0.385"),
            (Micros(450_000).to_string(), "0.45"),
            (Micros(0).to_string(), "0"),
            (SignedMicros(-1).to_string(), "-0.000001"),
            (SignedMoney(-450_000).to_string(), "-0.45000000"),
            (MoneyOrZero(-450_000).to_string(), "-0.45000000"),
            (MoneyOrZero(0).to_string(), "0"),
            (Money(i64::MAX).to_string(), "9223372036854.77580700"),
            (Amount(-1).to_string(), "-0.000000000000000001"),
            (Exact(1).to_string(), "0.00000001"),
            (Fixed(38_500_000, 3).to_string(), "0.385"),
            (Whole(200).to_string(), "200"),
        ] {
            assert_eq!(number, text);
        }
        let numbers = (SignedUnits(-5), Name(*b"BTC\0\0"), [MicrosNumber(2_000_000), MicrosNumber(500_000)]);
        assert_eq!(serde_json::to_string(&numbers).unwrap(), r#"["-0.00000005","BTC",[2,0.5]]"#);
    }
}
