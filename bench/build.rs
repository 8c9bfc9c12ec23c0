//! Tells the benchmarks which profile they are built with: cargo itself only says `release` or `debug`, and a report that
//! calls another profile a release build says something untrue.

fn main() {
    // target/<profile>/build/<package>-<hash>/out
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    let profile = out.rsplit('/').nth(3).unwrap_or("unknown");
    println!("cargo:rustc-env=BUILT_PROFILE={profile}");
    println!("cargo:rerun-if-changed=build.rs");
}
