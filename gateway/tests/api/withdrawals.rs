//! Withdrawals through sockets: from the request to what the chain says, with a signer that fails and a venue that stops on
//! the way. What contracts, real signatures and real nodes do is tested where they are.

use crate::exchange::chain::{CHAIN, Chain, DF, Fact, Mood, SteeredSigner, USDT, VAULT, configure};
use crate::exchange::socket::Socket;
use crate::exchange::{ADMIN_KEY, Exchange, send, wallet, wallet_text};
use ringside_chain::{FinalBlock, FinalRelease, Issued, Release, ReleaseKey, SignedRelease, Told};
use ringside_core::command::WithdrawalStatus;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const REQUEST: &str = "/api/v1/spot/withdraw/request";
const LIST: &str = "/api/v1/spot/withdrawals";
const UNIT: u128 = 1_000_000_000_000_000_000;
/// When every exchange starts, and the deadline of a withdrawal requested then.
const START_S: u64 = 1_700_000_000;
const DEADLINE_S: u64 = START_S + 86_400;

/// An exchange with three accounts of 1000 DF each, and its chain.
fn start() -> (Exchange, SteeredSigner, Chain) {
    let mut exchange = Exchange::start_with(configure);
    exchange.open();
    let signer = SteeredSigner::default();
    let chain = Chain::start(&exchange, Some(signer.clone()));
    (exchange, signer, chain)
}

fn ask(exchange: &mut Exchange, number: u8, amount: &str) -> (u16, Value) {
    let body = format!(r#"{{"token":"DF","amount":"{amount}"}}"#);
    let answer = exchange.request("POST", REQUEST, &exchange.account(number), &body);
    (answer.status, serde_json::from_str(&answer.body).unwrap())
}

fn read(exchange: &mut Exchange, number: u8, path: &str) -> Value {
    let answer = exchange.request("GET", path, &exchange.account(number), "");
    serde_json::from_str(&answer.body).unwrap()
}

/// Available and frozen DF.
fn balance(exchange: &mut Exchange, number: u8) -> (String, String) {
    let rows = read(exchange, number, "/api/v1/spot/balances?token=DF");
    let text = |name: &str| rows[0][name].as_str().unwrap().to_owned();
    (text("available"), text("frozen"))
}

fn has(exchange: &mut Exchange, number: u8, available: &str, frozen: &str) {
    assert_eq!(balance(exchange, number), (available.to_owned(), frozen.to_owned()));
}

fn release(number: u8, nonce: u64, units: u128) -> FinalRelease {
    FinalRelease {
        key: ReleaseKey { chain_id: CHAIN, vault: VAULT, account: wallet(number), nonce },
        token: DF,
        value: units * UNIT,
        tx_hash: [0xab; 32],
        block: 77,
        block_time_s: START_S + 600,
    }
}

fn block(block: u64, time_s: u64) -> Fact {
    Fact::Block(FinalBlock { chain_id: CHAIN, vault: VAULT, block, hash: [1; 32], time_s })
}

/// Turns the stages until the views say so.
#[track_caller]
fn until(exchange: &mut Exchange, mut is_so: impl FnMut(&Exchange) -> bool) {
    let begin = Instant::now();
    while !is_so(exchange) {
        exchange.turn();
        std::thread::sleep(Duration::from_millis(1));
        assert!(begin.elapsed() < Duration::from_secs(60), "it does not come");
    }
}

fn status(exchange: &Exchange, withdrawal: u64) -> Option<WithdrawalStatus> {
    exchange.shared.views.read().withdrawals().get(withdrawal).map(|record| record.status)
}

/// A signer's log may hold what an older configuration asked for: which balance it left nobody can say, so none is touched.
#[test]
fn a_release_of_a_token_that_is_not_configured_is_not_taken_for_another() {
    let mut exchange = Exchange::start_with(configure);
    exchange.open();
    let signer = SteeredSigner::default();
    for (nonce, token) in [(0, [0x44; 20]), (1, DF)] {
        let release = Release {
            key: release(3, nonce, 0).key,
            vault_name: "SpotVault".to_owned(),
            token,
            value: 2 * UNIT,
            deadline_s: DEADLINE_S,
            requested_at_s: START_S,
            withdrawal: 0,
        };
        let signed = SignedRelease { digest: [7; 32], signature: [7; 65] };
        signer.0.lock().log.push(Issued { release, signed });
    }
    let _chain = Chain::start(&exchange, Some(signer));
    // The desk has read the log before it has anything signed.
    assert_eq!(ask(&mut exchange, 1, "1").0, 200);
    has(&mut exchange, 3, "998", "2");
}

#[test]
fn a_withdrawal_is_signed_and_confirmed() {
    let (mut exchange, signer, chain) = start();
    let mut socket = Socket::open(&exchange);
    let token = exchange.account(1)[0].rsplit(' ').next().unwrap().to_owned();
    socket.send(&json!({ "type": "auth_token", "token": token }).to_string());
    assert_eq!(socket.next()["success"], true);
    assert_eq!(socket.subscribe("spot:user:balances")["type"], "subscribed");
    let (code, signed) = ask(&mut exchange, 1, "12.5");
    let id = signed["id"].as_str().unwrap().to_owned();
    assert_eq!(
        (code, &signed),
        (
            200,
            &json!({
                "id": id, "nonce": 0, "signature": format!("0x{}", "01".repeat(65)), "deadline": DEADLINE_S,
                "vault_address": format!("0x{}", "11".repeat(20)), "chain_id": CHAIN, "amount": "12.5",
            })
        )
    );
    let asked = signer.0.lock().log[0].release.clone();
    assert_eq!((asked.key.account, asked.token, asked.value), (wallet(1), DF, 25 * UNIT / 2));
    assert_eq!(
        (asked.deadline_s, asked.requested_at_s, asked.vault_name.as_str()),
        (DEADLINE_S, START_S, "SpotVault")
    );
    has(&mut exchange, 1, "987.5", "12.5");
    let mut shown = json!({
        "id": id, "token": "DF", "amount": "12.5", "fee": "0", "chain_id": CHAIN, "nonce": 0, "status": "signed",
        "deadline": DEADLINE_S, "tx_hash": null, "block_number": null, "requested_at": START_S, "confirmed_at": null,
    });
    assert_eq!(read(&mut exchange, 1, LIST), json!([shown]));
    assert_eq!(read(&mut exchange, 1, &format!("{LIST}/{id}")), shown);
    assert_eq!(read(&mut exchange, 2, LIST), json!([]));
    assert_eq!(read(&mut exchange, 2, &format!("{LIST}/{id}")), json!({ "error": "not found" }));

    exchange.clock.turn(700_000);
    let paid = FinalRelease { value: 25 * UNIT / 2, ..release(1, 0, 0) };
    assert_eq!(chain.tell(&mut exchange, Fact::Release(paid)), Told::Taken);
    assert_eq!(chain.tell(&mut exchange, Fact::Release(paid)), Told::Known);
    has(&mut exchange, 1, "987.5", "0");
    shown["status"] = json!("confirmed");
    shown["tx_hash"] = json!(format!("0x{}", "ab".repeat(32)));
    shown["block_number"] = json!(77);
    shown["confirmed_at"] = json!(START_S + 700);
    assert_eq!(read(&mut exchange, 1, &format!("{LIST}?status=confirmed")), json!([shown]));
    assert_eq!(read(&mut exchange, 1, &format!("{LIST}?status=signed")), json!([]));
    for frozen in ["12.5", "0"] {
        let push = socket.next();
        assert_eq!(
            (&push["type"], &push["data"]["token"], &push["data"]["available"], &push["data"]["frozen"]),
            (&json!("spot_user_balance"), &json!("DF"), &json!("987.5"), &json!(frozen))
        );
    }
    // The next request has the next nonce.
    assert_eq!(ask(&mut exchange, 1, "1").1["nonce"], 1);
    assert_eq!(chain.tell(&mut exchange, Fact::Release(release(1, 2, 1))), Told::Gap, "one is missing");
}

/// All of them can be read, page by page, whatever there are.
#[test]
fn a_list_goes_on_where_it_ended() {
    let (mut exchange, _signer, _chain) = start();
    let mut asked: Vec<Value> = (1..=7).map(|_| ask(&mut exchange, 1, "1").1["id"].clone()).collect();
    ask(&mut exchange, 2, "1");
    asked.reverse();
    let (mut seen, mut before) = (Vec::new(), String::new());
    loop {
        let page = read(&mut exchange, 1, &format!("{LIST}?limit=3{before}"));
        let ids: Vec<Value> = page.as_array().unwrap().iter().map(|row| row["id"].clone()).collect();
        let Some(last) = ids.last() else { break };
        before = format!("&before={}", last.as_str().unwrap());
        seen.extend(ids);
    }
    assert_eq!(seen, asked);
    assert_eq!(read(&mut exchange, 1, &format!("{LIST}?before=7"))["error"], "invalid id");
}

/// What the page needs to submit a release and to count its blocks; its owner's alone.
#[test]
fn the_page_learns_how_far_a_release_is() {
    const OPEN: &str = "/web/withdrawals.json";
    let (mut exchange, _signer, chain) = start();
    let settings = exchange.request("GET", "/web/settings.json", &[], "");
    let settings: Value = serde_json::from_str(&settings.body).unwrap();
    let contract = |byte: &str| format!("0x{}", byte.repeat(20));
    assert_eq!(
        settings["withdrawals"],
        json!({
            "vault": contract("11"), "confirmations": 20,
            "tokens": [
                { "token": "DF", "ledger": "spot", "address": contract("22"), "decimals": 18 },
                { "token": "USDT", "ledger": "perpetual", "address": contract("33"), "decimals": 6 },
            ],
        })
    );
    assert_eq!(
        read(&mut exchange, 1, OPEN),
        json!({ "paused": { "spot": false, "perpetual": false }, "open": [] })
    );
    let (_, first) = ask(&mut exchange, 1, "10");
    let (_, second) = ask(&mut exchange, 1, "20");
    let mut shown = [first, second];
    for one in &mut shown {
        let more = [("token", json!("DF")), ("tx_hash", json!(null)), ("confirmations", json!(0))];
        one.as_object_mut().unwrap().extend(more.map(|(name, value)| (name.to_owned(), value)));
    }
    assert_eq!(read(&mut exchange, 1, OPEN)["open"], json!(shown), "authorizations as they were given");
    assert_eq!(read(&mut exchange, 2, OPEN)["open"], json!([]));
    for (confirmations, is_there) in [(1, true), (19, true), (0, false)] {
        assert_eq!(chain.tell(&mut exchange, Fact::Seen(release(1, 0, 10), confirmations)), Told::Taken);
        shown[0]["tx_hash"] = if is_there { json!(format!("0x{}", "ab".repeat(32))) } else { json!(null) };
        shown[0]["confirmations"] = json!(confirmations);
        assert_eq!(read(&mut exchange, 1, OPEN)["open"], json!(shown));
    }
    assert_eq!(chain.tell(&mut exchange, Fact::Release(release(1, 0, 10))), Told::Taken);
    assert_eq!(read(&mut exchange, 1, OPEN)["open"], json!([shown[1]]), "what is final is in the list");
    assert_eq!(chain.tell(&mut exchange, Fact::paused(true)), Told::Taken);
    assert_eq!(read(&mut exchange, 1, OPEN)["paused"], json!({ "spot": true, "perpetual": true }));
    assert_eq!(exchange.request("GET", OPEN, &[], "").status, 401);
}

#[test]
fn it_expires_on_the_clock_of_the_chain_alone() {
    let (mut exchange, _signer, chain) = start();
    let (_, first) = ask(&mut exchange, 1, "100");
    ask(&mut exchange, 1, "50");
    exchange.clock.turn(100_000_000);
    assert_eq!(chain.tell(&mut exchange, block(10, DEADLINE_S)), Told::Taken);
    has(&mut exchange, 1, "850", "150");
    assert_eq!(chain.tell(&mut exchange, block(10, DEADLINE_S + 1)), Told::Known);
    assert_eq!(chain.tell(&mut exchange, block(11, DEADLINE_S + 1)), Told::Taken);
    has(&mut exchange, 1, "1000", "0");
    let expired = read(&mut exchange, 1, &format!("{LIST}?status=EXPIRED&limit=1"));
    assert_eq!((expired.as_array().unwrap().len(), &expired[0]["nonce"]), (1, &json!(1)), "newest first");
    let one = read(&mut exchange, 1, &format!("{LIST}/{}", first["id"].as_str().unwrap()));
    assert_eq!((&one["status"], &one["confirmed_at"]), (&json!("expired"), &json!(null)));
    // Its nonce is issued again, and the signer agrees, since the request is later than that deadline.
    let (code, again) = ask(&mut exchange, 1, "70");
    assert_eq!((code, &again["nonce"]), (200, &json!(0)));
}

#[test]
fn a_signer_that_fails_costs_nothing() {
    let (mut exchange, signer, chain) = start();
    for (mood, error) in [(Mood::Refuses, "sign failed"), (Mood::IsAway, "signer unavailable")] {
        signer.mood(mood);
        let (code, answer) = ask(&mut exchange, 1, "100");
        assert_eq!((code, &answer["error"]), (500, &json!(error)));
        has(&mut exchange, 1, "1000", "0");
    }
    // It may have signed: the amount is back, the nonce is not.
    signer.mood(Mood::IsSilent);
    assert_eq!(ask(&mut exchange, 1, "100").1["error"], "signer unavailable");
    has(&mut exchange, 1, "1000", "0");
    assert_eq!(status(&exchange, 3), Some(WithdrawalStatus::Void));
    let asked = signer.0.lock().asked;
    let (code, answer) = ask(&mut exchange, 1, "100");
    assert_eq!((code, &answer["error"]), (500, &json!("signer unavailable")));
    assert_eq!(signer.0.lock().asked, asked, "it is not even asked");
    // It is back and knows nothing of it.
    signer.mood(Mood::Signs);
    until(&mut exchange, |exchange| status(exchange, 3) == Some(WithdrawalStatus::Returned));
    let (code, answer) = ask(&mut exchange, 1, "100");
    assert_eq!((code, &answer["nonce"]), (200, &json!(0)));
    // It signed, and nobody heard: the nonce is held until the chain is past the deadline.
    signer.mood(Mood::SignsSilently);
    assert_eq!(ask(&mut exchange, 2, "100").0, 500);
    signer.mood(Mood::Signs);
    has(&mut exchange, 2, "1000", "0");
    // It says so when it is asked for what it knows of that nonce. What another account asks for then comes behind that.
    let found = signer.0.lock().found;
    until(&mut exchange, |_| signer.0.lock().found > found);
    assert_eq!(ask(&mut exchange, 3, "100").0, 200);
    assert_eq!(status(&exchange, 5), Some(WithdrawalStatus::Void));
    assert_eq!(ask(&mut exchange, 2, "100").0, 500);
    exchange.clock.turn(90_000_000);
    assert_eq!(chain.tell(&mut exchange, block(5, DEADLINE_S + 60)), Told::Taken);
    assert_eq!(ask(&mut exchange, 2, "100").0, 200);
    assert_eq!(read(&mut exchange, 2, LIST).as_array().unwrap().len(), 1, "what went back is not shown");
}

#[test]
fn nothing_is_signed_before_the_signers_log_was_read() {
    let (mut exchange, signer, chain) = start();
    assert_eq!(ask(&mut exchange, 1, "100").0, 200);
    drop((chain, exchange));
    // A copy that has forgotten it, and a signer that is away when it starts: the nonce is issued again, and goes to nobody.
    signer.mood(Mood::IsAway);
    let mut exchange = Exchange::start_with(configure);
    exchange.open();
    let _chain = Chain::start(&exchange, Some(signer.clone()));
    let asked = signer.0.lock().asked;
    let (code, answer) = ask(&mut exchange, 1, "300");
    assert_eq!((code, &answer["error"]), (500, &json!("signer unavailable")));
    assert_eq!(signer.0.lock().asked, asked, "it is not even asked");
    has(&mut exchange, 1, "1000", "0");
    signer.mood(Mood::Signs);
    until(&mut exchange, |exchange| status(exchange, 2) == Some(WithdrawalStatus::Signed));
    has(&mut exchange, 1, "900", "100");
    assert_eq!(ask(&mut exchange, 1, "300").1["nonce"], 1);
}

#[test]
fn a_key_withdraws_once() {
    let (mut exchange, signer, _chain) = start();
    let headers = [exchange.account(1)[0].clone(), "Idempotency-Key: w-1".to_owned()];
    let body = r#"{"token":"DF","amount":10}"#;
    let first = exchange.request("POST", REQUEST, &headers, body);
    let again = exchange.request("POST", REQUEST, &headers, body);
    assert_eq!((first.status, &first.body), (200, &again.body));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    has(&mut exchange, 1, "990", "10");
    // Answers of 500 are not kept: a retry is carried out.
    let headers = [exchange.account(1)[0].clone(), "Idempotency-Key: w-2".to_owned()];
    for (mood, status, replayed) in [
        (Mood::Refuses, 500, None),
        (Mood::Refuses, 500, None),
        (Mood::Signs, 200, None),
        (Mood::Signs, 200, Some("true")),
    ] {
        signer.mood(mood);
        let answer = exchange.request("POST", REQUEST, &headers, body);
        assert_eq!((answer.status, answer.header("idempotency-replayed")), (status, replayed));
    }
    has(&mut exchange, 1, "980", "20");
}

/// An answer of 500 is not kept: the key that it had is free for any body, also for one that is refused.
#[test]
fn what_was_given_back_leaves_its_key_to_another_body() {
    let (mut exchange, signer, _chain) = start();
    let (ten, five) = (r#"{"token":"DF","amount":10}"#, r#"{"token":"DF","amount":5}"#);
    let none = r#"{"token":"DF","amount":0}"#;
    let (conflict, below) = ("IDEMPOTENCY_CONFLICT", "amount below minimum 1");
    for (mood, key, body, status, error, replayed) in [
        (Mood::Refuses, "w-1", ten, 500, "sign failed", None),
        (Mood::Refuses, "w-1", five, 500, "sign failed", None),
        (Mood::Refuses, "w-1", ten, 500, "sign failed", None),
        (Mood::Signs, "w-1", five, 200, "", None),
        (Mood::Signs, "w-1", five, 200, "", Some("true")),
        (Mood::Signs, "w-1", ten, 409, conflict, None),
        (Mood::Signs, "w-1", none, 409, conflict, None),
        (Mood::Refuses, "w-2", ten, 500, "sign failed", None),
        (Mood::Signs, "w-2", none, 400, below, None),
        (Mood::Signs, "w-2", none, 400, below, Some("true")),
        (Mood::Signs, "w-2", ten, 409, conflict, None),
    ] {
        signer.mood(mood);
        let headers = [exchange.account(1)[0].clone(), format!("Idempotency-Key: {key}")];
        let answer = exchange.request("POST", REQUEST, &headers, body);
        let said: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(
            (answer.status, said["error"].as_str().unwrap_or(""), answer.header("idempotency-replayed")),
            (status, error, replayed),
            "{key} {body}"
        );
    }
    has(&mut exchange, 1, "995", "5");
}

#[test]
fn requests_of_a_day_are_bounded_whatever_becomes_of_them() {
    let mut exchange = Exchange::start_with(|config| {
        configure(config);
        config.withdrawals_per_day = 3;
    });
    exchange.open();
    let signer = SteeredSigner::default();
    let _chain = Chain::start(&exchange, Some(signer.clone()));
    let keyed = |exchange: &mut Exchange, key: &str| {
        let headers = [exchange.account(1)[0].clone(), format!("Idempotency-Key: {key}")];
        exchange.request("POST", REQUEST, &headers, r#"{"token":"DF","amount":"10"}"#)
    };
    assert_eq!(keyed(&mut exchange, "good").status, 200);
    // What the signer refuses comes back at once, and is one that was asked for.
    signer.mood(Mood::Refuses);
    assert_eq!(keyed(&mut exchange, "bad").status, 500);
    assert_eq!(ask(&mut exchange, 1, "10").0, 500);
    let refused = ask(&mut exchange, 1, "10");
    assert_eq!((refused.0, refused.1["error"].as_str()), (429, Some("RATE_LIMITED")));
    assert_eq!(keyed(&mut exchange, "new").status, 429);
    assert_eq!(keyed(&mut exchange, "bad").status, 429, "a retry would be one more");
    let again = keyed(&mut exchange, "good");
    assert_eq!((again.status, again.header("idempotency-replayed")), (200, Some("true")));
    signer.mood(Mood::Signs);
    assert_eq!(ask(&mut exchange, 2, "10").0, 200, "it is each account's own");
    exchange.clock.turn(86_400_000);
    assert_eq!(ask(&mut exchange, 1, "10").0, 200);
    has(&mut exchange, 1, "980", "20");
}

/// Sends a request and does not wait for the answer.
fn send_only(exchange: &mut Exchange, key: &str) {
    let headers = [exchange.account(1)[0].clone(), format!("Idempotency-Key: {key}")];
    let mut client = exchange.connect();
    send(&mut client, "POST", REQUEST, &headers, r#"{"token":"DF","amount":"100"}"#);
    until(exchange, |exchange| status(exchange, 1) == Some(WithdrawalStatus::Requested));
}

/// A venue that waits long for its signer.
fn patient(config: &mut ringside_config::Config) {
    configure(config);
    config.signer_patience = Duration::from_secs(8);
}

#[test]
fn a_restart_between_request_and_signature_resumes() {
    for is_signed in [false, true] {
        let mut exchange = Exchange::start_with(patient);
        exchange.open();
        let signer = SteeredSigner::default();
        signer.mood(if is_signed { Mood::SignsSilently } else { Mood::IsAway });
        if !is_signed {
            // Its log cannot be read yet: nothing is asked before that.
            signer.mood(Mood::IsSilent);
        }
        let chain = Chain::start(&exchange, Some(signer.clone()));
        send_only(&mut exchange, "once");
        until(&mut exchange, |_| signer.0.lock().asked > 0);
        assert_eq!(signer.log_len(), usize::from(is_signed));
        drop(chain);
        exchange.restart_with(patient);
        has(&mut exchange, 1, "900", "100");
        signer.mood(Mood::Signs);
        // Before anybody can ask again.
        let asked = signer.0.lock().asked;
        let _chain = Chain::start(&exchange, Some(signer.clone()));
        if is_signed {
            // The token is gone with the process; what the signer has in its log it signs again.
            until(&mut exchange, |exchange| status(exchange, 1) == Some(WithdrawalStatus::Signed));
            assert_eq!(signer.log_len(), 1, "one digest");
        } else {
            // It signs nothing new without one; the retry brings it again.
            until(&mut exchange, |_| signer.0.lock().asked > asked);
            assert_eq!((signer.log_len(), signer.0.lock().tokens.last()), (0, Some(&None)));
        }
        // Who asked did not hear of it; a retry with the key does.
        let headers = [exchange.account(1)[0].clone(), "Idempotency-Key: once".to_owned()];
        let answer = exchange.request("POST", REQUEST, &headers, r#"{"token":"DF","amount":"100"}"#);
        assert_eq!((answer.status, answer.header("idempotency-replayed")), (200, Some("true")));
        assert!(answer.body.contains(&format!("0x{}", "01".repeat(65))), "{}", answer.body);
        has(&mut exchange, 1, "900", "100");
        assert_eq!(signer.log_len(), 1, "one digest");
    }
}

/// The venue was killed before the signer heard of a request, and nobody comes back for it: its amount does.
#[test]
fn a_request_whose_token_is_lost_goes_back() {
    let mut exchange = Exchange::start_with(patient);
    exchange.open();
    let signer = SteeredSigner::default();
    signer.mood(Mood::IsSilent);
    let chain = Chain::start(&exchange, Some(signer.clone()));
    send_only(&mut exchange, "lost");
    until(&mut exchange, |_| signer.0.lock().asked > 0);
    drop(chain);
    exchange.restart_with(configure);
    signer.mood(Mood::Signs);
    let _chain = Chain::start(&exchange, Some(signer.clone()));
    until(&mut exchange, |exchange| status(exchange, 1) == Some(WithdrawalStatus::Returned));
    has(&mut exchange, 1, "1000", "0");
    assert_eq!(signer.log_len(), 0);
    // The same key is carried out anew, as after any answer 500.
    let headers = [exchange.account(1)[0].clone(), "Idempotency-Key: lost".to_owned()];
    let answer = exchange.request("POST", REQUEST, &headers, r#"{"token":"DF","amount":"100"}"#);
    assert_eq!((answer.status, answer.header("idempotency-replayed")), (200, None));
}

/// The signer sees the token of the very request, whichever way it is written.
#[test]
fn the_signer_is_shown_the_callers_token() {
    let (mut exchange, signer, _chain) = start();
    let header = exchange.account(2)[0].clone();
    let token = header.rsplit(' ').next().unwrap().to_owned();
    for header in [header, format!("authorization: bEARER   {token} ")] {
        let answer = exchange.request("POST", REQUEST, &[header], r#"{"token":"DF","amount":"1"}"#);
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    assert_eq!(signer.0.lock().tokens, [Some(token.clone()), Some(token)]);
}

#[test]
fn an_old_copy_learns_from_the_signer_what_it_has_forgotten() {
    let (mut exchange, signer, chain) = start();
    assert_eq!(ask(&mut exchange, 1, "100").0, 200);
    assert_eq!(ask(&mut exchange, 1, "200").0, 200);
    assert_eq!(ask(&mut exchange, 2, "300").0, 200);
    assert_eq!(chain.tell(&mut exchange, Fact::Release(release(1, 0, 100))), Told::Taken);
    drop((chain, exchange));
    // A copy from before all that: the same accounts, all their money.
    let mut exchange = Exchange::start_with(configure);
    exchange.open();
    let chain = Chain::start(&exchange, Some(signer.clone()));
    until(&mut exchange, |exchange| status(exchange, 3).is_some());
    // The watch goes on from where the copy stood.
    assert_eq!(chain.tell(&mut exchange, Fact::Release(release(1, 0, 100))), Told::Taken);
    has(&mut exchange, 1, "700", "200");
    has(&mut exchange, 2, "700", "300");
    assert_eq!(exchange.shared.views.read().withdrawals().paused(), 0);
    assert_eq!(ask(&mut exchange, 1, "50").1["nonce"], 2);
    assert_eq!(signer.log_len(), 4);
}

#[test]
fn a_release_that_does_not_fit_stops_withdrawals() {
    let (mut exchange, _signer, chain) = start();
    assert_eq!(ask(&mut exchange, 1, "100").0, 200);
    let wrong = FinalRelease { token: USDT, ..release(1, 0, 100) };
    assert_eq!(chain.tell(&mut exchange, Fact::Release(wrong)), Told::Alarm);
    has(&mut exchange, 1, "900", "100");
    assert_eq!(read(&mut exchange, 1, LIST)[0]["status"], "signed", "never confirmed");
    let (code, answer) = ask(&mut exchange, 2, "100");
    let text = "a release that must be impossible";
    assert_eq!((code, &answer), (503, &json!({ "error": "WITHDRAWALS_PAUSED", "message": text })));
    has(&mut exchange, 2, "1000", "0");
}

/// What stays frozen behind an alarm is settled by two people, each of whom the audit log names; and it survives a restart.
#[test]
fn two_operators_settle_what_the_vault_paid_otherwise() {
    const DISPUTED: &str = "/admin/withdrawals/disputed";
    for (outcome, available, status) in [("paid", "900", "confirmed"), ("returned", "1000", "expired")] {
        let (mut exchange, _signer, chain) = start();
        let (_, asked) = ask(&mut exchange, 1, "100");
        let id = asked["id"].as_str().unwrap().to_owned();
        assert_eq!(operate(&mut exchange, &shared(""), "GET", DISPUTED, "").1, json!({ "items": [] }));
        let path = format!("{DISPUTED}/{id}");
        let [ann, bob] = ["ann", "bob"].map(|name| exchange.operator(name));
        let body = format!(r#"{{"outcome":"{outcome}","reason":"seen on the chain"}}"#);
        assert_eq!(
            operate(&mut exchange, std::slice::from_ref(&ann), "POST", &path, &body).0,
            404,
            "nothing is disputed"
        );
        let wrong = FinalRelease { value: 99 * UNIT, ..release(1, 0, 100) };
        assert_eq!(chain.tell(&mut exchange, Fact::Release(wrong)), Told::Alarm);
        let mut shown = json!({
            "id": id, "user_address": wallet_text(1), "token": "DF", "amount": "100", "nonce": 0, "requested_at": START_S,
            "paid": { "value": (99 * UNIT).to_string(), "tx_hash": format!("0x{}", "ab".repeat(32)), "block_number": 77 },
            "proposed": null,
        });
        assert_eq!(operate(&mut exchange, &shared(""), "GET", DISPUTED, "").1, json!({ "items": [shown] }));
        let own = |key: &String| vec![key.clone()];
        for (headers, path, body, code) in [
            // The key that all share proves nobody, whatever name it is sent with.
            (shared(""), path.as_str(), body.as_str(), 403),
            (shared("ann"), path.as_str(), body.as_str(), 403),
            (own(&ann), &path, r#"{"outcome":"paid"}"#, 400),
            (own(&ann), &path, r#"{"outcome":"half","reason":"x"}"#, 400),
            (own(&ann), &format!("{DISPUTED}/7"), &body, 404),
        ] {
            assert_eq!(operate(&mut exchange, &headers, "POST", path, body).0, code, "{path} {body}");
        }
        let proposed =
            json!({ "settled": false, "outcome": outcome, "proposed_by": "ann", "agreed_by": null });
        // Nobody agrees with themselves.
        for _ in 0..2 {
            assert_eq!(operate(&mut exchange, &own(&ann), "POST", &path, &body), (200, proposed.clone()));
        }
        assert_eq!(operate(&mut exchange, &shared("bob"), "POST", &path, &body).0, 403);
        // Whose key was taken away since is not one of two.
        exchange.remove_operator("ann");
        let (code, answer) = operate(&mut exchange, &own(&bob), "POST", &path, &body);
        assert_eq!((code, &answer["code"]), (403, &json!("FORBIDDEN")));
        assert!(answer["message"].as_str().unwrap().starts_with("ann, who proposed it, has no key"));
        has(&mut exchange, 1, "900", "100");
        drop(chain);
        exchange.restart_with(configure);
        let [_ann, bob, eve] = ["ann", "bob", "eve"].map(|name| [exchange.operator(name)]);
        shown["proposed"] = json!({ "outcome": outcome, "by": "ann" });
        assert_eq!(operate(&mut exchange, &bob, "GET", DISPUTED, "").1, json!({ "items": [shown] }));
        let settled =
            json!({ "settled": true, "outcome": outcome, "proposed_by": "ann", "agreed_by": "bob" });
        assert_eq!(operate(&mut exchange, &bob, "POST", &path, &body), (200, settled));
        assert_eq!(operate(&mut exchange, &eve, "POST", &path, &body).0, 404, "it is settled");
        has(&mut exchange, 1, available, "0");
        let one = read(&mut exchange, 1, &format!("{LIST}/{id}"));
        assert_eq!(one["status"], status);
        assert_eq!(
            one["tx_hash"],
            if outcome == "paid" { shown["paid"]["tx_hash"].clone() } else { json!(null) }
        );
        let (_, log) = operate(&mut exchange, &shared(""), "GET", "/admin/audit", "");
        let noted = |row: &Value| (row["operator"].clone(), row["action"].clone(), row["subject"].clone());
        let rows: Vec<_> = log["items"].as_array().unwrap().iter().take(3).map(noted).collect();
        let by = |name: &str| (json!(name), json!("settle_withdrawal"), json!(wallet_text(1)));
        assert_eq!(rows, [by("bob"), by("ann"), by("ann")]);
        assert_eq!(log["items"][0]["reason"], "seen on the chain");
        exchange.restart_with(configure);
        assert_eq!(read(&mut exchange, 1, &format!("{LIST}/{id}")), one);
        let (_, proof) = operate(&mut exchange, &shared(""), "GET", "/admin/ledger/proof", "");
        assert!(proof["ledgers"].as_array().unwrap().iter().all(|row| row["equal"] == true), "{proof}");
    }
}

/// The administrator's key under a name.
fn shared(name: &str) -> Vec<String> {
    vec![format!("X-API-Key: {ADMIN_KEY}"), format!("X-Operator: {name}")]
}

fn operate(
    exchange: &mut Exchange,
    headers: &[String],
    method: &str,
    path: &str,
    body: &str,
) -> (u16, Value) {
    let answer = exchange.request(method, path, headers, body);
    (answer.status, serde_json::from_str(&answer.body).unwrap())
}

#[test]
fn providers_that_disagree_pause() {
    let (mut exchange, signer, chain) = start();
    assert_eq!(chain.tell(&mut exchange, Fact::paused(true)), Told::Taken);
    assert_eq!(chain.tell(&mut exchange, Fact::paused(true)), Told::Known);
    let text = "nodes of the chain do not agree or cannot be reached";
    let refused = json!({ "error": "WITHDRAWALS_PAUSED", "message": text });
    assert_eq!(ask(&mut exchange, 1, "100"), (503, refused));
    assert_eq!(signer.log_len(), 0);
    assert_eq!(chain.tell(&mut exchange, Fact::paused(false)), Told::Taken);
    assert_eq!(ask(&mut exchange, 1, "100").0, 200);
}
