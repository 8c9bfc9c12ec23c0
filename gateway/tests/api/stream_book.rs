//! Depth streams as their clients use them: a book kept by the specified rules alone equals the one that REST shows, at every
//! speed and whenever it is begun, under a random flow; and the same rules hold for recorded sessions of the original.

use crate::exchange::socket::Socket;
use crate::exchange::venue::Venue;
use crate::local_book::{Broken, LocalBook, best_of, levels, number};
use crate::random::{Random, seed};
use flate2::read::GzDecoder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

/// Speeds as they stand in names.
const SPEEDS: [&str; 5] = ["", "@250ms", "@500ms", "@100ms", "@0ms"];

/// A client of one speed of one market.
struct Client {
    socket: Socket,
    book: LocalBook,
    speed: &'static str,
}

impl Client {
    fn new(venue: &Venue, speed: &'static str) -> Client {
        let socket = Socket::at(&venue.exchange, &format!("/ws/btcusdt@depth{speed}"));
        let mut client = Client { socket, book: LocalBook::default(), speed };
        client.read();
        client
    }

    /// Takes everything in that is on its way.
    fn read(&mut self) {
        for text in self.socket.drain().unwrap() {
            let event: Value = serde_json::from_str(&text).unwrap();
            assert_eq!((&event["e"], &event["s"]), (&"depthUpdate".into(), &"BTCUSDT".into()));
            assert_eq!(number(&event, "U"), number(&event, "pu") + 1, "{}", self.speed);
            assert_eq!(self.book.event(&event), Ok(()), "{}: {text}", self.speed);
        }
    }
}

/// Traders of a market around 60000, and orders that rest.
struct Flow {
    venue: Venue,
    random: Random,
    resting: Vec<(u8, u64)>,
}

impl Flow {
    fn step(&mut self) {
        let account = 1 + self.random.below(3) as u8;
        let side = ["BUY", "SELL"][self.random.below(2) as usize];
        let quantity = 1 + self.random.below(20);
        let order = format!("symbol=BTCUSDT&side={side}&quantity=0.{quantity:03}");
        let params = match self.random.below(10) {
            0..=5 => {
                let away = 10 * self.random.below(12) as i64 - 20;
                let tenths = if side == "BUY" { 600_000 - away } else { 600_000 + away };
                let price = format!("{}.{}", tenths / 10, tenths % 10);
                format!("{order}&type=LIMIT&timeInForce=GTC&price={price}")
            }
            6 => format!("{order}&type=MARKET"),
            7 => {
                let (account, id) = self.resting.first().copied().unwrap_or((1, 0));
                let query = format!("symbol=BTCUSDT&side=BUY&orderId={id}&quantity=0.007&price=59999.1");
                self.venue.ask(account, "PUT", "/fapi/v1/order", &query);
                return;
            }
            _ => {
                if !self.resting.is_empty() {
                    let place = self.random.below(self.resting.len() as u64) as usize;
                    let (account, id) = self.resting.swap_remove(place);
                    self.venue.ask(
                        account,
                        "DELETE",
                        "/fapi/v1/order",
                        &format!("symbol=BTCUSDT&orderId={id}"),
                    );
                }
                return;
            }
        };
        let (status, answer) = self.venue.ask(account, "POST", "/fapi/v1/order", &params);
        if status == 200 {
            self.resting.push((account, answer["orderId"].as_u64().unwrap()));
        }
    }

    fn depth(&mut self) -> Value {
        let answer = self.venue.exchange.request("GET", "/fapi/v1/depth?symbol=BTCUSDT&limit=1000", &[], "");
        serde_json::from_str(&answer.body).unwrap()
    }
}

#[test]
fn a_book_of_the_rules_is_the_book() {
    let venue = Venue::with(&[(1, 1_000_000), (2, 1_000_000), (3, 1_000_000)], 0, |config| {
        config.websocket_frames_per_second = u32::MAX;
        config.orders_per_minute = u32::MAX;
    });
    let mut flow = Flow {
        random: Random::new(seed("stream_book::a_book_of_the_rules_is_the_book")),
        venue,
        resting: Vec::new(),
    };
    let mut clients: Vec<Client> = Vec::new();
    let (mut compared, mut begun, mut used) = (0, 0, 0);
    for round in 0..1_500 {
        flow.step();
        flow.venue.exchange.clock.turn(flow.random.below(40) as i64);
        flow.venue.exchange.turn();
        // One is begun at any moment, in the middle of any interval; the snapshot is asked for once the stream is open.
        if round % 25 == 0 {
            let speed = SPEEDS[flow.random.below(5) as usize];
            let mut client = Client::new(&flow.venue, speed);
            for _ in 0..flow.random.below(4) {
                flow.step();
                flow.venue.exchange.clock.turn(flow.random.below(200) as i64);
                flow.venue.exchange.turn();
            }
            client.read();
            let snapshot = flow.depth();
            assert_eq!(client.book.snapshot(&snapshot), Ok(()), "{speed}");
            clients.push(client);
            begun += 1;
            if clients.len() > 12 {
                used += clients.remove(flow.random.below(12) as usize).book.used;
            }
        }
        if round % 10 == 0 {
            clients.iter_mut().for_each(Client::read);
        }
        if flow.random.below(20) == 0 {
            // Whatever is gathered goes out when the slowest speed is due.
            let shown = flow.depth();
            flow.venue.exchange.clock.turn(500);
            flow.venue.exchange.turn();
            let sides = [levels(&shown["bids"]), levels(&shown["asks"])];
            for client in &mut clients {
                client.read();
                assert_eq!(client.book.update(), Some(number(&shown, "lastUpdateId")), "{}", client.speed);
                assert_eq!(client.book.sides(), sides, "{}", client.speed);
                compared += 1;
            }
        }
    }
    used += clients.iter().map(|client| client.book.used).sum::<usize>();
    assert!(
        compared > 100 && begun > 50 && used > 500,
        "{compared} comparisons, {begun} books, {used} events"
    );
}

#[test]
fn the_best_of_each_event_is_what_book_ticker_says() {
    let venue = Venue::with(&[(1, 1_000_000), (2, 1_000_000), (3, 1_000_000)], 0, |config| {
        config.websocket_frames_per_second = u32::MAX;
        config.orders_per_minute = u32::MAX;
    });
    let mut flow = Flow {
        random: Random::new(seed("stream_book::the_best_of_each_event_is_what_book_ticker_says")),
        venue,
        resting: Vec::new(),
    };
    for _ in 0..20 {
        flow.step();
    }
    let names = ["btcusdt@depth@0ms", "btcusdt@bookTicker", "!bookTicker", "btcusdt@depth5@0ms"];
    let mut socket = Socket::at(&flow.venue.exchange, &format!("/stream?streams={}", names.join("/")));
    socket.drain().unwrap();
    let mut book = LocalBook::default();
    book.snapshot(&flow.depth()).unwrap();
    let (mut best, mut changes, mut events) = (book.best(), 0, 0);
    for _ in 0..600 {
        flow.step();
        flow.venue.exchange.turn();
        let mut of = BTreeMap::new();
        for text in socket.drain().unwrap() {
            let frame: Value = serde_json::from_str(&text).unwrap();
            let name = frame["stream"].as_str().unwrap().to_owned();
            assert!(
                of.insert(name, frame["data"].clone()).is_none(),
                "one event of each stream per command: {text}"
            );
        }
        let Some(depth) = of.get("btcusdt@depth@0ms") else {
            assert!(of.is_empty(), "what changes no book says nothing: {of:?}");
            continue;
        };
        events += 1;
        book.event(depth).unwrap();
        // Told exactly where it changed, and as it is.
        let told = of.get("btcusdt@bookTicker");
        assert_eq!(told.is_some(), book.best() != best, "{of:?}");
        if let Some(told) = told {
            assert_eq!((best_of(told), number(told, "u")), (book.best(), number(depth, "u")));
            assert_eq!(of.get("!bookTicker"), Some(told));
            changes += 1;
        }
        best = book.best();
        let [bids, asks] = book.sides();
        let top = &of["btcusdt@depth5@0ms"];
        let first = |side: Vec<_>| side.into_iter().take(5).collect::<Vec<_>>();
        assert_eq!([levels(&top["b"]), levels(&top["a"])], [first(bids), first(asks)]);
        assert_eq!([number(top, "U"), number(top, "u")], [number(depth, "U"), number(depth, "u")]);
    }
    assert!(changes > 50 && events > 200, "{changes} changes in {events} events");
}

/// Lines of a recorded session: stream and payload, or the REST snapshot with an empty name.
fn recorded(names: [&str; 2]) -> Option<impl Iterator<Item = (String, Value)>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/binance-usdm-ws-btcusdt");
    let mut text: Box<dyn Read> = Box::new(std::io::empty());
    for name in names {
        let Ok(file) = File::open(format!("{folder}/{name}")) else {
            eprintln!("skipped: {folder}/{name} is not there");
            return None;
        };
        text = Box::new(text.chain(GzDecoder::new(file)));
    }
    Some(BufReader::new(text).lines().map(|line| {
        let line = line.unwrap();
        let mut frame: Value = serde_json::from_str(line.split_once(' ').unwrap().1).unwrap();
        match frame.get("stream").and_then(Value::as_str).map(str::to_owned) {
            Some(stream) => (stream, frame["data"].take()),
            None => (String::new(), frame),
        }
    }))
}

/// The rules against a session of the original: every event fits, and leaves the best bid and ask that `bookTicker` tells.
fn follows(names: [&str; 2], expected: usize) {
    let Some(lines) = recorded(names) else { return };
    let mut book = LocalBook::default();
    let mut tickers: BTreeMap<u64, Value> = BTreeMap::new();
    let mut ends = Vec::new();
    for (stream, payload) in lines {
        match &*stream {
            "" => book.snapshot(&payload).unwrap(),
            "btcusdt@depth@0ms" => {
                let before = book.used;
                assert_eq!(book.event(&payload), Ok(()));
                if book.used > before {
                    ends.push((number(&payload, "u"), book.best()));
                }
            }
            "btcusdt@bookTicker" => drop(tickers.insert(number(&payload, "u"), payload)),
            _ => {}
        }
    }
    let mut agreed = 0;
    for (update, best) in ends {
        let Some((_, ticker)) = tickers.range(..=update).next_back() else { continue };
        agreed += usize::from(best_of(ticker) == best);
    }
    assert_eq!(agreed, expected, "events that leave the best bid and ask of bookTicker");
}

#[test]
fn the_rules_hold_for_the_session_of_2023() {
    follows(["usdm_btcusdt_20230404.gz", "usdm_btcusdt_20230405.gz"], 16_110);
}

#[test]
fn the_rules_hold_for_the_session_of_2024() {
    follows(["usdm_btcusdt_20240718.gz", "usdm_btcusdt_20240719.gz"], 9_016);
}

/// The checker itself: what breaks the rules is found.
#[test]
fn a_hole_is_found() {
    let event = |before: u64, first: u64, last: u64| serde_json::json!({ "pu": before, "U": first, "u": last, "b": [["1.0", "2"]], "a": [] });
    let snapshot = serde_json::json!({ "lastUpdateId": 10, "bids": [], "asks": [] });
    let mut book = LocalBook::default();
    book.event(&event(4, 5, 9)).unwrap();
    book.snapshot(&snapshot).unwrap();
    assert_eq!((book.used, book.event(&event(9, 10, 12)), book.used), (0, Ok(()), 1));
    assert_eq!(book.event(&event(13, 14, 15)), Err(Broken::Gap(12, 13)));
    let mut book = LocalBook::default();
    book.snapshot(&snapshot).unwrap();
    assert_eq!(book.event(&event(11, 12, 13)), Err(Broken::Early));
    let mut empty = event(10, 11, 12);
    empty["b"] = serde_json::json!([]);
    assert_eq!(book.event(&empty), Err(Broken::Malformed));
}
