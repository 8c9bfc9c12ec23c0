//! Spellings: how each API writes what the engine and the views hold. Names core, views and wire only; knows no socket, no HTTP
//! library and no runtime, so that every rule of spelling can be tested as a function of text.

/// Bodies of requests: their members as they were sent, nothing for those that were not.
#[macro_export]
macro_rules! body {
    ($($(#[$meta:meta])* $visibility:vis $name:ident { $($(#[$of:meta])* $member:ident),+ $(,)? })+) => {$(
        #[derive(Clone, Copy, Debug, serde::Deserialize)]
        #[serde(bound(deserialize = "'de: 'a"))]
        $(#[$meta])*
        $visibility struct $name<'a> {
            $($(#[$of])* $member: Option<&'a serde_json::value::RawValue>,)+
        }
    )+};
}

pub mod account;
pub mod fapi;
pub mod spot;

/// Whether a value asks for nothing, of a parameter that would make another order where it asked for something.
pub fn is_nothing(text: &str) -> bool {
    const WORDS: [&str; 5] = ["false", "none", "no_side_effect", "cross", "crossed"];
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
        || text.bytes().all(|byte| matches!(byte, b'0' | b'.'))
}
