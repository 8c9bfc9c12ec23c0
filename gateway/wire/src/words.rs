//! Words for what the engine has numbers for: one list serves writing, reading and the document.

/// A type of words: each line a word and the values that it stands for, of which reading gives the first.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident of $core:ident { $($word:literal = $first:ident $(| $more:ident)*),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name(&'static str);

        impl serde::Serialize for $name {
            #[inline]
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_newtype_struct($crate::json::PLAIN, self.0)
            }
        }

        impl $name {
            /// All, as they are listed.
            pub const ALL: &'static [&'static str] = &[$($word),*];

            /// The word of a value.
            pub const fn of(value: $core) -> $name {
                match value {
                    $($core::$first $(| $core::$more)* => $name($word),)*
                }
            }

            /// The word of a code; empty where the engine knows none.
            pub fn of_code<C: Into<u32>>(code: C) -> $name {
                let code = u8::try_from(code.into()).ok();
                code.and_then($core::from_code).map_or($name(""), $name::of)
            }

            /// The value of a word.
            pub fn read(word: &str) -> Option<$core> {
                match word {
                    $($word => Some($core::$first),)*
                    _ => None,
                }
            }

            /// The value of a word of any case.
            pub fn read_any_case(word: &str) -> Option<$core> {
                $name::ALL.iter().find(|known| known.eq_ignore_ascii_case(word)).and_then(|known| $name::read(known))
            }

            /// The word itself.
            pub const fn text(self) -> &'static str {
                self.0
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": $name::ALL })
            }
        }
    )*};
}

pub(crate) use words;
