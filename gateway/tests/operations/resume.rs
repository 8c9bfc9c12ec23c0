//! A client of a user stream comes back after the exchange was killed under it.

use crate::process::{Folder, post, started, stop, trade};
use serde_json::{Value, json};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tokio_tungstenite::tungstenite::client::client_with_config;
use tokio_tungstenite::tungstenite::{Message, WebSocket};

const PATIENCE: Duration = Duration::from_secs(20);

/// A socket with both channels of a spot account, behind a number if there is one.
pub(crate) fn listen(address: &str, login: &str, from: Option<u64>) -> WebSocket<TcpStream> {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let (mut socket, _) = client_with_config("ws://ringside/ws", stream, None).unwrap();
    let token = login.rsplit(' ').next().unwrap();
    for channel in ["spot:user:orders", "spot:user:balances"] {
        let mut frame = json!({ "type": "subscribe", "channel": channel, "token": token, "resume": true });
        if let Some(from) = from {
            frame["from"] = from.into();
        }
        socket.send(Message::text(frame.to_string())).unwrap();
    }
    socket
}

/// The next frames, until there are so many.
pub(crate) fn frames(socket: &mut WebSocket<TcpStream>, count: usize) -> Vec<Value> {
    let (begin, mut frames) = (Instant::now(), Vec::new());
    while frames.len() < count {
        assert!(begin.elapsed() < PATIENCE, "{count} frames: {frames:#?}");
        if let Ok(Message::Text(text)) = socket.read() {
            frames.push(serde_json::from_str(&text).unwrap());
        }
    }
    frames
}

fn order(address: &str, login: &str, price: &str) {
    let order =
        json!({ "symbol": "DFUSDT", "side": "sell", "type": "limit", "price": price, "quantity": "10" });
    post(address, "/api/v1/spot/orders", login, &order);
}

pub(crate) fn numbers(frames: &[Value]) -> Vec<u64> {
    frames.iter().map(|frame| frame["seq"].as_u64().unwrap_or_else(|| panic!("{frame}"))).collect()
}

/// Pushes by channel, since what was missed is told of one channel after the other.
fn by_channel(mut frames: Vec<Value>) -> Vec<Value> {
    frames.retain(|frame| frame["type"] != "subscribed");
    frames.sort_by_key(|frame| (frame["channel"].to_string(), frame["seq"].as_u64()));
    frames
}

#[test]
fn who_was_cut_off_by_a_kill_gets_what_it_missed_under_the_same_numbers() {
    let folder = Folder::new("resume");
    let (mut running, mut address, _) = started(&folder.0, |_| ());
    let [seller, _] = trade(&address);
    let mut stayed = listen(&address, &seller, None);
    let begun = *numbers(&frames(&mut stayed, 2)).iter().max().unwrap();
    // That it asked is written down by now; what it is told from here on need not be.
    std::thread::sleep(Duration::from_secs(1));
    for price in ["0.31", "0.32", "0.33"] {
        order(&address, &seller, price);
    }
    let mut all = frames(&mut stayed, 6);
    let last_seen = *numbers(&all[..4]).iter().max().unwrap();
    // Killed with what came last in the journal alone, or written down just now, or long ago; then ended in good order.
    for (round, wait_ms) in [0, 60, 1_500, 0].into_iter().enumerate() {
        order(&address, &seller, &format!("0.4{round}"));
        all.extend(frames(&mut stayed, 2));
        std::thread::sleep(Duration::from_millis(wait_ms));
        if round == 3 {
            stop(running);
        } else {
            running.0.kill().unwrap();
            running.0.wait().unwrap();
        }
        (running, address, _) = started(&folder.0, |_| ());
        for from in [begun, last_seen, *numbers(&all).iter().max().unwrap()] {
            let is_missed = |frame: &&Value| frame["seq"].as_u64().unwrap() > from;
            let missed: Vec<Value> = all.iter().filter(is_missed).cloned().collect();
            stayed = listen(&address, &seller, Some(from));
            let told = frames(&mut stayed, 2 + missed.len());
            assert_eq!(by_channel(told), by_channel(missed), "round {round} behind {from}");
        }
        // What it is told from here on has greater numbers.
        order(&address, &seller, &format!("0.5{round}"));
        let told = frames(&mut stayed, 2);
        assert!(numbers(&told).iter().min() > numbers(&all).iter().max(), "round {round}");
        all.extend(told);
    }
}
