//! Signed requests of the perpetual API (`perpetual.md` 2): making them, and checking them as the bare server does.
//!
//! The check is the signature's alone: no clock, no window, no permission.

use super::api;
use super::wallet::hex;
use anyhow::Result;
use hmac::{Hmac, KeyInit, Mac};
use hyper::http::request::Parts;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// Header of the key.
const KEY: &str = "x-mbx-apikey";
/// What stands before the signature, which is sent last.
const SIGNATURE: &str = "&signature=";

/// An API key and its secret.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Signing {
    /// The key.
    pub key: String,
    /// Its secret.
    pub secret: String,
}

impl Signing {
    /// A signed request, good for a minute from now. Parameters stand in the query.
    pub fn request(&self, method: &str, path: &str, params: &str) -> Result<Vec<u8>> {
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
        let separator = if params.is_empty() { "" } else { "&" };
        let payload = format!("{params}{separator}recvWindow=60000&timestamp={now_ms}");
        let mut mac = Hmac::<Sha256>::new_from_slice(self.secret.as_bytes())?;
        mac.update(payload.as_bytes());
        let signature = hex(&mac.finalize().into_bytes());
        let path = format!("/fapi{path}?{payload}{SIGNATURE}{}", signature.trim_start_matches("0x"));
        let headers = format!("{KEY}: {}\r\ncontent-length: 0\r\n", self.key);
        Ok(api::request_at(method, &path, &headers, None))
    }
}

/// Prepared secrets by key.
pub type Keys = HashMap<Vec<u8>, Hmac<Sha256>>;

/// Prepares secrets, so that a check does not do it again.
pub fn schedules(keys: &[Signing]) -> Result<Keys> {
    let schedule = |signing: &Signing| {
        Ok((signing.key.clone().into_bytes(), Hmac::new_from_slice(signing.secret.as_bytes())?))
    };
    keys.iter().map(schedule).collect()
}

/// Whether the owner of the key in the head signed query and body.
pub fn is_signed(keys: &Keys, head: &Parts, body: &[u8]) -> bool {
    let schedule = head.headers.get(KEY).and_then(|key| keys.get(key.as_bytes()));
    let Some((payload, signature)) = head.uri.query().and_then(|query| query.rsplit_once(SIGNATURE)) else {
        return false;
    };
    let mut sent = [0; 32];
    let Some(schedule) = schedule.filter(|_| from_hex(signature.as_bytes(), &mut sent)) else { return false };
    let mut mac = schedule.clone();
    mac.update(payload.as_bytes());
    mac.update(body);
    mac.verify_slice(&sent).is_ok()
}

/// Reads lower-case hex that fills `bytes`.
fn from_hex(text: &[u8], bytes: &mut [u8]) -> bool {
    let digit = |letter: u8| match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'a'..=b'f' => Some(letter - b'a' + 10),
        _ => None,
    };
    text.len() == 2 * bytes.len()
        && bytes.iter_mut().zip(text.chunks_exact(2)).all(|(byte, pair)| {
            digit(pair[0]).zip(digit(pair[1])).map(|(high, low)| *byte = high << 4 | low).is_some()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head_of(request: &[u8]) -> Parts {
        let text = std::str::from_utf8(request).expect("requests are text");
        let (line, headers) = text.split_once("\r\n").expect("a head");
        let mut request = hyper::Request::builder().uri(line.split(' ').nth(1).expect("a path"));
        for (name, value) in headers.lines().filter_map(|line| line.split_once(": ")) {
            request = request.header(name, value);
        }
        request.body(()).expect("a request").into_parts().0
    }

    #[test]
    fn what_is_made_is_signed_and_nothing_else_is() {
        let signing = Signing { key: "key".to_owned(), secret: "secret".to_owned() };
        let other = Signing { secret: "another".to_owned(), ..signing.clone() };
        let keys = schedules(std::slice::from_ref(&signing)).expect("any secret");
        let head = head_of(&signing.request("POST", "/v1/order", "a=1").expect("a clock"));
        assert!(is_signed(&keys, &head, b""));
        assert!(!is_signed(&keys, &head, b"b=2"));
        assert!(!is_signed(
            &keys,
            &head_of(&other.request("POST", "/v1/order", "a=1").expect("a clock")),
            b""
        ));
        assert!(!is_signed(&Keys::new(), &head, b""));
    }
}
