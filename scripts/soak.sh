#!/usr/bin/env bash
# Runs the exchange for long under mixed traffic, with kills and restarts, and fails where memory, descriptors, the journal or the
# time of an order grow. What may grow is argued in bench/src/bin/soak.rs.
#
#   scripts/soak.sh                                   5 minutes; memory is judged to the byte from 20 minutes on
#   scripts/soak.sh --minutes 600 --rate 5000         --help shows the rest
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${PROFILE:-release}
cargo build --quiet --locked --profile "$profile" -p ringside-gateway -p ringside-bench --bin ringside --bin soak
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
# Beside the build, because the folder for temporary files may be in memory.
exec "$target/$profile/soak" --folder "$target" "$@"
