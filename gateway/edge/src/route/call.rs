//! One request as a handler sees it: matched, limited, authenticated, its body read.

use super::{Error, Method, Route};
use crate::http::limits::Client;
use crate::worker::Worker;
use bytes::Bytes;
use hyper::http::request::Parts;
use percent_encoding::percent_decode_str;
use ringside_auth::access::{Acting, Identity};
use ringside_commands::ingress::EngineState;
use ringside_core::ids::AccountId;
use ringside_wire::fault::Fault;
use std::borrow::Cow;
use std::cell::Cell;
use std::net::{IpAddr, Ipv6Addr};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// Rows that are passed over for 1 of weight.
const ROWS_OF_A_WEIGHT: u64 = 1_000;

/// Most parameters in one path.
pub const MAX_PATH_PARAMS: usize = 4;

/// One request.
pub struct Call {
    /// Its row.
    pub route: &'static Route,
    /// What this thread's handlers share.
    pub worker: Rc<Worker>,
    /// Method, URI, headers.
    pub head: Parts,
    /// The whole body, at most the configured size.
    pub body: Bytes,
    /// Who asks; always there where the row asks for an account.
    pub identity: Option<Identity>,
    /// Who asks as an operator; always there where the row is for operators.
    pub acting: Option<Box<Acting>>,
    /// The client's address; `None` behind a proxy that does not say it.
    pub ip: Option<IpAddr>,
    /// What it is counted under.
    pub client: Arc<Client>,
    /// UNIX milliseconds when the request was fully read.
    pub now_ms: i64,
    /// What the engine did then. Who led then may show what it has, however the lead goes on: all that was acknowledged before is in it,
    /// and what this request has done is not to be refused.
    pub phase: EngineState,
    /// Where the values of the path's parameters stand in the path, in the row's order.
    pub path_params: [Range<u16>; MAX_PATH_PARAMS],
    /// The connection behind a request that asks for an upgrade; take it to answer 101.
    pub upgrade: Cell<Option<hyper::upgrade::OnUpgrade>>,
}

impl Call {
    /// The caller's account. Only for rows whose `auth` asks for one; the edge has then filled it in.
    pub fn account(&self) -> AccountId {
        self.identity.as_ref().expect("the row asks for an account, so the edge has checked one").account
    }

    /// The operator, or the two, who ask. Only for rows of operators; the edge has then filled it in.
    pub fn acting(&self) -> &Acting {
        self.acting.as_ref().expect("the row is for operators, so the edge has checked one")
    }

    /// Charges 1 for each 1,000 rows that were passed over to find the answer's; what that came to.
    pub fn charge_rows(&self, passed: u64) -> u32 {
        let weight = u32::try_from(passed / ROWS_OF_A_WEIGHT).unwrap_or(u32::MAX);
        if weight > 0 {
            self.worker.shared.edge.limits.charge_more(&self.client, weight, self.now_ms);
        }
        weight
    }

    /// Query string.
    #[inline]
    pub fn query(&self) -> Query<'_> {
        Query(self.head.uri.query().unwrap_or(""))
    }

    /// Value of the path's `index`-th parameter, percent-decoded; bytes that are not UTF-8 become U+FFFD.
    pub fn path_param(&self, index: usize) -> Cow<'_, str> {
        let range = &self.path_params[index];
        let raw = &self.head.uri.path()[range.start as usize..range.end as usize];
        percent_decode_str(raw).decode_utf8_lossy()
    }

    /// A header's value, if it is sent and is visible ASCII.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name)?.to_str().ok()
    }

    /// The client's address as the audit has it: `::` where it is not known.
    pub fn noted_ip(&self) -> Ipv6Addr {
        match self.ip {
            Some(IpAddr::V4(ip)) => ip.to_ipv6_mapped(),
            Some(IpAddr::V6(ip)) => ip,
            None => Ipv6Addr::UNSPECIFIED,
        }
    }

    /// The login token that was sent; it has been judged where the row asks for one.
    pub fn token(&self) -> Option<&str> {
        ringside_auth::token(&self.head.headers).and_then(|token| std::str::from_utf8(token).ok())
    }

    /// Whether it came by the key header of existing clients (`perpetual.md` 2).
    pub fn is_compatible(&self) -> bool {
        self.worker.shared.edge.auth.is_compatible(&self.head.headers)
    }

    /// Lets go of head and body, from which everything was read that is wanted. For handlers that wait: their memory serves
    /// the next request while it is near, and not when it has to be fetched again to be given back.
    pub fn let_go(&mut self) {
        (self.head, _) = hyper::Request::new(()).into_parts();
        self.body = Bytes::new();
    }

    /// The body read as a form: empty for a GET and a HEAD; refused where it is not empty and said to be something else.
    pub fn form(&self) -> Result<&[u8], Fault> {
        const FORM: &str = "application/x-www-form-urlencoded";
        if self.body.is_empty() || self.route.method == Method::Get {
            return Ok(&[]);
        }
        let media =
            self.header("content-type").map_or(FORM, |value| value.split(';').next().unwrap_or("").trim());
        if media.eq_ignore_ascii_case(FORM) { Ok(&self.body) } else { Err(Fault::BodyType) }
    }

    /// The body read as a JSON object: 400 `invalid json` for a body that is no JSON or no object. Members that `T` does
    /// not name are ignored; a member of the wrong type must be `T`'s business (an untyped field), or it is `invalid json` as well.
    pub fn json<'a, T: serde::Deserialize<'a>>(&'a self) -> Result<T, Error> {
        let is_object = self.body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
        let refused = Fault::InvalidJson.error(self.route.dialect);
        if !is_object {
            return Err(refused.with_message("body: no JSON object"));
        }
        serde_json::from_slice(&self.body).map_err(|error| {
            // It may name what was sent, which may be long.
            let why: String = error.to_string().chars().take(WHY_LEN_MAX).collect();
            refused.with_message(format!("body: {why}"))
        })
    }
}

/// Characters of why a body cannot be read that are shown.
const WHY_LEN_MAX: usize = 200;

/// A query string; reading a parameter allocates only where it is percent-encoded.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a>(pub &'a str);

impl<'a> Query<'a> {
    /// The first value of `name`, decoded (`+` is a space). Sent without `=`, it is empty.
    pub fn get(self, name: &str) -> Option<Cow<'a, str>> {
        self.pairs().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// All parameters, decoded, in the order sent.
    pub fn pairs(self) -> impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)> {
        self.0.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(key), decode(value))
        })
    }
}

fn decode(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| matches!(byte, b'%' | b'+')) {
        return Cow::Borrowed(text);
    }
    let spaced = text.replace('+', " ");
    Cow::Owned(percent_decode_str(&spaced).decode_utf8_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_gives_the_first_value_decoded() {
        let query = Query("symbol=dfusdt&limit=5&limit=6&empty&note=a%2Bb+c&&x=");
        let got = |name| query.get(name).map(Cow::into_owned);
        assert_eq!(got("symbol").as_deref(), Some("dfusdt"));
        assert_eq!(got("limit").as_deref(), Some("5"));
        assert_eq!(got("empty").as_deref(), Some(""));
        assert_eq!(got("note").as_deref(), Some("a+b c"));
        assert_eq!(got("x").as_deref(), Some(""));
        assert_eq!(got("y"), None);
        assert_eq!(Query("").pairs().count(), 0);
        assert!(matches!(query.get("symbol"), Some(Cow::Borrowed(_))));
    }
}
