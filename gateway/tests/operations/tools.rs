//! Looking into a journal, asking it what would have been, and the manual.

use crate::process::{ADMIN_KEY, Folder, log_in, post, ringside, said, signed, started, stop, trade};
use serde_json::{Value, json};
use std::path::Path;

fn run(folder: &Path, arguments: &[&str]) -> String {
    let output = ringside(folder).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn shown(folder: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&run(folder, arguments)).unwrap()
}

/// An exchange on which one trade happened, stopped.
fn traded(name: &str) -> Folder {
    let folder = Folder::new(name);
    let (child, address, _) = started(&folder.0, |_| {});
    trade(&address);
    stop(child);
    folder
}

#[test]
fn commands_events_and_state_are_shown() {
    let folder = traded("inspect");
    let data = folder.0.to_str().unwrap();
    let all = shown(
        &folder.0,
        &["inspect", data, "--sequence", "1", "--count", "100000", "--json", "--account", "1"],
    );
    let commands = all["commands"].as_array().unwrap();
    let sequences: Vec<u64> = commands.iter().map(|command| command["sequence"].as_u64().unwrap()).collect();
    assert_eq!(sequences, (1..=sequences.len() as u64).collect::<Vec<_>>());
    let placed: Vec<&Value> = commands.iter().filter(|command| command["kind"] == "PlaceOrder").collect();
    assert_eq!(placed.len(), 3);
    assert_eq!(
        (&placed[0]["body"]["price"], &placed[0]["body"]["market"]),
        (&json!("0.2"), &json!("DFUSDT"))
    );
    assert_eq!(placed[0]["body"]["account"], "0x2b5ad5c4795c026514f8317c7a215e218dccd6cf");
    assert_eq!(placed[0]["verdict"], "accepted");
    let trades = |command: &Value| {
        let events = command["events"].as_array().unwrap();
        events.iter().filter(|event| event["kind"] == "Trade").count()
    };
    assert_eq!(placed.iter().map(|command| trades(command)).collect::<Vec<_>>(), [0, 1, 0]);
    let book = &all["state"]["spot"][0];
    assert_eq!((book["symbol"].as_str(), book["bids"][0][0].as_str()), (Some("DFUSDT"), Some("0.19")));
    assert_eq!(all["state"]["account"]["balances"][0]["token"], "DF");

    // The same as text, one command alone, with its sequence and events.
    let sequence = placed[1]["sequence"].to_string();
    let text = run(&folder.0, &["inspect", data, "--sequence", &sequence]);
    assert!(text.starts_with(&format!("#{sequence} ")) && text.contains("PlaceOrder {"), "{text}");
    assert!(text.contains("    #") && text.contains("Trade {") && text.contains(": accepted"), "{text}");
    // Names stand as names, not as the bytes they are kept in.
    let listed = commands.iter().find(|command| command["kind"] == "ListMarket").unwrap();
    let text = run(&folder.0, &["inspect", data, "--sequence", &listed["sequence"].to_string()]);
    assert!(text.contains(r#"symbol: "DFUSDT""#) && !text.contains("[68, 70"), "{text}");
    // An account by its address, with what it has.
    let address = "0x2b5ad5c4795c026514f8317c7a215e218dccd6cf";
    let held = shown(&folder.0, &["inspect", data, "--account", address, "--json"]);
    assert_eq!(held["state"]["account"]["address"], address);
    assert!(
        held["state"]["account"]["orders"].is_array() && held["state"]["account"]["wallet"] == "0",
        "{held}"
    );
    let output = ringside(&folder.0).args(["inspect", data, "--account", "0xab"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    // Past the end is an error.
    let output = ringside(&folder.0).args(["inspect", data, "--sequence", "99999999"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
}

#[test]
fn other_parameters_change_what_they_are_about_and_nothing_else() {
    let folder = traded("replay");
    let data = folder.0.to_str().unwrap();
    // The shipped market has no fees: the same again changes nothing.
    let same = run(&folder.0, &["replay", data, "--set", "DFUSDT.taker_fee=0"]);
    assert!(same.contains("nothing would have differed"), "{same}");
    let other = shown(&folder.0, &["replay", data, "--set", "DFUSDT.taker_fee=100", "--json"]);
    // The buyer is the taker and receives 50 DF: one in a hundred of them is the fee.
    let totals = other["totals"].as_array().unwrap();
    let fees = totals
        .iter()
        .find(|total| total["name"] == "DFUSDT fees in base")
        .unwrap_or_else(|| panic!("{other}"));
    assert_eq!((fees["real"].as_str(), fees["replayed"].as_str()), (Some("0"), Some("0.5")));
    assert!(!totals.iter().any(|total| total["name"].as_str().unwrap().contains("trades")), "{other}");
    let accounts = other["accounts"].as_array().unwrap();
    assert_eq!(accounts.len(), 2, "the buyer and the account of the fees: {other}");
    let sum = |side: &str| -> rust_decimal::Decimal {
        accounts
            .iter()
            .map(|held| held[side].as_str().unwrap().parse::<rust_decimal::Decimal>().unwrap())
            .sum()
    };
    assert_eq!(sum("real"), sum("replayed"), "money moved, none was made");
    // Only from a later command on: the trade was before.
    let last = shown(&folder.0, &["inspect", data, "--json"])["commands"][0]["sequence"].to_string();
    let late = run(&folder.0, &["replay", data, "--set", "DFUSDT.taker_fee=100", "--from", &last]);
    assert!(late.contains("nothing would have differed"), "{late}");
    let refused = ringside(&folder.0).args(["replay", data, "--set", "DFUSDT.colour=1"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
}

#[test]
fn an_order_that_a_narrower_band_refuses_takes_its_cancel_with_it() {
    let folder = Folder::new("replay-band");
    let (child, address, _) = started(&folder.0, |_| {});
    let trader = log_in(&address, 2);
    let credit = json!({
        "user_address": "0x2b5ad5c4795c026514f8317c7a215e218dccd6cf", "amount": "10000", "reason": "test",
    });
    post(&address, "/admin/perpetual/credit", &format!("X-API-Key: {ADMIN_KEY}"), &credit);
    let key = post(&address, "/api/v1/account/api-keys", &trader, &json!({"label": "band"}));
    let place = |price: &str| {
        let parameters =
            format!("symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.001&price={price}");
        signed(&address, "POST", "/fapi/v1/order", &key, &parameters)["orderId"].to_string()
    };
    // The mark is 60000: the first is 2 in 100 above it, the second 4.
    let (near, far) = (place("61200"), place("62400"));
    for order in [far, near] {
        signed(&address, "DELETE", "/fapi/v1/order", &key, &format!("symbol=BTCUSDT&orderId={order}"));
    }
    stop(child);
    let data = folder.0.to_str().unwrap();
    let other = shown(&folder.0, &["replay", data, "--set", "BTCUSDT.band_up=1.03", "--json"]);
    let verdicts = other["verdicts"].as_array().unwrap();
    let found = |kind: &str| {
        let row =
            verdicts.iter().find(|row| row["kind"] == kind).unwrap_or_else(|| panic!("{kind} in {other}"));
        (
            row["real"].as_str().unwrap().to_owned(),
            row["replayed"].as_str().unwrap().to_owned(),
            row["count"].clone(),
        )
    };
    assert_eq!(found("PlacePerpetual"), ("accepted".to_owned(), "PriceAboveBand".to_owned(), json!(1)));
    // Its own cancel finds nothing, the other's still finds its order, whatever that is called there.
    let (real, _, count) = found("CancelPerpetual");
    assert_eq!((real.as_str(), count), ("accepted", json!(1)), "{other}");
    assert_eq!(verdicts.len(), 2, "{other}");
    assert_eq!(other["accounts"], json!([]), "no money moved");
}

/// Two keys decide, not two names. What follows is `persist/tests/journal/drills.rs`.
#[test]
fn a_command_is_skipped_by_the_keys_of_two_operators() {
    let folder = traded("skip");
    let key = |name: &str| {
        let file = folder.0.join(format!("{name}.key"));
        std::fs::write(&file, run(&folder.0, &["operator", name])).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let (ann, bob) = (key("ann"), key("bob"));
    let shared = folder.0.join("shared.key");
    std::fs::write(&shared, ADMIN_KEY).unwrap();
    let shared = shared.to_str().unwrap();
    let skip = |keys: &[&str]| {
        let mut arguments = vec!["skip", "--sequence", "3", "--reason", "a test"];
        arguments.extend(keys.iter().flat_map(|key| ["--operator-key", key]));
        let output = ringside(&folder.0).args(arguments).output().unwrap();
        (output.status.code(), said(&output))
    };
    for (keys, text) in [
        (&[ann.as_str()][..], "two operators decide"),
        (&[&ann, &ann], "both keys are those of ann"),
        (&[&ann, &bob, &bob], "two operators decide"),
        (&[&ann, shared], "no operator has this key"),
        (&[&ann, "/nowhere"], "/nowhere"),
    ] {
        let (code, told) = skip(keys);
        assert!(code == Some(2) && told.contains(text), "{keys:?}: {told}");
    }
    // Both are known: what is asked for is judged.
    let (code, told) = skip(&[&ann, &bob]);
    assert!(code == Some(1) && told.contains("command 3 does not stop the engine"), "{told}");
    run(&folder.0, &["operator", "bob", "--remove"]);
    let (code, told) = skip(&[&ann, &bob]);
    assert!(code == Some(2) && told.contains("no operator has this key"), "{told}");
}

/// The routes of operators from a shell, with a second operator.
#[test]
fn an_operator_asks_from_the_command_line() {
    let folder = Folder::new("admin");
    let (child, address, _) = started(&folder.0, |_| {});
    trade(&address);
    let url = format!("http://{address}");
    let key = |name: &str| {
        let file = folder.0.join(format!("{name}.key"));
        std::fs::write(&file, run(&folder.0, &["operator", name])).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let (ann, bob) = (key("ann"), key("bob"));
    // An answer on standard output, a refusal on standard error.
    let admin = |arguments: &[&str]| {
        let mut command = ringside(&folder.0);
        command.env("RINGSIDE_ADMIN_KEY", ADMIN_KEY).arg("admin").args(arguments);
        let output = command.args(["--url", &url]).output().unwrap();
        let is_done = output.status.success();
        let (told, silent) =
            if is_done { (&output.stdout, &output.stderr) } else { (&output.stderr, &output.stdout) };
        assert!(silent.is_empty(), "{arguments:?}: {}", said(&output));
        let line = String::from_utf8_lossy(told).lines().next().unwrap_or_default().to_owned();
        (output.status.code(), serde_json::from_str(&line).unwrap_or(Value::String(line)))
    };
    let account = "account:0x2b5ad5c4795c026514f8317c7a215e218dccd6cf";
    let wallet = format!("user_address={}", account.strip_prefix("account:").unwrap());
    let credit = ["spot", "credit", &wallet, "token=USDT", "amount=2000", "reason=a test"];
    assert_eq!(admin(&credit), (Some(0), json!({ "ok": true })));
    let from = format!("from={account}");
    let transfer =
        ["treasury", "transfer", &from, "to=fund:MAIN", "token=USDT", "amount=1000.000001", "reason=a test"];
    let (code, answer) = admin(&transfer);
    assert_eq!((code, &answer["code"]), (Some(1), &json!("FORBIDDEN")));
    let (code, waits) = admin(&[&transfer[..], &["--operator-key", &ann]].concat());
    assert_eq!(code, Some(0), "{waits}");
    // The same routes by method and path.
    let (_, list) = admin(&["get", "/admin/approvals"]);
    assert_eq!(list["items"][0]["approval_id"], waits["approval_id"]);
    assert_eq!(admin(&["approvals", "list"]).1, list);
    let id = waits["approval_id"].as_str().unwrap();
    let (code, done) = admin(&["approvals", "agree", id, "--operator-key", &bob]);
    assert_eq!((code, &done["ok"]), (Some(0), &json!(true)), "{done}");
    let (code, gone) = admin(&["POST", &format!("/admin/approvals/{id}"), "--operator-key", &bob]);
    assert_eq!((code, &gone["code"]), (Some(1), &json!("NOT_FOUND")));

    // A body from a file, with a member beside it.
    let file = folder.0.join("pause.json");
    std::fs::write(&file, json!({ "paused": true }).to_string()).unwrap();
    let body = format!("@{}", file.display());
    assert_eq!(admin(&["withdrawals", "pause", &body, "reason=a test"]), (Some(0), json!({ "ok": true })));
    let (_, audit) = admin(&["audit", "list", "limit=1"]);
    assert_eq!(audit["items"][0]["detail"], json!("paused=true"));
    assert_eq!(audit["items"][0]["reason"], json!("a test"));
    let (code, help) = admin(&["help", "withdrawals", "pause"]);
    assert_eq!((code, help), (Some(0), json!("withdrawals pause")));
    for wrong in [
        &["GET", "admin"][..],
        &["POST", "/admin/treasury/transfer", "no JSON"],
        &["POST", "/admin/treasury/transfer", "{no JSON}"],
        &["treasury", "transfer", "@no/such/file"],
        &["treasury", "give"],
    ] {
        let (code, told) = admin(wrong);
        assert!(code == Some(2) && told.as_str().unwrap().starts_with("ringside: "), "{wrong:?}: {told}");
    }
    assert_eq!(run(&folder.0, &["operator"]), "ann\nbob\n");
    stop(child);
}

#[test]
fn the_manual_names_every_subcommand() {
    let folder = Folder::new("manual");
    let (page, help) = (run(&folder.0, &["manual"]), run(&folder.0, &["--help"]));
    assert!(page.contains(".TH ringside"), "{page}");
    for name in [
        "start", "verify", "inspect", "replay", "backup", "restore", "skip", "demo", "login", "admin",
        "manual",
    ] {
        assert!(help.contains(name) && page.contains(name), "{name}");
    }
}
