//! Methods of requests over a WebSocket: each is a row that names the route which answers it.

use crate::api::fapi;
use ringside_auth::access::{Auth, Permission};
use ringside_dialect::fapi::refusal;
use ringside_edge::route::{Handler, Method, Response, Route, Weight};
use ringside_wire::refusal::Dialect;
use std::sync::LazyLock;

/// One method.
#[derive(Debug)]
pub struct Row {
    /// Its name, without the `v1/` that may stand before it.
    pub name: &'static str,
    /// What answers.
    pub target: Target,
}

/// What answers a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The route of this HTTP method and path.
    Route(Method, &'static str),
    /// A connection logs on.
    Logon,
    /// Its loss is to end orders, or no longer: the session itself does it.
    Armed(bool),
    /// What a connection is: nobody is logged on, so that logging out changes nothing.
    Status,
}

const fn row(name: &'static str, method: Method, path: &'static str) -> Row {
    Row { name, target: Target::Route(method, path) }
}

/// Every method. Those behind `userDataStream.stop` are not the original's for this venue: existing clients ask for them all
/// the same, as for the spot venue's.
pub static METHODS: &[Row] = &[
    row("order.place", Method::Post, "/fapi/v1/order"),
    row("order.cancel", Method::Delete, "/fapi/v1/order"),
    row("order.modify", Method::Put, "/fapi/v1/order"),
    row("order.status", Method::Get, "/fapi/v1/order"),
    row("algoOrder.place", Method::Post, "/fapi/v1/algoOrder"),
    row("algoOrder.cancel", Method::Delete, "/fapi/v1/algoOrder"),
    row("depth", Method::Get, "/fapi/v1/depth"),
    row("ticker.price", Method::Get, "/fapi/v1/ticker/price"),
    row("ticker.book", Method::Get, "/fapi/v1/ticker/bookTicker"),
    row("v2/account.position", Method::Get, "/fapi/v3/positionRisk"),
    row("account.position", Method::Get, "/fapi/v2/positionRisk"),
    row("v2/account.balance", Method::Get, "/fapi/v3/balance"),
    row("account.balance", Method::Get, "/fapi/v2/balance"),
    row("v2/account.status", Method::Get, "/fapi/v3/account"),
    row("account.status", Method::Get, "/fapi/v2/account"),
    Row { name: "session.logon", target: Target::Logon },
    Row { name: "session.status", target: Target::Status },
    Row { name: "session.logout", target: Target::Status },
    Row { name: "cancelOnDisconnect.arm", target: Target::Armed(true) },
    Row { name: "cancelOnDisconnect.disarm", target: Target::Armed(false) },
    row("userDataStream.start", Method::Post, "/fapi/v1/listenKey"),
    row("userDataStream.ping", Method::Put, "/fapi/v1/listenKey"),
    row("userDataStream.stop", Method::Delete, "/fapi/v1/listenKey"),
    row("ping", Method::Get, "/fapi/v1/ping"),
    row("time", Method::Get, "/fapi/v1/time"),
    row("exchangeInfo", Method::Get, "/fapi/v1/exchangeInfo"),
    row("order.test", Method::Post, "/fapi/v1/order/test"),
    row("klines", Method::Get, "/fapi/v1/klines"),
    row("myTrades", Method::Get, "/fapi/v1/userTrades"),
];

/// The target of a method's name, and the row that answers it.
pub fn find(name: &str) -> Option<(Target, &'static Route)> {
    let plain = name.strip_prefix("v1/").unwrap_or(name);
    let place = METHODS.iter().position(|row| row.name == plain)?;
    Some((METHODS[place].target, ANSWERING[place]?))
}

/// Files with the routes that methods name.
static TABLES: [&[Route]; 8] = [
    fapi::account::ROUTES,
    fapi::algo::ROUTES,
    fapi::history::ROUTES,
    fapi::listen_key::ROUTES,
    fapi::market_data::ROUTES,
    fapi::order::ROUTES,
    fapi::query::ROUTES,
    fapi::series::ROUTES,
];

/// The row of each method, in the order of [`METHODS`].
static ANSWERING: LazyLock<Box<[Option<&'static Route>]>> = LazyLock::new(|| {
    let answering = |row: &Row| match row.target {
        Target::Route(method, path) => {
            TABLES.into_iter().flatten().find(|route| route.method == method && route.path == path)
        }
        Target::Logon => Some(&LOGON),
        Target::Armed(_) => Some(&ARMED),
        Target::Status => Some(&STATUS),
    };
    METHODS.iter().map(answering).collect()
});

/// The methods that a route answers.
pub fn of(method: Method, path: &str) -> Vec<&'static str> {
    let is_its = |row: &&Row| matches!(row.target, Target::Route(of, at) if of == method && at == path);
    METHODS.iter().filter(is_its).map(|row| row.name).collect()
}

/// Logging on: a good signature is told that its key cannot, since a secret that both sides know would then speak for
/// requests that it has not signed.
static LOGON: Route = Route {
    dialect: Dialect::Fapi,
    auth: Auth::Signed(Permission::Read),
    weight: Weight::Fixed(2),
    is_api: false,
    ..Route::new(Method::Post, "/ws-fapi/v1", Handler::Now(|_| Err(refusal::HMAC_KEY.into())))
};

/// Arming and disarming: like the timer that it is a kind of.
static ARMED: Route = Route {
    dialect: Dialect::Fapi,
    auth: Auth::Signed(Permission::Trade),
    weight: Weight::Fixed(10),
    is_api: false,
    ..Route::new(Method::Post, "/ws-fapi/v1", Handler::Now(|_| Ok(Response::json("{}"))))
};

/// Asking what the connection is; the session itself knows.
static STATUS: Route = Route {
    dialect: Dialect::Fapi,
    weight: Weight::Fixed(2),
    is_api: false,
    ..Route::new(Method::Get, "/ws-fapi/v1", Handler::Now(|_| Ok(Response::json("{}"))))
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_has_one_name_and_a_route() {
        for (index, row) in METHODS.iter().enumerate() {
            assert_eq!(METHODS.iter().position(|other| other.name == row.name), Some(index), "{}", row.name);
            let (target, answering) = find(row.name).unwrap_or_else(|| panic!("no row answers {}", row.name));
            assert_eq!(target, row.target);
            if let Target::Route(method, path) = row.target {
                assert!(of(method, path).contains(&row.name));
                assert_eq!((answering.method, answering.path), (method, path));
            }
        }
        let path = |name| find(name).map(|(_, route)| route.path);
        assert_eq!(path("v1/order.place"), path("order.place"));
        assert_ne!(path("v2/account.status"), path("account.status"));
        for name in ["", "v1/", "v2/order.place", "Order.place", "order.place ", "v1/v1/ping"] {
            assert!(find(name).is_none(), "{name}");
        }
    }
}
