//! The audit log as operators read it: who did what, when, from where, why, and what came of it.

use const_hex::encode_prefixed;
use ringside_core::command::Kind;
use ringside_core::reject::Reject;
use ringside_views::perpetual::rows::OperatorRecord;
use ringside_wire::account::operator::{ActionOutcome, OperatorAction, ProvenBy};
use std::net::Ipv6Addr;

/// The name of an action: what its command does.
fn action(code: u16, has_subject: bool) -> String {
    let name = match Kind::from_code(code) {
        Some(Kind::Credit) => "spot_credit",
        Some(Kind::ListMarket) => "list_market",
        Some(Kind::UpdateMarket) => "update_market",
        Some(Kind::SetMarketStatus) => "market_status",
        Some(Kind::CreditPerpetual) => "perpetual_credit",
        Some(Kind::SetManualPrice) => "index_price",
        Some(Kind::SetPerpetualState) => "symbol_state",
        Some(Kind::SetPerpetualAccount) => "account",
        Some(Kind::PauseWithdrawals) => "pause_withdrawals",
        Some(Kind::SettleWithdrawal) => "settle_withdrawal",
        Some(Kind::MoveTreasury) => "treasury_transfer",
        Some(Kind::SetToken) => "token",
        Some(Kind::RewindVault) => "rewind_vault",
        Some(Kind::ApplyDraft) => "configure_symbol",
        Some(Kind::ScheduleVipTier) => "vip_tiers",
        Some(Kind::SetAccountLimits) => "account_limits",
        // No command is made of these: what names a market is its feed.
        Some(Kind::OperatorNote) if has_subject => "feed",
        Some(Kind::OperatorNote) => "accept_clock",
        _ => return format!("command {code}"),
    };
    name.to_owned()
}

/// Every name.
pub const KINDS: &[&str] = &[
    "spot_credit",
    "list_market",
    "update_market",
    "market_status",
    "perpetual_credit",
    "index_price",
    "symbol_state",
    "account",
    "pause_withdrawals",
    "settle_withdrawal",
    "treasury_transfer",
    "token",
    "rewind_vault",
    "configure_symbol",
    "vip_tiers",
    "account_limits",
    "feed",
    "accept_clock",
];

/// Whether an action is about a wallet, not a market.
fn is_of_wallet(code: u16) -> bool {
    let kind = Kind::from_code(code);
    matches!(
        kind,
        Some(
            Kind::Credit
                | Kind::CreditPerpetual
                | Kind::SetPerpetualAccount
                | Kind::SetAccountLimits
                | Kind::SettleWithdrawal
                | Kind::MoveTreasury
        )
    )
}

fn text(field: &[u8]) -> String {
    let len = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..len]).into_owned()
}

/// Most rows of one action: no more notes than that are made of one.
pub const PARTS_MAX: usize = 8;

/// Actions, newest first, at most `limit`; `rows` are the newest ones, oldest first. An action of which only the end is among
/// them is left out.
pub fn actions(rows: &[OperatorRecord], limit: usize) -> Vec<OperatorAction> {
    let firsts = rows.iter().enumerate().filter(|(_, row)| row.noted.part == 0).map(|(at, _)| at);
    let mut starts: Vec<usize> = firsts.collect();
    starts.push(rows.len());
    let parts = starts.windows(2).map(|ends| &rows[ends[0]..ends[1]]);
    parts.rev().take(limit).map(row).collect()
}

/// One action of all its rows.
fn row(parts: &[OperatorRecord]) -> OperatorAction {
    let row = &parts[0];
    let noted = &row.noted;
    let subject = match noted.subject.iter().any(|byte| *byte != 0) {
        false => None,
        true if is_of_wallet(noted.action) => Some(encode_prefixed(noted.subject)),
        true => Some(text(&noted.subject)),
    };
    let reject = Reject::ALL.into_iter().find(|reject| u64::from(reject.code()) == row.reject);
    let outcome = match (row.sequence, reject) {
        (0, _) => ActionOutcome::NotCarriedOut,
        (_, None) => ActionOutcome::Done,
        (_, Some(_)) => ActionOutcome::Refused,
    };
    let joined = |of: fn(&OperatorRecord) -> String| parts.iter().map(of).collect::<String>();
    OperatorAction {
        id: row.number,
        time: row.time_ms,
        operator: text(&noted.operator),
        key: if noted.proven == 1 { ProvenBy::Own } else { ProvenBy::Shared },
        ip: Ipv6Addr::from(noted.ip).to_canonical().to_string(),
        action: action(noted.action, subject.is_some()),
        subject,
        detail: joined(|part| text(&part.told.detail)),
        reason: joined(|part| text(&part.told.reason)),
        outcome,
        refusal: reject.map(|reject| format!("{reject:?}")),
        sequence: (row.sequence != 0).then_some(row.sequence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::FromZeros;

    #[test]
    fn every_name_can_be_asked_for() {
        let named = Kind::ALL.iter().flat_map(|kind| [true, false].map(|has| action(*kind as u16, has)));
        let mut named: Vec<String> = named.filter(|name| !name.starts_with("command ")).collect();
        named.sort();
        named.dedup();
        let mut known = KINDS.to_vec();
        known.sort_unstable();
        assert_eq!(named, known);
    }

    #[test]
    fn the_parts_of_an_action_are_one_and_half_of_one_is_none() {
        let part = |number, part, detail: &[u8]| {
            let mut row = OperatorRecord { number, ..OperatorRecord::new_zeroed() };
            row.noted.part = part;
            row.told.detail[..detail.len()].copy_from_slice(detail);
            row
        };
        let rows = [part(4, 1, b"lost"), part(5, 0, b"one"), part(6, 0, b"tw"), part(7, 1, b"o")];
        let shown = |limit| -> Vec<(u64, String)> {
            actions(&rows, limit).into_iter().map(|row| (row.id, row.detail)).collect()
        };
        assert_eq!(shown(9), [(6, "two".to_owned()), (5, "one".to_owned())]);
        assert_eq!(shown(1), [(6, "two".to_owned())]);
        assert!(actions(&[], 5).is_empty());
    }
}
