//! Withdrawals of perpetual margin through a socket (`account.md` 7), and the switch that pauses them (`account.md` 13). What both
//! kinds of withdrawals share is tested in `api/withdrawals.rs`.

use super::venue_with;
use crate::exchange::chain::{CHAIN, Chain, DF, Fact, Mood, SteeredSigner, USDT, VAULT, configure};
use crate::exchange::socket::Socket;
use crate::exchange::venue::Venue;
use crate::exchange::wallet;
use ringside_chain::{FinalBlock, FinalRelease, ReleaseKey, Told};
use serde_json::{Value, json};

const REQUEST: &str = "/withdraw/request";
const LIST: &str = "/withdraw/requests";
const PAUSE: &str = "/admin/withdrawals/pause";

/// A venue, its signer and its chain.
fn start() -> (Venue, SteeredSigner, Chain) {
    let venue = venue_with(&[], configure);
    let signer = SteeredSigner::default();
    let chain = Chain::start(&venue.exchange, Some(signer.clone()));
    (venue, signer, chain)
}

fn ask(venue: &mut Venue, token: &str, amount: &str) -> (u16, Value) {
    venue.asks(2, "POST", REQUEST, &format!(r#"{{"token":"{token}","amount":"{amount}"}}"#))
}

#[track_caller]
fn refused(venue: &mut Venue, (token, amount): (&str, &str), status: u16, code: &str) {
    let (answered, body) = ask(venue, token, amount);
    assert_eq!((answered, &body["code"]), (status, &json!(code)), "{token} {amount}: {body}");
}

fn wallet_balance(venue: &mut Venue) -> String {
    venue.call(2, "GET", "/fapi/v2/account", "")["totalWalletBalance"].as_str().unwrap().to_owned()
}

/// Amounts of the income rows of one type, oldest first.
fn income(venue: &mut Venue) -> Vec<String> {
    let rows = venue.call(2, "GET", "/fapi/v1/income", "incomeType=TRANSFER");
    rows.as_array().unwrap().iter().map(|row| row["income"].as_str().unwrap().to_owned()).collect()
}

/// What has left the perpetual ledger and is neither paid nor back; every ledger must add up.
fn on_its_way(venue: &mut Venue) -> String {
    let proof = venue.operate("GET", "/admin/ledger/proof", "");
    let ledgers = proof["ledgers"].as_array().unwrap();
    assert!(ledgers.iter().all(|row| row["equal"] == true), "{proof}");
    let row = ledgers.iter().find(|row| row["ledger"] == "withdrawals").unwrap();
    assert_eq!((&row["asset"], &row["left"]), (&json!("USDT"), &row["terms"]["in_withdrawals"]));
    row["left"].as_str().unwrap().to_owned()
}

/// Reason and change of the pushes of an account's wallet.
fn pushed(socket: &mut Socket) -> Vec<(String, String)> {
    let pushes = socket.drain().unwrap();
    let pushes = pushes.iter().map(|text| serde_json::from_str::<Value>(text).unwrap());
    let updates = pushes.filter(|push| push["data"]["e"] == "ACCOUNT_UPDATE");
    let of = |push: Value| {
        let update = &push["data"]["a"];
        (update["m"].as_str().unwrap().to_owned(), update["B"][0]["bc"].as_str().unwrap().to_owned())
    };
    updates.map(of).collect()
}

#[test]
fn margin_leaves_at_the_request_and_comes_back_when_it_expires() {
    let (mut venue, signer, chain) = start();
    let before = income(&mut venue).len();
    let mut socket = Socket::open(&venue.exchange);
    let token = venue.exchange.account(2)[0].strip_prefix("Authorization: Bearer ").unwrap().to_owned();
    socket.send(&json!({ "type": "auth_token", "token": token }).to_string());
    assert_eq!(socket.next()["success"], true);
    assert_eq!(socket.subscribe("user_data")["type"], "subscribed");

    let (status, signed) = ask(&mut venue, "USDT", "250.5");
    let (id, deadline_s) = (signed["id"].clone(), signed["deadline"].as_u64().unwrap());
    assert_eq!(
        (status, &signed),
        (
            200,
            &json!({
                "id": id, "nonce": 0, "signature": format!("0x{}", "01".repeat(65)), "deadline": deadline_s,
                "vault_address": format!("0x{}", "11".repeat(20)), "chain_id": CHAIN, "amount": "250.5",
            })
        )
    );
    let asked = signer.0.lock().log[0].release.clone();
    assert_eq!((asked.key.account, asked.token, asked.value), (wallet(2), USDT, 250_500_000), "6 decimals");
    assert_eq!(wallet_balance(&mut venue), "999749.50000000");
    assert_eq!(on_its_way(&mut venue), "250.5");
    assert_eq!(pushed(&mut socket), [("WITHDRAW".to_owned(), "-250.50000000".to_owned())]);
    assert_eq!(income(&mut venue)[before..], ["-250.50000000"]);

    // The vault's nonces are shared with spot withdrawals of the same user.
    let spot = venue.operate(
        "POST",
        "/api/v1/admin/spot/balances/credit",
        &format!(r#"{{"user_address":"{}","token":"USDT","amount":"1"}}"#, crate::exchange::wallet_text(2)),
    );
    assert_eq!(spot["error"], Value::Null, "{spot}");
    let (status, second) = ask(&mut venue, "USDT", "10");
    assert_eq!((status, &second["nonce"]), (200, &json!(1)));
    let mut shown = json!({
        "id": id, "token": "USDT", "amount": "250.5", "fee": "0", "chain_id": CHAIN, "nonce": 0, "status": "signed",
        "deadline": deadline_s, "tx_hash": null, "block_number": null, "requested_at": deadline_s - 86_400,
        "confirmed_at": null,
    });
    let path = format!("{LIST}/{}", id.as_str().unwrap());
    assert_eq!(venue.sees(2, &path), shown);
    assert_eq!(venue.sees(2, &format!("{LIST}?limit=1"))[0]["id"], second["id"], "newest first");
    assert_eq!(venue.sees(2, "/api/v1/spot/withdrawals"), json!([]), "those of spot are another list");
    let (status, other) = venue.asks(1, "GET", &path, "");
    assert_eq!((status, &other["code"]), (404, &json!("NOT_FOUND")), "another user");
    assert_eq!(venue.sees(1, LIST), json!([]));

    let paid = FinalRelease {
        key: ReleaseKey { chain_id: CHAIN, vault: VAULT, account: wallet(2), nonce: 0 },
        token: USDT,
        value: 250_500_000,
        tx_hash: [0xcd; 32],
        block: 99,
        block_time_s: deadline_s - 100,
    };
    assert_eq!(chain.tell(&mut venue.exchange, Fact::Release(paid)), Told::Taken);
    let confirmed = venue.sees(2, &format!("{LIST}?status=confirmed"));
    shown["status"] = json!("confirmed");
    shown["tx_hash"] = json!(format!("0x{}", "cd".repeat(32)));
    shown["block_number"] = json!(99);
    shown["confirmed_at"] = confirmed[0]["confirmed_at"].clone();
    assert_eq!(confirmed, json!([shown]));

    assert_eq!(wallet_balance(&mut venue), "999739.50000000");
    let past =
        FinalBlock { chain_id: CHAIN, vault: VAULT, block: 100, hash: [1; 32], time_s: deadline_s + 10 };
    assert_eq!(chain.tell(&mut venue.exchange, Fact::Block(past)), Told::Taken);
    assert_eq!(wallet_balance(&mut venue), "999749.50000000", "what was paid stays paid");
    assert_eq!(venue.sees(2, &format!("{LIST}?status=expired"))[0]["id"], second["id"]);
    assert_eq!(on_its_way(&mut venue), "0");
    assert_eq!(
        pushed(&mut socket),
        [
            ("WITHDRAW".to_owned(), "-10.00000000".to_owned()),
            ("DEPOSIT".to_owned(), "10.00000000".to_owned())
        ]
    );
    assert_eq!(income(&mut venue)[before..], ["-250.50000000", "-10.00000000", "10.00000000"]);
}

#[test]
fn every_refusal_costs_nothing() {
    let (mut venue, signer, _chain) = start();
    for (sent, status, code) in [
        (("DF", "10"), 400, "UNSUPPORTED_TOKEN"),
        (("", "10"), 400, "UNSUPPORTED_TOKEN"),
        (("USDT", "10.0000001"), 400, "INVALID_PARAMETER"),
        (("USDT", "-10"), 400, "INVALID_PARAMETER"),
        (("USDT", "0"), 400, "AMOUNT_TOO_SMALL"),
        (("USDT", "ten"), 400, "INVALID_PARAMETER"),
        (("USDT", "9.999999"), 400, "AMOUNT_TOO_SMALL"),
        (("USDT", "1000000.000001"), 400, "INSUFFICIENT_BALANCE"),
    ] {
        refused(&mut venue, sent, status, code);
    }
    let (status, body) = venue.asks(2, "GET", &format!("{LIST}?status=requested"), "");
    assert_eq!((status, &body["code"]), (400, &json!("INVALID_PARAMETER")), "{body}");
    assert_eq!(signer.log_len(), 0);
    for mood in [Mood::Refuses, Mood::IsAway] {
        signer.mood(mood);
        refused(&mut venue, ("USDT", "10"), 503, "SERVICE_UNAVAILABLE");
    }
    signer.mood(Mood::Signs);
    assert_eq!(wallet_balance(&mut venue), "1000000.00000000");
    assert_eq!(venue.sees(2, LIST), json!([]), "what went back is not shown");
    assert_eq!(ask(&mut venue, "USDT", "10").1["nonce"], 0);
}

#[test]
fn an_operator_pauses_them_and_lets_them_go_on() {
    let (mut venue, signer, chain) = start();
    venue.operate("POST", PAUSE, r#"{"paused":true,"reason":"a drill"}"#);
    // Judged before the body.
    let (status, body) = venue.asks(2, "POST", REQUEST, "no JSON");
    assert_eq!((status, &body["code"]), (503, &json!("WITHDRAWALS_PAUSED")));
    refused(&mut venue, ("USDT", "10"), 503, "WITHDRAWALS_PAUSED");
    assert_eq!(signer.log_len(), 0);
    let row = &venue.operate("GET", "/admin/audit?limit=1", "")["items"][0];
    assert_eq!([&row["action"], &row["reason"], &row["outcome"]], ["pause_withdrawals", "a drill", "done"]);
    // The switch does not touch those of spot: this one gets as far as its token.
    let (_, body) = venue.asks(2, "POST", "/api/v1/spot/withdraw/request", r#"{"token":"X","amount":"1"}"#);
    assert_eq!(body["error"], "unsupported token: X");
    venue.operate("POST", PAUSE, r#"{"paused":false}"#);
    assert_eq!(ask(&mut venue, "USDT", "10").0, 200);
    let headers = [format!("X-API-Key: {}", crate::exchange::ADMIN_KEY)];
    let answer = venue.exchange.request("POST", PAUSE, &headers, "{}");
    assert!(answer.status == 400 && answer.body.contains("INVALID_PARAMETER"), "{}", answer.body);

    // A release that must be impossible: another token than was signed. Only an operator takes the alarm back.
    let key = ReleaseKey { chain_id: CHAIN, vault: VAULT, account: wallet(2), nonce: 0 };
    let wrong = FinalRelease {
        key,
        token: DF,
        value: 10_000_000,
        tx_hash: [1; 32],
        block: 9,
        block_time_s: 1_700_000_100,
    };
    assert_eq!(chain.tell(&mut venue.exchange, Fact::Release(wrong)), Told::Alarm);
    refused(&mut venue, ("USDT", "11"), 503, "WITHDRAWALS_PAUSED");
    venue.operate("POST", PAUSE, r#"{"paused":false}"#);
    refused(&mut venue, ("USDT", "11"), 503, "WITHDRAWALS_PAUSED");
    venue.operate("POST", PAUSE, r#"{"paused":false,"clear_alarm":true,"reason":"looked into"}"#);
    assert_eq!(ask(&mut venue, "USDT", "11").0, 200);
}

#[test]
fn without_a_vault_there_are_none() {
    let mut venue = venue_with(&[], |_| {});
    refused(&mut venue, ("USDT", "10"), 503, "WITHDRAWALS_UNAVAILABLE");
    // Also judged before the body, and behind the switch.
    let (status, body) = venue.asks(2, "POST", REQUEST, "no JSON");
    assert_eq!((status, &body["code"]), (503, &json!("WITHDRAWALS_UNAVAILABLE")));
    venue.operate("POST", PAUSE, r#"{"paused":true}"#);
    refused(&mut venue, ("USDT", "10"), 503, "WITHDRAWALS_PAUSED");
    assert_eq!(venue.sees(2, LIST), json!([]));
}

/// A market settled at what its index was until just now, far below its mark, takes more from a long than it has. The fund clears
/// it, and has nothing (`risk.md` 12.5, 18).
#[test]
fn while_the_fund_is_in_deficit_no_margin_leaves() {
    let (mut venue, signer, _chain) = start();
    let index = |venue: &mut Venue, price: &str| {
        let body = format!(r#"{{"symbol":"BTCUSDT","price":"{price}"}}"#);
        venue.operate("POST", "/admin/perpetual/index-price", &body);
        venue.pass(1_000);
    };
    index(&mut venue, "57000");
    (0..30).for_each(|_| venue.pass(1_000));
    // Who sells to the one that is ruined has its gain already: the settlement pays nobody who could give back of it.
    let early = "symbol=BTCUSDT&type=LIMIT&timeInForce=GTC&quantity=1.5&price=57000";
    venue.place(2, &format!("{early}&side=SELL"));
    assert_eq!(venue.place(1, &format!("{early}&side=BUY"))["status"], "FILLED");
    index(&mut venue, "60000");
    let limit = |side: &str| {
        format!("symbol=BTCUSDT&side={side}&type=LIMIT&timeInForce=GTC&quantity=1.5&price=60000")
    };
    venue.call(3, "POST", "/fapi/v1/leverage", "symbol=BTCUSDT&leverage=100");
    venue.place(1, &limit("SELL"));
    assert_eq!(venue.place(3, &limit("BUY"))["status"], "FILLED");
    assert_eq!(ask(&mut venue, "USDT", "10").0, 200);
    venue.operate("PATCH", "/admin/perpetual/symbols/BTCUSDT", r#"{"state":"CLOSED","confirm":true}"#);
    let proof = venue.operate("GET", "/admin/ledger/proof", "");
    let rows = proof["ledgers"].as_array().unwrap();
    let fund = rows.iter().find_map(|row| row["terms"]["insurance_fund"].as_str()).unwrap();
    assert!(fund.starts_with('-'), "{proof}");
    refused(&mut venue, ("USDT", "10"), 503, "WITHDRAWALS_PAUSED");
    // Judged before the body, as the operator's switch is.
    let (status, body) = venue.asks(2, "POST", REQUEST, "no JSON");
    assert_eq!((status, &body["code"]), (503, &json!("WITHDRAWALS_PAUSED")));
    // Nor does the fund's own, by an operator.
    let body = json!({
        "from": "fund:MAIN", "to": "fees:perpetual", "token": "USDT", "amount": "1", "reason": "a test",
    });
    let (status, body) = venue.commands("POST", "/admin/treasury/transfer", &body.to_string());
    let text = "from: fund:MAIN is in deficit";
    assert_eq!((status, body), (503, json!({ "code": "WITHDRAWALS_PAUSED", "message": text })));
    assert_eq!(signer.log_len(), 1);
}
