//! Referral reads through a socket (`account.md` 12), from a node that answers what it is told to. What the contract itself
//! answers is tested on a real node.

use super::venue_with;
use crate::exchange::venue::Venue;
use ringside_chain::parts;
use ringside_chain::thread::Parts;
use ringside_config::Wallet;
use ringside_outbound::url::NodeUrl;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

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
                let mut answer = answer.clone();
                if question["method"] == "eth_chainId" {
                    answer = json!({ "result": "0x7a69" });
                } else {
                    *asked += 1;
                }
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
        config.chain_nodes = vec![NodeUrl::parse(&url).unwrap()];
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

/// Discounts of accounts follow the contract: set when an account is met, refreshed, kept while nothing can be read.
#[test]
fn fees_follow_the_terms_of_the_contract() {
    let node = Node::default();
    let url = node.start();
    let mut venue = venue_with(&[], |config| {
        config.chain_nodes = vec![NodeUrl::parse(&url).unwrap()];
        config.referral_address = Some(Wallet([0x77; 20]));
        config.referral_every = Duration::from_millis(20);
    });
    let referrer = "6813eb9362372eef6200f3b1dbc3f819671cba69";
    let taker = |venue: &mut Venue| {
        let info = venue.sees(2, "/account/fee-info");
        let account = &info["account"];
        (account["discounts"][0]["bps"].as_u64().unwrap(), account["taker_rate"].as_str().unwrap().to_owned())
    };
    node.answers(&["0", referrer, "7d0", "3e8", "3e8"]);
    let shutdown = CancellationToken::new();
    let referrals = Some(parts::discounts(&venue.exchange.shared.chain));
    let parts = Parts { referrals, ..Parts::default() };
    let thread =
        ringside_chain::thread::start(venue.exchange.shared.for_chain(), parts, shutdown.clone()).unwrap();
    let follow = |venue: &mut Venue, bps: u64| {
        let begin = Instant::now();
        while taker(venue).0 != bps {
            venue.exchange.turn();
            assert!(begin.elapsed() < Duration::from_secs(60), "{:?}, not {bps}", taker(venue));
        }
        taker(venue).1
    };
    // `V-13`: 0.05 % less a tenth, as `commissionRate` has it.
    assert_eq!(follow(&mut venue, 1_000), "0.00045");
    let rate = venue.call(2, "GET", "/fapi/v1/commissionRate", "symbol=BTCUSDT");
    assert_eq!(rate["takerCommissionRate"].as_str().unwrap().parse::<f64>().unwrap(), 0.000_45);
    node.answers(&["0", referrer, "7d0", "1f4", "5dc"]);
    assert_eq!(follow(&mut venue, 500), "0.000475");
    // What cannot be, and what cannot be read, changes nothing.
    for bad in [&["0", referrer, "7d0", "3e8", "1"][..], &["0", referrer], &[]] {
        let asked = node.asked();
        node.answers(bad);
        while node.asked() < asked + 3 {
            venue.exchange.turn();
        }
        assert_eq!(taker(&mut venue), (500, "0.000475".to_owned()));
    }
    // Without a referrer there is none.
    node.answers(&["0", "0", "0", "0", "0"]);
    assert_eq!(follow(&mut venue, 0), "0.0005");
    shutdown.cancel();
    thread.join().unwrap();
}
