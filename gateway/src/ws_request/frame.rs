//! Frames of requests over a WebSocket: what a client sends, read into the query of a request; what it is answered, written.

use ringside_auth::signed;
use ringside_dialect::fapi::params::{Members, PARAMS_MAX};
use ringside_dialect::fapi::refusal::{self, Refusal};
use ringside_edge::http::order_rate::Counted;
use ringside_streams::envelope::finished;
use ringside_wire::write;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// The id of an answer to what has none.
pub const NO_ID: &str = "null";

/// A request as it was sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Its id: a JSON text.
    pub id: &'a str,
    /// Its method's name.
    pub method: Cow<'a, str>,
    /// Its parameters.
    pub params: Sent,
}

/// Parameters of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// All of them as a query: sorted by name, values percent-encoded.
    pub query: String,
    /// The same with booleans as Python writes them, where there are any: some clients sign that.
    pub spelling: Option<String>,
    /// `apiKey`.
    pub api_key: Option<String>,
    /// `returnRateLimits`.
    pub shows_limits: Option<bool>,
}

/// Why a frame is no request, and the id to say it with.
pub type Malformed<'a> = (&'a str, Refusal);

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Envelope<'a> {
    #[serde(default)]
    id: Raw<'a>,
    #[serde(default)]
    method: Raw<'a>,
    #[serde(default)]
    params: Raw<'a>,
}

/// A member's text, null told apart from absent.
#[derive(Default)]
struct Raw<'a>(Option<&'a str>);

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Raw<'a>, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|raw| Raw(Some(raw.get())))
    }
}

impl<'a> Request<'a> {
    /// Reads a text frame: JSON -1135, `id` and `method` -1102, `params` -1135 and -1101, `returnRateLimits` -1130.
    pub fn parse(text: &'a str) -> Result<Request<'a>, Malformed<'a>> {
        // A list would be taken for the members in turn.
        let is_object = text.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('{');
        let envelope = serde_json::from_str::<Envelope<'a>>(text).ok().filter(|_| is_object);
        let Some(Envelope { id, method, params }) = envelope else { return Err((NO_ID, refusal::JSON)) };
        let id = id.0.filter(|id| is_id(id)).ok_or((NO_ID, refusal::mandatory("id")))?;
        let method = method.0.filter(|method| method.starts_with('"'));
        let method = method.and_then(|method| serde_json::from_str(method).ok());
        let method: Cow<'a, str> = method.map(|Text(text)| text).ok_or((id, refusal::mandatory("method")))?;
        let params = match params.0 {
            None | Some("null") => Sent::default(),
            Some(params) => Sent::read(params).map_err(|refusal| (id, refusal))?,
        };
        Ok(Request { id, method, params })
    }
}

/// A string without a copy where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Longest integer that is an id, sign included: more than 128 bits have, and short of what no float can hold.
const INTEGER_LEN_MAX: usize = 40;

/// Integer, string or null. A string that is no text, or an integer beyond any reader's, could not be read again where it
/// comes back.
fn is_id(text: &str) -> bool {
    match text.as_bytes().first() {
        Some(b'"') => serde_json::from_str::<Text<'_>>(text).is_ok(),
        _ => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            text == NO_ID || text.len() <= INTEGER_LEN_MAX && digits.bytes().all(|byte| byte.is_ascii_digit())
        }
    }
}

impl Sent {
    fn read(object: &str) -> Result<Sent, Refusal> {
        let mut members = Members::read(object).ok_or(refusal::PARAMS)?.0;
        if members.len() > PARAMS_MAX {
            return Err(refusal::TOO_MANY_PARAMS);
        }
        members.retain(|(_, raw)| *raw != "null");
        members.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut sent = Sent { query: String::with_capacity(object.len()), ..Sent::default() };
        let has_booleans = members.iter().any(|(_, raw)| matches!(*raw, "true" | "false"));
        sent.spelling = has_booleans.then(|| String::with_capacity(object.len()));
        for (name, raw) in &members {
            let value = Members::text(raw).ok_or(refusal::PARAMS)?;
            match name.as_ref() {
                "apiKey" => sent.api_key = Some(value.clone().into_owned()),
                "returnRateLimits" => {
                    let is_shown = value.to_ascii_lowercase().parse();
                    sent.shows_limits = Some(is_shown.map_err(|_| refusal::not_valid("returnRateLimits"))?);
                }
                _ => {}
            }
            put(&mut sent.query, name, &value);
            if let Some(spelling) = &mut sent.spelling {
                let value = match *raw {
                    "true" => "True",
                    "false" => "False",
                    _ => &value,
                };
                put(spelling, name, value);
            }
        }
        Ok(sent)
    }
}

fn put(query: &mut String, name: &str, value: &str) {
    if !query.is_empty() {
        query.push('&');
    }
    query.extend(signed::encoded(name.as_bytes()));
    query.push('=');
    query.extend(signed::encoded(value.as_bytes()));
}

/// What of its limits a request has used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// Weight of the address in this minute, and the limit.
    pub weight: (u32, u32),
    /// Orders of the account in the running windows, where the request counts as any.
    pub orders: Option<Counted>,
    /// Orders in ten seconds and in a minute that an account may send.
    pub orders_max: (u32, u32),
}

/// An answer: `outcome` is the JSON text of the result, or of the error.
pub fn answer(id: &str, status: u16, outcome: Result<&[u8], &[u8]>, used: Option<&Used>) -> Utf8Bytes {
    let (member, body) = match outcome {
        Ok(result) => (&b",\"result\":"[..], result),
        Err(error) => (&b",\"error\":"[..], error),
    };
    let mut out = Vec::with_capacity(360 + id.len() + body.len());
    out.extend_from_slice(b"{\"id\":");
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(b",\"status\":");
    write(&mut out, &status);
    out.extend_from_slice(member);
    out.extend_from_slice(body);
    if let Some(used) = used {
        let (count, limit) = used.weight;
        out.extend_from_slice(b",\"rateLimits\":[");
        limiter(&mut out, "REQUEST_WEIGHT", ("MINUTE", 1), limit, count);
        if let Some(orders) = used.orders {
            out.push(b',');
            limiter(&mut out, "ORDERS", ("SECOND", 10), used.orders_max.0, orders.ten_seconds);
            out.push(b',');
            limiter(&mut out, "ORDERS", ("MINUTE", 1), used.orders_max.1, orders.minute);
        }
        out.push(b']');
    }
    out.push(b'}');
    finished(out)
}

fn limiter(out: &mut Vec<u8>, kind: &str, (interval, number): (&str, u64), limit: u32, count: u32) {
    for part in ["{\"rateLimitType\":\"", kind, "\",\"interval\":\"", interval, "\",\"intervalNum\":"] {
        out.extend_from_slice(part.as_bytes());
    }
    write(out, &number);
    out.extend_from_slice(b",\"limit\":");
    write(out, &limit);
    out.extend_from_slice(b",\"count\":");
    write(out, &count);
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn query(params: &str) -> Sent {
        let text = format!(r#"{{"id":1,"method":"m","params":{params}}}"#);
        Request::parse(&text).unwrap().params
    }

    #[test]
    fn parameters_become_a_sorted_query() {
        let sent = query(
            r#"{"symbol":"BTCUSDT","apiKey":"k","price":62712.0,"timestamp":1700000000000,"x":null,"newClientOrderId":"a/\u0041 b"}"#,
        );
        assert_eq!(
            sent.query,
            "apiKey=k&newClientOrderId=a%2FA%20b&price=62712.0&symbol=BTCUSDT&timestamp=1700000000000"
        );
        assert_eq!((sent.spelling, sent.api_key.as_deref(), sent.shows_limits), (None, Some("k"), None));
        let sent = query(r#"{"b":true,"a":"true","returnRateLimits":false}"#);
        assert_eq!(sent.query, "a=true&b=true&returnRateLimits=false");
        assert_eq!(sent.spelling.as_deref(), Some("a=true&b=True&returnRateLimits=False"));
        assert_eq!(sent.shows_limits, Some(false));
        // Twice is the route's to refuse; what has no text of its own is passed on as it stands.
        assert_eq!(query(r#"{"a":1,"a":"2"}"#).query, "a=1&a=2");
        assert_eq!(query(r#"{"l":[1,"x"]}"#).query, "l=%5B1%2C%22x%22%5D");
        assert_eq!(query("null"), Sent::default());
        assert_eq!(query(r#"{"a&b=c":"d&e"}"#).query, "a%26b%3Dc=d%26e");
    }

    #[test]
    fn parameters_are_bounded() {
        for (count, is_taken) in [(PARAMS_MAX, true), (PARAMS_MAX + 1, false)] {
            let members: Vec<String> = (0..count).map(|index| format!("\"{index}\":null")).collect();
            let text = format!(r#"{{"id":1,"method":"m","params":{{{}}}}}"#, members.join(","));
            let refused = Request::parse(&text).err().map(|(_, refusal)| refusal.code);
            assert_eq!(refused, (!is_taken).then_some(-1101));
        }
    }

    #[test]
    fn ids_come_back_as_they_were_sent() {
        for id in [
            "0",
            "-7",
            "18446744073709551616",
            "-170141183460469231731687303715884105728",
            "null",
            "\"\"",
            r#""a\u0041""#,
            "\"c174a2b1-3f51-4580-b200-8528bd237cb7\"",
        ] {
            let text = format!(r#" {{"params":{{}},"method":"ping","more":[{{}}],"id":{id}}}"#);
            let request = Request::parse(&text).unwrap();
            assert_eq!((request.id, &*request.method), (id, "ping"), "{text}");
        }
    }

    #[test]
    fn what_is_no_request() {
        for (text, id, code) in [
            ("", "null", -1135),
            ("null", "null", -1135),
            (r#"[1,"ping"]"#, "null", -1135),
            (r#"{"id":1,"method":"ping""#, "null", -1135),
            (r#"{"id":1,"id":2,"method":"ping"}"#, "null", -1135),
            (r#"{"method":"ping"}"#, "null", -1102),
            (r#"{"id":1.5,"method":"ping"}"#, "null", -1102),
            (r#"{"id":1e3,"method":"ping"}"#, "null", -1102),
            (r#"{"id":12345678901234567890123456789012345678901,"method":"ping"}"#, "null", -1102),
            (r#"{"id":true,"method":"ping"}"#, "null", -1102),
            (r#"{"id":{},"method":"ping"}"#, "null", -1102),
            (r#"{"id":"\ud800","method":"ping"}"#, "null", -1102),
            (r#"{"id":"x"}"#, "\"x\"", -1102),
            (r#"{"id":7,"method":null}"#, "7", -1102),
            (r#"{"id":7,"method":["ping"]}"#, "7", -1102),
            (r#"{"id":7,"method":"ping","params":[]}"#, "7", -1135),
            (r#"{"id":7,"method":"ping","params":"a=1"}"#, "7", -1135),
            (r#"{"id":7,"method":"ping","params":{"a":"\ud800"}}"#, "7", -1135),
            (r#"{"id":7,"method":"ping","params":{"returnRateLimits":"no"}}"#, "7", -1130),
        ] {
            let (sent, refusal) = Request::parse(text).unwrap_err();
            assert_eq!((sent, refusal.code), (id, code), "{text}");
        }
    }

    #[test]
    fn answers_are_written_whole() {
        let used = Used {
            weight: (3, 2_400),
            orders: Some(Counted { ten_seconds: 1, minute: 2 }),
            orders_max: (300, 1_200),
        };
        assert_eq!(
            &*answer("\"x\"", 200, Ok(b"{}"), Some(&used)),
            concat!(
                r#"{"id":"x","status":200,"result":{},"rateLimits":[{"rateLimitType":"REQUEST_WEIGHT","interval":"MINUTE","intervalNum":1,"limit":2400,"count":3},"#,
                r#"{"rateLimitType":"ORDERS","interval":"SECOND","intervalNum":10,"limit":300,"count":1},"#,
                r#"{"rateLimitType":"ORDERS","interval":"MINUTE","intervalNum":1,"limit":1200,"count":2}]}"#
            )
        );
        let error = br#"{"code":-1135,"msg":"x"}"#;
        assert_eq!(
            &*answer("null", 400, Err(error), None),
            r#"{"id":null,"status":400,"error":{"code":-1135,"msg":"x"}}"#
        );
    }
}
