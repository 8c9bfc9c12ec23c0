//! A first start that is cut off.

use crate::process::{Folder, get, ringside, started};
use serde_json::Value;
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
