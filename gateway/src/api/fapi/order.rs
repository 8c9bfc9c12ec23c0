//! Place, modify and cancel (`perpetual.md` 8). Each is one command; what it came to is read from its events.

use super::keyed::{self, Marked};
use super::{TRADE, carry_out, market, params, row, shape, shown, submit, success, views};
use crate::api::{Call, Error, Method, Route, later};
use ringside_auth::secret;
use ringside_commands::ingress::{Priority, Reply};
use ringside_core::command::{
    CancelAllPerpetual, CancelPerpetual, ClientOrder, PerpetualOrderType, PlacePerpetual, SetCountdown,
    order_class, order_flag,
};
use ringside_core::event;
use ringside_core::ids::{ALL_MARKETS, MarketId};
use ringside_core::money::Quantity;
use ringside_core::reject::Reject;
use ringside_dialect::fapi::params::{Params, TIME_MAX_MS};
use ringside_dialect::fapi::place::{self, Names};
use ringside_dialect::fapi::{order, refusal, reject};
use ringside_edge::http::order_rate::OrderCount;
use ringside_views::perpetual::order::OrderRecord;
use ringside_wire::futures::order::{BatchElement, FuturesOrder};
use ringside_wire::futures::{Countdown, FuturesSuccess, Refused};
use ringside_wire::number::Whole;
use serde_json::Value;
use serde_json::value::RawValue;
use std::cell::RefCell;

/// Characters of a name that is made here.
const GENERATED_LEN: usize = 22;
/// Names whose letters are drawn together.
const GENERATED_AHEAD: usize = 64;
const PLACED_MAX: usize = 5;
const CANCELED_MAX: usize = 10;

pub(super) const ALL_CANCELED: FuturesSuccess = success("The operation of cancel all open order is done.");
pub(super) const ONE: OrderCount = OrderCount::ONE;
const BATCH: OrderCount = OrderCount { ten_seconds: 5, minute: 1 };

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        orders: ONE,
        protection: Some(is_order_exempt),
        ..row(
            Method::Post,
            "/fapi/v1/order",
            TRADE,
            0,
            "Place an order",
            shape::PLACED,
            later!(|call| place_order(call, 0)),
        )
    },
    Route {
        orders: ONE,
        protection: Some(is_order_exempt),
        ..row(
            Method::Post,
            "/fapi/v1/order/test",
            TRADE,
            0,
            "Judge an order without placing it",
            shape::PLACED,
            later!(|call| place_order(call, order_flag::TEST)),
        )
    },
    Route {
        orders: ONE,
        ..row(
            Method::Put,
            "/fapi/v1/order",
            TRADE,
            0,
            "Modify an order",
            shape::MODIFIED,
            later!(modify_order),
        )
    },
    row(
        Method::Delete,
        "/fapi/v1/order",
        TRADE,
        1,
        "Cancel an order",
        &[shape::SYMBOL, shape::ORDER_ID, shape::CLIENT_ID],
        later!(cancel_order),
    ),
    Route {
        orders: BATCH,
        protection: Some(is_batch_exempt),
        ..row(
            Method::Post,
            "/fapi/v1/batchOrders",
            TRADE,
            5,
            "Place up to five orders",
            &[shape::BATCH],
            later!(place_batch),
        )
    },
    Route {
        orders: BATCH,
        ..row(
            Method::Put,
            "/fapi/v1/batchOrders",
            TRADE,
            5,
            "Modify up to five orders",
            &[shape::BATCH],
            later!(modify_batch),
        )
    },
    row(
        Method::Delete,
        "/fapi/v1/batchOrders",
        TRADE,
        1,
        "Cancel up to ten orders",
        &[shape::SYMBOL, shape::ORDER_IDS, shape::CLIENT_IDS],
        later!(cancel_batch),
    ),
    row(
        Method::Delete,
        "/fapi/v1/allOpenOrders",
        TRADE,
        1,
        "Cancel all open orders of a symbol",
        &[shape::SYMBOL],
        later!(cancel_all),
    ),
    row(
        Method::Post,
        "/fapi/v1/countdownCancelAll",
        TRADE,
        10,
        "Cancel all open orders unless called again",
        &[shape::OF_SYMBOL, shape::COUNTDOWN, shape::KEEP],
        later!(countdown),
    ),
];

/// Judged from the parameters alone (`perpetual.md` 4).
fn is_exempt(params: &Params<'_>) -> bool {
    let is = |name| params.boolean(name).ok().flatten().unwrap_or(false);
    match (params.get("positionSide").unwrap_or("BOTH"), params.get("side").unwrap_or("")) {
        _ if is("closePosition") => true,
        ("BOTH", _) => is("reduceOnly"),
        ("LONG", "SELL") | ("SHORT", "BUY") => true,
        _ => false,
    }
}

/// Where there is little room left, what only reduces goes before what opens.
pub(super) fn priority_of(params: &Params<'_>) -> Priority {
    if is_exempt(params) { Priority::Cancel } else { Priority::Order }
}

fn is_order_exempt(call: &Call) -> bool {
    params(call).is_ok_and(|params| is_exempt(&params))
}

fn is_batch_exempt(call: &Call) -> bool {
    let Ok(params) = params(call) else { return false };
    elements(&params).is_ok_and(|elements| {
        elements.iter().all(|element| element_params(element).is_ok_and(|params| is_exempt(&params)))
    })
}

/// Reads the order at once, and waits with what it read alone.
fn place_order(mut call: Call, flags: u16) -> impl Future<Output = Result<Marked<FuturesOrder>, Error>> {
    let placing = params(&call).and_then(|params| Placing::read(&call, &params, flags, true));
    call.let_go();
    async move {
        let (order, is_replayed) = placing?.carry_out(&call).await?;
        keyed::marked(order, is_replayed)
    }
}

thread_local! {
    /// Letters for names to come, so that the system is asked for randomness once for many. They are nobody's secret.
    static LETTERS: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A name for an order that comes without.
pub(super) fn generated_name() -> Result<ClientOrder, Error> {
    LETTERS.with_borrow_mut(|letters| {
        if letters.len() < GENERATED_LEN {
            let drawn = secret::random_text(GENERATED_AHEAD * GENERATED_LEN);
            *letters = drawn.map_err(|_| refusal::INTERNAL)?.to_string();
        }
        let rest = letters.len() - GENERATED_LEN;
        let mut name: ClientOrder = [0; _];
        name[..GENERATED_LEN].copy_from_slice(&letters.as_bytes()[rest..]);
        letters.truncate(rest);
        Ok(name)
    })
}

/// A placement that was read from a request.
struct Placing {
    command: PlacePerpetual,
    priority: Priority,
    is_compatible: bool,
    /// As it was sent, for the refusal that names it.
    leverage: Option<Box<str>>,
}

impl Placing {
    /// Keys are those of orders of any route but the conditional-order service's; a test has none.
    fn read(call: &Call, params: &Params<'_>, flags: u16, has_header: bool) -> Result<Placing, Error> {
        let generated = generated_name()?;
        let mut command = {
            let views = views(call)?;
            place::place(params, views.perpetuals().markets(), call.account(), Names::Order, generated)?
        };
        command.flags |= flags;
        if flags & order_flag::TEST == 0 {
            keyed::put(call, params, "/fapi/v1/order", has_header, &mut command)?;
        }
        let priority = priority_of(params);
        let leverage = params.get("leverage").map(Box::from);
        Ok(Placing { command, priority, is_compatible: call.is_compatible(), leverage })
    }

    /// What became of it, or of the first with its key, and which of the two. An error outside was judged anew.
    async fn carry_out(&self, call: &Call) -> Result<(Result<FuturesOrder, Error>, bool), Error> {
        let Placing { command, priority, .. } = self;
        let reply = submit(call, *command, *priority).await?;
        Ok(match keyed::first(call, command, reply.done.rejected())? {
            Some(first) => {
                let order = first.perpetual.as_ref();
                (self.answer(call, first.reject, order, first.time_ns), true)
            }
            None => {
                let order = reply.perpetual.as_deref();
                (self.answer(call, reply.done.rejected(), order, reply.time_ns), false)
            }
        })
    }

    fn answer(
        &self,
        call: &Call,
        reject: Option<Reject>,
        order: Option<&OrderRecord>,
        time_ns: i64,
    ) -> Result<FuturesOrder, Error> {
        let Placing { command, is_compatible, leverage, .. } = self;
        let views = shown(call);
        let market = views.perpetuals().markets().get(command.market).ok_or(refusal::INTERNAL)?;
        let as_judged = || {
            let perpetuals = views.perpetuals();
            let held = perpetuals.accounts().get(command.account).holding(command.market).position.quantity;
            place::as_judged(command, perpetuals.book(command.market), held)
        };
        if let Some(reject) = reject {
            let most = place::notional_max(views.perpetuals(), command.account, market);
            let judged = as_judged();
            return Err(place::explain(reject, &judged, (market, most), leverage.as_deref()).into());
        }
        let order = match order {
            Some(order) => *order,
            None => judged(&as_judged(), market.lot(), time_ns),
        };
        Ok(order::shown(&order, market.symbol, *is_compatible))
    }
}

async fn place_one(call: &Call, params: &Params<'_>) -> Result<FuturesOrder, Error> {
    Placing::read(call, params, 0, false)?.carry_out(call).await?.0
}

/// An order that was judged and not placed.
fn judged(command: &PlacePerpetual, lot: Quantity, time_ns: i64) -> OrderRecord {
    let told = event::PerpetualOrder {
        account: command.account,
        market: command.market,
        side: command.side,
        order_type: command.order_type,
        original_type: command.order_type,
        time_in_force: command.time_in_force,
        self_trade: command.self_trade,
        working_type: command.working_type,
        price_match: command.price_match,
        flags: command.flags & !order_flag::TEST,
        callback_rate: command.callback_rate,
        price: command.price,
        quantity: command.quantity - command.quantity % lot.max(1),
        stop_price: command.stop_price,
        good_till_ms: command.good_till_ms,
        ..zerocopy::FromZeros::new_zeroed()
    };
    let mut record = OrderRecord::new(&told, None, time_ns.div_euclid(1_000_000));
    record.client_order = command.client_order;
    record
}

async fn modify_order(call: Call) -> Result<FuturesOrder, Error> {
    let params = params(&call)?;
    modify_one(&call, &params).await
}

async fn modify_one(call: &Call, params: &Params<'_>) -> Result<FuturesOrder, Error> {
    let command = {
        let views = views(call)?;
        place::modify(params, views.perpetuals().markets(), call.account())?
    };
    let reply = submit(call, command, Priority::Order).await?;
    if let Some(reject) = reply.done.rejected() {
        let views = shown(call);
        let perpetuals = views.perpetuals();
        let market = perpetuals.markets().get(command.market).ok_or(refusal::INTERNAL)?;
        let name = || params.get("origClientOrderId").unwrap_or("");
        let order = match command.order {
            0 => perpetuals.orders().open_named(command.account, command.market, name(), false),
            order => perpetuals.orders().open(order).filter(|order| !order.is_of_service()),
        };
        // Before it fires, an order of the conditional-order service is known to that service's routes alone.
        if reject == Reject::NotModifiable && order.is_none() {
            return Err(refusal::NO_SUCH_ORDER.into());
        }
        let sent = PlacePerpetual {
            side: order.map_or(0, |order| order.told.side),
            order_type: PerpetualOrderType::Limit as u8,
            price_match: command.price_match,
            price: command.price,
            quantity: command.quantity,
            ..zerocopy::FromZeros::new_zeroed()
        };
        let sent = place::as_judged(&sent, perpetuals.book(command.market), 0);
        let most = place::notional_max(perpetuals, command.account, market);
        return Err(place::explain(reject, &sent, (market, most), None).into());
    }
    changed(call, &reply, command.market).map(order::modified)
}

/// The order of a reply. Name and time of placement are the views'.
fn changed(call: &Call, reply: &Reply, market: MarketId) -> Result<FuturesOrder, Error> {
    let views = shown(call);
    let known = views.perpetuals().orders().get(call.account(), market, reply.done.order);
    let known = *known.ok_or(refusal::INTERNAL)?;
    let order = match &reply.perpetual {
        Some(told) => OrderRecord { told: told.told, updated_ms: told.updated_ms, ..known },
        None => known,
    };
    let market = views.perpetuals().markets().get(market).ok_or(refusal::INTERNAL)?;
    Ok(order::shown(&order, market.symbol, call.is_compatible()))
}

async fn cancel_order(call: Call) -> Result<FuturesOrder, Error> {
    let params = params(&call)?;
    params.text("symbol")?;
    let order = params.integer("orderId")?;
    let name = params.get("origClientOrderId");
    if order.is_none() && name.is_none() {
        return Err(refusal::ORDER_NAME.into());
    }
    let market = { market(&*views(&call)?, &params)?.market };
    cancel_one(&call, market, order, name.unwrap_or("")).await
}

async fn cancel_one(
    call: &Call,
    market: MarketId,
    order: Option<i64>,
    name: &str,
) -> Result<FuturesOrder, Error> {
    let command = CancelPerpetual {
        account: call.account(),
        market,
        order: place::order_id(order),
        client_order: if order.is_some() { [0; 36] } else { place::lookup_name(name) },
        classes: order_class::ORDINARY,
    };
    let reply = submit(call, command, Priority::Cancel).await?;
    match reply.done.rejected() {
        None => changed(call, &reply, market),
        Some(Reject::OrderNotFound) => Err(refusal::UNKNOWN_ORDER.into()),
        Some(reject) => Err(reject::of_reject(reject).into()),
    }
}

/// The elements of `batchOrders`.
fn elements<'p>(params: &'p Params<'_>) -> Result<Vec<&'p RawValue>, Error> {
    let text = params.text("batchOrders")?;
    let elements: Vec<&RawValue> =
        serde_json::from_str(text).map_err(|_| refusal::not_valid("batchOrders"))?;
    if (1..=PLACED_MAX).contains(&elements.len()) { Ok(elements) } else { Err(refusal::BATCH_COUNT.into()) }
}

/// Parameters of an element.
fn element_params(element: &RawValue) -> Result<Params<'_>, refusal::Refusal> {
    Params::of_json(element.get(), "batchOrders")
}

/// What one element of a batch came to.
fn element(outcome: Result<FuturesOrder, Error>) -> BatchElement {
    match outcome {
        Ok(order) => BatchElement::Order(Box::new(order)),
        Err(error) => {
            let (code, msg) = (error.wording.number(), error.wording.text().to_owned().into());
            BatchElement::Refused(Refused { code, msg })
        }
    }
}

async fn place_batch(call: Call) -> Result<Vec<BatchElement>, Error> {
    let params = params(&call)?;
    let mut answers = Vec::with_capacity(PLACED_MAX);
    for raw in elements(&params)? {
        answers.push(element(match element_params(raw) {
            Ok(params) => place_one(&call, &params).await,
            Err(refusal) => Err(refusal.into()),
        }));
    }
    Ok(answers)
}

async fn modify_batch(call: Call) -> Result<Vec<BatchElement>, Error> {
    let params = params(&call)?;
    let mut answers = Vec::with_capacity(PLACED_MAX);
    for raw in elements(&params)? {
        answers.push(element(match element_params(raw) {
            Ok(params) => modify_one(&call, &params).await,
            Err(refusal) => Err(refusal.into()),
        }));
    }
    Ok(answers)
}

async fn cancel_batch(call: Call) -> Result<Vec<BatchElement>, Error> {
    let params = params(&call)?;
    params.text("symbol")?;
    let either = |one, other| params.get(one).or_else(|| params.get(other));
    let (orders, names) =
        (either("orderIdList", "orderidlist"), either("origClientOrderIdList", "origclientorderidlist"));
    // An id may come as a number or as text.
    let ids: Option<Vec<Value>> = match orders {
        None => None,
        Some(text) => Some(serde_json::from_str(text).map_err(|_| refusal::not_valid("orderIdList"))?),
    };
    let named: Vec<String> = match (&ids, names) {
        (Some(_), _) => Vec::new(),
        (None, None) => return Err(refusal::ORDER_NAME.into()),
        (None, Some(text)) => {
            serde_json::from_str(text).map_err(|_| refusal::not_valid("origClientOrderIdList"))?
        }
    };
    let market = { market(&*views(&call)?, &params)?.market };
    let count = ids.as_ref().map_or(named.len(), Vec::len);
    if !(1..=CANCELED_MAX).contains(&count) {
        return Err(refusal::CANCEL_COUNT.into());
    }
    let mut answers = Vec::with_capacity(count);
    for id in ids.unwrap_or_default() {
        let id = id.as_i64().or_else(|| id.as_str()?.parse().ok()).filter(|id| *id >= 0).unwrap_or(0);
        answers.push(element(cancel_one(&call, market, Some(id), "").await));
    }
    for name in named {
        answers.push(element(cancel_one(&call, market, None, &name).await));
    }
    Ok(answers)
}

async fn cancel_all(call: Call) -> Result<FuturesSuccess, Error> {
    let params = params(&call)?;
    let market = { market(&*views(&call)?, &params)?.market };
    let account = call.account();
    carry_out(&call, CancelAllPerpetual { account, market, classes: order_class::ORDINARY, reserved: 0 })
        .await?;
    Ok(ALL_CANCELED)
}

async fn countdown(call: Call) -> Result<Countdown, Error> {
    let params = params(&call)?;
    let countdown_ms = params.mandatory_integer("countdownTime")?;
    // No time is that far away.
    if countdown_ms > TIME_MAX_MS {
        return Err(refusal::not_valid("countdownTime").into());
    }
    let keep = params.boolean("keepReduceOnly")?.unwrap_or(false);
    let market = {
        let views = views(&call)?;
        super::optional_market(&views, &params)?.map_or(ALL_MARKETS, |market| market.market)
    };
    let account = call.account();
    let command = SetCountdown { account, market, countdown_ms, keep_reduce_only: keep.into(), reserved: 0 };
    carry_out(&call, command).await?;
    Ok(Countdown {
        symbol: params.get("symbol").unwrap_or("").to_owned(),
        countdown_time: Whole(countdown_ms),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn generated_names_are_of_all_letters_and_each_is_given_once() {
        let drawn = |count: usize| (0..count).map(|_| generated_name().expect("the system gives randomness"));
        let names: BTreeSet<ClientOrder> = drawn(20_000).collect();
        let elsewhere: Vec<ClientOrder> =
            std::thread::scope(|scope| scope.spawn(|| drawn(20_000).collect()).join().expect("it ends"));
        assert_eq!(names.len(), 20_000);
        assert!(!elsewhere.iter().any(|name| names.contains(name)));
        let mut counts = [[0_u32; 256]; GENERATED_LEN];
        for name in &names {
            assert_eq!(
                place::client_order(std::str::from_utf8(&name[..GENERATED_LEN]).expect("letters")),
                Ok(*name)
            );
            name[..GENERATED_LEN]
                .iter()
                .zip(&mut counts)
                .for_each(|(letter, counts)| counts[usize::from(*letter)] += 1);
        }
        // 323 of each letter in each place, with a deviation of 18.
        for counts in &counts {
            let seen: Vec<u32> = counts.iter().copied().filter(|count| *count > 0).collect();
            assert!(seen.len() == 62 && seen.iter().all(|count| (200..450).contains(count)), "{seen:?}");
        }
    }
}
