//! Balances of every account, as last emitted. Nothing is computed here: the engine emits final values.

use super::codec::{LoadError, Reader, Writer};
use ringside_core::event;
use ringside_core::ids::{AccountId, AssetId};
use ringside_core::money::Amount;
use std::collections::BTreeMap;

/// What an account has of one asset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BalanceRow {
    /// Free amount, 10^-18.
    pub available: Amount,
    /// Reserved for open orders and withdrawals in flight.
    pub frozen: Amount,
    /// When either last changed, nanoseconds of the UNIX epoch; 0 when never.
    pub changed_ns: i64,
    /// Of which asset.
    pub asset: AssetId,
}

/// Balances by account. An account's rows are few, so they stand in one short list in order of the asset.
#[derive(Clone, Debug, Default)]
pub struct BalanceView {
    accounts: Vec<Vec<BalanceRow>>,
}

/// Bits of [`event::Balances::changed`].
const BASE_CHANGED: u64 = 1;
const QUOTE_CHANGED: u64 = 2;

impl BalanceView {
    pub(super) fn changed(&mut self, changed: &event::Balances, time_ns: i64) {
        let index = changed.account as usize;
        if index >= self.accounts.len() {
            self.accounts.resize_with(index + 1, Vec::new);
        }
        let rows = &mut self.accounts[index];
        if changed.changed & BASE_CHANGED != 0 {
            put(
                rows,
                BalanceRow {
                    available: changed.base_available.get(),
                    frozen: changed.base_frozen.get(),
                    changed_ns: time_ns,
                    asset: changed.base,
                },
            );
        }
        if changed.changed & QUOTE_CHANGED != 0 && changed.quote != changed.base {
            put(
                rows,
                BalanceRow {
                    available: changed.quote_available.get(),
                    frozen: changed.quote_frozen.get(),
                    changed_ns: time_ns,
                    asset: changed.quote,
                },
            );
        }
    }

    /// The row of an account and asset; all zero when it never changed.
    pub fn row(&self, account: AccountId, asset: AssetId) -> BalanceRow {
        self.rows(account)
            .iter()
            .find(|row| row.asset == asset)
            .copied()
            .unwrap_or(BalanceRow { asset, ..BalanceRow::default() })
    }

    /// The rows of an account that ever changed, in order of the asset.
    pub fn rows(&self, account: AccountId) -> &[BalanceRow] {
        self.accounts.get(account as usize).map_or(&[], Vec::as_slice)
    }

    /// What all accounts have together, by asset.
    pub(super) fn sums(&self) -> BTreeMap<AssetId, Amount> {
        let mut sums: BTreeMap<AssetId, Amount> = BTreeMap::new();
        for row in self.accounts.iter().flatten() {
            *sums.entry(row.asset).or_default() += row.available + row.frozen;
        }
        sums
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.count(self.accounts.len());
        for rows in &self.accounts {
            writer.count(rows.len());
            for row in rows {
                writer.u64(row.asset.into());
                writer.i128(row.available);
                writer.i128(row.frozen);
                writer.i64(row.changed_ns);
            }
        }
    }

    pub(super) fn load(reader: &mut Reader<'_>) -> Result<BalanceView, LoadError> {
        let mut view = BalanceView::default();
        for _ in 0..reader.count()? {
            let mut rows = Vec::new();
            for _ in 0..reader.count()? {
                let asset = reader.uint("asset")?;
                let (available, frozen) = (reader.i128()?, reader.i128()?);
                put(&mut rows, BalanceRow { available, frozen, changed_ns: reader.i64()?, asset });
            }
            view.accounts.push(rows);
        }
        Ok(view)
    }
}

fn put(rows: &mut Vec<BalanceRow>, row: BalanceRow) {
    let place = rows.partition_point(|other| other.asset < row.asset);
    match rows.get_mut(place) {
        Some(other) if other.asset == row.asset => *other = row,
        _ => rows.insert(place, row),
    }
}
