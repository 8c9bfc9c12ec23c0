//! Transcripts of the spot API: every request with its exact answer, in `golden/spot/*.txt`.
//!
//! A transcript starts with an empty exchange at 1,700,000,000 s. Its lines:
//! ```text
//! # a comment
//! alice POST /spot/orders {...}      who, method, path under /api/v1, body
//!   Idempotency-Key: k               a header of the request
//! 200 {...}                          the answer: status and body, byte for byte
//!   Idempotency-Replayed: true       the header of the answer that transcripts show
//! ! clock 5                          five seconds pass
//! ! open                             market DFUSDT (fees 5 and 10 bps), and 1000 DF and USDT each for alice, bob, carol
//! ! restart                          the state is saved, and another exchange goes on with it
//! ! phase restarting                 what the server believes of the engine
//! ```
//! `RINGSIDE_BLESS=1` writes the answers that were given into the files; read the difference before you keep it.

use crate::exchange::transcript::{self, transcripts};
use crate::exchange::{Answer, Exchange};
use ringside_commands::ingress::EngineState;
use std::fmt::Write;

struct Transcript {
    exchange: Exchange,
    shown: String,
}

/// A request and the headers that follow it.
struct Request<'a> {
    line: &'a str,
    headers: Vec<&'a str>,
}

impl Transcript {
    /// Runs a transcript; gives its text with the answers that were given.
    fn run(text: &str) -> String {
        let mut transcript = Transcript { exchange: Exchange::start(), shown: String::new() };
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let is_answer = line.len() > 3 && line.as_bytes()[..3].iter().all(u8::is_ascii_digit);
            if is_answer {
                // Written anew below; so are its headers.
                while lines.next_if(|line| line.starts_with("  ")).is_some() {}
                continue;
            }
            transcript.shown.push_str(line);
            transcript.shown.push('\n');
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(order) = line.strip_prefix("! ") {
                transcript.obey(order);
                continue;
            }
            let mut request = Request { line, headers: Vec::new() };
            while let Some(header) = lines.next_if(|line| line.starts_with("  ")) {
                writeln!(transcript.shown, "{header}").expect("a string");
                request.headers.push(header.trim());
            }
            let answer = transcript.ask(&request);
            writeln!(transcript.shown, "{} {}", answer.status, answer.body).expect("a string");
            if let Some(value) = answer.header("idempotency-replayed") {
                writeln!(transcript.shown, "  Idempotency-Replayed: {value}").expect("a string");
            }
        }
        transcript.shown
    }

    fn ask(&mut self, request: &Request<'_>) -> Answer {
        let [who, method, path, body] = transcript::request(request.line);
        let mut headers: Vec<String> = request.headers.iter().map(|header| (*header).to_owned()).collect();
        headers.extend(transcript::credentials(&self.exchange, who));
        // Long bodies are written as what they are.
        let body = match body.strip_prefix("<bytes>") {
            Some(len) => format!("{{\"x\":\"{}\"}}", "a".repeat(len.parse::<usize>().expect("a length") - 8)),
            None => body.to_owned(),
        };
        let answer = self.exchange.request(method, &format!("/api/v1{path}"), &headers, &body);
        let json = answer.header("content-type").is_some_and(|kind| kind.starts_with("application/json"));
        assert!(json, "{}", answer.head);
        answer
    }

    fn obey(&mut self, order: &str) {
        match order.split_once(' ').unwrap_or((order, "")) {
            ("clock", seconds) => self.exchange.clock.turn(1000 * seconds.parse::<i64>().expect("seconds")),
            ("restart", _) => self.exchange.restart(),
            ("phase", "restarting") => self.exchange.shared.phase.set(EngineState::Restarting),
            ("phase", "disabled") => self.exchange.shared.phase.set(EngineState::Disabled),
            ("phase", "running") => self.exchange.shared.phase.set(EngineState::Running),
            ("phase", "halted") => self.exchange.shared.phase.set(EngineState::Halted),
            ("open", _) => self.exchange.open(),
            _ => panic!("unknown order: {order}"),
        }
    }
}

transcripts! {
    "spot", Transcript::run;
    admin
    amounts
    balances
    cancel
    idempotency
    klines
    market_data
    matching
    numbers
    own_lists
    phases
    place
    place_faults
    ticker
}
