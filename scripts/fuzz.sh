#!/usr/bin/env bash
# Fuzzes what strangers can send: the commands of an input ring, the bodies and queries of the API, the text and the bytes of
# WebSocket frames; each target for a minute, all at once. The fuzzer is core/tests/support/fuzz.rs, on stable Rust; a failure
# says which input to run again. The same targets run for two seconds each in the test suites.
#   FUZZ_SECONDS=600 RINGSIDE_SEED=$RANDOM scripts/fuzz.sh      longer, with other random numbers
set -euo pipefail
cd "$(dirname "$0")/.."
export FUZZ_SECONDS=${FUZZ_SECONDS:-60}
profile=${PROFILE:-release}
# One build for all: cargo would make the packages again for each by itself.
built=$(cargo test --workspace --locked --profile "$profile" \
    --test fuzz_commands --test fuzz_bodies --test fuzz_frames --no-run 2>&1) || { echo "$built"; exit 1; }
mapfile -t targets < <(sed -n 's/.*Executable.*(\(.*\))$/\1/p' <<<"$built")
[ "${#targets[@]}" = 3 ] || { echo "$built"; exit 1; }
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
pids=()
for index in "${!targets[@]}"; do
    # All tests of a target at once, however few the cores.
    "${targets[index]}" --nocapture --test-threads 8 >"$logs/$index" 2>&1 &
    pids+=($!)
done
failed=0
for index in "${!targets[@]}"; do
    if wait "${pids[index]}"; then
        grep -h 'kinds of outcome' "$logs/$index"
    else
        failed=1
        cat "$logs/$index"
    fi
done
exit $failed
