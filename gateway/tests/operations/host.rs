//! Files for hosts: profiles, the service, the script that tunes.

use crate::process::{Folder, ringside, said};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts")
}

#[test]
fn the_profiles_are_taken_and_say_what_they_are_for() {
    let folder = Folder::new("profiles");
    let shown = |name: &str| {
        let path = scripts().join("operations").join(name);
        let output = ringside(&folder.0).arg("settings").arg("--config").arg(path).output().unwrap();
        assert!(output.status.success(), "{name}: {}", said(&output));
        said(&output)
    };
    let has = |text: &str, key: &str, value: &str| {
        text.lines().any(|line| {
            let mut words = line.trim_start_matches('*').split_whitespace();
            words.next() == Some(key) && words.next() == Some(value)
        })
    };
    let (small, pinned) = (shown("two-cores.toml"), shown("pinned.toml"));
    let production = shown("production.toml");
    for text in [&small, &pinned, &production] {
        assert!(has(text, "test_deployment", "false"), "{text}");
        assert!(has(text, "acknowledge", "durable"), "{text}");
    }
    assert!(has(&small, "threading", "shared") && has(&small, "wait", "park"), "{small}");
    assert!(has(&pinned, "threading", "dedicated") && has(&pinned, "wait", "spin"), "{pinned}");
    assert!(has(&pinned, "pin_matcher", "2"), "{pinned}");
    // What a venue with other people's money must not leave as it ships.
    for (key, value) in [
        ("treasury_two_operators_above", "0"),
        ("chain_agreement", "2"),
        ("metrics_listen", "127.0.0.1:9464"),
        ("signer_socket", "/run/ringside-signer/socket"),
        ("core_dumps", "false"),
        ("log_format", "json"),
    ] {
        assert!(has(&production, key, value), "{key}\n{production}");
    }
    assert!(has(&production, "chain_nodes", "https://node-one.example:443/,https://node-two.example:443/"));
}

#[test]
fn the_services_are_ones_that_systemd_takes() {
    let of_exchange = ["Type=notify", "WatchdogSec=30", "LimitCORE=0", "RestartPreventExitStatus=70"];
    let of_signer = ["LimitCORE=0", "PrivateNetwork=yes", "LoadCredential=key:/etc/ringside/signer_key"];
    service("ringside.service", &of_exchange, "20");
    service("ringside-signer.service", &of_signer, "10");
}

/// A unit has lines, systemd takes it, and it is exposed at most so much, in tenths.
fn service(name: &str, lines: &[&str], exposure_max: &str) {
    let folder = Folder::new(name);
    let unit = std::fs::read_to_string(scripts().join("operations").join(name)).unwrap();
    for line in lines {
        assert!(unit.lines().any(|found| found == *line), "{name}: {line}");
    }
    // Where the binary is, and without a manual that is not installed.
    let unit = unit.replace("/usr/local/bin/ringside", env!("CARGO_BIN_EXE_ringside"));
    let unit = unit.replace("Documentation=man:ringside(1)\n", "");
    let path = folder.0.join(name);
    std::fs::write(&path, unit).unwrap();
    let Ok(output) = Command::new("systemd-analyze").arg("verify").arg(&path).output() else {
        eprintln!("skipped: systemd-analyze is not installed");
        return;
    };
    assert!(output.status.success() && said(&output).is_empty(), "{}", said(&output));
    let threshold = format!("--threshold={exposure_max}");
    let exposure = ["security", "--offline=true", &threshold];
    let output = Command::new("systemd-analyze").args(exposure).arg(&path).output().unwrap();
    assert!(output.status.success(), "{name} is more exposed than that: {}", said(&output));
}

/// A host with eight cores as files.
fn host(root: &Path) {
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for core in 0..8 {
        write(&format!("sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor"), "powersave\n");
        for state in 0..2 {
            write(&format!("sys/devices/system/cpu/cpu{core}/cpuidle/state{state}/disable"), "0\n");
        }
    }
    write("sys/devices/system/cpu/smt/control", "notsupported\n");
    write("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
    write("proc/sys/vm/nr_hugepages", "0\n");
    write("proc/irq/5/smp_affinity_list", "0-7\n");
    write("proc/irq/6/smp_affinity_list", "0,1\n");
    write("proc/cmdline", "root=/dev/sda1 quiet\n");
}

fn files(folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            let text = std::fs::read_to_string(&path).unwrap();
            found.insert(path, text);
        }
    }
}

#[test]
fn a_host_is_tuned_only_when_that_is_asked_for() {
    let folder = Folder::new("tuned");
    host(&folder.0);
    let look = || {
        let mut found = BTreeMap::new();
        files(&folder.0, &mut found);
        found
    };
    let tune = |arguments: &[&str]| {
        let mut command = Command::new(scripts().join("tune-host.sh"));
        let output = command.args(arguments).env("ROOT", &folder.0).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        said(&output)
    };
    let before = look();
    let shown = tune(&[]);
    assert_eq!(look(), before, "nothing is changed without being asked");
    for line in [
        "/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor: powersave -> performance",
        "/sys/devices/system/cpu/cpu7/cpuidle/state1/disable: 0 -> 1",
        "/sys/kernel/mm/transparent_hugepage/enabled: always -> madvise",
        "/proc/irq/5/smp_affinity_list: 0-7 -> 0,1",
        "+ nohz_full=2-7",
    ] {
        assert!(shown.contains(line), "{line}\nnot in\n{shown}");
    }
    for absent in ["cpu1/", "/proc/irq/6/", "smt/control", "state0"] {
        assert!(!shown.contains(absent), "{absent}\nin\n{shown}");
    }
    tune(&["--apply", "--cores", "4-6", "--huge-pages", "64"]);
    let after = look();
    let text = |path: &str| after[&folder.0.join(path)].trim().to_owned();
    assert_eq!(text("sys/devices/system/cpu/cpu4/cpufreq/scaling_governor"), "performance");
    assert_eq!(text("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor"), "powersave");
    assert_eq!(text("proc/sys/vm/nr_hugepages"), "64");
    assert_eq!(text("proc/irq/5/smp_affinity_list"), "0,1,2,3,7");
    let again = tune(&["--cores", "4-6", "--huge-pages", "64"]);
    assert!(!again.contains("->"), "everything is done: {again}");
}
