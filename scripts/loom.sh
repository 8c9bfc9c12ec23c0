#!/bin/sh
# The ring under the loom model checker: all interleavings; with PREEMPTIONS=2, those with so many preemptions at most.
#   scripts/loom.sh [name of a test]
set -eu
cd "$(dirname "$0")/.."
unset LOOM_MAX_PREEMPTIONS LOOM_MAX_DURATION LOOM_MAX_PERMUTATIONS 2>/dev/null || true
[ -z "${PREEMPTIONS:-}" ] || export LOOM_MAX_PREEMPTIONS="$PREEMPTIONS"
# A build of its own: the checker's atomics must not leak into ordinary ones.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom"
export RUSTFLAGS="--cfg loom ${RUSTFLAGS:-}"
exec cargo test --release -p ringside-core --test ring -- "$@"
