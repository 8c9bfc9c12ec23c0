//! Keys of user streams through REST: their life, their ends, who may ask, what survives (`perpetual.md` 10).

use crate::exchange::venue::Venue;
use serde_json::json;

const PATH: &str = "/fapi/v1/listenKey";
const HOUR_MS: i64 = 3_600_000;

#[test]
fn a_key_lives_for_an_hour_after_each_renewal() {
    let mut venue = Venue::new(&[(1, 100), (2, 100)]);
    let none = (400, json!({ "code": -1125, "msg": "This listenKey does not exist." }));
    assert_eq!(venue.ask(1, "PUT", PATH, ""), none);
    assert_eq!(venue.ask(1, "DELETE", PATH, ""), (200, json!({})));
    let key = venue.listen_key(1);
    assert!(key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{key}");
    // One per account: no second one, and nobody else's.
    assert_eq!(venue.listen_key(1), key);
    assert_ne!(venue.listen_key(2), key);
    for _ in 0..3 {
        venue.exchange.clock.turn(HOUR_MS - 1);
        assert_eq!(venue.ask(1, "PUT", PATH, ""), (200, json!({ "listenKey": key })));
    }
    venue.exchange.clock.turn(HOUR_MS - 1);
    assert_eq!(venue.listen_key(1), key, "POST renews as well");
    venue.exchange.clock.turn(HOUR_MS);
    assert_eq!(venue.ask(1, "PUT", PATH, ""), none);
    let next = venue.listen_key(1);
    assert_ne!(next, key);
    assert_eq!(venue.ask(1, "DELETE", PATH, ""), (200, json!({})));
    assert_eq!(venue.ask(1, "PUT", PATH, ""), none);
    assert_eq!(venue.ask(1, "DELETE", PATH, ""), (200, json!({})));
    assert_ne!(venue.listen_key(1), next);
}

#[test]
fn whichever_api_key_asks_the_account_has_one() {
    let mut venue = Venue::new(&[(1, 100)]);
    let key = venue.listen_key(1);
    let reader = venue.trader(1, (true, false));
    let body = json!({ "listenKey": key }).to_string();
    assert_eq!(venue.send(&reader, "POST", PATH, "").body, body);
    // A key of one's own naming changes nothing, nor does one of somebody else.
    assert_eq!(venue.send(&reader, "PUT", PATH, "listenKey=another").body, body);
    // It takes the permission to read.
    let writer = venue.trader(1, (false, true));
    let refused = venue.send(&writer, "POST", PATH, "");
    assert_eq!(refused.status, 401, "{}", refused.body);
}

#[test]
fn existing_clients_send_the_api_key_alone_and_others_sign() {
    let mut venue = Venue::new(&[(1, 100)]);
    let form = "Content-Type: application/x-www-form-urlencoded".to_owned();
    let headers = [venue.header(1), form];
    let own = [headers[0].replace("X-MBX-APIKEY", "X-EX-APIKEY")];
    let made = venue.exchange.request("POST", PATH, &headers, "");
    assert_eq!(made.status, 200, "{}", made.body);
    let before: u32 = made.header("X-EX-USED-WEIGHT-1M").unwrap().parse().unwrap();
    for (number, (method, body)) in
        [("PUT", "listenKey="), ("DELETE", ""), ("DELETE", "listenKey=")].into_iter().enumerate()
    {
        let answer = venue.exchange.request(method, PATH, &headers, body);
        let expected = if method == "PUT" { made.body.as_str() } else { "{}" };
        assert_eq!((answer.status, answer.body.as_str()), (200, expected), "{method}");
        let weight: u32 = answer.header("X-EX-USED-WEIGHT-1M").unwrap().parse().unwrap();
        assert_eq!(weight, before + number as u32 + 1, "one each");
    }
    let refused = venue.exchange.request("POST", PATH, &own, "");
    assert_eq!((refused.status, refused.body.contains("-1102")), (400, true), "{}", refused.body);
}

#[test]
fn keys_survive_a_restart_and_lie_sealed() {
    let mut venue = Venue::new(&[(1, 100), (2, 100)]);
    let (kept, ended) = (venue.listen_key(1), venue.listen_key(2));
    venue.exchange.clock.turn(HOUR_MS / 2);
    venue.call(1, "PUT", PATH, "");
    venue.call(2, "DELETE", PATH, "");
    // What a process that starts now finds in the same folder, this one being killed without a word.
    let auth = venue.exchange.reopened();
    let now_ms = venue.exchange.clock.now_ms();
    let found = auth.listen_keys.find(&kept, now_ms + HOUR_MS - 1).unwrap();
    assert_eq!((found.account(), found.is_active(now_ms + HOUR_MS)), (1, false));
    assert!(auth.listen_keys.find(&ended, now_ms).is_none());
    let mut bytes = Vec::new();
    venue.exchange.credentials.side().save(&mut bytes);
    assert!(!bytes.windows(64).any(|window| window == kept.as_bytes() || window == ended.as_bytes()));
}

/// C-18: nobody has it longer than the API key is good that was told it.
#[test]
fn a_key_ends_with_an_api_key_that_was_told_it() {
    let mut venue = Venue::new(&[(1, 100), (2, 100)]);
    let now_s = venue.exchange.clock.now_s();
    let own = venue.listen_key(1);
    let brief = venue.trader_until(1, (true, true), Some(now_s + 100));
    // The account's key, which another of its API keys has made, is told to one that expires.
    assert_eq!(venue.send(&brief, "PUT", PATH, "").body, json!({ "listenKey": own }).to_string());
    let other = venue.listen_key(2);
    venue.exchange.clock.turn(99_999);
    assert_eq!(venue.listen_key(1), own, "POST renews");
    venue.exchange.clock.turn(1);
    assert_eq!(venue.send(&brief, "PUT", PATH, "").status, 401);
    assert_eq!(venue.ask(1, "PUT", PATH, "").1["code"], -1125);
    assert_eq!(venue.listen_key(2), other);
    // One that has expired makes no difference any more.
    let next = venue.listen_key(1);
    venue.exchange.clock.turn(HOUR_MS - 1);
    assert_eq!(venue.listen_key(1), next);
}
