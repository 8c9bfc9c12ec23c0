//! What the referral contract says of an address (`account.md` 12). Public; read from the chain, not from the engine.

use super::get;
use crate::api::docs::{Param, Shape};
use crate::api::{Call, Error, Route, later};
use ringside_auth::access::Auth;
use ringside_chain::referral::{ChainError, Kept, Reader, code_text, tier_name};
use ringside_core::ids::Address;
use ringside_dialect::account::refusal::{CHAIN_ERROR, INVALID_ADDRESS, Refusal};
use ringside_wire::account::chain::{Claimed, OperatorStatus, Rebate, ReferralTerms};
use ringside_wire::address::{address_text, parse_address};

const ADDRESS: Param =
    Param::path("address", Shape::Pattern("^0x[0-9a-fA-F]{40}$"), "In any case; answered in lower case");
const REFUSALS: &[Refusal] = &[INVALID_ADDRESS, CHAIN_ERROR];

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        tag: "referral",
        named_refusals: &[REFUSALS],
        ..get(
            "/referral/on-chain/user-rebate/{address}",
            Auth::None,
            "What a user has claimed, and who referred it",
            &[ADDRESS],
            later!(rebate),
        )
    },
    Route {
        tag: "referral",
        named_refusals: &[REFUSALS],
        ..get(
            "/referral/on-chain/referral-info/{address}",
            Auth::None,
            "The terms of a user's referral",
            &[ADDRESS],
            later!(terms),
        )
    },
    Route {
        tag: "referral",
        named_refusals: &[REFUSALS],
        ..get(
            "/referral/on-chain/claimed/{address}",
            Auth::None,
            "What a user has claimed",
            &[ADDRESS],
            later!(claimed),
        )
    },
    Route {
        tag: "referral",
        named_refusals: &[&[CHAIN_ERROR]],
        ..get(
            "/referral/on-chain/operator-status",
            Auth::None,
            "Whether the configured operator may write the records",
            &[],
            later!(operator),
        )
    },
];

async fn rebate(call: Call) -> Result<Rebate, Error> {
    let address = address(&call)?;
    let (reader, kept) = reader(&call)?;
    let rebate = reader.rebate(kept, &address).await.map_err(chain_error)?;
    Ok(Rebate {
        address: address_text(&address),
        claimed_usd: usd(rebate.claimed_usd),
        nonce: rebate.nonce,
        referral_code: code_text(&rebate.code),
        referrer: address_text(&rebate.referrer),
        tier_level: rebate.tier,
        tier_name: tier_name(rebate.tier),
    })
}

async fn terms(call: Call) -> Result<ReferralTerms, Error> {
    let address = address(&call)?;
    let (reader, kept) = reader(&call)?;
    let terms = reader.terms(kept, &address).await.map_err(chain_error)?;
    Ok(ReferralTerms {
        address: address_text(&address),
        code: code_text(&terms.code),
        referrer: address_text(&terms.referrer),
        total_rebate_bps: terms.total_rebate_bps,
        trader_discount_bps: terms.trader_discount_bps,
        affiliate_reward_bps: terms.affiliate_reward_bps,
    })
}

async fn claimed(call: Call) -> Result<Claimed, Error> {
    let address = address(&call)?;
    let (reader, kept) = reader(&call)?;
    let claimed = reader.claimed(kept, &address).await.map_err(chain_error)?;
    Ok(Claimed { address: address_text(&address), claimed_usd: usd(claimed) })
}

async fn operator(call: Call) -> Result<OperatorStatus, Error> {
    let (reader, kept) = reader(&call)?;
    let operator = call.worker.config.operator_address.ok_or(CHAIN_ERROR)?.0;
    let is_operator = reader.is_operator(kept, &operator).await.map_err(chain_error)?;
    Ok(OperatorStatus {
        operator_address: address_text(&operator),
        is_operator,
        contract_address: address_text(reader.contract()),
    })
}

fn address(call: &Call) -> Result<Address, Error> {
    parse_address(&call.path_param(0)).ok_or_else(|| INVALID_ADDRESS.into())
}

/// The contract, where this deployment has one.
fn reader(call: &Call) -> Result<(&Reader, &Kept), Error> {
    let reader = call.worker.referrals.as_ref().ok_or(CHAIN_ERROR)?;
    Ok((reader, &call.worker.shared.referrals))
}

fn chain_error(error: ChainError) -> Error {
    match error {
        ChainError::Fault(_) => tracing::warn!(%error, "a referral record was not read"),
        // As often as strangers like.
        ChainError::TooMany => tracing::debug!(%error, "a referral record was not read"),
    }
    CHAIN_ERROR.into()
}

/// Exactly 6 decimals.
fn usd(steps: u128) -> String {
    format!("{}.{:06}", steps / 1_000_000, steps % 1_000_000)
}
