//! Shapes of frames: what clients send, parsed; what they are answered, written.

use super::stream::request::Request;
use ringside_core::command::GRACE_MAX_MS;
use ringside_dialect::spot::decode;
use ringside_streams::envelope::finished;
use ringside_wire::{to_vec, write};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// A frame of a client.
#[derive(Debug, PartialEq, Eq)]
pub enum ClientFrame<'a> {
    /// A request of the stream protocol (`perpetual-stream.md` 2): whatever has a member `method`.
    Request(Request<'a>),
    /// `ping`.
    Ping,
    /// `auth`.
    Auth {
        /// The listen key.
        listen_key: Cow<'a, str>,
    },
    /// `auth_token`.
    AuthToken {
        /// A login token.
        token: Cow<'a, str>,
    },
    /// `auth_eip712`.
    AuthSignature {
        /// Wallet.
        address: Cow<'a, str>,
        /// As issued.
        nonce: Cow<'a, str>,
        /// Hex.
        signature: Cow<'a, str>,
        /// Of what was signed.
        version: Option<u64>,
    },
    /// `subscribe`.
    Subscribe {
        /// Name of the channel.
        channel: Cow<'a, str>,
        /// A login token for this subscription alone.
        token: Option<Cow<'a, str>>,
        /// Whether numbers are wanted.
        resume: bool,
        /// The number to go on behind.
        from: Option<u64>,
    },
    /// `cancel_on_disconnect`.
    CancelOnDisconnect {
        /// Of one symbol, or all.
        symbol: Option<Cow<'a, str>>,
        /// The grace; `None` to disarm.
        grace_ms: Option<u32>,
    },
    /// `unsubscribe`.
    Unsubscribe {
        /// Name of the channel.
        channel: Cow<'a, str>,
    },
}

/// Why a text is no frame, for people.
pub type Malformed = &'static str;

/// Members as they are sent. What a member must be depends on the type, so all are raw first.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Members<'a> {
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    symbol: Option<&'a RawValue>,
    #[serde(rename = "type")]
    frame_type: Option<&'a RawValue>,
    #[serde(rename = "listenKey")]
    listen_key: Option<&'a RawValue>,
    token: Option<&'a RawValue>,
    address: Option<&'a RawValue>,
    nonce: Option<&'a RawValue>,
    signature: Option<&'a RawValue>,
    version: Option<&'a RawValue>,
    channel: Option<&'a RawValue>,
    resume: Option<&'a RawValue>,
    from: Option<&'a RawValue>,
    enabled: Option<&'a RawValue>,
    grace_ms: Option<&'a RawValue>,
}

impl<'a> ClientFrame<'a> {
    /// Reads a text frame.
    pub fn parse(text: &'a str) -> Result<ClientFrame<'a>, Malformed> {
        if !text.trim_start().starts_with('{') {
            return Err("a frame is a JSON object");
        }
        let members: Members<'a> = serde_json::from_str(text).map_err(|_| "a frame is a JSON object")?;
        if let Some(method) = members.method {
            let text = |value: &'a RawValue| value.get();
            let (params, id) = (members.params.map(text), members.id.map(text));
            return Ok(ClientFrame::Request(Request { method: method.get(), params, id }));
        }
        let frame_type = required(members.frame_type, "`type` must be a string")?;
        let channel = || -> Result<Cow<'a, str>, Malformed> {
            let channel = required(members.channel, "`channel` must be a string")?;
            if &*channel != "orderbook" || members.symbol.is_none() {
                return Ok(channel);
            }
            let symbol = required(members.symbol, "`symbol` must be a string")?;
            Ok(format!("{channel}:{symbol}").into())
        };
        Ok(match &*frame_type {
            "ping" => ClientFrame::Ping,
            "auth" => ClientFrame::Auth {
                listen_key: required(members.listen_key, "`listenKey` must be a string")?,
            },
            "auth_token" => {
                ClientFrame::AuthToken { token: required(members.token, "`token` must be a string")? }
            }
            "auth_eip712" => ClientFrame::AuthSignature {
                address: required(members.address, "`address` must be a string")?,
                nonce: required(members.nonce, "`nonce` must be a string")?,
                signature: required(members.signature, "`signature` must be a string")?,
                version: optional(members.version, "`version` must be a whole number")?,
            },
            "subscribe" => ClientFrame::Subscribe {
                channel: channel()?,
                token: match members.token {
                    Some(_) => Some(required(members.token, "`token` must be a string")?),
                    None => None,
                },
                resume: optional(members.resume, "`resume` must be true or false")?.unwrap_or(false),
                from: optional(members.from, "`from` must be a whole number")?,
            },
            "cancel_on_disconnect" => {
                let enabled = optional(members.enabled, "`enabled` must be true or false")?.unwrap_or(true);
                ClientFrame::CancelOnDisconnect {
                    symbol: match members.symbol {
                        Some(_) => Some(required(members.symbol, "`symbol` must be a string")?),
                        None => None,
                    },
                    grace_ms: if enabled { Some(grace(members.grace_ms)?) } else { None },
                }
            }
            "unsubscribe" => ClientFrame::Unsubscribe { channel: channel()? },
            _ => return Err("unknown `type`"),
        })
    }
}

fn grace(value: Option<&RawValue>) -> Result<u32, Malformed> {
    const RULE: Malformed = "`grace_ms` must be a whole number from 0 to 60000";
    optional(value, RULE)?.filter(|grace_ms| *grace_ms <= GRACE_MAX_MS).ok_or(RULE)
}

fn required<'a>(value: Option<&'a RawValue>, otherwise: Malformed) -> Result<Cow<'a, str>, Malformed> {
    value.and_then(decode::text).ok_or(otherwise)
}

fn optional<'a, T: Deserialize<'a>>(
    value: Option<&'a RawValue>,
    otherwise: Malformed,
) -> Result<Option<T>, Malformed> {
    let Some(value) = value else { return Ok(None) };
    serde_json::from_str(value.get()).map_err(|_| otherwise)
}

/// Codes of error frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// Unknown name, market or interval; a delisted market.
    InvalidChannel,
    /// A private channel without a good credential, or at the end of one.
    AuthRequired,
    /// No frame of the protocol.
    InvalidMessage,
    /// Too many channels.
    TooManySubscriptions,
    /// Too many frames, or more than the address's weight pays for.
    RateLimited,
    /// No market has that name.
    InvalidSymbol,
    /// The engine did not take it.
    Unavailable,
}

impl ErrorCode {
    const fn text(self) -> &'static str {
        match self {
            ErrorCode::InvalidChannel => "INVALID_CHANNEL",
            ErrorCode::AuthRequired => "AUTH_REQUIRED",
            ErrorCode::InvalidMessage => "INVALID_MESSAGE",
            ErrorCode::TooManySubscriptions => "TOO_MANY_SUBSCRIPTIONS",
            ErrorCode::RateLimited => "RATE_LIMITED",
            ErrorCode::InvalidSymbol => "INVALID_SYMBOL",
            ErrorCode::Unavailable => "UNAVAILABLE",
        }
    }
}

/// Answer to `ping`.
pub fn pong(now_ms: i64) -> Utf8Bytes {
    let mut out = b"{\"type\":\"pong\",\"ts\":".to_vec();
    write(&mut out, &now_ms);
    out.push(b'}');
    finished(out)
}

/// Answer to `cancel_on_disconnect` that was carried out. A symbol that names a market needs no escapes.
pub fn armed(symbol: Option<&str>, grace_ms: Option<u32>) -> Utf8Bytes {
    let symbol = symbol.map_or("null".to_owned(), |symbol| format!("\"{symbol}\""));
    let grace = grace_ms.map_or("null".to_owned(), |grace_ms| grace_ms.to_string());
    let is_on = grace_ms.is_some();
    let members = format!("\"enabled\":{is_on},\"grace_ms\":{grace},\"symbol\":{symbol}");
    format!("{{\"type\":\"cancel_on_disconnect\",{members}}}").into()
}

/// Answer to the three ways to authenticate.
pub fn auth_result(outcome: Result<(), &'static str>) -> Utf8Bytes {
    match outcome {
        Ok(()) => Utf8Bytes::from_static("{\"type\":\"auth_result\",\"success\":true,\"message\":null}"),
        Err(message) => {
            format!("{{\"type\":\"auth_result\",\"success\":false,\"message\":\"{message}\"}}").into()
        }
    }
}

/// An error; `channel` as known, whoever wrote it.
pub fn error(code: ErrorCode, message: &str, channel: Option<&str>) -> Utf8Bytes {
    #[derive(serde::Serialize)]
    struct Shape<'a> {
        r#type: &'static str,
        code: &'static str,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        channel: Option<&'a str>,
    }
    let shape = Shape { r#type: "error", code: code.text(), message, channel };
    finished(to_vec(&shape))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_whatever_the_order_of_members() {
        let subscribe = |token: Option<&'static str>, resume, from| ClientFrame::Subscribe {
            channel: "spot:depth:DFUSDT".into(),
            token: token.map(Cow::Borrowed),
            resume,
            from,
        };
        for (text, frame) in [
            (r#"{"type":"ping"}"#, ClientFrame::Ping),
            (r#" {"x":[1,{"type":"auth"}],"type":"ping"} "#, ClientFrame::Ping),
            (r#"{"listenKey":"k\u0041","type":"auth"}"#, ClientFrame::Auth { listen_key: "kA".into() }),
            (r#"{"type":"auth_token","token":"t"}"#, ClientFrame::AuthToken { token: "t".into() }),
            (r#"{"type":"subscribe","channel":"spot:depth:DFUSDT"}"#, subscribe(None, false, None)),
            (
                r#"{"from":7,"resume":true,"token":"t","channel":"spot:depth:DFUSDT","type":"subscribe"}"#,
                subscribe(Some("t"), true, Some(7)),
            ),
            (
                r#"{"type":"subscribe","channel":"spot:depth:DFUSDT","token":null,"resume":null,"from":null}"#,
                subscribe(None, false, None),
            ),
            (r#"{"type":"unsubscribe","channel":""}"#, ClientFrame::Unsubscribe { channel: "".into() }),
            (
                r#"{"type":"unsubscribe","symbol":"btcusdt","channel":"orderbook"}"#,
                ClientFrame::Unsubscribe { channel: "orderbook:btcusdt".into() },
            ),
            (
                r#"{"type":"ping","id":1,"method":"SUBSCRIBE","params":["a"]}"#,
                ClientFrame::Request(Request {
                    method: "\"SUBSCRIBE\"",
                    params: Some("[\"a\"]"),
                    id: Some("1"),
                }),
            ),
        ] {
            assert_eq!(ClientFrame::parse(text), Ok(frame), "{text}");
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        for text in [
            "",
            "ping",
            "null",
            "[]",
            r#"["ping"]"#,
            "{",
            "{}",
            r#"{"type":null}"#,
            r#"{"type":1}"#,
            r#"{"type":"Ping"}"#,
            r#"{"type":"ping"}{"#,
            r#"{"type":"ping","type":"ping"}"#,
            r#"{"type":"auth"}"#,
            r#"{"type":"auth","listenKey":null}"#,
            r#"{"type":"auth_token","token":1}"#,
            r#"{"type":"auth_eip712","address":"a","nonce":"n"}"#,
            r#"{"type":"subscribe"}"#,
            r#"{"type":"subscribe","channel":["spot:depth:DFUSDT"]}"#,
            r#"{"type":"subscribe","channel":"c","token":{}}"#,
            r#"{"type":"subscribe","channel":"c","resume":1}"#,
            r#"{"type":"subscribe","channel":"c","from":-1}"#,
            r#"{"type":"subscribe","channel":"c","from":1.5}"#,
            r#"{"type":"unsubscribe","channel":null}"#,
            r#"{"method":null,"params":[],"id":1}"#,
            r#"{"type":"subscribe","channel":"orderbook","symbol":1}"#,
        ] {
            assert!(ClientFrame::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn frames_are_written_as_specified() {
        assert_eq!(&*pong(1_700_000_000_123), r#"{"type":"pong","ts":1700000000123}"#);
        assert_eq!(
            &*auth_result(Err("token expired")),
            r#"{"type":"auth_result","success":false,"message":"token expired"}"#
        );
        assert_eq!(
            &*error(ErrorCode::InvalidChannel, "unknown channel", Some("a\"b")),
            r#"{"type":"error","code":"INVALID_CHANNEL","message":"unknown channel","channel":"a\"b"}"#
        );
        assert_eq!(
            &*error(ErrorCode::InvalidMessage, "text only", None),
            r#"{"type":"error","code":"INVALID_MESSAGE","message":"text only"}"#
        );
    }
}
