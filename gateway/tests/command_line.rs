//! The binary as an operator meets it: started, killed, looked through, damaged, stopped.

#![allow(clippy::unwrap_used, reason = "a panic is a test's report")]

mod process;

use process::{
    Folder, address, log_in, post, request, ringside, said, start, start_logged, start_with, stop,
};
use ringside_auth::credential_log::{API_KEY, LOGOUT, NEXT_API_KEY};
use ringside_core::engine::ENGINE_VERSION;
use ringside_core::side::{SideEntry, SideStore};
use ringside_persist::archive::Archive;
use ringside_persist::archive::sqlite::Sqlite;
use ringside_persist::config::PersistConfig;
use ringside_persist::error::PersistError;
use ringside_persist::format::checksum;
use ringside_persist::recover::side;
use ringside_persist::storage::disk::Disk;
use serde_json::{Value, json};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

fn verify(folder: &Path) -> Output {
    ringside(folder).arg("verify").arg(folder).output().unwrap()
}

fn the_segment(folder: &Path) -> PathBuf {
    let entries = std::fs::read_dir(folder.join("journal")).unwrap();
    let mut segments: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "journal"))
        .collect();
    segments.sort();
    segments.into_iter().next().unwrap()
}

#[test]
fn what_a_kill_leaves_is_sound_and_rot_is_named() {
    let folder = Folder::new("verify");
    for _ in 0..2 {
        let (mut child, _) = start(&folder.0);
        // Long enough for ticks of the clock to be journaled.
        std::thread::sleep(std::time::Duration::from_millis(1_500));
        child.0.kill().unwrap();
        child.0.wait().unwrap();
    }
    let sound = verify(&folder.0);
    assert_eq!(sound.status.code(), Some(0), "{}", said(&sound));
    assert!(said(&sound).contains("sound: "), "{}", said(&sound));
    let json = ringside(&folder.0).args(["verify", "--json"]).arg(&folder.0).output().unwrap();
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["sound"], true);
    assert!(json["last"].as_u64().unwrap() > 2);

    // One bit of the first record, which later ones vouch for.
    let path = the_segment(&folder.0);
    let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    let mut byte = [0];
    let at = 8192 + 40;
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1], at).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let rotten = verify(&folder.0);
    assert_eq!(rotten.status.code(), Some(1), "{}", said(&rotten));
    assert!(said(&rotten).contains("DAMAGED") && said(&rotten).contains(&name), "{}", said(&rotten));
    let refused = ringside(&folder.0).output().unwrap();
    assert!(!refused.status.success());
    assert!(said(&refused).contains(&name), "a start names the segment: {}", said(&refused));
}

#[test]
fn a_folder_without_a_journal_is_an_error_of_its_own() {
    let folder = Folder::new("nothing");
    let output = verify(&folder.0.join("absent"));
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    let output = verify(&folder.0);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("there is no journal in"), "{}", said(&output));
}

#[test]
fn settings_are_shown_and_unknown_ones_refused() {
    let folder = Folder::new("settings");
    let shown = ringside(&folder.0).arg("settings").env("RINGSIDE_IDLE_TIMEOUT", "7s").output().unwrap();
    assert!(shown.status.success());
    let line = said(&shown).lines().find(|line| line.contains("idle_timeout")).unwrap().to_owned();
    assert!(line.starts_with('*') && line.ends_with("7s"), "{line}");
    let explained = ringside(&folder.0).args(["settings", "--explain"]).output().unwrap();
    assert!(said(&explained).contains("How long a connection may rest between two requests."));
    for (key, value) in [("RINGSIDE_NO_SUCH_KEY", "1"), ("RINGSIDE_IDLE_TIMEOUT", "soon")] {
        let refused = ringside(&folder.0).arg("settings").env(key, value).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{key}");
        let word = key.trim_start_matches("RINGSIDE_").to_lowercase();
        assert!(said(&refused).to_lowercase().contains(&word), "{}", said(&refused));
        // What reads no settings is not stopped: those of the environment may be another program's.
        let words: [&[&str]; 2] = [
            &["login", "--url", "http://127.0.0.1:1", "--key", &"01".repeat(32)],
            &["admin", "markets", "list", "--url", "http://127.0.0.1:1", "--operator-key", "/dev/null"],
        ];
        for words in words {
            let output = ringside(&folder.0).args(words).env(key, value).output().unwrap();
            assert!(!said(&output).to_lowercase().contains(&word), "{words:?}: {}", said(&output));
        }
        assert!(ringside(&folder.0).arg("manual").env(key, value).output().unwrap().status.success());
        let verified = ringside(&folder.0).arg("verify").arg(&folder.0).env(key, value).output().unwrap();
        assert!(said(&verified).contains("there is no journal in"), "{}", said(&verified));
        // What reads them is.
        let refused = ringside(&folder.0).args(["operator", "ann"]).env(key, value).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    }
}

#[test]
fn a_polite_end_is_a_success_and_only_one_engine_runs_in_a_folder() {
    let folder = Folder::new("polite");
    let (mut child, first) = start(&folder.0);
    assert!(first.contains("made just now"), "{first}");
    let second = ringside(&folder.0).output().unwrap();
    assert!(!second.status.success(), "{}", said(&second));
    assert!(said(&second).contains("is in use by another process"), "{}", said(&second));
    assert!(Command::new("kill").args(["-TERM", &child.0.id().to_string()]).status().unwrap().success());
    assert_eq!(child.0.wait().unwrap().code(), Some(0));
    let key = std::fs::metadata(folder.0.join("auth/admin_key")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&key.permissions()) & 0o777, 0o600);
}

/// The sequence through which the archive in a folder is complete.
fn archived(folder: &Path) -> u64 {
    let store = Sqlite::new(folder.join("archive").join("history.db"));
    store.reader().unwrap().mark().unwrap().sequence
}

#[test]
fn a_lost_archive_is_made_anew_as_far_as_the_journal_reaches_and_else_refused() {
    let folder = Folder::new("archive");
    let small = |command: &mut Command| {
        // Segments so short that a few ticks fill one.
        command.env("RINGSIDE_SEGMENT_LEN", "16KiB").env("RINGSIDE_SNAPSHOTS_KEPT", "2");
    };
    let run = || {
        let (child, _) = start_with(&folder.0, small);
        std::thread::sleep(std::time::Duration::from_millis(2_300));
        stop(child);
        archived(&folder.0)
    };
    let first = run();
    assert!(first > 3, "the end of a run archives all of it: {first}");

    // The journal still reaches back to its first command.
    std::fs::remove_dir_all(folder.0.join("archive")).unwrap();
    let (child, _) = start_with(&folder.0, small);
    assert!(archived(&folder.0) >= first, "filled before anything is served");
    stop(child);
    let second = run();
    let copy = folder.0.join("copy");
    std::fs::rename(folder.0.join("archive"), &copy).unwrap();
    std::fs::create_dir(folder.0.join("archive")).unwrap();
    for entry in std::fs::read_dir(&copy).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.0.join("archive").join(path.file_name().unwrap())).unwrap();
    }
    let third = run();
    assert!(third > second && second > first);

    // Two snapshots later it does not, so that rows would be missing for good.
    std::fs::remove_dir_all(folder.0.join("archive")).unwrap();
    let mut refused = ringside(&folder.0);
    small(&mut refused);
    let refused = refused.output().unwrap();
    assert!(!refused.status.success());
    let missing = format!("history of the commands from 1 to {second} is missing");
    assert!(said(&refused).contains(&missing), "{}\nnot: {missing}", said(&refused));

    // A copy that reaches a kept snapshot is filled up.
    std::fs::remove_dir_all(folder.0.join("archive")).unwrap();
    std::fs::rename(&copy, folder.0.join("archive")).unwrap();
    assert_eq!(archived(&folder.0), second);
    let (child, _) = start_with(&folder.0, small);
    assert!(archived(&folder.0) >= third);
    stop(child);

    // The archive of another deployment.
    let other = Folder::new("archive-other");
    let (child, _) = start(&other.0);
    stop(child);
    std::fs::remove_dir_all(folder.0.join("archive")).unwrap();
    std::fs::rename(other.0.join("archive"), folder.0.join("archive")).unwrap();
    let foreign = ringside(&folder.0).output().unwrap();
    assert!(!foreign.status.success());
    assert!(said(&foreign).contains("holds the history of another journal"), "{}", said(&foreign));
}

#[test]
fn help_and_manual_say_what_it_is_and_what_can_be_given() {
    let folder = Folder::new("manual");
    let help = ringside(&folder.0).arg("--help").output().unwrap();
    assert!(said(&help).starts_with("An exchange: spot and perpetual futures"), "{}", said(&help));
    let manual = ringside(&folder.0).arg("manual").output().unwrap();
    // Every subcommand with its options, every setting with what it is for.
    for wanted in [r"\-\-with\-secrets", r"\-\-set", ".SS restore", r"\fBban_memory\fR", "any_file_system"] {
        assert!(said(&manual).contains(wanted), "{wanted} in\n{}", said(&manual));
    }
    assert!(!said(&manual).contains("ringside\\-start(1)"), "there are no pages of the parts");
}

#[test]
fn a_lost_journal_is_not_taken_for_a_new_venue() {
    let folder = Folder::new("journal-gone");
    let (child, _) = start(&folder.0);
    stop(child);
    let copy = folder.0.join("copy");
    std::fs::rename(folder.0.join("journal"), &copy).unwrap();
    // Twice: what is refused leaves nothing that would pass for a journal.
    for _ in 0..2 {
        let refused = ringside(&folder.0).output().unwrap();
        assert!(!refused.status.success());
        assert!(said(&refused).contains("there is no journal in"), "{}", said(&refused));
    }
    std::fs::remove_dir_all(folder.0.join("journal")).unwrap();
    std::fs::rename(&copy, folder.0.join("journal")).unwrap();
    let (child, _) = start(&folder.0);
    stop(child);
}

#[test]
fn keys_that_do_not_open_are_told_of_and_given_up_when_asked() {
    let folder = Folder::new("keys-told");
    let (child, told) = start(&folder.0);
    let at = address(&told, "running on");
    let login = log_in(&at, 2);
    let key = json!({"label": "bot", "permissions": ["read"]});
    let key = post(&at, "/api/v1/account/api-keys", &login, &key);
    let header = format!("X-API-Key: {}", key["api_key"].as_str().unwrap());
    assert_eq!(request(&at, "POST", "/api/v1/auth/logout", &[&login], "").0, 200);
    stop(child);

    let sealing_key = folder.0.join("auth/key_encryption_key");
    std::fs::remove_file(&sealing_key).unwrap();
    let refused = ringside(&folder.0).output().unwrap();
    assert!(!refused.status.success());
    for wanted in
        ["were sealed under another key-encryption key than that of", "put that one back", "--give-up"]
    {
        assert!(said(&refused).contains(wanted), "{}", said(&refused));
    }
    let refused = ringside(&folder.0).arg("rotate-key").output().unwrap();
    assert!(!refused.status.success() && said(&refused).contains("do not open"), "{}", said(&refused));
    let done = ringside(&folder.0).args(["rotate-key", "--give-up"]).output().unwrap();
    assert!(done.status.success() && said(&done).contains("1 given up"), "{}", said(&done));
    let (child, told) = start(&folder.0);
    let at = address(&told, "running on");
    let opens = |header: &str| request(&at, "GET", "/api/v1/spot/balances", &[header], "").0 == 200;
    // What was not sealed is as it was.
    assert!(!opens(&header) && !opens(&login));
    stop(child);
}

/// A file as earlier versions kept credentials in.
fn former_file(magic: &[u8; 8], version: u32, records: &[Value]) -> Vec<u8> {
    let mut bytes = [&magic[..], &version.to_le_bytes(), &[0; 4]].concat();
    for record in records {
        let payload = record.to_string().into_bytes();
        let framed = [&(payload.len() as u32).to_le_bytes()[..], &payload].concat();
        bytes.extend(&framed[..4]);
        bytes.extend(checksum::crc(&framed).to_le_bytes());
        bytes.extend(&framed[4..]);
    }
    bytes
}

/// Credentials of a folder of before: taken along at the first start, whenever an earlier one was killed.
#[test]
fn credentials_of_an_earlier_version_are_taken_along_once() {
    let folder = Folder::new("taken-along");
    let (child, told) = start(&folder.0);
    let at = address(&told, "running on");
    let (login, over) = (log_in(&at, 2), log_in(&at, 3));
    let key =
        post(&at, "/api/v1/account/api-keys", &login, &json!({"label": "bot", "permissions": ["read"]}));
    let header = format!("X-API-Key: {}", key["api_key"].as_str().unwrap());
    assert_eq!(request(&at, "POST", "/api/v1/auth/logout", &[&over], "").0, 200);
    stop(child);

    // The same as files, and a journal that knows nothing of it.
    let journal = folder.0.join("journal");
    let whole = side::read(&journal).unwrap().unwrap();
    let record: Value = serde_json::from_slice(whole.of_kind(API_KEY).next().unwrap().1).unwrap();
    let (account, before_s) = whole.of_kind(LOGOUT).next().unwrap();
    let account = u32::from_le_bytes(account.try_into().unwrap());
    let before_s = i64::from_le_bytes(before_s.try_into().unwrap());
    let keys = former_file(b"RSAPIKEY", 1, &[json!({"next_id": 9}), json!({"put": record})]);
    let logouts = former_file(b"RSLOGOUT", 1, &[json!({"account": account, "before_s": before_s})]);
    let config = PersistConfig { any_file_system: true, ..PersistConfig::new(&journal) };
    let hold = |wanted: &SideStore| {
        let disk = Disk::open(&journal, config.method(), true).unwrap();
        let lock = disk.lock().unwrap();
        let wanted = |_: &SideStore| Ok::<_, PersistError>(wanted.clone());
        side::change(Arc::new(disk), &lock, &config, ENGINE_VERSION, wanted).unwrap();
    };
    let mut taken = whole.clone();
    taken.apply(SideEntry::put(NEXT_API_KEY, &[], 9_u64.to_le_bytes().to_vec()));
    let entries = SideStore::default().difference(&taken);
    assert_eq!(entries.len(), 3);
    let files = [("keys.log", &keys), ("logouts.log", &logouts)];
    // What an earlier start came to before it was killed: so many entries are written, so many files are gone.
    for (written, gone) in [(0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (3, 2)] {
        let mut held = SideStore::default();
        entries.iter().take(written).for_each(|entry| held.apply(entry.clone()));
        hold(&held);
        for (name, bytes) in &files[gone..] {
            std::fs::write(folder.0.join("auth").join(name), bytes).unwrap();
        }
        let (child, told) = start(&folder.0);
        let at = address(&told, "running on");
        let opens = |header: &str| request(&at, "GET", "/api/v1/spot/balances", &[header], "").0 == 200;
        assert_eq!(
            [&header, &login, &over].map(|header| opens(header)),
            [true, true, false],
            "{written} {gone}"
        );
        stop(child);
        assert!(files.iter().all(|(name, _)| !folder.0.join("auth").join(name).exists()));
        // But for when the key was used last.
        let found = side::read(&journal).unwrap().unwrap();
        for kind in [API_KEY, NEXT_API_KEY, LOGOUT] {
            assert!(found.of_kind(kind).eq(taken.of_kind(kind)), "{written} {gone}: {kind}");
        }
    }
    // One that is damaged in its midst is refused, and stays.
    let mut damaged = keys.clone();
    damaged[30] ^= 1;
    std::fs::write(folder.0.join("auth/keys.log"), &damaged).unwrap();
    let refused = ringside(&folder.0).output().unwrap();
    assert!(
        !refused.status.success() && said(&refused).contains("keys.log is damaged"),
        "{}",
        said(&refused)
    );
    // At its end that is what a cut write looks like: the start goes on, and says so.
    let mut cut = keys;
    *cut.last_mut().unwrap() ^= 1;
    std::fs::write(folder.0.join("auth/keys.log"), cut).unwrap();
    let log = folder.0.join("log");
    let (child, _) = start_logged(&folder.0, std::fs::File::create(&log).unwrap().into(), |command| {
        command.env("RINGSIDE_LOG", "warn");
    });
    stop(child);
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(log.contains("keys.log: its last") && log.contains("were no record"), "{log}");

    let output = ringside(&folder.0).arg("mirror-key").output().unwrap();
    let key = String::from_utf8(output.stdout).unwrap();
    // A folder that becomes a member's takes them along then; later there is nobody who would.
    let member = |words: &[&str]| {
        let mut command = ringside(&folder.0);
        command
            .args(words)
            .env("RINGSIDE_CLUSTER_MEMBER", "1")
            .env("RINGSIDE_CLUSTER_LISTEN", "127.0.0.1:0")
            .env("RINGSIDE_CLUSTER_MEMBERS", format!("1@127.0.0.1:1={}", key.trim()));
        command.output().unwrap()
    };
    hold(&SideStore::default());
    std::fs::write(folder.0.join("auth/logouts.log"), &logouts).unwrap();
    let made = member(&["cluster", "init"]);
    assert!(made.status.success(), "{}", said(&made));
    assert!(!folder.0.join("auth/logouts.log").exists());
    let found = side::read(&journal).unwrap().unwrap();
    assert!(found.of_kind(LOGOUT).eq(taken.of_kind(LOGOUT)));
    std::fs::write(folder.0.join("auth/logouts.log"), &logouts).unwrap();
    let refused = member(&[]);
    assert!(
        !refused.status.success() && said(&refused).contains("credentials of an earlier version"),
        "{}",
        said(&refused)
    );
}
