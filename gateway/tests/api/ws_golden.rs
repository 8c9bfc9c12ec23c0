//! Transcripts of `/ws`: every frame sent with every frame that came of it, in `golden/ws/*.txt`.
//!
//! A transcript starts with an empty exchange at 1,700,000,000 s. Its lines:
//! ```text
//! # a comment
//! alice > {"type":"ping"}            a frame sent on the connection of that name, made where there is none
//! alice < {"type":"pong",...}        a frame received, byte for byte
//! alice closed 1008 too many frames  the end of a connection
//! alice POST /spot/orders {...}      a request, as in the transcripts of the spot API
//! 200                                its status
//! ! clock 5                          five seconds pass
//! ! open                             market DFUSDT (fees 5 and 10 bps), and 1000 DF and USDT each for alice, bob, carol
//! ! hang-up alice                    the connection of that name ends
//! ```
//! `{token:alice}` in a frame is a fresh login token; after each line all connections are read dry, in order of name.
//! `RINGSIDE_BLESS=1` writes the frames that were given into the files; read the difference before you keep it.

use crate::exchange::socket::{End, Socket};
use crate::exchange::transcript::{self, NAMES, transcripts};
use crate::exchange::{Exchange, wallet};
use std::collections::BTreeMap;
use std::fmt::Write;

struct Transcript {
    exchange: Exchange,
    sockets: BTreeMap<String, Socket>,
    shown: String,
}

impl Transcript {
    fn run(text: &str) -> String {
        let exchange = Exchange::start_with(|config| config.websocket_frames_per_second = u32::MAX);
        let mut transcript = Transcript { exchange, sockets: BTreeMap::new(), shown: String::new() };
        for line in text.lines() {
            let is_answer = line.contains(" < ") || line.contains(" closed ");
            let is_status = line.len() == 3 && line.bytes().all(|byte| byte.is_ascii_digit());
            if is_answer || is_status {
                continue;
            }
            writeln!(transcript.shown, "{line}").expect("a string");
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            transcript.obey(line);
            transcript.exchange.turn();
            transcript.listen();
        }
        transcript.shown
    }

    fn obey(&mut self, line: &str) {
        if let Some(order) = line.strip_prefix("! ") {
            let (order, value) = order.split_once(' ').unwrap_or((order, ""));
            match order {
                "clock" => self.exchange.clock.turn(value.parse::<i64>().expect("seconds") * 1_000),
                "open" => self.exchange.open(),
                "hang-up" => drop(self.sockets.remove(value)),
                _ => panic!("unknown order: {line}"),
            }
        } else if let Some((name, frame)) = line.split_once(" > ") {
            let mut frame = frame.to_owned();
            for (index, account) in NAMES.iter().enumerate() {
                let placeholder = format!("{{token:{account}}}");
                if frame.contains(&placeholder) {
                    frame = frame.replace(&placeholder, &self.token(index as u8 + 1));
                }
            }
            let exchange = &self.exchange;
            let socket = self.sockets.entry(name.to_owned()).or_insert_with(|| Socket::open(exchange));
            socket.send(&frame);
        } else {
            let [name, method, path, body] = transcript::request(line);
            let headers = transcript::credentials(&self.exchange, name);
            let answer = self.exchange.request(method, &format!("/api/v1{path}"), &headers, body);
            writeln!(self.shown, "{}", answer.status).expect("a string");
        }
    }

    fn token(&self, account: u8) -> String {
        let header = self.exchange.bearer(u32::from(account), &wallet(account));
        header.strip_prefix("Authorization: Bearer ").expect("a token").to_owned()
    }

    fn listen(&mut self) {
        let mut ended = Vec::new();
        for (name, socket) in &mut self.sockets {
            match socket.drain() {
                Ok(texts) => {
                    texts.iter().for_each(|text| writeln!(self.shown, "{name} < {text}").expect("a string"));
                }
                Err(End::Closed(code, reason)) => {
                    writeln!(self.shown, "{name} closed {code} {reason}").expect("a string");
                    ended.push(name.clone());
                }
                Err(End::Cut) => panic!("{name} was cut off"),
            }
        }
        ended.iter().for_each(|name| drop(self.sockets.remove(name)));
    }
}

transcripts! {
    "ws", Transcript::run;
    account
    authentication
    errors
    market
    market_data
    resume
}
