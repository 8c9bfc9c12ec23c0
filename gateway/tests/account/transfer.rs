//! Transfers between the ledgers, and that income adds up (`spot.md` 9, `account.md` 11).

use super::{HOUR_MS, SECOND_MS, venue_after};
use crate::exchange::socket::Socket;
use crate::exchange::venue::Venue;
use crate::random::Random;
use ringside_core::command::{Command, PerpetualParameter, SetPerpetualParameter};
use ringside_core::ids::FIRST_PERPETUAL;
use serde_json::{Value, json};

const TRANSFER: &str = "/api/v1/spot/transfer";

fn usdt(venue: &mut Venue, number: u8) -> Value {
    venue.sees(number, "/api/v1/spot/balances?token=USDT")[0]["available"].take()
}

fn wallet(venue: &mut Venue, number: u8) -> String {
    venue.call(number, "GET", "/fapi/v2/account", "")["totalWalletBalance"].as_str().unwrap().to_owned()
}

#[test]
fn bases_of_perpetual_markets_are_no_tokens_of_the_spot_side() {
    let mut venue = venue_after(&[]);
    venue.exchange.open();
    let tokens = |venue: &mut Venue| -> Vec<String> {
        let rows = venue.sees(2, "/api/v1/spot/balances");
        rows.as_array().unwrap().iter().map(|row| row["token"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(tokens(&mut venue), ["DF", "USDT"]);
    let (status, refused) = venue.asks(2, "GET", "/api/v1/spot/balances?token=BTC", "");
    assert_eq!((status, &refused["error"]), (400, &json!("unsupported token: BTC")));
    // Of what is as long as a body a part is enough, and all that is kept of it.
    let endless =
        json!({"direction": "to_spot", "token": "\u{e9}".repeat(20_000), "amount": "1"}).to_string();
    let (status, refused) = venue.asks(2, "POST", "/api/v1/spot/transfer", &endless);
    let shown = format!("unsupported token: {}", "\u{e9}".repeat(32));
    assert_eq!((status, &refused["error"]), (400, &json!(shown)));
}

#[test]
fn money_goes_both_ways_in_one_command() {
    let mut venue = venue_after(&[]);
    let mut socket = Socket::open(&venue.exchange);
    let token = venue.exchange.account(2)[0].strip_prefix("Authorization: Bearer ").unwrap().to_owned();
    socket.send(&json!({ "type": "auth_token", "token": token }).to_string());
    assert_eq!(socket.next()["success"], true);
    for channel in ["spot:user:balances", "balances", "user_data"] {
        assert_eq!(socket.subscribe(channel)["type"], "subscribed");
    }
    let (status, out) =
        venue.asks(2, "POST", TRANSFER, r#"{"direction":"to_spot","token":"USDT","amount":"250.500001"}"#);
    let now_ms = venue.exchange.clock.now_ms();
    assert_eq!(status, 200, "{out}");
    let id = out["id"].as_str().unwrap().to_owned();
    let shown = |id: &str, direction: &str, amount: &str| {
        json!({
            "id": id, "direction": direction, "token": "USDT", "amount": amount, "status": "completed", "ts": now_ms / 1000,
        })
    };
    assert_eq!(out, shown(&id, "to_spot", "250.500001"));
    assert_eq!(
        (usdt(&mut venue, 2), wallet(&mut venue, 2)),
        (json!("250.500001"), "999749.49999900".to_owned())
    );
    let pushed: Vec<Value> =
        socket.drain().unwrap().iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    let of =
        |channel: &str| -> Vec<&Value> { pushed.iter().filter(|push| push["channel"] == channel).collect() };
    let [spot] = of("spot:user:balances")[..] else { panic!("{pushed:?}") };
    assert_eq!([&spot["data"]["token"], &spot["data"]["available"]], ["USDT", "250.500001"]);
    let [balance] = of("balances")[..] else { panic!("{pushed:?}") };
    assert_eq!([&balance["data"]["change"], &balance["data"]["reason"]], ["-250.50000100", "WITHDRAW"]);
    let [update] = of("user_data")[..] else { panic!("{pushed:?}") };
    assert_eq!([&update["data"]["e"], &update["data"]["a"]["m"]], ["ACCOUNT_UPDATE", "WITHDRAW"]);

    let (status, back) =
        venue.asks(2, "POST", TRANSFER, r#"{"direction":"to_perp","token":"USDT","amount":0.5}"#);
    assert_eq!(status, 200, "{back}");
    assert_eq!(
        (usdt(&mut venue, 2), wallet(&mut venue, 2)),
        (json!("250.000001"), "999749.99999900".to_owned())
    );
    let back_id = back["id"].as_str().unwrap().to_owned();
    let (first, second) = (shown(&id, "to_spot", "250.500001"), shown(&back_id, "to_perp", "0.5"));
    assert_eq!(venue.sees(2, "/api/v1/spot/transfers"), json!([second, first]), "newest first");
    assert_eq!(venue.sees(2, "/api/v1/spot/transfers?limit=1"), json!([second]));
    assert_eq!(venue.sees(2, "/api/v1/spot/transfers?direction=to_spot"), json!([first]));
    assert_eq!(venue.sees(1, "/api/v1/spot/transfers"), json!([]));
    let income = venue.call(2, "GET", "/fapi/v1/income", "incomeType=TRANSFER");
    let rows: Vec<_> = income.as_array().unwrap().iter().map(|row| (&row["income"], &row["info"])).collect();
    let transfer = json!("TRANSFER");
    assert_eq!(rows, [(&json!("-250.50000100"), &transfer), (&json!("0.50000000"), &transfer)]);
    // `perpetual.md` 8, "Which end": without a lower bound the newest, and pages go on away from it.
    let one = |venue: &mut Venue, more: &str| {
        let rows = venue.call(2, "GET", "/fapi/v1/income", &format!("incomeType=TRANSFER&limit=1{more}"));
        rows[0]["income"].as_str().unwrap().to_owned()
    };
    assert_eq!(one(&mut venue, ""), "0.50000000");
    assert_eq!(
        (one(&mut venue, "&page=1"), one(&mut venue, "&page=2")),
        ("0.50000000".to_owned(), "-250.50000100".to_owned())
    );
    let proof = venue.operate("GET", "/admin/ledger/proof", "");
    assert!(proof["ledgers"].as_array().unwrap().iter().all(|row| row["equal"] == true), "{proof}");
    venue.exchange.restart();
    assert_eq!(venue.sees(2, "/api/v1/spot/transfers"), json!([second, first]), "they are saved");
}

#[test]
fn no_more_than_may_leave() {
    let mut venue = venue_after(&[]);
    // Account 3 has 1000: at 20 times, 0.2 at 60000 binds 600 and a fee.
    venue.place(1, "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&quantity=0.2&price=60000");
    venue.place(3, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.2");
    let most = venue.call(3, "GET", "/fapi/v2/account", "")["maxWithdrawAmount"].as_str().unwrap().to_owned();
    assert_eq!(most, "394.00000000");
    let body = |amount: &str| format!(r#"{{"direction":"to_spot","token":"USDT","amount":"{amount}"}}"#);
    let (status, answer) = venue.asks(3, "POST", TRANSFER, &body("394.000001"));
    assert_eq!((status, &answer["error"]), (400, &json!("INSUFFICIENT_BALANCE")));
    assert_eq!(venue.asks(3, "POST", TRANSFER, &body("394")).0, 200);
    assert_eq!(venue.call(3, "GET", "/fapi/v2/account", "")["maxWithdrawAmount"], "0.00000000");
    assert_eq!(usdt(&mut venue, 3), json!("394"));
}

#[test]
fn a_retry_with_the_same_key_moves_nothing() {
    let mut venue = venue_after(&[]);
    let body = r#"{"direction":"to_spot","token":"USDT","amount":"10"}"#;
    let send = |venue: &mut Venue, key: &str, body: &str| {
        let headers = [venue.exchange.account(2)[0].clone(), format!("Idempotency-Key: {key}")];
        venue.exchange.request("POST", TRANSFER, &headers, body)
    };
    let first = send(&mut venue, "k-1", body);
    assert_eq!((first.status, first.header("idempotency-replayed")), (200, None));
    for is_restarted in [false, true] {
        if is_restarted {
            venue.exchange.restart();
        }
        let again = send(&mut venue, "k-1", body);
        assert_eq!((again.status, &again.body), (200, &first.body));
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
        assert_eq!(usdt(&mut venue, 2), json!("10"));
    }
    let other = send(&mut venue, "k-1", &body.replace("10", "11"));
    assert_eq!((other.status, other.body.as_str()), (409, r#"{"error":"IDEMPOTENCY_CONFLICT"}"#));
    let too_much = send(&mut venue, "k-2", &body.replace("10", "9999999"));
    assert_eq!(too_much.status, 400);
    let again = send(&mut venue, "k-2", &body.replace("10", "9999999"));
    assert_eq!(
        (again.status, &again.body, again.header("idempotency-replayed")),
        (400, &too_much.body, Some("true"))
    );
    assert_eq!(send(&mut venue, "k-3", body).status, 200);
    assert_eq!(usdt(&mut venue, 2), json!("20"));
}

#[test]
fn income_adds_up_to_the_wallet() {
    let hourly = SetPerpetualParameter {
        market: FIRST_PERPETUAL,
        parameter: PerpetualParameter::FundingIntervalHours as u32,
        value: 1,
    };
    let mut venue = venue_after(&[Command::new(hourly)]);
    let (mut random, mut hours) = (Random::new(11), 0);
    for round in 0..120 {
        let (maker, taker) = if random.below(2) == 0 { (1, 2) } else { (2, 1) };
        let (side, other) = if random.below(2) == 0 { ("BUY", "SELL") } else { ("SELL", "BUY") };
        let quantity = format!("0.{:03}", 1 + random.below(900));
        let price = 58_000 + random.below(4_000);
        match random.below(6) {
            0 => {
                let direction = if random.below(2) == 0 { "to_spot" } else { "to_perp" };
                let amount = format!("{}.{:06}", random.below(2_000), random.below(1_000_000));
                let body = format!(r#"{{"direction":"{direction}","token":"USDT","amount":"{amount}"}}"#);
                let (status, answer) = venue.asks(taker, "POST", TRANSFER, &body);
                assert!(
                    status == 200
                        || answer["error"] == "INSUFFICIENT_BALANCE"
                        || answer["error"] == "invalid amount",
                    "{answer}"
                );
            }
            // Funding is settled at the end of an hour whose premium was sampled.
            1 if hours < 3 => {
                hours += 1;
                for _ in 0..HOUR_MS / (5 * SECOND_MS) {
                    venue.pass(5 * SECOND_MS);
                }
            }
            1 => venue.pass(SECOND_MS),
            _ => {
                venue.place(maker, &format!("symbol=BTCUSDT&side={side}&type=LIMIT&timeInForce=GTC&quantity={quantity}&price={price}"));
                venue.place(taker, &format!("symbol=BTCUSDT&side={other}&type=LIMIT&timeInForce=IOC&quantity={quantity}&price={price}"));
                venue.pass(SECOND_MS);
            }
        }
        if round % 20 == 19 {
            for number in [1, 2, 3] {
                assert_eq!(
                    income_of(&mut venue, number),
                    wallet(&mut venue, number),
                    "account {number} after {round}"
                );
            }
        }
    }
    let kinds: std::collections::BTreeSet<String> = [1, 2]
        .into_iter()
        .flat_map(|number| rows_of(&mut venue, number))
        .map(|row| row["incomeType"].as_str().unwrap().to_owned())
        .collect();
    for kind in ["TRANSFER", "REALIZED_PNL", "COMMISSION", "FUNDING_FEE", "INTERNAL_TRANSFER"] {
        assert!(kinds.contains(kind), "{kind} never came: {kinds:?}");
    }
}

/// All rows of income of an account, page by page.
fn rows_of(venue: &mut Venue, number: u8) -> Vec<Value> {
    let mut rows = Vec::new();
    for page in 1.. {
        let found =
            venue.call(number, "GET", "/fapi/v1/income", &format!("startTime=1&limit=100&page={page}"));
        let found = found.as_array().unwrap().clone();
        let is_last = found.len() < 100;
        rows.extend(found);
        if is_last {
            break;
        }
    }
    rows
}

/// Their sum, as a wallet is shown.
fn income_of(venue: &mut Venue, number: u8) -> String {
    let micros: i64 = rows_of(venue, number)
        .iter()
        .map(|row| {
            let text = row["income"].as_str().unwrap();
            assert!(text.ends_with("00"), "nothing below a micro: {text}");
            text[..text.len() - 2].replace('.', "").parse::<i64>().unwrap()
        })
        .sum();
    format!("{}.{:06}00", micros / 1_000_000, micros % 1_000_000)
}
