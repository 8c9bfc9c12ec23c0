//! Price feeds, added, changed and taken away while the exchange runs (`account.md` 13). Which feeds count for an index, and how much, is
//! set with its sources.

use super::{OF_ENGINE, admin, reason, unavailable};
use crate::api::docs::{Field, Param, SYMBOL_SENT, Shape};
use crate::api::operate::{Action, BY, REASON, Subject, note};
use crate::api::{Answers, Call, Error, Method, Route, later, now};
use ringside_config::feed::{Feed, FeedKind, Table};
use ringside_core::ids::{Symbol, padded};
use ringside_dialect::account::refusal::{self, Refusal, invalid};
use ringside_feed::registry::ChangeError;
use ringside_wire::account::operator::{self, FeedOrigin, PriceFeed};
use ringside_wire::account::{DONE, Done};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

const KINDS: Shape = Shape::OneOf(&["fixed", "spot", "http", "websocket"]);
const TEXTS: Shape = Shape::Either(&[Shape::Text, Shape::List(&Shape::Text)]);
const PARAMS: &[Param] = &[
    Param::path("symbol", SYMBOL_SENT, "Name of the perpetual market, any case; it need not be listed yet"),
    Param::path("feed", Shape::Integer, "Number of the feed in that market, as its sources name it"),
    BY,
];
const OF_FILE: &[Refusal] = &[refusal::INTERNAL];

const fn row(method: Method, summary: &'static str, answers: Answers) -> Route {
    Route { params: PARAMS, ..admin(method, "/admin/feeds/{symbol}/{feed}", summary, answers) }
}

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    admin(Method::Get, "/admin/feeds", "Price feeds that run; of addresses only scheme and host", now!(list)),
    Route {
        body: Shape::Object(&[
            Field::new("kind", KINDS, ""),
            Field::optional("url", Shape::Text, "http, https, ws or wss: of http and websocket"),
            Field::optional("price", TEXTS, "Places of the price in the JSON, or of fixed the price itself"),
            Field::optional("volume", Shape::Text, "Place of the volume in the JSON"),
            Field::optional("send", TEXTS, "Texts that a websocket is opened with"),
            Field::optional("spot_market", Shape::Text, "Of spot"),
            Field::optional("notional", Shape::Text, "Of spot"),
            Field::optional("every", Shape::Text, "50ms to 60s, default 1s"),
            REASON,
        ]),
        named_refusals: &[&[refusal::INVALID_PARAMETER], OF_FILE, OF_ENGINE],
        ..row(Method::Put, "Add a price feed, or put it in place of the one of its number", later!(put))
    },
    Route {
        named_refusals: &[&[refusal::INVALID_PARAMETER, refusal::NOT_FOUND], OF_FILE, OF_ENGINE],
        ..row(Method::Delete, "Take a price feed away", later!(remove))
    },
];

fn kind(feed: &Feed) -> operator::FeedKind {
    match feed.kind {
        FeedKind::Fixed { .. } => operator::FeedKind::Fixed,
        FeedKind::Spot { .. } => operator::FeedKind::Spot,
        FeedKind::Http { .. } => operator::FeedKind::Http,
        FeedKind::WebSocket { .. } => operator::FeedKind::WebSocket,
    }
}

/// What a feed reads, in words that hold no secret: of an address neither path nor query.
fn place(feed: &Feed) -> String {
    let text = feed.to_string();
    text.split_once(" from ").map_or(String::new(), |(_, place)| place.to_owned())
}

fn list(call: &Call) -> Result<Vec<PriceFeed>, Error> {
    let feeds = call.worker.shared.feeds.all();
    let rows = feeds.iter().map(|entry| {
        let feed = &entry.feed;
        PriceFeed {
            symbol: feed.market.clone(),
            feed: feed.source,
            kind: kind(feed),
            from: place(feed),
            every_ms: feed.every.as_millis() as u64,
            origin: if entry.is_added { FeedOrigin::Operator } else { FeedOrigin::Configuration },
        }
    });
    Ok(rows.collect())
}

/// Market and number that the path names.
fn named(call: &Call) -> Result<(String, Symbol, u32), Error> {
    let market = call.path_param(0).to_ascii_uppercase();
    let is_name = market.len() >= 2 && market.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let symbol = padded(&market).filter(|_| is_name).ok_or_else(|| invalid("symbol"))?;
    let number = call.path_param(1).parse().map_err(|_| invalid("feed"))?;
    Ok((market, symbol, number))
}

async fn put(call: Call) -> Result<Done, Error> {
    let (market, symbol, number) = named(&call)?;
    let mut body: Map<String, Value> = call.json()?;
    let why = body.remove("reason").map(|sent| sent.to_string()).unwrap_or_default();
    let why: Option<&RawValue> = serde_json::from_str(&why).ok();
    let why = reason(why)?;
    for name in ["market", "source"] {
        if body.contains_key(name) {
            return Err(refusal::INVALID_PARAMETER.saying(format!("{name}: stands in the path")).into());
        }
    }
    body.insert("market".to_owned(), market.into());
    body.insert("source".to_owned(), number.into());
    let refused = |reason: String| refusal::INVALID_PARAMETER.saying(reason);
    let table: Table =
        serde_json::from_value(Value::Object(body)).map_err(|error| refused(error.to_string()))?;
    let feed = table.clone().feed().map_err(refused)?;
    let detail = format!("feed {number} from {}", place(&feed));
    note(&call, Action { subject: Subject::Market(symbol), detail, reason: &why })
        .await
        .map_err(unavailable)?;
    let feeds = call.worker.shared.feeds.clone();
    changed(tokio::task::spawn_blocking(move || feeds.put(table).map(|_| ())).await)
}

async fn remove(call: Call) -> Result<Done, Error> {
    let (market, symbol, number) = named(&call)?;
    let feeds = call.worker.shared.feeds.clone();
    let is_known = |feed: &Feed| (&feed.market, feed.source) == (&market, number);
    if !feeds.all().iter().any(|entry| is_known(&entry.feed)) {
        return Err(refusal::NOT_FOUND.into());
    }
    let detail = format!("feed {number} taken away");
    note(&call, Action { subject: Subject::Market(symbol), detail, reason: "" })
        .await
        .map_err(unavailable)?;
    changed(tokio::task::spawn_blocking(move || feeds.remove(&market, number)).await)
}

fn changed<E>(outcome: Result<Result<(), ChangeError>, E>) -> Result<Done, Error> {
    match outcome {
        Ok(Ok(())) => Ok(DONE),
        Ok(Err(ChangeError::Feed(reason))) => Err(refusal::INVALID_PARAMETER.saying(reason).into()),
        Ok(Err(ChangeError::Unknown)) => Err(refusal::NOT_FOUND.into()),
        Ok(Err(ChangeError::File(error))) => {
            tracing::error!(%error, "a change of price feeds is in the audit log, and was not made");
            Err(refusal::INTERNAL.into())
        }
        Err(_) => Err(refusal::INTERNAL.into()),
    }
}
