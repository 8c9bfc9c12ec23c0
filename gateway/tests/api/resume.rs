//! Clients of user streams who come back with their last number: they get what they missed, or are told what they must read again.

use crate::exchange::Exchange;
use crate::exchange::socket::Socket;
use crate::exchange::venue::Venue;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;

const BUY: &str = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.010";

fn venue() -> Venue {
    Venue::with(&[(1, 100_000), (2, 100_000)], 0, |config| config.websocket_frames_per_second = u32::MAX)
}

fn texts(socket: &mut Socket) -> Vec<String> {
    socket.drain().unwrap()
}

fn events(socket: &mut Socket) -> Vec<Value> {
    texts(socket).iter().map(|text| serde_json::from_str(text).unwrap()).collect()
}

fn number(event: &Value) -> u64 {
    event["seq"].as_u64().unwrap_or_else(|| panic!("{event}"))
}

/// A stream of the account's listen key, with this query.
fn stream(venue: &mut Venue, account: u8, query: &str) -> Socket {
    let key = venue.listen_key(account);
    Socket::at(&venue.exchange, &format!("/ws/{key}{query}"))
}

/// A socket that has logged in by the account's listen key and subscribed; its answers.
fn channel(venue: &mut Venue, account: u8, channel: &str, from: Option<&Value>) -> (Socket, Vec<Value>) {
    let key = venue.listen_key(account);
    let mut socket = Socket::open(&venue.exchange);
    let logged_in = socket.ask(&json!({ "type": "auth", "listenKey": key }).to_string());
    assert_eq!(logged_in[0]["success"], true);
    let mut frame = json!({ "type": "subscribe", "channel": channel, "resume": true });
    if let Some(from) = from {
        frame["from"] = from.clone();
    }
    let answers = socket.ask(&frame.to_string());
    (socket, answers)
}

/// A bid of account 1 at that price, half of which account 2 sells into.
fn trade(venue: &mut Venue, price: u32) {
    venue.place(1, &format!("{BUY}&price={price}"));
    venue.place(2, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.005");
}

#[test]
fn who_comes_back_gets_what_it_missed_on_every_device_with_the_same_numbers() {
    let mut venue = venue();
    let mut plain = stream(&mut venue, 1, "");
    let mut stayed = stream(&mut venue, 1, "?resume=true");
    let mut dropped = stream(&mut venue, 1, "?resume=true");
    let begun = events(&mut stayed);
    assert_eq!((&begun[0]["e"], begun.len()), (&json!("streamResumed"), 1));
    assert_eq!(number(&events(&mut dropped)[0]), number(&begun[0]));
    let (mut other, ack) = channel(&mut venue, 1, "user_data", None);
    assert_eq!(ack, [json!({ "type": "subscribed", "channel": "user_data", "seq": number(&begun[0]) })]);

    trade(&mut venue, 60_000);
    let first = texts(&mut stayed);
    assert_eq!(texts(&mut dropped), first);
    let last = first.last().map(|text| number(&serde_json::from_str(text).unwrap())).unwrap();
    drop(dropped);
    trade(&mut venue, 59_990);
    let all = [first.clone(), texts(&mut stayed)].concat();
    let numbers: Vec<u64> = all.iter().map(|text| number(&serde_json::from_str(text).unwrap())).collect();
    assert!(
        numbers.is_sorted_by(|before, after| before < after) && numbers[0] > number(&begun[0]),
        "{numbers:?}"
    );
    assert_eq!(numbers[0] % 4_096, 0, "the first that its command tells the account");

    // Without asking, each event is what it always was.
    let bare: Vec<String> =
        all.iter().zip(&numbers).map(|(text, seq)| text.replace(&format!(",\"seq\":{seq}}}"), "}")).collect();
    assert_eq!(texts(&mut plain), bare);
    let told = events(&mut other);
    let of_channel: Vec<_> = told.iter().map(|frame| (number(frame), frame["data"].clone())).collect();
    let of_stream: Vec<_> =
        numbers.iter().zip(&bare).map(|(seq, text)| (*seq, serde_json::from_str(text).unwrap())).collect();
    assert_eq!(of_channel, of_stream);

    // Back: what was missed, byte for byte, then what follows.
    let mut back = stream(&mut venue, 1, &format!("?resume=true&from={last}"));
    let again = texts(&mut back);
    let resumed: Value = serde_json::from_str(&again[0]).unwrap();
    assert_eq!((&resumed["e"], number(&resumed)), (&json!("streamResumed"), last));
    assert_eq!(again[1..], all[first.len()..]);
    trade(&mut venue, 59_980);
    let next = texts(&mut stayed);
    assert_eq!(texts(&mut back), next);
    assert!(!next.is_empty());

    // On another channel, and of both stream addresses.
    let (mut orders, answers) = channel(&mut venue, 1, "orders", Some(&json!(last)));
    let of_orders: Vec<u64> = answers[1..].iter().map(number).collect();
    let wanted = [&all[first.len()..], &next[..]].concat();
    let wanted: Vec<Value> = wanted.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    let is_order = |event: &&Value| event["e"] == "ORDER_TRADE_UPDATE" || event["e"] == "TRADE_LITE";
    assert_eq!(of_orders, wanted.iter().filter(is_order).map(number).collect::<Vec<_>>());
    assert_eq!(events(&mut orders), [Value::Null; 0]);
    let key = venue.listen_key(1);
    let path = format!("/stream?streams={key}&resume=true&from={last}");
    let combined = events(&mut Socket::at(&venue.exchange, &path));
    assert!(combined.iter().all(|event| event["stream"] == *key));
    assert_eq!(
        combined[1..].iter().map(|event| &event["data"]).collect::<Vec<_>>(),
        wanted.iter().collect::<Vec<_>>()
    );
    let path = format!("/ws?listenKey={key}&events=ACCOUNT_UPDATE&resume=true&from={last}");
    let narrow = events(&mut Socket::at(&venue.exchange, &path));
    let is_account = |event: &&Value| event["e"] == "ACCOUNT_UPDATE";
    assert_eq!(narrow[1..].iter().collect::<Vec<_>>(), wanted.iter().filter(is_account).collect::<Vec<_>>());
}

#[test]
fn what_a_numbered_client_of_spot_missed_is_told_again() {
    let mut exchange = Exchange::start();
    exchange.open();
    exchange.credit(1, "DF");
    let headers = exchange.account(1);
    let token = headers[0].split(' ').nth(2).unwrap().to_owned();
    let subscribe = |socket: &mut Socket, channel: &str, from: Option<u64>| {
        let mut frame = json!({ "type": "subscribe", "channel": channel, "token": token, "resume": true });
        if let Some(from) = from {
            frame["from"] = from.into();
        }
        socket.ask(&frame.to_string())
    };
    let mut stayed = Socket::open(&exchange);
    let begun = number(&subscribe(&mut stayed, "spot:user:orders", None)[0]);
    subscribe(&mut stayed, "spot:user:balances", None);
    for price in ["0.2", "0.3"] {
        let order =
            json!({ "symbol": "DFUSDT", "side": "sell", "type": "limit", "price": price, "quantity": "10" });
        assert_eq!(exchange.request("POST", "/api/v1/spot/orders", &headers, &order.to_string()).status, 200);
    }
    let live = events(&mut stayed);
    assert_eq!(live.len(), 4);
    for name in ["spot:user:orders", "spot:user:balances"] {
        let again = subscribe(&mut Socket::open(&exchange), name, Some(begun));
        let own: Vec<&Value> = live.iter().filter(|frame| frame["channel"] == name).collect();
        assert_eq!((again[1..].iter().collect::<Vec<_>>(), own.len()), (own, 2));
    }
    let again = subscribe(&mut Socket::open(&exchange), "spot:user:balances", Some(3));
    let reads = ["/api/v1/spot/balances"];
    let gap = json!({ "type": "gap", "channel": "spot:user:balances", "seq": 3, "through": number(&again[0]), "read": reads });
    assert_eq!(again[1..], [gap]);
}

#[test]
fn a_number_that_is_no_place_of_ours_is_answered_by_one_gap() {
    let mut venue = venue();
    let mut socket = stream(&mut venue, 1, "?resume=true");
    trade(&mut venue, 60_000);
    let last = number(events(&mut socket).last().unwrap());
    let routes =
        ["/fapi/v2/account", "/fapi/v1/openOrders", "/fapi/v1/openAlgoOrders", "/fapi/v1/userTrades"];
    let now = last - last % 4_096 + 4_095;
    // Of before anyone asked; of a command that is not there yet; of another number space.
    for from in [0, 4_096, now + 1, u64::MAX] {
        let mut back = stream(&mut venue, 1, &format!("?resume=true&from={from}"));
        let told = events(&mut back);
        let gap = json!({ "e": "streamGap", "E": told[0]["E"], "from": from, "seq": now, "read": routes });
        assert_eq!(told, [gap], "{from}");
        let (mut orders, answers) = channel(&mut venue, 1, "orders", Some(&json!(from)));
        let ack = json!({ "type": "subscribed", "channel": "orders", "seq": now });
        assert_eq!((&answers[0], answers.len()), (&ack, 2));
        assert_eq!(
            (&answers[1]["type"], &answers[1]["seq"], &answers[1]["through"]),
            (&json!("gap"), &json!(from), &json!(now))
        );
        assert_eq!(
            answers[1]["read"],
            json!(["/fapi/v1/openOrders", "/fapi/v1/openAlgoOrders", "/fapi/v1/userTrades"])
        );
        // Both go on: a gap is told once.
        for socket in [&mut back, &mut orders] {
            assert_eq!(events(socket), [Value::Null; 0]);
        }
    }
    // A number of another account is a place like any other: what one is told behind it is one's own.
    let mut two = stream(&mut venue, 2, "?resume=true");
    trade(&mut venue, 59_000);
    let own = events(&mut two);
    let foreign = number(events(&mut socket).first().unwrap());
    let told = events(&mut stream(&mut venue, 2, &format!("?resume=true&from={foreign}")));
    let behind: Vec<&Value> = own[1..].iter().filter(|event| number(event) > foreign).collect();
    assert!(!behind.is_empty());
    assert_eq!(told[1..].iter().collect::<Vec<_>>(), behind);
    // Of a moment at which nobody had asked for this account.
    assert_eq!(events(&mut stream(&mut venue, 2, &format!("?resume=true&from={last}")))[0]["e"], "streamGap");
}

#[test]
fn what_is_no_number_is_refused() {
    let mut venue = venue();
    let key = venue.listen_key(1);
    for (query, name) in
        [("resume=maybe", "resume"), ("resume=true&from=x", "from"), ("resume=true&from=-1", "from")]
    {
        let mut client = TcpStream::connect(venue.exchange.address()).unwrap();
        let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
        write!(client, "GET /ws/{key}?{query} HTTP/1.1\r\nHost: x\r\n{upgrade}\r\n\r\n").unwrap();
        let mut answer = vec![0; 4_096];
        let len = client.read(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer[..len]);
        assert!(answer.starts_with("HTTP/1.1 400"), "{query}: {answer}");
        assert!(
            answer
                .contains(&format!(r#""code":-1130,"msg":"Data sent for parameter '{name}' is not valid.""#)),
            "{query}: {answer}"
        );
    }
    for from in [json!("7"), json!(-1), json!(1.5), json!([7])] {
        let (_socket, answers) = channel(&mut venue, 1, "orders", Some(&from));
        assert_eq!((&answers[0]["code"], answers.len()), (&json!("INVALID_MESSAGE"), 1), "{from}");
    }
    // Who does not ask for numbers, does not get any: `from` alone is a word that nobody knows.
    assert_eq!(texts(&mut stream(&mut venue, 1, "?from=7")), [""; 0]);
}

#[test]
fn whose_events_are_kept_is_told_after_everybody_left() {
    let mut venue = venue();
    let mut socket = stream(&mut venue, 1, "?resume=true");
    let begun = number(&events(&mut socket)[0]);
    drop(socket);
    venue.exchange.clock.turn(23 * 3_600_000);
    trade(&mut venue, 60_000);
    let told = events(&mut stream(&mut venue, 1, &format!("?resume=true&from={begun}")));
    assert_eq!((&told[0]["e"], told.len()), (&json!("streamResumed"), 5));
    // A day later those are gone.
    venue.exchange.clock.turn(25 * 3_600_000);
    trade(&mut venue, 59_990);
    assert_eq!(
        events(&mut stream(&mut venue, 1, &format!("?resume=true&from={begun}")))[0]["e"],
        "streamGap"
    );
}
