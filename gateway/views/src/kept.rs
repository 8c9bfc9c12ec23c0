//! Lists that are kept on disk, and the versions of their rows.
//!
//! [`Kept`] is the table of all lists, in the archive and in snapshots of the views. What is written bears the version of its rows: a
//! pack of the archive has a column for it, a snapshot begins with the versions of all its lists ([`super::codec`]). A version that
//! was ever written never changes; what is written is of the newest, what is read of any. How rows lie: `stored`.

/// A list of the table.
struct Entry {
    name: &'static str,
    /// First format of snapshots that has it.
    since: u64,
    /// Bytes of a row, by version; 0 where the list writes itself.
    lens: &'static [usize],
}

/// The table: of each list its name, the first format of snapshots that has it, and what it is: one that writes itself, in so many
/// versions, or rows of so many bytes, by version. Append, never take away or move. Behind the arrow stand histories, by their numbers
/// in the archive, with their rows:
/// - a `log` of the perpetual side that is no more than that, with its name, the part of a snapshot that it stands in (3 for those to
///   come) and the event, if it is one, that makes its rows ([`super::log::OfEvent`]);
/// - a `list` that another view has; `same` is one of rows that have a list already.
macro_rules! table {
    ($use:ident) => {
        $use! {
            Accounts "accounts" since 3, by hand 1;
            Assets "assets" since 3, by hand 1;
            Markets "markets" since 3, by hand 1;
            OpenOrders "open spot orders" since 3, by hand 1;
            Levels "levels of books" since 3, by hand 1;
            Balances "balances" since 3, by hand 1;
            Outcomes "outcomes of placements" since 3, by hand 1;
            OutcomeOrders "orders of outcomes" since 3, rows of 72;
            OutcomeTrades "trades of outcomes" since 3, rows of 88;
            Credits "credits" since 3, by hand 1;
            Klines "spot candles" since 3, by hand 1;
            Tickers "spot days" since 3, by hand 1;
            EndedOrders "ended spot orders" since 3, by hand 1;
            SpotTrades "spot trades" since 3, by hand 1;
            SpotFills "spot fills" since 3, by hand 1;
            Withdrawals "withdrawals" since 3, by hand 2;
            Vaults "vaults" since 3, by hand 1;
            Alarms "alarms of releases" since 3, rows of 96;
            Judged "judgements of withdrawals" since 3, rows of 48;
            PerpetualMarkets "perpetual markets" since 6, by hand 2;
            Brackets "brackets" since 6, rows of 40;
            Prices "prices" since 6, rows of 64;
            Sources "sources of indices" since 6, rows of 24;
            PerpetualAccounts "perpetual accounts" since 6, by hand 1;
            Tiers "fee tiers" since 6, rows of 32;
            Terms "terms of accounts" since 6, rows of 48;
            VipChanges "changes of fee tiers" since 6, rows of 32;
            Holdings "positions" since 6, rows of 136;
            Orders "orders" since 6, rows of 160, 168
                => list Orders = 1 of perpetual::order::OrderRecord at perpetuals.orders.ended
                same ServiceOrders = 2 of perpetual::order::OrderRecord at perpetuals.orders.service
                list ForcedOrders = 3 of perpetual::order::ForcedRecord at perpetuals.orders.forced;
            Fills "fills" since 6, rows of 80
                => log Fills = 4 of perpetual::rows::FillRecord as fills in 0;
            Income "income" since 6, rows of 80
                => log Income = 5 of perpetual::rows::IncomeRecord as income in 0;
            Amendments "amendments" since 6, rows of 112
                => log Amendments = 6 of perpetual::rows::AmendRecord as amendments in 0;
            MarginChanges "margin changes" since 6, rows of 40
                => log MarginChanges = 7 of perpetual::rows::MarginRecord as margins in 0;
            Prevented "prevented matches" since 6, rows of 88
                => log Prevented = 8 of perpetual::rows::PreventedRecord as prevented in 0 from PreventedMatch;
            Trades "trades" since 6, rows of 64
                => log Trades = 9 of perpetual::rows::MarketTrade as trades in 0;
            Fundings "funding rates" since 6, rows of 48
                => log Fundings = 10 of perpetual::rows::FundingRecord as fundings in 0 from FundingSettled;
            Candles "candles" since 6, rows of 96;
            ClosedCandles "closed candles" since 6, rows of 104;
            Days "rolling days" since 6, by hand 1;
            Buckets "parts of rolling days" since 6, rows of 72;
            Pools "pools" since 6, rows of 32;
            Volumes "volumes" since 7, by hand 1;
            Transfers "transfers" since 7, rows of 32
                => log Transfers = 11 of perpetual::rows::TransferRecord as transfers in 1;
            Operators "actions of operators" since 7, rows of 184
                => list Operators = 12 of perpetual::rows::OperatorRecord at perpetuals.operators.log;
            PendingNotes "notes of operators" since 7, rows of 200;
            Tokens "tokens" since 8, by hand 1;
            VaultBooks "books of vaults" since 8, by hand 1;
            Deposits "deposits" since 8, by hand 1;
            Changes "changes of configurations" since 8, rows of 40;
            SourceAges "ages of sources" since 8, rows of 16;
            NextTiers "fee tiers to come" since 8, rows of 40;
            Limits "limits of accounts" since 8, rows of 40;
            Unbacked "credits out of nothing" since 8, by hand 1;
            KeyedOrders "perpetual orders of outcomes" since 8, rows of 184;
            SpotOrders "rows of ended spot orders" since 8, rows of 96
                => list SpotOrders = 13 of order::OrderRecord at history.ended;
            SpotTradeRows "rows of spot trades" since 8, rows of 96
                => list SpotTrades = 15 of history::TradeRecord at history.trades;
            SpotFillRows "rows of spot fills" since 8, rows of 72
                => list SpotFills = 14 of history::FillRecord at history.fills;
            CreditRows "rows of credits" since 8, rows of 104
                => list Credits = 16 of history::CreditRecord at history.credits;
            BalanceRows "rows of balances" since 8, rows of 64
                => list BalanceChanges = 17 of history::BalanceRecord at history.balances;
            SpotCandles "rows of spot candles" since 8, rows of 88;
            Interest "open interest" since 8, rows of 48
                => log Interest = 18 of perpetual::interest::InterestRecord as interests in 2;
            SpotOwners "owners of spot orders" since 8, rows of 24
                => list SpotOwners = 19 of history::OwnerRecord at history.owners;
        }
    };
}
pub(crate) use table;

macro_rules! kept {
    ($($kept:ident $name:literal since $since:literal, $(by hand $newest:literal)? $(rows of $($len:literal),+)? $(=>
        $(log $log:ident = $log_number:literal of $($log_row:ident)::+ as $field:ident in $part:literal $(from $from:ident)?)?
        $(list $list:ident = $list_number:literal of $($list_row:ident)::+ at $($at:ident).+
            $(same $same:ident = $same_number:literal of $($same_row:ident)::+ at $($same_at:ident).+)?)*
    )?;)*) => {
        /// Lists that are kept, by their numbers in snapshots. Snapshots of this build have no credits, ended spot orders, spot trades and
        /// spot fills but the rows that are named last.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Kept {
            $(#[doc = $name] $kept,)*
        }

        impl Kept {
            /// All of them.
            pub const ALL: &[Kept] = &[$(Kept::$kept),*];
        }

        const TABLE: &[Entry] = &[$(Entry {
            name: $name,
            since: $since,
            lens: {
                $(&[0; $newest])?
                $(&[$($len),+])?
            },
        }),*];

        /// Histories by their numbers in the archive. Candles have numbers from [`FIRST_CANDLES`] and [`FIRST_SPOT_CANDLES`] on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u16)]
        pub enum List {
            $($($(#[doc = $name] $log = $log_number,)?)?)*
            $($($(#[doc = concat!("Number ", $list_number, ".")] $list = $list_number,
                $(#[doc = concat!("Number ", $same_number, ".")] $same = $same_number,)?)*)?)*
        }
    };
}

table!(kept);

/// Number of the first list of perpetual candles.
pub const FIRST_CANDLES: u16 = 1024;
/// Number of the list of the shortest spot candles; those of longer ones follow.
pub const FIRST_SPOT_CANDLES: u16 = 2048;

impl Kept {
    /// Its name.
    pub fn name(self) -> &'static str {
        TABLE[self as usize].name
    }

    /// The version that is written.
    pub fn newest(self) -> u16 {
        TABLE[self as usize].lens.len() as u16
    }

    /// Bytes of a row, by version from the first on; 0 where the list writes itself.
    pub const fn lens(self) -> &'static [usize] {
        TABLE[self as usize].lens
    }

    /// Bytes of a row of a version, 0 where the list writes itself; `None` for a version that is not known.
    pub fn row_len(self, version: u16) -> Option<usize> {
        self.lens().get(usize::from(version).checked_sub(1)?).copied()
    }

    /// The version that a snapshot of a format without a table of versions has; 0 for none.
    pub fn of_format(self, format: u64) -> u16 {
        u16::from(format >= TABLE[self as usize].since)
    }
}

/// A row of one length on disk, in each version of its list.
pub trait Stored: Copy {
    /// Its list.
    const KEPT: Kept;

    /// Appends it as a version had it, which must be one that is known.
    fn write_as(&self, version: u16, bytes: &mut Vec<u8>);

    /// A row of a version; `None` where there is no such version or these are not its bytes.
    fn read_as(version: u16, bytes: &[u8]) -> Option<Self>;

    /// What a row of a version is made of, a line for each field: offset, length, name.
    fn describe(version: u16) -> String;

    /// Appends it as it is written today.
    fn write(&self, bytes: &mut Vec<u8>) {
        self.write_as(Self::KEPT.newest(), bytes);
    }

    /// A row of any version.
    ///
    /// Errors: an unknown version, a wrong length.
    fn read(version: u16, bytes: &[u8]) -> Result<Self, RowError> {
        let unknown =
            RowError { list: Self::KEPT.name(), version, len: bytes.len(), known: Self::KEPT.newest() };
        Self::read_as(version, bytes).ok_or(unknown)
    }
}

/// Bytes that are no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{len} bytes are no row of version {version} of the list of {list}, of which this build knows versions up to {known}"
)]
pub struct RowError {
    /// Name of the list.
    pub list: &'static str,
    /// What the row is said to be of.
    pub version: u16,
    /// How many bytes there are.
    pub len: usize,
    /// The newest version that is known.
    pub known: u16,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Snapshots of before have the lists that their format had, all in their first version.
    #[test]
    fn formats_without_a_table_of_versions_say_what_they_have() {
        let had = |format: u64| Kept::ALL.iter().filter(|list| list.of_format(format) == 1).count();
        assert_eq!([3, 6, 7].map(had), [19, 41, 45]);
        let lacks = |list: Kept, format: u64| list.of_format(format) == 0;
        assert!(lacks(Kept::PerpetualMarkets, 3) && lacks(Kept::Volumes, 6) && lacks(Kept::Operators, 6));
        assert!(!lacks(Kept::Balances, 3) && !lacks(Kept::Orders, 6) && !lacks(Kept::Transfers, 7));
    }
}
