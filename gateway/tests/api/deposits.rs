//! Deposits through sockets: from the first block that has one to its credit, over restarts, of tokens that are not known yet or
//! paused; the tokens' own routes; why withdrawals are paused; and the way back that two operators decide. What contracts and real
//! nodes do is tested where they are.

use crate::exchange::chain::{CHAIN, Chain, DF, Fact, SteeredSigner, USDT, VAULT, configure};
use crate::exchange::socket::Socket;
use crate::exchange::{ADMIN_KEY, Exchange, wallet};
use ringside_chain::{FinalBlock, FinalDeposit, FinalRelease, ReleaseKey, Replaced, Stop, Told};
use ringside_core::ids::Address;
use serde_json::{Value, json};

const LIST: &str = "/api/v1/spot/deposits";
const TOKENS: &str = "/admin/tokens";
const SETTINGS: &str = "/web/settings.json";
const UNIT: u128 = 1_000_000_000_000_000_000;
const START_S: u64 = 1_700_000_000;
const GOLD: Address = [0x44; 20];

fn start() -> (Exchange, SteeredSigner, Chain) {
    let mut exchange = Exchange::start_with(configure);
    exchange.open();
    let signer = SteeredSigner::default();
    let chain = Chain::start(&exchange, Some(signer.clone()));
    (exchange, signer, chain)
}

fn text(bytes: &[u8]) -> String {
    const_hex::encode_prefixed(bytes)
}

fn deposit(number: u64, to: u8, token: Address, value: u128) -> FinalDeposit {
    FinalDeposit {
        chain_id: CHAIN,
        vault: VAULT,
        number,
        account: wallet(to),
        token,
        value,
        tx_hash: [number as u8; 32],
        block: 70 + number,
        block_time_s: START_S + number,
    }
}

fn id(number: u64) -> String {
    format!("{CHAIN}-{}-{number}", text(&VAULT))
}

fn read(exchange: &mut Exchange, number: u8, path: &str) -> Value {
    let answer = exchange.request("GET", path, &exchange.account(number), "");
    serde_json::from_str(&answer.body).unwrap()
}

fn operate(exchange: &mut Exchange, name: &str, method: &str, path: &str, body: &str) -> (u16, Value) {
    let headers = [format!("X-API-Key: {ADMIN_KEY}"), format!("X-Operator: {name}")];
    let answer = exchange.request(method, path, &headers, body);
    (answer.status, serde_json::from_str(&answer.body).unwrap())
}

fn available(exchange: &mut Exchange, number: u8, token: &str) -> String {
    let rows = read(exchange, number, &format!("/api/v1/spot/balances?token={token}"));
    rows[0]["available"].as_str().unwrap_or_default().to_owned()
}

fn gold(more: &str) -> String {
    format!(r#"{{"symbol":"GOLD","address":"{}","decimals":6{more}}}"#, text(&GOLD))
}

/// Until what the thread of the chain does by itself is done.
#[track_caller]
fn until(exchange: &mut Exchange, mut is_so: impl FnMut(&mut Exchange) -> bool) {
    let begin = std::time::Instant::now();
    while !is_so(exchange) {
        exchange.turn();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(begin.elapsed() < std::time::Duration::from_secs(60), "it does not come");
    }
}

#[test]
fn a_deposit_is_shown_from_its_first_block_and_credited_once() {
    let (mut exchange, _signer, chain) = start();
    let mut socket = Socket::open(&exchange);
    let token = exchange.account(1)[0].rsplit(' ').next().unwrap().to_owned();
    socket.send(&json!({ "type": "auth_token", "token": token }).to_string());
    assert_eq!(socket.next()["success"], true);
    assert_eq!(socket.subscribe("spot:user:balances")["type"], "subscribed");
    assert_eq!(read(&mut exchange, 1, LIST), json!([]));

    let first = deposit(1, 1, DF, 25 * UNIT / 2);
    let mut shown = json!({
        "id": id(1), "token": "DF", "amount": "12.5", "chain_id": CHAIN, "number": 1, "tx_hash": text(&[1; 32]),
        "block_number": 71, "confirmations": 0, "status": "pending", "seen_at": START_S + 1, "credited_at": null,
    });
    for confirmations in [0, 1, 19] {
        chain.tell(&mut exchange, Fact::SeenDeposit(first, Some(confirmations)));
        shown["confirmations"] = json!(confirmations);
        assert_eq!(read(&mut exchange, 1, LIST), json!([shown]));
        assert_eq!(read(&mut exchange, 1, &format!("{LIST}?status=PENDING")), json!([shown]));
        assert_eq!(read(&mut exchange, 1, &format!("{LIST}?status=credited")), json!([]));
    }
    assert_eq!(read(&mut exchange, 2, LIST), json!([]), "its owner's alone");
    assert_eq!(available(&mut exchange, 1, "DF"), "1000", "it does not count yet");
    // The chain drops it, and brings it again.
    chain.tell(&mut exchange, Fact::SeenDeposit(first, None));
    assert_eq!(read(&mut exchange, 1, LIST), json!([]));
    chain.tell(&mut exchange, Fact::SeenDeposit(first, Some(5)));

    exchange.clock.turn(700_000);
    assert_eq!(chain.tell(&mut exchange, Fact::Deposit(first)), Told::Taken);
    assert_eq!(chain.tell(&mut exchange, Fact::Deposit(first)), Told::Known);
    chain.tell(&mut exchange, Fact::SeenDeposit(first, Some(20)));
    shown["status"] = json!("credited");
    shown["confirmations"] = json!(20);
    shown["credited_at"] = json!(START_S + 700);
    assert_eq!(read(&mut exchange, 1, LIST), json!([shown]), "once, whatever is seen of it still");
    assert_eq!(available(&mut exchange, 1, "DF"), "1012.5");
    let push = socket.next();
    assert_eq!((&push["type"], &push["data"]["token"]), (&json!("spot_user_balance"), &json!("DF")));
    assert_eq!(push["data"]["available"], "1012.5");
    assert_eq!(
        chain.tell(&mut exchange, Fact::Deposit(deposit(3, 1, DF, UNIT))),
        Told::Gap,
        "one is missing"
    );
    assert_eq!(available(&mut exchange, 1, "DF"), "1012.5");
    // An API key reads them.
    let body = r#"{"label":"reads","permissions":["read"]}"#;
    let alice = exchange.account(1);
    let made = exchange.request("POST", "/api/v1/account/api-keys", &alice, body);
    let made: Value = serde_json::from_str(&made.body).unwrap();
    let key = [format!("X-API-Key: {}", made["api_key"].as_str().unwrap())];
    let answer = exchange.request("GET", LIST, &key, "");
    assert_eq!(serde_json::from_str::<Value>(&answer.body).unwrap(), json!([shown]));

    drop(chain);
    exchange.restart_with(configure);
    assert_eq!(read(&mut exchange, 1, LIST), json!([shown]), "and it is there after a restart");
    let chain = Chain::start(&exchange, Some(SteeredSigner::default()));
    assert_eq!(chain.tell(&mut exchange, Fact::Deposit(first)), Told::Known);
    assert_eq!(available(&mut exchange, 1, "DF"), "1012.5");
    let (_, proof) = operate(&mut exchange, "ann", "GET", "/admin/ledger/proof", "");
    assert!(proof["ledgers"].as_array().unwrap().iter().all(|row| row["equal"] == true), "{proof}");
}

/// Whoever was never seen has an account by being deposited for, and it is theirs when they log in.
#[test]
fn a_stranger_is_credited_too() {
    let (mut exchange, _signer, chain) = start();
    assert_eq!(chain.tell(&mut exchange, Fact::Deposit(deposit(1, 9, USDT, 1_500_000))), Told::Taken);
    let account = exchange.shared.views.read().accounts().of_address(&wallet(9)).expect("it was made");
    let bearer = [exchange.bearer(account, &wallet(9))];
    let answer = exchange.request("GET", "/api/v1/spot/balances?token=USDT", &bearer, "");
    assert!(answer.body.contains(r#""available":"1.5""#), "{}", answer.body);
}

#[test]
fn a_number_with_other_contents_stops_withdrawals() {
    let (mut exchange, _signer, chain) = start();
    assert_eq!(chain.tell(&mut exchange, Fact::Deposit(deposit(1, 1, DF, UNIT))), Told::Taken);
    for other in [
        deposit(1, 2, DF, UNIT),
        deposit(1, 1, USDT, UNIT),
        deposit(1, 1, DF, 2 * UNIT),
        FinalDeposit { tx_hash: [9; 32], ..deposit(1, 1, DF, UNIT) },
    ] {
        assert_eq!(chain.tell(&mut exchange, Fact::Deposit(other)), Told::Alarm);
    }
    assert_eq!(available(&mut exchange, 1, "DF"), "1001");
    let ask = |exchange: &mut Exchange| {
        let body = r#"{"token":"DF","amount":"1"}"#;
        let answer = exchange.request("POST", "/api/v1/spot/withdraw/request", &exchange.account(2), body);
        (answer.status, serde_json::from_str::<Value>(&answer.body).unwrap())
    };
    let message = "deposit 1 was seen twice with other contents";
    assert_eq!(ask(&mut exchange), (503, json!({ "error": "WITHDRAWALS_PAUSED", "message": message })));
    let (_, shown) = operate(&mut exchange, "ann", "GET", "/admin/chain", "");
    assert_eq!((&shown["paused"], &shown["reason"]), (&json!(["alarm"]), &json!(message)));
    // The way out is an operator's.
    let body = r#"{"paused":false,"clear_alarm":true,"reason":"looked at"}"#;
    assert_eq!(operate(&mut exchange, "ann", "POST", "/admin/withdrawals/pause", body).0, 200);
    assert_eq!(ask(&mut exchange).0, 200);
}

#[test]
fn a_list_goes_on_where_it_ended() {
    let (mut exchange, _signer, chain) = start();
    for number in 1..=5 {
        let told = chain.tell(&mut exchange, Fact::Deposit(deposit(number, 1 + number as u8 / 5, DF, UNIT)));
        assert_eq!(told, Told::Taken);
    }
    for number in 6..=7 {
        chain.tell(&mut exchange, Fact::SeenDeposit(deposit(number, 1, DF, UNIT), Some(8 - number)));
    }
    let numbers = |page: &Value| -> Vec<u64> {
        page.as_array().unwrap().iter().map(|row| row["number"].as_u64().unwrap()).collect()
    };
    let mut cursor = String::new();
    for expected in [&[7, 6][..], &[4, 3], &[2, 1], &[]] {
        let page = read(&mut exchange, 1, &format!("{LIST}?limit=2{cursor}"));
        assert_eq!(numbers(&page), expected);
        if let Some(last) = page.as_array().unwrap().last() {
            cursor = format!("&cursor={}", last["id"].as_str().unwrap());
        }
    }
    let credited = read(&mut exchange, 1, &format!("{LIST}?status=credited&limit=3"));
    assert_eq!(numbers(&credited), [4, 3, 2]);
    let foreign = id(5);
    for (query, error) in [
        ("status=held", "invalid status"),
        ("limit=x", "invalid limit"),
        ("cursor=7", "invalid cursor"),
        (&format!("cursor={foreign}"), "invalid cursor"),
    ] {
        let answer = exchange.request("GET", &format!("{LIST}?{query}"), &exchange.account(1), "");
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!((answer.status, &body["error"]), (400, &json!(error)), "{query}");
    }
}

#[test]
fn where_deposits_go_is_told() {
    let (mut exchange, _signer, chain) = start();
    chain.tell(&mut exchange, Fact::paused(false));
    let address = format!("{LIST}/address");
    let token = |symbol: &str, address: &Address, decimals: u8| json!({ "symbol": symbol, "address": text(address), "decimals": decimals, "deposits_paused": false });
    let mut shown = json!({
        "chain_id": CHAIN, "vault_address": text(&VAULT), "former_vault_addresses": [],
        "tokens": [token("DF", &DF, 18), token("USDT", &USDT, 6)], "confirmations": 20,
    });
    assert_eq!(read(&mut exchange, 1, &address), shown);
    assert_eq!(read(&mut exchange, 1, SETTINGS)["deposits"], json!(true), "the page is told");
    assert_eq!(operate(&mut exchange, "ann", "POST", TOKENS, &gold(r#","deposits_paused":true"#)).0, 200);
    let mut added = token("GOLD", &GOLD, 6);
    added["deposits_paused"] = json!(true);
    shown["tokens"].as_array_mut().unwrap().push(added);
    assert_eq!(read(&mut exchange, 1, &address), shown);
    drop(chain);
    // A vault that was replaced is shown beside the new one.
    exchange.restart_with(|config| {
        configure(config);
        config.vault_address = Some(ringside_config::Wallet([0x12; 20]));
    });
    let _chain = Chain::start(&exchange, Some(SteeredSigner::default()));
    shown["vault_address"] = json!(text(&[0x12; 20]));
    shown["former_vault_addresses"] = json!([text(&VAULT)]);
    assert_eq!(read(&mut exchange, 1, &address), shown);
}

/// A token that is not known, or paused: what comes is held, nobody behind it waits, and it is credited by itself once it may be.
#[test]
fn what_is_held_is_credited_once_it_may_be() {
    let (mut exchange, _signer, chain) = start();
    assert_eq!(chain.tell(&mut exchange, Fact::Deposit(deposit(1, 1, GOLD, 2_500_000))), Told::Taken);
    assert_eq!(chain.tell(&mut exchange, Fact::Deposit(deposit(2, 1, DF, UNIT))), Told::Taken);
    assert_eq!(available(&mut exchange, 1, "DF"), "1001");
    let shown = read(&mut exchange, 1, &format!("{LIST}?status=pending"));
    assert_eq!(
        (&shown[0]["token"], &shown[0]["amount"], &shown[0]["held"], &shown[0]["status"]),
        (&json!(text(&GOLD)), &json!("2500000"), &json!("the token is not known here"), &json!("pending"))
    );
    let (_, waits) = operate(&mut exchange, "ann", "GET", "/admin/chain", "");
    assert_eq!(waits["held_deposits"][0]["reason"], "token_unknown");
    assert_eq!(waits["vaults"][0]["deposits"], 2);
    assert_eq!(operate(&mut exchange, "ann", "POST", TOKENS, &gold("")).0, 200);
    until(&mut exchange, |exchange| available(exchange, 1, "GOLD") == "2.5");
    let shown = read(&mut exchange, 1, &format!("{LIST}?status=credited"));
    assert_eq!((&shown[1]["token"], &shown[1]["amount"]), (&json!("GOLD"), &json!("2.5")));
    assert!(shown[1].get("held").is_none());
    let pause = |exchange: &mut Exchange, is_paused: bool| {
        let body = format!(r#"{{"deposits_paused":{is_paused}}}"#);
        assert_eq!(operate(exchange, "ann", "PATCH", &format!("{TOKENS}/GOLD"), &body).0, 200);
    };
    pause(&mut exchange, true);
    assert_eq!(chain.tell(&mut exchange, Fact::Deposit(deposit(3, 1, GOLD, 500_000))), Told::Taken);
    assert_eq!(available(&mut exchange, 1, "GOLD"), "2.5");
    let shown = read(&mut exchange, 1, &format!("{LIST}?status=pending"));
    assert_eq!(
        (&shown[0]["amount"], &shown[0]["held"]),
        (&json!("0.5"), &json!("deposits of the token are paused"))
    );
    pause(&mut exchange, false);
    until(&mut exchange, |exchange| available(exchange, 1, "GOLD") == "3");
    // More than a balance can be: it stays held, and says so.
    assert_eq!(chain.tell(&mut exchange, Fact::Deposit(deposit(4, 1, GOLD, u128::MAX))), Told::Taken);
    let shown = read(&mut exchange, 1, &format!("{LIST}?status=pending"));
    assert_eq!(shown[0]["held"], "it is more than a balance can be");
    assert_eq!(available(&mut exchange, 1, "GOLD"), "3");
}

#[test]
fn an_added_token_is_withdrawn_by_its_own_rules() {
    let (mut exchange, signer, chain) = start();
    let ask = |exchange: &mut Exchange, token: &str, amount: &str| {
        let body = format!(r#"{{"token":"{token}","amount":"{amount}"}}"#);
        let answer = exchange.request("POST", "/api/v1/spot/withdraw/request", &exchange.account(1), &body);
        (answer.status, serde_json::from_str::<Value>(&answer.body).unwrap())
    };
    assert_eq!(ask(&mut exchange, "GOLD", "1"), (400, json!({ "error": "unsupported token: GOLD" })));
    assert_eq!(operate(&mut exchange, "ann", "POST", TOKENS, &gold(r#","min_withdrawal":"0.25""#)).0, 200);
    assert_eq!(chain.tell(&mut exchange, Fact::Deposit(deposit(1, 1, GOLD, 9_000_000))), Told::Taken);
    assert_eq!(ask(&mut exchange, "GOLD", "0.2"), (400, json!({ "error": "amount below minimum 0.25" })));
    assert_eq!(ask(&mut exchange, "GOLD", "0"), (400, json!({ "error": "amount below minimum 0.25" })));
    let finer = json!({ "error": "invalid amount", "message": "amount: above 0, with at most 6 decimals" });
    assert_eq!(ask(&mut exchange, "GOLD", "1.0000001"), (400, finer));
    assert_eq!(ask(&mut exchange, "GOLD", "9.1"), (400, json!({ "error": "insufficient balance" })));
    assert_eq!(ask(&mut exchange, "USDT", "1"), (400, json!({ "error": "unsupported token: USDT" })));
    let (code, given) = ask(&mut exchange, "GOLD", "1.5");
    assert_eq!((code, &given["amount"]), (200, &json!("1.5")));
    let asked = signer.0.lock().log[0].release.clone();
    assert_eq!((asked.token, asked.value), (GOLD, 1_500_000), "in base units of the token");
    let paid = FinalRelease {
        key: ReleaseKey { chain_id: CHAIN, vault: VAULT, account: wallet(1), nonce: 0 },
        token: GOLD,
        value: 1_500_000,
        tx_hash: [0xab; 32],
        block: 80,
        block_time_s: START_S,
    };
    assert_eq!(chain.tell(&mut exchange, Fact::Release(paid)), Told::Taken);
    let list = read(&mut exchange, 1, "/api/v1/spot/withdrawals");
    assert_eq!((&list[0]["token"], &list[0]["status"]), (&json!("GOLD"), &json!("confirmed")));
    assert_eq!(available(&mut exchange, 1, "GOLD"), "7.5");
    let body = r#"{"withdrawals_paused":true,"reason":"looked at"}"#;
    assert_eq!(operate(&mut exchange, "ann", "PATCH", &format!("{TOKENS}/GOLD"), body).0, 200);
    let paused = json!({ "error": "WITHDRAWALS_PAUSED", "message": "withdrawals of this token are paused" });
    assert_eq!(ask(&mut exchange, "GOLD", "1"), (503, paused));
    assert_eq!(ask(&mut exchange, "DF", "1").0, 200, "one token's pause is its own");
}

#[test]
fn a_token_is_added_once_and_for_good() {
    let (mut exchange, _signer, chain) = start();
    chain.tell(&mut exchange, Fact::paused(false));
    let refused = |exchange: &mut Exchange, (method, path): (&str, &str), body: &str, message: &str| {
        let expected = json!({ "code": "INVALID_PARAMETER", "message": message });
        assert_eq!(operate(exchange, "ann", method, path, body), (400, expected), "{body}");
    };
    let add = ("POST", TOKENS);
    let symbol = "symbol: 1 to 10 of A to Z and 0 to 9";
    for bad in ["null", "7", r#""""#, r#""gold""#, r#""ELEVENCHARS""#, r#""GO LD""#] {
        let body = gold("").replacen(r#""GOLD""#, bad, 1);
        refused(&mut exchange, add, &body, symbol);
    }
    let zero = text(&[0; 20]);
    for bad in ["7", r#""0x44""#, &format!(r#""{}""#, &text(&GOLD)[2..]), &format!(r#""{zero}""#)] {
        let body = gold("").replacen(&format!(r#""{}""#, text(&GOLD)), bad, 1);
        refused(&mut exchange, add, &body, "address: a contract: 0x and 40 hex digits, not all zero");
    }
    for bad in ["19", "-1", "6.5", r#""6""#, "null", "256"] {
        let body = gold("").replacen(":6", &format!(":{bad}"), 1);
        refused(&mut exchange, add, &body, "decimals: a whole number from 0 to 18");
    }
    for bad in ["0", "-1", r#""0.0000001""#, "true"] {
        let body = gold(&format!(r#","min_withdrawal":{bad}"#));
        refused(&mut exchange, add, &body, "min_withdrawal: above 0, with at most 6 decimals");
    }
    for name in ["deposits_paused", "withdrawals_paused"] {
        refused(&mut exchange, add, &gold(&format!(r#","{name}":1"#)), &format!("{name}: true or false"));
    }
    let shown = json!({
        "symbol": "GOLD", "chain_id": CHAIN, "address": text(&GOLD), "decimals": 6, "min_withdrawal": "0.5",
        "deposits_paused": false, "withdrawals_paused": false,
    });
    let body = gold(r#","min_withdrawal":0.5,"reason":"listed""#);
    assert_eq!(operate(&mut exchange, "ann", "POST", "/api/v1/admin/tokens", &body), (200, shown.clone()));
    assert_eq!(
        operate(&mut exchange, "ann", "POST", TOKENS, &body),
        (200, shown.clone()),
        "again is no fault"
    );
    for other in [
        gold("").replacen(":6", ":8", 1),
        gold("").replacen("GOLD", "SILVER", 1),
        gold("").replacen(&text(&GOLD), &text(&[0x45; 20]), 1),
        gold("").replacen("GOLD", "DF", 1).replacen(":6", ":18", 1),
    ] {
        let (code, answer) = operate(&mut exchange, "ann", "POST", TOKENS, &other);
        assert_eq!((code, &answer["code"]), (409, &json!("TOKEN_EXISTS")), "{other}");
    }
    let change = format!("{TOKENS}/GOLD");
    for (name, value) in [("symbol", r#""X""#), ("address", r#""0x""#), ("decimals", "6")] {
        let body = format!(r#"{{"{name}":{value}}}"#);
        refused(&mut exchange, ("PATCH", &change), &body, &format!("{name}: is for good"));
    }
    let finer = r#"{"min_withdrawal":"0.0000001"}"#;
    refused(&mut exchange, ("PATCH", &change), finer, "min_withdrawal: above 0, with at most 6 decimals");
    for unknown in ["NONE", "gold"] {
        let (code, answer) = operate(&mut exchange, "ann", "PATCH", &format!("{TOKENS}/{unknown}"), "{}");
        assert_eq!((code, &answer["code"]), (404, &json!("NOT_FOUND")));
    }
    let (code, changed) =
        operate(&mut exchange, "bob", "PATCH", &change, r#"{"min_withdrawal":2,"withdrawals_paused":true}"#);
    assert_eq!(
        (code, &changed["min_withdrawal"], &changed["withdrawals_paused"]),
        (200, &json!("2"), &json!(true))
    );
    let (_, all) = operate(&mut exchange, "ann", "GET", TOKENS, "");
    let symbols: Vec<_> =
        all["items"].as_array().unwrap().iter().map(|item| item["symbol"].clone()).collect();
    assert_eq!(symbols, ["DF", "USDT", "GOLD"]);
    let (_, log) = operate(&mut exchange, "ann", "GET", "/admin/audit?limit=1", "");
    let row = &log["items"][0];
    assert_eq!(
        (&row["action"], &row["operator"], &row["outcome"]),
        (&json!("token"), &json!("bob"), &json!("done"))
    );
    assert_eq!(row["detail"], format!("GOLD {} decimals=6 min=2 paused=2", text(&GOLD)));
}

/// C-44. Why nothing is signed is in the answer, and it is signed again once the reason is gone; a reason of one side does not take
/// the other's back.
#[test]
fn a_vault_that_would_not_pay_is_said_to() {
    let (mut exchange, signer, chain) = start();
    let ask = |exchange: &mut Exchange| {
        let body = r#"{"token":"DF","amount":"1"}"#;
        let answer = exchange.request("POST", "/api/v1/spot/withdraw/request", &exchange.account(1), body);
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        (answer.status, body["message"].as_str().map(str::to_owned))
    };
    let vault = |reason: &str| Stop::Vault(reason.to_owned());
    for reason in ["the vault is paused", "the vault's signer is 0x2222222222222222222222222222222222222222"]
    {
        assert_eq!(chain.tell(&mut exchange, Fact::Stops(vec![vault(reason)])), Told::Taken);
        assert_eq!(chain.tell(&mut exchange, Fact::Stops(vec![vault(reason)])), Told::Known);
        assert_eq!(ask(&mut exchange), (503, Some(reason.to_owned())));
        let answer = exchange.request("POST", "/withdraw/request", &exchange.account(1), "{}");
        let said = format!("withdrawals are paused: {reason}");
        assert_eq!((answer.status, answer.body.contains(&said)), (503, true), "{}", answer.body);
    }
    assert_eq!(signer.log_len(), 0);
    let both = vec![Stop::Chain("one: refused".to_owned()), vault("the vault is paused")];
    assert_eq!(chain.tell(&mut exchange, Fact::Stops(both)), Told::Taken);
    assert_eq!(chain.tell(&mut exchange, Fact::paused(true)), Told::Taken);
    let (code, said) = ask(&mut exchange);
    // Nothing about nodes is for everybody.
    assert_eq!((code, said.unwrap().contains("refused")), (503, false));
    assert_eq!(chain.tell(&mut exchange, Fact::paused(false)), Told::Taken);
    assert_eq!(ask(&mut exchange), (200, None));
}

/// What the signer of the vault is, as far as is final: while it is another than the desk's nothing is signed, and what a replaced
/// one signed comes back.
#[test]
fn a_replaced_signers_work_comes_back() {
    let (mut exchange, signer, chain) = start();
    let ask = |exchange: &mut Exchange, amount: &str| {
        let body = format!(r#"{{"token":"DF","amount":"{amount}"}}"#);
        exchange.request("POST", "/api/v1/spot/withdraw/request", &exchange.account(1), &body).status
    };
    let block = |block| FinalBlock { chain_id: CHAIN, vault: VAULT, block, hash: [1; 32], time_s: START_S };
    assert_eq!(chain.tell(&mut exchange, Fact::Block(block(10))), Told::Taken);
    assert_eq!(chain.tell(&mut exchange, Fact::Signer([0x99; 20], 10)), Told::Taken);
    assert_eq!(ask(&mut exchange, "100"), 200);
    assert_eq!(available(&mut exchange, 1, "DF"), "900");
    assert_eq!(chain.tell(&mut exchange, Fact::Block(block(11))), Told::Taken);
    assert_eq!(chain.tell(&mut exchange, Fact::Signer([0x98; 20], 11)), Told::Taken);
    assert_eq!(available(&mut exchange, 1, "DF"), "1000");
    assert_eq!(read(&mut exchange, 1, "/api/v1/spot/withdrawals")[0]["status"], "expired");
    // This desk's signer is the old one: nothing more is signed, and what is asked for comes back.
    let before = signer.log_len();
    assert_eq!(ask(&mut exchange, "100"), 500);
    assert_eq!((signer.log_len(), available(&mut exchange, 1, "DF")), (before, "1000".to_owned()));
}

/// C-42. Final blocks were replaced: operators see what was counted above the one that is kept, and two of them go back there.
#[test]
fn two_operators_go_back_to_a_block_that_is_there() {
    let (mut exchange, _signer, chain) = start();
    let keys: Vec<_> = ["eve", "ann", "bob"].iter().map(|name| (*name, exchange.operator(name))).collect();
    let shared = operate(&mut exchange, "ann", "POST", "/admin/chain/rewind", "{}");
    assert_eq!((shared.0, &shared.1["code"]), (403, &json!("FORBIDDEN")), "it proves nobody");
    let rewind = |exchange: &mut Exchange, name: &str, body: &str| {
        let headers = keys.iter().filter(|(known, _)| *known == name).map(|(_, key)| key.clone());
        let answer = exchange.request("POST", "/admin/chain/rewind", &headers.collect::<Vec<_>>(), body);
        (answer.status, serde_json::from_str::<Value>(&answer.body).unwrap())
    };
    let block = |number: u64| FinalBlock {
        chain_id: CHAIN,
        vault: VAULT,
        block: number,
        hash: [number as u8; 32],
        time_s: START_S + number,
    };
    assert_eq!(chain.tell(&mut exchange, Fact::Block(block(50))), Told::Taken);
    assert_eq!(chain.tell(&mut exchange, Fact::Deposit(deposit(1, 1, DF, 5 * UNIT))), Told::Taken);
    let asked = exchange.request(
        "POST",
        "/api/v1/spot/withdraw/request",
        &exchange.account(2),
        r#"{"token":"DF","amount":"100"}"#,
    );
    assert_eq!(asked.status, 200);
    let paid = FinalRelease {
        key: ReleaseKey { chain_id: CHAIN, vault: VAULT, account: wallet(2), nonce: 0 },
        token: DF,
        value: 100 * UNIT,
        tx_hash: [0xab; 32],
        block: 77,
        block_time_s: START_S,
    };
    assert_eq!(chain.tell(&mut exchange, Fact::Release(paid)), Told::Taken);
    assert_eq!(chain.tell(&mut exchange, Fact::Block(block(80))), Told::Taken);
    let body =
        format!(r#"{{"vault_address":"{}","block":50,"reason":"a deep reorganization"}}"#, text(&VAULT));
    let none = json!({ "code": "NOT_FOUND", "message": "there is no such thing" });
    assert_eq!(rewind(&mut exchange, "ann", &body), (404, none), "nothing was replaced");

    let replaced = Replaced { chain_id: CHAIN, vault: VAULT, last: 80, kept: block(50) };
    assert_eq!(chain.tell(&mut exchange, Fact::Replaced(Some(replaced))), Told::Later);
    let (_, shown) = operate(&mut exchange, "ann", "GET", "/admin/chain", "");
    let what = &shown["vaults"][0]["replaced"];
    assert_eq!((&what["last_block"], &what["kept_block"]), (&json!(80), &json!(50)));
    assert_eq!(what["deposits"][0]["amount"], "5");
    assert_eq!(
        (&what["withdrawals"][0]["amount"], &what["withdrawals"][0]["token"]),
        (&json!("100"), &json!("DF"))
    );
    for (bad, field) in [
        (body.replacen("0x", "1x", 1), "vault_address: missing or malformed"),
        (body.replacen(":50", ":\"50\"", 1), "block: missing or malformed"),
        (body.replacen(":50", ":49", 1), "block: 50 is the newest final block that is still there"),
        (body.replacen("a deep reorganization", " ", 1), "reason: missing or malformed"),
    ] {
        let expected = json!({ "code": "INVALID_PARAMETER", "message": field });
        assert_eq!(rewind(&mut exchange, "ann", &bad), (400, expected));
    }
    let of_eve = json!({ "agreed": false, "proposed_by": "eve", "agreed_by": null });
    assert_eq!(rewind(&mut exchange, "eve", &body), (200, of_eve));
    // Whose key was taken away since is not one of two.
    exchange.remove_operator("eve");
    let proposed = json!({ "agreed": false, "proposed_by": "ann", "agreed_by": null });
    assert_eq!(rewind(&mut exchange, "ann", &body), (200, proposed.clone()));
    assert_eq!(rewind(&mut exchange, "ann", &body), (200, proposed), "one person is one person");
    let (_, shown) = operate(&mut exchange, "ann", "GET", "/admin/chain", "");
    assert_eq!(shown["vaults"][0]["replaced"]["proposed_by"], "ann");
    assert_eq!(chain.tell(&mut exchange, Fact::Replaced(Some(replaced))), Told::Later);
    let agreed = json!({ "agreed": true, "proposed_by": "ann", "agreed_by": "bob" });
    assert_eq!(rewind(&mut exchange, "bob", &body), (200, agreed));
    assert_eq!(chain.tell(&mut exchange, Fact::Replaced(Some(replaced))), Told::Taken);
    let cursor =
        exchange.shared.views.read().withdrawals().vault_at(replaced.chain_id, &replaced.vault).copied();
    assert_eq!(cursor.map(|at| at.block), Some(replaced.kept.block), "the watch goes on from there");
    assert_eq!(chain.tell(&mut exchange, Fact::Replaced(None)), Told::Known);
    let list = read(&mut exchange, 2, "/api/v1/spot/withdrawals");
    assert_eq!((&list[0]["status"], &list[0]["tx_hash"]), (&json!("signed"), &json!(null)));
    assert_eq!(available(&mut exchange, 1, "DF"), "1005", "what was credited stays");
    assert_eq!(read(&mut exchange, 1, LIST), json!([]), "and its deposit is none");
    // The chain goes on from there: mined again, with another number, before somebody else's.
    let again = FinalDeposit { tx_hash: [8; 32], ..deposit(1, 3, DF, UNIT) };
    assert_eq!(chain.tell(&mut exchange, Fact::Deposit(again)), Told::Taken);
    assert_eq!(available(&mut exchange, 3, "DF"), "1001");
    assert_eq!(chain.tell(&mut exchange, Fact::Deposit(deposit(2, 1, DF, 5 * UNIT))), Told::Taken);
    assert_eq!(available(&mut exchange, 1, "DF"), "1005", "once");
    assert_eq!(chain.tell(&mut exchange, Fact::Release(paid)), Told::Taken);
    assert_eq!(read(&mut exchange, 2, "/api/v1/spot/withdrawals")[0]["status"], "confirmed");
    let (_, proof) = operate(&mut exchange, "ann", "GET", "/admin/ledger/proof", "");
    assert!(proof["ledgers"].as_array().unwrap().iter().all(|row| row["equal"] == true), "{proof}");
    let before: Vec<Value> =
        vec![read(&mut exchange, 1, LIST), read(&mut exchange, 2, "/api/v1/spot/withdrawals")];
    drop(chain);
    exchange.restart_with(configure);
    let after: Vec<Value> =
        vec![read(&mut exchange, 1, LIST), read(&mut exchange, 2, "/api/v1/spot/withdrawals")];
    assert_eq!(before, after);
}

#[test]
fn a_deployment_without_a_vault_has_nowhere_to_deposit() {
    let mut exchange = Exchange::start();
    exchange.open();
    let answer = exchange.request("GET", &format!("{LIST}/address"), &exchange.account(1), "");
    assert_eq!((answer.status, &*answer.body), (503, r#"{"error":"spot subsystem disabled"}"#));
    assert_eq!(read(&mut exchange, 1, LIST), json!([]));
    assert_eq!(read(&mut exchange, 1, SETTINGS)["deposits"], json!(false), "the page is told");
}
