//! The user data stream through sockets: every way to receive it, the order of its events for everything that orders can come
//! to, the life of its key, and random traders who know their accounts by their streams alone.

use crate::exchange::socket::Socket;
use crate::exchange::venue::Venue;
use crate::exchange::{self, START_S};
use crate::random::{Random, seed_or};
use crate::user_reader::{Reader, decimal};
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const START_MS: i64 = START_S * 1_000;
const HOUR_MS: i64 = 3_600_000;
const BUY: &str = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC";
const SELL: &str = "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC";

fn venue() -> Venue {
    Venue::with(&[(1, 100_000), (2, 100_000), (3, 120)], 1_000_000_000, |config| {
        config.websocket_frames_per_second = u32::MAX;
    })
}

fn read(socket: &mut Socket) -> Vec<Value> {
    socket.drain().unwrap().iter().map(|text| serde_json::from_str(text).unwrap()).collect()
}

/// Turns the clock and lets everything that is due out.
fn wait(venue: &mut Venue, ms: i64) {
    venue.exchange.clock.turn(ms);
    venue.exchange.turn();
}

/// A socket at the account's listen key.
fn listen(venue: &mut Venue, number: u8) -> Socket {
    let key = venue.listen_key(number);
    let mut socket = Socket::at(&venue.exchange, &format!("/ws/{key}"));
    assert_eq!(read(&mut socket), [Value::Null; 0], "no snapshot is sent");
    socket
}

/// An event in a few words.
fn short(event: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{event}")).to_owned();
    match event["e"].as_str().unwrap_or_else(|| panic!("{event}")) {
        "ORDER_TRADE_UPDATE" => {
            let o = &event["o"];
            let reason = if o["er"] == "0" { String::new() } else { format!(" {}", word(&o["er"])) };
            format!("{} {} {}{reason}", word(&o["c"]), word(&o["x"]), word(&o["X"]))
        }
        "TRADE_LITE" => format!("{} lite", word(&event["c"])),
        "ACCOUNT_UPDATE" => format!("account {}", word(&event["a"]["m"])),
        "ACCOUNT_CONFIG_UPDATE" => format!("leverage {}", event["ac"]["l"]),
        "CONDITIONAL_ORDER_TRIGGER_REJECT" => "refused".to_owned(),
        other => other.to_owned(),
    }
}

#[track_caller]
fn tells(socket: &mut Socket, expected: &[&str]) -> Vec<Value> {
    let events = read(socket);
    assert_eq!(events.iter().map(short).collect::<Vec<_>>(), expected);
    events
}

#[test]
fn orders_tell_their_lives_in_the_stated_order() {
    let mut venue = venue();
    let (mut one, mut two) = (listen(&mut venue, 1), listen(&mut venue, 2));

    venue.place(1, &format!("{BUY}&quantity=0.010&price=60000&newClientOrderId=a"));
    tells(&mut one, &["a NEW NEW"]);
    tells(&mut two, &[]);

    venue.place(2, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.004&newClientOrderId=t");
    tells(&mut one, &["a lite", "account ORDER", "a TRADE PARTIALLY_FILLED"]);
    tells(&mut two, &["t NEW NEW", "t lite", "account ORDER", "t TRADE FILLED"]);

    venue.place(1, &format!("{BUY}&quantity=0.010&price=59990&newClientOrderId=b"));
    tells(&mut one, &["b NEW NEW"]);
    let ioc = SELL.replace("GTC", "IOC");
    venue.place(2, &format!("{ioc}&quantity=0.026&price=59990&newClientOrderId=u"));
    tells(&mut one, &["a lite", "b lite", "account ORDER", "a TRADE FILLED", "b TRADE FILLED"]);
    tells(
        &mut two,
        &[
            "u NEW NEW",
            "u lite",
            "u lite",
            "account ORDER",
            "u TRADE PARTIALLY_FILLED",
            "u TRADE PARTIALLY_FILLED",
            "u EXPIRED EXPIRED 2",
        ],
    );

    venue.place(1, &format!("{BUY}&quantity=0.010&price=59000&newClientOrderId=m"));
    venue.call(1, "PUT", "/fapi/v1/order", "symbol=BTCUSDT&origClientOrderId=m&quantity=0.020&price=59001");
    venue.call(1, "DELETE", "/fapi/v1/order", "symbol=BTCUSDT&origClientOrderId=m");
    let events = tells(&mut one, &["m NEW NEW", "m AMENDMENT NEW", "m CANCELED CANCELED"]);
    assert_eq!([&events[1]["o"]["q"], &events[1]["o"]["p"]], ["0.02", "59001"]);

    // A modification that trades at once.
    venue.place(1, &format!("{BUY}&quantity=0.010&price=59000&newClientOrderId=n"));
    venue.place(2, &format!("{SELL}&quantity=0.004&price=59500&newClientOrderId=r"));
    tells(&mut two, &["r NEW NEW"]);
    venue.call(1, "PUT", "/fapi/v1/order", "symbol=BTCUSDT&origClientOrderId=n&quantity=0.010&price=59500");
    tells(&mut one, &["n NEW NEW", "n AMENDMENT NEW", "n lite", "account ORDER", "n TRADE PARTIALLY_FILLED"]);
    tells(&mut two, &["r lite", "account ORDER", "r TRADE FILLED"]);
    venue.call(1, "DELETE", "/fapi/v1/allOpenOrders", "symbol=BTCUSDT");
    tells(&mut one, &["n CANCELED CANCELED"]);

    // Attached orders go before their parent.
    let attached = "&tpTriggerPrice=61000&slTriggerPrice=58000";
    venue.place(1, &format!("{BUY}&quantity=0.010&price=59000&newClientOrderId=p{attached}"));
    venue.call(1, "DELETE", "/fapi/v1/order", "symbol=BTCUSDT&origClientOrderId=p");
    tells(
        &mut one,
        &[
            "p NEW NEW",
            "p_tp NEW NEW",
            "p_sl NEW NEW",
            "p_tp CANCELED CANCELED",
            "p_sl CANCELED CANCELED",
            "p CANCELED CANCELED",
        ],
    );

    // With oneself: the maker comes first.
    venue.place(1, &format!("{BUY}&quantity=0.010&price=59900&newClientOrderId=s"));
    venue.place(1, &format!("{ioc}&quantity=0.010&price=59900&newClientOrderId=v"));
    tells(
        &mut one,
        &["s NEW NEW", "v NEW NEW", "s lite", "v lite", "account ORDER", "s TRADE FILLED", "v TRADE FILLED"],
    );
    venue.place(1, &format!("{BUY}&quantity=0.010&price=59900&newClientOrderId=w"));
    venue.place(
        1,
        &format!("{ioc}&quantity=0.010&price=59900&newClientOrderId=x&selfTradePreventionMode=EXPIRE_BOTH"),
    );
    let events = tells(
        &mut one,
        &["w NEW NEW", "x NEW NEW", "w EXPIRED EXPIRED_IN_MATCH 1", "x EXPIRED EXPIRED_IN_MATCH 3"],
    );
    assert_eq!([&events[2]["o"]["V"], &events[3]["o"]["V"]], ["NONE", "EXPIRE_BOTH"]);

    // Leverage, alone and with an order.
    venue.call(1, "POST", "/fapi/v1/leverage", "symbol=BTCUSDT&leverage=15");
    venue.call(1, "POST", "/fapi/v1/leverage", "symbol=BTCUSDT&leverage=15");
    venue.place(1, &format!("{BUY}&quantity=0.010&price=59000&newClientOrderId=y&leverage=10"));
    tells(&mut one, &["leverage 15", "leverage 10", "y NEW NEW"]);
    venue.call(1, "DELETE", "/fapi/v1/allOpenOrders", "symbol=BTCUSDT");
    tells(&mut one, &["y CANCELED CANCELED"]);
    tells(&mut two, &[]);

    // What is refused, or only tried, says nothing.
    venue.place(1, &format!("{BUY}&quantity=0.010&price=59000&newClientOrderId=z"));
    let before = venue.ask(
        1,
        "POST",
        "/fapi/v1/order",
        &format!("{BUY}&quantity=0.010&price=59000&newClientOrderId=z"),
    );
    assert_eq!(before.0, 400);
    venue.call(1, "POST", "/fapi/v1/order/test", &format!("{BUY}&quantity=0.010&price=59000"));
    tells(&mut one, &["z NEW NEW"]);
}

#[test]
fn triggers_dates_funding_and_operators_are_told() {
    let mut venue = venue();
    let (mut one, mut two) = (listen(&mut venue, 1), listen(&mut venue, 2));
    venue.place(2, &format!("{SELL}&quantity=0.100&price=60100&newClientOrderId=ask"));
    tells(&mut two, &["ask NEW NEW"]);
    let stop =
        "symbol=BTCUSDT&side=BUY&type=STOP_MARKET&workingType=MARK_PRICE&stopPrice=60500&newClientOrderId";
    venue.place(1, &format!("{stop}=stop&quantity=0.010"));
    venue.place(1, &format!("{stop}=reduce&quantity=0.010&reduceOnly=true"));
    tells(&mut one, &["stop NEW NEW", "reduce NEW NEW"]);
    venue.operate("POST", "/admin/perpetual/index-price", r#"{"symbol":"BTCUSDT","price":"60600"}"#);
    wait(&mut venue, 1_000);
    let events = tells(
        &mut one,
        &[
            "stop NEW NEW",
            "stop lite",
            "account ORDER",
            "stop TRADE FILLED",
            "refused",
            "reduce EXPIRED EXPIRED 8",
        ],
    );
    assert_eq!([&events[0]["o"]["o"], &events[0]["o"]["ot"]], ["MARKET", "STOP_MARKET"]);
    assert_eq!((&events[0]["o"]["i"], &events[4]["or"]["i"]), (&json!(2), &json!(3)));
    assert_eq!(events[4]["or"]["r"], "ReduceOnly Order is rejected.");
    tells(&mut two, &["ask lite", "account ORDER", "ask TRADE PARTIALLY_FILLED"]);

    // A date that has come is no reason of its own.
    let till = venue.exchange.clock.now_ms() + 700_000;
    let dated = BUY.replace("GTC", "GTD");
    venue.place(
        1,
        &format!(
            "{dated}&quantity=0.010&price=59000&newClientOrderId=gtd&goodTillDate={}",
            till / 1_000 * 1_000
        ),
    );
    let events = tells(&mut one, &["gtd NEW NEW"]);
    assert_eq!(events[0]["o"]["gtd"], till / 1_000 * 1_000);
    wait(&mut venue, 701_000);
    tells(&mut one, &["gtd EXPIRED EXPIRED"]);

    venue.operate(
        "POST",
        "/admin/perpetual/credit",
        &format!(r#"{{"user_address":"{}","amount":"5"}}"#, exchange::wallet_text(1)),
    );
    let events = tells(&mut one, &["account ADMIN_DEPOSIT"]);
    assert_eq!((&events[0]["a"]["B"][0]["bc"], &events[0]["a"]["P"]), (&json!("5.00000000"), &json!([])));

    // Two hours with all their samples.
    for tick in 0..1_500 {
        wait(&mut venue, 5_000);
        if tick % 500 == 0 {
            for number in 1..=2 {
                venue.listen_key(number);
            }
        }
    }
    let funding: Vec<Value> = read(&mut one);
    assert!(
        !funding.is_empty() && funding.iter().all(|event| short(event) == "account FUNDING_FEE"),
        "{funding:?}"
    );
    let paid = &funding[0]["a"];
    assert_eq!(paid["P"], json!([]), "cross");
    assert!(!decimal(&paid["B"][0]["bc"]).is_zero());
    assert_eq!(
        read(&mut two).iter().map(short).collect::<Vec<_>>(),
        vec!["account FUNDING_FEE"; funding.len()]
    );
}

#[test]
fn a_conditional_order_stays_what_it_was_when_what_it_became_is_changed() {
    let mut venue = venue();
    let mut one = listen(&mut venue, 1);
    let algo = |venue: &mut Venue| venue.call(1, "GET", "/fapi/v1/algoOrder", "clientAlgoId=algo");
    venue.call(
        1,
        "POST",
        "/fapi/v1/algoOrder",
        "algoType=CONDITIONAL&symbol=BTCUSDT&side=BUY&type=STOP&workingType=MARK_PRICE&triggerPrice=60500&price=59500&quantity=0.010&clientAlgoId=algo&selfTradePreventionMode=EXPIRE_TAKER",
    );
    venue.operate("POST", "/admin/perpetual/index-price", r#"{"symbol":"BTCUSDT","price":"60600"}"#);
    wait(&mut venue, 1_000);
    venue.call(
        1,
        "PUT",
        "/fapi/v1/order",
        "symbol=BTCUSDT&origClientOrderId=algo&quantity=0.020&price=59400",
    );
    venue.call(1, "DELETE", "/fapi/v1/order", "symbol=BTCUSDT&origClientOrderId=algo");
    let expected = [
        "NEW",
        "TRIGGERING",
        "TRIGGERED",
        "algo NEW NEW",
        "algo AMENDMENT NEW",
        "algo CANCELED CANCELED",
        "FINISHED",
    ];
    let events = read(&mut one);
    let told: Vec<_> = events
        .iter()
        .map(|event| event["o"]["aid"].is_u64().then(|| event["o"]["X"].as_str().unwrap().to_owned()))
        .zip(&events)
        .map(|(status, event)| status.unwrap_or_else(|| short(event)))
        .collect();
    assert_eq!(told, expected);
    let (row, last) = (algo(&mut venue), &events[6]["o"]);
    for (key, name) in
        [("q", "quantity"), ("p", "price"), ("V", "selfTradePreventionMode"), ("tt", "triggerTime")]
    {
        assert_eq!(last[key], row[name], "{name}");
        assert_eq!(last[key], events[2]["o"][key], "{name}");
    }
    assert_eq!(
        (&last["q"], &last["p"], &last["V"]),
        (&json!("0.01"), &json!("59500"), &json!("EXPIRE_TAKER"))
    );
}

#[test]
fn a_liquidation_is_told_to_its_account() {
    let mut venue = venue();
    let mut three = listen(&mut venue, 3);
    let mut reader = Reader::default();
    venue.call(3, "POST", "/fapi/v1/leverage", "symbol=BTCUSDT&leverage=100");
    venue.place(1, &format!("{SELL}&quantity=0.100&price=60000.1"));
    venue.place(3, &format!("{BUY}&quantity=0.100&price=60000.1&newClientOrderId=long"));
    venue.place(3, &format!("{BUY}&quantity=0.001&price=58500&newClientOrderId=rest"));
    venue.place(1, &format!("{BUY}&quantity=1.000&price=59300"));
    let mut events = read(&mut three);
    for price in ["59120", "59000"] {
        venue.operate(
            "POST",
            "/admin/perpetual/index-price",
            &json!({ "symbol": "BTCUSDT", "price": price }).to_string(),
        );
        wait(&mut venue, 1_000);
        wait(&mut venue, 1_000);
        events.extend(read(&mut three));
    }
    events.iter().for_each(|event| reader.read(event));
    assert!(reader.orders.is_empty() && reader.positions["BTCUSDT"]["pa"] == "0", "{reader:?}");
    for met in ["MARGIN_CALL", "x CALCULATED", "er 5"] {
        assert!(reader.met.contains_key(met), "no {met}: {:?}", reader.met);
    }
    let orders = events.iter().filter(|event| event["o"]["x"] == "CALCULATED");
    for order in orders {
        let o = &order["o"];
        assert_eq!([&o["o"], &o["ot"], &o["S"], &o["f"]], ["LIQUIDATION", "LIQUIDATION", "SELL", "IOC"]);
        assert!(o["c"].as_str().unwrap().starts_with("autoclose-"), "{o}");
    }
    let account = venue.call(3, "GET", "/fapi/v2/account", "");
    assert_eq!(reader.wallet.unwrap().0, decimal(&account["totalWalletBalance"]));
}

#[test]
fn a_liquidation_past_the_book_bears_the_name_of_one() {
    let mut venue = venue();
    let mut three = listen(&mut venue, 3);
    venue.call(3, "POST", "/fapi/v1/leverage", "symbol=BTCUSDT&leverage=100");
    venue.place(1, &format!("{SELL}&quantity=0.100&price=60000.1"));
    venue.place(3, &format!("{BUY}&quantity=0.100&price=60000.1"));
    // No order matches, a liquidation's neither.
    venue.operate("PATCH", "/admin/perpetual/symbols/BTCUSDT", r#"{"state":"POST_ONLY"}"#);
    venue.operate("POST", "/admin/perpetual/index-price", r#"{"symbol":"BTCUSDT","price":"59000"}"#);
    let mut closed = Vec::new();
    for _ in 0..3 {
        wait(&mut venue, 1_000);
        closed.extend(read(&mut three).into_iter().filter(|event| event["o"]["x"] == "CALCULATED"));
    }
    assert_eq!(closed.len(), 1, "{closed:?}");
    let order = &closed[0]["o"];
    assert_eq!([&order["o"], &order["S"], &order["X"]], ["LIQUIDATION", "SELL", "FILLED"]);
    let name = format!("autoclose-{}", order["T"]);
    assert!(order["c"].as_str().unwrap().starts_with(&name), "{order}");
}

#[test]
fn events_have_these_bytes() {
    let mut venue = venue();
    let key = venue.listen_key(1);
    let mut one = Socket::at(&venue.exchange, &format!("/ws/{key}"));
    let mut wrapped = Socket::at(&venue.exchange, &format!("/stream?streams={key}"));
    venue.call(1, "POST", "/fapi/v1/leverage", "symbol=BTCUSDT&leverage=50");
    venue.place(1, &format!("{BUY}&quantity=0.010&price=60000.0&newClientOrderId=a"));
    venue.place(2, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.004");
    venue.place(1, "symbol=BTCUSDT&side=SELL&type=TRAILING_STOP_MARKET&quantity=0.001&callbackRate=1.5&activationPrice=61000&newClientOrderId=t");
    let texts = one.drain().unwrap();
    let ms = START_MS;
    let o = |c: &str, side: &str, kind: &str, q: &str, p: &str, rest: &str| {
        format!(
            r#"{{"e":"ORDER_TRADE_UPDATE","E":{ms},"T":{ms},"o":{{"s":"BTCUSDT","c":"{c}","S":"{side}","o":"{kind}","f":"GTC","q":"{q}","p":"{p}",{rest}}}}}"#
        )
    };
    let expected = [
        format!(r#"{{"e":"ACCOUNT_CONFIG_UPDATE","E":{ms},"T":{ms},"ac":{{"s":"BTCUSDT","l":50}}}}"#),
        o(
            "a",
            "BUY",
            "LIMIT",
            "0.01",
            "60000",
            &format!(
                r#""ap":"0","sp":"0","x":"NEW","X":"NEW","i":1,"l":"0","z":"0","L":"0","N":"USDT","n":"0","T":{ms},"t":0,"b":"600.00000000","a":"0","m":false,"R":false,"wt":"CONTRACT_PRICE","ot":"LIMIT","ps":"BOTH","cp":false,"pP":false,"si":0,"ss":0,"rp":"0","V":"NONE","pm":"NONE","gtd":0,"er":"0""#
            ),
        ),
        format!(
            r#"{{"e":"TRADE_LITE","E":{ms},"T":{ms},"s":"BTCUSDT","q":"0.01","p":"60000","m":true,"c":"a","S":"BUY","L":"60000","l":"0.004","t":1,"i":1}}"#
        ),
        format!(
            r#"{{"e":"ACCOUNT_UPDATE","E":{ms},"T":{ms},"a":{{"m":"ORDER","B":[{{"a":"USDT","wb":"99999.95200000","cw":"99999.95200000","bc":"0"}}],"P":[{{"s":"BTCUSDT","pa":"0.004","ep":"60000","bep":"60012","cr":"0.00000000","up":"0.00000000","mt":"cross","iw":"0.00000000","ps":"BOTH","ma":"USDT"}}]}}}}"#
        ),
        o(
            "a",
            "BUY",
            "LIMIT",
            "0.01",
            "60000",
            &format!(
                r#""ap":"60000","sp":"0","x":"TRADE","X":"PARTIALLY_FILLED","i":1,"l":"0.004","z":"0.004","L":"60000","N":"USDT","n":"0.04800000","T":{ms},"t":1,"b":"360.00000000","a":"0","m":true,"R":false,"wt":"CONTRACT_PRICE","ot":"LIMIT","ps":"BOTH","cp":false,"pP":false,"si":0,"ss":0,"rp":"0","V":"NONE","pm":"NONE","gtd":0,"er":"0""#
            ),
        ),
        o(
            "t",
            "SELL",
            "TRAILING_STOP_MARKET",
            "0.001",
            "0",
            &format!(
                r#""ap":"0","sp":"0","x":"NEW","X":"NEW","i":3,"l":"0","z":"0","L":"0","N":"USDT","n":"0","T":{ms},"t":0,"b":"360.00000000","a":"0","m":false,"R":false,"wt":"CONTRACT_PRICE","ot":"TRAILING_STOP_MARKET","ps":"BOTH","cp":false,"AP":"61000","cr":"1.5","pP":false,"si":0,"ss":0,"rp":"0","V":"NONE","pm":"NONE","gtd":0,"er":"0""#
            ),
        ),
    ];
    assert_eq!(texts, expected);
    let wrappers = expected.map(|text| format!(r#"{{"stream":"{key}","data":{text}}}"#));
    assert_eq!(wrapped.drain().unwrap(), wrappers);
}

/// `V-36` of `risk.md` (C-09): open orders' reference values after each event, not after its command, for whoever was met twice and
/// for the order that arrives.
#[test]
fn open_orders_are_worth_what_is_left_of_them_after_each_event() {
    let mut venue = venue();
    let (mut one, mut two) = (listen(&mut venue, 1), listen(&mut venue, 2));
    let worth = |socket: &mut Socket| -> Vec<String> {
        let orders = read(socket).into_iter().filter(|event| event["e"] == "ORDER_TRADE_UPDATE");
        let text = |o: &Value| {
            let [b, a] =
                ["b", "a"].map(|side| o[side].as_str().unwrap().split('.').next().unwrap().to_owned());
            format!("{} {} {b} {a}", o["c"].as_str().unwrap(), o["x"].as_str().unwrap())
        };
        orders.map(|event| text(&event["o"])).collect()
    };
    let rest = |venue: &mut Venue, number: u8, side: &str, price: &str, names: &[&str]| {
        for name in names {
            venue.place(number, &format!("{side}&quantity=0.050&price={price}&newClientOrderId={name}"));
        }
    };

    // Two of three bids are met by one order.
    rest(&mut venue, 1, BUY, "58900", &["a", "b", "c"]);
    assert_eq!(worth(&mut one), ["a NEW 2945 0", "b NEW 5890 0", "c NEW 8835 0"]);
    venue.place(2, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.100");
    assert_eq!(worth(&mut one), ["a TRADE 5890 0", "b TRADE 2945 0"]);
    // The same in the long way through the engine: one of them has a child.
    let child = "newClientOrderId=d&tpTriggerPrice=70000";
    venue.place(1, &format!("{BUY}&quantity=0.050&price=58900&{child}"));
    worth(&mut one);
    venue.place(2, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.100");
    let told: Vec<String> = worth(&mut one).into_iter().filter(|told| told.contains(" TRADE ")).collect();
    assert_eq!(told, ["c TRADE 2945 0", "d TRADE 0 0"]);
    worth(&mut two);

    // An order that arrives, is filled twice and rests; another that is filled whole.
    rest(&mut venue, 2, SELL, "58900", &["e", "f"]);
    worth(&mut two);
    venue.place(1, &format!("{BUY}&quantity=0.150&price=58900&newClientOrderId=g"));
    assert_eq!(worth(&mut one), ["g NEW 8835 0", "g TRADE 5890 0", "g TRADE 2945 0"]);
    // An offer below the mark is worth the mark.
    assert_eq!(worth(&mut two), ["e TRADE 0 3000", "f TRADE 0 0"]);
    rest(&mut venue, 1, BUY, "58900", &["h"]);
    worth(&mut one);
    venue.place(2, &format!("{SELL}&quantity=0.100&price=58900&newClientOrderId=i"));
    assert_eq!(worth(&mut one), ["g TRADE 2945 0", "h TRADE 0 0"]);
    assert_eq!(worth(&mut two), ["i NEW 0 6000", "i TRADE 0 3000", "i TRADE 0 0"]);

    // A change that makes an order cross; what may not rest is never open.
    rest(&mut venue, 1, BUY, "58000", &["j", "k"]);
    rest(&mut venue, 2, SELL, "58900", &["l"]);
    worth(&mut one);
    venue.call(
        1,
        "PUT",
        "/fapi/v1/order",
        "symbol=BTCUSDT&side=BUY&origClientOrderId=j&quantity=0.150&price=58900",
    );
    assert_eq!(worth(&mut one), ["j AMENDMENT 11735 0", "j TRADE 8790 0"]);
    venue.place(
        2,
        "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=IOC&quantity=0.010&price=58900&newClientOrderId=m",
    );
    assert_eq!(worth(&mut two), ["l NEW 0 3000", "l TRADE 0 0", "m NEW 0 0", "m TRADE 0 0"]);
    assert_eq!(worth(&mut one), ["j TRADE 8201 0"]);

    // Two that end with one command; an own order that self-trade prevention ends on the way.
    rest(&mut venue, 1, BUY, "58000", &["n", "o"]);
    worth(&mut one);
    venue.call(1, "DELETE", "/fapi/v1/allOpenOrders", "symbol=BTCUSDT");
    let mut told = worth(&mut one);
    // It waits for its price, and is nowhere counted.
    assert_eq!(told.remove(0), "d_tp CANCELED 14001 0");
    assert_eq!(told, ["j CANCELED 8700 0", "k CANCELED 5800 0", "n CANCELED 2900 0", "o CANCELED 0 0"]);
    rest(&mut venue, 1, SELL, "60000", &["p", "q"]);
    rest(&mut venue, 2, SELL, "60000", &["r", "s"]);
    worth(&mut one);
    venue.place(
        1,
        &format!("{BUY}&quantity=0.150&price=60000&newClientOrderId=t&selfTradePreventionMode=EXPIRE_MAKER"),
    );
    let told = worth(&mut one);
    assert_eq!(
        told,
        ["t NEW 9000 6000", "p EXPIRED 9000 3000", "q EXPIRED 9000 0", "t TRADE 6000 0", "t TRADE 3000 0"]
    );
}

#[test]
fn every_way_to_listen_hears_the_same() {
    let mut venue = venue();
    let key = venue.listen_key(1);
    let bare = [
        format!("/ws/{key}"),
        format!("/private/ws/{key}"),
        format!("/ws?listenKey={key}"),
        format!("/private/ws?listenKey={key}"),
    ];
    let wrapped = [
        format!("/stream?streams={key}"),
        format!("/stream?listenKey={key}"),
        format!("/private/stream?streams=btcusdt@forceOrder/{key}"),
    ];
    let mut bare = bare.map(|path| Socket::at(&venue.exchange, &path)).into_iter().collect::<Vec<_>>();
    let mut wrapped = wrapped.map(|path| Socket::at(&venue.exchange, &path)).into_iter().collect::<Vec<_>>();
    let mut chosen =
        Socket::at(&venue.exchange, &format!("/ws?listenKey={key}&events=ORDER_TRADE_UPDATE/TRADE_LITE"));
    for (path, list) in [("/ws", &mut bare), ("/private/stream", &mut wrapped)] {
        let mut socket = Socket::at(&venue.exchange, path);
        assert_eq!(
            socket.ask(&json!({ "method": "SUBSCRIBE", "params": [key], "id": "x" }).to_string()),
            [json!({ "result": null, "id": "x" })]
        );
        list.push(socket);
    }
    // The channels, by listen key and by token; and an account that is another's.
    let token = venue.exchange.account(1)[0].replace("Authorization: Bearer ", "");
    let mut channels: Vec<Socket> = Vec::new();
    for frame in
        [json!({ "type": "auth", "listenKey": key }), json!({ "type": "auth_token", "token": token })]
    {
        let mut socket = Socket::open(&venue.exchange);
        assert_eq!(socket.subscribe("orders")["code"], "AUTH_REQUIRED");
        assert_eq!(
            socket.ask(&frame.to_string()),
            [json!({ "type": "auth_result", "success": true, "message": null })]
        );
        for channel in ["orders", "positions", "balances", "vip_tier", "user_data"] {
            assert_eq!(socket.subscribe(channel), json!({ "type": "subscribed", "channel": channel }));
        }
        channels.push(socket);
    }
    let mut foreign = listen(&mut venue, 2);
    let mut stranger = Socket::open(&venue.exchange);
    let wrong = json!({ "type": "auth", "listenKey": "x".repeat(64) });
    assert_eq!(
        stranger.ask(&wrong.to_string()),
        [json!({ "type": "auth_result", "success": false, "message": "invalid listenKey" })]
    );

    venue.call(1, "POST", "/fapi/v1/leverage", "symbol=BTCUSDT&leverage=50");
    venue.place(1, &format!("{BUY}&quantity=0.010&price=60000&newClientOrderId=a"));
    venue.place(3, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.004");
    let heard = tells(
        &mut bare[0],
        &["leverage 50", "a NEW NEW", "a lite", "account ORDER", "a TRADE PARTIALLY_FILLED"],
    );
    for socket in &mut bare[1..] {
        assert_eq!(read(socket), heard);
    }
    for socket in &mut wrapped {
        let events: Vec<Value> = heard.iter().map(|event| json!({ "stream": key, "data": event })).collect();
        assert_eq!(read(socket), events);
    }
    let rest = venue.call(1, "GET", "/fapi/v3/balance", "");
    let orders: Vec<Value> = [1, 2, 4].map(|place| heard[place].clone()).to_vec();
    assert_eq!(read(&mut chosen), orders);
    for socket in &mut channels {
        let frames = read(socket);
        let of = |channel: &str| -> Vec<Value> {
            let own = frames.iter().filter(|frame| frame["channel"] == *channel);
            own.map(|frame| {
                let keys: BTreeSet<&str> = frame.as_object().unwrap().keys().map(String::as_str).collect();
                assert_eq!(keys, BTreeSet::from(["type", "channel", "data"]));
                assert!(channel == "balances" || frame["type"] == frame["data"]["e"], "{frame}");
                frame["data"].clone()
            })
            .collect()
        };
        assert_eq!(of("user_data"), heard);
        assert_eq!(of("orders"), orders);
        assert_eq!(of("positions"), [heard[0].clone(), heard[3].clone()]);
        let balance = json!({
            "asset": "USDT", "wallet_balance": "99999.95200000", "cross_wallet_balance": "99999.95200000",
            "available_balance": rest[0]["availableBalance"], "change": "-0.04800000", "reason": "ORDER", "ts": START_MS,
        });
        assert_eq!(of("balances"), [balance]);
        assert_eq!(of("vip_tier"), [Value::Null; 0]);
    }
    assert_eq!(read(&mut foreign), [Value::Null; 0]);
    assert_eq!(read(&mut stranger), [Value::Null; 0]);
    // Who no longer listens hears nothing more.
    assert_eq!(
        bare.last_mut()
            .unwrap()
            .ask(&json!({ "method": "UNSUBSCRIBE", "params": [key], "id": 2 }).to_string()),
        [json!({ "result": null, "id": 2 })]
    );
    venue.call(1, "DELETE", "/fapi/v1/allOpenOrders", "symbol=BTCUSDT");
    assert_eq!(read(bare.last_mut().unwrap()), [Value::Null; 0]);
    tells(&mut bare[0], &["a CANCELED CANCELED"]);
}

#[test]
fn nothing_is_told_before_the_journal_has_it() {
    let mut venue = venue();
    let mut one = listen(&mut venue, 1);
    venue.exchange.is_gate_open = false;
    let mut client = venue.exchange.connect();
    let (path, header) =
        venue.target(1, "/fapi/v1/order", &format!("{BUY}&quantity=0.010&price=60000&newClientOrderId=a"));
    exchange::send(&mut client, "POST", &path, &header, "");
    venue.exchange.wait_for_queue(1);
    venue.exchange.turn();
    assert_eq!(read(&mut one), [Value::Null; 0]);
    venue.exchange.is_gate_open = true;
    let answer = venue.exchange.receive(&mut client, true);
    assert_eq!(answer.status, 200, "{}", answer.body);
    tells(&mut one, &["a NEW NEW"]);
}

#[test]
fn a_key_that_is_over_ends_its_streams_and_nothing_else() {
    for is_deleted in [false, true] {
        let mut venue = venue();
        let key = venue.listen_key(1);
        let mut bare = Socket::at(&venue.exchange, &format!("/ws/{key}/btcusdt@trade"));
        let mut wrapped = Socket::at(&venue.exchange, &format!("/stream?streams={key}"));
        let mut chosen =
            Socket::at(&venue.exchange, &format!("/ws?listenKey={key}&events=ORDER_TRADE_UPDATE"));
        let mut channel = Socket::open(&venue.exchange);
        channel.ask(&json!({ "type": "auth", "listenKey": key }).to_string());
        channel.subscribe("orders");
        assert_eq!(channel.subscribe("spot:user:orders")["type"], "subscribed", "the fourth way to log in");
        if is_deleted {
            venue.call(1, "DELETE", "/fapi/v1/listenKey", "");
        } else {
            wait(&mut venue, HOUR_MS);
        }
        let now_ms = venue.exchange.clock.now_ms();
        let last = json!({ "e": "listenKeyExpired", "E": now_ms, "listenKey": key });
        assert_eq!(bare.next(), last);
        assert_eq!(wrapped.next(), json!({ "stream": key, "data": last }));
        for name in ["orders", "spot:user:orders"] {
            assert_eq!(channel.next(), json!({ "type": "listenKeyExpired", "channel": name, "data": last }));
        }
        assert_eq!(channel.subscribe("orders")["code"], "AUTH_REQUIRED");
        // Market streams go on; the account's events do not.
        venue.place(1, &format!("{BUY}&quantity=0.010&price=60000&newClientOrderId=a"));
        venue.place(2, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.004");
        assert_eq!(read(&mut bare).iter().map(|event| event["e"].clone()).collect::<Vec<_>>(), ["trade"]);
        for socket in [&mut wrapped, &mut chosen, &mut channel] {
            assert_eq!(read(socket), [Value::Null; 0]);
        }
        // A new key on the same connections.
        let next = venue.listen_key(1);
        assert_ne!(next, key);
        bare.ask(&json!({ "method": "SUBSCRIBE", "params": [next], "id": 1 }).to_string());
        channel.ask(&json!({ "type": "auth", "listenKey": next }).to_string());
        channel.subscribe("orders");
        venue.call(1, "DELETE", "/fapi/v1/allOpenOrders", "symbol=BTCUSDT");
        tells(&mut bare, &["a CANCELED CANCELED"]);
        assert_eq!(read(&mut channel)[0]["data"]["o"]["x"], "CANCELED");
    }
}

#[test]
fn an_api_key_that_is_taken_back_ends_the_streams_that_it_may_have_opened() {
    let keys = "/api/v1/account/api-keys";
    for (method, body, ends) in [
        ("DELETE", json!({}), true),
        ("PATCH", json!({ "enabled": false }), true),
        ("PATCH", json!({ "permissions": ["trade"] }), true),
        ("PATCH", json!({ "ip_whitelist": ["192.0.2.1"] }), true),
        ("PATCH", json!({ "label": "the same by another name" }), false),
    ] {
        let mut venue = venue();
        let key = venue.listen_key(1);
        let mut bare = Socket::at(&venue.exchange, &format!("/ws/{key}"));
        let mut channel = Socket::open(&venue.exchange);
        channel.ask(&json!({ "type": "auth", "listenKey": key }).to_string());
        assert_eq!(channel.subscribe("spot:user:orders")["type"], "subscribed");
        let login = venue.exchange.account(1);
        let listed = venue.exchange.request("GET", keys, &login, "");
        let listed: Value = serde_json::from_str(&listed.body).unwrap();
        let path = format!("{keys}/{}", listed[0]["id"]);
        let answer = venue.exchange.request(method, &path, &login, &body.to_string());
        assert_eq!(answer.status, 200, "{}", answer.body);
        venue.exchange.turn();
        let told = read(&mut bare);
        assert_eq!(told.iter().any(|event| event["e"] == "listenKeyExpired"), ends, "{body}");
        assert_eq!(read(&mut channel).iter().any(|event| event["type"] == "listenKeyExpired"), ends);
        let again =
            Socket::open(&venue.exchange).ask(&json!({ "type": "auth", "listenKey": key }).to_string());
        assert_eq!(again.iter().any(|answer| answer["success"] == false), ends, "{again:?}");
    }
}

/// C-18: however often the stream renews the key.
#[test]
fn an_api_key_that_expires_ends_the_streams_that_it_may_have_opened() {
    let mut venue = venue();
    let until_s = venue.exchange.clock.now_s() + 2 * HOUR_MS / 1_000;
    let brief = venue.trader_until(1, (true, true), Some(until_s));
    let made = venue.send(&brief, "POST", "/fapi/v1/listenKey", "");
    let made: Value = serde_json::from_str(&made.body).unwrap();
    let key = made["listenKey"].as_str().unwrap();
    let mut bare = Socket::at(&venue.exchange, &format!("/ws/{key}"));
    let mut channel = Socket::open(&venue.exchange);
    channel.ask(&json!({ "type": "auth", "listenKey": key }).to_string());
    channel.subscribe("orders");
    for _ in 0..2 {
        wait(&mut venue, HOUR_MS - 1_000);
        bare.ask(&json!({ "method": "LIST_SUBSCRIPTIONS", "id": 1 }).to_string());
        assert_eq!(read(&mut channel), [Value::Null; 0], "it lives");
    }
    wait(&mut venue, 2_000);
    assert_eq!(bare.next()["e"], "listenKeyExpired");
    assert_eq!(channel.next()["type"], "listenKeyExpired");
    let again = Socket::open(&venue.exchange).ask(&json!({ "type": "auth", "listenKey": key }).to_string());
    assert!(again.iter().any(|answer| answer["success"] == false), "{again:?}");
}

#[test]
fn text_frames_renew_the_key_of_their_connection() {
    let mut venue = venue();
    let key = venue.listen_key(1);
    let listener = |venue: &Venue, kind: usize| {
        let mut socket =
            Socket::at(&venue.exchange, &if kind == 0 { format!("/ws/{key}") } else { "/ws".to_owned() });
        match kind {
            1 => drop(socket.ask(&json!({ "method": "SUBSCRIBE", "params": [key], "id": 1 }).to_string())),
            2 => drop(socket.ask(&json!({ "type": "auth", "listenKey": key }).to_string())),
            _ => {}
        }
        socket
    };
    for kind in 0..3 {
        for frame in [r#"{"type":"ping"}"#, r#"{"method":"LIST_SUBSCRIPTIONS","id":1}"#, "nonsense"] {
            let mut socket = listener(&venue, kind);
            wait(&mut venue, HOUR_MS - 1);
            socket.send(frame);
            socket.next();
            // The hour begins again at that frame.
            wait(&mut venue, HOUR_MS - 1);
            assert_eq!(
                venue.call(1, "PUT", "/fapi/v1/listenKey", ""),
                json!({ "listenKey": key }),
                "{frame} at {kind}"
            );
            drop(socket);
        }
    }
    // Another one's frames do not, nor do control frames.
    let mut socket = listener(&venue, 0);
    let mut other = Socket::open(&venue.exchange);
    wait(&mut venue, HOUR_MS - 1);
    other.send(r#"{"type":"ping"}"#);
    other.next();
    assert_eq!(read(&mut socket), [Value::Null; 0], "pings of the protocol were sent and answered");
    wait(&mut venue, 1);
    assert_eq!(socket.next()["e"], "listenKeyExpired");
}

#[test]
fn traders_know_their_accounts_by_their_streams_alone() {
    let mut random = Random::new(seed_or("user_stream::traders_know", 2));
    let accounts = [(1, 100_000), (2, 20_000), (3, 600), (4, 150)];
    let mut venue = Venue::with(&accounts, 1_000_000_000, |config| {
        config.websocket_frames_per_second = u32::MAX;
    });
    let mut index = 60_000_i64;
    // Two sockets each: what one hears the other hears.
    let mut sockets: Vec<[Socket; 2]> =
        (1..=4).map(|number| [(); 2].map(|()| listen(&mut venue, number))).collect();
    // They begin with what REST says, as clients do.
    let mut readers: Vec<Reader> = accounts.iter().map(|(_, amount)| Reader::with(*amount)).collect();
    for round in 0..400 {
        for _ in 0..4 {
            let number = 1 + random.below(4) as u8;
            let side = ["BUY", "SELL"][random.below(2) as usize];
            let lots = 1 + random.below(40);
            let (quantity, price) = (format!("0.{lots:03}"), index + random.below(400) as i64 - 200);
            let common = format!("symbol=BTCUSDT&side={side}");
            let mode = ["NONE", "EXPIRE_MAKER", "EXPIRE_TAKER", "EXPIRE_BOTH"][random.below(4) as usize];
            let orders = venue.call(number, "GET", "/fapi/v1/openOrders", "symbol=BTCUSDT");
            let orders = orders.as_array().unwrap();
            let known = if orders.is_empty() {
                0
            } else {
                orders[random.below(orders.len() as u64) as usize]["orderId"].as_u64().unwrap()
            };
            let (method, path, params) = match random.below(12) {
                0..=4 => (
                    "POST",
                    "/fapi/v1/order",
                    format!(
                        "{common}&type=LIMIT&timeInForce={}&quantity={quantity}&price={price}&selfTradePreventionMode={mode}",
                        ["GTC", "GTC", "IOC", "GTX"][random.below(4) as usize]
                    ),
                ),
                5 => (
                    "POST",
                    "/fapi/v1/order",
                    format!("{common}&type=MARKET&quantity={quantity}&reduceOnly={}", random.below(2) == 0),
                ),
                6 => (
                    "POST",
                    "/fapi/v1/order",
                    format!("{common}&type=STOP_MARKET&quantity={quantity}&stopPrice={price}"),
                ),
                7 => (
                    "POST",
                    "/fapi/v1/order",
                    format!(
                        "{common}&type=LIMIT&timeInForce=GTC&quantity={quantity}&price={price}&tpTriggerPrice={}&slTriggerPrice={}",
                        index + 900,
                        index - 900
                    ),
                ),
                8 => (
                    "PUT",
                    "/fapi/v1/order",
                    format!("symbol=BTCUSDT&orderId={known}&quantity={quantity}&price={price}"),
                ),
                9 => ("DELETE", "/fapi/v1/order", format!("symbol=BTCUSDT&orderId={known}")),
                10 => {
                    ("POST", "/fapi/v1/leverage", format!("symbol=BTCUSDT&leverage={}", 5 + random.below(60)))
                }
                _ => {
                    index = (index + random.below(6_001) as i64 - 3_000).clamp(40_000, 80_000);
                    let body = json!({ "symbol": "BTCUSDT", "price": index.to_string() }).to_string();
                    venue.operate("POST", "/admin/perpetual/index-price", &body);
                    wait(&mut venue, 1_000);
                    continue;
                }
            };
            venue.ask(number, method, path, &params);
        }
        for (number, (pair, reader)) in (1..).zip(sockets.iter_mut().zip(&mut readers)) {
            let [events, again] = pair.each_mut().map(read);
            assert_eq!(events, again);
            events.iter().for_each(|event| reader.read(event));
            reader.rest(Decimal::ZERO);
            if round % 10 == 0 {
                check(&mut venue, number, reader);
            }
        }
    }
    let met: BTreeSet<&str> =
        readers.iter().flat_map(|reader| reader.met.keys()).map(String::as_str).collect();
    for name in [
        "x NEW",
        "x TRADE",
        "x CANCELED",
        "x EXPIRED",
        "x AMENDMENT",
        "x CALCULATED",
        "X EXPIRED_IN_MATCH",
        "ACCOUNT_CONFIG_UPDATE",
        "er 5",
    ] {
        assert!(met.contains(name), "no {name}: {met:?}");
    }
}

/// Compares what a trader knows with what REST says.
fn check(venue: &mut Venue, number: u8, reader: &Reader) {
    let account = venue.call(number, "GET", "/fapi/v2/account", "");
    if let Some((wallet, cross)) = reader.wallet {
        assert_eq!(wallet, decimal(&account["totalWalletBalance"]));
        assert_eq!(cross, decimal(&account["totalCrossWalletBalance"]));
    }
    let rows = venue.call(number, "GET", "/fapi/v2/positionRisk", "symbol=BTCUSDT");
    let row = &rows.as_array().unwrap()[0];
    match reader.positions.get("BTCUSDT") {
        None => assert_eq!(row["positionAmt"], "0"),
        Some(known) => {
            for (key, name) in
                [("pa", "positionAmt"), ("ep", "entryPrice"), ("bep", "breakEvenPrice"), ("mt", "marginType")]
            {
                assert_eq!(known[key], row[name], "{known} {row}");
            }
        }
    }
    let orders = venue.call(number, "GET", "/fapi/v1/openOrders", "symbol=BTCUSDT");
    let mut open = BTreeSet::new();
    for order in orders.as_array().unwrap() {
        let known = &reader.orders[&order["orderId"].as_u64().unwrap()];
        open.insert(order["orderId"].as_u64().unwrap());
        for (key, name) in [
            ("q", "origQty"),
            ("z", "executedQty"),
            ("p", "price"),
            ("ap", "avgPrice"),
            ("X", "status"),
            ("c", "clientOrderId"),
            ("R", "reduceOnly"),
            ("V", "selfTradePreventionMode"),
            ("T", "updateTime"),
        ] {
            assert_eq!(known[key], order[name], "{known} {order}");
        }
    }
    assert_eq!(reader.orders.keys().copied().collect::<BTreeSet<_>>(), open);
}
