//! Tells a build which commit it is of, as `BUILT_COMMIT`: what `BUILD_COMMIT` says, else git's HEAD, else `unknown`. It runs again
//! where HEAD has moved. The load client is built with it as well.

use std::path::Path;
use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn main() {
    println!("cargo:rerun-if-env-changed=BUILD_COMMIT");
    let told = std::env::var("BUILD_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = told.or_else(|| git(&["rev-parse", "--short=12", "HEAD"]));
    println!("cargo:rustc-env=BUILT_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    // Every move of HEAD adds a line. Of a file that is missing cargo would say that it has changed.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists());
    if let Some(log) = log {
        println!("cargo:rerun-if-changed={log}");
    }
}
