# What scripts/check.sh and scripts/nightly.sh share; both source it after `set -euo pipefail` in the project's root.
#
#   step NAME                  a heading, with the seconds since the start
#   have PROGRAM
#   beside NAME COMMAND...     begins it in the background, in a process group of its own; what it says is kept
#   meet NAME                  waits for it, shows what it said, and fails if it failed
#   nextest ARGUMENTS...       cargo-nextest on what is built in the release profile, installed where it is missing
#   logs                       a folder that goes when the script ends

step() { printf '\n== %s (%d s) ==\n' "$1" $((SECONDS - started)); }
have() { command -v "$1" >/dev/null 2>&1; }

started=$SECONDS
logs=$(mktemp -d)
declare -A lanes
trap 'for lane in "${lanes[@]}"; do kill -- "-$lane" 2>/dev/null || true; done; rm -rf "$logs"' EXIT

beside() {
    local name=$1
    shift
    set -m
    (trap - EXIT; set -e; "$@") >"$logs/$name" 2>&1 </dev/null &
    set +m
    lanes[$name]=$!
}

meet() {
    local outcome=0
    wait "${lanes[$1]}" || outcome=$?
    unset "lanes[$1]"
    cat "$logs/$1"
    return $outcome
}

nextest() {
    # Built as quickly as it can be: it does little itself.
    have cargo-nextest || CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --locked --debug cargo-nextest --version '^0.9.100'
    cargo nextest run --workspace --locked --cargo-profile release --no-fail-fast "$@"
}
