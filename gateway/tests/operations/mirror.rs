//! A leader and its mirror, two processes: killed one after the other under load, the same files, the second in the place of the first.

use crate::process::{
    ADMIN_KEY, Folder, Running, address, get, log_in, own_address, request, ringside, said, start_logged,
    stop, trade, try_request,
};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Two hosts on one.
struct Pair {
    folder: Folder,
    /// Where the mirror connects to.
    listen: SocketAddr,
    is_awaited: bool,
    keys: [String; 2],
}

impl Pair {
    fn new(name: &str, is_awaited: bool) -> Pair {
        let folder = Folder::new(name);
        let keys = [0, 1].map(|host| {
            let output = ringside(&host_folder(&folder, host)).arg("mirror-key").output().unwrap();
            assert!(output.status.success(), "{}", said(&output));
            let key = String::from_utf8(output.stdout).unwrap().trim().to_owned();
            assert_eq!(key.len(), 64);
            key
        });
        assert!(keys[0] != keys[1]);
        Pair { folder, listen: own_address(), is_awaited, keys }
    }

    fn data(&self, host: usize) -> PathBuf {
        host_folder(&self.folder, host)
    }

    fn settings(&self, host: usize, command: &mut Command) {
        command
            .env("RINGSIDE_ADMIN_KEY", ADMIN_KEY)
            .env("RINGSIDE_SEGMENT_LEN", "64KiB")
            // Nobody is held off by a limit here.
            .env("RINGSIDE_WEIGHT_PER_MINUTE", "10000000")
            .env("RINGSIDE_ORDERS_PER_TEN_SECONDS", "1000000")
            .env("RINGSIDE_ORDERS_PER_MINUTE", "1000000")
            .env("RINGSIDE_MIRROR_KEYS", &self.keys[1 - host]);
    }

    fn log(&self, host: usize) -> File {
        File::options().create(true).append(true).open(self.log_path(host)).unwrap()
    }

    fn log_path(&self, host: usize) -> PathBuf {
        self.folder.0.join(format!("log-{host}"))
    }

    /// Whether the log of a host comes to say this.
    fn comes_to_say(&self, host: usize, words: &str) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(30) {
            if std::fs::read_to_string(self.log_path(host)).unwrap().contains(words) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    /// The leader, and its address.
    fn lead(&self, host: usize) -> (Running, String) {
        let (running, said) = start_logged(&self.data(host), self.log(host).into(), |command| {
            self.settings(host, command);
            command
                .env("RINGSIDE_MIRROR_LISTEN", self.listen.to_string())
                .env("RINGSIDE_ACKNOWLEDGE_MIRROR", self.is_awaited.to_string())
                .env("RINGSIDE_FLUSH_SHED", if self.is_awaited { "2s" } else { "30s" });
        });
        assert!(said.contains(&self.keys[host]), "{said}");
        (running, address(&said, "running on"))
    }

    /// The mirror, and its address.
    fn mirror(&self, host: usize) -> (Running, String) {
        let mut command = ringside(&self.data(host));
        self.settings(host, &mut command);
        command.env("RINGSIDE_MIRROR_OF", self.listen.to_string());
        let mut child = command.stdout(Stdio::piped()).stderr(self.log(host)).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut said = String::new();
        while !said.contains("answers on") {
            assert!(out.read_line(&mut said).unwrap() > 0, "it ended after:\n{said}");
        }
        std::thread::spawn(move || out.read_to_end(&mut Vec::new()));
        (Running(child), address(&said, "answers on"))
    }
}

fn host_folder(folder: &Folder, host: usize) -> PathBuf {
    let path = folder.0.join(["one", "two"][host]);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn figure(address: &str, name: &str) -> u64 {
    let page = get(address, "/metrics", &[&format!("X-API-Key: {ADMIN_KEY}")]);
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name}")).parse().unwrap()
}

fn comes_to(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn order(address: &str, trader: &str, price: &str) -> std::io::Result<(u16, String)> {
    let order = json!({"symbol": "DFUSDT", "side": "buy", "type": "limit", "price": price, "quantity": "10"});
    try_request(address, "POST", "/api/v1/spot/orders", &[trader], &order.to_string())
}

/// Every segment that both folders have is the same, and the mirror has all that the leader has; how many.
fn compare(leader: &Path, mirror: &Path) -> usize {
    let mut names: Vec<_> = std::fs::read_dir(leader.join("journal"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".journal"))
        .collect();
    names.sort();
    for name in &names {
        let [one, two] = [leader, mirror].map(|data| std::fs::read(data.join("journal").join(name)).unwrap());
        let at = one.iter().zip(&two).position(|(one, two)| one != two);
        assert!(one.len() == two.len() && at.is_none(), "{name} differs at byte {at:?}");
    }
    names.len()
}

#[test]
fn a_mirror_takes_the_place_of_its_leader_and_nothing_acknowledged_is_missing() {
    let pair = Pair::new("mirror", false);
    let (first, leader) = pair.lead(0);
    let (second, mirror) = pair.mirror(1);
    let [_, buyer] = trade(&leader);
    let address = Mutex::new(leader.clone());
    let (is_over, acknowledged) = (AtomicBool::new(false), Mutex::new(Vec::<String>::new()));
    let (first, second, mirror) = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let to = address.lock().unwrap().clone();
                if let Ok((200, answer)) = order(&to, &buyer, "0.15") {
                    let answer: Value = serde_json::from_str(&answer).unwrap();
                    acknowledged.lock().unwrap().push(answer["id"].as_str().unwrap().to_owned());
                }
                // Cancelled at once, so that there is always money for another.
                if let Some(id) = acknowledged.lock().unwrap().last() {
                    let _ = try_request(&to, "DELETE", &format!("/api/v1/spot/orders/{id}"), &[&buyer], "");
                }
            }
        });
        let some = |more: usize| {
            let wanted = acknowledged.lock().unwrap().len() + more;
            comes_to("orders are acknowledged", || acknowledged.lock().unwrap().len() >= wanted);
        };
        let (mut first, mut second, mut mirror) = (first, second, mirror);
        for _ in 0..3 {
            some(60);
            second.0.kill().unwrap();
            drop(second);
            some(60);
            (second, mirror) = pair.mirror(1);
            some(60);
            first.0.kill().unwrap();
            drop(first);
            let (process, again) = pair.lead(0);
            first = process;
            *address.lock().unwrap() = again;
        }
        some(60);
        is_over.store(true, Ordering::Relaxed);
        (first, second, mirror)
    });
    let leader = address.into_inner().unwrap();
    let acknowledged = acknowledged.into_inner().unwrap();

    // It is a mirror, and shows what its leader did.
    comes_to("the mirror has all", || {
        figure(&leader, "ringside_mirror_connected") == 1
            && figure(&leader, "ringside_mirror_lag_commands") == 0
    });
    let (status, words) = request(&mirror, "GET", "/readyz", &[], "");
    assert_eq!((status, words.as_str()), (503, "follows another: not ready for orders\n"));
    comes_to("the mirror's engine has all", || figure(&mirror, "ringside_follower_behind_commands") == 0);
    let trades = |address: &str| get(address, "/api/v1/spot/trades?symbol=DFUSDT", &[]);
    comes_to("both show the same trades", || trades(&leader) == trades(&mirror));
    let mut stream = TcpStream::connect(&mirror).unwrap();
    write!(stream, "GET /api/v1/spot/markets HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let shown = answer.lines().find_map(|line| line.strip_prefix("x-ringside-sequence: ")).expect(&answer);
    assert!(shown.trim().parse::<u64>().unwrap() > acknowledged.len() as u64, "{answer}");
    let (status, refused) = request(
        &mirror,
        "POST",
        "/api/v1/admin/spot/balances/credit",
        &[&format!("X-API-Key: {ADMIN_KEY}"), "Content-Type: application/json"],
        &json!({"user_address": "0x2b5ad5c4795c026514f8317c7a215e218dccd6cf", "token": "DF", "amount": "1"})
            .to_string(),
    );
    assert!(status == 503 && refused.contains("follows another"), "{status} {refused}");

    // While the leader answers it keeps its place.
    let promote = |with_leader: bool| {
        let mut command = ringside(&pair.data(1));
        if with_leader {
            pair.settings(1, &mut command);
            command.env("RINGSIDE_MIRROR_OF", pair.listen.to_string());
        }
        command.arg("promote").arg(pair.data(1)).output().unwrap()
    };
    let running = said(&promote(false));
    assert!(running.contains("in use by another process"), "{running}");
    stop(second);
    let refused = promote(true);
    assert!(
        !refused.status.success() && said(&refused).contains("the leader still answers"),
        "{}",
        said(&refused)
    );
    // A stop in good order waits for the mirror.
    let (second, _) = pair.mirror(1);
    comes_to("it is connected again", || figure(&leader, "ringside_mirror_connected") == 1);
    stop(first);
    stop(second);
    assert!(compare(&pair.data(0), &pair.data(1)) > 2, "several segments");

    // Nobody starts there by accident.
    let plain = ringside(&pair.data(1)).output().unwrap();
    assert!(!plain.status.success() && said(&plain).contains("`ringside promote`"), "{}", said(&plain));
    let promoted = promote(true);
    assert!(promoted.status.success(), "{}", said(&promoted));
    let words = said(&promoted);
    assert!(
        words.contains("the last mirrored command is ") && words.contains("did not wait for this mirror"),
        "{words}"
    );
    let again = promote(true);
    assert!(said(&again).contains("this is no mirror's folder"), "{}", said(&again));

    let (second, new) = pair.lead(1);
    let buyer = log_in(&new, 3);
    for id in &acknowledged {
        get(&new, &format!("/api/v1/spot/orders/{id}"), &[&buyer]);
    }
    assert_eq!(order(&new, &buyer, "0.15").unwrap().0, 200, "it takes orders");

    // The old leader follows the new one; not once it has gone its own way.
    let (first, _) = pair.mirror(0);
    let old = pair.data(0).join("journal");
    comes_to("the old leader is a mirror", || {
        figure(&new, "ringside_mirror_connected") == 1 && old.join("mirror").exists()
    });
    stop(first);
    std::fs::remove_file(old.join("mirror")).unwrap();
    let (first, said) = start_logged(&pair.data(0), Stdio::null(), |_| ());
    assert!(said.contains("recovery"), "{said}");
    stop(first);
    let before = std::fs::read_dir(&old).unwrap().count();
    let (first, _) = pair.mirror(0);
    assert!(pair.comes_to_say(0, "conflict"), "it is refused with the reason");
    stop(first);
    assert_eq!(std::fs::read_dir(&old).unwrap().count(), before, "and is as it was");
    assert!(!old.join("mirror").exists());
    stop(second);
}

#[test]
fn replies_wait_for_the_mirror_and_new_orders_are_refused_without_it() {
    let pair = Pair::new("mirror-awaited", true);
    // It is there first: markets open once somebody has synced that they do.
    let (second, _) = pair.mirror(1);
    let (first, leader) = pair.lead(0);
    let [_, buyer] = trade(&leader);
    assert_eq!(order(&leader, &buyer, "0.15").unwrap().0, 200);
    let signal = |name: &str| {
        let id = second.0.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    };
    signal("-STOP");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| (order(&leader, &buyer, "0.15").unwrap(), Instant::now()));
        // As long as a slow disk may take.
        std::thread::sleep(Duration::from_millis(2_500));
        let asked = Instant::now();
        let refused = order(&leader, &buyer, "0.14").unwrap();
        assert!(refused.0 == 503 && refused.1.contains("ENGINE_BUSY"), "{refused:?}");
        assert!(asked.elapsed() < Duration::from_secs(1), "it is refused at once");
        assert!(!waiting.is_finished(), "it is on one disk only");
        let let_go = Instant::now();
        signal("-CONT");
        let ((status, answer), at) = waiting.join().unwrap();
        assert!(status == 200 && at > let_go, "{status} {answer}");
    });
    comes_to("orders are taken again", || order(&leader, &buyer, "0.15").unwrap().0 == 200);

    // Gone altogether: no order hangs.
    stop(second);
    comes_to("it is missed", || figure(&leader, "ringside_mirror_connected") == 0);
    comes_to("new orders are refused", || order(&leader, &buyer, "0.15").unwrap().0 == 503);
    let (second, _) = pair.mirror(1);
    comes_to("orders are taken again", || order(&leader, &buyer, "0.15").unwrap().0 == 200);
    stop(first);
    stop(second);
    compare(&pair.data(0), &pair.data(1));
    let promoted = ringside(&pair.data(1)).arg("promote").arg(pair.data(1)).output().unwrap();
    assert!(said(&promoted).contains("its replies waited for this mirror"), "{}", said(&promoted));
}

#[test]
fn nobody_is_heard_whose_key_is_not_known() {
    let pair = Pair::new("mirror-stranger", false);
    let (first, leader) = pair.lead(0);
    // A mirror with a key of its own making.
    std::fs::remove_file(pair.data(1).join("mirror.key")).unwrap();
    let (second, _) = pair.mirror(1);
    assert!(pair.comes_to_say(0, "which `mirror_keys` does not name"));
    assert_eq!(figure(&leader, "ringside_mirror_connected"), 0);
    assert!(!pair.data(1).join("journal/mirror").exists(), "nothing came");
    stop(second);
    stop(first);
}
