//! One row per route: what a row says. The router, the credential check, the limits and the OpenAPI document all come from the rows,
//! which stand beside their handlers, above this crate.
//!
//! Handlers run on a single-threaded worker, so their futures need not be `Send`; they must not block.

pub mod call;
pub mod docs;

use crate::http::order_rate::OrderCount;
pub use crate::http::response::{Answer, Response};
pub use call::{Call, Query};
use docs::{Param, Shape};
pub use hyper::StatusCode;
use ringside_auth::access::Auth;
pub use ringside_auth::access::{Identity, Means};
use ringside_config::Config;
use ringside_dialect::account::refusal::Refusal as Named;
use ringside_dialect::spot::refusal::Refusal;
use ringside_wire::refusal::Dialect;
pub use ringside_wire::refusal::Error;
use ringside_wire::schema::{Described, JsonSchema};
use serde::Serialize;
use std::pin::Pin;

/// One route. Check order, the same for all (`spot.md` 3): ban 418, weight 429 · path 404, method 405 · body size 413 ·
/// `precondition` · credential 401, permission 403 · overload 503 · order rate 429 · handler (which reads its JSON first).
pub struct Route {
    /// HTTP method.
    pub method: Method,
    /// Whole path from the root, parameters in braces: `/api/v1/spot/orders/{id}`.
    pub path: &'static str,
    /// How refusals of this route are spelled.
    pub dialect: Dialect,
    /// Who may call it.
    pub auth: Auth,
    /// What it costs of the address's weight per minute.
    pub weight: Weight,
    /// Whether the limiter of funding routes counts it, beside its weight (`perpetual.md` 3).
    pub is_of_funding: bool,
    /// Whether it asks after the exchange itself: it then costs nothing of the address's weight, but has a limit of its own, as
    /// operators have.
    pub is_probe: bool,
    /// What it costs of the account's order rate.
    pub orders: OrderCount,
    /// Judged before the credential: a route that a deployment does not have.
    pub precondition: Option<Precondition>,
    /// Whether the engine's overload protection may refuse it: true for a request that is exempt.
    pub protection: Option<Exemption>,
    /// What answers.
    pub handler: Handler,
    /// Whether it is part of the API, and so of the OpenAPI document.
    pub is_api: bool,
    /// Group in the OpenAPI document.
    pub tag: &'static str,
    /// One line for the OpenAPI document.
    pub summary: &'static str,
    /// Path and query parameters and headers.
    pub params: &'static [Param],
    /// Body of the request.
    pub body: Shape,
    /// Body of the answer 200.
    pub response: Shape,
    /// Whether it may wait for a second operator: it then answers 202.
    pub is_for_two: bool,
    /// What its handler and its precondition refuse with. What the edge refuses with follows from the row.
    pub refusals: &'static [&'static [Refusal]],
    /// The same of a row of [`Dialect::Account`].
    pub named_refusals: &'static [&'static [Named]],
}

impl Route {
    /// A row with the defaults: public, weight 1, spot dialect, no body. Fill in the rest with `..Route::new(..)`.
    pub const fn new(method: Method, path: &'static str, handler: Handler) -> Route {
        Route {
            method,
            path,
            dialect: Dialect::Spot,
            auth: Auth::None,
            weight: Weight::Fixed(1),
            is_of_funding: false,
            is_probe: false,
            orders: OrderCount::NONE,
            precondition: None,
            protection: None,
            handler,
            is_api: true,
            tag: "",
            summary: "",
            params: &[],
            body: Shape::Nothing,
            response: Shape::Nothing,
            is_for_two: false,
            refusals: &[],
            named_refusals: &[],
        }
    }

    /// The same with a handler whose type says what is answered.
    pub const fn of(method: Method, path: &'static str, Answers { response, handler }: Answers) -> Route {
        Route { response, ..Route::new(method, path, handler) }
    }
}

/// An HTTP method that a row may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// GET, and HEAD, which is answered alike without the body.
    Get,
    /// POST.
    Post,
    /// PUT.
    Put,
    /// PATCH.
    Patch,
    /// DELETE.
    Delete,
}

impl Method {
    /// Every method.
    pub const ALL: [Method; 5] = [Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete];

    /// As written in a request line.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }

    /// Of a request; `None` where no row can have it.
    #[inline]
    pub fn of(method: &hyper::Method) -> Option<Method> {
        Some(match *method {
            hyper::Method::GET | hyper::Method::HEAD => Method::Get,
            hyper::Method::POST => Method::Post,
            hyper::Method::PUT => Method::Put,
            hyper::Method::PATCH => Method::Patch,
            hyper::Method::DELETE => Method::Delete,
            _ => return None,
        })
    }
}

/// What a request costs of the weight its address may spend in a minute.
#[derive(Clone, Copy)]
pub enum Weight {
    /// Always the same.
    Fixed(u32),
    /// Depends on the query string.
    ByQuery(fn(Query<'_>) -> u32),
}

/// Whether a deployment has a route at all.
pub type Precondition = fn(&Config) -> Result<(), Error>;

/// Whether a placement is exempt from overload protection, judged from its parameters alone.
pub type Exemption = fn(&Call) -> bool;

/// What a handler that must wait returns.
pub type Later = Pin<Box<dyn Future<Output = Answer>>>;

/// A function of a [`Call`].
#[derive(Clone, Copy)]
pub enum Handler {
    /// Answers at once.
    Now(fn(&Call) -> Answer),
    /// Waits for something. Write `Handler::Later(|call| Box::pin(place(call)))` with `async fn place(call: Call) -> Answer`;
    /// or, where requests come fast, a function that reads the call at once and waits with what it read alone.
    Later(fn(Call) -> Later),
}

/// What a handler with an answer of a type may return: that, and what is beside the body.
pub trait Written {
    /// The body's type.
    type Body: JsonSchema;

    /// The answer.
    fn response(self) -> Response;
}

impl<T: Serialize + JsonSchema> Written for T {
    type Body = T;

    fn response(self) -> Response {
        Response::of(&self)
    }
}

/// A body, and what it is charged beyond the weight of its row.
pub struct Weighed<T>(pub T, pub u32);

impl<T: Serialize + JsonSchema> Written for Weighed<T> {
    type Body = T;

    fn response(self) -> Response {
        Response::of(&self.0).weighing(self.1)
    }
}

/// A handler and the type of what it answers, so that a row can describe nothing else than what is written. Made by [`now!`] and
/// [`later!`].
pub struct Answers {
    /// What it answers.
    pub response: Shape,
    /// The handler.
    pub handler: Handler,
}

/// The shape of an answer of a type, for rows whose handler also answers what others have written.
pub const fn answer<T: JsonSchema>() -> Shape {
    Shape::Typed(Described::of::<T>())
}

/// The shape of what a handler answers at once.
pub const fn shape_now<T: Written>(_: fn(&Call) -> Result<T, Error>) -> Shape {
    Shape::Typed(Described::of::<T::Body>())
}

/// The shape of what a handler answers that waits.
pub const fn shape_later<T: Written, F: Future<Output = Result<T, Error>>>(_: fn(Call) -> F) -> Shape {
    Shape::Typed(Described::of::<T::Body>())
}

/// The [`Answers`] of `fn(&Call) -> Result<T, Error>`.
#[macro_export]
macro_rules! now {
    ($handle:expr) => {
        $crate::route::Answers {
            response: $crate::route::shape_now($handle),
            handler: $crate::route::Handler::Now(|call| {
                let handle: fn(&$crate::route::Call) -> Result<_, $crate::route::Error> = $handle;
                handle(call).map($crate::route::Written::response)
            }),
        }
    };
}

/// The [`Answers`] of `async fn(Call) -> Result<T, Error>`; one that is no `async fn` reads what it needs of the call at once.
#[macro_export]
macro_rules! later {
    ($handle:expr) => {
        $crate::route::Answers {
            response: $crate::route::shape_later($handle),
            handler: $crate::route::Handler::Later(|call| {
                let handle: fn($crate::route::Call) -> _ = $handle;
                let answer = handle(call);
                Box::pin(async move { answer.await.map($crate::route::Written::response) })
            }),
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringside_auth::access::Permission;

    async fn wait(call: Call) -> Answer {
        Ok(Response::json(call.body))
    }

    /// Rows are written as statics: this must compile, and is the form to copy.
    static ROWS: &[Route] = &[
        Route {
            auth: Auth::Account(Permission::Trade),
            orders: OrderCount::ONE,
            ..Route::new(Method::Post, "/api/v1/spot/orders", Handler::Later(|call| Box::pin(wait(call))))
        },
        Route {
            weight: Weight::ByQuery(|query| if query.get("limit").is_some() { 5 } else { 1 }),
            ..Route::new(Method::Get, "/api/v1/spot/depth", Handler::Now(|_| Ok(Response::json("{}"))))
        },
    ];

    #[test]
    fn a_weight_may_depend_on_the_query() {
        let Weight::ByQuery(weight) = ROWS[1].weight else { panic!("a function") };
        assert_eq!((weight(Query("limit=500")), weight(Query("symbol=A"))), (5, 1));
        assert_eq!(ROWS[0].orders.ten_seconds, 1);
    }
}
