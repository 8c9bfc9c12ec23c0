//! Requests of the stream protocol (`perpetual-stream.md` 2) and their answers, as text. What they change is elsewhere.

use serde_json::{Value, json};
use std::borrow::Cow;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Characters of an id that is a string.
const ID_LEN_MAX: usize = 36;

/// A request as it was sent: members are JSON texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// `method`.
    pub method: &'a str,
    /// `params`.
    pub params: Option<&'a str>,
    /// `id`.
    pub id: Option<&'a str>,
}

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Streams of these names.
    Subscribe(Vec<String>),
    /// No longer streams of these names.
    Unsubscribe(Vec<String>),
    /// The names.
    List,
    /// Whether events come in the wrapper.
    SetCombined(bool),
    /// The same, asked.
    IsCombined,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    code: u32,
    msg: Cow<'static, str>,
}

const fn fault(code: u32, msg: &'static str) -> Fault {
    Fault { code, msg: Cow::Borrowed(msg) }
}

/// Not what the method takes.
const PARAMS: Fault = fault(2, "Invalid request: invalid params");
/// Neither an unsigned integer nor a short string.
const ID: Fault =
    fault(2, "Invalid request: request ID must be an unsigned integer or a string of at most 36 characters");
/// There is one property.
const PROPERTY: Fault = fault(0, "Unknown property");
/// It is true or false.
const PROPERTY_VALUE: Fault = fault(1, "Invalid value type: expected Boolean");
/// More streams than a connection may have.
pub const TOO_MANY: Fault = fault(2, "Invalid request: too many parameters");

impl<'a> Request<'a> {
    /// The id to answer with, and what is asked for.
    pub fn read(&self) -> (&'a str, Result<Action, Fault>) {
        match self.id.map_or(Some("null"), usable_id) {
            Some(id) => (id, self.action()),
            None => ("null", Err(ID)),
        }
    }

    fn action(&self) -> Result<Action, Fault> {
        let names = || self.params.and_then(|params| serde_json::from_str(params).ok()).ok_or(PARAMS);
        let method: Value = serde_json::from_str(self.method).unwrap_or_default();
        match method.as_str() {
            Some("SUBSCRIBE") => Ok(Action::Subscribe(names()?)),
            Some("UNSUBSCRIBE") => Ok(Action::Unsubscribe(names()?)),
            Some("LIST_SUBSCRIPTIONS") => Ok(Action::List),
            Some("SET_PROPERTY") => match self.property()? {
                [_, Value::Bool(is_combined), ..] => Ok(Action::SetCombined(is_combined)),
                _ => Err(PROPERTY_VALUE),
            },
            Some("GET_PROPERTY") => self.property().map(|_| Action::IsCombined),
            text => {
                let shown = text.unwrap_or(self.method);
                let msg = format!(
                    "Invalid request: unknown variant {shown}, expected one of SUBSCRIBE, UNSUBSCRIBE, LIST_SUBSCRIPTIONS, SET_PROPERTY, GET_PROPERTY"
                );
                Err(Fault { code: 2, msg: msg.into() })
            }
        }
    }

    /// The property's name, which is good, and its value, null if none is sent.
    fn property(&self) -> Result<[Value; 2], Fault> {
        let params = self.params.and_then(|params| serde_json::from_str::<Vec<Value>>(params).ok());
        let mut params = params.ok_or(PARAMS)?.into_iter();
        match params.next() {
            Some(Value::String(name)) if name == "combined" => {
                Ok([Value::String(name), params.next().unwrap_or_default()])
            }
            Some(Value::String(_)) => Err(PROPERTY),
            _ => Err(PARAMS),
        }
    }
}

/// An id that is repeated as it was sent.
fn usable_id(text: &str) -> Option<&str> {
    let is_good = match serde_json::from_str(text) {
        Ok(Value::Null) => true,
        Ok(Value::Number(number)) => number.is_u64(),
        Ok(Value::String(id)) => id.chars().count() <= ID_LEN_MAX,
        _ => false,
    };
    is_good.then_some(text)
}

/// The answer to a request that was carried out.
pub fn answer(id: &str, result: &Value) -> Utf8Bytes {
    format!("{{\"result\":{result},\"id\":{id}}}").into()
}

/// The answer to a request that is refused, in both shapes that clients read.
pub fn refusal(id: &str, fault: &Fault) -> Utf8Bytes {
    let body =
        json!({ "error": { "code": fault.code, "msg": fault.msg }, "code": fault.code, "msg": fault.msg });
    let body = body.to_string();
    // The id is JSON already, and stands last.
    format!("{},\"id\":{id}}}", &body[..body.len() - 1]).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ws::frame::ClientFrame;

    fn read(text: &str) -> (String, Result<Action, Fault>) {
        let Ok(ClientFrame::Request(request)) = ClientFrame::parse(text) else { panic!("{text}") };
        let (id, action) = request.read();
        (id.to_owned(), action)
    }

    #[test]
    fn requests_are_read() {
        let names = || vec!["btcusdt@depth".to_owned(), "x".to_owned()];
        for (text, id, action) in [
            (
                r#"{"method":"SUBSCRIBE","params":["btcusdt@depth","x"],"id":1}"#,
                "1",
                Action::Subscribe(names()),
            ),
            (
                r#"{"id":"a-\u0041","params":["btcusdt@depth","x"],"method":"UNSUBSCRIBE"}"#,
                r#""a-\u0041""#,
                Action::Unsubscribe(names()),
            ),
            (r#"{"method":"SUBSCRIBE","params":[]}"#, "null", Action::Subscribe(vec![])),
            (
                r#"{"method":"LIST_SUBSCRIPTIONS","id":18446744073709551615}"#,
                "18446744073709551615",
                Action::List,
            ),
            (
                r#"{"method":"SET_PROPERTY","params":["combined",true],"id":null}"#,
                "null",
                Action::SetCombined(true),
            ),
            (r#"{"method":"GET_PROPERTY","params":["combined"],"id":0}"#, "0", Action::IsCombined),
        ] {
            assert_eq!(read(text), (id.to_owned(), Ok(action)), "{text}");
        }
    }

    #[test]
    fn faults_have_both_shapes() {
        let unknown = "Invalid request: unknown variant A\\\"B, expected one of SUBSCRIBE, UNSUBSCRIBE, LIST_SUBSCRIPTIONS, SET_PROPERTY, GET_PROPERTY";
        for (text, id, code, msg) in [
            (r#"{"method":"A\"B","id":7}"#, "7", 2, unknown),
            (r#"{"method":"SUBSCRIBE","id":7}"#, "7", 2, "Invalid request: invalid params"),
            (r#"{"method":"SUBSCRIBE","params":[1],"id":7}"#, "7", 2, "Invalid request: invalid params"),
            (
                r#"{"method":"UNSUBSCRIBE","params":"a","id":"x"}"#,
                "\"x\"",
                2,
                "Invalid request: invalid params",
            ),
            (
                r#"{"method":"SET_PROPERTY","params":["combined"],"id":1}"#,
                "1",
                1,
                "Invalid value type: expected Boolean",
            ),
            (
                r#"{"method":"SET_PROPERTY","params":["combined",1],"id":1}"#,
                "1",
                1,
                "Invalid value type: expected Boolean",
            ),
            (r#"{"method":"SET_PROPERTY","params":["combine",true],"id":1}"#, "1", 0, "Unknown property"),
            (r#"{"method":"GET_PROPERTY","params":["x"],"id":1}"#, "1", 0, "Unknown property"),
            (r#"{"method":"GET_PROPERTY","params":[],"id":1}"#, "1", 2, "Invalid request: invalid params"),
        ] {
            let (sent, action) = read(text);
            let expected = format!(
                r#"{{"code":{code},"error":{{"code":{code},"msg":"{msg}"}},"msg":"{msg}","id":{id}}}"#
            );
            assert_eq!(&*refusal(&sent, &action.unwrap_err()), expected, "{text}");
        }
        for id in ["-1", "1.5", "[1]", "{}", "true", "\"1234567890123456789012345678901234567\""] {
            assert_eq!(
                read(&format!(r#"{{"method":"LIST_SUBSCRIPTIONS","id":{id}}}"#)),
                ("null".to_owned(), Err(ID))
            );
        }
    }
}
