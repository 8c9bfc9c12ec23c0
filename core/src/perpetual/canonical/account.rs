//! Accounts and holdings as canonical bytes: those records that are not blank. Links, counts and places in lists are made again
//! on reading.

use super::{Read, put};
use crate::perpetual::account::{Account, DISABLED, Holding, HotAccount, HotHolding, LIMITED};
use crate::snapshot::{Reader, ensure};
use crate::state_hash::Bytes;
use zerocopy::FromZeros;

/// An account's record without what only says where things lie.
pub(super) fn blank(record: &Account) -> Account {
    let hot = HotAccount {
        markets: record.markets,
        hour: record.hour,
        is_deferred: record.is_deferred,
        is_stale: record.is_stale,
        terms: record.terms & LIMITED,
        ..HotAccount::default()
    };
    Account { hot, brought: record.brought, ..Account::default() }
}

/// Whether nothing has to be kept of a holding.
pub(super) fn is_blank(holding: &Holding) -> bool {
    let hot = HotHolding { orders: holding.orders, bound: holding.bound, ..HotHolding::default() };
    let Holding { waiting, closers, brought, .. } = *holding;
    *holding == Holding { hot, waiting, closers, brought, ..Holding::default() }
}

/// Terms, tier, volumes, timers.
pub(super) fn write_account<B: Bytes>(out: &mut B, of: &Account) {
    for value in [
        of.wallet,
        of.group,
        of.promo_until_ms,
        of.promo_bps.into(),
        of.referral_total_bps.into(),
        of.referral_share_bps.into(),
        of.pending_ms,
        of.volume,
        of.volume_30,
        of.countdown_ms,
        of.called_ms,
    ] {
        put(out, value);
    }
    // The last was once whether it is warned, which nothing depends on.
    let disabled = of.terms & DISABLED;
    out.put(&[of.fee_burn, disabled, of.default_mode, of.tier, of.pending, of.countdown_keeps, 0]);
}

/// What [`write_account`] wrote.
pub(super) fn read_account(reader: &mut Reader<'_>) -> Read<Account> {
    let mut account = Account::default();
    let hot = &mut account.hot;
    hot.wallet = reader.i64()?;
    account.group = reader.i64()?;
    account.promo_until_ms = reader.i64()?;
    account.promo_bps = bps(reader)?;
    account.referral_total_bps = bps(reader)?;
    account.referral_share_bps = bps(reader)?;
    account.pending_ms = reader.i64()?;
    hot.volume = reader.i64()?;
    hot.volume_30 = reader.i64()?;
    account.countdown_ms = reader.i64()?;
    hot.called_ms = reader.i64()?;
    [account.fee_burn, hot.terms, hot.default_mode, hot.tier, hot.pending, account.countdown_keeps, _] =
        reader.array()?;
    ensure(hot.terms <= DISABLED, "an unknown restriction")?;
    ensure(hot.default_mode <= 1, "unknown margin mode")?;
    ensure(hot.volume_30 >= 0, "a volume below nothing")?;
    account.note_discounts();
    ensure(account.wallet.unsigned_abs() <= 4_000_000_000_000_000_000, "a wallet out of range")?;
    Ok(account)
}

fn bps(reader: &mut Reader<'_>) -> Read<u32> {
    let value = reader.i64()?;
    ensure((0..=10_000).contains(&value), "basis points out of range")?;
    Ok(value as u32)
}

/// Position, buckets, terms.
pub(super) fn write_holding<B: Bytes>(out: &mut B, of: &Holding) {
    for value in [of.quantity, of.cost, of.isolated, of.open_fees, of.realised, of.called_ms, of.countdown_ms]
    {
        put(out, value);
    }
    for value in of.buckets.as_flattened() {
        put(out, *value);
    }
    out.put(&u32::from(of.leverage).to_le_bytes());
    // The one between was once whether it is warned, which nothing depends on.
    out.put(&[of.mode, 0, of.countdown_keeps]);
}

/// What [`write_holding`] wrote.
pub(super) fn read_holding(reader: &mut Reader<'_>) -> Read<Holding> {
    let mut holding = Holding::new_zeroed();
    let hot = &mut holding.hot;
    for field in [
        &mut hot.quantity,
        &mut hot.cost,
        &mut hot.isolated,
        &mut hot.open_fees,
        &mut hot.realised,
        &mut holding.called_ms,
        &mut holding.countdown_ms,
    ] {
        *field = reader.i64()?;
    }
    for value in holding.buckets.as_flattened_mut() {
        *value = reader.i64()?;
    }
    let leverage = reader.u32()?;
    [hot.mode, _, holding.countdown_keeps] = reader.array()?;
    ensure(hot.mode <= 2 && leverage <= 125, "an impossible mode or leverage")?;
    hot.leverage = leverage as u8;
    Ok(holding)
}
