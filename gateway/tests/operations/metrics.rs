//! Figures of a running exchange, and who may read them.

use crate::process::{ADMIN_KEY, Folder, address, get, post, request, ringside, said, started, stop, trade};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

/// Samples by name and labels.
pub(crate) fn samples(page: &str) -> BTreeMap<String, f64> {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect()
}

fn own_address(command: &mut Command) {
    command.env("RINGSIDE_METRICS_LISTEN", "127.0.0.1:0");
}

#[test]
fn figures_follow_what_happens() {
    let folder = Folder::new("figures");
    let (child, public, told) = started(&folder.0, own_address);
    let own = address(&told, "figures");
    let before = samples(&get(&own, "/metrics", &[]));
    trade(&public);
    let after = samples(&get(&own, "/metrics", &[]));
    let grown = |name: &str| after[name] - before[name];
    assert_eq!(grown("ringside_commands_total{kind=\"PlaceOrder\"}"), 3.0);
    assert_eq!(grown("ringside_commands_total{kind=\"Credit\"}"), 4.0);
    assert_eq!(grown("ringside_trades_total{kind=\"spot\"}"), 1.0);
    assert_eq!(grown("ringside_request_seconds_count{kind=\"order\"}"), 3.0);
    assert!(grown("ringside_stage_seconds_count{stage=\"ring\"}") >= 9.0);
    for stage in ["matcher", "journal", "egress", "engine"] {
        let name = format!("ringside_stage_seconds_count{{stage=\"{stage}\"}}");
        assert!(grown(&name) > 0.0, "{name} stands still");
    }
    assert!(grown("ringside_sync_seconds_count") > 0.0);
    assert!(after["ringside_journal_durable_sequence"] >= after["ringside_sequence"]);
    assert!(grown("ringside_sequence") >= 9.0);
    assert_eq!(after["ringside_phase{phase=\"running\"}"], 1.0);
    assert_eq!(after["ringside_index_state{market=\"BTCUSDT\",state=\"manual\"}"], 1.0);
    assert_eq!(after["ringside_index_price{market=\"BTCUSDT\"}"], 60_000.0);
    assert_eq!(after["ringside_ring_capacity{ring=\"journal\"}"], 65_536.0);

    // A refusal is counted under its own name.
    let order = serde_json::json!({
        "symbol": "DFUSDT", "side": "sell", "type": "limit", "price": "0.00005", "quantity": "50",
    });
    let trader = crate::process::log_in(&public, 2);
    let (status, _) = request(&public, "POST", "/api/v1/spot/orders", &[&trader], &order.to_string());
    assert_eq!(status, 400);
    let refused = samples(&get(&own, "/metrics", &[]));
    let rejects = |samples: &BTreeMap<String, f64>| -> f64 {
        samples
            .iter()
            .filter(|(name, _)| name.starts_with("ringside_rejects_total"))
            .map(|(_, count)| count)
            .sum()
    };
    assert_eq!(rejects(&refused) - rejects(&after), 1.0);
    stop(child);
}

#[test]
fn every_family_is_described_once_and_no_sample_twice() {
    let folder = Folder::new("families");
    let (child, public, told) = started(&folder.0, own_address);
    trade(&public);
    let page = get(&address(&told, "figures"), "/metrics", &[]);
    let mut families = BTreeMap::new();
    for line in page.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        assert!(families.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} twice");
        assert_eq!(name.ends_with("_total"), kind == "counter", "{name} is a {kind}");
    }
    let mut seen = std::collections::BTreeSet::new();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let name = line.rsplit_once(' ').unwrap().0;
        assert!(seen.insert(name.to_owned()), "{name} twice");
        let family = name.split('{').next().unwrap();
        let of_histogram =
            ["_bucket", "_sum", "_count"].iter().find_map(|suffix| family.strip_suffix(suffix));
        let known =
            families.contains_key(family) || of_histogram.is_some_and(|name| families[name] == "histogram");
        assert!(known, "{family} is not described");
    }
    stop(child);
}

#[test]
fn who_may_read_them_and_what_ready_means() {
    let folder = Folder::new("readers");
    let (child, public, told) = started(&folder.0, own_address);
    let own = address(&told, "figures");
    // At the public address only with the administrator's key.
    assert_eq!(request(&public, "GET", "/metrics", &[], "").0, 401);
    let trader = crate::process::log_in(&public, 2);
    assert_eq!(request(&public, "GET", "/metrics", &[&trader], "").0, 401);
    let page = get(&public, "/metrics", &[&format!("X-API-Key: {ADMIN_KEY}")]);
    let build = page.lines().find(|line| line.starts_with("ringside_build_info{")).unwrap();
    let version = said(&ringside(&folder.0).arg("--version").output().unwrap());
    let commit = version.trim().split(['(', ')']).nth(1).unwrap();
    assert_eq!(version, format!("ringside {} ({commit})\n", env!("CARGO_PKG_VERSION")));
    assert!(build.contains(&format!("commit=\"{commit}\"")), "{build}");
    let head = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    let head = head.ok().filter(|output| output.status.success());
    let head = head.map_or("unknown\n".to_owned(), |output| String::from_utf8(output.stdout).unwrap());
    assert_eq!(commit, option_env!("BUILD_COMMIT").filter(|told| !told.is_empty()).unwrap_or(head.trim()));
    for address in [&public, &own] {
        assert_eq!(get(address, "/livez", &[]), "alive\n");
        assert_eq!(get(address, "/readyz", &[]), "ready\n");
    }
    // The own address has nothing of the API.
    assert_eq!(request(&own, "GET", "/api/v1/spot/markets", &[], "").0, 404);
    assert_eq!(request(&own, "POST", "/metrics", &[], "").0, 405);
    let admin = format!("X-API-Key: {ADMIN_KEY}");
    let credit = serde_json::json!({
        "user_address": "0x2b5ad5c4795c026514f8317c7a215e218dccd6cf", "token": "DF", "amount": "1",
    });
    assert_eq!(
        request(&own, "POST", "/api/v1/admin/spot/balances/credit", &[&admin], &credit.to_string()).0,
        405
    );
    post(&public, "/api/v1/admin/spot/balances/credit", &admin, &credit);
    stop(child);
}

#[test]
fn without_an_address_of_their_own_they_have_none() {
    let folder = Folder::new("no-address");
    let (child, public, told) = started(&folder.0, |_| {});
    assert!(!told.contains("figures"), "{told}");
    assert_eq!(request(&public, "GET", "/metrics", &[], "").0, 401);
    stop(child);
}

/// A batch takes whole blocks of 4 KiB, and one that waits for no other is one command: 20 a second must not cost much more.
#[test]
fn a_slow_stream_writes_hardly_more_than_its_blocks() {
    let folder = Folder::new("slow-stream");
    let (child, public, _) = started(&folder.0, |_| {});
    let [trader, _] = trade(&public);
    let key = format!("X-API-Key: {ADMIN_KEY}");
    let read = || samples(&get(&public, "/metrics", &[&key]));
    let order = serde_json::json!({
        "symbol": "DFUSDT", "side": "sell", "type": "limit", "price": "0.9", "quantity": "10",
    });
    let before = read();
    let mut due = Instant::now();
    for _ in 0..40 {
        due += Duration::from_millis(50);
        post(&public, "/api/v1/spot/orders", &trader, &order);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    let after = read();
    let grown = |name: &str| after[name] - before[name];
    let (commands, bytes) =
        (grown("ringside_journal_durable_sequence"), grown("ringside_journal_bytes_total"));
    assert!(commands >= 40.0 && bytes <= 1.5 * 4_096.0 * commands, "{bytes} bytes of {commands} commands");
    stop(child);
}

/// What a subcommand of operators prints.
fn asked(folder: &Folder, address: &str, arguments: &[&str]) -> String {
    let url = format!("http://{address}");
    let mut command = ringside(&folder.0);
    command.args(arguments).args(["--url", &url]).env("RINGSIDE_ADMIN_KEY", ADMIN_KEY);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn latencies_are_told_by_stage_and_begin_anew() {
    let folder = Folder::new("latencies");
    let (child, public, _) = started(&folder.0, |_| {});
    trade(&public);
    let key = format!("X-API-Key: {ADMIN_KEY}");
    let whole = |stage: &str| get(&public, &format!("/latency.hgrm?stage={stage}"), &[&key]);
    let count = |text: &str| -> u64 {
        text.rsplit_once("Total count    =").unwrap().1.split(']').next().unwrap().trim().parse().unwrap()
    };
    // From a request to its acknowledgement, unless another stage is asked for.
    assert_eq!(count(&get(&public, "/latency.hgrm", &[&key])), 3);
    for stage in ["other", "ring", "matcher", "journal", "egress", "engine", "sync"] {
        let text = whole(stage);
        let rows: Vec<Vec<f64>> = text
            .lines()
            .skip(2)
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split_whitespace().map(|field| field.parse().unwrap()).collect())
            .collect();
        assert!(count(&text) > 0 && rows.last().is_some_and(|row| row[1] == 1.0), "{stage}: {text}");
    }
    let (status, refused) = request(&public, "GET", "/latency.hgrm?stage=orders", &[&key], "");
    assert!(
        status == 400 && refused.contains("INVALID_PARAMETER") && refused.contains("egress"),
        "{refused}"
    );

    // The same numbers from the command line, as files too.
    let to = folder.0.join("hgrm");
    let text = asked(&folder, &public, &["latency", "--to", to.to_str().unwrap()]);
    let row = text.lines().find(|line| line.starts_with("order ")).unwrap();
    assert_eq!(row.split_whitespace().nth(1), Some("3"), "{text}");
    assert_eq!(std::fs::read_to_string(to.join("order.hgrm")).unwrap(), whole("order"));
    let told: Value =
        serde_json::from_str(&asked(&folder, &public, &["latency", "--json", "--reset"])).unwrap();
    let order = &told["latency_us"]["order"];
    assert!(order["p50"].as_f64().unwrap() <= order["max"].as_f64().unwrap(), "{told}");
    let page: Value = serde_json::from_str(&get(&public, "/web/latency.json", &[])).unwrap();
    assert_eq!((count(&whole("order")), page["count"].as_u64()), (0, Some(0)));
    // What Prometheus reads never goes back.
    let figures = samples(&get(&public, "/metrics", &[&key]));
    assert_eq!(figures["ringside_request_seconds_count{kind=\"order\"}"], 3.0);
    stop(child);
}

#[test]
fn top_shows_what_happens_between_two_looks() {
    let folder = Folder::new("top");
    let (child, public, _) = started(&folder.0, |_| {});
    trade(&public);
    // The clock ticks once a second, so two seconds between looks hold a tick even where it is late.
    let lines = asked(&folder, &public, &["top", "--json", "--every", "2", "--count", "2"]);
    let looks: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(looks.len(), 2, "{lines}");
    for look in &looks {
        assert_eq!(look["phase"], "running");
        assert!(look["per_second"]["commands"].as_f64().unwrap() > 0.0, "{look}");
        assert!(look["latency_us"]["sync"]["p99_9"].as_f64().unwrap() > 0.0, "{look}");
        assert!(look["latency_us"]["order"]["p50"].is_null(), "no order came meanwhile: {look}");
        for place in ["/rings/journal/capacity", "/disk_free_bytes", "/connections_max"] {
            assert!(look.pointer(place).and_then(Value::as_f64).unwrap() > 0.0, "{place} in {look}");
        }
        for place in
            ["/behind_commands/follower", "/behind_commands/archive", "/limited_total", "/insurance_fund"]
        {
            assert!(look.pointer(place).is_some_and(Value::is_number), "{place} in {look}");
        }
        assert_eq!(look["index_states"]["BTCUSDT"], "manual");
    }
    let text = asked(&folder, &public, &["top", "--count", "1", "--every", "1"]);
    for word in
        ["commands", "p99.9", "rings", "archive", "limits hit", "disk left", "fund", "manual: BTCUSDT"]
    {
        assert!(text.contains(word), "{word} in {text}");
    }
    assert!(!text.contains('\x1b'), "what is no terminal gets no control sequences");
    // Nobody without the key.
    let output = ringside(&folder.0)
        .args(["top", "--count", "1", "--url", &format!("http://{public}")])
        .env("RINGSIDE_ADMIN_KEY", "another-admin-key-of-this-exchange")
        .output()
        .unwrap();
    assert!(!output.status.success() && said(&output).contains("401"), "{}", said(&output));
    stop(child);
}
