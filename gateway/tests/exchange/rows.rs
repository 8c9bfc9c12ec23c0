//! Rows of the route table, found by what tests send, and compared with the refusals that these were answered.

use ringside_edge::route::Route;
use ringside_gateway::routes::openapi::refusals;
use ringside_gateway::routes::routes;
use std::collections::BTreeSet;

/// Refusals seen: the route of the table, empty where there is none; status; string or code.
pub(crate) type Seen = BTreeSet<(String, u16, String)>;

/// Where three lists disagree: what is specified, by status; what rows document as a client's fault, as `documented` reads it; what
/// was seen. A string that goes on with what was sent, `<so>`, is compared without that.
pub(crate) fn disagreements(
    seen: &Seen,
    specified: &[(u16, &[&str])],
    documented: impl Fn(&Route) -> Vec<(u16, &'static str)>,
) -> Vec<String> {
    let mut found = Vec::new();
    for (status, texts) in specified {
        for text in *texts {
            let constant = text.split('<').next().unwrap_or_default();
            if !seen.iter().any(|(_, seen, said)| seen == status && said == constant) {
                found.push(format!("specified, never produced: {status} {text}"));
            }
        }
    }
    for route in routes() {
        // A fault of the server's own may be rare; where one can be provoked is judged by the list above.
        for (status, text) in documented(route).into_iter().filter(|(status, _)| *status < 500) {
            let row = (name(route), status, text.to_owned());
            if !seen.contains(&row) {
                found.push(format!("documented, never produced: {row:?}"));
            }
        }
    }
    for row in seen.iter().filter(|row| !row.0.is_empty()) {
        let is_documented = routes().filter(|route| name(route) == row.0).any(|route| {
            refusals(route).iter().any(|refused| refused.status == row.1 && refused.text == row.2)
        });
        if !is_documented {
            found.push(format!("produced, not documented: {row:?}"));
        }
    }
    found
}

/// What a row is called in reports.
pub(crate) fn name(route: &Route) -> String {
    format!("{} {}", route.method.name(), route.path)
}

/// The row that a request goes to, by its method and its path without a query.
pub(crate) fn of_request(method: &str, path: &str) -> Option<&'static Route> {
    routes().find(|route| route.method.name() == method && is_path_of(route.path, path))
}

/// Whether a path is one of a row's; words of the row's own path come before its parameters.
fn is_path_of(row: &str, path: &str) -> bool {
    let is_whole = routes().any(|route| route.path == path);
    (!is_whole || row == path)
        && row.matches('/').count() == path.matches('/').count()
        && row.split('/').zip(path.split('/')).all(|(row, part)| row.starts_with('{') || row == part)
}
