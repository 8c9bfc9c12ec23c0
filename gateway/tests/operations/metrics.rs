//! Figures of a running exchange, and who may read them.

use crate::process::{ADMIN_KEY, Folder, address, get, post, request, started, stop, trade};
use std::collections::BTreeMap;
use std::process::Command;

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
    let (child, public, said) = started(&folder.0, own_address);
    let own = address(&said, "figures");
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
    let (child, public, said) = started(&folder.0, own_address);
    trade(&public);
    let page = get(&address(&said, "figures"), "/metrics", &[]);
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
    let (child, public, said) = started(&folder.0, own_address);
    let own = address(&said, "figures");
    // At the public address only with the administrator's key.
    assert_eq!(request(&public, "GET", "/metrics", &[], "").0, 401);
    let trader = crate::process::log_in(&public, 2);
    assert_eq!(request(&public, "GET", "/metrics", &[&trader], "").0, 401);
    assert!(get(&public, "/metrics", &[&format!("X-API-Key: {ADMIN_KEY}")]).contains("ringside_build_info"));
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
    let (child, public, said) = started(&folder.0, |_| {});
    assert!(!said.contains("figures"), "{said}");
    assert_eq!(request(&public, "GET", "/metrics", &[], "").0, 401);
    stop(child);
}
