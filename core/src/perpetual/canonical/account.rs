//! Accounts and holdings as canonical bytes: those records that are not blank. Links, counts and places in lists are made again
//! on reading.

use super::{Read, put};
use crate::perpetual::account::{Account, DISABLED, Holding, LIMITED};
use crate::snapshot::{Reader, ensure};
use crate::state_hash::Bytes;
use zerocopy::FromZeros;

/// An account's record without what only says where things lie.
pub(super) fn blank(record: &Account) -> Account {
    Account {
        markets: record.markets,
        hour: record.hour,
        parked: record.parked,
        is_unranked: record.is_unranked,
        restrictions: record.restrictions & LIMITED,
        ..Account::default()
    }
}

/// Whether nothing has to be kept of a holding.
pub(super) fn is_blank(holding: &Holding) -> bool {
    let rest = Holding {
        orders: holding.orders,
        waiting: holding.waiting,
        bound: holding.bound,
        closers: holding.closers,
        trimmed: holding.trimmed,
        ..Holding::default()
    };
    *holding == rest
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
    let disabled = of.restrictions & DISABLED;
    out.put(&[of.fee_burn, disabled, of.default_mode, of.tier, of.pending, of.countdown_keeps, 0]);
}

/// What [`write_account`] wrote.
pub(super) fn read_account(reader: &mut Reader<'_>) -> Read<Account> {
    let mut account = Account {
        wallet: reader.i64()?,
        group: reader.i64()?,
        promo_until_ms: reader.i64()?,
        promo_bps: bps(reader)?,
        referral_total_bps: bps(reader)?,
        referral_share_bps: bps(reader)?,
        pending_ms: reader.i64()?,
        volume: reader.i64()?,
        volume_30: reader.i64()?,
        countdown_ms: reader.i64()?,
        called_ms: reader.i64()?,
        ..Account::default()
    };
    [
        account.fee_burn,
        account.restrictions,
        account.default_mode,
        account.tier,
        account.pending,
        account.countdown_keeps,
        _,
    ] = reader.array()?;
    ensure(account.restrictions <= DISABLED, "an unknown restriction")?;
    ensure(account.default_mode <= 1, "unknown margin mode")?;
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
    out.put(&of.leverage.to_le_bytes());
    // The one between was once whether it is warned, which nothing depends on.
    out.put(&[of.mode, 0, of.countdown_keeps]);
}

/// What [`write_holding`] wrote.
pub(super) fn read_holding(reader: &mut Reader<'_>) -> Read<Holding> {
    let mut holding = Holding::new_zeroed();
    for field in [
        &mut holding.quantity,
        &mut holding.cost,
        &mut holding.isolated,
        &mut holding.open_fees,
        &mut holding.realised,
        &mut holding.called_ms,
        &mut holding.countdown_ms,
    ] {
        *field = reader.i64()?;
    }
    for value in holding.buckets.as_flattened_mut() {
        *value = reader.i64()?;
    }
    holding.trimmed = holding.quantity;
    holding.leverage = reader.u32()?;
    [holding.mode, _, holding.countdown_keeps] = reader.array()?;
    ensure(holding.mode <= 2 && holding.leverage <= 125, "an impossible mode or leverage")?;
    Ok(holding)
}
