//! Spellings: how each API writes what the engine and the views hold. Names core and views only; knows no socket, no
//! status type of an HTTP library and no runtime, so that every rule of spelling can be tested as a function of text.

pub mod account;
pub mod address;
pub mod decimal;
pub mod fapi;
pub mod spot;

/// Which API: how its routes spell what they refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `{"error","message"}`.
    Spot,
    /// `{"code","msg"}`, the code a number.
    Fapi,
    /// `{"code","message"}`, the code a name (`account.md` 1).
    Account,
}

impl Dialect {
    /// All, in the order of their numbers.
    pub const ALL: [Dialect; 3] = [Dialect::Spot, Dialect::Fapi, Dialect::Account];

    /// Its name in figures.
    pub const fn name(self) -> &'static str {
        match self {
            Dialect::Spot => "spot",
            Dialect::Fapi => "fapi",
            Dialect::Account => "account",
        }
    }
}
