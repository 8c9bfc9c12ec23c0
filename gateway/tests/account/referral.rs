//! Referral reads through a socket (`account.md` 12), from a node that answers what it is told to. What the contract itself
//! answers is tested on a real node.

use super::venue_with;
use crate::exchange::venue::Venue;
use ringside_gateway::config::Wallet;
use ringside_gateway::config::feed::Url;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

const REBATE: &str = "/referral/on-chain/user-rebate";
const TERMS: &str = "/referral/on-chain/referral-info";
const CLAIMED: &str = "/referral/on-chain/claimed";
const OPERATOR: &str = "/referral/on-chain/operator-status";
const USER: &str = "0xAbCdEf0123456789abcdef0123456789ABCDEF01";

/// What a node answers every call with, and how many it was asked.
#[derive(Clone, Default)]
struct Node(Arc<Mutex<(Value, usize)>>);

impl Node {
    /// Behind a socket; gives its address.
    fn start(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let node = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let node = node.clone();
                std::thread::spawn(move || node.serve(&mut BufReader::new(stream.unwrap())));
            }
        });
        url
    }

    fn serve(&self, stream: &mut BufReader<std::net::TcpStream>) -> Option<()> {
        loop {
            let mut len = 0;
            loop {
                let mut line = String::new();
                if stream.read_line(&mut line).ok()? == 0 {
                    return None;
                }
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    len = value.trim().parse().ok()?;
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut question = vec![0; len];
            stream.read_exact(&mut question).ok()?;
            let question: Value = serde_json::from_slice(&question).ok()?;
            let answer = {
                let (answer, asked) = &mut *self.0.lock().unwrap();
                *asked += 1;
                let mut answer = answer.clone();
                answer["id"] = question["id"].clone();
                answer["jsonrpc"] = json!("2.0");
                answer.to_string()
            };
            write!(stream.get_mut(), "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{answer}", answer.len())
                .ok()?;
        }
    }

    /// Words as a view returns them.
    fn answers(&self, words: &[&str]) {
        let words = words.iter().map(|word| format!("{word:0>64}")).collect::<String>();
        self.0.lock().unwrap().0 = json!({ "result": format!("0x{words}") });
    }

    fn asked(&self) -> usize {
        self.0.lock().unwrap().1
    }
}

fn start() -> (Venue, Node) {
    let node = Node::default();
    let url = node.start();
    let venue = venue_with(&[], |config| {
        config.chain_nodes = vec![Url::parse(&url, "http").unwrap()];
        config.referral_address = Some(Wallet([0x77; 20]));
        config.operator_address = Some(Wallet([0x88; 20]));
    });
    (venue, node)
}

#[test]
fn records_are_shown_as_the_contract_has_them() {
    let (mut venue, node) = start();
    let lower = USER.to_lowercase();
    let referrer = "6813eb9362372eef6200f3b1dbc3f819671cba69";
    let code = format!("{:0<64}", "414c49434531");
    node.answers(&["bebc20", "3", &code, referrer, "2"]);
    assert_eq!(
        venue.sees(0, &format!("{REBATE}/{USER}")),
        json!({
            "address": lower, "claimed_usd": "12.500000", "nonce": 3, "referral_code": "ALICE1",
            "referrer": format!("0x{referrer}"), "tier_level": 2, "tier_name": "Gold",
        })
    );
    // Not UTF-8: as it is.
    let code = format!("{:0<64}", "ff41");
    node.answers(&[&code, referrer, "7d0", "1f4", "5dc"]);
    assert_eq!(
        venue.sees(0, &format!("{TERMS}/{lower}")),
        json!({
            "address": lower, "code": format!("0x{code}"), "referrer": format!("0x{referrer}"), "total_rebate_bps": 2_000,
            "trader_discount_bps": 500, "affiliate_reward_bps": 1_500,
        })
    );
    node.answers(&["1"]);
    assert_eq!(
        venue.sees(0, &format!("{CLAIMED}/{USER}")),
        json!({ "address": lower, "claimed_usd": "0.000001" })
    );
    assert_eq!(
        venue.sees(0, OPERATOR),
        json!({
            "operator_address": format!("0x{}", "88".repeat(20)), "is_operator": true,
            "contract_address": format!("0x{}", "77".repeat(20)),
        })
    );
}

#[test]
fn an_unknown_user_has_zeros() {
    let (mut venue, node) = start();
    node.answers(&["0"; 5]);
    let zero = format!("0x{}", "0".repeat(40));
    let rebate = venue.sees(0, &format!("{REBATE}/{USER}"));
    assert_eq!(
        [&rebate["claimed_usd"], &rebate["referral_code"], &rebate["tier_name"]],
        ["0.000000", "", "Starter"]
    );
    assert_eq!(rebate["referrer"], zero);
    assert_eq!(venue.sees(0, &format!("{TERMS}/{USER}"))["code"], "");
}

#[test]
fn a_good_answer_is_kept_and_a_failure_is_told() {
    let (mut venue, node) = start();
    let path = format!("{CLAIMED}/{USER}");
    for answer in
        [json!({ "error": { "code": 3, "message": "execution reverted" } }), json!({ "result": "0x12" })]
    {
        node.0.lock().unwrap().0 = answer;
        let (status, body) = venue.asks(0, "GET", &path, "");
        assert_eq!((status, &body["code"]), (500, &json!("CHAIN_ERROR")), "{body}");
    }
    node.answers(&["5"]);
    let first = venue.sees(0, &path);
    let asked = node.asked();
    node.answers(&["6"]);
    assert_eq!((venue.sees(0, &path), node.asked()), (first, asked), "kept for ten seconds");
    for address in
        ["0x12", "abcdef0123456789abcdef0123456789abcdef01", "0xZbcdef0123456789abcdef0123456789abcdef01"]
    {
        let (status, body) = venue.asks(0, "GET", &format!("{CLAIMED}/{address}"), "");
        assert_eq!((status, &body["code"]), (400, &json!("INVALID_ADDRESS")), "{address}");
    }
}

#[test]
fn without_a_contract_there_is_nothing_to_read() {
    let mut venue = venue_with(&[], |_| {});
    for path in [
        format!("{REBATE}/{USER}"),
        format!("{TERMS}/{USER}"),
        format!("{CLAIMED}/{USER}"),
        OPERATOR.to_owned(),
    ] {
        let (status, body) = venue.asks(0, "GET", &path, "");
        assert_eq!((status, &body["code"]), (500, &json!("CHAIN_ERROR")), "{path}");
    }
}
