#!/usr/bin/env bash
# Runs the exchange for long under mixed traffic, with kills and restarts, and fails where memory, descriptors, the journal or the
# time of an order grow. What may grow is argued in bench/rigs/src/bin/soak.rs.
#
#   scripts/soak.sh                                   5 minutes; memory is judged to the byte from 20 minutes on
#   scripts/soak.sh --minutes 600 --rate 5000         --help shows the rest
#   FROM=23:28 scripts/soak.sh --minutes 40           exchange and traders see a clock that stands at 23:28 UTC at the beginning:
#                                                     midnight comes, with funding (half an hour of samples makes its rate),
#                                                     fee tiers and days of candles; scripts/clock/shifted.c is their clock
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${PROFILE:-release}
. scripts/build.sh
build "$profile" ringside soak
if [ -n "${FROM:-}" ]; then
    cc -shared -fPIC -O2 -o "$target/shifted.so" scripts/clock/shifted.c
    now=$(date +%s)
    export SHIFTED_BY_S=$(( $(date -u -d "$(date -u -d "@$now" +%F) $FROM" +%s) - now )) LD_PRELOAD=$target/shifted.so
    echo "the clock is shifted by $SHIFTED_BY_S s, to $FROM UTC"
fi
# Beside the build, because the folder for temporary files may be in memory.
exec "$target/$profile/soak" --folder "$target" "$@"
