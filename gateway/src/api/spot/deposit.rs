//! Deposits from the chain (`spot.md` 10.1): where to, and what became of them. They are credited without anybody asking.

use super::views;
use crate::api::docs::{Param, Shape};
use crate::api::{Call, Error, Method, Route, now};
use ringside_auth::access::{Auth, Permission};
use ringside_chain::FinalDeposit;
use ringside_config::Wallet;
use ringside_core::command::{DepositStatus, token_pause};
use ringside_core::ids::padded;
use ringside_dialect::spot::deposit::{DepositKey, Parts, pending, status, taken};
use ringside_dialect::spot::{decode, refusal};
use ringside_views::deposit::DepositRecord;
use ringside_wire::name::{Address, Token};
use ringside_wire::spot::chain::{Deposit, DepositAddress, DepositToken};

const STATUSES: Shape = Shape::OneOf(&["pending", "credited"]);

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        auth: Auth::Account(Permission::Read),
        tag: "deposits",
        summary: "Own deposits, newest first, from the first block that has them",
        params: &[
            Param::optional("status", STATUSES, "One status only"),
            Param::optional("limit", Shape::Integer, "Default 50, clamped to 1..200"),
            Param::optional(
                "cursor",
                Shape::Text,
                "Older ones than this only: the last id of the page before",
            ),
        ],
        refusals: &[
            &[refusal::INVALID_STATUS, refusal::INVALID_LIMIT, refusal::INVALID_CURSOR],
            super::OF_VIEWS,
        ],
        ..Route::of(Method::Get, "/api/v1/spot/deposits", now!(list))
    },
    Route {
        auth: Auth::Account(Permission::Read),
        tag: "deposits",
        summary: "Where deposits go, and what can be deposited",
        refusals: &[&[refusal::SUBSYSTEM_DISABLED], super::OF_VIEWS],
        ..Route::of(Method::Get, "/api/v1/spot/deposits/address", now!(address))
    },
];

fn list(call: &Call) -> Result<Vec<Deposit>, Error> {
    let query = call.query();
    let wanted = match query.get("status") {
        None => None,
        Some(word) => Some(status(&word).ok_or(refusal::INVALID_STATUS)?),
    };
    let limit = decode::limit(query.get("limit").as_deref(), 50, 200)?;
    let views = views(call)?;
    let Some(own) = views.accounts().address(call.account()) else { return Ok(Vec::new()) };
    let key_of = |record: &DepositRecord| {
        let vault = views.withdrawals().vault(record.vault)?;
        Some(DepositKey { chain_id: vault.chain_id, vault: vault.address, number: record.number })
    };
    // On their way first, which are newer than all that was taken.
    let seen = call.worker.shared.seen.deposits(own);
    let mut rows = seen
        .iter()
        .rev()
        .map(|(deposit, confirmations)| Known::Seen(deposit, *confirmations))
        .chain(views.deposits().of_address(own).map(Known::Taken));
    if let Some(text) = query.get("cursor") {
        let cursor = DepositKey::parse(&text).ok_or(refusal::INVALID_CURSOR)?;
        let is_it = |known: Known<'_>| match known {
            Known::Seen(deposit, _) => key_of_seen(deposit) == cursor,
            Known::Taken(record) => key_of(record) == Some(cursor),
        };
        if !rows.any(is_it) {
            return Err(refusal::INVALID_CURSOR.into());
        }
    }
    let head = call.worker.shared.metrics.nodes.lock().as_ref().map_or(0, |nodes| nodes.head.get());
    let needed = call.worker.config.chain_confirmations;
    let wanted = rows.filter(|known| wanted.is_none_or(|wanted| wanted == known.is_credited()));
    let shown = wanted.take(limit).filter_map(|known| match known {
        Known::Seen(deposit, confirmations) => {
            let FinalDeposit { token, value, tx_hash, block, block_time_s, .. } = *deposit;
            let key = key_of_seen(deposit);
            Some(pending(&views, &Parts { key, token, value, tx_hash, block, block_time_s, confirmations }))
        }
        Known::Taken(record) => {
            // It was final when it was taken; how far the chain is by now this process may not know yet.
            let confirmations = head.saturating_sub(record.block).max(needed);
            Some(taken(&views, record, key_of(record)?, confirmations))
        }
    });
    Ok(shown.collect())
}

/// Where a deposit is known from.
#[derive(Clone, Copy)]
enum Known<'a> {
    /// A block that is not final, with so many blocks on top.
    Seen(&'a FinalDeposit, u64),
    /// The journal.
    Taken(&'a DepositRecord),
}

impl Known<'_> {
    fn is_credited(self) -> bool {
        matches!(self, Known::Taken(record) if record.status == DepositStatus::Credited)
    }
}

fn key_of_seen(deposit: &FinalDeposit) -> DepositKey {
    DepositKey { chain_id: deposit.chain_id, vault: deposit.vault, number: deposit.number }
}

/// The contract that deposits go to, where there is one that is watched.
pub fn vault(call: &Call) -> Option<Wallet> {
    let config = &call.worker.config;
    config.vault_address.filter(|_| !config.chain_nodes.is_empty() || call.worker.shared.desk.is_open())
}

fn address(call: &Call) -> Result<DepositAddress, Error> {
    let config = &call.worker.config;
    let vault = vault(call).ok_or(refusal::SUBSYSTEM_DISABLED)?;
    let views = views(call)?;
    let of_chain = views.deposits().tokens().filter(|token| token.chain_id == config.chain_id);
    let tokens = of_chain.map(|token| DepositToken {
        symbol: Token(views.markets().asset_name(token.asset).and_then(padded).unwrap_or_default()),
        address: Address(token.address),
        decimals: token.decimals,
        deposits_paused: token.paused & token_pause::DEPOSITS != 0,
    });
    let formers = views.withdrawals().vaults();
    let formers = formers.filter(|known| known.chain_id == config.chain_id && known.address != vault.0);
    Ok(DepositAddress {
        chain_id: config.chain_id,
        vault_address: Address(vault.0),
        former_vault_addresses: formers.map(|known| Address(known.address)).collect(),
        tokens: tokens.collect(),
        confirmations: config.chain_confirmations,
    })
}
