//! Signed requests of the `/fapi` dialect: timestamp, window and HMAC-SHA256 over query and body (`perpetual.md` 2).
//!
//! Who the key belongs to is the business of [`super::Authenticator`]; what the other parameters mean, the dialect's.

use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, percent_decode, percent_encode};
use ringside_wire::fault::SignatureError;
use ringside_wire::form;
use sha2::Sha256;
use std::borrow::Cow;

/// Milliseconds a timestamp may lie behind where no window is sent.
const WINDOW_DEFAULT_MS: i64 = 5_000;
/// The widest window.
const WINDOW_MAX_MS: i64 = 60_000;
/// A timestamp this far ahead of the server's clock is refused.
pub(super) const AHEAD_MS: i64 = 1_000;
/// What stays as it is when a value is encoded: letters, digits and `-_.~`.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// An API secret, ready to sign. Holds the key schedule only, and shows nothing of it.
#[derive(Clone)]
pub struct Signer(Hmac<Sha256>);

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer")
    }
}

impl Signer {
    /// Of a secret.
    pub fn new(secret: &[u8]) -> Signer {
        match Hmac::new_from_slice(secret) {
            Ok(mac) => Signer(mac),
            Err(_) => unreachable!("HMAC takes keys of any length"),
        }
    }

    /// The signature of a text: what a client sends.
    pub fn sign(&self, payload: &[u8]) -> [u8; 32] {
        let mut mac = self.0.clone();
        mac.update(payload);
        mac.finalize().into_bytes().into()
    }

    /// Whether `signature` is that of `payload`, in constant time.
    fn verifies(&self, payload: [&[u8]; 4], signature: &[u8; 32]) -> bool {
        let mut mac = self.0.clone();
        payload.into_iter().for_each(|part| mac.update(part));
        mac.verify_slice(signature).is_ok()
    }
}

/// The parts of a request that concern its signature. What is not sent is empty.
#[derive(Clone, Copy, Debug)]
pub struct SignedRequest<'a> {
    /// Query and body without the signature, each as what stands before and after it.
    signed: [[&'a [u8]; 2]; 2],
    timestamp_ms: i64,
    window_ms: i64,
    signature: [u8; 32],
}

/// Whether any parameter of a signed request is sent.
pub fn is_any_sent(query: &str, body: &[u8]) -> bool {
    let is_sent = |text| SignatureParams::of(text).found.iter().any(|found| !matches!(found, Found::Nowhere));
    is_sent(query.as_bytes()) || is_sent(body)
}

impl<'a> SignedRequest<'a> {
    /// Reads timestamp, signature and window, in this order; a parameter in the query counts before one in the body.
    pub fn read(query: &'a str, body: &'a [u8]) -> Result<SignedRequest<'a>, SignatureError> {
        let sent = [SignatureParams::of(query.as_bytes()), SignatureParams::of(body)];
        let value = |index: usize| -> Result<Option<Cow<'a, [u8]>>, SignatureError> {
            let found = match sent[0].found[index] {
                Found::Nowhere => sent[1].found[index],
                found => found,
            };
            match found {
                Found::Twice => Err(SignatureError::Twice(SEALS[index])),
                Found::Once(value) if !value.is_empty() => Ok(Some(decode(value))),
                Found::Once(_) | Found::Nowhere => Ok(None),
            }
        };
        let timestamp_ms = value(TIMESTAMP)?
            .and_then(|digits| integer(&digits))
            .ok_or(SignatureError::Mandatory("timestamp"))?;
        let text = value(SIGNATURE)?.ok_or(SignatureError::Mandatory("signature"))?;
        let mut signature = [0; 32];
        // The decoder would take a prefix of its own.
        if text.len() != 64 || const_hex::decode_to_slice(&*text, &mut signature).is_err() {
            return Err(SignatureError::Mandatory("signature"));
        }
        let window_ms = match value(WINDOW)? {
            None => WINDOW_DEFAULT_MS,
            Some(digits) => integer(&digits)
                .filter(|window| (1..=WINDOW_MAX_MS).contains(window))
                .ok_or(SignatureError::NotValid("recvWindow"))?,
        };
        Ok(SignedRequest { signed: sent.map(|sent| sent.signed), timestamp_ms, window_ms, signature })
    }

    /// When it says it was signed, UNIX milliseconds.
    pub fn timestamp_ms(&self) -> i64 {
        self.timestamp_ms
    }

    /// The last time at which it counts.
    pub fn end_ms(&self) -> i64 {
        self.timestamp_ms.saturating_add(self.window_ms)
    }

    /// Its signature, whatever case it was sent in.
    pub fn signature(&self) -> &[u8; 32] {
        &self.signature
    }

    /// Checks when it was made, then that the owner of the secret made it. `now_ms` is when it was fully read.
    pub fn check(&self, signer: &Signer, now_ms: i64) -> Result<(), SignatureError> {
        if self.timestamp_ms >= now_ms.saturating_add(AHEAD_MS) {
            return Err(SignatureError::Ahead);
        }
        if now_ms - self.timestamp_ms > self.window_ms {
            return Err(SignatureError::Late);
        }
        if self.is_signed_by(signer) { Ok(()) } else { Err(SignatureError::Signature) }
    }

    /// Whether the signature matches the payload as sent, decoded, or with its values encoded again.
    fn is_signed_by(&self, signer: &Signer) -> bool {
        let [query, body] = self.signed;
        if signer.verifies([query[0], query[1], body[0], body[1]], &self.signature) {
            return true;
        }
        let sent = [query.concat(), body.concat()];
        let raw = sent.each_ref().map(|text| rewritten(text, |value, out| out.extend_from_slice(value)));
        if signer.verifies([&raw[0], &[], &raw[1], &[]], &self.signature) {
            return true;
        }
        let encoded = sent
            .each_ref()
            .map(|text| rewritten(text, |value, out| out.extend(encoded(value).flat_map(str::bytes))));
        signer.verifies([&encoded[0], &[], &encoded[1], &[]], &self.signature)
    }
}

/// A value, or a name, as it stands in a query.
pub fn encoded(value: &[u8]) -> PercentEncode<'_> {
    percent_encode(value, VALUE)
}

/// What makes a request a signed one.
const SEALS: [&str; 3] = ["timestamp", "signature", "recvWindow"];
const TIMESTAMP: usize = 0;
const SIGNATURE: usize = 1;
const WINDOW: usize = 2;

/// Where a parameter stands in one text.
#[derive(Clone, Copy)]
enum Found<'a> {
    Nowhere,
    /// Its value as sent.
    Once(&'a [u8]),
    Twice,
}

/// What one text says of its signature, found in one pass.
struct SignatureParams<'a> {
    /// The parameters of [`SEALS`].
    found: [Found<'a>; 3],
    /// The text without its first `signature` pair and one `&` beside it, as what stands before and after.
    signed: [&'a [u8]; 2],
}

impl<'a> SignatureParams<'a> {
    fn of(text: &'a [u8]) -> SignatureParams<'a> {
        let mut found = [Found::Nowhere; 3];
        let mut signed = None;
        for pair in form::pairs(text) {
            let name = &text[pair.name()];
            let Some(index) = SEALS.iter().position(|seal| seal.as_bytes() == name) else { continue };
            let value = pair.value().map_or(&[][..], |value| &text[value]);
            if index == SIGNATURE && pair.value().is_some() && signed.is_none() {
                signed = Some(match pair.start {
                    0 => [&[], text.get(pair.end + 1..).unwrap_or(&[])],
                    start => [&text[..start - 1], &text[pair.end..]],
                });
            }
            found[index] = match found[index] {
                Found::Nowhere => Found::Once(value),
                Found::Once(_) | Found::Twice => Found::Twice,
            };
        }
        SignatureParams { found, signed: signed.unwrap_or([text, &[]]) }
    }
}

/// The pairs of `text` with each value decoded and then written by `write`.
fn rewritten(text: &[u8], write: impl Fn(&[u8], &mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 2);
    if text.is_empty() {
        return out;
    }
    for (index, pair) in text.split(|byte| *byte == b'&').enumerate() {
        if index > 0 {
            out.push(b'&');
        }
        match pair.iter().position(|byte| *byte == b'=') {
            None => out.extend_from_slice(&decode(pair)),
            Some(at) => {
                out.extend_from_slice(&decode(&pair[..at]));
                out.push(b'=');
                write(&decode(&pair[at + 1..]), &mut out);
            }
        }
    }
    out
}

/// Percent-decoded, `+` a space.
fn decode(value: &[u8]) -> Cow<'_, [u8]> {
    if form::is_literal(value) {
        return Cow::Borrowed(value);
    }
    let spaced: Vec<u8> = value.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    Cow::Owned(percent_decode(&spaced).collect())
}

/// 1 to 19 digits; more than 63 bits hold is a time that never comes.
fn integer(digits: &[u8]) -> Option<i64> {
    let is_integer = (1..=19).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    // 19 digits are less than 64 bits hold.
    let value = || digits.iter().fold(0_u64, |value, digit| value * 10 + u64::from(digit - b'0'));
    is_integer.then(|| i64::try_from(value()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "7Qb2nLw9XfT4vKc1sRj8ZpYd5HgM3eAu6WoNi0BtCxVkDrFqEyGlSmPzJhUaI4O2";
    const NOW_MS: i64 = 1_700_000_000_000;
    const ORDER: &str = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.010&price=9000&recvWindow=5000&timestamp=1700000000000";
    const ORDER_SIGNATURE: &str = "0e1cc644ce27f1667778021b89ca6ae7f31ea80c6b79ca059bce9bbe564d5b98";
    const BATCH: &str = "batchOrders=[{\"symbol\":\"BTCUSDT\",\"side\":\"BUY\",\"type\":\"LIMIT\",\"timeInForce\":\"GTC\",\"quantity\":\"0.010\",\"price\":\"9000\"}]&timestamp=1700000000000";
    const BATCH_ENCODED: &str = "batchOrders=%5B%7B%22symbol%22%3A%22BTCUSDT%22%2C%22side%22%3A%22BUY%22%2C%22type%22%3A%22LIMIT%22%2C%22timeInForce%22%3A%22GTC%22%2C%22quantity%22%3A%220.010%22%2C%22price%22%3A%229000%22%7D%5D&timestamp=1700000000000";
    const BATCH_RAW_SIGNATURE: &str = "859f64629df25c953c11f8fe0025175183b18bcdf97340ba9334a6ad8b478af8";
    const BATCH_ENCODED_SIGNATURE: &str = "69573a64075dd7d6277b7293c57fcd3841aa14ab991aacae13945120e56fc13d";

    fn check_at(query: &str, body: &str, now_ms: i64) -> Result<(), SignatureError> {
        SignedRequest::read(query, body.as_bytes())?.check(&Signer::new(SECRET.as_bytes()), now_ms)
    }

    fn check(query: &str, body: &str) -> Result<(), SignatureError> {
        check_at(query, body, NOW_MS)
    }

    #[test]
    fn the_vectors_of_the_specification() {
        let signed = format!("{ORDER}&signature={ORDER_SIGNATURE}");
        assert_eq!(check(&signed, ""), Ok(()));
        assert_eq!(check("", &signed), Ok(()));
        assert_eq!(
            check("", &signed.to_uppercase().replace("SIGNATURE", "signature")),
            Err(SignatureError::Mandatory("timestamp"))
        );
        let query = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC";
        let body = "quantity=0.010&price=9000&recvWindow=5000&timestamp=1700000000000";
        let signature = "1668527e8865fb61d0737f66870fa412de159ff3902d5fe2e59feef5d68d96f0";
        assert_eq!(check(query, &format!("{body}&signature={signature}")), Ok(()));
        assert_eq!(check(&format!("{query}&signature={signature}"), body), Ok(()));
        assert_eq!(check(&format!("signature={}&{query}", signature.to_uppercase()), body), Ok(()));
        let listen = "8a7973e537c9dd0d57a8f58cd8380c96797cdd59b8b951a04690f73830c07d7a";
        assert_eq!(check(&format!("timestamp=1700000000000&signature={listen}"), ""), Ok(()));
        assert_eq!(check("timestamp=1700000000000", &format!("signature={listen}")), Ok(()));
    }

    #[test]
    fn raw_and_encoded_payloads_match_either_way_they_are_sent() {
        for sent in [BATCH, BATCH_ENCODED] {
            for signature in [BATCH_RAW_SIGNATURE, BATCH_ENCODED_SIGNATURE] {
                assert_eq!(check("", &format!("{sent}&signature={signature}")), Ok(()), "{sent} {signature}");
                assert_eq!(check(&format!("signature={signature}&{sent}"), ""), Ok(()));
            }
        }
        // One character less is another payload in every form.
        let cut = BATCH.replace("0.010", "0.01");
        assert_eq!(
            check("", &format!("{cut}&signature={BATCH_RAW_SIGNATURE}")),
            Err(SignatureError::Signature)
        );
    }

    #[test]
    fn the_signature_is_taken_out_wherever_it_stands() {
        for (text, expected) in [
            ("a=1&signature=ff&b=2", "a=1&b=2"),
            ("signature=ff&b=2", "b=2"),
            ("a=1&signature=ff", "a=1"),
            ("signature=ff", ""),
            ("a=signature=1&xsignature=2", "a=signature=1&xsignature=2"),
            ("", ""),
        ] {
            assert_eq!(SignatureParams::of(text.as_bytes()).signed.concat(), expected.as_bytes(), "{text}");
        }
    }

    #[test]
    fn what_is_missing_malformed_or_twice() {
        let signature = format!("signature={ORDER_SIGNATURE}");
        for (query, body, refusal) in [
            ("", "", SignatureError::Mandatory("timestamp")),
            ("timestamp=", "", SignatureError::Mandatory("timestamp")),
            ("timestamp=17e9", "", SignatureError::Mandatory("timestamp")),
            ("timestamp=1&timestamp=1", "", SignatureError::Twice("timestamp")),
            ("timestamp=1", "", SignatureError::Mandatory("signature")),
            ("timestamp=1&signature=abc", "", SignatureError::Mandatory("signature")),
            ("timestamp=1&recvWindow=0", signature.as_str(), SignatureError::NotValid("recvWindow")),
            ("timestamp=1&recvWindow=60001", signature.as_str(), SignatureError::NotValid("recvWindow")),
            ("timestamp=1&recvWindow=x", signature.as_str(), SignatureError::NotValid("recvWindow")),
        ] {
            assert_eq!(check(query, body), Err(refusal), "{query} {body}");
        }
        // An empty window counts as none; the query counts before the body.
        let both = format!("timestamp=1&{signature}&recvWindow=");
        assert_eq!(check(&both, "recvWindow=0&timestamp=1700000000000"), Err(SignatureError::Late));
    }

    #[test]
    fn the_window_is_open_ahead_and_closed_behind() {
        let signed = format!("{ORDER}&signature={ORDER_SIGNATURE}");
        assert_eq!(check_at(&signed, "", NOW_MS + 5_000), Ok(()));
        assert_eq!(check_at(&signed, "", NOW_MS + 5_001), Err(SignatureError::Late));
        assert_eq!(check_at(&signed, "", NOW_MS - 999), Ok(()));
        assert_eq!(check_at(&signed, "", NOW_MS - 1_000), Err(SignatureError::Ahead));
    }

    #[test]
    #[expect(clippy::print_stdout, reason = "a skipped test says so")]
    fn recorded_vectors_of_another_exchange() {
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/signing-vectors/binance_hmac.json");
        let Ok(text) = std::fs::read_to_string(path) else {
            println!("skipped: {path} is not there");
            return;
        };
        let vectors: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        for vector in &vectors {
            let field = |name: &str| vector[name].as_str().unwrap().to_owned();
            let payload = field("payload");
            let (_, timestamp) = payload.split_once("timestamp=").unwrap();
            let now_ms = timestamp.split('&').next().unwrap().parse().unwrap();
            let request = format!("{payload}&signature={}", field("signature"));
            let request = SignedRequest::read(&request, b"").unwrap();
            assert_eq!(
                request.check(&Signer::new(field("example_secret").as_bytes()), now_ms),
                Ok(()),
                "{vector}"
            );
        }
        assert_eq!(vectors.len(), 5);
    }
}
