//! The command that moves what is the venue's own: the insurance fund and the fee accounts (`account.md` 13).

use super::*;

body! {
    /// See [`Kind::MoveTreasury`]. What leaves one place comes to the other, to the unit: nothing is made. Rejects: Malformed (a byte
    /// outside [`TreasuryPlace`], both ends the same, an account named at an end that is none), MarketNotFound (no such asset),
    /// AccountNotFound (the fee account is none), InvalidAmount (not above 0; where the fund or the perpetual fees are an end: not
    /// the margin asset, no whole micros, more than one transfer may move; or a sum out of range), WithdrawalsPaused (out of a fund
    /// in deficit), InsufficientBalance (less is available on the spot ledger), CrossInsufficient (the fund or the perpetual fees
    /// have less to give).
    pub struct MoveTreasury {
        /// Whose spot balance it leaves, or 0.
        pub from_account: AccountId,
        /// Whose spot balance it comes to, or 0.
        pub to_account: AccountId,
        /// How much.
        pub amount: RawAmount,
        /// Of which asset.
        pub asset: AssetName,
        /// A [`TreasuryPlace`].
        pub from: u8,
        /// A [`TreasuryPlace`].
        pub to: u8,
        pub reserved: [u8; 4],
    }
}

byte_enum! {
    /// Where the venue's money lies, or an account's.
    pub enum TreasuryPlace {
        /// An account's available spot balance.
        Account = 0,
        /// The insurance fund's wallet, whole micros of the margin asset.
        Fund = 1,
        /// The fees that spot trades paid: the fee account's available balance.
        SpotFees = 2,
        /// The fees that perpetual trades paid, whole micros of the margin asset.
        PerpetualFees = 3,
    }
}

impl TreasuryPlace {
    /// Whether its money is the perpetual ledger's.
    pub const fn is_perpetual(self) -> bool {
        matches!(self, TreasuryPlace::Fund | TreasuryPlace::PerpetualFees)
    }
}
