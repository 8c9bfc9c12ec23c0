//! What an operator does (`account.md` 13): credits, index prices, states of symbols, terms of accounts, the proof of all ledgers, and
//! the audit log of it all. Each action is one command behind a note of who, from where and why.

use super::listing::unconfirmed_close;
use super::{OF_ENGINE, OF_HISTORY, OF_VIEWS, STATES, admin, from_archive, reason, unavailable, views};
use crate::api::docs::{ADDRESS_SENT, Field, Param, SYMBOL_SENT, Shape};
use crate::api::operate::{Action, BY, REASON, Subject, cut, operate};
use crate::api::{Answers, Call, Error, Method, Route, later};
use ringside_commands::ingress::{Priority, Reply};
use ringside_config::Config;
use ringside_core::command::{
    Body, Command, CreditPerpetual, PauseWithdrawals, PerpetualState, ProveLedger, SetManualPrice,
    SetPerpetualAccount, SetPerpetualState, account_mask, pause,
};
use ringside_core::event::IndexState;
use ringside_core::ids::{Address, MarketId, Symbol};
use ringside_dialect::account::params::{limit, member, number, typed};
use ringside_dialect::account::refusal::{self, Refusal, invalid};
use ringside_dialect::account::{audit, params};
use ringside_dialect::body;
use ringside_dialect::fapi::params::Decimal;
use ringside_dialect::fapi::text;
use ringside_dialect::fapi::words::TradingState;
use ringside_views::Views;
use ringside_views::ledger::LedgerProof;
use ringside_views::log::Page;
use ringside_views::perpetual::rows::OperatorRecord;
use ringside_wire::account::operator::{AuditPage, LeavesShort, OperatorAction};
use ringside_wire::account::proof::{LedgerName, LedgerProven, LedgerSides, Reserves};
use ringside_wire::account::{DONE, Done, OrElse};
use ringside_wire::address::parse_address;
use ringside_wire::number::SignedAmount;

const OF_MARKETS: &[Refusal] = &[refusal::INVALID_PARAMETER, refusal::SYMBOL_NOT_FOUND];
const fn row(method: Method, path: &'static str, summary: &'static str, answers: Answers) -> Route {
    Route { params: &[BY], ..admin(method, path, summary, answers) }
}

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        precondition: Some(is_test_deployment),
        body: Shape::Object(&[
            Field::new("user_address", ADDRESS_SENT, "The wallet's address"),
            Field::new("amount", Shape::DecimalInput, "Of the margin asset, above 0, at most 6 decimals"),
            REASON,
        ]),
        named_refusals: &[&[refusal::DISABLED], OF_MARKETS, OF_ENGINE],
        ..row(
            Method::Post,
            "/admin/perpetual/credit",
            "Credit a perpetual wallet; test deployments only",
            later!(credit),
        )
    },
    Route {
        precondition: Some(is_test_deployment),
        body: Shape::Object(&[
            Field::new("symbol", SYMBOL_SENT, "Name of the market, any case"),
            Field::optional(
                "price",
                Shape::DecimalInput,
                "The index; null or absent frees it; refused where what is open cannot be valued at it",
            ),
            REASON,
        ]),
        named_refusals: &[&[refusal::DISABLED], OF_MARKETS, OF_ENGINE],
        ..row(
            Method::Post,
            "/admin/perpetual/index-price",
            "Pin the index of a perpetual market; test deployments only",
            later!(pin),
        )
    },
    Route {
        params: &[Param::path("symbol", SYMBOL_SENT, "Name of the market, any case"), BY],
        body: Shape::Object(&[
            Field::new("state", Shape::OneOf(STATES), ""),
            Field::optional(
                "confirm",
                Shape::Boolean,
                "Of CLOSED: true settles; else it is told what would be left short",
            ),
            REASON,
        ]),
        named_refusals: &[OF_MARKETS, &[refusal::MARKET_CLOSED, refusal::NO_MARK_PRICE], OF_ENGINE],
        ..row(
            Method::Patch,
            "/admin/perpetual/symbols/{symbol}",
            "Set the state of a perpetual market; CLOSED settles it and is final",
            later!(set_state),
        )
    },
    Route {
        params: &[Param::path("address", ADDRESS_SENT, "The wallet's address"), BY],
        body: Shape::Object(&[
            Field::optional("trade_group_id", Shape::Integer, "-1 for none"),
            Field::optional("promo_bps", Shape::Integer, "With promo_expires_at"),
            Field::optional("promo_expires_at", Shape::Integer, "UNIX milliseconds"),
            Field::optional("trading_enabled", Shape::Boolean, "false refuses placements"),
            REASON,
        ]),
        named_refusals: &[&[refusal::INVALID_PARAMETER, refusal::NOT_FOUND], OF_ENGINE],
        ..row(
            Method::Patch,
            "/admin/accounts/{address}",
            "Change the trade group, the promotion or the permission to trade of an account",
            later!(set_account),
        )
    },
    Route {
        body: Shape::Object(&[
            Field::new("paused", Shape::Boolean, "Whether POST /withdraw/request answers WITHDRAWALS_PAUSED"),
            Field::optional(
                "clear_alarm",
                Shape::Boolean,
                "true also takes back the alarm that a release raised which must be impossible: withdrawals of both kinds go on",
            ),
            REASON,
        ]),
        named_refusals: &[&[refusal::INVALID_PARAMETER], OF_ENGINE],
        ..row(
            Method::Post,
            "/admin/withdrawals/pause",
            "Pause withdrawals of perpetual margin, or let them go on",
            later!(pause_withdrawals),
        )
    },
    Route {
        named_refusals: &[OF_ENGINE],
        ..admin(
            Method::Get,
            "/admin/ledger/proof",
            "Add every ledger up: both sides of each asset, with the sequence and the hash of that state",
            later!(prove),
        )
    },
    Route {
        named_refusals: &[&[refusal::INVALID_PARAMETER], OF_VIEWS, OF_HISTORY],
        params: &[
            Param::optional("limit", Shape::Integer, "Default 50, clamped to 1..500"),
            Param::optional("before", Shape::Integer, "Rows with smaller ids only"),
            Param::optional("operator", Shape::Text, "Of this operator only, as the log names them"),
            Param::optional("kind", Shape::OneOf(audit::KINDS), "Of this `action` only"),
            Param::optional("from", Shape::Integer, "Least time, UNIX milliseconds"),
            Param::optional("to", Shape::Integer, "Greatest time, UNIX milliseconds"),
        ],
        ..admin(Method::Get, "/admin/audit", "What operators did, newest first", later!(read_audit))
    },
];

pub(super) fn is_test_deployment(config: &Config) -> Result<(), Error> {
    if config.test_deployment { Ok(()) } else { Err(refusal::DISABLED.into()) }
}

body! {
    CreditBody { user_address, amount, reason }

    PriceBody { symbol, price, reason }

    StateBody { state, confirm, reason }

    AccountBody { trade_group_id, promo_bps, promo_expires_at, trading_enabled, reason }

    PauseBody { paused, clear_alarm, reason }
}

async fn credit(call: Call) -> Result<Done, Error> {
    let body: CreditBody<'_> = call.json()?;
    let address = typed::<String>("user_address", body.user_address)?;
    let address: Address =
        address.as_deref().and_then(parse_address).ok_or_else(|| invalid("user_address"))?;
    let amount = member(body.amount).and_then(number).and_then(Decimal::micros).filter(|amount| *amount > 0);
    let amount = amount.ok_or_else(|| invalid("amount"))?;
    let reason = reason(body.reason)?;
    let note = cut(&reason);
    let action = Action { subject: Subject::Account(address), detail: text::micros(amount), reason: &reason };
    carry_out(&call, action, CreditPerpetual { address, reserved: 0, amount, reason: note }).await
}

async fn pin(call: Call) -> Result<Done, Error> {
    let body: PriceBody<'_> = call.json()?;
    let symbol = typed::<String>("symbol", body.symbol)?.ok_or_else(|| invalid("symbol"))?;
    let (market, symbol) = market(&call, &symbol)?;
    let price = match member(body.price) {
        None => 0,
        Some(raw) => {
            let price = number(raw).and_then(|price| price.price().ok()).filter(|price| *price > 0);
            price.ok_or_else(|| invalid("price"))?
        }
    };
    let reason = reason(body.reason)?;
    // A pin is of test deployments alone, where the price may be put anywhere.
    let command = SetManualPrice { market, moves_band: 1, price };
    if price != 0 && reason.is_empty() && is_pinned(&call, market)? {
        // Whoever moves it again and again without a word is a feed: what is noted is when that began, and its end.
        let reply = call.worker.ingress.submit(Command::new(command), Priority::Internal).await;
        return answered(reply.map_err(unavailable)?);
    }
    let detail = if price == 0 { "free".to_owned() } else { text::units8(price) };
    carry_out(&call, Action { subject: Subject::Market(symbol), detail, reason: &reason }, command).await
}

fn is_pinned(call: &Call, market: MarketId) -> Result<bool, Error> {
    let views = views(call)?;
    let price = views.perpetuals().markets().get(market).and_then(|market| market.price.as_ref());
    Ok(price.is_some_and(|price| price.index_state == IndexState::Manual as u8))
}

async fn set_state(call: Call) -> Result<OrElse<Done, LeavesShort>, Error> {
    let body: StateBody<'_> = call.json()?;
    let (market, symbol) = market(&call, &call.path_param(0))?;
    let state = typed::<String>("state", body.state)?;
    let state = state.as_deref().and_then(TradingState::read).ok_or_else(|| invalid("state"))?;
    let is_confirmed = typed("confirm", body.confirm)?.unwrap_or(false);
    let action = Action {
        subject: Subject::Market(symbol),
        detail: TradingState::of(state).text().to_owned(),
        reason: &reason(body.reason)?,
    };
    if state == PerpetualState::Closed && !is_confirmed && !is_closed(&call, market)? {
        return Ok(OrElse::That(unconfirmed_close(&call, market)?));
    }
    let command = SetPerpetualState { market, state: state as u8, reserved: [0; 3] };
    carry_out(&call, action, command).await.map(OrElse::This)
}

/// Whether a market is settled already: then there is nothing to confirm, and the engine says so.
fn is_closed(call: &Call, market: MarketId) -> Result<bool, Error> {
    let views = views(call)?;
    let found = views.perpetuals().markets().get(market);
    Ok(found.is_some_and(|market| market.state == PerpetualState::Closed))
}

async fn pause_withdrawals(call: Call) -> Result<Done, Error> {
    let body: PauseBody<'_> = call.json()?;
    let is_paused: bool = typed("paused", body.paused)?.ok_or_else(|| invalid("paused"))?;
    let clears = typed("clear_alarm", body.clear_alarm)?.unwrap_or(false);
    let reason = reason(body.reason)?;
    let action = Action {
        subject: Subject::Venue,
        detail: format!("paused={is_paused}{}", if clears { " alarm=false" } else { "" }),
        reason: &reason,
    };
    let command = PauseWithdrawals {
        mask: pause::OPERATOR | if clears { pause::ALARM } else { 0 },
        paused: if is_paused { pause::OPERATOR } else { 0 },
        reason: cut(&reason),
    };
    carry_out(&call, action, command).await
}

async fn set_account(call: Call) -> Result<Done, Error> {
    let address = parse_address(&call.path_param(0)).ok_or_else(|| invalid("address"))?;
    let body: AccountBody<'_> = call.json()?;
    let account = {
        let views = views(&call)?;
        views.accounts().of_address(&address).ok_or(refusal::NOT_FOUND)?
    };
    let trade_group: Option<i64> = typed("trade_group_id", body.trade_group_id)?;
    let promo_bps: Option<u32> = typed("promo_bps", body.promo_bps)?;
    let promo_expires_at: Option<i64> = typed("promo_expires_at", body.promo_expires_at)?;
    let trading_enabled: Option<bool> = typed("trading_enabled", body.trading_enabled)?;
    let promotion = match (promo_bps, promo_expires_at) {
        (None, None) => None,
        (None | Some(10_001..), _) => return Err(invalid("promo_bps").into()),
        (Some(bps), Some(until_ms @ 0..)) => Some((bps, until_ms)),
        _ => return Err(invalid("promo_expires_at").into()),
    };
    let bit = |is_sent: bool, bit: u32| if is_sent { bit } else { 0 };
    let (promo_bps, promo_until_ms) = promotion.unwrap_or_default();
    let mask = bit(trade_group.is_some(), account_mask::TRADE_GROUP)
        | bit(trading_enabled.is_some(), account_mask::TRADING)
        | bit(promotion.is_some(), account_mask::PROMO);
    if mask == 0 {
        return Err(refusal::INVALID_PARAMETER.saying("body: nothing to change").into());
    }
    let mut detail: Vec<String> = Vec::new();
    detail.extend(trading_enabled.map(|is_on| format!("trading={is_on}")));
    detail.extend(trade_group.map(|group| format!("group={group}")));
    detail.extend(promotion.map(|(bps, until_ms)| format!("promo={bps} until={until_ms}")));
    let command = SetPerpetualAccount {
        account,
        mask,
        trade_group: trade_group.unwrap_or(-1),
        trading_enabled: u32::from(trading_enabled.unwrap_or(true)),
        promo_bps,
        promo_until_ms,
        ..zerocopy::FromZeros::new_zeroed()
    };
    let action = Action {
        subject: Subject::Account(address),
        detail: detail.join(" "),
        reason: &reason(body.reason)?,
    };
    carry_out(&call, action, command).await
}

/// The market of a name, with the name as it is shown.
fn market(call: &Call, symbol: &str) -> Result<(MarketId, Symbol), Error> {
    let views = views(call)?;
    let market = views.perpetuals().markets().by_symbol(symbol).ok_or(refusal::SYMBOL_NOT_FOUND)?;
    Ok((market.market, market.symbol))
}

async fn carry_out<B: Body>(call: &Call, action: Action<'_>, body: B) -> Result<Done, Error> {
    answered(operate(call, action, body).await.map_err(unavailable)?)
}

fn answered(reply: Reply) -> Result<Done, Error> {
    match reply.done.rejected() {
        None => Ok(DONE),
        Some(reject) => Err(refusal::of_operator(reject).into()),
    }
}

/// A command, so that the sums are of one state, which the journal leads to again: whoever doubts them replays to the
/// sequence and compares the hash. It walks the whole state on the matcher.
async fn prove(call: Call) -> Result<LedgerProven, Error> {
    let proof = call.worker.ingress.submit(Command::new(ProveLedger {}), Priority::Internal).await;
    proof.map_err(unavailable)?;
    let views = views(&call)?;
    // Another one may have come since: then it is newer, and as good.
    let newest = call.worker.shared.proofs.newest();
    Ok(shown(views.ledger().last(), &views, newest.map(|proof| super::proof::shown(&proof))))
}

/// Stretches of the log that one request looks through for what fits its filters.
const STRETCHES: usize = 64;

async fn read_audit(call: Call) -> Result<AuditPage, Error> {
    let query = call.query();
    let limit = limit(query.get("limit").as_deref(), 50, 500)?;
    let before: Option<u64> = params::count("before", query.get("before").as_deref())?;
    let (operator, kind) = (query.get("operator"), query.get("kind"));
    if kind.as_deref().is_some_and(|kind| !audit::KINDS.contains(&kind)) {
        return Err(invalid("kind").into());
    }
    let time = |name| params::time(name, query.get(name).as_deref());
    let times = time("from")?.unwrap_or(i64::MIN)..=time("to")?.unwrap_or(i64::MAX);
    drop(views(&call)?);
    let Some(mut last) = before.unwrap_or(u64::MAX).checked_sub(1) else {
        return Err(invalid("before").into());
    };
    let fits = |row: &OperatorAction| {
        operator.as_deref().is_none_or(|operator| row.operator == operator)
            && kind.as_deref().is_none_or(|kind| row.action == kind)
    };
    let mut items = Vec::new();
    let rows_max = limit * audit::PARTS_MAX;
    let mut next_before = None;
    for _ in 0..STRETCHES {
        let page = Page { ids: 0..=last, ..Page::new(0, Some(0), rows_max) }.within(times.clone());
        let rows: Vec<OperatorRecord> = call.worker.shared.history.page(&page).await.map_err(from_archive)?;
        let actions = audit::actions(&rows, limit);
        let is_last = rows.len() < rows_max && actions.len() < limit;
        let oldest = actions.last().map(|row| row.id);
        items.extend(actions.into_iter().filter(fits));
        next_before = oldest.filter(|number| !is_last && *number > 1);
        if items.len() >= limit {
            let is_cut = items.len() > limit;
            items.truncate(limit);
            next_before = items
                .last()
                .map(|row| row.id)
                .filter(|number| is_cut || (next_before.is_some() && *number > 1));
            break;
        }
        let Some(next) = next_before else { break };
        last = next - 1;
    }
    Ok(AuditPage { items, next_before })
}

fn shown(proof: &LedgerProof, views: &Views, reserves: Option<Reserves>) -> LedgerProven {
    const MICRO: i128 = 1_000_000_000_000;
    let row = |asset, ledger, left, right, terms: &[(&'static str, i128)]| LedgerSides {
        asset: views.markets().asset_name(asset).unwrap_or("").to_owned(),
        ledger,
        left: SignedAmount(left),
        right: SignedAmount(right),
        equal: left == right,
        terms: terms.iter().map(|(name, amount)| (*name, SignedAmount(*amount))).collect(),
    };
    let mut ledgers = Vec::new();
    for spot in &proof.spot {
        let (available, frozen, credited) = (spot.available.get(), spot.frozen.get(), spot.credited.get());
        let terms = [("available", available), ("frozen", frozen), ("credited", credited)];
        ledgers.push(row(spot.asset, LedgerName::Spot, available + frozen, credited, &terms));
    }
    if let Some(told) = &proof.perpetual {
        let (wallets, isolated, costs) = (told.wallets.get(), told.isolated.get(), told.costs.get());
        let [fund, fees, affiliates, deposits] =
            [told.fund, told.fees, told.affiliates, told.deposits].map(i128::from);
        let left = wallets + isolated + fund + fees + affiliates - costs;
        let terms = [
            ("wallets", wallets),
            ("isolated_wallets", isolated),
            ("insurance_fund", fund),
            ("fee_pool", fees),
            ("affiliate_payable", affiliates),
            ("position_costs", costs),
            ("net_transfers", deposits),
        ];
        let terms = terms.map(|(name, micros)| (name, micros * MICRO));
        ledgers.push(row(told.asset, LedgerName::Perpetual, left * MICRO, deposits * MICRO, &terms));
        let (held, told_of) = proof.on_their_way;
        // Outside of both ledgers until the vault has paid it or it comes back.
        let terms = [("in_withdrawals", held)];
        ledgers.push(row(told.asset, LedgerName::Withdrawals, held, told_of, &terms));
    }
    LedgerProven {
        sequence: proof.sequence,
        time: proof.time_ns.div_euclid(1_000_000),
        state_hash: const_hex::encode(proof.state_hash),
        ledgers,
        reserves,
    }
}
