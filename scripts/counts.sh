#!/usr/bin/env bash
# Instructions and cache misses a command of the benchmarks' flows, counted by callgrind: the same on every machine and beside
# whatever runs. Installs valgrind where it is missing; where that cannot be, it says so and nothing is counted.
#
#   scripts/counts.sh                 floor, spot and perpetual, 1,000 accounts
#   scripts/counts.sh --all           a million accounts and orders too
#   scripts/counts.sh --check         fails where a figure is above the accepted one: by more than 1 %, of the misses of the
#                                     instruction cache 25 %, of the data cache 10 %, which depend on where code and data lie
#   scripts/counts.sh --accept        counts all and writes bench/results/counts.txt
#   scripts/counts.sh --only perpetual
#   scripts/counts.sh --bounds        the worst command among 20,000 positions instead; fails where it is above the bar
#   scripts/counts.sh --bounds --accept    among 1,000,000, into bench/results/bounds.txt
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v valgrind >/dev/null; then
    [ "$(id -u)" = 0 ] && sudo= || sudo="sudo -n"
    { $sudo apt-get update && $sudo apt-get install -y --no-install-recommends valgrind; } >/dev/null 2>&1 || true
fi
if ! command -v valgrind >/dev/null || [ "$(uname -m)" != x86_64 ]; then
    echo "skipped: counts want valgrind on x86_64, which cannot be had here"
    exit 0
fi
# As it is shipped: without the link of all crates it is another program, and an incremental one is made of other parts.
profile=dist
export CARGO_INCREMENTAL=0
. scripts/build.sh
program=counts
case " $* " in *" --bounds "*) program=bounds ;; esac
# Whatever the caller has built was built otherwise.
BUILT= build "$profile" $program
accepted=$PWD/bench/results/$program.txt
arguments=()
[ $program != bounds ] || [[ " $* " = *" --accept "* ]] || arguments+=(--positions 20000)
for argument in "$@"; do
    case $argument in
        --bounds) ;;
        --check) arguments+=(--check "$accepted") ;;
        --accept)
            # What core was then, by its contents too: a commit that is rebased has another name.
            commit="commit $(git describe --always --dirty), core $(git rev-parse --short HEAD:core)"
            arguments+=(--accept "$accepted" --origin "$commit, $(rustc --version), $(valgrind --version), profile $profile")
            ;;
        *) arguments+=("$argument") ;;
    esac
done
exec "$target/$profile/$program" "${arguments[@]}"
