#!/usr/bin/env bash
# All that a change must pass. Installs what the tests need; safe to run again. Wants: Rust by rustup, a C compiler.
#   scripts/check.sh            everything
#   scripts/check.sh quick      format, lints and tests in one profile
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:-all}
started=$SECONDS
# Nothing here is built twice with a change in between.
export CARGO_INCREMENTAL=0

step() { printf '\n== %s (%d s) ==\n' "$1" $((SECONDS - started)); }
have() { command -v "$1" >/dev/null 2>&1; }

# What waits for installs, sockets and browsers more than it computes, or computes on one core, runs in a lane of its own beside the
# rest: two cores are enough for that. What a lane says comes whole, when it is met.
logs=$(mktemp -d)
declare -A lanes
trap 'for lane in "${lanes[@]}"; do kill -- "-$lane" 2>/dev/null || true; done; rm -rf "$logs"' EXIT
# beside NAME COMMAND...      begins it in the background, its steps counted as here
beside() {
    local name=$1
    shift
    # In a process group of its own, so that all it started can be ended.
    set -m
    (trap - EXIT; set -e; "$@") >"$logs/$name" 2>&1 </dev/null &
    set +m
    lanes[$name]=$!
}
# meet NAME      waits for it, shows what it said, and fails if it failed
meet() {
    local outcome=0
    wait "${lanes[$1]}" || outcome=$?
    unset "lanes[$1]"
    cat "$logs/$1"
    return $outcome
}

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
    step "the ring under the model checker"
    scripts/loom.sh

    step "the ring under Miri"
    scripts/miri.sh
}

outside() {
    step "contracts and withdrawals on a real node"
    scripts/contracts.sh
    scripts/chain.sh
    scripts/chain_page.sh

    step "requests made of the API's own document"
    scripts/schema.sh

    step "a real Prometheus watches it"
    scripts/metrics.sh

    step "README's first trade and first bot, as pasted"
    scripts/readme.sh

    step "existing clients trade here unchanged"
    scripts/clients.sh
    ROUNDS=40 scripts/client_user.sh
    scripts/books.sh 25 20

    step "the page in a browser"
    scripts/page.sh
}

kills() {
    step "300 kills"
    scripts/kills.sh
    # Longer than a segment of the journal, so that kills fall into what begins the next one.
    scripts/kills.sh --cycles 60 --acknowledge written
}

step "format"
cargo fmt --all --check

step "lints"
cargo clippy --workspace --all-targets --locked --release -- -D warnings

if [ "$mode" = all ]; then
    beside licences licences
    step "build"
    # With the programs that scripts run below. One choice of packages for all, see scripts/build.sh.
    export PROFILE=release BUILT="ringside kills overload replay"
    # shellcheck disable=SC2086
    cargo build --workspace --locked --release --lib --tests $(printf -- '--bin %s ' $BUILT)
    beside outside outside
fi

step "tests"
cargo test --workspace --locked --release --no-fail-fast

if [ "$mode" = all ]; then
    beside ring ring
    # The suite above gives it 100,000; the reference of the spot side has had its 10,000,000 there.
    RINGSIDE_COMMANDS=2000000 beside model cargo test --workspace --locked --release --test perpetual independent::
    step "the same decisions in debug, beside 2,000,000 commands of the independent model of the perpetual side"
    # The golden digests of these tests are the same constants in both profiles.
    export CARGO_PROFILE_DEV_DEBUG=0
    cargo test --locked -p ringside-core --lib --test spot --test perpetual replay:: layout:: scripts::
    cargo test --locked -p ringside-persist --test compatibility --test perpetual in_every_build
    meet model

    beside kills kills
    step "what strangers can send, for a minute"
    scripts/fuzz.sh
    # What follows compares books as they move, and wants both cores.
    meet kills

    step "the journal of an exchange that was killed, replayed as a session"
    RINGSIDE_KEEP=1 scripts/kills.sh --cycles 6 --load-ms 500 --folder "$logs/killed"
    scripts/replay.sh journal "$logs"/killed/*/data --quiet --rate 4x
    rm -rf "$logs/killed"

    if [ -d ../shared/data ]; then
        step "a recorded morning, killed in the middle"
        scripts/replay.sh --quiet

        step "the beginning of an hour and of a flow, at a given rate"
        scripts/replay.sh aapl --quiet --limit 16000 --rate 2000
        scripts/replay.sh flow --quiet --limit 8000 --rate 800

        step "an independent WebSocket client keeps the book"
        scripts/ws_book.sh
        COMPARE=500 scripts/ws_book.sh bitstamp --limit 12000 --rate 1500
    fi

    meet licences
    meet ring
    meet outside

    step "three times what can be taken"
    # Long enough for its audit; the time of row 18, a minute, is the script's own default.
    scripts/overload.sh --seconds 15 --calm-seconds 3
fi

step "passed"
# Tests that miss their data pass, and what a test that passes says is not shown.
if [ ! -d ../shared/data ]; then
    left="the tests that compare with recorded markets, accounts, answers and signatures"
    [ "$mode" != all ] || left="$left; scripts/replay.sh, scripts/ws_book.sh and scripts/books.sh"
    echo "left out: $left, since ../shared/data is not there"
fi
