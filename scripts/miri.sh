#!/usr/bin/env bash
# The ring's unsafe code under Miri: undefined behaviour, data races, leaks. Mapped memory and the kernel's futex across
# processes are outside what Miri can run: there the ring lies on the heap, treated as its own and as foreign memory.
#   scripts/miri.sh [name of a test]      MIRI_SEEDS=16 tries that many schedules (4)
set -euo pipefail
cd "$(dirname "$0")/.."

skip() {
    echo "skipped: $1"
    exit 0
}
command -v rustup >/dev/null || skip "Miri comes by rustup, which is not here"
for component in miri rust-src; do
    if ! rustup component list --toolchain nightly --installed 2>/dev/null | grep -q "^$component"; then
        rustup toolchain install nightly --profile minimal --component miri --component rust-src >/dev/null 2>&1 ||
            skip "the nightly toolchain with Miri is not here and cannot be installed"
    fi
done

# A build of its own: another compiler, another library.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/miri"
cargo +nightly miri setup
# Time is the interpreter's own, so that waits do not depend on the machine; weak memory and races are on by default.
export MIRIFLAGS="-Zmiri-strict-provenance -Zmiri-symbolic-alignment-check -Zmiri-many-seeds=0..${MIRI_SEEDS:-4} ${MIRIFLAGS:-}"
exec cargo +nightly miri test -p ringside-core --test ring -- "$@"
