//! What the page shows of withdrawals beside what the API tells: how many blocks lie on a release that is not final yet, and
//! the authorizations that lists do not show, so that a page that was loaded anew can still submit them. Decides nothing.

use crate::api::withdrawal::asset_of;
use crate::api::{Answer, Call, Handler, Method, Response, Route, spot};
use ringside_auth::access::Auth;
use ringside_chain::withdrawal_signing::release_of;
use ringside_config::Config;
use ringside_core::command::{Ledger, WithdrawalStatus, pause};
use ringside_dialect::spot::withdrawal::authorization;
use ringside_wire::fault::Denied;
use ringside_wire::spot::chain::WithdrawalAuthorization;
use serde::Serialize;
use serde_json::{Value, json};

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[Route {
    is_api: false,
    auth: Auth::JwtOnly(Denied::Withdraw),
    ..Route::new(Method::Get, "/web/withdrawals.json", Handler::Now(read))
}];

#[derive(Serialize)]
struct Shown {
    paused: Paused,
    open: Vec<Open>,
}

/// Whether requests are refused just now.
#[derive(Serialize)]
struct Paused {
    spot: bool,
    perpetual: bool,
}

/// A withdrawal that is signed and not final.
#[derive(Serialize)]
struct Open {
    token: String,
    #[serde(flatten)]
    authorization: WithdrawalAuthorization,
    /// The transaction that was seen in a block, and how many blocks lie on that.
    tx_hash: Option<String>,
    confirmations: u64,
}

fn read(call: &Call) -> Answer {
    let shared = &call.worker.shared;
    let views = spot::views(call)?;
    let withdrawals = views.withdrawals();
    let bits = withdrawals.paused();
    let is_in_deficit = views.perpetuals().pools().deficit != 0;
    let paused = Paused { spot: bits & !pause::OPERATOR != 0, perpetual: bits != 0 || is_in_deficit };
    let signed =
        withdrawals.of_account(call.account()).filter(|record| record.status == WithdrawalStatus::Signed);
    let mut open: Vec<Open> = signed
        .filter_map(|record| {
            let authorization = authorization(record, withdrawals.vault(record.vault)?)?;
            let seen = shared.seen.get(&release_of(&views, record)?.key);
            Some(Open {
                token: views.markets().asset_name(record.asset)?.to_owned(),
                authorization,
                tx_hash: seen.map(|(tx_hash, _)| const_hex::encode_prefixed(tx_hash)),
                confirmations: seen.map_or(0, |(_, confirmations)| confirmations),
            })
        })
        .collect();
    // In the order in which the vault takes them.
    open.sort_by_key(|open| open.authorization.nonce);
    Ok(Response::of(&Shown { paused, open }))
}

/// What the page must know before it can withdraw: contracts, and when a release counts. Null where nothing is withdrawn.
pub fn settings(call: &Call) -> Value {
    let config: &Config = &call.worker.config;
    let (Some(vault), true) = (config.vault_address, call.worker.shared.desk.is_open()) else {
        return Value::Null;
    };
    let token = |ledger, name: &str, address: Option<ringside_config::Wallet>, decimals: u8| {
        address.map(|address| {
            json!({
                "token": asset_of(ledger),
                "ledger": name,
                "address": const_hex::encode_prefixed(address.0),
                "decimals": decimals,
            })
        })
    };
    let tokens = [
        token(Ledger::Spot, "spot", config.df_address, 18),
        token(Ledger::Perpetual, "perpetual", config.usdt_address, 6),
    ];
    json!({
        "vault": const_hex::encode_prefixed(vault.0),
        "confirmations": config.chain_confirmations,
        "tokens": tokens.into_iter().flatten().collect::<Vec<_>>(),
    })
}
