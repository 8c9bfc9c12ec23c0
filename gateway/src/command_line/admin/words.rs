//! Words for the routes of operators: one table of what is said and which route it asks. Everything else (arguments of the path,
//! members of the body and of the query, what each means) is read from the route's own row, so that it is stated once.

use crate::routes::routes;
use anyhow::{Context, Result, anyhow, bail, ensure};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ringside_edge::route::docs::{Field, Param, Place, Shape};
use ringside_edge::route::{Method, Route};
use serde_json::{Map, Value};
use std::fmt::Write;

/// What is said, and the route that it asks.
struct Word {
    noun: &'static str,
    verb: &'static str,
    method: Method,
    path: &'static str,
}

const fn word(noun: &'static str, verb: &'static str, method: Method, path: &'static str) -> Word {
    Word { noun, verb, method, path }
}

/// In the order in which a venue is opened.
const WORDS: &[Word] = &[
    word("tokens", "list", Method::Get, "/admin/tokens"),
    word("tokens", "add", Method::Post, "/admin/tokens"),
    word("tokens", "set", Method::Patch, "/admin/tokens/{symbol}"),
    word("feeds", "list", Method::Get, "/admin/feeds"),
    word("feeds", "put", Method::Put, "/admin/feeds/{symbol}/{feed}"),
    word("feeds", "remove", Method::Delete, "/admin/feeds/{symbol}/{feed}"),
    word("perpetual", "list", Method::Get, "/admin/perpetual/symbols"),
    word("perpetual", "show", Method::Get, "/admin/perpetual/symbols/{symbol}"),
    word("perpetual", "add", Method::Post, "/admin/perpetual/symbols"),
    word("perpetual", "parameters", Method::Patch, "/admin/perpetual/symbols/{symbol}/parameters"),
    word("perpetual", "brackets", Method::Put, "/admin/perpetual/symbols/{symbol}/brackets"),
    word("perpetual", "sources", Method::Put, "/admin/perpetual/symbols/{symbol}/sources"),
    word("perpetual", "state", Method::Patch, "/admin/perpetual/symbols/{symbol}"),
    word("perpetual", "index-price", Method::Post, "/admin/perpetual/index-price"),
    word("perpetual", "credit", Method::Post, "/admin/perpetual/credit"),
    word("spot", "add", Method::Post, "/api/v1/admin/spot/markets"),
    word("spot", "change", Method::Patch, "/api/v1/admin/spot/markets/{id}"),
    word("spot", "status", Method::Patch, "/api/v1/admin/spot/markets/{id}/status"),
    word("spot", "credit", Method::Post, "/api/v1/admin/spot/balances/credit"),
    word("vip-tiers", "show", Method::Get, "/admin/vip-tiers"),
    word("vip-tiers", "set", Method::Put, "/admin/vip-tiers"),
    word("accounts", "set", Method::Patch, "/admin/accounts/{address}"),
    word("accounts", "limits", Method::Patch, "/admin/accounts/{address}/limits"),
    word("treasury", "transfer", Method::Post, "/admin/treasury/transfer"),
    word("approvals", "list", Method::Get, "/admin/approvals"),
    word("approvals", "agree", Method::Post, "/admin/approvals/{id}"),
    word("approvals", "take-back", Method::Delete, "/admin/approvals/{id}"),
    word("withdrawals", "pause", Method::Post, "/admin/withdrawals/pause"),
    word("withdrawals", "disputed", Method::Get, "/admin/withdrawals/disputed"),
    word("withdrawals", "settle", Method::Post, "/admin/withdrawals/disputed/{id}"),
    word("chain", "show", Method::Get, "/admin/chain"),
    word("chain", "rewind", Method::Post, "/admin/chain/rewind"),
    word("bans", "list", Method::Get, "/admin/bans"),
    word("clock", "show", Method::Get, "/admin/clock"),
    word("clock", "accept", Method::Post, "/admin/clock/accept"),
    word("cluster", "show", Method::Get, "/admin/cluster"),
    word("cluster", "add", Method::Post, "/admin/cluster/add"),
    word("cluster", "remove", Method::Post, "/admin/cluster/remove"),
    word("cluster", "transfer", Method::Post, "/admin/cluster/transfer"),
    word("ledger", "proof", Method::Get, "/admin/ledger/proof"),
    word("reserves", "accept", Method::Post, "/admin/proof/accept"),
    word("audit", "list", Method::Get, "/admin/audit"),
];

/// A request as the words ask for it.
#[derive(Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) method: Method,
    /// With its query.
    pub(super) path: String,
    pub(super) body: Option<Value>,
}

impl Word {
    /// Its row. `None` only for a word that names no route, which a test rules out.
    fn route(&self) -> Option<&'static Route> {
        routes().find(|route| route.method == self.method && route.path == self.path)
    }

    /// Whether that route only answers on test deployments.
    fn is_for_tests(&self) -> bool {
        self.route().is_some_and(|route| route.precondition.is_some())
    }

    /// How it is said: `feeds put SYMBOL FEED`.
    fn usage(&self) -> String {
        let mut usage = format!("{} {}", self.noun, self.verb);
        for name in places(self.path) {
            let _ = write!(usage, " {}", name.to_ascii_uppercase());
        }
        usage
    }
}

/// Every word with the summary of its route, a line each.
pub(in crate::command_line) fn list() -> String {
    let usages: Vec<(String, &Word)> = WORDS.iter().map(|word| (word.usage(), word)).collect();
    let width = usages.iter().map(|(usage, _)| usage.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (usage, word) in usages {
        let summary = word.route().map_or("", |route| route.summary);
        let _ = writeln!(text, "  {usage:width$}  {summary}");
    }
    text
}

/// What `words` (nothing, a noun, or a noun and a verb) can be asked for, and with what.
pub(super) fn help(words: &[String]) -> Result<String> {
    match words {
        [] => Ok(list()),
        [noun] => of_noun(noun).map(|found| found.map(explain).collect::<Vec<_>>().join("\n")),
        [noun, verb, ..] => Ok(explain(find(noun, verb)?)),
    }
}

fn explain(word: &Word) -> String {
    let Some(route) = word.route() else { return String::new() };
    let mut text = format!("{}\n  {} {}\n", word.usage(), route.method.name(), route.path);
    let _ = writeln!(text, "  {}", route.summary);
    if word.is_for_tests() {
        text += "  On test deployments alone.\n";
    }
    for param in route.params.iter().filter(|param| param.place != Place::Header) {
        let name = match param.place {
            Place::Path => param.field.name.to_ascii_uppercase(),
            _ => format!("{}=", param.field.name),
        };
        line(&mut text, &name, &param.field);
    }
    for field in members(&route.body) {
        line(&mut text, &format!("{}=", field.name), field);
    }
    text
}

fn line(text: &mut String, name: &str, field: &Field) {
    let optional = if field.required { "" } else { "optional. " };
    let form = match field.shape {
        Shape::OneOf(words) => format!(" ({})", words.join(", ")),
        _ => String::new(),
    };
    let said = format!("    {name:24}{optional}{}{form}", field.doc);
    let _ = writeln!(text, "{}", said.trim_end());
}

/// Names that stand in braces in a path.
fn places(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn of_noun(noun: &str) -> Result<impl Iterator<Item = &'static Word>> {
    ensure!(
        WORDS.iter().any(|word| word.noun == noun),
        "{noun}: no such word; `ringside admin help` has them"
    );
    let noun = noun.to_owned();
    Ok(WORDS.iter().filter(move |word| word.noun == noun))
}

fn find(noun: &str, verb: &str) -> Result<&'static Word> {
    let found = of_noun(noun)?.find(|word| word.verb == verb);
    found.with_context(|| {
        let verbs: Vec<&str> = WORDS.iter().filter(|word| word.noun == noun).map(|word| word.verb).collect();
        format!("{noun} {verb}: {noun} takes {}", verbs.join(", "))
    })
}

/// Members of the object that a body is, or may be.
fn members(body: &Shape) -> &'static [Field] {
    match body {
        Shape::Object(fields) | Shape::Named(_, fields) => fields,
        Shape::Either(shapes) => shapes.iter().map(members).find(|fields| !fields.is_empty()).unwrap_or(&[]),
        _ => &[],
    }
}

/// The request that a noun, a verb and what follows ask for. What follows are the arguments of the path, then a body as JSON (read by
/// `read`, which knows files and standard input) and `name=value` for single members of it or of the query.
pub(super) fn ask(words: &[String], read: impl Fn(&str) -> Result<Option<Value>>) -> Result<Asked> {
    let [noun, rest @ ..] = words else { bail!("nothing to ask; `ringside admin help` has the words") };
    let [verb, rest @ ..] = rest else {
        bail!("{noun}: what of it?\n{}", help(std::slice::from_ref(noun))?.trim_end())
    };
    let word = find(noun, verb)?;
    let route = word.route().context("this word names no route")?;
    let mut rest = rest.iter();
    let mut path = String::new();
    for part in word.path.split('/').skip(1) {
        path.push('/');
        match part.strip_prefix('{') {
            None => path += part,
            Some(_) => {
                let given = rest.next().with_context(|| format!("{}: {part} is missing", word.usage()))?;
                let _ = write!(path, "{}", utf8_percent_encode(given, NON_ALPHANUMERIC));
            }
        }
    }
    let mut body: Option<Value> = None;
    for given in rest {
        if body.is_none()
            && let Some(sent) = read(given)?
        {
            ensure!(!matches!(route.body, Shape::Nothing), "{}: takes no body", word.usage());
            body = Some(sent);
            continue;
        }
        let Some((name, text)) = given.split_once('=') else {
            bail!("{given}: neither name=value nor JSON, @FILE or -")
        };
        if let Some(param) = query(route, name) {
            let before = if path.contains('?') { '&' } else { '?' };
            let text = utf8_percent_encode(text, NON_ALPHANUMERIC);
            let _ = write!(path, "{before}{}={text}", param.field.name);
            continue;
        }
        let field = members(&route.body).iter().find(|field| field.name == name);
        let field = field.ok_or_else(|| unknown(word, route, name))?;
        let value = value(&field.shape, text);
        let value = value.ok_or_else(|| anyhow!("{name}={text}: {}", wanted(&field.shape)))?;
        let Value::Object(members) = body.get_or_insert_with(|| Value::Object(Map::new())) else {
            bail!("{given}: the body is no object that could have it")
        };
        members.insert(name.to_owned(), value);
    }
    Ok(Asked { method: word.method, path, body })
}

fn query(route: &Route, name: &str) -> Option<&'static Param> {
    route.params.iter().find(|param| param.place == Place::Query && param.field.name == name)
}

fn unknown(word: &Word, route: &Route, name: &str) -> anyhow::Error {
    let queries = route.params.iter().filter(|param| param.place == Place::Query).map(|param| &param.field);
    let known: Vec<&str> = queries.chain(members(&route.body)).map(|field| field.name).collect();
    let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
    anyhow!("{name}: no member of {}, which takes {known}", word.usage())
}

/// Text as a value of a shape, if it can be one.
fn value(shape: &Shape, text: &str) -> Option<Value> {
    let json = || serde_json::from_str::<Value>(text).ok();
    match shape {
        Shape::Text | Shape::Pattern(_) | Shape::Decimal | Shape::DecimalInput | Shape::OneOf(_) => {
            Some(Value::String(text.to_owned()))
        }
        Shape::Integer => json().filter(|value| value.is_i64() || value.is_u64()),
        Shape::Number => json().filter(Value::is_number),
        Shape::Boolean => json().filter(Value::is_boolean),
        Shape::Nullable(_) if text == "null" => Some(Value::Null),
        Shape::Nullable(shape) => value(shape, text),
        Shape::List(_) | Shape::Tuple(_) => json().filter(Value::is_array),
        Shape::Object(_) | Shape::Named(..) => json().filter(Value::is_object),
        // Any text is a text, so that what has more form goes first.
        Shape::Either(shapes) => {
            let is_text = |shape: &&Shape| matches!(shape, Shape::Text | Shape::Pattern(_));
            let (texts, others): (Vec<&Shape>, Vec<&Shape>) = shapes.iter().partition(is_text);
            others.into_iter().chain(texts).find_map(|shape| value(shape, text))
        }
        Shape::Any | Shape::Typed(_) => Some(json().unwrap_or_else(|| Value::String(text.to_owned()))),
        Shape::Nothing => None,
    }
}

fn wanted(shape: &Shape) -> &'static str {
    match shape {
        Shape::Nullable(shape) => wanted(shape),
        Shape::Integer => "a whole number",
        Shape::Number => "a number",
        Shape::Boolean => "true or false",
        Shape::List(_) | Shape::Tuple(_) => "a list as JSON",
        _ => "JSON",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringside_auth::access::Auth;
    use serde_json::json;
    use std::collections::BTreeSet;

    /// Routes of operators that have no word, and why.
    const WORDLESS: [(Method, &str, &str); 5] = [
        (Method::Post, "/api/v1/admin/tokens", "the same as /admin/tokens, for clients of the spot venue"),
        (Method::Get, "/metrics", "its answer is no JSON, and a collector reads it"),
        (Method::Get, "/latency.hgrm", "its answer is no JSON; `ringside latency --to` writes it"),
        (Method::Get, "/latency.json", "`ringside latency` shows it"),
        (Method::Post, "/latency/reset", "`ringside latency --reset` asks for it"),
    ];

    #[test]
    fn every_route_of_operators_has_one_word_or_a_reason() {
        let words = || WORDS.iter().map(|word| (word.method, word.path));
        for route in routes().filter(|route| route.auth == Auth::Admin) {
            let is_it = |&(method, path): &(Method, &str)| (method, path) == (route.method, route.path);
            let reason = WORDLESS.iter().find(|(method, path, _)| is_it(&(*method, path)));
            let count = words().filter(is_it).count() + usize::from(reason.is_some());
            assert_eq!(count, 1, "{} {}", route.method.name(), route.path);
            assert!(reason.is_none_or(|(.., why)| !why.is_empty()));
        }
        for (method, path) in words().chain(WORDLESS.map(|(method, path, _)| (method, path))) {
            let route = routes().find(|route| (route.method, route.path) == (method, path));
            let route = route.unwrap_or_else(|| panic!("{} {path} is no route", method.name()));
            assert!(route.auth == Auth::Admin && (!route.summary.is_empty() || !route.is_api), "{path}");
        }
        let said: BTreeSet<_> = WORDS.iter().map(|word| (word.noun, word.verb)).collect();
        assert_eq!(said.len(), WORDS.len());
    }

    fn asked(text: &str) -> Result<Asked, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        ask(&words, |given| Ok(serde_json::from_str(given).ok())).map_err(|error| error.to_string())
    }

    #[test]
    fn words_become_what_their_routes_take() {
        let check = |text: &str, method, path: &str, body: Value| {
            let body = Some(body).filter(|body| !body.is_null());
            assert_eq!(asked(text), Ok(Asked { method, path: path.to_owned(), body }), "{text}");
        };
        check("tokens list", Method::Get, "/admin/tokens", Value::Null);
        check("audit list limit=3 before=9", Method::Get, "/admin/audit?limit=3&before=9", Value::Null);
        let gold = json!({ "symbol": "1", "decimals": 6, "deposits_paused": true, "min_withdrawal": "2" });
        let text = "tokens add symbol=1 decimals=6 deposits_paused=true min_withdrawal=2";
        check(text, Method::Post, "/admin/tokens", gold);
        check(
            "feeds put btcusdt 2 kind=http price=[\"a.b\",\"c\"] every=1s",
            Method::Put,
            "/admin/feeds/btcusdt/2",
            json!({ "kind": "http", "price": ["a.b", "c"], "every": "1s" }),
        );
        check(
            "feeds put A/B 2 price=data.0",
            Method::Put,
            "/admin/feeds/A%2FB/2",
            json!({ "price": "data.0" }),
        );
        let limits = json!({ "open_orders": null, "order_rate_1m": 7 });
        let path = "/admin/accounts/0x1/limits";
        check("accounts limits 0x1 open_orders=null order_rate_1m=7", Method::Patch, path, limits);
        let path = "/admin/perpetual/symbols/X/brackets";
        check("perpetual brackets X [1,2]", Method::Put, path, json!([1, 2]));
        let body = json!({ "brackets": [1], "confirm": true });
        check("perpetual brackets X {\"brackets\":[1]} confirm=true", Method::Put, path, body);
    }

    #[test]
    fn what_cannot_be_asked_is_named() {
        for (text, named) in [
            ("", "ringside admin help"),
            ("tokes list", "tokes: no such word"),
            ("tokens", "tokens add"),
            ("tokens delete", "tokens takes list, add, set"),
            ("tokens set", "{symbol} is missing"),
            ("tokens add decimals=six", "decimals=six: a whole number"),
            ("tokens add decimals=1.5", "decimals=1.5: a whole number"),
            ("tokens set X deposits_paused=yes", "true or false"),
            ("tokens add colour=red", "colour: no member of tokens add, which takes symbol, address"),
            ("tokens list limit=1", "which takes nothing"),
            ("tokens list {}", "takes no body"),
            ("tokens add gold", "gold: neither name=value nor JSON, @FILE or -"),
            ("perpetual sources X [1] confirm=true", "the body is no object"),
        ] {
            let error = asked(text).expect_err(text);
            assert!(error.contains(named), "{text}: {error}");
        }
    }

    #[test]
    fn help_is_of_the_table_and_of_the_rows() {
        let help = |words: &[&str]| help(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let all = help(&[]).unwrap();
        assert_eq!(all.lines().count(), WORDS.len());
        assert!(all.contains("feeds put SYMBOL FEED  ") && all.contains("Take a price feed away"), "{all}");
        let one = help(&["treasury", "transfer"]).unwrap();
        assert!(one.contains("POST /admin/treasury/transfer") && one.contains("amount="), "{one}");
        assert!(help(&["spot", "credit"]).unwrap().contains("On test deployments alone."));
        assert!(help(&["withdrawals"]).unwrap().contains("outcome="));
        assert!(help(&["nothing"]).is_err());
    }

    /// `scripts/open_venue.sh` runs its blocks; what its text says is asked for the same words.
    #[test]
    fn the_runbook_knows_the_words() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/operations/runbook.md");
        let text = std::fs::read_to_string(path).unwrap();
        let said: Vec<&str> = text.split(|c: char| c.is_whitespace() || "`($|;,".contains(c)).collect();
        let mut count = 0;
        for at in said
            .windows(3)
            .filter(|at| matches!(at[0], "ann" | "bob") && WORDS.iter().any(|word| word.noun == at[1]))
        {
            find(at[1], at[2]).unwrap_or_else(|error| panic!("{error}"));
            count += 1;
        }
        assert!(count > 30, "{count}");
    }
}
