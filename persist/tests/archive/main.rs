//! The embedded archive against a model in memory; the plans of its queries; its file after kill -9 in mid-commit.
//!
//! One seed gives one run: `RINGSIDE_SEED=<n> cargo test -p ringside-persist --test archive` repeats it.
#![allow(clippy::unwrap_used)]

mod entries;
mod room;
#[path = "../../../core/tests/support/seeds.rs"]
mod seeds;
mod upgrade;
mod user_log;

use entries::EntryMaker;
use ringside_persist::archive::sqlite::Sqlite;
use ringside_persist::archive::{Archive, ArchiveError, Mark};
use ringside_persist::storage::faulty::Random;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

const JOURNAL: [u8; 16] = [7; 16];

/// SQLite writes nothing, and then syncs nothing either, where a transaction leaves its pages as they were. What an earlier commit
/// wrote without a sync must be synced all the same once a durable one is asked for.
#[test]
fn a_durable_commit_of_nothing_new_is_one() {
    let folder = Folder::new("durable");
    let store = folder.store();
    let mut writer = store.writer(JOURNAL).unwrap();
    let mark = Mark { sequence: 7, time_ns: 1_700_000_000_000_000_000 };
    let log_len = || std::fs::metadata(folder.0.join("archive").join("history.db-wal")).unwrap().len();
    writer.commit(&[], mark, false).unwrap();
    let written = log_len();
    writer.commit(&[], mark, true).unwrap();
    let synced = log_len();
    assert!(synced > written, "a frame that says: synced through here");
    writer.commit(&[], mark, true).unwrap();
    assert_eq!((log_len(), writer.mark()), (synced, mark), "it is durable already");
    assert_eq!(store.reader().unwrap().mark().unwrap(), mark);
}

/// What comes slowly must not lie in the log until that is full.
#[test]
fn the_log_is_moved_into_the_file_by_time() {
    let folder = Folder::new("checkpoint");
    let mut maker = EntryMaker::new(3);
    let alone = |name: &str| {
        // The file without its log, as a reader of its own would find it.
        let copy = folder.0.join(name).join("history.db");
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(folder.0.join("archive").join("history.db"), &copy).unwrap();
        Sqlite::new(copy).reader().and_then(|mut reader| reader.mark())
    };
    let store = folder.store();
    let mut writer = store.checkpointing(Duration::from_millis(200)).writer(JOURNAL).unwrap();
    let batch = maker.batch(200);
    let first = maker.mark();
    writer.commit(&batch, first, false).unwrap();
    assert_ne!(alone("before").ok(), Some(first), "it is in the log");
    std::thread::sleep(Duration::from_millis(250));
    let batch = maker.batch(200);
    writer.commit(&batch, maker.mark(), false).unwrap();
    assert_eq!(alone("after").unwrap(), maker.mark());
}

#[test]
fn the_oldest_packs_of_a_list_are_removed_and_no_other() {
    use ringside_persist::archive::row::{Entry, List};
    use ringside_persist::archive::{ALL_FACETS, EntriesAsked, Removed};
    let folder = Folder::new("prune");
    let store = folder.store();
    let mut writer = store.writer(JOURNAL).unwrap();
    let entry = |list, market, id: u64| Entry {
        sequence: id,
        list: List { number: list, is_late: false },
        owner: 0,
        market,
        id,
        time_ms: 1_000 * id as i64,
        tag: id << 10,
        version: 1,
        bytes: [9; 40].into(),
    };
    for pack in 0..600 {
        let ids = 10 * pack + 1..=10 * pack + 10;
        let all = [(9, 1), (9, 2), (10, 1)];
        let rows: Vec<Entry> =
            all.iter().flat_map(|(list, market)| ids.clone().map(|id| entry(*list, *market, id))).collect();
        writer.commit(&rows, Mark { sequence: 10 * pack + 10, time_ns: 1 }, false).unwrap();
    }
    let own = (1..=4).map(|id| Entry { owner: 7, ..entry(9, 1, id) }).collect::<Vec<_>>();
    writer.commit(&own, Mark { sequence: 6_001, time_ns: 1 }, false).unwrap();
    let ids = |list, market, tag| -> Vec<u64> {
        let asked = EntriesAsked {
            list: List { number: list, is_late: false },
            owner: 0,
            market: Some(market),
            tag,
            facets: ALL_FACETS,
            ids: 0..=u64::MAX,
            times: i64::MIN..=i64::MAX,
            through: u64::MAX,
            is_oldest: true,
            limit: usize::MAX,
            work: usize::MAX,
        };
        let mut rows = Vec::new();
        store.reader().unwrap().entries(&asked, &mut rows).unwrap();
        rows.iter().map(|row| row.id).collect()
    };
    assert_eq!(store.pack_from(9, 1, 5_005).unwrap(), Some(5_001));
    assert_eq!(store.pack_from(9, 1, 6_001).unwrap(), None);
    assert_eq!(store.pack_from(9, 3, 1).unwrap(), None);
    // Beside the writer, in more than one transaction.
    let removed = |market| store.reader().unwrap().removed(9, 0, market).unwrap();
    assert_eq!(removed(None), None);
    assert_eq!(store.remove_before(9, 0, 1, 5_005).unwrap(), 5_000);
    assert_eq!(store.remove_before(9, 0, 1, 5_005).unwrap(), 0);
    let through = Some(Removed { id: 5_000, time_ms: 5_000_000 });
    assert_eq!((removed(Some(1)), removed(Some(2)), removed(None)), (through, None, through));
    assert_eq!(store.owners(9).unwrap(), [(0, 1), (0, 2), (7, 1)]);
    // An account's own, and nobody else's.
    assert_eq!(store.remove_before(9, 8, 1, 5_005).unwrap(), 0);
    assert_eq!(store.remove_before(9, 7, 1, 3).unwrap(), 0);
    assert_eq!(store.remove_before(9, 7, 1, 5).unwrap(), 4);
    assert_eq!(store.reader().unwrap().removed(9, 7, None).unwrap(), Some(Removed { id: 4, time_ms: 4_000 }));
    assert_eq!((removed(None), store.owners(9).unwrap()), (through, vec![(0, 1), (0, 2)]));
    assert_eq!(ids(9, 1, 0), (5_001..=6_000).collect::<Vec<_>>());
    assert_eq!((ids(9, 1, 77 << 10), ids(9, 1, 5_500 << 10)), (vec![], vec![5_500]));
    assert_eq!((ids(9, 2, 0).len(), ids(10, 1, 0).len(), ids(9, 2, 77 << 10)), (6_000, 6_000, vec![77]));
    let mark = Mark { sequence: 6_010, time_ns: 2 };
    writer.commit(&[entry(9, 1, 6_001)], mark, true).unwrap();
    assert_eq!(ids(9, 1, 0).len(), 1_001);
    drop(writer);
    let len = || std::fs::metadata(store.path()).unwrap().len();
    // The last connection moved the log.
    let before = len();
    store.shrink().unwrap();
    assert_eq!(removed(Some(1)), through);
    assert!(len() < before, "{} of {before}", len());
    assert_eq!((ids(9, 1, 0).len(), store.reader().unwrap().mark().unwrap()), (1_001, mark));
}

/// A folder of its own that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("ringside-archive-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }

    fn store(&self) -> Sqlite {
        Sqlite::new(self.0.join("archive").join("history.db"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn every_list_is_read_from_its_index_and_never_sorted() {
    let folder = Folder::new("plans");
    let store = folder.store();
    let mut maker = EntryMaker::new(1);
    let batch = maker.batch(3000);
    store.writer(JOURNAL).unwrap().commit(&batch, maker.mark(), true).unwrap();
    let expected = [
        (
            "entries, list",
            "heads USING PRIMARY KEY (list=? AND owner=? AND market=? AND last_id>? AND last_id<?)",
        ),
        (
            "entries, list, oldest",
            "heads USING PRIMARY KEY (list=? AND owner=? AND market=? AND last_id>? AND last_id<?)",
        ),
        ("entries, from id", "heads USING PRIMARY KEY (list=? AND owner=? AND market=? AND last_id>?)"),
        (
            "entries, from time",
            "packs USING COVERING INDEX packs_time (list=? AND owner=? AND market=? AND last_ms>?)",
        ),
        ("entries, from name", "names USING INDEX names_of (run=? AND first<?)"),
        ("entries, from market", "heads USING PRIMARY KEY (list=? AND owner=? AND market>?)"),
        ("entries, pack", "packs USING INTEGER PRIMARY KEY (rowid=?)"),
    ];
    let plans = store.plans().unwrap();
    for (name, plan) in expected {
        let found = plans.iter().find(|(known, _)| known == name).expect(name);
        assert_eq!(found.1, format!("SEARCH {plan}"), "{name}");
    }
    // Packs of a tag are found by it, and then by their heads.
    for name in ["entries, tag", "entries, tag, oldest"] {
        let plan = &plans.iter().find(|(known, _)| known == name).unwrap().1;
        let of_tag = "SEARCH tags USING PRIMARY KEY (list=? AND owner=? AND market=? AND tag=? AND last_id>? AND last_id<?)";
        let of_head = "SEARCH heads USING PRIMARY KEY (list=? AND owner=? AND market=? AND last_id=?)";
        assert_eq!(*plan, format!("{of_tag}; {of_head}"));
    }
    assert_eq!(plans.len(), expected.len() + 2, "every plan is looked at: {plans:?}");
}

#[test]
fn refuses_what_is_not_its_own() {
    let folder = Folder::new("foreign");
    let store = folder.store();
    assert!(matches!(store.reader().map(|_| ()), Err(ArchiveError::Store { .. })), "nothing to read yet");
    drop(store.writer(JOURNAL).unwrap());
    let error = store.writer([8; 16]).map(|_| ()).unwrap_err();
    assert!(matches!(error, ArchiveError::Foreign { .. }), "{error}");
    assert!(error.to_string().contains(&"07".repeat(16)), "{error}");
    // A file that is something else.
    let other = Sqlite::new(folder.0.join("other.db"));
    std::fs::write(other.path(), vec![b'x'; 8192]).unwrap();
    let error = other.writer(JOURNAL).map(|_| ()).unwrap_err();
    assert!(matches!(error, ArchiveError::Store { .. }) && error.to_string().contains("other.db"), "{error}");
}

/// Committing, over and over, in a process that is killed: run by the test below.
#[test]
fn commits_until_it_is_killed() {
    let (Ok(folder), Ok(seed)) = (std::env::var("RINGSIDE_ARCHIVE"), std::env::var("RINGSIDE_ARCHIVE_SEED"))
    else {
        return;
    };
    let store = Sqlite::new(PathBuf::from(folder).join("history.db")).faceted(entries::facets);
    let mut writer = store.writer(JOURNAL).unwrap();
    let mut maker = EntryMaker::new(seed.parse().unwrap());
    let mut sizes = Random::new(seed.parse().unwrap());
    loop {
        let batch = maker.batch(1 + sizes.below(400));
        let is_durable = maker.sequence.is_multiple_of(8);
        // What an earlier life has committed is passed over, as replay does.
        if maker.sequence > writer.mark().sequence {
            let mark = writer.mark().sequence;
            let entries: Vec<_> = batch.into_iter().filter(|entry| entry.sequence > mark).collect();
            writer.commit(&entries, maker.mark(), is_durable).unwrap();
        }
    }
}

#[test]
fn kill_9_in_mid_commit_leaves_whole_commits() {
    let folder = Folder::new("kill");
    std::fs::create_dir_all(&folder.0).unwrap();
    let seed = seeds::first(1);
    let mut random = Random::new(seed ^ 0x5eed);
    let store = Sqlite::new(folder.0.join("history.db")).faceted(entries::facets);
    let mut reached = 0;
    for _ in 0..25 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["commits_until_it_is_killed", "--exact", "--test-threads=1"])
            .env("RINGSIDE_ARCHIVE", &folder.0)
            .env("RINGSIDE_ARCHIVE_SEED", seed.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(20_000 + random.below(100_000)));
        // On Unix this is SIGKILL.
        child.kill().unwrap();
        child.wait().unwrap();
        let mark = store.writer(JOURNAL).unwrap().mark();
        assert!(mark.sequence >= reached, "a mark that was seen does not go back");
        reached = mark.sequence;
        // Exactly the rows through the mark, each once.
        let mut maker = EntryMaker::new(seed);
        let mut sizes = Random::new(seed);
        while maker.sequence < mark.sequence {
            maker.batch(1 + sizes.below(400));
        }
        maker.all.retain(|entry| entry.sequence <= mark.sequence);
        let mut reader = store.reader().unwrap();
        assert_eq!(reader.rows().unwrap(), maker.all.len() as u64, "rows at mark {}", mark.sequence);
        (0..20).for_each(|_| maker.check(reader.as_mut()));
    }
    assert!(reached > 1000, "the kills came before anything was done: {reached}");
}
