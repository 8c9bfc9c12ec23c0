//! A first start: cut off, or in a folder that others may read.

use crate::process::{Folder, get, ringside, started, stop, trade};
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

#[test]
fn killed_at_any_moment_of_its_first_start_it_is_open_after_the_next() {
    let folder = Folder::new("first-start");
    let begin = Instant::now();
    drop(started(&folder.0.join("whole"), |_| ()));
    let whole = begin.elapsed();
    for part in 1..=12 {
        let folder = folder.0.join(part.to_string());
        let mut child = ringside(&folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(whole * part / 12);
        child.kill().unwrap();
        child.wait().unwrap();
        let (_running, address, said) = started(&folder, |_| ());
        let info: Value = serde_json::from_str(&get(&address, "/fapi/v1/exchangeInfo", &[])).unwrap();
        let states: Vec<_> = info["symbols"].as_array().unwrap().iter().map(|of| &of["status"]).collect();
        assert_eq!(states, ["TRADING"; 3], "killed after {:?}:\n{said}", whole * part / 12);
    }
}

/// C-38: a folder that an operator made for all, and an archive of an earlier build.
#[test]
fn others_are_let_into_nothing() {
    let folder = Folder::new("lets-in");
    let let_in = |path: &Path, mode| std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    let others = |path: &Path| {
        let mode = std::fs::metadata(path).unwrap().permissions().mode();
        mode & 0o077
    };
    let_in(&folder.0, 0o755);
    let (child, address, _) = started(&folder.0, |_| ());
    trade(&address);
    stop(child);
    let archive = folder.0.join("archive/history.db");
    for path in [&folder.0, &archive] {
        assert_eq!(others(path), 0, "{}", path.display());
    }
    let_in(&folder.0, 0o750);
    let_in(&archive, 0o644);
    let (child, _, _) = started(&folder.0, |_| ());
    let all = [
        folder.0.clone(),
        archive.clone(),
        archive.with_extension("db-wal"),
        archive.with_extension("db-shm"),
    ];
    for path in all {
        assert_eq!(others(&path), 0, "{}", path.display());
    }
    stop(child);
}
