//! A request for each operation of the document, as it is sent from a shell and, where clients of the Binance API ask for it, as ccxt
//! sends it. They are made of the operation's own parameters and body, so that none is left behind when a row changes.

use ringside_auth::access::Auth;
use ringside_edge::route::docs::Shape;
use ringside_edge::route::{Method, Route};
use serde_json::{Map, Value, json};

/// Where the samples are sent; whoever shows them puts the own address here.
const HOST: &str = "http://127.0.0.1:8080";

/// What is sent beside what must be, since a request without it would be pointless: method, path, names.
const ALSO: &[(&str, &str, &[&str])] = &[
    ("POST", "/fapi/v1/order", &["timeInForce", "quantity", "price"]),
    ("POST", "/fapi/v1/order/test", &["timeInForce", "quantity", "price"]),
    ("PUT", "/fapi/v1/order", &["orderId", "price"]),
    ("GET", "/fapi/v1/order", &["orderId"]),
    ("DELETE", "/fapi/v1/order", &["orderId"]),
    ("GET", "/fapi/v1/openOrder", &["orderId"]),
    ("DELETE", "/fapi/v1/batchOrders", &["orderIdList"]),
    ("GET", "/fapi/v1/orderAmendment", &["orderId"]),
    ("POST", "/fapi/v1/algoOrder", &["quantity", "triggerPrice"]),
    ("GET", "/fapi/v1/algoOrder", &["algoId"]),
    ("DELETE", "/fapi/v1/algoOrder", &["algoId"]),
    ("POST", "/fapi/v1/marginType", &["symbol"]),
    ("GET", "/fapi/v1/premiumIndex", &["symbol"]),
    ("GET", "/fapi/v1/fundingRate", &["symbol"]),
    ("GET", "/fapi/v1/ticker/24hr", &["symbol"]),
    ("GET", "/fapi/v1/ticker/price", &["symbol"]),
    ("GET", "/fapi/v1/ticker/bookTicker", &["symbol"]),
    ("POST", "/admin/perpetual/index-price", &["price"]),
    ("GET", "/fapi/v1/depth", &["limit"]),
    ("GET", "/fapi/v1/klines", &["limit"]),
    ("GET", "/fapi/v1/trades", &["limit"]),
    ("GET", "/fapi/v1/aggTrades", &["limit"]),
    ("GET", "/api/v3/myPreventedMatches", &["orderId"]),
    ("POST", "/api/v1/spot/orders", &["price", "quantity"]),
    ("GET", "/api/v1/spot/depth", &["limit"]),
    ("POST", "/api/v1/account/api-keys", &["permissions"]),
    ("POST", "/api/v1/account/margin-mode", &["symbol", "margin_mode"]),
];

/// What a name holds in a sample; all else follows from its shape.
const VALUES: &[(&str, &str)] = &[
    ("address", "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"),
    ("user_address", "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"),
    ("algoId", "1"),
    ("algoType", "CONDITIONAL"),
    ("amount", "10"),
    ("base", "ABC"),
    ("base_token", "ABC"),
    (
        "batchOrders",
        r#"[{"symbol":"BTCUSDT","side":"BUY","type":"LIMIT","timeInForce":"GTC","quantity":"0.01","price":"59000"}]"#,
    ),
    ("countdownTime", "10000"),
    ("dualSidePosition", "false"),
    ("feeBurn", "false"),
    ("from", "fees:perpetual"),
    ("leverage", "10"),
    ("label", "bot"),
    ("limit", "5"),
    ("margin_mode", "ISOLATED"),
    ("multiAssetsMargin", "false"),
    ("name", "takerlongshortRatio"),
    ("nonce", "9f86d081884c7d659a2feaa0c55ad015"),
    ("orderId", "1"),
    ("orderIdList", "[1,2]"),
    ("pair", "BTCUSDT"),
    ("price", "59000"),
    ("quantity", "0.01"),
    ("quote_token", "USDT"),
    ("reason", "as agreed"),
    ("side", "BUY"),
    ("timeInForce", "GTC"),
    ("to", "fund:MAIN"),
    ("token", "USDT"),
    ("triggerPrice", "61000"),
    ("type", "LIMIT"),
    ("vault_address", "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"),
];

/// The same where spot differs, which has other markets and words in lower case.
const SPOT: &[(&str, &str)] =
    &[("symbol", "DFUSDT"), ("id", "DFUSDT"), ("side", "buy"), ("price", "0.2"), ("quantity", "50")];

/// What ccxt calls it: method, path, the call. What is not here is asked for by its path, as ccxt lets one.
const CCXT: &[(&str, &str, &str)] = &[
    ("GET", "/fapi/v1/time", "fetch_time()"),
    ("GET", "/fapi/v1/exchangeInfo", "load_markets()"),
    ("GET", "/fapi/v1/depth", "fetch_order_book('BTC/USDT:USDT', 5)"),
    ("GET", "/fapi/v1/aggTrades", "fetch_trades('BTC/USDT:USDT')"),
    ("GET", "/fapi/v1/klines", "fetch_ohlcv('BTC/USDT:USDT', '1m', limit=5)"),
    ("GET", "/fapi/v1/ticker/24hr", "fetch_ticker('BTC/USDT:USDT')"),
    ("GET", "/fapi/v1/premiumIndex", "fetch_funding_rate('BTC/USDT:USDT')"),
    ("GET", "/fapi/v1/fundingRate", "fetch_funding_rate_history('BTC/USDT:USDT')"),
    ("GET", "/fapi/v1/openInterest", "fetch_open_interest('BTC/USDT:USDT')"),
    ("POST", "/fapi/v1/order", "create_order('BTC/USDT:USDT', 'limit', 'buy', 0.01, 59000)"),
    ("PUT", "/fapi/v1/order", "edit_order('1', 'BTC/USDT:USDT', 'limit', 'buy', 0.01, 58900)"),
    ("GET", "/fapi/v1/order", "fetch_order('1', 'BTC/USDT:USDT')"),
    ("DELETE", "/fapi/v1/order", "cancel_order('1', 'BTC/USDT:USDT')"),
    ("DELETE", "/fapi/v1/allOpenOrders", "cancel_all_orders('BTC/USDT:USDT')"),
    ("GET", "/fapi/v1/openOrders", "fetch_open_orders('BTC/USDT:USDT')"),
    ("GET", "/fapi/v1/allOrders", "fetch_orders('BTC/USDT:USDT')"),
    ("GET", "/fapi/v1/userTrades", "fetch_my_trades('BTC/USDT:USDT')"),
    ("GET", "/fapi/v3/account", "fetch_balance()"),
    ("GET", "/fapi/v3/positionRisk", "fetch_positions()"),
    ("POST", "/fapi/v1/leverage", "set_leverage(10, 'BTC/USDT:USDT')"),
    ("POST", "/fapi/v1/marginType", "set_margin_mode('isolated', 'BTC/USDT:USDT')"),
];

/// The samples of a row, as `x-codeSamples` has them: the language, what it is called, the text.
pub(super) fn samples(route: &Route, operation: &Value, schemas: &Map<String, Value>) -> Value {
    let sent = Sent::of(route, operation, schemas);
    let shell = match route.response {
        Shape::Nothing => json!({
            "lang": "Shell",
            "label": "websocat",
            "source": format!("websocat '{}{}'", HOST.replacen("http", "ws", 1), route.path),
        }),
        _ => json!({ "lang": "Shell", "label": "curl", "source": sent.curl(route) }),
    };
    let mut samples = vec![shell];
    if let Some(call) = sent.ccxt(route) {
        samples.push(json!({ "lang": "Python", "label": "ccxt", "source": call }));
    }
    Value::Array(samples)
}

/// What a sample sends.
struct Sent {
    /// The path with its parameters.
    path: String,
    /// Without those of a signature.
    query: Vec<(String, String)>,
    body: Option<Value>,
}

impl Sent {
    fn of(route: &Route, operation: &Value, schemas: &Map<String, Value>) -> Sent {
        let method = route.method.name();
        let also = ALSO.iter().find(|(of, path, _)| *of == method && *path == route.path);
        let maker = Maker { route, schemas, also: also.map_or(&[], |(.., names)| *names) };
        let (mut path, mut query) = (route.path.to_owned(), Vec::new());
        for param in operation["parameters"].as_array().into_iter().flatten() {
            let name = param["name"].as_str().unwrap_or_default();
            let is_wanted = param["required"] == true || maker.also.contains(&name);
            if !is_wanted || ["timestamp", "signature"].contains(&name) {
                continue;
            }
            let value = maker.text(name, &param["schema"]);
            match param["in"].as_str() {
                Some("path") => path = path.replace(&format!("{{{name}}}"), &value),
                Some("query") => query.push((name.to_owned(), value)),
                _ => {}
            }
        }
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        let body = (!body.is_null()).then(|| maker.object(body));
        Sent { path, query, body }
    }

    fn curl(&self, route: &Route) -> String {
        let method = match (route.method, &self.body) {
            (Method::Get, _) | (Method::Post, Some(_)) => String::new(),
            (method, _) => format!(" -X {}", method.name()),
        };
        let pairs: Vec<String> =
            self.query.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let query = pairs.join("&");
        if matches!(route.auth, Auth::Signed(_) | Auth::Stream) {
            let begun = if query.is_empty() { String::new() } else { format!("{query}&") };
            return format!(
                "QUERY=\"{begun}timestamp=$(date +%s000)\"\n\
                 SIGNATURE=$(printf %s \"$QUERY\" | openssl dgst -sha256 -hmac \"$API_SECRET\" -r | cut -d' ' -f1)\n\
                 curl -s{method} -H \"X-MBX-APIKEY: $API_KEY\" \"{HOST}{}?$QUERY&signature=$SIGNATURE\"",
                self.path
            );
        }
        let header = match route.auth {
            Auth::None | Auth::Optional(_) => "",
            Auth::Admin => " -H \"X-API-Key: $ADMIN_KEY\"",
            _ => " -H \"Authorization: Bearer $TOKEN\"",
        };
        let body = match &self.body {
            Some(body) => format!(" -H 'content-type: application/json' -d '{body}'"),
            None => String::new(),
        };
        let query = if query.is_empty() { query } else { format!("?{query}") };
        format!("curl -s{method}{header}{body} '{HOST}{}{query}'", self.path)
    }

    fn ccxt(&self, route: &Route) -> Option<String> {
        let method = route.method.name();
        if let Some((.., call)) = CCXT.iter().find(|(of, path, _)| *of == method && *path == route.path) {
            return Some(format!("exchange.{call}"));
        }
        let kind = if route.auth == Auth::None { "Public" } else { "Private" };
        let (section, path) = match route.path.strip_prefix("/fapi/") {
            Some(rest) => {
                let (version, path) = rest.split_once('/')?;
                let version = if version == "v1" { String::new() } else { version.to_ascii_uppercase() };
                (format!("fapi{kind}{version}"), path)
            }
            None => ("fapiData".to_owned(), self.path.strip_prefix("/futures/data/")?),
        };
        let values: Vec<String> =
            self.query.iter().map(|(name, value)| format!("'{name}': '{value}'")).collect();
        Some(format!("exchange.request('{path}', ['{section}'], '{method}', {{{}}})", values.join(", ")))
    }
}

/// Makes values of shapes.
struct Maker<'a> {
    route: &'a Route,
    schemas: &'a Map<String, Value>,
    also: &'static [&'static str],
}

impl Maker<'_> {
    /// A body: what it must have, and what it is pointless without. Where nothing must be there, the first that may.
    fn object(&self, schema: &Value) -> Value {
        let schema = self.whole(schema);
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = schema["properties"].as_object();
        let is_wanted = |name: &str| required.contains(&name) || self.also.contains(&name);
        let mut made = Map::new();
        for (name, schema) in properties.into_iter().flatten().filter(|(name, _)| is_wanted(name)) {
            made.insert(name.clone(), self.value(name, schema));
        }
        if made.is_empty() {
            let first = properties
                .into_iter()
                .flatten()
                .find(|(name, _)| !["confirm", "reason"].contains(&name.as_str()));
            made.extend(first.map(|(name, schema)| (name.clone(), self.value(name, schema))));
        }
        Value::Object(made)
    }

    fn value(&self, name: &str, schema: &Value) -> Value {
        let schema = self.whole(schema);
        match schema["type"].as_str() {
            Some("object") => self.object(schema),
            Some("array") => json!([self.value("", &schema["items"])]),
            Some("integer" | "number") => json!(1),
            Some("boolean") => json!(true),
            _ => json!(self.text(name, schema)),
        }
    }

    fn text(&self, name: &str, schema: &Value) -> String {
        let is_spot = self.route.path.starts_with("/api/v1/spot/")
            || self.route.path.starts_with("/api/v1/admin/spot/");
        let schema = self.whole(schema);
        let words: Vec<&str> =
            schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let known = SPOT.iter().filter(|_| is_spot).chain(VALUES).find(|(known, _)| *known == name);
        if name == "type" && self.route.path.ends_with("/algoOrder") {
            return "STOP_MARKET".to_owned();
        }
        // Of words that are closed a known value must be one.
        match known.filter(|(_, value)| words.is_empty() || words.contains(value)) {
            Some((_, value)) if !(name == "id" && self.route.path.contains("/orders/")) => {
                (*value).to_owned()
            }
            _ if !words.is_empty() => words[0].to_owned(),
            _ => match (name, schema["type"].as_str(), schema["pattern"].as_str()) {
                ("symbol", ..) if self.route.path.contains("/tokens") => "ABC".to_owned(),
                ("symbol", ..) => "BTCUSDT".to_owned(),
                (_, Some("integer" | "number"), _) => "1".to_owned(),
                (_, Some("boolean"), _) => "true".to_owned(),
                (_, _, Some(pattern)) if pattern.contains("{8}") => {
                    "00000000-0000-4000-8000-000000000001".to_owned()
                }
                (_, _, Some(pattern)) if pattern.contains("{130}") => format!("0x{}", "ab".repeat(65)),
                (_, _, Some(pattern)) if pattern.contains("{16}") => "0123456789abcdef".to_owned(),
                (_, _, Some(pattern)) if pattern.contains("0-9") => "1".to_owned(),
                _ => "text".to_owned(),
            },
        }
    }

    /// The shape itself, where it is named elsewhere or the first of several.
    fn whole<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let named = schema["$ref"].as_str().and_then(|place| self.schemas.get(place.rsplit('/').next()?));
        match named.or_else(|| schema["anyOf"].get(0)) {
            Some(inner) => self.whole(inner),
            None => schema,
        }
    }
}

/// A value as a query has it.
fn encoded(value: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    value.bytes().map(encode).collect()
}
