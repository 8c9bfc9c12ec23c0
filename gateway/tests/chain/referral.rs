//! Reads of the referral contract, from nodes that answer what they are told to.

use bytes::Bytes;
use futures_util::FutureExt;
use ringside_chain::Local;
use ringside_chain::http::Transport;
use ringside_chain::provider::Provider;
use ringside_chain::referral::{Kept, Reader, Rebate, Terms};
use ringside_outbound::OutboundFault;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const CHAIN_ID: u64 = 31_337;
const CONTRACT: [u8; 20] = [0x77; 20];
const ACCOUNT: [u8; 20] = [0xab; 20];

/// Answers every call with the same, and remembers what it was asked.
#[derive(Clone, Default)]
struct Script {
    answer: Rc<RefCell<Value>>,
    is_silent: Rc<Cell<bool>>,
    /// Which it says that it is on, where that is another chain than asked for.
    elsewhere: Rc<Cell<bool>>,
    asked: Rc<RefCell<Vec<Value>>>,
}

impl Transport for Script {
    fn ask(&self, question: Bytes) -> Local<'_, Result<Bytes, OutboundFault>> {
        let question: Value = serde_json::from_slice(&question).unwrap();
        let mut answer = self.answer.borrow().clone();
        if question["method"] == "eth_chainId" {
            let chain_id = if self.elsewhere.get() { CHAIN_ID + 1 } else { CHAIN_ID };
            answer = json!({ "result": format!("{chain_id:#x}") });
        } else {
            self.asked.borrow_mut().push(question.clone());
        }
        answer["id"] = question["id"].clone();
        let answer = if self.is_silent.get() {
            Err(OutboundFault::Silent)
        } else {
            Ok(Bytes::from(answer.to_string()))
        };
        Box::pin(std::future::ready(answer))
    }

    fn name(&self) -> &str {
        "script"
    }
}

fn rig(answer: Value) -> (Script, Reader, Kept) {
    let script = Script { answer: Rc::new(RefCell::new(answer)), ..Script::default() };
    (script.clone(), Reader::new(Provider::new(Box::new(script)), CHAIN_ID, CONTRACT), Kept::default())
}

/// Words as a view returns them.
fn words(words: &[&str]) -> Value {
    json!({ "result": format!("0x{}", words.iter().map(|word| format!("{word:0>64}")).collect::<String>()) })
}

fn now<T>(read: impl Future<Output = T>) -> T {
    read.now_or_never().unwrap()
}

#[test]
fn the_four_views_are_asked_and_read_as_the_contract_has_them() {
    let code = format!("{:0<64}", "414c49434531");
    let referrer = "6813eb9362372eef6200f3b1dbc3f819671cba69";
    let (script, reader, kept) = rig(words(&["bebc20", "3", &code, referrer, "2"]));
    let rebate = now(reader.rebate(&kept, &ACCOUNT)).unwrap();
    let mut expected = Rebate { claimed_usd: 12_500_000, nonce: 3, tier: 2, ..Rebate::default() };
    expected.code[..6].copy_from_slice(b"ALICE1");
    const_hex::decode_to_slice(referrer, &mut expected.referrer).unwrap();
    assert_eq!(rebate, expected);
    // The selector of `userRebates(address)` and the address, at the newest block.
    let asked = script.asked.borrow()[0].clone();
    assert_eq!(asked["method"], "eth_call");
    assert_eq!(asked["params"][0]["to"], format!("0x{}", "77".repeat(20)));
    let data = asked["params"][0]["data"].as_str().unwrap();
    assert_eq!((&data[10..], data.len()), (&*format!("{}{}", "0".repeat(24), "ab".repeat(20)), 2 + 8 + 64));
    let (_, reader, kept) = rig(words(&[&code, referrer, "7d0", "1f4", "5dc"]));
    let terms = now(reader.terms(&kept, &ACCOUNT)).unwrap();
    let bps = (terms.total_rebate_bps, terms.trader_discount_bps, terms.affiliate_reward_bps);
    assert_eq!((terms.code, terms.referrer, bps), (expected.code, expected.referrer, (2_000, 500, 1_500)));
    let (_, reader, kept) = rig(words(&["1"]));
    assert_eq!(now(reader.claimed(&kept, &ACCOUNT)), Ok(1));
    assert_eq!(now(reader.is_operator(&kept, &ACCOUNT)), Ok(true));
}

#[test]
fn unknown_users_have_zeros() {
    let (_, reader, kept) = rig(words(&["0"; 5]));
    assert_eq!(now(reader.rebate(&kept, &ACCOUNT)), Ok(Rebate::default()));
    assert_eq!(now(reader.terms(&kept, &ACCOUNT)), Ok(Terms::default()));
}

#[test]
fn a_good_answer_is_given_again_and_a_failure_is_not() {
    let (script, reader, kept) = rig(words(&["5"]));
    script.is_silent.set(true);
    assert!(now(reader.claimed(&kept, &ACCOUNT)).is_err());
    script.is_silent.set(false);
    assert_eq!(now(reader.claimed(&kept, &ACCOUNT)), Ok(5));
    *script.answer.borrow_mut() = words(&["6"]);
    assert_eq!(now(reader.claimed(&kept, &ACCOUNT)), Ok(5), "kept");
    assert_eq!(now(reader.claimed(&kept, &[1; 20])), Ok(6), "another address");
    script.is_silent.set(true);
    assert_eq!(now(reader.claimed(&kept, &ACCOUNT)), Ok(5), "kept while the node fails");
    assert_eq!(script.asked.borrow().len(), 3);
}

/// C-18: what stands at the same address of another chain is somebody else's.
#[test]
fn a_node_of_another_chain_is_not_believed() {
    let (script, reader, kept) = rig(words(&["5"]));
    script.elsewhere.set(true);
    let refused = now(reader.claimed(&kept, &ACCOUNT)).unwrap_err();
    assert_eq!(refused.to_string(), "the referral contract cannot be read: it is on chain 31338");
    script.elsewhere.set(false);
    assert_eq!(now(reader.claimed(&kept, &ACCOUNT)), Ok(5), "it was not kept");
}

#[test]
fn strangers_do_not_ask_the_node_without_end() {
    let (script, reader, kept) = rig(words(&["5"]));
    let ask = |number: u64| {
        let mut address = [9; 20];
        address[..8].copy_from_slice(&number.to_be_bytes());
        now(reader.claimed(&kept, &address))
    };
    let answered = (0..1_000).filter(|number| ask(*number).is_ok()).count();
    assert!((100..200).contains(&answered), "{answered}");
    assert_eq!(script.asked.borrow().len(), answered);
    assert_eq!(ask(0), Ok(5), "what is known costs nothing");
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(ask(2_000), Ok(5), "and more is asked later");
}

#[test]
fn what_is_no_answer_of_the_contract_is_an_error() {
    let wide = "f".repeat(64);
    for answer in [
        json!({ "error": { "code": 3, "message": "execution reverted" } }),
        json!({ "result": "0x" }),
        json!({ "result": null }),
        json!({ "result": "0x12" }),
        words(&["1", "2"]),
        words(&[&wide]),
    ] {
        let (_, reader, kept) = rig(answer.clone());
        assert!(now(reader.claimed(&kept, &ACCOUNT)).is_err(), "{answer}");
        assert!(now(reader.is_operator(&kept, &ACCOUNT)).is_err(), "{answer}");
    }
    for at in [1, 3, 4] {
        let mut record = ["0"; 5];
        record[at] = &wide;
        let (_, reader, kept) = rig(words(&record));
        assert!(now(reader.rebate(&kept, &ACCOUNT)).is_err(), "{at}");
    }
    // Of the right length, and yet nothing that is kept.
    let (script, reader, kept) = rig(words(&["2"]));
    assert!(now(reader.is_operator(&kept, &ACCOUNT)).is_err());
    *script.answer.borrow_mut() = words(&["1"]);
    assert_eq!(now(reader.is_operator(&kept, &ACCOUNT)), Ok(true));
}
