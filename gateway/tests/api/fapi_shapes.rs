//! Keys and JSON types of every `/fapi` answer beside those of recorded and documented ones of the API that it is compatible with.
//! What differs stands in `golden/fapi/differences.txt` with its reason: a difference without a line fails, and so does a line
//! without a difference.

use crate::exchange::venue::Venue;
use crate::exchange::{Exchange, START_S};
use ringside_core::command::{AdvanceTime, Command, FeedPrice, SetMarginMode, SetSource};
use ringside_core::ids::FIRST_PERPETUAL;
use ringside_gateway::routes::openapi::document;
use ringside_gateway::routes::routes;
use ringside_wire::refusal::Dialect;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Places within answers, each with its types.
type Shape = BTreeMap<String, BTreeSet<&'static str>>;
/// Method and path to shape.
type Shapes = BTreeMap<String, Shape>;

fn golden(name: &str) -> Option<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/binance-rest-golden/");
    std::fs::read_to_string(PathBuf::from(path).join(name)).ok()
}

/// Adds the keys and types of a value. Rows of a list count together.
fn add(shape: &mut Shape, place: &str, value: &Value) {
    let kind = match value {
        Value::Object(members) => {
            for (name, value) in members {
                let joint = if place.is_empty() { "" } else { "." };
                add(shape, &format!("{place}{joint}{name}"), value);
            }
            return;
        }
        Value::Array(rows) => {
            rows.iter().for_each(|row| add(shape, &format!("{place}[]"), row));
            return;
        }
        Value::String(_) => "text",
        Value::Number(_) => "number",
        Value::Bool(_) => "boolean",
        Value::Null => "null",
    };
    shape.entry(place.to_owned()).or_default().insert(kind);
}

/// What others answer: the documentation's examples, a client library's fixtures, recorded answers.
fn theirs() -> Option<Shapes> {
    let mut shapes = Shapes::new();
    let mut take = |method: &str, path: &str, value: &Value| {
        if value.get("_unparsed").is_none() {
            let path = path.split('?').next().unwrap();
            add(shapes.entry(format!("{method} {path}")).or_default(), "", value);
        }
    };
    for line in golden("usdm_docs_endpoints.jsonl")?.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        for example in row["examples"].as_array().unwrap() {
            take(row["method"].as_str().unwrap(), row["path"].as_str().unwrap(), example);
        }
    }
    for line in golden("usdm_client_fixtures_rest.jsonl")?.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        take(row["method"].as_str().unwrap(), row["path"].as_str().unwrap(), &row["response"]);
    }
    let live: Value = serde_json::from_str(&golden("fapi_live_2026-09-15.json")?).unwrap();
    for row in live["responses"].as_array().unwrap().iter().filter(|row| row[1] == 200) {
        let (method, path) = row[0].as_str().unwrap().split_once(' ').unwrap();
        take(method, path, &row[2]);
    }
    Some(shapes)
}

const SYMBOL: &str = "symbol=BTCUSDT";
const BUY: &str = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC";

/// Route and answer, in the order asked.
type Answers = Vec<(String, Value)>;

/// What a story of two accounts is answered. Account 1 has isolated margin in BTCUSDT.
fn ours() -> Answers {
    let market = FIRST_PERPETUAL;
    let mut more = vec![
        Command::new(SetMarginMode { account: 1, market, mode: 1, reserved: 0 }),
        Command::new(SetSource { market, source: 1, weight: 1, stale_ms: 0 }),
        Command::new(FeedPrice { market, source: 1, price: 6_000_000_000_000 }),
    ];
    // Long enough for a funding rate to be settled.
    more.extend((1..=125).map(|minute| {
        let mut tick = Command::new(AdvanceTime {});
        tick.time_ns = (START_S + minute * 60) * 1_000_000_000;
        tick
    }));
    let exchange = Exchange::start_perpetual_after(&[(1, 10_000), (2, 10_000)], &more, 0, |_| {});
    exchange.clock.turn(125 * 60_000);
    let mut venue = Venue::of(exchange, [1, 2]);
    let mut answers = Answers::new();
    let mut ask = |venue: &mut Venue, method: &str, path: &str, params: &str| -> Value {
        let body = venue.call(1, method, path, params);
        answers.push((format!("{method} {path}"), body.clone()));
        body
    };
    let batch = |text: &str| format!("batchOrders={}", text.replace('"', "%22"));
    let order = "/fapi/v1/order";
    let trailing = "symbol=BTCUSDT&side=BUY&type=TRAILING_STOP_MARKET&quantity=0.01&callbackRate=1&activationPrice=59000";
    let first = ask(&mut venue, "POST", order, &format!("{BUY}&quantity=0.010&price=60000"));
    ask(&mut venue, "POST", order, trailing);
    ask(&mut venue, "POST", "/fapi/v1/order/test", trailing);
    ask(&mut venue, "POST", "/fapi/v1/order/test", &format!("{BUY}&quantity=0.010&price=60000"));
    venue.place(2, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.004");
    venue.place(2, "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&quantity=0.004&price=60100");
    let id = format!("{SYMBOL}&orderId={}", first["orderId"]);
    ask(&mut venue, "PUT", order, &format!("{id}&side=BUY&quantity=0.011&price=59990"));
    let placed = ask(
        &mut venue,
        "POST",
        "/fapi/v1/batchOrders",
        &batch(
            r#"[{"symbol":"BTCUSDT","side":"BUY","type":"LIMIT","timeInForce":"GTC","quantity":"0.01","price":"59000"},{"symbol":"BTCUSDT","side":"BUY","type":"TRAILING_STOP_MARKET","quantity":"0.01","callbackRate":"1"},{"symbol":"NONE","side":"BUY","type":"MARKET","quantity":"1"}]"#,
        ),
    );
    let changed = format!(
        r#"[{{"symbol":"BTCUSDT","side":"BUY","orderId":{},"quantity":"0.02","price":"59001"}},{{"symbol":"BTCUSDT","orderId":99,"quantity":"1","price":"1"}}]"#,
        placed[0]["orderId"]
    );
    ask(&mut venue, "PUT", "/fapi/v1/batchOrders", &batch(&changed));
    let algo = "algoType=CONDITIONAL&symbol=BTCUSDT&side=SELL";
    ask(
        &mut venue,
        "POST",
        "/fapi/v1/algoOrder",
        &format!("{algo}&type=STOP&quantity=0.001&price=58000&triggerPrice=58500"),
    );
    let waits = ask(
        &mut venue,
        "POST",
        "/fapi/v1/algoOrder",
        &format!("{algo}&type=TRAILING_STOP_MARKET&quantity=0.001&callbackRate=1&activatePrice=61000"),
    );
    ask(&mut venue, "POST", "/fapi/v1/positionMargin", "symbol=BTCUSDT&amount=5&type=1");
    ask(&mut venue, "POST", "/fapi/v1/positionMargin", "symbol=BTCUSDT&amount=1&type=2");
    // Meets its own order, and ends.
    venue.place(1, &format!("{SYMBOL}&side=SELL&type=LIMIT&timeInForce=IOC&quantity=0.001&price=59990&selfTradePreventionMode=EXPIRE_TAKER"));
    let trails = format!("{SYMBOL}&orderId={}", placed[1]["orderId"]);
    for (path, params) in [
        ("/fapi/v1/order", trails.as_str()),
        ("/fapi/v1/openOrder", &trails),
        ("/fapi/v1/order", &id),
        ("/fapi/v1/openOrder", &id),
        ("/fapi/v1/openOrders", SYMBOL),
        ("/fapi/v1/allOrders", SYMBOL),
        ("/fapi/v1/userTrades", SYMBOL),
        ("/fapi/v1/orderAmendment", &id),
        ("/fapi/v1/rateLimit/order", ""),
        ("/fapi/v1/openAlgoOrders", SYMBOL),
        ("/fapi/v1/allAlgoOrders", SYMBOL),
        ("/fapi/v1/algoOrder", &format!("algoId={}", waits["algoId"])),
        ("/fapi/v1/balance", ""),
        ("/fapi/v2/balance", ""),
        ("/fapi/v3/balance", ""),
        ("/fapi/v1/account", ""),
        ("/fapi/v2/account", ""),
        ("/fapi/v3/account", ""),
        ("/fapi/v1/positionRisk", ""),
        ("/fapi/v2/positionRisk", ""),
        ("/fapi/v3/positionRisk", ""),
        ("/fapi/v1/accountConfig", ""),
        ("/fapi/v1/symbolConfig", ""),
        ("/fapi/v1/leverageBracket", ""),
        ("/fapi/v1/leverageBracket", SYMBOL),
        ("/fapi/v1/commissionRate", SYMBOL),
        ("/fapi/v1/income", ""),
        ("/fapi/v1/adlQuantile", ""),
        ("/fapi/v1/apiTradingStatus", ""),
        ("/fapi/v1/marginType", SYMBOL),
        ("/fapi/v1/positionSide/dual", ""),
        ("/fapi/v1/multiAssetsMargin", ""),
        ("/fapi/v1/positionMargin/history", SYMBOL),
        ("/fapi/v1/feeBurn", ""),
        ("/api/v3/preventedMatches", "symbol=BTCUSDT&preventedMatchId=1"),
        ("/fapi/v1/ping", ""),
        ("/fapi/v1/time", ""),
        ("/api/v3/ping", ""),
        ("/api/v3/time", ""),
        ("/sapi/v1/system/status", ""),
        ("/sapi/v1/capital/config/getall", ""),
        ("/sapi/v1/margin/allPairs", ""),
        ("/fapi/v1/exchangeInfo", ""),
        ("/fapi/v1/depth", SYMBOL),
        ("/fapi/v1/trades", SYMBOL),
        ("/fapi/v1/historicalTrades", SYMBOL),
        ("/fapi/v1/aggTrades", SYMBOL),
        ("/fapi/v1/klines", "symbol=BTCUSDT&interval=1m"),
        ("/fapi/v1/continuousKlines", "pair=BTCUSDT&contractType=PERPETUAL&interval=1m"),
        ("/fapi/v1/indexPriceKlines", "pair=BTCUSDT&interval=1m"),
        ("/fapi/v1/markPriceKlines", "symbol=BTCUSDT&interval=1m"),
        ("/fapi/v1/premiumIndexKlines", "symbol=BTCUSDT&interval=1m"),
        ("/fapi/v1/premiumIndex", SYMBOL),
        ("/fapi/v1/premiumIndex", ""),
        ("/fapi/v1/fundingRate", ""),
        ("/fapi/v1/fundingInfo", ""),
        ("/fapi/v1/ticker/24hr", SYMBOL),
        ("/fapi/v1/ticker/24hr", ""),
        ("/fapi/v1/ticker/price", SYMBOL),
        ("/fapi/v1/ticker/price", ""),
        ("/fapi/v2/ticker/price", SYMBOL),
        ("/fapi/v2/ticker/price", ""),
        ("/fapi/v1/ticker/bookTicker", SYMBOL),
        ("/fapi/v1/ticker/bookTicker", ""),
        ("/fapi/v1/openInterest", SYMBOL),
        ("/fapi/v1/openInterestHist", "symbol=BTCUSDT&period=5m"),
        ("/futures/data/openInterestHist", "symbol=BTCUSDT&period=1d"),
        ("/fapi/v1/constituents", SYMBOL),
        ("/fapi/v1/assetIndex", ""),
        ("/fapi/v1/assetIndex", "symbol=USDTUSD"),
        ("/fapi/v1/forceOrders", ""),
        ("/fapi/v1/rpiDepth", SYMBOL),
        ("/fapi/v1/symbolAdlRisk", SYMBOL),
        ("/fapi/v1/symbolAdlRisk", ""),
        ("/fapi/v1/insuranceBalance", SYMBOL),
        ("/fapi/v1/insuranceBalance", ""),
        ("/fapi/v1/indexInfo", ""),
        ("/fapi/v1/tradingSchedule", ""),
    ] {
        ask(&mut venue, "GET", path, params);
    }
    for (method, path, params) in [
        ("POST", "/fapi/v1/leverage", "symbol=ETHUSDT&leverage=21"),
        ("POST", "/fapi/v1/marginType", "symbol=BTCUSDT&marginType=CROSSED"),
        ("POST", "/fapi/v1/positionSide/dual", "dualSidePosition=false"),
        ("POST", "/fapi/v1/multiAssetsMargin", "multiAssetsMargin=false"),
        ("POST", "/fapi/v1/feeBurn", "feeBurn=true"),
        ("POST", "/fapi/v1/countdownCancelAll", "symbol=BTCUSDT&countdownTime=100000"),
        ("POST", "/fapi/v1/listenKey", ""),
        ("PUT", "/fapi/v1/listenKey", ""),
        ("DELETE", "/fapi/v1/listenKey", ""),
        ("DELETE", "/fapi/v1/algoOrder", &format!("algoId={}", waits["algoId"])),
        ("DELETE", "/fapi/v1/algoOpenOrders", SYMBOL),
        ("DELETE", "/fapi/v1/order", &id),
        ("DELETE", "/fapi/v1/order", &trails),
        (
            "DELETE",
            "/fapi/v1/batchOrders",
            &format!("{SYMBOL}&orderIdList=%5B{},99,2%5D", placed[0]["orderId"]),
        ),
        ("DELETE", "/fapi/v1/allOpenOrders", SYMBOL),
    ] {
        ask(&mut venue, method, path, params);
    }
    answers
}

fn shapes_of(answers: &Answers) -> Shapes {
    let mut shapes = Shapes::new();
    for (route, body) in answers {
        add(shapes.entry(route.clone()).or_default(), "", body);
    }
    shapes
}

/// Every difference as a line: route, sign, place, and the types where both have it.
fn differences(ours: &Shapes, theirs: &Shapes) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for (route, shape) in ours {
        let Some(their) = theirs.get(route) else {
            lines.insert(format!("{route} unknown"));
            continue;
        };
        if shape.is_empty() {
            if !their.is_empty() {
                lines.insert(format!("{route} empty"));
            }
            continue;
        }
        for (place, types) in their {
            match shape.get(place) {
                None => lines.insert(format!("{route} - {place}")),
                Some(found) if found.is_disjoint(types) => lines.insert(format!("{route} ~ {place}")),
                Some(_) => false,
            };
        }
        for place in shape.keys().filter(|place| !their.contains_key(*place)) {
            lines.insert(format!("{route} + {place}"));
        }
    }
    lines
}

/// Whether a line of the list, its reason taken off, stands for a difference. A `*` at its end is any rest; one in place of a route
/// is every route, and the name behind it every place that ends so.
fn stands_for(line: &str, difference: &str) -> bool {
    if let Some(start) = line.strip_suffix('*') {
        return difference.starts_with(start);
    }
    let Some(rest) = line.strip_prefix("* ") else { return line == difference };
    let Some((sign, name)) = rest.split_once(' ') else { return false };
    let mut parts = difference.splitn(4, ' ').skip(2);
    let (Some(found), Some(place)) = (parts.next(), parts.next()) else { return false };
    found == sign && place.rsplit(['.', ']']).next() == Some(name)
}

#[test]
fn keys_and_types_are_those_that_clients_know() {
    let answers = ours();
    let ours = shapes_of(&answers);
    let rows: BTreeSet<String> = routes()
        .filter(|route| route.dialect == Dialect::Fapi)
        .map(|route| format!("{} {}", route.method.name(), route.path))
        .filter(|row| !row.contains("{name}") && !row.ends_with("myPreventedMatches"))
        .collect();
    assert_eq!(ours.keys().cloned().collect::<BTreeSet<_>>(), rows, "every route is asked");
    let Some(theirs) = theirs() else { return eprintln!("skipped: the recorded answers are not there") };
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/fapi/differences.txt"));
    let text = text.unwrap();
    let listed: Vec<&str> = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once(": ").expect("each line has its reason").0)
        .collect();
    let found = differences(&ours, &theirs);
    let unlisted: Vec<&String> =
        found.iter().filter(|found| !listed.iter().any(|line| stands_for(line, found))).collect();
    assert!(unlisted.is_empty(), "differences without a reason:\n{}", {
        unlisted.iter().map(|line| format!("{line}\n")).collect::<String>()
    });
    let gone: Vec<&&str> =
        listed.iter().filter(|line| !found.iter().any(|found| stands_for(line, found))).collect();
    assert!(gone.is_empty(), "no differences any more: {gone:?}");
}

/// Why a value is not what the document describes: the place, and what stands there.
fn misfit(described: &Value, document: &Value, value: &Value, place: &str) -> Result<(), String> {
    let is = |holds: bool| if holds { Ok(()) } else { Err(format!("{place}: {value} is no {described}")) };
    let list = |name: &str| described[name].as_array().map(Vec::as_slice);
    if let Some(name) = described["$ref"].as_str() {
        return misfit(document.pointer(&name[1..]).expect("it is there"), document, value, place);
    }
    if let Some(all) = list("anyOf") {
        let misfits: Vec<String> =
            all.iter().map_while(|one| misfit(one, document, value, place).err()).collect();
        return if misfits.len() < all.len() { Ok(()) } else { Err(misfits.join("; ")) };
    }
    if let Some(words) = list("enum") {
        return is(words.contains(value));
    }
    match (described["type"].as_str(), value) {
        // The two patterns of these answers are decimals, one with its sign.
        (Some("string"), Value::String(text)) => {
            let is_decimal = |text: &str| {
                !text.is_empty() && text.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit())
            };
            is(match described["pattern"].as_str() {
                None => true,
                Some(pattern) if pattern.starts_with("^-?") => {
                    is_decimal(text.strip_prefix('-').unwrap_or(text))
                }
                Some(_) => is_decimal(text),
            })
        }
        (Some("integer"), value) => is(value.is_i64() || value.is_u64()),
        (Some("number"), value) => is(value.is_number()),
        (Some("boolean"), value) => is(value.is_boolean()),
        (Some("null"), value) => is(value.is_null()),
        (Some("array"), Value::Array(row)) => match list("prefixItems") {
            Some(all) => {
                is(all.len() == row.len())?;
                all.iter().zip(row).try_for_each(|(one, value)| misfit(one, document, value, place))
            }
            None => row
                .iter()
                .try_for_each(|value| misfit(&described["items"], document, value, &format!("{place}[]"))),
        },
        (Some("object"), Value::Object(members)) => {
            for (name, value) in members {
                let member = described["properties"].get(name);
                let member = member.ok_or_else(|| format!("{place}.{name} is not described"))?;
                misfit(member, document, value, &format!("{place}.{name}"))?;
            }
            let mut required = list("required").expect("it is said").iter().filter_map(Value::as_str);
            let missing = required.find(|name| !members.contains_key(*name));
            missing.map_or(Ok(()), |name| Err(format!("{place}.{name} is missing")))
        }
        (None, _) => is(described.as_object().is_some_and(|described| described.is_empty())),
        _ => is(false),
    }
}

#[test]
fn the_document_describes_every_answer() {
    let document = document(routes());
    let described = |route: &str| {
        let (method, path) = route.split_once(' ').expect("method and path");
        let answer = &document["paths"][path][method.to_ascii_lowercase()]["responses"]["200"];
        &answer["content"]["application/json"]["schema"]
    };
    let wrong: Vec<String> = ours()
        .iter()
        .filter_map(|(route, body)| misfit(described(route), &document, body, route).err())
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
