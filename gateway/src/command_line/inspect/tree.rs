//! Bodies of commands and events as JSON, read from their own text (`Debug`): every field there is, without a second list of
//! them. Integers that a JSON number cannot hold exactly stand as strings, arrays of bytes as text or hex.

use serde_json::{Map, Value};

/// The widest integer that every reader of JSON takes exactly.
const EXACT: i128 = 1 << 53;
/// Arrays of bytes from this length on are texts, hashes or addresses.
const BYTES: usize = 8;

/// The first structure in a text, whatever stands before it; null where there is none.
pub(super) fn body(text: &str) -> Value {
    let Some(brace) = text.find('{') else { return Value::Null };
    Parser { rest: &text[brace..] }.value()
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
            return self.list();
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
            fields.insert(name, self.value());
        }
        Value::Object(fields)
    }

    fn list(&mut self) -> Value {
        let mut values = Vec::new();
        while !self.take(']') && !self.rest.is_empty() {
            values.push(self.value());
        }
        let bytes: Option<Vec<u8>> =
            values.iter().map(|value| value.as_u64().and_then(|byte| u8::try_from(byte).ok())).collect();
        match bytes.filter(|bytes| bytes.len() >= BYTES) {
            Some(bytes) => Value::from(of_bytes(&bytes)),
            None => Value::Array(values),
        }
    }
}

/// Text that is padded with zeros, else hex.
fn of_bytes(bytes: &[u8]) -> String {
    let len = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (text, padding) = bytes.split_at(len);
    if padding.iter().all(|byte| *byte == 0) && text.iter().all(u8::is_ascii_graphic) {
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
    }

    #[test]
    fn broken_text_ends() {
        for text in ["{", "{a", "{a:", "{a: [1, 2", "{a: (", "{a: \"x\"}", "no brace", "{: : }"] {
            body(text);
        }
    }
}
