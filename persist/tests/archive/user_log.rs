//! The log of users' events: what it gives back, and whose it is.

use crate::{Folder, JOURNAL};
use ringside_persist::archive::user_log::{UserChange, UserLog, UserRow, UserRows};

fn row(account: u32, number: u64) -> UserRow {
    let (name, data) = ("ORDER_TRADE_UPDATE".to_owned(), format!("{{\"n\":{number}}}"));
    UserRow { account, number, time_ms: 1_700_000_000_000, topics: 13, name, data }
}

#[test]
fn it_gives_back_what_was_committed_and_belongs_to_one_journal() {
    let folder = Folder::new("user-log");
    let path = folder.0.join("streams").join("users.db");
    let mut log = UserLog::open(&path).unwrap();
    assert!(!log.is_of(JOURNAL));
    log.begin(JOURNAL).unwrap();
    let events = [(1, 5_000), (2, 5_000), (1, 5_001), (1, 9_000), (3, 9_001)];
    let events = events.map(|(account, number)| UserChange::Event(row(account, number)));
    let keep = [(1, 4_000), (2, 4_096), (3, 8_000)].map(|(account, since)| UserChange::Keep(account, since));
    log.commit(&keep, 1).unwrap();
    log.commit(&events, 2).unwrap();
    // What is no longer held goes, and whoever is no longer kept.
    log.commit(&[UserChange::Keep(1, 5_000), UserChange::Forget(3)], 3).unwrap();
    drop(log);
    let mut log = UserLog::open(&path).unwrap();
    assert_eq!((log.is_of(JOURNAL), log.is_of([8; 16]), log.mark()), (true, false, 3));
    let rows = UserRows {
        accounts: vec![(1, 5_000), (2, 4_096)],
        events: vec![row(2, 5_000), row(1, 5_001), row(1, 9_000)],
    };
    assert_eq!(log.read().unwrap(), rows);
    log.begin([8; 16]).unwrap();
    drop(log);
    let log = UserLog::open(&path).unwrap();
    assert_eq!((log.is_of([8; 16]), log.mark(), log.read().unwrap()), (true, 0, UserRows::default()));
}
