//! Bodies of commands and events as JSON, read from their own text (`Debug`): every field there is, without a second list of
//! them. Integers that a JSON number cannot hold exactly stand as strings, arrays of bytes as text or hex.

use serde_json::{Map, Value};

/// The widest integer that every reader of JSON takes exactly.
const EXACT: i128 = 1 << 53;
/// Arrays of bytes from this length on are texts, hashes or addresses ...
const BYTES: usize = 8;
/// ... but for those of numbers which may happen to be small.
const NUMBERS: [&str; 3] = ["caps", "leverages", "rates"];

/// The first structure in a text, whatever stands before it; null where there is none.
pub(super) fn body(text: &str) -> Value {
    let Some(brace) = text.find('{') else { return Value::Null };
    Parser { rest: &text[brace..] }.value()
}

/// A text (`Debug`) with its arrays of bytes as what they stand for: names in quotes, the rest as hex.
pub(super) fn named(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((array, behind)) = after.split_once(']') else { break };
        let bytes: Option<Vec<u8>> = array.split(", ").map(|byte| byte.parse().ok()).collect();
        let field = before.trim_end_matches([':', ' ']).rsplit([' ', '{']).next();
        let is_bytes = !field.is_some_and(|field| NUMBERS.contains(&field));
        shown += before;
        match bytes.filter(|bytes| is_bytes && bytes.len() >= BYTES).map(|bytes| of_bytes(&bytes)) {
            Some(hex) if hex.starts_with("0x") => shown += &hex,
            Some(name) => shown += &format!("{name:?}"),
            None => shown += &format!("[{array}]"),
        }
        rest = behind;
    }
    shown + rest
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\n', ',']);
    }

    fn take(&mut self, letter: char) -> bool {
        self.space();
        match self.rest.strip_prefix(letter) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn word(&mut self) -> &'a str {
        self.space();
        let end = self.rest.find(|letter: char| !letter.is_alphanumeric() && !"_-.+".contains(letter));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn value(&mut self) -> Value {
        if self.take('{') {
            return self.fields();
        }
        if self.take('[') {
            return self.list(true);
        }
        let word = self.word();
        if self.rest.trim_start().starts_with('{') {
            return self.value();
        }
        if self.take('(') {
            // One value in a wrapper: the value.
            let value = self.value();
            self.take(')');
            return value;
        }
        match word.parse::<i128>() {
            Ok(number) if (-EXACT..=EXACT).contains(&number) => Value::from(number as i64),
            Ok(number) => Value::from(number.to_string()),
            Err(_) => match word {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                "" | "None" => {
                    // Something else: passed over, so that this ends.
                    self.rest = self.rest.get(1..).unwrap_or("");
                    Value::Null
                }
                word => Value::from(word),
            },
        }
    }

    fn fields(&mut self) -> Value {
        let mut fields = Map::new();
        while !self.take('}') && !self.rest.is_empty() {
            let name = self.word().to_owned();
            self.take(':');
            let value = match NUMBERS.contains(&name.as_str()) && self.take('[') {
                true => self.list(false),
                false => self.value(),
            };
            fields.insert(name, value);
        }
        Value::Object(fields)
    }

    fn list(&mut self, may_be_bytes: bool) -> Value {
        let mut values = Vec::new();
        while !self.take(']') && !self.rest.is_empty() {
            values.push(self.value());
        }
        let bytes: Option<Vec<u8>> =
            values.iter().map(|value| value.as_u64().and_then(|byte| u8::try_from(byte).ok())).collect();
        match bytes.filter(|bytes| may_be_bytes && bytes.len() >= BYTES) {
            Some(bytes) => Value::from(of_bytes(&bytes)),
            None => Value::Array(values),
        }
    }
}

/// Text that is padded with zeros, else hex.
fn of_bytes(bytes: &[u8]) -> String {
    let len = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (text, padding) = bytes.split_at(len);
    let is_text = |byte: &u8| *byte == b' ' || byte.is_ascii_graphic();
    if padding.iter().all(|byte| *byte == 0) && text.iter().all(is_text) {
        return String::from_utf8_lossy(text).into_owned();
    }
    const_hex::encode_prefixed(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringside_core::command::{Command, CreateAccount, Credit, SetBrackets};
    use serde_json::json;

    fn of<B: ringside_core::command::Body>(body_of: B) -> Value {
        body(&format!("{:?}", Command::new(body_of)))
    }

    #[test]
    fn bodies_as_they_are() {
        let address = [0xab; 20];
        assert_eq!(
            of(CreateAccount { address, reserved: 0 })["address"],
            json!(const_hex::encode_prefixed(address))
        );
        let amount = 3 * 10_i128.pow(30);
        let credit = Credit {
            amount: amount.into(),
            asset: ringside_core::ids::padded("USDT").unwrap(),
            ..zerocopy::FromZeros::new_zeroed()
        };
        let shown = of(credit);
        assert_eq!((&shown["asset"], &shown["amount"]), (&json!("USDT"), &json!(amount.to_string())));
        let brackets =
            SetBrackets { market: 7, count: 2, caps: [-5; 8], leverages: [1_000; 8], rates: [3; 8] };
        let shown = of(brackets);
        assert_eq!((&shown["market"], &shown["caps"]), (&json!(7), &json!([-5, -5, -5, -5, -5, -5, -5, -5])));
        assert_eq!(shown["leverages"], json!(vec![1_000; 8]));
        assert_eq!(shown["rates"], json!([3, 3, 3, 3, 3, 3, 3, 3]), "small numbers are no bytes");
    }

    #[test]
    fn text_shows_names_as_names() {
        let credit = Credit {
            address: [0xab; 20],
            reason: ringside_core::ids::padded("two words").unwrap(),
            asset: ringside_core::ids::padded("USDT").unwrap(),
            ..zerocopy::FromZeros::new_zeroed()
        };
        let shown = named(&format!("{:?}", Command::new(credit)));
        assert!(
            shown.contains(r#"asset: "USDT""#)
                && shown.contains(r#"reason: "two words""#)
                && shown.contains(&"ab".repeat(20)),
            "{shown}"
        );
        assert!(!shown.contains("85, 83"), "{shown}");
        let brackets = SetBrackets { market: 7, count: 2, caps: [5; 8], leverages: [9; 8], rates: [3; 8] };
        let text = format!("{:?}", Command::new(brackets));
        assert_eq!(named(&text), text, "small numbers are no bytes");
        for text in ["", "[", "]", "[1, 2", "a: [1, x]", "{ reserved: [0, 0, 0] }", "[]"] {
            assert_eq!(named(text), text);
        }
    }

    #[test]
    fn broken_text_ends() {
        for text in ["{", "{a", "{a:", "{a: [1, 2", "{a: (", "{a: \"x\"}", "no brace", "{: : }"] {
            body(text);
        }
    }
}
