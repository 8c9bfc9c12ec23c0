//! The venue's own money: from and to the insurance fund and the fees, by one operator or two (`account.md` 13), through a socket.

use super::{SECOND_MS, venue_with};
use crate::exchange::venue::Venue;
use crate::exchange::{ADMIN_KEY, wallet_text};
use ringside_config::Value as Setting;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const ROUTE: &str = "/admin/treasury/transfer";
const APPROVALS: &str = "/admin/approvals";

/// A venue on which two operators decide above 500, with spot balances of 1000 each.
fn opened() -> Venue {
    let mut venue = venue_with(&[], |config| {
        config.treasury_two_operators_above = Setting::parse("500").unwrap();
    });
    venue.exchange.open();
    venue
}

fn account(number: u8) -> String {
    format!("account:{}", wallet_text(number))
}

fn asked((from, to, token, amount): (&str, &str, &str, &str)) -> Value {
    json!({ "from": from, "to": to, "token": token, "amount": amount, "reason": "a test" })
}

fn send(venue: &mut Venue, headers: &[String], method: &str, path: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let answer = venue.exchange.request(method, path, headers, &body);
    (answer.status, serde_json::from_str(&answer.body).unwrap())
}

/// A move by the administrator's key, which must be carried out.
#[track_caller]
fn moves(venue: &mut Venue, asked_for: (&str, &str, &str, &str)) {
    let answer = venue.operate("POST", ROUTE, &asked(asked_for).to_string());
    let (from, to, token, amount) = asked_for;
    let sequence = answer["sequence"].as_u64().unwrap();
    let expected = json!({
        "ok": true, "sequence": sequence, "from": from, "to": to, "token": token, "amount": amount,
    });
    assert_eq!(answer, expected);
}

fn available(venue: &mut Venue, number: u8, token: &str) -> String {
    let rows = venue.sees(number, &format!("/api/v1/spot/balances?token={token}"));
    rows[0]["available"].as_str().unwrap().to_owned()
}

/// Steps of 10^-18.
fn steps(text: &str) -> i128 {
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |text| (-1, text));
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    sign * format!("{whole}{part:0<18}").parse::<i128>().unwrap()
}

/// What there is of each asset in all ledgers together, which the proof must find equal to what came in; and terms of the perpetual one.
fn proof(venue: &mut Venue) -> (BTreeMap<String, i128>, Value) {
    let proof = venue.operate("GET", "/admin/ledger/proof", "");
    let ledgers = proof["ledgers"].as_array().unwrap();
    let mut held = BTreeMap::new();
    for ledger in ledgers {
        assert_eq!(ledger["equal"], true, "{proof}");
        *held.entry(ledger["asset"].as_str().unwrap().to_owned()).or_default() +=
            steps(ledger["left"].as_str().unwrap());
    }
    let perpetual = ledgers.iter().find(|ledger| ledger["ledger"] == "perpetual").unwrap();
    (held, perpetual["terms"].clone())
}

#[test]
fn money_moves_between_its_places_and_none_is_made() {
    let mut venue = opened();
    let (one, two, three) = (account(1), account(2), account(3));
    // Fees of both ledgers: of DF 10 bps of 10 and of USDT 5 bps of 3; 0.1 at 60000.
    for (number, side) in [(1, "sell"), (2, "buy")] {
        let order =
            json!({ "symbol": "DFUSDT", "side": side, "type": "limit", "price": "0.3", "quantity": "10" });
        assert_eq!(venue.asks(number, "POST", "/api/v1/spot/orders", &order.to_string()).0, 200);
    }
    venue.trade("BUY", "0.1", "60000");
    let (before, terms) = proof(&mut venue);
    assert_eq!((&terms["insurance_fund"], &terms["fee_pool"]), (&json!("0"), &json!("4.2")));

    moves(&mut venue, (&three, "fund:MAIN", "USDT", "100.000001"));
    moves(&mut venue, ("fees:perpetual", "fund:MAIN", "USDT", "1.2"));
    moves(&mut venue, ("fees:perpetual", &one, "USDT", "3"));
    moves(&mut venue, ("fund:MAIN", &two, "USDT", "0.5"));
    moves(&mut venue, ("fees:spot", &three, "DF", "0.009999999999999999"));
    moves(&mut venue, ("fees:spot", "fund:MAIN", "USDT", "0.0015"));
    moves(&mut venue, (&two, "fees:spot", "DF", "0.000000000000000001"));
    moves(&mut venue, ("fund:MAIN", "fees:perpetual", "USDT", "0.7"));
    // No more than there is.
    for (from, amount, held) in [
        ("fees:perpetual", "0.700001", "0.7 USDT"),
        ("fund:MAIN", "100.001502", "100.001501 USDT"),
        (three.as_str(), "899.999999000000000001", "899.999999 USDT"),
    ] {
        let to = if from == three { "fees:spot" } else { three.as_str() };
        let body = asked((from, to, "USDT", amount));
        let headers = [venue.exchange.operator("one")];
        let (status, answer) = send(&mut venue, &headers, "POST", ROUTE, &body);
        let answer = if status == 202 {
            let second = [venue.exchange.operator("two")];
            let path = format!("{APPROVALS}/{}", answer["approval_id"].as_str().unwrap());
            let answer = send(&mut venue, &second, "POST", &path, &Value::Null).1;
            venue.exchange.remove_operator("two");
            answer
        } else {
            answer
        };
        venue.exchange.remove_operator("one");
        let text = format!("amount: at most the {held} that {from} has available");
        assert_eq!(answer, json!({ "code": "INSUFFICIENT_BALANCE", "message": text }));
    }
    let (after, terms) = proof(&mut venue);
    assert_eq!(after, before);
    assert_eq!((&terms["insurance_fund"], &terms["fee_pool"]), (&json!("100.001501"), &json!("0.7")));
    assert_eq!(available(&mut venue, 1, "USDT"), "1005.9985");
    assert_eq!(available(&mut venue, 2, "USDT"), "997.5");
    assert_eq!(available(&mut venue, 2, "DF"), "1009.989999999999999999");
    assert_eq!(available(&mut venue, 3, "USDT"), "899.999999");
    assert_eq!(available(&mut venue, 3, "DF"), "1000.009999999999999999");

    // Seen by the account, and in the audit log, also after a restart.
    let seen = |venue: &mut Venue| {
        let income = [1, 2, 3].map(|number| {
            let rows = venue.call(number, "GET", "/fapi/v1/income", "incomeType=TREASURY");
            let of = |row: &Value| (row["income"].clone(), row["asset"].clone(), row["symbol"].clone());
            rows.as_array().unwrap().iter().map(of).collect::<Vec<_>>()
        });
        (income, venue.operate("GET", "/admin/audit", ""))
    };
    let (income, log) = seen(&mut venue);
    let row = |amount: &str| vec![(json!(amount), json!("USDT"), json!(""))];
    assert_eq!(income, [row("3.00000000"), row("0.50000000"), row("-100.00000100")]);
    let rows: Vec<&Value> =
        log["items"].as_array().unwrap().iter().filter(|row| row["outcome"] == "done").collect();
    let moved: Vec<&&Value> = rows.iter().filter(|row| row["action"] == "treasury_transfer").collect();
    assert_eq!(moved.len(), 8);
    assert_eq!(moved[7]["detail"], format!("from={three} to=fund:MAIN 100.000001 USDT"));
    assert_eq!((&moved[7]["subject"], &moved[7]["key"]), (&json!(wallet_text(3)), &json!("shared")));
    assert_eq!((&moved[0]["subject"], &moved[0]["reason"]), (&Value::Null, &json!("a test")));
    venue.exchange.restart();
    for number in 1..=3 {
        let trader = venue.trader(number, (true, true));
        venue.traders.insert(number, trader);
    }
    assert_eq!(seen(&mut venue), (income, log));
    assert_eq!(proof(&mut venue).0, after);
}

#[test]
fn what_is_large_takes_two_operators_with_keys_of_their_own() {
    let mut venue = opened();
    let [ann, bob] = ["ann", "bob"].map(|name| [venue.exchange.operator(name)]);
    let shared = |name: &str| [format!("X-API-Key: {ADMIN_KEY}"), format!("X-Operator: {name}")];
    let large = asked((&account(1), "fund:MAIN", "USDT", "500.000001"));
    let post = |venue: &mut Venue, headers: &[String], path: &str| {
        send(venue, headers, "POST", path, if path == ROUTE { &large } else { &Value::Null })
    };
    // At the bound one will do, whoever it is; in parts as at once, and what was refused does not count.
    moves(&mut venue, (&account(2), "fund:MAIN", "USDT", "300"));
    let most = asked(("fees:spot", "fund:MAIN", "USDT", "200"));
    assert_eq!(send(&mut venue, &ann, "POST", ROUTE, &most).1["code"], "INSUFFICIENT_BALANCE");
    moves(&mut venue, ("fund:MAIN", &account(2), "USDT", "200"));
    let part = asked((&account(2), "fund:MAIN", "USDT", "0.000001"));
    assert_eq!(send(&mut venue, &shared("ann"), "POST", ROUTE, &part).1["code"], "FORBIDDEN");
    moves(&mut venue, (&account(2), "fees:spot", "DF", "500"));
    for headers in [&shared("ann"), &shared("bob")] {
        let (status, answer) = post(&mut venue, headers, ROUTE);
        assert_eq!((status, &answer["code"]), (403, &json!("FORBIDDEN")));
    }
    let now_ms = venue.exchange.clock.now_ms();
    let (status, waits) = post(&mut venue, &ann, ROUTE);
    assert_eq!((status, &waits["expires_at"]), (202, &json!(now_ms + 15 * 60 * SECOND_MS)));
    let id = waits["approval_id"].as_str().unwrap().to_owned();
    assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let shown = json!({
        "approval_id": id, "method": "POST", "path": ROUTE, "reason": "a test", "proposed_by": "ann",
        "detail": format!("from={} to=fund:MAIN 500.000001 USDT", account(1)),
        "created_at": now_ms, "expires_at": waits["expires_at"],
    });
    assert_eq!(venue.operate("GET", APPROVALS, ""), json!({ "items": [shown] }));
    let path = format!("{APPROVALS}/{id}");
    for headers in [&ann[..], &shared("bob")] {
        assert_eq!(post(&mut venue, headers, &path).0, 403);
    }
    assert_eq!(available(&mut venue, 1, "USDT"), "1000", "nothing was done yet");
    let (status, done) = post(&mut venue, &bob, &path);
    assert_eq!((status, &done["ok"], &done["amount"]), (200, &json!(true), &json!("500.000001")));
    assert_eq!(post(&mut venue, &bob, &path).0, 404, "once");
    assert_eq!(available(&mut venue, 1, "USDT"), "499.999999");
    assert_eq!(venue.operate("GET", APPROVALS, ""), json!({ "items": [] }));
    let log = venue.operate("GET", "/admin/audit?limit=1", "");
    let row = &log["items"][0];
    let detail = format!("{} approved_by=bob", shown["detail"].as_str().unwrap());
    assert_eq!(
        (&row["operator"], &row["key"], &row["detail"], &row["outcome"], &row["sequence"]),
        (&json!("ann"), &json!("own"), &json!(detail), &json!("done"), &done["sequence"])
    );

    // Taken back, too late, forgotten by a restart, or asked for by a key that was taken away: nobody carries it out.
    let waiting = |venue: &mut Venue, headers: &[String]| {
        let (status, waits) = post(venue, headers, ROUTE);
        assert_eq!(status, 202, "{waits}");
        format!("{APPROVALS}/{}", waits["approval_id"].as_str().unwrap())
    };
    let path = waiting(&mut venue, &bob);
    assert_eq!(send(&mut venue, &shared("ann"), "DELETE", &path, &Value::Null).0, 403);
    assert_eq!(send(&mut venue, &bob, "DELETE", &path, &Value::Null), (200, json!({ "ok": true })));
    assert_eq!(post(&mut venue, &ann, &path).0, 404);
    let path = waiting(&mut venue, &ann);
    venue.pass(15 * 60 * SECOND_MS - 1);
    let late = waiting(&mut venue, &ann);
    venue.pass(1);
    assert_eq!(post(&mut venue, &bob, &path).0, 404);
    venue.exchange.remove_operator("ann");
    let (status, answer) = post(&mut venue, &bob, &late);
    assert_eq!((status, &answer["code"]), (403, &json!("FORBIDDEN")));
    assert_eq!(post(&mut venue, &ann, ROUTE).0, 401);
    // The same name with another key is not who asked.
    let again = [venue.exchange.operator("ann")];
    let path = waiting(&mut venue, &again);
    venue.exchange.remove_operator("ann");
    venue.exchange.operator("ann");
    assert_eq!(post(&mut venue, &bob, &path).0, 403);
    let path = waiting(&mut venue, &bob);
    venue.exchange.restart();
    let eve = [venue.exchange.operator("eve")];
    assert_eq!(post(&mut venue, &eve, &path).0, 404);
    assert_eq!(available(&mut venue, 1, "USDT"), "499.999999");
}
