//! What every request passes, whatever carried it: limits of its address, precondition, credential, overload protection,
//! order rate; and what is given back of them.
//!
//! How a request is read and how its answer is written is the carrier's: `service.rs` of HTTP, `gateway/src/ws_request` of a WebSocket.

use crate::http::limits::Client;
use crate::http::order_rate::{Counted, OrderCount};
use crate::route::{Call, Method, Query, Route, Weight};
use crate::worker::Worker;
use hyper::StatusCode;
use ringside_auth::access::{Auth, Identity, Permission};
use ringside_auth::{PresentedRequest, Remembered};
use ringside_wire::fault::{Fault, SignatureError};
use ringside_wire::refusal::Dialect;
use ringside_wire::refusal::{Error, Outcome};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// Who sends requests over one connection.
pub struct Caller {
    /// The worker's context.
    pub worker: Rc<Worker>,
    /// The credentials it last showed.
    remembered: RefCell<Remembered>,
}

/// What a request was charged, to be shown or given back.
pub struct Charged {
    /// Weight that its address has used in this minute, this request included.
    pub used: u32,
    /// Orders of its account in the running windows, these included, where it counts as any.
    pub orders: Option<Counted>,
    /// The dialect it is answered in.
    pub dialect: Dialect,
    weight: u32,
    counted: Option<(u32, OrderCount)>,
    client: Arc<Client>,
    now_ms: i64,
    is_order: bool,
    /// Whether its route may change something.
    is_change: bool,
    begin: Instant,
}

impl Caller {
    /// Of a new connection.
    pub fn new(worker: Rc<Worker>) -> Caller {
        Caller { worker, remembered: RefCell::default() }
    }

    /// Charges a request to its address: 418 and 429. One that no route answers costs 1.
    pub fn charge(
        &self,
        route: Result<&Route, Dialect>,
        query: &str,
        client: Arc<Client>,
        now_ms: i64,
        begin: Instant,
    ) -> (Charged, Option<Fault>) {
        let limits = &self.worker.shared.edge.limits;
        let weight = route.map_or(1, |route| weight_of(route, query));
        let charge = limits.charge(&client, weight, now_ms);
        let refusal = match route {
            Ok(route) if route.is_of_funding && charge.refusal.is_none() => {
                limits.charge_funding(&client, now_ms).err()
            }
            _ => charge.refusal,
        };
        let charged = Charged {
            used: charge.used,
            orders: None,
            dialect: route.map_or_else(|dialect| dialect, |route| route.dialect),
            weight,
            counted: None,
            client,
            now_ms,
            is_order: route.is_ok_and(|route| route.orders != OrderCount::NONE),
            is_change: route.is_ok_and(|route| route.method != Method::Get),
            begin,
        };
        (charged, refusal)
    }

    /// Judges a request that is whole, up to its handler: precondition, credential, overload, order rate. Fills in who asks.
    /// `spelling` is its query in another spelling, which it may have been signed in.
    pub fn judge(&self, call: &mut Call, spelling: Option<&str>, charged: &mut Charged) -> Result<(), Error> {
        let route = call.route;
        let refused = |fault: Fault| fault.error(route.dialect);
        if let Some(precondition) = route.precondition {
            precondition(&self.worker.config)?;
        }
        if route.auth == Auth::Admin {
            let acting = self.worker.shared.edge.auth.acting(&call.head.headers).map_err(refused)?;
            call.acting = Some(Box::new(acting));
        } else {
            call.identity = self.identify(call, spelling).map_err(refused)?;
        }
        if let Some(is_exempt) = route.protection
            && !self.worker.ingress.has_room_for_orders()
            && !is_exempt(call)
        {
            return Err(refused(Fault::Throttled));
        }
        if route.orders != OrderCount::NONE
            && let Some(identity) = &call.identity
        {
            let rates = &self.worker.shared.edge.order_rates;
            let own = self.worker.markets.order_rates(identity.account);
            let who = (identity.account, own);
            let counted = rates.count(who, route.dialect, route.orders, call.now_ms);
            charged.orders = Some(counted.map_err(refused)?);
            charged.counted = Some((identity.account, route.orders));
            charged.now_ms = call.now_ms;
        }
        Ok(())
    }

    /// Who asks, as far as the route wants to know.
    fn identify(&self, call: &Call, spelling: Option<&str>) -> Result<Option<Identity>, Fault> {
        let shared = &*self.worker.shared;
        let auth = &shared.edge.auth;
        let remembered = &mut *self.remembered.borrow_mut();
        let headers = &call.head.headers;
        let (permission, is_stream) = match call.route.auth {
            Auth::Signed(permission) => (permission, false),
            Auth::Stream => (Permission::Read, true),
            needs => {
                return auth.check(needs, headers, call.ip, call.now_ms / 1_000, shared, remembered);
            }
        };
        let body = call.form()?;
        let is_change = call.route.method != Method::Get;
        let mut check = |query| {
            let request =
                PresentedRequest { headers, ip: call.ip, now_ms: call.now_ms, query, body, is_change };
            auth.check_signed(permission, is_stream, request, shared, remembered).map(Some)
        };
        match (check(call.head.uri.query().unwrap_or("")), spelling) {
            (Err(Fault::SignatureError(SignatureError::Signature)), Some(spelling)) => check(spelling),
            (checked, _) => checked,
        }
    }

    /// Gives back what a request was charged that failed for the exchange's own reasons and did nothing.
    pub fn settle(&self, error: &Error, charged: &mut Charged) {
        // One whose outcome is unknown counts (`perpetual.md` 3 and 4).
        if error.status == StatusCode::SERVICE_UNAVAILABLE && error.outcome == Outcome::Refused {
            let edge = &self.worker.shared.edge;
            charged.used = charged.used.saturating_sub(charged.weight);
            edge.limits.give_back(&charged.client, charged.weight, charged.now_ms);
            charged.orders = None;
            if let Some((account, orders)) = charged.counted.take() {
                edge.order_rates.give_back(account, charged.dialect, orders, charged.now_ms);
            }
        }
        if error.status.is_server_error() {
            tracing::debug!(status = error.status.as_u16(), error = %error.wording.text(), "answered");
        }
    }

    /// Counts an answer in the figures.
    pub fn answered(&self, charged: &Charged, status: StatusCode) {
        let Charged { dialect, is_order, begin, .. } = charged;
        self.worker.figures.answered(*dialect, status.as_u16(), *is_order, begin.elapsed());
    }
}

impl Charged {
    /// The refusal of a request whose handler took too long. Of a change nobody knows then whether it was made.
    pub fn late(&self) -> Error {
        let fault = if self.is_change { Fault::Unanswered } else { Fault::Timeout };
        fault.error(self.dialect)
    }
}

fn weight_of(route: &Route, query: &str) -> u32 {
    match route.weight {
        Weight::Fixed(weight) => weight,
        Weight::ByQuery(weight) => weight(Query(query)),
    }
}
