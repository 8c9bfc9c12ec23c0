//! The binary as an operator meets it: started, killed, looked through, damaged, stopped.

#![allow(clippy::unwrap_used, reason = "a panic is a test's report")]

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn ringside(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringside"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RINGSIDE_") {
            command.env_remove(name);
        }
    }
    command
        .env("RINGSIDE_DATA_DIR", folder)
        .env("RINGSIDE_LISTEN", "127.0.0.1:0")
        .env("RINGSIDE_ANY_FILE_SYSTEM", "true");
    command
}

/// A running exchange, once it says so; its words until then.
fn start(folder: &Path) -> (Child, String) {
    let mut child = ringside(folder).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    while !said.contains("first trade") {
        assert!(out.read_line(&mut said).unwrap() > 0, "it ended after:\n{said}");
    }
    // Read on, so that it never waits for a reader.
    std::thread::spawn(move || out.read_to_end(&mut Vec::new()));
    (child, said)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

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
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let sound = verify(&folder.0);
    assert_eq!(sound.status.code(), Some(0), "{}", said(&sound));
    assert!(said(&sound).contains("sound: "), "{}", said(&sound));
    let json = ringside(&folder.0).args(["verify", "--json"]).arg(&folder.0).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
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
}

#[test]
fn settings_are_shown_and_unknown_ones_refused() {
    let folder = Folder::new("settings");
    let shown = ringside(&folder.0).arg("settings").env("RINGSIDE_IDLE_TIMEOUT", "7s").output().unwrap();
    assert!(shown.status.success());
    let line = said(&shown).lines().find(|line| line.contains("idle_timeout")).unwrap().to_owned();
    assert!(line.starts_with('*') && line.ends_with("7s"), "{line}");
    for (key, value) in [("RINGSIDE_NO_SUCH_KEY", "1"), ("RINGSIDE_IDLE_TIMEOUT", "soon")] {
        let refused = ringside(&folder.0).arg("settings").env(key, value).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{key}");
        let word = key.trim_start_matches("RINGSIDE_").to_lowercase();
        assert!(said(&refused).to_lowercase().contains(&word), "{}", said(&refused));
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
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let key = std::fs::metadata(folder.0.join("auth/admin_key")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&key.permissions()) & 0o777, 0o600);
}
