#!/usr/bin/env bash
# Fuzzes what strangers can send: the commands of an input ring, the bodies and queries of the API, the text and the bytes of
# WebSocket frames; each target for a minute, all at once. The fuzzer is core/tests/support/fuzz.rs, on stable Rust; a failure
# says which input to run again. The same targets run for two seconds each in the test suites.
#   FUZZ_SECONDS=600 scripts/fuzz.sh
set -euo pipefail
cd "$(dirname "$0")/.."
export FUZZ_SECONDS=${FUZZ_SECONDS:-60}
profile=${PROFILE:-tested}
targets=("ringside-core fuzz_commands" "ringside-gateway fuzz_bodies" "ringside-gateway fuzz_frames")
build=()
for target in "${targets[@]}"; do
    build+=(-p "${target% *}" --test "${target#* }")
done
cargo test --quiet --locked --profile "$profile" "${build[@]}" --no-run
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
pids=()
for target in "${targets[@]}"; do
    cargo test --quiet --locked --profile "$profile" -p "${target% *}" --test "${target#* }" -- --nocapture \
        >"$logs/${target#* }" 2>&1 &
    pids+=($!)
done
failed=0
for index in "${!targets[@]}"; do
    name=${targets[index]#* }
    if wait "${pids[index]}"; then
        grep -h 'kinds of outcome' "$logs/$name"
    else
        failed=1
        cat "$logs/$name"
    fi
done
exit $failed
