//! Tells the load client which commit it was built of, for its reports.

use std::process::Command;

fn main() {
    let ask = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = ask(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=RINGSIDE_COMMIT={commit}");
    println!("cargo:rerun-if-changed=build.rs");
    if let Some(log) = ask(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
}
