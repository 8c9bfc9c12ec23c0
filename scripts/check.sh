#!/usr/bin/env bash
# What a change must pass. Installs what the tests need; safe to run again. Wants: Rust by rustup, a C compiler.
#   scripts/check.sh            everything, with the long proofs shortened; scripts/nightly.sh has them whole
#   scripts/check.sh quick      format, lints, unit tests and tests of the API: minutes after a changed line
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:-all}
. scripts/steps.sh
. scripts/build.sh

find_target
# A clone that was never built reuses nothing of what is kept for the next build, and what is built without that is quicker.
[ -d "$target/release" ] || export CARGO_INCREMENTAL=0

licences() {
    step "licences and dependencies"
    # Built as quickly as it can be: it runs for seconds.
    have cargo-deny || CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --locked --debug cargo-deny
    cargo deny --all-features check --hide-inclusion-graph bans licenses sources
    # The advisory database comes over the network; without it this check says so and the rest goes on.
    if cargo deny --all-features fetch db >/dev/null 2>&1; then
        cargo deny --all-features check --hide-inclusion-graph advisories
    else
        echo "skipped: the advisory database cannot be fetched from here"
    fi
}

ring() {
    step "the ring under the model checker, two preemptions deep"
    PREEMPTIONS=2 scripts/loom.sh

    step "the ring under Miri, one schedule"
    MIRI_SEEDS=1 scripts/miri.sh
}

outside() {
    step "contracts and withdrawals on a real node"
    scripts/contracts.sh
    scripts/chain.sh
    scripts/chain_page.sh

    step "a venue is opened by the runbook, on a real node"
    scripts/open_venue.sh

    step "requests made of the API's own document"
    EXAMPLES=12 scripts/schema.sh

    step "thousands of clients behind a real nginx"
    SOCKETS=500 ROUNDS=0 scripts/proxy.sh

    step "a wallet library of others logs in"
    scripts/login.sh

    step "a real Prometheus watches it"
    scripts/metrics.sh

    step "README's first trade and first bot, as pasted"
    scripts/readme.sh

    step "measuring it on this host, as pasted"
    scripts/measure.sh

    step "the page is what its source gives"
    scripts/web.sh --check

    step "the page in a browser"
    scripts/page.sh
}

counts() {
    step "instructions a command, beside the accepted ones"
    scripts/counts.sh --check

    step "instructions of the worst command"
    scripts/counts.sh --bounds
}

clients() {
    step "existing clients trade here unchanged"
    scripts/clients.sh
    ROUNDS=30 scripts/client_user.sh
    scripts/books.sh 10 10
}

step "format"
cargo fmt --all --check

step "lints"
cargo clippy --workspace --all-targets --locked --release -- -D warnings

if [ "$mode" = quick ]; then
    step "tests"
    nextest --profile quick
    step "passed: the quick part"
    exit
fi

# What waits for installs, sockets and browsers more than it computes runs in lanes of its own beside the rest.
beside licences licences
step "build"
# With the programs that scripts run below. One choice of packages for all, see scripts/build.sh.
export PROFILE=release BUILT="ringside ringside-bench kills cluster_kills overload replay"
# shellcheck disable=SC2086
cargo build --workspace --locked --release --lib --tests $(printf -- '--bin %s ' $BUILT)
beside outside outside
beside clients clients
beside counts counts

step "tests"
nextest

beside ring ring
step "50 kills"
scripts/kills.sh --cycles 40
# Longer than a segment of the journal, so that kills fall into what begins the next one.
scripts/kills.sh --cycles 10 --acknowledge written

step "12 rounds of faults over three members"
scripts/cluster_kills.sh --rounds 12

step "the journal of an exchange that was killed, replayed as a session"
RINGSIDE_KEEP=1 scripts/kills.sh --cycles 6 --load-ms 500 --folder "$logs/killed"
scripts/replay.sh journal "$logs"/killed/*/data --quiet --rate 4x
rm -rf "$logs/killed"

if [ -d ../shared/data ]; then
    step "a recorded morning, killed in the middle"
    scripts/replay.sh --quiet

    step "the beginning of an hour, at a given rate"
    scripts/replay.sh aapl --quiet --limit 16000 --rate 2000

    step "an independent WebSocket client keeps the book"
    COMPARE=50 scripts/ws_book.sh bitstamp --limit 6000 --rate 1000
fi

meet licences
meet counts
meet ring
meet outside
meet clients

step "three times what can be taken"
# Long enough for its audit; the time of row 18, a minute, is the script's own default.
scripts/overload.sh --seconds 10 --calm-seconds 3

step "passed"
# Tests that miss their data pass, and what a test that passes says is not shown.
if [ ! -d ../shared/data ]; then
    echo "left out: the tests that compare with recorded markets, accounts, answers and signatures; scripts/replay.sh," \
        "scripts/ws_book.sh and scripts/books.sh, since ../shared/data is not there"
fi
