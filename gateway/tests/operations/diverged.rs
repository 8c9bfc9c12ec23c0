//! A member whose engine is in another state than the others': it answers nobody, and ends; the others go on, and it is right again once it
//! begins from what it has kept of before.

use crate::cluster::{Cluster, HOSTS, order};
use crate::process::{stop, trade, try_request};
use crate::takeover::comes_to;
use ringside_core::command::{AdvanceTime, Command};
use ringside_core::{Engine, EngineConfig};
use ringside_persist::recover::snapshot_store::{self, Moment, name_of, sequence_of};
use ringside_persist::storage::Storage;
use ringside_persist::storage::disk::Disk;

/// Sequences of a member's snapshots, while it is stopped.
fn snapshots(disk: &Disk) -> Vec<u64> {
    let mut snapshots: Vec<u64> = disk.list().unwrap().iter().filter_map(|name| sequence_of(name)).collect();
    snapshots.sort();
    snapshots
}

/// Stops a member in good order: it writes a snapshot.
fn stop_host(cluster: &Cluster, host: usize) {
    stop(cluster.hosts[host].lock().unwrap().take().unwrap());
}

#[test]
fn a_member_whose_engine_is_wrong_ends_and_the_others_go_on() {
    let cluster = Cluster::new("diverged", &[("RINGSIDE_SNAPSHOTS_KEPT", "8")]);
    (0..HOSTS).for_each(|host| cluster.start(host));
    let leader = cluster.leader();
    let wrong = (leader + 1) % HOSTS;
    let serves = || {
        let answer = try_request(&cluster.address(wrong), "GET", "/livez/reads", &[], "");
        matches!(answer, Ok((200, _)))
    };
    comes_to(&cluster, "it serves reads", serves);
    stop_host(&cluster, wrong);
    cluster.start(wrong);
    comes_to(&cluster, "it serves reads", serves);
    let [_, buyer] = trade(&cluster.address(leader));
    let path = "/api/v1/spot/depth?symbol=DFUSDT";
    let shows = |host| {
        try_request(&cluster.address(host), "GET", path, &[], "").is_ok_and(|(_, book)| book.contains("0.19"))
    };
    comes_to(&cluster, "it has the orders", || shows(wrong));
    stop_host(&cluster, wrong);

    // Its newest snapshot becomes one of an engine that has missed everything since the one before.
    let disk = Disk::open_existing(&cluster.data(wrong).join("journal")).unwrap();
    let kept = snapshots(&disk);
    let [.., before, newest] = kept[..] else { panic!("it stopped twice: {kept:?}") };
    let read = |at| snapshot_store::read(&disk, &name_of(at)).unwrap();
    let (old, new) = (read(before), read(newest));
    let mut engine = Engine::load(&EngineConfig::default(), old.engine()).unwrap();
    while engine.sequence() < newest {
        let missed = Command {
            sequence: engine.sequence() + 1,
            time_ns: engine.time_ns(),
            ..Command::new(AdvanceTime {})
        };
        engine.skip(&missed);
    }
    let moment = Moment { state_hash: engine.state_hash(), ..new.moment };
    assert_ne!(moment.state_hash, new.moment.state_hash);
    let mut bytes = Vec::new();
    engine.save(&mut bytes);
    snapshot_store::write(&disk, &moment, &bytes, new.views(), &new.side().unwrap()).unwrap();

    cluster.start(wrong);
    comes_to(&cluster, "it serves reads, and is not known to be wrong", serves);
    // For it that account has no money.
    let ended = || {
        assert_eq!(order(&cluster.address(leader), &buyer).unwrap().0, 200, "{}", cluster.logs());
        cluster.hosts[wrong].lock().unwrap().as_mut().unwrap().0.try_wait().unwrap()
    };
    let mut code = None;
    comes_to(&cluster, "it ends", || {
        code = ended();
        code.is_some()
    });
    assert_eq!(code.unwrap().code(), Some(70), "{}", cluster.logs());
    cluster.hosts[wrong].lock().unwrap().take();
    let logs = cluster.logs();
    assert_eq!(
        logs.matches("this member's engine told something else than the others'").count(),
        2,
        "{logs}"
    );
    assert_eq!(cluster.leader(), leader, "it goes on to lead");

    // Without what it made while it was wrong it is right.
    for made in snapshots(&disk).into_iter().filter(|made| *made > before) {
        disk.remove(&name_of(made)).unwrap();
    }
    cluster.start(wrong);
    comes_to(&cluster, "it serves reads", serves);
    let takes = || order(&cluster.address(wrong), &buyer).is_ok_and(|(status, _)| status == 200);
    comes_to(&cluster, "it takes orders for the leader", takes);
}
