//! States of perpetual markets, steered by their route and seen by everybody (`risk.md` 16, `account.md` 13).

use super::venue_after;
use crate::exchange::socket::Socket;
use crate::exchange::venue::Venue;
use crate::exchange::{ADMIN_KEY, wallet_text};
use ringside_core::command::{Command, PerpetualParameter, SetPerpetualParameter};
use ringside_core::ids::FIRST_PERPETUAL;
use serde_json::{Value, json};

const LIMIT: &str = "symbol=BTCUSDT&type=LIMIT&quantity=0.01";

fn set(venue: &mut Venue, state: &str) {
    let body = json!({ "state": state, "confirm": state == "CLOSED" }).to_string();
    assert_eq!(venue.operate("PATCH", "/admin/perpetual/symbols/btcusdt", &body), json!({ "ok": true }));
}

/// What everybody is shown of the market: in exchangeInfo, at both routes of markets, and in the figures.
fn shown(venue: &mut Venue) -> (String, String) {
    let info = venue.public("/fapi/v1/exchangeInfo");
    let row = info["symbols"].as_array().unwrap().iter().find(|row| row["symbol"] == "BTCUSDT").unwrap();
    let status = row["status"].as_str().unwrap().to_owned();
    assert_eq!(venue.sees(0, "/api/v1/markets/BTCUSDT")["status"], status);
    assert_eq!(venue.sees(0, "/api/v1/markets")[0]["status"], status);
    let headers = [format!("X-API-Key: {ADMIN_KEY}")];
    let figures = venue.exchange.request("GET", "/metrics", &headers, "").body;
    let of_market =
        figures.lines().filter(|line| line.starts_with("ringside_market_state{market=\"BTCUSDT\""));
    let state = of_market.map(|line| line.split('"').nth(3).unwrap()).collect::<String>();
    (status, state)
}

/// Whether an order of account 1 is taken; what is, is canceled again.
fn takes(venue: &mut Venue, params: &str) -> bool {
    let (status, answer) = venue.ask(1, "POST", "/fapi/v1/order", &format!("{LIMIT}&{params}"));
    if status == 200 {
        if answer["status"] == "NEW" {
            let order = format!("symbol=BTCUSDT&orderId={}", answer["orderId"]);
            venue.call(1, "DELETE", "/fapi/v1/order", &order);
        }
        return true;
    }
    assert_eq!((status, &answer["code"]), (400, &json!(-4140)), "{params}: {answer}");
    false
}

#[test]
fn each_state_takes_what_it_says_and_is_shown() {
    let mut venue = venue_after(&[]);
    // Account 1 is long, account 2 short.
    venue.trade("BUY", "0.1", "60000");
    let order = "side=BUY&timeInForce=GTC&price=59000";
    let post_only = "side=BUY&timeInForce=GTX&price=59000";
    let reducing = "side=SELL&timeInForce=GTC&price=61000&reduceOnly=true";
    for (state, status, word, taken) in [
        ("TRADING", "TRADING", "trading", [true, true, true]),
        ("POST_ONLY", "TRADING", "postonly", [false, true, false]),
        ("REDUCE_ONLY", "SETTLING", "reduceonly", [false, false, true]),
        ("CANCEL_ONLY", "PENDING_TRADING", "cancelonly", [false, false, false]),
        ("HALTED", "PENDING_TRADING", "halted", [false, false, false]),
    ] {
        set(&mut venue, "TRADING");
        let resting = venue.place(1, &format!("{LIMIT}&{order}"));
        set(&mut venue, state);
        assert_eq!(shown(&mut venue), (status.to_owned(), word.to_owned()));
        assert_eq!([order, post_only, reducing].map(|params| takes(&mut venue, params)), taken, "{state}");
        // What rests can be taken back in every state.
        let cancel = format!("symbol=BTCUSDT&orderId={}", resting["orderId"]);
        assert_eq!(venue.call(1, "DELETE", "/fapi/v1/order", &cancel)["status"], "CANCELED", "{state}");
    }
    // Another market goes its own way.
    assert_eq!(venue.sees(0, "/api/v1/markets/ETHUSDT")["status"], "TRADING");
}

#[test]
fn closing_settles_and_is_final() {
    let mut venue = venue_after(&[]);
    venue.trade("BUY", "0.1", "60000");
    venue.place(1, &format!("{LIMIT}&side=BUY&timeInForce=GTC&price=59000"));
    let key = venue.listen_key(1);
    let mut socket = Socket::at(&venue.exchange, &format!("/ws/{key}"));
    set(&mut venue, "REDUCE_ONLY");
    set(&mut venue, "CLOSED");
    assert_eq!(shown(&mut venue), ("CLOSE".to_owned(), "closed".to_owned()));
    assert_eq!(venue.sees(1, "/positions/active"), json!([]));
    assert_eq!(venue.sees(1, "/orders/open"), json!([]));
    let told: Vec<Value> =
        socket.drain().unwrap().iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    let expired = told.iter().find(|event| event["e"] == "ORDER_TRADE_UPDATE").unwrap();
    assert_eq!((&expired["o"]["X"], &expired["o"]["er"]), (&json!("EXPIRED"), &json!("7")));
    assert!(told.iter().any(|event| event["e"] == "ACCOUNT_UPDATE"), "{told:?}");
    let (status, answer) =
        venue.ask(1, "POST", "/fapi/v1/order", &format!("{LIMIT}&side=BUY&timeInForce=GTC&price=59000"));
    assert_eq!((status, &answer["code"]), (400, &json!(-4141)), "{answer}");
    // Wallets and what was made of them add up, and the closed market stays closed.
    let proof = venue.operate("GET", "/admin/ledger/proof", "");
    assert!(proof["ledgers"].as_array().unwrap().iter().all(|row| row["equal"] == true), "{proof}");
    let (status, answer) =
        venue.commands("PATCH", "/admin/perpetual/symbols/BTCUSDT", r#"{"state":"TRADING"}"#);
    assert_eq!((status, &answer["code"]), (409, &json!("MARKET_CLOSED")));
    venue.exchange.restart();
    assert_eq!(venue.sees(0, "/api/v1/markets/BTCUSDT")["status"], "CLOSE");
    let audited = venue.operate("GET", "/admin/audit?limit=3", "");
    let states: Vec<&Value> = audited["items"].as_array().unwrap().iter().map(|row| &row["detail"]).collect();
    assert_eq!(states, ["TRADING", "CLOSED", "REDUCE_ONLY"]);
    assert_eq!(audited["items"][0]["outcome"], "refused");
}

#[test]
fn an_account_that_may_not_trade_still_gets_out() {
    let mut venue = venue_after(&[]);
    let order = venue.place(1, &format!("{LIMIT}&side=BUY&timeInForce=GTC&price=59000"));
    let account = format!("/admin/accounts/{}", wallet_text(1));
    venue.operate("PATCH", &account, r#"{"trading_enabled":false,"reason":"under review"}"#);
    let (status, answer) =
        venue.ask(1, "POST", "/fapi/v1/order", &format!("{LIMIT}&side=BUY&timeInForce=GTC&price=59000"));
    assert_eq!((status, &answer["code"]), (400, &json!(-4088)));
    let cancel = format!("symbol=BTCUSDT&orderId={}", order["orderId"]);
    assert_eq!(venue.call(1, "DELETE", "/fapi/v1/order", &cancel)["status"], "CANCELED");
    venue.operate("PATCH", &account, r#"{"trading_enabled":true}"#);
    venue.place(1, &format!("{LIMIT}&side=BUY&timeInForce=GTC&price=59000"));
}

/// C-16: the dynamic band stops takers, and pauses the market. The order says why it expired, in REST too; the market says that it
/// is paused, and so does what is refused then.
#[test]
fn a_pause_of_the_price_band_is_seen() {
    let parameter = PerpetualParameter::DynamicBand as u32;
    let mut venue = venue_after(&[Command::new(SetPerpetualParameter {
        market: FIRST_PERPETUAL,
        parameter,
        value: 1_000_000,
    })]);
    let trading_state = |venue: &mut Venue| {
        let row = venue.public("/fapi/v1/exchangeInfo")["symbols"][0].clone();
        assert_eq!((&row["symbol"], &row["status"]), (&json!("BTCUSDT"), &json!("TRADING")));
        row["tradingState"].as_str().unwrap().to_owned()
    };
    assert_eq!(trading_state(&mut venue), "TRADING");
    venue.place(2, &format!("{LIMIT}&side=SELL&timeInForce=GTC&price=60700"));
    let expired = venue.place(1, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.01");
    let why = |order: &Value| [order["status"].clone(), order["executedQty"].clone(), order["er"].clone()];
    assert_eq!(why(&expired), ["EXPIRED", "0", "11"]);
    let asked = format!("symbol=BTCUSDT&orderId={}", expired["orderId"]);
    assert_eq!(why(&venue.call(1, "GET", "/fapi/v1/order", &asked)), why(&expired));
    let all = venue.call(1, "GET", "/fapi/v1/allOrders", "symbol=BTCUSDT");
    assert_eq!(why(all.as_array().unwrap().last().unwrap()), why(&expired));
    for _ in 0..17 {
        venue.pass(1_000);
    }
    assert_eq!(trading_state(&mut venue), "POST_ONLY");
    let order = format!("{LIMIT}&side=BUY&price=59500");
    let paused = "Invalid symbol status for opening position: the market is paused, and takes timeInForce GTX alone (POST_ONLY)";
    venue.refuses(1, "POST", "/fapi/v1/order", &format!("{order}&timeInForce=GTC"), -4140, paused);
    venue.place(1, &format!("{order}&timeInForce=GTX"));
    for _ in 0..31 {
        venue.pass(1_000);
    }
    assert_eq!(trading_state(&mut venue), "TRADING");
    venue.place(2, &format!("{LIMIT}&side=SELL&timeInForce=GTC&price=60100"));
    assert_eq!(venue.place(1, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.01")["status"], "FILLED");
    // A price that is pinned far away is no pause: the band moves with it.
    let pin = json!({ "symbol": "BTCUSDT", "price": "67000" }).to_string();
    venue.operate("POST", "/admin/perpetual/index-price", &pin);
    venue.pass(2_000);
    venue.call(2, "DELETE", "/fapi/v1/allOpenOrders", "symbol=BTCUSDT");
    venue.place(2, &format!("{LIMIT}&side=SELL&timeInForce=GTC&price=67000"));
    assert_eq!(venue.place(1, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.01")["status"], "FILLED");
}
