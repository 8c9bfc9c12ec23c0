//! Requests of the spot dialect into what the engine and the views take.
//!
//! JSON members are kept as the text they were sent as: a number is never read as a float, and a member of a wrong JSON
//! type is a fault of that member, not of the body. Unknown members are ignored; a known member sent twice makes the
//! body `invalid json`, since nobody can say which one counts. `null` is the same as absent.
//! Checks that need the state of the engine are not made here.

use super::refusal::{self, Refusal};
use crate::is_nothing;
use ringside_core::command::{
    OrderStatus, OrderType, PlaceOrder, SelfTradePrevention, Side, TimeInForce, place_flag,
};
use ringside_core::ids::{AccountId, MarketId};
use ringside_core::money::{Amount, Price, Quantity};
use ringside_views::time::TimeRange;
use ringside_wire::decimal::{parse_amount, parse_entry_down, plain};
use ringside_wire::spot::words::{SpotOrderStatus, SpotOrderType, SpotSide, SpotTimeInForce};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Characters that a price, a quantity or an amount may be sent in.
const NUMBER_LEN_MAX: usize = 64;

/// The body of a placement, with the members that would make another order of it than this venue places: less shown, resting only,
/// waiting or ending at another time. Whoever sends one asks for less risk than it would get, and is told its name.
macro_rules! place_body {
    ($($unsupported:ident = $name:literal,)*) => {
        /// Body of POST /spot/orders, its members as sent.
        #[derive(Clone, Copy, Debug, Default, Deserialize)]
        #[serde(bound(deserialize = "'de: 'a"))]
        pub struct PlaceBody<'a> {
            symbol: Option<&'a RawValue>,
            side: Option<&'a RawValue>,
            #[serde(rename = "type")]
            order_type: Option<&'a RawValue>,
            tif: Option<&'a RawValue>,
            price: Option<&'a RawValue>,
            quantity: Option<&'a RawValue>,
            quote_quantity: Option<&'a RawValue>,
            $(#[serde(rename = $name)]
            $unsupported: Option<&'a RawValue>,)*
        }

        /// What a member is refused with, one for each.
        pub const UNSUPPORTED: &[Refusal] =
            &[$(Refusal { status: 400, error: concat!("unsupported ", $name) },)*];

        impl PlaceBody<'_> {
            /// 400 for the first member that would make another order of it; not where it is sent as nothing.
            fn refuse_unsupported(&self) -> Result<(), Refusal> {
                let sent = [$(self.$unsupported,)*];
                let is_something = |raw: &&RawValue| !is_nothing(&text(raw).unwrap_or(Cow::Borrowed(raw.get())));
                match sent.into_iter().position(|member| member.filter(is_something).is_some()) {
                    Some(place) => Err(UNSUPPORTED[place]),
                    None => Ok(()),
                }
            }
        }
    };
}

place_body! {
    iceberg = "iceberg_qty",
    iceberg_camel = "icebergQty",
    iceberg_long = "iceberg_quantity",
    iceberg_long_camel = "icebergQuantity",
    hidden = "hidden",
    display = "display_qty",
    display_camel = "displayQty",
    display_long = "display_quantity",
    display_long_camel = "displayQuantity",
    visible = "visible_size",
    visible_camel = "visibleSize",
    quote_order = "quoteOrderQty",
    peg = "pegPriceType",
    peg_offset = "pegOffsetValue",
    peg_offset_type = "pegOffsetType",
    trailing = "trailing_delta",
    trailing_camel = "trailingDelta",
    trailing_percent = "trailingPercent",
    trailing_stop = "trailingStop",
    trailing_time = "trailingTime",
    stop = "stop_price",
    stop_camel = "stopPrice",
    trigger = "trigger_price",
    trigger_camel = "triggerPrice",
    trigger_direction = "triggerDirection",
    stop_limit = "stopLimitPrice",
    activation = "activationPrice",
    callback = "callbackRate",
    take_profit = "take_profit",
    take_profit_camel = "takeProfit",
    take_profit_price = "take_profit_price",
    take_profit_price_camel = "takeProfitPrice",
    take_profit_trigger = "tpTriggerPrice",
    stop_loss = "stop_loss",
    stop_loss_camel = "stopLoss",
    stop_loss_price = "stop_loss_price",
    stop_loss_price_camel = "stopLossPrice",
    stop_loss_trigger = "slTriggerPrice",
    post_only = "post_only",
    post_only_camel = "postOnly",
    time_in_force = "time_in_force",
    time_in_force_camel = "timeInForce",
    reduce_only = "reduce_only",
    reduce_only_camel = "reduceOnly",
    close = "close_position",
    close_camel = "closePosition",
    close_on_trigger = "closeOnTrigger",
    market_maker_protection = "isMmp",
    isolated = "isIsolated",
    margin_mode = "marginMode",
    margin_type = "marginType",
    side_effect = "sideEffectType",
    repay = "autoRepayAtCancel",
    expires = "expires_at",
    expire_time = "expireTime",
    good_till = "good_till_date",
    good_till_camel = "goodTillDate",
}

/// What a placement says before its market is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms<'a> {
    /// A well-formed symbol of any case.
    pub symbol: Cow<'a, str>,
    /// Buy or sell.
    pub side: Side,
    /// How it is priced.
    pub order_type: OrderType,
    /// What becomes of a remainder.
    pub time_in_force: TimeInForce,
}

/// What a placement trades: fields that its kind does not use are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Limit price.
    pub price: Price,
    /// Base quantity.
    pub quantity: Quantity,
    /// Quote to spend.
    pub quote_quantity: Amount,
    /// Bits of [`place_flag`]: which of them were sent finer than they are held.
    pub finer: u32,
}

impl Size {
    /// What is held of a price or quantity; notes whether that is not all.
    fn held(&mut self, bit: u32, (value, is_finer): (i64, bool)) -> i64 {
        self.finer |= if is_finer { bit } else { 0 };
        value
    }
}

impl<'a> PlaceBody<'a> {
    /// The first half of the checks: what is not supported, symbol form, side, type, tif.
    pub fn terms(&self) -> Result<Terms<'a>, Refusal> {
        self.refuse_unsupported()?;
        let symbol = self.symbol.and_then(text).filter(|symbol| is_symbol(symbol));
        let symbol = symbol.ok_or(refusal::MARKET_MALFORMED)?;
        let side = self.side.and_then(text).and_then(|side| SpotSide::read_any_case(&side));
        let side = side.ok_or(refusal::INVALID_SIDE)?;
        let order_type = self.order_type.and_then(text).and_then(|word| SpotOrderType::read_any_case(&word));
        let order_type = order_type.ok_or(refusal::INVALID_TYPE)?;
        let sent = match self.tif {
            None => None,
            Some(tif) => {
                let word = text(tif).and_then(|tif| SpotTimeInForce::read_any_case(&tif));
                let word = word.filter(|tif| *tif != TimeInForce::FillOrKill);
                Some(word.ok_or(refusal::INVALID_TIF)?)
            }
        };
        let time_in_force = match (order_type, sent) {
            (OrderType::Limit, sent) => sent.unwrap_or(TimeInForce::GoodTillCancel),
            (OrderType::Market, None | Some(TimeInForce::ImmediateOrCancel)) => {
                TimeInForce::ImmediateOrCancel
            }
            (OrderType::Market, Some(_)) => return Err(refusal::INVALID_TIF),
        };
        Ok(Terms { symbol, side, order_type, time_in_force })
    }

    /// The second half: required amounts, then their form, then zero.
    pub fn size(&self, terms: &Terms<'_>) -> Result<Size, Refusal> {
        let mut size = Size { price: 0, quantity: 0, quote_quantity: 0, finer: 0 };
        match (terms.order_type, terms.side) {
            (OrderType::Market, Side::Buy) => {
                let quote_quantity = self.quote_quantity.ok_or(refusal::QUOTE_QUANTITY_REQUIRED)?;
                size.quote_quantity = number(quote_quantity, parse_amount)
                    .filter(|amount| *amount > 0)
                    .ok_or(refusal::INVALID_QUOTE_QUANTITY)?;
            }
            (OrderType::Market, Side::Sell) => {
                let quantity = entry(self.quantity.ok_or(refusal::QUANTITY_REQUIRED)?);
                size.quantity =
                    size.held(place_flag::FINER_QUANTITY, quantity.ok_or(refusal::INVALID_QUANTITY)?);
            }
            (OrderType::Limit, _) => {
                let price = self.price.ok_or(refusal::PRICE_REQUIRED)?;
                let quantity = self.quantity.ok_or(refusal::QUANTITY_REQUIRED)?;
                let price = entry(price).ok_or(refusal::INVALID_PRICE)?;
                let quantity = entry(quantity).ok_or(refusal::INVALID_QUANTITY)?;
                size.price = size.held(place_flag::FINER_PRICE, price);
                size.quantity = size.held(place_flag::FINER_QUANTITY, quantity);
            }
        }
        Ok(size)
    }
}

/// The command of a placement.
pub fn place_order(account: AccountId, market: MarketId, terms: &Terms<'_>, size: &Size) -> PlaceOrder {
    PlaceOrder {
        order_type: terms.order_type as u8,
        time_in_force: terms.time_in_force as u8,
        self_trade: SelfTradePrevention::RejectTaker as u8,
        quote_quantity: size.quote_quantity.into(),
        flags: size.finer,
        ..PlaceOrder::limit(account, market, terms.side, size.price, size.quantity)
    }
}

/// Whether text has the form of a symbol: `[A-Za-z0-9]{2,20}`.
pub fn is_symbol(text: &str) -> bool {
    (2..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Whether text has the form of an idempotency key: `[A-Za-z0-9_-]{1,64}`.
pub fn is_idempotency_key(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// `limit` of a query: an integer, clamped to 1..=`most`.
pub fn limit(sent: Option<&str>, default: usize, most: usize) -> Result<usize, Refusal> {
    let Some(sent) = sent else { return Ok(default) };
    match integer(sent).ok_or(refusal::INVALID_LIMIT)? {
        ..=0 => Ok(1),
        limit => Ok(usize::try_from(limit).unwrap_or(most).min(most)),
    }
}

/// `status` of a query for orders.
pub fn order_status(sent: Option<&str>) -> Result<Option<OrderStatus>, Refusal> {
    let Some(sent) = sent else { return Ok(None) };
    SpotOrderStatus::read_any_case(sent).map(Some).ok_or(refusal::INVALID_STATUS)
}

/// `start` and `end` of a query, whole seconds, inclusive.
pub fn time_range(start: Option<&str>, end: Option<&str>) -> Result<TimeRange, Refusal> {
    let second = |sent: Option<&str>, open| match sent {
        None => Ok(open),
        Some(sent) => integer(sent).ok_or(refusal::INVALID_RANGE),
    };
    let range = TimeRange {
        start_s: second(start, TimeRange::ALL.start_s)?,
        end_s: second(end, TimeRange::ALL.end_s)?,
    };
    if range.start_s > range.end_s {
        return Err(refusal::INVALID_RANGE);
    }
    Ok(range)
}

/// A decimal integer of any length, one that exceeds 64 bits as the nearest that does not.
fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().unwrap_or(if text.starts_with('-') { i64::MIN } else { i64::MAX }))
}

/// The text of a JSON string; `None` for any other JSON value. Borrowed unless it holds an escape.
pub fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str(raw.get()).ok().map(Cow::Owned)
}

/// A JSON string or number of at most 64 characters, read from its text by `parse`; a number may have an exponent.
pub fn number<T>(raw: &RawValue, parse: fn(&[u8]) -> Option<T>) -> Option<T> {
    let of_len = |text: &[u8]| (text.len() <= NUMBER_LEN_MAX).then(|| parse(text)).flatten();
    match raw.get().as_bytes() {
        [b'"', ..] => of_len(text(raw)?.as_bytes()),
        number if number.len() > NUMBER_LEN_MAX => None,
        number => parse(&plain(number)?),
    }
}

/// A price or quantity that is not zero, down to 10^-8, and whether it is finer.
fn entry(raw: &RawValue) -> Option<(i64, bool)> {
    number(raw, parse_entry_down).filter(|(value, is_finer)| *value > 0 || *is_finer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ringside_core::money::{MAX_ENTRY, UNIT};

    fn terms(body: &str) -> Result<(TimeInForce, OrderType), &'static str> {
        let body: PlaceBody<'_> = serde_json::from_str(body).expect("json");
        body.terms().map(|terms| (terms.time_in_force, terms.order_type)).map_err(|refusal| refusal.error)
    }

    fn size(kind: &str, body: &str) -> Result<(Price, Quantity, Amount), &'static str> {
        let body = format!(r#"{{"symbol":"AB",{kind}{body}}}"#);
        let body: PlaceBody<'_> = serde_json::from_str(&body).expect("json");
        let terms = body.terms().expect("terms");
        body.size(&terms)
            .map(|size| (size.price, size.quantity, size.quote_quantity))
            .map_err(|refusal| refusal.error)
    }

    #[test]
    fn the_first_fault_of_the_terms_is_named() {
        use OrderType::*;
        use TimeInForce::*;
        let cases = [
            (r#"{}"#, Err("MARKET_NOT_FOUND")),
            (r#"{"symbol":null,"side":"x"}"#, Err("MARKET_NOT_FOUND")),
            (r#"{"symbol":"","side":"buy"}"#, Err("MARKET_NOT_FOUND")),
            (r#"{"symbol":"A","side":"buy"}"#, Err("MARKET_NOT_FOUND")),
            (r#"{"symbol":"DF-USDT","side":"buy"}"#, Err("MARKET_NOT_FOUND")),
            (r#"{"symbol":"ABCDEFGHIJABCDEFGHIJK","side":"buy"}"#, Err("MARKET_NOT_FOUND")),
            (r#"{"symbol":5,"side":"buy"}"#, Err("MARKET_NOT_FOUND")),
            (r#"{"symbol":["DFUSDT"],"side":"buy"}"#, Err("MARKET_NOT_FOUND")),
            (r#"{"symbol":"DFUSDT"}"#, Err("invalid side")),
            (r#"{"symbol":"DFUSDT","side":"long","type":"x"}"#, Err("invalid side")),
            (r#"{"symbol":"DFUSDT","side":1}"#, Err("invalid side")),
            (r#"{"symbol":"DFUSDT","side":"buy"}"#, Err("invalid type")),
            (r#"{"symbol":"DFUSDT","side":"buy","type":"stop","tif":"x"}"#, Err("invalid type")),
            (r#"{"symbol":"DFUSDT","side":"buy","type":"limit","tif":""}"#, Err("invalid tif")),
            (r#"{"symbol":"DFUSDT","side":"buy","type":"limit","tif":"fok"}"#, Err("invalid tif")),
            (r#"{"symbol":"DFUSDT","side":"buy","type":"limit","tif":0}"#, Err("invalid tif")),
            (r#"{"symbol":"DFUSDT","side":"buy","type":"market","tif":"gtc"}"#, Err("invalid tif")),
            (r#"{"symbol":"DFUSDT","side":"buy","type":"market","tif":"post_only"}"#, Err("invalid tif")),
            (
                r#"{"symbol":"DFUSDT","side":"BUY","type":"Market","tif":"IOC"}"#,
                Ok((ImmediateOrCancel, Market)),
            ),
            (r#"{"symbol":"dfusdt","side":"sell","type":"market"}"#, Ok((ImmediateOrCancel, Market))),
            (r#"{"symbol":"dfusdt","side":"sell","type":"limit"}"#, Ok((GoodTillCancel, Limit))),
            (r#"{"symbol":"dfusdt","side":"sell","type":"limit","tif":null}"#, Ok((GoodTillCancel, Limit))),
            (r#"{"symbol":"dfusdt","side":"sell","type":"limit","tif":"Post_Only"}"#, Ok((PostOnly, Limit))),
            (
                r#"{"symbol":"\u0064fusdt","side":"\u0062uy","type":"limit","x":{"y":[]}}"#,
                Ok((GoodTillCancel, Limit)),
            ),
        ];
        for (body, expected) in cases {
            assert_eq!(terms(body), expected, "{body}");
        }
    }

    #[test]
    fn the_first_fault_of_the_size_is_named() {
        const LIMIT: &str = r#""side":"buy","type":"limit""#;
        const BUY: &str = r#""side":"buy","type":"market""#;
        const SELL: &str = r#""side":"sell","type":"market""#;
        let cases = [
            (LIMIT, r#""#, Err("price required for limit")),
            (LIMIT, r#","quantity":"x""#, Err("price required for limit")),
            (LIMIT, r#","price":null,"quantity":1"#, Err("price required for limit")),
            (LIMIT, r#","price":"x""#, Err("quantity required for limit/market sell")),
            (LIMIT, r#","price":"x","quantity":"x""#, Err("invalid price")),
            (LIMIT, r#","price":"","quantity":"1""#, Err("invalid price")),
            (LIMIT, r#","price":0,"quantity":"x""#, Err("invalid price")),
            (LIMIT, r#","price":1e5,"quantity":"1""#, Ok((100_000 * UNIT, UNIT, 0))),
            (LIMIT, r#","price":"1e5","quantity":"1""#, Err("invalid price")),
            (LIMIT, r#","price":-1,"quantity":"1""#, Err("invalid price")),
            (LIMIT, r#","price":true,"quantity":"1""#, Err("invalid price")),
            (LIMIT, r#","price":["1"],"quantity":"1""#, Err("invalid price")),
            (LIMIT, r#","price":0.000000001,"quantity":"1""#, Ok((0, UNIT, 0))),
            (LIMIT, r#","price":"1","quantity":"0.0""#, Err("invalid quantity")),
            (LIMIT, r#","price":"1","quantity":"92233720369""#, Err("invalid quantity")),
            (LIMIT, r#","price":"1","quantity":"92233720368""#, Ok((UNIT, MAX_ENTRY, 0))),
            (LIMIT, r#","price":1.50,"quantity":2,"quote_quantity":"x""#, Ok((150_000_000, 2 * UNIT, 0))),
            (LIMIT, r#","price":"\u0031","quantity":"0.10""#, Ok((UNIT, UNIT / 10, 0))),
            (LIMIT, r#","price":0.12345678000,"quantity":"1""#, Ok((12_345_678, UNIT, 0))),
            (BUY, r#","price":"x","quantity":"x""#, Err("quote_quantity required for market buy")),
            (BUY, r#","quote_quantity":0"#, Err("invalid quote_quantity")),
            (BUY, r#","quote_quantity":"1.0000000000000000001""#, Err("invalid quote_quantity")),
            (BUY, r#","quote_quantity":"0.000000000000000001","price":[]"#, Ok((0, 0, 1))),
            (SELL, r#","price":"x","quote_quantity":"x""#, Err("quantity required for limit/market sell")),
            (SELL, r#","quantity":{}"#, Err("invalid quantity")),
            (SELL, r#","quantity":"5""#, Ok((0, 5 * UNIT, 0))),
        ];
        for (kind, body, expected) in cases {
            assert_eq!(size(kind, body), expected, "{kind}{body}");
        }
    }

    #[test]
    fn what_is_finer_than_it_is_held_is_noted() {
        let finer = |body: &str| {
            let body = format!(r#"{{"symbol":"AB","side":"sell",{body}}}"#);
            let body: PlaceBody<'_> = serde_json::from_str(&body).expect("json");
            body.size(&body.terms().expect("terms")).expect("a size").finer
        };
        for (body, bits) in [
            (r#""type":"limit","price":"0.200000001","quantity":1"#, place_flag::FINER_PRICE),
            (r#""type":"limit","price":0.2,"quantity":0.30000000000000004"#, place_flag::FINER_QUANTITY),
            (r#""type":"limit","price":1e-9,"quantity":1e-30"#, 3),
            (r#""type":"market","price":1e-9,"quantity":1.000000001"#, place_flag::FINER_QUANTITY),
            (r#""type":"limit","price":0.20000000000,"quantity":3e-1"#, 0),
        ] {
            assert_eq!(finer(body), bits, "{body}");
        }
    }

    #[test]
    fn members_that_would_make_another_order_are_refused_by_name() {
        let refused = |members: &str| {
            let body = format!(r#"{{"symbol":"AB","side":"sell","type":"limit"{members}}}"#);
            let body: PlaceBody<'_> = serde_json::from_str(&body).expect("json");
            body.terms().map(|_| ()).map_err(|refusal| refusal.error)
        };
        for refusal in UNSUPPORTED {
            let name = refusal.error.strip_prefix("unsupported ").expect("a name");
            for value in ["true", "1", r#""0.1""#, r#""ioc""#, "[]"] {
                assert_eq!(refused(&format!(r#","{name}":{value}"#)), Err(refusal.error), "{value}");
            }
            for nothing in ["null", "false", "0", r#""""#, r#""0""#] {
                assert_eq!(refused(&format!(r#","{name}":{nothing}"#)), Ok(()), "{name} {nothing}");
            }
        }
        assert_eq!(refused(r#","client_order_id":"mine","comment":{"a":1}"#), Ok(()), "others are ignored");
    }

    #[test]
    fn bodies_that_are_refused_whole() {
        for body in [
            "",
            "[]x",
            "{",
            r#"{"symbol":}"#,
            r#"{"price":01}"#,
            r#"{"price":1.}"#,
            r#"{"price":.5}"#,
            r#"{"price":+1}"#,
            r#"{"price":NaN}"#,
            r#"{'symbol':"AB"}"#,
            r#"{"symbol":"AB",}"#,
            r#"{"symbol":"AB"}{}"#,
            r#"{"symbol":"AB","symbol":"CD"}"#,
            "{\"symbol\":\"a\u{1}b\"}",
        ] {
            assert!(serde_json::from_str::<PlaceBody<'_>>(body).is_err(), "{body}");
        }
    }

    #[test]
    fn limits_are_clamped_and_must_be_integers() {
        for (sent, expected) in [
            (None, Ok(50)),
            (Some("7"), Ok(7)),
            (Some("0"), Ok(1)),
            (Some("-5"), Ok(1)),
            (Some("201"), Ok(200)),
            (Some("99999999999999999999999"), Ok(200)),
            (Some("-99999999999999999999999"), Ok(1)),
            (Some(""), Err(refusal::INVALID_LIMIT)),
            (Some("-"), Err(refusal::INVALID_LIMIT)),
            (Some("1.0"), Err(refusal::INVALID_LIMIT)),
            (Some("+1"), Err(refusal::INVALID_LIMIT)),
            (Some("ten"), Err(refusal::INVALID_LIMIT)),
            (Some("--1"), Err(refusal::INVALID_LIMIT)),
        ] {
            assert_eq!(limit(sent, 50, 200), expected, "{sent:?}");
        }
    }

    #[test]
    fn ranges_are_inclusive_and_ordered() {
        assert_eq!(time_range(None, None), Ok(TimeRange::ALL));
        assert_eq!(time_range(Some("5"), Some("5")), Ok(TimeRange { start_s: 5, end_s: 5 }));
        for (start, end) in [(Some("6"), Some("5")), (Some("x"), None), (None, Some("")), (Some("1.5"), None)]
        {
            assert_eq!(time_range(start, end), Err(refusal::INVALID_RANGE));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_are_refused(body in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(body) = serde_json::from_slice::<PlaceBody<'_>>(&body) {
                let _ = body.terms().and_then(|terms| body.size(&terms));
            }
        }

        #[test]
        fn any_members_decode_or_are_refused(
            symbol in json(), side in json(), kind in json(), tif in json(), price in json(), quantity in json()
        ) {
            let body = format!(
                r#"{{"symbol":{symbol},"side":{side},"type":{kind},"tif":{tif},"price":{price},"quantity":{quantity}}}"#
            );
            let body: PlaceBody<'_> = serde_json::from_str(&body).expect("members are json");
            if let Ok(terms) = body.terms() {
                prop_assert!(is_symbol(&terms.symbol));
                if let Ok(size) = body.size(&terms) {
                    prop_assert!(size.price > 0 && size.quantity > 0 || terms.order_type == OrderType::Market);
                }
            }
        }
    }

    /// A JSON value of a kind that a member may or may not take.
    fn json() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("null".to_owned()),
            Just("true".to_owned()),
            "\"[a-zA-Z0-9.]{0,12}\"",
            "[1-9][0-9]{0,11}(\\.[0-9]{1,10})?",
            "[1-9](e[0-9]{1,3})?",
            prop::sample::select(
                &["\"buy\"", "\"limit\"", "\"market\"", "\"ioc\"", "\"DFUSDT\"", "[]", "{}"][..]
            )
            .prop_map(str::to_owned),
        ]
    }
}
