//! Finds and reads the recorded data sets. They lie beside the project and are never copied into it; where they are
//! absent, a test says so and passes.

use std::io::Read;
use std::path::PathBuf;

/// The folder of a data set, or `None` with a message when it is not there.
pub fn folder(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data")).join(name);
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("SKIPPED: no data set {name} at {}", path.display());
    None
}

/// The text of a file: plain, `.gz` or `.zst`.
pub fn text(path: &std::path::Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    let read = match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => flate2::read::MultiGzDecoder::new(bytes.as_slice()).read_to_string(&mut text),
        Some("zst") => {
            let mut decoder =
                ruzstd::decoding::StreamingDecoder::new(bytes.as_slice()).expect("a zstd frame");
            decoder.read_to_string(&mut text)
        }
        _ => bytes.as_slice().read_to_string(&mut text),
    };
    read.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text
}

/// The rows of a CSV text without its header, each split at its commas. None of the sets quotes a field.
pub fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().skip(1).map(|line| line.split(',').collect())
}

/// A field as a number; an empty field is 0.
pub fn number(field: &str) -> i64 {
    if field.is_empty() { 0 } else { field.parse().unwrap_or_else(|_| panic!("not a number: {field:?}")) }
}
