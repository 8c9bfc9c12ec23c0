//! The audit log as operators read it: who did what, when, from where, why, and what came of it.

use crate::view::perpetual::rows::OperatorRecord;
use const_hex::encode_prefixed;
use ringside_core::command::Kind;
use ringside_core::reject::Reject;
use serde_json::{Value, json};
use std::net::Ipv6Addr;

/// The name of an action: what its command does.
fn action(code: u16) -> String {
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
        _ => return format!("command {code}"),
    };
    name.to_owned()
}

/// Whether an action is about a wallet, not a market.
fn is_of_wallet(code: u16) -> bool {
    let kind = Kind::from_code(code);
    matches!(
        kind,
        Some(Kind::Credit | Kind::CreditPerpetual | Kind::SetPerpetualAccount | Kind::SettleWithdrawal)
    )
}

fn text(field: &[u8]) -> String {
    let len = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..len]).into_owned()
}

/// One action.
pub fn row(row: &OperatorRecord) -> Value {
    let noted = &row.noted;
    let subject = match noted.subject.iter().any(|byte| *byte != 0) {
        false => None,
        true if is_of_wallet(noted.action) => Some(encode_prefixed(noted.subject)),
        true => Some(text(&noted.subject)),
    };
    let reject = Reject::ALL.into_iter().find(|reject| u64::from(reject.code()) == row.reject);
    let outcome = match (row.sequence, reject) {
        (0, _) => "not_carried_out",
        (_, None) => "done",
        (_, Some(_)) => "refused",
    };
    json!({
        "id": row.number,
        "time": row.time_ms,
        "operator": text(&noted.operator),
        "ip": Ipv6Addr::from(noted.ip).to_canonical().to_string(),
        "action": action(noted.action),
        "subject": subject,
        "detail": text(&row.told.detail),
        "reason": text(&row.told.reason),
        "outcome": outcome,
        "refusal": reject.map(|reject| format!("{reject:?}")),
        "sequence": (row.sequence != 0).then_some(row.sequence),
    })
}
