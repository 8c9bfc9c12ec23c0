//! A WebSocket client of the tests: the protocol library on a blocking socket, nothing of the exchange's own code.

use super::{Exchange, PATIENCE};
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tokio_tungstenite::tungstenite::client::client_with_config;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes, WebSocket};

/// See the module.
pub(crate) struct Socket {
    /// The library's client.
    pub(crate) inner: WebSocket<TcpStream>,
    pings: u64,
}

/// How a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With a close frame of the server: code and reason.
    Closed(u16, String),
    /// Without.
    Cut,
}

impl Socket {
    /// A connection that has just been upgraded.
    pub(crate) fn open(exchange: &Exchange) -> Socket {
        Socket::over(TcpStream::connect(exchange.address()).expect("a connection"))
    }

    /// A connection that was upgraded at this path, query included.
    pub(crate) fn at(exchange: &Exchange, path: &str) -> Socket {
        Socket::upgraded(TcpStream::connect(exchange.address()).expect("a connection"), path)
    }

    /// The same over a connection of one's own.
    pub(crate) fn over(stream: TcpStream) -> Socket {
        Socket::upgraded(stream, "/ws")
    }

    /// The same at a path.
    pub(crate) fn upgraded(stream: TcpStream, path: &str) -> Socket {
        stream.set_nodelay(true).expect("no delay");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let (inner, answer) =
            client_with_config(format!("ws://ringside{path}"), stream, None).expect("an upgrade");
        assert_eq!(answer.status(), 101);
        Socket { inner, pings: 0 }
    }

    /// Sends a text frame.
    pub(crate) fn send(&mut self, text: &str) {
        self.inner.send(Message::text(text)).expect("it is sent");
    }

    /// Subscribes, and returns the answers up to the acknowledgement or the error.
    pub(crate) fn subscribe(&mut self, channel: &str) -> Value {
        self.send(&format!(r#"{{"type":"subscribe","channel":"{channel}"}}"#));
        self.next()
    }

    /// The next text frame.
    pub(crate) fn next_text(&mut self) -> String {
        match self.try_next(PATIENCE) {
            Ok(Some(text)) => text,
            other => panic!("no frame in time: {other:?}"),
        }
    }

    /// The next text frame as JSON.
    pub(crate) fn next(&mut self) -> Value {
        serde_json::from_str(&self.next_text()).expect("JSON")
    }

    /// The next text frame within a while; the end of the connection as an error.
    pub(crate) fn try_next(&mut self, patience: Duration) -> Result<Option<String>, End> {
        let begin = Instant::now();
        loop {
            let left = patience.saturating_sub(begin.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            self.inner.get_ref().set_read_timeout(Some(left)).expect("a timeout");
            if let Some(Message::Text(text)) = self.read()? {
                return Ok(Some(text.to_string()));
            }
        }
    }

    /// Sends a text and gives all that it is answered with.
    pub(crate) fn ask(&mut self, text: &str) -> Vec<Value> {
        self.send(text);
        // Answers come in the order of the frames: this one's, which is of no other's form, ends those of the text.
        self.pings += 1;
        let mark = format!("mark {}", self.pings);
        self.send(&json!({ "type": "unsubscribe", "channel": mark }).to_string());
        let mut answers = Vec::new();
        loop {
            match self.next() {
                answer if answer["channel"] == *mark => return answers,
                answer => answers.push(answer),
            }
        }
    }

    /// Every text frame that was on its way when this was called.
    pub(crate) fn drain(&mut self) -> Result<Vec<String>, End> {
        let mut texts = Vec::new();
        // The first answer says that the server's thread has run since; what waited for that thread stands before the second,
        // unless this client was so quick that the server read its second question in the same turn.
        for _ in 0..3 {
            self.pings += 1;
            let payload = self.pings.to_be_bytes();
            if self.inner.send(Message::Ping(payload.to_vec().into())).is_err() {
                // The connection ends; why, the rest of the stream tells.
                loop {
                    if let Some(Message::Text(text)) = self.read()? {
                        texts.push(text.to_string());
                    }
                }
            }
            self.inner.get_ref().set_read_timeout(Some(PATIENCE)).expect("a timeout");
            loop {
                match self.read()? {
                    Some(Message::Pong(pong)) if pong[..] == payload => break,
                    Some(Message::Text(text)) => texts.push(text.to_string()),
                    Some(_) => {}
                    None => panic!("no pong in time"),
                }
            }
        }
        Ok(texts)
    }

    /// Reads until the connection ends.
    pub(crate) fn end(&mut self) -> End {
        loop {
            match self.try_next(PATIENCE) {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the connection goes on"),
                Err(end) => return end,
            }
        }
    }

    fn read(&mut self) -> Result<Option<Message>, End> {
        match self.inner.read() {
            Ok(Message::Close(frame)) => {
                // A client that closes without a code is answered without one, which has a number for itself (RFC 6455, 7.1.5).
                let without = CloseFrame { code: 1005.into(), reason: Utf8Bytes::default() };
                let CloseFrame { code, reason } = frame.unwrap_or(without);
                // The answer to it leaves with the next call.
                let _ = self.inner.flush();
                Err(End::Closed(code.into(), reason.to_string()))
            }
            Ok(message) => Ok(Some(message)),
            Err(Error::Io(error)) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Ok(None)
            }
            Err(_) => Err(End::Cut),
        }
    }
}

/// What `spot.md` 11 and `perpetual-stream.md` 2 ask of a text frame, judged by another reading of the JSON than the server's.
pub(crate) fn is_well_formed(text: &str) -> bool {
    let Ok(Value::Object(members)) = serde_json::from_str::<Value>(text) else { return false };
    let is_text = |name: &str| members.get(name).is_some_and(Value::is_string);
    let is_or_null = |name: &str, good: fn(&Value) -> bool| {
        members.get(name).is_none_or(|value| value.is_null() || good(value))
    };
    if members.get("method").is_some_and(|method| !method.is_null()) {
        return true;
    }
    // The long form of the one channel that has two.
    let is_whole =
        members.get("channel") != Some(&json!("orderbook")) || is_or_null("symbol", Value::is_string);
    match members.get("type").and_then(Value::as_str) {
        Some("ping") => true,
        Some("auth") => is_text("listenKey"),
        Some("auth_token") => is_text("token"),
        Some("auth_eip712") => is_text("address") && is_text("nonce") && is_text("signature"),
        Some("subscribe") => {
            is_text("channel")
                && is_whole
                && is_or_null("token", Value::is_string)
                && is_or_null("resume", Value::is_boolean)
                && is_or_null("from", Value::is_u64)
        }
        Some("unsubscribe") => is_text("channel") && is_whole,
        Some("cancel_on_disconnect") => {
            let is_grace = |grace: &Value| grace.as_u64().is_some_and(|grace| grace <= 60_000);
            is_or_null("symbol", Value::is_string)
                && is_or_null("enabled", Value::is_boolean)
                && (members.get("enabled") == Some(&Value::Bool(false))
                    || members.get("grace_ms").is_some_and(is_grace))
        }
        _ => false,
    }
}
