//! What clients see of a change of leaders: connections that go on, reads that are not of the past, credentials that count everywhere.

use crate::cluster::{Cluster, HOSTS, order};
use crate::process::{ADMIN_KEY, Folder, Running, get, log_in, ringside, stop, trade, try_request};
use crate::resume::{frames, listen, numbers};
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// A connection that is kept.
struct Kept(BufReader<TcpStream>);

impl Kept {
    fn open(address: &str) -> Kept {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Kept(BufReader::new(stream))
    }

    /// Status, sequence of the answer, if it has one, and body.
    fn get(&mut self, path: &str, header: &str) -> (u16, Option<u64>, String) {
        write!(self.0.get_mut(), "GET {path} HTTP/1.1\r\nHost: ringside\r\n{header}\r\n").unwrap();
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the connection ended");
            if line.trim().is_empty() {
                break;
            }
            head.push(line.trim().to_ascii_lowercase());
        }
        let number = |name: &str| {
            let line = head.iter().find_map(|line| line.strip_prefix(name));
            line.map(|value| value.trim().parse().unwrap())
        };
        let mut body = vec![0; number("content-length:").unwrap_or(0) as usize];
        self.0.read_exact(&mut body).unwrap();
        let status = head[0].split(' ').nth(1).unwrap().parse().unwrap();
        (status, number("x-ringside-sequence:"), String::from_utf8(body).unwrap())
    }
}

pub(crate) fn comes_to(cluster: &Cluster, what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}\n{}", cluster.logs());
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_leader_that_stops_hands_over_and_connections_go_on() {
    const DEPTH: &str = "/api/v1/spot/depth?symbol=DFUSDT";
    let cluster = Cluster::new("takeover", &[]);
    (0..HOSTS).for_each(|host| cluster.start(host));
    let first = cluster.leader();
    let [_, buyer] = trade(&cluster.address(first));
    let others = [1, 2].map(|after| (first + after) % HOSTS);
    let mut kept = others.map(|host| Kept::open(&cluster.address(host)));
    let mut leader = Kept::open(&cluster.address(first));
    assert_eq!(leader.get("/leaderz", "").0, 200);

    // A follower shows what a client has seen elsewhere, or says that it cannot.
    let (_, sequence, _) = leader.get(DEPTH, "");
    let sequence = sequence.expect("a leader of several names it as well");
    for follower in &mut kept {
        comes_to(&cluster, "reads are served", || follower.get("/livez/reads", "").0 == 200);
        assert_eq!(follower.get("/leaderz", "").0, 503);
        let (status, shown, body) = follower.get(DEPTH, &format!("X-Ringside-At-Least: {sequence}\r\n"));
        assert!(status == 200 && shown >= Some(sequence), "{status} {shown:?} {body}");
        let (status, _, body) = follower.get(DEPTH, "X-Ringside-At-Least: 99999999999\r\n");
        assert!(status == 503 && body.contains("ENGINE_RESTARTING"), "{status} {body}");
        let (status, _, body) = follower.get(DEPTH, "X-Ringside-At-Least: soon\r\n");
        assert!(status == 400 && body.contains("X-Ringside-At-Least"), "{status} {body}");
    }

    // A logout at the leader counts at the others.
    let other = log_in(&cluster.address(first), 5);
    let own = |host: usize| {
        let address = cluster.address(host);
        try_request(&address, "GET", "/api/v1/spot/balances", &[&other], "").unwrap().0
    };
    comes_to(&cluster, "the account is known", || others.iter().all(|host| own(*host) == 200));
    let out = try_request(&cluster.address(first), "POST", "/api/v1/auth/logout", &[&other], "").unwrap();
    assert_eq!(out.0, 200, "{}", out.1);
    comes_to(&cluster, "the logout counts", || others.iter().all(|host| own(*host) == 401));

    // Everybody tells of an order, in the same words and under the same numbers.
    let mut sockets = [first, others[0], others[1]].map(|host| {
        let mut socket = listen(&cluster.address(host), &buyer, None);
        frames(&mut socket, 2).iter().for_each(|frame| assert_eq!(frame["type"], "subscribed", "{frame}"));
        socket
    });
    assert_eq!(order(&cluster.address(first), &buyer).unwrap().0, 200);
    let told = sockets.each_mut().map(|socket| frames(socket, 2));
    assert!(told[0] == told[1] && told[0] == told[2], "{told:#?}");
    let last = *numbers(&told[0]).iter().max().unwrap();

    // An order to a follower is the leader's, answered and told of where it was taken.
    let mut numbers_before = last;
    for host in others {
        comes_to(&cluster, "orders are carried", || {
            matches!(try_request(&cluster.address(host), "GET", "/readyz", &[], ""), Ok((200, _)))
        });
        let begun = Instant::now();
        let (status, carried) = order(&cluster.address(host), &buyer).unwrap();
        assert_eq!(status, 200, "{carried}");
        eprintln!("an order to a follower: {:?}", begun.elapsed());
        let told = sockets.each_mut().map(|socket| frames(socket, 2));
        assert!(told[0] == told[1] && told[0] == told[2], "{told:#?}");
        assert!(numbers(&told[0]).iter().all(|number| *number > numbers_before));
        numbers_before = *numbers(&told[0]).iter().max().unwrap();
        // It has no leader's answer for what it is not to decide: a refusal comes the same way.
        let wrong = json!({"symbol": "DFUSDT", "side": "buy", "type": "limit", "price": "0.15", "quantity": "10000000"});
        let (status, refused) =
            try_request(&cluster.address(host), "POST", "/api/v1/spot/orders", &[&buyer], &wrong.to_string())
                .unwrap();
        assert_eq!(status, 400, "{refused}");
        assert!(refused.contains("INSUFFICIENT_BALANCE"), "{refused}");
    }

    // The leader stops in good order: another one takes orders, over the connections that there are.
    let running = cluster.hosts[first].lock().unwrap().take().unwrap();
    let mut outage = None;
    std::thread::scope(|scope| {
        let begun = Instant::now();
        scope.spawn(|| stop(running));
        // What the old leader still takes is no outage.
        std::thread::sleep(Duration::from_millis(1));
        comes_to(&cluster, "another takes orders", || {
            let taken =
                others.iter().any(|host| matches!(order(&cluster.address(*host), &buyer), Ok((200, _))));
            outage = Some(begun.elapsed());
            taken
        });
    });
    eprintln!("from a leader's stop to the next order: {outage:?}");
    let new = cluster.leader();
    assert!(others.contains(&new));
    // So do those who listen: of the order that the new leader took they are told, over the connection that they have.
    for socket in &mut sockets[1..] {
        let more = numbers(&frames(socket, 2));
        assert!(more.iter().all(|number| *number > last), "{more:?} behind {last}");
    }
    for (host, kept) in others.into_iter().zip(&mut kept) {
        let (status, _, words) = kept.get("/leaderz", "");
        assert_eq!(status, if host == new { 200 } else { 503 }, "{words}");
        assert_eq!(kept.get(DEPTH, "").0, 200);
    }
    // The stopped one comes back as one that follows.
    cluster.start(first);
    let address = cluster.address(first);
    comes_to(&cluster, "it follows", || {
        matches!(try_request(&address, "GET", "/livez/reads", &[], ""), Ok((200, _)))
    });
}

/// A leader does not wait for the one before, which stands still and holds its connection to the signer of withdrawals.
#[test]
fn the_signer_hears_whoever_leads() {
    let folder = Folder::new("signer-hears");
    let path = |name: &str| folder.0.join(name);
    // Names of sockets are short.
    let socket = std::env::temp_dir().join(format!("ringside-signer-hears-{}", std::process::id()));
    let own = |name: &str, text: &str| {
        let file = std::fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path(name));
        file.unwrap().write_all(text.as_bytes()).unwrap();
    };
    own("key", &format!("{:064x}", 1));
    own("tokens", "a-secret-that-all-three-hosts-share-of-the-tests");
    let files = ["log", "key", "tokens"].map(path);
    let [log, key, tokens] = &files;
    let settings =
        format!("socket = {socket:?}\nlog = {log:?}\nkey_file = {key:?}\ntoken_secret_file = {tokens:?}\n");
    own("signer.toml", &settings);
    let said = path("said");
    let mut signer = ringside(&folder.0);
    signer.args(["signer", "--settings"]).arg(path("signer.toml"));
    let signer = Running(signer.stderr(std::fs::File::create(&said).unwrap()).spawn().unwrap());
    let heard = || -> Vec<u64> {
        let text = std::fs::read_to_string(&said).unwrap();
        let lines = text.lines().filter(|line| line.contains("the signer hears a leader"));
        lines.map(|line| line.rsplit_once("term=").unwrap().1.parse().unwrap()).collect()
    };

    let settings = vec![
        ("RINGSIDE_SIGNER_SOCKET", &*socket.to_str().unwrap().to_owned().leak()),
        ("RINGSIDE_SIGNER_ADDRESS", "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf"),
    ];
    let cluster = Cluster::new("signer-heard", settings.leak());
    (0..HOSTS).for_each(|host| cluster.start(host));
    let first = cluster.leader();
    comes_to(&cluster, "the signer hears the leader", || !heard().is_empty());
    let signal = |name: &str| {
        let id = cluster.hosts[first].lock().unwrap().as_ref().unwrap().0.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    };
    signal("-STOP");
    comes_to(&cluster, "the signer answers the next one", || {
        let leads = |address: &str| matches!(try_request(address, "GET", "/leaderz", &[], ""), Ok((200, _)));
        let figures = |address: &str| get(address, "/metrics", &[&format!("X-API-Key: {ADMIN_KEY}")]);
        (0..HOSTS).filter(|host| *host != first).map(|host| cluster.address(host)).any(|address| {
            leads(&address) && figures(&address).lines().any(|line| line == "ringside_signer_up 1")
        })
    });
    assert!(heard().len() > 1, "{:?}", heard());
    assert!(heard().is_sorted_by(|one, two| one < two), "{:?}", heard());
    signal("-CONT");
    drop(signer);
    let _ = std::fs::remove_file(&socket);
}
