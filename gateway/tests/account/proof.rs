//! Proof of reserves through a socket (`spot.md` 10.1): every account finds what it is owed, the sums are those of the ledgers, and
//! what is missing pauses withdrawals until it is there or two operators have accepted it.

use super::venue_with;
use crate::exchange::chain::{CHAIN, Chain, DF, Fact, SteeredSigner, USDT, VAULT, configure};
use crate::exchange::venue::Venue;
use crate::exchange::{ADMIN_KEY, PATIENCE, wallet, wallet_text};
use ringside_chain::{FinalBlock, FinalDeposit, Told};
use ringside_core::ids::Address;
use serde_json::{Value, json};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const ROUTE: &str = "/api/v1/proof";
const ACCEPT: &str = "/admin/proof/accept";
const UNIT: u128 = 1_000_000;

/// Steps of 10^-18.
fn steps(value: &Value) -> i128 {
    let text = value.as_str().unwrap();
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |text| (-1, text));
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    sign * format!("{whole}{part:0<18}").parse::<i128>().unwrap()
}

fn until(venue: &mut Venue, what: &str, mut is_so: impl FnMut(&mut Venue) -> bool) {
    let begin = Instant::now();
    while !is_so(venue) {
        venue.exchange.turn();
        std::thread::sleep(Duration::from_millis(2));
        assert!(begin.elapsed() < PATIENCE, "{what} does not come");
    }
}

/// Has a proof made of the state as it is; where there is no vault.
pub(crate) fn prove(venue: &mut Venue) -> Value {
    venue.exchange.turn();
    let sequence = venue.exchange.shared.views.read().sequence();
    until(venue, "a proof", |venue| {
        let proofs = venue.exchange.shared.proofs.clone();
        let is_new = proofs.newest().is_some_and(|proof| proof.sequence >= sequence);
        if !is_new {
            proofs.want();
        }
        is_new
    });
    // It may have been wanted once more while it was made; the last one stays.
    let mut shown = venue.public(ROUTE);
    until(venue, "the last proof", |venue| {
        std::thread::sleep(Duration::from_millis(100));
        venue.exchange.turn();
        let before = std::mem::replace(&mut shown, venue.public(ROUTE));
        before == shown
    });
    shown
}

fn token<'a>(proof: &'a Value, name: &str) -> &'a Value {
    proof["tokens"].as_array().unwrap().iter().find(|row| row["token"] == name).unwrap()
}

/// What `scripts/proof.py` says of two answers, and whether they hold.
fn judged(proof: &Value, own: &Value) -> (bool, String) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let file = |name: &str, of: &Value| {
        let path = std::env::temp_dir().join(format!("ringside-{name}-{}-{number}.json", std::process::id()));
        std::fs::write(&path, of.to_string()).unwrap();
        path
    };
    let (proof, own) = (file("proof", proof), file("me", own));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/proof.py");
    let mut command = Command::new("python3");
    command.arg(script).arg("--proof").arg(&proof).arg("--me").arg(&own);
    let output = command.output().expect("python3 runs");
    for path in [proof, own] {
        std::fs::remove_file(path).unwrap();
    }
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap()).concat();
    assert!(!said.contains("Traceback"), "{said}");
    (output.status.success(), said)
}

/// Pointers to every member of an answer that is a text, a number or nothing.
fn members(of: &Value, at: &str, found: &mut Vec<String>) {
    match of {
        Value::Object(all) => all.iter().for_each(|(key, of)| members(of, &format!("{at}/{key}"), found)),
        Value::Array(all) => {
            all.iter().enumerate().for_each(|(place, of)| members(of, &format!("{at}/{place}"), found));
        }
        _ => found.push(at.to_owned()),
    }
}

/// The script takes both answers, and neither with any of its members altered. The time alone is covered by nothing.
fn checks(proof: &Value, own: &Value) {
    let (holds, said) = judged(proof, own);
    assert!(holds && said.contains("yours: "), "{said}");
    let altered = |of: &Value| {
        let mut found = Vec::new();
        members(of, "", &mut found);
        let altered = |pointer: &String| {
            let mut of = of.clone();
            let member = of.pointer_mut(pointer).unwrap();
            *member = match &*member {
                Value::String(text) if text == "left" => json!("right"),
                Value::String(text) if text == "right" => json!("left"),
                Value::String(text) if text.starts_with('-') => json!(&text[1..]),
                Value::String(text) => {
                    let last = if text.ends_with('1') { '2' } else { '1' };
                    json!(format!("{}{last}", &text[..text.len() - 1]))
                }
                Value::Number(number) => json!(number.as_u64().unwrap() + 1),
                _ => json!(7),
            };
            (pointer.clone(), of)
        };
        found.iter().filter(|pointer| *pointer != "/time").map(altered).collect::<Vec<_>>()
    };
    for (pointer, proof) in altered(proof) {
        let (holds, said) = judged(&proof, own);
        assert!(!holds && said.contains("WRONG: "), "proof {pointer}: {said}");
    }
    for (pointer, own) in altered(own) {
        let (holds, said) = judged(proof, &own);
        assert!(!holds && said.contains("WRONG: "), "own {pointer}: {said}");
    }
}

#[test]
fn an_account_proves_what_it_is_owed_on_both_ledgers() {
    let mut venue = venue_with(&[], |config| config.proof_every = Duration::from_secs(600));
    venue.exchange.open();
    venue.trade("BUY", "0.1", "60000");
    for (number, side, quantity) in [(1, "sell", "10"), (2, "buy", "10"), (2, "buy", "7")] {
        let order = json!({ "symbol": "DFUSDT", "side": side, "type": "limit", "price": "0.3", "quantity": quantity });
        assert_eq!(venue.asks(number, "POST", "/api/v1/spot/orders", &order.to_string()).0, 200);
    }
    let body = json!({ "symbol": "BTCUSDT", "price": "60500" }).to_string();
    venue.operate("POST", "/admin/perpetual/index-price", &body);
    venue.pass(5_000);
    let ledgers = venue.operate("GET", "/admin/ledger/proof", "");
    let proof = prove(&mut venue);

    assert_eq!((&proof["block"], &proof["vaults"]), (&Value::Null, &json!([])));
    for name in ["DF", "USDT"] {
        let row = token(&proof, name);
        let of_ledgers = ledgers["ledgers"].as_array().unwrap().iter().filter(|row| row["asset"] == name);
        let left: i128 = of_ledgers.map(|row| steps(&row["left"])).sum();
        assert_eq!(steps(&row["owed"]), left, "{row}");
        assert_eq!(
            (&row["held"], &row["missing"]),
            (&Value::Null, &json!("0")),
            "nothing is known to be held"
        );
        assert_eq!(steps(&row["unbacked"]), left, "all of it was credited out of nothing");
        let mut accounts = 0;
        for number in 1..=3 {
            let own = venue.sees(number, "/api/v1/proof/me");
            for key in ["sequence", "block", "root"] {
                assert_eq!(own[key], proof[key]);
            }
            let leaf = own["leaves"].as_array().unwrap().iter().find(|leaf| leaf["token"] == name).unwrap();
            assert_eq!(leaf["account"], wallet_text(number));
            let balances = venue.sees(number, &format!("/api/v1/spot/balances?token={name}"));
            let mut owed = steps(&balances[0]["available"]) + steps(&balances[0]["frozen"]);
            if name == "USDT" {
                // Shown in micros, down.
                owed += steps(&venue.call(number, "GET", "/fapi/v2/account", "")["totalMarginBalance"]);
            }
            let amount = steps(&leaf["amount"]);
            assert!((owed..owed + 1_000_000_000_000).contains(&amount), "{number} {name}: {amount} {owed}");
            accounts += amount;
        }
        assert_eq!(steps(&row["accounts"]), accounts);
    }
    let own = venue.sees(2, "/api/v1/proof/me");
    checks(&proof, &own);
    // The administrator sees it beside the ledgers.
    assert_eq!(venue.operate("GET", "/admin/ledger/proof", "")["reserves"], proof);
    // An API key reads it, a stranger does not.
    let key = [format!("X-API-Key: {}", venue.traders[&2].key)];
    assert_eq!(venue.exchange.request("GET", "/api/v1/proof/me", &key, "").status, 200);
    assert_eq!(venue.asks(0, "GET", "/api/v1/proof/me", "").0, 401);
}

/// A venue with a vault.
fn vaulted() -> (Venue, Chain) {
    let mut venue = venue_with(&[], |config| {
        configure(config);
        config.proof_every = Duration::from_secs(1);
    });
    venue.exchange.open();
    let chain = Chain::start(&venue.exchange, Some(SteeredSigner::default()));
    (venue, chain)
}

fn block(number: u64) -> FinalBlock {
    FinalBlock {
        chain_id: CHAIN,
        vault: VAULT,
        block: number,
        hash: [number as u8; 32],
        time_s: 1_700_000_000 + number,
    }
}

fn deposit(number: u64, token: Address, value: u128) -> FinalDeposit {
    FinalDeposit {
        chain_id: CHAIN,
        vault: VAULT,
        number,
        account: wallet(1),
        token,
        value,
        tx_hash: [number as u8; 32],
        block: 70 + number,
        block_time_s: 1_700_000_000 + number,
    }
}

/// Tells a final block as of which the vault holds so many micros of USDT; gives the proof of it.
fn holds(venue: &mut Venue, chain: &Chain, number: u64, micros: u128) -> Value {
    let held = vec![(DF, 0), (USDT, micros)];
    until(venue, "the wish to know", |venue| {
        venue.exchange.shared.proofs.want();
        chain.tell(&mut venue.exchange, Fact::Held(block(number), held.clone())) == Told::Taken
    });
    assert_eq!(chain.tell(&mut venue.exchange, Fact::Block(block(number))), Told::Taken);
    until(venue, "a proof", |venue| venue.public(ROUTE)["block"] == number);
    venue.public(ROUTE)
}

fn asks_for_money(venue: &mut Venue) -> (u16, Value) {
    venue.asks(2, "POST", "/api/v1/spot/withdraw/request", r#"{"token":"DF","amount":"1"}"#)
}

fn pauses(venue: &mut Venue) -> Value {
    venue.operate("GET", "/admin/chain", "")["paused"].clone()
}

fn waits_for_pauses(venue: &mut Venue, expected: &Value) {
    until(venue, "the pause", |venue| pauses(venue) == *expected);
}

#[test]
fn what_is_missing_pauses_withdrawals_until_it_is_there() {
    let (mut venue, chain) = vaulted();
    assert_eq!(venue.asks(0, "GET", ROUTE, "").0, 503, "nothing is said before the vault was asked");
    assert_eq!(chain.tell(&mut venue.exchange, Fact::Deposit(deposit(1, USDT, 100 * UNIT))), Told::Taken);
    let proof = holds(&mut venue, &chain, 90, 100 * UNIT);
    let row = token(&proof, "USDT");
    assert_eq!((&row["held"], &row["missing"]), (&json!("100"), &json!("0")));
    assert_eq!(
        steps(&row["owed"]) - steps(&row["unbacked"]),
        steps(&row["held"]),
        "test credits are unbacked"
    );
    assert_eq!(proof["vaults"][0]["block"], 90);
    assert_eq!(pauses(&mut venue), json!([]));
    assert_eq!(asks_for_money(&mut venue).0, 200);

    // More than is owed is nothing to stop for; a millionth less is.
    let proof = holds(&mut venue, &chain, 91, 101 * UNIT);
    assert_eq!(token(&proof, "USDT")["missing"], "0");
    let proof = holds(&mut venue, &chain, 92, 100 * UNIT - 1);
    assert_eq!(token(&proof, "USDT")["missing"], "0.000001");
    waits_for_pauses(&mut venue, &json!(["reserves"]));
    let message = "the ledgers owe more than the vault holds";
    assert_eq!(
        asks_for_money(&mut venue),
        (503, json!({ "error": "WITHDRAWALS_PAUSED", "message": message }))
    );
    let metrics = venue.exchange.request("GET", "/metrics", &[format!("X-API-Key: {ADMIN_KEY}")], "").body;
    for line in [
        "ringside_reserves_missing{token=\"USDT\"} 0.000001",
        "ringside_reserves_held{token=\"USDT\"} 99.999999",
        "ringside_withdrawals_paused{reason=\"reserves\"} 1",
    ] {
        assert!(metrics.contains(line), "{line} in\n{metrics}");
    }
    // An operator's word about alarms does not lift it, a restart neither.
    let clear = r#"{"paused":false,"clear_alarm":true,"reason":"looked at"}"#;
    venue.operate("POST", "/admin/withdrawals/pause", clear);
    assert_eq!(pauses(&mut venue), json!(["reserves"]));
    // It is there again.
    holds(&mut venue, &chain, 93, 100 * UNIT);
    waits_for_pauses(&mut venue, &json!([]));
    assert_eq!(asks_for_money(&mut venue).0, 200);
}

#[test]
fn two_operators_accept_what_is_missing() {
    let (mut venue, chain) = vaulted();
    chain.tell(&mut venue.exchange, Fact::Deposit(deposit(1, USDT, 100 * UNIT)));
    holds(&mut venue, &chain, 90, 98 * UNIT);
    waits_for_pauses(&mut venue, &json!(["reserves"]));
    let (one, two) = ([venue.exchange.operator("one")], [venue.exchange.operator("two")]);
    let send = |venue: &mut Venue, headers: &[String], path: &str, body: Value| {
        let answer = venue.exchange.request("POST", path, headers, &body.to_string());
        (answer.status, serde_json::from_str::<Value>(&answer.body).unwrap())
    };
    let asked = |amount: &str| json!({ "token": "USDT", "amount": amount, "reason": "stolen, and made good next week" });
    let (status, answer) = send(&mut venue, &one, ACCEPT, asked("1.9"));
    assert_eq!((status, &answer["message"]), (400, &json!("amount: 2 USDT are missing")));
    let (status, answer) = send(&mut venue, &one, ACCEPT, asked("2.5"));
    assert_eq!(status, 202, "{answer}");
    assert_eq!(pauses(&mut venue), json!(["reserves"]), "one alone decides nothing");
    let path = format!("/admin/approvals/{}", answer["approval_id"].as_str().unwrap());
    let (status, answer) = send(&mut venue, &two, &path, Value::Null);
    assert_eq!((status, answer), (200, json!({ "ok": true, "token": "USDT", "amount": "2.5" })));
    waits_for_pauses(&mut venue, &json!([]));
    let log = venue.operate("GET", "/admin/audit", "");
    assert!(log.to_string().contains("2.5 USDT may be missing approved_by=two"), "{log}");
    // So much, and no more.
    holds(&mut venue, &chain, 91, 97_500_000);
    assert_eq!(pauses(&mut venue), json!([]));
    holds(&mut venue, &chain, 92, 97_499_999);
    waits_for_pauses(&mut venue, &json!(["reserves"]));
    // Until nothing was missing.
    holds(&mut venue, &chain, 93, 100 * UNIT);
    waits_for_pauses(&mut venue, &json!([]));
    holds(&mut venue, &chain, 94, 99 * UNIT);
    waits_for_pauses(&mut venue, &json!(["reserves"]));
}
