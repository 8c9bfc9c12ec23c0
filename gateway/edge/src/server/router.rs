//! Path and method to a row. Built once from the rows; all workers share it.

use crate::route::call::MAX_PATH_PARAMS;
use crate::route::{Method, Route};
use ringside_wire::refusal::Dialect;
use std::ops::Range;

/// The router.
pub struct Router {
    paths: matchit::Router<Methods>,
}

/// The rows of one path, by method.
struct Methods {
    rows: [Option<&'static Route>; Method::ALL.len()],
    /// Value of `Allow` for other methods.
    allow: String,
    /// The dialect that other methods are refused in: that of the first row.
    dialect: Dialect,
}

/// What a request line matched.
pub enum Match<'a> {
    /// A row, and where its parameters' values stand in the path.
    Route(&'static Route, [Range<u16>; MAX_PATH_PARAMS]),
    /// The path is known, the method is not; the methods it has.
    MethodNotAllowed(&'a str, Dialect),
    /// No such path.
    NotFound(Dialect),
}

/// Two rows that cannot both be. A fault of the table, so it stops the start.
#[derive(Debug, thiserror::Error)]
pub enum RouterError {
    /// matchit refused the path.
    #[error("route {path}: {cause}")]
    Path {
        /// Path of the route.
        path: &'static str,
        /// What the router said.
        cause: matchit::InsertError,
    },
    /// Two rows of one path and method.
    #[error("route {path}: {method:?} stands there twice")]
    Twice {
        /// Path of the route.
        path: &'static str,
        /// Method of the route.
        method: Method,
    },
    /// More parameters than a call has room for.
    #[error("route {path}: more than {MAX_PATH_PARAMS} parameters")]
    TooManyParams {
        /// Path of the route.
        path: &'static str,
    },
}

impl Router {
    /// The router of these tables.
    pub fn new(tables: &'static [&'static [Route]]) -> Result<Router, RouterError> {
        let mut paths = matchit::Router::new();
        let mut by_path: Vec<(&'static str, Methods)> = Vec::new();
        for route in tables.iter().copied().flatten() {
            if route.path.matches('{').count() > MAX_PATH_PARAMS {
                return Err(RouterError::TooManyParams { path: route.path });
            }
            let at = match by_path.iter().position(|(path, _)| *path == route.path) {
                Some(at) => at,
                None => {
                    let (rows, allow) = (Default::default(), String::new());
                    by_path.push((route.path, Methods { rows, allow, dialect: route.dialect }));
                    by_path.len() - 1
                }
            };
            let row = &mut by_path[at].1.rows[route.method as usize];
            if row.replace(route).is_some() {
                return Err(RouterError::Twice { path: route.path, method: route.method });
            }
        }
        for (path, mut methods) in by_path {
            let names = methods.rows.iter().flatten().map(|route| match route.method {
                Method::Get => "GET, HEAD",
                method => method.name(),
            });
            methods.allow = names.collect::<Vec<_>>().join(", ");
            paths.insert(path, methods).map_err(|cause| RouterError::Path { path, cause })?;
        }
        Ok(Router { paths })
    }

    /// The row of a request line. Allocates nothing.
    pub fn find(&self, method: &hyper::Method, path: &str) -> Match<'_> {
        let Ok(found) = self.paths.at(path) else { return Match::NotFound(dialect_of(path)) };
        let row = Method::of(method).and_then(|method| found.value.rows[method as usize]);
        let Some(route) = row else {
            return Match::MethodNotAllowed(&found.value.allow, found.value.dialect);
        };
        let mut params = [const { 0..0 }; MAX_PATH_PARAMS];
        for ((_, value), range) in found.params.iter().zip(&mut params) {
            // The value is a part of the path, so the difference of their addresses is its place.
            let start = value.as_ptr() as usize - path.as_ptr() as usize;
            *range = start as u16..(start + value.len()) as u16;
        }
        Match::Route(route, params)
    }
}

/// The dialect that a path without a row is refused in.
pub(super) fn dialect_of(path: &str) -> Dialect {
    // Families without a version of their own (`account.md` 2).
    const OF_ACCOUNTS: [&str; 8] =
        ["account", "orders", "positions", "unified", "withdraw", "external", "referral", "admin"];
    let first = path.split('/').nth(1).unwrap_or("");
    if first == "fapi" {
        Dialect::Fapi
    } else if OF_ACCOUNTS.contains(&first) {
        Dialect::Account
    } else {
        Dialect::Spot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::{Handler, Response};

    const OK: Handler = Handler::Now(|_| Ok(Response::json("{}")));

    static TABLES: &[&[Route]] = &[
        &[
            Route::new(Method::Get, "/api/v1/spot/orders", OK),
            Route::new(Method::Post, "/api/v1/spot/orders", OK),
            Route::new(Method::Delete, "/api/v1/spot/orders/{id}", OK),
        ],
        &[Route::new(Method::Get, "/api/v1/a/{one}/b/{two}", OK)],
        &[Route { dialect: Dialect::Account, ..Route::new(Method::Put, "/api/v1/account/mode", OK) }],
        &[Route { dialect: Dialect::Fapi, ..Route::new(Method::Get, "/api/v3/{one}", OK) }],
    ];

    fn check(method: &str, path: &str, expected: &str) {
        let router = Router::new(TABLES).unwrap();
        let method = hyper::Method::from_bytes(method.as_bytes()).unwrap();
        let found = match router.find(&method, path) {
            Match::Route(route, params) => {
                let values: Vec<&str> =
                    params.iter().map(|range| &path[range.start as usize..range.end as usize]).collect();
                format!("{} {}", route.path, values.join("|").trim_end_matches('|'))
            }
            Match::MethodNotAllowed(allow, dialect) => format!("405 {allow} {dialect:?}"),
            Match::NotFound(dialect) => format!("404 {dialect:?}"),
        };
        assert_eq!(found, expected, "{method} {path}");
    }

    #[test]
    fn finds_rows_methods_and_parameters() {
        check("GET", "/api/v1/spot/orders", "/api/v1/spot/orders ");
        check("DELETE", "/api/v1/spot/orders/abc-1", "/api/v1/spot/orders/{id} abc-1");
        check("GET", "/api/v1/a/x%20y/b/z", "/api/v1/a/{one}/b/{two} x%20y|z");
        check("PATCH", "/api/v1/spot/orders", "405 GET, HEAD, POST Spot");
        check("HEAD", "/api/v1/spot/orders", "/api/v1/spot/orders ");
        check("HEAD", "/api/v1/account/mode", "405 PUT Account");
        check("GET", "/api/v1/spot/orders/", "404 Spot");
        check("GET", "/api/v1/spot/orders/a/b", "404 Spot");
        check("GET", "/api/v1/account/mode", "405 PUT Account");
        check("DELETE", "/api/v3/x", "405 GET, HEAD Fapi");
        check("GET", "/api/v3/x/y", "404 Spot");
        check("GET", "/fapi/v1/order", "404 Fapi");
        check("GET", "/", "404 Spot");
    }

    #[test]
    fn a_row_that_stands_twice_is_refused() {
        static TWICE: &[&[Route]] =
            &[&[Route::new(Method::Get, "/a", OK)], &[Route::new(Method::Get, "/a", OK)]];
        assert!(matches!(Router::new(TWICE), Err(RouterError::Twice { path: "/a", .. })));
    }
}
