//! What the chain's side waits for, as operators see it: why withdrawals are paused, deposits that are held, and final blocks that
//! were replaced, with everything that was counted above the block that is kept. Going back to that block is decided by two
//! operators, as disputes are; the watch then takes all of it back and reads on from there.

use super::{OF_ENGINE, OF_VIEWS, admin, reason, unavailable, views};
use crate::api::docs::{ADDRESS, Field, Shape};
use crate::api::operate::{Action, REASON_NEEDED, Subject, cut, operate, own};
use crate::api::{Call, Error, Method, Route, later, now};
use const_hex::encode_prefixed;
use ringside_chain::Replaced;
use ringside_core::command::{HeldReason, RewindVault, pause};
use ringside_core::event::RewindStage;
use ringside_core::ids;
use ringside_dialect::account::params::typed;
use ringside_dialect::account::refusal::{self, invalid};
use ringside_dialect::body;
use ringside_dialect::spot::id::order_uuid_text;
use ringside_views::Views;
use ringside_views::deposit::{DepositRecord, VaultBook};
use ringside_wire::account::chain::{
    ChainDeposit, ChainState, ChainWithdrawal, HeldDeposit, HeldFor, ReplacedBlocks, RewindAgreed, VaultState,
};
use ringside_wire::address::{address_text, parse_address};
use ringside_wire::name::Address;
use ringside_wire::number::Amount;

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        named_refusals: &[OF_VIEWS],
        ..admin(
            Method::Get,
            "/admin/chain",
            "What the chain's side waits for, and why withdrawals are paused",
            now!(show),
        )
    },
    Route {
        body: Shape::Object(&[
            Field::new("vault_address", ADDRESS, ""),
            Field::new(
                "block",
                Shape::Integer,
                "kept_block of GET /admin/chain, so that nobody decides on another",
            ),
            REASON_NEEDED,
        ]),
        named_refusals: &[&[refusal::INVALID_PARAMETER, refusal::NOT_FOUND, refusal::FORBIDDEN], OF_ENGINE],
        ..admin(
            Method::Post,
            "/admin/chain/rewind",
            "Go back to the final block that is kept: the first operator proposes, another who says the same carries it \
                  out, each by a key of their own",
            later!(rewind),
        )
    },
];

fn show(call: &Call) -> Result<ChainState, Error> {
    let views = views(call)?;
    let bits = views.withdrawals().paused();
    let all = call.worker.shared.seen.replaced();
    let vaults = (0..).zip(views.withdrawals().vaults()).map(|(number, vault)| {
        let book = views.deposits().vault(number).cloned().unwrap_or_default();
        let is_it = |of: &&Replaced| (of.chain_id, of.vault) == (vault.chain_id, vault.address);
        VaultState {
            chain_id: vault.chain_id,
            vault_address: Address(vault.address),
            block: vault.block,
            deposits: book.deposits(),
            releases: book.releases,
            signer: Address(book.signer),
            replaced: all.iter().find(is_it).map(|of| replaced(&views, number, &book, of)),
        }
    });
    Ok(ChainState {
        paused: pause::WORDS.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, word)| *word).collect(),
        reason: views.withdrawals().pause_reason().map(str::to_owned),
        vaults: vaults.collect(),
        held_deposits: views.deposits().held().map(|record| held(&views, record)).collect(),
    })
}

fn held(views: &Views, record: &DepositRecord) -> HeldDeposit {
    let reason = match record.reason {
        HeldReason::None => HeldFor::None,
        HeldReason::TokenUnknown => HeldFor::TokenUnknown,
        HeldReason::TokenPaused => HeldFor::TokenPaused,
        HeldReason::OutOfRange => HeldFor::OutOfRange,
        HeldReason::Nobody => HeldFor::Nobody,
    };
    let ChainDeposit { amount, block_number, number, token_address, tx_hash, user_address, value } =
        deposit(record);
    let vault = views.withdrawals().vault(record.vault);
    let vault_address = vault.map(|vault| Address(vault.address));
    HeldDeposit {
        amount,
        block_number,
        number,
        reason,
        token_address,
        tx_hash,
        user_address,
        value,
        vault_address,
    }
}

fn deposit(record: &DepositRecord) -> ChainDeposit {
    ChainDeposit {
        number: record.number,
        user_address: Address(record.address),
        token_address: Address(record.token),
        value: record.value.to_string(),
        amount: Amount(record.amount),
        tx_hash: encode_prefixed(record.tx_hash),
        block_number: record.block,
    }
}

fn replaced(views: &Views, number: u16, book: &VaultBook, of: &Replaced) -> ReplacedBlocks {
    let confirmed = views.withdrawals().confirmed_above(number, of.kept.block);
    let withdrawals = confirmed.iter().map(|record| ChainWithdrawal {
        id: order_uuid_text(record.withdrawal),
        user_address: views.accounts().address(record.account).copied().map(Address),
        token: views.markets().asset_name(record.asset).map(str::to_owned),
        amount: Amount(record.amount),
        nonce: record.nonce,
        tx_hash: record.release.map(|release| encode_prefixed(release.tx_hash)),
        block_number: record.release.map(|release| release.block),
    });
    let proposed = book.rewind.filter(|told| told.block == of.kept.block);
    ReplacedBlocks {
        last_block: of.last,
        kept_block: of.kept.block,
        kept_hash: encode_prefixed(of.kept.hash),
        withdrawals: withdrawals.collect(),
        deposits: views.deposits().above(number, of.kept.block).map(deposit).collect(),
        proposed_by: proposed.map(|told| ids::text(&told.proposed_by).to_owned()),
    }
}

body! {
    RewindBody { vault_address, block, reason }
}

async fn rewind(call: Call) -> Result<RewindAgreed, Error> {
    // Two people decide, so each is proven here; and each has a reason.
    let operator = cut(&own(&call)?.name);
    let body: RewindBody<'_> = call.json()?;
    let vault = typed::<String>("vault_address", body.vault_address)?.and_then(|text| parse_address(&text));
    let vault = vault.ok_or_else(|| invalid("vault_address"))?;
    let block: u64 = typed("block", body.block)?.ok_or_else(|| invalid("block"))?;
    let reason = reason(body.reason)?;
    if reason.trim().is_empty() {
        return Err(invalid("reason").into());
    }
    let all = call.worker.shared.seen.replaced();
    let found = all.iter().find(|of| of.vault == vault).ok_or(refusal::NOT_FOUND)?;
    let kept = found.kept;
    if kept.block != block {
        let message = format!("block: {} is the newest final block that is still there", kept.block);
        return Err(refusal::INVALID_PARAMETER.saying(message).into());
    }
    let to = |block, hash, time_s| RewindVault {
        chain_id: found.chain_id,
        vault,
        reserved: 0,
        block,
        hash,
        time_s,
        operator,
    };
    let action = || Action {
        subject: Subject::Venue,
        detail: format!("vault {} back to block {block}", address_text(&vault)),
        reason: &reason,
    };
    let (number, last) = {
        let views = views(&call)?;
        let number = views.withdrawals().vault_number(found.chain_id, &vault).ok_or(refusal::NOT_FOUND)?;
        let last = *views.withdrawals().vault(number).ok_or(refusal::NOT_FOUND)?;
        let has_key = |name: &[u8; 16]| call.worker.shared.edge.auth.has_operator(ids::text(name));
        let told = views.deposits().vault(number).and_then(|book| book.rewind);
        let proposed = told.filter(|told| (told.stage, told.block) == (RewindStage::Proposed as u8, block));
        let is_nobodys = proposed.is_some_and(|told| !has_key(&told.proposed_by));
        (number, is_nobodys.then_some(last))
    };
    // Whose key was taken away since is not one of two: who asks now proposes it anew. A proposal to stay where it is takes
    // the place of the former one.
    if let Some(last) = last {
        let stay = to(last.block, last.hash, last.time_s);
        operate(&call, action(), stay).await.map_err(unavailable)?;
    }
    let (action, command) = (action(), to(block, kept.hash, kept.time_s));
    let reply = operate(&call, action, command).await.map_err(unavailable)?;
    if reply.done.rejected().is_some() {
        return Err(refusal::NOT_FOUND.into());
    }
    let views = views(&call)?;
    let told = views.deposits().vault(number).and_then(|book| book.rewind);
    // It may be carried out by now.
    let is_agreed = told.is_none_or(|told| told.stage != RewindStage::Proposed as u8);
    let proposed_by = told.map_or(operator, |told| told.proposed_by);
    let agreed_by = is_agreed.then(|| told.map_or(operator, |told| told.agreed_by));
    Ok(RewindAgreed {
        agreed: is_agreed,
        proposed_by: ids::text(&proposed_by).to_owned(),
        agreed_by: agreed_by.map(|agreed_by| ids::text(&agreed_by).to_owned()),
    })
}
