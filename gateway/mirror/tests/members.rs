//! Members of a cluster on loopback: what they tell each other, whom they refuse and with which words, and how they come back.

#![allow(clippy::unwrap_used, reason = "a panic is a test's report")]

use ringside_mirror::keys::{Fingerprint, Identity};
use ringside_mirror::members::{Agreement, Hear, Member, Mesh, start};
use ringside_persist::quorum::Message;
use ringside_persist::quorum::frame::{Entry, MessageType};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

const AGREED: Agreement = Agreement { cluster: [7; 16], engine_version: 16, mode: 2, segment_len: 64 << 20 };

/// Hosts that do not run yet; the first has number 1.
struct Cluster {
    folder: PathBuf,
    identities: Vec<Identity>,
    members: Vec<Member>,
}

impl Cluster {
    fn new(name: &str, count: u64) -> Cluster {
        let folder = std::env::temp_dir().join(format!("members-{name}-{}", std::process::id()));
        // All at once, so that no two are the same.
        let ports: Vec<_> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let identities: Vec<_> = (1..=count)
            .map(|id| {
                let data = folder.join(id.to_string());
                std::fs::create_dir_all(&data).unwrap();
                Identity::of(&data).unwrap()
            })
            .collect();
        let members = (1..=count).zip(&identities).zip(&ports).map(|((id, identity), port)| Member {
            id,
            address: port.local_addr().unwrap().to_string(),
            key: identity.fingerprint(),
        });
        Cluster { members: members.collect(), folder, identities }
    }

    fn start(&self, id: u64) -> Host {
        self.start_as(id, &self.members, AGREED)
    }

    fn start_as(&self, id: u64, members: &[Member], agreement: Agreement) -> Host {
        let (says, heard) = channel();
        let says = Mutex::new(says);
        let deliver = move |message| drop(says.lock().unwrap().send(message));
        self.start_with(id, members, agreement, heard, Box::new(deliver))
    }

    fn start_with(
        &self,
        id: u64,
        members: &[Member],
        agreement: Agreement,
        heard: Receiver<Message>,
        deliver: Box<dyn Fn(Message) + Send + Sync>,
    ) -> Host {
        let shutdown = CancellationToken::new();
        let identity = &self.identities[id as usize - 1];
        let listen = self.members[id as usize - 1].address.parse().unwrap();
        let mesh = start(listen, id, identity, members, agreement, hear(deliver), shutdown.clone()).unwrap();
        assert_eq!(mesh.address(), listen);
        Host { id, mesh, heard, shutdown }
    }

    /// With the key of one member in place of another's.
    fn with_key(&self, id: u64, key: Fingerprint) -> Vec<Member> {
        let mut members = self.members.clone();
        members[id as usize - 1].key = key;
        members
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

struct Host {
    id: u64,
    mesh: Mesh,
    heard: Receiver<Message>,
    shutdown: CancellationToken,
}

impl Host {
    fn is_connected(&self, id: u64) {
        comes_to(&format!("member {} is connected to {id}", self.id), || self.mesh.is_connected(id));
    }

    /// Comes to have this reason for not being connected to a member.
    fn comes_to_say(&self, id: u64, words: &str) {
        let begun = Instant::now();
        let mut said = None;
        while begun.elapsed() < Duration::from_secs(30) {
            said = self.mesh.reason(id);
            if said.as_ref().is_some_and(|said| said.contains(words)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("member {} says of {id}: {said:?}, not {words}", self.id);
    }

    fn hears(&self) -> Message {
        self.heard.recv_timeout(Duration::from_secs(30)).expect("heard in time")
    }

    /// Sends until it is heard: what was sent into a connection that ends is lost.
    fn reaches(&self, other: &Host) {
        let begun = Instant::now();
        let mut number = 0;
        loop {
            number += 1;
            self.mesh.send(beat(self.id, other.id, number));
            if let Ok(message) = other.heard.recv_timeout(Duration::from_millis(20)) {
                assert_eq!((message.from, message.to), (self.id, other.id));
                while other.heard.recv_timeout(Duration::from_millis(100)).is_ok() {}
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "{} does not reach {}", self.id, other.id);
        }
    }

    fn stop(self) {
        self.shutdown.cancel();
        self.mesh.join();
    }
}

fn comes_to(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Hears messages, and has no files to give.
fn hear(deliver: Box<dyn Fn(Message) + Send + Sync>) -> Hear {
    Hear {
        deliver,
        orders: Box::new(|_, _| ()),
        sayings: Box::new(|_, _| ()),
        give: Arc::new(|_| Err("there are no files".to_owned())),
    }
}

fn beat(from: u64, to: u64, commit: u64) -> Message {
    Message { msg_type: MessageType::MsgHeartbeat, from, to, term: 1, commit, ..Message::default() }
}

/// An append of one batch of 1 MiB that begins a segment.
fn append(from: u64, to: u64, index: u64) -> Message {
    let entry = Entry {
        term: 1,
        index: index + 1,
        data: vec![index as u8; 1 << 20].into(),
        context: vec![3; 4096].into(),
        ..Entry::default()
    };
    Message {
        msg_type: MessageType::MsgAppend,
        from,
        to,
        term: 1,
        log_term: 1,
        index,
        entries: vec![entry].into(),
        ..Message::default()
    }
}

#[test]
fn three_members_hear_each_other_in_order() {
    let cluster = Cluster::new("three", 3);
    let hosts = [1, 2, 3].map(|id| cluster.start(id));
    let said = |from: u64, to: u64| {
        (0..60).map(move |number| match number % 20 {
            7 => append(from, to, number),
            _ => beat(from, to, number),
        })
    };
    for host in &hosts {
        assert!(!host.mesh.is_connected(host.id) && !host.mesh.is_connected(4));
        for other in hosts.iter().filter(|other| other.id != host.id) {
            host.is_connected(other.id);
            for message in said(host.id, other.id) {
                assert!(host.mesh.send(message));
            }
        }
        assert!(!host.mesh.send(beat(host.id, 4, 1)), "there is no such member");
    }
    for host in &hosts {
        let mut waited: Vec<_> = (1..=3).map(|from| said(from, host.id)).collect();
        for _ in 0..2 * 60 {
            let message = host.hears();
            assert_eq!(Some(&message), waited[message.from as usize - 1].next().as_ref());
        }
        assert!(host.heard.try_recv().is_err());
    }
    hosts.into_iter().for_each(Host::stop);
}

#[test]
fn one_whose_key_is_not_named_is_refused_on_both_sides() {
    let cluster = Cluster::new("keys", 3);
    let stranger = cluster.identities[2].fingerprint();
    // The first takes the third's key for the second's.
    let members = &cluster.with_key(2, stranger)[..2];
    let one = cluster.start_as(1, members, AGREED);
    let two = cluster.start_as(2, &cluster.members[..2], AGREED);
    let found = cluster.members[1].key;
    one.comes_to_say(2, &format!("the other side's key is {found}, which `cluster_members` does not name"));
    two.comes_to_say(1, &format!("`cluster_members` there must name key {found} for member 2"));
    assert!(!one.mesh.send(beat(1, 2, 1)) && !two.mesh.send(beat(2, 1, 1)));
    assert!(one.heard.try_recv().is_err() && two.heard.try_recv().is_err());
    [one, two].into_iter().for_each(Host::stop);
}

#[test]
fn those_that_do_not_agree_are_told_what_to_do() {
    let cluster = Cluster::new("disagreed", 2);
    let [theirs, ours] = [[8; 16], [7; 16]].map(|id: [u8; 16]| const_hex::encode(id));
    let cluster_words = format!("is of cluster {theirs}, member 1 of {ours}: `cluster_members` names a host");
    for (agreement, words, also) in [
        (Agreement { cluster: [8; 16], ..AGREED }, cluster_words.as_str(), "member 1 is of cluster"),
        (
            Agreement { engine_version: 17, ..AGREED },
            "member 2 runs engine version 17, member 1 runs 16: they would decide differently, install the same release on both",
            "member 1 runs engine version 16, member 2 runs 17",
        ),
        (
            Agreement { mode: 1, ..AGREED },
            "set `acknowledge` alike on both",
            "set `acknowledge` alike on both",
        ),
        (
            Agreement { segment_len: 65_536, ..AGREED },
            "member 2 makes segments of 65536 bytes, member 1 of 67108864: set `segment_len` alike on both",
            "member 1 makes segments of 67108864 bytes",
        ),
    ] {
        let one = cluster.start(1);
        let two = cluster.start_as(2, &cluster.members, agreement);
        // Each is told by the other, in its words.
        two.comes_to_say(1, words);
        one.comes_to_say(2, also);
        assert!(!one.mesh.is_connected(2) && !two.mesh.is_connected(1));
        [one, two].into_iter().for_each(Host::stop);
    }
}

#[test]
fn one_that_has_another_number_is_told_so() {
    let cluster = Cluster::new("number", 3);
    let one = cluster.start(1);
    // The second's folder, started as the third.
    let mut members = cluster.members.clone();
    (members[1].id, members[2].id) = (3, 2);
    let (_, heard) = channel();
    let shutdown = CancellationToken::new();
    let listen = "127.0.0.1:0".parse().unwrap();
    let identity = &cluster.identities[1];
    let mesh = start(listen, 3, identity, &members, AGREED, hear(Box::new(drop)), shutdown.clone()).unwrap();
    let wrong = Host { id: 3, mesh, heard, shutdown };
    wrong.comes_to_say(
        1,
        "whoever has the key of member 2 says that it is member 3 and speaks to member 1; this is member 1: set `cluster_member`",
    );
    [one, wrong].into_iter().for_each(Host::stop);
}

#[test]
fn one_that_speaks_as_another_is_not_heard() {
    let cluster = Cluster::new("mask", 3);
    let hosts = [1, 2, 3].map(|id| cluster.start(id));
    let [one, two, _] = &hosts;
    one.is_connected(2);
    assert!(one.mesh.send(beat(1, 2, 1)));
    assert!(one.mesh.send(beat(3, 2, 2)));
    assert!(one.mesh.send(beat(1, 2, 3)));
    one.comes_to_say(2, "member 1 says something as member 3 to member 2, and this is member 2");
    assert_eq!(two.hears(), beat(1, 2, 1));
    assert!(two.heard.try_recv().is_err());
    // It is heard again as what it is.
    one.is_connected(2);
    one.reaches(two);
    hosts.into_iter().for_each(Host::stop);
}

#[test]
fn one_that_was_killed_comes_back() {
    let cluster = Cluster::new("killed", 2);
    let (one, mut two) = (cluster.start(1), cluster.start(2));
    for _ in 0..3 {
        one.is_connected(2);
        two.is_connected(1);
        two.stop();
        comes_to("the first sees it", || !one.mesh.is_connected(2));
        assert!(!one.mesh.send(beat(1, 2, 9)), "dropped, not kept");
        two = cluster.start(2);
        one.reaches(&two);
        two.reaches(&one);
    }
    [one, two].into_iter().for_each(Host::stop);
}

#[test]
fn what_is_cut_is_cut_both_ways_until_it_heals() {
    let cluster = Cluster::new("cut", 3);
    let hosts = [1, 2, 3].map(|id| cluster.start(id));
    let [one, two, three] = &hosts;
    for (id, other) in [(1, 2), (2, 1), (1, 3), (3, 1), (2, 3), (3, 2)] {
        hosts[id - 1].is_connected(other);
    }
    one.mesh.cut(2, true);
    assert!(!one.mesh.is_connected(2) && !one.mesh.send(beat(1, 2, 1)));
    comes_to("the other side sees it", || !two.mesh.is_connected(1));
    // It tries again, and is refused.
    std::thread::sleep(Duration::from_millis(300));
    assert!(!two.mesh.is_connected(1) && !one.mesh.is_connected(2));
    assert_eq!(one.mesh.reason(2).as_deref(), Some("it is cut off"));
    assert!(one.heard.try_recv().is_err() && two.heard.try_recv().is_err());
    one.reaches(three);
    two.reaches(three);
    one.mesh.cut(2, false);
    one.reaches(two);
    two.reaches(one);
    // However short it was.
    for _ in 0..20 {
        one.mesh.cut(2, true);
        one.mesh.cut(2, false);
    }
    one.reaches(two);
    two.reaches(one);
    hosts.into_iter().for_each(Host::stop);
}

#[test]
fn one_that_takes_nothing_costs_a_full_queue_and_nothing_else() {
    let cluster = Cluster::new("full", 3);
    let held = Arc::new(Mutex::new(()));
    let hold = held.lock().unwrap();
    let (says, heard) = channel();
    let (says, waits) = (Mutex::new(says), held.clone());
    let deliver = move |message| {
        drop(waits.lock().unwrap());
        let _ = says.lock().unwrap().send(message);
    };
    let slow = cluster.start_with(2, &cluster.members, AGREED, heard, Box::new(deliver));
    let (one, three) = (cluster.start(1), cluster.start(3));
    one.is_connected(2);
    one.is_connected(3);
    let message = append(1, 2, 5);
    let taken = (0..200).take_while(|_| one.mesh.send(message.clone())).count();
    // 63 whole ones wait; some more are on their way.
    assert!((63..100).contains(&taken), "{taken}");
    assert!(one.mesh.is_connected(2));
    one.reaches(&three);
    drop(hold);
    for _ in 0..taken {
        assert_eq!(slow.hears(), message);
    }
    one.reaches(&slow);
    [one, slow, three].into_iter().for_each(Host::stop);
}

#[test]
fn members_that_do_not_go_together_are_refused() {
    let cluster = Cluster::new("list", 3);
    let refused = |me: u64, members: &[Member]| {
        let listen = "127.0.0.1:0".parse().unwrap();
        let token = CancellationToken::new();
        let started = start(listen, me, &cluster.identities[0], members, AGREED, hear(Box::new(drop)), token);
        let error = started.err().expect("refused");
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        error.to_string()
    };
    let keys: Vec<_> = cluster.members.iter().map(|member| member.key).collect();
    assert_eq!(refused(4, &cluster.members), "`cluster_members` does not name this member, 4");
    let said = refused(2, &cluster.members);
    assert!(
        said.starts_with(&format!(
            "`cluster_members` names key {} for this member, 2, and its data folder has {}",
            keys[1], keys[0]
        )),
        "{said}"
    );
    let twice = [&cluster.members[..], &cluster.members[1..2]].concat();
    assert_eq!(refused(1, &twice), "`cluster_members` names two members 2");
    let said = refused(1, &cluster.with_key(3, keys[1]));
    assert!(
        said.starts_with("`cluster_members` names one key for members 2 and 3: each host makes"),
        "{said}"
    );
}

#[test]
fn members_come_and_go_while_it_runs() {
    let cluster = Cluster::new("come-and-go", 4);
    let (three, four) = (&cluster.members[..3], &cluster.members[..]);
    let hosts = [1, 2, 3].map(|id| cluster.start_as(id, three, AGREED));
    let new = cluster.start(4);
    new.comes_to_say(1, "must name key");
    assert!(!hosts[0].mesh.send(beat(1, 4, 1)), "it is no member yet");
    hosts[..2].iter().for_each(|host| host.mesh.follow(four).unwrap());
    for host in &hosts[..2] {
        host.is_connected(4);
        new.is_connected(host.id);
        host.reaches(&new);
        new.reaches(host);
    }
    // One goes: the others neither speak to it nor hear it, whatever it thinks.
    let without: Vec<_> = four.iter().filter(|member| member.id != 3).cloned().collect();
    hosts[..2].iter().for_each(|host| host.mesh.follow(&without).unwrap());
    assert!(
        !hosts[0].mesh.send(beat(1, 3, 1)) && hosts[0].mesh.members().iter().all(|member| member.id != 3)
    );
    hosts[2].comes_to_say(1, "must name key");
    while hosts[0].heard.try_recv().is_ok() {}
    hosts[2].mesh.send(beat(3, 1, 1));
    hosts[0].reaches(&new);
    assert!(hosts[0].heard.recv_timeout(Duration::from_millis(300)).is_err());
    // Under another key it is somebody else.
    let other = vec![Member { key: cluster.identities[2].fingerprint(), ..without[2].clone() }];
    hosts[0].mesh.follow(&[without[..2].to_vec(), other].concat()).unwrap();
    comes_to("it is not connected", || !hosts[0].mesh.is_connected(4));
    hosts.into_iter().chain([new]).for_each(Host::stop);
}
