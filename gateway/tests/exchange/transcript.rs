//! Transcripts: files in `golden/` whose questions are asked anew, and whose answers must come again byte for byte.

#![allow(unused_imports, unused_macros, reason = "each test file uses its own part")]

use super::{ADMIN_KEY, Exchange};
use std::path::{Path, PathBuf};

/// Names in transcripts: account n is the n-th of these; mallory's token names an account that does not exist.
pub(crate) const NAMES: [&str; 4] = ["alice", "bob", "carol", "mallory"];

/// The headers that prove who asks: nobody, the administrator, or an account.
pub(crate) fn credentials(exchange: &Exchange, who: &str) -> Vec<String> {
    match who {
        "-" => Vec::new(),
        "admin" => vec![format!("X-API-Key: {ADMIN_KEY}")],
        name => {
            let index = NAMES.iter().position(|known| *known == name).expect("a known name");
            exchange.account(index as u8 + 1).to_vec()
        }
    }
}

/// The parts of a line `who METHOD path body`.
pub(crate) fn request(line: &str) -> [&str; 4] {
    let mut parts = line.splitn(4, ' ');
    std::array::from_fn(|_| parts.next().unwrap_or(""))
}

fn folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(kind)
}

/// Runs a transcript of `golden/<kind>`; `run` gives its text with the answers that came. `RINGSIDE_BLESS=1` keeps those.
pub(crate) fn check(kind: &str, name: &str, run: impl FnOnce(&str) -> String) {
    let path = folder(kind).join(name);
    let text = std::fs::read_to_string(&path).expect("the transcript");
    let shown = run(&text);
    if std::env::var_os("RINGSIDE_BLESS").is_some() {
        std::fs::write(&path, shown).expect("the transcript is written");
        return;
    }
    let mut question = "";
    for (number, (expected, given)) in text.lines().zip(shown.lines()).enumerate() {
        if expected != given {
            panic!("{name}:{}: after {question}\nexpected {expected}\n   given {given}", number + 1);
        }
        let is_answer = given.as_bytes().first().is_some_and(u8::is_ascii_digit) || given.contains(" < ");
        question = if is_answer { question } else { given };
    }
    assert_eq!(text.lines().count(), shown.lines().count(), "{name}: a question without its answer");
}

/// Fails where a file of `golden/<kind>` is not among `names`, or a name has no file.
pub(crate) fn check_names(kind: &str, names: &mut [&str]) {
    let mut files: Vec<_> = std::fs::read_dir(folder(kind))
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .collect();
    files.sort();
    names.sort_unstable();
    assert_eq!(files, names);
}

/// A test for each transcript, and one that none is left out.
macro_rules! transcripts {
    ($kind:literal, $run:expr; $($name:ident)*) => {
        $(#[test]
        fn $name() {
            $crate::exchange::transcript::check($kind, concat!(stringify!($name), ".txt"), $run);
        })*

        #[test]
        fn every_transcript_is_run() {
            $crate::exchange::transcript::check_names($kind, &mut [$(concat!(stringify!($name), ".txt")),*]);
        }
    };
}
pub(crate) use transcripts;
