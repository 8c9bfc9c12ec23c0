//! What a venue is opened and run with (`account.md` 13): perpetual markets are listed and changed, on production deployments as on test
//! ones, and the fee schedule. A market is listed or changed by one command behind a draft that nobody sees, so that users see all of
//! it or nothing, and a request that broke off is sent again. Everything else follows from the events: nothing is restarted.

use super::{OF_ENGINE, OF_VIEWS, STATES, admin, reason, reason_of, unavailable, views};
use crate::api::docs::{
    DECIMAL_OR_NULL, Field, Param, SIGNED, SYMBOL, SYMBOL_SENT, Shape, decimal, integer, text,
};
use crate::api::operate::{Action, BY, ForTwo, REASON, Subject, for_two, operate, operate_after};
use crate::api::{Answer, Answers, Call, Error, Handler, Method, Response, Route, later, now};
use ringside_core::command::{
    ApplyDraft, Command, DraftPerpetual, PerpetualParameter as P, PerpetualState, ScheduleVipTier,
    SetPerpetualState,
};
use ringside_core::ids::{AssetName, MarketId, Symbol, padded};
use ringside_core::reject::Reject;
use ringside_core::risk::perpetual::bounds;
use ringside_dialect::account::impact::{endangered, shortfall};
use ringside_dialect::account::listing::{self, Wanted};
use ringside_dialect::account::refusal::{self, Refusal, invalid};
use ringside_dialect::body;
use ringside_dialect::fapi::words::TradingState;
use ringside_views::Views;
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_wire::account::operator::{Endangers, FeeSchedules, LeavesShort, Listed, ScheduleSet};
use ringside_wire::account::{DONE, Done, OrElse};
use ringside_wire::name::Market;
use ringside_wire::number::{Amount, SignedAmount};
use serde_json::Value;
use std::time::Duration;

/// A state of a draft that is none.
const AS_IT_IS: u8 = u8::MAX;
/// The margin asset of a venue that has no perpetual market yet.
const QUOTE: &str = "USDT";
/// How long a listing that is to take orders waits for the market's first mark, and how often it looks.
const MARK_PATIENCE: Duration = Duration::from_secs(5);
const MARK_LOOK: Duration = Duration::from_millis(50);

const OF_BOUNDS: &[Refusal] = &[refusal::INVALID_PARAMETER];
const OF_SYMBOL: &[Refusal] = &[refusal::SYMBOL_NOT_FOUND, refusal::MARKET_CLOSED];
const SYMBOL_PARAM: Param = Param::path("symbol", SYMBOL_SENT, "Name of the market, any case");

const BRACKET: Shape = Shape::Named(
    "BracketSent",
    &[
        Field::new("notional_cap", Shape::DecimalInput, "Largest notional, USDT"),
        Field::new("max_leverage", Shape::Integer, "Greatest leverage, falling from row to row"),
        Field::new("maint_margin_ratio", Shape::DecimalInput, "Fraction of 1, rising from row to row"),
    ],
);
const SOURCE: Shape = Shape::Named(
    "SourceSent",
    &[
        Field::new("feed", Shape::Integer, "Number of the feed in this market: see /admin/feeds"),
        Field::new("weight", Shape::Integer, "1 to 1000000"),
        Field::optional(
            "stale_ms",
            Shape::Integer,
            "Age after which it is not fresh; default source_stale_ms",
        ),
    ],
);
const CONFIRM: Field =
    Field::optional("confirm", Shape::Boolean, "true: carried out although needs_confirmation was answered");
const BRACKETS: Field =
    Field::optional("brackets", Shape::List(&BRACKET), "All of them, by rising cap: 1 to 16");
const SOURCES: Field = Field::optional("sources", Shape::List(&SOURCE), "All of them, at most 16");
const RATE: Shape = Shape::Either(&[SIGNED, Shape::Number]);

/// What may be named of a market, beside what only a listing has.
macro_rules! parameters {
    ($($before:expr),*; $($after:expr),*) => {
        &[
            $($before,)*
            Field::optional("tick_size", Shape::DecimalInput, "Price step"),
            Field::optional("lot_size", Shape::DecimalInput, "Quantity step"),
            Field::optional("min_price", Shape::DecimalInput, "Default: tick_size"),
            Field::optional("max_price", Shape::DecimalInput, ""),
            Field::optional("min_quantity", Shape::DecimalInput, "Default: lot_size"),
            Field::optional("max_quantity", Shape::DecimalInput, "Of types with a limit price"),
            Field::optional("max_market_quantity", Shape::DecimalInput, "Of market types"),
            Field::optional("min_notional", Shape::DecimalInput, ""),
            Field::optional("max_notional", Shape::DecimalInput, ""),
            Field::optional("max_open_orders", Shape::Integer, "Of an account, untriggered ones included"),
            Field::optional("max_conditional", Shape::Integer, "Untriggered ones of an account"),
            Field::optional("price_band", Shape::DecimalInput, "multiplier_up is 1 + it, multiplier_down 1 - it"),
            Field::optional("multiplier_up", Shape::DecimalInput, ""),
            Field::optional("multiplier_down", Shape::DecimalInput, ""),
            Field::optional("take_bound", Shape::DecimalInput, "Fraction of 1, as all rates"),
            Field::optional("trigger_protect", Shape::DecimalInput, ""),
            Field::optional("liquidation_fee", Shape::DecimalInput, "Below the first bracket's maint_margin_ratio"),
            Field::optional("mark_clamp", Shape::DecimalInput, "Default: the widest that the brackets allow"),
            Field::optional("source_clamp", Shape::DecimalInput, ""),
            Field::optional("source_stale_ms", Shape::Integer, ""),
            Field::optional("min_sources", Shape::Integer, ""),
            Field::optional("impact_notional", Shape::DecimalInput, "Default: 200 x the greatest leverage"),
            Field::optional("funding_interval_h", Shape::Integer, "1, 2, 4 or 8"),
            Field::optional("interest", RATE, "Per 8 hours"),
            Field::optional("damp", Shape::DecimalInput, "Per 8 hours"),
            Field::optional("funding_cap", Shape::DecimalInput, "Per settlement"),
            Field::optional("dynamic_band", Shape::DecimalInput, ""),
            Field::optional("dynamic_reference_s", Shape::Integer, ""),
            Field::optional("spot_market", Shape::Nullable(&SYMBOL_SENT), "That the index may fall back to"),
            Field::optional("pool", Shape::OneOf(&["MAIN"]), ""),
            $($after,)*
        ]
    };
}

const LISTING: Shape = Shape::Named(
    "PerpetualListing",
    parameters!(
        Field::new("symbol", SYMBOL_SENT, "Name of the market, any case"),
        Field::new("base", Shape::Pattern("^[A-Za-z0-9]{1,10}$"), "Name of what is traded"),
        Field::new("brackets", Shape::List(&BRACKET), "All of them, by rising cap: 1 to 16"),
        Field::new("sources", Shape::List(&SOURCE), "At most 16");
        Field::optional("state", Shape::OneOf(STATES), "Default CANCEL_ONLY; CLOSED is none"),
        REASON
    ),
);
const PARAMETERS: Shape = Shape::Named("PerpetualParameters", parameters!(; CONFIRM, REASON));
const SHOWN: Shape = Shape::Named(
    "ConfiguredSymbol",
    parameters!(
        Field::new("symbol", SYMBOL, ""),
        text("base"),
        text("quote"),
        Field::new("state", Shape::OneOf(STATES), "");
        Field::new(
            "brackets",
            Shape::List(&Shape::Object(&[
                decimal("notional_cap"),
                integer("max_leverage"),
                decimal("maint_margin_ratio"),
                decimal("cum"),
            ])),
            ""
        ),
        Field::new(
            "sources",
            Shape::List(&Shape::Object(&[
                integer("feed"),
                integer("weight"),
                integer("stale_ms"),
                Field::new("price", DECIMAL_OR_NULL, "That it told last"),
            ])),
            ""
        ),
        integer("listed_at"),
        Field::new("changed_at", Shape::Nullable(&Shape::Integer), "UNIX milliseconds"),
        Field::new("changed_by", Shape::Nullable(&Shape::Text), "null: nobody since the venue was founded"),
        Field::new("changed_with", Shape::Nullable(&Shape::OneOf(&["own key", "shared key"])), "")
    ),
);
const TIER_SENT: Shape = Shape::Named(
    "FeeTierSent",
    &[
        Field::new("min_volume_14d", Shape::DecimalInput, "0 of the first, rising"),
        Field::new("maker_rate", RATE, "Fraction of 1; below 0 a rebate"),
        Field::new("taker_rate", RATE, ""),
    ],
);

const fn row(method: Method, path: &'static str, summary: &'static str, answers: Answers) -> Route {
    Route {
        params: &[SYMBOL_PARAM, BY],
        is_for_two: true,
        named_refusals: &[OF_BOUNDS, OF_SYMBOL, &[refusal::FORBIDDEN, refusal::BUSY], OF_ENGINE],
        ..admin(method, path, summary, answers)
    }
}

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        params: &[BY],
        body: LISTING,
        is_for_two: false,
        named_refusals: &[OF_BOUNDS, &[refusal::SYMBOL_EXISTS, refusal::NO_MARK_PRICE], OF_ENGINE],
        ..row(
            Method::Post,
            "/admin/perpetual/symbols",
            "List a perpetual market, all of it at once; the same again is taken for a repetition",
            later!(list),
        )
    },
    Route {
        body: PARAMETERS,
        ..row(
            Method::Patch,
            "/admin/perpetual/symbols/{symbol}/parameters",
            "Change parameters of a perpetual market, all of them at once, from the next command on",
            later!(change_parameters),
        )
    },
    Route {
        body: Shape::Either(&[Shape::Object(&[BRACKETS, CONFIRM, REASON]), Shape::List(&BRACKET)]),
        ..row(
            Method::Put,
            "/admin/perpetual/symbols/{symbol}/brackets",
            "Give a perpetual market other brackets",
            later!(|call| change_list(call, "brackets")),
        )
    },
    Route {
        body: Shape::Either(&[Shape::Object(&[SOURCES, CONFIRM, REASON]), Shape::List(&SOURCE)]),
        // Whom it brings into question, prices to come will say.
        is_for_two: false,
        named_refusals: &[OF_BOUNDS, OF_SYMBOL, &[refusal::BUSY], OF_ENGINE],
        ..row(
            Method::Put,
            "/admin/perpetual/symbols/{symbol}/sources",
            "Give the index of a perpetual market other sources",
            later!(|call| change_list(call, "sources")),
        )
    },
    Route {
        named_refusals: &[OF_VIEWS],
        ..admin(
            Method::Get,
            "/admin/perpetual/symbols",
            "Everything configured of every perpetual market, and who changed it last",
            Answers { response: Shape::List(&SHOWN), handler: Handler::Now(show_all) },
        )
    },
    Route {
        named_refusals: &[&[refusal::SYMBOL_NOT_FOUND], OF_VIEWS],
        params: &[SYMBOL_PARAM],
        ..admin(
            Method::Get,
            "/admin/perpetual/symbols/{symbol}",
            "Everything configured of a perpetual market, and who changed it last",
            Answers { response: SHOWN, handler: Handler::Now(show_one) },
        )
    },
    Route {
        params: &[BY],
        body: Shape::Either(&[
            Shape::Object(&[
                Field::new("schedule", Shape::List(&TIER_SENT), "1 to 16 tiers, lowest first"),
                REASON,
            ]),
            Shape::List(&TIER_SENT),
        ]),
        is_for_two: false,
        named_refusals: &[OF_BOUNDS, OF_ENGINE],
        ..row(
            Method::Put,
            "/admin/vip-tiers",
            "Give the venue another fee schedule, from the next UTC 00:00 on",
            later!(schedule),
        )
    },
    Route {
        named_refusals: &[OF_VIEWS],
        ..admin(
            Method::Get,
            "/admin/vip-tiers",
            "The fee schedule, the one to come, and who changed them last",
            now!(show_tiers),
        )
    },
];

/// A body that is one list, as the object that holds it.
fn as_object(body: &[u8], name: &str) -> Vec<u8> {
    let is_list = body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    match is_list {
        true => [b"{\"", name.as_bytes(), b"\":", body, b"}"].concat(),
        false => body.to_vec(),
    }
}

fn read(call: &Call, body: &[u8], members: &[&str], has_parameters: bool) -> Result<Wanted, Error> {
    let views = views(call)?;
    let spot = |name: &str| views.markets().by_symbol(&name.to_ascii_uppercase()).map(|market| market.market);
    let wanted = Wanted::read(body, members, has_parameters, spot)?;
    reason_of(&wanted.reason)?;
    Ok(wanted)
}

fn spot_markets(views: &Views) -> usize {
    views.markets().len()
}

/// The market that the path names, which is not closed.
fn market_of<'v>(views: &'v Views, symbol: &str) -> Result<&'v PerpetualMarket, Error> {
    let market = views.perpetuals().markets().by_symbol(symbol).ok_or(refusal::SYMBOL_NOT_FOUND)?;
    match market.state {
        PerpetualState::Closed => Err(refusal::MARKET_CLOSED.into()),
        _ => Ok(market),
    }
}

/// Text of letters and digits as a padded name in capitals.
fn name<const N: usize>(field: &str, sent: Option<&String>, least: usize) -> Result<[u8; N], Error> {
    let text = sent.map(|text| text.to_ascii_uppercase()).unwrap_or_default();
    let is_name = text.len() >= least && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    Ok(padded(&text).filter(|_| is_name).ok_or_else(|| invalid(field))?)
}

async fn list(call: Call) -> Result<Listed, Error> {
    let members = ["symbol", "base", "brackets", "sources", "state", "reason"];
    let mut wanted = read(&call, &call.body, &members, true)?;
    let symbol: Symbol = name("symbol", wanted.symbol.as_ref(), 2)?;
    let base: AssetName = name("base", wanted.base.as_ref(), 1)?;
    wanted.base = wanted.base.map(|base| base.to_ascii_uppercase());
    for (parameter, field) in [(P::Tick, "tick_size"), (P::Lot, "lot_size")] {
        wanted.get(parameter).ok_or_else(|| invalid(field))?;
    }
    wanted.brackets.as_ref().ok_or_else(|| invalid("brackets"))?;
    wanted.sources.as_ref().ok_or_else(|| invalid("sources"))?;
    let state = wanted.state.unwrap_or(PerpetualState::CancelOnly);
    if state == PerpetualState::Closed {
        return Err(invalid("state").into());
    }
    let text = ringside_core::ids::text(&symbol).to_owned();
    // What a market cannot be before it has a mark, it becomes afterwards.
    let first = if needs_mark(state) { PerpetualState::CancelOnly } else { state };
    let guard = call.worker.shared.drafts.lock().await;
    let (known, quote) = {
        let views = views(&call)?;
        let perpetuals = views.perpetuals();
        let known = perpetuals.markets().by_symbol(&text);
        if let Some(market) = known
            && (!wanted.is_met(market, perpetuals) || market.state == PerpetualState::Closed)
        {
            return Err(refusal::SYMBOL_EXISTS.into());
        }
        if known.is_none() {
            wanted.judge(None, spot_markets(&views))?;
        }
        let quote = perpetuals.markets().all().first().map_or(QUOTE, PerpetualMarket::quote).to_owned();
        (known.map(|market| market.market), quote)
    };
    if ringside_core::ids::text(&base) == quote {
        return Err(invalid("base").into());
    }
    let action = |detail: String| Action { subject: Subject::Market(symbol), detail, reason: &wanted.reason };
    let market = match known {
        Some(market) => market,
        None => {
            let quote = padded(&quote).ok_or(refusal::INTERNAL)?;
            let commands = wanted.draft(DraftPerpetual { symbol, base, quote, market: 0, reserved: 0 });
            let apply =
                ApplyDraft { changes: commands.len() as u32 - 1, state: first as u8, reserved: [0; 3] };
            let detail = format!("listed {}", wanted.detail());
            let reply = operate_after(&call, action(detail), commands, apply).await.map_err(unavailable)?;
            refused(reply.done.rejected(), || Ok(()))?;
            reply.done.market
        }
    };
    drop(guard);
    if wanted.state.is_some() && (known.is_some() || needs_mark(state)) {
        if needs_mark(state) && !has_mark(&call, market).await? {
            return Err(refusal::NO_MARK_PRICE
                .saying(format!(
                    "{text} is listed, in CANCEL_ONLY: it has no mark price yet; send this again"
                ))
                .into());
        }
        let set = SetPerpetualState { market, state: state as u8, reserved: [0; 3] };
        let reply = operate(&call, action(TradingState::of(state).text().to_owned()), set)
            .await
            .map_err(unavailable)?;
        if let Some(reject) = reply.done.rejected() {
            return Err(refusal::of_operator(reject).into());
        }
    }
    let state = views(&call)?.perpetuals().markets().get(market).map_or(first, |market| market.state);
    Ok(Listed { ok: true, symbol: Market(symbol), state: TradingState::of(state) })
}

fn needs_mark(state: PerpetualState) -> bool {
    !matches!(state, PerpetualState::Halted | PerpetualState::CancelOnly)
}

/// Whether a market has a mark, or gets one soon.
async fn has_mark(call: &Call, market: MarketId) -> Result<bool, Error> {
    let begin = tokio::time::Instant::now();
    loop {
        let mark = views(call)?.perpetuals().markets().get(market).map_or(0, PerpetualMarket::mark);
        if mark != 0 || begin.elapsed() > MARK_PATIENCE {
            return Ok(mark != 0);
        }
        tokio::time::sleep(MARK_LOOK).await;
    }
}

/// What the engine says of a draft; `judge` says what was wrong with it, where that can be said.
fn refused(reject: Option<Reject>, judge: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
    match reject {
        None => Ok(()),
        Some(Reject::MarketExists) => Err(refusal::SYMBOL_EXISTS.into()),
        Some(Reject::StepsDoNotFit) => Err(refusal::INVALID_PARAMETER
            .saying("tick_size, lot_size: every tick times every lot that the market ever had must be a multiple of 0.000001")
            .into()),
        // It was judged before: something else has changed meanwhile.
        Some(Reject::ParameterOutOfRange | Reject::DraftNotFound) => {
            judge()?;
            Err(refusal::BUSY.into())
        }
        Some(reject) => Err(refusal::of_operator(reject).into()),
    }
}

async fn change_parameters(call: Call) -> Result<Changed, Error> {
    let wanted = read(&call, &call.body, &["confirm", "reason"], true)?;
    change(call, wanted).await
}

async fn change_list(call: Call, list: &'static str) -> Result<Changed, Error> {
    let wanted = read(&call, &as_object(&call.body, list), &[list, "confirm", "reason"], false)?;
    if wanted.is_empty() {
        return Err(invalid(list).into());
    }
    change(call, wanted).await
}

/// What a change is answered: that it was made, that it waits, or whom it would endanger.
type Changed = ForTwo<OrElse<Done, Endangers>>;

async fn change(call: Call, wanted: Wanted) -> Result<Changed, Error> {
    if wanted.is_empty() {
        return Err(refusal::INVALID_PARAMETER.saying("body: nothing to change").into());
    }
    let guard = call.worker.shared.drafts.lock().await;
    let (market, symbol, danger) = {
        let views = views(&call)?;
        let market = market_of(&views, &call.path_param(0))?;
        wanted.judge(Some(market), spot_markets(&views))?;
        let clamp = wanted.get(P::MarkClamp).unwrap_or_else(|| market.setting(P::MarkClamp));
        let brackets = match &wanted.brackets {
            Some(rows) => bounds::table(rows).ok(),
            None => market.table(),
        };
        let brackets = brackets.ok_or(refusal::INTERNAL)?;
        (market.market, market.symbol, endangered(views.perpetuals(), market, brackets, clamp))
    };
    let action = Action { subject: Subject::Market(symbol), detail: wanted.detail(), reason: &wanted.reason };
    if danger.scopes > 0 {
        if !wanted.confirm {
            return Ok(ForTwo::Done(OrElse::That(Endangers {
                needs_confirmation: true,
                scopes: danger.scopes,
                notional: Amount(danger.notional * 1_000_000_000_000),
            })));
        }
        if let Some(waits) = for_two(&call, &action)? {
            return Ok(ForTwo::Waits(waits));
        }
    }
    let blank = DraftPerpetual { symbol: [0; 20], base: [0; 10], quote: [0; 10], market, reserved: 0 };
    let commands = wanted.draft(blank);
    let apply = ApplyDraft { changes: commands.len() as u32 - 1, state: AS_IT_IS, reserved: [0; 3] };
    let reply = operate_after(&call, action, commands, apply).await.map_err(unavailable)?;
    drop(guard);
    refused(reply.done.rejected(), || {
        let views = views(&call)?;
        let market = views.perpetuals().markets().get(market).ok_or(refusal::SYMBOL_NOT_FOUND)?;
        Ok(wanted.judge(Some(market), spot_markets(&views))?)
    })?;
    Ok(ForTwo::Done(OrElse::This(DONE)))
}

/// What a settlement would leave short, where it is not confirmed yet; for the route that sets states.
pub(super) fn unconfirmed_close(call: &Call, market: MarketId) -> Result<LeavesShort, Error> {
    let views = views(call)?;
    let perpetuals = views.perpetuals();
    let found = perpetuals.markets().get(market).ok_or(refusal::SYMBOL_NOT_FOUND)?;
    let fund = perpetuals.accounts().get(ringside_core::ids::FEE_ACCOUNT).wallet;
    Ok(LeavesShort {
        needs_confirmation: true,
        shortfall: Amount(shortfall(perpetuals, found) * 1_000_000_000_000),
        fund: SignedAmount(i128::from(fund) * 1_000_000_000_000),
    })
}

fn show(views: &Views, market: &PerpetualMarket) -> Value {
    let spot = |market: MarketId| views.markets().get(market).map(|market| market.symbol().to_owned());
    listing::shown(market, views.perpetuals(), spot)
}

fn show_all(call: &Call) -> Answer {
    let views = views(call)?;
    let rows = views.perpetuals().markets().all().iter().map(|market| show(&views, market));
    Ok(Response::of(&rows.collect::<Vec<_>>()))
}

fn show_one(call: &Call) -> Answer {
    let views = views(call)?;
    let market = views.perpetuals().markets().by_symbol(&call.path_param(0));
    Ok(Response::of(&show(&views, market.ok_or(refusal::SYMBOL_NOT_FOUND)?)))
}

fn show_tiers(call: &Call) -> Result<FeeSchedules, Error> {
    Ok(listing::schedules(views(call)?.perpetuals()))
}

body! {
    TiersBody { schedule, reason }
}

async fn schedule(call: Call) -> Result<ScheduleSet, Error> {
    let sent = as_object(&call.body, "schedule");
    let body: TiersBody<'_> = serde_json::from_slice(&sent).map_err(|_| invalid("body"))?;
    let tiers = listing::tiers(body.schedule)?;
    let reason = reason(body.reason)?;
    let action =
        Action { subject: Subject::Venue, detail: listing::detail_of_tiers(&tiers), reason: &reason };
    let (last, before) = tiers.split_last().ok_or_else(|| invalid("schedule"))?;
    let before: Vec<Command> = before.iter().map(|tier| Command::new::<ScheduleVipTier>(*tier)).collect();
    let guard = call.worker.shared.drafts.lock().await;
    let reply = operate_after(&call, action, before, *last).await.map_err(unavailable)?;
    drop(guard);
    refused(reply.done.rejected(), || Ok(()))?;
    let views = views(&call)?;
    let effective_at = views.perpetuals().configured().next_tiers().first().map(|tier| tier.effective_ms);
    Ok(ScheduleSet { effective_at, ok: true })
}
