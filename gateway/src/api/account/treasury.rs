//! POST /admin/treasury/transfer: how the venue's own money moves between the insurance fund, the fees and an account's spot balance
//! (`account.md` 13). The engine judges a move whole and makes nothing; above a configured amount a day two operators
//! must want it.

use super::{OF_ENGINE, admin, needed_reason, unavailable, views};
use crate::api::docs::{Field, Shape, TOKEN};
use crate::api::operate::{Action, BY, ForTwo, REASON_NEEDED, Subject, for_two, operate};
use crate::api::{Call, Error, Method, Route, later};
use ringside_auth::access::Acting;
use ringside_core::command::{MoveTreasury, TreasuryPlace};
use ringside_core::ids::{AccountId, AssetName, FEE_ACCOUNT, padded};
use ringside_core::money::{AMOUNT_PER_MICRO, Amount};
use ringside_core::reject::Reject;
use ringside_core::risk::perpetual::takeover::fund_withdrawable;
use ringside_dialect::account::params::{member, number, typed};
use ringside_dialect::account::refusal::{self, Refusal, invalid};
use ringside_dialect::account::treasury::End;
use ringside_dialect::body;
use ringside_dialect::fapi::{margin, text};
use ringside_views::Views;
use ringside_wire::account::operator::TreasuryMoved;
use ringside_wire::name::Token;
use ringside_wire::number as written;

const END: Shape = Shape::Pattern("^(fund:MAIN|fees:spot|fees:perpetual|account:0x[0-9a-fA-F]{40})$");
const REFUSALS: &[Refusal] = &[
    refusal::INVALID_PARAMETER,
    refusal::UNSUPPORTED_TOKEN,
    refusal::INSUFFICIENT_BALANCE,
    refusal::NOT_FOUND,
    refusal::FORBIDDEN,
    refusal::WITHDRAWALS_PAUSED,
];

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[Route {
    params: &[BY],
    body: Shape::Object(&[
        Field::new("from", END, "What it leaves"),
        Field::new("to", END, "Where it comes to; one of both is the fund or fees"),
        Field::new("token", TOKEN, "USDT where fund:MAIN or fees:perpetual is an end"),
        Field::new(
            "amount",
            Shape::DecimalInput,
            "Above 0, at most 18 decimals, 6 where fund:MAIN or fees:perpetual is an end",
        ),
        REASON_NEEDED,
    ]),
    is_for_two: true,
    named_refusals: &[REFUSALS, OF_ENGINE],
    ..admin(
        Method::Post,
        "/admin/treasury/transfer",
        "Move money of the insurance fund or of fees; what makes more than `treasury_two_operators_above` a day two operators decide",
        later!(transfer),
    )
}];

body! {
    TransferBody { from, to, token, amount, reason }
}

/// A move as it was asked for.
struct Move {
    from: End,
    to: End,
    token: String,
    asset: AssetName,
    amount: Amount,
}

async fn transfer(call: Call) -> Result<ForTwo<TreasuryMoved>, Error> {
    let body: TransferBody<'_> = call.json()?;
    let asked = read(&body)?;
    let reason = needed_reason(body.reason)?;
    let command = {
        let views = views(&call)?;
        command(&views, &asked)?
    };
    let Move { from, to, token, amount, .. } = &asked;
    let amount = written::Amount(*amount);
    let subject = match (from, to) {
        (End::Account(address), _) | (_, End::Account(address)) => Subject::Account(*address),
        _ => Subject::Venue,
    };
    let action = Action { subject, detail: format!("from={from} to={to} {amount} {token}"), reason: &reason };
    let alone = &call.worker.shared.edge.alone;
    let bound = call.worker.config.treasury_two_operators_above.0;
    let counted = match call.acting() {
        Acting::Two(..) => None,
        Acting::Shared | Acting::Own(_) => alone.count(asked.asset, asked.amount, bound, call.now_ms),
    };
    if counted.is_none()
        && let Some(waiting) = for_two(&call, &action)?
    {
        return Ok(ForTwo::Waits(waiting));
    }
    // Where nobody can say whether it was carried out, it counts.
    let reply = operate(&call, action, command).await.map_err(unavailable)?;
    if let Some(reject) = reply.done.rejected() {
        if let Some(counted) = counted {
            alone.forget(counted);
        }
        return Err(refused(&call, &asked, reject));
    }
    Ok(ForTwo::Done(TreasuryMoved {
        ok: true,
        sequence: reply.sequence,
        from: from.to_string(),
        to: to.to_string(),
        token: Token(asked.asset),
        amount,
    }))
}

/// What is wrong with a body whatever the venue holds.
fn read(body: &TransferBody<'_>) -> Result<Move, Error> {
    let end = |name, sent| {
        let sent: Option<String> = typed(name, sent)?;
        End::parse(name, sent.as_deref())
    };
    let (from, to) = (end("from", body.from)?, end("to", body.to)?);
    if let (End::Account(_), End::Account(_)) = (from, to) {
        let text = "to: fund:MAIN, fees:spot or fees:perpetual where from is an account";
        return Err(refusal::INVALID_PARAMETER.saying(text).into());
    }
    if from == to {
        return Err(refusal::INVALID_PARAMETER.saying(format!("to: another than from, {from}")).into());
    }
    let token: String = typed("token", body.token)?.ok_or_else(|| invalid("token"))?;
    let asset = padded(&token).filter(|_| !token.is_empty()).ok_or_else(|| no_token(&token))?;
    let is_perpetual = from.is_perpetual() || to.is_perpetual();
    let bound = || {
        let decimals = if is_perpetual {
            "at most 6 decimals at fund:MAIN and fees:perpetual"
        } else {
            "at most 18 decimals"
        };
        refusal::INVALID_PARAMETER.saying(format!("amount: a decimal above 0, {decimals}"))
    };
    let amount = member(body.amount).and_then(number).map(|amount| amount.0).ok_or_else(bound)?;
    if amount <= 0 || (is_perpetual && amount % AMOUNT_PER_MICRO != 0) {
        return Err(bound().into());
    }
    Ok(Move { from, to, token, asset, amount })
}

fn no_token(token: &str) -> Error {
    refusal::UNSUPPORTED_TOKEN.saying(format!("token: there is no {token} here")).into()
}

fn command(views: &Views, asked: &Move) -> Result<MoveTreasury, Error> {
    let end = |name: &str, end: End| match end {
        End::Own(place) => Ok((place as u8, 0)),
        End::Account(address) => {
            let account = views.accounts().of_address(&address);
            let account = account.ok_or_else(|| {
                refusal::NOT_FOUND.saying(format!("{name}: no wallet of this address has been here"))
            })?;
            Ok::<(u8, AccountId), Error>((TreasuryPlace::Account as u8, account))
        }
    };
    let (from, from_account) = end("from", asked.from)?;
    let (to, to_account) = end("to", asked.to)?;
    let (amount, asset) = (asked.amount.into(), asked.asset);
    Ok(MoveTreasury { from_account, to_account, amount, asset, from, to, reserved: [0; 4] })
}

/// What a move was refused with; bounds are those of now.
fn refused(call: &Call, asked: &Move, reject: Reject) -> Error {
    let Move { from, token, .. } = asked;
    match reject {
        Reject::MarketNotFound => no_token(token),
        Reject::WithdrawalsPaused => {
            refusal::WITHDRAWALS_PAUSED.saying(format!("from: {from} is in deficit")).into()
        }
        Reject::InsufficientBalance | Reject::CrossInsufficient => {
            let available = match views(call) {
                Ok(views) => available(&views, asked),
                Err(error) => return error,
            };
            let available = text::amount(available);
            refusal::INSUFFICIENT_BALANCE
                .saying(format!("amount: at most the {available} {token} that {from} has available"))
                .into()
        }
        // The form was judged before: what is left is a token that the perpetual ledger does not know, or sums out of range.
        Reject::InvalidAmount => {
            let views = match views(call) {
                Ok(views) => views,
                Err(error) => return error,
            };
            let mut markets = views.perpetuals().markets().all().iter();
            match markets.next().filter(|market| market.quote() != token) {
                Some(market) if from.is_perpetual() || asked.to.is_perpetual() => {
                    let text = format!("token: {} alone at fund:MAIN and fees:perpetual", market.quote());
                    refusal::UNSUPPORTED_TOKEN.saying(text).into()
                }
                _ => refusal::INVALID_PARAMETER
                    .saying("amount: at most 10^12 at once, and no more than an end can hold")
                    .into(),
            }
        }
        _ => refusal::INTERNAL.into(),
    }
}

fn available(views: &Views, asked: &Move) -> Amount {
    let spot = |account| {
        let asset = views.markets().asset(&asked.token);
        asset.map_or(0, |asset| views.balances().row(account, asset).available)
    };
    match asked.from {
        End::Account(address) => views.accounts().of_address(&address).map_or(0, spot),
        End::Own(TreasuryPlace::Fund) => {
            let fund = margin::figures(views.perpetuals(), FEE_ACCOUNT);
            let equity = fund.account.wallet + fund.cross_unrealised;
            let (maintenance, notional) =
                (fund.total(|held| held.maintenance), fund.total(|held| held.notional.saturating_abs()));
            let free = fund_withdrawable(fund.account.wallet, equity, maintenance, notional);
            Amount::from(free) * AMOUNT_PER_MICRO
        }
        End::Own(TreasuryPlace::PerpetualFees) => {
            Amount::from(views.perpetuals().pools().fees) * AMOUNT_PER_MICRO
        }
        End::Own(_) => spot(FEE_ACCOUNT),
    }
}
