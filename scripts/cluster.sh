#!/usr/bin/env bash
# Three members of a cluster on this machine, for a look: kill one and see who leads. Ends with Ctrl-C, and keeps nothing.
#
#   scripts/cluster.sh [<ringside>]
# CLUSTER_PORT is the first of six ports in a row (7401).
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
. scripts/members.sh
build_exchange "${1:-}"
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$folder"' EXIT
export RINGSIDE_JWT_SECRET=a-secret-of-three-processes-for-a-look
export RINGSIDE_KEY_ENCRYPTION_KEY RINGSIDE_ADMIN_KEY=administrator-of-three-processes
RINGSIDE_KEY_ENCRYPTION_KEY=$(printf '11%.0s' {1..32})

make_members 127.0.0.1 "${CLUSTER_PORT:-7401}"
for number in 1 2 3; do
    start_member $number
    echo "member $number: process ${members[number]}, ${urls[number - 1]}, log $folder/$number.log"
done
shown=
while sleep 0.2; do
    leader=$(leading)
    [ -z "$leader" ] || [ "$leader" = "$shown" ] || echo "$(date +%T) member $leader leads"
    shown=${leader:-$shown}
    [ -n "$(jobs -pr)" ] || break
done
