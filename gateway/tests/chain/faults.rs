//! Nodes that lie, lag or fail: every kind, at moments of 125 seeds each.

use crate::histories::{Rig, policy};
use crate::random::{Rerun, seeds};
use crate::signer::Folder;
use crate::world::{Mood, hex};
use bytes::Bytes;
use ringside_commands::clock::Clock;
use ringside_outbound::OutboundFault;
use serde_json::{Value, json};

/// What a fault does to the answers of a node, and whether two nodes can conclude anything while one of them has it.
pub(crate) struct Fault {
    pub(crate) name: &'static str,
    is_paralysing: bool,
    distort: fn(&str, Value) -> Result<Bytes, OutboundFault>,
}

pub(crate) fn distort(fault: usize, method: &str, answer: Value) -> Result<Bytes, OutboundFault> {
    (FAULTS[fault].distort)(method, answer)
}

fn said(answer: &Value) -> Result<Bytes, OutboundFault> {
    Ok(Bytes::from(answer.to_string()))
}

fn is_block(method: &str) -> bool {
    method == "eth_getBlockByNumber"
}

/// Changes the members of a block.
fn block(method: &str, mut answer: Value, change: impl Fn(&mut Value)) -> Result<Bytes, OutboundFault> {
    if is_block(method) && !answer["result"].is_null() {
        change(&mut answer["result"]);
    }
    said(&answer)
}

/// Changes each event.
fn events(method: &str, mut answer: Value, change: impl Fn(&mut Value)) -> Result<Bytes, OutboundFault> {
    if method == "eth_getLogs"
        && let Some(logs) = answer["result"].as_array_mut()
    {
        logs.iter_mut().for_each(change);
    }
    said(&answer)
}

/// Changes the list of events.
fn list(method: &str, mut answer: Value, change: impl Fn(&mut Vec<Value>)) -> Result<Bytes, OutboundFault> {
    if method == "eth_getLogs"
        && let Some(logs) = answer["result"].as_array_mut()
    {
        change(logs);
    }
    said(&answer)
}

fn number(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap().strip_prefix("0x").unwrap(), 16).unwrap()
}

fn quantity(number: u64) -> Value {
    json!(format!("{number:#x}"))
}

fn other_hash(value: &mut Value) {
    let mut text = value.as_str().unwrap().to_owned();
    text.replace_range(10..12, "fe");
    *value = json!(text);
}

macro_rules! faults {
    ($($name:literal, $paralysing:literal, $distort:expr;)*) => {
        pub(crate) const FAULTS: &[Fault] =
            &[$(Fault { name: $name, is_paralysing: $paralysing, distort: $distort }),*];
    };
}

faults! {
    "refuses connections", true, |_, _| Err(OutboundFault::Unreachable("refused".to_owned()));
    "drips, or answers nothing in time", true, |_, _| Err(OutboundFault::Silent);
    "answers 64 MB", true, |_, _| Err(OutboundFault::Body("length limit exceeded".to_owned()));
    "status 429", true, |_, _| Err(OutboundFault::Status(429));
    "status 500", true, |_, _| Err(OutboundFault::Status(500));
    "an empty body", true, |_, _| Ok(Bytes::new());
    "a page of HTML", true, |_, _| Ok(Bytes::from_static(b"<html>Bad gateway</html>"));
    "a cut body", true, |_, answer| { let text = answer.to_string(); Ok(Bytes::from(text[..text.len() - 2].to_owned())) };
    "a list", true, |_, answer| said(&json!([answer]));
    "not UTF-8", true, |_, _| Ok(Bytes::from_static(b"{\"id\":1,\"result\":\"\xff\"}"));
    "another id", true, |_, mut answer| { answer["id"] = json!(0); said(&answer) };
    "no id", true, |_, mut answer| { answer.as_object_mut().unwrap().remove("id"); said(&answer) };
    "null", true, |_, mut answer| { answer["result"] = Value::Null; said(&answer) };
    "no result", true, |_, mut answer| { answer.as_object_mut().unwrap().remove("result"); said(&answer) };
    "an error", true, |_, answer| said(&json!({ "id": answer["id"], "error": { "code": -32005, "message": "limit" } }));
    "an error beside the result", true, |_, mut answer| { answer["error"] = json!({ "code": 1 }); said(&answer) };
    "another chain", true, |method, mut answer| { if method == "eth_chainId" { answer["result"] = json!("0x1"); } said(&answer) };
    "no chain id", true, |method, mut answer| { if method == "eth_chainId" { answer["result"] = json!("main"); } said(&answer) };
    "a number of 80 bits", true, |method, answer| block(method, answer, |block| block["number"] = json!("0xffffffffffffffffffff"));
    "a negative number", true, |method, answer| block(method, answer, |block| block["number"] = json!("0x-5"));
    "a decimal number", true, |method, answer| block(method, answer, |block| block["number"] = json!(5));
    "the next block for each", true, |method, answer| block(method, answer, |block| block["number"] = quantity(number(&block["number"]) + 1));
    "always the first block", false, |method, answer| block(method, answer, |block| block["number"] = json!("0x0"));
    "a forged hash", true, |method, answer| block(method, answer, |block| other_hash(&mut block["hash"]));
    "a forged parent", true, |method, answer| block(method, answer, |block| other_hash(&mut block["parentHash"]));
    "a block from the future", true, |method, answer| block(method, answer, |block| block["timestamp"] = quantity(number(&block["timestamp"]) + 100_000));
    "a block from the past", true, |method, answer| block(method, answer, |block| block["timestamp"] = json!("0x1"));
    "a short hash", true, |method, answer| block(method, answer, |block| block["hash"] = json!("0x1234"));
    "no time", true, |method, answer| block(method, answer, |block| { block.as_object_mut().unwrap().remove("timestamp"); });
    "a release left out", false, |method, answer| list(method, answer, |logs| { logs.pop(); });
    "a release made up", true, |method, answer| list(method, answer, |logs| logs.push(json!({
        "address": hex(&crate::world::VAULT), "topics": [], "data": "0x", "blockNumber": "0x1", "blockHash": hex(&[1; 32]) })));
    "a release twice", false, |method, answer| list(method, answer, |logs| logs.extend(logs.clone()));
    "releases backwards, numbered anew", false, |method, answer| list(method, answer, |logs| {
        logs.reverse();
        for (index, log) in logs.iter_mut().enumerate() { log["logIndex"] = quantity(index as u64); }
    });
    "another amount", false, |method, answer| events(method, answer, |log| {
        let data = log["data"].as_str().unwrap().to_owned();
        log["data"] = json!(format!("0x{:064x}{}", 7, &data[66..]));
    });
    "another nonce", false, |method, answer| events(method, answer, |log| {
        let data = log["data"].as_str().unwrap().to_owned();
        log["data"] = json!(format!("{}{:064x}", &data[..66], 77));
    });
    "a nonce of 256 bits", false, |method, answer| events(method, answer, |log| {
        let data = log["data"].as_str().unwrap().to_owned();
        log["data"] = json!(format!("{}{}", &data[..66], "f".repeat(64)));
    });
    "another account", false, |method, answer| events(method, answer, |log| log["topics"][1] = json!(format!("0x{:064x}", 5)));
    "another token", false, |method, answer| events(method, answer, |log| log["topics"][2] = json!(format!("0x{:064x}", 5)));
    "another vault's release", false, |method, answer| events(method, answer, |log| log["address"] = json!(hex(&[0x33; 20])));
    "another event", false, |method, answer| events(method, answer, |log| log["topics"][0] = json!(hex(&[0x33; 32])));
    "a release of another block", false, |method, answer| events(method, answer, |log| log["blockNumber"] = json!("0x1"));
    "a removed release", false, |method, answer| events(method, answer, |log| log["removed"] = json!(true));
    "another transaction", false, |method, answer| events(method, answer, |log| other_hash(&mut log["transactionHash"]));
    "short data", false, |method, answer| events(method, answer, |log| log["data"] = json!("0x1234"));
    "more events than any block has", true, |method, answer| list(method, answer, |logs| *logs = vec![Value::Null; 10_001]);
}

/// Row 12. One node of two, or of three, has a fault for some turns while users withdraw and blocks come: whatever was told
/// has truly happened (the port compares), two nodes conclude nothing where one lies and pause, three go on by the two that
/// agree, and afterwards everything ends as it should.
#[test]
fn a_node_that_lies_lags_or_fails_changes_nothing() {
    const { assert!(FAULTS.len() >= 40) };
    let folder = Folder::new("faults");
    for (kind, fault) in FAULTS.iter().enumerate() {
        for seed in seeds(40) {
            let _rerun = Rerun("chain faults::a_node_that_lies", seed);
            let context = format!("{}, seed {seed}", fault.name);
            let mut rig = Rig::new(seed * 1_000 + kind as u64, 4, None, 2 + (seed % 3 == 0) as usize);
            let mut signer = folder.signer("log", policy(), Clock::manual(1_700_000_000_000));
            let mut requests = |rig: &mut Rig| {
                for _ in 0..3 {
                    let submission = loop {
                        if let Some(submission) = rig.request(&mut signer) {
                            break submission;
                        }
                    };
                    rig.remember(&mut signer);
                    rig.world.borrow_mut().pool.push(submission);
                    rig.bring();
                    rig.world.borrow_mut().mine(3, false);
                }
                for _ in 0..rig.below(8) {
                    rig.world.borrow_mut().mine(5, false);
                }
            };
            requests(&mut rig);
            for _ in 0..rig.below(4) {
                rig.turn();
            }
            let culprit = rig.below(rig.moods.len() as u64) as usize;
            rig.moods[culprit].set(Mood::Faulty(kind));
            let before = rig.venue.borrow().cursor();
            let known = rig.world.borrow().head().number;
            requests(&mut rig);
            for _ in 0..6 {
                rig.world.borrow_mut().mine(100, false);
                rig.turn();
            }
            let (after, is_paused) = (rig.venue.borrow().cursor(), rig.venue.borrow().is_paused());
            if rig.moods.len() == 3 {
                let reached = |cursor: Option<ringside_chain::FinalBlock>| cursor.map(|cursor| cursor.block);
                assert!(reached(after) > reached(before) && !is_paused, "{context}: two of three go on");
            } else if fault.is_paralysing {
                // What both had said before is still so.
                let is_known = after.is_none_or(|after| after.block <= known);
                assert!(is_known && is_paused, "{context}: nothing is concluded on one voice");
            }
            rig.end();
            drop(signer);
            folder.remove("log");
        }
    }
}

#[test]
fn a_node_that_lags_holds_back_two_and_not_three() {
    for nodes in [2, 3] {
        let mut rig = Rig::new(7, 3, None, nodes);
        for _ in 0..30 {
            rig.world.borrow_mut().mine(1, true);
        }
        rig.moods[1].set(Mood::Lags(10));
        rig.follow();
        let reached = rig.venue.borrow().cursor().unwrap().block;
        assert_eq!(reached, if nodes == 2 { 17 } else { 27 });
        assert!(!rig.venue.borrow().is_paused());
    }
}

/// A chain that says what is final: nodes that do not say it any more settle nothing, and that is told as a fault.
#[test]
fn nodes_that_say_nothing_final_are_in_doubt() {
    let mut rig = Rig::new(1, 1, Some(3), 2);
    let mine = |rig: &Rig| (0..8).for_each(|_| rig.world.borrow_mut().mine(1, false));
    mine(&rig);
    rig.follow();
    rig.moods.iter().for_each(|mood| mood.set(Mood::SaysNothingFinal));
    mine(&rig);
    assert!(!rig.turn());
    rig.moods.iter().for_each(|mood| mood.set(Mood::Honest));
    rig.follow();
}
