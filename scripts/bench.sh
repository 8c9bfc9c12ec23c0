#!/usr/bin/env bash
# Builds and runs the benchmarks, one measured path each; all but the first compare within one run, so what counts are
# ratios. Close other programs first: each report says how much of the machine they used.
#
#   scripts/bench.sh                     all of them
#   scripts/bench.sh engine --only A     one of them, with its own arguments
#   RESULTS=bench/results scripts/bench.sh   keeps each report as a file
set -euo pipefail
cd "$(dirname "$0")/.."
benchmarks=(engine perpetual mark_storm hour ring journal http fapi fanout history)
if [ $# -gt 0 ]; then
  benchmarks=("$1")
  shift
fi
cargo build --quiet --profile dist -p ringside-gateway -p ringside-bench --bins
. scripts/build.sh
find_target
for benchmark in "${benchmarks[@]}"; do
  echo "== $benchmark"
  "$target/dist/$benchmark" ${RESULTS:+--results "$RESULTS"} "$@"
done
