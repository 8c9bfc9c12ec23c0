//! What has happened to an account: fills, income, margin moved, meetings that self-trade prevention ended (`perpetual.md` 8 and 9,
//! `account.md` 10).

use super::{
    READ, by_query, check_own, check_window, from_archive, get, market, name_of, optional_market, params,
    shape, views, within,
};
use crate::api::{Call, Error, Query, Route, Weighed, later};
use ringside_core::command::SelfTradePrevention;
use ringside_dialect::fapi::{encode, refusal};
use ringside_views::archive::OWN_KEPT_MS;
use ringside_views::archive::pages::source;
use ringside_views::kept::List;
use ringside_views::log::Page;
use ringside_views::perpetual::rows::{FillRecord, IncomeKind, IncomeRecord, MarginRecord, PreventedRecord};
use ringside_wire::futures::history::{FuturesFill, FuturesIncome, FuturesPreventedMatch, MarginMoved};
use ringside_wire::futures::words::{PositionSide, SelfTrade};
use ringside_wire::number::{Name, SignedMoney, Units};

const DAY_MS: i64 = 86_400_000;

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    get(
        "/fapi/v1/userTrades",
        READ,
        5,
        "Fills of a symbol",
        &[shape::SYMBOL, shape::ORDER_ID, shape::START, shape::END, shape::FROM_ID, shape::LIMIT],
        later!(fills),
    ),
    get(
        "/fapi/v1/income",
        READ,
        30,
        "Changes of the wallet",
        &[shape::OF_SYMBOL, shape::INCOME_TYPE, shape::START, shape::END, shape::PAGE, shape::LIMIT],
        later!(income),
    ),
    get(
        "/fapi/v1/positionMargin/history",
        READ,
        1,
        "Margin moved by request",
        &[shape::SYMBOL, shape::OF_MARGIN_KIND, shape::START, shape::END, shape::LIMIT],
        later!(margins),
    ),
    by_query(
        get(
            "/api/v3/preventedMatches",
            READ,
            2,
            "Matches that self-trade prevention ended",
            &[shape::SYMBOL, shape::PREVENTED_ID, shape::ORDER_ID, shape::FROM_PREVENTED, shape::LIMIT],
            later!(prevented),
        ),
        prevented_weight,
    ),
    by_query(
        get(
            "/api/v3/myPreventedMatches",
            READ,
            2,
            "Another name of preventedMatches",
            &[shape::SYMBOL, shape::PREVENTED_ID, shape::ORDER_ID, shape::FROM_PREVENTED, shape::LIMIT],
            later!(prevented),
        ),
        prevented_weight,
    ),
];

fn prevented_weight(query: Query<'_>) -> u32 {
    if query.get("orderId").is_some_and(|order| !order.is_empty()) { 20 } else { 2 }
}

async fn fills(call: Call) -> Result<Vec<FuturesFill>, Error> {
    let params = params(&call)?;
    params.text("symbol")?;
    let order = params.integer("orderId")?;
    let from = params.integer("fromId")?;
    params.check_times()?;
    let limit = params.limit(500, 1000)?;
    let market = { market(&*views(&call)?, &params)?.market };
    if from.is_some() && (params.get("startTime").is_some() || params.get("endTime").is_some()) {
        return Err(refusal::COMBINATION.into());
    }
    let (start, end) = params.window(7, call.now_ms)?;
    // No order has 0, which would be every order.
    let tag = order.map_or(0, |order| if order == 0 { u64::MAX >> 1 } else { order.unsigned_abs() });
    let page = Page::new(call.account(), Some(market), limit).tagged(tag);
    let page = match from {
        // A trade with oneself is two rows.
        Some(from) => page.from_id(from.unsigned_abs() << 1),
        None => within(page, &params, start..=end),
    };
    let rows: Vec<FillRecord> = call.worker.shared.history.page(&page).await.map_err(from_archive)?;
    match from.map(i64::unsigned_abs) {
        Some(from) if rows.first().is_none_or(|first| first.trade > from) => {
            check_own(&call, List::Fills, market, "fromId", |removed| from << 1 <= removed.id).await?;
        }
        Some(_) => {}
        None => check_window(&call, List::Fills, market, &params, start).await?,
    }
    let views = views(&call)?;
    let symbol = name_of(&views, market);
    Ok(rows.iter().map(|fill| encode::fill(fill, symbol)).collect())
}

async fn income(call: Call) -> Result<Weighed<Vec<FuturesIncome>>, Error> {
    let params = params(&call)?;
    params.check_times()?;
    let page = usize::try_from(params.integer("page")?.unwrap_or(1))
        .ok()
        .filter(|page| *page >= 1)
        .ok_or_else(|| refusal::not_valid("page"))?;
    let limit = params.limit(100, 1000)?;
    let market = { optional_market(&*views(&call)?, &params)?.map(|market| market.market) };
    let tag = match params.get("incomeType") {
        None => 0,
        // Rewards of affiliates are paid out nowhere yet, so there are none to show.
        Some("REFERRAL_KICKBACK") => u64::MAX >> 1,
        Some(word) => {
            let kind = IncomeKind::ALL.into_iter().find(|kind| encode::income_type(*kind) == word);
            kind.ok_or_else(|| refusal::not_valid("incomeType"))? as u64 + 1
        }
    };
    let (start, end) = params.times()?;
    let oldest = call.now_ms - OWN_KEPT_MS;
    let from = match (start, end) {
        (None, None) => call.now_ms - 7 * DAY_MS,
        (start, _) => start.unwrap_or(oldest).max(oldest),
    };
    let asked = Page::new(call.account(), market, limit).tagged(tag);
    let asked = within(asked, &params, from..=end.unwrap_or(i64::MAX));
    let skip = (limit as u64).saturating_mul(page as u64 - 1);
    let history = &call.worker.shared.history;
    let found = history.beyond(source::<IncomeRecord>(), &asked, skip, false).await.map_err(from_archive)?;
    let weight = call.charge_rows(found.passed);
    let mut rows = found.rows;
    if !asked.is_oldest {
        rows.reverse();
    }
    let views = views(&call)?;
    let show = |row: &IncomeRecord| encode::income(row, name_of(&views, row.market));
    Ok(Weighed(rows.iter().map(show).collect(), weight))
}

async fn margins(call: Call) -> Result<Vec<MarginMoved>, Error> {
    let params = params(&call)?;
    params.text("symbol")?;
    let kind = params.integer("type")?;
    params.check_times()?;
    let limit = params.limit(500, 500)?;
    let market = { market(&*views(&call)?, &params)?.market };
    if !matches!(kind, None | Some(1 | 2)) {
        return Err(refusal::not_valid("type").into());
    }
    let (start, end) = params.window(30, call.now_ms)?;
    let page = Page::new(call.account(), Some(market), limit).tagged(kind.unwrap_or(0).unsigned_abs());
    let page = within(page, &params, start..=end);
    let rows: Vec<MarginRecord> = call.worker.shared.history.page(&page).await.map_err(from_archive)?;
    let views = views(&call)?;
    let symbol = Name(name_of(&views, market));
    let rows = rows.iter().map(|row| MarginMoved {
        symbol,
        r#type: row.kind,
        delta_type: "USER_ADJUST",
        amount: SignedMoney(row.amount),
        asset: encode::USDT,
        time: row.time_ms,
        position_side: PositionSide::Both,
    });
    Ok(rows.collect())
}

async fn prevented(call: Call) -> Result<Vec<FuturesPreventedMatch>, Error> {
    let params = params(&call)?;
    params.text("symbol")?;
    let number = params.integer("preventedMatchId")?;
    let order = params.integer("orderId")?;
    let from = params.integer("fromPreventedMatchId")?;
    let limit = params.limit(500, 1000)?;
    let market = { market(&*views(&call)?, &params)?.market };
    let page = Page::new(call.account(), Some(market), limit).oldest(true);
    // A meeting is two rows where both orders are the account's.
    let page = match (number, order) {
        (Some(number), _) => {
            let id = number.unsigned_abs() << 1;
            Page { ids: id..=id | 1, ..page }
        }
        (None, Some(order)) => {
            let tag = if order == 0 { u64::MAX >> 1 } else { order.unsigned_abs() };
            page.tagged(tag).from_id(from.unwrap_or(0).unsigned_abs() << 1)
        }
        (None, None) => return Err(refusal::COMBINATION.into()),
    };
    let history = &call.worker.shared.history;
    let mut rows: Vec<PreventedRecord> = history.page(&page).await.map_err(from_archive)?;
    rows.dedup_by_key(|row| row.told.prevented);
    let views = views(&call)?;
    let symbol = Name(name_of(&views, market));
    let rows = rows.iter().map(|PreventedRecord { told, time_ms, .. }| {
        let mode = SelfTradePrevention::from_code(told.mode);
        let is_of_maker = mode == Some(SelfTradePrevention::ExpireMaker);
        let is_of_taker = mode == Some(SelfTradePrevention::ExpireTaker);
        FuturesPreventedMatch {
            symbol,
            prevented_match_id: told.prevented,
            taker_order_id: told.taker_order,
            maker_symbol: symbol,
            maker_order_id: told.maker_order,
            trade_group_id: told.trade_group,
            self_trade_prevention_mode: SelfTrade::of_code(told.mode),
            price: Units(told.price),
            transact_time: *time_ms,
            taker_prevented_quantity: (!is_of_maker).then_some(Units(told.taker_quantity)),
            maker_prevented_quantity: (!is_of_taker).then_some(Units(told.maker_quantity)),
        }
    });
    Ok(rows.collect())
}
