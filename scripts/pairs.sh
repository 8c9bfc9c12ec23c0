#!/usr/bin/env bash
# Measures the build of another commit and this one in alternating pairs, both in profile dist: placement at 64 connections beside the
# bare server of each run (http, fapi), frames to subscribers (fanout). Prints the ratios with intervals of 95 %.
#
#   scripts/pairs.sh 2390f569                     15 pairs with the build of before the edge was taken apart, some 20 minutes
#   PAIRS=3 ONLY="fanout" scripts/pairs.sh HEAD~9
# Close other programs first. Each run is kept under target/pairs.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in '' | -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit ;; esac
commit=$(git rev-parse --short "$1^{commit}")
. scripts/build.sh
find_target
folder=$target/pairs/$commit
runs=$folder/runs-$(date -u +%Y%m%d-%H%M%S)
mkdir -p "$runs"
built() { (cd "$1" && CARGO_TARGET_DIR=$2 cargo build --quiet --locked --profile dist -p ringside-gateway -p ringside-bench-edge --bin ringside --bin "${@:3}"); }
if [ ! -x "$folder/target/dist/ringside" ]; then
    git worktree add --force --detach "$folder/source" "$commit"
    built "$folder/source" "$folder/target" fanout
    git worktree remove --force "$folder/source"
fi
built . "$target" fanout --bin http --bin fapi
# A build of before may not know a setting that the load client gives, and would refuse it.
printf '#!/bin/sh\nunset RINGSIDE_TEST_ACCOUNTS\nexec "%s" "$@"\n' "$folder/target/dist/ringside" >"$folder/ringside"
chmod +x "$folder/ringside"
run() {
    local benchmark=$1 which=$2 out=$runs/$1-$2-$3 server=$target/dist/ringside programs=$target/dist
    [ "$which" = new ] || { server=$folder/ringside && programs=$folder/target/dist; }
    case $benchmark in
        fanout) "$programs/fanout" --repetitions 1 --trades 0 --frames 500000 >"$out" ;;
        fapi) "$target/dist/fapi" --repetitions 1 --seconds 0.8 --connections 64 --orders 200 --server "$server" >"$out" ;;
        http) "$target/dist/http" --repetitions 1 --seconds 0.8 --connections 64 --server "$server" >"$out" ;;
    esac
}
for pair in $(seq "${PAIRS:-15}"); do
    both=(old new)
    [ $((pair % 2)) = 1 ] || both=(new old)
    for benchmark in ${ONLY:-fanout http fapi}; do
        for which in "${both[@]}"; do run "$benchmark" "$which" "$pair"; done
    done
done
python3 scripts/pairs.py "$runs"
