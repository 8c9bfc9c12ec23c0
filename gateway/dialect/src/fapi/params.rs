//! Parameters of a request: query string, form, or both; the elements of a batch (`perpetual.md` 1).
//!
//! Reading is exact: decimals become scaled integers, never floats. Which names a route knows is the route's business.

use super::refusal::{self, Refusal};
use percent_encoding::percent_decode;
use ringside_core::money::{AMOUNT_UNIT, MAX_ENTRY, Price, Quantity, UNIT};
use ringside_wire::decimal;
use ringside_wire::form;
use std::borrow::Cow;

/// Names in one query, form or object at most: no route has half as many, and looking for one that stands twice compares each
/// with each.
pub const PARAMS_MAX: usize = 100;

/// What a decimal looks like, as refusals say it.
const DECIMAL: &str = "^[0-9]{1,20}(\\.[0-9]{1,40})?$";
/// Decimals that it has at most.
const DECIMALS_MAX: usize = 40;

/// End of the year 9999: nothing happens later, and calendars can be worked out up to it.
pub const TIME_MAX_MS: i64 = 253_402_300_799_999;

/// Parameters by name. One in the query counts before one in the body.
#[derive(Clone, Debug, Default)]
pub struct Params<'a> {
    sent: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// Lengths of the names that are sent, one bit each: routes ask for many names, and most are not sent.
    lens: u64,
}

/// A decimal in steps of 10^-18, below 10^38. Exact; of what is finer the last digit is not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decimal(pub i128);

/// Steps of 10^-18 in one of 10^-8.
const STEP: i128 = AMOUNT_UNIT / UNIT as i128;

impl Decimal {
    /// As a price in steps of 10^-8: -1111 for more decimals, -4002 beyond what a price can be.
    pub fn price(self) -> Result<Price, Refusal> {
        if self.0 % STEP != 0 {
            return Err(refusal::PRECISION);
        }
        i64::try_from(self.0 / STEP).ok().filter(|price| *price <= MAX_ENTRY).ok_or(refusal::PRICE_MAXIMUM)
    }

    /// As a stop price, which has a text of its own beyond what a price can be: -4007.
    pub fn stop_price(self) -> Result<Price, Refusal> {
        self.price().map_err(
            |refusal| if refusal == refusal::PRICE_MAXIMUM { refusal::STOP_MAXIMUM } else { refusal },
        )
    }

    /// As a quantity in steps of 10^-8, down; beyond what a quantity can be, more than any filter lets through.
    pub fn quantity(self) -> Quantity {
        i64::try_from(self.0 / STEP).unwrap_or(MAX_ENTRY).min(MAX_ENTRY)
    }

    /// As micros, exactly.
    pub fn micros(self) -> Option<i64> {
        i64::try_from(self.whole_micros()?).ok()
    }

    /// The same; beyond what micros can be, more than anybody has: for what is refused unless somebody has it.
    pub fn micros_to_compare(self) -> Option<i64> {
        Some(i64::try_from(self.whole_micros()?).unwrap_or(i64::MAX))
    }

    fn whole_micros(self) -> Option<i128> {
        const MICRO: i128 = AMOUNT_UNIT / 1_000_000;
        (self.0 % MICRO == 0).then_some(self.0 / MICRO)
    }

    /// Whether it is zero.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl<'a> Params<'a> {
    /// Of query and form; -1101 for a name that stands twice in one of them, and for more than [`PARAMS_MAX`] in one.
    pub fn read(query: &'a str, form: &'a [u8]) -> Result<Params<'a>, Refusal> {
        let mut params = Params { sent: Vec::with_capacity(16), lens: 0 };
        for text in [Ok(query), str::from_utf8(form).map_err(|_| form)] {
            let begin = params.sent.len();
            let bytes = text.map_or_else(|bytes| bytes, str::as_bytes);
            let pairs = form::pairs(bytes).filter(|pair| !pair.is_empty());
            match text {
                // Most requests are sent as they are meant, and then their parts are as well.
                Ok(plain) if form::is_literal(bytes) => {
                    for pair in pairs {
                        let value = pair.value().map_or("", |value| &plain[value]);
                        params.add(begin, Cow::Borrowed(&plain[pair.name()]), Cow::Borrowed(value))?;
                    }
                }
                _ => {
                    for pair in pairs {
                        let value = pair.value().map_or(&b""[..], |value| &bytes[value]);
                        params.add(begin, decode(&bytes[pair.name()]), decode(value))?;
                    }
                }
            }
        }
        Ok(params)
    }

    /// Adds one of the text whose first stands at `begin`.
    fn add(&mut self, begin: usize, name: Cow<'a, str>, value: Cow<'a, str>) -> Result<(), Refusal> {
        if self.sent.len() - begin == PARAMS_MAX {
            return Err(refusal::TOO_MANY_PARAMS);
        }
        if self.may_have(&name) && self.sent[begin..].iter().any(|(other, _)| *other == name) {
            return Err(refusal::twice(&name));
        }
        self.lens |= len_bit(&name);
        self.sent.push((name, value));
        Ok(())
    }

    /// Whether a name of its length is sent.
    #[inline]
    fn may_have(&self, name: &str) -> bool {
        self.lens & len_bit(name) != 0
    }

    /// Of a JSON object, an element of the parameter `list`: strings, numbers (their digits, without an exponent) and booleans; what
    /// is null is not sent. -1130 for what is no object of texts, -1101 for a name that stands twice in it, and for more
    /// than [`PARAMS_MAX`].
    pub fn of_json(object: &'a str, list: &str) -> Result<Params<'a>, Refusal> {
        let not_valid = || refusal::not_valid(list);
        let mut params = Params::default();
        let members = Members::read(object).ok_or_else(not_valid)?;
        for (name, raw) in members.0.into_iter().filter(|(_, raw)| *raw != "null") {
            let plain = if raw.starts_with(|first: char| first.is_ascii_digit()) {
                decimal::plain(raw.as_bytes()).and_then(|plain| String::from_utf8(plain.into_owned()).ok())
            } else {
                None
            };
            let text = plain.map(Cow::Owned).or_else(|| Members::text(raw));
            params.add(0, name, text.ok_or_else(not_valid)?)?;
        }
        Ok(params)
    }

    /// A value that is sent and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        if !self.may_have(name) {
            return None;
        }
        let (_, value) = self.sent.iter().find(|(other, _)| other == name)?;
        Some(value.as_ref()).filter(|value| !value.is_empty())
    }

    /// Everything that is sent but `names`, in the order of the names: equal for requests that ask for the same.
    pub fn canonical(&self, without: &[&str]) -> Vec<u8> {
        let mut sent: Vec<_> =
            self.sent.iter().filter(|(name, _)| !without.contains(&name.as_ref())).collect();
        // The query's stand before the body's of one name, and count.
        sent.sort_by(|(one, _), (other, _)| one.cmp(other));
        sent.dedup_by(|(later, _), (first, _)| later == first);
        let mut text = Vec::new();
        for (name, value) in sent {
            for part in [name, value] {
                text.extend_from_slice(&(part.len() as u64).to_le_bytes());
                text.extend_from_slice(part.as_bytes());
            }
        }
        text
    }

    /// A value that must be sent: -1102.
    pub fn text(&self, name: &str) -> Result<&str, Refusal> {
        self.get(name).ok_or_else(|| refusal::mandatory(name))
    }

    /// An integer that may be sent: -1130.
    pub fn integer(&self, name: &str) -> Result<Option<i64>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(text) => integer(text).map(Some).ok_or_else(|| refusal::not_valid(name)),
        }
    }

    /// An integer that must be sent: -1102.
    pub fn mandatory_integer(&self, name: &str) -> Result<i64, Refusal> {
        self.get(name).and_then(integer).ok_or_else(|| refusal::mandatory(name))
    }

    /// `limit`: -1130 below 1 or above `max`.
    pub fn limit(&self, default: usize, max: usize) -> Result<usize, Refusal> {
        let Some(limit) = self.integer("limit")? else { return Ok(default) };
        usize::try_from(limit)
            .ok()
            .filter(|limit| (1..=max).contains(limit))
            .ok_or_else(|| refusal::not_valid("limit"))
    }

    /// A decimal that may be sent: -1100.
    pub fn decimal(&self, name: &str) -> Result<Option<Decimal>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(text) => {
                let decimals = text.find('.').map_or(0, |point| text.len() - point - 1);
                let value = decimal::parse_any(text.as_bytes()).filter(|_| decimals <= DECIMALS_MAX);
                value.map(|value| Some(Decimal(value))).ok_or_else(|| refusal::illegal(name, DECIMAL))
            }
        }
    }

    /// A boolean that may be sent, in any case: -1130.
    pub fn boolean(&self, name: &str) -> Result<Option<bool>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(text) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
            Some(text) if text.eq_ignore_ascii_case("false") => Ok(Some(false)),
            Some(_) => Err(refusal::not_valid(name)),
        }
    }

    /// Whether `startTime` and `endTime` are integers: -1130. Format is judged before the symbol, how they go together after it.
    pub fn check_times(&self) -> Result<(), Refusal> {
        self.integer("startTime").and(self.integer("endTime")).map(|_| ())
    }

    /// `startTime` and `endTime`: -1130, -1023. No later than [`TIME_MAX_MS`].
    pub fn times(&self) -> Result<(Option<i64>, Option<i64>), Refusal> {
        let (start, end) = (self.integer("startTime")?, self.integer("endTime")?);
        match (start, end) {
            (Some(start), Some(end)) if start > end => Err(refusal::START_AFTER_END),
            (start, end) => {
                Ok((start.map(|time| time.min(TIME_MAX_MS)), end.map(|time| time.min(TIME_MAX_MS))))
            }
        }
    }

    /// The window of a history in milliseconds, both ends included: as sent, or `days` from or up to the end that is sent, or
    /// the last `days`. -4165 for more than `days`.
    pub fn window(&self, days: u32, now_ms: i64) -> Result<(i64, i64), Refusal> {
        let span_ms = i64::from(days) * 24 * 3_600_000;
        match self.times()? {
            (Some(start), Some(end)) if end - start > span_ms => Err(refusal::span(days)),
            (Some(start), Some(end)) => Ok((start, end)),
            (Some(start), None) => Ok((start, start.saturating_add(span_ms))),
            (None, Some(end)) => Ok((end - span_ms, end)),
            (None, None) => Ok((now_ms - span_ms, i64::MAX)),
        }
    }
}

/// Members of a flat JSON object in the order sent, one that stands twice twice; values are JSON texts.
pub struct Members<'a>(pub Vec<(Cow<'a, str>, &'a str)>);

impl<'a> Members<'a> {
    /// Of a JSON text; `None` where it is no object.
    pub fn read(object: &'a str) -> Option<Members<'a>> {
        serde_json::from_str(object).ok()
    }

    /// A value as a parameter would be sent: a string without its quotes, anything else as it stands. `None` for a string
    /// that is no text.
    pub fn text(raw: &'a str) -> Option<Cow<'a, str>> {
        if raw.starts_with('"') {
            serde_json::from_str(raw).ok().map(Cow::Owned)
        } else {
            Some(Cow::Borrowed(raw))
        }
    }
}

impl<'de: 'a, 'a> serde::Deserialize<'de> for Members<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Members<'a>, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members: Vec<(Cow<'de, str>, &'de str)> = Vec::with_capacity(16);
                while let Some(name) = map.next_key::<String>()? {
                    let raw: &'de serde_json::value::RawValue = map.next_value()?;
                    members.push((Cow::Owned(name), raw.get()));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

/// The bit of a name's length; long ones share the last.
#[inline]
fn len_bit(name: &str) -> u64 {
    1 << name.len().min(63)
}

fn decode(text: &[u8]) -> Cow<'_, str> {
    if form::is_literal(text) {
        return String::from_utf8_lossy(text);
    }
    let spaced: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    Cow::Owned(percent_decode(&spaced).decode_utf8_lossy().into_owned())
}

/// 1 to 19 digits that 63 bits hold.
pub fn integer(text: &str) -> Option<i64> {
    let is_integer = (1..=19).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_integer { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_counts_before_the_body() {
        let params = Params::read("a=1&e=&x=%5B1%2C2%5D&s=a+b", b"a=2&b=3&e=4").unwrap();
        assert_eq!((params.get("a"), params.get("b"), params.get("c")), (Some("1"), Some("3"), None));
        assert_eq!((params.get("x"), params.get("s")), (Some("[1,2]"), Some("a b")));
        // Sent empty in the query, it is sent there.
        assert_eq!(params.get("e"), None);
        assert_eq!(params.text("e"), Err(refusal::mandatory("e")));
        for (query, form) in [("a=1&a=1", ""), ("", "a=1&b=2&a="), ("a&a", "")] {
            assert_eq!(Params::read(query, form.as_bytes()).unwrap_err(), refusal::twice("a"));
        }
    }

    #[test]
    fn more_names_than_any_route_has_are_refused() {
        let text = |count: usize| (0..count).map(|name| format!("n{name}=1&")).collect::<String>();
        let object = |count: usize| {
            let members: Vec<_> = (0..count).map(|name| format!("\"n{name}\":1")).collect();
            format!("{{{}}}", members.join(","))
        };
        let (most, more) = (text(PARAMS_MAX), text(PARAMS_MAX + 1));
        assert_eq!(Params::read(&most, most.as_bytes()).unwrap().sent.len(), 2 * PARAMS_MAX);
        assert_eq!(Params::read(&more, b"").unwrap_err(), refusal::TOO_MANY_PARAMS);
        assert_eq!(Params::read("", more.as_bytes()).unwrap_err(), refusal::TOO_MANY_PARAMS);
        assert!(Params::of_json(&object(PARAMS_MAX), "batchOrders").is_ok());
        let refused = Params::of_json(&object(PARAMS_MAX + 1), "batchOrders").unwrap_err();
        assert_eq!(refused, refusal::TOO_MANY_PARAMS);
    }

    #[test]
    fn values_are_read_as_their_rules_say() {
        let params =
            Params::read("n=5&m=-5&big=9999999999999999999&t=TRUE&f=False&u=yes&d=0.10&bad=1e5&limit=0", b"")
                .unwrap();
        assert_eq!((params.integer("n"), params.integer("none")), (Ok(Some(5)), Ok(None)));
        assert_eq!(params.integer("m"), Err(refusal::not_valid("m")));
        assert_eq!(params.integer("big"), Err(refusal::not_valid("big")));
        assert_eq!(params.mandatory_integer("m"), Err(refusal::mandatory("m")));
        assert_eq!((params.boolean("t"), params.boolean("f")), (Ok(Some(true)), Ok(Some(false))));
        assert_eq!(params.boolean("u"), Err(refusal::not_valid("u")));
        assert_eq!(params.decimal("d"), Ok(Some(Decimal(AMOUNT_UNIT / 10))));
        assert_eq!(
            params.decimal("bad").unwrap_err().msg,
            "Illegal characters found in parameter 'bad'; legal range is '^[0-9]{1,20}(\\.[0-9]{1,40})?$'."
        );
        assert_eq!(params.limit(500, 1000), Err(refusal::not_valid("limit")));
    }

    #[test]
    fn decimals_as_prices_quantities_and_money() {
        let decimal = |text: &str| Decimal(decimal::parse_amount(text.as_bytes()).unwrap());
        assert_eq!(decimal("9000.5").price(), Ok(900_050_000_000));
        assert_eq!(decimal("0.000000001").price(), Err(refusal::PRECISION));
        assert_eq!(decimal("92233720369").price(), Err(refusal::PRICE_MAXIMUM));
        assert_eq!(decimal("92233720369").stop_price(), Err(refusal::STOP_MAXIMUM));
        assert_eq!(decimal("0.000000001").stop_price(), Err(refusal::PRECISION));
        assert_eq!(decimal("0.0000000199").quantity(), 1);
        assert_eq!(decimal("99999999999999999999").quantity(), MAX_ENTRY);
        assert_eq!((decimal("1.5").micros(), decimal("0.0000001").micros()), (Some(1_500_000), None));
        let many = decimal("99999999999999999999");
        assert_eq!((many.micros(), many.micros_to_compare()), (None, Some(i64::MAX)));
    }

    #[test]
    fn elements_of_a_batch_have_texts_numbers_and_booleans() {
        let read = |object| Params::of_json(object, "batchOrders");
        let params = read(
            r#"{"symbol":"A\u0042","price":62712.0,"quantity":"1","reduceOnly":true,"stopPrice":null,"a":1}"#,
        )
        .unwrap();
        assert_eq!(
            (params.get("symbol"), params.get("price"), params.get("quantity")),
            (Some("AB"), Some("62712.0"), Some("1"))
        );
        assert_eq!(
            (params.boolean("reduceOnly"), params.get("stopPrice"), params.get("a")),
            (Ok(Some(true)), None, Some("1"))
        );
        for (object, refusal) in [
            ("[1]", refusal::not_valid("batchOrders")),
            ("{", refusal::not_valid("batchOrders")),
            (r#"{"a":"\ud800"}"#, refusal::not_valid("batchOrders")),
            (r#"{"a":1,"b":2,"a":1}"#, refusal::twice("a")),
        ] {
            assert_eq!(read(object).unwrap_err(), refusal, "{object}");
        }
        assert_eq!(read(r#"{"a":null,"a":1}"#).unwrap().get("a"), Some("1"));
    }

    #[test]
    fn windows_are_as_long_as_they_may_be() {
        const DAY: i64 = 86_400_000;
        let window = |query| Params::read(query, b"").unwrap().window(7, 100 * DAY);
        assert_eq!(window(""), Ok((93 * DAY, i64::MAX)));
        assert_eq!(window("startTime=5"), Ok((5, 5 + 7 * DAY)));
        assert_eq!(window("startTime=5&endTime=6"), Ok((5, 6)));
        assert_eq!(window("endTime=604800001"), Ok((1, 604_800_001)));
        assert_eq!(window("startTime=6&endTime=5"), Err(refusal::START_AFTER_END));
        assert_eq!(window("startTime=9223372036854775807"), Ok((TIME_MAX_MS, TIME_MAX_MS + 7 * DAY)));
        assert_eq!(
            window("startTime=0&endTime=604800001").unwrap_err().msg,
            "Maximum time interval is 7 days"
        );
    }
}
