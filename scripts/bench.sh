#!/usr/bin/env bash
# Builds and runs the benchmarks, one measured path each; all but the first compare within one run, so what counts are
# ratios. Close other programs first: each report says how much of the machine they used.
#
#   scripts/bench.sh                     all of them
#   scripts/bench.sh engine --only A     one of them, with its own arguments
#   RESULTS=bench/results scripts/bench.sh   keeps each report as a file
# An exchange that runs, here or elsewhere, is measured by `ringside-bench load`: scripts/operations/measure.md.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit ;; esac
benchmarks=(engine perpetual mark_storm hour ring journal quorum quorum_throughput http fapi fanout history cluster_ack)
if [ $# -gt 0 ]; then
  benchmarks=("$1")
  shift
fi
# Each is built with what it measures, and no more.
wanted=()
for benchmark in "${benchmarks[@]}"; do
  case $benchmark in
    journal | quorum | quorum_throughput) wanted+=(-p ringside-bench-journal) ;;
    hour | history) wanted+=(-p ringside-bench-edge) ;;
    cluster_ack) wanted+=(-p ringside-rigs -p ringside-slow-disk --lib -p ringside-gateway --bin ringside) ;;
    http | fapi | fanout) wanted+=(-p ringside-bench-edge -p ringside-gateway --bin ringside) ;;
    *) wanted+=(-p ringside-bench) ;;
  esac
  wanted+=(--bin "$benchmark")
done
cargo build --quiet --profile dist "${wanted[@]}"
. scripts/build.sh
find_target
for benchmark in "${benchmarks[@]}"; do
  echo "== $benchmark"
  "$target/dist/$benchmark" ${RESULTS:+--results "$RESULTS"} "$@"
done
