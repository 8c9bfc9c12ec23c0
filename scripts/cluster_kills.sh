#!/usr/bin/env bash
# Builds the exchange, starts three that agree, and kills, stops and cuts off members under load, fills and takes away disks; then
# looks for what was lost or doubled, and compares every answer with the order in which it all happened.
#
#   scripts/cluster_kills.sh                          300 rounds
#   scripts/cluster_kills.sh --rounds 12 --seed 7     --help shows the rest
# The small disk that is filled is mounted in a name space of this script's own, which needs no root where the kernel allows that;
# elsewhere no disk is full, and it says so.
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${PROFILE:-release}
. scripts/build.sh
build "$profile" ringside cluster_kills
# Beside the build, because the folder for temporary files may be in memory.
kills=("$target/$profile/cluster_kills" --folder "$target" "$@")
small=$(mktemp -d "$target/small.XXXXXX")
trap 'rmdir "$small"' EXIT
if unshare --user --map-root-user --mount true 2>/dev/null; then
    unshare --user --map-root-user --mount bash -c \
        'mount -t tmpfs -o size=256m small "$1" && small=$1 && shift && "$@" --small-disk "$small"' - "$small" "${kills[@]}"
else
    "${kills[@]}"
fi
