//! Rules of the house that matter, as a test with a message, over the whole workspace: who may name whom, what
//! core may not use, where `unsafe` may stand, and that every file and every part says what it is.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A source file: path from the root of the workspace with `/`, and its text.
struct Source {
    path: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("core has a parent").to_path_buf()
}

fn collect(folder: &Path, root: &Path, found: &mut Vec<Source>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                collect(&path, root, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root).expect("below the root").to_string_lossy().replace('\\', "/");
            found.push(Source { path: name, text: fs::read_to_string(&path).expect("source is readable") });
        }
    }
}

fn sources() -> Vec<Source> {
    let root = root();
    let mut found = Vec::new();
    for package in ["core", "persist", "gateway", "bench"] {
        collect(&root.join(package), &root, &mut found);
    }
    assert!(found.len() > 10, "the workspace was not found");
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Lines of code: comments and what follows `#[cfg(test)]` at the foot of a file left out.
fn code(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    source
        .text
        .lines()
        .enumerate()
        .take_while(|(_, line)| !line.starts_with("#[cfg(test)]"))
        .map(|(number, line)| (number + 1, line.split("//").next().unwrap_or("")))
}

/// Whether `line` holds `word` with no letter, digit or underscore beside it.
fn names(line: &str, word: &str) -> bool {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    line.match_indices(word).any(|(at, _)| {
        let bytes = line.as_bytes();
        let before = at == 0 || !part(bytes[at - 1]);
        let after = at + word.len() >= bytes.len() || !part(bytes[at + word.len()]);
        before && after
    })
}

/// Fails with every line of the chosen files that names one of `words`.
fn forbid(files: impl Fn(&str) -> bool, words: &[&str], reason: &str) {
    let mut faults = Vec::new();
    for source in sources().iter().filter(|source| files(&source.path)) {
        for (number, line) in code(source) {
            for word in words.iter().filter(|word| names(line, word)) {
                faults.push(format!("{}:{number}: `{word}`: {reason}", source.path));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Modules of core that are about threads and memory, not about state.
fn is_machinery(path: &str) -> bool {
    path.starts_with("core/src/ring/")
        || path.starts_with("core/src/agent/")
        || [
            "core/src/agent.rs",
            "core/src/pin.rs",
            "core/src/gate.rs",
            "core/src/matcher.rs",
            "core/src/lib.rs",
        ]
        .contains(&path)
}

fn is_state(path: &str) -> bool {
    path.starts_with("core/src/") && !is_machinery(path)
}

#[test]
fn state_is_deterministic() {
    forbid(
        is_state,
        &[
            "f32",
            "f64",
            "HashMap",
            "HashSet",
            "Instant",
            "SystemTime",
            "thread",
            "rand",
            "std::fs",
            "std::net",
            "std::env",
        ],
        "the engine has no float, default-hashed map, clock, thread, chance or I/O",
    );
    forbid(is_state, &["println", "eprintln", "print", "dbg"], "the engine prints nothing");
}

#[test]
fn state_names_no_machinery() {
    forbid(
        is_state,
        &["crate::ring", "crate::agent", "crate::pin", "crate::gate", "crate::matcher"],
        "state modules know no rings, agents or threads",
    );
}

#[test]
fn the_ring_knows_no_domain() {
    forbid(
        |path| path.starts_with("core/src/ring/"),
        &["crate::command", "crate::event", "crate::engine", "crate::money", "crate::book", "crate::reject"],
        "the ring carries slots, whatever they mean",
    );
}

/// Libraries below `bench/`.
const MEASURING: [&str; 4] = ["ringside_bench", "ringside_bench_journal", "ringside_load", "ringside_rigs"];

#[test]
fn dependencies_point_inwards() {
    forbid(
        |path| path.starts_with("core/src/"),
        &["ringside_persist", "ringside_gateway", "serde"],
        "core depends on nothing of ours and is not serializable",
    );
    forbid(|path| path.starts_with("persist/src/"), &["ringside_gateway"], "persist knows core only");
    forbid(
        |path| !path.starts_with("bench/") && path != "core/tests/tidy.rs",
        &MEASURING,
        "nothing points at bench",
    );
    forbid(
        |path| path.starts_with("gateway/views/src/"),
        &["ringside_gateway", "hyper", "serde_json"],
        "views know no requests and no text",
    );
    forbid(
        |path| path.starts_with("gateway/views/src/") && !path.starts_with("gateway/views/src/archive/"),
        &["ringside_persist", "tokio"],
        "views fold events of core and name nothing else",
    );
    forbid(
        |path| path.starts_with("gateway/auth/src/"),
        &["ringside_gateway", "ringside_views", "ringside_persist"],
        "who asks is known without what is asked for",
    );
    forbid(
        |path| path.starts_with("gateway/commands/src/"),
        &["ringside_gateway", "ringside_auth", "ringside_chain", "ringside_persist", "hyper"],
        "how a command is handed over is known without who sends it",
    );
    forbid(
        |path| path.starts_with("gateway/edge/src/"),
        &["ringside_gateway", "ringside_persist"],
        "the edge knows rows, no resources and no journal",
    );
    forbid(
        |path| path.starts_with("gateway/config/src/") || path.starts_with("gateway/feed/src/"),
        &["ringside_gateway", "ringside_edge", "ringside_dialect", "ringside_persist"],
        "settings and prices are known without the edge",
    );
    forbid(
        |path| path.starts_with("gateway/egress/src/"),
        &["ringside_gateway", "ringside_dialect", "ringside_persist", "ringside_wire", "tokio", "hyper"],
        "what happened is handed on without what is made of it",
    );
    forbid(
        |path| path.starts_with("gateway/streams/src/"),
        &["ringside_gateway", "ringside_chain", "ringside_config", "ringside_persist", "hyper"],
        "what is told is known without the sockets that it goes to",
    );
    forbid(
        |path| path.starts_with("gateway/outbound/src/"),
        &["ringside_core", "ringside_gateway", "ringside_chain", "ringside_views", "ringside_wire"],
        "others are asked by who knows what an answer means",
    );
    forbid(
        |path| path.starts_with("gateway/mirror/src/"),
        &["ringside_core", "ringside_gateway", "ringside_chain", "ringside_views", "ringside_wire"],
        "connections between hosts know frames of persist and nothing of what they mean",
    );
    forbid(
        |path| !path.starts_with("persist/src/quorum/") && path != "core/tests/tidy.rs",
        &["raft", "protobuf"],
        "the library of the consensus must stay replaceable: what others need of it is handed on by `persist/src/quorum`",
    );
    forbid(
        |path| path != "core/tests/tidy.rs",
        &["parse_from_bytes", "merge_from_bytes", "parse_from_reader", "merge_from", "CodedInputStream"],
        "its parser overflows the stack on bytes that somebody chose (RUSTSEC-2024-0437): members speak `persist/src/quorum/frame.rs`",
    );
    forbid(
        |path| path.starts_with("gateway/chain/src/"),
        &["ringside_gateway", "ringside_persist"],
        "the chain knows no routes and no journal",
    );
    forbid(
        |path| path.starts_with("gateway/wire/src/"),
        &["ringside_gateway", "ringside_views", "ringside_persist", "tokio", "hyper"],
        "what is on the wire knows of the engine's numbers alone",
    );
    forbid(
        |path| path.starts_with("gateway/dialect/src/"),
        &[
            "ringside_gateway",
            "ringside_auth",
            "ringside_commands",
            "ringside_chain",
            "ringside_persist",
            "tokio",
            "hyper",
        ],
        "a dialect spells core and views, and does no I/O",
    );
    forbid(
        |path| {
            path.starts_with("gateway/src/")
                && !path.starts_with("gateway/src/boot")
                && !["gateway/src/main.rs", "gateway/src/lib.rs"].contains(&path)
                && !path.starts_with("gateway/src/command_line")
        },
        &["ringside_persist"],
        "only boot, the command line and the archive know persist",
    );
}

/// What a measurement is built with is what it measures: a manifest that names more has every row of the engine wait for a gateway.
#[test]
fn measurements_build_what_they_measure() {
    for (package, allowed) in [
        ("bench", &["core", "hgrm"][..]),
        // Members of a cluster are measured with the connections between them.
        ("bench/journal", &["core", "persist", "bench", "mirror"]),
        (
            "bench/edge",
            &[
                "auth", "commands", "config", "core", "edge", "egress", "persist", "gateway", "streams",
                "views", "wire", "bench", "load",
            ],
        ),
        ("bench/load", &["bench", "hgrm"]),
        // They drive the exchange from outside.
        ("bench/rigs", &["core", "persist", "bench", "load"]),
    ] {
        let manifest = fs::read_to_string(root().join(package).join("Cargo.toml")).expect("has a manifest");
        let named: Vec<_> = manifest.lines().filter_map(|line| line.strip_prefix("ringside-")).collect();
        assert!(!named.is_empty(), "{package}: no package of ours is named");
        for line in named {
            let name = line.split([' ', '.', '=']).next().unwrap_or("");
            assert!(allowed.contains(&name), "{package} must not be built with `ringside-{name}`");
        }
    }
}

/// Folders and files of the gateway, the lowest first: each may name those before it, and itself.
const LAYERS: [&str; 6] = ["operations", "api", "ws_request", "routes", "boot", "command_line"];

#[test]
fn the_gateway_stands_in_layers() {
    let mut faults = Vec::new();
    for source in sources() {
        let Some(path) = source.path.strip_prefix("gateway/src/") else { continue };
        let folder = path.split(['/', '.']).next().unwrap_or("");
        if ["lib", "main"].contains(&folder) {
            continue;
        }
        let Some(layer) = LAYERS.iter().position(|known| *known == folder) else {
            faults.push(format!("{path}: `{folder}` has no layer"));
            continue;
        };
        for (number, line) in code(&source) {
            for above in LAYERS[layer + 1..].iter().filter(|above| names(line, &format!("crate::{above}"))) {
                faults.push(format!("{path}:{number}: `{folder}` names `{above}`, which stands above it"));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// What of core stands above the engine or beside it; all else is state, or below state.
const ABOVE_STATE: [&str; 7] = ["engine", "snapshot", "state_hash", "matcher", "audit", "bare", "lib"];

#[test]
fn state_names_no_engine() {
    let mut faults = Vec::new();
    let mut seen = 0;
    for source in sources() {
        let Some(path) = source.path.strip_prefix("core/src/") else { continue };
        if ABOVE_STATE.contains(&path.split(['/', '.']).next().unwrap_or("")) {
            continue;
        }
        seen += 1;
        for (number, line) in code(&source).filter(|(_, line)| names(line, "crate::engine")) {
            faults.push(format!("{path}:{number}: `{}`", line.trim()));
        }
    }
    assert!(seen > 80, "{seen} files");
    assert!(faults.is_empty(), "state names the engine:\n{}", faults.join("\n"));
}

/// Paths of all that a file's code names by `crate::` or `super::`, part by part; `module` is the file's own.
fn named(code: &str, module: &[&str]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        if code[..at].ends_with(|before: char| before == ':' || before == '_' || before.is_alphanumeric()) {
            continue;
        }
        let rest = &code[at..];
        let end = rest.find(|c: char| c != ':' && c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
        let list = rest[end..].strip_prefix('{').and_then(|list| list.split('}').next()).unwrap_or("");
        for item in list.split(',') {
            let mut path: Vec<_> = module.iter().map(|part| (*part).to_owned()).collect();
            for part in rest[..end].split("::").chain(item.trim().split("::")) {
                match part {
                    "crate" => path.clear(),
                    "super" => drop(path.pop()),
                    part => path.extend((!part.is_empty()).then(|| part.to_owned())),
                }
            }
            found.push(path);
        }
    }
    found
}

/// A folder and what it holds may name each other; files and folders beside each other do in one direction.
#[test]
fn no_files_of_the_gateway_name_each_other_in_a_circle() {
    let sources = sources();
    let mut faults = Vec::new();
    for part in PARTS.iter().filter(|part| part.starts_with("gateway")) {
        faults.extend(circles(&sources, &format!("{part}/src/")));
    }
    assert!(
        faults.is_empty(),
        "on circles, where what both ends need wants a file of its own:\n{}",
        faults.join("\n")
    );
}

/// Which files below a crate's root name each other in a circle.
fn circles(sources: &[Source], root: &str) -> Vec<String> {
    let module = |source: &Source| {
        let path = source.path.strip_prefix(root)?.strip_suffix(".rs")?;
        Some(path.strip_suffix("/mod").unwrap_or(path).to_owned())
    };
    let modules: BTreeSet<_> = sources.iter().filter_map(module).collect();
    // Folder, who is named there by whom beside it.
    let mut edges = BTreeSet::new();
    for (source, module) in sources.iter().filter_map(|source| Some((source, module(source)?))) {
        let own: Vec<_> = module.split('/').collect();
        let code: Vec<_> = code(source).map(|(_, line)| line).collect();
        for path in named(&code.join(" "), &own) {
            let Some(len) = (1..=path.len()).rev().find(|len| modules.contains(&path[..*len].join("/")))
            else {
                continue;
            };
            let other = &path[..len];
            let common = own.iter().zip(other).take_while(|(own, other)| *own == other).count();
            if let (Some(from), Some(to)) = (own.get(common), other.get(common)) {
                edges.insert((own[..common].join("/"), (*from).to_owned(), to.clone()));
            }
        }
    }
    assert!(edges.len() >= modules.len() / 3, "what files name was not found below {root}");
    // What names nothing that is left, or is named by nothing that is left, is on no circle.
    let mut left = 0;
    while left != edges.len() {
        left = edges.len();
        let all = edges.clone();
        edges.retain(|(folder, from, to)| {
            let beside = || all.iter().filter(|(other, ..)| other == folder);
            beside().any(|(_, next, _)| next == to) && beside().any(|(_, _, before)| before == from)
        });
    }
    edges.iter().map(|(folder, from, to)| format!("{root}{folder}: `{from}` names `{to}`")).collect()
}

#[test]
fn one_file_names_the_chain_library() {
    let mut files: Vec<_> = sources()
        .into_iter()
        .filter(|source| source.path.starts_with("gateway/src/"))
        .filter(|source| code(source).any(|(_, line)| line.contains("ethers_")))
        .map(|source| source.path)
        .collect();
    files.dedup();
    assert!(files.len() <= 1, "the chain library must stay replaceable, but these name it: {files:?}");
}

#[test]
fn unsafe_stands_where_it_may() {
    let allowed = |path: &str| {
        path.starts_with("core/src/ring/")
            || path == "core/src/prefetch.rs"
            || path == "core/src/memory.rs"
            || path.starts_with("persist/src/")
            || path.contains("/tests/")
            || path.starts_with("bench/")
    };
    let mut faults = Vec::new();
    for source in sources().into_iter().filter(|source| source.path != "core/tests/tidy.rs") {
        let lines: Vec<_> = source.text.lines().collect();
        for (number, line) in code(&source) {
            let is_unsafe =
                line.contains("unsafe {") || line.contains("unsafe impl") || line.contains("unsafe fn");
            if !is_unsafe {
                continue;
            }
            if !allowed(&source.path) {
                faults.push(format!("{}:{number}: unsafe does not belong here", source.path));
            }
            let above = &lines[number.saturating_sub(12)..number];
            if !above.iter().any(|line| line.contains("SAFETY") || line.contains("# Safety")) {
                faults.push(format!("{}:{number}: no SAFETY note", source.path));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn nothing_is_left_unfinished() {
    forbid(|path| path != "core/tests/tidy.rs", &["todo", "unimplemented"], "finish it or leave it out");
}

/// Packages with a README.md of their own.
const PARTS: [&str; 18] = [
    "core",
    "persist",
    "gateway",
    "gateway/auth",
    "gateway/chain",
    "gateway/commands",
    "gateway/config",
    "gateway/dialect",
    "gateway/edge",
    "gateway/egress",
    "gateway/feed",
    "gateway/hgrm",
    "gateway/mirror",
    "gateway/outbound",
    "gateway/streams",
    "gateway/views",
    "gateway/wire",
    "bench",
];

/// Whoever opens a file, or a part, reads first what it is for.
#[test]
fn every_file_opens_with_what_it_is() {
    let mut silent = Vec::new();
    for source in sources().into_iter().filter(|source| source.path.contains("/src/")) {
        let said = source.text.lines().next().and_then(|line| line.strip_prefix("//! "));
        if said.is_none_or(|said| said.split_whitespace().count() < 2) {
            silent.push(source.path);
        }
    }
    assert!(silent.is_empty(), "do not open with what they are:\n{}", silent.join("\n"));
    for part in PARTS.iter().chain(&["scripts/operations"]) {
        let text =
            fs::read_to_string(root().join(part).join("README.md")).expect("each part has a README.md");
        assert!(text.starts_with("# "), "{part}/README.md has no title");
    }
}

/// A README that names a file which is not there sends its reader nowhere.
/// `cargo run` gives the program what a build script says with `rustc-env`, and the exchange refuses settings that it does not know.
#[test]
fn no_build_script_sets_a_setting() {
    for path in ["gateway/build.rs", "bench/build.rs"] {
        let text = fs::read_to_string(root().join(path)).expect("a build script");
        assert!(text.contains("rustc-env=") && !text.contains("rustc-env=RINGSIDE_"), "{path}");
    }
}

#[test]
fn what_the_parts_name_is_there() {
    let mut missing = Vec::new();
    for part in [""].iter().chain(&PARTS) {
        let text =
            fs::read_to_string(root().join(part).join("README.md")).expect("each part has a README.md");
        for name in text.split('`').skip(1).step_by(2).flat_map(alternatives) {
            let is_path = name.contains('/') && !name.starts_with('/') && !name.contains(['*', ' ', ':']);
            let sources = PARTS.iter().map(|part| format!("{part}/src"));
            let mut places = [(*part).to_owned(), String::new()].into_iter().chain(sources);
            if is_path && !places.any(|at| root().join(at).join(&name).exists()) {
                missing.push(format!("{part}/README.md: {name}"));
            }
        }
    }
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
}

/// `a/{b,c}.rs` is `a/b.rs` and `a/c.rs`.
fn alternatives(name: &str) -> Vec<String> {
    match name.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?))) {
        Some((before, (middle, after))) => {
            middle.split(',').map(|one| format!("{before}{one}{after}")).collect()
        }
        None => vec![name.to_owned()],
    }
}

/// What a newcomer reads first is short, and shows the page.
#[test]
fn the_readme_is_one_that_people_read() {
    let text = fs::read_to_string(root().join("README.md")).expect("there is a README.md");
    assert!(text.lines().count() <= 250 && text.len() <= 16 << 10, "README.md is too long");
    let picture = fs::metadata(root().join("gateway/web/terminal.png")).expect("README.md shows the page");
    assert!(text.contains("(gateway/web/terminal.png)") && picture.len() <= 200 << 10, "its picture");
}

/// Rows of the failure model.
const FAILURES: usize = 23;

#[test]
fn each_failure_names_the_tests_that_show_it() {
    let table = fs::read_to_string(root().join("persist/failures.md")).expect("the table is there");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let rows: Vec<(usize, &str)> = rows.filter_map(|(row, rest)| Some((row.parse().ok()?, rest))).collect();
    assert!(rows.iter().map(|(row, _)| *row).eq(1..=FAILURES), "one line for each row, in their order");
    let mut missing = Vec::new();
    for (row, rest) in rows {
        let shown: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
        if shown.is_empty() {
            missing.push(format!("row {row}: nothing shows it"));
        }
        for name in shown {
            let (file, test) = name.split_once("::").map_or((name, None), |(file, test)| (file, Some(test)));
            let text = fs::read_to_string(root().join(file)).unwrap_or_default();
            let is_there = match test {
                None => file.starts_with("scripts/") && !text.is_empty(),
                Some(test) => is_test(&text, test),
            };
            if !is_there {
                missing.push(format!("row {row}: {name}"));
            }
        }
    }
    assert!(missing.is_empty(), "persist/failures.md names what is not there:\n{}", missing.join("\n"));
}

/// Whether a file has a test of a name that is not left out.
fn is_test(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let Some(at) = lines.iter().position(|line| line.starts_with(&format!("fn {name}("))) else {
        return false;
    };
    let attributes: Vec<&str> =
        lines[..at].iter().rev().take_while(|line| line.starts_with('#')).copied().collect();
    attributes.contains(&"#[test]") && !attributes.iter().any(|line| line.contains("ignore"))
}

/// The arrows that people read are those that the compiler holds.
#[test]
fn the_gateways_arrows_are_its_manifests() {
    let readme = fs::read_to_string(root().join("gateway/README.md")).expect("the gateway has a README.md");
    let arrows = readme.split("```").find(|block| block.contains("\n wire\n")).expect("it draws the crates");
    let mut drawn = Vec::new();
    for line in arrows.trim_matches('\n').lines() {
        let (name, below) = line.split_once("─▶").unwrap_or((line, ""));
        let below = below.split(',').map(str::trim).filter(|name| !name.is_empty() && !name.contains(' '));
        let below: Vec<_> = below.map(str::to_owned).collect();
        let unknown = below.iter().find(|below| *below != "persist" && !drawn.contains(*below));
        assert_eq!(unknown, None, "`{}` names what stands above it", name.trim());
        let manifest = root().join("gateway").join(name.trim()).join("Cargo.toml");
        let manifest = fs::read_to_string(manifest).expect("a line for each crate");
        let named = manifest.split("[dev-dependencies]").next().unwrap_or("").lines();
        let named = named.filter_map(|line| line.strip_prefix("ringside-")?.split(' ').next());
        let named: Vec<_> = named.filter(|name| *name != "core").collect();
        assert_eq!(named, below, "the arrows of `{}`", name.trim());
        drawn.push(name.trim().to_owned());
    }
    let crates = PARTS.iter().filter(|part| part.starts_with("gateway/")).count();
    assert_eq!(drawn.len(), crates, "{drawn:?}");
}
