#!/usr/bin/env bash
# All that a change must pass. Installs what the tests need; safe to run again. Wants: Rust by rustup, a C compiler.
#   scripts/check.sh            everything
#   scripts/check.sh quick      format, lints and tests in one profile
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:-all}
started=$SECONDS

step() { printf '\n== %s (%d s) ==\n' "$1" $((SECONDS - started)); }
have() { command -v "$1" >/dev/null 2>&1; }

step "format"
cargo fmt --all --check

step "lints"
cargo clippy --workspace --all-targets --locked --profile tested -- -D warnings

if [ "$mode" = all ]; then
    step "licences and dependencies"
    have cargo-deny || cargo install --locked cargo-deny
    cargo deny --all-features check --hide-inclusion-graph bans licenses sources
    # The advisory database comes over the network; without it this check says so and the rest goes on.
    if cargo deny --all-features fetch db >/dev/null 2>&1; then
        cargo deny --all-features check --hide-inclusion-graph advisories
    else
        echo "skipped: the advisory database cannot be fetched from here"
    fi
fi

step "tests"
cargo test --workspace --locked --profile tested --no-fail-fast

if [ "$mode" = all ]; then
    step "the same decisions in debug, beside 2,000,000 commands of the independent model of the perpetual side"
    logs=$(mktemp -d)
    trap 'rm -rf "$logs"' EXIT
    # The suite above gives it 100,000; the reference of the spot side has had its 10,000,000 there.
    RINGSIDE_COMMANDS=2000000 cargo test --locked --profile tested -p ringside-core --test perpetual_model \
        >"$logs/model" 2>&1 &
    model=$!
    # The golden digests of these tests are the same constants in both profiles.
    cargo test --locked -p ringside-core --lib --test replay --test perpetual_replay --test layout --test scripts
    cargo test --locked -p ringside-persist --test compatibility --test perpetual in_every_build
    wait "$model" || { cat "$logs/model"; exit 1; }
    cat "$logs/model"
fi

if [ "$mode" = all ]; then
    step "the ring under the model checker"
    scripts/loom.sh

    step "the ring under Miri"
    scripts/miri.sh

    step "300 kills"
    PROFILE=tested scripts/kills.sh
    # Longer than a segment of the journal, so that kills fall into what begins the next one.
    PROFILE=tested scripts/kills.sh --cycles 60 --acknowledge written

    step "a recorded morning, killed in the middle"
    if [ -d ../shared/data ]; then
        PROFILE=tested scripts/replay.sh --quiet
    else
        echo "skipped: no recorded data beside this folder"
    fi

    step "an independent WebSocket client keeps the book"
    if [ -d ../shared/data ]; then
        PROFILE=tested scripts/ws_book.sh
        COMPARE=500 PROFILE=tested scripts/ws_book.sh bitstamp --limit 12000 --rate 1500
    else
        echo "skipped: the recorded sessions are not beside this folder"
    fi
fi

if [ "$mode" = all ]; then
    step "contracts and withdrawals on a real node"
    scripts/contracts.sh
    PROFILE=tested scripts/chain.sh
    PROFILE=tested scripts/chain_page.sh
fi

if [ "$mode" = all ]; then
    step "what strangers can send, for a minute, beside requests made of the API's own document"
    scripts/fuzz.sh >"$logs/fuzz" 2>&1 &
    fuzz=$!
    scripts/schema.sh
    wait "$fuzz" || { cat "$logs/fuzz"; exit 1; }
    cat "$logs/fuzz"

    step "three times what can be taken"
    # Long enough for its audit; the time of row 18, a minute, is the script's own default.
    PROFILE=tested scripts/overload.sh --seconds 15 --calm-seconds 3

    step "a real Prometheus watches it"
    PROFILE=tested scripts/metrics.sh

    step "existing clients trade here unchanged"
    scripts/clients.sh
    ROUNDS=40 scripts/client_user.sh
    scripts/books.sh 25 20
fi

step "the page in a browser"
scripts/page.sh

step "passed"
