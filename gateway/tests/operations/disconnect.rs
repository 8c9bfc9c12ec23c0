//! Orders of a connection that armed cancel on disconnect, when the exchange is killed under it.

use crate::process::{Folder, get, started, trade};
use serde_json::{Value, json};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tokio_tungstenite::tungstenite::client::client_with_config;
use tokio_tungstenite::tungstenite::{Message, WebSocket};

const GRACE: Duration = Duration::from_secs(6);
const PATIENCE: Duration = Duration::from_secs(20);

/// A socket that is logged in and has armed, or disarmed.
fn arm(address: &str, login: &str, frame: &Value) -> WebSocket<TcpStream> {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let (mut socket, _) = client_with_config("ws://ringside/ws", stream, None).unwrap();
    let token = login.rsplit(' ').next().unwrap();
    for frame in [&json!({ "type": "auth_token", "token": token }), frame] {
        socket.send(Message::text(frame.to_string())).unwrap();
        let Message::Text(answer) = socket.read().unwrap() else { panic!("no text") };
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert!(
            ["auth_result", "cancel_on_disconnect"].iter().any(|known| answer["type"] == **known),
            "{answer}"
        );
    }
    socket
}

fn open_orders(address: &str, login: &str) -> usize {
    let orders: Value =
        serde_json::from_str(&get(address, "/api/v1/spot/orders?status=open", &[login])).unwrap();
    orders.as_array().unwrap().len()
}

#[test]
fn the_death_of_the_exchange_ends_orders_a_grace_after_it_is_back() {
    let folder = Folder::new("disconnect");
    let (mut running, address, _) = started(&folder.0, |_| ());
    let [seller, buyer] = trade(&address);
    let grace = json!({ "type": "cancel_on_disconnect", "grace_ms": GRACE.as_millis() });
    let armed = [&seller, &buyer].map(|login| arm(&address, login, &grace));
    let order =
        json!({ "symbol": "DFUSDT", "side": "sell", "type": "limit", "price": "0.9", "quantity": "10" });
    crate::process::post(&address, "/api/v1/spot/orders", &seller, &order);
    assert_eq!([&seller, &buyer].map(|login| open_orders(&address, login)), [1, 1]);
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    drop(armed);
    // Longer than the grace: it runs from the next life's first moment on.
    std::thread::sleep(GRACE);
    let begun = Instant::now();
    let (_running, address, _) = started(&folder.0, |_| ());
    // One comes back, the other does not.
    let _back = arm(&address, &buyer, &grace);
    if begun.elapsed() < GRACE {
        assert_eq!(open_orders(&address, &seller), 1, "the grace is not over");
    }
    while open_orders(&address, &seller) > 0 {
        assert!(begun.elapsed() < GRACE + PATIENCE, "it stays");
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(open_orders(&address, &buyer), 1, "who came back keeps it");
}
