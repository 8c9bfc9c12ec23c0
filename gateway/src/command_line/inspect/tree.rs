//! Bodies of commands and events as JSON, read from their own text (`Debug`): every field there is, without a second list of
//! them. Integers that a JSON number cannot hold exactly stand as strings, arrays of bytes as text or hex. [`readable`] makes of
//! numbers what they stand for.

use ringside_core::command::{OrderStatus, Side};
use ringside_core::reject::Reject;
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

/// Names of what bodies have numbers for.
pub(in crate::command_line) trait Names {
    fn account(&self, number: u64) -> Option<String>;
    fn market(&self, number: u64) -> Option<String>;
    fn asset(&self, number: u64) -> Option<String>;
}

/// The same body for people: amounts as decimals, markets, tokens and accounts by name. What has no name keeps its number.
pub(super) fn readable(kind: &str, body: Value, names: &dyn Names) -> Value {
    let Value::Object(fields) = body else { return body };
    let shown = fields.into_iter().filter(|(name, _)| !name.starts_with("reserved")).map(|(name, value)| {
        let shown = of_field(kind, &name, &value, names).unwrap_or(value);
        (name, shown)
    });
    Value::Object(shown.collect())
}

fn of_field(kind: &str, name: &str, value: &Value, names: &dyn Names) -> Option<Value> {
    let number = match value {
        Value::Number(number) => i128::from(number.as_i64()?),
        Value::String(text) => text.parse().ok()?,
        _ => return None,
    };
    if let Some(places) = places(kind, name) {
        return Some(Value::from(decimal(number, places)));
    }
    let id = u64::try_from(number).ok()?;
    let named = match name {
        "account" | "maker_account" | "taker_account" | "counterparty" | "from_account" | "to_account" => {
            names.account(id)
        }
        "market" => names.market(id),
        "asset" | "base" | "quote" => names.asset(id),
        "side" | "taker_side" => Side::from_code(id.try_into().ok()?).map(|side| format!("{side:?}")),
        "reject" => Reject::from_code(id.try_into().ok()?).map(|reject| format!("{reject:?}")),
        "status" if kind == "Order" => {
            OrderStatus::from_code(id.try_into().ok()?).map(|status| format!("{status:?}"))
        }
        _ => None,
    };
    named.map(Value::from)
}

/// Decimals of a field that is an amount; `None` for what is counted, named or a rate of another scale.
fn places(kind: &str, name: &str) -> Option<u32> {
    const PRICE: u32 = 8;
    const SPOT: u32 = 18;
    const MARGIN: u32 = 6;
    Some(match name {
        "price" | "stop_price" | "stop_loss" | "take_profit" | "settlement_price" | "price_before"
        | "price_after" | "mark" | "last" | "impact_bid" | "impact_ask" | "tick" => PRICE,
        "index" if kind == "PerpetualPrice" => PRICE,
        "quantity" | "filled" | "open" | "lot" | "quantity_before" | "quantity_after" | "buy_quantity"
        | "sell_quantity" | "maker_quantity" | "taker_quantity" => PRICE,
        "total" if kind == "Depth" => PRICE,
        "funding_rate" => PRICE,
        "rate" if ["FundingSettled", "PerpetualBracket"].contains(&kind) => PRICE,
        "maker_fee" | "taker_fee" if kind == "Trade" => SPOT,
        "maker_fee" | "taker_fee" if kind == "PerpetualTrade" => MARGIN,
        "amount" => match kind {
            "CreditPerpetual" | "AdjustIsolatedMargin" | "TransferPerpetual" | "TransferOnce" | "Posting" => {
                MARGIN
            }
            _ => SPOT,
        },
        "available" | "frozen" | "credited" | "base_available" | "base_frozen" | "quote_available"
        | "quote_frozen" | "quote_quantity" | "min_notional" | "traded" => SPOT,
        "value" if ["PerpetualOrder", "PerpetualTrade", "Liquidation"].contains(&kind) => MARGIN,
        "wallets" | "isolated" | "costs" | "fund" | "fees" | "affiliates" | "deposits"
            if ["PerpetualLedger", "PerpetualPools"].contains(&kind) =>
        {
            MARGIN
        }
        "wallet"
        | "equity"
        | "maintenance"
        | "fund_change"
        | "cost"
        | "realised"
        | "isolated_wallet"
        | "open_fees"
        | "maker_realised"
        | "taker_realised"
        | "buy_open_loss"
        | "sell_open_loss"
        | "buy_fee_reserve"
        | "sell_fee_reserve"
        | "max_order_notional"
        | "max_position_notional" => MARGIN,
        _ => return None,
    })
}

/// `value` of so many decimals, without zeros at its end.
pub(in crate::command_line) fn decimal(value: i128, places: u32) -> String {
    let (sign, value) = (if value < 0 { "-" } else { "" }, value.unsigned_abs());
    let one = 10_u128.pow(places);
    let (whole, part) = (value / one, value % one);
    if part == 0 {
        return format!("{sign}{whole}");
    }
    let part = format!("{part:0width$}", width = places as usize);
    format!("{sign}{whole}.{}", part.trim_end_matches('0'))
}

/// A body on one line: `{ market: "DFUSDT", price: 0.2 }`.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}: {}", text(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(text).collect::<Vec<_>>().join(", ")),
        // Numbers stand as they are, whatever JSON makes of them.
        Value::String(word) if word.parse::<f64>().is_ok() => word.clone(),
        value => value.to_string(),
    }
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
    use ringside_core::event;
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

    struct Known;

    impl Names for Known {
        fn account(&self, number: u64) -> Option<String> {
            (number == 3).then(|| "0xabc".to_owned())
        }

        fn market(&self, number: u64) -> Option<String> {
            (number == 7).then(|| "DFUSDT".to_owned())
        }

        fn asset(&self, _number: u64) -> Option<String> {
            None
        }
    }

    #[test]
    fn numbers_are_shown_as_what_they_stand_for() {
        let trade = event::Trade {
            price: 20_000_000,
            quantity: 5_000_000_000,
            maker_fee: (-1).into(),
            maker_account: 3,
            taker_account: 4,
            market: 7,
            taker_side: 1,
            ..zerocopy::FromZeros::new_zeroed()
        };
        let shown = readable("Trade", body(&format!("{trade:?}")), &Known);
        assert_eq!((&shown["price"], &shown["quantity"]), (&json!("0.2"), &json!("50")));
        assert_eq!(shown["maker_fee"], "-0.000000000000000001");
        assert_eq!((&shown["maker_account"], &shown["taker_account"]), (&json!("0xabc"), &json!(4)));
        assert_eq!((&shown["market"], &shown["taker_side"]), (&json!("DFUSDT"), &json!("Sell")));
        assert!(shown.get("reserved").is_none(), "{shown}");
        let line = text(&shown);
        assert!(line.contains(r#"market: "DFUSDT""#) && line.contains("price: 0.2,"), "{line}");
        // The same word is another amount elsewhere.
        let margin = json!({ "amount": 1_500_000, "market": 8 });
        let shown = readable("CreditPerpetual", margin.clone(), &Known);
        assert_eq!(shown, json!({ "amount": "1.5", "market": 8 }));
        assert_eq!(readable("Credit", margin, &Known)["amount"], "0.0000000000015");
        let name = json!({ "reason": "two words" });
        assert_eq!(text(&name), r#"{ reason: "two words" }"#);
    }

    #[test]
    fn broken_text_ends() {
        for text in ["{", "{a", "{a:", "{a: [1, 2", "{a: (", "{a: \"x\"}", "no brace", "{: : }"] {
            body(text);
        }
    }
}
