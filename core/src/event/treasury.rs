//! What was moved of the venue's own money.

use super::*;

payload! {
    /// See [`Kind::TreasuryMoved`]. Behind the postings and balances that say what both ends now have.
    pub struct TreasuryMoved {
        /// How much.
        pub amount: RawAmount,
        /// Whose spot balance it left, or 0.
        pub from_account: AccountId,
        /// Whose spot balance it came to, or 0.
        pub to_account: AccountId,
        /// Of which asset.
        pub asset: AssetId,
        /// A [`crate::command::TreasuryPlace`].
        pub from: u8,
        /// A [`crate::command::TreasuryPlace`].
        pub to: u8,
        pub reserved: [u8; 4],
    }
}
