//! POST /spot/orders: the hot path. One look at the table of markets, one command, one reply; no lock of the views.

use super::replay::{self, Begin, IDEMPOTENCY_KEY, begin, not_handed_over, replayed};
use super::{shape, unavailable};
use crate::api::{Answer, Call, Error, Handler, Later, Method, Response, Route, answer};
use hyper::header::HeaderValue;
use ringside_auth::access::{Auth, Permission};
use ringside_commands::ingress::Priority;
use ringside_core::command::{Command, MarketStatus, PlaceOrder};
use ringside_core::event;
use ringside_core::ids::AccountId;
use ringside_core::reject::Reject;
use ringside_dialect::spot::decode::{PlaceBody, UNSUPPORTED, place_order};
use ringside_dialect::spot::{encode, id, refusal};
use ringside_edge::http::order_rate::OrderCount;
use ringside_views::market::MarketRecord;
use ringside_wire::spot::SpotPlacedOrder;

/// Scope of the keys of this route. Stands in hashes that the journal holds.
const SCOPE: &str = "POST /spot/orders";

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[Route {
    auth: Auth::Account(Permission::Trade),
    orders: OrderCount::ONE,
    tag: "orders",
    summary: "Place an order",
    params: &[replay::HEADER],
    body: shape::PLACE,
    response: answer::<SpotPlacedOrder>(),
    refusals: &[
        &[
            refusal::IDEMPOTENCY_CONFLICT,
            refusal::INVALID_IDEMPOTENCY_KEY,
            refusal::TOO_MANY_IDEMPOTENCY_KEYS,
            refusal::MARKET_MALFORMED,
            refusal::INVALID_SIDE,
            refusal::INVALID_TYPE,
            refusal::INVALID_TIF,
            refusal::MARKET_NOT_FOUND,
            refusal::MARKET_DELISTED,
            refusal::MARKET_HALTED,
            refusal::QUOTE_QUANTITY_REQUIRED,
            refusal::QUANTITY_REQUIRED,
            refusal::PRICE_REQUIRED,
            refusal::INVALID_PRICE,
            refusal::INVALID_QUANTITY,
            refusal::INVALID_QUOTE_QUANTITY,
            refusal::of_reject(Reject::InvalidTick),
            refusal::of_reject(Reject::InvalidLot),
            refusal::of_reject(Reject::BelowMinNotional),
            refusal::of_reject(Reject::InsufficientBalance),
            refusal::of_reject(Reject::TooManyOpenOrders),
            refusal::of_reject(Reject::PostOnlyWouldCross),
            refusal::of_reject(Reject::SelfTrade),
        ],
        UNSUPPORTED,
        super::OF_ENGINE,
    ],
    ..Route::new(Method::Post, "/api/v1/spot/orders", Handler::Later(place))
}];

/// Reads the order at once, and waits with what it read alone.
fn place(mut call: Call) -> Later {
    if let Some(key) = call.head.headers.get(IDEMPOTENCY_KEY).cloned() {
        return Box::pin(place_keyed(call, key));
    }
    let prepared = call.json().and_then(|body: PlaceBody<'_>| prepare(&call, &body, false));
    call.let_go();
    Box::pin(async move {
        let (order, market) = prepared?;
        carry_out(&call, order, &market).await
    })
}

/// Checks in the order of `spot.md` 3 up to the engine. With a key it is the engine that judges whether the market is open: the
/// first try may have come before the market closed, and what the engine answers is kept in the journal.
fn prepare(call: &Call, body: &PlaceBody<'_>, is_keyed: bool) -> Result<(PlaceOrder, MarketRecord), Error> {
    let terms = body.terms()?;
    let market = super::market(call, &terms.symbol)?;
    let size = body.size(&terms);
    match market.status {
        // Without a size there is nothing to hand over.
        _ if is_keyed && size.is_ok() => {}
        MarketStatus::Listed => {}
        MarketStatus::Delisted => return Err(refusal::MARKET_DELISTED.into()),
        MarketStatus::Halted => return Err(refusal::MARKET_HALTED.into()),
    }
    Ok((place_order(call.account(), market.market, &terms, &size?), market))
}

async fn carry_out(call: &Call, order: PlaceOrder, market: &MarketRecord) -> Answer {
    let reply =
        call.worker.ingress.submit(Command::new(order), Priority::Order).await.map_err(unavailable)?;
    match reply.done.rejected() {
        Some(Reject::IdempotencyReplay) => first_answer(call, order.account, order.idempotency_key),
        reject => {
            let answer = outcome(Some(market), reject, reply.order.as_ref(), &reply.trades, reply.time_ns);
            match reject.filter(|_| order.idempotency_key == 0) {
                Some(reject) => answer.map_err(|error| error.with_message(refusal::hint_of(reject, market))),
                // With a key the answer is given again word for word, and the market's steps may be others by then.
                None => answer,
            }
        }
    }
}

/// What a placement came to, now or on its first try.
fn outcome(
    market: Option<&MarketRecord>,
    reject: Option<Reject>,
    order: Option<&event::Order>,
    trades: &[event::Trade],
    time_ns: i64,
) -> Answer {
    match (reject, order, market) {
        (None, Some(order), Some(market)) => {
            let record = encode::placed_record(order, trades, time_ns);
            Ok(Response::of(&encode::placed(&record, market, trades)))
        }
        (Some(reject), stored, _) => {
            let error = Error::from(refusal::of_reject(reject));
            Err(match stored {
                Some(order) => error.with_order_id(id::order_uuid_text(order.order)),
                None => error,
            })
        }
        // Every accepted placement has an order, and every order a market.
        (None, ..) => Err(refusal::INTERNAL.into()),
    }
}

async fn place_keyed(call: Call, key: HeaderValue) -> Answer {
    let (call, body) = (&call, &call.json()?);
    let (keyed, claim) = match begin(call, SCOPE, &key)? {
        Begin::Fresh(keyed, claim) => (keyed, claim),
        Begin::Answered(answer) => return Ok(answer),
    };
    match prepare(call, body, true) {
        Ok((mut order, market)) => {
            order.idempotency_key = keyed.key;
            order.idempotency_body = keyed.body;
            carry_out(call, order, &market).await
        }
        Err(error) => Err(not_handed_over(call, keyed, claim, error)),
    }
}

/// The answer of the first try, from what the views kept of it.
fn first_answer(call: &Call, account: AccountId, key: u64) -> Answer {
    let kept = call.worker.shared.views.read().idempotency().outcome(account, key);
    let kept = kept.ok_or(refusal::INTERNAL)?;
    let market = call.worker.markets.with(|markets| {
        let order = kept.order.as_ref()?;
        markets.get(order.market).copied()
    });
    let first = outcome(market.as_ref(), kept.reject, kept.order.as_ref(), &kept.trades, kept.time_ns);
    Ok(replayed(first.unwrap_or_else(Response::from)))
}
