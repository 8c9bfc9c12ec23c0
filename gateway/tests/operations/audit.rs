//! Who did what, when and why, after the process was killed: every action of an operator through its route of the real binary.

use crate::process::{ADMIN_KEY, Folder, Running, address, get, request, ringside, said, start_with, stop};
use serde_json::{Value, json};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

const WALLET: &str = "0x2b5ad5c4795c026514f8317c7a215e218dccd6cf";

fn start(folder: &Folder) -> (Running, String) {
    let (child, said) = start_with(&folder.0, |command: &mut Command| {
        command.env("RINGSIDE_ADMIN_KEY", ADMIN_KEY);
    });
    (child, address(&said, "running on"))
}

/// The key that `ringside operator` makes.
fn own_key(folder: &Folder, name: &str) -> String {
    let output = ringside(&folder.0).args(["operator", name]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let key = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    assert_eq!(key.len(), 64);
    key
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}

fn audit(address: &str, key: &str) -> Vec<Value> {
    let page: Value =
        serde_json::from_str(&get(address, "/admin/audit?limit=500", &[&format!("X-API-Key: {key}")]))
            .unwrap();
    assert_eq!(page["next_before"], Value::Null);
    page["items"].as_array().unwrap().clone()
}

#[test]
fn every_action_outlives_a_kill() {
    let folder = Folder::new("audit");
    let ann = own_key(&folder, "ann");
    let again = ringside(&folder.0).args(["operator", "ann"]).output().unwrap();
    assert!(!again.status.success() && said(&again).contains("ann has a key"), "{}", said(&again));
    let (child, address) = start(&folder);
    let long =
        format!("{} and this is the end of it", "because of what was said on the telephone, ".repeat(5));
    let list = json!({ "id": "XYUSDT", "base_token": "XY", "quote_token": "USDT", "tick_size": "0.01",
        "lot_size": "0.1", "min_notional": "5", "maker_fee_bps": 2.5, "taker_fee_bps": 10, "reason": "launch" });
    let terms = json!({ "trade_group_id": 12, "promo_bps": 250, "promo_expires_at": 4_102_444_800_000_i64,
        "trading_enabled": false, "reason": long });
    let (own, shared) = (Some(ann.as_str()), None);
    let account = format!("/admin/accounts/{WALLET}");
    // By whose key, as whom, the request; and what must be found of it.
    let actions = [
        (
            own,
            "",
            "POST",
            "/api/v1/admin/spot/markets",
            list,
            "list_market",
            "XYUSDT",
            "base=XY quote=USDT tick_size=0.01 lot_size=0.1 min_notional=5 maker_fee_bps=2.5 taker_fee_bps=10",
        ),
        (
            own,
            "bob",
            "PATCH",
            "/api/v1/admin/spot/markets/XYUSDT",
            json!({ "lot_size": 1, "taker_fee_bps": 8, "reason": "too many dust orders" }),
            "update_market",
            "XYUSDT",
            "lot_size=1 taker_fee_bps=8",
        ),
        (
            shared,
            "bob",
            "PATCH",
            "/api/v1/admin/spot/markets/XYUSDT/status",
            json!({ "status": "halted", "reason": "rumours" }),
            "market_status",
            "XYUSDT",
            "halted",
        ),
        (
            shared,
            "",
            "POST",
            "/api/v1/admin/spot/balances/credit",
            json!({ "user_address": WALLET, "token": "DF", "amount": "1.5", "reason": long }),
            "spot_credit",
            WALLET,
            "1.5 DF",
        ),
        (
            own,
            "",
            "POST",
            "/admin/perpetual/credit",
            json!({ "user_address": WALLET, "amount": "7.000001", "reason": long }),
            "perpetual_credit",
            WALLET,
            "7.000001",
        ),
        (
            own,
            "",
            "POST",
            "/admin/perpetual/index-price",
            json!({ "symbol": "BTCUSDT", "price": "60123.4", "reason": "a drill" }),
            "index_price",
            "BTCUSDT",
            "60123.4",
        ),
        (
            own,
            "",
            "PATCH",
            "/admin/perpetual/symbols/solusdt",
            json!({ "state": "CANCEL_ONLY", "reason": "feed is down" }),
            "symbol_state",
            "SOLUSDT",
            "CANCEL_ONLY",
        ),
        (
            own,
            "",
            "PATCH",
            &account,
            terms,
            "account",
            WALLET,
            "trading=false group=12 promo=250 until=4102444800000",
        ),
        (
            shared,
            "bob",
            "POST",
            "/admin/withdrawals/pause",
            json!({ "paused": true, "clear_alarm": true, "reason": "an audit" }),
            "pause_withdrawals",
            "",
            "paused=true alarm=false",
        ),
    ];
    let begin_ms = now_ms();
    for (own, name, method, path, body, ..) in &actions {
        let key = format!("X-API-Key: {}", own.unwrap_or(ADMIN_KEY));
        let name = format!("X-Operator: {name}");
        let (status, answer) = request(&address, method, path, &[&key, &name], &body.to_string());
        assert_eq!(status, 200, "{path}: {answer}");
    }
    let end_ms = now_ms();
    // As kill -9 does it, right behind the last answer.
    drop(child);

    let (child, address) = start(&folder);
    let mut rows = audit(&address, &ann);
    rows.reverse();
    assert_eq!(rows.len(), actions.len());
    for (row, (own, name, _, path, body, action, subject, detail)) in rows.iter().zip(&actions) {
        let who = match (own, *name) {
            // What the header says does not count beside a key of one's own.
            (Some(_), _) => ("ann", "own"),
            (None, "") => ("admin", "shared"),
            (None, name) => (name, "shared"),
        };
        assert_eq!((&row["operator"], &row["key"]), (&json!(who.0), &json!(who.1)), "{path}");
        assert_eq!((&row["action"], &row["detail"]), (&json!(action), &json!(detail)), "{path}");
        assert_eq!(row["reason"], body["reason"], "{path}");
        assert_eq!(row["subject"].as_str().unwrap_or(""), *subject, "{path}");
        assert_eq!((&row["outcome"], &row["ip"]), (&json!("done"), &json!("127.0.0.1")), "{path}");
        let time_ms = row["time"].as_i64().unwrap();
        assert!((begin_ms..=end_ms).contains(&time_ms), "{path}: {time_ms}");
        assert!(row["sequence"].as_u64().unwrap() > 0);
    }
    // Of one operator, of one kind, of a time, a page at a time.
    let asked = |query: &str| -> (Vec<u64>, Value) {
        let page = get(&address, &format!("/admin/audit?{query}"), &[&format!("X-API-Key: {ann}")]);
        let page: Value = serde_json::from_str(&page).unwrap();
        let ids = page["items"].as_array().unwrap().iter().map(|row| row["id"].as_u64().unwrap()).collect();
        (ids, page["next_before"].clone())
    };
    let of = |fits: &dyn Fn(&Value) -> bool| -> Vec<u64> {
        rows.iter().rev().filter(|row| fits(row)).map(|row| row["id"].as_u64().unwrap()).collect()
    };
    let bobs = of(&|row| row["operator"] == "bob");
    assert_eq!((asked("operator=bob"), bobs.len()), ((bobs.clone(), Value::Null), 2));
    assert_eq!(asked("operator=bob&limit=1"), (bobs[..1].to_vec(), json!(bobs[0])));
    assert_eq!(asked(&format!("operator=bob&limit=1&before={}", bobs[0])).0, bobs[1..]);
    assert_eq!(asked("kind=spot_credit").0, of(&|row| row["action"] == "spot_credit"));
    assert_eq!(asked("kind=spot_credit&operator=ann").0, [0; 0]);
    let middle = rows[4]["time"].as_i64().unwrap();
    assert_eq!(asked(&format!("from={middle}")).0, of(&|row| row["time"].as_i64().unwrap() >= middle));
    assert_eq!(asked(&format!("to={}", middle - 1)).0, of(&|row| row["time"].as_i64().unwrap() < middle));
    let key = format!("X-API-Key: {ann}");
    for query in ["kind=nothing", "from=x", "to=-"] {
        let (status, answer) = request(&address, "GET", &format!("/admin/audit?{query}"), &[&key], "");
        assert!(status == 400 && answer.contains("INVALID_PARAMETER"), "{query}: {status} {answer}");
    }
    // A pin that is moved without a word is a feed, not an act; with one, and when it ends, it is.
    let pin = |body: Value| {
        let answer = request(&address, "POST", "/admin/perpetual/index-price", &[&key], &body.to_string());
        assert_eq!(answer.0, 200, "{}", answer.1);
    };
    pin(json!({ "symbol": "BTCUSDT", "price": "60124" }));
    assert_eq!(asked("kind=index_price").0, of(&|row| row["action"] == "index_price"));
    pin(json!({ "symbol": "BTCUSDT", "price": "60125", "reason": "again" }));
    pin(json!({ "symbol": "BTCUSDT" }));
    assert_eq!(asked("kind=index_price").0.len(), 3);
    let rows = {
        let mut rows = audit(&address, &ann);
        rows.reverse();
        rows
    };

    // It all took effect, and the journal has it under the sequence that the log names.
    let market = get(&address, "/api/v1/markets/SOLUSDT", &[]);
    assert_eq!(serde_json::from_str::<Value>(&market).unwrap()["status"], "PENDING_TRADING");
    let sequence = rows[6]["sequence"].to_string();
    let shown = ringside(&folder.0)
        .args(["inspect", folder.0.to_str().unwrap(), "--sequence", &sequence, "--json"])
        .output()
        .unwrap();
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["commands"][0]["kind"], "SetPerpetualState");

    // A key that is taken away opens nothing from the next request on, one that is made opens at once; and what was done with it is
    // still its owner's.
    let removed = ringside(&folder.0).args(["operator", "ann", "--remove"]).output().unwrap();
    assert!(removed.status.success(), "{}", said(&removed));
    let opens = |address: &str, key: &str| {
        request(address, "GET", "/admin/audit", &[&format!("X-API-Key: {key}")], "").0
    };
    assert_eq!(opens(&address, &ann), 401);
    let again = own_key(&folder, "ann");
    assert_eq!((opens(&address, &again), opens(&address, &ann)), (200, 401));
    stop(child);
    let (child, address) = start(&folder);
    assert_eq!((opens(&address, &again), opens(&address, &ann)), (200, 401));
    let mut after = audit(&address, ADMIN_KEY);
    after.reverse();
    assert_eq!(after, rows);
    stop(child);
}
