//! One client of requests over a WebSocket: what it asked for and is not answered yet.
//!
//! A request is taken as far as it comes at once, right when its frame is read; so what it has for the engine is handed over
//! before the next frame is looked at. What then waits is answered as it finishes. Nothing more is read while
//! [`RUNNING_MAX`] requests wait or the client leaves its answers lying: its own socket holds it up, and nobody else.

use super::frame::{self, NO_ID, Request, Sent, Used};
use super::methods::{self, Target};
use crate::api::fapi::params;
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::HeaderValue;
use hyper::http::request::Parts;
use hyper::http::uri::PathAndQuery;
use ringside_core::command::GRACE_MAX_MS;
use ringside_dialect::fapi::refusal::{self, Refusal};
use ringside_dialect::fapi::reject::of_reject;
use ringside_edge::http::limits::Client;
use ringside_edge::route::call::MAX_PATH_PARAMS;
use ringside_edge::route::{Answer, Call, Error, Handler, Later, Response, Route};
use ringside_edge::server::caller::{Caller, Charged};
use ringside_edge::unavailable;
use ringside_edge::worker::Worker;
use ringside_edge::ws::armed::Armed;
use ringside_edge::ws::wire::{Bucket, Over, Read, Socket, Wire};
use ringside_streams::sessions::Connection;
use ringside_wire::fault::Fault;
use ringside_wire::refusal::Dialect;
use serde_json::json;
use std::cell::Cell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::time::{Instant, Sleep};

/// Requests of one connection that may wait for their answers.
pub const RUNNING_MAX: usize = 64;
/// Frames, and times so many bytes, of one turn: as many requests as may wait.
const TURN_WORK: usize = RUNNING_MAX;
const BYTES_PER_WORK: usize = 4_096;
/// Bytes of unsent answers above which no further frame is read.
const ANSWERS_LEN_MAX: usize = 256 * 1_024;

/// See the module.
pub struct Session {
    wire: Wire,
    connection: Connection,
    caller: Caller,
    /// Whose orders end with it; gone once that is the engine's to know.
    armed: Option<Armed>,
    ip: Option<IpAddr>,
    client: Arc<Client>,
    /// UNIX milliseconds.
    connected_ms: i64,
    /// Whether answers say how much of the limits is used, unless a request says otherwise.
    shows_limits: bool,
    /// In the order of their frames.
    running: VecDeque<Running>,
    /// Set to a moment before the oldest request's time is up, or over.
    timer: Pin<Box<Sleep>>,
}

/// A request that waits.
struct Running {
    head: Head,
    later: Later,
    charged: Charged,
    /// When its time is up.
    ends: Instant,
}

/// What its answer needs of a request.
struct Head {
    id: Box<str>,
    shows_limits: bool,
}

impl Session {
    /// A session on a connection that was upgraded then.
    pub fn new(
        socket: Socket,
        worker: Rc<Worker>,
        connection: Connection,
        (ip, client): (Option<IpAddr>, Arc<Client>),
        connected_ms: i64,
        shows_limits: bool,
    ) -> Session {
        let config = worker.config.clone();
        let per_second = config.websocket_requests_per_second;
        Session {
            wire: Wire::new(socket, &config, Bucket::new(per_second, per_second), 1),
            connection,
            ip,
            client,
            armed: Some(Armed::new(worker.clone())),
            caller: Caller::new(worker),
            connected_ms,
            shows_limits,
            running: VecDeque::new(),
            timer: Box::pin(tokio::time::sleep_until(Instant::now())),
        }
    }

    /// Serves the client until the connection is over. What it left running takes effect all the same.
    pub async fn run(mut self) {
        poll_fn(|context| self.poll(context)).await;
        let armed = self.armed.take();
        drop(self);
        if let Some(armed) = armed {
            armed.lost().await;
        }
    }

    /// One turn. Ready when the connection is over.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.wire.attend(context, &self.connection.queue);
        let mut work = TURN_WORK;
        loop {
            match self.turn(context, &mut work) {
                // The others of this thread first.
                Ok(true) if work == 0 => {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Ok(true) => {}
                Ok(false) => return Poll::Pending,
                Err(Over) => return Poll::Ready(()),
            }
        }
    }

    /// Reads, carries out, answers; says whether there may be more to do at once.
    fn turn(&mut self, context: &mut Context<'_>, work: &mut usize) -> Result<bool, Over> {
        self.wire.watch(context)?;
        let mut has_done = self.finish(context);
        while *work > 0 && self.is_reading() {
            let len = match self.wire.read(context)? {
                Read::Waiting => break,
                Read::Text(text) => {
                    if self.wire.admits(false) {
                        self.request(&text, context);
                    }
                    text.len()
                }
                Read::Binary(len) => {
                    if self.wire.admits(false) {
                        self.malformed(NO_ID, refusal::JSON);
                    }
                    len
                }
                Read::Other => 0,
            };
            *work = work.saturating_sub(1 + len / BYTES_PER_WORK);
            has_done = true;
        }
        let has_written = self.wire.write(context, &self.connection.queue, !self.running.is_empty())?;
        Ok(has_done || (has_written && self.is_reading()))
    }

    fn is_reading(&self) -> bool {
        self.running.len() < RUNNING_MAX && self.connection.queue.answers_len() <= ANSWERS_LEN_MAX
    }

    /// Answers what has finished, and what has taken too long; says whether anything has.
    fn finish(&mut self, context: &mut Context<'_>) -> bool {
        let before = self.running.len();
        let is_late = before > 0 && self.timer.as_mut().poll(context).is_ready();
        let now = is_late.then(Instant::now);
        for _ in 0..before {
            let Some(mut running) = self.running.pop_front() else { break };
            match running.later.as_mut().poll(context) {
                Poll::Ready(answer) => self.answer(&running.head, answer, running.charged),
                Poll::Pending if now.is_some_and(|now| now >= running.ends) => {
                    let late = running.charged.late();
                    self.answer(&running.head, Err(late), running.charged);
                }
                Poll::Pending => self.running.push_back(running),
            }
        }
        self.arm(context);
        self.running.len() < before
    }

    /// Sees to it that the oldest request is looked at when its time is up. One that came later has more time, so the timer
    /// is set anew only when it has run out.
    fn arm(&mut self, context: &mut Context<'_>) {
        if let Some(oldest) = self.running.front()
            && self.timer.is_elapsed()
        {
            self.timer.as_mut().reset(oldest.ends);
            // Its waker is noted by this.
            let _ = self.timer.as_mut().poll(context);
        }
    }

    /// Takes a text frame.
    fn request(&mut self, text: &str, context: &mut Context<'_>) {
        let begin = std::time::Instant::now();
        let Request { id, method, params } = match Request::parse(text) {
            Ok(request) => request,
            Err((id, refusal)) => return self.malformed(id, refusal),
        };
        let Some((target, route)) = methods::find(&method) else {
            return self.malformed(id, refusal::method(&method));
        };
        let shows_limits = params.shows_limits.unwrap_or(self.shows_limits);
        let head = Head { id: id.into(), shows_limits };
        let worker = &self.caller.worker;
        let now_ms = worker.clock.now_ms();
        let (mut charged, refused) =
            self.caller.charge(Ok(route), &params.query, self.client.clone(), now_ms, begin);
        let judged = match refused {
            Some(fault) => Err(fault.error(route.dialect)),
            None => self.judge(route, &params, now_ms, &mut charged),
        };
        let answer = match judged {
            Err(error) => Err(error),
            Ok(_) if target == Target::Status => Ok(self.status(now_ms)),
            Ok(call) => {
                let begun = match (target, &route.handler) {
                    (Target::Armed(is_on), _) => self.set_armed(&call, is_on),
                    (_, Handler::Later(handle)) => Ok(handle(call)),
                    (_, Handler::Now(handle)) => Err(handle(&call)),
                };
                match begun.map(|mut later| (later.as_mut().poll(context), later)) {
                    Err(answer) | Ok((Poll::Ready(answer), _)) => answer,
                    Ok((Poll::Pending, later)) => {
                        let ends = Instant::now() + self.caller.worker.config.request_timeout;
                        self.running.push_back(Running { head, later, charged, ends });
                        return self.arm(context);
                    }
                }
            }
        };
        self.answer(&head, answer, charged);
    }

    /// The request as a handler sees it, once it has passed what every request must.
    fn judge(
        &self,
        route: &'static Route,
        params: &Sent,
        now_ms: i64,
        charged: &mut Charged,
    ) -> Result<Call, Error> {
        let mut call = Call {
            route,
            worker: self.caller.worker.clone(),
            head: self.head(route, params)?,
            body: Bytes::new(),
            identity: None,
            acting: None,
            ip: self.ip,
            client: self.client.clone(),
            now_ms,
            phase: self.caller.worker.shared.phase.get(),
            path_params: [const { 0..0 }; MAX_PATH_PARAMS],
            upgrade: Cell::new(None),
        };
        self.caller.judge(&mut call, params.spelling.as_deref(), charged)?;
        Ok(call)
    }

    /// The request line and the header that stand for the parameters.
    fn head(&self, route: &Route, params: &Sent) -> Result<Parts, Error> {
        let (mut head, ()) = hyper::Request::new(()).into_parts();
        head.method = hyper::Method::from_bytes(route.method.name().as_bytes()).unwrap_or_default();
        let target = format!("{}?{}", route.path, params.query);
        // Longer than any query can be, since everything else is encoded.
        let too_long = |_| Fault::BodyTooLarge.error(route.dialect);
        head.uri = PathAndQuery::from_maybe_shared(Bytes::from(target)).map_err(too_long)?.into();
        // A key that cannot stand in a header is none.
        if let Some(key) = params.api_key.as_deref().and_then(|key| HeaderValue::from_str(key).ok()) {
            head.headers.insert(self.caller.worker.shared.edge.auth.header_of_clients(), key);
        }
        Ok(head)
    }

    /// Begins to arm or disarm: what waits, or the refusal.
    fn set_armed(&mut self, call: &Call, is_on: bool) -> Result<Later, Answer> {
        let read = || -> Result<(Option<u32>, String), Error> {
            let params = params(call)?;
            let grace_ms = is_on.then(|| params.mandatory_integer("graceTime")).transpose()?;
            let in_range = |grace: i64| u32::try_from(grace).ok().filter(|grace| *grace <= GRACE_MAX_MS);
            let grace_ms = grace_ms.map(|grace| in_range(grace).ok_or(refusal::not_valid("graceTime")));
            Ok((grace_ms.transpose()?, params.get("symbol").unwrap_or("").to_owned()))
        };
        let (grace_ms, symbol) = read().map_err(Err)?;
        let Some(armed) = &mut self.armed else { return Err(Err(refusal::UNAVAILABLE.into())) };
        let markets = armed.markets(Some(&symbol));
        if markets.is_empty() {
            return Err(Err(refusal::SYMBOL.into()));
        }
        let submission = armed.set(call.account(), &markets, grace_ms);
        if is_on {
            self.wire.guard();
        }
        Ok(Box::pin(async move {
            let reply = submission.await.map_err(unavailable::fapi)?;
            match reply.done.rejected() {
                None => {
                    Ok(Response::of(&json!({ "enabled": is_on, "graceTime": grace_ms, "symbol": symbol })))
                }
                Some(reject) => Err(of_reject(reject).into()),
            }
        }))
    }

    fn status(&self, now_ms: i64) -> Response {
        Response::of(&json!({
            "apiKey": null,
            "authorizedSince": null,
            "connectedSince": self.connected_ms,
            "returnRateLimits": self.shows_limits,
            "serverTime": now_ms,
        }))
    }

    /// Refuses a frame that is no request to anything.
    fn malformed(&mut self, id: &str, refusal: Refusal) {
        let begin = std::time::Instant::now();
        let now_ms = self.caller.worker.clock.now_ms();
        let (charged, refused) =
            self.caller.charge(Err(Dialect::Fapi), "", self.client.clone(), now_ms, begin);
        let error = refused.map_or_else(|| refusal.into(), |fault| fault.error(Dialect::Fapi));
        let head = Head { id: id.into(), shows_limits: self.shows_limits };
        self.answer(&head, Err(error), charged);
    }

    fn answer(&self, head: &Head, answer: Answer, mut charged: Charged) {
        let config = &self.caller.worker.config;
        let (status, outcome) = match answer {
            Ok(Response { status: StatusCode::OK, body, weight, .. }) => {
                charged.used = charged.used.saturating_add(weight);
                (StatusCode::OK, Ok(body))
            }
            Ok(response) => (response.status, Err(response.body)),
            Err(error) => {
                self.caller.settle(&error, &mut charged);
                (error.status, Err(self.body_of(&error)))
            }
        };
        let used = Used {
            weight: (charged.used, config.weight_per_minute),
            orders: charged.orders,
            orders_max: (config.orders_per_ten_seconds, config.orders_per_minute),
        };
        let outcome = outcome.as_deref().map_err(|error| &**error);
        let used = head.shows_limits.then_some(&used);
        self.connection.queue.answer(frame::answer(&head.id, status.as_u16(), outcome, used));
        self.caller.answered(&charged, status);
    }

    /// An error's members; where HTTP has a header for when to come back, they say it.
    fn body_of(&self, error: &Error) -> Bytes {
        let Some(seconds) = error.retry_after_s else { return error.body() };
        let now_ms = self.caller.worker.clock.now_ms();
        let retry_ms = now_ms.saturating_add_unsigned(seconds.saturating_mul(1_000));
        let data = json!({ "serverTime": now_ms, "retryAfter": retry_ms });
        Response::of(&json!({ "code": error.wording.number(), "msg": error.wording.text(), "data": data }))
            .body
    }
}
