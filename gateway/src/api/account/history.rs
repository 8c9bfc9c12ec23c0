//! Fills and orders of an account, page by page (`account.md` 4), and its newest orders.

use super::{OF_HISTORY, from_archive, get, market_of, name_of, order_list, shown, views};
use crate::api::docs::{Param, SYMBOL_SENT, Shape};
use crate::api::{Call, Error, Route, Weighed, later};
use ringside_auth::access::{Auth, Permission};
use ringside_core::command::{PerpetualStatus, Side};
use ringside_core::ids::{AccountId, MarketId};
use ringside_dialect::account::refusal::{self, Refusal};
use ringside_dialect::account::{cursor, params};
use ringside_dialect::fapi::encode;
use ringside_dialect::fapi::words::{OrderSide, OrderStatus};
use ringside_views::archive::keyset::{Walk, Walked};
use ringside_views::archive::readers::Unreadable;
use ringside_views::archive::{History, OWN_KEPT_MS};
use ringside_views::kept::List;
use ringside_views::log::{ALL_FACETS, Page, Place};
use ringside_views::perpetual::order::{OrderRecord, order_facet};
use ringside_views::perpetual::rows::FillRecord;
use ringside_wire::account::own;
use ringside_wire::futures::history::FuturesFill;
use ringside_wire::futures::order::FuturesOrder;
use std::ops::RangeInclusive;

/// Rows of `/orders`.
const NEWEST: usize = 100;

const READ: Auth = Auth::Account(Permission::Read);
const SYMBOL: Param = Param::optional("symbol", SYMBOL_SENT, "One market only");
const SIDE: Param = Param::optional("side", Shape::Text, "BUY or SELL, either case");
const START: Param = Param::optional("start_time", Shape::Integer, "UNIX milliseconds, inclusive");
const END: Param = Param::optional("end_time", Shape::Integer, "UNIX milliseconds, inclusive");
const LIMIT: Param = Param::optional("limit", Shape::Integer, "Default 50, clamped to 1..500");
const ORDER: Param = Param::optional("order", Shape::OneOf(&["asc", "desc"]), "By time, asc unless sent");
const PASSED: &str = "Rows passed over, each 1,000 of which, those that do not fit included, weigh 1 more; ignored with cursor";
const OFFSET: Param = Param::optional("offset", Shape::Integer, PASSED);
const CURSOR: Param =
    Param::optional("cursor", Shape::Text, "Sent, even empty: pages by cursor; empty starts");
const STATUS: Param = Param::optional("status", Shape::Text, "Of orders; several joined by commas");
const OF_PAGES: &[Refusal] =
    &[refusal::INVALID_PARAMETER, refusal::INVALID_CURSOR, refusal::SYMBOL_NOT_FOUND];

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        named_refusals: &[OF_PAGES, OF_HISTORY],
        ..get(
            "/account/trades",
            READ,
            "Own fills of perpetual markets, page by page",
            &[SYMBOL, SIDE, START, END, LIMIT, ORDER, OFFSET, CURSOR],
            later!(trades),
        )
    },
    Route {
        named_refusals: &[OF_PAGES, OF_HISTORY],
        ..get(
            "/account/orders",
            READ,
            "Own orders of perpetual markets, open ones included, page by page",
            &[SYMBOL, SIDE, STATUS, START, END, LIMIT, ORDER, OFFSET, CURSOR],
            later!(orders),
        )
    },
    Route {
        named_refusals: &[&[refusal::SYMBOL_NOT_FOUND], OF_HISTORY],
        ..get(
            "/orders",
            READ,
            "The newest 100 perpetual orders of any status, oldest first",
            &[SYMBOL],
            later!(newest),
        )
    },
];

/// What a page is cut from.
struct Asked {
    account: AccountId,
    market: Option<MarketId>,
    /// That one, or all.
    markets: Vec<MarketId>,
    side: Option<Side>,
    facets: u32,
    times: RangeInclusive<i64>,
    limit: usize,
    is_descending: bool,
    offset: u64,
    /// In pages by cursor: where it begins, and what the cursor is bound to.
    cursor: Option<Option<Place>>,
    filter: [u8; 8],
}

fn read(call: &Call, route: &str, statuses: &str) -> Result<Asked, Error> {
    let query = call.query();
    let sent = |name| query.get(name);
    let side = params::side(sent("side").as_deref())?;
    let start = params::time("start_time", sent("start_time").as_deref())?.unwrap_or(i64::MIN);
    let end = params::time("end_time", sent("end_time").as_deref())?.unwrap_or(i64::MAX);
    let limit = params::limit(sent("limit").as_deref(), 50, 500)?;
    let is_descending = params::is_descending(sent("order").as_deref())?;
    let offset = params::count("offset", sent("offset").as_deref())?.unwrap_or(0);
    let (market, markets) = {
        let views = views(call)?;
        let market = market_of(&views, query)?.map(|market| market.market);
        let all = views.perpetuals().markets().all().iter().map(|market| market.market);
        (market, market.map_or_else(|| all.collect(), |market| vec![market]))
    };
    let account = call.account();
    let filter = cursor::filter_hash(&[
        route,
        &account.to_string(),
        &market.map_or_else(String::new, |market| market.to_string()),
        side.map_or("", |side| OrderSide::of(side).text()),
        statuses,
        &start.to_string(),
        &end.to_string(),
        if is_descending { "desc" } else { "asc" },
    ]);
    let cursor = sent("cursor").map(|text| cursor::read(&text, &filter)).transpose()?;
    // No time is before its start.
    let times = start..=end.max(start.saturating_sub(1));
    let facets = ALL_FACETS;
    Ok(Asked { account, market, markets, side, facets, times, limit, is_descending, offset, cursor, filter })
}

/// A page, cut from the rows that fit.
struct Cut<T> {
    rows: Vec<T>,
    total: i64,
    next: Option<Place>,
}

/// The page that is asked for, and what it was charged beyond its row.
async fn cut<T: Walked>(call: &Call, asked: &Asked) -> Result<(Cut<T>, u32), Error> {
    check_kept(call, T::source().list(), asked).await?;
    let history = &call.worker.shared.history;
    let (cut, passed) = match &asked.cursor {
        Some(place) => by_cursor(history, asked, place.clone()).await,
        None => by_offset(history, asked).await,
    }
    .map_err(from_archive)?;
    Ok((cut, call.charge_rows(passed)))
}

/// Refuses a time that is sent and from which on an operator has removed rows; without one, what is there is all that is asked for.
async fn check_kept(call: &Call, list: List, asked: &Asked) -> Result<(), Error> {
    let start = *asked.times.start();
    if start == i64::MIN || start >= call.now_ms - OWN_KEPT_MS {
        return Ok(());
    }
    let removed = call.worker.shared.history.removed(list, asked.account, asked.market).await;
    match removed.map_err(from_archive)?.filter(|removed| start <= removed.time_ms) {
        Some(removed) => {
            let message = format!("start_time: own rows through {} are kept elsewhere", removed.time_ms);
            Err(refusal::INVALID_PARAMETER.saying(message).into())
        }
        None => Ok(()),
    }
}

async fn by_cursor<T: Walked>(
    history: &History,
    asked: &Asked,
    place: Option<Place>,
) -> Result<(Cut<T>, u64), Unreadable> {
    let mut walk = walk(asked, place, asked.limit + 1);
    let mut rows = Vec::with_capacity(asked.limit);
    let mut next = None;
    while let Some(row) = walk.next(history).await? {
        if rows.len() == asked.limit {
            return Ok((Cut { rows, total: -1, next }, walk.passed()));
        }
        rows.push(row);
        next = walk.place().cloned();
    }
    Ok((Cut { rows, total: -1, next: None }, walk.passed()))
}

async fn by_offset<T: Walked>(history: &History, asked: &Asked) -> Result<(Cut<T>, u64), Unreadable> {
    let page = Page::new(asked.account, asked.market, asked.limit).within(asked.times.clone());
    let page = page.faceted(asked.facets).oldest(!asked.is_descending);
    let found = history.beyond(T::source(), &page, asked.offset, true).await?;
    let next = found.place.filter(|_| found.total > asked.offset.saturating_add(asked.limit as u64));
    let total = i64::try_from(found.total).unwrap_or(i64::MAX);
    Ok((Cut { rows: found.rows, total, next }, found.passed))
}

fn walk<T: Walked>(asked: &Asked, place: Option<Place>, at_once: usize) -> Walk<T> {
    let Asked { account, markets, times, is_descending, facets, .. } = asked;
    Walk::new(*account, markets, times.clone(), *is_descending, *facets, place, at_once)
}

fn answer<T, S>(asked: &Asked, cut: &Cut<T>, show: impl Fn(&T) -> S) -> own::Page<S> {
    own::Page {
        items: cut.rows.iter().map(show).collect(),
        total: cut.total,
        limit: asked.limit,
        next_cursor: cut.next.as_ref().map(|place| cursor::write(place, &asked.filter)),
        offset: asked.cursor.is_none().then_some(asked.offset),
    }
}

async fn trades(call: Call) -> Result<Weighed<own::Page<FuturesFill>>, Error> {
    let asked = read(&call, "trades", "")?;
    let facets = asked.side.map_or(ALL_FACETS, |side| 1 << side as u8);
    let asked = Asked { facets, ..asked };
    let (cut, weight) = cut::<FillRecord>(&call, &asked).await?;
    let views = views(&call)?;
    let page = answer(&asked, &cut, |fill| encode::fill(fill, name_of(&views, fill.market)));
    Ok(Weighed(page, weight))
}

async fn orders(call: Call) -> Result<Weighed<own::Page<FuturesOrder>>, Error> {
    let statuses = statuses(&call)?;
    let names: Vec<&str> = statuses.iter().map(|status| OrderStatus::of(*status).text()).collect();
    let asked = read(&call, "orders", &names.join(","))?;
    let facets = facets_of_orders(asked.side, &statuses);
    let asked = Asked { facets, ..asked };
    let (cut, weight) = cut::<OrderRecord>(&call, &asked).await?;
    let views = views(&call)?;
    Ok(Weighed(answer(&asked, &cut, |order| shown(&views, order)), weight))
}

/// Orders of a side, where one is asked for, and of statuses, where some are.
fn facets_of_orders(side: Option<Side>, statuses: &[PerpetualStatus]) -> u32 {
    if side.is_none() && statuses.is_empty() {
        return ALL_FACETS;
    }
    let sides = Side::ALL.iter().filter(|known| side.is_none_or(|side| side == **known));
    let statuses = if statuses.is_empty() { PerpetualStatus::ALL } else { statuses };
    sides
        .flat_map(|side| statuses.iter().map(|status| 1 << order_facet(*side as u8, *status as u8)))
        .fold(0, |facets, facet: u32| facets | facet)
}

/// The statuses asked for, in the order of their numbers; none where all are.
fn statuses(call: &Call) -> Result<Vec<PerpetualStatus>, Error> {
    let Some(sent) = call.query().get("status") else { return Ok(Vec::new()) };
    let find = |name: &str| {
        let named =
            |status: &&PerpetualStatus| OrderStatus::of(**status).text().eq_ignore_ascii_case(name.trim());
        PerpetualStatus::ALL.iter().find(named).copied().ok_or_else(|| refusal::invalid("status"))
    };
    let mut found = sent.split(',').map(find).collect::<Result<Vec<_>, _>>()?;
    found.sort_unstable_by_key(|status| *status as u8);
    found.dedup();
    Ok(found)
}

async fn newest(call: Call) -> Result<Vec<FuturesOrder>, Error> {
    let markets: Vec<MarketId> = {
        let views = views(&call)?;
        match market_of(&views, call.query())? {
            Some(market) => vec![market.market],
            None => views.perpetuals().markets().all().iter().map(|market| market.market).collect(),
        }
    };
    let mut walk: Walk<OrderRecord> =
        Walk::new(call.account(), &markets, i64::MIN..=i64::MAX, true, ALL_FACETS, None, NEWEST);
    let mut rows = Vec::with_capacity(NEWEST);
    while rows.len() < NEWEST
        && let Some(row) = walk.next(&call.worker.shared.history).await.map_err(from_archive)?
    {
        rows.push(row);
    }
    rows.reverse();
    order_list(&call, rows.iter())
}
