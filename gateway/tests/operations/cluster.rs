//! Three hosts that agree, three processes: leaders killed under load, nothing acknowledged lost, the same files everywhere.

use crate::process::{
    ADMIN_KEY, Folder, Running, get, log_in, own_address, ringside, said, stop, trade, try_request,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub(crate) const HOSTS: usize = 3;
/// With one more, who may come later.
const SLOTS: usize = HOSTS + 1;

/// Three hosts on one.
pub(crate) struct Cluster {
    folder: Folder,
    /// Where each answers clients, and where it listens for the others.
    addresses: [[SocketAddr; 2]; SLOTS],
    members: String,
    id: String,
    pub(crate) hosts: [Mutex<Option<Running>>; SLOTS],
    /// Settings of all hosts beside the common ones.
    settings: &'static [(&'static str, &'static str)],
}

impl Cluster {
    pub(crate) fn new(name: &str, settings: &'static [(&'static str, &'static str)]) -> Cluster {
        let folder = Folder::new(name);
        let addresses = std::array::from_fn(|_| [own_address(), own_address()]);
        let hosts = [const { Mutex::new(None) }; SLOTS];
        let mut cluster =
            Cluster { folder, addresses, members: String::new(), id: String::new(), hosts, settings };
        let members: Vec<_> = (0..HOSTS).map(|host| cluster.named(host)).collect();
        cluster.members = members.join(",");
        let mut id: Option<String> = None;
        for host in 0..HOSTS {
            let mut command = cluster.command(host);
            command.args(["cluster", "init"]);
            if let Some(id) = &id {
                command.args(["--cluster", id]);
            }
            let output = command.output().unwrap();
            let words = said(&output);
            assert!(output.status.success(), "{words}");
            let (_, rest) = words.split_once("of cluster ").expect("it says the id");
            id.get_or_insert_with(|| rest[..32].to_owned());
            let again = cluster.command(host).args(["cluster", "init"]).output().unwrap();
            assert!(said(&again).contains("is a member's of a cluster"), "{}", said(&again));
        }
        cluster.id = id.unwrap();
        cluster
    }

    /// A host, as others name it.
    fn named(&self, host: usize) -> String {
        let output = ringside(&self.data(host)).arg("mirror-key").output().unwrap();
        let key = String::from_utf8(output.stdout).unwrap();
        format!("{}@{}={}", host + 1, self.addresses[host][1], key.trim())
    }

    /// Asks the one that leads for its members, or to change them; another one, where the lead has passed to it, as it may under load.
    fn ask(&self, mut leader: usize, words: &[&str]) -> std::process::Output {
        loop {
            let url = format!("http://{}", self.address(leader));
            let asked = self.command(leader).arg("cluster").args(words).args(["--url", &url]).output();
            let output = asked.unwrap();
            let now = self.leader();
            if now == leader || !said(&output).contains("does not lead") {
                return output;
            }
            leader = now;
        }
    }

    pub(crate) fn data(&self, host: usize) -> PathBuf {
        let path = self.folder.0.join(["one", "two", "three", "four"][host]);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    pub(crate) fn command(&self, host: usize) -> Command {
        let mut command = ringside(&self.data(host));
        command
            .env("RINGSIDE_LISTEN", self.address(host))
            .env("RINGSIDE_ADMIN_KEY", ADMIN_KEY)
            // Whoever leads knows what the one before let in.
            .env("RINGSIDE_JWT_SECRET", "a-secret-that-all-three-hosts-share-of-the-tests")
            .env("RINGSIDE_KEY_ENCRYPTION_KEY", "11".repeat(32))
            .env("RINGSIDE_SEGMENT_LEN", "64KiB")
            .env("RINGSIDE_WEIGHT_PER_MINUTE", "10000000")
            .env("RINGSIDE_ORDERS_PER_TEN_SECONDS", "1000000")
            .env("RINGSIDE_ORDERS_PER_MINUTE", "1000000")
            .env("RINGSIDE_CLUSTER_MEMBER", (host + 1).to_string())
            .env("RINGSIDE_CLUSTER_LISTEN", self.addresses[host][1].to_string())
            .env(
                "RINGSIDE_CLUSTER_MEMBERS",
                if host < HOSTS { self.members.clone() } else { self.with(host) },
            )
            .envs(self.settings.iter().copied());
        command
    }

    /// The members with one who comes.
    fn with(&self, host: usize) -> String {
        format!("{},{}", self.members, self.named(host))
    }

    pub(crate) fn address(&self, host: usize) -> String {
        self.addresses[host][0].to_string()
    }

    pub(crate) fn start(&self, host: usize) {
        let path = self.folder.0.join(format!("log-{host}"));
        let log = || Stdio::from(File::options().create(true).append(true).open(&path).unwrap());
        let child = self.command(host).stdout(log()).stderr(log()).spawn().unwrap();
        *self.hosts[host].lock().unwrap() = Some(Running(child));
    }

    pub(crate) fn start_if_gone(&self, host: usize) {
        if self.hosts[host].lock().unwrap().is_none() {
            self.start(host);
        }
    }

    pub(crate) fn kill(&self, host: usize) {
        if let Some(mut running) = self.hosts[host].lock().unwrap().take() {
            running.0.kill().unwrap();
            running.0.wait().unwrap();
        }
    }

    /// The one that leads, once there is one.
    pub(crate) fn leader(&self) -> usize {
        let begun = Instant::now();
        loop {
            for host in 0..SLOTS {
                if matches!(try_request(&self.address(host), "GET", "/leaderz", &[], ""), Ok((200, _))) {
                    return host;
                }
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "nobody leads\n{}", self.logs());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for so many more acknowledged orders.
    fn await_more(&self, acknowledged: &Mutex<Vec<String>>, more: usize) {
        let begun = Instant::now();
        let wanted = acknowledged.lock().unwrap().len() + more;
        while acknowledged.lock().unwrap().len() < wanted {
            assert!(begun.elapsed() < Duration::from_secs(60), "no orders\n{}", self.logs());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn logs(&self) -> String {
        let of = |host: usize| std::fs::read_to_string(self.folder.0.join(format!("log-{host}")));
        (0..SLOTS).map(|host| format!("== {host}\n{}", of(host).unwrap_or_default())).collect()
    }

    /// Names of all segments.
    fn names(&self, host: usize) -> Vec<String> {
        let journal = self.data(host).join("journal");
        let names = std::fs::read_dir(&journal).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| name.ends_with(".journal") && !name.starts_with("fetched."));
        names.sort();
        names
    }

    /// Of every segment its bytes.
    fn segments(&self, host: usize) -> Vec<(String, Vec<u8>)> {
        let journal = self.data(host).join("journal");
        self.names(host)
            .into_iter()
            .map(|name| (name.clone(), std::fs::read(journal.join(name)).unwrap()))
            .collect()
    }

    /// Kills all, and compares what they have. What was on its way some have, and some do not.
    fn hold_the_same_files(&self, hosts: [usize; HOSTS]) {
        std::thread::sleep(Duration::from_secs(2));
        (0..SLOTS).for_each(|host| self.kill(host));
        let all = hosts.map(|host| self.segments(host));
        for (other, host) in all[1..].iter().zip(&hosts[1..]) {
            // What snapshots made superfluous each has removed by itself.
            let found = |name: &String| other.iter().find(|(named, _)| named == name);
            let common: Vec<_> =
                all[0].iter().filter_map(|(name, bytes)| Some((name, bytes, &found(name)?.1))).collect();
            assert!(common.len() > 1, "several segments of host {host}");
            for (at, (name, one, two)) in common.iter().enumerate() {
                let is_open = at + 1 == common.len();
                let differs = one.chunks(4096).zip(two.chunks(4096)).position(|(one, two)| {
                    let is_blank = |block: &[u8]| block.iter().all(|byte| *byte == 0);
                    one != two && !(is_open && (is_blank(one) || is_blank(two)))
                });
                assert!(differs.is_none(), "{name} differs in block {differs:?}\n{}", self.logs());
            }
        }
    }
}

/// Of the first and last segment of a journal the number of the first command.
fn reach(segments: &[String]) -> [u64; 2] {
    [segments.first(), segments.last()].map(|name| name.unwrap()[..20].parse().unwrap())
}

pub(crate) fn order(address: &str, trader: &str) -> std::io::Result<(u16, String)> {
    let order =
        json!({"symbol": "DFUSDT", "side": "buy", "type": "limit", "price": "0.15", "quantity": "10"});
    try_request(address, "POST", "/api/v1/spot/orders", &[trader], &order.to_string())
}

#[test]
fn leaders_die_and_nothing_acknowledged_is_lost() {
    let cluster = Cluster::new("cluster", &[]);
    (0..HOSTS).for_each(|host| cluster.start(host));
    let first = cluster.leader();
    let [_, buyer] = trade(&cluster.address(first));
    let (is_over, acknowledged) = (AtomicBool::new(false), Mutex::new(Vec::<String>::new()));
    let outages = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut host = first;
            while !is_over.load(Ordering::Relaxed) {
                let to = cluster.address(host);
                match order(&to, &buyer) {
                    Ok((200, answer)) => {
                        let answer: Value = serde_json::from_str(&answer).unwrap();
                        let id = answer["id"].as_str().unwrap().to_owned();
                        // Cancelled at once, so that there is always money for another.
                        let _ =
                            try_request(&to, "DELETE", &format!("/api/v1/spot/orders/{id}"), &[&buyer], "");
                        acknowledged.lock().unwrap().push(id);
                    }
                    _ => {
                        host = (host + 1) % HOSTS;
                        std::thread::sleep(Duration::from_millis(5));
                    }
                }
            }
        });
        let some = |more: usize| cluster.await_more(&acknowledged, more);
        let mut outages = Vec::new();
        for round in 0..6 {
            some(40);
            let leader = cluster.leader();
            let other = (leader + 1) % HOSTS;
            match round % 3 {
                // The leader: killed, or stopped in good order.
                0 | 1 => {
                    let begun = Instant::now();
                    if round % 3 == 0 {
                        cluster.kill(leader);
                    } else {
                        stop(cluster.hosts[leader].lock().unwrap().take().unwrap());
                    }
                    some(1);
                    outages.push(begun.elapsed());
                    some(40);
                    cluster.start(leader);
                }
                // A follower: nobody notices. Then everybody.
                _ => {
                    cluster.kill(other);
                    some(40);
                    cluster.start(other);
                    some(40);
                    (0..HOSTS).for_each(|host| cluster.kill(host));
                    (0..HOSTS).for_each(|host| cluster.start(host));
                }
            }
        }
        some(40);
        is_over.store(true, Ordering::Relaxed);
        outages
    });
    eprintln!("from a leader's death to the next order: {outages:?}");

    // A follower shows what the leader did, and takes orders for it.
    let leader = cluster.leader();
    let acknowledged = acknowledged.into_inner().unwrap();
    let buyer = log_in(&cluster.address(leader), 3);
    for id in &acknowledged {
        get(&cluster.address(leader), &format!("/api/v1/spot/orders/{id}"), &[&buyer]);
    }
    let distinct: BTreeSet<_> = acknowledged.iter().collect();
    assert_eq!(distinct.len(), acknowledged.len(), "each order has a number of its own");
    let trades = |host: usize| {
        try_request(&cluster.address(host), "GET", "/api/v1/spot/trades?symbol=DFUSDT", &[], "").ok()
    };
    let begun = Instant::now();
    for host in 0..HOSTS {
        while trades(host) != trades(leader) {
            assert!(begun.elapsed() < Duration::from_secs(60), "host {host} lags\n{}", cluster.logs());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let begun = Instant::now();
    while !matches!(order(&cluster.address((leader + 1) % HOSTS), &buyer), Ok((200, _))) {
        assert!(begun.elapsed() < Duration::from_secs(10), "no order is carried\n{}", cluster.logs());
    }

    // Two of three gone: no acknowledgement.
    for host in [1, 2].map(|after| (leader + after) % HOSTS) {
        cluster.kill(host);
    }
    let alone = order(&cluster.address(leader), &buyer);
    assert!(!matches!(alone, Ok((200, _))), "{alone:?}");
    (0..HOSTS).for_each(|host| cluster.start_if_gone(host));
    cluster.leader();

    cluster.hold_the_same_files([0, 1, 2]);
    // Nobody starts there alone.
    let plain = ringside(&cluster.data(0)).output().unwrap();
    assert!(said(&plain).contains("member's of a cluster"), "{}", said(&plain));
}

/// Places an order and cancels it, so that there is always money for another; its id.
fn order_and_cancel(address: &str, trader: &str) -> Option<String> {
    let Ok((200, answer)) = order(address, trader) else { return None };
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let id = answer["id"].as_str().unwrap().to_owned();
    let _ = try_request(address, "DELETE", &format!("/api/v1/spot/orders/{id}"), &[trader], "");
    Some(id)
}

#[test]
fn a_host_that_was_away_for_too_long_fetches_the_files_and_leads() {
    let settings = &[
        ("RINGSIDE_SNAPSHOTS_KEPT", "1"),
        ("RINGSIDE_SNAPSHOT_COMMANDS", "500"),
        ("RINGSIDE_FOLLOWER_LAG", "0KiB"),
    ];
    let cluster = Cluster::new("cluster-away", settings);
    (0..HOSTS).for_each(|host| cluster.start(host));
    let leader = cluster.leader();
    let (away, other) = ((leader + 1) % HOSTS, (leader + 2) % HOSTS);
    let [_, buyer] = trade(&cluster.address(leader));
    let mut acknowledged = Vec::new();
    macro_rules! place {
        ($host:expr, $trader:expr) => {
            acknowledged.push(order_and_cancel(&cluster.address($host), $trader).expect("acknowledged"))
        };
    }
    (0..100).for_each(|_| place!(leader, &buyer));
    cluster.kill(away);
    let [_, end] = reach(&cluster.names(away));
    let begun = Instant::now();
    // Both others have removed what comes next there.
    while [leader, other].iter().any(|host| reach(&cluster.names(*host))[0] <= end) {
        place!(leader, &buyer);
        assert!(begun.elapsed() < Duration::from_secs(120), "nothing is removed\n{}", cluster.logs());
    }
    cluster.start(away);
    let is_there = || cluster.logs().contains("the journal of another member takes the place");
    while !is_there() {
        place!(leader, &buyer);
        assert!(begun.elapsed() < Duration::from_secs(180), "nothing is fetched\n{}", cluster.logs());
    }
    let took = begun.elapsed();
    (0..50).for_each(|_| place!(leader, &buyer));

    // It catches up from there by itself, and shows what the others do: the last, and the first, which the archive alone knows.
    let begun = Instant::now();
    let shows = |host: usize, id: &String, trader: &str| {
        let path = format!("/api/v1/spot/orders/{id}");
        matches!(try_request(&cluster.address(host), "GET", &path, &[trader], ""), Ok((200, _)))
    };
    let all_show = |id: &String, trader: &str| {
        let begun = Instant::now();
        while !(0..HOSTS).all(|host| shows(host, id, trader)) {
            assert!(begun.elapsed() < Duration::from_secs(60), "one lags\n{}", cluster.logs());
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    all_show(acknowledged.last().unwrap(), &buyer);
    all_show(&acknowledged[0], &buyer);
    eprintln!("fetched after {took:?}, hot after {:?} more", begun.elapsed());

    // The leader dies, and then whoever of the two led next: of those that are left the one that was away alone has everything.
    cluster.kill(leader);
    let next = cluster.leader();
    let buyer = log_in(&cluster.address(next), 3);
    (0..20).for_each(|_| place!(next, &buyer));
    if next != away {
        cluster.kill(next);
        cluster.start(leader);
        assert_eq!(cluster.leader(), away, "{}", cluster.logs());
        let buyer = log_in(&cluster.address(away), 3);
        (0..20).for_each(|_| place!(away, &buyer));
    }
    let buyer = log_in(&cluster.address(away), 3);
    for id in &acknowledged {
        get(&cluster.address(away), &format!("/api/v1/spot/orders/{id}"), &[&buyer]);
    }
    (0..HOSTS).for_each(|host| cluster.start_if_gone(host));
    all_show(acknowledged.last().unwrap(), &buyer);
    cluster.hold_the_same_files([0, 1, 2]);
}

/// Has the load end, whatever ends the test.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_lost_disk_is_replaced_under_load() {
    let cluster = Cluster::new("cluster-lost", &[]);
    (0..HOSTS).for_each(|host| cluster.start(host));
    let leader = cluster.leader();
    let (lost, other, new) = ((leader + 1) % HOSTS, (leader + 2) % HOSTS, HOSTS);
    let [_, buyer] = trade(&cluster.address(leader));
    let (is_over, acknowledged) = (AtomicBool::new(false), Mutex::new(Vec::<String>::new()));
    let load = |hosts: [usize; 3]| {
        let mut at = 0;
        while !is_over.load(Ordering::Relaxed) {
            match order_and_cancel(&cluster.address(hosts[at % 3]), &buyer) {
                Some(id) => acknowledged.lock().unwrap().push(id),
                None => {
                    at += 1;
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        }
    };
    let some = |more: usize| cluster.await_more(&acknowledged, more);
    let refused = |words: &[&str], why: &str| {
        let output = cluster.ask(leader, words);
        let said = said(&output);
        assert!(!output.status.success() && said.contains(why), "{words:?}: {said}\n{}", cluster.logs());
    };
    std::thread::scope(|scope| {
        scope.spawn(|| load([leader, other, new]));
        let _ends = Ends(&is_over);
        some(50);
        // Its disk is gone, and with it what it voted.
        cluster.kill(lost);
        std::fs::remove_dir_all(cluster.data(lost)).unwrap();
        let plain = cluster.command(lost).output().unwrap();
        assert!(said(&plain).contains("comes back under another number"), "{}", said(&plain));
        some(50);
        let output =
            cluster.command(new).args(["cluster", "init", "--join", "--cluster", &cluster.id]).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", said(&output));
        cluster.start(new);
        let (number, named) = ((lost + 1).to_string(), cluster.named(new));
        // So long it was still heard.
        std::thread::sleep(Duration::from_secs(1));
        refused(&["remove", &(leader + 1).to_string()], "this member leads");
        refused(&["remove", &(other + 1).to_string()], "nothing would be agreed on any more");
        refused(&["add", &named.replace("4@", "3@")], "was a member's number already");
        let begun = Instant::now();
        let output = cluster.ask(leader, &["replace", &number, &named, "--reason", "its disk is lost"]);
        assert!(output.status.success(), "{}\n{}", said(&output), cluster.logs());
        eprintln!("replaced within {:?}", begun.elapsed());
        // A command that was given before is given again where it did not come to its end.
        let output = cluster.ask(leader, &["add", &named]);
        assert!(said(&output).contains("member 4 votes"), "{}", said(&output));
        some(50);
        let output = cluster.ask(leader, &["status", "--json"]);
        let status: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let members: Vec<_> = status["members"].as_array().unwrap().iter().collect();
        let numbers: BTreeSet<_> = members.iter().map(|member| member["member"].as_u64().unwrap()).collect();
        assert_eq!(
            numbers,
            BTreeSet::from([leader as u64 + 1, other as u64 + 1, new as u64 + 1]),
            "{status}"
        );
        assert!(
            members.iter().all(|member| member["votes"] == true && member["answers"] == true),
            "{status}"
        );
        let shown = said(&cluster.ask(leader, &["status"]));
        assert!(
            shown.contains(&format!("member {} leads", leader + 1)) && shown.contains("votes"),
            "{shown}"
        );
        // Who was away leads when it is asked to, and whoever led dies.
        // Where it is not elected within a wait for an election the other leads on.
        let begun = Instant::now();
        let mut leads = cluster.leader();
        while leads != new {
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not lead\n{}", cluster.logs());
            cluster.ask(leads, &["transfer", "4"]);
            std::thread::sleep(Duration::from_secs(1));
            leads = cluster.leader();
        }
        some(50);
        cluster.kill(leader);
        some(50);
        cluster.start(leader);
        some(50);
    });
    let now = cluster.leader();
    let buyer = log_in(&cluster.address(now), 3);
    for id in &*acknowledged.lock().unwrap() {
        get(&cluster.address(now), &format!("/api/v1/spot/orders/{id}"), &[&buyer]);
    }
    let url = format!("http://{}", cluster.address(now));
    let audit = said(&cluster.command(now).args(["admin", "audit", "list", "--url", &url]).output().unwrap());
    for noted in
        ["its disk is lost", "cluster add 4@", &format!("cluster remove {}", lost + 1), "cluster transfer 4"]
    {
        assert!(audit.contains(noted), "{noted}: {audit}");
    }
    cluster.hold_the_same_files([leader, other, new]);
}
