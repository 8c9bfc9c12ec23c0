//! One request of HTTP from its head to its answer: limits, router, body, credential, order rate, handler, headers, in this
//! order.
//!
//! What it must pass is judged in `caller.rs`. Sockets and time limits belong to `server/mod.rs` and `watch.rs`; what a refusal
//! says to `wire/src/fault.rs`.

use super::caller::{Caller, Charged};
use super::cors;
use super::router::{Match, Router};
use super::stream::Place;
use super::watch::Watch;
use crate::http::limits::{Client, Who};
use crate::http::order_rate::Counted;
use crate::http::response::{JSON, Response};
use crate::route::{Answer, Call, Error, Handler, Later, Method, Route};
use crate::unavailable::unavailable;
use bytes::{Bytes, BytesMut};
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::header::{ALLOW, CONNECTION, CONTENT_TYPE, EXPECT, HeaderMap, HeaderName, HeaderValue, UPGRADE};
use hyper::http::request::Parts;
use hyper::{Request, StatusCode};
use ringside_auth::access::Auth;
use ringside_commands::ingress::Unavailable;
use ringside_core::ids::Sequence;
use ringside_wire::fault::Fault;
use ringside_wire::refusal::Dialect;
use std::cell::Cell;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io::Write;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Once};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

const USED_WEIGHT: [HeaderName; 2] =
    [HeaderName::from_static("x-ex-used-weight-1m"), HeaderName::from_static("x-mbx-used-weight-1m")];
const ORDER_COUNT_10S: [HeaderName; 2] =
    [HeaderName::from_static("x-ex-order-count-10s"), HeaderName::from_static("x-mbx-order-count-10s")];
const ORDER_COUNT_1M: [HeaderName; 2] =
    [HeaderName::from_static("x-ex-order-count-1m"), HeaderName::from_static("x-mbx-order-count-1m")];
/// On a mirror: everything through this command is in the answer.
const SEQUENCE: HeaderName = HeaderName::from_static("x-ringside-sequence");
/// What a client was shown on another host, to be shown here as well.
const AT_LEAST: &str = "x-ringside-at-least";
/// How long that is waited for, and how often it is looked.
const SHOWN_WITHIN: Duration = Duration::from_millis(200);
const SHOWN_LOOK: Duration = Duration::from_millis(2);
const FORWARDED_FOR: &str = "x-forwarded-for";

thread_local! {
    /// What every answer whose orders are counted has: an answer takes a copy, so that names are hashed once for all of them.
    static OF_ORDERS: HeaderMap = {
        let (mut headers, empty) = (HeaderMap::with_capacity(7), HeaderValue::from_static(""));
        headers.insert(CONTENT_TYPE, empty.clone());
        for names in [USED_WEIGHT, ORDER_COUNT_10S, ORDER_COUNT_1M] {
            put_both(&mut headers, names, empty.clone());
        }
        headers
    };
}

/// Most bytes of a body too large that are read and thrown away, so that the client gets to read the refusal.
const DRAIN_LEN_MAX: usize = 1 << 20;

/// What the requests of one connection share.
pub struct Connection {
    /// Who sends them.
    pub caller: Caller,
    /// What its requests are routed by.
    pub router: Arc<Router>,
    /// Address of the peer.
    pub peer: IpAddr,
    /// Its limits.
    pub client: Arc<Client>,
    /// Its time limits.
    pub watch: Arc<Watch>,
    /// Its place under the caps.
    pub place: Arc<Place>,
    /// Whether the peer is a proxy whose word on the client's address counts.
    pub is_proxy: bool,
    /// Whether the connection ends with the answer to the running request.
    pub is_last: Cell<bool>,
    /// On one of several hosts: how far the views were when the running request came.
    pub shown: Cell<Option<Sequence>>,
}

/// Begins to answer a request, and goes on to where it has to wait: for its body, or in its handler. Never fails: every refusal
/// is an answer.
pub fn respond(connection: Rc<Connection>, mut request: Request<Incoming>) -> Answering {
    let begin = Instant::now();
    connection.watch.begin_request();
    let is_upgrade = request.method() == hyper::Method::GET && request.headers().contains_key(UPGRADE);
    let upgrade = is_upgrade.then(|| hyper::upgrade::on(&mut request));
    let (head, body) = request.into_parts();
    let worker = &connection.caller.worker;
    let now_ms = worker.clock.now_ms();
    let found = connection.router.find(&head.method, head.uri.path());
    let route = match &found {
        Match::Route(route, _) => Ok(*route),
        Match::MethodNotAllowed(_, dialect) | Match::NotFound(dialect) => Err(*dialect),
    };
    let (ip, client) = connection.client_of(route.ok(), &head.headers, now_ms);
    let query = head.uri.query().unwrap_or("");
    let (mut charged, refusal) = connection.caller.charge(route, query, client.clone(), now_ms, begin);
    let limit = connection.caller.worker.config.max_connections_per_ip;
    let has_place = !connection.is_proxy || connection.place.give_to(&client, limit);
    connection.is_last.set(!has_place);
    connection.shown.set(worker.shared.shown());
    let refusal = refusal.or((!has_place).then_some(Fault::TooManyConnections { limit }));
    let dialect = charged.dialect;
    let asked_for = cors::asked_for(&head).map(|method| connection.router.find(&method, head.uri.path()));
    let of = match (&asked_for, &found) {
        (Some(Match::Route(route, _)), _) | (_, Match::Route(route, _)) => Some(*route),
        _ => None,
    };
    let reader = cors::reader(&worker.config, &head.headers, of).map(Box::new);
    // Routes of accounts show their weight whatever their paths begin with (`account.md` 1).
    let is_counted = dialect == Dialect::Account
        || ["/api/", "/fapi/"].iter().any(|folder| head.uri.path().starts_with(folder));
    let step = match (refusal, found) {
        (Some(fault), _) => {
            if let Fault::Banned { .. } = fault {
                tracing::debug!(?ip, "refused: banned");
            }
            Step::Answered(Err(fault.error(dialect)))
        }
        (None, Match::NotFound(_)) => Step::Answered(Err(no_route(Fault::NotFound, dialect, &head))),
        (None, Match::MethodNotAllowed(allow, _)) if matches!(asked_for, Some(Match::Route(..))) => {
            // Whose page may not read the answer is told nothing, which ends its request in the browser.
            let nothing = Response::new(StatusCode::NO_CONTENT, JSON, Bytes::new());
            Step::Answered(Ok(if reader.is_some() { cors::permit(allow) } else { nothing }))
        }
        (None, Match::MethodNotAllowed(allow, _)) => {
            let refusal: Response = no_route(Fault::MethodNotAllowed, dialect, &head).into();
            let allow = HeaderValue::from_str(allow).unwrap_or(HeaderValue::from_static(""));
            Step::Answered(Ok(refusal.with_header(ALLOW, allow)))
        }
        (None, Match::Route(route, path_params)) => {
            let call = Call {
                route,
                worker: worker.clone(),
                head,
                body: Bytes::new(),
                identity: None,
                acting: None,
                ip,
                client,
                now_ms,
                phase: worker.shared.phase.get(),
                path_params,
                upgrade: Cell::new(upgrade),
            };
            let least = at_least(&call.head.headers).map(|least| least.max(agreed_and_not_shown(&call)));
            match least {
                Err(fault) => Step::Answered(Err(fault.error(dialect))),
                Ok(None) if body.is_end_stream() => connection.handle(call, &mut charged),
                Ok(least) => Step::Reading(Box::pin(read(connection.clone(), call, body, least))),
            }
        }
    };
    Answering { connection, charged, is_counted, reader, step }
}

/// A request that is being answered. It holds what its step needs and no more: every request of every connection moves one,
/// and what has been read of the request is let go of by its handler.
pub struct Answering {
    connection: Rc<Connection>,
    charged: Charged,
    /// Whether answers show what was charged.
    is_counted: bool,
    /// The page that may read the answer, where one asks.
    reader: Option<Box<HeaderValue>>,
    step: Step,
}

enum Step {
    /// Its body is on the way.
    Reading(Pin<Box<dyn Future<Output = Result<Call, Error>>>>),
    /// Its handler waits for something.
    Handling(Later),
    /// The answer is there.
    Answered(Answer),
    Over,
}

impl Future for Answering {
    type Output = Result<hyper::Response<Full<Bytes>>, Infallible>;

    fn poll(mut self: Pin<&mut Answering>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Answering { connection, charged, is_counted, reader, step } = &mut *self;
        loop {
            *step = match std::mem::replace(step, Step::Over) {
                Step::Reading(mut reading) => match reading.as_mut().poll(context) {
                    Poll::Ready(Ok(call)) => connection.handle(call, charged),
                    Poll::Ready(Err(error)) => Step::Answered(Err(error)),
                    Poll::Pending => {
                        *step = Step::Reading(reading);
                        return Poll::Pending;
                    }
                },
                Step::Handling(mut answer) => match answer.as_mut().poll(context) {
                    Poll::Ready(answer) => Step::Answered(answer),
                    Poll::Pending if connection.watch.is_expired() => Step::Answered(Err(charged.late())),
                    Poll::Pending => {
                        *step = Step::Handling(answer);
                        return Poll::Pending;
                    }
                },
                Step::Answered(answer) => {
                    let mut response = finish(connection, answer, charged, *is_counted);
                    if let Some(reader) = reader.take() {
                        cors::tell(response.headers_mut(), *reader);
                    }
                    connection.caller.answered(charged, response.status());
                    connection.watch.end_request();
                    return Poll::Ready(Ok(response));
                }
                Step::Over => panic!("polled after it was ready"),
            };
        }
    }
}

/// The request with its body, once what it asks for is shown.
async fn read(
    connection: Rc<Connection>,
    mut call: Call,
    body: Incoming,
    least: Option<Sequence>,
) -> Result<Call, Error> {
    let Connection { caller, watch, .. } = &*connection;
    let len_max = caller.worker.config.body_len_max.len();
    let read = read_body(body, len_max, &call.head.headers, watch).await;
    call.body = read.map_err(|fault| {
        // What remains of it must not be taken for the next request.
        connection.is_last.set(true);
        fault.error(call.route.dialect)
    })?;
    if let Some(least) = least {
        let shared = &caller.worker.shared;
        let begun = Instant::now();
        while shared.views.read().sequence() < least {
            if begun.elapsed() >= SHOWN_WITHIN {
                return Err(unavailable(Unavailable::Restarting, call.route.dialect));
            }
            tokio::time::sleep(SHOWN_LOOK).await;
        }
        connection.shown.set(shared.shown());
    }
    // The time that a body took does not count against the handler; signatures are judged by when all was read.
    watch.begin_request();
    call.now_ms = caller.worker.clock.now_ms();
    call.phase = caller.worker.shared.phase.get();
    Ok(call)
}

impl Connection {
    /// What a request that is whole must pass, then its handler.
    fn handle(&self, mut call: Call, charged: &mut Charged) -> Step {
        if let Err(error) = self.caller.judge(&mut call, None, charged) {
            return Step::Answered(Err(error));
        }
        match call.route.handler {
            Handler::Now(handle) => Step::Answered(handle(&call)),
            Handler::Later(handle) => Step::Handling(handle(call)),
        }
    }

    /// The client's address, if it is known, and what the request is counted under: an operator's key, a probe, or the address.
    fn client_of(
        &self,
        route: Option<&Route>,
        headers: &HeaderMap,
        now_ms: i64,
    ) -> (Option<IpAddr>, Arc<Client>) {
        let ip = if self.is_proxy { self.forwarded_for(headers) } else { Some(self.peer) };
        let edge = &self.caller.worker.shared.edge;
        let operator = route
            .filter(|route| route.auth == Auth::Admin)
            .and_then(|_| edge.auth.acting(headers).ok())
            .map(|acting| Who::Operator(acting.key_hash()));
        let who = match (operator, ip) {
            (Some(operator), _) => operator,
            (None, _) if route.is_some_and(|route| route.is_probe) => Who::Probe(ip.unwrap_or(self.peer)),
            (None, Some(_)) if !self.is_proxy => return (ip, self.client.clone()),
            (None, Some(ip)) => Who::Address(ip),
            (None, None) => Who::Unknown,
        };
        (ip, edge.limits.client(who, now_ms))
    }

    /// The client's address as a trusted proxy says it. `None` where it says nothing that is an address: never the proxy's own,
    /// since keys may be bound to that.
    fn forwarded_for(&self, headers: &HeaderMap) -> Option<IpAddr> {
        let trusted = &self.caller.worker.config.trusted_proxies;
        let mut hops = headers
            .get_all(FORWARDED_FOR)
            .iter()
            .rev()
            .flat_map(|value| value.as_bytes().rsplit(|&byte| byte == b','))
            .map(|hop| str::from_utf8(hop).map_or("", str::trim));
        // From the nearest hop outwards: the first that is no proxy of ours. Whatever stands before it, anyone may have
        // written, so a hop that is no address ends the chain.
        let ip =
            hops.by_ref().map_while(address_of).find(|ip| !trusted.iter().any(|proxy| proxy.contains(*ip)));
        if ip.is_none() {
            static SAID: Once = Once::new();
            SAID.call_once(|| {
                tracing::warn!(
                    proxy = %self.peer,
                    "a request came through a trusted proxy without the client's address in X-Forwarded-For: such clients \
                     share one limit, and keys that are bound to addresses do not open"
                );
            });
        }
        ip
    }
}

/// The command that a request wants to see the effect of, at least.
fn at_least(headers: &HeaderMap) -> Result<Option<Sequence>, Fault> {
    let Some(value) = headers.get(AT_LEAST) else { return Ok(None) };
    let sequence = value.to_str().ok().and_then(|text| text.parse().ok());
    sequence.map(Some).ok_or(Fault::Header("X-Ringside-At-Least"))
}

/// What members may have been told of that this leader does not show yet: a read that begins now is not to lack it.
fn agreed_and_not_shown(call: &Call) -> Option<Sequence> {
    let shared = &call.worker.shared;
    if shared.config.cluster_member.is_none() || call.route.method != Method::Get {
        return None;
    }
    let agreed = shared.agreed.read().as_ref().map(|gate| gate.durable());
    agreed.filter(|agreed| *agreed > shared.views.read().sequence())
}

/// The address of a hop, which some proxies write with its port, or in brackets.
fn address_of(hop: &str) -> Option<IpAddr> {
    let bracketed = hop.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let ip = match bracketed {
        Some(v6) => v6.parse::<Ipv6Addr>().ok()?.into(),
        None => hop.parse().or_else(|_| hop.parse().map(|address: SocketAddr| address.ip())).ok()?,
    };
    Some(ip.to_canonical())
}

/// 404 and 405; the `/fapi` dialect names path and method.
fn no_route(fault: Fault, dialect: Dialect, head: &Parts) -> Error {
    let error = fault.error(dialect);
    match dialect {
        Dialect::Spot | Dialect::Account => error,
        Dialect::Fapi => {
            error.with_text(format!("Path {}, Method {} is invalid", head.uri.path(), head.method))
        }
    }
}

/// The whole body; [`Fault::BodyTooLarge`] above `len_max`, [`Fault::BodyTimeout`] if it does not come, [`Fault::BodyBroken`] if what
/// comes is none.
async fn read_body(
    mut body: Incoming,
    len_max: usize,
    headers: &HeaderMap,
    watch: &Watch,
) -> Result<Bytes, Fault> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > len_max && (announced > DRAIN_LEN_MAX || headers.contains_key(EXPECT)) {
        return Err(Fault::BodyTooLarge);
    }
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    let mut len = 0;
    loop {
        let frame = poll_fn(|context| match Pin::new(&mut body).poll_frame(context) {
            Poll::Pending if watch.is_expired() => Poll::Ready(Some(Err(None))),
            polled => polled.map(|frame| frame.map(|frame| frame.map_err(Some))),
        });
        let data = match frame.await {
            None => break,
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
            Some(Err(None)) => return Err(Fault::BodyTimeout),
            Some(Err(Some(error))) => {
                tracing::debug!(%error, "a body broke off");
                return Err(Fault::BodyBroken);
            }
        };
        len += data.len();
        if len > DRAIN_LEN_MAX.max(len_max) {
            return Err(Fault::BodyTooLarge);
        }
        if len > len_max {
            rest.clear();
        } else if first.is_empty() {
            // Most bodies come in one piece, which is passed on as it is.
            first = data;
        } else {
            rest.extend_from_slice(&data);
        }
        if body.is_end_stream() {
            break;
        }
    }
    match len {
        _ if len > len_max => Err(Fault::BodyTooLarge),
        _ if rest.is_empty() => Ok(first),
        _ => Ok([first, rest.freeze()].concat().into()),
    }
}

/// The answer on the wire.
fn finish(
    connection: &Connection,
    answer: Answer,
    charged: &mut Charged,
    is_counted: bool,
) -> hyper::Response<Full<Bytes>> {
    let answer = answer.unwrap_or_else(|error| {
        connection.caller.settle(&error, charged);
        error.into()
    });
    charged.used = charged.used.saturating_add(answer.weight);
    let mut response = hyper::Response::new(Full::new(answer.body));
    *response.status_mut() = answer.status;
    let is_counted_order = is_counted && charged.dialect == Dialect::Fapi && answer.status == StatusCode::OK;
    let headers = response.headers_mut();
    if let Some(counted) = charged.orders.filter(|_| is_counted_order) {
        *headers = of_orders(answer.content_type, charged.used, counted);
    } else {
        headers.insert(CONTENT_TYPE, answer.content_type);
        if is_counted {
            put_both(headers, USED_WEIGHT, HeaderValue::from(charged.used));
        }
    }
    for (name, value) in answer.headers {
        headers.append(name, value);
    }
    if let Some(sequence) = connection.shown.get() {
        headers.insert(SEQUENCE, HeaderValue::from(sequence));
    }
    if connection.is_last.get() {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Headers of an answer whose orders are counted.
fn of_orders(content_type: HeaderValue, used: u32, counted: Counted) -> HeaderMap {
    let mut headers = OF_ORDERS.with(HeaderMap::clone);
    let values = values([used, counted.ten_seconds, counted.minute]);
    let values = values.into_iter().flat_map(|value| [value.clone(), value]);
    // A map without names that stand in it twice gives its values in the order in which they were put.
    for (place, value) in headers.values_mut().zip(std::iter::once(content_type).chain(values)) {
        *place = value;
    }
    headers
}

/// Numbers as values of headers, in one piece of memory.
fn values<const N: usize>(numbers: [u32; N]) -> [HeaderValue; N] {
    let mut text = Vec::with_capacity(N * 10);
    let ends = numbers.map(|number| {
        // A vector takes whatever is written.
        let _ = write!(text, "{number}");
        text.len()
    });
    let text = Bytes::from(text);
    let mut start = 0;
    ends.map(|end| {
        let digits = text.slice(std::mem::replace(&mut start, end)..end);
        HeaderValue::from_maybe_shared(digits).unwrap_or(HeaderValue::from_static("0"))
    })
}

fn put_both(headers: &mut HeaderMap, names: [HeaderName; 2], value: HeaderValue) {
    let [name, alias] = names;
    headers.insert(name, value.clone());
    headers.insert(alias, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_header_of_a_counted_answer_has_its_own_value() {
        let headers = of_orders(JSON, 1, Counted { ten_seconds: 22, minute: 333 });
        let said: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        let expected = [
            ("content-type", "application/json;charset=utf-8"),
            ("x-ex-used-weight-1m", "1"),
            ("x-mbx-used-weight-1m", "1"),
            ("x-ex-order-count-10s", "22"),
            ("x-mbx-order-count-10s", "22"),
            ("x-ex-order-count-1m", "333"),
            ("x-mbx-order-count-1m", "333"),
        ];
        assert_eq!(said, expected);
    }
}
