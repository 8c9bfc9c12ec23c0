//! What both kinds of withdrawals share: from a request to its signature, and reading them. The rows and what refusals are
//! called belong to the dialects: `spot/withdrawal.rs`, and the routes of accounts.

use super::{Call, Response};
use ringside_chain::Consent;
use ringside_chain::withdrawal_signing::NotSigned;
use ringside_commands::ingress::{Priority, Unavailable};
use ringside_core::command::{Command, DECIMALS_MAX, Ledger, RequestWithdrawal, WithdrawalStatus};
use ringside_core::ids::{AccountId, Address, AssetName, WithdrawalId, padded};
use ringside_core::money::{AMOUNT_UNIT, Amount};
use ringside_core::reject::Reject;
use ringside_dialect::spot::id::{ParsedUuid, parse};
use ringside_dialect::spot::withdrawal::{authorization, shown};
use ringside_views::Views;
use ringside_views::deposit::TokenRecord;
use ringside_views::withdrawal::WithdrawalRecord;
use ringside_wire::spot::chain::Withdrawal;

/// Why a request gave no signature.
pub enum Fault {
    /// The engine refused it.
    Refused(Reject),
    /// The same request was carried out before, by this withdrawal or with this refusal.
    Replayed(Result<WithdrawalId, Reject>),
    /// The withdrawal that its key stands for went back, whatever its body was: the key is free again, by another name
    /// ([`key_of_try`]).
    Returned,
    /// There is no signature; the amount is back.
    NotSigned(NotSigned),
    /// The engine gave no answer.
    Unavailable(Unavailable),
}

/// The asset that a ledger has by itself.
pub const fn asset_of(ledger: Ledger) -> &'static str {
    match ledger {
        Ledger::Spot => "DF",
        Ledger::Perpetual => "USDT",
    }
}

/// A token that can be withdrawn from a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    asset: AssetName,
    address: Address,
    /// Decimals of its base unit.
    pub decimals: u8,
    /// Least amount from a spot balance.
    pub minimum: Amount,
}

/// The token that a ledger has by itself; `None` where this deployment does not have it on the chain.
pub fn own_token(call: &Call, ledger: Ledger) -> Option<Token> {
    let config = &call.worker.config;
    let (address, decimals) = match ledger {
        Ledger::Spot => (config.df_address?, DECIMALS_MAX),
        Ledger::Perpetual => (config.usdt_address?, config.usdt_decimals),
    };
    Some(Token { asset: padded(asset_of(ledger))?, address: address.0, decimals, minimum: AMOUNT_UNIT })
}

/// A token of the spot ledger by its name: DF, or one that an operator has added. USDT leaves by the perpetual ledger.
pub fn spot_token(call: &Call, views: &Views, name: &str) -> Option<Token> {
    if name == asset_of(Ledger::Perpetual) {
        return None;
    }
    let asset = views.markets().asset(name);
    let known = asset.and_then(|asset| views.deposits().token_of(call.worker.config.chain_id, asset));
    let Some(known) = known else {
        return own_token(call, Ledger::Spot).filter(|_| name == asset_of(Ledger::Spot));
    };
    let TokenRecord { address, decimals, minimum, .. } = *known;
    Some(Token { asset: padded(name)?, address, decimals, minimum })
}

/// The command of a request; `None` where this deployment has no withdrawals.
pub fn command(
    call: &Call,
    ledger: Ledger,
    token: &Token,
    amount: Amount,
    keyed: (u64, u64),
) -> Option<RequestWithdrawal> {
    let config = &call.worker.config;
    if !call.worker.shared.desk.is_open() {
        return None;
    }
    Some(RequestWithdrawal {
        account: call.account(),
        ledger: ledger as u8,
        reserved: [0; 3],
        amount: amount.into(),
        chain_id: config.chain_id,
        vault: config.vault_address?.0,
        token: token.address,
        asset: token.asset,
        reserved_2: [0; 6],
        lifetime_s: u32::try_from(config.withdrawal_lifetime.as_secs()).ok()?,
        reserved_3: 0,
        vault_name: padded(&config.vault_name)?,
        idempotency_key: keyed.0,
        idempotency_body: keyed.1,
    })
}

/// Seconds until a refusal for too many withdrawals is worth another try.
pub const RETRY_AFTER_S: u64 = 600;

/// Whether the account has asked for as many withdrawals in 24 hours as it may. Each is remembered for good, also where its signer
/// refused it and the amount came back at once, so that nothing else would bound them.
pub fn is_over_limit(call: &Call) -> bool {
    let limit = call.worker.config.withdrawals_per_day;
    let since_s = u64::try_from(call.now_ms / 1_000).unwrap_or(0).saturating_sub(24 * 3_600);
    let views = call.worker.shared.views.read();
    let mut newest = views.withdrawals().of_account(call.account());
    limit == 0 || newest.nth(limit - 1).is_some_and(|record| record.requested_at_s > since_s)
}

/// Carries a request out and waits for its signature, which is in the journal by then.
pub async fn request(call: &Call, request: RequestWithdrawal) -> Result<Response, Fault> {
    let submitted = call.worker.ingress.submit(Command::new(request), Priority::Order).await;
    let reply = submitted.map_err(Fault::Unavailable)?;
    match reply.done.rejected() {
        None => signed(call, reply.done.order).await,
        Some(reject @ (Reject::IdempotencyReplay | Reject::IdempotencyConflict)) => {
            Err(match first_try(call, request.account, request.idempotency_key) {
                Ok(first) if is_back(call, first) => Fault::Returned,
                first if reject == Reject::IdempotencyReplay => Fault::Replayed(first),
                _ => Fault::Refused(reject),
            })
        }
        Some(reject) => Err(Fault::Refused(reject)),
    }
}

/// Waits for the signature of a withdrawal, for which the signer wants to see the caller's login token itself. Only rows that
/// no API key may call come here.
pub async fn signed(call: &Call, withdrawal: WithdrawalId) -> Result<Response, Fault> {
    let shared = &call.worker.shared;
    let consent = call.token().map(Consent::new).ok_or(Fault::NotSigned(NotSigned::Refused))?;
    let record = shared.desk.outcome(&shared.views, withdrawal, consent).await.map_err(Fault::NotSigned)?;
    let views = shared.views.read();
    let vault = views.withdrawals().vault(record.vault);
    let authorization = vault.and_then(|vault| authorization(&record, vault));
    authorization
        .map(|authorization| Response::of(&authorization))
        .ok_or(Fault::NotSigned(NotSigned::Unavailable))
}

/// The key that the next try with `key` is carried out under. Answers of 500 are not kept (`spot.md` 3), but the engine keeps every
/// key that it took: behind each withdrawal that went back, the key is one that follows from both.
pub fn key_of_try(call: &Call, account: AccountId, mut key: u64) -> u64 {
    while let Ok(first) = first_try(call, account, key)
        && is_back(call, first)
    {
        key = key.rotate_left(17) ^ first.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    }
    key
}

/// Whether a withdrawal got no signature, and its amount went back.
fn is_back(call: &Call, withdrawal: WithdrawalId) -> bool {
    let views = call.worker.shared.views.read();
    let record = views.withdrawals().get(withdrawal);
    record.is_some_and(|record| matches!(record.status, WithdrawalStatus::Returned | WithdrawalStatus::Void))
}

/// What the first request with a key came to.
fn first_try(call: &Call, account: AccountId, key: u64) -> Result<WithdrawalId, Reject> {
    let views = call.worker.shared.views.read();
    let outcome = views.idempotency().outcome(account, key).ok_or(Reject::Malformed)?;
    if let Some(reject) = outcome.reject {
        return Err(reject);
    }
    let mut own = views.withdrawals().of_account(account);
    let found = own.find(|record| record.sequence == outcome.sequence);
    found.map(|record| record.withdrawal).ok_or(Reject::Malformed)
}

/// A text that names no withdrawal.
pub struct NoId;

/// `before` of a query, which goes on where a list ended: the id of a withdrawal.
pub fn before(call: &Call) -> Result<Option<WithdrawalId>, NoId> {
    match call.query().get("before") {
        None => Ok(None),
        Some(text) => match parse(&text) {
            Some(ParsedUuid::Order(withdrawal)) => Ok(Some(withdrawal)),
            _ => Err(NoId),
        },
    }
}

/// The caller's withdrawals of a ledger, newest first; those older than `before`, where it is named.
pub fn list(
    call: &Call,
    views: &Views,
    ledger: Ledger,
    status: Option<WithdrawalStatus>,
    before: Option<WithdrawalId>,
    limit: usize,
) -> Vec<Withdrawal> {
    let own = views.withdrawals().of_account(call.account());
    let wanted = own.filter(|record| {
        record.ledger == ledger
            && record.is_shown()
            && status.is_none_or(|status| record.status == status)
            && before.is_none_or(|before| record.withdrawal < before)
    });
    wanted.take(limit).filter_map(|record| show(views, record)).collect()
}

/// One of the caller's withdrawals of a ledger, by the id in the path; `None` where it has no such.
pub fn one(call: &Call, views: &Views, ledger: Ledger) -> Option<Withdrawal> {
    let Some(ParsedUuid::Order(withdrawal)) = parse(&call.path_param(0)) else { return None };
    let record = views.withdrawals().get(withdrawal)?;
    let is_own = record.account == call.account() && record.ledger == ledger && record.is_shown();
    show(views, record).filter(|_| is_own)
}

fn show(views: &Views, record: &WithdrawalRecord) -> Option<Withdrawal> {
    let vault = views.withdrawals().vault(record.vault)?;
    Some(shown(record, vault, padded(views.markets().asset_name(record.asset)?)?))
}
